//! Parameters of LTE handover over X2.

use crate::cellular::{Cancelled, Conditional, Forwarding, OrderWait, PathSwitch, Rules, Timers};
use crate::{Domain, ReportConfig};
use roamlab_engine::{Bytes, Duration, DurationLaw, Packets};
use roamlab_packet::Dscp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// LTE handover over X2: parameters of all roles.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The part of the network that it is about; absent: all.
    #[serde(skip_serializing_if = "Domain::is_whole")]
    pub domain: Domain,
    /// The node of the mobility management entity; absent: at the serving gateway, which is the home of the
    /// hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mme: Option<String>,
    /// Who has the path switched, and when. Default "standard".
    pub path_switch: PathSwitch,
    /// With path_switch = "predictive" and without a list of predictions, each handover of the hosts' visits is
    /// predicted, rightly, this long before. Default 130 ms (lte table II).
    pub prediction_lead: Duration,
    /// Predictions, right or wrong; absent: those that follow from the visits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predictions: Option<Vec<Prediction>>,
    /// A predicted handover that has not come this long after the path switch was requested is given up: the path
    /// is switched back. ASSUMPTION: the paper states only that a wrong prediction disconnects. Default 300
    /// ms.
    pub prediction_timeout: Duration,
    /// Fate of packets that a target holds when the handover is cancelled. ASSUMPTION: TS 36.300 leaves it
    /// open. Default "return".
    pub cancelled: Cancelled,
    /// Packets that the source forwards to the target. Default "lossless".
    pub forwarding: Forwarding,
    /// The code point that a source marks forwarded packets with, so that the queue of the target can spare them. The
    /// edge of the access network polices it. Absent: they are not marked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<u8>", range(min = 1, max = 63))]
    pub mark: Option<Dscp>,
    /// The target sends forwarded packets first and direct ones after the end marker (TS 36.300 §10.1.2.3). Off: as
    /// they come. Default true (lte table I).
    pub reordering: bool,
    /// End markers that the gateway sends on the old path, 1 to 1000. Default 1.
    pub end_markers: u32,
    /// The host drops packets that it has got already (PDCP, TS 36.323 §5.1.2). Default true.
    pub drop_duplicates: bool,
    /// The host reports received packets to its new base station, with lossless forwarding (PDCP status
    /// report, TS 36.323 §5.3.1). Default true.
    pub status_report: bool,
    /// The target's queue for a host continues from the estimate by which the source's drops or marks, which
    /// travels with the SN status transfer. Needs lossless forwarding, and in each cell a queue for each host
    /// whose discipline has an estimate. ASSUMPTION: no standard has a field for it. Default false: the
    /// target's queue begins its own estimate.
    pub carry_marking_state: bool,
    /// Packets that a base station holds for one host that is not attached. Default 200 pkt (lte table I).
    pub buffer_limit: Packets,
    /// Hosts that a cell admits, handed over or expected; absent: any number. New connections are always admitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admission_limit: Option<u32>,
    /// From the command until the host has the new cell's link; or a law, by which each is drawn from the host's stream
    /// `HOST/handover`. Default 30 ms (lte table I).
    pub detach_time: DurationLaw,
    /// Bytes that a tunnel between gateway and base station adds; GTP-U over UDP and IPv4 has 36. ASSUMPTION: the
    /// paper's 1500 B are the packet on the wire. Default 0 B.
    pub tunnel_overhead: Bytes,
    /// The event that hosts report.
    pub measurement: ReportConfig,
    /// The host goes without a command to a prepared target that meets a second condition. Absent: it is
    /// commanded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditional: Option<Conditional>,
    /// Timers.
    pub timers: Timers,
}

/// Bytes that a tunnel between base stations adds; with the PDCP number GTP-U has 44.
pub(super) const FORWARDING_OVERHEAD: Bytes = Bytes(0);

/// Without an end marker direct packets wait this long after the last forwarded one. ASSUMPTION: an
/// implementation's value.
const REORDERING_WAIT: Duration = Duration::from_millis(100);

impl Default for Params {
    fn default() -> Self {
        Params {
            domain: Domain::default(),
            mme: None,
            path_switch: PathSwitch::Standard,
            prediction_lead: Duration::from_millis(130),
            predictions: None,
            prediction_timeout: Duration::from_millis(300),
            cancelled: Cancelled::Return,
            forwarding: Forwarding::Lossless,
            mark: None,
            reordering: true,
            end_markers: 1,
            drop_duplicates: true,
            status_report: true,
            carry_marking_state: false,
            buffer_limit: Packets(200),
            admission_limit: None,
            detach_time: DurationLaw::Constant(Duration::from_millis(30)),
            tunnel_overhead: Bytes(0),
            measurement: ReportConfig::default(),
            conditional: None,
            timers: Timers::default(),
        }
    }
}

