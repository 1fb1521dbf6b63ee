//! The tables of what was counted.

use clap::ValueEnum;

use super::{Complexity, Counts, Field, Function, Part};
use crate::format::whole;
use crate::grid::Grid;
use crate::record::row;

/// What a row is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// A structure: its own code, what it shares, and both.
    Structure,
    /// A file.
    File,
    /// A function.
    Method,
    /// A field that is kept in step.
    Field,
}

row! {
    /// How much code something is.
    Code {
        /// The structure
        structure: String,
        /// Whose code: `own`, `shared` with a module's name, or `all`
        code: String,
        /// The file, from `impls/src` on
        file: Option<String>,
        /// The type that a function is a method of
        owner: Option<String>,
        /// The function, or the field with its struct
        name: Option<String>,
        /// `contract` for methods of `TimerQueue` and `Batch`, else `helper`
        role: Option<String>,
        /// Functions
        functions: Option<u64>,
        /// Statements
        statements: Option<u64>,
        /// Branches
        branches: Option<u64>,
        /// Index operations
        index_operations: Option<u64>,
        /// Lines without blanks and comments
        lines: Option<u64>,
        /// Unsafe blocks
        unsafe_blocks: Option<u64>,
        /// Fields that are written after the struct was made
        fields_written: Option<u64>,
        /// Places that write them
        field_writes: Option<u64>,
    }
}

/// The rows of what was counted.
pub fn rows(all: &[Complexity], by: By) -> Vec<Code> {
    all.iter()
        .flat_map(|one| match by {
            By::Structure => structure(one),
            By::File => files(one),
            By::Method => methods(one),
            By::Field => fields(one),
        })
        .collect()
}

fn words(part: &Part) -> String {
    match part {
        Part::Own => "own".into(),
        Part::Shared(module) => format!("shared {module}"),
    }
}

fn blank(one: &Complexity, code: String) -> Code {
    Code { structure: one.structure.clone(), code, ..Code::default() }
}

fn counted(row: Code, counts: Counts) -> Code {
    Code {
        statements: Some(counts.statements),
        branches: Some(counts.branches),
        index_operations: Some(counts.index_operations),
        lines: Some(counts.lines),
        unsafe_blocks: Some(counts.unsafe_blocks),
        ..row
    }
}

fn summed<'a>(
    row: Code,
    functions: impl Iterator<Item = &'a Function>,
    fields: impl Iterator<Item = &'a Field>,
) -> Code {
    let (mut counts, mut number) = (Counts::default(), 0);
    for function in functions {
        counts += function.counts;
        number += 1;
    }
    let writes: Vec<u64> = fields.map(|field| field.writes).collect();
    Code {
        functions: Some(number),
        fields_written: Some(writes.len() as u64),
        field_writes: Some(writes.iter().sum()),
        ..counted(row, counts)
    }
}

fn structure(one: &Complexity) -> Vec<Code> {
    let part = |(part, functions, fields): &(Part, Vec<Function>, Vec<Field>)| {
        summed(blank(one, words(part)), functions.iter(), fields.iter())
    };
    let mut rows: Vec<Code> = one.parts.iter().map(part).collect();
    if rows.len() > 1 {
        let functions = one.parts.iter().flat_map(|(_, functions, _)| functions);
        let fields = one.parts.iter().flat_map(|(_, _, fields)| fields);
        rows.push(summed(blank(one, "all".into()), functions, fields));
    }
    rows
}

fn files(one: &Complexity) -> Vec<Code> {
    let mut rows = Vec::new();
    for (part, functions, fields) in &one.parts {
        let mut names: Vec<&String> = functions.iter().map(|function| &function.file).collect();
        names.dedup();
        for name in names {
            let row = Code { file: Some(name.clone()), ..blank(one, words(part)) };
            let functions = functions.iter().filter(|function| function.file == *name);
            rows.push(summed(row, functions, fields.iter().filter(|field| field.file == *name)));
        }
    }
    rows
}

fn methods(one: &Complexity) -> Vec<Code> {
    let row = |part: &Part, function: &Function| {
        let row = Code {
            file: Some(function.file.clone()),
            owner: function.owner.clone(),
            name: Some(function.name.clone()),
            role: Some(if function.is_contract { "contract" } else { "helper" }.to_owned()),
            ..blank(one, words(part))
        };
        counted(row, function.counts)
    };
    let of = |(part, functions, _): &(Part, Vec<Function>, Vec<Field>)| {
        functions.iter().map(|function| row(part, function)).collect::<Vec<_>>()
    };
    one.parts.iter().flat_map(of).collect()
}

fn fields(one: &Complexity) -> Vec<Code> {
    let row = |part: &Part, field: &Field| Code {
        file: Some(field.file.clone()),
        name: Some(field.name.clone()),
        fields_written: Some(1),
        field_writes: Some(field.writes),
        ..blank(one, words(part))
    };
    let of = |(part, _, fields): &(Part, Vec<Function>, Vec<Field>)| {
        fields.iter().map(|field| row(part, field)).collect::<Vec<_>>()
    };
    one.parts.iter().flat_map(of).collect()
}

/// The rows as a table. A structure, file or function is named once in a column, and columns that have nothing
/// in them are left out.
pub fn grid(rows: &[Code], sources: &str) -> Grid {
    let mut grid = Grid { title: format!("The code of the structures, in {sources}"), ..Grid::default() };
    type Text = fn(&Code) -> Option<String>;
    let names: [(&str, Text); 5] = [
        ("structure", |row| Some(row.structure.clone())),
        ("code", |row| Some(row.code.clone())),
        ("file", |row| row.file.clone()),
        ("name", |row| Some(named(row)).filter(|name| !name.is_empty())),
        ("role", |row| row.role.clone()),
    ];
    for (heading, text) in names {
        let texts: Vec<_> = rows.iter().map(text).collect();
        if texts.iter().any(Option::is_some) {
            grid.name_column(heading, texts.into_iter().map(Option::unwrap_or_default).collect());
        }
    }
    type Number = fn(&Code) -> Option<u64>;
    let numbers: [(&str, Number); 8] = [
        ("functions", |row| row.functions),
        ("statements", |row| row.statements),
        ("branches", |row| row.branches),
        ("index\noperations", |row| row.index_operations),
        ("lines", |row| row.lines),
        ("unsafe\nblocks", |row| row.unsafe_blocks),
        ("fields\nwritten", |row| row.fields_written),
        ("places that\nwrite them", |row| row.field_writes),
    ];
    for (heading, number) in numbers {
        let column: Vec<_> = rows.iter().map(|row| number(row).map(|number| number as f64)).collect();
        if column.iter().any(Option::is_some) {
            grid.column(heading, whole(&column));
        }
    }
    grid.notes = NOTES.map(str::to_owned).to_vec();
    grid
}

fn named(row: &Code) -> String {
    [&row.owner, &row.name].into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join("::")
}

const NOTES: [&str; 6] = [
    "Counted from the syntax tree; tests and what only the feature `testing` has are left out. Shared: private modules that several structures use, whole.",
    "Statements: those of every block, its closing expression among them, and match arms that are no block.",
    "Branches: if, let else, match arms beyond the first and their guards, while, for, loop, ?, &&, ||, matches!.",
    "Index operations: a[i], a[i..j], and get, get_mut, get_unchecked(_mut) and swap on anything but self. Lines: without blanks and comments.",
    "Fields written: by =, += and the like, &mut, take, replace or insert, after their struct was made; they have to be kept in step.",
    "Closures given to iterators are no branches, though some decide; a chain of them is one statement.",
];
