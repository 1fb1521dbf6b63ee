//! How the cost of each structure grows with the number of timers, and from which size on another one is cheaper.
//!
//! A law is fitted to the medians over the blocks; where two structures cross is read off the straight lines between
//! their medians on log-log, with an interval from blocks drawn anew. Both need sizes: [`FEWEST`] of them.

use itertools::Itertools;

use super::metric::{Better, Metric};
use super::series::{Place, Series};
use crate::format::median;
use crate::grid::Grid;
use crate::inference::{Costs, Crossover, Growth, crossover, growth};
use crate::record::row;
use crate::select::thousands;

/// Sizes below which no law is fitted.
pub const FEWEST: usize = 3;

/// One structure over the sizes of a workload.
#[derive(Clone, Debug)]
pub struct Curve {
    /// The metric.
    pub metric: &'static Metric,
    /// The run.
    pub run: String,
    /// The structure, with parameters.
    pub structure: String,
    /// Where, its size left 0.
    pub place: Place,
    /// One number a block at each size, the smallest size first.
    pub costs: Vec<Costs>,
}

impl Curve {
    fn points(&self) -> Vec<(f64, f64)> {
        self.costs.iter().filter_map(|costs| Some((costs.size, median(&costs.blocks)?))).collect()
    }

    /// The law that its medians follow; none where a median is 0.
    pub fn growth(&self) -> Option<Growth> {
        growth(&self.points())
    }
}

/// Curves of all that has sizes enough, in the order of the series.
pub fn curves(series: &[Series]) -> Vec<Curve> {
    let key = |series: &Series| {
        let place = Place { size: 0, ..series.place.clone() };
        (series.metric.name, series.run.clone(), series.structure.clone(), place)
    };
    let curve = |of: (&str, String, String, Place)| {
        let own = series.iter().filter(|series| key(series) == of);
        let costs = own.map(|series| Costs { size: series.place.size as f64, blocks: series.numbers() });
        let costs = costs.sorted_by(|a, b| a.size.total_cmp(&b.size)).collect();
        let metric = series.iter().find(|series| key(series) == of)?.metric;
        let (_, run, structure, place) = of;
        Some(Curve { metric, run, structure, place, costs })
    };
    let has_meaning = |curve: &Curve| curve.metric.better != Better::Neither && curve.costs.len() >= FEWEST;
    series.iter().map(key).unique().filter_map(curve).filter(has_meaning).collect()
}

row! {
    /// How the cost of a structure grows.
    GrowthRow {
        /// Name of the run
        run: String,
        /// Name of the workload
        workload: String,
        /// What each timer carries
        payload: String,
        /// The allocator that served
        allocator: String,
        /// The phase, of phases and operations
        phase: Option<String>,
        /// The operation
        operation: Option<String>,
        /// The point of the memory time line
        point: Option<String>,
        /// The metric, whose unit is in its name
        metric: String,
        /// The structure, with parameters
        structure: String,
        /// Sizes that were measured
        sizes: u64,
        /// The least of them, in timers
        size_min: u64,
        /// The greatest of them, in timers
        size_max: u64,
        /// The median at the least size, in the metric's unit
        median_at_min: Option<f64>,
        /// The median at the greatest size, in the metric's unit
        median_at_max: Option<f64>,
        /// The law that fits the medians best: `1`, `log n`, `n`, `n log n` or `n^2`
        law: Option<String>,
        /// What it is multiplied with, in the metric's unit
        coefficient: Option<f64>,
        /// Root of the mean squared relative distance of the law from the medians
        residual: Option<f64>,
        /// The greatest relative distance of the law from a median, by size
        residual_max: Option<f64>,
        /// `clear` when every other law is at least twice as far from the medians, else `not clear`
        fit: Option<String>,
        /// Slope of the straight line through the logarithms of size and cost
        exponent: Option<f64>,
    }
}

