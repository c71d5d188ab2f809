//! The message chart without faults: times of [mblue] table I and eq. 1.

use super::bus::{BS_A, BS_A2, BS_B, Bus, CH, FA_A, FA_B, HA};
use crate::lab::{HOST, ms};
use crate::mobile_ip::{BaseStation, BeaconTiming, BufferAt, BufferParams, Input, Params, Phase, RoTrigger};
use crate::{Agent, L2Trigger, Via};
use roamlab_engine::Duration;

const LEAVES: u64 = 10_000;

/// The host is in cell A from the beginning and moves to cell B at 10 s; packets flow from 1 s to 12 s.
fn handover(params: &Params) -> Bus {
    let mut bus = Bus::new(params);
    bus.move_at(ms(0), Some(BS_A));
    bus.move_at(ms(LEAVES), Some(BS_B));
    bus.offer(ms(2_000), ms(12_000));
    bus.run_until(ms(20_000));
    bus
}

#[test]
fn every_step_comes_at_the_time_of_equation_1() {
    let bus = handover(&Params::default());
    let since = ms(LEAVES);
    let at = |offset| vec![ms(LEAVES + offset)];
    assert_eq!(bus.noted(HOST, Phase::MovementDetected, since), at(50), "T_B");
    assert_eq!(bus.sent(HOST, BS_B, "handoff-request", since), at(50));
    assert_eq!(bus.sent(BS_B, FA_B, "notification", since), at(53));
    assert_eq!(bus.sent(FA_B, BS_B, "agent-advertisement", since), at(54));
    assert_eq!(bus.sent(BS_B, HOST, "agent-advertisement", since), at(55));
    assert_eq!(bus.noted(HOST, Phase::RegistrationSent, since), at(58));
    assert_eq!(bus.noted(FA_B, Phase::NewAgentNotified, since), at(62), "T_B + T_N");
    assert_eq!(bus.sent(FA_B, HA, "registration-request", since), at(62));
    assert_eq!(bus.sent(FA_B, FA_A, "binding-update", since), at(62));
    assert_eq!(bus.noted(FA_A, Phase::OldAgentInformed, since), at(63), "T_loss");
    assert_eq!(
        bus.sent(FA_A, BS_A, "forward", since),
        at(63),
        "once: packets from the old base station prove it"
    );
    assert_eq!(bus.noted(BS_A, Phase::ForwardingStarted, since), at(64));
    assert_eq!(bus.noted(HA, Phase::HomeAgentRegistered, since), at(122), "T_h of the base protocol");
    assert_eq!(bus.noted(CH, Phase::CorrespondentInformed, since), at(182), "T_h");
    assert_eq!(bus.noted(HOST, Phase::Registered, since), at(186));
    assert_eq!(bus.state(BS_A), "none");
    assert_eq!(bus.route(CH, None), Some(Via::Tunnel(FA_B)));
}

#[test]
fn buffering_saves_every_packet_and_the_detour_keeps_their_order() {
    let bus = handover(&Params::default());
    bus.assert_lossless();
    // Direct packets are 4 ms ahead of the last forwarded ones, and nothing holds them back (A6).
    assert!(bus.overtaken(ms(LEAVES)).len() <= 1, "{:?}", bus.overtaken(ms(LEAVES)));
    let first_direct = ms(LEAVES + 182 + 40 + 4);
    let forwarded: Vec<_> =
        bus.received.iter().filter(|r| r.0 >= ms(LEAVES) && r.0 < first_direct).map(|r| r.1).collect();
    assert!(forwarded.len() > 30 && forwarded.is_sorted(), "{forwarded:?}");
}

#[test]
fn route_optimisation_itself_lets_direct_packets_overtake_those_on_the_triangle() {
    let bus = handover(&Params::default());
    // 60 + 60 + 4 ms against 40 + 4 ms: 16 packets of 5 ms are overtaken when the correspondent first learns.
    assert_eq!(bus.overtaken(ms(2_000)).iter().filter(|pair| pair.0 < 100).count(), 15);
}

#[test]
fn what_the_old_base_station_forwards_is_marked_and_nothing_else() {
    let bus = handover(&Params::default());
    let forwarded: Vec<_> = bus.received.iter().filter(|r| r.2).map(|r| r.1).collect();
    // Packets are 5 ms apart. Those that would have reached the host after 10 s, 44 ms from the correspondent, up to
    // the one that leaves the correspondent before 10.182 s: sent in (9.956, 10.182).
    let number = |millis: u64| (millis - 2_000) / 5;
    assert_eq!(forwarded, (number(9_960)..=number(10_180)).collect::<Vec<_>>());
    let unmarked = handover(&Params {
        buffer: BufferParams { mark_forwarded: false, ..Default::default() },
        ..Params::default()
    });
    assert!(unmarked.received.iter().all(|r| !r.2));
}

