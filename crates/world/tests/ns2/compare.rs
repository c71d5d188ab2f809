//! How a run is compared with its recording.

use crate::golden::{Counters, Line, Run};
use crate::network::{FlowOutcome, Outcome, Row};
use roamlab_engine::{Duration, Time};
use roamlab_transport::{RecoveryKind, TcpParams, TcpVariables};
use std::collections::BTreeMap;

/// Compares everything; the first difference of each kind is told.
pub fn compare(run: &Run, outcome: &Outcome) -> Result<(), String> {
    let mut differences = summary(run, outcome);
    if let Some(lines) = &run.lines {
        for event in ['S', 'K', 'Q', 'D', 'R', 'M'] {
            let (from, to) = run.span(event);
            // Of RED the recording also has what it begins with, and the probability 1.
            let from = if event == 'R' { from.max(1.0) } else { from };
            let inside = |micros: f64| from <= micros && micros < to;
            let recorded: Vec<&Line> = lines
                .iter()
                .filter(|line| line.event == event && inside(line.micros) && line.tells())
                .collect();
            let ours: Vec<&Row> =
                outcome.rows.iter().filter(|row| row.event == event && inside(micros(row.at))).collect();
            differences.extend(compare_rows(event, &recorded, &ours));
        }
        for (flow, ours) in outcome.flows.iter().enumerate() {
            differences.extend(variables(run, flow, lines, ours));
        }
    }
    if differences.is_empty() { Ok(()) } else { Err(differences.join("; ")) }
}

fn micros(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e3
}

fn compare_rows(event: char, recorded: &[&Line], ours: &[&Row]) -> Option<String> {
    // ns-2 traces RED with six digits, also of the time.
    let real = event == 'R';
    let differ = |(line, row): &(&&Line, &&Row)| {
        let tolerance = if real { 1.0 + 5.5e-6 * line.micros } else { 1.0 };
        let same = match real {
            true => (number(&line.second) - row.value).abs() <= 5.5e-6 * row.value.abs(),
            false => line.second == row.second,
        };
        (line.micros - micros(row.at)).abs() > tolerance
            || (line.flow, &line.first) != (row.flow, &row.first)
            || !same
    };
    if let Some((line, row)) = recorded.iter().zip(ours).find(differ) {
        let Line { micros, flow, first, second, .. } = line;
        return Some(format!("{event}: recorded {first},{second} of {flow:?} at {micros} us, ours {row:?}"));
    }
    let count = (recorded.len(), ours.len());
    (count.0 != count.1).then(|| format!("{event}: {} recorded, {} ours", count.0, count.1))
}

fn number(text: &str) -> f64 {
    text.parse().expect("a number")
}

