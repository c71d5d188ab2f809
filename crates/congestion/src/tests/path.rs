//! A path of the tests: a sender, a bottleneck with a queue, a receiver. `super::sender` has the ends; those of TCP are in the
//! tests of the crate `tcp`.

use super::sender::{Ack, CongestionControlSpec, Receiver, Segment, Sender, ends};
use roamlab_engine::tagged::TAG;
use roamlab_engine::{Duration, Rng, Time};
use serde::Deserialize;
use serde::de::value::MapDeserializer;
use std::collections::VecDeque;

/// A transfer over a bottleneck. A value that a test changes counts from then on.
pub(crate) struct Path {
    pub sender: Sender,
    receiver: Receiver,
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
    /// ACKs arrive together, at multiples of this time.
    pub batch: Duration,
    /// One segment of this number is late by this time.
    pub late: Option<(u32, Duration)>,
    /// Largest burst that the policer of the bottleneck lets pass, at the rate of the bottleneck; the rest is lost.
    pub policer: Option<f64>,
    /// Segments that have arrived, copies not counted.
    delivered: u64,
    /// Segments that went out, and those that were lost.
    pub sent: u64,
    pub lost: u64,
    tokens: f64,
    tokens_at: Time,
    last_arrival: Time,
    rng: Rng,
    free: Time,
    queue: VecDeque<Time>,
    data: VecDeque<(Time, Segment)>,
    acks: VecDeque<(Time, Ack)>,
}

/// A congestion control as JSON describes it, of which a value has no order: `kind` is read first.
pub(crate) fn control_of(json: serde_json::Value) -> CongestionControlSpec {
    let serde_json::Value::Object(fields) = json else { return serde_json::from_value(json).unwrap() };
    let mut fields: Vec<_> = fields.into_iter().collect();
    fields.sort_by_key(|(name, _)| name != TAG);
    CongestionControlSpec::deserialize(MapDeserializer::new(fields.into_iter()))
        .unwrap_or_else(|error: serde_json::Error| panic!("{error}"))
}

impl Path {
    /// 10 Mbit/s with segments of 1000 bytes, a round trip of 40 ms: 50 segments, and as many may wait.
    pub fn new(control: serde_json::Value) -> Path {
        Path::between(ends(&control_of(control)))
    }

    /// The same path between these ends.
    pub fn between((sender, receiver): (Sender, Receiver)) -> Path {
        Path {
            sender,
            receiver,
            now: Time::ZERO,
            rate: 1250.0,
            one_way: Duration::from_millis(20),
            buffer: 50,
            held_until: Time::ZERO,
            loss: 0.0,
            batch: Duration::ZERO,
            late: None,
            policer: None,
            delivered: 0,
            sent: 0,
            lost: 0,
            tokens: f64::INFINITY,
            tokens_at: Time::ZERO,
            last_arrival: Time::ZERO,
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
                let segment = self.data.pop_front().unwrap().1;
                self.delivered += u64::from(self.receiver.on_segment(segment, next));
            } else if heads[1] == Some(next) {
                let arrived = self.acks.pop_front().unwrap().1;
                self.sender.on_ack(&arrived, next);
            } else {
                self.sender.on_deadline(next);
            }
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
            self.sent += 1;
            if self.queued() > self.buffer || self.rng.uniform() < self.loss || self.is_policed() {
                self.lost += 1;
                continue;
            }
            let begins = self.now.max(self.free).max(self.held_until);
            self.free = begins + Duration::from_nanos((1e9 / self.rate) as u64);
            self.queue.push_back(self.free);
            let mut arrival = (self.free + self.one_way).max(self.last_arrival);
            self.last_arrival = arrival;
            if let Some((number, late)) = self.late
                && segment.seq.is_multiple_of(number)
                && !segment.retransmission
            {
                arrival += late;
            }
            let place = self.data.partition_point(|&(time, _)| time <= arrival);
            self.data.insert(place, (arrival, segment));
        }
        while let Some(arrived) = self.receiver.poll_transmit(self.now) {
            let last = self.acks.back().map_or(Time::ZERO, |last| last.0);
            let mut arrival = (self.now + self.one_way).max(last);
            if self.batch > Duration::ZERO {
                let (time, batch) = (arrival.as_nanos(), self.batch.as_nanos());
                arrival = Time::from_nanos(time.div_ceil(batch) * batch);
            }
            self.acks.push_back((arrival, arrived));
        }
    }

    fn is_policed(&mut self) -> bool {
        let Some(most) = self.policer else { return false };
        let filled = self.tokens + self.rate * self.now.since(self.tokens_at).as_secs_f64();
        (self.tokens, self.tokens_at) = (filled.min(most), self.now);
        if self.tokens < 1.0 {
            return true;
        }
        self.tokens -= 1.0;
        false
    }
}
