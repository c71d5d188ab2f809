//! The rows of roaming in the record, their repeatability, and what roaming requires of a scenario.

use super::lab::{DOWN, Dice, LEAVES, Lab, MS, Trouble, UP, walks};
use crate::lab::rows;
use roamlab_world::{Scenario, Table};

/// A transfer to the host and one from it, over TCP.
const TRANSFERS: &str = r#"
[[flows]]
name = "down"
path = ["ch", "mh"]
transport = { kind = "tcp", variant = "sack", window = "20 pkt", min_rto = "200 ms" }
app = { kind = "ftp", start = "1 s" }
[[flows]]
name = "up"
path = ["mh", "ch"]
transport = { kind = "tcp", variant = "newreno", window = "10 pkt", min_rto = "200 ms" }
app = { kind = "ftp", start = "1.2 s" }
"#;

const PROTOCOLS: [&str; 6] = [
    "kind = \"mobile-ip\"\nadvertisement_interval = \"200 ms\"\nbuffer = { at = \"base-station\" }",
    "kind = \"mandm\"",
    "kind = \"mandm\"\ntrigger = { by = \"path\" }",
    "kind = \"cellular-ip\"",
    "kind = \"hawaii\"\nscheme = \"msf\"",
    "kind = \"fmipv6\"\ntrigger = { by = \"source\" }",
];

#[test]
fn transfers_go_on_behind_a_handover() {
    for mobility in PROTOCOLS {
        let lab =
            Lab { mobility: mobility.into(), flows: TRANSFERS.into(), duration_ms: 12_000, ..Lab::default() };
        let record = lab.run();
        let up = record.phase("link-up", LEAVES).expect("it is up again");
        for flow in ["down", "up"] {
            // Both directions share some 5 Mbit/s on the air; windows of 20 and 10 segments in some 80 ms.
            let late = record.delivered(flow).filter(|delivery| delivery.time > up + 2_000 * MS).count();
            assert!(late > 300, "{mobility}: {flow} {late}");
        }
    }
}

#[test]
fn every_chain_of_causes_reaches_a_root_and_a_run_is_the_same_again() {
    walks(30, |number| {
        let mut dice = Dice::of(number, "facts");
        let mut lab = Lab {
            mobility: (*dice.one_of(&PROTOCOLS)).into(),
            flows: if dice.below(2) == 0 { TRANSFERS.into() } else { format!("{DOWN}{UP}") },
            medium: format!(", frame_loss = {}", dice.one_of(&["0.0", "0.05"])),
            radio: format!("ap_failed_frames = {}\nkeep_alive = \"1 s\"", dice.one_of(&[2, 50])),
            visits: vec![("bs1", 0, None), ("bs2", 2_000, Some(3_500)), ("bs3", 3_800, None)],
            duration_ms: 6_000,
            draw: number,
            ..Lab::default()
        };
        for message in ["authentication-request", "reassociation-response", "probe-request"] {
            if dice.below(2) == 0 {
                lab.troubles.push(Trouble::lost(message, 1 + dice.below(3) as u32));
            }
        }
        let tables = lab.tables();
        crate::lab::causes::check(&tables).map_err(|problem| format!("{problem}\n{}", lab.text()))?;
        assert!(tables == lab.tables(), "walk {number} is another when it is repeated");
        Ok(0)
    });
}

fn phase_at(tables: &[Table], wanted: &str) -> u64 {
    let phases = rows(tables, "handovers", ["time_ns", "phase"]);
    let found = phases.iter().find(|[_, phase]| phase == wanted);
    found.unwrap_or_else(|| panic!("no {wanted}"))[0].parse().unwrap()
}

#[test]
fn the_chain_of_a_loss_leads_to_the_end_of_coverage() {
    let tables = Lab::default().tables();
    let causes = crate::lab::causes::Causes::of(&tables);
    let drops = rows(&tables, "drops", ["time_ns", "reason", "place", "cause"]);
    let late = drops.iter().filter(|[time, ..]| time.parse::<u64>().unwrap() > LEAVES);
    let detached: Vec<_> =
        late.filter(|[_, reason, place, _]| reason == "detached" && place == "bs1/air").collect();
    assert!(detached.len() > 10);
    let gone = phase_at(&tables, "gone-by-retries");
    for [time, .., cause] in detached {
        let chain = causes.chain(cause.parse().unwrap()).unwrap();
        let words: Vec<String> = chain.iter().map(|row| format!("{} {}", row.kind, row.name)).collect();
        let all = ["loss detached", "phase gone-by-retries", "phase coverage-left", "motion "];
        // Packets that wait or come when the base station has given the host up are not sent any more.
        if time.parse::<u64>().unwrap() < gone || words.len() == 3 {
            assert_eq!(words, [all[0], all[2], all[3]]);
        } else {
            assert_eq!(words, all);
        }
    }
    let phases = rows(&tables, "handovers", ["phase", "cause"]);
    let [_, up] = phases.iter().rfind(|[phase, _]| phase == "link-up").unwrap();
    let chain = causes.chain(up.parse().unwrap()).unwrap();
    let words: Vec<&str> = chain.iter().map(|row| &*row.name).filter(|name| !name.is_empty()).collect();
    let expected = [
        "link-up",
        "reassociation-response",
        "reassociation-request",
        "authenticated",
        "authentication-response",
        "authentication-request",
        "scanned",
        "link-down",
        "beacon-loss",
        "coverage-left",
    ];
    assert_eq!(words, expected);
}

