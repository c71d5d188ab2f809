//! Every state and input of every role, as a table: what if it comes twice, late, or never.

use crate::plain_tunnel::{BaseStation, Gateway, Input, Message, MobileHost, Params, PlainTunnel};
use crate::transitions::{Setup, Words, transitions};
use crate::{Identification, L2Trigger};
use roamlab_engine::Time;
use roamlab_packet::Addr;

const HOST: Addr = Addr::new(1, 1);
const GATEWAY: Addr = Addr::new(1, 0);
const CELL: Addr = Addr::new(10, 0);

const fn ms(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

fn name(addr: Addr) -> String {
    let known = [(HOST, "host"), (GATEWAY, "gateway"), (CELL, "cell")];
    known.iter().find(|(one, _)| *one == addr).map_or_else(|| addr.to_string(), |(_, name)| (*name).into())
}

fn id(millis: u64) -> Identification {
    Identification(ms(millis).as_nanos())
}

fn detail(message: &Message) -> String {
    let (Message::Update { id, .. } | Message::Acknowledge { id, .. }) = message;
    format!(" {}", id.0 / 1_000_000)
}

fn table(role: PlainTunnel, states: &[Setup<'_, Message>], inputs: &[(&str, Input)]) -> String {
    let words = Words { state: |role: &PlainTunnel| role.state(HOST), name, detail };
    let inputs: Vec<_> = inputs.iter().map(|(label, input)| (*label, Time::ZERO, input.clone())).collect();
    transitions(&role, &words, states, ms(600), &inputs)
}

fn update(millis: u64) -> Input {
    let message = Message::Update { host: HOST, base_station: CELL, id: id(millis) };
    Input::Message { from: HOST, message }
}

fn acknowledge(millis: u64) -> Input {
    Input::Message { from: GATEWAY, message: Message::Acknowledge { host: HOST, id: id(millis) } }
}

#[test]
fn mobile_host() {
    let up = Input::Trigger(L2Trigger::LinkUp { base_station: CELL });
    let down = Input::Trigger(L2Trigger::LinkDown { base_station: CELL });
    let role = MobileHost::new(HOST, GATEWAY, &Params::default()).into();
    let asking = [(100, up.clone())];
    let settled = [(100, up.clone()), (120, acknowledge(100))];
    let states: [Setup<'_, _>; 3] = [("new", &[]), ("has asked", &asking), ("was answered", &settled)];
    let inputs = [
        ("link up", up.clone()),
        ("link down", down),
        ("acknowledge of the last update", acknowledge(100)),
        ("acknowledge of an older one", acknowledge(50)),
        ("deadline", Input::Deadline),
    ];
    insta::assert_snapshot!(table(role, &states, &inputs));
}

#[test]
fn gateway() {
    let bound = [(100, update(90))];
    let states: [Setup<'_, _>; 2] = [("new", &[]), ("was told", &bound)];
    let inputs = [("update", update(500)), ("update again", update(90)), ("older update", update(50))];
    insta::assert_snapshot!(table(Gateway::default().into(), &states, &inputs));
}

#[test]
fn base_station() {
    let arrived = Input::Trigger(L2Trigger::HostArrived { host: HOST });
    let here = [(100, arrived.clone())];
    let states: [Setup<'_, _>; 2] = [("empty", &[]), ("with the host", &here)];
    let gone = Input::Trigger(L2Trigger::HostGone { host: HOST });
    insta::assert_snapshot!(table(
        BaseStation::default().into(),
        &states,
        &[("host arrived", arrived), ("host gone", gone)]
    ));
}
