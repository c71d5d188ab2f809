//! Hard handover: a break, a gap and an attach.

use super::motion::{BadVisit, InFlightAtBreak, Motion, Radio, Stream};
use crate::MeasurementSpec;
use crate::visit::Visit;
use roamlab_engine::{Duration, DurationLaw, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The abstract hard handover.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HardHandover {
    /// Time between leaving a cell and entering the next; or a law, by which each is drawn from the host's stream `HOST/gap`.
    /// ASSUMPTION: a host whose drawn gap lasts until its next visit, or until the end of its visit, does not enter the cell.
    pub gap: DurationLaw,
    /// Fate of packets in flight when the host leaves.
    pub in_flight_at_break: InFlightAtBreak,
    /// Measurements of hosts; absent: none, and every host moves as its visits specify. Present: a host
    /// enters the first of its visits alone, and then follows its agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measurement: Option<MeasurementSpec>,
}

impl Radio for HardHandover {
    fn gap(&self) -> Option<&DurationLaw> {
        Some(&self.gap)
    }

    fn in_flight_at_break(&self) -> InFlightAtBreak {
        self.in_flight_at_break
    }

    fn measurement(&self) -> Option<&MeasurementSpec> {
        self.measurement.as_ref()
    }

    fn plan(&self, visits: &[Visit], stream: Option<Stream<'_>>) -> Result<Vec<(Time, Motion)>, BadVisit> {
        let mut motions = Vec::new();
        let mut free_from = Time::ZERO;
        let is_drawn = matches!(self.gap, DurationLaw::Drawn(_));
        let mut rng = stream.filter(|_| is_drawn).map(|stream| stream());
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
            let gap = match (&self.gap, &mut rng) {
                _ if previous_ended => Duration::ZERO,
                (DurationLaw::Constant(gap), _) => *gap,
                (law, Some(rng)) => law.draw(rng),
                (_, None) => Duration::ZERO,
            };
            if let Some((_, Motion::Enter { .. })) = motions.last() {
                motions.push((at, Motion::Leave { visit: number - 1 }));
            }
            let entry = at + gap;
            let ends = [visit.until, visits.get(number + 1).map(|next| next.at)];
            let is_missed = ends.into_iter().flatten().any(|end| Time::ZERO + end <= entry);
            if is_drawn && gap > Duration::ZERO && is_missed {
                continue;
            }
            motions.push((entry, Motion::Enter { visit: number }));
            free_from = entry;
            if let Some(until) = visit.until {
                free_from = Time::ZERO + until;
                if free_from <= entry {
                    let message = format!("the visit begins at {}: write a later time", visit.at + gap);
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
    use roamlab_engine::Rng;

    fn visit(cell: &str, at: u64, until: Option<u64>) -> Visit {
        Visit { cell: cell.into(), at: Duration::from_millis(at), until: until.map(Duration::from_millis) }
    }

    fn hard(gap: u64) -> HardHandover {
        HardHandover { gap: DurationLaw::Constant(Duration::from_millis(gap)), ..HardHandover::default() }
    }

    #[test]
    fn a_handover_is_a_break_a_gap_and_an_attach() {
        let plan = hard(30).plan(&[visit("bs1", 0, None), visit("bs2", 10_000, None)], None);
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
        let overlap =
            |visits: &[Visit]| hard(30).plan(visits, None).map_err(|(number, field, _)| (number, field));
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

    #[test]
    fn a_drawn_gap_that_outlasts_a_visit_is_no_visit() {
        let law = r#"{ "gap": { "kind": "uniform", "least": "30 ms", "most": "50 ms" } }"#;
        let radio: HardHandover = serde_json::from_str(law).unwrap();
        let visits = [
            visit("a", 0, None),
            visit("b", 1_000, None),
            visit("a", 1_030, None),
            visit("b", 2_000, Some(2_020)),
            visit("a", 3_000, None),
        ];
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let plan = radio.plan(&visits, Some(&|| Rng::named(1, 0, "host/gap"))).unwrap();
        let kinds: Vec<Motion> = plan.iter().map(|(_, motion)| *motion).collect();
        let (enter, leave) = (|visit| Motion::Enter { visit }, |visit| Motion::Leave { visit });
        assert_eq!(kinds, [enter(0), leave(0), enter(2), leave(2), enter(4)], "not in visits 1 and 3");
        assert!((at(1_060)..at(1_080)).contains(&plan[2].0), "a gap after its visit begins: {}", plan[2].0);
        assert_eq!((plan[3].0, plan[4].0), (at(2_000), at(3_000)), "behind an end there is no gap");
        assert!(radio.plan(&visits, None).is_ok(), "a check draws nothing");
    }
}
