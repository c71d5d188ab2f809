//! Forced events of a link: losses and delays by ordinal, and changes during the run.

use roamlab_engine::{Duration, Rate, Time};
use roamlab_packet::{FlowId, Packet};

/// A list of packets that a link loses or holds back.
#[derive(Clone, Debug)]
pub struct ForcedDrops {
    /// Only packets of this flow.
    pub flow: Option<FlowId>,
    /// Their ordinals from 0, ascending.
    pub ordinals: Vec<u64>,
    /// How long they are held back; `None`: they are lost.
    pub delay: Option<Duration>,
    /// How many have been seen.
    pub seen: u64,
}

impl ForcedDrops {
    /// True if the packet that enters the link is one of them. Every packet counts, also one that another
    /// list loses.
    pub fn selects(&mut self, packet: &Packet) -> bool {
        if self.flow.is_some_and(|flow| flow != packet.flow) {
            return false;
        }
        self.seen += 1;
        self.ordinals.binary_search(&(self.seen - 1)).is_ok()
    }
}

/// Effects of a link on a packet that enters it, by order of the scenario.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum ForcedEvent {
    /// It loses the packet.
    Loss,
    /// The packet enters later, by this time.
    Delay(Duration),
}

/// Effect of a link's lists on a packet, if it is in one of them. A loss has priority, and of two delays the
/// longer.
pub fn forced_event(lists: &mut [ForcedDrops], packet: &Packet) -> Option<ForcedEvent> {
    let selected = lists.iter_mut().filter_map(|list| list.selects(packet).then_some(list.delay));
    selected
        .max_by_key(|delay| delay.unwrap_or(Duration::MAX))
        .map(|delay| delay.map_or(ForcedEvent::Loss, ForcedEvent::Delay))
}

/// A change of a link; what is `None` stays.
#[derive(Copy, Clone, Debug)]
pub struct LinkChange {
    /// When.
    pub at: Time,
    /// Its rate from the next transmission on.
    pub rate: Option<Rate>,
    /// Its propagation delay from the next transmission on.
    pub delay: Option<Duration>,
    /// Reception at its far end.
    pub up: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use roamlab_engine::Bytes;
    use roamlab_packet::{Addr, IpHeader, PacketPool, Tos, UdpHeader};

    #[test]
    fn a_list_counts_its_flow_only() {
        let mut pool = PacketPool::default();
        let mut packet = |flow| {
            let inner = IpHeader::new(Addr::new(1, 0), Addr::new(2, 0), Tos::default());
            let body = UdpHeader::default();
            let packet = pool.create(Packet::make(FlowId(flow), inner, Bytes(512), Time::ZERO, body));
            pool[&packet].clone()
        };
        let mut of_flow = ForcedDrops { flow: Some(FlowId(1)), ordinals: vec![0, 2], delay: None, seen: 0 };
        let mut of_all = ForcedDrops { flow: None, ordinals: vec![1], delay: None, seen: 0 };
        let flows = [0, 1, 1, 0, 1, 1];
        let lost: Vec<_> =
            flows.map(|flow| (of_flow.selects(&packet(flow)), of_all.selects(&packet(flow)))).into();
        let expected =
            [(false, false), (true, true), (false, false), (false, false), (true, false), (false, false)];
        assert_eq!(lost, expected);
    }

    #[test]
    fn of_lists_that_name_one_packet_a_loss_prevails_and_then_the_longest_delay() {
        let inner = IpHeader::new(Addr::new(1, 0), Addr::new(2, 0), Tos::default());
        let body = UdpHeader::default();
        let mut pool = PacketPool::default();
        let packet = pool.create(Packet::make(FlowId(0), inner, Bytes(512), Time::ZERO, body));
        let ms = |millis| Some(Duration::from_millis(millis));
        let list =
            |ordinals: &[u64], delay| ForcedDrops { flow: None, ordinals: ordinals.into(), delay, seen: 0 };
        let mut lists = [list(&[0, 1], ms(20)), list(&[0], None), list(&[1], ms(50)), list(&[2], ms(1))];
        let events: Vec<_> = (0..4).map(|_| forced_event(&mut lists, &pool[&packet])).collect();
        let late = |millis| Some(ForcedEvent::Delay(Duration::from_millis(millis)));
        assert_eq!(events, [Some(ForcedEvent::Loss), late(50), late(1), None]);
    }
}
