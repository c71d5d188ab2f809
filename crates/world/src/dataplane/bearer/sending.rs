//! The sending side of a bearer: the packets that have a number and are not confirmed, and those that wait for a number.

use crate::context::Context;
use roamlab_engine::{Bytes, Duration, Time};
use roamlab_mobility::{BearerValues, RlcMode};
use roamlab_packet::{Addr, PacketId, Snapshot, Waiting};
use roamlab_radio::bearer::{Kept, Repair, RepairTimers, Transmitter};
use roamlab_record::ids::LinkId;
use std::collections::{BTreeSet, VecDeque};

/// A packet with a number.
#[derive(Clone, Debug)]
pub struct Sdu {
    /// The packet of which copies are made; `None` in unacknowledged mode, where none are.
    pub snapshot: Option<Snapshot>,
    /// Where it is.
    pub state: State,
    /// Its size on a wire.
    pub size: Bytes,
}

/// Where a packet with a number is.
#[derive(Clone, Debug)]
pub enum State {
    /// It waits for this link, or is in flight on it.
    OnLink(LinkId),
    /// The air has lost it, and RLC is to send it again.
    Lost(Waiting),
    /// It has arrived, and the confirmation has not, or has been lost.
    Received,
    /// This distributed unit has it.
    Below(Addr),
}

/// State of another copy of a packet that the air loses.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Copy {
    /// There is one.
    Kept,
    /// There is none.
    None,
    /// There is none, as its discardTimer has expired.
    Discarded,
    /// It is not known here: the packet is none of those that are kept.
    Unknown,
}

/// A confirmation on its way: the STATUS of RLC.
#[derive(Copy, Clone, Debug)]
struct Confirmation {
    /// When it arrives.
    arrival: Time,
    /// When the packet arrived.
    sent: Time,
    /// The link of the packet.
    link: LinkId,
    number: u32,
}

/// The sending side of a bearer, at a base station or a host.
#[derive(Clone, Debug)]
pub struct Sending {
    values: BearerValues,
    /// PDCP.
    pub transmitter: Transmitter<Sdu>,
    /// RLC in acknowledged mode.
    pub repair: Repair,
    /// The limit of retransmissions was reached and reported.
    pub limit_reported: bool,
    /// Packets in flight, or at the receiver, of which no copy is kept, because their discardTimers have expired.
    only: BTreeSet<u32>,
    confirmations: VecDeque<Confirmation>,
    /// Packets that have arrived, of which no STATUS was heard: the next one has them too.
    unheard: BTreeSet<u32>,
    /// (Distributed unit) numbers that are confirmed or given up, and not reported yet.
    pub done: Option<BTreeSet<u32>>,
}

impl Sending {
    /// It has sent nothing.
    pub fn new(values: BearerValues) -> Sending {
        let timers = RepairTimers {
            reassembly: values.t_reassembly,
            status_prohibit: values.t_status_prohibit,
            poll_retransmit: values.t_poll_retransmit,
            max_retransmissions: values.max_retx_threshold,
        };
        Sending {
            values,
            transmitter: Transmitter::new(0, values.sn_bits, values.discard_timer),
            repair: Repair::new(timers),
            limit_reported: false,
            only: BTreeSet::new(),
            confirmations: VecDeque::new(),
            unheard: BTreeSet::new(),
            done: None,
        }
    }

    /// RLC repairs what the air loses.
    pub fn repairs(&self) -> bool {
        self.values.rlc == RlcMode::Am
    }

    /// A packet with a number is on its way now, in the given state; in acknowledged mode until it is confirmed. A copy that RLC
    /// was to send again in its place is returned.
    pub fn keep(&mut self, packet: &PacketId, number: u32, state: State, cx: &Context) -> Option<PacketId> {
        let since = cx.pool.since(&cx.pool[packet]).unwrap_or(cx.now);
        let snapshot = self.repairs().then(|| cx.pool.snapshot(packet));
        let size = cx.pool[packet].wire_size();
        match self.transmitter.keep(number, since, Sdu { snapshot, state, size })?.state {
            State::Lost(copy) => Some(copy.take()),
            State::OnLink(_) | State::Received | State::Below(_) => None,
        }
    }

