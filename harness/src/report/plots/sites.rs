//! Who asked for memory: dhat's call sites of each structure, the greatest first.

use itertools::Itertools;
use plotters::style::text_anchor::HPos;

use super::canvas::{Ink, Page, draw};
use super::rows::{filled, fitting, words};
use super::{Measured, Plots, Words};
use crate::error::Error;
use crate::format::{fixed, memory_unit};
use crate::record::row;
use crate::report::dhat;
use crate::report::figure::Figure;
use crate::select::thousands;

row! {
    /// One call site of one structure.
    SiteRow {
        /// Name of the workload
        workload: String,
        /// Timers asked for
        size: u64,
        /// The structure, with parameters
        structure: String,
        /// Function, file and line
        site: String,
        /// Bytes ever requested there
        bytes_total: u64,
        /// Blocks ever requested there
        blocks_total: u64,
        /// Bytes of it at the moment of most bytes in all
        bytes_peak: u64,
        /// Bytes of it at the end
        bytes_end: u64,
    }
}

/// Sites shown of each structure.
const MOST: usize = 5;
const ROW: f64 = 30.0;
const HEAD: f64 = 26.0;

/// A figure for each workload that was measured with dhat, at its largest size.
pub fn figures(plots: &Plots<'_>) -> Result<Vec<Figure>, Error> {
    let figure = |measured: Measured| {
        let rows = rows(plots, &measured);
        (!rows.is_empty()).then(|| one(plots, &measured, &rows))
    };
    plots.workloads().into_iter().filter_map(figure).collect()
}

/// The sites of the first repeat of each structure. A profile that is gone or cannot be read has none.
fn rows(plots: &Plots<'_>, measured: &Measured) -> Vec<SiteRow> {
    let cells = plots.study.tables.measurements.iter().filter(|row| {
        let key = &row.key;
        let here = key.workload == measured.workload && key.size == measured.largest();
        here && key.pass == "heap" && key.repeat == 0 && row.own.scope == "cell"
    });
    let of_cell = |key: &crate::record::Key| {
        let found = dhat::profile(&plots.study.folder, key.cell).and_then(|path| dhat::sites(&path).ok());
        let row = |site: dhat::Site| SiteRow {
            workload: key.workload.clone(),
            size: key.size,
            structure: crate::study::structure(key),
            site: site.name,
            bytes_total: site.total_bytes,
            blocks_total: site.total_blocks,
            bytes_peak: site.peak_bytes,
            bytes_end: site.end_bytes,
        };
        found.unwrap_or_default().into_iter().take(MOST).map(row).collect_vec()
    };
    cells.flat_map(|row| of_cell(&row.key)).collect()
}

fn one(plots: &Plots<'_>, measured: &Measured, rows: &[SiteRow]) -> Result<Figure, Error> {
    let title = Words {
        name: format!("dhat-sites-{}", crate::report::figure::slug(&measured.workload)),
        title: format!("{}, n = {}: who asked for memory", measured.workload, thousands(measured.largest())),
        caption: vec![
            format!(
                "The {MOST} places of the source at which each structure's run requested most bytes in all, by dhat. The full bar is all that was requested, the dark part what of it was there at the moment of most bytes. The profiles under heap/ open in dhat's viewer."
            ),
            plots.facts(&measured.workload, &[measured.largest()], &["heap"]),
        ],
    };
    plots.figure(title, Vec::new(), rows, |page| drawn(plots, rows, page))
}

fn drawn(plots: &Plots<'_>, rows: &[SiteRow], page: Page) -> Result<String, Error> {
    let groups = rows
        .iter()
        .chunk_by(|row| &row.structure)
        .into_iter()
        .map(|(name, some)| (name, some.collect_vec()))
        .collect_vec();
    let width = f64::from(page.width());
    let most = rows.iter().map(|row| row.bytes_total).max().unwrap_or(1).max(1) as f64;
    let height = groups.iter().map(|(_, some)| HEAD + ROW * some.len() as f64).sum::<f64>() + 8.0;
    let (unit, bytes) = memory_unit(&[Some(most)]);
    let figure_room = 92.0;
    draw((page.width(), height as u32), |area| {
        let mut top = 0.0;
        for (structure, some) in &groups {
            words(area, (4.0, top + HEAD / 2.0), HPos::Left, Ink::Text, true, structure)?;
            top += HEAD;
            for row in some {
                words(
                    area,
                    (10.0, top + 8.0),
                    HPos::Left,
                    Ink::Muted,
                    false,
                    &fitting(&row.site, width - 14.0),
                )?;
                let scale = |amount: u64| 10.0 + (width - figure_room - 10.0) * amount as f64 / most;
                let ink = Ink::Style(plots.style(structure));
                filled(area, (10.0, top + 17.0), (scale(row.bytes_total).max(11.0), top + 26.0), ink, 0.35)?;
                filled(area, (10.0, top + 17.0), (scale(row.bytes_peak).max(10.0), top + 26.0), ink, 0.9)?;
                let figure = format!("{} {unit}", fixed(row.bytes_total as f64 / bytes, 2));
                words(area, (width - 4.0, top + 21.0), HPos::Right, Ink::Text, false, &figure)?;
                top += ROW;
            }
        }
        Ok(())
    })
}
