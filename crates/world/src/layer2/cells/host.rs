//! A mobile host.

use crate::ids::CellId;
use roamlab_engine::{Duration, Time};
use roamlab_packet::Waiting;
use roamlab_radio::{Meter, Motion, Reception, Signal, UplinkChoice};
use roamlab_record::cause::CauseId;
use roamlab_record::ids::LinkId;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The moving part of a mobile host.
#[derive(Clone, Debug)]
pub struct Mobile {
    /// Its motions, in order.
    pub(super) plan: Vec<(Time, Motion)>,
    /// The motion that comes next.
    pub(super) next_motion: usize,
    /// The cells of its visits.
    pub(super) visits: Vec<CellId>,
    /// The visit that it is in or was in last.
    pub(super) visit: u32,
    /// The cells it is in, in the order in which it entered them.
    pub(super) attachments: Vec<CellId>,
    /// When it left each cell that it has been in last, and the row of the causes of that.
    pub(super) left: BTreeMap<CellId, (Time, CauseId)>,
    /// Which link it sends on while it is in several cells.
    pub(super) uplink_choice: UplinkChoice,
    /// The cell that its agent wants it in, when layer 2 is to be up, and what led to that.
    pub(super) entering: Option<(CellId, Time, CauseId)>,
    /// The row of the causes of its last change of cells.
    pub(super) moved: CauseId,
    /// The row of not hearing the cell it is in, once something is lost by that.
    pub(super) unheard: CauseId,
    /// Its uplinks, one for each cell it visits.
    pub(super) uplinks: BTreeMap<CellId, LinkId>,
    /// The uplink that its packets take now.
    pub(super) uplink: Option<LinkId>,
    /// The same, if nothing else happens to them: no copies take others, and they get no numbers.
    pub(super) only_uplink: Option<LinkId>,
    /// The cell that its packets go to, in place of the one by choice.
    pub(super) pinned: Option<CellId>,
    /// It has a numbered radio bearer.
    pub(super) numbers: bool,
    /// (802.11) the cells and the channel that it can receive.
    pub(super) reception: Option<Box<Reception>>,
    /// Its measurements.
    pub(super) measuring: Option<Measuring>,
    /// Packets that it wants to send and cannot, for lack of a link.
    pub(super) waiting: Backlog,
    /// Its layer 2 drops packets that it has got already.
    pub(super) drops_duplicates: bool,
    /// If its layer 2 drops duplicates: which packets it got last, by the serial number of the first copy.
    pub(super) received: BTreeSet<u64>,
}

impl Mobile {
    /// Packets that wait for a link at most; more are lost.
    ///
    /// ASSUMPTION: the transmit queue of a host's interface survives a change of cell, as Linux's does.
    pub const WAITING_LIMIT: usize = 1000;

    /// Packets that a host remembers as received: half the space of 12-bit PDCP numbers (TS 36.323 §6.3.5).
    const REMEMBERED: usize = 2048;

    /// A host that is in no cell yet: its motions with the cells of its visits, and its uplinks, one for each cell.
    pub fn new(
        (plan, visits): (Vec<(Time, Motion)>, Vec<CellId>),
        (uplinks, uplink_choice): (BTreeMap<CellId, LinkId>, UplinkChoice),
        (measuring, reception): (Option<Measuring>, Option<Box<Reception>>),
        drops_duplicates: bool,
    ) -> Mobile {
        Mobile {
            plan,
            next_motion: 0,
            visits,
            visit: 0,
            attachments: Vec::new(),
            left: BTreeMap::new(),
            uplink_choice,
            entering: None,
            moved: CauseId::NONE,
            unheard: CauseId::NONE,
            uplinks,
            uplink: None,
            only_uplink: None,
            pinned: None,
            numbers: false,
            measuring,
            reception,
            waiting: Backlog::default(),
            drops_duplicates,
            received: BTreeSet::new(),
        }
    }

    /// True if this is the first copy of a packet that it gets.
    pub(super) fn is_new(&mut self, copy_of: u64) -> bool {
        let new = self.received.insert(copy_of);
        if self.received.len() > Mobile::REMEMBERED {
            self.received.pop_first();
        }
        new
    }

    /// The cell it has entered last, if it is in any.
    pub(super) fn newest_cell(&self) -> Option<CellId> {
        self.attachments.last().copied()
    }

