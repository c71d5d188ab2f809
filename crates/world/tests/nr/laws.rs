//! Laws that the record of each NR run keeps, whatever happens to it.
//!
//! 1. Each datagram has an end: it is delivered, or lost for a reason. None is delivered twice. (A copy of one that is
//!    delivered may be lost, too.)
//! 2. A reason needs what leads to it: a discardTimer that is over, a limit of a buffer, an expiry of t-Reordering. In
//!    acknowledged mode with forwarding, as long as the connection lasts, there is no other reason.
//! 3. Datagrams come in order, unless the guard has ended a wait for the end marker, or one was lost.
//! 4. Each message, end markers included, arrives or is a loss.
//! 5. Each packet that a base station has forwarded arrives once or is lost once.
//! 6. t-Reordering expires only if packets wait behind a gap, which are delivered at that time.
//! 7. T304 and T301 end by one of their causes.
//! 8. Late forwarding to candidates begins when a target has the host.
//! 9. Within a central unit there is no message of Xn and no end marker.
//! 10. A silence of the user plane has an explanation.
//! 11. A source forwards the bytes that it has when it begins, and those that come until the path is switched: no others.
//! 12. Each candidate gets as many bytes as the others, as long as they are prepared (early forwarding).

use super::excuses::{comes_back_early, guard_is_over, requests};
use crate::lab::record::{Loss, MS, Phase, Record, Release, Signal};
use roamlab_mobility::nr::{CandidateForwarding, Forwarding, Params};
use roamlab_mobility::{BearerValues, MobilitySpec, RlcMode};
use roamlab_world::Scenario;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Names of what a scenario permits.
pub struct Laws {
    params: Params,
    values: BearerValues,
    /// Packets are lost on the air at random.
    lossy: bool,
    /// A base station is in two nodes, and there is one.
    is_one_unit: bool,
    /// UDP flows with the time of the first datagram, and from one to the next, in ns.
    datagrams: BTreeMap<String, (u64, f64)>,
    /// There are other flows.
    has_streams: bool,
    /// A link delays single packets: the end marker may overtake them.
    delays: bool,
    /// From a server to the user plane function, in ns.
    before_core: u64,
    /// Messages that faults copy.
    copied: BTreeSet<String>,
    /// The flows stop before the run does.
    drains: bool,
}

/// Small buffers: some packets may find no room.
const SMALL: u32 = 1_000;
/// A silence that needs an explanation.
const SILENCE: u64 = 150 * MS;

impl Laws {
    /// The laws of a scenario. `None`: its mobility is not that of NR.
    pub fn of(text: &str) -> Laws {
        let scenario =
            Scenario::parse(text, "laws.toml").unwrap_or_else(|problem| panic!("{problem}\n{text}"));
        let specs: Vec<MobilitySpec> =
            scenario.mobility.iter().flat_map(|all| all.iter()).map(|(_, spec)| spec.clone()).collect();
        let [MobilitySpec::Nr(params)] = &specs[..] else { panic!("not a scenario of NR") };
        let table: toml::Table = text.parse().expect("a table");
        let flows = table["flows"].as_array().expect("flows");
        let mut datagrams = BTreeMap::new();
        for flow in flows.iter().filter(|flow| flow.get("transport").is_none()) {
            let app = &flow["app"];
            if app["kind"].as_str() == Some("cbr") {
                let start = time(app.get("start").and_then(toml::Value::as_str).unwrap_or("0 ms"));
                let bits = number(&app["packet"]) * 8.0;
                let name = flow["name"].as_str().expect("a name").to_owned();
                datagrams.insert(name, (start, bits / rate(&app["rate"]) * 1e9));
            }
        }
        Laws {
            values: params.bearer.values(),
            lossy: table["cells"].as_table().expect("cells").values().any(is_lossy),
            is_one_unit: params.central_units.len() == 1,
            has_streams: datagrams.len() < flows.len(),
            delays: table["links"]
                .as_array()
                .is_some_and(|links| links.iter().any(|link| link.get("drops").is_some())),
            before_core: table["links"]
                .as_array()
                .and_then(|links| links.first())
                .map_or(0, |link| time(word(&link["delay"]))),
            copied: faults(&table)
                .filter(|fault| fault.get("duplicate").is_some())
                .map(|fault| word(&fault["message"]).to_owned())
                .collect(),
            drains: flows.iter().all(|flow| flow["app"].get("stop").is_some()),
            params: params.clone(),
            datagrams,
        }
    }

