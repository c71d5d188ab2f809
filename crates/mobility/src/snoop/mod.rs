//! Snoop: a base station keeps the segments of a TCP flow that the mobile host has not acknowledged. It sends lost ones again
//! over the air itself, and hides the duplicate acknowledgements for them from the sender.
//!
//! Sources: Balakrishnan, Seshan and Katz, Improving reliable transport and handoff performance in cellular wireless
//! networks, 1995; RFC 3135 §5.3.2.
//!
//! It is no mobility protocol: a flow asks for it, and every base station of the flow's host has a [`Snoop`] for it. Its
//! state is soft. Without it the flow is a plain TCP flow.
//!
//! | data segment from the sender | action, besides that it is forwarded |
//! | --- | --- |
//! | above all seen | kept; the local timer starts |
//! | below the highest seen, not kept | kept, marked as one that the sender has sent again |
//! | kept | the newer copy is kept, marked; the local timer starts again |
//! | acknowledged before, or no room | nothing |
//!
//! | acknowledgement from the host | action |
//! | --- | --- |
//! | new | what it acknowledges is released; forwarded |
//! | duplicate; the missing segment is not kept, or is marked | forwarded |
//! | duplicate, below the threshold | forwarded |
//! | duplicate, at the threshold | the segment is sent again; suppressed |
//! | duplicate, expected after that | suppressed |
//! | old | `old_ack` |

mod params;
#[cfg(test)]
mod tests;

pub use params::{OldAck, Params, RoundTripAverage};

use roamlab_engine::{Duration, Time};
use std::collections::BTreeMap;

/// A segment that a base station keeps.
#[derive(Clone, Debug)]
struct Kept<T> {
    segment: T,
    sent: Time,
    /// How often the base station has sent it again.
    resends: u32,
    /// The sender has sent it again: the sender is to see the duplicates for it.
    sender_resent: bool,
}

/// Treatment of an acknowledgement from the host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reaction<T> {
    /// It is forwarded unchanged.
    Forward,
    /// It ends here.
    Suppress,
    /// It ends here, and a copy of this segment is sent over the air.
    Resend(T),
}

/// Snoop for one flow at one base station. `T` is a segment as it is kept; a copy of it can be sent.
#[derive(Clone, Debug)]
pub struct Snoop<T> {
    params: Params,
    kept: BTreeMap<u32, Kept<T>>,
    /// The highest segment seen.
    highest: Option<u32>,
    /// The acknowledgement number seen last, and its window.
    last_ack: Option<(u32, u32)>,
    /// Duplicates since the last new acknowledgement, or the last resend because of them.
    duplicates: u32,
    /// Duplicates that segments behind a missing one are still to cause.
    expected: u32,
    round_trip: Duration,
    variation: Duration,
    deadline: Option<Time>,
}

impl<T: Clone> Snoop<T> {
    /// Nothing has come yet.
    pub fn new(params: Params) -> Snoop<T> {
        Snoop {
            round_trip: params.first_round_trip,
            variation: params.first_variation,
            params,
            kept: BTreeMap::new(),
            highest: None,
            last_ack: None,
            duplicates: 0,
            expected: 0,
            deadline: None,
        }
    }

    /// The state is lost: a move, or a failure.
    pub fn forget(&mut self) {
        *self = Snoop::new(self.params.clone());
    }

    /// When the local timer expires, if it runs.
    pub fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    /// How many segments are kept.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// True if nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// True if a suppressed acknowledgement of `ack` takes nothing from the sender: the segment that the host misses is
    /// kept, or the acknowledgement is older than one that was forwarded.
    pub fn relies_on_kept(&self, ack: u32) -> bool {
        self.last_ack.is_some_and(|(last, _)| ack < last) || self.kept.contains_key(&ack)
    }

    /// A data segment for the host has entered the queue of the air link.
    pub fn on_data(&mut self, now: Time, seq: u32, segment: T) {
        if self.last_ack.is_some_and(|(ack, _)| seq < ack) {
            return;
        }
        let is_new = self.highest.is_none_or(|highest| seq > highest);
        self.highest = self.highest.max(Some(seq));
        let is_kept = self.kept.contains_key(&seq);
        if !is_kept && self.kept.len() >= self.params.limit.0 as usize {
            return;
        }
        self.kept.insert(seq, Kept { segment, sent: now, resends: 0, sender_resent: !is_new });
        if is_kept || self.deadline.is_none() {
            self.restart(now);
        }
    }

