//! Saturation throughput in closed form: G. Bianchi, "Performance Analysis of the IEEE 802.11 Distributed Coordination
//! Function", IEEE JSAC 18(3), 2000; with a retry limit as H. Wu et al., INFOCOM 2002.
//!
//! A station's backoff is a Markov chain over slots. Some slots are short, because no station sends, and some are as
//! long as an exchange. A station sends in a slot with probability tau, and collides with probability p.

/// `base` this number of times.
fn power(base: f64, times: i32) -> f64 {
    libm::pow(base, f64::from(times))
}

/// A cell of stations that always have a frame to send. Times are in µs.
pub struct Saturated {
    pub stations: i32,
    /// Slots to draw from at first, CWmin + 1, and how often they double.
    pub window: f64,
    pub doublings: i32,
    /// How often a frame is sent before it is given up.
    pub attempts: i32,
    pub slot: f64,
    /// How long a success and a collision keep the medium from the others, pauses included.
    pub success: f64,
    pub collision: f64,
}

impl Saturated {
    /// Bianchi's equation (7), over all attempts.
    fn tau(&self, p: f64) -> f64 {
        let slots = |stage: i32| (self.window * power(2.0, stage.min(self.doublings)) + 1.0) / 2.0;
        let reach: Vec<f64> = (0..self.attempts).map(|stage| power(p, stage)).collect();
        let waited: f64 = (0..self.attempts).zip(&reach).map(|(stage, reach)| reach * slots(stage)).sum();
        reach.iter().sum::<f64>() / waited
    }

    /// The probability that a frame collides: where equations (7) and (9) agree.
    pub fn collision_probability(&self) -> f64 {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let p = (low + high) / 2.0;
            let implied = 1.0 - power(1.0 - self.tau(p), self.stations - 1);
            if implied > p { low = p } else { high = p }
        }
        low
    }

    /// Successes a second: equation (13) without its payload.
    pub fn frames_per_second(&self) -> f64 {
        let tau = self.tau(self.collision_probability());
        let idle = power(1.0 - tau, self.stations);
        let success = f64::from(self.stations) * tau * power(1.0 - tau, self.stations - 1);
        let collision = 1.0 - idle - success;
        success * 1e6 / (idle * self.slot + success * self.success + collision * self.collision)
    }
}
