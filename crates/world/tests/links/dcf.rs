//! 802.11's contention in whole runs: saturation, what frames cost, and frames for a host that has left.

#[path = "../../../radio/src/wifi/dcf/bianchi.rs"]
mod bianchi;

use crate::lab::{results, rows};
use bianchi::Saturated;
use roamlab_world::{Replication, Table};

const SECONDS: u64 = 20;

/// For flows to hosts: they have to be registered.
const MOBILE_IP: &str = "mobility = { kind = \"mobile-ip\", local_handoff = false, smooth_handoff = false, \
                         advertisement_interval = \"500 ms\", buffer = { at = \"none\" } }";

/// A cell of 11 Mbit/s, or of another rate, without beacons.
struct Lan {
    medium: String,
    rate: &'static str,
    hosts: u32,
    visits: &'static str,
    /// Source, destination, rate.
    flows: Vec<(String, String, &'static str)>,
    more: &'static str,
}

impl Lan {
    fn new(medium: &str) -> Lan {
        let medium = format!("medium = {{ kind = \"dcf\", beacon_interval = \"0 s\"{medium} }}");
        let (rate, visits) = ("11 Mbit/s", "[{ cell = \"bs\", at = \"0 s\" }]");
        Lan { medium, rate, hosts: 1, visits, flows: Vec::new(), more: "" }
    }

