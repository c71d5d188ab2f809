//! Messages lost, late and twice; hosts that return or move on too soon.

use super::bus::{BS_A, BS_A2, BS_B, BS_C, Bus, CH, FA_A, FA_B, FA_C, HA};
use crate::lab::{HOST, hear, ms};
use crate::mobile_ip::{BufferAt, BufferParams, Input, Kind, Params, Phase, ReplyCode};
use crate::{Direction, Via};
use proptest::prelude::*;
use roamlab_engine::Duration;
use roamlab_packet::Addr;
use std::collections::BTreeSet;

const LEAVES: u64 = 10_000;

fn handover() -> Bus {
    let mut bus = Bus::new(&Params::default());
    bus.move_at(ms(0), Some(BS_A));
    bus.move_at(ms(LEAVES), Some(BS_B));
    bus.offer(ms(2_000), ms(14_000));
    bus
}

fn assert_complete(bus: &Bus) {
    assert_eq!(bus.state(HOST), "registered");
    assert_eq!(bus.state(BS_B), "attached");
    assert_eq!(bus.state(FA_B), "visitor");
    assert_eq!(bus.state(FA_A), "departed");
    assert_eq!(bus.state(BS_A), "none");
    assert_eq!(bus.route(HA, None), Some(Via::Tunnel(FA_B)));
    assert_eq!(bus.route(CH, None), Some(Via::Tunnel(FA_B)));
    assert_eq!(bus.route(FA_A, None), Some(Via::Tunnel(FA_B)));
    for (at, phase) in [
        (HOST, Phase::Registered),
        (FA_A, Phase::OldAgentInformed),
        (BS_A, Phase::ForwardingStarted),
        (HA, Phase::HomeAgentRegistered),
        (CH, Phase::CorrespondentInformed),
        (BS_A, Phase::ForwardingEnded),
    ] {
        assert_eq!(bus.noted(at, phase, ms(LEAVES)).len(), 1, "{phase:?}");
    }
}

#[test]
fn any_one_message_may_be_lost_and_no_packet_is() {
    let mut clean = handover();
    clean.run_until(ms(20_000));
    assert_complete(&clean);
    let window = ms(LEAVES)..ms(LEAVES + 400);
    let legs: BTreeSet<_> = clean
        .sent
        .iter()
        .filter(|sent| window.contains(&sent.0))
        .map(|sent| (sent.1, sent.2, sent.3))
        .collect();
    assert!(legs.len() >= 15, "{legs:?}");
    for (from, to, message) in legs {
        let mut bus = handover();
        let mut to_lose = 1;
        bus.lose = Box::new(move |now, sender, receiver, sent| {
            let hit =
                now >= ms(LEAVES) && (sender, receiver, sent.name()) == (from, to, message) && to_lose > 0;
            to_lose -= i32::from(hit);
            hit
        });
        bus.run_until(ms(20_000));
        assert_complete(&bus);
        bus.assert_lossless();
    }
}

#[test]
fn lost_messages_are_repeated_when_the_chart_says() {
    let lossy = |from: Addr, message: &'static str| {
        let mut bus = handover();
        let mut to_lose = 2;
        bus.lose = Box::new(move |now, sender, _, sent| {
            let hit = now >= ms(LEAVES) && sender == from && sent.name() == message && to_lose > 0;
            to_lose -= i32::from(hit);
            hit
        });
        bus.run_until(ms(20_000));
        bus
    };
    let times = |offsets: &[u64]| offsets.iter().map(|offset| ms(LEAVES + offset)).collect::<Vec<_>>();
    let bus = lossy(HOST, "handoff-request");
    assert_eq!(bus.sent(HOST, BS_B, "handoff-request", ms(LEAVES)), times(&[50, 100, 150]));
    let bus = lossy(HOST, "registration-request");
    assert_eq!(bus.sent(HOST, FA_B, "registration-request", ms(LEAVES)), times(&[58, 1_058, 3_058]));
    let bus = lossy(FA_B, "binding-update");
    assert_eq!(bus.sent(FA_B, FA_A, "binding-update", ms(LEAVES)), times(&[62, 262, 662]));
    let bus = lossy(FA_A, "forward");
    assert_eq!(bus.sent(FA_A, BS_A, "forward", ms(LEAVES)), times(&[63, 263, 663]));
    let bus = lossy(HA, "registration-reply");
    assert_eq!(bus.sent(HOST, FA_B, "registration-request", ms(LEAVES)), times(&[58, 1_058, 3_058]));
}

