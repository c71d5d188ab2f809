//! A table of every state and input of every role, with inputs that arrive twice, late, or never.

use crate::hawaii::{
    BaseStation, Ends, Hawaii, Input, Kind, Message, MobileHost, Params, Router, Scheme, TreePosition,
};
use crate::lab::{
    self, ELSEWHERE, HERE, HOST, NOW, Setup, THERE, Words, and, arrived, clock, down, gone, hear, id, ms,
    transitions, up,
};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;
use std::collections::{BTreeMap, BTreeSet};

lab::cases! {
    mobile_host,
    router,
    router_at_the_gateway,
    router_with_mnf,
    router_with_msf,
    router_with_ssf,
    router_with_ssf_that_holds_nothing,
    base_station,
    base_station_with_mnf,
    base_station_with_msf,
    base_station_with_ssf,
    router_that_hears_of_a_later_registration,
}

const GATEWAY: Addr = Addr::new(2, 0);
const UP: Addr = Addr::new(3, 0);
/// A router with two branches, at whose ends are base stations; a third one is elsewhere.
const ROUTER: Addr = Addr::new(4, 0);
const LEFT: Addr = Addr::new(5, 0);
const RIGHT: Addr = Addr::new(6, 0);

const NAMES: &[(Addr, &str)] = &[
    (HOST, "host"),
    (GATEWAY, "gateway"),
    (UP, "up"),
    (ROUTER, "router"),
    (LEFT, "left"),
    (RIGHT, "right"),
    (HERE, "here"),
    (THERE, "there"),
    (ELSEWHERE, "far"),
    (Addr::BROADCAST, "all"),
];

fn name(addr: Addr) -> String {
    lab::name(NAMES, addr)
}

fn detail(message: &Message) -> String {
    let clock = clock(message.id);
    match &message.kind {
        Kind::Registration { previous } if !previous.is_empty() => {
            format!(" {clock} after {}", previous.iter().copied().map(name).collect::<Vec<_>>().join(", "))
        }
        Kind::Update { ends: Ends { new, old } } => format!(" {clock} from {} to {}", name(*old), name(*new)),
        Kind::Switch { ends: Ends { new, old }, returns } => {
            let returns = if *returns { ", returning" } else { "" };
            format!(" {clock} from {} to {}{returns}", name(*old), name(*new))
        }
        _ => format!(" {clock}"),
    }
}

