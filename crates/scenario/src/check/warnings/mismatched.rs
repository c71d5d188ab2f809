//! Warnings of fields that another part of the scenario makes useless. Examples: a queue that marks packets of which no
//! sender hears, a queue that spares packets which no protocol marks, a scan that ends between two beacons.
//!
//! Each is a group, of which the first field that is written counts.

use crate::check::mobility::fields_of;
use crate::check::queues::{goes_by_code_points, marks, queues};
use crate::problem::{Problem, quoted_key};
use crate::schema::{ForeignMarks, Scenario};
use roamlab_engine::{Bytes, Duration, Packets};
use roamlab_mobility::{MobilitySpec, Tunnels};
use roamlab_qdisc::{Parameters, QueueSpec};
use roamlab_radio::{CorrelatedLoss, LossSpec, MediumSpec, PlanSpec, Scan, Visit};
use serde_json::Value;
use std::collections::BTreeSet;

mod flows;
mod record;

use flows::of_flows;
use record::of_record;

/// All such warnings.
pub fn of_written(scenario: &Scenario) -> Vec<Vec<Problem>> {
    let mut found: Vec<_> = short_scans(scenario).into_iter().collect();
    found.extend(of_queues(scenario));
    if scenario.radio.overlap() == Duration::ZERO {
        for field in ["radio.duplicates", "radio.uplink"] {
            let problem = Problem::at(field, "without an `overlap` a host is in one cell at a time");
            found.push(vec![problem.help("write for example `overlap = \"100 ms\"`, or leave this out")]);
        }
    }
    found.extend(of_cells(scenario));
    found.extend(of_stations(scenario));
    found.extend(of_losses(scenario));
    found.extend(of_flows(scenario));
    found.extend(of_plans(scenario));
    found.extend(unused_tunnels(scenario));
    found.extend(of_protocols(scenario));
    found.extend(of_record(scenario));
    found
}

/// Fields of tunnels and signalling, where there is no protocol with either.
fn unused_tunnels(scenario: &Scenario) -> Vec<Vec<Problem>> {
    if scenario.mobility.is_some() {
        return useless_tunnels(scenario);
    }
    let signals =
        scenario.flows.iter().any(|flow| flow.path_change.is_some()) || scenario.radio.roaming().is_some();
    let warn = |field: &str| {
        let message = "there is no mobility protocol: nothing has a tunnel or signals";
        vec![
            Problem::at(format!("network.{field}"), message)
                .help("write a `[mobility]` protocol too, or leave this out"),
        ]
    };
    let fields = ["tunnel_overhead", "tunnel_ecn", "foreign_marks", "signalling_priority"];
    fields.into_iter().filter(|field| !signals || *field != "signalling_priority").map(warn).collect()
}

/// Fields of tunnels, where no protocol has one that reads it.
fn useless_tunnels(scenario: &Scenario) -> Vec<Vec<Problem>> {
    let warn = |field: &str, message: &str, help: &str| {
        vec![Problem::at(format!("network.{field}"), message).help(format!("{help}, or leave this out"))]
    };
    let all = |tunnels: &[Tunnels]| scenario.protocols().all(|(_, spec)| tunnels.contains(&spec.tunnels()));
    if all(&[Tunnels::None]) {
        let message = "the mobility protocol has no tunnels";
        return ["tunnel_overhead", "tunnel_ecn"]
            .map(|field| warn(field, message, "write a protocol with tunnels"))
            .into();
    }
    let mut found = Vec::new();
    if all(&[Tunnels::None, Tunnels::Own]) {
        let message = "the mobility protocol gives the size of its headers: no tunnel reads this";
        let own = |spec| fields_of(spec).is_some_and(|fields| fields.get("tunnel_overhead").is_some());
        let help = match scenario.protocols().any(|(_, spec)| own(spec)) {
            true => "write `mobility.tunnel_overhead`",
            false => "write another protocol",
        };
        found.push(warn("tunnel_overhead", message, help));
    }
    if !queues(scenario).into_iter().any(|(_, queue)| queue.is_some_and(marks)) {
        let message = "no queue of the network marks packets: tunnels have no marks to carry";
        found.push(warn("tunnel_ecn", message, "write a queue that marks"));
    }
    found
}

