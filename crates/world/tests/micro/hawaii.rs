//! HAWAII: what each scheme of path set-up loses, delivers twice and puts out of order.

use super::lab::{GAP, HARD, Lab, MS, PROBE, SOFT, TURNS, Trouble, lost_and_again};
use crate::lab::record::{Record, Signal};

const UNF: &str = "scheme = \"unf\"";
const MNF: &str = "scheme = \"mnf\"";
const MSF: &str = "scheme = \"msf\"\nbuffer = { at = \"old\", limit = \"500 pkt\" }";
const SSF: &str = "scheme = \"ssf\"\nbuffer = { at = \"old\", limit = \"500 pkt\" }";
const NO_GAP: &str = "kind = \"hard\"";

fn lab(fields: &str, radio: &str) -> Lab {
    Lab::with(&format!("kind = \"hawaii\"\n{fields}"), radio)
}

fn run(fields: &str, radio: &str) -> Record {
    lab(fields, radio).run()
}

fn lost(fields: &str, radio: &str) -> u64 {
    lost_and_again(&run(fields, radio)).0
}

/// Datagrams that came for the first time, and after one with a higher number.
fn overtaken(record: &Record) -> usize {
    let mut highest = 0;
    let late = record.delivered("probe").filter(|delivery| {
        let is_late = delivery.seq < highest;
        highest = highest.max(delivery.seq);
        is_late && delivery.fresh
    });
    late.count()
}

fn ended_by(record: &Record, reason: &str) -> usize {
    record.losses.iter().filter(|loss| &*loss.reason == reason).count()
}

#[test]
fn non_forwarding_loses_what_comes_until_the_cross_over_knows() {
    for fields in [UNF, MNF] {
        // Registration and update take 9 ms to the cross-over; what had passed it is lost too (6 ms, except
        // packets on the air).
        let without = lost(fields, NO_GAP);
        assert!((14..=18).contains(&without), "{fields}: {without}");
        let record = run(fields, HARD);
        assert_eq!(lost_and_again(&record), (without + GAP, 0), "{fields}: the host hears no copy");
        assert_eq!(lost(&format!("{fields}\ndetection = {{ delay = \"40 ms\" }}"), HARD), without + GAP + 40);
        assert_eq!(overtaken(&record), 0, "{fields}");
    }
}

#[test]
fn non_forwarding_with_an_overlap_loses_nothing() {
    let record = run(UNF, SOFT);
    assert_eq!((lost_and_again(&record), overtaken(&record)), ((0, 0), 0));
    for bicast in [20, 100, 150] {
        let record = run(&format!("{MNF}\nbicast = \"{bicast} ms\""), SOFT);
        let (lost, again) = lost_and_again(&record);
        assert!(lost == 0 && (bicast - 1..=bicast + 1).contains(&again), "{bicast}: {lost}, {again}");
    }
}

#[test]
fn forwarding_loses_nothing_that_the_buffer_holds() {
    for fields in [MSF, SSF] {
        for radio in [NO_GAP, HARD, SOFT] {
            assert_eq!(lost_and_again(&run(fields, radio)), (0, 0), "{fields} {radio}");
        }
        // Packets on the air when the host leaves are not with the old base station any more.
        let cut_off = lost(fields, "kind = \"hard\"\nin_flight_at_break = \"lost\"");
        assert!((2..=4).contains(&cut_off), "{fields}: {cut_off}");
        // The registration, and the update to the old base station (12 ms).
        let small = fields.replace("500 pkt", "50 pkt");
        let lost = lost(&small, HARD);
        assert!((GAP + 12 - 50..=GAP + 18 - 50).contains(&lost), "{fields}: {lost}");
    }
}

#[test]
fn a_single_stream_is_in_order_and_multiple_ones_are_not() {
    for radio in [NO_GAP, HARD, SOFT] {
        assert_eq!(overtaken(&run(SSF, radio)), 0, "{radio}");
        // Packets from the root overtake those on the way round the old base station: 6 ms down and 6 ms up.
        let at_once = overtaken(&run(&format!("{SSF}\nordered_switch = false"), radio));
        assert!((11..=13).contains(&at_once), "{radio}: {at_once}");
        let multiple = overtaken(&run(MSF, radio));
        assert!(multiple >= 11, "{radio}: {multiple}");
    }
    // All that was kept comes behind what is diverted.
    assert!(overtaken(&run(MSF, HARD)) as u64 > GAP);
}

