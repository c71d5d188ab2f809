//! A table of every state and input of every role, with inputs that arrive twice, late, or never.

use crate::lte_x2::{
    Cancelled, ENodeB, Forwarding, Input, Kind, LteX2, Message, Mme, Params, PathSwitch, ServingGateway,
    UserEquipment,
};
use crate::transitions::{Setup, Words, transitions};
use crate::{Agent, Direction, Identification, L2Trigger};
use roamlab_engine::Time;
use roamlab_packet::Addr;

const UE: Addr = Addr::new(1, 1);
const OTHER: Addr = Addr::new(1, 2);
const GATEWAY: Addr = Addr::new(1, 0);
const MME: Addr = Addr::new(2, 0);
const HERE: Addr = Addr::new(10, 0);
const THERE: Addr = Addr::new(11, 0);
const THIRD: Addr = Addr::new(12, 0);

fn name(addr: Addr) -> String {
    let names = [
        (UE, "ue"),
        (OTHER, "other ue"),
        (GATEWAY, "gateway"),
        (MME, "mme"),
        (HERE, "here"),
        (THERE, "there"),
        (THIRD, "third"),
    ];
    let known = names.iter().find(|(known, _)| *known == addr);
    known.map_or_else(|| addr.to_string(), |(_, name)| (*name).into())
}

/// An identification: a clock in ms.
fn id(millis: u64) -> Identification {
    Identification(millis * 1_000_000)
}

fn hear(from: Addr, millis: u64, kind: Kind) -> Input {
    let message = Message { host: UE, id: id(millis), kind };
    Input::Message { from, message }
}

fn detail(message: &Message) -> String {
    let Message { id, kind, .. } = message;
    let clock = id.0 / 1_000_000;
    let more = match kind {
        Kind::MeasurementReport { target } | Kind::HandoverCommand { target } => {
            format!(": {}", name(*target))
        }
        Kind::PathSwitchRequest { base_station } | Kind::ModifyBearerRequest { base_station } => {
            format!(": {}", name(*base_station))
        }
        Kind::HandoverRequest { early: true } => ", early".into(),
        _ => String::new(),
    };
    format!(" {clock}{more}")
}

