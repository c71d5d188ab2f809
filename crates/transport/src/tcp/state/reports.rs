//! What the sender reports to its congestion control: ACKs, steps of the recovery, and segments that go out.

use super::SendState;
use crate::params::Handshake;
use crate::tcp::cc::{AckEvent, RecoveryStep};
use crate::tcp::sent_segments::Delivered;
use roamlab_engine::{Duration, Time};

impl SendState {
    /// Opens the window for an ACK that expects `una`.
    pub fn grow(&mut self, now: Time) {
        self.open_window(now);
        self.open_initial_window();
    }

    /// Opens the window as the congestion control has it.
    pub fn open_window(&mut self, now: Time) {
        if self.ece {
            return; // no growth on an ACK that echoes congestion
        }
        let delivered = self.delivered.take().unwrap_or_default();
        self.grow_by(&delivered, now);
    }

    /// The congestion control's event of an ACK on which the window may grow.
    #[inline(always)]
    pub fn grow_by(&mut self, delivered: &Delivered, now: Time) {
        let ack = self.ack_event(delivered, now);
        self.control.on_ack(&mut self.window, ack);
        self.lost = 0;
    }

    #[inline(always)]
    fn ack_event(&self, delivered: &Delivered, now: Time) -> AckEvent {
        let (in_flight, has_room) =
            (self.flight_size(), self.flight_size() + delivered.segments < self.usable_window());
        AckEvent {
            now,
            una: self.una,
            nxt: self.nxt,
            acked: delivered.segments,
            lost: self.lost,
            rtt: delivered.rtt,
            srtt: self.rtt.srtt(),
            in_flight,
            app_limited: has_room && self.nxt >= self.end,
            marked: if self.ece { delivered.segments } else { 0 },
            rate: self.sent_segments.as_ref().and_then(|sent| sent.rate()),
        }
    }

    /// What the ACK at hand reports, unless the record of segments has said it.
    pub fn note_delivered(&mut self, delivered: Delivered) {
        if self.sent_segments.is_none() && self.delivered.is_some() {
            self.delivered = Some(delivered);
        }
    }

    /// A measurement of the round-trip time that is no ACK's.
    pub fn report_rtt(&mut self, rtt: Duration, now: Time) {
        let ack = self.ack_event(&Delivered { segments: 0, rtt: Some(rtt) }, now);
        self.control.algorithm().on_other_ack(&mut self.window, &ack);
    }

    /// The congestion control's event of an ACK on which the window does not grow, if the ACK is yet to be reported.
    pub fn report_other_ack(&mut self, now: Time) {
        let Some(delivered) = self.delivered.take() else { return };
        let ack = self.ack_event(&delivered, now);
        self.control.algorithm().on_other_ack(&mut self.window, &ack);
        self.lost = 0;
    }

    /// A step of the loss recovery that concerns the window.
    pub fn recovery_step(&mut self, step: RecoveryStep) {
        self.control.algorithm().on_recovery_step(&mut self.window, step);
    }

    /// The ACK of a SYN opens the initial window.
    pub fn open_initial_window(&mut self) {
        if self.params.handshake != Handshake::None && self.una == 1 {
            self.recovery_step(RecoveryStep::SlowStart(self.initial_window));
        }
    }

    /// Notes a segment that goes out in the record, and when the next one may.
    pub fn record_and_pace(&mut self, seq: u32, retransmission: bool, now: Time) {
        if let Some(sent) = &mut self.sent_segments {
            sent.sent(seq, retransmission, now);
        }
        if let Some(interval) = self.window.pacing_interval() {
            self.pacing.start(now, interval);
        }
    }

    /// Nothing goes out, though the window may permit it: the application may have no data.
    pub fn note_app_limited(&mut self) {
        let (in_flight, window) = (self.flight_size(), self.usable_window());
        if self.nxt >= self.end
            && in_flight < window
            && let Some(sent) = &mut self.sent_segments
        {
            sent.note_app_limited(in_flight);
        }
    }
}
