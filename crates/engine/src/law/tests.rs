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

fn quantile_ms(table: MeasuredDurations, probability: f64) -> f64 {
    interpolated(table.curve_ms(), probability)
}

#[test]
fn a_measured_law_goes_through_its_points() {
    for &table in MeasuredDurations::ALL {
        let points = table.points_ms();
        for &(probability, ms) in points {
            assert!((quantile_ms(table, probability) - ms).abs() < 1e-9, "{table:?} {probability}");
        }
        let least = points.iter().find(|(share, _)| *share == 0.0).map_or(points[0].1 / 2.0, |&(_, ms)| ms);
        assert_eq!(quantile_ms(table, 0.0), least, "{table:?}");
        let rising: Vec<f64> = (0..=1000).map(|step| quantile_ms(table, f64::from(step) / 1000.0)).collect();
        assert!(rising.is_sorted(), "{table:?}");
        let last = table.curve_ms().last().copied();
        assert_eq!(last.map(|(share, _)| share), Some(1.0), "{table:?}");
    }
    // Half way between 26 ms at 5 % and 34 ms at 50 %.
    assert!((quantile_ms(MeasuredDurations::LtePcell, 0.275) - 30.0).abs() < 1e-9);
    // From 46 ms at 95 % by 54 ms at 99 %: 2 ms more.
    assert!((quantile_ms(MeasuredDurations::Conext25Nsa, 1.0) - 56.0).abs() < 1e-9);
    assert!((quantile_ms(MeasuredDurations::Conext25Sa, 1.0) - 59.75).abs() < 1e-9);
    // A median alone: from its half to its half more.
    assert!((quantile_ms(MeasuredDurations::PreparationLte, 1.0) - 147.0).abs() < 1e-9);
    // From 128 ms at 90 % by 373 ms at 99 %: a ninth of 245 ms more.
    assert!((quantile_ms(MeasuredDurations::PreparationSa, 1.0) - (373.0 + 245.0 / 9.0)).abs() < 1e-6);
}

#[test]
fn silences_are_as_frequent_above_each_bound_as_they_were_counted() {
    for &table in MeasuredDurations::ALL {
        let Some(counts) = table.per_hour() else { continue };
        let law = measured(table);
        let (mut rng, n) = (Rng::named(5, 0, "law"), 200_000);
        let draws: Vec<Duration> = (0..n).map(|_| law.draw(&mut rng)).collect();
        for (above, count) in [100, 250, 1000, 3000].into_iter().zip(counts) {
            let share = draws.iter().filter(|&&draw| draw >= ms(above)).count() as f64 / f64::from(n);
            let expected = count / counts[0];
            let bound = 4.0 * (expected * (1.0 - expected) / f64::from(n)).sqrt() + 1e-9;
            assert!((share - expected).abs() <= bound, "{table:?} above {above} ms: {share} {expected}");
        }
    }
}

fn mixture(parts: &[(f64, DurationLaw)]) -> DurationLaw {
    let components =
        parts.iter().map(|(weight, law)| Component { weight: *weight, law: law.clone() }).collect();
    DurationLaw::Drawn(DrawnDuration::Mixture(Mixture { components }))
}

#[test]
fn a_mixture_chooses_its_laws_by_their_weights() {
    let law = mixture(&[(3.0, DurationLaw::Constant(ms(10))), (1.0, DurationLaw::Constant(ms(50)))]);
    let (mut rng, n) = (Rng::named(4, 0, "law"), 100_000);
    let draws: Vec<Duration> = (0..n).map(|_| law.draw(&mut rng)).collect();
    assert!(draws.iter().all(|&draw| draw == ms(10) || draw == ms(50)));
    // A share of a quarter has a standard deviation of sqrt(3) / 4 / sqrt(n) = 0.0014.
    let long = draws.iter().filter(|&&draw| draw == ms(50)).count() as f64 / f64::from(n);
    assert!((long - 0.25).abs() < 4.0 * 0.0014, "{long}");
    // Independent choices: a long time follows a long one as often as any.
    let pairs = draws.windows(2).filter(|pair| pair[0] == ms(50) && pair[1] == ms(50)).count() as f64;
    assert!((pairs / f64::from(n) - 0.0625).abs() < 4.0 * 0.0008);
}

#[test]
fn the_mean_is_that_of_the_draws() {
    let exponential = DurationLaw::Drawn(DrawnDuration::Exponential(Exponential { mean: ms(50) }));
    let uniform = DurationLaw::Drawn(DrawnDuration::Uniform(Uniform { least: ms(20), most: ms(100) }));
    let own = Quantiles { points: vec![(0.25, ms(10)), (0.75, ms(20))] };
    let own = DurationLaw::Drawn(DrawnDuration::Quantiles(own));
    assert_eq!(own.mean(), ms(15));
    let both = mixture(&[(1.0, exponential.clone()), (3.0, uniform.clone())]);
    assert_eq!(both.mean(), Duration::from_micros(57_500));
    for law in [exponential, uniform, own, both, measured(MeasuredDurations::SilenceVzw2023)] {
        let (drawn, mean) = (mean_ms(&law), law.mean().as_secs_f64() * 1e3);
        // No law's deviation is more than three times its mean: of the mean of 100,000 draws it is 1 % at most.
        assert!((drawn - mean).abs() < 0.04 * mean, "{law:?} {drawn} {mean}");
    }
}

#[test]
fn a_mixture_that_makes_no_sense_is_refused_by_its_field() {
    let constant = DurationLaw::Constant(ms(10));
    let fault = |law: DurationLaw| law.check().err().map(|(field, _)| field).unwrap_or_default();
    let two = mixture(&[(1.0, constant.clone()), (2.0, constant.clone())]);
    assert_eq!(two.check(), Ok(()));
    assert_eq!(fault(mixture(&[(1.0, constant.clone())])), "components");
    for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(
            fault(mixture(&[(1.0, constant.clone()), (weight, constant.clone())])),
            "components[1].weight"
        );
    }
    assert_eq!(fault(mixture(&[(1.0, two), (1.0, constant.clone())])), "components[0].law");
    let uniform = DurationLaw::Drawn(DrawnDuration::Uniform(Uniform { least: ms(20), most: ms(20) }));
    assert_eq!(fault(mixture(&[(1.0, constant), (1.0, uniform)])), "components[1].law.most");
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
            DurationLaw::Drawn(DrawnDuration::Measured(Measured { table })) => {
                quantile_ms(*table, probability)
            }
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
    let refused = |message: &str| Some(("points".to_owned(), message.to_owned()));
    assert_eq!(fault(&[(0.0, 10), (1.0, 10)]), None);
    assert_eq!(fault(&[(0.5, 10)]), refused("must be two points at least, and has 1"));
    assert_eq!(fault(&[(0.5, 10), (1.5, 20)]), refused("1.5 is no probability from 0 to 1"));
    assert_eq!(fault(&[(f64::NAN, 10), (1.0, 20)]), refused("NaN is no probability from 0 to 1"));
    assert_eq!(fault(&[(0.5, 10), (0.5, 20)]), refused("probabilities must rise, and 0.5 comes behind 0.5"));
    let falls = "times must not fall, and \"9 ms\" comes behind \"10 ms\"";
    assert_eq!(fault(&[(0.5, 10), (0.6, 9)]), refused(falls));
}
