//! The sender's use of the [buffer](super::send_buffer) into which the application writes.

use super::send_buffer::{LARGEST_PACKET, Place, Push};
use crate::state::SendState;
use roamlab_engine::Time;
use roamlab_packet::SackBlocks;

impl SendState {
    /// One above the last segment that the application has written.
    pub fn written(&self) -> u32 {
        self.buffer.as_ref().map_or(self.end, |buffer| buffer.written.min(self.end))
    }

    /// True if a packet that was sent ends before this segment.
    pub(crate) fn ends_packet(&self, seq: u32) -> bool {
        self.buffer.as_ref().is_none_or(|buffer| buffer.sent.binary_search(&seq).is_ok())
    }

    /// `segments` segments of a packet that begins here are sent again (`tcp_retransmit_skb`).
    pub fn repeat_packet(&mut self, seq: u32, segments: u32) {
        let begins = seq == self.una || self.ends_packet(seq);
        if let Some(buffer) = self.buffer.as_mut().filter(|_| begins) {
            buffer.split(seq, seq + segments);
        }
    }

    /// The last segment goes out again as a probe, and leaves its packet (`tcp_send_loss_probe`).
    pub fn repeat_last(&mut self, seq: u32) {
        if let Some(buffer) = self.buffer.as_mut().filter(|_| seq > self.una) {
            buffer.split(seq - 1, seq);
        }
    }

    /// Segments that leave together at most if the window permits `quota`, and whether all that is written is among them.
    pub(crate) fn next_packet(&self, quota: u32) -> (u32, bool) {
        let data = self.written().saturating_sub(self.nxt);
        let Some(buffer) = &self.buffer else {
            return (data.min((LARGEST_PACKET / self.params.segment.0.max(1)) as u32), true);
        };
        let mut packets =
            buffer.waiting.iter().map(|packet| packet.end.min(self.end).saturating_sub(self.nxt));
        let (first, second) = (packets.next().unwrap_or(data), packets.next());
        // The part that a burst lacks is taken from the next packet (`tcp_grow_skb`).
        let grown = second.map_or(first, |second| first.max(quota.min(second)));
        (grown, grown >= data)
    }

    /// The burst that the application's writing lets leave, if it limits the sender: true if that burst has left.
    pub(crate) fn pushes_one(&self) -> Option<bool> {
        match self.buffer.as_ref()?.push {
            Push::All => None,
            Push::One => Some(false),
            Push::Nothing => Some(true),
        }
    }

    /// A burst leaves, where the congestion window permits `room` segments. True if its end was to be pushed.
    pub(crate) fn take_from_buffer(&mut self, segments: u32, room: u32) -> bool {
        let place = self.place(0);
        let Some(buffer) = self.buffer.as_mut().filter(|_| segments > 0) else { return false };
        if buffer.push == Push::One {
            buffer.push = Push::Nothing;
        }
        let pushed = buffer.leave(place.nxt, segments);
        buffer.look_for_room(Place {
            in_flight: place.cwnd.saturating_add(segments).saturating_sub(room),
            ..place
        });
        pushed
    }

    /// A segment has gone out that was in no burst: a probe.
    pub(crate) fn take_probe_from_buffer(&mut self) {
        let nxt = self.snd_max.saturating_sub(1);
        if let Some(buffer) = &mut self.buffer
            && nxt > 0
            && buffer.sent.back().is_none_or(|&end| end <= nxt)
        {
            buffer.leave(nxt, 1);
        }
    }

    /// An ACK arrived.
    #[inline]
    pub fn acknowledge_in_buffer(&mut self, window: u32, sacks: &SackBlocks) {
        let una = self.una;
        let Some(buffer) = &mut self.buffer else { return };
        while buffer.sent.front().is_some_and(|&end| end <= una) {
            buffer.sent.pop_front();
        }
        let is_outstanding =
            |&&(start, end): &&(u32, u32)| una <= start && start < end && end <= self.snd_max;
        for &(start, end) in sacks.as_slice().iter().filter(is_outstanding) {
            buffer.join(una, start, end);
        }
        buffer.offered = buffer.offered.max(window);
        (buffer.push, buffer.acknowledged) = (Push::All, true);
    }

