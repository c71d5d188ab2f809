//! The context of a host at a base station: the state of its handover, its path switch and its timers.

use super::bearer::Bearer;
use super::message::{Message, Out, Plan};
use super::{Action, Phase, Rules};
use crate::backoff::Backoff;
use crate::identification::Identification;
use crate::signal::Signal;
use roamlab_engine::Time;
use roamlab_packet::{Addr, MarkingState};

/// State of a host in a base station.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    /// Of the newest handover, service request or path switch.
    pub id: Identification,
    pub state: State,
    pub bearer: Bearer,
    /// The path switch request that is not answered.
    pub path: Option<Path>,
    /// The source from which the path is to be switched once the numbers of the bearer are known.
    pub awaits_path: Option<Addr>,
    /// Measurement control that is not confirmed.
    pub measuring: Option<Backoff>,
    /// When a serving base station forgets a host that has gone.
    pub forget_at: Option<Time>,
    /// Re-establishment that the host has not completed.
    pub resuming: Option<Resuming>,
    /// The estimate that the source's queue for the host had, until the host is here.
    pub marking: Option<MarkingState>,
}

#[derive(Clone, Debug)]
pub(crate) enum State {
    Serving,
    /// Source: has asked the target. `wanted`: the host has reported it.
    Preparing {
        target: Addr,
        until: Time,
        early: bool,
        wanted: bool,
    },
    /// Source: the target is prepared and the path switched for a predicted handover.
    Ready {
        target: Addr,
        until: Time,
    },
    /// Source: has commanded.
    Executing {
        target: Addr,
        until: Time,
        early: bool,
    },
    /// Source: has commanded, and serves the host until it is at the target.
    Dual {
        target: Addr,
        until: Time,
    },
    /// Source: the host goes to one of these without a further command.
    Conditional {
        candidates: Vec<Candidate>,
        until: Time,
    },
    /// Target: expects the host. `granted`: it has begun random access, and is answered again then, for as long as it is
    /// here.
    Prepared {
        source: Addr,
        until: Time,
        granted: Option<Time>,
        plan: Plan,
    },
    /// The host is elsewhere: passes on what still comes.
    Leaving {
        until: Time,
    },
}

/// A target of a conditional handover.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Candidate {
    pub target: Addr,
    pub progress: Progress,
}

/// State of a candidate at the source.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Progress {
    Asked,
    Prepared,
}

/// Re-establishment that was granted and not completed.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Resuming {
    /// Of the host's request.
    pub id: Identification,
    /// When the answer is repeated, if it is.
    pub retry: Option<Backoff>,
}

/// A path switch request that is not answered.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Path {
    pub id: Identification,
    pub base_station: Addr,
    /// Recipient of the notice when it is done.
    pub release: Option<Addr>,
    /// When it is repeated, if it is.
    pub retry: Option<Backoff>,
}

/// Data for the reaction of a context.
pub(crate) struct Environment<'a> {
    /// Of the base station, and of the node that has the path switched.
    pub address: Addr,
    pub core: Addr,
    pub rules: &'a Rules,
    pub host: Addr,
    /// Layer 2 has the host here.
    pub present: bool,
    pub now: Time,
    pub out: &'a mut dyn Out,
}

impl Environment<'_> {
    pub fn send(&mut self, to: Addr, id: Identification, message: Message) {
        self.out.send(to, Signal::about(self.host, id, message));
    }

    pub fn note(&mut self, phase: Phase) {
        self.out.push(Action::Note { host: self.host, phase });
    }
}

impl Context {
    /// The context of a host that `bearer` serves from now on.
    pub fn new(id: Identification, state: State, bearer: Bearer) -> Context {
        Context {
            id,
            state,
            bearer,
            path: None,
            awaits_path: None,
            measuring: None,
            forget_at: None,
            resuming: None,
            marking: None,
        }
    }

    /// True if the host is here or expected.
    pub fn is_active(&self) -> bool {
        !matches!(self.state, State::Leaving { .. })
    }

    /// The source has handed the host over, and forwards what comes.
    pub fn has_handed_over(&self) -> bool {
        matches!(self.state, State::Executing { .. } | State::Leaving { .. })
    }

    /// The source learns from a target that the host has come.
    pub fn awaits_success(&self) -> bool {
        matches!(self.state, State::Conditional { .. } | State::Dual { .. })
    }

    /// Asks that the path of the host go to a base station; `release` is notified when it does.
    pub fn switch_path(&mut self, base_station: Addr, release: Option<Addr>, env: &mut Environment<'_>) {
        let path = Path { id: self.id, base_station, release, retry: env.rules.core_retry(env.now) };
        env.send(env.core, path.id, Message::PathSwitchRequest { base_station, prepared: false });
        self.path = Some(path);
    }