/// Scans that listen on a channel for less than the time between two beacons.
fn short_scans(scenario: &Scenario) -> Option<Vec<Problem>> {
    let wifi = scenario.radio.roaming().filter(|wifi| wifi.scan == Scan::Passive)?;
    let (listens, field) = (wifi.passive_channel_time, "radio.passive_channel_time");
    let intervals = scenario.cells.iter().filter_map(|(name, cell)| match &cell.medium {
        MediumSpec::Dcf(params) => Some((params.beacon_interval, name)),
        _ => None,
    });
    let (interval, cell) = intervals.max().filter(|&(interval, _)| interval > listens)?;
    let message = format!(
        "a host listens on a channel for {listens}, and beacons of \"{cell}\" are {interval} apart: it misses most cells"
    );
    let beacons = format!("cells.{}.medium.beacon_interval", quoted_key(cell));
    Some(vec![
        Problem::at(field, &message).help(format!("write at least \"{interval}\"")),
        Problem::at(beacons, message).help(format!("write at most \"{listens}\", or a longer `{field}`")),
    ])
}

/// Fields of stations of 802.11 that nothing reads, and requests that come behind the end of the run.
fn of_stations(scenario: &Scenario) -> Vec<Vec<Problem>> {
    let Some(wifi) = scenario.radio.roaming() else { return Vec::new() };
    let one = |field: &str, message: &str, help: &str| {
        vec![Problem::at(format!("radio.{field}"), message).help(help.to_owned())]
    };
    let mut found = Vec::new();
    for field in ["t310", "n310", "n311"] {
        let message = "a station of 802.11 loses its cell by beacons: nothing reads this";
        let help = "write `missed_beacons`, or leave this out";
        found.push(one(&format!("measurement.{field}"), message, help));
    }
    if wifi.background_scan.is_none() && wifi.transitions.is_empty() {
        for field in ["most_away", "home_time", "ap_held_frames"] {
            let message = "no host scans while it has a cell: nothing reads this";
            found.push(one(field, message, "write `background_scan` too, or leave this out"));
        }
    }
    if wifi.transitions.is_empty() {
        let message = "no base station asks its hosts to go to another cell: nothing reads this";
        found.push(one("on_transition", message, "write `transitions` too, or leave this out"));
    }
    let end = scenario.run.duration;
    for (number, spec) in wifi.transitions.iter().enumerate().filter(|(_, spec)| spec.at >= end) {
        let message =
            format!("the base station of \"{}\" asks at {}, and the run ends at {end}", spec.cell, spec.at);
        let help = "write an earlier time, or lengthen `run.duration`";
        found.push(one(&format!("transitions[{number}].at"), &message, help));
    }
    found
}

