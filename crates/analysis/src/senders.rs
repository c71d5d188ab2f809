//! Share of the sender in a stall or slow period, from the record of its events.
//!
//! A stall ends with data. If the sender sent that data when one of its events occurred, the event is what it waited for:
//! the probe of a tail, the mark of RACK, QUIC's probe timeout. TCP's retransmission timeouts are among the suspects. A slow
//! period may be long because the sender keeps a small window: after persistent congestion, or with a model of the path in
//! which the round-trip time is that of an earlier path.

use crate::numbers::seconds;
use crate::record::Record;
use crate::slow::SlowPeriod;
use crate::stalls::Stall;
use crate::table::Fault;
use serde::Serialize;

const MARK: &str = "RACK mark";
/// Events on which a sender sends without an acknowledgement, and their kinds in words.
const RESUMES: [(&str, &str); 3] =
    [("tail-loss-probe", "tail loss probe"), ("rack-mark", MARK), ("timeout", "probe timeout")];
const BBR: [&str; 2] = ["bbr", "bbr3"];
/// A path whose delay grows by this factor is longer for BBR: its window of two products bounds the rate.
const LONGER: i64 = 2;

/// The action of a sender in a stall or slow period.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub enum Role {
    /// It ended the stall.
    #[serde(rename = "ended by")]
    Ended,
    /// It found the losses of the stall.
    #[serde(rename = "losses found by")]
    Found,
    /// It kept the flow slow.
    #[serde(rename = "kept slow by")]
    Slow,
}

/// The sender's part in a stall or slow period.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Part {
    /// The event or state, in words.
    pub kind: &'static str,
    /// When it was, in ns.
    pub time_ns: i64,
    /// Its action.
    pub role: Role,
}

impl Part {
    /// The sentence about it.
    pub fn sentence(&self) -> String {
        let (kind, at) = (self.kind, seconds(self.time_ns));
        match self.role {
            Role::Ended => format!("the sender's {kind} at {at} s ended it"),
            Role::Found => format!("the sender's {kind} at {at} s found its losses"),
            Role::Slow => format!("the sender's {kind}, from {at} s on, kept it slow"),
        }
    }
}

