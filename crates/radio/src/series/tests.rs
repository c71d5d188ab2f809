use super::*;

fn rates(text: &str) -> Series<Rates> {
    Series::read(text).unwrap()
}

#[test]
fn columns_have_units_and_any_order() {
    let one = rates("# a drive\ntime_s,rate_mbit_s\n0,12.5\n0.5,0\n1.25,3\n");
    let other = rates("\u{feff}rate_kbit_s,cell,time_ms\r\n12500,a,0\r\n0,b,500\r\n\r\n3000,b,1250\r\n");
    assert_eq!(one, other);
    assert_eq!(
        (one.times.clone().unwrap(), one.values.clone()),
        (vec![0, 500_000_000, 1_250_000_000], vec![12_500_000, 0, 3_000_000])
    );
    // 0.5 s at 12.5, 0.75 s at 0, 0.75 s at 3 Mbit/s: 8.5 Mbit in 2 s.
    assert_eq!(one.mean_rate(), Rate::from_bps(4_250_000));
}

#[test]
fn numbers_are_rounded_to_whole_units() {
    for (text, power, value) in [
        ("12", 0, Some(12)),
        ("12.5", 0, Some(13)),
        ("12.4999", 0, Some(12)),
        ("0.0000005", 6, Some(1)),
        (".5", 3, Some(500)),
        ("5.", 3, Some(5000)),
        ("", 3, None),
        (".", 3, None),
        ("1e3", 3, None),
        ("-1", 3, None),
        ("+1", 3, None),
        ("1,5", 3, None),
        ("99999999999999999999", 0, None),
        ("18446744073709551", 9, None),
    ] {
        assert_eq!(scaled(text, power), value, "{text}");
    }
}

#[test]
fn a_series_repeats_or_holds_its_last_value() {
    let series = Arc::new(rates("time_s,rate_mbit_s\n0,1\n2,2\n3,3\n"));
    let at = |at_end, time: u64| {
        let mut player = Player::new(Arc::clone(&series), Duration::ZERO, at_end);
        player.seek(time * 100_000_000);
        player.value() / 1_000_000
    };
    // The last row lasts as long as the one before it, 1 s: the period is 4 s.
    for (tenth, repeated, held) in [
        (0, 1, 1),
        (19, 1, 1),
        (20, 2, 2),
        (30, 3, 3),
        (39, 3, 3),
        (40, 1, 3),
        (60, 2, 3),
        (79, 3, 3),
        (400, 1, 3),
    ] {
        assert_eq!((at(AtEnd::Repeat, tenth), at(AtEnd::Hold, tenth)), (repeated, held), "{tenth}");
    }
}

#[test]
fn a_line_is_a_step() {
    let series: Series<Delays> = Series::read("24\n18.5\n").unwrap();
    assert!(series.is_lines());
    let step = Duration::from_millis(10);
    assert_eq!(series.mean_delay(Some(step)), Duration::from_micros(21_250));
    let mut player = Player::new(Arc::new(series), step, AtEnd::Repeat);
    let mut seen = Vec::new();
    for ms in [0, 9, 10, 19, 20, 35] {
        player.seek(ms * 1_000_000);
        seen.push(player.value() / 1000);
    }
    assert_eq!(seen, [24_000, 24_000, 18_500, 18_500, 24_000, 18_500]);
}

#[test]
fn a_bad_file_is_refused_by_its_line() {
    let table = |rest: &str| format!("time_s,rate_mbit_s\n0,5\n1,6\n{rest}\n");
    for (text, line, part) in [
        (String::new(), 1, "the file is empty"),
        ("time_s,rate_mbit_s\n".into(), 1, "no rows"),
        ("1\n2\n".into(), 1, "no names of columns"),
        ("time_s;rate_mbit_s\n0;5\n".into(), 1, "separated by semicolons"),
        ("time_s,rate\n0,5\n".into(), 1, "a column of rate_mbit_s, rate_kbit_s, rate_bit_s"),
        ("time,rate_mbit_s\n0,5\n".into(), 1, "a column of time_s"),
        ("time_s,time_ms,rate_mbit_s\n0,0,5\n".into(), 1, "two columns with a time"),
        (table("2"), 4, "expected 2 fields as in the first line, got 1"),
        (table("2,7,8"), 4, "got 3"),
        (table("x,7"), 4, "the time is wrong"),
        (table("2,"), 4, "the value is wrong"),
        (table("2,-7"), 4, "the value is wrong"),
        (table("2,1e3"), 4, "all digits"),
        (table("1,7"), 4, "1 s is not after the row before, 1 s"),
        (table("0.5,7"), 4, "500 ms is not after the row before, 1 s"),
        (table("1700000000,7"), 4, "50 years"),
        ("time_s,rate_mbit_s\n1,5\n".into(), 2, "write a row at 0"),
        ("time_s,rate_mbit_s\n0,0\n1,0\n".into(), 1, "every rate is 0"),
    ] {
        let bad = <Series<Rates>>::read(&text).map(|_| ()).err();
        // 1,700,000,000 s are 53.9 years.
        let bad = bad.unwrap_or_else(|| panic!("{text:?} is read"));
        assert!(bad.line == line && bad.message.contains(part), "{text:?}: {bad:?}");
        assert!(bad.message.contains(": write "), "{bad:?}");
    }
    for (text, part) in [("24\nx\n", "alone on each line"), ("24\n4000000\n", "from 0 to 1 h")] {
        let bad = <Series<Delays>>::read(text).unwrap_err();
        assert!(bad.line == 2 && bad.message.contains(part), "{bad:?}");
    }
    let bad = <Series<Losses>>::read("time_s,loss\n0,1.1\n").unwrap_err();
    assert!(bad.message.contains("a probability from 0 to 1"), "{bad:?}");
}
