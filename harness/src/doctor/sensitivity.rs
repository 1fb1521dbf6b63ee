//! Is a structure that is slower by a known part found to be slower?
//!
//! The slow-down is work that is counted: multiplications, each waiting for the one before, for each timer handled
//! (`select::Structure::busy`, in thousandths). How many make 5 % is measured first, in a run of its own:
//!
//! ```text
//! multiplication = (slowed by a hundred of them - plain) / 100     nanoseconds, medians over blocks
//! busy           = part x plain / multiplication x 1000
//! ```

use crate::error::Error;
use crate::format::fixed;
use crate::grid::Grid;
use crate::inference::{Interval, paired_ratio};
use crate::record::row;
use crate::select::Structure;
use crate::study::series::Series;
use crate::study::{Study, metric};

/// Multiplications a timer with which one of them is measured.
const PROBE: u64 = 100;

/// The parts by which a structure is slowed down.
pub const PARTS: [f64; 2] = [0.05, 0.10];

/// The structure, and itself slowed by a known number of multiplications: what is run first.
pub fn probes(of: &Structure) -> Vec<Structure> {
    vec![of.clone(), slowed(of, "probe", PROBE * 1000)]
}

/// The structure, and itself slowed by each part.
pub fn slower(of: &Structure, scale: &Scale) -> Vec<Structure> {
    let name = |part: f64| format!("slow{}", fixed(part * 100.0, 0));
    let slow = PARTS.iter().map(|part| slowed(of, &name(*part), scale.busy(*part)));
    [of.clone()].into_iter().chain(slow).collect()
}

fn slowed(of: &Structure, alias: &str, busy: u64) -> Structure {
    Structure { alias: Some(alias.to_owned()), busy, ..of.clone() }
}

/// What a timer and a multiplication cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Nanoseconds of a timer in the operation that is looked at.
    pub timer_ns: f64,
    /// Nanoseconds of a multiplication.
    pub multiplication_ns: f64,
}

impl Scale {
    /// From the run of [`probes`].
    pub fn measured(study: &Study, operation: &str) -> Result<Self, Error> {
        let series = of_operation(study, operation)?;
        let [plain, probe] = series.as_slice() else {
            return Err(Error::failed("a run to measure a multiplication has two structures"));
        };
        let medians = plain.median().zip(probe.median());
        let (timer_ns, slow) = medians.ok_or_else(|| Error::failed("no block gave a time"))?;
        let multiplication_ns = (slow - timer_ns) / PROBE as f64;
        if timer_ns <= 0.0 || multiplication_ns <= 0.0 {
            return Err(Error::failed("a hundred multiplications a timer made no difference")
                .mend("the machine is too busy: see `harness doctor`"));
        }
        Ok(Self { timer_ns, multiplication_ns })
    }

    /// Thousandths of a multiplication that make this part of a timer.
    pub fn busy(&self, part: f64) -> u64 {
        (part * self.timer_ns / self.multiplication_ns * 1000.0).round() as u64
    }
}

/// The time per timer of an operation, of each structure of a run, the plain one first.
fn of_operation(study: &Study, operation: &str) -> Result<Vec<Series>, Error> {
    let mut all = study.series(metric::named("time_ns_per_timer"));
    all.retain(|series| series.place.operation.as_deref() == Some(operation));
    all.sort_by_key(|series| series.structure.contains('@'));
    match all.is_empty() {
        true => Err(Error::failed(format!("{} has no time of `{operation}`", study.name()))
            .mend("name a workload that has it, such as `grow-in-order` for `enqueue`")),
        false => Ok(all),
    }
}

row! {
    /// A slow-down that is known, and what a comparison says of it.
    Found {
        /// The structure that was slowed down
        structure: String,
        /// The workload
        workload: String,
        /// Timers asked for
        size: u64,
        /// The operation
        operation: String,
        /// Multiplications for each timer, in thousandths
        busy: u64,
        /// The ratio that they make, as it was reckoned beforehand
        ratio_expected: Option<f64>,
        /// The ratio that was measured
        ratio: Option<f64>,
        /// Lower end of its 95 % interval
        ratio_low: Option<f64>,
        /// Upper end of its 95 % interval
        ratio_high: Option<f64>,
        /// Blocks that both have
        pairs: u64,
        /// Whether the interval excludes 1: `found` or `not found`
        found: String,
    }
}

