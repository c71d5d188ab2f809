//! Timers of NR, and the times that a host takes.

use crate::cellular;
use roamlab_engine::{Duration, DurationLaw, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Timers of the standards and of implementations. Those of TS 38.331 §7.1 have the values that the standard can signal.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Timers {
    /// T300: a host asks again for a connection after this. Default 1 s.
    pub t300: Duration,
    /// T301: a host gives re-establishment up without an answer. Default 1 s, as srsRAN.
    pub t301: Duration,
    /// T304: a host gives a handover up. Default 2 s, as srsRAN.
    pub t304: Duration,
    /// T311: a host gives re-establishment up if it chooses no cell. Default 3 s, as srsRAN.
    pub t311: Duration,
    /// TXnRELOCprep, TNGRELOCprep: the source cancels a preparation without answer. The standards have no value. Default
    /// 1 s, as OCUDU.
    pub preparation: Duration,
    /// TXnRELOCoverall, TNGRELOCoverall: a source that has not been released asks the AMF to release the host; absent:
    /// T301 + T304 + T311 + 1 s, as srsRAN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overall: Option<Duration>,
    /// A target forgets a host that does not come; absent: T304 + 1 s, as srsRAN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joining: Option<Duration>,
    /// The source cancels candidates of a conditional handover to which the host has not gone. Default 10 s, as OCUDU.
    pub candidate: Duration,
    /// A source that was released passes packets on for this long, or until the end marker. ASSUMPTION: an
    /// implementation's value. Default 1 s.
    pub forwarding_hold: Duration,
    /// The AMF gives a path switch up that the SMF has not confirmed, and the sessions are released; absent: it waits.
    /// ASSUMPTION: an implementation's value, as that of its HTTP client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_switch: Option<Duration>,
}

impl Default for Timers {
    fn default() -> Self {
        let ms = Duration::from_millis;
        Timers {
            t300: ms(1_000),
            t301: ms(1_000),
            t304: ms(2_000),
            t311: ms(3_000),
            preparation: ms(1_000),
            overall: None,
            joining: None,
            candidate: ms(10_000),
            forwarding_hold: ms(1_000),
            path_switch: None,
        }
    }
}

/// T300 and T301 in ms (TS 38.331 §6.3.2, UE-TimersAndConstants).
const T300: [u64; 8] = [100, 200, 300, 400, 600, 1000, 1500, 2000];
/// T310 in ms (RLF-TimersAndConstants).
pub(super) const T310: [u64; 9] = [0, 50, 100, 200, 500, 1000, 2000, 4000, 6000];
/// T304 in ms (ReconfigurationWithSync).
const T304: [u64; 8] = [50, 100, 150, 200, 500, 1000, 2000, 10_000];
/// T311 in ms (UE-TimersAndConstants).
const T311: [u64; 7] = [1000, 3000, 5000, 10_000, 15_000, 20_000, 30_000];

/// Time that the standard's implementations add to the sum of timers.
const MARGIN: Duration = Duration::from_secs(1);

impl Timers {
    /// TXnRELOCoverall.
    pub(super) fn overall(&self) -> Duration {
        self.overall.unwrap_or(self.t301 + self.t304 + self.t311 + MARGIN)
    }

    /// The timers of the blocks. Those of LTE's repetitions have no effect, as the transport repeats.
    pub(super) fn of_blocks(&self) -> cellular::Timers {
        cellular::Timers {
            reloc_prep: self.preparation,
            reloc_overall: self.overall(),
            joining: self.joining.unwrap_or(self.t304 + MARGIN),
            forwarding_hold: self.forwarding_hold,
            t304: self.t304,
            t311: self.t311,
            t301: self.t301,
            ..cellular::Timers::default()
        }
    }

    /// Refuses values that the standard cannot signal, unless they are wanted.
    pub(super) fn check(&self, nonstandard: bool) -> Result<(), (String, String)> {
        let standard: [(&str, Duration, &[u64]); 4] = [
            ("t300", self.t300, &T300),
            ("t301", self.t301, &T300),
            ("t304", self.t304, &T304),
            ("t311", self.t311, &T311),
        ];
        for (field, value, values) in standard {
            if !nonstandard && !values.iter().any(|&ms| value == Duration::from_millis(ms)) {
                let message = cannot_be_signalled(value, values, "nonstandard = true");
                return Err((format!("timers.{field}"), message));
            }
        }
        let own = [
            ("t300", Some(self.t300)),
            ("t301", Some(self.t301)),
            ("t304", Some(self.t304)),
            ("t311", Some(self.t311)),
            ("preparation", Some(self.preparation)),
            ("overall", self.overall),
            ("joining", self.joining),
            ("candidate", Some(self.candidate)),
            ("forwarding_hold", Some(self.forwarding_hold)),
            ("path_switch", self.path_switch),
        ];
        match own.iter().find(|(_, value)| *value == Some(Duration::ZERO)) {
            None => Ok(()),
            Some((field, _)) => {
                let message = "this time cannot be zero: write for example \"1 s\"";
                Err((format!("timers.{field}"), message.into()))
            }
        }
    }
}

/// Times that a host takes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Times {
    /// From a command until random access at its target is done, drawn for each handover; absent: the sum of
    /// `rrc_processing`, `interruption` and `random_access`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handover: Option<DurationLaw>,
    /// Processing of an RRC message (TS 38.331 §12). Default 10 ms.
    pub rrc_processing: Duration,
    /// Interruption of a handover behind the processing of its command (TS 38.133 §6.1.1.2.2).
    pub interruption: Interruption,
    /// Random access: from the preamble until it is done. ASSUMPTION: contention-free, done with its response. Default
    /// 5 ms.
    pub random_access: Duration,
    /// From the end of random access until the first message leaves. ASSUMPTION: the wait for a grant. Default 1 ms.
    pub first_message: Duration,
    /// Search of a cell after a failure. ASSUMPTION: an implementation's value. Default 100 ms.
    pub cell_search: Duration,
    /// Reading of the system information of a cell that was chosen after a failure. ASSUMPTION: a period of SIB1. Default
    /// 20 ms.
    pub system_information: Duration,
    /// Wait for an occasion of random access after a failure. ASSUMPTION: a period of PRACH. Default 10 ms.
    pub access_occasion: Duration,
    /// From having a cell until the service request leaves. ASSUMPTION: 100 ms to 500 ms. Default 100 ms.
    pub service_request: Duration,
}