/// Seven losses: by doubling alone the seventh repetition would come 25.4 s after the first message.
#[test]
fn seven_lost_updates_to_the_old_agent_take_nine_seconds() {
    let mut bus = handover();
    let mut left = 7;
    bus.lose = Box::new(move |now, from, to, sent| {
        let hit = now >= ms(LEAVES) && (from, to, sent.name()) == (FA_B, FA_A, "binding-update") && left > 0;
        left -= u32::from(hit);
        hit
    });
    bus.run_until(ms(60_000));
    let updates = bus.sent(FA_B, FA_A, "binding-update", ms(LEAVES));
    let gaps: Vec<_> = updates.windows(2).map(|pair| (pair[1] - pair[0]).as_nanos() / 1_000_000).collect();
    assert_eq!(gaps, [200, 400, 800, 1_600, 2_000, 2_000, 2_000]);
}

#[test]
fn an_update_to_a_correspondent_is_repeated_until_it_is_acknowledged() {
    let mut bus = handover();
    bus.lose = Box::new(|now, from, to, sent| {
        let hit = (from, to, sent.name()) == (CH, HA, "binding-acknowledge");
        hit && now >= ms(LEAVES)
    });
    bus.run_until(ms(60_000));
    let updates = bus.sent(HA, CH, "binding-update", ms(LEAVES));
    let gaps: Vec<_> = updates.windows(2).map(|pair| (pair[1] - pair[0]).as_nanos() / 1_000_000).collect();
    assert_eq!(gaps, [1_000, 2_000, 4_000, 8_000], "and then no more");
}

#[test]
fn if_no_forward_message_ever_comes_the_hold_time_ends_it() {
    let mut bus = handover();
    bus.lose = Box::new(|now, _, _, sent| now >= ms(LEAVES) && sent.name() == "forward");
    bus.run_until(ms(30_000));
    assert_eq!(bus.noted(BS_A, Phase::ForwardingEnded, ms(LEAVES)), [ms(LEAVES + 2_000)]);
    assert_eq!(bus.state(BS_A), "none");
    assert!(!bus.lost.is_empty());
    assert!(bus.lost.iter().all(|lost| lost.1 == BS_A));
    assert_eq!(bus.state(HOST), "registered");
}

#[test]
fn forwarding_ends_the_hold_time_after_the_last_packet() {
    let mut bus = handover();
    bus.run_until(ms(20_000));
    let last = bus.received.iter().filter(|r| r.2).map(|r| r.0).max().unwrap_or_default();
    let ended = bus.noted(BS_A, Phase::ForwardingEnded, ms(LEAVES));
    // The last marked packet takes base station → agent → agent → base station → host: 1 + 1 + 1 + 3 ms.
    assert_eq!(ended, [last + Duration::from_millis(2_000 - 6)]);
}

/// Lossless, and no node is left with a tunnel to where the host is not.
fn assert_settled(bus: &Bus, here: (Addr, Addr), elsewhere: &[Addr]) {
    bus.assert_lossless();
    assert_eq!(bus.state(HOST), "registered");
    assert_eq!(bus.state(here.0), "attached");
    assert_eq!(bus.state(here.1), "visitor");
    assert_eq!(bus.route(here.1, None), Some(Via::Neighbour(here.0)));
    assert_eq!(bus.route(CH, None), Some(Via::Tunnel(here.1)));
    assert_eq!(bus.route(HA, None), Some(Via::Tunnel(here.1)));
    assert!(elsewhere.iter().all(|agent| bus.state(*agent) == "departed"));
}

