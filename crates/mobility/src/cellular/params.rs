//! Parameters of the blocks.

use crate::backoff::Backoff;
use crate::events::{A3, Condition, Event, Events, ReportConfig};
use crate::{Refusal, Topology};
use roamlab_engine::{Duration, Time};
use roamlab_packet::{Addr, Dscp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of a base station's blocks. A protocol's own table has them, with their defaults.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    /// Who has the path switched, and when.
    pub path_switch: PathSwitch,
    /// A predicted handover is given up after this.
    pub prediction_timeout: Duration,
    /// Treatment of packets that a target holds when the handover is cancelled.
    pub cancelled: Cancelled,
    /// Packets that the source forwards to the target.
    pub forwarding: Forwarding,
    /// The code point that a source marks forwarded packets with.
    pub mark: Option<Dscp>,
    /// The target sends forwarded packets first and direct ones after the end marker.
    pub reordering: bool,
    /// Without an end marker direct packets wait this long after the last forwarded one.
    pub reordering_wait: Duration,
    /// The estimate of the source's queue travels with the SN status transfer.
    pub carry_marking_state: bool,
    /// Conditional handover; `None`: the host is commanded.
    pub conditional: Option<Conditional>,
    /// The source cancels candidates to which the host has not gone after this.
    pub validity: Duration,
    /// Hosts have a numbered bearer: its numbers travel with the SN status transfer, and the source keeps what it forwards
    /// until the handover is over.
    pub numbered: bool,
    /// The numbers continue at the target; `false`: they begin again there.
    pub continues: bool,
    /// Hosts stay at the source until they are at the target. Needs numbers.
    pub dual: bool,
    /// How long direct packets wait without an end marker.
    pub order_wait: OrderWait,
    /// The node through which packets are forwarded; `None`: they go to the target.
    pub relay: Option<Addr>,
    /// The core network prepares the targets, so that a notice is enough to have the path switched.
    pub core_prepares: bool,
    /// A target has the path switched when it knows the numbers of the bearer, `false`: when the host is there.
    pub path_awaits_numbers: bool,
    /// A path switch that the gateway does not confirm is given up after this, and the sessions are released.
    pub switch_wait: Option<Duration>,
    /// Requests are repeated until their answers come; `false`: the transport repeats them.
    pub repeats: bool,
    /// A base station forgets a host that has gone without a command after this.
    pub absence: Duration,
    /// Timers.
    pub timers: Timers,
}

/// From when on direct packets wait at most for the reordering wait.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum OrderWait {
    /// From the last forwarded packet, once the host is there.
    LastForwarded,
    /// From the first direct packet.
    FirstDirect,
}

impl Rules {
    /// Where packets for a target are sent.
    pub fn way_to(&self, target: Addr) -> Addr {
        self.relay.unwrap_or(target)
    }

    /// When a request to the core network is repeated first.
    pub fn core_retry(&self, now: Time) -> Option<Backoff> {
        self.repeats.then(|| self.timers.s1_retry(now))
    }
}

/// Conditional handover (TS 36.331 §5.3.5.9, TS 38.300 §9.2.3.4): the source prepares the targets that the host reports,
/// and the host goes to the first one that meets the execution condition. Needs `path_switch = "standard"`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Conditional {
    /// Targets that are prepared at one time, 1 to 8 (maxCondConfig). Default 8.
    pub candidates: u32,
    /// The execution condition: one event, or two that are both met, each after its own time to trigger. Default event A3
    /// with an offset of 3 dB and no time to trigger.
    pub events: Events,
}

impl Default for Conditional {
    fn default() -> Self {
        let a3 = A3 { time_to_trigger: Duration::ZERO, ..A3::default() };
        Conditional { candidates: MOST_CANDIDATES, events: Events(vec![Event::A3(a3)]) }
    }
}

impl Conditional {
    /// Refuses what the standard excludes.
    ///
    /// # Errors
    /// The field, and what was expected and what to write.
    pub(crate) fn check(&self) -> Result<(), (String, String)> {
        if !(1..=MOST_CANDIDATES).contains(&self.candidates) {
            let message = format!("a host has 1 to {MOST_CANDIDATES} candidates: write 2");
            return Err(("conditional.candidates".into(), message));
        }
        self.events.check().map_err(|(place, message)| (format!("conditional.events{place}"), message))
    }

