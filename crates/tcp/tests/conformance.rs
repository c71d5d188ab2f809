//! Runs the conformance scripts of `tests/conformance/tcp`; the format is described in `tests/conformance/README.md`.

use roamlab_congestion::SenderEventKind;
use roamlab_engine::{Duration, Time};
use roamlab_packet::{AccEcnOption, Ecn, SackBlocks, TcpFlags, TcpHeader, Timestamps};
use roamlab_tcp::{PARAMETERS, Segment, TcpProfile, TcpReceiver, TcpSender, TcpSpec};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The endpoint that a script tests.
enum Endpoint {
    Sender(Box<TcpSender>),
    Receiver(Box<TcpReceiver>),
}

struct Script {
    endpoint: Endpoint,
    now: Time,
    facts: Vec<SenderEventKind>,
}

type Outcome = Result<(), String>;

fn seconds(text: &str) -> Result<Duration, String> {
    format!("{text} s").parse().map_err(|error| format!("{error}"))
}

fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("\"{text}\" is not a number"))
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, expected: T, found: T) -> Outcome {
    if expected == found { Ok(()) } else { Err(format!("{what}: expected {expected:?}, found {found:?}")) }
}

/// Lines without comments; the head holds `profile`, `role` and `set`, the body begins with the first time.
fn run(text: &str) -> Outcome {
    let lines: Vec<(usize, &str)> = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.split('#').next().unwrap_or_default().trim()))
        .filter(|(_, line)| !line.is_empty())
        .collect();
    let begin = lines.iter().position(|(_, line)| line.starts_with('+')).ok_or("no step")?;
    let mut script = head(&lines[..begin])?;
    for (index, line) in &lines[begin..] {
        let step = script.step(line);
        step.map_err(|why| format!("line {index}, \"{line}\": {why}"))?;
    }
    Ok(())
}

fn head(lines: &[(usize, &str)]) -> Result<Script, String> {
    let (mut profile, mut role, mut set) = ("rfc", "sender", Vec::new());
    for (_, line) in lines {
        match line.split_once(' ').ok_or("a head line has a value")? {
            ("profile", name) => profile = name,
            ("role", name) => role = name,
            ("set", assignment) => {
                let (name, value) = assignment.split_once('=').ok_or("write: set PARAMETER = VALUE")?;
                let value = value.trim();
                let is_json = serde_json::from_str::<Value>(value).is_ok();
                let value = if is_json { value.to_owned() } else { Value::String(value.into()).to_string() };
                set.push((name.trim(), value));
            }
            (other, _) => return Err(format!("unknown head line {other}")),
        }
    }
    // Facts of Linux name exact times and each segment, so that its grain of time and its bursts are off unless a script
    // sets them.
    for name in ["timer_wheel", "tso_deferral"] {
        if !set.iter().any(|(known, _)| *known == name) {
            set.push((name, "false".into()));
        }
    }
    // Those of a flow, and the rules of its profile.
    let is_rule = |name: &str| PARAMETERS.iter().any(|known| known.name == name && known.is_rule);
    let (mut rules, parameters): (Vec<_>, Vec<_>) = set.into_iter().partition(|(name, _)| is_rule(name));
    rules.push(("based_on", format!("\"{profile}\"")));
    let table = |fields: Vec<(&str, String)>| {
        let fields: Vec<String> = fields.iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
        format!("{{{}}}", fields.join(","))
    };
    let spec: TcpSpec = serde_json::from_str(&table(parameters)).map_err(|error| error.to_string())?;
    let profile: TcpProfile = serde_json::from_str(&table(rules)).map_err(|error| error.to_string())?;
    let params = spec.resolve(profile).map_err(|(field, why)| format!("{field}: {why}"))?;
    let endpoint = match role {
        "sender" => Endpoint::Sender(Box::new(TcpSender::new(&params, Duration::ZERO))),
        "receiver" => Endpoint::Receiver(Box::new(TcpReceiver::new(&params))),
        other => return Err(format!("unknown role {other}")),
    };
    Ok(Script { endpoint, now: Time::ZERO, facts: Vec::new() })
}

/// `1-3` as [1, 3).
fn block(text: &str) -> Result<(u32, u32), String> {
    let (start, end) = text.split_once('-').ok_or("a block is start-end")?;
    Ok((number(start)?, number(end)?))
}