    /// The uplinks that copies of its packets take, in addition to [`uplink`](Self::uplink).
    pub(super) fn copy_uplinks(&self) -> Vec<LinkId> {
        let others = match (self.uplink_choice, self.attachments.as_slice()) {
            (UplinkChoice::All, [others @ .., _]) => others,
            _ => &[],
        };
        others.iter().filter_map(|cell| self.uplinks.get(cell).copied()).collect()
    }

    /// True if it is in `cell` and can hear it.
    ///
    /// ASSUMPTION: what is sent while a cell cannot be heard is lost; layer 2 does not repeat it when it can be again.
    pub(super) fn is_in(&self, cell: CellId) -> bool {
        self.attachments.contains(&cell)
            && !self.measuring.as_ref().is_some_and(|measuring| measuring.meter.is_deaf())
    }

    /// The cell that its packets go to.
    pub(super) fn uplink_cell(&self) -> Option<CellId> {
        let by_choice = match self.uplink_choice {
            UplinkChoice::Newest | UplinkChoice::All => self.attachments.last(),
            UplinkChoice::Oldest => self.attachments.first(),
        };
        self.pinned.or(by_choice.copied())
    }

    /// The cells that it is in have changed: which uplink its packets take, and what it measures as the serving cell.
    pub(super) fn serve(&mut self) {
        self.pinned = self.pinned.filter(|cell| self.attachments.contains(cell));
        let cell = self.uplink_cell();
        self.uplink = cell.and_then(|cell| self.uplinks.get(&cell).copied());
        let is_plain = self.uplink_choice != UplinkChoice::All && !self.numbers;
        self.only_uplink = self.uplink.filter(|_| is_plain);
        let serving = self.pinned.or(self.newest_cell()).map(|cell| cell.0 as usize);
        if let Some(measuring) = &mut self.measuring {
            measuring.meter.serve(serving);
        }
    }
}

/// Packets that wait for a link, in the order in which they enter the next one.
#[derive(Clone, Debug, Default)]
pub struct Backlog {
    /// Packets from the queue of the link that is gone.
    pub queued: VecDeque<Waiting>,
    /// The signalling that overtook it there.
    pub overtaking: VecDeque<Waiting>,
    /// Packets that the host has offered since.
    pub since: VecDeque<Waiting>,
}

impl Backlog {
    /// How many packets these are.
    pub(super) fn len(&self) -> usize {
        self.queued.len() + self.overtaking.len() + self.since.len()
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Waiting> {
        self.queued.iter().chain(&self.overtaking).chain(&self.since)
    }
}

/// How a mobile host measures its cells, which are numbered as in the world.
#[derive(Clone, Debug)]
pub struct Measuring {
    /// How strong the cells are.
    pub signal: Signal,
    /// Its conclusion.
    pub meter: Meter,
    /// Time between measurements.
    pub period: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mobile(uplinks: BTreeMap<CellId, LinkId>, choice: UplinkChoice) -> Mobile {
        Mobile::new((Vec::new(), Vec::new()), (uplinks, choice), (None, None), true)
    }

    #[test]
    fn copies_go_to_every_cell_but_the_newest_if_so_chosen() {
        let cells = [7, 3, 5].map(CellId);
        let uplinks: BTreeMap<CellId, LinkId> =
            cells.iter().map(|&cell| (cell, LinkId(10 * cell.0))).collect();
        for (choice, uplink, copies) in [
            (UplinkChoice::All, 50, vec![70, 30]),
            (UplinkChoice::Newest, 50, vec![]),
            (UplinkChoice::Oldest, 70, vec![]),
        ] {
            let mut mobile = mobile(uplinks.clone(), choice);
            mobile.attachments = cells.to_vec();
            mobile.serve();
            let copied: Vec<u32> = mobile.copy_uplinks().iter().map(|link| link.0).collect();
            assert_eq!((mobile.uplink, copied), (Some(LinkId(uplink)), copies));
        }
    }

    #[test]
    fn a_copy_is_known_for_long_after_more_packets_than_are_remembered() {
        let mut mobile = mobile(BTreeMap::new(), UplinkChoice::Newest);
        let memory = Mobile::REMEMBERED as u64;
        for serial in 0..3 * memory {
            assert!(mobile.is_new(serial), "{serial}");
            assert!(!mobile.is_new(serial), "a copy immediately: {serial}");
            assert!(!mobile.is_new(serial.saturating_sub(memory - 1)), "a copy of the oldest: {serial}");
        }
    }
}
