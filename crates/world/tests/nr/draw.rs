//! Random scenarios of NR: a procedure, a way of the host over two to four cells, values of its bearer, delays and losses of
//! the network, flows in both directions, and faults of messages.

use crate::lab::record::{Dice, Trouble};
use roamlab_mobility::Kind as _;
use roamlab_mobility::nr::Kind;
use std::fmt::Write;

/// Procedures, and lines of `[mobility]` for each.
pub const PROCEDURES: [(&str, &str); 10] = [
    ("xn", ""),
    ("xn without forwarding", "forwarding = \"none\"\n"),
    ("n2 without forwarding", "procedure = \"n2\"\nforwarding = \"none\"\n"),
    ("n2 direct", "procedure = \"n2\"\nforwarding = \"direct\"\n"),
    ("n2 indirect", "procedure = \"n2\"\nforwarding = \"indirect\"\n"),
    ("conditional late", ""),
    ("conditional early", "candidate_forwarding = \"early\"\n"),
    ("daps", "daps = true\n"),
    ("units", ""),
    ("ltm", ""),
];

/// A walk leaves this long behind the last visit, in ms: the host has a connection again. New data is offered
/// until a second before the end of that time.
pub const SETTLES: u64 = 15_000;
/// Time for packets to leave the network, in ms.
pub const DRAINS: u64 = 4_000;
/// The flows begin, in ms. The host has its first connection by then, unless its messages are lost.
const BEGINS: u64 = 500;

/// A random scenario.
#[derive(Clone, Debug)]
pub struct Draw {
    pub procedure: &'static str,
    mobility: &'static str,
    cells: usize,
    dice: DiceOf,
    pub duration_ms: u64,
    pub troubles: Vec<Trouble>,
}

/// Nothing recovers a message that is lost more often than its transport repeats it.
fn is_final(message: &str) -> bool {
    let starts = [
        "ng-path-switch",
        "ng-handover-notify",
        "sbi-",
        "n4-",
        "rrc-resume",
        "rrc-reconfiguration-complete",
        "f1",
    ];
    starts.iter().any(|start| message.starts_with(start))
}

/// The number of a draw: its parts have their own dice, so that a change of one changes no other.
#[derive(Copy, Clone, Debug)]
struct DiceOf(u64);

impl DiceOf {
    fn part(self, name: &str) -> Dice {
        Dice::of(self.0, &format!("nr/{name}"))
    }
}

impl Draw {
    /// The scenario of this number. `with_faults`: some of its messages are lost, late, or come twice.
    pub fn new(number: u64, with_faults: bool) -> Draw {
        let dice = DiceOf(number);
        let (procedure, mobility) = PROCEDURES[(number % PROCEDURES.len() as u64) as usize];
        let cells = 2 + dice.part("cells").below(3) as usize;
        let mut draw = Draw { procedure, mobility, cells, dice, duration_ms: 0, troubles: Vec::new() };
        if with_faults {
            draw.troubles = draw.faults();
        }
        draw
    }

    fn has_units(&self) -> bool {
        matches!(self.procedure, "units" | "ltm")
    }

    /// Single faults and pairs; some messages are lost more often than they are repeated.
    fn faults(&self) -> Vec<Trouble> {
        let mut dice = self.dice.part("faults");
        let absent: &[&str] = match self.procedure {
            "ltm" => &["ng-handover"],
            "units" => &["ng-handover", "pdcch-", "ltm-", "f1-du-cu-ta-", "f1-cu-du-ta-"],
            procedure if procedure.starts_with("n2") => {
                &["xn-", "f1", "mac-", "l1-", "rrc-ltm", "pdcch-", "ltm-", "rrc-cond"]
            }
            "daps" | "xn" | "xn without forwarding" => {
                &["ng-handover", "f1", "mac-", "l1-", "rrc-ltm", "pdcch-", "ltm-", "rrc-cond"]
            }
            _ => &["ng-handover", "f1", "mac-", "l1-", "rrc-ltm", "pdcch-", "ltm-"],
        };
        let is_absent = |name: &&str| absent.iter().any(|start| name.starts_with(start));
        let messages: Vec<&str> = Kind::NAMES.iter().copied().filter(|name| !is_absent(name)).collect();
        let mut troubles = Vec::new();
        for _ in 0..dice.below(4) {
            let (message, first) = (*dice.one_of(&messages), 1 + dice.below(4) as u32);
            let lost = Trouble::lost(message, first);
            let late = |ms| Trouble { delay_ms: Some(ms), ..lost.clone() };
            match dice.below(6) {
                0 | 1 => troubles.push(lost),
                2 if !is_final(message) => {
                    troubles.extend((first..first + 11).map(|number| Trouble::lost(message, number)));
                }
                2 => troubles.push(lost),
                3 => troubles.push(late(1 + dice.below(40))),
                4 => troubles.push(late(1 + dice.below(1_500))),
                _ => troubles.push(lost.copied(dice.below(300))),
            }
        }
        troubles
    }

