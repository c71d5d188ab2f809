//! Times of the medium to the nanosecond: backoffs, pauses, windows and retries, read from when frames begin.

use super::*;

const SLOT: u64 = 20_000;
/// Repetitions: each slot of a window of 31 is drawn in them.
const OFTEN: u64 = 400;

/// Plays until a station's next frame is received; when it began.
fn next_start_of(cell: &mut Cell, station: u32) -> Time {
    loop {
        let received =
            |sent: &Transmission| sent.station == station && sent.outcome == Some(TxOutcome::Received);
        if let Some(sent) = step(cell).into_iter().find(received) {
            return sent.started;
        }
    }
}

/// Plays until a station's frame is lost; when each of its attempts ended.
fn attempts_of(cell: &mut Cell, station: u32) -> Vec<Time> {
    let mut ends = Vec::new();
    loop {
        for sent in step(cell).into_iter().filter(|sent| sent.station == station) {
            match sent.outcome {
                Some(TxOutcome::Retried) => ends.push(sent.started),
                Some(outcome) if outcome.is_loss() => {
                    ends.push(cell.now);
                    return ends;
                }
                _ => {}
            }
        }
    }
}

/// Decision at the medium's next deadline.
fn step(cell: &mut Cell) -> Vec<Transmission> {
    cell.now = cell.now.max(cell.medium.next_deadline().expect("a station sends"));
    let is_there = !cell.absent;
    std::iter::from_fn(|| cell.medium.on_deadline(cell.now, &|_, _| is_there)).collect()
}

/// Slots of 20 µs in these waits behind a pause of this length in ns. Each wait is the pause and whole slots.
fn slots(waits: &[u64], pause: u64) -> Vec<u64> {
    let slots = |wait: &u64| {
        let rest = wait.checked_sub(pause).unwrap_or_else(|| panic!("{wait} is less than {pause}"));
        assert!(rest.is_multiple_of(SLOT), "{wait} behind {pause}");
        rest / SLOT
    };
    waits.iter().map(slots).collect()
}

/// The waits are the pause and a uniform draw from 0 to `window` slots.
fn assert_uniform(waits: &[u64], pause: u64, window: u64) {
    let slots = slots(waits, pause);
    let (least, most) = (slots.iter().min().unwrap(), slots.iter().max().unwrap());
    assert!(*most <= window && *most * 100 >= window * 97 && *least * 100 <= window * 3, "{least} {most}");
    let mean = slots.iter().sum::<u64>() as f64 / slots.len() as f64 / (window as f64 / 2.0);
    assert!((mean - 1.0).abs() < 0.12, "{mean} of the mean of 0 to {window}");
}

/// Transmissions on the air before station 3 has its first frame: it begins at the start of the repetition.
#[derive(Copy, Clone, PartialEq, Debug)]
enum Before {
    /// A frame and its acknowledgement.
    Exchange,
    /// A frame that is lost.
    Lost,
    /// Two frames.
    Collision,
    /// An RTS without an answer.
    Rts,
}

/// How long station 3, whose frame comes while others send, waits from the end of `Before` to its own frame, in ns.
fn waits(before: Before) -> Vec<u64> {
    let rts_threshold = if before == Before::Rts { Bytes(0) } else { Bytes(2347) };
    let mut cell = Cell::new(&Params { rts_threshold, ..without_beacons() }, 4, MBPS_11);
    let mut waits = Vec::new();
    for number in 1..=OFTEN {
        let begun = Time::ZERO + Duration::from_millis(100 * number);
        cell.play(begun);
        cell.absent = before == Before::Rts;
        cell.medium.params.frame_loss = if before == Before::Lost { 1.0 } else { 0.0 };
        cell.offer(1);
        if before == Before::Collision {
            cell.offer(2);
        }
        cell.play(begun + Duration::from_micros(100));
        if before != Before::Exchange {
            // They do not send again.
            cell.medium.withdraw(1, cell.now);
            cell.medium.withdraw(2, cell.now);
        }
        cell.offer(3);
        let timing = cell.medium.timing.clone();
        let end = match before {
            Before::Rts => timing.rts(MBPS_11),
            Before::Exchange => timing.data(Bytes(1500), MBPS_11) + timing.sifs + timing.ack(MBPS_11),
            Before::Lost | Before::Collision => timing.data(Bytes(1500), MBPS_11),
        };
        cell.play(begun + end + Duration::from_nanos(1));
        (cell.absent, cell.medium.params.frame_loss) = (false, 0.0);
        let own = next_start_of(&mut cell, 3);
        // An RTS, a CTS and their pauses come before the data.
        let announced = match before {
            Before::Rts => timing.rts(MBPS_11) + timing.cts(MBPS_11) + timing.sifs * 2,
            _ => Duration::ZERO,
        };
        waits.push((own.since(begun + end) - announced).as_nanos());
    }
    waits
}

