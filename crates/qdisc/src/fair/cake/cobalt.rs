//! COBALT, the queue management of CAKE: CoDel, which counts down again when the queue is short, with BLUE, which drops
//! at random after an overflow.

/// Linux's changes of BLUE's probability, of 2^32.
const GROWTH: u32 = 1 << 24;
const DECAY: u32 = 1 << 20;

/// A time long before the start of the run.
const LONG_AGO: i64 = -(1 << 60);

/// 2^32/√count for small counts, for which one step of Newton's iteration is not enough. These are Linux's values
/// (`inv_sqrt_cache`), which differ from the root by 1 at most.
const ROOTS: [u32; 16] = [
    u32::MAX,
    u32::MAX,
    3_037_000_500,
    2_479_700_525,
    2_147_483_647,
    1_920_767_767,
    1_753_413_056,
    1_623_345_051,
    1_518_500_250,
    1_431_655_765,
    1_358_187_914,
    1_294_981_364,
    1_239_850_263,
    1_191_209_601,
    1_147_878_294,
    1_108_955_788,
];

/// Parameters of COBALT, in ns.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Law {
    pub interval: u64,
    pub target: u64,
}

/// The state of one flow. Times are in ns.
#[derive(Clone, Debug)]
pub(super) struct Cobalt {
    count: u32,
    /// 2^32/√count, as far as it is known; 0 before the first drop or mark.
    root: u32,
    /// When the next packet is dropped; of a flow with nothing to drop, until when it is active.
    drop_next: i64,
    blue_changed: i64,
    /// BLUE's probability, of 2^32.
    chance: u32,
    dropping: bool,
}

impl Default for Cobalt {
    fn default() -> Cobalt {
        let (drop_next, blue_changed) = (LONG_AGO, LONG_AGO);
        Cobalt { count: 0, root: 0, drop_next, blue_changed, chance: 0, dropping: false }
    }
}

impl Cobalt {
    /// `t + interval/√count` (`cobalt_control`, which takes 32 bits of the interval).
    fn after(&self, time: i64, law: &Law) -> i64 {
        time + ((u64::from(law.interval as u32) * u64::from(self.root)) >> 32) as i64
    }

    /// The root of a count that has changed by one: from the table, or one step r ← r·(3 − count·r²)/2.
    fn find_root(&mut self) {
        if let Some(root) = ROOTS.get(self.count as usize) {
            self.root = *root;
            return;
        }
        let root = u64::from(self.root);
        let rest = (3_u64 << 32).wrapping_sub(u64::from(self.count) * ((root * root) >> 32)) >> 2;
        self.root = (rest.wrapping_mul(root) >> 31) as u32;
    }

    /// A packet was lost because all is full.
    pub(super) fn on_full(&mut self, law: &Law, now: i64) {
        if (now - self.blue_changed) as u64 > law.target {
            self.chance = self.chance.saturating_add(GROWTH);
            self.blue_changed = now;
        }
        (self.dropping, self.drop_next) = (true, now);
        self.count = self.count.max(1);
    }

    /// The flow had its turn and no packet.
    pub(super) fn on_empty(&mut self, law: &Law, now: i64) {
        if self.chance > 0 && (now - self.blue_changed) as u64 > law.target {
            self.chance = self.chance.saturating_sub(DECAY);
            self.blue_changed = now;
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.count_down(law);
        }
    }

    fn count_down(&mut self, law: &Law) {
        self.count -= 1;
        self.find_root();
        self.drop_next = self.after(self.drop_next, law);
    }

    /// True if nothing of the past matters any more.
    pub(super) fn is_at_rest(&self, now: i64) -> bool {
        self.chance == 0 && self.count == 0 && now >= self.drop_next
    }

