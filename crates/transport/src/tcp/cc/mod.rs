//! Congestion control: how much may be sent, and how fast. One file per algorithm, one row in the table below.
//!
//! The sender and its loss recovery report events. The algorithm answers by its [`Window`], which no other code can
//! change. What an event does not concern is left to the default methods of [`Algorithm`].

mod bbr;
mod bbr3;
mod cubic;
mod dctcp;
mod linux;
mod pacing;
mod prague;
mod reno;
mod slow_start;
mod vegas;

use crate::params::TcpParams;
use crate::spec::SpecError;
use crate::tcp::delivery_rate::{DeliveryRate, LostSegment};
use crate::tcp::{Found, Usage};
use roamlab_engine::tagged::{self, Family};
use roamlab_engine::{Duration, Time};
use schemars::{JsonSchema, Schema, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(crate) use pacing::Pacer;

/// Passes the table of congestion controls to the macro `$use`: a row for each file, with the name in scenarios, the
/// algorithm and a one-line summary with the source.
macro_rules! congestion_controls {
    ($use:ident!) => {
        $use! {
            "bbr" => bbr::Bbr, "By a model of the path's rate and delay, version 1 as in Linux 6 (Cardwell et al. 2016).";
            "bbr3" => bbr3::Bbr3, "By a model of the path's rate, delay and losses, version 3 (draft-ietf-ccwg-bbr-06).";
            "cubic" => cubic::Cubic, "The window is a cubic function of the time since the latest loss (RFC 9438).";
            "dctcp" => dctcp::Dctcp, "The window falls by the share of segments that were marked (RFC 8257).";
            "prague" => prague::Prague, "DCTCP for the Internet, by accurate ECN and pacing (draft-briscoe-iccrg-prague-congestion-control-04).";
            "reno" => reno::Reno, "Additive increase, multiplicative decrease (RFC 5681 §3.1).";
            "vegas" => vegas::Vegas, "By the segments that are in queues (Brakmo & Peterson 1995).";
            #[cfg(test)]
            "paced" => paced::Paced, "One of the tests, which needs all that the sender has.";
        }
    };
}

/// The congestion window, the slow-start threshold and the pacing rate. Only the algorithms change them.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(crate) struct Window {
    /// Segments.
    cwnd: f64,
    /// Segments.
    ssthresh: f64,
    /// Segments per second; infinity: segments leave as soon as the window permits.
    pacing_rate: f64,
    /// Segments that leave together if it paces.
    burst: u32,
    /// The algorithm now sends less than the path carries: delivery rates do not measure the path.
    limits_itself: bool,
    /// The burst that is leaving; here it takes no room of its own.
    pub leaving: Burst,
    /// Largest cwnd in segments.
    max_cwnd: f64,
    /// Vegas takes the mean of a round's round-trip times (ns-2).
    takes_mean: bool,
}

/// The burst that is leaving.
#[derive(Copy, Clone, PartialEq, Debug, Default)]
pub(crate) struct Burst {
    /// Segments that are left of it.
    pub left: u8,
    /// It ends with PSH: it has more than one, or ends what was written.
    pub pushes: bool,
    /// What goes out now is the last one of such a burst.
    pub ends: bool,
    /// One waited for the congestion window since the latest growth of that: it was the limit.
    pub waited: bool,
}

impl Burst {
    /// Whether the segment that goes out has PSH: the last one of a burst of several, or of what was written
    /// (`__tcp_transmit_skb`, `tcp_push`).
    pub fn pushes(&mut self) -> bool {
        std::mem::take(&mut self.ends)
    }

    /// What the latest input permitted has gone.
    pub fn end(&mut self) {
        self.left = 0;
    }

    /// Whether segments of it are left.
    pub fn is_leaving(&self) -> bool {
        self.left > 0
    }
}

impl Window {
    /// The window of a new connection.
    pub fn new(cwnd: f64, params: &TcpParams) -> Window {
        let max_cwnd = params.max_cwnd.0;
        Window {
            cwnd,
            ssthresh: f64::from(params.initial_ssthresh.0),
            pacing_rate: f64::INFINITY,
            burst: 1,
            limits_itself: false,
            leaving: Burst::default(),
            max_cwnd: if max_cwnd == 0 { f64::INFINITY } else { f64::from(max_cwnd) },
            takes_mean: params.ns2_vegas_takes_mean(),
        }
    }

