//! Roaming by signal and by requests of base stations: times against sums by hand, what each lost frame costs, and walks.

use super::lab::{DOWN, Dice, Lab, MS, Record, Trouble, UP, walks};
use crate::lab::record::Loss;
use roamlab_world::Scenario;

/// A level of -60 dBm during a visit, which falls by 5 dB in a second before and behind it. Scans by the rule of
/// wpa_supplicant.
const SIGNAL: &str = "measurement = { peak_dbm = -60.0, slope_db_per_s = 5.0, audible_dbm = -90.0 }\n\
                      background_scan = { short_interval = \"1 s\", threshold_dbm = -65.0, long_interval = \"60 s\" }";

/// The host visits bs1, and bs2 from 3 s on. So bs1 is below -65 dBm from 4 s on, and bs2 is 5 dB stronger.
fn by_signal(more: &str) -> Lab {
    Lab { radio: format!("{SIGNAL}\n{more}"), ..Lab::default() }
}

/// The same with a request of bs1.
fn by_request(request: &str, more: &str) -> Lab {
    let transition = format!("transitions = [{{ cell = \"bs1\", at = \"2500 ms\"{request} }}]");
    Lab { radio: format!("{}\n{transition}\n{more}", SIGNAL.lines().next().unwrap()), ..Lab::default() }
}

fn at(record: &Record, phase: &str) -> u64 {
    record.phase(phase, 1_000 * MS).unwrap_or_else(|| panic!("no {phase}: {:?}", record.phases))
}

/// How often a phase was noted behind the first association.
fn count(record: &Record, phase: &str) -> usize {
    record.phases.iter().filter(|noted| &*noted.phase == phase && noted.time > 1_000 * MS).count()
}

/// The cells that the host asked for a reassociation.
fn joined(record: &Record) -> Vec<&str> {
    let asked = record.signals.iter().filter(|signal| &*signal.message == "reassociation-request");
    asked.map(|signal| &*signal.destination).collect()
}

/// The time of a frame of this size at 2 Mbit/s, in ns.
const fn frame(bytes: u64) -> u64 {
    1_000 * (192 + 4 * bytes)
}

const DIFS: u64 = 50_000;
const ACKNOWLEDGED: u64 = 10_000 + 248_000;
/// 31 slots at most, and a beacon of 90 B that may come first.
const CONTENTION: u64 = 31 * 20_000 + 552_000 + DIFS;

#[test]
fn a_host_roams_at_the_measurement_that_is_below_the_threshold() {
    for draw in 1..=10 {
        let record = Lab { flows: String::new(), draw, ..by_signal("") }.run();
        // Measurements are every 40 ms. At 4.00 s the level is the threshold itself.
        assert_eq!(at(&record, "background-scan"), 4_040 * MS);
        let (scanned, roams, up) = (at(&record, "scanned"), at(&record, "roam"), at(&record, "link-up"));
        // The announcement, then eleven delays of 0.1 ms, nine idle channels of 5 ms, and two of 11 ms behind a request.
        let least = frame(28) + 11 * 100_000 + 9 * 5 * MS + 2 * (11 * MS + DIFS + frame(48));
        let scan = scanned - 4_040 * MS;
        assert!((least..least + 3 * CONTENTION).contains(&scan), "{draw}: {scan} {least}");
        // It announces that it is back, and leaves its cell.
        let back = roams - scanned;
        assert!((frame(28)..frame(28) + DIFS + CONTENTION).contains(&back), "{draw}: {back}");
        // Two frames of 34 B, then 58 B and 44 B; each of the first three is acknowledged.
        let sizes = [34, 34, 58, 44].map(frame).iter().sum::<u64>();
        let least = sizes + 3 * (ACKNOWLEDGED + DIFS);
        let gap = up - roams;
        assert!((least - DIFS..least + 4 * CONTENTION).contains(&gap), "{draw}: {gap} {least}");
        // Without levels the same host is 258 to 491 ms without a cell before it scans, and then looks for 62 ms.
        assert!(gap < 10 * MS && at(&record, "link-down") == roams);
        assert_eq!(joined(&record), ["bs2"]);
    }
}

