//! The thread that writes: rows become lines, and what must have been armed unseen is added.
//!
//! ```text
//! # timer-trace: 1 ...        known at the start
//! # not finished: ...         a block of fixed length, replaced by the counts at the end
//! time_ns,op,...              the columns
//! 12,S,0,5000000012,...       rows
//! ```

use std::collections::HashMap;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};

use crate::Options;
use crate::buffer::{Op, Row, Shared, Taken};

/// Letters of the operations in order of [`Writer::counts`].
const LETTERS: [char; 7] = ['S', 'R', 'C', 'N', 'E', 'P', 'G'];
const PRESENT: usize = 5;
const GAP: usize = 6;

/// Bytes kept free in the header: the longest counts need 391.
const BLOCK: usize = 448;

/// What a trace that was finished holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Operations that were logged and written.
    pub rows: u64,
    /// Operations that were logged while the buffer was full.
    pub lost: u64,
    /// Stretches of lost operations: G rows.
    pub gaps: u64,
    /// Timers that must have been armed unseen, before the trace began or in a gap: P rows.
    pub present: u64,
    /// Most timers armed at once.
    pub armed_max: u64,
    /// Timers armed at the end.
    pub armed_at_end: u64,
}

/// What is known of an armed timer.
#[derive(Clone, Copy, Debug)]
struct Armed {
    /// Empty where the start was not seen.
    due: Option<i64>,
    period: u64,
}

/// Turns rows into lines.
#[derive(Debug)]
pub(crate) struct Writer<W: Write + Seek> {
    into: BufWriter<W>,
    /// Where the block for the counts begins.
    block: u64,
    counts: [u64; LETTERS.len()],
    lost: u64,
    armed: HashMap<u64, Armed>,
    armed_max: usize,
    /// P rows before the first gap: the trace does not begin with an empty queue.
    unknown_start: bool,
}

impl<W: Write + Seek> Writer<W> {
    /// Writes what is known at the start.
    pub(crate) fn new(into: W, options: &Options) -> io::Result<Self> {
        let mut into = BufWriter::with_capacity(1 << 16, into);
        let version = env!("CARGO_PKG_VERSION");
        let header = [
            ("timer-trace", "1"),
            ("source", &options.source),
            (
                "clock",
                "the system's monotonic clock (std::time::Instant), 0 = the moment in which recording began",
            ),
            ("due-granularity-ns", "1"),
            ("importer", &format!("timer-log {version}")),
            ("options", &format!("rows={}", options.rows)),
            ("fidelity", "recorded"),
            ("licence", &options.licence),
        ];
        for (key, value) in header {
            let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
            writeln!(into, "# {key}: {value}")?;
        }
        into.flush()?;
        let block = into.stream_position()?;
        let open = "# not finished: the program ended before the trace did, so there are no counts";
        writeln!(into, "{open:<width$}", width = BLOCK - 1)?;
        writeln!(into, "time_ns,op,timer_id,due_ns,period_ns,slack_ns,ctx,cpu,aux")?;
        into.flush()?;
        Ok(Self {
            into,
            block,
            counts: [0; LETTERS.len()],
            lost: 0,
            armed: HashMap::new(),
            armed_max: 0,
            unknown_start: false,
        })
    }

    /// Writes what is logged until the log is closed. An error closes it, so that nobody logs for nothing.
    pub(crate) fn run(mut self, shared: &Shared, limit: usize) -> io::Result<Summary> {
        let mut spare = Vec::with_capacity(limit);
        loop {
            let mut taken = shared.take(spare);
            self.write(&taken).inspect_err(|_| shared.close())?;
            if taken.closed {
                return self.finish();
            }
            taken.rows.clear();
            spare = taken.rows;
        }
    }

    fn write(&mut self, taken: &Taken) -> io::Result<()> {
        for row in &taken.rows {
            self.row(row)?;
        }
        if taken.lost > 0 {
            self.lost += taken.lost;
            self.counts[GAP] += 1;
            self.armed.clear();
            writeln!(self.into, "{},G,,,0,0,,,{}", taken.lost_at, taken.lost)?;
        }
        self.into.flush()
    }

    fn row(&mut self, row: &Row) -> io::Result<()> {
        let needs_armed = matches!(row.op, Op::Rearm | Op::Cancel | Op::Expire);
        if needs_armed && !self.armed.contains_key(&row.id) {
            self.present(row)?;
        }
        let (time, id) = (row.time, row.id);
        match row.op {
            Op::Start => self.start(row),
            Op::Rearm => {
                let period = self.armed.get(&id).map_or(0, |armed| armed.period);
                self.arm(row, 'R', Armed { due: Some(row.due), period })
            }
            Op::Cancel => {
                self.armed.remove(&id);
                self.count('C');
                writeln!(self.into, "{time},C,{id},,0,0,,,")
            }
            Op::Miss => {
                self.count('N');
                writeln!(self.into, "{time},N,{id},,0,0,,,")
            }
            Op::Expire => self.expire(row),
        }
    }

