//! The tables of split base stations, and of a host that MAC orders to other cells.

use super::service_request;
use super::table::{AMF, HERE_CENTRAL, OTHER_CENTRAL, better, connected, found, received, table};
use crate::lab::{ELSEWHERE, HERE, HOST, NOW, Setup, THERE, and, arrived, data, gone, hear, id, ms, up};
use crate::nr::central_unit::Units;
use crate::nr::{
    CentralUnit, DistributedUnit, Input, Kind, Ltm, Message, Nr, Params, Plan, Procedure, Purpose,
    UserEquipment,
};
use crate::{Direction, L2Trigger};
use roamlab_engine::{Rng, Time};
use roamlab_packet::{Addr, BearerState, Counts, Received};
use std::sync::Arc;

/// Two cells here, and one of another central unit.
fn units() -> Units {
    [(HERE, HERE_CENTRAL), (THERE, HERE_CENTRAL), (ELSEWHERE, OTHER_CENTRAL)].into()
}

fn handing_over() -> Params {
    Params { central_units: vec!["cu".into()], ..Params::default() }
}

fn ordering() -> Params {
    Params { ltm: Some(Ltm::default()), ..handing_over() }
}

fn central(millis: u64, kind: Kind) -> Input {
    hear(HERE_CENTRAL, millis, kind)
}

fn set_up(millis: u64, purpose: Purpose) -> Input {
    central(millis, Kind::UnitSetupRequest { purpose })
}

fn relay(rrc: Kind) -> Box<Kind> {
    Box::new(rrc)
}

fn complete() -> Kind {
    Kind::ReconfigurationComplete { received: Some(Received::Status { first_missing: 7, later: [9].into() }) }
}

fn candidates() -> Kind {
    Kind::LtmConfiguration { candidates: vec![HERE, THERE] }
}

fn delivered(done: &[u32], open: bool) -> Input {
    let done = done.iter().copied().collect();
    Input::Trigger(L2Trigger::DeliveryReported { host: HOST, done, open })
}

fn command(target: Addr) -> Kind {
    Kind::Reconfiguration { target, dual: false }
}

fn modification(rrc: Kind) -> Input {
    central(905, Kind::UnitModificationRequest { rrc: relay(rrc) })
}

fn layer_one(target: Addr) -> Input {
    hear(HOST, 100, Kind::LayerOneReport { target })
}

fn timing_advance() -> Input {
    central(100, Kind::CentralTimingAdvance { candidate: THERE })
}

fn cell_switch(millis: u64) -> Input {
    central(millis, Kind::CentralCellSwitch { candidates: vec![HERE] })
}

/// Inputs that a distributed unit may get at any time.
fn at_a_distributed_unit() -> Vec<(&'static str, Time, Input)> {
    vec![
        ("host arrived", NOW, arrived()),
        ("host gone", NOW, gone()),
        ("retransmission limit", NOW, Input::Trigger(L2Trigger::RetransmissionLimit { host: HOST })),
        ("service request", NOW, hear(HOST, 990, service_request(990))),
        ("measurement report", NOW, hear(HOST, 90, Kind::MeasurementReport { target: THERE })),
        ("re-establishment request", NOW, hear(HOST, 90, Kind::ReestablishmentRequest { previous: THERE })),
        ("re-establishment complete", NOW, hear(HOST, 90, Kind::ReestablishmentComplete)),
        ("candidates complete", NOW, hear(HOST, 90, Kind::LtmComplete)),
        ("complete", NOW, hear(HOST, 900, complete())),
        ("set-up: serve", NOW, set_up(990, Purpose::Serve)),
        ("set-up: handover", NOW, set_up(990, Purpose::Handover)),
        ("set-up: candidate", NOW, set_up(990, Purpose::Candidate)),
        ("set-up: late", NOW, set_up(0, Purpose::Candidate)),
        ("preamble", NOW, hear(HOST, 90, Kind::Preamble)),
        ("timing advance of there", NOW, timing_advance()),
        ("cell switch", NOW, cell_switch(990)),
        ("rrc: set-up", NOW, central(90, Kind::DownlinkRrcTransfer { rrc: relay(Kind::ConnectionSetup) })),
        ("rrc: no context", NOW, central(90, Kind::DownlinkRrcTransfer { rrc: relay(Kind::NoContext) })),
        ("rrc: continues", NOW, central(90, Kind::DownlinkRrcTransfer { rrc: relay(Kind::Reestablishment) })),
        ("modification: candidates", NOW, modification(candidates())),
        ("modification: command", NOW, modification(command(THERE))),
        ("modification: command to another CU", NOW, modification(command(ELSEWHERE))),
        ("L1 report: there", NOW, layer_one(THERE)),
        ("L1 report: third", NOW, layer_one(ELSEWHERE)),
        ("packet", NOW, data(Direction::Down, None, true)),
        ("delivery: 3", NOW, delivered(&[3], true)),
        ("delivery: nothing", NOW, delivered(&[], false)),
        ("release", NOW, central(990, Kind::UnitReleaseCommand)),
        ("release: late", NOW, central(0, Kind::UnitReleaseCommand)),
        ("time", ms(30), Input::Deadline),
    ]
}