/// Buffers where no packet comes early, and marks that nothing reads.
fn of_protocols(scenario: &Scenario) -> Vec<Vec<Problem>> {
    let mut values = queues(scenario).into_iter().filter_map(|(_, queue)| serde_json::to_value(queue?).ok());
    let reads = values.any(|queue| goes_by_code_points(&queue))
        || scenario.network.foreign_marks != ForeignMarks::Clear;
    let own: BTreeSet<u64> = scenario.flows.iter().map(|flow| u64::from(flow.dscp.0)).collect();
    let mut found = Vec::new();
    for (table, spec) in scenario.protocols() {
        let Some(fields) = fields_of(spec) else { continue };
        let is = |field: &str, value: &str| fields.pointer(field).is_some_and(|own| own == value);
        if is("/trigger/by", "none") && is("/buffer/at", "new") && !is("/buffer/limit", "0 pkt") {
            let message = "no handover is announced before it comes: no packet is at the new base station before the host";
            let help = "write `trigger = { by = \"source\" }`, or `buffer.at = \"old\"`, or leave this out";
            let of = ["limit", "drop", "flush", "longest_wait"];
            found.push(
                of.iter()
                    .map(|part| Problem::at(format!("{table}.buffer.{part}"), message).help(help))
                    .collect(),
            );
        }
        let told = !is("/trigger/by", "none");
        if told
            && fields.get("move_when_prepared").is_some_and(|moves| *moves == true)
            && is_zero(&fields, "/trigger/missing")
        {
            let message =
                "with `move_when_prepared` a host moves when its handover is prepared: it is in no gap";
            let problem = Problem::at("radio.gap", message);
            found.push(vec![problem.help(format!("leave this out, or `{table}.move_when_prepared`"))]);
        }
        found.extend(sets_without_a_cell(scenario, &table, &fields).filter(|_| told));
        if !reads {
            let message = "no queue of the network uses the mark of forwarded packets";
            let help = "write a queue that does, for example `{ kind = \"mblue\" }`, or leave this out";
            let of = ["mark", "buffer.mark"];
            found.push(
                of.iter().map(|part| Problem::at(format!("{table}.{part}"), message).help(help)).collect(),
            );
        }
    }
    let marks: Vec<u64> =
        scenario.protocols().filter_map(|(_, spec)| Some(u64::from(spec.mark()?.0))).collect();
    if !marks.is_empty() && !marks.iter().any(|mark| own.contains(mark)) {
        let message = format!(
            "no flow has the mark of forwarded packets, {}, as its `dscp`: none comes from outside",
            marks[0]
        );
        let problem = Problem::at("network.foreign_marks", message);
        found.push(vec![problem.help(format!("write `dscp = {}` in a flow, or leave this out", marks[0]))]);
    }
    found
}

/// Sets of base stations to notify, of which none has the cell that a host goes to.
fn sets_without_a_cell(scenario: &Scenario, table: &str, fields: &Value) -> Option<Vec<Problem>> {
    let sets = fields.pointer("/trigger/sets").and_then(Value::as_object)?;
    let handovers = || scenario.hosts.iter().flat_map(|host| host.stays().windows(2));
    let has = |pair: &[Visit]| {
        let set = sets.get(&pair[0].cell).and_then(Value::as_array);
        set.is_some_and(|set| set.iter().any(|cell| *cell == pair[1].cell))
    };
    let pair = handovers().next().filter(|_| !handovers().any(has))?;
    let (from, to) = (&pair[0].cell, &pair[1].cell);
    let message = format!(
        "a host changes from \"{from}\" to \"{to}\", and no set has the cell that a host goes to: no other base station is notified"
    );
    let problem = Problem::at(format!("{table}.trigger.sets"), message);
    Some(vec![problem.help(format!("write `{from} = [\"{to}\"]`, or leave this out"))])
}

fn is_zero(fields: &Value, field: &str) -> bool {
    fields.pointer(field).and_then(Value::as_f64) == Some(0.0)
}

/// The code points of packets that a protocol forwards, or that a flow has.
fn code_points(scenario: &Scenario) -> BTreeSet<u64> {
    let of_protocol = |spec: &MobilitySpec| {
        let fields = fields_of(spec)?;
        let forwards = |field: &str| fields.pointer(field).is_none_or(|value| *value == true);
        let mark = fields.pointer("/buffer/mark").or_else(|| fields.get("mark"))?.as_u64()?;
        (forwards("/smooth_handoff") && forwards("/buffer/mark_forwarded")).then_some(mark)
    };
    let marks = scenario.protocols().filter_map(|(_, spec)| of_protocol(spec));
    let own = scenario.flows.iter().map(|flow| u64::from(flow.dscp.0)).filter(|&dscp| dscp != 0);
    marks.chain(own).collect()
}

/// True if a sender of the scenario is notified of congestion by marks.
fn hears_marks(scenario: &Scenario) -> bool {
    scenario.flows.iter().any(|flow| flow.transport.may_use_ecn(scenario.profiles()))
}

/// True if a flow's packets may have ECT(1): our Prague, or any control of the kernel.
fn has_l4s(scenario: &Scenario) -> bool {
    scenario.flows.iter().any(|flow| flow.transport.may_send_ect1(scenario.profiles()))
}

/// The largest IP datagram.
const LARGEST_PACKET: u64 = 65_535;