#[test]
fn a_host_that_comes_back_at_any_time_gets_every_packet_once() {
    // The chart's steps lie at 50, 53, 54, 55, 58, 62, 63, 64, 122, 182 and 186 ms.
    for stay in
        [1, 10, 49, 51, 53, 54, 56, 58, 60, 62, 63, 64, 65, 70, 100, 121, 123, 150, 181, 183, 187, 300, 2_500]
    {
        let mut bus = Bus::new(&Params::default());
        bus.move_at(ms(0), Some(BS_A));
        bus.move_at(ms(LEAVES), Some(BS_B));
        bus.move_at(ms(LEAVES + stay), Some(BS_A));
        bus.offer(ms(2_000), ms(16_000));
        bus.run_until(ms(22_000));
        let elsewhere: &[Addr] = if bus.state(FA_B) == "none" { &[] } else { &[FA_B] };
        assert_settled(&bus, (BS_A, FA_A), elsewhere);
        let request = bus.sent(HOST, BS_A, "handoff-request", ms(LEAVES));
        assert_eq!(request, [ms(LEAVES + stay + 50)], "stay {stay}");
        assert_eq!(bus.route(FA_A, Some(BS_A)), None, "stay {stay}: A forwards nothing after the return");
    }
}

#[test]
fn a_base_station_delivers_its_buffer_itself_if_the_host_is_back_before_the_old_agent_knows() {
    let mut bus = Bus::new(&Params::default());
    bus.move_at(ms(0), Some(BS_A));
    bus.move_at(ms(LEAVES), None);
    bus.move_at(ms(LEAVES + 30), Some(BS_A));
    bus.offer(ms(2_000), ms(14_000));
    bus.run_until(ms(20_000));
    bus.assert_lossless();
    assert_eq!(bus.overtaken(ms(LEAVES)), []);
    assert!(bus.received.iter().all(|r| !r.2), "delivered locally, so unmarked");
    assert_eq!(bus.sent(FA_A, BS_A, "forward", ms(LEAVES)), []);
}

#[test]
fn a_late_update_of_the_agent_in_between_does_not_send_packets_after_the_host() {
    let mut bus = Bus::new(&Params::default());
    bus.move_at(ms(0), Some(BS_A));
    bus.move_at(ms(LEAVES), Some(BS_B));
    bus.move_at(ms(LEAVES + 100), Some(BS_A));
    bus.offer(ms(2_000), ms(14_000));
    // B's update to A takes 300 ms: A has the host back by then.
    bus.postpone = Box::new(|_, from, to, sent| {
        let slow = (from, to, sent.name()) == (FA_B, FA_A, "binding-update");
        Duration::from_millis(if slow { 300 } else { 0 })
    });
    bus.run_until(ms(20_000));
    assert_settled(&bus, (BS_A, FA_A), &[FA_B]);
    assert_eq!(bus.sent(FA_A, BS_A, "forward", ms(LEAVES)), []);
    assert_eq!(bus.noted(FA_A, Phase::OldAgentInformed, ms(LEAVES)), []);
}

#[test]
fn a_late_forward_message_finds_the_host_back_and_is_ignored() {
    let mut bus = Bus::new(&Params::default());
    bus.move_at(ms(0), Some(BS_A));
    bus.move_at(ms(LEAVES), Some(BS_B));
    bus.move_at(ms(LEAVES + 100), Some(BS_A));
    bus.offer(ms(2_000), ms(14_000));
    bus.postpone = Box::new(|_, _, to, sent| {
        let slow = (to, sent.name()) == (BS_A, "forward");
        Duration::from_millis(if slow { 300 } else { 0 })
    });
    bus.run_until(ms(20_000));
    assert_eq!(bus.noted(BS_A, Phase::ForwardingStarted, ms(LEAVES)), []);
    assert_settled(&bus, (BS_A, FA_A), &[FA_B]);
}

