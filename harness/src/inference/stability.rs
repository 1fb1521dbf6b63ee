//! Whether the blocks of a run are fit to be compared. Nothing is removed: a flag says what was seen, and how to mend
//! it.
//!
//! | flag | raised when | after | fails |
//! |---|---|---|---|
//! | spread | standard deviation over mean above 10 % | pyperf `check` | yes |
//! | range | least or greatest more than 50 % away from the mean | pyperf `check` | yes |
//! | slow first block | the first exceeds the others' median by 5 % and by 5 of their deviations | Barrett et al. 2017 | |
//! | drift | Spearman's rank correlation with the block, p below 1 % | | |
//! | correlated | lag-1 autocorrelation of paired log ratios above 0.2, and above chance (5 %) | | yes |
//! | two clusters | parting in two takes 90 % of the variance away; 2 % apart; each a quarter of the blocks | | yes |
//! | outliers | more than 10 deviations from the median: counted | hyperfine | |
//! | system time | above 5 % of the wall time | tango | |
//! | switches | more than 20 involuntary ones a second | | |
//!
//! A deviation here is 1.4826 times the median distance from the median, which for normal noise is the
//! standard deviation. Flags that fail make a verdict `unstable`. Drift, a slow first block and outliers do
//! not: pairs cancel the first two, and the median keeps the third out.

use itertools::Itertools;
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::format::median;

/// Blocks below which nothing can be said.
const FEWEST: usize = 3;

/// Something that was seen in the blocks of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Flag {
    /// Standard deviation over mean.
    Spread(f64),
    /// Least and greatest over mean.
    Range(f64, f64),
    /// The first block over the median of the others.
    SlowFirst(f64),
    /// Spearman's rank correlation with the block.
    Drift(f64),
    /// Lag-1 autocorrelation of the paired log ratios.
    Correlated(f64),
    /// Means of the two clusters, in the unit of the numbers.
    TwoClusters(f64, f64),
    /// How many.
    Outliers(usize),
    /// System time over wall time.
    SystemTime(f64),
    /// Involuntary context switches a second.
    Switches(f64),
}

impl Flag {
    /// What was seen, for tables.
    pub fn words(&self) -> &'static str {
        match self {
            Self::Spread(_) => "wide spread",
            Self::Range(..) => "wide range",
            Self::SlowFirst(_) => "slow first block",
            Self::Drift(_) => "drift",
            Self::Correlated(_) => "blocks not independent",
            Self::TwoClusters(..) => "two clusters",
            Self::Outliers(_) => "outliers",
            Self::SystemTime(_) => "system time",
            Self::Switches(_) => "context switches",
        }
    }

    /// What was seen, with its figure.
    pub fn text(&self) -> String {
        let percent = |part: &f64| format!("{:.0} %", part * 100.0);
        match self {
            Self::Spread(part) => {
                format!("the blocks' standard deviation is {} of their mean", percent(part))
            }
            Self::Range(least, most) => {
                format!("the blocks reach from {} to {} of their mean", percent(least), percent(most))
            }
            Self::SlowFirst(times) => format!("the first block is {times:.2} times the median of the others"),
            Self::Drift(rank) => format!("the blocks {}, rank correlation {rank:.2}", direction(*rank)),
            Self::Correlated(lag) => {
                format!("a block's ratio resembles that of the block before, r = {lag:.2}")
            }
            Self::TwoClusters(low, high) => {
                format!("the blocks fall into two clusters, one {:.2} times the other", high / low)
            }
            Self::Outliers(count) => format!("{count} of the blocks far from the median, all kept"),
            Self::SystemTime(part) => format!("{} of the time was spent in the kernel", percent(part)),
            Self::Switches(rate) => format!("{rate:.0} involuntary context switches a second"),
        }
    }

    /// How to mend it.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Spread(_) | Self::Range(..) => {
                "stop other programs, see what `harness doctor` says, or measure a larger size with --rigorous"
            }
            Self::SlowFirst(_) => "the machine was not warm: run again, or let it do something before",
            Self::Drift(_) => {
                "the machine changed during the run (frequency, heat, neighbours): compare by pairs only, see `harness doctor`"
            }
            Self::Correlated(_) => {
                "the interval is too narrow: run again with --rigorous when the machine is quiet"
            }
            Self::TwoClusters(..) => {
                "layout or core differs from process to process: use --pin, see what `harness doctor` says of ASLR and THP"
            }
            Self::Outliers(_) => {
                "stop other programs; `harness show` lists the slowest calls of those blocks"
            }
            Self::SystemTime(_) => {
                "page faults or the allocator are measured with it: see the fault columns, or another --alloc"
            }
            Self::Switches(_) => {
                "another program wants the core: use --pin and a core that nothing else uses"
            }
        }
    }

    /// Whether a comparison with these blocks is not to be relied on, so that its verdict is `unstable`.
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Spread(_) | Self::Range(..) | Self::Correlated(_) | Self::TwoClusters(..))
    }
}

