//! A table of every state and input of every role, with inputs that arrive twice, late, or never.

use crate::lab::Subject as _;
use crate::lab::{
    self, ELSEWHERE, HERE, HOST, NOW, Setup, THERE, Words, and, arrived, clock, data, down, gone, hear, id,
    ms, predicted, transitions, up,
};
use crate::lte_x2::{
    Cancelled, Conditional, ENodeB, Forwarding, Input, Kind, LteX2, Message, Mme, Params, PathSwitch, Plan,
    ServingGateway, UserEquipment,
};
use crate::{Agent, Direction, L2Trigger};
use roamlab_engine::{Duration, Rng, Time};
use roamlab_packet::{Addr, MarkingState, Received};

lab::cases! {
    user_equipment,
    enodeb_as_source,
    enodeb_as_target,
    enodeb_that_carries_the_marking_state,
    enodeb_with_an_early_path_switch,
    enodeb_that_forwards_nothing_or_out_of_order_or_admits_no_host,
    mme,
    serving_gateway,
    user_equipment_without_a_cell,
    enodeb_that_takes_hosts_back,
    mme_of_a_host_elsewhere,
    conditional_user_equipment,
    conditional_source,
    conditional_target,
}

const OTHER: Addr = Addr::new(1, 2);
const GATEWAY: Addr = Addr::new(1, 0);
const MME: Addr = Addr::new(2, 0);

const NAMES: &[(Addr, &str)] = &[
    (HOST, "ue"),
    (OTHER, "other ue"),
    (GATEWAY, "gateway"),
    (MME, "mme"),
    (HERE, "here"),
    (THERE, "there"),
    (ELSEWHERE, "third"),
];

fn draws() -> Rng {
    Rng::named(1, 0, "handover")
}

fn name(addr: Addr) -> String {
    lab::name(NAMES, addr)
}

fn detail(message: &Message) -> String {
    let Message { id, kind, .. } = message;
    let clock = clock(*id);
    let more = match kind {
        Kind::MeasurementReport { target } | Kind::HandoverCommand { target } => {
            format!(": {}", name(*target))
        }
        Kind::PathSwitchRequest { base_station } | Kind::ModifyBearerRequest { base_station } => {
            format!(": {}", name(*base_station))
        }
        Kind::HandoverRequest { plan: Plan::SwitchEarly } => ", early".into(),
        Kind::HandoverRequest { plan: Plan::Condition } => ", conditional".into(),
        Kind::ConditionalReconfiguration { candidates } => {
            format!(": {}", candidates.iter().map(|target| name(*target)).collect::<Vec<_>>().join(" or "))
        }
        Kind::SnStatusTransfer { marking: Some(state) } => format!(": {state:?}"),
        _ => String::new(),
    };
    format!(" {clock}{more}")
}

fn table(agent: &LteX2, states: &[Setup<'_, Message>], inputs: &[(&str, Time, Input)]) -> String {
    let words = Words { names: NAMES, detail };
    transitions(agent, &words, states, ms(1_000), inputs)
}

fn user_equipment() -> String {
    let better =
        |base_station| Input::Trigger(L2Trigger::NeighbourBetter { condition: "report", base_station });
    let failed = Input::Trigger(L2Trigger::RadioLinkFailure);
    let received =
        Input::Trigger(L2Trigger::Received { to: HERE, packets: Received::Serials([7, 9].into()) });
    let command = |millis| hear(HERE, millis, Kind::HandoverCommand { target: THERE });
    let requesting = [(1, up(HERE))];
    let connected = and(&requesting, &[(20, hear(HERE, 1, Kind::ConnectionSetup))]);
    let detached = and(&connected, &[(900, command(895))]);
    let accessing = and(&detached, &[(930, up(THERE))]);
    let at_target = and(&accessing, &[(940, hear(THERE, 895, Kind::RandomAccessResponse))]);
    let selecting = and(&connected, &[(900, failed.clone())]);
    let reestablishing = and(&selecting, &[(920, up(THERE))]);
    let continued = and(&reestablishing, &[(930, hear(THERE, 1, Kind::Reestablishment))]);
    let idle = and(&selecting, &[(3_950, Input::Deadline)]);
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
        ("link down", NOW, down(HERE)),
        ("radio link failure", NOW, failed),
        ("neighbour better: there", NOW, better(THERE)),
        ("neighbour better: here", NOW, better(HERE)),
        ("cell found: there", NOW, Input::Trigger(L2Trigger::CellFound { base_station: THERE })),
        ("layer 2: 7 and 9 received", NOW, received),
        ("connection setup 1", NOW, hear(HERE, 1, Kind::ConnectionSetup)),
        ("connection setup 0: late", NOW, hear(HERE, 0, Kind::ConnectionSetup)),
        ("measurement control of here", NOW, hear(HERE, 1, Kind::MeasurementControl)),
        ("measurement control of there", NOW, hear(THERE, 1, Kind::MeasurementControl)),
        ("command 995", NOW, command(995)),
        ("command 895", NOW, command(895)),
        ("command of another cell", NOW, hear(ELSEWHERE, 995, Kind::HandoverCommand { target: THERE })),
        ("random access response 895", NOW, hear(THERE, 895, Kind::RandomAccessResponse)),
        ("random access response 800: late", NOW, hear(THERE, 800, Kind::RandomAccessResponse)),
        ("re-establishment", NOW, hear(THERE, 1, Kind::Reestablishment)),
        ("re-establishment 0: late", NOW, hear(THERE, 0, Kind::Reestablishment)),
        ("re-establishment reject", NOW, hear(THERE, 1, Kind::ReestablishmentReject)),
        ("time: early", Time::ZERO, Input::Deadline),
        ("time: retransmission", ms(50), Input::Deadline),
        ("time: T304, T301", ms(500), Input::Deadline),
        ("time: T311", ms(6_000), Input::Deadline),
    ];
    let agent = UserEquipment::new(HOST, draws(), &Params::default()).into();
    table(&agent, &states, &inputs)
}

