//! The sending end.

use crate::params::{Handshake, TcpParams};
use crate::tcp::Segment;
use crate::tcp::fact::{TcpFact, TcpFactKind, TcpVariables};
use crate::tcp::recovery::{LossRecovery, Recovery};
use crate::tcp::state::SendState;
use roamlab_engine::{Duration, Time};
use roamlab_packet::{Ecn, TcpFlags, TcpHeader, Timestamps};

/// The sending end of a connection.
///
/// After every input (`offer`, `on_segment`, `on_deadline`) call [`poll_transmit`](Self::poll_transmit) until it
/// gives `None`, at the time of the input.
#[derive(Clone, Debug)]
pub struct TcpSender {
    state: SendState,
    recovery: Recovery,
}

impl TcpSender {
    /// A sender with nothing to send. `tick_phase` is how far into a tick its clock stands at time zero (ns-2
    /// `boot_time_`); arithmetic without ticks ignores it.
    pub fn new(params: &TcpParams, tick_phase: Duration) -> TcpSender {
        TcpSender { state: SendState::new(params, tick_phase), recovery: Recovery::new(params) }
    }

    /// The application offers `segments` more, or an unlimited backlog.
    pub fn offer(&mut self, segments: Option<u64>) {
        let state = &mut self.state;
        let syn = u64::from(state.end == 0 && state.params.handshake == Handshake::Syn);
        let end = segments.map_or(u64::MAX, |count| u64::from(state.end).saturating_add(count + syn));
        state.end = u32::try_from(end).unwrap_or(u32::MAX);
        state.permit_window();
    }

    /// A segment, that is an ACK, arrived.
    pub fn on_segment(&mut self, header: &TcpHeader, _ecn: Ecn, now: Time) {
        let state = &mut self.state;
        if !header.flags.has(TcpFlags::ACK) || header.ack < state.una || header.ack > state.snd_max {
            return;
        }
        let before = (state.window.cwnd, state.window.ssthresh);
        if header.ack > state.una {
            self.recovery.on_new_ack(state, header, now);
        } else {
            if state.params.strict_dupacks && state.flight_size() == 0 {
                return;
            }
            self.recovery.on_dup_ack(state, header, now);
        }
        let reported =
            state.facts.back().is_some_and(|fact| fact.at == now && fact.cwnd == state.window.cwnd);
        if before != (state.window.cwnd, state.window.ssthresh) && !reported {
            state.record(TcpFactKind::Window, header.ack, now);
        }
    }

    /// The next segment to send; call until `None`.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        let seq = self.recovery.next_segment(&mut self.state)?;
        let retransmission = self.state.sent(seq, now);
        self.recovery.on_sent(&self.state, seq, now);
        let params = &self.state.params;
        let timestamps = params.free_timestamps.then_some(Timestamps { value: now, echo: Time::ZERO });
        let header = TcpHeader { seq, retransmission, timestamps, ..TcpHeader::default() };
        if seq == 0 && params.handshake == Handshake::Syn {
            let header = TcpHeader { flags: TcpFlags::SYN, ..header };
            return Some(Segment { header, size: params.ack_size, ecn: Ecn::NotEct });
        }
        let header = TcpHeader { payload: params.segment.0 as u32, ..header };
        Some(Segment {
            header,
            size: roamlab_engine::Bytes(params.segment.0 + params.header.0),
            ecn: Ecn::NotEct,
        })
    }

    /// When the sender has to be woken.
    pub fn next_deadline(&self) -> Option<Time> {
        self.state.timer.deadline()
    }

    /// The time of a deadline has come; an early wake-up is a no-op.
    pub fn on_deadline(&mut self, now: Time) {
        if !self.state.timer.expired(now) {
            return;
        }
        if self.state.flight_size() == 0 {
            self.state.restart_after_idle(now);
        } else {
            self.recovery.on_timeout(&mut self.state, now);
        }
    }

    /// The next fact, in the order in which they happened; call until `None`.
    pub fn poll_fact(&mut self) -> Option<TcpFact> {
        self.state.facts.pop_front()
    }

    /// Congestion window in segments, without inflation.
    pub fn cwnd(&self) -> f64 {
        self.state.window.cwnd
    }

    /// Slow-start threshold in segments.
    pub fn ssthresh(&self) -> f64 {
        self.state.window.ssthresh
    }

    /// Segments sent and not acknowledged.
    pub fn in_flight(&self) -> u32 {
        self.state.flight_size()
    }

    /// Whether everything offered has been acknowledged.
    pub fn finished(&self) -> bool {
        self.state.una == self.state.end
    }

    /// The next segment the receiver expects, as far as the sender knows.
    pub fn acknowledged(&self) -> u32 {
        self.state.una
    }

    /// The sender's variables.
    pub fn variables(&self) -> TcpVariables {
        let state = &self.state;
        TcpVariables {
            cwnd: state.window.cwnd,
            ssthresh: state.window.ssthresh,
            rtt: state.rtt.latest(),
            srtt: state.rtt.srtt(),
            rttvar: state.rtt.rttvar(),
            rto: state.rtt.rto(),
            backoff: state.rtt.backoff(),
            timeouts: state.timeouts,
            cuts: state.cuts,
        }
    }
}
