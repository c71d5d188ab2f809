//! The tables of the core network.

use super::service_request;
use super::table::{AMF, SMF, UPF, table};
use crate::Agent;
use crate::lab::{ELSEWHERE, HERE, NOW, Setup, THERE, and, hear, ms};
use crate::nr::{Amf, Forwarding, Input, Kind, Message, Nr, Params, Procedure, Smf, Step, Timers, Upf};
use roamlab_engine::{Duration, DurationLaw, Rng};
use roamlab_packet::Counts;
use std::sync::Arc;

pub fn amf() -> String {
    let service = |from, millis| hear(from, millis, service_request(millis));
    let switch = |from, millis| hear(from, millis, Kind::PathSwitchRequest { base_station: from });
    let switched = |millis, base_station| {
        hear(SMF, millis, Kind::UpdateResponse { step: Step::Switch { base_station, complete: true } })
    };
    let required = |millis| hear(HERE, millis, Kind::HandoverRequired { target: THERE, cell: THERE });
    let prepared = hear(SMF, 900, Kind::UpdateResponse { step: Step::Prepare });
    let ready = hear(SMF, 900, Kind::UpdateResponse { step: Step::Forward { source: HERE, target: THERE } });
    let acknowledged = hear(THERE, 900, Kind::NgHandoverRequestAcknowledge);
    let connecting = [(5, service(HERE, 1))];
    let idle = and(&connecting, &[(10, switched(1, HERE))]);
    let switching = and(&idle, &[(900, switch(THERE, 895))]);
    let queued = and(&switching, &[(950, switch(ELSEWHERE, 945))]);
    let done = and(&switching, &[(910, switched(895, THERE))]);
    let asked = and(&idle, &[(900, required(900))]);
    let allocating = and(&asked, &[(910, prepared.clone())]);
    let forwarding = and(&allocating, &[(920, acknowledged.clone())]);
    let commanded = and(&forwarding, &[(930, ready.clone())]);
    let notified = and(&commanded, &[(980, hear(THERE, 900, Kind::HandoverNotify))]);
    let over = and(&notified, &[(985, switched(900, THERE))]);
    let elsewhere = and(&idle, &[(900, service(ELSEWHERE, 900))]);
    let required_too = and(&switching, &[(902, required(900))]);
    let commanded_too =
        and(&required_too, &[(903, prepared.clone()), (904, acknowledged.clone()), (905, ready.clone())]);
    let states: [Setup<'_, Message>; 15] = [
        ("unknown", &[]),
        ("first service request", &connecting),
        ("connected", &idle),
        ("new connection at third", &elsewhere),
        ("path switch to there", &switching),
        ("another to third waits", &queued),
        ("the same, handover required", &required_too),
        ("the same, commanded", &commanded_too),
        ("path switched to there", &done),
        ("handover required", &asked),
        ("target asked", &allocating),
        ("target ready", &forwarding),
        ("commanded", &commanded),
        ("notified", &notified),
        ("path switched", &over),
    ];
    let params = Params { procedure: Procedure::N2, ..Params::default() };
    let text = table(&Amf::new(SMF, &Arc::new(params.clone())).into(), &states, &amf_inputs());
    let timers = Timers { path_switch: Some(Duration::from_millis(400)), ..Timers::default() };
    let waiting: [Setup<'_, Message>; 4] = [
        ("path switch to there", &switching),
        ("another to third waits", &queued),
        ("the same, handover required", &required_too),
        ("the same, commanded", &commanded_too),
    ];
    let over = [("time: it is not confirmed", ms(1_400), Input::Deadline)];
    text + &table(
        &Amf::new(SMF, &Arc::new(Params { timers: Box::new(timers), ..params })).into(),
        &waiting,
        &over,
    )
}

fn amf_inputs() -> Vec<(&'static str, roamlab_engine::Time, Input)> {
    let service = |from, millis| hear(from, millis, service_request(millis));
    let switch = |from, millis| hear(from, millis, Kind::PathSwitchRequest { base_station: from });
    let switched = |millis, base_station| {
        hear(SMF, millis, Kind::UpdateResponse { step: Step::Switch { base_station, complete: true } })
    };
    let required = |millis| hear(HERE, millis, Kind::HandoverRequired { target: THERE, cell: THERE });
    let counts = Counts { downlink: 5, uplink: 3 };
    let prepared = hear(SMF, 900, Kind::UpdateResponse { step: Step::Prepare });
    let ready = hear(SMF, 900, Kind::UpdateResponse { step: Step::Forward { source: HERE, target: THERE } });
    let acknowledged = hear(THERE, 900, Kind::NgHandoverRequestAcknowledge);
    vec![
        ("service request 990 of here", NOW, service(HERE, 990)),
        ("service request 990 of third", NOW, service(ELSEWHERE, 990)),
        ("service request 1 again", NOW, service(HERE, 1)),
        ("path switch 990 to third", NOW, switch(ELSEWHERE, 990)),
        ("path switch 895 to there again", NOW, switch(THERE, 895)),
        ("path switch 900 to there", NOW, switch(THERE, 900)),
        ("path switch 800: late", NOW, switch(ELSEWHERE, 800)),
        ("path switched 1", NOW, switched(1, HERE)),
        ("path switched 895", NOW, switched(895, THERE)),
        ("path switched 900", NOW, switched(900, THERE)),
        ("required 900", NOW, required(900)),
        ("required 950", NOW, required(950)),
        ("prepared 900", NOW, prepared),
        ("acknowledged 900", NOW, acknowledged),
        ("failure 900", NOW, hear(THERE, 900, Kind::HandoverFailure)),
        ("forwarding 900", NOW, ready),
        ("status 900", NOW, hear(HERE, 900, Kind::UplinkStatusTransfer { counts })),
        ("status 800: late", NOW, hear(HERE, 800, Kind::UplinkStatusTransfer { counts })),
        ("notify 900", NOW, hear(THERE, 900, Kind::HandoverNotify)),
        ("cancel 900", NOW, hear(HERE, 900, Kind::NgHandoverCancel)),
        ("cancel 800: late", NOW, hear(HERE, 800, Kind::NgHandoverCancel)),
        ("release request 900", NOW, hear(HERE, 900, Kind::ContextReleaseRequest)),
        ("release complete 900", NOW, hear(HERE, 900, Kind::ContextReleaseComplete)),
        ("time: early", NOW, Input::Deadline),
        ("time: release", ms(400), Input::Deadline),
    ]
}

