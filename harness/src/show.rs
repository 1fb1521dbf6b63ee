//! What a run prints: for each workload and size, time, memory, what is held after a burst, and rounds; one
//! row a structure, and the same columns whether there is one or ten of them.

use crate::folder::Manifest;
use crate::format::{decimals, fixed, memory_unit, numbers, whole};
use crate::grid::Grid;
use crate::latency::{QUANTILES, calls_needed};
use crate::record::{Measurement, Memory};
use crate::retention;
use crate::select::thousands;
use crate::summary::{Figure, Of, Place, Summary};

/// The tables of one workload and size.
pub fn grids(summary: &Summary<'_>, manifest: &Manifest) -> Vec<Grid> {
    let studies = retention::studies_of(summary.memory());
    let mut grids = vec![time(summary, manifest), counts(summary)];
    if studies.is_empty() {
        grids.extend([resident(summary), held(summary)]);
    }
    grids.push(rounds(summary));
    grids.retain(|grid| !grid.rows.is_empty() && grid.headings.len() > grid.names);
    grids.splice(0..0, retention::grids(&studies, &manifest.allocators));
    if let Some(first) = grids.first_mut() {
        first.title = format!("{}\n\n{}", title(summary, manifest), first.title);
    }
    grids.extend(failures(summary));
    grids
}

/// What was measured, on what, how often.
fn title(summary: &Summary<'_>, manifest: &Manifest) -> String {
    let names: Vec<_> = summary.structures.iter().map(|of| of.name.as_str()).collect();
    let allocators = summary.words(|row| Some(row.key.allocator.clone()).filter(|name| name != "dhat"));
    let clocks = summary.words(|row| row.key.clock.clone());
    let mut title = format!(
        "{} on {}, n = {} timers carrying {}",
        names.join(", "),
        summary.workload,
        thousands(summary.size),
        payload(summary.payload),
    );
    for (what, words) in [("allocator", allocators), ("clock", clocks)] {
        if !words.is_empty() {
            title.push_str(&format!(", {what} {}", words.join(" and ")));
        }
    }
    title + &format!(", seed {}", manifest.plan.seed)
}

/// `box:16` in words.
fn payload(payload: &str) -> String {
    match payload.strip_prefix("box:") {
        Some(bytes) => format!("a block of {bytes} bytes each"),
        None => format!("{payload} bytes each"),
    }
}

/// An operation of one structure: a row of the first table.
struct Line<'a> {
    of: &'a Of<'a>,
    place: Place,
}

impl Line<'_> {
    fn figure(&self, column: impl Fn(&Measurement) -> Option<f64>) -> Option<Figure> {
        self.of.operation(&self.place, column)
    }

    fn has(&self) -> bool {
        self.figure(|own| own.time_ns_per_call.or(own.latency_ns_max)).is_some()
    }
}

/// Time of each operation: on average from the pass that reads no clock within a segment, and of single calls.
fn time(summary: &Summary<'_>, manifest: &Manifest) -> Grid {
    let operations = summary.operations();
    let lines = operations
        .iter()
        .flat_map(|place| summary.structures.iter().map(|of| Line { of, place: place.clone() }));
    let lines: Vec<Line<'_>> = lines.filter(Line::has).collect();
    let mut grid = Grid { title: "Time, in nanoseconds".into(), ..Grid::default() };
    if lines.is_empty() {
        return grid;
    }
    let with_loop = |mut texts: Vec<String>, last: &str| {
        texts.push(last.to_owned());
        texts
    };
    let operation = |line: &Line<'_>| format!("{} {}", line.place.0, line.place.1.replace('_', " "));
    grid.name_column("operation", with_loop(lines.iter().map(operation).collect(), "(empty loop)"));
    grid.name_column(
        "structure",
        with_loop(lines.iter().map(|line| line.of.name.clone()).collect(), "(clock alone)"),
    );
    let calls = lines.iter().map(|line| line.figure(|own| own.calls.map(|calls| calls as f64)));
    grid.column("calls", whole_medians(&with(calls.collect(), None)));
    if lines.iter().any(|line| line.figure(|own| own.time_ns_per_call).is_some()) {
        mean_columns(&mut grid, &lines);
    }
    if lines.iter().any(|line| line.figure(|own| own.latency_ns_max).is_some()) {
        quantile_columns(&mut grid, &lines, summary);
    }
    grid.notes.extend(time_notes(summary, manifest, &grid));
    grid
}

fn with(mut figures: Vec<Option<Figure>>, last: Option<Figure>) -> Vec<Option<Figure>> {
    figures.push(last);
    figures
}

