//! Channels: their parameters, and what they exclude.

use crate::problem::{Problem, quoted_key};
use crate::schema::{CellSpec, ChannelRate, LinkSpec, Scenario, Way};
use roamlab_engine::RandomNumbers;

/// Changes of all channels of a run at most: their series take some 32 bytes for each.
const MOST_CHANGES: u64 = 20_000_000;

/// Checks the channels of links and cells.
pub fn check(scenario: &Scenario) -> Result<(), Problem> {
    let mut changes = 0;
    for (index, link) in scenario.links.iter().enumerate() {
        let Some(rate) = link.rate.channel() else { continue };
        let at = |part: &str| format!("links[{index}].{part}");
        check_channel(scenario, rate, at)?;
        check_link(link, rate, at)?;
        changes += changes_of(scenario, rate, 1);
        check_memory(changes, at)?;
    }
    for (name, cell) in &scenario.cells {
        let Some(rate) = cell.rate.channel() else { continue };
        let at = |part: &str| format!("cells.{}.{part}", quoted_key(name));
        check_channel(scenario, rate, at)?;
        let entering = scenario.hosts.iter().filter(|host| scenario.cells_of(host).contains(&name.as_str()));
        let hosts = entering.count() as u64;
        check_cell(scenario, cell, rate, hosts, at)?;
        changes += changes_of(scenario, rate, hosts);
        check_memory(changes, at)?;
    }
    Ok(())
}

/// Changes of a link, and of `back` links in the other direction.
fn changes_of(scenario: &Scenario, rate: &ChannelRate, back: u64) -> u64 {
    let [there, back_each] = [Way::There, Way::Back].map(|way| rate.of(way).changes(scenario.run.duration));
    there + back_each.saturating_mul(back)
}

fn check_memory(changes: u64, at: impl Fn(&str) -> String) -> Result<(), Problem> {
    if changes <= MOST_CHANGES {
        return Ok(());
    }
    let message =
        format!("expected at most {MOST_CHANGES} changes of all channels in a run, got {changes} up to here");
    Err(Problem::at(at("rate.channel"), message)
        .help("write a longer step, a shorter `run.duration`, or fewer links and hosts with a channel"))
}

fn check_channel(
    scenario: &Scenario,
    rate: &ChannelRate,
    at: impl Fn(&str) -> String,
) -> Result<(), Problem> {
    if scenario.run.random_numbers == RandomNumbers::Ns2 {
        let message = "expected no channel with the generator of ns-2: a channel is drawn before the run";
        let problem = Problem::at(at("rate.channel"), message);
        return Err(problem.help("write `random_numbers = \"chacha\"` in [run], or a file of rates"));
    }
    for (name, channel) in
        [("channel", Some(&rate.channel)), ("reverse_channel", rate.reverse_channel.as_ref())]
    {
        let Some(channel) = channel else { continue };
        if let Err((field, message)) = channel.check(scenario.run.duration) {
            return Err(Problem::from_text(at(&format!("rate.{name}.{field}")), &message));
        }
    }
    Ok(())
}

/// The channels of a link with the names of their fields, one for each direction.
fn each(rate: &ChannelRate) -> [(&'static str, Way); 2] {
    let back = if rate.reverse_channel.is_some() { "rate.reverse_channel" } else { "rate.channel" };
    [("rate.channel", Way::There), (back, Way::Back)]
}

fn check_link(link: &LinkSpec, rate: &ChannelRate, at: impl Fn(&str) -> String) -> Result<(), Problem> {
    for (field, way) in each(rate) {
        let channel = rate.of(way);
        if channel.moves().is_some_and(|moves| moves.between.is_none()) {
            let problem = Problem::at(at(&format!("{field}.moves")), "no host moves at a wired link");
            return Err(problem.help(
                "write the time from one move to the next, `between = { kind = \"measured\", table = \"pam25_interval\" }`, or remove `moves`",
            ));
        }
        if channel.loses() && link.loss(way).is_some() {
            let name = if way == Way::Back && link.reverse_loss.is_some() { "reverse_loss" } else { "loss" };
            return Err(Problem::at(at(name), "the channel of this link has its losses").help(LOSS));
        }
        if !channel.delays() {
            continue;
        }
        if link.recorded_delay(way).is_some() {
            return Err(
                Problem::at(at("delay"), "the channel of this link adds to a constant delay").help(DELAY)
            );
        }
        if let Some(number) =
            link.changes.iter().position(|change| change.delay.or(change.reverse_delay).is_some())
        {
            let name = if link.changes[number].delay.is_some() { "delay" } else { "reverse_delay" };
            let message = "the channel of this link sets its delay";
            return Err(Problem::at(at(&format!("changes[{number}].{name}")), message).help(DELAY));
        }
    }
    Ok(())
}

const LOSS: &str = "remove it, or write a channel without losses";
const DELAY: &str = "write one delay, for example \"20 ms\", or a channel that adds none";

fn check_cell(
    scenario: &Scenario,
    cell: &CellSpec,
    rate: &ChannelRate,
    hosts: u64,
    at: impl Fn(&str) -> String,
) -> Result<(), Problem> {
    for (field, way) in each(rate) {
        let channel = rate.of(way);
        if channel.moves().is_some_and(|moves| moves.between.is_none()) {
            let unknown = match () {
                () if scenario.radio.measurement().is_some() => {
                    Some("hosts that measure move when an agent decides it")
                }
                () if scenario.radio.roaming().is_some() => {
                    Some("stations of 802.11 move when they detect it")
                }
                () if hosts > 1 => Some("more than one host visits this cell, and all share its downlink"),
                () => None,
            };
            if let Some(why) = unknown {
                let problem = Problem::at(
                    at(&format!("{field}.moves")),
                    format!("{why}: the rate falls for no single host before its moves"),
                );
                return Err(
                    problem.help("remove `moves`, or write the time from one move to the next, `between`")
                );
            }
        }
        if channel.loses() && cell.loss(way).is_some() {
            let name = if way == Way::Back && cell.reverse_loss.is_some() { "reverse_loss" } else { "loss" };
            return Err(Problem::at(at(name), "the channel of this cell has its losses").help(LOSS));
        }
        if channel.delays() && cell.delay.recorded().is_some() {
            return Err(
                Problem::at(at("delay"), "the channel of this cell adds to a constant delay").help(DELAY)
            );
        }
    }
    Ok(())
}
