//! Parameters of NR handover.

use super::timers::{Timers, Times};
use crate::cellular::{self, Cancelled, Conditional, OrderWait, PathSwitch, Rules};
use crate::{BearerParams, Domain, ReportConfig, RlcMode};
use roamlab_engine::{Bytes, Duration, DurationLaw, Packets};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod ltm;
mod signalling;
mod units;

pub use ltm::{LayerOneEvent, Ltm, TimingAdvance};
pub use signalling::SignallingBearer;

/// NR handover: parameters of all roles.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The part of the network that it is about; absent: all.
    #[serde(skip_serializing_if = "Domain::is_whole")]
    pub domain: Domain,
    /// The node of the access and mobility management function; absent: the home of the hosts, which is the user plane
    /// function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amf: Option<String>,
    /// The node of the session management function; absent: the home of the hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smf: Option<String>,
    /// The node of the user plane function: the home of the hosts, with or without this field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upf: Option<String>,
    /// Routers that are central units: a cell that hangs off one is a distributed unit of it. None, or those of all cells.
    /// Default none: each base station is a whole one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub central_units: Vec<String>,
    /// Bytes that a tunnel between a distributed and a central unit adds: UDP, IPv4, GTP-U with the NR RAN container. Default
    /// 44 B.
    pub unit_overhead: Bytes,
    /// A distributed unit reports what has happened to packets this often, while there is something to report. ASSUMPTION: an
    /// implementation's value. Default 10 ms.
    pub delivery_status_interval: Duration,
    /// Distributed units order hosts to prepared cells of the same central unit (LTM, TS 38.300 §9.2.3.5). Absent: the central
    /// unit hands them over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ltm: Option<Ltm>,
    /// Who prepares handovers. Default "xn".
    pub procedure: Procedure,
    /// The way of forwarded packets. Default "direct".
    pub forwarding: Forwarding,
    /// When the source stops to send and begins to forward. Default "command".
    pub forward_from: ForwardFrom,
    /// From the target's acknowledgement until the command is sent over the air. Default 0 s.
    pub command_delay: Duration,
    /// Admission control at the target. ASSUMPTION: an implementation's value. Default 1 ms.
    pub admission: Duration,
    /// Hosts that a cell admits, handed over or expected; absent: any number. New connections are always admitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admission_limit: Option<u32>,
    /// End markers that the user plane function sends on the old path, 1 to 1000 (TS 38.300 §9.2.3.2.3: one or several).
    /// Default 1.
    pub end_markers: u32,
    /// Without an end marker direct packets wait this long after the first of them. ASSUMPTION: an implementation's
    /// value, 100 ms to 500 ms. Default 100 ms.
    pub guard: Duration,
    /// The radio bearer of each host.
    pub bearer: Box<BearerParams>,
    /// How RLC repeats lost messages over the air.
    pub signalling: SignallingBearer,
    /// Time that the session management function takes to switch a path, in addition to the messages. Default 0 s.
    pub path_switch: DurationLaw,
    /// When a target has the path switched. Default "access".
    pub path_switch_after: PathSwitchAfter,
    /// From the notice of a handover over N2 until the AMF releases the source, and the indirect tunnel ends; 300 ms in
    /// open5gs. Default 300 ms.
    pub release_after: Duration,
    /// How SCTP repeats lost messages between nodes of the network. Default "rfc".
    pub sctp: Sctp,
    /// One size of all messages and end markers on the wire; absent: each has its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signalling_size: Option<Bytes>,
    /// Sizes of containers and of messages in the core network.
    pub sizes: Containers,
    /// Bytes that a tunnel between user plane function and base station adds: UDP, IPv4, GTP-U with the PDU session
    /// container. Default 44 B.
    pub tunnel_overhead: Bytes,
    /// Bytes that a tunnel for forwarded packets adds: UDP, IPv4, GTP-U with the PDCP number (TS 38.300 §9.2.3.2.3).
    /// DEVIATION: those without a number have the same. Absent: 44 B for a number of 12 bits, 48 B for one of 18.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forwarding_overhead: Option<Bytes>,
    /// Packets that a base station holds for one host; 16384 in srsRAN. Default 16384 pkt.
    pub buffer_limit: Packets,
    /// The event that hosts report. Default as srsRAN: offset 3 dB, time to trigger 100 ms, each 1024 ms.
    pub measurement: ReportConfig,
    /// The host goes without a command to a prepared target that meets a second condition. Absent: it is
    /// commanded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditional: Option<Conditional>,
    /// When a source begins to forward to candidates. Default "late".
    pub candidate_forwarding: CandidateForwarding,
    /// With early forwarding the source tells candidates this often which packets need not be sent any more. ASSUMPTION: the
    /// standard leaves it open. Default 100 ms.
    pub early_status_interval: Duration,
    /// A host whose link has failed, or that has not reached a target, goes once to a candidate that it finds
    /// (attemptCondReconfig, TS 38.331 §5.3.7.3). Default false.
    pub attempt_candidate: bool,
    /// Hosts stay at the source until they are at the target, and the source sends copies (DAPS, TS 38.300 §9.2.3.2.1). Over
    /// Xn alone. Default false.
    pub daps: bool,
    /// Timers of the standards and of implementations.
    pub timers: Box<Timers>,
    /// Times that the host takes.
    pub times: Box<Times>,
    /// Values that the standard cannot signal are accepted. Default false.
    pub nonstandard: bool,
}

