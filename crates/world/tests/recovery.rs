//! TCP by the RFCs, in whole runs: a recovery that fails does not begin the next one with a wider window.

mod lab;

use lab::{results, rows};
use roamlab_world::Replication;

const DRAW: Replication = Replication { seed: 1, run: 0, trace: None };

/// What a file transfer that fills a short queue came to: goodput in Mbit/s, timeouts and losses.
fn transfer(profile: &str, variant: &str, delay: &str) -> (f64, u64, u64) {
    let text = format!(
        r#"
        run = {{ duration = "20 s", profile = "{profile}" }}
        [[links]]
        between = ["a", "b"]
        rate = "8 Mbit/s"
        delay = "{delay}"
        queue = {{ kind = "droptail", limit = "100 pkt" }}
        [[flows]]
        name = "file"
        path = ["a", "b"]
        transport = {{ kind = "tcp", variant = "{variant}", window = "500 pkt", tick_phase = "0 s" }}
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