pub fn distributed_unit() -> String {
    let there = [(1, arrived())];
    let active = and(&there, &[(100, set_up(90, Purpose::Serve))]);
    let configured = and(&active, &[(200, modification(candidates()))]);
    let ordering_access = and(&configured, &[(210, Input::Deadline)]);
    let synchronised = and(&ordering_access, &[(230, timing_advance())]);
    let watching = and(&configured, &[(995, data(Direction::Down, None, true))]);
    let ordered = and(&configured, &[(990, layer_one(THERE))]);
    let settled = and(&ordered, &[(992, delivered(&[3], true))]);
    let has_left = and(&settled, &[(993, gone())]);
    let commanded = and(&active, &[(990, modification(command(ELSEWHERE)))]);
    let reserved = [(1, set_up(1, Purpose::Candidate))];
    let expecting = and(&reserved, &[(900, cell_switch(900))]);
    let [at_reserved, at_expecting] =
        [&reserved[..], &expecting].map(|states| and(states, &[(950, arrived())]));
    let states: [Setup<'_, Message>; 14] = [
        ("nothing", &[]),
        ("commanded to another central unit", &commanded),
        ("host arrived", &there),
        ("active", &active),
        ("candidates", &configured),
        ("access is ordered", &ordering_access),
        ("timing advance is known", &synchronised),
        ("a packet has passed", &watching),
        ("ordered away", &ordered),
        ("reported the last time", &settled),
        ("the host has left", &has_left),
        ("candidate", &reserved),
        ("host at the candidate", &at_reserved),
        ("host at the target", &at_expecting),
    ];
    table(
        &DistributedUnit::new(HERE, &units(), &Arc::new(ordering())).into(),
        &states,
        &at_a_distributed_unit(),
    )
}

fn through(unit: Addr, millis: u64, rrc: Kind) -> Input {
    hear(unit, millis, Kind::UplinkRrcTransfer { rrc: relay(rrc) })
}

fn reached() -> Vec<(u64, Input)> {
    vec![
        (1, through(HERE, 1, service_request(1))),
        (20, hear(AMF, 1, Kind::InitialContextSetup)),
        (22, hear(HERE, 1, Kind::UnitSetupResponse)),
    ]
}

