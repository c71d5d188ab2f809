//! The world: the parts of a run, the event loop, and the conservation laws.
//!
//! The parts are flows, the network, agents and stations. Each has private data; the signatures here name the values that pass
//! between them.

use crate::context::{Announcement, Context};
use crate::control::Agents;
use crate::dataplane::network::{LocalDelivery, Network, PlainInput};
use crate::endpoints::flows::{Carrier, Flows};
use crate::event::Event;
use crate::notices::PendingNotice;
use crate::run::options::{MemoryLimit, Progress, RunOptions, check_memory};
use crate::wifi::{Stations, Wlan};
use roamlab_engine::Time;
use roamlab_packet::PacketId;
use roamlab_record::Names;
use roamlab_record::Part;
use roamlab_record::cause::CauseId;
use roamlab_record::ids::{LinkId, NodeId};
use std::fmt;

/// All of a run.
#[derive(Clone, Debug)]
pub struct World {
    pub(crate) flows: Flows,
    pub(crate) planes: Planes,
    pub(crate) stations: Stations,
    /// Names of the record.
    pub(crate) names: Names,
    /// Events that have happened. The end of a transmission behind which nothing waits is none, though a trace
    /// may ask for it.
    pub(crate) events: u64,
    /// The event for [`dispatch_other`](Self::dispatch_other). As a parameter it would be in memory, and with it each event.
    pub(crate) rare: Option<Event>,
    /// Packets handed over by links.
    pub(crate) packet_hops: u64,
    /// Estimated memory of the network.
    pub(crate) size: Part,
}

/// Data plane and control plane: all that flows see as their [`Carrier`].
#[derive(Clone, Debug)]
pub(crate) struct Planes {
    /// Context of events.
    pub(crate) cx: Context,
    pub(crate) network: Network,
    pub(crate) agents: Agents,
}

impl Carrier for Planes {
    #[inline(always)]
    fn cx(&mut self) -> &mut Context {
        &mut self.cx
    }

    #[inline(always)]
    fn send(&mut self, from: NodeId, packet: PacketId) {
        self.network.ip_output(from, packet, &mut self.agents, &mut self.cx);
    }

    fn announce(&mut self, from: NodeId, announcement: Announcement) {
        self.agents.announce(from, announcement, &mut self.network, &mut self.cx);
    }

    fn holder(&self, ends: [NodeId; 2], serial: u64) -> Option<CauseId> {
        self.network.holder(ends, serial, &self.cx)
    }

    fn last_change(&self, node: NodeId) -> CauseId {
        self.network.last_change(node)
    }
}

/// A law was violated: the run ends without a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LawViolation {
    /// Which law, and the figures.
    pub law: String,
    /// When.
    pub time: Time,
}

impl std::error::Error for LawViolation {}

impl fmt::Display for LawViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {}: {}", self.time, self.law)
    }
}