    /// Congestion window in segments.
    #[inline(always)]
    pub fn cwnd(&self) -> f64 {
        self.cwnd
    }

    /// Slow-start threshold in segments.
    #[inline(always)]
    pub fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    /// Both.
    #[inline(always)]
    pub fn sizes(&self) -> (f64, f64) {
        (self.cwnd, self.ssthresh)
    }

    /// Whether delivery rates measured of what leaves now do not measure the path.
    pub fn limits_itself(&self) -> bool {
        self.limits_itself
    }

    /// The number of segments that may be outstanding.
    #[inline(always)]
    pub fn usable(&self, inflation: u32, receiver_window: u32) -> u32 {
        (self.cwnd as u32).saturating_add(inflation).min(receiver_window)
    }

    /// Whether the flight before the ACK used the window (RFC 9438 §5.8; as Linux's `tcp_is_cwnd_limited`, in slow start
    /// half of it is enough). A burst may be missing, and two segments: an ACK that acknowledges two has just let them go.
    #[inline(always)]
    fn is_used(&self, ack: &AckEvent) -> bool {
        let used = f64::from(ack.in_flight + ack.acked);
        self.is_filled(ack) || (self.cwnd < self.ssthresh && 2.0 * used > self.cwnd)
    }

    /// Whether the flight before the ACK filled the window.
    #[inline(always)]
    fn is_filled(&self, ack: &AckEvent) -> bool {
        f64::from(ack.in_flight + ack.acked) + f64::from(self.burst.max(2)) >= self.cwnd
    }

    /// Sets cwnd, to `max_cwnd` at most.
    pub(crate) fn set(&mut self, cwnd: f64) {
        self.cwnd = cwnd.min(self.max_cwnd);
    }

    /// Adds segments to cwnd, up to `max_cwnd`. As in ns-2 the fraction above the bound is tolerated.
    #[inline(always)]
    fn grow(&mut self, segments: f64) {
        self.cwnd += segments;
        if self.cwnd >= self.max_cwnd + 1.0 {
            self.cwnd = self.max_cwnd;
        }
    }

    /// Reduces both, within the bounds of the event.
    fn cut(&mut self, cwnd: f64, ssthresh: f64, loss: &LossEvent) {
        self.ssthresh = match loss.ssthresh {
            SsthreshRule::Set => ssthresh,
            SsthreshRule::Lower => ssthresh.min(self.ssthresh),
            SsthreshRule::Keep => self.ssthresh,
        };
        self.cwnd = cwnd.min(loss.most_cwnd).max(loss.least_cwnd);
    }
}

/// An ACK has been dealt with.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct AckEvent {
    pub now: Time,
    /// The segment that it expects.
    pub una: u32,
    /// The next segment to be sent.
    pub nxt: u32,
    /// Segments that it acknowledges for the first time. Segments in SACK blocks count if segments are recorded.
    pub acked: u32,
    /// Segments that ACKs have shown to be lost since the event before, if segments are recorded. What the retransmission timer
    /// takes for lost does not count.
    pub lost: u32,
    /// A measurement of the round-trip time.
    pub rtt: Option<Duration>,
    /// The smoothed round-trip time; zero before the first measurement.
    pub srtt: Duration,
    /// Segments outstanding, without those in SACK blocks if segments are recorded.
    pub in_flight: u32,
    /// A loss that has reduced the window is being repaired.
    pub recovering: bool,
    /// The application had less data than the window permitted.
    #[cfg_attr(not(test), expect(dead_code, reason = "of the tests' algorithm alone"))]
    pub app_limited: bool,
    /// Those of `acked` that were marked: all if the ACK echoes congestion, and no accurate ECN is in use.
    pub marked: u32,
    /// The delivery rate, if segments are recorded.
    pub rate: Option<DeliveryRate>,
    /// Payload of a segment in bytes.
    pub segment: u32,
    /// ACKs report what has arrived behind a loss.
    pub has_sack: bool,
    /// A burst waited, because the window permits only a part of it.
    pub waited: bool,
    /// How much of the window was in use when nothing more left, if the sender notes it.
    pub usage: Option<Usage>,
    /// What the loss recovery knows of the network, if it is as in Linux and segments are recorded.
    pub found: Option<Found>,
    /// How long pacing holds the next burst.
    pub until_burst: Duration,
    /// Of those in flight, segments that are lost and not sent again, if segments are recorded.
    pub waiting: u32,
}