/// Inputs that a central unit may get at any time.
fn events() -> Vec<(&'static str, Time, Input)> {
    let report = |target| through(HERE, 1, Kind::MeasurementReport { target });
    let reestablish = |unit| through(unit, 990, Kind::ReestablishmentRequest { previous: HERE });
    let state = Some(BearerState { counts: Counts { downlink: 12, uplink: 4 }, unconfirmed: 9 });
    let request = Kind::HandoverRequest { plan: Plan::Command, cell: HERE };
    let status = |last| hear(HERE, 900, Kind::DeliveryStatus { done: [3, 5].into(), last });
    vec![
        ("service request here", NOW, through(HERE, 995, service_request(995))),
        ("context setup 995", NOW, hear(AMF, 995, Kind::InitialContextSetup)),
        ("report of there", NOW, report(THERE)),
        ("report of another CU", NOW, report(ELSEWHERE)),
        ("candidates complete", NOW, through(HERE, 1, Kind::LtmComplete)),
        ("set-up response of there", NOW, hear(THERE, 1, Kind::UnitSetupResponse)),
        ("set-up response of here", NOW, hear(HERE, 1, Kind::UnitSetupResponse)),
        ("modification response", NOW, hear(HERE, 900, Kind::UnitModificationResponse { stopped: true })),
        ("cell switch 990", NOW, hear(HERE, 990, Kind::UnitCellSwitch { target: THERE })),
        ("cell switch 1: late", NOW, hear(HERE, 1, Kind::UnitCellSwitch { target: THERE })),
        ("delivery", NOW, status(false)),
        ("delivery: last", NOW, status(true)),
        ("timing advance at there", NOW, hear(THERE, 100, Kind::UnitTimingAdvance)),
        ("complete there", NOW, through(THERE, 990, complete())),
        ("complete here", NOW, through(HERE, 990, complete())),
        ("re-establishment there", NOW, reestablish(THERE)),
        ("link failed: gone", NOW, hear(HERE, 900, Kind::UnitReleaseRequest { gone: true })),
        ("link failed: limit", NOW, hear(HERE, 900, Kind::UnitReleaseRequest { gone: false })),
        ("release complete", NOW, hear(HERE, 900, Kind::UnitReleaseComplete)),
        ("handover request 995", NOW, hear(OTHER_CENTRAL, 995, request)),
        ("request ack", NOW, hear(OTHER_CENTRAL, 900, Kind::HandoverRequestAcknowledge)),
        ("bearer reported", NOW, Input::Trigger(L2Trigger::BearerReported { host: HOST, state })),
        ("end marker 900", NOW, hear(AMF, 900, Kind::EndMarker { source: None })),
        ("UE context release 900", NOW, hear(OTHER_CENTRAL, 900, Kind::ContextRelease)),
        ("release command 999", NOW, hear(AMF, 999, Kind::ContextReleaseCommand)),
        ("retrieve 999", NOW, hear(OTHER_CENTRAL, 999, Kind::RetrieveContextRequest { ue: id(1) })),
        ("time: early", NOW, Input::Deadline),
        ("time: preparation", ms(1_000), Input::Deadline),
        ("time: all over", ms(20_000), Input::Deadline),
    ]
}

fn central_unit_of(params: &Arc<Params>) -> Nr {
    CentralUnit::new(HERE_CENTRAL, (AMF, None), &units(), params).into()
}

