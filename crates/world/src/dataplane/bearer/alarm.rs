//! When an end of a bearer is looked at next, and what its losses are put down to.

use crate::context::Context;
use crate::event::Event;
use roamlab_engine::Time;
use roamlab_record::cause::CauseId;
use roamlab_record::ids::NodeId;

/// When an end is looked at next.
#[derive(Copy, Clone, Default, Debug)]
pub struct Alarm(Option<Time>);

impl Alarm {
    /// Sets it, if it is to be earlier.
    pub fn set(&mut self, due: Option<Time>, (node, host): (NodeId, NodeId), cx: &mut Context) {
        let Some(due) = due.map(|due| due.max(cx.now)) else { return };
        if self.0.is_none_or(|pending| due < pending) {
            self.0 = Some(due);
            cx.scheduler.push(due, Event::Bearer { node, host, last: false });
        }
    }

    /// It may have rung.
    pub fn ring(&mut self, now: Time) {
        self.0 = self.0.filter(|pending| *pending > now);
    }
}

/// The rows of the causes that an end's packets are put down to.
#[derive(Copy, Clone, Debug)]
pub struct Causes {
    /// The last loss of a packet of the bearer, before t-Reordering.
    pub gap: CauseId,
    /// The last expiry of t-Reordering.
    pub expiry: CauseId,
}

impl Default for Causes {
    fn default() -> Self {
        Causes { gap: CauseId::NONE, expiry: CauseId::NONE }
    }
}
