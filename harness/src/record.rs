//! The rows of the tables: their columns, with units in the names, and what each column means.
//!
//! A column is written down once, here: its doc comment is its description in `results/SCHEMA.md`, which a
//! test compares with this file. What was not collected is `None`, and never 0.

use serde::Serialize;
use serde_json::Value as Json;

/// Version of all tables, the manifest and the journal. Columns are added without raising it; a column that
/// is renamed, removed or means something else raises it.
pub const SCHEMA_VERSION: u64 = 1;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Text.
    Text,
    /// A whole number of 64 bits, without a sign.
    Integer,
    /// A decimal number.
    Decimal,
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name, which ends in its unit and statistic.
    pub name: &'static str,
    /// What it holds.
    pub holds: Type,
    /// What it means.
    pub about: &'static str,
}

/// What stands in one column of one row.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// In a text column.
    Text(Option<String>),
    /// In a column of whole numbers.
    Integer(Option<u64>),
    /// In a column of decimal numbers.
    Decimal(Option<f64>),
}

impl Value {
    /// The value in JSON; null where there is none, and for what is no number.
    pub fn json(&self) -> Json {
        match self {
            Self::Text(text) => Json::from(text.clone()),
            Self::Integer(number) => Json::from(*number),
            Self::Decimal(number) => {
                number.and_then(serde_json::Number::from_f64).map_or(Json::Null, Json::from)
            }
        }
    }
}

/// A type that can stand in a column.
pub(crate) trait Cell {
    const HOLDS: Type;
    fn value(&self) -> Value;
}

macro_rules! cell {
    ($type:ty, $kind:ident, $make:expr) => {
        impl Cell for $type {
            const HOLDS: Type = Type::$kind;
            fn value(&self) -> Value {
                let make: fn(&$type) -> _ = $make;
                Value::$kind(make(self))
            }
        }
    };
}

cell!(String, Text, |text| Some(text.clone()));
cell!(Option<String>, Text, |text| text.clone());
cell!(u64, Integer, |number| Some(*number));
cell!(Option<u64>, Integer, |number| *number);
cell!(Option<f64>, Decimal, |number| number.filter(|number| number.is_finite()));

/// A row, or the columns that several tables have in common.
pub trait Row {
    /// The columns in order.
    fn columns() -> Vec<Column>;
    /// What stands in them.
    fn values(&self) -> Vec<Value>;
}

/// A table's own columns behind those that say which cell a row is of.
#[derive(Clone, Debug, Default)]
pub struct Keyed<T> {
    /// Which cell.
    pub key: Key,
    /// What it gave.
    pub own: T,
}

impl<T: Row> Row for Keyed<T> {
    fn columns() -> Vec<Column> {
        [Key::columns(), T::columns()].concat()
    }

    fn values(&self) -> Vec<Value> {
        [self.key.values(), self.own.values()].concat()
    }
}

