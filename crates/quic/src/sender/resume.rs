//! Careful Resume at a sender: the jump of the window, and the phases behind it (RFC 9959).

use super::QuicSender;
use crate::recovery::careful_resume::{Change, Rtts};
use crate::recovery::pacer::Pacer;
use roamlab_congestion::SenderEventKind;
use roamlab_engine::Time;

impl QuicSender {
    /// An ACK may end a phase of Careful Resume.
    pub(super) fn follow_resume(&mut self, largest: u32, now: Time) {
        let (sent, rtts) = ((self.sent.next_number(), self.sent.in_flight()), self.rtts());
        let Some(resume) = &mut self.resume else { return };
        match resume.on_ack(largest, sent, rtts, now) {
            Change::None => {}
            Change::Window(cwnd) => self.congestion.set_cwnd(cwnd),
            Change::Threshold(ssthresh) => self.congestion.set_ssthresh(ssthresh),
            Change::Retreat(cwnd) => {
                self.congestion.retreat(cwnd, now);
                self.record(SenderEventKind::SafeRetreat, self.stream.first_outstanding(), now);
            }
        }
    }

    /// The window is full, and data waits: with Careful Resume it may jump. True if a packet may leave then.
    pub(super) fn jumps(&mut self, now: Time) -> bool {
        let window = (self.congestion.sizes().0, self.sent.in_flight());
        let (next, rtts) = (self.sent.next_number(), self.rtts());
        let jump = self.resume.as_mut().and_then(|resume| resume.jump(window, next, rtts, now));
        let Some(cwnd) = jump else { return false };
        self.congestion.set_cwnd(cwnd);
        self.pacer = Pacer::empty(self.spec.burst(), now);
        self.record(SenderEventKind::Jump, self.stream.first_outstanding(), now);
        true
    }

    fn rtts(&self) -> Rtts {
        Rtts { min: self.rtt.min(), latest: self.rtt.latest() }
    }
}
