//! A chain of four nodes with store-and-forward links, as ns-2 models them, and one connection across it.
//!
//! A link serves one packet at a time; behind it the packet travels for the propagation delay. A drop-tail queue
//! of limit L holds L - 1 waiting packets and the one in service. Events at one time run in the order in which they
//! were made. The clock is a double, as in ns-2: with these rates and delays packets meet at exactly the same time,
//! and which goes first there is decided by rounding errors. The endpoints see the time in whole nanoseconds.

use roamlab_engine::{Bytes, Duration, Rate, Scheduler, Time};
use roamlab_packet::{Ecn, TcpFlags, TcpHeader};
use roamlab_transport::{TcpParams, TcpReceiver, TcpSender, TcpVariables};
use std::collections::VecDeque;

/// Hops from sender to receiver.
pub const HOPS: usize = 3;

/// One hop, the same in both directions but for the queue.
#[derive(Clone)]
pub struct Hop {
    pub rate: Rate,
    pub delay: Duration,
}

/// The path of one run.
#[derive(Clone)]
pub struct Path {
    pub hops: [Hop; HOPS],
    /// The hop whose forward queue is short and recorded.
    pub bottleneck: usize,
    /// That queue's limit; all others are endless.
    pub queue_limit: usize,
    /// Ordinals, from 0, of the data packets lost in front of the bottleneck queue.
    pub forced_losses: Vec<u64>,
    /// Packets arriving at either end of this hop in this span are lost.
    pub outage: Option<(usize, Time, Time)>,
    pub start: Time,
    pub stop: Time,
    pub tick_phase: Duration,
}

/// One line of the record.
#[derive(Clone, Debug)]
pub struct Row {
    pub at: Time,
    pub event: char,
    pub first: i64,
    pub second: String,
}

/// What a run left behind.
pub struct Outcome {
    pub rows: Vec<Row>,
    /// The sender's variables after every input that changed them, the first at time zero.
    pub variables: Vec<(Time, TcpVariables)>,
    pub sent: u64,
    pub retransmitted: u64,
    /// Wire bytes delivered in order.
    pub sink_bytes: u64,
    pub snd_max: u32,
    pub una: u32,
}

#[derive(Copy, Clone)]
enum Event {
    Start,
    Arrive { link: usize, packet: usize },
    TxDone { link: usize },
    SenderDeadline,
    ReceiverDeadline,
}

#[derive(Clone)]
struct Packet {
    header: TcpHeader,
    size: Bytes,
}

struct Link {
    rate: Rate,
    delay: Duration,
    limit: usize,
    waiting: VecDeque<usize>,
    busy: bool,
}

struct Network<'a> {
    path: &'a Path,
    /// Seconds.
    clock: f64,
    /// The clock in whole nanoseconds.
    now: Time,
    /// Keyed by the bits of a positive double, which sort as the double does.
    scheduler: Scheduler<Event>,
    /// Forward hops, then backward hops in the order in which an ACK meets them.
    links: Vec<Link>,
    packets: Vec<Packet>,
    sender: TcpSender,
    receiver: TcpReceiver,
    tick: Duration,
    /// The sender's deadline that an event is pending for.
    armed: Option<Time>,
    met_bottleneck: u64,
    outcome: Outcome,
}

/// Runs one connection over `path`.
pub fn simulate(path: &Path, params: &TcpParams) -> Outcome {
    let link = |hop: &Hop, limit| Link {
        rate: hop.rate,
        delay: hop.delay,
        limit,
        waiting: VecDeque::new(),
        busy: false,
    };
    let forward = path.hops.iter().enumerate().map(|(index, hop)| {
        let limit = if index == path.bottleneck { path.queue_limit } else { usize::MAX };
        link(hop, limit)
    });
    let backward = path.hops.iter().rev().map(|hop| link(hop, usize::MAX));
    let sender = TcpSender::new(params, path.tick_phase);
    let variables = vec![(Time::ZERO, sender.variables())];
    let mut network = Network {
        path,
        clock: 0.0,
        now: Time::ZERO,
        scheduler: Scheduler::default(),
        links: forward.chain(backward).collect(),
        packets: Vec::new(),
        sender,
        receiver: TcpReceiver::new(params),
        tick: params.tick,
        armed: None,
        met_bottleneck: 0,
        outcome: Outcome {
            rows: vec![],
            variables,
            sent: 0,
            retransmitted: 0,
            sink_bytes: 0,
            snd_max: 0,
            una: 0,
        },
    };
    network.run();
    network.outcome
}

