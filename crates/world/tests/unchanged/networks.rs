//! Random scenarios: a network by hand, and random fields of all that a scenario has.

use super::fields::{self, Dice, Fields, inline, lines};
use serde_json::{Map, Value};
use std::fmt::Write;

/// Fields of which many others depend.
const OFTEN: &[&str] = &[
    "variant",
    "recovery",
    "congestion_control",
    "ecn",
    "migration",
    "mark_ecn",
    "limit",
    "rules",
    "measurement",
    "medium",
    "trigger",
    "buffer",
    "conditional",
    "detection",
    "handoff",
    "scheme",
    "isolation",
    "tins",
    "spare_forwarded",
    "signal",
    "timestamps",
    "delayed_ack",
    "pacing",
    "spurious_detection",
];

/// Names that faults are drawn from, by protocol. A case with one that is no message is refused, and not recorded.
const FAULTS: &[(&str, &[&str])] = &[
    (
        "lte-x2",
        &[
            "conditional-reconfiguration",
            "connection-setup",
            "end-marker",
            "handover-cancel",
            "handover-command",
            "handover-confirm",
            "handover-preparation-failure",
            "handover-request",
            "handover-request-ack",
            "handover-success",
            "initial-context-setup",
            "measurement-control",
            "measurement-control-complete",
            "measurement-report",
            "modify-bearer-request",
            "modify-bearer-response",
            "path-switch-request",
            "path-switch-request-ack",
            "path-switch-request-failure",
            "pdcp-status-report",
            "random-access-preamble",
            "random-access-response",
            "reestablishment",
            "reestablishment-complete",
            "reestablishment-reject",
            "reestablishment-request",
            "rlf-indication",
            "service-request",
            "sn-status-transfer",
            "ue-context-release",
            "ue-context-release-command",
        ],
    ),
    ("cellular-ip", &["beacon", "paging-update", "route-update", "trigger"]),
    (
        "hawaii",
        &["acknowledge", "beacon", "path-setup", "previous", "refreshed-host", "registration", "reply"],
    ),
    ("mandm", &["attach", "beacon", "join", "moved", "trigger"]),
    (
        "fmipv6",
        &[
            "advertisement",
            "binding-acknowledge",
            "binding-update",
            "fback",
            "fbu",
            "hack",
            "hi",
            "prrtadv",
            "rtsolpr",
            "una",
        ],
    ),
    (
        "bcmp",
        &[
            "advertisement",
            "anchor-change",
            "attach",
            "attach-acknowledge",
            "login-request",
            "login-response",
            "logout",
            "logout-acknowledge",
            "notify",
            "page",
            "page-request",
            "path-acknowledge",
            "path-update",
            "prepare",
            "prepare-acknowledge",
            "prepare-request",
            "prepared",
            "registration-reply",
            "registration-request",
        ],
    ),
    (
        "mobile-ip",
        &[
            "agent-advertisement",
            "binding-acknowledge",
            "binding-update",
            "registration-reply",
            "registration-request",
        ],
    ),
];

/// The scenario of a case.
pub struct Case<'a> {
    fields: Fields<'a>,
    dice: Dice,
    /// How likely a field is.
    chance: f64,
    /// Flows so far.
    flows: usize,
    /// The profile of the run.
    profile: &'static str,
    /// The profiles of flows with changed rules.
    profiles: String,
    text: String,
}

/// The scenario of this number. Half of the cases have wires alone, as most of transport and queues needs no host.
pub fn text(schema: &Value, number: u64) -> String {
    let mut dice = Dice::of(number, "case");
    let fields = Fields { schema, case: number, often: OFTEN };
    let chance = dice.one_of(&[0.0, 0.02, 0.05, 0.15]);
    let mut case =
        Case { fields, dice, chance, flows: 0, profile: "", profiles: String::new(), text: String::new() };
    match number % 10 {
        0..=4 => case.wires(),
        5 | 6 => case.mobility(),
        7 => case.lte(),
        _ => case.wireless_lan(),
    }
    case.text + &case.profiles
}

