//! A message bus with constant delays between agents, and a data plane that obeys their routes.

use crate::lab::{self, HOST, PEER, Subject as _};
use crate::mobile_ip::{
    Action, BaseStation, Correspondent, ForeignAgent, HomeAgent, Input, Message, MobileHost, MobileIp,
    Params, Phase,
};
use crate::{Agent, Direction, L2Trigger, Via};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;
use std::collections::BTreeMap;

pub const HA: Addr = Addr::new(1, 0);
pub const CH: Addr = PEER;
pub const FA_A: Addr = Addr::new(10, 0);
pub const FA_B: Addr = Addr::new(11, 0);
pub const FA_C: Addr = Addr::new(12, 0);
pub const BS_A: Addr = Addr::new(20, 0);
pub const BS_B: Addr = Addr::new(21, 0);
pub const BS_C: Addr = Addr::new(22, 0);
/// A second base station of agent A.
pub const BS_A2: Addr = Addr::new(23, 0);

pub const NAMES: &[(Addr, &str)] = &[
    (HOST, "host"),
    (HA, "ha"),
    (CH, "ch"),
    (FA_A, "fa-a"),
    (FA_B, "fa-b"),
    (FA_C, "fa-c"),
    (BS_A, "bs-a"),
    (BS_B, "bs-b"),
    (BS_C, "bs-c"),
    (BS_A2, "bs-a2"),
    (Addr::BROADCAST, "all"),
];

pub fn name(addr: Addr) -> String {
    lab::name(NAMES, addr)
}

fn agent_of(base_station: Addr) -> Addr {
    match base_station {
        BS_A | BS_A2 => FA_A,
        BS_B => FA_B,
        _ => FA_C,
    }
}

/// One way, in ms: the delays of [mblue] table I.
fn delay(one: Addr, other: Addr) -> Duration {
    let is_agent = |addr: Addr| !addr.is_mobile() && (10..20).contains(&addr.number());
    let millis = match (one, other) {
        (CH, HA) | (HA, CH) => 60,
        (HA, _) | (_, HA) => 60,
        (CH, _) | (_, CH) => 40,
        _ if is_agent(one) && is_agent(other) => 1,
        _ if is_agent(one) || is_agent(other) => 1,
        _ => 3,
    };
    Duration::from_millis(millis)
}

#[derive(Clone, Debug)]
struct Packet {
    number: u64,
    hops: u32,
    forwarded: bool,
}

#[derive(Clone, Debug)]
enum Event {
    Message {
        from: Addr,
        to: Addr,
        message: Message,
    },
    /// A signalling message that base station `from` sent to the host or to all hosts.
    Air {
        from: Addr,
        source: Addr,
        message: Message,
    },
    Packet {
        at: Addr,
        from: Option<Addr>,
        tunnelled: bool,
        packet: Packet,
    },
    AirPacket {
        base_station: Addr,
        packet: Packet,
    },
    Offer,
    Move {
        to: Option<Addr>,
    },
}

#[derive(Default, Debug)]
struct Buffer {
    held: Vec<Packet>,
    release: Option<(Via, bool)>,
}

type Lose = Box<dyn FnMut(Time, Addr, Addr, &Message) -> bool>;
type Postpone = Box<dyn FnMut(Time, Addr, Addr, &Message) -> Duration>;

