//! A scenario: everything that determines a run except its seed. This is the only definition of the format. The doc
//! comments below are its help, its JSON schema and its Python documentation.

mod cell;
mod mobility;
pub mod origins;
mod path_change;
pub mod planned;
mod rate;
pub mod topology;
mod tunnel;

pub use cell::{BackhaulSpec, BearerSettings, BearerSpec, BearersSpec, CellSpec};
pub use mobility::Protocols;
pub use path_change::{LINK_UP, Notification, PathChangeSpec};
pub use rate::{ChannelRate, LinkDelay, LinkRate, RecordedDelay, RecordedRate, TableRate, Way};
pub use topology::TopologySpec;
pub use tunnel::TunnelEcn;

use crate::problem::quoted_key;
use origins::Origins;
use planned::PlannedVisits;
use roamlab_engine::{Bytes, Duration, Packets, RandomNumbers, Rate};
use roamlab_mobility::{MobilitySpec, matches};
use roamlab_packet::Dscp;
use roamlab_qdisc::QueueSpec;
use roamlab_radio::{LossSpec, OutageSpec, PlanSpec, RadioSpec, SignalSpec, Trajectory, Visit};
use roamlab_tcp::{ProfileName, Profiles, TcpProfile};
use roamlab_traffic::AppSpec;
use roamlab_transport::TransportSpec;
use rustc_hash::FxHashSet;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use std::collections::BTreeMap;

/// Hosts, flows or visits that a scenario generates at most.
pub(crate) const MOST_GENERATED: u64 = 2_000_000;

/// A scenario.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The run as a whole.
    pub run: RunSpec,
    /// Properties of the network as a whole.
    #[serde(default)]
    pub network: NetworkSpec,
    /// TCP profiles of this scenario by name, each a built-in one with changed rules.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tcp_profiles: BTreeMap<String, TcpProfile>,
    /// Wired links, both ways. A name that appears here is a node.
    #[serde(default)]
    pub links: Vec<LinkSpec>,
    /// Networks by rule: nodes, links and cells with names that begin with the topology's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub topology: Vec<TopologySpec>,
    /// Cells by name. A cell's name is also its base station's.
    #[serde(default)]
    pub cells: BTreeMap<String, CellSpec>,
    /// The radio: how a host changes cells.
    #[serde(default)]
    pub radio: RadioSpec,
    /// The mobility protocol, or a list of several, the outer one of two that share hosts first; absent: hosts that
    /// move are lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mobility: Option<Protocols>,
    /// Mobile hosts. A host in no list of visits is a fixed one and only needs a link.
    #[serde(default)]
    pub hosts: Vec<HostSpec>,
    /// Flows of data.
    #[serde(default)]
    pub flows: Vec<FlowSpec>,
    /// Faults to inject into the signalling.
    #[serde(default)]
    pub faults: Vec<FaultSpec>,
    /// Data to record.
    #[serde(default)]
    pub record: RecordSpec,
    /// The scenario as it is written, as JSON with defaults, if it generates links, cells, hosts or flows.
    #[serde(skip)]
    pub(crate) written: Option<String>,
    /// Where what is generated comes from.
    #[serde(skip)]
    pub(crate) origins: Origins,
}

/// The run as a whole.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    /// How long it lasts.
    #[schemars(extend("examples" = ["40 s"]))]
    pub duration: Duration,
    /// The TCP profile that fills in what the `transport` of a flow leaves out: a built-in one, or one of `tcp_profiles`.
    #[serde(default)]
    pub profile: ProfileName,
    /// Where random numbers come from. "chacha" (default): every component has its own stream. "ns2": all
    /// share ns-2's generator, and TCP clocks are drawn as ns-2 draws them, so that a run of ns-2 can be
    /// repeated.
    #[serde(default)]
    pub random_numbers: RandomNumbers,
}

/// Properties of the network as a whole.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NetworkSpec {
    /// Bytes that a tunnel header adds on the wire (IP-in-IP: RFC 2003).
    pub tunnel_overhead: Bytes,
    /// Value that the entry of a tunnel writes into the outer ECN field; the exit follows RFC 6040.
    pub tunnel_ecn: TunnelEcn,
    /// Signalling overtakes data that waits for a link.
    pub signalling_priority: bool,
    /// Treatment of the mark of forwarded packets on packets from outside, by access routers and base
    /// stations.
    pub foreign_marks: ForeignMarks,
    /// Queue of a wired link that has no own queue.
    pub queue: QueueSpec,
    /// Queue of a mobile host's uplink.
    pub uplink_queue: QueueSpec,
}

