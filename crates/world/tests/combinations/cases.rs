//! Small scenarios with one right value each.

use crate::lab::{results, rows};
use roamlab_world::{Replication, Table};

const DRAW: Replication = Replication { seed: 1, run: 0, trace: None };

/// A transfer over a link of 20 Mbit/s; `link` and `transport` are further fields.
fn transfer(profile: &str, link: &str, transport: &str, app: &str) -> Vec<Table> {
    let text = format!(
        r#"
        run = {{ duration = "10 s", profile = "{profile}" }}
        record = {{ packets = true, queues = [] }}
        links = [{{ between = ["a", "b"], rate = "20 Mbit/s", {link} }}]
        [[flows]]
        name = "f"
        path = ["a", "b"]
        transport = {{ kind = "tcp", segment = "1448 B", {transport} }}
        app = {{ kind = "ftp", start = "0.1 s"{app} }}
        "#
    );
    results(&text, DRAW)
}

fn number(word: &str) -> u64 {
    word.parse().unwrap_or_else(|error| panic!("{word}: {error}"))
}

/// Megabits per second of new data from this second on.
fn goodput(tables: &[Table], from: u64) -> f64 {
    let arrivals = rows(tables, "deliveries", ["time_ns", "fresh"]);
    let late = arrivals.iter().filter(|row| row[1] == "true" && number(&row[0]) >= from * 1_000_000_000);
    late.count() as f64 * 1448.0 * 8.0 / (10 - from) as f64 / 1e6
}

fn facts(tables: &[Table], kind: &str) -> Vec<(u64, u64)> {
    let facts = rows(tables, "tcp", ["event", "time_ns", "seq"]).into_iter().filter(|row| row[0] == kind);
    facts.map(|row| (number(&row[1]), number(&row[2]))).collect()
}

/// draft-cardwell-iccrg-bbr-00 (BBRSetCwnd): behind a timeout 4, 8, 16 … segments, and in nine round trips the product.
#[test]
fn bbr_comes_back_from_a_timeout_in_some_round_trips() {
    for recovery in ["rfc6675", "rack"] {
        let transport = format!("variant = \"bbr\", window = \"4000 pkt\", recovery = \"{recovery}\"");
        let startup = "delay = \"50 ms\", queue = { kind = \"droptail\", limit = \"167 pkt\" }";
        let tables = transfer("rfc", startup, &transport, "");
        assert!(goodput(&tables, 5) > 17.5, "{recovery}: {}", goodput(&tables, 5));
    }
    // The loss of 3000 is repaired by the timer, 0.1 s and some round trips before second 6.
    let drops = "delay = \"50 ms\", queue = { kind = \"droptail\", limit = \"2000 pkt\" }, \
                 drops = [{ flow = \"f\", packets = [3000, 3215] }]";
    let transport = "variant = \"bbr\", window = \"4000 pkt\", recovery = \"rfc6675\"";
    let tables = transfer("rfc", drops, transport, "");
    assert!(goodput(&tables, 6) > 17.5, "{}", goodput(&tables, 6));
    // RFC 6298 §5.4: the timer's expiry sends the earliest segment; pacing may hold it for one burst of 1.2 ms.
    let timeouts = facts(&tables, "timeout");
    let [(expired, segment)] = timeouts[..] else { panic!("{timeouts:?}") };
    let sent = rows(&tables, "packets", ["event", "place", "number", "time_ns"]).into_iter();
    let sent = sent.filter(|row| row[0] == "send" && row[1] == "a" && number(&row[2]) == segment);
    let repair = sent.map(|row| number(&row[3])).find(|&time| time >= expired).unwrap();
    assert!(repair - expired <= 1_200_000, "{expired} {repair}");
}

/// RFC 3168 §6.1.2: an echo and a loss of one window reduce it once, but the loss is repaired by fast retransmit, as ever.
#[test]
fn a_loss_behind_an_echo_is_repaired_without_the_timer() {
    for recovery in ["newreno", "rfc6675", "fack", "rack"] {
        let link = "delay = \"25 ms\", drops = [{ flow = \"f\", packets = [460] }], queue = { kind = \"red\", limit = \"1000 pkt\", \
                    min_threshold = \"40 pkt\", max_threshold = \"41 pkt\", max_p = 1.0, queue_weight = 1.0, mark_ecn = true, \
                    use_mark_p = true, mark_p_max = 2.0, gentle = false }";
        let transport = format!("variant = \"sack\", ecn = true, recovery = \"{recovery}\"");
        let tables = transfer("rfc", link, &transport, "");
        let echoes = facts(&tables, "ecn-reduction");
        let repairs = facts(&tables, "fast-retransmit");
        let (Some(echo), Some(repair)) = (echoes.first(), repairs.first()) else {
            panic!("{echoes:?} {repairs:?}")
        };
        assert!(echo.0 < repair.0 && repair.0 - echo.0 < 200_000_000, "{recovery}: {echo:?} {repair:?}");
        assert_eq!(facts(&tables, "timeout"), [], "{recovery}");
    }
}

