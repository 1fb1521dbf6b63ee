//! The Parquet form of a trace: the columns as in the CSV form, the metadata as key-value pairs.
//!
//! The types are those of the format (`op` u8, `due_ns` i64, `cpu` u16, the rest u64, i64 and text). A file of
//! somebody else may use any whole number that polars was built to read; whatever else is in it is refused by
//! name, and a panic of the reader is an error like any other.

use std::collections::HashMap;
use std::io::{Cursor, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use polars::io::parquet::write::{BatchedWriter, KeyValueMetadata};
use polars::prelude::*;

use super::{COLUMNS, Metadata, Op, Row, Trace, TraceError};

const MEND: &str = "see the table of columns in datasets/README.md";

/// Writes a trace.
pub fn write(trace: &Trace, into: impl Write) -> Result<(), TraceError> {
    let Trace { name, metadata, contexts, rows } = trace;
    let mut frame = frame(name, contexts, rows)?;
    writer(into, metadata).finish(&mut frame).map_err(|error| unwritable(name, &error))?;
    Ok(())
}

fn writer<W: Write>(into: W, metadata: &Metadata) -> ParquetWriter<W> {
    let pairs = metadata.pairs().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    ParquetWriter::new(into).with_key_value_metadata(Some(KeyValueMetadata::from_static(pairs)))
}

fn unwritable(name: &str, error: &PolarsError) -> TraceError {
    TraceError::whole(name, error.to_string(), "check that the folder can be written to")
}

/// Writes rows as they come, for whoever does not hold the trace in memory: a row group at a time. Due times must
/// fit into 64 signed bits.
pub struct RowWriter<'a, W: Write> {
    name: &'a str,
    contexts: &'a [String],
    rows: Vec<Row>,
    writer: BatchedWriter<W>,
}

impl<'a, W: Write> RowWriter<'a, W> {
    /// Rows of a group: some 20 MiB while they wait.
    const GROUP: usize = 1 << 17;

    /// Writes nothing yet. `contexts` are what [`Row::ctx`] points at, `name` is the file's in messages.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn new(
        into: W,
        name: &'a str,
        metadata: &Metadata,
        contexts: &'a [String],
    ) -> Result<Self, TraceError> {
        let none = frame(name, contexts, &[])?;
        let writer =
            writer(into, metadata).batched(none.schema()).map_err(|error| unwritable(name, &error))?;
        Ok(Self { name, contexts, rows: Vec::new(), writer })
    }

    /// Writes a row, by and by.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn row(&mut self, row: &Row) -> Result<(), TraceError> {
        self.rows.push(*row);
        if self.rows.len() == Self::GROUP { self.group() } else { Ok(()) }
    }

    fn group(&mut self) -> Result<(), TraceError> {
        let frame = frame(self.name, self.contexts, &self.rows)?;
        self.rows.clear();
        self.writer.write_batch(&frame).map_err(|error| unwritable(self.name, &error))
    }

    /// Writes what is left, and the end of the file.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn finish(mut self) -> Result<(), TraceError> {
        if !self.rows.is_empty() {
            self.group()?;
        }
        self.writer.finish().map_err(|error| unwritable(self.name, &error))?;
        Ok(())
    }
}

fn frame(name: &str, contexts: &[String], rows: &[Row]) -> Result<DataFrame, TraceError> {
    fn column<T, S>(rows: &[Row], at: usize, value: impl Fn(&Row) -> T) -> Column
    where
        Series: NamedFrom<Vec<T>, S>,
        S: ?Sized,
    {
        Column::new(COLUMNS[at].into(), rows.iter().map(value).collect::<Vec<T>>())
    }
    let owner = |row: &Row| row.ctx.and_then(|at| contexts.get(at as usize)).map(String::as_str);
    let columns = vec![
        column(rows, 0, |row| row.time_ns),
        column(rows, 1, |row| row.op.code()),
        column(rows, 2, |row| row.timer_id),
        due(name, rows)?,
        column(rows, 4, |row| row.period_ns),
        column(rows, 5, |row| row.slack_ns),
        column(rows, 6, owner),
        column(rows, 7, |row| row.cpu),
        column(rows, 8, |row| row.aux),
    ];
    DataFrame::new(rows.len(), columns).map_err(|error| TraceError::whole(name, error.to_string(), MEND))
}

