use super::*;
use proptest::prelude::*;
use roamlab_engine::Recording;

fn table(rows: &[(u64, u64)]) -> Arc<Series<Rates>> {
    let rows: String = rows.iter().map(|(time, rate)| format!("{time},{rate}\n")).collect();
    Arc::new(Series::read(&format!("time_ns,rate_bit_s\n{rows}")).unwrap())
}

fn ms(time: u64) -> Time {
    Time::from_nanos(time * 1_000_000)
}

#[test]
fn a_packet_goes_on_with_the_new_rate_and_waits_at_rate_0() {
    // 8 Mbit/s for 1 ms, nothing for 2 ms, 4 Mbit/s from 3 ms on: 1000 B, 0 B, 500 B each ms.
    let series = table(&[(0, 8_000_000), (1_000_000, 0), (3_000_000, 4_000_000)]);
    let mut link = SteppedTransmitter::new(series, AtEnd::Hold);
    assert_eq!(
        link.transmission_end(ms(0), Bytes(1000), false),
        ms(1),
        "exactly what the first step carries"
    );
    assert_eq!(link.transmission_end(ms(1), Bytes(500), true), ms(4));
    assert_eq!(link.transmission_end(ms(4), Bytes(1500), true), ms(7));
}

#[test]
fn a_table_of_one_row_is_a_constant_rate() {
    let rate = Rate::from_bps(7_000_003);
    let mut link = SteppedTransmitter::new(table(&[(0, 7_000_003)]), AtEnd::Repeat);
    let (mut now, mut due, mut remainder) = (ms(3), ms(3), 0);
    for size in [1500, 40, 9000, 1, 1500] {
        now = link.transmission_end(now, Bytes(size), due > ms(3));
        due += rate.transmission_time(Bytes(size), &mut remainder);
        assert_eq!(now, due);
    }
}

#[test]
fn whole_periods_are_skipped() {
    // One bit in a nanosecond of each hour.
    let hour = 3_600_000_000_000;
    let series = table(&[(0, 1_000_000_000), (1, 0), (hour / 2, 0)]);
    let mut link = SteppedTransmitter::new(series, AtEnd::Repeat);
    // The period is `hour - 1`: the last row lasts as long as the second.
    let period = hour - 1;
    let end = link.transmission_end(Time::ZERO, Bytes(1500), false);
    assert_eq!(end, Time::from_nanos(11_999 * period + 1));
    assert!(
        link.transmission_end(end, Bytes(1 << 30), true) > ms(10_000 * 365 * 24 * 3_600),
        "later than any run"
    );
}

proptest! {
    /// Against the definition: bits are carried nanosecond by nanosecond.
    #[test]
    fn the_integral_of_the_rate_over_a_transmission_is_the_packet(
        steps in prop::collection::vec((1u64..40, 0u64..30), 2..8),
        packets in prop::collection::vec((0u64..60, 1u64..9), 1..12),
        repeats: bool
    ) {
        // Rates in bit/ns, so that a whole number of bits is carried in each.
        let mut at = 0;
        let mut rows: Vec<(u64, u64)> = steps.iter().map(|(lasts, rate)| { at += lasts; (at - lasts, *rate) }).collect();
        let last = rows.len() - 1;
        rows[last].1 += 1;
        let period = rows[last].0 + (rows[last].0 - rows[last - 1].0);
        let rate = |time: u64| {
            let time = if repeats { time % period } else { time };
            rows[rows.partition_point(|row| row.0 <= time) - 1].1
        };
        let series = table(&rows.iter().map(|(time, rate)| (*time, rate * 1_000_000_000)).collect::<Vec<_>>());
        let at_end = if repeats { AtEnd::Repeat } else { AtEnd::Hold };
        let mut link = SteppedTransmitter::new(series, at_end);
        // `spare`: bits of the nanosecond in which the packet before ended, which the next one has.
        let (mut now, mut spare) = (0, 0);
        for (number, (idle, size)) in packets.into_iter().enumerate() {
            let waited = idle < 20 && number > 0;
            if !waited {
                (now, spare) = (now + idle, 0);
            }
            let (mut left, mut due) = (size * 8 + spare, now);
            while left >= rate(due).max(1) {
                left -= rate(due);
                due += 1;
            }
            spare = left;
            let end = link.transmission_end(Time::from_nanos(now), Bytes(size), waited);
            prop_assert_eq!(end.as_nanos(), due);
            now = end.as_nanos();
        }
    }
}
