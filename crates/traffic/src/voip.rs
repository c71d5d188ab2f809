//! A voice call over RTP: one datagram for every few codec frames, without pauses or with talkspurts.
//!
//! Codecs: ITU-T G.711, G.729, G.723.1. RTP header: RFC 3550 §5.1, 12 B. Talkspurts: both states last exponentially
//! distributed times, as in the Brady model and ITU-T P.59.

use crate::{Application, Checked, Offer, draw_start};
use roamlab_engine::{Bytes, Duration, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One line for `roamlab list`.
pub const SUMMARY: &str = "a voice call over RTP: G.711, G.729 or G.723.1, without pauses or with talkspurts";

/// Bytes of the headers of RTP, UDP and IP.
pub const HEADERS: Bytes = Bytes(12 + 8 + 20);

/// A codec.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Codec {
    /// 64 kbit/s: 80 B each 10 ms.
    #[serde(rename = "g711")]
    G711,
    /// 8 kbit/s: 10 B each 10 ms.
    #[serde(rename = "g729")]
    G729,
    /// 6.3 kbit/s: 24 B each 30 ms.
    #[serde(rename = "g723-6k3")]
    G723At6k3,
    /// 5.3 kbit/s: 20 B each 30 ms.
    #[serde(rename = "g723-5k3")]
    G723At5k3,
}

impl Codec {
    /// Length and size of a frame.
    pub const fn frame(self) -> (Duration, Bytes) {
        match self {
            Codec::G711 => (Duration::from_millis(10), Bytes(80)),
            Codec::G729 => (Duration::from_millis(10), Bytes(10)),
            Codec::G723At6k3 => (Duration::from_millis(30), Bytes(24)),
            Codec::G723At5k3 => (Duration::from_millis(30), Bytes(20)),
        }
    }

    /// Frames in a packet by default: 20 ms of G.711 and G.729, 30 ms of G.723.1.
    const fn usual_frames(self) -> u32 {
        match self {
            Codec::G711 | Codec::G729 => 2,
            Codec::G723At6k3 | Codec::G723At5k3 => 1,
        }
    }
}

/// The talk spurts.
#[derive(Copy, Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Talkspurts {
    /// Mean length of a talkspurt.
    pub on: Duration,
    /// Mean length of the silence behind it.
    pub off: Duration,
}

impl Default for Talkspurts {
    fn default() -> Talkspurts {
        Talkspurts { on: Duration::from_millis(1000), off: Duration::from_millis(1350) }
    }
}

/// Parameters of one direction of a call.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The earliest start.
    pub start: Duration,
    /// The start is uniform in [`start`, `start + start_within`), drawn from the flow's own random stream.
    pub start_within: Duration,
    /// When the speaker hangs up; absent: with the run.
    pub stop: Option<Duration>,
    /// The codec: "g711", "g729", "g723-6k3" or "g723-5k3".
    pub codec: Codec,
    /// Codec frames in a packet; absent: 2 of G.711 and G.729, 1 of G.723.1.
    pub frames: Option<u32>,
    /// Voice activity detection: packets are sent in talkspurts only, `{ on = "1 s", off = "1350 ms" }` on average; absent:
    /// always.
    pub talkspurts: Option<Talkspurts>,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            start: Duration::ZERO,
            start_within: Duration::ZERO,
            stop: None,
            codec: Codec::G711,
            frames: None,
            talkspurts: None,
        }
    }
}

impl Params {
    /// Time between packets of a talkspurt, and their size with all headers.
    pub fn packet(&self) -> (Duration, Bytes) {
        let (length, size) = self.codec.frame();
        let frames = self.frames.unwrap_or(self.codec.usual_frames());
        (length.saturating_mul(u64::from(frames)), Bytes(size.0 * u64::from(frames) + HEADERS.0))
    }

    /// Share of the time of the talk spurts, on average.
    pub fn activity(&self) -> f64 {
        self.talkspurts.map_or(1.0, |each| {
            let [on, off] = [each.on, each.off].map(Duration::as_secs_f64);
            on / (on + off)
        })
    }
}

impl Checked for Params {
    fn start_within(&self) -> Duration {
        self.start_within
    }

    fn validate(&self) -> Result<(), (&'static str, String)> {
        if self.frames.is_some_and(|frames| !(1..=100).contains(&frames)) {
            return Err((
                "frames",
                "a packet holds 1 to 100 codec frames: write for example frames = 2".into(),
            ));
        }
        if self.talkspurts.is_some_and(|each| each.on == Duration::ZERO) {
            return Err(("talkspurts.on", "a talkspurt lasts: write for example \"1 s\"".into()));
        }
        Ok(())
    }
}

/// One direction of a call.
#[derive(Clone, Debug)]
pub struct Voip {
    next: Time,
    stop: Time,
    interval: Duration,
    size: Bytes,
    /// The end of the talkspurt.
    until: Time,
    talkspurts: Option<Talkspurts>,
    rng: Rng,
}

