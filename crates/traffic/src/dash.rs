//! Adaptive video over TCP: segments of a film, each requested in the quality that the player's buffer selects.
//!
//! Rate choice: BBA-0 of Huang, Johari, McKeown, Trunnell and Watson, "A Buffer-Based Approach to Rate Adaptation"
//! (SIGCOMM 2014, §4, Algorithm 1). The scheme (segments over HTTP): ISO/IEC 23009-1.

use crate::{Application, Arrived, Checked, Offer, Unit, UnitKind, draw_start};
use roamlab_engine::{Bytes, Duration, Rate, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One line for `roamlab list`.
pub const SUMMARY: &str = "adaptive video over TCP: segments in a quality chosen by the player's buffer";

/// Parameters of a player. The flow goes from the server to the player.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The earliest start.
    pub start: Duration,
    /// The start is uniform in [`start`, `start + start_within`), drawn from the flow's own random stream.
    pub start_within: Duration,
    /// Nothing is asked for from then on; absent: with the run.
    pub stop: Option<Duration>,
    /// Length of a segment.
    pub segment: Duration,
    /// Segments of the film; absent: as many as there is time for.
    pub segments: Option<u32>,
    /// The qualities, from the lowest rate to the highest.
    pub rates: Vec<Rate>,
    /// Play-out begins, and continues after a stall, with this amount in the buffer.
    pub startup: Duration,
    /// Below so much in the buffer the lowest quality is asked for.
    pub reservoir: Duration,
    /// Over so much above the reservoir the quality rises to the highest.
    pub cushion: Duration,
    /// Nothing is asked for that would fill the buffer beyond this.
    pub buffer: Duration,
    /// Size of a request.
    pub request: Bytes,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            start: Duration::ZERO,
            start_within: Duration::ZERO,
            stop: None,
            segment: Duration::from_secs(4),
            segments: None,
            rates: [235, 375, 560, 750, 1050, 1750, 2350, 3000]
                .map(|kbps| Rate::from_bps(kbps * 1000))
                .to_vec(),
            startup: Duration::from_secs(4),
            reservoir: Duration::from_secs(8),
            cushion: Duration::from_secs(16),
            buffer: Duration::from_secs(30),
            request: Bytes(350),
        }
    }
}

impl Checked for Params {
    fn start_within(&self) -> Duration {
        self.start_within
    }

    fn validate(&self) -> Result<(), (&'static str, String)> {
        if self.segments == Some(0) {
            return Err(("segments", "a film has segments: write at least 1, or leave it out".into()));
        }
        if self.segment == Duration::ZERO {
            return Err(("segment", "a segment lasts: write for example \"4 s\"".into()));
        }
        if self.rates.is_empty() || self.rates.windows(2).any(|pair| pair[0] >= pair[1]) {
            let message = "qualities rise: write for example [\"500 kbit/s\", \"1 Mbit/s\"]";
            return Err(("rates", message.into()));
        }
        if self.buffer < self.segment || self.buffer < self.startup {
            let least = self.segment.max(self.startup);
            let (name, time) =
                if least == self.segment { ("segment", self.segment) } else { ("startup", self.startup) };
            let message =
                format!("{} is shorter than `{name}`, {time}: write at least \"{time}\"", self.buffer);
            return Err(("buffer", message));
        }
        if self.cushion == Duration::ZERO {
            return Err(("cushion", "the quality rises over some time: write for example \"16 s\"".into()));
        }
        if self.request == Bytes(0) {
            return Err(("request", "it has no bytes: write for example \"350 B\"".into()));
        }
        Ok(())
    }
}

/// A player, and the server that answers it.
#[derive(Clone, Debug)]
pub struct Dash {
    params: Params,
    next: Option<Time>,
    /// The player asks next, or the server answers.
    asks: bool,
    quality: usize,
    number: u32,
    /// Content of the buffer at the time `at`; true if it is played out.
    level: Duration,
    at: Time,
    plays: bool,
    begun: Option<Unit>,
}

impl Dash {
    /// Plays until `now`.
    fn play(&mut self, now: Time) {
        if self.plays {
            self.level = self.level.saturating_sub(now - self.at);
            self.plays = self.level > Duration::ZERO;
        }
        self.at = now;
    }

    /// BBA-0: the quality changes once the rate that the buffer suggests has passed the next one.
    fn choose(&self) -> usize {
        let Params { rates, reservoir, cushion, .. } = &self.params;
        let top = rates.len() - 1;
        let above = self.level.saturating_sub(*reservoir);
        if above == Duration::ZERO {
            return 0;
        }
        if above >= *cushion {
            return top;
        }
        let [least, most] = [rates[0], rates[top]].map(|rate| rate.as_bps() as f64);
        let suggested = least + (most - least) * above.as_secs_f64() / cushion.as_secs_f64();
        let bps = |quality: usize| rates[quality].as_bps() as f64;
        if self.quality < top && suggested >= bps(self.quality + 1) {
            (0..=top).rev().find(|quality| bps(*quality) < suggested).unwrap_or(0)
        } else if self.quality > 0 && suggested <= bps(self.quality - 1) {
            (0..=top).find(|quality| bps(*quality) > suggested).unwrap_or(top)
        } else {
            self.quality
        }
    }
}

impl Application for Dash {
    type Params = Params;