pub struct Bus {
    pub now: Time,
    agents: BTreeMap<Addr, MobileIp>,
    events: BTreeMap<(Time, u64), Event>,
    inserted: u64,
    attached: Option<Addr>,
    routes: BTreeMap<(Addr, Option<Addr>), (Via, bool)>,
    buffers: BTreeMap<Addr, Buffer>,
    offered: u64,
    offer_until: Time,
    pub spacing: Duration,
    /// Fates of a message.
    pub lose: Lose,
    /// Additional delay of a message.
    pub postpone: Postpone,
    /// Time, sender, receiver, name of every message sent.
    pub sent: Vec<(Time, Addr, Addr, &'static str)>,
    pub notes: Vec<(Time, Addr, Phase)>,
    /// Time and number of packets the host received, and whether they were marked.
    pub received: Vec<(Time, u64, bool)>,
    pub lost: Vec<(Time, Addr, u64)>,
}

impl Bus {
    pub fn new(params: &Params) -> Bus {
        let base_station = |address| {
            let latency = delay(address, HOST);
            BaseStation::new(agent_of(address), Duration::ZERO, latency, params)
        };
        let mut agents: BTreeMap<Addr, MobileIp> = BTreeMap::new();
        agents.insert(HOST, MobileHost::new(HOST, HA, params).into());
        agents.insert(HA, HomeAgent::new(HA, params).into());
        agents.insert(CH, Correspondent::new(params).into());
        for (agent, cells) in [(FA_A, vec![BS_A, BS_A2]), (FA_B, vec![BS_B]), (FA_C, vec![BS_C])] {
            agents.insert(agent, ForeignAgent::new(agent, &cells, Duration::ZERO, params).into());
            agents.extend(cells.into_iter().map(|cell| (cell, base_station(cell).into())));
        }
        Bus {
            now: Time::ZERO,
            agents,
            events: BTreeMap::new(),
            inserted: 0,
            attached: None,
            routes: BTreeMap::new(),
            buffers: BTreeMap::new(),
            offered: 0,
            offer_until: Time::ZERO,
            spacing: Duration::from_millis(5),
            lose: Box::new(|_, _, _, _| false),
            postpone: Box::new(|_, _, _, _| Duration::ZERO),
            sent: Vec::new(),
            notes: Vec::new(),
            received: Vec::new(),
            lost: Vec::new(),
        }
    }

    /// The host moves to a cell, or out of all.
    pub fn move_at(&mut self, at: Time, to: Option<Addr>) {
        self.schedule(at, Event::Move { to });
    }

    /// The correspondent sends a packet every `spacing` (5 ms) from `start` to `end`.
    pub fn offer(&mut self, start: Time, end: Time) {
        self.offer_until = end;
        self.schedule(start, Event::Offer);
    }

    pub fn state(&self, at: Addr) -> &'static str {
        self.agents[&at].state(HOST)
    }

    pub fn route(&self, at: Addr, from: Option<Addr>) -> Option<Via> {
        self.routes.get(&(at, from)).map(|route| route.0)
    }

    /// Times after `since` at which `at` noted `phase`.
    pub fn noted(&self, at: Addr, phase: Phase, since: Time) -> Vec<Time> {
        let hits = self.notes.iter().filter(|note| note.0 >= since && note.1 == at && note.2 == phase);
        hits.map(|note| note.0).collect()
    }

    /// Times after `since` at which `from` sent `message` to `to`.
    pub fn sent(&self, from: Addr, to: Addr, message: &str, since: Time) -> Vec<Time> {
        let hits = self
            .sent
            .iter()
            .filter(|sent| sent.0 >= since && (sent.1, sent.2, sent.3) == (from, to, message));
        hits.map(|sent| sent.0).collect()
    }

    /// Numbers of the packets received, in order of arrival.
    pub fn numbers(&self) -> Vec<u64> {
        self.received.iter().map(|received| received.1).collect()
    }

    /// Every packet offered has arrived exactly once.
    pub fn assert_lossless(&self) {
        let mut numbers = self.numbers();
        numbers.sort_unstable();
        assert_eq!(self.lost, [], "lost");
        assert_eq!(numbers, (0..self.offered).collect::<Vec<_>>(), "received");
    }

    /// Packets received right after a later one, as (later, earlier), among those received after `since`.
    pub fn overtaken(&self, since: Time) -> Vec<(u64, u64)> {
        let numbers: Vec<_> = self.received.iter().filter(|r| r.0 >= since).map(|r| r.1).collect();
        numbers.windows(2).filter(|pair| pair[0] > pair[1]).map(|pair| (pair[0], pair[1])).collect()
    }

