//! Recorded runs of ns-2.35 through the product: the same segments, ACKs, queue lengths, losses, marks, averages and variables at
//! the same times.
//!
//! There are two forms of each. On a grid of 2^-30 s ns-2 rounds no time, and every row must be equal. At natural times its
//! rounding errors put in order what is due at one time; a run may then differ, if its first difference is such a tie
//! in both (`ties.rs`).
//!
//! The recordings are in `tests/golden/ns2` of the project; those at natural times are read from `golden/ns2` of the folder
//! that `ROAMLAB_DATA` names, if it is set.

mod compare;
mod golden;
mod grid;
mod live;
mod product;
mod scenario;
mod ties;

use crate::lab::sample;
use compare::Verdict;
use golden::{Clock, Run, Set};
use live::Asked;
use roamlab_engine::{Bytes, Packets};
use roamlab_tcp::{Handshake, PartialDeflation, TcpProfile, TcpSpec};
use std::collections::BTreeMap;
use ties::Tie;

/// Repeats runs, each with the ties in ns-2, and reports all that differ: how many are exact, how many are
/// except ties, how many go apart at one.
fn check<'a>(runs: impl IntoIterator<Item = (&'a Run, &'a [Tie])>) -> [usize; 3] {
    let mut failures = Vec::new();
    let mut counts: BTreeMap<[&str; 3], [usize; 4]> = BTreeMap::new();
    for (run, ties) in runs {
        let outcome = product::repeat(run);
        let kind = [run.group.as_str(), run.params.preset.as_str(), run.params.variant.as_str()];
        let place = match compare::judge(run, &outcome, ties) {
            Verdict::Exact => 0,
            Verdict::Ties => 1,
            Verdict::Apart => 2,
            Verdict::Different(what) => {
                failures.push(format!("{}: {what}", run.name));
                3
            }
        };
        counts.entry(kind).or_default()[place] += 1;
    }
    for ([group, preset, variant], [exact, ties, apart, different]) in &counts {
        println!(
            "group {group}, {preset}, {variant}: {exact} exact, {ties} except ties, {apart} apart at a tie, {different} different"
        );
    }
    let different = failures.len();
    assert!(failures.is_empty(), "{different} runs differ:\n{}", failures.join("\n"));
    [0, 1, 2].map(|place| counts.values().map(|count| count[place]).sum())
}

/// The groups of runs, each with its two tests: how many runs are exact on the grid, and how many at natural times are exact,
/// exact except ties, and apart at a tie.
macro_rules! groups {
    ($($group:ident: $grid:expr, $natural:expr;)*) => {
        const GROUPS: [&str; [$(stringify!($group)),*].len()] = [$(stringify!($group)),*];
        $(mod $group {
            #[test]
            fn every_recorded_run_is_repeated_on_the_grid() {
                assert_eq!(super::on_the_grid(stringify!($group)), [$grid, 0, 0]);
            }

            #[test]
            fn every_recorded_run_is_repeated_at_natural_times_but_for_ties() {
                assert_eq!(super::at_natural_times(stringify!($group)), $natural);
            }
        })*
    };
}
groups! {
    a: 32, [13, 8, 11];
    b: 75, [19, 56, 0];
    c: 50, [47, 3, 0];
    d: 7, [4, 0, 3];
    e: 2, [0, 0, 2];
}

fn on_the_grid(group: &str) -> [usize; 3] {
    check(grid::runs(group).iter().map(|run| (run, &[][..])))
}

fn at_natural_times(group: &str) -> [usize; 3] {
    let known = ties::known();
    let none = Vec::new();
    let runs = golden::runs(group);
    check(runs.iter().map(|run| (run, known.get(&run.name).unwrap_or(&none).as_slice())))
}

/// The recordings at natural times.
fn asked(run: &Run, clock: Clock) -> Asked {
    let arguments = run.asked.iter().map(|(key, value)| (key.clone(), value.clone()));
    Asked { arguments: arguments.collect(), ..Asked::new(&run.group, "", clock) }
}

#[test]
#[ignore = "records again with the ns-2 that is installed"]
fn record_all() {
    let mut known = ties::Known::new();
    for group in GROUPS {
        let natural = golden::runs(group);
        let on_grid: Vec<Run> = natural
            .iter()
            .map(|run| {
                let mut asked = asked(run, Clock::Grid);
                // The longest, for their size.
                asked
                    .arguments
                    .iter_mut()
                    .filter(|(key, value)| key == "stop" && value == "60")
                    .for_each(|(_, value)| *value = "20".into());
                let found = live::run(&asked).expect("ns-2 is installed").0;
                Run { name: format!("{}, on the grid", run.name), ..found }
            })
            .collect();
        grid::keep(group, &on_grid);
        for run in &natural {
            let (found, traffic) = live::run(&asked(run, Clock::Natural)).expect("ns-2 is installed");
            known.insert(run.name.clone(), traffic.ties(found.rate(), found.mean_packet()));
        }
    }
    ties::keep(&known);
}

