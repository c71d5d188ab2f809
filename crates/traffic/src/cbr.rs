//! Constant bit rate: one datagram at a fixed interval.

use crate::{Application, Checked, Offer, check_packets, draw_start};
use roamlab_engine::{Bytes, Duration, Packets, Rate, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One line for `roamlab list`.
pub const SUMMARY: &str = "constant bit rate over UDP: datagrams of one size, evenly spaced";

/// Parameters of a constant-bit-rate source.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The earliest start.
    #[serde(default)]
    pub start: Duration,
    /// The start is uniform in [`start`, `start + start_within`), drawn from the flow's own random stream.
    #[serde(default)]
    pub start_within: Duration,
    /// When it stops; absent: with the run.
    #[serde(default)]
    pub stop: Option<Duration>,
    /// How many datagrams it sends at most; absent: as many as there is time for (ns-2: `maxpkts_`).
    #[serde(default)]
    pub packets: Option<Packets>,
    /// Rate of the datagrams, their IP headers included.
    pub rate: Rate,
    /// Size of a datagram, its IP header included.
    pub packet: Bytes,
}

impl Checked for Params {
    fn start_within(&self) -> Duration {
        self.start_within
    }

    fn validate(&self) -> Result<(), (&'static str, String)> {
        if self.packet < Bytes(28) {
            let message = "a datagram holds an IP and a UDP header: write a size of at least \"28 B\"";
            return Err(("packet", message.into()));
        }
        if self.packet > Bytes(65_535) {
            return Err((
                "packet",
                "expected at most 65535 B, the size of an IP datagram: write a smaller size".into(),
            ));
        }
        if self.rate.transmission_time(self.packet, &mut 0) == Duration::ZERO {
            let message = format!("datagrams of {} would follow each other within a nanosecond", self.packet);
            return Err(("rate", format!("{message}: write a lower rate, for example \"80 kbit/s\"")));
        }
        check_packets(self.packets)
    }
}

impl Params {
    /// The latest time of the last datagram, if their number is given.
    pub fn last_datagram(&self) -> Option<Duration> {
        let before_last = u64::from(self.packets?.0.saturating_sub(1));
        let bytes = Bytes(self.packet.0.saturating_mul(before_last));
        Some(self.start + self.start_within + self.rate.transmission_time(bytes, &mut 0))
    }
}

/// A constant-bit-rate source.
#[derive(Clone, Debug)]
pub struct Cbr {
    next: Time,
    stop: Time,
    /// The first one goes even if the source stops in that moment, as in ns-2.
    is_first: bool,
    /// Datagrams that may still be sent.
    left: u32,
    rate: Rate,
    packet: Bytes,
    /// Part of the interval above whole nanoseconds, carried from datagram to datagram.
    remainder: u64,
}

impl Application for Cbr {
    type Params = Params;

    fn new(params: &Params, rng: &mut Rng) -> Cbr {
        Cbr {
            next: draw_start(params.start, params.start_within, rng),
            stop: params.stop.map_or(Time::MAX, |stop| Time::ZERO + stop),
            is_first: true,
            left: params.packets.map_or(u32::MAX, |packets| packets.0),
            rate: params.rate,
            packet: params.packet,
            remainder: 0,
        }
    }

    fn next_wake(&self) -> Option<Time> {
        let goes = self.next < self.stop || self.is_first && self.next == self.stop;
        (goes && self.left > 0).then_some(self.next)
    }

    fn wake(&mut self, _: Time) -> Option<Offer> {
        self.next += self.rate.transmission_time(self.packet, &mut self.remainder);
        self.left -= 1;
        self.is_first = false;
        Some(Offer::Bytes(self.packet))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sends_at_its_rate_until_it_stops() {
        let params = Params {
            start: Duration::from_millis(5),
            start_within: Duration::ZERO,
            stop: Some(Duration::from_secs(1)),
            packets: None,
            rate: Rate::from_bps(80_000),
            packet: Bytes(200),
        };
        let mut cbr = Cbr::new(&params, &mut Rng::named(1, 0, "flow"));
        let mut times = Vec::new();
        while let Some(time) = cbr.next_wake() {
            times.push(time);
            assert_eq!(cbr.wake(Time::ZERO), Some(Offer::Bytes(Bytes(200))));
        }
        assert_eq!(times.len(), 50, "G.711: 50 datagrams of 200 B a second are 80 kbit/s");
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] == Duration::from_millis(20)));
        let params = Params { packets: Some(Packets(3)), ..params };
        let mut cbr = Cbr::new(&params, &mut Rng::named(1, 0, "flow"));
        let sent = std::iter::from_fn(|| cbr.next_wake().and_then(|_| cbr.wake(Time::ZERO))).count();
        assert_eq!(sent, 3, "no more than it has");
        let sent = |stop: u64| {
            let params = Params { stop: Some(Duration::from_millis(stop)), ..params.clone() };
            let mut cbr = Cbr::new(&params, &mut Rng::named(1, 0, "flow"));
            std::iter::from_fn(|| cbr.next_wake().and_then(|_| cbr.wake(Time::ZERO))).count()
        };
        // ns-2: `start` sends immediately; a datagram that is due when `stop` comes does not go.
        assert_eq!([4, 5, 6, 25, 26].map(sent), [0, 1, 1, 1, 2]);
    }

    #[test]
    fn a_datagram_smaller_than_its_headers_is_refused() {
        let spec = Params {
            start: Duration::ZERO,
            start_within: Duration::ZERO,
            stop: None,
            packets: None,
            rate: Rate::from_bps(1),
            packet: Bytes(20),
        };
        assert_eq!(spec.validate().map_err(|(field, _)| field), Err("packet"));
    }
}
