//! Effects of files and random processes on links: rates and delays of recordings, losses and outages.

use super::Builder;
use roamlab_engine::Duration;
use roamlab_radio::{
    FileTransmitter, LossProcess, LossSpec, OutagePackets, OutageSpec, Outages, Player, RecordedTransmitter,
    SteppedTransmitter,
};
use roamlab_record::ids::LinkId;
use roamlab_scenario::{LinkRate, RecordedDelay, Way};
use std::sync::Arc;

impl Builder<'_> {
    /// Makes a link follow the files of its rate and delay, if it has any.
    pub(super) fn record_of(&mut self, id: LinkId, rate: &LinkRate, delay: Option<&RecordedDelay>, way: Way) {
        match rate {
            LinkRate::Constant(_) | LinkRate::Channel(_) => {}
            LinkRate::Recorded(rate) => {
                let trace = rate.file(way).content().map(Arc::clone);
                let transmitter = trace.map(RecordedTransmitter::new).map(FileTransmitter::Opportunities);
                transmitter.into_iter().for_each(|it| self.links.record_of(id, it));
            }
            LinkRate::Table(rate) => {
                let Some(series) = rate.file(way).content() else { return };
                let transmitter = SteppedTransmitter::new(Arc::clone(series), rate.at_end);
                self.links.record_of(id, FileTransmitter::Table(transmitter));
                let rates = Player::new(Arc::clone(series), Duration::ZERO, rate.at_end);
                self.links.follow_rates(id, rates);
            }
        }
        if let Some((delay, series)) = delay.and_then(|delay| Some((delay, delay.file(way).content()?))) {
            let step = delay.step.unwrap_or_default();
            let delays = Player::new(Arc::clone(series), step, delay.at_end);
            self.links.follow_delays(id, delays, delay.order);
        }
    }

    /// Gives a link its random loss, with a stream of its name.
    pub(super) fn lose_at_random(&mut self, id: LinkId, loss: Option<&LossSpec>) {
        if let Some(spec) = loss {
            let rng = self.streams.named(&format!("{}/loss", self.links[id].name));
            self.links.lose_at_random(id, LossProcess::new(spec, rng));
        }
    }

    /// Gives both ways of a wire outages at the same times, from the stream of the first one's name.
    pub(super) fn fail_both_ways(&mut self, ids: &[LinkId; 2], spec: Option<&OutageSpec>) {
        if spec.is_some() {
            let name = self.links[ids[0]].name.clone();
            self.fail_in_outages(ids, &name, spec);
        }
    }

    /// Gives links outages at the same times, from the stream of this name.
    pub(super) fn fail_in_outages(&mut self, ids: &[LinkId], name: &str, spec: Option<&OutageSpec>) {
        let Some(spec) = spec else { return };
        let outages = Outages::new(spec.clone(), self.streams.named(&format!("{name}/outages")));
        for &id in ids {
            match spec.packets {
                OutagePackets::Held => self.links.hold_in(id, outages.clone()),
                OutagePackets::Lost => self.links.lose_in(id, outages.clone()),
            }
        }
    }
}
