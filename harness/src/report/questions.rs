//! The questions of the source document, answered from a run that has its workloads.
//!
//! | question | workloads |
//! |---|---|
//! | is putting the unused part back nearly free? | `cycle-10k-due` at two lengths |
//! | does a known tail make it flat? | `reattach-10` and `reattach-100k` |
//! | is the slowest call bounded better on a list than on an array? | `steady-enqueue-dispatch` |

use itertools::Itertools;

use super::answer::Answer;
use crate::format::fixed;
use crate::inference::{Ratio, paired_ratio};
use crate::select::thousands;
use crate::study::grids::ratio_text;
use crate::study::metric::named;
use crate::study::{Series, Study};

const CONFIDENCE: f64 = 0.95;

/// The answers that a run can give.
pub fn questions(study: &Study) -> Vec<Answer> {
    [put_back(study), known_tail(study), slowest_call(study)].into_iter().flatten().collect()
}

/// A metric of one structure's operation, at every size.
fn of(study: &Study, metric: &str, workload: &str, operation: &str, structure: &str) -> Vec<Series> {
    let here = |series: &Series| {
        let place = &series.place;
        place.workload == workload
            && place.operation.as_deref() == Some(operation)
            && series.structure == structure
    };
    study.series(named(metric)).into_iter().filter(here).sorted_by_key(|series| series.place.size).collect()
}

fn nanoseconds(ns: f64) -> String {
    match ns {
        10_000.0.. => format!("{} us", fixed(ns / 1000.0, if ns < 100_000.0 { 1 } else { 0 })),
        100.0.. => format!("{} ns", fixed(ns, 0)),
        _ => format!("{} ns", fixed(ns, 2)),
    }
}

/// The ratio of two series, block by block.
fn ratio(from: &Series, to: &Series) -> Option<Ratio> {
    paired_ratio(&from.pairs(to), CONFIDENCE, 1)
}

fn with_interval(ratio: &Ratio) -> String {
    let ends = ratio
        .interval
        .map(|interval| format!(" ({} to {})", ratio_text(interval.low), ratio_text(interval.high)));
    format!("{}x{}", ratio_text(ratio.estimate), ends.unwrap_or_default())
}

/// What a put-back of 10,000 costs, and how it depends on what stands behind.
fn put_back(study: &Study) -> Option<Answer> {
    let sentence = |structure: &str| {
        let calls = of(study, "time_ns_per_call", "cycle-10k-due", "requeue", structure);
        let timers = of(study, "time_ns_per_timer", "cycle-10k-due", "requeue", structure);
        let takes = of(study, "time_ns_per_timer", "cycle-10k-due", "take", structure);
        let (short, long) = (calls.first()?, calls.last()?);
        let [timer, take] = [timers.last()?.median()?, takes.last()?.median()?];
        let lengths = if short.place.size == long.place.size {
            String::new()
        } else {
            let found = ratio(short, long)?;
            format!(
                "; with {} behind instead of {} it takes {}",
                thousands(long.place.size),
                thousands(short.place.size),
                with_interval(&found)
            )
        };
        Some(format!(
            "`{structure}` puts 10,000 back in {}, {} a timer, {} % of what taking them out and putting them back costs{lengths}.",
            nanoseconds(long.median()?),
            nanoseconds(timer),
            fixed(100.0 * timer / (timer + take), if timer / (timer + take) < 0.01 { 2 } else { 0 })
        ))
    };
    let sentences =
        ["list", "list-known-tail", "array"].iter().filter_map(|name| sentence(name)).collect_vec();
    answer("Is putting the unused part back nearly free?", sentences)
}

/// A batch of ten thousand times the size.
fn known_tail(study: &Study) -> Option<Answer> {
    let sentence = |structure: &str| {
        let call = |workload| of(study, "time_ns_per_call", workload, "requeue", structure).pop();
        let (few, many) = (call("reattach-10")?, call("reattach-100k")?);
        // Not the same stream, so blocks are no pairs: the medians are compared.
        let (few, many) = (few.median()?, many.median()?);
        let times = if few > 0.0 {
            format!(", {} times as much", fixed(many / few, if many / few < 10.0 { 1 } else { 0 }))
        } else {
            String::new()
        };
        Some(format!(
            "`{structure}` puts 10 back in {} and 100,000 in {}{times}.",
            nanoseconds(few),
            nanoseconds(many)
        ))
    };
    let sentences =
        ["list", "list-known-tail", "array"].iter().filter_map(|name| sentence(name)).collect_vec();
    answer("Does the known tail make it flat?", sentences)
}

/// Single calls in a queue that stands at 200,000.
fn slowest_call(study: &Study) -> Option<Answer> {
    let workload = "steady-enqueue-dispatch";
    let sentence = |operation: &str| {
        let tails = |structure| of(study, "latency_ns_p999", workload, operation, structure).pop();
        let slowest = |structure| of(study, "latency_ns_max", workload, operation, structure).pop();
        let (list, array) = (tails("list")?, tails("array")?);
        let found = ratio(&array, &list)?;
        let range = |series: Series| {
            let (least, most) = series.range()?;
            Some(format!("{} to {}", nanoseconds(least), nanoseconds(most)))
        };
        Some(format!(
            "{operation}: one call in a thousand takes {} or more on `list` and {} on `array`, {}; the slowest of each block {} and {}.",
            nanoseconds(list.median()?),
            nanoseconds(array.median()?),
            with_interval(&found),
            range(slowest("list")?)?,
            range(slowest("array")?)?
        ))
    };
    let sentences = ["enqueue", "dispatch"].iter().filter_map(|operation| sentence(operation)).collect_vec();
    answer("Is the slowest call bounded better on a list than on an array?", sentences)
}

fn answer(heading: &str, sentences: Vec<String>) -> Option<Answer> {
    (!sentences.is_empty()).then(|| Answer { heading: heading.into(), sentences })
}
