//! The path of a flow: delays, rate, buffer, losses and silences as its packets show them, for a scenario that behaves
//! like it. What they do not tell is a range.

mod delays;
mod gaps;
mod rate;
mod seen;

use crate::flows::Capture;
use crate::path::seen::Seen;
use crate::why::exchange::{Exchange, MS};
use crate::why::explain::{View, explained, order};
use crate::why::{Answer, Told};
pub use delays::Longer;
pub use gaps::{Gap, Kept};
pub use rate::Rate;
use serde::Serialize;

/// Points of the course that are kept.
const MOST_POINTS: usize = 4_000;
/// The receiver's window is the limit if it holds for this share of the time.
const LIMITED: f64 = 0.2;
/// Bytes of a SYN with its options over IPv4.
const SYN_BYTES: f64 = 60.0;
/// Pauses of an application are longer, in round trips, and there are as many.
const PAUSE_TRIPS: i64 = 2;
const LEAST_BURSTS: usize = 4;

/// New data over time, in s from the first sending of data.
pub type Course = Vec<(f64, u64)>;

/// Data that an application sends in bursts.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Bursts {
    /// How many they are.
    pub count: usize,
    /// The usual bytes of one.
    pub bytes: u64,
    /// The usual time from one to the next, in s.
    pub period_s: f64,
}

/// The path of a flow.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Path {
    /// Its ends, sender of the data first.
    pub flow: String,
    /// Where it was captured.
    pub place: &'static str,
    /// The first sending of data, in s from the first packet of the capture.
    pub start_s: f64,
    /// From there to the last packet, in s.
    pub length_s: f64,
    /// Usual bytes of a segment.
    pub segment: u64,
    /// Bytes of headers in front of them, IP's included.
    pub headers: u64,
    /// The round trip without queues and transmissions, in s.
    pub base_s: f64,
    /// The least round trip of a packet with data, in s.
    pub least_s: f64,
    /// The rate over time; empty: no queue was seen.
    pub rates: Vec<Rate>,
    /// Bits in a second that passed at least.
    pub at_least_bps: f64,
    /// The largest wait in a queue, in s.
    pub wait_s: f64,
    /// Numbers of packets that a full queue lost, among all with data, from 0.
    pub full: Vec<usize>,
    /// The wait in it, in s.
    pub full_wait_s: f64,
    /// Numbers of other lost packets among all with data, from 0.
    pub lost: Vec<usize>,
    /// Packets with data.
    pub packets: usize,
    /// A longer path for a while, or from a time on.
    pub longer: Option<Longer>,
    /// Silences.
    pub gaps: Vec<Gap>,
    /// The receiver's window in segments, if it limits the flow.
    pub window: Option<u64>,
    /// Packets that were sent before the first report.
    pub first_window: u64,
    /// The application's bursts; `None`: it always had data.
    pub bursts: Option<Bursts>,
    /// Bytes of payload that arrived, each counted once.
    pub bytes: u64,
    /// The connection was closed by its sender.
    pub is_closed: bool,
    /// Bytes over time.
    pub course: Course,
    /// Times of arrivals, and how long these packets waited on the path, in s.
    pub waits: Vec<(f64, f64)>,
    /// Times of timeouts, in s from the first sending of data; `None`: a receiver does not see them.
    pub timeouts_s: Option<Vec<f64>>,
}

/// Why flows stalled, and the path of one of them.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct WithPath {
    /// Why flows stalled.
    #[serde(flatten)]
    pub answer: Answer,
    /// The path of the flow with most data; `None`: it has too few packets.
    pub path: Option<Path>,
}

/// The same as [`explain`], with the path of the flow with most data among those whose ends have a text.
pub fn explain_with_path(first: &Capture, second: Option<&Capture>, wanted: &str) -> WithPath {
    let mut most = None;
    let answer = explained(first, second, |told, view| {
        let is_apart = second.is_some() && matches!(view, View::Sender(_));
        let order = (told.bytes, order(told));
        if told.flow.contains(wanted) && most.as_ref().is_none_or(|(before, _)| *before <= order) {
            let made = || made(&view, told, first.start_ns);
            most = Some((order, if is_apart { None } else { made() }));
        }
    });
    WithPath { answer, path: most.and_then(|(_, path)| path) }
}

fn made(view: &View<'_>, about: &Told, start_ns: i64) -> Option<Path> {
    let (mut seen, exchange) = match view {
        View::Sender(sender) => (seen::at_sender(sender)?, &sender.exchange),
        View::Receiver(receiver) => (seen::at_receiver(receiver)?, &receiver.exchange),
        View::Pair(pair) => (seen::at_both(pair)?, &pair.sender.exchange),
    };
    let is_limited = about.limits.is_none_or(|limits| limits.receiver > LIMITED);
    Some(told(&mut seen, exchange, about.place, start_ns, about.flow.clone(), is_limited))
}

