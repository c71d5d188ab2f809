use super::*;
use crate::Strength;

fn at(micros: u64) -> Time {
    Time::ZERO + Duration::from_micros(micros)
}

fn offer(cell: u32, strength: u64) -> Offer {
    Offer {
        cell,
        channel: cell + 1,
        interval: Duration::from_micros(102_400),
        strength: Strength::Since(at(strength)),
    }
}

fn sent(management: bool, outcome: TxOutcome) -> StationEvent {
    StationEvent::Sent { management, outcome }
}

/// A station on two channels, and all that it does.
struct Driven {
    station: Station,
    actions: Vec<StationAction>,
}

impl Driven {
    fn new(wifi: Wifi) -> Driven {
        let station = Station::new(Wifi { channels: 2, ..wifi });
        let mut driven = Driven { station, actions: Vec::new() };
        driven.hear(StationEvent::SwitchedOn, at(0));
        driven
    }

    fn hear(&mut self, heard: StationEvent, now: Time) {
        self.station.on(heard, now, &mut self.actions);
    }

    /// Its next deadline comes on a channel that is busy or not; when.
    fn wait(&mut self, busy: bool) -> u64 {
        let now = self.station.next_deadline().expect("it waits");
        self.hear(StationEvent::Deadline { busy }, now);
        now.as_nanos() / 1000
    }

    fn done(&mut self) -> Vec<StationAction> {
        std::mem::take(&mut self.actions)
    }

    /// Scans; cell 0 answers on channel 1.
    fn find_first(&mut self) -> u64 {
        self.wait(false);
        let now = self.station.next_deadline().unwrap();
        self.hear(sent(true, TxOutcome::Received), now);
        self.hear(StationEvent::Cell { offer: offer(0, 7), beacon: false }, now);
        self.wait(true);
        self.wait(true);
        self.wait(false);
        self.hear(sent(true, TxOutcome::Received), self.station.next_deadline().unwrap());
        self.wait(false)
    }

    fn associate(&mut self) -> Time {
        let now = at(self.find_first());
        self.hear(StationEvent::Authenticated(0), now);
        self.hear(StationEvent::Associated(0), now);
        self.done();
        now
    }
}

#[test]
fn a_scan_waits_longer_where_the_channel_is_busy() {
    let mut station = Driven::new(Wifi::default());
    assert_eq!(station.done(), [StationAction::Tune(1)]);
    assert_eq!(station.wait(false), 100);
    assert_eq!(station.done(), [StationAction::Probe]);
    station.hear(sent(true, TxOutcome::Received), at(1_000));
    station.hear(StationEvent::Cell { offer: offer(0, 7), beacon: false }, at(2_000));
    assert_eq!((station.wait(true), station.wait(true)), (6_000, 12_000));
    assert_eq!(station.done(), [StationAction::Tune(2)]);
    assert_eq!(station.wait(false), 12_100);
    station.hear(sent(true, TxOutcome::Received), at(12_100));
    assert_eq!(station.wait(false), 17_100);
    assert_eq!(
        station.done(),
        [
            StationAction::Probe,
            StationAction::Note("scanned"),
            StationAction::Tune(1),
            StationAction::Authenticate(0)
        ]
    );
    station.hear(StationEvent::Authenticated(0), at(18_000));
    assert_eq!(
        station.done(),
        [StationAction::Note("authenticated"), StationAction::Associate { cell: 0, again: false }]
    );
    station.hear(StationEvent::Associated(0), at(19_000));
    assert_eq!((station.done(), station.station.cell()), (vec![StationAction::Enter(0)], Some(0)));
}

#[test]
fn a_probe_request_that_the_air_never_takes_does_not_stop_the_scan() {
    let mut station = Driven::new(Wifi::default());
    station.wait(false);
    assert_eq!(station.wait(true), 11_100);
    assert_eq!(station.done(), [StationAction::Tune(1), StationAction::Probe, StationAction::Tune(2)]);
}