#[test]
fn a_neighbour_that_is_not_stronger_by_enough_is_left_alone() {
    let spec = |more: &str| {
        format!(
            "measurement = {{ peak_dbm = -60.0, slope_db_per_s = 5.0, audible_dbm = -90.0 }}\n\
             background_scan = {{ short_interval = \"1 s\", threshold_dbm = -65.0, long_interval = \"60 s\"{more} }}"
        )
    };
    let run = |more: &str| {
        Lab { flows: String::new(), radio: spec(more), duration_ms: 9_000, ..Lab::default() }.run()
    };
    // bs1 is below -78 dBm, and 18 dB weaker, from 6.6 s on. The scans begin a second behind the end of each.
    let record = run(", level_steps_dbm = [], min_difference_db = [18.0]");
    let scans: Vec<u64> = record
        .phases
        .iter()
        .filter(|noted| &*noted.phase == "background-scan")
        .map(|noted| noted.time)
        .collect();
    assert_eq!(scans[0], 4_040 * MS);
    for pair in scans.windows(2) {
        assert!((1_069 * MS..1_085 * MS).contains(&(pair[1] - pair[0])), "{scans:?}");
    }
    assert_eq!((scans.len(), joined(&record)), (4, vec!["bs2"]));
    assert!(at(&record, "roam") > 7_250 * MS, "the fourth scan is the first behind 6.6 s");
    // A cell that is kept above -90 dBm is left when its beacons stay out: at 9 s it is at -90 dBm.
    let kept = run(", keep_above_dbm = -90.0");
    assert_eq!((count(&kept, "roam"), joined(&kept)), (0, vec![]));
}

#[test]
fn frames_wait_for_a_host_that_scans_both_ways() {
    // Five passive scans of 120 ms, one at a time, with 200 ms on the channel of its cell in between.
    let more = "scan = \"passive\"\nchannels = 11";
    let keep = "background_scan = { short_interval = \"1 s\", threshold_dbm = -59.0, long_interval = \"60 s\", keep_above_dbm = -70.0 }";
    let radio =
        |held: u32| format!("{}\n{keep}\n{more}\nap_held_frames = {held}", SIGNAL.lines().next().unwrap());
    let run = |held: u32| {
        Lab {
            flows: format!("{DOWN}{UP}"),
            visits: vec![("bs1", 0, None)],
            radio: radio(held),
            duration_ms: 12_000,
            ..Lab::default()
        }
        .run()
    };
    let record = run(64);
    let away = record.signals.iter().filter(|signal| &*signal.message == "power-save").count();
    assert!(away >= 22, "two scans of eleven channels: {away}");
    for flow in ["down", "up"] {
        // The first scan has found the cell at 1.4 s.
        let lost = record.lost(flow).filter(|loss| loss.time > 1_500 * MS);
        assert_eq!(lost.count(), 0, "{flow}");
        let longest = record.delivered(flow).filter(|delivery| delivery.time > 1_500 * MS);
        let longest = longest.map(|delivery| delivery.time - delivery.sent).max().unwrap();
        // 36 ms of wires; a frame that comes when the host has just left waits for 120 ms.
        assert!((36 + 110..36 + 140).contains(&(longest / MS)), "{flow}: {longest}");
    }
    // Six frames come in 120 ms. A base station that holds two loses the oldest, one that holds none loses others by retries.
    let two = run(2);
    let later = |loss: &&Loss| loss.time > 1_500 * MS;
    let lost: Vec<&str> = two.lost("down").filter(later).map(|loss| &*loss.reason).collect();
    assert!(lost.len() >= 3 * away / 2 && lost.iter().all(|reason| *reason == "buffer-overflow"), "{lost:?}");
    assert_eq!(two.lost("up").filter(later).count(), 0);
    let none = run(0);
    assert!(
        none.lost("down").filter(later).count() > 20
            && none.lost("down").filter(later).all(|loss| &*loss.reason == "detached")
    );
}

#[test]
fn a_request_is_followed_before_the_cell_is_weak() {
    for draw in 1..=10 {
        let record = Lab { flows: String::new(), draw, ..by_request(", candidates = [\"bs2\"]", "") }.run();
        // The request of 89 B, an announcement, the two channels of both cells, the announcement of the return and a
        // response of 39 B.
        let asked = at(&record, "transition-requested") - 2_500 * MS;
        assert!((frame(89)..frame(89) + CONTENTION + DIFS).contains(&asked), "{draw}: {asked}");
        let least = 2 * frame(28) + frame(39) + 3 * (ACKNOWLEDGED + DIFS) - ACKNOWLEDGED
            + 2 * (100_000 + 11 * MS + frame(48));
        let answered = at(&record, "transition") - at(&record, "transition-requested");
        assert!((least - 4 * DIFS..least + 6 * CONTENTION).contains(&answered), "{draw}: {answered} {least}");
        assert_eq!(joined(&record), ["bs2"]);
        assert!(at(&record, "link-up") < 2_500 * MS + 40 * MS);
    }
    // The first in the list that it finds: bs3 has no level.
    let record = by_request(", candidates = [\"bs3\", \"bs2\"]", "").run();
    assert_eq!(joined(&record), ["bs2"]);
    let none = by_request(", candidates = [\"bs3\"]", "").run();
    assert_eq!((count(&none, "transition-refused"), count(&none, "transition")), (1, 0));
    // Without levels the plan's coverage counts.
    let by_plan = |at: &str| {
        let radio = format!("overlap = \"2 s\"\ntransitions = [{{ cell = \"bs1\", at = \"{at}\" }}]");
        Lab { radio, ..Lab::default() }.run()
    };
    assert!(at(&by_plan("3500 ms"), "transition") < 3_560 * MS);
    assert_eq!(count(&by_plan("2500 ms"), "transition"), 0, "bs2 does not cover it yet");
}

