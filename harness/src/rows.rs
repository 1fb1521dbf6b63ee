//! From what a run has finished to the rows of its tables.

use std::collections::HashMap;

use crate::folder::Manifest;
use crate::journal::{Entry, Status};
use crate::latency::{CallTimes, OperationTimes};
use crate::plan::Cell;
use crate::record::{Bucket, Key, Keyed, Measurement, Memory, SCHEMA_VERSION, Slowest, word};
use crate::spec::{MemorySample, Operation, Pass, Report, SlowDetail};
use crate::stream::{Kind, Outcome, Point};

/// The rows of all tables of a run.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// What was measured.
    pub measurements: Vec<Keyed<Measurement>>,
    /// Histograms of single calls.
    pub latency: Vec<Keyed<Bucket>>,
    /// The slowest calls.
    pub slowest: Vec<Keyed<Slowest>>,
    /// Memory time lines.
    pub memory: Vec<Keyed<Memory>>,
}

/// Makes the rows from the journal's entries. A cell of the discarded block gives rows only if it failed.
pub fn tables(manifest: &Manifest, entries: &[Entry]) -> Tables {
    let cells: Vec<Cell> = manifest.plan.cells();
    let mut tables = Tables::default();
    for entry in entries {
        let cell = cells.get(entry.cell as usize);
        let Some(cell) = cell.filter(|cell| cell.block > 0 || entry.status != Status::Ok) else { continue };
        Rows { key: key(manifest, cell, entry), cell, entry }.add(&mut tables);
    }
    tables
}

fn key(manifest: &Manifest, cell: &Cell, entry: &Entry) -> Key {
    let report = entry.report.as_ref();
    let built = |what: &str| {
        let build = report.into_iter().flat_map(|report| &report.build);
        build.filter(|(key, _)| key == what).map(|(_, value)| value.clone()).next()
    };
    Key {
        schema_version: SCHEMA_VERSION,
        run: manifest.run.clone(),
        label: manifest.label.clone(),
        cell: cell.index.into(),
        block: cell.block.into(),
        repeat: cell.repeat.into(),
        position: cell.position.into(),
        status: word(&entry.status),
        detail: entry.detail.clone(),
        check: entry.check.clone(),
        structure: cell.structure.label(),
        parameters: cell.structure.parameter_text(),
        workload: manifest.plan.workloads[cell.workload].name.clone(),
        size: cell.size,
        payload: cell.payload.to_string(),
        pass: word(&cell.pass),
        allocator: word(&cell.allocator),
        clock: report.and_then(|report| report.clock.as_ref()).map(|clock| clock.name.clone()),
        seed: cell.seed,
        stream_hash: entry.stream_hash.clone(),
        build_level: built("opt_level"),
        build_assertions: built("debug_assertions"),
        started_unix_ms: entry.started_unix_ms,
        elapsed_ms: entry.elapsed_ms,
    }
}

/// The rows of one cell.
struct Rows<'a> {
    key: Key,
    cell: &'a Cell,
    entry: &'a Entry,
}