/// `1/2/3` as counters of bytes in their order on the wire.
fn counted(text: &str, ect1_first: bool) -> Result<AccEcnOption, String> {
    let counters: Vec<u32> = text.split('/').map(number).collect::<Result<_, _>>()?;
    let counter = |place: usize| counters.get(place).copied().unwrap_or(0);
    let (ect0, ect1) = if ect1_first { (counter(2), counter(0)) } else { (counter(0), counter(2)) };
    Ok(AccEcnOption::new(ect0, counter(1), ect1, ect1_first, counters.len() as u8))
}

/// The words behind `<` or of an expected ACK.
fn header(words: &[&str]) -> Result<(TcpHeader, Ecn), String> {
    let mut header = TcpHeader { window: 1_000_000, ..TcpHeader::default() };
    let (mut ecn, mut flags) = (Ecn::NotEct, TcpFlags::default());
    let mut sacks = SackBlocks::default();
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        let mut value = || words.next().copied().ok_or_else(|| format!("{word} needs a value"));
        match word {
            "ack" => (header.ack, flags) = (number(value()?)?, flags.with(TcpFlags::ACK)),
            "seq" => (header.seq, header.payload) = (number(value()?)?, 1),
            "bare" => header.payload = 0,
            "win" => header.window = number(value()?)?,
            "sack" => {
                let (start, end) = block(value()?)?;
                sacks.push(start, end);
            }
            "ecr" => {
                let echo = Time::ZERO + seconds(value()?)?;
                let value = header.timestamps.map_or(Time::ZERO, |timestamps| timestamps.value);
                header.timestamps = Some(Timestamps { value, echo });
            }
            "ts" => {
                let value = Time::ZERO + seconds(value()?)?;
                let echo = header.timestamps.map_or(Time::ZERO, |timestamps| timestamps.echo);
                header.timestamps = Some(Timestamps { value, echo });
            }
            "syn" => (header.payload, flags) = (0, flags.with(TcpFlags::SYN)),
            "fin" => (header.payload, flags) = (0, flags.with(TcpFlags::FIN)),
            "ece" => flags = flags.with(TcpFlags::ECE),
            "cwr" => flags = flags.with(TcpFlags::CWR),
            "ae" => flags = flags.with(TcpFlags::AE),
            "ace" => flags = flags.with_ace(number(value()?)? as u8),
            "counted" => header.accecn = counted(value()?, false)?,
            "counted1" => header.accecn = counted(value()?, true)?,
            "ect0" => ecn = Ecn::Ect0,
            "ect1" => ecn = Ecn::Ect1,
            "ce" => ecn = Ecn::Ce,
            other => return Err(format!("unknown word {other}")),
        }
    }
    Ok((TcpHeader { flags, sacks, ..header }, ecn))
}

/// A sent segment as a script writes it: its number, a letter for all that is special about it, and if asked its size.
fn written(segment: &Segment, with_size: bool) -> String {
    let header = &segment.header;
    let has = |flag| header.flags.has(flag);
    let bare = header.payload == 0 && !has(TcpFlags::SYN) && !has(TcpFlags::FIN);
    let marks = [
        ('S', has(TcpFlags::SYN)),
        ('F', has(TcpFlags::FIN)),
        ('A', bare),
        ('R', header.retransmission),
        ('C', has(TcpFlags::AE)),
        ('E', has(TcpFlags::ECE)),
        ('W', has(TcpFlags::CWR)),
        ('T', segment.ecn == Ecn::Ect0),
        ('L', segment.ecn == Ecn::Ect1),
    ];
    let marks: String = marks.into_iter().filter(|(_, is)| *is).map(|(letter, _)| letter).collect();
    let number = if marks.is_empty() { header.seq.to_string() } else { format!("{}/{marks}", header.seq) };
    if with_size { format!("{number}={}", segment.size.0) } else { number }
}

