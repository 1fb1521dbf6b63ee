//! Every operation of every workload in one look: each structure's time over the least of its row.

use itertools::Itertools;
use plotters::style::text_anchor::HPos;

use super::canvas::{Ink, Page, draw};
use super::rows::{filled, fitting, room, words};
use super::{Plots, Words};
use crate::error::Error;
use crate::record::row;
use crate::report::figure::Figure;
use crate::select::thousands;
use crate::study::Series;
use crate::study::grids::ratio_text;
use crate::study::metric::named;

row! {
    /// One field of the map.
    HeatRow {
        /// Name of the workload
        workload: String,
        /// Timers asked for
        size: u64,
        /// The phase
        phase: Option<String>,
        /// The operation
        operation: Option<String>,
        /// The allocator
        allocator: String,
        /// The structure, with parameters
        structure: String,
        /// Median over the blocks of the nanoseconds for each timer handled
        time_ns_per_timer: Option<f64>,
        /// The same over the least of the row
        time_over_least: Option<f64>,
    }
}

const ROW: f64 = 22.0;
const HEAD: f64 = 26.0;

/// A row of the map.
struct Field {
    label: String,
    cells: Vec<HeatRow>,
}

/// One figure: rows are workloads with their operations, columns structures.
pub fn figures(plots: &Plots<'_>) -> Result<Vec<Figure>, Error> {
    let fields = fields(plots);
    if fields.is_empty() || plots.structures.len() < 2 {
        return Ok(Vec::new());
    }
    let rows: Vec<HeatRow> = fields.iter().flat_map(|field| field.cells.clone()).collect();
    let sizes = rows.iter().map(|row| row.size).unique().sorted().collect_vec();
    let title = Words {
        name: "heatmap".into(),
        title: "Time of each operation, times the least of its row".into(),
        caption: vec![
            "Median nanoseconds for each timer handled, over that of the structure that needs least in the row. The deeper the colour the further from the least; the figure says the same. Medians alone: whether two are separated is in the tables.".into(),
            plots.facts("", &sizes, &["time"]),
        ],
    };
    Ok(vec![plots.figure(title, Vec::new(), &rows, |page| drawn(plots, &fields, page))?])
}

fn fields(plots: &Plots<'_>) -> Vec<Field> {
    let series = plots.study.series(named("time_ns_per_timer"));
    let places = series.iter().map(|series| series.place.clone()).unique();
    let field = |place| {
        let here = series.iter().filter(|series| series.place == place).collect_vec();
        field(&here)
    };
    places.filter_map(field).collect()
}

fn field(here: &[&Series]) -> Option<Field> {
    let place = &here.first()?.place;
    let least = here.iter().filter_map(|series| series.median()).reduce(f64::min)?;
    let cell = |series: &&Series| HeatRow {
        workload: place.workload.clone(),
        size: place.size,
        phase: place.phase.clone(),
        operation: place.operation.clone(),
        allocator: place.allocator.clone(),
        structure: series.structure.clone(),
        time_ns_per_timer: series.median(),
        time_over_least: series.median().map(|time| time / least).filter(|ratio| ratio.is_finite()),
    };
    let label = format!("{} {}, {}", place.workload, thousands(place.size), place.part());
    Some(Field { label, cells: here.iter().map(cell).collect() })
}

fn drawn(plots: &Plots<'_>, fields: &[Field], page: Page) -> Result<String, Error> {
    let width = f64::from(page.width());
    let longest = room(fields.iter().map(|field| field.label.as_str()));
    let narrow = page == Page::Narrow;
    // On a narrow page the name of a row stands above its fields.
    let names = if narrow { 0.0 } else { longest.min(width * 0.42) };
    let height_of = if narrow { 2.0 * ROW } else { ROW };
    let column = (width - names) / plots.structures.len() as f64;
    let height = HEAD + height_of * fields.len() as f64;
    draw((page.width(), height as u32), |area| {
        for (i, structure) in plots.structures.iter().enumerate() {
            let at = (names + column * (i as f64 + 0.5), HEAD / 2.0);
            words(area, at, HPos::Center, Ink::Text, true, &fitting(structure, column))?;
        }
        for (i, field) in fields.iter().enumerate() {
            let top = HEAD + height_of * i as f64;
            let below = top + height_of - ROW;
            words(
                area,
                (4.0, top + ROW / 2.0),
                HPos::Left,
                Ink::Muted,
                false,
                &fitting(&field.label, if narrow { width } else { names }),
            )?;
            for cell in &field.cells {
                let Some(ratio) = cell.time_over_least else { continue };
                let left = names + column * plots.style(&cell.structure) as f64;
                // A hundred times the least is as deep as it goes.
                let depth = (libm::log10(ratio) / 2.0).clamp(0.0, 1.0);
                filled(
                    area,
                    (left + 1.0, below + 1.0),
                    (left + column - 1.0, below + ROW - 1.0),
                    Ink::More,
                    0.55 * depth,
                )?;
                let text = if ratio == 1.0 { "least".to_owned() } else { ratio_text(ratio) };
                let at = (left + column / 2.0, below + ROW / 2.0);
                words(area, at, HPos::Center, Ink::Text, ratio == 1.0, &text)?;
            }
        }
        Ok(())
    })
}
