//! Switches of hosts between distributed units of one central unit.

use super::{CentralUnit, Link, Switch};
use crate::nr::message::Purpose;
use crate::nr::{Action, Input, Kind, Message, Phase};
use crate::{Identification, L2Trigger};
use roamlab_engine::Time;
use roamlab_packet::{Addr, Received};
use std::collections::BTreeSet;

impl CentralUnit {
    /// The host has reported a cell of another distributed unit.
    pub(super) fn reported(&mut self, host: Addr, target: Addr, now: Time, out: &mut Vec<Action>) {
        let (id, until) = (self.gnodeb.newest(host), now + self.params.timers.preparation);
        let is_free = self.gnodeb.serves(host);
        let Some(link) = self.hosts.get_mut(&host) else { return };
        if !is_free || target == link.unit || !matches!(link.switch, Switch::None) {
            return;
        }
        let Some(ltm) = &self.params.ltm else {
            link.contexts.insert(target, Some(until));
            link.switch = Switch::Preparing { target, until };
            return self.send(target, (host, id), Kind::UnitSetupRequest { purpose: Purpose::Handover }, out);
        };
        match link.contexts.get(&target) {
            Some(None) => self.configure(host, out),
            None if link.contexts.len() < ltm.candidates as usize => {
                link.contexts.insert(target, Some(until));
                self.send(target, (host, id), Kind::UnitSetupRequest { purpose: Purpose::Candidate }, out);
            }
            Some(Some(_)) | None => {}
        }
    }

    /// The host and its distributed unit learn the candidates.
    fn configure(&self, host: Addr, out: &mut Vec<Action>) {
        let Some(link) = self.hosts.get(&host) else { return };
        let rrc = Box::new(Kind::LtmConfiguration { candidates: link.candidates() });
        let id = self.gnodeb.newest(host);
        self.send(link.unit, (host, id), Kind::UnitModificationRequest { rrc }, out);
    }

    /// The distributed unit of a candidate has measured the timing advance of the host.
    pub(super) fn pass_timing(&self, about: (Addr, Identification), candidate: Addr, out: &mut Vec<Action>) {
        let Some(link) = self.hosts.get(&about.0) else { return };
        if link.unit != candidate && link.candidates().contains(&candidate) {
            self.send(link.unit, about, Kind::CentralTimingAdvance { candidate }, out);
        }
    }

    /// A distributed unit has a context of the host.
    pub(super) fn context_is_set_up(&mut self, host: Addr, unit: Addr, now: Time, out: &mut Vec<Action>) {
        let id = self.gnodeb.newest(host).newer(now);
        let until = now + self.params.timers.of_blocks().joining;
        let Some(link) = self.hosts.get_mut(&host) else { return };
        if link.unit == unit && std::mem::take(&mut link.asked) {
            // Packets that were sent there before have found no context.
            out.extend([Action::ServeThrough { host, unit }, Action::RecoverBearer { host, repeat: true }]);
        }
        let Some(awaited) = link.contexts.get_mut(&unit) else { return };
        if awaited.take().is_none() {
            return;
        }
        match std::mem::replace(&mut link.switch, Switch::None) {
            Switch::Admitting { from, request, .. } => {
                out.push(Action::ServeThrough { host, unit });
                self.pass(Input::Message { from, message: *request }, now, out);
            }
            Switch::Preparing { target, .. } if target == unit => {
                let source = link.unit;
                link.switch = Switch::Switching { source, target, until, id };
                self.gnodeb.renew(host, id);
                for phase in [Phase::HandoverPrepared, Phase::HandoverCommanded] {
                    Self::note(host, phase, out);
                }
                let rrc = Box::new(Kind::Reconfiguration { target, dual: false });
                self.send(source, (host, id), Kind::UnitModificationRequest { rrc }, out);
            }
            other => {
                link.switch = other;
                Self::note(host, Phase::HandoverPrepared, out);
                self.configure(host, out);
            }
        }
    }

    /// Another central unit expects the host, which is commanded to it. `from`: that one, or the AMF.
    pub(super) fn target_is_ready(
        &mut self,
        host: Addr,
        (from, central): (Addr, Addr),
        acknowledge: Message,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let id = acknowledge.id;
        let until = now + self.params.timers.preparation;
        let link = self.hosts.get_mut(&host).filter(|link| matches!(link.switch, Switch::None));
        let Some(link) = link.filter(|_| self.gnodeb.commands(host, (central, id), until)) else {
            return self.pass(Input::Message { from, message: acknowledge }, now, out);
        };
        link.switch = Switch::Leaving { from, acknowledge: Box::new(acknowledge), until };
        let (unit, target) = (link.unit, link.cell.unwrap_or(central));
        let rrc = Box::new(Kind::Reconfiguration { target, dual: false });
        self.send(unit, (host, id), Kind::UnitModificationRequest { rrc }, out);
    }

