//! The source base station's part: prepare, command, forward; or take the host back.

use super::bearer::Outlet;
use super::context::{Context, Environment, State};
use super::message::{Message, Plan};
use super::{Action, Cancelled, Forwarding, PathSwitch, Phase};
use roamlab_packet::{Addr, BearerState, MarkingState};

impl Context {
    /// The host has reported a better neighbour.
    pub fn reported(&mut self, target: Addr, env: &mut Environment<'_>) {
        if let Some(conditional) = &env.rules.conditional {
            return self.candidate_reported(target, conditional, env);
        }
        match &mut self.state {
            State::Serving => self.prepare(target, env.rules.path_switch == PathSwitch::Fast, true, env),
            State::Preparing { target: expected, wanted, .. } if *expected == target => *wanted = true,
            State::Preparing { target: other, wanted: false, .. } => {
                let other = *other;
                env.send(other, self.id, Message::HandoverCancel);
                self.prepare(target, false, true, env);
            }
            State::Ready { target: expected, .. } if *expected == target => self.command(target, true, env),
            State::Ready { .. } => {
                env.note(Phase::PredictionFailed);
                self.take_back(env);
                self.prepare(target, false, true, env);
            }
            State::Preparing { .. }
            | State::Executing { .. }
            | State::Dual { .. }
            | State::Conditional { .. }
            | State::Prepared { .. }
            | State::Leaving { .. } => {}
        }
    }

    /// The host is expected to report this target soon.
    pub fn predicted(&mut self, target: Addr, env: &mut Environment<'_>) {
        let predictive = env.rules.path_switch == PathSwitch::Predictive;
        if predictive && env.present && target != env.address && matches!(self.state, State::Serving) {
            env.note(Phase::HandoverPredicted);
            self.prepare(target, true, false, env);
        }
    }

    /// Nothing is left of what came before the path switch: the target need not wait for it.
    pub fn drained(&mut self, env: &mut Environment<'_>) {
        if let State::Ready { target, .. } = self.state
            && self.bearer.path_has_left()
        {
            self.bearer.stop_forwarding(target, self.id, env.out);
        }
    }

    fn prepare(&mut self, target: Addr, early: bool, wanted: bool, env: &mut Environment<'_>) {
        self.begin_handover(env);
        let until = env.now + env.rules.timers.reloc_prep;
        self.state = State::Preparing { target, until, early, wanted };
        let usual = if env.rules.dual { Plan::Dual } else { Plan::Command };
        let plan = if early { Plan::SwitchEarly } else { usual };
        env.send(target, self.id, Message::HandoverRequest { plan });
    }

    /// Each handover from here has another identification.
    pub fn begin_handover(&mut self, env: &Environment<'_>) {
        // End markers of handovers before this one lead to here, or are stale.
        self.bearer.since(self.id);
        self.id = self.id.newer(env.now);
    }

    /// The target's acknowledgement.
    pub fn target_is_ready(&mut self, from: Addr, env: &mut Environment<'_>) {
        let State::Preparing { target, early, wanted, .. } = self.state else {
            return self.candidate_is_ready(from, env);
        };
        if from != target {
            return;
        }
        env.note(Phase::HandoverPrepared);
        if wanted {
            self.command(target, early, env);
        } else {
            self.state = State::Ready { target, until: env.now + env.rules.prediction_timeout };
        }
        if early {
            self.switch_path(target, None, env);
        }
    }

    /// The target does not admit the host.
    pub fn target_refuses(&mut self, from: Addr, env: &mut Environment<'_>) {
        if matches!(self.state, State::Preparing { target, .. } if target == from) {
            env.note(Phase::HandoverRejected);
            self.state = State::Serving;
        } else {
            self.candidate_refuses(from, env);
        }
    }

