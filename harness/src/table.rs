//! Rows to tables: Parquet and CSV. With `trace/parquet.rs` the only file that names polars.

use std::io::Write;
use std::path::Path;

use polars::prelude::{
    Column as Series, CsvWriter, DataFrame, NamedFrom, ParquetCompression, ParquetWriter, PolarsError,
    SerWriter, Series as Values,
};

use crate::error::Error;
use crate::journal::replace;
use crate::record::{Column, Row, Type, Value};
use crate::rows::Tables;

/// Writes all tables of a run into its folder, each as Parquet and CSV, each whole or not at all.
pub fn write_all(folder: &Path, tables: &Tables) -> Result<(), Error> {
    write(folder, "measurements", &tables.measurements)?;
    write(folder, "latency", &tables.latency)?;
    write(folder, "slowest", &tables.slowest)?;
    write(folder, "memory", &tables.memory)
}

fn write<R: Row>(folder: &Path, name: &str, rows: &[R]) -> Result<(), Error> {
    let mut frame = frame(rows)?;
    replace(&folder.join(format!("{name}.csv")), |file| write_csv(&mut frame, file))?;
    replace(&folder.join(format!("{name}.parquet")), |file| {
        // zstd at level 3 in C, which is built optimised; polars' own encoders are not.
        let writer = ParquetWriter::new(file).with_compression(ParquetCompression::Zstd(None));
        writer.finish(&mut frame).map(|_| ()).map_err(failed)
    })
}

/// Writes rows as CSV, as the file of the same table has them.
pub fn csv<R: Row>(rows: &[R], to: impl Write) -> Result<(), Error> {
    write_csv(&mut frame(rows)?, to)
}

fn write_csv(frame: &mut DataFrame, to: impl Write) -> Result<(), Error> {
    CsvWriter::new(to).include_header(true).finish(frame).map_err(failed)
}

fn failed(error: PolarsError) -> Error {
    Error::failed(format!("cannot write a table: {error}"))
}

fn frame<R: Row>(rows: &[R]) -> Result<DataFrame, Error> {
    let rows: Vec<Vec<Value>> = rows.iter().map(Row::values).collect();
    let column = |(i, column): (usize, &Column)| series(column, rows.iter().map(|row| &row[i]));
    let columns = R::columns().iter().enumerate().map(column).collect();
    DataFrame::new(rows.len(), columns).map_err(failed)
}

fn series<'a>(column: &Column, values: impl Iterator<Item = &'a Value>) -> Series {
    macro_rules! of {
        ($kind:ident) => {{
            let values: Vec<_> = values
                .map(|value| match value {
                    Value::$kind(value) => value.clone(),
                    other => unreachable!("{} holds {:?}, not {other:?}", column.name, column.holds),
                })
                .collect();
            Values::new(column.name.into(), values).into()
        }};
    }
    match column.holds {
        Type::Text => of!(Text),
        Type::Integer => of!(Integer),
        Type::Decimal => of!(Decimal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Key, Keyed, Measurement};
    use polars::prelude::{AnyValue, CsvReader, ParquetReader, SerReader};
    use std::fs::{self, File};

    fn rows(seed: u64) -> Vec<Keyed<Measurement>> {
        let key = |label: &str, seed| Key { label: Some(label.into()), seed, ..Key::default() };
        let own = Measurement { time_ns_per_call: Some(1.5), calls: None, ..Measurement::default() };
        vec![
            Keyed { key: key("wheel, 512 \"fast\"", seed), own: own.clone() },
            Keyed { key: key("b", 0), own: Measurement { time_ns_per_call: None, calls: Some(0), ..own } },
        ]
    }

    fn both(folder: &Path) -> [DataFrame; 2] {
        write(folder, "m", &rows(7)).unwrap();
        let open = |name: &str| File::open(folder.join(name)).unwrap();
        [
            CsvReader::new(open("m.csv")).finish().unwrap(),
            ParquetReader::new(open("m.parquet")).finish().unwrap(),
        ]
    }

    #[test]
    fn labels_with_commas_and_quotes_survive() {
        let folder = tempfile::tempdir().unwrap();
        for frame in both(folder.path()) {
            let label = frame.column("label").unwrap().get(0).unwrap();
            assert_eq!(label.extract_str(), Some("wheel, 512 \"fast\""));
            assert_eq!(frame.shape(), (2, Keyed::<Measurement>::columns().len()));
        }
    }

    #[test]
    fn what_was_not_collected_is_null_and_a_measured_zero_is_zero() {
        let folder = tempfile::tempdir().unwrap();
        for frame in both(folder.path()) {
            assert_eq!(frame.column("calls").unwrap().get(0).unwrap(), AnyValue::Null);
            assert!(!frame.column("calls").unwrap().get(1).unwrap().is_null());
            assert_eq!(frame.column("time_ns_per_call").unwrap().get(1).unwrap(), AnyValue::Null);
        }
    }

    #[test]
    fn the_largest_number_is_exact() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "m", &rows(u64::MAX)).unwrap();
        let parquet =
            ParquetReader::new(File::open(folder.path().join("m.parquet")).unwrap()).finish().unwrap();
        assert_eq!(parquet.column("seed").unwrap().get(0).unwrap(), AnyValue::UInt64(u64::MAX));
        assert!(fs::read_to_string(folder.path().join("m.csv")).unwrap().contains("18446744073709551615"));
    }

    #[test]
    fn a_table_without_rows_has_its_columns() {
        let folder = tempfile::tempdir().unwrap();
        write::<Keyed<Measurement>>(folder.path(), "m", &[]).unwrap();
        let text = fs::read_to_string(folder.path().join("m.csv")).unwrap();
        assert!(text.starts_with("schema_version,run,label,"), "{text}");
    }
}