    fn start(&mut self, row: &Row) -> io::Result<()> {
        let letter = if self.armed.contains_key(&row.id) { 'R' } else { 'S' };
        self.arm(row, letter, Armed { due: Some(row.due), period: row.period })
    }

    fn arm(&mut self, row: &Row, letter: char, armed: Armed) -> io::Result<()> {
        self.count(letter);
        self.arms(row.id, armed);
        let (time, id, due, period) = (row.time, row.id, row.due, armed.period);
        write!(self.into, "{time},{letter},{id},{due},{period},0,")?;
        self.class(row.class)?;
        self.into.write_all(b",,\n")
    }

    fn expire(&mut self, row: &Row) -> io::Result<()> {
        self.count('E');
        let (time, id) = (row.time, row.id);
        let known = self.armed.get(&id).and_then(|armed| Some((armed.due?, armed.period)));
        match known {
            Some((due, period @ 1..)) => {
                let again = due.saturating_add_unsigned(period);
                self.armed.insert(id, Armed { due: Some(again), period });
            }
            _ => _ = self.armed.remove(&id),
        }
        write!(self.into, "{time},E,{id},,0,0,,,")?;
        match known {
            Some((due, _)) => writeln!(self.into, "{}", i128::from(time) - i128::from(due)),
            None => writeln!(self.into),
        }
    }

    /// The row needs a timer that nobody saw start.
    fn present(&mut self, row: &Row) -> io::Result<()> {
        self.count('P');
        self.unknown_start |= self.counts[GAP] == 0;
        self.arms(row.id, Armed { due: None, period: 0 });
        writeln!(self.into, "{},P,{},,0,0,,,", row.time, row.id)
    }

    fn arms(&mut self, id: u64, armed: Armed) {
        self.armed.insert(id, armed);
        self.armed_max = self.armed_max.max(self.armed.len());
    }

    /// Quotes what would be more than one field.
    fn class(&mut self, class: &str) -> io::Result<()> {
        if class.contains([',', '"', '\n', '\r']) {
            write!(self.into, "\"{}\"", class.replace('"', "\"\""))
        } else {
            self.into.write_all(class.as_bytes())
        }
    }

    fn count(&mut self, letter: char) {
        self.counts[LETTERS.iter().position(|known| *known == letter).expect("it is a letter")] += 1;
    }

