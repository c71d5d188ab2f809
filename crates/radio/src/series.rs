//! Values over time from a file or a channel: the rate, the delay or the loss of a link.
//!
//! A file is a table with commas, whose first line names the columns (`time_s,rate_mbit_s`), or, for delays and losses, has
//! one value on each line. A value of a table holds from its time until that of the next row. Values of lines hold for
//! equal steps, losses for one packet each. At its end a series begins again, or holds its last value. The last row of a
//! table lasts as long as the row before it.

use roamlab_engine::{BadLine, Duration, Rate, Recording};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;
use std::sync::Arc;

/// Values behind the last one.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AtEnd {
    /// The series begins again.
    #[default]
    Repeat,
    /// The last value holds until the run ends.
    Hold,
}

/// Order in which packets arrive that would overtake others when the delay of their link falls.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// None overtakes: it arrives together with the one before it, directly behind it.
    #[default]
    Kept,
    /// None overtakes: it arrives its own transmission time after the one before it (ns-2 with `avoidReordering_`).
    Spaced,
    /// They overtake.
    Overtaking,
}

/// A property of a link whose values a series has.
pub trait Quantity {
    /// Names of the column, each with the power of ten that makes its numbers whole.
    const COLUMNS: &'static [(&'static str, u32)];
    /// The power of ten of a file with one value on each line, and such a value; `None`: there are no such files.
    const LINES: Option<(u32, &'static str)>;
    /// The greatest value.
    const GREATEST: u64;
    /// A table of two lines, in one.
    const EXAMPLE: &'static str;
    /// The range of a value, in words.
    const EXPECTED: &'static str;
}

/// Rates in bit/s.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rates;

impl Quantity for Rates {
    const COLUMNS: &'static [(&'static str, u32)] =
        &[("rate_mbit_s", 6), ("rate_kbit_s", 3), ("rate_bit_s", 0)];
    const LINES: Option<(u32, &'static str)> = None;
    const GREATEST: u64 = 1_000_000_000_000_000;
    const EXAMPLE: &'static str = "`time_s,rate_mbit_s` and below it `0,12.5`";
    const EXPECTED: &'static str = "a rate from 0 to 1000 Tbit/s";
}

/// Delays in nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delays;

impl Quantity for Delays {
    const COLUMNS: &'static [(&'static str, u32)] = &[("delay_ms", 6), ("delay_s", 9)];
    const LINES: Option<(u32, &'static str)> = Some((6, "24.5"));
    const GREATEST: u64 = 3_600_000_000_000;
    const EXAMPLE: &'static str = "`time_s,delay_ms` and below it `0,24.5`";
    const EXPECTED: &'static str = "a delay from 0 to 1 h";
}

/// Probabilities of loss, in units of 10^-12.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Losses;

/// Units of a probability of 1.
pub const CERTAIN: u64 = 1_000_000_000_000;

impl Quantity for Losses {
    const COLUMNS: &'static [(&'static str, u32)] = &[("loss", 12)];
    const LINES: Option<(u32, &'static str)> = Some((12, "0"));
    const GREATEST: u64 = CERTAIN;
    const EXAMPLE: &'static str = "`time_s,loss` and below it `0,0.01`";
    const EXPECTED: &'static str = "a probability from 0 to 1";
}

/// The content of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Series<Q> {
    /// When each value begins, in ns; the first is 0. `None`: the file has one value on each line.
    times: Option<Vec<u64>>,
    values: Vec<u64>,
    quantity: PhantomData<Q>,
}

/// The latest time, so that no sum of times overflows.
pub(crate) const LATEST: u64 = 50 * 366 * 86_400 * 1_000_000_000;

const TIMES: [(&str, u32); 4] = [("time_s", 9), ("time_ms", 6), ("time_us", 3), ("time_ns", 0)];