    /// True if a packet that has waited for `sojourn` ns is to be dropped. `mark` marks it instead, if it
    /// can; `draw` gives 32 random bits.
    pub(super) fn drops(
        &mut self,
        law: &Law,
        (now, sojourn): (i64, u64),
        mark: impl FnOnce() -> bool,
        draw: impl FnOnce() -> u32,
    ) -> bool {
        let is_due = self.count > 0 && now >= self.drop_next;
        let (mut late_by, mut drop) = (now - self.drop_next, false);
        if sojourn > law.target {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = self.after(now, law);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        if is_due && self.dropping {
            drop = !mark();
            self.count = self.count.saturating_add(1);
            self.find_root();
            self.drop_next = self.after(self.drop_next, law);
            late_by = now - self.drop_next;
        } else if is_due {
            while self.count > 0 && late_by >= 0 {
                self.count_down(law);
                late_by = now - self.drop_next;
            }
        }
        if self.chance > 0 {
            drop |= draw() < self.chance;
        }
        if self.count == 0 {
            self.drop_next = now + law.interval as i64;
        } else if late_by > 0 && !drop {
            self.drop_next = now;
        }
        drop
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAW: Law = Law { interval: 100_000_000, target: 5_000_000 };

    /// The time until the next drop in ms, of a flow whose packets have all waited for 20 ms, asked each ms for 700 ms.
    fn drops_of(cobalt: &mut Cobalt, millis: std::ops::Range<i64>, sojourn_ms: u64) -> Vec<i64> {
        let mut ask =
            |now: i64| cobalt.drops(&LAW, (now * 1_000_000, sojourn_ms * 1_000_000), || false, || u32::MAX);
        millis.filter(|now| ask(*now)).collect()
    }

    #[test]
    fn the_table_has_the_roots() {
        for (count, root) in ROOTS.iter().enumerate().skip(1) {
            let exact = 4_294_967_296.0 / libm::sqrt(count as f64);
            assert!((f64::from(*root) - exact).abs() <= 1.0, "{count}");
        }
    }

    #[test]
    fn the_root_of_a_large_count_takes_one_step() {
        let mut cobalt = Cobalt { count: 15, root: ROOTS[15], ..Cobalt::default() };
        for count in 16..200_u32 {
            cobalt.count = count;
            cobalt.find_root();
            let exact = 4_294_967_296.0 / libm::sqrt(f64::from(count));
            assert!((f64::from(cobalt.root) / exact - 1.0).abs() < 0.002, "{count}");
        }
    }

    #[test]
    fn the_first_drop_of_a_new_flow_does_not_wait_for_an_interval() {
        // Linux begins with a root of 0. Then 100, 70.7, 57.7, 50, 44.7, 40.8 ms follow.
        let mut cobalt = Cobalt::default();
        assert_eq!(drops_of(&mut cobalt, 0..400, 20), [1, 71, 129, 179, 224, 264, 302, 338, 371]);
    }

    #[test]
    fn a_short_queue_lets_the_count_down_at_the_same_pace() {
        let mut cobalt = Cobalt::default();
        assert_eq!(drops_of(&mut cobalt, 0..230, 20), [1, 71, 129, 179, 224]);
        assert_eq!(cobalt.count, 6);
        assert_eq!(drops_of(&mut cobalt, 230..300, 4), [0; 0]);
        // Due at 224 + 40.8 ms; the next is 44.7 ms later.
        assert_eq!(cobalt.count, 5);
        assert_eq!(drops_of(&mut cobalt, 300..400, 4), [0; 0]);
        assert_eq!(cobalt.count, 3);
    }

    #[test]
    fn a_mark_takes_the_place_of_a_drop() {
        let mut cobalt = Cobalt { count: 1, root: u32::MAX, ..Cobalt::default() };
        let times = (0, 20_000_000);
        cobalt.dropping = true;
        let mut marked = false;
        let drops = cobalt.drops(
            &LAW,
            times,
            || {
                marked = true;
                true
            },
            || 0,
        );
        assert_eq!((drops, marked, cobalt.count), (false, true, 2));
    }

    #[test]
    fn blue_grows_by_a_256th_and_decays_by_a_4096th_each_target() {
        let mut cobalt = Cobalt::default();
        for millis in 0..10 {
            cobalt.on_full(&LAW, millis * 1_000_000);
        }
        // At 0 and 6 ms.
        assert_eq!(cobalt.chance, 2 * GROWTH);
        assert_eq!((cobalt.count, cobalt.drop_next), (1, 9_000_000));
        for millis in 10..23 {
            cobalt.on_empty(&LAW, millis * 1_000_000);
        }
        // At 12 and 18 ms.
        assert_eq!(cobalt.chance, 2 * GROWTH - 2 * DECAY);
        cobalt.chance = DECAY / 2;
        cobalt.on_empty(&LAW, 24_000_000);
        assert_eq!(cobalt.chance, 0);
    }

    #[test]
    fn blue_drops_below_its_probability_and_cannot_mark() {
        let mut cobalt = Cobalt { chance: GROWTH, ..Cobalt::default() };
        assert!(cobalt.drops(&LAW, (0, 0), || true, || GROWTH - 1));
        assert!(!cobalt.drops(&LAW, (0, 0), || true, || GROWTH));
    }

    #[test]
    fn a_flow_is_active_for_an_interval_after_its_last_packet() {
        let mut cobalt = Cobalt::default();
        assert!(cobalt.is_at_rest(0));
        assert!(!cobalt.drops(&LAW, (0, 0), || false, || 0));
        assert!(!cobalt.is_at_rest(99_999_999) && cobalt.is_at_rest(100_000_000));
    }

    #[test]
    fn a_late_drop_leaves_the_next_to_its_own_time() {
        // `cobalt_should_drop`: drop_next is now only if this packet stays; otherwise 100 ms / √2 behind the last one.
        for (marks, next) in [(false, 70_710_678), (true, 1_000_000_000)] {
            let mut cobalt =
                Cobalt { count: 1, root: u32::MAX, drop_next: 0, dropping: true, ..Cobalt::default() };
            assert_eq!(cobalt.drops(&LAW, (1_000_000_000, 20_000_000), || marks, || u32::MAX), !marks);
            assert!(cobalt.drop_next.abs_diff(next) <= 1, "{}", cobalt.drop_next);
        }
    }

    #[test]
    fn a_flow_that_was_empty_waits_for_its_interval_again() {
        // `cobalt_queue_empty`: no longer dropping. The next packet above the target is due 100 ms / √3 later, not at 129 ms.
        let mut cobalt = Cobalt::default();
        assert_eq!(drops_of(&mut cobalt, 0..100, 20), [1, 71]);
        cobalt.on_empty(&LAW, 100_000_000);
        assert_eq!(cobalt.count, 3);
        assert_eq!(drops_of(&mut cobalt, 110..200, 20), [168]);
    }
}
