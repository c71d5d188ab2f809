//! qlogs of each implementation's dialect, all of the same story, and broken ones.

use super::hostile::{Draws, mutations};
use crate::{Answer, Kind, Sure, explain_qlog};
use serde_json::{Value, json};
use std::fmt::Write as _;

fn metrics(value: Value) -> (&'static str, Value) {
    ("recovery:metrics_updated", value)
}

/// How a stack writes its log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stack {
    Quiche,
    Quinn,
    Neqo,
    Ngtcp2,
    QuicGo,
    Aioquic,
    Picoquic,
    Mvfst,
}

const STACKS: [Stack; 8] = [
    Stack::Quiche,
    Stack::Quinn,
    Stack::Neqo,
    Stack::Ngtcp2,
    Stack::QuicGo,
    Stack::Aioquic,
    Stack::Picoquic,
    Stack::Mvfst,
];

/// The state of the path between 2 and 3 s.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Story {
    Quiet,
    Lost,
    Held,
    Idle,
}

/// An event of a story; times in ms.
enum Happening {
    Sent(u64),
    /// An acknowledgement of numbers from and to, with the round trip of the last one in ms.
    Acked(u64, u64, f64),
    Lost(u64),
    Timeout(u64),
    /// A packet that acknowledges nothing new.
    Repeated,
}

/// Twenty packets in flight, a round trip of 50 ms.
fn happenings(story: Story) -> Vec<(f64, Happening)> {
    let mut found = Vec::new();
    let mut next = 0;
    for step in 0..100_u64 {
        let time = step as f64 * 50.0;
        if story == Story::Idle && (2000.0..3000.0).contains(&time) {
            continue;
        }
        let is_gap = story != Story::Quiet && story != Story::Idle && (2000.0..3000.0).contains(&time);
        if is_gap {
            if step == 40 {
                (next..next + 20).for_each(|number| found.push((time, Happening::Sent(number))));
                next += 20;
            }
            if step == 50 {
                found.push((time, Happening::Repeated));
            }
            if step == 44 || step == 52 {
                found.push((time, Happening::Timeout(step / 8 - 4)));
                found.push((time, Happening::Sent(next)));
                next += 1;
            }
            continue;
        }
        if step == 60 && matches!(story, Story::Lost | Story::Held) {
            let first = next - 22;
            if story == Story::Held {
                found.push((time, Happening::Acked(first, next - 1, 400.0)));
            } else {
                found.push((time, Happening::Sent(next)));
                next += 1;
                found.push((time + 49.0, Happening::Acked(next - 1, next - 1, 49.0)));
                (first..next - 1).for_each(|number| found.push((time + 49.0, Happening::Lost(number))));
                continue;
            }
        }
        (next..next + 20).for_each(|number| found.push((time, Happening::Sent(number))));
        found.push((time + 49.0, Happening::Acked(next, next + 19, 49.0)));
        next += 20;
    }
    found
}

impl Stack {
    /// The header of a file, up to its events.
    fn head(self) -> String {
        let common = json!({"time_format": "relative", "reference_time": 0.0});
        let place = json!({"type": "server"});
        let header = match self {
            Stack::Quiche => json!({"file_schema": "urn:ietf:params:qlog:file:sequential", "serialization_format":
                "application/qlog+json-seq", "trace": {"vantage_point": place, "common_fields":
                {"time_format": "relative_to_epoch", "reference_time": {"clock_type": "system",
                "epoch": "2026-05-01T12:00:00.000Z"}}}}),
            Stack::Quinn => json!({"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "title": "x", "trace":
                {"vantage_point": {"type": "unknown"}, "configuration": {"time_offset": 0.0}}}),
            Stack::QuicGo => json!({"qlog_version": "0.3", "file_schema": "urn:ietf:params:qlog:file:sequential",
                "trace": {"vantage_point": place, "common_fields": {"time_format": "relative_to_epoch",
                "reference_time": {"clock_type": "monotonic", "epoch": "unknown",
                "wall_clock_time": "2026-05-01T12:00:00.5Z"}}}}),
            Stack::Neqo | Stack::Ngtcp2 => json!({"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace":
                {"vantage_point": place, "common_fields": common}}),
            Stack::Aioquic => return r#"{"qlog_format": "JSON", "qlog_version": "0.3", "traces": [{"common_fields": {"ODCID": "a"}, "vantage_point": {"type": "server"}, "events": ["#.into(),
            Stack::Mvfst => return r#"{"file_schema": "urn:ietf:params:qlog:file:contained", "summary": {"trace_count": 1}, "traces": [{"events": ["#.into(),
            Stack::Picoquic => return r#"{"qlog_version": "draft-00", "title": "picoquic", "traces": [{"vantage_point": {"name": "backend-67", "type": "server"}, "event_fields": ["relative_time", "path_id", "category", "event", "data"], "configuration": {"time_units": "us"}, "common_fields": {"protocol_type": "QUIC_HTTP3", "reference_time": "11001"}, "events": ["#.into(),
        };
        format!("\u{1E}{header}\n")
    }