fn report(target: Addr) -> Input {
    hear(HOST, 1, Kind::MeasurementReport { target })
}

fn reestablish() -> Input {
    hear(HOST, 5, Kind::ReestablishmentRequest { previous: THERE })
}

/// Inputs that a base station may get at any time. The newest handover is number 900.
fn events() -> Vec<(&'static str, Time, Input)> {
    let request = |from, millis| hear(from, millis, Kind::HandoverRequest { plan: Plan::Command });
    vec![
        ("host arrived", NOW, arrived()),
        ("host gone", NOW, gone()),
        ("service request", NOW, hear(HOST, 990, Kind::ServiceRequest)),
        ("context setup 990", NOW, hear(MME, 990, Kind::InitialContextSetup)),
        ("context setup 5: late", NOW, hear(MME, 5, Kind::InitialContextSetup)),
        ("measurement control complete", NOW, hear(HOST, 5, Kind::MeasurementControlComplete)),
        ("report of there", NOW, report(THERE)),
        ("report of third", NOW, report(ELSEWHERE)),
        ("prediction of there", NOW, predicted(THERE)),
        ("request ack 900", NOW, hear(THERE, 900, Kind::HandoverRequestAck)),
        ("request ack 800: late", NOW, hear(THERE, 800, Kind::HandoverRequestAck)),
        ("preparation failure 900", NOW, hear(THERE, 900, Kind::HandoverPreparationFailure)),
        ("handover request 990", NOW, request(THERE, 990)),
        ("handover request 900 again", NOW, request(THERE, 900)),
        ("handover cancel 900", NOW, hear(THERE, 900, Kind::HandoverCancel)),
        ("handover cancel 800: late", NOW, hear(THERE, 800, Kind::HandoverCancel)),
        ("SN status transfer", NOW, hear(THERE, 900, Kind::SnStatusTransfer { marking: None })),
        ("preamble 900", NOW, hear(HOST, 900, Kind::RandomAccessPreamble)),
        ("preamble 800: late", NOW, hear(HOST, 800, Kind::RandomAccessPreamble)),
        ("confirm 900", NOW, hear(HOST, 900, Kind::HandoverConfirm)),
        ("path switch ack 900", NOW, hear(MME, 900, Kind::PathSwitchRequestAck)),
        ("path switch failure 900", NOW, hear(MME, 900, Kind::PathSwitchRequestFailure)),
        ("end marker 900 of the gateway", NOW, hear(GATEWAY, 900, Kind::EndMarker)),
        ("end marker 990 of the gateway", NOW, hear(GATEWAY, 990, Kind::EndMarker)),
        ("drained", NOW, Input::Trigger(L2Trigger::Drained { host: HOST })),
        ("end marker 900 of there", NOW, hear(THERE, 900, Kind::EndMarker)),
        ("UE context release 900", NOW, hear(THERE, 900, Kind::ContextRelease)),
        ("UE context release 800: late", NOW, hear(THERE, 800, Kind::ContextRelease)),
        ("release command 990", NOW, hear(MME, 990, Kind::ContextReleaseCommand)),
        ("RLF indication", NOW, hear(THERE, 5, Kind::RlfIndication)),
        ("re-establishment request 5", NOW, reestablish()),
        ("re-establishment complete 5", NOW, hear(HOST, 5, Kind::ReestablishmentComplete)),
        ("re-establishment complete 4: late", NOW, hear(HOST, 4, Kind::ReestablishmentComplete)),
        (
            "PDCP status report",
            NOW,
            hear(HOST, 900, Kind::StatusReport { received: Received::Serials([7].into()) }),
        ),
        ("forwarded packet", NOW, data(Direction::Down, None, true)),
        ("time: early", NOW, Input::Deadline),
        ("time: retransmissions", ms(150), Input::Deadline),
        ("time: all over", ms(3_000), Input::Deadline),
    ]
}

