//! The CSV form of a trace: metadata as leading `# key: value` lines, then a header, then rows.
//!
//! [`Rows`] is an iterator, so a file of any size is read in the memory of one row and the owners' names.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::str::FromStr;

use ::csv::{ByteRecord, Reader, ReaderBuilder, Terminator, Writer, WriterBuilder};

use super::{COLUMNS, Metadata, Op, Row, Trace, TraceError};
use crate::suggest::nearest;

const MEND: &str = "see the table of columns in datasets/README.md";

/// The rows of a trace as they are read. The first error ends it.
#[derive(Debug)]
pub struct Rows<R> {
    name: String,
    metadata: Metadata,
    contexts: Contexts,
    columns: Columns,
    reader: Reader<Watched<BufReader<R>>>,
    record: ByteRecord,
    /// Lines before the header.
    above: u64,
    failed: bool,
}

/// Where each known column stands in this file.
type Columns = [Option<usize>; COLUMNS.len()];

/// Owners' names, each kept once.
#[derive(Debug, Default)]
struct Contexts {
    names: Vec<String>,
    index: HashMap<String, u32>,
}

impl Contexts {
    fn of(&mut self, name: &str) -> u32 {
        if let Some(index) = self.index.get(name) {
            return *index;
        }
        let index = u32::try_from(self.names.len()).expect("distinct owners are far fewer than rows");
        self.names.push(name.to_owned());
        self.index.insert(name.to_owned(), index);
        index
    }
}

/// Remembers the last byte, so that a file that was cut off within its last line is noticed.
#[derive(Debug)]
struct Watched<R> {
    from: R,
    last: Option<u8>,
    ended: bool,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.from.read(into)?;
        self.last = into[..n].last().copied().or(self.last);
        self.ended = n == 0;
        Ok(n)
    }
}

impl<R: Read> Rows<R> {
    /// Reads the metadata and the header. `name` is what the file is called in messages.
    pub fn new(name: &str, from: R) -> Result<Self, TraceError> {
        let mut from = BufReader::with_capacity(1 << 16, from);
        let (metadata, above) = metadata(name, &mut from)?;
        if let Some(what) = metadata.wrong_version() {
            return Err(TraceError::at(name, 1, what, "convert the trace, or use a newer workbench"));
        }
        let watched = Watched { from, last: None, ended: false };
        // Fields are trimmed, which takes the carriage return of other systems' lines with it. Were it a part
        // of the line's end to the reader, lines would be counted one short.
        let line_end = Terminator::Any(b'\n');
        let mut reader =
            ReaderBuilder::new().comment(Some(b'#')).flexible(true).terminator(line_end).from_reader(watched);
        let header = reader.byte_headers().map_err(|error| unreadable(name, above + 1, &error))?.clone();
        let line = above + header.position().map_or(1, ::csv::Position::line);
        let columns = columns(name, line, &header)?;
        let (contexts, record) = (Contexts::default(), ByteRecord::new());
        Ok(Self { name: name.to_owned(), metadata, contexts, columns, reader, record, above, failed: false })
    }

    /// What the trace says of itself.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The owners met so far; [`Row::ctx`] is an index of it.
    pub fn contexts(&self) -> &[String] {
        &self.contexts.names
    }

    /// Reads all that is left.
    pub fn into_trace(mut self) -> Result<Trace, TraceError> {
        let rows = self.by_ref().collect::<Result<Vec<_>, _>>()?;
        Ok(Trace { name: self.name, metadata: self.metadata, contexts: self.contexts.names, rows })
    }

    fn row(&mut self) -> Result<Option<Row>, TraceError> {
        loop {
            let Some(line) = self.record()? else { return Ok(None) };
            // A blank line is passed over.
            if self.record.len() > 1 {
                return self.fields(line).map(Some);
            }
        }
    }