impl AckEvent {
    /// Segments in flight that are not known to have arrived or to be lost.
    pub fn in_network(&self) -> u32 {
        self.in_flight.saturating_sub(self.waiting)
    }
}

/// What an ACK says about congestion (ECN), before anything else is done with it.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Feedback {
    /// The segment that it expects.
    pub ack: u32,
    /// Segments that it acknowledges. SACK blocks count in Linux alone.
    pub acked: u32,
    /// Segments of which it reports that they were marked; of accurate ECN SACK blocks count too.
    pub marked: u32,
    /// The next segment to be sent.
    pub nxt: u32,
    pub now: Time,
}

/// Makes the event of an ACK.
pub(crate) trait AckSource {
    /// The event, for an algorithm whose window is `window`.
    fn event(&self, window: &Window) -> AckEvent;
}

/// What reported a loss.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Loss {
    /// Duplicate ACKs or SACK blocks.
    DupAcks,
    /// The ACK of a tail loss probe, which has repaired it.
    Tail,
    /// The age of the oldest segment, at an ACK (Vegas); `again`: it had been sent again before.
    Age { again: bool },
    /// The retransmission timer.
    Timeout,
    /// An echo of congestion (ECN): nothing was lost.
    Echo,
}

/// What a loss may do to ssthresh.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum SsthreshRule {
    /// It is set.
    Set,
    /// It is only lowered: the window was already cut for this flight.
    Lower,
    /// It stays: the segment timed out before (RFC 5681 §3.1).
    Keep,
}

/// The window has to be reduced.
#[derive(Copy, Clone, Debug)]
pub(crate) struct LossEvent<'a> {
    pub now: Time,
    pub kind: Loss,
    /// Segments in use: the flight size (RFC 5681 §3.1 eq. 4), in ns-2 the window.
    pub in_use: f64,
    pub ssthresh: SsthreshRule,
    /// Bounds of cwnd after it.
    pub least_cwnd: f64,
    pub most_cwnd: f64,
    /// What the loss recovery knows of the network, if it is as in Linux and segments are recorded.
    pub found: Option<Found>,
    pub params: &'a TcpParams,
}

#[cfg(test)]
impl<'a> LossEvent<'a> {
    /// A loss without bounds.
    fn simple(kind: Loss, in_use: f64, params: &'a TcpParams) -> LossEvent<'a> {
        let (ssthresh, least_cwnd, most_cwnd) = (SsthreshRule::Set, 0.0, f64::INFINITY);
        LossEvent { now: Time::ZERO, kind, in_use, ssthresh, least_cwnd, most_cwnd, found: None, params }
    }
}

/// The latest loss was none (RFC 4015 §3.2).
#[derive(Copy, Clone, Debug)]
pub(crate) struct Undo {
    /// max(FlightSize, ssthresh) before the cut.
    pub pipe_prev: f64,
    /// The window that the standard gives: what is outstanding, and no burst.
    pub cwnd: f64,
}

/// A step of a loss recovery that concerns the window.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(crate) enum RecoveryStep {
    /// Slow start from so many segments.
    SlowStart(f64),
    /// Slow start from so many segments at most (RFC 5682 §2.1 step 3a).
    SlowStartAtMost(f64),
    /// A duplicate ACK reports that so many segments have left the network (Vegas).
    Inflate(f64),
    /// A partial ACK: so many segments were added that are now acknowledged (RFC 6582 §3.2 step 3).
    Deflate(f64),
    /// The window of an ACK in a recovery that reduces it in proportion to what is delivered (RFC 9937).
    Proportional(f64),
    /// The recovery ends in congestion avoidance with this window (Vegas).
    Exit(f64),
    /// The recovery ends with at most so many segments, or ssthresh (RFC 6582 §3.2 step 3).
    ExitAtMost(f64),
    /// ssthresh is so many segments at least (Linux, after an idle period).
    RaiseSsthresh(f64),
    /// Slow start sent twice what the path carries (Mathis & Mahdavi 1996 §4.5).
    Overshoot,
    /// ssthresh is so many segments: what a path carried while too much was sent (RFC 9959 §3.5).
    Threshold(f64),
}

