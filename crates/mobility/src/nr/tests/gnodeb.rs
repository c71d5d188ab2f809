//! The tables of base stations.

use super::service_request;
use super::table::{AMF, OTHER, UPF, conditional, table};
use crate::lab::Subject as _;
use crate::lab::{ELSEWHERE, HERE, HOST, NOW, Setup, THERE, and, arrived, data, gone, hear, id, ms};
use crate::nr::{
    CandidateForwarding, ForwardFrom, Forwarding, GNodeB, Input, Kind, Message, Nr, Params, Plan, Procedure,
};
use crate::{Agent, Direction, L2Trigger, RlcMode};
use roamlab_engine::{Duration, Time};
use roamlab_packet::{Addr, BearerState, Counts, Received};
use std::sync::Arc;

const COUNTS: Counts = Counts { downlink: 12, uplink: 4 };

fn report(target: Addr) -> Input {
    hear(HOST, 5, Kind::MeasurementReport { target })
}

fn reported(state: Option<BearerState>) -> Input {
    Input::Trigger(L2Trigger::BearerReported { host: HOST, state })
}

fn request(from: Addr, millis: u64) -> Input {
    hear(from, millis, Kind::HandoverRequest { plan: Plan::Command, cell: HERE })
}

fn reestablish() -> Input {
    hear(HOST, 5, Kind::ReestablishmentRequest { previous: HERE })
}

fn reestablish_from(previous: Addr) -> Input {
    hear(HOST, 5, Kind::ReestablishmentRequest { previous })
}

fn complete(millis: u64) -> Input {
    let received = Some(Received::Status { first_missing: 7, later: [9].into() });
    hear(HOST, millis, Kind::ReconfigurationComplete { received })
}

fn marker(from: Addr, millis: u64) -> Input {
    hear(from, millis, Kind::EndMarker { source: None })
}

/// Inputs that a base station may get at any time. The newest handover is number 900.
fn events() -> Vec<(&'static str, Time, Input)> {
    let state = BearerState { counts: COUNTS, unconfirmed: 9 };
    vec![
        ("host arrived", NOW, arrived()),
        ("host gone", NOW, gone()),
        ("service request", NOW, hear(HOST, 990, service_request(990))),
        ("context setup 990", NOW, hear(AMF, 990, Kind::InitialContextSetup)),
        ("context setup 5: late", NOW, hear(AMF, 5, Kind::InitialContextSetup)),
        ("report of there", NOW, report(THERE)),
        ("report of third", NOW, report(ELSEWHERE)),
        ("request ack 900", NOW, hear(THERE, 900, Kind::HandoverRequestAcknowledge)),
        ("request ack 800: late", NOW, hear(THERE, 800, Kind::HandoverRequestAcknowledge)),
        ("preparation failure 900", NOW, hear(THERE, 900, Kind::HandoverPreparationFailure)),
        ("bearer reported", NOW, reported(Some(state))),
        ("bearer reported: none", NOW, reported(None)),
        ("handover request 990", NOW, request(THERE, 990)),
        ("handover request 900 again", NOW, request(THERE, 900)),
        ("handover cancel 900", NOW, hear(THERE, 900, Kind::HandoverCancel)),
        ("handover cancel 800: late", NOW, hear(THERE, 800, Kind::HandoverCancel)),
        ("SN status 900", NOW, hear(THERE, 900, Kind::SnStatusTransfer { counts: COUNTS })),
        ("SN status 800: late", NOW, hear(THERE, 800, Kind::SnStatusTransfer { counts: COUNTS })),
        ("complete 900", NOW, complete(900)),
        ("complete 5", NOW, complete(5)),
        ("path switch ack 900", NOW, hear(AMF, 900, Kind::PathSwitchRequestAcknowledge)),
        ("path switch failure 900", NOW, hear(AMF, 900, Kind::PathSwitchRequestFailure { released: false })),
        ("sessions released 900", NOW, hear(AMF, 900, Kind::PathSwitchRequestFailure { released: true })),
        ("end marker 900 of the UPF", NOW, marker(UPF, 900)),
        ("end marker 990 of the UPF", NOW, marker(UPF, 990)),
        ("end marker 900 of there", NOW, marker(THERE, 900)),
        ("UE context release 900", NOW, hear(THERE, 900, Kind::ContextRelease)),
        ("UE context release 800: late", NOW, hear(THERE, 800, Kind::ContextRelease)),
        ("release command 990", NOW, hear(AMF, 990, Kind::ContextReleaseCommand)),
        ("release command 3: late", NOW, hear(AMF, 3, Kind::ContextReleaseCommand)),
        ("retransmission limit", NOW, Input::Trigger(L2Trigger::RetransmissionLimit { host: HOST })),
        ("re-establishment request 5", NOW, reestablish()),
        ("re-establishment request 5 from there", NOW, reestablish_from(THERE)),
        (
            "re-establishment request 995",
            NOW,
            hear(HOST, 995, Kind::ReestablishmentRequest { previous: HERE }),
        ),
        ("re-establishment complete 5", NOW, hear(HOST, 5, Kind::ReestablishmentComplete)),
        ("re-establishment complete 4: late", NOW, hear(HOST, 4, Kind::ReestablishmentComplete)),
        ("retrieve 990", NOW, hear(ELSEWHERE, 990, Kind::RetrieveContextRequest { ue: id(5) })),
        ("retrieve 5: late", NOW, hear(ELSEWHERE, 5, Kind::RetrieveContextRequest { ue: id(5) })),
        ("address indication 990", NOW, hear(ELSEWHERE, 990, Kind::AddressIndication)),
        ("direct packet", NOW, data(Direction::Down, None, true)),
        ("time: early", NOW, Input::Deadline),
        ("time: guard", ms(150), Input::Deadline),
        ("time: all over", ms(15_000), Input::Deadline),
    ]
}