/// Who prepares handovers.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Procedure {
    /// The source, over Xn (TS 38.300 §9.2.3.2.1).
    Xn,
    /// The AMF, over N2 (TS 23.502 §4.9.1.3).
    N2,
}

/// The way of forwarded packets.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Forwarding {
    /// They are not forwarded.
    None,
    /// From the source to the target.
    Direct,
    /// From the source through the user plane function to the target; over N2 alone.
    Indirect,
}

/// When a source of a conditional handover begins to forward (TS 38.300 §9.2.3.4.2).
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CandidateForwarding {
    /// When a candidate has reported the success of the host.
    Late,
    /// When the host has the candidates: copies go to each of them.
    Early,
}

/// When the source stops to send to the host and begins to forward (TS 38.300 §9.2.3.2.1: both are possible).
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ForwardFrom {
    /// When the command is sent over the air.
    Command,
    /// When the target has acknowledged.
    Acknowledge,
}

/// When a target has the path switched.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PathSwitchAfter {
    /// When the host is there (TS 38.300 §9.2.3.2.1).
    Access,
    /// When the SN STATUS TRANSFER has come too, as in OCUDU, or the bearers begin again without it.
    SnStatus,
}

/// Times of SCTP: least and longest time until a lost message is repeated.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sctp {
    /// 1 s and 60 s (RFC 9260 §16).
    Rfc,
    /// 120 ms and 500 ms.
    Srsran,
    /// 1 s and 5 s.
    Open5gs,
    /// 50 ms and 200 ms.
    Ocudu,
}

/// Sizes of parts of messages.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Containers {
    /// RRC container of a preparation, with the capabilities of the host; 400 B to 1500 B. ASSUMPTION: no recorded example
    /// is public. Default 400 B.
    pub preparation: Bytes,
    /// RRC container of a command; 200 B to 400 B. ASSUMPTION: as above. Default 300 B.
    pub command: Bytes,
    /// RRC container of each candidate. ASSUMPTION: as above. Default 100 B.
    pub candidate: Bytes,
    /// A message between AMF and SMF on the wire; 300 B to 1500 B. ASSUMPTION. Default 600 B.
    pub service: Bytes,
    /// A message between SMF and UPF on the wire; 100 B to 250 B. ASSUMPTION. Default 150 B.
    pub session: Bytes,
}

impl Default for Containers {
    fn default() -> Self {
        let (preparation, command, candidate) = (Bytes(400), Bytes(300), Bytes(100));
        Containers { preparation, command, candidate, service: Bytes(600), session: Bytes(150) }
    }
}

impl Default for Params {
    fn default() -> Self {
        Params {
            domain: Domain::default(),
            amf: None,
            smf: None,
            upf: None,
            central_units: Vec::new(),
            unit_overhead: Bytes(44),
            delivery_status_interval: Duration::from_millis(10),
            ltm: None,
            procedure: Procedure::Xn,
            forwarding: Forwarding::Direct,
            forward_from: ForwardFrom::Command,
            command_delay: Duration::ZERO,
            admission: Duration::from_millis(1),
            admission_limit: None,
            end_markers: 1,
            guard: Duration::from_millis(100),
            bearer: Box::default(),
            signalling: SignallingBearer::default(),
            path_switch: DurationLaw::default(),
            path_switch_after: PathSwitchAfter::Access,
            release_after: Duration::from_millis(300),
            sctp: Sctp::Rfc,
            signalling_size: None,
            sizes: Containers::default(),
            tunnel_overhead: Bytes(44),
            forwarding_overhead: None,
            buffer_limit: Packets(16_384),
            measurement: ReportConfig {
                offset_db: 3.0,
                hysteresis_db: 0.0,
                time_to_trigger: Duration::from_millis(100),
                report_interval: Some(Duration::from_millis(1_024)),
                ..ReportConfig::default()
            },
            conditional: None,
            candidate_forwarding: CandidateForwarding::Late,
            early_status_interval: Duration::from_millis(100),
            attempt_candidate: false,
            daps: false,
            timers: Box::default(),
            times: Box::default(),
            nonstandard: false,
        }
    }
}

/// Most end markers on a path: TS 38.300 §9.2.3.2.3 has "one or several", an implementation sends a few.
const MOST_END_MARKERS: u32 = 1000;

