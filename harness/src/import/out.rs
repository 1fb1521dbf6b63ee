//! Where an importer hands over what it found.
//!
//! ```text
//! row ------> window (by time, then line) ----> spool ---\
//! present --> by the gap that it stands behind -----------> header, P rows, rows, G, P rows, rows ...
//! scale ----> due times of each clock --------------------/
//! ```

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use super::lines::Origin;
use super::report::Report;
use super::sorter::{Run, Sorter};
use super::spool::Packed;
use super::write::{Contents, Kind, publish};
use super::{Options, stopped};
use crate::error::Error;
use crate::trace::csv::Used;
use crate::trace::{Metadata, Op, Row};

/// A clock that due times are of. 0 is the trace's own, in nanoseconds; an importer numbers its others as it likes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Clock(pub u8);

/// How a clock's units become nanoseconds of the source's time: `zero_ns + units / per_second`. It may be known
/// only at the end of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// The source's time at which the clock stood at 0.
    pub zero_ns: i128,
    /// Units in a second: 1,000 for milliseconds.
    pub per_second: u32,
}

impl Scale {
    /// Nanoseconds of the source's time.
    pub const NANOSECONDS: Self = Self { zero_ns: 0, per_second: 1_000_000_000 };

    /// A duration. 2^94 units are more than any clock's, so it does not overflow.
    fn duration(self, units: i128) -> i128 {
        let units = units.clamp(-(1 << 94), 1 << 94);
        (units * 1_000_000_000).div_euclid(i128::from(self.per_second.max(1)))
    }
}

/// In which order an importer hands rows over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// By time, but for rows that come this many nanoseconds late, at most.
    Within(u64),
    /// In none: all of them are sorted on disk.
    Unsorted,
}

/// A second: longer than any importer takes to decide what a line meant.
pub const WINDOW: Order = Order::Within(1_000_000_000);

/// Rows that wait in the window, at most.
const WINDOW_ROWS: usize = 1 << 20;

/// Collects rows, and what was read besides. Its calls never fail; what the disk refuses is kept until
/// [`Out::healthy`] is asked.
#[derive(Debug)]
pub struct Out {
    folder: PathBuf,
    options: Options,
    metadata: Metadata,
    owners: Vec<String>,
    index: HashMap<String, u32>,
    scales: HashMap<Clock, Scale>,
    /// `Present` rows, by the number of gaps before them.
    present: Vec<Vec<Packed>>,
    rows: Rows,
    arrivals: u64,
    used: Used,
    report: Report,
    started: Instant,
    failed: Option<io::Error>,
}

/// Rows in order of time, or in none yet.
#[derive(Debug)]
enum Rows {
    Window {
        within: u64,
        newest: u64,
        last: u64,
        waiting: BinaryHeap<Reverse<Packed>>,
        spool: BufWriter<File>,
    },
    Sorter(Sorter<Packed>),
}

impl Out {
    /// Before the first row. `path` is the file that is read, `form` what it is, and `folder` where temporary
    /// files may lie.
    ///
    /// # Errors
    ///
    /// No temporary file can be made.
    pub fn new(path: &Path, form: &str, options: &Options, folder: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        let mut metadata = Metadata::default();
        let file = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        metadata.set("source", options.source.clone().unwrap_or(file));
        metadata.set("importer", format!("harness {} {form}", env!("CARGO_PKG_VERSION")));
        metadata.set("licence", options.licence.clone().unwrap_or_else(|| "unknown".to_owned()));
        let mut out = Self {
            report: Report::new(&name, form),
            options: options.clone(),
            metadata,
            owners: Vec::new(),
            index: HashMap::new(),
            scales: HashMap::new(),
            present: vec![Vec::new()],
            rows: Rows::Sorter(Sorter::new(folder)),
            folder: folder.to_owned(),
            arrivals: 0,
            used: [true, true, true, true, false, false, false, false, false],
            started: Instant::now(),
            failed: None,
        };
        out.order(WINDOW)?;
        Ok(out)
    }

