//! The contents of signalling messages in flight. A packet carries the number of its message; the content is kept here
//! from the sending of the message to the delivery or loss of the last packet that carries it.

use crate::ids::{CellId, DomainId};
use roamlab_engine::{Bytes, Duration, Time};
use roamlab_mobility::{Message, Repeat};
use roamlab_packet::{Addr, MessageId};
use roamlab_radio::Management;
use roamlab_record::cause::CauseId;
use roamlab_record::ids::NodeId;
use roamlab_scenario::PATH_CHANGE;
use rustc_hash::FxHashMap;

/// The content of a message.
#[derive(Clone, Debug)]
pub enum Content {
    /// From one mobility agent to another of its domain.
    Agent(DomainId, Message),
    /// From layer 2 to layer 2.
    Frame(ManagementFrame),
    /// From a base station to another, or to the authentication server and back; its size.
    Wired(ManagementFrame, Bytes),
    /// To the sender of a flow: the notice of a new path with this number.
    PathChange(u32),
}

impl Content {
    /// The name of the message.
    pub fn name(&self) -> &'static str {
        match self {
            Content::Agent(_, message) => message.name(),
            Content::Frame(frame) | Content::Wired(frame, _) => frame.kind.name(),
            Content::PathChange(_) => PATH_CHANGE,
        }
    }

    /// How its transport repeats it when it is lost.
    fn repeat(&self) -> Option<Repeat> {
        match self {
            Content::Agent(_, message) => message.repeat(),
            Content::Wired(frame, _) => Some(repeat_of(frame.kind)),
            Content::Frame(_) | Content::PathChange(_) => None,
        }
    }
}

/// How a lost message between base stations, or with the authentication server, is repeated.
///
/// ASSUMPTION: RADIUS begins with 2 s, doubles up to 16 s, and sends five times more (RFC 5080 §2.2.1). A request for a key is
/// sent four times more, 1 s apart (hostapd's `rkh_pull_timeout` and `rkh_pull_retries`). A lost answer is repeated as its
/// request would be.
fn repeat_of(kind: Management) -> Repeat {
    let second = Duration::from_secs(1);
    match kind {
        Management::RadiusRequest | Management::RadiusAnswer => {
            Repeat { after: second * 2, longest: second * 16, times: 5, fails_link: false }
        }
        _ => Repeat { after: second, longest: second, times: 4, fails_link: false },
    }
}

/// A message that was lost, and that its transport sends again.
#[derive(Clone, Debug)]
pub struct Repetition {
    /// The message.
    pub content: Content,
    /// Source and destination.
    pub ends: (Addr, Addr),
    /// How often it has been sent again then.
    pub number: u32,
    /// The row of its loss.
    pub cause: CauseId,
    /// It is not sent again: RLC has sent it as often as it may.
    pub gives_up: bool,
}

/// A management frame between a host and the base station of a cell, or a message of that base station about the host.
#[derive(Copy, Clone, Debug)]
pub struct ManagementFrame {
    /// Which.
    pub kind: Management,
    /// The host.
    pub host: NodeId,
    /// The cell.
    pub cell: CellId,
    /// Of EAP the number of the round. Of an association request how many rounds the host needs. Of fast transition the
    /// number of the cell whose base station holds the host's first key.
    pub number: u32,
}

/// A message in flight.
#[derive(Clone, Debug)]
struct InFlight {
    content: Content,
    /// Packets that carry it.
    packets: u32,
    sent: Sent,
}

/// The sending of a message.
#[derive(Copy, Clone, Debug)]
pub struct Sent {
    /// When.
    pub at: Time,
    /// Source and destination.
    pub ends: (Addr, Addr),
    /// How often it had been sent before.
    pub repetition: u32,
}

/// All messages in flight.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    /// Messages sent so far.
    sent: u32,
    /// Looked up only.
    in_flight: FxHashMap<MessageId, InFlight>,
    /// Messages that were lost and are sent again.
    repetitions: Vec<Option<Repetition>>,
}

impl Messages {
    /// A message that one packet is to carry; its number.
    pub fn send(&mut self, content: Content, sent: Sent) -> MessageId {
        let id = MessageId(self.sent);
        self.sent += 1;
        self.in_flight.insert(id, InFlight { content, packets: 1, sent });
        id
    }

    /// One more packet carries a message.
    pub fn copied(&mut self, id: MessageId) {
        if let Some(message) = self.in_flight.get_mut(&id) {
            message.packets += 1;
        }
    }

    /// A packet with a message is delivered: the content.
    pub fn deliver(&mut self, id: MessageId) -> Option<Content> {
        let message = self.in_flight.get_mut(&id)?;
        message.packets -= 1;
        match message.packets {
            0 => self.in_flight.remove(&id).map(|message| message.content),
            _ => Some(message.content.clone()),
        }
    }

    /// A packet with a message is lost, which the row `cause` is about. If it was the last one, the message may be sent again,
    /// or given up: when, and its place in the list of repetitions.
    pub fn lose(&mut self, id: MessageId, cause: CauseId) -> Option<(Time, u32)> {
        let message = self.in_flight.get_mut(&id)?;
        message.packets -= 1;
        if message.packets > 0 {
            return None;
        }
        let InFlight { content, sent: Sent { at, ends, repetition }, .. } = self.in_flight.remove(&id)?;
        let Repeat { after, longest, times, fails_link } = content.repeat()?;
        let gives_up = repetition >= times;
        if gives_up && !fails_link {
            return None;
        }
        let wait = (0..repetition).fold(after, |wait, _| (wait * 2).min(longest).max(after));
        let slot = self.repetitions.len() as u32;
        self.repetitions.push(Some(Repetition { content, ends, number: repetition + 1, cause, gives_up }));
        Some((at + wait, slot))
    }

    /// A message that is sent again now.
    pub fn repeat(&mut self, slot: u32) -> Option<Repetition> {
        self.repetitions[slot as usize].take()
    }

    /// True if a host sends this message in the cell of its recipient, also if it is not in that cell.
    pub fn is_random_access(&self, id: MessageId) -> bool {
        let content = self.in_flight.get(&id).map(|message| &message.content);
        matches!(content, Some(Content::Agent(_, message)) if message.random_access())
    }

    /// The name of a message in flight.
    pub fn name(&self, id: MessageId) -> &'static str {
        self.in_flight.get(&id).map_or("", |message| message.content.name())
    }

    /// How many messages are in flight.
    pub fn len(&self) -> usize {
        self.in_flight.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame() -> Content {
        Content::Frame(ManagementFrame {
            kind: Management::NullData,
            host: NodeId(1),
            cell: CellId(0),
            number: 0,
        })
    }

    #[test]
    fn a_message_is_kept_until_the_last_packet_with_it_is_delivered_or_lost() {
        let mut messages = Messages::default();
        let ends = (Addr::new(1, 0), Addr::new(2, 0));
        let sent = Sent { at: Time::ZERO, ends, repetition: 0 };
        let [first, second] = [(); 2].map(|()| messages.send(frame(), sent));
        messages.copied(first);
        assert!(messages.deliver(first).is_some());
        assert_eq!((messages.len(), messages.name(first)), (2, Management::NullData.name()));
        assert_eq!(messages.lose(first, CauseId::NONE), None);
        assert!(messages.deliver(second).is_some());
        assert_eq!((messages.len(), messages.name(second)), (0, ""));
    }
}