/// Signed, as the format has it, or unsigned where a due time is too late for that and none is before 0.
fn due(file: &str, rows: &[Row]) -> Result<Column, TraceError> {
    let name = || COLUMNS[3].into();
    let all = || rows.iter().map(|row| row.due_ns);
    if let Some(signed) = all().map(|due| due.map(i64::try_from).transpose().ok()).collect::<Option<Vec<_>>>()
    {
        return Ok(Column::new(name(), signed));
    }
    if let Some(unsigned) =
        all().map(|due| due.map(u64::try_from).transpose().ok()).collect::<Option<Vec<_>>>()
    {
        return Ok(Column::new(name(), unsigned));
    }
    let too_late = |row: &&Row| row.due_ns.is_some_and(|due| due > i128::from(i64::MAX));
    let line = rows.iter().find(too_late).map_or(0, |row| row.line);
    let what = "`due_ns` is too late for a file that also has due times before 0";
    Err(TraceError::at(file, line, what, "keep the trace as CSV"))
}

/// Reads a trace from the bytes of a file. `name` is what the file is called in messages.
pub fn read(name: &str, bytes: Vec<u8>) -> Result<Trace, TraceError> {
    let fenced = catch_unwind(AssertUnwindSafe(|| unfenced(name, bytes)));
    fenced.unwrap_or_else(|panic| {
        let why = panic.downcast_ref::<String>().map(String::as_str);
        let why = why.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it gave no reason");
        Err(TraceError::whole(name, format!("the Parquet reader gave up: {why}"), MEND))
    })
}

fn unfenced(name: &str, bytes: Vec<u8>) -> Result<Trace, TraceError> {
    let unreadable = |error: PolarsError| {
        TraceError::whole(name, format!("is not a whole Parquet file: {error}"), "fetch or convert it again")
    };
    let mut reader = ParquetReader::new(Cursor::new(bytes));
    let mut metadata = Metadata::default();
    let pairs = reader.get_metadata().map_err(unreadable)?.key_value_metadata().clone();
    for pair in pairs.into_iter().flatten().filter(|pair| pair.key != "ARROW:schema") {
        metadata.set(&pair.key, pair.value.unwrap_or_default());
    }
    if let Some(what) = metadata.wrong_version() {
        return Err(TraceError::whole(name, what, "convert the trace, or use a newer workbench"));
    }
    let present: Vec<String> =
        reader.schema().map_err(unreadable)?.iter_names().map(ToString::to_string).collect();
    if let Some(missing) = COLUMNS[..2].iter().find(|column| !present.iter().any(|known| known == *column)) {
        return Err(TraceError::whole(
            name,
            format!("there is no column `{missing}`, so this is not a trace"),
            MEND,
        ));
    }
    // Only what is needed is read: a column of somebody else may be of a type that cannot be.
    let wanted = COLUMNS.iter().map(|column| (*column).to_owned()).filter(|column| present.contains(column));
    let frame = reader.with_columns(Some(wanted.collect())).finish().map_err(unreadable)?;
    rows(name, metadata, &frame)
}