    /// The name of a cell, and of the router that it hangs off.
    fn cell(&self, number: usize) -> (String, String) {
        let router = if self.has_units() { number.div_ceil(2) } else { number };
        (format!("gnb{number}"), format!("r{router}"))
    }

    /// The scenario as text.
    pub fn text(&mut self) -> String {
        let mut text = String::new();
        self.write_network(&mut text);
        self.write_mobility(&mut text);
        self.write_radio(&mut text);
        let until = self.write_host(&mut text);
        self.write_flows(&mut text, until);
        self.duration_ms = until + DRAINS;
        self.troubles.iter().for_each(|trouble| trouble.write(&mut text));
        format!("[run]\nduration = \"{} ms\"\n{text}", self.duration_ms)
    }

    fn write_network(&self, text: &mut String) {
        let mut dice = self.dice.part("network");
        let mut link = |left: &str, right: &str, delay: u64, rate: &str| {
            let _ = write!(
                text,
                "[[links]]\nbetween = [\"{left}\", \"{right}\"]\nrate = \"{rate}\"\ndelay = \"{delay} us\"\n\
                 queue = {{ kind = \"droptail\", limit = \"20000 pkt\" }}\n"
            );
        };
        link("server", "upf", 1_000 + dice.below(20_000), "1 Gbit/s");
        link("upf", "smf", 1_000, "1 Gbit/s");
        link("smf", "amf", 1 + dice.below(5_000), "1 Gbit/s");
        let routers = if self.has_units() { self.cells.div_ceil(2) } else { self.cells };
        let has_xn = !(self.procedure.starts_with("n2") && self.procedure != "n2 direct");
        for router in 1..=routers {
            link("amf", &format!("r{router}"), 500 + dice.below(8_000), "1 Gbit/s");
            link("upf", &format!("r{router}"), 500 + dice.below(15_000), "1 Gbit/s");
            for other in (router + 1..=routers).filter(|_| has_xn) {
                let rate = *dice.one_of(&["1 Gbit/s", "1 Gbit/s", "8 Mbit/s"]);
                link(&format!("r{router}"), &format!("r{other}"), 100 + dice.below(15_000), rate);
            }
        }
        let loss = *dice.one_of(&[0.0, 0.0, 0.0, 0.01, 0.1]);
        let delay = 500 + dice.below(4_000);
        for number in 1..=self.cells {
            let (name, router) = self.cell(number);
            let rate = *dice.one_of(&["2 Mbit/s", "10 Mbit/s", "50 Mbit/s"]);
            let _ = write!(
                text,
                "[cells.{name}]\nrouter = \"{router}\"\nrate = \"{rate}\"\ndelay = \"{delay} us\"\nloss = {loss}\n\
                 queue = {{ kind = \"droptail\", limit = \"20000 pkt\" }}\n\
                 backhaul = {{ rate = \"1 Gbit/s\", delay = \"{} us\", queue = {{ kind = \"droptail\", limit = \"20000 pkt\" }} }}\n",
                10 + dice.below(1_000)
            );
        }
    }