    fn command(&mut self, target: Addr, early: bool, env: &mut Environment<'_>) {
        env.note(Phase::HandoverCommanded);
        env.send(env.host, self.id, Message::HandoverCommand { target });
        if env.rules.dual {
            // The answer of layer 2 begins the forwarding.
            self.state = State::Dual { target, until: env.now + env.rules.timers.reloc_overall };
            env.out.push(Action::ReportBearer { host: env.host });
        } else {
            self.hand_over(target, early, env);
        }
    }

    /// The host goes to this target: numbers and packets follow.
    pub fn hand_over(&mut self, target: Addr, early: bool, env: &mut Environment<'_>) {
        self.send_status(target, env);
        self.state = State::Executing { target, until: env.now + env.rules.timers.reloc_overall, early };
        if env.rules.numbered && env.rules.forwarding == Forwarding::None {
            self.bearer.discard(env.out);
        }
        self.forward_to(target, env);
        if let Some(path) = self.path.filter(|path| env.rules.numbered && path.release == Some(target)) {
            // The host goes back before the path has come: nothing follows until it does.
            self.bearer.ends_first(env.rules.way_to(target), path.id, env.out);
        }
    }

    /// Sends the state of bearers without loss, or asks layer 2 for it: then its answer sends it.
    fn send_status(&self, target: Addr, env: &mut Environment<'_>) {
        let host = env.host;
        if env.rules.numbered {
            env.out.push(Action::FreezeBearer { host });
            if env.rules.continues {
                env.out.push(Action::ReportBearer { host });
            }
        } else if env.rules.forwarding == Forwarding::Lossless {
            if env.rules.carry_marking_state {
                env.out.push(Action::ReportMarking { host });
            } else {
                let message = Message::SnStatusTransfer { marking: None, counts: None };
                env.send(target, self.id, message);
            }
        }
    }

    /// The numbers at which the target continues, just before packets are forwarded.
    pub fn bearer_reported(&self, state: Option<BearerState>, env: &mut Environment<'_>) {
        if let State::Executing { target, .. } = self.state
            && let Some(BearerState { counts, .. }) = state
        {
            env.send(target, self.id, Message::SnStatusTransfer { marking: None, counts: Some(counts) });
        }
    }

    /// The estimate by which the host's queue drops or marks, just before it is emptied.
    pub fn marking_reported(&self, marking: Option<MarkingState>, env: &mut Environment<'_>) {
        if let State::Executing { target, .. } = self.state {
            env.send(target, self.id, Message::SnStatusTransfer { marking, counts: None });
        }
    }

    pub fn forward_to(&mut self, target: Addr, env: &mut Environment<'_>) {
        let way = env.rules.way_to(target);
        if env.rules.forwarding != Forwarding::None && self.bearer.outlet() != Outlet::Tunnel(way) {
            env.note(Phase::ForwardingStarted);
            self.bearer.forward(way, env.now, env.rules, env.out);
            if self.bearer.relay_end(env.out) {
                env.note(Phase::ForwardingEnded);
            }
        }
    }

    pub fn source_times_out(&mut self, env: &mut Environment<'_>) {
        match self.state {
            State::Preparing { target, .. } => {
                env.note(Phase::HandoverCancelled);
                env.send(target, self.id, Message::HandoverCancel);
                self.state = State::Serving;
            }
            State::Ready { .. } if env.present => {
                env.note(Phase::PredictionFailed);
                self.take_back(env);
            }
            State::Ready { target, .. } => {
                self.forward_to(target, env);
                self.state = State::Leaving { until: env.now + env.rules.timers.forwarding_hold };
            }
            State::Executing { .. } if env.present => {
                env.note(Phase::HandoverCancelled);
                self.take_back(env);
            }
            State::Executing { .. } => {
                self.state = State::Leaving { until: env.now + env.rules.timers.forwarding_hold }
            }
            State::Conditional { .. } => self.candidates_time_out(env),
            State::Dual { .. } => self.withdraw(env),
            State::Serving | State::Prepared { .. } | State::Leaving { .. } => {}
        }
    }

