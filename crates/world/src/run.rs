//! One run: it takes a scenario, a seed and a replication number and returns tables.

pub(crate) mod branch;
pub(crate) mod build;
mod install;
mod look_ahead;
mod ns2;
pub mod options;
pub(crate) mod simulation;
mod streaming;
pub(crate) mod world;

use crate::context::Context;
use crate::run::build::build;
use crate::run::options::{Replication, RunOptions, check_memory, network_part};
use crate::run::world::{Failure, World};
use roamlab_engine::Time;
use roamlab_packet::DropReason;
use roamlab_record::ids::NodeId;
use roamlab_record::totals;
use roamlab_record::{Column, Selection, Table};
use roamlab_scenario::{NetworkSize, Scenario};

/// Runs a checked scenario to its end, or until `options` ends it: the tables then end there.
///
/// # Errors
/// The law that the run violated, or that it would have taken too much memory. No result comes with it.
pub fn run(scenario: &Scenario, draw: Replication, options: &RunOptions<'_>) -> Result<Vec<Table>, Failure> {
    if let Some(limit) = options.memory {
        check_memory([network_part(&NetworkSize::of(scenario))], 0, limit, Time::ZERO)?;
    }
    let mut world = build(scenario, draw, options);
    let end = Time::ZERO + scenario.run.duration;
    world.run(last_instant(end), options)?;
    Ok(conclude(world, end, options))
}

/// The last instant of a run that ends at `end`: what is due then does not happen any more.
pub(crate) fn last_instant(end: Time) -> Time {
    Time::from_nanos(end.as_nanos().saturating_sub(1))
}

/// The tables of a run that ends now, of which those that `options` wants.
pub(crate) fn conclude(mut world: World, end: Time, options: &RunOptions<'_>) -> Vec<Table> {
    world.stream_record(options);
    world.flows.judge_timeouts(&mut world.planes.cx, &world.names);
    let long = world.long_tables(options);
    let mut tables = tables(world, end, long, options.selection());
    tables.retain(|table| options.selection().wants(table.name));
    tables
}

fn tables(world: World, end: Time, long: Vec<Table>, selection: Selection<'_>) -> Vec<Table> {
    let totals = [
        flow_totals(&world, end).into_table(selection),
        world.planes.network.link_totals(&world.planes.cx).into_table(selection),
        census(&world).into_table(selection),
    ];
    let World { planes, names, .. } = world;
    let Context { probes, capture, .. } = planes.cx;
    let captured = capture.into_iter().flat_map(|capture| capture.into_tables(&names));
    let short = probes.into_short_tables(&names, selection);
    totals.into_iter().chain(long).chain(short).chain(captured).collect()
}

fn flow_totals(world: &World, end: Time) -> totals::Flows {
    let flows = &world.flows;
    let count = |value: &dyn Fn(&crate::endpoints::flow::FlowStats) -> u64| {
        Column::U64(flows.iter().map(|flow| value(&flow.stats)).collect())
    };
    let node = |id: NodeId| world.names.nodes[id.0 as usize].as_str();
    let goodput = |flow: &crate::endpoints::flow::Flow| {
        let span = end.since(flow.stats.started.unwrap_or(end)).as_secs_f64();
        if span > 0.0 { flow.stats.delivered_bytes as f64 * 8.0 / span } else { 0.0 }
    };
    let time = |time: Option<Time>| time.map_or(-1, |time| time.as_nanos() as i64);
    totals::Flows {
        flow: Column::unique(flows.iter().map(|flow| flow.name.to_string())),
        source: Column::words(flows.iter().map(|flow| node(flow.src))),
        destination: Column::words(flows.iter().map(|flow| node(flow.dst))),
        kind: Column::words(flows.iter().map(|flow| flow.kind())),
        sent_pkts: count(&|stats| stats.sent),
        retransmitted_pkts: count(&|stats| stats.retransmitted),
        delivered_pkts: count(&|stats| stats.delivered),
        delivered_bytes: count(&|stats| stats.delivered_bytes),
        duplicate_pkts: count(&|stats| stats.duplicates),
        reordered_pkts: count(&|stats| stats.reordered),
        reordering_extent_pkts: count(&|stats| u64::from(stats.reordering_extent)),
        dropped_pkts: Column::U64(world.planes.cx.probes.losses.clone()),
        dropped_ack_pkts: Column::U64(world.planes.cx.probes.lost_acks.clone()),
        timeouts: count(&|stats| stats.timeouts),
        spurious_timeouts: Column::U64(flows.iter().map(|flow| flow.timeouts.spurious.into()).collect()),
        fast_retransmits: count(&|stats| stats.fast_retransmits),
        goodput_bps: Column::F64(flows.iter().map(goodput).collect()),
        start_ns: Column::I64(flows.iter().map(|flow| time(flow.stats.started)).collect()),
        finish_ns: Column::I64(flows.iter().map(|flow| time(flow.stats.last_delivery)).collect()),
        completed_ns: Column::I64(flows.iter().map(|flow| time(flow.completed())).collect()),
    }
}

fn census(world: &World) -> totals::Census {
    let census = world.planes.cx.pool.census();
    let mut rows = vec![
        ("events", world.events),
        ("packet-hops", world.packet_hops),
        ("created", census.created),
        ("duplicated", census.duplicated),
        ("delivered", census.delivered),
        ("inside", census.inside()),
    ];
    rows.push(("odd-tunnel-ecn", world.planes.cx.probes.odd_ecn));
    rows.extend(DropReason::ALL.iter().map(|&reason| (reason.name(), census.dropped[reason as usize])));
    totals::Census {
        name: Column::words(rows.iter().map(|(name, _)| *name)),
        value: Column::U64(rows.iter().map(|(_, value)| *value).collect()),
    }
}
