//! The mobile host: logs in, reports its present and its next access router, and logs out.

use super::host::{Activity, Ending, Expected, LoggedIn, Login, Next, Registrar, State};
use super::{
    ATTACH_RETRANSMIT, ATTACH_RETRANSMIT_LIMIT, Action, Home, Hours, Input, Kind, Message,
    PREPARE_RETRANSMIT, PREPARE_RETRIES, Params, Phase, Session,
};
use crate::backoff::Backoff;
use crate::blocks::{Detector, Found, Registration};
use crate::signal::send;
use crate::transitions::Role;
use crate::{Agent, Identification, L2Trigger, mobile_ip};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;
use std::collections::BTreeMap;
use std::sync::Arc;

crate::transitions! {
    MobileHost, "state": Off "off", Away "away", LoggingIn "logging-in", Active "active", Idle "idle", Preparing "preparing", Attaching "attaching", Changing "changing";
    "any" | "link up, link down, bcmp-advertisement" | "" | "" | "same";
    "away, logging-in" | "link up, link down, bcmp-advertisement, time" | "its access router is another one, and it has no session" | "login-request" | "logging-in";
    "off" | "time" | "the hour of login" | "login-request" | "logging-in";
    "off" | "time" | "the hour of login, without access router" | "" | "away";
    "logging-in, changing, off" | "time" | "no response" | "login-request" | "same";
    "logging-in, changing" | "login-response" | "of the last request" | "global-registration-request" | "active";
    "any" | "login-response" | "late: logs out of that session" | "" | "same";
    "away, active, idle, preparing, attaching, changing" | "link up, link down, bcmp-advertisement, time" | "its access router is another one, and it has a session" | "handover-attach" | "attaching";
    "away" | "link up, link down, bcmp-advertisement, time" | "its access router is one of the area in which it is idle" | "" | "idle";
    "attaching" | "handover-attach-acknowledge" | "of the last attach" | "" | "active, idle";
    "preparing, changing" | "handover-attach-acknowledge" | "of the last attach" | "" | "same";
    "attaching, preparing, changing" | "handover-attach-acknowledge" | "it denies the session" | "login-request" | "logging-in";
    "active, attaching" | "handover predicted" | "to another access router" | "handover-prepare-request" | "preparing";
    "preparing" | "handover predicted" | "to another access router" | "handover-prepare-request" | "same";
    "preparing" | "time" | "not prepared, three times" | "handover-prepare-request" | "same";
    "preparing" | "handover-prepared" | "of the last request; with `move_when_prepared`" | "enter" | "same";
    "preparing" | "time" | "lifetime of the preparation over" | "" | "active, attaching";
    "active, idle" | "anchor-change-request" | "of its access router" | "login-request" | "changing";
    "idle" | "page, packet" | "" | "handover-attach" | "attaching";
    "attaching" | "page, packet" | "it was idle" | "handover-attach" | "same";
    "any" | "page, packet" | "restarts the time to idle" | "" | "same";
    "active, idle" | "time" | "time to refresh, or no data for a while with paging" | "handover-attach" | "attaching";
    "attaching, changing, preparing" | "time" | "no acknowledge, or time to refresh" | "handover-attach" | "same";
    "active, idle, preparing, attaching, changing" | "time" | "no reply, or lifetime nearly over" | "global-registration-request" | "same";
    "any" | "global-registration-reply" | "accepted: the grace time of the session before begins" | "" | "same";
    "active, idle, preparing, attaching, changing, logging-in" | "time" | "a session ends: grace time over, or late response" | "logout-request" | "same";
    "active, idle, preparing, attaching, changing, logging-in" | "time" | "the hour of logout" | "logout-request" | "off";
    "away" | "time" | "the hour of logout" | "" | "off";
    "off" | "time" | "no acknowledge" | "logout-request" | "same";
    "any" | "logout-acknowledge" | "" | "" | "same";
    "active, idle, preparing, attaching, changing, logging-in" | "link down, time" | "it has no access router any more" | "" | "away";
}

