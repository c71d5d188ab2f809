//! A connection as its sender sees it: what was sent again and why, round trips, and silences of the acknowledgements.

use crate::long::{Bytes, Element, Long, Reader};
use crate::packets::Row;
use crate::why::exchange::{Exchange, FLOOR_NS, MS};
use crate::why::pieces::NEVER;
use crate::why::sendings::{Again, Sendings};
use std::collections::VecDeque;

/// An acknowledgement that is this much older than those of the next [`LATER_NS`] waited on its way.
const WAITED_NS: i64 = 100 * MS;
const LATER_NS: i64 = 700 * MS;
/// A timeout of Linux comes at least this long after the timer was set.
const LEAST_RTO_NS: i64 = 190 * MS;
/// The delay of acknowledgements that a probe allows for.
const PROBE_SLACK_NS: i64 = 2 * MS;

/// Why data were sent again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Acknowledgements reported later data.
    Fast,
    /// The same, and it had been sent again before.
    LostAgain,
    /// A probe of the tail.
    Probe,
    /// The timer expired.
    Timeout,
    /// It followed a timeout.
    AfterTimeout,
    /// A probe of a window that was closed, or of whether the other end is there.
    KeepAlive,
}

/// Data that were sent again.
#[derive(Clone, Copy, Debug)]
pub struct Resend {
    /// When.
    pub time_ns: i64,
    /// The number of the first byte, and the one behind the last.
    pub range: (u64, u64),
    /// Why.
    pub kind: Kind,
    /// Of a timeout: since the timer was set.
    pub waited_ns: i64,
    /// Of a timeout: the RTO that Linux would have had before it was doubled; 0: unknown.
    pub usual_ns: i64,
    /// The first copy arrived.
    pub is_needless: bool,
}

/// An acknowledgement that reported new data.
#[derive(Clone, Copy, Default, Debug)]
pub struct Progress {
    /// When.
    pub time_ns: i64,
    /// Pieces that it acknowledged cumulatively.
    pub below: usize,
    /// Pieces at all.
    pub pieces: usize,
}

impl Element for Progress {
    fn write(&self, before: &Progress, into: &mut Bytes) {
        into.put_change(before.time_ns.cast_unsigned(), self.time_ns.cast_unsigned());
        into.put(self.below as u64);
        into.put(self.pieces as u64);
    }

    fn read(before: &Progress, from: &mut Reader<'_>) -> Progress {
        let time_ns = from.take_change(before.time_ns.cast_unsigned()).cast_signed();
        Progress { time_ns, below: from.take() as usize, pieces: from.take() as usize }
    }
}

/// The amount outstanding behind a packet of data.
#[derive(Clone, Copy, Default, Debug)]
pub struct Flight {
    /// When.
    pub time_ns: i64,
    /// Bytes of which no delivery was reported.
    pub outstanding: u64,
    /// The receiver's window in bytes; `u64::MAX`: unknown.
    pub window: u64,
}

impl Element for Flight {
    fn write(&self, before: &Flight, into: &mut Bytes) {
        into.put_change(before.time_ns.cast_unsigned(), self.time_ns.cast_unsigned());
        into.put_change(before.outstanding, self.outstanding);
        into.put_change(before.window, self.window);
    }

    fn read(before: &Flight, from: &mut Reader<'_>) -> Flight {
        let time_ns = from.take_change(before.time_ns.cast_unsigned()).cast_signed();
        let outstanding = from.take_change(before.outstanding);
        Flight { time_ns, outstanding, window: from.take_change(before.window) }
    }
}

/// A span of time in which nothing was reported although data were outstanding.
#[derive(Clone, Copy, Debug)]
pub struct Silence {
    /// Its begin.
    pub start_ns: i64,
    /// Its end.
    pub end_ns: i64,
    /// The capture ended before it did.
    pub is_cut: bool,
}

