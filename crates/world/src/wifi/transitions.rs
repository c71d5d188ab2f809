//! BSS transition management: base stations ask their hosts to go to other cells, at the times that the scenario plans.

use super::Wlan;
use crate::control::messages::ManagementFrame;
use crate::event::Event;
use crate::ids::CellId;
use roamlab_engine::Time;
use roamlab_radio::{Channels, Management};
use roamlab_record::cause::{Cause, CurrentCause, Kind};
use roamlab_record::ids::Location;

impl Wlan<'_> {
    /// The base stations' next actions are scheduled.
    pub fn plan_requests(&mut self) {
        for request in self.stations.requests.iter() {
            let (node, _) = self.net.base_station(request.cell);
            for time in request.asks_at.into_iter().chain(request.ends_at) {
                self.cx.scheduler.push(time, Event::Roaming { node });
            }
        }
    }

    /// The base station of a cell sends the requests that are due, and ends associations.
    pub(super) fn requests_due(&mut self, cell: CellId) {
        let now = self.cx.now;
        let is_due = |time: &mut Time| *time <= now;
        for number in 0..self.stations.requests.len() {
            let request = &mut self.stations.requests[number];
            if request.cell != cell {
                continue;
            }
            let (asks, ends) = (request.asks_at.take_if(is_due), request.ends_at.take_if(is_due));
            if asks.is_some() {
                self.ask_to_go(number);
            }
            if ends.is_some() {
                self.end_associations(number);
            }
        }
    }

    /// A base station asks its hosts.
    fn ask_to_go(&mut self, number: usize) {
        let request = &self.stations.requests[number];
        let (cell, wanted) = (request.cell, request.hosts.clone());
        let (station, _) = self.net.base_station(cell);
        let associated = self.net.associations(cell).map(|hosts| hosts.authorised()).unwrap_or_default();
        for addr in associated {
            let Some(host) = self.net.node_at(addr) else { continue };
            if !wanted.is_empty() && !wanted.contains(&host) {
                continue;
            }
            let root = Cause::root(Kind::Prediction).at(Location::Node(station)).about(Some(addr));
            let row = self.cx.add_cause(root);
            self.stations.requests[number].asked.push((addr, row));
            let kind = Management::TransitionRequest;
            let frame = ManagementFrame { kind, host, cell, number: number as u32 };
            self.led_by(CurrentCause::Row(row), |wlan| wlan.send_frame(station, frame));
        }
    }

    /// A base station ends the associations of the hosts that it has asked and still lists.
    fn end_associations(&mut self, number: usize) {
        let cell = self.stations.requests[number].cell;
        for (addr, row) in std::mem::take(&mut self.stations.requests[number].asked) {
            if self.net.associations(cell).is_some_and(|hosts| hosts.is_authorised(addr)) {
                self.led_by(CurrentCause::Row(row), |wlan| {
                    wlan.dismiss(cell, addr, "gone-by-transition", Management::Disassociation);
                });
            }
        }
    }

    /// The channels of the candidates of a request.
    pub(super) fn channels_of_candidates(&mut self, number: u32) -> Channels {
        let mut channels = Channels::default();
        if let Some(request) = self.stations.requests.get(number as usize) {
            let cells = self.net.cells();
            request.candidates.iter().for_each(|&cell| channels.insert(cells.channel(cell)));
        }
        channels
    }
}