/// BCMP at a mobile host.
#[derive(Clone, Debug)]
pub struct MobileHost {
    home: Home,
    params: Arc<Params>,
    /// The number of the paging area of each access router that is in one.
    areas: Arc<BTreeMap<Addr, usize>>,
    detector: Detector,
    /// When it logs out; `None`: never, or it has.
    logout_at: Option<Time>,
    state: State,
    /// The last sequence number.
    id: Identification,
    attach: Registration,
    global: Option<Registrar>,
    /// Sessions whose logout has not been acknowledged.
    endings: Vec<Ending>,
}

impl MobileHost {
    /// A host that hears no base station; `areas` has the number of the paging area of each access router.
    pub fn new(
        home: Home,
        areas: &Arc<BTreeMap<Addr, usize>>,
        hours: &Hours,
        params: &Arc<Params>,
    ) -> MobileHost {
        let registrar = |home_agent| params.global.as_ref().map(|global| Registrar::new(home_agent, global));
        MobileHost {
            home,
            areas: Arc::clone(areas),
            detector: Detector::new(&params.detection),
            logout_at: hours.logout.map(|logout| Time::ZERO + logout),
            state: match Time::ZERO + hours.login {
                Time::ZERO => State::LoggedOut { login: None },
                login_at => State::Waiting { login_at },
            },
            id: Identification::default(),
            attach: Registration::new((ATTACH_RETRANSMIT, ATTACH_RETRANSMIT_LIMIT)),
            global: home.home_agent.and_then(registrar),
            endings: Vec::new(),
            params: Arc::clone(params),
        }
    }

    fn send(&self, to: Addr, id: Identification, kind: Kind, out: &mut Vec<Action>) {
        send(to, (self.home.host, id, kind), out);
    }

    /// A newer sequence number than any before.
    fn next_id(&mut self, now: Time) -> Identification {
        self.id = self.id.max(self.attach.id()).newer(now);
        self.id
    }

    fn login_timer(&self, now: Time) -> Backoff {
        Backoff::start(now, self.params.login_retransmit, self.params.login_retransmit_limit)
    }

    fn note(&self, phase: Phase, out: &mut Vec<Action>) {
        out.push(Action::Note { host: self.home.host, phase });
    }

    fn found(&mut self, found: Option<Found>, now: Time, out: &mut Vec<Action>) {
        match found {
            Some(Found::Moved(_)) => {
                self.state.plan(Next::Stay);
                self.arrive(now, out);
            }
            Some(Found::Lost) => {
                self.state.plan(Next::Stay);
                if let Some(known) = self.state.logged_in() {
                    known.refresh_at.take_if(|_| self.attach.is_pending());
                }
                self.attach.give_up();
            }
            None => {}
        }
    }

    /// It has an access router, and does what a logged-in host does there.
    fn arrive(&mut self, now: Time, out: &mut Vec<Action>) {
        let Some(here) = self.detector.current() else { return };
        let same_area =
            |at: Addr| at == here || self.area(at).is_some_and(|area| Some(area) == self.area(here));
        match &self.state {
            State::Waiting { .. } | State::Off => {}
            State::LoggedOut { .. } => self.log_in(self.home.anchor, now, out),
            // Unless the anchor may not know that it is idle.
            State::LoggedIn(LoggedIn {
                activity: Activity::Idle { at, .. }, refresh_at: Some(_), ..
            }) if same_area(*at) && !self.attach.is_pending() => {}
            State::LoggedIn(_) => {
                self.note(Phase::AttachSent, out);
                self.attach(now, out);
            }
        }
    }

    fn area(&self, access_router: Addr) -> Option<usize> {
        self.areas.get(&access_router).copied()
    }

    fn log_in(&mut self, anchor: Option<Addr>, now: Time, out: &mut Vec<Action>) {
        let (id, timer) = (self.next_id(now), self.login_timer(now));
        self.note(Phase::LoginSent, out);
        self.request_login(Login { id, anchor, timer }, out);
    }

    fn request_login(&mut self, login: Login, out: &mut Vec<Action>) {
        self.state.plan(Next::Change(login));
        if let Some(to) = self.detector.current() {
            self.send(to, login.id, Kind::LoginRequest { anchor: login.anchor }, out);
        }
    }