    fn tail(self) -> &'static str {
        match self {
            Stack::Mvfst => r#"], "vantage_point": {"type": "server"}}]}"#,
            Stack::Aioquic | Stack::Picoquic => "]}]}",
            _ => "",
        }
    }

    fn sent(self, number: u64) -> (&'static str, Value) {
        let stream =
            json!([{"frame_type": "stream", "stream_id": 0, "offset": number * 1200, "length": 1200}]);
        match self {
            Stack::Quinn => (
                "transport:packet_sent",
                json!({"header": {"packet_type": "1RTT", "packet_number": number, "length": 1200}}),
            ),
            Stack::Picoquic => (
                "transport:packet_sent",
                json!({"packet_type": "1RTT", "header": {"packet_size": 1200, "packet_number": number}, "frames": stream}),
            ),
            Stack::Mvfst => (
                "quic:packet_sent",
                json!({"packet_type": "1RTT", "header": {"packet_size": 1200, "packet_number": number}, "frames": stream}),
            ),
            _ => (
                "quic:packet_sent",
                json!({"header": {"packet_type": "1RTT", "packet_number": number}, "raw": {"length": 1200}, "frames": stream}),
            ),
        }
    }

    fn acked(self, from: u64, to: u64, rtt: f64) -> Vec<(&'static str, Value)> {
        let received = |ranges: Value| {
            (
                "transport:packet_received",
                json!({"header": {"packet_type": "1RTT", "packet_number": to},
                    "raw": {"length": 40}, "frames": [{"frame_type": "ack", "acked_ranges": ranges}]}),
            )
        };
        match self {
            Stack::Quinn => vec![
                (
                    "transport:packet_received",
                    json!({"header": {"packet_type": "1RTT", "packet_number": to}}),
                ),
                metrics(json!({"latest_rtt": rtt / 1e3, "bytes_in_flight": 0})),
            ],
            Stack::Neqo => vec![
                (
                    "transport:packet_received",
                    json!({"header": {"packet_type": "1RTT", "packet_number": to}, "raw": {"length": 40}}),
                ),
                (
                    "recovery:packets_acked",
                    json!({"packet_number_space": "application_data", "packet_numbers": (from..=to).collect::<Vec<_>>()}),
                ),
                metrics(json!({"latest_rtt": rtt})),
            ],
            Stack::Picoquic => vec![
                received(json!([[from, to]])),
                metrics(json!({"cwnd": 24000, "latest_rtt": rtt * 1e3, "app_limited": 0})),
            ],
            Stack::Mvfst => vec![
                ("quic:packet_ack", json!({"packet_number_space": "AppData", "packet_num": to})),
                received(json!([[from, to]])),
                metrics(json!({"latest_rtt": rtt * 1e3})),
            ],
            Stack::QuicGo => vec![
                received(if from == to { json!([[to]]) } else { json!([[from, to]]) }),
                metrics(json!({"latest_rtt": rtt})),
            ],
            _ => vec![received(json!([[from, to]])), metrics(json!({"latest_rtt": rtt, "cwnd": 24000}))],
        }
    }

    /// The events of a happening: name and data.
    fn events(self, happening: &Happening) -> Vec<(&'static str, Value)> {
        match happening {
            Happening::Sent(number) => vec![self.sent(*number)],
            Happening::Acked(from, to, rtt) => self.acked(*from, *to, *rtt),
            Happening::Repeated => {
                let mut events = self.acked(0, 19, 49.0);
                events.retain(|(name, _)| name.ends_with("packet_received"));
                events
            }
            Happening::Lost(number) => vec![match self {
                Stack::Aioquic => ("recovery:packet_lost", json!({"type": "1RTT", "packet_number": number})),
                _ => (
                    "recovery:packet_lost",
                    json!({"header": {"packet_type": "1RTT", "packet_number": number}, "trigger": "time_threshold"}),
                ),
            }],
            Happening::Timeout(count) => vec![match self {
                Stack::Neqo | Stack::Aioquic => {
                    ("recovery:loss_timer_updated", json!({"event_type": "expired", "timer_type": "pto"}))
                }
                _ => metrics(json!({"pto_count": count})),
            }],
        }
    }

    fn log(self, story: Story) -> String {
        let mut text = self.head();
        let mut is_first = true;
        let mut lost = 0;
        for (time, happening) in happenings(story) {
            if let Happening::Lost(number) = happening
                && self == Stack::Mvfst
            {
                lost += 1;
                // A sum of all.
                if lost < 22 {
                    continue;
                }
                let data =
                    json!({"largest_lost_packet_num": number, "lost_bytes": 26400, "lost_packets": lost});
                write!(text, ", {}", json!({"time": time, "name": "quic:packet_lost", "data": data}))
                    .unwrap();
                continue;
            }
            for (name, data) in self.events(&happening) {
                let (category, event) = name.split_once(':').unwrap();
                let event = match self {
                    Stack::Picoquic => json!([time * 1e3, 0, category, event, data]),
                    Stack::Aioquic => json!({"time": 1.7e12 + time, "name": name, "data": data}),
                    Stack::Quinn => json!({"time": time, "name": name, "data": data, "group_id": "0101"}),
                    _ => json!({"time": time, "name": name, "data": data}),
                };
                match self {
                    Stack::Picoquic | Stack::Aioquic | Stack::Mvfst => {
                        write!(text, "{}{event}", if is_first { "" } else { ", " }).unwrap();
                    }
                    _ => writeln!(text, "\u{1E}{event}").unwrap(),
                }
                is_first = false;
            }
        }
        text + self.tail()
    }
}

