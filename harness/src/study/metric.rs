//! The catalogue of metrics: what can be compared. A metric is a column of `results/SCHEMA.md`, and bears its
//! name.

use crate::error::Error;
use crate::record::{Measurement, Memory};
use crate::suggest::did_you_mean;

/// What a row of the metric is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// An operation of a phase.
    Operation,
    /// A phase as a whole.
    Phase,
    /// A cell as a whole.
    Cell,
    /// A point of the memory time line.
    Point,
}

/// Which way is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Better {
    /// Less is better.
    Lower,
    /// Neither: it says what was asked, not how well it was done.
    Neither,
}

/// Where a metric's figures stand.
#[derive(Clone, Copy, Debug)]
pub enum Column {
    /// In the table `measurements`.
    Measurement(fn(&Measurement) -> Option<f64>),
    /// In the table `memory`.
    Memory(fn(&Memory) -> Option<f64>),
}

/// A figure that can be compared.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// The column's name.
    pub name: &'static str,
    /// A short name, for headings and for typing.
    pub short: &'static str,
    /// Its unit: `ns`, `bytes`, `blocks`, `entries`, `calls`, `timers`, `faults` or `switches`.
    pub unit: &'static str,
    /// What its rows are of.
    pub scope: Scope,
    /// Which way is good.
    pub better: Better,
    /// Whether repeats give the same figure, or very nearly: counts and memory. No test is made of those.
    pub exact: bool,
    /// The quantile that it is, if it is one; it needs calls enough (`latency::calls_needed`).
    pub quantile: Option<f64>,
    /// The passes that collect it, that first whose figure goes before.
    pub passes: &'static [&'static str],
    /// Where it stands.
    pub column: Column,
}

impl PartialEq for Metric {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Metric {}

impl Metric {
    /// Whether it is collected once a block, so that structures can be paired block by block.
    pub fn is_timed(&self) -> bool {
        self.passes.iter().all(|pass| matches!(*pass, "time" | "latency"))
    }

    /// Whether it is a time.
    pub fn is_time(&self) -> bool {
        self.unit == "ns"
    }

    /// Whether it is memory.
    pub fn is_memory(&self) -> bool {
        matches!(self.unit, "bytes" | "blocks")
    }

