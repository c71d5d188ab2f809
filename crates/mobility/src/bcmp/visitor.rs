//! The state of an access router for a host whose packets arrive there.

use super::{Action, Kind, Phase, Session};
use crate::signal::send;
use crate::{Identification, Via};
use roamlab_engine::Time;
use roamlab_packet::Addr;

/// A host whose packets arrive at the access router.
#[derive(Clone, Debug)]
pub struct Visitor {
    /// Their treatment.
    pub state: State,
    /// They go to the buffer.
    pub buffering: bool,
    /// The prepare that waits for its acknowledge.
    pub preparing: Option<Preparing>,
    /// The way from the anchor to here.
    pub path: Option<Path>,
}

/// Treatment of a host's packets, and until when.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum State {
    /// They wait for the host.
    Prepared {
        /// The access router that has asked for it.
        by: Addr,
        /// When the host is given up.
        until: Time,
    },
    /// They go over the air.
    Serving,
    /// The host is not here, and its place is unknown.
    Left {
        /// When it is given up.
        until: Time,
    },
    /// They go to another access router.
    Forwarding {
        /// Which one.
        to: Addr,
        /// The host is there.
        executed: bool,
        /// When the tunnel ends.
        until: Time,
    },
}

/// A prepare that waits for its acknowledge.
#[derive(Clone, Debug)]
pub struct Preparing {
    /// The new access router.
    pub to: Addr,
    /// That of the prepare request.
    pub id: Identification,
    /// When it is sent again.
    pub again: Time,
    /// How often.
    pub left: u32,
}

/// The way from the anchor.
#[derive(Clone, Debug)]
pub struct Path {
    /// The session of the host.
    pub session: Session,
    /// The one before, if the host keeps it.
    pub former: Option<Session>,
    /// That of the attach.
    pub id: Identification,
    /// The host will be quiet.
    pub idle: bool,
    /// The anchor has confirmed it.
    pub acknowledged: bool,
    /// When the path update is sent again, and how often after that; `None`: no more.
    pub again: Option<(Time, u32)>,
}

impl State {
    /// When it is over; `None`: not by time.
    pub fn until(self) -> Option<Time> {
        match self {
            State::Serving => None,
            State::Prepared { until, .. } | State::Left { until } | State::Forwarding { until, .. } => {
                Some(until)
            }
        }
    }
}

impl Path {
    /// That of a new session.
    pub fn known(session: Session, id: Identification) -> Path {
        Path { session, former: None, id, idle: false, acknowledged: true, again: None }
    }

    /// Path updates to the anchors.
    pub fn update(&self, host: Addr, out: &mut Vec<Action>) {
        for session in [self.session].into_iter().chain(self.former) {
            send(session.anchor, (host, self.id, Kind::PathUpdate { session, idle: self.idle }), out);
        }
    }
}

impl Visitor {
    /// Without routes and buffers.
    pub fn new(state: State) -> Visitor {
        Visitor { state, buffering: false, preparing: None, path: None }
    }

    /// When it wants to be looked at.
    pub fn deadlines(&self) -> [Option<Time>; 3] {
        let (preparing, path) = (self.preparing.as_ref(), self.path.as_ref());
        [self.state.until(), preparing.map(|one| one.again), path.and_then(|path| Some(path.again?.0))]
    }

    /// The host's packets go over the air, those that were kept first.
    pub fn serve(&mut self, host: Addr, out: &mut Vec<Action>) {
        self.end_tunnel(host, out);
        if std::mem::take(&mut self.buffering) {
            out.push(Action::Note { host, phase: Phase::Flushed });
            out.push(Action::Release { host, via: Via::Air, mark: None });
            out.push(Action::DiscardBuffer { host });
        }
        out.push(Action::SetRoute { host, from: None, via: Via::Air, watch: false });
        (self.state, self.preparing) = (State::Serving, None);
    }

    /// They go to another access router until then, where the host is (`executed`) or will be.
    pub fn forward(&mut self, host: Addr, (to, executed): (Addr, bool), until: Time, out: &mut Vec<Action>) {
        self.preparing = None;
        if let State::Forwarding { to: known, executed: was_executed, .. } = self.state
            && known == to
        {
            self.state = State::Forwarding { to, executed: was_executed || executed, until };
            return;
        }
        self.end_tunnel(host, out);
        let via = Via::Tunnel(to);
        if self.buffering {
            out.push(Action::Release { host, via, mark: None });
        }
        out.push(Action::SetRoute { host, from: None, via, watch: false });
        // A packet that comes back from there is for this link, or for none.
        out.push(Action::SetRoute { host, from: Some(to), via: Via::Air, watch: false });
        if std::mem::take(&mut self.buffering) {
            out.push(Action::DiscardBuffer { host });
        }
        self.state = State::Forwarding { to, executed, until };
        out.push(Action::Note { host, phase: Phase::ForwardingStarted });
    }

    /// Kept packets go back to the access router that prepared this one.
    pub fn give_back(&mut self, host: Addr, out: &mut Vec<Action>) {
        if let State::Prepared { by: to, .. } = self.state
            && self.buffering
        {
            out.push(Action::Release { host, via: Via::Tunnel(to), mark: None });
        }
    }

    /// A message to the host, although its packets may go elsewhere.
    pub fn over_air(&self, host: Addr, message: (Addr, Identification, Kind), out: &mut Vec<Action>) {
        let via = match self.state {
            State::Forwarding { to, .. } => Some(Via::Tunnel(to)),
            _ => None,
        };
        if via.is_some() {
            out.push(Action::SetRoute { host, from: None, via: Via::Air, watch: false });
        }
        send(host, message, out);
        out.extend(via.map(|via| Action::SetRoute { host, from: None, via, watch: false }));
    }

    /// Packets that came back through the tunnel have no other route left.
    pub fn end_tunnel(&self, host: Addr, out: &mut Vec<Action>) {
        if let State::Forwarding { to, .. } = self.state {
            out.push(Action::ClearRoute { host, from: Some(to) });
        }
    }

    /// Packets for the host have no way here any more.
    pub fn end(&mut self, host: Addr, out: &mut Vec<Action>) {
        self.end_tunnel(host, out);
        out.push(Action::ClearRoute { host, from: None });
        if std::mem::take(&mut self.buffering) {
            out.push(Action::DiscardBuffer { host });
        }
        out.push(Action::Note { host, phase: Phase::RouterReleased });
    }
}