impl Rows<'_> {
    fn add(self, tables: &mut Tables) {
        // A cell that is wrong has no time: only its status is told.
        let report = self.entry.report.as_ref().filter(|_| self.entry.status == Status::Ok);
        tables.measurements.push(self.keyed(self.whole(report)));
        let Some(report) = report else { return };
        tables.measurements.extend(self.clock(report).map(|row| self.keyed(row)));
        tables.measurements.extend(self.phases(report).into_iter().map(|row| self.keyed(row)));
        tables.measurements.extend(self.operations(report).into_iter().map(|row| self.keyed(row)));
        let memory = report.memory.iter().zip(0..).map(|(sample, step)| self.memory(sample, step));
        tables.memory.extend(memory.map(|row| self.keyed(row)));
        if let Some(calls) = &self.entry.calls {
            tables.latency.extend(self.buckets(calls));
            tables.slowest.extend(self.slowest(calls));
        }
    }

    fn keyed<T>(&self, own: T) -> Keyed<T> {
        Keyed { key: self.key.clone(), own }
    }

    fn phase(&self, index: u32) -> String {
        self.entry.phases.get(index as usize).cloned().unwrap_or_else(|| index.to_string())
    }

    fn whole(&self, report: Option<&Report>) -> Measurement {
        let row = Measurement { scope: "cell".into(), ..Measurement::default() };
        let Some(report) = report else { return row };
        let row = outcome_columns(&report.outcome, heap_columns(report, row));
        let [reproduced, expiries, extra] = self.entry.reproduced.map_or([None; 3], |all| all.map(Some));
        Measurement {
            time_ns_per_enqueued: time_per_enqueued(report),
            live_bytes_per_timer: per_timer(&report.memory, |sample| sample.live_bytes),
            resident_bytes_per_timer: per_timer(&report.memory, |sample| sample.resident_anon_bytes),
            resident_bytes_peak: report.memory.iter().filter_map(|sample| sample.resident_peak_bytes).max(),
            held_container_bytes: held(&report.memory, |sample| sample.container_bytes),
            held_live_bytes: held(&report.memory, |sample| sample.live_bytes),
            held_allocator_bytes: held(&report.memory, |sample| sample.allocator_resident_bytes),
            held_resident_bytes: held(&report.memory, |sample| sample.resident_bytes),
            stream_bytes: report.stream_bytes,
            replay_expiries: expiries,
            replay_reproduced: reproduced,
            replay_extra: extra,
            ..row
        }
    }

    fn clock(&self, report: &Report) -> Option<Measurement> {
        let clock = report.clock.as_ref()?;
        let [samples, p50, p99, p999, max] = clock.empty_ns;
        Some(Measurement {
            scope: "clock".into(),
            operation: Some("empty_loop".into()),
            latency_calls: Some(samples as u64),
            clock_ns_per_tick: Some(clock.tick_ns),
            latency_ns_p50: Some(p50),
            latency_ns_p99: Some(p99),
            latency_ns_p999: Some(p999),
            latency_ns_max: Some(max),
            ..Measurement::default()
        })
    }

    fn phases(&self, report: &Report) -> Vec<Measurement> {
        let row = |phase: &crate::spec::PhaseCost| Measurement {
            scope: "phase".into(),
            phase: Some(self.phase(phase.phase)),
            wall_ns: Some(phase.wall_ns),
            cpu_ns: Some(phase.cpu_ns),
            faults_minor: Some(phase.faults[0]),
            faults_major: Some(phase.faults[1]),
            switches_voluntary: Some(phase.switches[0]),
            switches_involuntary: Some(phase.switches[1]),
            ..Measurement::default()
        };
        // Only the time pass times whole phases: elsewhere a phase holds the cost of looking, too.
        let told = self.cell.pass == Pass::Time;
        report.phases.iter().filter(|_| told).map(row).collect()
    }

    fn operations(&self, report: &Report) -> Vec<Measurement> {
        let calls = self.entry.calls.as_ref();
        let times = |operation: &Operation| {
            let mut operations = calls.into_iter().flat_map(|calls| &calls.operations);
            let same = |times: &&OperationTimes| {
                (times.phase, times.kind) == (operation.phase, operation.kind as u8)
            };
            operations.find(same).cloned()
        };
        report.operations.iter().map(|operation| self.operation(operation, times(operation))).collect()
    }

    fn operation(&self, operation: &Operation, times: Option<OperationTimes>) -> Measurement {
        let per = |count: u64| operation.time_ns.filter(|_| count > 0).map(|ns| ns / count as f64);
        let counts = operation.counts.map_or([None; 4], |counts| counts.map(Some));
        let row = Measurement {
            scope: "operation".into(),
            phase: Some(self.phase(operation.phase)),
            operation: Some(word(&operation.kind)),
            calls: Some(operation.calls),
            timers: Some(operation.timers),
            time_ns_per_call: per(operation.calls),
            time_ns_per_timer: per(operation.timers),
            time_ns_total: operation.time_ns,
            clock_readings: operation.clock_readings,
            entries_visited: counts[0],
            entries_moved: counts[1],
            entries_compared: counts[2],
            entries_cascaded: counts[3],
            allocated_blocks: operation.allocated.map(|[blocks, _]| blocks),
            allocated_bytes: operation.allocated.map(|[_, bytes]| bytes),
            ..Measurement::default()
        };
        let Some(times) = times else { return row };
        let [p50, p99, p999] = times.quantiles_ns.map(|ns| ns.map(|ns| ns as f64));
        Measurement {
            latency_ns_p50: p50,
            latency_ns_p99: p99,
            latency_ns_p999: p999,
            latency_calls: Some(times.calls),
            latency_ns_max: Some(times.max_ns as f64),
            latency_calls_switched: Some(times.switched),
            ..row
        }
    }

    fn buckets(&self, calls: &CallTimes) -> Vec<Keyed<Bucket>> {
        let of = |times: &OperationTimes| {
            let (phase, operation) = (self.phase(times.phase), kind_name(times.kind));
            let bucket = move |[from, to, calls]: &[u64; 3]| Bucket {
                phase: phase.clone(),
                operation: operation.clone(),
                latency_ns_from: *from,
                latency_ns_to: *to,
                calls: *calls,
            };
            times.histogram.iter().map(bucket).map(|row| self.keyed(row)).collect::<Vec<_>>()
        };
        calls.operations.iter().flat_map(of).collect()
    }

    fn slowest(&self, calls: &CallTimes) -> Vec<Keyed<Slowest>> {
        let details = self.entry.report.iter().flat_map(|report| &report.slow);
        let details: HashMap<u64, &SlowDetail> = details.map(|detail| (detail.position, detail)).collect();
        let row = |(rank, call): (u64, &crate::latency::SlowCall)| {
            let row = Slowest {
                phase: self.phase(call.phase),
                operation: kind_name(call.kind),
                rank,
                call: call.position,
                latency_ns: call.ns,
                switched: call.switched.into(),
                ..Slowest::default()
            };
            details.get(&call.position).map_or(row.clone(), |detail| with_detail(row, detail))
        };
        (1..).zip(&calls.slowest).map(row).map(|row| self.keyed(row)).collect()
    }

    fn memory(&self, sample: &MemorySample, step: u64) -> Memory {
        Memory {
            point: word(&sample.point),
            step,
            phase: sample.phase.map(|phase| self.phase(phase)),
            idle_ms: sample.idle_ms,
            timers: sample.timers,
            container_bytes: sample.container_bytes,
            live_bytes: sample.live_bytes,
            live_blocks: sample.live_blocks,
            resident_bytes: sample.resident_bytes,
            resident_anon_bytes: sample.resident_anon_bytes,
            resident_peak_bytes: sample.resident_peak_bytes,
            resident_lazy_free_bytes: sample.resident_lazy_free_bytes,
            allocator_allocated_bytes: sample.allocator_allocated_bytes,
            allocator_active_bytes: sample.allocator_active_bytes,
            allocator_resident_bytes: sample.allocator_resident_bytes,
            allocator_retained_bytes: sample.allocator_retained_bytes,
        }
    }
}