    fn logged_in(
        &mut self,
        (from, id): (Addr, Identification),
        session: Session,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        if matches!(self.state, State::Off) && self.endings.iter().all(|ending| ending.session != session) {
            self.endings.push(Ending { session, again: None });
        }
        if self.state.login().is_none_or(|login| login.id != id) {
            return;
        }
        self.note(Phase::SessionKnown, out);
        let former = self.former_of(session);
        // The access router has a way to the host, as after an attach.
        self.attach.begin(from, now);
        self.attach.is_acknowledged(self.attach.id(), from);
        let refresh_at = Some(now + self.params.session.refresh);
        let activity = Activity::Active { idle_at: self.idle_at(now), next: Next::Stay };
        self.state = State::LoggedIn(LoggedIn { session, former, refresh_at, activity });
        if let Some(global) = &mut self.global {
            global.begin((self.home.host, from), session, now, out);
        }
    }

    /// The session that is kept along with a new one: the present one, if it is at another anchor. Then the one before ends.
    fn former_of(&mut self, new: Session) -> Option<(Session, Option<Time>)> {
        let known = self.state.logged_in()?;
        let former = known.former.take();
        if known.session.anchor == new.anchor {
            return former;
        }
        let present = known.session;
        self.endings.extend(former.map(|(session, _)| Ending { session, again: None }));
        Some((present, None))
    }

    /// When a host that has data now becomes idle without more.
    fn idle_at(&self, now: Time) -> Option<Time> {
        self.params.paging.as_ref().map(|paging| now + paging.idle_after)
    }

    fn attach(&mut self, now: Time, out: &mut Vec<Action>) {
        if let Some(here) = self.detector.current() {
            self.attach.begin(here, now);
            if let Some(LoggedIn { activity: Activity::Idle { at, .. }, .. }) = self.state.logged_in() {
                *at = here;
            }
            self.announce(out);
        }
    }

    fn announce(&self, out: &mut Vec<Action>) {
        let (State::LoggedIn(known), Some(here)) = (&self.state, self.detector.current()) else { return };
        let (session, former) = (known.session, known.former.map(|(session, _)| session));
        let (previous, idle) = (self.attach.previous(here), self.state.is_idle());
        self.send(here, self.attach.id(), Kind::Attach { session, former, previous, idle }, out);
    }

    fn attached(
        &mut self,
        (from, id): (Addr, Identification),
        known: bool,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        if !self.attach.is_acknowledged(id, from) {
            return;
        }
        if known {
            let refresh_at = Some(now + self.params.session.refresh);
            self.state.logged_in().into_iter().for_each(|known| known.refresh_at = refresh_at);
            self.note(Phase::Attached, out);
        } else {
            self.state = State::LoggedOut { login: None };
            self.log_in(self.home.anchor, now, out);
        }
    }

    fn predicted(&mut self, to: Addr, now: Time, out: &mut Vec<Action>) {
        let Some(here) = self.detector.current() else { return };
        let State::LoggedIn(LoggedIn { activity: Activity::Active { next, .. }, .. }) = &self.state else {
            return;
        };
        let is_known = match next {
            Next::Stay => false,
            Next::Change(_) => true,
            Next::Handover(expected) => expected.to == to,
        };
        if is_known || here == to {
            return;
        }
        let id = self.next_id(now);
        let again = Some((now + PREPARE_RETRANSMIT, PREPARE_RETRIES));
        let until = now + self.params.preparation_lifetime;
        self.state.plan(Next::Handover(Expected { to, id, again, until }));
        self.note(Phase::PreparationSent, out);
        self.send(here, id, Kind::PrepareRequest { to }, out);
    }

    fn change_anchor(&mut self, from: Addr, anchor: Addr, now: Time, out: &mut Vec<Action>) {
        let State::LoggedIn(known) = &self.state else { return };
        let settled = matches!(self.state.next(), Next::Stay) && !self.attach.is_pending();
        if settled
            && known.session.anchor != anchor
            && self.global.is_some()
            && self.detector.current() == Some(from)
        {
            self.log_in(Some(anchor), now, out);
        }
    }