/// For tests of other builds of the engine: a line of JSON for each.
#[test]
#[ignore = "prints the scenarios of all recorded runs"]
fn print_scenarios() {
    let runs = GROUPS.iter().flat_map(|group| golden::runs(group).into_iter().chain(grid::runs(group)));
    for run in runs {
        println!("{}", serde_json::json!({ "name": run.name, "text": scenario::twin(&run).text }));
    }
}

/// Runs ns-2 and ours by these clocks.
fn check_live(cases: impl IntoIterator<Item = Asked>, clocks: &[Clock], set: &Set) {
    let cases = cases.into_iter();
    let cases = cases.flat_map(|asked| clocks.iter().map(move |&clock| Asked { clock, ..asked.clone() }));
    let runs = cases.filter_map(|asked| live::run(&asked));
    let with_ties = runs.map(|(run, traffic)| {
        let ties = match run.clock {
            Clock::Grid => Vec::new(),
            Clock::Natural => traffic.ties(run.rate(), run.mean_packet()),
        };
        (Run { set: set.clone(), ..run }, ties)
    });
    let runs: Vec<(Run, Vec<Tie>)> = with_ties.collect();
    check(runs.iter().map(|(run, ties)| (run, ties.as_slice())));
}

const BOTH: [Clock; 2] = [Clock::Grid, Clock::Natural];

fn asked_live(group: &str, arguments: &str) -> Asked {
    Asked::new(group, arguments, Clock::Natural)
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
    let cases = cases.map(|(group, arguments)| asked_live(group, arguments));
    check_live(tenth(cases.to_vec()), &BOTH, &Set::default());
}

#[test]
fn live_ecn_agrees() {
    let mut cases = Vec::new();
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
            cases.push(asked_live("e", &arguments));
        }
    }
    check_live(tenth(cases), &[Clock::Grid], &Set::default());
}

/// Every tenth of the cases; all of them with the variable `ROAMLAB_LIVE`.
fn tenth(cases: Vec<Asked>) -> Vec<Asked> {
    sample(cases, 0, 10, "ROAMLAB_LIVE")
}

/// Scenarios without a recording, against the ns-2 that is installed; none where there is none.
fn live(variant: &str) -> Vec<Asked> {
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
    cases.iter().map(|(group, arguments)| asked_live(group, arguments)).collect()
}

#[test]
fn live_runs_agree() {
    for variant in ["Tahoe", "Reno", "NewReno", "SACK", "FACK", "Vegas"] {
        check_live(tenth(live(variant)), &[Clock::Grid], &Set::default());
    }
}

/// A switch of ns-2 that no other recording has set, against the parameter with the same meaning.
struct Switch {
    name: &'static str,
    variants: &'static [&'static str],
    settings: &'static str,
    set: Set,
}

const ALL: &[&str] = &["Tahoe", "Reno", "NewReno", "SACK", "FACK", "Vegas"];
const PLAIN: &[&str] = &["Tahoe", "Reno", "NewReno", "SACK"];

fn switch(
    name: &'static str,
    variants: &'static [&'static str],
    settings: &'static str,
    set: impl Into<Set>,
) -> Switch {
    Switch { name, variants, settings, set: set.into() }
}

/// Partial ACKs of NewReno.
fn newreno_switches() -> Vec<Switch> {
    vec![
        switch(
            "slow but steady",
            &["NewReno"],
            "Agent/TCP/Newreno set newreno_changes1_ 0",
            TcpProfile { impatient: Some(false), ..TcpProfile::default() },
        ),
        switch(
            "no partial deflation",
            &["NewReno"],
            "Agent/TCP/Newreno set partial_window_deflation_ 0",
            TcpProfile { partial_deflation: Some(PartialDeflation::Whole), ..TcpProfile::default() },
        ),
        switch(
            "cap on exit",
            &["NewReno"],
            "Agent/TCP/Newreno set exit_recovery_fix_ 1",
            TcpProfile { cap_cwnd_on_exit: Some(true), ..TcpProfile::default() },
        ),
    ]
}

