//! The laboratory of the NR tests: a network in which every time is a whole number of microseconds, except a few
//! nanoseconds for the backhaul of a base station. Its router has a link for each interface. All control messages
//! and end markers have 250 B, which take 2 µs on a wire, data packets 10 µs on a wire and 1 ms on the air, with 2 ms to
//! travel there. Xn takes 3 ms, NG 4 ms, N3 5 ms, and a hop between AMF, SMF and UPF 1 ms. A packet leaves the UPF each
//! 2 ms.

use super::laws::Laws;
use crate::lab::record::Signal;
pub use crate::lab::record::{MS, Record, Trouble};
use std::fmt::Write;

/// The report of the neighbour leaves the host: the first measurement after the cells are equally strong.
pub const REPORT: u64 = 3_010 * MS;

/// Parts of a scenario.
#[derive(Clone, Debug)]
pub struct Lab {
    pub duration_ms: u64,
    /// Cells, and when they are the best one, in ms.
    pub visits: Vec<(&'static str, u64)>,
    /// Lines of `[mobility]`.
    pub mobility: String,
    /// Fields of `mobility.bearer`, each behind a comma.
    pub bearer: String,
    /// Fields of `mobility.timers`, each followed by a comma.
    pub timers: String,
    /// Lines of `[radio.measurement]`.
    pub radio: String,
    /// There is a link between the base stations.
    pub xn: bool,
    /// Fields of that link, in lines.
    pub of_xn: String,
    /// More tables.
    pub more: String,
    pub troubles: Vec<Trouble>,
    /// When packet 0 leaves the UPF, after the report, in µs.
    pub first_us: u64,
    /// Fields of `mobility.measurement`.
    pub measurement: &'static str,
}

impl Default for Lab {
    fn default() -> Lab {
        Lab {
            duration_ms: 5_000,
            visits: vec![("gnb1", 0), ("gnb2", 3_000)],
            mobility: String::new(),
            bearer: String::new(),
            timers: String::new(),
            radio: String::new(),
            xn: true,
            of_xn: String::new(),
            more: String::new(),
            troubles: Vec::new(),
            first_us: 0,
            measurement: "offset_db = 0.0, time_to_trigger = \"0 ms\"",
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
        let mut text = format!("[run]\nduration = \"{} ms\"\n", self.duration_ms);
        let mut links = vec![
            ("server", "upf", "990352 ns"),
            ("upf", "smf", "1 ms"),
            ("smf", "amf", "1 ms"),
            ("amf", "r1", "3 ms"),
            ("amf", "r2", "3 ms"),
            ("upf", "r1", "4 ms"),
            ("upf", "r2", "4 ms"),
        ];
        // The last one.
        if self.xn {
            links.push(("r1", "r2", "1 ms"));
        }
        for (left, right, delay) in links {
            let _ = write!(
                text,
                "[[links]]\nbetween = [\"{left}\", \"{right}\"]\nrate = \"1 Gbit/s\"\ndelay = \"{delay}\"\n"
            );
        }
        text += &self.of_xn;
        for (cell, router) in [("gnb1", "r1"), ("gnb2", "r2")] {
            let _ = write!(
                text,
                "[cells.{cell}]\nrouter = \"{router}\"\nrate = \"9648 kbit/s\"\ndelay = \"2 ms\"\n\
                 queue = {{ kind = \"droptail\", limit = \"20000 pkt\" }}\n\
                 backhaul = {{ rate = \"1000 Gbit/s\", delay = \"1 ms\" }}\n"
            );
        }
        let _ = write!(
            text,
            "[mobility]\nkind = \"nr\"\namf = \"amf\"\nsmf = \"smf\"\nsignalling_size = \"250 B\"\n\
             bearer = {{ sn_bits = 12, t_reordering = \"100 ms\"{} }}\n\
             measurement = {{ hysteresis_db = 0.0, filter_coefficient = 0, {} }}\n\
             timers = {{ {} }}\n{}\n",
            self.bearer,
            self.measurement,
            self.timers.trim_end_matches(','),
            self.mobility
        );
        let _ = write!(
            text,
            "[radio]\nkind = \"hard\"\nin_flight_at_break = \"lost\"\n[radio.measurement]\nperiod = \"10 ms\"\n{}\n",
            self.radio
        );
        let visit = |(cell, at): &(_, _)| format!("{{ cell = \"{cell}\", at = \"{at} ms\" }}");
        let visits = self.visits.iter().map(visit).collect::<Vec<String>>().join(", ");
        let _ = write!(
            text,
            "[[hosts]]\nname = \"ue\"\nhome = \"upf\"\nvisits = [{visits}]\n\
             [[flows]]\nname = \"udp\"\npath = [\"server\", \"ue\"]\n\
             app = {{ kind = \"cbr\", start = \"{} us\", rate = \"4824 kbit/s\", packet = \"1206 B\" }}\n{}\n",
            1_010_000 - 1_000 + self.first_us,
            self.more
        );
        self.troubles.iter().for_each(|trouble| trouble.write(&mut text));
        text
    }

    /// Runs it. It ends, and the laws hold.
    pub fn run(&self) -> Run {
        let text = self.text();
        let run = Run(Record::of(&text, 1, self.duration_ms));
        let broken = Laws::of(&text).broken(&run.0);
        assert!(broken.is_empty(), "{}\n{text}\n{}", broken.join("\n"), run.chart());
        run
    }
}

/// Packet 0, as the specification counts, has this number: it leaves the UPF when the report leaves the host.
const ZERO: i64 = 1_000;

/// A run, whose times are in µs from the report on.
pub struct Run(pub Record);

/// A message: its name and source, and when it leaves and arrives.
pub type Expected<'a> = (&'a str, &'a str, i64, i64);

impl Run {
    /// When a message of this name was sent and arrived, from `source`.
    pub fn message(&self, name: &str, source: &str) -> (i64, i64) {
        let is_it = |signal: &&Signal| {
            &*signal.message == name && &*signal.source == source && signal.sent + 100 * MS >= REPORT
        };
        let signal = self.0.signals.iter().find(is_it).unwrap_or_else(|| panic!("no {name} of {source}"));
        let arrived = signal.arrived.unwrap_or_else(|| panic!("{name} of {source} is lost"));
        (since(signal.sent), since(arrived))
    }

