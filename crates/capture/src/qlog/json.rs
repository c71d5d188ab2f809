//! The events of a qlog, one by one: a file of JSON with all traces, or a sequence of texts (RFC 7464).

use crate::fault::{Fault, Read};
use crate::source::Source;
use serde_json::{Map, Value};

/// Bytes of one event, or of one value of a header.
const LONGEST: usize = 8 << 20;
/// Bytes that are looked at first.
const FIRST: usize = 4096;
const EXPECTED: &str = "qlog: JSON with traces, or a text of JSON for each event";
const REMEDY: &str = "log again with qlog 0.3 or later; a file of `SSLKEYLOGFILE` or text is no qlog";

/// A part of a qlog.
pub enum Part {
    /// Fields of the file or of a trace; the number of the trace.
    Header(usize, Map<String, Value>),
    /// An event; the number of its trace.
    Event(usize, Value),
}

/// Where the reader is: in the file's object, in its list of traces, in a trace, in a list of events.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    File,
    Traces,
    Trace,
    Events,
}

/// The parts of a file.
pub struct Parts<'a> {
    source: Source<'a>,
    levels: Vec<Level>,
    /// Fields that were read of the object that is open.
    fields: Map<String, Value>,
    traces: usize,
    started: bool,
    cut: bool,
}

impl<'a> Parts<'a> {
    /// The parts of a file, plain or packed.
    pub fn new(input: impl std::io::Read + 'a) -> Read<Parts<'a>> {
        let mut source = Source::new(input)?;
        if source.peek(1)?.is_empty() {
            return Err(source.fault("it is empty", EXPECTED, REMEDY));
        }
        Ok(Parts { source, levels: Vec::new(), fields: Map::new(), traces: 0, started: false, cut: false })
    }

    /// True if the file ends within a part.
    pub fn is_cut(&self) -> bool {
        self.cut || self.source.is_cut()
    }

    /// A fault in the event that was read last, or that begins here.
    pub fn fault(&self, problem: impl Into<String>, expected: &str, remedy: &str) -> Fault {
        let fault = self.source.fault(problem, expected, remedy);
        Fault { packet: self.source.packets(), ..fault }
    }

    /// The next part; `None` behind the last one.
    pub fn next(&mut self) -> Read<Option<Part>> {
        loop {
            let Some(byte) = self.next_byte()? else {
                self.cut |= !self.levels.is_empty();
                self.levels.clear();
                return Ok(self.close());
            };
            let part = match self.levels.last() {
                None => self.text(byte)?,
                Some(Level::Events | Level::Traces) => self.element(byte)?,
                Some(Level::File | Level::Trace) => self.field(byte)?,
            };
            if part.is_some() {
                return Ok(part);
            }
        }
    }

    /// The next byte that is no space; it is not passed.
    fn next_byte(&mut self) -> Read<Option<u8>> {
        loop {
            let window = self.source.peek(FIRST)?;
            let blank = window
                .iter()
                .position(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x1E | 0xEF | 0xBB | 0xBF))
                .unwrap_or(window.len());
            let found = window.get(blank).copied();
            let ended = window.len() < FIRST;
            self.source.pass(blank, 0);
            if found.is_some() || ended {
                return Ok(found);
            }
        }
    }

    /// A text of the sequence: the header, or an event.
    fn text(&mut self, byte: u8) -> Read<Option<Part>> {
        if byte != b'{' {
            return Err(self.source.fault("this is no JSON object", EXPECTED, REMEDY));
        }
        if !self.started {
            self.started = true;
            self.source.pass(1, 0);
            self.levels.push(Level::File);
            return Ok(None);
        }
        let value = self.value(1)?;
        Ok(value.map(|value| Part::Event(self.traces.saturating_sub(1), value)))
    }

    /// An element of a list, or its end.
    fn element(&mut self, byte: u8) -> Read<Option<Part>> {
        match (byte, self.levels.last()) {
            (b']', _) => {
                self.source.pass(1, 0);
                self.levels.pop();
            }
            (b',', _) => self.source.pass(1, 0),
            (b'{', Some(Level::Traces)) => {
                self.source.pass(1, 0);
                let file = self.close();
                self.levels.push(Level::Trace);
                return Ok(file);
            }
            (_, Some(Level::Events)) => {
                // Fields of the trace before its events are given before them.
                if let Some(part) = self.close() {
                    return Ok(Some(part));
                }
                let trace = self.traces;
                return Ok(self.value(1)?.map(|value| Part::Event(trace, value)));
            }
            _ => {
                self.value(0)?;
            }
        }
        Ok(None)
    }

