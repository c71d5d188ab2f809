//! A rough estimate of a run before it begins: events and memory, from the rates of links and sources.

use crate::problem::Problem;
use crate::schema::{FlowSpec, Scenario, TopologySpec, Way};
use roamlab_engine::{Bytes, Duration, Packets};
use roamlab_traffic::AppSpec;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Estimated size of a run if links are used as far as the flows can, and nothing is lost.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Estimate {
    /// Events.
    pub events: u64,
    /// Bytes that its record takes.
    pub memory: u64,
}

/// Events for each packet and link: its transmission ends, and it arrives; a share for timers and applications.
const EVENTS_PER_HOP: f64 = 2.0;
/// Bytes of a row of the tables, with what vectors hold in reserve.
const DELIVERY: f64 = 1.5 * 53.0;
const TCP_CHANGE: f64 = 1.5 * 80.0;
const QUEUE_SAMPLE: f64 = 1.5 * 44.0;
const PACKET_EVENT: f64 = 1.5 * 86.0;
const SIGNAL: f64 = 1.5 * 150.0;

/// Bytes that a network takes when it is built, for each of its parts, with what the scenario holds of it: measured, and
/// rounded up.
const HOST: u64 = 3_000;
const AGENT: u64 = 3_000;
const CELL: u64 = 6_000;
const LINK: u64 = 2_000;
const FLOW: u64 = 5_000;

/// Numbers of the parts of a network, by a scenario that has been expanded or not.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct NetworkSize {
    hosts: u64,
    cells: u64,
    links: u64,
    flows: u64,
    protocols: u64,
}

impl NetworkSize {
    /// Those of a scenario.
    pub fn of(scenario: &Scenario) -> NetworkSize {
        let count = |count: Option<u32>| u64::from(count.unwrap_or(1));
        let flows = scenario.flows.iter().map(FlowSpec::number);
        let mut network = NetworkSize {
            hosts: scenario.hosts.iter().map(|host| count(host.count)).sum(),
            cells: scenario.cells.len() as u64,
            links: scenario.links.len() as u64,
            flows: flows.sum(),
            protocols: scenario.protocols().count() as u64,
        };
        // Once it is expanded, links and cells are those of its topologies too.
        if scenario.written.is_none() {
            for topology in &scenario.topology {
                let nodes = topology.size().unwrap_or_default();
                let cells = topology.cells().map_or(0, |cells| u64::from(cells.per_node));
                network.links = network.links.saturating_add(nodes);
                network.cells = network.cells.saturating_add(nodes.saturating_mul(cells));
            }
        }
        network
    }

    /// Its kinds of parts: the field in a scenario, their number and the bytes that they take.
    fn by_kind(&self) -> [(&'static str, u64, u64); 4] {
        [
            ("hosts", self.hosts, HOST + AGENT * self.protocols),
            ("cells", self.cells, CELL + AGENT * self.protocols),
            ("links", self.links, LINK),
            ("flows", self.flows, FLOW),
        ]
        .map(|(name, number, each)| (name, number, number.saturating_mul(each)))
    }

    /// The number of its hosts, cells, links and flows together.
    pub fn parts(&self) -> usize {
        let all = self.by_kind().iter().map(|kind| kind.1).fold(0, u64::saturating_add);
        usize::try_from(all).unwrap_or(usize::MAX)
    }

    /// Bytes that it takes when it is built.
    pub fn bytes(&self) -> u64 {
        self.by_kind().iter().map(|kind| kind.2).fold(0, u64::saturating_add)
    }
}

/// A number of bytes, for people.
pub fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes.div_ceil(1_000_000))
}

/// Refuses a network that takes more than `memory`, by the part that takes most.
pub fn check_size(scenario: &Scenario, memory: Bytes) -> Result<(), Problem> {
    let network = NetworkSize::of(scenario);
    let total = network.bytes();
    if total <= memory.0 {
        return Ok(());
    }
    let parts = network.by_kind();
    let (field, number, _) = parts.iter().max_by_key(|part| part.2).copied().unwrap_or(parts[0]);
    let message = format!(
        "the network would take about {} of memory, more than the {} there are for it, most of it for {number} {field}",
        megabytes(total),
        megabytes(memory.0)
    );
    // Cells and links of a topology are written as its levels.
    let nodes = |(_, topology): &(usize, &TopologySpec)| topology.size().unwrap_or_default();
    if let Some((index, _)) = scenario.topology.iter().enumerate().max_by_key(nodes)
        && (field == "cells" || field == "links")
        && scenario.written.is_none()
    {
        let has = |name: &str| {
            let fields = serde_json::to_value(&scenario.topology[index]);
            fields.is_ok_and(|fields| fields.get(name).is_some())
        };
        let sizes: Vec<&str> =
            ["depth", "fan_out", "nodes", "rows", "columns"].into_iter().filter(|name| has(name)).collect();
        if let Some(first) = sizes.first() {
            let listed: Vec<String> = sizes.iter().map(|name| format!("`{name}`")).collect();
            let help = format!("write a smaller {}, or let the run take more memory", listed.join(" or "));
            return Err(Problem::at(format!("topology[{index}].{first}"), message).help(help));
        }
    }
    Err(Problem::at(field, message).help(format!("write fewer {field}, or let the run take more memory")))
}

