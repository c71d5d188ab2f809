//! The scenario of a draw.

use super::draw::{Draw, START};
use super::table::{Protocol, Queue, Trouble};
use std::fmt::Write;

impl Draw {
    /// The scenario. The server is `a`, the other end `b`.
    pub fn text(&self) -> String {
        let mut text =
            format!("[run]\nduration = \"{:.3} s\"\nprofile = \"{}\"\n", self.duration, self.of_run());
        if !self.rules.is_empty() {
            writeln!(text, "[tcp_profiles.own]\nbased_on = \"{}\"", self.profile).unwrap();
            writeln!(text, "{}", self.rules.join("\n")).unwrap();
        }
        match self.trouble {
            Trouble::Move(protocol) => self.write_move(&mut text, protocol),
            _ => self.write_link(&mut text),
        }
        write!(
            text,
            "[[flows]]\nname = \"f\"\npath = [\"a\", \"b\"]\ntransport = {{ {} }}\napp = {{ kind = \"ftp\", start = \"{START} s\" }}\n\
             [record]\nqueues = []\npackets = true\nvariables = true\n",
            self.transport()
        )
        .unwrap();
        text
    }

    fn write_link(&self, text: &mut String) {
        let mut changes = String::new();
        for (from, until) in &self.gaps {
            write!(
                changes,
                "{{ at = \"{from:.3} s\", up = false }}, {{ at = \"{until:.3} s\", up = true }}, "
            )
            .unwrap();
        }
        let (loss, back) = match self.trouble {
            Trouble::Loss => (self.loss, 0.0),
            Trouble::AckLoss => (0.0, self.loss),
            _ => (0.0, 0.0),
        };
        let mut drops = String::new();
        if self.trouble == Trouble::Reordering {
            let packets = self.rate * self.duration / 8.0 / self.wire();
            let step = 1.0 / self.loss;
            let ordinals: Vec<String> =
                (1..=(packets / step) as u64).map(|n| ((n as f64 * step) as u64).to_string()).collect();
            if !ordinals.is_empty() {
                drops = format!(
                    "{{ packets = [{}], delay = \"{:.6} ms\" }}",
                    ordinals.join(", "),
                    self.late * 1e3
                );
            }
        }
        write!(
            text,
            "[[links]]\nbetween = [\"a\", \"b\"]\nrate = \"{} bit/s\"\ndelay = \"{:.6} ms\"\nqueue = {}\nloss = {loss:.5}\n\
             reverse_loss = {back:.5}\nchanges = [{changes}]\ndrops = [{drops}]\n",
            self.rate,
            self.rtt * 500.0,
            self.queue()
        )
        .unwrap();
    }

    /// A server, a gateway, an agent or crossover node for each cell, and two cells with the path's rate and queue.
    fn write_move(&self, text: &mut String, protocol: Protocol) {
        let wire = 1e-3 * (self.rtt / 2.0 - 0.0005).max(0.0001) * 1e3;
        let wires = (self.rate * 10.0).max(1e7).round();
        let (kind, radio) = self.kind_and_radio(protocol);
        let mut link = |one: &str, other: &str, delay: f64| {
            write!(
                text,
                "[[links]]\nbetween = [\"{one}\", \"{other}\"]\nrate = \"{wires} bit/s\"\ndelay = \"{:.6} ms\"\n\
                 queue = {{ kind = \"droptail\", limit = \"20000 pkt\" }}\n",
                delay * 1e3
            )
            .unwrap();
        };
        link("a", "gw", wire);
        link("gw", "r1", 1e-4);
        link("gw", "r2", 1e-4);
        if protocol == Protocol::MobileIp {
            link("r1", "r2", 1e-4);
        }
        if protocol.commands() {
            link("gw", "mme", 1e-3);
        }
        let routers = if protocol.commands() { ["r1", "r1"] } else { ["r1", "r2"] };
        for (cell, router) in ["bs1", "bs2"].into_iter().zip(routers) {
            write!(
                text,
                "[cells.{cell}]\nrouter = \"{router}\"\nrate = \"{} bit/s\"\ndelay = \"0.1 ms\"\nqueue = {}\n\
                 backhaul = {{ rate = \"{wires} bit/s\", delay = \"0.1 ms\", queue = {{ kind = \"droptail\", limit = \"20000 pkt\" }} }}\n",
                self.rate,
                self.air_queue(protocol)
            )
            .unwrap();
        }
        write!(
            text,
            "[radio]\n{radio}\n[mobility]\n{kind}\n[[hosts]]\nname = \"b\"\nhome = \"gw\"\n\
             visits = [{{ cell = \"bs1\", at = \"0 s\" }}, {{ cell = \"bs2\", at = \"{:.3} s\" }}]\n",
            self.gaps[0].0
        )
        .unwrap();
    }

