//! Measurements one after the other, and what they reveal.

use super::*;

const EVENT: Condition = a3(2.0, 1.0, 80);

/// Event A3 with an offset, a hysteresis and a time to trigger in ms, for all neighbours, as LTE reports it.
const fn a3(offset_db: f64, hysteresis_db: f64, millis: u64) -> Condition {
    Condition {
        name: "report",
        candidates: None,
        event: event(Test::Offset { offset_db, hysteresis_db }, millis),
        second: None,
        report_interval: None,
        leaves_at_once: true,
        unfiltered: false,
    }
}

const fn event(test: Test, millis: u64) -> Event {
    Event { test, time_to_trigger: Duration::from_millis(millis) }
}

const PERIOD: Duration = Duration::from_millis(40);

fn better(cell: usize) -> Finding {
    Finding::Better { condition: "report", cell }
}

fn at(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}

fn meter(event: Condition, offsets: [f64; 3]) -> Meter {
    let mut meter = Meter::new(PERIOD, Duration::from_millis(100), -110.0, offsets.into());
    meter.evaluate(0, vec![event]);
    meter.serve(Some(0));
    meter
}

/// The times and findings of a meter whose serving cell stays at -80 dBm and whose first neighbour has these levels,
/// one each 40 ms.
fn findings(meter: &mut Meter, neighbour: &[f64]) -> Vec<(u64, Finding)> {
    let mut found = Vec::new();
    for (step, &level) in neighbour.iter().enumerate() {
        let millis = 40 * step as u64;
        let levels = [-80.0, level, f64::NEG_INFINITY];
        found.extend(meter.sample(at(millis), &levels).into_iter().map(|finding| (millis, finding)));
    }
    found
}

#[test]
fn the_entry_condition_is_strict_and_must_hold_for_the_time_to_trigger() {
    // Mn − 1 > −80 + 2 first holds above −77.
    assert_eq!(findings(&mut meter(EVENT, [0.0; 3]), &[-77.0; 10]), []);
    assert_eq!(findings(&mut meter(EVENT, [0.0; 3]), &[-76.9; 10]), [(80, better(1))]);
    let interrupted = [-76.0, -76.0, -77.0, -76.0, -76.0, -76.0];
    assert_eq!(findings(&mut meter(EVENT, [0.0; 3]), &interrupted), [(200, better(1))]);
}

#[test]
fn a_triggered_cell_is_reported_again_only_after_the_leaving_condition() {
    // Left when Mn + 1 < −78, that is below −79; −78 neither enters nor leaves.
    let levels = |dip: f64| [[-76.0; 4], [dip; 4], [-76.0; 4]].concat();
    for dip in [-77.5, -78.0, -78.5, -79.0] {
        assert_eq!(findings(&mut meter(EVENT, [0.0; 3]), &levels(dip)), [(80, better(1))], "{dip}");
    }
    let again = [(80, better(1)), (400, better(1))];
    assert_eq!(findings(&mut meter(EVENT, [0.0; 3]), &levels(-79.5)), again);
    // Without hysteresis entry and leaving meet: left below −78.
    let event = a3(2.0, 0.0, 80);
    assert_eq!(findings(&mut meter(event.clone(), [0.0; 3]), &levels(-78.0)), [(80, better(1))]);
    assert_eq!(findings(&mut meter(event, [0.0; 3]), &levels(-78.5)), again);
    // One measurement is enough to leave; the time to trigger begins again with the next entry.
    let dip = [[-76.0; 4].as_slice(), &[-79.5], &[-76.0; 4]].concat();
    assert_eq!(findings(&mut meter(EVENT, [0.0; 3]), &dip), [(80, better(1)), (280, better(1))]);
    // The offset of the neighbour counts for leaving as well.
    let with_offset = |dip| findings(&mut meter(EVENT, [0.0, 3.0, 0.0]), &levels(dip));
    assert_eq!(with_offset(-82.0), [(80, better(1))]);
    assert_eq!(with_offset(-82.5), again);
}