/// Curves as rows.
pub fn rows(curves: &[Curve]) -> Vec<GrowthRow> {
    let row = |curve: &Curve| {
        let (points, growth, place) = (curve.points(), curve.growth(), curve.place.clone());
        let furthest = |growth: &Growth| growth.residuals.iter().map(|part| part.abs()).fold(0.0, f64::max);
        GrowthRow {
            run: curve.run.clone(),
            workload: place.workload,
            payload: place.payload,
            allocator: place.allocator,
            phase: place.phase,
            operation: place.operation,
            point: place.point,
            metric: curve.metric.name.into(),
            structure: curve.structure.clone(),
            sizes: points.len() as u64,
            size_min: points.first().map_or(0, |point| point.0 as u64),
            size_max: points.last().map_or(0, |point| point.0 as u64),
            median_at_min: points.first().map(|point| point.1),
            median_at_max: points.last().map(|point| point.1),
            law: growth.as_ref().map(|growth| growth.law.words().into()),
            coefficient: growth.as_ref().map(|growth| growth.coefficient),
            residual: growth.as_ref().map(|growth| growth.residual),
            residual_max: growth.as_ref().map(furthest),
            fit: growth.as_ref().map(|growth| fit(growth).into()),
            exponent: growth.as_ref().map(|growth| growth.exponent),
        }
    };
    curves.iter().map(row).collect()
}

fn fit(growth: &Growth) -> &'static str {
    if growth.is_clear() { "clear" } else { "not clear" }
}

/// A table of each metric and workload, and one of where structures cross if any two do.
pub fn grids(curves: &[Curve]) -> Vec<Grid> {
    let key = |curve: &Curve| (curve.metric.name, curve.place.workload.clone(), curve.run.clone());
    let of = |wanted: (&str, String, String)| {
        let here: Vec<&Curve> = curves.iter().filter(|curve| key(curve) == wanted).collect();
        std::iter::once(laws(&here)).chain(crossings(&here))
    };
    curves.iter().map(key).unique().flat_map(of).collect()
}

fn title(here: &[&Curve], what: &str) -> String {
    let Some(first) = here.first() else { return String::new() };
    let sizes = here.iter().flat_map(|curve| &curve.costs).map(|costs| costs.size as u64);
    let (least, most) = sizes.minmax().into_option().unwrap_or_default();
    let workload = &first.place.workload;
    format!("{workload}, n = {} to {}: {what} {}", thousands(least), thousands(most), first.metric.name)
}

fn laws(here: &[&Curve]) -> Grid {
    let mut grid = Grid { title: title(here, "growth of"), ..Grid::default() };
    let growths: Vec<Option<Growth>> = here.iter().map(|curve| curve.growth()).collect();
    let told = |tell: fn(&Growth) -> String| {
        growths.iter().map(|growth| growth.as_ref().map_or_else(|| "-".to_owned(), tell)).collect::<Vec<_>>()
    };
    let points: Vec<Vec<(f64, f64)>> = here.iter().map(|curve| curve.points()).collect();
    let least = points.iter().map(|points| points.first().map(|point| point.1)).collect_vec();
    let greatest = points.iter().map(|points| points.last().map(|point| point.1)).collect_vec();
    grid.name_column("structure", here.iter().map(|curve| curve.structure.clone()).collect());
    if here.iter().any(|curve| !curve.place.part().is_empty()) {
        grid.name_column("operation", here.iter().map(|curve| curve.place.part()).collect());
    }
    let unit = here.first().map_or("", |curve| curve.metric.unit);
    grid.column(&format!("least n\n{unit}"), crate::format::numbers(&least));
    grid.column(&format!("greatest n\n{unit}"), crate::format::numbers(&greatest));
    grid.column("exponent", told(|growth| format!("{:.2}", growth.exponent)));
    grid.column("law", told(|growth| growth.law.words().to_owned()));
    grid.column("distance\n%", told(|growth| format!("{:.0}", 100.0 * growth.residual)));
    grid.word_column("", told(|growth| fit(growth).to_owned()));
    grid.notes = vec![
        "Medians over the blocks. Exponent: slope of log cost on log size. Law: the best of 1, log n, n, n log n and n^2, without a \
         constant part; distance: root mean square, relative; clear: every other law is at least twice as far."
            .into(),
    ];
    grid
}

