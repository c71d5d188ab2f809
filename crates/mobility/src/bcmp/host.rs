//! A mobile host's session and its pending requests.

use super::{Action, Global, Kind, Phase, Session};
use crate::backoff::Backoff;
use crate::identification::Requests;
use crate::signal::send;
use crate::{Identification, mobile_ip};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;

/// States of the session of a host. The detector knows its access router.
#[derive(Clone, Debug)]
pub enum State {
    /// Before its hour of login.
    Waiting {
        /// The hour.
        login_at: Time,
    },
    /// It has no session.
    LoggedOut {
        /// It has asked for one; `None`: it has no access router.
        login: Option<Login>,
    },
    /// It has a session.
    LoggedIn(LoggedIn),
    /// It is logged out permanently.
    Off,
}

/// A host's session.
#[derive(Clone, Debug)]
pub struct LoggedIn {
    /// Which one.
    pub session: Session,
    /// The one before, and until when it is kept; `None`: the home agent has not answered yet.
    pub former: Option<(Session, Option<Time>)>,
    /// When the host attaches again.
    pub refresh_at: Option<Time>,
    /// Activity of the host.
    pub activity: Activity,
}

/// Activity of a host with a session.
#[derive(Clone, Debug)]
pub enum Activity {
    /// Its packets go to its access router.
    Active {
        /// When it becomes idle without data; `None`: never.
        idle_at: Option<Time>,
        /// Planned step.
        next: Next,
    },
    /// It has asked its anchor to page it.
    Idle {
        /// At this access router.
        at: Addr,
        /// Its request for a session at another anchor.
        login: Option<Login>,
    },
}

/// Planned step of an active host.
#[derive(Copy, Clone, Default, Debug)]
pub enum Next {
    /// Nothing.
    #[default]
    Stay,
    /// It has asked for a session at another anchor.
    Change(Login),
    /// It goes to another access router.
    Handover(Expected),
}

impl Next {
    fn login(self) -> Option<Login> {
        match self {
            Next::Change(login) => Some(login),
            Next::Stay | Next::Handover(_) => None,
        }
    }
}

impl State {
    /// Planned step of the host.
    pub fn next(&self) -> Next {
        match self {
            State::LoggedIn(LoggedIn { activity: Activity::Active { next, .. }, .. }) => *next,
            State::LoggedIn(LoggedIn { activity: Activity::Idle { login, .. }, .. })
            | State::LoggedOut { login } => login.map_or(Next::Stay, Next::Change),
            State::Waiting { .. } | State::Off => Next::Stay,
        }
    }

    /// From now on it is about to do this. Only an active host goes to another access router.
    pub fn plan(&mut self, new: Next) {
        match self {
            State::LoggedIn(LoggedIn { activity: Activity::Active { next, .. }, .. }) => *next = new,
            State::LoggedIn(LoggedIn { activity: Activity::Idle { login, .. }, .. })
            | State::LoggedOut { login } => *login = new.login(),
            State::Waiting { .. } | State::Off => {}
        }
    }

    /// The login request that waits for its response.
    pub fn login(&self) -> Option<Login> {
        self.next().login()
    }

    /// The handover that is expected.
    pub fn expected(&self) -> Option<Expected> {
        match self.next() {
            Next::Handover(expected) => Some(expected),
            Next::Stay | Next::Change(_) => None,
        }
    }

    /// The session, if there is one.
    pub fn logged_in(&mut self) -> Option<&mut LoggedIn> {
        match self {
            State::LoggedIn(known) => Some(known),
            _ => None,
        }
    }

    /// There is data, or reason to expect it: a host with a session is active, and becomes idle then without more.
    pub fn wake(&mut self, idle_at: Option<Time>) {
        let next = self.next();
        if let State::LoggedIn(known) = self {
            known.activity = Activity::Active { idle_at, next };
        }
    }

    /// True if the anchor pages the host.
    pub fn is_idle(&self) -> bool {
        matches!(self, State::LoggedIn(LoggedIn { activity: Activity::Idle { .. }, .. }))
    }
}

impl LoggedIn {
    /// When its times come.
    pub fn deadlines(&self) -> impl Iterator<Item = Time> {
        let idle_at = match self.activity {
            Activity::Active { idle_at, .. } => idle_at,
            Activity::Idle { .. } => None,
        };
        let former = self.former.and_then(|(_, until)| until);
        [idle_at, self.refresh_at, former].into_iter().flatten()
    }
}

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
    /// Those of the present registration.
    requests: Requests,
    timer: Option<Backoff>,
    /// It has been accepted.
    registered: bool,
}

impl Registrar {
    /// None yet.
    pub fn new(home_agent: Addr, params: &Global) -> Registrar {
        let (params, requests) = (params.clone(), Requests::default());
        Registrar { home_agent, params, requests, timer: None, registered: false }
    }

    /// When it wants to be looked at.
    pub fn deadline(&self) -> Option<Time> {
        self.timer.map(|timer| timer.at)
    }

    /// There is no session any more.
    pub fn give_up(&mut self) {
        self.timer = None;
    }

    /// The host's packets are to go to this anchor.
    pub fn begin(&mut self, about: (Addr, Addr), session: Session, now: Time, out: &mut Vec<Action>) {
        self.registered = false;
        self.timer = Some(Backoff::start(now, self.params.retransmit, self.params.retransmit_limit));
        let id = self.requests.begin(now);
        self.send(about, session, id, out);
    }

    /// A request of the host through its access router.
    fn send(
        &self,
        (host, base_station): (Addr, Addr),
        session: Session,
        id: Identification,
        out: &mut Vec<Action>,
    ) {
        let request = mobile_ip::Kind::RegistrationRequest {
            home_agent: self.home_agent,
            care_of: session.anchor,
            lifetime: self.params.lifetime,
            previous: Vec::new(),
            base_station,
        };
        send(session.anchor, (host, id, Kind::GlobalRequest { request }), out);
    }

    /// Repeats or renews it, if it is time.
    pub fn on_time(&mut self, about: (Addr, Addr), session: Session, now: Time, out: &mut Vec<Action>) {
        let Some(timer) = self.timer.filter(|timer| timer.at <= now) else { return };
        if self.registered {
            self.begin(about, session, now, out);
        } else {
            self.timer = Some(timer.again(now));
            let id = self.requests.again(now);
            self.send(about, session, id, out);
        }
    }

    /// True if a reply accepts the request that it waits for.
    pub fn is_accepted(
        &mut self,
        (host, id): (Addr, Identification),
        reply: &mobile_ip::Kind,
        now: Time,
        out: &mut Vec<Action>,
    ) -> bool {
        let mobile_ip::Kind::RegistrationReply { code, lifetime } = reply else { return false };
        let accepted = self.requests.are_answered(id) && code.accepted() && !self.registered;
        if accepted {
            self.registered = true;
            let wait = lifetime.saturating_sub(self.params.renewal_margin).max(Duration::from_nanos(1));
            self.timer = Some(Backoff::start(now, wait, wait));
            out.push(Action::Note { host, phase: Phase::Registered });
        }
        accepted
    }
}
