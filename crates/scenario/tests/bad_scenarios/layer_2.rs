//! Edits of the medium of 802.11, and of LTE.

use crate::{AIR, Edit};

/// Of 802.11's medium.
pub const DCF: &[Edit] = &[
    ("an unknown physical layer", AIR, "delay = \"3 ms\"\nmedium = { kind = \"dcf\", phy = \"802.11n\" }"),
    ("a field that is the cell's", AIR, "delay = \"3 ms\"\nmedium = { kind = \"dcf\", rate = \"2 Mbit/s\" }"),
    (
        "a rate that 802.11b does not have",
        "\"2 Mbit/s\"\ndelay",
        "\"3 Mbit/s\"\nmedium = { kind = \"dcf\" }\ndelay",
    ),
    (
        "a bearer's rate",
        AIR,
        concat!(
            "delay = \"3 ms\"\nmedium = { kind = \"dcf\" }\nscheduler = { kind = \"wfq\" }\n",
            "bearers = { hosts = { mh = { rate = \"3 Mbit/s\" } } }",
        ),
    ),
    ("no basic rate", AIR, "delay = \"3 ms\"\nmedium = { kind = \"dcf\", basic_rate = \"9 Mbit/s\" }"),
    (
        "a short preamble of OFDM",
        AIR,
        "delay = \"3 ms\"\nmedium = { kind = \"dcf\", phy = \"802.11a\", preamble = \"short\" }",
    ),
    ("a window that is no power of two", AIR, "delay = \"3 ms\"\nmedium = { kind = \"dcf\", cw_min = 30 }"),
    ("windows the wrong way round", AIR, "delay = \"3 ms\"\nmedium = { kind = \"dcf\", cw_max = 15 }"),
    (
        "frames that are never sent",
        AIR,
        "delay = \"3 ms\"\nmedium = { kind = \"dcf\", long_retry_limit = 0 }",
    ),
    ("certain loss", AIR, "delay = \"3 ms\"\nmedium = { kind = \"dcf\", frame_loss = 1.0 }"),
    (
        "802.11 beacons without a pause",
        AIR,
        "delay = \"3 ms\"\nmedium = { kind = \"dcf\", beacon_interval = \"1 us\" }",
    ),
    ("an empty 802.11 beacon", AIR, "delay = \"3 ms\"\nmedium = { kind = \"dcf\", beacon_size = \"0 B\" }"),
];

/// Edits of the example of LTE.
pub const LTE: &[Edit] = &[
    (
        "a gap of the radio",
        "kind = \"hard\"\n[radio.measurement]",
        "kind = \"hard\"\ngap = \"30 ms\"\n[radio.measurement]",
    ),
    ("hosts that measure nothing", "[radio.measurement]\nperiod = \"10 ms\"", ""),
    (
        "two homes",
        "home = \"gw\"\nvisits = [{ cell = \"enb2\"",
        "home = \"server\"\nvisits = [{ cell = \"enb2\"",
    ),
    ("a gateway that is no home", "mme = \"mme\"", "domain = { gateway = \"server\" }"),
    ("unknown node of the MME", "mme = \"mme\"", "mme = \"mne\""),
    (
        "a marking state that no message carries",
        "mme = \"mme\"",
        "mme = \"mme\"\nforwarding = \"seamless\"\ncarry_marking_state = true",
    ),
    ("a marking state of drop-tail queues", "mme = \"mme\"", "mme = \"mme\"\ncarry_marking_state = true"),
    ("unknown scheme", "\"standard\"", "\"normal\""),
    ("unknown timer", "mme = \"mme\"", "timers = { t305 = \"1 s\" }"),
    ("a host that measures for no protocol", "mme = \"mme\"", "domain = { hosts = [\"me1\"] }"),
    ("a timer of zero", "mme = \"mme\"", "timers = { t304 = \"0 s\" }"),
    ("no end marker", "mme = \"mme\"", "end_markers = 0"),
    ("a mark that is none", "mme = \"mme\"", "mark = 0"),
    ("2^32 - 1 end markers", "mme = \"mme\"", "end_markers = 4294967295"),
    ("preambles each nanosecond", "mme = \"mme\"", "timers = { random_access = \"1 ns\" }"),
    ("an event that cannot be signalled", "\"0 ms\"", "\"1 ms\""),
    ("a counter that cannot be signalled", "period = \"10 ms\"", "period = \"10 ms\"\nn310 = 5"),
    ("a tunnel header of a megabyte", "mme = \"mme\"", "tunnel_overhead = \"1 MB\""),
    (
        "a prediction of no host",
        "mme = \"mme\"",
        "predictions = [{ host = \"me\", cell = \"enb2\", at = \"1 s\" }]",
    ),
    (
        "a prediction of no cell",
        "mme = \"mme\"",
        "predictions = [{ host = \"me1\", cell = \"r\", at = \"1 s\" }]",
    ),
    ("a backhaul that holds nothing", "limit = \"90 pkt\"", "limit = \"0 pkt\""),
];