    /// The source of a handover has sent the command.
    pub(super) fn source_stops(&mut self, host: Addr, unit: Addr, now: Time, out: &mut Vec<Action>) {
        let Some(link) = self.hosts.get_mut(&host) else { return };
        if link.unit == unit && matches!(link.switch, Switch::Leaving { .. }) {
            return self.leaves(host, now, out);
        }
        if let Switch::Switching { source, target, .. } = link.switch
            && source == unit
            && link.through == source
        {
            link.through = target;
            out.push(Action::ServeThrough { host, unit: target });
        }
    }

    /// The host has been commanded to another central unit.
    fn leaves(&mut self, host: Addr, now: Time, out: &mut Vec<Action>) {
        let Some(link) = self.hosts.get_mut(&host) else { return };
        match std::mem::replace(&mut link.switch, Switch::None) {
            Switch::Leaving { from, acknowledge, .. } => {
                self.pass(Input::Message { from, message: *acknowledge }, now, out);
            }
            other => link.switch = other,
        }
    }

    /// A distributed unit has ordered the host to a candidate.
    pub(super) fn unit_switches(
        &mut self,
        (host, id): (Addr, Identification),
        (source, target): (Addr, Addr),
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let overtakes = self.gnodeb.is_overtaken(host, id);
        let is_free = self.gnodeb.serves(host) && id > self.gnodeb.newest(host);
        let until = now + self.params.timers.of_blocks().joining;
        let Some(link) = self.hosts.get_mut(&host) else { return };
        let is_candidate = link.contexts.get(&target).is_some_and(Option::is_none);
        if !(is_free || overtakes)
            || !is_candidate
            || link.unit != source
            || !matches!(link.switch, Switch::None | Switch::Leaving { .. })
        {
            return;
        }
        (link.switch, link.through) = (Switch::Switching { source, target, until, id }, target);
        let candidates = link.candidates();
        self.send(target, (host, id), Kind::CentralCellSwitch { candidates }, out);
        out.push(Action::ServeThrough { host, unit: target });
        if overtakes {
            self.gnodeb.take_back(host, now, out);
        }
        self.gnodeb.renew(host, id);
    }

    /// A distributed unit reports what has happened to packets.
    pub(super) fn delivered(
        &mut self,
        host: Addr,
        unit: Addr,
        (done, last): (BTreeSet<u32>, bool),
        out: &mut Vec<Action>,
    ) {
        if !self.is_unit(unit) || !self.gnodeb.has(host) {
            return;
        }
        if !done.is_empty() {
            let received = Received::Status { first_missing: 0, later: done };
            out.push(Action::SkipReceived { host, received });
        }
        let switch = self.hosts.get(&host).map(|link| (&link.switch, link.through));
        if let Some((&Switch::Switching { source, target, .. }, through)) = switch
            && last
            && source == unit
            && target == through
        {
            out.push(Action::RecoverBearer { host, repeat: true });
        }
    }

    /// The host has completed a switch to this distributed unit.
    pub(super) fn is_switched(&self, host: Addr, unit: Addr, id: Identification) -> bool {
        let link = self.hosts.get(&host);
        let other = link.is_some_and(|link| {
            link.contexts.get(&unit).is_some_and(Option::is_none)
                && (link.unit != unit || matches!(link.switch, Switch::Switching { .. }))
        });
        let is_ordered =
            |link: &Link| matches!(link.switch, Switch::Switching { id: ordered, .. } if ordered == id);
        let is_newest = id >= self.gnodeb.newest(host) || link.is_some_and(is_ordered);
        other && (self.gnodeb.serves(host) && is_newest || self.gnodeb.is_overtaken(host, id))
    }

    /// The host had gone, and has completed a switch to the distributed unit from which it had.
    pub(super) fn is_back(&self, host: Addr, unit: Addr, id: Identification) -> bool {
        let is_there = |link: &Link| {
            link.unit == unit
                && matches!(link.switch, Switch::None)
                && link.contexts.get(&unit).is_some_and(Option::is_none)
        };
        self.params.ltm.is_some()
            && self.gnodeb.serves(host)
            && id >= self.gnodeb.newest(host)
            && self.hosts.get(&host).is_some_and(is_there)
    }

    /// The same: RLC begins again there.
    pub(super) fn returned(
        &mut self,
        host: Addr,
        (id, received): (Identification, Option<Received>),
        now: Time,
        out: &mut Vec<Action>,
    ) {
        self.gnodeb.renew(host, id);
        Self::note(host, Phase::HandoverConfirmed, out);
        out.extend(received.map(|received| Action::SkipReceived { host, received }));
        self.gnodeb.attach(host, now, out);
        self.serve_again(host, out);
    }

    /// The host is at a distributed unit that was released, as it had not come in time.
    pub(super) fn is_elsewhere(&self, host: Addr, unit: Addr) -> bool {
        let link = self.hosts.get(&host);
        link.is_some_and(|link| link.unit != unit && matches!(link.switch, Switch::None))
            && self.gnodeb.serves(host)
    }