/// Queues that look for marks which no packet has, or that mark packets of flows which do not react to marks.
fn of_queues(scenario: &Scenario) -> Vec<Vec<Problem>> {
    let code_points = code_points(scenario);
    let hears = hears_marks(scenario);
    let l4s = has_l4s(scenario);
    let smallest = super::senseless::smallest_packet(scenario);
    let mut found = Vec::new();
    for (path, queue) in queues(scenario) {
        let Some(fields) = queue.and_then(|queue| serde_json::to_value(queue).ok()) else { continue };
        let own = WrittenQueue { scenario, path, fields };
        found.extend(own.spared(&code_points));
        found.extend(own.of_target(queue, smallest));
        found.extend(own.of_laws(l4s));
        found.extend(own.of_limits(hears));
    }
    found
}

/// A queue: its path in the scenario, and its fields.
struct WrittenQueue<'a> {
    scenario: &'a Scenario,
    path: String,
    fields: Value,
}

impl WrittenQueue<'_> {
    fn problem(&self, field: &str, message: &str, help: &str) -> Problem {
        Problem::at(format!("{}.{field}", self.path), message).help(help)
    }

    /// Packets that are spared, and are not there.
    fn spared(&self, code_points: &BTreeSet<u64>) -> Vec<Vec<Problem>> {
        let WrittenQueue { scenario, path, fields } = self;
        let problem = |field: &str, message: &str, help: &str| self.problem(field, message, help);
        let mut found = Vec::new();
        if let Some(mark) = fields.get("mark").and_then(Value::as_u64)
            && goes_by_code_points(fields)
            && !code_points.contains(&mark)
        {
            let spares =
                format!("code point {mark}, which no protocol or flow of this scenario gives to any");
            let message = format!("this queue spares packets with {spares}");
            let help = match code_points.first() {
                Some(other) => format!("write `mark = {other}`, as packets have"),
                None => {
                    "write a protocol that marks what it forwards, a flow with this `dscp`, or another queue"
                        .into()
                }
            };
            let mut group: Vec<_> =
                ["mark", "spare_forwarded"].iter().map(|field| problem(field, &message, &help)).collect();
            for (table, spec) in scenario.protocols() {
                let message = format!("the queue `{path}` spares packets with {spares}");
                let help = format!("write {mark}, or another `mark` in the queue");
                group.push(Problem::at(format!("{table}.buffer.mark"), &message).help(help));
                let is_off = |field: &str| {
                    fields_of(spec).is_some_and(|fields| fields.pointer(field) == Some(&Value::Bool(false)))
                };
                if is_off("/smooth_handoff") {
                    let help = "write `smooth_handoff = true`, or another queue";
                    group.push(Problem::at(format!("{table}.smooth_handoff"), &message).help(help));
                }
                if is_off("/buffer/mark_forwarded") {
                    let help = "write `buffer.mark_forwarded = true`, or another queue";
                    group.push(Problem::at(format!("{table}.buffer.mark_forwarded"), message).help(help));
                }
            }
            // To spare packets is all that these disciplines have beyond others.
            if fields.get("spare_forwarded").is_none() {
                group.push(problem("kind", &message, &help));
            }
            found.push(group);
        }
        if fields.get("tins").is_some_and(|tins| tins != "besteffort")
            && code_points.is_empty()
            && !scenario.flows.is_empty()
        {
            let message = "no packet has a code point: all are in one tin";
            found.push(vec![problem(
                "tins",
                message,
                "write `dscp = 46` in a flow, for example, or leave this out",
            )]);
        }
        found
    }

    /// A wait that each packet has, or none.
    fn of_target(&self, queue: Option<&QueueSpec>, smallest: Option<u64>) -> Vec<Vec<Problem>> {
        let WrittenQueue { scenario, path, fields } = self;
        let problem = |field: &str, message: &str, help: &str| self.problem(field, message, help);
        let mut found = Vec::new();
        let target = fields.get("target").and_then(|target| target.as_str()?.parse::<Duration>().ok());
        if let (Some(target), Some(smallest)) = (target, smallest)
            && let Some(takes) = super::senseless::packet_time(scenario, path, smallest)
            && target < takes
        {
            let message = format!(
                "one packet takes {takes} on this link: each that waits behind another waits longer than {target}"
            );
            found.push(vec![problem("target", &message, &format!("write more than \"{takes}\""))]);
        }
        if queue.is_some_and(|queue| queue.warning().is_none()) {
            found.extend(unreached_wait(scenario, path, fields).map(|warning| vec![warning]));
        }
        if target == Some(Duration::ZERO) {
            let message =
                "no packet waits for less: the queue has one packet at most without a drop or a mark";
            found.push(vec![problem("target", message, "write for example \"5 ms\"")]);
        }
        found
    }

    /// Parts of a law that no packet reaches, or that never act.
    fn of_laws(&self, l4s: bool) -> Vec<Vec<Problem>> {
        let WrittenQueue { scenario, fields, .. } = self;
        let problem = |field: &str, message: &str, help: &str| self.problem(field, message, help);
        let mut found = Vec::new();
        if fields.get("kind").is_some_and(|kind| *kind == "dualpi2") && !scenario.flows.is_empty() && !l4s {
            let message =
                "no flow of this scenario sends L4S packets, ECT(1): none enters the low-latency queue";
            let help = "write `variant = \"prague\"` in the `transport` of a flow, or leave this out";
            // Fields of the low-latency queue, or of both together.
            let fields = ["step", "coupling", "classic_share", "drop_on_overload"];
            found.push(fields.iter().map(|field| problem(field, message, help)).collect());
        }
        let is_zero = |field: &str| fields.get(field).is_some_and(|gain| gain.as_f64() == Some(0.0));
        if is_zero("d1") {
            let message = "the drop probability never rises: packets are lost only where the queue is full";
            found.push(vec![problem("d1", message, "write for example 1e-4, or another kind of queue")]);
        }
        if is_zero("alpha") && is_zero("beta") {
            let message =
                "with two gains of 0 the drop probability never changes: no packet is dropped early";
            let help = "write a number above 0 for one of the two, or leave both out";
            found.push(vec![problem("alpha", message, help), problem("beta", message, help)]);
        }
        found
    }

    /// A limit that another one precedes, and marks that no sender reacts to.
    fn of_limits(&self, hears: bool) -> Vec<Vec<Problem>> {
        let WrittenQueue { scenario, fields, .. } = self;
        let problem = |field: &str, message: &str, help: &str| self.problem(field, message, help);
        let mut found = Vec::new();
        let size = |field: &str| fields.get(field).and_then(Value::as_str);
        if let Some(packets) = size("limit").and_then(|limit| limit.parse::<Packets>().ok())
            && let Some(bytes) = size("limit_bytes").and_then(|limit| limit.parse::<Bytes>().ok())
            && bytes.0 >= u64::from(packets.0) * LARGEST_PACKET
        {
            let message = format!(
                "{packets} of {LARGEST_PACKET} B have less: the queue is full before it has as many bytes"
            );
            found.push(vec![problem("limit_bytes", &message, "write less, or a larger `limit`")]);
        }
        if !hears && !scenario.flows.is_empty() {
            let by_flag = fields.get("mark_ecn").is_some_and(|marks| *marks == true);
            let by_wait = fields.get("mark_above").is_some_and(|above| !above.is_null());
            let field = if by_flag { "mark_ecn" } else { "mark_above" };
            if by_flag || by_wait {
                let message = "no flow of this scenario uses ECN: this queue marks no packet";
                found.push(vec![problem(
                    field,
                    message,
                    "write `ecn = true` in the `transport` of a flow, or leave this out",
                )]);
            }
        }
        found
    }
}
/// A wait at which a discipline acts, and which no packet of its queue has: the queue is full before, or senders time out.
fn unreached_wait(scenario: &Scenario, path: &str, fields: &Value) -> Option<Problem> {
    let text = |field: &str| fields.get(field).and_then(Value::as_str);
    let waits = ["target", "ce_threshold", "mark_above", "step"];
    let (field, wait) =
        waits.iter().find_map(|field| Some((*field, text(field)?.parse::<Duration>().ok()?)))?;
    let packets = || text("limit").and_then(|limit| limit.parse::<Packets>().ok());
    let bytes = || text("limit_bytes").and_then(|limit| limit.parse::<Bytes>().ok());
    let largest = scenario.flows.iter().map(|flow| super::senseless::packet(scenario, flow)).max()?;
    let held =
        [packets().map(|limit| u64::from(limit.0).saturating_mul(largest)), bytes().map(|limit| limit.0)];
    let full = held.into_iter().flatten().min().filter(|bytes| *bytes < u64::MAX / 16);
    let drains = full.and_then(|bytes| super::senseless::packet_time(scenario, path, bytes));
    let message = match drains.filter(|drains| wait >= *drains) {
        Some(drains) => format!(
            "a full queue is empty after {drains} on this link: no packet waits for {wait}, and packets are lost only where the queue is full"
        ),
        None if wait >= super::slow::FIRST_TIMEOUT => {
            format!(
                "a sender waits {} for its first ACK: it times out before a packet waits for {wait}",
                super::slow::FIRST_TIMEOUT
            )
        }
        None => return None,
    };
    Some(Problem::at(format!("{path}.{field}"), message).help("write a shorter time, for example \"15 ms\""))
}

