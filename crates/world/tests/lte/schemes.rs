//! The three schemes of path switch, and predictions that are right, wrong and late.

use super::lab::{Lab, MS, Record, TURNS, UDP, assert_flawless};

fn run(mobility: &str) -> Record {
    Lab { flows: UDP.into(), ..Lab::with(mobility) }.run()
}

const FAST: &str = "path_switch = \"fast\"";
const PREDICTIVE: &str = "path_switch = \"predictive\"";

/// When the first such phase was noted after the host turned, or up to a second before.
fn at(record: &Record, phase: &str) -> u64 {
    record.phase(phase, TURNS - 1_000 * MS).unwrap_or_else(|| panic!("no {phase}"))
}

/// Packets that the source sent on to the target.
fn forwarded(record: &Record) -> usize {
    record.releases.iter().filter(|release| &*release.node == "enb1").count()
}

#[test]
fn who_asks_for_the_path_switch_and_when() {
    let first_request = |record: &Record| {
        let mut requests = record.signals.iter().filter(|signal| &*signal.message == "path-switch-request");
        let first = requests.next().expect("a request").clone();
        (first.source.to_string(), first.sent)
    };
    let standard = run("");
    assert_eq!(first_request(&standard), ("enb2".into(), at(&standard, "handover-confirmed")));
    let fast = run(FAST);
    assert_eq!(first_request(&fast), ("enb1".into(), at(&fast, "handover-commanded")));
    // The prediction comes 130 ms before the other cell is better; the target is prepared first.
    let predictive = run(PREDICTIVE);
    assert_eq!(at(&predictive, "handover-predicted"), TURNS - 130 * MS);
    assert_eq!(first_request(&predictive), ("enb1".into(), at(&predictive, "handover-prepared")));
    assert!(at(&predictive, "path-switched") + 90 * MS < at(&predictive, "handover-commanded"));
}

/// Forwarding is what the schemes avoid: the fast one in part, a prediction altogether.
#[test]
fn the_earlier_the_path_is_switched_the_less_is_forwarded() {
    let [standard, fast, predictive] = ["", FAST, PREDICTIVE].map(run);
    for record in [&standard, &fast, &predictive] {
        assert_flawless(record, "udp");
        assert!(record.phase("order-restored", TURNS - 130 * MS).is_some());
    }
    assert!(forwarded(&standard) > 2 * forwarded(&fast), "{} {}", forwarded(&standard), forwarded(&fast));
    assert_eq!(forwarded(&predictive), 0);
    // The price: with empty queues the host hears nothing from the path switch on.
    assert!(outage(&standard) < 60 * MS && outage(&fast) < 60 * MS && outage(&predictive) > 160 * MS);
    // Direct packets wait for the host at the target instead.
    let held = predictive.releases.iter().filter(|release| &*release.node == "enb2").count();
    // 130 ms, the report, detaching and random access, at 500 datagrams a second.
    assert!((80..120).contains(&held), "{held}");
}

/// The packets before the direct ones are known as soon as the source's queue is empty. The end marker need
/// not wait for the command, nor the host behind the target's queue for the end marker.
#[test]
fn a_predicted_handover_has_its_end_marker_before_the_command() {
    // Its segments wait for the wire to the target's cell.
    let resident =
        "[[hosts]]\nname = \"other\"\nhome = \"gw\"\nvisits = [{ cell = \"enb2\", at = \"0 s\" }]\n";
    let load = super::lab::TCP
        .replace("name = \"tcp\"", "name = \"load\"")
        .replace("\"ue\"", "\"other\"")
        .replace("16 pkt", "40 pkt");
    let run = |mobility: &str| {
        let flows = format!("{resident}{load}{}{UDP}", super::lab::TCP);
        Lab { flows, ..Lab::with(mobility) }.run()
    };
    let predictive = run(PREDICTIVE);
    assert_flawless(&predictive, "udp");
    let switched = at(&predictive, "path-switched");
    let restored = predictive.phase("order-restored", switched).expect("an end marker");
    assert!(restored + 60 * MS < at(&predictive, "handover-commanded"), "{restored}");
    let markers = predictive.signals.iter().filter(|signal| &*signal.message == "end-marker");
    let relayed = markers.filter(|signal| &*signal.source == "enb1").map(|signal| signal.sent);
    // And again behind the command, should the first have been dropped.
    assert_eq!(relayed.skip(1).collect::<Vec<_>>(), [at(&predictive, "handover-commanded")]);

    // Without prediction it waits in that queue.
    let standard = run("");
    assert!(standard.phase("order-restored", TURNS) > standard.phase("handover-confirmed", TURNS));
}