impl Application for Voip {
    type Params = Params;

    fn new(params: &Params, rng: &mut Rng) -> Voip {
        let next = draw_start(params.start, params.start_within, rng);
        let (interval, size) = params.packet();
        let stop = params.stop.map_or(Time::MAX, |stop| Time::ZERO + stop);
        let talkspurts = params.talkspurts;
        let mut voip = Voip { next, stop, interval, size, until: Time::MAX, talkspurts, rng: rng.clone() };
        if let Some(each) = talkspurts {
            voip.until = next + voip.rng.exponential(each.on);
        }
        voip
    }

    fn next_wake(&self) -> Option<Time> {
        (self.next < self.stop).then_some(self.next)
    }

    fn wake(&mut self, _: Time) -> Option<Offer> {
        self.next += self.interval;
        // ASSUMPTION: a talkspurt sends at its begin and then at full packet times while it lasts, so at least once; the
        // last packet is a whole one. The next one keeps no clock of this one.
        if let Some(each) = self.talkspurts.filter(|_| self.next >= self.until) {
            self.next = self.next.max(self.until + self.rng.exponential(each.off));
            self.until = self.next + self.rng.exponential(each.on);
        }
        Some(Offer::Bytes(self.size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(params: &Params, end: Duration) -> Vec<Time> {
        let mut voip = Voip::new(params, &mut Rng::named(1, 0, "call/app"));
        let mut times = Vec::new();
        while let Some(time) = voip.next_wake().filter(|time| *time < Time::ZERO + end) {
            times.push(time);
            assert_eq!(voip.wake(time), Some(Offer::Bytes(params.packet().1)));
        }
        times
    }

    #[test]
    fn codecs_have_their_published_rates_on_ip() {
        // 20 ms of G.711: 160 B and 40 B of headers, 50 a second; G.729: 60 B; G.723.1 at 6.3 kbit/s: 64 B each 30 ms.
        for (codec, frames, interval, size, bps) in [
            (Codec::G711, None, 20, 200, 80_000),
            (Codec::G711, Some(1), 10, 120, 96_000),
            (Codec::G729, None, 20, 60, 24_000),
            (Codec::G723At6k3, None, 30, 64, 17_066),
            (Codec::G723At5k3, None, 30, 60, 16_000),
        ] {
            let params = Params { codec, frames, ..Params::default() };
            assert_eq!(params.packet(), (Duration::from_millis(interval), Bytes(size)), "{codec:?}");
            assert_eq!(size * 8 * 1000 / interval, bps, "{codec:?}");
        }
    }

    #[test]
    fn without_pauses_a_packet_comes_every_20_ms() {
        let sent = times(
            &Params { stop: Some(Duration::from_secs(1)), ..Params::default() },
            Duration::from_secs(9),
        );
        assert_eq!(sent.len(), 50);
        assert!(sent.windows(2).all(|pair| pair[1] - pair[0] == Duration::from_millis(20)));
    }

    #[test]
    fn talkspurts_are_exponential_and_take_their_share_of_the_time() {
        let params = Params { talkspurts: Some(Talkspurts::default()), ..Params::default() };
        let sent = times(&params, Duration::from_secs(20_000));
        let gap = Duration::from_millis(20);
        // The pauses between packets that are no packet time: silence, and what the last packet time lacked.
        let pauses: Vec<f64> = sent
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .filter(|each| *each != gap)
            .map(Duration::as_secs_f64)
            .collect();
        let spurts = pauses.len() as f64;
        // 20000 s hold 20000 / 2.35 = 8511 cycles; a spurt of mean 1 s has 1 / (1 - e^-0.02) = 50.5 packets.
        assert!((spurts / 8511.0 - 1.0).abs() < 0.05, "{spurts} cycles");
        assert!((sent.len() as f64 / spurts / 50.5 - 1.0).abs() < 0.05, "{} packets", sent.len());
        // Of an exponential silence a share of 1/e is longer than its mean; the packet time adds under 2 %.
        let long = pauses.iter().filter(|pause| **pause > 1.36).count() as f64 / spurts;
        assert!((long - 0.368).abs() < 0.02, "{long}");
        assert!((params.activity() - 1.0 / 2.35).abs() < 1e-12);
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        let field = |params: Params| params.validate().map_err(|(field, _)| field);
        assert_eq!(field(Params { frames: Some(0), ..Params::default() }), Err("frames"));
        let talkspurts = Some(Talkspurts { on: Duration::ZERO, ..Talkspurts::default() });
        assert_eq!(field(Params { talkspurts, ..Params::default() }), Err("talkspurts.on"));
        assert_eq!(field(Params::default()), Ok(()));
    }
}