/// A column that may be missing, as whole numbers wide enough for all of them.
fn numbers(name: &str, frame: &DataFrame, at: usize) -> Result<Vec<Option<i128>>, TraceError> {
    let Ok(column) = frame.column(COLUMNS[at]) else { return Ok(vec![None; frame.height()]) };
    let series = column.as_materialized_series();
    fn wide<T: PolarsIntegerType>(numbers: &ChunkedArray<T>) -> Vec<Option<i128>>
    where
        i128: From<T::Native>,
    {
        numbers.iter().map(|number| number.map(i128::from)).collect()
    }
    let wrong = |_| {
        let what = format!("column `{}` holds {}, not whole numbers", COLUMNS[at], series.dtype());
        TraceError::whole(name, what, MEND)
    };
    match series.dtype() {
        DataType::UInt8 => series.u8().map(wide),
        DataType::UInt16 => series.u16().map(wide),
        DataType::UInt32 => series.u32().map(wide),
        DataType::UInt64 => series.u64().map(wide),
        DataType::Int32 => series.i32().map(wide),
        _ => series.i64().map(wide),
    }
    .map_err(wrong)
}

fn rows(name: &str, metadata: Metadata, frame: &DataFrame) -> Result<Trace, TraceError> {
    let columns = [0, 1, 2, 3, 4, 5, 7, 8].map(|at| numbers(name, frame, at));
    let [times, ops, timers, dues, periods, slacks, cpus, auxes] = columns;
    let (times, ops, timers, dues) = (times?, ops?, timers?, dues?);
    let (periods, slacks, cpus, auxes) = (periods?, slacks?, cpus?, auxes?);
    let (owners, contexts) = owners(name, frame)?;
    let mut rows = Vec::with_capacity(frame.height());
    for at in 0..frame.height() {
        let line = at as u64 + 1;
        let reading = Reading { name, line };
        rows.push(Row {
            time_ns: reading.narrow(0, times[at])?.ok_or_else(|| reading.error("`time_ns` is empty"))?,
            op: reading.op(ops[at])?,
            timer_id: reading.narrow(2, timers[at])?,
            due_ns: dues[at],
            period_ns: reading.narrow(4, periods[at])?.unwrap_or(0),
            slack_ns: reading.narrow(5, slacks[at])?.unwrap_or(0),
            ctx: owners[at],
            cpu: reading.narrow(7, cpus[at])?,
            aux: reading.narrow(8, auxes[at])?,
            line,
        });
    }
    Ok(Trace { name: name.to_owned(), metadata, contexts, rows })
}

/// A row that is being read, for its errors.
struct Reading<'a> {
    name: &'a str,
    line: u64,
}

impl Reading<'_> {
    fn narrow<N: TryFrom<i128>>(&self, at: usize, number: Option<i128>) -> Result<Option<N>, TraceError> {
        let narrow = number.map(N::try_from).transpose();
        narrow.map_err(|_| {
            self.error(format!(
                "`{}` is {}, which is out of its range",
                COLUMNS[at],
                number.unwrap_or_default()
            ))
        })
    }

    fn op(&self, code: Option<i128>) -> Result<Op, TraceError> {
        let known = code.and_then(|code| u8::try_from(code).ok()).and_then(Op::from_code);
        known.ok_or_else(|| match code {
            Some(code) => self.error(format!("no operation has the code {code}")),
            None => self.error("`op` is empty"),
        })
    }

    fn error(&self, what: impl Into<String>) -> TraceError {
        TraceError::at(self.name, self.line, what, MEND)
    }
}

type Owners = (Vec<Option<u32>>, Vec<String>);

fn owners(name: &str, frame: &DataFrame) -> Result<Owners, TraceError> {
    let Ok(column) = frame.column(COLUMNS[6]) else { return Ok((vec![None; frame.height()], Vec::new())) };
    let texts = column.as_materialized_series().str();
    let texts = texts.map_err(|_| {
        TraceError::whole(name, format!("column `ctx` holds {}, not text", column.dtype()), MEND)
    })?;
    let (mut index, mut contexts) = (HashMap::new(), Vec::new());
    let mut of = |text: &str| {
        *index.entry(text.to_owned()).or_insert_with(|| {
            contexts.push(text.to_owned());
            u32::try_from(contexts.len() - 1).expect("distinct owners are far fewer than rows")
        })
    };
    let owners = texts.iter().map(|text| text.map(&mut of)).collect();
    Ok((owners, contexts))
}
