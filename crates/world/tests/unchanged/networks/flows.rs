//! Flows of random scenarios: a transport, an application, and what it needs on the way back.

use super::{Case, OFTEN};
use crate::unchanged::fields::{self, Fields, inline, lines};
use serde_json::Value;
use std::fmt::Write;

impl Case<'_> {
    /// A flow between two ends, and what it needs on the way back. Times are within this many seconds.
    pub(super) fn flow(&mut self, from: &str, to: &str, end: f64, moves: bool) {
        let name = format!("f{}", self.flows);
        self.flows += 1;
        let kind = self.dice.one_of(&["tcp", "tcp", "tcp", "quic", "quic", "udp"]);
        let transport = match kind {
            "udp" => String::new(),
            _ => self.transport(&name, kind, moves),
        };
        let start = self.dice.between(0.01, 0.25 * end);
        let app = match kind {
            "udp" => self.dice.one_of(&["cbr", "cbr", "voip", "video", "conference"]),
            _ => self.dice.one_of(&["ftp", "ftp", "ftp", "web", "dash"]),
        };
        let fields = self.app_fields(app, end);
        let place = format!("{name}.app");
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
        let change = if moves && kind != "udp" { self.path_change(&name) } else { String::new() };
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

    /// A transport with random fields, as a line of a flow.
    fn transport(&mut self, name: &str, kind: &str, moves: bool) -> String {
        let place = format!("{name}.transport");
        let mut fields = match kind {
            "tcp" => {
                let Fields { schema, case, .. } = self.fields;
                let (mut fields, rules) = fields::tcp(schema, case, &place, self.chance, OFTEN);
                if !rules.is_empty() {
                    let (of_run, rules) = (self.profile, lines(&rules));
                    self.profiles += &format!("[tcp_profiles.{name}]\nbased_on = \"{of_run}\"\n{rules}\n");
                    fields.insert("profile".into(), name.into());
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

    /// Fields that an application needs, and when it stops. Times are within this many seconds.
    fn app_fields(&mut self, app: &str, end: f64) -> String {
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
        fields
    }

    /// The reaction of a flow to a new path, if it has one.
    fn path_change(&mut self, name: &str) -> String {
        if !self.dice.chance(0.25) {
            return String::new();
        }
        let fields = self.table("PathChangeSpec", "", &format!("{name}.change"), 3.0);
        format!("path_change = {{ {} }}\n", inline(&fields).trim_start_matches(", "))
    }
}