    /// The handover is off: the host is served here again, and the path comes back.
    pub fn take_back(&mut self, env: &mut Environment<'_>) {
        let (target, early, commanded) = match self.state {
            State::Ready { target, .. } => (target, true, false),
            State::Executing { target, early, .. } => (target, early, true),
            _ => return,
        };
        env.send(target, self.id, Message::HandoverCancel);
        if env.rules.numbered {
            env.out.push(Action::ResumeBearer { host: env.host });
        }
        if commanded || self.bearer.path_has_left() {
            self.bearer.stop_forwarding(env.rules.way_to(target), self.id, env.out);
        }
        self.state = State::Serving;
        if early {
            self.id = self.id.newer(env.now);
            self.switch_path(env.address, None, env);
        }
        self.bearer.since(self.id);
        self.bearer.attach(env.now, env.rules, env.out);
        let returns = env.rules.cancelled == Cancelled::Return && env.rules.forwarding != Forwarding::None;
        if returns && (commanded || early) {
            self.bearer.expect_from(target, env.now, env.rules, env.out);
        }
    }

    /// The host's connection continues elsewhere: what was prepared is off, and what was forwarded comes back.
    pub fn withdraw(&mut self, env: &mut Environment<'_>) {
        match self.state {
            State::Preparing { target, .. } => env.send(target, self.id, Message::HandoverCancel),
            State::Executing { target, .. } => {
                env.send(target, self.id, Message::HandoverCancel);
                env.out.push(Action::ResumeBearer { host: env.host });
                self.bearer.stop_forwarding(env.rules.way_to(target), self.id, env.out);
                self.bearer.since(self.id);
                self.bearer.keep(env.out);
                if env.rules.cancelled == Cancelled::Return && env.rules.forwarding != Forwarding::None {
                    self.bearer.expect_from(target, env.now, env.rules, env.out);
                }
            }
            State::Dual { target, .. } => {
                env.send(target, self.id, Message::HandoverCancel);
                env.out.push(Action::ForwardBearer { host: env.host, to: Vec::new(), fresh: false });
            }
            State::Conditional { .. } => return self.cancel_candidates(None, env),
            State::Serving | State::Ready { .. } | State::Prepared { .. } | State::Leaving { .. } => return,
        }
        env.note(Phase::HandoverCancelled);
        self.state = State::Serving;
    }

    /// The host's connection is to continue here: the same, and nothing is sent until it does.
    pub fn abandon(&mut self, env: &mut Environment<'_>) {
        self.withdraw(env);
        self.bearer.hold(env.out);
    }

    /// The target has the host and the path; whether the context stays.
    pub fn released(&mut self, from: Addr, env: &mut Environment<'_>) -> bool {
        if matches!(self.state, State::Leaving { .. } | State::Prepared { .. }) {
            return true;
        }
        env.note(Phase::SourceReleased);
        self.cancel_candidates(Some(from), env);
        if env.rules.forwarding == Forwarding::None {
            self.bearer.end(env.out);
            return false;
        }
        self.forward_to(from, env);
        self.state = State::Leaving { until: env.now + env.rules.timers.forwarding_hold };
        true
    }

    /// Layer 2 has lost the host.
    pub fn host_gone(&mut self, env: &mut Environment<'_>) {
        self.resuming = None;
        if let State::Prepared { until, granted, .. } = &mut self.state {
            (*until, *granted) = (env.now + env.rules.timers.joining, None);
        }
        let forget_at = env.now + env.rules.absence;
        match &mut self.state {
            State::Serving | State::Preparing { .. } | State::Ready { .. } => {}
            State::Conditional { until, .. } => *until = forget_at.min(*until),
            State::Executing { .. } | State::Dual { .. } | State::Prepared { .. } | State::Leaving { .. } => {
                return;
            }
        }
        self.forget_at = Some(forget_at);
        // With numbers layer 2 repeats what is not confirmed: a base station does not notice immediately that a host is gone.
        if env.rules.forwarding != Forwarding::None && !env.rules.numbered {
            self.bearer.hold(env.out);
        }
    }
}