/// §9.1.1, §9.2.3, §9.2.5.4: a station that finds the medium busy draws a backoff even for its first frame.
/// It counts it from a DIFS behind an exchange, an EIFS behind a collision, and from when a reservation ends
/// or lapses.
#[test]
fn a_first_frame_that_finds_the_medium_busy_waits_for_its_pause_and_a_backoff() {
    let ack = 10_000 + 248_000;
    // An RTS without a CTS: 2 SIFS, a CTS of 248 µs, the beginning of a frame (192 µs) and two slots.
    let lapse = 20_000 + 248_000 + 192_000 + 40_000;
    for (before, pause) in [
        (Before::Exchange, 50_000),
        (Before::Lost, ack + 50_000),
        (Before::Collision, 364_000),
        (Before::Rts, lapse + 50_000),
    ] {
        println!("{before:?}");
        assert_uniform(&waits(before), pause, 31);
    }
}

/// §9.2.5.2: also a station that has nothing more to send counts a backoff behind its frame; a frame that comes meanwhile waits.
#[test]
fn a_frame_soon_behind_the_last_one_waits_for_the_backoff_of_that_one() {
    let mut cell = Cell::new(&without_beacons(), 2, MBPS_11);
    let mut waits = Vec::new();
    for number in 1..=OFTEN {
        let begun = Time::ZERO + Duration::from_millis(100 * number);
        cell.play(begun);
        cell.offer(1);
        let end = begun + Duration::from_nanos(192_000 + 1_117_091 + 10_000 + 248_000);
        cell.play(end + Duration::from_nanos(1));
        cell.offer(1);
        waits.push(next_start_of(&mut cell, 1).since(end).as_nanos());
    }
    assert_uniform(&waits, 50_000, 31);
}

/// §9.2.4: 31, 63, 127, 255, 511, 1023 and again 1023 slots; behind a frame that is given up, 31.
#[test]
fn the_window_doubles_up_to_its_limit_and_is_the_smallest_again_behind_a_lost_frame() {
    for (cw_max, windows) in
        [(1023, [31, 63, 127, 255, 511, 1023, 1023, 1023]), (127, [31, 63, 127, 127, 127, 127, 127, 127])]
    {
        let params = Params { short_retry_limit: 8, cw_max, ..without_beacons() };
        let mut cell = Cell::new(&params, 2, MBPS_11);
        cell.medium.report();
        cell.absent = true;
        let mut waits = vec![Vec::new(); 8];
        let mut lost_at = Time::ZERO;
        for number in 1..=OFTEN {
            cell.offer(1);
            let ends = attempts_of(&mut cell, 1);
            assert_eq!(ends.len(), 8);
            for (attempt, pair) in ends.windows(2).enumerate() {
                waits[attempt + 1].push(pair[1].since(pair[0]).as_nanos());
            }
            // The next frame is there immediately: its first backoff is behind the lost one.
            if number > 1 {
                waits[0].push(ends[0].since(lost_at).as_nanos());
            }
            lost_at = ends[7];
        }
        // A wait without result for the acknowledgement, of 222 µs, and then the frame.
        let pause = 222_000 + 192_000 + 1_117_091;
        for (attempt, window) in windows.into_iter().enumerate() {
            println!("attempt {attempt}, to {cw_max}");
            assert_uniform(&waits[attempt], pause, window);
        }
    }
}