impl Case<'_> {
    fn put(&mut self, text: &str) {
        self.text += text;
        self.text.push('\n');
    }

    fn run(&mut self, least: f64, most: f64) {
        self.profile = self.dice.one_of(&[
            "rfc",
            "rfc",
            "rfc",
            "linux-6",
            "linux-6",
            "linux-6-bbr",
            "ns2-2001",
            "ns2-2003",
            "ns2-2009",
        ]);
        let profile = self.profile;
        let seconds = self.dice.between(least, most);
        let numbers = if self.dice.chance(0.03) { "\nrandom_numbers = \"ns2\"" } else { "" };
        self.put(&format!("[run]\nduration = \"{seconds:.2} s\"\nprofile = \"{profile}\"{numbers}\n[record]\npackets = true\nvariables = true"));
        self.put("queues = [\"*\"]");
        let network = self.table("NetworkSpec", "", "network", 0.6);
        self.put(&format!("[network]\n{}", lines(&network)));
    }

    /// Fields of a definition, of which each is as likely as `factor` times the others.
    fn table(&mut self, name: &str, kind: &str, place: &str, factor: f64) -> Map<String, Value> {
        let node = self.fields.definition(name, kind);
        self.fields.some(
            node,
            place,
            factor * self.chance,
            &["queue", "uplink_queue", "measurement", "bearers", "scheduler", "medium"],
        )
    }

    fn queue(&mut self, place: &str) -> String {
        let kind = self.fields.kind("QueueSpec", place).to_owned();
        let node = self.fields.definition("QueueSpec", &kind);
        let fields = self.fields.some(node, place, 3.0 * self.chance, &[]);
        format!("{{ kind = \"{kind}\"{} }}", inline(&fields))
    }

    fn delay(&mut self, least: f64, most: f64) -> String {
        format!("\"{:.0} us\"", 1e6 * self.dice.between(least, most))
    }

    fn loss(&mut self) -> String {
        match self.dice.below(3) {
            0 => format!(
                "{{ kind = \"gilbert-elliott\", good_to_bad = {:.4}, bad_to_good = {:.3} }}",
                self.dice.between(0.002, 0.05),
                self.dice.between(0.1, 0.9)
            ),
            _ => format!("{:.4}", self.dice.between(0.002, 0.1)),
        }
    }

    /// Effects of a bottleneck on packets, as lines of a link.
    fn trouble(&mut self, end: f64) {
        if self.dice.chance(0.3) {
            let loss = self.loss();
            self.put(&format!("loss = {loss}"));
        }
        if self.dice.chance(0.3) {
            let loss = self.loss();
            self.put(&format!("reverse_loss = {loss}"));
        }
        for way in ["drops", "reverse_drops"] {
            if !self.dice.chance(0.4) {
                continue;
            }
            let mut all = Vec::new();
            for _ in 0..1 + self.dice.below(3) {
                let first = self.dice.below(150);
                let step = 1 + self.dice.below(40);
                let packets: Vec<String> =
                    (0..1 + self.dice.below(8)).map(|nth| (first + nth * step).to_string()).collect();
                let late = if self.dice.chance(0.6) {
                    format!(", delay = {}", self.delay(0.002, 0.6))
                } else {
                    String::new()
                };
                all.push(format!("{{ packets = [{}]{late} }}", packets.join(", ")));
            }
            self.put(&format!("{way} = [{}]", all.join(", ")));
        }
        if self.dice.chance(0.4) {
            let (from, gap) = (self.dice.between(0.1 * end, 0.7 * end), self.dice.between(0.02, 0.3 * end));
            let change = match self.dice.below(3) {
                0 => format!(
                    "rate = \"{:.0} bit/s\", delay = {}",
                    self.dice.between(2e5, 6e6),
                    self.delay(0.001, 0.15)
                ),
                1 => format!("delay = {}", self.delay(0.001, 0.15)),
                _ => format!("up = false }}, {{ at = \"{:.0} us\", up = true", 1e6 * (from + gap)),
            };
            self.put(&format!("changes = [{{ at = \"{:.0} us\", {change} }}]", 1e6 * from));
        }
    }

    /// A flow between two ends, and what it needs on the way back. Times are within this many seconds.
    fn flow(&mut self, from: &str, to: &str, end: f64, moves: bool) {
        let name = format!("f{}", self.flows);
        self.flows += 1;
        let place = format!("{name}.transport");
        let kind = self.dice.one_of(&["tcp", "tcp", "tcp", "quic", "quic", "udp"]);
        let transport = match kind {
            "udp" => String::new(),
            _ => {
                let mut fields = match kind {
                    "tcp" => {
                        let Fields { schema, case, .. } = self.fields;
                        let (mut fields, rules) = fields::tcp(schema, case, &place, self.chance, OFTEN);
                        if !rules.is_empty() {
                            let (of_run, rules) = (self.profile, lines(&rules));
                            self.profiles +=
                                &format!("[tcp_profiles.{name}]\nbased_on = \"{of_run}\"\n{rules}\n");
                            fields.insert("profile".into(), name.clone().into());
                        }
                        fields
                    }
                    _ => self.table("TransportSpec", kind, &place, 1.0),
                };
                if kind == "quic" && !moves {
                    fields.remove("migration");
                }
                let control = fields.get("congestion_control").map(Value::to_string).unwrap_or_default();
                if kind == "quic" && (control.contains("dctcp") || control.contains("prague")) {
                    fields.remove("congestion_control"); // they go by ECN
                }
                format!("transport = {{ kind = \"{kind}\"{} }}\n", inline(&fields))
            }
        };
        let start = self.dice.between(0.01, 0.25 * end);
        let app = match kind {
            "udp" => self.dice.one_of(&["cbr", "cbr", "voip", "video", "conference"]),
            _ => self.dice.one_of(&["ftp", "ftp", "ftp", "web", "dash"]),
        };
        let place = format!("{name}.app");
        let mut fields = match app {
            "cbr" => format!(
                ", rate = \"{:.0} bit/s\", packet = \"{:.0} B\"",
                self.dice.between(3e4, 2e6),
                self.dice.between(60.0, 1500.0)
            ),
            "ftp" if self.dice.chance(0.4) => format!(", size = \"{:.0} B\"", self.dice.between(3e3, 2e5)),
            "web" => format!(
                ", think = {}, object = \"{:.0} B\", objects = {}",
                self.delay(0.02, 1.0),
                self.dice.between(1e3, 3e4),
                1 + self.dice.below(4)
            ),
            "dash" => format!(
                ", segment = \"{:.0} ms\", startup = \"300 ms\", reservoir = \"500 ms\", cushion = \"1 s\", buffer = \"2 s\"",
                self.dice.between(200.0, 800.0)
            ),
            "voip" if self.dice.chance(0.5) => ", talkspurts = { on = \"300 ms\", off = \"200 ms\" }".into(),
            _ => String::new(),
        };
        if self.dice.chance(0.15) {
            write!(fields, ", stop = \"{:.0} us\"", 1e6 * self.dice.between(0.3 * end, end)).unwrap();
        }
        let written: Vec<String> = fields
            .split(", ")
            .filter_map(|field| field.split_once(" = "))
            .map(|(name, _)| name.to_owned())
            .collect();
        let written: Vec<&str> = written
            .iter()
            .map(String::as_str)
            .chain(["start", "stop", "start_within", "packets", "rate", "packet", "size"])
            .collect();
        let more =
            inline(&self.fields.some(self.fields.definition("AppSpec", app), &place, self.chance, &written));
        let dscp = if self.dice.chance(0.2) {
            format!("dscp = {}\n", self.dice.one_of(&[3, 8, 26, 34, 46, 48]))
        } else {
            String::new()
        };
        let two_way = if kind == "udp" && self.dice.chance(0.3) { "two_way = true\n" } else { "" };
        let change = if moves && kind != "udp" && self.dice.chance(0.25) {
            format!(
                "path_change = {{ {} }}\n",
                inline(&self.table("PathChangeSpec", "", &format!("{name}.change"), 3.0))
                    .trim_start_matches(", ")
            )
        } else {
            String::new()
        };
        self.put(&format!(
            "[[flows]]\nname = \"{name}\"\npath = [\"{from}\", \"{to}\"]\n{dscp}{two_way}{transport}{change}\
             app = {{ kind = \"{app}\", start = \"{:.0} us\"{fields}{more} }}",
            1e6 * start
        ));
        if app == "web" || app == "dash" {
            let carried = if self.dice.chance(0.5) {
                "transport = { kind = \"tcp\" }"
            } else {
                "transport = { kind = \"quic\" }"
            };
            self.put(&format!(
                "[[flows]]\nname = \"{name}-asks\"\npath = [\"{to}\", \"{from}\"]\n{carried}\napp = {{ kind = \"requests\", of = \"{name}\" }}"
            ));
        }
    }

    /// Two hops, of which the second one is narrow and in trouble.
    fn wires(&mut self) {
        // Some timers take ten seconds.
        let is_long = self.dice.chance(0.12);
        let (least, most, end) = if is_long { (10.5, 15.0, 10.0) } else { (0.8, 5.0, 3.0) };
        self.run(least, most);
        self.put("[[links]]\nbetween = [\"a\", \"r\"]\nrate = \"20 Mbit/s\"\ndelay = \"1 ms\"");
        let rate = self.dice.between(2e5, if is_long { 8e5 } else { 4e6 });
        let delay = self.delay(0.001, 0.12);
        self.put(&format!(
            "[[links]]\nbetween = [\"r\", \"b\"]\nrate = \"{rate:.0} bit/s\"\ndelay = {delay}"
        ));
        if self.dice.chance(0.25) {
            let (rate, delay) = (self.dice.between(1e5, 4e6), self.delay(0.001, 0.12));
            self.put(&format!("reverse_rate = \"{rate:.0} bit/s\"\nreverse_delay = {delay}"));
        }
        for (way, chance) in [("queue", 0.9), ("reverse_queue", 0.3)] {
            if self.dice.chance(chance) {
                let queue = self.queue(way);
                self.put(&format!("{way} = {queue}"));
            }
        }
        self.trouble(end);
        for _ in 0..self.dice.one_of(&[1, 1, 2, 3, 4]) {
            let (from, to) = if self.dice.chance(0.8) { ("a", "b") } else { ("b", "a") };
            self.flow(from, to, end, false);
        }
    }

    /// A cell below a router, and what else it has: a queue, a scheduler, a medium.
    fn cell(&mut self, name: &str, router: &str, rate: f64, more: &str) {
        let queue = self.queue(&format!("{name}.queue"));
        let (delay, wire) = (self.delay(0.0001, 0.01), self.delay(0.0001, 0.01));
        self.put(&format!(
            "[cells.{name}]\nrouter = \"{router}\"\nrate = \"{rate:.0} bit/s\"\ndelay = {delay}\nqueue = {queue}\n\
             backhaul = {{ rate = \"10 Mbit/s\", delay = {wire} }}\n{more}"
        ));
        if more.contains("medium") {
            return; // it decides itself what is lost, and whose turn it is
        }
        if self.dice.chance(0.2) {
            let loss = self.loss();
            self.put(&format!("loss = {loss}"));
        }
        if self.dice.chance(0.25) {
            let (weight, scheduler) =
                (self.dice.between(0.3, 4.0), self.dice.one_of(&["wfq", "round-robin", "proportional-fair"]));
            let queue = self.queue(&format!("{name}.bearer"));
            let weighs = scheduler == "wfq" && name == "bs1";
            let hosts = if weighs {
                format!(", hosts = {{ h0 = {{ weight = {weight:.2} }} }}")
            } else {
                String::new()
            };
            self.put(&format!(
                "scheduler = {{ kind = \"{scheduler}\" }}\nbearers = {{ queue = {queue}{hosts} }}"
            ));
        }
    }

    /// A tree of wires, and three cells below it.
    fn tree(&mut self) {
        for (upper, lower) in
            [("ch", "gw"), ("gw", "r1"), ("gw", "r2"), ("r1", "ar1"), ("r1", "ar2"), ("r2", "ar3")]
        {
            let delay = self.delay(0.001, 0.02);
            self.put(&format!(
                "[[links]]\nbetween = [\"{upper}\", \"{lower}\"]\nrate = \"10 Mbit/s\"\ndelay = {delay}"
            ));
        }
    }

    /// Visits of the three cells, in any order.
    fn visits(&mut self, end: f64) -> String {
        let mut at = 0.0;
        let mut visits = Vec::new();
        while at < end && visits.len() < 5 {
            let cell = if visits.is_empty() { "bs1" } else { self.dice.one_of(&["bs1", "bs2", "bs3"]) };
            if visits.last().is_none_or(|last: &String| !last.contains(cell)) {
                visits.push(format!("{{ cell = \"{cell}\", at = \"{:.0} us\" }}", 1e6 * at));
                at += self.dice.between(0.15, 0.8 * end);
            }
        }
        visits.join(", ")
    }

    fn faults(&mut self, protocol: &str) {
        let own = FAULTS.iter().find(|(name, _)| *name == protocol);
        let messages = own.map_or(&[][..], |(_, messages)| messages);
        for _ in 0..self.dice.one_of(&[0, 0, 1, 2]) {
            let message = messages[self.dice.below(messages.len() as u64) as usize];
            let fate = match self.dice.below(3) {
                0 => String::new(),
                1 => format!("delay = {}\n", self.delay(0.005, 0.4)),
                _ => "duplicate = true\n".into(),
            };
            let nth = 1 + self.dice.below(3);
            self.put(&format!("[[faults]]\nmessage = \"{message}\"\noccurrences = [{nth}]\n{fate}"));
        }
    }

    /// A mobility protocol, and a host that visits its cells.
    fn mobility(&mut self) {
        self.run(1.5, 4.0);
        let end = 3.0;
        let protocol = self.dice.one_of(&[
            "mobile-ip",
            "mobile-ip",
            "cellular-ip",
            "hawaii",
            "mandm",
            "fmipv6",
            "bcmp",
            "bcmp",
        ]);
        self.tree();
        for (cell, router) in [("bs1", "ar1"), ("bs2", "ar2"), ("bs3", "ar3")] {
            let rate = self.dice.between(4e5, 4e6);
            self.cell(cell, router, rate, "");
        }
        let fields = self.table("MobilitySpec", protocol, "mobility", 1.0);
        let domain = if ["cellular-ip", "hawaii", "mandm"].contains(&protocol) {
            "\ndomain = { gateway = \"gw\" }"
        } else {
            ""
        };
        self.put(&format!("[mobility]\nkind = \"{protocol}\"{domain}\n{}", lines(&fields)));
        let radio = self.dice.one_of(&["hard", "hard", "soft"]);
        let span = self.delay(0.002, 0.6);
        let span = if radio == "soft" { format!("overlap = {span}") } else { format!("gap = {span}") };
        let mut fields = self.table("RadioSpec", radio, "radio", 3.0);
        fields.remove(if radio == "soft" { "overlap" } else { "gap" });
        self.put(&format!("[radio]\nkind = \"{radio}\"\n{span}\n{}", lines(&fields)));
        self.hosts_and_flows(end, protocol);
    }

    fn hosts_and_flows(&mut self, end: f64, protocol: &str) {
        let hosts = self.dice.one_of(&[1, 1, 2]);
        for host in 0..hosts {
            let visits = self.visits(end);
            self.put(&format!("[[hosts]]\nname = \"h{host}\"\nhome = \"gw\"\nvisits = [{visits}]"));
        }
        for _ in 0..self.dice.one_of(&[1, 2, 3]) {
            let host = format!("h{}", self.dice.below(hosts));
            let (from, to) =
                if self.dice.chance(0.75) { ("ch", host.as_str()) } else { (host.as_str(), "ch") };
            self.flow(from, to, end, true);
        }
        self.faults(protocol);
    }

    /// LTE: measured handovers by schedule or by position.
    fn lte(&mut self) {
        self.run(1.5, 4.0);
        let end = 3.0;
        for (left, right) in [("ch", "gw"), ("gw", "r"), ("gw", "mme")] {
            let delay = self.delay(0.001, 0.01);
            self.put(&format!(
                "[[links]]\nbetween = [\"{left}\", \"{right}\"]\nrate = \"10 Mbit/s\"\ndelay = {delay}"
            ));
        }
        let by_position = self.dice.chance(0.4);
        for (cell, x) in [("bs1", 0.0), ("bs2", 300.0), ("bs3", 600.0)] {
            let rate = self.dice.between(1e6, 6e6);
            let mut more = String::new();
            if by_position {
                more = format!("transmitter = {{ position_m = [{x:?}, 0.0] }}\n");
            }
            if self.dice.chance(0.3) {
                writeln!(more, "individual_offset_db = {:.1}", 6.0 * self.dice.uniform() - 3.0).unwrap();
            }
            self.cell(cell, "r", rate, &more);
        }
        let fields = self.table("MobilitySpec", "lte-x2", "mobility", 1.0);
        let mut a3 = self.table("EventA3", "", "a3", 4.0);
        let (filter, trigger, period) = (
            self.dice.one_of(&[0, 0, 4, 8]),
            self.dice.one_of(&[0, 40, 100]),
            self.dice.one_of(&[10, 20, 40]),
        );
        a3.retain(|name, _| !["time_to_trigger", "filter_coefficient"].contains(&name.as_str()));
        let a3 = inline(&a3);
        self.put(&format!(
            "[mobility]\nkind = \"lte-x2\"\nmme = \"mme\"\nmeasurement = {{ time_to_trigger = \"{trigger} ms\", filter_coefficient = {filter}{a3} }}\n{}",
            lines(&fields)
        ));
        let mut measurement = self.table("MeasurementSpec", "", "radio.measurement", 3.0);
        measurement.retain(|name, _| !["signal", "period"].contains(&name.as_str()));
        let signal = if by_position { "positions" } else { "schedule" };
        let shadow = if by_position && self.dice.chance(0.5) {
            "path_loss = { shadowing_db = 6.0, correlation_m = 20.0 }\n"
        } else {
            ""
        };
        if !shadow.is_empty() {
            measurement.remove("path_loss");
        }
        self.put(&format!(
            "[radio]\nkind = \"hard\"\n[radio.measurement]\nsignal = \"{signal}\"\nperiod = \"{period} ms\"\n{shadow}{}",
            lines(&measurement)
        ));
        if by_position {
            let speed = self.dice.between(60.0, 400.0);
            self.put(&format!(
                "[[hosts]]\nname = \"h0\"\nhome = \"gw\"\nvisits = [{{ cell = \"bs1\", at = \"0 s\" }}]\ntrajectory = {{ waypoints_m = [[50.0, 20.0], [550.0, -10.0], [20.0, 30.0]], speed_m_per_s = {speed:.0}.0 }}"
            ));
            for _ in 0..self.dice.one_of(&[1, 2, 3]) {
                let (from, to) = if self.dice.chance(0.75) { ("ch", "h0") } else { ("h0", "ch") };
                self.flow(from, to, end, true);
            }
            self.faults("lte-x2");
        } else {
            self.hosts_and_flows(end, "lte-x2");
        }
    }

    /// Stations of 802.11, of which some roam.
    fn wireless_lan(&mut self) {
        self.run(0.8, 2.5);
        let end = 2.0;
        self.tree();
        let medium_kind = self.dice.one_of(&["dcf", "dcf", "dcf", "shared"]);
        let phy = self.dice.one_of(&["802.11b", "802.11b", "802.11a", "802.11g"]);
        for (cell, router) in [("bs1", "ar1"), ("bs2", "ar2"), ("bs3", "ar3")] {
            let mut fields = self.table("MediumSpec", medium_kind, "medium", 2.0);
            fields.retain(|name, _| !["phy", "basic_rate"].contains(&name.as_str()));
            let rate = match (medium_kind, phy) {
                ("shared", _) => self.dice.between(1e6, 6e6),
                (_, "802.11b") => self.dice.one_of(&[1e6, 2e6, 5.5e6, 11e6]),
                _ => self.dice.one_of(&[6e6, 12e6, 24e6, 54e6]),
            };
            if medium_kind == "dcf" {
                if phy != "802.11b" {
                    fields.remove("preamble");
                }
                fields.insert("phy".into(), phy.into());
                if self.dice.chance(0.4) {
                    fields.insert(
                        "rts_threshold".into(),
                        format!("{} B", self.dice.one_of(&[0, 200, 500])).into(),
                    );
                }
                if self.dice.chance(0.3) {
                    fields.insert("frame_loss".into(), self.dice.between(0.02, 0.5).into());
                }
            }
            self.cell(
                cell,
                router,
                rate,
                &format!("medium = {{ kind = \"{medium_kind}\"{} }}\n", inline(&fields)),
            );
        }
        let protocol = self.dice.one_of(&["mandm", "mobile-ip", "cellular-ip", "hawaii"]);
        let domain = if protocol == "mobile-ip" {
            "\nadvertisement_interval = \"100 ms\""
        } else {
            "\ndomain = { gateway = \"gw\" }"
        };
        self.put(&format!("[mobility]\nkind = \"{protocol}\"{domain}"));
        if medium_kind == "dcf" && self.dice.chance(0.6) {
            let fields = self.table("RadioSpec", "802.11", "radio", 2.0);
            self.put(&format!("[radio]\nkind = \"802.11\"\n{}", lines(&fields)));
        } else {
            let gap = self.delay(0.002, 0.2);
            self.put(&format!("[radio]\nkind = \"hard\"\ngap = {gap}"));
        }
        let hosts = 1 + self.dice.below(4);
        for host in 0..hosts {
            let visits = match self.dice.below(2) {
                0 => self.visits(end),
                _ => "{ cell = \"bs1\", at = \"0 s\" }".into(),
            };
            self.put(&format!("[[hosts]]\nname = \"h{host}\"\nhome = \"gw\"\nvisits = [{visits}]"));
        }
        for _ in 0..hosts + self.dice.below(2) {
            let host = format!("h{}", self.dice.below(hosts));
            let (from, to) =
                if self.dice.chance(0.5) { ("ch", host.as_str()) } else { (host.as_str(), "ch") };
            self.flow(from, to, end, true);
        }
    }
}
