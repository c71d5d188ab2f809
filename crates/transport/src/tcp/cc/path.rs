//! A path of the tests: a sender, a bottleneck with a queue, a receiver.

use crate::{CongestionControlSpec, Profile, TcpReceiver, TcpSender, TcpSpec};
use roamlab_engine::tagged::TAG;
use roamlab_engine::{Bytes, Duration, Rng, Time};
use roamlab_packet::{Ecn, TcpHeader};
use serde::Deserialize;
use serde::de::value::MapDeserializer;
use std::collections::VecDeque;

/// A transfer over a bottleneck. What a test changes counts from then on.
pub(super) struct Path {
    pub sender: TcpSender,
    receiver: TcpReceiver,
    pub now: Time,
    /// Segments per second of the bottleneck.
    pub rate: f64,
    /// Of the data; ACKs take the same time.
    pub one_way: Duration,
    /// Segments that wait at most.
    pub buffer: usize,
    /// The bottleneck holds what arrives until this time.
    pub held_until: Time,
    /// Chance that the bottleneck loses a segment.
    pub loss: f64,
    /// Segments that have arrived, copies not counted.
    delivered: u64,
    rng: Rng,
    free: Time,
    queue: VecDeque<Time>,
    data: VecDeque<(Time, TcpHeader)>,
    acks: VecDeque<(Time, TcpHeader)>,
}

/// A congestion control as JSON describes it, of which a value has no order: `kind` is read first.
pub(super) fn control_of(json: serde_json::Value) -> CongestionControlSpec {
    let serde_json::Value::Object(fields) = json else { return serde_json::from_value(json).unwrap() };
    let mut fields: Vec<_> = fields.into_iter().collect();
    fields.sort_by_key(|(name, _)| name != TAG);
    CongestionControlSpec::deserialize(MapDeserializer::new(fields.into_iter()))
        .unwrap_or_else(|error: serde_json::Error| panic!("{error}"))
}

impl Path {
    /// 10 Mbit/s with segments of 1000 bytes, a round trip of 40 ms: 50 segments, and as many may wait.
    pub fn new(control: serde_json::Value) -> Path {
        let spec = TcpSpec {
            variant: Some(crate::Variant::Sack),
            congestion_control: Some(control_of(control)),
            segment: Some(Bytes(1000)),
            ..TcpSpec::default()
        };
        let params = spec.resolve(Profile::Rfc).unwrap();
        Path {
            sender: TcpSender::new(&params, Duration::ZERO),
            receiver: TcpReceiver::new(&params),
            now: Time::ZERO,
            rate: 1250.0,
            one_way: Duration::from_millis(20),
            buffer: 50,
            held_until: Time::ZERO,
            loss: 0.0,
            delivered: 0,
            rng: Rng::named(1, 1, "path"),
            free: Time::ZERO,
            queue: VecDeque::new(),
            data: VecDeque::new(),
            acks: VecDeque::new(),
        }
    }

    /// Segments per second that were delivered in so long from now on.
    pub fn run(&mut self, span: Duration) -> f64 {
        let (end, before) = (self.now + span, self.delivered);
        loop {
            self.send();
            let heads = [self.data.front().map(|head| head.0), self.acks.front().map(|head| head.0)];
            let deadlines = [self.sender.next_deadline(), self.receiver.next_deadline()];
            let next = heads.into_iter().chain(deadlines).flatten().min().unwrap_or(Time::MAX);
            if next > end {
                self.now = end;
                return (self.delivered - before) as f64 / span.as_secs_f64();
            }
            self.now = next;
            if heads[0] == Some(next) {
                let header = self.data.pop_front().unwrap().1;
                let receipt = self.receiver.on_segment(&header, Ecn::NotEct, next);
                self.delivered += u64::from(receipt.fresh);
            } else if heads[1] == Some(next) {
                let header = self.acks.pop_front().unwrap().1;
                self.sender.on_segment(&header, Ecn::NotEct, next);
            } else {
                self.sender.on_deadline(next);
                self.receiver.on_deadline(next);
            }
            while self.sender.poll_fact().is_some() {}
        }
    }

    pub fn run_ms(&mut self, milliseconds: u64) -> f64 {
        self.run(Duration::from_millis(milliseconds))
    }

    /// Segments in the queue.
    pub fn queued(&mut self) -> usize {
        while self.queue.front().is_some_and(|&leaves| leaves <= self.now) {
            self.queue.pop_front();
        }
        self.queue.len()
    }

    fn send(&mut self) {
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            if self.queued() > self.buffer || self.rng.uniform() < self.loss {
                continue;
            }
            let begins = self.now.max(self.free).max(self.held_until);
            self.free = begins + Duration::from_nanos((1e9 / self.rate) as u64);
            self.queue.push_back(self.free);
            let last = self.data.back().map_or(Time::ZERO, |last| last.0);
            self.data.push_back(((self.free + self.one_way).max(last), segment.header));
        }
        while let Some(segment) = self.receiver.poll_transmit(self.now) {
            let last = self.acks.back().map_or(Time::ZERO, |last| last.0);
            self.acks.push_back(((self.now + self.one_way).max(last), segment.header));
        }
    }
}
