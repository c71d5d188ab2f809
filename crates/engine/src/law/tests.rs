//! Draws by each law, and laws that are refused.

use super::*;
use crate::law::measured::interpolated;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn mean_ms(law: &DurationLaw) -> f64 {
    let (mut rng, n) = (Rng::named(1, 0, "law"), 100_000);
    (0..n).map(|_| law.draw(&mut rng).as_secs_f64()).sum::<f64>() * 1000.0 / f64::from(n)
}

#[test]
fn the_means_are_those_of_the_laws() {
    assert_eq!(DurationLaw::Constant(ms(50)).draw(&mut Rng::named(1, 0, "law")), ms(50));
    let uniform = DurationLaw::Drawn(DrawnDuration::Uniform(Uniform { least: ms(20), most: ms(100) }));
    // The mean of n draws has a standard deviation of 80 / sqrt(12 n) = 0.073 ms.
    assert!((mean_ms(&uniform) - 60.0).abs() < 4.0 * 0.073);
    let mut rng = Rng::named(2, 0, "law");
    assert!((0..1000).all(|_| (ms(20)..ms(100)).contains(&uniform.draw(&mut rng))));
    let exponential = DurationLaw::Drawn(DrawnDuration::Exponential(Exponential { mean: ms(50) }));
    // 50 / sqrt(n) = 0.158 ms.
    assert!((mean_ms(&exponential) - 50.0).abs() < 4.0 * 0.158);
}

#[test]
fn a_law_that_no_time_follows_is_refused_by_its_field() {
    let field = |law: DurationLaw| law.check().unwrap_err().0;
    let uniform = DrawnDuration::Uniform(Uniform { least: ms(20), most: ms(20) });
    assert_eq!(field(DurationLaw::Drawn(uniform)), "most");
    let exponential = DrawnDuration::Exponential(Exponential { mean: Duration::ZERO });
    assert_eq!(field(DurationLaw::Drawn(exponential)), "mean");
    assert_eq!(DurationLaw::default().check(), Ok(()));
}

fn measured(table: MeasuredDurations) -> DurationLaw {
    DurationLaw::Drawn(DrawnDuration::Measured(Measured { table }))
}

#[test]
fn a_measured_law_goes_through_its_points() {
    for &table in MeasuredDurations::ALL {
        let (known, most) = table.quantiles_ms();
        for (probability, ms) in MeasuredDurations::PROBABILITIES.into_iter().zip(known) {
            assert!((table.quantile_ms(probability) - ms as f64).abs() < 1e-9, "{table:?} {probability}");
        }
        assert_eq!(table.quantile_ms(0.0), known[0] as f64 / 2.0, "{table:?}");
        if let Some(most) = most {
            assert_eq!(table.quantile_ms(1.0), most as f64, "{table:?}");
        }
        let rising: Vec<f64> = (0..=1000).map(|step| table.quantile_ms(f64::from(step) / 1000.0)).collect();
        assert!(rising.is_sorted(), "{table:?}");
    }
    // Half way between 26 ms at 5 % and 34 ms at 50 %.
    assert!((MeasuredDurations::LtePcell.quantile_ms(0.275) - 30.0).abs() < 1e-9);
    // From 46 ms at 95 % by 54 ms at 99 %: 2 ms more.
    assert!((MeasuredDurations::Conext25Nsa.quantile_ms(1.0) - 56.0).abs() < 1e-9);
    assert!((MeasuredDurations::Conext25Sa.quantile_ms(1.0) - 59.75).abs() < 1e-9);
}

#[test]
fn draws_have_the_quantiles_of_the_law() {
    let own = Quantiles { points: vec![(0.25, ms(10)), (0.75, ms(20)), (0.95, ms(20)), (0.99, ms(200))] };
    let laws = MeasuredDurations::ALL.iter().map(|&table| measured(table));
    let quantiles = DurationLaw::Drawn(DrawnDuration::Quantiles(own));
    for law in laws.chain([quantiles]) {
        assert_eq!(law.check(), Ok(()));
        let (mut rng, count) = (Rng::named(3, 0, "law"), 100_000);
        let draws: Vec<Duration> = (0..count).map(|_| law.draw(&mut rng)).collect();
        let quantile = |probability: f64| match &law {
            DurationLaw::Drawn(DrawnDuration::Measured(Measured { table })) => table.quantile_ms(probability),
            _ => [(0.05, 10.0), (0.5, 15.0), (0.9, 20.0), (0.95, 20.0), (0.99, 200.0)]
                .into_iter()
                .find_map(|(at, value)| (at == probability).then_some(value))
                .unwrap_or_default(),
        };
        for probability in [0.05, 0.5, 0.9, 0.99] {
            // The share of draws up to a quantile has a standard deviation of 0.0016 at most.
            let longest = Duration::from_nanos((quantile(probability) * 1e6) as u64);
            let share = draws.iter().filter(|&&draw| draw <= longest).count() as f64 / f64::from(count);
            let flat = matches!(law, DurationLaw::Drawn(DrawnDuration::Quantiles(_)));
            let least = share >= probability - 0.007;
            assert!(least && (flat || share <= probability + 0.007), "{law:?} {probability}: {share}");
        }
    }
}

#[test]
fn below_and_above_its_points_a_law_is_level() {
    let points = [(0.25, 10.0), (0.75, 20.0)];
    let at = |probability| interpolated(points, probability);
    assert_eq!([0.0, 0.25, 0.5, 0.75, 1.0].map(at), [10.0, 10.0, 15.0, 20.0, 20.0]);
}

#[test]
fn points_that_do_not_rise_are_refused() {
    let fault = |points: &[(f64, u64)]| {
        let points = points.iter().map(|&(share, millis)| (share, ms(millis))).collect();
        let law = DurationLaw::Drawn(DrawnDuration::Quantiles(Quantiles { points }));
        law.check().err().map(|(field, message)| (field, message.split(';').next().unwrap_or("").to_owned()))
    };
    let refused = |message: &str| Some(("points", message.to_owned()));
    assert_eq!(fault(&[(0.0, 10), (1.0, 10)]), None);
    assert_eq!(fault(&[(0.5, 10)]), refused("must be two points at least, and has 1"));
    assert_eq!(fault(&[(0.5, 10), (1.5, 20)]), refused("1.5 is no probability from 0 to 1"));
    assert_eq!(fault(&[(f64::NAN, 10), (1.0, 20)]), refused("NaN is no probability from 0 to 1"));
    assert_eq!(fault(&[(0.5, 10), (0.5, 20)]), refused("probabilities must rise, and 0.5 comes behind 0.5"));
    let falls = "times must not fall, and \"9 ms\" comes behind \"10 ms\"";
    assert_eq!(fault(&[(0.5, 10), (0.6, 9)]), refused(falls));
}