/// The packets of segment 100 and of its repairs, as they follow from the losses before.
const REPAIRS: [u32; 5] = [101, 136, 165, 235, 583];

/// RFC 6298 §5.5: the RTO doubles when the timer expires, only then. RFC 5681 §3.2 (6): a recovery leaves at most the
/// ssthresh of its first cut, which for Vegas is three quarters of the 28 segments that it had (Brakmo & Peterson 1995).
#[test]
fn lost_repairs_neither_double_the_rto_of_vegas_nor_raise_its_window() {
    let mut cut = f64::INFINITY;
    for lost in 1..=REPAIRS.len() {
        let link = format!(
            "delay = \"25 ms\", queue = {{ kind = \"droptail\", limit = \"2000 pkt\" }}, drops = [{{ flow = \"f\", packets = {:?} }}]",
            &REPAIRS[..lost]
        );
        let tables = transfer("rfc", &link, "variant = \"vegas\"", ", packets = \"6000 pkt\"");
        assert_eq!(facts(&tables, "timeout"), [], "{lost}");
        let all = rows(&tables, "tcp", ["event", "rto_ns", "cwnd", "time_ns"]);
        assert!(all.iter().all(|row| number(&row[1]) == 1_000_000_000), "{lost}");
        let windows = all.iter().map(|row| (row[0].as_str(), f64::from_bits(number(&row[2]))));
        let cuts: Vec<f64> = windows.filter(|row| row.0 == "fast-retransmit").map(|row| row.1).collect();
        cut = cut.min(cuts[0]);
        assert!(cuts.iter().all(|&cwnd| cwnd <= cut), "{lost}: {cuts:?}");
        let tables = transfer("linux-6", &link, "variant = \"vegas\"", ", packets = \"6000 pkt\"");
        let times: Vec<u64> =
            rows(&tables, "deliveries", ["time_ns"]).iter().map(|row| number(&row[0])).collect();
        let silence = times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
        assert!(silence < 300_000_000, "Linux with {lost}: {silence} ns"); // the kernel: 265 ms
    }
}

/// draft-ietf-ccwg-bbr-06 §5.3.4: ProbeRTT keeps four packets in flight for 200 ms and a round trip, in BBRv3 half of the product. The
/// rates measured in it are not the path's, also where it has more round trips than the ten of the filter.
#[test]
fn behind_probe_rtt_the_rate_is_that_of_before() {
    // BBR probes each 10 s, BBRv3 each 5 s.
    let tcp = |variant| format!("kind = \"tcp\", variant = \"{variant}\"");
    let quic = |control| format!("kind = \"quic\", congestion_control = \"{control}\"");
    for (transport, probes) in [(tcp("bbr"), 1), (quic("bbr"), 1), (tcp("bbr3"), 2), (quic("bbr3"), 2)] {
        let text = format!(
            r#"
            run = {{ duration = "12 s" }}
            record = {{ queues = [] }}
            links = [{{ between = ["a", "b"], rate = "20 Mbit/s", delay = "5 ms" }}]
            [[flows]]
            name = "f"
            path = ["a", "b"]
            transport = {{ {transport} }}
            app = {{ kind = "ftp" }}
            "#
        );
        let mut bytes = [0.0; 600];
        for row in rows(&results(&text, DRAW), "deliveries", ["time_ns", "bytes"]) {
            bytes[(number(&row[0]) / 20_000_000).min(599) as usize] += row[1].parse::<f64>().unwrap();
        }
        // From the second second on, pieces of 20 ms with less than half of the 50,000 B: 200 ms, three round trips, and both ends.
        let slow = bytes[50..599].iter().filter(|&&bytes| bytes < 25_000.0).count();
        assert!((1..=13 * probes).contains(&slow), "{transport}: {slow}");
    }
}