fn base_station(params: Params) -> LteX2 {
    ENodeB::new(HERE, MME, &params).into()
}

fn serving() -> Vec<(u64, Input)> {
    let confirmed = hear(HOST, 5, Kind::MeasurementControlComplete);
    vec![(1, arrived()), (20, hear(MME, 5, Kind::InitialContextSetup)), (40, confirmed)]
}

fn enodeb_as_source() -> String {
    let acknowledged = hear(THERE, 900, Kind::HandoverRequestAck);
    let unconfirmed = serving()[..2].to_vec();
    let left = and(&serving(), &[(950, gone())]);
    let preparing = and(&serving(), &[(900, report(THERE))]);
    let executing = and(&preparing, &[(910, acknowledged)]);
    let gone_to_it = and(&executing, &[(920, gone())]);
    let released = and(&gone_to_it, &[(960, hear(THERE, 900, Kind::ContextRelease))]);
    let back = and(&gone_to_it, &[(950, arrived()), (960, reestablish())]);
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
    table(&base_station(Params::default()), &states, &events())
}

fn enodeb_as_target() -> String {
    let prepared = [(900, hear(THERE, 900, Kind::HandoverRequest { plan: Plan::Command }))];
    let arrived = and(&prepared, &[(930, arrived())]);
    let accessed = and(&arrived, &[(935, hear(HOST, 900, Kind::RandomAccessPreamble))]);
    let confirmed = and(&accessed, &[(945, hear(HOST, 900, Kind::HandoverConfirm))]);
    let switched = and(&confirmed, &[(955, hear(MME, 900, Kind::PathSwitchRequestAck))]);
    let ordered = and(&switched, &[(960, hear(THERE, 900, Kind::EndMarker))]);
    let onward =
        and(&confirmed, &[(950, report(ELSEWHERE)), (960, hear(ELSEWHERE, 950, Kind::HandoverRequestAck))]);
    let cancelled = and(&prepared, &[(950, hear(THERE, 900, Kind::HandoverCancel))]);
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
    table(&base_station(Params::default()), &states, &events())
}

/// Data reported at a source go with the SN status transfer; data that arrive with it wait for the host.
fn enodeb_that_carries_the_marking_state() -> String {
    let acknowledged = (910, hear(THERE, 900, Kind::HandoverRequestAck));
    let executing = and(&serving(), &[(900, report(THERE)), acknowledged.clone()]);
    let ready = and(&serving(), &[(900, predicted(THERE)), acknowledged]);
    let state = |millis| Some(MarkingState::Delay(Duration::from_millis(millis)));
    let status = |clock, millis| hear(THERE, clock, Kind::SnStatusTransfer { marking: state(millis) });
    let prepared = [(900, hear(THERE, 900, Kind::HandoverRequest { plan: Plan::Command }))];
    let told = and(&prepared, &[(915, status(900, 7))]);
    let here = and(&told, &[(930, arrived())]);
    let resuming = and(&here, &[(935, reestablish())]);
    let states: [Setup<'_, Message>; 6] = [
        ("serving", &serving()),
        ("ready", &ready),
        ("command sent", &executing),
        ("prepared, state known", &told),
        ("host here", &here),
        ("re-establishment begun", &resuming),
    ];
    let reported = |state| Input::Trigger(L2Trigger::MarkingReported { host: HOST, state });
    let inputs = [
        ("report of there", NOW, report(THERE)),
        ("marking reported", NOW, reported(state(9))),
        ("marking reported: none", NOW, reported(None)),
        ("SN status transfer 900", NOW, status(900, 8)),
        ("SN status transfer 800: late", NOW, status(800, 8)),
        ("confirm 900", NOW, hear(HOST, 900, Kind::HandoverConfirm)),
        ("re-establishment complete 5", NOW, hear(HOST, 5, Kind::ReestablishmentComplete)),
    ];
    let params =
        Params { carry_marking_state: true, path_switch: PathSwitch::Predictive, ..Params::default() };
    table(&base_station(params), &states, &inputs)
}