    /// A field of the file or of a trace, or its end.
    fn field(&mut self, byte: u8) -> Read<Option<Part>> {
        match byte {
            b'}' => {
                self.source.pass(1, 0);
                let part = self.close();
                if self.levels.pop() == Some(Level::Trace) || self.traces == 0 {
                    self.traces += 1;
                }
                return Ok(part);
            }
            b',' => self.source.pass(1, 0),
            b'"' => {
                let Some(Value::String(name)) = self.value(0)? else { return Ok(None) };
                match self.next_byte()? {
                    Some(b':') => self.source.pass(1, 0),
                    None => return Ok(None),
                    Some(_) => return Err(self.source.fault("a name without a value", "JSON", REMEDY)),
                }
                let is_list = self.next_byte()? == Some(b'[');
                let inner = match (name.as_str(), self.levels.last()) {
                    ("traces", Some(Level::File)) if is_list => Some(Level::Traces),
                    ("events", Some(Level::Trace)) if is_list => Some(Level::Events),
                    _ => None,
                };
                if let Some(inner) = inner {
                    self.source.pass(1, 0);
                    self.levels.push(inner);
                } else if let Some(value) = self.value(0)? {
                    self.fields.insert(name, value);
                }
            }
            _ => return Err(self.source.fault("this is no JSON", EXPECTED, REMEDY)),
        }
        Ok(None)
    }

    /// The fields that were read: a header, or an event that is the first text of a file without a header.
    fn close(&mut self) -> Option<Part> {
        let fields = std::mem::take(&mut self.fields);
        if fields.is_empty() {
            return None;
        }
        if fields.contains_key("data") && fields.contains_key("name") {
            return Some(Part::Event(0, Value::Object(fields)));
        }
        Some(Part::Header(self.traces, fields))
    }

    /// The value that begins here; `None`: the file ends within it. `events`: one if it is an event.
    fn value(&mut self, events: u64) -> Read<Option<Value>> {
        let Some(size) = self.size()? else {
            let rest = self.source.peek(LONGEST)?.len();
            self.source.pass(rest, 0);
            self.cut = true;
            return Ok(None);
        };
        let parsed = serde_json::from_slice(self.source.peeked(size));
        let value = parsed.map_err(|error| {
            let mut fault = self.source.fault(format!("this is no JSON: {error}"), EXPECTED, REMEDY);
            fault.byte += error.column().saturating_sub(1) as u64;
            fault
        })?;
        self.source.pass(size, events);
        Ok(Some(value))
    }

    /// Bytes of the value that begins here; `None`: the file ends within it.
    fn size(&mut self) -> Read<Option<usize>> {
        let (mut at, mut want) = (0, FIRST);
        let mut scan = Scan::default();
        loop {
            let window = self.source.peek(want)?;
            while let Some(byte) = window.get(at) {
                match scan.take(*byte) {
                    End::Within => at += 1,
                    End::Behind => return Ok(Some(at + 1)),
                    End::Before => return Ok(Some(at.max(1))),
                }
            }
            if window.len() < want {
                return Ok(None);
            }
            if want >= LONGEST {
                let found = format!("an event of more than {} MB", LONGEST >> 20);
                return Err(self.source.fault(found, EXPECTED, REMEDY));
            }
            want = (want * 2).min(LONGEST);
        }
    }
}

/// Where a value ends.
enum End {
    Within,
    Behind,
    Before,
}

/// A search for the end of a value.
#[derive(Default)]
struct Scan {
    depth: usize,
    in_string: bool,
    is_escaped: bool,
}

impl Scan {
    fn take(&mut self, byte: u8) -> End {
        if self.in_string {
            self.in_string = self.is_escaped || byte != b'"';
            self.is_escaped = byte == b'\\' && !self.is_escaped;
            return if !self.in_string && self.depth == 0 { End::Behind } else { End::Within };
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' if self.depth == 0 => return End::Before,
            b'}' | b']' => {
                self.depth -= 1;
                if self.depth == 0 {
                    return End::Behind;
                }
            }
            // A text of a sequence that was cut: the next one begins.
            0x1E => return End::Before,
            b',' | b' ' | b'\t' | b'\n' | b'\r' | b':' if self.depth == 0 => return End::Before,
            _ => {}
        }
        End::Within
    }
}