/// One direction of a link.
struct Edge<'a> {
    to: &'a str,
    rate: f64,
    delay: u64,
    recorded: bool,
}

/// Looked up, never walked through.
type Graph<'a> = FxHashMap<&'a str, Vec<Edge<'a>>>;

/// A flow on its way: the edges, each as a node and a place in its list.
struct Load<'a> {
    flow: &'a FlowSpec,
    path: Vec<(&'a str, usize)>,
    /// Demand in bit/s, and bits of a packet.
    demand: f64,
    packet_bits: f64,
    seconds: f64,
}

/// The estimate of a checked scenario.
pub fn estimate(scenario: &Scenario) -> Estimate {
    let graph = graph(scenario);
    let mut trees = FxHashMap::default();
    let mut loads = Vec::new();
    for flow in &scenario.flows {
        let [from, to] = [flow.path[0].as_str(), flow.path[1].as_str()];
        // Nodes with one way out share what lies behind it.
        let (first, root) = match graph.get(from).map(Vec::as_slice) {
            Some([only]) => (Some((from, 0)), only.to),
            _ => (None, from),
        };
        let tree = trees.entry(root).or_insert_with(|| paths_from(&graph, root));
        let mut path = path(tree, root, to);
        if to == root || !path.is_empty() {
            path.extend(first);
        }
        loads.extend(load(scenario, &graph, flow, path));
    }
    let mut offered: FxHashMap<(&str, usize), f64> = FxHashMap::default();
    for load in &loads {
        load.path.iter().for_each(|&edge| *offered.entry(edge).or_default() += load.demand);
    }
    let (mut events, mut memory) = signalling(scenario);
    for load in &loads {
        let share = |edge: &(&str, usize)| (graph[edge.0][edge.1].rate / offered[edge]).min(1.0);
        let share = load.path.iter().map(share).fold(1.0, f64::min);
        let fits = load.demand * share * load.seconds / load.packet_bits;
        let packets = fits.min(file(load.flow, load.packet_bits));
        let queues = load.path.iter().filter(|edge| graph[edge.0][edge.1].recorded).count() as f64;
        let tcp = load.flow.transport.has_connection();
        let ways = if tcp { 2.0 } else { 1.0 };
        events += packets * load.path.len() as f64 * EVENTS_PER_HOP * ways;
        let record = &scenario.record;
        let rows = |wanted: bool, rows: f64| if wanted { rows } else { 0.0 };
        memory += packets
            * (rows(record.deliveries, DELIVERY)
                + rows(record.tcp && tcp, TCP_CHANGE)
                + rows(record.packets, PACKET_EVENT * (ways + queues))
                + 2.0 * queues * QUEUE_SAMPLE);
    }
    Estimate { events: events as u64, memory: memory as u64 }
}

fn graph(scenario: &Scenario) -> Graph<'_> {
    let mut graph = Graph::default();
    let recorded = |name: String, by_default: bool| scenario.record.has_queue(&name, by_default);
    let mut add = |from, to, rate: roamlab_engine::Rate, delay: Duration, recorded| {
        let rate = rate.as_bps() as f64;
        graph.entry(from).or_default().push(Edge { to, rate, delay: delay.as_nanos(), recorded });
    };
    for link in &scenario.links {
        let [left, right] = [link.between[0].as_str(), link.between[1].as_str()];
        let there = recorded(format!("{left}->{right}"), link.queue.is_some());
        let back = recorded(format!("{right}->{left}"), link.reverse_queue.is_some());
        add(left, right, link.rate(Way::There), link.delay(Way::There), there);
        add(right, left, link.rate(Way::Back), link.delay(Way::Back), back);
    }
    for (name, cell) in &scenario.cells {
        let (router, backhaul) = (cell.router.as_str(), &cell.backhaul);
        let there = recorded(format!("{router}->{name}"), backhaul.queue.is_some());
        let back = recorded(format!("{name}->{router}"), backhaul.reverse_queue.is_some());
        add(router, name, backhaul.rate, backhaul.delay, there);
        add(name, router, backhaul.rate, backhaul.delay, back);
    }
    // ASSUMPTION: a host stays where it begins.
    for host in &scenario.hosts {
        let first = host.planned.as_ref().map(|planned| planned.begins_in());
        let Some(name) = first.or_else(|| scenario.cells_of(host).first().copied()) else { continue };
        let cell = &scenario.cells[name];
        let down = recorded(format!("{name}/air"), true);
        let up = recorded(format!("{}->{name}", host.name), false);
        add(name, &host.name, cell.rate.mean(Way::There), cell.delay.mean(Way::There), down);
        add(&host.name, name, cell.rate.mean(Way::Back), cell.delay.mean(Way::Back), up);
    }
    graph
}

