//! DualPI2 (RFC 9332): a queue for L4S flows and one for the others before one link, with coupled probabilities.
//!
//! A PI controller sets a base probability p' by the delay, each `update_interval`. An arrival of the classic queue is
//! dropped or marked with p_C = p'², one of the low-latency queue marked with p_CL = `coupling`·p', or for its time in
//! the queue (`step`). Parameters, scheduler and order of decisions are those of Linux (`sch_dualpi2`): decisions at
//! departure, and the longer of both delays for the controller.
//!
//! DEVIATION: Linux also limits the memory of what waits, and counts with integers.
//!
//! DEVIATION: RFC 9332 appendix A recommends a ramp of the time in the queue from 0.8 to 1.2 ms, and the recurrence
//! `recur` instead of random draws. Linux has a step and draws, and so has this.

use crate::aqm::updates::{Updates, pi_growth};
use crate::forwarded::{Exemption, PushOut, exempting_params, validate_mark};
use crate::timed::Timed;
use crate::{BadField, Gauges, Matching, Parameters, QdiscCx, QueueDisc};
use roamlab_engine::{Bytes, Duration, Packets, Rng, Time};
use roamlab_packet::{DropReason, Ecn, MarkingState, PacketId, PacketPool};

exempting_params! {
    /// DualPI2: a low-latency queue for L4S flows next to one for the others, with coupled marks and drops.
    own {
        /// Packets that may wait in both queues together (default 10000 pkt, Linux).
        limit: Packets = Packets(10_000);
        /// Delay that the controller aims at (default 15 ms, RFC 9332 appendix A.1).
        target: Duration = Duration::from_millis(15);
        /// Time between two updates of the base probability, 1 ms or more (default 16 ms, RFC 9332 appendix A.1).
        update_interval: Duration = Duration::from_millis(16);
        /// Growth of the base probability an update for each second of delay above the target (default 0.16015625, that is
        /// 41/256, Linux).
        alpha: f64 = 41.0 / 256.0;
        /// Growth of the base probability an update for each second by which the delay has grown (default 3.19921875,
        /// that is 819/256, Linux).
        beta: f64 = 819.0 / 256.0;
        /// The factor k between the base probability and that of the low-latency queue (default 2, RFC 9332 §2.1 and
        /// appendix A.1).
        coupling: f64 = 2.0;
        /// An L4S packet that has waited longer is marked (default 1 ms, Linux).
        step: Duration = Duration::from_millis(1);
        /// Share of the link in percent that the classic queue has while both have packets, 0 to 100 (default 10, Linux).
        classic_share: u8 = 10;
        /// True if L4S packets are dropped with p_C where p_CL has passed 1, instead of marked only (default
        /// true, Linux).
        drop_on_overload: bool = true;
        /// The greatest packet; nothing is dropped or marked by probability while less than two of them wait (default
        /// 1500 B).
        max_packet: Bytes = Bytes(1500);
    }
}

impl Parameters for Params {
    fn validate(&self) -> Result<(), BadField> {
        crate::validate_limit(self.limit, false)?;
        crate::validate_update_interval(self.update_interval)?;
        crate::validate_gain("alpha", self.alpha)?;
        crate::validate_gain("beta", self.beta)?;
        if !(1.0..=255.0).contains(&self.coupling) {
            return Err(("coupling", format!("{} is no factor of coupling: write 1 to 255", self.coupling)));
        }
        if self.classic_share > 100 {
            return Err(("classic_share", "a share in percent is expected: write 0 to 100".into()));
        }
        if self.max_packet.0 > 65_535 {
            return Err((
                "max_packet",
                "a packet has at most 65535 bytes: write for example \"1500 B\"".into(),
            ));
        }
        validate_mark(self.mark)
    }
}

/// The two queues.
#[derive(Clone, Debug)]
struct Pair {
    classic: Timed,
    low_latency: Timed,
}

impl Pair {
    fn packets(&self) -> usize {
        self.classic.packets() + self.low_latency.packets()
    }

    fn bytes(&self) -> u64 {
        self.classic.bytes().0 + self.low_latency.bytes().0
    }

    /// The longer of the delays of both heads at a time.
    fn delay(&self, at: Time) -> Duration {
        self.classic.head_sojourn(at).max(self.low_latency.head_sojourn(at))
    }
}

