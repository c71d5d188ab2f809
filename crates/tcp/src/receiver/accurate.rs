//! The receiver's part of accurate ECN (RFC 9768): the answer to the SYN, the counters, and which marks ask for an ACK.

use crate::sender::accurate::{FIRST_BYTES, FIRST_COUNT};
use roamlab_packet::{AccEcnOption, Ecn, TcpFlags};

/// Marked segments since the last ACK that ask for one; there is then data that is not acknowledged (§3.2.2.5.1).
const MARKS: u32 = 2;
/// Bytes of options in a header, and of SACK without its blocks.
const ROOM: u64 = 40;
const SACK: u64 = 4;
/// The counters of bytes at the start: those of ECT(0), CE and ECT(1).
const FIRST: [u32; 3] = [FIRST_BYTES, 0, FIRST_BYTES];

/// The use of ECN that the SYN has offered and the SYN/ACK agrees on.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Agreed {
    /// Accurate ECN.
    Accurate,
    /// ECN of RFC 3168.
    Classic,
    /// No ECN.
    Nothing,
}

/// Counters of marks, and their reports.
#[derive(Clone, Debug)]
pub(crate) struct Accurate {
    agreed: Option<Agreed>,
    /// The ECN field of the latest SYN, and how many SYNs there were.
    syn: Ecn,
    syns: u32,
    /// The ECN field of the latest segment.
    latest: Ecn,
    /// Segments with CE (r.cep), and those of them that no ACK has reported.
    marked: u32,
    unreported: u32,
    /// Bytes of payload that arrived with ECT(0), CE and ECT(1) (r.e0b, r.ceb, r.e1b), now and at the latest option.
    bytes: [u32; 3],
    reported: [u32; 3],
    /// The first segment that was ECN-capable had ECT(1).
    ect1_first: Option<bool>,
}

impl Default for Accurate {
    fn default() -> Accurate {
        Accurate {
            agreed: None,
            syn: Ecn::NotEct,
            syns: 0,
            latest: Ecn::NotEct,
            marked: FIRST_COUNT,
            unreported: 0,
            bytes: FIRST,
            reported: FIRST,
            ect1_first: None,
        }
    }
}

impl Accurate {
    pub fn agreed(&self) -> Agreed {
        self.agreed.unwrap_or(Agreed::Nothing)
    }

    /// A SYN arrived. The first one decides (§3.1.1 table 2; §3.1.3: offers of later standards count as accurate ECN;
    /// §3.1.5).
    pub fn on_syn(&mut self, offer: TcpFlags, ecn: Ecn) {
        self.agreed.get_or_insert(match offer.ace() {
            0b000 => Agreed::Nothing,
            0b011 => Agreed::Classic,
            _ => Agreed::Accurate,
        });
        (self.syn, self.syns) = (ecn, self.syns.saturating_add(1));
    }

    /// A segment arrived. True if its ACK is sent immediately: it is marked and the one before was not, or it is the
    /// second marked one since the last ACK (§3.2.2.5.1).
    pub fn on_segment(&mut self, ecn: Ecn, payload: u32) -> bool {
        let before = std::mem::replace(&mut self.latest, ecn);
        let counter = match ecn {
            Ecn::NotEct => return false,
            Ecn::Ect0 => 0,
            Ecn::Ce => 1,
            Ecn::Ect1 => 2,
        };
        self.bytes[counter] = self.bytes[counter].wrapping_add(payload);
        if ecn != Ecn::Ce {
            self.ect1_first.get_or_insert(ecn == Ecn::Ect1);
            return false;
        }
        self.marked = self.marked.wrapping_add(1);
        self.unreported += 1;
        payload > 0 && (before != Ecn::Ce || self.unreported >= MARKS)
    }

    /// The ACE field of an ACK: the count, or of a SYN/ACK (`syn`) in which ECN field the SYN arrived.
    pub fn ace(&self, syn: bool) -> u8 {
        if syn { self.syn.as_ace() } else { self.marked as u8 }
    }

    /// Number of counters of the option up to the last one that differs from these.
    fn changed(&self, since: &[u32; 3]) -> u8 {
        let order = if self.ect1_first == Some(true) { [2, 1, 0] } else { [0, 1, 2] };
        let last = order.iter().rposition(|&counter| self.bytes[counter] != since[counter]);
        last.map_or(0, |place| place as u8 + 1)
    }

    fn option(&self, count: u8) -> AccEcnOption {
        let [ect0, ce, ect1] = self.bytes;
        AccEcnOption::new(ect0, ce, ect1, self.ect1_first == Some(true), count)
    }

    /// Blocks of SACK for which the option leaves room, but never less than two (§3.2.3.3). `others`: bytes of the
    /// other options.
    pub fn sack_blocks(&self, others: u64) -> usize {
        let wanted = if self.changed(&self.reported) == 0 { 0 } else { self.changed(&FIRST) };
        let left = ROOM.saturating_sub(others + SACK + self.option(wanted).padded_size());
        ((left / 8) as usize).max(2)
    }

    /// The option of a SYN/ACK. One that is sent again has none, because the option may have been the reason
    /// (§3.2.3.2.2).
    pub fn on_syn_ack(&self) -> AccEcnOption {
        let agrees = self.agreed() == Agreed::Accurate && self.syns == 1;
        self.option(if agrees { 3 } else { 0 })
    }

    /// The option of an ACK that is sent now. `others`: bytes of its other options. The option has all counters that
    /// have ever changed. It is sent if one has changed since the latest option, and if there is room for those that
    /// have (§3.2.3.3).
    pub fn on_ack(&mut self, others: u64) -> AccEcnOption {
        self.unreported = 0;
        let room = match ROOM.saturating_sub(others) {
            12.. => 3,
            8.. => 2,
            _ => 0,
        };
        let (needed, count) = (self.changed(&self.reported), self.changed(&FIRST).min(room));
        if self.agreed() != Agreed::Accurate || needed == 0 || count < needed {
            return AccEcnOption::default();
        }
        self.reported = self.bytes;
        self.option(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_mark_and_each_second_one_behind_an_ack_are_reported_at_once() {
        // RFC 9768 §3.2.2.5.1: change-triggered and increment-triggered ACKs, the latter after two marks.
        let mut accurate = Accurate { agreed: Some(Agreed::Accurate), ..Accurate::default() };
        let mut mark = |acknowledge: bool| {
            let at_once = accurate.on_segment(Ecn::Ce, 1000);
            if at_once || acknowledge {
                accurate.on_ack(0);
            }
            at_once
        };
        assert_eq!([(); 5].map(|()| mark(false)), [true, false, true, false, true]);
        assert_eq!([true, false, false].map(mark), [false, false, true], "one is reported by another ACK");
    }
}
