//! A table of every state and input of every role, with inputs that arrive twice, late, or never.

use crate::Direction;
use crate::blocks::{BufferPlace, Trigger, TriggerBy};
use crate::lab::{
    self, HERE, HOST, NOW, Setup, THERE, Words, and, arrived, clock, down, gone, hear, ms, predicted,
    transitions, up,
};
use crate::mandm::{AaaServer, AccessRouter, Input, Kind, Mandm, Message, MobileHost, Params, Router};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;
use std::collections::BTreeSet;

lab::cases! {
    mobile_host,
    router,
    router_at_the_root,
    access_router,
    access_router_with_a_buffer_where_the_host_was,
    access_router_with_bicast,
    access_router_that_asks,
    aaa_server,
}

const UP: Addr = Addr::new(2, 0);
const SERVER: Addr = Addr::new(3, 0);

const NAMES: &[(Addr, &str)] = &[
    (HOST, "host"),
    (HERE, "here"),
    (THERE, "there"),
    (UP, "up"),
    (SERVER, "server"),
    (Addr::BROADCAST, "all"),
];

fn name(addr: Addr) -> String {
    lab::name(NAMES, addr)
}

fn detail(message: &Message) -> String {
    let clock = clock(message.id);
    match &message.kind {
        Kind::Attach { previous } if !previous.is_empty() => {
            format!(" {clock} after {}", previous.iter().copied().map(name).collect::<Vec<_>>().join(", "))
        }
        _ => format!(" {clock}"),
    }
}