fn enodeb_with_an_early_path_switch() -> String {
    let params = |path_switch| Params { path_switch, ..Params::default() };
    let acknowledged = (910, hear(THERE, 900, Kind::HandoverRequestAck));
    let fast = and(&serving(), &[(900, report(THERE)), acknowledged.clone()]);
    let text = table(&base_station(params(PathSwitch::Fast)), &[("fast: command sent", &fast)], &events());
    let preparing = and(&serving(), &[(900, predicted(THERE))]);
    let wanted = and(&preparing, &[(905, report(THERE))]);
    let ready = and(&preparing, &[acknowledged]);
    let left = and(&ready, &[(930, hear(GATEWAY, 900, Kind::EndMarker))]);
    let drained = and(&left, &[(935, Input::Trigger(L2Trigger::Drained { host: HOST }))]);
    let commanded = and(&left, &[(950, report(THERE))]);
    let gone = and(&ready, &[(930, gone())]);
    let prepared = [(900, hear(THERE, 900, Kind::HandoverRequest { plan: Plan::SwitchEarly }))];
    let cancelled = and(&prepared, &[(950, hear(THERE, 900, Kind::HandoverCancel))]);
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
    text + &table(&base_station(params(PathSwitch::Predictive)), &states, &events())
}

fn enodeb_that_forwards_nothing_or_out_of_order_or_admits_no_host() -> String {
    let executing =
        and(&serving(), &[(900, report(THERE)), (910, hear(THERE, 900, Kind::HandoverRequestAck))]);
    let prepared = [(900, hear(THERE, 900, Kind::HandoverRequest { plan: Plan::Command }))];
    let confirmed = and(&prepared, &[(930, arrived()), (945, hear(HOST, 900, Kind::HandoverConfirm))]);
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
    let text = text;

    // A cell for one host has it.
    let mut full = base_station(Params { admission_limit: Some(1), ..Params::default() });
    let mut out = Vec::new();
    for host in [OTHER, HOST] {
        let message = Message::about(host, id(900), Kind::HandoverRequest { plan: Plan::Command });
        full.on(Input::Message { from: THERE, message }, NOW, &mut out);
    }
    assert_eq!((full.state(OTHER), full.state(HOST)), ("prepared", "none"));
    text
}

fn mme() -> String {
    let service = |from, millis| hear(from, millis, Kind::ServiceRequest);
    let switch = |from, millis, base_station| hear(from, millis, Kind::PathSwitchRequest { base_station });
    let response = |millis| hear(GATEWAY, millis, Kind::ModifyBearerResponse);
    let connecting = [(5, service(HERE, 1))];
    let idle = and(&connecting, &[(10, response(1))]);
    let modifying = and(&idle, &[(900, switch(THERE, 895, THERE))]);
    let queued = and(&modifying, &[(950, switch(ELSEWHERE, 945, ELSEWHERE))]);
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
        ("service request 990 of third", NOW, service(ELSEWHERE, 990)),
        ("service request 1 again", NOW, service(HERE, 1)),
        ("path switch 990 to third", NOW, switch(ELSEWHERE, 990, ELSEWHERE)),
        ("path switch 895 to there again", NOW, switch(THERE, 895, THERE)),
        ("the same by the source", NOW, switch(HERE, 895, THERE)),
        ("path switch 800: late", NOW, switch(ELSEWHERE, 800, ELSEWHERE)),
        ("response 1", NOW, response(1)),
        ("response 895", NOW, response(895)),
        ("time: early", NOW, Input::Deadline),
        ("time: retransmission", ms(200), Input::Deadline),
    ];
    let agent = Mme::new(GATEWAY, &Params::default()).into();
    table(&agent, &states, &inputs)
}

