//! When an end of a bearer is looked at next, what its losses are put down to, and for which packet its receiver waits.

use crate::context::Context;
use crate::event::Event;
use roamlab_engine::Time;
use roamlab_packet::Addr;
use roamlab_radio::bearer::Receiver;
use roamlab_record::BearerGap;
use roamlab_record::cause::{Cause, CauseId, Kind};
use roamlab_record::ids::{Location, NodeId};

/// When an end is looked at next.
#[derive(Copy, Clone, Default, Debug)]
pub struct Alarm(Option<Time>);

impl Alarm {
    /// Sets it, if it is to be earlier.
    pub fn set(&mut self, due: Option<Time>, (node, host): (NodeId, NodeId), cx: &mut Context) {
        let Some(due) = due.map(|due| due.max(cx.now)) else { return };
        if self.0.is_none_or(|pending| due < pending) {
            self.0 = Some(due);
            cx.scheduler.push(due, Event::Bearer { node, host });
        }
    }

    /// True if it is not set, or set to a later time.
    pub fn misses(&self, due: Time, now: Time) -> bool {
        self.0.is_none_or(|pending| pending > due.max(now))
    }

    /// It may have rung.
    pub fn ring(&mut self, now: Time) {
        self.0 = self.0.filter(|pending| *pending > now);
    }
}

/// The rows of the causes that an end's packets are put down to, and for which packet its receiver waits.
#[derive(Copy, Clone, Debug)]
pub struct Causes {
    /// The last loss of a packet of the bearer, before t-Reordering.
    pub gap: CauseId,
    /// The last expiry of t-Reordering.
    pub expiry: CauseId,
    /// Since when the receiver waits for a packet while it keeps later ones, and the number of that packet.
    waits: Option<(Time, u32)>,
}

impl Causes {
    /// Lets the receiver at a node react. If t-Reordering expires by that, the row of it is the cause of packets that are
    /// late from now on; `moved`: what led to it, if no loss did.
    pub fn react<P, T>(
        &mut self,
        receiver: &mut Receiver<P>,
        (node, host, moved): (NodeId, Addr, CauseId),
        cx: &mut Context,
        reaction: impl FnOnce(&mut Receiver<P>, Time) -> T,
    ) -> T {
        let before = receiver.expiries();
        let result = reaction(receiver, cx.now);
        let expired = receiver.expiries() > before;
        if expired {
            let row = Cause::of(Kind::Reordering, "", self.gap.or(|| moved)).at(Location::Node(node));
            self.expiry = cx.add_cause(row.about(Some(host)));
        }
        let missing = (!receiver.is_empty()).then(|| receiver.first_missing());
        if missing != self.waits.map(|(_, number)| number) {
            if let Some((since, number)) = self.waits {
                cx.probes.bearer_gap(BearerGap {
                    time_ns: since,
                    until_ns: cx.now,
                    host,
                    node,
                    number,
                    expired,
                    cause: if expired { self.expiry } else { CauseId::NONE },
                });
            }
            self.waits = missing.map(|number| (cx.now, number));
        }
        result
    }
}

impl Default for Causes {
    fn default() -> Self {
        Causes { gap: CauseId::NONE, expiry: CauseId::NONE, waits: None }
    }
}
