//! TCP among the transports. Its ends are in the crate `tcp`.

use crate::endpoints::{Arrival, Endpoints, FlowPacket, StampedSegment, StraightPath, both_ends};
use crate::family::Setting;
use crate::parameters::{Parameters, Unread, Warning};
use crate::path_policy::check_control;
use crate::{LARGEST_PACKET, Transport};
use roamlab_congestion::{PathPolicy, SpecError};
use roamlab_engine::{Bytes, Duration, Packets, Time};
use roamlab_packet::wire::TcpFields;
use roamlab_packet::{BareTcpHeader, Format, Side, TcpHeader, Timestamps};
use roamlab_tcp::{
    Handshake, ProfileName, Profiles, RecoveryKind, Segment, StampedAck, TcpParams, TcpProfile, TcpReceiver,
    TcpSender, TcpSpec,
};
use std::ops::Range;
use std::sync::Arc;

pub(crate) use roamlab_tcp::TcpSpec as Spec;

/// The two ends of a TCP connection.
#[derive(Clone, Debug)]
pub struct Ends {
    sender: Box<TcpSender>,
    receiver: Box<TcpReceiver>,
    params: Arc<TcpParams>,
}

/// The ends of a flow.
pub(crate) fn ends(spec: &TcpSpec, setting: &Setting<'_>) -> Option<Ends> {
    let profile = setting.profiles.of(spec.profile.as_ref());
    let mut params = spec.resolve(&profile).ok()?;
    // DEVIATION: a connection carries data one way, so requests and responses have one each. They
    // represent one connection that the client opens: the handshake is that of the requests, the
    // server answers immediately.
    if setting.is_opened {
        params.handshake = Handshake::None;
    }
    let tick = params.tick;
    let ticks = |phase: f64| Duration::from_nanos((phase * tick.as_nanos() as f64) as u64);
    let own = || setting.streams.named(&format!("{}/tcp", setting.flow)).uniform_duration(tick);
    let drawn = setting.clock_phase.map_or_else(own, ticks);
    // Neighbouring flows mostly have the same parameters.
    let params = match setting.previous {
        Some(Transport::Tcp(ends)) if *ends.params == params => Arc::clone(&ends.params),
        _ => Arc::new(params),
    };
    Some(Ends {
        sender: Box::new(TcpSender::new(Arc::clone(&params), profile.tick_phase.unwrap_or(drawn))),
        receiver: Box::new(TcpReceiver::new(Arc::clone(&params))),
        params,
    })
}

impl Endpoints for Ends {
    fn segment(&self) -> Option<Bytes> {
        Some(self.params.segment)
    }

    both_ends!();

    #[inline(always)]
    fn poll(&mut self, side: Side, now: Time) -> Option<FlowPacket> {
        let Segment { header, size, ecn } = match side {
            Side::Sender => self.sender.poll_transmit(now)?,
            Side::Receiver => self.receiver.poll_transmit(now)?,
        };
        Some(FlowPacket { header: header.into(), size, ecn })
    }

    #[inline(always)]
    fn deliver(&mut self, side: Side, packet: FlowPacket, now: Time) -> Option<Arrival> {
        let FlowPacket { header, ecn, .. } = packet;
        if header.format != Format::Tcp {
            return None;
        }
        let header = TcpHeader::from(header);
        Some(match side {
            Side::Sender => {
                self.sender.on_segment(&header, ecn, now);
                Arrival::default()
            }
            Side::Receiver => {
                Arrival::new(self.receiver.on_segment(&header, ecn, now), header.payload.into())
            }
        })
    }

    fn stops(&self) -> [&'static str; 2] {
        ["tcp.poll_transmit", "tcp.on_segment"]
    }

    fn tcp_fields(&self) -> Option<TcpFields> {
        let params = &self.params;
        Some(TcpFields {
            segment: params.segment.0 as u32,
            has_syn: matches!(params.handshake, Handshake::Syn | Handshake::ThreeWay),
            three_way: params.handshake == Handshake::ThreeWay,
            sack: params.sack_blocks > 0,
            shift: self.receiver.window_shift(),
        })
    }
}

impl StraightPath for Ends {
    #[inline(always)]
    fn prefetch(&self, side: Side) {
        match side {
            Side::Sender => self.sender.prefetch(),
            Side::Receiver => self.receiver.prefetch(),
        }
    }

    #[inline(always)]
    fn on_bare_ack(&mut self, header: &BareTcpHeader, now: Time) -> bool {
        self.sender.on_bare_ack(header, now)
    }

    #[inline(always)]
    fn on_pacing_deadline(&mut self, now: Time) -> bool {
        self.sender.on_pacing_deadline(now)
    }

    #[inline(always)]
    fn take_quota(&mut self) -> (Range<u32>, Bytes) {
        (self.sender.take_quota(), self.sender.segment_size())
    }

    #[inline(always)]
    fn bare_segment(&mut self, segment: u32, now: Time) -> BareTcpHeader {
        self.sender.bare_segment(segment, now)
    }

