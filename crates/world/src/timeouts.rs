//! Whether a flow's timeouts were genuine: judged by what became of the packets, not by what the sender believes.

use crate::cause::segment;
use crate::table::{Cell, Column, Names};
use roamlab_packet::{FlowId, Packet, PacketPool};
use std::collections::BTreeMap;

/// What a timeout was.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Every earlier transmission of the segment was lost.
    Genuine,
    /// An earlier transmission of it arrived, then or later.
    Spurious,
    /// At the end of the run an earlier transmission was still on its way.
    Undecided,
}

impl Verdict {
    /// The verdict as it stands in records.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Genuine => "genuine",
            Verdict::Spurious => "spurious",
            Verdict::Undecided => "undecided",
        }
    }
}

impl Cell for Option<Verdict> {
    fn column(values: Vec<Option<Verdict>>, _: &Names) -> Column {
        let place = |verdict: Option<Verdict>| verdict.map_or(0, |verdict| 1 + verdict as usize);
        Column::coded(values, place, |verdict| verdict.map_or("", Verdict::name))
    }
}

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
}

impl Timeouts {
    /// The timer went off and `seq` is sent again. `arrived`: the receiver has it.
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

    /// The verdicts at the end of the run, with the rows of the record, given the packets that are still in the pool.
    pub fn verdicts(&self, flow: FlowId, pool: &PacketPool) -> Vec<(Option<usize>, Verdict)> {
        if self.cases.is_empty() {
            return Vec::new();
        }
        let mut on_the_way: BTreeMap<u32, u64> = BTreeMap::new();
        for packet in pool.inside().filter(|packet| packet.flow == flow) {
            if let Some(seq) = segment(packet) {
                let original = pool.original(packet);
                let earliest = on_the_way.entry(seq).or_insert(original);
                *earliest = original.min(*earliest);
            }
        }
        let judge = |seq: u32, case: &Case| match on_the_way.get(&seq) {
            _ if case.arrived => Verdict::Spurious,
            Some(&earliest) if earliest <= case.last_serial => Verdict::Undecided,
            _ => Verdict::Genuine,
        };
        let cases = self.cases.iter().flat_map(|(&seq, cases)| cases.iter().map(move |case| (seq, case)));
        cases.map(|(seq, case)| (case.row, judge(seq, case))).collect()
    }
}
