//! A table of every state and input of every role, with inputs that arrive twice, late, or never.

use super::bus::{BS_A, BS_A2, BS_B, CH, FA_A, FA_B, FA_C, HA, HOST, ms, name};
use crate::mobile_ip::{
    BaseStation, Correspondent, ForeignAgent, HomeAgent, Input, Message, MobileHost, MobileIp, Params,
    ReplyCode,
};
use crate::transitions::{Setup, Words, transitions};
use crate::{Direction, Identification, L2Trigger};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;

const LIFETIME: Duration = Duration::from_secs(300);

/// An identification: the host's clock in ms.
fn id(millis: u64) -> Identification {
    Identification(ms(millis).as_nanos())
}

fn message(from: Addr, message: Message) -> Input {
    Input::Message { from, message }
}

fn trigger(trigger: L2Trigger) -> Input {
    Input::Trigger(trigger)
}

fn data(tunnelled: bool) -> Input {
    Input::Data { host: HOST, peer: CH, direction: Direction::Down, from: None, tunnelled, lost: false }
}

fn beacon(base_station: Addr) -> Input {
    message(base_station, Message::Beacon { base_station })
}

fn advertisement(from: Addr, host: Option<Addr>) -> Input {
    let agent = if from == BS_B { FA_B } else { FA_A };
    let lifetime = Duration::from_secs(3);
    let registration_lifetime = LIFETIME;
    message(from, Message::AgentAdvertisement { agent, sequence: 0, lifetime, registration_lifetime, host })
}

fn request(from: Addr, (agent, base_station): (Addr, Addr), millis: u64, previous: &[Addr]) -> Input {
    message(
        from,
        Message::RegistrationRequest {
            host: HOST,
            home_agent: HA,
            care_of: agent,
            lifetime: LIFETIME,
            identification: id(millis),
            previous: previous.to_vec(),
            base_station,
        },
    )
}

fn reply(from: Addr, code: ReplyCode, millis: u64) -> Input {
    message(
        from,
        Message::RegistrationReply {
            host: HOST,
            home_agent: HA,
            code,
            lifetime: LIFETIME,
            identification: id(millis),
        },
    )
}

fn update(from: Addr, care_of: Addr, millis: u64) -> Input {
    message(
        from,
        Message::BindingUpdate {
            host: HOST,
            care_of,
            lifetime: Duration::from_secs(60),
            identification: id(millis),
            acknowledge: true,
        },
    )
}

fn acknowledge(from: Addr, millis: u64) -> Input {
    message(from, Message::BindingAcknowledge { host: HOST, identification: id(millis) })
}

fn forward(from: Addr, millis: u64) -> Input {
    message(from, Message::Forward { host: HOST, identification: id(millis) })
}