    fn run(&self, seed: u64) -> Vec<Table> {
        let (end, Lan { medium, rate, more, .. }) = (SECONDS + 1, self);
        let mut text = format!(
            "run = {{ duration = \"{end} s\" }}\nrecord = {{ deliveries = true }}\n{more}\n\
             links = [{{ between = [\"ch\", \"r\"], rate = \"100 Mbit/s\", delay = \"1 ms\" }}]\n\
             [cells.bs]\nrouter = \"r\"\nrate = \"{rate}\"\ndelay = \"0 ms\"\n\
             queue = {{ kind = \"droptail\", limit = \"20 pkt\" }}\n\
             backhaul = {{ rate = \"100 Mbit/s\", delay = \"0 ms\" }}\n{medium}\n"
        );
        for host in 0..self.hosts {
            let visits = if host == 0 { self.visits } else { "[{ cell = \"bs\", at = \"0 s\" }]" };
            text += &format!("[[hosts]]\nname = \"h{host}\"\nhome = \"r\"\nvisits = {visits}\n");
        }
        for (from, to, rate) in &self.flows {
            text += &format!(
                "[[flows]]\nname = \"{from}-{to}\"\npath = [\"{from}\", \"{to}\"]\n\
                 app = {{ kind = \"cbr\", start = \"1 s\", rate = \"{rate}\", packet = \"1500 B\" }}\n"
            );
        }
        results(&text, Replication { seed, run: 0, trace: None })
    }
}

/// Packets delivered of each flow.
fn delivered(tables: &[Table]) -> Vec<f64> {
    rows(tables, "flows", ["delivered_pkts"]).into_iter().map(|[count]| count.parse().unwrap()).collect()
}

fn lost(tables: &[Table], reason: &str) -> u64 {
    let rows = rows(tables, "census", ["name", "value"]);
    rows.into_iter().find(|[name, _]| name == reason).unwrap()[1].parse().unwrap()
}

/// The closed form for 802.11b at 11 Mbit/s with acknowledgements and RTS at 2 Mbit/s, an EIFS behind a collision: in Mbit/s.
fn saturation(stations: i32, rts: bool) -> f64 {
    let (data, ack, announce, clear, sifs) = (192.0 + 1536.0 * 8.0 / 11.0, 248.0, 272.0, 248.0, 10.0);
    let exchange = if rts { announce + sifs + clear + sifs } else { 0.0 } + data + sifs + ack;
    let cell = Saturated {
        stations,
        window: 32.0,
        doublings: 5,
        attempts: 7,
        slot: 20.0,
        success: exchange + 50.0,
        collision: if rts { announce } else { data } + 364.0,
    };
    assert!(cell.collision_probability() < 0.5);
    cell.frames_per_second() * 0.012
}

#[test]
fn saturated_hosts_get_what_the_closed_form_says_and_equal_shares() {
    for (medium, rts) in [("", false), (", rts_threshold = \"0 B\"", true)] {
        for hosts in [1, 2, 3, 5, 10, 15, 20] {
            let mut lan = Lan::new(medium);
            lan.hosts = hosts;
            lan.flows = (0..hosts).map(|host| (format!("h{host}"), "ch".to_owned(), "12 Mbit/s")).collect();
            let got = delivered(&lan.run(1));
            let (all, expected) =
                (got.iter().sum::<f64>() * 0.012 / SECONDS as f64, saturation(hosts as i32, rts));
            println!("{hosts} hosts, rts {rts}: {all:.3} Mbit/s, {:+.2} %", 100.0 * (all / expected - 1.0));
            assert!((all / expected - 1.0).abs() < 0.03, "{hosts}, rts {rts}: {all} {expected}");
            let fair = got.iter().sum::<f64>() / f64::from(hosts);
            // Jain's index; over seconds the shares of many hosts differ by their luck.
            let spread =
                got.iter().map(|share| libm::pow(share / fair - 1.0, 2.0)).sum::<f64>() / f64::from(hosts);
            assert!(1.0 / (1.0 + spread) > 0.97, "{hosts}, rts {rts}: {got:?}");
        }
    }
}

#[test]
fn one_direction_alone_carries_what_its_frames_cost() {
    for (rate, expected) in
        [("1 Mbit/s", 0.91), ("2 Mbit/s", 1.73), ("5.5 Mbit/s", 3.94), ("11 Mbit/s", 6.23)]
    {
        let mut lan = Lan::new("");
        (lan.rate, lan.flows) = (rate, vec![("h0".into(), "ch".into(), "12 Mbit/s")]);
        let mean = |lan: &Lan| (1..=4).map(|seed| delivered(&lan.run(seed))[0]).sum::<f64>() / 4.0;
        let mbps = mean(&lan) * 0.012 / SECONDS as f64;
        assert_eq!(format!("{mbps:.2}"), format!("{expected:.2}"), "{rate}");
        // Down there are two advertisements a second more.
        (lan.more, lan.flows) = (MOBILE_IP, vec![("ch".into(), "h0".into(), "12 Mbit/s")]);
        let down = mean(&lan) * 0.012 / SECONDS as f64;
        assert!((0.99..1.0).contains(&(down / mbps)), "{rate}: {down}");
    }
}

#[test]
fn a_host_at_a_low_rate_slows_all() {
    // As many frames for each, however long they take (Heusse et al., INFOCOM 2003).
    let mut lan = Lan::new("");
    lan.hosts = 2;
    lan.flows = (0..2).map(|host| (format!("h{host}"), "ch".to_owned(), "12 Mbit/s")).collect();
    lan.medium +=
        "\nscheduler = { kind = \"round-robin\" }\nbearers = { hosts = { h0 = { rate = \"1 Mbit/s\" } } }";
    let [slow, fast] = delivered(&lan.run(1))[..] else { panic!("two flows") };
    assert!((slow / fast - 1.0).abs() < 0.1, "{slow} {fast}");
    assert!((slow + fast) * 0.012 / SECONDS as f64 <= 1.8, "{slow} {fast}");
}

/// A host leaves, and packets for it still arrive at its old cell with those for one that stays.
fn departure(medium: &str) -> (Vec<Table>, f64) {
    let mut lan = Lan::new(medium);
    lan.more = MOBILE_IP;
    (lan.hosts, lan.visits) = (2, "[{ cell = \"bs\", at = \"0 s\", until = \"10 s\" }]");
    lan.flows = vec![("ch".into(), "h0".into(), "120 kbit/s"), ("ch".into(), "h1".into(), "240 kbit/s")];
    let tables = lan.run(1);
    let longest = rows(&tables, "deliveries", ["flow", "sent_ns", "time_ns"])
        .into_iter()
        .filter(|[flow, ..]| flow == "ch-h1")
        .map(|[_, sent, time]| (time.parse::<f64>().unwrap() - sent.parse::<f64>().unwrap()) / 1e6)
        .fold(0.0, f64::max);
    (tables, longest)
}

#[test]
fn frames_for_a_host_that_has_left_hold_up_those_behind_them() {
    let (retried, held_up) = departure("");
    let (discarded, prompt) = departure(", departed = \"discard\"");
    // Ten a second come after it has left at 10 s of 21 s.
    for tables in [&retried, &discarded] {
        assert_eq!(lost(tables, "detached"), 110);
        assert_eq!(lost(tables, "retry-limit"), 0);
        // The one that stays gets all of its own but the last, which may be on its way.
        assert!(delivered(tables)[1] >= 399.0, "{:?}", delivered(tables));
    }
    // Seven attempts take 40 ms in the mean; a single frame 2 ms.
    assert!((30.0..150.0).contains(&held_up), "{held_up} ms");
    assert!(prompt < 5.0, "{prompt} ms");
    // Each loss is led to by the departure.
    let causes = rows(&retried, "causes", ["kind", "cause"]);
    for [reason, cause] in rows(&retried, "drops", ["reason", "cause"]) {
        assert_eq!(reason, "detached");
        let next = |row: &String| causes.get(row.parse::<usize>().ok()?).map(|[kind, next]| (kind, next));
        let chain = std::iter::successors(next(&cause), |(_, row)| next(row));
        assert_eq!(chain.last().unwrap().0, "motion");
    }
}

#[test]
fn what_noise_takes_is_sent_again_up_to_the_limit() {
    let mut lan = Lan::new(", frame_loss = 0.6");
    lan.flows = vec![("h0".into(), "ch".into(), "480 kbit/s")];
    let tables = lan.run(1);
    let (given_up, got) = (lost(&tables, "retry-limit") as f64, delivered(&tables)[0]);
    let expected = 800.0 * libm::pow(0.6, 7.0);
    assert!((given_up - expected).abs() < 4.0 * expected.sqrt(), "{given_up} {expected}");
    assert!(got + given_up >= 799.0, "{got} {given_up}");
}

#[test]
fn a_beacon_costs_its_air_time() {
    let mut lan = Lan::new("");
    lan.flows = vec![("h0".into(), "ch".into(), "12 Mbit/s")];
    let without = delivered(&lan.run(1))[0];
    lan.medium = "medium = { kind = \"dcf\" }".into();
    let tables = lan.run(1);
    let with = delivered(&tables)[0];
    // Beacons before the first frame, at 1 s, do not let it arrive before it is sent.
    let first = rows(&tables, "deliveries", ["time_ns", "sent_ns"]).swap_remove(0);
    let [arrived, sent] = first.map(|time| time.parse::<u64>().unwrap());
    assert!(sent >= 1_000_000_000 && arrived > sent, "{arrived} {sent}");
    // Ten a second of 0.55 ms and their own pauses, 0.36 ms: 0.9 %.
    let share = 1.0 - with / without;
    assert!((0.004..0.015).contains(&share), "{share}");
}

/// ns-3's runs of the same cell: throughput in Mbit/s and collisions among the attempts, means over its runs.
fn of_ns3(stations: u32, rts: bool) -> (f64, f64) {
    let text = include_str!("../../../../tests/golden/ns3/saturation.csv");
    let threshold = if rts { 0.0 } else { 2347.0 };
    let (mut runs, mut mbps, mut collisions) = (0.0, 0.0, 0.0);
    for line in text.lines().skip(1) {
        let values: Vec<f64> = line.split(',').map(|value| value.parse().unwrap()).collect();
        let [count, rts_threshold, _, seconds, received, sent] = values[..] else { panic!("{line}") };
        if count == f64::from(stations) && rts_threshold == threshold {
            // Received frames were announced before, with RTS.
            let attempts = if rts { sent - received } else { sent };
            runs += 1.0;
            mbps += received / seconds * 0.012;
            collisions += 1.0 - received / attempts;
        }
    }
    assert!(runs >= 4.0, "{stations} stations");
    (mbps / runs, collisions / runs)
}

/// The rest are the whole microseconds to which ns-3 rounds its frames. With an EIFS behind collisions, as
/// the default is, ten hosts get 3 % less: in ns-3 no station makes out frames that begin together at equal
/// strength.
#[test]
fn saturation_is_that_of_ns3() {
    for rts in [false, true] {
        for hosts in [1, 2, 5, 10] {
            let threshold = if rts { 0 } else { 2347 };
            let mut lan =
                Lan::new(&format!(", basic_rate = \"11 Mbit/s\", rts_threshold = \"{threshold} B\""));
            lan.hosts = hosts;
            lan.flows = (0..hosts).map(|host| (format!("h{host}"), "ch".to_owned(), "12 Mbit/s")).collect();
            let mean = |lan: &Lan| {
                let got =
                    (1..=4).map(|seed| delivered(&lan.run(seed)).iter().sum::<f64>()).sum::<f64>() / 4.0;
                got * 0.012 / SECONDS as f64
            };
            let (theirs, collisions) = of_ns3(hosts, rts);
            let with_eifs = mean(&lan) / theirs - 1.0;
            lan.medium = lan.medium.replace("dcf\"", "dcf\", after_collision = \"difs\"");
            let ours = mean(&lan) / theirs - 1.0;
            println!(
                "{hosts} hosts, rts {rts}: ns-3 {theirs:.3} Mbit/s, p {collisions:.4}; ours {:+.2} %, with an EIFS {:+.2} %",
                100.0 * ours,
                100.0 * with_eifs
            );
            assert!(ours.abs() < 0.005, "{hosts} hosts, rts {rts}: {ours}");
            assert!((-0.035..0.005).contains(&with_eifs), "{hosts} hosts, rts {rts}: {with_eifs}");
        }
    }
}