/// Declares a struct and its columns in one.
macro_rules! row {
    ($(#[doc = $of:literal])+ $name:ident { $( #[doc = $about:literal] $column:ident: $type:ty, )+ }) => {
        $(#[doc = $of])+
        #[derive(Clone, Debug, Default)]
        pub struct $name { $( #[doc = $about] pub $column: $type, )+ }

        impl $crate::record::Row for $name {
            fn columns() -> Vec<$crate::record::Column> {
                vec![$( $crate::record::Column {
                    name: stringify!($column),
                    holds: <$type as $crate::record::Cell>::HOLDS,
                    about: $about.trim_ascii(),
                } ),+]
            }

            fn values(&self) -> Vec<$crate::record::Value> {
                vec![$( $crate::record::Cell::value(&self.$column) ),+]
            }
        }
    };
}

pub(crate) use row;

row! {
    /// Which cell a row is of, and how the cell came about. These columns stand first in every table.
    Key {
        /// Version of the tables
        schema_version: u64,
        /// Name of the run: its folder
        run: String,
        /// The label that the run was given
        label: Option<String>,
        /// The cell's number in the run's plan
        cell: u64,
        /// The block, from 1; block 0 is discarded and stands here only if it failed
        block: u64,
        /// The how-manieth run of a pass that is not run once a block, from 0
        repeat: u64,
        /// Position of the structure, with its allocator, within its block, from 0
        position: u64,
        /// `ok`, `wrong`, `crashed`, `timeout`, `oom`, `unsupported` or `interrupted`
        status: String,
        /// What went wrong, in words
        detail: Option<String>,
        /// The check that the answers passed: `exact`, `ties-any-order` or `late<=bound`
        check: Option<String>,
        /// Name of the structure; one that is measured under another name has that behind it, `wheel@b`
        structure: String,
        /// Its parameters, those that were given: `key=value,...`
        parameters: String,
        /// Name of the workload, with the parameters that were given
        workload: String,
        /// Timers asked for
        size: u64,
        /// What each timer carries: bytes inline, or `box:` and bytes
        payload: String,
        /// The pass: `time`, `latency`, `resident`, `heap` or `count`
        pass: String,
        /// The allocator that served: `jemalloc`, `jemalloc-background`, `system` or `dhat`
        allocator: String,
        /// The clock of single calls and segments: `tsc`, `monotonic` or `thread-cpu`
        clock: Option<String>,
        /// Seed of the operation stream
        seed: u64,
        /// Hash of the operation stream, hexadecimal: equal where the same was asked
        stream_hash: String,
        /// Optimisation level of the worker
        build_level: Option<String>,
        /// Whether the worker was built with debug assertions: `true` or `false`
        build_assertions: Option<String>,
        /// When the cell started, in milliseconds since 1970
        started_unix_ms: u64,
        /// Milliseconds that the cell's process lived
        elapsed_ms: u64,
    }
}

row! {
    /// What was measured: a row for a cell as a whole, for each phase, and for each operation of a phase.
    Measurement {
        /// What the row is of: `cell`, `phase`, `operation`, or `clock` for an empty pair of clock readings
        scope: String,
        /// The phase, for phases and operations
        phase: Option<String>,
        /// The operation; `empty_loop` for the clock
        operation: Option<String>,
        /// Calls made
        calls: Option<u64>,
        /// Timers handled by those calls: queued, taken, dispatched or put back
        timers: Option<u64>,
        /// Nanoseconds of a call, on average (`time`)
        time_ns_per_call: Option<f64>,
        /// Nanoseconds for each timer handled, on average (`time`)
        time_ns_per_timer: Option<f64>,
        /// Nanoseconds of all operations of a cell together, for each timer enqueued (`time`)
        time_ns_per_enqueued: Option<f64>,
        /// Nanoseconds of all calls together, the clock's own median cost taken off (`time`)
        time_ns_total: Option<f64>,
        /// Pairs of clock readings in that
        clock_readings: Option<u64>,
        /// Nanoseconds of a tick of the clock, for the clock's row
        clock_ns_per_tick: Option<f64>,
        /// Elapsed nanoseconds of a phase by the monotonic clock
        wall_ns: Option<u64>,
        /// Nanoseconds of a phase by the thread's CPU time
        cpu_ns: Option<u64>,
        /// Page faults of a phase that needed no read
        faults_minor: Option<u64>,
        /// Page faults of a phase that needed a read
        faults_major: Option<u64>,
        /// Context switches of a phase that the process asked for
        switches_voluntary: Option<u64>,
        /// Context switches of a phase that it did not ask for
        switches_involuntary: Option<u64>,
        /// Calls that were timed singly; of a dispatch, each timer is a call (`latency`)
        latency_calls: Option<u64>,
        /// Median of single calls in nanoseconds, nearest rank (`latency`)
        latency_ns_p50: Option<f64>,
        /// 99th percentile; null with fewer than 1,000 calls
        latency_ns_p99: Option<f64>,
        /// 99.9th percentile; null with fewer than 10,000 calls
        latency_ns_p999: Option<f64>,
        /// The slowest call
        latency_ns_max: Option<f64>,
        /// Calls that overlapped an involuntary context switch
        latency_calls_switched: Option<u64>,
        /// Entries read on the way to a place (`count`)
        entries_visited: Option<u64>,
        /// Entries moved in memory (`count`)
        entries_moved: Option<u64>,
        /// Places or expiries compared (`count`)
        entries_compared: Option<u64>,
        /// Timers that went down a level (`count`)
        entries_cascaded: Option<u64>,
        /// Blocks requested by an operation (`heap`)
        allocated_blocks: Option<u64>,
        /// Bytes requested by an operation (`heap`)
        allocated_bytes: Option<u64>,
        /// Bytes ever requested, by dhat (`heap`)
        heap_bytes_total: Option<u64>,
        /// Blocks ever requested
        heap_blocks_total: Option<u64>,
        /// Bytes at the moment of most bytes
        heap_bytes_peak: Option<u64>,
        /// Blocks at that moment
        heap_blocks_peak: Option<u64>,
        /// Bytes at the end
        heap_bytes_end: Option<u64>,
        /// Blocks at the end
        heap_blocks_end: Option<u64>,
        /// Live heap bytes for each timer queued at `filled`, less those at `empty` (`heap`)
        live_bytes_per_timer: Option<f64>,
        /// Anonymous resident bytes for each timer queued at `filled`, less those at `empty` (`resident`)
        resident_bytes_per_timer: Option<f64>,
        /// Highest resident bytes of the whole worker (`resident`)
        resident_bytes_peak: Option<u64>,
        /// Heap bytes that the structure says it keeps at `drained`, less those at `empty` (`resident` and `heap`)
        held_container_bytes: Option<u64>,
        /// Live heap bytes at `drained`, less those at `empty` (`heap`)
        held_live_bytes: Option<u64>,
        /// Bytes that the allocator has in memory at `drained`, less those at `empty` (`resident`)
        held_allocator_bytes: Option<u64>,
        /// Resident bytes at `drained`, less those at `empty` (`resident`)
        held_resident_bytes: Option<u64>,
        /// Bytes of the operation stream: in resident bytes at every point, `empty` included, so in no difference (`resident`)
        stream_bytes: Option<u64>,
        /// `enqueue` calls
        enqueued: Option<u64>,
        /// `take` calls: rounds
        takes: Option<u64>,
        /// Timers taken
        taken: Option<u64>,
        /// Timers dispatched
        dispatched: Option<u64>,
        /// Windows that closed with something left
        windows_closed: Option<u64>,
        /// Put-backs of an empty batch
        requeued_nothing: Option<u64>,
        /// Put-backs into an empty queue
        requeued_into_empty: Option<u64>,
        /// Put-backs in front, in one step
        requeued_in_front: Option<u64>,
        /// Put-backs that had to merge
        requeued_merged: Option<u64>,
        /// Timers that were put back in any way
        put_back: Option<u64>,
        /// Timers in batches that were merged
        merged_timers: Option<u64>,
        /// Cancels that found their timer
        cancelled: Option<u64>,
        /// Cancels that missed
        cancel_missed: Option<u64>,
        /// Reschedules that found their timer
        rescheduled: Option<u64>,
        /// Timers left at the end, or when the queue was dropped
        left: Option<u64>,
        /// Hash of all that was dispatched, in order, hexadecimal; null above ten million operations
        digest: Option<String>,
        /// Recorded expiries of a trace
        replay_expiries: Option<u64>,
        /// Those of them that the run reproduced at their recorded time
        replay_reproduced: Option<u64>,
        /// Expiries of the run that the trace has not: cancelled, re-armed or running there
        replay_extra: Option<u64>,
    }
}

row! {
    /// The histogram of single calls (`latency`): a row for each bucket that holds a call.
    Bucket {
        /// The phase
        phase: String,
        /// The operation
        operation: String,
        /// Shortest time of the bucket in nanoseconds
        latency_ns_from: u64,
        /// Longest time of the bucket in nanoseconds, within it
        latency_ns_to: u64,
        /// Calls in it
        calls: u64,
    }
}

row! {
    /// The ten slowest calls of each cell (`latency`), slowest first.
    Slowest {
        /// The phase
        phase: String,
        /// The operation
        operation: String,
        /// 1 for the slowest
        rank: u64,
        /// The how-manieth call of the run it was, from 0
        call: u64,
        /// Nanoseconds
        latency_ns: u64,
        /// 1 when it overlapped an involuntary context switch, else 0
        switched: u64,
        /// Timers queued before it, those out in a batch not among them. This and what follows is of an untimed repetition of the run on a structure that counts and whose payload is a block; null where the run took more than 5 seconds
        queue_length_before: Option<u64>,
        /// Timers queued after it
        queue_length: Option<u64>,
        /// Heap bytes that the structure said it had requested before it
        container_bytes_before: Option<u64>,
        /// The same after it: more is growth
        container_bytes_after: Option<u64>,
        /// Entries read on the way to a place
        entries_visited: Option<u64>,
        /// Entries moved in memory
        entries_moved: Option<u64>,
        /// Timers that went down a level
        entries_cascaded: Option<u64>,
        /// Page faults that needed no read
        faults_minor: Option<u64>,
    }
}

row! {
    /// The memory time line (`resident` and `heap`): a row for each point of the workload.
    Memory {
        /// The point: `empty`, `filled`, `drained`, `idle`, `purged`, `shrunk` or `dropped`
        point: String,
        /// Its place in the time line, from 0
        step: u64,
        /// The phase that the look stands in
        phase: Option<String>,
        /// Milliseconds of idling since the queue was last asked something (`resident`; no other pass idles)
        idle_ms: Option<u64>,
        /// Timers queued then
        timers: u64,
        /// Heap bytes that the structure says it has requested, what items own excluded
        container_bytes: Option<u64>,
        /// Heap bytes requested and not given back (`heap`)
        live_bytes: Option<u64>,
        /// Blocks of that
        live_blocks: Option<u64>,
        /// Resident bytes of the worker: VmRSS (`resident`)
        resident_bytes: Option<u64>,
        /// Anonymous resident bytes: RssAnon
        resident_anon_bytes: Option<u64>,
        /// Highest resident bytes so far: VmHWM
        resident_peak_bytes: Option<u64>,
        /// Of the resident bytes, those that were given back and that the system may take at any time: LazyFree
        resident_lazy_free_bytes: Option<u64>,
        /// Bytes that the allocator says are in use
        allocator_allocated_bytes: Option<u64>,
        /// Bytes in pages that hold something in use
        allocator_active_bytes: Option<u64>,
        /// Bytes that the allocator has in memory
        allocator_resident_bytes: Option<u64>,
        /// Bytes of address space that it keeps and that are not in memory
        allocator_retained_bytes: Option<u64>,
    }
}

/// The word that stands for a value in files and tables.
pub fn word<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(Json::String(word)) => word,
        other => unreachable!("only words are asked for, not {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn tables() -> [Vec<Column>; 4] {
        [
            Keyed::<Measurement>::columns(),
            Keyed::<Bucket>::columns(),
            Keyed::<Slowest>::columns(),
            Keyed::<Memory>::columns(),
        ]
    }

    #[test]
    fn no_column_stands_twice_in_a_table_and_each_has_a_value() {
        for columns in tables() {
            let names: HashSet<_> = columns.iter().map(|column| column.name).collect();
            assert_eq!(names.len(), columns.len());
        }
        assert_eq!(Keyed::<Measurement>::default().values().len(), Keyed::<Measurement>::columns().len());
    }

    #[test]
    fn what_was_not_collected_is_null_and_what_is_no_number_is_too() {
        assert_eq!(Value::Integer(None).json(), Json::Null);
        assert_eq!(Some(f64::NAN).value(), Value::Decimal(None));
        assert_eq!(Some(f64::INFINITY).value().json(), Json::Null);
        assert_eq!(Some(0_u64).value().json(), Json::from(0));
    }
}
