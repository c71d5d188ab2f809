//! Links whose rate, delay and losses are drawn by a channel.

use crate::dataplane::link::Links;
use roamlab_engine::{Duration, Streams};
use roamlab_radio::channel::{Drawn, Setting};
use roamlab_radio::{AtEnd, FileTransmitter, LossProcess, Order, Player, SteppedTransmitter};
use roamlab_record::ids::LinkId;
use roamlab_scenario::{ChannelRate, HostSpec, LinkSpec, Scenario, Way};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The channels of a run.
pub(super) struct Channels<'a> {
    scenario: &'a Scenario,
    /// Those of cells, by cell and direction: all hosts of a cell have the same.
    of_cells: BTreeMap<(&'a str, bool), Drawn>,
}

impl<'a> Channels<'a> {
    pub(super) fn new(scenario: &'a Scenario) -> Channels<'a> {
        Channels { scenario, of_cells: BTreeMap::new() }
    }

    /// Makes a wired link follow its channel, if it has one.
    pub(super) fn follow_of_link(
        &self,
        spec: &LinkSpec,
        (id, way): (LinkId, Way),
        links: &mut Links,
        streams: &Streams,
    ) {
        let Some(rate) = spec.rate.channel() else { return };
        let drawn = self.draw((rate, way), &spec.between.join("->"), &[], streams);
        follow(drawn, id, links, streams);
    }

    /// Makes a link of a cell follow the cell's channel, if it has one.
    pub(super) fn follow_of_cell(
        &mut self,
        cell: &'a str,
        (id, way): (LinkId, Way),
        links: &mut Links,
        streams: &Streams,
    ) {
        let Some(rate) = self.scenario.cells[cell].rate.channel() else { return };
        let key = (cell, way == Way::Back);
        if !self.of_cells.contains_key(&key) {
            // Only one host visits a cell whose channel depends on the moves of hosts.
            let moves = moves_at(cell, &self.scenario.hosts);
            let drawn = self.draw((rate, way), &format!("{cell}/air"), &moves, streams);
            self.of_cells.insert(key, drawn);
        }
        follow(self.of_cells[&key].clone(), id, links, streams);
    }

    /// A channel of this run. `name` is that of the stream.
    fn draw(
        &self,
        (rate, way): (&ChannelRate, Way),
        name: &str,
        moves: &[Duration],
        streams: &Streams,
    ) -> Drawn {
        let back = way == Way::Back;
        let part = if back && !rate.is_shared() { "/back" } else { "" };
        let rng = streams.named(&format!("{name}/channel{part}"));
        rate.of(way).draw(&Setting { back, duration: self.scenario.run.duration, moves }, rng)
    }
}

fn follow(drawn: Drawn, id: LinkId, links: &mut Links, streams: &Streams) {
    let transmitter = SteppedTransmitter::new(Arc::clone(&drawn.rates), AtEnd::Hold).growing(drawn.growth);
    links.record_of(id, FileTransmitter::Table(transmitter));
    links.follow_rates(id, Player::new(drawn.rates, Duration::ZERO, AtEnd::Hold));
    if let Some(delays) = drawn.delays {
        let delays = Arc::new(delays.plus(links.delay(id)));
        links.follow_delays(id, Player::new(delays, Duration::ZERO, AtEnd::Hold), Order::Kept);
    }
    if let Some(losses) = drawn.losses {
        let rng = streams.named(&format!("{}/loss", links[id].name));
        links.lose_at_random(id, LossProcess::over_time(losses, rng));
    }
}

/// When hosts move to a cell or out of it, as far as that is known before the run.
fn moves_at(cell: &str, hosts: &[HostSpec]) -> Vec<Duration> {
    let of_host = |host: &HostSpec| {
        let pairs = host.stays().windows(2);
        let here = pairs.filter(|pair| pair.iter().any(|visit| visit.cell == cell));
        here.map(|pair| pair[1].at).collect::<Vec<_>>()
    };
    hosts.iter().flat_map(of_host).collect()
}