#[test]
fn one_more_host_in_the_cell_changes_no_random_number_of_the_first() {
    // It stays out of all coverage: nothing of it is on the air.
    let other =
        "[[hosts]]\nname = \"other\"\nhome = \"gw\"\nvisits = [{ cell = \"bs1\", at = \"1000 s\" }]\n";
    let one = Lab::default();
    let two = Lab { flows: format!("{DOWN}{other}"), ..Lab::default() };
    assert_eq!(one.run().phases, two.run().phases);
}

#[test]
fn a_base_station_that_gave_a_host_up_says_so_when_the_host_sends() {
    // The host is out of coverage for less than it takes to notice, and its base station gives it up.
    let visits = vec![("bs1", 0, Some(3_000)), ("bs1", 3_200, None)];
    let radio = "ap_failed_frames = 2\nfailed_attempts = 0\nkeep_alive = \"1 s\"".to_owned();
    let sends = Lab { visits, radio, flows: format!("{DOWN}{UP}"), ..Lab::default() };
    let record = sends.run();
    assert!(record.phase("gone-by-retries", LEAVES).unwrap() < LEAVES + 200 * MS);
    let notified = record.phase("deauthenticated", LEAVES).expect("it is notified");
    assert!((LEAVES + 200 * MS..LEAVES + 230 * MS).contains(&notified), "{notified}");
    // Packets that had waited at the host while no base station answered came before the notice.
    let refused = record.lost("up").filter(|loss| &*loss.place == "bs1").count();
    assert!((1..=10).contains(&refused), "{refused}");
    record.reached_again("down", 500 * MS).unwrap();
    // One without own data is notified when it reports its presence.
    let silent = Lab { flows: DOWN.into(), ..sends };
    let record = silent.run();
    let notified = record.phase("deauthenticated", LEAVES).expect("it is notified");
    assert!(notified < LEAVES + 1_250 * MS, "{notified}");
    record.reached_again("down", 500 * MS).unwrap();
}

#[test]
fn a_base_station_forgets_a_host_that_it_has_no_sign_of() {
    let radio = "ap_inactivity = \"700 ms\"\nap_failed_frames = 0".to_owned();
    let record = Lab { radio, flows: String::new(), ..Lab::default() }.run();
    // The last sign is the acknowledgement of what the protocol sent behind the association.
    let first = record.phase("link-up", 0).unwrap();
    let gone = record.phase("gone-by-silence", 0).unwrap();
    assert!((700 * MS..800 * MS).contains(&(gone - first)), "{first} {gone}");
    assert!(record.phase("deauthenticated", gone).unwrap() < gone + 5 * MS, "it hears so");
}

#[test]
fn hosts_that_are_switched_on_together_do_not_collide_on_each_channel() {
    let mut text = DOWN.to_owned();
    for number in 0..4 {
        text += &format!(
            "[[hosts]]\nname = \"h{number}\"\nhome = \"gw\"\nvisits = [{{ cell = \"bs1\", at = \"0 s\" }}]\n"
        );
    }
    let late = |draw: u64| {
        let record = Lab { draw, flows: text.clone(), ..Lab::default() }.run();
        let up = record.phases.iter().filter(|noted| &*noted.phase == "link-up" && noted.time < 200 * MS);
        5 - up.count()
    };
    // All five within three scans; two of them draw the same slot of 32 in one of three scans.
    let late: usize = (1..=20).map(late).sum();
    assert!(late <= 5, "{late} of 100");
}

/// The report on a scenario with one thing replaced.
fn refused(lab: &Lab, old: &str, new: &str) -> String {
    let text = lab.text();
    assert!(text.contains(old), "{old}");
    match Scenario::parse(&text.replacen(old, new, 1), "lab.toml") {
        Ok(_) => panic!("{new} is accepted"),
        Err(report) => report.to_string(),
    }
}

#[test]
fn what_cannot_roam_is_refused_at_its_place() {
    let mut reports = String::new();
    let radio = "kind = \"802.11\"";
    let cases = [
        ("medium = { kind = \"dcf\" }\n", ""),
        ("medium = { kind = \"dcf\" }", "medium = { kind = \"shared\" }"),
        ("medium = { kind = \"dcf\" }", "medium = { kind = \"dcf\", beacon_interval = \"0 s\" }"),
        ("medium = { kind = \"dcf\" }", "medium = { kind = \"dcf\", departed = \"discard\" }"),
        ("router = \"ar2\"", "router = \"ar2\"\nchannel = 12"),
        (radio, "kind = \"soft\"\n[cells.bs1]\nchannel = 3"),
        ("kind = \"mandm\"", "kind = \"lte-x2\""),
        (radio, "kind = \"802.11\"\ngap = \"3 ms\""),
        (radio, "kind = \"802.11\"\nmissed_beacons = 0\nfailed_attempts = 0"),
        (radio, "kind = \"802.11\"\nchannels = 0"),
        (radio, "kind = \"802.11\"\nmin_channel_time = \"0 s\""),
        (radio, "kind = \"802.11\"\nmax_channel_time = \"1 ms\""),
        (radio, "kind = \"802.11\"\ntries = 0"),
        (radio, "kind = \"802.11\"\nsizes = { probe_request = \"20 B\" }"),
        (radio, "kind = \"802.11\"\nscan = \"lazy\""),
    ];
    for (old, new) in cases {
        let report = match new.split_once("\n[cells.bs1]\n") {
            // A table that is elsewhere.
            Some((kind, line)) => {
                let text = Lab::default().text().replacen(old, kind, 1);
                let text = text.replacen("router = \"ar1\"", &format!("router = \"ar1\"\n{line}"), 1);
                Scenario::parse(&text, "lab.toml").map(|_| ()).unwrap_err().to_string()
            }
            None => refused(&Lab::default(), old, new),
        };
        reports += &format!("--- {}\n{report}\n\n", new.replace('\n', "; "));
    }
    insta::assert_snapshot!(reports);
}