fn base_station(params: &Params) -> Nr {
    GNodeB::new(HERE, (AMF, None), &Arc::new(params.clone())).into()
}

fn serving() -> Vec<(u64, Input)> {
    vec![(1, arrived()), (20, hear(AMF, 5, Kind::InitialContextSetup))]
}

fn executing() -> Vec<(u64, Input)> {
    let acknowledged = hear(THERE, 900, Kind::HandoverRequestAcknowledge);
    let state = Some(BearerState { counts: COUNTS, unconfirmed: 9 });
    and(&serving(), &[(900, report(THERE)), (910, acknowledged), (910, reported(state))])
}

pub fn gnodeb_as_source() -> String {
    let left = and(&serving(), &[(950, gone())]);
    let preparing = and(&serving(), &[(900, report(THERE))]);
    let preparing_gone = and(&preparing, &[(905, gone())]);
    let gone_to_it = and(&executing(), &[(920, gone())]);
    let released = and(&gone_to_it, &[(960, hear(THERE, 900, Kind::ContextRelease))]);
    let renounced =
        and(&gone_to_it, &[(940, arrived()), (950, hear(HOST, 950, super::service_request(950)))]);
    let marked = and(&gone_to_it, &[(955, marker(UPF, 900))]);
    let back = and(&gone_to_it, &[(950, arrived()), (960, reestablish())]);
    let continues = and(&back, &[(980, hear(HOST, 5, Kind::ReestablishmentComplete))]);
    let retrieved = and(&left, &[(960, hear(ELSEWHERE, 990, Kind::RetrieveContextRequest { ue: id(5) }))]);
    let released_back = and(&released, &[(970, arrived())]);
    let states: [Setup<'_, Message>; 15] = [
        ("unknown", &[]),
        ("present", &[(1, arrived())]),
        ("serving", &serving()),
        ("the host is gone", &left),
        ("request sent", &preparing),
        ("request sent, host gone", &preparing_gone),
        ("command sent, host here", &executing()),
        ("command sent, host gone", &gone_to_it),
        ("command sent, host asks for a connection", &renounced),
        ("released", &released),
        ("end marker passed", &marked),
        ("released, host back", &released_back),
        ("command sent, host resumes", &back),
        ("re-establishment complete", &continues),
        ("context given to third", &retrieved),
    ];
    table(&base_station(&Params::default()), &states, &events())
}

fn prepared() -> Vec<(u64, Input)> {
    vec![(900, request(THERE, 900)), (901, Input::Deadline)]
}