/// The sender is notified that its segments take another path.
#[derive(Copy, Clone, Debug)]
pub(crate) struct NewPath {
    /// The next segment to be sent, the first one that takes it for certain.
    pub next: u32,
    /// The shortest round-trip time is to be measured with an empty queue, at once.
    pub probes: bool,
}

impl NewPath {
    /// Whether an ACK is the first to measure the path that is yet to be measured. It is then measured.
    pub fn take_measured(path: &mut Option<NewPath>, ack: &AckEvent) -> bool {
        path.take_if(|path| ack.una > path.next && ack.rtt.is_some()).is_some()
    }
}

/// A congestion control. Its file also has `Params`, its parameters in scenarios, and `new(&Params)`.
pub(crate) trait Algorithm {
    /// Whether it now reads the delivery rate or the round-trip time of each ACK, which needs a record of each segment
    /// sent. It is asked after each event; on the fast path only while there is a record.
    fn records_segments(&self, _window: &Window) -> bool {
        false
    }

    /// Whether it sets the pacing rate.
    fn paces(&self) -> bool {
        false
    }

    /// Whether it has a reaction of its own to echoes of congestion (RFC 8511).
    fn takes_abe(&self) -> bool {
        false
    }

    /// Whether it goes by echoes of congestion, so that `ecn` is on unless the scenario says otherwise, and the receiver
    /// reports each change of the marks (RFC 8257 §3.2).
    fn needs_ecn(&self) -> bool {
        false
    }

    /// Whether it goes by the number of marked segments, so that `accecn` is on unless the scenario says otherwise.
    fn needs_accecn(&self) -> bool {
        false
    }

    /// Whether its segments have the codepoint of L4S, ECT(1) (RFC 9331 §4.1).
    fn sends_ect1(&self) -> bool {
        false
    }

    /// Whether an echo of congestion at this time does not reduce the window.
    fn ignores_echo(&self, _now: Time) -> bool {
        false
    }

    /// Whether a loss in a window that an echo has reduced reduces it once more.
    fn reduces_behind_echo(&self) -> bool {
        false
    }

    /// Whether it keeps a shortest round-trip time.
    fn keeps_min_rtt(&self) -> bool {
        false
    }

    /// Whether it has a mode in which it empties the path to measure that (ProbeRTT).
    fn probes_rtt(&self) -> bool {
        false
    }

    /// The send buffer of Linux in windows (`sndbuf_expand`).
    fn windows_in_buffer(&self) -> u64 {
        2
    }

    /// The SYN is acknowledged.
    fn on_start(&mut self, window: &mut Window, initial_window: f64) {
        window.cwnd = initial_window;
    }

    /// An ACK arrived with ECN in use, other than that of a SYN.
    fn on_feedback(&mut self, _feedback: &Feedback) {}

    /// Whether [`on_ack`](Self::on_ack) looks at the event. If not, none is made for it.
    #[inline(always)]
    fn reads_acks(&self) -> bool {
        true
    }