    pub fn run_until(&mut self, end: Time) {
        loop {
            let event = self.events.keys().next().copied();
            let deadline =
                self.agents.iter().filter_map(|(&at, agent)| Some((agent.next_deadline()?, at))).min();
            let event_time = event.map_or(Time::MAX, |key| key.0);
            let deadline_time = deadline.map_or(Time::MAX, |due| due.0);
            let next = event_time.min(deadline_time);
            if next > end {
                self.now = end;
                return;
            }
            assert!(next >= self.now, "a deadline in the past: {deadline:?}");
            self.now = next;
            match (event, deadline) {
                (Some(key), _) if event_time <= deadline_time => {
                    if let Some(event) = self.events.remove(&key) {
                        self.handle(event);
                    }
                }
                (_, Some((_, at))) => {
                    self.tell(at, Input::Deadline);
                    let again = self.agents[&at].next_deadline();
                    assert!(again.is_none_or(|again| again > next), "{} is stuck at {next}", name(at));
                }
                _ => unreachable!("something is due"),
            }
        }
    }

    /// Hands an input to the agent at a node and obeys.
    pub fn tell(&mut self, at: Addr, input: Input) {
        let mut actions = Vec::new();
        if let Some(agent) = self.agents.get_mut(&at) {
            agent.on(input, self.now, &mut actions);
        }
        actions.into_iter().for_each(|action| self.obey(at, action));
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.inserted += 1;
        self.events.insert((at, self.inserted), event);
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Message { from, to, message } => self.tell(to, Input::Message { from, message }),
            Event::Air { from, source, message } => {
                if self.attached == Some(from) {
                    self.tell(HOST, Input::Message { from: source, message });
                }
            }
            Event::Packet { at, from, tunnelled, packet } => self.forward(at, from, tunnelled, packet),
            Event::AirPacket { base_station, packet } => {
                if self.attached == Some(base_station) {
                    self.received.push((self.now, packet.number, packet.forwarded));
                } else {
                    self.lost.push((self.now, base_station, packet.number));
                }
            }
            Event::Offer => {
                let packet = Packet { number: self.offered, hops: 0, forwarded: false };
                self.offered += 1;
                self.forward(CH, None, false, packet);
                let next = self.now + self.spacing;
                if next < self.offer_until {
                    self.schedule(next, Event::Offer);
                }
            }
            Event::Move { to } => self.relocate(to),
        }
    }

    fn relocate(&mut self, to: Option<Addr>) {
        if let Some(old) = self.attached.take() {
            self.tell(HOST, Input::Trigger(L2Trigger::LinkDown { base_station: old }));
            self.tell(old, Input::Trigger(L2Trigger::HostGone { host: HOST }));
        }
        if let Some(new) = to {
            self.attached = to;
            self.tell(HOST, Input::Trigger(L2Trigger::LinkUp { base_station: new }));
            self.tell(new, Input::Trigger(L2Trigger::HostArrived { host: HOST }));
        }
    }

    fn forward(&mut self, at: Addr, from: Option<Addr>, tunnelled: bool, mut packet: Packet) {
        packet.hops += 1;
        assert!(packet.hops < 40, "packet {} circles", packet.number);
        let own = from.and_then(|from| self.routes.get(&(at, Some(from))).copied());
        let route = own.or_else(|| self.routes.get(&(at, None)).copied());
        let lost = route.is_none() && at != CH;
        if lost || route.is_some_and(|route| route.1) {
            self.tell(
                at,
                Input::Data { host: HOST, peer: CH, direction: Direction::Down, from: None, tunnelled, lost },
            );
        }
        match route {
            Some((via, _)) => self.pass(at, via, packet),
            None if at == CH => {
                let arrival = self.now + delay(CH, HA);
                self.schedule(arrival, Event::Packet { at: HA, from: None, tunnelled: false, packet });
            }
            None => self.lost.push((self.now, at, packet.number)),
        }
    }

    fn pass(&mut self, at: Addr, via: Via, mut packet: Packet) {
        let event = match via {
            Via::Neighbour(next) => {
                (delay(at, next), Event::Packet { at: next, from: Some(at), tunnelled: false, packet })
            }
            Via::Tunnel(end) => {
                (delay(at, end), Event::Packet { at: end, from: None, tunnelled: true, packet })
            }
            Via::Air => (delay(at, HOST), Event::AirPacket { base_station: at, packet }),
            Via::ReorderQueue | Via::Relay { .. } | Via::Discard => {
                unreachable!("Mobile IP has one line, and no relay that ends")
            }
            Via::Buffer => {
                let Some(buffer) = self.buffers.get_mut(&at) else {
                    return self.lost.push((self.now, at, packet.number));
                };
                match buffer.release {
                    None => buffer.held.push(packet),
                    Some((via, mark)) => {
                        packet.forwarded |= mark;
                        self.pass(at, via, packet);
                    }
                }
                return;
            }
        };
        self.schedule(self.now + event.0, event.1);
    }

    fn obey(&mut self, at: Addr, action: Action) {
        match action {
            Action::Send { to, message } => self.send(at, to, message),
            Action::SetRoute { host: HOST, from, via, watch } => {
                self.routes.insert((at, from), (via, watch));
            }
            Action::ClearRoute { host: HOST, from } => {
                self.routes.remove(&(at, from));
            }
            Action::StartBuffering { host: HOST } => {
                let mut buffer = Buffer::default();
                self.events.retain(|_, event| match event {
                    Event::AirPacket { base_station, packet } if *base_station == at => {
                        buffer.held.push(packet.clone());
                        false
                    }
                    _ => true,
                });
                self.buffers.insert(at, buffer);
                self.routes.insert((at, None), (Via::Buffer, false));
            }
            Action::Release { host: HOST, via, mark } => {
                let Some(buffer) = self.buffers.get_mut(&at) else { return };
                buffer.release = Some((via, mark.is_some()));
                for mut packet in std::mem::take(&mut buffer.held) {
                    packet.forwarded |= mark.is_some();
                    self.pass(at, via, packet);
                }
            }
            Action::DiscardBuffer { host: HOST } => {
                let held = self.buffers.remove(&at).unwrap_or_default().held;
                self.lost.extend(held.iter().map(|packet| (self.now, at, packet.number)));
            }
            Action::Note { host: HOST, phase } => self.notes.push((self.now, at, phase)),
            other => panic!("another host's: {other:?}"),
        }
    }

    fn send(&mut self, from: Addr, to: Addr, message: Message) {
        self.sent.push((self.now, from, to, message.name()));
        if (self.lose)(self.now, from, to, &message) {
            return;
        }
        let extra = (self.postpone)(self.now, from, to, &message);
        if to == Addr::BROADCAST {
            let event = Event::Air { from, source: from, message };
            return self.schedule(self.now + delay(from, HOST) + extra, event);
        }
        if from == HOST {
            let Some(base_station) = self.attached else { return };
            let beyond = if to == base_station { Duration::ZERO } else { delay(base_station, to) };
            let arrival = self.now + delay(HOST, base_station) + beyond + extra;
            return self.schedule(arrival, Event::Message { from, to, message });
        }
        if to != HOST {
            let event = Event::Message { from, to, message };
            return self.schedule(self.now + delay(from, to) + extra, event);
        }
        let (base_station, before) = match self.route(from, None) {
            Some(Via::Air) => (from, Duration::ZERO),
            Some(Via::Neighbour(next)) if self.route(next, None) == Some(Via::Air) => {
                (next, delay(from, next))
            }
            _ => return,
        };
        let arrival = self.now + before + delay(base_station, HOST) + extra;
        self.schedule(arrival, Event::Air { from: base_station, source: from, message });
    }
}
