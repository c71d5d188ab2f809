//! Runs the installed ns-2 on one of the recorded Tcl scenarios and reads what it did.

use crate::golden::{Counters, Line, Params, Run, folder};
use roamlab_transport::TcpSpec;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

static RUNS: AtomicU32 = AtomicU32::new(0);

/// The run of a group's scenario with these key=value arguments (a value may hold spaces if it comes last); `None`
/// if ns-2 is not installed.
pub fn run(group: &str, arguments: &str) -> Option<Run> {
    run_with(group, arguments, "")
}

/// As [`run`], with Tcl lines that set ns-2 variables first.
#[expect(clippy::disallowed_methods, reason = "ns-2 reads a script that a test may write")]
pub fn run_with(group: &str, arguments: &str, settings: &str) -> Option<Run> {
    let (file, bottleneck) = match group {
        "c" => ("c_outage.tcl", ("2", "3")),
        "d" => ("d_red.tcl", ("0", "1")),
        "e" => ("e_lte.tcl", ("0", "1")),
        _ => ("a_single.tcl", ("1", "2")),
    };
    let serial = RUNS.fetch_add(1, Ordering::Relaxed);
    let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{serial}", std::process::id()));
    let prefix = prefix.to_str().expect("a path that is text");
    let (plain, drops) = arguments.split_once(" drops=").unwrap_or((arguments, ""));
    let mut command = Command::new("ns");
    let script = folder().join("tcl").join(file);
    let wrapper = format!("{prefix}.tcl");
    std::fs::write(&wrapper, format!("{settings}\nsource {}\n", script.display()))
        .expect("a folder of our own");
    command.arg(&wrapper).args(plain.split(' ')).arg(format!("out={prefix}"));
    if !drops.is_empty() {
        command.arg(format!("drops={drops}"));
    }
    let Ok(status) = command.status() else {
        take(&wrapper);
        eprintln!("ns-2 is not installed: skipped");
        return None;
    };
    assert!(status.success(), "ns-2 failed on {arguments}");
    take(&wrapper);
    let [trace, variables, meta] = ["tr", "var", "meta"].map(|end| take(&format!("{prefix}.{end}")));
    let (mut lines, losses) = packets(&trace, bottleneck);
    lines.extend(variables_of(&variables));
    let (params, flows) = totals(&meta);
    let params = Params::new(|key| params.get(key).cloned());
    if params.red.is_some() {
        lines.extend(take(&format!("{prefix}.red")).lines().filter_map(red_variable));
    }
    let next_uniform = meta.lines().find_map(|line| line.strip_prefix("next_uniform ")?.parse().ok());
    let name = format!("{group} {arguments}");
    Some(Run {
        name,
        group: group.into(),
        params,
        flows,
        drops: losses,
        marks: None,
        next_uniform,
        lines: Some(lines),
        whole: true,
        spec: TcpSpec::default(),
    })
}

#[expect(clippy::disallowed_methods, reason = "a test may read what it made ns-2 write")]
fn take(file: &str) -> String {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{file}: {error}"));
    std::fs::remove_file(file).expect("a file of our own");
    text
}

fn micros(seconds: &str) -> f64 {
    seconds.parse::<f64>().expect("a time") * 1e6
}

/// The packet trace as the recordings' rows, and the losses by kind.
fn packets(trace: &str, bottleneck: (&str, &str)) -> (Vec<Line>, BTreeMap<String, u64>) {
    let (mut lines, mut losses) = (Vec::new(), BTreeMap::new());
    let (mut sent, mut waiting) = (BTreeSet::new(), 0u64);
    let mut enqueued = "";
    for row in trace.lines() {
        let fields: Vec<&str> = row.split(' ').collect();
        let [what, at, from, to, kind, size, flags, flow, source, _, seq, uid, ..] = fields[..] else {
            continue;
        };
        let mut push = |event, second: String| {
            lines.push(Line {
                micros: micros(at),
                event,
                flow: flow.parse().ok(),
                first: seq.into(),
                second,
            });
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
                    waiting += 1;
                    enqueued = uid;
                }
            }
            "-" if at_bottleneck => {
                if flags.as_bytes().get(4) == Some(&b'E') {
                    push('M', String::new());
                }
                waiting -= 1;
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
    (lines, losses)
}

/// The variable trace: `# flow <number> agent <agent>` for each sender, then its changes.
fn variables_of(trace: &str) -> Vec<Line> {
    let agent =
        |line: &str| line.strip_prefix("# flow ")?.split_once(" agent ").map(|(_, agent)| agent.to_owned());
    let agents: Vec<String> = trace.lines().filter_map(agent).collect();
    trace.lines().filter_map(|line| variable(line, &agents)).collect()
}

/// A line of RED's trace: `<a or p> <time> <value>`, both with six digits.
fn red_variable(line: &str) -> Option<Line> {
    let (name, rest) = line.split_once(' ')?;
    let first = match name {
        "a" => "ave",
        "p" => "prob1",
        _ => return None,
    };
    let (at, second) = rest.split_once(' ')?;
    Some(Line { micros: micros(at), event: 'R', flow: None, first: first.into(), second: second.into() })
}

/// A line of the variable trace: `f t<time> a<agent> n<name> v<value>`.
fn variable(line: &str, agents: &[String]) -> Option<Line> {
    let mut fields = line.strip_prefix("f t")?.split(' ');
    let at = micros(fields.next()?);
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

/// What was asked for, and the flows' counters at the end.
fn totals(meta: &str) -> (BTreeMap<String, String>, Vec<Counters>) {
    let line =
        |start: &str| meta.lines().find_map(|line| line.strip_prefix(start)).expect("a line of that name");
    let mut params = BTreeMap::new();
    let mut rest = line("params ");
    while let Some((key, tail)) = rest.split_once(' ') {
        // A Tcl list: a value with spaces, or an empty one, stands in braces.
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
