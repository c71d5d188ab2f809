//! The laboratory of roaming: a tree below a gateway, cells of 802.11b, a host that roams and one that stays.
//!
//! ```text
//!   ch -20- gw -5- r1 -5- ar1 -1- bs1      channel 1
//!            |      `--5- ar2 -1- bs2      channel 6
//!            `--5- r2 -5- ar3 -1- bs3      channel 11    (one-way delays in ms; air: 0)
//! ```

pub use crate::lab::record::{Dice, MS, Record, Trouble, walks};
use roamlab_world::{Replication, RunOptions, Scenario, Table, run};
use std::fmt::Write;

/// When the host leaves the coverage of its first cell.
pub const LEAVES: u64 = 3_000 * MS;

/// A protocol without timers in the way: one message sets the route.
pub const MANDM: &str = "kind = \"mandm\"";

/// A datagram every 20 ms to the host.
pub const DOWN: &str = r#"
[[flows]]
name = "down"
path = ["ch", "mh"]
app = { kind = "cbr", start = "1 s", rate = "40 kbit/s", packet = "100 B" }
"#;

/// The same from it.
pub const UP: &str = r#"
[[flows]]
name = "up"
path = ["mh", "ch"]
app = { kind = "cbr", start = "1 s", rate = "40 kbit/s", packet = "100 B" }
"#;

/// Parts of a scenario.
#[derive(Clone, Debug)]
pub struct Lab {
    pub duration_ms: u64,
    /// Cells, when the host comes into their coverage, and when it leaves all coverage, in ms.
    pub visits: Vec<(&'static str, u64, Option<u64>)>,
    /// Lines of `[mobility]`.
    pub mobility: String,
    /// Lines of `[radio]` behind its kind.
    pub radio: String,
    /// More parameters of each medium, each behind a comma.
    pub medium: String,
    /// Flows and other hosts, as TOML.
    pub flows: String,
    pub troubles: Vec<Trouble>,
    pub draw: u64,
}

impl Default for Lab {
    fn default() -> Lab {
        Lab {
            duration_ms: 8_000,
            visits: vec![("bs1", 0, None), ("bs2", 3_000, None)],
            mobility: MANDM.into(),
            radio: String::new(),
            medium: String::new(),
            flows: DOWN.into(),
            troubles: Vec::new(),
            draw: 1,
        }
    }
}

impl Lab {
    /// The scenario as text.
    pub fn text(&self) -> String {
        let mut text = format!("[run]\nduration = \"{} ms\"\n", self.duration_ms);
        let wires = [
            ("ch", "gw", 20),
            ("gw", "r1", 5),
            ("gw", "r2", 5),
            ("r1", "ar1", 5),
            ("r1", "ar2", 5),
            ("r2", "ar3", 5),
        ];
        for (upper, lower, delay) in wires {
            let _ = write!(
                text,
                "[[links]]\nbetween = [\"{upper}\", \"{lower}\"]\nrate = \"10 Mbit/s\"\ndelay = \"{delay} ms\"\n"
            );
        }
        for (cell, router) in [("bs1", "ar1"), ("bs2", "ar2"), ("bs3", "ar3")] {
            let _ = write!(
                text,
                "[cells.{cell}]\nrouter = \"{router}\"\nrate = \"11 Mbit/s\"\ndelay = \"0 ms\"\n\
                 queue = {{ kind = \"droptail\", limit = \"1000 pkt\" }}\n\
                 backhaul = {{ rate = \"10 Mbit/s\", delay = \"1 ms\" }}\nmedium = {{ kind = \"dcf\"{} }}\n",
                self.medium
            );
        }
        let visit = |(cell, at, until): &(&str, u64, Option<u64>)| {
            let until = until.map_or(String::new(), |until| format!(", until = \"{until} ms\""));
            format!("{{ cell = \"{cell}\", at = \"{at} ms\"{until} }}")
        };
        let visits: Vec<String> = self.visits.iter().map(visit).collect();
        let _ = write!(
            text,
            "[mobility]\n{}\n[radio]\nkind = \"802.11\"\n{}\n[[hosts]]\nname = \"mh\"\nhome = \"gw\"\n\
             visits = [{}]\n{}\n",
            self.mobility,
            self.radio,
            visits.join(", "),
            self.flows
        );
        self.troubles.iter().for_each(|trouble| trouble.write(&mut text));
        let _ = write!(text, "[record]\ndeliveries = true\nqueues = []\n");
        text
    }

    /// Runs it. It ends, and the laws hold.
    pub fn run(&self) -> Record {
        Record::of(&self.text(), self.draw, self.duration_ms)
    }

    /// All tables of its run.
    pub fn tables(&self) -> Vec<Table> {
        let text = self.text();
        let scenario =
            Scenario::parse(&text, "lab.toml").unwrap_or_else(|problem| panic!("{problem}\n{text}"));
        let draw = Replication { seed: self.draw, run: 0, trace: None };
        run(&scenario, draw, &RunOptions::default()).unwrap_or_else(|violation| panic!("{violation}\n{text}"))
    }
}