fn with_detail(row: Slowest, detail: &SlowDetail) -> Slowest {
    Slowest {
        queue_length_before: Some(detail.queue_length[0]),
        queue_length: Some(detail.queue_length[1]),
        container_bytes_before: detail.container_bytes[0],
        container_bytes_after: detail.container_bytes[1],
        entries_visited: Some(detail.entries_visited),
        entries_moved: Some(detail.entries_moved),
        entries_cascaded: Some(detail.entries_cascaded),
        faults_minor: Some(detail.faults_minor),
        ..row
    }
}

fn kind_name(number: u8) -> String {
    Kind::from_number(number).map_or_else(|| number.to_string(), |kind| word(&kind))
}

/// Bytes for each timer queued at `filled`, less what the empty worker had.
fn per_timer(memory: &[MemorySample], bytes: impl Fn(&MemorySample) -> Option<u64>) -> Option<f64> {
    let at = |point| memory.iter().find(|sample| sample.point == point);
    let filled = at(Point::Filled)?;
    let (full, empty) = (bytes(filled)?, bytes(at(Point::Empty)?)?);
    (filled.timers > 0).then(|| full.saturating_sub(empty) as f64 / filled.timers as f64)
}

/// Time of all operations for each timer that was enqueued.
fn time_per_enqueued(report: &Report) -> Option<f64> {
    let times = report.operations.iter().map(|operation| operation.time_ns);
    let total = times.sum::<Option<f64>>().filter(|_| !report.operations.is_empty())?;
    (report.outcome.enqueued > 0).then(|| total / report.outcome.enqueued as f64)
}

/// Bytes at `drained`, above what the empty worker had.
fn held(memory: &[MemorySample], bytes: impl Fn(&MemorySample) -> Option<u64>) -> Option<u64> {
    let at = |point| memory.iter().find(|sample| sample.point == point).and_then(&bytes);
    Some(at(Point::Drained)?.saturating_sub(at(Point::Empty)?))
}

fn heap_columns(report: &Report, row: Measurement) -> Measurement {
    let Some(heap) = &report.heap else { return row };
    Measurement {
        heap_bytes_total: Some(heap.total[0]),
        heap_blocks_total: Some(heap.total[1]),
        heap_bytes_peak: Some(heap.peak[0]),
        heap_blocks_peak: Some(heap.peak[1]),
        heap_bytes_end: Some(heap.end[0]),
        heap_blocks_end: Some(heap.end[1]),
        ..row
    }
}

fn outcome_columns(outcome: &Outcome, row: Measurement) -> Measurement {
    Measurement {
        enqueued: Some(outcome.enqueued),
        takes: Some(outcome.takes),
        taken: Some(outcome.taken),
        dispatched: Some(outcome.dispatched),
        windows_closed: Some(outcome.windows_closed),
        requeued_nothing: Some(outcome.requeued_nothing),
        requeued_into_empty: Some(outcome.requeued_into_empty),
        requeued_in_front: Some(outcome.requeued_in_front),
        requeued_merged: Some(outcome.requeued_merged),
        put_back: Some(outcome.put_back),
        merged_timers: Some(outcome.merged_timers),
        cancelled: Some(outcome.cancelled),
        cancel_missed: Some(outcome.cancel_missed),
        rescheduled: Some(outcome.rescheduled),
        left: Some(outcome.left),
        digest: outcome.digest.map(|digest| format!("{digest:016x}")),
        ..row
    }
}
