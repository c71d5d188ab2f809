//! How a run is compared with its recording.

use super::golden::{Clock, Counters, Line, Run};
use super::product::{FlowOutcome, Outcome, Row, Variables};
use super::ties::Tie;
use roamlab_tcp::RecoveryKind;
use std::cmp::Ordering;

/// The difference, and its first time, in microseconds; a total at the end of time.
#[derive(Debug)]
pub struct Difference {
    pub micros: f64,
    /// The kind of row.
    pub event: char,
    /// Of a gauge of RED: what was recorded over ours.
    pub ratio: f64,
    /// Two arrivals at a queue have changed places.
    pub swapped: bool,
    pub what: String,
}

/// How a run compares with its recording.
#[derive(Debug)]
pub enum Verdict {
    /// In all that was compared.
    Exact,
    /// In all but what arrivals found in the queue, each of which is a tie in both.
    Ties,
    /// Until an arrival that is a tie in both decides otherwise: it is lost, RED takes another average, or the next arrival is
    /// first.
    Apart,
    /// It differs.
    Different(String),
}

/// Compares everything. `theirs`: which arrivals at the recorded queue are ties in ns-2; none: no difference is one.
pub fn judge(run: &Run, outcome: &Outcome, theirs: &[Tie]) -> Verdict {
    let red = run.params.red.as_ref();
    let ours = outcome.traffic.ties(run.rate(), run.mean_packet());
    let both = |arrival: usize| match (ours.get(arrival), theirs.get(arrival)) {
        (Some(ours), Some(theirs)) => ours.and(*theirs),
        _ => Tie::default(),
    };
    let mut shown = Vec::new();
    let found = compare(run, outcome, &mut |arrival| {
        let is_tie = both(arrival).end;
        if is_tie {
            shown.push(arrival);
        }
        is_tie
    });
    let Some(first) = found.first() else {
        return if shown.is_empty() { Verdict::Exact } else { Verdict::Ties };
    };
    let told = format!("{} us: {}; {} in all", first.micros, first.what, found.len());
    let tolerance =
        run.clock.tolerance(first.event) + if first.event == 'R' { 5.5e-6 * first.micros } else { 0.0 };
    let arrivals = outcome.traffic.arrivals.iter().enumerate();
    let mut near = arrivals.filter(|(_, (at, _))| (at / 1e3 - first.micros).abs() <= tolerance);
    // One packet sent in an idle period more or less changes RED's average so much.
    let one_more = red.is_some_and(|red| {
        let keep = 1.0 - red.weight;
        [keep, 1.0 / keep].iter().any(|ratio| (first.ratio / ratio - 1.0).abs() < 2e-5)
    });
    let decides = near.any(|(arrival, _)| {
        let tie = both(arrival);
        match first.event {
            'R' => tie.end && shown.contains(&arrival) || tie.idle && one_more,
            'D' => tie.end && shown.contains(&arrival),
            'Q' => tie.next && first.swapped,
            _ => false,
        }
    });
    if decides { Verdict::Apart } else { Verdict::Different(told) }
}

/// The first difference of each kind, the earliest in front. `ties` is asked of arrivals that find one packet more or
/// less, by their number, whether that is no difference.
fn compare(run: &Run, outcome: &Outcome, ties: &mut dyn FnMut(usize) -> bool) -> Vec<Difference> {
    let mut found = totals(run, outcome);
    if let Some(lines) = &run.lines {
        // The order of the ends of different links in one microsecond does not matter.
        let ends =
            (0..outcome.flows.len()).flat_map(|flow| ['S', 'K', 'D'].map(|event| (event, Some(flow), "")));
        let places = [('Q', None, ""), ('M', None, ""), ('R', None, "ave"), ('R', None, "prob1")];
        for (event, flow, name) in ends.chain(places) {
            let (from, to) = run.span(event);
            let inside = |micros: f64| from <= micros && micros < to;
            let of = |other: Option<usize>, first: &str| {
                (flow.is_none() || other == flow) && (name.is_empty() || first == name)
            };
            let wanted =
                |line: &&Line| line.event == event && of(line.flow, &line.first) && inside(line.micros);
            let recorded: Vec<&Line> = lines.iter().filter(wanted).collect();
            let own = outcome.rows.iter().filter(|row| row.event == event && of(row.flow, &row.first));
            let ours: Vec<(usize, &Row)> =
                own.enumerate().filter(|(_, row)| inside(micros(row.at))).collect();
            found.extend(rows(run.clock, event, &recorded, &ours, ties));
        }
        for (flow, ours) in outcome.flows.iter().enumerate() {
            found.extend(variables(run, flow, lines, ours));
        }
    }
    found.sort_by(|left, right| left.micros.total_cmp(&right.micros));
    found
}