#[test]
fn unanswered_requests_are_repeated_and_then_the_next_cell_is_tried() {
    let mut station = Driven::new(Wifi::default());
    station.hear(StationEvent::Cell { offer: offer(1, 5), beacon: true }, at(50));
    let scanned = station.find_first();
    station.done();
    // The stronger one is tried three times, then the other, whose association fails, too.
    assert_eq!([(); 3].map(|()| station.wait(false) - scanned), [200_000, 400_000, 600_000]);
    let expected = [
        StationAction::Authenticate(0),
        StationAction::Authenticate(0),
        StationAction::Note("authentication-failed"),
        StationAction::Tune(2),
        StationAction::Authenticate(1),
    ];
    assert_eq!(station.done(), expected);
    // Present events of the first one are too late.
    station.hear(StationEvent::Authenticated(0), at(scanned + 610_000));
    assert_eq!(station.done(), []);
    station.hear(StationEvent::Authenticated(1), at(scanned + 620_000));
    assert_eq!([(); 3].map(|()| station.wait(false) - scanned), [820_000, 1_020_000, 1_220_000]);
    let actions = station.done();
    assert_eq!(
        actions.iter().filter(|action| matches!(action, StationAction::Associate { cell: 1, .. })).count(),
        3
    );
    assert_eq!(
        actions[actions.len() - 2..],
        [StationAction::Note("association-failed"), StationAction::Tune(1)]
    );
}

fn lost(sign: &'static str) -> Vec<StationAction> {
    vec![StationAction::Note(sign), StationAction::Leave(0), StationAction::Tune(1)]
}

#[test]
fn a_cell_is_lost_by_beacons() {
    let mut station = Driven::new(Wifi::default());
    let since = station.associate();
    let beacon = since + Duration::from_millis(100);
    station.hear(StationEvent::Cell { offer: offer(0, 7), beacon: true }, beacon);
    // Another cell's beacon, or a probe response, shows nothing of this one.
    station.hear(StationEvent::Cell { offer: offer(1, 7), beacon: true }, beacon + Duration::from_millis(50));
    station
        .hear(StationEvent::Cell { offer: offer(0, 7), beacon: false }, beacon + Duration::from_millis(50));
    let span = Duration::from_micros(3 * 102_400 + 51_200);
    assert_eq!(station.station.next_deadline(), Some(beacon + span));
    // It asks twice whether the cell is there. The first frame is sent without result, the second not at all.
    let sent_in_vain = sent(true, TxOutcome::RetryLimit);
    let asked = at(station.wait(false));
    assert_eq!(station.done(), [StationAction::KeepAlive(0)]);
    station.hear(sent_in_vain, asked + Duration::from_millis(40));
    assert_eq!(station.done(), [StationAction::KeepAlive(0)]);
    assert_eq!(at(station.wait(false)), asked + Duration::from_millis(540));
    assert_eq!(station.done(), lost("beacon-loss"));

    // An answer, a beacon or acknowledged data is a sign of life; a failed transmission before does not count
    // then.
    for sign in [
        sent(true, TxOutcome::Received),
        StationEvent::Cell { offer: offer(0, 7), beacon: true },
        sent(false, TxOutcome::Received),
    ] {
        let mut station = Driven::new(Wifi::default());
        station.associate();
        let asked = at(station.wait(false));
        station.hear(sent_in_vain, asked);
        station.hear(sign, asked + Duration::from_millis(1));
        station.hear(sent_in_vain, asked + Duration::from_millis(2));
        assert_eq!(station.done(), [StationAction::KeepAlive(0); 2], "{sign:?}");
        assert_eq!(at(station.wait(false)), asked + Duration::from_millis(1) + span);
        assert_eq!((station.done(), station.station.cell()), (vec![StationAction::KeepAlive(0)], Some(0)));
    }

    // Without asking.
    let mut station = Driven::new(Wifi { null_data_tries: 0, ..Wifi::default() });
    let since = station.associate();
    assert_eq!(at(station.wait(false)), since + span);
    assert_eq!(station.done(), lost("beacon-loss"));
}

#[test]
fn a_cell_is_lost_by_attempts_or_by_what_it_says() {
    // Data that is not acknowledged does not end an association, unless that is asked for.
    let mut station = Driven::new(Wifi::default());
    let since = station.associate();
    (0..1_000).for_each(|_| station.hear(sent(false, TxOutcome::Retried), since));
    assert_eq!(station.done(), []);

    let mut station = Driven::new(Wifi { failed_attempts: 3, ..Wifi::default() });
    let since = station.associate();
    for heard in [
        sent(false, TxOutcome::Retried),
        sent(false, TxOutcome::Retried),
        sent(false, TxOutcome::Received),
        sent(false, TxOutcome::Retried),
        sent(false, TxOutcome::Retried),
    ] {
        station.hear(heard, since);
    }
    assert_eq!(station.done(), []);
    station.hear(sent(false, TxOutcome::Retried), since);
    assert_eq!(station.done(), lost("retry-loss"));

    let mut station = Driven::new(Wifi { missed_beacons: 0, failed_attempts: 1, ..Wifi::default() });
    let since = station.associate();
    station.hear(StationEvent::Deauthenticated(1), since);
    assert_eq!(station.done(), []);
    station.hear(StationEvent::Deauthenticated(0), since);
    assert_eq!(station.done(), lost("deauthenticated"));
}

