//! Whole runs, in packet-hops a second, with what they allocate.

use divan::counter::ItemsCount;
use divan::{AllocProfiler, Bencher};
use roamlab_benches::{Network, Recorded, Totals};
use roamlab_scenario::Scenario;

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

#[divan::bench(args = [3, 9], sample_count = 7, sample_size = 1)]
fn red(bencher: Bencher, flows: u32) {
    measure(bencher, Network::Red, flows, 300.0);
}

#[divan::bench(args = [10, 100, 1000], sample_count = 5, sample_size = 1)]
fn gigabit(bencher: Bencher, flows: u32) {
    measure(bencher, Network::Gigabit, flows, 5.0);
}

fn measure(bencher: Bencher, network: Network, flows: u32, seconds: f64) {
    let scenario = match Scenario::parse(&network.scenario(flows, seconds, Recorded::Totals), "bench") {
        Ok(scenario) => scenario,
        Err(error) => return eprintln!("{error}"),
    };
    let wanted = network.wanted();
    let run = || Totals::of(&scenario, wanted.as_deref());
    let Ok(totals) = run() else { return };
    bencher.counter(ItemsCount::new(totals.packet_hops)).bench_local(run);
}
