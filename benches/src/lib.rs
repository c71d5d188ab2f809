//! The scenarios of the benchmarks, and what is counted in them.
//!
//! Each is the twin of an ns-2 script of `tests/golden/ns2/tcl`, so that `ns2_ratio.py` can run the two side by
//! side: the same links, queues, profile and starts. Nothing is recorded but totals.

use roamlab_world::{Column, Conduct, Replication, Scenario, Table, run};
use std::fmt::Write;

/// A network to measure.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Network {
    /// `d_red.tcl`: RED at 2 Mbit/s, round trips of 86 to 102 ms.
    Red,
    /// `s_dumbbell.tcl`: drop-tail everywhere, 1 Gbit/s everywhere, round trips of 24 ms.
    Gigabit,
}

impl Network {
    /// The network of this name.
    pub fn named(name: &str) -> Option<Network> {
        match name {
            "red" => Some(Network::Red),
            "gigabit" => Some(Network::Gigabit),
            _ => None,
        }
    }

    /// The scenario with `flows` flows that run for `seconds`, as text.
    pub fn scenario(self, flows: u32, seconds: u32) -> String {
        let mut text = format!(
            "[run]\nduration = \"{seconds} s\"\nprofile = \"ns2-2009\"\n\n\
             [network]\nqueue = {{ kind = \"droptail\", limit = \"100000 pkt\", count_in_service = true }}\n\n\
             [record]\ndeliveries = false\ntcp = false\nqueues = []\n\n\
             [[links]]\nbetween = [\"r1\", \"r2\"]\n{}\n",
            self.bottleneck()
        );
        for flow in 0..flows {
            self.write_flow(&mut text, flow);
        }
        text
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
            Network::Gigabit => concat!(
                "rate = \"1 Gbit/s\"\ndelay = \"10 ms\"\n",
                "queue = { kind = \"droptail\", limit = \"1000 pkt\", count_in_service = true }\n",
            ),
        }
    }

    fn write_flow(self, text: &mut String, flow: u32) {
        let (rate, near_ms, far_ms, window, segment, start_ms) = match self {
            Network::Red => ("10 Mbit/s", 1 + flow % 9, 2, 64, 512, 100 + 100 * flow),
            Network::Gigabit => ("1 Gbit/s", 1, 1, 1000, 1460, 100 + 10 * flow),
        };
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\n[[links]]\nbetween = [\"s{flow}\", \"r1\"]\nrate = \"{rate}\"\ndelay = \"{near_ms} ms\"\n\
             \n[[links]]\nbetween = [\"r2\", \"d{flow}\"]\nrate = \"{rate}\"\ndelay = \"{far_ms} ms\"\n\
             \n[[flows]]\nname = \"f{flow}\"\npath = [\"s{flow}\", \"d{flow}\"]\n\
             transport = {{ kind = \"tcp\", variant = \"reno\", window = \"{window} pkt\", segment = \"{segment} B\", header = \"40 B\" }}\n\
             app = {{ kind = \"ftp\", start = \"{start_ms} ms\" }}\n"
        );
    }
}

/// What a run amounts to.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Totals {
    /// Data packets sent, retransmissions included.
    pub sent: u64,
    /// Packets handed over by links.
    pub packet_hops: u64,
    /// Events that happened.
    pub events: u64,
}

impl Totals {
    /// Runs a scenario and counts.
    ///
    /// # Errors
    /// What is wrong with the scenario, or the law that the run violated.
    pub fn of(scenario: &Scenario) -> Result<Totals, String> {
        let tables = run(scenario, Replication::default(), &Conduct::default())
            .map_err(|failure| failure.to_string())?;
        let sent = column(&tables, "flows", "sent_pkts").iter().sum();
        let Some(Column::Words(codes, names)) = find(&tables, "census", "name") else {
            return Err("the census has no names".into());
        };
        let values = column(&tables, "census", "value");
        let total = |name: &str| {
            let row = codes.iter().position(|&code| names[code as usize] == name);
            row.map_or(0, |row| values[row])
        };
        Ok(Totals { sent, packet_hops: total("packet-hops"), events: total("events") })
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
    fn both_networks_send_what_ns2_sends() {
        // What ns-2.35 prints for `d_red.tcl n=3 stop=60` and `s_dumbbell.tcl n=10 stop=2`.
        for (network, flows, seconds, ns2_sent) in
            [(Network::Red, 3, 60, 27_031), (Network::Gigabit, 10, 2, 113_537)]
        {
            let scenario = Scenario::parse(&network.scenario(flows, seconds), "bench").unwrap();
            let totals = Totals::of(&scenario).unwrap();
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
