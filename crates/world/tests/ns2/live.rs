//! Runs the installed ns-2 on one of the recorded Tcl scenarios and reads what it did.

use super::golden::{Clock, Counters, Line, Params, Run, Set, own_folder};
use super::ties::Traffic;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

static RUNS: AtomicU32 = AtomicU32::new(0);

/// A scenario of a group, for ns-2.
#[derive(Clone, Debug)]
pub struct Asked {
    pub group: String,
    /// key=value, in the order of the Tcl file's `parse_args`.
    pub arguments: Vec<(String, String)>,
    /// Tcl lines that set ns-2 variables first.
    pub settings: String,
    pub clock: Clock,
}

impl Asked {
    /// `arguments`: key=value; a value may hold spaces if it comes last.
    pub fn new(group: &str, arguments: &str, clock: Clock) -> Asked {
        let (plain, drops) = arguments.split_once(" drops=").unwrap_or((arguments, ""));
        let pair = |text: &str| text.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
        let mut arguments: Vec<_> = plain.split(' ').filter_map(pair).collect();
        if !drops.is_empty() {
            arguments.push(("drops".into(), drops.into()));
        }
        Asked { group: group.into(), arguments, settings: String::new(), clock }
    }

    fn name(&self) -> String {
        let arguments: Vec<String> =
            self.arguments.iter().map(|(key, value)| format!("{key}={value}")).collect();
        format!(
            "{} {}{}",
            self.group,
            arguments.join(" "),
            if self.clock == Clock::Grid { ", on the grid" } else { "" }
        )
    }
}

/// The run, and what came and went at its bottleneck; `None` if ns-2 is not installed.
#[expect(clippy::disallowed_methods, reason = "ns-2 reads a script that a test may write")]
pub fn run(asked: &Asked) -> Option<(Run, Traffic)> {
    let (file, bottleneck) = match asked.group.as_str() {
        "c" => ("c_outage.tcl", ("2", "3")),
        "d" | "z" => ("d_red.tcl", ("0", "1")),
        "e" => ("e_lte.tcl", ("0", "1")),
        _ => ("a_single.tcl", ("1", "2")),
    };
    let serial = RUNS.fetch_add(1, Ordering::Relaxed);
    let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{serial}", std::process::id()));
    let prefix = prefix.to_str().expect("a path that is text");
    let tcl = own_folder().join("tcl");
    let first = if asked.clock == Clock::Grid { "grid.tcl" } else { "exact_times.tcl" };
    let [first, script] = [first, file].map(|file| tcl.join(file).display().to_string());
    let wrapper = format!("{prefix}.tcl");
    std::fs::write(&wrapper, format!("source {first}\n{}\nsource {script}\n", asked.settings))
        .expect("our own folder");
    let mut command = Command::new("ns");
    command.arg(&wrapper).arg(format!("out={prefix}"));
    command.args(asked.arguments.iter().map(|(key, value)| format!("{key}={value}")));
    let Ok(status) = command.status() else {
        take(&wrapper);
        eprintln!("ns-2 is not installed: skipped");
        return None;
    };
    assert!(status.success(), "ns-2 failed on {asked:?}");
    take(&wrapper);
    let [trace, nam, variables, meta] =
        ["tr", "nam", "var", "meta"].map(|end| take(&format!("{prefix}.{end}")));
    let exact = exact_times(&nam, asked.clock);
    let (mut lines, losses, traffic) = packets(&trace, &exact, bottleneck);
    lines.extend(variables_of(&variables, &exact, asked.clock));
    let (params, flows) = totals(&meta);
    let mut asked_for = params;
    asked_for.remove("out");
    let params = Params::new(|key| asked_for.get(key).cloned());
    if params.red.is_some() {
        let red = take(&format!("{prefix}.red"));
        lines.extend(red.lines().filter_map(|line| red_variable(line, asked.clock)));
    }
    let mut run = Run {
        name: asked.name(),
        group: asked.group.clone(),
        params,
        asked: asked_for,
        flows,
        drops: losses,
        marks: None,
        lines: Some(lines),
        whole: true,
        set: Set::default(),
        clock: asked.clock,
    };
    run.count_backoffs();
    Some((run, traffic))
}

