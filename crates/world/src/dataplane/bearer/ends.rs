//! The ends of a bearer: at a host, and at a base station.

use super::alarm::{Alarm, Causes};
use super::arrived::Arrived;
use super::sending::{Sdu, Sending, State};
use super::witness::Witness;
use crate::context::Context;
use crate::ids::AgentIndex;
use roamlab_engine::Time;
use roamlab_mobility::BearerValues;
use roamlab_packet::{Addr, Counts, Waiting};
use roamlab_radio::bearer::Receiver;
use roamlab_record::cause::CauseId;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A time at which an end is to be looked at, and for what.
pub type Deadline = (Time, &'static str);

fn first<const N: usize>(deadlines: [(&'static str, Option<Time>); N]) -> Option<Deadline> {
    let pending = deadlines.into_iter().filter_map(|(name, due)| Some((due?, name)));
    pending.min_by_key(|(due, _)| *due)
}

/// A packet that waits for a number.
#[derive(Clone, Debug)]
pub struct Line {
    /// The packet.
    pub packet: Waiting,
    /// Base stations that have a copy of it.
    pub copied: Vec<Addr>,
}

/// The end of a bearer at a host.
#[derive(Clone, Debug)]
pub struct HostEnd {
    /// The values of the bearer.
    pub values: BearerValues,
    /// Its packets to the network.
    pub sending: Sending,
    /// Packets that wait until some of those before them are confirmed.
    pub line: VecDeque<Line>,
    /// Its packets from the network.
    pub receiver: Receiver<Arrived>,
    /// The packets that this receiver has seen.
    pub witness: Witness,
    /// When it began again: what was sent before is of the old bearer.
    pub restarted: Time,
    /// It has no connection: it sends nothing, and hears nothing.
    pub suspended: bool,
    /// When it is looked at next.
    pub alarm: Alarm,
    /// Cause of its losses.
    pub causes: Causes,
}

impl HostEnd {
    /// An end before the first packet.
    pub fn new(values: BearerValues) -> HostEnd {
        HostEnd {
            values,
            sending: Sending::new(values),
            line: VecDeque::new(),
            receiver: Receiver::new(0, values.sn_bits, values.t_reordering),
            witness: Witness::default(),
            restarted: Time::ZERO,
            suspended: false,
            alarm: Alarm::default(),
            causes: Causes::default(),
        }
    }

    /// The packets that wait here.
    pub fn waiting(&self) -> impl Iterator<Item = &Waiting> {
        let line = self.line.iter().map(|line| &line.packet);
        let stored = self.receiver.stored().map(|arrived| &arrived.packet);
        line.chain(stored).chain(self.sending.waiting())
    }

    /// How many packets wait here.
    pub fn packets(&self) -> usize {
        self.waiting().count()
    }

    /// When the first of its timers expires, or something else is to be looked at. `waits`: since when the first packet waits
    /// for a link; `has_uplink`: the host has one.
    pub fn next_deadline(&self, has_uplink: bool, waits: Option<Time>, cx: &Context) -> Option<Deadline> {
        let line = self.line.front().and_then(|line| cx.pool.since(&cx.pool[&line.packet]));
        let oldest = [line, waits].into_iter().flatten().min();
        let of_waiting = oldest.zip(self.values.discard_timer).map(|(since, wait)| since + wait);
        first([
            ("t-Reordering", self.receiver.deadline()),
            ("discardTimer", self.sending.transmitter.deadline()),
            ("a timer of RLC", self.sending.repair.deadline().filter(|_| has_uplink)),
            ("a confirmation", self.sending.next_confirmation().filter(|_| !self.line.is_empty())),
            ("discardTimer of what waits", of_waiting),
        ])
    }
}

/// The end of a bearer at a base station.
#[derive(Clone, Debug)]
pub struct StationEnd {
    /// The agent that it belongs to.
    pub slot: AgentIndex,
    /// The values of the bearer.
    pub values: BearerValues,
    /// It knows at which numbers it continues.
    pub adopted: bool,
    /// Another base station gives the numbers that follow.
    pub frozen: bool,
    /// When it was last frozen no more.
    pub resumed: Time,
    /// It was ended, and the host has not come since.
    pub ended: bool,
    /// When it was ended last: what was sent before is of the old bearer.
    pub restarted: Time,
    /// Its packets to the host.
    pub sending: Sending,
    /// Packets to the host that wait for a number.
    pub line: VecDeque<Line>,
    /// Packets from the host.
    pub receiver: Receiver<Arrived>,
    /// The packets that this receiver has seen.
    pub witness: Witness,
    /// Packets from the host that it no longer waited for when it was ended.
    pub given_up: Vec<u32>,
    /// Packets from the host, with their numbers, that came before the numbers were known.
    pub early: VecDeque<(u32, Arrived)>,
    /// The host has these packets: FMC, and later ones.
    pub skipped: (u32, BTreeSet<u32>),
    /// Base stations that get copies, and whether also of packets without a number.
    pub copies_to: (Vec<Addr>, bool),
    /// Of each base station that has got copies, the number behind the last one.
    pub copied: BTreeMap<Addr, u32>,
    /// The same of base stations that get no more: they may have copies, and drop them.
    pub withdrawn: BTreeMap<Addr, u32>,
    /// The same of base stations that got copies until it was ended.
    pub had_copied: BTreeMap<Addr, u32>,
    /// All packets with a lower number are, or were, also in a buffer or at another base station.
    pub handed_over: u32,
    /// When it is looked at next.
    pub alarm: Alarm,
    /// Cause of its losses.
    pub causes: Causes,
    /// The row of the causes of the last request about copies.
    pub copying: CauseId,
    /// (Central unit) the distributed unit through which the host is served.
    pub unit: Option<Addr>,
    /// (Distributed unit) it is to report what has happened to packets, when all confirmations have come.
    pub reports: bool,
}

impl StationEnd {
    /// An end whose numbers are not known yet.
    pub fn new(slot: AgentIndex, values: BearerValues) -> StationEnd {
        StationEnd {
            slot,
            values,
            adopted: false,
            frozen: false,
            resumed: Time::ZERO,
            ended: false,
            restarted: Time::ZERO,
            sending: Sending::new(values),
            line: VecDeque::new(),
            receiver: Receiver::new(0, values.sn_bits, values.t_reordering),
            witness: Witness::default(),
            given_up: Vec::new(),
            early: VecDeque::new(),
            skipped: (0, BTreeSet::new()),
            copies_to: (Vec::new(), false),
            copied: BTreeMap::new(),
            withdrawn: BTreeMap::new(),
            had_copied: BTreeMap::new(),
            handed_over: 0,
            alarm: Alarm::default(),
            causes: Causes::default(),
            copying: CauseId::NONE,
            unit: None,
            reports: false,
        }
    }

    /// It continues from these numbers.
    pub fn adopt(&mut self, counts: Counts) -> Vec<Arrived> {
        let is_new = !self.adopted;
        (self.adopted, self.frozen, self.ended) = (true, false, false);
        self.sending.transmitter.continue_at(counts.downlink);
        if counts == Counts::default() {
            // Packets that were sent elsewhere are of the old bearer.
            self.handed_over = 0;
        }
        if is_new || counts == Counts::default() {
            // Nothing is left in flight of a bearer that was here before. The host may have begun it again elsewhere since, so that
            // other packets have those numbers.
            self.sending.forget_abandoned(|_| true);
        }
        let new = Receiver::new(counts.uplink, self.values.sn_bits, self.values.t_reordering);
        self.witness = Witness::default();
        std::mem::replace(&mut self.receiver, new).restart()
    }

    /// True if a packet without a number may get the next one. `central`: it is at a central unit.
    pub fn may_number(&self, central: bool) -> bool {
        let has_way = !central || self.unit.is_some();
        self.adopted
            && !self.frozen
            && has_way
            && !(self.sending.repairs() && self.sending.transmitter.is_stalled())
    }

    /// True if the host has reported that it has the packet with this number.
    pub fn is_skipped(&self, number: u32) -> bool {
        number < self.skipped.0 || self.skipped.1.contains(&number)
    }

    /// The base stations that have got a copy of the packet with this number, without a notice to drop it.
    pub fn who_has(&self, number: u32) -> impl Iterator<Item = Addr> {
        let known = if self.ended { &self.had_copied } else { &self.copied };
        known.iter().filter(move |(_, behind)| number < **behind).map(|(target, _)| *target)
    }

    /// True if a base station has got a copy of the packet with this number, or may have one still.
    pub fn has_copied_to(&self, to: Addr, number: u32) -> bool {
        [&self.copied, &self.withdrawn].iter().any(|all| all.get(&to).is_some_and(|behind| number < *behind))
    }

    /// Only these base stations get copies from now on.
    pub fn withdraw_copies(&mut self, stay: &[Addr]) {
        for (target, behind) in std::mem::take(&mut self.copied) {
            if stay.contains(&target) {
                self.copied.insert(target, behind);
            } else {
                let known = self.withdrawn.entry(target).or_default();
                *known = behind.max(*known);
            }
        }
    }

    /// The packets that wait here.
    pub fn waiting(&self) -> impl Iterator<Item = &Waiting> {
        let line = self.line.iter().map(|line| &line.packet);
        let stored = self.receiver.stored().map(|arrived| &arrived.packet);
        let early = self.early.iter().map(|(_, arrived)| &arrived.packet);
        line.chain(stored).chain(early).chain(self.sending.waiting())
    }

    /// How many packets wait here.
    pub fn packets(&self) -> usize {
        self.waiting().count()
    }

    /// When it reports what has happened to packets, as far as it is known now.
    pub fn report_deadline(&self, now: Time) -> Option<Time> {
        let is_in_air = |(_, sdu): (u32, &Sdu)| matches!(sdu.state, State::OnLink(_));
        let waits = self.sending.transmitter.kept().any(is_in_air);
        (self.reports && !waits).then(|| self.sending.last_confirmation().unwrap_or(now))
    }

    /// The first packet without a confirmation, if others wait for that and nothing can bring it.
    pub fn dead_number(&self, cx: &Context) -> Option<u32> {
        let waits = self.adopted && !self.frozen && !self.line.is_empty() && !self.may_number(false);
        let is_under_way = |(_, sdu): (u32, &Sdu)| matches!(sdu.state, State::OnLink(_) | State::Below(_));
        let dead =
            waits && self.next_deadline(cx).is_none() && !self.sending.transmitter.kept().any(is_under_way);
        dead.then(|| self.sending.transmitter.first_unconfirmed())
    }

    /// True if something is left for the host: it waits for a number, or is to be sent again.
    pub fn has_for_host(&self) -> bool {
        !self.line.is_empty() || self.sending.waiting().next().is_some()
    }

    /// When a packet that waits for a number is to be looked at: the first one's discardTimer.
    fn line_deadline(&self, cx: &Context) -> Option<Time> {
        let wait = self.values.discard_timer?;
        let first = &self.line.front()?.packet;
        cx.pool.since(&cx.pool[first]).map(|since| since + wait)
    }

    /// When the first of its timers expires, or something else is to be looked at.
    pub fn next_deadline(&self, cx: &Context) -> Option<Deadline> {
        let stalled =
            (self.adopted && !self.frozen && !self.line.is_empty()).then(|| self.sending.next_confirmation());
        first([
            ("t-Reordering", self.receiver.deadline().filter(|_| !self.frozen)),
            ("discardTimer", self.sending.transmitter.deadline()),
            ("a timer of RLC", self.sending.repair.deadline()),
            ("a confirmation", stalled.flatten()),
            ("discardTimer of what waits", self.line_deadline(cx)),
            ("a report", self.report_deadline(cx.now)),
        ])
    }
}