/// The terms of the interruption of a handover (TS 38.133 §6.1.1.2.2): 62 ms by default.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Interruption {
    /// T_search: search of a cell that is not known. Default 0 s.
    pub search: Duration,
    /// T_IU: wait for an occasion of random access, with the period of its association. Default 20 ms.
    pub access_occasion: Duration,
    /// T_processing: preparation of the host. Default 20 ms.
    pub processing: Duration,
    /// T_Δ: fine tracking of the cell, a period of its reference signal. Default 20 ms.
    pub tracking: Duration,
    /// T_margin. Default 2 ms.
    pub margin: Duration,
}

impl Default for Interruption {
    fn default() -> Self {
        let ms = Duration::from_millis;
        Interruption {
            search: Duration::ZERO,
            access_occasion: ms(20),
            processing: ms(20),
            tracking: ms(20),
            margin: ms(2),
        }
    }
}

impl Interruption {
    /// The sum of the terms.
    pub(super) fn total(&self) -> Duration {
        self.search + self.access_occasion + self.processing + self.tracking + self.margin
    }
}

impl Times {
    /// From a command until random access at its target is done.
    pub(super) fn access(&self, draws: &mut Rng) -> Duration {
        let sum = || self.rrc_processing + self.interruption.total() + self.random_access;
        self.handover.as_ref().map_or_else(sum, |law| law.draw(draws))
    }
}

impl Default for Times {
    fn default() -> Self {
        let ms = Duration::from_millis;
        Times {
            handover: None,
            rrc_processing: ms(10),
            interruption: Interruption::default(),
            random_access: ms(5),
            first_message: ms(1),
            cell_search: ms(100),
            system_information: ms(20),
            access_occasion: ms(10),
            service_request: ms(100),
        }
    }
}

/// A time that is none of those in the standard, in ms. `otherwise`: the field by which it is accepted.
pub(super) fn cannot_be_signalled(value: Duration, values: &[u64], otherwise: &str) -> String {
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    let values = values.join(", ");
    format!("\"{value}\" cannot be signalled (TS 38.331): write one of {values} ms, or `{otherwise}`")
}