    /// Data passes, or the host is paged.
    fn wake(&mut self, now: Time, out: &mut Vec<Action>) {
        let (was_idle, idle_at) = (self.state.is_idle(), self.idle_at(now));
        self.state.wake(idle_at);
        if was_idle {
            self.attach(now, out);
        }
    }

    fn log_out(&mut self) {
        if let State::LoggedIn(known) = std::mem::replace(&mut self.state, State::Off) {
            let sessions = [known.session].into_iter().chain(known.former.map(|(session, _)| session));
            self.endings.extend(sessions.map(|session| Ending { session, again: None }));
        }
        self.attach.give_up();
        self.global.iter_mut().for_each(Registrar::give_up);
    }

    fn on_time(&mut self, now: Time, out: &mut Vec<Action>) {
        let found = self.detector.on_time(now);
        self.found(found, now, out);
        if matches!(self.state, State::Waiting { login_at } if login_at <= now) {
            self.state = State::LoggedOut { login: None };
            self.arrive(now, out);
        }
        if self.logout_at.take_if(|at| *at <= now).is_some() {
            self.log_out();
        }
        if self.state.expected().is_some_and(|expected| expected.until <= now) {
            self.state.plan(Next::Stay);
            self.note(Phase::Stayed, out);
        }
        let Some(here) = self.detector.current() else { return };
        if let Some(login) = self.state.login().filter(|login| login.timer.at <= now) {
            self.request_login(Login { timer: login.timer.again(now), ..login }, out);
        }
        if let Some(expected) = self.state.expected()
            && let Some((_, left)) = expected.again.filter(|(at, _)| *at <= now)
        {
            let again = left.checked_sub(1).map(|left| (now + PREPARE_RETRANSMIT, left));
            self.state.plan(Next::Handover(Expected { again, ..expected }));
            if again.is_some() {
                self.send(here, expected.id, Kind::PrepareRequest { to: expected.to }, out);
            }
        }
        self.keep_session(here, now, out);
        self.end_sessions(here, now, out);
    }

    fn keep_session(&mut self, here: Addr, now: Time, out: &mut Vec<Action>) {
        let repeats = matches!(self.state, State::LoggedIn(_)) && self.attach.repeats(now);
        if repeats {
            self.announce(out);
        }
        let next = self.state.next();
        let idle_at = self.idle_at(now);
        let Some(known) = self.state.logged_in() else { return };
        let session = known.session;
        if matches!(known.activity, Activity::Active { idle_at: Some(at), .. } if at <= now) {
            if matches!(next, Next::Stay) {
                known.activity = Activity::Idle { at: here, login: None };
                self.attach(now, out);
            } else {
                known.activity = Activity::Active { idle_at, next };
            }
        }
        let refreshes = |known: &mut LoggedIn| known.refresh_at.take_if(|at| *at <= now).is_some();
        if self.state.logged_in().is_some_and(refreshes) && !self.attach.is_pending() {
            self.attach(now, out);
        }
        if let Some(global) = &mut self.global {
            global.on_time((self.home.host, here), session, now, out);
        }
    }

    fn end_sessions(&mut self, here: Addr, now: Time, out: &mut Vec<Action>) {
        let over =
            |known: &mut LoggedIn| known.former.take_if(|(_, until)| until.is_some_and(|until| until <= now));
        let former = self.state.logged_in().and_then(over);
        self.endings.extend(former.map(|(session, _)| Ending { session, again: None }));
        let timer = self.login_timer(now);
        let due = |ending: &Ending| ending.again.is_none_or(|again| again.at <= now);
        for number in 0..self.endings.len() {
            let Ending { session, again } = self.endings[number];
            if due(&self.endings[number]) {
                self.endings[number].again = Some(again.map_or(timer, |again| again.again(now)));
                let id = self.next_id(now);
                self.send(here, id, Kind::Logout { session }, out);
            }
        }
    }