#[test]
fn a_late_forward_message_does_not_open_the_buffer_of_a_later_stay() {
    let mut bus = Bus::new(&Params::default());
    bus.move_at(ms(0), Some(BS_A));
    bus.move_at(ms(LEAVES), Some(BS_B));
    bus.move_at(ms(LEAVES + 100), Some(BS_A));
    bus.move_at(ms(LEAVES + 300), None);
    bus.move_at(ms(LEAVES + 800), Some(BS_A));
    bus.offer(ms(2_000), ms(14_000));
    bus.postpone = Box::new(|now, _, to, sent| {
        let slow = (to, sent.name()) == (BS_A, "forward") && now < ms(LEAVES + 100);
        Duration::from_millis(if slow { 300 } else { 0 })
    });
    bus.run_until(ms(20_000));
    assert_eq!(bus.noted(BS_A, Phase::ForwardingStarted, ms(LEAVES)), []);
    assert_settled(&bus, (BS_A, FA_A), &[FA_B]);
}

#[test]
fn a_second_handoff_before_the_first_ends_is_chained() {
    for stay in [1, 30, 51, 55, 58, 60, 62, 63, 64, 80, 100, 122, 150, 182, 186, 190, 250, 1_000] {
        let mut bus = Bus::new(&Params::default());
        bus.move_at(ms(0), Some(BS_A));
        bus.move_at(ms(LEAVES), Some(BS_B));
        bus.move_at(ms(LEAVES + stay), Some(BS_C));
        bus.offer(ms(2_000), ms(16_000));
        bus.run_until(ms(22_000));
        assert_settled(&bus, (BS_C, FA_C), &[FA_A]);
    }
}

#[test]
fn packets_for_a_host_that_moved_on_go_through_the_buffer_in_between() {
    // Registered at B (186 ms), gone to C at 190 ms: A still tunnels to B then.
    let mut bus = Bus::new(&Params::default());
    bus.move_at(ms(0), Some(BS_A));
    bus.move_at(ms(LEAVES), Some(BS_B));
    bus.move_at(ms(LEAVES + 190), Some(BS_C));
    bus.offer(ms(2_000), ms(16_000));
    bus.run_until(ms(22_000));
    bus.assert_lossless();
    assert_eq!(bus.noted(BS_B, Phase::ForwardingStarted, ms(LEAVES)), [ms(LEAVES + 190 + 64)]);
    assert_eq!(
        bus.sent(FA_C, FA_A, "binding-update", ms(LEAVES)),
        [],
        "A was settled when C was notified of the host"
    );
    assert_eq!(bus.route(FA_A, None), Some(Via::Tunnel(FA_B)));
}

#[test]
fn two_moves_within_one_agent_and_one_out_of_it() {
    for (first, second) in [(70, 70), (30, 300), (300, 30), (200, 200)] {
        let mut bus = Bus::new(&Params::default());
        bus.move_at(ms(0), Some(BS_A));
        bus.move_at(ms(LEAVES), Some(BS_A2));
        bus.move_at(ms(LEAVES + first), Some(BS_A));
        bus.move_at(ms(LEAVES + first + second), Some(BS_B));
        bus.offer(ms(2_000), ms(16_000));
        bus.run_until(ms(22_000));
        assert_settled(&bus, (BS_B, FA_B), &[FA_A]);
    }
}