#[test]
fn a_host_that_stays_is_disassociated_when_the_time_is_over() {
    let run = |more: &str| by_request(", disassociates_after = \"1 s\"", more).run();
    let record = run("on_transition = \"refuse\"");
    assert_eq!(count(&record, "transition-refused"), 1);
    let ends = at(&record, "gone-by-transition");
    assert_eq!(ends, 3_500 * MS);
    let sees = at(&record, "disassociated") - ends;
    assert!(sees < frame(30) + CONTENTION + 2 * MS, "{sees}");
    // It scans all channels without a cell, and bs2 is the strongest now.
    let without = at(&record, "link-up") - at(&record, "link-down");
    assert!((66 * MS..80 * MS).contains(&without), "{without}");
    assert_eq!(joined(&record), ["bs2"]);
    // One that has followed is no longer listed when it has left by its own frames: the base station notifies no one.
    let followed = run("");
    assert_eq!(count(&followed, "disassociated"), 0);
    assert!(at(&followed, "link-up") < 2_600 * MS);
}

/// The frames of the new procedures.
const FRAMES: [&str; 5] =
    ["power-save", "awake", "transition-request", "transition-response", "disassociation"];

#[test]
fn each_new_frame_lost_late_or_copied_is_made_good() {
    let labs = [
        by_signal(""),
        by_signal("scan = \"passive\"\nchannels = 6"),
        by_request(", disassociates_after = \"1 s\"", ""),
        by_request(", disassociates_after = \"1 s\"", "on_transition = \"refuse\""),
    ];
    for (number, lab) in labs.iter().enumerate() {
        let lab = Lab { flows: format!("{DOWN}{UP}"), ..lab.clone() };
        for message in FRAMES {
            for occurrence in 1..=2 {
                let trouble = Trouble::lost(message, occurrence);
                let late = [5, 40, 400].map(|ms| Trouble { delay_ms: Some(ms), ..trouble.clone() });
                let copied = [0, 30].map(|ms| trouble.copied(ms));
                for trouble in late.into_iter().chain(copied).chain([trouble]) {
                    let record = Lab { troubles: vec![trouble.clone()], ..lab.clone() }.run();
                    record
                        .reached_again("down", 200 * MS)
                        .unwrap_or_else(|problem| panic!("{number} {trouble:?}: {problem}"));
                    let lost = record.lost("up").count();
                    assert!(lost < 30, "{number} {trouble:?}: {lost} packets of the host are lost");
                    let last = joined(&record).last().copied();
                    assert_eq!(last, Some("bs2"), "{number} {trouble:?}");
                }
            }
        }
    }
}

#[test]
fn a_lost_frame_costs_what_is_read_here() {
    let of = |lab: Lab, message: &str| {
        let troubles = vec![Trouble::lost(message, 1)];
        Lab { troubles, flows: String::new(), ..lab }.run()
    };
    // Nothing waits for an answer to the announcements: the host goes, and returns.
    for message in ["power-save", "awake"] {
        let up = at(&of(by_signal(""), message), "link-up");
        assert!((4_108 * MS..4_122 * MS).contains(&up), "{message}: {up}");
    }
    // A base station does not repeat its request; without one the host keeps the cell until its level has fallen.
    let lost = of(by_request("", ""), "transition-request");
    assert_eq!(count(&lost, "transition-requested"), 0);
    // The response is for the base station alone.
    assert!(at(&of(by_request("", ""), "transition-response"), "link-up") < 2_560 * MS);
    // Without its disassociation the base station refuses data, and a deauthentication answers the first of them.
    let refuses = by_request(", disassociates_after = \"1 s\"", "on_transition = \"refuse\"");
    let troubles = vec![Trouble::lost("disassociation", 1)];
    let record = Lab { troubles, flows: UP.into(), ..refuses }.run();
    let sees = at(&record, "deauthenticated") - 3_500 * MS;
    assert!(sees < 25 * MS, "a datagram every 20 ms: {sees}");
}

