//! The transmission buffer of a radio bearer. It has a limit in packets and bytes, as RLC's queue, a timer after which a
//! packet is discarded, as PDCP's (TS 38.323 §5.3), and marks by the time in the queue.
//!
//! The defaults are those of srsRAN Project (commit 4bf1543936): 16,384 SDUs and 6,172,672 B a bearer, and a discard timer
//! for each 5QI.

use crate::forwarded::{Exemption, exempting_params, validate_mark};
use crate::timed::Timed;
use crate::{BadField, Gauges, Matching, Parameters, QdiscCx, QueueDisc};
use roamlab_engine::{Bytes, Duration, Packets, Rng};
use roamlab_packet::{DropReason, PacketId};

exempting_params! {
    /// A bearer's buffer: limits in packets and bytes as RLC's, PDCP's discard timer, and marks by the time in the queue.
    own {
        /// Packets (SDUs) that may wait (default 16384 pkt, srsRAN).
        limit: Packets = Packets(16_384);
        /// Bytes that may wait (default 6172672 B, srsRAN).
        limit_bytes: Bytes = Bytes(6_172_672);
        /// The kind of traffic (TS 23.501 table 5.7.4-1) whose discard timer in srsRAN holds where `discard_timer` is not
        /// written: 1 to 10, 69, 70 or 82 to 88.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "u8")]
        five_qi: Option<u8> = None;
        /// A packet that has waited so long is lost: one of 3GPP's values (TS 38.331, `discardTimer`), "0.5 ms" to "2 s".
        /// Without it and without `five_qi` there is no such time.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Duration")]
        discard_timer: Option<Duration> = None;
        /// An ECN-capable packet that has waited longer is marked when it leaves; without it none is.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Duration")]
        mark_above: Option<Duration> = None;
    }
}

/// 3GPP's values in µs (TS 38.331: `discardTimer`, `discardTimerExt-r16`, `discardTimerExt2-r17`).
const DISCARD_TIMERS: [u64; 22] = [
    500, 1_000, 2_000, 4_000, 6_000, 8_000, 10_000, 20_000, 30_000, 40_000, 50_000, 60_000, 75_000, 100_000,
    150_000, 200_000, 250_000, 300_000, 500_000, 750_000, 1_500_000, 2_000_000,
];

/// srsRAN's discard timer for a kind of traffic in ms; `None` within: infinity.
fn discard_timer_of(five_qi: u8) -> Option<Option<u64>> {
    Some(match five_qi {
        1 | 5 => Some(100),
        2 => Some(150),
        3 => Some(50),
        4 | 6 | 8 => Some(300),
        7 | 9 => None,
        10 => Some(1500),
        69 => Some(60),
        70 => Some(200),
        82..=88 => Some(10),
        _ => return None,
    })
}

impl Params {
    fn longest_wait(&self) -> Option<Duration> {
        let preset = || discard_timer_of(self.five_qi?).flatten().map(Duration::from_millis);
        self.discard_timer.or_else(preset)
    }
}

impl Parameters for Params {
    fn validate(&self) -> Result<(), BadField> {
        crate::validate_limit(self.limit, false)?;
        crate::validate_byte_limit(Some(self.limit_bytes))?;
        if let Some(five_qi) = self.five_qi.filter(|five_qi| discard_timer_of(*five_qi).is_none()) {
            let message =
                format!("srsRAN has no values for 5QI {five_qi}: write 1 to 10, 69, 70 or 82 to 88");
            return Err(("five_qi", message));
        }
        if let Some(timer) = self.discard_timer
            && !DISCARD_TIMERS.iter().any(|micros| Duration::from_micros(*micros) == timer)
        {
            let after = DISCARD_TIMERS.map(Duration::from_micros).into_iter().find(|value| *value > timer);
            let near = after.unwrap_or(Duration::from_micros(2_000_000));
            return Err((
                "discard_timer",
                format!("{timer} is none of 3GPP's values: write for example \"{near}\""),
            ));
        }
        validate_mark(self.mark)
    }
}

/// The discipline.
#[derive(Clone, Debug)]
pub struct Rlc {
    limit: usize,
    limit_bytes: u64,
    longest_wait: Option<Duration>,
    mark_above: Option<Duration>,
    exemption: Exemption,
    line: Timed,
    sojourn: Duration,
}

impl Rlc {
    /// Discards what has waited as long as the timer says.
    ///
    /// DEVIATION: the timer is looked at when a packet arrives, leaves or is taken out, not when it expires.
    fn discard(&mut self, cx: &mut QdiscCx<'_>) {
        let Some(longest) = self.longest_wait else { return };
        while self.line.head_sojourn(cx.now) >= longest {
            let Some((packet, _)) = self.line.pop(cx.now, cx.pool) else { return };
            cx.drop(packet, DropReason::EarlyDrop);
        }
    }
}

