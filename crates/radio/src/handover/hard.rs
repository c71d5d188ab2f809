//! Hard handover: a break, a gap and an attach.

use super::motion::{BadVisit, InFlightAtBreak, Motion, Radio};
use crate::MeasurementSpec;
use crate::visit::Visit;
use roamlab_engine::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The abstract hard handover.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HardHandover {
    /// Time between leaving a cell and entering the next.
    pub gap: Duration,
    /// Fate of packets in flight when the host leaves.
    pub in_flight_at_break: InFlightAtBreak,
    /// Measurements of hosts; absent: none, and every host moves as its visits specify. Present: a host
    /// enters the first of its visits alone, and then follows its agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measurement: Option<MeasurementSpec>,
}

impl Radio for HardHandover {
    fn gap(&self) -> Duration {
        self.gap
    }

    fn in_flight_at_break(&self) -> InFlightAtBreak {
        self.in_flight_at_break
    }

    fn measurement(&self) -> Option<&MeasurementSpec> {
        self.measurement.as_ref()
    }

    fn plan(&self, visits: &[Visit]) -> Result<Vec<(Time, Motion)>, BadVisit> {
        let mut motions = Vec::new();
        let mut free_from = Time::ZERO;
        for (number, visit) in visits.iter().enumerate() {
            let at = Time::ZERO + visit.at;
            if at < free_from || (number > 0 && visits[number - 1].at == visit.at) {
                let message = format!(
                    "this visit overlaps the one before it, which lasts at least until {}: \
                     write a later time",
                    Duration::from_nanos(free_from.as_nanos())
                );
                return Err((number, "at", message));
            }
            let previous_ended = number == 0 || visits[number - 1].until.is_some();
            let entry = if previous_ended {
                at
            } else {
                motions.push((at, Motion::Leave { visit: number - 1 }));
                at + self.gap
            };
            motions.push((entry, Motion::Enter { visit: number }));
            free_from = entry;
            if let Some(until) = visit.until {
                free_from = Time::ZERO + until;
                if free_from <= entry {
                    let message = format!("the visit begins at {}: write a later time", visit.at + self.gap);
                    return Err((number, "until", message));
                }
                motions.push((free_from, Motion::Leave { visit: number }));
            }
        }
        Ok(motions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visit(cell: &str, at: u64, until: Option<u64>) -> Visit {
        Visit { cell: cell.into(), at: Duration::from_millis(at), until: until.map(Duration::from_millis) }
    }

    fn hard(gap: u64) -> HardHandover {
        HardHandover { gap: Duration::from_millis(gap), ..HardHandover::default() }
    }

    #[test]
    fn a_handover_is_a_break_a_gap_and_an_attach() {
        let plan = hard(30).plan(&[visit("bs1", 0, None), visit("bs2", 10_000, None)]);
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let expected = vec![
            (at(0), Motion::Enter { visit: 0 }),
            (at(10_000), Motion::Leave { visit: 0 }),
            (at(10_030), Motion::Enter { visit: 1 }),
        ];
        assert_eq!(plan, Ok(expected));
    }

    #[test]
    fn overlapping_visits_are_refused_with_their_place() {
        let overlap = |visits: &[Visit]| hard(30).plan(visits).map_err(|(number, field, _)| (number, field));
        assert_eq!(overlap(&[visit("a", 100, None), visit("b", 100, None)]), Err((1, "at")));
        assert_eq!(overlap(&[visit("a", 100, None), visit("b", 50, None)]), Err((1, "at")));
        assert_eq!(overlap(&[visit("a", 0, Some(200)), visit("b", 150, None)]), Err((1, "at")));
        assert_eq!(
            overlap(&[visit("a", 0, None), visit("b", 100, None), visit("c", 110, None)]),
            Err((2, "at"))
        );
        assert_eq!(overlap(&[visit("a", 100, Some(100))]), Err((0, "until")));
        assert!(overlap(&[visit("a", 0, Some(200)), visit("b", 300, None)]).is_ok());
    }
}
