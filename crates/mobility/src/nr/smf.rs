//! The session management function: has the user plane function switch paths and forward packets, for the AMF.

use super::{Action, Forwarding, Input, Kind, Message, Params, Phase, Step};
use crate::transitions::Role;
use crate::{Agent, Identification, Wire};
use roamlab_engine::{Duration, Rng, Time};
use roamlab_packet::Addr;
use std::collections::BTreeMap;
use std::mem::discriminant;
use std::sync::Arc;

crate::transitions! {
    Smf, "state of a host": Unknown "unknown", Idle "idle", Modifying "modifying";
    "unknown, idle" | "sbi-update-sm-context-request" | "a handover is required; the target is ready and nothing is forwarded through the user plane function" | "sbi-update-sm-context-response" | "idle";
    "unknown, idle" | "sbi-update-sm-context-request" | "the path is to be switched, or packets forwarded; perhaps later" | "n4-session-modification-request" | "modifying";
    "modifying" | "sbi-update-sm-context-request" | "another change: packets are to be forwarded, or the path is to be switched" | "n4-session-modification-request" | "same";
    "modifying" | "sbi-update-sm-context-request" | "a handover is required; nothing is forwarded through the user plane function" | "sbi-update-sm-context-response" | "same";
    "modifying" | "time" | "the path is to be switched now" | "n4-session-modification-request" | "same";
    "modifying" | "n4-session-modification-response" | "of the last request of its kind; another one is open" | "sbi-update-sm-context-response" | "idle, modifying";
    "idle, modifying" | "time" | "forwarding ends" | "n4-session-modification-request" | "same";
}

/// NR at the session management function.
#[derive(Clone, Debug)]
pub struct Smf {
    upf: Addr,
    params: Arc<Params>,
    /// The times that path switches take.
    draws: Rng,
    hosts: BTreeMap<Addr, Session>,
}

/// The session of a host.
#[derive(Clone, Debug, Default)]
struct Session {
    /// It has a path.
    bound: bool,
    /// One path switch and one beginning of forwarding at most.
    changes: Vec<Change>,
    /// When forwarding from a source ends.
    forwarding: Vec<(Time, Identification, Addr)>,
}

/// A change that the AMF has asked for.
#[derive(Copy, Clone, Debug)]
struct Change {
    id: Identification,
    step: Step,
    amf: Addr,
    /// When it begins; `None`: it has begun.
    at: Option<Time>,
}

impl Smf {
    /// A function that knows no host, with the random stream of its times.
    pub fn new(upf: Addr, draws: Rng, params: &Arc<Params>) -> Smf {
        Smf { upf, params: Arc::clone(params), draws, hosts: BTreeMap::new() }
    }

    fn update(
        &mut self,
        host: Addr,
        (amf, id): (Addr, Identification),
        step: Step,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let session = self.hosts.entry(host).or_default();
        let needs_upf = match step {
            Step::Prepare | Step::EndForwarding { .. } => false,
            Step::Forward { .. } => self.params.forwarding == Forwarding::Indirect,
            Step::Switch { .. } => true,
        };
        if !needs_upf {
            return out.push(Message::about(host, id, Kind::UpdateResponse { step }).to(amf));
        }
        if session.changes.iter().any(|change| (change.id, change.step) == (id, step)) {
            return;
        }
        let delay = match step {
            Step::Switch { .. } if session.bound => self.params.path_switch.draw(&mut self.draws),
            _ => Duration::ZERO,
        };
        session.bound |= matches!(step, Step::Switch { .. });
        if let Step::Forward { source, .. } = step {
            // It ends when the AMF releases the source; at the latest when the source gives up.
            let end = now + self.params.timers.overall() + self.params.release_after;
            session.forwarding.push((end, id, source));
        }
        if let Step::Switch { complete, .. } = step {
            // The AMF releases the source as long after the notice (TS 23.502 §4.9.1.3.3).
            //
            // ASSUMPTION: a host that re-establishes its connection at the target has the path switched without a notice, and the
            // target releases the source behind that: packets are forwarded until then.
            let switched = if complete { now } else { now + delay };
            for (end, _, _) in session.forwarding.iter_mut().filter(|(_, of, _)| *of == id) {
                *end = switched + self.params.release_after;
            }
        }
        // A handover may be prepared while the path of the last one is being switched.
        session.changes.retain(|change| discriminant(&change.step) != discriminant(&step));
        session.changes.push(Change { id, step, amf, at: Some(now + delay) });
        self.on_timer(now, out);
    }

    fn modified(&mut self, host: Addr, id: Identification, step: Step, out: &mut Vec<Action>) {
        let Some(session) = self.hosts.get_mut(&host) else { return };
        let is_it = |change: &mut Change| (change.id, change.step, change.at) == (id, step, None);
        for Change { amf, .. } in session.changes.extract_if(.., is_it) {
            out.push(Message::about(host, id, Kind::UpdateResponse { step }).to(amf));
        }
    }

    fn on_timer(&mut self, now: Time, out: &mut Vec<Action>) {
        for (&host, session) in &mut self.hosts {
            for change in &mut session.changes {
                if change.at.take_if(|at| *at <= now).is_some() {
                    let kind = Kind::ModificationRequest { step: change.step };
                    out.push(Message::about(host, change.id, kind).to(self.upf));
                }
            }
            for &(_, id, source) in session.forwarding.iter().filter(|(end, ..)| *end <= now) {
                let kind = Kind::ModificationRequest { step: Step::EndForwarding { source } };
                out.push(Message::about(host, id, kind).to(self.upf));
            }
            session.forwarding.retain(|(end, ..)| now < *end);
        }
    }
}

impl Role for Smf {
    fn state(&self, host: Addr) -> StateName {
        match self.hosts.get(&host) {
            None => StateName::Unknown,
            Some(session) if session.changes.is_empty() => StateName::Idle,
            Some(_) => StateName::Modifying,
        }
    }

    fn hosts(&self) -> impl Iterator<Item = Addr> {
        self.hosts.keys().copied()
    }
}

impl Agent for Smf {
    type Message = Message;
    type Phase = Phase;

    fn on(&mut self, input: Input, now: Time, out: &mut Vec<Action>) {
        match input {
            Input::Deadline => self.on_timer(now, out),
            Input::Message { from, message: Message { host: Some(host), id, kind } } => match kind {
                Kind::UpdateRequest { step } => self.update(host, (from, id), step, now, out),
                Kind::ModificationResponse { step } => self.modified(host, id, step, out),
                _ => {}
            },
            Input::Message { .. } | Input::Trigger(_) | Input::Data { .. } => {}
        }
    }

    fn wire(&self, message: &Message) -> Option<Wire> {
        Some(self.params.wire(&message.kind))
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        for session in self.hosts.values() {
            session.changes.iter().filter_map(|change| change.at).for_each(&mut *each);
            session.forwarding.iter().for_each(|&(end, ..)| each(end));
        }
    }
}
