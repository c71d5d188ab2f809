use super::*;

/// What a station has got through, in the run of a [`Cell`].
#[derive(Clone, Default, Debug)]
struct Tally {
    received: u64,
    lost: u64,
    air: Duration,
}

/// A medium whose stations always have a frame of 1500 B.
struct Cell {
    medium: Dcf,
    now: Time,
    tallies: Vec<Tally>,
    rate: Rate,
}

impl Cell {
    fn new(params: &Params, stations: u32, rate: Rate, seed: u64) -> Cell {
        let mut medium = Dcf::new(params, Rng::named(seed, 0, "medium"));
        for station in 0..stations {
            let role = if station == 0 { Role::BaseStation } else { Role::Host };
            medium.join(station, role, Rng::named(seed, 0, &format!("medium/{station}")));
        }
        Cell { medium, now: Time::ZERO, tallies: vec![Tally::default(); stations as usize], rate }
    }

    fn frame(&self, station: u32) -> Frame {
        Frame { station, size: Bytes(1500), rate: self.rate, broadcast: false }
    }

    /// All stations always want to send, for so long.
    fn saturate(&mut self, span: Duration) {
        for station in 0..self.tallies.len() as u32 {
            self.medium.offer(self.frame(station), self.now);
        }
        let end = self.now + span;
        while let Some(deadline) = self.medium.next_deadline().filter(|deadline| *deadline < end) {
            self.now = deadline.max(self.now);
            while let Some(Outcome { station, fate, air, free, .. }) =
                self.medium.on_deadline(self.now, &|_, _| true)
            {
                let tally = &mut self.tallies[station as usize];
                tally.air += air;
                match fate {
                    Some(Fate::Received) => tally.received += 1,
                    Some(Fate::Lost(_)) => tally.lost += 1,
                    None => {}
                }
                if free {
                    self.medium.offer(self.frame(station), self.now);
                }
            }
        }
    }

    fn received(&self) -> u64 {
        self.tallies.iter().map(|tally| tally.received).sum()
    }
}

#[test]
fn look() {
    for rts in [false, true] {
        for n in [1u32, 2, 3, 5, 10, 15, 20] {
            let params = Params {
                beacon_interval: Duration::ZERO,
                rts_threshold: Bytes(if rts { 0 } else { 2347 }),
                ..Params::default()
            };
            let mut cell = Cell::new(&params, n, Rate::from_bps(11_000_000), 1);
            cell.saturate(Duration::from_secs(200));
            let s = cell.received() as f64 * 12_000.0 / 200.0;
            let lost: u64 = cell.tallies.iter().map(|t| t.lost).sum();
            let t = &cell.medium.timing;
            let r = Rate::from_bps(11_000_000);
            let us = |d: Duration| d.as_nanos() as f64 / 1e3;
            let (data, ack, rt, ct) = (us(t.data(Bytes(1500), r)), us(t.ack(r)), us(t.rts(r)), us(t.cts(r)));
            let air: f64 = cell.tallies.iter().map(|t| us(t.air)).sum();
            let succ = cell.received() as f64;
            let (ts, first) =
                if rts { (rt + 10. + ct + 10. + data + 10. + ack, rt) } else { (data + 10. + ack, data) };
            let fails = (air - succ * ts) / first;
            let p = fails / (fails + succ);
            print!("rts {rts} n {n}: {s:.0} lost {lost} p {p:.4}");
            for (limit, tc) in [(1000, 50.0), (7, 50.0), (1000, 364.0), (7, 364.0)] {
                let (th, pp) = bianchi(n, 32.0, 5, limit, ts + 50.0, first + tc, 20.0);
                print!("  [{limit} {tc}: {:+.2}% p {pp:.4}]", 100.0 * (s / th - 1.0));
            }
            println!();
        }
    }
}

fn bianchi(n: u32, w: f64, m: i32, limit: i32, ts: f64, tc: f64, sigma: f64) -> (f64, f64) {
    let tau_of = |p: f64| {
        let (mut a, mut b) = (0.0, 0.0);
        let mut q = 1.0;
        for i in 0..limit {
            a += q;
            b += q * (w * f64::from(2i32.pow(i.min(m) as u32)) + 1.0) / 2.0;
            q *= p;
        }
        a / b
    };
    let (mut lo, mut hi) = (0.0, 1.0);
    for _ in 0..100 {
        let p = (lo + hi) / 2.0;
        let implied = 1.0 - (1.0 - tau_of(p)).powi(n as i32 - 1);
        if implied > p { lo = p } else { hi = p }
    }
    let p = (lo + hi) / 2.0;
    let tau = tau_of(p);
    let idle = (1.0 - tau).powi(n as i32);
    let success = f64::from(n) * tau * (1.0 - tau).powi(n as i32 - 1);
    let slot = idle * sigma + success * ts + (1.0 - idle - success) * tc;
    (success * 12_000.0 / slot * 1e6, p)
}
