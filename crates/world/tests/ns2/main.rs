//! Replays recorded ns-2.35 runs: the same segments, ACKs, queue lengths, losses and variables at the same times.
//!
//! The recordings are in `tests/golden/ns2` of the project, or in `golden/ns2` of the folder that `ROAMLAB_DATA`
//! names. Times there are whole microseconds, rounded; real numbers have six significant digits.

mod compare;
mod golden;
mod live;
mod network;
mod plan;

use golden::Run;
use roamlab_engine::Packets;
use roamlab_transport::{PartialDeflation, TcpSpec};
use std::collections::BTreeMap;

/// Repeats every recording of `group` by these variants, at least so many.
fn replay(group: &str, variants: &[&str], least: usize) {
    let wanted = |run: &Run| variants.contains(&run.params.variant.as_str());
    let runs: Vec<Run> = golden::runs(group).into_iter().filter(wanted).collect();
    assert!(runs.len() >= least, "only {} recordings of {variants:?} in group {group}", runs.len());
    check(&runs);
}

/// Repeats the runs and reports all that differ.
fn check(runs: &[Run]) {
    let mut failures = Vec::new();
    let mut counts: BTreeMap<[&str; 3], (u32, u32)> = BTreeMap::new();
    for run in runs {
        let outcome = network::simulate(&run.plan(), &run.spec());
        let compared = compare::compare(run, &outcome);
        let kind = [run.group.as_str(), run.params.preset.as_str(), run.params.variant.as_str()];
        let (equal, all) = counts.entry(kind).or_default();
        *equal += u32::from(compared.is_ok());
        *all += 1;
        failures.extend(compared.err().map(|why| format!("{}: {why}", run.name)));
    }
    for ([group, preset, variant], (equal, all)) in counts {
        println!("group {group}, {preset}, {variant}: {equal} of {all} equal");
    }
    let (different, all) = (failures.len(), runs.len());
    assert!(failures.is_empty(), "{different} of {all} runs differ:\n{}", failures.join("\n"));
}

/// Recordings of a variant in each group, both presets together.
macro_rules! variants {
    ($($name:ident: $variant:literal, $single:literal, $forced:literal, $outage:literal;)+) => {
        $(mod $name {
            #[test]
            fn group_a_single_flow() {
                super::replay("a", &[$variant], $single);
            }

            #[test]
            fn group_b_forced_losses() {
                super::replay("b", &[$variant], $forced);
            }

            #[test]
            fn group_c_outages() {
                super::replay("c", &[$variant], $outage);
            }

        })+
    };
}

variants! {
    tahoe: "Tahoe", 4, 9, 7;
    reno: "Reno", 6, 15, 10;
    newreno: "NewReno", 4, 12, 9;
    sack: "SACK", 6, 11, 7;
    fack: "FACK", 6, 11, 10;
    vegas: "Vegas", 6, 17, 7;
}

#[test]
fn live_shared_queues_agree() {
    let cases = [
        ("d", "n=6 qtype=DropTail lim=30 stop=20"),
        ("d", "n=5 gentle=1 stop=20 seed=7"),
        ("d", "n=4 minth=10 maxth=20 stop=15 seed=3"),
        ("d", "variant=SACK n=4 minth=10 maxth=20 gentle=1 stop=15 seed=4"),
        ("d", "variant=NewReno preset=ns21b n=3 minth=5 maxth=15 stop=15 seed=9"),
        ("e", "n=5 aqm=red stop=10 seed=2"),
        ("e", "n=7 aqm=redecn stop=10 seed=6"),
        ("e", "variant=NewReno n=4 aqm=redecn stop=10 seed=5"),
        ("e", "variant=SACK n=6 aqm=redecn gentle=1 stop=10 seed=8"),
    ];
    let runs: Vec<Run> = cases.iter().filter_map(|(group, arguments)| live::run(group, arguments)).collect();
    check(&runs);
}

#[test]
fn live_ecn_agrees() {
    let mut runs = Vec::new();
    for variant in ["Tahoe", "Reno", "NewReno", "SACK", "FACK"] {
        for (n, seed, thresholds) in [
            (2, 11, ""),
            (4, 12, " gentle=1"),
            (5, 13, " minth=5 maxth=15"),
            (1, 14, " minth=2 maxth=8 wq=0.02"),
            (3, 15, " minth=3 maxth=30 wq=0.05 linterm=4"),
            (7, 16, " lim=40"),
        ] {
            let arguments = format!("variant={variant} n={n} aqm=redecn stop=6 seed={seed}{thresholds}");
            runs.extend(live::run("e", &arguments));
        }
    }
    check(&runs);
}

