//! Random losses at the far end of a link: of single packets, and of all that arrive in an outage.

use super::{Links, flag};
use crate::context::Context;
use roamlab_engine::Time;
use roamlab_packet::DropReason;
use roamlab_radio::{LossProcess, Outages};
use roamlab_record::cause::{Cause, CauseId, Kind};
use roamlab_record::ids::{LinkId, Location};

/// Random losses of a link.
#[derive(Clone, Debug, Default)]
pub(super) struct Losing {
    /// Single packets.
    packets: Option<LossProcess>,
    /// All packets that arrive in an outage.
    outages: Option<Outages>,
    /// When the last outage began that lost a packet, and its row of the causes.
    noted: Option<(Time, CauseId)>,
}

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

    /// True if [`loses`](Self::loses) has to be asked.
    #[inline(always)]
    pub fn may_lose(&self, id: LinkId) -> bool {
        self[id].losing.is_some()
    }

    /// The reason if the packet that arrives now is lost, and the row that led to it. A random loss is a root.
    #[inline(never)]
    pub fn loses(&mut self, id: LinkId, cx: &mut Context) -> Option<(DropReason, Option<CauseId>)> {
        let losing = self[id].losing.as_deref_mut()?;
        let is_lost = losing.packets.as_mut().is_some_and(LossProcess::loses);
        let Some((begin, _)) = losing.outages.as_mut().and_then(|outages| outages.at(cx.now)) else {
            return is_lost.then_some((DropReason::RandomLoss, None));
        };
        let row = match losing.noted {
            Some((at, row)) if at == begin => row,
            _ => cx.add_cause(Cause::root(Kind::LinkOutage).at(Location::Link(id))),
        };
        losing.noted = Some((begin, row));
        Some((DropReason::LinkDown, Some(row)))
    }
}