    /// The queue of the air link had no room for a data segment: a copy that is kept of it no longer counts, since the
    /// sender has to see the loss.
    pub fn on_full_queue(&mut self, seq: u32) {
        self.highest = self.highest.max(Some(seq));
        self.kept.remove(&seq);
        if self.kept.is_empty() {
            self.deadline = None;
        }
    }

    /// An acknowledgement without data comes from the host; `ack` is the next segment that it expects, `window` its receive
    /// window.
    pub fn on_ack(&mut self, now: Time, ack: u32, window: u32) -> Reaction<T> {
        let before = self.last_ack;
        if before.is_some_and(|(last, _)| ack < last) {
            return match self.params.old_ack {
                OldAck::Pass => Reaction::Forward,
                OldAck::Drop => Reaction::Suppress,
            };
        }
        self.last_ack = Some((ack, window));
        match before {
            Some((last, _)) if last < ack => {
                self.on_new_ack(now, ack);
                Reaction::Forward
            }
            // ASSUMPTION: an acknowledgement that opens or closes the window is no duplicate (RFC 5681 §2).
            Some((_, same)) if same == window => self.on_duplicate(now, ack),
            Some(_) => Reaction::Forward,
            None => {
                self.on_new_ack(now, ack);
                Reaction::Forward
            }
        }
    }

    fn on_new_ack(&mut self, now: Time, ack: u32) {
        let rest = self.kept.split_off(&ack);
        let freed = std::mem::replace(&mut self.kept, rest);
        if let Some((_, newest)) = freed.last_key_value() {
            self.sample(now.since(newest.sent));
        }
        (self.duplicates, self.expected) = (0, 0);
        self.deadline = None;
        if !self.kept.is_empty() {
            self.restart(now);
        }
    }

    fn on_duplicate(&mut self, now: Time, ack: u32) -> Reaction<T> {
        let above = self.kept.range(ack + 1..).count() as u32;
        let (limit, threshold) = (self.params.resends, self.params.threshold);
        let Some(missing) = self.kept.get_mut(&ack).filter(|missing| !missing.sender_resent) else {
            return Reaction::Forward;
        };
        if missing.resends > 0 && self.expected > 0 {
            self.expected -= 1;
            return Reaction::Suppress;
        }
        // ASSUMPTION: a duplicate that the segments behind a resend do not explain means that the resend was lost too. It
        // counts towards the threshold again, unless the segment was sent again as often as it may.
        if missing.resends >= limit {
            return Reaction::Forward;
        }
        self.duplicates += 1;
        if self.duplicates < threshold {
            return Reaction::Forward;
        }
        self.expected = if missing.resends == 0 { above.saturating_sub(self.duplicates) } else { above };
        self.duplicates = 0;
        (missing.resends, missing.sent) = (missing.resends + 1, now);
        let segment = missing.segment.clone();
        self.restart(now);
        Reaction::Resend(segment)
    }

    /// The local timer has expired: the first segment kept is sent again, if it was not sent again as often as it may.
    pub fn on_deadline(&mut self, now: Time) -> Option<T> {
        if self.deadline.is_none_or(|deadline| now < deadline) {
            return None;
        }
        self.deadline = None;
        let limit = self.params.resends;
        let mut first = self.kept.first_entry()?;
        let missing = first.get_mut();
        if missing.resends >= limit {
            return None;
        }
        (missing.resends, missing.sent) = (missing.resends + 1, now);
        let segment = missing.segment.clone();
        self.restart(now);
        Some(segment)
    }

    fn restart(&mut self, now: Time) {
        let wait = self.round_trip + self.variation.saturating_mul(4);
        self.deadline = Some(now + wait.max(self.params.least_wait));
    }

    /// A round trip over the air has been measured.
    fn sample(&mut self, measured: Duration) {
        let error = measured.saturating_sub(self.round_trip).max(self.round_trip.saturating_sub(measured));
        let (mean, spread) = match self.params.average {
            RoundTripAverage::Standard => ((7, 1), (6, 2)),
            RoundTripAverage::Ns2 => ((1, 7), (1, 7)),
        };
        let eighths = |old: Duration, new: Duration, (of_old, of_new): (u64, u64)| {
            Duration::from_nanos((old.as_nanos() * of_old + new.as_nanos() * of_new) / 8)
        };
        self.variation = eighths(self.variation, error, spread);
        self.round_trip = eighths(self.round_trip, measured, mean);
    }
}
