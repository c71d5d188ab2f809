//! A table of every state and input of every role, with inputs that arrive twice, late, or never.

use super::core::{amf, smf, smf_that_takes_its_time, upf};
use super::gnodeb::{
    conditional_source, conditional_source_that_forwards_early, conditional_target, dual_source, dual_target,
    gnodeb_as_source, gnodeb_as_target, gnodeb_in_unacknowledged_mode, gnodeb_over_n2,
    gnodeb_that_gets_a_context, gnodeb_that_waits_with_the_command, gnodeb_without_forwarding,
};
use super::units::{central_unit, central_unit_with_ltm, distributed_unit, ltm_user_equipment};
use crate::L2Trigger;
use crate::lab::{
    self, ELSEWHERE, HERE, HOST, NOW, Setup, THERE, Words, and, clock, down, hear, ms, transitions, up,
};
use crate::nr::{Conditional, Input, Kind, Message, Nr, Params, Step, UserEquipment};
use roamlab_engine::{Rng, Time};
use roamlab_packet::{Addr, Received};
use std::sync::Arc;

lab::cases! {
    user_equipment,
    conditional_user_equipment,
    user_equipment_without_a_cell,
    gnodeb_as_source,
    gnodeb_as_target,
    gnodeb_that_gets_a_context,
    gnodeb_over_n2,
    gnodeb_without_forwarding,
    gnodeb_that_waits_with_the_command,
    gnodeb_in_unacknowledged_mode,
    conditional_source,
    conditional_source_that_forwards_early,
    conditional_target,
    dual_user_equipment,
    dual_source,
    dual_target,
    amf,
    smf,
    smf_that_takes_its_time,
    upf,
    distributed_unit,
    central_unit,
    central_unit_with_ltm,
    ltm_user_equipment,
}

pub const HERE_CENTRAL: Addr = Addr::new(20, 0);
pub const OTHER_CENTRAL: Addr = Addr::new(21, 0);
pub const OTHER: Addr = Addr::new(1, 2);
pub const UPF: Addr = Addr::new(1, 0);
pub const AMF: Addr = Addr::new(2, 0);
pub const SMF: Addr = Addr::new(3, 0);

const NAMES: &[(Addr, &str)] = &[
    (HOST, "ue"),
    (OTHER, "other ue"),
    (UPF, "upf"),
    (AMF, "amf"),
    (SMF, "smf"),
    (HERE, "here"),
    (THERE, "there"),
    (ELSEWHERE, "third"),
    (HERE_CENTRAL, "cu"),
    (OTHER_CENTRAL, "other cu"),
];

fn name(addr: Addr) -> String {
    lab::name(NAMES, addr)
}

fn step(step: Step) -> String {
    match step {
        Step::Prepare => "prepare".into(),
        Step::Forward { source, target } => format!("forward from {} to {}", name(source), name(target)),
        Step::Switch { base_station, .. } => format!("switch to {}", name(base_station)),
        Step::EndForwarding { source } => format!("end forwarding from {}", name(source)),
    }
}