    fn bearer(&self) -> String {
        let mut dice = self.dice.part("bearer");
        let um = !["daps", "conditional early"].contains(&self.procedure)
            && !self.has_units()
            && dice.below(4) == 0;
        let mut fields = vec![format!("sn_bits = {}", dice.one_of(&[12, 18]))];
        let mut field = |name: &str, value: &str| fields.push(format!("{name} = {value}"));
        field("rlc", if um { "\"um\"" } else { "\"am\"" });
        field(
            "t_reordering",
            dice.one_of::<&str>(&["\"50 ms\"", "\"100 ms\"", "\"220 ms\"", "\"500 ms\"", "\"0 ms\""]),
        );
        field(
            "discard_timer",
            dice.one_of::<&str>(&["\"infinity\"", "\"infinity\"", "\"300 ms\"", "\"1500 ms\"", "\"50 ms\""]),
        );
        if dice.below(4) == 0 {
            field("queue_packets", dice.one_of::<&str>(&["\"5 pkt\"", "\"40 pkt\""]));
        }
        if dice.below(4) == 0 {
            field("status_report", "false");
        }
        if dice.below(3) == 0 {
            field("carry_age", "true");
        }
        if dice.below(4) == 0 {
            field("separate_signalling", "false");
        }
        if dice.below(2) == 0 {
            field("t_poll_retransmit", dice.one_of::<&str>(&["\"45 ms\"", "\"100 ms\"", "\"500 ms\""]));
            field("max_retx_threshold", dice.one_of::<&str>(&["1", "4", "32"]));
            field("t_status_prohibit", dice.one_of::<&str>(&["\"0 ms\"", "\"20 ms\""]));
            field("t_reassembly", dice.one_of::<&str>(&["\"0 ms\"", "\"35 ms\"", "\"100 ms\""]));
        }
        fields.join(", ")
    }

    fn write_mobility(&self, text: &mut String) {
        let mut dice = self.dice.part("mobility");
        let mut timers = vec![
            format!("t304 = \"{} ms\"", dice.one_of(&[50, 100, 200, 500, 2000])),
            format!("t301 = \"{} ms\"", dice.one_of(&[100, 400, 1000])),
            "t311 = \"1000 ms\"".into(),
            format!("preparation = \"{} ms\"", dice.one_of(&[20, 100, 1000])),
            format!("forwarding_hold = \"{} ms\"", dice.one_of(&[50, 1000])),
            format!("candidate = \"{} ms\"", dice.one_of(&[300, 2000, 10_000])),
        ];
        if dice.below(3) == 0 {
            timers.push(format!("overall = \"{} ms\"", dice.one_of(&[100, 300, 1000])));
        }
        if dice.below(4) == 0 {
            timers.push(format!("joining = \"{} ms\"", dice.one_of(&[150, 400])));
        }
        let _ = write!(
            text,
            "[mobility]\nkind = \"nr\"\namf = \"amf\"\nsmf = \"smf\"\n{}bearer = {{ {} }}\ntimers = {{ {} }}\n\
             sctp = \"{}\"\nguard = \"{} ms\"\nend_markers = {}\nadmission = \"{} ms\"\npath_switch = \"{} ms\"\n\
             release_after = \"{} ms\"\nbuffer_limit = \"{} pkt\"\nattempt_candidate = {}\n",
            self.mobility,
            self.bearer(),
            timers.join(", "),
            dice.one_of(&["ocudu", "srsran"]),
            dice.one_of(&[20, 100, 500]),
            dice.one_of(&[1, 1, 2, 3]),
            dice.one_of(&[0, 1, 30]),
            dice.one_of(&[0, 0, 20, 300, 2000]),
            dice.one_of(&[50, 300, 3000]),
            dice.one_of(&[16_384, 16_384, 30]),
            dice.below(2) == 0,
        );
        if !self.has_units() && self.procedure != "daps" && dice.below(3) == 0 {
            let from = dice.one_of(&["command", "acknowledge"]);
            let _ =
                write!(text, "command_delay = \"{} ms\"\nforward_from = \"{from}\"\n", 1 + dice.below(60));
        }
        let offset = *dice.one_of(&[-2.0, 0.0, 3.0]);
        let early = self.procedure.starts_with("conditional") || self.procedure == "ltm";
        let _ = writeln!(
            text,
            "measurement = {{ offset_db = {:.1}, time_to_trigger = \"{} ms\", filter_coefficient = {}, report_interval = \"{} ms\" }}",
            if early { -10.0 } else { offset },
            dice.one_of(&[0, 0, 40, 100]),
            dice.one_of(&[0, 0, 4]),
            dice.one_of(&[240, 1024]),
        );
        if self.procedure.starts_with("conditional") {
            let candidates = 1 + dice.below(4);
            let _ = writeln!(
                text,
                "conditional = {{ candidates = {candidates}, events = [{{ kind = \"a3\", offset_db = {offset:.1}, time_to_trigger = \"0 s\" }}] }}"
            );
        }
        self.write_units(&mut dice, offset, text);
    }