    /// All laws that the record of a run breaks.
    pub fn broken(&self, record: &Record) -> Vec<String> {
        let mut broken = Vec::new();
        for flow in self.datagrams.keys() {
            self.ends(record, flow, &mut broken);
            self.order(record, flow, &mut broken);
        }
        self.reasons(record, &mut broken);
        self.messages(record, &mut broken);
        self.forwarded(record, &mut broken);
        self.expiries(record, &mut broken);
        self.timers(record, &mut broken);
        self.late_forwarding(record, &mut broken);
        self.inside_a_unit(record, &mut broken);
        self.silences(record, &mut broken);
        self.account(record, &mut broken);
        self.candidates(record, &mut broken);
        broken.truncate(12);
        broken
    }

    fn confirms(&self) -> bool {
        self.values.rlc == RlcMode::Am
    }

    /// Each datagram has one end.
    fn ends(&self, record: &Record, flow: &str, broken: &mut Vec<String>) {
        let mut ends: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        for delivery in record.delivered(flow) {
            ends.entry(delivery.seq).or_default().push(format!("delivered at {}", ms(delivery.time)));
        }
        // A host may give up a packet that it would have repeated: then its last end is that of the copy.
        let begins_again = record.phase("fully-configured", 0).is_some();
        let repeats = self.confirms() && (self.values.discard_timer.is_some() || begins_again);
        let copies = record.losses.iter().filter(|loss| repeats && &*loss.flow == flow);
        for loss in record.lost(flow).chain(copies) {
            let end = format!("{} at {} in {}", loss.reason, ms(loss.time), loss.place);
            ends.entry(loss.seq).or_default().push(end);
        }
        let sent = record.total(flow, "sent_pkts");
        let none: Vec<u64> = (0..sent).filter(|seq| !ends.contains_key(seq)).collect();
        let inside = record.census("inside");
        // In a run whose flows continue until its end the last ones are under way; or the host still asks for a connection.
        let last = |name: &str| {
            record.phases.iter().filter(|noted| &*noted.phase == name).map(|noted| noted.time).max()
        };
        let ends_open = !self.drains || last("service-requested") > last("service-restored");
        let under_way = ends_open && none.len() as u64 <= inside;
        if !none.is_empty() && !under_way {
            broken.push(format!("{flow}: datagrams {} have no end, {inside} are inside", few(&none)));
        }
        let came = |ends: &Vec<String>| ends.iter().filter(|end| end.starts_with("delivered")).count();
        let twice: Vec<_> = ends.iter().filter(|(_, ends)| came(ends) > 1).collect();
        if let Some((seq, ends)) = twice.first() {
            broken.push(format!("{flow}: {} datagrams are delivered twice, {seq}: {ends:?}", twice.len()));
        }
    }

    /// Datagrams come in order, unless the guard has ended a wait.
    fn order(&self, record: &Record, flow: &str, broken: &mut Vec<String>) {
        // Behind a new connection come packets that an old base station has forwarded for the last one.
        let is_lost_marker =
            |signal: &Signal| &*signal.message == "gtpu-end-marker" && signal.arrived.is_none();
        let excused = self.delays
            || record.phase("reordering-timed-out", 0).is_some()
            || record.signals.iter().any(is_lost_marker)
            || comes_back_early(record)
            || !self.lasts(record);
        // Packets to the server go the way of the base station that has received them, and one may be longer.
        let changes_way = |time: u64| {
            let changed = |noted: &Phase| {
                &*noted.phase == "handover-confirmed"
                    && (time.saturating_sub(500 * MS)..time).contains(&noted.time)
            };
            flow == "up" && record.phases.iter().any(changed)
        };
        let late: Vec<u64> = record
            .delivered(flow)
            .filter(|delivery| delivery.late_by > 0 && !changes_way(delivery.time))
            .map(|delivery| delivery.seq)
            .collect();
        if !late.is_empty() && !excused {
            broken.push(format!("{flow}: datagrams {} are overtaken", few(&late)));
        }
    }