/// A neighbour that swings about the offset by less than the hysteresis causes no handover, nor one that is better for less
/// than the time to trigger.
#[test]
fn a_small_or_short_swing_causes_no_ping_pong() {
    // 25 swings of 320 ms about the offset of 2 dB.
    for (swing, reports) in [(0.9, 0), (1.1, 25)] {
        let levels: Vec<f64> =
            (0..200).map(|step| if step % 8 < 4 { -78.0 + swing } else { -78.0 - swing }).collect();
        assert_eq!(findings(&mut meter(EVENT, [0.0; 3]), &levels).len(), reports, "{swing} dB");
    }
    let late = a3(2.0, 1.0, 128);
    let levels: Vec<f64> = (0..200).map(|step| if step % 8 < 4 { -70.0 } else { -90.0 }).collect();
    // It is better at four measurements in a row, for 120 ms: less than the time to trigger.
    assert_eq!(findings(&mut meter(late, [0.0; 3]), &levels), []);
}

#[test]
fn a_cell_that_stays_better_is_repeated_at_the_report_interval() {
    let event = Condition { report_interval: Some(Duration::from_millis(120)), ..EVENT };
    let found = findings(&mut meter(event, [0.0; 3]), &[-70.0; 10]);
    assert_eq!(found.iter().map(|(millis, _)| *millis).collect::<Vec<_>>(), [80, 200, 320]);
}

#[test]
fn the_cells_own_offsets_count() {
    assert_eq!(findings(&mut meter(EVENT, [0.0, 4.0, 0.0]), &[-80.9; 4]), [(80, better(1))]);
    assert_eq!(findings(&mut meter(EVENT, [0.0, 4.0, 0.0]), &[-81.0; 4]), []);
    assert_eq!(findings(&mut meter(EVENT, [4.0, 0.0, 0.0]), &[-73.0; 4]), []);
}

#[test]
fn a_new_serving_cell_and_a_new_event_start_afresh() {
    let mut meter = meter(EVENT, [0.0; 3]);
    assert_eq!(findings(&mut meter, &[-76.0; 3]), [(80, better(1))]);
    meter.evaluate(0, vec![EVENT]);
    assert_eq!(findings(&mut meter, &[-76.0; 3]), [(80, better(1))]);
    meter.serve(Some(1));
    let levels = [-70.0, -80.0, f64::NEG_INFINITY];
    assert_eq!(meter.sample(at(1000), &levels), []);
    assert_eq!(meter.sample(at(1080), &levels), [better(0)]);
}

/// As for a conditional handover (TS 36.331 §5.3.5.9): the host reports early, and goes to one of two candidates late.
#[test]
fn each_condition_is_met_by_its_own_candidates_at_its_own_time() {
    let execute = |offset_db, candidates: &[usize]| Condition {
        name: "execute",
        candidates: Some(candidates.to_vec()),
        ..a3(offset_db, 1.0, 80)
    };
    let mut meter = Meter::new(PERIOD, Duration::from_millis(100), -110.0, vec![0.0; 4]);
    let early = a3(2.0, 1.0, 0);
    meter.evaluate(0, vec![early, execute(3.0, &[1, 2])]);
    meter.serve(Some(0));
    // Cell 3 is the best, and no candidate; cell 1 becomes 4 dB better, which is not enough, and cell 2 5 dB.
    let mut found = Vec::new();
    for step in 0..4 {
        let levels = [-80.0, -76.0, -75.0, -70.0];
        found.extend(meter.sample(at(40 * step), &levels).into_iter().map(|finding| (40 * step, finding)));
    }
    let late = Finding::Better { condition: "execute", cell: 2 };
    assert_eq!(found, [(0, better(1)), (0, better(2)), (0, better(3)), (80, late)]);
}

