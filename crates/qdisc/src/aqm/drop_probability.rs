//! BLUE's drop probability `P_m` and the clock that paces its changes (MBLUE eq. 3 and 4), shared by the
//! disciplines of the BLUE family.

use roamlab_engine::{Duration, Time};
use roamlab_packet::MarkingState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Meaning of "the buffer is empty" in "when the BLUE buffer is empty: `P_m` = `P_m` − d2".
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IdleMode {
    /// The server finishes a packet and finds nothing waiting: one step.
    Event,
    /// A packet arrives and finds nothing waiting: one step.
    Arrival,
    /// Both.
    EventAndArrival,
    /// One step every `freeze_time` for as long as the link has nothing to send.
    Continuous,
}

/// How `P_m` moves. The fields are those of [`crate::aqm::blue::Params`].
#[derive(Copy, Clone, PartialEq, Debug)]
pub(crate) struct Steps {
    pub d1: f64,
    pub d2: f64,
    pub freeze_time: Duration,
    pub freeze_strict: bool,
    pub shared_last_update: bool,
    pub first_update_waits: bool,
    pub clamp: bool,
    pub idle_mode: IdleMode,
}

impl Steps {
    /// The field that makes no sense, and what to write instead.
    pub(crate) fn validate(&self) -> Result<(), crate::BadField> {
        crate::validate_probability("d1", self.d1)?;
        crate::validate_probability("d2", self.d2)?;
        if self.idle_mode == IdleMode::Continuous && self.freeze_time == Duration::ZERO {
            let message = "with idle_mode = \"continuous\" it is the time between two steps: \
                           write a positive time, for example \"1 ms\"";
            return Err(("freeze_time", message.into()));
        }
        Ok(())
    }
}

/// `P_m` with its timestamps.
#[derive(Clone, Debug)]
pub(crate) struct DropProbability {
    steps: Steps,
    value: f64,
    last_increase: Option<Time>,
    last_decrease: Option<Time>,
    link_idle: bool,
}

impl DropProbability {
    pub(crate) fn new(steps: Steps) -> DropProbability {
        let start = steps.first_update_waits.then_some(Time::ZERO);
        DropProbability { steps, value: 0.0, last_increase: start, last_decrease: start, link_idle: false }
    }

    /// The probability.
    pub(crate) fn value(&self) -> f64 {
        self.value
    }

    /// Continues from another `P_m`, which counts as an update.
    pub(crate) fn adopt(&mut self, state: &MarkingState, now: Time) {
        if let MarkingState::Probability(value) = *state {
            self.value = value;
            (self.last_increase, self.last_decrease) = (Some(now), Some(now));
        }
    }

    /// `P_m` + d1, unless it is frozen.
    pub(crate) fn increase(&mut self, now: Time) {
        if self.is_frozen(self.last_increase, now) {
            return;
        }
        self.step(self.steps.d1);
        self.last_increase = Some(now);
        if self.steps.shared_last_update {
            self.last_decrease = Some(now);
        }
    }

    /// `P_m` = 0, whether frozen or not.
    pub(crate) fn reset(&mut self, now: Time, sets_last_update: bool) {
        self.value = 0.0;
        if sets_last_update {
            (self.last_increase, self.last_decrease) = (Some(now), Some(now));
        }
    }

    /// A packet arrives; `waiting` is true if others wait already.
    ///
    /// ASSUMPTION: B3: the buffer is empty when nothing *waits*, even while a packet is in service.
    pub(crate) fn on_arrival(&mut self, waiting: bool, now: Time) {
        match self.steps.idle_mode {
            IdleMode::Arrival | IdleMode::EventAndArrival if !waiting => self.decrease(now),
            IdleMode::Continuous if self.link_idle => self.catch_up(now),
            _ => {}
        }
    }

    /// The link asked for a packet, and got one or found that nothing waits. Only the first time in an idle period
    /// counts.
    pub(crate) fn on_dequeue(&mut self, got_one: bool, now: Time) {
        let was_idle = std::mem::replace(&mut self.link_idle, !got_one);
        if !got_one && !was_idle && self.steps.idle_mode != IdleMode::Arrival {
            self.decrease(now);
        }
    }

    /// Takes the steps of an idle period up to `now`, together.
    fn catch_up(&mut self, now: Time) {
        let Some(last) = self.last_decrease else { return self.decrease(now) };
        let waited = now.since(last).as_nanos().saturating_sub(u64::from(self.steps.freeze_strict));
        let count = waited.checked_div(self.steps.freeze_time.as_nanos()).unwrap_or(0);
        if count == 0 {
            return;
        }
        self.step(-self.steps.d2 * count as f64);
        self.note_decrease(last + self.steps.freeze_time * count);
    }

    /// `P_m` − d2, unless it is frozen.
    ///
    /// ASSUMPTION: a step that finds `P_m` at 0 already is an update too: eq. 3 sets `last_update` in any case.
    fn decrease(&mut self, now: Time) {
        if self.is_frozen(self.last_decrease, now) {
            return;
        }
        self.step(-self.steps.d2);
        self.note_decrease(now);
    }

    fn note_decrease(&mut self, at: Time) {
        self.last_decrease = Some(at);
        if self.steps.shared_last_update {
            self.last_increase = Some(at);
        }
    }

    fn step(&mut self, by: f64) {
        self.value += by;
        if self.steps.clamp {
            self.value = self.value.clamp(0.0, 1.0);
        }
    }

    /// MBLUE eq. 3: a change needs `(now_update - last_update) > freeze_time`.
    fn is_frozen(&self, last: Option<Time>, now: Time) -> bool {
        let Some(last) = last else { return false };
        let waited = now.since(last);
        if self.steps.freeze_strict {
            waited <= self.steps.freeze_time
        } else {
            waited < self.steps.freeze_time
        }
    }
}