    /// Reasons of losses, and what leads to each.
    fn reasons(&self, record: &Record, broken: &mut Vec<String>) {
        let mut strange: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let connected = record.phase("service-restored", 0).unwrap_or(u64::MAX);
        let lasts = self.lasts(record);
        for loss in record.losses.iter().filter(|loss| loss.loses_data() && &*loss.flow != "signalling") {
            let sent =
                self.datagrams.get(&*loss.flow).map(|(start, step)| start + (loss.seq as f64 * step) as u64);
            let right = match &*loss.reason {
                "discard-timer" => self
                    .values
                    .discard_timer
                    .is_some_and(|wait| sent.is_none_or(|sent| loss.time + 1_000 >= sent + wait.as_nanos())),
                "buffer-overflow" => {
                    self.params.buffer_limit.0 < SMALL || self.params.bearer.queue_packets.0 < SMALL
                }
                // Packets behind a discarded one are not repeated.
                "bearer-ended" if self.values.discard_timer.is_some() => true,
                // The host has not reached a target in time.
                "bearer-ended" if self.gives_up(record, loss) => true,
                // The tunnel through the user plane function has ended, and the path is not switched.
                "no-binding" if self.has_no_tunnel(record, loss.time) => true,
                // It has taken the forwarded packets to be over.
                "no-binding" if guard_is_over(record, loss) => true,
                // A source keeps what still comes for so long, and the path is switched later.
                "no-binding" if self.hold_is_over(record, loss) => true,
                "late" => record.expiries.iter().any(|expiry| expiry.time <= loss.time),
                _ => loss.time < connected || !self.confirms() || !self.forwards() || !lasts,
            };
            if !right {
                let one = format!("{} {} at {} in {}", loss.flow, loss.seq, ms(loss.time), loss.place);
                strange.entry(loss.reason.to_string()).or_default().push(one);
            }
        }
        for (reason, losses) in strange {
            broken.push(format!("{} lost, {reason}: {}", losses.len(), losses[0]));
        }
    }

    /// The source is released, and what it forwards through the user plane function is lost there.
    fn has_no_tunnel(&self, record: &Record, time: u64) -> bool {
        let releases =
            |signal: &&Signal| &*signal.message == "ng-ue-context-release-command" && signal.sent <= time;
        self.params.forwarding == Forwarding::Indirect
            && record.signals.iter().any(|signal| releases(&signal))
    }

    /// The base station of a loss has been released, or has sent the host's packets back, and its hold is over; or it has
    /// expected the host for as long as it does.
    fn hold_is_over(&self, record: &Record, loss: &Loss) -> bool {
        let leads = ["xn-ue-context-release", "xn-handover-cancel", "ng-ue-context-release-command"];
        let (hold, joining) = (self.params.timers.forwarding_hold.as_nanos(), self.joining());
        record.signals.iter().any(|signal| {
            let name = &*signal.message;
            let is_released = leads.contains(&name) && signal.destination == loss.place;
            let expects = requests(signal) && signal.destination == loss.place;
            let is_over = |wait: u64| signal.arrived.is_some_and(|time| time + wait <= loss.time);
            is_released && is_over(hold) || expects && is_over(joining)
        })
    }

    /// The base station of a loss has just expected the host for as long as it does.
    fn gives_up(&self, record: &Record, loss: &Loss) -> bool {
        record.signals.iter().any(|signal| {
            let expects = requests(signal) && signal.destination == loss.place;
            let until = signal.arrived.map(|time| time + self.joining());
            expects && until.is_some_and(|until| (until..until + 20 * MS).contains(&loss.time))
        })
    }

    /// How long a target expects a host, in ns.
    fn joining(&self) -> u64 {
        let timers = &self.params.timers;
        timers.joining.map_or(timers.t304.as_nanos() + 1_000 * MS, |joining| joining.as_nanos())
    }

    fn forwards(&self) -> bool {
        self.params.forwarding != Forwarding::None
    }

    /// The host has had one connection since it first had one, and its bearer has not begun again.
    fn lasts(&self, record: &Record) -> bool {
        let count = |name: &str| record.phases.iter().filter(|noted| &*noted.phase == name).count();
        let asked = record.signals.iter().any(|signal| &*signal.message == "ng-ue-context-release-request");
        let drops = self.params.forwarding == Forwarding::Indirect && count("handover-cancelled") > 0;
        // A target may forget the host before its source gives up, and a source what still comes back.
        let timers = &self.params.timers;
        let forgets = timers.joining.is_some() || timers.forwarding_hold.as_nanos() < 500 * MS;
        let recovers = self.params.ltm.as_ref().is_none_or(|ltm| ltm.repeat_recovery);
        count("service-restored") == 1
            && count("fully-configured") == 0
            && !asked
            && !drops
            && !forgets
            && recovers
    }