#[test]
fn the_base_station_sends_held_frames_when_the_announcement_of_the_return_is_lost() {
    // A host whose return is not announced learns by the next beacon that frames wait.
    let keep = "background_scan = { short_interval = \"1 s\", threshold_dbm = -59.0, long_interval = \"60 s\", keep_above_dbm = -70.0 }";
    let radio = format!("{}\n{keep}", SIGNAL.lines().next().unwrap());
    let troubles = vec![Trouble::lost("awake", 1)];
    let record = Lab { radio, troubles, visits: vec![("bs1", 0, None)], ..Lab::default() }.run();
    let awake: Vec<u64> = record
        .signals
        .iter()
        .filter(|signal| &*signal.message == "awake")
        .map(|signal| signal.sent)
        .collect();
    assert!(awake[1] - awake[0] < 104 * MS, "{awake:?}");
    assert_eq!(record.lost("down").count(), 0);
}

/// Detection of the loss of a cell, scans, and frames of a walk that are lost in a row.
const LAYER_2: u64 = 6_000 * MS;

/// Parameters of stations, and their levels, if they have any.
fn stations(dice: &mut Dice) -> String {
    let radio = format!(
        "scan = \"{}\"\nmost_away = \"{} ms\"\nhome_time = \"{} ms\"\nap_held_frames = {}\nneighbour_reports = {}\n\
         failed_attempts = {}\nkeep_alive = \"1 s\"\non_transition = \"{}\"\n",
        dice.one_of(&["active", "active", "passive"]),
        dice.one_of(&[1, 30, 125]),
        dice.one_of(&[0, 20, 200]),
        dice.one_of(&[0, 1, 64]),
        dice.below(2) == 0,
        dice.one_of(&[0, 0, 7]),
        dice.one_of(&["follow", "follow", "refuse"]),
    );
    if dice.below(5) == 0 {
        return radio + "overlap = \"400 ms\"\n";
    }
    let slope = *dice.one_of(&[2.0, 5.0, 20.0]);
    let (short, long) = (*dice.one_of(&[100, 1_000]), *dice.one_of(&[1_000, 60_000]));
    let threshold = *dice.one_of(&[-59.0, -65.0, -80.0]);
    format!(
        "{radio}measurement = {{ peak_dbm = -60.0, slope_db_per_s = {slope:?}, audible_dbm = -90.0 }}\n\
         background_scan = {{ short_interval = \"{short} ms\", threshold_dbm = {threshold:?}, long_interval = \"{long} ms\" }}\n"
    )
}

/// Requests of base stations; when the last association ends by one, in ms.
fn requests(dice: &mut Dice, until: u64) -> (String, u64) {
    let (mut requests, mut last) = (Vec::new(), 0);
    for _ in 0..dice.below(4) {
        let (cell, at) = (dice.one_of(&["bs1", "bs2", "bs3"]), 1_500 + dice.below(until));
        let ends = match dice.below(2) {
            0 => String::new(),
            _ => format!(", disassociates_after = \"{} ms\"", 1 + dice.below(1_500)),
        };
        requests.push(format!("{{ cell = \"{cell}\", at = \"{at} ms\"{ends} }}"));
        last = last.max(at + 1_500);
    }
    (format!("transitions = [{}]\n", requests.join(", ")), last)
}

/// Frames that are lost, late or copied.
fn troubles(dice: &mut Dice) -> Vec<Trouble> {
    let many = dice.below(6);
    let trouble = |_| {
        let trouble = Trouble::lost(*dice.one_of(&FRAMES), 1 + dice.below(6) as u32);
        match dice.below(3) {
            0 => Trouble { delay_ms: Some(1 + dice.below(1_000)), ..trouble },
            1 => trouble.copied(dice.below(500)),
            _ => trouble,
        }
    };
    (0..many).map(trouble).collect()
}

const PROTOCOLS: [&str; 3] = [
    "kind = \"mandm\"",
    "kind = \"hawaii\"",
    "kind = \"mobile-ip\"\nlocal_handoff = false\nadvertisement_interval = \"200 ms\"",
];

const SECURITY: [&str; 3] =
    ["", "security = { kind = \"psk\" }\n", "security = { kind = \"psk\", fast_transition = true }\n"];

