//! Random losses at the far end of a link: of single packets, and of all that arrive in an outage.

use super::{Links, Losing, Lost, flag};
use crate::context::Context;
use roamlab_radio::{LossProcess, Outages};
use roamlab_record::cause::{Cause, Kind};
use roamlab_record::ids::{LinkId, Location};

impl Links {
    /// The link loses packets at random.
    pub fn lose_at_random(&mut self, id: LinkId, loss: LossProcess) {
        self.losing(id).packets = Some(loss);
    }

    /// The link loses what arrives in outages.
    pub fn lose_in(&mut self, id: LinkId, outages: Outages) {
        self.losing(id).outages = Some(outages);
    }

    fn losing(&mut self, id: LinkId) -> &mut Losing {
        self.set(id, flag::TRACKED);
        self[id].losing.get_or_insert_default()
    }

    /// The reason if the packet that arrives now is lost at random.
    #[inline(always)]
    pub fn loses(&mut self, id: LinkId, cx: &mut Context) -> Option<Lost> {
        if self[id].losing.is_none() { None } else { self.lost_in(id, cx) }
    }

    #[inline(never)]
    fn lost_in(&mut self, id: LinkId, cx: &mut Context) -> Option<Lost> {
        let losing = self[id].losing.as_deref_mut()?;
        let is_lost = losing.packets.as_mut().is_some_and(|loss| loss.loses(cx.now));
        let Some((begin, _)) = losing.outages.as_mut().and_then(|outages| outages.at(cx.now)) else {
            return is_lost.then_some(Lost::AtRandom);
        };
        let row = match losing.noted {
            Some((at, row)) if at == begin => row,
            _ => cx.add_cause(Cause::root(Kind::LinkOutage).at(Location::Link(id))),
        };
        losing.noted = Some((begin, row));
        Some(Lost::InOutage(row))
    }
}
