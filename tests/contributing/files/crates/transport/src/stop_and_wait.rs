//! Stop and wait over UDP: one segment is in flight, and is sent again until its acknowledgement arrives (TFTP, RFC 1350
//! §2). An old acknowledgement makes the sender send nothing (RFC 1123 §4.2.3.1).

use crate::endpoints::{Arrival, Endpoints, FlowPacket, StraightPath};
use crate::family::Setting;
use crate::parameters::{Parameters, Warning};
use roamlab_congestion::{PathPolicy, SenderEvent, SenderEventKind, SenderVariables, SpecError};
use roamlab_engine::{Bytes, Duration, Packets, Time};
use roamlab_packet::{Ecn, Format, Header, Receipt, Side, TcpFlags};
use roamlab_tcp::Profiles;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A connection that waits for each segment's acknowledgement.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StopAndWaitSpec {
    /// Payload of a segment.
    pub segment: Bytes,
    /// Time after which a segment without acknowledgement is sent again.
    pub timeout: Duration,
}

pub(crate) use StopAndWaitSpec as Spec;

impl Default for StopAndWaitSpec {
    fn default() -> StopAndWaitSpec {
        StopAndWaitSpec { segment: Bytes(512), timeout: Duration::from_secs(1) }
    }
}

/// IPv4 and UDP headers, a code and a number.
const HEADERS: u64 = 32;

/// The two ends of a connection.
#[derive(Clone, Debug)]
pub struct Ends {
    spec: StopAndWaitSpec,
    offered: u64,
    /// The segment that is sent next or again, the highest that was sent, and when it is sent again.
    segment: u32,
    highest: u32,
    deadline: Option<Time>,
    /// When the segment was sent first, the time to its acknowledgement if it was sent once, and timeouts.
    sent: Time,
    rtt: Duration,
    timeouts: u64,
    events: VecDeque<SenderEvent>,
    /// The segment that the receiver expects, and whether it has to acknowledge.
    expected: u32,
    answers: bool,
}

/// The ends of a flow.
pub(crate) fn ends(spec: &StopAndWaitSpec, _setting: &Setting<'_>) -> Option<Ends> {
    Some(Ends {
        spec: spec.clone(),
        offered: 0,
        segment: 1,
        highest: 0,
        deadline: None,
        sent: Time::ZERO,
        rtt: Duration::ZERO,
        timeouts: 0,
        events: VecDeque::new(),
        expected: 1,
        answers: false,
    })
}

impl StraightPath for Ends {}

impl Endpoints for Ends {
    fn segment(&self) -> Option<Bytes> {
        Some(self.spec.segment)
    }

    fn offer(&mut self, segments: Option<u64>) {
        self.offered = segments.map_or(u64::MAX, |more| self.offered.saturating_add(more));
    }

    fn stop(&mut self) {
        self.offered = self.highest.into();
    }

    fn poll(&mut self, side: Side, now: Time) -> Option<FlowPacket> {
        let header = Header { format: Format::OverUdp, ..Header::default() };
        let header = match side {
            Side::Sender => {
                if self.deadline.is_some() || u64::from(self.segment) > self.offered {
                    return None;
                }
                let retransmission = self.segment <= self.highest;
                if !retransmission {
                    (self.highest, self.sent) = (self.segment, now);
                }
                self.deadline = Some(now + self.spec.timeout);
                Header { seq: self.segment, payload: self.spec.segment.0 as u32, retransmission, ..header }
            }
            Side::Receiver => {
                if !std::mem::take(&mut self.answers) {
                    return None;
                }
                Header { ack: self.expected, flags: TcpFlags::ACK, ..header }
            }
        };
        let size = Bytes(u64::from(header.payload) + HEADERS);
        Some(FlowPacket { header, size, ecn: Ecn::NotEct })
    }

    fn deliver(&mut self, side: Side, FlowPacket { header, .. }: FlowPacket, now: Time) -> Option<Arrival> {
        if header.format != Format::OverUdp {
            return None;
        }
        Some(match side {
            Side::Sender => {
                if header.ack == self.segment + 1 {
                    if self.deadline == Some(self.sent + self.spec.timeout) {
                        self.rtt = now.since(self.sent);
                    }
                    (self.segment, self.deadline) = (header.ack, None);
                }
                Arrival::default()
            }
            Side::Receiver => {
                let fresh = header.seq == self.expected;
                self.expected += u32::from(fresh);
                self.answers = true;
                let receipt = Receipt { fresh, in_order_segments: u32::from(fresh), out_of_order: false };
                Arrival::new(receipt, header.payload.into())
            }
        })
    }