pub fn gnodeb_as_target() -> String {
    let numbered = and(&prepared(), &[(915, hear(THERE, 900, Kind::SnStatusTransfer { counts: COUNTS }))]);
    let here = and(&numbered, &[(930, arrived())]);
    let confirmed = and(&here, &[(945, complete(900))]);
    let unnumbered = and(&prepared(), &[(930, arrived()), (945, complete(900))]);
    let guarded = and(&confirmed, &[(950, data(Direction::Down, None, true))]);
    let switched = and(&guarded, &[(955, hear(AMF, 900, Kind::PathSwitchRequestAcknowledge))]);
    let ordered = and(&switched, &[(960, marker(THERE, 900))]);
    let onward = and(
        &confirmed,
        &[(950, report(ELSEWHERE)), (960, hear(ELSEWHERE, 950, Kind::HandoverRequestAcknowledge))],
    );
    let passing = and(&onward, &[(970, data(Direction::Down, None, true)), (975, marker(UPF, 950))]);
    let resuming = and(&here, &[(935, reestablish())]);
    let beginning = and(&unnumbered, &[(1_500, Input::Deadline)]);
    let states: [Setup<'_, Message>; 12] = [
        ("request came", &prepared()[..1]),
        ("prepared", &prepared()),
        ("prepared, numbers known", &numbered),
        ("prepared, host here", &here),
        ("re-establishment begun", &resuming),
        ("confirmed", &confirmed),
        ("confirmed, no numbers", &unnumbered),
        ("the bearer begins again", &beginning),
        ("direct packet held", &guarded),
        ("end marker come", &ordered),
        ("sent on to third", &onward),
        ("end marker waits", &passing),
    ];
    let text = table(&base_station(&Params::default()), &states, &events());

    // A cell for one host has it.
    let admission = Duration::ZERO;
    let mut full = base_station(&Params { admission_limit: Some(1), admission, ..Params::default() });
    let mut out = Vec::new();
    for host in [OTHER, HOST] {
        let message =
            Message::about(host, id(900), Kind::HandoverRequest { plan: Plan::Command, cell: HERE });
        full.on(Input::Message { from: THERE, message }, NOW, &mut out);
    }
    assert_eq!((full.state(OTHER), full.state(HOST)), ("prepared", "none"));
    text
}

/// A host whose link has failed, and that another base station had.
pub fn gnodeb_that_gets_a_context() -> String {
    let asked = [(940, arrived()), (950, reestablish_from(THERE))];
    let left = and(&asked, &[(955, gone())]);
    let answer = |kind: Kind| {
        let message = Message::about(HOST, crate::Identification(950_000_000), kind);
        Input::Message { from: THERE, message }
    };
    let given = and(&asked, &[(960, answer(Kind::RetrieveContextResponse))]);
    let status =
        Message::about(HOST, crate::Identification(950_000_000), Kind::SnStatusTransfer { counts: COUNTS });
    let numbered = and(&given, &[(965, Input::Message { from: THERE, message: status })]);
    let continues = and(&numbered, &[(970, hear(HOST, 5, Kind::ReestablishmentComplete))]);
    let gone_to_it = and(&executing(), &[(920, gone())]);
    let released = and(&gone_to_it, &[(930, hear(THERE, 900, Kind::ContextRelease))]);
    let again = hear(HOST, 900, Kind::ReestablishmentRequest { previous: THERE });
    let back = and(&released, &[(940, arrived()), (950, again)]);
    let again = hear(HOST, 900, Kind::ReestablishmentRequest { previous: THERE });
    let was_there = and(&gone_to_it, &[(940, arrived()), (950, again)]);
    let states: [Setup<'_, Message>; 7] = [
        ("context asked for", &asked),
        ("the host has gone", &left),
        ("context given", &given),
        ("numbers known", &numbered),
        ("re-establishment complete", &continues),
        ("had it before", &back),
        ("was at there", &was_there),
    ];
    let mut inputs = events();
    inputs.extend([
        ("response", NOW, answer(Kind::RetrieveContextResponse)),
        ("failure", NOW, answer(Kind::RetrieveContextFailure)),
        ("response 5: late", NOW, hear(THERE, 5, Kind::RetrieveContextResponse)),
    ]);
    table(&base_station(&Params::default()), &states, &inputs)
}

