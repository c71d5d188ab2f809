//! Data that applications offer and await, through a network.

use crate::lab::{results, rows};
use roamlab_world::{Replication, Scenario, Table};

const DRAW: Replication = Replication { seed: 1, run: 0, trace: None };

/// Two nodes with 10 ms between them, and a flow with this application.
fn scenario(transport: &str, app: &str) -> String {
    format!(
        r#"
        run = {{ duration = "20 s", profile = "rfc" }}
        links = [{{ between = ["a", "b"], rate = "10 Mbit/s", delay = "10 ms" }}]
        [[flows]]
        name = "x"
        path = ["a", "b"]
        {transport}
        app = {app}
        "#
    )
}

const TCP: &str =
    r#"transport = { kind = "tcp", segment = "1000 B", window = "64 pkt", delayed_ack = "0 s" }"#;

fn column(tables: &[Table], table: &str, name: &'static str) -> Vec<i64> {
    rows(tables, table, [name]).into_iter().map(|[value]| value.parse().unwrap()).collect()
}

fn column_text(tables: &[Table], table: &str, name: &'static str) -> Vec<String> {
    rows(tables, table, [name]).into_iter().map(|[value]| value).collect()
}

#[test]
fn a_frame_is_there_with_the_last_of_its_packets() {
    let text = scenario("", "{ kind = \"video\", stop = \"10 s\" }");
    let tables = results(&text, DRAW);
    let (offered, completed) =
        (column(&tables, "units", "time_ns"), column(&tables, "units", "completed_ns"));
    let (first, packets) = (column(&tables, "units", "first_seq"), column(&tables, "units", "packets"));
    let (seqs, times) = (column(&tables, "deliveries", "seq"), column(&tables, "deliveries", "time_ns"));
    assert_eq!(offered.len(), 250);
    assert!(packets.iter().any(|count| *count > 2));
    assert!(seqs.iter().enumerate().all(|(place, seq)| *seq == place as i64), "nothing lost, in order");
    for frame in 0..offered.len() {
        assert_eq!(offered[frame], 40_000_000 * frame as i64);
        assert_eq!(completed[frame], times[(first[frame] + packets[frame] - 1) as usize]);
    }
}

#[test]
fn a_frame_that_lacks_a_packet_is_never_there() {
    let text = scenario("", "{ kind = \"video\", encoding = \"mpeg4-high\", stop = \"10 s\" }");
    let text = text.replace("delay = \"10 ms\"", "delay = \"10 ms\", drops = [{ packets = [1, 40] }]");
    let tables = results(&text, DRAW);
    let (first, packets) = (column(&tables, "units", "first_seq"), column(&tables, "units", "packets"));
    for (frame, completed) in column(&tables, "units", "completed_ns").into_iter().enumerate() {
        let lacks = [1, 40].iter().any(|seq| (first[frame]..first[frame] + packets[frame]).contains(seq));
        assert_eq!(completed == -1, lacks, "frame {frame}");
    }
}

/// When each object of a page came, counted from its request, in ns, and the bytes of each.
fn loads(app: &str) -> Vec<(i64, i64)> {
    let tables = results(&scenario(TCP, app), DRAW);
    let (asked, came) = (column(&tables, "units", "time_ns"), column(&tables, "units", "completed_ns"));
    let bytes = column(&tables, "units", "bytes");
    assert!(!asked.is_empty() && came.iter().all(|time| *time > 0));
    asked.into_iter().zip(came).map(|(asked, came)| came - asked).zip(bytes).collect()
}

const WEB: &str =
    "{ kind = \"web\", pages = 3, think = \"1 s\", object = \"900 B\", largest = \"999 B\", shape = 9.0 }";

#[test]
fn an_object_takes_a_round_trip_and_a_new_connection_one_more() {
    // 1000 B of payload and 40 B of headers at 10 Mbit/s are 832 us each way, a SYN or a bare ACK 32 us.
    let (data, bare, way) = (832_000, 32_000, 10_000_000);
    // The answer waits for the acknowledgement of the request, which is a separate packet.
    let round_trip = 2 * (data + way) + bare;
    let handshake = 2 * (bare + way);
    let waits = |app: &str| loads(app).into_iter().map(|(time, _)| time).collect::<Vec<_>>();
    assert_eq!(
        waits(WEB),
        [round_trip + handshake, round_trip, round_trip],
        "the first opens the connection"
    );
    let each = WEB.replace("shape = 9.0", "shape = 9.0, connections = \"per-object\"");
    assert_eq!(waits(&each), [round_trip + handshake; 3]);
}

