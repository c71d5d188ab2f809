//! File transfer: an endless backlog, or one file.

use crate::{Application, Checked, Offer, check_packets, draw_start};
use roamlab_engine::{Bytes, Duration, Packets, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One line for `roamlab list`.
pub const SUMMARY: &str = "file transfer: an endless backlog, or one file of a given size";

/// Parameters of a file transfer.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The earliest start.
    pub start: Duration,
    /// The start is uniform in [`start`, `start + start_within`), drawn from the flow's own random stream.
    pub start_within: Duration,
    /// Size of the file, rounded up to whole segments; absent, and no `packets`: it never ends.
    pub size: Option<Bytes>,
    /// The same in segments, a SYN not counted (ns-2: `produce`).
    pub packets: Option<Packets>,
    /// From when on nothing new is sent, though what was lost is sent again (ns-2: `stop`); absent: never.
    pub stop: Option<Duration>,
}

impl Checked for Params {
    fn start_within(&self) -> Duration {
        self.start_within
    }

    fn validate(&self) -> Result<(), (&'static str, String)> {
        if self.size == Some(Bytes(0)) {
            return Err(("size", "a file has a byte or more: write for example \"1 MB\"".into()));
        }
        if self.size.is_some() && self.packets.is_some() {
            return Err(("packets", "the file has a `size` already: write one of the two".into()));
        }
        check_packets(self.packets)
    }
}

/// A file transfer.
#[derive(Clone, Debug)]
pub struct Ftp {
    start: Option<Time>,
    offer: Offer,
    stop: Option<Time>,
}

impl Application for Ftp {
    type Params = Params;

    fn new(params: &Params, rng: &mut Rng) -> Ftp {
        let start = draw_start(params.start, params.start_within, rng);
        let offer = match (params.size, params.packets) {
            (Some(size), _) => Offer::Bytes(size),
            (None, Some(packets)) => Offer::Segments(packets),
            (None, None) => Offer::Unlimited,
        };
        let stop = params.stop.map(|stop| Time::ZERO + stop);
        let starts = stop.is_none_or(|stop| start <= stop); // ns-2 sends the first packet of one that stops as it starts
        Ftp { start: starts.then_some(start), offer, stop: stop.filter(|_| starts) }
    }

    fn next_wake(&self) -> Option<Time> {
        self.start.or(self.stop)
    }

    fn wake(&mut self, _: Time) -> Option<Offer> {
        match self.start.take() {
            Some(_) => Some(self.offer),
            None => self.stop.take().map(|_| Offer::Stop),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offers_once_within_its_start_interval() {
        let params = Params {
            start: Duration::from_secs(1),
            start_within: Duration::from_millis(10),
            size: Some(Bytes(5000)),
            ..Params::default()
        };
        let mut ftp = Ftp::new(&params, &mut Rng::named(1, 0, "flow"));
        let start = ftp.next_wake().map(|time| time.since(Time::ZERO));
        assert!(start >= Some(Duration::from_secs(1)) && start < Some(Duration::from_millis(1010)));
        assert_eq!(ftp.wake(Time::ZERO), Some(Offer::Bytes(Bytes(5000))));
        assert_eq!((ftp.next_wake(), ftp.wake(Time::ZERO)), (None, None));
    }

    #[test]
    fn stops_when_told_to() {
        let second = Duration::from_secs(1);
        let params = Params { packets: Some(Packets(7)), stop: Some(second), ..Params::default() };
        let mut ftp = Ftp::new(&params, &mut Rng::named(1, 0, "flow"));
        assert_eq!(
            (ftp.next_wake(), ftp.wake(Time::ZERO)),
            (Some(Time::ZERO), Some(Offer::Segments(Packets(7))))
        );
        assert_eq!((ftp.next_wake(), ftp.wake(Time::ZERO)), (Some(Time::ZERO + second), Some(Offer::Stop)));
        assert_eq!((ftp.next_wake(), ftp.wake(Time::ZERO)), (None, None));
        let late = Params { start: second, stop: Some(second), ..Params::default() };
        let mut ftp = Ftp::new(&late, &mut Rng::named(1, 0, "flow"));
        let now = Time::ZERO + second;
        assert_eq!((ftp.next_wake(), ftp.wake(now)), (Some(now), Some(Offer::Unlimited)), "as ns-2");
        assert_eq!((ftp.next_wake(), ftp.wake(now)), (Some(now), Some(Offer::Stop)));
        let later = Params { start: second + second, stop: Some(second), ..Params::default() };
        assert_eq!(
            Ftp::new(&later, &mut Rng::named(1, 0, "flow")).next_wake(),
            None,
            "nothing begins behind its end"
        );
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        let field = |params: Params| crate::AppSpec::Ftp(params).validate().map_err(|(field, _)| field);
        let (size, packets) = (Some(Bytes(1)), Some(Packets(1)));
        assert_eq!(field(Params { size, packets, ..Params::default() }), Err("packets"));
        assert_eq!(field(Params { packets: Some(Packets(0)), ..Params::default() }), Err("packets"));
        let (start, stop) = (Duration::from_secs(2), Some(Duration::from_secs(1)));
        assert_eq!(field(Params { start, stop, ..Params::default() }), Err("stop"));
    }
}
