//! Steps of a handover that follow after a time: the acknowledgement of a target, and the command of a source.

use super::{Due, GNodeB};
use crate::Identification;
use crate::cellular::State;
use crate::nr::{Action, ForwardFrom, Kind};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;

impl GNodeB {
    /// The time of the next step of a handover has come.
    pub(super) fn next_step(&mut self, host: Addr, now: Time, out: &mut Vec<Action>) {
        let Some(known) = self.hosts.get_mut(&host) else { return };
        let Some((_, due)) = known.due.take_if(|(at, _)| *at <= now) else { return };
        let id = known.context.id;
        match due {
            Due::Admit => {
                let State::Prepared { source, .. } = known.context.state else { return };
                let (to, kind) = match self.by_core() {
                    true => (self.amf, Kind::NgHandoverRequestAcknowledge),
                    false => (source, Kind::HandoverRequestAcknowledge),
                };
                self.send(host, (to, id), kind, out);
            }
            Due::Ready(target) => {
                self.with(host, now, out, |known, env| {
                    known.context.target_is_ready(target, env);
                    true
                });
            }
            Due::Command(target) => {
                let dual = self.params.daps;
                self.send(host, (host, id), Kind::Reconfiguration { target, dual }, out);
            }
        }
    }

    /// The target has acknowledged.
    pub(super) fn target_is_ready(
        &mut self,
        host: Addr,
        (target, id): (Addr, Identification),
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let (delay, from) = (self.params.command_delay, self.params.forward_from);
        let conditional = self.params.conditional.is_some();
        let mut command_later = false;
        self.with(host, now, out, |known, env| {
            let prepares = matches!(known.context.state, State::Preparing { target: expected, .. } if expected == target);
            if id != known.context.id || !(prepares || conditional) {
                return true;
            }
            if !conditional && delay > Duration::ZERO {
                match from {
                    ForwardFrom::Command => {
                        known.due = Some((now + delay, Due::Ready(target)));
                        if let State::Preparing { until, .. } = &mut known.context.state {
                            *until = now + delay + env.rules.timers.reloc_prep;
                        }
                        return true;
                    }
                    ForwardFrom::Acknowledge => {
                        known.due = Some((now + delay, Due::Command(target)));
                        command_later = true;
                    }
                }
            }
            known.marked = false;
            known.context.target_is_ready(target, env);
            true
        });
        if command_later {
            let is_command = |action: &Action| matches!(action, Action::Send { message, .. } if matches!(message.kind, Kind::Reconfiguration { .. }));
            out.retain(|action| !is_command(action));
        }
    }
}