/// True if an ACK is the one in these words.
fn acknowledges(wanted: &[&str], segment: &Segment) -> Outcome {
    let (words, size) = match wanted {
        [words @ .., "size", size] => (words, Some(number(size)?)),
        _ => (wanted, None),
    };
    if let Some(size) = size {
        expect("size", u64::from(size), segment.size.0)?;
    }
    let (ack, (wanted, ecn)) = (&segment.header, header(words)?);
    expect("ECN field", ecn, segment.ecn)?;
    expect("ack", wanted.ack, ack.ack)?;
    expect("flags", wanted.flags, ack.flags)?;
    expect("SACK blocks", wanted.sacks.as_slice(), ack.sacks.as_slice())?;
    if words.contains(&"counted") || words.contains(&"counted1") {
        let shown = |header: &TcpHeader| (header.accecn.kind(), header.accecn.counters().to_vec());
        expect("counters", shown(&wanted), shown(ack))?;
    }
    let echo = |header: &TcpHeader| header.timestamps.map(|timestamps| timestamps.echo);
    if wanted.timestamps.is_some() {
        expect("echo", echo(&wanted), echo(ack))?;
    }
    if words.contains(&"win") { expect("win", wanted.window, ack.window) } else { Ok(()) }
}

impl Script {
    fn step(&mut self, line: &str) -> Outcome {
        let mut words = line.split_whitespace();
        let time = words.next().and_then(|time| time.strip_prefix('+')).ok_or("a step begins with +time")?;
        self.now += seconds(time)?;
        let verb = words.next().ok_or("a step does something")?;
        let rest: Vec<&str> = words.collect();
        match (verb, &mut self.endpoint) {
            ("<", Endpoint::Sender(sender)) => {
                let (header, ecn) = header(&rest)?;
                sender.on_segment(&header, ecn, self.now);
            }
            ("<", Endpoint::Receiver(receiver)) => {
                let (header, ecn) = header(&rest)?;
                receiver.on_segment(&header, ecn, self.now);
            }
            ("offer", Endpoint::Sender(sender)) => match rest[..] {
                ["all"] => sender.offer(None),
                [count] => sender.offer(Some(u64::from(number(count)?))),
                _ => return Err("offer how many?".into()),
            },
            ("close", Endpoint::Sender(sender)) => sender.close(),
            ("stop", Endpoint::Sender(sender)) => sender.stop(),
            ("hold", Endpoint::Receiver(receiver)) => receiver.hold(),
            ("read", Endpoint::Receiver(receiver)) => {
                receiver.read(number(rest.first().ok_or("how many?")?)?, self.now)
            }
            ("timer", _) => self.timer(&rest)?,
            (">", _) => self.sent(&rest)?,
            ("?", Endpoint::Sender(_)) => self.state(&rest)?,
            (other, _) => return Err(format!("unknown step {other}")),
        }
        Ok(())
    }

    /// The next deadline comes, after the time in the line.
    fn timer(&mut self, rest: &[&str]) -> Outcome {
        let deadline = match &self.endpoint {
            Endpoint::Sender(sender) => sender.next_deadline(),
            Endpoint::Receiver(receiver) => receiver.next_deadline(),
        };
        if rest == ["off"] {
            return expect("timer", None, deadline);
        }
        let deadline = deadline.ok_or("no timer runs")?;
        if let [span] = rest {
            expect("timer", seconds(span)?, deadline.since(self.now))?;
        }
        self.now = deadline;
        match &mut self.endpoint {
            Endpoint::Sender(sender) => sender.on_deadline(self.now),
            Endpoint::Receiver(receiver) => receiver.on_deadline(self.now),
        }
        Ok(())
    }

    fn sent(&mut self, rest: &[&str]) -> Outcome {
        let nothing = rest == ["nothing"];
        match &mut self.endpoint {
            Endpoint::Sender(sender) if rest == ["any"] => {
                while sender.poll_transmit(self.now).is_some() {}
                Ok(())
            }
            Endpoint::Sender(sender) => {
                let sized = |index: usize| rest.get(index).is_some_and(|word| word.contains('='));
                let sent: Vec<String> = std::iter::from_fn(|| sender.poll_transmit(self.now))
                    .enumerate()
                    .map(|(index, segment)| written(&segment, sized(index)))
                    .collect();
                let expected: Vec<String> =
                    rest.iter().filter(|_| !nothing).map(|&word| word.to_owned()).collect();
                expect("sent", expected, sent)
            }
            Endpoint::Receiver(receiver) => {
                let segments: Vec<Segment> =
                    std::iter::from_fn(|| receiver.poll_transmit(self.now)).collect();
                if nothing {
                    return expect("ACKs", 0, segments.len());
                }
                let wanted: Vec<&[&str]> = rest.split(|&word| word == "|").collect();
                expect("ACKs", wanted.len(), segments.len())?;
                wanted.iter().zip(&segments).try_for_each(|(wanted, segment)| acknowledges(wanted, segment))
            }
        }
    }

