//! A policer: it passes what a token bucket allows and drops the rest, without a queue.
//!
//! The rule is that of Flach et al., "An Internet-wide analysis of traffic policing" (SIGCOMM 2016).

use crate::why::pieces::{NEVER, Piece};
use crate::why::sender::Sender;
use crate::why::silence::between;

/// Losses, and round trips with a loss, that are needed.
const LEAST_LOSSES: usize = 15;
const LEAST_SLICES: usize = 3;
/// The bucket may hold this many round trips' tokens at a loss, and lack this many when a packet passes.
const AT_LOSS: f64 = 2.0;
const AT_PASS: f64 = 0.75;
/// Shares of losses and of packets that passed for which that may be wrong.
const WRONG_LOSSES: f64 = 0.1;
const WRONG_PASSES: f64 = 0.03;
/// A loss behind a round trip of this many times the usual least one is one of a queue, and this share of them may be.
const QUEUED: f64 = 1.3;
const MOST_QUEUED: f64 = 0.2;

impl Sender<'_> {
    /// The rate of a policer in bit/s; `None`: the losses do not fit one.
    pub fn policed_bps(&self) -> Option<f64> {
        let is_lost = |piece: &Piece| piece.times > 1 && !piece.first_arrived(self.least);
        let told = || self.sendings.pieces.iter().filter(|piece| piece.told_ns != NEVER);
        let lost = || told().filter(is_lost).map(|piece| piece.sent_ns);
        let (first, last, count) = lost().fold((i64::MAX, i64::MIN, 0), |(first, last, count), time| {
            (first.min(time), last.max(time), count + 1)
        });
        if count < LEAST_LOSSES {
            return None;
        }
        // Time, bytes, and whether it was lost, in one number: a repair takes tokens too.
        let mut sent: Vec<(i64, u64)> = Vec::new();
        for piece in told() {
            let is_lost = is_lost(&piece);
            let sendings = [(piece.sent_ns, is_lost), (piece.last_ns, false)];
            let among = sendings.into_iter().take(1 + usize::from(is_lost));
            let among = among.filter(|(time, _)| (first..=last).contains(time));
            sent.extend(among.map(|(time, is_lost)| (time, piece.bytes() << 1 | u64::from(is_lost))));
        }
        sent.sort_unstable();
        let is_lost = |(_, word): &(i64, u64)| word & 1 == 1;
        let from = sent.iter().position(is_lost)?;
        let upto = sent.iter().rposition(is_lost)?;
        let span = sent.get(from..=upto)?;
        let lost: Vec<i64> = span.iter().filter(|sent| is_lost(sent)).map(|(time, _)| *time).collect();
        let trip = self.exchange.base().max(1);
        let mut slices: Vec<i64> = lost.iter().map(|time| time / trip).collect();
        slices.dedup();
        let length = (span.last()?.0 - span.first()?.0) as f64;
        if lost.len() < LEAST_LOSSES || slices.len() < LEAST_SLICES || length <= 0.0 || self.is_queued(&lost)
        {
            return None;
        }
        let passed: u64 = span.iter().filter(|sent| !is_lost(sent)).map(|(_, word)| word >> 1).sum();
        let rate = passed as f64 / length;
        let in_trip = rate * trip as f64;
        let (mut tokens, mut last) = (0.0, span.first()?.0);
        let (mut wrong_losses, mut wrong_passes, mut passes) = (0, 0, 0);
        for (time, word) in span {
            tokens += rate * (time - last) as f64;
            last = *time;
            if word & 1 == 1 {
                wrong_losses += usize::from(tokens > AT_LOSS * in_trip);
            } else {
                passes += 1;
                wrong_passes += usize::from(tokens < -AT_PASS * in_trip);
                tokens -= (word >> 1) as f64;
            }
        }
        let fits = wrong_losses as f64 <= WRONG_LOSSES * lost.len() as f64
            && wrong_passes as f64 <= WRONG_PASSES * f64::from(passes);
        fits.then_some(rate * 8e9)
    }

    /// True if too many losses follow a round trip that shows a queue.
    fn is_queued(&self, lost: &[i64]) -> bool {
        let mut all: Vec<i64> = self.rtts.iter().map(|(_, rtt)| rtt).collect();
        let tenth = all.len() / 10;
        if all.is_empty() {
            return true;
        }
        let least = *all.select_nth_unstable(tenth).1 as f64;
        let trip = self.exchange.base();
        let behind = |time: &&i64| {
            let near = between(&self.rtts, **time - trip, **time + trip);
            near.map(|(_, rtt)| rtt).max().is_some_and(|rtt| rtt as f64 > QUEUED * least)
        };
        lost.iter().filter(behind).count() as f64 > MOST_QUEUED * lost.len() as f64
    }
}