    /// When messages of this name leave, after the report.
    pub fn sent(&self, name: &str) -> Vec<i64> {
        let all = self.0.signals.iter().filter(|signal| &*signal.message == name);
        all.map(|signal| since(signal.sent)).filter(|time| *time >= 0).collect()
    }

    /// These messages leave and arrive then, in µs after `zero`.
    pub fn assert_messages(&self, zero: i64, expected: &[Expected<'_>]) {
        for &(name, source, sent, arrived) in expected {
            let seen = self.message(name, source);
            assert_eq!(seen, (sent + zero, arrived + zero), "{name} of {source}\n{}", self.chart());
        }
    }

    /// These packets reach the host then; both count from their own zero.
    pub fn assert_packets(&self, zero: (i64, i64), expected: &[(i64, i64)]) {
        for &(number, time) in expected {
            let seen = self.packet(number + zero.0);
            assert_eq!(seen, time + zero.1, "packet {number}\n{}", self.chart());
        }
    }

    /// The numbers of the packets that are lost, except copies.
    pub fn lost(&self) -> Vec<i64> {
        let mut lost: Vec<i64> = self.0.lost("udp").map(|loss| loss.seq as i64 - ZERO).collect();
        lost.sort_unstable();
        lost
    }

    /// How many packets left the buffer of a node.
    pub fn released(&self, node: &str) -> usize {
        self.0.releases.iter().filter(|release| &*release.node == node).count()
    }

    /// When a phase was noted first after the report.
    pub fn phase(&self, name: &str) -> i64 {
        let time = self.0.phase(name, REPORT - 100 * MS).unwrap_or_else(|| panic!("no phase {name}"));
        since(time)
    }

    /// When packet `number` reached the host.
    pub fn packet(&self, number: i64) -> i64 {
        let seq = u64::try_from(number + ZERO).expect("a packet");
        let mut all = self.0.delivered("udp").filter(|delivery| delivery.seq == seq);
        let time = all.next().unwrap_or_else(|| panic!("packet {number} never came")).time;
        assert!(all.next().is_none(), "packet {number} came twice");
        since(time)
    }

    /// The longest time between two packets from half a second before the report on.
    pub fn gap(&self) -> i64 {
        let times: Vec<i64> = self
            .0
            .delivered("udp")
            .map(|delivery| since(delivery.time))
            .filter(|time| *time > -500_000)
            .collect();
        times.windows(2).map(|pair| pair[1] - pair[0]).max().expect("packets")
    }

    /// All packets came, once and in order.
    pub fn assert_flawless(&self) {
        let lost: Vec<_> = self.0.lost("udp").collect();
        assert!(lost.is_empty(), "{lost:?}\n{}", self.chart());
        assert_eq!(self.0.total("udp", "duplicate_pkts"), 0, "{}", self.chart());
        let order: Vec<u64> = self.0.delivered("udp").map(|delivery| delivery.seq).collect();
        let turned: Vec<&[u64]> = order.windows(2).filter(|pair| pair[0] >= pair[1]).collect();
        assert!(turned.is_empty(), "{turned:?}\n{}", self.chart());
    }

    /// Messages and phases after the report, for a test that fails.
    pub fn chart(&self) -> String {
        let mut lines: Vec<(i64, String)> = Vec::new();
        for signal in &self.0.signals {
            let arrived = signal.arrived.map_or("lost".into(), |time| since(time).to_string());
            let way = format!("{} -> {}", signal.source, signal.destination);
            lines.push((since(signal.sent), format!("{:<40} {way:<16} {arrived:>8}", signal.message)));
        }
        for phase in &self.0.phases {
            lines.push((since(phase.time), format!("    {:<36} {}", phase.phase, phase.node)));
        }
        lines.sort_by_key(|(time, _)| *time);
        lines.retain(|(time, _)| *time > -200_000);
        lines.iter().fold(String::new(), |mut text, (time, line)| {
            let _ = writeln!(text, "{time:>9} {line}");
            text
        })
    }
}

/// µs since the report.
fn since(time: u64) -> i64 {
    (time as i64 - REPORT as i64).div_euclid(1_000)
}
