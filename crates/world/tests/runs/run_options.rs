//! Run options change nothing in a run: memory limit, wanted tables, progress, capture, looking ahead; and estimates of a
//! run.

use roamlab_engine::Bytes;
use roamlab_scenario::estimate;
use roamlab_world::{Column, Failure, Replication, RunOptions, Scenario, Table, run};
use std::cell::Cell;
use std::collections::BTreeSet;

const HANDOVER: &str = include_str!("../../../../examples/handover.toml");

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, "lab.toml").unwrap_or_else(|error| panic!("{error}"))
}

fn tables(text: &str, options: &RunOptions<'_>) -> Result<Vec<Table>, Failure> {
    run(&scenario(text), Replication { seed: 1, ..Replication::default() }, options)
}

#[test]
fn a_run_ends_with_an_error_before_its_record_takes_more_than_it_may() {
    let text = HANDOVER.replace("duration = \"40 s\"", "duration = \"10000 h\"");
    assert_ne!(text, HANDOVER);
    let limit = Bytes(20_000_000);
    let options = RunOptions { memory: Some(limit), ..RunOptions::default() };
    let Err(Failure::Memory(found)) = tables(&text, &options) else { panic!("it ends otherwise") };
    assert!(found.largest.rows > 10_000 && found.largest.bytes < limit.0, "{found}");
    let report = found.to_string();
    assert!(report.contains("20 MB") && report.contains("rows of the table `tcp`"), "{report}");
    assert!(report.contains("help: write `record.tcp = false`"), "{report}");
}

#[test]
fn tables_that_are_not_wanted_are_not_recorded_and_change_no_other() {
    let all = tables(HANDOVER, &RunOptions::default()).unwrap();
    for wanted in ["flows", "drops", "tcp", "deliveries"] {
        let names = [wanted.to_owned()];
        let options = RunOptions { tables: Some(&names), ..RunOptions::default() };
        let some = tables(HANDOVER, &options).unwrap();
        assert_eq!(some.len(), 1);
        assert_eq!(Some(&some[0]), all.iter().find(|table| table.name == wanted));
    }
    // Without the large tables a run of 40 s fits where it otherwise would not.
    let names = ["flows".to_owned()];
    let memory = Some(Bytes(6_000_000));
    assert!(tables(HANDOVER, &RunOptions { memory, ..RunOptions::default() }).is_err());
    assert!(tables(HANDOVER, &RunOptions { memory, tables: Some(&names), ..RunOptions::default() }).is_ok());
}

#[test]
fn signalling_that_is_not_wanted_takes_no_rows() {
    let text = HANDOVER.replace("duration = \"40 s\"", "duration = \"300 s\"");
    let names = ["flows".to_owned(), "signalling".to_owned()];
    let with =
        |tables| RunOptions { memory: Some(Bytes(3_200_000)), tables: Some(tables), ..RunOptions::default() };
    assert!(tables(&text, &with(&names)).is_err());
    tables(&text, &with(&names[..1])).unwrap();
}

#[test]
fn progress_goes_on_and_ends_a_run_that_is_not_wanted_any_more() {
    let seen = Cell::new((0, 0));
    let keep_going = |progress: roamlab_world::Progress| {
        let (looks, now) = seen.get();
        assert!(progress.now.as_nanos() > now && progress.events >= 1 << 14);
        seen.set((looks + 1, progress.now.as_nanos()));
        looks < 2
    };
    tables(HANDOVER, &RunOptions { keep_going: &keep_going, ..RunOptions::default() }).unwrap();
    assert_eq!(seen.get().0, 3);
}

#[test]
fn estimates_are_upper_bounds_of_the_right_order() {
    for text in [HANDOVER, include_str!("../../../../examples/lte.toml")] {
        let events = Cell::new(0);
        let keep_going = |progress: roamlab_world::Progress| {
            events.set(progress.events);
            true
        };
        tables(text, &RunOptions { keep_going: &keep_going, ..RunOptions::default() }).unwrap();
        let guess = estimate(&scenario(text));
        assert!((events.get()..events.get() * 10).contains(&guess.events), "{guess:?} {}", events.get());
        let longer = scenario(&text.replacen("duration = \"", "duration = \"1", 1));
        assert!(estimate(&longer).memory > 2 * guess.memory, "{guess:?}");
    }
}

#[test]
fn looking_ahead_changes_no_table() {
    let moves = HANDOVER.replace("duration = \"40 s\"", "duration = \"12 s\"");
    let many = "[run]\nduration = \"200 ms\"\n\
        [[links]]\nbetween = [\"s-0-0\", \"d-0-0\"]\nrate = \"50 Mbit/s\"\ndelay = \"10 ms\"\n\
        [[topology]]\nkind = \"tree\"\nname = \"s\"\ndepth = 1\nfan_out = 40\n\
        link = { rate = \"10 Mbit/s\", delay = \"1 ms\" }\n\
        [[topology]]\nkind = \"tree\"\nname = \"d\"\ndepth = 1\nfan_out = 40\n\
        link = { rate = \"10 Mbit/s\", delay = \"1 ms\" }\n\
        [[flows]]\nname = \"f\"\ncount = 40\npath = [\"s-1-*\", \"d-1-*\"]\ntransport = { kind = \"KIND\" }\n\
        app = { kind = \"ftp\", start_within = \"20 ms\" }\n";
    let [tcp, quic] = ["tcp", "quic"].map(|kind| many.replace("KIND", kind));
    for text in [moves, tcp, quic] {
        let of = |look_ahead| {
            let options = RunOptions { look_ahead: Some(look_ahead), ..RunOptions::default() };
            tables(&text, &options).unwrap()
        };
        assert!(of(true) == of(false), "{text}");
    }
}

#[test]
fn a_capture_changes_no_other_table_and_has_the_bytes_of_each_packet() {
    let text = HANDOVER.replace("duration = \"40 s\"", "duration = \"12 s\"");
    let places = ["bs1/air", "fa1", "fa2->bs2"].map(str::to_owned);
    let plain = tables(&text, &RunOptions::default()).unwrap();
    let captured = tables(&text, &RunOptions { capture: Some(&places), ..RunOptions::default() }).unwrap();
    let (frames, bytes) = match &captured[plain.len()..] {
        [frames, bytes] => (frames, bytes),
        other => panic!("{} tables more", other.len()),
    };
    // Ends of transmissions that no component waits for are events where they are shown.
    let of =
        |tables: &[Table]| tables.iter().filter(|table| table.name != "census").cloned().collect::<Vec<_>>();
    assert!(of(&plain) == of(&captured[..plain.len()]), "the record of the run is as without");
    let column = |name: &str| &frames.columns.iter().find(|(column, _)| *column == name).unwrap().1;
    let (Column::U64(ends), Column::Words(codes, names), Column::U8(bytes)) =
        (column("end"), column("place"), &bytes.columns[0].1)
    else {
        panic!("columns of other kinds")
    };
    assert!(ends.len() > 1000 && ends.last() == Some(&(bytes.len() as u64)));
    let starts = std::iter::once(&0).chain(ends);
    assert!(starts.zip(ends).all(|(&start, &end)| bytes[start as usize] == 0x45 && end - start >= 28));
    let seen: BTreeSet<&str> = codes.iter().map(|&code| names[code as usize].as_str()).collect();
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), ["bs1/air", "fa2->bs2"]);
}
