//! How long what is left will take: guessed from sizes at first, and from the discarded block on by what cells of
//! the same kind took.

use std::collections::HashMap;

use super::{Cell, Group, IDLE_AT_ONCE, Plan, idles_long, preparation_seconds, seconds, timed};
use crate::journal::{Entry, Status};
use crate::select::Structure;
use crate::spec::{AllocatorKind, Pass};

/// The most blocks that a budget ever gives.
const BLOCKS_MAX: f64 = 10_000.0;

/// How much longer dhat makes a cell, and counting: on `burst`, 200,000 timers, by the five.
const HEAP_FACTOR: f64 = 5.0;
const COUNT_FACTOR: f64 = 1.5;

/// What cells take.
#[derive(Clone, Debug)]
pub struct Forecast {
    seen: HashMap<Like, Seen>,
    /// Seconds that a resident cell idles, by workload.
    idle_s: Vec<f64>,
    /// Cells that run at once when they are not timed, and streams that are made at once.
    at_once: f64,
    /// What preparing takes, in guesses of it.
    preparing: f64,
}

/// Cells that differ in block and repeat alone take alike.
type Like = (Structure, usize, u64, Pass, AllocatorKind);

fn like(cell: &Cell) -> Like {
    (cell.structure.clone(), cell.workload, cell.size, cell.pass, cell.allocator)
}

/// Cells of one kind that were seen.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    seconds: f64,
    cells: f64,
    given_up: bool,
}

impl Forecast {
    /// Before anything was seen. `idle_s` has for each workload the seconds that it idles where that is not skipped.
    pub fn new(idle_s: Vec<f64>) -> Self {
        let at_once = rayon::current_num_threads() as f64;
        Self { seen: HashMap::new(), idle_s, at_once, preparing: 1.0 }
    }

    /// Takes note of what cells took.
    #[must_use]
    pub fn after(mut self, plan: &Plan, entries: &[Entry]) -> Self {
        let cells = plan.cells();
        for entry in entries {
            if let Some(cell) = cells.get(entry.cell as usize) {
                self.learn(cell, entry);
            }
        }
        self
    }

    /// Takes note of what a cell took.
    pub fn learn(&mut self, cell: &Cell, entry: &Entry) {
        let seen = self.seen.entry(like(cell)).or_default();
        match entry.status {
            Status::Interrupted => {}
            // It is not tried again.
            Status::Timeout => seen.given_up = true,
            _ => {
                seen.seconds += entry.elapsed_ms as f64 / 1000.0;
                seen.cells += 1.0;
            }
        }
    }

    /// Takes note of what preparing these groups took.
    pub fn learn_preparing(&mut self, groups: &[Group], seconds: f64) {
        let guessed = self.preparation(groups) / self.preparing;
        if guessed > 0.0 {
            self.preparing = seconds.max(0.0) / guessed;
        }
    }

    /// Seconds by which a cell makes a run longer. What is not timed runs side by side, and what idles long even more so.
    pub fn cell(&self, cell: &Cell) -> f64 {
        let alone = self.alone(cell);
        if timed(cell.pass) {
            return alone;
        }
        let idle = self.idle(cell).min(alone);
        if idles_long((idle * 1000.0) as u64) {
            return (alone - idle) / self.at_once + idle / IDLE_AT_ONCE.max(self.at_once as usize) as f64;
        }
        alone / self.at_once
    }

    /// Seconds that the cell's process lives.
    fn alone(&self, cell: &Cell) -> f64 {
        match self.seen.get(&like(cell)) {
            Some(seen) if seen.given_up => 0.0,
            Some(seen) if seen.cells > 0.0 => seen.seconds / seen.cells,
            _ => self.guess(cell),
        }
    }

    /// By what the structure took there when it was timed, or else by the size.
    fn guess(&self, cell: &Cell) -> f64 {
        let sized = seconds(cell.pass, cell.size);
        let in_time = |allocator| {
            let (structure, workload, size, ..) = like(cell);
            let seen = self.seen.get(&(structure, workload, size, Pass::Time, allocator))?;
            (seen.cells > 0.0).then(|| seen.seconds / seen.cells)
        };
        let kinds = [cell.allocator, AllocatorKind::Jemalloc, AllocatorKind::System];
        let Some(time) = kinds.into_iter().find_map(in_time) else { return sized + self.idle(cell) };
        match cell.pass {
            Pass::Time | Pass::Latency => time,
            Pass::Resident => time + self.idle(cell),
            Pass::Heap => time * HEAP_FACTOR,
            Pass::Count => time * COUNT_FACTOR,
        }
    }