impl Network<'_> {
    fn run(&mut self) {
        self.push(self.path.start.as_secs_f64(), Event::Start);
        while let Some((key, event)) = self.scheduler.pop() {
            self.clock = f64::from_bits(key.as_nanos());
            let now = Time::from_nanos((self.clock * 1e9).round() as u64);
            if self.clock >= self.path.stop.as_secs_f64() {
                break;
            }
            self.now = now;
            match event {
                Event::Start => {
                    self.sender.offer(None);
                    self.after_sender();
                }
                Event::Arrive { link, packet } => self.arrive(link, packet),
                Event::TxDone { link } => {
                    self.links[link].busy = false;
                    self.serve(link);
                }
                Event::SenderDeadline => {
                    self.sender.on_deadline(now);
                    self.after_sender();
                }
                Event::ReceiverDeadline => {
                    self.receiver.on_deadline(now);
                    self.after_receiver();
                }
            }
        }
        self.outcome.una = self.sender.acknowledged();
    }

    fn push(&mut self, seconds: f64, event: Event) {
        self.scheduler.push(Time::from_nanos(seconds.to_bits()), event);
    }

    fn record(&mut self, event: char, first: u32, second: impl Into<String>) {
        let row = Row { at: self.now, event, first: i64::from(first), second: second.into() };
        self.outcome.rows.push(row);
    }

    /// Sends what the sender has to send, and notes what has changed.
    fn after_sender(&mut self) {
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            let header = segment.header;
            self.outcome.sent += 1;
            self.outcome.retransmitted += u64::from(header.retransmission);
            self.outcome.snd_max = self.outcome.snd_max.max(header.seq + 1);
            self.record('S', header.seq, if header.retransmission { "1" } else { "0" });
            self.packets.push(Packet { header, size: segment.size });
            self.enqueue(0, self.packets.len() - 1);
        }
        self.arm_sender();
        while self.sender.poll_fact().is_some() {}
        self.outcome.variables.push((self.now, self.sender.variables()));
    }

    /// The timer's event, at the double that ns-2 adds up: ticks times tick times backoff, from now on.
    fn arm_sender(&mut self) {
        let deadline = self.sender.next_deadline();
        if deadline == self.armed {
            return;
        }
        self.armed = deadline;
        let Some(deadline) = deadline else { return };
        let (tick, backoff) = (self.tick.as_nanos(), self.sender.variables().backoff);
        let ticks = (deadline.since(self.now).as_nanos() / tick / backoff) as f64;
        self.push(self.clock + ticks * self.tick.as_secs_f64() * backoff as f64, Event::SenderDeadline);
    }

    fn after_receiver(&mut self) {
        while let Some(segment) = self.receiver.poll_transmit(self.now) {
            // The recording names the last segment in order, not the next one expected.
            let row = Row {
                at: self.now,
                event: 'K',
                first: i64::from(segment.header.ack) - 1,
                second: segment.size.0.to_string(),
            };
            self.outcome.rows.push(row);
            self.packets.push(Packet { header: segment.header, size: segment.size });
            self.enqueue(HOPS, self.packets.len() - 1);
        }
        if let Some(deadline) = self.receiver.next_deadline() {
            self.push(deadline.as_secs_f64(), Event::ReceiverDeadline);
        }
    }

    fn enqueue(&mut self, link: usize, packet: usize) {
        if link == self.path.bottleneck {
            let seq = self.packets[packet].header.seq;
            self.met_bottleneck += 1;
            if self.path.forced_losses.contains(&(self.met_bottleneck - 1)) {
                return self.record('D', seq, "l");
            }
            let waiting = self.links[link].waiting.len();
            self.record('Q', seq, waiting.to_string());
            if waiting + 1 >= self.links[link].limit {
                return self.record('D', seq, "q");
            }
        }
        self.links[link].waiting.push_back(packet);
        if !self.links[link].busy {
            self.serve(link);
        }
    }

    fn serve(&mut self, index: usize) {
        let link = &mut self.links[index];
        let Some(packet) = link.waiting.pop_front() else { return };
        link.busy = true;
        let transmission = 8.0 * self.packets[packet].size.0 as f64 / link.rate.as_bps() as f64;
        let arrival = self.clock + (transmission + link.delay.as_secs_f64());
        self.push(arrival, Event::Arrive { link: index, packet });
        self.push(self.clock + transmission, Event::TxDone { link: index });
    }

    fn arrive(&mut self, link: usize, packet: usize) {
        let hop = if link < HOPS { link } else { 2 * HOPS - 1 - link };
        let header = self.packets[packet].header;
        let lost =
            self.path.outage.is_some_and(|(out, from, to)| hop == out && from <= self.now && self.now < to);
        if lost {
            let is_ack = header.flags.has(TcpFlags::ACK);
            let number = if is_ack { header.ack - 1 } else { header.seq };
            return self.record('D', number, if is_ack { "la" } else { "l" });
        }
        if link + 1 == HOPS {
            let receipt = self.receiver.on_segment(&header, Ecn::NotEct, self.now);
            // A SYN counts too, though the application gets nothing of it; all data segments are of one size.
            let in_order =
                u64::from(receipt.in_order_segments.max(u32::from(header.flags.has(TcpFlags::SYN))));
            self.outcome.sink_bytes += in_order * self.packets[packet].size.0;
            self.after_receiver();
        } else if link + 1 == 2 * HOPS {
            self.sender.on_segment(&header, Ecn::NotEct, self.now);
            self.after_sender();
        } else {
            self.enqueue(link + 1, packet);
        }
    }
}