    /// Reads a record; gives its line.
    fn record(&mut self) -> Result<Option<u64>, TraceError> {
        let next = self.above + self.reader.position().line();
        let more = self.reader.read_byte_record(&mut self.record);
        if !more.map_err(|error| unreadable(&self.name, next, &error))? {
            return Ok(None);
        }
        let line = self.above + self.record.position().map_or(0, ::csv::Position::line);
        let watched = self.reader.get_ref();
        // The end is looked for only when what was read before is used up, so this is the last record.
        if watched.ended && watched.last != Some(b'\n') {
            let what = "the last line has no end, so the file may be cut off within it";
            return Err(self.error(line, what, "fetch it again, or end the line if it is whole"));
        }
        let wanted = self.reader.byte_headers().map_or(0, ByteRecord::len);
        let blank = self.record.len() == 1 && self.record[0].trim_ascii().is_empty();
        if self.record.len() != wanted && !blank {
            let what = format!("{} fields where the header names {wanted}", self.record.len());
            return Err(self.error(line, what, "complete the line or remove it"));
        }
        Ok(Some(line))
    }

    fn fields(&mut self, line: u64) -> Result<Row, TraceError> {
        let ctx = self.text(6, line)?.map(str::to_owned);
        Ok(Row {
            time_ns: self.number(0, line)?.ok_or_else(|| self.error(line, "`time_ns` is empty", MEND))?,
            op: self.op(line)?,
            timer_id: self.number(2, line)?,
            due_ns: self.due(line)?,
            period_ns: self.number(4, line)?.unwrap_or(0),
            slack_ns: self.number(5, line)?.unwrap_or(0),
            ctx: ctx.map(|name| self.contexts.of(&name)),
            cpu: self.number(7, line)?,
            aux: self.number(8, line)?,
            line,
        })
    }

    fn field(&self, column: usize) -> &[u8] {
        self.columns[column].and_then(|at| self.record.get(at)).unwrap_or_default().trim_ascii()
    }

    fn text(&self, column: usize, line: u64) -> Result<Option<&str>, TraceError> {
        let field = self.field(column);
        let text = std::str::from_utf8(field);
        let text = text.map_err(|_| self.error(line, format!("`{}` is not UTF-8", COLUMNS[column]), MEND))?;
        Ok((!text.is_empty()).then_some(text))
    }

    fn number<N: FromStr>(&self, column: usize, line: u64) -> Result<Option<N>, TraceError> {
        let Some(text) = self.text(column, line)? else { return Ok(None) };
        text.parse().map(Some).map_err(|_| {
            let what = format!("`{}` is `{text}`, which is not a whole number of its range", COLUMNS[column]);
            self.error(line, what, MEND)
        })
    }

    /// Any due time that some column could hold, signed or not.
    fn due(&self, line: u64) -> Result<Option<i128>, TraceError> {
        let due: Option<i128> = self.number(3, line)?;
        let fits = due.is_none_or(|due| (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&due));
        fits.then_some(due).ok_or_else(|| self.error(line, "`due_ns` is beyond 64 bits", MEND))
    }

    fn op(&self, line: u64) -> Result<Op, TraceError> {
        Op::from_letter(self.field(1)).ok_or_else(|| {
            let letter = String::from_utf8_lossy(self.field(1)).into_owned();
            let known: Vec<String> = Op::ALL.iter().map(|op| op.letter().to_string()).collect();
            self.error(
                line,
                format!("no operation has the letter `{letter}`"),
                &format!("there is {}", known.join(" ")),
            )
        })
    }

    fn error(&self, line: u64, what: impl Into<String>, mend: &str) -> TraceError {
        TraceError::at(&self.name, line, what, mend)
    }
}

impl<R: Read> Iterator for Rows<R> {
    type Item = Result<Row, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let row = self.row().transpose();
        self.failed = matches!(row, Some(Err(_)));
        row
    }
}

fn unreadable(name: &str, line: u64, error: &::csv::Error) -> TraceError {
    TraceError::at(name, line, error.to_string(), "repair the line or fetch the file again")
}

/// The leading lines that start with `#`, and how many there are. A byte order mark is passed over.
fn metadata<R: Read>(name: &str, from: &mut BufReader<R>) -> Result<(Metadata, u64), TraceError> {
    let mut metadata = Metadata::default();
    let mut lines = 0;
    let io = |error: &io::Error| TraceError::open(name, error);
    let start = from.fill_buf().map_err(|error| io(&error))?;
    let mark = if start.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    from.consume(mark);
    while from.fill_buf().map_err(|error| io(&error))?.first() == Some(&b'#') {
        let mut line = Vec::new();
        from.read_until(b'\n', &mut line).map_err(|error| io(&error))?;
        lines += 1;
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_start_matches('#').trim();
        // Older recorders wrote the first line without its colon.
        let pair =
            text.split_once(':').or_else(|| text.split_once(' ').filter(|(key, _)| *key == "timer-trace"));
        if let Some((key, value)) = pair {
            metadata.set(key.trim(), value.trim());
        }
    }
    Ok((metadata, lines))
}