fn explained(text: &str) -> Answer {
    explain_qlog(text.as_bytes()).unwrap()
}

#[test]
fn each_dialect_tells_the_same_story() {
    for stack in STACKS {
        for (story, kind) in [(Story::Lost, Kind::PathLost), (Story::Held, Kind::PathHeld)] {
            let answer = explained(&stack.log(story));
            let [flow] = answer.flows.as_slice() else { panic!("{stack:?}") };
            assert_eq!(flow.place, "qlog of the sender", "{stack:?}");
            let trips = flow.trips.unwrap();
            assert!((trips.base_s - 0.049).abs() < 1e-6, "{stack:?}: {trips:?}");
            let [stall] = flow.stalls.as_slice() else { panic!("{stack:?} {story:?}: {:?}", flow.stalls) };
            assert!((stall.start_s - 1.999).abs() < 0.06, "{stack:?}: {stall:?}");
            assert!((stall.length_s - 1.0).abs() < 0.06, "{stack:?}: {stall:?}");
            assert_eq!(stall.causes[0].kind, kind, "{stack:?}: {stall:?}");
            assert!(stall.causes[0].evidence.contains("20 outstanding packets"), "{stack:?}: {stall:?}");
            assert_eq!(flow.resends.probes, 2, "{stack:?}");
            assert_eq!(flow.resends.packets, if story == Story::Lost { 22 } else { 0 }, "{stack:?}");
        }
        for story in [Story::Quiet, Story::Idle] {
            let answer = explained(&stack.log(story));
            assert!(answer.flows[0].stalls.is_empty(), "{stack:?} {story:?}: {:?}", answer.flows[0].stalls);
        }
        let limits = explained(&stack.log(Story::Idle)).flows[0].limits.unwrap();
        assert!(limits.application > 0.18, "{stack:?}: {limits:?}");
    }
}

#[test]
fn the_begin_is_that_of_the_reference() {
    let at = |stack: Stack| explained(&stack.log(Story::Quiet)).start_ns;
    assert_eq!(at(Stack::Quiche), 1_777_636_800_000_000_000);
    assert_eq!(at(Stack::QuicGo), 1_777_636_800_500_000_000);
    assert_eq!(at(Stack::Aioquic), 1_700_000_000_000_000_000);
    assert_eq!(at(Stack::Picoquic), 11_001_000);
}