/// The traced variables as (name, value, tolerance).
fn traced(variables: &TcpVariables, params: &TcpParams) -> [(&'static str, f64, f64); 9] {
    let tick = params.tick;
    let ticks = |span: Duration, unit: u64| (span.as_nanos() * unit) as f64 / tick.as_nanos() as f64;
    let six_digits = |value: f64| value * 5.5e-6;
    [
        ("cwnd", variables.cwnd, six_digits(variables.cwnd)),
        ("ssthresh", variables.ssthresh, 0.0),
        ("rtt", ticks(variables.rtt, 1), 0.0),
        ("srtt8", ticks(variables.srtt, 8), 0.0),
        ("rttvar4", ticks(variables.rttvar, 4), 0.0),
        ("rto", variables.rto.as_secs_f64(), 5e-4),
        ("backoff", variables.backoff as f64, 0.0),
        ("nrexmit", counted_timeouts(variables, params), 0.0),
        ("ncwndcuts", variables.reductions as f64, 0.0),
    ]
}

/// FACK does not count its timeouts in ns-2.
fn counted_timeouts(variables: &TcpVariables, params: &TcpParams) -> f64 {
    if params.recovery == RecoveryKind::Ns2Fack { 0.0 } else { variables.timeouts as f64 }
}

/// One variable's course: a value per time at which it changed, and at the beginning of the span.
fn course(samples: impl Iterator<Item = (f64, f64, f64)>, from: f64, to: f64) -> Vec<(f64, f64, f64)> {
    let mut course: Vec<(f64, f64, f64)> = Vec::new();
    for (at, value, tolerance) in samples.filter(|sample| sample.0 < to) {
        let at = at.max(from);
        if course.last().is_some_and(|last| (last.0 - at).abs() < 0.5) {
            course.pop();
        }
        if course.last().is_none_or(|last| last.1 != value) {
            course.push((at, value, tolerance));
        }
    }
    course
}

fn variables(run: &Run, flow: usize, lines: &[Line], outcome: &FlowOutcome) -> Vec<String> {
    let params = run.spec();
    let (from, to) = run.span('V');
    let names = traced(&outcome.variables[0].1, &params).map(|(name, ..)| name);
    let mut differences = Vec::new();
    for (index, name) in names.into_iter().enumerate() {
        let wanted = |line: &&Line| line.event == 'V' && line.flow == Some(flow) && line.first == name;
        let recorded = lines.iter().filter(wanted);
        let recorded = recorded.map(|line| (line.micros, number(&line.second), 0.0));
        let recorded = course(recorded, from, to);
        // The RTO is derived, and not in every recording. A timeout in a window that ECN has cut is not counted by ns-2.
        if recorded.is_empty() || name == "nrexmit" && params.ecn {
            continue;
        }
        let ours = outcome.variables.iter().map(|(at, variables)| {
            let (_, value, tolerance) = traced(variables, &params)[index];
            (micros(*at), value, tolerance)
        });
        let ours = course(ours, from, to);
        let differ = |(recorded, ours): &(&(f64, f64, f64), &(f64, f64, f64))| {
            (recorded.0 - ours.0).abs() > 1.0 || (recorded.1 - ours.1).abs() > ours.2
        };
        if let Some((recorded, ours)) = recorded.iter().zip(&ours).find(differ) {
            let text = |(at, value, _): &(f64, f64, f64)| format!("{value} at {at} us");
            differences.push(format!("{name} of {flow}: recorded {}, ours {}", text(recorded), text(ours)));
        } else if recorded.len() != ours.len() {
            let counts = (recorded.len(), ours.len());
            differences.push(format!("{name} of {flow}: {} changes recorded, {} ours", counts.0, counts.1));
        }
    }
    differences
}

/// Totals of the whole run, which are kept also where the rows are not.
fn summary(run: &Run, outcome: &Outcome) -> Vec<String> {
    let mut drops = BTreeMap::new();
    for row in outcome.rows.iter().filter(|row| row.event == 'D') {
        *drops.entry(row.second.clone()).or_insert(0u64) += 1;
    }
    let mut differences = Vec::new();
    if drops != run.drops {
        differences.push(format!("drops: recorded {:?}, ours {drops:?}", run.drops));
    }
    let marks = outcome.rows.iter().filter(|row| row.event == 'M').count() as u64;
    if run.marks.is_some_and(|recorded| recorded != marks) {
        differences.push(format!("marks: recorded {:?}, ours {marks}", run.marks));
    }
    // What ns-2's Tcl command makes of a draw: its upper 31 bits over 2^31 − 1.
    let tcl = (outcome.next_uniform * f64::from(1u32 << 31)).floor() / f64::from(i32::MAX);
    if run.next_uniform.is_some_and(|recorded| (recorded - tcl).abs() > 1e-12) {
        differences.push(format!("next draw: recorded {:?}, ours {tcl}", run.next_uniform));
    }
    if run.flows.len() != outcome.flows.len() {
        differences.push(format!("{} flows recorded, {} ours", run.flows.len(), outcome.flows.len()));
    }
    for (flow, (recorded, ours)) in run.flows.iter().zip(&outcome.flows).enumerate() {
        differences.extend(totals(flow, recorded, ours, &run.spec()));
    }
    differences
}

fn totals(flow: usize, recorded: &Counters, outcome: &FlowOutcome, params: &TcpParams) -> Vec<String> {
    let Some((_, last)) = outcome.variables.last() else { return vec!["no variables".into()] };
    let counters = [
        ("sent", outcome.sent as f64),
        ("rexmit", outcome.retransmitted as f64),
        ("timeouts_nrexmit", counted_timeouts(last, params)),
        ("cwnd_cuts", last.reductions as f64),
        ("last_ack", f64::from(outcome.una) - 1.0),
        ("maxseq", f64::from(outcome.snd_max) - 1.0),
        ("sink_bytes", outcome.sink_bytes as f64),
        ("cwnd", last.cwnd),
        ("ssthresh", last.ssthresh),
    ];
    let differ = |&(key, ours): &(&str, f64)| {
        let tolerance = if key == "cwnd" { ours * 5.5e-6 } else { 0.0 };
        let counts = key != "timeouts_nrexmit" || !params.ecn;
        counts && (recorded[key] - ours).abs() > tolerance
    };
    let tell = |(key, ours)| format!("{key} of {flow}: recorded {}, ours {ours}", recorded[key]);
    counters.into_iter().filter(differ).map(tell).collect()
}