/// The view of a sender.
pub struct Sender<'a> {
    /// The connection.
    pub exchange: Exchange<'a>,
    /// Its data.
    pub sendings: Sendings,
    /// Data that were sent again, in order of time.
    pub resends: Vec<Resend>,
    /// Reports of new data, in order of time.
    pub progress: Long<Progress>,
    /// Times of reports of new data, of those that waited on their way too, and the bytes.
    pub told: Long<(i64, i64)>,
    /// Pieces that were reported.
    pub pieces_told: usize,
    /// Times of reports, and round trips that they showed.
    pub rtts: Long<(i64, i64)>,
    /// Spans in which nothing was outstanding.
    pub idle: Long<(i64, i64)>,
    /// Reports of data that arrived twice.
    pub twice: Vec<i64>,
    /// Duplicate acknowledgements of a flow without selective ones: later data arrived.
    pub repeated: Vec<i64>,
    /// Spans in which the receiver's window held no segment.
    pub closed: Vec<(i64, i64)>,
    /// Silences longer than the limit of a stall.
    pub silences: Vec<Silence>,
    /// The amount outstanding after each packet of data.
    pub flights: Long<Flight>,
    /// Usual size of a segment.
    pub segment: u64,
    /// The least round trip from the capture on.
    pub least: i64,
    state: State,
}

/// The state of the timer, as far as it shows.
#[derive(Default)]
struct State {
    /// When the timer was set last.
    set_ns: i64,
    /// A timeout without a report of new data since.
    timeouts: u32,
    /// Recovery by timeout, up to this number.
    recover: u64,
    last_report_ns: i64,
    last_send_ns: i64,
    busy: Option<i64>,
    /// Since when nothing is outstanding.
    idle: Option<i64>,
    closed: Option<i64>,
    window: Option<u64>,
    srtt: f64,
    rttvar: f64,
}

impl State {
    /// A sample of the round trip (RFC 6298, 2).
    fn sample(&mut self, rtt: i64) {
        let rtt = rtt as f64;
        if self.srtt == 0.0 {
            (self.srtt, self.rttvar) = (rtt, rtt / 2.0);
        } else {
            self.rttvar += ((self.srtt - rtt).abs() - self.rttvar) / 4.0;
            self.srtt += (rtt - self.srtt) / 8.0;
        }
    }

    /// Linux's RTO: SRTT and at least 200 ms of variation.
    fn rto(&self) -> i64 {
        if self.srtt == 0.0 { 0 } else { (self.srtt + (4.0 * self.rttvar).max(FLOOR_NS as f64)) as i64 }
    }
}