    /// Switches the path of the host from `source` to here.
    pub fn fetch_path(&mut self, source: Addr, env: &mut Environment<'_>) {
        if env.rules.core_prepares {
            let base_station = env.address;
            env.send(env.core, self.id, Message::PathSwitchRequest { base_station, prepared: true });
        } else {
            self.switch_path(env.address, Some(source), env);
        }
    }

    /// The numbers of the bearer are known: the path is switched if that has waited for them.
    pub fn numbers_are_known(&mut self, env: &mut Environment<'_>) {
        if let Some(source) = self.awaits_path.take() {
            self.fetch_path(source, env);
        }
    }

    /// The path switch request is acknowledged.
    pub fn path_switched(&mut self, env: &mut Environment<'_>) {
        let Some(path) = self.path.take() else { return };
        env.note(Phase::PathSwitchAcknowledged);
        if let Some(source) = path.release {
            env.send(source, path.id, Message::ContextRelease);
        }
    }

    /// The MME knows a newer handover: the base station that has the host wins.
    pub fn path_refused(&mut self, env: &mut Environment<'_>) {
        let Some(path) = self.path.take() else { return };
        if path.base_station == env.address && env.present && matches!(self.state, State::Serving) {
            self.id = self.id.newer(env.now);
            self.bearer.since(self.id);
            self.switch_path(path.base_station, path.release, env);
        }
    }

    /// An end marker has come; true if it has passed to a target.
    pub fn end_marker(&mut self, from: Addr, id: Identification, env: &mut Environment<'_>) -> bool {
        let waited = self.bearer.waits();
        let relayed = self.bearer.end_marker(from, id, env.rules, env.out);
        if waited && !self.bearer.waits() {
            env.note(Phase::OrderRestored);
        }
        if relayed {
            env.note(Phase::ForwardingEnded);
        }
        if matches!(self.state, State::Ready { .. }) && self.bearer.path_has_left() && !self.bearer.waits() {
            env.out.push(Action::AwaitDrained { host: env.host });
        }
        relayed
    }

    fn wait_is_over(&mut self, env: &mut Environment<'_>) {
        if self.bearer.on_timer(env.now, env.out) {
            env.note(Phase::ReorderingTimedOut);
            if self.bearer.relay_end(env.out) {
                env.note(Phase::ForwardingEnded);
            }
        }
    }

    /// Some of its deadlines may have come; whether the context stays.
    pub fn on_timer(&mut self, env: &mut Environment<'_>) -> bool {
        self.wait_is_over(env);
        if let Some(path) = &mut self.path
            && let Some(retry) = path.retry.take_if(|retry| retry.at <= env.now)
        {
            path.retry = Some(retry.again(env.now));
            let Path { id, base_station, .. } = *path;
            env.send(env.core, id, Message::PathSwitchRequest { base_station, prepared: false });
        }
        if let Some(timer) = self.measuring.filter(|timer| timer.at <= env.now) {
            self.measuring = env.present.then(|| timer.again(env.now));
            if env.present {
                env.send(env.host, self.id, Message::MeasurementControl);
            }
        }
        if let Some(resuming) = &mut self.resuming
            && let Some(retry) = resuming.retry.take_if(|retry| retry.at <= env.now)
        {
            resuming.retry = Some(retry.again(env.now));
            let id = resuming.id;
            env.send(env.host, id, Message::Reestablishment);
        }
        let stays = match self.state {
            State::Serving => {
                self.forget_at = self.forget_at.filter(|_| !env.present);
                self.forget_at.is_none_or(|at| env.now < at)
            }
            State::Preparing { until, .. }
            | State::Ready { until, .. }
            | State::Executing { until, .. }
            | State::Dual { until, .. }
            | State::Conditional { until, .. } => {
                if until <= env.now {
                    self.source_times_out(env);
                }
                true
            }
            State::Prepared { until, granted, .. } => {
                if granted.is_some_and(|at| at <= env.now) {
                    self.accessed(env);
                }
                granted.is_some() || self.resuming.is_some() || env.now < until
            }
            State::Leaving { until } => env.now < until,
        };
        if !stays {
            self.bearer.end(env.out);
        }
        stays
    }

    /// Gives `each` all times at which it wants [`on_timer`](Self::on_timer).
    pub fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        let due = match self.state {
            State::Serving => self.forget_at,
            State::Prepared { until, granted, .. } => granted.or(self.resuming.is_none().then_some(until)),
            State::Preparing { until, .. }
            | State::Ready { until, .. }
            | State::Executing { until, .. }
            | State::Dual { until, .. }
            | State::Conditional { until, .. }
            | State::Leaving { until } => Some(until),
        };
        let path = self.path.and_then(|path| Some(path.retry?.at));
        let measuring = self.measuring.map(|timer| timer.at);
        let resuming = self.resuming.and_then(|resuming| Some(resuming.retry?.at));
        [due, path, measuring, resuming, self.bearer.next_deadline()].into_iter().flatten().for_each(each);
    }
}
