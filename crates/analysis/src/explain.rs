//! The stalls and slow periods of a run with their chains of causes in sentences.

use crate::causes::Causes;
use crate::numbers::{counted, general, seconds};
use crate::record::{Arrivals, Record};
use crate::senders::Part;
use crate::slow::SlowPeriod;
use crate::stalls::Stall;
use crate::suspects::{Suspect, suspects};
use crate::table::Fault;
use crate::wait::Wait;
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::Value;
use std::cmp::Reverse;

/// A stall with the slow period that it is part of; or a slow period without a stall.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Trouble {
    /// The stall, or the slow period as one.
    pub stall: Stall,
    /// The slow period.
    pub slow: Option<SlowPeriod>,
}

/// A stall or slow period, and why it was.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Explanation {
    /// The stall or slow period.
    #[serde(flatten)]
    pub trouble: Trouble,
    /// The suspects, the likeliest first.
    pub suspects: Vec<Suspect>,
    /// The chain of a stall: what the receiver saw, the sender's timer, the losses, and what led to them.
    pub sentences: Vec<String>,
    /// The sender's part, in order of time.
    pub sender: Vec<Part>,
    /// The sentences about it.
    pub sender_sentences: Vec<String>,
    /// Part of the stall that was due to the timer, after the path was back.
    pub wait: Option<Wait>,
    /// When what is suspected first was, step by step, in ns.
    pub steps_ns: Vec<i64>,
    /// The first suspect in words; empty: there is none.
    pub suspected: String,
}

