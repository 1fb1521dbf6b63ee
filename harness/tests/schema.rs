//! `results/SCHEMA.md` says of every column what it is, and of none that is not there.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

use harness::record::{Bucket, Column, Key, Keyed, Measurement, Memory, Row, SCHEMA_VERSION, Slowest, Type};

fn table(page: &mut String, heading: &str, about: &str, columns: &[Column]) {
    writeln!(page, "## {heading}\n\n{about}\n\n| column | holds | meaning |\n|---|---|---|").unwrap();
    for column in columns {
        let holds = match column.holds {
            Type::Text => "text",
            Type::Integer => "integer",
            Type::Decimal => "decimal",
        };
        writeln!(page, "| `{}` | {holds} | {} |", column.name, column.about).unwrap();
    }
    page.push('\n');
}

/// The columns of a table without those that all tables have.
fn own<T: Row>() -> Vec<Column> {
    Keyed::<T>::columns().split_off(Key::columns().len())
}

fn tables() -> String {
    let mut page = String::new();
    let cell = "These stand first in every table and say which cell a row is of.";
    table(&mut page, "All tables", cell, &Key::columns());
    let measured =
        "A row for each cell as a whole, for each phase, for each operation of a phase, and for the clock.";
    table(&mut page, "measurements", measured, &own::<Measurement>());
    let whole = "Whole histograms of single calls: a row for each bucket that holds a call.";
    table(&mut page, "latency", whole, &own::<Bucket>());
    table(&mut page, "slowest", "The ten slowest calls of each cell.", &own::<Slowest>());
    table(&mut page, "memory", "Memory time lines: a row for each point of a workload.", &own::<Memory>());
    page.truncate(page.trim_end().len());
    page + "\n"
}

#[test]
fn the_page_describes_every_column_and_no_other() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../results/SCHEMA.md");
    let page = fs::read_to_string(&path).unwrap();
    let words = &page[..page.find("## All tables").expect("the page has its first heading")];
    assert!(words.contains(&format!("Schema version {SCHEMA_VERSION}.")), "the page names another version");
    let wanted = format!("{words}{}", tables());
    if env::var_os("TWB_WRITE_SCHEMA").is_some() {
        fs::write(&path, &wanted).unwrap();
    } else if let Some((is, should)) = page.lines().zip(wanted.lines()).find(|(is, should)| is != should) {
        panic!("SCHEMA.md has\n  {is}\nbut the code\n  {should}\n(TWB_WRITE_SCHEMA=1 writes the page)");
    } else {
        assert_eq!(page.lines().count(), wanted.lines().count(), "TWB_WRITE_SCHEMA=1 writes the page");
    }
}
