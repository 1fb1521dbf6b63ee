//! Each distribution against its own formulas: mean, variance, quantiles, and its distribution function.

use rand_xoshiro::rand_core::SeedableRng;

use super::*;

const SEED: u64 = 20;
const COUNT: usize = 200_000;

/// The Kolmogorov-Smirnov distance that a right sample of n exceeds once in a million times is this / sqrt(n):
/// sqrt(ln(2 / 1e-6) / 2).
const KS_CRITICAL: f64 = 2.693_54;

fn of(text: &str) -> Distribution {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn sample(text: &str) -> Vec<f64> {
    let distribution = of(text);
    draws_at(&mut Random::seed_from_u64(SEED), COUNT, |index, random| distribution.draw(index as u64, random))
}

fn refused(text: &str) -> String {
    text.parse::<Distribution>().unwrap_err().to_string()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / values.len() as f64
}

fn quantile(values: &mut [f64], q: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[(values.len() as f64 * q) as usize]
}

/// The largest distance between the share of `values` up to x and `cdf(x)`.
fn distance(values: &mut [f64], cdf: impl Fn(f64) -> f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let n = values.len() as f64;
    let gap = |(index, value): (usize, &f64)| {
        let at = cdf(*value);
        (at - index as f64 / n).abs().max((at - (index + 1) as f64 / n).abs())
    };
    values.iter().enumerate().map(gap).fold(0.0, f64::max)
}

/// Part of a straight line from (from, 0) to (to, 1).
fn ramp(x: f64, from: f64, to: f64) -> f64 {
    ((x - from) / (to - from)).clamp(0.0, 1.0)
}

/// The standard normal distribution function.
fn phi(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

/// The camel's function over 0 to 2, added up piece by piece.
fn camel(humps: u32, mass: f64, width: f64, x: f64) -> f64 {
    let (hump, gap) = (width / f64::from(humps), (1.0 - width) / f64::from(humps + 1));
    let (mut at, mut sum) = (0.0, 0.0);
    for piece in 0..=2 * humps {
        let (wide, weight) = match piece % 2 {
            0 => (gap, (1.0 - mass) / f64::from(humps + 1)),
            _ => (hump, mass / f64::from(humps)),
        };
        sum += weight * ramp(x / 2.0, at, at + wide);
        at += wide;
    }
    sum
}

type Cdf = fn(f64) -> f64;

/// Distributions without steps, their function, and the coefficient of variation of the module's table.
const CONTINUOUS: &[(&str, Cdf, Option<f64>)] = &[
    ("uniform", |x| ramp(x, 0.0, 2.0), Some(0.577)),
    ("exponential", |x| 1.0 - (-x).exp(), Some(1.0)),
    ("biased", |x| ramp(x, 0.9, 1.1), Some(0.058)),
    ("bimodal", |x| bimodal(x * 1.428_57), Some(1.907)),
    ("triangular", |x| (x / 1.5).powi(2), Some(0.354)),
    ("negative-triangular", |x| 1.0 - (1.0 - x / 3.0).powi(2), Some(0.707)),
    ("camel", |x| camel(2, 0.7, 0.001, x), Some(0.422)),
    ("camel(humps=3,mass=0.98,width=0.01)", |x| camel(3, 0.98, 0.01, x), None),
    ("pareto", |x| 1.0 - (x * 3.0).powf(-1.5), None),
    ("pareto(alpha=1)", |x| 1.0 - 1.0 / x, None),
    ("pareto(alpha=3,mean=6)", |x| 1.0 - (x / 4.0).powi(-3), Some(0.577)),
    ("log-normal", |x| phi(x.ln() + 0.5), Some(1.311)),
    ("log-normal(median=40,sigma=0.5)", |x| phi((x / 40.0).ln() / 0.5), Some(0.533)),
];

/// The published draw, before scaling: u of (0.1, 1) below, u of (0, 0.1) above.
fn bimodal(x: f64) -> f64 {
    0.9 * ramp(x, 0.095_238, 0.952_38) + 0.1 * ramp(x, 9.5238, 9.5238 + 0.095_238)
}

#[test]
fn every_draw_follows_its_own_distribution_function() {
    for (text, cdf, _) in CONTINUOUS {
        let found = distance(&mut sample(text), cdf) * (COUNT as f64).sqrt();
        println!("{text}: {found:.3} of {KS_CRITICAL:.3}");
        assert!(found < KS_CRITICAL, "{text}: distance {found} / sqrt(n), seed {SEED}");
    }
}

#[test]
fn a_wrong_distribution_function_is_noticed() {
    let wrong: [(&str, Cdf); 4] = [
        ("exponential", |x| ramp(x, 0.0, 2.0)),
        ("negative-triangular", |x| (x / 1.5).powi(2).min(1.0)),
        ("camel(mass=0.72)", |x| camel(2, 0.7, 0.001, x)),
        ("exponential(mean=1.03)", |x| 1.0 - (-x).exp()),
    ];
    for (text, cdf) in wrong {
        assert!(distance(&mut sample(text), cdf) * (COUNT as f64).sqrt() > KS_CRITICAL, "{text}");
    }
}

#[test]
fn mean_and_variance_are_what_the_formulas_say() {
    for (text, _, cv) in CONTINUOUS.iter().filter(|(_, _, cv)| cv.is_some()) {
        let distribution = of(text);
        let (mean_due, variance_due) = (distribution.mean().unwrap(), distribution.variance().unwrap());
        let values = sample(text);
        let (mean, variance) = (mean(&values), variance(&values));
        println!("{text}: mean {mean:.4} of {mean_due:.4}, variance {variance:.4} of {variance_due:.4}");
        let error = (variance_due / COUNT as f64).sqrt();
        assert!((mean - mean_due).abs() < 5.0 * error, "{text}: mean {mean}, not {mean_due}, seed {SEED}");
        // The variance of pareto(alpha=3) converges slowly: it has no fourth moment.
        let near = if text.contains("alpha=3") { 0.2 } else { 0.05 };
        assert!((variance / variance_due - 1.0).abs() < near, "{text}: {variance}, not {variance_due}");
        let table = variance_due.sqrt() / mean_due;
        assert!((table - cv.unwrap()).abs() < 0.0006, "{text}: the table says CV {cv:?}, it is {table}");
    }
}

#[test]
fn all_that_have_a_mean_have_mean_one_unless_another_is_asked_for() {
    for known in KNOWN.iter().filter(|known| !matches!(known.name(), "mixture" | "change")) {
        assert!((of(known.name()).mean().unwrap() - 1.0).abs() < 1e-12, "{}", known.name());
        let five = of(&format!("{}(mean=5)", known.name()));
        assert!((five.mean().unwrap() - 5.0).abs() < 1e-12, "{five}");
    }
    assert_eq!(of("pareto(alpha=1)").mean(), None);
    assert_eq!(of("pareto(alpha=1.5)").variance(), None);
    assert_eq!(of("pareto(alpha=1.5,least=2)").mean(), Some(6.0));
}

#[test]
fn bimodal_uses_the_same_number_for_both_parts_and_has_the_published_mean_before_scaling() {
    let raw: Vec<f64> = sample("bimodal").iter().map(|value| value * 1.428_57).collect();
    assert!((mean(&raw) - 1.43).abs() < 0.02, "{}", mean(&raw));
    assert!((of("bimodal").shape.mean().unwrap() - 1.428_57).abs() < 1e-9);
    // Two numbers would fill 0 to 0.95 and 9.52 to 10.48; one number leaves the ends of both empty.
    let within = |x: f64| (0.095_23..=0.952_39).contains(&x) || (9.5238..=9.6191).contains(&x);
    assert!(raw.iter().all(|x| within(*x)));
    let high = raw.iter().filter(|x| **x > 5.0).count() as f64 / raw.len() as f64;
    assert!((high - 0.1).abs() < 0.004, "{high} are high");
}

#[test]
fn pareto_without_a_mean_has_its_quantiles_and_is_clamped() {
    let mut values = sample("pareto(alpha=1)");
    for (q, due) in [(0.5, 2.0), (0.9, 10.0), (0.99, 100.0)] {
        let found = quantile(&mut values, q);
        assert!((found / due - 1.0).abs() < 0.1, "quantile {q}: {found}, not {due}");
    }
    assert!(values[0] >= 1.0);
    let heavy = sample("pareto(alpha=0.1,least=3)");
    assert_eq!(heavy.iter().copied().fold(0.0, f64::max), 3e9, "most draws of alpha 0.1 are beyond 1e9");
}

#[test]
fn a_mixture_gives_each_constant_as_often_as_its_weight_says() {
    let values = sample("mixture(97.8*204,2.2*40)");
    let few = values.iter().filter(|value| **value == 40.0).count() as f64 / COUNT as f64;
    assert!((few - 0.022).abs() < 5.0 * (0.022 * 0.978 / COUNT as f64).sqrt(), "{few}");
    assert!(values.iter().all(|value| [40.0, 204.0].contains(value)));
    let mixture = of("mixture(97.8*204,2.2*40)");
    assert!((mixture.mean().unwrap() - 200.392).abs() < 1e-9);
    assert!((mixture.variance().unwrap() - 578.70).abs() < 0.01, "{:?}", mixture.variance());
    assert_eq!(sample("constant(mean=7)"), vec![7.0; COUNT]);
    assert!((of("mixture(1*1,1*3,mean=10)").mean().unwrap() - 10.0).abs() < 1e-12);
}

#[test]
fn change_gives_n_draws_of_each_in_turn() {
    let text = "change(constant,mixture(1*0,1*9),1k)";
    let values = sample(text);
    for (part, chunk) in values.chunks(1000).enumerate() {
        assert_eq!(chunk.iter().all(|value| *value == 1.0), part % 2 == 0, "part {part}");
    }
    assert_eq!((of(text).mean(), of(text).to_string().as_str()), (Some(2.75), text));
    // (1 - 2.75)^2 and 4.5^2 + (4.5 - 2.75)^2, half of each.
    assert!((of(text).variance().unwrap() - 13.1875).abs() < 1e-9);
    let nested = of("change(change(constant,constant(mean=2),2),constant(mean=3),4)");
    let mut random = Random::seed_from_u64(SEED);
    let drawn: Vec<f64> = (0..12).map(|index| nested.draw(index, &mut random)).collect();
    assert_eq!(drawn, [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 3.0, 3.0, 1.0, 1.0, 2.0, 2.0]);
}

#[test]
fn draws_in_bulk_go_on_at_a_number_and_are_whole_ticks() {
    let change = of("change(constant,constant(mean=2),3)");
    let ticks = change.many(10.0, 2, 5, &mut Random::seed_from_u64(SEED));
    assert_eq!(ticks, [10, 20, 20, 20, 10]);
    let most = of("constant(mean=1e30)").many(1.0, 0, 1, &mut Random::seed_from_u64(SEED));
    assert_eq!(most, [1 << 60]);
    let mean = of("exponential").many(1000.0, 0, COUNT, &mut Random::seed_from_u64(SEED));
    let mean = mean.iter().sum::<u64>() as f64 / COUNT as f64;
    assert!((990.0..1010.0).contains(&mean), "{mean}");
}

/// Were a draw to differ in one bit on another machine, this would.
#[test]
fn no_draw_changes_unnoticed() {
    let texts = CONTINUOUS.iter().map(|(text, ..)| *text).chain(["mixture(3*5,1*6)"]);
    let hashes: Vec<u64> = texts
        .map(|text| {
            let bytes: Vec<u8> =
                sample(text)[..10_000].iter().flat_map(|value| value.to_bits().to_le_bytes()).collect();
            xxhash_rust::xxh3::xxh3_64(&bytes)
        })
        .collect();
    assert_eq!(hashes, GOLDEN, "{hashes:#x?}");
}

const GOLDEN: [u64; 14] = [
    0xf3bb_65e7_030c_2069,
    0x66a4_6625_6b22_fa3c,
    0x351e_be23_3877_039d,
    0x3628_4fd0_8d20_10e8,
    0x4337_6969_404d_c1f8,
    0x5ac8_f9fb_059c_4c5c,
    0xd523_4e79_b569_b6a3,
    0xec1f_4c3b_6e4c_6dcf,
    0x4e16_fb36_1750_1617,
    0xb843_c1db_020d_dba6,
    0xa42e_1c79_e441_bb73,
    0xec9d_5dfd_4c2c_6527,
    0xbb13_6bf1_fec1_84ff,
    0xa280_b707_4b4d_b742,
];

#[test]
fn a_mistake_is_refused_with_what_is_right() {
    let error = refused("expo");
    assert!(error.starts_with("no distribution is called `expo`; did you mean `exponential`?"), "{error}");
    assert!(error.ends_with("`harness list distributions` prints all of them"), "{error}");
    assert!(refused("camel(hump=2)").starts_with("`camel` has no `hump`; did you mean `humps`?"));
    for (text, why) in [
        ("camel(humps=2", "does not end with its `)`"),
        ("camel(humps=1.5)", "is their number"),
        ("camel(mass=1.5)", "is at most 1"),
        ("uniform(mean=0)", "must be above 0"),
        ("uniform(mean=nan)", "`nan` is not a number"),
        ("uniform(mean=1,mean=2)", "given twice"),
        ("uniform(3)", "`3` of `uniform` is not key=value"),
        ("pareto(alpha=1,mean=5)", "has no mean"),
        ("log-normal(mean=1,median=1)", "give one of the two"),
        ("mixture", "`mixture` wants weight*constant"),
        ("mixture(1,2)", "`mixture` wants weight*constant"),
        ("mixture(0*1)", "a weight is above 0"),
        ("mixture(1*0,mean=4)", "is always 0"),
        ("change(uniform,uniform)", "`change` wants two distributions"),
        ("change(uniform,uniform,0)", "`change` wants two distributions"),
        ("change(uniform,unifrom,5)", "did you mean `uniform`?"),
        ("", "no distribution is called ``"),
        (")(", "does not end with its `)`"),
    ] {
        let error = refused(text);
        assert!(error.contains(why), "{text}: {error}");
    }
}

#[test]
fn every_usage_is_a_distribution_as_it_stands() {
    for known in KNOWN {
        let usage = known.usage.replace("(A,B,n)", "(uniform,exponential,10)");
        assert_eq!(of(&usage).to_string(), usage);
        assert!(!known.about.contains('\n'));
    }
}