/// Bursts, the SYN and timestamps.
fn sending_switches() -> Vec<Switch> {
    vec![
        switch(
            "bursts of three",
            ALL,
            "Agent/TCP set maxburst_ 3",
            TcpProfile { max_burst: Some(Packets(3)), ..TcpProfile::default() },
        ),
        switch(
            "no bursts",
            &["SACK", "FACK"],
            "Agent/TCP set maxburst_ 1",
            TcpProfile { max_burst: Some(Packets(1)), ..TcpProfile::default() },
        ),
        switch(
            "no SYN",
            PLAIN,
            "Agent/TCP set syn_ false; Agent/TCP set delay_growth_ false",
            TcpProfile { handshake: Some(Handshake::None), ..TcpProfile::default() },
        ),
        switch(
            "timestamps",
            PLAIN,
            "Agent/TCP set timestamps_ true",
            TcpSpec { timestamps: Some(true), ..TcpSpec::default() },
        ),
        switch(
            "timestamps without headers",
            PLAIN,
            "Agent/TCP set timestamps_ true; Agent/TCP set useHeaders_ false",
            TcpSpec { timestamps: Some(true), header: Some(Bytes(0)), ..TcpSpec::default() },
        ),
    ]
}

/// FACK's reductions.
fn fack_switches() -> Vec<Switch> {
    vec![
        switch(
            "overdamping",
            &["FACK"],
            "Agent/TCP/Fack set ss-div4_ true",
            TcpProfile { fack_overdamping: Some(true), ..TcpProfile::default() },
        ),
        switch(
            "rampdown",
            &["FACK"],
            "Agent/TCP/Fack set rampdown_ true",
            TcpProfile { fack_rampdown: Some(true), ..TcpProfile::default() },
        ),
    ]
}

/// Thresholds of Vegas.
fn vegas_switches() -> Vec<Switch> {
    let vegas = |[alpha, beta, gamma]: [u32; 3]| {
        let [alpha, beta, gamma] = [alpha, beta, gamma].map(|value| format!("{value} pkt"));
        let control =
            format!(r#"{{ "kind": "vegas", "alpha": "{alpha}", "beta": "{beta}", "gamma": "{gamma}" }}"#);
        Set::from(TcpSpec {
            congestion_control: Some(serde_json::from_str(&control).unwrap()),
            ..TcpSpec::default()
        })
    };
    vec![
        switch(
            "thresholds",
            &["Vegas"],
            "foreach {k v} {v_alpha_ 2 v_beta_ 4 v_gamma_ 3} { Agent/TCP/Vegas set $k $v }",
            vegas([2, 4, 3]),
        ),
        switch(
            "thresholds of zero",
            &["Vegas"],
            "foreach {k v} {v_alpha_ 0 v_beta_ 0 v_gamma_ 0} { Agent/TCP/Vegas set $k $v }",
            vegas([0, 0, 0]),
        ),
    ]
}

fn switches() -> Vec<Switch> {
    let all = [newreno_switches(), sending_switches(), fack_switches(), vegas_switches()];
    let no_delay = switch("no delay", ALL, "set no_delay 1", Set::default());
    std::iter::once(no_delay).chain(all.into_iter().flatten()).collect()
}
/// The runs with a switch, on the grid.
fn asked_of(switch: &Switch) -> Vec<(String, Asked)> {
    let (group, rest) = match switch.name {
        "no delay" => ("z", "n=3 qtype=DropTail stop=2 lim"),
        _ => ("a", "stop=4 queue"),
    };
    let cases = switch.variants.iter().flat_map(|variant| [6, 20].map(|queue| (variant, queue)));
    let asked = cases.map(|(variant, queue)| {
        let arguments = format!("variant={variant} {rest}={queue}");
        let asked = Asked::new(group, &arguments, Clock::Grid);
        (
            format!("{}, {variant}, queue {queue}", switch.name),
            Asked { settings: switch.settings.into(), ..asked },
        )
    });
    asked.collect()
}

#[test]
fn recorded_switches_are_repeated() {
    let switches = switches();
    let mut runs = grid::runs("switches");
    assert_eq!(runs.len(), switches.iter().flat_map(asked_of).count());
    for run in &mut runs {
        let name = run.name.split(", ").next().expect("a name");
        let switch = switches.iter().find(|switch| switch.name == name).expect("a switch");
        run.set = switch.set.clone();
    }
    check(runs.iter().map(|run| (run, &[][..])));
}

#[test]
#[ignore = "records again with the ns-2 that is installed"]
fn record_switches() {
    let asked = switches().iter().flat_map(asked_of).collect::<Vec<_>>();
    let runs = asked.into_iter().map(|(name, asked)| {
        let found = live::run(&asked).expect("ns-2 is installed").0;
        Run { name, ..found }
    });
    grid::keep("switches", &runs.collect::<Vec<_>>());
}