/// One line for each state and input, which comes a while `after` the run began; the set-up lies before.
fn table(
    agent: &MobileIp,
    states: &[Setup<'_, Message>],
    after: Time,
    inputs: &[(&str, Time, Input)],
) -> String {
    let words = Words { state: |agent: &MobileIp| agent.state(HOST), name, detail };
    transitions(agent, &words, states, after, inputs)
}

fn detail(message: &Message) -> String {
    let clock = |identification: &Identification| identification.0 / 1_000_000;
    match message {
        Message::RegistrationRequest { identification, previous, .. } if !previous.is_empty() => {
            let previous: Vec<_> = previous.iter().map(|previous| name(*previous)).collect();
            format!(" {} after {}", clock(identification), previous.join(", "))
        }
        Message::RegistrationReply { code, identification, .. } => {
            format!(" {} code {}", clock(identification), code.0)
        }
        Message::BindingUpdate { care_of, identification, .. } => {
            format!(" {} at {}", clock(identification), name(*care_of))
        }
        Message::RegistrationRequest { identification, .. }
        | Message::Forward { identification, .. }
        | Message::BindingRequest { identification, .. }
        | Message::BindingAcknowledge { identification, .. } => format!(" {}", clock(identification)),
        _ => String::new(),
    }
}

const SOON: Time = Time::from_nanos(100_000_000);
const LATER: Time = Time::from_nanos(7_500_000_000);
const AT_THE_END: Time = Time::from_nanos(400_000_000_000);

#[test]
fn mobile_host() {
    let up = |base_station| trigger(L2Trigger::LinkUp { base_station });
    let listening = [(0, up(BS_A))];
    let requested = [(0, up(BS_A)), (50, beacon(BS_A))];
    let registering = [(0, up(BS_A)), (50, beacon(BS_A)), (58, advertisement(BS_A, Some(HOST)))];
    let registered = [&registering[..], &[(186, reply(FA_A, ReplyCode::ACCEPTED, 58))]].concat();
    let moved = [&registered[..], &[(500, up(BS_B)), (550, beacon(BS_B))]].concat();
    let moved_registering = [&moved[..], &[(558, advertisement(BS_B, Some(HOST)))]].concat();
    let states: [Setup<'_, Message>; 7] = [
        ("detached", &[]),
        ("link up", &listening),
        ("beacon heard", &requested),
        ("advertisement heard", &registering),
        ("reply received", &registered),
        ("moved, beacon heard", &moved),
        ("moved, advertisement heard", &moved_registering),
    ];
    let inputs = [
        ("link up (bs-a)", SOON, up(BS_A)),
        ("link down (bs-a)", SOON, trigger(L2Trigger::LinkDown { base_station: BS_A })),
        ("link down (bs-b)", SOON, trigger(L2Trigger::LinkDown { base_station: BS_B })),
        ("beacon of bs-a", SOON, beacon(BS_A)),
        ("beacon of bs-b", SOON, beacon(BS_B)),
        ("advertisement through bs-a", SOON, advertisement(BS_A, Some(HOST))),
        ("advertisement through bs-b", SOON, advertisement(BS_B, Some(HOST))),
        ("reply to 58", SOON, reply(FA_A, ReplyCode::ACCEPTED, 58)),
        ("reply to 58, denied", SOON, reply(FA_A, ReplyCode::IDENTIFICATION_MISMATCH, 58)),
        ("reply to 558", SOON, reply(FA_B, ReplyCode::ACCEPTED, 558)),
        ("time: early", SOON, Input::Deadline),
        ("time: retransmission", LATER, Input::Deadline),
        ("time: renewal", AT_THE_END, Input::Deadline),
    ];
    let agent = MobileHost::new(HOST, HA, &Params::default()).into();
    insta::assert_snapshot!(table(&agent, &states, ms(600), &inputs));
}

#[test]
fn base_station() {
    let asks = message(HOST, Message::HandoffRequest { host: HOST });
    let gone = trigger(L2Trigger::HostGone { host: HOST });
    let comes = trigger(L2Trigger::HostArrived { host: HOST });
    let arrived = [(3, comes.clone())];
    let requested = [&arrived[..], &[(53, asks.clone())]].concat();
    let attached = [&requested[..], &[(55, advertisement(FA_A, Some(HOST)))]].concat();
    let buffering = [&attached[..], &[(500, gone.clone())]].concat();
    let forwarding = [&buffering[..], &[(564, forward(FA_A, 558))]].concat();
    let back_while_buffering = [&buffering[..], &[(580, comes.clone())]].concat();
    let back_while_forwarding = [&forwarding[..], &[(580, comes.clone())]].concat();
    let states: [Setup<'_, Message>; 8] = [
        ("unknown", &[]),
        ("host arrived", &arrived),
        ("handoff request received", &requested),
        ("advertisement relayed", &attached),
        ("host gone", &buffering),
        ("forward message received", &forwarding),
        ("host back before the forward message", &back_while_buffering),
        ("host back after it", &back_while_forwarding),
    ];
    let inputs = [
        ("host arrived", SOON, comes),
        ("host gone", SOON, gone),
        ("handoff request", SOON, asks),
        ("advertisement for the host", SOON, advertisement(FA_A, Some(HOST))),
        ("advertisement for all", SOON, advertisement(FA_A, None)),
        ("advertisement of another agent", SOON, advertisement(FA_B, Some(HOST))),
        ("solicitation", SOON, message(HOST, Message::AgentSolicitation { host: HOST })),
        ("forward 558", SOON, forward(FA_A, 558)),
        ("forward 20: an earlier move", SOON, forward(FA_A, 20)),
        ("packet", SOON, data(false)),
        ("time: early", Time::ZERO, Input::Deadline),
        ("time: hold time over", LATER, Input::Deadline),
    ];
    let phase = Duration::from_millis(900);
    let agent = BaseStation::new(BS_A, FA_A, phase, Duration::from_millis(3), &Params::default()).into();
    insta::assert_snapshot!(table(&agent, &states, ms(600), &inputs));
}

#[test]
fn foreign_agent() {
    let here = (FA_A, BS_A);
    let pending = [(62, request(HOST, here, 58, &[FA_C]))];
    let visitor = [&pending[..], &[(182, reply(HA, ReplyCode::ACCEPTED, 58))]].concat();
    let departed = [&visitor[..], &[(563, update(FA_B, FA_B, 558))]].concat();
    let draining = [&departed[..], &[(570, data(false))]].concat();
    let within = [&visitor[..], &[(562, request(HOST, (FA_A, BS_A2), 558, &[]))]].concat();
    let states: [Setup<'_, Message>; 6] = [
        ("unknown", &[]),
        ("registration request relayed", &pending),
        ("reply relayed", &visitor),
        ("moved to fa-b", &departed),
        ("moved to fa-b, bs-a forwards", &draining),
        ("moved to bs-a2", &within),
    ];
    let inputs = [
        ("notification of bs-a", SOON, message(BS_A, Message::Notification { host: HOST })),
        ("notification of bs-b", SOON, message(BS_B, Message::Notification { host: HOST })),
        ("request 58 again", SOON, request(HOST, here, 58, &[FA_C])),
        ("request 600 through bs-a", SOON, request(HOST, here, 600, &[FA_B])),
        ("request 600 through bs-a2", SOON, request(HOST, (FA_A, BS_A2), 600, &[])),
        ("request 600 for fa-b", SOON, request(HOST, (FA_B, BS_B), 600, &[])),
        ("reply to 58", SOON, reply(HA, ReplyCode::ACCEPTED, 58)),
        ("reply to 58, denied", SOON, reply(HA, ReplyCode::IDENTIFICATION_MISMATCH, 58)),
        ("reply to 558", SOON, reply(HA, ReplyCode::ACCEPTED, 558)),
        ("update 20: late", SOON, update(FA_C, FA_C, 20)),
        ("update 558 of fa-b", SOON, update(FA_B, FA_B, 558)),
        ("update 580 of fa-b", SOON, update(FA_B, FA_B, 580)),
        ("update 600 of fa-c", SOON, update(FA_C, FA_C, 600)),
        ("acknowledge of fa-c", SOON, acknowledge(FA_C, 58)),
        ("packet through a tunnel", SOON, data(true)),
        ("packet of the old base station", SOON, data(false)),
        ("time: early", Time::from_nanos(1), Input::Deadline),
        ("time: retransmission", Time::from_nanos(200_000_000), Input::Deadline),
        ("time: pending, hold time over", LATER, Input::Deadline),
        ("time: lifetimes over", AT_THE_END, Input::Deadline),
    ];
    let agent = ForeignAgent::new(FA_A, &[BS_A, BS_A2], Duration::ZERO, &Params::default()).into();
    insta::assert_snapshot!(table(&agent, &states, ms(600), &inputs));
}

#[test]
fn home_agent() {
    let known = [(50, data(false))];
    let bound = [(50, data(false)), (122, request(FA_A, (FA_A, BS_A), 58, &[]))];
    let acknowledged = [&bound[..], &[(242, acknowledge(CH, 58))]].concat();
    let states: [Setup<'_, Message>; 4] = [
        ("unknown", &[]),
        ("correspondent seen", &known),
        ("bound, correspondent told", &bound),
        ("bound, acknowledged", &acknowledged),
    ];
    let warning = |from| message(from, Message::BindingWarning { host: HOST, target: CH });
    let asks = message(CH, Message::BindingRequest { host: HOST, identification: id(58) });
    let inputs = [
        ("request 20: late", SOON, request(FA_C, (FA_C, BS_A), 20, &[])),
        ("request 58 again", SOON, request(FA_A, (FA_A, BS_A), 58, &[])),
        ("request 558, same agent", SOON, request(FA_A, (FA_A, BS_A), 558, &[])),
        ("request 558, moved", SOON, request(FA_B, (FA_B, BS_B), 558, &[])),
        ("packet of ch", SOON, data(false)),
        ("packet of ch, later", LATER, data(false)),
        ("warning of another agent", SOON, warning(FA_B)),
        ("warning of another agent, later", LATER, warning(FA_B)),
        ("warning of the bound agent, later", LATER, warning(FA_A)),
        ("binding request of ch", SOON, asks),
        ("acknowledge of ch", SOON, acknowledge(CH, 58)),
        ("acknowledge of ch, stale", SOON, acknowledge(CH, 20)),
        ("time: early", SOON, Input::Deadline),
        ("time: retransmission", LATER, Input::Deadline),
        ("time: lifetime over", AT_THE_END, Input::Deadline),
    ];
    let agent = HomeAgent::new(HA, &Params::default()).into();
    insta::assert_snapshot!(table(&agent, &states, ms(600), &inputs));
}

#[test]
fn correspondent() {
    let bound = [(182, update(HA, FA_A, 58))];
    let expiring = [(182, update(HA, FA_A, 58)), (56_000, Input::Deadline)];
    let asked = [&expiring[..], &[(56_500, data(false))]].concat();
    let states: [Setup<'_, Message>; 4] = [
        ("unknown", &[]),
        ("bound", &bound),
        ("binding near its end", &expiring),
        ("binding near its end, request sent", &asked),
    ];
    let inputs = [
        ("update 20: late", SOON, update(HA, FA_C, 20)),
        ("update 58 again", SOON, update(HA, FA_A, 58)),
        ("update 558", SOON, update(HA, FA_B, 558)),
        ("packet to the host", SOON, data(false)),
        ("packet to the host, later", Time::from_nanos(1_000_000_000), data(false)),
        ("time: lifetime nearly over", Time::ZERO, Input::Deadline),
        ("time: lifetime over", LATER, Input::Deadline),
    ];
    let agent = Correspondent::new(&Params::default()).into();
    insta::assert_snapshot!(table(&agent, &states, ms(57_000), &inputs));
}
