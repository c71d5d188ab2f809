//! Whole runs with a kernel. Without a built kernel they are skipped, and say so.
#![cfg(target_os = "linux")]

use roamlab_kernel::{Counters, Kernel, run};
use roamlab_scenario::Scenario;
use roamlab_world::{Column, Replication, RunOptions, Table};

/// A link of 10 Mbit/s and 20 ms each way, with a gap of 200 ms in which everything is lost.
const LINK: &str = r#"
[run]
duration = "8 s"
[record]
tcp = true
variables = true
[[links]]
between = ["a", "b"]
rate = "10 Mbit/s"
delay = "20 ms"
queue = { kind = "droptail", limit = "50 pkt" }
reverse_queue = { kind = "droptail", limit = "50 pkt" }
changes = [{ at = "4 s", up = false }, { at = "4.2 s", up = true }]
[[flows]]
name = "f"
path = ["a", "b"]
transport = { kind = "linux", congestion_control = "cubic" }
app = { kind = "ftp", start = "0.1 s" }
"#;

fn kernel() -> Option<Kernel> {
    let found = Kernel::find("6.12");
    if found.is_none() {
        println!("skipped: no kernel; `roamlab kernel build` builds one");
    }
    found
}

fn made(kernel: &Kernel, text: &str, seed: u64) -> (Vec<Table>, Counters) {
    let scenario = Scenario::parse(text, "kernel.toml").unwrap_or_else(|error| panic!("{error}"));
    let draw = Replication { seed, run: 0, trace: None };
    run(kernel, &scenario, draw, &RunOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn column<'a>(tables: &'a [Table], table: &str, column: &str) -> &'a Column {
    let found = tables.iter().find(|one| one.name == table).unwrap();
    &found.columns.iter().find(|(name, _)| *name == column).unwrap().1
}

fn total(tables: &[Table], name: &str) -> u64 {
    let Column::U64(values) = column(tables, "flows", name) else { panic!("{name}") };
    values[0]
}

#[test]
fn a_kernel_s_flow_is_recorded_as_its_own_counters_say() {
    let Some(kernel) = kernel() else { return };
    let (tables, counters) = made(&kernel, LINK, 1);
    let counter = |name: &str| counters[0].1.iter().find(|(one, _)| one == name).unwrap().1 as u64;
    println!("{counters:?}");
    for name in ["sent_pkts", "retransmitted_pkts", "delivered_pkts", "delivered_bytes", "dropped_pkts", "timeouts", "fast_retransmits"] {
        println!("{name} {}", total(&tables, name));
    }
    assert_eq!(total(&tables, "retransmitted_pkts"), counter("RetransSegs"));
    assert_eq!(total(&tables, "timeouts"), counter("TCPTimeouts"));
    assert_eq!(total(&tables, "fast_retransmits"), counter("TCPSackRecovery"));
    assert!(total(&tables, "delivered_bytes") > 8_000_000);
}

#[test]
fn a_run_repeats_to_the_digit() {
    let Some(kernel) = kernel() else { return };
    let (first, again) = (made(&kernel, LINK, 1), made(&kernel, LINK, 1));
    assert!(first == again, "two runs of one seed differ");
}