    /// Says in which order rows come; [`WINDOW`] unless it is called, before the first row.
    ///
    /// # Errors
    ///
    /// No temporary file can be made.
    pub fn order(&mut self, order: Order) -> Result<(), Error> {
        self.rows = match order {
            Order::Unsorted => Rows::Sorter(Sorter::new(&self.folder)),
            Order::Within(within) => {
                let spool = tempfile::tempfile_in(&self.folder)
                    .map_err(|error| Error::file("make a temporary file in", &self.folder, &error))?;
                let spool = BufWriter::with_capacity(1 << 18, spool);
                Rows::Window { within, newest: 0, last: 0, waiting: BinaryHeap::new(), spool }
            }
        };
        Ok(())
    }

    /// Where temporary files may lie: a [`Sorter`] of the importer's own belongs there too.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The options of the import.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// What the trace says of itself. An importer sets `clock`, `due-granularity-ns`, `fidelity` and `options`,
    /// and `start-state` if the source began with no timer armed; the rest is known here.
    pub fn metadata(&mut self) -> &mut Metadata {
        &mut self.metadata
    }

    /// Adds a row: times in nanoseconds of the source's clock. An expiry may carry the time its timer was due,
    /// from which its lateness follows. `line` is that which the row comes from.
    pub fn row(&mut self, row: &Row, owner: &str) {
        self.row_on(row, Clock::default(), owner);
    }

    /// Adds a row whose due time and slack are of another clock, in its units.
    pub fn row_on(&mut self, row: &Row, clock: Clock, owner: &str) {
        let packed = self.pack(row, clock, owner);
        if row.op == Op::Gap {
            self.present.push(Vec::new());
        }
        let done = match &mut self.rows {
            Rows::Sorter(sorter) => sorter.push(packed),
            Rows::Window { within, newest, waiting, .. } => {
                *newest = (*newest).max(row.time_ns);
                let horizon = newest.saturating_sub(*within);
                waiting.push(Reverse(packed));
                self.pass(horizon)
            }
        };
        if let Err(error) = done {
            self.failed.get_or_insert(error);
        }
    }

    /// Adds a timer that was armed before the trace began or, behind a gap, through it. It may be found out late:
    /// the row is put where the trace, or what is behind the last gap, begins.
    pub fn present(&mut self, row: &Row, clock: Clock, owner: &str) {
        let packed = self.pack(&Row { op: Op::Present, ..*row }, clock, owner);
        self.present.last_mut().expect("there is one for the beginning").push(packed);
    }

    /// Adds a gap: events were lost, and how many if it is known.
    pub fn gap(&mut self, time_ns: u64, lost: Option<u64>, line: u64) {
        let aux = lost.and_then(|lost| i64::try_from(lost).ok());
        self.row(&Row { aux, line, ..Row::new(time_ns, Op::Gap) }, "");
        self.report.gaps.push((line, lost));
    }

    /// Counts an event of the source by its name.
    pub fn event(&mut self, kind: &str) {
        self.report.event(kind);
    }

    /// Counts a line that gave nothing, and why.
    pub fn skip(&mut self, line: u64, reason: &'static str) {
        self.report.skip(line, reason);
    }

    /// Counts something that the reader of the trace should know, with the first lines where it was met.
    pub fn note(&mut self, line: u64, what: &'static str) {
        self.report.note(line, what);
    }

    /// Says how a clock's units become time.
    pub fn scale(&mut self, clock: Clock, scale: Scale) {
        self.scales.insert(clock, scale);
    }

    /// What was counted so far.
    pub fn report(&self) -> &Report {
        &self.report
    }

    pub(super) fn lines_read(&mut self, lines: u64) {
        self.report.lines = lines;
    }

    /// Keeps what the disk refused, for [`Out::healthy`]: for an importer's own [`Sorter`].
    pub(super) fn check(&mut self, done: io::Result<()>) {
        if let Err(error) = done {
            self.failed.get_or_insert(error);
        }
    }

    /// The first thing that the disk refused.
    ///
    /// # Errors
    ///
    /// A temporary file cannot be written.
    pub fn healthy(&mut self) -> Result<(), Error> {
        match self.failed.take() {
            Some(error) => Err(self.unspooled(&error)),
            None => Ok(()),
        }
    }