impl Record<'_> {
    /// The stalls of a flow, or of all, longest first; then the slow periods without a stall, longest first. Reads `flows`,
    /// `deliveries` and `packets`.
    pub fn troubles(&self, flow: Option<&str>) -> Result<Vec<Trouble>, Fault> {
        let flows = flow.map_or_else(|| self.flows(), |flow| Ok(vec![flow]))?;
        let mut found = Vec::new();
        for flow in flows {
            self.troubles_of(flow, &mut found)?;
        }
        let order =
            |each: &Trouble| (each.stall.is_slow, Reverse(each.stall.length_ns()), each.stall.start_ns);
        found.sort_by_key(order);
        Ok(found)
    }

    fn troubles_of(&self, flow: &str, found: &mut Vec<Trouble>) -> Result<(), Fault> {
        let (stalls, periods) = (self.stalls(flow)?, self.slow_periods(flow)?);
        let begin = found.len();
        for stall in stalls {
            let meets =
                periods.iter().filter(|slow| slow.start_ns < stall.end_ns && stall.start_ns < slow.end_ns);
            // Of several as long the first.
            let slow = meets.rev().max_by_key(|slow| slow.length_ns()).cloned();
            found.push(Trouble { stall, slow });
        }
        let alone = |slow: &SlowPeriod| !found[begin..].iter().any(|each| each.slow.as_ref() == Some(slow));
        let alone: Vec<SlowPeriod> = periods.into_iter().filter(alone).collect();
        if alone.is_empty() {
            return Ok(());
        }
        let round_trip_ns = Arrivals::of(self, flow)?.round_trip_ns;
        found.extend(alone.into_iter().map(|slow| {
            let SlowPeriod { flow, start_ns, end_ns, cut_off, .. } = slow.clone();
            Trouble {
                stall: Stall { flow, start_ns, end_ns, round_trip_ns, cut_off, is_slow: true },
                slow: Some(slow),
            }
        }));
        Ok(())
    }

    /// Why these stalls and slow periods were. `network` is the scenario with all that it generates. Reads all tables that
    /// are named in this crate.
    pub fn explain(&self, network: &Value, troubles: Vec<Trouble>) -> Result<Vec<Explanation>, Fault> {
        if troubles.is_empty() {
            return Ok(Vec::new());
        }
        let causes = Causes::new(self, network)?;
        troubles.into_iter().map(|trouble| self.explained(&causes, network, trouble)).collect()
    }

    fn explained(
        &self,
        causes: &Causes<'_>,
        network: &Value,
        trouble: Trouble,
    ) -> Result<Explanation, Fault> {
        let (stall, slow) = (&trouble.stall, trouble.slow.as_ref());
        let suspects = suspects(self, causes, network, stall)?;
        let wait = self.wait(network, stall)?;
        let sender = self.parts(stall, slow)?;
        let mut sentences = self.received(stall, slow)?;
        sentences.extend(self.expiries(stall)?);
        sentences.extend(wait.as_ref().map(Wait::sentence));
        sentences.extend(self.lost(stall)?);
        let dropped = suspects.iter().filter(|each| each.kind == "early drop").map(|each| each.time_ns).min();
        let early = dropped.map_or(stall.begin_of_losses(), |time| time.min(stall.begin_of_losses()));
        sentences.extend(self.early(network, stall, early)?);
        let first = suspects.first();
        let suspected = first.map(Suspect::words).unwrap_or_default();
        match first {
            Some(first) => {
                sentences.push(format!("suspected first: {suspected}, {} s", seconds(first.time_ns)));
                sentences.extend(causes.told(&first.chain, stall.end_ns));
            }
            None => sentences.push("the record names nothing that led to it".to_owned()),
        }
        let chain = first.map_or(&[][..], |first| &first.chain);
        Ok(Explanation {
            sender_sentences: sender.iter().map(Part::sentence).collect(),
            steps_ns: chain.iter().map(|&id| causes.row(id).time_ns).collect(),
            trouble,
            suspects,
            sentences,
            sender,
            wait,
            suspected,
        })
    }

    fn received(&self, stall: &Stall, slow: Option<&SlowPeriod>) -> Result<Vec<String>, Fault> {
        let (receiver, flow) = (self.of_flow("destination", &stall.flow)?, &stall.flow);
        let span = |start, end, cut_off| {
            let until = if cut_off { ", the end of the run" } else { "" };
            format!("{} s, {} to {} s{until}", seconds(end - start), seconds(start), seconds(end))
        };
        let mut told = Vec::new();
        if !stall.is_slow {
            let span = span(stall.start_ns, stall.end_ns, stall.cut_off);
            told.push(format!("{receiver} received nothing new of {flow} for {span}"));
        }
        if let Some(slow) = slow {
            let span = span(slow.start_ns, slow.end_ns, slow.cut_off);
            let [rate, before] = [slow.rate_bps, slow.before_bps].map(|rate| general(rate / 1e6, 3));
            let rates = format!("{rate} instead of {before} Mbit/s");
            told.push(format!("{receiver} received less than half of {flow} for {span}: {rates}"));
        }
        Ok(told)
    }

    fn expiries(&self, stall: &Stall) -> Result<Option<String>, Fault> {
        let expired = self.timeouts(stall)?;
        let Some(&last) = expired.last() else { return Ok(None) };
        let table = self.table("tcp")?;
        let (time, rto, verdict) =
            (table.numbers("time_ns")?, table.numbers("rto_ns")?, table.words("timeout")?);
        let at = expired.iter().map(|&row| format!("{} s ({})", seconds(time.int(row)), verdict.at(row)));
        let at: Vec<String> = at.collect();
        let rto = general(rto.int(last) as f64 / 1e9, 3);
        Ok(Some(format!("the retransmission timer expired at {}; RTO then {rto} s", at.join(", "))))
    }

    /// The losses by place and reason, the most first.
    fn lost(&self, stall: &Stall) -> Result<Vec<String>, Fault> {
        let rows = self.losses(stall)?;
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let table = self.table("drops")?;
        let (time, place, reason) =
            (table.numbers("time_ns")?, table.words("place")?, table.words("reason")?);
        let mut places = FxHashMap::default();
        let mut groups: Vec<Group<'_>> = Vec::new();
        for row in rows {
            let at = *places.entry((place.at(row), reason.at(row))).or_insert_with(|| {
                groups.push(Group {
                    place: place.at(row),
                    reason: reason.at(row),
                    count: 0,
                    first: i64::MAX,
                    last: 0,
                });
                groups.len() - 1
            });
            let group = &mut groups[at];
            let time = time.int(row);
            (group.count, group.first, group.last) =
                (group.count + 1, group.first.min(time), group.last.max(time));
        }
        groups.sort_by_key(|group| Reverse(group.count));
        Ok(groups.iter().map(Group::sentence).collect())
    }
}

/// Losses at one place for one reason.
struct Group<'a> {
    place: &'a str,
    reason: &'a str,
    count: usize,
    first: i64,
    last: i64,
}

impl Group<'_> {
    fn sentence(&self) -> String {
        let packets = counted(self.count, "packet of it was", "packets of it were");
        let [first, last] = [self.first, self.last].map(seconds);
        let times = if first == last { format!("at {first} s") } else { format!("{first} to {last} s") };
        format!("{packets} lost at {}: {}, {times}", self.place, self.reason)
    }
}