fn table(role: Mandm, states: &[Setup<'_, Message>], inputs: &[(&str, Time, Input)]) -> String {
    let words = Words { names: NAMES, detail };
    transitions(&role, &words, states, ms(1_000), inputs)
}

fn attach(millis: u64, previous: &[Addr]) -> Input {
    hear(HOST, millis, Kind::Attach { previous: previous.to_vec() })
}

fn mobile_host() -> String {
    let acknowledge = |millis| hear(HERE, millis, Kind::AttachAcknowledge);
    let attaching = [(500, up(HERE))];
    let attached = and(&attaching, &[(510, acknowledge(500))]);
    let moved = and(&attached, &[(900, up(THERE))]);
    let away = and(&attached, &[(900, down(HERE))]);
    let states: [Setup<'_, Message>; 5] = [
        ("away", &[]),
        ("link up", &attaching),
        ("acknowledged", &attached),
        ("in both cells", &moved),
        ("link down", &away),
    ];
    let inputs = [
        ("link up (here)", NOW, up(HERE)),
        ("link up (there)", NOW, up(THERE)),
        ("link down (here)", NOW, down(HERE)),
        ("link down (there)", NOW, down(THERE)),
        ("acknowledge of 500", NOW, acknowledge(500)),
        ("acknowledge of 900", NOW, hear(THERE, 900, Kind::AttachAcknowledge)),
        ("beacon, which layer 2 makes needless", NOW, hear(THERE, 0, Kind::Beacon)),
        ("time: early", NOW, Input::Deadline),
        ("time: retransmission", ms(200), Input::Deadline),
    ];
    table(MobileHost::new(HOST, &Params::default()).into(), &states, &inputs)
}

fn router() -> String {
    let join = |from, millis| hear(from, millis, Kind::Join);
    let prune = |from, millis| hear(from, millis, Kind::Prune);
    let acknowledge = |millis| hear(UP, millis, Kind::JoinAcknowledge);
    let joining = [(500, join(HERE, 490))];
    let both = and(&joining, &[(505, join(THERE, 495))]);
    let on = and(&joining, &[(520, acknowledge(500))]);
    let on_both = and(&on, &[(900, join(THERE, 890))]);
    let off_again = and(&on, &[(900, prune(HERE, 890))]);
    let states: [Setup<'_, Message>; 6] = [
        ("off", &[]),
        ("join heard", &joining),
        ("two joins heard", &both),
        ("acknowledged", &on),
        ("two branches", &on_both),
        ("pruned", &off_again),
    ];
    let stray = Input::Data {
        host: HOST,
        peer: UP,
        direction: Direction::Down,
        from: Some(UP),
        tunnelled: false,
        lost: true,
    };
    let inputs = [
        ("join of here 490: again", NOW, join(HERE, 490)),
        ("join of here 400: late", NOW, join(HERE, 400)),
        ("join of here 995", NOW, join(HERE, 995)),
        ("join of there 995", NOW, join(THERE, 995)),
        ("prune of here 400: late", NOW, prune(HERE, 400)),
        ("prune of here 995", NOW, prune(HERE, 995)),
        ("prune of there 995", NOW, prune(THERE, 995)),
        ("acknowledge of 500", NOW, acknowledge(500)),
        ("acknowledge of 400: late", NOW, acknowledge(400)),
        ("acknowledge of another", NOW, hear(THERE, 500, Kind::JoinAcknowledge)),
        ("packet without a branch", NOW, stray),
        ("time: early", NOW, Input::Deadline),
        ("time: refresh, retransmission", ms(10_000), Input::Deadline),
        ("time: lifetimes over", ms(40_000), Input::Deadline),
    ];
    table(Router::new(Some(UP)).into(), &states, &inputs)
}

fn router_at_the_root() -> String {
    let join = |from, millis| hear(from, millis, Kind::Join);
    let on = [(500, join(HERE, 490))];
    let states: [Setup<'_, Message>; 2] = [("off", &[]), ("join heard", &on)];
    let inputs = [
        ("join of here 995", NOW, join(HERE, 995)),
        ("join of there 995", NOW, join(THERE, 995)),
        ("prune of here 995", NOW, hear(HERE, 995, Kind::Prune)),
        ("time: lifetime over", ms(40_000), Input::Deadline),
    ];
    table(Router::new(None).into(), &states, &inputs)
}

fn access_router_table(params: &Params) -> String {
    let comes = arrived();
    let gone = gone();
    let predicted = predicted(THERE);
    let acknowledge = |millis| hear(UP, millis, Kind::JoinAcknowledge);
    let trigger = |millis| hear(THERE, millis, Kind::Trigger);
    let moved = |millis| hear(THERE, millis, Kind::Moved);
    let arrived = [(400, comes.clone())];
    let joining = and(&arrived, &[(500, attach(490, &[THERE]))]);
    let serving = and(&joining, &[(510, acknowledge(500))]);
    let left = and(&serving, &[(900, gone.clone())]);
    let back = and(&left, &[(930, comes.clone())]);
    let left_and_moved = and(&left, &[(950, moved(940))]);
    let moved_with_overlap = and(&serving, &[(950, moved(940))]);
    let candidate = [(700, trigger(490)), (710, acknowledge(700))];
    let candidate_arrived = and(&candidate, &[(900, comes.clone())]);
    let states: [Setup<'_, Message>; 10] = [
        ("none", &[]),
        ("host here", &arrived),
        ("attached, joining", &joining),
        ("attached, on the tree", &serving),
        ("host gone", &left),
        ("host back", &back),
        ("host gone and elsewhere", &left_and_moved),
        ("host here and elsewhere", &moved_with_overlap),
        ("triggered", &candidate),
        ("triggered, host here", &candidate_arrived),
    ];
    let inputs = [
        ("host arrived", NOW, comes),
        ("host gone", NOW, gone),
        ("handover predicted", NOW, predicted),
        ("attach 490: again", NOW, attach(490, &[THERE])),
        ("attach 400: late", NOW, attach(400, &[])),
        ("attach 990", NOW, attach(990, &[THERE])),
        ("trigger 400: late", NOW, trigger(400)),
        ("trigger 990", NOW, trigger(990)),
        ("moved 400: late", NOW, moved(400)),
        ("moved 990", NOW, moved(990)),
        ("acknowledge of 500", NOW, acknowledge(500)),
        ("acknowledge of 400: late", NOW, acknowledge(400)),
        ("time: early", NOW, Input::Deadline),
        ("time: prune delay and bicast", ms(60), Input::Deadline),
        ("time: prune timer", ms(1_000), Input::Deadline),
        ("time: refresh", ms(9_600), Input::Deadline),
    ];
    let role = AccessRouter::new((HERE, UP), (&[THERE], None), Duration::from_millis(30), params);
    table(role.into(), &states, &inputs)
}

fn access_router_that_asks() -> String {
    let answer = |from, millis, accepted| hear(from, millis, Kind::AaaAnswer { accepted });
    let here = [(400, arrived())];
    let asked = and(&here, &[(500, attach(490, &[THERE]))]);
    let serving = and(&asked, &[(510, answer(SERVER, 490, true))]);
    let back = and(&serving, &[(600, gone()), (890, arrived()), (900, attach(490, &[THERE]))]);
    let candidate = [(380, hear(THERE, 370, Kind::Trigger)), (390, hear(UP, 380, Kind::JoinAcknowledge))];
    let candidate = and(&candidate, &asked);
    let refused = and(&asked, &[(510, answer(SERVER, 490, false))]);
    let states: [Setup<'_, Message>; 6] = [
        ("host here", &here),
        ("asked", &asked),
        ("accepted", &serving),
        ("asked in a second stay", &back),
        ("triggered, asked", &candidate),
        ("refused", &refused),
    ];
    let inputs = [
        ("host gone", NOW, gone()),
        ("attach 490: again", NOW, attach(490, &[THERE])),
        ("attach 990", NOW, attach(990, &[THERE])),
        ("answer to 490: accepted", NOW, answer(SERVER, 490, true)),
        ("answer to 490: refused", NOW, answer(SERVER, 490, false)),
        ("answer to 400", NOW, answer(SERVER, 400, true)),
        ("answer of another node", NOW, answer(UP, 490, true)),
        ("time: early", Time::ZERO, Input::Deadline),
        ("time: no answer", ms(200), Input::Deadline),
    ];
    let role = AccessRouter::new(
        (HERE, UP),
        (&[THERE], Some(SERVER)),
        Duration::from_millis(30),
        &params(TriggerBy::NoPath),
    );
    table(role.into(), &states, &inputs)
}

fn aaa_server() -> String {
    let inputs =
        [("request 990", NOW, hear(HERE, 990, Kind::AaaRequest)), ("attach 990", NOW, attach(990, &[]))];
    let kinds = [("accepts", BTreeSet::new()), ("refuses", BTreeSet::from([HOST]))];
    let of = |(name, refused)| table(AaaServer::new(refused).into(), &[(name, &[])], &inputs);
    kinds.map(of).concat()
}

fn params(by: TriggerBy) -> Params {
    Params { trigger: Trigger { by, ..Trigger::default() }, ..Params::default() }
}

fn access_router() -> String {
    access_router_table(&params(TriggerBy::Source))
}

fn access_router_with_a_buffer_where_the_host_was() -> String {
    let mut params = params(TriggerBy::NoPath);
    params.buffer.at = BufferPlace::Old;
    access_router_table(&params)
}

fn access_router_with_bicast() -> String {
    let mut params = params(TriggerBy::None);
    params.redundancy.bicast = Duration::from_millis(100);
    access_router_table(&params)
}