fn detail(message: &Message) -> String {
    let Message { id, kind, .. } = message;
    let more = match kind {
        Kind::MeasurementReport { target }
        | Kind::HandoverRequired { target, .. }
        | Kind::HandoverCommand { target }
        | Kind::NgHandoverPreparationFailure { target } => format!(": {}", name(*target)),
        Kind::Reconfiguration { target, dual } => {
            format!(": {}{}", name(*target), if *dual { ", stay" } else { "" })
        }
        Kind::EarlyStatusTransfer { count, discard } => {
            format!(": {count}{}", if *discard { ", discard" } else { "" })
        }
        Kind::PathSwitchRequest { base_station } => format!(": {}", name(*base_station)),
        Kind::NgHandoverRequest { source, .. } => format!(": from {}", name(*source)),
        Kind::ReestablishmentRequest { previous } => format!(": from {}", name(*previous)),
        Kind::UnitSetupRequest { purpose } => format!(": {purpose:?}").to_lowercase(),
        Kind::UnitModificationRequest { rrc }
        | Kind::DownlinkRrcTransfer { rrc }
        | Kind::UplinkRrcTransfer { rrc } => {
            let inner = Message { kind: (**rrc).clone(), ..message.clone() };
            format!(" of {}{}", inner.name(), detail(&inner))
        }
        Kind::LayerOneReport { target }
        | Kind::UnitCellSwitch { target }
        | Kind::PreambleOrder { target }
        | Kind::CentralTimingAdvance { candidate: target } => format!(": {}", name(*target)),
        Kind::CellSwitchCommand { target, timing } => {
            format!(": {}{}", name(*target), if *timing { "" } else { ", random access" })
        }
        Kind::DeliveryStatus { done, last } => format!(": {done:?}{}", if *last { ", last" } else { "" }),
        Kind::LtmConfiguration { candidates } => {
            format!(": {}", candidates.iter().map(|target| name(*target)).collect::<Vec<_>>().join(" or "))
        }
        Kind::ReconfigurationComplete { received: Some(_) } => ", with report".into(),
        Kind::ConditionalReconfiguration { candidates } => {
            format!(": {}", candidates.iter().map(|target| name(*target)).collect::<Vec<_>>().join(" or "))
        }
        Kind::SnStatusTransfer { counts }
        | Kind::UplinkStatusTransfer { counts }
        | Kind::DownlinkStatusTransfer { counts } => format!(": {}, {}", counts.downlink, counts.uplink),
        Kind::UpdateRequest { step: of }
        | Kind::UpdateResponse { step: of }
        | Kind::ModificationRequest { step: of }
        | Kind::ModificationResponse { step: of } => format!(": {}", step(*of)),
        Kind::EndMarker { source: Some(source) } => format!(" of {}", name(*source)),
        _ => String::new(),
    };
    format!(" {}{more}", clock(*id))
}