impl QueueDisc for Rlc {
    type Params = Params;

    fn new(params: &Params, _: Rng) -> Rlc {
        Rlc {
            limit: params.limit.0 as usize,
            limit_bytes: params.limit_bytes.0,
            longest_wait: params.longest_wait(),
            mark_above: params.mark_above,
            exemption: params.exemption(),
            line: Timed::with_mark(params.mark),
            sojourn: Duration::ZERO,
        }
    }

    #[inline(never)]
    fn enqueue(&mut self, packet: PacketId, cx: &mut QdiscCx<'_>) {
        self.discard(cx);
        let (limit, room) = (self.limit, self.limit_bytes.checked_sub(cx.pool[&packet].wire_size().0));
        let is_full = |line: &Timed| line.packets() >= limit || room.is_none_or(|room| line.bytes().0 > room);
        if let Some(packet) = self.exemption.admit(packet, &mut self.line, is_full, cx) {
            self.line.push(packet, cx.now, cx.pool);
        }
    }

    #[inline(never)]
    fn dequeue(&mut self, cx: &mut QdiscCx<'_>) -> Option<PacketId> {
        self.discard(cx);
        let Some((packet, sojourn)) = self.line.pop(cx.now, cx.pool) else {
            self.sojourn = Duration::ZERO;
            return None;
        };
        self.sojourn = sojourn;
        if self.mark_above.is_some_and(|limit| sojourn > limit) && !self.exemption.spares(&packet, cx.pool) {
            let _is_capable = cx.mark_ce(&packet);
        }
        Some(packet)
    }

    fn take_matching(&mut self, wanted: &Matching<'_>, cx: &mut QdiscCx<'_>) -> Vec<PacketId> {
        self.discard(cx);
        self.line.take_matching(wanted, cx.pool)
    }

    fn head(&self) -> Option<&PacketId> {
        self.line.head()
    }

    fn packets(&self) -> usize {
        self.line.packets()
    }

    fn bytes(&self) -> Bytes {
        self.line.bytes()
    }