#[test]
fn a_packed_log_and_one_without_separators_are_read() {
    let text = Stack::Ngtcp2.log(Story::Lost);
    let plain = explained(&text);
    let packed =
        ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest);
    assert_eq!(explain_qlog(&packed[..]).unwrap(), plain);
    assert_eq!(explained(&text.replace('\u{1E}', "")), plain);
    assert_eq!(explained(&text.replace('\n', "\r\n")), plain);
}

#[test]
fn flow_control_and_a_new_path_are_named() {
    let mut text = Stack::Ngtcp2.log(Story::Quiet);
    let blocked = json!({"time": 5000.0, "name": "quic:packet_sent", "data": {"header": {"packet_type": "1RTT", "packet_number": 9000},
        "raw": {"length": 40}, "frames": [{"frame_type": "data_blocked", "limit": 5}]}});
    let after = json!({"time": 6000.0, "name": "quic:packet_sent", "data": {"header": {"packet_type": "1RTT", "packet_number": 9001},
        "raw": {"length": 1200}, "frames": [{"frame_type": "stream"}]}});
    writeln!(text, "\u{1E}{blocked}\n\u{1E}{after}").unwrap();
    let answer = explained(&text);
    let [stall] = answer.flows[0].stalls.as_slice() else { panic!("{:?}", answer.flows[0].stalls) };
    assert_eq!(stall.causes[0].kind, Kind::FlowControl);
    assert!((stall.length_s - 1.0).abs() < 0.01);
    let moved = json!({"time": 1980.0, "name": "quic:path_assigned", "data": {}}).to_string();
    let lost = Stack::Ngtcp2.log(Story::Lost);
    let at = lost
        .find("\u{1E}{\"data\":{\"frames\":[{\"frame_type\":\"stream\",\"length\":1200,\"offset\":960000")
        .unwrap();
    let text = format!("{}\u{1E}{moved}\n{}", &lost[..at], &lost[at..]);
    let kinds: Vec<Kind> =
        explained(&text).flows[0].stalls[0].causes.iter().map(|cause| cause.kind).collect();
    assert_eq!(kinds, [Kind::PathLost, Kind::PathChanged]);
}

#[test]
fn needless_losses_are_counted() {
    let mut text = Stack::Ngtcp2.log(Story::Quiet);
    let sent = json!({"time": 5000.0, "name": "quic:packet_sent", "data": {"header": {"packet_type": "1RTT", "packet_number": 9000},
        "raw": {"length": 1200}, "frames": [{"frame_type": "stream"}]}});
    let lost = json!({"time": 5100.0, "name": "recovery:packet_lost", "data": {"header": {"packet_type": "1RTT", "packet_number": 9000}}});
    let acked = json!({"time": 5150.0, "name": "quic:packet_received", "data": {"header": {"packet_type": "1RTT", "packet_number": 7},
        "frames": [{"frame_type": "ack", "acked_ranges": [[0, 9000]]}]}});
    writeln!(text, "\u{1E}{sent}\n\u{1E}{lost}\n\u{1E}{acked}").unwrap();
    let resends = explained(&text).flows[0].resends;
    assert_eq!((resends.packets, resends.needless), (1, 1));
}

/// The log of a receiver: a packet each 10 ms for 4 s, with these pauses behind packets of these numbers.
fn received(pauses: &[u64], missing: u64) -> String {
    let mut text = "\u{1E}{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON-SEQ\",\"trace\":{}}\n".to_owned();
    let (mut time, mut number) = (0, 0);
    for packet in 0..400 {
        let header = json!({"packet_type": "1RTT", "packet_number": number, "length": 1200});
        let came = json!({"time": time, "name": "transport:packet_received", "data": {"header": header}});
        writeln!(text, "\u{1E}{came}").unwrap();
        let is_last = pauses.contains(&packet);
        time += if is_last { 500 } else { 10 };
        number += if is_last { 1 + missing } else { 1 };
    }
    text
}

#[test]
fn a_receiver_tells_a_few_pauses_with_nothing_missing() {
    let stalls = |pauses: &[u64], missing: u64| explained(&received(pauses, missing)).flows[0].stalls.clone();
    for (missing, kind, sure) in [(0, Kind::PathHeld, Sure::Possible), (7, Kind::PathLost, Sure::Likely)] {
        let found = stalls(&[200], missing);
        let [stall] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((stall.start_s, stall.end_s), (2.0, 2.5));
        assert_eq!((stall.causes[0].kind, stall.causes[0].sure), (kind, sure));
    }
    assert_eq!(stalls(&[100, 200], 0).len(), 2);
    // An application that pauses again and again, and one whose answer comes late.
    assert!(stalls(&[100, 150, 200, 250, 300], 0).is_empty());
    assert!(stalls(&[5], 0).is_empty());
    assert!(stalls(&[395], 0).is_empty());
}

