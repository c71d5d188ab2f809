//! TCP by the RFCs, in whole runs: what recoveries send again, the window behind one that fails, and behind idleness.

use crate::lab::{results, rows};
use roamlab_world::{Replication, Table};

const DRAW: Replication = Replication { seed: 1, run: 0, trace: None };

/// Results of a file transfer that fills a short queue: goodput in Mbit/s, timeouts and losses.
fn transfer(profile: &str, variant: &str, delay: &str) -> (f64, u64, u64) {
    let text = format!(
        r#"
        run = {{ duration = "20 s", profile = "own" }}
        tcp_profiles.own = {{ based_on = "{profile}", tick_phase = "0 s" }}
        [[links]]
        between = ["a", "b"]
        rate = "8 Mbit/s"
        delay = "{delay}"
        queue = {{ kind = "droptail", limit = "100 pkt" }}
        [[flows]]
        name = "file"
        path = ["a", "b"]
        transport = {{ kind = "tcp", variant = "{variant}", window = "500 pkt" }}
        app = {{ kind = "ftp" }}
        "#
    );
    let columns = ["delivered_bytes", "timeouts", "dropped_pkts"];
    let [flow] = rows(&results(&text, DRAW), "flows", columns).try_into().unwrap();
    let [bytes, timeouts, dropped] = flow.map(|value| value.parse::<u64>().unwrap());
    (bytes as f64 * 8.0 / 20.0 / 1e6, timeouts, dropped)
}

#[test]
fn a_timeout_in_recovery_does_not_widen_the_window() {
    for variant in ["reno", "newreno", "sack", "fack"] {
        for delay in ["20 ms", "30 ms", "50 ms"] {
            let (goodput, timeouts, dropped) = transfer("rfc", variant, delay);
            let ns2 = transfer("ns2-2009", variant, delay);
            let found =
                format!("{variant}, {delay}: {goodput} Mbit/s, {timeouts} timeouts, {dropped} losses");
            assert!(timeouts <= 1 && dropped <= ns2.2, "{found}; ns-2: {ns2:?}");
            assert!(goodput >= 0.85 * ns2.0, "{found}; ns-2: {ns2:?}"); // the shortest RTO is 1 s instead of 200 ms
        }
    }
}

/// A transfer over a path of 400 ms there and back; `link` has the losses of the link.
fn over_a_long_path(link: &str, transport: &str, app: &str) -> Vec<Table> {
    let text = format!(
        r#"
        run = {{ duration = "40 s", profile = "rfc" }}
        record = {{ packets = true }}
        links = [{{ between = ["a", "b"], rate = "8 Mbit/s", delay = "200 ms", {link} }}]
        [[flows]]
        name = "x"
        path = ["a", "b"]
        transport = {{ kind = "tcp", {transport} }}
        app = {app}
        "#
    );
    results(&text, DRAW)
}

#[test]
fn a_full_receiver_window_makes_no_recovery_send_what_arrived() {
    let lost: Vec<u32> = (100..500).step_by(50).collect();
    for variant in ["newreno", "sack"] {
        let transport = format!("variant = \"{variant}\", window = \"20 pkt\"");
        let tables = over_a_long_path(
            &format!("drops = [{{ packets = {lost:?} }}]"),
            &transport,
            "{ kind = \"ftp\" }",
        );
        let [flow] =
            rows(&tables, "flows", ["dropped_pkts", "retransmitted_pkts", "timeouts"]).try_into().unwrap();
        let count = lost.len().to_string();
        assert_eq!(flow, [count.clone(), count, "0".into()], "{variant}: losses, retransmissions, timeouts");
    }
}

#[test]
fn idle_is_the_time_since_the_last_segment_was_sent() {
    // Six segments every 2 s. The last of them go 0.8 s after the offer and are acknowledged at 1.2 s; the RTO is 1 s.
    let app = "{ kind = \"cbr\", packet = \"6000 B\", rate = \"24 kbit/s\" }";
    let tables = over_a_long_path("", "initial_window = \"2 pkt\", delayed_ack = \"0 s\"", app);
    let sent = rows(&tables, "packets", ["event", "place", "time_ns"]);
    let times: Vec<u64> = sent
        .iter()
        .filter(|row| row[0] == "send" && row[1] == "a")
        .map(|row| row[2].parse().unwrap())
        .collect();
    let at_once = |offer: u64| times.iter().filter(|time| **time == offer * 1_000_000_000).count();
    let bursts: Vec<usize> = (1..19).map(|offer| at_once(2 * offer)).collect();
    assert_eq!(bursts, [2; 18], "no more than the restart window");
}

#[test]
fn the_default_window_does_not_limit_a_transfer() {
    // 4 Mbit/s over 60 ms there and back: 20 segments would be 2.6 Mbit/s.
    let text = r#"
        run = { duration = "20 s", profile = "rfc" }
        links = [{ between = ["a", "b"], rate = "4 Mbit/s", delay = "30 ms" }]
        [[flows]]
        name = "x"
        path = ["a", "b"]
        transport = { kind = "tcp", variant = "sack" }
        app = { kind = "ftp" }
    "#;
    let [[bytes]] = rows(&results(text, DRAW), "flows", ["delivered_bytes"]).try_into().unwrap();
    let goodput = bytes.parse::<f64>().unwrap() * 8.0 / 20.0 / 1e6;
    assert!(goodput > 0.9 * 4.0, "{goodput} Mbit/s");
}