    /// The numbers of packets whose discardTimers have expired; RLC goes through with those that it has sent again.
    pub fn expired(&mut self, now: Time) -> BTreeSet<u32> {
        let due = self.transmitter.on_deadline(now).into_iter();
        due.filter(|number| !self.repair.was_repeated(*number)).collect()
    }

    /// A packet arrives over a link after `started`. It is confirmed after `delay`.
    ///
    /// ASSUMPTION: the STATUS goes immediately, and takes as long as a packet is in flight.
    pub fn arrived(&mut self, number: u32, (link, started): (LinkId, Time), (now, delay): (Time, Duration)) {
        if !self.repairs() {
            self.transmitter.forget(number);
            return;
        }
        self.only.remove(&number);
        let Some(sdu) = self.transmitter.get_mut(number) else { return };
        match sdu.state {
            State::OnLink(expected) if expected == link => sdu.state = State::Received,
            // A copy of it has arrived, or it is to be sent elsewhere.
            State::Received => {}
            State::OnLink(_) | State::Lost(_) | State::Below(_) => return,
        }
        self.repair.received(number, started, now);
        self.confirmations.push_back(Confirmation { arrival: now + delay, sent: now, link, number });
    }

    /// The air loses a packet. `Ok`: RLC keeps it, to send it again; otherwise it is returned, with what is known of a copy.
    pub fn lost(
        &mut self,
        number: u32,
        packet: PacketId,
        (link, started): (LinkId, Time),
        now: Time,
    ) -> Result<(), (PacketId, Copy)> {
        if !self.repairs() {
            self.transmitter.forget(number);
            return Err((packet, Copy::None));
        }
        if self.only.remove(&number) {
            return Err((packet, Copy::Discarded));
        }
        match self.transmitter.get_mut(number) {
            Some(sdu) if matches!(sdu.state, State::OnLink(expected) if expected == link) => {
                sdu.state = State::Lost(packet.into());
                self.repair.lost(number, started, now);
                Ok(())
            }
            Some(_) => Err((packet, Copy::Kept)),
            None => Err((packet, Copy::Unknown)),
        }
    }

    /// (Central unit) numbers of packets that distributed units may have.
    pub fn below(&self) -> impl Iterator<Item = u32> {
        let is_below = |(_, sdu): &(u32, &Sdu)| matches!(sdu.state, State::Below(_));
        let kept = self.transmitter.kept().filter(is_below).map(|(number, _)| number);
        kept.chain(self.only.iter().copied())
    }

    /// True if no copy is kept of a packet that is elsewhere still.
    pub fn is_only(&self, number: u32) -> bool {
        self.only.contains(&number)
    }

    /// It takes the place of another one: of some packets in flight no copy is kept.
    pub fn succeed(&mut self, old: &mut Sending) {
        self.only = std::mem::take(&mut old.only);
    }

    /// The host has these packets, also those that are kept no more.
    pub fn forget_abandoned(&mut self, received: impl Fn(u32) -> bool) {
        self.only.retain(|number| !received(*number));
    }

    /// (Central unit) keeps a packet no more that a distributed unit may still send: its discardTimer has expired.
    pub fn abandon(&mut self, number: u32) {
        if self.transmitter.forget(number).is_some() {
            self.only.insert(number);
        }
    }

    /// (Central unit) packets that are at distributed units, or under way there, and their bytes.
    pub fn unreported(&self) -> (usize, Bytes) {
        let below = self.transmitter.unconfirmed().filter(|(_, sdu)| matches!(sdu.state, State::Below(_)));
        below.fold((0, Bytes(0)), |(packets, bytes), (_, sdu)| (packets + 1, Bytes(bytes.0 + sdu.size.0)))
    }

