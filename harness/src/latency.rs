//! What the parent makes of a cell's raw samples: exact quantiles, a histogram for curves, the slowest calls.

mod columns;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// The slowest calls that are kept of a cell.
const SLOWEST: usize = 10;

/// The single calls of a cell, as far as they are kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallTimes {
    /// One for each phase and kind of operation.
    pub operations: Vec<OperationTimes>,
    /// The slowest calls, slowest first.
    pub slowest: Vec<SlowCall>,
}

/// The calls of one kind of operation within one phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationTimes {
    /// Index of the phase.
    pub phase: u32,
    /// The kind of operation, as a number.
    pub kind: u8,
    /// Calls.
    pub calls: u64,
    /// Calls that overlapped an involuntary context switch. They count as all others do.
    pub switched: u64,
    /// Median, p99 and p99.9 in nanoseconds; none where there are too few calls to tell.
    pub quantiles_ns: [Option<u64>; 3],
    /// The slowest call in nanoseconds.
    pub max_ns: u64,
    /// From, to (both within) and calls: two significant digits, which is enough for a curve.
    #[serde(with = "columns")]
    pub histogram: Vec<[u64; 3]>,
}

/// One slow call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowCall {
    /// The how-manieth call of the run it was, from 0.
    pub position: u64,
    /// Index of the phase.
    pub phase: u32,
    /// The kind of operation, as a number.
    pub kind: u8,
    /// Nanoseconds.
    pub ns: u64,
    /// Whether it overlapped an involuntary context switch.
    pub switched: bool,
}

/// The quantiles that are reported.
pub const QUANTILES: [f64; 3] = [0.5, 0.99, 0.999];

/// Calls that a quantile needs before it is more than an anecdote: ten beyond it. A median needs none.
pub fn calls_needed(quantile: f64) -> u64 {
    if quantile <= 0.5 { 1 } else { (10.0 / (1.0 - quantile)).round() as u64 }
}

/// Reads a cell's samples, in the format of `spec::Sample`.
pub fn read(path: &Path) -> Result<CallTimes, Error> {
    let bytes = fs::read(path).map_err(|error| Error::file("read", path, &error))?;
    let (words, rest) = bytes.as_chunks::<8>();
    if !rest.is_empty() {
        return Err(Error::failed(format!("{} is torn: it ends within a sample", path.display())));
    }
    Ok(summarise(words.iter().map(|word| u64::from_le_bytes(*word))))
}

/// Sorts samples into operations, and keeps the slowest.
fn summarise(samples: impl Iterator<Item = u64>) -> CallTimes {
    let mut groups: BTreeMap<(u32, u8), (Vec<u64>, u64)> = BTreeMap::new();
    let mut slowest: Vec<SlowCall> = Vec::new();
    for (position, word) in (0..).zip(samples) {
        let call = unpack(position, word);
        let (times, switched) = groups.entry((call.phase, call.kind)).or_default();
        times.push(call.ns);
        *switched += u64::from(call.switched);
        keep_slowest(&mut slowest, call);
    }
    let operations = groups.into_iter().map(|((phase, kind), (times, switched))| {
        let mut operation = of_operation(times);
        (operation.phase, operation.kind, operation.switched) = (phase, kind, switched);
        operation
    });
    CallTimes { operations: operations.collect(), slowest }
}

/// The slowest calls of samples in order of the calls, slowest first.
pub fn slowest(samples: impl Iterator<Item = u64>) -> Vec<SlowCall> {
    let mut slowest = Vec::with_capacity(SLOWEST + 1);
    (0..).zip(samples).for_each(|(position, word)| keep_slowest(&mut slowest, unpack(position, word)));
    slowest
}

fn unpack(position: u64, word: u64) -> SlowCall {
    SlowCall {
        position,
        phase: (word >> 48 & 0xff) as u32,
        kind: (word >> 56 & 0x7f) as u8,
        ns: word & ((1 << 48) - 1),
        switched: word >> 63 == 1,
    }
}

fn keep_slowest(slowest: &mut Vec<SlowCall>, call: SlowCall) {
    if slowest.len() == SLOWEST && slowest.last().is_some_and(|last| last.ns >= call.ns) {
        return;
    }
    let place = slowest.partition_point(|other| other.ns >= call.ns);
    slowest.insert(place, call);
    slowest.truncate(SLOWEST);
}

