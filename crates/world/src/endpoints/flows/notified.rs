//! Senders that are notified of a new path: who notices it and when, and the message to the sender.
//!
//! A path changes with a phase of a handover, which is noted at a node. There it is noticed, after a delay, or missed.
//! A sender at that node knows then; any other gets a message, unless the scenario gives it exact knowledge.

use super::{Carrier, Flows};
use crate::context::{Announcement, Context};
use crate::endpoints::path_notice::{Informed, Notice};
use crate::event::Event;
use crate::notices::{Notices, PathPhase};
use roamlab_engine::Time;
use roamlab_packet::{Addr, FlowId};
use roamlab_record::PathChangeRow;
use roamlab_record::cause::{Cause, CauseId, Kind};
use roamlab_record::ids::{Location, NodeId, Side};
use roamlab_scenario::Notification;

impl Flows {
    /// The phases that flows wait for, and the first false alarm of each flow that has some.
    pub(super) fn await_phases(&mut self, notices: &mut Notices, cx: &mut Context) {
        for place in 0..self.informed.len() {
            notices.wait_for(&self.informed[place].spec.phase);
            self.schedule_false(place, cx);
        }
    }

    /// The next false alarm. No handover hides it, and no delay is added to it.
    fn schedule_false(&mut self, place: usize, cx: &mut Context) {
        let Informed { spec, rng, host, .. } = &mut self.informed[place];
        let (Some(mean), host) = (spec.false_every, *host) else { return };
        let at = cx.now + rng.exponential(mean);
        let (changed, cause) = (None, CauseId::NONE);
        self.schedule(at, Notice { informed: place as u32, host, at: host, changed, cause }, cx);
    }

    fn schedule(&mut self, at: Time, notice: Notice, cx: &mut Context) {
        cx.scheduler.push(at, Event::PathNotice { number: self.notices.len() as u32 });
        self.notices.push(notice);
    }

    /// The path of a host's flows has changed. Each flow draws as many numbers whether the phase is missed or not.
    pub fn path_changed(&mut self, change: PathPhase, net: &mut impl Carrier) {
        let PathPhase { host, at, phase, row } = change;
        for place in 0..self.informed.len() {
            let Informed { flow, spec, rng, .. } = &mut self.informed[place];
            let state = &self.flows[*flow as usize];
            if spec.phase != phase || ![state.src, state.dst].contains(&host) {
                continue;
            }
            let is_missed = spec.missed > 0.0 && rng.uniform() < spec.missed;
            let delay = spec.delay.draw(rng);
            let cx = net.cx();
            let changed = Some(cx.now);
            if !is_missed {
                let notice = Notice { informed: place as u32, host, at, changed, cause: row };
                self.schedule(cx.now + delay, notice, cx);
            }
        }
    }

    /// An endpoint notices that a path has changed, or believes so.
    pub fn notice_path(&mut self, number: u32, net: &mut impl Carrier) {
        let Notice { informed, host, at, changed, cause } = self.notices[number as usize];
        let cause = match changed {
            Some(_) => cause,
            None => {
                self.schedule_false(informed as usize, net.cx());
                let alarm = Cause::root(Kind::FalseAlarm).at(Location::Node(at));
                net.cx().add_cause(alarm.about(Some(Addr::mobile(host.0))))
            }
        };
        let Informed { flow, ref spec, .. } = self.informed[informed as usize];
        let state = &self.flows[flow as usize];
        if spec.notice == Notification::Exact || state.src == at {
            return self.tell(number, cause, net);
        }
        let (to, size) = (state.addresses[Side::Sender.index()], spec.size);
        net.announce(at, Announcement { to, host: Addr::mobile(host.0), size, notice: number, cause });
    }

    /// The sender of a flow is notified of a new path: what it makes of that, into the record.
    pub fn tell(&mut self, number: u32, led: CauseId, net: &mut impl Carrier) {
        let Notice { informed, host, changed, .. } = self.notices[number as usize];
        let Informed { flow, ref spec, .. } = self.informed[informed as usize];
        let policy = spec.policy;
        let state = &mut self.flows[flow as usize];
        if state.here[Side::Sender.index()] == NodeId::NOWHERE {
            return; // the sender is outside
        }
        let (before, una) = state.transport.variables().unwrap_or_default();
        let cx = net.cx();
        let row = Cause::of(Kind::PathChange, policy.name(), led).segment(FlowId(flow), una);
        let cause = cx.add_cause(row.at(Location::Node(state.src)).about(Some(Addr::mobile(host.0))));
        let lost = state.transport.on_new_path(policy, cx.now);
        let (after, _) = state.transport.variables().unwrap_or_default();
        if cx.probes.wanted.path_changes {
            cx.probes.path_changes.push(PathChangeRow {
                time_ns: cx.now,
                flow: FlowId(flow),
                host,
                changed_ns: changed.map_or(-1, |time| time.as_nanos() as i64),
                genuine: changed.is_some(),
                policy,
                acted: lost.is_some(),
                lost_pkts: lost.unwrap_or_default(),
                cwnd_before: before.cwnd,
                cwnd: after.cwnd,
                ssthresh_before: before.ssthresh,
                ssthresh: after.ssthresh,
                srtt_before_ns: before.srtt.as_nanos(),
                srtt_ns: after.srtt.as_nanos(),
                rto_before_ns: before.rto.as_nanos(),
                rto_ns: after.rto.as_nanos(),
                cause,
            });
        }
        if lost.is_some() {
            self.flows[flow as usize].cause = cause;
            self.pump(flow, Side::Sender, net);
        }
    }
}
