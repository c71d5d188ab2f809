//! Every state and input of every role, as a table: what if it comes twice, late, or never.

use crate::lab::{
    self, HERE, HOST, NOW, Setup, Words, arrived, clock, down, gone, hear, ms, transitions, up,
};
use crate::plain_tunnel::{BaseStation, Gateway, Input, Kind, Message, MobileHost, Params, PlainTunnel};
use roamlab_packet::Addr;

lab::cases! {
    mobile_host,
    gateway,
    base_station,
}

const GATEWAY: Addr = Addr::new(1, 0);

const NAMES: &[(Addr, &str)] = &[(HOST, "host"), (GATEWAY, "gateway"), (HERE, "cell")];

fn table(role: PlainTunnel, states: &[Setup<'_, Message>], inputs: &[(&str, Input)]) -> String {
    let words = Words { names: NAMES, detail: |message: &Message| format!(" {}", clock(message.id)) };
    let inputs: Vec<_> = inputs.iter().map(|(label, input)| (*label, NOW, input.clone())).collect();
    transitions(&role, &words, states, ms(600), &inputs)
}

fn update(millis: u64) -> Input {
    hear(HOST, millis, Kind::Update { base_station: HERE })
}

fn acknowledge(millis: u64) -> Input {
    hear(GATEWAY, millis, Kind::Acknowledge)
}

fn mobile_host() -> String {
    let asking = [(100, up(HERE))];
    let settled = [(100, up(HERE)), (120, acknowledge(100))];
    let states: [Setup<'_, _>; 3] = [("new", &[]), ("has asked", &asking), ("was answered", &settled)];
    let inputs = [
        ("link up", up(HERE)),
        ("link down", down(HERE)),
        ("acknowledge of the last update", acknowledge(100)),
        ("acknowledge of an older one", acknowledge(50)),
        ("deadline", Input::Deadline),
    ];
    table(MobileHost::new(HOST, GATEWAY, &Params::default()).into(), &states, &inputs)
}

fn gateway() -> String {
    let bound = [(100, update(90))];
    let states: [Setup<'_, _>; 2] = [("new", &[]), ("notified", &bound)];
    let inputs = [("update", update(500)), ("update again", update(90)), ("older update", update(50))];
    table(Gateway::default().into(), &states, &inputs)
}

fn base_station() -> String {
    let here = [(100, arrived())];
    let states: [Setup<'_, _>; 2] = [("empty", &[]), ("with the host", &here)];
    table(BaseStation::default().into(), &states, &[("host arrived", arrived()), ("host gone", gone())])
}
