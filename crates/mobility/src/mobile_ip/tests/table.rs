//! A table of every state and input of every role, with inputs that arrive twice, late, or never.

use super::bus::{BS_A, BS_A2, BS_B, CH, FA_A, FA_B, FA_C, HA, NAMES, name};
use crate::lab::{
    self, HOST, Setup, Words, and, arrived, clock, down, gone, hear, hear_all, ms, transitions, up,
};
use crate::mobile_ip::{
    BaseStation, BufferAt, BufferParams, Correspondent, ForeignAgent, HomeAgent, Input, Kind, Message,
    MobileHost, MobileIp, Params, ReplyCode,
};
use crate::{Direction, L2Trigger};
use roamlab_engine::{Duration, Packets, Time};
use roamlab_packet::{Addr, MarkingState};

lab::cases! {
    mobile_host,
    base_station,
    foreign_agent,
    home_agent,
    correspondent,
    mobile_host_without_local_handoff,
    base_station_of_other_kinds,
    foreign_agent_of_other_kinds,
}

const LIFETIME: Duration = Duration::from_secs(300);

fn data(tunnelled: bool) -> Input {
    lab::data(Direction::Down, None, tunnelled)
}

fn beacon(base_station: Addr) -> Input {
    hear_all(base_station, Kind::Beacon)
}

fn advertisement(from: Addr, host: Option<Addr>) -> Input {
    let kind = Kind::AgentAdvertisement { agent: if from == BS_B { FA_B } else { FA_A } };
    if host.is_some() { hear(from, 0, kind) } else { hear_all(from, kind) }
}

fn request(from: Addr, (agent, base_station): (Addr, Addr), millis: u64, previous: &[Addr]) -> Input {
    let previous = previous.to_vec();
    let request = Kind::RegistrationRequest {
        home_agent: HA,
        care_of: agent,
        lifetime: LIFETIME,
        previous,
        base_station,
    };
    hear(from, millis, request)
}

fn reply(from: Addr, code: ReplyCode, millis: u64) -> Input {
    hear(from, millis, Kind::RegistrationReply { code, lifetime: LIFETIME })
}

fn update(from: Addr, care_of: Addr, millis: u64) -> Input {
    optional_update(from, care_of, millis, None)
}

fn optional_update(from: Addr, care_of: Addr, millis: u64, forward: Option<bool>) -> Input {
    hear(from, millis, Kind::BindingUpdate { care_of, lifetime: Duration::from_secs(60), forward })
}

fn notification(from: Addr, accepts: bool) -> Input {
    hear(from, 0, Kind::Notification { accepts })
}

fn acknowledge(from: Addr, millis: u64) -> Input {
    hear(from, millis, Kind::BindingAcknowledge)
}

fn forward(from: Addr, millis: u64) -> Input {
    hear(from, millis, Kind::Forward)
}

/// One line for each state and input, which comes a while `after` the run began; the set-up lies before.
fn table(
    agent: &MobileIp,
    states: &[Setup<'_, Message>],
    after: Time,
    inputs: &[(&str, Time, Input)],
) -> String {
    let words = Words { names: NAMES, detail };
    transitions(agent, &words, states, after, inputs)
}

fn detail(message: &Message) -> String {
    let clock = clock(message.id);
    match &message.kind {
        Kind::RegistrationRequest { previous, .. } if !previous.is_empty() => {
            let previous: Vec<_> = previous.iter().map(|previous| name(*previous)).collect();
            format!(" {clock} after {}", previous.join(", "))
        }
        Kind::RegistrationReply { code, .. } => format!(" {clock} code {}", code.0),
        Kind::BindingUpdate { care_of, forward, .. } => {
            let option = match forward {
                None => "",
                Some(true) => ", forward",
                Some(false) => ", do not forward",
            };
            format!(" {clock} at {}{option}", name(*care_of))
        }
        Kind::Notification { accepts: false } => " accepts nothing".into(),
        Kind::RegistrationRequest { .. }
        | Kind::Forward
        | Kind::BindingRequest
        | Kind::BindingAcknowledge => format!(" {clock}"),
        _ => String::new(),
    }
}

const SOON: Time = ms(100);
const LATER: Time = ms(7_500);
const AT_THE_END: Time = ms(400_000);

fn mobile_host() -> String {
    let listening = [(0, up(BS_A))];
    let requested = [(0, up(BS_A)), (50, beacon(BS_A))];
    let registering = [(0, up(BS_A)), (50, beacon(BS_A)), (58, advertisement(BS_A, Some(HOST)))];
    let registered = and(&registering, &[(186, reply(FA_A, ReplyCode::ACCEPTED, 58))]);
    let moved = and(&registered, &[(500, up(BS_B)), (550, beacon(BS_B))]);
    let moved_registering = and(&moved, &[(558, advertisement(BS_B, Some(HOST)))]);
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
        ("link down (bs-a)", SOON, down(BS_A)),
        ("link down (bs-b)", SOON, down(BS_B)),
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
    table(&agent, &states, ms(600), &inputs)
}

fn base_station() -> String {
    let asks = hear(HOST, 0, Kind::HandoffRequest);
    let gone = gone();
    let comes = arrived();
    let arrived = [(3, comes.clone())];
    let requested = and(&arrived, &[(53, asks.clone())]);
    let attached = and(&requested, &[(55, advertisement(FA_A, Some(HOST)))]);
    let buffering = and(&attached, &[(500, gone.clone())]);
    let forwarding = and(&buffering, &[(564, forward(FA_A, 558))]);
    let back_while_buffering = and(&buffering, &[(580, comes.clone())]);
    let back_while_forwarding = and(&forwarding, &[(580, comes.clone())]);
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
        ("solicitation", SOON, hear(HOST, 0, Kind::AgentSolicitation)),
        ("forward 558", SOON, forward(FA_A, 558)),
        ("forward 20: an earlier move", SOON, forward(FA_A, 20)),
        ("packet", SOON, data(false)),
        ("time: early", Time::ZERO, Input::Deadline),
        ("time: hold time over", LATER, Input::Deadline),
    ];
    let phase = Duration::from_millis(900);
    let agent = BaseStation::new(FA_A, phase, Duration::from_millis(3), &Params::default()).into();
    table(&agent, &states, ms(600), &inputs)
}