fn central_unit_over_n2(outgoing: &[(u64, Input)]) -> String {
    let required = [("prepares another CU over N2", outgoing)];
    let ask = |cell| hear(AMF, 995, Kind::NgHandoverRequest { source: OTHER_CENTRAL, cell });
    let requests = [
        ("report of another CU", NOW, through(HERE, 1, Kind::MeasurementReport { target: ELSEWHERE })),
        ("NG handover request 995: here", NOW, ask(HERE)),
        ("NG handover request 995: third", NOW, ask(ELSEWHERE)),
        ("command 900", NOW, hear(AMF, 900, Kind::HandoverCommand { target: OTHER_CENTRAL })),
        ("command 900, of another target", NOW, hear(AMF, 900, Kind::HandoverCommand { target: HERE })),
    ];
    let by_core = &Arc::new(Params { procedure: Procedure::N2, ..handing_over() });
    let idle: [Setup<'_, Message>; 2] = [("nothing", &[]), ("reached", &reached())];
    let text = table(&central_unit_of(by_core), &idle, &requests);
    text + &table(&central_unit_of(by_core), &required, &requests)
}

pub fn central_unit() -> String {
    let report = |target| (900, through(HERE, 1, Kind::MeasurementReport { target }));
    let preparing = and(&reached(), &[report(THERE)]);
    let commanded = and(&preparing, &[(900, hear(THERE, 1, Kind::UnitSetupResponse))]);
    let stopped =
        and(&commanded, &[(905, hear(HERE, 900, Kind::UnitModificationResponse { stopped: true }))]);
    let switched = and(&stopped, &[(950, through(THERE, 900, complete()))]);
    let request = Kind::HandoverRequest { plan: Plan::Command, cell: HERE };
    let admitting = [(900, hear(OTHER_CENTRAL, 900, request))];
    let admitted =
        and(&admitting, &[(902, hear(HERE, 900, Kind::UnitSetupResponse)), (903, Input::Deadline)]);
    let outgoing = and(&reached(), &[report(ELSEWHERE)]);
    let gone_to_it = and(
        &outgoing,
        &[
            (910, hear(OTHER_CENTRAL, 900, Kind::HandoverRequestAcknowledge)),
            (915, hear(HERE, 900, Kind::UnitModificationResponse { stopped: true })),
            (920, hear(HERE, 900, Kind::UnitReleaseRequest { gone: true })),
        ],
    );
    let acknowledged = &gone_to_it[..=outgoing.len()];
    let marked = and(&gone_to_it, &[(955, hear(AMF, 900, Kind::EndMarker { source: None }))]);
    let released = and(&gone_to_it, &[(960, hear(OTHER_CENTRAL, 900, Kind::ContextRelease))]);
    let here = and(&admitted, &[(950, through(HERE, 900, complete()))]);
    let onward = and(
        &here,
        &[
            (960, through(HERE, 900, Kind::MeasurementReport { target: ELSEWHERE })),
            (970, hear(OTHER_CENTRAL, 960, Kind::HandoverRequestAcknowledge)),
        ],
    );
    let asked = Kind::HandoverRequest { plan: Plan::Command, cell: HERE };
    let asked_back = and(&gone_to_it, &[(930, hear(OTHER_CENTRAL, 925, asked))]);
    let states: [Setup<'_, Message>; 15] = [
        ("sent on to another CU", &onward),
        ("asked back", &asked_back),
        ("nothing", &[]),
        ("service requested", &reached()[..1]),
        ("reached", &reached()),
        ("preparing", &preparing),
        ("commanded", &commanded),
        ("the source has stopped", &stopped),
        ("switched", &switched),
        ("admitting", &admitting),
        ("admitted", &admitted),
        ("prepares another CU", &outgoing),
        ("commanded to another CU", acknowledged),
        ("end marker passed", &marked),
        ("released", &released),
    ];
    let text = table(&central_unit_of(&Arc::new(handing_over())), &states, &events());
    text + &central_unit_over_n2(&outgoing)
}

pub fn central_unit_with_ltm() -> String {
    let report = (500, through(HERE, 1, Kind::MeasurementReport { target: THERE }));
    let asked = and(&reached(), &[report]);
    let ready = and(&asked, &[(502, hear(THERE, 1, Kind::UnitSetupResponse))]);
    let ordered = and(&ready, &[(900, hear(HERE, 900, Kind::UnitCellSwitch { target: THERE }))]);
    let leaving = and(
        &ready,
        &[
            (890, through(HERE, 1, Kind::MeasurementReport { target: ELSEWHERE })),
            (895, hear(OTHER_CENTRAL, 890, Kind::HandoverRequestAcknowledge)),
            (896, hear(HERE, 890, Kind::UnitModificationResponse { stopped: true })),
        ],
    );
    let held = and(
        &ready,
        &[
            (900, hear(HERE, 900, Kind::UnitReleaseRequest { gone: false })),
            (901, hear(HERE, 900, Kind::UnitReleaseRequest { gone: true })),
        ],
    );
    let overtaking = [
        ("cell switch 990", NOW, hear(HERE, 990, Kind::UnitCellSwitch { target: THERE })),
        ("complete there 990", NOW, through(THERE, 990, complete())),
        ("complete here 990", NOW, through(HERE, 990, complete())),
    ];
    let others: [Setup<'_, Message>; 2] =
        [("commanded to another CU", &leaving), ("its link has failed, and it has gone", &held)];
    let states: [Setup<'_, Message>; 4] = [
        ("reached", &reached()),
        ("a candidate is asked", &asked),
        ("a candidate is ready", &ready),
        ("ordered there", &ordered),
    ];
    let mut text = table(&central_unit_of(&Arc::new(ordering())), &states, &events());
    let once = Params { ltm: Some(Ltm { repeat_recovery: false, ..Ltm::default() }), ..handing_over() };
    let back = [("complete here", NOW, through(HERE, 990, complete()))];
    text += &table(&central_unit_of(&Arc::new(once)), &states[3..], &back);
    text += &table(&central_unit_of(&Arc::new(ordering())), &others, &overtaking);
    text
}

pub fn ltm_user_equipment() -> String {
    let configure =
        |candidates: &[Addr]| hear(HERE, 101, Kind::LtmConfiguration { candidates: candidates.to_vec() });
    let order = |millis, timing| hear(HERE, millis, Kind::CellSwitchCommand { target: THERE, timing });
    let configured = and(&connected(), &[(500, configure(&[HERE, THERE]))]);
    let access = |target| hear(HERE, 100, Kind::PreambleOrder { target });
    let preparing = and(&configured, &[(985, access(THERE))]);
    let switching = and(&configured, &[(900, order(895, true))]);
    let ready = and(&switching, &[(915, up(THERE)), (915, received(THERE))]);
    let granted = and(&ready, &[(916, hear(THERE, 895, Kind::UplinkGrant))]);
    let accessing = and(&configured, &[(900, order(895, false))]);
    let searching = and(&switching, &[(2_900, Input::Deadline), (3_000, Input::Deadline)]);
    let attempting =
        and(&searching, &[(3_001, found(HERE)), (5_001, Input::Deadline), (5_101, Input::Deadline)]);
    let states: [Setup<'_, Message>; 9] = [
        ("connected", &connected()),
        ("candidates", &configured),
        ("access is ordered", &preparing),
        ("ordered", &switching),
        ("first message sent", &ready),
        ("at the target", &granted),
        ("ordered without timing advance", &accessing),
        ("looks for a cell", &searching),
        ("has failed at a candidate too", &attempting),
    ];
    let inputs = [
        ("candidates: here, there", NOW, configure(&[HERE, THERE])),
        ("candidates: here", NOW, configure(&[HERE])),
        ("layer 1: there", NOW, better("layer-1", THERE)),
        ("layer 1: third", NOW, better("layer-1", ELSEWHERE)),
        ("access to there", NOW, access(THERE)),
        ("access to third", NOW, access(ELSEWHERE)),
        ("time: occasion", NOW, Input::Deadline),
        ("order 990", NOW, order(990, true)),
        ("order 990, without timing advance", NOW, order(990, false)),
        ("order 50: late", NOW, order(50, true)),
        ("order to third", NOW, hear(HERE, 990, Kind::CellSwitchCommand { target: ELSEWHERE, timing: true })),
        ("link up there", NOW, up(THERE)),
        ("layer 2: report", NOW, received(THERE)),
        ("grant of there", NOW, hear(THERE, 895, Kind::UplinkGrant)),
        ("grant of here", NOW, hear(HERE, 895, Kind::UplinkGrant)),
        ("found here", ms(10), found(HERE)),
        ("found third", ms(10), found(ELSEWHERE)),
        ("time: T304", ms(2_000), Input::Deadline),
    ];
    let mut params = ordering();
    let mut text = table(
        &UserEquipment::new(HOST, Rng::named(1, 0, "handover"), &Arc::new(params.clone())).into(),
        &states,
        &inputs,
    );
    params.bearer.status_report = false;
    text += &table(
        &UserEquipment::new(HOST, Rng::named(1, 0, "handover"), &Arc::new(params.clone())).into(),
        &states[3..4],
        &[("link up there", NOW, up(THERE))],
    );
    text
}
