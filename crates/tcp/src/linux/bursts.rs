//! Bursts as segmentation offload makes them, in so far as the network sees them. One that the window permits only a
//! part of waits for the next ACK, if that is near (`tcp_tso_should_defer` in `tcp_output.c`).
//!
//! A burst is of one packet of the [send buffer](super::send_buffer). Without that all data is in one.

use crate::state::{SendQuota, SendState};
use roamlab_engine::{Duration, Time};

/// A sender that has sent nothing for so long does not wait, nor does one whose next ACK is later than that.
const RECENT: Duration = Duration::from_millis(1);
/// This part of the window does not wait (`tcp_tso_win_divisor`).
const WINDOW_PART: u32 = 3;

impl SendState {
    /// New data may be sent, `room` segments by the congestion window. True if they wait; otherwise a burst begins.
    /// `head_sent`: when the first outstanding segment was sent.
    pub fn burst_waits(&mut self, room: u32, head_sent: Option<Time>, now: Time) -> bool {
        let pushes_one = self.pushes_one();
        if pushes_one == Some(true) {
            return true;
        }
        let offered = self.peer_end.saturating_sub(self.nxt);
        let most = self.most_in_burst();
        let quota = self.quota(room).min(most);
        let (packet, is_last) = self.next_packet(quota);
        let limit = room.min(offered);
        let is_part = limit > 0 && limit < most && packet > 1 && pushes_one.is_none();
        if is_part && self.may_wait(limit, packet, is_last, head_sent, now) {
            self.window.leaving.waited |= room < offered && room <= packet;
            return true;
        }
        self.begin_burst(offered.min(quota).min(packet), room);
        false
    }

    /// Of `room` in the window, what one burst takes: half of the window at most (`tcp_cwnd_test`).
    fn quota(&self, room: u32) -> u32 {
        room.min((self.window.cwnd() as u32 / 2).max(1))
    }

    /// New data goes in a recovery, where nothing waits: `room` segments by the congestion window.
    pub fn begin_burst_of(&mut self, room: u32) {
        if !self.window.leaving.is_leaving() {
            let most = self.most_in_burst().min(self.peer_end.saturating_sub(self.nxt));
            let quota = self.quota(room).min(most);
            let (packet, _) = self.next_packet(quota);
            self.begin_burst(quota.min(packet), room);
        }
    }

    /// A timer that sends nothing leaves what waits to the next ACK, or to that of pacing.
    pub fn keep_waiting(&mut self) {
        if !self.pacing.waits() {
            self.quota = SendQuota::Nothing;
        }
    }

    fn begin_burst(&mut self, segments: u32, room: u32) {
        let left = u8::try_from(segments).unwrap_or(u8::MAX);
        let pushes = self.take_from_buffer(segments, room) || left > 1;
        (self.window.leaving.left, self.window.leaving.pushes) = (left, pushes);
    }

    /// True if `limit` segments of a packet may wait. `is_last`: nothing is written behind it.
    fn may_wait(&self, limit: u32, packet: u32, is_last: bool, head_sent: Option<Time>, now: Time) -> bool {
        let window = (self.window.cwnd() as u32).min(self.peer_end.saturating_sub(self.una));
        let goes = if is_last { limit > packet && self.fin.is_some() } else { limit >= packet };
        let srtt = self.rtt.srtt();
        let ack_is_near = |head: Time| head + srtt <= now + (srtt / 2).min(RECENT);
        now.since(self.last_sent.max(self.pacing.next())) <= RECENT
            && limit * WINDOW_PART < window
            && !goes
            && head_sent.is_some_and(ack_is_near)
    }

    /// Nothing more leaves now: notes if the window is the limit (`tcp_cwnd_validate`). `in_flight`: segments in
    /// flight.
    #[inline]
    pub fn note_usage(&mut self, in_flight: u32) {
        let (outstanding, una, nxt) = (self.flight_size(), self.una, self.snd_max);
        let Some(buffer) = self.buffer.as_mut().filter(|_| una > 0) else { return };
        let full = std::mem::take(&mut self.window.leaving.waited) || in_flight >= self.window.cwnd() as u32;
        let usage = buffer.usage.get_or_insert_default();
        if full || usage.is_older_than(nxt) {
            usage.note(full, outstanding, una, nxt);
        }
    }

    /// Segments of a full burst.
    pub fn most_in_burst(&self) -> u32 {
        match self.window.is_paced() {
            true => self.window.burst(),
            false => {
                self.window.burst_by_window(self.flight_size(), self.rtt.srtt(), self.params.segment.0 as u32)
            }
        }
    }

    /// A new segment has gone out. A burst that is over is paced as a whole.
    #[inline]
    pub fn continue_burst(&mut self, now: Time) {
        if !self.params.forms_bursts() {
            return;
        }
        if self.window.leaving.left == 0 {
            self.take_probe_from_buffer();
        }
        self.window.leaving.left = self.window.leaving.left.saturating_sub(1);
        if self.window.leaving.left == 0 {
            self.window.leaving.ends = std::mem::take(&mut self.window.leaving.pushes);
            self.pacing.end_burst(&self.window, self.data_segments(), now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Profile, TcpSpec};

    #[test]
    fn a_third_of_the_window_goes_at_once() {
        // `tcp_tso_should_defer`: limit >= window / tcp_tso_win_divisor, which is 3.
        let mut state =
            SendState::new(TcpSpec::default().resolve(Profile::Linux6).unwrap().into(), Duration::ZERO);
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        state.control.algorithm().on_start(&mut state.window, 9.0);
        state.rtt.sample(at(0), at(100));
        (state.peer_end, state.last_sent) = (u32::MAX, at(200));
        let waits = |limit| state.may_wait(limit, 10, false, Some(at(100)), at(200));
        assert_eq!([2, 3].map(waits), [true, false]);
    }
}
