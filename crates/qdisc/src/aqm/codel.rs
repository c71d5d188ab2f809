//! CoDel (RFC 8289): drops at the head of the queue, by the time that packets have waited.
//!
//! If every packet has waited at least `target` for an `interval`, the one at the head is dropped. While that lasts, the
//! next drops follow each `interval / √count` (RFC 8289 §5.3 to §5.6). With ECN a packet is marked where it would be
//! dropped.

use crate::forwarded::{Exemption, exempting_params, validate_mark};
use crate::timed::Timed;
use crate::{BadField, Gauges, Parameters, QdiscCx, QueueDisc, Rules};
use roamlab_engine::{Bytes, Duration, Packets, Rng, Time};
use roamlab_packet::{MarkingState, PacketId};

exempting_params! {
    /// CoDel: drops or marks at the head while the time in the queue stays above a target.
    own {
        /// Whose rules: with `linux` the times of drops follow Linux's approximate root, and time has units of 1024 ns
        /// (default rfc).
        rules: Rules = Rules::Rfc;
        /// Packets that may wait (default 1000 pkt, Linux's `codel`).
        limit: Packets = Packets(1000);
        /// Acceptable time in the queue (default 5 ms, RFC 8289 §4.3).
        target: Duration = Duration::from_millis(5);
        /// Time for which the target must be exceeded before the first drop (default 100 ms, RFC 8289 §4.3).
        interval: Duration = Duration::from_millis(100);
        /// Nothing is dropped while no more bytes wait than these: a packet of the greatest size (`maxpacket`; default
        /// 1500 B).
        max_packet: Bytes = Bytes(1500);
        /// True if an ECN-capable packet is marked instead of dropped (default false, Linux's `codel`).
        mark_ecn: bool = false;
    }
}

impl Params {
    fn law(&self) -> Law {
        let Params { rules, target, interval, max_packet, mark_ecn, .. } = *self;
        Law::new(rules, (target, interval), (max_packet, mark_ecn), self.exemption())
    }
}

impl Parameters for Params {
    fn validate(&self) -> Result<(), BadField> {
        crate::validate_limit(self.limit, false)?;
        validate_interval(self.interval)?;
        validate_mark(self.mark)
    }

    fn warning(&self) -> Option<BadField> {
        above_interval(self.target, self.interval)
    }
}

/// A target that is no smaller than the interval: the RFC's is a twentieth of it (RFC 8289 §4.4).
pub(crate) fn above_interval(target: Duration, interval: Duration) -> Option<BadField> {
    (target >= interval).then(|| {
        let share = Duration::from_nanos(interval.as_nanos() / 20);
        let help = match share > Duration::ZERO && target.as_nanos() / 10 < interval.as_nanos() {
            true => format!("write a twentieth to a tenth of the interval, for example \"{share}\""),
            false => format!("exchange the two: write `target = \"{interval}\"` and `interval = \"{target}\"`"),
        };
        let message = format!(
            "the acceptable wait of {target} is no shorter than the interval of {interval}, a round-trip time: {help}"
        );
        ("target", message)
    })
}

/// True if drops can follow after parts of `interval`.
pub(crate) fn validate_interval(interval: Duration) -> Result<(), BadField> {
    if interval >= Duration::from_micros(1) {
        return Ok(());
    }
    Err(("interval", "a round-trip time is expected: write for example \"100 ms\"".into()))
}

/// Rules of CoDel.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Law {
    rules: Rules,
    /// The bits of a time in ns that the rules see.
    seen: u64,
    pub target: Duration,
    interval: Duration,
    max_packet: u64,
    mark_ecn: bool,
    pub exemption: Exemption,
}

/// Linux's unit of time is 2^10 ns (`CODEL_SHIFT`).
const LINUX_UNIT: u32 = 10;

impl Law {
    /// The law of a discipline's parameters.
    pub(crate) fn new(
        rules: Rules,
        (target, interval): (Duration, Duration),
        (max_packet, mark_ecn): (Bytes, bool),
        exemption: Exemption,
    ) -> Law {
        let seen = match rules {
            Rules::Rfc => u64::MAX,
            Rules::Linux => u64::MAX << LINUX_UNIT,
        };
        let [target, interval] = [target, interval].map(|span| Duration::from_nanos(span.as_nanos() & seen));
        Law { rules, seen, target, interval, max_packet: max_packet.0, mark_ecn, exemption }
    }

    /// A time as the rules see it.
    #[inline(always)]
    pub(crate) fn seen(&self, time: Time) -> Time {
        Time::from_nanos(time.as_nanos() & self.seen)
    }
}