#[expect(clippy::disallowed_methods, reason = "a test may read what it made ns-2 write")]
fn take(file: &str) -> String {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{file}: {error}"));
    std::fs::remove_file(file).expect("our own file");
    text
}

/// A time of ns-2 in microseconds of our time.
fn micros(seconds: &str, clock: Clock) -> f64 {
    let seconds: f64 = seconds.parse().expect("a time");
    match clock {
        Clock::Natural => seconds * 1e6,
        Clock::Grid => (seconds * f64::from(1 << 30)).round() / 1e3,
    }
}

/// When the packet events + - d happened, in their order, and r among them, marked so.
fn exact_times(nam: &str, clock: Clock) -> Vec<(char, f64)> {
    let event = |line: &str| {
        let mut fields = line.split(' ');
        let what = fields.next().filter(|what| matches!(*what, "+" | "-" | "d" | "r"))?;
        let at = fields.nth(1).filter(|at| *at != "*")?;
        Some((what.chars().next()?, micros(at, clock)))
    };
    nam.lines().filter_map(event).collect()
}

/// The packet trace as the recordings' rows, the losses by kind, and the bottleneck's traffic.
fn packets(
    trace: &str,
    exact: &[(char, f64)],
    bottleneck: (&str, &str),
) -> (Vec<Line>, BTreeMap<String, u64>, Traffic) {
    let (mut lines, mut losses, mut traffic) = (Vec::new(), BTreeMap::new(), Traffic::default());
    let (mut sent, mut waiting) = (BTreeSet::new(), 0u64);
    let rows = trace.lines().filter(|row| matches!(row.as_bytes()[..2], [b'+' | b'-' | b'd' | b'r', b' ']));
    let mut enqueued = "";
    for (row, &(event, at)) in rows.clone().zip(exact) {
        assert!(row.starts_with(event), "{row} is not {event} at {at}");
        let fields: Vec<&str> = row.split(' ').collect();
        let [what, _, from, to, kind, size, flags, flow, source, _, seq, uid, ..] = fields[..] else {
            continue;
        };
        let mut push = |event, second: String| {
            lines.push(Line { micros: at, event, flow: flow.parse().ok(), first: seq.into(), second });
        };
        let is_source = source.split_once('.').is_some_and(|(node, _)| node == from);
        let at_bottleneck = (from, to) == bottleneck && kind == "tcp";
        match what {
            "+" => {
                if kind == "tcp" && is_source {
                    push('S', u8::from(!sent.insert((flow, seq))).to_string());
                }
                if kind == "ack" && is_source {
                    push('K', size.into());
                }
                if at_bottleneck {
                    push('Q', waiting.to_string());
                    traffic.arrivals.push((at * 1e3, size.parse().expect("bytes")));
                    waiting += 1;
                    enqueued = uid;
                }
            }
            "-" if at_bottleneck => {
                if flags.as_bytes().get(4) == Some(&b'E') {
                    push('M', String::new());
                }
                waiting -= 1;
                traffic.departures.push((at * 1e3, size.parse().expect("bytes")));
                enqueued = if uid == enqueued { "" } else { enqueued };
            }
            "d" => {
                let from_queue = at_bottleneck && uid == enqueued;
                waiting -= u64::from(from_queue);
                let how = if from_queue { "q" } else { "l" };
                let how = if kind == "ack" { format!("{how}a") } else { how.into() };
                push('D', how.clone());
                *losses.entry(how).or_insert(0) += 1;
            }
            _ => {}
        }
    }
    assert_eq!(rows.count(), exact.len(), "one trace has more events than the other");
    (lines, losses, traffic)
}

