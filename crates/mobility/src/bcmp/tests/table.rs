//! A table of every state and input of every role, with inputs that arrive twice, late, or never.

use crate::bcmp::{
    AccessRouter, Anchor, AuthenticationServer, Bcmp, Global, Home, HomeAgent, Hours, Input, Kind, Message,
    MobileHost, Paging, Params, Session, Unused,
};
use crate::blocks::BufferPlace;
use crate::lab::{
    self, ELSEWHERE, HERE, HOST, NOW, Setup, THERE, Words, and, arrived, clock, data, down, gone, hear, ms,
    predicted, transitions, up,
};
use crate::mobile_ip::{self, ReplyCode};
use crate::{Direction, Identification};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

lab::cases! {
    mobile_host,
    mobile_host_with_a_home_agent,
    mobile_host_with_paging,
    mobile_host_with_hours,
    anchor,
    anchor_without_an_answer,
    anchor_that_asks,
    authentication_server,
    home_agent,
    access_router,
    access_router_with_a_buffer_where_the_host_was,
    access_router_without_an_answer,
    access_router_with_another_anchor,
    mobile_host_out_of_reach_at_its_hours,
    mobile_host_that_moves_when_prepared,
    access_router_that_returns_packets,
}

const ANCHOR: Addr = Addr::new(2, 0);
const OTHER: Addr = Addr::new(3, 0);
const AGENT: Addr = Addr::new(4, 0);
const SERVER: Addr = Addr::new(5, 0);

const NAMES: &[(Addr, &str)] = &[
    (HOST, "host"),
    (HERE, "here"),
    (THERE, "there"),
    (ELSEWHERE, "elsewhere"),
    (ANCHOR, "anchor"),
    (OTHER, "other anchor"),
    (AGENT, "home agent"),
    (SERVER, "server"),
    (Addr::BROADCAST, "all"),
];

fn name(addr: Addr) -> String {
    lab::name(NAMES, addr)
}

fn session_name(session: &Session) -> String {
    format!("{} {}", name(session.anchor), session.number)
}

fn detail(message: &Message) -> String {
    let clock = clock(message.id);
    match &message.kind {
        Kind::LoginRequest { anchor: Some(anchor) } => format!(" {clock} for {}", name(*anchor)),
        Kind::LoginResponse { session } | Kind::Logout { session } | Kind::LogoutAcknowledge { session } => {
            format!(" {clock} of {}", session_name(session))
        }
        Kind::PrepareRequest { to } => format!(" {clock} for {}", name(*to)),
        Kind::Attach { session, former, previous, idle } => {
            let former = former.map_or(String::new(), |former| format!(", and {}", session_name(&former)));
            let previous: Vec<String> = previous.iter().map(|&one| name(one)).collect();
            let idle = if *idle { ", idle" } else { "" };
            format!(" {clock} of {}{former} after [{}]{idle}", session_name(session), previous.join(", "))
        }
        Kind::PathUpdate { session, idle } => {
            format!(" {clock} of {}{}", session_name(session), if *idle { ", idle" } else { "" })
        }
        Kind::PathAcknowledge { known: false } | Kind::AttachAcknowledge { known: false } => {
            format!(" {clock}: denied")
        }
        Kind::AnchorChange { anchor } => format!(" {clock} to {}", name(*anchor)),
        Kind::GlobalRequest { request: mobile_ip::Kind::RegistrationRequest { care_of, .. } } => {
            format!(" {clock} for {}", name(*care_of))
        }
        Kind::GlobalReply { reply: mobile_ip::Kind::RegistrationReply { code, .. } } => {
            format!(" {clock}: code {}", code.0)
        }
        _ => format!(" {clock}"),
    }
}