    fn deadline(&self, side: Side) -> Option<Time> {
        self.deadline.filter(|_| side == Side::Sender)
    }

    fn on_deadline(&mut self, side: Side, now: Time) {
        if self.deadline(side).is_some_and(|deadline| deadline <= now) {
            self.deadline = None;
            self.timeouts += 1;
            let SenderVariables { cwnd, ssthresh, rto, srtt, .. } = self.state();
            let (kind, seq) = (SenderEventKind::Timeout, self.segment);
            self.events.push_back(SenderEvent { at: now, kind, seq, cwnd, ssthresh, rto, srtt });
        }
    }

    fn poll_event(&mut self) -> Option<SenderEvent> {
        self.events.pop_front()
    }

    fn variables(&self) -> Option<(SenderVariables, u32)> {
        Some((self.state(), self.segment))
    }

    fn has(&self, segment: u32) -> bool {
        segment < self.expected
    }
}

impl Ends {
    fn state(&self) -> SenderVariables {
        let Ends { rtt, timeouts, .. } = *self;
        SenderVariables {
            cwnd: 1.0,
            ssthresh: 1.0,
            rtt,
            srtt: rtt,
            rttvar: Duration::ZERO,
            rto: self.spec.timeout,
            backoff: 1,
            timeouts,
            reductions: 0,
        }
    }
}

impl Parameters for StopAndWaitSpec {
    fn check(&self, _profiles: Profiles<'_>) -> Result<Option<Bytes>, SpecError> {
        if !(1..=65_500).contains(&self.segment.0) {
            return Err(("segment", "must be \"1 B\" to \"65500 B\"; write \"512 B\"".into()));
        }
        if self.timeout == Duration::ZERO {
            return Err(("timeout", "must be positive; write \"1 s\"".into()));
        }
        Ok(Some(self.segment))
    }

    fn check_policy(&self, _policy: PathPolicy, _profiles: Profiles<'_>) -> Result<(), String> {
        Err("stop and wait has no window to change: leave `path_change` out".into())
    }

    fn warnings(&self, _profiles: Profiles<'_>, duration: Duration) -> Vec<Warning> {
        if self.timeout < duration {
            return Vec::new();
        }
        let message = format!(
            "a lost segment is sent again after {}, and the run ends at {duration}: none is",
            self.timeout
        );
        vec![Warning { field: "timeout", message, help: "write a shorter time, for example \"1 s\"" }]
    }

    fn load(&self, _profiles: Profiles<'_>) -> Option<(Bytes, Option<Packets>)> {
        Some((Bytes(self.segment.0 + HEADERS), Some(Packets(1))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roamlab_engine::Streams;
    use roamlab_tcp::ProfileName;
    use std::collections::BTreeMap;

    #[test]
    fn a_segment_is_sent_again_until_it_is_acknowledged() {
        let streams = Streams::Named { seed: 1, run: 1 };
        let setting = Setting {
            flow: "file",
            profiles: Profiles { run: &ProfileName::default(), declared: &BTreeMap::new() },
            streams: &streams,
            clock_phase: None,
            is_opened: false,
            uploads: false,
            previous: None,
        };
        let mut ends = ends(&StopAndWaitSpec::default(), &setting).unwrap();
        let at = |seconds: u64| Time::from_nanos(seconds * 1_000_000_000);
        ends.offer(Some(2));
        let first = ends.poll(Side::Sender, at(0)).unwrap();
        assert_eq!((first.header.seq, first.size, ends.poll(Side::Sender, at(0))), (1, Bytes(544), None));
        assert_eq!(ends.deadline(Side::Sender), Some(at(1)));
        ends.on_deadline(Side::Sender, at(1));
        let again = ends.poll(Side::Sender, at(1)).unwrap();
        assert!(again.header.retransmission && again.header.seq == 1);
        let fresh = |ends: &mut Ends, packet| ends.deliver(Side::Receiver, packet, at(2)).unwrap().fresh;
        assert_eq!([fresh(&mut ends, first), fresh(&mut ends, again)], [true, false]);
        let ack = ends.poll(Side::Receiver, at(2)).unwrap();
        assert_eq!((ack.header.ack, ends.poll(Side::Receiver, at(2))), (2, None));
        ends.deliver(Side::Sender, ack.clone(), at(3));
        assert_eq!(ends.poll(Side::Sender, at(3)).unwrap().header.seq, 2);
        ends.deliver(Side::Sender, ack, at(3));
        assert_eq!(ends.poll(Side::Sender, at(3)), None, "an old acknowledgement changes nothing");
        assert_eq!((ends.has(1), ends.has(2), ends.poll_event().unwrap().seq), (true, false, 1));
    }
}
