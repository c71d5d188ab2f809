//! RLC in acknowledged mode (TS 38.322): when a PDU that was lost on the air is sent again.
//!
//! Both ends of a bearer in one: it is notified of each PDU when that arrives, or would have. A later PDU that arrives
//! reveals a gap, and t-Reassembly starts (§5.2.3.2.3). When it expires the receiver sends a STATUS, at most one in
//! t-StatusProhibit (§5.3.4), and what that names is sent again. When the last PDU is lost, t-PollRetransmit of the sender
//! expires (§5.3.3.4).
//!
//! ASSUMPTION: every PDU has a poll, and the STATUS that it asks for confirms the PDU one air delay after its arrival; a
//! STATUS is lost only if its sender is not heard.

use roamlab_engine::{Duration, Time};
use std::collections::{BTreeMap, VecDeque};

/// Timers of RLC in acknowledged mode (TS 38.331 §6.3.2).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct RepairTimers {
    /// t-Reassembly.
    pub reassembly: Duration,
    /// t-StatusProhibit.
    pub status_prohibit: Duration,
    /// t-PollRetransmit.
    pub poll_retransmit: Duration,
    /// maxRetxThreshold.
    pub max_retransmissions: u32,
}

/// State of a lost PDU at the receiver.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Gap {
    /// No later PDU has arrived.
    Unseen,
    /// A later PDU has arrived, after t-Reassembly was started.
    Seen,
    /// t-Reassembly runs for it.
    Awaited,
    /// The next STATUS names it.
    Due,
    /// A STATUS that names it is on its way, or it is being sent again.
    Named,
}

/// The repair of the PDUs of a bearer in one direction.
#[derive(Clone, Debug)]
pub struct Repair {
    timers: RepairTimers,
    missing: BTreeMap<u32, Gap>,
    /// When t-Reassembly expires.
    reassembly: Option<Time>,
    /// When the next STATUS with a gap is sent.
    status: Option<Time>,
    /// When t-StatusProhibit expires.
    prohibited: Time,
    /// STATUS reports on their way: when they arrive, and what they name.
    reports: VecDeque<(Time, Vec<u32>)>,
    /// POLL_SN, and when t-PollRetransmit expires.
    poll: Option<(u32, Time)>,
    /// RETX_COUNT of PDUs that were sent again.
    retransmissions: BTreeMap<u32, u32>,
    limit_reached: bool,
}

impl Repair {
    /// Nothing has been sent.
    pub fn new(timers: RepairTimers) -> Repair {
        Repair {
            timers,
            missing: BTreeMap::new(),
            reassembly: None,
            status: None,
            prohibited: Time::ZERO,
            reports: VecDeque::new(),
            poll: None,
            retransmissions: BTreeMap::new(),
            limit_reached: false,
        }
    }

    /// RLC is re-established (§5.1.2): all state is gone.
    pub fn restart(&mut self) {
        *self = Repair::new(self.timers);
    }

    /// A PDU, whose transmission began at `sent`, does not arrive now.
    pub fn lost(&mut self, pdu: u32, sent: Time, now: Time) {
        self.missing.insert(pdu, Gap::Unseen);
        self.poll = Some((pdu, (sent + self.timers.poll_retransmit).max(now)));
    }

    /// A PDU, whose transmission began at `sent`, arrives now.
    pub fn received(&mut self, pdu: u32, sent: Time, now: Time) {
        self.missing.remove(&pdu);
        self.poll = Some((pdu, (sent + self.timers.poll_retransmit).max(now)));
        for gap in self.missing.values_mut().filter(|gap| **gap == Gap::Unseen) {
            *gap = Gap::Seen;
        }
        if self.reassembly.is_some() && !self.any(Gap::Awaited) {
            self.reassembly = None;
        }
        self.start_reassembly(now);
    }

    fn any(&self, gap: Gap) -> bool {
        self.missing.values().any(|other| *other == gap)
    }

