//! Why a sender heard nothing new for a while.

use crate::long::Long;
use crate::why::cause::{Cause, Kind, Sure, counted, lasting, median};
use crate::why::exchange::MS;
use crate::why::pieces::{NEVER, Piece};
use crate::why::sender::{self, Sender, Silence};

/// The time after it that is looked at.
const AFTER_NS: i64 = 3_000 * MS;
/// The time before it that is looked at.
const BEFORE_NS: i64 = 2_000 * MS;
/// One acknowledgement of at least this number of packets: those between were lost.
const LEAP: usize = 5;
/// Acknowledgements before it that show how many packets one acknowledges.
const USUAL: usize = 200;
/// A tail has at most this number of packets.
const MOST_TAIL: usize = 4;
/// Packets at least this number of times further apart are those of a slower path.
const SLOWER: f64 = 2.2;
/// Packets that must be there to measure how far they are apart.
const LEAST_SPACED: usize = 8;

/// A silence with what was outstanding in it.
struct Seen<'s> {
    sender: &'s Sender<'s>,
    silence: Silence,
    /// Round trip of the whole path.
    base: i64,
    /// Data that were outstanding at its begin, and those of them of which the first sending did not arrive.
    waiting: Vec<Piece>,
    lost: usize,
    /// The round trip before.
    usual: i64,
    /// The least round trip of what was sent after it first.
    later: Option<i64>,
    /// The same of the last that were looked at.
    settled: Option<i64>,
}

/// The causes of a silence, the first one the main one.
pub fn causes(sender: &Sender<'_>, silence: Silence) -> Vec<Cause> {
    let seen = Seen::new(sender, silence);
    if let Some(cause) = seen.window() {
        return vec![cause];
    }
    if let Some(cause) = seen.acks() {
        return vec![cause];
    }
    let mut found = Vec::new();
    found.extend(seen.longer());
    if seen.has_waited() {
        if found.is_empty() {
            found.push(seen.held());
        }
        return found;
    }
    let main = seen.losses();
    if found.is_empty() { vec![main] } else { found.into_iter().chain([main]).collect() }
}