impl Default for NetworkSpec {
    fn default() -> Self {
        NetworkSpec {
            tunnel_overhead: Bytes(20),
            tunnel_ecn: TunnelEcn::default(),
            signalling_priority: true,
            foreign_marks: ForeignMarks::Clear,
            queue: QueueSpec::droptail(Packets(1000)),
            uplink_queue: QueueSpec::droptail(Packets(1000)),
        }
    }
}

/// Treatment of a mark that comes from outside.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ForeignMarks {
    /// The mark is cleared.
    Clear,
    /// The packet is dropped.
    Drop,
    /// The mark is believed (no policing).
    Honour,
}

/// A wired link, both ways.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// The two nodes.
    #[serde(deserialize_with = "pair")]
    pub between: [String; 2],
    /// Rate, each way. Of a recorded link `{ trace = "walk.down", reverse = "walk.up" }`, or `{ table = "rate.csv" }`; of a random one `{ channel = { kind = "measured", table = "lte" } }`.
    pub rate: LinkRate,
    /// Propagation delay, each way.
    pub delay: LinkDelay,
    /// Rate from the second node to the first, if it is another one. A recorded link has it in `rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse_rate: Option<Rate>,
    /// Propagation delay from the second node to the first, if it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse_delay: Option<Duration>,
    /// Queue from the first node to the second; absent: `network.queue`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Box<QueueSpec>>,
    /// Queue from the second node to the first; absent: `network.queue`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse_queue: Option<Box<QueueSpec>>,
    /// Random loss, each way: a probability, or { kind = "gilbert-elliott", … }. A packet is lost at the far end: it has taken its time on the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossSpec>,
    /// Random loss from the second node to the first, if it is another one; 0: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse_loss: Option<LossSpec>,
    /// Packets that are lost, or held back, on entering the link from the first node to the second.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drops: Vec<DropSpec>,
    /// Packets that are lost, or held back, on entering the link from the second node to the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reverse_drops: Vec<DropSpec>,
    /// Changes of the link in mid-run, both ways.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangeSpec>,
    /// Outages at random times, the same both ways; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outages: Option<Box<OutageSpec>>,
}

impl LinkSpec {
    /// The rate, of a recorded link its mean, in this direction.
    pub fn rate(&self, way: Way) -> Rate {
        match (way, self.reverse_rate) {
            (Way::Back, Some(rate)) => rate,
            _ => self.rate.mean(way),
        }
    }

    /// The propagation delay in this direction.
    pub fn delay(&self, way: Way) -> Duration {
        match (way, self.reverse_delay) {
            (Way::Back, Some(delay)) => delay,
            _ => self.delay.mean(way),
        }
    }

    /// The recorded delay of this direction, if it has one.
    pub fn recorded_delay(&self, way: Way) -> Option<&RecordedDelay> {
        self.delay.recorded().filter(|_| way == Way::There || self.reverse_delay.is_none())
    }

    /// The random loss in this direction, if there is any.
    pub fn loss(&self, way: Way) -> Option<&LossSpec> {
        way.loss(self.loss.as_ref(), self.reverse_loss.as_ref())
    }
}

/// Packets that a link loses or holds back, by their ordinals. This happens before its queue, as by ns-2's error model
/// with a list.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DropSpec {
    /// Only packets of this flow are counted and lost; absent: all that enter the link, signalling included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// Which of them, counted from 0 in the order in which they enter: a SYN counts, and so does a retransmission.
    #[schemars(extend("examples" = [[40, 41]]))]
    pub packets: Vec<u64>,
    /// They are not lost but enter the link so much later, behind those that have overtaken them (ns-2's `delay_pkt_`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
}

/// A change of a link in mid-run. Omitted values are unchanged.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeSpec {
    /// When.
    pub at: Duration,
    /// Its rate for transmissions that begin later, each way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Its propagation delay for transmissions that begin later, each way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
    /// The rate from the second node to the first, if it becomes another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse_rate: Option<Rate>,
    /// The propagation delay from the second node to the first, if it becomes another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse_delay: Option<Duration>,
    /// False: the link is down. On a link that is down packets wait and are sent as ever, but are lost where
    /// they arrive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<bool>,
}

