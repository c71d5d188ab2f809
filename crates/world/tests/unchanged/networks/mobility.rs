//! Random scenarios with hosts that visit cells by a protocol, and faults of its messages.

use super::Case;
use crate::unchanged::fields::lines;

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

impl Case<'_> {
    /// A tree of wires, and three cells below it.
    pub(super) fn tree(&mut self) {
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
    pub(super) fn visits(&mut self, end: f64) -> String {
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

    pub(super) fn faults(&mut self, protocol: &str) {
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
    pub(super) fn mobility(&mut self) {
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
        let mut fields = self.table("MobilitySpec", protocol, "mobility", 1.0);
        if let Some(authentication) = fields.get_mut("authentication") {
            *authentication = serde_json::json!({ "server": "gw" });
        }
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

    pub(super) fn hosts_and_flows(&mut self, end: f64, protocol: &str) {
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
}