impl<Q: Quantity> Recording for Series<Q> {
    fn read(text: &str) -> Result<Series<Q>, BadLine> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let rows = text.lines().zip(1..).map(|(row, line)| (row.trim_ascii(), line));
        let mut rows = rows.filter(|(row, _)| !row.is_empty() && !row.starts_with('#')).peekable();
        let Some(&(first, line)) = rows.peek() else {
            let message = format!("the file is empty: write {}", Q::EXAMPLE);
            return Err(BadLine { line: 1, message });
        };
        let mut series =
            Series { times: None, values: Vec::with_capacity(text.len() / 16), quantity: PhantomData };
        if first.contains(|letter: char| letter.is_ascii_alphabetic()) {
            let columns = Columns::of::<Q>(first).map_err(|message| BadLine { line, message })?;
            rows.next();
            let mut times = Vec::with_capacity(text.len() / 16);
            for (row, line) in rows {
                series.add(row, &columns, &mut times).map_err(|message| BadLine { line, message })?;
            }
            if times.is_empty() {
                let message = format!("the table has no rows: write {}", Q::EXAMPLE);
                return Err(BadLine { line, message });
            }
            series.times = Some(times);
        } else {
            for (row, line) in rows {
                series.values.push(one_a_line::<Q>(row).map_err(|message| BadLine { line, message })?);
            }
        }
        if series.values.iter().all(|value| *value == 0) && Q::LINES.is_none() {
            let message = "every rate is 0: nothing is ever sent: write a rate above 0 in some row".into();
            return Err(BadLine { line, message });
        }
        Ok(series)
    }
}

fn one_a_line<Q: Quantity>(row: &str) -> Result<u64, String> {
    let Some((power, example)) = Q::LINES else {
        return Err(format!(
            "the first line has no names of columns: write {}; a file of times in ms is named by `trace`",
            Q::EXAMPLE
        ));
    };
    let value = scaled(row, power).filter(|value| *value <= Q::GREATEST);
    value.ok_or_else(|| {
        format!("expected {} alone on each line, or a table: write {example}, or {}", Q::EXPECTED, Q::EXAMPLE)
    })
}

/// Places of the two columns, their powers of ten, and the number of all columns.
struct Columns {
    time: (usize, u32),
    value: (usize, u32),
    count: usize,
}

impl Columns {
    fn of<Q: Quantity>(header: &str) -> Result<Columns, String> {
        let separators = [(';', "semicolons"), ('\t', "tabs"), ('|', "bars")];
        if let (false, Some((_, name))) =
            (header.contains(','), separators.iter().find(|(separator, _)| header.contains(*separator)))
        {
            return Err(format!("the columns are separated by {name}: write commas, {}", Q::EXAMPLE));
        }
        let names: Vec<&str> = header.split(',').map(str::trim_ascii).collect();
        let find = |known: &[(&str, u32)]| {
            let mut found = names.iter().enumerate().filter_map(|(place, name)| {
                known.iter().find(|(known, _)| known == name).map(|(_, power)| (place, *power))
            });
            (found.next(), found.next())
        };
        let (times, values) = (find(&TIMES), find(Q::COLUMNS));
        let wanted =
            |known: &[(&str, u32)]| known.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        if times.1.is_some() || values.1.is_some() {
            let what = if times.1.is_some() { "time" } else { "value" };
            return Err(format!("there are two columns with a {what}: write one, {}", Q::EXAMPLE));
        }
        let missing =
            |known: &[(&str, u32)]| format!("expected a column of {}: write {}", wanted(known), Q::EXAMPLE);
        let time = times.0.ok_or_else(|| missing(&TIMES))?;
        let value = values.0.ok_or_else(|| missing(Q::COLUMNS))?;
        Ok(Columns { time, value, count: names.len() })
    }
}

