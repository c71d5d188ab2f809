//! The sender's reports to its congestion control: ACKs, steps of the recovery, and segments that are sent.

use super::SendState;
use crate::SendBuffer;
use crate::params::{Handshake, TcpParams};
use crate::rtt::RttEstimator;
use crate::sender::accurate::Accurate;
use crate::sender::sent_segments::{Delivered, SentSegments};
use roamlab_congestion::{
    AckEvent, AckSource, CongestionControl, Known, Pacer, RecoveryStep, Window, whole_micros,
};
use roamlab_engine::{Duration, Time};
use std::ops::Range;

/// An ACK. The event is made from it for each algorithm, so that values that an algorithm does not read cost nothing.
struct AckReport<'a> {
    now: Time,
    delivered: &'a Delivered,
    una: &'a u32,
    nxt: &'a u32,
    snd_max: &'a u32,
    lost: &'a u32,
    ece: &'a bool,
    pacing: &'a Pacer,
    accurate: &'a Option<Box<Accurate>>,
    rtt: &'a RttEstimator,
    sent_segments: &'a Option<Box<SentSegments>>,
    recovery_point: &'a u32,
    buffer: &'a Option<Box<SendBuffer>>,
    params: &'a TcpParams,
}

impl AckReport<'_> {
    /// Of the segments that an echo of congestion acknowledges, those that were marked.
    #[inline(never)]
    fn marked(&self, segments: u32) -> u32 {
        self.accurate.as_ref().map_or(segments, |accurate| accurate.latest(segments))
    }
}

impl AckSource for AckReport<'_> {
    #[inline(always)]
    fn event(&self, window: &Window) -> AckEvent {
        let segments = self.delivered.segments;
        let outstanding = self.snd_max - self.una;
        AckEvent {
            now: self.now,
            una: *self.una,
            nxt: *self.nxt,
            acked: segments,
            lost: *self.lost,
            rtt: self.delivered.rtt,
            srtt: self.rtt.srtt(),
            in_flight: outstanding - self.sent_segments.as_ref().map_or(0, |sent| sent.held()),
            recovering: self.una < self.recovery_point,
            marked: if *self.ece { self.marked(segments) } else { 0 },
            rate: self.sent_segments.as_ref().and_then(|sent| sent.rate()),
            has_sack: self.params.sack_blocks > 0,
            known: Known {
                found: self.sent_segments.as_ref().and_then(|sent| sent.found),
                usage: self.buffer.as_ref().and_then(|buffer| buffer.usage),
                waited: window.leaving.waited,
                until_burst: self.pacing.left_to_wait(self.now),
            },
            waiting: self.sent_segments.as_ref().map_or(0, |sent| sent.waiting()),
        }
    }
}

impl SendState {
    /// Opens the window for an ACK that expects `una`.
    pub fn grow(&mut self, now: Time) {
        self.open_window(now);
        self.window.leaving.waited = false;
        self.open_initial_window();
    }

    /// Opens the window as the congestion control has it.
    pub fn open_window(&mut self, now: Time) {
        if (self.ece && !self.params.hears_echoes_last()) || self.is_of_old_path(self.una) {
            return; // no growth on an ACK that echoes congestion, or is of another path
        }
        let delivered = self.delivered.take().unwrap_or_default();
        self.grow_by(&delivered, now);
    }

    /// The congestion control's event of an ACK on which the window may grow.
    #[inline(always)]
    pub fn grow_by(&mut self, delivered: &Delivered, now: Time) {
        let (control, window, report) = self.ack_report(delivered, now);
        control.on_ack(window, &report);
        self.lost = 0;
    }

    /// Notes the segments that this ACK reports, unless the record of segments has noted them.
    pub fn note_delivered(&mut self, delivered: Delivered) {
        if self.sent_segments.is_none() && self.delivered.is_some() {
            self.delivered = Some(delivered);
        }
    }

    /// The current ACK reports `segments` as delivered. Other segments that it covers were reported before. The record of segments has
    /// the same number.
    pub fn note_segments(&mut self, segments: u32) {
        if let Some(delivered) = self.delivered.as_mut().filter(|_| self.sent_segments.is_none()) {
            delivered.segments = segments;
        }
    }

    /// A measurement of the round-trip time that is no ACK's.
    pub fn report_rtt(&mut self, rtt: Duration, now: Time) {
        self.report(&Delivered { segments: 0, rtt: Some(rtt) }, now);
    }

    /// The round-trip time that an ACK measures, before a loss is looked for or the window reduced (`pkts_acked`). The event of the
    /// ACK has none then. A congestion control that paces has its own, of its record of all segments.
    pub fn report_measured(&mut self, rtt: Option<Duration>, now: Time) {
        let control = self.control.algorithm().properties();
        if control.paces || !control.keeps_min_rtt {
            return;
        }
        if let Some(delivered) = &mut self.delivered {
            delivered.rtt = None;
        }
        if let Some(rtt) = rtt {
            self.report_rtt(rtt, now);
        }
    }

    /// The congestion control's event of an ACK on which the window does not grow, if the ACK is yet to be reported.
    pub fn report_other_ack(&mut self, now: Time) {
        let Some(delivered) = self.delivered.take() else { return };
        self.report(&delivered, now);
        self.lost = 0;
    }

    fn report(&mut self, delivered: &Delivered, now: Time) {
        let (control, window, report) = self.ack_report(delivered, now);
        let ack = report.event(window);
        control.algorithm().on_other_ack(window, &ack);
    }