    /// Takes the confirmations in that have arrived. `heard`: one that was sent then about a packet on this link is heard.
    /// Copies that RLC was to send again, and that are confirmed, are returned.
    pub fn settle(&mut self, now: Time, heard: impl Fn(LinkId, Time) -> bool) -> Vec<PacketId> {
        let mut released = Vec::new();
        while let Some(&Confirmation { arrival, sent, link, number }) = self.confirmations.front()
            && arrival <= now
        {
            self.confirmations.pop_front();
            self.unheard.insert(number);
            if heard(link, sent) {
                for number in std::mem::take(&mut self.unheard) {
                    released.extend(self.confirm(number));
                }
            }
        }
        released
    }

    /// True if confirmations on their way confirm all packets up to this number, so that a re-establishment behind them
    /// repeats none of these. `heard`: as of [`settle`](Self::settle).
    pub fn confirms_up_to(&self, number: u32, heard: impl Fn(LinkId, Time) -> bool) -> bool {
        let mut coming = self.unheard.clone();
        let last = self.confirmations.iter().rposition(|each| heard(each.link, each.sent));
        let Some(last) = last else { return false };
        coming.extend(self.confirmations.iter().take(last + 1).map(|each| each.number));
        let mut open = self.transmitter.unconfirmed().map(|(number, _)| number);
        open.by_ref().take_while(|open| *open <= number).all(|open| coming.contains(&open))
    }

    /// A packet is confirmed. A copy that RLC was to send again is returned.
    fn confirm(&mut self, number: u32) -> Option<PacketId> {
        let state =
            self.transmitter.get_mut(number).map(|sdu| std::mem::replace(&mut sdu.state, State::Received));
        self.transmitter.confirm(number);
        self.repair.forget(number);
        self.note_done(number);
        match state {
            Some(State::Lost(copy)) => Some(copy.take()),
            _ => None,
        }
    }

    /// Its central unit need not keep this packet any more.
    pub fn note_done(&mut self, number: u32) {
        if let Some(done) = &mut self.done {
            done.insert(number);
        }
    }

    /// When the last confirmation that is on its way arrives.
    pub fn last_confirmation(&self) -> Option<Time> {
        self.confirmations.iter().map(|each| each.arrival).max()
    }

    /// When the next confirmation arrives.
    pub fn next_confirmation(&self) -> Option<Time> {
        self.confirmations.front().map(|first| first.arrival)
    }

    /// Takes all packets from the first unconfirmed one on, in order, to be sent elsewhere. RLC is re-established.
    pub fn take_all(&mut self) -> Vec<(u32, Kept<Sdu>)> {
        let kept: Vec<(u32, Kept<Sdu>)> = self.transmitter.take_all().collect();
        let is_only = |kept: &Kept<Sdu>| kept.discarded && !matches!(kept.sdu.state, State::Lost(_));
        self.only.extend(kept.iter().filter(|(_, kept)| is_only(kept)).map(|(number, _)| *number));
        self.restart_repair();
        kept
    }

    /// RLC is re-established: confirmations on their way are lost.
    fn restart_repair(&mut self) {
        self.repair.restart();
        self.confirmations.clear();
        self.unheard.clear();
        self.limit_reported = false;
    }

    /// The queue before a link has lost a packet: nothing of it is left.
    pub fn lost_before(&mut self, number: u32, link: LinkId) {
        let is_there = |sdu: &Sdu| matches!(sdu.state, State::OnLink(expected) if expected == link);
        if self.transmitter.get(number).is_some_and(is_there) {
            self.transmitter.forget(number);
            self.repair.forget(number);
            self.note_done(number);
        }
    }

    /// The host has reported that it has a packet.
    pub fn skip(&mut self, number: u32) -> Option<Waiting> {
        self.repair.forget(number);
        match self.transmitter.forget(number)?.state {
            State::Lost(packet) => Some(packet),
            State::OnLink(_) | State::Received | State::Below(_) => None,
        }
    }

    /// The packets that the air has lost and RLC is to send again.
    pub fn waiting(&self) -> impl Iterator<Item = &Waiting> {
        self.transmitter.kept().filter_map(|(_, sdu)| match &sdu.state {
            State::Lost(packet) => Some(packet),
            State::OnLink(_) | State::Received | State::Below(_) => None,
        })
    }
}