    fn start_reassembly(&mut self, now: Time) {
        if self.reassembly.is_some() || !self.any(Gap::Seen) {
            return;
        }
        self.turn(Gap::Seen, Gap::Awaited);
        self.reassembly = Some(now + self.timers.reassembly);
    }

    fn turn(&mut self, from: Gap, to: Gap) {
        self.missing.values_mut().filter(|gap| **gap == from).for_each(|gap| *gap = to);
    }

    /// The STATUS that confirms a PDU has arrived at its sender.
    pub fn confirmed(&mut self, pdu: u32) {
        self.retransmissions.remove(&pdu);
        if self.poll.is_some_and(|(polled, _)| polled == pdu) {
            self.poll = None;
        }
    }

    /// A PDU need not be sent again.
    pub fn forget(&mut self, pdu: u32) {
        self.missing.remove(&pdu);
        self.confirmed(pdu);
    }

    /// The next time at which [`on_deadline`](Self::on_deadline) may do something.
    pub fn deadline(&self) -> Option<Time> {
        let report = self.reports.front().map(|(arrival, _)| *arrival);
        [self.reassembly, self.status, report, self.poll.map(|(_, expiry)| expiry)]
            .into_iter()
            .flatten()
            .min()
    }

    /// Timers may have expired, or a STATUS may have arrived: the PDUs that are to be sent again now. `more`: other PDUs
    /// wait to be sent, and one of them takes the poll. `status`: how long a STATUS takes, `None`: its sender is not heard.
    pub fn on_deadline(&mut self, now: Time, more: bool, status: Option<Duration>) -> Vec<u32> {
        let mut again = Vec::new();
        while self.reports.front().is_some_and(|(arrival, _)| *arrival <= now)
            && let Some((_, named)) = self.reports.pop_front()
        {
            for pdu in named {
                match self.missing.get_mut(&pdu) {
                    Some(_) if status.is_some() => again.push(pdu),
                    Some(gap) => {
                        *gap = Gap::Due;
                        self.status = Some(self.prohibited.max(now + self.timers.poll_retransmit));
                    }
                    None => {}
                }
            }
        }
        if self.reassembly.is_some_and(|expiry| expiry <= now) {
            self.reassembly = None;
            self.turn(Gap::Awaited, Gap::Due);
            self.start_reassembly(now);
            self.status = self.any(Gap::Due).then_some(self.prohibited.max(now));
        }
        if self.status.is_some_and(|time| time <= now) {
            self.status = None;
            self.send_status(now, status.unwrap_or(self.timers.poll_retransmit));
        }
        if let Some((pdu, _)) = self.poll.filter(|(_, expiry)| *expiry <= now) {
            self.poll = more.then_some((pdu, now + self.timers.poll_retransmit));
            if !more && !again.contains(&pdu) {
                self.missing.insert(pdu, Gap::Named);
                again.push(pdu);
            }
        }
        again.iter().for_each(|&pdu| self.count(pdu));
        again
    }

    fn send_status(&mut self, now: Time, takes: Duration) {
        let due = self.missing.iter().filter(|(_, gap)| **gap == Gap::Due);
        let named: Vec<u32> = due.map(|(pdu, _)| *pdu).collect();
        self.turn(Gap::Due, Gap::Named);
        if !named.is_empty() {
            self.prohibited = now + self.timers.status_prohibit;
            self.reports.push_back((now + takes, named));
        }
    }

    /// RETX_COUNT (§5.3.2): 0 at the first retransmission, one more at each later one.
    fn count(&mut self, pdu: u32) {
        let count = self.retransmissions.entry(pdu).and_modify(|count| *count += 1).or_insert(0);
        self.limit_reached |= *count == self.timers.max_retransmissions;
    }

    /// True once: some PDU has been sent as often as it may be.
    pub fn take_limit(&mut self) -> bool {
        std::mem::take(&mut self.limit_reached)
    }

    /// True if the PDU has been sent again.
    pub fn was_repeated(&self, pdu: u32) -> bool {
        self.retransmissions.contains_key(&pdu)
    }
}