fn columns(name: &str, line: u64, header: &ByteRecord) -> Result<Columns, TraceError> {
    let mut columns = Columns::default();
    for (at, field) in header.iter().enumerate() {
        let title = String::from_utf8_lossy(field.trim_ascii()).into_owned();
        match COLUMNS.iter().position(|known| *known == title) {
            Some(column) if columns[column].is_some() => {
                return Err(TraceError::at(name, line, format!("column `{title}` stands there twice"), MEND));
            }
            Some(column) => columns[column] = Some(at),
            None => misspelt(name, line, &title)?,
        }
    }
    match COLUMNS[..2].iter().zip(&columns).find(|(_, at)| at.is_none()) {
        Some((missing, _)) => {
            let what = format!("there is no column `{missing}`, so this is not the header of a trace");
            Err(TraceError::at(name, line, what, MEND))
        }
        None => Ok(columns),
    }
}

/// A column of somebody else is passed over, but not one that was meant to be read.
fn misspelt(name: &str, line: u64, title: &str) -> Result<(), TraceError> {
    let Some(meant) = nearest(title, COLUMNS) else { return Ok(()) };
    let what = format!("no column is called `{title}`; did you mean `{meant}`?");
    Err(TraceError::at(name, line, what, "rename it, or give it a name of its own"))
}

/// Writes a trace. Columns that no row uses are left out, and so are zeros where a column allows it.
pub fn write(trace: &Trace, into: impl Write) -> io::Result<()> {
    let mut writer = RowWriter::new(into, &trace.metadata, used(trace))?;
    for row in &trace.rows {
        writer.row(row, row.ctx.and_then(|at| trace.contexts.get(at as usize)).map_or("", String::as_str))?;
    }
    writer.finish()
}

/// Which of [`COLUMNS`] are written.
pub type Used = [bool; COLUMNS.len()];

/// Writes rows as they come, for whoever does not hold the trace in memory.
#[derive(Debug)]
pub struct RowWriter<W: Write> {
    writer: Writer<io::BufWriter<W>>,
    used: Used,
}

impl<W: Write> RowWriter<W> {
    /// Writes the metadata and the header.
    pub fn new(into: W, metadata: &Metadata, used: Used) -> io::Result<Self> {
        let mut into = io::BufWriter::new(into);
        for (key, value) in metadata.pairs() {
            writeln!(into, "# {key}: {value}")?;
        }
        let mut writer = WriterBuilder::new().from_writer(into);
        let titles = COLUMNS.iter().zip(used).filter(|(_, used)| *used);
        writer.write_record(titles.map(|(title, _)| *title))?;
        Ok(Self { writer, used })
    }

    /// Writes a row. `owner` stands for its context.
    pub fn row(&mut self, row: &Row, owner: &str) -> io::Result<()> {
        let fields = texts(row, owner);
        let used = fields.iter().zip(self.used).filter(|(_, used)| *used);
        Ok(self.writer.write_record(used.map(|(field, _)| field))?)
    }

    /// Hands everything over.
    pub fn finish(mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

fn used(trace: &Trace) -> Used {
    let mut used = [true, true, true, true, false, false, false, false, false];
    for row in &trace.rows {
        used[4] |= row.period_ns != 0;
        used[5] |= row.slack_ns != 0;
        used[6] |= row.ctx.is_some();
        used[7] |= row.cpu.is_some();
        used[8] |= row.aux.is_some();
    }
    used
}

fn texts(row: &Row, owner: &str) -> [String; COLUMNS.len()] {
    fn text(value: Option<impl ToString>) -> String {
        value.map_or_else(String::new, |value| value.to_string())
    }
    let nonzero = |value: u64| text((value != 0).then_some(value));
    [
        row.time_ns.to_string(),
        row.op.letter().to_string(),
        text(row.timer_id),
        text(row.due_ns),
        nonzero(row.period_ns),
        nonzero(row.slack_ns),
        owner.to_owned(),
        text(row.cpu),
        text(row.aux),
    ]
}
