//! A record that leaves in pieces during the run is the one that stays in memory.

use roamlab_engine::Bytes;
use roamlab_world::{Column, Failure, Piece, Replication, RunOptions, Scenario, Stream, Table, run};
use std::cell::RefCell;
use std::collections::BTreeMap;

const HANDOVER: &str = include_str!("../../../../examples/handover.toml");
const LTE: &str = include_str!("../../../../examples/lte.toml");
const RECORD: &str =
    "[record]\ndeliveries = true\ntcp = true\nvariables = true\npackets = true\nqueues = [\"*\"]\n";

/// A connection over a link that is now and then slow or down, with a record of everything: timeouts of all kinds come, and
/// some wait for their verdict.
fn disturbed(seconds: u32) -> String {
    let spikes = |at: u32| {
        let outage = at + 15;
        format!(
            "{{ at = \"{at} s\", delay = \"2 s\" }}, {{ at = \"{at}200 ms\", delay = \"20 ms\" }}, \
             {{ at = \"{outage} s\", up = false }}, {{ at = \"{outage}900 ms\", up = true }}"
        )
    };
    let mut changes: Vec<String> = (20..seconds - 80).step_by(31).map(spikes).collect();
    changes.push(format!("{{ at = \"{} s\", delay = \"90 s\" }}", seconds - 60));
    let (changes, late) = (changes.join(", "), seconds - 30);
    format!(
        r#"[run]
duration = "{seconds} s"
profile = "ns2-2009"

[[links]]
between = ["a", "r"]
rate = "10 Mbit/s"
delay = "1 ms"

[[links]]
between = ["r", "b"]
rate = "2 Mbit/s"
delay = "20 ms"
queue = {{ kind = "droptail", limit = "20 pkt" }}
changes = [{changes}]

[[flows]]
name = "f"
path = ["a", "b"]
transport = {{ kind = "tcp", variant = "reno", window = "64 pkt", segment = "512 B" }}
app = {{ kind = "ftp", start = "0.1 s" }}

[[flows]]
name = "late"
path = ["a", "b"]
transport = {{ kind = "tcp" }}
app = {{ kind = "ftp", start = "{late} s" }}

{RECORD}"#
    )
}

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, "lab.toml").unwrap_or_else(|error| panic!("{error}"))
}

fn options(text: &str, options: &RunOptions<'_>) -> Result<Vec<Table>, Failure> {
    run(&scenario(text), Replication { seed: 1, ..Replication::default() }, options)
}

/// The pieces of each table, and what is left in the end.
fn pieces(
    text: &str,
    rows: usize,
    tables: Option<&[String]>,
) -> (BTreeMap<&'static str, Vec<Table>>, Vec<Table>) {
    let taken: RefCell<BTreeMap<&'static str, Vec<Table>>> = RefCell::default();
    let take = |piece: Piece<'_>| taken.borrow_mut().entry(piece.name).or_default().push(piece.into());
    let stream = Some(Stream { rows, take: &take });
    let rest = options(text, &RunOptions { stream, tables, ..RunOptions::default() }).unwrap();
    (taken.into_inner(), rest)
}

/// The column with that of a later piece behind it.
fn append(column: &mut Column, later: Column) {
    match (column, later) {
        (Column::U64(values), Column::U64(later)) => values.extend(later),
        (Column::I64(values), Column::I64(later)) => values.extend(later),
        (Column::U32(values), Column::U32(later)) => values.extend(later),
        (Column::F64(values), Column::F64(later)) => values.extend(later),
        (Column::Bool(values), Column::Bool(later)) => values.extend(later),
        (Column::Words(codes, _), Column::Words(later, list)) => {
            assert!(list.is_empty(), "a later piece lists words");
            codes.extend(later);
        }
        (column, later) => panic!("{column:?} and {later:?}"),
    }
}

fn together(pieces: Vec<Table>) -> Table {
    let mut pieces = pieces.into_iter();
    let mut table = pieces.next().unwrap();
    for later in pieces {
        for ((name, column), (later_name, later)) in table.columns.iter_mut().zip(later.columns) {
            assert_eq!(*name, later_name);
            append(column, later);
        }
    }
    table
}

fn length(table: &Table) -> usize {
    match &table.columns[0].1 {
        Column::U64(values) => values.len(),
        other => panic!("{other:?}"),
    }
}

fn verdicts(tables: &[Table]) -> Vec<&str> {
    let tcp = tables.iter().find(|table| table.name == "tcp").unwrap();
    let (_, column) = tcp.columns.iter().find(|(name, _)| *name == "timeout").unwrap();
    let Column::Words(codes, words) = column else { panic!("no words") };
    codes.iter().map(|&code| words[code as usize].as_str()).collect()
}

#[test]
fn pieces_make_the_table_that_stays_in_memory() {
    for (text, rows) in
        [(disturbed(600), 500), (format!("{HANDOVER}\n{RECORD}"), 1), (format!("{LTE}\n{RECORD}"), 300)]
    {
        let whole = options(&text, &RunOptions::default()).unwrap();
        let (taken, rest) = pieces(&text, rows, None);
        assert!(taken["tcp"].len() > 2);
        for pieces in taken.values() {
            assert!(pieces[..pieces.len() - 1].iter().all(|piece| length(piece) >= rows));
        }
        let mut found: BTreeMap<_, _> = rest.into_iter().map(|table| (table.name, table)).collect();
        for (name, pieces) in taken {
            assert!(found.insert(name, together(pieces)).is_none(), "{name} came in pieces and whole");
        }
        let expected: BTreeMap<_, _> = whole.into_iter().map(|table| (table.name, table)).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn a_timeout_leaves_with_its_verdict() {
    let text = disturbed(600);
    let whole = options(&text, &RunOptions::default()).unwrap();
    let all = verdicts(&whole);
    for verdict in ["genuine", "spurious", "undecided"] {
        assert!(all.contains(&verdict), "no timeout is {verdict}");
    }
    let (mut taken, _) = pieces(&text, 1, None);
    let tcp = taken.remove("tcp").unwrap();
    let before_the_last = tcp.len() - 1;
    assert!(before_the_last > 10);
    let early: usize = tcp[..before_the_last].iter().map(length).sum();
    assert!(all[..early].contains(&"spurious") && !all[..early].contains(&"undecided"));
    assert_eq!(verdicts(&[together(tcp)]), all);
}

#[test]
fn pieces_have_the_columns_that_are_wanted() {
    let names = ["packets.serial".to_owned(), "tcp.event".to_owned(), "flows".to_owned()];
    let (taken, rest) = pieces(&disturbed(120), 200, Some(&names));
    assert_eq!(taken.keys().collect::<Vec<_>>(), [&"packets", &"tcp"]);
    for (name, column) in [("packets", "serial"), ("tcp", "event")] {
        assert!(taken[name].iter().all(|piece| piece.columns.len() == 1 && piece.columns[0].0 == column));
    }
    assert_eq!(rest.iter().map(|table| table.name).collect::<Vec<_>>(), ["flows"]);
}

#[test]
fn a_run_whose_long_tables_leave_fits_where_it_would_not() {
    // A piece of each table, and no growth that does not come.
    let memory = Some(Bytes(8_000_000));
    let text = disturbed(1200);
    let names = ["packets.serial", "deliveries", "queue"].map(str::to_owned);
    let limited = RunOptions { memory, tables: Some(&names), ..RunOptions::default() };
    assert!(options(&text, &limited).is_err());
    let stream = Some(Stream { rows: 1000, take: &|_| () });
    options(&text, &RunOptions { stream, ..limited }).unwrap();
}