fn serving_gateway() -> String {
    let modify = |millis, base_station| hear(MME, millis, Kind::ModifyBearerRequest { base_station });
    let bound = [(10, modify(5, HERE))];
    let switched = and(&bound, &[(900, modify(895, THERE))]);
    let states: [Setup<'_, Message>; 3] = [("unknown", &[]), ("bound", &bound), ("switched", &switched)];
    let inputs = [
        ("modify 990 to third", NOW, modify(990, ELSEWHERE)),
        ("modify 990 to here", NOW, modify(990, HERE)),
        ("modify 895 to there", NOW, modify(895, THERE)),
        ("modify 5 to here", NOW, modify(5, HERE)),
        ("modify 1: late", NOW, modify(1, ELSEWHERE)),
        ("time", NOW, Input::Deadline),
    ];
    let params = Params { end_markers: 2, ..Params::default() };
    let agent = ServingGateway::new(&params).into();
    let text = table(&agent, &states, &inputs);
    assert_eq!(LteX2::next_deadline(&agent), None);
    text
}

fn user_equipment_without_a_cell() -> String {
    let found = Input::Trigger(L2Trigger::CellFound { base_station: THERE });
    let idle = [
        (1, up(HERE)),
        (20, hear(HERE, 1, Kind::ConnectionSetup)),
        (30, down(HERE)),
        (3_500, Input::Deadline),
    ];
    let entering = and(&idle, &[(3_600, found.clone())]);
    let states: [Setup<'_, Message>; 2] = [("no cell found", &idle), ("enters a cell", &entering)];
    let inputs = [("cell found: there", NOW, found), ("time", ms(60_000), Input::Deadline)];
    table(&UserEquipment::new(HOST, draws(), &Params::default()).into(), &states, &inputs)
}

/// A host that comes back after it has gone: to a cell that serves it, has commanded it, or has forgotten it.
fn enodeb_that_takes_hosts_back() -> String {
    let acknowledged = (910, hear(THERE, 900, Kind::HandoverRequestAck));
    let back = [(950, arrived()), (960, reestablish())];
    let left = and(&serving(), &[(940, gone())]);
    let fast = and(&serving(), &[(900, report(THERE)), acknowledged, (920, gone())]);
    let released = and(&fast, &[(930, hear(THERE, 900, Kind::ContextRelease)), (950, arrived())]);
    let setups = [
        ("serving, host gone", left.clone()),
        ("serving, host back", and(&left, &back)),
        ("commanded, host gone", fast.clone()),
        ("commanded, host back", and(&fast, &back)),
        ("released, host back", released),
    ];
    let states: Vec<Setup<'_, Message>> = setups.iter().map(|(name, setup)| (*name, &setup[..])).collect();
    let inputs = [
        ("UE context release 900", NOW, hear(THERE, 900, Kind::ContextRelease)),
        ("re-establishment request 5", NOW, reestablish()),
        ("re-establishment complete 5", NOW, hear(HOST, 5, Kind::ReestablishmentComplete)),
    ];
    let mut text = String::new();
    for forwarding in [Forwarding::Lossless, Forwarding::None] {
        let params = Params { path_switch: PathSwitch::Fast, forwarding, ..Params::default() };
        text += &format!("{forwarding:?}\n{}", table(&base_station(params), &states, &inputs));
    }
    text
}

/// A host with a new connection elsewhere: the base station that had it before is notified.
fn mme_of_a_host_elsewhere() -> String {
    let setup = [
        (5, hear(HERE, 1, Kind::ServiceRequest)),
        (10, hear(GATEWAY, 1, Kind::ModifyBearerResponse)),
        (900, hear(ELSEWHERE, 900, Kind::ServiceRequest)),
    ];
    let inputs = [("response 900", NOW, hear(GATEWAY, 900, Kind::ModifyBearerResponse))];
    table(&Mme::new(GATEWAY, &Params::default()).into(), &[("service request of third", &setup)], &inputs)
}

fn conditional() -> Params {
    Params { conditional: Some(Conditional { candidates: 2, ..Conditional::default() }), ..Params::default() }
}

fn candidates(millis: u64, candidates: &[Addr]) -> Input {
    hear(HERE, millis, Kind::ConditionalReconfiguration { candidates: candidates.to_vec() })
}

fn conditional_user_equipment() -> String {
    let better =
        |condition, base_station| Input::Trigger(L2Trigger::NeighbourBetter { condition, base_station });
    let connected = [(1, up(HERE)), (20, hear(HERE, 1, Kind::ConnectionSetup))];
    let one = and(&connected, &[(900, candidates(895, &[THERE]))]);
    let two = and(&one, &[(910, candidates(895, &[THERE, ELSEWHERE]))]);
    let gone = and(&two, &[(920, better("execute", ELSEWHERE))]);
    let accessing = and(&gone, &[(950, up(ELSEWHERE))]);
    let failed = and(&two, &[(920, Input::Trigger(L2Trigger::RadioLinkFailure))]);
    let states: [Setup<'_, Message>; 6] = [
        ("no candidate", &connected),
        ("one candidate", &one),
        ("two candidates", &two),
        ("gone to the second", &gone),
        ("link up there", &accessing),
        ("link failed", &failed),
    ];
    let inputs = [
        ("report: third", NOW, better("report", ELSEWHERE)),
        ("execute: third", NOW, better("execute", ELSEWHERE)),
        ("execute: here", NOW, better("execute", HERE)),
        ("candidate 895: there", NOW, candidates(895, &[THERE])),
        ("candidates 895: both", NOW, candidates(895, &[THERE, ELSEWHERE])),
        ("candidates 800: late", NOW, candidates(800, &[ELSEWHERE])),
        ("candidates 990: none", NOW, candidates(990, &[])),
        ("random access response 895", NOW, hear(ELSEWHERE, 895, Kind::RandomAccessResponse)),
    ];
    table(&UserEquipment::new(HOST, draws(), &conditional()).into(), &states, &inputs)
}

fn conditional_source() -> String {
    let ack = |from| hear(from, 900, Kind::HandoverRequestAck);
    let asked = and(&serving(), &[(900, report(THERE))]);
    let two = and(&asked, &[(910, ack(THERE)), (920, report(ELSEWHERE)), (930, ack(ELSEWHERE))]);
    let gone_from_two = and(&two, &[(940, gone())]);
    let forwarding = and(&gone_from_two, &[(980, hear(ELSEWHERE, 900, Kind::HandoverSuccess))]);
    let back = and(&gone_from_two, &[(950, arrived()), (960, reestablish())]);
    let cancelled = and(&gone_from_two, &[(9_900, Input::Deadline)]);
    let states: [Setup<'_, Message>; 7] = [
        ("serving", &serving()),
        ("one asked", &asked),
        ("two prepared", &two),
        ("the host is gone", &gone_from_two),
        ("success reported", &forwarding),
        ("the host is back", &back),
        ("the host is long gone", &cancelled),
    ];
    let inputs = [
        ("report of there", NOW, report(THERE)),
        ("report of third", NOW, report(ELSEWHERE)),
        ("report of a fourth", NOW, report(MME)),
        ("request ack 900 of there", NOW, ack(THERE)),
        ("preparation failure 900", NOW, hear(THERE, 900, Kind::HandoverPreparationFailure)),
        ("host gone", NOW, gone()),
        ("success 900 of third", NOW, hear(ELSEWHERE, 900, Kind::HandoverSuccess)),
        ("success 800: late", NOW, hear(ELSEWHERE, 800, Kind::HandoverSuccess)),
        ("end marker 900 of the gateway", NOW, hear(GATEWAY, 900, Kind::EndMarker)),
        ("UE context release 900", NOW, hear(ELSEWHERE, 900, Kind::ContextRelease)),
        ("re-establishment complete 5", NOW, hear(HOST, 5, Kind::ReestablishmentComplete)),
        ("time: T_X2RELOCoverall", ms(950), Input::Deadline),
        ("time: validity", ms(9_900), Input::Deadline),
    ];
    let mut text = String::new();
    for forwarding in [Forwarding::Lossless, Forwarding::None] {
        let params = Params { forwarding, ..conditional() };
        text += &format!("{forwarding:?}\n{}", table(&base_station(params), &states, &inputs));
    }
    text
}

/// A target keeps a candidate for its validity and the joining timer.
fn conditional_target() -> String {
    let prepared = [(900, hear(THERE, 900, Kind::HandoverRequest { plan: Plan::Condition }))];
    let accessed = and(&prepared, &[(930, arrived()), (935, hear(HOST, 900, Kind::RandomAccessPreamble))]);
    let states: [Setup<'_, Message>; 2] = [("prepared", &prepared), ("random access begun", &accessed)];
    let inputs = [
        ("handover cancel 900", NOW, hear(THERE, 900, Kind::HandoverCancel)),
        ("confirm 900", NOW, hear(HOST, 900, Kind::HandoverConfirm)),
        ("time: joining timer", ms(3_000), Input::Deadline),
        ("time: and the validity", ms(11_900), Input::Deadline),
    ];
    table(&base_station(conditional()), &states, &inputs)
}
