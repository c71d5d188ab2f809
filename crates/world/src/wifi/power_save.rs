//! Frames that a base station of 802.11 holds for hosts that have announced that they are away (IEEE Std 802.11-2007
//! §11.2.1).
//!
//! DEVIATION: management frames are sent though the host is away, and the frames are held without limit of time.

use roamlab_packet::{Addr, Waiting};
use roamlab_record::cause::CauseId;
use std::collections::{BTreeMap, VecDeque};

/// Hosts that are away, and the frames for them.
#[derive(Clone, Debug)]
pub struct PowerSave {
    /// Frames for a host at most; 0: announcements are ignored.
    limit: usize,
    away: BTreeMap<Addr, Away>,
    /// Frames for hosts that are back, which go before others.
    released: VecDeque<Waiting>,
}

/// A host that is away: the row of its announcement, and the frames for it.
#[derive(Clone, Debug)]
struct Away {
    announced: CauseId,
    held: VecDeque<Waiting>,
}

impl PowerSave {
    /// No host is away.
    pub fn new(limit: u32) -> PowerSave {
        PowerSave { limit: limit as usize, away: BTreeMap::new(), released: VecDeque::new() }
    }

    /// A host is away from now on, by the announcement in this row. True if its frames are to be held.
    pub fn doze(&mut self, host: Addr, announced: CauseId) -> bool {
        if self.limit > 0 {
            let away = || Away { announced, held: VecDeque::new() };
            self.away.entry(host).or_insert_with(away).announced = announced;
        }
        self.limit > 0
    }

    /// A host is back. True if frames were held for it.
    pub fn wake(&mut self, host: Addr) -> bool {
        let Some(Away { held, .. }) = self.away.remove(&host) else { return false };
        let any = !held.is_empty();
        self.released.extend(held);
        any
    }

    /// True if a host is away.
    pub fn is_away(&self, host: Addr) -> bool {
        self.away.contains_key(&host)
    }

    /// True if frames are held for a host.
    pub fn holds_for(&self, host: Addr) -> bool {
        self.away.get(&host).is_some_and(|away| !away.held.is_empty())
    }

    /// Holds a frame for a host that is away. If there are too many, the oldest one and the row of the announcement.
    pub fn hold(&mut self, host: Addr, frame: Waiting) -> Option<(Waiting, CauseId)> {
        let Some(Away { announced, held }) = self.away.get_mut(&host) else {
            self.released.push_back(frame);
            return None;
        };
        held.push_back(frame);
        let oldest = if held.len() > self.limit { held.pop_front() } else { None };
        oldest.map(|frame| (frame, *announced))
    }

    /// The next frame for a host that is back.
    pub fn next(&mut self) -> Option<Waiting> {
        self.released.pop_front()
    }

    /// Removes all frames, in the order in which they would be sent.
    pub fn take(&mut self) -> Vec<Waiting> {
        let held = self.away.values_mut().flat_map(|away| std::mem::take(&mut away.held));
        std::mem::take(&mut self.released).into_iter().chain(held).collect()
    }

    /// Takes a frame again that [`take`](Self::take) has removed; `host` is its receiver.
    pub fn put_back(&mut self, host: Addr, frame: Waiting) {
        match self.away.get_mut(&host) {
            Some(away) => away.held.push_back(frame),
            None => self.released.push_back(frame),
        }
    }

    /// How many frames it has.
    pub fn len(&self) -> usize {
        self.released.len() + self.away.values().map(|away| away.held.len()).sum::<usize>()
    }
}