#[test]
fn without_the_detour_packets_overtake_the_buffer() {
    for detour in [true, false] {
        let buffer = BufferParams { detour, ..Default::default() };
        let mut bus = Bus::new(&Params { buffer, ..Params::default() });
        bus.spacing = Duration::from_millis(1);
        bus.move_at(ms(0), Some(BS_A));
        bus.move_at(ms(LEAVES), Some(BS_B));
        bus.offer(ms(5_000), ms(12_000));
        bus.run_until(ms(20_000));
        bus.assert_lossless();
        // Packets that reach the old agent at 63 and 64 ms overtake the buffer, which is 2 ms away: 67
        // packets.
        let jumps: Vec<_> = bus.overtaken(ms(LEAVES)).iter().map(|pair| pair.0 - pair.1).collect();
        assert_eq!(jumps.iter().any(|jump| *jump > 60), !detour, "{jumps:?}");
        assert_eq!(bus.route(FA_A, None), Some(Via::Tunnel(FA_B)));
    }
}

#[test]
fn without_buffering_the_loss_is_what_arrives_in_t_loss() {
    let buffer = BufferParams { at: BufferAt::None, ..Default::default() };
    let bus = handover(&Params { buffer, ..Params::default() });
    // 63 ms at the old agent, and what was on its 4 ms way to the host: 67 ms of packets 5 ms apart.
    assert!((12..=14).contains(&bus.lost.len()), "{:?}", bus.lost);
}

#[test]
fn without_smooth_handoff_the_loss_lasts_until_the_correspondent_knows() {
    let buffer = BufferParams { at: BufferAt::None, ..Default::default() };
    let bus = handover(&Params { buffer, smooth_handoff: false, ..Params::default() });
    // Sent up to 10.182 s to the old agent: 182 + 44 ms.
    assert!((44..=46).contains(&bus.lost.len()), "{}", bus.lost.len());
}

#[test]
fn without_route_optimisation_packets_take_the_triangle() {
    let bus = handover(&Params { route_optimisation: false, ..Params::default() });
    assert_eq!(bus.route(CH, None), None);
    assert!(bus.sent.iter().all(|sent| sent.3 != "binding-warning" && sent.2 != CH));
    assert_eq!(bus.route(HA, None), Some(Via::Tunnel(FA_B)));
    bus.assert_lossless();
}

#[test]
fn the_warning_alone_also_informs_the_correspondent() {
    let bus = handover(&Params { ro_trigger: RoTrigger::Warning, ..Params::default() });
    let informed = bus.noted(CH, Phase::CorrespondentInformed, ms(LEAVES));
    // At least 183 ms (A1): 63, a packet at most 5 ms later, 60 and 60.
    assert_eq!(informed.len(), 1);
    assert!(informed[0] >= ms(LEAVES + 183) && informed[0] <= ms(LEAVES + 188), "{informed:?}");
    bus.assert_lossless();
}

#[test]
fn the_registration_alone_sends_no_warning() {
    let bus = handover(&Params { ro_trigger: RoTrigger::Registration, ..Params::default() });
    assert_eq!(bus.noted(CH, Phase::CorrespondentInformed, ms(LEAVES)), [ms(LEAVES + 182)]);
    assert!(bus.sent.iter().all(|sent| sent.3 != "binding-warning"));
}

#[test]
fn the_first_warning_is_told_nothing_new_and_sent_once_a_second() {
    let bus = handover(&Params::default());
    let warnings = bus.sent(FA_A, HA, "binding-warning", ms(LEAVES));
    assert!(warnings.windows(2).all(|pair| pair[1] - pair[0] >= Duration::from_secs(1)), "{warnings:?}");
    assert_eq!(bus.sent(HA, CH, "binding-update", ms(LEAVES)).len(), 1);
}

#[test]
fn a_uniform_beacon_phase_is_the_base_stations_own() {
    let bus = handover(&Params { tb_mode: BeaconTiming::Uniform, ..Params::default() });
    // Beacons at multiples of 50 ms, heard 3 ms later.
    assert_eq!(bus.noted(HOST, Phase::MovementDetected, ms(LEAVES)), [ms(LEAVES + 3)]);
}

#[test]
fn a_promised_beacon_does_not_depend_on_the_phase_of_the_arrival() {
    for offset in [0, 1, 13, 46, 47, 48, 49] {
        let mut bus = Bus::new(&Params::default());
        bus.move_at(ms(0), Some(BS_A));
        bus.move_at(ms(LEAVES + offset), Some(BS_B));
        bus.run_until(ms(12_000));
        let heard = bus.noted(HOST, Phase::MovementDetected, ms(LEAVES));
        assert_eq!(heard, [ms(LEAVES + offset + 50)], "arrival at +{offset}");
    }
}

