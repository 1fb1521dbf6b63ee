//! Comparisons along any two axes: a table whose rows are the values of one and whose columns those of the other.

use clap::ValueEnum;
use itertools::Itertools;

use super::compare::{Compared, Comparison};
use super::grids::unit_of;
use super::metric::Better;
use crate::format::{decimals, fixed};
use crate::grid::Grid;
use crate::select::thousands;

/// What cells differ in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
pub enum Axis {
    /// The structure.
    Structure,
    /// The workload.
    Workload,
    /// Timers asked for.
    Size,
    /// The operation, phase or point.
    Operation,
    /// The allocator.
    Allocator,
    /// What each timer carries.
    Payload,
    /// The metric.
    Metric,
}

impl Axis {
    const ALL: [Self; 7] = [
        Self::Workload,
        Self::Size,
        Self::Payload,
        Self::Allocator,
        Self::Metric,
        Self::Operation,
        Self::Structure,
    ];

    fn of(self, comparison: &Comparison, row: &Compared) -> String {
        let place = &comparison.place;
        match self {
            Self::Structure => row.series.structure.clone(),
            Self::Workload => place.workload.clone(),
            Self::Size => thousands(place.size),
            Self::Operation => place.part(),
            Self::Allocator => place.allocator.clone(),
            Self::Payload => place.payload.clone(),
            Self::Metric => comparison.metric.name.to_owned(),
        }
    }

    /// The axis in a word.
    pub fn word(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// What of the blocks is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Stat {
    /// The middle.
    Median,
    /// The least.
    Min,
    /// The greatest.
    Max,
}

impl Stat {
    fn of(self, row: &Compared) -> Option<f64> {
        match self {
            Self::Median => row.series.median(),
            Self::Min => row.series.range().map(|(min, _)| min),
            Self::Max => row.series.range().map(|(_, max)| max),
        }
    }
}

/// One figure with where it stands.
struct Figure<'a> {
    comparison: &'a Comparison,
    row: &'a Compared,
}

/// Tables of comparisons: one for each combination of what is neither rows nor columns.
pub fn tables(comparisons: &[Comparison], rows: Axis, columns: Axis, stat: Stat) -> Vec<Grid> {
    let figures = comparisons
        .iter()
        .flat_map(|comparison| comparison.rows.iter().map(move |row| Figure { comparison, row }))
        .collect::<Vec<_>>();
    let others: Vec<Axis> = Axis::ALL.into_iter().filter(|axis| *axis != rows && *axis != columns).collect();
    let rest = |figure: &Figure<'_>| {
        others.iter().map(|axis| axis.of(figure.comparison, figure.row)).collect::<Vec<_>>()
    };
    let combinations: Vec<Vec<String>> = figures.iter().map(rest).unique().collect();
    let table = |combination: &Vec<String>| {
        let here: Vec<&Figure<'_>> = figures.iter().filter(|figure| rest(figure) == *combination).collect();
        let named = others.iter().zip(combination).filter(|(_, value)| !value.is_empty());
        let title = named.map(|(axis, value)| format!("{} {value}", axis.word())).join(", ");
        grid(&here, title, [rows, columns], stat)
    };
    combinations.iter().map(table).collect()
}

fn grid(figures: &[&Figure<'_>], title: String, [rows, columns]: [Axis; 2], stat: Stat) -> Grid {
    let of = |axis: Axis| {
        let values = figures.iter().map(|figure| axis.of(figure.comparison, figure.row));
        values.unique().collect::<Vec<_>>()
    };
    let (left, top) = (of(rows), of(columns));
    let mut grid = Grid { title, ..Grid::default() };
    grid.name_column(&rows.word(), left.clone());
    let texts: Vec<Vec<String>> =
        left.iter().map(|name| line(figures, [rows, columns], name, &top, stat)).collect();
    for (i, heading) in top.iter().enumerate() {
        grid.column(heading, texts.iter().map(|line| line[i].clone()).collect());
    }
    let word = stat.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
    let judged = match (rows, columns) {
        (Axis::Structure, _) => {
            " best: the least of its column, separated from the next; tied: not separated from it."
        }
        (_, Axis::Structure) => {
            " best: the least of its row, separated from the next; tied: not separated from it."
        }
        (_, Axis::Allocator | Axis::Payload) => " best: the least of its row.",
        _ => "",
    };
    grid.notes.push(format!("{word} over the blocks.{judged}"));
    grid
}

/// The figures of one row, in one unit, the best of them marked.
fn line(
    figures: &[&Figure<'_>],
    [rows, columns]: [Axis; 2],
    name: &str,
    top: &[String],
    stat: Stat,
) -> Vec<String> {
    let at = |column: &String| {
        let here = |figure: &&&Figure<'_>| {
            rows.of(figure.comparison, figure.row) == name
                && columns.of(figure.comparison, figure.row) == *column
        };
        figures.iter().find(here).copied()
    };
    let found: Vec<Option<&Figure<'_>>> = top.iter().map(at).collect();
    let values: Vec<Option<f64>> = found.iter().map(|found| stat.of(found.as_ref()?.row)).collect();
    let marks = marks(&found, &values, [rows, columns]);
    let one_metric = found.iter().flatten().map(|figure| figure.comparison.metric.name).all_equal();
    let text = |((value, found), mark): ((&Option<f64>, &Option<&Figure<'_>>), &str)| {
        let (Some(value), Some(figure)) = (value, found) else { return "-".into() };
        let own = [Some(*value)];
        let shown = if one_metric { &values[..] } else { &own[..] };
        let (unit, size) = unit_of(figure.comparison.metric, shown);
        let scaled: Vec<_> = shown.iter().map(|value| value.map(|value| value / size)).collect();
        format!("{} {unit}{mark}", fixed(value / size, decimals(&scaled).max(usize::from(size > 1.0))))
    };
    values.iter().zip(&found).zip(marks).map(text).collect()
}

/// ` best` or ` tied` behind figures of a row, or room for it.
fn marks(
    found: &[Option<&Figure<'_>>],
    values: &[Option<f64>],
    [rows, columns]: [Axis; 2],
) -> Vec<&'static str> {
    let of_structures = rows == Axis::Structure || columns == Axis::Structure;
    let comparable = (of_structures || matches!(columns, Axis::Allocator | Axis::Payload))
        && found.iter().flatten().all(|figure| figure.comparison.metric.better == Better::Lower);
    let least = values.iter().flatten().copied().fold(f64::INFINITY, f64::min);
    let mark = |(found, value): (&Option<&Figure<'_>>, &Option<f64>)| match (found, value) {
        _ if !comparable => "",
        (Some(figure), _) if of_structures => match figure.row.standing.word() {
            "best" => " best",
            "tied" => " tied",
            _ => "     ",
        },
        (Some(_), Some(value)) if *value == least => " best",
        _ => "     ",
    };
    found.iter().zip(values).map(mark).collect()
}