#[test]
fn group_d_red() {
    replay("d", &["Reno"], 7);
}

#[test]
fn group_e_lte() {
    replay("e", &["Reno"], 2);
}

/// Scenarios that nobody recorded, against the ns-2 that is installed; none where there is none.
fn live(variant: &str) -> Vec<Run> {
    let mut cases = Vec::new();
    for preset in ["ns235", "ns21b"] {
        for queue in [4, 6, 12, 15, 30] {
            cases.push(("a", format!("variant={variant} preset={preset} queue={queue} stop=15")));
        }
        for window in [2, 3, 5, 8, 20] {
            let arguments =
                format!("variant={variant} preset={preset} queue=200 win={window} stop=4 drops=20");
            cases.push(("a", arguments));
        }
        for drops in ["0", "1", "2", "3", "0 1", "10 30 31 32 60", "25 26 80 81 150", "40 60 61 62 63 64"] {
            cases.push(("a", format!("variant={variant} preset={preset} queue=200 stop=12 drops={drops}")));
        }
        for gap in ["0.02", "0.09", "0.25", "1.0", "4.0"] {
            cases.push(("c", format!("variant={variant} preset={preset} gap={gap} stop=15")));
        }
    }
    cases.iter().filter_map(|(group, arguments)| live::run(group, arguments)).collect()
}

#[test]
fn live_runs_agree() {
    for variant in ["Tahoe", "Reno", "NewReno", "SACK", "FACK", "Vegas"] {
        check(&live(variant));
    }
}

/// Switches of ns-2 that no recording has set, each against the knob that says the same.
fn switched(variant: &str, settings: &str, spec: &TcpSpec) {
    let mut runs = Vec::new();
    for (group, arguments) in [("a", "queue=8 stop=10"), ("a", "queue=20 stop=10"), ("c", "gap=0.1 stop=13")]
    {
        let arguments = format!("variant={variant} preset=ns235 {arguments}");
        runs.extend(live::run_with(group, &arguments, settings).map(|run| Run { spec: spec.clone(), ..run }));
    }
    check(&runs);
}

#[test]
fn newreno_slow_but_steady() {
    let spec = TcpSpec { impatient: Some(false), ..TcpSpec::default() };
    switched("NewReno", "Agent/TCP/Newreno set newreno_changes1_ 0", &spec);
}

#[test]
fn newreno_without_partial_deflation() {
    let spec = TcpSpec { partial_deflation: Some(PartialDeflation::Whole), ..TcpSpec::default() };
    switched("NewReno", "Agent/TCP/Newreno set partial_window_deflation_ 0", &spec);
}

#[test]
fn fack_overdamping() {
    let spec = TcpSpec { fack_overdamping: Some(true), ..TcpSpec::default() };
    switched("FACK", "Agent/TCP/Fack set ss-div4_ true", &spec);
}

#[test]
fn fack_rampdown() {
    let spec = TcpSpec { fack_rampdown: Some(true), ..TcpSpec::default() };
    switched("FACK", "Agent/TCP/Fack set rampdown_ true", &spec);
}

#[test]
fn timestamps_measure_every_new_ack() {
    let spec = TcpSpec { timestamps: Some(true), ..TcpSpec::default() };
    for variant in ["Tahoe", "Reno", "NewReno", "SACK"] {
        switched(variant, "Agent/TCP set timestamps_ true", &spec);
    }
}

#[test]
fn vegas_thresholds() {
    for (alpha, beta, gamma) in [(2, 4, 3), (0, 0, 0), (5, 5, 8)] {
        let [vegas_alpha, vegas_beta, vegas_gamma] = [alpha, beta, gamma].map(|value| Some(Packets(value)));
        let spec = TcpSpec { vegas_alpha, vegas_beta, vegas_gamma, ..TcpSpec::default() };
        let settings = format!(
            "foreach {{k v}} {{v_alpha_ {alpha} v_beta_ {beta} v_gamma_ {gamma}}} {{ Agent/TCP/Vegas set $k $v }}"
        );
        switched("Vegas", &settings, &spec);
    }
}