/// The work after an input does not grow with the moves, however many beacons are scheduled.
#[test]
fn promised_beacons_stand_in_the_queue_and_not_in_the_list() {
    let (latency, params) = (Duration::from_millis(3), Params::default());
    let mut agent = BaseStation::new(FA_A, Duration::ZERO, latency, &params);
    for at in 0..1_000 {
        let now = ms(0) + Duration::from_micros(10 * at);
        for trigger in [L2Trigger::HostArrived { host: HOST }, L2Trigger::HostGone { host: HOST }] {
            agent.on(Input::Trigger(trigger), now, &mut Vec::new());
        }
    }
    let mut listed = 0;
    agent.deadlines(&mut |_| listed += 1);
    assert!(listed <= 2, "{listed}");
    assert_eq!(agent.queue().map(|queue| queue.len()), Some(1_000));
    assert_eq!(agent.next_deadline(), Some(ms(47)));
    let mut out = Vec::new();
    agent.on(Input::Deadline, ms(47), &mut out);
    assert_eq!(out.len(), 1, "one beacon: {out:?}");
    assert_eq!(agent.next_deadline(), Some(ms(47) + Duration::from_micros(10)));
}

#[test]
fn without_the_local_handoff_protocol_detection_waits_for_the_advertisement() {
    let params = Params { local_handoff: false, ..Params::default() };
    let mut bus = Bus::new(&params);
    bus.move_at(ms(0), Some(BS_A));
    bus.move_at(ms(10_300), Some(BS_B));
    bus.offer(ms(2_000), ms(12_000));
    bus.run_until(ms(20_000));
    // Advertisements every second from 0, heard 4 ms later.
    assert_eq!(bus.noted(HOST, Phase::MovementDetected, ms(10_300)), [ms(11_004)]);
    assert_eq!(bus.noted(FA_B, Phase::NewAgentNotified, ms(10_300)), [ms(11_008)]);
    assert!(bus.sent.iter().all(|sent| !["beacon", "handoff-request", "notification"].contains(&sent.3)));
    bus.assert_lossless();
}

#[test]
fn a_solicitation_makes_up_for_a_missing_beacon() {
    let params = Params { local_handoff: false, solicitation: true, ..Params::default() };
    let mut bus = Bus::new(&params);
    bus.move_at(ms(0), Some(BS_A));
    bus.move_at(ms(10_300), Some(BS_B));
    bus.run_until(ms(12_000));
    assert_eq!(bus.noted(HOST, Phase::MovementDetected, ms(10_300)), [ms(10_308)]);
}

#[test]
fn a_handoff_between_cells_of_one_agent_forwards_the_buffer_too() {
    let mut bus = Bus::new(&Params::default());
    bus.move_at(ms(0), Some(BS_A));
    bus.move_at(ms(LEAVES), Some(BS_A2));
    bus.offer(ms(2_000), ms(15_000));
    bus.run_until(ms(20_000));
    bus.assert_lossless();
    // The detour of 2 ms ends 2 s after the move, so one packet may overtake one.
    assert!(bus.overtaken(ms(LEAVES)).len() <= 1, "{:?}", bus.overtaken(ms(LEAVES)));
    assert_eq!(bus.route(FA_A, None), Some(Via::Neighbour(BS_A2)));
    assert_eq!(bus.noted(HA, Phase::HomeAgentRegistered, ms(LEAVES)), []);
    assert_eq!(bus.noted(HOST, Phase::Registered, ms(LEAVES)).len(), 1);
}

#[test]
fn registrations_and_bindings_are_renewed_before_they_end() {
    let params = Params {
        registration_lifetime: Duration::from_secs(20),
        renewal_margin: Duration::from_secs(5),
        binding_lifetime: Duration::from_secs(8),
        binding_request_margin: Duration::from_secs(2),
        ..Params::default()
    };
    let mut bus = Bus::new(&params);
    bus.move_at(ms(0), Some(BS_A));
    bus.offer(ms(2_000), ms(60_000));
    bus.run_until(ms(61_000));
    bus.assert_lossless();
    assert_eq!(bus.overtaken(ms(3_000)), []);
    assert!(bus.sent(HOST, FA_A, "registration-request", ms(0)).len() >= 4);
    assert!(bus.sent(CH, HA, "binding-request", ms(0)).len() >= 8);
    assert_eq!(bus.noted(CH, Phase::CorrespondentInformed, ms(0)).len(), 1);
    assert_eq!(bus.noted(HOST, Phase::Registered, ms(0)).len(), 1, "a renewal is no handover");
}

#[test]
fn an_idle_binding_ends() {
    let params = Params { binding_lifetime: Duration::from_secs(8), ..Params::default() };
    let mut bus = Bus::new(&params);
    bus.move_at(ms(0), Some(BS_A));
    bus.offer(ms(2_000), ms(3_000));
    bus.run_until(ms(12_000));
    assert_eq!((bus.state(CH), bus.route(CH, None)), ("none", None));
    assert_eq!(bus.sent(CH, HA, "binding-request", ms(0)), []);
}
