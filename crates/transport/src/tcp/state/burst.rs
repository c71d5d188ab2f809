//! Bursts as Linux's segmentation offload makes them, in so far as the network sees them. One that the window permits only a
//! part of waits for the next ACK, if that is near (`tcp_tso_should_defer` in `tcp_output.c`).
//!
//! ASSUMPTION: what the application has written is in packets of more segments than a burst has (`tcp_sendmsg_locked`), so
//! that no burst is short because a packet ends.

use super::SendState;
use roamlab_engine::{Duration, Time};

/// A sender that has sent nothing for so long does not wait, nor does one whose next ACK is later than that.
const RECENT: Duration = Duration::from_millis(1);
/// This part of the window does not wait (`tcp_tso_win_divisor`).
const WINDOW_PART: u32 = 3;
/// Segments of a packet at most (`sk_gso_max_size`).
const LARGEST_PACKET: u32 = 44;

impl SendState {
    /// New data may go, `room` segments by the congestion window: whether they wait. Otherwise a burst begins. `head_sent`:
    /// when the first outstanding segment went out.
    pub fn burst_waits(&mut self, room: u32, head_sent: Option<Time>, now: Time) -> bool {
        let offered = self.peer_end.saturating_sub(self.nxt);
        let data = self.end.saturating_sub(self.nxt);
        let most = self.most_in_burst();
        let limit = room.min(offered);
        if limit > 0 && limit < most && data > 1 && self.may_wait(limit, data, head_sent, now) {
            self.window.leaving.waited |= room < offered;
            return true;
        }
        self.begin_burst(limit.min(most).min(data));
        false
    }

    /// New data goes in a recovery, where nothing waits: `room` segments by the congestion window.
    pub fn begin_burst_of(&mut self, room: u32) {
        if !self.window.leaving.is_leaving() {
            self.begin_burst(room.min(self.most_in_burst()));
        }
    }

    fn begin_burst(&mut self, segments: u32) {
        let left = u8::try_from(segments).unwrap_or(u8::MAX);
        (self.window.leaving.left, self.window.leaving.several) = (left, left > 1);
    }

    fn may_wait(&self, limit: u32, data: u32, head_sent: Option<Time>, now: Time) -> bool {
        let window = (self.window.cwnd() as u32).min(self.peer_end.saturating_sub(self.una));
        let is_last = data <= LARGEST_PACKET && (limit > data || self.fin.is_some());
        let srtt = self.rtt.srtt();
        let ack_is_near = |head: Time| head + srtt <= now + (srtt / 2).min(RECENT);
        now.since(self.last_sent.max(self.pacing.next())) <= RECENT
            && limit * WINDOW_PART < window
            && !is_last
            && head_sent.is_some_and(ack_is_near)
    }

    /// Segments of a full burst.
    fn most_in_burst(&self) -> u32 {
        match self.window.is_paced() {
            true => self.window.burst(),
            false => {
                self.window.burst_by_window(self.flight_size(), self.rtt.srtt(), self.params.segment.0 as u32)
            }
        }
    }

    /// A new segment has gone out. A burst that is over is paced as a whole.
    pub fn continue_burst(&mut self, now: Time) {
        if !self.params.tso_deferral {
            return;
        }
        self.window.leaving.left = self.window.leaving.left.saturating_sub(1);
        if self.window.leaving.left == 0 {
            self.window.leaving.ends = self.window.leaving.several;
            self.pacing.end_burst(&self.window, self.data_segments(), now);
        }
    }
}