#[test]
fn the_filter_keeps_its_time_constant_at_any_period() {
    // k = 4: a = 1/2 at 200 ms. A step of 8 dB is half done after 200 ms, three quarters after 400.
    for (period, steps) in [(200, 1), (100, 2), (40, 5), (20, 10)] {
        let period = Duration::from_millis(period);
        let mut meter = Meter::new(period, Duration::from_millis(100), -110.0, vec![0.0; 2]);
        meter.evaluate(4, vec![EVENT]);
        meter.sample(at(0), &[-80.0, -90.0]);
        let mut after = |steps| {
            (0..steps).for_each(|_| drop(meter.sample(at(1), &[-80.0, -82.0])));
            meter.filtered[1].unwrap_or_default()
        };
        assert!((after(steps) + 86.0).abs() < 1e-9);
        assert!((after(steps) + 84.0).abs() < 1e-9);
    }
    // F = (1 − a)·F + a·M, a = 2^(−k/4), at 200 ms: a step of 8 dB.
    for (coefficient, level) in
        [(0, -82.0), (2, -84.343_145_750_507_62), (8, -88.0), (12, -89.0), (16, -89.5)]
    {
        let mut meter = Meter::new(FILTER_PERIOD, Duration::from_millis(100), -110.0, vec![0.0; 2]);
        meter.evaluate(coefficient, vec![EVENT]);
        meter.sample(at(0), &[-80.0, -90.0]);
        meter.sample(at(200), &[-80.0, -82.0]);
        let filtered = meter.filtered[1].unwrap_or_default();
        assert!((filtered - level).abs() < 1e-9, "k = {coefficient}: {filtered}");
    }
}

#[test]
fn silence_for_t310_is_a_radio_link_failure_once() {
    let mut meter = meter(EVENT, [0.0; 3]);
    let silent = [-111.0, f64::NEG_INFINITY, f64::NEG_INFINITY];
    let heard = [-110.0, f64::NEG_INFINITY, f64::NEG_INFINITY];
    assert_eq!(meter.sample(at(0), &silent), []);
    assert_eq!(meter.sample(at(80), &heard), []);
    assert!(!meter.is_deaf());
    let times: Vec<u64> = (3..12).map(|step| step * 40).collect();
    let failures =
        times.iter().filter(|&&millis| meter.sample(at(millis), &silent) == [Finding::RadioLinkFailure]);
    assert_eq!(
        failures.collect::<Vec<_>>(),
        [&240],
        "silent since 120 ms, T310 of 100 ms, measured each 40 ms"
    );
    assert!(meter.is_deaf());
    meter.serve(None);
    assert_eq!(meter.sample(at(600), &silent), []);
}

#[test]
fn a_serving_cell_out_of_hearing_is_worse_than_any_neighbour() {
    let mut meter = meter(EVENT, [0.0; 3]);
    let levels = [-120.0, -109.0, f64::NEG_INFINITY];
    assert_eq!(meter.sample(at(0), &levels), []);
    assert_eq!(meter.sample(at(80), &levels), [better(1)]);
}

#[test]
fn a_search_finds_the_strongest_cell_as_soon_as_one_is_heard() {
    let mut meter = meter(EVENT, [0.0; 3]);
    meter.serve(None);
    meter.search();
    assert_eq!(meter.sample(at(0), &[-111.0, -112.0, -120.0]), []);
    assert_eq!(meter.sample(at(40), &[-100.0, -90.0, -90.0]), [Finding::Found(1)]);
    assert_eq!(meter.sample(at(80), &[-100.0, -90.0, -90.0]), [], "once");
}

#[test]
fn a_neighbour_that_was_better_than_the_old_cell_has_the_whole_time_to_trigger_with_the_new_one() {
    // TS 36.331 §5.5.4.1: the event of a new serving cell is evaluated from its own entry condition on.
    let mut meter = meter(EVENT, [0.0; 3]);
    let levels = [-90.0, -80.0, -70.0];
    assert_eq!(meter.sample(at(0), &levels), []);
    assert_eq!(meter.sample(at(40), &levels), []);
    meter.serve(Some(1));
    assert_eq!([80, 120].map(|millis| meter.sample(at(millis), &levels)), [vec![], vec![]]);
    assert_eq!(meter.sample(at(160), &levels), [better(2)]);
}

#[test]
fn a_radio_link_has_failed_when_t310_is_over_not_a_measurement_later() {
    // TS 36.331 §5.3.11.3: at the expiry of T310.
    let mut meter = Meter::new(PERIOD, PERIOD * 3, -110.0, vec![0.0]);
    meter.serve(Some(0));
    let silent = [0, 40, 80, 120].map(|millis| meter.sample(at(millis), &[-111.0]));
    assert_eq!(silent, [vec![], vec![], vec![], vec![Finding::RadioLinkFailure]]);
}

