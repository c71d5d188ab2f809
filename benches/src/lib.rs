//! The scenarios of the benchmarks, and what is counted in them.
//!
//! The dumbbells are twins of ns-2 scripts of `tests/golden/ns2/tcl`, so that `ns2_ratio.py` can run the two side by
//! side: the same links, queues, profile and starts. Nothing is recorded but totals. The third network is a paper's, with
//! hosts that move.

use roamlab_scenario::Scenario;
use roamlab_world::{Column, Replication, RunOptions, Table, run};
use std::fmt::Write;

/// A network to measure.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Network {
    /// `d_red.tcl`: RED at 2 Mbit/s, round trips of 86 to 102 ms.
    Red,
    /// `s_dumbbell.tcl`: drop-tail everywhere, 1 Gbit/s everywhere, round trips of 24 ms.
    Gigabit,
    /// The same with CUBIC, or BBR and its pacing, in the place of Reno's congestion control.
    GigabitCubic,
    /// See [`GigabitCubic`](Network::GigabitCubic).
    GigabitBbr,
    /// The same with CoDel, or FQ-CoDel, before every link in the place of drop-tail.
    GigabitCodel,
    /// See [`GigabitCodel`](Network::GigabitCodel).
    GigabitFqCodel,
    /// Current transports, at 200 Mbit/s with round trips of 24 ms: CUBIC as `linux-6` has it.
    LinuxCubic,
    /// The same with BBR, before a queue that loses nothing.
    LinuxBbr,
    /// The same with QUIC of the profile `rfc`.
    Quic,
    /// Many flows of the profile `rfc`, each between its own two nodes, over one link of 100 Gbit/s.
    Star,
    /// `handoffs` of the IPF paper's `experiments.py`: each moving host visits a cell behind M-RED, which seven residents
    /// fill, five times in 200 s. Recorded is what figs. 12 and 13 need.
    Ipf,
}

/// Tables of a dumbbell in addition to totals.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Recorded {
    /// Nothing.
    Totals,
    /// Deliveries, senders' states and the bottleneck's queue.
    Flows,
    /// Events of each packet.
    Packets,
}

impl Recorded {
    /// The record of this name.
    pub fn named(name: &str) -> Option<Recorded> {
        match name {
            "totals" => Some(Recorded::Totals),
            "flows" => Some(Recorded::Flows),
            "packets" => Some(Recorded::Packets),
            _ => None,
        }
    }

    fn table(self) -> &'static str {
        match self {
            Recorded::Totals => "deliveries = false\ntcp = false\nqueues = []",
            Recorded::Flows => "deliveries = true\ntcp = true\nqueues = [\"r1->r2\"]",
            Recorded::Packets => "deliveries = false\ntcp = false\nqueues = []\npackets = true",
        }
    }
}

/// The IPF paper's network without hosts.
const IPF: &str = include_str!("../../python/roamlab/papers/ipf/scenario.toml");
/// Round trips of the residents, whose connections are there all the time.
const RESIDENTS_MS: [u32; 7] = [86, 88, 90, 92, 94, 96, 98];
/// Of each moving host.
const VISITS: u32 = 5;

impl Network {
    /// The network of this name.
    pub fn named(name: &str) -> Option<Network> {
        match name {
            "red" => Some(Network::Red),
            "gigabit" => Some(Network::Gigabit),
            "gigabit-cubic" => Some(Network::GigabitCubic),
            "gigabit-bbr" => Some(Network::GigabitBbr),
            "gigabit-codel" => Some(Network::GigabitCodel),
            "gigabit-fq-codel" => Some(Network::GigabitFqCodel),
            "linux-cubic" => Some(Network::LinuxCubic),
            "linux-bbr" => Some(Network::LinuxBbr),
            "quic" => Some(Network::Quic),
            "star" => Some(Network::Star),
            "ipf" => Some(Network::Ipf),
            _ => None,
        }
    }

    /// Requested tables of a run: for `Ipf` the columns that figs. 12 and 13 are measured by (`point` of the
    /// paper's `measures.py`), and the totals; `None`: everything.
    pub fn wanted(self) -> Option<Vec<String>> {
        let columns = ["drops.place", "drops.forwarded", "flows", "links", "census"];
        (self == Network::Ipf).then(|| columns.map(str::to_owned).to_vec())
    }