pub fn gnodeb_over_n2() -> String {
    let command = |millis| hear(AMF, millis, Kind::HandoverCommand { target: THERE });
    let ask = |millis| hear(AMF, millis, Kind::NgHandoverRequest { source: THERE, cell: HERE });
    let preparing = and(&serving(), &[(900, report(THERE))]);
    let executing = and(&preparing, &[(910, command(900))]);
    let gone = and(&executing, &[(920, gone())]);
    let prepared = [(900, ask(900)), (901, Input::Deadline)];
    let counts = Kind::DownlinkStatusTransfer { counts: COUNTS };
    let here = and(&prepared, &[(915, hear(AMF, 900, counts.clone())), (930, arrived())]);
    let states: [Setup<'_, Message>; 6] = [
        ("serving", &serving()),
        ("required", &preparing),
        ("commanded", &executing),
        ("commanded, host gone", &gone),
        ("prepared", &prepared),
        ("prepared, host here", &here),
    ];
    let state = Some(BearerState { counts: COUNTS, unconfirmed: 9 });
    let inputs = [
        ("report of there", NOW, report(THERE)),
        ("command 900", NOW, command(900)),
        ("failure 900", NOW, hear(AMF, 900, Kind::NgHandoverPreparationFailure { target: THERE })),
        ("bearer reported", NOW, reported(state)),
        ("request 990", NOW, ask(990)),
        ("status 900", NOW, hear(AMF, 900, counts)),
        ("complete 900", NOW, complete(900)),
        ("end marker of there", NOW, hear(UPF, 900, Kind::EndMarker { source: Some(THERE) })),
        ("end marker of the UPF", NOW, marker(UPF, 900)),
        ("release command 900", NOW, hear(AMF, 900, Kind::ContextReleaseCommand)),
        ("re-establishment request 5", NOW, reestablish()),
        ("time", NOW, Input::Deadline),
        ("time: all over", ms(15_000), Input::Deadline),
    ];
    let params = Params {
        procedure: Procedure::N2,
        forwarding: Forwarding::Indirect,
        admission_limit: Some(1),
        ..Params::default()
    };
    let direct = Arc::new(Params { forwarding: Forwarding::Direct, ..params.clone() });
    let agent: Nr = GNodeB::new(HERE, (AMF, Some(UPF)), &Arc::new(params)).into();
    let text = table(&agent, &states, &inputs);
    let release = [("release command 900", NOW, hear(AMF, 900, Kind::ContextReleaseCommand))];
    text + &table(&GNodeB::new(HERE, (AMF, None), &direct).into(), &states[4..], &release)
}

pub fn gnodeb_without_forwarding() -> String {
    let gone = and(&executing(), &[(920, gone())]);
    let here = and(&prepared(), &[(930, arrived())]);
    let states: [Setup<'_, Message>; 4] = [
        ("command sent", &executing()),
        ("command sent, host gone", &gone),
        ("prepared", &prepared()),
        ("prepared, host here", &here),
    ];
    table(&base_station(&Params { forwarding: Forwarding::None, ..Params::default() }), &states, &events())
}