#[test]
fn a_station_that_sends_nothing_says_now_and_then_that_it_is_there() {
    let (apart, deaf) = (Duration::from_secs(30), Wifi { missed_beacons: 0, ..Wifi::default() });
    let mut station = Driven::new(deaf);
    let since = station.associate();
    assert_eq!(station.station.next_deadline(), Some(since + apart));
    // Acknowledged data show it as well.
    station.hear(sent(false, TxOutcome::Received), since + Duration::from_secs(10));
    station.hear(StationEvent::Deadline { busy: false }, since + apart);
    assert_eq!(station.done(), []);
    assert_eq!(station.wait(false), (since + Duration::from_secs(40)).as_nanos() / 1000);
    assert_eq!(station.done(), [StationAction::KeepAlive(0)]);
    assert_eq!(station.station.next_deadline(), Some(since + Duration::from_secs(70)));
}

#[test]
fn a_station_that_had_a_cell_asks_for_a_reassociation() {
    // 802.11-2012 §4.5.3.4: by a reassociation a station continues in the network that an association has
    // brought it into.
    let mut station = Driven::new(Wifi::default());
    for again in [false, true] {
        let now = at(station.find_first());
        station.hear(StationEvent::Authenticated(0), now);
        assert_eq!(station.done().pop(), Some(StationAction::Associate { cell: 0, again }));
        station.hear(StationEvent::Associated(0), now);
        station.hear(StationEvent::Deauthenticated(0), now + Duration::from_secs(1));
    }
}

#[test]
fn a_scan_that_finds_nothing_is_repeated_after_a_rest() {
    let rest = Duration::from_millis(50);
    let passive = Wifi { scan: Scan::Passive, rescan_after: rest, ..Wifi::default() };
    let mut station = Driven::new(passive);
    assert_eq!((station.wait(false), station.wait(false)), (120_000, 240_000));
    assert_eq!(
        station.done(),
        [StationAction::Tune(1), StationAction::Tune(2), StationAction::Note("nothing-found")]
    );
    // It ignores frames while it rests.
    station.hear(StationEvent::Cell { offer: offer(1, 5), beacon: true }, at(250_000));
    assert_eq!(station.wait(false), 290_000);
    station.hear(StationEvent::Cell { offer: offer(1, 5), beacon: true }, at(300_000));
    assert_eq!((station.wait(false), station.wait(false)), (410_000, 530_000));
    let expected = [
        StationAction::Tune(1),
        StationAction::Tune(2),
        StationAction::Note("scanned"),
        StationAction::Tune(2),
        StationAction::Authenticate(1),
    ];
    assert_eq!(station.done(), expected);
}

/// A station with cell 0 on channel 1 at -70 dBm since its association, that scans in the background.
fn with_levels(wifi: Wifi) -> (Driven, Time) {
    let background_scan = Some(Box::new(crate::BackgroundScan {
        short_interval: Duration::from_secs(2),
        long_interval: Duration::from_secs(10),
        ..crate::BackgroundScan::default()
    }));
    let measurement = Some(Box::default());
    let mut station = Driven::new(Wifi { background_scan, measurement, missed_beacons: 0, ..wifi });
    station.wait(false);
    station.hear(sent(true, TxOutcome::Received), at(100));
    station.hear(StationEvent::Cell { offer: level(0, -70.0), beacon: false }, at(200));
    station.wait(true);
    station.wait(true);
    station.wait(false);
    station.hear(sent(true, TxOutcome::Received), station.station.next_deadline().unwrap());
    let now = at(station.wait(false));
    station.hear(StationEvent::Authenticated(0), now);
    station.hear(StationEvent::Associated(0), now);
    station.done();
    (station, now)
}

fn level(cell: u32, dbm: f64) -> Offer {
    Offer { strength: Strength::of_level(dbm), ..offer(cell, 0) }
}