#[test]
fn a_broken_log_is_refused_with_its_event_and_byte_or_ends_with_a_note() {
    let text = Stack::Quiche.log(Story::Quiet);
    let third = text.match_indices('\u{1E}').nth(3).unwrap().0;
    let broken = format!("{}\u{1E}{{\"time\": 1, nonsense}}\n{}", &text[..third], &text[third..]);
    let fault = explain_qlog(broken.as_bytes()).unwrap_err();
    // The header has three values.
    assert!(fault.byte > third as u64 && fault.byte < third as u64 + 20, "{fault}");
    assert!(fault.problem.contains("this is no JSON"), "{fault}");
    let back = text.replacen("\"time\":50.0", "\"time\":4000.0", 1);
    assert!(explain_qlog(back.as_bytes()).unwrap_err().problem.contains("the clock runs back by"));
    assert!(explain_qlog(&b""[..]).unwrap_err().problem.contains("empty"));
    assert!(explain_qlog(&b"a log"[..]).unwrap_err().problem.contains("no JSON object"));
    assert!(explain_qlog(&b"{}"[..]).unwrap_err().problem.contains("no event"));
    for stack in STACKS {
        let whole = stack.log(Story::Lost);
        let cut = &whole[..whole.len() * 3 / 4 + 7];
        let answer = explained(cut);
        assert!(answer.notes.iter().any(|note| note.contains("ends within an event")), "{stack:?}");
        assert_eq!(answer.flows[0].stalls.len(), 1, "{stack:?}");
    }
}

#[test]
fn values_that_no_connection_has_are_left_out_or_refused() {
    let mut text = Stack::QuicGo.log(Story::Quiet);
    let trips = explained(&text).flows[0].trips;
    let metrics = json!({"time": 5000.0, "name": "recovery:metrics_updated", "data": {"latest_rtt": 9e19}});
    writeln!(text, "\u{1E}{metrics}").unwrap();
    assert_eq!(explained(&text).flows[0].trips, trips);
    let far = json!({"time": 3.9e12, "name": "recovery:metrics_updated", "data": {"bytes_in_flight": 1e30}});
    writeln!(text, "\u{1E}{far}").unwrap();
    assert!(explain_qlog(text.as_bytes()).unwrap_err().problem.contains("since 1970"));
}

#[test]
fn mutated_logs_are_read_or_refused() {
    let count = mutations() / 2;
    let start = |stack: &Stack| stack.log(Story::Lost).into_bytes()[..20_000].to_vec();
    let files: Vec<Vec<u8>> = STACKS.iter().map(start).collect();
    let (mut kept, mut refused) = (0, 0);
    for number in 0..count {
        let mut draws = Draws(0x51_7C_C1_B7_27_22_0A_95 ^ (number + 1).wrapping_mul(0xD129_0D3B_3F65_4A1D));
        let mut file = files[draws.below(files.len())].clone();
        for _ in 0..=draws.below(4) {
            let at = draws.below(file.len());
            match draws.below(6) {
                0 => file[at] = draws.below(256) as u8,
                1 => file[at] ^= 1 << draws.below(8),
                2 => file.truncate(at.max(1)),
                3 => file[at..].iter_mut().take(3).for_each(|byte| *byte = b'9'),
                4 => {
                    let digit = file[at..].iter().position(u8::is_ascii_digit).map_or(at, |more| at + more);
                    file.splice(digit..digit, b"99999999999999999999".iter().copied());
                }
                _ => {
                    let part = file[at..file.len().min(at + 60)].to_vec();
                    file.splice(at..at, part);
                }
            }
        }
        match explain_qlog(&file[..]) {
            Ok(_) => kept += 1,
            Err(fault) => {
                assert!(fault.byte <= file.len() as u64 && !fault.problem.is_empty(), "{fault}");
                refused += 1;
            }
        }
    }
    assert!(kept > count / 10 && refused > count / 10, "{kept} were read, {refused} refused");
}