    /// The host is at another distributed unit, or back at the one from which it was ordered away.
    pub(super) fn switched(
        &mut self,
        host: Addr,
        unit: Addr,
        (id, received): (Identification, Option<Received>),
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let overtakes = self.gnodeb.is_overtaken(host, id);
        let Some(link) = self.hosts.get_mut(&host) else { return };
        let (source, through) = (link.unit, link.through);
        let failed = match link.switch {
            Switch::Switching { target, .. } => Some(target).filter(|target| *target != unit),
            _ => None,
        };
        // One that has not ordered the host away does not know that it is elsewhere.
        let ordered = matches!(link.switch, Switch::Switching { .. });
        let left = Some(source).filter(|source| *source != unit && !ordered);
        (link.unit, link.through, link.switch, link.asked) = (unit, unit, Switch::None, false);
        let candidates = link.candidates();
        Self::note(host, Phase::HandoverConfirmed, out);
        if through != unit {
            out.push(Action::ServeThrough { host, unit });
        }
        if overtakes {
            self.gnodeb.take_back(host, now, out);
        }
        self.gnodeb.renew(host, id);
        out.extend(received.map(|received| Action::SkipReceived { host, received }));
        self.gnodeb.attach(host, now, out);
        let repeat = failed.is_none() || self.params.ltm.as_ref().is_none_or(|ltm| ltm.repeat_recovery);
        out.push(Action::RecoverBearer { host, repeat });
        if self.params.ltm.is_none() {
            for other in candidates.into_iter().filter(|other| *other != unit) {
                self.release(host, other, out);
            }
        } else {
            for candidate in failed.into_iter().chain(left) {
                let request = Kind::UnitSetupRequest { purpose: Purpose::Candidate };
                self.send(candidate, (host, id), request, out);
            }
        }
        if source != unit && self.params.ltm.is_some() && through != unit {
            // The target does not know the candidates: it has had no notification.
            self.configure(host, out);
        }
    }

    fn release(&mut self, host: Addr, unit: Addr, out: &mut Vec<Action>) {
        let id = self.gnodeb.newest(host);
        self.hosts.get_mut(&host).and_then(|link| link.contexts.remove(&unit));
        self.send(unit, (host, id), Kind::UnitReleaseCommand, out);
    }

    /// The distributed unit that has the host sends to it again.
    pub(super) fn serve_again(&mut self, host: Addr, out: &mut Vec<Action>) {
        let id = self.gnodeb.newest(host);
        let Some(link) = self.hosts.get_mut(&host) else { return };
        let unit = link.unit;
        (link.through, link.asked) = (unit, true);
        self.send(unit, (host, id), Kind::UnitSetupRequest { purpose: Purpose::Serve }, out);
    }

    pub(super) fn on_timer(&mut self, now: Time, out: &mut Vec<Action>) {
        let due = |link: &Link| match link.switch {
            Switch::None => false,
            Switch::Admitting { until, .. }
            | Switch::Preparing { until, .. }
            | Switch::Leaving { until, .. }
            | Switch::Switching { until, .. } => until <= now,
        };
        let hosts: Vec<Addr> =
            self.hosts.iter().filter(|(_, link)| due(link)).map(|(host, _)| *host).collect();
        for host in hosts {
            self.leaves(host, now, out);
            let Some(link) = self.hosts.get_mut(&host) else { continue };
            match std::mem::replace(&mut link.switch, Switch::None) {
                Switch::None | Switch::Admitting { .. } | Switch::Leaving { .. } => {}
                Switch::Preparing { target, .. } => {
                    Self::note(host, Phase::HandoverCancelled, out);
                    self.release(host, target, out);
                }
                Switch::Switching { target, .. } => self.stays(host, target, out),
            }
        }
        for (host, unit) in self.silent(now) {
            self.release(host, unit, out);
        }
    }

    /// Distributed units that have not answered in time.
    fn silent(&self, now: Time) -> Vec<(Addr, Addr)> {
        let late = |(host, link): (&Addr, &Link)| {
            let late = link.contexts.iter().filter(|(_, awaited)| awaited.is_some_and(|until| until <= now));
            late.map(|(unit, _)| (*host, *unit)).collect::<Vec<_>>()
        };
        self.hosts.iter().flat_map(late).collect()
    }

    /// A host that was ordered to a distributed unit has a newer connection at another base station. No distributed unit notices
    /// that it has gone.
    pub(super) fn host_is_elsewhere(
        &mut self,
        (host, id): (Addr, Identification),
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let is_newer = id > self.gnodeb.newest(host);
        let Some(link) = self.hosts.get_mut(&host).filter(|_| is_newer) else { return };
        let Switch::Switching { target, .. } = link.switch else { return };
        link.switch = Switch::None;
        Self::note(host, Phase::HandoverCancelled, out);
        self.release(host, target, out);
        self.pass(Input::Trigger(L2Trigger::HostGone { host }), now, out);
    }

    /// The host has not reached the target.
    fn stays(&mut self, host: Addr, target: Addr, out: &mut Vec<Action>) {
        Self::note(host, Phase::HandoverCancelled, out);
        let id = self.gnodeb.newest(host);
        if self.params.ltm.is_some() {
            self.send(target, (host, id), Kind::UnitSetupRequest { purpose: Purpose::Candidate }, out);
        } else {
            self.release(host, target, out);
        }
        self.serve_again(host, out);
    }
}