/// Per timer and per call from the pass that reads no clock within a segment.
fn mean_columns(grid: &mut Grid, lines: &[Line<'_>]) {
    for (unit, column) in [("timer", per_timer as fn(&Measurement) -> _), ("call", per_call)] {
        let figures = with(lines.iter().map(|line| line.figure(column)).collect(), None);
        grid.column(&format!("per {unit}\nmedian"), medians(&figures));
        grid.column(&format!("per {unit}\nmin..max"), ranges(&figures));
    }
}

fn per_timer(own: &Measurement) -> Option<f64> {
    own.time_ns_per_timer
}

fn per_call(own: &Measurement) -> Option<f64> {
    own.time_ns_per_call
}

/// Quantiles of single calls, and the slowest: its median over the blocks, and the slowest of all.
fn quantile_columns(grid: &mut Grid, lines: &[Line<'_>], summary: &Summary<'_>) {
    type Column = fn(&Measurement) -> Option<f64>;
    let columns: [(&str, Column); 4] = [
        ("p50", |own| own.latency_ns_p50),
        ("p99", |own| own.latency_ns_p99),
        ("p99.9", |own| own.latency_ns_p999),
        ("max", |own| own.latency_ns_max),
    ];
    let empty = |column: Column| {
        Figure::of(summary.structures.iter().filter_map(|of| of.clock(column)).map(|f| f.median))
    };
    let calls: Column = |own| own.latency_calls.map(|calls| calls as f64);
    let figures = with(lines.iter().map(|line| line.figure(calls)).collect(), empty(calls));
    grid.column("one call\ncalls", whole_medians(&figures));
    let floor = empty(columns[0].1).map_or(0.0, |figure| 2.0 * figure.median);
    for (i, (name, column)) in columns.into_iter().enumerate() {
        let figures = with(lines.iter().map(|line| line.figure(column)).collect(), empty(column));
        let mut texts = medians(&figures);
        let too_few = QUANTILES.get(i).map(|q| format!("n<{}", thousands(calls_needed(*q))));
        let called = lines.iter().map(|line| line.figure(|own| own.latency_ns_max).is_some());
        for ((text, figure), called) in texts.iter_mut().zip(&figures).zip(called) {
            match (figure, &too_few) {
                (None, Some(too_few)) if called => text.clone_from(too_few),
                (Some(figure), _) if name == "p50" && figure.median < floor => text.insert(0, '~'),
                _ => {}
            }
        }
        grid.column(&format!("one call\n{name}"), texts);
    }
    let slowest = with(lines.iter().map(|line| line.figure(columns[3].1)).collect(), empty(columns[3].1));
    grid.column("one call\nslowest", numbers(&slowest.iter().map(|f| f.map(|f| f.max)).collect::<Vec<_>>()));
}

fn time_notes(summary: &Summary<'_>, manifest: &Manifest, grid: &Grid) -> Vec<String> {
    let blocks = summary.blocks();
    let noun = if blocks == 1 { "block" } else { "blocks" };
    let mut notes = vec![format!(
        "{blocks} {noun}, each cell a process of its own: medians over them, and min..max. Per timer: for each timer that the calls handled."
    )];
    let shown = |mark: &str| grid.rows.iter().flatten().any(|text| text.starts_with(mark));
    if grid.headings.iter().any(|heading| heading.contains("p50")) {
        notes.push(
            "One call: each timed singly, the clock's own cost (empty loop) included; of a dispatch each timer counts as a call. `slowest` is the slowest of all blocks."
                .into(),
        );
    }
    if shown("~") {
        notes.push(
            "~ is under twice the empty loop: mostly the clock itself; go by the time per timer.".into(),
        );
    }
    if shown("n<") {
        notes.push("n<... is a quantile that needs more calls than there were.".into());
    }
    notes.extend(manifest.build.warning());
    notes
}

fn medians(figures: &[Option<Figure>]) -> Vec<String> {
    numbers(&figures.iter().map(|figure| figure.map(|figure| figure.median)).collect::<Vec<_>>())
}

fn whole_medians(figures: &[Option<Figure>]) -> Vec<String> {
    whole(&figures.iter().map(|figure| figure.map(|figure| figure.median)).collect::<Vec<_>>())
}

fn ranges(figures: &[Option<Figure>]) -> Vec<String> {
    let ends = |pick: fn(&Figure) -> f64| figures.iter().map(move |figure| figure.as_ref().map(pick));
    let both: Vec<_> = ends(|figure| figure.min).chain(ends(|figure| figure.max)).collect();
    let texts = numbers(&both);
    let (min, max) = texts.split_at(figures.len());
    min.iter()
        .zip(max)
        .map(|(min, max)| if min == "-" { "-".into() } else { format!("{min}..{max}") })
        .collect()
}

fn counts(summary: &Summary<'_>) -> Grid {
    type Column = fn(&Measurement) -> Option<u64>;
    let columns: [(&str, Column); 4] = [
        ("visited", |own| own.entries_visited),
        ("moved", |own| own.entries_moved),
        ("compared", |own| own.entries_compared),
        ("cascaded", |own| own.entries_cascaded),
    ];
    let counted = |of: &Of<'_>, place: &Place, column: Column| {
        of.operation(place, |own| Some(column(own)? as f64 / own.timers.filter(|timers| *timers > 0)? as f64))
    };
    let places = summary
        .operations()
        .into_iter()
        .flat_map(|place| summary.structures.iter().map(move |of| (of, place.clone())));
    let lines: Vec<_> = places.filter(|(of, place)| counted(of, place, columns[0].1).is_some()).collect();
    let mut grid = Grid { title: "Work, in entries for each timer handled".into(), ..Grid::default() };
    let operation = |(_, place): &(&Of<'_>, Place)| format!("{} {}", place.0, place.1.replace('_', " "));
    grid.name_column("operation", lines.iter().map(operation).collect());
    grid.name_column("structure", lines.iter().map(|(of, _)| of.name.clone()).collect());
    for (name, column) in columns {
        let figures: Vec<_> = lines.iter().map(|(of, place)| counted(of, place, column)).collect();
        grid.column(name, medians(&figures));
    }
    grid
}

/// One row for each structure that has a figure in it.
struct Rows<'a> {
    grid: Grid,
    structures: Vec<&'a Of<'a>>,
}

impl<'a> Rows<'a> {
    fn new(summary: &'a Summary<'a>, title: &str, has: impl Fn(&Of<'_>) -> bool) -> Self {
        let structures: Vec<_> = summary.structures.iter().filter(|of| has(of)).collect();
        let mut grid = Grid { title: title.into(), ..Grid::default() };
        grid.name_column("structure", structures.iter().map(|of| of.name.clone()).collect());
        Self { grid, structures }
    }

    fn figures(&self, figure: impl Fn(&Of<'_>) -> Option<Figure>) -> Vec<Option<f64>> {
        self.structures.iter().map(|of| figure(of).map(|figure| figure.median)).collect()
    }

    /// Columns of memory that have a unit in common.
    fn memory(&mut self, columns: Vec<(String, Vec<Option<f64>>)>) {
        let all: Vec<_> = columns.iter().flat_map(|(_, figures)| figures.clone()).collect();
        let (unit, bytes) = memory_unit(&all);
        let scaled: Vec<_> = all.iter().map(|figure| figure.map(|figure| figure / bytes)).collect();
        let decimals = decimals(&scaled).max(usize::from(unit != "B"));
        let text = |figure: &Option<f64>| figure.map_or_else(|| "-".into(), |figure| fixed(figure, decimals));
        let columns_of = scaled.chunks(self.structures.len().max(1));
        let mut texts = columns_of.map(|figures| figures.iter().map(text).collect());
        for (heading, _) in columns {
            self.grid.column(&format!("{heading}, {unit}"), texts.next().unwrap_or_default());
        }
    }
}

fn resident(summary: &Summary<'_>) -> Grid {
    let has = |of: &Of<'_>| of.point("empty", |own| own.resident_bytes).is_some();
    let mut rows = Rows::new(summary, "Resident memory (RSS) of the whole worker", has);
    let column = |point: &String| {
        (format!("RSS\n{point}"), rows.figures(|of| of.point(point, |own| own.resident_bytes)))
    };
    let mut columns: Vec<_> = summary.points().iter().map(column).collect();
    let peak = |own: &Measurement| own.resident_bytes_peak.map(|bytes| bytes as f64);
    columns.push(("RSS\npeak".into(), rows.figures(|of| of.whole(peak))));
    rows.memory(columns);
    let per_timer = rows.figures(|of| of.whole(|own| own.resident_bytes_per_timer));
    let live = rows.figures(|of| of.whole(|own| own.live_bytes_per_timer));
    rows.grid.column("bytes a timer\nresident", numbers(&per_timer));
    rows.grid.column("bytes a timer\nlive heap", numbers(&live));
    let stream = rows.figures(|of| of.whole(|own| own.stream_bytes.map(|bytes| bytes as f64)));
    if let Some(bytes) = stream.into_iter().flatten().next() {
        let (unit, size) = memory_unit(&[Some(bytes)]);
        rows.grid.notes.push(format!(
            "Every RSS, `empty` too, has {} {unit} of operations in it that the worker was given; bytes a timer have not.",
            fixed(bytes / size, usize::from(unit != "B"))
        ));
    }
    rows.grid.notes.push(
        "`empty` is the worker's own floor. Bytes a timer: at `filled`, less those at `empty`, payload included; resident ones are of anonymous memory.".into(),
    );
    rows.grid
}

/// What is still held when the workload has drained, and dhat's account of the whole run.
fn held(summary: &Summary<'_>) -> Grid {
    let has = |of: &Of<'_>| !of.memory_is_empty();
    let left = summary.structures.iter().find_map(|of| of.point("drained", |own| Some(own.timers)));
    let left = left
        .map_or_else(String::new, |left| format!("Held with {} timers left, and ", fixed(left.median, 0)));
    let mut rows = Rows::new(summary, &format!("{left}dhat's account of the run"), has);
    type Column = fn(&Memory) -> Option<u64>;
    let columns: [(&str, Column); 4] = [
        ("container", |own| own.container_bytes),
        ("live heap", |own| own.live_bytes),
        ("allocator", |own| own.allocator_resident_bytes),
        ("RSS", |own| own.resident_bytes),
    ];
    for (name, column) in columns {
        let above_empty = |of: &Of<'_>| {
            let (held, empty) = (of.point("drained", column)?, of.point("empty", column));
            Figure::of([(held.median - empty.map_or(0.0, |empty| empty.median)).max(0.0)])
        };
        let figures = rows.figures(above_empty);
        rows.memory(vec![(format!("held\n{name}"), figures)]);
    }
    type Total = fn(&Measurement) -> Option<u64>;
    let totals: [(&str, Total); 3] = [
        ("total", |own| own.heap_bytes_total),
        ("peak", |own| own.heap_bytes_peak),
        ("end", |own| own.heap_bytes_end),
    ];
    for (name, column) in totals {
        let figures = rows.figures(|of| of.whole(|own| column(own).map(|bytes| bytes as f64)));
        rows.memory(vec![(format!("dhat\n{name}"), figures)]);
    }
    rows.grid.notes.push(
        "Held: above the empty worker. Container: what the structure itself keeps; live heap: with what the timers own; \
         allocator: the pages it says it keeps, touched or not; RSS: what the system has not got back."
            .into(),
    );
    rows.grid
}

fn rounds(summary: &Summary<'_>) -> Grid {
    let count = |of: &Of<'_>, column: fn(&Measurement) -> Option<u64>| {
        of.of_a_block(|own| column(own).map(|count| count as f64))
    };
    let has = |of: &Of<'_>| count(of, |own| own.takes).is_some();
    let mut rows = Rows::new(summary, "Rounds, in each run of the workload (median over the blocks)", has);
    type Column = fn(&Measurement) -> Option<u64>;
    let columns: [(&str, Column); 10] = [
        ("rounds", |own| own.takes),
        ("timers\ntaken", |own| own.taken),
        ("timers\ndispatched", |own| own.dispatched),
        ("windows\nclosed", |own| own.windows_closed),
        ("put back\nin front", |own| own.requeued_in_front),
        ("put back\ninto empty", |own| own.requeued_into_empty),
        ("put back\nmerged", |own| own.requeued_merged),
        ("timers\nput back", |own| own.put_back),
        ("timers\nmerged", |own| own.merged_timers),
        ("timers\nleft", |own| own.left),
    ];
    for (name, column) in columns {
        let figures = rows.figures(|of| count(of, column));
        rows.grid.column(name, whole(&figures));
    }
    let checks = rows.structures.iter().map(|of| of.words(|row| row.key.check.clone()).join(", ")).collect();
    rows.grid.column("answers\nchecked as", checks);
    let expiries = rows.figures(|of| count(of, |own| own.replay_expiries));
    if expiries.iter().any(Option::is_some) {
        let reproduced = rows.figures(|of| count(of, |own| own.replay_reproduced));
        let both = whole(&reproduced).into_iter().zip(whole(&expiries));
        let texts = both.map(|(reproduced, of)| format!("{reproduced} of {of}")).collect();
        rows.grid.column("recorded expiries\nreproduced", texts);
        let extra = rows.figures(|of| count(of, |own| own.replay_extra));
        rows.grid.column("expiries that\nare not recorded", whole(&extra));
    }
    rows.grid
}

/// Cells that gave no figures, with the reason.
fn failures(summary: &Summary<'_>) -> Option<Grid> {
    let lines: Vec<[String; 5]> = summary
        .structures
        .iter()
        .flat_map(|of| {
            of.failures().into_iter().map(|(pass, status, detail, cells)| {
                [of.name.clone(), pass, status, cells.to_string(), detail]
            })
        })
        .collect();
    let mut grid = Grid { title: "Not measured".into(), ..Grid::default() };
    for (i, heading) in ["structure", "pass", "status", "cells", "why"].into_iter().enumerate() {
        grid.name_column(heading, lines.iter().map(|line| line[i].clone()).collect());
    }
    (!lines.is_empty()).then_some(grid)
}