fn foreign_agent() -> String {
    let here = (FA_A, BS_A);
    let pending = [(62, request(HOST, here, 58, &[FA_C]))];
    let visitor = and(&pending, &[(182, reply(HA, ReplyCode::ACCEPTED, 58))]);
    let departed = and(&visitor, &[(563, update(FA_B, FA_B, 558))]);
    let draining = and(&departed, &[(570, data(false))]);
    let within = and(&visitor, &[(562, request(HOST, (FA_A, BS_A2), 558, &[]))]);
    let twice = and(&pending, &[(563, request(HOST, here, 558, &[]))]);
    let states: [Setup<'_, Message>; 7] = [
        ("unknown", &[]),
        ("registration request relayed", &pending),
        ("reply relayed", &visitor),
        ("moved to fa-b", &departed),
        ("moved to fa-b, bs-a forwards", &draining),
        ("moved to bs-a2", &within),
        ("two registration requests relayed", &twice),
    ];
    let inputs = [
        ("notification of bs-a", SOON, notification(BS_A, true)),
        ("notification of bs-b", SOON, notification(BS_B, true)),
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
    table(&agent, &states, ms(600), &inputs) + &foreign_agent_behind_the_time_out(&agent)
}

/// Its home agent is more than seven seconds away.
fn foreign_agent_behind_the_time_out(agent: &MobileIp) -> String {
    let here = (FA_A, BS_A);
    let given_up = [(62, request(HOST, here, 58, &[FA_C])), (7_062, Input::Deadline)];
    let asked_again = and(&given_up, &[(7_070, request(HOST, here, 7_066, &[]))]);
    let states: [Setup<'_, Message>; 2] =
        [("no reply in time", &given_up), ("no reply in time, another request relayed", &asked_again)];
    let inputs = [
        ("reply to 58", SOON, reply(HA, ReplyCode::ACCEPTED, 58)),
        ("reply to 58, denied", SOON, reply(HA, ReplyCode::IDENTIFICATION_MISMATCH, 58)),
        ("reply to 20: of an earlier stay", SOON, reply(HA, ReplyCode::ACCEPTED, 20)),
        ("request 58 again", SOON, request(HOST, here, 58, &[FA_C])),
        ("request 7_080", SOON, request(HOST, here, 7_080, &[])),
        ("update 7_080 of fa-b", SOON, update(FA_B, FA_B, 7_080)),
        ("packet through a tunnel", SOON, data(true)),
        ("time: lifetimes over", AT_THE_END, Input::Deadline),
    ];
    table(agent, &states, ms(7_100), &inputs)
}

fn home_agent() -> String {
    let known = [(50, data(false))];
    let bound = [(50, data(false)), (122, request(FA_A, (FA_A, BS_A), 58, &[]))];
    let acknowledged = and(&bound, &[(242, acknowledge(CH, 58))]);
    let states: [Setup<'_, Message>; 4] = [
        ("unknown", &[]),
        ("correspondent seen", &known),
        ("bound, correspondent notified", &bound),
        ("bound, acknowledged", &acknowledged),
    ];
    let warning = |from| hear(from, 0, Kind::BindingWarning { target: CH });
    let asks = hear(CH, 58, Kind::BindingRequest);
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
    table(&agent, &states, ms(600), &inputs)
}

fn correspondent() -> String {
    let bound = [(182, update(HA, FA_A, 58))];
    let expiring = [(182, update(HA, FA_A, 58)), (56_000, Input::Deadline)];
    let asked = and(&expiring, &[(56_500, data(false))]);
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
    table(&agent, &states, ms(57_000), &inputs)
}

fn mobile_host_without_local_handoff() -> String {
    let listening = [(0, up(BS_A))];
    let states: [Setup<'_, Message>; 2] = [("detached", &[]), ("link up", &listening)];
    let inputs = [
        ("link up (bs-a)", SOON, up(BS_A)),
        ("advertisement through bs-a", SOON, advertisement(BS_A, None)),
        ("time: solicitation", LATER, Input::Deadline),
    ];
    let params = Params { local_handoff: false, solicitation: true, ..Params::default() };
    table(&MobileHost::new(HOST, HA, &params).into(), &states, ms(600), &inputs)
}

fn average(packets: f64) -> Input {
    let state = Some(MarkingState::Average(packets));
    Input::Trigger(L2Trigger::MarkingReported { host: HOST, state })
}

/// With copies, and with an option field in its updates.
fn foreign_agent_of_other_kinds() -> String {
    let copies = BufferParams { at: BufferAt::ForeignAgent, ..BufferParams::default() };
    let below = BufferParams { forward_below: Some(Packets(50)), ..BufferParams::default() };
    let both = BufferParams { forward_below: Some(Packets(50)), ..copies.clone() };
    let kinds =
        [("it keeps copies", copies), ("averages decide", below), ("copies, and averages decide", both)];
    let here = (FA_A, BS_A);
    let told = [(54, notification(BS_A, true)), (62, request(HOST, here, 58, &[FA_C]))];
    let refused = [(54, notification(BS_A, false)), (62, request(HOST, here, 58, &[FA_C]))];
    let visitor = and(&told, &[(182, reply(HA, ReplyCode::ACCEPTED, 58))]);
    let refused_next = and(&visitor, &[(554, notification(BS_A2, false))]);
    let departed = and(&visitor, &[(563, update(FA_B, FA_B, 558))]);
    let states: [Setup<'_, Message>; 5] = [
        ("registration request relayed", &told),
        ("the same, it accepts nothing", &refused),
        ("reply relayed", &visitor),
        ("bs-a2 accepts nothing", &refused_next),
        ("moved to fa-b", &departed),
    ];
    let inputs = [
        ("request 600 through bs-a2", SOON, request(HOST, (FA_A, BS_A2), 600, &[])),
        ("request 600 through bs-a", SOON, request(HOST, here, 600, &[FA_B])),
        ("reply to 58", SOON, reply(HA, ReplyCode::ACCEPTED, 58)),
        ("reply to 58, denied", SOON, reply(HA, ReplyCode::IDENTIFICATION_MISMATCH, 58)),
        ("update 580 of fa-b", SOON, update(FA_B, FA_B, 580)),
        ("update 580 of fa-b: forward", SOON, optional_update(FA_B, FA_B, 580, Some(true))),
        ("update 580 of fa-b: do not forward", SOON, optional_update(FA_B, FA_B, 580, Some(false))),
        ("update 600 of fa-c: do not forward", SOON, optional_update(FA_C, FA_C, 600, Some(false))),
        ("packet through a tunnel", SOON, data(true)),
        ("time: retransmission", Time::from_nanos(200_000_000), Input::Deadline),
        ("time: pending, hold time over", LATER, Input::Deadline),
        ("time: lifetimes over", AT_THE_END, Input::Deadline),
    ];
    let mut text = String::new();
    for (kind, buffer) in kinds {
        let params = Params { buffer, ..Params::default() };
        let agent = ForeignAgent::new(FA_A, &[BS_A, BS_A2], Duration::ZERO, &params).into();
        text += &format!("{kind}\n{}", table(&agent, &states, ms(600), &inputs));
    }
    text
}

/// With and without local handoff, with an in-order wait, and without buffers.
fn base_station_of_other_kinds() -> String {
    let waits = BufferParams { in_order_wait: Duration::from_millis(10), ..BufferParams::default() };
    let none = BufferParams { at: BufferAt::None, ..BufferParams::default() };
    let below = BufferParams { forward_below: Some(Packets(50)), ..BufferParams::default() };
    let kinds = [
        ("layer 2 reports hosts", false, BufferParams::default()),
        ("layer 2 reports hosts, unmarked packets wait", false, waits.clone()),
        ("unmarked packets wait", true, waits),
        ("no buffer", true, none),
        ("its average decides", true, below),
    ];
    let here = [(3, arrived()), (53, hear(HOST, 0, Kind::HandoffRequest))];
    let gone_again = and(&here, &[(500, gone())]);
    let forwarding = and(&gone_again, &[(564, forward(FA_A, 558))]);
    let back = and(&gone_again, &[(580, arrived())]);
    let states: [Setup<'_, Message>; 5] = [
        ("unknown", &[]),
        ("host here", &here),
        ("host gone", &gone_again),
        ("forward message received", &forwarding),
        ("host back", &back),
    ];
    let inputs = [
        ("host arrived", SOON, arrived()),
        ("handoff request", SOON, hear(HOST, 0, Kind::HandoffRequest)),
        ("host gone", SOON, gone()),
        ("average of 49.9 packets", SOON, average(49.9)),
        ("average of 50 packets", SOON, average(50.0)),
    ];
    let mut text = String::new();
    for (kind, local_handoff, buffer) in kinds {
        let params = Params { local_handoff, buffer, ..Params::default() };
        let agent = BaseStation::new(FA_A, Duration::from_millis(900), Duration::ZERO, &params).into();
        text += &format!("{kind}\n{}", table(&agent, &states, ms(600), &inputs));
    }
    text
}