#[test]
fn t310_of_a_cell_that_was_left_does_not_go_on_in_the_next() {
    // TS 36.331 §5.3.5.4: a handover stops T310. Cell 1 is silent from 80 ms on.
    let mut meter = Meter::new(PERIOD, PERIOD * 3, -110.0, vec![0.0; 2]);
    meter.serve(Some(0));
    let silent = |meter: &mut Meter, millis| meter.sample(at(millis), &[-111.0; 2]);
    assert_eq!([0, 40].map(|millis| silent(&mut meter, millis)), [vec![], vec![]]);
    meter.serve(Some(1));
    let later = [80, 120, 160, 200].map(|millis| silent(&mut meter, millis));
    assert_eq!(later, [vec![], vec![], vec![], vec![Finding::RadioLinkFailure]]);
}

#[test]
fn a_candidate_of_the_old_and_of_the_new_condition_keeps_its_time_to_trigger() {
    // TS 36.331 §5.5.2.3: changed parts are configured, the rest continues. Cell 1 is met from 0 ms on,
    // cell 3 from 40 ms on.
    let execute = |candidates: &[usize]| Condition { candidates: Some(candidates.to_vec()), ..EVENT };
    let mut meter = Meter::new(PERIOD, Duration::from_millis(100), -110.0, vec![0.0; 4]);
    meter.evaluate(0, vec![execute(&[1, 2])]);
    meter.serve(Some(0));
    let levels = [-80.0, -70.0, -70.0, -70.0];
    assert_eq!(meter.sample(at(0), &levels), []);
    meter.evaluate(0, vec![execute(&[1, 3])]);
    let found = [40, 80, 120, 160].map(|millis| meter.sample(at(millis), &levels));
    assert_eq!(found, [vec![], vec![better(1)], vec![better(3)], vec![]]);
    // A candidate that has been reported is not reported again because another one is added.
    meter.evaluate(0, vec![execute(&[1, 2, 3])]);
    let found = [200, 240, 280].map(|millis| meter.sample(at(millis), &levels));
    assert_eq!(found, [vec![], vec![], vec![better(2)]]);
}

#[test]
fn a_cell_that_is_heard_again_begins_with_the_level_that_it_has() {
    // TS 36.331 §5.5.3.2: the first measurement is not filtered. Out of hearing there is none.
    let mut meter = Meter::new(FILTER_PERIOD, Duration::from_millis(100), -110.0, vec![0.0; 2]);
    meter.evaluate(4, vec![EVENT]);
    let filtered =
        [(0, -90.0), (200, -111.0), (400, f64::NEG_INFINITY), (600, -80.0)].map(|(millis, level)| {
            meter.sample(at(millis), &[-80.0, level]);
            meter.filtered[1]
        });
    assert_eq!(filtered, [Some(-90.0), None, None, Some(-80.0)]);
}

/// A condition of these events for cell 1, of which each leaves after its time to trigger.
fn of(event: Event, second: Option<Event>) -> Condition {
    Condition { event, second, candidates: Some(vec![1]), leaves_at_once: false, ..EVENT }
}

/// The times in ms at which cell 1 is reported: one measurement each 40 ms.
fn reports(condition: Condition, samples: impl Iterator<Item = ([f64; 2], [f64; 2])>) -> Vec<u64> {
    let mut meter = Meter::new(PERIOD, Duration::from_millis(100), -110.0, vec![1.0, 2.0])
        .with_sites(vec![Some([0.0, 0.0]), Some([1000.0, 0.0])]);
    meter.evaluate(0, vec![condition]);
    meter.serve(Some(0));
    let mut found = Vec::new();
    for (step, (levels, here)) in samples.enumerate() {
        meter.locate(Some(here));
        let millis = 40 * step as u64;
        found.extend(meter.sample(at(millis), &levels).iter().map(|_| millis));
    }
    found
}

fn of_levels(condition: Condition, levels: &[[f64; 2]]) -> Vec<u64> {
    reports(condition, levels.iter().map(|&levels| (levels, [0.0; 2])))
}