    /// Pairs of a variable and its value; `facts` takes the rest of the line.
    fn state(&mut self, rest: &[&str]) -> Outcome {
        let Endpoint::Sender(sender) = &mut self.endpoint else { return Ok(()) };
        self.facts.extend(std::iter::from_fn(|| sender.poll_fact()).map(|fact| fact.kind));
        let mut words = rest.iter();
        while let Some(&name) = words.next() {
            if name == "facts" {
                let facts = std::mem::take(&mut self.facts);
                let names =
                    facts.iter().filter(|kind| **kind != SenderEventKind::Window).map(|kind| kind.name());
                return expect("facts", words.copied().collect::<Vec<_>>(), names.collect());
            }
            let value = *words.next().ok_or_else(|| format!("{name} needs a value"))?;
            let variables = sender.variables();
            let found = match name {
                "cwnd" => variables.cwnd,
                "ssthresh" => variables.ssthresh,
                "rto" => variables.rto.as_secs_f64(),
                "srtt" => variables.srtt.as_secs_f64(),
                "rttvar" => variables.rttvar.as_secs_f64(),
                "backoff" => variables.backoff as f64,
                "timeouts" => variables.timeouts as f64,
                "reductions" => variables.reductions as f64,
                "inflight" => f64::from(sender.in_flight()),
                "finished" => f64::from(u8::from(sender.finished())),
                other => return Err(format!("unknown variable {other}")),
            };
            let wanted: f64 = value.parse().map_err(|_| format!("\"{value}\" is not a number"))?;
            if (found - wanted).abs() > 1e-4 * wanted.abs().max(1.0) {
                return Err(format!("{name}: expected {wanted}, found {found}"));
            }
        }
        Ok(())
    }
}

#[expect(clippy::disallowed_methods, reason = "a test may read its scripts")]
fn scripts(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        if path.is_dir() {
            found.extend(scripts(&path));
        } else if path.extension().is_some_and(|end| end == "script") {
            let text = std::fs::read_to_string(&path).expect("a text");
            found.push((path, text));
        }
    }
    found.sort();
    found
}

#[test]
fn every_script_holds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance/tcp");
    let scripts = scripts(&folder);
    assert!(scripts.len() >= 517, "only {} scripts", scripts.len());
    let mut failures = Vec::new();
    for (path, text) in &scripts {
        let name = path.strip_prefix(&folder).unwrap_or(path).display();
        let cites = ["RFC ", "ns-2", "Mathis", "Brakmo", "Jacobson", "Linux"]
            .iter()
            .any(|source| text.contains(source));
        if !cites {
            failures.push(format!("{name}: cites nothing"));
        }
        failures.extend(run(text).err().map(|why| format!("{name}: {why}")));
    }
    assert!(failures.is_empty(), "{} of {} scripts:\n{}", failures.len(), scripts.len(), failures.join("\n"));
}

#[test]
fn a_wrong_script_fails() {
    assert!(run("+0 offer 5\n+0 > 0/S").is_ok());
    assert!(run("+0 offer 5\n+0 > 1").is_err());
    assert!(run("+0 offer 5\n+0 > 0/S\n+0 ? cwnd 2").is_err());
    assert!(run("+0 offer 5\n+0 > 0/S\n+0 timer 2").is_err());
    assert!(run("+0 offer 5\n+0 > 0/S=40").is_ok());
    assert!(run("+0 offer 5\n+0 > 0/S=41").is_err());
    assert!(run("role receiver\n+0 < seq 0 syn\n+0 > ack 1 syn size 40").is_ok());
    assert!(run("role receiver\n+0 < seq 0 syn\n+0 > ack 1 syn size 44").is_err());
    assert!(run("role receiver\n+0 < seq 0 syn\n+0 > ack 1 syn | ack 1").is_err());
    assert!(run("set windoww = 5 pkt\n+0 offer 5").is_err());
}