    /// Each packet that a base station has forwarded has one end.
    fn forwarded(&self, record: &Record, broken: &mut Vec<String>) {
        let of_datagrams = |flow: &str| self.datagrams.contains_key(flow);
        let sent: BTreeSet<u64> = record
            .releases
            .iter()
            .filter(|release| !release.to.is_empty() && of_datagrams(&release.flow))
            .map(|release| release.serial)
            .collect();
        let mut ends: BTreeMap<u64, u32> = sent.iter().map(|serial| (*serial, 0)).collect();
        let arrived = record.deliveries.iter().map(|delivery| delivery.serial);
        for serial in arrived.chain(record.losses.iter().map(|loss| loss.serial)) {
            if let Some(count) = ends.get_mut(&serial) {
                *count += 1;
            }
        }
        let is_wrong = |count: u32| count > 1 || count == 0 && self.drains;
        let wrong: Vec<u64> =
            ends.iter().filter(|(_, count)| is_wrong(**count)).map(|(serial, _)| *serial).collect();
        if !wrong.is_empty() {
            broken.push(format!("of {} forwarded packets {} have not one end", sent.len(), few(&wrong)));
        }
    }

    /// An expiry of t-Reordering at the host delivers packets.
    fn expiries(&self, record: &Record, broken: &mut Vec<String>) {
        if self.has_streams {
            return;
        }
        for expiry in record.expiries.iter().filter(|expiry| &*expiry.place == "ue") {
            if !record.deliveries.iter().any(|delivery| delivery.time == expiry.time) {
                broken.push(format!("t-Reordering expires at {} and nothing is delivered", ms(expiry.time)));
            }
        }
    }

    /// T304 of a handover that the host executes, and T301, end by one of their causes.
    fn timers(&self, record: &Record, broken: &mut Vec<String>) {
        let timers = &self.params.timers;
        let of_host = |name: &str, from: u64, until: u64| {
            let is_it = |time: u64, noted: &str| noted == name && from <= time && time <= until;
            record.phases.iter().any(|noted| is_it(noted.time, &noted.phase))
        };
        let come = |name: &str, from: u64, until: u64| {
            let times = record.signals.iter().filter(|signal| &*signal.message == name);
            times.filter_map(|signal| signal.arrived).any(|time| from <= time && time <= until)
        };
        for noted in record.phases.iter().filter(|noted| &*noted.phase == "handover-executed") {
            let until = noted.time + timers.t304.as_nanos();
            let ends = ["access-granted", "link-failed", "cell-found"];
            if until < record.end && !ends.iter().any(|name| of_host(name, noted.time, until)) {
                broken.push(format!("T304 of {} does not end", ms(noted.time)));
            }
        }
        let requests =
            record.signals.iter().filter(|signal| &*signal.message == "rrc-reestablishment-request");
        for request in requests {
            let (from, until) = (request.sent, request.sent + timers.t301.as_nanos());
            let answers = ["rrc-reestablishment", "rrc-fallback-setup", "rrc-no-context"];
            let ends = ["link-failed", "cell-found", "link-down", "service-requested", "radio-link-failure"];
            let ended = answers.iter().any(|name| come(name, from, until))
                || ends.iter().any(|name| of_host(name, from + 1, until + MS));
            if until < record.end && !ended {
                // It expires, and the host searches a cell.
                let searches = of_host("cell-found", until, until + 1_000 * MS);
                if !searches {
                    broken.push(format!("T301 of {} does not end", ms(from)));
                }
            }
        }
    }

    /// Late forwarding to candidates begins when a target has the host.
    fn late_forwarding(&self, record: &Record, broken: &mut Vec<String>) {
        let late = self.params.candidate_forwarding == CandidateForwarding::Late;
        if self.params.conditional.is_none() || !late {
            return;
        }
        let leads = [
            "xn-handover-success",
            "xn-ue-context-release",
            "xn-u-address-indication",
            "gtpu-end-marker",
            "xn-handover-cancel",
            "xn-handover-request",
            "ng-ue-context-release-command",
        ];
        for release in record.releases.iter().filter(|release| !release.to.is_empty()) {
            let led = record.signals.iter().any(|signal| {
                leads.contains(&&*signal.message)
                    && signal.destination == release.node
                    && signal.arrived.is_some_and(|time| time <= release.time)
            });
            if !led {
                let (node, time) = (&release.node, ms(release.time));
                broken.push(format!("\"{node}\" forwards at {time} before a target has the host"));
                return;
            }
        }
    }

