//! A recorded film: the frames of a trace in one of the two text formats of the Fitzek and Reisslein library.
//!
//! * `Verbose_*`: time in ms, type, bytes; lines that begin with `#` are comments.
//! * The later layout: number, type, time in ms, bytes, below at most two lines of headings.
//!
//! Types are I, P, B and, in H.263, PB, which counts as P. Frames are in the order of their transmission. So the time
//! of a B-frame may be earlier than that of the frame before it, from which it is coded. Then it is sent with that one.

use super::{Frame, Paced, Packetisation, Source, stream};
use crate::UnitKind;
use roamlab_engine::{BadLine, Duration, InputFile, Recording, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One line for `roamlab list`.
pub const SUMMARY: &str = "a recorded film over RTP: the frames of a Fitzek-Reisslein trace file";

/// The application.
pub type Recorded = Paced<Player>;

/// The frames of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VideoTrace {
    /// Type, bytes, and time to the next frame; of the last one to the first.
    frames: Vec<Frame>,
}

/// The largest time and size of a trace: a month in ms, and 1 GB.
const LATEST_MS: f64 = 31.0 * 86_400_000.0;
const LARGEST: u64 = 1_000_000_000;

/// The gap behind the only frame of a trace.
const ONLY_GAP: u64 = 40_000_000;

impl Recording for VideoTrace {
    fn read(text: &str) -> Result<VideoTrace, BadLine> {
        let (mut frames, mut times, mut layout, mut headings) = (Vec::new(), Vec::<u64>::new(), 0, 0);
        for (index, line) in text.lines().enumerate() {
            let wrong = |message: String| Err(BadLine { line: index + 1, message });
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            if words.is_empty() || words[0].starts_with('#') {
                continue;
            }
            if layout == 0 && headings < 2 && words[0].parse::<f64>().is_err() {
                headings += 1;
                continue;
            }
            let (time, kind, bytes) = match (words.as_slice(), layout) {
                (&[time, kind, bytes], 0 | 3) => (time, kind, bytes),
                (&[_, kind, time, bytes], 0 | 4) => (time, kind, bytes),
                _ => {
                    let expected = match layout {
                        3 => "time in ms, type, bytes: write for example 40 P 512",
                        4 => "number, type, time in ms, bytes: write for example 2 P 40 512",
                        _ => {
                            "time in ms, type, bytes; or number, type, time in ms, bytes: write for example 40 P 512"
                        }
                    };
                    return wrong(format!("{} words; expected {expected}", words.len()));
                }
            };
            layout = words.len();
            let Some(time) = time.parse::<f64>().ok().filter(|time| (0.0..=LATEST_MS).contains(time)) else {
                return wrong("this is not a time in ms from 0 on: write for example 40".into());
            };
            let kind = match kind {
                "I" => UnitKind::I,
                "P" | "PB" => UnitKind::P,
                "B" => UnitKind::B,
                _ => return wrong("this is not a type of frame: write I, P, B or PB".into()),
            };
            let Some(bytes) = bytes.parse::<u64>().ok().filter(|bytes| (1..=LARGEST).contains(bytes)) else {
                return wrong("this is not a frame's size in bytes: write a whole number from 1 on".into());
            };
            let time = libm::round(time * 1e6) as u64;
            times.push(times.last().map_or(time, |last| time.max(*last)));
            frames.push(Frame { kind, bytes, gap: Duration::ZERO });
        }
        let [Some(first), Some(last)] = [times.first(), times.last()] else {
            let message =
                "the file has no frames; expected time in ms, type, bytes: write for example 40 P 512";
            return Err(BadLine { line: 1, message: message.into() });
        };
        let mean = (last - first).checked_div(frames.len() as u64 - 1).filter(|gap| *gap > 0);
        let next = times.iter().skip(1).copied().chain([last + mean.unwrap_or(ONLY_GAP)]);
        for ((frame, at), next) in frames.iter_mut().zip(&times).zip(next) {
            frame.gap = Duration::from_nanos(next - at);
        }
        Ok(VideoTrace { frames })
    }
}

impl VideoTrace {
    /// Mean size of a frame, and frames a second.
    pub fn mean(&self) -> (f64, f64) {
        let (count, bytes) =
            (self.frames.len() as f64, self.frames.iter().map(|frame| frame.bytes as f64).sum::<f64>());
        let length: f64 = self.frames.iter().map(|frame| frame.gap.as_secs_f64()).sum();
        (bytes / count, count / length)
    }
}