/// One crossing of two structures.
struct Crossing<'a> {
    below: &'a Curve,
    beyond: &'a Curve,
    found: Crossover,
}

impl<'a> Crossing<'a> {
    fn of(a: &'a Curve, b: &'a Curve) -> Option<Self> {
        let found = crossover(&a.costs, &b.costs, 0.95, 1).filter(|_| a.place == b.place)?;
        let (below, beyond) = if found.first_wins_beyond { (b, a) } else { (a, b) };
        Some(Self { below, beyond, found })
    }
}

fn crossings(here: &[&Curve]) -> Option<Grid> {
    let found: Vec<Crossing<'_>> =
        here.iter().array_combinations().filter_map(|[a, b]| Crossing::of(a, b)).collect();
    if found.is_empty() {
        return None;
    }
    let mut grid = Grid { title: title(here, "where structures cross in"), ..Grid::default() };
    grid.name_column("below", found.iter().map(|of| of.below.structure.clone()).collect());
    grid.name_column("beyond", found.iter().map(|of| of.beyond.structure.clone()).collect());
    if found.iter().any(|of| !of.below.place.part().is_empty()) {
        grid.name_column("operation", found.iter().map(|of| of.below.place.part()).collect());
    }
    grid.column("n", found.iter().map(|of| size_text(of.found.size)).collect());
    let interval = |of: &Crossing<'_>| {
        let ends = of.found.interval.map(|of| format!("{}..{}", size_text(of.low), size_text(of.high)));
        ends.unwrap_or_else(|| "-".into())
    };
    grid.column("n, 95 %", found.iter().map(interval).collect());
    grid.column("crossings", found.iter().map(|of| of.found.crossings.to_string()).collect());
    grid.notes = vec![
        "Up to n the first is cheaper, beyond it the second; with several crossings it is the last. Straight lines between medians on \
         log-log; interval: blocks drawn anew. `none` and `all`: beyond the sizes that were measured."
            .into(),
    ];
    Some(grid)
}

/// A size to three figures; nothing more is known of it.
fn size_text(size: f64) -> String {
    if size <= 0.0 {
        return "all".into();
    }
    if !size.is_finite() {
        return "none".into();
    }
    let unit = 10_f64.powi((size.log10().floor() as i32 - 2).max(0));
    thousands(((size / unit).round() * unit) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::metric;

    fn series(structure: &str, size: u64, cost: f64) -> Series {
        Series {
            metric: metric::named("time_ns_per_enqueued"),
            run: "run".into(),
            structure: structure.into(),
            place: Place { workload: "grow".into(), size, ..Place::default() },
            pass: "time".into(),
            values: (0..12).map(|block| (block, cost * (1.0 + block as f64 / 1_000.0))).collect(),
            streams: Vec::new(),
            calls: None,
        }
    }

    fn two() -> Vec<Series> {
        let sizes = [1_000, 10_000, 100_000];
        let flat = sizes.map(|size| series("flat", size, 50.0));
        let steep = sizes.map(|size| series("steep", size, size as f64 / 400.0));
        [flat, steep].concat()
    }

    #[test]
    fn laws_and_the_crossing_are_told() {
        let curves = curves(&two());
        let rows = rows(&curves);
        assert_eq!(rows.iter().map(|row| row.law.as_deref().unwrap()).collect_vec(), ["1", "n"]);
        assert_eq!(rows.iter().map(|row| row.size_max).collect_vec(), [100_000, 100_000]);
        let grids = grids(&curves);
        assert_eq!(grids.len(), 2);
        // 50 ns and n / 400 ns meet at 20,000.
        assert_eq!(grids[1].rows[0][..3], ["steep", "flat", "20,000"].map(str::to_owned));
    }

    #[test]
    fn two_sizes_are_no_curve() {
        let few: Vec<Series> = two().into_iter().filter(|series| series.place.size < 100_000).collect();
        assert!(curves(&few).is_empty());
    }
}
