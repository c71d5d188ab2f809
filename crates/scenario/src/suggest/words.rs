//! Names that other programs (ns-2, ns-3, Linux, tc, mininet, iperf) and papers have for the parts of a scenario.

/// Words of users who know another program, and the text to write here.
struct Known {
    /// Their words, as [`plain`] makes them.
    words: &'static [&'static str],
    /// A name that only the right place knows: a field of the table, or a value that is valid there.
    among: &'static str,
    /// Text to write.
    answer: Answer,
}

/// Text to write instead of a word.
#[derive(Copy, Clone)]
enum Answer {
    /// This field of the same table, or this value.
    Name(&'static str),
    /// This rule of a TCP profile.
    Rule(&'static str),
    /// Its text.
    Text(&'static str),
}

use Answer::{Name, Rule, Text};

/// Meaning of a word at a place that knows the names `names`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Meaning {
    /// One of the names.
    Name(String),
    /// The help is a sentence.
    Text(String),
}

/// Meaning of `wanted` where one of `names` is expected, if another program has it or it differs in its
/// spelling only.
pub fn meaning(wanted: &str, names: &[&str]) -> Option<Meaning> {
    let word = plain(wanted);
    let mut same = names.iter().filter(|name| plain(name) == word);
    if let (Some(name), None) = (same.next(), same.next()) {
        return Some(Meaning::Name((*name).to_owned()));
    }
    // The same without its unit: `hysteresis` for `hysteresis_db`.
    let mut with_unit = names.iter().filter(|name| {
        UNITS.iter().any(|unit| name.strip_suffix(unit).is_some_and(|name| plain(name) == word))
    });
    if let (Some(name), None) = (with_unit.next(), with_unit.next()) {
        return Some(Meaning::Name((*name).to_owned()));
    }
    // The same with a unit, which belongs to the value: `gap_ms` for `gap`.
    let lower = wanted.to_ascii_lowercase();
    let bare = IN_NAMES.iter().find_map(|unit| lower.strip_suffix(unit)).filter(|bare| names.contains(bare));
    if let Some(bare) = bare {
        return Some(Meaning::Name(bare.to_owned()));
    }
    if names.contains(&"quinn")
        && let Some(text) = of_control(&word)
    {
        return Some(Meaning::Text(text));
    }
    // A flow's `transport` does not have the rules of its profile.
    let is_rule = |known: &&roamlab_tcp::Parameter| known.is_rule && plain(known.name) == word;
    if names.contains(&OF_TCP)
        && let Some(rule) = roamlab_tcp::PARAMETERS.iter().find(is_rule)
    {
        return Some(Meaning::Text(of_rule(rule.name)));
    }
    let row = KNOWN.iter().find(|row| row.words.contains(&word.as_str()) && row.is_meant(names))?;
    Some(match row.answer {
        Rule(name) if !names.contains(&name) => Meaning::Text(of_rule(name)),
        Name(name) | Rule(name) => Meaning::Name(name.to_owned()),
        Text(text) => Meaning::Text(text.to_owned()),
    })
}

impl Known {
    /// True where one of these names is expected.
    fn is_meant(&self, names: &[&str]) -> bool {
        names.contains(&self.among) || matches!(self.answer, Rule(name) if names.contains(&name))
    }
}

/// A parameter that only TCP's transport has.
const OF_TCP: &str = "spurious_detection";

/// How a rule of a TCP profile is written.
fn of_rule(name: &str) -> String {
    format!(
        "`{name}` is a rule of a TCP profile: write a table `[tcp_profiles.own]` with `based_on = \"rfc\"`, or another \
         profile, and `{name}`, and here `profile = \"own\"`"
    )
}

/// Endings of some fields whose values are bare numbers.
const UNITS: &[&str] = &["_db", "_dbm", "_m", "_m_per_s", "_db_per_s"];

/// Units in the names of fields of other programs, whose values are bare numbers.
const IN_NAMES: &[&str] = &[
    "_ns", "_us", "_ms", "_s", "_sec", "_seconds", "_bps", "_kbps", "_mbps", "_gbps", "_mbit", "_bits",
    "_bytes", "_kb", "_mb", "_pkt", "_pkts", "_packets",
];

/// A congestion control, or a variant of TCP, where a transport is expected.
fn of_control(word: &str) -> Option<String> {
    let named = |(name, _): &&(&'static str, &str)| plain(name) == word;
    let written = |field: &str, name: &str| {
        Some(format!("\"{name}\" is a `{field}` of TCP: write `{{ kind = \"tcp\", {field} = \"{name}\" }}`"))
    };
    if let Some((name, _)) = roamlab_congestion::CONGESTION_CONTROLS.iter().find(named) {
        return written("congestion_control", name);
    }
    let variant = roamlab_tcp::VARIANTS.iter().find(named);
    variant.and_then(|(name, _)| written("variant", name))
}

/// A name without what differs from program to program: case, hyphens, the class around it (`ns3::TcpNewReno`,
/// `Agent/TCP/Newreno`, `FqCoDelQueueDisc`, `net.ipv4.tcp_rmem`).
pub fn plain(name: &str) -> String {
    const BEFORE: &[&str] = &["tcp"];
    const BEHIND: &[&str] = &["queuedisc", "queue", "application", "helper", "mobilitymodel", "errormodel"];
    let name = name.split('<').next().unwrap_or_default();
    let name = name.rsplit("::").next().unwrap_or_default();
    let name = name.rsplit('/').next().unwrap_or_default();
    let mut word: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    if let Some(rest) = word.strip_prefix("netipv4") {
        word = rest.to_owned();
    }
    for part in BEFORE {
        word = word.strip_prefix(part).filter(|rest| rest.len() > 1).map_or(word.clone(), str::to_owned);
    }
    for part in BEHIND {
        word = word.strip_suffix(part).filter(|rest| rest.len() > 1).map_or(word.clone(), str::to_owned);
    }
    word
}

const PATH: Answer =
    Text("a flow has both ends in one field: write `path = [\"from\", \"to\"]`, the sender first");
const ENDS: Answer = Text("a link has both ends in one field: write `between = [\"a\", \"b\"]`");
const LIMITED: Answer =
    Text("the length belongs to the queue: write `queue = { kind = \"droptail\", limit = \"100 pkt\" }`");
const RATES: Answer = Text(
    "a cell has one rate for each way, as in `rate = \"4 Mbit/s\"`, and a wired link has `rate` and `reverse_rate`; two \
     recordings are written `rate = { trace = \"walk.down\", reverse = \"walk.up\" }`, with names of files",
);
const SIGNAL: Answer = Text(
    "the reach of a cell follows from its signal: write `transmitter = { position_m = [0, 0], reference_signal_dbm = 15 }`, \
     and `radio.measurement` with `signal = \"positions\"`",
);
const CHANGES: Answer = Text(
    "a cell does not change: `changes` is a field of `[[links]]`; for outages of the air write `outages`, or end a host's \
     visit with `until`, and begin the next one later",
);
const ADDRESS: Answer =
    Text("Roamlab gives addresses itself: leave this out, and use the name where you would use an address");
const CONSTANT: Answer = Text("this is a constant of the protocol, on its page in docs/models: leave it out");
const PORTS: Answer = Text("flows have names, not ports: leave this out");
const MOVES: Answer = Text(
    "this is how hosts move: write `visits`, a `plan` or a `trajectory` in `[[hosts]]`. `mobility.kind` is the protocol that \
     finds them again",
);
const AIR: Answer = Text(
    "there is no physical layer: write what it gives as the `rate` and `delay` of the cell, or a recorded rate (docs/import.md)",
);
const A3: Answer = Text(
    "this is of event A3 of LTE and 5G: write it in `[mobility.measurement]`, with `mobility.kind = \"lte-x2\"` or \"nr\", \
     and a `[radio.measurement]`",
);

#[rustfmt::skip]
const KNOWN: &[Known] = &[
    // Links and cells.
    Known { words: &["bandwidth", "bandwith", "bw", "datarate", "capacity", "speed", "linkrate", "linkspeed", "linkbandwidth", "bitrate", "throughput"], among: "rate", answer: Name("rate") },
    Known { words: &["latency", "mmdelay", "propagationdelay", "propdelay", "onewaydelay", "owd", "prop"], among: "delay", answer: Name("delay") },
    Known { words: &["rtt", "roundtriptime", "basertt"], among: "reverse_delay", answer: Text("a link has a `delay` for each way: write half of its round-trip time") },
    Known { words: &["plr", "lossrate", "droprate", "losspercent", "lossprobability", "packeterrorrate"], among: "loss", answer: Name("loss") },
    Known { words: &["qdisc", "discipline", "queuedisc", "queuetype", "aqm"], among: "reverse_queue", answer: Name("queue") },
    Known { words: &["maxqueuesize", "max", "queuesize", "queuelimit", "queuelength", "buffer", "buffersize", "bufsize", "qlen", "txqueuelen", "limit"], among: "reverse_queue", answer: LIMITED },
    Known { words: &["nodes", "ends", "endpoints", "node1", "node2", "from", "to", "source", "target", "src", "dst", "destination", "a", "b"], among: "between", answer: ENDS },
    Known { words: &["netem", "tc", "usehtb", "usetbf", "burst"], among: "between", answer: Text("write what the command does as fields of the link: `rate`, `delay`, `loss`, `queue`") },
    Known { words: &["accesspoint", "accessrouter", "foreignagent", "attachedto", "switch", "gateway"], among: "backhaul", answer: Name("router") },
    Known { words: &["txpowerdbm", "powerdbm", "eirp", "range", "rangem", "radius", "radiusm", "coverage", "coveragem", "positionm", "position", "location", "x", "y"], among: "backhaul", answer: SIGNAL },
    Known { words: &["changes", "change", "outage", "outages", "up", "down", "failures", "failure", "blackout"], among: "backhaul", answer: CHANGES },
    Known { words: &["queuelimit", "queuesize", "maxqueuesize", "queuelength", "limit", "buffersize", "qlen", "txqueuelen"], among: "backhaul", answer: LIMITED },
    Known { words: &["name", "id", "label"], among: "backhaul", answer: Text("the name of a cell is in the header of its table: write `[cells.bs1]`, and leave this out") },
    Known { words: &["rtt", "roundtriptime", "basertt"], among: "backhaul", answer: Text("a cell has one `delay` for both ways: write half of its round-trip time") },
    // Queues.
    Known { words: &["maxsize", "maxpackets", "size", "queuesize", "capacity", "qlen", "length", "buffer", "buffersize", "qlimit"], among: "limit", answer: Name("limit") },
    Known { words: &["flows", "buckets"], among: "quantum", answer: Name("queues") },
    Known { words: &["memorylimit", "bytes", "maxbytes"], among: "limit_bytes", answer: Name("limit_bytes") },
    Known { words: &["min", "minth", "thresh", "minthreshold"], among: "min_threshold", answer: Name("min_threshold") },
    Known { words: &["max", "maxth", "maxthresh", "maxthreshold"], among: "max_threshold", answer: Name("max_threshold") },
    Known { words: &["probability", "pmax", "maxprobability"], among: "max_p", answer: Name("max_p") },
    Known { words: &["wq", "qw", "qweight", "weight"], among: "queue_weight", answer: Name("queue_weight") },
    Known { words: &["ecn", "useecn", "setbit", "marking", "markecn"], among: "mark_ecn", answer: Name("mark_ecn") },
    Known { words: &["fifo", "pfifo", "pfifofast", "bfifo", "taildrop", "tail", "no", "dt"], among: "droptail", answer: Name("droptail") },
    // Flows.
    Known { words: &["source", "src", "from", "sender", "destination", "dest", "dst", "to", "target", "receiver", "client", "server", "sink", "nodes", "between", "ends"], among: "two_way", answer: PATH },
    Known { words: &["bidirectional", "bidir", "duplex", "bothways"], among: "two_way", answer: Name("two_way") },
    Known { words: &["number", "parallel", "n", "p", "flows", "connections", "streams", "num", "nflows"], among: "two_way", answer: Name("count") },
    Known { words: &["protocol", "tcp", "udp", "quic", "proto", "socket", "agent"], among: "two_way", answer: Text("write `transport = { kind = \"tcp\", congestion_control = \"cubic\" }`; without `transport` it is UDP") },
    Known { words: &["application", "traffic", "type", "workload", "generator"], among: "two_way", answer: Name("app") },
    Known { words: &["duration", "time", "runtime"], among: "two_way", answer: Text("write when it ends: `stop = \"5 s\"` in its `app`") },
    Known { words: &["start", "starttime", "begin", "stop", "stoptime", "end", "size", "bytes", "rate", "bandwidth"], among: "two_way", answer: Text("the application has the time and the amount: write it in `app`, as in `app = { kind = \"ftp\", start = \"1 s\", stop = \"5 s\" }`") },
    Known { words: &["port", "sport", "dport", "srcport", "dstport", "localport", "remoteport"], among: "two_way", answer: PORTS },
    Known { words: &["port", "sport", "dport", "srcport", "dstport", "localport", "remoteport"], among: "spurious_detection", answer: PORTS },
    Known { words: &["tos", "dsfield", "trafficclass", "qos", "priority"], among: "dscp", answer: Name("dscp") },
    // TCP.
    Known { words: &["cc", "algorithmclass", "ca", "cong", "algorithm", "congestion", "congestioncontrolalgorithm", "sockettype", "ccalgo"], among: "congestion_control", answer: Name("congestion_control") },
    Known { words: &["mss", "segmentsize", "packetsize", "maxseg", "payload", "mtu", "packet"], among: "spurious_detection", answer: Name("segment") },
    Known { words: &["initcwnd", "initialcwnd", "iw", "windowinit", "initwindow", "icwnd"], among: "initial_window", answer: Name("initial_window") },
    Known { words: &["ssthresh", "initialssthresh", "initialslowstartthreshold"], among: "spurious_detection", answer: Rule("initial_ssthresh") },
    Known { words: &["rwnd", "rcvbuf", "rcvbufsize", "rmem", "receivewindow", "advertisedwindow", "awnd", "maxwin", "windowsize", "wmem", "sndbuf", "sndbufsize"], among: "spurious_detection", answer: Name("window") },
    Known { words: &["rtomin", "minrto"], among: "min_rto", answer: Name("min_rto") },
    Known { words: &["rtomax", "maxrto"], among: "max_rto", answer: Name("max_rto") },
    Known { words: &["rto", "connectiontimeout", "initialrto"], among: "initial_rto", answer: Name("initial_rto") },
    Known { words: &["delack", "delacktimeout", "delackcount", "delayedacks", "quickack"], among: "delayed_ack", answer: Text("write `delayed_ack = \"40 ms\"` for the timer; the rule `ack_rule` of a TCP profile sets which segments are acknowledged immediately") },
    Known { words: &["nodelay", "nagleenabled", "nagle", "cork"], among: "spurious_detection", answer: Text("no sender waits for more data (Nagle's algorithm is absent): leave this out") },
    Known { words: &["sack", "sacksupport", "sackenabled", "sackpermitted", "fack", "newreno", "rack"], among: "spurious_detection", answer: Text("this is the loss recovery: write `variant = \"sack\"`, or `recovery`, for example `recovery = \"rack\"`") },
    Known { words: &["hystart", "hystartplusplus", "beta", "fastconvergence"], among: "spurious_detection", answer: Text("this is a parameter of the congestion control: write it in its table, as in `congestion_control = { kind = \"cubic\", slow_start = \"hystart\" }`") },
    Known { words: &["tlp", "earlyretrans"], among: "spurious_detection", answer: Rule("tail_loss_probe") },
    Known { words: &["frto"], among: "spurious_detection", answer: Name("spurious_detection") },
    Known { words: &["reordering", "dupthresh", "dupacks", "retxthresh"], among: "spurious_detection", answer: Rule("dupack_threshold") },
    Known { words: &["noslowstartafteridle", "slowstartafteridle"], among: "spurious_detection", answer: Rule("slow_start_restart") },
    Known { words: &["moderatercvbuf"], among: "spurious_detection", answer: Rule("receive_autotuning") },
    Known { words: &["socketfactory", "stream", "stdtcp", "linux6"], among: "quinn", answer: Name("tcp") },
    Known { words: &["udpsocketfactory", "dgram", "datagram", "none"], among: "quinn", answer: Name("udp") },
    Known { words: &["linuxreno", "aimd", "standard"], among: "newreno", answer: Name("newreno") },
    Known { words: &["newreno", "sack", "tahoe", "fack", "linuxreno", "aimd"], among: "dctcp", answer: Text("its law is Reno's, and its loss recovery another: write `congestion_control = \"reno\"`; TCP has its loss recovery as `variant`: write for example `variant = \"newreno\"`") },
    Known { words: &["sack1", "rfc6675", "sack1delack"], among: "sack", answer: Name("sack") },
    Known { words: &["bbr1", "bbrv1"], among: "bbr", answer: Name("bbr") },
    Known { words: &["bbrv3"], among: "bbr3", answer: Name("bbr3") },
    Known { words: &["bic", "bictcp", "linuxcubic"], among: "cubic", answer: Name("cubic") },
    // Applications.
    Known { words: &["sessionapp", "bulksend", "bulk", "greedy", "backlog", "infinite", "file", "filetransfer", "iperf", "iperf3", "netperf", "wget", "scp", "tcp"], among: "ftp", answer: Text("bulk data is `ftp`: write `app = { kind = \"ftp\", start = \"0 s\" }` and `transport = { kind = \"tcp\" }`; `cbr` sends datagrams at a rate, as `iperf -u` does") },
    Known { words: &["ping", "icmp", "echo", "udpecho", "udpechoclient", "udpechoserver"], among: "cbr", answer: Text("there is no echo: write `two_way = true` and `app = { kind = \"cbr\", rate = \"6 kbit/s\", packet = \"64 B\" }`; the record has the delay of each packet") },
    Known { words: &["packetsink", "sink", "server", "udpserver", "null", "lossmonitor"], among: "cbr", answer: Text("a flow brings its receiver with it: leave the sink out, and write the receiver's node as the second name in `path`") },
    Known { words: &["udp", "udpbasicapp", "udpclient", "udptrace", "ditg", "mgen"], among: "cbr", answer: Name("cbr") },
    Known { words: &["maxbytes", "bytes", "sendbytes", "filesize", "transfersize", "totalbytes", "num"], among: "size", answer: Name("size") },
    Known { words: &["starttime", "begin", "startat", "from", "topen", "tsend"], among: "start_within", answer: Name("start") },
    Known { words: &["stoptime", "end", "endtime", "until", "duration", "time"], among: "start_within", answer: Text("write when it ends: `stop = \"5 s\"`") },
    Known { words: &["packetsize", "length", "messagelength", "payload", "len", "pktsize"], among: "packet", answer: Name("packet") },
    Known { words: &["interval", "sendinterval", "pps"], among: "packet", answer: Text("write `rate`: the bits of a packet by the seconds between two") },
    Known { words: &["parallel", "streams", "connections", "numapps", "count", "n", "p"], among: "start_within", answer: Text("several equal flows are one table: write `count = 4` in `[[flows]]`, next to `path`") },
    Known { words: &["reverse", "upload", "download", "direction"], among: "start_within", answer: Text("the first name in `path` sends to the second: write them in the other order") },
    // 802.11 and QUIC.
    Known { words: &["rtsctsthreshold", "rtsthreshold"], among: "rts_threshold", answer: Name("rts_threshold") },
    Known { words: &["maxssrc", "shortretrylimit", "retrylimit", "retries"], among: "short_retry_limit", answer: Name("short_retry_limit") },
    Known { words: &["maxslrc", "longretrylimit"], among: "long_retry_limit", answer: Name("long_retry_limit") },
    Known { words: &["datamode", "datarate", "bitrate", "rate"], among: "rts_threshold", answer: Text("the rate of data is the `rate` of the cell; a host's own is `bearers.hosts.NAME.rate`") },
    Known { words: &["standard", "wifistandard", "mode", "opmode"], among: "rts_threshold", answer: Name("phy") },
    Known { words: &["controlmode", "nonunicastmode", "basicrate"], among: "basic_rate", answer: Name("basic_rate") },
    Known { words: &["zerortt", "0rtt", "earlydata", "resumption"], among: "packet_threshold", answer: Text("data without a wait for the handshake: write `handshake = \"none\"`") },
    Known { words: &["uplink", "downlink"], among: "reverse_queue", answer: Text("`queue` is before the way from the first node to the second, `reverse_queue` before the other; so are `rate` and `reverse_rate`") },
    Known { words: &["ecn", "enableecn", "markecn"], among: "reverse_queue", answer: Text("a queue marks packets: write `queue = { kind = \"codel\", mark_ecn = true }`") },
    Known { words: &["slot", "limitpkts"], among: "between", answer: Text("write what the command does as fields of the link: `rate`, `delay`, `loss`, `queue`") },
    Known { words: &["downlink", "down", "downtrace", "forward", "uplink", "up", "uptrace", "backward", "dl", "ul"], among: "trace", answer: RATES },
    Known { words: &["reverserate", "uplinkrate", "uprate", "ulrate", "upload", "downlinkrate", "downrate", "dlrate"], among: "backhaul", answer: RATES },
    Known { words: &["bandwidth", "rate"], among: "tins", answer: Text("there is no shaper: write the `rate` of the link, and leave this out") },
    Known { words: &["besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence"], among: "tins", answer: Text("this is a value of `tins`: write for example `tins = \"diffserv4\"`") },
    Known { words: &["avpkt", "meanpktsize", "meanpacketsize"], among: "mean_packet", answer: Name("mean_packet") },
    Known { words: &["tupdate", "update"], among: "update_interval", answer: Name("update_interval") },
    Known { words: &["packetcapacity", "framecapacity"], among: "limit", answer: Name("limit") },
    Known { words: &["pf", "pfffmac", "pfffmacscheduler", "proportionalfairness"], among: "proportional-fair", answer: Name("proportional-fair") },
    Known { words: &["rr", "rrffmac", "rrffmacscheduler"], among: "proportional-fair", answer: Name("round-robin") },
    Known { words: &["80211", "ieee80211", "ieee80211scalarradio", "wifi", "wifiphy", "yanswifiphy", "csmaca", "mac80211"], among: "dcf", answer: Name("dcf") },
    Known { words: &["notsentlowat"], among: "spurious_detection", answer: Text("how much waits in the sender has no limit here: leave this out; how much may be in flight is `window`") },
    Known { words: &["omit"], among: "start_within", answer: Text("nothing is cut off a run: count from a later time in the frames of the record") },
    Known { words: &["bidir", "bidirectional", "dualtest"], among: "start_within", answer: Text("write `two_way = true` in `[[flows]]`, next to `path`") },
    Known { words: &["capturefilter", "displayfilter", "filter", "snaplen"], among: "deliveries", answer: Text("write `packets = true`, and filter what `roamlab export --format pcapng` writes") },
    Known { words: &["tables", "events"], among: "deliveries", answer: Text("each table is a field: write for example `packets = true`") },
    Known { words: &["numerology", "mu", "scs", "subcarrierspacing", "mcs", "txpower", "resourceblocks", "dlbandwidth", "ulbandwidth"], among: "path_switch", answer: AIR },
    Known { words: &["numerology", "mu", "scs", "subcarrierspacing", "mcs", "txpower", "resourceblocks", "dlbandwidth", "ulbandwidth"], among: "backhaul", answer: AIR },
    Known { words: &["amf", "sgw", "epc"], among: "path_switch", answer: Name("mme") },
    // The run, and tables.
    Known { words: &["queues", "queue", "qdiscs", "qdisc", "aqm"], among: "faults", answer: Text("a queue belongs to its link or cell: write `queue = { kind = \"red\", limit = \"50 pkt\" }` in that entry of `[[links]]` or in `[cells.NAME]`") },
    Known { words: &["extends", "include", "includes", "import", "imports", "inherit", "inherits", "base", "parent", "template"], among: "faults", answer: Text("a scenario is one file: a variant is made by `--set PATH=VALUE` at the command line, by `.set(path, value)` in Python, or by the axes of a sweep (docs/sweeps.md)") },
    Known { words: &["handovers", "handoffs", "moves", "movements", "mobilityschedule", "visit"], among: "faults", answer: Text("a host's moves are its visits: write `visits = [{ cell = \"bs1\", at = \"0 s\" }, { cell = \"bs2\", at = \"10 s\" }]` in `[[hosts]]`, or a `plan`") },
    Known { words: &["sweep", "grid", "axes", "points", "parameters", "variables", "params"], among: "faults", answer: Text("a sweep has a separate file, which names the scenario: see docs/sweeps.md") },
    Known { words: &["time", "stop", "stoptime", "simtime", "simtimelimit", "cputimelimit", "simulationtime", "end", "endtime", "length", "runtime", "simduration"], among: "random_numbers", answer: Name("duration") },
    Known { words: &["rngseed", "randomseed", "rngrun", "rng"], among: "random_numbers", answer: Text("a scenario has no seed: write `--seed 7` at the command line, `seed=7` in Python, or `seed = 7` in a sweep") },
    Known { words: &["runs", "repetitions", "reps", "repeat", "repeats", "replicas", "iterations", "trials"], among: "random_numbers", answer: Text("a scenario describes one run: write `replications = 30` in a sweep, or `roamlab compare A B --runs 30`") },
    Known { words: &["warmup", "warmuptime", "transient"], among: "random_numbers", answer: Text("nothing is cut off a run: write `start` in the flows' `app`, or count from a later time in the frames of the record") },
    Known { words: &["tcp", "variant", "transport"], among: "random_numbers", answer: Text("each flow has its own: write `transport = { kind = \"tcp\", congestion_control = \"cubic\" }` in `[[flows]]`") },
    Known { words: &["simulation", "general", "global", "config", "experiment", "simulator", "scenario", "sim"], among: "faults", answer: Name("run") },
    Known { words: &["nodes", "node", "switches", "routers", "controllers", "servers"], among: "faults", answer: Text("a node needs no table: each name in `links.between` is one. Mobile hosts are `[[hosts]]`, base stations `[cells.NAME]`") },
    Known { words: &["applications", "apps", "app", "traffic", "connections", "transport", "tcp"], among: "faults", answer: Text("what is sent is a flow: write `[[flows]]` with `name`, `path`, `transport` and `app`") },
    Known { words: &["basestations", "bs", "aps", "accesspoints", "enb", "enbs", "gnb", "gnbs", "stations"], among: "faults", answer: Name("cells") },
    Known { words: &["ues", "ue", "mobiles", "mobilenodes", "users", "terminals"], among: "faults", answer: Name("hosts") },
    Known { words: &["edges", "channels", "wires"], among: "faults", answer: Name("links") },
    Known { words: &["wifi", "wireless", "air", "handover", "handoff", "phy"], among: "faults", answer: Name("radio") },
    Known { words: &["trace", "tracing", "pcap", "output", "log", "monitor"], among: "faults", answer: Name("record") },
    Known { words: &["pcap", "ascii", "traceall", "dump"], among: "deliveries", answer: Text("write `packets = true`, and after the run `roamlab export --format pcapng`") },
    // Hosts, radio and mobility.
    Known { words: &["duration", "dwell", "length", "stay", "leave", "end", "stop"], among: "until", answer: Text("write when the host leaves: `until = \"15 s\"`; without it the host leaves at its next visit") },
    Known { words: &["time", "start", "begin", "enter"], among: "until", answer: Name("at") },
    Known { words: &["ip", "mac", "address", "ipaddress", "addr", "subnet"], among: "trajectory", answer: ADDRESS },
    Known { words: &["offsetdb", "hysteresisdb", "timetotrigger", "ttt", "offset", "hysteresis", "a3", "a4", "a5", "d1", "t1"], among: "events", answer: Text("the condition is a list of events: write `events = [{ kind = \"a3\", offset_db = 3.0, time_to_trigger = \"100 ms\" }]`") },
    Known { words: &["positionm", "location", "xy"], among: "trajectory", answer: Text("a host's place is a `trajectory` of one point: write `trajectory = { waypoints_m = [[150, 0]] }`, with `radio.measurement.signal = \"positions\"`") },
    Known { words: &["mode", "predictive", "reactive", "fast", "prediction", "anticipated", "anticipation"], among: "trigger", answer: Text("predictive is `trigger = { by = \"source\" }`, and reactive is without a `trigger`") },
    Known { words: &["gap", "interruption", "outage"], among: "until", answer: Text("a gap is that of all handovers: write `gap` in `[radio]`, a time or a law; for a longer time without a cell write `until` in the visit before") },
    Known { words: &["homeagent", "homeagents", "ha"], among: "advertisement_interval", answer: Text("the home agent is the `home` of the host: write it in `[[hosts]]`") },
    Known { words: &["foreignagent", "foreignagents", "fa"], among: "advertisement_interval", answer: Text("a foreign agent is the `router` of a cell: write it in `[cells.NAME]`") },
    Known { words: &["event", "events", "threshold", "thresholddbm", "threshold1dbm", "threshold2dbm", "threshold1", "threshold2", "a5", "a4", "a2"], among: "filter_coefficient", answer: Text("the event is A3, the only one: write `offset_db`, `hysteresis_db` and `time_to_trigger`, and leave this out") },
    Known { words: &["probability", "p", "rate", "ratio", "share", "chance"], among: "occurrences", answer: Text("a fault is not random: write the numbers of the messages that are lost, as in `occurrences = [1, 3]`; random loss is the `loss` of a link or cell") },
    Known { words: &["interval", "period", "sampling", "samplinginterval", "every", "step"], among: "deliveries", answer: Text("nothing is sampled: each event is a row, and rows are grouped afterwards, for example by `time_ns // 100_000_000`; leave this out") },
    Known { words: &["speed", "velocity", "position", "waypoints", "coordinates", "x", "y"], among: "trajectory", answer: Text("a host's way is its `trajectory`: write `trajectory = { waypoints_m = [[0, 0], [500, 0]], speed_m_per_s = 10 }`, with `radio.measurement.signal = \"positions\"`") },
    Known { words: &["homeagent", "ha", "homenode", "gateway", "router"], among: "trajectory", answer: Name("home") },
    Known { words: &["cell", "cells", "moves", "handovers", "handoffs", "schedule", "route", "path", "attach", "ap"], among: "trajectory", answer: Text("a host's moves are its visits: write `visits = [{ cell = \"bs1\", at = \"0 s\" }, { cell = \"bs2\", at = \"10 s\" }]`, or a `plan`") },
    Known { words: &["mobility", "mobilitymodel", "movement", "model"], among: "trajectory", answer: MOVES },
    Known { words: &["handovertime", "handoverdelay", "handoverlatency", "handofflatency", "handoffdelay", "outage", "interruption", "interruptiontime", "duration", "delay", "blackout"], among: "in_flight_at_break", answer: Name("gap") },
    Known { words: &["timetotrigger", "ttt", "hysteresis", "hys", "a3offset", "offset", "a3"], among: "in_flight_at_break", answer: A3 },
    Known { words: &["timetotrigger", "ttt", "hysteresis", "hysteresisdb", "hys", "a3offset", "offset", "a3"], among: "path_switch", answer: Text("this is of event A3: write it in `[mobility.measurement]`, as `hysteresis_db`, `offset_db` or `time_to_trigger`") },
    Known { words: &["x2forwarding", "forward", "dataforwarding"], among: "path_switch", answer: Name("forwarding") },
    Known { words: &["wpa", "wpa2", "wpa3", "80211i", "8021x", "encryption", "auth", "authentication", "eap", "psk", "passphrase", "radius"], among: "missed_beacons", answer: Text("write `security = { kind = \"psk\" }`, or `{ kind = \"eap\", server = \"NODE\" }` with the node of the authentication server") },
    Known { words: &["80211r", "ft", "ftpsk", "fastroaming", "fasttransition", "okc", "pmkcaching", "pmksa"], among: "missed_beacons", answer: Text("write it in `security`: `fast_transition = true`, and `key_caching` with `kind = \"eap\"`") },
    Known { words: &["80211k", "rrm", "neighborreport", "neighbourreport", "neighborreports", "neighborlist"], among: "missed_beacons", answer: Name("neighbour_reports") },
    Known { words: &["signal", "rssi", "rssithreshold", "bgscan", "roamingthreshold", "threshold", "roamthreshold"], among: "missed_beacons", answer: Text("a station of 802.11 roams by signal with `measurement = { signal = \"positions\" }`, or `measurement = {}` for levels that follow the visits, and `background_scan = { short_interval = \"30 s\", threshold_dbm = -65.0, long_interval = \"300 s\" }`, as `bgscan=\"simple:30:-65:300\"`; see docs/models/wifi-roaming.md") },
    Known { words: &["btm", "bsstransition", "bsstm", "80211v", "wnm", "disassociationimminent"], among: "missed_beacons", answer: Name("transitions") },
    Known { words: &["trajectory", "positions"], among: "missed_beacons", answer: Text("a host's way is its `trajectory` in `[[hosts]]`, and a cell's place its `transmitter`, with `radio.measurement.signal = \"positions\"`") },
    Known { words: &["lte", "nr", "5g", "umts", "3gpp", "x2", "4g"], among: "802.11", answer: Text("LTE and 5G are protocols, not radios: write `mobility.kind = \"lte-x2\"` or \"nr\", and `[radio]` with `kind = \"hard\"` and `measurement = {}`") },
    Known { words: &["mip", "mipv4", "mobileipv4", "mobileip4", "cmip"], among: "mobile-ip", answer: Name("mobile-ip") },
    Known { words: &["x2", "x2handover", "4g"], among: "lte-x2", answer: Name("lte-x2") },
    Known { words: &["5g", "5gnr", "nrxn", "nrx2", "nr5g", "xn", "xnhandover", "n2", "n2handover", "gnb", "gnodeb", "5gc", "amf", "smf", "upf", "ngap", "xnap", "srsran", "open5gs", "free5gc"], among: "nr", answer: Text("this is of 5G: write `kind = \"nr\"`. Its `procedure` is \"xn\" or \"n2\", its base stations are `[cells]`, and `amf`, `smf` and `upf` name nodes") },
    Known { words: &["cho", "conditional", "conditionalhandover"], among: "nr", answer: Text("conditional handover is a part of LTE and 5G: write `kind = \"nr\"` and `conditional = {}`") },
    Known { words: &["daps"], among: "nr", answer: Text("DAPS is a part of 5G: write `kind = \"nr\"` and `daps = true`") },
    Known { words: &["ltm", "l1l2"], among: "nr", answer: Text("LTM is a part of 5G: write `kind = \"nr\"`, `ltm = {}`, and `central_units` with the routers of the cells") },
    Known { words: &["cho", "conditionalhandover"], among: "central_units", answer: Name("conditional") },
    Known { words: &["xn", "n2"], among: "central_units", answer: Text("write `procedure = \"xn\"` or `procedure = \"n2\"`") },
    Known { words: &["cu", "du", "f1", "split"], among: "central_units", answer: Name("central_units") },
    Known { words: &["gnb", "gnbs", "gnodeb", "gnodebs"], among: "central_units", answer: Text("base stations are cells: write `[cells.NAME]`, and leave this out") },
    Known { words: &["slice", "slices", "slicing", "nssai", "snssai", "carriers", "carrieraggregation", "scell", "scells", "ntn"], among: "central_units", answer: Text("slices, carrier aggregation and NTN are absent: leave this out. What a cell sends is its `rate`") },
    Known { words: &["a3", "eventa3", "a3rsrp", "a3rsrphandoveralgorithm", "a2a4rsrqhandoveralgorithm", "a2a4rsrq", "rsrp"], among: "lte-x2", answer: Text("event A3 is a part of LTE and 5G: write `kind = \"lte-x2\"` or \"nr\", and `[mobility.measurement]` for its hysteresis and time to trigger") },
    Known { words: &["randomwaypoint", "randomwalk", "randomwalk2d", "randomdirection", "randomdirection2d", "gaussmarkov", "manhattan", "constantvelocity", "constantposition", "waypoint", "static", "sumo"], among: "lte-x2", answer: MOVES },
    Known { words: &["wifi", "80211", "80211r", "80211ac", "80211n", "wlan", "wpa"], among: "lte-x2", answer: Text("802.11 is a radio: write `radio.kind = \"802.11\"`. `mobility.kind` is the protocol above it; with all access points at one router `cellular-ip` with `domain.gateway` is the nearest to a switched LAN") },
    Known { words: &["none", "off", "no", "null"], among: "lte-x2", answer: Text("no protocol: leave `[mobility]` out. A host that moves is then not found, and its packets are lost") },
    Known { words: &["drop", "drops", "lose", "loses", "loss", "lost", "discard", "kill"], among: "occurrences", answer: Text("a fault loses a message of signalling: write `message = \"registration-request\"` and `occurrences = [1]`, for example; packets of a flow are lost by the `drops` of a link") },
    Known { words: &["at", "time", "when", "start"], among: "occurrences", answer: Text("a fault counts messages: write `occurrences = [1]` for the first; what happens at a time is in the `changes` of a link") },
    Known { words: &["down", "isup", "isdown", "state", "status", "enabled", "active", "fail", "fails", "failure", "outage"], among: "up", answer: Text("an outage is `up = false`, and `up = true` in a later change ends it") },
    Known { words: &["link", "between", "cell", "down", "up"], among: "occurrences", answer: Text("a fault is about a message of signalling; a link that fails has `changes`: write `changes = [{ at = \"5 s\", up = false }]` in `[[links]]`") },
    Known { words: &["node", "ue", "mobile", "station", "phone"], among: "occurrences", answer: Name("host") },
    Known { words: &["buffer", "bufferlimit", "buffersize"], among: "buffer_limit", answer: Text("this protocol has one field for it: write `buffer_limit = \"64 pkt\"`") },
    // Mobility protocols have constants for what no paper, example or study sets.
    Known { words: &["sizes", "registrationretransmit", "registrationprocessing", "pendingtimeout", "updateretransmit", "correspondentretransmit", "retransmitlimit", "updateretransmitlimit", "warninginterval", "semisoftdelay", "pagingtimeout", "activestatetimeout", "retransmissions", "retransmit", "aggregaterefresh", "release", "tree", "binding", "staytimeout", "retries", "prepareretransmit", "prepareretries", "updateretries", "attachretransmit", "attachretransmitlimit", "forwardingoverhead", "reorderingwait", "anchorchoice"], among: "domain", answer: CONSTANT },
    Known { words: &["lostbeacons"], among: "beacon_interval", answer: CONSTANT },
    Known { words: &["validity"], among: "candidates", answer: CONSTANT },
    Known { words: &["retransmit", "retries"], among: "idle_after", answer: CONSTANT },
    Known { words: &["flush"], among: "longest_wait", answer: CONSTANT },
    // Names of earlier versions: what left the format stays answered (docs/versions.md).
    Known { words: &["vegasalpha", "vegasbeta", "vegasgamma"], among: "spurious_detection", answer: Text("this is a parameter of Vegas: write `congestion_control = { kind = \"vegas\", alpha = \"2 pkt\" }`, with `beta` and `gamma` there too") },
    Known { words: &["ns2quirks", "flowcontrol", "rtoarithmetic", "reductionbase", "cutbase", "strictdupacks", "growonrecoveryexit", "recoveryburst", "timeoutkeepsdupacks", "rearmwhenidle", "freetimestamps", "timestampsize", "acktimestampsize", "sackoverhead", "ecnonretransmissions"], among: "spurious_detection", answer: Text("this follows from the profile: leave it out, and write the `profile` that you mean") },
    Known { words: &["markedatfull"], among: "forwarded_at_full", answer: Name("forwarded_at_full") },
    Known { words: &["countmarked"], among: "count_forwarded", answer: Name("count_forwarded") },
    Known { words: &["advertisementlifetime"], among: "advertisement_interval", answer: Text("it had no effect: leave it out") },
    // Profiles.
    Known { words: &["linux", "linux5", "linux4", "linux61", "linux612", "linux515", "ubuntu", "kernel"], among: "linux-6", answer: Name("linux-6") },
    Known { words: &["ns", "ns2", "ns234", "ns235", "ns2linux"], among: "ns2-2009", answer: Name("ns2-2009") },
    Known { words: &["ns3", "rfc5681", "rfc793", "rfc9293", "ietf", "standard", "default", "omnet", "inet"], among: "linux-6", answer: Name("rfc") },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_freed_of_its_class_case_and_hyphens() {
        for (name, word) in [
            ("ns3::TcpNewReno", "newreno"),
            ("ns3::DropTailQueue<Packet>", "droptail"),
            ("FqCoDelQueueDisc", "fqcodel"),
            ("Agent/TCP/Sack1", "sack1"),
            ("TCP Cubic", "cubic"),
            ("net.ipv4.tcp_rmem", "rmem"),
            ("TCP", "tcp"),
            ("802.11", "80211"),
        ] {
            assert_eq!(plain(name), word, "{name}");
        }
    }

    #[test]
    fn a_word_means_something_where_its_name_is_known_and_nothing_elsewhere() {
        let links = ["between", "rate", "delay", "reverse_delay"];
        assert_eq!(meaning("DataRate", &links), Some(Meaning::Name("rate".into())));
        assert_eq!(meaning("Delay", &links), Some(Meaning::Name("delay".into())));
        assert_eq!(meaning("DataRate", &["duration"]), None);
        assert_eq!(meaning("rate_mbps", &links), Some(Meaning::Name("rate".into())));
        let transports = ["tcp", "quic", "quinn", "udp"];
        let Some(Meaning::Text(text)) = meaning("cubic", &transports) else { panic!("no answer") };
        assert!(text.ends_with("write `{ kind = \"tcp\", congestion_control = \"cubic\" }`"), "{text}");
        let Some(Meaning::Text(text)) = meaning("ns3::TcpNewReno", &transports) else { panic!("no answer") };
        assert!(text.ends_with("write `{ kind = \"tcp\", variant = \"newreno\" }`"), "{text}");
    }

    #[test]
    fn each_word_is_written_as_it_is_looked_up() {
        for row in KNOWN {
            assert!(row.words.iter().all(|word| plain(word) == *word), "{:?}", row.words);
        }
    }
}
