//! The networks that the Tcl files build.

use crate::golden::Params;
use roamlab_engine::{Bytes, Duration, Packets, RandomNumbers, Rate, Rng, Streams, Time};
use roamlab_qdisc::{QueueSpec, droptail, red};
use roamlab_transport::{RecoveryKind, TcpParams};
use roamlab_world::ns2::Agent;
use std::ops::Range;

/// Links and the flows across them.
#[derive(Clone)]
pub struct Plan {
    pub nodes: u32,
    pub links: Vec<LinkPlan>,
    /// The link whose queue is short and recorded.
    pub bottleneck: usize,
    pub flows: Vec<FlowPlan>,
    /// Ordinals, from 0, of the data packets lost in front of the bottleneck queue.
    pub forced_losses: Vec<u64>,
    /// Packets arriving at the far end of these links in this span are lost.
    pub outage: Option<([usize; 2], Range<Time>)>,
    /// Seconds.
    pub stop: f64,
    pub seed: u64,
}

/// One direction of a link.
#[derive(Clone)]
pub struct LinkPlan {
    pub rate: Rate,
    pub delay: Duration,
    pub queue: QueueSpec,
}

/// A flow: the number of its source's node, its start in seconds, and the links that its data and its ACKs take.
#[derive(Clone)]
pub struct FlowPlan {
    pub source: u32,
    pub start: f64,
    pub forward: Vec<usize>,
    pub backward: Vec<usize>,
}

fn link(mbps: u64, millis: u64) -> LinkPlan {
    LinkPlan {
        rate: Rate::from_bps(mbps * 1_000_000),
        delay: Duration::from_millis(millis),
        queue: QueueSpec::droptail(Packets(10_000)),
    }
}

impl Plan {
    /// What the Tcl file of `group` builds.
    pub fn new(group: &str, params: &Params) -> Plan {
        match group {
            "c" => Plan::chain([link(10, 2), link(10, 40), link(2, 2)], 2, params),
            "d" => Plan::red_dumbbell(params),
            "e" => Plan::lte(params),
            _ => Plan::chain([link(10, 2), link(2, 40), link(10, 2)], 1, params),
        }
    }

    /// A generator whose next number is the first one of the run.
    pub fn random_numbers(&self) -> Rng {
        Streams::new(RandomNumbers::Ns2, self.seed, 0).named("all")
    }

    /// The senders as ns-2 resets them.
    pub fn agents(&self, params: &TcpParams) -> Vec<Agent> {
        let resets = if params.recovery == RecoveryKind::Vegas { 2 } else { 1 };
        self.flows.iter().map(|flow| Agent { node: flow.source, resets }).collect()
    }

    /// One flow over three hops, the same in both directions but for the queue.
    fn chain(hops: [LinkPlan; 3], bottleneck: usize, params: &Params) -> Plan {
        let mut links = hops.to_vec();
        links.extend(hops.into_iter().rev());
        links[bottleneck].queue = params.queue();
        let begin = Time::ZERO + Duration::from_secs(10);
        let flow = FlowPlan { source: 0, start: 0.1, forward: vec![0, 1, 2], backward: vec![3, 4, 5] };
        Plan {
            nodes: 4,
            links,
            bottleneck,
            flows: vec![flow],
            forced_losses: params.drops.clone(),
            outage: params.gap.map(|gap| ([2, 3], begin..begin + gap)),
            ..Plan::empty(params)
        }
    }

    fn empty(params: &Params) -> Plan {
        Plan {
            nodes: 0,
            links: Vec::new(),
            bottleneck: 0,
            flows: Vec::new(),
            forced_losses: Vec::new(),
            outage: None,
            stop: params.stop,
            seed: params.seed,
        }
    }

    /// `d_red.tcl`: two routers, and for each flow a source before them and a sink behind them.
    fn red_dumbbell(params: &Params) -> Plan {
        let mut plan = Plan { nodes: 2, links: vec![link(2, 40), link(2, 40)], ..Plan::empty(params) };
        plan.links[0].queue = params.queue();
        for flow in 0..params.flows {
            plan.add_flow(flow, link(10, 1 + flow % 9), &[0], link(10, 2), &[1]);
        }
        plan
    }

    /// `e_lte.tcl`: three routers.
    fn lte(params: &Params) -> Plan {
        let mut plan = Plan { nodes: 3, links: vec![link(12, 2); 4], ..Plan::empty(params) };
        plan.links[0].queue = params.queue();
        for flow in 0..params.flows {
            plan.add_flow(flow, link(100, 2), &[0, 1], link(100, 2), &[2, 3]);
        }
        plan
    }

    fn add_flow(&mut self, number: u64, up: LinkPlan, there: &[usize], down: LinkPlan, back: &[usize]) {
        let first = self.links.len();
        self.links.extend([up.clone(), down.clone(), down, up]);
        let route = |from: usize, middle: &[usize]| [&[first + from], middle, &[first + from + 1]].concat();
        self.flows.push(FlowPlan {
            source: self.nodes,
            start: 0.1 + 0.1 * number as f64,
            forward: route(0, there),
            backward: route(2, back),
        });
        self.nodes += 2;
    }
}

impl Params {
    fn queue(&self) -> QueueSpec {
        let Some(red) = &self.red else {
            return QueueSpec::DropTail(droptail::Params {
                limit: Some(Packets(self.queue as u32)),
                limit_bytes: None,
                count_in_service: true,
            });
        };
        QueueSpec::Red(red::Params {
            limit: Packets(self.queue as u32),
            min_threshold: Packets(red.min),
            max_threshold: Packets(red.max),
            max_p: 1.0 / red.linterm,
            queue_weight: red.weight,
            gentle: red.gentle,
            mean_packet: Bytes(red.mean_packet),
            mark_ecn: red.mark,
            use_mark_p: red.use_mark_p,
            threshold_unit: red::Unit::Packets,
            probability_unit: red::Unit::Packets,
            ..red::Params::of(red::Rules::Ns2)
        })
    }
}