/// The state of one queue of packets (RFC 8289 §5.3).
#[derive(Clone, Debug, Default)]
pub(crate) struct Control {
    /// When the target will have been exceeded for an interval; `None`: the last packet was below it.
    first_above: Option<Time>,
    /// When the next packet is due; zero before the first drop.
    drop_next: Time,
    count: u32,
    last_count: u32,
    /// With Linux's rules, 2^16/√count, as far as its iteration has come.
    root: u16,
    dropping: bool,
    /// How long the last packet had waited.
    pub(crate) sojourn: Duration,
}

impl Control {
    /// RFC 8289 §5.6, `dodequeue`: the packet at the head, and whether it may be dropped. `others` are the bytes that
    /// wait in other lines of the same queue.
    #[inline(always)]
    fn look(
        &mut self,
        line: &mut Timed,
        others: u64,
        law: &Law,
        cx: &QdiscCx<'_>,
    ) -> Option<(PacketId, bool)> {
        let now = law.seen(cx.now);
        let Some((packet, sojourn)) = line.pop(now, cx.pool) else {
            self.first_above = None;
            self.sojourn = Duration::ZERO;
            return None;
        };
        self.sojourn = sojourn;
        if sojourn < law.target || line.bytes().0 + others <= law.max_packet {
            self.first_above = None;
            return Some((packet, false));
        }
        let may_drop = self.first_above.is_some_and(|due| match law.rules {
            Rules::Rfc => now >= due,
            Rules::Linux => now > due,
        });
        self.first_above.get_or_insert(now + law.interval);
        Some((packet, may_drop))
    }

    /// RFC 8289 §5.5, `deque`: the next packet of `line`; those before it are dropped. A spared packet leaves without a
    /// look at the state.
    #[inline(always)]
    pub(crate) fn dequeue(
        &mut self,
        line: &mut Timed,
        others: u64,
        law: &Law,
        cx: &mut QdiscCx<'_>,
    ) -> Option<PacketId> {
        if let Some(spared) = self.spared(line, law, cx) {
            return Some(spared);
        }
        let Some((packet, may_drop)) = self.look(line, others, law, cx) else {
            self.dropping = false;
            return None;
        };
        if !may_drop {
            self.dropping = false;
            return Some(packet);
        }
        self.reduce(packet, line, others, law, cx)
    }

    /// The packet at the head, if it is spared.
    #[inline(always)]
    fn spared(&mut self, line: &mut Timed, law: &Law, cx: &QdiscCx<'_>) -> Option<PacketId> {
        line.head().filter(|head| law.exemption.spares(head, cx.pool))?;
        let (packet, sojourn) = line.pop(law.seen(cx.now), cx.pool)?;
        self.sojourn = sojourn;
        Some(packet)
    }

    /// Drops or marks `packet`, which was above the target for an interval, and those behind it, as far as they are due.
    #[inline(never)]
    fn reduce(
        &mut self,
        mut packet: PacketId,
        line: &mut Timed,
        others: u64,
        law: &Law,
        cx: &mut QdiscCx<'_>,
    ) -> Option<PacketId> {
        let now = law.seen(cx.now);
        if !self.dropping {
            self.begin(law, now);
            let marked = cx.notify(packet, law.mark_ecn).or_else(|| self.spared(line, law, cx));
            return marked.or_else(|| self.look(line, others, law, cx).map(|(packet, _)| packet));
        }
        while now >= self.drop_next {
            self.count = self.count.saturating_add(1);
            self.improve_root();
            if let Some(left) = cx.notify(packet, law.mark_ecn).or_else(|| self.spared(line, law, cx)) {
                self.drop_next = self.after(self.drop_next, law);
                return Some(left);
            }
            let Some((next, may_drop)) = self.look(line, others, law, cx) else {
                self.dropping = false;
                return None;
            };
            packet = next;
            if !may_drop {
                self.dropping = false;
                break;
            }
            self.drop_next = self.after(self.drop_next, law);
        }
        Some(packet)
    }

