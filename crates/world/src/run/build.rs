//! Builds a world from a checked scenario.

mod channels;
mod impairments;
mod planned;

use self::channels::Channels;
use self::planned::{changes, forced};
use crate::context::Context;
use crate::control::fault::Fault;
use crate::control::{Agents, Alternative};
use crate::dataplane::link::{End, Link, Links};
use crate::dataplane::network::{Network, Policer, Rules};
use crate::dataplane::node::{Node, Nodes};
use crate::dataplane::route::{Edge, StaticRoutes, shortest_paths};
use crate::dataplane::tx_queue::{BearerQueue, Bearers, Queue, TxQueue};
use crate::endpoints::flow::Flow;
use crate::endpoints::flows::Flows;
use crate::endpoints::path_notice::Informed;
use crate::endpoints::units::Units;
use crate::event::Event;
use crate::ids::CellId;
use crate::layer2::cells::{Cell, Cells, Measuring, Mobile};
use crate::run::install;
use crate::run::ns2;
use crate::run::options::{Replication, RunOptions, network_part};
use crate::run::world::{Planes, World};
use crate::wifi::association::Associations;
use crate::wifi::{Request, Stations};
use roamlab_engine::{Duration, Rate, Streams, Time};
use roamlab_packet::{Addr, Dscp, FlowId};
use roamlab_qdisc::{Qdisc, QueueDisc, QueueSpec};
use roamlab_radio::{
    BearerShare, CellScheduler, Duplicates, Meter, Positions, Role, Schedule, Signal, SignalSpec, Transition,
    Visit, Wifi,
};
use roamlab_record::Names;
use roamlab_record::capture::Capture;
use roamlab_record::ids::{LinkId, NodeId};
use roamlab_record::probe::{Wanted, tables};
use roamlab_scenario::{FlowSpec, ForeignMarks, HostSpec, NetworkSize, SIGNALLING, Scenario, Way};
use roamlab_traffic::{App, AppSpec};
use roamlab_transport::Setting;
use std::collections::BTreeMap;

/// Builds the world of a scenario that has been checked.
pub fn build(scenario: &Scenario, draw: Replication, options: &RunOptions<'_>) -> World {
    build_shared(scenario, &[], draw, options).world
}

/// A world, and what alternatives share its beginning.
pub struct Shared {
    /// The world.
    pub world: World,
    /// The places of the alternatives that ask the world for the same things.
    pub alternatives: Vec<usize>,
    /// When the first host makes its second visit, or is asked to, if one is.
    pub second_visit: Option<Time>,
}

/// Builds the world of a scenario whose beginning others share, in which the protocols alone are others.
pub fn build_shared(
    scenario: &Scenario,
    others: &[&Scenario],
    draw: Replication,
    options: &RunOptions<'_>,
) -> Shared {
    let streams = Streams::new(scenario.run.random_numbers, draw.seed, draw.run);
    let drawn = scenario.draw_plans(&streams);
    let scenario = drawn.as_ref().unwrap_or(scenario);
    let links = Links::new(scenario.network.signalling_priority);
    let (nodes, ids, routes) = (Nodes::default(), BTreeMap::new(), StaticRoutes::default());
    let wanted = wanted(scenario, options);
    let (mobiles, channels) = (Vec::new(), Channels::new(scenario));
    let mut builder =
        Builder { scenario, draw, wanted, streams, nodes, mobiles, links, ids, routes, channels };
    builder.wired();
    let cells = builder.cells();
    builder.routes();
    builder.hosts(&cells);
    builder.help(&cells);
    builder.finish(cells, others, options.capture)
}

/// Tables that the scenario records and the caller requests. Of all else totals are made.
fn wanted(scenario: &Scenario, options: &RunOptions<'_>) -> Wanted {
    let (record, selection) = (&scenario.record, options.selection());
    let mut wanted = Wanted::new(|table| selection.wants(table));
    wanted.deliveries &= record.deliveries;
    wanted.tcp &= record.tcp;
    wanted.variables &= record.variables;
    wanted.tcp_info &= record.variables;
    wanted.packets &= record.packets;
    // Packets handed to a recorded queue are reported by `packets` too.
    wanted.queues |= wanted.packets;
    wanted.causes |=
        tables().any(|table| table.of_causes().any(|column| selection.wants_column(table.name, column)));
    wanted
}