impl Record<'_> {
    /// Events that ended a stall, or found its losses, and that kept the flow slow then, in order of time. Reads `flows`,
    /// `deliveries`, `tcp` and `drops`.
    pub(crate) fn parts(&self, stall: &Stall, slow: Option<&SlowPeriod>) -> Result<Vec<Part>, Fault> {
        let end = slow.map_or(stall.end_ns, |slow| slow.end_ns.max(stall.end_ns));
        let mut found = vec![
            self.reported(stall, end, "persistent-congestion", "persistent congestion", Role::Slow)?,
            self.stale(stall, slow)?,
        ];
        if !stall.is_slow {
            let ended = self.ended_by(stall)?;
            let by_mark = ended.as_ref().is_some_and(|part| part.kind == MARK);
            found.push(ended);
            if !by_mark {
                found.push(self.reported(stall, stall.end_ns, "rack-mark", MARK, Role::Found)?);
            }
        }
        let mut found: Vec<Part> = found.into_iter().flatten().collect();
        found.sort_by_key(|part| part.time_ns);
        Ok(found)
    }

    /// The event on which the data was sent that ended a stall; `None`: it was under way, or sent for an ACK.
    fn ended_by(&self, stall: &Stall) -> Result<Option<Part>, Fault> {
        let came = self.table("deliveries")?;
        let (time, sent, fresh) =
            (came.numbers("time_ns")?, came.numbers("sent_ns")?, came.numbers("fresh")?);
        let last = self
            .rows("deliveries", &stall.flow)?
            .filter(|&row| time.int(row) == stall.end_ns && fresh.is(row));
        let Some(sent) = last.map(|row| sent.int(row)).min() else { return Ok(None) };
        let events = self.table("tcp")?;
        let (time, event) = (events.numbers("time_ns")?, events.words("event")?);
        let own: Vec<usize> = self.rows("tcp", &stall.flow)?.filter(|&row| time.int(row) == sent).collect();
        let is_tcp = self.of_flow("kind", &stall.flow)? == "tcp";
        let mut events = RESUMES.into_iter().filter(|(name, _)| *name != "timeout" || !is_tcp);
        let found = events.find(|(name, _)| own.iter().any(|&row| event.at(row) == *name));
        Ok(found.map(|(_, kind)| Part { kind, time_ns: sent, role: Role::Ended }))
    }

    /// The first event of a kind in a stall, or by the acknowledgements of what was sent before its end.
    fn reported(
        &self,
        stall: &Stall,
        end: i64,
        event: &str,
        kind: &'static str,
        role: Role,
    ) -> Result<Option<Part>, Fault> {
        let events = self.table("tcp")?;
        let (time, is_event) = (events.numbers("time_ns")?, events.words("event")?.among(&[event]));
        let span = stall.start_ns..=end + stall.round_trip_or_floor();
        let times = self.rows("tcp", &stall.flow)?.filter(|&row| is_event(row)).map(|row| time.int(row));
        Ok(times.filter(|time| span.contains(time)).min().map(|time_ns| Part { kind, time_ns, role }))
    }

    /// The model of BBR has a round-trip time from before the path grew, and its window bounds the rate.
    fn stale(&self, stall: &Stall, slow: Option<&SlowPeriod>) -> Result<Option<Part>, Fault> {
        let Some(slow) = slow.filter(|_| BBR.contains(&self.control(&stall.flow).as_str())) else {
            return Ok(None);
        };
        let came = self.table("deliveries")?;
        let (time, sent) = (came.numbers("time_ns")?, came.numbers("sent_ns")?);
        let rows = self.rows("deliveries", &stall.flow)?;
        let each: Vec<(i64, i64)> = rows.map(|row| (time.int(row), time.int(row) - sent.int(row))).collect();
        let least = |span: &dyn Fn(i64) -> bool| {
            each.iter().filter(|(time, _)| span(*time)).map(|(_, delay)| *delay).min()
        };
        let before = least(&|time| time < slow.start_ns);
        let after = least(&|time| time > stall.start_ns && time <= slow.end_ns);
        let (Some(before), Some(after)) = (before, after) else { return Ok(None) };
        if after < LONGER * before {
            return Ok(None);
        }
        let lost = self.table("drops")?.numbers("time_ns")?;
        let span = stall.end_ns + 1..=slow.end_ns;
        if !stall.is_slow && self.rows("drops", &stall.flow)?.any(|row| span.contains(&lost.int(row))) {
            return Ok(None);
        }
        let short = each.iter().filter(|(_, delay)| *delay < LONGER * before).map(|(time, _)| *time).max();
        let longer =
            each.iter().map(|(time, _)| *time).filter(|time| short.is_none_or(|short| *time > short)).min();
        let time_ns = longer.or(each.last().map(|(time, _)| *time)).unwrap_or(stall.start_ns);
        Ok(Some(Part { kind: "stale min_rtt", time_ns, role: Role::Slow }))
    }

    /// The congestion control of a flow, by its own parameters or those of the profile.
    fn control(&self, flow: &str) -> String {
        let Some((_, spec)) = self.declared(flow).into_iter().min_by_key(|(place, _)| *place) else {
            return String::new();
        };
        let transport = &spec["transport"];
        let given = ["congestion_control", "variant"].into_iter().map(|name| &transport[name]);
        let kind = |each: &serde_json::Value| each["kind"].as_str().or(each.as_str()).map(str::to_owned);
        let usual = || {
            let of_run = self.scenario["run"]["profile"].as_str().unwrap_or("rfc");
            let name = transport["profile"].as_str().unwrap_or(of_run);
            let profile = self.scenario["tcp_profiles"][name]["based_on"].as_str().unwrap_or(name);
            if transport["kind"] == "tcp" {
                roamlab_scenario::usual_variant(profile)
            } else {
                Some("reno".to_owned())
            }
        };
        given.filter_map(kind).next().or_else(usual).unwrap_or_default()
    }
}
