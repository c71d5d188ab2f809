//! Decides whether a flow's timeouts were genuine, by the fate of the packets and not by the sender's state.

use roamlab_packet::Packet;
use roamlab_record::Verdict;
use roamlab_record::cause::segment;
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
struct Case {
    /// The serial number given last before the timeout: earlier transmissions have none above it.
    last_serial: u64,
    /// Its row in the record, if it has one.
    row: Option<usize>,
    arrived: bool,
}

/// The timeouts of a flow, by the segment that was sent again.
#[derive(Clone, Debug, Default)]
pub struct Timeouts {
    cases: BTreeMap<u32, Vec<Case>>,
    /// One above the highest segment among them.
    end: u32,
    /// How many were spurious of those that have been judged.
    pub spurious: u32,
}

impl Timeouts {
    /// The timer expired and `seq` is sent again. `arrived`: the receiver has it.
    pub fn note(&mut self, seq: u32, last_serial: u64, arrived: bool, row: Option<usize>) {
        self.end = self.end.max(seq.saturating_add(1));
        self.cases.entry(seq).or_default().push(Case { last_serial, row, arrived });
    }

    /// A segment arrives: was it sent before one of the timeouts that sent it again?
    #[inline(always)]
    pub fn arrived(&mut self, packet: &Packet, original: u64) {
        if packet.seq() < self.end {
            self.note_arrival(packet, original);
        }
    }

    #[inline(never)]
    fn note_arrival(&mut self, packet: &Packet, original: u64) {
        let Some(seq) = segment(packet) else { return };
        for case in self.cases.get_mut(&seq).into_iter().flatten() {
            case.arrived |= original <= case.last_serial;
        }
    }

    /// True if any waits for its verdict.
    pub fn is_waiting(&self) -> bool {
        !self.cases.is_empty()
    }

    /// Judges those that can be judged: nothing more comes of a segment that has arrived, or of which no earlier
    /// transmission is under way. `underway`: the earliest transmission of a segment that is, by its serial number.
    /// `tell` learns of verdicts with their rows. The first row that still waits.
    pub fn judge(
        &mut self,
        underway: impl Fn(u32) -> Option<u64>,
        mut tell: impl FnMut(usize, Verdict),
    ) -> Option<usize> {
        let (mut first, spurious) = (None, &mut self.spurious);
        self.cases.retain(|&seq, cases| {
            let earliest = underway(seq);
            cases.retain(|case| {
                let verdict = match earliest {
                    _ if case.arrived => Verdict::Spurious,
                    Some(earliest) if earliest <= case.last_serial => Verdict::Undecided,
                    _ => Verdict::Genuine,
                };
                let waits = verdict == Verdict::Undecided;
                if waits {
                    first = first.into_iter().chain(case.row).min();
                } else if let Some(row) = case.row {
                    tell(row, verdict);
                }
                *spurious += u32::from(verdict == Verdict::Spurious);
                waits
            });
            !cases.is_empty()
        });
        first
    }
}