    fn pack(&mut self, row: &Row, clock: Clock, owner: &str) -> Packed {
        let ctx = (!owner.is_empty()).then(|| self.owner(owner)).or(row.ctx);
        self.report.rows[usize::from(row.op.code() - 1)] += 1;
        self.used[4] |= row.period_ns != 0;
        self.used[5] |= row.slack_ns != 0;
        self.used[6] |= ctx.is_some();
        self.used[7] |= row.cpu.is_some();
        self.used[8] |= row.aux.is_some() || (row.op == Op::Expire && row.due_ns.is_some());
        self.arrivals += 1;
        Packed::new(&Row { ctx, ..*row }, clock, self.arrivals)
    }

    fn owner(&mut self, name: &str) -> u32 {
        if let Some(known) = self.index.get(name) {
            return *known;
        }
        let index = u32::try_from(self.owners.len()).expect("distinct owners are far fewer than rows");
        self.owners.push(name.to_owned());
        self.index.insert(name.to_owned(), index);
        index
    }

    /// Moves rows that nothing can come before any more, those up to `horizon`, from the window to the disk.
    fn pass(&mut self, horizon: u64) -> io::Result<()> {
        let Rows::Window { last, waiting, spool, .. } = &mut self.rows else { return Ok(()) };
        while let Some(Reverse(row)) = waiting.peek()
            && (row.time_ns <= horizon || waiting.len() > WINDOW_ROWS)
        {
            let mut row = *row;
            waiting.pop();
            if row.time_ns < *last {
                self.report.note(row.row().0.line, "a row came too late for its place, and was moved behind");
                row.time_ns = *last;
            }
            *last = row.time_ns;
            spool.write_all(bytemuck::bytes_of(&row))?;
        }
        Ok(())
    }

    /// Writes the result.
    pub(super) fn finish(
        mut self,
        origin: &Origin,
        into: &Path,
        kind: Kind,
        stop: &AtomicBool,
    ) -> Result<Report, Error> {
        self.report.bytes = origin.bytes;
        if self.report.rows.iter().sum::<u64>() == 0 {
            return Err(self.report.nothing());
        }
        self.pass(u64::MAX).map_err(|error| self.unspooled(&error))?;
        self.healthy()?;
        let metadata = self.header(origin);
        let (owners, used) = (std::mem::take(&mut self.owners), self.used);
        let contents = Contents { metadata: &metadata, owners: &owners, used };
        let nothing = Rows::Sorter(Sorter::new(&self.folder));
        let mut rows: Box<dyn Iterator<Item = io::Result<Packed>>> =
            match std::mem::replace(&mut self.rows, nothing) {
                Rows::Sorter(sorter) => Box::new(sorter.finish()),
                Rows::Window { spool, .. } => Box::new(Run::new(self.read_back(spool)?)),
            };
        let mut last = Last::new(&self.scales, &self.present);
        publish(into, kind, &contents, &mut |sink| {
            for (at, row) in rows.by_ref().enumerate() {
                if at.is_multiple_of(1 << 16) {
                    stopped(stop)?;
                }
                last.row(&row.map_err(|error| self.unspooled(&error))?, &mut |row| sink.row(row))?;
            }
            Ok(())
        })?;
        (self.report.armed_max, self.report.armed_at_end) = (last.armed_max, last.armed.len() as u64);
        if last.beyond > 0 {
            self.report.note(0, "a due time beyond 64 bits of nanoseconds stands as the last one within");
        }
        self.report.seconds = self.started.elapsed().as_secs_f64();
        self.report.metadata = metadata;
        Ok(self.report)
    }

    fn unspooled(&self, error: &io::Error) -> Error {
        Error::file("use a temporary file in", &self.folder, error).mend("make room there")
    }

    fn read_back(&self, spool: BufWriter<File>) -> Result<File, Error> {
        let mut file = spool.into_inner().map_err(|error| self.unspooled(error.error()))?;
        file.rewind().map_err(|error| self.unspooled(&error))?;
        Ok(file)
    }

