//! The base stations of 802.11: they answer requests, associate hosts and take hosts as gone.

use super::Wlan;
use crate::control::messages::ManagementFrame;
use crate::dataplane::network::TxReport;
use crate::event::Event;
use crate::ids::CellId;
use roamlab_mobility::L2Trigger;
use roamlab_packet::Addr;
use roamlab_radio::{Management, StationEvent, TxOutcome};
use roamlab_record::cause::{Cause, CauseId, CurrentCause, Kind};
use roamlab_record::ids::NodeId;

impl Wlan<'_> {
    /// The base station of a cell has sent a frame.
    pub(super) fn base_station_sent(&mut self, cell: CellId, report: TxReport) {
        let TxReport { dst, management, started, outcome, .. } = report;
        match outcome {
            TxOutcome::Beacon => {
                for host in self.net.cells().listeners(cell, started) {
                    let offer = self.net.cells().offer(host, cell);
                    let led = Cause::root(Kind::OnAir).about(Some(self.net.address(host)));
                    self.led_by(CurrentCause::New(led), |wlan| {
                        wlan.hear(host, StationEvent::Cell { offer, beacon: true });
                        if wlan.net.holds_for(cell, host) {
                            wlan.hear(host, StationEvent::Waiting(cell.0));
                        }
                    });
                }
            }
            TxOutcome::Received => self.see(cell, dst),
            _ if outcome.is_loss() && !management => self.give_up(cell, dst),
            _ => {}
        }
    }

    /// A base station has given up a frame for a host.
    fn give_up(&mut self, cell: CellId, host: Addr) {
        if self.net.associations(cell).is_some_and(|hosts| hosts.failed(host)) {
            let node = self.net.node_at(host);
            let row = node.map_or(CauseId::START, |node| self.net.cells().why_unheard(node, cell, self.cx));
            self.led_by(CurrentCause::Row(row), |wlan| {
                wlan.dismiss(cell, host, "gone-by-retries", Management::Deauthentication)
            });
        }
    }

    /// A management frame has arrived at a base station.
    pub(super) fn base_station_receives(&mut self, station: NodeId, frame: ManagementFrame) {
        let ManagementFrame { kind, host, cell, .. } = frame;
        let addr = self.net.address(host);
        self.see(cell, addr);
        let answer = match kind {
            Management::FastAuthenticationRequest => return self.find_key(frame),
            Management::EapResponse | Management::KeyMessage2 | Management::KeyMessage4 => {
                return self.key_frame(frame);
            }
            Management::NullData | Management::PowerSave | Management::Awake
                if self.why_absent(cell, addr).is_some() =>
            {
                Some(Management::Deauthentication)
            }
            Management::PowerSave => return self.net.doze(cell, addr, self.cx),
            Management::Awake => return self.net.wake(cell, addr, self.cx),
            _ => kind.answer(),
        };
        if let Some(kind) = answer {
            self.send_frame(station, ManagementFrame { kind, ..frame });
        }
    }

    /// A base station has not taken data from a host that it has not associated, and reports this (§11.3).
    #[inline(never)]
    pub fn refuse(&mut self, host: NodeId, cell: CellId) {
        let (station, _) = self.net.base_station(cell);
        let cause = self.why_absent(cell, self.net.address(host)).unwrap_or(CauseId::START);
        let frame = ManagementFrame { kind: Management::Deauthentication, host, cell, number: 0 };
        self.led_by(CurrentCause::Row(cause), |wlan| wlan.send_frame(station, frame));
    }

    /// A base station has associated a host, perhaps again.
    pub(super) fn associate(&mut self, cell: CellId, host: Addr) {
        let now = self.cx.now;
        if let Some(hosts) = self.net.associations(cell) {
            hosts.add(host, now);
        }
        self.net.wake(cell, host, self.cx);
        let (station, _) = self.net.base_station(cell);
        self.agents.notify_agents(station, host, &L2Trigger::HostArrived { host }, self.net, self.cx);
        self.look_for_silent(cell);
    }

    /// A base station takes a host as gone, and tells it so by a frame of this kind.
    pub(super) fn dismiss(&mut self, cell: CellId, host: Addr, phase: &'static str, kind: Management) {
        let (Some(node), (station, _)) = (self.net.node_at(host), self.net.base_station(cell)) else {
            return;
        };
        let row = self.net.cells().note(node, phase, station, self.cx);
        let mut had_data = false;
        if let Some(hosts) = self.net.associations(cell) {
            had_data = hosts.is_authorised(host);
            hosts.remove(host, row);
        }
        self.led_by(CurrentCause::Row(row), |wlan| {
            if had_data {
                wlan.notify(station, node, &L2Trigger::HostGone { host });
            }
            wlan.net.wake(cell, host, wlan.cx);
            wlan.net.flush_air(cell, host, row, wlan.cx);
            let frame = ManagementFrame { kind, host: node, cell, number: 0 };
            wlan.send_frame(station, frame);
        });
    }

    /// A base station forgets hosts that it has had no sign of for long, and sets the time of its next look.
    pub(super) fn look_for_silent(&mut self, cell: CellId) {
        let now = self.cx.now;
        let Some((silent, next)) = self.net.associations(cell).map(|hosts| hosts.silent(now)) else { return };
        let (node, _) = self.net.base_station(cell);
        if let Some(next) = next {
            self.cx.scheduler.push(next, Event::Roaming { node });
        }
        for host in silent {
            let led = CurrentCause::Row(self.net.cells().moved(host));
            self.led_by(led, |wlan| {
                wlan.dismiss(cell, host, "gone-by-silence", Management::Deauthentication)
            });
        }
    }

    /// A base station has a sign of life of a host.
    fn see(&mut self, cell: CellId, host: Addr) {
        let now = self.cx.now;
        if let Some(hosts) = self.net.associations(cell) {
            hosts.seen(host, now);
        }
    }

    fn why_absent(&mut self, cell: CellId, host: Addr) -> Option<CauseId> {
        self.net.associations(cell)?.why_absent(host)
    }
}