#[test]
fn event_a5_needs_a_weak_serving_cell_and_a_strong_neighbour() {
    // TS 38.331 §5.5.4.6: Mp + Hys < Thresh1 and Mn + Ocn − Hys > Thresh2, with Ocn = 2 dB and without Ocp.
    let thresholds = |serving_below_dbm| Test::Thresholds {
        serving_below_dbm,
        neighbour_above_dbm: -90.0,
        hysteresis_db: 1.0,
    };
    let a5 = of(event(thresholds(-100.0), 40), None);
    assert_eq!(of_levels(a5.clone(), &[[-101.5, -90.5]; 4]), [40]);
    assert_eq!(of_levels(a5.clone(), &[[-101.0, -90.5]; 4]), [] as [u64; 0], "strict");
    assert_eq!(of_levels(a5.clone(), &[[-101.5, -91.0]; 4]), [] as [u64; 0], "strict");
    // Left at Mp − Hys > Thresh1 for the time to trigger, so a shorter one does not count.
    let dip = |count| [vec![[-102.0, -80.0]; 3], vec![[-98.5, -80.0]; count], vec![[-102.0, -80.0]; 3]];
    assert_eq!(of_levels(a5.clone(), &dip(1).concat()), [40]);
    assert_eq!(of_levels(a5, &dip(2).concat()), [40, 240]);
    // A4 is the second part of it: §5.5.4.5.
    let a4 = of(event(thresholds(f64::INFINITY), 40), None);
    assert_eq!(of_levels(a4.clone(), &[[-60.0, -90.5]; 4]), [40]);
    assert_eq!(of_levels(a4, &[[-60.0, -91.0]; 4]), [] as [u64; 0]);
}

#[test]
fn event_d1_is_met_far_from_one_place_and_near_to_another() {
    // 25 m each measurement, from one transmitter to the other.
    let walk = || (0..40).map(|step| ([-80.0; 2], [25.0 * f64::from(step), 0.0]));
    let d1 = |from, to| Test::Distances { from, beyond_m: 300.0, to, within_m: 600.0, hysteresis_m: 50.0 };
    // Nearer to the second one than 550 m: beyond 450 m, first measured at 475 m, in sample 19.
    assert_eq!(reports(of(event(d1(Reference::Serving, Reference::Neighbour), 0), None), walk()), [760]);
    assert_eq!(reports(of(event(d1(Reference::Serving, Reference::Neighbour), 80), None), walk()), [840]);
    // Further from a point 200 m ahead than 350 m: beyond 550 m.
    let ahead = Reference::Point([200.0, 0.0]);
    assert_eq!(reports(of(event(d1(ahead, Reference::Neighbour), 0), None), walk()), [920]);
    // The hysteresis on the way out, 250 m and 650 m: back and forth between 460 m and 340 m it stays met.
    let back = |there: f64| {
        [vec![460.0; 2], vec![there; 2], vec![460.0; 2]].concat().into_iter().map(|x| ([-80.0; 2], [x, 0.0]))
    };
    let condition = || of(event(d1(Reference::Serving, Reference::Neighbour), 0), None);
    assert_eq!(reports(condition(), back(350.0)), [0], "650 m from the second one is not more than that");
    assert_eq!(reports(condition(), back(340.0)), [0, 160]);
}

#[test]
fn event_d1_is_never_met_without_positions() {
    let test = Test::Distances {
        from: Reference::Serving,
        beyond_m: 0.0,
        to: Reference::Neighbour,
        within_m: 1e9,
        hysteresis_m: 0.0,
    };
    let mut meter = meter(Condition { event: event(test, 0), ..EVENT }, [0.0; 3]);
    meter.locate(Some([1.0, 1.0]));
    assert_eq!(meter.sample(at(0), &[-80.0; 3]), []);
}