/// §9.2.5.3: frames above the RTS threshold count their own failures, and an RTS counts as a short frame.
#[test]
fn frames_are_sent_as_often_as_the_limit_of_their_length_says() {
    for (short, long) in [(7, 4), (4, 7), (2, 9), (1, 1)] {
        for (threshold, data_is_lost, expected) in
            [(2347, true, short), (2347, false, short), (0, true, long), (0, false, short)]
        {
            let params = Params {
                rts_threshold: Bytes(threshold),
                short_retry_limit: short,
                long_retry_limit: long,
                ..without_beacons()
            };
            let mut cell = Cell::new(&params, 2, MBPS_11);
            cell.medium.params.frame_loss = if data_is_lost { 1.0 } else { 0.0 };
            cell.absent = !data_is_lost;
            let timing = cell.medium.timing.clone();
            let (data, rts) = (timing.data(Bytes(1500), MBPS_11), timing.rts(MBPS_11));
            let attempt = match (threshold, data_is_lost) {
                (0, false) => rts,
                (0, true) => rts + timing.sifs + timing.cts(MBPS_11) + timing.sifs + data,
                _ => data,
            };
            for _ in 0..20 {
                cell.offer(1);
                cell.play(cell.now + Duration::from_secs(1));
            }
            let case = format!("limits {short} and {long}, threshold {threshold}, data lost: {data_is_lost}");
            assert_eq!(cell.tallies[1].air, attempt * u64::from(20 * expected), "{case}");
        }
    }
}

/// §9.2.5.1: a station that was about to send without a backoff when another begins has to draw one; one that counts keeps
/// what is left, and slots count only behind the pause.
#[test]
fn a_medium_that_becomes_busy_makes_a_station_draw_or_keep_its_backoff() {
    let slot = Duration::from_nanos(SLOT);
    let at = |micros| Time::ZERO + Duration::from_micros(micros);
    let mut station = Station::new(1, Role::Host, 31, Rng::named(1, 0, "station"));
    station.frame = Some(Cell::new(&without_beacons(), 1, MBPS_11).frame);
    station.ready = at(1_000);
    let drawn = |station: &mut Station, now| {
        station.need_not_wait();
        assert!(station.freeze(now, slot));
        u64::from(station.backoff) * SLOT
    };
    for now in [at(960), at(1_000), at(1_015)] {
        let drawn: Vec<u64> = (0..OFTEN).map(|_| drawn(&mut station, now)).collect();
        assert_uniform(&drawn, 0, 31);
    }
    for (now, left) in [(990, 10), (1_000, 10), (1_019, 10), (1_020, 9), (1_070, 7)] {
        station.backoff = 10;
        assert!(station.freeze(at(now), slot));
        assert_eq!(station.backoff, left, "{now} us");
    }
    // One that has nothing to send and nothing to count is left out.
    station.forget_frame();
    station.backoff = 2;
    assert!(station.freeze(at(1_020), slot));
    assert!(!station.freeze(at(1_020), slot));
}

/// §11.1.3.2.2 (active scanning): a probe request goes out by the basic access procedure. Its station has
/// just reached the channel: a DIFS and a backoff, also where it hears no station.
#[test]
fn a_probe_request_waits_for_a_pause_and_a_backoff_on_an_idle_channel_too() {
    let mut cell = Cell::new(&without_beacons(), 2, MBPS_11);
    (cell.frame.broadcast, cell.frame.management) = (true, true);
    let mut waits = Vec::new();
    for number in 1..=OFTEN {
        let begun = Time::ZERO + Duration::from_millis(100 * number);
        cell.play(begun);
        cell.offer(1);
        waits.push(next_start_of(&mut cell, 1).since(begun).as_nanos());
    }
    assert_uniform(&waits, 50_000, 31);
}

/// §11.1.2.1: target beacon transmission times are an interval apart, also where the medium delays a beacon.
#[test]
fn beacons_are_due_at_fixed_times_however_busy_the_medium_is() {
    let params = Params::default();
    let mut cell = Cell::new(&params, 10, MBPS_11);
    let first = cell.medium.next_beacon.unwrap();
    cell.saturated = true;
    (0..10).for_each(|station| cell.offer(station));
    cell.play(Time::ZERO + Duration::from_secs(3));
    let span = cell.medium.next_beacon.unwrap().since(first).as_nanos();
    assert!(span > 2_500_000_000 && span.is_multiple_of(params.beacon_interval.as_nanos()), "{span}");
}