    /// The metadata in their order.
    fn header(&self, origin: &Origin) -> Metadata {
        let lost: u64 = self.report.gaps.iter().filter_map(|(_, lost)| *lost).sum();
        let mut all = Metadata::default();
        all.set("timer-trace", "1");
        for key in ["source", "origin-sha256", "clock", "due-granularity-ns", "hz", "start-state"] {
            let value = match key {
                "origin-sha256" => Some(origin.sha256.as_str()),
                "clock" | "start-state" => self.metadata.get(key).or(Some("unknown")),
                _ => self.metadata.get(key),
            };
            value.into_iter().for_each(|value| all.set(key, value));
        }
        all.set("lost", lost.to_string());
        // A line end within a value would end the header.
        let flat = |text: &str| text.replace(['\n', '\r'], " ");
        self.metadata.pairs().for_each(|(key, value)| all.set(key, flat(value)));
        for op in Op::ALL {
            let count = self.report.count(op);
            if count > 0 {
                all.set(&format!("count-{}", op.letter()), count.to_string());
            }
        }
        all
    }
}

/// The last step: times from 0, due times on the same clock, and who is armed.
struct Last<'a> {
    scales: &'a HashMap<Clock, Scale>,
    present: &'a [Vec<Packed>],
    /// The time of the first row.
    begin: Option<u64>,
    gaps: usize,
    armed: std::collections::HashSet<u64>,
    armed_max: u64,
    /// Due times that did not fit.
    beyond: u64,
}

impl<'a> Last<'a> {
    fn new(scales: &'a HashMap<Clock, Scale>, present: &'a [Vec<Packed>]) -> Self {
        let armed = std::collections::HashSet::new();
        Self { scales, present, begin: None, gaps: 0, armed, armed_max: 0, beyond: 0 }
    }

    fn row(&mut self, packed: &Packed, sink: &mut dyn FnMut(&Row) -> Result<(), Error>) -> Result<(), Error> {
        if self.begin.is_none() {
            self.begin = Some(packed.time_ns);
            self.segment(packed.time_ns, sink)?;
        }
        let row = self.convert(packed);
        sink(&row)?;
        if row.op == Op::Gap {
            self.gaps += 1;
            self.segment(packed.time_ns, sink)?;
        }
        Ok(())
    }

    /// The timers that were there when the trace began, or went on behind a gap.
    fn segment(
        &mut self,
        time_ns: u64,
        sink: &mut dyn FnMut(&Row) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let all = self.present;
        for packed in all.get(self.gaps).into_iter().flatten() {
            let mut packed = *packed;
            packed.time_ns = time_ns;
            let row = self.convert(&packed);
            sink(&row)?;
        }
        Ok(())
    }

    fn convert(&mut self, packed: &Packed) -> Row {
        let (mut row, clock) = packed.row();
        let scale = self.scales.get(&clock).copied().unwrap_or(Scale::NANOSECONDS);
        let begin = i128::from(self.begin.unwrap_or(0));
        row.time_ns = packed.time_ns - self.begin.unwrap_or(0);
        if let Some(units) = row.due_ns {
            let due = scale.duration(units) + scale.zero_ns - begin;
            let within = due.clamp(i128::from(i64::MIN), i128::from(i64::MAX));
            self.beyond += u64::from(within != due);
            row.due_ns = Some(within);
        }
        row.slack_ns = u64::try_from(scale.duration(i128::from(row.slack_ns))).unwrap_or(u64::MAX);
        if row.op == Op::Expire
            && let Some(due) = row.due_ns.take()
        {
            row.aux = row.aux.or_else(|| i64::try_from(i128::from(row.time_ns) - due).ok());
        }
        self.follow(&row);
        row
    }

    fn follow(&mut self, row: &Row) {
        match (row.op, row.timer_id) {
            (Op::Gap, _) => self.armed.clear(),
            (Op::Start | Op::Rearm | Op::Present, Some(timer)) => _ = self.armed.insert(timer),
            (Op::Cancel, Some(timer)) => _ = self.armed.remove(&timer),
            (Op::Expire, Some(timer)) if row.period_ns == 0 => _ = self.armed.remove(&timer),
            _ => {}
        }
        self.armed_max = self.armed_max.max(self.armed.len() as u64);
    }
}
