//! The pending requests of a mobile host.

use super::{Action, Global, Kind, Phase, Session};
use crate::backoff::Backoff;
use crate::signal::send;
use crate::{Identification, mobile_ip};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;

/// A login request that waits for its response.
#[derive(Copy, Clone, Debug)]
pub struct Login {
    /// The sequence number.
    pub id: Identification,
    /// At which anchor; `None`: the access router chooses.
    pub anchor: Option<Addr>,
    /// When it is repeated.
    pub timer: Backoff,
}

/// A handover that is expected.
#[derive(Copy, Clone, Debug)]
pub struct Expected {
    /// The new access router.
    pub to: Addr,
    /// The sequence number.
    pub id: Identification,
    /// When the prepare request is repeated, and how often after that; `None`: it has been answered or given up.
    pub again: Option<(Time, u32)>,
    /// When a host that has not moved stays.
    pub until: Time,
}

/// A session that ends.
#[derive(Copy, Clone, Debug)]
pub struct Ending {
    /// Which one.
    pub session: Session,
    /// When its logout is repeated; `None`: it has not been sent yet.
    pub again: Option<Backoff>,
}

/// The host's registration with its home agent.
#[derive(Clone, Debug)]
pub struct Registrar {
    home_agent: Addr,
    params: Global,
    id: Identification,
    timer: Option<Backoff>,
    /// The last request has been accepted.
    registered: bool,
}

impl Registrar {
    /// None yet.
    pub fn new(home_agent: Addr, params: &Global) -> Registrar {
        let (params, id) = (params.clone(), Identification::default());
        Registrar { home_agent, params, id, timer: None, registered: false }
    }

    /// When it wants to be looked at.
    pub fn deadline(&self) -> Option<Time> {
        self.timer.map(|timer| timer.at)
    }

    /// There is no session any more.
    pub fn give_up(&mut self) {
        self.timer = None;
    }

    /// The host's packets shall go to this anchor.
    pub fn begin(&mut self, about: (Addr, Addr), session: Session, now: Time, out: &mut Vec<Action>) {
        self.registered = false;
        self.timer = Some(Backoff::start(now, self.params.retransmit, self.params.retransmit_limit));
        self.send(about, session, now, out);
    }

    /// A request of the host through its access router, newer than any before.
    fn send(
        &mut self,
        (host, base_station): (Addr, Addr),
        session: Session,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        self.id = self.id.newer(now);
        let request = mobile_ip::Kind::RegistrationRequest {
            home_agent: self.home_agent,
            care_of: session.anchor,
            lifetime: self.params.lifetime,
            previous: Vec::new(),
            base_station,
        };
        send(session.anchor, (host, self.id, Kind::GlobalRequest { request }), out);
    }

    /// Repeats or renews it, if it is time.
    pub fn on_time(&mut self, about: (Addr, Addr), session: Session, now: Time, out: &mut Vec<Action>) {
        let Some(timer) = self.timer.filter(|timer| timer.at <= now) else { return };
        if self.registered {
            self.begin(about, session, now, out);
        } else {
            self.timer = Some(timer.again(now));
            self.send(about, session, now, out);
        }
    }

    /// Whether a reply accepts what it waits for.
    pub fn is_accepted(
        &mut self,
        (host, id): (Addr, Identification),
        reply: &mobile_ip::Kind,
        now: Time,
        out: &mut Vec<Action>,
    ) -> bool {
        let mobile_ip::Kind::RegistrationReply { code, lifetime } = reply else { return false };
        let accepted = id == self.id && code.accepted() && !self.registered;
        if accepted {
            self.registered = true;
            let wait = lifetime.saturating_sub(self.params.renewal_margin).max(Duration::from_nanos(1));
            self.timer = Some(Backoff::start(now, wait, wait));
            out.push(Action::Note { host, phase: Phase::Registered });
        }
        accepted
    }
}