    /// Within a central unit there is no message of Xn and no end marker.
    fn inside_a_unit(&self, record: &Record, broken: &mut Vec<String>) {
        let outside = |name: &str| name.starts_with("xn-") || name.starts_with("gtpu-");
        if self.is_one_unit
            && let Some(signal) = record.signals.iter().find(|signal| outside(&signal.message))
        {
            broken.push(format!("a central unit sends {} at {}", signal.message, ms(signal.sent)));
        }
    }

    /// Of a run with one handover: what the source forwards.
    fn account(&self, record: &Record, broken: &mut Vec<String>) {
        let started = |noted: &&Phase| &*noted.phase == "forwarding-started";
        let begins: Vec<&Phase> = record.phases.iter().filter(started).collect();
        let [begin] = begins[..] else { return };
        let switches = |noted: &&Phase| &*noted.phase == "path-switched" && noted.time > begin.time;
        let switched: Vec<u64> = record.phases.iter().filter(switches).map(|noted| noted.time).collect();
        let ends = ["handover-cancelled", "fully-configured", "service-requested", "forwarding-ended"];
        let disturbed = |noted: &Phase| ends[..3].contains(&&*noted.phase) && noted.time >= begin.time;
        let marked = record.phase(ends[3], begin.time).is_some();
        let [switch] = switched[..] else { return };
        // Until then the source may have delivered what was on the air.
        let leaves = record.phase("link-down", begin.time).unwrap_or(begin.time);
        let early = self.params.daps || self.params.candidate_forwarding == CandidateForwarding::Early;
        if record.phases.iter().any(disturbed) || self.has_streams || !marked || early || !self.forwards() {
            return;
        }
        for (flow, (start, step)) in self.datagrams.iter().filter(|(flow, _)| *flow != "up") {
            let of_source = |release: &&Release| {
                *release.node == *begin.node && !release.to.is_empty() && *release.flow == **flow
            };
            let sent: BTreeMap<u64, u64> = record
                .releases
                .iter()
                .filter(of_source)
                .map(|release| (release.seq, release.bytes))
                .collect();
            let (Some((&first, &bytes)), Some((&last, _))) = (sent.first_key_value(), sent.last_key_value())
            else {
                continue;
            };
            let in_core = |seq: u64| start + (seq as f64 * step) as u64 + self.before_core + bytes * 8;
            let got: BTreeMap<u64, u64> =
                record.delivered(flow).map(|delivery| (delivery.seq, delivery.time)).collect();
            let lost: BTreeSet<u64> = record.lost(flow).map(|loss| loss.seq).collect();
            let (before, behind): (Vec<u64>, Vec<u64>) =
                (first..=last + 100).partition(|seq| in_core(*seq) <= switch);
            // Earlier ones may be at the host already, behind a gap.
            let comes = |seq: &&u64| in_core(**seq) > begin.time;
            let owed = |seq: &&u64| {
                comes(seq) && !lost.contains(seq) && got.get(seq).is_none_or(|time| *time > leaves)
            };
            let due: Vec<u64> = before.iter().filter(owed).copied().collect();
            let missing: Vec<u64> = due.iter().filter(|seq| !sent.contains_key(seq)).copied().collect();
            let wrong: Vec<u64> = behind.into_iter().filter(|seq| sent.contains_key(seq)).collect();
            if !missing.is_empty() || !wrong.is_empty() || sent.values().any(|other| *other != bytes) {
                broken.push(format!(
                    "{flow}: \"{}\" does not forward {}, and forwards {} that the core sends to the target",
                    begin.node,
                    few(&missing),
                    few(&wrong)
                ));
            }
        }
    }

    /// Of two candidates that are prepared, and have got the first copies, each gets what the other one does.
    fn candidates(&self, record: &Record, broken: &mut Vec<String>) {
        if self.params.conditional.is_none() || self.params.candidate_forwarding == CandidateForwarding::Late
        {
            return;
        }
        let ends = [
            "xn-handover-cancel",
            "xn-handover-success",
            "xn-retrieve-ue-context-request",
            "ng-ue-context-release-command",
        ];
        for source in record.signals.iter().map(|signal| &signal.source).collect::<BTreeSet<_>>() {
            let told =
                |signal: &&Signal| signal.source == *source && &*signal.message == "xn-early-status-transfer";
            let mut ready: BTreeMap<&str, u64> = BTreeMap::new();
            for signal in record.signals.iter().filter(told) {
                ready.entry(&signal.destination).or_insert(signal.sent);
            }
            let Some(from) = ready.values().copied().max().filter(|_| ready.len() > 1) else { continue };
            let is_end = |signal: &&Signal| {
                let here = signal.source == *source || signal.destination == *source;
                here && signal.sent >= *ready.values().min().unwrap_or(&0) && ends.contains(&&*signal.message)
            };
            let until =
                record.signals.iter().filter(is_end).map(|signal| signal.sent).min().unwrap_or(record.end);
            let copies = |to: &str| -> Vec<(Rc<str>, u64, u64)> {
                let within = |release: &&Release| {
                    release.node == *source && &*release.to == to && (from + 1..until).contains(&release.time)
                };
                let row = |release: &Release| (release.flow.clone(), release.seq, release.bytes);
                record.releases.iter().filter(within).map(row).collect()
            };
            let all: Vec<_> = ready.keys().map(|to| copies(to)).collect();
            if all.iter().any(|other| *other != all[0]) {
                let bytes: Vec<u64> =
                    all.iter().map(|copies| copies.iter().map(|copy| copy.2).sum()).collect();
                broken.push(format!(
                    "\"{source}\" sends {bytes:?} B to its candidates from {} to {}",
                    ms(from),
                    ms(until)
                ));
            }
        }
    }