/// Parameters of a recorded film.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The earliest start.
    #[serde(default)]
    pub start: Duration,
    /// The start is uniform in [`start`, `start + start_within`), drawn from the flow's own random stream.
    #[serde(default)]
    pub start_within: Duration,
    /// No frame begins from then on; absent: with the run.
    #[serde(default)]
    pub stop: Option<Duration>,
    /// The trace's file, relative to the scenario's or to the folder `ROAMLAB_DATA`.
    pub file: InputFile<VideoTrace>,
    /// It begins at a frame drawn from all (ns-2's `Application/Traffic/Trace`), not at the first. At its end it begins
    /// again.
    #[serde(default)]
    pub random_begin: bool,
    /// How frames become packets.
    #[serde(default)]
    pub packets: Packetisation,
}

impl Params {
    fn check(&self) -> Result<(), (&'static str, String)> {
        Ok(())
    }
}

stream!(Params);

/// The frames of a trace, again and again.
#[derive(Clone, Debug)]
pub struct Player {
    /// Scenarios are checked once their files are read, so there is one.
    trace: Option<Arc<VideoTrace>>,
    next: usize,
}

impl Source for Player {
    type Params = Params;

    fn new(params: &Params, mut rng: Rng) -> Player {
        let trace = params.file.content().cloned();
        let frames = trace.as_ref().map_or(0, |trace| trace.frames.len());
        let next = if params.random_begin { (rng.uniform() * frames as f64) as usize } else { 0 };
        Player { trace, next }
    }

    fn next(&mut self) -> Frame {
        let frames = self.trace.as_ref().map_or(&[][..], |trace| &trace.frames);
        let silence = Frame { kind: UnitKind::I, bytes: 1, gap: Duration::from_secs(1) };
        let frame = frames.get(self.next).copied().unwrap_or(silence);
        self.next = if self.next + 1 < frames.len() { self.next + 1 } else { 0 };
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(&'static str, u64, u64)> {
        let frames = VideoTrace::read(text).unwrap().frames;
        frames.iter().map(|it| (it.kind.name(), it.bytes, it.gap.as_nanos() / 1_000_000)).collect()
    }

    #[test]
    fn both_layouts_are_read_and_b_frames_go_with_the_frame_before() {
        let expected = vec![("I", 900, 120), ("P", 500, 0), ("B", 100, 0), ("B", 90, 120), ("P", 400, 60)];
        let verbose = "# a film\n0\tI\t900\n120\tP\t500\n40\tB\t100\n80\tB\t90\n240\tPB\t400\n";
        let later = "Frame Type Time[ms] Length[byte]\n-----\n1 I 0 900\n2 P 120.0 500\n3 B 40 100\n4 B 80 90\n5 P 240 400\n";
        assert_eq!(read(verbose), expected);
        assert_eq!(read(later), expected);
        assert_eq!(read("0 I 7"), [("I", 7, 40)]);
        let (mean, rate) = VideoTrace::read(verbose).unwrap().mean();
        assert_eq!((mean, rate), (398.0, 5.0 / 0.3));
    }

    #[test]
    fn a_bad_trace_is_refused_by_its_line() {
        for (text, line, part) in [
            ("", 1, "no frames"),
            ("# nothing\n", 1, "no frames"),
            ("0 I 900\n40 Q 10\n", 2, "this is not a type"),
            ("0 I 900\n-40 P 10\n", 2, "this is not a time"),
            ("0 I 900\n40 P -3\n", 2, "this is not a frame's size"),
            ("0 I 900\n40 P 0\n", 2, "this is not a frame's size"),
            ("0 I 900\n2 P 40 10\n", 2, "4 words; expected time in ms, type, bytes"),
            ("1 I 0 900\n40 P\n", 2, "2 words; expected number"),
            ("some words\nof a\nletter to\n", 3, "2 words"),
        ] {
            let bad = VideoTrace::read(text).unwrap_err();
            assert_eq!(bad.line, line, "{text:?}: {}", bad.message);
            assert!(bad.message.contains(part), "{text:?}: {}", bad.message);
        }
    }
}
