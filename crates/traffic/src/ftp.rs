//! File transfer: a backlog that never ends, or one file.

use crate::{Application, Offer, draw_start};
use roamlab_engine::{Bytes, Duration, Rng, Time};
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
    /// Size of the file; absent: it never ends.
    pub size: Option<Bytes>,
}

/// A file transfer.
#[derive(Clone, Debug)]
pub struct Ftp {
    start: Option<Time>,
    offer: Offer,
}

impl Application for Ftp {
    type Params = Params;

    fn new(params: &Params, rng: &mut Rng) -> Ftp {
        let offer = params.size.map_or(Offer::Unlimited, Offer::Bytes);
        Ftp { start: Some(draw_start(params.start, params.start_within, rng)), offer }
    }

    fn next_wake(&self) -> Option<Time> {
        self.start
    }

    fn wake(&mut self) -> Option<Offer> {
        self.start.take().map(|_| self.offer)
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
        };
        let mut ftp = Ftp::new(&params, &mut Rng::named(1, 0, "flow"));
        let start = ftp.next_wake().map(|time| time.since(Time::ZERO));
        assert!(start >= Some(Duration::from_secs(1)) && start < Some(Duration::from_millis(1010)));
        assert_eq!(ftp.wake(), Some(Offer::Bytes(Bytes(5000))));
        assert_eq!((ftp.next_wake(), ftp.wake()), (None, None));
    }
}
