//! The laboratory of the handoff tests: a network with the delays of \[mblue\] table I.
//!
//! Buffers never fill and no queue drops early, so whatever is lost is lost by the handoff.

pub use crate::lab::record::{Delivery, Loss, MS, Record, Signal, Trouble};
use std::fmt::Write;

/// When the host leaves its first cell in all scenarios with one handoff.
pub const LEAVES: u64 = 3_000 * MS;

/// Parts of a scenario.
#[derive(Clone, Debug)]
pub struct Lab {
    pub duration_ms: u64,
    /// Cells, and when the host turns to them, in ms.
    pub visits: Vec<(&'static str, u64)>,
    /// Lines of `[mobility]`.
    pub mobility: String,
    /// Fields of `buffer`, each followed by a comma.
    pub buffer: String,
    /// Lines of `[radio]`.
    pub radio: String,
    /// A line of every cell.
    pub cell: &'static str,
    /// Fields of every air queue but its limit.
    pub discipline: &'static str,
    /// Limit of the air queue of cell bs2.
    pub new_queue: &'static str,
    /// Flows, as TOML.
    pub flows: String,
    pub troubles: Vec<Trouble>,
    pub draw: u64,
}

/// A TCP transfer that does not fill the air link, to the moving host.
pub const TCP: &str = r#"
[[flows]]
name = "tcp"
path = ["ch", "mh"]
transport = { kind = "tcp", variant = "reno", window = "8 pkt", segment = "512 B", header = "0 B" }
app = { kind = "ftp", start = "1.5 s" }
"#;

/// A datagram every 20 ms (100 B at 40 kbit/s) to the moving host.
pub const UDP: &str = r#"
[[flows]]
name = "udp"
path = ["ch", "mh"]
app = { kind = "cbr", start = "1.6 s", rate = "40 kbit/s", packet = "100 B" }
"#;

/// A datagram every millisecond (50 B at 400 kbit/s) to the moving host.
pub const PROBE: &str = r#"
[[flows]]
name = "probe"
path = ["ch", "mh"]
app = { kind = "cbr", start = "1.6 s", rate = "400 kbit/s", packet = "50 B" }
"#;

/// RED whose thresholds no queue of these tests reaches: it has an average, and drops nothing.
pub const RED: &str = "kind = \"red\", min_threshold = \"900 pkt\", max_threshold = \"990 pkt\", queue_weight = 0.1, threshold_unit = \"packets\"";

impl Default for Lab {
    fn default() -> Lab {
        Lab {
            duration_ms: 12_000,
            visits: vec![("bs1", 0), ("bs2", 3_000)],
            mobility: String::new(),
            buffer: "limit = \"1000 pkt\",".into(),
            cell: "",
            radio: "kind = \"hard\"".into(),
            discipline: "kind = \"droptail\"",
            new_queue: "1000 pkt",
            flows: format!("{TCP}{UDP}"),
            troubles: Vec::new(),
            draw: 1,
        }
    }
}

impl Lab {
    /// The scenario as text.
    pub fn text(&self) -> String {
        let mut text = format!("[run]\nduration = \"{} ms\"\nprofile = \"ns2-2009\"\n", self.duration_ms);
        let wires =
            [("ch", "fa1", 40), ("ch", "fa2", 40), ("fa1", "fa2", 1), ("fa1", "ha", 60), ("fa2", "ha", 60)];
        for (left, right, delay) in wires.into_iter().chain([("ha", "ch", 60), ("fa3", "ch", 40)]) {
            wire(&mut text, left, right, delay);
        }
        // fa3 serves a third cell; it is adjacent to the other two.
        wire(&mut text, "fa3", "fa2", 1);
        wire(&mut text, "fa3", "fa1", 1);
        wire(&mut text, "fa3", "ha", 60);
        for (cell, router, limit) in
            [("bs1", "fa1", "1000 pkt"), ("bs2", "fa2", self.new_queue), ("bs3", "fa3", "1000 pkt")]
        {
            let _ = write!(
                text,
                "[cells.{cell}]\nrouter = \"{router}\"\nrate = \"2 Mbit/s\"\ndelay = \"3 ms\"\n\
                 queue = {{ {}, limit = \"{limit}\" }}\n\
                 backhaul = {{ rate = \"10 Mbit/s\", delay = \"1 ms\" }}\n{}\n",
                self.discipline, self.cell
            );
        }
        let _ = write!(text, "[mobility]\nkind = \"mobile-ip\"\n{}\n", self.mobility);
        let _ =
            write!(text, "buffer = {{ {} }}\n[radio]\n{}\n", self.buffer.trim_end_matches(','), self.radio);
        let visits: Vec<String> = self
            .visits
            .iter()
            .map(|(cell, at)| format!("{{ cell = \"{cell}\", at = \"{at} ms\" }}"))
            .collect();
        let _ = write!(
            text,
            "[[hosts]]\nname = \"mh\"\nhome = \"ha\"\nvisits = [{}]\n{}\n",
            visits.join(", "),
            self.flows
        );
        for trouble in &self.troubles {
            trouble.write(&mut text);
        }
        text
    }

    /// Runs it. It ends, and the laws hold.
    pub fn run(&self) -> Record {
        Record::of(&self.text(), self.draw, self.duration_ms)
    }
}

fn wire(text: &mut String, left: &str, right: &str, delay: u64) {
    let _ = write!(
        text,
        "[[links]]\nbetween = [\"{left}\", \"{right}\"]\nrate = \"10 Mbit/s\"\ndelay = \"{delay} ms\"\n"
    );
}