#[test]
fn a_late_prediction_finds_the_handover_begun() {
    let late = "predictions = [{ host = \"ue\", cell = \"enb2\", at = \"3.05 s\" }]";
    let record = run(&format!("{PREDICTIVE}\n{late}"));
    assert_flawless(&record, "udp");
    assert!(record.phase("handover-predicted", 0).is_none(), "there is no host to notify");
    assert_eq!(forwarded(&record), forwarded(&run("")), "it is a standard handover");

    // A little before the report: the preparation is under way, and the path switch follows the command
    // immediately.
    let record = run(&format!("{PREDICTIVE}\nprediction_lead = \"1 ms\""));
    assert_flawless(&record, "udp");
    assert!(forwarded(&record) > 0 && forwarded(&record) <= forwarded(&run(FAST)));
}

/// Nothing moves, but the network expects it.
fn mispredicted(mobility: &str) -> Record {
    let wrong = "predictions = [{ host = \"ue\", cell = \"enb2\", at = \"3 s\" }]";
    let mut lab = Lab { flows: UDP.into(), ..Lab::with(&format!("{PREDICTIVE}\n{wrong}\n{mobility}")) };
    lab.visits.truncate(1);
    lab.run()
}

/// The longest time without a delivery.
fn outage(record: &Record) -> u64 {
    let times: Vec<u64> = record.delivered("udp").map(|delivery| delivery.time).collect();
    times.windows(2).map(|pair| pair[1] - pair[0]).max().expect("deliveries")
}

#[test]
fn a_wrong_prediction_cuts_the_host_off_until_it_is_given_up() {
    let record = mispredicted("");
    assert_eq!(at(&record, "prediction-failed") / MS, 3_308);
    // 300 ms of waiting, and the way back.
    assert!((290 * MS..340 * MS).contains(&outage(&record)), "{}", outage(&record));
    assert!(outage(&mispredicted("prediction_timeout = \"100 ms\"")) < 140 * MS);
    // Packets that waited at the target come back, in order.
    assert_flawless(&record, "udp");
    let returned = record.releases.iter().filter(|release| &*release.node == "enb2").count();
    assert!((140..170).contains(&returned), "{returned}");
    assert_eq!(record.signals.iter().filter(|signal| &*signal.message == "handover-command").count(), 0);

    let record = mispredicted("cancelled = \"drop\"");
    let lost: Vec<_> = record.lost("udp").collect();
    assert!((140..170).contains(&lost.len()), "{}", lost.len());
    assert!(lost.iter().all(|loss| matches!(&*loss.reason, "bearer-ended" | "no-binding")), "{lost:?}");
    assert!(record.delivered("udp").any(|delivery| delivery.time > 7_000 * MS));
}

/// The host turns to another cell than the one that was predicted.
#[test]
fn a_prediction_of_the_wrong_cell_costs_an_outage() {
    let wrong = "predictions = [{ host = \"ue\", cell = \"enb3\", at = \"2.87 s\" }]";
    let record = run(&format!("{PREDICTIVE}\n{wrong}"));
    assert!(record.phase("prediction-failed", 0).is_some());
    assert!(record.lost("udp").next().is_none());
    assert!(outage(&record) > 130 * MS, "{}", outage(&record));
    let last = record.phases.iter().rfind(|phase| &*phase.phase == "handover-confirmed");
    assert_eq!(last.map(|phase| &*phase.node), Some("enb2"));
}
