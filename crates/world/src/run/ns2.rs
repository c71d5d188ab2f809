//! The start of a run of ns-2: the order in which its TCP agents draw from the single stream of random numbers.
//!
//! At each reset an agent draws the phase of its clock within a tick (`boot_time_`): when it is made, and
//! again when the run begins, node by node. Only the last draw counts. ns-2 keeps its nodes in a Tcl array,
//! and Tcl lists that in the order of its hash table.
//!
//! ASSUMPTION: start times with `start_within` are drawn before all of this, flow by flow. In a script of ns-2 the
//! author chooses the order.

use roamlab_engine::Rng;

/// A TCP agent as ns-2 resets it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Agent {
    /// The number of its node, from 0 in the order in which nodes were made.
    pub node: u32,
    /// How often it is reset while it is made: Vegas twice, others once; 0 for an agent without a clock.
    pub resets: u32,
}

/// Phase of the clock of each agent when the run begins, in ticks from 0 to 1, drawn from `rng` as ns-2 draws
/// it in a network of `nodes` nodes. `agents` are in the order in which they were made.
pub fn clock_phases(rng: &mut Rng, nodes: u32, agents: &[Agent]) -> Vec<f64> {
    let while_made = agents.iter().map(|agent| agent.resets).sum();
    (0..while_made).for_each(|_| {
        rng.uniform();
    });
    let mut phases = vec![0.0; agents.len()];
    for node in node_order(nodes) {
        for (phase, _) in
            phases.iter_mut().zip(agents).filter(|(_, agent)| agent.node == node && agent.resets > 0)
        {
            *phase = rng.uniform();
        }
    }
    phases
}

/// The numbers below `nodes` in the order of Tcl's `array names`.
///
/// A table of chains: a new entry goes to the head of its chain; with three entries per chain the table grows
/// fourfold, and the chains are poured over in their order.
pub fn node_order(nodes: u32) -> Vec<u32> {
    let mut chains: Vec<Vec<u32>> = vec![Vec::new(); 4];
    // The heads are at the ends here.
    let chain_of = |node: u32, chains: usize| hash(&node.to_string()) as usize & (chains - 1);
    for node in 0..nodes {
        let count = chains.len();
        chains[chain_of(node, count)].push(node);
        if node as usize + 1 == 3 * count {
            let mut larger = vec![Vec::new(); 4 * count];
            for node in chains.iter().flat_map(|chain| chain.iter().rev()) {
                larger[chain_of(*node, 4 * count)].push(*node);
            }
            chains = larger;
        }
    }
    chains.into_iter().flat_map(|chain| chain.into_iter().rev()).collect()
}

/// Tcl's hash of a string: times nine plus the next byte.
fn hash(key: &str) -> u32 {
    key.bytes().fold(0, |hash: u32, byte| hash.wrapping_mul(9).wrapping_add(u32::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use roamlab_engine::{RandomNumbers, Streams};

    /// `node_order` of the recordings, and `array names` of Tcl 8.6 for twice that table.
    #[test]
    fn nodes_come_in_the_order_of_tcl() {
        assert_eq!(node_order(8), [4, 0, 5, 1, 6, 2, 7, 3]);
        assert_eq!(node_order(11), [8, 4, 0, 10, 9, 5, 1, 6, 2, 7, 3]);
        assert_eq!(node_order(20), [17, 0, 18, 1, 19, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
        let large: Vec<u32> = include_str!("ns2/array_names_60.txt")
            .split_whitespace()
            .map(|name| name.parse().expect("a number"))
            .collect();
        assert_eq!(node_order(60), large);
    }

    #[test]
    fn the_last_draw_of_each_agent_counts() {
        let rng = || Streams::new(RandomNumbers::Ns2, 1, 0).named("");
        let mut twin = rng();
        let draws: Vec<f64> = (0..8).map(|_| twin.uniform()).collect();
        let agent = |node, resets| Agent { node, resets };
        assert_eq!(clock_phases(&mut rng(), 4, &[agent(0, 1)]), draws[1..2]);
        assert_eq!(clock_phases(&mut rng(), 4, &[agent(0, 2)]), draws[2..3]);
        // Nodes in the order 4 0 5 1 6 2 7 3.
        let phases = clock_phases(&mut rng(), 8, &[agent(2, 1), agent(4, 1), agent(6, 1)]);
        assert_eq!(phases, [draws[5], draws[3], draws[4]]);
        let with_udp = clock_phases(&mut rng(), 8, &[agent(2, 1), agent(4, 0), agent(6, 1)]);
        assert_eq!(with_udp, [draws[3], 0.0, draws[2]]);
    }
}
