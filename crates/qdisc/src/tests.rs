//! Queues as a scenario writes them, and the disciplines that the table makes.

use super::*;
use crate::aqm::red::Rules;
use crate::aqm::{blue, mblue, mred, red};
use crate::conformance::{Bench, PLAIN, packet};
use roamlab_engine::Duration;

#[derive(Debug, Deserialize)]
struct File {
    queue: QueueSpec,
}

fn read(text: &str) -> Result<QueueSpec, toml::de::Error> {
    toml::from_str::<File>(text).map(|file| file.queue)
}

/// The names of all disciplines, each between two of `quote`.
fn names(quote: char) -> String {
    NAMES.iter().map(|name| format!("{quote}{name}{quote}")).collect::<Vec<_>>().join(", ")
}

/// The message for a text that must be refused, with the text that the error points at.
fn refused(text: &str) -> (String, &str) {
    let error = read(text).expect_err("it should be refused");
    let place = error.span().expect("an error has a place");
    (error.message().to_owned(), &text[place])
}

#[test]
fn a_queue_is_read_as_the_design_writes_it() {
    let text = r#"queue = { kind = "mblue", limit = "120 pkt", threshold = "80 pkt", d1 = 1e-4, d2 = 1e-5, freeze_time = "1 ms" }"#;
    assert_eq!(read(text), Ok(QueueSpec::Mblue(mblue::Params::default())));
    let text = r#"queue = { kind = "blue", d1 = 0.02, freeze_time = "10 ms", idle_mode = "continuous" }"#;
    let expected = blue::Params {
        d1: 0.02,
        freeze_time: Duration::from_millis(10),
        idle_mode: IdleMode::Continuous,
        ..blue::Params::default()
    };
    assert_eq!(read(text), Ok(QueueSpec::Blue(expected)));
}