#[test]
fn registrations_that_overtake_each_other_leave_the_newer_binding() {
    let mut bus = Bus::new(&Params::default());
    bus.move_at(ms(0), Some(BS_A));
    bus.move_at(ms(LEAVES), Some(BS_B));
    bus.move_at(ms(LEAVES + 100), Some(BS_C));
    bus.offer(ms(2_000), ms(16_000));
    bus.postpone = Box::new(|_, from, to, sent| {
        let slow = (from, to, sent.name()) == (FA_B, HA, "registration-request");
        Duration::from_millis(if slow { 500 } else { 0 })
    });
    bus.run_until(ms(22_000));
    assert_eq!(bus.sent(HA, FA_B, "registration-reply", ms(LEAVES)).len(), 1, "denied");
    assert_eq!(bus.noted(HA, Phase::HomeAgentRegistered, ms(LEAVES)).len(), 1);
    assert_settled(&bus, (BS_C, FA_C), &[FA_A, FA_B]);
}

#[test]
fn updates_to_a_correspondent_that_overtake_each_other_leave_the_newer_binding() {
    let mut bus = Bus::new(&Params::default());
    bus.move_at(ms(0), Some(BS_A));
    bus.move_at(ms(LEAVES), Some(BS_B));
    bus.move_at(ms(LEAVES + 200), Some(BS_C));
    bus.offer(ms(2_000), ms(16_000));
    bus.postpone = Box::new(|_, from, to, sent| {
        let to_b = matches!(sent.kind, Kind::BindingUpdate { care_of: FA_B, .. });
        Duration::from_millis(if to_b && (from, to) == (HA, CH) { 500 } else { 0 })
    });
    bus.run_until(ms(22_000));
    assert_eq!(bus.noted(CH, Phase::CorrespondentInformed, ms(LEAVES)).len(), 1);
    assert_settled(&bus, (BS_C, FA_C), &[FA_A, FA_B]);
}

#[test]
fn an_advertisement_of_an_earlier_stay_does_not_hide_that_the_request_was_lost() {
    let mut bus = Bus::new(&Params { local_handoff: true, ..Params::default() });
    bus.move_at(ms(0), Some(BS_A));
    // The host enters the cell, is out of hearing for a moment, and is back when its first request is answered; those
    // of its second stay are lost.
    bus.move_at(ms(LEAVES), Some(BS_B));
    let back = LEAVES + 100;
    bus.move_at(ms(back), Some(BS_B));
    bus.postpone = Box::new(move |now, from, to, sent| {
        let answers = sent.name() == "agent-advertisement" && (from, to) == (BS_B, HOST);
        Duration::from_millis(if answers && now < ms(back) { 100 } else { 0 })
    });
    bus.lose = Box::new(move |now, _, _, sent| {
        sent.name() == "handoff-request" && now >= ms(back) && now < ms(back + 500)
    });
    bus.run_until(ms(back + 4_000));
    assert_eq!(bus.state(HOST), "registered");
    assert_eq!(bus.noted(HOST, Phase::RegistrationSent, ms(LEAVES)).len(), 1);
}

#[test]
fn a_reply_to_an_earlier_request_registers_nobody() {
    let mut bus = Bus::new(&Params::default());
    bus.move_at(ms(0), Some(BS_A));
    bus.move_at(ms(LEAVES), Some(BS_B));
    bus.lose =
        Box::new(|now, from, _, sent| now >= ms(LEAVES) && from == HA && sent.name() == "registration-reply");
    bus.run_until(ms(LEAVES + 300));
    let reply = Kind::RegistrationReply { code: ReplyCode::ACCEPTED, lifetime: Duration::from_secs(300) };
    bus.tell(HOST, hear(FA_B, 58, reply));
    assert_eq!(bus.state(HOST), "registering");
}

#[test]
fn the_home_agent_never_answers_and_the_foreign_agent_gives_up() {
    let mut bus = Bus::new(&Params::default());
    bus.lose = Box::new(|_, _, to, _| to == HA);
    bus.move_at(ms(0), Some(BS_A));
    // Requests at 58, 1058, 3058 and 7058 ms; the next is due at 15.058 s, and 14.062 s is 7 s after the last.
    bus.run_until(ms(14_061));
    assert_eq!(bus.state(FA_A), "pending");
    bus.run_until(ms(14_063));
    assert_eq!((bus.state(FA_A), bus.route(FA_A, None)), ("none", None));
    assert_eq!(bus.sent(FA_A, HOST, "registration-reply", ms(0)), [ms(14_062)]);
    assert_eq!(bus.state(HOST), "registering");
}