/// The longest frame with a packet of Ethernet's size: `dot11RTSThreshold` has 2347 B for "never".
const LONGEST_FRAME: Bytes = Bytes(2347);

/// Offsets that no host measures, and queues that no packet enters as each host has another one.
fn of_cells(scenario: &Scenario) -> Vec<Vec<Problem>> {
    let measured = scenario.radio.reported_measurement().is_some();
    let mut found = Vec::new();
    for (name, cell) in &scenario.cells {
        let at = |part: &str| format!("cells.{}.{part}", quoted_key(name));
        if !measured {
            let problem = Problem::at(at("individual_offset_db"), "no host measures: nothing reads this");
            found.push(vec![problem.help("write `[radio.measurement]` too, or leave this out")]);
        }
        if matches!(&cell.medium, MediumSpec::Dcf(params) if params.rts_threshold >= LONGEST_FRAME) {
            let message = "no frame is longer than `rts_threshold`: frames have the limit of short ones";
            let problem = Problem::at(at("medium.long_retry_limit"), message);
            found.push(vec![problem.help("write a smaller `rts_threshold`, or `short_retry_limit`")]);
        }
        let usual = crate::schema::BearersSpec::default().queue;
        let is_same = |one: &QueueSpec, other: &QueueSpec| {
            serde_json::to_value(one).ok() == serde_json::to_value(other).ok()
        };
        let is_given = |bearers: &crate::schema::BearersSpec| {
            !is_same(&bearers.queue, &usual) || bearers.hosts.values().any(|bearer| bearer.queue.is_some())
        };
        if cell.scheduler.is_some()
            && !cell.bearers.as_ref().is_some_and(is_given)
            && !is_same(&cell.queue, &usual)
        {
            let message = "this cell has a scheduler: each host has a queue of its own there, and no packet enters this one";
            let problem = Problem::at(at("queue"), message);
            found.push(vec![
                problem.help("write it as `bearers = { queue = … }` too, or leave `scheduler` out"),
            ]);
        }
        let Some(bearers) = &cell.bearers else { continue };
        let visitors =
            scenario.hosts.iter().filter(|host| scenario.cells_of(host).contains(&name.as_str())).take(2);
        let is_alone = visitors.count() == 1;
        for (host, bearer) in &bearers.hosts {
            let at = |part: &str| at(&format!("bearers.hosts.{}.{part}", quoted_key(host)));
            if is_alone {
                let problem =
                    Problem::at(at("weight"), "no other host enters this cell: it shares with none");
                found.push(vec![problem.help("add a host that enters this cell, or leave this out")]);
            }
            if let (Some(own), crate::schema::LinkRate::Constant(rate)) = (bearer.rate, &cell.rate)
                && own.as_bps() / super::senseless::TOO_MUCH >= rate.as_bps()
            {
                let message = format!(
                    "the link of this host has {own}, and that of its cell {rate}: a cell is no slower than its hosts"
                );
                found.push(vec![
                    Problem::at(at("rate"), message).help("write a lower rate, or leave it out: the cell's"),
                ]);
            }
        }
    }
    found
}