    /// Begins to drop. The rate continues from that of a period that ended less than 16 intervals ago.
    fn begin(&mut self, law: &Law, now: Time) {
        self.dropping = true;
        let since_last_begin = self.count.wrapping_sub(self.last_count);
        // Overflows count too: without a drop by the law there is no period to continue from. In Linux the
        // clock is far from 0. ASSUMPTION: it has run for less than 36 minutes. Its 32 bits of 1024 ns are
        // compared with a sign, so that in every second 36 minutes a `drop_next` of 0 is in the future, and
        // then recent.
        let has_dropped = self.drop_next > Time::ZERO;
        let is_recent = has_dropped && now < self.drop_next + law.interval * 16;
        if since_last_begin > 1 && is_recent {
            self.count = since_last_begin;
            self.improve_root();
        } else {
            (self.count, self.root) = (1, u16::MAX);
        }
        self.drop_next = self.after(now, law);
        self.last_count = self.count;
    }

    /// RFC 8289 §5.6, `control_law`: the time of the drop after the one at `from`.
    fn after(&self, from: Time, law: &Law) -> Time {
        let interval = law.interval.as_nanos();
        from + Duration::from_nanos(match law.rules {
            Rules::Rfc => (interval as f64 / libm::sqrt(f64::from(self.count))) as u64,
            Rules::Linux => (((interval >> LINUX_UNIT) * u64::from(self.root)) >> 16) << LINUX_UNIT,
        })
    }

    /// One step of Newton's iteration for the reciprocal root of `count`, in the fixed point of Linux (`codel_Newton_step`):
    /// r ← r·(3 − count·r²)/2. A count that has grown by more than one is not reached immediately.
    fn improve_root(&mut self) {
        let root = u64::from(self.root) << 16;
        let square = (root * root) >> 32;
        let rest = (3_u64 << 32).wrapping_sub(u64::from(self.count) * square) >> 2;
        self.root = (rest.wrapping_mul(root) >> 47) as u16;
    }

    /// Counts packets that were dropped because the queue was full (`fq_codel_drop` in Linux).
    pub(crate) fn count_overflows(&mut self, packets: u32) {
        self.count = self.count.saturating_add(packets);
    }

    /// The schedule of the drops.
    fn schedule(&self) -> MarkingState {
        MarkingState::Drops { counts: (self.count, self.last_count), next: self.drop_next }
    }

    /// Continues from another schedule, as after a time below the target.
    fn resume(&mut self, (count, last_count): (u32, u32), next: Time) {
        (self.count, self.last_count, self.drop_next) = (count, last_count, next);
        // The root of a count that Newton's iteration has had time for: 2^16/√count.
        self.root = (65_536.0 / libm::sqrt(f64::from(count.max(1)))).min(65_535.0) as u16;
        self.rest();
    }

    /// Nothing waits: the time above the target ends.
    #[inline(always)]
    pub(crate) fn rest(&mut self) {
        (self.first_above, self.dropping) = (None, false);
    }

    /// True if a packet that does not wait leaves no trace.
    fn is_at_rest(&self) -> bool {
        self.first_above.is_none() && !self.dropping && self.sojourn == Duration::ZERO
    }
}

/// The discipline.
#[derive(Clone, Debug)]
pub struct Codel {
    limit: usize,
    law: Law,
    control: Control,
    line: Timed,
}

impl QueueDisc for Codel {
    type Params = Params;

    fn new(params: &Params, _: Rng) -> Codel {
        let line = Timed::with_mark(params.mark);
        Codel { limit: params.limit.0 as usize, law: params.law(), control: Control::default(), line }
    }

    #[inline(always)]
    fn enqueue(&mut self, packet: PacketId, cx: &mut QdiscCx<'_>) {
        let limit = self.limit;
        let admitted = self.law.exemption.admit(packet, &mut self.line, |line| line.packets() >= limit, cx);
        if let Some(packet) = admitted {
            self.line.push(packet, self.law.seen(cx.now), cx.pool);
        }
    }

    #[inline(always)]
    fn dequeue(&mut self, cx: &mut QdiscCx<'_>) -> Option<PacketId> {
        self.control.dequeue(&mut self.line, 0, &self.law, cx)
    }

    /// A packet for an idle link waits no time. An ordinary one changes nothing, unless `target` is 0.
    fn can_bypass(&self, _: Bytes) -> bool {
        self.line.is_empty() && self.control.is_at_rest() && self.law.target > Duration::ZERO
    }

    crate::waits_in!(line, taken);

    fn gauges(&self) -> Gauges {
        Gauges { sojourn: self.control.sojourn, forwarded: self.line.forwarded(), ..Gauges::default() }
    }

    fn marking_state(&self) -> Option<MarkingState> {
        Some(self.control.schedule())
    }

    fn adopt(&mut self, state: &MarkingState, _: Time) {
        if let MarkingState::Drops { counts, next } = *state {
            self.control.resume(counts, next);
        }
    }
}

#[cfg(test)]
mod tests;
