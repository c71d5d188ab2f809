//! The mobile host: logs in, reports its present and its next access router, and logs out.

use super::host::{Ending, Expected, Login, Registrar};
use super::{Action, Home, Hours, Input, Kind, Message, Params, Phase, Session};
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
    /// When it logs in; `None`: it has.
    login_at: Option<Time>,
    /// When it logs out; `None`: never, or it has.
    logout_at: Option<Time>,
    /// It is logged out for good.
    off: bool,
    /// The last sequence number.
    id: Identification,
    session: Option<Session>,
    login: Option<Login>,
    attach: Registration,
    refresh_at: Option<Time>,
    expected: Option<Expected>,
    /// It has told its anchor to page it; at this access router.
    idle: Option<Addr>,
    /// When it becomes idle without data.
    active_until: Option<Time>,
    global: Option<Registrar>,
    /// The session before, and until when it is kept; `None`: the home agent has not answered yet.
    former: Option<(Session, Option<Time>)>,
    endings: Vec<Ending>,
}

impl MobileHost {
    /// A host that hears nobody; `areas` has the number of the paging area of each access router.
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
            login_at: Some(Time::ZERO + hours.login).filter(|at| *at > Time::ZERO),
            logout_at: hours.logout.map(|logout| Time::ZERO + logout),
            off: false,
            id: Identification::default(),
            session: None,
            login: None,
            attach: Registration::new((params.attach_retransmit, params.attach_retransmit_limit)),
            refresh_at: None,
            expected: None,
            idle: None,
            active_until: None,
            global: home.home_agent.and_then(registrar),
            former: None,
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
                (self.login, self.expected) = (None, None);
                self.arrive(now, out);
            }
            Some(Found::Lost) => {
                (self.login, self.expected) = (None, None);
                self.refresh_at.take_if(|_| self.attach.is_pending());
                self.attach.give_up();
            }
            None => {}
        }
    }

    /// It has an access router, and does what a logged-in host does there.
    fn arrive(&mut self, now: Time, out: &mut Vec<Action>) {
        let Some(here) = self.detector.current().filter(|_| !self.off && self.login_at.is_none()) else {
            return;
        };
        let same_area =
            |at: Addr| at == here || self.area(at).is_some_and(|area| Some(area) == self.area(here));
        match self.session {
            None => self.log_in(self.home.anchor, now, out),
            // Unless the anchor may not know that it is idle.
            Some(_)
                if self.idle.is_some_and(same_area)
                    && self.refresh_at.is_some()
                    && !self.attach.is_pending() => {}
            Some(_) => {
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
        self.login = Some(Login { id, anchor, timer });
        self.note(Phase::LoginSent, out);
        self.request_login(out);
    }

    fn request_login(&self, out: &mut Vec<Action>) {
        if let (Some(Login { id, anchor, .. }), Some(to)) = (self.login, self.detector.current()) {
            self.send(to, id, Kind::LoginRequest { anchor }, out);
        }
    }

    fn logged_in(
        &mut self,
        (from, id): (Addr, Identification),
        session: Session,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        if self.off && self.endings.iter().all(|ending| ending.session != session) {
            self.endings.push(Ending { session, again: None });
        }
        if self.login.take_if(|login| login.id == id).is_none() {
            return;
        }
        self.note(Phase::SessionKnown, out);
        if let Some(before) = self.session.replace(session).filter(|before| before.anchor != session.anchor) {
            let former = self.former.replace((before, None));
            self.endings.extend(former.map(|(session, _)| Ending { session, again: None }));
        }
        // The access router has a way to the host, as after an attach.
        self.attach.begin(from, now);
        self.attach.is_acknowledged(self.attach.id(), from);
        self.refresh_at = Some(now + self.params.session.refresh);
        self.use_session(now);
        if let Some(global) = &mut self.global {
            global.begin((self.home.host, from), session, now, out);
        }
    }

    /// There is data, or reason to expect it.
    fn use_session(&mut self, now: Time) {
        self.idle = None;
        self.active_until = self.params.paging.as_ref().map(|paging| now + paging.idle_after);
    }

    fn attach(&mut self, now: Time, out: &mut Vec<Action>) {
        if let Some(here) = self.detector.current() {
            self.attach.begin(here, now);
            self.idle = self.idle.map(|_| here);
            self.announce(out);
        }
    }

    fn announce(&self, out: &mut Vec<Action>) {
        let (Some(session), Some(here)) = (self.session, self.detector.current()) else { return };
        let former = self.former.map(|(session, _)| session);
        let (previous, idle) = (self.attach.previous(here), self.idle.is_some());
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
            self.refresh_at = Some(now + self.params.session.refresh);
            self.note(Phase::Attached, out);
        } else {
            (self.session, self.idle, self.expected, self.former) = (None, None, None, None);
            self.log_in(self.home.anchor, now, out);
        }
    }

    fn predicted(&mut self, to: Addr, now: Time, out: &mut Vec<Action>) {
        let Some(here) = self.detector.current() else { return };
        let ready = self.session.is_some() && self.login.is_none() && self.idle.is_none() && !self.off;
        if !ready || here == to || self.expected.is_some_and(|expected| expected.to == to) {
            return;
        }
        let id = self.next_id(now);
        let again = Some((now + self.params.prepare_retransmit, self.params.prepare_retries));
        let until = now + self.params.preparation_lifetime;
        self.expected = Some(Expected { to, id, again, until });
        self.note(Phase::PreparationSent, out);
        self.send(here, id, Kind::PrepareRequest { to }, out);
    }

    fn change_anchor(&mut self, from: Addr, anchor: Addr, now: Time, out: &mut Vec<Action>) {
        let settled = self.login.is_none() && !self.attach.is_pending() && self.expected.is_none();
        let elsewhere = self.session.is_some_and(|session| session.anchor != anchor);
        if settled && elsewhere && self.global.is_some() && self.detector.current() == Some(from) {
            self.log_in(Some(anchor), now, out);
        }
    }

    /// Data passes, or the host is paged.
    fn wake(&mut self, now: Time, out: &mut Vec<Action>) {
        let was_idle = self.idle.is_some();
        if self.session.is_some() && self.params.paging.is_some() {
            self.use_session(now);
        }
        if was_idle {
            self.attach(now, out);
        }
    }

    fn log_out(&mut self) {
        let former = self.former.take().map(|(session, _)| session);
        let sessions = self.session.take().into_iter().chain(former);
        self.endings.extend(sessions.map(|session| Ending { session, again: None }));
        (self.off, self.login, self.expected, self.idle) = (true, None, None, None);
        (self.refresh_at, self.active_until) = (None, None);
        self.attach.give_up();
        self.global.iter_mut().for_each(Registrar::give_up);
    }

    fn on_time(&mut self, now: Time, out: &mut Vec<Action>) {
        let found = self.detector.on_time(now);
        self.found(found, now, out);
        if self.login_at.take_if(|at| *at <= now).is_some() {
            self.arrive(now, out);
        }
        if self.logout_at.take_if(|at| *at <= now).is_some() {
            self.log_out();
        }
        if self.expected.take_if(|expected| expected.until <= now).is_some() {
            self.note(Phase::Stayed, out);
        }
        let Some(here) = self.detector.current() else { return };
        if let Some(login) = self.login.as_mut().filter(|login| login.timer.at <= now) {
            login.timer = login.timer.again(now);
            self.request_login(out);
        }
        if let Some(expected) = &mut self.expected
            && let Some((_, left)) = expected.again.filter(|(at, _)| *at <= now)
        {
            expected.again = left.checked_sub(1).map(|left| (now + self.params.prepare_retransmit, left));
            if let Expected { to, id, again: Some(_), .. } = *expected {
                self.send(here, id, Kind::PrepareRequest { to }, out);
            }
        }
        self.keep_session(here, now, out);
        self.end_sessions(here, now, out);
    }

    fn keep_session(&mut self, here: Addr, now: Time, out: &mut Vec<Action>) {
        let Some(session) = self.session else { return };
        if self.attach.repeats(now) {
            self.announce(out);
        }
        if self.active_until.take_if(|until| *until <= now).is_some() {
            if self.login.is_none() && self.expected.is_none() {
                self.idle = Some(here);
                self.attach(now, out);
            } else {
                self.use_session(now);
            }
        }
        if self.refresh_at.take_if(|at| *at <= now).is_some() && !self.attach.is_pending() {
            self.attach(now, out);
        }
        if let Some(global) = &mut self.global {
            global.on_time((self.home.host, here), session, now, out);
        }
    }

    fn end_sessions(&mut self, here: Addr, now: Time, out: &mut Vec<Action>) {
        if let Some((session, _)) = self.former.take_if(|(_, until)| until.is_some_and(|until| until <= now))
        {
            self.endings.push(Ending { session, again: None });
        }
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
                if let Some(expected) = self.expected.as_mut().filter(|expected| expected.id == id)
                    && expected.again.take().is_some()
                    && self.params.move_when_prepared
                {
                    out.push(Action::Enter { base_station: expected.to, after: Duration::ZERO });
                }
            }
            Kind::AttachAcknowledge { known } => self.attached((from, id), known, now, out),
            Kind::AnchorChange { anchor } => self.change_anchor(from, anchor, now, out),
            Kind::LogoutAcknowledge { session } => self.endings.retain(|ending| ending.session != session),
            Kind::Page if self.idle.is_some() => self.wake(now, out),
            Kind::GlobalReply { reply } => self.registered(id, &reply, now, out),
            _ => {}
        }
    }

    fn registered(&mut self, id: Identification, reply: &mobile_ip::Kind, now: Time, out: &mut Vec<Action>) {
        let Some(global) = &mut self.global else { return };
        if global.is_accepted((self.home.host, id), reply, now, out)
            && let Some((_, until @ None)) = &mut self.former
        {
            *until = Some(now + self.params.anchor_grace);
        }
    }
}