    #[inline(always)]
    fn end_quota(&mut self, now: Time) -> Option<Time> {
        self.sender.forget_growth();
        self.sender.end_quota(now);
        self.sender.next_deadline()
    }

    #[inline(always)]
    fn on_bare_segment(&mut self, header: &BareTcpHeader, now: Time) -> Option<bool> {
        self.receiver.on_bare_segment(header, now)
    }

    #[inline(always)]
    fn bare_answer(&self, is_due: bool) -> (Option<Time>, Option<(BareTcpHeader, Bytes)>) {
        (self.receiver.next_deadline(), is_due.then(|| self.receiver.bare_ack()))
    }

    #[inline(always)]
    fn is_stamped(&self) -> bool {
        self.sender.is_stamped()
    }

    #[inline(always)]
    fn on_stamped_ack(&mut self, header: &BareTcpHeader, stamps: Timestamps, now: Time) -> bool {
        self.sender.on_stamped_ack(header, stamps, now)
    }

    #[inline(always)]
    fn next_stamped(&mut self, now: Time) -> Option<StampedSegment> {
        let header = self.sender.next_stamped(now)?;
        let (stamps, size) = (self.sender.stamps(now), self.sender.data_size(header.seq));
        Some(StampedSegment { header, stamps, size })
    }

    #[inline(always)]
    fn end_stamped(&mut self, by_ack: bool, has_sent: bool, now: Time) -> Option<Time> {
        self.sender.forget_growth();
        self.sender.end_stamped(by_ack, has_sent, now);
        self.sender.next_deadline()
    }

    #[inline(always)]
    fn on_stamped_segment(
        &mut self,
        header: &BareTcpHeader,
        stamps: Timestamps,
        now: Time,
    ) -> Option<StampedAck> {
        self.receiver.on_stamped_segment(header, stamps, now)
    }

    #[inline(always)]
    fn stamped_answer(&self, is_due: bool, now: Time) -> (Option<Time>, Option<StampedSegment>) {
        let ack = || {
            let (header, stamps, size) = self.receiver.stamped_ack(now);
            StampedSegment { header, stamps, size }
        };
        (self.receiver.next_deadline(), is_due.then(ack))
    }
}

/// The longest time for which a receiver may hold an ACK (RFC 5681 §4.2).
const LONGEST_DELAY: Duration = Duration::from_millis(500);

/// The largest window in a TCP header without a scale.
const LARGEST_UNSCALED: u64 = 65_535;

/// Bytes of timestamps in a header.
const OPTIONS: u64 = 12;

/// Takes the field, the message and the help of a warning.
type Warn<'a> = dyn FnMut(&'static str, String, &'static str) + 'a;

impl Parameters for TcpSpec {
    fn shows_segments(&self) -> bool {
        true
    }

    fn check(&self, profiles: Profiles<'_>) -> Result<Option<Bytes>, SpecError> {
        self.resolve(profiles.of(self.profile.as_ref())).map(|params| Some(params.segment))
    }

    fn check_policy(&self, policy: PathPolicy, profiles: Profiles<'_>) -> Result<(), String> {
        let Ok(params) = self.resolve(profiles.of(self.profile.as_ref())) else { return Ok(()) }; // the check of the transport reports it
        if policy == PathPolicy::CarefulResume {
            let text =
                "\"careful-resume\" is built for QUIC alone: write \"restart\", or the transport \"quic\"";
            return Err(text.into());
        }
        check_control(policy, &params.congestion_control, params.recovery == RecoveryKind::Rack)
    }

    fn warnings(&self, profiles: Profiles<'_>, duration: Duration) -> Vec<Warning> {
        let profile = profiles.of(self.profile.as_ref());
        let Ok(params) = self.resolve(&profile) else { return Vec::new() };
        let mut found = Vec::new();
        let mut warn = |field, message, help| found.push(Warning { field, message, help });
        warn_of_sizes(self, &profile, &params, &mut warn);
        warn_of_ack_and_window(self, &profile, &params, &mut warn);
        warn_of_times(self, &profile, &params, duration, &mut warn);
        found
    }
    fn unread(&self, profiles: Profiles<'_>) -> Vec<Unread> {
        let profile = profiles.of(self.profile.as_ref());
        let Ok(params) = self.resolve(&profile) else { return Vec::new() };
        let unread = TcpSpec::unread(self, &profile, &params).into_iter();
        unread.map(|(field, reader, write)| Unread { field, reader, write }).collect()
    }

    fn profile<'a>(&'a self, profiles: Profiles<'a>) -> Option<&'a ProfileName> {
        Some(profiles.name(self.profile.as_ref()))
    }

    fn load(&self, profiles: Profiles<'_>) -> Option<(Bytes, Option<Packets>)> {
        let params = self.resolve(profiles.of(self.profile.as_ref())).ok()?;
        Some((Bytes(params.segment.0 + params.header.0), Some(params.window)))
    }

    fn largest_packet(&self, profiles: Profiles<'_>) -> Bytes {
        let sum = |params: TcpParams| Bytes(params.segment.0 + params.header.0 + OPTIONS);
        self.resolve(profiles.of(self.profile.as_ref())).map_or(Bytes(1500), sum)
    }

