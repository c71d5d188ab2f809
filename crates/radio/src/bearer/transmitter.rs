//! The transmitting PDCP entity (TS 38.323 §5.2.1, §5.1.2, §5.3): numbers, discardTimer, and what is not confirmed.

use roamlab_engine::{Duration, Time};
use std::collections::{BTreeMap, BTreeSet};

/// A PDCP SDU that has a number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kept<T> {
    /// The SDU.
    pub sdu: T,
    /// When it entered PDCP.
    pub since: Time,
    /// The lower layer has confirmed it; an earlier one is not confirmed.
    pub confirmed: bool,
    /// Its discardTimer has expired.
    pub discarded: bool,
}

/// A transmitting PDCP entity, which keeps what has a number until it is confirmed. `T` is a PDCP SDU.
#[derive(Clone, Debug)]
pub struct Transmitter<T> {
    /// TX_NEXT: COUNT of the next SDU.
    next: u32,
    /// Half of the space of sequence numbers.
    window: u32,
    /// discardTimer; `None`: infinity.
    discard: Option<Duration>,
    kept: BTreeMap<u32, Kept<T>>,
    /// When the discardTimer of each SDU expires.
    expiries: BTreeSet<(Time, u32)>,
}

impl<T> Transmitter<T> {
    /// A transmitter whose first number is `first`, with sequence numbers of `sn_bits` bits. `discard`: discardTimer, `None`
    /// is infinity.
    pub fn new(first: u32, sn_bits: u8, discard: Option<Duration>) -> Transmitter<T> {
        let (kept, expiries) = (BTreeMap::new(), BTreeSet::new());
        Transmitter { next: first, window: 1 << (sn_bits - 1), discard, kept, expiries }
    }

    /// The next number.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// The next number is this one.
    pub fn continue_at(&mut self, next: u32) {
        self.next = next;
    }

    /// True if half of the sequence numbers are not confirmed: one more could be taken for an old one (§5.2.1 note).
    pub fn is_stalled(&self) -> bool {
        self.next.saturating_sub(self.first_unconfirmed()) >= self.window
    }

    /// The next number, which is given now. `None`: COUNT would wrap, which is not allowed (§5.2.1).
    pub fn number(&mut self) -> Option<u32> {
        let count = self.next;
        self.next = count.checked_add(1)?;
        Some(count)
    }

    /// Keeps an SDU that has this number until it is confirmed.
    pub fn keep(&mut self, count: u32, since: Time, sdu: T) -> Option<T> {
        if let Some(discard) = self.discard {
            self.expiries.insert((since + discard, count));
        }
        let kept = Kept { sdu, since, confirmed: false, discarded: false };
        self.kept.insert(count, kept).map(|kept| kept.sdu)
    }

    /// An SDU that it keeps.
    pub fn get(&self, count: u32) -> Option<&T> {
        self.kept.get(&count).map(|kept| &kept.sdu)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, count: u32) -> Option<&mut T> {
        self.kept.get_mut(&count).map(|kept| &mut kept.sdu)
    }

    /// Forgets an SDU, which is returned.
    pub fn forget(&mut self, count: u32) -> Option<T> {
        let kept = self.kept.remove(&count)?;
        self.stop_timer(count, kept.since);
        self.drop_confirmed();
        Some(kept.sdu)
    }

    fn stop_timer(&mut self, count: u32, since: Time) {
        if let Some(discard) = self.discard {
            self.expiries.remove(&(since + discard, count));
        }
    }

    /// The lower layer confirms an SDU. It is kept as long as an earlier one is not confirmed: re-establishment repeats all
    /// from the first unconfirmed on (§5.1.2).
    pub fn confirm(&mut self, count: u32) {
        let Some(kept) = self.kept.get_mut(&count) else { return };
        kept.confirmed = true;
        let since = kept.since;
        self.stop_timer(count, since);
        self.drop_confirmed();
    }

    fn drop_confirmed(&mut self) {
        while let Some(first) = self.kept.first_entry()
            && first.get().confirmed
        {
            first.remove();
        }
    }

    /// Number of the first SDU that is not confirmed; the next number, if all are.
    pub fn first_unconfirmed(&self) -> u32 {
        self.kept.keys().next().map_or(self.next, |first| (*first).min(self.next))
    }

    /// The SDUs that are not confirmed, in order.
    pub fn unconfirmed(&self) -> impl Iterator<Item = (u32, &T)> {
        self.kept.iter().filter(|(_, kept)| !kept.confirmed).map(|(count, kept)| (*count, &kept.sdu))
    }

    /// True if a re-establishment repeats the SDU with this number, unless it is confirmed before.
    pub fn repeats(&self, count: u32) -> bool {
        self.kept.get(&count).is_some_and(|kept| !kept.discarded)
    }

    /// The SDUs that it keeps, in order.
    pub fn kept(&self) -> impl Iterator<Item = (u32, &T)> {
        self.kept.iter().map(|(count, kept)| (*count, &kept.sdu))
    }

    /// All SDUs from the first unconfirmed one on, in order; it keeps none any more (re-establishment, §5.1.2).
    pub fn take_all(&mut self) -> impl Iterator<Item = (u32, Kept<T>)> + use<T> {
        self.expiries.clear();
        std::mem::take(&mut self.kept).into_iter()
    }

    /// When the next discardTimer expires.
    pub fn deadline(&self) -> Option<Time> {
        self.expiries.first().map(|(expiry, _)| *expiry)
    }

    /// The numbers whose discardTimers have expired (§5.3), in the order of the expiries. Each is named once: the SDU is
    /// not repeated at a re-establishment, though RLC may still send it.
    pub fn on_deadline(&mut self, now: Time) -> Vec<u32> {
        let mut due = Vec::new();
        while let Some(&(expiry, count)) = self.expiries.first()
            && expiry <= now
        {
            self.expiries.pop_first();
            if let Some(kept) = self.kept.get_mut(&count) {
                kept.discarded = true;
                due.push(count);
            }
        }
        due
    }

    /// How many SDUs it keeps.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// True if it keeps none.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }
}
