//! Soft handover: the host is in both cells for a while.

use super::motion::{BadVisit, Duplicates, InFlightAtBreak, Motion, Radio, Stream, UplinkChoice};
use crate::visit::Visit;
use roamlab_engine::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The abstract soft handover.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SoftHandover {
    /// How long a host stays in the cell that it comes from after it has entered the next.
    pub overlap: Duration,
    /// Which link it sends on while it is in several cells.
    pub uplink: UplinkChoice,
    /// Treatment of a packet of which it has had a copy.
    pub duplicates: Duplicates,
    /// Fate of packets in flight when it leaves a cell.
    pub in_flight_at_break: InFlightAtBreak,
}

impl Radio for SoftHandover {
    fn overlap(&self) -> Duration {
        self.overlap
    }

    fn in_flight_at_break(&self) -> InFlightAtBreak {
        self.in_flight_at_break
    }

    fn uplink(&self) -> UplinkChoice {
        self.uplink
    }

    fn duplicates(&self) -> Duplicates {
        self.duplicates
    }

    fn plan(&self, visits: &[Visit], _: Option<Stream<'_>>) -> Result<Vec<(Time, Motion)>, BadVisit> {
        overlapping(visits, self.overlap)
    }
}

/// A host leaves a cell `overlap` after it has entered the next, or at the visit's end. If it turns back to a
/// cell that it is still in, it stays there.
pub(crate) fn overlapping(visits: &[Visit], overlap: Duration) -> Result<Vec<(Time, Motion)>, BadVisit> {
    let mut motions: Vec<(Time, Motion)> = Vec::new();
    for (number, visit) in visits.iter().enumerate() {
        let at = Time::ZERO + visit.at;
        let before = number.checked_sub(1).map(|before| &visits[before]);
        if let Some(before) = before.filter(|before| visit.at <= before.at) {
            let message =
                format!("this visit does not begin after the one before it: write more than {}", before.at);
            return Err((number, "at", message));
        }
        let still_here = |(end, motion): &(Time, Motion)| match motion {
            Motion::Leave { visit: left } => visits[*left].cell == visit.cell && *end >= at,
            Motion::Enter { .. } => false,
        };
        if let Some(place) = motions.iter().position(still_here) {
            let (end, motion) = motions.remove(place);
            if let Motion::Leave { visit: left } = motion
                && visits[left].until.is_some()
            {
                let end = Duration::from_nanos(end.as_nanos());
                let message = format!("the host is in this cell until {end} already: write a later time");
                return Err((number, "at", message));
            }
        }
        let end = match (visit.until, visits.get(number + 1)) {
            (Some(until), _) if until <= visit.at => {
                let message = format!("the visit begins at {}: write a later time", visit.at);
                return Err((number, "until", message));
            }
            (Some(until), _) => Some(Time::ZERO + until),
            (None, Some(next)) => Some(Time::ZERO + next.at + overlap),
            (None, None) => None,
        };
        motions.push((at, Motion::Enter { visit: number }));
        motions.extend(end.map(|end| (end, Motion::Leave { visit: number })));
    }
    // Of what happens at one time, a cell is entered before another is left.
    motions.sort_by_key(|(time, motion)| (*time, matches!(motion, Motion::Leave { .. })));
    Ok(motions)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visit(cell: &str, at: u64, until: Option<u64>) -> Visit {
        Visit { cell: cell.into(), at: Duration::from_millis(at), until: until.map(Duration::from_millis) }
    }

    fn soft(overlap: u64) -> SoftHandover {
        SoftHandover { overlap: Duration::from_millis(overlap), ..SoftHandover::default() }
    }

    #[test]
    fn the_next_cell_is_entered_before_the_last_is_left() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let visits = [visit("a", 0, None), visit("b", 100, None), visit("c", 150, Some(500))];
        let expected = vec![
            (at(0), Motion::Enter { visit: 0 }),
            (at(100), Motion::Enter { visit: 1 }),
            (at(150), Motion::Enter { visit: 2 }),
            (at(180), Motion::Leave { visit: 0 }),
            (at(230), Motion::Leave { visit: 1 }),
            (at(500), Motion::Leave { visit: 2 }),
        ];
        assert_eq!(soft(80).plan(&visits, None), Ok(expected), "in three cells from 150 to 180 ms");
    }

    #[test]
    fn without_overlap_the_host_is_never_without_a_cell() {
        let plan = soft(0).plan(&[visit("a", 0, None), visit("b", 100, None)], None).unwrap();
        let motions: Vec<Motion> = plan.into_iter().map(|(_, motion)| motion).collect();
        assert_eq!(motions[1..], [Motion::Enter { visit: 1 }, Motion::Leave { visit: 0 }]);
    }

    #[test]
    fn visits_that_do_not_go_together_are_refused_with_their_place() {
        let refused =
            |visits: &[Visit]| soft(30).plan(visits, None).map_err(|(number, field, _)| (number, field));
        assert_eq!(refused(&[visit("a", 100, None), visit("b", 100, None)]), Err((1, "at")));
        assert_eq!(refused(&[visit("a", 100, None), visit("b", 50, None)]), Err((1, "at")));
        assert_eq!(refused(&[visit("a", 100, Some(100))]), Err((0, "until")));
        let twice = [visit("a", 0, Some(200)), visit("b", 100, None), visit("a", 200, None)];
        assert_eq!(refused(&twice), Err((2, "at")));
        assert!(refused(&[visit("a", 0, Some(200)), visit("b", 100, None)]).is_ok());
    }

    #[test]
    fn a_host_that_turns_back_in_time_has_not_left() {
        let visits = |back| [visit("a", 0, None), visit("b", 100, None), visit("a", back, None)];
        let left = |back: u64| {
            let plan = soft(30).plan(&visits(back), None).unwrap();
            let leave = |(at, motion): &(Time, Motion)| match motion {
                Motion::Leave { visit } => Some((at.as_nanos() / 1_000_000, *visit)),
                Motion::Enter { .. } => None,
            };
            plan.iter().filter_map(leave).collect::<Vec<_>>()
        };
        assert_eq!(left(131), [(130, 0), (161, 1)]);
        assert_eq!(left(130), [(160, 1)], "it stays in a");
        let again = soft(30).plan(&[visit("a", 0, None), visit("a", 100, None)], None).unwrap();
        assert!(again.iter().all(|(_, motion)| matches!(motion, Motion::Enter { .. })));
    }
}