    /// An ACK of new data arrived, and the loss recovery lets the window grow.
    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent);

    /// Another ACK arrived: a duplicate, one in a recovery, or one that echoes congestion.
    fn on_other_ack(&mut self, _window: &mut Window, _ack: &AckEvent) {}

    /// A loss was found, or congestion was echoed. [`Window::cut`] keeps the bounds of the event.
    fn on_loss(&mut self, window: &mut Window, loss: &LossEvent);

    /// A segment is lost, if segments are recorded; the event of its loss came before.
    fn on_lost_segment(&mut self, _window: &mut Window, _lost: &LostSegment) {}

    /// The retransmission timer went off. By default cwnd is one segment, and ssthresh as after another loss.
    fn on_rto(&mut self, window: &mut Window, loss: &LossEvent) {
        self.on_loss(window, loss);
        window.cwnd = 1.0; // RFC 5681 §3.1: the loss window
    }

    /// The latest loss was none.
    fn on_undo(&mut self, window: &mut Window, undo: &Undo) {
        (window.cwnd, window.ssthresh) = (undo.cwnd, undo.pipe_prev);
    }

    /// Nothing was outstanding for an RTO. What follows starts with `restart_window` segments (RFC 5681 §4.1).
    fn on_idle(&mut self, window: &mut Window, restart_window: f64) {
        if window.cwnd > restart_window || window.cwnd < 1.0 {
            window.cwnd = restart_window;
        }
    }

    /// A segment goes out with nothing outstanding; the one before went out `idle` ago.
    fn on_resume(&mut self, _window: &mut Window, _idle: Duration, _now: Time) {}

    /// The path is another one: what it keeps as the shortest round-trip time is that of an old one.
    fn on_new_path(&mut self, _window: &mut Window, _path: NewPath) {}

    /// A step of a loss recovery.
    fn on_recovery_step(&mut self, window: &mut Window, step: RecoveryStep) {
        match step {
            RecoveryStep::SlowStart(segments) | RecoveryStep::Proportional(segments) => {
                window.cwnd = segments
            }
            RecoveryStep::SlowStartAtMost(segments) => window.cwnd = window.cwnd.min(segments),
            RecoveryStep::Inflate(segments) => window.cwnd += segments,
            RecoveryStep::Deflate(segments) => window.cwnd = (window.cwnd - segments).max(1.0),
            RecoveryStep::Exit(segments) => (window.cwnd, window.ssthresh) = (segments, 2.0),
            RecoveryStep::ExitAtMost(segments) => window.cwnd = window.ssthresh.min(segments),
            RecoveryStep::RaiseSsthresh(segments) => window.ssthresh = window.ssthresh.max(segments),
            RecoveryStep::Overshoot => window.cwnd /= 2.0,
            RecoveryStep::Threshold(segments) => window.ssthresh = segments,
        }
    }
}

/// The parameters of an algorithm that has none.
#[derive(Copy, Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoParams {}

impl NoParams {
    fn check(&self) -> Result<(), SpecError> {
        Ok(())
    }
}

/// Parameters as a table.
#[derive(Serialize)]
struct Table<'a, P> {
    kind: &'static str,
    #[serde(flatten)]
    params: &'a P,
}

