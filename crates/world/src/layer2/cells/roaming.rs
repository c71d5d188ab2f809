//! Hosts that roam with 802.11: the coverage in which they are, and the channel on which they listen.

use super::Cells;
use crate::context::Context;
use crate::event::Event;
use crate::ids::CellId;
use roamlab_engine::Time;
use roamlab_packet::Addr;
use roamlab_radio::{Offer, Roamer, StationAction, StationEvent, Wifi};
use roamlab_record::cause::{Cause, CauseId, CurrentCause, Kind};
use roamlab_record::ids::{LinkId, Location, NodeId};
use std::collections::BTreeMap;

/// The roaming part of a mobile host.
#[derive(Clone, Debug)]
pub struct Roaming {
    station: Roamer,
    /// In whose coverage it is: since when, and when it came into it last.
    covered: BTreeMap<CellId, (Time, Time)>,
    /// The channel that it listens on, and since when.
    channel: (u32, Time),
    /// Since when it waits for responses to its probe requests.
    probed: Time,
    /// When its pending wake-up is due.
    armed: Option<Time>,
    /// The row of the causes of its last phase, and what led to the frames that it sent last.
    led: CauseId,
    sent_by: CauseId,
}

impl Roaming {
    /// A host that is switched off.
    pub fn new(wifi: &Wifi) -> Roaming {
        Roaming {
            station: Roamer::new(wifi.clone()),
            covered: BTreeMap::new(),
            channel: (0, Time::ZERO),
            probed: Time::ZERO,
            armed: None,
            led: CauseId::START,
            sent_by: CauseId::START,
        }
    }

    /// True if it is in the coverage of a cell.
    pub(super) fn is_covered(&self, cell: CellId) -> bool {
        self.covered.contains_key(&cell)
    }
}

impl Cells {
    /// True if hosts roam.
    pub fn roam(&self) -> bool {
        self.wifi.is_some()
    }

    /// How hosts roam, if they do.
    pub fn wifi(&self) -> Option<&Wifi> {
        self.wifi.as_ref()
    }

    /// A host is in the coverage of a cell from now on, or no more: with the row of the causes.
    pub fn cover(&mut self, host: NodeId, cell: CellId, is_covered: bool, cx: &mut Context) -> CauseId {
        let phase = if is_covered { "coverage-entered" } else { "coverage-left" };
        let row = self.note(host, phase, host, cx);
        let covers = &mut self.cells[cell.0 as usize].covers;
        if is_covered {
            covers.insert(host);
        } else {
            covers.remove(&host);
        }
        let Some(mobile) = self.host_mut(host) else { return row };
        let Some(roaming) = &mut mobile.roaming else { return row };
        if is_covered {
            roaming.covered.entry(cell).or_insert((cx.now, cx.now)).1 = cx.now;
        } else {
            roaming.covered.remove(&cell);
            mobile.left.insert(cell, (cx.now, row));
        }
        row
    }

    /// True if a frame between a host and the base station of a cell, which began at `started`, gets across.
    /// `needs_cell`: only if the host is associated there.
    pub fn receives(&self, host: NodeId, cell: CellId, started: Time, needs_cell: bool) -> bool {
        let Some(mobile) = self.host(host) else { return false };
        let Some(roaming) = &mobile.roaming else { return false };
        let (channel, tuned) = roaming.channel;
        let is_covered = roaming.covered.get(&cell).is_some_and(|(since, _)| *since <= started);
        is_covered
            && channel == self.cells[cell.0 as usize].channel
            && tuned <= started
            && (!needs_cell || mobile.attachments.contains(&cell))
    }

    /// The hosts that hear what a cell began to send at `started`, in order.
    pub fn listeners(&self, cell: CellId, started: Time) -> Vec<NodeId> {
        let covered = self.cells[cell.0 as usize].covers.iter().copied();
        covered.filter(|&host| self.receives(host, cell, started, false)).collect()
    }

    /// The cells that a host could hear on its channel, in order.
    pub fn on_channel(&self, host: NodeId) -> Vec<CellId> {
        let Some(roaming) = self.roaming(host) else { return Vec::new() };
        let is_on = |cell: &CellId| self.cells[cell.0 as usize].channel == roaming.channel.0;
        roaming.covered.keys().copied().filter(is_on).collect()
    }

    /// Result of a host's reception of a cell.
    pub fn offer(&self, host: NodeId, cell: CellId) -> Offer {
        let known = &self.cells[cell.0 as usize];
        let covered = self.roaming(host).and_then(|roaming| roaming.covered.get(&cell));
        let strength = covered.map_or(Time::ZERO, |(_, last)| *last);
        Offer { cell: cell.0, channel: known.channel, interval: known.beacon_interval, strength }
    }

    /// A host listens on a channel from now on.
    pub fn tune(&mut self, host: NodeId, channel: u32, now: Time) {
        if let Some(roaming) = self.roaming_mut(host)
            && roaming.channel.0 != channel
        {
            roaming.channel = (channel, now);
        }
    }

    /// A host's probe requests have been sent.
    pub fn probed(&mut self, host: NodeId, now: Time) {
        if let Some(roaming) = self.roaming_mut(host) {
            roaming.probed = now;
        }
    }

    /// Since when a host waits for responses to its probe requests.
    pub fn probed_since(&self, host: NodeId) -> Time {
        self.roaming(host).map_or(Time::ZERO, |roaming| roaming.probed)
    }

    /// A host hears something; what it does.
    pub fn hear(&mut self, host: NodeId, heard: StationEvent, now: Time) -> Vec<StationAction> {
        let mut actions = Vec::new();
        if let Some(roaming) = self.roaming_mut(host) {
            roaming.station.on(heard, now, &mut actions);
        }
        actions
    }