    fn place(&self, in_flight: u32) -> Place {
        let (una, nxt, end) = (self.una.max(1), self.nxt, self.end);
        Place { una, nxt, end, cwnd: self.window.cwnd() as u32, in_flight }
    }

    /// Nothing more leaves now, so the application may write. True if more may leave then. `in_flight`: segments in
    /// flight. `repairs`: something is lost and was not sent again.
    #[inline]
    pub fn write(&mut self, in_flight: u32, repairs: bool, now: Time) -> bool {
        if self.una == 0 && self.params.has_syn() {
            return false;
        }
        // Segments that leave now are in the host's own queue until its card has sent them.
        let has_sent = self.last_sent == now && self.snd_max > 0;
        let place = self.place(in_flight);
        let Some(buffer) = &mut self.buffer else { return false };
        if buffer.size == 0 {
            buffer.expand(place.cwnd);
        }
        if std::mem::take(&mut buffer.acknowledged) {
            buffer.look_for_room(place);
        }
        if buffer.full || buffer.written >= place.end {
            buffer.push = Push::All;
            return false;
        }
        // `tcp_rate_check_app_limited`.
        if buffer.begins_call()
            && buffer.waiting.is_empty()
            && in_flight < place.cwnd
            && !repairs
            && !has_sent
            && let Some(sent) = &mut self.sent_segments
        {
            sent.note_app_limited(in_flight + 1); // until more than that is delivered (`tcp_rate_gen`)
        }
        self.buffer.as_mut().is_some_and(|buffer| buffer.write(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Profile, TcpSpec};
    use roamlab_engine::Duration;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// BBR's sender, with ten segments acknowledged and nothing to send.
    fn state(profile: Profile) -> SendState {
        let spec: TcpSpec = serde_json::from_value(serde_json::json!({ "variant": "bbr" })).unwrap();
        let mut state = SendState::new(spec.resolve(profile).unwrap().into(), Duration::ZERO);
        (state.una, state.nxt, state.snd_max, state.end) = (11, 11, 11, u32::MAX);
        state
    }

    #[test]
    fn an_application_that_writes_limits_a_flow_whose_card_has_sent_all() {
        let limited = |sent: u64, in_flight: u32, repairs: bool| {
            let mut state = state(Profile::Linux6);
            state.last_sent = at(sent);
            state.write(in_flight, repairs, at(5));
            state.sent_segments.unwrap().is_app_limited()
        };
        assert!(limited(4, 0, false));
        assert!(!limited(5, 0, false), "it has sent something at that instant");
        assert!(!limited(4, 1, false), "the window of one is the limit");
        assert!(!limited(4, 0, true), "something is lost");
    }

    #[test]
    fn to_bbr_of_linux_a_flow_resumes_that_the_application_has_limited() {
        let mut linux = state(Profile::Linux6);
        assert!(!linux.reports_resumption());
        linux.sent_segments.as_mut().unwrap().note_app_limited(1);
        assert!(linux.reports_resumption());
        assert!(state(Profile::Rfc).reports_resumption());
    }

    #[test]
    fn a_packet_of_which_a_part_is_acknowledged_is_split_behind_what_goes_again() {
        // `tcp_trim_head`, `tcp_fragment`: the first outstanding segment begins a packet wherever it lies in one.
        let split = |una, seq| {
            let mut state = state(Profile::Linux6);
            state.una = una;
            state.buffer.as_mut().unwrap().sent.extend([11, 21]);
            state.repeat_packet(seq, 2);
            state.buffer.unwrap().sent
        };
        assert_eq!(split(14, 14), [11, 16, 21]);
        assert_eq!(split(11, 11), [11, 13, 21]);
        assert_eq!(split(11, 14), [11, 21], "within a packet");
    }
}