    fn gauges(&self) -> Gauges {
        Gauges { sojourn: self.sojourn, forwarded: self.line.forwarded(), ..Gauges::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ForwardedAtFull;
    use crate::conformance::{Bench, MARKED, PLAIN, check, packet};
    use roamlab_packet::{Ecn, FlowId};

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn discarding(timer: Duration) -> Params {
        Params { discard_timer: Some(timer), ..Params::default() }
    }

    #[test]
    fn srsrans_defaults_hold_6_mb_and_16384_packets() {
        let mut bench = Bench::<Rlc>::new(&Params::default());
        // 6,172,672 B / 1,500 B = 4,115.1: at 10 Mbit/s they last 4.9 s.
        let lost = (0..5000).filter(|_| bench.offer_is_lost(packet(0, 1500, PLAIN))).count();
        assert_eq!((bench.queue.packets(), lost), (4115, 885));
        assert_eq!(bench.last_reason(), Some(DropReason::QueueOverflow));
        let mut bench = Bench::<Rlc>::new(&Params::default());
        let lost = (0..16_400).filter(|_| bench.offer_is_lost(packet(0, 40, PLAIN))).count();
        assert_eq!(lost, 16);
    }

    #[test]
    fn a_packet_is_discarded_when_it_has_waited_as_long_as_the_timer() {
        for (wait, served) in [(ms(100).saturating_sub(Duration::from_nanos(1)), Some(1)), (ms(100), None)] {
            let mut bench = Bench::<Rlc>::new(&discarding(ms(100)));
            bench.offer_many(1, PLAIN);
            bench.wait(wait);
            assert_eq!(bench.serve(), served);
            assert_eq!(bench.last_reason(), served.is_none().then_some(DropReason::EarlyDrop));
        }
    }

    #[test]
    fn late_packets_free_their_places_for_an_arrival() {
        let mut bench = Bench::<Rlc>::new(&Params { limit: Packets(2), ..discarding(ms(10)) });
        bench.offer_many(2, PLAIN);
        bench.wait(ms(10));
        bench.offer_many(1, PLAIN);
        assert_eq!((bench.lost(), bench.head()), (vec![1, 2], Some(3)));
    }

    #[test]
    fn late_packets_are_not_forwarded() {
        // Ten packets in 100 ms; with a timer of 50 ms those of the last 50 ms are left.
        let mut bench = Bench::<Rlc>::new(&discarding(ms(50)));
        for _ in 0..10 {
            bench.offer_many(1, PLAIN);
            bench.wait(ms(10));
        }
        assert_eq!(bench.take_matching(FlowId(0)), [7, 8, 9, 10]);
        assert_eq!(bench.lost(), [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn a_kind_of_traffic_has_srsrans_timer() {
        for (five_qi, timer) in [
            (1, Some(100)),
            (2, Some(150)),
            (3, Some(50)),
            (4, Some(300)),
            (7, None),
            (9, None),
            (10, Some(1500)),
            (69, Some(60)),
            (70, Some(200)),
            (85, Some(10)),
        ] {
            let params = Params { five_qi: Some(five_qi), ..Params::default() };
            assert_eq!((params.validate(), params.longest_wait()), (Ok(()), timer.map(ms)), "5QI {five_qi}");
        }
        let both = Params { five_qi: Some(1), ..discarding(ms(20)) };
        assert_eq!(both.longest_wait(), Some(ms(20)), "what is written holds");
    }

    #[test]
    fn values_that_3gpp_does_not_have_are_refused() {
        for (timer, near) in [(ms(70), "75 ms"), (ms(0), "500 us"), (ms(9000), "2 s")] {
            let (field, message) = discarding(timer).validate().expect_err("none of the values");
            assert!(field == "discard_timer" && message.contains(near), "{message}");
        }
        for micros in DISCARD_TIMERS {
            assert_eq!(discarding(Duration::from_micros(micros)).validate(), Ok(()));
        }
        let refused = Params { five_qi: Some(11), ..Params::default() }.validate();
        assert!(refused.is_err_and(|(field, message)| field == "five_qi" && message.contains("1 to 10")));
    }

    #[test]
    fn a_packet_that_waited_longer_is_marked_if_it_can_be() {
        let params = Params { mark_above: Some(ms(10)), ..Params::default() };
        for (wait, ecn, marked) in
            [(10, Ecn::Ect1, false), (11, Ecn::Ect1, true), (11, Ecn::Ect0, true), (11, Ecn::NotEct, false)]
        {
            let mut bench = Bench::<Rlc>::new(&params);
            bench.offer(packet(0, 512, PLAIN.with_ecn(ecn)));
            bench.wait(ms(wait));
            let ce = bench.serve_packet().is_some_and(|packet| packet.header.tos.ecn() == Ecn::Ce);
            assert_eq!(ce, marked, "{ecn:?} after {wait} ms");
        }
    }

    #[test]
    fn a_spared_packet_is_not_marked_but_discarded() {
        let params = Params { mark_above: Some(ms(10)), spare_forwarded: true, ..discarding(ms(100)) };
        let mut bench = Bench::<Rlc>::new(&params);
        bench.offer(packet(0, 512, MARKED.with_ecn(Ecn::Ect1)));
        bench.offer(packet(0, 512, MARKED.with_ecn(Ecn::Ect1)));
        bench.wait(ms(50));
        assert_eq!(bench.serve_packet().map(|packet| packet.header.tos.ecn()), Some(Ecn::Ect1));
        bench.wait(ms(50));
        assert_eq!(bench.serve(), None);
        assert_eq!(bench.last_reason(), Some(DropReason::EarlyDrop));
    }

    #[test]
    fn the_gauge_is_the_wait_of_the_packet_that_left_last() {
        let mut bench = Bench::<Rlc>::new(&Params::default());
        bench.offer_many(1, PLAIN);
        bench.wait(ms(7));
        bench.serve();
        assert_eq!(bench.queue.gauges().sojourn, ms(7));
        bench.serve();
        assert_eq!(bench.queue.gauges().sojourn, Duration::ZERO);
    }

    #[test]
    fn a_spared_packet_pushes_another_out() {
        let forwarded_at_full = ForwardedAtFull::PushOut;
        let params =
            Params { limit: Packets(2), spare_forwarded: true, forwarded_at_full, ..Params::default() };
        let mut bench = Bench::<Rlc>::new(&params);
        bench.offer_many(2, PLAIN);
        bench.offer_many(1, MARKED);
        assert_eq!((bench.lost(), bench.serve(), bench.serve()), (vec![2], Some(1), Some(3)));
    }

    #[test]
    fn small_queues_keep_the_contract_too() {
        let params = discarding(Duration::from_micros(500));
        check::<Rlc>(&Params { limit: Packets(5), ..params.clone() });
        let forwarded_at_full = ForwardedAtFull::PushOut;
        let limit_bytes = Bytes(6000);
        check::<Rlc>(&Params { limit_bytes, spare_forwarded: true, forwarded_at_full, ..params });
    }
}
