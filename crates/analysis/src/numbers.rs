//! Numbers in sentences.

/// A time in seconds with three decimals.
pub fn seconds(nanoseconds: i64) -> String {
    format!("{:.3}", nanoseconds as f64 / 1e9)
}

/// A number with this many significant digits and no zeros at the end, as `%g` of C writes it.
pub fn general(value: f64, digits: usize) -> String {
    let scientific = format!("{value:.*e}", digits - 1);
    let Some((mantissa, power)) = scientific.split_once('e') else { return scientific };
    let power: i32 = power.parse().unwrap_or(0);
    if (-4..digits as i32).contains(&power) {
        let decimals = (digits as i32 - 1 - power) as usize;
        return trimmed(&format!("{value:.decimals$}")).to_owned();
    }
    let sign = if power < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(mantissa), power.abs())
}

/// Without the zeros behind a point.
fn trimmed(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

/// Two decimals; the half is rounded up.
pub fn hundredths(value: f64) -> String {
    let number = (100.0 * value + 0.5).floor() as i64;
    format!("{}.{:02}", number.div_euclid(100), number.rem_euclid(100))
}

/// "1 packet", "2 packets".
pub fn counted(number: usize, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_its_significant_digits() {
        for (value, digits, text) in [
            (0.0, 3, "0"),
            (1.2, 3, "1.2"),
            (1234.0, 3, "1.23e+03"),
            (999.6, 3, "1e+03"),
            (0.000_123_45, 3, "0.000123"),
            (0.000_012_3, 2, "1.2e-05"),
            (20.0, 2, "20"),
            (0.5, 3, "0.5"),
        ] {
            assert_eq!(general(value, digits), text);
        }
        assert_eq!((hundredths(3.126).as_str(), hundredths(0.005).as_str()), ("3.13", "0.01"));
        assert_eq!(seconds(1_234_567_890), "1.235");
    }
}
