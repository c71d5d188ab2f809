//! `dumbbell NETWORK FLOWS SECONDS [totals|flows|packets [whole]] [ahead|blind]`: one run, its totals as a line of JSON.
//! The caller takes the time. Without arguments it names the networks. Pieces of long tables are released as they come;
//! with `whole` they stay in memory. With `ahead` the run prefetches what the next events read, with `blind` it does not;
//! without either the size of the network decides.

use roamlab_benches::{Network, Recorded, Totals};
use roamlab_scenario::Scenario;
use roamlab_world::{RunOptions, Stream};
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match measure(&words) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn measure(words: &[String]) -> Result<String, String> {
    let usage = || {
        "usage: dumbbell red|gigabit|gigabit-cubic|gigabit-bbr|gigabit-codel|gigabit-fq-codel|linux-cubic|\
         linux-bbr|quic|star|ipf FLOWS SECONDS [totals|flows|packets [whole]] [ahead|blind]"
            .to_owned()
    };
    let (words, look_ahead) = match words {
        [words @ .., last] if last == "ahead" => (words, Some(true)),
        [words @ .., last] if last == "blind" => (words, Some(false)),
        words => (words, None),
    };
    let (words, is_whole) = match words {
        [words @ .., last] if last == "whole" => (words, true),
        words => (words, false),
    };
    let (words, recorded) = match words {
        [words @ .., recorded] if words.len() == 3 => (words, recorded.as_str()),
        words => (words, "totals"),
    };
    let [network, flows, seconds] = words else { return Err(usage()) };
    let recorded = Recorded::named(recorded).ok_or_else(usage)?;
    let network = Network::named(network).ok_or_else(usage)?;
    let flows = flows.parse().map_err(|_| usage())?;
    let seconds = seconds.parse().map_err(|_| usage())?;
    let text = network.scenario(flows, seconds, recorded);
    let scenario = Scenario::parse(&text, "dumbbell").map_err(|error| error.to_string())?;
    let wanted = network.wanted();
    let stream = (!is_whole).then_some(Stream { rows: 1 << 14, take: &|_| () });
    let options = RunOptions { tables: wanted.as_deref(), stream, look_ahead, ..RunOptions::default() };
    let Totals { sent, delivered, packet_hops, events } = Totals::with(&scenario, &options)?;
    let peak = peak_kib().map_or_else(|| "null".to_owned(), |kib| kib.to_string());
    Ok(format!(
        "{{\"sent\": {sent}, \"delivered\": {delivered}, \"packet_hops\": {packet_hops}, \"events\": {events}, \
         \"peak_kib\": {peak}}}"
    ))
}

/// The most memory of this process, where the system reports it (Linux).
#[expect(clippy::disallowed_methods, reason = "a benchmark measures the machine, not the model")]
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}
