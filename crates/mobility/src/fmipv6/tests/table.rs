//! A table of every state and input of every role, with inputs that arrive twice, late, or never.

use crate::blocks::BufferPlace;
use crate::fmipv6::{AccessRouter, Anchor, Fmipv6, Input, Kind, Message, MobileHost, Params};
use crate::lab::{
    self, ELSEWHERE, HERE, HOST, NOW, Setup, THERE, Words, and, arrived, clock, down, gone, hear, ms,
    predicted, transitions, up,
};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;

lab::cases! {
    mobile_host,
    anchor,
    access_router,
    access_router_with_a_buffer_where_the_host_was,
    access_router_without_an_answer,
}

const ANCHOR: Addr = Addr::new(2, 0);

const NAMES: &[(Addr, &str)] = &[
    (HOST, "host"),
    (HERE, "here"),
    (THERE, "there"),
    (ELSEWHERE, "elsewhere"),
    (ANCHOR, "anchor"),
    (Addr::BROADCAST, "all"),
];

fn name(addr: Addr) -> String {
    lab::name(NAMES, addr)
}

fn detail(message: &Message) -> String {
    let clock = clock(message.id);
    match message.kind {
        Kind::FastBindingUpdate { to, from_new_link } => {
            format!(" {clock} for {}, {} link", name(to), if from_new_link { "new" } else { "old" })
        }
        Kind::PrRtAdv { expected: Some(to) } => format!(" {clock} for {}", name(to)),
        Kind::HandoverInitiate { buffer: true } => format!(" {clock} with U"),
        Kind::BindingUpdate { care_of } => format!(" {clock} for {}", name(care_of)),
        _ => format!(" {clock}"),
    }
}