    /// The scenario with `flows` flows (of `Ipf`: moving hosts) that run for `seconds`, as text. A dumbbell records
    /// `recorded`; what `Ipf` records is the paper's.
    pub fn scenario(self, flows: u32, seconds: f64, recorded: Recorded) -> String {
        match self {
            Network::Ipf => ipf(flows, seconds),
            Network::Star => star(flows, seconds, recorded),
            _ => self.dumbbell(flows, seconds, recorded),
        }
    }

    fn dumbbell(self, flows: u32, seconds: f64, recorded: Recorded) -> String {
        let mut text = format!(
            "[run]\nduration = \"{seconds} s\"\nprofile = \"{}\"\n\n\
             [network]\nqueue = {}\n\n\
             [record]\n{}\n\n\
             [[links]]\nbetween = [\"r1\", \"r2\"]\n{}\n",
            self.profile(),
            self.queue(),
            recorded.table(),
            self.bottleneck()
        );
        for flow in 0..flows {
            self.write_flow(&mut text, flow);
        }
        text
    }

    fn profile(self) -> &'static str {
        match self {
            Network::LinuxCubic | Network::LinuxBbr => "linux-6",
            Network::Quic => "rfc",
            _ => "ns2-2009",
        }
    }

    /// The default queue of a link.
    fn queue(self) -> &'static str {
        match self {
            Network::GigabitCodel => "{ kind = \"codel\", limit = \"100000 pkt\" }",
            Network::GigabitFqCodel => "{ kind = \"fq-codel\", limit = \"100000 pkt\" }",
            _ => "{ kind = \"droptail\", limit = \"100000 pkt\", count_in_service = true }",
        }
    }

    fn bottleneck(self) -> &'static str {
        match self {
            Network::Red => concat!(
                "rate = \"2 Mbit/s\"\ndelay = \"40 ms\"\n",
                "queue = { kind = \"red\", rules = \"ns2\", limit = \"120 pkt\", min_threshold = \"40 pkt\", ",
                "max_threshold = \"80 pkt\", max_p = 0.02, gentle = false, mean_packet = \"552 B\", ",
                "threshold_unit = \"packets\", probability_unit = \"packets\" }\n",
                // The script's ACKs pass a RED that never drops.
                "reverse_queue = { kind = \"red\", rules = \"ns2\", limit = \"100000 pkt\", ",
                "min_threshold = \"90000 pkt\", max_threshold = \"95000 pkt\", max_p = 0.02, gentle = false, ",
                "mean_packet = \"40 B\", threshold_unit = \"packets\", probability_unit = \"packets\" }\n",
            ),
            // No loss: what is measured is a sender that paces, not how Reno's recovery repairs an overshoot.
            Network::GigabitBbr => concat!(
                "rate = \"1 Gbit/s\"\ndelay = \"10 ms\"\n",
                "queue = { kind = \"droptail\", limit = \"20000 pkt\", count_in_service = true }\n",
            ),
            Network::GigabitCodel | Network::GigabitFqCodel => "rate = \"1 Gbit/s\"\ndelay = \"10 ms\"\n",
            Network::LinuxCubic | Network::Quic => concat!(
                "rate = \"200 Mbit/s\"\ndelay = \"10 ms\"\n",
                "queue = { kind = \"droptail\", limit = \"400 pkt\" }\n",
            ),
            Network::LinuxBbr => concat!(
                "rate = \"200 Mbit/s\"\ndelay = \"10 ms\"\n",
                "queue = { kind = \"droptail\", limit = \"20000 pkt\" }\n",
            ),
            _ => concat!(
                "rate = \"1 Gbit/s\"\ndelay = \"10 ms\"\n",
                "queue = { kind = \"droptail\", limit = \"1000 pkt\", count_in_service = true }\n",
            ),
        }
    }

    fn write_flow(self, text: &mut String, flow: u32) {
        let (rate, near_ms, far_ms, window, segment, start_ms) = match self {
            Network::Red => ("10 Mbit/s", 1 + flow % 9, 2, 64, 512, 100 + 100 * flow),
            _ => ("1 Gbit/s", 1, 1, 1000, 1460, 100 + 10 * flow),
        };
        let sized = format!(
            "kind = \"tcp\", variant = \"reno\", window = \"{window} pkt\", segment = \"{segment} B\", header = \"40 B\""
        );
        let transport = match self {
            Network::GigabitCubic => format!("{sized}, congestion_control = \"cubic\""),
            // BBR uses what is delivered, which Reno's recovery does not know.
            Network::GigabitBbr => {
                let sized = sized.replace("\"reno\"", "\"sack\"");
                format!("{sized}, congestion_control = \"bbr\"")
            }
            Network::LinuxCubic => "kind = \"tcp\", congestion_control = \"cubic\"".to_owned(),
            Network::LinuxBbr => "kind = \"tcp\", congestion_control = \"bbr\"".to_owned(),
            Network::Quic => "kind = \"quic\"".to_owned(),
            _ => sized,
        };
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\n[[links]]\nbetween = [\"s{flow}\", \"r1\"]\nrate = \"{rate}\"\ndelay = \"{near_ms} ms\"\n\
             \n[[links]]\nbetween = [\"r2\", \"d{flow}\"]\nrate = \"{rate}\"\ndelay = \"{far_ms} ms\"\n\
             \n[[flows]]\nname = \"f{flow}\"\npath = [\"s{flow}\", \"d{flow}\"]\n\
             transport = {{ {transport} }}\n\
             app = {{ kind = \"ftp\", start = \"{start_ms} ms\" }}\n"
        );
    }
}