/// A number without sign and exponent, times a power of ten, rounded; `None`: it is none, or too large.
fn scaled(text: &str, power: u32) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() && fraction.is_empty() || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let mut value = if whole.is_empty() { 0 } else { whole.parse::<u64>().ok()? };
    let mut digits = fraction.bytes();
    for _ in 0..power {
        let digit = digits.next().map_or(0, |byte| u64::from(byte - b'0'));
        value = value.checked_mul(10)?.checked_add(digit)?;
    }
    let up = digits.next().is_some_and(|byte| byte >= b'5');
    value.checked_add(u64::from(up))
}

impl<Q: Quantity> Series<Q> {
    fn add(&mut self, row: &str, columns: &Columns, times: &mut Vec<u64>) -> Result<(), String> {
        let (mut time, mut value, mut count) = (None, None, 0);
        for field in row.split(',') {
            if count == columns.time.0 {
                time = scaled(field.trim_ascii(), columns.time.1).filter(|time| *time <= LATEST);
            } else if count == columns.value.0 {
                value = scaled(field.trim_ascii(), columns.value.1).filter(|value| *value <= Q::GREATEST);
            }
            count += 1;
        }
        if count != columns.count {
            let wanted = columns.count;
            return Err(format!(
                "expected {wanted} fields as in the first line, got {count}: write {}",
                Q::EXAMPLE
            ));
        }
        let Some(time) = time else {
            return Err(
                "the time is wrong; expected a number, from 0 to 50 years: write for example 12.5".into()
            );
        };
        let Some(value) = value else {
            let expected = Q::EXPECTED;
            return Err(format!("the value is wrong; expected {expected}, all digits: write {}", Q::EXAMPLE));
        };
        match times.last() {
            None if time != 0 => {
                let first = Duration::from_nanos(time);
                return Err(format!(
                    "the first row is at {first}, and the run begins at 0 s: write a row at 0"
                ));
            }
            Some(&last) if time <= last => {
                let (time, last) = (Duration::from_nanos(time), Duration::from_nanos(last));
                return Err(format!(
                    "{time} is not after the row before, {last}: write rows in the order of time"
                ));
            }
            _ => {}
        }
        times.push(time);
        self.values.push(value);
        Ok(())
    }
}

impl<Q> Series<Q> {
    /// A table with these times in ns, which rise from 0, and these values.
    pub(crate) fn of(times: Vec<u64>, values: Vec<u64>) -> Series<Q> {
        debug_assert!(times.first() == Some(&0) && times.len() == values.len());
        debug_assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "times rise");
        Series { times: Some(times), values, quantity: PhantomData }
    }

    /// True if it has one value on each line, and no times.
    pub fn is_lines(&self) -> bool {
        self.times.is_none()
    }

    /// How many values it has.
    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// The last value.
    fn last(&self) -> u64 {
        self.values[self.values.len() - 1]
    }

    /// When a value begins, in ns; `step`: how long each lasts, of a file of lines.
    fn begins(&self, place: usize, step: u64) -> u64 {
        match &self.times {
            Some(times) => times[place],
            None => place as u64 * step,
        }
    }

    /// When it begins again, in ns. A table of one row lasts a second: what it repeats is the same.
    fn period(&self, step: u64) -> u64 {
        match self.times.as_deref() {
            Some([.., before, last]) => last + (last - before),
            Some(_) => 1_000_000_000,
            None => self.values.len() as u64 * step,
        }
    }

    /// How long a value lasts.
    fn lasts(&self, place: usize, step: u64) -> u64 {
        let end =
            if place + 1 == self.values.len() { self.period(step) } else { self.begins(place + 1, step) };
        end - self.begins(place, step)
    }

    /// The sum of value times time over one period, and the period.
    pub(crate) fn sum(&self, step: u64) -> (u128, u64) {
        let part = |(place, value): (usize, &u64)| u128::from(*value) * u128::from(self.lasts(place, step));
        (self.values.iter().enumerate().map(part).sum(), self.period(step))
    }

    fn mean(&self, step: u64) -> u64 {
        let (sum, period) = self.sum(step);
        u64::try_from(sum / u128::from(period.max(1))).unwrap_or(u64::MAX)
    }
}