    /// Sets a host's wake-up, if it must come earlier than the pending one.
    pub fn arm_roaming(&mut self, host: NodeId, cx: &mut Context) {
        let now = cx.now;
        let Some(roaming) = self.roaming_mut(host) else { return };
        roaming.armed = roaming.armed.filter(|armed| *armed > now);
        let Some(deadline) = roaming.station.next_deadline() else { return };
        if roaming.armed.is_none_or(|armed| deadline < armed) {
            roaming.armed = Some(deadline);
            cx.scheduler.push(deadline, Event::Roaming { node: host });
        }
    }

    /// A phase of a host is reached, and its row is this.
    pub fn led_by(&mut self, host: NodeId, row: CauseId) {
        if let Some(roaming) = self.roaming_mut(host) {
            roaming.led = row;
        }
    }

    /// A host sends frames, which `row` led to.
    pub fn sent_by(&mut self, host: NodeId, row: CauseId) {
        if let Some(roaming) = self.roaming_mut(host) {
            roaming.sent_by = row;
        }
    }

    /// Cause of a host's deadline that has come, or of an attempt to send that was not acknowledged: the host
    /// has left its cell, or the medium has lost something. While it looks for a cell, the loss of its last
    /// request.
    pub fn why_silent(&self, host: NodeId, cx: &Context) -> CurrentCause {
        let Some(mobile) = self.host(host) else { return CurrentCause::default() };
        let Some(roaming) = &mobile.roaming else { return CurrentCause::default() };
        let about = Some(Addr::mobile(host.0));
        match roaming.station.cell().map(CellId) {
            Some(cell) if roaming.is_covered(cell) => {
                CurrentCause::New(Cause::root(Kind::OnAir).about(about))
            }
            Some(cell) => CurrentCause::Row(mobile.left.get(&cell).map_or(CauseId::START, |&(_, row)| row)),
            None => {
                let place = Location::Node(host);
                let missing = cx.probes.causes.missing(roaming.sent_by, place);
                let cause = missing.unwrap_or(roaming.led.or(|| CauseId::START));
                CurrentCause::New(Cause::of(Kind::Timer, "", cause).at(place).about(about))
            }
        }
    }

    /// A host's uplinks.
    pub fn uplinks(&self, host: NodeId) -> Vec<LinkId> {
        self.host(host).map(|mobile| mobile.uplinks.values().copied().collect()).unwrap_or_default()
    }

    /// A host's uplink to a cell.
    pub fn uplink_to(&self, host: NodeId, cell: CellId) -> Option<LinkId> {
        self.host(host)?.uplinks.get(&cell).copied()
    }

    fn roaming(&self, host: NodeId) -> Option<&Roaming> {
        self.host(host)?.roaming.as_deref()
    }

    fn roaming_mut(&mut self, host: NodeId) -> Option<&mut Roaming> {
        self.host_mut(host)?.roaming.as_deref_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer2::cells::{Cell, Mobile};
    use roamlab_engine::Duration;
    use roamlab_radio::UplinkChoice;

    const HOST: NodeId = NodeId(1);
    const NEAR: CellId = CellId(0);
    const FAR: CellId = CellId(1);

    fn ms(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// Two cells on the channels 1 and 6, and a host that roams.
    fn cells() -> Cells {
        let wifi = Wifi::default();
        let cell = |channel| Cell::new("bs".into(), LinkId(0), NodeId(0)).on_channel(channel, Duration::ZERO);
        let roaming = Some(Box::new(Roaming::new(&wifi)));
        let uplinks = (BTreeMap::new(), UplinkChoice::Newest);
        let mobile = Mobile::new((Vec::new(), Vec::new()), uplinks, (None, roaming), false);
        let hosts = vec![None, Some(Box::new(mobile))];
        Cells { cells: vec![cell(1), cell(6)], hosts, in_flight_survives: false, wifi: Some(wifi) }
    }

    /// The host comes into the coverage of cells at these milliseconds.
    fn cover(cells: &mut Cells, visits: &[(CellId, u64)]) {
        let mut cx = Context::default();
        for &(cell, at) in visits {
            cx.now = ms(at);
            cells.cover(HOST, cell, true, &mut cx);
        }
    }

    #[test]
    fn the_cell_that_a_host_came_to_last_is_the_strongest_and_is_heard_since_the_first_time() {
        let mut cells = cells();
        cover(&mut cells, &[(NEAR, 1), (FAR, 2), (NEAR, 3)]);
        let strengths = [NEAR, FAR].map(|cell| cells.offer(HOST, cell).strength);
        assert_eq!(strengths, [ms(3), ms(2)]);
        cells.tune(HOST, 1, ms(0));
        assert_eq!([0, 1, 2].map(|at| cells.receives(HOST, NEAR, ms(at), false)), [false, true, true]);
    }

    #[test]
    fn a_host_hears_frames_that_begin_when_it_listens_to_their_channel() {
        let mut cells = cells();
        cover(&mut cells, &[(NEAR, 0), (FAR, 0)]);
        cells.tune(HOST, 6, ms(5));
        cells.tune(HOST, 6, ms(7));
        assert_eq!([4, 5, 6].map(|at| cells.receives(HOST, FAR, ms(at), false)), [false, true, true]);
        assert!(!cells.receives(HOST, NEAR, ms(6), false), "another channel");
        assert!(!cells.receives(HOST, FAR, ms(6), true), "it is in no cell");
    }
}