fn rows(
    clock: Clock,
    event: char,
    recorded: &[&Line],
    ours: &[(usize, &Row)],
    ties: &mut dyn FnMut(usize) -> bool,
) -> Option<Difference> {
    // ns-2 traces RED with six digits, also of the time, and begins with the zeros that ours need not tell.
    let is_gauge = event == 'R';
    let recorded: Vec<&&Line> = recorded.iter().filter(|line| !is_gauge || line.micros > 0.0).collect();
    for (place, (line, (arrival, row))) in recorded.iter().zip(ours).enumerate() {
        let tolerance = clock.tolerance(event) + if is_gauge { 5.5e-6 * line.micros } else { 0.0 };
        let placed = (line.micros - micros(row.at)).abs() <= tolerance;
        let named = placed && (line.flow, &line.first) == (row.flow, &row.first);
        let same = match event {
            'R' => six_digits(number(&line.second)) == six_digits(number(&row.second)),
            'Q' => {
                line.second == row.second
                    || named && (number(&line.second) - number(&row.second)).abs() == 1.0 && ties(*arrival)
            }
            _ => line.second == row.second,
        };
        if named && same {
            continue;
        }
        let is = |line: Option<&&&Line>, row: Option<&(usize, &Row)>| match (line, row) {
            (Some(line), Some((_, row))) => (line.flow, &line.first) == (row.flow, &row.first),
            _ => false,
        };
        let swapped = event == 'Q'
            && is(recorded.get(place), ours.get(place + 1))
            && is(recorded.get(place + 1), ours.get(place));
        let ratio = if is_gauge { number(&line.second) / number(&row.second) } else { 1.0 };
        let Line { micros: at, flow, first, second, .. } = line;
        let what = format!("{event}: recorded {first},{second} of {flow:?} at {at} us, ours {row:?}");
        return Some(Difference { micros: at.min(micros(row.at)), event, ratio, swapped, what });
    }
    let (theirs, mine) = (recorded.len(), ours.len());
    let first = match theirs.cmp(&mine) {
        Ordering::Equal => return None,
        Ordering::Less => micros(ours[theirs].1.at),
        Ordering::Greater => recorded[mine].micros,
    };
    let what = format!("{event}: {theirs} recorded, {mine} ours, from {first} us");
    Some(Difference { micros: first, event, ratio: 1.0, swapped: false, what })
}

fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1e3
}

fn number(text: &str) -> f64 {
    text.parse().expect("a number")
}

/// As ns-2 prints a real number.
fn six_digits(value: f64) -> f64 {
    number(&format!("{value:.5e}"))
}