impl<'a> Sender<'a> {
    /// The view of a connection's sender.
    pub fn new(exchange: Exchange<'a>) -> Sender<'a> {
        let mut made = Sender {
            exchange,
            sendings: Sendings::default(),
            resends: Vec::new(),
            progress: Long::default(),
            told: Long::default(),
            pieces_told: 0,
            rtts: Long::default(),
            idle: Long::default(),
            twice: Vec::new(),
            repeated: Vec::new(),
            closed: Vec::new(),
            silences: Vec::new(),
            flights: Long::default(),
            segment: segment(&exchange),
            least: exchange.trips[0].unwrap_or(0),
            state: State { idle: Some(i64::MIN), ..State::default() },
        };
        let mut waited = waiting(&exchange).into_iter().peekable();
        for (at, row) in exchange.flow.packets.rows().enumerate() {
            if exchange.is_data(&row) {
                made.sent(&row);
            } else if exchange.is_ack(&row) {
                let has_waited = waited.next_if_eq(&at).is_some();
                made.reported(&row, has_waited);
            }
        }
        made.finish();
        made
    }

    /// The shortest stall.
    pub fn limit(&self) -> i64 {
        FLOOR_NS.max(self.exchange.base())
    }

    /// Recoveries by acknowledgements: repairs that begin behind all that was sent when the one before began.
    pub fn recoveries(&self) -> usize {
        let (mut count, mut upto) = (0, 0);
        for resend in self.resends.iter().filter(|resend| matches!(resend.kind, Kind::Fast | Kind::LostAgain))
        {
            if resend.range.0 >= upto {
                count += 1;
                let sent = self.sendings.pieces.partition_point(|piece| piece.sent_ns <= resend.time_ns);
                let last = sent.checked_sub(1).and_then(|at| self.sendings.pieces.get(at));
                upto = last.map_or(0, |piece| piece.end);
            }
        }
        count
    }

    fn sent(&mut self, row: &Row) {
        let lowest = self.sendings.lowest();
        let was_idle = self.sendings.outstanding == 0;
        let before = self.sendings.highest;
        let sent = self.sendings.send(row);
        if was_idle && self.sendings.outstanding > 0 {
            self.state.busy = Some(row.time_ns);
            self.state.set_ns = row.time_ns;
            if let Some(since) = self.state.idle.take() {
                self.idle.push((since, row.time_ns));
            }
        }
        // A probe of the tail may be new data; the timer is set again by it.
        if !was_idle && sent.fresh > 0 && self.has_idled(row) && !self.sendings.has_holes() {
            self.state.set_ns = row.time_ns;
        }
        if let Some(again) = sent.again {
            let kind = self.kind(row, &again, lowest, before);
            let waited_ns = row.time_ns - self.state.set_ns;
            let usual_ns = self.state.rto();
            let range = (again.start, again.end);
            self.resends.push(Resend {
                time_ns: row.time_ns,
                range,
                kind,
                waited_ns,
                usual_ns,
                is_needless: again.is_told,
            });
            if kind == Kind::Timeout {
                self.state.timeouts += 1;
                self.state.recover = before;
            }
            if matches!(kind, Kind::Timeout | Kind::Probe) {
                self.state.set_ns = row.time_ns;
            }
        }
        self.state.last_send_ns = row.time_ns;
        let (outstanding, window) = (self.sendings.outstanding, self.state.window.unwrap_or(u64::MAX));
        self.flights.push(Flight { time_ns: row.time_ns, outstanding, window });
    }

    fn kind(&self, row: &Row, again: &Again, lowest: Option<u64>, highest: u64) -> Kind {
        let state = &self.state;
        let is_closed = state.closed.is_some();
        if row.length <= 1 && (is_closed || again.is_told || row.seq + 1 == highest) {
            return Kind::KeepAlive;
        }
        let quiet = row.time_ns - state.last_report_ns.max(state.set_ns);
        let is_lowest = lowest.is_some_and(|lowest| again.start <= lowest && lowest < again.end);
        let since = row.time_ns - state.set_ns;
        if is_lowest && since >= LEAST_RTO_NS && quiet >= LEAST_RTO_NS.max((0.9 * state.srtt) as i64) {
            return Kind::Timeout;
        }
        if state.timeouts > 0 || again.start < state.recover {
            return Kind::AfterTimeout;
        }
        if again.end == highest && self.has_idled(row) && !self.sendings.has_holes() {
            return Kind::Probe;
        }
        if again.times > 2 { Kind::LostAgain } else { Kind::Fast }
    }

    /// Nothing was sent or reported for as long as a probe of the tail waits.
    fn has_idled(&self, row: &Row) -> bool {
        let idle = row.time_ns - self.state.last_report_ns.max(self.state.last_send_ns);
        self.state.srtt > 0.0 && idle + PROBE_SLACK_NS >= (1.5 * self.state.srtt) as i64
    }

    fn reported(&mut self, row: &Row, has_waited: bool) {
        self.watch_window(row);
        let report = self.sendings.acknowledge(row, self.exchange.flow.packets.sacks(row));
        if report.twice.is_some() {
            self.twice.push(row.time_ns);
        }
        if let Some(rtt) = report.rtt_ns {
            self.rtts.push((row.time_ns, rtt));
            self.state.sample(rtt);
        }
        if report.pieces == 0 {
            if self.sendings.is_repeated(row) && !self.sendings.has_blocks && !has_waited {
                self.repeated.push(row.time_ns);
            }
            return;
        }
        self.told.push((row.time_ns, report.bytes.cast_signed()));
        self.pieces_told += report.pieces;
        if self.sendings.outstanding == 0 {
            self.state.idle.get_or_insert(row.time_ns);
        }
        self.state.last_report_ns = row.time_ns;
        if report.below > 0 {
            self.state.set_ns = row.time_ns;
            self.state.timeouts = 0;
        }
        if has_waited {
            return;
        }
        if let Some(start_ns) = self.state.busy
            && row.time_ns - start_ns > self.limit()
        {
            self.silences.push(Silence { start_ns, end_ns: row.time_ns, is_cut: false });
        }
        self.state.busy = (self.sendings.outstanding > 0).then_some(row.time_ns);
        let (below, pieces) = (report.below, report.pieces);
        self.progress.push(Progress { time_ns: row.time_ns, below, pieces });
    }

    /// Notes when the receiver's window holds no segment.
    fn watch_window(&mut self, row: &Row) {
        let window = self.exchange.window(row);
        let room = window.map(|window| (row.ack + window).saturating_sub(self.sendings.una.max(row.ack)));
        self.state.window = window;
        let is_closed = row.window == 0 || room.is_some_and(|room| room < self.segment && room < 1000);
        match (self.state.closed, is_closed) {
            (None, true) => self.state.closed = Some(row.time_ns),
            (Some(start), false) => {
                self.closed.push((start, row.time_ns));
                self.state.closed = None;
            }
            _ => {}
        }
    }

    fn finish(&mut self) {
        let end_ns = self.exchange.flow.packets.span().map_or(0, |(_, last)| last);
        if let Some(since) = self.state.idle {
            self.idle.push((since, i64::MAX));
        }
        if let Some(start) = self.state.closed {
            self.closed.push((start, end_ns));
        }
        if let Some(start_ns) = self.state.busy
            && self.exchange.counts[1] > 0
            && end_ns - start_ns > self.limit()
        {
            self.silences.push(Silence { start_ns, end_ns, is_cut: true });
        }
        let least = self.least;
        let mut resends = std::mem::take(&mut self.resends);
        for resend in &mut resends {
            let at = self.sendings.pieces.place(resend.range.0);
            let piece = self.sendings.pieces.get(at).filter(|piece| piece.start < resend.range.1);
            // Of a piece that was sent several times, the reports are about the second sending.
            resend.is_needless |= piece.is_some_and(|piece| {
                piece.told_ns != NEVER && piece.again_ns == resend.time_ns && piece.first_arrived(least)
            });
        }
        self.resends = resends;
    }
}

/// The usual size of a segment: of the SYNs without room for timestamps, or the most frequent length up to 1,460 bytes.
fn segment(exchange: &Exchange<'_>) -> u64 {
    let [first, second] = exchange.flow.opened;
    if let (Some(first), Some(second)) = (first, second)
        && let (Some(first), Some(second)) = (first.mss, second.mss)
    {
        let stamps = if exchange.ticks[0].is_some() { 12 } else { 0 };
        return u64::from(first.min(second).saturating_sub(stamps)).max(1);
    }
    let mut counts = std::collections::BTreeMap::<u32, u32>::new();
    for row in exchange.flow.packets.rows().filter(|row| exchange.is_data(row) && row.length <= 1460) {
        *counts.entry(row.length).or_default() += 1;
    }
    counts
        .into_iter()
        .max_by_key(|(length, count)| (*count, *length))
        .map_or(1460, |(length, _)| u64::from(length))
}

/// An acknowledgement of which later ones show whether it waited.
struct Undecided {
    at: usize,
    time_ns: i64,
    delay: i64,
    /// It is later than those before it.
    is_late: bool,
    has_waited: bool,
}

/// Acknowledgements that waited on their way: their own timestamp is older than those of the next 0.7 s allow.
fn waiting(exchange: &Exchange<'_>) -> Vec<usize> {
    let Some(tick) = exchange.ticks[1] else { return Vec::new() };
    let packets = &exchange.flow.packets;
    let mut found = Vec::new();
    let mut base = None::<u32>;
    // The delay against the receiver's clock of the last one that did not wait.
    let mut normal = None::<i64>;
    let mut undecided = VecDeque::<Undecided>::new();
    for (at, row) in packets.rows().enumerate().filter(|(_, row)| exchange.is_ack(row)) {
        let Some((tsval, _)) = row.timestamps else { continue };
        let base = *base.get_or_insert(tsval);
        let delay = row.time_ns - (f64::from(tsval.wrapping_sub(base).cast_signed()) * tick) as i64;
        while undecided.front().is_some_and(|each| row.time_ns - each.time_ns >= LATER_NS) {
            let Some(oldest) = undecided.pop_front() else { break };
            if oldest.has_waited {
                found.push(oldest.at);
            } else {
                normal = Some(oldest.delay);
            }
        }
        // From the newest back: as soon as one is no later, those before it are decided by it.
        for each in undecided.iter_mut().rev().filter(|each| !each.has_waited) {
            if each.delay - delay <= WAITED_NS {
                break;
            }
            each.has_waited = each.is_late;
        }
        let is_late = normal.is_some_and(|normal| delay - normal > WAITED_NS);
        if !is_late {
            normal = Some(delay);
        }
        undecided.push_back(Undecided { at, time_ns: row.time_ns, delay, is_late, has_waited: false });
    }
    found.extend(undecided.into_iter().filter(|each| each.has_waited).map(|each| each.at));
    found
}
