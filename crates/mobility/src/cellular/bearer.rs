//! The user plane of one host at a base station: the destination and order of its packets.
//!
//! Two queues (TS 36.300 §10.1.2.3): the host's buffer takes the packets that a source base station forwards, and a
//! reorder queue behind it those that the gateway sends directly. Direct packets wait there until the end marker of the
//! forwarded ones, or until none has arrived for the reordering wait.
//!
//! | outlet | forwarded packets | direct packets, forwarded ones may come | direct packets, none may come |
//! | --- | --- | --- | --- |
//! | hold | buffer | reorder queue | buffer |
//! | air | air | reorder queue | air |
//! | tunnel to a target | tunnel | reorder queue | tunnel |
//!
//! An end marker from the source closes the forwarded stream: the reorder queue follows. An end marker for a handover
//! from here goes to the target when no packet is left that must precede it.

use super::message::{Message, Out};
use super::{Action, Forwarding, OrderWait, Rules};
use crate::agent::Via;
use crate::identification::Identification;
use crate::signal::Signal;
use roamlab_engine::Time;
use roamlab_packet::Addr;

/// The user plane of one host at one base station.
#[derive(Clone, Debug)]
pub(crate) struct Bearer {
    host: Addr,
    outlet: Outlet,
    /// A base station that may still forward packets, which go first.
    inflow: Option<Inflow>,
    /// The newest handover whose end marker is about packets to here, not from here.
    since: Identification,
    /// An end marker that waits for what must precede it.
    ended: Option<Identification>,
    /// Where the host has come from, where the first direct packet begins the wait.
    source: Option<Addr>,
    /// The path has left after the host has come back: what was forwarded there comes next.
    again: bool,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Outlet {
    Hold,
    Air,
    Tunnel(Addr),
    /// Packets that arrive are lost.
    Discard,
}

#[derive(Copy, Clone, Debug)]
struct Inflow {
    from: Addr,
    /// When it is taken to be over; `None`: not before the host is here, or the first direct packet.
    until: Option<Time>,
    /// The first direct packet begins the wait for the end marker.
    guarded: bool,
}

impl Inflow {
    fn new(from: Addr, rules: &Rules) -> Inflow {
        Inflow { from, until: None, guarded: rules.order_wait == OrderWait::FirstDirect }
    }
}

impl Bearer {
    /// The bearer of a host that is attached: nothing waits, nothing is forwarded.
    pub fn attached(host: Addr, since: Identification, out: &mut dyn Out) -> Bearer {
        let bearer = Bearer {
            host,
            outlet: Outlet::Air,
            inflow: None,
            since,
            ended: None,
            source: None,
            again: false,
        };
        bearer.set_routes(out);
        bearer
    }

    /// The bearer of a host that is expected from `source`.
    pub fn expecting(
        host: Addr,
        since: Identification,
        source: Addr,
        rules: &Rules,
        out: &mut dyn Out,
    ) -> Bearer {
        let ordered = rules.forwarding != Forwarding::None && rules.reordering;
        let inflow = ordered.then(|| Inflow::new(source, rules));
        let source = inflow.filter(|inflow| inflow.guarded).map(|inflow| inflow.from);
        let bearer = Bearer { host, outlet: Outlet::Hold, inflow, since, ended: None, source, again: false };
        out.push(Action::StartBuffering { host });
        bearer.set_routes(out);
        bearer
    }

    pub fn outlet(&self) -> Outlet {
        self.outlet
    }

    /// Forwarded packets may still come.
    pub fn waits(&self) -> bool {
        self.inflow.is_some()
    }

    /// A handover away from here has begun to switch the path, and the gateway has no more packets for here.
    pub fn path_has_left(&self) -> bool {
        self.ended.is_some()
    }

    pub fn next_deadline(&self) -> Option<Time> {
        self.inflow?.until
    }

    fn via(&self) -> Via {
        match self.outlet {
            Outlet::Hold | Outlet::Tunnel(_) | Outlet::Discard => Via::Buffer,
            Outlet::Air => Via::Air,
        }
    }

    fn set_routes(&self, out: &mut dyn Out) {
        let (host, via) = (self.host, self.via());
        if let Some(inflow) = self.inflow {
            let first_direct = inflow.guarded && inflow.until.is_none();
            out.push(Action::SetRoute { host, from: Some(inflow.from), via, watch: !inflow.guarded });
            out.push(Action::SetRoute { host, from: None, via: Via::ReorderQueue, watch: first_direct });
        } else {
            out.push(Action::SetRoute { host, from: None, via, watch: false });
        }
    }

