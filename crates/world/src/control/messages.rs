//! The contents of signalling messages in flight. A packet carries the number of its message; the content is kept here
//! from the sending of the message to the delivery or loss of the last packet that carries it.

use crate::ids::{CellId, DomainId};
use roamlab_mobility::Message;
use roamlab_packet::MessageId;
use roamlab_radio::Management;
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
    /// To the sender of a flow: the notice of a new path with this number.
    PathChange(u32),
}

impl Content {
    /// The name of the message.
    pub fn name(&self) -> &'static str {
        match self {
            Content::Agent(_, message) => message.name(),
            Content::Frame(frame) => frame.kind.name(),
            Content::PathChange(_) => PATH_CHANGE,
        }
    }
}

/// A management frame between a host and the base station of a cell.
#[derive(Copy, Clone, Debug)]
pub struct ManagementFrame {
    /// Which.
    pub kind: Management,
    /// The host.
    pub host: NodeId,
    /// The cell.
    pub cell: CellId,
}

/// A message in flight.
#[derive(Clone, Debug)]
struct InFlight {
    content: Content,
    /// Packets that carry it.
    packets: u32,
}

/// All messages in flight.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    /// Messages sent so far.
    sent: u32,
    /// Looked up only.
    in_flight: FxHashMap<MessageId, InFlight>,
}

impl Messages {
    /// A message that one packet is to carry; its number.
    pub fn send(&mut self, content: Content) -> MessageId {
        let id = MessageId(self.sent);
        self.sent += 1;
        self.in_flight.insert(id, InFlight { content, packets: 1 });
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

    /// A packet with a message is lost.
    pub fn lose(&mut self, id: MessageId) {
        if let Some(message) = self.in_flight.get_mut(&id) {
            message.packets -= 1;
            if message.packets == 0 {
                self.in_flight.remove(&id);
            }
        }
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
        Content::Frame(ManagementFrame { kind: Management::NullData, host: NodeId(1), cell: CellId(0) })
    }

    #[test]
    fn a_message_is_kept_until_the_last_packet_with_it_is_delivered_or_lost() {
        let mut messages = Messages::default();
        let [first, second] = [(); 2].map(|()| messages.send(frame()));
        messages.copied(first);
        assert!(messages.deliver(first).is_some());
        assert_eq!((messages.len(), messages.name(first)), (2, Management::NullData.name()));
        messages.lose(first);
        assert!(messages.deliver(second).is_some());
        assert_eq!((messages.len(), messages.name(second)), (0, ""));
    }
}