/// Losses in bursts that never begin, or in which fewer packets are lost than outside them.
fn of_losses(scenario: &Scenario) -> Vec<Vec<Problem>> {
    let mut losses = Vec::new();
    for (index, link) in scenario.links.iter().enumerate() {
        losses.push((format!("links[{index}].loss"), &link.loss));
        losses.push((format!("links[{index}].reverse_loss"), &link.reverse_loss));
    }
    for (name, cell) in &scenario.cells {
        let field = format!("cells.{}", quoted_key(name));
        losses.push((format!("{field}.loss"), &cell.loss));
        losses.push((format!("{field}.reverse_loss"), &cell.reverse_loss));
        losses.push((format!("{field}.backhaul.loss"), &cell.backhaul.loss));
        losses.push((format!("{field}.backhaul.reverse_loss"), &cell.backhaul.reverse_loss));
    }
    const MOST: f64 = 0.3; // a connection gets through no more
    let connects = scenario.flows.iter().any(|flow| flow.transport.has_connection());
    let warn = |(field, loss): (String, &Option<LossSpec>)| {
        if let Some(LossSpec::Independent(loss)) = loss
            && *loss >= MOST
            && connects
        {
            let message = format!(
                "{} of 100 packets are lost here: through this no connection of TCP or QUIC sends on",
                (1e4 * loss).round() / 1e2
            );
            let help = format!("write for {loss} % `{}`", (1e6 * loss / 100.0).round() / 1e6);
            return Some(vec![Problem::at(field, message).help(help)]);
        }
        let Some(LossSpec::Correlated(model)) = loss else { return None };
        let CorrelatedLoss::GilbertElliott(chain) = &**model else { return None };
        let (good, bad) = (chain.loss_in_good, chain.loss_in_bad);
        let problem = |part: &str, message: String, help: &str| {
            Problem::at(format!("{field}.{part}"), message).help(help)
        };
        if chain.good_to_bad == 0.0 {
            let message =
                "the link begins in the good state, and never leaves it: there are no bursts".to_owned();
            return Some(vec![problem(
                "good_to_bad",
                message,
                "write for example 0.003, or a number as `loss`",
            )]);
        }
        let message = match good == bad {
            true => format!("a packet is lost with {bad} in both states: losses come in no bursts"),
            false => {
                format!("fewer packets are lost in the bad state than in the good one, {bad} and {good}")
            }
        };
        let help = if good == bad {
            "write one number as `loss`, or a smaller one for the good state"
        } else {
            "exchange the two"
        };
        (good >= bad).then(|| {
            vec![problem("loss_in_good", message.clone(), help), problem("loss_in_bad", message, help)]
        })
    };
    losses.into_iter().filter_map(warn).collect()
}

/// Pairs of cells that are neighbours without being named.
fn of_plans(scenario: &Scenario) -> Vec<Vec<Problem>> {
    let mut found = Vec::new();
    for (index, host) in scenario.hosts.iter().enumerate() {
        let (Some(PlanSpec::RandomNeighbour(walk)), Some(planned)) = (&host.plan, &host.planned) else {
            continue;
        };
        let known = scenario.neighbours(walk, &planned.cells.names);
        for (number, pair) in walk.pairs.iter().enumerate() {
            let places: Vec<_> = pair
                .iter()
                .filter_map(|cell| planned.cells.names.iter().position(|name| name == cell))
                .collect();
            let &[one, other] = places.as_slice() else { continue };
            if known.contains(&(one, other)) || known.contains(&(other, one)) {
                let message = "these two cells are neighbours already, by `neighbours`: this changes nothing";
                let problem = Problem::at(format!("hosts[{index}].plan.pairs[{number}]"), message);
                found
                    .push(vec![problem.help(
                        "write `neighbours = \"pairs\"` for those pairs alone, or leave this one out",
                    )]);
            }
        }
    }
    found
}