/// The second and third update go from the old base station to its router and on to the cross-over.
#[test]
fn packets_in_a_loop_end_by_their_ttl() {
    assert_eq!(ended_by(&run(MSF, HARD), "ttl-expired"), 0, "the update follows what is forwarded");
    for occurrence in [2, 3] {
        let mut lost = lab(&format!("{MSF}\nretransmit = \"1 s\""), HARD);
        lost.troubles = vec![Trouble::lost("path-update", occurrence)];
        let record = lost.run();
        let circled = ended_by(&record, "ttl-expired");
        assert!(circled > 300, "{occurrence}: {circled}");
        assert_eq!(lost_and_again(&record).0, circled as u64, "all others come: {occurrence}");
        assert_eq!(record.census("inside"), 0);
        let last = record.losses.iter().map(|loss| loss.time).max().expect("a loss");
        assert!(last < TURNS + 1_500 * MS, "{occurrence}: {} ms after", (last - TURNS) / MS);
    }
}

#[test]
fn a_lost_switch_holds_packets_until_it_is_repeated() {
    for occurrence in 1..=8 {
        let mut switched = lab(SSF, HARD);
        switched.troubles = vec![Trouble::lost("path-switch", occurrence)];
        let record = switched.run();
        assert_eq!((lost_and_again(&record), overtaken(&record)), ((0, 0), 0), "{occurrence}");
    }
}

/// The old base station has forgotten the host when the update comes, and the routers on its branch still send copies down.
#[test]
fn an_update_that_finds_nobody_makes_no_loop() {
    let mut late = lab(MNF, SOFT);
    late.troubles = (2..=5).map(|occurrence| Trouble::lost("registration", occurrence)).collect();
    let record = late.run();
    let begun = record.phase("bicast-begun", TURNS).expect("an update");
    assert!(begun > TURNS + 1_200 * MS, "the host was forgotten a second after it left");
    assert_eq!(ended_by(&record, "ttl-expired"), 0);
}

/// Times of a message in ms, from one node to another.
fn sent(record: &Record, message: &str, (from, to): (&str, &str)) -> Vec<u64> {
    let is_it =
        |signal: &&Signal| (&*signal.message, &*signal.source, &*signal.destination) == (message, from, to);
    record.signals.iter().filter(is_it).map(|signal| signal.sent / MS).collect()
}

#[test]
fn a_host_that_is_new_is_powered_up_to_the_gateway() {
    let record = run(UNF, HARD);
    for (hop, at) in [(("bs1", "ar1"), 3), (("ar1", "r1"), 4), (("r1", "gw"), 9)] {
        assert_eq!(sent(&record, "path-power-up", hop), [at], "{hop:?}");
    }
    assert_eq!(sent(&record, "path-acknowledge", ("gw", "bs1")), [14]);
}

const SHORT: &str = "entries = { refresh = \"500 ms\", lifetime = \"1500 ms\" }";

#[test]
fn entries_live_by_their_refreshes() {
    let mut refreshed = lab(&format!("{UNF}\n{SHORT}"), HARD);
    let whole = refreshed.run();
    assert_eq!(lost_and_again(&whole).0, lost(UNF, HARD));
    for hop in [("bs1", "ar1"), ("ar1", "r1"), ("r1", "gw"), ("bs2", "ar2"), ("ar2", "r1")] {
        let times = sent(&whole, "path-refresh", hop);
        assert!(times.len() >= 5, "{hop:?}: {times:?}");
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] == 500), "{hop:?}: {times:?}");
    }
    // Without them all entries end, except that of the base station, which the host renews.
    refreshed.troubles = (1..=100).map(|occurrence| Trouble::lost("path-refresh", occurrence)).collect();
    let record = refreshed.run();
    let first = record.losses.iter().find(|loss| &*loss.reason == "no-binding").expect("no entry").time;
    assert!((1_500 * MS..1_530 * MS).contains(&first), "{} ms", first / MS);
}

#[test]
fn a_node_refreshes_all_hosts_in_one_message() {
    let count = |others: &str| {
        let mut lab = lab(SHORT, HARD);
        lab.flows = format!("{others}{PROBE}");
        lab.visits.truncate(1);
        sent(&lab.run(), "path-refresh", ("ar1", "r1")).len()
    };
    let both =
        count("[[hosts]]\nname = \"other\"\nhome = \"gw\"\nvisits = [{ cell = \"bs1\", at = \"0 ms\" }]\n");
    assert!(both >= 14, "{both}");
    assert_eq!(both, count(""));
}