fn table(role: Bcmp, states: &[Setup<'_, Message>], inputs: &[(&str, Time, Input)]) -> String {
    let words = Words { names: NAMES, detail };
    transitions(&role, &words, states, ms(1_000), inputs)
}

const fn session(number: u32) -> Session {
    Session { anchor: ANCHOR, number }
}

fn attach(millis: u64, number: u32, previous: &[Addr], idle: bool) -> Input {
    let previous = previous.to_vec();
    hear(HOST, millis, Kind::Attach { session: session(number), former: None, previous, idle })
}

fn reply(from: Addr, millis: u64, code: ReplyCode) -> Input {
    let reply = mobile_ip::Kind::RegistrationReply { code, lifetime: Duration::from_secs(300) };
    hear(from, millis, Kind::GlobalReply { reply })
}

fn request(from: Addr, millis: u64, care_of: Addr) -> Input {
    let request = mobile_ip::Kind::RegistrationRequest {
        home_agent: AGENT,
        care_of,
        lifetime: Duration::from_secs(300),
        previous: Vec::new(),
        base_station: HERE,
    };
    hear(from, millis, Kind::GlobalRequest { request })
}

fn with_paging() -> Params {
    Params { paging: Some(Paging::default()), ..Params::default() }
}

/// The access routers here and there are one area, and elsewhere is another.
fn host(home_agent: Option<Addr>, hours: &Hours, params: &Params) -> Bcmp {
    let areas = BTreeMap::from([(HERE, 0), (THERE, 0), (ELSEWHERE, 1)]);
    MobileHost::new(
        Home { host: HOST, anchor: None, home_agent },
        &Arc::new(areas),
        hours,
        &Arc::new(params.clone()),
    )
    .into()
}

fn mobile_host() -> String {
    let response = |millis| hear(HERE, millis, Kind::LoginResponse { session: session(1) });
    let acknowledge = |from, millis, known| hear(from, millis, Kind::AttachAcknowledge { known });
    let prepared = |millis| hear(HERE, millis, Kind::Prepared);
    let logging_in = [(500, up(HERE))];
    let active = and(&logging_in, &[(510, response(500))]);
    let preparing = and(&active, &[(900, predicted(THERE))]);
    let ready = and(&preparing, &[(930, prepared(900))]);
    let between = and(&ready, &[(950, down(HERE))]);
    let attaching = and(&between, &[(960, up(THERE))]);
    let attached = and(&attaching, &[(970, acknowledge(THERE, 960, true))]);
    let states: [Setup<'_, Message>; 8] = [
        ("no cell", &[]),
        ("link up", &logging_in),
        ("logged in", &active),
        ("predicted", &preparing),
        ("prepared", &ready),
        ("prepared, link down", &between),
        ("moved", &attaching),
        ("moved and attached", &attached),
    ];
    let inputs = [
        ("link up (here)", NOW, up(HERE)),
        ("link up (there)", NOW, up(THERE)),
        ("link up (elsewhere)", NOW, up(ELSEWHERE)),
        ("link down (here)", NOW, down(HERE)),
        ("link down (there)", NOW, down(THERE)),
        ("response of 500", NOW, response(500)),
        ("response of 400: late", NOW, response(400)),
        ("acknowledge of 960", NOW, acknowledge(THERE, 960, true)),
        ("acknowledge of 400: late", NOW, acknowledge(THERE, 400, true)),
        ("acknowledge of 960: denied", NOW, acknowledge(THERE, 960, false)),
        ("predicted for there", NOW, predicted(THERE)),
        ("predicted for elsewhere", NOW, predicted(ELSEWHERE)),
        ("predicted for here", NOW, predicted(HERE)),
        ("prepared of 900", NOW, prepared(900)),
        ("prepared of 400: late", NOW, prepared(400)),
        ("anchor change", NOW, hear(HERE, 900, Kind::AnchorChange { anchor: OTHER })),
        ("page", NOW, hear(HERE, 500, Kind::Page)),
        ("time: early", NOW, Input::Deadline),
        ("time: retransmission", ms(100), Input::Deadline),
        ("time: login again", ms(500), Input::Deadline),
        ("time: preparation over", ms(900), Input::Deadline),
        ("time: refresh", ms(9_970), Input::Deadline),
    ];
    let role = host(None, &Hours::default(), &Params::default());
    table(role, &states, &inputs)
}

fn mobile_host_with_a_home_agent() -> String {
    let other = Session { anchor: OTHER, number: 7 };
    let active = [
        (500, up(HERE)),
        (510, hear(HERE, 500, Kind::LoginResponse { session: session(1) })),
        (520, reply(ANCHOR, 510, ReplyCode::ACCEPTED)),
    ];
    let changing = and(&active, &[(600, hear(HERE, 500, Kind::AnchorChange { anchor: OTHER }))]);
    let changed = and(&changing, &[(610, hear(HERE, 600, Kind::LoginResponse { session: other }))]);
    let preparing = and(&changed, &[(620, predicted(THERE))]);
    let registered = and(&changed, &[(630, reply(OTHER, 610, ReplyCode::ACCEPTED))]);
    let ending = and(&registered, &[(3_630, Input::Deadline)]);
    let states: [Setup<'_, Message>; 6] = [
        ("registered", &active),
        ("changes its anchor", &changing),
        ("changed", &changed),
        ("changed, and predicted", &preparing),
        ("changed and registered", &registered),
        ("session before over", &ending),
    ];
    let acknowledge = hear(HERE, 3_630, Kind::LogoutAcknowledge { session: session(1) });
    let inputs = [
        ("link up (there)", NOW, up(THERE)),
        ("link down (here)", NOW, down(HERE)),
        ("anchor change", NOW, hear(HERE, 500, Kind::AnchorChange { anchor: OTHER })),
        ("anchor change to its own", NOW, hear(HERE, 500, Kind::AnchorChange { anchor: ANCHOR })),
        ("response of 600", NOW, hear(HERE, 600, Kind::LoginResponse { session: other })),
        ("reply of 610", NOW, reply(OTHER, 610, ReplyCode::ACCEPTED)),
        ("reply of 610: denied", NOW, reply(OTHER, 610, ReplyCode::IDENTIFICATION_MISMATCH)),
        ("reply of 510: late", NOW, reply(ANCHOR, 510, ReplyCode::ACCEPTED)),
        ("logout acknowledge", NOW, acknowledge),
        ("time: early", NOW, Input::Deadline),
        ("time: repetitions", ms(700), Input::Deadline),
        ("time: grace time over", ms(3_000), Input::Deadline),
        ("time: renewal", ms(270_000), Input::Deadline),
    ];
    let params = Params { global: Some(Global::default()), ..Params::default() };
    table(host(Some(AGENT), &Hours::default(), &params), &states, &inputs)
}

fn mobile_host_with_paging() -> String {
    let acknowledge = |from, millis| hear(from, millis, Kind::AttachAcknowledge { known: true });
    let active = [(100, up(HERE)), (110, hear(HERE, 100, Kind::LoginResponse { session: session(1) }))];
    let quiet = and(&active, &[(610, Input::Deadline)]);
    let idle = and(&quiet, &[(620, acknowledge(HERE, 610))]);
    let away = and(&idle, &[(700, down(HERE))]);
    let unsure = and(&quiet, &[(615, down(HERE))]);
    let states: [Setup<'_, Message>; 5] = [
        ("active", &active),
        ("reports that it is idle", &quiet),
        ("idle", &idle),
        ("idle, link down", &away),
        ("link down before the acknowledge", &unsure),
    ];
    let inputs = [
        ("link up (there): same area", NOW, up(THERE)),
        ("link up (elsewhere): another area", NOW, up(ELSEWHERE)),
        ("link down (here)", NOW, down(HERE)),
        ("acknowledge of 610", NOW, acknowledge(HERE, 610)),
        ("data to the host", NOW, data(Direction::Down, None, false)),
        ("data from the host", NOW, data(Direction::Up, None, false)),
        ("page", NOW, hear(HERE, 610, Kind::Page)),
        ("predicted for there", NOW, predicted(THERE)),
        ("time: refresh", ms(9_700), Input::Deadline),
    ];
    let paging = Some(Paging { idle_after: Duration::from_millis(500), ..Paging::default() });
    let params = Params { paging, ..Params::default() };
    table(host(None, &Hours::default(), &params), &states, &inputs)
}

fn mobile_host_with_hours() -> String {
    let response = hear(HERE, 200, Kind::LoginResponse { session: session(1) });
    let there = [(100, up(HERE))];
    let logging_in = and(&there, &[(200, Input::Deadline)]);
    let active = and(&logging_in, &[(210, response.clone())]);
    let attaching = and(&active, &[(300, up(THERE))]);
    let off = and(&active, &[(1_000, Input::Deadline)]);
    let hasty = and(&logging_in, &[(1_000, Input::Deadline), (1_010, response.clone())]);
    let states: [Setup<'_, Message>; 6] = [
        ("before the hour", &there),
        ("logging in", &logging_in),
        ("logged in", &active),
        ("attaching", &attaching),
        ("logged out", &off),
        ("logged out before the response", &hasty),
    ];
    let acknowledge = |number| hear(HERE, 1_000, Kind::LogoutAcknowledge { session: session(number) });
    let inputs = [
        ("link up (elsewhere)", NOW, up(ELSEWHERE)),
        ("link down (here)", NOW, down(HERE)),
        ("response of 200", NOW, response),
        ("predicted for there", NOW, predicted(ELSEWHERE)),
        ("logout acknowledge", NOW, acknowledge(1)),
        ("logout acknowledge of another", NOW, acknowledge(2)),
        ("time: the hour of logout", NOW, Input::Deadline),
        ("time: logout again", ms(1_000), Input::Deadline),
    ];
    let hours = Hours { login: Duration::from_millis(200), logout: Some(Duration::from_secs(1)) };
    table(host(None, &hours, &Params::default()), &states, &inputs)
}

/// Repetitions: four prepare requests in all; attaches and logins without end.
#[test]
fn mobile_host_that_hears_no_answers() {
    use crate::{Action, Agent};
    let mut role = host(None, &Hours::default(), &Params::default());
    let mut times: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    let mut out = Vec::new();
    role.on(up(HERE), ms(500), &mut out);
    let mut now = ms(500);
    while now < ms(40_000) {
        for action in out.drain(..) {
            if let Action::Send { message, .. } = action {
                times.entry(message.name()).or_default().push(now.as_nanos() / 1_000_000);
            }
        }
        now = role.next_deadline().expect("the login is repeated without end");
        role.on(Input::Deadline, now, &mut out);
    }
    assert_eq!(times["login-request"], [500, 1_500, 3_500, 7_500, 15_500, 23_500, 31_500, 39_500]);
    let id = Identification(500_000_000);
    let message = Message { host: Some(HOST), id, kind: Kind::LoginResponse { session: session(1) } };
    role.on(Input::Message { from: HERE, message }, ms(40_000), &mut out);
    role.on(predicted(THERE), ms(40_000), &mut out);
    now = ms(40_000);
    while now < ms(44_000) {
        for action in out.drain(..) {
            if let Action::Send { message, .. } = action {
                times.entry(message.name()).or_default().push(now.as_nanos() / 1_000_000 - 40_000);
            }
        }
        now = role.next_deadline().expect("a refresh");
        if (41_500..43_000).contains(&(now.as_nanos() / 1_000_000)) || now > ms(44_000) {
            break;
        }
        role.on(Input::Deadline, now, &mut out);
    }
    assert_eq!(times["handover-prepare-request"], [0, 50, 100, 150]);
    role.on(up(THERE), ms(42_000), &mut out);
    now = ms(42_000);
    while now < ms(46_000) {
        for action in out.drain(..) {
            if let Action::Send { message, .. } = action {
                times.entry(message.name()).or_default().push(now.as_nanos() / 1_000_000 - 42_000);
            }
        }
        now = role.next_deadline().expect("the attach is repeated without end");
        role.on(Input::Deadline, now, &mut out);
    }
    assert_eq!(times["handover-attach"], [0, 100, 300, 700, 1_500, 2_500, 3_500]);
}

fn anchor() -> String {
    let login = |from, millis| hear(from, millis, Kind::LoginRequest { anchor: None });
    let update =
        |from, millis, number, idle| hear(from, millis, Kind::PathUpdate { session: session(number), idle });
    let logout = |number| hear(HERE, 990, Kind::Logout { session: session(number) });
    let bound = [(500, login(HERE, 490))];
    let idle = and(&bound, &[(600, update(HERE, 590, 1, true))]);
    let paging = and(&idle, &[(900, data(Direction::Down, None, false))]);
    let states: [Setup<'_, Message>; 4] =
        [("none", &[]), ("login heard", &bound), ("idle", &idle), ("paging", &paging)];
    let inputs = [
        ("login 490: again", NOW, login(HERE, 490)),
        ("login 400: late", NOW, login(THERE, 400)),
        ("login 990", NOW, login(THERE, 990)),
        ("path update 990", NOW, update(THERE, 990, 1, false)),
        ("path update 990 from the same", NOW, update(HERE, 990, 1, false)),
        ("path update 400: late", NOW, update(THERE, 400, 1, false)),
        ("path update 990 of another session", NOW, update(THERE, 990, 5, false)),
        ("path update 990, idle", NOW, update(THERE, 990, 1, true)),
        ("logout", NOW, logout(1)),
        ("logout of another session", NOW, logout(5)),
        ("data", NOW, data(Direction::Down, None, false)),
        ("registration request", NOW, request(HOST, 990, ANCHOR)),
        ("registration reply", NOW, reply(AGENT, 990, ReplyCode::ACCEPTED)),
        ("time: early", NOW, Input::Deadline),
        ("time: page again", ms(400), Input::Deadline),
        ("time: lifetime over", ms(29_600), Input::Deadline),
    ];
    let areas = BTreeMap::from([(HERE, vec![HERE, THERE]), (THERE, vec![HERE, THERE])]);
    table(Anchor::new(ANCHOR, &Arc::new(areas), None, &Arc::new(with_paging())).into(), &states, &inputs)
}

/// After three repetitions of a page what was kept is lost, and the host is idle as before.
fn anchor_without_an_answer() -> String {
    let setup = [
        (100, hear(HERE, 90, Kind::LoginRequest { anchor: None })),
        (110, hear(HERE, 105, Kind::PathUpdate { session: session(1), idle: true })),
        (200, data(Direction::Down, None, false)),
        (700, Input::Deadline),
        (1_200, Input::Deadline),
    ];
    let last = and(&setup, &[(1_700, Input::Deadline)]);
    let states: [Setup<'_, Message>; 2] = [("paged three times", &setup), ("paged four times", &last)];
    let inputs = [("time", ms(1_200), Input::Deadline)];
    let areas = BTreeMap::from([(HERE, vec![HERE, THERE])]);
    table(Anchor::new(ANCHOR, &Arc::new(areas), None, &Arc::new(with_paging())).into(), &states, &inputs)
}

fn anchor_that_asks() -> String {
    let login = |from, millis| hear(from, millis, Kind::LoginRequest { anchor: None });
    let answer = |from, millis, accepted| hear(from, millis, Kind::AuthenticationAnswer { accepted });
    let idle = |millis| hear(HERE, millis, Kind::PathUpdate { session: session(1), idle: true });
    let asked = [(500, login(HERE, 490))];
    let bound = and(&asked, &[(520, answer(SERVER, 490, true))]);
    let asked_again = and(&bound, &[(900, login(THERE, 890))]);
    let asked_idle = and(&bound, &[(600, idle(590)), (900, login(THERE, 890))]);
    let asked_paged =
        and(&bound, &[(600, idle(590)), (700, data(Direction::Down, None, false)), (900, login(THERE, 890))]);
    let states: [Setup<'_, Message>; 6] = [
        ("none", &[]),
        ("asked", &asked),
        ("accepted", &bound),
        ("asked for another session", &asked_again),
        ("the same of an idle host", &asked_idle),
        ("the same of a paged host", &asked_paged),
    ];
    let inputs = [
        ("login 490: again", NOW, login(HERE, 490)),
        ("login 990", NOW, login(THERE, 990)),
        ("answer to 490: accepted", NOW, answer(SERVER, 490, true)),
        ("answer to 490: refused", NOW, answer(SERVER, 490, false)),
        ("answer to 890: accepted", NOW, answer(SERVER, 890, true)),
        ("answer to 890: refused", NOW, answer(SERVER, 890, false)),
        ("time: no answer", ms(200), Input::Deadline),
    ];
    let areas = BTreeMap::from([(HERE, vec![HERE, THERE])]);
    let role = Anchor::new(ANCHOR, &Arc::new(areas), Some(SERVER), &Arc::new(with_paging()));
    table(role.into(), &states, &inputs)
}

fn authentication_server() -> String {
    let inputs = [("request 990", NOW, hear(ANCHOR, 990, Kind::AuthenticationRequest))];
    let of = |refused| table(AuthenticationServer::new(refused).into(), &[("ready", &[])], &inputs);
    [BTreeSet::new(), BTreeSet::from([HOST])].map(of).concat()
}

fn home_agent() -> String {
    let bound = [(500, request(ANCHOR, 490, ANCHOR))];
    let states: [Setup<'_, Message>; 2] = [("none", &[]), ("request heard", &bound)];
    let inputs = [
        ("request 490: again", NOW, request(ANCHOR, 490, ANCHOR)),
        ("request 400: late", NOW, request(OTHER, 400, OTHER)),
        ("request 990", NOW, request(OTHER, 990, OTHER)),
        ("attach", NOW, attach(990, 1, &[], false)),
        ("time: early", NOW, Input::Deadline),
        ("time: lifetime over", ms(299_500), Input::Deadline),
    ];
    table(HomeAgent::new(AGENT, &Global::default()).into(), &states, &inputs)
}

fn prepare_request(millis: u64, to: Addr) -> Input {
    hear(HOST, millis, Kind::PrepareRequest { to })
}

fn prepare(millis: u64) -> Input {
    hear(THERE, millis, Kind::Prepare)
}

fn prepare_acknowledge(from: Addr, millis: u64) -> Input {
    hear(from, millis, Kind::PrepareAcknowledge)
}

fn path_acknowledge(millis: u64, known: bool) -> Input {
    hear(ANCHOR, millis, Kind::PathAcknowledge { known })
}

fn access_router_table(params: &Params) -> String {
    let (comes, gone) = (arrived(), gone());
    let arrived = [(400, comes.clone())];
    let attaching = and(&arrived, &[(500, attach(490, 1, &[THERE], false))]);
    let serving = and(&attaching, &[(510, path_acknowledge(490, true))]);
    let idle = and(&arrived, &[(500, attach(490, 1, &[], true))]);
    let preparing = and(&serving, &[(900, prepare_request(890, THERE))]);
    let forwarding = and(&preparing, &[(920, prepare_acknowledge(THERE, 890))]);
    let forwarding_gone = and(&forwarding, &[(950, gone.clone())]);
    let left = and(&serving, &[(950, gone.clone())]);
    let left_preparing = and(&preparing, &[(910, gone)]);
    let prepared = [(500, prepare(490))];
    let prepared_arrived = and(&prepared, &[(800, comes)]);
    let states: [Setup<'_, Message>; 12] = [
        ("none", &[]),
        ("host here", &arrived),
        ("attach heard", &attaching),
        ("attach heard, idle", &idle),
        ("anchor has answered", &serving),
        ("prepare request heard", &preparing),
        ("prepare acknowledged", &forwarding),
        ("prepare acknowledged, host gone", &forwarding_gone),
        ("host gone", &left),
        ("host gone after the prepare", &left_preparing),
        ("prepare heard", &prepared),
        ("prepare heard, host here", &prepared_arrived),
    ];
    let router = AccessRouter::new(HERE, ANCHOR, Duration::ZERO, &Arc::new(params.clone()));
    table(router.into(), &states, &access_router_inputs())
}

/// Inputs of an access router in any state.
fn access_router_inputs() -> [(&'static str, Time, Input); 31] {
    let notify = |from, millis| hear(from, millis, Kind::Notify);
    let response = |millis| hear(ANCHOR, millis, Kind::LoginResponse { session: session(1) });
    let logout = |number| Kind::Logout { session: session(number) };
    let logged_out = |number| hear(ANCHOR, 990, Kind::LogoutAcknowledge { session: session(number) });
    [
        ("host arrived", NOW, arrived()),
        ("host gone", NOW, gone()),
        ("login request 990", NOW, hear(HOST, 990, Kind::LoginRequest { anchor: None })),
        ("login request 300: late", NOW, hear(HOST, 300, Kind::LoginRequest { anchor: None })),
        ("login response 990", NOW, response(990)),
        ("login response 300: late", NOW, response(300)),
        ("attach 490: again", NOW, attach(490, 1, &[THERE], false)),
        ("attach 300: late", NOW, attach(300, 1, &[], false)),
        ("attach 990", NOW, attach(990, 1, &[THERE], false)),
        ("path acknowledge of 490", NOW, path_acknowledge(490, true)),
        ("path acknowledge of 490: denied", NOW, path_acknowledge(490, false)),
        ("path acknowledge of 300: late", NOW, path_acknowledge(300, true)),
        ("prepare request 890: again", NOW, prepare_request(890, THERE)),
        ("prepare request 300: late", NOW, prepare_request(300, THERE)),
        ("prepare request 990", NOW, prepare_request(990, THERE)),
        ("prepare request 990 for elsewhere", NOW, prepare_request(990, ELSEWHERE)),
        ("prepare 490: again", NOW, prepare(490)),
        ("prepare 300: late", NOW, prepare(300)),
        ("prepare 990", NOW, prepare(990)),
        ("prepare acknowledge of 890", NOW, prepare_acknowledge(THERE, 890)),
        ("prepare acknowledge of 300: late", NOW, prepare_acknowledge(THERE, 300)),
        ("prepare acknowledge of another", NOW, prepare_acknowledge(ELSEWHERE, 890)),
        ("notify 990 from there", NOW, notify(THERE, 990)),
        ("notify 990 from elsewhere", NOW, notify(ELSEWHERE, 990)),
        ("notify 300: late", NOW, notify(THERE, 300)),
        ("logout", NOW, hear(HOST, 990, logout(1))),
        ("logout acknowledge", NOW, logged_out(1)),
        ("logout acknowledge of another", NOW, logged_out(5)),
        ("page request", NOW, hear(ANCHOR, 490, Kind::PageRequest)),
        ("time: early", NOW, Input::Deadline),
        ("time: lifetimes over", ms(2_000), Input::Deadline),
    ]
}
fn access_router() -> String {
    access_router_table(&Params::default())
}

fn access_router_with_a_buffer_where_the_host_was() -> String {
    let mut params = Params { forward_after_notify: false, unused: Unused::Returned, ..Params::default() };
    params.buffer.at = BufferPlace::Old;
    access_router_table(&params)
}

/// After the last repetition a prepare is given up, and the host is served as before; so is a path update.
fn access_router_without_an_answer() -> String {
    let arrived = [(100, arrived()), (200, attach(190, 1, &[], false))];
    let time = |millis| (millis, Input::Deadline);
    let preparing = [
        &arrived[..],
        &[(210, hear(ANCHOR, 190, Kind::PathAcknowledge { known: true }))],
        &[(300, hear(HOST, 290, Kind::PrepareRequest { to: THERE })), time(350), time(400)],
    ]
    .concat();
    let prepared = and(&preparing, &[time(450)]);
    let updating = [&arrived[..], &[300, 400, 500, 600].map(time)].concat();
    let updated = and(&updating, &[time(700)]);
    let states: [Setup<'_, Message>; 4] = [
        ("prepare repeated twice", &preparing),
        ("prepare repeated three times", &prepared),
        ("path update repeated four times", &updating),
        ("path update repeated five times", &updated),
    ];
    let inputs = [("time", NOW, Input::Deadline), ("attach again", NOW, attach(190, 1, &[], false))];
    let role = AccessRouter::new(HERE, ANCHOR, Duration::ZERO, &Arc::new(Params::default()));
    table(role.into(), &states, &inputs)
}

/// An access router whose anchor is nearer than that of the host asks it to change.
fn access_router_with_another_anchor() -> String {
    let attached = [(400, arrived()), (500, attach(490, 1, &[], false))];
    let inputs = [("path acknowledge of 490", NOW, hear(ANCHOR, 490, Kind::PathAcknowledge { known: true }))];
    let params = Params { anchor_change: true, ..Params::default() };
    let role = AccessRouter::new(HERE, OTHER, Duration::ZERO, &Arc::new(params));
    table(role.into(), &[("attach heard", &attached)], &inputs)
}

fn mobile_host_out_of_reach_at_its_hours() -> String {
    let away = [(200, Input::Deadline)];
    let states: [Setup<'_, Message>; 2] = [("before the hour", &[]), ("after the hour", &away)];
    let inputs = [
        ("time: the hour of login", Time::ZERO, Input::Deadline),
        ("time: the hour of logout", ms(1_000), Input::Deadline),
    ];
    let hours = Hours { login: Duration::from_millis(200), logout: Some(Duration::from_secs(2)) };
    table(host(None, &hours, &Params::default()), &states, &inputs)
}

fn mobile_host_that_moves_when_prepared() -> String {
    let preparing = [
        (500, up(HERE)),
        (510, hear(HERE, 500, Kind::LoginResponse { session: session(1) })),
        (900, predicted(THERE)),
    ];
    let inputs = [("prepared of 900", NOW, hear(HERE, 900, Kind::Prepared))];
    let params = Params { move_when_prepared: true, ..Params::default() };
    table(host(None, &Hours::default(), &params), &[("predicted", &preparing)], &inputs)
}

/// A host that was expected and does not come.
fn access_router_that_returns_packets() -> String {
    let prepared = [(500, hear(THERE, 490, Kind::Prepare))];
    let inputs = [("time: lifetime over", ms(2_000), Input::Deadline)];
    let params = Params { unused: Unused::Returned, ..Params::default() };
    let role = AccessRouter::new(HERE, ANCHOR, Duration::ZERO, &Arc::new(params));
    table(role.into(), &[("prepare heard", &prepared)], &inputs)
}