#[test]
fn an_agent_that_knows_nothing_of_the_host_any_more_warns_its_home_agent() {
    let params = Params {
        registration_lifetime: Duration::from_secs(20),
        renewal_margin: Duration::from_secs(5),
        ..Params::default()
    };
    let mut bus = Bus::new(&params);
    bus.move_at(ms(0), Some(BS_A));
    bus.move_at(ms(10_000), None);
    bus.run_until(ms(25_000));
    assert_eq!(bus.state(FA_A), "none");
    let data = Input::Data {
        host: HOST,
        peer: CH,
        direction: Direction::Down,
        from: None,
        tunnelled: true,
        lost: true,
    };
    bus.tell(FA_A, data.clone());
    bus.tell(FA_A, data.clone());
    bus.tell(FA_B, data);
    assert_eq!(bus.sent(FA_A, HA, "binding-warning", ms(0)), [ms(25_000)], "once a second");
    assert_eq!(bus.sent(FA_B, HA, "binding-warning", ms(0)), [], "it cannot know the home agent");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the host does and whatever signalling is lost or late, packets do not circle or come twice, and once the
    /// trouble is over the host is reached.
    #[test]
    fn any_walk_with_any_losses_ends_in_order(
        steps in prop::collection::vec((0usize..5, 1u64..400), 1..12),
        lost in prop::collection::vec(any::<bool>(), 200),
        late in prop::collection::vec(0u64..80, 200),
        detour in any::<bool>(),
        buffering in any::<bool>(),
        local_handoff in any::<bool>(),
    ) {
        let at = if buffering { BufferAt::BaseStation } else { BufferAt::None };
        let buffer = BufferParams { detour, at, ..BufferParams::default() };
        let mut bus = Bus::new(&Params { buffer, local_handoff, ..Params::default() });
        bus.move_at(ms(0), Some(BS_A));
        let cells = [Some(BS_A), Some(BS_A2), Some(BS_B), Some(BS_C), None];
        let mut now = 5_000;
        for (cell, stay) in steps {
            bus.move_at(ms(now), cells[cell]);
            now += stay;
        }
        bus.move_at(ms(now), Some(BS_C));
        let over = ms(now + 1_000);
        let mut fates = lost.into_iter().cycle();
        bus.lose = Box::new(move |now, _, _, sent| {
            now >= ms(5_000) && now < over && sent.name() != "beacon" && fates.next() == Some(true)
        });
        let mut delays = late.into_iter().cycle();
        bus.postpone = Box::new(move |now, _, _, sent| {
            let troubled = now >= ms(5_000) && now < over && sent.name() != "beacon";
            Duration::from_millis(delays.next().filter(|_| troubled).unwrap_or(0))
        });
        bus.offer(ms(3_000), ms(40_000));
        bus.run_until(ms(45_000));
        let numbers = bus.numbers();
        let unique: BTreeSet<_> = numbers.iter().copied().collect();
        prop_assert_eq!(unique.len(), numbers.len(), "a packet came twice");
        prop_assert_eq!(numbers.len() + bus.lost.len(), 7_400, "every packet has one end");
        prop_assert_eq!(bus.state(HOST), "registered");
        prop_assert_eq!(bus.route(CH, None), Some(Via::Tunnel(FA_C)));
        let late: Vec<_> = bus.lost.iter().filter(|lost| lost.0 > ms(now + 16_000)).collect();
        prop_assert!(late.is_empty(), "lost long after the trouble: {:?}", late);
    }
}
