//! Laws of the receiver of a bearer, in builds with debug assertions: a number belongs to one packet, the receiver takes it
//! for the number that it is, and delivers in order.

use super::arrived::Arrived;
use roamlab_packet::PacketPool;
use roamlab_radio::bearer::Receiver;
use std::collections::BTreeMap;

/// The packets that a receiver has seen since its numbers began.
#[derive(Clone, Debug, Default)]
pub struct Witness {
    /// Of each number, the serial number of the packet that came with it first. A copy counts as its original.
    packets: BTreeMap<u32, u64>,
    /// The number behind the last one that was delivered.
    behind: u32,
}

impl Witness {
    /// A packet is about to reach the receiver. The law that this violates, if it does.
    pub fn arrives(
        &mut self,
        receiver: &Receiver<Arrived>,
        arrived: &Arrived,
        pool: &PacketPool,
    ) -> Option<String> {
        if !cfg!(debug_assertions) {
            return None;
        }
        let packet = &pool[&arrived.packet];
        let (number, original) = (pool.number(packet)?, pool.original(packet));
        let first = *self.packets.entry(number).or_insert(original);
        if first != original {
            return Some(format!("number {number} was given to two packets, {first} and {original}"));
        }
        // An old copy may be taken for another old one: it is dropped.
        let waited_for = receiver.first_missing();
        let taken = receiver.taken_for(number).filter(|taken| *taken >= waited_for);
        let right = Some(number).filter(|number| *number >= waited_for);
        (taken != right).then(|| format!("number {number} is taken for {taken:?}"))
    }

    /// The receiver delivers a packet. The law that this violates, if it does.
    pub fn delivers(&mut self, arrived: &Arrived, pool: &PacketPool) -> Option<String> {
        let number = pool.number(&pool[&arrived.packet])?;
        let behind = std::mem::replace(&mut self.behind, number + 1);
        (number < behind).then(|| format!("number {number} is delivered behind {}", behind - 1))
    }
}