pub fn gnodeb_that_waits_with_the_command() -> String {
    let preparing = and(&serving(), &[(900, report(THERE))]);
    let acknowledged = hear(THERE, 900, Kind::HandoverRequestAcknowledge);
    let ready = and(&preparing, &[(980, acknowledged.clone())]);
    let states: [Setup<'_, Message>; 3] =
        [("unknown", &[]), ("request sent", &preparing), ("acknowledged", &ready)];
    let inputs = [
        ("request ack 900", NOW, acknowledged),
        ("handover request 990", NOW, request(THERE, 990)),
        ("time: the command", ms(50), Input::Deadline),
    ];
    let mut text = String::new();
    for forward_from in [ForwardFrom::Command, ForwardFrom::Acknowledge] {
        let command_delay = Duration::from_millis(50);
        let params = Params { command_delay, forward_from, admission: Duration::ZERO, ..Params::default() };
        text += &format!("{forward_from:?}\n{}", table(&base_station(&params), &states, &inputs));
    }
    text
}

pub fn conditional_source() -> String {
    let ack = |from| hear(from, 900, Kind::HandoverRequestAcknowledge);
    let asked = and(&serving(), &[(900, report(THERE))]);
    let two = and(&asked, &[(910, ack(THERE)), (920, report(ELSEWHERE)), (930, ack(ELSEWHERE))]);
    let gone_from_two = and(&two, &[(940, gone())]);
    let forwarding = and(&gone_from_two, &[(980, hear(ELSEWHERE, 900, Kind::HandoverSuccess))]);
    let back = and(&gone_from_two, &[(950, arrived())]);
    let released = and(&gone_from_two, &[(980, hear(ELSEWHERE, 900, Kind::ContextRelease))]);
    let cancelled = and(&gone_from_two, &[(9_900, Input::Deadline)]);
    let states: [Setup<'_, Message>; 8] = [
        ("serving", &serving()),
        ("one asked", &asked),
        ("two prepared", &two),
        ("the host is gone", &gone_from_two),
        ("success reported", &forwarding),
        ("success lost, released", &released),
        ("the host is back", &back),
        ("the host is long gone", &cancelled),
    ];
    let inputs = [
        ("report of there", NOW, report(THERE)),
        ("report of third", NOW, report(ELSEWHERE)),
        ("report of a fourth", NOW, report(UPF)),
        ("request ack 900 of there", NOW, ack(THERE)),
        ("preparation failure 900", NOW, hear(THERE, 900, Kind::HandoverPreparationFailure)),
        ("host gone", NOW, gone()),
        ("success 900 of third", NOW, hear(ELSEWHERE, 900, Kind::HandoverSuccess)),
        ("success 800: late", NOW, hear(ELSEWHERE, 800, Kind::HandoverSuccess)),
        ("end marker 900 of the UPF", NOW, marker(UPF, 900)),
        ("UE context release 900", NOW, hear(ELSEWHERE, 900, Kind::ContextRelease)),
        ("bearer reported", NOW, reported(Some(BearerState { counts: COUNTS, unconfirmed: 9 }))),
        ("candidates received", NOW, hear(HOST, 900, Kind::ConditionalComplete)),
        (
            "handover request 990: conditional",
            NOW,
            hear(THERE, 990, Kind::HandoverRequest { plan: Plan::Condition, cell: HERE }),
        ),
        ("release command 990", NOW, hear(AMF, 990, Kind::ContextReleaseCommand)),
        ("retransmission limit", NOW, Input::Trigger(L2Trigger::RetransmissionLimit { host: HOST })),
        ("re-establishment request 5", NOW, reestablish()),
        ("retrieve 990", NOW, hear(UPF, 990, Kind::RetrieveContextRequest { ue: id(5) })),
        ("time: the host is long gone", ms(7_000), Input::Deadline),
        ("time: candidates", ms(9_900), Input::Deadline),
    ];
    table(&base_station(&conditional()), &states, &inputs)
}

/// A target keeps a candidate for its life time and its own wait.
pub fn conditional_target() -> String {
    let prepared = [
        (900, hear(THERE, 900, Kind::HandoverRequest { plan: Plan::Condition, cell: HERE })),
        (901, Input::Deadline),
        (930, arrived()),
    ];
    let resuming = and(&prepared, &[(935, reestablish())]);
    let states: [Setup<'_, Message>; 2] = [("prepared", &prepared), ("re-establishment begun", &resuming)];
    let inputs = [
        ("handover cancel 900", NOW, hear(THERE, 900, Kind::HandoverCancel)),
        ("complete 900", NOW, complete(900)),
        ("re-establishment complete 5", NOW, hear(HOST, 5, Kind::ReestablishmentComplete)),
        ("time: its own wait", ms(4_000), Input::Deadline),
        ("time: and the life time", ms(13_900), Input::Deadline),
    ];
    table(&base_station(&conditional()), &states, &inputs)
}

/// Copies go to candidates as soon as the host has them.
pub fn conditional_source_that_forwards_early() -> String {
    let asked = and(&serving(), &[(900, report(THERE))]);
    let one = and(&asked, &[(910, hear(THERE, 900, Kind::HandoverRequestAcknowledge))]);
    let told = and(&one, &[(920, hear(HOST, 900, Kind::ConditionalComplete)), (920, bearer())]);
    let states: [Setup<'_, Message>; 2] = [("one prepared", &one), ("copies go", &told)];
    let inputs = [
        ("candidates received", NOW, hear(HOST, 900, Kind::ConditionalComplete)),
        ("candidates received 800: late", NOW, hear(HOST, 800, Kind::ConditionalComplete)),
        ("bearer reported", NOW, bearer()),
        ("re-establishment request 5", NOW, reestablish()),
        ("time: status", ms(50), Input::Deadline),
        ("time: candidates", ms(9_900), Input::Deadline),
    ];
    let params = Params { candidate_forwarding: CandidateForwarding::Early, ..conditional() };
    let text = table(&base_station(&params), &states, &inputs);
    let prepared = [(900, hear(THERE, 900, Kind::HandoverRequest { plan: Plan::Condition, cell: HERE }))];
    let states: [Setup<'_, Message>; 1] = [("candidate", &prepared)];
    let status = |discard| hear(THERE, 900, Kind::EarlyStatusTransfer { count: 7, discard });
    let inputs = [("first 7", NOW, status(false)), ("discard 7", NOW, status(true))];
    text + &table(&base_station(&params), &states, &inputs)
}

fn bearer() -> Input {
    reported(Some(BearerState { counts: COUNTS, unconfirmed: 9 }))
}

fn daps() -> Params {
    Params { daps: true, ..Params::default() }
}

pub fn gnodeb_in_unacknowledged_mode() -> String {
    let mut params = Params::default();
    params.bearer.rlc = Some(RlcMode::Um);
    let states: [Setup<'_, Message>; 1] = [("serving", &serving())];
    table(&base_station(&params), &states, &[("re-establishment request 5", NOW, reestablish())])
}

pub fn dual_source() -> String {
    let acknowledged = hear(THERE, 900, Kind::HandoverRequestAcknowledge);
    let preparing = and(&serving(), &[(900, report(THERE))]);
    let dual = and(&preparing, &[(910, acknowledged.clone()), (910, bearer())]);
    let succeeded = and(&dual, &[(960, hear(THERE, 900, Kind::HandoverSuccess))]);
    let released = and(&dual, &[(960, hear(THERE, 900, Kind::ContextRelease))]);
    let left = and(&dual, &[(920, gone())]);
    let states: [Setup<'_, Message>; 6] = [
        ("request sent", &preparing),
        ("commanded", &dual),
        ("the host has left", &left),
        ("success reported", &succeeded),
        ("success lost, released", &released),
        ("serving", &serving()),
    ];
    let inputs = [
        ("request ack 900", NOW, acknowledged),
        ("bearer reported", NOW, bearer()),
        ("success 900", NOW, hear(THERE, 900, Kind::HandoverSuccess)),
        ("success 900 of third", NOW, hear(ELSEWHERE, 900, Kind::HandoverSuccess)),
        ("UE context release 900", NOW, hear(THERE, 900, Kind::ContextRelease)),
        ("failure information", NOW, hear(HOST, 900, Kind::FailureInformation)),
        ("report of there", NOW, report(THERE)),
        ("release command 990", NOW, hear(AMF, 990, Kind::ContextReleaseCommand)),
        ("retransmission limit", NOW, Input::Trigger(L2Trigger::RetransmissionLimit { host: HOST })),
        ("re-establishment request 5", NOW, reestablish()),
        ("retrieve 990", NOW, hear(ELSEWHERE, 990, Kind::RetrieveContextRequest { ue: id(5) })),
        ("time: TXnRELOCoverall", ms(7_000), Input::Deadline),
    ];
    table(&base_station(&daps()), &states, &inputs)
}

pub fn dual_target() -> String {
    let prepared = [
        (900, hear(THERE, 900, Kind::HandoverRequest { plan: Plan::Dual, cell: HERE })),
        (901, Input::Deadline),
    ];
    let confirmed = and(&prepared, &[(930, arrived()), (945, complete(900))]);
    let states: [Setup<'_, Message>; 2] = [("prepared", &prepared), ("confirmed", &confirmed)];
    let inputs = [
        ("complete 900", NOW, complete(900)),
        ("cancel 900", NOW, hear(THERE, 900, Kind::HandoverCancel)),
        ("SN status 900", NOW, hear(THERE, 900, Kind::SnStatusTransfer { counts: COUNTS })),
        ("time: no numbers", ms(100), Input::Deadline),
    ];
    table(&base_station(&daps()), &states, &inputs)
}
