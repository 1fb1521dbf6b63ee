//! A metric of one structure at one place: a value a block, or a repeat.

use itertools::Itertools;

use super::metric::{Column, Metric, Scope};
use super::{Study, structure};
use crate::format::median;
use crate::record::{Key, Measurement, Memory};

/// Where a figure was measured. Structures are compared at one place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// The workload.
    pub workload: String,
    /// Timers asked for.
    pub size: u64,
    /// What each timer carries.
    pub payload: String,
    /// The allocator that served.
    pub allocator: String,
    /// The phase, of operations and phases.
    pub phase: Option<String>,
    /// The operation.
    pub operation: Option<String>,
    /// The point of the memory time line.
    pub point: Option<String>,
}

impl Place {
    /// What of the workload it is: phase and operation, or the point; nothing for a cell as a whole.
    pub fn part(&self) -> String {
        let words = [&self.phase, &self.operation, &self.point].into_iter().flatten();
        words.map(|word| word.replace('_', " ")).join(" ")
    }
}

/// A metric of one structure at one place.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The metric.
    pub metric: &'static Metric,
    /// The run.
    pub run: String,
    /// The structure, with parameters.
    pub structure: String,
    /// The place.
    pub place: Place,
    /// The pass that collected it.
    pub pass: String,
    /// Block (of a timed pass) or repeat, and the value, in order.
    pub values: Vec<(u64, f64)>,
    /// Hash of the stream of each value.
    pub streams: Vec<String>,
    /// Calls that a value is of, at the median; none where it is of no calls.
    pub calls: Option<u64>,
}

impl Series {
    /// The values alone.
    pub fn numbers(&self) -> Vec<f64> {
        self.values.iter().map(|(_, value)| *value).collect()
    }

    /// The middle of the values.
    pub fn median(&self) -> Option<f64> {
        median(&self.numbers())
    }

    /// Least and greatest.
    pub fn range(&self) -> Option<(f64, f64)> {
        self.numbers().into_iter().minmax().into_option()
    }

    /// Pairs of this series, the baseline, and another: of each block that both have.
    pub fn pairs(&self, other: &Self) -> Vec<(f64, f64)> {
        let of = |block: u64| other.values.iter().find(|(known, _)| *known == block);
        self.values.iter().filter_map(|(block, own)| Some((*own, of(*block)?.1))).collect()
    }

    /// Whether each block had the same operations in both series, so that they can be paired across runs.
    pub fn is_same_stream(&self, other: &Self) -> bool {
        let streams = |series: &Self| {
            series.values.iter().map(|(block, _)| *block).zip(series.streams.clone()).collect::<Vec<_>>()
        };
        streams(self) == streams(other)
    }
}

/// One value on its way into a series.
struct Found<'a> {
    key: &'a Key,
    place: Place,
    value: f64,
    calls: Option<u64>,
}

/// See [`Study::series`].
pub(super) fn of(study: &Study, metric: &'static Metric) -> Vec<Series> {
    let found: Vec<Found<'_>> = match metric.column {
        Column::Measurement(column) => measured(study, metric, column),
        Column::Memory(column) => remembered(study, column),
    };
    let mut all: Vec<Series> = Vec::new();
    for found in found.iter().filter(|found| metric.passes.contains(&found.key.pass.as_str())) {
        add(&mut all, metric, found);
    }
    for series in &mut all {
        series.calls = series.calls.filter(|_| metric.scope == Scope::Operation);
    }
    first_pass_only(&mut all);
    in_order(study, all)
}

fn measured<'a>(
    study: &'a Study,
    metric: &Metric,
    column: fn(&Measurement) -> Option<f64>,
) -> Vec<Found<'a>> {
    let scope = match metric.scope {
        Scope::Operation => "operation",
        Scope::Phase => "phase",
        Scope::Cell | Scope::Point => "cell",
    };
    let rows = study.tables.measurements.iter().filter(|row| row.own.scope == scope);
    let found = |row: &'a crate::record::Keyed<Measurement>| {
        Some(Found {
            key: &row.key,
            place: Place {
                phase: row.own.phase.clone(),
                operation: row.own.operation.clone(),
                ..place(&row.key)
            },
            value: column(&row.own)?,
            calls: row.own.latency_calls.or(row.own.calls),
        })
    };
    rows.filter_map(found).collect()
}

fn remembered(study: &Study, column: fn(&Memory) -> Option<f64>) -> Vec<Found<'_>> {
    let rows = study.tables.memory.iter();
    let found = |row| {
        let row: &crate::record::Keyed<Memory> = row;
        let point = Some(row.own.point.clone());
        let place = Place { point, ..place(&row.key) };
        Some(Found { key: &row.key, place, value: column(&row.own)?, calls: None })
    };
    rows.filter_map(found).collect()
}

fn place(key: &Key) -> Place {
    Place {
        workload: key.workload.clone(),
        size: key.size,
        payload: key.payload.clone(),
        allocator: key.allocator.clone(),
        ..Place::default()
    }
}

fn add(all: &mut Vec<Series>, metric: &'static Metric, found: &Found<'_>) {
    let key = found.key;
    let timed = matches!(key.pass.as_str(), "time" | "latency");
    let number = if timed { key.block } else { key.repeat };
    let structure = structure(key);
    let same = |series: &&mut Series| {
        series.structure == structure && series.pass == key.pass && series.place == found.place
    };
    if let Some(series) = all.iter_mut().rev().find(same) {
        // A point that is passed more than once in a run counts with the first time.
        if series.values.iter().all(|(known, _)| *known != number) {
            series.values.push((number, found.value));
            series.streams.push(key.stream_hash.clone());
        }
        return;
    }
    all.push(Series {
        metric,
        run: key.run.clone(),
        structure,
        place: found.place.clone(),
        pass: key.pass.clone(),
        values: vec![(number, found.value)],
        streams: vec![key.stream_hash.clone()],
        calls: found.calls,
    });
}

/// Where several passes collect a metric, one of them stands for all.
fn first_pass_only(all: &mut Vec<Series>) {
    let rank = |series: &Series| series.metric.passes.iter().position(|pass| *pass == series.pass);
    let same = |a: &Series, b: &Series| {
        let workload =
            |series: &Series| (series.place.workload.clone(), series.place.size, series.place.part());
        a.structure == b.structure && workload(a) == workload(b)
    };
    let kept = |series: &Series| {
        let rivals = all.iter().filter(|other| same(other, series));
        rivals.map(rank).min() == Some(rank(series))
    };
    let keep: Vec<bool> = all.iter().map(kept).collect();
    let mut keep = keep.into_iter();
    all.retain(|_| keep.next().unwrap_or(true));
}

/// Places as they first occur, and structures as they were planned.
fn in_order(study: &Study, all: Vec<Series>) -> Vec<Series> {
    let structures = study.structures();
    let workloads: Vec<_> =
        all.iter().map(|series| (series.place.workload.clone(), series.place.size)).unique().collect();
    let parts: Vec<_> = all.iter().map(|series| series.place.part()).unique().collect();
    let order = |series: &Series| {
        let workload = (series.place.workload.clone(), series.place.size);
        (
            workloads.iter().position(|known| *known == workload),
            parts.iter().position(|known| *known == series.place.part()),
            series.place.clone(),
            structures.iter().position(|known| *known == series.structure),
        )
    };
    all.into_iter().sorted_by_cached_key(order).collect()
}