#[test]
fn event_t1_is_met_in_its_window() {
    let t1 = |from, until| event(Test::Window { from: at(from), until: at(until) }, 0);
    // TS 38.331 §5.5.4.16: Mt > Thresh1, left when Mt > Thresh1 + Duration.
    assert_eq!(of_levels(of(t1(120, 320), None), &[[-80.0; 2]; 20]), [160]);
    // The other event is met after the window, or within it.
    let better = |millis| event(Test::Offset { offset_db: 3.0, hysteresis_db: 0.0 }, millis);
    let levels = |weak| [vec![[-80.0, -80.0]; weak], vec![[-80.0, -70.0]; 20]].concat();
    assert_eq!(of_levels(of(better(80), Some(t1(120, 320))), &levels(6)), [320]);
    assert_eq!(of_levels(of(better(80), Some(t1(120, 320))), &levels(7)), [] as [u64; 0]);
    assert_eq!(of_levels(of(better(80), Some(t1(400, 800))), &levels(0)), [440]);
}

#[test]
fn two_events_are_both_met_each_after_its_own_time_to_trigger() {
    let better = |offset_db, millis| event(Test::Offset { offset_db, hysteresis_db: 0.0 }, millis);
    let weak = Test::Thresholds {
        serving_below_dbm: -90.0,
        neighbour_above_dbm: f64::NEG_INFINITY,
        hysteresis_db: 0.0,
    };
    let both = || of(better(3.0, 160), Some(event(weak, 40)));
    // The neighbour is better from 0 ms on, the serving cell weak from 80 ms on: 160 ms and 120 ms.
    let levels = [vec![[-85.0, -70.0]; 2], vec![[-95.0, -70.0]; 10]].concat();
    assert_eq!(of_levels(both(), &levels), [160]);
    // Weak from 240 ms on: 280 ms.
    let levels = [vec![[-85.0, -70.0]; 6], vec![[-95.0, -70.0]; 10]].concat();
    assert_eq!(of_levels(both(), &levels), [280]);
    // Weak for one measurement only while the neighbour is not better yet: the event stays met until it is left.
    let levels = [vec![[-95.0, -99.0]; 2], vec![[-89.5, -99.0]; 1], vec![[-95.0, -70.0]; 10]].concat();
    assert_eq!(of_levels(both(), &levels), [280]);
}

#[test]
fn a_cell_out_of_hearing_is_no_candidate_in_its_window_either() {
    let t1 = event(Test::Window { from: at(120), until: at(1000) }, 0);
    let levels = [vec![[-80.0, -111.0]; 10], vec![[-80.0, -110.0]; 10]].concat();
    assert_eq!(of_levels(of(t1, None), &levels), [400]);
}

#[test]
fn t310_starts_after_n310_and_stops_after_n311() {
    const NEVER: [usize; 0] = [];
    // TS 38.331 §5.3.10.1 and §5.3.10.2. S: out of sync, H: in sync; T310 of 100 ms, a measurement each 40 ms.
    let failures = |n310, n311, indications: &str| -> Vec<usize> {
        let mut meter =
            Meter::new(PERIOD, Duration::from_millis(100), -110.0, vec![0.0]).with_counts(n310, n311);
        meter.serve(Some(0));
        let level = |indication: u8| if indication == b'S' { -111.0 } else { -100.0 };
        let sampled = indications.bytes().enumerate().map(|(step, indication)| {
            let found = meter.sample(at(40 * step as u64), &[level(indication)]);
            assert_eq!(meter.is_deaf(), indication == b'S', "nothing is received out of hearing");
            found.len()
        });
        sampled.enumerate().filter(|(_, found)| *found > 0).map(|(step, _)| step).collect()
    };
    assert_eq!(failures(1, 1, "SSSSSSS"), [3]);
    assert_eq!(failures(3, 1, "SSSSSSS"), [5], "from the third on");
    assert_eq!(failures(3, 1, "SSHSSHSSHSSH"), NEVER, "in a row");
    assert_eq!(failures(1, 2, "SHSHSSSS"), [3], "one in sync does not stop T310, and two would");
    assert_eq!(failures(1, 2, "SHHSSS"), NEVER);
    assert_eq!(failures(1, 3, "SHHHHHH"), NEVER, "the third is in time: T310 ends with it");
    assert_eq!(failures(1, 4, "SHHHHHH"), [3], "and a fourth would be too late");
    assert_eq!(failures(1, 1, "SSSSHSSSS"), [3, 8], "a link that is back can fail again");
}
