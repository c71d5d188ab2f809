//! The same combinations over links whose rate and delay follow files.

use super::draw::Draw;
use super::{DRAW, DRAWS, hold};
use crate::lab::{results, rows};
use roamlab_engine::Rng;
use roamlab_world::{RunOptions, Scenario, Table, run};
use std::fmt::Write;

/// The table of a file: times in ns, rising from 0, and values; the values are in the unit of the column.
#[derive(Debug)]
struct Steps {
    column: &'static str,
    rows: Vec<(u64, String)>,
}

impl Steps {
    fn text(&self) -> String {
        let mut text = format!("time_ns,{}\n", self.column);
        self.rows.iter().for_each(|(time, value)| writeln!(text, "{time},{value}").unwrap());
        text
    }
}

/// A draw, with the files of its links.
#[derive(Debug)]
struct Driven {
    text: String,
    rates: Steps,
    delays: Steps,
    draw: Draw,
}

/// Times of some rows, from 0 on.
fn times(rng: &mut Rng, longest: f64) -> Vec<u64> {
    let mut at = 0;
    let count = 2 + (rng.uniform() * 6.0) as usize;
    (0..count)
        .map(|_| {
            let time = at;
            at += 1 + (rng.uniform() * longest * 1e9) as u64;
            time
        })
        .collect()
}

impl Driven {
    /// The draw of this number, over files whose rates are `rate` times that of the draw.
    fn new(number: u64, rate: impl Fn(&mut Rng) -> f64) -> Driven {
        let draw = Draw::new(number);
        let mut rng = Rng::named(7, number, "files");
        let constant = draw.text();
        let bits = format!("rate = \"{} bit/s\"\ndelay = \"", draw.rate);
        let begin = constant.rfind(&bits).expect("a link or cell with the rate of the draw");
        let end = begin + bits.len();
        let delay = &constant[end..][..constant[end..].find('"').expect("a delay")];
        let at_end = if rng.uniform() < 0.5 { "repeat" } else { "hold" };
        let files =
            format!("rate = {{ table = \"rate\", at_end = \"{at_end}\" }}\ndelay = {{ trace = \"delay\" }}");
        let text = constant.replace(&format!("{bits}{delay}\""), &files);
        let value = delay.trim_end_matches(" ms").to_owned();
        let delays =
            times(&mut rng, draw.duration / 3.0).into_iter().map(|time| (time, value.clone())).collect();
        let mut rows: Vec<(u64, String)> = Vec::new();
        for time in times(&mut rng, draw.duration / 3.0) {
            rows.push((time, format!("{:.0}", draw.rate * rate(&mut rng))));
        }
        // A link that holds its last rate sends with it.
        if rows[rows.len() - 1].1 == "0" {
            rows.push((rows[rows.len() - 1].0 + 1000, draw.rate.to_string()));
        }
        let rates = Steps { column: "rate_bit_s", rows };
        Driven { text, rates, delays: Steps { column: "delay_ms", rows: delays }, draw }
    }

    fn tables(&self) -> Vec<Table> {
        let files = |path: &str| match path {
            "rate" => Ok(self.rates.text()),
            "delay" => Ok(self.delays.text()),
            _ => Err("there is none".into()),
        };
        let scenario =
            Scenario::parse_with(&self.text, "lab.toml", &files).unwrap_or_else(|error| panic!("{error}"));
        run(&scenario, DRAW, &RunOptions::default()).unwrap_or_else(|law| panic!("{law}"))
    }

    /// Bits that the link carries until a time in ns, at most.
    fn carries(&self, until: u64) -> f64 {
        let rows = &self.rates.rows;
        let value = |place: usize| rows[place].1.parse::<f64>().unwrap();
        let last = rows.len() - 1;
        let lasts = |place: usize| {
            let end = if place < last { rows[place + 1].0 } else { 2 * rows[last].0 - rows[last - 1].0 };
            end - rows[place].0
        };
        let repeats = self.text.contains("at_end = \"repeat\"");
        let (mut at, mut place, mut bits) = (0, 0, 0.0);
        while at < until {
            let held = place == last && !repeats;
            let step = if held { until - at } else { lasts(place).min(until - at) };
            bits += value(place) * step as f64 / 1e9;
            at += step;
            place = if held { place } else { (place + 1) % rows.len() };
        }
        bits
    }
}

#[test]
fn files_of_constant_values_are_constants() {
    hold(
        DRAWS,
        |number| Driven::new(number, |_| 1.0),
        |driven| {
            let (one, other) = (driven.tables(), results(&driven.draw.text(), DRAW));
            let differs = |name: &str| {
                let columns = ["time_ns", "event", "place", "number"];
                let columns = if name == "packets" { columns } else { ["time_ns", "flow", "seq", "bytes"] };
                rows(&one, name, columns) != rows(&other, name, columns)
            };
            ["packets", "deliveries"].into_iter().filter(|name| differs(name)).map(str::to_owned).collect()
        },
    );
}

#[test]
fn no_more_arrives_than_the_rates_of_a_file_carry() {
    let rate = |rng: &mut Rng| if rng.uniform() < 0.2 { 0.0 } else { rng.uniform() * 2.0 };
    hold(
        DRAWS,
        |number| Driven::new(number, rate),
        |driven| {
            // Of a move two cells send, each with all of its rate.
            let links = if driven.text.contains("[cells.") { 2.0 } else { 1.0 };
            let arrivals = rows(&driven.tables(), "deliveries", ["time_ns", "bytes"]);
            let mut bits = 0.0;
            let mut broken = Vec::new();
            for [time, bytes] in &arrivals {
                bits += 8.0 * bytes.parse::<f64>().unwrap();
                let carried = links * driven.carries(time.parse().unwrap());
                if bits > carried + 1.0 && broken.is_empty() {
                    broken.push(format!("{bits} bits by {time} ns of {carried}"));
                }
            }
            if arrivals.is_empty() && driven.carries((driven.draw.duration * 1e9) as u64) > 1e6 {
                broken.push("nothing arrives".into());
            }
            broken
        },
    );
}