pub fn table(agent: &Nr, states: &[Setup<'_, Message>], inputs: &[(&str, Time, Input)]) -> String {
    transitions(agent, &Words { names: NAMES, detail }, states, ms(1_000), inputs)
}

pub fn received(to: Addr) -> Input {
    let packets = Received::Status { first_missing: 7, later: [9].into() };
    Input::Trigger(L2Trigger::Received { to, packets })
}

pub fn better(condition: &'static str, base_station: Addr) -> Input {
    Input::Trigger(L2Trigger::NeighbourBetter { condition, base_station })
}

pub fn found(base_station: Addr) -> Input {
    Input::Trigger(L2Trigger::CellFound { base_station })
}

pub fn connected() -> Vec<(u64, Input)> {
    vec![
        (1, up(HERE)),
        (101, Input::Deadline),
        (120, hear(HERE, 101, Kind::ConnectionSetup)),
        (121, hear(HERE, 101, Kind::MeasurementConfiguration)),
    ]
}

fn user_equipment() -> String {
    let failed = Input::Trigger(L2Trigger::RadioLinkFailure);
    let command = |millis| hear(HERE, millis, Kind::Reconfiguration { target: THERE, dual: false });
    let asked = [(1, up(HERE)), (101, Input::Deadline)];
    let syncing = and(&connected(), &[(900, command(895))]);
    let confirming = and(&syncing, &[(977, up(THERE)), (977, received(THERE))]);
    let at_target = and(&confirming, &[(978, Input::Deadline)]);
    let searching = and(&connected(), &[(700, failed.clone())]);
    let choosing = and(&searching, &[(800, Input::Deadline)]);
    let reading = and(&choosing, &[(805, found(THERE))]);
    let requesting = and(&reading, &[(825, Input::Deadline)]);
    let linked = and(&requesting, &[(840, up(THERE))]);
    let reestablishing = and(&linked, &[(841, Input::Deadline)]);
    let answered = and(&reestablishing, &[(850, hear(THERE, 101, Kind::Reestablishment))]);
    let resuming = and(&answered, &[(860, Input::Deadline)]);
    let reconfigured = and(&resuming, &[(864, hear(THERE, 101, Kind::ResumeReconfiguration))]);
    let continued = and(&reconfigured, &[(874, Input::Deadline)]);
    let states: [Setup<'_, Message>; 17] = [
        ("never on", &[]),
        ("link up", &asked[..1]),
        ("service requested", &asked),
        ("connected", &connected()),
        ("commanded", &syncing),
        ("random access done", &confirming),
        ("at the target", &at_target),
        ("link failed", &searching),
        ("looks for a cell", &choosing),
        ("cell chosen", &reading),
        ("system information read", &requesting),
        ("link up there", &linked),
        ("re-establishment requested", &reestablishing),
        ("re-establishment granted", &answered),
        ("re-establishment completed", &resuming),
        ("bearers are to continue", &reconfigured),
        ("bearers continue", &continued),
    ];
    table(
        &UserEquipment::new(HOST, Rng::named(1, 0, "handover"), &Arc::new(Params::default())).into(),
        &states,
        &user_equipment_inputs(),
    )
}

fn user_equipment_inputs() -> Vec<(&'static str, Time, Input)> {
    let failed = Input::Trigger(L2Trigger::RadioLinkFailure);
    let command = |millis| hear(HERE, millis, Kind::Reconfiguration { target: THERE, dual: false });
    vec![
        ("link up here", NOW, up(HERE)),
        ("link up there", NOW, up(THERE)),
        ("link down", NOW, down(HERE)),
        ("radio link failure", NOW, failed),
        ("neighbour better: there", NOW, better("report", THERE)),
        ("neighbour better: here", NOW, better("report", HERE)),
        ("cell found: there", NOW, found(THERE)),
        ("layer 2: report for there", NOW, received(THERE)),
        ("set-up 101", NOW, hear(HERE, 101, Kind::ConnectionSetup)),
        ("set-up 50: late", NOW, hear(HERE, 50, Kind::ConnectionSetup)),
        ("measurement configuration", NOW, hear(HERE, 101, Kind::MeasurementConfiguration)),
        ("command 995", NOW, command(995)),
        ("command 895", NOW, command(895)),
        (
            "command of another cell",
            NOW,
            hear(ELSEWHERE, 995, Kind::Reconfiguration { target: THERE, dual: false }),
        ),
        ("full configuration", NOW, hear(THERE, 895, Kind::FullConfiguration)),
        ("no context here", NOW, hear(HERE, 895, Kind::NoContext)),
        ("no context there", NOW, hear(THERE, 895, Kind::NoContext)),
        ("re-establishment", NOW, hear(THERE, 101, Kind::Reestablishment)),
        ("re-establishment 50: late", NOW, hear(THERE, 50, Kind::Reestablishment)),
        ("fallback", NOW, hear(THERE, 101, Kind::FallbackSetup)),
        ("resume", NOW, hear(THERE, 101, Kind::ResumeReconfiguration)),
        ("time", NOW, Input::Deadline),
        ("time: T304, T301", ms(2_000), Input::Deadline),
        ("time: T311", ms(6_000), Input::Deadline),
    ]
}

fn user_equipment_without_a_cell() -> String {
    let idle = and(&connected(), &[(130, down(HERE)), (230, Input::Deadline), (3_500, Input::Deadline)]);
    let entering = and(&idle, &[(3_600, found(THERE))]);
    let states: [Setup<'_, Message>; 2] = [("no cell found", &idle), ("enters a cell", &entering)];
    let inputs = [
        ("cell found: there", NOW, found(THERE)),
        ("time", ms(60_000), Input::Deadline),
        ("link up", NOW, up(THERE)),
    ];
    let mut params = Params::default();
    let text = table(
        &UserEquipment::new(HOST, Rng::named(1, 0, "handover"), &Arc::new(params.clone())).into(),
        &states,
        &inputs,
    );
    // Without reports and waits.
    params.bearer.status_report = false;
    params.times.service_request = roamlab_engine::Duration::ZERO;
    params.times.cell_search = roamlab_engine::Duration::ZERO;
    let on = [(1, up(HERE)), (20, hear(HERE, 1, Kind::ConnectionSetup))];
    let resuming = and(
        &on,
        &[
            (900, down(HERE)),
            (901, found(THERE)),
            (921, Input::Deadline),
            (936, up(THERE)),
            (937, Input::Deadline),
            (940, hear(THERE, 1, Kind::Reestablishment)),
            (950, Input::Deadline),
            (960, hear(THERE, 1, Kind::ResumeReconfiguration)),
        ],
    );
    let syncing = and(&on, &[(900, hear(HERE, 895, Kind::Reconfiguration { target: THERE, dual: false }))]);
    let states: [Setup<'_, Message>; 3] =
        [("connected", &on), ("commanded", &syncing), ("bearers are to continue", &resuming)];
    let inputs = [
        ("link down", NOW, down(HERE)),
        ("time", NOW, Input::Deadline),
        ("time: T304", ms(2_000), Input::Deadline),
    ];
    text + &table(
        &UserEquipment::new(HOST, Rng::named(1, 0, "handover"), &Arc::new(params.clone())).into(),
        &states,
        &inputs,
    )
}

pub fn conditional() -> Params {
    Params { conditional: Some(Conditional { candidates: 2, ..Conditional::default() }), ..Params::default() }
}

fn candidates(millis: u64, candidates: &[Addr]) -> Input {
    hear(HERE, millis, Kind::ConditionalReconfiguration { candidates: candidates.to_vec() })
}

fn conditional_user_equipment() -> String {
    let one = and(&connected(), &[(900, candidates(895, &[THERE]))]);
    let two = and(&one, &[(910, candidates(895, &[THERE, ELSEWHERE]))]);
    let gone = and(&two, &[(920, better("execute", ELSEWHERE))]);
    let states: [Setup<'_, Message>; 4] = [
        ("no candidate", &connected()),
        ("one candidate", &one),
        ("two candidates", &two),
        ("gone to the second", &gone),
    ];
    let inputs = [
        ("report: third", NOW, better("report", ELSEWHERE)),
        ("execute: third", NOW, better("execute", ELSEWHERE)),
        ("execute: here", NOW, better("execute", HERE)),
        ("candidate 895: there", NOW, candidates(895, &[THERE])),
        ("candidates 895: both", NOW, candidates(895, &[THERE, ELSEWHERE])),
        ("candidates 800: late", NOW, candidates(800, &[ELSEWHERE])),
        ("candidates 990: none", NOW, candidates(990, &[])),
        ("command 995: there", NOW, hear(HERE, 995, Kind::Reconfiguration { target: THERE, dual: false })),
        ("link up at third", NOW, up(ELSEWHERE)),
    ];
    table(
        &UserEquipment::new(HOST, Rng::named(1, 0, "handover"), &Arc::new(conditional())).into(),
        &states,
        &inputs,
    )
}

/// The host stays at the source until it is at the target.
fn dual_user_equipment() -> String {
    let failed = Input::Trigger(L2Trigger::RadioLinkFailure);
    let command = hear(HERE, 895, Kind::Reconfiguration { target: THERE, dual: true });
    let dual = and(&connected(), &[(900, command)]);
    let alone = and(&dual, &[(910, failed.clone())]);
    let confirming = and(&dual, &[(977, up(THERE)), (977, received(THERE))]);
    let at_target = and(&confirming, &[(978, Input::Deadline)]);
    let stayed = and(&dual, &[(2_900, Input::Deadline)]);
    let states: [Setup<'_, Message>; 6] = [
        ("connected", &connected()),
        ("commanded", &dual),
        ("commanded, the source has failed", &alone),
        ("random access done", &confirming),
        ("at the target", &at_target),
        ("target not reached", &stayed),
    ];
    let inputs = [
        ("command 995: stay", NOW, hear(HERE, 995, Kind::Reconfiguration { target: THERE, dual: true })),
        ("link up there", NOW, up(THERE)),
        ("link down here", NOW, down(HERE)),
        ("link down there", NOW, down(THERE)),
        ("radio link failure", NOW, failed),
        ("source release", NOW, hear(THERE, 895, Kind::SourceRelease)),
        ("time", NOW, Input::Deadline),
        ("time: T304", ms(2_000), Input::Deadline),
    ];
    let params = Params { daps: true, ..Params::default() };
    let text = table(
        &UserEquipment::new(HOST, Rng::named(1, 0, "handover"), &Arc::new(params.clone())).into(),
        &states,
        &inputs,
    );
    // One attempt at a candidate after a failure.
    let one = and(&connected(), &[(900, candidates(895, &[THERE]))]);
    let failed = and(&one, &[(905, down(HERE)), (950, Input::Deadline), (1_005, Input::Deadline)]);
    let params = Params { attempt_candidate: true, ..conditional() };
    let states: [Setup<'_, Message>; 1] = [("looks for a cell", &failed)];
    let inputs = [("found there", ms(10), found(THERE)), ("found third", ms(10), found(ELSEWHERE))];
    text + &table(
        &UserEquipment::new(HOST, Rng::named(1, 0, "handover"), &Arc::new(params.clone())).into(),
        &states,
        &inputs,
    )
}