    /// The host is here: what waits goes over the air.
    pub fn attach(&mut self, now: Time, rules: &Rules, out: &mut dyn Out) {
        if self.outlet == Outlet::Air {
            return;
        }
        if self.outlet == Outlet::Discard {
            out.push(Action::StartBuffering { host: self.host });
        }
        self.outlet = Outlet::Air;
        out.push(Action::Release { host: self.host, via: Via::Air, mark: None });
        self.restart_wait(now, rules);
        self.set_routes(out);
    }

    /// The host has left without a command: what it has not got is kept.
    pub fn hold(&mut self, out: &mut dyn Out) {
        if self.outlet == Outlet::Air {
            self.outlet = Outlet::Hold;
            out.push(Action::StartBuffering { host: self.host });
            self.set_routes(out);
        }
    }

    /// Packets that wait here and later ones are lost: without a buffer nothing waits.
    pub fn discard(&mut self, out: &mut dyn Out) {
        self.outlet = Outlet::Discard;
        out.push(Action::EndBearer { host: self.host });
        self.set_routes(out);
    }

    /// Packets that wait here and later ones go to `target`.
    pub fn forward(&mut self, target: Addr, now: Time, rules: &Rules, out: &mut dyn Out) {
        if matches!(self.outlet, Outlet::Air | Outlet::Discard) {
            out.push(Action::StartBuffering { host: self.host });
        }
        self.outlet = Outlet::Tunnel(target);
        out.push(Action::Release { host: self.host, via: Via::Tunnel(target), mark: rules.mark });
        self.restart_wait(now, rules);
        self.set_routes(out);
    }

    /// No more packets go to a target: they wait here again, for the host.
    pub fn keep(&mut self, out: &mut dyn Out) {
        if let Outlet::Tunnel(_) = self.outlet {
            self.outlet = Outlet::Hold;
            out.push(Action::StartBuffering { host: self.host });
            self.set_routes(out);
        }
    }

    /// A numbered bearer begins again: what waits is lost, and what is still forwarded.
    pub fn reconfigure_fully(&mut self, out: &mut dyn Out) {
        let host = self.host;
        out.push(Action::EndBearer { host });
        if let Some(inflow) = self.inflow.take() {
            out.push(Action::SetRoute { host, from: Some(inflow.from), via: Via::Discard, watch: false });
        }
        self.set_routes(out);
    }

    /// No more packets go to a target to which packets were forwarded: an end marker behind them reports
    /// this.
    pub fn stop_forwarding(&self, target: Addr, id: Identification, out: &mut dyn Out) {
        out.send(target, end_marker(self.host, id));
    }

    /// Nothing comes but what the source forwards: the end marker follows it.
    pub fn ends_with_inflow(&mut self, id: Identification, out: &mut dyn Out) {
        self.ended = Some(id);
        self.relay_end(out);
    }

    /// Packets that `from` forwards go first, until its end marker.
    pub fn expect_from(&mut self, from: Addr, now: Time, rules: &Rules, out: &mut dyn Out) {
        if rules.reordering {
            self.close(out);
            self.inflow = Some(Inflow::new(from, rules));
            self.restart_wait(now, rules);
            self.set_routes(out);
        }
    }

    /// Another bearer of the same host follows: forwarded packets of this one have no route of their own any more.
    pub fn expect_no_more(&self, out: &mut dyn Out) {
        if let Some(inflow) = self.inflow {
            out.push(Action::ClearRoute { host: self.host, from: Some(inflow.from) });
        }
    }

    /// End markers of handovers up to this one are about packets to here.
    pub fn since(&mut self, id: Identification) {
        self.since = id;
        self.ended = None;
    }

    /// The newest handover before the one from here.
    pub fn before(&self) -> Identification {
        self.since
    }

    /// A packet passed that it watches: a forwarded one, or the first direct one.
    pub fn watched(&mut self, now: Time, rules: &Rules, out: &mut dyn Out) {
        self.restart_wait(now, rules);
        if let Some(inflow) = &mut self.inflow
            && inflow.guarded
            && inflow.until.is_none()
        {
            inflow.until = Some(now + rules.reordering_wait);
            self.set_routes(out);
        }
    }

    fn restart_wait(&mut self, now: Time, rules: &Rules) {
        if let Some(inflow) = &mut self.inflow
            && !inflow.guarded
            && self.outlet != Outlet::Hold
        {
            inflow.until = Some(now + rules.reordering_wait);
        }
    }