/// Looks at both channels, and hears these cells; it is back at the time that is returned.
fn looks(station: &mut Driven, away: Time, heard: &[Offer]) -> Time {
    station.hear(StationEvent::Quiet, away);
    for channel in [1, 2] {
        let probes = at(station.wait(false));
        station.hear(sent(true, TxOutcome::Received), probes);
        let there: Vec<&Offer> = heard.iter().filter(|offer| offer.channel == channel).collect();
        for offer in &there {
            station.hear(StationEvent::Cell { offer: **offer, beacon: false }, probes);
        }
        if !there.is_empty() {
            station.wait(true);
        }
        station.wait(false);
    }
    station.station.next_deadline().unwrap()
}

#[test]
fn a_weak_cell_is_left_for_one_that_is_stronger_by_enough() {
    for (other, roams) in [(-65.001, false), (-65.0, true)] {
        let (mut station, entered) = with_levels(Wifi::default());
        assert_eq!(
            at(station.wait(false)),
            entered + Duration::from_secs(2),
            "short interval: below -65 dBm"
        );
        assert_eq!(station.done(), [StationAction::Note("background-scan"), StationAction::Doze(0)]);
        let due = entered + Duration::from_secs(2);
        looks(&mut station, due, &[level(0, -70.0), level(1, other)]);
        let scanned = [
            StationAction::Tune(1),
            StationAction::Probe,
            StationAction::Tune(2),
            StationAction::Probe,
            StationAction::Note("scanned"),
            StationAction::Tune(1),
            StationAction::Wake(0),
        ];
        assert_eq!(station.done(), scanned);
        // Each channel: delay of 0.1 ms, and 11 ms behind the answer.
        let back = due + Duration::from_micros(2 * 11_100);
        station.hear(sent(true, TxOutcome::Received), back);
        let expected = match roams {
            true => vec![
                StationAction::Note("roam"),
                StationAction::Leave(0),
                StationAction::Tune(2),
                StationAction::Authenticate(1),
            ],
            false => vec![],
        };
        assert_eq!(station.done(), expected, "{other}");
        if !roams {
            assert_eq!(station.station.next_deadline(), Some(back + Duration::from_secs(2)));
        }
    }
}

#[test]
fn a_long_scan_returns_to_its_channel_in_between() {
    let (mut station, entered) = with_levels(Wifi::default());
    station.station.wifi.scan = Scan::Passive;
    let due = station.station.next_deadline().unwrap();
    assert!(due > entered);
    station.wait(false);
    station.done();
    station.hear(StationEvent::Quiet, due);
    // One channel of 120 ms; a second one would be more than 125 ms.
    assert_eq!(at(station.wait(false)), due + Duration::from_millis(120));
    assert_eq!(station.done(), [StationAction::Tune(1), StationAction::Tune(1), StationAction::Wake(0)]);
    let back = due + Duration::from_millis(121);
    station.hear(sent(true, TxOutcome::Received), back);
    assert_eq!(at(station.wait(false)), back + Duration::from_millis(200), "on the channel of its cell");
    assert_eq!(station.done(), [StationAction::Doze(0)]);
    station.hear(StationEvent::Quiet, back + Duration::from_millis(201));
    assert_eq!(station.done(), [StationAction::Tune(2)]);
}

#[test]
fn a_request_is_followed_to_the_first_candidate_found_or_refused() {
    let mut channels = Channels::default();
    channels.insert(2);
    let asked = StationEvent::Transition { cell: 0, request: 0, channels };
    let answers = |wifi: Wifi, heard: &[Offer]| {
        let (mut station, entered) = with_levels(wifi);
        station.station = station.station.clone().with_candidates([vec![1]].into());
        let now = entered + Duration::from_millis(500);
        station.hear(asked, now);
        if station.actions.contains(&StationAction::Doze(0)) {
            let back = looks(&mut station, now, heard);
            station.hear(sent(true, TxOutcome::Received), back);
        }
        let answered = station.done();
        station.hear(sent(true, TxOutcome::Received), now + Duration::from_millis(100));
        (answered.last().copied(), station.done())
    };
    let respond = |status| Some(StationAction::Respond { cell: 0, request: 0, status });
    let roams = [
        StationAction::Note("transition"),
        StationAction::Leave(0),
        StationAction::Tune(2),
        StationAction::Authenticate(1),
    ];
    // A weaker candidate too: the base station decides.
    let found = answers(Wifi::default(), &[level(0, -70.0), level(1, -80.0)]);
    assert_eq!(found, (respond(0), roams.to_vec()));
    assert_eq!(answers(Wifi::default(), &[level(0, -70.0)]), (respond(7), vec![]));
    let refuses = Wifi { on_transition: crate::OnTransition::Refuse, ..Wifi::default() };
    assert_eq!(answers(refuses, &[]), (respond(1), vec![]));
}