impl Series<Rates> {
    /// Its mean rate, at least 1 bit/s.
    pub fn mean_rate(&self) -> Rate {
        Rate::from_bps(self.mean(0).max(1))
    }

    /// True if its last rate is 0: a link that holds it sends nothing more.
    pub fn ends_silent(&self) -> bool {
        self.last() == 0
    }

    /// When it can first send.
    pub fn first(&self) -> Duration {
        let place = self.values.iter().position(|rate| *rate > 0).unwrap_or_default();
        Duration::from_nanos(self.begins(place, 0))
    }
}

impl Series<Delays> {
    /// The same table with so much more in each row.
    #[must_use]
    pub fn plus(mut self, more: Duration) -> Series<Delays> {
        self.values
            .iter_mut()
            .for_each(|delay| *delay = delay.saturating_add(more.as_nanos()).min(Delays::GREATEST));
        self
    }

    /// Its mean delay; `step`: how long each line lasts.
    pub fn mean_delay(&self, step: Option<Duration>) -> Duration {
        Duration::from_nanos(self.mean(step.map_or(1, Duration::as_nanos)))
    }
}

impl Series<Losses> {
    /// The first line with a number between 0 and 1, where each line is a packet.
    pub fn undecided(&self) -> Option<usize> {
        let between = |loss: &u64| *loss != 0 && *loss != CERTAIN;
        self.is_lines().then(|| self.values.iter().position(between)).flatten()
    }

    /// True if all that follows its end is lost, if its last value is held.
    pub fn ends_lost(&self) -> bool {
        self.last() == CERTAIN
    }

    /// True if no value is below 1.
    pub fn loses_all(&self) -> bool {
        self.values.iter().all(|loss| *loss == CERTAIN)
    }
}

/// A place in a series, which moves with the time.
#[derive(Clone, Debug)]
pub struct Player<Q> {
    series: Arc<Series<Q>>,
    step: u64,
    at_end: AtEnd,
    /// Repetitions before this one, and the place in it.
    cycle: u64,
    place: usize,
}

impl<Q> Player<Q> {
    /// At the beginning of a series; `step`: how long each value lasts, of a file of lines.
    pub fn new(series: Arc<Series<Q>>, step: Duration, at_end: AtEnd) -> Player<Q> {
        // A value that never changes has no next one.
        let at_end = if series.values.len() == 1 { AtEnd::Hold } else { at_end };
        Player { series, step: step.as_nanos(), at_end, cycle: 0, place: 0 }
    }

    /// The value.
    pub fn value(&self) -> u64 {
        self.series.values[self.place]
    }

    /// When the next value begins, in ns; `None`: there is none.
    pub fn next(&self) -> Option<u64> {
        let place = self.place + 1;
        if place < self.series.values.len() {
            let begins = self.series.begins(place, self.step);
            return Some(self.begin().saturating_add(begins));
        }
        (self.at_end == AtEnd::Repeat).then(|| self.begin().saturating_add(self.series.period(self.step)))
    }

    /// When this repetition began.
    pub(crate) fn begin(&self) -> u64 {
        if self.cycle == 0 { 0 } else { self.cycle.saturating_mul(self.series.period(self.step)) }
    }

    pub(crate) fn advance(&mut self) {
        self.place += 1;
        if self.place == self.series.values.len() {
            (self.cycle, self.place) = (self.cycle + 1, 0);
        }
    }

    /// True at the first value of a repetition.
    pub(crate) fn is_at_start(&self) -> bool {
        self.place == 0
    }

    /// Leaves out whole repetitions.
    pub(crate) fn skip(&mut self, periods: u64) {
        self.cycle = self.cycle.saturating_add(periods);
    }

    /// Moves on to the value at a time in ns, which is not before the last one.
    pub fn seek(&mut self, time: u64) {
        while self.next().is_some_and(|next| next <= time) {
            self.advance();
        }
    }
}

#[cfg(test)]
mod tests;