    /// Writes the counts over the block.
    fn finish(mut self) -> io::Result<Summary> {
        let logged: u64 = self.counts[..PRESENT].iter().sum();
        let summary = Summary {
            rows: logged,
            lost: self.lost,
            gaps: self.counts[GAP],
            present: self.counts[PRESENT],
            armed_max: self.armed_max as u64,
            armed_at_end: self.armed.len() as u64,
        };
        let state = if self.unknown_start { "unknown" } else { "empty" };
        let mut text = format!(
            "# start-state: {state}\n# lost: {}\n# armed-max: {}\n# armed-at-end: {}\n",
            summary.lost, summary.armed_max, summary.armed_at_end
        );
        for (letter, count) in LETTERS.into_iter().zip(self.counts).filter(|(_, count)| *count > 0) {
            text += &format!("# count-{letter}: {count}\n");
        }
        let rest = BLOCK - text.len();
        text += &format!("{:<width$}\n", "#", width = rest - 1);
        self.into.seek(SeekFrom::Start(self.block))?;
        self.into.write_all(text.as_bytes())?;
        self.into.flush()?;
        Ok(summary)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn row(time: u64, op: Op, id: u64) -> Row {
        Row { time, op, ..Row::of(id) }
    }

    fn start(time: u64, id: u64, due: i64, period: u64) -> Row {
        Row { time, id, due, period, class: "a", op: Op::Start }
    }

    /// The file of some batches, each with what was lost behind it.
    fn written(batches: &[(&[Row], u64)]) -> (String, Summary) {
        let mut bytes = Cursor::new(Vec::new());
        let mut writer = Writer::new(&mut bytes, &Options::default()).unwrap();
        for (rows, lost) in batches {
            let taken = Taken { rows: rows.to_vec(), lost: *lost, lost_at: 50, closed: false };
            writer.write(&taken).unwrap();
        }
        let summary = writer.finish().unwrap();
        (String::from_utf8(bytes.into_inner()).unwrap(), summary)
    }

    fn rows(text: &str) -> Vec<&str> {
        text.lines().skip_while(|line| !line.starts_with("time_ns")).skip(1).collect()
    }

    #[test]
    fn each_operation_is_a_row_and_an_expiry_has_its_lateness() {
        let (text, summary) = written(&[(
            &[
                start(1, 7, 5, 0),
                Row { due: 9, ..row(2, Op::Rearm, 7) },
                row(12, Op::Expire, 7),
                row(13, Op::Miss, 7),
                start(14, 8, -3, 0),
                row(15, Op::Cancel, 8),
            ],
            0,
        )]);
        let wanted =
            ["1,S,7,5,0,0,a,,", "2,R,7,9,0,0,,,", "12,E,7,,0,0,,,3", "13,N,7,,0,0,,,", "14,S,8,-3,0,0,a,,"];
        assert_eq!(rows(&text)[..5], wanted);
        assert_eq!(rows(&text)[5], "15,C,8,,0,0,,,");
        assert_eq!((summary.rows, summary.present, summary.armed_max, summary.armed_at_end), (6, 0, 1, 0));
        for said in ["# count-S: 2\n", "# count-E: 1\n", "# start-state: empty\n", "# lost: 0\n"] {
            assert!(text.contains(said), "{text}");
        }
        assert!(!text.contains("not finished"), "the block was replaced");
    }

    #[test]
    fn a_timer_with_a_period_stays_armed_and_its_lateness_counts_from_the_next_due_time() {
        let (text, summary) =
            written(&[(&[start(0, 1, 10, 10), row(11, Op::Expire, 1), row(25, Op::Expire, 1)], 0)]);
        assert_eq!(rows(&text), ["0,S,1,10,10,0,a,,", "11,E,1,,0,0,,,1", "25,E,1,,0,0,,,5"]);
        assert_eq!(summary.armed_at_end, 1);
    }

    #[test]
    fn a_gap_ends_all_and_what_is_needed_behind_it_was_present() {
        let before = [start(1, 1, 90, 0), start(2, 2, 90, 0)];
        let after = [row(60, Op::Cancel, 1), row(61, Op::Miss, 2), start(62, 2, 99, 0)];
        let (text, summary) = written(&[(&before, 5), (&after, 0)]);
        let wanted =
            ["50,G,,,0,0,,,5", "60,P,1,,0,0,,,", "60,C,1,,0,0,,,", "61,N,2,,0,0,,,", "62,S,2,99,0,0,a,,"];
        assert_eq!(rows(&text)[2..], wanted);
        assert_eq!((summary.rows, summary.lost, summary.gaps, summary.present), (5, 5, 1, 1));
        assert!(text.contains("# start-state: empty\n") && text.contains("# count-G: 1\n"), "{text}");
    }

    #[test]
    fn a_timer_armed_before_the_trace_began_makes_the_start_unknown() {
        let (text, summary) = written(&[(&[row(4, Op::Expire, 3)], 0)]);
        assert_eq!(rows(&text), ["4,P,3,,0,0,,,", "4,E,3,,0,0,,,"]);
        assert!(text.contains("# start-state: unknown\n"), "{text}");
        assert_eq!(summary.present, 1);
    }

    #[test]
    fn a_start_of_an_armed_timer_is_a_re_arm_and_a_class_with_a_comma_is_quoted() {
        let mut again = start(2, 1, 9, 0);
        again.class = "a \"b\", c";
        let (text, _) = written(&[(&[start(1, 1, 5, 0), again], 0)]);
        assert_eq!(rows(&text)[1], "2,R,1,9,0,0,\"a \"\"b\"\", c\",,");
    }

    #[test]
    fn the_longest_counts_fit_the_block() {
        let mut bytes = Cursor::new(Vec::new());
        let mut writer = Writer::new(&mut bytes, &Options::default()).unwrap();
        writer.counts = [u64::MAX / 8; LETTERS.len()];
        writer.lost = u64::MAX;
        writer.armed_max = usize::MAX;
        writer.unknown_start = true;
        writer.finish().unwrap();
        let text = String::from_utf8(bytes.into_inner()).unwrap();
        assert!(text.ends_with("\ntime_ns,op,timer_id,due_ns,period_ns,slack_ns,ctx,cpu,aux\n"), "{text}");
    }

    #[test]
    fn a_line_break_in_the_source_does_not_make_a_second_line() {
        let mut bytes = Cursor::new(Vec::new());
        let options = Options::default().source("one\ntwo");
        Writer::new(&mut bytes, &options).unwrap().finish().unwrap();
        assert!(String::from_utf8(bytes.into_inner()).unwrap().contains("# source: one two\n"));
    }
}