struct Builder<'a> {
    scenario: &'a Scenario,
    draw: Replication,
    wanted: Wanted,
    streams: Streams,
    nodes: Nodes,
    /// The mobile hosts, by their nodes.
    mobiles: Vec<Option<Box<Mobile>>>,
    links: Links,
    ids: BTreeMap<&'a str, NodeId>,
    routes: StaticRoutes,
    channels: Channels<'a>,
}

impl<'a> Builder<'a> {
    /// The node of this name, made if there is none yet.
    fn node(&mut self, name: &'a str) -> NodeId {
        let next = NodeId(self.nodes.len() as u32);
        let id = *self.ids.entry(name).or_insert(next);
        if id == next {
            self.nodes.add(Node::new(name, Addr::node(next.0)));
        }
        id
    }

    fn link(
        &mut self,
        name: String,
        ends: (NodeId, End),
        (rate, delay): (Rate, Duration),
        queue: &QueueSpec,
        own_queue: bool,
    ) -> LinkId {
        let queue = self.queue(&name, queue, (rate, delay), self.is_recorded(&name, own_queue));
        let id = self.links.add(name, ends, (rate, delay), TxQueue::Shared(queue));
        if let End::Node(to) = ends.1 {
            let neighbour = self.nodes[to].addr;
            self.nodes[ends.0].neighbours.insert(neighbour, id);
        }
        id
    }

    fn is_recorded(&self, queue: &str, by_default: bool) -> bool {
        self.wanted.queues && self.scenario.record.has_queue(queue, by_default)
    }