/// ns-2's traced variables of a sender: name, value.
fn traced(flow: &FlowOutcome, row: &Variables, run: &Run) -> [(&'static str, f64); 9] {
    let tick = run.tcp().tick.as_nanos();
    let ticks = |span: u64, unit: u64| (span * unit) as f64 / tick as f64;
    [
        ("cwnd", six_digits(row.cwnd)),
        ("ssthresh", row.ssthresh),
        ("rtt", ticks(row.rtt, 1)),
        ("srtt8", ticks(row.srtt, 8)),
        ("rttvar4", ticks(row.rttvar, 4)),
        ("rto", (row.rto as f64 / 1e6).round() / 1e3),
        ("backoff", row.backoff as f64),
        ("nrexmit", counted_timeouts(flow, row, run)),
        ("ncwndcuts", row.reductions as f64),
    ]
}

/// The timeouts that ns-2 counts (`nrexmit_`): none of FACK, and none in a window that an echo of congestion has cut.
fn counted_timeouts(flow: &FlowOutcome, row: &Variables, run: &Run) -> f64 {
    if run.tcp().recovery == RecoveryKind::Ns2Fack {
        return 0.0;
    }
    let happened = flow.cuts.iter().take_while(|(at, _)| *at <= row.at);
    let (mut last, mut uncounted) = ("", 0);
    for (_, what) in happened {
        uncounted += u64::from(what == "timeout" && last == "ecn-reduction");
        last = what;
    }
    (row.timeouts - uncounted) as f64
}

/// One variable's course: a value per time at which it changed, and at the beginning of the span.
fn course(samples: impl Iterator<Item = (f64, f64)>, (from, to): (f64, f64)) -> Vec<(f64, f64)> {
    let mut course: Vec<(f64, f64)> = Vec::new();
    for (at, value) in samples.filter(|sample| sample.0 < to) {
        let at = at.max(from);
        if course.last().is_some_and(|last| (last.0 - at).abs() < 0.5) {
            course.pop();
        }
        if course.last().is_none_or(|last| last.1 != value) {
            course.push((at, value));
        }
    }
    course
}

fn variables(run: &Run, flow: usize, lines: &[Line], outcome: &FlowOutcome) -> Vec<Difference> {
    let span = run.span('V');
    let of_each: Vec<_> = outcome.variables.iter().map(|row| (row.at, traced(outcome, row, run))).collect();
    let mut found = Vec::new();
    for index in 0..of_each[0].1.len() {
        let name = of_each[0].1[index].0;
        // ns-2 takes the deviation before the first measurement from whole seconds, of which the grid has none.
        let unknown = name == "rttvar4" && run.clock == Clock::Grid;
        let measured = outcome.variables.iter().find(|row| row.rtt > 0).map_or(u64::MAX, |row| row.at);
        let known = |at: f64| !unknown || at >= micros(measured) - run.clock.tolerance('V');
        let wanted = |line: &&Line| line.event == 'V' && line.flow == Some(flow) && line.first == name;
        let recorded = lines.iter().filter(wanted).map(|line| (line.micros, number(&line.second)));
        let recorded = course(recorded.filter(|sample| known(sample.0)), span);
        if recorded.is_empty() && name == "rto" {
            continue; // derived, and not in every recording
        }
        let ours = of_each.iter().map(|(at, values)| (micros(*at), values[index].1));
        let ours = course(ours.filter(|sample| known(sample.0)), span);
        let differ = |(theirs, mine): &(&(f64, f64), &(f64, f64))| {
            (theirs.0 - mine.0).abs() > run.clock.tolerance('V') || theirs.1 != mine.1
        };
        if let Some((theirs, mine)) = recorded.iter().zip(&ours).find(differ) {
            let text = |(at, value): &(f64, f64)| format!("{value} at {at} us");
            let what = format!("{name} of {flow}: recorded {}, ours {}", text(theirs), text(mine));
            found.push(Difference {
                micros: theirs.0.min(mine.0),
                event: 'V',
                ratio: 1.0,
                swapped: false,
                what,
            });
        } else if recorded.len() != ours.len() {
            let shorter = recorded.len().min(ours.len());
            let first = recorded.get(shorter).or(ours.get(shorter)).expect("one is longer").0;
            let (theirs, mine) = (recorded.len(), ours.len());
            let what = format!("{name} of {flow}: {theirs} changes recorded, {mine} ours, from {first} us");
            found.push(Difference { micros: first, event: 'V', ratio: 1.0, swapped: false, what });
        }
    }
    found
}

/// Totals of the whole run, which are kept also where the rows are not.
fn totals(run: &Run, outcome: &Outcome) -> Vec<Difference> {
    let mut found = Vec::new();
    let drops = outcome.drops();
    if drops != run.drops {
        found.push(format!("drops: recorded {:?}, ours {drops:?}", run.drops));
    }
    let marks = outcome.rows.iter().filter(|row| row.event == 'M').count() as u64;
    if run.marks.is_some_and(|recorded| recorded != marks) {
        found.push(format!("marks: recorded {:?}, ours {marks}", run.marks));
    }
    if run.flows.len() != outcome.flows.len() {
        found.push(format!("{} flows recorded, {} ours", run.flows.len(), outcome.flows.len()));
    }
    for (flow, (recorded, ours)) in run.flows.iter().zip(&outcome.flows).enumerate() {
        found.extend(counters(flow, recorded, ours, run));
    }
    found
        .into_iter()
        .map(|what| Difference { micros: f64::INFINITY, event: ' ', ratio: 1.0, swapped: false, what })
        .collect()
}

fn counters(flow: usize, recorded: &Counters, outcome: &FlowOutcome, run: &Run) -> Vec<String> {
    let Some(last) = outcome.variables.last() else { return vec!["no variables".into()] };
    let responses = outcome.cuts.iter().filter(|(_, what)| what == "ecn-reduction").count();
    let doubled = outcome.variables.windows(2).filter(|pair| pair[0].backoff < pair[1].backoff).count();
    let counters = [
        ("sent", outcome.sent() as f64),
        ("rexmit", outcome.retransmitted as f64),
        ("timeouts_nrexmit", counted_timeouts(outcome, last, run)),
        ("cwnd_cuts", last.reductions as f64),
        ("ecn_responses", responses as f64),
        ("backoff_increases", doubled as f64),
        ("last_ack", last.una as f64 - 1.0),
        ("maxseq", outcome.sizes.len() as f64 - 1.0),
        ("sink_bytes", outcome.sink_bytes() as f64),
        ("cwnd", six_digits(last.cwnd)),
        ("ssthresh", last.ssthresh),
    ];
    let differ = |&(key, ours): &(&str, f64)| {
        let recorded = recorded.get(key).unwrap_or_else(|| panic!("{}: no {key}", run.name));
        *recorded != ours
    };
    let tell = |(key, ours)| format!("{key} of {flow}: recorded {}, ours {ours}", recorded[key]);
    counters.into_iter().filter(differ).map(tell).collect()
}