#[test]
fn objects_of_a_page_follow_each_other_and_requests_are_a_flow() {
    let app = "{ kind = \"web\", pages = 4, think = \"100 ms\", objects = 5 }";
    let tables = results(&scenario(TCP, app), DRAW);
    let names: Vec<String> = rows(&tables, "flows", ["flow"]).into_iter().map(|[name]| name).collect();
    assert_eq!(names, ["x", "x-requests"]);
    let pages: Vec<(i64, i64)> =
        column(&tables, "units", "group").into_iter().zip(column(&tables, "units", "number")).collect();
    assert_eq!(pages, (0..4).flat_map(|page| (0..5).map(move |object| (page, object))).collect::<Vec<_>>());
    let (asked, came) = (column(&tables, "units", "time_ns"), column(&tables, "units", "completed_ns"));
    assert!(asked.iter().skip(1).zip(&came).all(|(next, came)| next > came), "one after the other");
    assert_eq!(column(&tables, "flows", "sent_pkts")[1], 20, "a request is a segment");
}

#[test]
fn a_new_connection_takes_nothing_from_the_old_one() {
    // A loss makes the old connection send again; its later packets have no receiver.
    let app = "{ kind = \"web\", think = \"5 ms\", object = \"9 kB\", connections = \"per-object\" }";
    let text = scenario(TCP, app)
        .replace("delay = \"10 ms\"", "delay = \"10 ms\", drops = [{ packets = [7, 20, 21, 40, 90] }], reverse_drops = [{ packets = [3, 30, 31] }]");
    let tables = results(&text, DRAW);
    let (packets, came) = (column(&tables, "units", "packets"), column(&tables, "units", "completed_ns"));
    let whole: i64 = packets.iter().zip(&came).filter(|(_, came)| **came > 0).map(|(count, _)| count).sum();
    let delivered = column(&tables, "flows", "delivered_pkts")[0];
    let begun = packets.iter().zip(&came).filter(|(_, came)| **came < 0).map(|(count, _)| count).sum::<i64>();
    assert!(came.len() > 100 && (whole..=whole + begun).contains(&delivered), "{whole} of {delivered}");
}

#[test]
fn the_last_acknowledgement_of_an_old_connection_is_for_nobody() {
    // It is under way for 10 ms, and the next request sets out 5 ms behind it: nothing was sent in between.
    let each = WEB
        .replace("think = \"1 s\"", "think = \"5 ms\"")
        .replace("shape = 9.0", "shape = 9.0, connections = \"per-object\"");
    let reasons = column_text(&results(&scenario(TCP, &each), DRAW), "drops", "reason");
    assert_eq!(reasons, ["no-endpoint"; 2], "of three pages the first two");
}

#[test]
fn adaptive_video_reaches_what_the_link_carries() {
    let tables = results(&scenario(TCP, "{ kind = \"dash\" }").replace("20 s", "120 s"), DRAW);
    let quality = column(&tables, "units", "group");
    assert_eq!(quality[0], 0, "an empty buffer asks for the lowest");
    assert!(
        quality[quality.len() - 5..].iter().all(|each| *each == 7),
        "10 Mbit/s carry 3 Mbit/s: {quality:?}"
    );
    let slow = scenario(TCP, "{ kind = \"dash\" }").replace("20 s", "240 s").replace("10 Mbit/s", "1 Mbit/s");
    let tables = results(&slow, DRAW);
    let quality = column(&tables, "units", "group");
    let late = &quality[quality.len() / 2..];
    assert!(late.iter().all(|each| (2..=4).contains(each)), "750 kbit/s, or a neighbouring rate: {late:?}");
}

#[test]
fn what_an_application_cannot_have_is_refused() {
    let told = |text: &str| Scenario::parse(text, "x.toml").unwrap_err().to_string();
    for app in ["web", "dash"] {
        let report = told(&scenario("", &format!("{{ kind = \"{app}\" }}")));
        assert!(report.contains("field `flows[0].app.kind`: requests and responses need TCP"), "{report}");
    }
    let report = told(&scenario(TCP, "{ kind = \"video\" }"));
    assert!(report.contains("is sent in datagrams"), "{report}");
    let report = told(&scenario(TCP, "{ kind = \"requests\", of = \"y\" }"));
    assert!(report.contains("field `flows[0].app.of`"), "{report}");
}

#[test]
fn a_base_station_can_be_the_end_of_a_flow() {
    let text = r#"
        run = { duration = "2 s", profile = "rfc" }
        links = [{ between = ["server", "router"], rate = "100 Mbit/s", delay = "1 ms" }]
        [cells.enb]
        router = "router"
        rate = "20 Mbit/s"
        delay = "5 ms"
        queue = { kind = "droptail", limit = "50 pkt" }
        backhaul = { rate = "10 Mbit/s", delay = "2 ms" }
        [[flows]]
        name = "down"
        path = ["server", "enb"]
        transport = { kind = "tcp", segment = "1000 B", window = "64 pkt" }
        app = { kind = "ftp", size = "100 kB" }
        [[flows]]
        name = "up"
        path = ["enb", "server"]
        transport = { kind = "udp" }
        app = { kind = "cbr", rate = "80 kbit/s", packet = "100 B", stop = "1 s" }
        "#;
    let tables = results(text, DRAW);
    let flows = rows(&tables, "deliveries", ["flow"]);
    assert_eq!(flows.iter().filter(|[flow]| flow == "down").count(), 100);
    assert_eq!(flows.iter().filter(|[flow]| flow == "up").count(), 100);
}