fn table(role: Fmipv6, states: &[Setup<'_, Message>], inputs: &[(&str, Time, Input)]) -> String {
    let words = Words { names: NAMES, detail };
    transitions(&role, &words, states, ms(1_000), inputs)
}

fn fbu(millis: u64, to: Addr, from_new_link: bool) -> Input {
    hear(HOST, millis, Kind::FastBindingUpdate { to, from_new_link })
}

fn mobile_host() -> String {
    let acknowledge = |millis| hear(ANCHOR, millis, Kind::BindingAcknowledge);
    let prrtadv = |to| hear(HERE, 0, Kind::PrRtAdv { expected: Some(to) });
    let fback = |millis| hear(HERE, millis, Kind::FastBindingAcknowledge);
    let attaching = [(500, up(HERE))];
    let attached = and(&attaching, &[(510, acknowledge(500))]);
    let predicted = and(&attached, &[(900, prrtadv(THERE))]);
    let prepared = and(&predicted, &[(930, fback(900))]);
    let between = and(&prepared, &[(950, down(HERE))]);
    let unprepared = and(&predicted, &[(950, down(HERE))]);
    let moved = and(&unprepared, &[(960, up(THERE))]);
    let states: [Setup<'_, Message>; 8] = [
        ("no cell", &[]),
        ("link up", &attaching),
        ("acknowledged", &attached),
        ("prrtadv heard", &predicted),
        ("fback heard", &prepared),
        ("fback heard, link down", &between),
        ("no fback heard, link down", &unprepared),
        ("moved without fback", &moved),
    ];
    let inputs = [
        ("link up (here)", NOW, up(HERE)),
        ("link up (there)", NOW, up(THERE)),
        ("link up (elsewhere)", NOW, up(ELSEWHERE)),
        ("link down (here)", NOW, down(HERE)),
        ("link down (there)", NOW, down(THERE)),
        ("acknowledge of 500", NOW, acknowledge(500)),
        ("acknowledge of 400: late", NOW, acknowledge(400)),
        ("prrtadv for there", NOW, prrtadv(THERE)),
        ("prrtadv for elsewhere", NOW, prrtadv(ELSEWHERE)),
        ("prrtadv for here", NOW, prrtadv(HERE)),
        ("prrtadv of another router", NOW, hear(THERE, 0, Kind::PrRtAdv { expected: Some(HERE) })),
        ("fback of 900", NOW, fback(900)),
        ("fback of 400: late", NOW, fback(400)),
        ("time: early", NOW, Input::Deadline),
        ("time: retransmission", ms(200), Input::Deadline),
        ("time: stay timeout", ms(500), Input::Deadline),
        ("time: refresh", ms(9_600), Input::Deadline),
    ];
    table(MobileHost::new(HOST, ANCHOR, &Params::default()).into(), &states, &inputs)
}

#[test]
fn mobile_host_that_hears_no_answers() {
    let mut role: Fmipv6 = MobileHost::new(HOST, ANCHOR, &Params::default()).into();
    let mut sent = Vec::new();
    let mut now = ms(500);
    let mut out = Vec::new();
    crate::Agent::on(&mut role, up(HERE), now, &mut out);
    while now < ms(6_000) {
        for action in out.drain(..) {
            if let crate::Action::Send { message, .. } = action {
                sent.push(format!("{} {}", now.as_nanos() / 1_000_000, message.name()));
            }
        }
        now = crate::Agent::next_deadline(&role).expect("the update is repeated without end");
        crate::Agent::on(&mut role, Input::Deadline, now, &mut out);
    }
    let at = |message: &str| -> Vec<u64> {
        let times = sent.iter().filter_map(|one| one.strip_suffix(message));
        times.map(|time| time.trim().parse().expect("a number")).collect()
    };
    assert_eq!(at(" rtsolpr"), [500, 600, 800, 1_200]);
    assert_eq!(at(" una"), [500, 600, 800, 1_200, 2_000, 3_000, 4_000, 5_000]);
    assert_eq!(at(" local-binding-update"), at(" una"));
}

fn anchor() -> String {
    let update = |millis, care_of| hear(HOST, millis, Kind::BindingUpdate { care_of });
    let bound = [(500, update(490, HERE))];
    let states: [Setup<'_, Message>; 2] = [("none", &[]), ("update heard", &bound)];
    let inputs = [
        ("update 490 for here: again", NOW, update(490, HERE)),
        ("update 400 for there: late", NOW, update(400, THERE)),
        ("update 990 for there", NOW, update(990, THERE)),
        ("update of another", NOW, hear(THERE, 990, Kind::BindingUpdate { care_of: THERE })),
        ("time: early", NOW, Input::Deadline),
        ("time: lifetime over", ms(29_500), Input::Deadline),
    ];
    table(Anchor::default().into(), &states, &inputs)
}

fn access_router_table(params: &Params) -> String {
    let comes = arrived();
    let gone = gone();
    let predicted = predicted(THERE);
    let una = |millis| hear(HOST, millis, Kind::Una);
    let hi = |millis| hear(THERE, millis, Kind::HandoverInitiate { buffer: true });
    let hack = |from, millis| hear(from, millis, Kind::HandoverAcknowledge);
    let arrived = [(400, comes.clone())];
    let serving = and(&arrived, &[(500, una(490))]);
    let initiating = and(&serving, &[(700, fbu(690, THERE, false))]);
    let forwarding = and(&initiating, &[(720, hack(THERE, 690))]);
    let forwarding_gone = and(&forwarding, &[(800, gone.clone())]);
    let left = and(&serving, &[(800, gone.clone())]);
    let left_initiating = and(&initiating, &[(710, gone.clone())]);
    let prepared = [(500, hi(490))];
    let prepared_arrived = and(&prepared, &[(800, comes.clone())]);
    let states: [Setup<'_, Message>; 10] = [
        ("none", &[]),
        ("host here", &arrived),
        ("una heard", &serving),
        ("fbu heard", &initiating),
        ("hack heard", &forwarding),
        ("hack heard, host gone", &forwarding_gone),
        ("host gone", &left),
        ("host gone after the fbu", &left_initiating),
        ("hi heard", &prepared),
        ("hi heard, host here", &prepared_arrived),
    ];
    let inputs = [
        ("host arrived", NOW, comes),
        ("host gone", NOW, gone),
        ("handover predicted", NOW, predicted),
        ("rtsolpr 990", NOW, hear(HOST, 990, Kind::RtSolPr)),
        ("una 490: again", NOW, una(490)),
        ("una 300: late", NOW, una(300)),
        ("una 990", NOW, una(990)),
        ("fbu 690 for there, old link: again", NOW, fbu(690, THERE, false)),
        ("fbu 300 for there, new link: late", NOW, fbu(300, THERE, true)),
        ("fbu 990 for there, old link", NOW, fbu(990, THERE, false)),
        ("fbu 990 for elsewhere, new link", NOW, fbu(990, ELSEWHERE, true)),
        ("fbu 990 that withdraws", NOW, fbu(990, HERE, false)),
        ("hi 490: again", NOW, hi(490)),
        ("hi 300: late", NOW, hi(300)),
        ("hi 990", NOW, hi(990)),
        ("hack of 690", NOW, hack(THERE, 690)),
        ("hack of 300: late", NOW, hack(THERE, 300)),
        ("hack of another", NOW, hack(ELSEWHERE, 690)),
        ("fback of the PAR", NOW, hear(THERE, 990, Kind::FastBindingAcknowledge)),
        ("time: early", ms(0), Input::Deadline),
        ("time: lifetimes over", ms(2_000), Input::Deadline),
    ];
    table(AccessRouter::new(HERE, Duration::ZERO, params).into(), &states, &inputs)
}

fn access_router() -> String {
    access_router_table(&Params::default())
}

fn access_router_with_a_buffer_where_the_host_was() -> String {
    let mut params = Params::default();
    params.buffer.at = BufferPlace::Old;
    access_router_table(&params)
}

/// After the last repetition the hi is given up, and the host is served as before.
fn access_router_without_an_answer() -> String {
    let setup = [
        (400, arrived()),
        (500, hear(HOST, 490, Kind::Una)),
        (700, fbu(690, THERE, false)),
        (800, Input::Deadline),
        (1_000, Input::Deadline),
    ];
    let last = and(&setup, &[(1_400, Input::Deadline)]);
    let states: [Setup<'_, Message>; 2] = [("repeated twice", &setup), ("repeated three times", &last)];
    let inputs = [("time", ms(1_500), Input::Deadline)];
    let role = AccessRouter::new(HERE, Duration::ZERO, &Params::default());
    table(role.into(), &states, &inputs)
}