    /// Takes an end marker. True if it has passed to the target, and no more packets will come.
    pub fn end_marker(&mut self, from: Addr, id: Identification, rules: &Rules, out: &mut dyn Out) -> bool {
        let of_source = self.source == Some(from);
        if self.inflow.is_some_and(|inflow| inflow.from == from) {
            self.close(out);
        }
        if let Some(source) = self.source
            && id < self.since
        {
            // The host has come back before the path had left. Its packets came here first, then at the other base station.
            self.again |= !of_source;
            if self.again && self.inflow.is_none() {
                self.again = false;
                self.inflow = Some(Inflow::new(source, rules));
                self.set_routes(out);
            }
        }
        if id > self.since {
            self.ended = Some(id);
        }
        self.relay_end(out)
    }

    /// True if the wait for forwarded packets is over at `now`; then the packets that wait behind them
    /// follow.
    pub fn on_timer(&mut self, now: Time, out: &mut dyn Out) -> bool {
        let over = self.next_deadline().is_some_and(|until| until <= now);
        if over {
            self.close(out);
        }
        over
    }

    /// All that has come here for the path before the present one has gone to the target.
    pub fn ends_first(&self, target: Addr, id: Identification, out: &mut dyn Out) {
        if self.inflow.is_none() {
            out.send(target, end_marker(self.host, id));
        }
    }

    /// Sends the end marker on, if all that must precede it has gone to the target.
    pub fn relay_end(&mut self, out: &mut dyn Out) -> bool {
        let Outlet::Tunnel(target) = self.outlet else { return false };
        if self.inflow.is_some() {
            return false;
        }
        let Some(id) = self.ended.take() else { return false };
        out.send(target, end_marker(self.host, id));
        true
    }

    /// The forwarded stream is over.
    fn close(&mut self, out: &mut dyn Out) {
        let Some(inflow) = self.inflow.take() else { return };
        out.push(Action::ClearRoute { host: self.host, from: Some(inflow.from) });
        out.push(Action::ReleaseReorderQueue { host: self.host, via: self.via() });
        self.set_routes(out);
    }

    /// The bearer ends: what waits here is lost.
    pub fn end(&self, out: &mut dyn Out) {
        let host = self.host;
        self.expect_no_more(out);
        out.push(Action::ClearRoute { host, from: None });
        out.push(Action::EndBearer { host });
    }
}

/// The end marker of the handover `id`.
pub(crate) fn end_marker(host: Addr, id: Identification) -> Signal<Message> {
    Signal::about(host, id, Message::EndMarker)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lte_x2::{Action, Params as LteParams};

    /// A list of actions that the test does not read.
    fn unread() -> Vec<Action> {
        Vec::new()
    }

    #[test]
    fn the_reordering_wait_begins_when_the_host_is_there() {
        // Packets forwarded while the packets are held cannot overtake anything: the wait runs from the
        // attachment on.
        let (host, source) = (Addr::new(9, 1), Addr::new(9, 2));
        let (rules, id) = (LteParams::default().rules(), Identification::default());
        let at = |millis| Time::ZERO + roamlab_engine::Duration::from_millis(millis);
        let mut bearer = Bearer::expecting(host, id, source, &rules, &mut unread());
        bearer.watched(at(10), &rules, &mut unread());
        assert_eq!(bearer.next_deadline(), None);
        bearer.attach(at(50), &rules, &mut unread());
        assert_eq!(bearer.next_deadline(), Some(at(50) + rules.reordering_wait));
        bearer.watched(at(60), &rules, &mut unread());
        assert_eq!(bearer.next_deadline(), Some(at(60) + rules.reordering_wait));
    }

    #[test]
    fn an_end_marker_of_an_earlier_handover_does_not_end_the_stream_of_a_later_one() {
        // TS 36.300 §10.1.2.2.1: each path switch has its own end marker.
        let (host, source) = (Addr::new(9, 1), Addr::new(9, 2));
        let rules = LteParams::default().rules();
        let mut bearer = Bearer::expecting(host, Identification(1), source, &rules, &mut unread());
        bearer.end_marker(source, Identification(2), &rules, &mut unread());
        assert!(bearer.path_has_left());
        bearer.since(Identification(3));
        assert!(!bearer.path_has_left());
        bearer.end_marker(source, Identification(3), &rules, &mut unread());
        assert!(!bearer.path_has_left(), "that of the handover that brought the host here");
    }
}