fn walk(number: u64) -> Result<u64, String> {
    let mut dice = Dice::of(number, "roaming by signal");
    let mut visits = vec![("bs1", 0, None)];
    let mut last = 2_000;
    for _ in 0..dice.below(4) {
        last += 500 + dice.below(4_000);
        visits.push((*dice.one_of(&["bs1", "bs2", "bs3"]), last, None));
    }
    let (requests, ends) = requests(&mut dice, last);
    last = last.max(ends);
    let bound = 6_000 * MS + LAYER_2;
    let lab = Lab {
        duration_ms: last + bound / MS + 3_000,
        visits,
        mobility: (*dice.one_of(&PROTOCOLS)).into(),
        radio: format!("{}{requests}{}", stations(&mut dice), dice.one_of(&SECURITY)),
        medium: format!(", frame_loss = {}", dice.one_of(&["0.0", "0.0", "0.1"])),
        flows: if dice.below(2) == 0 { DOWN.to_owned() } else { format!("{DOWN}{UP}") },
        troubles: troubles(&mut dice),
        draw: number,
    };
    let record = lab.run();
    let from = last * MS;
    let arrivals = record.delivered("down").map(|delivery| delivery.time).filter(|&time| time >= from);
    let times: Vec<u64> = std::iter::once(from).chain(arrivals).chain([record.end]).collect();
    let silence = times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(u64::MAX);
    if silence > bound {
        return Err(format!("silent for {} ms: {lab:?}\n{:?}", silence / MS, record.phases));
    }
    // A datagram is delivered, lost or one of the last few.
    let missing = record.without_end("down", (1_000 * MS, 20 * MS), record.end - 1_000 * MS);
    let settled = record.phases.iter().rfind(|noted| noted.phase.starts_with("link-"));
    let is_settled =
        settled.is_some_and(|noted| &*noted.phase == "link-up" && noted.time + 1_000 * MS < record.end);
    // A base station holds 64 for a host that has left it, until it notices that.
    match missing.len() <= 64 || !is_settled {
        true => Ok(silence),
        false => Err(format!("{} datagrams have no end: {lab:?}", missing.len())),
    }
}

#[test]
fn a_host_that_roams_by_signal_or_request_is_reached_again_within_the_bound() {
    walks(150, walk);
}

#[test]
fn what_has_no_levels_or_names_nothing_is_refused_with_what_to_write() {
    let report = |radio: &str| {
        let text = Lab { radio: radio.into(), ..Lab::default() }.text();
        Scenario::parse(&text, "lab.toml").err().map(|problem| problem.to_string()).unwrap_or_default()
    };
    let scan =
        "background_scan = { short_interval = \"1 s\", threshold_dbm = -65.0, long_interval = \"60 s\"";
    let cases = [
        (format!("{scan} }}"), "radio.background_scan", "measurement = {}"),
        ("measurement = {}\noverlap = \"1 s\"".into(), "radio.overlap", "remove this"),
        (
            format!("measurement = {{}}\n{scan}, level_steps_dbm = [-80.0] }}"),
            "min_difference_db",
            "2 numbers",
        ),
        (
            format!("measurement = {{}}\n{scan}, level_steps_dbm = [-80.0, -70.0, -75.0, -60.0] }}"),
            "level_steps_dbm",
            "falling",
        ),
        (
            "measurement = {}\nbackground_scan = { short_interval = \"400 s\" }".into(),
            "long_interval",
            "400 s",
        ),
        ("transitions = [{ cell = \"bs7\", at = \"1 s\" }]".into(), "radio.transitions[0].cell", "bs1"),
        (
            "transitions = [{ cell = \"bs1\", at = \"1 s\", candidates = [\"bs1\"] }]".into(),
            "candidates[0]",
            "another cell",
        ),
        (
            "transitions = [{ cell = \"bs1\", at = \"1 s\", hosts = [\"hm\"] }]".into(),
            "transitions[0].hosts[0]",
            "mh",
        ),
        (
            "transitions = [{ cell = \"bs1\", at = \"1 s\", disassociates_after = \"0 s\" }]".into(),
            "disassociates_after",
            "1 s",
        ),
        ("most_away = \"0 s\"".into(), "radio.most_away", "1 us"),
    ];
    for (radio, field, help) in &cases {
        let found = report(radio);
        assert!(found.contains(field) && found.contains(help), "{radio}: {found}");
    }
    let commands =
        Lab { mobility: "kind = \"lte-x2\"".into(), radio: "measurement = {}".into(), ..Lab::default() };
    let found = Scenario::parse(&commands.text(), "lab.toml").unwrap_err().to_string();
    assert!(found.contains("radio.kind") && found.contains("another protocol"), "{found}");
}
