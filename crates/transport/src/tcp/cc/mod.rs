//! Congestion control: growth and reduction of the window. One file per algorithm, one row in the table of `params.rs`.

mod reno;
mod vegas;

use crate::params::{CongestionControlKind, TcpParams, congestion_controls};
use roamlab_engine::{Duration, Time};

/// The congestion window.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(crate) struct Window {
    /// Congestion window in segments.
    pub cwnd: f64,
    /// Slow-start threshold in segments.
    pub ssthresh: f64,
    /// Segments that duplicate ACKs say have left the network (ns-2 `dupwnd_`; RFC 5681 §3.2 step 4 adds them to
    /// cwnd itself).
    pub inflation: u32,
}

/// What told of a loss.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Loss {
    /// Duplicate ACKs.
    DupAcks,
    /// The retransmission timer.
    Timeout,
    /// An echo of congestion: nothing was lost.
    Echo,
}

/// What an algorithm may ask about an ACK.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct AckContext {
    /// The segment that it expects.
    pub una: u32,
    /// The next segment to be sent.
    pub nxt: u32,
    pub now: Time,
}

/// A congestion control.
pub(crate) trait Algorithm {
    /// A new ACK arrived, and recovery lets the window grow.
    fn on_ack(&mut self, window: &mut Window, ack: &AckContext, params: &TcpParams);

    /// A segment that was sent once has been acknowledged after `rtt`.
    fn on_rtt(&mut self, _rtt: Duration) {}

    /// A loss was found with `in_use` segments in use.
    fn on_loss(&mut self, window: &mut Window, loss: Loss, in_use: f64, params: &TcpParams);
}

/// No window grows above `max_cwnd`. As in ns-2 the fraction above the bound is tolerated.
#[inline]
fn limit_cwnd(window: &mut Window, params: &TcpParams) {
    let max_cwnd = params.max_cwnd.0;
    if max_cwnd > 0 && window.cwnd as u32 > max_cwnd {
        window.cwnd = f64::from(max_cwnd);
    }
}

macro_rules! storage {
    ($($name:literal => $module:ident::$kind:ident, $summary:literal;)+) => {
        /// The congestion control of a connection.
        #[derive(Clone, Debug)]
        pub(crate) enum CongestionControl {
            $($kind($module::$kind),)+
        }

        impl CongestionControl {
            pub fn new(params: &TcpParams) -> CongestionControl {
                match params.congestion_control {
                    $(CongestionControlKind::$kind => CongestionControl::$kind(Default::default()),)+
                }
            }

            #[inline(always)]
            pub fn on_ack(&mut self, window: &mut Window, ack: &AckContext, params: &TcpParams) {
                match self {
                    $(CongestionControl::$kind(algorithm) => algorithm.on_ack(window, ack, params),)+
                }
            }

            pub fn on_rtt(&mut self, rtt: Duration) {
                match self {
                    $(CongestionControl::$kind(algorithm) => algorithm.on_rtt(rtt),)+
                }
            }

            pub fn on_loss(&mut self, window: &mut Window, loss: Loss, in_use: f64, params: &TcpParams) {
                match self {
                    $(CongestionControl::$kind(algorithm) => algorithm.on_loss(window, loss, in_use, params),)+
                }
            }
        }
    };
}

congestion_controls!(storage!);
