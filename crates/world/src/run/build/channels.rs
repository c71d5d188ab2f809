//! Links whose rate, delay and losses are drawn by a channel.

use super::Builder;
use roamlab_engine::Duration;
use roamlab_radio::channel::{Drawn, Setting};
use roamlab_radio::{AtEnd, FileTransmitter, LossProcess, Order, Player, SteppedTransmitter};
use roamlab_record::ids::LinkId;
use roamlab_scenario::{ChannelRate, HostSpec, LinkSpec, Way};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The channels of cells as they are drawn, by cell and direction: all hosts of a cell have the same.
pub(super) type OfCells<'a> = BTreeMap<(&'a str, bool), Drawn>;

impl<'a> Builder<'a> {
    /// Makes a wired link follow its channel, if it has one.
    pub(super) fn follow_channel_of_link(&mut self, spec: &LinkSpec, id: LinkId, way: Way) {
        let Some(rate) = spec.rate.channel() else { return };
        let drawn = self.draw_channel((rate, way), &spec.between.join("->"), &[]);
        self.follow_channel(id, drawn);
    }

    /// Makes a link of a cell follow the cell's channel, if it has one.
    pub(super) fn follow_channel_of_cell(&mut self, cell: &'a str, id: LinkId, way: Way) {
        let Some(rate) = self.scenario.cells[cell].rate.channel() else { return };
        let key = (cell, way == Way::Back);
        if !self.channels.contains_key(&key) {
            // Only one host visits a cell whose channel depends on the moves of hosts.
            let moves = moves_at(cell, &self.scenario.hosts);
            let drawn = self.draw_channel((rate, way), &format!("{cell}/air"), &moves);
            self.channels.insert(key, drawn);
        }
        self.follow_channel(id, self.channels[&key].clone());
    }

    /// A channel of this run. `name` is that of the stream.
    fn draw_channel(&self, (rate, way): (&ChannelRate, Way), name: &str, moves: &[Duration]) -> Drawn {
        let back = way == Way::Back;
        let part = if back && !rate.is_shared() { "/back" } else { "" };
        let rng = self.streams.named(&format!("{name}/channel{part}"));
        rate.of(way).draw(&Setting { back, duration: self.scenario.run.duration, moves }, rng)
    }

    fn follow_channel(&mut self, id: LinkId, drawn: Drawn) {
        let transmitter =
            SteppedTransmitter::new(Arc::clone(&drawn.rates), AtEnd::Hold).growing(drawn.growth);
        self.links.record_of(id, FileTransmitter::Table(transmitter));
        self.links.follow_rates(id, Player::new(drawn.rates, Duration::ZERO, AtEnd::Hold));
        if let Some(delays) = drawn.delays {
            let delays = Arc::new(delays.plus(self.links.delay(id)));
            self.links.follow_delays(id, Player::new(delays, Duration::ZERO, AtEnd::Hold), Order::Kept);
        }
        if let Some(losses) = drawn.losses {
            let rng = self.streams.named(&format!("{}/loss", self.links[id].name));
            self.links.lose_at_random(id, LossProcess::over_time(losses, rng));
        }
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