/// Of each node an edge: its beginning, and its place in the list there.
type Ways<'a> = FxHashMap<&'a str, (&'a str, usize)>;

/// Of each node the edge by which the shortest way from `source` comes (Dijkstra).
fn paths_from<'a>(graph: &Graph<'a>, source: &'a str) -> Ways<'a> {
    let (mut by, mut best) = (Ways::default(), FxHashMap::from_iter([(source, 0)]));
    let mut heap = BinaryHeap::from([Reverse((0u64, source))]);
    while let Some(Reverse((distance, node))) = heap.pop() {
        if best[node] != distance {
            continue;
        }
        for (place, edge) in graph.get(node).into_iter().flatten().enumerate() {
            let far = distance.saturating_add(edge.delay).saturating_add(1);
            if best.get(edge.to).is_none_or(|&known| far < known) {
                best.insert(edge.to, far);
                by.insert(edge.to, (node, place));
                if graph.get(edge.to).is_some_and(|onward| onward.len() > 1) {
                    heap.push(Reverse((far, edge.to)));
                }
            }
        }
    }
    by
}

fn path<'a>(tree: &Ways<'a>, from: &str, to: &'a str) -> Vec<(&'a str, usize)> {
    let mut path = Vec::new();
    let mut at = to;
    while at != from {
        let Some(&edge) = tree.get(at) else { return Vec::new() };
        path.push(edge);
        at = edge.0;
    }
    path
}

fn load<'a>(
    scenario: &Scenario,
    graph: &Graph<'a>,
    flow: &'a FlowSpec,
    path: Vec<(&'a str, usize)>,
) -> Option<Load<'a>> {
    let edges = || path.iter().map(|edge| &graph[edge.0][edge.1]);
    let narrowest = edges().map(|edge| edge.rate).reduce(f64::min)?;
    let (demand, packet_bits) = match flow.app.load() {
        Some(load) => load,
        None => {
            let (packet, window) = flow.transport.load(scenario.profiles())?;
            let bits = 8.0 * packet.0 as f64;
            let round_trip = 2e-9 * edges().map(|edge| edge.delay as f64).sum::<f64>()
                + edges().map(|edge| bits / edge.rate).sum::<f64>();
            let demand = |window: Packets| f64::from(window.0) * bits / round_trip;
            (window.map_or(f64::INFINITY, demand), bits)
        }
    };
    let stop = flow.app.stop();
    let end = stop.unwrap_or(Duration::MAX).min(scenario.run.duration);
    let seconds = end.saturating_sub(flow.app.start()).as_secs_f64();
    Some(Load { flow, demand: demand.min(narrowest).max(f64::MIN_POSITIVE), packet_bits, seconds, path })
}

/// Packets of a flow's file, or those that it sends at most.
fn file(flow: &FlowSpec, packet_bits: f64) -> f64 {
    let (size, packets) = match &flow.app {
        AppSpec::Ftp(ftp) => (ftp.size, ftp.packets),
        AppSpec::Cbr(cbr) => (None, cbr.packets),
        _ => (None, None),
    };
    let by_size = size.map_or(f64::INFINITY, |size| (8.0 * size.0 as f64 / packet_bits).max(1.0));
    packets.map_or(by_size, |packets| f64::from(packets.0))
}

/// Events and bytes at regular times: beacons, advertisements, measurements.
fn signalling(scenario: &Scenario) -> (f64, f64) {
    let times = |period: Duration| scenario.run.duration.as_secs_f64() / period.as_secs_f64();
    let measurements = scenario.radio.measurement().map_or(0.0, |spec| times(spec.period));
    let intervals = scenario.protocols().filter_map(|(_, spec)| spec.broadcast_interval());
    let broadcasts: f64 = intervals.map(times).sum();
    let broadcasts = broadcasts * scenario.cells.len() as f64;
    let measurements = measurements * scenario.hosts.len() as f64;
    (measurements + broadcasts * (1.0 + EVENTS_PER_HOP), broadcasts * SIGNAL)
}
