//! The same combinations over links and cells whose rate, delay and losses a channel draws.

use super::draw::Draw;
use super::table::Trouble;
use super::{DRAW, DRAWS, hold};
use crate::lab::{results, rows};
use roamlab_engine::Rng;

/// A draw, with a channel of random states in the place of its rate.
#[derive(Debug)]
struct Drawn {
    text: String,
    /// The highest rate of a state, in bit/s, and whether any state has one above 0.
    most: f64,
    draw: Draw,
}

impl Drawn {
    fn new(number: u64) -> Drawn {
        let draw = Draw::new(number);
        let mut rng = Rng::named(9, number, "channels");
        let mut pick = |low: f64, high: f64| low + (high - low) * rng.uniform();
        // A link has one kind of random loss.
        let loses = !matches!(draw.trouble, Trouble::Loss | Trouble::AckLoss);
        let count = 1 + pick(0.0, 5.0) as usize;
        let (mut states, mut next, mut most) = (Vec::new(), Vec::new(), 0.0f64);
        for state in 0..count {
            let share = if state > 0 && pick(0.0, 1.0) < 0.2 { 0.0 } else { pick(0.05, 2.0) };
            let (low, high) = (draw.rate * share / 1e6, draw.rate * share * pick(1.0, 1.5) / 1e6);
            most = most.max(high * 1e6);
            let (loss, extra) =
                (if loses && pick(0.0, 1.0) < 0.3 { pick(0.0, 0.1) } else { 0.0 }, pick(0.0, 40.0));
            states.push(format!(
                "{{ rate_mbit_s = [{low}, {high}], loss = {loss}, extra_delay = \"{extra:.3} ms\" }}"
            ));
            let weights: Vec<f64> = (0..count).map(|_| pick(0.01, 1.0)).collect();
            let sum: f64 = weights.iter().sum();
            next.push(weights.iter().map(|weight| weight / sum).collect::<Vec<_>>());
        }
        let moves = match pick(0.0, 1.0) < 0.3 {
            true => ", moves = { between = { kind = \"exponential\", mean = \"1 s\" } }",
            false => "",
        };
        let step = pick(5.0, 500.0);
        let channel = match pick(0.0, 1.0) < 0.2 {
            true => {
                most = draw.rate * 3.0;
                let rate = draw.rate as u64;
                let losses = if loses { "" } else { ", edge_loss = 0.0, loss = 0.0, reverse_loss = 0.0" };
                format!(
                    "{{ kind = \"slots\", period = \"1 s\", phase = \"300 ms\", rate = \"{rate} bit/s\", reverse_rate = \"{rate} bit/s\", growth = 3.0{losses} }}"
                )
            }
            false => format!(
                "{{ kind = \"states\", step = \"{step:.3} ms\", states = [{}], next = {next:?}{moves} }}",
                states.join(", ")
            ),
        };
        let bits = format!("rate = \"{} bit/s\"", draw.rate);
        let text = draw.text().replace(&bits, &format!("rate = {{ channel = {channel} }}"));
        Drawn { text, most, draw }
    }
}

/// Conservation is checked in each run, and a violated law ends it.
#[test]
fn each_packet_has_one_end_and_no_more_arrives_than_the_fastest_state_carries() {
    hold(DRAWS, Drawn::new, |drawn| {
        let arrivals = rows(&results(&drawn.text, DRAW), "deliveries", ["time_ns", "bytes"]);
        let bits: f64 = arrivals.iter().map(|[_, bytes]| 8.0 * bytes.parse::<f64>().unwrap()).sum();
        // Of a move two cells send, each with all of its rate.
        let links = if drawn.text.contains("[cells.") { 2.0 } else { 1.0 };
        let carried = links * drawn.most * drawn.draw.duration;
        let mut broken = Vec::new();
        if !drawn.text.contains("rate = { channel") {
            broken.push("no link has a channel".into());
        }
        if bits > carried {
            broken.push(format!("{bits} bits of {carried}"));
        }
        broken
    });
}