fn direction(rank: f64) -> &'static str {
    if rank > 0.0 { "grow during the run" } else { "fall during the run" }
}

/// Checks the numbers of one structure, one a block, in the order of the blocks. None are raised with fewer than three
/// blocks, or when a number is not finite. Cost: O(n log n).
pub fn stability(blocks: &[f64]) -> Vec<Flag> {
    if blocks.len() < FEWEST || blocks.iter().any(|number| !number.is_finite()) {
        return Vec::new();
    }
    let checks = [spread, range, slow_first, drift, two_clusters];
    let outliers = Some(outliers(blocks)).filter(|count| *count > 0).map(Flag::Outliers);
    checks.iter().filter_map(|check| check(blocks)).chain(outliers).collect()
}

/// Checks the ratios of two structures (baseline, other), one pair a block, in the order of the blocks.
pub fn pair_stability(pairs: &[(f64, f64)]) -> Vec<Flag> {
    let logs: Vec<f64> = pairs.iter().map(|(from, to)| to.ln() - from.ln()).collect();
    let chance = |n: usize| -1.0 / n as f64 + 1.645 / (n as f64).sqrt();
    let lag = lag_one(&logs).filter(|lag| *lag > chance(logs.len()).max(0.2));
    lag.map(Flag::Correlated).into_iter().collect()
}

/// What the system says of a process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Process {
    /// Wall time in nanoseconds.
    pub wall_ns: f64,
    /// CPU time in the kernel in nanoseconds, where it is known.
    pub system_ns: Option<f64>,
    /// Involuntary context switches, where they are known.
    pub switches: Option<f64>,
}

/// Checks what the system says of the processes of one structure, all together.
pub fn process_stability(processes: &[Process]) -> Vec<Flag> {
    let share = |of: fn(&Process) -> Option<f64>| {
        let known = processes.iter().filter_map(|process| Some((of(process)?, process.wall_ns)));
        let (part, wall) = known.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        Some(part / wall).filter(|share| share.is_finite())
    };
    let system = share(|process| process.system_ns).filter(|share| *share > 0.05).map(Flag::SystemTime);
    let rate = share(|process| process.switches).map(|switches| switches * 1e9);
    system.into_iter().chain(rate.filter(|rate| *rate > 20.0).map(Flag::Switches)).collect()
}

fn spread(blocks: &[f64]) -> Option<Flag> {
    let mean = mean(blocks);
    let deviation = (squares(blocks) / (blocks.len() - 1) as f64).sqrt();
    Some(deviation / mean).filter(|part| *part > 0.1).map(Flag::Spread)
}

fn range(blocks: &[f64]) -> Option<Flag> {
    let (least, most) = blocks.iter().copied().minmax().into_option()?;
    let (least, most) = (least / mean(blocks), most / mean(blocks));
    (least < 0.5 || most > 1.5).then_some(Flag::Range(least, most))
}

fn slow_first(blocks: &[f64]) -> Option<Flag> {
    let (first, others) = blocks.split_first()?;
    let middle = median(others)?;
    let is_slow = *first > 1.05 * middle && first - middle > 5.0 * deviation(others)?;
    is_slow.then_some(Flag::SlowFirst(first / middle)).filter(|_| middle > 0.0)
}

