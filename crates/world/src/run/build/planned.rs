//! Planned drops and changes of a wired link.

use crate::dataplane::forced::{ForcedDrops, LinkChange};
use roamlab_engine::Time;
use roamlab_packet::FlowId;
use roamlab_scenario::{ChangeSpec, DropSpec, LinkSpec, Scenario, Way};

pub(super) fn forced(drops: &DropSpec, scenario: &Scenario) -> ForcedDrops {
    let named = |name: &String| scenario.flows.iter().position(|flow| flow.name == *name);
    let flow = drops.flow.as_ref().and_then(named).map(|flow| FlowId(flow as u32));
    let mut ordinals = drops.packets.clone();
    ordinals.sort_unstable();
    ForcedDrops { flow, ordinals, delay: drops.delay, seen: 0 }
}

pub(super) fn changes(link: &LinkSpec, way: Way) -> Vec<LinkChange> {
    let change = |spec: &ChangeSpec| LinkChange {
        at: Time::ZERO + spec.at,
        rate: spec.reverse_rate.filter(|_| way == Way::Back).or(spec.rate),
        delay: spec.reverse_delay.filter(|_| way == Way::Back).or(spec.delay),
        up: spec.up,
    };
    link.changes.iter().map(change).collect()
}
