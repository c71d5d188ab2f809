//! Flows: an application, a transport, two ends.

use crate::endpoints::timeouts::Timeouts;
use crate::endpoints::units::Units;
use roamlab_engine::{Time, prefetch, prefetch_at};
use roamlab_packet::{Addr, Dscp, Ecn, IpHeader, Tos};
use roamlab_record::capture::FlowHeaders;
use roamlab_record::cause::CauseId;
use roamlab_record::ids::{NodeId, Side};
use roamlab_traffic::App;
use roamlab_transport::{StraightPath, Transport};

/// How an end of a flow is woken.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Wake {
    /// When the next pending event is due; `Time::MAX` if none is.
    pub armed: Time,
    /// When another pending event is due, set before that one; `Time::MAX` if none is.
    pub later: Time,
    /// The end's deadline as it was seen last.
    pub deadline: Time,
    /// The insertion number that was reserved when the deadline was set.
    pub place: u64,
}

impl Default for Wake {
    fn default() -> Wake {
        Wake { armed: Time::MAX, later: Time::MAX, deadline: Time::MAX, place: 0 }
    }
}

/// A flow.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Its name.
    pub name: Box<str>,
    /// Where its data comes from.
    pub src: NodeId,
    /// Where its data goes.
    pub dst: NodeId,
    /// The nodes where its sender and its receiver take packets; of an end that is outside [`NodeId::NOWHERE`].
    pub(crate) here: [NodeId; 2],
    /// The addresses of both.
    pub addresses: [Addr; 2],
    /// True if the hosts of the sender and of the receiver have been in a cell.
    pub(crate) attached: [bool; 2],
    /// The application.
    pub app: App,
    /// The transport.
    pub transport: Transport,
    /// The wake-ups of the two ends.
    pub wakes: [Wake; 2],
    /// When the application offered data last.
    pub offered: Time,
    /// The code point that the sender gives its packets.
    pub dscp: Dscp,
    /// State of the flow.
    pub stats: FlowStats,
    /// The row of the causes of its sender's last cut of the window or timeout.
    pub cause: CauseId,
    /// The congestion window that was recorded last.
    pub cwnd: f64,
    /// Its timeouts, to be judged.
    pub(crate) timeouts: Timeouts,
    /// The units of its application, if it has any.
    pub(crate) units: Option<Box<Units>>,
    arrivals: Arrivals,
}

/// Totals of a flow.
#[derive(Clone, Debug, Default)]
pub struct FlowStats {
    /// Data packets sent, retransmissions included.
    pub sent: u64,
    /// Retransmissions.
    pub retransmitted: u64,
    /// Data packets delivered for the first time.
    pub delivered: u64,
    /// Their payload bytes.
    pub delivered_bytes: u64,
    /// Data packets delivered again.
    pub duplicates: u64,
    /// Data packets overtaken by one sent later.
    pub reordered: u64,
    /// The most packets that overtook one.
    pub reordering_extent: u32,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Fast retransmits.
    pub fast_retransmits: u64,
    /// When the application offered data first.
    pub started: Option<Time>,
    /// When the last data packet so far was delivered.
    pub last_delivery: Option<Time>,
    /// When the last data packet so far was delivered for the first time.
    pub last_fresh: Option<Time>,
    /// Data packets of the whole transfer, if it ends.
    pub total: Option<u64>,
}

/// The order in which a flow's packets arrive (RFC 4737 §4: a packet is reordered if one sent later came first).
///
/// Serial numbers are the run's, so a flow's have gaps where other packets were made in between: there are no runs of
/// consecutive ones to keep instead.
#[derive(Clone, Debug, Default)]
struct Arrivals {
    latest: u64,
    /// The low halves of the serial numbers that arrived last: memory that every delivery touches is kept small.
    recent: Vec<u32>,
    /// Where the next one is kept, once there is no room for more: in place of the oldest.
    oldest: usize,
}

impl Arrivals {
    /// Arrivals that are remembered; a packet overtaken by more counts as overtaken by this many.
    const MEMORY: usize = 192;
    /// Reserves room for exactly this number of flows.
    const ROOM: usize = 64;

    /// Brings the place of the next arrival into the cache.
    #[inline(always)]
    fn prefetch(&self) {
        let is_full = self.recent.len() == Arrivals::MEMORY;
        prefetch_at(&self.recent, if is_full { self.oldest } else { self.recent.len() });
    }

    /// How many packets sent later have arrived before this one.
    #[inline(always)]
    fn note(&mut self, serial: u64) -> u32 {
        let later = |&earlier: &&u32| (earlier.wrapping_sub(serial as u32) as i32) > 0;
        let late_by = match serial > self.latest {
            true => 0,
            false => self.recent.iter().filter(later).count() as u32,
        };
        self.latest = self.latest.max(serial);
        if self.recent.len() < Arrivals::MEMORY {
            if self.recent.len() == self.recent.capacity() {
                self.recent.reserve_exact(Arrivals::ROOM);
            }
            self.recent.push(serial as u32);
        } else {
            self.recent[self.oldest] = serial as u32;
            self.oldest = if self.oldest + 1 < Arrivals::MEMORY { self.oldest + 1 } else { 0 };
        }
        late_by
    }
}

impl Flow {
    /// Fields in a capture for the headers of its packets.
    pub fn headers(&self) -> FlowHeaders {
        let tcp = self.transport.tcp_fields().unwrap_or_default();
        FlowHeaders { sender: self.addresses[Side::Sender.index()], tcp }
    }

