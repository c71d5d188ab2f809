//! A table of every state and input of every role, with inputs that arrive twice, late, or never.

use crate::blocks::{Equaliser, Trigger, TriggerBy};
use crate::cellular_ip::node::TreePosition;
use crate::cellular_ip::{CellularIp, Handoff, Input, Kind, Message, MobileHost, Node, Params};
use crate::lab::{
    self, HERE, HOST, NOW, Setup, THERE, Words, and, clock, data, down, hear, ms, predicted, transitions, up,
};
use crate::{Direction, Identification};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;
use std::collections::BTreeMap;

lab::cases! {
    mobile_host,
    node,
    node_without_equaliser_that_keeps_stale_ways,
    node_of_a_paging_area_that_waits_for_the_gateway,
    node_whose_routes_time_out_one_by_one,
}

const NODE: Addr = Addr::new(3, 0);
const UP: Addr = Addr::new(2, 0);

const NAMES: &[(Addr, &str)] =
    &[(HOST, "host"), (NODE, "node"), (HERE, "here"), (THERE, "there"), (UP, "up"), (Addr::BROADCAST, "all")];

fn detail(message: &Message) -> String {
    let flag = if message.kind == (Kind::RouteUpdate { semisoft: true }) { " S" } else { "" };
    format!("{flag} {}", clock(message.id))
}

fn table(role: CellularIp, states: &[Setup<'_, Message>], inputs: &[(&str, Time, Input)]) -> String {
    let words = Words { names: NAMES, detail };
    transitions(&role, &words, states, ms(1_000), inputs)
}

fn regular(from: Addr, millis: u64) -> Input {
    hear(from, millis, Kind::RouteUpdate { semisoft: false })
}

fn semisoft(from: Addr, millis: u64) -> Input {
    hear(from, millis, Kind::RouteUpdate { semisoft: true })
}

fn mobile_host() -> String {
    let idle = [(100, up(HERE))];
    let active = and(&idle, &[(500, data(Direction::Up, None, false))]);
    let semisoft = and(&active, &[(950, up(THERE))]);
    let away = and(&active, &[(950, down(HERE))]);
    let states: [Setup<'_, Message>; 5] = [
        ("no cell", &[]),
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
        ("data", NOW, data(Direction::Up, None, false)),
        ("beacon, which layer 2 makes needless", NOW, hear(THERE, 0, Kind::BaseStationBeacon)),
        ("time: early", NOW, Input::Deadline),
        ("time: semisoft delay over", ms(50), Input::Deadline),
        ("time: route-update time over", ms(2_500), Input::Deadline),
        ("time: active-state timeout", ms(4_500), Input::Deadline),
        ("time: paging-update time over", ms(179_500), Input::Deadline),
    ];
    let areas = BTreeMap::from([(HERE, HERE), (THERE, THERE)]);
    let params = Params { handoff: Handoff::Semisoft, ..Params::default() };
    table(MobileHost::new(HOST, areas, &params).into(), &states, &inputs)
}

fn node_table(params: &Params, position: TreePosition) -> String {
    let routed = [(500, regular(HERE, 490))];
    let delaying = and(&routed, &[(900, semisoft(THERE, 890))]);
    let bicasting = and(&delaying, &[(950, data(Direction::Up, Some(THERE), false))]);
    let switched = and(&delaying, &[(980, regular(THERE, 970))]);
    let paged = [(500, hear(HERE, 490, Kind::PagingUpdate))];
    let states: [Setup<'_, Message>; 6] = [
        ("none", &[]),
        ("route update from here", &routed),
        ("and S from there", &delaying),
        ("and data from there", &bicasting),
        ("regular from there", &switched),
        ("paging update from here", &paged),
    ];
    let predicted = predicted(THERE);
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
        ("S from up 890: of the same trigger", NOW, semisoft(UP, 890)),
        ("paging update from there 995", NOW, hear(THERE, 995, Kind::PagingUpdate)),
        ("semisoft trigger 995", NOW, hear(THERE, 995, Kind::SemisoftTrigger)),
        ("handover predicted", NOW, predicted),
        ("data from here", NOW, data(Direction::Up, Some(HERE), false)),
        ("data from there", NOW, data(Direction::Up, Some(THERE), false)),
        ("gateway's beacon 1 from up", NOW, gateway(UP, 1)),
        ("time: early", NOW, Input::Deadline),
        ("time: route timeout", ms(9_000), Input::Deadline),
        ("time: paging timeout", ms(540_000), Input::Deadline),
    ];
    table(Node::new(position, &[HOST], params).into(), &states, &inputs)
}

fn position() -> TreePosition {
    TreePosition {
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

fn node() -> String {
    node_table(&semisoft_params(), position())
}

fn node_without_equaliser_that_keeps_stale_ways() -> String {
    let equaliser = Equaliser { delay: Duration::ZERO, ..Equaliser::default() };
    let params = Params { equaliser, keep_stale: true, ..semisoft_params() };
    node_table(&params, position())
}

fn node_of_a_paging_area_that_waits_for_the_gateway() -> String {
    let gateway_beacon_interval = Some(Duration::from_secs(1));
    let params = Params { gateway_beacon_interval, ..semisoft_params() };
    let position = TreePosition { uplink: None, floods: Some(vec![HERE, THERE]), ..position() };
    node_table(&params, position)
}

fn node_whose_routes_time_out_one_by_one() -> String {
    let routed = [(500, regular(HERE, 490))];
    let delaying = and(&routed, &[(5_000, semisoft(THERE, 4_990))]);
    let refreshed = and(&delaying, &[(6_000, data(Direction::Up, Some(HERE), false))]);
    let bicasting = and(&delaying, &[(6_000, data(Direction::Up, Some(THERE), false))]);
    let states: [Setup<'_, Message>; 3] =
        [("S from there", &delaying), ("and data from here", &refreshed), ("or data from there", &bicasting)];
    let inputs = [
        ("time: route from here over", ms(8_900), Input::Deadline),
        ("time: route from there over", ms(13_500), Input::Deadline),
    ];
    table(Node::new(position(), &[HOST], &semisoft_params()).into(), &states, &inputs)
}
