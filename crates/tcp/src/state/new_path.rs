//! A sender that is notified of a new path, and begins on it as a new connection would.
//!
//! What is in flight then is of the old path. It stays under loss detection, but does not count in the new window. Its
//! ACKs neither measure the new path nor open that window, and its losses do not cut it. RFC 9000 §9.4 demands that of
//! QUIC.
//!
//! ASSUMPTION: draft-schuetz-tcpm-tcp-rlci wants no more aggressiveness than that of a new connection. That the old
//! flight does not count in the window is QUIC's rule.
//! DEVIATION: TCP has no numbers of packets, so an ACK is of the old path until all that was sent on it is acknowledged.
//! DEVIATION: a loss of the new path that is found while one of the old path is being repaired does not cut the window
//! either, because a recovery cuts it once. A timeout always does.

use super::{LastReduction, SendState};
use crate::recovery::episode::SpuriousWatch;
use crate::rtt::RttEstimator;
use crate::sender::sent_segments::Delivered;
use roamlab_congestion::{CongestionControl, Pacer, Window};
use roamlab_engine::Time;
use std::sync::Arc;

impl SendState {
    /// Window, pacing and round-trip times are those of a new connection, and segments from the next one on are of it.
    pub fn begin_path(&mut self, now: Time) {
        let params = Arc::clone(&self.params);
        self.control = CongestionControl::new(&params.congestion_control);
        self.window = Window::new(self.initial_window, &params.for_control());
        self.control.algorithm().on_start(&mut self.window, self.initial_window);
        self.rtt = RttEstimator::new(&params, self.rtt.tick_phase());
        self.pacing = Pacer::of(params.makes_up_for_late_bursts());
        self.spurious = SpuriousWatch::default();
        // An echo has reduced the window of the old path. No loss of the new one is part of that, and the end of the reduction
        // would set the window to ssthresh, which is that of a new connection.
        self.echo_reduction = None;
        if self.last_reduction == LastReduction::Ecn {
            self.last_reduction = LastReduction::None;
        }
        self.inflation = 0;
        self.path_from = self.nxt;
        if let Some(sent) = &mut self.sent_segments {
            sent.leave_path(self.nxt);
        }
        if self.flight_size() > 0 {
            self.restart_timer(now);
        }
        self.renew_quota();
    }

    /// From now on the outstanding segments are those of the present path.
    pub fn end_old_path(&mut self) {
        self.path_from = 0;
        if let Some(sent) = &mut self.sent_segments {
            sent.leave_path(0);
        }
    }

    /// True if an ACK that expects `ack` acknowledges only segments that were sent on the old path.
    pub fn is_of_old_path(&self, ack: u32) -> bool {
        self.path_from > 0 && ack <= self.path_from
    }

    /// Drops the measurements of this ACK, which are of the old path.
    pub fn forget_measurement(&mut self) {
        self.delivered = Some(Delivered::default());
        if let Some(sent) = &mut self.sent_segments {
            sent.forget_rate();
        }
    }

    /// The next segment in the order, where what the old path has does not count in the window.
    pub fn next_on_new_path(&mut self) -> Option<u32> {
        let end = self.path_from.saturating_add(self.usable_window()).min(self.receiver_end());
        if !self.has_quota() || self.nxt >= end.min(self.end) {
            return None;
        }
        self.use_quota();
        self.nxt += 1;
        Some(self.nxt - 1)
    }
}
