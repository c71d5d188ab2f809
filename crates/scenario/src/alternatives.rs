//! Scenarios whose runs may share their beginning.

use crate::schema::Scenario;
use roamlab_engine::RandomNumbers;

/// True if two scenarios may share a beginning: they have the same kinds of protocols, and all else is equal.
pub fn are_alternatives(one: &Scenario, other: &Scenario) -> bool {
    let Scenario {
        run,
        network,
        tcp_profiles,
        links,
        topology,
        cells,
        radio,
        mobility: _,
        hosts,
        flows,
        faults,
        record,
        written: _,
        origins: _,
    } = one;
    let kinds = |scenario: &Scenario| -> Vec<_> {
        scenario.protocols().map(|(_, spec)| std::mem::discriminant(spec)).collect()
    };
    // Where all components share one stream of random numbers, a clone would draw from that of its original.
    // A connection of quinn or of a kernel has no clone.
    run.random_numbers == RandomNumbers::Chacha
        && flows.iter().all(|flow| flow.transport.can_branch())
        && one.mobility.is_some()
        && kinds(one) == kinds(other)
        && *run == other.run
        && *network == other.network
        && *tcp_profiles == other.tcp_profiles
        && *radio == other.radio
        && *record == other.record
        && *cells == other.cells
        && *hosts == other.hosts
        && *flows == other.flows
        && *links == other.links
        && *topology == other.topology
        && *faults == other.faults
}