    /// The congestion control, its window, and what is known of an ACK.
    #[inline(always)]
    fn ack_report<'a>(
        &'a mut self,
        delivered: &'a Delivered,
        now: Time,
    ) -> (&'a mut CongestionControl, &'a mut Window, AckReport<'a>) {
        let report = AckReport {
            now,
            delivered,
            una: &self.una,
            nxt: &self.nxt,
            snd_max: &self.snd_max,
            lost: &self.lost,
            ece: &self.ece,
            pacing: &self.pacing,
            accurate: &self.accurate,
            rtt: &self.rtt,
            sent_segments: &self.sent_segments,
            recovery_point: &self.recovery_point,
            buffer: &self.buffer,
            params: &self.params,
        };
        (&mut self.control, &mut self.window, report)
    }

    /// A step of the loss recovery that concerns the window.
    pub fn recovery_step(&mut self, step: RecoveryStep) {
        self.control.algorithm().on_recovery_step(&mut self.window, step);
    }

    /// The ACK of a SYN opens the initial window.
    pub fn open_initial_window(&mut self) {
        if self.params.handshake != Handshake::None && self.una == 1 {
            self.control.algorithm().on_start(&mut self.window, self.initial_window);
        }
    }

    /// A segment was processed: sets the pacing rate, and notes if rates measured from now on do not measure the path.
    pub fn pace(&mut self) {
        let in_flight = self.flight_size();
        if self.params.pacing && !self.control.algorithm().properties().paces {
            self.window.pace_by_window(in_flight, self.rtt.srtt(), self.params.segment.0 as u32);
        }
        if self.window.limits_itself()
            && let Some(sent) = &mut self.sent_segments
        {
            sent.note_app_limited(in_flight);
        }
    }

    /// Begins or ends the record of segments, as the congestion control now needs it.
    pub fn record_as_needed(&mut self) {
        let needed = self.control.records_segments(&self.window);
        if needed != self.sent_segments.is_some() {
            let record = || Box::new(SentSegments::of_unknown(self.una, self.snd_max));
            self.sent_segments = needed.then(record);
        }
    }

    /// True if segments that are sent are recorded or paced.
    pub fn records_or_paces(&self) -> bool {
        self.sent_segments.is_some() || self.window.is_paced() || self.params.pacing
    }

    /// The segments that the latest input permits have been sent.
    pub fn end_quota(&mut self, now: Time) {
        if !self.pacing.waits() {
            self.note_app_limited();
            self.pacing.end_burst(&self.window, self.data_segments(), now);
        }
    }

    /// Segments with data that went out so far.
    pub fn data_segments(&self) -> u32 {
        self.snd_max.saturating_sub(u32::from(self.params.has_syn()))
    }

    /// The clock of the record of segments.
    pub fn stamp(&self, now: Time) -> Time {
        if self.params.records_micros() { whole_micros(now) } else { now }
    }

    /// Notes a sent segment in the record, and when the next one may be sent. A segment that is sent again is lost,
    /// except the repeated segment of a probe.
    #[inline]
    pub fn record_and_pace(&mut self, seq: u32, retransmission: bool, now: Time) {
        let is_probe = std::mem::take(&mut self.probes_tail);
        if self.sent_segments.is_some() {
            self.record_sent(seq, retransmission, retransmission && !is_probe, now);
        }
        self.pacing.sent(&self.window, self.data_segments(), now);
        if retransmission && self.params.paces_repeated_packets() && self.ends_packet(seq + 1) {
            self.pacing.end_burst(&self.window, self.data_segments(), now);
        }
    }

    /// Notes a segment that goes out in the record; `lost`: its earlier transmission is lost.
    fn record_sent(&mut self, seq: u32, retransmission: bool, lost: bool, now: Time) {
        let (outstanding, stamp) = (self.flight_size(), self.stamp(now));
        if let Some(sent) = &mut self.sent_segments
            && let Some(lost) = sent.sent(seq, retransmission, lost, outstanding, stamp)
        {
            self.lost += 1;
            self.control.algorithm().on_lost_segment(&mut self.window, &lost);
        }
    }

    /// These segments are lost, other than what the receiver holds, and wait to be sent again. `by_ack`: an ACK has shown it.
    pub fn report_lost(&mut self, lost: Range<u32>, by_ack: bool, now: Time) {
        let Some(sent) = &mut self.sent_segments else { return };
        if lost.is_empty() && self.spurious.is_undecided(self.params.spurious_detection) {
            return;
        }
        for lost in sent.lose(lost, now) {
            self.lost += u32::from(by_ack);
            self.control.algorithm().on_lost_segment(&mut self.window, &lost);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Profile, TcpSpec};

    #[test]
    fn losses_that_a_timer_finds_are_not_of_the_next_ack() {
        // rs->losses of Linux: the losses that `tcp_ack` itself marks.
        let lost = |by_ack| {
            let spec: TcpSpec = serde_json::from_value(serde_json::json!({ "variant": "bbr" })).unwrap();
            let mut state = SendState::new(spec.resolve(Profile::Rfc).unwrap().into(), Duration::ZERO);
            for seq in 0..3 {
                state.sent(seq, Time::ZERO);
                state.record_and_pace(seq, false, Time::ZERO);
            }
            state.report_lost(0..2, by_ack, Time::ZERO);
            state.lost
        };
        assert_eq!([true, false].map(lost), [2, 0]);
    }
}