    fn first_timeout(&self, profiles: Profiles<'_>) -> Duration {
        let least = Duration::from_secs(1);
        self.resolve(profiles.of(self.profile.as_ref())).map_or(least, |params| params.initial_rto.max(least))
    }

    fn uses_ecn(&self, profiles: Profiles<'_>) -> bool {
        self.resolve(profiles.of(self.profile.as_ref())).is_ok_and(|params| params.ecn)
    }

    fn may_send_ect1(&self, profiles: Profiles<'_>) -> bool {
        self.resolve(profiles.of(self.profile.as_ref()))
            .is_ok_and(|params| params.congestion_control.properties().sends_ect1)
    }

    fn ns2_resets(&self, profiles: Profiles<'_>) -> u32 {
        match self.resolve(profiles.of(self.profile.as_ref())) {
            Ok(params) if params.recovery == RecoveryKind::Vegas => 2,
            Ok(_) => 1,
            Err(_) => 0,
        }
    }
}

/// Sizes of segments, headers and ACKs that no network has.
fn warn_of_sizes(spec: &TcpSpec, profile: &TcpProfile, params: &TcpParams, warn: &mut Warn<'_>) {
    let (segment, header) = (params.segment, params.header);
    if spec.segment.is_some() && Bytes(segment.0 + header.0) > LARGEST_PACKET {
        let message = format!(
            "with its header a segment has {}: Ethernet's packets have at most 1500 B, or {LARGEST_PACKET} in jumbo frames",
            Bytes(segment.0 + header.0)
        );
        warn("segment", message, "write for example \"1448 B\"; how much may be in flight is `window`");
    }
    if let Some(first) = spec.initial_window.filter(|&first| first > params.window) {
        let message =
            format!("the first window of {first} is larger than the largest one of {}", params.window);
        warn("initial_window", message, "write a smaller number, or a larger `window`");
    }
    if spec.header.is_some() && spec.segment.is_none() && header > segment {
        let message = format!("a header of {header} is larger than its segment of {segment}");
        warn("header", message, "write for example \"40 B\"");
    }
    if profile.ack_size.is_some() && params.ack_size.0 > segment.0 + header.0 {
        let data = Bytes(segment.0 + header.0);
        let message =
            format!("an ACK of {} is larger than a segment with its header, {data}", params.ack_size);
        warn("ack_size", message, "write for example \"40 B\"");
    }
    if spec.segment.is_some() && segment < header {
        let message = format!("a segment of {segment} is smaller than its header of {header}");
        warn("segment", message, "write for example \"1448 B\"");
    }
}

/// An ACK that is held for too long, and a window that its field cannot express.
fn warn_of_ack_and_window(spec: &TcpSpec, profile: &TcpProfile, params: &TcpParams, warn: &mut Warn<'_>) {
    if let Some(held) = spec.delayed_ack.filter(|held| *held > LONGEST_DELAY || *held >= params.min_rto) {
        let message = match held > LONGEST_DELAY {
            true => {
                format!("no receiver holds an ACK for {held}: {LONGEST_DELAY} is the most (RFC 5681 §4.2)")
            }
            false => format!(
                "an ACK is held for {held}, and the retransmission timer may run for {} only",
                params.min_rto
            ),
        };
        warn("delayed_ack", message, "write a shorter time, for example \"40 ms\"");
    }
    let bytes = u64::from(params.window.0) * params.segment.0;
    if !params.window_scaling
        && profile.window_scaling.is_some()
        && bytes > LARGEST_UNSCALED
        && !params.is_ns2()
    {
        let message = format!(
            "without a scale a receiver announces at most {LARGEST_UNSCALED} B, and a window of {} has {}",
            params.window,
            Bytes(bytes)
        );
        let help = "write `window_scaling = true`, or a smaller `window`";
        warn("window_scaling", message, help);
    }
}

/// Timers that never expire in a run of this duration.
fn warn_of_times(
    spec: &TcpSpec,
    profile: &TcpProfile,
    params: &TcpParams,
    duration: Duration,
    warn: &mut Warn<'_>,
) {
    if let Some(tick) = profile.tick.filter(|&tick| tick >= duration) {
        let message =
            format!("timers expire at ticks, {tick} apart, and the run ends at {duration}: none expires");
        warn("tick", message, "write a shorter time, for example \"10 ms\"");
    }
    if let Some(first) = spec.initial_rto.filter(|&first| first >= duration) {
        let message =
            format!("a lost SYN is sent again after {first}, and the run ends at {duration}: none is");
        warn("initial_rto", message, "write a shorter time, for example \"1 s\"");
    }
    if spec.min_rto.is_some_and(|least| least >= duration) {
        let message = format!(
            "the retransmission timer runs for {} at least, and the run ends at {duration}: it never expires",
            params.min_rto
        );
        warn("min_rto", message, "write a shorter time, for example \"200 ms\", or lengthen `run.duration`");
    }
}