    fn write_units(&self, dice: &mut Dice, offset: f64, text: &mut String) {
        if !self.has_units() {
            return;
        }
        let units: Vec<String> =
            (1..=self.cells.div_ceil(2)).map(|number| format!("\"r{number}\"")).collect();
        let _ = writeln!(text, "central_units = [{}]", units.join(", "));
        if self.procedure == "ltm" {
            let _ = writeln!(
                text,
                "ltm = {{ event = {{ offset_db = {offset:.1} }}, timing_advance = \"{}\", attempt_candidate = {} }}",
                if dice.below(2) == 0 { "early-access" } else { "none" },
                dice.below(2) == 0
            );
        }
    }

    fn write_radio(&self, text: &mut String) {
        let mut dice = self.dice.part("radio");
        let _ = write!(
            text,
            "[radio]\nkind = \"hard\"\nin_flight_at_break = \"{}\"\n[radio.measurement]\nperiod = \"{} ms\"\n\
             t310 = \"{} ms\"\nn310 = {}\nslope_db_per_s = {:.1}\n",
            dice.one_of(&["lost", "delivered"]),
            dice.one_of(&[10, 10, 40]),
            dice.one_of(&[50, 200, 1000]),
            dice.one_of(&[1, 2, 4]),
            dice.one_of(&[20.0, 60.0, 400.0, 4000.0]),
        );
    }

    /// Until when new data is offered, in ms.
    fn write_host(&self, text: &mut String) -> u64 {
        let mut dice = self.dice.part("host");
        let (mut at, mut cell) = (1_500, 1);
        let mut visits = vec![(cell, 0)];
        for _ in 0..1 + dice.below(5) {
            let others: Vec<usize> = (1..=self.cells).filter(|other| *other != cell).collect();
            cell = *dice.one_of(&others);
            visits.push((cell, at));
            at += 10 + if dice.below(2) == 0 { dice.below(300) } else { dice.below(3_000) };
        }
        let visits: Vec<String> = visits
            .iter()
            .map(|(cell, at)| format!("{{ cell = \"{}\", at = \"{at} ms\" }}", self.cell(*cell).0))
            .collect();
        let _ = write!(text, "[[hosts]]\nname = \"ue\"\nhome = \"upf\"\nvisits = [{}]\n", visits.join(", "));
        at + SETTLES
    }

    fn write_flows(&self, text: &mut String, until: u64) {
        let mut dice = self.dice.part("flows");
        let mut flow = |name: &str, up: bool, transport: &str, app: &str| {
            let path = if up { "\"ue\", \"server\"" } else { "\"server\", \"ue\"" };
            let _ = write!(
                text,
                "[[flows]]\nname = \"{name}\"\npath = [{path}]\n{transport}\
                 app = {{ start = \"{BEGINS} ms\", stop = \"{until} ms\", {app} }}\n"
            );
        };
        let packet = "kind = \"cbr\", packet = \"250 B\"";
        let rate = *dice.one_of(&["100 kbit/s", "200 kbit/s", "200 kbit/s"]);
        flow("down", false, "", &format!("{packet}, rate = \"{rate}\""));
        flow("up", true, "", &format!("{packet}, rate = \"60 kbit/s\""));
        let packets = dice.one_of(&[200, 1500]);
        let file = format!("kind = \"ftp\", packets = \"{packets} pkt\"");
        let tcp = "transport = { kind = \"tcp\", variant = \"sack\", window = \"40 pkt\" }\n";
        let quic = "transport = { kind = \"quic\" }\n";
        match dice.below(5) {
            0 => flow("tcp", false, tcp, &file),
            1 => flow("tcp", true, tcp, &file),
            2 => flow("quic", false, quic, &file),
            3 => flow("quic", true, quic, &file),
            _ => {}
        }
        text.push_str("[record]\nqueues = []\n");
    }
}