    fn duplex(
        &mut self,
        [left, right]: [&'a str; 2],
        shapes: [(Rate, Duration); 2],
        queues: [Option<&QueueSpec>; 2],
    ) -> [LinkId; 2] {
        let default = &self.scenario.network.queue;
        let ids = [self.node(left), self.node(right)];
        let names = [format!("{left}->{right}"), format!("{right}->{left}")];
        let ends = [(ids[0], End::Node(ids[1])), (ids[1], End::Node(ids[0]))];
        let mut each = names.into_iter().zip(ends).zip(queues).zip(shapes);
        std::array::from_fn(|_| {
            let (((name, ends), queue), shape) = each.next().expect("two of each");
            self.link(name, ends, shape, queue.unwrap_or(default), queue.is_some())
        })
    }

    fn wired(&mut self) {
        for link in &self.scenario.links {
            let names = link.between.each_ref().map(String::as_str);
            let queues = [link.queue.as_deref(), link.reverse_queue.as_deref()];
            let ways = [Way::There, Way::Back];
            let built = self.duplex(names, ways.map(|way| (link.rate(way), link.delay(way))), queues);
            for ((id, way), drops) in built.into_iter().zip(ways).zip([&link.drops, &link.reverse_drops]) {
                self.record_of(id, &link.rate, link.recorded_delay(way), way);
                self.channels.follow_of_link(link, (id, way), &mut self.links, &self.streams);
                let forced = drops.iter().map(|drops| forced(drops, self.scenario)).collect();
                self.links.set_impairments(id, forced, changes(link, way));
                self.lose_at_random(id, link.loss(way));
            }
            self.fail_both_ways(&built, link.outages.as_deref());
        }
    }

    fn cells(&mut self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for (name, spec) in &self.scenario.cells {
            let queues = [spec.backhaul.queue.as_ref(), spec.backhaul.reverse_queue.as_ref()];
            let backhaul = (spec.backhaul.rate, spec.backhaul.delay);
            let built = self.duplex([&spec.router, name], [backhaul; 2], queues);
            for (id, way) in built.into_iter().zip([Way::There, Way::Back]) {
                self.lose_at_random(id, spec.backhaul.loss(way));
            }
            self.fail_both_ways(&built, spec.backhaul.outages.as_deref());
            let (cell, base_station) = (CellId(cells.len() as u32), self.node(name));
            let ends = (base_station, End::Cell(cell));
            let shape = (spec.rate.mean(Way::There), spec.delay.mean(Way::There));
            let air = self.link(format!("{name}/air"), ends, shape, &spec.queue, true);
            self.record_of(air, &spec.rate, spec.delay.recorded(), Way::There);
            self.channels.follow_of_cell(name, (air, Way::There), &mut self.links, &self.streams);
            self.lose_at_random(air, spec.loss(Way::There));
            self.fail_in_outages(&[air], &format!("{name}/air"), spec.outages.as_deref());
            self.nodes[base_station].serves = Some(cell);
            if let Some(medium) = spec.medium.build(self.streams.named(&format!("{name}/medium"))) {
                let medium = self.links.add_medium(medium);
                let rng = self.streams.named(&format!("{name}/medium/{name}"));
                self.links.join(air, medium, Role::BaseStation, rng);
                if let Some(wifi) = self.scenario.radio.roaming() {
                    self.links.report(medium);
                    self.links[air].associations = Some(Box::new(Associations::new(wifi)));
                }
            }
            let router = self.node(&spec.router);
            self.nodes[router].is_access_router = true;
            let cell = Cell::new(name.clone(), air, base_station);
            cells.push(match self.scenario.radio.roaming() {
                Some(wifi) => {
                    let channel = spec.channel.unwrap_or_else(|| wifi.channel(cells.len() as u32));
                    cell.on_channel(channel, spec.medium.beacon_interval())
                }
                None => cell,
            });
        }
        cells
    }

    fn routes(&mut self) {
        let edge = |(index, link): (usize, &Link)| match link.to {
            End::Node(to) => Some(Edge {
                link: LinkId(index as u32),
                from: link.from.0 as usize,
                to: to.0 as usize,
                delay: self.links.delay(LinkId(index as u32)),
            }),
            End::Cell(_) => None,
        };
        let edges: Vec<Edge> = self.links.iter().enumerate().filter_map(edge).collect();
        self.routes = shortest_paths(self.ids.len(), &edges);
    }

    fn hosts(&mut self, cells: &[Cell]) {
        self.mobiles.resize_with(self.nodes.len(), || None);
        for spec in &self.scenario.hosts {
            let home = self.ids[spec.home.as_str()];
            let id = NodeId(self.nodes.len() as u32);
            self.ids.insert(&spec.name, id);
            self.nodes.add(Node::new(&spec.name, Addr::mobile(id.0)));
            self.routes.add_host(home);
            let mobile = self.mobile(id, spec, cells);
            self.mobiles.push(Some(Box::new(mobile)));
        }
    }

    fn mobile(&mut self, id: NodeId, spec: &'a HostSpec, cells: &[Cell]) -> Mobile {
        let mut uplinks = BTreeMap::new();
        let visit = |visit: &Visit| CellId(number_of(&visit.cell, cells) as u32);
        let visits = spec.stays().iter().map(visit).collect();
        for name in self.scenario.cells_of(spec) {
            let cell = number_of(name, cells);
            let air = &self.scenario.cells[name];
            let ends = (id, End::Node(cells[cell].base_station));
            let rate = air.bearer_of(&spec.name).rate.unwrap_or(air.rate.mean(Way::Back));
            let shape = (rate, air.delay.mean(Way::Back));
            let uplink = format!("{}->{name}", spec.name);
            let link = self.link(uplink, ends, shape, &self.scenario.network.uplink_queue, false);
            self.links.track_flights(link);
            self.record_of(link, &air.rate, air.delay.recorded(), Way::Back);
            self.channels.follow_of_cell(name, (link, Way::Back), &mut self.links, &self.streams);
            self.lose_at_random(link, air.loss(Way::Back));
            self.fail_in_outages(&[link], &format!("{name}/air"), air.outages.as_deref());
            if let Some(medium) = self.links.medium_of(cells[cell].air) {
                let rng = self.streams.named(&format!("{name}/medium/{}", spec.name));
                self.links.join(link, medium, Role::Host, rng);
            }
            uplinks.insert(CellId(cell as u32), link);
        }
        let gaps = || self.streams.named(&format!("{}/gap", spec.name));
        let plan = self.scenario.radio.plan(spec.stays(), Some(&gaps)).unwrap_or_default();
        let (uplinks, measuring) = ((uplinks, self.scenario.radio.uplink()), self.measuring(spec, cells));
        let drops_duplicates = self.scenario.radio.duplicates() == Duplicates::Drop;
        let reception = self.scenario.radio.roaming().map(|_| Box::default());
        Mobile::new((plan, visits), uplinks, (measuring, reception), drops_duplicates)
    }

    /// Gives each cell with a scheduler its bearers; their names in records, which come behind those of the links, and their
    /// links.
    fn bearers(&mut self, cells: &[Cell]) -> Vec<(String, LinkId)> {
        let mut names = Vec::new();
        for cell in cells {
            let spec = &self.scenario.cells[&cell.name];
            let Some(scheduler) = &spec.scheduler else { continue };
            let air = format!("{}/air", cell.name);
            let rate = spec.rate.mean(Way::There);
            let shape = (rate, spec.delay.mean(Way::There));
            let queue = self.queue(&air, &spec.queue, shape, self.is_recorded(&air, true));
            let common = BearerQueue { id: cell.air, rate, queue };
            let (mut shares, mut hosts) = (vec![BearerShare { weight: 1.0, rate }], Vec::new());
            let enter = |host: &&HostSpec| self.scenario.cells_of(host).contains(&cell.name.as_str());
            for host in self.scenario.hosts.iter().filter(enter) {
                let addr = self.nodes[self.ids[host.name.as_str()]].addr;
                let id = LinkId((self.links.len() + names.len()) as u32);
                let bearer = spec.bearer_of(&host.name);
                let share = BearerShare { weight: bearer.weight, rate: bearer.rate.unwrap_or(rate) };
                names.push((format!("{air}/{}", host.name), cell.air));
                let name = &names[names.len() - 1].0;
                let is_recorded = self.is_recorded(name, true);
                let queue = self.queue(name, &bearer.queue, (share.rate, shape.1), is_recorded);
                hosts.push((addr, BearerQueue { id, rate: share.rate, queue }));
                shares.push(share);
            }
            let bearers = Bearers::new(CellScheduler::new(scheduler, &shares), common, hosts);
            self.links.set_queue(cell.air, TxQueue::Bearers(Box::new(bearers)));
        }
        names
    }

    /// A queue at a link or bearer of this rate and delay.
    fn queue(
        &self,
        name: &str,
        spec: &QueueSpec,
        (rate, delay): (Rate, Duration),
        is_recorded: bool,
    ) -> Queue {
        let mut qdisc = Qdisc::new(spec, self.streams.named(&format!("{name}/{}", spec.stream())));
        qdisc.attach(rate, delay);
        Queue::new(qdisc, is_recorded)
    }

    fn measuring(&self, host: &HostSpec, cells: &[Cell]) -> Option<Measuring> {
        let spec = self.scenario.radio.measurement()?;
        let air = |cell: &Cell| &self.scenario.cells[&cell.name];
        let offsets = cells.iter().map(|cell| air(cell).individual_offset_db).collect();
        let sites = cells.iter().map(|cell| air(cell).transmitter.as_ref().map(|each| each.position_m));
        let meter = Meter::new(spec.period, spec.t310, spec.audible_dbm, offsets)
            .with_counts(spec.n310, spec.n311)
            .with_sites(sites.collect());
        let signal = match spec.signal {
            SignalSpec::Schedule => {
                let shape = (spec.peak_dbm, spec.slope_db_per_s);
                let number = |name: &str| number_of(name, cells);
                Signal::Schedule(Schedule::new(shape, cells.len(), host.stays(), number))
            }
            SignalSpec::Positions => {
                let stream =
                    |cell: &Cell| self.streams.named(&format!("{}/{}/shadowing", host.name, cell.name));
                let transmitter = |cell| air(cell).transmitter.clone().map(|each| (each, stream(cell)));
                let transmitters = cells.iter().map(transmitter).collect();
                Signal::Positions(Positions::new(
                    spec.path_loss.clone(),
                    host.trajectory.clone()?,
                    transmitters,
                ))
            }
        };
        Some(Measuring { signal, meter, period: spec.period })
    }

    /// The requests of base stations to their hosts.
    fn requests(&self, wifi: &Wifi, cells: &[Cell]) -> Vec<Request> {
        let number = |name: &String| CellId(number_of(name, cells) as u32);
        let candidates = |spec: &Transition| match spec.candidates.as_slice() {
            [] => (0..cells.len() as u32).map(CellId).filter(|&cell| cell != number(&spec.cell)).collect(),
            named => named.iter().map(number).collect(),
        };
        let request = |spec: &Transition| Request {
            cell: number(&spec.cell),
            asks_at: Some(Time::ZERO + spec.at),
            ends_at: spec.disassociates_after.map(|after| Time::ZERO + spec.at + after),
            hosts: spec.hosts.iter().map(|host| self.ids[host.as_str()]).collect(),
            candidates: candidates(spec),
            asked: Vec::new(),
        };
        wifi.transitions.iter().map(request).collect()
    }

    fn flows(&self) -> Vec<Flow> {
        let specs = &self.scenario.flows;
        let app =
            |spec: &FlowSpec| App::new(&spec.app, &mut self.streams.named(&format!("{}/app", spec.name)));
        let apps: Vec<App> = specs.iter().map(app).collect();
        let partners = partners(specs);
        let mut flows: Vec<Flow> = Vec::with_capacity(specs.len());
        for ((spec, app), phase) in specs.iter().zip(apps).zip(self.clock_phases()) {
            let flow = self.flow(spec, app, phase, flows.last());
            flows.push(flow);
        }
        for (flow, partner) in flows.iter_mut().zip(partners) {
            flow.units = Units::of(&flow.app, partner);
        }
        flows
    }

    /// Phase of the clock of each flow's sender in its ticks, where ns-2's stream gives it.
    fn clock_phases(&self) -> Vec<Option<f64>> {
        let specs = &self.scenario.flows;
        let Some(mut shared) = self.streams.shared() else { return vec![None; specs.len()] };
        let agent = |spec: &FlowSpec| {
            let resets = spec.transport.ns2_resets(self.scenario.profiles());
            ns2::Agent { node: self.ids[spec.path[0].as_str()].0, resets }
        };
        let agents: Vec<ns2::Agent> = specs.iter().map(agent).collect();
        let phases = ns2::clock_phases(&mut shared, self.nodes.len() as u32, &agents);
        phases.into_iter().map(Some).collect()
    }

    fn flow(&self, spec: &FlowSpec, app: App, clock_phase: Option<f64>, previous: Option<&Flow>) -> Flow {
        let [from, to] = spec.path.each_ref().map(|end| self.nodes[self.ids[end.as_str()]].is_host());
        let setting = Setting {
            flow: &spec.name,
            profiles: self.scenario.profiles(),
            streams: &self.streams,
            clock_phase,
            is_opened: spec.app.asks(),
            uploads: from && !to,
            previous: previous.map(|flow| &flow.transport),
        };
        let transport = spec.transport.ends(&setting).unwrap_or_default();
        let end = |name: &String| {
            let node = self.ids[name.as_str()];
            (node, self.nodes[node].addr)
        };
        let ends = spec.path.each_ref().map(end);
        let mut flow = Flow::new(spec.name.clone(), ends, app, transport);
        flow.dscp = spec.dscp;
        flow
    }

    /// The flows whose senders are notified of new paths.
    fn informed(&self) -> Vec<Informed> {
        let informed = |(flow, spec): (u32, &FlowSpec)| {
            let notice = spec.path_change.as_deref()?.clone();
            let rng = self.streams.named(&format!("{}/path-change", spec.name));
            let ends = spec.path.each_ref().map(|end| self.ids[end.as_str()]);
            let host = ends.into_iter().rev().find(|&end| self.nodes[end].is_host())?;
            Some(Informed { flow, spec: notice, rng, host })
        };
        (0..).zip(&self.scenario.flows).filter_map(informed).collect()
    }

    /// The base stations of the cells of a flow's host help the flow, if it asks for that.
    fn help(&mut self, cells: &[Cell]) {
        let scenario = self.scenario;
        for (flow, spec) in (0..).map(FlowId).zip(&scenario.flows) {
            let receiver = scenario.hosts.iter().find(|host| host.name == spec.path[1]);
            let Some((params, host)) = spec.snoop.as_deref().zip(receiver) else { continue };
            let addr = self.nodes[self.ids[host.name.as_str()]].addr;
            for name in scenario.cells_of(host) {
                let cell = &cells[number_of(name, cells)];
                self.links.help(cell.air, (flow, addr), params);
                self.nodes[cell.base_station].helps = true;
            }
        }
    }

    fn faults(&self) -> Vec<Fault> {
        let faults = self.scenario.faults.iter().map(|spec| Fault {
            message: spec.message.clone(),
            host: spec.host.as_ref().map(|host| self.nodes[self.ids[host.as_str()]].addr),
            occurrences: spec.occurrences.clone(),
            delay: spec.delay,
            duplicate: spec.duplicate,
            seen: 0,
        });
        faults.collect()
    }

    fn finish(mut self, cells: Vec<Cell>, others: &[&Scenario], capture: Option<&[String]>) -> Shared {
        let bearers = self.bearers(&cells);
        let scenario = self.scenario;
        let (flows, informed) = (self.flows(), self.informed());
        let faults = self.faults();
        let is_host = self.mobiles.iter().map(Option::is_some);
        let server_of = |wifi: &Wifi| wifi.security.server.as_deref().map(|server| self.ids[server]);
        let server = scenario.radio.roaming().and_then(server_of);
        let requests = scenario.radio.roaming().map(|wifi| self.requests(wifi, &cells)).unwrap_or_default();
        let second = scenario.hosts.iter().filter_map(|host| host.stays().get(1));
        let second = second.map(|stay| Time::ZERO + stay.at.saturating_sub(scenario.radio.overlap()));
        let second_visit = second.chain(requests.iter().filter_map(|request| request.asks_at)).min();
        let stations = Stations::new(scenario.radio.roaming(), server, requests, is_host);
        let mut cells = Cells::new(cells, self.mobiles, &scenario.radio);
        let setting = install::install(scenario, (&mut self.nodes, &mut cells), (&self.ids, &self.streams));
        let mut cx = Context::default();
        cx.probes.mark = Some(setting.mark);
        cx.probes.forwarded = vec![0; self.links.len()];
        cx.probes.traced = self.draw.trace;
        cx.probes.wanted = self.wanted;
        if self.wanted.causes {
            cx.probes.causes.begin();
        }
        cx.probes.losses = vec![0; flows.len()];
        cx.probes.lost_acks = vec![0; flows.len()];
        self.links.begin_steps(&mut cx);
        schedule_changes(&mut cx, &self.links);
        cells.start(&mut cx);
        let mut flows = Flows::new(flows, informed);
        flows.start(cells.notices(), &mut cx);
        let mut agents = Agents::new(faults, setting.predictions);
        let alternative = |(place, other): (usize, &&Scenario)| {
            let names = (&self.ids, &self.streams);
            install::alternative(other, scenario, &self.nodes, names).map(|alternative| (place, alternative))
        };
        let (alternatives, installed): (Vec<usize>, Vec<Alternative>) =
            others.iter().enumerate().filter_map(alternative).unzip();
        let rules = Rules {
            tunnel_ecn: scenario.network.tunnel_ecn,
            policer: policer(scenario.network.foreign_marks, setting.mark),
        };
        let links = (self.links, bearers, self.routes);
        let mut network = Network::new(links, self.nodes, cells, (setting.domains, setting.bearers), rules);
        for alternative in installed {
            agents.share_beginning(alternative, &mut network);
        }
        agents.start(&mut network, &mut cx);
        network.start_beacons(&mut cx);
        let names = names(&network, &flows);
        if let Some(places) = capture {
            cx.capture = Some(Box::new(Capture::new(places, &names, flows.iter().map(Flow::headers))));
            cx.probes.traced = Some(u64::MAX);
        }
        network.mark_special(&cx);
        let planes = Planes { cx, network, agents };
        let size = network_part(&NetworkSize::of(scenario));
        let mut world = World { flows, planes, stations, names, events: 0, rare: None, packet_hops: 0, size };
        world.wlan().plan_requests();
        Shared { world, alternatives, second_visit }
    }
}

fn names(network: &Network, flows: &Flows) -> Names {
    let nodes = || (0..network.nodes()).map(NodeId);
    Names {
        nodes: nodes().map(|node| network.name(node).to_owned()).collect(),
        links: network.queue_names(),
        flows: flows.iter().map(|flow| flow.name.to_string()).chain([SIGNALLING.to_owned()]).collect(),
        addresses: nodes().map(|node| (network.address(node), node)).collect(),
    }
}

/// Of each flow the one that goes the other way, if one asks and the other answers.
fn partners(specs: &[FlowSpec]) -> Vec<Option<u32>> {
    let mut partners = vec![None; specs.len()];
    let asking = specs.iter().zip(0..).filter(|(spec, _)| spec.app.asks());
    let places: BTreeMap<&str, u32> = asking.map(|(spec, place)| (spec.name.as_str(), place)).collect();
    for (spec, place) in specs.iter().zip(0..) {
        if let AppSpec::Requests(params) = &spec.app
            && let Some(&answering) = places.get(params.of.as_str())
        {
            partners[place as usize] = Some(answering);
            partners[answering as usize] = Some(place);
        }
    }
    partners
}

fn policer(marks: ForeignMarks, mark: Dscp) -> Option<Policer> {
    let drop = match marks {
        ForeignMarks::Honour => return None,
        ForeignMarks::Clear => false,
        ForeignMarks::Drop => true,
    };
    Some(Policer { mark, drop })
}

/// The number of the cell of this name. Cells are in the order of their names.
fn number_of(name: &str, cells: &[Cell]) -> usize {
    cells.binary_search_by(|cell| cell.name.as_str().cmp(name)).unwrap_or_default()
}

fn schedule_changes(cx: &mut Context, links: &Links) {
    for (id, link) in links.iter().enumerate() {
        for (index, change) in link.changes.iter().enumerate() {
            let event = Event::LinkChange { link: LinkId(id as u32), index: index as u32 };
            cx.scheduler.push(change.at, event);
        }
    }
}