impl PushOut for Pair {
    /// The one nearest to the tail of the queue with more bytes of unmarked packets.
    fn push_out(&mut self, pool: &mut PacketPool) -> Option<PacketId> {
        let is_classic = self.classic.ordinary_bytes() >= self.low_latency.ordinary_bytes();
        if is_classic { &mut self.classic } else { &mut self.low_latency }.push_out(pool)
    }
}

/// Values that an update changes.
#[derive(Clone, Debug)]
struct Controller {
    /// The base probability p'.
    base: f64,
    last_delay: Duration,
}

impl Controller {
    /// RFC 9332 appendix A.2, figure 8. Without drops at overload p' stays where the low-latency queue marks all.
    fn update(&mut self, delay: Duration, params: &Params) {
        let growth = pi_growth((params.alpha, params.beta), params.target, delay, self.last_delay);
        let most = if params.drop_on_overload { 1.0 } else { 1.0 / params.coupling };
        self.base = (self.base + growth).clamp(0.0, most);
        self.last_delay = delay;
    }
}

/// Fate of a packet that leaves.
enum Verdict {
    Pass,
    Mark,
    Drop,
}

/// The discipline.
#[derive(Clone, Debug)]
pub struct DualPi2 {
    params: Params,
    exemption: Exemption,
    updates: Updates,
    controller: Controller,
    pair: Pair,
    /// In bytes times percent: up to 0 the low-latency queue is served, above the classic one.
    credit: i64,
    sojourn: Duration,
    rng: Rng,
}

/// True if a packet belongs to the low-latency queue: ECT(1) or CE (RFC 9331 §5.1).
fn is_low_latency(ecn: Ecn) -> bool {
    matches!(ecn, Ecn::Ect1 | Ecn::Ce)
}

impl DualPi2 {
    #[inline(always)]
    fn catch_up(&mut self, now: Time) {
        let (controller, pair, params) = (&mut self.controller, &self.pair, &self.params);
        self.updates.make_up(now, |at| controller.update(pair.delay(at), params));
    }

    /// The credit at which the low-latency queue begins, as in Linux: a large packet by the difference of the shares.
    fn first_credit(params: &Params) -> i64 {
        params.max_packet.0 as i64 * (2 * i64::from(params.classic_share) - 100)
    }

    /// True if the low-latency queue is next; `None` if nothing waits.
    fn next_is_low_latency(&self) -> Option<bool> {
        let (classic, low_latency) = (!self.pair.classic.is_empty(), !self.pair.low_latency.is_empty());
        (classic || low_latency).then_some(low_latency && (!classic || self.credit <= 0))
    }

    /// A packet leaves. It costs no credit where nothing of the other queue waits, as in Linux.
    fn take_credit(&mut self, size: Bytes, low_latency: bool, was_alone: bool) {
        if was_alone {
            return;
        }
        let (size, share) = (size.0 as i64, i64::from(self.params.classic_share));
        self.credit += if low_latency { size * share } else { -size * (100 - share) };
    }

    fn rolls(&mut self, probability: f64) -> bool {
        self.rng.uniform() < probability
    }

    /// RFC 9332 appendix A.2, figure 7, with draws for `recur`. A probability of a square takes two draws, the second only if the first
    /// succeeds.
    fn verdict(&mut self, low_latency: bool, ecn: Ecn) -> Verdict {
        if self.pair.bytes() < 2 * self.params.max_packet.0 {
            return Verdict::Pass;
        }
        let base = self.controller.base;
        let is_overload = base * self.params.coupling > 1.0;
        match (low_latency, is_overload) {
            (true, true) if self.params.drop_on_overload && self.rolls(base) && self.rolls(base) => {
                Verdict::Drop
            }
            (true, true) => Verdict::Mark,
            (true, false) if self.rolls(base * self.params.coupling) => Verdict::Mark,
            (true, false) => Verdict::Pass,
            (false, _) if !(self.rolls(base) && self.rolls(base)) => Verdict::Pass,
            (false, true) => Verdict::Drop,
            (false, false) if ecn == Ecn::NotEct => Verdict::Drop,
            (false, false) => Verdict::Mark,
        }
    }