fn updates() -> Vec<(&'static str, roamlab_engine::Time, Input)> {
    let update = |millis, step| hear(AMF, millis, Kind::UpdateRequest { step });
    let modified = |millis, step| hear(UPF, millis, Kind::ModificationResponse { step });
    let (switch, forward) =
        (Step::Switch { base_station: THERE, complete: true }, Step::Forward { source: HERE, target: THERE });
    vec![
        ("prepare 990", NOW, update(990, Step::Prepare)),
        ("forward 900", NOW, update(900, forward)),
        ("switch 900", NOW, update(900, switch)),
        ("switch 990", NOW, update(990, switch)),
        ("modified 900: forward", NOW, modified(900, forward)),
        ("modified 900: switch", NOW, modified(900, switch)),
        ("modified 800: late", NOW, modified(800, switch)),
        ("time: early", NOW, Input::Deadline),
        ("time: the path is switched", ms(1_500), Input::Deadline),
        ("time: forwarding ends", ms(20_000), Input::Deadline),
    ]
}

pub fn smf() -> String {
    let update = |millis, step| hear(AMF, millis, Kind::UpdateRequest { step });
    let forward = Step::Forward { source: HERE, target: THERE };
    let switch = Step::Switch { base_station: THERE, complete: true };
    let forwarding = [(900, update(900, forward))];
    let ready = and(&forwarding, &[(910, hear(UPF, 900, Kind::ModificationResponse { step: forward }))]);
    let switching = and(&ready, &[(950, update(900, switch))]);
    let done = and(&switching, &[(960, hear(UPF, 900, Kind::ModificationResponse { step: switch }))]);
    let states: [Setup<'_, Message>; 5] = [
        ("unknown", &[]),
        ("forwarding asked", &forwarding),
        ("forwarding", &ready),
        ("path switch asked", &switching),
        ("path switched", &done),
    ];
    let params = Params { procedure: Procedure::N2, forwarding: Forwarding::Indirect, ..Params::default() };
    table(&Smf::new(UPF, Rng::named(1, 0, "smf"), &Arc::new(params)).into(), &states, &updates())
}

/// A path switch takes a second.
pub fn smf_that_takes_its_time() -> String {
    let step = Step::Switch { base_station: THERE, complete: true };
    let waiting = [(900, hear(AMF, 900, Kind::UpdateRequest { step }))];
    let states: [Setup<'_, Message>; 2] = [("unknown", &[]), ("path switch waits", &waiting)];
    let law = DurationLaw::Constant(Duration::from_secs(1));
    let params = Params { path_switch: law, ..Params::default() };
    table(&Smf::new(UPF, Rng::named(1, 0, "smf"), &Arc::new(params)).into(), &states, &updates())
}

pub fn upf() -> String {
    let modify = |millis, step| hear(SMF, millis, Kind::ModificationRequest { step });
    let switch = |millis, base_station| modify(millis, Step::Switch { base_station, complete: true });
    let forward = modify(890, Step::Forward { source: HERE, target: THERE });
    let bound = [(10, switch(5, HERE))];
    let forwarding = and(&bound, &[(880, forward.clone())]);
    let switched = and(&forwarding, &[(900, switch(895, THERE))]);
    let states: [Setup<'_, Message>; 4] =
        [("unknown", &[]), ("bound", &bound), ("forwards", &forwarding), ("switched", &switched)];
    let marker = Kind::EndMarker { source: None };
    let inputs = [
        ("switch 990 to third", NOW, switch(990, ELSEWHERE)),
        ("switch 990 to here", NOW, switch(990, HERE)),
        ("switch 895 to there", NOW, switch(895, THERE)),
        ("switch 1: late", NOW, switch(1, ELSEWHERE)),
        ("forward from here to there", NOW, forward),
        ("end forwarding from here", NOW, modify(895, Step::EndForwarding { source: HERE })),
        ("end forwarding from here 880: older", NOW, modify(880, Step::EndForwarding { source: HERE })),
        ("prepare", NOW, modify(895, Step::Prepare)),
        ("end marker of here", NOW, hear(HERE, 895, marker.clone())),
        ("end marker of third", NOW, hear(ELSEWHERE, 895, marker)),
        ("time", NOW, Input::Deadline),
    ];
    let agent = Upf::new(&Arc::new(Params { end_markers: 2, ..Params::default() })).into();
    let text = table(&agent, &states, &inputs);
    assert_eq!(Nr::next_deadline(&agent), None);
    text
}