impl Params {
    /// The parameters of the blocks that NR shares with LTE. `relay`: the node through which packets are forwarded.
    pub(super) fn rules(&self, relay: Option<roamlab_packet::Addr>) -> Rules {
        let forwarding = match self.forwarding {
            Forwarding::None => cellular::Forwarding::None,
            Forwarding::Direct | Forwarding::Indirect => cellular::Forwarding::Lossless,
        };
        Rules {
            path_switch: PathSwitch::Standard,
            prediction_timeout: Duration::ZERO,
            // The way back through the user plane function is not set up.
            cancelled: if relay.is_some() { Cancelled::Drop } else { Cancelled::Return },
            forwarding,
            mark: None,
            reordering: true,
            reordering_wait: self.guard,
            carry_marking_state: false,
            conditional: self.conditional.clone(),
            validity: self.timers.candidate,
            numbered: true,
            continues: self.continues(),
            dual: self.daps,
            order_wait: OrderWait::FirstDirect,
            relay,
            core_prepares: self.procedure == Procedure::N2,
            switch_wait: self.timers.path_switch,
            path_awaits_numbers: self.path_switch_after == PathSwitchAfter::SnStatus,
            repeats: false,
            absence: self.timers.overall(),
            timers: self.timers.of_blocks(),
        }
    }

    /// Bytes that a tunnel for forwarded packets adds.
    pub(super) fn forwarding_overhead(&self) -> Bytes {
        let of_number = if self.bearer.sn_bits == 12 { Bytes(44) } else { Bytes(48) };
        self.forwarding_overhead.unwrap_or(of_number)
    }

    /// The numbers of a bearer continue at the next base station (TS 38.323 §5.1.2): RLC confirms packets.
    pub(super) fn continues(&self) -> bool {
        self.bearer.values().rlc == RlcMode::Am
    }

    /// The host reports received packets to its new base station.
    pub(super) fn reports(&self) -> bool {
        self.bearer.status_report && self.continues()
    }

    /// Refuses what cannot run.
    ///
    /// # Errors
    /// The field, and what was expected and what to write.
    pub fn check(&self) -> Result<(), (String, String)> {
        self.timers.check(self.nonstandard)?;
        self.bearer.check().map_err(|(field, message)| (format!("bearer.{field}"), message))?;
        self.signalling.check(self.nonstandard)?;
        if self.forwarding == Forwarding::Indirect && self.procedure == Procedure::Xn {
            let message = "the user plane function forwards in handovers over N2 alone: write \"direct\", or \
                           `procedure = \"n2\"`";
            return Err(("forwarding".into(), message.into()));
        }
        if self.conditional.is_some() && self.procedure == Procedure::N2 {
            let message = "there is no conditional handover over N2 (TS 38.300 §9.2.3.4.1): write \"xn\"";
            return Err(("procedure".into(), message.into()));
        }
        self.check_dual()?;
        self.check_units()?;
        if self.early_status_interval == Duration::ZERO {
            let message = "this time cannot be zero: write for example \"100 ms\"";
            return Err(("early_status_interval".into(), message.into()));
        }
        if self.guard == Duration::ZERO {
            return Err(("guard".into(), "this time cannot be zero: write for example \"100 ms\"".into()));
        }
        if self.admission_limit == Some(0) {
            let message = "a cell that admits no host hands none over: write 1 or more, or leave this out";
            return Err(("admission_limit".into(), message.into()));
        }
        if !(1..=MOST_END_MARKERS).contains(&self.end_markers) {
            let message = format!("the user plane function sends 1 to {MOST_END_MARKERS} of them: write 1");
            return Err(("end_markers".into(), message));
        }
        let laws =
            [("path_switch", Some(&self.path_switch)), ("times.handover", self.times.handover.as_ref())];
        for (name, law) in laws.into_iter().filter_map(|(name, law)| Some((name, law?))) {
            law.check_in(name)?;
        }
        if self.candidate_forwarding == CandidateForwarding::Early && !self.continues() {
            let message = "in unacknowledged mode a target cannot tell which copies the host has: write \"late\", or \
                           `bearer.rlc = \"am\"`";
            return Err(("candidate_forwarding".into(), message.into()));
        }
        self.measurement.check().map_err(|(field, message)| (format!("measurement.{field}"), message))?;
        self.conditional.as_ref().map_or(Ok(()), Conditional::check)
    }

    /// Refuses what cannot run with two cells at one time.
    fn check_dual(&self) -> Result<(), (String, String)> {
        if !self.daps {
            return Ok(());
        }
        let refuse = |field: &str, message: &str| Err((field.into(), message.into()));
        if self.procedure == Procedure::N2 {
            return refuse("procedure", "DAPS is modelled over Xn: write \"xn\", or `daps = false`");
        }
        if self.conditional.is_some() {
            let message =
                "DAPS and conditional handover exclude each other (TS 38.300 §9.2.3.2.1): remove one of them";
            return refuse("daps", message);
        }
        if self.forwarding == Forwarding::None {
            return refuse("forwarding", "DAPS needs copies at the target: write \"direct\"");
        }
        if !self.continues() {
            return refuse(
                "daps",
                "DAPS is modelled for bearers whose numbers continue: write `bearer.rlc = \"am\"`",
            );
        }
        Ok(())
    }
}