    fn idle(&self, cell: &Cell) -> f64 {
        match cell.pass {
            Pass::Resident => self.idle_s.get(cell.workload).copied().unwrap_or(0.0),
            _ => 0.0,
        }
    }

    fn preparation(&self, groups: &[Group]) -> f64 {
        let all: f64 = groups.iter().map(|group| preparation_seconds(group.size)).sum();
        all * self.preparing / self.at_once
    }

    /// Seconds that groups take, streams included.
    pub fn groups(&self, groups: &[Group]) -> f64 {
        let cells = groups.iter().flat_map(|group| &group.cells);
        self.preparation(groups) + cells.map(|cell| self.cell(cell)).sum::<f64>()
    }

    /// The most blocks that fit into what is left of a budget, at least 1. The discarded block is not among them.
    pub fn blocks_within(&self, plan: &Plan, seconds: f64) -> u32 {
        let one = Plan { blocks: 1, ..plan.clone() }.groups();
        let (timed, rest): (Vec<_>, Vec<_>) =
            one.into_iter().filter(|group| !group.is_discarded()).partition(|group| group.timed);
        let a_block = self.groups(&timed);
        let blocks = (seconds - self.groups(&rest)) / a_block;
        if a_block > 0.0 { blocks.clamp(1.0, BLOCKS_MAX) as u32 } else { 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::plan;
    use super::*;
    use crate::journal::tests::entry;

    fn took(cell: &Cell, seconds: u64) -> Entry {
        Entry { elapsed_ms: seconds * 1000, ..entry(cell.index, Status::Ok) }
    }

    /// A plan, and a forecast that has seen its discarded block, each cell of which took 2 s.
    fn seen() -> (Plan, Forecast) {
        let plan = plan(3, &[Pass::Time, Pass::Resident]);
        let discarded: Vec<_> =
            plan.cells().into_iter().filter(|cell| timed(cell.pass) && cell.block == 0).collect();
        let entries: Vec<_> = discarded.iter().map(|cell| took(cell, 2)).collect();
        (plan.clone(), Forecast::new(vec![5.0]).after(&plan, &entries))
    }

    #[test]
    fn what_a_cell_took_in_the_discarded_block_is_what_it_will_take() {
        let (plan, mut forecast) = seen();
        let cells = plan.cells();
        let later = cells.iter().find(|cell| cell.pass == Pass::Time && cell.block == 7).unwrap();
        assert_eq!(forecast.cell(later), 2.0);
        forecast.learn(later, &took(later, 4));
        assert_eq!(forecast.cell(later), 3.0);
        let alike = |cell: &&Cell| (&cell.structure, cell.size) == (&later.structure, later.size);
        let resident = cells.iter().filter(alike).find(|cell| cell.pass == Pass::Resident).unwrap();
        assert_eq!(forecast.alone(resident), 3.0 + 5.0, "as long as when it was timed, and idling");
        forecast.learn(later, &Entry { status: Status::Timeout, ..took(later, 60) });
        assert_eq!(forecast.cell(later), 0.0, "it is not tried again");
    }

    #[test]
    fn cells_that_idle_long_wait_side_by_side_and_work_as_others_do() {
        let (plan, short) = seen();
        let resident = plan.cells().into_iter().find(|cell| cell.pass == Pass::Resident).unwrap();
        assert!(idles_long(5_000) && !idles_long(4_999));
        let long = Forecast { idle_s: vec![80.0], at_once: 2.0, ..short };
        assert_eq!(long.cell(&resident), 2.0 / 2.0 + 80.0 / 8.0);
        let brief = Forecast { idle_s: vec![1.0], ..long };
        assert_eq!(brief.cell(&resident), (2.0 + 1.0) / 2.0);
    }

    #[test]
    fn a_budget_holds_as_many_blocks_as_fit_and_one_more_would_not() {
        let (mut plan, mut forecast) = seen();
        forecast.learn_preparing(&plan.groups(), 0.0);
        for budget in [100.0, 1000.0] {
            plan.blocks = forecast.blocks_within(&plan, budget);
            let total = |plan: &Plan| {
                let groups: Vec<_> =
                    plan.groups().into_iter().filter(|group| !group.is_discarded()).collect();
                forecast.groups(&groups)
            };
            assert!(total(&plan) <= budget, "{} blocks", plan.blocks);
            plan.blocks += 1;
            assert!(total(&plan) > budget, "{} blocks", plan.blocks);
        }
        assert_eq!(forecast.blocks_within(&plan, 0.5), 1, "there is always one");
    }
}