#[test]
fn an_error_points_at_its_field() {
    let (message, place) = refused(r#"queue = { kind = "mblue", limit = "120 pkt", treshold = "80 pkt" }"#);
    assert!(message.starts_with("unknown field `treshold`, expected one of `limit`, `threshold`, `d1`,"));
    assert_eq!(place, "treshold");

    let (message, place) = refused("[queue]\nkind = \"red\"\nlimit = \"120\"");
    assert_eq!(message, "\"120\" has no unit; write for example \"120 pkt\"");
    assert_eq!(place, "\"120\"");

    let (message, place) = refused("[queue]\nkind = \"red\"\nlimit = 120");
    assert!(message.contains("expected a number of packets with its unit, for example \"120 pkt\""));
    assert_eq!(place, "120");

    let (message, place) = refused(r#"queue = { kind = "blue", idle_mode = "sometimes" }"#);
    assert!(message.contains("expected one of `event`, `arrival`, `event-and-arrival`, `continuous`"));
    assert_eq!(place, "\"sometimes\"");
}

#[test]
fn a_wrong_or_missing_kind_lists_the_right_ones() {
    let (message, place) = refused(r#"queue = { kind = "mblu", limit = "120 pkt" }"#);
    assert_eq!(message, format!("unknown variant `mblu`, expected one of {}", names('`')));
    assert_eq!(place, "\"mblu\"");
    let (message, _) = refused(r#"queue = { limit = "120 pkt" }"#);
    assert_eq!(message, format!("a queue needs `kind`; write one of {}", names('"')));
    let (message, _) = refused(r#"queue = "red""#);
    assert!(message.contains("expected a queue, for example { kind = \"droptail\""), "{message}");
}

#[test]
fn every_default_is_echoed_and_reads_back() {
    for name in NAMES {
        let spec: QueueSpec = serde_json::from_value(serde_json::json!({ "kind": name })).expect("defaults");
        assert_eq!(spec.validate(), Ok(()), "{name}");
        assert_eq!(spec.name(), *name);
        let echo = serde_json::to_string(&spec).expect("it can be written");
        let again: QueueSpec = serde_json::from_str(&echo).expect("an echo can be read");
        assert_eq!(again, spec);
    }
    let echo = toml::to_string(&QueueSpec::Blue(blue::Params::default())).expect("it can be written");
    insta::assert_snapshot!(echo);
}

#[test]
fn rules_fill_in_what_is_not_written() {
    let red = |text: &str| match read(text) {
        Ok(QueueSpec::Red(params)) => params,
        other => panic!("{other:?}"),
    };
    assert_eq!(red(r#"queue = { kind = "red" }"#), red::Params::of(Rules::Floyd1993));
    assert_eq!(red(r#"queue = { kind = "red", rules = "ns2" }"#), red::Params::of(Rules::Ns2));
    let text = r#"queue = { kind = "mred", rules = "ns2", count_priority = true, min_threshold = "80 pkt" }"#;
    let mred =
        mred::Params { count_priority: true, min_threshold: Packets(80), ..mred::Params::of(Rules::Ns2) };
    assert_eq!(read(text), Ok(QueueSpec::Mred(mred)));
    let mixed = red(r#"queue = { kind = "red", gentle = false, rules = "ns2", limit = "90 pkt" }"#);
    assert_eq!(mixed, red::Params { gentle: false, limit: Packets(90), ..red::Params::of(Rules::Ns2) });
}

#[test]
fn a_byte_limit_replaces_the_packet_limit() {
    let limits = |text: &str| match read(text) {
        Ok(QueueSpec::DropTail(params)) => (params.limit, params.limit_bytes),
        other => panic!("{other:?}"),
    };
    let both = r#"queue = { kind = "droptail", limit = "7 pkt", limit_bytes = "64 kB" }"#;
    assert_eq!(limits(r#"queue = { kind = "droptail" }"#), (Some(Packets(120)), None));
    assert_eq!(
        limits(r#"queue = { kind = "droptail", limit_bytes = "64 kB" }"#),
        (None, Some(Bytes(64_000)))
    );
    assert_eq!(limits(both), (Some(Packets(7)), Some(Bytes(64_000))));
}

#[test]
fn values_out_of_bounds_are_refused_with_advice() {
    let field = |text: &str| read(text).expect("it can be read").validate().expect_err("out of bounds");
    for (text, expected) in [
        (r#"queue = { kind = "droptail", limit = "0 pkt" }"#, ("limit", "at least \"1 pkt\"")),
        (
            r#"queue = { kind = "droptail", limit = "1 pkt", count_in_service = true }"#,
            ("limit", "at least \"2 pkt\""),
        ),
        (r#"queue = { kind = "droptail", limit_bytes = "0 B" }"#, ("limit_bytes", "\"64 kB\"")),
        (r#"queue = { kind = "red", min_threshold = "80 pkt" }"#, ("max_threshold", "(80 pkt) is not above")),
        (r#"queue = { kind = "red", max_p = 1.5 }"#, ("max_p", "1.5 is not a probability")),
        (r#"queue = { kind = "red", max_p = 0 }"#, ("max_p", "a number above 0")),
        (r#"queue = { kind = "red", queue_weight = nan }"#, ("queue_weight", "from 0 to 1")),
        (r#"queue = { kind = "red", mark_p_max = -0.1 }"#, ("mark_p_max", "0 or more")),
        (r#"queue = { kind = "red", mean_packet = "0 B" }"#, ("mean_packet", "\"512 B\"")),
        (r#"queue = { kind = "red", limit = "0 pkt" }"#, ("limit", "at least \"1 pkt\"")),
        (r#"queue = { kind = "blue", d1 = 2 }"#, ("d1", "2 is not a probability")),
        (
            r#"queue = { kind = "blue", freeze_time = "0 s", idle_mode = "continuous" }"#,
            ("freeze_time", "\"1 ms\""),
        ),
        (r#"queue = { kind = "mblue", threshold = "121 pkt" }"#, ("threshold", "\"1 pkt\" to \"120 pkt\"")),
        (r#"queue = { kind = "mblue", mark = 0 }"#, ("mark", "1 to 63")),
        (r#"queue = { kind = "mblue", mark = 64 }"#, ("mark", "1 to 63")),
        (r#"queue = { kind = "mred", mark = 0 }"#, ("mark", "1 to 63")),
        (
            r#"queue = { kind = "mred", min_threshold = "200 pkt" }"#,
            ("max_threshold", "(200 pkt) is not above"),
        ),
    ] {
        let (name, message) = field(text);
        assert_eq!(name, expected.0, "{text}");
        assert!(message.contains(expected.1), "{text}: {message}");
    }
}

#[test]
fn the_schema_knows_every_field_and_no_other() {
    let schema = serde_json::to_value(schema_for!(QueueSpec)).expect("a schema is JSON");
    let rows = schema["oneOf"].as_array().expect("one row per discipline");
    assert_eq!(rows.len(), NAMES.len());
    for (row, name) in rows.iter().zip(NAMES) {
        assert_eq!(row["properties"]["kind"]["const"], *name);
        assert_eq!(row["additionalProperties"], false);
        assert_eq!(row["required"], serde_json::json!(["kind"]));
        let echo: QueueSpec = serde_json::from_value(serde_json::json!({ "kind": name })).expect("defaults");
        let echo = serde_json::to_value(echo).expect("it can be written");
        for (field, value) in echo.as_object().expect("a table").iter().filter(|(field, _)| *field != "kind")
        {
            assert_eq!(row["properties"][field]["default"], *value, "{name}.{field}");
            assert!(row["properties"][field]["description"].is_string(), "{name}.{field} has help");
        }
    }
}

#[test]
fn every_discipline_has_a_one_line_summary() {
    for name in NAMES {
        let line = summary(name).unwrap_or_default();
        assert!(line.len() > 10 && line.ends_with('.'), "{name}: the first line of `Params`' docs: {line:?}");
    }
    assert_eq!(summary("no such thing"), None);
}

#[test]
fn the_enum_hands_every_call_to_its_discipline() {
    let params = blue::Params { d1: 0.5, ..blue::Params::default() };
    let mut bench = Bench::<Qdisc>::new(&QueueSpec::Blue(params));
    assert_eq!(bench.offer_many(120, PLAIN), 0);
    bench.wait(Duration::from_millis(2));
    assert_eq!(bench.offer_many(1, PLAIN), 1);
    assert_eq!(bench.queue.gauges().probability, 0.5, "one overflow raised P_m by d1");
    assert_eq!((bench.queue.packets(), bench.queue.bytes()), (120, Bytes(120 * 512)));
    assert_eq!(bench.serve(), Some(1));
    assert_eq!(bench.take_matching(roamlab_packet::FlowId(0)).len(), 119);
    assert_eq!(bench.serve(), None);
}

#[test]
fn ce_is_set_on_the_outermost_header_if_its_sender_understands_it() {
    let mut pool = PacketPool::default();
    let mut dropped = Vec::new();
    let [plain_packet, tunnelled] = [(); 2].map(|()| pool.create(packet(0, 512, PLAIN.with_ecn(Ecn::Ect0))));
    let outer = roamlab_packet::IpHeader { tos: PLAIN, ..pool[&tunnelled].header };
    assert!(pool.encapsulate(&tunnelled, outer));
    let rate = Rate::from_bps(1);
    let mut cx = QdiscCx { now: Time::ZERO, pool: &mut pool, rate, dropped: &mut dropped };
    assert!(cx.mark_ce(&plain_packet));
    assert!(!cx.mark_ce(&tunnelled), "the outer header is not ECN-capable");
    assert_eq!(pool[&plain_packet].inner_tos().ecn(), Ecn::Ce);
    assert_eq!(pool[&tunnelled].inner_tos().ecn(), Ecn::Ect0);
}