/// Why a run has no result.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Failure {
    /// It violated a law.
    #[error(transparent)]
    Law(#[from] LawViolation),
    /// It would have taken more memory than it may.
    #[error(transparent)]
    Memory(#[from] MemoryLimit),
}

/// Events at one instant that no sane scenario reaches: a loop without delay.
const EVENTS_AT_ONE_INSTANT: u64 = 10_000_000;
/// Events between two checks that time advances and that the run is still wanted.
pub(crate) const EVENTS_BETWEEN_LOOKS: u64 = 1 << 14;

/// Events between two counts of the packets inside, with debug assertions. A packet that is missing stays missing.
const EVENTS_BETWEEN_CHECKS: u64 = 64;

impl World {
    /// Lets everything happen until `end`.
    ///
    /// It ends early, without a failure, when `options.keep_going` returns `false`.
    ///
    /// # Errors
    /// The law that was violated: conservation (checked often in debug builds, at the end always), progress
    /// of time, or that a node can do what its agents want. Or the memory that it would have taken.
    pub fn run(&mut self, end: Time, options: &RunOptions<'_>) -> Result<(), Failure> {
        self.advance(end, options)?;
        self.check_timers()?;
        Ok(self.check_conservation()?)
    }

    /// The same without the look at conservation in the end, which takes all of the network.
    pub(crate) fn advance(&mut self, end: Time, options: &RunOptions<'_>) -> Result<(), Failure> {
        let mut at_this_instant = 0;
        loop {
            let before = self.planes.cx.now;
            let looks_ahead = options.look_ahead.unwrap_or_else(|| self.is_large());
            let happened =
                if looks_ahead { self.run_events::<true>(end)? } else { self.run_events::<false>(end)? };
            if happened < EVENTS_BETWEEN_LOOKS || !self.may_go_on(options)? {
                return Ok(());
            }
            at_this_instant = if self.planes.cx.now > before { 0 } else { at_this_instant + happened };
            if at_this_instant > EVENTS_AT_ONE_INSTANT {
                return Err(self.violation("time does not advance".into()).into());
            }
        }
    }

    /// Lets a number of events happen, or fewer if no more are due until `end`; how many did. It is compiled twice, so that
    /// small networks do without the test whether to look ahead. Both in one function would share the registers.
    #[inline(never)]
    fn run_events<const LOOKS_AHEAD: bool>(&mut self, end: Time) -> Result<u64, LawViolation> {
        let mut left = EVENTS_BETWEEN_LOOKS;
        // Counted together: those that are left are subtracted.
        self.events += left;
        while left > 0 && self.planes.cx.scheduler.is_due(end) {
            left -= 1;
            if LOOKS_AHEAD {
                self.look_ahead();
            }
            let (time, event) = self.planes.cx.scheduler.pop_due();
            self.planes.cx.now = time;
            self.dispatch(event);
            if cfg!(debug_assertions) && left.is_multiple_of(EVENTS_BETWEEN_CHECKS) {
                self.check_conservation()?;
                self.check_timers()?;
            }
        }
        self.events -= left;
        self.intact(EVENTS_BETWEEN_LOOKS - left)
    }

    /// Number of events so far, unless an agent has violated a law. What happened after that is of no
    /// account.
    fn intact(&mut self, happened: u64) -> Result<u64, LawViolation> {
        let Planes { network, agents, .. } = &mut self.planes;
        match agents.violation().or_else(|| network.violation()) {
            None => Ok(happened),
            Some((law, time)) => Err(LawViolation { law, time }),
        }
    }

    pub(crate) fn may_go_on(&mut self, options: &RunOptions<'_>) -> Result<bool, Failure> {
        self.stream_record(options);
        let packets = self.planes.cx.pool.census().inside() as usize;
        if let Some(limit) = options.memory {
            let parts = self.planes.cx.parts().chain([self.size]);
            check_memory(parts, packets, limit, self.planes.cx.now)?;
        }
        Ok((options.keep_going)(Progress { now: self.planes.cx.now, events: self.events }))
    }

    #[inline(always)]
    fn dispatch(&mut self, event: Event) {
        match event {
            Event::LinkTxDone { link } => {
                if !self.planes.network.tx_done(link, &mut self.planes.cx) {
                    self.events -= 1;
                }
            }
            Event::Arrival { link, packet } => {
                self.packet_hops += 1;
                let Planes { cx, network, .. } = &mut self.planes;
                match network.arrive(link, packet.retrieve(), cx) {
                    (_, PlainInput::Forwarded) => {}
                    (node, PlainInput::Data(packet)) => {
                        self.flows.deliver(node, packet, &mut self.planes);
                        self.tell_flows();
                    }
                    (node, PlainInput::Other(packet)) => self.arrive_slow(link, node, packet),
                }
            }
            Event::TrackedArrival { link } => self.arrive_tracked(link),
            other => {
                self.rare = Some(other);
                self.dispatch_other();
            }
        }
    }

    /// The events that a plain network has rarely, in a separate function: the loop over the events is a
    /// third shorter without them.
    #[inline(never)]
    fn dispatch_other(&mut self) {
        let Some(event) = self.rare.take() else { return };
        let Planes { cx, network, agents } = &mut self.planes;
        match event {
            Event::LinkTxDone { .. } | Event::Arrival { .. } | Event::TrackedArrival { .. } => {
                unreachable!("dispatched already")
            }
            Event::Medium { medium } => self.medium_wake(medium),
            Event::LateEntry { link, packet } => network.enter_late(link, packet.retrieve(), cx),
            Event::LinkChange { link, index } => network.change_link(link, index, cx),
            Event::LinkStep { link } => network.step_link(link, cx),
            Event::Ordered { node } => network.order_restored(node, cx),
            Event::Bearer { node, host } => cx.scheduler.push(cx.now, Event::BearerLast { node, host }),
            Event::BearerLast { node, host } => agents.bearer_timer((node, host), network, cx),
            Event::LocalTimer { link, flow } => network.local_timer(link, flow, cx),
            Event::PathNotice { number } => self.flows.notice_path(number, &mut self.planes),
            Event::Endpoint { flow, side } => self.flows.endpoint_wake(flow, side, &mut self.planes),
            Event::App { flow } => self.flows.app_wake(flow, &mut self.planes),
            Event::Agent { node } => agents.wake(node, network, cx),
            Event::Motion { node } if network.cells().roam() => self.wlan().move_host(node),
            Event::Motion { node } => agents.move_host(node, network, cx),
            Event::Entry { node } => agents.commanded_entry(node, network, cx),
            Event::Roaming { node } => self.wlan().wake(node),
            Event::Measurement { node } if network.cells().roam() => self.wlan().measure(node),
            Event::Measurement { node } => agents.measure(node, network, cx),
            Event::Repetition { slot } => agents.repeat(slot, network, cx),
            Event::Delayed { slot } => agents.release_delayed(slot, network, cx),
            Event::Prediction { number } => self.events -= u64::from(!agents.predict(number, network, cx)),
        }
        self.tell_flows();
    }

    /// Tells the flows what has happened to their hosts: after most events nothing has.
    #[inline]
    fn tell_flows(&mut self) {
        if !self.planes.network.cells().notices().is_empty() {
            self.tell_flows_all();
        }
    }

    #[cold]
    fn tell_flows_all(&mut self) {
        while let Some(notice) = self.planes.network.cells().notices().pop() {
            match notice {
                PendingNotice::Entered(host, row) => self.flows.host_entered(host, row, &mut self.planes),
                PendingNotice::Phase(phase) => self.flows.path_changed(phase, &mut self.planes),
                PendingNotice::PathNotice(number, row) => self.flows.tell(number, row, &mut self.planes),
                PendingNotice::InOrder => self.deliver_in_order(),
                PendingNotice::Wired(node, frame, row) => self.wlan().receive_wired(node, frame, row),
            }
        }
    }

    /// Packets that receivers of numbered radio bearers deliver are forwarded.
    fn deliver_in_order(&mut self) {
        loop {
            let Planes { cx, network, agents } = &mut self.planes;
            let Some(local) = network.pass_ready(agents, cx) else { return };
            self.deliver_locally(local);
        }
    }

    /// A packet arrives that the short cuts of IP input do not take.
    #[inline(never)]
    fn arrive_slow(&mut self, link: LinkId, node: NodeId, packet: PacketId) {
        let Planes { cx, network, agents } = &mut self.planes;
        let local = network.ip_input_slow(node, packet, link, agents, cx);
        self.deliver_locally(local);
    }

    /// The first packet in flight on a link arrives. An agent that waits until the air is clear of it is
    /// notified after it.
    #[inline(never)]
    fn arrive_tracked(&mut self, link: LinkId) {
        let Planes { cx, network, agents } = &mut self.planes;
        let Some(arrived) = network.arrived(link, cx) else { return };
        self.packet_hops += 1;
        let (from, dst) = (network.beginning(link), cx.pool[&arrived.packet].header.dst);
        let local = network.arrive_tracked(link, arrived, agents, cx);
        self.deliver_locally(local);
        let Planes { cx, network, agents } = &mut self.planes;
        if agents.wait_for_air() {
            agents.look_for_drained(from, dst, network, cx);
            self.tell_flows();
        }
    }

    /// A medium's deadline may have come. An agent that waits until the air of a lost packet is clear is
    /// notified after it.
    fn medium_wake(&mut self, medium: u32) {
        let Planes { cx, network, .. } = &mut self.planes;
        network.wake_medium(medium, cx.now);
        loop {
            let Planes { cx, network, agents } = &mut self.planes;
            let Some(sent) = network.decide(medium, cx) else { return network.rest(medium, cx) };
            if sent.outcome.is_loss() {
                agents.look_for_drained(sent.from, sent.dst, network, cx);
            }
            if network.cells().roam() {
                self.wlan().on_tx_report(sent);
            }
        }
    }

    /// The 802.11 layer 2 and what it uses.
    pub(crate) fn wlan(&mut self) -> Wlan<'_> {
        let World { stations, planes: Planes { cx, network: net, agents }, .. } = self;
        Wlan { stations, agents, net, cx }
    }

    /// Passes what an arrival delivers to the part that it is for.
    #[inline(always)]
    fn deliver_locally(&mut self, local: LocalDelivery) {
        let Planes { cx, network, agents } = &mut self.planes;
        match local {
            LocalDelivery::Nothing => {}
            LocalDelivery::Data(node, packet) => self.flows.deliver(node, packet, &mut self.planes),
            LocalDelivery::Message(node, packet) => agents.deliver(node, packet, network, cx),
            LocalDelivery::Broadcast(cell, packet) => agents.broadcast(cell, packet, network, cx),
            of_802_11 @ (LocalDelivery::Frame(..) | LocalDelivery::Refused(..)) => {
                self.deliver_to_stations(of_802_11);
            }
        }
        self.tell_flows();
    }

    /// Passes to the stations what is theirs, in a separate function: the loop over the events has no part of it.
    #[inline(never)]
    fn deliver_to_stations(&mut self, local: LocalDelivery) {
        match local {
            LocalDelivery::Frame(node, packet) => self.wlan().receive(node, packet),
            LocalDelivery::Refused(host, cell) => self.wlan().refuse(host, cell),
            LocalDelivery::Nothing
            | LocalDelivery::Data(..)
            | LocalDelivery::Message(..)
            | LocalDelivery::Broadcast(..) => unreachable!("not for stations"),
        }
    }

    /// `created + duplicated = delivered + dropped + inside`, with what is inside counted where it is.
    pub(crate) fn check_conservation(&self) -> Result<(), LawViolation> {
        let [links, nodes] = self.planes.network.packets_inside();
        let delayed = self.planes.agents.packets_delayed();
        let (inside, owed) = (links + nodes + delayed, self.planes.cx.pool.census().inside());
        if inside == owed {
            return Ok(());
        }
        Err(self.violation(format!(
            "packets are not conserved: {owed} should be inside, {inside} are (links {links}, nodes {nodes}, \
             delayed {delayed})"
        )))
    }

    /// No timer of an agent or of a numbered radio bearer should have expired before now.
    fn check_timers(&self) -> Result<(), LawViolation> {
        let Planes { cx, network, .. } = &self.planes;
        let name = |node| network.name(node);
        if let Some((node, due)) = network.overdue_agent(cx.now) {
            return Err(self.violation(format!("a timer at \"{}\" should have expired at {due}", name(node))));
        }
        if let Some((node, host, number)) = network.dead_number(cx) {
            return Err(self.violation(format!(
                "packets for \"{}\" wait at \"{}\" until number {number} is confirmed, and nothing confirms it",
                name(host),
                name(node)
            )));
        }
        let Some((node, host, (due, timer))) = network.overdue_bearer(cx) else { return Ok(()) };
        Err(self.violation(format!(
            "{timer} of the radio bearer of \"{}\" at \"{}\" should have expired at {due}",
            name(host),
            name(node)
        )))
    }

    fn violation(&self, law: String) -> LawViolation {
        LawViolation { law, time: self.planes.cx.now }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::build::build;
    use crate::run::options::Replication;
    use roamlab_scenario::Scenario;
    use std::collections::BTreeMap;

    /// Forty seconds with some twenty timeouts, each of which brings the next deadline forward when it is over.
    #[test]
    fn wake_ups_do_not_pile_up() {
        let text = include_str!("../../../../python/roamlab/papers/mblue/scenario.toml");
        let mut world = build(
            &Scenario::parse(text, "mblue.toml").unwrap(),
            Replication::default(),
            &RunOptions::default(),
        );
        world.run(Time::from_nanos(40_000_000_000), &RunOptions::default()).unwrap();
        let timeouts: u64 = world.flows.iter().map(|flow| flow.stats.timeouts).sum();
        assert!(timeouts > 10, "{timeouts}");
        let mut pending: BTreeMap<String, u32> = BTreeMap::new();
        while let Some((_, event)) = world.planes.cx.scheduler.pop() {
            if matches!(event, Event::Endpoint { .. }) {
                *pending.entry(format!("{event:?}")).or_default() += 1;
            }
        }
        // One that counts, and one at most that it has replaced and whose time has not come.
        assert!(pending.values().all(|&count| count <= 2), "{pending:?}");
    }
}