fn told(
    seen: &mut Seen,
    exchange: &Exchange<'_>,
    place: &'static str,
    start_ns: i64,
    flow: String,
    is_limited: bool,
) -> Path {
    let origin = seen.origin();
    let waits = waits(seen);
    let longer = delays::take_out(seen);
    let rates = rate::rates(seen);
    let at_least_bps = rate::at_least(seen);
    let bps = rates.first().map_or(at_least_bps, |rate| rate.bps).max(1.0);
    let tx = ((seen.segment + seen.headers) as f64 * 8e9 / bps) as i64;
    let gaps = gaps::gaps(seen, tx);
    let bursts = bursts(seen);
    let losses = gaps::losses(seen, &gaps, bursts.is_some());
    let course = course(seen);
    // The SYNs were transmitted too.
    let opened = seen.base - (2.0 * SYN_BYTES * 8e9 / bps) as i64;
    let base = if seen.is_opened { opened } else { seen.least - tx }.max(seen.base / 2);
    let is_closed =
        exchange.flow.packets.rows().any(|row| row.way == exchange.way && row.has(crate::tcp::FIN));
    Path {
        flow,
        place,
        start_s: (origin - start_ns) as f64 / 1e9,
        length_s: (seen.end_ns - origin) as f64 / 1e9,
        segment: seen.segment,
        headers: seen.headers,
        base_s: base as f64 / 1e9,
        least_s: seen.least as f64 / 1e9,
        at_least_bps,
        wait_s: seen.largest_wait() as f64 / 1e9,
        full_wait_s: losses.wait_ns as f64 / 1e9,
        full: losses.full,
        lost: losses.other,
        packets: seen.sent.iter().map(|sent| sent.segments).sum(),
        gaps,
        longer,
        window: window(seen, exchange).filter(|_| is_limited),
        first_window: seen.first_window,
        bursts,
        bytes: course.last().map_or(0, |(_, bytes)| *bytes),
        is_closed,
        course: thinned(course),
        waits,
        timeouts_s: seen
            .timeouts
            .as_ref()
            .map(|times| times.iter().map(|time| (time - origin) as f64 / 1e9).collect()),
        rates,
    }
}

/// New data over time.
fn course(seen: &Seen) -> Course {
    let (origin, mut bytes) = (seen.origin(), 0);
    let arrivals = seen.came.iter().map(|came| {
        bytes += came.bytes;
        ((came.time_ns - origin) as f64 / 1e9, bytes)
    });
    arrivals.collect()
}

/// Times of arrivals, and how long these packets waited.
fn waits(seen: &Seen) -> Vec<(f64, f64)> {
    let origin = seen.origin();
    let waited = seen
        .came
        .iter()
        .filter_map(|came| Some(((came.time_ns - origin) as f64 / 1e9, came.wait_ns? as f64 / 1e9)));
    let waits: Vec<(f64, f64)> = waited.collect();
    let step = waits.len().div_ceil(MOST_POINTS).max(1);
    waits.into_iter().step_by(step).collect()
}

/// At most [`MOST_POINTS`] points, the last one among them. Ends of pauses stay.
fn thinned(course: Course) -> Course {
    let step = course.len().div_ceil(MOST_POINTS).max(1);
    let last = course.len().saturating_sub(1);
    let is_pause = |at: usize| {
        course.get(at + 1).is_some_and(|next| next.0 - course[at].0 > 0.1)
            || at > 0 && course[at].0 - course[at - 1].0 > 0.1
    };
    (0..course.len())
        .filter(|at| at % step == 0 || *at == last || is_pause(*at))
        .map(|at| course[at])
        .collect()
}

/// The usual window in segments, if it is constant: one that grows is no limit of the path.
fn window(seen: &Seen, exchange: &Exchange<'_>) -> Option<u64> {
    let rows = exchange.flow.packets.rows().filter(|row| exchange.is_ack(row) && row.window > 0);
    let mut windows: Vec<u64> = rows.filter_map(|row| exchange.window(&row)).collect();
    windows.sort_unstable();
    let middle = *windows.get(windows.len() / 2)?;
    let most = *windows.get(windows.len() * 95 / 100)?;
    // A receiver rounds its window to the step of the scale, so a whole segment may lack a part.
    let many = (middle + seen.segment / 20) / seen.segment;
    (most <= middle + middle / 20 && many > 0 && many < 3_000).then_some(many)
}

/// Bursts of the application: after a pause with nothing under way.
fn bursts(seen: &Seen) -> Option<Bursts> {
    let pause = (PAUSE_TRIPS * seen.base).max(100 * MS);
    let mut bursts: Vec<(i64, u64)> = Vec::new();
    let mut before = None::<i64>;
    for came in &seen.came {
        let is_one = |before: i64| came.time_ns - before < pause || !seen.is_idle_behind(before);
        match bursts.last_mut() {
            Some(burst) if before.is_some_and(is_one) => burst.1 += came.bytes,
            _ => bursts.push((came.time_ns, came.bytes)),
        }
        before = Some(came.time_ns);
    }
    let silent = seen.stalls.len();
    if bursts.len() < LEAST_BURSTS || bursts.len() <= 2 * silent {
        return None;
    }
    let count = bursts.len();
    let mut apart: Vec<i64> = bursts.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    let mut sizes: Vec<u64> = bursts.into_iter().map(|(_, bytes)| bytes).collect();
    apart.sort_unstable();
    sizes.sort_unstable();
    Some(Bursts { count, bytes: sizes[sizes.len() / 2], period_s: apart[apart.len() / 2] as f64 / 1e9 })
}
