//! Random scenarios without hosts: two hops, of which one is in trouble.

use super::Case;

impl Case<'_> {
    /// Effects of a bottleneck on packets, as lines of a link.
    fn trouble(&mut self, end: f64) {
        if self.dice.chance(0.3) {
            let loss = self.loss();
            self.put(&format!("loss = {loss}"));
        }
        if self.dice.chance(0.3) {
            let loss = self.loss();
            self.put(&format!("reverse_loss = {loss}"));
        }
        for way in ["drops", "reverse_drops"] {
            if !self.dice.chance(0.4) {
                continue;
            }
            let mut all = Vec::new();
            for _ in 0..1 + self.dice.below(3) {
                let first = self.dice.below(150);
                let step = 1 + self.dice.below(40);
                let packets: Vec<String> =
                    (0..1 + self.dice.below(8)).map(|nth| (first + nth * step).to_string()).collect();
                let late = if self.dice.chance(0.6) {
                    format!(", delay = {}", self.delay(0.002, 0.6))
                } else {
                    String::new()
                };
                all.push(format!("{{ packets = [{}]{late} }}", packets.join(", ")));
            }
            self.put(&format!("{way} = [{}]", all.join(", ")));
        }
        if self.dice.chance(0.4) {
            let (from, gap) = (self.dice.between(0.1 * end, 0.7 * end), self.dice.between(0.02, 0.3 * end));
            let change = match self.dice.below(3) {
                0 => format!(
                    "rate = \"{:.0} bit/s\", delay = {}",
                    self.dice.between(2e5, 6e6),
                    self.delay(0.001, 0.15)
                ),
                1 => format!("delay = {}", self.delay(0.001, 0.15)),
                _ => format!("up = false }}, {{ at = \"{:.0} us\", up = true", 1e6 * (from + gap)),
            };
            self.put(&format!("changes = [{{ at = \"{:.0} us\", {change} }}]", 1e6 * from));
        }
    }

    /// Two hops, of which the second one is narrow and in trouble.
    pub(super) fn wires(&mut self) {
        // Some timers take ten seconds.
        let is_long = self.dice.chance(0.12);
        let (least, most, end) = if is_long { (10.5, 15.0, 10.0) } else { (0.8, 5.0, 3.0) };
        self.run(least, most);
        self.put("[[links]]\nbetween = [\"a\", \"r\"]\nrate = \"20 Mbit/s\"\ndelay = \"1 ms\"");
        let rate = self.dice.between(2e5, if is_long { 8e5 } else { 4e6 });
        let delay = self.delay(0.001, 0.12);
        self.put(&format!(
            "[[links]]\nbetween = [\"r\", \"b\"]\nrate = \"{rate:.0} bit/s\"\ndelay = {delay}"
        ));
        if self.dice.chance(0.25) {
            let (rate, delay) = (self.dice.between(1e5, 4e6), self.delay(0.001, 0.12));
            self.put(&format!("reverse_rate = \"{rate:.0} bit/s\"\nreverse_delay = {delay}"));
        }
        for (way, chance) in [("queue", 0.9), ("reverse_queue", 0.3)] {
            if self.dice.chance(chance) {
                let queue = self.queue(way);
                self.put(&format!("{way} = {queue}"));
            }
        }
        self.trouble(end);
        for _ in 0..self.dice.one_of(&[1, 1, 2, 3, 4]) {
            let (from, to) = if self.dice.chance(0.8) { ("a", "b") } else { ("b", "a") };
            self.flow(from, to, end, false);
        }
    }
}
