//! Links whose rate, delay and losses are drawn by a channel.

use super::Builder;
use roamlab_engine::Duration;
use roamlab_radio::{AtEnd, FileTransmitter, LossProcess, Order, Player, SteppedTransmitter, channel};
use roamlab_record::ids::LinkId;
use roamlab_scenario::{HostSpec, LinkRate, Way};
use std::sync::Arc;

impl Builder<'_> {
    /// Makes a link of a cell follow the cell's channel, if it has one. The channel depends on the moves of these hosts.
    pub(super) fn follow_channel_of(&mut self, cell: &str, id: LinkId, way: Way, hosts: &[HostSpec]) {
        let rate = &self.scenario.cells[cell].rate;
        self.follow_channel(id, rate, way, &format!("{cell}/air"), &moves_at(cell, hosts));
    }

    /// Makes a link follow its channel, if it has one. `name` is that of the stream.
    pub(super) fn follow_channel(
        &mut self,
        id: LinkId,
        rate: &LinkRate,
        way: Way,
        name: &str,
        moves: &[Duration],
    ) {
        let Some(rate) = rate.channel() else { return };
        let back = way == Way::Back;
        let part = if back && !rate.is_shared() { "/back" } else { "" };
        let rng = self.streams.named(&format!("{name}/channel{part}"));
        let setting = channel::Setting { back, duration: self.scenario.run.duration, moves };
        let drawn = rate.of(way).draw(&setting, rng);
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