impl<'s> Seen<'s> {
    fn new(sender: &'s Sender<'s>, silence: Silence) -> Seen<'s> {
        let (start, end) = (silence.start_ns, silence.end_ns);
        let base = sender.exchange.base().max(sender.least);
        let pieces = &sender.sendings.pieces;
        let from = pieces.partition_point(|piece| piece.told_ns < end && piece.told_ns <= start);
        let upto = pieces.partition_point(|piece| piece.sent_ns < end - base * 9 / 10);
        let open =
            pieces.range(from, upto).filter(|piece| piece.told_ns >= end && piece.sent_ns <= start + base);
        let waiting: Vec<Piece> = open.collect();
        let lost = waiting.iter().filter(|piece| !piece.first_arrived(sender.least)).count();
        let near = between(&sender.rtts, start - BEFORE_NS, start);
        let usual = median(near.map(|(_, rtt)| rtt).collect()).unwrap_or(base);
        let after = between(&sender.rtts, end, end + AFTER_NS);
        let fresh: Vec<i64> =
            after.filter(|(time, rtt)| time - rtt >= end - base / 2).map(|(_, rtt)| rtt).collect();
        let later = fresh.iter().take(40).min().copied();
        let settled = fresh.rchunks(20).next().and_then(|last| last.iter().min().copied());
        Seen { sender, silence, base, lost, waiting, usual, later, settled }
    }

    fn length(&self) -> i64 {
        self.silence.end_ns - self.silence.start_ns
    }

    /// The receiver's window was closed for most of it.
    fn window(&self) -> Option<Cause> {
        let (start, end) = (self.silence.start_ns, self.silence.end_ns);
        let closed: i64 =
            self.sender.closed.iter().map(|(from, to)| (end.min(*to) - start.max(*from)).max(0)).sum();
        (closed * 2 > self.length()).then(|| {
            Cause::new(
                Kind::ZeroWindow,
                Sure::Certain,
                format!("the receiver offered no room for {}", lasting(closed)),
            )
        })
    }

    /// One acknowledgement for much: those between were lost. Alone, if data were sent again that had arrived; otherwise data
    /// were lost as well.
    fn acks(&self) -> Option<Cause> {
        let end = self.silence.end_ns;
        let list = &self.sender.progress;
        let at = list.partition_point(|progress| progress.time_ns < end);
        let below = list.get(at).map_or(0, |progress| progress.below);
        let before = list.from(at.saturating_sub(USUAL)).take(at.min(USUAL));
        let usual = median(before.map(|progress| progress.pieces as i64).collect()).unwrap_or(1) as usize;
        let has_leapt = below >= LEAP && below > 3 * usual && self.repeated() == 0;
        if !has_leapt {
            return None;
        }
        if self.lost > 1 {
            let said = format!(
                "one acknowledgement of {below} packets ended it, and {} outstanding ones did not arrive: nothing passed either way",
                self.lost
            );
            return Some(Cause::new(Kind::PathLost, Sure::Likely, said));
        }
        let last = end + 2 * self.base + 50 * MS;
        let from = self.sender.twice.partition_point(|time| *time < end - MS);
        let reported = self.sender.twice.get(from).is_some_and(|time| *time < last);
        let said = format!(
            "one acknowledgement of {below} packets ended it, and what was sent again was there already"
        );
        reported.then(|| Cause::new(Kind::AcksLost, Sure::Likely, said))
    }

    /// Most of what was outstanding arrived from its first sending, and none of it before: without selective acknowledgements
    /// a repair reports what had arrived.
    fn has_waited(&self) -> bool {
        self.repeated() == 0 && !self.waiting.is_empty() && self.lost * 2 < self.waiting.len()
    }

    /// Duplicate acknowledgements shortly before it and in it.
    fn repeated(&self) -> usize {
        let list = &self.sender.repeated;
        let from = list.partition_point(|time| *time < self.silence.start_ns - self.base);
        list.partition_point(|time| *time < self.silence.end_ns - MS).saturating_sub(from)
    }

    fn held(&self) -> Cause {
        let many = counted(self.waiting.len() - self.lost, "packet");
        let mut said = format!("{many} sent before or in it arrived late from their first sending");
        if let Some(later) = self.later {
            said += &format!("; the round trip is {} again", lasting(later));
        }
        let sure = if self.waiting.len() > 2 { Sure::Certain } else { Sure::Likely };
        Cause::new(Kind::PathHeld, sure, said)
    }

    /// The round trip after it is much longer than before, or packets come further apart.
    fn longer(&self) -> Option<Cause> {
        let (start, end) = (self.silence.start_ns, self.silence.end_ns);
        if self.has_waited() {
            let before = spacing(self.sender, start - 1_500 * MS, start);
            let after = spacing(self.sender, end + 50 * MS, end + 2_300 * MS);
            if let Some((before, after)) =
                before.zip(after).filter(|(before, after)| *after > SLOWER * before)
            {
                let evidence = format!("packets arrived {:.1} times further apart after it", after / before);
                return Some(Cause::new(Kind::SlowerPath, Sure::Likely, evidence));
            }
        }
        if self.has_waited() && self.usual > self.base + 100 * MS {
            // The packet that ended it took no longer than those before.
            let ended = between(&self.sender.rtts, end, end + 5 * MS).next().map(|(_, rtt)| rtt);
            if ended.is_some_and(|rtt| rtt < self.usual + self.usual / 8 + 20 * MS) {
                let said = format!(
                    "the round trip had grown from {} to {}, and what was sent in one of them came after a pause",
                    lasting(self.base),
                    lasting(self.usual)
                );
                return Some(Cause::new(Kind::DelayStep, Sure::Likely, said));
            }
        }
        let later = self.later?;
        let growth = later - self.usual;
        let least = if self.has_waited() { self.length() / 2 } else { self.length() * 7 / 20 };
        if growth < least.max(100 * MS) {
            return None;
        }
        let evidence = format!(
            "the round trip was {} before and {} at least after it",
            lasting(self.usual),
            lasting(later)
        );
        let falls = self.settled.is_some_and(|settled| settled < self.usual + growth / 2);
        let kind = if falls { Kind::DelaySpike } else { Kind::DelayStep };
        Some(Cause::new(kind, Sure::Likely, evidence))
    }

    /// The last data before a pause was lost: little is outstanding, and the sender used no chance to send more.
    fn tail(&self) -> Option<Cause> {
        let start = self.silence.start_ns;
        let pieces = &self.sender.sendings.pieces;
        let upto = pieces.partition_point(|piece| piece.sent_ns <= start);
        let last_new = upto.checked_sub(1).and_then(|at| pieces.get(at)).map_or(start, |piece| piece.sent_ns);
        let reports = &self.sender.progress;
        let since = reports.partition_point(|progress| progress.time_ns <= last_new);
        // Acknowledgements that let it send, and it sent nothing.
        let until = reports.from(since).take_while(|progress| progress.time_ns <= start);
        let unused: usize = until.map(|progress| progress.pieces).sum();
        let has_paused = (start - last_new) * 10 > self.base * 7 || unused > MOST_TAIL || self.has_room();
        let many = self.waiting.len();
        (many <= MOST_TAIL && has_paused).then(|| {
            let evidence = format!("the last {} before a pause did not arrive", counted(many, "packet"));
            Cause::new(Kind::TailLoss, Sure::Likely, evidence)
        })
    }

    /// The sender had at least twice as much outstanding shortly before.
    fn has_room(&self) -> bool {
        let start = self.silence.start_ns;
        let list = &self.sender.flights;
        let from = list.partition_point(|flight| flight.time_ns < start - self.base - 200 * MS);
        let before = list.from(from).take_while(|flight| flight.time_ns <= start);
        let most = before.map(|flight| flight.outstanding).max();
        let now: u64 = self.waiting.iter().map(Piece::bytes).sum();
        most.is_some_and(|most| most >= 2 * now)
    }

    /// The outstanding data was lost.
    fn losses(&self) -> Cause {
        let start = self.silence.start_ns;
        let pieces = &self.sender.sendings.pieces;
        if let Some(cause) = self.tail() {
            return cause;
        }
        let repeated = self.repeated();
        if repeated > 0 {
            let said = format!(
                "{} show that packets behind a lost one arrived",
                counted(repeated, "duplicate acknowledgement")
            );
            let is_full = self.is_full(start - self.usual);
            return Cause::new(if is_full { Kind::QueueFull } else { Kind::LossBurst }, Sure::Likely, said);
        }
        let Some((first, last)) = self.lost_span() else { return self.silent(None) };
        let from = pieces.partition_point(|piece| piece.sent_ns < first);
        let to = pieces.partition_point(|piece| piece.sent_ns <= last);
        let among: Vec<Piece> = pieces.range(from, to).collect();
        let arrived = among
            .iter()
            .filter(|piece| piece.first_arrived(self.sender.least) && piece.told_ns <= self.silence.end_ns)
            .count();
        let told_before = among.iter().filter(|piece| piece.told_ns <= start).count();
        if told_before == 0 && arrived * 4 < among.len() {
            return self.silent(Some((first, last)));
        }
        let again = self.waiting.iter().filter(|piece| piece.again_ns <= start && piece.times > 2).count();
        if self.is_full(first) {
            let evidence = format!(
                "{} of {} packets were lost at the largest delay of the flow",
                among.len() - arrived,
                among.len()
            );
            return Cause::new(Kind::QueueFull, Sure::Likely, evidence);
        }
        if again > 0 {
            let evidence =
                format!("{} sent again before the silence had to be sent again", counted(again, "packet"));
            return Cause::new(Kind::RetransmissionLost, Sure::Likely, evidence);
        }
        let evidence = format!(
            "{} of {} packets did not arrive, sent within {}",
            among.len() - arrived,
            among.len(),
            lasting(last - first)
        );
        Cause::new(Kind::LossBurst, Sure::Likely, evidence)
    }

    /// First and last sending of what was lost around the begin.
    fn lost_span(&self) -> Option<(i64, i64)> {
        let lost = self.waiting.iter().filter(|piece| !piece.first_arrived(self.sender.least));
        let times: Vec<i64> = lost.map(|piece| piece.sent_ns).collect();
        Some((*times.iter().min()?, *times.iter().max()?))
    }

    /// The delay before a loss is within a tenth of the largest.
    fn is_full(&self, first: i64) -> bool {
        let most = |from, to| between(&self.sender.rtts, from, to).map(|(_, rtt)| rtt).max();
        let near = most(first - self.base - 100 * MS, first + self.usual + self.base);
        let all = most(i64::MIN, self.silence.start_ns);
        let Some((near, all)) = near.zip(all) else { return false };
        let queue = all - self.sender.least;
        queue > (10 * MS).max(self.sender.least / 8) && near - self.sender.least > queue * 9 / 10
    }

    fn silent(&self, span: Option<(i64, i64)>) -> Cause {
        let mut said = format!("{} of {} outstanding packets did not arrive", self.lost, self.waiting.len());
        if let Some((first, last)) = span {
            let pieces = &self.sender.sendings.pieces;
            let lost_again = self.sender.resends.iter().filter(|resend| {
                resend.time_ns > last && resend.time_ns < self.silence.end_ns - self.base * 9 / 10
            });
            let last = lost_again.map(|resend| resend.time_ns).max().unwrap_or(last);
            let before = pieces.partition_point(|piece| piece.sent_ns < first);
            let before =
                before.checked_sub(1).and_then(|at| pieces.get(at)).map_or(first, |piece| piece.sent_ns);
            let after = self.silence.end_ns - self.base;
            said += &format!(
                "; the path was silent for {} to {}",
                lasting(last - first),
                lasting((after - before).max(last - first))
            );
        }
        if self.waiting.iter().all(|piece| piece.told_ns == NEVER) && self.silence.is_cut {
            said += "; the capture ends in it";
        }
        let sure = if self.lost > 1 { Sure::Likely } else { Sure::Possible };
        Cause::new(Kind::PathLost, sure, said)
    }
}

/// The elements of a list in order of time within a span.
pub fn between(list: &Long<(i64, i64)>, from: i64, to: i64) -> impl Iterator<Item = (i64, i64)> + '_ {
    let first = list.partition_point(|(time, _)| *time < from);
    list.from(first).take_while(move |(time, _)| *time <= to)
}

/// The time per packet where packets follow each other closely: the lower quartile.
fn spacing(sender: &Sender<'_>, from: i64, to: i64) -> Option<f64> {
    let list = &sender.progress;
    let first = list.partition_point(|progress| progress.time_ns <= from);
    let part = list.from(first).take_while(|progress| progress.time_ns < to);
    let part: Vec<sender::Progress> = part.collect();
    let gaps =
        part.windows(2).map(|pair| (pair[1].time_ns - pair[0].time_ns) as f64 / pair[1].pieces.max(1) as f64);
    quartile(gaps.collect())
}

/// The lower quartile, if there are enough values.
pub fn quartile(mut values: Vec<f64>) -> Option<f64> {
    if values.len() <= LEAST_SPACED {
        return None;
    }
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 4).copied()
}