    /// Each message arrives or is a loss; one that is copied may do both.
    fn messages(&self, record: &Record, broken: &mut Vec<String>) {
        let lost: BTreeSet<u64> = record.losses.iter().map(|loss| loss.serial).collect();
        for signal in &record.signals {
            // A message that a fault delays may still be under way.
            let under_way = signal.arrived.is_none() && signal.sent + 2_000 * MS > record.end;
            let copied = signal.arrived.is_some() && self.copied.contains(&*signal.message);
            if signal.arrived.is_some() == lost.contains(&signal.serial) && !under_way && !copied {
                let (name, time) = (&signal.message, ms(signal.sent));
                broken.push(format!("{name} of {time} has not one end: arrived {:?}", signal.arrived));
            }
        }
    }

    /// A silence of the user plane has an explanation: a phase of a handover, or t-Reordering.
    fn silences(&self, record: &Record, broken: &mut Vec<String>) {
        // Datagrams may wait behind a stream's packets.
        if self.lossy || self.has_streams {
            return;
        }
        for (flow, (_, step)) in &self.datagrams {
            let times: Vec<u64> = record.delivered(flow).map(|delivery| delivery.time).collect();
            for pair in times.windows(2) {
                let (from, until) = (pair[0], pair[1]);
                if until - from < SILENCE + 2 * *step as u64 {
                    continue;
                }
                let span = from.saturating_sub(SILENCE)..=until;
                let phases = record.phases.iter().map(|noted| noted.time);
                let expiries = record.expiries.iter().map(|expiry| expiry.time);
                if !phases.chain(expiries).any(|time| span.contains(&time)) {
                    broken.push(format!(
                        "{flow}: nothing explains the silence from {} to {}",
                        ms(from),
                        ms(until)
                    ));
                }
            }
        }
    }
}

/// A time in ms, as text.
fn ms(time: u64) -> String {
    format!("{:.3} ms", time as f64 / MS as f64)
}

/// The first ones of a list, and how many there are.
fn few(all: &[u64]) -> String {
    let first: Vec<String> = all.iter().take(5).map(u64::to_string).collect();
    format!("{} ({} of them)", first.join(", "), all.len())
}

/// The faults of a scenario.
fn faults(table: &toml::Table) -> impl Iterator<Item = &toml::Value> {
    table.get("faults").and_then(toml::Value::as_array).into_iter().flatten()
}

fn word(value: &toml::Value) -> &str {
    value.as_str().expect("a word")
}

fn is_lossy(cell: &toml::Value) -> bool {
    cell.get("loss").and_then(toml::Value::as_float).is_some_and(|loss| loss > 0.0)
}

/// The number of a value with a unit.
fn number(value: &toml::Value) -> f64 {
    let text = value.as_str().expect("a value with a unit");
    text.split_once(' ').expect("a unit").0.parse().expect("a number")
}

fn rate(value: &toml::Value) -> f64 {
    let unit = match value.as_str().and_then(|text| text.split_once(' ')).expect("a unit").1 {
        "bit/s" => 1.0,
        "kbit/s" => 1e3,
        "Mbit/s" => 1e6,
        other => panic!("{other}"),
    };
    number(value) * unit
}

/// A time in ns.
fn time(text: &str) -> u64 {
    let (number, unit) = text.split_once(' ').expect("a unit");
    let unit = match unit {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        other => panic!("{other}"),
    };
    (number.parse::<f64>().expect("a number") * unit) as u64
}
