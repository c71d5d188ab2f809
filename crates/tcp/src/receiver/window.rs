//! The buffer of a receiver, and the window that it advertises.

use super::TcpReceiver;
use crate::Autotuning;
use crate::params::TcpParams;
use crate::short_cut::ShortCut;
use roamlab_engine::Time;

impl TcpReceiver {
    /// The smallest shift that lets the whole buffer be advertised (RFC 7323 §2.2: 14 at most). `None` without flow
    /// control, where the field is not read.
    pub(super) fn shift_for(params: &TcpParams) -> Option<u32> {
        // With a buffer that grows the memory of packets counts too (`tcp_select_initial_window`).
        let bytes = if params.receive_autotuning {
            Autotuning::largest_buffer(params)
        } else {
            u64::from(params.window.0) * params.segment.0
        };
        let fits = |shift: &u32| bytes <= 65_535 << shift;
        match (!params.ns2_no_flow_control(), params.window_scaling) {
            (false, _) => None,
            (true, true) => Some((0..14).find(fits).unwrap_or(14)),
            (true, false) => Some(0),
        }
    }

    /// From now on the application reads only by [`read`](Self::read). Until then data that arrives in order stays in
    /// the buffer and narrows the window.
    pub fn hold(&mut self) {
        self.reads_at_once = false;
        self.short_cut = ShortCut::None;
    }

    /// The application takes `segments` out of the buffer. An ACK advertises the wider window if it was closed, or
    /// has become wider by half of the buffer (RFC 9293 §3.8.6.2.2).
    pub fn read(&mut self, segments: u32, now: Time) {
        self.unread = self.unread.saturating_sub(segments);
        self.take_reading(now);
        let window = self.advertised();
        let wider = window.saturating_sub(self.last_window);
        if wider > 0 && (self.last_window == 0 || 2 * wider >= self.buffer()) {
            self.acknowledge(now);
        }
    }

    /// Segments in order that are kept at most until the application takes them.
    pub(crate) fn buffer(&self) -> u32 {
        self.autotuning.as_ref().map_or(self.params.window.0, |tuning| tuning.segments())
    }

    /// The window to advertise, in whole segments.
    pub(super) fn advertised(&self) -> u32 {
        self.in_field(self.bytes_advertised(self.shift), self.shift)
    }

    /// The same in bytes, where the field of the window is shifted by `shift` bits.
    #[inline]
    pub(super) fn bytes_advertised(&self, shift: Option<u8>) -> u64 {
        match &self.autotuning {
            Some(tuning) => tuning.window(self.received.base(), shift.unwrap_or(0)),
            None => u64::from(self.params.window.0.saturating_sub(self.unread)) * self.params.segment.0,
        }
    }

    /// The window that its field can express of these bytes, in segments.
    #[inline]
    pub(super) fn in_field(&self, bytes: u64, shift: Option<u8>) -> u32 {
        let segment = self.params.segment.0;
        let Some(shift) = shift else { return (bytes / segment) as u32 };
        let bytes = bytes.min(65_535 << shift);
        // RFC 7323 §2.3: the field holds what the shift leaves of it.
        let bytes = if self.params.rounds_window_up() { bytes.next_multiple_of(1 << shift) } else { bytes };
        ((bytes >> shift << shift) / segment) as u32
    }

    /// The window scale that its SYN offers (RFC 7323 §2.2), if it offers one.
    pub fn window_shift(&self) -> Option<u8> {
        self.shift.filter(|_| self.params.window_scaling)
    }
}