/// A mobile host.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostSpec {
    /// Its name; of a group the first part of the names of its hosts: `NAME-0`, `NAME-1`, ….
    pub name: String,
    /// Number of hosts in the group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// The node that its home address belongs to (for Mobile IP: its home agent); of a group also a pattern with `*`: the
    /// nodes that match take turns.
    pub home: String,
    /// The cells it visits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visits: Option<Vec<Visit>>,
    /// How it moves, in place of `visits`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanSpec>,
    /// How much later each host of a group moves than the one before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stagger: Option<Duration>,
    /// The way it goes, if it measures by position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trajectory: Option<Trajectory>,
    /// If its plan is random: what a run draws its visits from.
    #[serde(skip)]
    pub(crate) planned: Option<PlannedVisits>,
}

impl HostSpec {
    /// Its visits; none if a run has yet to draw them.
    pub fn stays(&self) -> &[Visit] {
        self.visits.as_deref().unwrap_or_default()
    }
}

/// A flow of data.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowSpec {
    /// Its name; of a group the first part of the names of its flows: `NAME-0`, `NAME-1`, ….
    pub name: String,
    /// Number of flows in the group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// How much later each flow of a group starts, and stops, than the one before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stagger: Option<Duration>,
    /// Where its data comes from and where it goes: a node, a host, or a base station by the name of its cell. Of a group
    /// also patterns with `*`: the nodes that match take turns.
    #[serde(deserialize_with = "pair")]
    pub path: [String; 2],
    /// Another such flow goes back, `NAME-back`: the other direction of a call.
    #[serde(default, skip_serializing_if = "is_false")]
    pub two_way: bool,
    /// Transport; absent: UDP.
    #[serde(default)]
    pub transport: TransportSpec,
    /// Its sender is notified of a new path when an end changes cells; absent: it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_change: Option<Box<PathChangeSpec>>,
    /// Base stations keep its segments for their host, send lost ones again over the air, and hide the duplicate
    /// acknowledgements for them from the sender (Snoop); `snoop = {}` has the defaults; absent: they do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snoop: Option<Box<roamlab_mobility::snoop::Params>>,
    /// The code point that its sender gives its packets, 0 to 63. That of forwarded packets is a mark from outside.
    #[serde(default)]
    #[schemars(with = "u8", range(max = 63))]
    pub dscp: Dscp,
    /// The application.
    pub app: AppSpec,
}

impl FlowSpec {
    /// True if its packets are those of a program in real time.
    pub fn is_of_program(&self) -> bool {
        matches!(self.app, AppSpec::Program(_))
    }

    /// How many flows it generates: those of its group, those back and those of requests.
    pub fn number(&self) -> u64 {
        let each = (1 + u64::from(self.two_way)) * (1 + u64::from(self.app.asks()));
        u64::from(self.count.unwrap_or(1)) * each
    }
}

/// A fault: messages of one kind are lost, late or sent twice.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FaultSpec {
    /// Name of the message (`roamlab list` names them).
    pub message: String,
    /// Only messages about this mobile host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Which of these messages, in the order in which they are sent, counted from 1.
    pub occurrences: Vec<u32>,
    /// They set out this much later, or their copies do; absent: they are lost, or copied immediately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
    /// They set out in time, and a copy of each too.
    #[serde(default)]
    pub duplicate: bool,
}

/// Data to record. Totals of flows, losses, signalling and handovers are always recorded.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RecordSpec {
    /// One row for each data packet delivered.
    pub deliveries: bool,
    /// One row for each change of a TCP sender's state.
    pub tcp: bool,
    /// One row for each change of a TCP sender's variables, the estimate of the round-trip time among them.
    #[serde(skip_serializing_if = "is_false")]
    pub variables: bool,
    /// One row for each packet that an endpoint sends, a recorded queue is handed, or the network loses.
    pub packets: bool,
    /// Queues of which each change is recorded, by name ("bs2/air", "r1->r2", "mh->bs2", "bs2/air/mh") or by
    /// a pattern with `*`; absent: the downlinks of all cells and the wired links with their own queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues: Option<Vec<String>>,
}

impl RecordSpec {
    /// True if the queue of this name is recorded; `by_default`: if none is named.
    pub fn has_queue(&self, name: &str, by_default: bool) -> bool {
        self.queues.as_ref().map_or(by_default, |queues| queues.iter().any(|queue| matches(queue, name)))
    }
}