    fn new(params: &Params, rng: &mut Rng) -> Dash {
        let start = draw_start(params.start, params.start_within, rng);
        Dash {
            params: params.clone(),
            next: (params.segments != Some(0)).then_some(start),
            asks: true,
            quality: 0,
            number: 0,
            level: Duration::ZERO,
            at: start,
            plays: false,
            begun: None,
        }
    }

    fn next_wake(&self) -> Option<Time> {
        let stop = self.params.stop.filter(|_| self.asks).map_or(Time::MAX, |stop| Time::ZERO + stop);
        self.next.filter(|next| *next < stop)
    }

    fn wake(&mut self, now: Time) -> Option<Offer> {
        self.next = None;
        let size = |rate: Rate, segment: Duration| {
            Bytes((u128::from(rate.as_bps()) * u128::from(segment.as_nanos())).div_ceil(8_000_000_000) as u64)
        };
        if !self.asks {
            return Some(Offer::Bytes(size(self.params.rates[self.quality], self.params.segment)));
        }
        self.play(now);
        self.quality = self.choose();
        let (group, number) = (self.quality as u32, self.number);
        let bytes = size(self.params.rates[self.quality], self.params.segment);
        self.begun = Some(Unit { kind: UnitKind::Segment, group, number, bytes, packets: 0 });
        self.number += 1;
        Some(Offer::Request { size: self.params.request, connect: false })
    }

    fn unit(&mut self) -> Option<Unit> {
        self.begun.take()
    }

    fn arrived(&mut self, what: Arrived, now: Time) {
        self.asks = what == Arrived::Response;
        self.next = Some(now);
        if what == Arrived::Request {
            return;
        }
        self.play(now);
        let Params { segment, segments, startup, buffer, .. } = self.params;
        self.level += segment;
        self.plays |= self.level >= startup;
        let too_much = (self.level + segment).saturating_sub(buffer);
        // While nothing is played the buffer does not empty: what play-out waits for is asked for
        // immediately.
        let wait = if self.plays { too_much } else { Duration::ZERO };
        self.next = segments.is_none_or(|segments| self.number < segments).then(|| now + wait);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn player(level: u64, quality: usize) -> Dash {
        let mut dash = Dash::new(&Params::default(), &mut Rng::named(1, 0, "film/app"));
        (dash.level, dash.quality) = (Duration::from_secs(level), quality);
        dash
    }

    #[test]
    fn quality_follows_the_buffer_as_in_bba_0() {
        // Below 8 s the lowest, from 24 s the highest; between 235 kbit/s + 2765 kbit/s · (level - 8) / 16.
        assert_eq!(player(8, 5).choose(), 0);
        assert_eq!(player(24, 0).choose(), 7);
        // At 12 s: 926 kbit/s. From below it passes 750 (next above 560): the highest below 926 is 750.
        assert_eq!(player(12, 2).choose(), 3);
        // With 750 the next is 1050, the one below 560: neither is passed.
        assert_eq!(player(12, 3).choose(), 3);
        // With 1050 the one below is 750: 926 is above it, so it stays; with 1750 the one below is 1050: down to 1050.
        assert_eq!(player(12, 4).choose(), 4);
        assert_eq!(player(12, 5).choose(), 4);
    }

    #[test]
    fn a_fast_network_fills_the_buffer_and_a_slow_one_stalls() {
        // Each segment takes so long: at 0.5 s the buffer gains 3.5 s with each, until it is full at 30 s.
        let run = |takes: Duration, until: u64| {
            let mut dash = Dash::new(&Params::default(), &mut Rng::named(1, 0, "film/app"));
            let (mut asked, mut stalls) = (Vec::new(), 0);
            while let Some(now) =
                dash.next_wake().filter(|now| *now < Time::from_nanos(until * 1_000_000_000))
            {
                assert_eq!(dash.wake(now), Some(Offer::Request { size: Bytes(350), connect: false }));
                asked.push((now.as_secs_f64(), dash.quality));
                dash.arrived(Arrived::Request, now);
                assert!(matches!(dash.wake(now), Some(Offer::Bytes(_))));
                let played = dash.plays;
                let mut at_end = dash.clone();
                at_end.play(now + takes);
                stalls += u32::from(played && !at_end.plays);
                dash.arrived(Arrived::Response, now + takes);
            }
            (asked, stalls)
        };
        let (asked, stalls) = run(Duration::from_millis(500), 60);
        assert_eq!(stalls, 0);
        // In steady state one segment each 4 s, at the highest quality.
        let late: Vec<_> = asked.iter().filter(|(time, _)| *time > 30.0).collect();
        assert!(late.windows(2).all(|pair| (pair[1].0 - pair[0].0 - 4.0).abs() < 1e-9), "{late:?}");
        assert!(late.iter().all(|(_, quality)| *quality == 7));
        // 5 s for 4 s of film: it stalls for a second with each segment, at the lowest quality.
        let (asked, stalls) = run(Duration::from_secs(5), 100);
        assert_eq!((asked.len(), stalls), (20, 19));
        assert!(asked.iter().all(|(_, quality)| *quality == 0));
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        let field = |params: Params| params.validate().map_err(|(field, _)| field);
        let second = Duration::from_secs(1);
        assert_eq!(field(Params { rates: vec![], ..Params::default() }), Err("rates"));
        assert_eq!(field(Params { buffer: second, ..Params::default() }), Err("buffer"));
        assert_eq!(field(Params { segment: Duration::ZERO, ..Params::default() }), Err("segment"));
        assert_eq!(field(Params::default()), Ok(()));
    }
}