/// Two stars, joined at their centres, with a node for each end of a flow. The flows start within 50 ms.
fn star(flows: u32, seconds: f64, recorded: Recorded) -> String {
    let leaf = "link = { rate = \"1 Gbit/s\", delay = \"1 ms\" }";
    let half = |name| {
        format!("[[topology]]\nkind = \"tree\"\nname = \"{name}\"\ndepth = 1\nfan_out = {flows}\n{leaf}\n")
    };
    format!(
        "[run]\nduration = \"{seconds} s\"\nprofile = \"rfc\"\n\n\
         [record]\n{}\n\n\
         [[links]]\nbetween = [\"s-0-0\", \"d-0-0\"]\nrate = \"100 Gbit/s\"\ndelay = \"10 ms\"\n\
         queue = {{ kind = \"droptail\", limit = \"{} pkt\" }}\n\n{}{}\
         [[flows]]\nname = \"f\"\ncount = {flows}\npath = [\"s-1-*\", \"d-1-*\"]\ntransport = {{ kind = \"tcp\" }}\n\
         app = {{ kind = \"ftp\", start_within = \"50 ms\" }}\n",
        recorded.table(),
        flows.max(1000),
        half("s"),
        half("d"),
    )
}

/// The IPF paper's network with residents and `movers` moving hosts.
fn ipf(movers: u32, seconds: f64) -> String {
    let mut text = IPF.replace("duration = \"200 s\"", &format!("duration = \"{seconds} s\""));
    for (number, rtt_ms) in (1..).zip(RESIDENTS_MS) {
        let delay_ms = rtt_ms / 2 - 4;
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\n[[links]]\nbetween = [\"ch-r{number}\", \"fa2\"]\nrate = \"10 Mbit/s\"\ndelay = \"{delay_ms} ms\"\n"
        );
        write_host(
            &mut text,
            &format!("r{number}"),
            &format!("ch-r{number}"),
            "{ cell = \"bs2\", at = \"0 s\" }",
        );
    }
    let stay_ns = 200_000_000_000 / u64::from(2 * VISITS + 1);
    for number in 0..movers {
        let later_ns = 2 * stay_ns * u64::from(number) / u64::from(movers);
        let mut stays = "{ cell = \"bs1\", at = \"0 s\" }".to_owned();
        for (step, cell) in (1..=2 * u64::from(VISITS)).zip(["bs2", "bs1"].into_iter().cycle()) {
            let _ = write!(stays, ", {{ cell = \"{cell}\", at = \"{} ns\" }}", step * stay_ns + later_ns);
        }
        write_host(&mut text, &format!("mh{number}"), "ch", &stays);
    }
    text
}