/// The variable trace: `# flow <number> agent <agent>` for each sender, then its changes.
fn variables_of(trace: &str, exact: &[(char, f64)], clock: Clock) -> Vec<Line> {
    let agent =
        |line: &str| line.strip_prefix("# flow ")?.split_once(" agent ").map(|(_, agent)| agent.to_owned());
    let agents: Vec<String> = trace.lines().filter_map(agent).collect();
    let mut lines: Vec<Line> = trace.lines().filter_map(|line| variable(line, &agents, clock)).collect();
    // Whole microseconds of ns-2: the events of a packet at that time are more precise.
    for line in &mut lines {
        let after = exact.partition_point(|(_, at)| *at < line.micros);
        let near = exact[after.saturating_sub(1)..exact.len().min(after + 1)].iter().map(|(_, at)| *at);
        let distance = |at: &f64| (at - line.micros).abs();
        let nearest = near.min_by(|one, other| distance(one).total_cmp(&distance(other)));
        line.micros = nearest.filter(|at| distance(at) < 0.6).unwrap_or(line.micros);
    }
    lines
}

/// A line of RED's trace: `<a or p> <time> <value>`, both with six digits.
fn red_variable(line: &str, clock: Clock) -> Option<Line> {
    let (name, rest) = line.split_once(' ')?;
    let first = match name {
        "a" => "ave",
        "p" => "prob1",
        _ => return None,
    };
    let (at, second) = rest.split_once(' ')?;
    Some(Line {
        micros: micros(at, clock),
        event: 'R',
        flow: None,
        first: first.into(),
        second: second.into(),
    })
}

/// A line of the variable trace: `f t<time> a<agent> n<name> v<value>`.
fn variable(line: &str, agents: &[String], clock: Clock) -> Option<Line> {
    let mut fields = line.strip_prefix("f t")?.split(' ');
    let at = micros(fields.next()?, clock);
    let agent = fields.next()?.strip_prefix('a')?;
    let flow = agents.iter().position(|other| other == agent);
    let first = match fields.next()?.strip_prefix('n')? {
        "srtt_" => "srtt8",
        "rttvar_" => "rttvar4",
        name => name.trim_end_matches('_'),
    };
    let second = fields.next()?.strip_prefix('v')?.to_owned();
    Some(Line { micros: at, event: 'V', flow, first: first.into(), second })
}

/// The requested run, and the flows' counters at the end.
fn totals(meta: &str) -> (BTreeMap<String, String>, Vec<Counters>) {
    let line =
        |start: &str| meta.lines().find_map(|line| line.strip_prefix(start)).expect("a line of that name");
    let mut params = BTreeMap::new();
    let mut rest = line("params ");
    while let Some((key, tail)) = rest.split_once(' ') {
        // A Tcl list: a value with spaces, or an empty one, is in braces.
        let (value, tail) = match tail.strip_prefix('{') {
            Some(braced) => braced.split_once('}').expect("a closing brace"),
            None => tail.split_once(' ').map_or((tail, ""), |(value, tail)| (value, tail)),
        };
        params.insert(key.to_owned(), value.to_owned());
        rest = tail.trim_start();
    }
    let name = |key: &str| {
        match key {
            "ndatapack" => "sent",
            "nrexmitpack" => "rexmit",
            "nrexmit" => "timeouts_nrexmit",
            "ncwndcuts" => "cwnd_cuts",
            "ack" => "last_ack",
            "necn" => "ecn_responses",
            "sinkbytes" => "sink_bytes",
            other => other,
        }
        .to_owned()
    };
    let counters = |line: &str| -> Counters {
        let fields = line.split(' ').filter_map(|field| field.split_once('='));
        fields.filter_map(|(key, value)| Some((name(key), value.parse().ok()?))).collect()
    };
    let flows = meta.lines().filter(|line| line.starts_with("flow ")).map(counters).collect();
    (params, flows)
}
