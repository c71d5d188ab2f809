//! The state tables, and worked examples.

use super::{OldAck, Params, Reaction, RoundTripAverage, Snoop};
use roamlab_engine::{Duration, Packets, Time};

const WINDOW: u32 = 20;

fn ms(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// A base station that has forwarded segments `1..=last`, one in each millisecond, and seen the acknowledgement of the first.
fn forwarded(params: Params, last: u32) -> Snoop<u32> {
    let mut snoop = Snoop::new(params);
    (1..=last).for_each(|seq| snoop.on_data(ms(u64::from(seq)), seq, seq));
    assert_eq!(snoop.on_ack(ms(11), 2, WINDOW), Reaction::Forward);
    snoop
}

/// Segment 5 of 1 to 12 is lost over the air, whose round trip is 10 ms.
fn fifth_of_twelve(params: Params) -> Snoop<u32> {
    let mut snoop = forwarded(params, 12);
    for ack in 3..=5 {
        assert_eq!(snoop.on_ack(ms(u64::from(ack) + 9), ack, WINDOW), Reaction::Forward);
    }
    snoop
}

#[test]
fn a_lost_segment_is_sent_again_at_the_second_duplicate_and_five_more_are_suppressed() {
    let mut snoop = fifth_of_twelve(Params::default());
    assert_eq!(snoop.on_ack(ms(16), 5, WINDOW), Reaction::Forward);
    assert_eq!(snoop.on_ack(ms(17), 5, WINDOW), Reaction::Resend(5));
    for at in 18..=22 {
        assert_eq!(snoop.on_ack(ms(at), 5, WINDOW), Reaction::Suppress);
        assert!(snoop.relies_on_kept(5));
    }
    assert_eq!(snoop.on_ack(ms(27), 13, WINDOW), Reaction::Forward);
    assert!(snoop.is_empty());
    assert_eq!(snoop.deadline(), None);
}

#[test]
fn the_local_timer_sends_again_what_was_lost_twice() {
    let params = Params { first_variation: Duration::ZERO, ..Params::default() };
    let mut snoop = fifth_of_twelve(Params { average: RoundTripAverage::Ns2, ..params });
    assert_eq!(snoop.on_ack(ms(16), 5, WINDOW), Reaction::Forward);
    assert_eq!(snoop.on_ack(ms(17), 5, WINDOW), Reaction::Resend(5));
    (18..=22).for_each(|at| assert_eq!(snoop.on_ack(ms(at), 5, WINDOW), Reaction::Suppress));
    assert_eq!(snoop.deadline(), Some(ms(117)), "the least wait after the resend");
    assert_eq!(snoop.on_deadline(ms(116)), None);
    assert_eq!(snoop.on_deadline(ms(117)), Some(5));
    assert_eq!(snoop.deadline(), Some(ms(217)));
}

#[test]
fn duplicates_pass_after_the_state_is_lost_at_a_move() {
    let mut snoop = fifth_of_twelve(Params::default());
    snoop.forget();
    for at in 16..=22 {
        assert_eq!(snoop.on_ack(ms(at), 5, WINDOW), Reaction::Forward);
    }
    snoop.on_data(ms(100), 13, 13);
    snoop.on_data(ms(101), 5, 5);
    assert_eq!(snoop.on_ack(ms(111), 5, WINDOW), Reaction::Forward, "the sender has sent 5 again: marked");
    assert_eq!(snoop.on_ack(ms(112), 5, WINDOW), Reaction::Forward);
}

#[test]
fn a_segment_that_the_sender_sends_again_is_the_senders() {
    let mut snoop = fifth_of_twelve(Params::default());
    snoop.on_data(ms(16), 5, 50);
    for at in 17..=20 {
        assert_eq!(snoop.on_ack(ms(at), 5, WINDOW), Reaction::Forward);
    }
    assert_eq!(snoop.on_deadline(snoop.deadline().expect("it runs")), Some(50), "the newer copy");
}

#[test]
fn a_segment_lost_before_the_base_station_is_the_senders() {
    let mut snoop = Snoop::new(Params::default());
    [1, 2, 4, 5, 6, 7].into_iter().for_each(|seq| snoop.on_data(ms(1), seq, seq));
    assert_eq!(snoop.on_ack(ms(11), 3, WINDOW), Reaction::Forward);
    for at in 12..=15 {
        assert_eq!(snoop.on_ack(ms(at), 3, WINDOW), Reaction::Forward);
    }
    assert_eq!(snoop.len(), 4);
}

#[test]
fn a_full_cache_and_a_full_queue_leave_the_loss_to_the_sender() {
    let mut snoop = forwarded(Params { limit: Packets(3), ..Params::default() }, 5);
    assert_eq!(snoop.len(), 2, "2 and 3: 4 and 5 had no room");
    assert_eq!(snoop.on_ack(ms(13), 4, WINDOW), Reaction::Forward);
    assert_eq!(snoop.on_ack(ms(14), 4, WINDOW), Reaction::Forward);
    assert_eq!(snoop.on_ack(ms(15), 4, WINDOW), Reaction::Forward);
    let mut snoop = fifth_of_twelve(Params::default());
    snoop.on_full_queue(5);
    for at in 16..=18 {
        assert_eq!(snoop.on_ack(ms(at), 5, WINDOW), Reaction::Forward);
    }
}

#[test]
fn a_change_of_the_window_is_no_duplicate_and_an_old_ack_does_what_the_parameter_says() {
    let mut snoop = fifth_of_twelve(Params { threshold: 1, ..Params::default() });
    assert_eq!(snoop.on_ack(ms(16), 5, WINDOW - 1), Reaction::Forward);
    assert_eq!(snoop.on_ack(ms(17), 4, WINDOW), Reaction::Forward);
    assert_eq!(snoop.on_ack(ms(18), 5, WINDOW - 1), Reaction::Resend(5));
    let mut snoop = fifth_of_twelve(Params { old_ack: OldAck::Drop, ..Params::default() });
    assert_eq!(snoop.on_ack(ms(17), 4, WINDOW), Reaction::Suppress);
}

#[test]
fn a_segment_is_sent_again_no_more_often_than_it_may() {
    let mut snoop = fifth_of_twelve(Params { resends: 2, threshold: 1, ..Params::default() });
    let resends = std::iter::from_fn(|| {
        let deadline = snoop.deadline()?;
        Some(snoop.on_deadline(deadline))
    });
    assert_eq!(resends.collect::<Vec<_>>(), [Some(5), Some(5), None]);
    assert_eq!(snoop.on_ack(ms(5_000), 5, WINDOW), Reaction::Forward);
}

#[test]
fn the_averages_have_the_weights_of_rfc_6298_or_of_ns_2() {
    let wait = |average: RoundTripAverage| {
        let mut snoop = Snoop::new(Params { average, ..Params::default() });
        (1..=2).for_each(|seq| snoop.on_data(ms(0), seq, seq));
        assert_eq!(snoop.on_ack(ms(20), 2, WINDOW), Reaction::Forward);
        snoop.deadline().map(|deadline| deadline - ms(20))
    };
    let micros = |us: u64| Some(Duration::from_micros(us));
    // 100 · 7/8 + 20/8 = 90; 250 · 3/4 + 80/4 = 207.5: 90 + 4 · 207.5 = 920 ms.
    assert_eq!(wait(RoundTripAverage::Standard), micros(920_000));
    // 100/8 + 20 · 7/8 = 30; 250/8 + 80 · 7/8 = 101.25: 30 + 4 · 101.25 = 435 ms.
    assert_eq!(wait(RoundTripAverage::Ns2), micros(435_000));
}

#[test]
fn values_out_of_range_are_refused_by_field() {
    let refused = |params: Params| params.check().err().map(|(field, _)| field);
    assert_eq!(refused(Params::default()), None);
    assert_eq!(refused(Params { limit: Packets(0), ..Params::default() }), Some("limit"));
    assert_eq!(refused(Params { threshold: 0, ..Params::default() }), Some("threshold"));
    assert_eq!(refused(Params { threshold: 4, ..Params::default() }), Some("threshold"));
    assert_eq!(refused(Params { resends: 0, ..Params::default() }), Some("resends"));
    assert_eq!(refused(Params { least_wait: Duration::ZERO, ..Params::default() }), Some("least_wait"));
}