macro_rules! storage {
    ($($(#[$only:meta])* $name:literal => $module:ident::$kind:ident, $summary:literal;)+) => {
        /// A congestion control: `kind` names it, the other fields are its parameters. With the defaults of all of
        /// them the name may stand alone.
        #[derive(Copy, Clone, PartialEq, Debug, JsonSchema)]
        #[schemars(tag = "kind", transform = allow_names)]
        pub enum CongestionControlSpec {
            $($(#[$only])* #[doc = $summary] #[schemars(rename = $name)] $kind($module::Params),)+
        }

        /// The congestion controls: name and one-line summary.
        pub const CONGESTION_CONTROLS: &[(&str, &str)] = &[$($(#[$only])* ($name, $summary),)+];

        impl Family for CongestionControlSpec {
            const WHAT: &'static str = "a congestion control";
            const EXAMPLE: &'static str = "\"reno\" or { kind = \"vegas\", alpha = \"2 pkt\" }";
            const NAMES: &'static [&'static str] = &[$($(#[$only])* $name,)+];

            fn read<'de, D: Deserializer<'de>>(kind: &str, fields: D) -> Result<Self, D::Error> {
                match kind {
                    $($(#[$only])* $name => Deserialize::deserialize(fields).map(CongestionControlSpec::$kind),)+
                    _ => Err(serde::de::Error::unknown_variant(kind, Self::NAMES)),
                }
            }
        }

        impl Serialize for CongestionControlSpec {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(
                        $(#[$only])*
                        CongestionControlSpec::$kind(params) if *params == Default::default() => {
                            serializer.serialize_str($name)
                        }
                        $(#[$only])*
                        CongestionControlSpec::$kind(params) => Table { kind: $name, params }.serialize(serializer),
                    )+
                }
            }
        }

        impl CongestionControlSpec {
            pub(crate) fn check(&self) -> Result<(), SpecError> {
                match self {
                    $($(#[$only])* CongestionControlSpec::$kind(params) => params.check(),)+
                }
            }
        }

        /// The congestion control of a connection. In a box, a sender is not larger than its own algorithm needs.
        #[derive(Clone, Debug)]
        pub(crate) enum CongestionControl {
            $($(#[$only])* $kind(Box<$module::$kind>),)+
        }

        impl CongestionControl {
            pub fn new(spec: &CongestionControlSpec) -> CongestionControl {
                match spec {
                    $(
                        $(#[$only])*
                        CongestionControlSpec::$kind(params) => CongestionControl::$kind(Box::new($module::$kind::new(params))),
                    )+
                }
            }

            /// The algorithm, for all events but the most frequent one.
            pub fn algorithm(&mut self) -> &mut dyn Algorithm {
                match self {
                    $($(#[$only])* CongestionControl::$kind(algorithm) => &mut **algorithm,)+
                }
            }

            /// As [`Algorithm::on_ack`]. The event is made for each algorithm, so that its unused parts cost nothing.
            #[inline(always)]
            pub fn on_ack(&mut self, window: &mut Window, source: &impl AckSource) {
                match self {
                    $(
                        $(#[$only])*
                        CongestionControl::$kind(algorithm) => {
                            let ack = if algorithm.reads_acks() { source.event(window) } else { AckEvent::default() };
                            algorithm.on_ack(window, &ack);
                        }
                    )+
                }
            }

            /// As [`Algorithm::records_segments`].
            pub fn records_segments(&self, window: &Window) -> bool {
                match self {
                    $($(#[$only])* CongestionControl::$kind(algorithm) => algorithm.records_segments(window),)+
                }
            }
        }
    };
}
congestion_controls!(storage!);

impl CongestionControlSpec {
    /// The same with Linux's arithmetic, if it has one.
    pub(crate) fn as_in_linux(mut self) -> CongestionControlSpec {
        match &mut self {
            CongestionControlSpec::Cubic(params) => params.as_linux = true,
            CongestionControlSpec::Reno(params) => params.as_linux = true,
            CongestionControlSpec::Bbr(params) => params.as_linux = true,
            CongestionControlSpec::Dctcp(params) => params.as_linux = true,
            CongestionControlSpec::Vegas(params) => params.set_linux(),
            _ => {}
        }
        self
    }

    /// As [`Algorithm::takes_abe`].
    pub(crate) fn takes_abe(&self) -> bool {
        CongestionControl::new(self).algorithm().takes_abe()
    }

    /// As [`Algorithm::keeps_min_rtt`].
    pub(crate) fn keeps_min_rtt(&self) -> bool {
        CongestionControl::new(self).algorithm().keeps_min_rtt()
    }

    /// As [`Algorithm::probes_rtt`].
    pub(crate) fn probes_rtt(&self) -> bool {
        CongestionControl::new(self).algorithm().probes_rtt()
    }

    /// As [`Algorithm::needs_ecn`].
    pub(crate) fn needs_ecn(&self) -> bool {
        CongestionControl::new(self).algorithm().needs_ecn()
    }

    /// As [`Algorithm::needs_accecn`].
    pub(crate) fn needs_accecn(&self) -> bool {
        CongestionControl::new(self).algorithm().needs_accecn()
    }
}

impl<'de> Deserialize<'de> for CongestionControlSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize_or_name(deserializer)
    }
}

/// In the schema, a name is allowed as well as a table.
fn allow_names(schema: &mut Schema) {
    let table = schema.clone();
    let names = CongestionControlSpec::NAMES;
    *schema = json_schema!({ "anyOf": [{ "type": "string", "enum": names }, table] });
}

#[cfg(test)]
mod contract;
#[cfg(test)]
mod paced;
#[cfg(test)]
mod path;