/// What the comparison of each slowed structure with the plain one says.
pub fn findings(study: &Study, operation: &str, scale: &Scale) -> Result<Vec<Found>, Error> {
    let series = of_operation(study, operation)?;
    let plain = &series[0];
    let planned = &study.manifest.plan.structures;
    let row = |slow: &Series| {
        let busy = planned
            .iter()
            .find(|planned| planned.to_string() == slow.structure)
            .map_or(0, |planned| planned.busy);
        let pairs = plain.pairs(slow);
        let ratio = paired_ratio(&pairs, 0.95, 1);
        let interval = ratio.and_then(|ratio| ratio.interval);
        let is_found = interval.is_some_and(|interval: Interval| !interval.contains(1.0));
        Found {
            structure: slow.structure.clone(),
            workload: slow.place.workload.clone(),
            size: slow.place.size,
            operation: operation.to_owned(),
            busy,
            ratio_expected: Some(1.0 + busy as f64 / 1000.0 * scale.multiplication_ns / scale.timer_ns),
            ratio: ratio.map(|ratio| ratio.estimate),
            ratio_low: interval.map(|interval| interval.low),
            ratio_high: interval.map(|interval| interval.high),
            pairs: pairs.len() as u64,
            found: if is_found { "found" } else { "not found" }.to_owned(),
        }
    };
    Ok(series[1..].iter().map(row).collect())
}

/// The findings as a table.
pub fn grid(rows: &[Found], scale: &Scale) -> Grid {
    let first = rows.first();
    let title = first.map_or_else(String::new, |row| {
        format!("Known slow-downs of {} on {}, n = {}", row.operation, row.workload, row.size)
    });
    let mut grid = Grid { title, ..Grid::default() };
    let ratio = |of: fn(&Found) -> Option<f64>| {
        rows.iter().map(|row| of(row).map_or_else(|| "-".into(), |ratio| fixed(ratio, 3))).collect::<Vec<_>>()
    };
    grid.name_column("structure", rows.iter().map(|row| row.structure.clone()).collect());
    grid.name_column("slow-down", rows.iter().map(|row| row.found.clone()).collect());
    grid.column("ratio\nexpected", ratio(|row| row.ratio_expected));
    grid.column("ratio\nmeasured", ratio(|row| row.ratio));
    grid.column("95 %\nfrom", ratio(|row| row.ratio_low));
    grid.column("95 %\nto", ratio(|row| row.ratio_high));
    grid.column("blocks", rows.iter().map(|row| row.pairs.to_string()).collect());
    grid.column(
        "multiplications\na timer",
        rows.iter().map(|row| fixed(row.busy as f64 / 1000.0, 3)).collect(),
    );
    grid.notes = vec![
        format!(
            "Measured before: a timer takes {} ns, a multiplication that waits for the one before {} ns.",
            fixed(scale.timer_ns, 2),
            fixed(scale.multiplication_ns, 3)
        ),
        "Found: the interval of the ratio excludes 1. The number of multiplications is exact; the ratio expected is as good as \
         the two times above."
            .into(),
    ];
    grid
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::structures;

    #[test]
    fn the_work_of_a_part_is_that_part_of_a_timer() {
        let scale = Scale { timer_ns: 50.0, multiplication_ns: 1.25 };
        assert_eq!([0.05, 0.10].map(|part| scale.busy(part)), [2_000, 4_000]);
        let all = slower(&structures(&["wheel".into()]).unwrap()[0], &scale);
        let names: Vec<_> = all.iter().map(Structure::to_string).collect();
        assert_eq!(names, ["wheel", "wheel@slow5:busy=2000", "wheel@slow10:busy=4000"]);
        let typed = structures(&[names.join(",")]).unwrap();
        assert_eq!(typed, all);
    }
}
