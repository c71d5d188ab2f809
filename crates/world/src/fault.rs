//! Faults in the signalling, asked for by the scenario: the n-th message of a kind is lost or late.

use roamlab_engine::Duration;
use roamlab_mobility::Message;
use roamlab_packet::Addr;

/// A fault.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Name of the messages it concerns.
    pub message: String,
    /// Only messages about this host.
    pub host: Option<Addr>,
    /// Which of them, counted from 1.
    pub occurrences: Vec<u32>,
    /// How late they set out; `None`: they are lost.
    pub delay: Option<Duration>,
    /// How many have been seen.
    pub seen: u32,
}

/// What a fault does to a message.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It is lost.
    Lost,
    /// It sets out later.
    Late(Duration),
}

impl Fault {
    /// What this fault does to the message that is being sent.
    pub fn strike(&mut self, message: &Message) -> Option<Fate> {
        let concerned =
            message.name() == self.message && (self.host.is_none() || self.host == message.host());
        if !concerned {
            return None;
        }
        self.seen += 1;
        self.occurrences.contains(&self.seen).then(|| self.delay.map_or(Fate::Lost, Fate::Late))
    }
}