fn table(agent: &LteX2, states: &[Setup<'_, Message>], inputs: &[(&str, Time, Input)]) -> String {
    let words = Words { state: |agent: &LteX2| agent.state(UE), name, detail };
    transitions(agent, &words, states, after(1_000), inputs)
}

const fn after(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

const NOW: Time = Time::ZERO;

fn up(base_station: Addr) -> Input {
    Input::Trigger(L2Trigger::LinkUp { base_station })
}

#[test]
fn user_equipment() {
    let better = |base_station| Input::Trigger(L2Trigger::NeighbourBetter { base_station });
    let failed = Input::Trigger(L2Trigger::RadioLinkFailure);
    let received = Input::Trigger(L2Trigger::Received { to: HERE, packets: [7, 9].into() });
    let command = |millis| hear(HERE, millis, Kind::HandoverCommand { target: THERE });
    let requesting = [(1, up(HERE))];
    let connected = [&requesting[..], &[(20, hear(HERE, 1, Kind::ConnectionSetup {}))]].concat();
    let detached = [&connected[..], &[(900, command(895))]].concat();
    let accessing = [&detached[..], &[(930, up(THERE))]].concat();
    let at_target = [&accessing[..], &[(940, hear(THERE, 895, Kind::RandomAccessResponse {}))]].concat();
    let selecting = [&connected[..], &[(900, failed.clone())]].concat();
    let reestablishing = [&selecting[..], &[(920, up(THERE))]].concat();
    let continued = [&reestablishing[..], &[(930, hear(THERE, 1, Kind::Reestablishment {}))]].concat();
    let idle = [&selecting[..], &[(3_950, Input::Deadline)]].concat();
    let states: [Setup<'_, Message>; 10] = [
        ("never on", &[]),
        ("service requested", &requesting),
        ("connected", &connected),
        ("commanded", &detached),
        ("link up at the target", &accessing),
        ("at the target", &at_target),
        ("link failed", &selecting),
        ("re-establishment requested", &reestablishing),
        ("re-established", &continued),
        ("no cell found", &idle),
    ];
    let inputs = [
        ("link up here", NOW, up(HERE)),
        ("link up there", NOW, up(THERE)),
        ("link down", NOW, Input::Trigger(L2Trigger::LinkDown { base_station: HERE })),
        ("radio link failure", NOW, failed),
        ("neighbour better: there", NOW, better(THERE)),
        ("neighbour better: here", NOW, better(HERE)),
        ("cell found: there", NOW, Input::Trigger(L2Trigger::CellFound { base_station: THERE })),
        ("layer 2: 7 and 9 received", NOW, received),
        ("connection setup 1", NOW, hear(HERE, 1, Kind::ConnectionSetup {})),
        ("connection setup 0: late", NOW, hear(HERE, 0, Kind::ConnectionSetup {})),
        ("measurement control of here", NOW, hear(HERE, 1, Kind::MeasurementControl {})),
        ("measurement control of there", NOW, hear(THERE, 1, Kind::MeasurementControl {})),
        ("command 995", NOW, command(995)),
        ("command 895", NOW, command(895)),
        ("command of another cell", NOW, hear(THIRD, 995, Kind::HandoverCommand { target: THERE })),
        ("random access response 895", NOW, hear(THERE, 895, Kind::RandomAccessResponse {})),
        ("random access response 800: late", NOW, hear(THERE, 800, Kind::RandomAccessResponse {})),
        ("re-establishment", NOW, hear(THERE, 1, Kind::Reestablishment {})),
        ("re-establishment 0: late", NOW, hear(THERE, 0, Kind::Reestablishment {})),
        ("re-establishment reject", NOW, hear(THERE, 1, Kind::ReestablishmentReject {})),
        ("time: early", Time::ZERO, Input::Deadline),
        ("time: retransmission", after(50), Input::Deadline),
        ("time: T304, T301", after(500), Input::Deadline),
        ("time: T311", after(6_000), Input::Deadline),
    ];
    let agent = UserEquipment::new(UE, &Params::default()).into();
    insta::assert_snapshot!(table(&agent, &states, &inputs));
}

fn here() -> Input {
    Input::Trigger(L2Trigger::HostArrived { host: UE })
}

fn gone() -> Input {
    Input::Trigger(L2Trigger::HostGone { host: UE })
}

fn report(target: Addr) -> Input {
    hear(UE, 1, Kind::MeasurementReport { target })
}

fn predicted(base_station: Addr) -> Input {
    Input::Trigger(L2Trigger::HandoverPredicted { host: UE, base_station })
}

fn reestablish() -> Input {
    hear(UE, 5, Kind::ReestablishmentRequest { previous: THERE })
}

fn data() -> Input {
    Input::Data {
        host: UE,
        peer: OTHER,
        direction: Direction::Down,
        from: None,
        tunnelled: true,
        lost: false,
    }
}

/// What a base station may hear or learn at any time. The newest handover is number 900.
fn events() -> Vec<(&'static str, Time, Input)> {
    let request = |from, millis, early| hear(from, millis, Kind::HandoverRequest { early });
    vec![
        ("host arrived", NOW, here()),
        ("host gone", NOW, gone()),
        ("service request", NOW, hear(UE, 990, Kind::ServiceRequest {})),
        ("context setup 990", NOW, hear(MME, 990, Kind::InitialContextSetup {})),
        ("context setup 5: late", NOW, hear(MME, 5, Kind::InitialContextSetup {})),
        ("measurement control complete", NOW, hear(UE, 5, Kind::MeasurementControlComplete {})),
        ("report of there", NOW, report(THERE)),
        ("report of third", NOW, report(THIRD)),
        ("prediction of there", NOW, predicted(THERE)),
        ("request ack 900", NOW, hear(THERE, 900, Kind::HandoverRequestAck {})),
        ("request ack 800: late", NOW, hear(THERE, 800, Kind::HandoverRequestAck {})),
        ("preparation failure 900", NOW, hear(THERE, 900, Kind::HandoverPreparationFailure {})),
        ("handover request 990", NOW, request(THERE, 990, false)),
        ("handover request 900 again", NOW, request(THERE, 900, false)),
        ("handover cancel 900", NOW, hear(THERE, 900, Kind::HandoverCancel {})),
        ("handover cancel 800: late", NOW, hear(THERE, 800, Kind::HandoverCancel {})),
        ("SN status transfer", NOW, hear(THERE, 900, Kind::SnStatusTransfer {})),
        ("preamble 900", NOW, hear(UE, 900, Kind::RandomAccessPreamble {})),
        ("preamble 800: late", NOW, hear(UE, 800, Kind::RandomAccessPreamble {})),
        ("confirm 900", NOW, hear(UE, 900, Kind::HandoverConfirm {})),
        ("path switch ack 900", NOW, hear(MME, 900, Kind::PathSwitchRequestAck {})),
        ("path switch failure 900", NOW, hear(MME, 900, Kind::PathSwitchRequestFailure {})),
        ("end marker 900 of the gateway", NOW, hear(GATEWAY, 900, Kind::EndMarker {})),
        ("end marker 990 of the gateway", NOW, hear(GATEWAY, 990, Kind::EndMarker {})),
        ("drained", NOW, Input::Trigger(L2Trigger::Drained { host: UE })),
        ("end marker 900 of there", NOW, hear(THERE, 900, Kind::EndMarker {})),
        ("UE context release 900", NOW, hear(THERE, 900, Kind::ContextRelease {})),
        ("UE context release 800: late", NOW, hear(THERE, 800, Kind::ContextRelease {})),
        ("release command 990", NOW, hear(MME, 990, Kind::ContextReleaseCommand {})),
        ("RLF indication", NOW, hear(THERE, 5, Kind::RlfIndication {})),
        ("re-establishment request 5", NOW, reestablish()),
        ("re-establishment complete 5", NOW, hear(UE, 5, Kind::ReestablishmentComplete {})),
        ("re-establishment complete 4: late", NOW, hear(UE, 4, Kind::ReestablishmentComplete {})),
        ("PDCP status report", NOW, hear(UE, 900, Kind::StatusReport { received: [7].into() })),
        ("forwarded packet", NOW, data()),
        ("time: early", NOW, Input::Deadline),
        ("time: retransmissions", after(150), Input::Deadline),
        ("time: all over", after(3_000), Input::Deadline),
    ]
}

fn base_station(params: Params) -> LteX2 {
    ENodeB::new(HERE, MME, &params).into()
}

fn serving() -> Vec<(u64, Input)> {
    let confirmed = hear(UE, 5, Kind::MeasurementControlComplete {});
    vec![(1, here()), (20, hear(MME, 5, Kind::InitialContextSetup {})), (40, confirmed)]
}

fn and(setup: &[(u64, Input)], more: &[(u64, Input)]) -> Vec<(u64, Input)> {
    [setup, more].concat()
}

#[test]
fn enodeb_as_source() {
    let acknowledged = hear(THERE, 900, Kind::HandoverRequestAck {});
    let unconfirmed = serving()[..2].to_vec();
    let left = and(&serving(), &[(950, gone())]);
    let preparing = and(&serving(), &[(900, report(THERE))]);
    let executing = and(&preparing, &[(910, acknowledged)]);
    let gone_to_it = and(&executing, &[(920, gone())]);
    let released = and(&gone_to_it, &[(960, hear(THERE, 900, Kind::ContextRelease {}))]);
    let back = and(&gone_to_it, &[(950, here()), (960, reestablish())]);
    let states: [Setup<'_, Message>; 9] = [
        ("unknown", &[]),
        ("connected just now", &unconfirmed),
        ("serving", &serving()),
        ("the host is gone", &left),
        ("request sent", &preparing),
        ("command sent, host here", &executing),
        ("command sent, host gone", &gone_to_it),
        ("released", &released),
        ("command sent, host resumes", &back),
    ];
    insta::assert_snapshot!(table(&base_station(Params::default()), &states, &events()));
}

#[test]
fn enodeb_as_target() {
    let prepared = [(900, hear(THERE, 900, Kind::HandoverRequest { early: false }))];
    let arrived = and(&prepared, &[(930, here())]);
    let accessed = and(&arrived, &[(935, hear(UE, 900, Kind::RandomAccessPreamble {}))]);
    let confirmed = and(&accessed, &[(945, hear(UE, 900, Kind::HandoverConfirm {}))]);
    let switched = and(&confirmed, &[(955, hear(MME, 900, Kind::PathSwitchRequestAck {}))]);
    let ordered = and(&switched, &[(960, hear(THERE, 900, Kind::EndMarker {}))]);
    let onward =
        and(&confirmed, &[(950, report(THIRD)), (960, hear(THIRD, 950, Kind::HandoverRequestAck {}))]);
    let cancelled = and(&prepared, &[(950, hear(THERE, 900, Kind::HandoverCancel {}))]);
    let resuming = and(&arrived, &[(935, reestablish())]);
    let states: [Setup<'_, Message>; 9] = [
        ("prepared", &prepared),
        ("prepared, host here", &arrived),
        ("random access begun", &accessed),
        ("re-establishment begun", &resuming),
        ("confirmed", &confirmed),
        ("path switched", &switched),
        ("end marker come", &ordered),
        ("sent on to third", &onward),
        ("cancelled", &cancelled),
    ];
    insta::assert_snapshot!(table(&base_station(Params::default()), &states, &events()));
}

#[test]
fn enodeb_with_an_early_path_switch() {
    let params = |path_switch| Params { path_switch, ..Params::default() };
    let acknowledged = (910, hear(THERE, 900, Kind::HandoverRequestAck {}));
    let fast = and(&serving(), &[(900, report(THERE)), acknowledged.clone()]);
    let text = table(&base_station(params(PathSwitch::Fast)), &[("fast: command sent", &fast)], &events());
    let preparing = and(&serving(), &[(900, predicted(THERE))]);
    let wanted = and(&preparing, &[(905, report(THERE))]);
    let ready = and(&preparing, &[acknowledged]);
    let left = and(&ready, &[(930, hear(GATEWAY, 900, Kind::EndMarker {}))]);
    let drained = and(&left, &[(935, Input::Trigger(L2Trigger::Drained { host: UE }))]);
    let commanded = and(&left, &[(950, report(THERE))]);
    let gone = and(&ready, &[(930, gone())]);
    let prepared = [(900, hear(THERE, 900, Kind::HandoverRequest { early: true }))];
    let cancelled = and(&prepared, &[(950, hear(THERE, 900, Kind::HandoverCancel {}))]);
    let states: [Setup<'_, Message>; 9] = [
        ("predicted: request sent", &preparing),
        ("predicted late: already reported", &wanted),
        ("predicted: path switch requested", &ready),
        ("predicted: path has left", &left),
        ("predicted: path has left, drained", &drained),
        ("predicted: the host is gone", &gone),
        ("predicted: command sent", &commanded),
        ("predicted: prepared", &prepared),
        ("predicted: cancelled", &cancelled),
    ];
    let text = text + &table(&base_station(params(PathSwitch::Predictive)), &states, &events());
    insta::assert_snapshot!(text);
}

#[test]
fn enodeb_that_forwards_nothing_or_out_of_order_or_admits_nobody() {
    let executing =
        and(&serving(), &[(900, report(THERE)), (910, hear(THERE, 900, Kind::HandoverRequestAck {}))]);
    let prepared = [(900, hear(THERE, 900, Kind::HandoverRequest { early: false }))];
    let confirmed = and(&prepared, &[(930, here()), (945, hear(UE, 900, Kind::HandoverConfirm {}))]);
    let states: [Setup<'_, Message>; 3] =
        [("command sent", &executing), ("prepared", &prepared), ("confirmed", &confirmed)];
    let variants = [
        ("no forwarding", Params { forwarding: Forwarding::None, ..Params::default() }),
        ("no reordering", Params { reordering: false, ..Params::default() }),
        ("cancelled packets are dropped", Params { cancelled: Cancelled::Drop, ..Params::default() }),
    ];
    let mut text = String::new();
    for (variant, params) in variants {
        text += &format!("{variant}\n{}", table(&base_station(params), &states, &events()));
    }
    insta::assert_snapshot!(text);

    // A cell for one host has it.
    let mut full = base_station(Params { admission_limit: Some(1), ..Params::default() });
    let mut out = Vec::new();
    for host in [OTHER, UE] {
        let message = Message { host, id: id(900), kind: Kind::HandoverRequest { early: false } };
        full.on(Input::Message { from: THERE, message }, NOW, &mut out);
    }
    assert_eq!((full.state(OTHER), full.state(UE)), ("prepared", "none"));
}

#[test]
fn mme() {
    let service = |from, millis| hear(from, millis, Kind::ServiceRequest {});
    let switch = |from, millis, base_station| hear(from, millis, Kind::PathSwitchRequest { base_station });
    let response = |millis| hear(GATEWAY, millis, Kind::ModifyBearerResponse {});
    let connecting = [(5, service(HERE, 1))];
    let idle = and(&connecting, &[(10, response(1))]);
    let modifying = and(&idle, &[(900, switch(THERE, 895, THERE))]);
    let queued = and(&modifying, &[(950, switch(THIRD, 945, THIRD))]);
    let done = and(&modifying, &[(910, response(895))]);
    let states: [Setup<'_, Message>; 6] = [
        ("unknown", &[]),
        ("first service request", &connecting),
        ("connected", &idle),
        ("path switch to there", &modifying),
        ("another to third waits", &queued),
        ("path switched to there", &done),
    ];
    let inputs = [
        ("service request 990 of here", NOW, service(HERE, 990)),
        ("service request 990 of third", NOW, service(THIRD, 990)),
        ("service request 1 again", NOW, service(HERE, 1)),
        ("path switch 990 to third", NOW, switch(THIRD, 990, THIRD)),
        ("path switch 895 to there again", NOW, switch(THERE, 895, THERE)),
        ("the same by the source", NOW, switch(HERE, 895, THERE)),
        ("path switch 800: late", NOW, switch(THIRD, 800, THIRD)),
        ("response 1", NOW, response(1)),
        ("response 895", NOW, response(895)),
        ("time: early", NOW, Input::Deadline),
        ("time: retransmission", after(200), Input::Deadline),
    ];
    let agent = Mme::new(GATEWAY, &Params::default()).into();
    insta::assert_snapshot!(table(&agent, &states, &inputs));
}

#[test]
fn serving_gateway() {
    let modify = |millis, base_station| hear(MME, millis, Kind::ModifyBearerRequest { base_station });
    let bound = [(10, modify(5, HERE))];
    let switched = and(&bound, &[(900, modify(895, THERE))]);
    let states: [Setup<'_, Message>; 3] = [("unknown", &[]), ("bound", &bound), ("switched", &switched)];
    let inputs = [
        ("modify 990 to third", NOW, modify(990, THIRD)),
        ("modify 990 to here", NOW, modify(990, HERE)),
        ("modify 895 to there", NOW, modify(895, THERE)),
        ("modify 5 to here", NOW, modify(5, HERE)),
        ("modify 1: late", NOW, modify(1, THIRD)),
        ("time", NOW, Input::Deadline),
    ];
    let params = Params { end_markers: 2, ..Params::default() };
    let agent = ServingGateway::new(&params).into();
    insta::assert_snapshot!(table(&agent, &states, &inputs));
    assert_eq!(LteX2::next_deadline(&agent), None);
}