    /// Refuses an event that the radio cannot measure.
    pub(crate) fn check_radio(&self, topology: &Topology) -> Result<(), Refusal> {
        match self.events.of_positions() {
            Some(place) if !topology.positions => {
                let message = "event D1 measures distances, and the radio has no positions";
                let help = "write `radio.measurement.signal = \"positions\"` too, or another event";
                Err(Refusal::at(format!("conditional.events[{place}].kind"), message).help(help))
            }
            _ => Ok(()),
        }
    }

    /// The execution condition for these candidates, with the layer-3 filter of the host's reports.
    pub(crate) fn condition(
        &self,
        name: &'static str,
        candidates: &[Addr],
        reports: &ReportConfig,
    ) -> Condition {
        Condition {
            name,
            candidates: Some(candidates.to_vec()),
            events: self.events.clone(),
            filter_coefficient: reports.filter_coefficient,
            report_interval: None,
            leaves_at_once: false,
            unfiltered: false,
        }
    }
}

/// Most candidates: maxCondConfig of TS 36.331 §6.4.
const MOST_CANDIDATES: u32 = 8;

/// Who has the path switched.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PathSwitch {
    /// The target, when the host has confirmed (TS 36.300).
    Standard,
    /// The source, right after the handover command (lte section V.A.1).
    Fast,
    /// The source, when the handover is predicted (lte section V.A.2).
    Predictive,
}

/// Forwarded packets.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Forwarding {
    /// Packets that layer 2 has not acknowledged, packets not yet sent, and new ones (TS 36.300 §10.1.2.3.1).
    Lossless,
    /// Packets not yet sent, and new ones (§10.1.2.3.2).
    Seamless,
    /// Nothing.
    None,
}

/// Treatment of the packets of a host that does not arrive, by the target.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cancelled {
    /// It forwards them to the source.
    Return,
    /// It drops them.
    Drop,
}

/// Timers of LTE handover.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Timers {
    /// T_RELOCprep: the source cancels a preparation without answer. Default 200 ms.
    pub reloc_prep: Duration,
    /// T_X2RELOCoverall: a source that has not been released takes the host back, if it is still there, or forgets
    /// it. Default 1 s.
    pub reloc_overall: Duration,
    /// A target forgets a host that does not come; later than its source. Default 2 s.
    pub joining: Duration,
    /// A released source, and a target whose handover was cancelled, pass packets on for this long, or until the end
    /// marker. Default 1 s.
    pub forwarding_hold: Duration,
    /// T304: the host gives a handover up (TS 36.331 §7.3). Default 200 ms.
    pub t304: Duration,
    /// T311: the host gives re-establishment up if it finds no cell. Default 3 s.
    pub t311: Duration,
    /// T301: the host gives re-establishment up without an answer. Default 300 ms.
    pub t301: Duration,
    /// From finding a cell to having its link, after a failure. Default 20 ms.
    pub cell_entry: Duration,
    /// The preamble, and the answer to it, are repeated after this; at least 1 ms, a subframe. Default 20 ms.
    pub random_access: Duration,
    /// First repetition of what goes over RRC and NAS without an answer, then doubling. Default 200 ms.
    pub rrc_retransmit: Duration,
    /// First repetition of S1 and S11 requests without an answer, then doubling. Default 200 ms.
    pub s1_retransmit: Duration,
    /// Longest time between two such repetitions; a first one that is longer stays. ASSUMPTION: the standards leave
    /// repetition to layer 2, SCTP and T3-RESPONSE (TS 29.274 §7.6); 2 s is an implementation's value. Default 2 s.
    pub retransmit_limit: Duration,
}

impl Default for Timers {
    fn default() -> Self {
        let ms = Duration::from_millis;
        Timers {
            reloc_prep: ms(200),
            reloc_overall: ms(1_000),
            joining: ms(2_000),
            forwarding_hold: ms(1_000),
            t304: ms(200),
            t311: ms(3_000),
            t301: ms(300),
            cell_entry: ms(20),
            random_access: ms(20),
            rrc_retransmit: ms(200),
            s1_retransmit: ms(200),
            retransmit_limit: ms(2_000),
        }
    }
}

impl Timers {
    pub(crate) fn rrc_retry(&self, now: Time) -> Backoff {
        Backoff::start(now, self.rrc_retransmit, self.retransmit_limit)
    }

    pub(crate) fn s1_retry(&self, now: Time) -> Backoff {
        Backoff::start(now, self.s1_retransmit, self.retransmit_limit)
    }
}