impl Default for RecordSpec {
    fn default() -> Self {
        RecordSpec { deliveries: true, tcp: true, variables: false, packets: false, queues: None }
    }
}

/// For serde, which passes a reference.
fn is_false(value: &bool) -> bool {
    !*value
}

/// Exactly two names. Serde's own arrays take the first two of a longer TOML list.
fn pair<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[String; 2], D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    let count = names.len();
    names.try_into().map_err(|_| D::Error::invalid_length(count, &"an array of length 2"))
}

impl Scenario {
    /// The mobility protocols, from the outermost to the innermost, each with its field.
    pub fn protocols(&self) -> impl Iterator<Item = (String, &MobilitySpec)> {
        self.mobility.iter().flat_map(Protocols::iter)
    }

    /// True if it has topologies, groups or plans, which generate links, cells, hosts and flows.
    pub fn generates(&self) -> bool {
        !self.topology.is_empty()
            || self.hosts.iter().any(|host| host.count.is_some() || host.plan.is_some())
            || self.flows.iter().any(|flow| flow.count.is_some() || flow.two_way || flow.app.asks())
    }

    /// The scenario as it is written with every default filled in, as JSON.
    pub fn to_json(&self) -> String {
        self.written.clone().unwrap_or_else(|| serde_json::to_string(self).unwrap_or_default())
    }

    /// Names of all queues that can be recorded: "a->b" for wired links and uplinks, "cell/air" for downlinks,
    /// "cell/air/host" for those behind a scheduler.
    pub fn queue_names(&self) -> impl Iterator<Item = String> + use<'_> {
        let wired = self.links.iter().flat_map(|link| {
            let [left, right] = &link.between;
            [format!("{left}->{right}"), format!("{right}->{left}")]
        });
        let backhaul = self.cells.iter().flat_map(|(name, cell)| {
            [format!("{}->{name}", cell.router), format!("{name}->{}", cell.router)]
        });
        let uplinks = self
            .hosts
            .iter()
            .flat_map(|host| self.cells_of(host).into_iter().map(|cell| format!("{}->{cell}", host.name)));
        let scheduled = |cell: &&str| self.cells[*cell].scheduler.is_some();
        let bearers = self.hosts.iter().flat_map(move |host| {
            let cells = self.cells_of(host).into_iter().filter(scheduled);
            cells.map(|cell| format!("{cell}/air/{}", host.name)).collect::<Vec<_>>()
        });
        let air = self.cells.keys().map(|name| format!("{name}/air"));
        wired.chain(backhaul).chain(uplinks).chain(air).chain(bearers)
    }

    /// The recorded rates of links and cells: each with its field, its first moment with a rate and its mean.
    pub(crate) fn recordings(&self) -> Vec<(String, Duration, Rate)> {
        let wired =
            self.links.iter().enumerate().map(|(index, link)| (format!("links[{index}]"), &link.rate));
        let cells = self.cells.iter().map(|(name, cell)| (format!("cells.{}", quoted_key(name)), &cell.rate));
        let of_one = |(table, rate): (String, &LinkRate)| {
            let each = rate.summaries().into_iter();
            each.map(move |(name, first, mean)| (format!("{table}.rate.{name}"), first, mean))
        };
        wired.chain(cells).flat_map(of_one).collect()
    }

    /// The TCP profiles.
    pub fn profiles(&self) -> Profiles<'_> {
        Profiles { run: &self.run.profile, declared: &self.tcp_profiles }
    }

    /// The names of all mobile hosts.
    pub fn host_names(&self) -> FxHashSet<&str> {
        self.hosts.iter().map(|host| host.name.as_str()).collect()
    }

    /// The cells that a host can enter: those of its visits; by position, all.
    pub fn cells_of<'a>(&'a self, host: &'a HostSpec) -> Vec<&'a str> {
        if self.radio.measurement().is_some_and(|spec| spec.signal == SignalSpec::Positions) {
            return self.cells.keys().map(String::as_str).collect();
        }
        if let Some(planned) = &host.planned {
            return planned.cells.names.iter().map(String::as_str).collect();
        }
        let mut cells = Vec::new();
        for visit in host.stays() {
            if !cells.contains(&visit.cell.as_str()) {
                cells.push(visit.cell.as_str());
            }
        }
        cells
    }
}

/// The JSON schema of scenarios, as text.
pub fn schema() -> String {
    let schema = schemars::schema_for!(Scenario);
    serde_json::to_string_pretty(&schema).unwrap_or_default()
}
