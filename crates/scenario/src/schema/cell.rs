//! The tables of cells in a scenario.

use super::rate::{LinkDelay, LinkRate, Way};
use roamlab_engine::{Duration, Packets, Rate};
use roamlab_qdisc::QueueSpec;
use roamlab_radio::{LossSpec, MediumSpec, OutageSpec, SchedulerSpec, Transmitter};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A cell: a base station behind an access router, and its air link.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CellSpec {
    /// The access router (for Mobile IP: the foreign agent).
    pub router: String,
    /// Rate of the air link, each way. Of a recorded link `{ trace = "walk.down", reverse = "walk.up" }`, or `{ table = "rate.csv" }`; of a random one `{ channel = { kind = "measured", table = "lte" } }`.
    pub rate: LinkRate,
    /// One-way delay of the air link.
    pub delay: LinkDelay,
    /// Queue of the downlink.
    pub queue: QueueSpec,
    /// Random loss, each way: a probability, or { kind = "gilbert-elliott", … }. Only on a dedicated medium: others have `frame_loss`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossSpec>,
    /// Random loss up to the base station, if it is another one; 0: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse_loss: Option<LossSpec>,
    /// Outages of the air link at random times, the same for all its hosts and both ways; absent: none. Only on a dedicated medium.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outages: Option<Box<OutageSpec>>,
    /// The link between access router and base station.
    pub backhaul: BackhaulSpec,
    /// Who sends next on the downlink; absent: all hosts share `queue`. Present: each host has its own queue,
    /// and `queue` is left to broadcasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<SchedulerSpec>,
    /// The hosts' own queues behind the scheduler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bearers: Option<BearersSpec>,
    /// How its hosts' links share the air.
    #[serde(default)]
    pub medium: MediumSpec,
    /// (802.11) its channel, from 1 to `radio.channels`; absent: 1, 6, 11 and on in steps of five, in the order of names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<u32>,
    /// How strongly it sends, and where from, if hosts measure by position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transmitter: Option<Transmitter>,
    /// How much better than measured it counts in event A3, in dB (Ocn and Ocp of TS 36.331 §5.5.4.4); -24 to 24.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub individual_offset_db: f64,
}

impl CellSpec {
    /// The random loss of the air link in this direction, if there is any.
    pub fn loss(&self, way: Way) -> Option<&LossSpec> {
        way.loss(self.loss.as_ref(), self.reverse_loss.as_ref())
    }

    /// The bearer of a host, with the defaults of all bearers filled in.
    pub fn bearer_of(&self, host: &str) -> BearerSettings {
        let bearers = self.bearers.clone().unwrap_or_default();
        let BearerSpec { weight, rate, queue } = bearers.hosts.get(host).cloned().unwrap_or_default();
        BearerSettings { weight, rate, queue: queue.unwrap_or(bearers.queue) }
    }
}

/// The hosts' queues behind a cell's scheduler.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BearersSpec {
    /// Queue of a host that has none of its own here.
    pub queue: QueueSpec,
    /// Properties of single hosts, by name.
    pub hosts: BTreeMap<String, BearerSpec>,
}

impl Default for BearersSpec {
    fn default() -> Self {
        BearersSpec { queue: QueueSpec::droptail(Packets(200)), hosts: BTreeMap::new() }
    }
}

/// One host's bearer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BearerSpec {
    /// Its weight, with the scheduler `wfq`; others refuse it.
    pub weight: f64,
    /// Rate of the host's air link here, each way; absent: the cell's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Its queue; absent: that of all bearers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueSpec>,
}

impl Default for BearerSpec {
    fn default() -> Self {
        BearerSpec { weight: 1.0, rate: None, queue: None }
    }
}

/// One host's bearer, with the defaults of all bearers filled in.
pub struct BearerSettings {
    /// Its weight.
    pub weight: f64,
    /// Rate of the host's air link; `None`: the cell's.
    pub rate: Option<Rate>,
    /// Its queue.
    pub queue: QueueSpec,
}

/// The link between an access router and a base station.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackhaulSpec {
    /// Rate, each way.
    pub rate: Rate,
    /// Propagation delay, each way.
    pub delay: Duration,
    /// Queue from the router to the base station; absent: `network.queue`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueSpec>,
    /// Queue from the base station to the router; absent: `network.queue`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse_queue: Option<QueueSpec>,
    /// Random loss, each way: a probability, or { kind = "gilbert-elliott", … }. A packet is lost at the far end: it has taken its time on the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossSpec>,
    /// Random loss from the base station to the router, if it is another one; 0: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse_loss: Option<LossSpec>,
    /// Outages at random times, the same both ways; absent: none. Each link of a topology has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outages: Option<Box<OutageSpec>>,
}

impl BackhaulSpec {
    /// The random loss in this direction, if there is any.
    pub fn loss(&self, way: Way) -> Option<&LossSpec> {
        way.loss(self.loss.as_ref(), self.reverse_loss.as_ref())
    }
}

/// For serde, which passes a reference.
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}