    /// Decides on a packet that is about to leave, unless it is spared; whether it does leave.
    fn passes(&mut self, packet: &PacketId, low_latency: bool, cx: &mut QdiscCx<'_>) -> bool {
        if self.exemption.spares(packet, cx.pool) {
            return true;
        }
        let is_late = low_latency && self.sojourn > self.params.step;
        let marks = match self.verdict(low_latency, cx.pool[packet].header.tos.ecn()) {
            Verdict::Drop => return false,
            Verdict::Mark => true,
            Verdict::Pass => is_late,
        };
        !marks || cx.mark_ce(packet)
    }
}

impl QueueDisc for DualPi2 {
    type Params = Params;

    fn new(params: &Params, rng: Rng) -> DualPi2 {
        let line = || Timed::with_mark(params.mark);
        DualPi2 {
            exemption: params.exemption(),
            updates: Updates::each(params.update_interval),
            controller: Controller { base: 0.0, last_delay: Duration::ZERO },
            pair: Pair { classic: line(), low_latency: line() },
            credit: DualPi2::first_credit(params),
            sojourn: Duration::ZERO,
            rng,
            params: params.clone(),
        }
    }

    #[inline(never)]
    fn enqueue(&mut self, packet: PacketId, cx: &mut QdiscCx<'_>) {
        self.catch_up(cx.now);
        let limit = self.params.limit.0 as usize;
        let admitted = self.exemption.admit(packet, &mut self.pair, |pair| pair.packets() >= limit, cx);
        let Some(packet) = admitted else { return };
        if is_low_latency(cx.pool[&packet].header.tos.ecn()) {
            self.pair.low_latency.push(packet, cx.now, cx.pool);
        } else {
            self.pair.classic.push(packet, cx.now, cx.pool);
        }
    }

    #[inline(never)]
    fn dequeue(&mut self, cx: &mut QdiscCx<'_>) -> Option<PacketId> {
        self.catch_up(cx.now);
        while let Some(low_latency) = self.next_is_low_latency() {
            let was_alone = self.pair.classic.is_empty() || self.pair.low_latency.is_empty();
            let line = if low_latency { &mut self.pair.low_latency } else { &mut self.pair.classic };
            let (packet, sojourn) = line.pop(cx.now, cx.pool)?;
            self.sojourn = sojourn;
            if !self.passes(&packet, low_latency, cx) {
                cx.drop(packet, DropReason::EarlyDrop);
                continue;
            }
            self.take_credit(cx.pool[&packet].wire_size(), low_latency, was_alone);
            return Some(packet);
        }
        self.credit = DualPi2::first_credit(&self.params);
        self.sojourn = Duration::ZERO;
        None
    }

    fn take_matching(&mut self, wanted: &Matching<'_>, cx: &mut QdiscCx<'_>) -> Vec<PacketId> {
        self.catch_up(cx.now);
        let mut taken = self.pair.low_latency.take_matching(wanted, cx.pool);
        taken.extend(self.pair.classic.take_matching(wanted, cx.pool));
        taken
    }

    fn head(&self) -> Option<&PacketId> {
        let low_latency = self.next_is_low_latency()?;
        if low_latency { self.pair.low_latency.head() } else { self.pair.classic.head() }
    }

    fn packets(&self) -> usize {
        self.pair.packets()
    }

    fn bytes(&self) -> Bytes {
        Bytes(self.pair.bytes())
    }

    fn gauges(&self) -> Gauges {
        let base = self.controller.base;
        Gauges {
            probability: base * base,
            coupled: (base * self.params.coupling).min(1.0),
            sojourn: self.sojourn,
            forwarded: self.pair.classic.forwarded() + self.pair.low_latency.forwarded(),
            ..Gauges::default()
        }
    }

    fn marking_state(&self) -> Option<MarkingState> {
        let Controller { base, last_delay } = self.controller;
        Some(MarkingState::Controller { probability: base, delay: last_delay, burst: Duration::ZERO })
    }

    fn adopt(&mut self, state: &MarkingState, now: Time) {
        self.catch_up(now);
        if let MarkingState::Controller { probability, delay, .. } = *state {
            self.controller = Controller { base: probability, last_delay: delay };
        }
    }
}

#[cfg(test)]
mod tests;