/// A host at home at "ha", and its connection from `peer`.
fn write_host(text: &mut String, name: &str, peer: &str, stays: &str) {
    let _ = write!(
        text,
        "\n[[hosts]]\nname = \"{name}\"\nhome = \"ha\"\nvisits = [{stays}]\n\
         \n[[flows]]\nname = \"to-{name}\"\npath = [\"{peer}\", \"{name}\"]\n\
         transport = {{ kind = \"tcp\", variant = \"reno\", window = \"64 pkt\", segment = \"512 B\", header = \"0 B\", min_rto = \"200 ms\" }}\n\
         app = {{ kind = \"ftp\", start = \"0.5 s\", start_within = \"1 s\" }}\n"
    );
}

/// Totals of a run.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Totals {
    /// Data packets sent, retransmissions included.
    pub sent: u64,
    /// Data packets delivered.
    pub delivered: u64,
    /// Packets handed over by links.
    pub packet_hops: u64,
    /// Events that happened.
    pub events: u64,
}

impl Totals {
    /// Runs a scenario and counts. `wanted`: see [`Network::wanted`].
    ///
    /// # Errors
    /// What is wrong with the scenario, or the law that the run violated.
    pub fn of(scenario: &Scenario, wanted: Option<&[String]>) -> Result<Totals, String> {
        Totals::with(scenario, &RunOptions { tables: wanted, ..RunOptions::default() })
    }

    /// The same with other options.
    ///
    /// # Errors
    /// As of [`Totals::of`].
    pub fn with(scenario: &Scenario, options: &RunOptions<'_>) -> Result<Totals, String> {
        let tables = run(scenario, Replication::default(), options).map_err(|failure| failure.to_string())?;
        let [sent, delivered] =
            ["sent_pkts", "delivered_pkts"].map(|name| column(&tables, "flows", name).iter().sum());
        let Some(Column::Words(codes, names)) = find(&tables, "census", "name") else {
            return Err("the census has no names".into());
        };
        let values = column(&tables, "census", "value");
        let total = |name: &str| {
            let row = codes.iter().position(|&code| names[code as usize] == name);
            row.map_or(0, |row| values[row])
        };
        Ok(Totals { sent, delivered, packet_hops: total("packet-hops"), events: total("events") })
    }
}

fn find<'a>(tables: &'a [Table], table: &str, column: &str) -> Option<&'a Column> {
    let table = tables.iter().find(|found| found.name == table)?;
    table.columns.iter().find(|(name, _)| *name == column).map(|(_, column)| column)
}

fn column<'a>(tables: &'a [Table], table: &str, name: &str) -> &'a [u64] {
    match find(tables, table, name) {
        Some(Column::U64(values)) => values,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moving_hosts_move() {
        let scenario = Scenario::parse(&Network::Ipf.scenario(5, 60.0, Recorded::Totals), "bench").unwrap();
        let tables = run(&scenario, Replication::default(), &RunOptions::default()).unwrap();
        // Visits of the old cell count, so the first host is in its fourth after 54.5 s.
        let Some(Column::U32(visits)) = find(&tables, "handovers", "visit") else { panic!("no visits") };
        assert_eq!(visits.iter().max(), Some(&3));
        let totals = Totals::of(&scenario, None).unwrap();
        assert!(totals.packet_hops > 100_000);
        assert_eq!(Totals::of(&scenario, Network::Ipf.wanted().as_deref()).unwrap(), totals);
    }

    #[test]
    fn both_networks_send_what_ns2_sends() {
        // Totals that ns-2.35 prints for `d_red.tcl n=3 stop=60` and `s_dumbbell.tcl n=10 stop=2`.
        for (network, flows, seconds, ns2_sent) in
            [(Network::Red, 3, 60.0, 27_031), (Network::Gigabit, 10, 2.0, 113_537)]
        {
            let scenario =
                Scenario::parse(&network.scenario(flows, seconds, Recorded::Totals), "bench").unwrap();
            let totals = Totals::of(&scenario, None).unwrap();
            let ratio = totals.sent as f64 / f64::from(ns2_sent);
            assert!(
                (0.98..1.02).contains(&ratio),
                "{network:?} sends {} packets, ns-2 {ns2_sent}",
                totals.sent
            );
            assert!(totals.packet_hops > 5 * totals.sent && totals.events > totals.packet_hops);
        }
    }
}
