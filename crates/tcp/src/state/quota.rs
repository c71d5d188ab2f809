//! The send quota, and the next segment that it, cwnd and the receiver's window permit.

use super::{SendQuota, SendState};
use std::ops::Range;

impl SendState {
    /// Renews the quota: the segments that the window permits.
    pub fn renew_quota(&mut self) {
        let burst = self.params.max_burst.0;
        self.quota = SendQuota::Window(if burst == 0 { u32::MAX } else { burst });
    }

    /// True if the latest input permits a segment within the window.
    pub fn has_quota(&self) -> bool {
        matches!(self.quota, SendQuota::Window(left) if left > 0)
    }

    /// A recovery sends a segment by its own rules, which counts in the quota.
    pub fn use_quota(&mut self) {
        if let SendQuota::Window(left) = &mut self.quota {
            *left = left.saturating_sub(1);
        }
    }

    /// The next segment in the order that the window permits, where the quota is for the window.
    #[inline]
    pub fn next_in_window(&mut self) -> Option<u32> {
        let SendQuota::Window(left) = self.quota else { return None };
        if left == 0 || self.nxt >= self.window_end().min(self.end) {
            return None;
        }
        self.quota = SendQuota::Window(left - 1);
        self.nxt += 1;
        Some(self.nxt - 1)
    }

    /// Takes all that [`next_in_window`](Self::next_in_window) would give, one after the other, `most` at most.
    #[inline(always)]
    pub fn take_quota(&mut self, most: u32) -> Range<u32> {
        let SendQuota::Window(left) = self.quota else { return 0..0 };
        let first = self.nxt;
        let count = self.window_end().min(self.end).saturating_sub(first).min(left).min(most);
        self.quota = SendQuota::Window(left - count);
        self.nxt += count;
        first..self.nxt
    }

    /// One above the highest segment that cwnd and the receiver permit.
    pub fn window_end(&self) -> u32 {
        self.una.saturating_add(self.usable_window()).min(self.peer_end)
    }

    /// True if a segment may have to be sent again before anything else.
    pub fn has_retransmission(&self) -> bool {
        self.retransmit.is_some() || self.expired
    }

    /// The segment to send again before anything else. Behind a timeout that is the first one outstanding (RFC 6298 §5.4),
    /// whatever ACKs arrive while pacing holds it.
    pub fn next_retransmission(&mut self) -> Option<u32> {
        let is_next = self.una == self.nxt && self.una < self.end;
        let is_due = std::mem::take(&mut self.expired) && self.timed_out == Some(self.una) && is_next;
        if !is_due {
            return self.retransmit.take().filter(|&seq| seq >= self.una);
        }
        self.use_quota();
        self.nxt += 1;
        Some(self.una)
    }

    /// The next segment in the order: retransmission, then what the quota allows.
    pub fn next_segment(&mut self) -> Option<u32> {
        if let Some(seq) = self.next_retransmission() {
            return Some(seq);
        }
        let (limit, quota) = match self.quota {
            SendQuota::Nothing => return None,
            SendQuota::Window(_) if self.is_of_old_path(self.una) => return self.next_on_new_path(),
            SendQuota::Window(_) => return self.next_in_window(),
            // The next segment was sent before a timeout: the receiver may hold it, and RFC 3042 is about new data.
            SendQuota::LimitedTransmit if self.goes_back() && !self.params.ns2_limited_transmit_repeats() => {
                return None;
            }
            SendQuota::LimitedTransmit => {
                // RFC 3042 §2: cwnd + 2 at most, and never beyond the receiver's window.
                let receiver_end = self.receiver_end();
                (self.window_end().saturating_add(self.dup_acks).min(receiver_end), SendQuota::Nothing)
            }
            SendQuota::Beyond(0) => return None,
            SendQuota::Beyond(left) => (self.receiver_end(), SendQuota::Beyond(left - 1)),
        };
        if self.nxt >= limit.min(self.end) {
            return None;
        }
        if self.quota == SendQuota::LimitedTransmit {
            self.limited_transmits += 1;
        }
        self.quota = quota;
        self.nxt += 1;
        Some(self.nxt - 1)
    }

    /// True if there is data that was never sent, and the receiver takes it.
    pub fn has_new_data(&self) -> bool {
        self.snd_max < self.receiver_end().min(self.written())
    }

    /// One above the highest segment that the receiver takes.
    pub(super) fn receiver_end(&self) -> u32 {
        self.una.saturating_add(self.params.window.0).min(self.peer_end)
    }

    /// The next new segment, independently of cwnd: the application has it and the receiver's window takes it.
    pub fn next_new(&mut self) -> Option<u32> {
        if self.nxt >= self.receiver_end().min(self.written()) {
            return None;
        }
        self.nxt += 1;
        Some(self.nxt - 1)
    }
}