/// Most end markers on a path: TS 36.300 §10.1.2.2.1 requires "one or more", an implementation sends a few.
const MOST_END_MARKERS: u32 = 1000;

/// Least time between two preambles: a subframe (TS 36.211 §5.7.1).
const SHORTEST_REPETITION: Duration = Duration::from_millis(1);

/// The source cancels candidates of a conditional handover to which the host has not gone after this. ASSUMPTION: the
/// standards leave it to the implementation.
const VALIDITY: Duration = Duration::from_secs(10);

/// A prediction of a handover.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prediction {
    /// The host.
    pub host: String,
    /// The cell that it is expected in.
    pub cell: String,
    /// Time of the notice to the base station that serves it.
    pub at: Duration,
}

impl Params {
    /// The parameters of the blocks that LTE shares with other generations.
    pub(crate) fn rules(&self) -> Rules {
        Rules {
            path_switch: self.path_switch,
            prediction_timeout: self.prediction_timeout,
            cancelled: self.cancelled,
            forwarding: self.forwarding,
            mark: self.mark,
            reordering: self.reordering,
            reordering_wait: REORDERING_WAIT,
            carry_marking_state: self.carry_marking_state,
            conditional: self.conditional.clone(),
            validity: VALIDITY,
            numbered: false,
            continues: false,
            dual: false,
            order_wait: OrderWait::LastForwarded,
            relay: None,
            core_prepares: false,
            path_awaits_numbers: false,
            switch_wait: None,
            repeats: true,
            absence: self.timers.reloc_overall,
            timers: self.timers.clone(),
        }
    }

    /// Refuses what cannot run.
    ///
    /// # Errors
    /// The field, and what was expected and what to write.
    pub fn check(&self) -> Result<(), (String, String)> {
        let Timers { reloc_prep, reloc_overall, joining, forwarding_hold, t304, t311, t301, .. } =
            self.timers;
        let Timers { random_access, rrc_retransmit, s1_retransmit, retransmit_limit, .. } = self.timers;
        let spans = [
            ("prediction_timeout", self.prediction_timeout),
            ("timers.reloc_prep", reloc_prep),
            ("timers.reloc_overall", reloc_overall),
            ("timers.joining", joining),
            ("timers.forwarding_hold", forwarding_hold),
            ("timers.t304", t304),
            ("timers.t311", t311),
            ("timers.t301", t301),
            ("timers.random_access", random_access),
            ("timers.rrc_retransmit", rrc_retransmit),
            ("timers.s1_retransmit", s1_retransmit),
            ("timers.retransmit_limit", retransmit_limit),
        ];
        if let Some((field, _)) = spans.iter().find(|(_, span)| *span == Duration::ZERO) {
            return Err(((*field).into(), "this time cannot be zero: write for example \"200 ms\"".into()));
        }
        self.detach_time.check_in("detach_time")?;
        if random_access < SHORTEST_REPETITION {
            let message = "a preamble takes a subframe of 1 ms: write at least \"1 ms\"";
            return Err(("timers.random_access".into(), message.into()));
        }
        if self.admission_limit == Some(0) {
            let message = "a cell that admits no host hands none over: write 1 or more, or leave this out";
            return Err(("admission_limit".into(), message.into()));
        }
        if !(1..=MOST_END_MARKERS).contains(&self.end_markers) {
            let message = format!("the gateway sends 1 to {MOST_END_MARKERS} of them: write 1");
            return Err(("end_markers".into(), message));
        }
        if self.carry_marking_state && self.forwarding != Forwarding::Lossless {
            let message = "the state travels with the SN status transfer, which lossless forwarding alone sends: \
                           write `forwarding = \"lossless\"` too, or remove this";
            return Err(("carry_marking_state".into(), message.into()));
        }
        self.measurement.check().map_err(|(field, message)| (format!("measurement.{field}"), message))?;
        self.conditional.as_ref().map_or(Ok(()), |conditional| self.check_conditional(conditional))
    }

    fn check_conditional(&self, conditional: &Conditional) -> Result<(), (String, String)> {
        conditional.check()?;
        let other = if self.path_switch != PathSwitch::Standard {
            Some(("path_switch", "\"standard\""))
        } else {
            self.carry_marking_state.then_some(("carry_marking_state", "false"))
        };
        other.map_or(Ok(()), |(field, help)| {
            let message = format!(
                "the source does not know when the host of a conditional handover goes: write {help}"
            );
            Err((field.into(), message))
        })
    }
}
