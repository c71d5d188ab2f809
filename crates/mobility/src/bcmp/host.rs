//! A mobile host's session and its pending requests.

use super::{Action, Global, Kind, Phase, Session};
use crate::backoff::Backoff;
use crate::signal::send;
use crate::{Identification, mobile_ip};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;

/// Whether a host has a session. Whether it has an access router, its detector knows.
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
    /// It is logged out for good.
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
    /// What it does.
    pub activity: Activity,
}

/// What a host with a session does.
#[derive(Clone, Debug)]
pub enum Activity {
    /// Its packets go to its access router.
    Active {
        /// When it becomes idle without data; `None`: never.
        idle_at: Option<Time>,
        /// What it is about to do.
        next: Next,
    },
    /// It has told its anchor to page it.
    Idle {
        /// At this access router.
        at: Addr,
        /// Its request for a session at another anchor.
        login: Option<Login>,
    },
}

/// What an active host is about to do.
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

impl State {
    /// The login request that waits for its response.
    pub fn login(&self) -> Option<Login> {
        match self {
            State::LoggedOut { login } => *login,
            State::LoggedIn(LoggedIn { activity: Activity::Idle { login, .. }, .. }) => *login,
            State::LoggedIn(LoggedIn {
                activity: Activity::Active { next: Next::Change(login), .. },
                ..
            }) => Some(*login),
            _ => None,
        }
    }

    /// This login request waits for its response.
    pub fn request(&mut self, new: Login) {
        match self {
            State::LoggedOut { login } => *login = Some(new),
            State::LoggedIn(known) => match &mut known.activity {
                Activity::Active { next, .. } => *next = Next::Change(new),
                Activity::Idle { login, .. } => *login = Some(new),
            },
            State::Waiting { .. } | State::Off => {}
        }
    }

    /// Neither a login request nor a preparation is of use at another access router.
    pub fn forget_requests(&mut self) {
        match self {
            State::LoggedOut { login } => *login = None,
            State::LoggedIn(known) => match &mut known.activity {
                Activity::Active { next, .. } => *next = Next::Stay,
                Activity::Idle { login, .. } => *login = None,
            },
            State::Waiting { .. } | State::Off => {}
        }
    }

    /// The handover that is expected.
    pub fn expected(&self) -> Option<&Expected> {
        match self {
            State::LoggedIn(LoggedIn {
                activity: Activity::Active { next: Next::Handover(expected), .. },
                ..
            }) => Some(expected),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub fn expected_mut(&mut self) -> Option<&mut Expected> {
        match self {
            State::LoggedIn(LoggedIn {
                activity: Activity::Active { next: Next::Handover(expected), .. },
                ..
            }) => Some(expected),
            _ => None,
        }
    }

    /// The session, if there is one.
    pub fn logged_in(&mut self) -> Option<&mut LoggedIn> {
        match self {
            State::LoggedIn(known) => Some(known),
            _ => None,
        }
    }

    /// Whether the anchor pages the host.
    pub fn is_idle(&self) -> bool {
        matches!(self, State::LoggedIn(LoggedIn { activity: Activity::Idle { .. }, .. }))
    }
}

impl LoggedIn {
    /// There is data, or reason to expect it: the host is active, and becomes idle at this time without more.
    pub fn wake(&mut self, idle_at: Option<Time>) {
        let next = match &self.activity {
            Activity::Active { next, .. } => *next,
            Activity::Idle { login, .. } => login.map_or(Next::Stay, Next::Change),
        };
        self.activity = Activity::Active { idle_at, next };
    }

    /// Whether it asks for nothing.
    pub fn is_settled(&self) -> bool {
        matches!(
            self.activity,
            Activity::Active { next: Next::Stay, .. } | Activity::Idle { login: None, .. }
        )
    }

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