    /// A flow that has not begun.
    pub fn new(name: String, ends: [(NodeId, Addr); 2], app: App, transport: Transport) -> Flow {
        let [src, dst] = ends.map(|(node, _)| node);
        let is_outside = transport.stack().is_some() || matches!(app, App::Program(_));
        let here = if is_outside { [NodeId::NOWHERE; 2] } else { [src, dst] };
        Flow {
            name: name.into(),
            src,
            dst,
            here,
            addresses: ends.map(|(_, address)| address),
            attached: [false; 2],
            app,
            transport,
            wakes: [Wake::default(); 2],
            offered: Time::ZERO,
            dscp: Dscp::default(),
            stats: FlowStats::default(),
            cause: CauseId::NONE,
            cwnd: 0.0,
            timeouts: Timeouts::default(),
            units: None,
            arrivals: Arrivals::default(),
        }
    }

    /// Brings what a delivery reads into the cache, except the ends.
    #[inline(always)]
    pub(crate) fn prefetch(&self) {
        prefetch(&self.here);
        prefetch(&self.transport);
        self.wakes.iter().for_each(prefetch);
        prefetch(&self.addresses);
        prefetch(&self.timeouts);
        prefetch(&self.units);
        prefetch(&self.stats.sent);
        prefetch(&self.stats.last_delivery);
        prefetch(&self.arrivals);
    }

    /// The same of the end on this side, when the flow is in the cache.
    #[inline(always)]
    pub(crate) fn prefetch_end(&self, side: Side) {
        self.transport.prefetch(side);
        if side == Side::Receiver {
            self.arrivals.prefetch();
        }
    }

    /// The node of the end on this side.
    #[inline(always)]
    pub(crate) fn node(&self, side: Side) -> NodeId {
        match side {
            Side::Sender => self.src,
            Side::Receiver => self.dst,
        }
    }

    /// The header of what the end on this side sends.
    #[inline(always)]
    pub(crate) fn header(&self, side: Side, ecn: Ecn) -> IpHeader {
        let [sender, receiver] = self.addresses;
        match side {
            Side::Sender => {
                IpHeader::new(sender, receiver, Tos::default().with_dscp(self.dscp).with_ecn(ecn))
            }
            Side::Receiver => IpHeader::new(receiver, sender, Tos::default().with_ecn(ecn)),
        }
    }

    /// A data packet arrived, as itself or as a copy; how many sent later had come before it.
    #[inline(always)]
    pub fn arrived(&mut self, original: u64, fresh: bool, payload: u64, now: Time) -> u32 {
        let late_by = self.arrivals.note(original);
        let stats = &mut self.stats;
        if fresh {
            stats.delivered += 1;
            stats.delivered_bytes += payload;
            stats.last_fresh = Some(now);
        } else {
            stats.duplicates += 1;
        }
        stats.reordered += u64::from(late_by > 0);
        stats.reordering_extent = stats.reordering_extent.max(late_by);
        stats.last_delivery = Some(now);
        late_by
    }

    /// When the whole of a file had been delivered.
    pub fn completed(&self) -> Option<Time> {
        let bytes = self.stats.delivered_bytes;
        let written = self.transport.stack().and_then(|stack| stack.written);
        let is_all = match (written, self.transport.segment()) {
            (Some(written), _) => bytes == written,
            (None, Some(segment)) if !self.transport.counts_segments() => {
                self.stats.total == Some(bytes / segment.0)
            }
            _ => self.stats.total == Some(self.stats.delivered),
        };
        let whole = matches!(self.app, App::Ftp(_)) && is_all;
        self.stats.last_fresh.filter(|_| whole)
    }

    /// The name of its transport, or "program" of one whose packets a program writes.
    pub fn kind(&self) -> &'static str {
        if matches!(self.app, App::Program(_)) { "program" } else { self.transport.name() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use roamlab_tcp::{TcpReceiver, TcpSender};

    /// The cost of 100,000 flows is in docs/benchmarks.md.
    #[test]
    fn a_tcp_flow_is_small() {
        let ends = size_of::<TcpSender>() + size_of::<TcpReceiver>();
        let size = size_of::<Flow>() + size_of::<roamlab_traffic::ftp::Ftp>() + ends;
        let mut arrivals = Arrivals::default();
        (1..1000).for_each(|serial| _ = arrivals.note(serial));
        let memory = arrivals.recent.capacity() * size_of::<u32>();
        assert!(size + memory <= 2048, "{size} B and {memory} B");
    }

    proptest! {
        /// The rule: a packet that is not above all before it was overtaken by those above it among the last 192.
        #[test]
        fn a_late_packet_was_overtaken_by_those_above_it_among_the_last(
            steps in prop::collection::vec((1u64..4, 0u64..400, 0u8..20), 0..1200)
        ) {
            let (mut arrivals, mut all, mut highest) = (Arrivals::default(), Vec::new(), 0);
            for (gap, back, kind) in steps {
                let serial = if kind == 0 { (highest + gap).saturating_sub(back).max(1) } else { highest + gap };
                let last = all.iter().rev().take(Arrivals::MEMORY);
                let overtaken = if serial > highest { 0 } else { last.filter(|&&one| one > serial).count() };
                prop_assert_eq!(arrivals.note(serial), overtaken as u32);
                highest = highest.max(serial);
                all.push(serial);
            }
        }
    }

    #[test]
    fn reordering_is_counted_against_packets_sent_later() {
        let mut arrivals = Arrivals::default();
        let late: Vec<u32> = [1, 2, 5, 6, 3, 7, 4].iter().map(|&serial| arrivals.note(serial)).collect();
        assert_eq!(late, [0, 0, 0, 0, 2, 0, 3]);
    }
}
