//! The receiving PDCP entity (TS 38.323 §5.2.2): delivery in order of COUNT, with t-Reordering.

use roamlab_engine::{Duration, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Numbers given up that a receiver remembers, to tell a late packet from a copy.
const REMEMBERED: usize = 1 << 16;

/// A receiving PDCP entity, which keeps what arrives out of order. `T` is a PDCP SDU.
#[derive(Clone, Debug)]
pub struct Receiver<T> {
    sn_bits: u8,
    /// t-Reordering; `None`: infinity.
    t_reordering: Option<Duration>,
    /// RX_NEXT: COUNT of the SDU that is expected next.
    next: u32,
    /// RX_DELIV: COUNT of the first SDU that is not delivered and still waited for.
    deliv: u32,
    /// RX_REORD: COUNT behind the one that started t-Reordering.
    reord: u32,
    expiry: Option<Time>,
    stored: BTreeMap<u32, T>,
    /// COUNTs that the receiver no longer waits for.
    given_up: BTreeSet<u32>,
    expiries: u64,
}

/// Result of the arrival of a PDU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Arrival<T> {
    /// These SDUs are delivered, in order; none, if the PDU has to wait for an earlier one.
    Delivered(Vec<T>),
    /// It had arrived before.
    Copy(T),
    /// The receiver had stopped waiting for it when t-Reordering expired.
    Late(T),
}

impl<T> Receiver<T> {
    /// A receiver whose first packet has the number `first`, with sequence numbers of `sn_bits` bits. `t_reordering`:
    /// `None` is infinity.
    pub fn new(first: u32, sn_bits: u8, t_reordering: Option<Duration>) -> Receiver<T> {
        Receiver {
            sn_bits,
            t_reordering,
            next: first,
            deliv: first,
            reord: first,
            expiry: None,
            stored: BTreeMap::new(),
            given_up: BTreeSet::new(),
            expiries: 0,
        }
    }

    /// The COUNT of a PDU with this sequence number: RCVD_COUNT of §5.2.2.1. `None`: its HFN would be negative, or COUNT
    /// would wrap.
    pub fn count(&self, sn: u32) -> Option<u32> {
        let (bits, window) = (u32::from(self.sn_bits), 1i64 << (self.sn_bits - 1));
        let (hfn, expected) = (i64::from(self.deliv >> bits), i64::from(self.deliv & ((1 << bits) - 1)));
        let sn = i64::from(sn);
        let hfn = if sn < expected - window {
            hfn + 1
        } else if sn >= expected + window {
            hfn - 1
        } else {
            hfn
        };
        u32::try_from((hfn << bits) | sn).ok().filter(|_| hfn >= 0)
    }

    /// A PDU with this sequence number arrives.
    pub fn receive(&mut self, sn: u32, sdu: T, now: Time) -> Arrival<T> {
        let Some(count) = self.count(sn) else { return Arrival::Copy(sdu) };
        if count < self.deliv {
            return if self.given_up.remove(&count) { Arrival::Late(sdu) } else { Arrival::Copy(sdu) };
        }
        if self.stored.contains_key(&count) {
            return Arrival::Copy(sdu);
        }
        self.stored.insert(count, sdu);
        self.next = self.next.max(count.saturating_add(1));
        let mut delivered = Vec::new();
        if count == self.deliv {
            self.deliver_run(&mut delivered);
        }
        if self.expiry.is_some() && self.deliv >= self.reord {
            self.expiry = None;
        }
        self.start_if_gap(now);
        if self.t_reordering == Some(Duration::ZERO) {
            delivered.extend(self.on_deadline(now));
        }
        Arrival::Delivered(delivered)
    }

    /// A PDU with this COUNT arrives: its header has the sequence number alone.
    pub fn receive_numbered(&mut self, count: u32, sdu: T, now: Time) -> Arrival<T> {
        self.receive(self.sn(count), sdu, now)
    }

    /// The COUNT that a PDU with this COUNT is taken for.
    pub fn taken_for(&self, count: u32) -> Option<u32> {
        self.count(self.sn(count))
    }

    fn sn(&self, count: u32) -> u32 {
        count & ((1 << self.sn_bits) - 1)
    }

    /// When t-Reordering expires, if it runs.
    pub fn deadline(&self) -> Option<Time> {
        self.expiry
    }

    /// t-Reordering may have expired (§5.2.2.2): what is delivered.
    pub fn on_deadline(&mut self, now: Time) -> Vec<T> {
        let mut delivered = Vec::new();
        while self.expiry.is_some_and(|expiry| expiry <= now) {
            self.expiry = None;
            self.expiries += 1;
            let missing = (self.deliv..self.reord).filter(|count| !self.stored.contains_key(count));
            self.given_up.extend(missing.rev().take(REMEMBERED));
            while self.given_up.len() > REMEMBERED {
                self.given_up.pop_first();
            }
            let behind = self.stored.split_off(&self.reord);
            delivered.extend(std::mem::replace(&mut self.stored, behind).into_values());
            self.deliv = self.reord;
            self.deliver_run(&mut delivered);
            self.start_if_gap(now);
        }
        delivered
    }

    /// The stored packets in order, however many are missing: the entity is released, or re-established in unacknowledged
    /// mode (§5.1.2, §5.1.3). It begins again with the number 0.
    pub fn restart(&mut self) -> Vec<T> {
        let expiries = self.expiries;
        let old = std::mem::replace(self, Receiver::new(0, self.sn_bits, self.t_reordering));
        self.expiries = expiries;
        old.stored.into_values().collect()
    }

    /// The status report (§5.4.1): FMC, and the numbers behind it that have arrived.
    pub fn status(&self) -> (u32, BTreeSet<u32>) {
        (self.deliv, self.stored.keys().copied().collect())
    }

    /// RX_DELIV: number of the first packet that is not delivered.
    pub fn first_missing(&self) -> u32 {
        self.deliv
    }

    /// True if the receiver no longer waits for a packet that has not come. Its status reports count it as received.
    pub fn has_given_up(&self, count: u32) -> bool {
        self.given_up.contains(&count)
    }

    /// The packets that it no longer waits for and that have not come.
    pub fn given_up(&self) -> impl Iterator<Item = u32> {
        self.given_up.iter().copied()
    }

    /// It continues where another receiver has been, which had given up these packets.
    pub fn inherit(&mut self, given_up: impl IntoIterator<Item = u32>) {
        let deliv = self.deliv;
        self.given_up.extend(given_up.into_iter().filter(|count| *count < deliv));
    }

    /// How often t-Reordering has expired.
    pub fn expiries(&self) -> u64 {
        self.expiries
    }

    /// The packets that wait for an earlier one.
    pub fn stored(&self) -> impl Iterator<Item = &T> {
        self.stored.values()
    }

    /// How many packets wait for an earlier one.
    pub fn len(&self) -> usize {
        self.stored.len()
    }

    /// True if no packet waits for an earlier one.
    pub fn is_empty(&self) -> bool {
        self.stored.is_empty()
    }

    fn deliver_run(&mut self, delivered: &mut Vec<T>) {
        while let Some(sdu) = self.stored.remove(&self.deliv) {
            delivered.push(sdu);
            self.deliv = self.deliv.saturating_add(1);
        }
    }

    fn start_if_gap(&mut self, now: Time) {
        if self.expiry.is_none()
            && self.deliv < self.next
            && let Some(wait) = self.t_reordering
        {
            (self.reord, self.expiry) = (self.next, Some(now + wait));
        }
    }
}