    /// `harness --measure PASS`, which gives it.
    pub fn how_to_get(&self) -> String {
        format!("measure it with `--measure {}`", self.passes[0])
    }
}

const TIME: &[&str] = &["time"];
const LATENCY: &[&str] = &["latency"];
const RESIDENT: &[&str] = &["resident"];
const HEAP: &[&str] = &["heap"];
const COUNT: &[&str] = &["count"];
const MEMORY: &[&str] = &["resident", "heap"];
const ANY: &[&str] = &["time", "latency", "resident", "heap", "count"];

const OPERATION: Metric = Metric {
    name: "",
    short: "",
    unit: "ns",
    scope: Scope::Operation,
    better: Better::Lower,
    exact: false,
    quantile: None,
    passes: TIME,
    column: Column::Measurement(|_| None),
};
const SINGLE_CALLS: Metric = Metric { passes: LATENCY, ..OPERATION };
const PHASE: Metric = Metric { scope: Scope::Phase, ..OPERATION };
const WORK: Metric = Metric { unit: "entries", passes: COUNT, exact: true, ..OPERATION };
const CELL_BYTES: Metric =
    Metric { unit: "bytes", scope: Scope::Cell, exact: true, passes: HEAP, ..OPERATION };
const CELL_COUNT: Metric = Metric { unit: "timers", better: Better::Neither, passes: ANY, ..CELL_BYTES };
const POINT: Metric = Metric { scope: Scope::Point, passes: RESIDENT, ..CELL_BYTES };

/// A metric of the table `measurements`.
macro_rules! measured {
    ($column:ident, $short:literal, $base:expr) => {
        Metric {
            name: stringify!($column),
            short: $short,
            column: Column::Measurement(|row| number(row.$column)),
            ..$base
        }
    };
}

/// A metric of the table `memory`.
macro_rules! remembered {
    ($column:ident, $short:literal, $base:expr) => {
        Metric {
            name: stringify!($column),
            short: $short,
            column: Column::Memory(|row| number(row.$column)),
            ..$base
        }
    };
}

/// A column's figure as a decimal number. Counts beyond 2^53 lose their last digits.
fn number(value: Option<impl Number>) -> Option<f64> {
    value.map(Number::decimal)
}

trait Number {
    fn decimal(self) -> f64;
}

impl Number for u64 {
    fn decimal(self) -> f64 {
        self as f64
    }
}

impl Number for f64 {
    fn decimal(self) -> f64 {
        self
    }
}

/// All metrics, in the order of the tables' columns.
pub static ALL: &[Metric] = &[
    measured!(
        calls,
        "calls",
        Metric { unit: "calls", better: Better::Neither, exact: true, passes: ANY, ..OPERATION }
    ),
    measured!(
        timers,
        "timers",
        Metric { unit: "timers", better: Better::Neither, exact: true, passes: ANY, ..OPERATION }
    ),
    measured!(time_ns_per_call, "call", OPERATION),
    measured!(time_ns_per_timer, "time", OPERATION),
    measured!(time_ns_per_enqueued, "whole", Metric { scope: Scope::Cell, ..OPERATION }),
    measured!(time_ns_total, "total", OPERATION),
    measured!(wall_ns, "wall", PHASE),
    measured!(cpu_ns, "cpu", PHASE),
    measured!(faults_minor, "faults", Metric { unit: "faults", ..PHASE }),
    measured!(faults_major, "major", Metric { unit: "faults", ..PHASE }),
    measured!(switches_voluntary, "waits", Metric { unit: "switches", ..PHASE }),
    measured!(switches_involuntary, "switches", Metric { unit: "switches", ..PHASE }),
    measured!(latency_ns_p50, "p50", Metric { quantile: Some(0.5), ..SINGLE_CALLS }),
    measured!(latency_ns_p99, "p99", Metric { quantile: Some(0.99), ..SINGLE_CALLS }),
    measured!(latency_ns_p999, "p99.9", Metric { quantile: Some(0.999), ..SINGLE_CALLS }),
    measured!(latency_ns_max, "max", SINGLE_CALLS),
    measured!(entries_visited, "visited", WORK),
    measured!(entries_moved, "moved", WORK),
    measured!(entries_compared, "compared", WORK),
    measured!(entries_cascaded, "cascaded", WORK),
    measured!(allocated_blocks, "allocations", Metric { unit: "blocks", passes: HEAP, ..WORK }),
    measured!(allocated_bytes, "allocated", Metric { unit: "bytes", passes: HEAP, ..WORK }),
    measured!(heap_bytes_total, "heap-total", CELL_BYTES),
    measured!(heap_blocks_total, "heap-blocks", Metric { unit: "blocks", ..CELL_BYTES }),
    measured!(heap_bytes_peak, "heap-peak", CELL_BYTES),
    measured!(heap_blocks_peak, "heap-blocks-peak", Metric { unit: "blocks", ..CELL_BYTES }),
    measured!(heap_bytes_end, "heap-end", CELL_BYTES),
    measured!(heap_blocks_end, "heap-blocks-end", Metric { unit: "blocks", ..CELL_BYTES }),
    measured!(live_bytes_per_timer, "live", CELL_BYTES),
    measured!(resident_bytes_per_timer, "resident", Metric { passes: RESIDENT, ..CELL_BYTES }),
    measured!(resident_bytes_peak, "peak", Metric { passes: RESIDENT, ..CELL_BYTES }),
    measured!(held_container_bytes, "held-container", Metric { passes: MEMORY, ..CELL_BYTES }),
    measured!(held_live_bytes, "held", CELL_BYTES),
    measured!(held_allocator_bytes, "held-allocator", Metric { passes: RESIDENT, ..CELL_BYTES }),
    measured!(held_resident_bytes, "held-resident", Metric { passes: RESIDENT, ..CELL_BYTES }),
    measured!(enqueued, "enqueued", CELL_COUNT),
    measured!(takes, "rounds", CELL_COUNT),
    measured!(taken, "taken", CELL_COUNT),
    measured!(dispatched, "dispatched", CELL_COUNT),
    measured!(put_back, "put-back", CELL_COUNT),
    measured!(merged_timers, "merged", CELL_COUNT),
    measured!(left, "left", CELL_COUNT),
    remembered!(container_bytes, "container", Metric { passes: MEMORY, ..POINT }),
    remembered!(live_bytes, "live-at", Metric { passes: HEAP, ..POINT }),
    remembered!(live_blocks, "blocks-at", Metric { unit: "blocks", passes: HEAP, ..POINT }),
    remembered!(resident_bytes, "rss", POINT),
    remembered!(resident_anon_bytes, "anonymous", POINT),
    remembered!(resident_peak_bytes, "peak-at", POINT),
    remembered!(allocator_allocated_bytes, "in-use", POINT),
    remembered!(allocator_active_bytes, "active", POINT),
    remembered!(allocator_resident_bytes, "allocator", POINT),
    remembered!(allocator_retained_bytes, "retained", POINT),
];

/// The metric of a column's name or of a short name.
pub fn find(name: &str) -> Result<&'static Metric, Error> {
    let known = ALL.iter().flat_map(|metric| [metric.name, metric.short]);
    ALL.iter().find(|metric| metric.name == name || metric.short == name).ok_or_else(|| {
        Error::usage(format!("no metric is called `{name}`{}", did_you_mean(name, known)))
            .mend("`harness list metrics` prints all of them; short ones are whole, time, p50, p99, p99.9, max, live, resident, held, rss")
    })
}

/// The metric of a column that is there.
///
/// # Panics
///
/// When there is none, which is a mistake in the code that asks.
pub fn named(name: &str) -> &'static Metric {
    find(name).unwrap_or_else(|error| panic!("{error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Row, Type};
    use std::collections::HashSet;

    #[test]
    fn every_metric_is_a_column_and_no_name_stands_twice() {
        let columns = [Measurement::columns(), Memory::columns()].concat();
        let numbers: HashSet<_> =
            columns.iter().filter(|column| column.holds != Type::Text).map(|column| column.name).collect();
        let mut seen = HashSet::new();
        for metric in ALL {
            assert!(numbers.contains(metric.name), "{} is no column", metric.name);
            assert!(seen.insert(metric.name), "{} stands twice", metric.name);
            assert!(
                metric.short == metric.name || seen.insert(metric.short),
                "{} stands twice",
                metric.short
            );
        }
    }

    #[test]
    fn a_misspelt_metric_is_named_with_the_nearest() {
        let error = find("latency_ns_p9").unwrap_err().to_string();
        assert!(error.contains("did you mean `latency_ns_p99`?"), "{error}");
        assert_eq!(find("p99").unwrap().name, "latency_ns_p99");
    }
}