    /// The protocol, and how its hosts change cells.
    fn kind_and_radio(&self, protocol: Protocol) -> (String, String) {
        let event =
            "measurement = { hysteresis_db = 0.0, time_to_trigger = \"0 ms\", filter_coefficient = 0 }";
        let near = event.replace("{ ", "{ offset_db = -10.0, ");
        let measured = "kind = \"hard\"\nmeasurement = { period = \"10 ms\" }";
        let failing = "kind = \"hard\"\nmeasurement = { period = \"10 ms\", t310 = \"50 ms\", slope_db_per_s = 4000.0 }";
        // A central unit learns each 10 ms what has left the queue.
        let reported =
            if protocol == Protocol::NrByUnits { 0.012 * self.rate / 8.0 / self.wire() } else { 0.0 };
        // A packet that finds no room before the air gets no number.
        let bearer = format!("bearer = {{ queue_packets = \"{} pkt\" }}", (self.limit + reported).ceil());
        let nr = format!("kind = \"nr\"\namf = \"mme\"\n{bearer}");
        match protocol {
            Protocol::CellularIp => {
                ("kind = \"cellular-ip\"\ndomain = { gateway = \"gw\" }".into(), hard(self.gap()))
            }
            Protocol::Semisoft => (
                "kind = \"cellular-ip\"\nhandoff = \"semisoft\"\ndomain = { gateway = \"gw\" }".into(),
                "kind = \"soft\"\noverlap = \"200 ms\"".into(),
            ),
            Protocol::MobileIp => ("kind = \"mobile-ip\"".into(), hard(self.gap())),
            Protocol::Lte => (format!("kind = \"lte-x2\"\nmme = \"mme\"\n{event}"), measured.into()),
            Protocol::Nr => (format!("{nr}\n{event}"), measured.into()),
            Protocol::NrDual => (format!("{nr}\n{event}\ndaps = true"), measured.into()),
            Protocol::NrByCore => {
                (format!("{nr}\n{event}\nprocedure = \"n2\"\nforwarding = \"indirect\""), measured.into())
            }
            Protocol::NrConditional => {
                let condition = "events = [{ kind = \"a3\", offset_db = 0.0, time_to_trigger = \"0 s\" }]";
                (format!("{nr}\n{near}\nconditional = {{ {condition} }}"), measured.into())
            }
            Protocol::NrByUnits => {
                let ltm = "central_units = [\"r1\"]\nltm = { event = { offset_db = 0.0 } }";
                (format!("{nr}\n{near}\n{ltm}"), measured.into())
            }
            Protocol::NrFailing => (format!("{nr}\n{event}"), failing.into()),
        }
    }

    /// The queue of a cell. One behind a numbered bearer has room for all that has a number.
    fn air_queue(&self, protocol: Protocol) -> String {
        match self.queue {
            Queue::DropTail if protocol.is_numbered() => {
                "{ kind = \"droptail\", limit = \"20000 pkt\" }".into()
            }
            _ => self.queue(),
        }
    }

    fn queue(&self) -> String {
        let limit = self.limit;
        let ecn = self.ecn;
        let large = (10.0 * self.product()).max(1000.0).ceil();
        match self.queue {
            Queue::DropTail => format!("{{ kind = \"droptail\", limit = \"{limit} pkt\" }}"),
            Queue::Step => {
                let step = self.product().ceil().max(5.0);
                format!(
                    "{{ kind = \"red\", limit = \"{} pkt\", min_threshold = \"{step} pkt\", max_threshold = \"{} pkt\", max_p = 1.0, \
                     queue_weight = 1.0, mark_ecn = true, use_mark_p = true, mark_p_max = 2.0, gentle = false }}",
                    limit + step,
                    step + 1.0
                )
            }
            Queue::Red => {
                let least = self.product().ceil();
                format!(
                    "{{ kind = \"red\", limit = \"{} pkt\", min_threshold = \"{least} pkt\", max_threshold = \"{} pkt\", \
                     mark_ecn = {ecn} }}",
                    6.0 * least,
                    3.0 * least
                )
            }
            Queue::Codel => format!("{{ kind = \"codel\", limit = \"{large} pkt\", mark_ecn = {ecn} }}"),
            Queue::FqCodel => format!("{{ kind = \"fq-codel\", limit = \"{large} pkt\", mark_ecn = {ecn} }}"),
            Queue::Pie => format!("{{ kind = \"pie\", limit = \"{large} pkt\", mark_ecn = {ecn} }}"),
            Queue::DualPi2 => format!("{{ kind = \"dualpi2\", limit = \"{large} pkt\" }}"),
        }
    }

    /// The profile of the run: a built-in one, or one with the rules that were drawn.
    fn of_run(&self) -> &str {
        if self.rules.is_empty() { self.profile } else { "own" }
    }

    fn transport(&self) -> String {
        let (control, recovery) = (self.row.control, self.recovery);
        if self.row.transport == "quic" {
            return format!("kind = \"quic\", congestion_control = \"{control}\"");
        }
        let without_sack = ["tahoe", "reno", "newreno", "vegas"].contains(&recovery);
        let mut fields = match self.profile {
            "rfc" => {
                let variant = if without_sack { "reno" } else { "sack" };
                let of = &self.of_control;
                format!(
                    "variant = \"{variant}\", recovery = \"{recovery}\", congestion_control = {{ kind = \"{control}\"{of} }}"
                )
            }
            // A variant of Linux has its congestion control as in the kernel.
            "linux-6" if control == "reno" => "variant = \"sack\"".into(),
            "linux-6" => format!("variant = \"{control}\""),
            _ => format!("variant = \"{recovery}\""),
        };
        write!(fields, ", segment = \"{} B\", window = \"{} pkt\"", self.segment, self.window).unwrap();
        if self.ecn {
            fields += ", ecn = true";
        }
        for field in &self.fields {
            write!(fields, ", {field}").unwrap();
        }
        format!("kind = \"tcp\", {fields}")
    }
}

/// A hard handover; every second gap is drawn, within a microsecond of it.
fn hard(gap: f64) -> String {
    let most = (gap * 1e6).round();
    let ms = |micros: f64| format!("\"{:.3} ms\"", micros / 1e3);
    if (most as u64).is_multiple_of(2) {
        return format!("kind = \"hard\"\ngap = {}", ms(most));
    }
    format!(
        "kind = \"hard\"\ngap = {{ kind = \"uniform\", least = {}, most = {} }}",
        ms(most - 1.0),
        ms(most)
    )
}
