//! The refreshes that a node sends towards the gateway, by its own clock; none is acknowledged or repeated.

use super::{Action, Kind, Message, Params};
use crate::Identification;
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;

/// When a node refreshes, and how.
#[derive(Clone, Debug)]
pub struct Refresher {
    /// The next one towards the gateway, and when it gets the next refresh; `None`: there is none.
    next: Option<(Addr, Time)>,
    interval: Duration,
}

impl Refresher {
    /// The first refresh comes at `phase`.
    pub fn new(uplink: Option<Addr>, phase: Duration, params: &Params) -> Refresher {
        Refresher {
            next: uplink.map(|uplink| (uplink, Time::ZERO + phase)),
            interval: params.entries.refresh,
        }
    }

    /// True if it is time.
    pub fn is_due(&mut self, now: Time) -> bool {
        match &mut self.next {
            Some((_, at)) if *at <= now => {
                *at = now + self.interval;
                true
            }
            _ => false,
        }
    }

    /// Refreshes these hosts in one message.
    pub fn send(&self, hosts: Vec<(Addr, Identification)>, out: &mut Vec<Action>) {
        let Some((to, _)) = self.next else { return };
        let (host, id) = match *hosts {
            [] => return,
            [(host, id)] => (Some(host), id),
            _ => (None, Identification::default()),
        };
        let message = Message { host, id, kind: Kind::Refresh { hosts } };
        out.push(Action::Send { to, message });
    }

    /// When it is time.
    pub fn deadline(&self) -> Option<Time> {
        self.next.map(|(_, at)| at)
    }
}
