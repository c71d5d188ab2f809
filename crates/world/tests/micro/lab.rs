//! The laboratory of micro-mobility: a tree below a gateway, in which queues never fill.
//!
//! ```text
//!   ch -20- gw -5- r1 -5- ar1 -1- bs1
//!            |      `--5- ar2 -1- bs2
//!            `--5- r2 -5- ar3 -1- bs3       (one-way delays in ms; air: 3)
//! ```

pub use crate::lab::record::{Dice, MS, Record, Trouble, walks};
use std::fmt::Write;

/// When the host turns to its second cell in all scenarios with one handover.
pub const TURNS: u64 = 3_000 * MS;

/// A hard handover with a gap, in ms.
pub const GAP: u64 = 100;
pub const HARD: &str = "kind = \"hard\"\ngap = \"100 ms\"";
/// A soft handover with an overlap, in ms.
pub const OVERLAP: u64 = 200;
pub const SOFT: &str = "kind = \"soft\"\noverlap = \"200 ms\"";

/// Parts of a scenario.
#[derive(Clone, Debug)]
pub struct Lab {
    pub duration_ms: u64,
    /// Cells, and when the host turns to them, in ms.
    pub visits: Vec<(&'static str, u64)>,
    /// Lines of `[mobility]`.
    pub mobility: String,
    /// Lines of `[radio]`.
    pub radio: String,
    /// Flows, as TOML.
    pub flows: String,
    pub troubles: Vec<Trouble>,
    pub draw: u64,
}

/// A datagram every millisecond (50 B at 400 kbit/s) to the moving host, until a second before the end of 8 s.
pub const PROBE: &str = r#"
[[flows]]
name = "probe"
path = ["ch", "mh"]
app = { kind = "cbr", start = "1 s", stop = "7 s", rate = "400 kbit/s", packet = "50 B" }
"#;

/// A datagram every 20 ms to the host.
pub const DOWN: &str = r#"
[[flows]]
name = "down"
path = ["ch", "mh"]
app = { kind = "cbr", start = "1 s", rate = "40 kbit/s", packet = "100 B" }
"#;

impl Default for Lab {
    fn default() -> Lab {
        Lab {
            duration_ms: 8_000,
            visits: vec![("bs1", 0), ("bs2", 3_000)],
            mobility: String::new(),
            radio: "kind = \"hard\"".into(),
            flows: PROBE.into(),
            troubles: Vec::new(),
            draw: 1,
        }
    }
}

impl Lab {
    /// One handover under a protocol, from cell bs1 to bs2.
    pub fn with(mobility: &str, radio: &str) -> Lab {
        Lab { mobility: mobility.into(), radio: radio.into(), ..Lab::default() }
    }

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
                "[cells.{cell}]\nrouter = \"{router}\"\nrate = \"2 Mbit/s\"\ndelay = \"3 ms\"\n\
                 queue = {{ kind = \"droptail\", limit = \"1000 pkt\" }}\n\
                 backhaul = {{ rate = \"10 Mbit/s\", delay = \"1 ms\" }}\n"
            );
        }
        let visit = |(cell, at): &(&str, u64)| format!("{{ cell = \"{cell}\", at = \"{at} ms\" }}");
        let visits: Vec<String> = self.visits.iter().map(visit).collect();
        let _ = write!(
            text,
            "[mobility]\n{}\n[radio]\n{}\n[[hosts]]\nname = \"mh\"\nhome = \"gw\"\nvisits = [{}]\n{}\n",
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
}

/// Datagrams of the probe that never reached the host, and those that came again.
pub fn lost_and_again(record: &Record) -> (u64, u64) {
    let sent = record.total("probe", "sent_pkts");
    (sent - record.total("probe", "delivered_pkts"), record.total("probe", "duplicate_pkts"))
}