    fn heard(&mut self, from: Addr, Message { id, kind, .. }: Message, now: Time, out: &mut Vec<Action>) {
        match kind {
            Kind::LoginResponse { session } => self.logged_in((from, id), session, now, out),
            Kind::Prepared => {
                if let Some(expected) = self.state.expected().filter(|expected| expected.id == id)
                    && expected.again.is_some()
                {
                    self.state.plan(Next::Handover(Expected { again: None, ..expected }));
                    if self.params.move_when_prepared {
                        out.push(Action::Enter { base_station: expected.to, after: Duration::ZERO });
                    }
                }
            }
            Kind::AttachAcknowledge { known } => self.attached((from, id), known, now, out),
            Kind::AnchorChange { anchor } => self.change_anchor(from, anchor, now, out),
            Kind::LogoutAcknowledge { session } => self.endings.retain(|ending| ending.session != session),
            Kind::Page if self.state.is_idle() => self.wake(now, out),
            Kind::GlobalReply { reply } => self.registered(id, &reply, now, out),
            _ => {}
        }
    }

    fn registered(&mut self, id: Identification, reply: &mobile_ip::Kind, now: Time, out: &mut Vec<Action>) {
        let Some(global) = &mut self.global else { return };
        if global.is_accepted((self.home.host, id), reply, now, out)
            && let Some(LoggedIn { former: Some((_, until @ None)), .. }) = self.state.logged_in()
        {
            *until = Some(now + self.params.anchor_grace);
        }
    }
}

impl Role for MobileHost {
    fn state(&self, _: Addr) -> StateName {
        let known = match &self.state {
            State::Waiting { .. } | State::Off => return StateName::Off,
            _ if self.detector.current().is_none() => return StateName::Away,
            State::LoggedOut { .. } => return StateName::LoggingIn,
            State::LoggedIn(known) => known,
        };
        match known.activity {
            Activity::Active { next: Next::Change(_), .. } | Activity::Idle { login: Some(_), .. } => {
                StateName::Changing
            }
            Activity::Active { next: Next::Handover(_), .. } => StateName::Preparing,
            _ if self.attach.is_pending() => StateName::Attaching,
            Activity::Idle { .. } => StateName::Idle,
            Activity::Active { .. } => StateName::Active,
        }
    }
}

impl Agent for MobileHost {
    type Message = Message;
    type Phase = Phase;

    fn on(&mut self, input: Input, now: Time, out: &mut Vec<Action>) {
        match input {
            Input::Trigger(L2Trigger::HandoverPredicted { base_station, .. }) => {
                self.predicted(base_station, now, out);
            }
            Input::Trigger(trigger) => {
                let found = self.detector.on_trigger(&trigger, now);
                self.found(found, now, out);
            }
            Input::Message { from, message: Message { kind: Kind::Advertisement, .. } } => {
                let found = self.detector.on_beacon(from, now);
                self.found(found, now, out);
            }
            Input::Message { from, message } if message.host == Some(self.home.host) => {
                self.heard(from, message, now, out);
            }
            Input::Message { .. } => {}
            Input::Deadline => self.on_time(now, out),
            Input::Data { .. } => self.wake(now, out),
        }
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        let login_at = match self.state {
            State::Waiting { login_at } => Some(login_at),
            _ => None,
        };
        let hours = [login_at, self.logout_at, self.detector.deadline()];
        let expected = self.state.expected();
        hours.into_iter().flatten().chain(expected.map(|expected| expected.until)).for_each(&mut *each);
        if self.detector.current().is_none() {
            return;
        }
        if let State::LoggedIn(known) = &self.state {
            let global = self.global.as_ref().and_then(Registrar::deadline);
            known.deadlines().chain(self.attach.deadline()).chain(global).for_each(&mut *each);
        }
        let login = self.state.login().map(|login| login.timer.at);
        let prepare = expected.and_then(|expected| Some(expected.again?.0));
        // One that has not been sent is due.
        let endings = self.endings.iter().map(|ending| ending.again.map_or(Time::ZERO, |again| again.at));
        endings.chain(login).chain(prepare).for_each(each);
    }
}
