//! The laboratory of the LTE tests: the network of \[lte\] fig. 1 without other users, so that whatever is lost or late is
//! so by the handover.

pub use crate::lab::record::{Loss, MS, Record, Signal, Trouble};
use std::fmt::Write;

/// When the second cell becomes the better one in all scenarios with one handover.
pub const TURNS: u64 = 3_000 * MS;

/// Parts of a scenario.
#[derive(Clone, Debug)]
pub struct Lab {
    pub duration_ms: u64,
    /// Cells, and when they are the best one, in ms.
    pub visits: Vec<(&'static str, u64)>,
    /// Lines of `[mobility]`.
    pub mobility: String,
    /// Fields of `mobility.timers`, each followed by a comma.
    pub timers: String,
    /// Lines of `[radio.measurement]`.
    pub radio: String,
    /// Flows, as TOML.
    pub flows: String,
    pub troubles: Vec<Trouble>,
}

/// A TCP transfer that does not fill the path (9 Mbit/s), to the moving host.
pub const TCP: &str = r#"
[[flows]]
name = "tcp"
path = ["server", "ue"]
transport = { kind = "tcp", variant = "newreno", window = "16 pkt", segment = "1460 B", min_rto = "200 ms" }
app = { kind = "ftp", start = "2.5 s" }
"#;

/// A datagram every 2 ms (250 B at 1 Mbit/s) to the moving host.
pub const UDP: &str = r#"
[[flows]]
name = "udp"
path = ["server", "ue"]
app = { kind = "cbr", start = "2.5 s", rate = "1 Mbit/s", packet = "250 B" }
"#;

impl Default for Lab {
    fn default() -> Lab {
        Lab {
            duration_ms: 8_000,
            visits: vec![("enb1", 0), ("enb2", TURNS / MS)],
            mobility: String::new(),
            timers: String::new(),
            radio: String::new(),
            flows: format!("{TCP}{UDP}"),
            troubles: Vec::new(),
        }
    }
}

impl Lab {
    /// The lab with these lines of `[mobility]`.
    pub fn with(mobility: &str) -> Lab {
        Lab { mobility: mobility.into(), ..Lab::default() }
    }

    /// The scenario as text.
    pub fn text(&self) -> String {
        let mut text = format!("[run]\nduration = \"{} ms\"\nprofile = \"ns2-2009\"\n", self.duration_ms);
        for (left, right) in [("server", "gw"), ("gw", "r"), ("gw", "mme")] {
            let _ = write!(
                text,
                "[[links]]\nbetween = [\"{left}\", \"{right}\"]\nrate = \"100 Mbit/s\"\ndelay = \"2 ms\"\n"
            );
        }
        for cell in ["enb1", "enb2", "enb3"] {
            let _ = write!(
                text,
                "[cells.{cell}]\nrouter = \"r\"\nrate = \"24 Mbit/s\"\ndelay = \"5 ms\"\n\
                 queue = {{ kind = \"droptail\", limit = \"2000 pkt\" }}\n\
                 backhaul = {{ rate = \"12 Mbit/s\", delay = \"2 ms\" }}\n"
            );
        }
        let _ = write!(
            text,
            "[mobility]\nkind = \"lte-x2\"\nmme = \"mme\"\nbuffer_limit = \"1000 pkt\"\n\
             measurement = {{ hysteresis_db = 0.0, time_to_trigger = \"0 ms\", filter_coefficient = 0 }}\n\
             timers = {{ {} }}\n{}\n",
            self.timers.trim_end_matches(','),
            self.mobility
        );
        let _ = write!(
            text,
            "[radio]\nkind = \"hard\"\n[radio.measurement]\nperiod = \"10 ms\"\n{}\n",
            self.radio
        );
        let visits: Vec<String> = self
            .visits
            .iter()
            .map(|(cell, at)| format!("{{ cell = \"{cell}\", at = \"{at} ms\" }}"))
            .collect();
        let visits = visits.join(", ");
        let _ =
            write!(text, "[[hosts]]\nname = \"ue\"\nhome = \"gw\"\nvisits = [{visits}]\n{}\n", self.flows);
        self.troubles.iter().for_each(|trouble| trouble.write(&mut text));
        text
    }

    /// Runs it. It ends, and the laws hold.
    pub fn run(&self) -> Record {
        Record::of(&self.text(), 1, self.duration_ms)
    }
}

/// True if every packet of the flow came, once, and in order.
pub fn assert_flawless(record: &Record, flow: &str) {
    let lost: Vec<&Loss> = record.lost(flow).collect();
    assert!(lost.is_empty(), "{flow}: {lost:?}");
    let [duplicates, reordered] = ["duplicate_pkts", "reordered_pkts"].map(|name| record.total(flow, name));
    assert_eq!((duplicates, reordered), (0, 0), "{flow}");
    assert!(record.delivered(flow).count() > 500, "{flow}");
}