fn drift(blocks: &[f64]) -> Option<Flag> {
    let order: Vec<f64> = (0..blocks.len()).map(|block| block as f64).collect();
    let (rank, p) = spearman(&order, blocks)?;
    (p < 0.01).then_some(Flag::Drift(rank))
}

/// The best parting of the sorted numbers in two.
fn two_clusters(blocks: &[f64]) -> Option<Flag> {
    let sorted: Vec<f64> = blocks.iter().copied().sorted_by(f64::total_cmp).collect();
    let fewest = sorted.len().div_ceil(4).max(2);
    let partings = (fewest..=sorted.len().checked_sub(fewest)?).map(|at| sorted.split_at(at));
    let within = |(low, high): &(&[f64], &[f64])| squares(low) + squares(high);
    let (low, high) = partings.min_by(|a, b| within(a).total_cmp(&within(b)))?;
    let (least, most) = (mean(low), mean(high));
    let is_parted = within(&(low, high)) < 0.1 * squares(&sorted) && most - least > 0.02 * least.abs();
    is_parted.then_some(Flag::TwoClusters(least, most))
}

/// Numbers more than 10 deviations (1.4826 times the median distance) from the median. They are counted, never
/// removed. 0 where more than half of the numbers are equal, for then there is no distance to judge by.
pub fn outliers(numbers: &[f64]) -> usize {
    let (Some(middle), Some(deviation)) = (median(numbers), deviation(numbers)) else { return 0 };
    let is_far = |number: &&f64| deviation > 0.0 && (*number - middle).abs() > 10.0 * deviation;
    numbers.iter().filter(is_far).count()
}

fn deviation(numbers: &[f64]) -> Option<f64> {
    let middle = median(numbers)?;
    let distances: Vec<f64> = numbers.iter().map(|number| (number - middle).abs()).collect();
    Some(1.4826 * median(&distances)?)
}

/// Spearman's rank correlation of two columns and its two-sided p from the t distribution. `None` with fewer than
/// three rows, columns of different length, a column without any spread, or a NaN.
pub fn spearman(a: &[f64], b: &[f64]) -> Option<(f64, f64)> {
    if a.len() != b.len() || a.len() < 3 || a.iter().chain(b).any(|number| number.is_nan()) {
        return None;
    }
    let (a, b) = (ranks(a), ranks(b));
    let (middle, spread) = (mean(&a), (squares(&a) * squares(&b)).sqrt());
    let product: f64 = a.iter().zip(&b).map(|(x, y)| (x - middle) * (y - middle)).sum();
    let rank = Some(product / spread).filter(|rank| rank.is_finite())?.clamp(-1.0, 1.0);
    let freedom = (a.len() - 2) as f64;
    let t = rank * (freedom / ((1.0 - rank) * (1.0 + rank))).sqrt();
    let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
    Some((rank, if t.is_finite() { 2.0 * student.cdf(-t.abs()) } else { 0.0 }))
}

/// Places in sorted order from 1, equal numbers sharing the mean of theirs.
fn ranks(numbers: &[f64]) -> Vec<f64> {
    let count = |of: &dyn Fn(&f64) -> bool| numbers.iter().filter(|number| of(number)).count() as f64;
    let rank = |number: &f64| count(&|other| other < number) + (count(&|other| other == number) + 1.0) / 2.0;
    numbers.iter().map(rank).collect()
}

/// Correlation of each number with the one before it, about the mean of all. `None` without any spread.
fn lag_one(numbers: &[f64]) -> Option<f64> {
    let mean = mean(numbers);
    let product: f64 = numbers.iter().tuple_windows().map(|(a, b)| (a - mean) * (b - mean)).sum();
    Some(product / squares(numbers)).filter(|lag| numbers.len() >= FEWEST && lag.is_finite())
}

fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

/// Sum of the squared distances from the mean.
fn squares(numbers: &[f64]) -> f64 {
    let mean = mean(numbers);
    numbers.iter().map(|number| (number - mean).powi(2)).sum()
}