fn table(role: Hawaii, states: &[Setup<'_, Message>], inputs: &[(&str, Time, Input)]) -> String {
    let words = Words { names: NAMES, detail };
    transitions(&role, &words, states, ms(1_000), inputs)
}

fn update(from: Addr, millis: u64, old: Addr, new: Addr) -> Input {
    hear(from, millis, Kind::Update { ends: Ends { new, old } })
}

fn switch(from: Addr, millis: u64, old: Addr, new: Addr, returns: bool) -> Input {
    hear(from, millis, Kind::Switch { ends: Ends { new, old }, returns })
}

fn refresh(from: Addr, millis: u64) -> Input {
    hear(from, millis, Kind::Refresh { hosts: vec![(HOST, id(millis))] })
}

fn registration(millis: u64, previous: &[Addr]) -> Input {
    hear(HOST, millis, Kind::Registration { previous: previous.to_vec() })
}

fn params(scheme: Scheme) -> Params {
    Params { scheme, ..Params::default() }
}

fn mobile_host() -> String {
    let acknowledge = |millis| hear(HERE, millis, Kind::RegistrationAcknowledge);
    let registering = [(500, up(HERE))];
    let registered = and(&registering, &[(510, acknowledge(500))]);
    let moved = and(&registered, &[(900, up(THERE))]);
    let away = and(&registered, &[(900, down(HERE))]);
    let states: [Setup<'_, Message>; 5] = [
        ("away", &[]),
        ("link up", &registering),
        ("acknowledged", &registered),
        ("in both cells", &moved),
        ("link down", &away),
    ];
    let inputs = [
        ("link up (here)", NOW, up(HERE)),
        ("link up (there)", NOW, up(THERE)),
        ("link down (here)", NOW, down(HERE)),
        ("link down (there)", NOW, down(THERE)),
        ("acknowledge of 500", NOW, acknowledge(500)),
        ("acknowledge of 900", NOW, hear(THERE, 900, Kind::RegistrationAcknowledge)),
        ("beacon, which layer 2 makes needless", NOW, hear(THERE, 0, Kind::Beacon)),
        ("time: early", NOW, Input::Deadline),
        ("time: retransmission", ms(200), Input::Deadline),
        ("time: renewal", ms(10_000), Input::Deadline),
    ];
    table(MobileHost::new(HOST, &Params::default()).into(), &states, &inputs)
}

/// The router at which the ways to two base stations part; below `uplink`.
fn router_table(params: &Params, uplink: Option<Addr>) -> String {
    let power_up = |millis| hear(LEFT, millis, Kind::PowerUp { new: HERE });
    let new_to_old = !params.scheme.forwards();
    let from = |new: Addr, old: Addr| {
        let side = |end| {
            if end == HERE {
                LEFT
            } else if end == THERE {
                RIGHT
            } else {
                UP
            }
        };
        side(if new_to_old { new } else { old })
    };
    let moves = |millis, old, new| update(from(new, old), millis, old, new);
    let routed = [(500, power_up(490))];
    let moved = and(&routed, &[(900, moves(890, HERE, THERE))]);
    let switched = and(&moved, &[(920, switch(RIGHT, 890, HERE, THERE, false))]);
    let returned = and(&switched, &[(940, switch(LEFT, 890, HERE, THERE, true))]);
    let moved_away = and(&routed, &[(900, moves(890, HERE, ELSEWHERE))]);
    let states: [Setup<'_, Message>; 6] = [
        ("none", &[]),
        ("powered up", &routed),
        ("host moved below", &moved),
        ("switched", &switched),
        ("switch returned", &returned),
        ("host moved away", &moved_away),
    ];
    let inputs = [
        ("power-up 400: late", NOW, power_up(400)),
        ("power-up 995", NOW, power_up(995)),
        ("update 400: late", NOW, moves(400, HERE, THERE)),
        ("update 890: again", NOW, moves(890, HERE, THERE)),
        ("update 995, here to there", NOW, moves(995, HERE, THERE)),
        ("update 995, back to here", NOW, moves(995, THERE, HERE)),
        ("update 995, here to far", NOW, moves(995, HERE, ELSEWHERE)),
        ("update 995, far to there", NOW, moves(995, ELSEWHERE, THERE)),
        ("switch 400: late", NOW, switch(RIGHT, 400, HERE, THERE, false)),
        ("switch 890", NOW, switch(RIGHT, 890, HERE, THERE, false)),
        ("switch 890 returns", NOW, switch(LEFT, 890, HERE, THERE, true)),
        ("refresh of left 400: late", NOW, refresh(LEFT, 400)),
        ("refresh of left 490", NOW, refresh(LEFT, 490)),
        ("refresh of right 890", NOW, refresh(RIGHT, 890)),
        ("time: early", NOW, Input::Deadline),
        ("time: bicast over, refresh", ms(90), Input::Deadline),
        ("time: prune timer", ms(1_000), Input::Deadline),
        ("time: lifetime over", ms(30_500), Input::Deadline),
    ];
    let below = BTreeMap::from([(HERE, LEFT), (THERE, RIGHT)]);
    let position = TreePosition { address: ROUTER, uplink, below };
    table(Router::new(position, Duration::from_millis(1_050), params).into(), &states, &inputs)
}

fn router() -> String {
    router_table(&params(Scheme::Unf), Some(UP))
}

fn router_at_the_gateway() -> String {
    router_table(&params(Scheme::Unf), None)
}

fn router_with_mnf() -> String {
    router_table(&params(Scheme::Mnf), Some(UP))
}

fn router_with_msf() -> String {
    router_table(&params(Scheme::Msf), Some(UP))
}

fn router_with_ssf() -> String {
    router_table(&params(Scheme::Ssf), Some(UP))
}

fn router_with_ssf_that_holds_nothing() -> String {
    let params = Params { ordered_switch: false, ..params(Scheme::Ssf) };
    router_table(&params, Some(UP))
}

fn base_station_table(params: &Params) -> String {
    let comes = arrived();
    let gone = gone();
    let acknowledge = |from, millis| hear(from, millis, Kind::PathAcknowledge);
    let answer = |millis| {
        if params.scheme.forwards() { update(UP, millis, THERE, HERE) } else { acknowledge(THERE, millis) }
    };
    let moves = |millis| update(UP, millis, HERE, THERE);
    let arrived = [(400, comes.clone())];
    let powering = and(&arrived, &[(500, registration(490, &[]))]);
    let registering = and(&arrived, &[(500, registration(490, &[THERE]))]);
    let serving = and(&registering, &[(510, answer(490))]);
    let left = and(&serving, &[(900, gone.clone())]);
    let back = and(&left, &[(930, comes.clone())]);
    let hasty = and(&registering, &[(510, gone.clone()), (530, comes.clone())]);
    let left_and_moved = and(&left, &[(950, moves(940))]);
    let moved_with_overlap = and(&serving, &[(950, moves(940))]);
    let states: [Setup<'_, Message>; 10] = [
        ("none", &[]),
        ("host here", &arrived),
        ("registered, power-up on its way", &powering),
        ("registered, update on its way", &registering),
        ("path set up", &serving),
        ("host gone", &left),
        ("host back", &back),
        ("host gone before the answer, and back", &hasty),
        ("host gone and elsewhere", &left_and_moved),
        ("host here and elsewhere", &moved_with_overlap),
    ];
    let inputs = [
        ("host arrived", NOW, comes),
        ("host gone", NOW, gone),
        ("registration 490: again", NOW, registration(490, &[THERE])),
        ("registration 400: late", NOW, registration(400, &[])),
        ("registration 990", NOW, registration(990, &[])),
        ("registration 990 after there", NOW, registration(990, &[THERE])),
        ("acknowledge of the gateway 490", NOW, acknowledge(GATEWAY, 490)),
        ("acknowledge of there 490", NOW, acknowledge(THERE, 490)),
        ("update to here 490", NOW, update(UP, 490, THERE, HERE)),
        ("update to there 400: late", NOW, moves(400)),
        ("update to there 940", NOW, moves(940)),
        ("update to there 990", NOW, moves(990)),
        ("switch to there 400: late", NOW, switch(UP, 400, HERE, THERE, false)),
        ("switch to there 940", NOW, switch(UP, 940, HERE, THERE, false)),
        ("switch to here 490 returns", NOW, switch(UP, 490, THERE, HERE, true)),
        ("time: early", NOW, Input::Deadline),
        ("time: bicast over, refresh", ms(60), Input::Deadline),
        ("time: prune timer", ms(1_000), Input::Deadline),
        ("time: lifetime over", ms(30_500), Input::Deadline),
    ];
    let position = TreePosition { address: HERE, uplink: Some(UP), below: BTreeMap::new() };
    let phases = (Duration::ZERO, Duration::from_millis(1_050));
    let role = BaseStation::new((&position, GATEWAY), BTreeSet::from([THERE, ELSEWHERE]), phases, params);
    table(role.into(), &states, &inputs)
}

fn base_station() -> String {
    base_station_table(&params(Scheme::Unf))
}

fn base_station_with_mnf() -> String {
    base_station_table(&params(Scheme::Mnf))
}

fn base_station_with_msf() -> String {
    base_station_table(&params(Scheme::Msf))
}

fn base_station_with_ssf() -> String {
    base_station_table(&params(Scheme::Ssf))
}

/// A later registration ends a hold, and so does its refresh.
fn router_that_hears_of_a_later_registration() -> String {
    let routed = [(500, update(UP, 490, ELSEWHERE, HERE))];
    let streaming = and(&routed, &[(900, update(LEFT, 890, HERE, THERE))]);
    let setups = [
        ("holding, with a stream", and(&streaming, &[(910, switch(RIGHT, 890, HERE, THERE, false))])),
        ("holding, without", and(&routed, &[(910, switch(RIGHT, 890, HERE, THERE, false))])),
    ];
    let states: Vec<Setup<'_, Message>> = setups.iter().map(|(name, setup)| (*name, &setup[..])).collect();
    let inputs = [
        ("update 995, far to there", NOW, update(UP, 995, ELSEWHERE, THERE)),
        ("refresh of right 995", NOW, refresh(RIGHT, 995)),
    ];
    let below = BTreeMap::from([(HERE, LEFT), (THERE, RIGHT)]);
    let position = TreePosition { address: ROUTER, uplink: Some(UP), below };
    let role = Router::new(position, Duration::from_millis(1_050), &params(Scheme::Ssf));
    table(role.into(), &states, &inputs)
}
