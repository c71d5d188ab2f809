//! The laboratory of split base stations: two distributed units of one central unit, F1 with 500 µs, an air of 500 µs, and a
//! packet that leaves the central unit each 2 ms. All control messages have 250 B, which take 2 µs on a wire; data packets
//! take 10 µs on a wire and 1 ms on the air.

use super::lab::{REPORT, Run, Trouble};
use super::laws::Laws;
use crate::lab::record::Record;

/// Parts of a scenario.
#[derive(Clone, Debug)]
pub struct Units {
    pub duration_ms: u64,
    /// Fields of `mobility.ltm`; `None`: there is no LTM.
    pub ltm: Option<String>,
    /// Lines of `[mobility]`.
    pub mobility: String,
    /// Fields of `mobility.timers`.
    pub timers: String,
    pub more: String,
    pub troubles: Vec<Trouble>,
    /// When the second cell is the best one, and when the first one is again, in ms.
    pub visits: Vec<(&'static str, u64)>,
    /// The second cell belongs to another central unit.
    pub two: bool,
}

impl Default for Units {
    fn default() -> Units {
        Units {
            duration_ms: 5_000,
            ltm: Some(String::new()),
            mobility: String::new(),
            timers: String::new(),
            more: String::new(),
            troubles: Vec::new(),
            visits: vec![("du1", 0), ("du2", 3_000)],
            two: false,
        }
    }
}

/// The lab with LTM, and these losses.
pub fn with(troubles: Vec<Trouble>) -> Units {
    Units { troubles, ..Units::default() }
}

impl Units {
    pub fn text(&self) -> String {
        let (offset, ltm) = match &self.ltm {
            Some(fields) => (
                -10.0,
                format!("ltm = {{ event = {{ offset_db = 0.0, report_interval = \"1 s\" }}{fields} }}"),
            ),
            None => (0.0, String::new()),
        };
        let mut text = format!("[run]\nduration = \"{} ms\"\n", self.duration_ms);
        let mut links = vec![
            ("server", "upf", "990352 ns"),
            ("upf", "smf", "1 ms"),
            ("smf", "amf", "1 ms"),
            ("amf", "cu", "4 ms"),
            ("upf", "cu", "4 ms"),
        ];
        if self.two {
            links.extend([("amf", "cu2", "4 ms"), ("upf", "cu2", "4 ms"), ("cu", "cu2", "3 ms")]);
        }
        for (left, right, delay) in links {
            text += &format!(
                "[[links]]\nbetween = [\"{left}\", \"{right}\"]\nrate = \"1 Gbit/s\"\ndelay = \"{delay}\"\n"
            );
        }
        let second = if self.two { "cu2" } else { "cu" };
        for (cell, router) in [("du1", "cu"), ("du2", second)] {
            text += &format!(
                "[cells.{cell}]\nrouter = \"{router}\"\nrate = \"9648 kbit/s\"\ndelay = \"500 us\"\n\
                 queue = {{ kind = \"droptail\", limit = \"20000 pkt\" }}\n\
                 backhaul = {{ rate = \"1 Gbit/s\", delay = \"500 us\" }}\n"
            );
        }
        text += &format!(
            "[mobility]\nkind = \"nr\"\namf = \"amf\"\nsmf = \"smf\"\nsignalling_size = \"250 B\"\n\
             central_units = [{}]\n{ltm}\n\
             bearer = {{ sn_bits = 12, t_reordering = \"100 ms\", discard_timer = \"infinity\" }}\n\
             measurement = {{ offset_db = {offset}, hysteresis_db = 0.0, time_to_trigger = \"0 ms\", filter_coefficient = 0 }}\n\
             timers = {{ {} }}\n{}\n\
             [radio]\nkind = \"hard\"\n[radio.measurement]\nperiod = \"10 ms\"\n",
            if self.two { "\"cu\", \"cu2\"" } else { "\"cu\"" },
            self.timers,
            self.mobility
        );
        let visits: Vec<String> = self
            .visits
            .iter()
            .map(|(cell, at)| format!("{{ cell = \"{cell}\", at = \"{at} ms\" }}"))
            .collect();
        text += &format!(
            "[[hosts]]\nname = \"ue\"\nhome = \"upf\"\nvisits = [{}]\n\
             [[flows]]\nname = \"udp\"\npath = [\"server\", \"ue\"]\n\
             app = {{ kind = \"cbr\", start = \"1005690 us\", rate = \"4824 kbit/s\", packet = \"1206 B\" }}\n{}\n",
            visits.join(", "),
            self.more
        );
        self.troubles.iter().for_each(|trouble| trouble.write(&mut text));
        text
    }

    /// Runs it. It ends, and the laws hold; no message of Xn, no path switch and no end marker belongs to it.
    pub fn run(&self) -> Run {
        let text = self.text();
        let run = Run(Record::of(&text, 1, self.duration_ms));
        let broken = Laws::of(&text).broken(&run.0);
        assert!(broken.is_empty(), "{}\n{text}\n{}", broken.join("\n"), run.chart());
        let outside = |signal: &&crate::lab::record::Signal| {
            let name = &*signal.message;
            signal.sent + 1_000_000_000 > REPORT
                && (name.starts_with("xn-") || name.starts_with("ng-") || name.starts_with("gtpu-"))
        };
        let found: Vec<_> = run.0.signals.iter().filter(outside).collect();
        assert!(self.two || found.is_empty(), "{found:?}\n{}", run.chart());
        run
    }
}
