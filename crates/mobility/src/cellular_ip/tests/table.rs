//! A table of every state and input of every role, with inputs that arrive twice, late, or never.

use crate::blocks::{Equaliser, Trigger, TriggerBy};
use crate::cellular_ip::node::Place;
use crate::cellular_ip::{CellularIp, Handoff, Input, Kind, Message, MobileHost, Node, Params};
use crate::transitions::{Setup, Words, transitions};
use crate::{Direction, Identification, L2Trigger};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;
use std::collections::BTreeMap;

const HOST: Addr = Addr::new(1, 1);
const NODE: Addr = Addr::new(3, 0);
const HERE: Addr = Addr::new(10, 0);
const THERE: Addr = Addr::new(11, 0);
const UP: Addr = Addr::new(2, 0);
const CH: Addr = Addr::new(4, 0);

fn name(addr: Addr) -> String {
    let names = [
        (HOST, "host"),
        (NODE, "node"),
        (HERE, "here"),
        (THERE, "there"),
        (UP, "up"),
        (Addr::BROADCAST, "all"),
    ];
    names.iter().find(|(one, _)| *one == addr).map_or_else(|| addr.to_string(), |(_, name)| (*name).into())
}

/// An identification: a clock in ms.
fn id(millis: u64) -> Identification {
    Identification(millis * 1_000_000)
}

fn detail(message: &Message) -> String {
    let flag = if message.kind == (Kind::RouteUpdate { semisoft: true }) { " S" } else { "" };
    format!("{flag} {}", message.id.0 / 1_000_000)
}

fn table(role: CellularIp, states: &[Setup<'_, Message>], inputs: &[(&str, Time, Input)]) -> String {
    let words = Words { state: |role: &CellularIp| role.state(HOST), name, detail };
    transitions(&role, &words, states, ms(1_000), inputs)
}

const fn ms(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

const NOW: Time = Time::ZERO;

fn hear(from: Addr, millis: u64, kind: Kind) -> Input {
    Input::Message { from, message: Message { host: Some(HOST), id: id(millis), kind } }
}

fn regular(from: Addr, millis: u64) -> Input {
    hear(from, millis, Kind::RouteUpdate { semisoft: false })
}

fn semisoft(from: Addr, millis: u64) -> Input {
    hear(from, millis, Kind::RouteUpdate { semisoft: true })
}

fn data(from: Option<Addr>) -> Input {
    Input::Data { host: HOST, peer: CH, direction: Direction::Up, from, tunnelled: false, lost: false }
}

#[test]
fn mobile_host() {
    let up = |base_station| Input::Trigger(L2Trigger::LinkUp { base_station });
    let down = |base_station| Input::Trigger(L2Trigger::LinkDown { base_station });
    let idle = [(100, up(HERE))];
    let active = [&idle[..], &[(500, data(None))]].concat();
    let semisoft = [&active[..], &[(950, up(THERE))]].concat();
    let away = [&active[..], &[(950, down(HERE))]].concat();
    let states: [Setup<'_, Message>; 5] = [
        ("nowhere", &[]),
        ("link up", &idle),
        ("data", &active),
        ("in both cells", &semisoft),
        ("link down", &away),
    ];
    let inputs = [
        ("link up (here)", NOW, up(HERE)),
        ("link up (there)", NOW, up(THERE)),
        ("link down (here)", NOW, down(HERE)),
        ("link down (there)", NOW, down(THERE)),
        ("data", NOW, data(None)),
        ("beacon, which layer 2 makes needless", NOW, hear(THERE, 0, Kind::BaseStationBeacon)),
        ("time: early", NOW, Input::Deadline),
        ("time: semisoft delay over", ms(50), Input::Deadline),
        ("time: route-update time over", ms(2_500), Input::Deadline),
        ("time: active-state timeout", ms(4_500), Input::Deadline),
        ("time: paging-update time over", ms(179_500), Input::Deadline),
    ];
    let areas = BTreeMap::from([(HERE, HERE), (THERE, THERE)]);
    let params = Params { handoff: Handoff::Semisoft, ..Params::default() };
    insta::assert_snapshot!(table(MobileHost::new(HOST, areas, &params).into(), &states, &inputs));
}

fn node_table(params: &Params, place: Place) -> String {
    let routed = [(500, regular(HERE, 490))];
    let delaying = [&routed[..], &[(900, semisoft(THERE, 890))]].concat();
    let bicasting = [&delaying[..], &[(950, data(Some(THERE)))]].concat();
    let switched = [&delaying[..], &[(980, regular(THERE, 970))]].concat();
    let paged = [(500, hear(HERE, 490, Kind::PagingUpdate))];
    let states: [Setup<'_, Message>; 6] = [
        ("none", &[]),
        ("route update from here", &routed),
        ("and S from there", &delaying),
        ("and data from there", &bicasting),
        ("regular from there", &switched),
        ("paging update from here", &paged),
    ];
    let predicted = Input::Trigger(L2Trigger::HandoverPredicted { host: HOST, base_station: THERE });
    let gateway = |from, number| Input::Message {
        from,
        message: Message { host: None, id: Identification(number), kind: Kind::GatewayBeacon },
    };
    let inputs = [
        ("regular from here 490: again", NOW, regular(HERE, 490)),
        ("regular from here 995", NOW, regular(HERE, 995)),
        ("regular from there 400: late", NOW, regular(THERE, 400)),
        ("regular from there 995", NOW, regular(THERE, 995)),
        ("S from there 995", NOW, semisoft(THERE, 995)),
        ("paging update from there 995", NOW, hear(THERE, 995, Kind::PagingUpdate)),
        ("semisoft trigger 995", NOW, hear(THERE, 995, Kind::SemisoftTrigger)),
        ("handover predicted", NOW, predicted),
        ("data from here", NOW, data(Some(HERE))),
        ("data from there", NOW, data(Some(THERE))),
        ("gateway's beacon 1 from up", NOW, gateway(UP, 1)),
        ("time: early", NOW, Input::Deadline),
        ("time: route timeout", ms(9_000), Input::Deadline),
        ("time: paging timeout", ms(540_000), Input::Deadline),
    ];
    table(Node::new(place, &[HOST], params).into(), &states, &inputs)
}

fn place() -> Place {
    Place {
        address: NODE,
        uplink: Some(UP),
        neighbours: vec![HERE, THERE, UP],
        floods: None,
        is_gateway: false,
        set: vec![THERE],
        phase: Some(Duration::from_millis(30)),
    }
}

fn semisoft_params() -> Params {
    let trigger = Trigger { by: TriggerBy::Source, ..Trigger::default() };
    Params { handoff: Handoff::Semisoft, trigger, ..Params::default() }
}

#[test]
fn node() {
    insta::assert_snapshot!(node_table(&semisoft_params(), place()));
}

#[test]
fn node_without_equaliser_that_keeps_stale_ways() {
    let equaliser = Equaliser { delay: Duration::ZERO, ..Equaliser::default() };
    let params = Params { equaliser, keep_stale: true, ..semisoft_params() };
    insta::assert_snapshot!(node_table(&params, place()));
}

#[test]
fn node_of_a_paging_area_that_waits_for_the_gateway() {
    let gateway_beacon_interval = Some(Duration::from_secs(1));
    let params = Params { gateway_beacon_interval, ..semisoft_params() };
    let place = Place { uplink: None, floods: Some(vec![HERE, THERE]), ..place() };
    insta::assert_snapshot!(node_table(&params, place));
}