fn of_operation(mut times: Vec<u64>) -> OperationTimes {
    times.sort_unstable();
    let calls = times.len() as u64;
    let quantile = |q: f64| (calls >= calls_needed(q)).then(|| nearest_rank(&times, q));
    OperationTimes {
        phase: 0,
        kind: 0,
        calls,
        switched: 0,
        quantiles_ns: QUANTILES.map(quantile),
        max_ns: times.last().copied().unwrap_or(0),
        histogram: histogram(&times),
    }
}

/// The smallest value that at least `q` of all values do not exceed.
///
/// # Panics
///
/// When there are no values.
pub fn nearest_rank(sorted: &[u64], q: f64) -> u64 {
    // A hair is taken off, or 0.99 of 100 would be rank 100 where the product is 99.00000000000001.
    let rank = (q * sorted.len() as f64 - 1e-9).ceil().max(1.0) as usize;
    sorted[rank.min(sorted.len()) - 1]
}

fn histogram(sorted: &[u64]) -> Vec<[u64; 3]> {
    // The bounds are good for all of u64, so neither can fail.
    let mut histogram =
        Histogram::<u64>::new_with_bounds(1, 1 << 48, 2).expect("bounds and digits are valid");
    for &time in sorted {
        histogram.saturating_record(time);
    }
    let bucket = |value: u64, calls: u64| {
        [histogram.lowest_equivalent(value), histogram.highest_equivalent(value), calls]
    };
    histogram.iter_recorded().map(|step| bucket(step.value_iterated_to(), step.count_at_value())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(switched: bool, kind: u8, phase: u8, ns: u64) -> u64 {
        u64::from(switched) << 63 | u64::from(kind) << 56 | u64::from(phase) << 48 | ns
    }

    #[test]
    fn quantiles_are_nearest_rank() {
        let times: Vec<u64> = (1..=20).collect();
        assert_eq!([0.5, 0.95, 1.0].map(|q| nearest_rank(&times, q)), [10, 19, 20]);
        let hundred: Vec<u64> = (1..=100).collect();
        assert_eq!(nearest_rank(&hundred, 0.99), 99);
        assert_eq!(nearest_rank(&[7], 0.5), 7);
    }

    #[test]
    fn a_quantile_of_too_few_calls_is_not_told() {
        let calls = |n: u64| of_operation((1..=n).collect()).quantiles_ns;
        assert_eq!(calls(999), [Some(500), None, None]);
        assert_eq!(calls(1000), [Some(500), Some(990), None]);
        assert_eq!(calls(10_000), [Some(5000), Some(9900), Some(9990)]);
    }

    #[test]
    fn samples_are_told_apart_by_phase_and_kind() {
        let times =
            summarise([sample(false, 1, 0, 5), sample(true, 2, 1, 900), sample(false, 1, 0, 7)].into_iter());
        let seen: Vec<_> =
            times.operations.iter().map(|o| (o.phase, o.kind, o.calls, o.switched, o.max_ns)).collect();
        assert_eq!(seen, [(0, 1, 2, 0, 7), (1, 2, 1, 1, 900)]);
        assert_eq!(times.slowest[0], SlowCall { position: 1, phase: 1, kind: 2, ns: 900, switched: true });
    }

    #[test]
    fn the_ten_slowest_calls_are_kept_in_order() {
        let times = summarise((0..100).map(|i| sample(false, 1, 0, i * 37 % 101)));
        let slowest: Vec<_> = times.slowest.iter().map(|call| call.ns).collect();
        let mut all: Vec<_> = (0..100).map(|i| i * 37 % 101).collect();
        all.sort_unstable_by(|a, b| b.cmp(a));
        assert_eq!(slowest, all[..10]);
    }

    #[test]
    fn a_histogram_counts_every_call_within_its_bounds() {
        let times: Vec<u64> = (0..5000).map(|i| i * i).collect();
        let buckets = histogram(&times);
        assert_eq!(buckets.iter().map(|[_, _, calls]| calls).sum::<u64>(), 5000);
        for [from, to, calls] in buckets {
            assert_eq!(times.iter().filter(|time| (from..=to).contains(time)).count() as u64, calls);
        }
    }

    #[test]
    fn calls_below_the_clocks_resolution_are_a_row_of_zeros() {
        let operation = of_operation(vec![0; 1000]);
        assert_eq!(operation.quantiles_ns, [Some(0), Some(0), None]);
        assert_eq!(operation.histogram, [[0, 0, 1000]]);
    }

    #[test]
    fn a_torn_file_of_samples_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("samples");
        fs::write(&path, [0; 12]).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("is torn"));
    }
}
