//! A sender as `TCP_INFO` shows it: its variables, and what has happened between two samples.
//!
//! `struct tcp_info` is that of `include/uapi/linux/tcp.h`, whose fields keep their places.

use roamlab_congestion::{SenderEventKind, SenderVariables};
use roamlab_engine::{Duration, Time};
use roamlab_packet::FlowId;
use roamlab_world::{Report, TcpInfoRow};

/// States of congestion control (`enum tcp_ca_state`).
const CWR: u8 = 2;
const RECOVERY: u8 = 3;
const LOSS: u8 = 4;

/// A set of counters.
#[derive(Copy, Clone, Default, PartialEq, Debug)]
struct Reading {
    state: u8,
    retransmits: u8,
    total_retransmitted: u32,
    variables: SenderVariables,
}

/// Counters of one sender read so far.
#[derive(Default, Debug)]
pub struct Sender {
    last: Reading,
    timeouts: u64,
    reductions: u64,
    ecn: bool,
}

fn read(info: &[u8]) -> Option<Reading> {
    let word = |place: usize| {
        let at = 8 + 4 * place;
        info.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
    };
    let micros = |place| Some(Duration::from_micros(u64::from(word(place)?)));
    let variables = SenderVariables {
        cwnd: f64::from(word(18)?),
        ssthresh: f64::from(word(17)?),
        rtt: Duration::ZERO, // measured from the packets
        srtt: micros(15)?,
        rttvar: micros(16)?,
        rto: micros(0)?,
        backoff: 1 << info.get(4)?.min(&30),
        timeouts: 0,
        reductions: 0,
    };
    Some(Reading {
        state: *info.get(1)?,
        retransmits: *info.get(2)?,
        total_retransmitted: word(23)?,
        variables,
    })
}

/// Counts of the kernel; zero where it reports none.
fn counters(info: &[u8]) -> TcpInfoRow {
    let bytes = |at: usize, size: usize| info.get(at..at + size);
    let word = |at| bytes(at, 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes);
    let long = |at| bytes(at, 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes);
    TcpInfoRow {
        time_ns: Time::ZERO,
        flow: FlowId::CONTROL,
        unacknowledged_pkts: word(24),
        sacked_pkts: word(28),
        lost_pkts: word(32),
        repeated_pkts: word(36),
        retransmitted_pkts: word(100),
        delivered_pkts: word(192),
        delivered_ce_pkts: word(196),
        duplicate_pkts: word(216),
        reorderings: word(220),
        unsent_bytes: word(144),
        pacing_bps: i64::try_from(long(104)).map_or(-1, |rate| rate.saturating_mul(8)),
        delivery_bps: long(160).saturating_mul(8),
        min_rtt_ns: u64::from(word(148)) * 1000,
        receiver_limited_ns: long(176).saturating_mul(1000),
        buffer_limited_ns: long(184).saturating_mul(1000),
    }
}

impl Sender {
    /// A sender that has not begun.
    pub fn new(ecn: bool) -> Sender {
        Sender { ecn, ..Sender::default() }
    }

    /// The next reading is of a new connection.
    pub fn connect_anew(&mut self) {
        self.last = Reading::default();
    }

    /// Takes a set of counters. `None`: it is too short to be one.
    pub fn sampled(&mut self, info: &[u8]) -> Option<Report> {
        let mut new = read(info)?;
        let old = self.last;
        let times_out = new.retransmits > old.retransmits || (new.state == LOSS && old.state != LOSS);
        let again = new.total_retransmitted > old.total_retransmitted;
        let mut facts = Vec::new();
        if times_out {
            facts.push(SenderEventKind::Timeout);
            self.timeouts += 1;
        } else if new.state == RECOVERY && old.state != RECOVERY {
            facts.push(SenderEventKind::FastRetransmit);
        } else if new.state == CWR && old.state != CWR {
            facts.push(if self.ecn { SenderEventKind::EcnReduction } else { SenderEventKind::TailLoss });
        } else if new.state < RECOVERY && old.state >= RECOVERY {
            facts.push(SenderEventKind::RecoveryExit);
        } else if again && new.state < CWR {
            facts.push(SenderEventKind::TailLossProbe);
        } else if (new.variables.cwnd, new.variables.ssthresh) != (old.variables.cwnd, old.variables.ssthresh)
        {
            facts.push(SenderEventKind::Window);
        }
        self.reductions += u64::from(new.state >= CWR && new.state > old.state);
        (new.variables.timeouts, new.variables.reductions) = (self.timeouts, self.reductions);
        self.last = new;
        Some(Report { variables: new.variables, facts, info: Some(counters(info)) })
    }
}