impl Role for MobileHost {
    fn state(&self, _: Addr) -> StateName {
        match (self.detector.current(), self.session) {
            _ if self.off || self.login_at.is_some() => StateName::Off,
            (None, _) => StateName::Away,
            (_, None) => StateName::LoggingIn,
            _ if self.login.is_some() => StateName::Changing,
            _ if self.expected.is_some() => StateName::Preparing,
            _ if self.attach.is_pending() => StateName::Attaching,
            _ if self.idle.is_some() => StateName::Idle,
            _ => StateName::Active,
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
        let hours = [self.login_at, self.logout_at, self.detector.deadline()];
        hours.into_iter().flatten().for_each(&mut *each);
        self.expected.iter().for_each(|expected| each(expected.until));
        if self.detector.current().is_none() {
            return;
        }
        let session = [self.attach.deadline(), self.active_until, self.refresh_at];
        let global = self.global.as_ref().and_then(Registrar::deadline);
        let session = session.into_iter().chain([global]).flatten().filter(|_| self.session.is_some());
        let login = self.login.map(|login| login.timer.at);
        let prepare = self.expected.and_then(|expected| Some(expected.again?.0));
        let former = self.former.and_then(|(_, until)| until);
        // One that has not been sent is due.
        let endings = self.endings.iter().map(|ending| ending.again.map_or(Time::ZERO, |again| again.at));
        session.chain(login).chain(prepare).chain(former).chain(endings).for_each(each);
    }
}
