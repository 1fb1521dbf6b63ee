//! Which cells a run consists of, and in what order.
//!
//! A block runs every structure once, on one stream, in an order that is balanced over the blocks (`order`). The
//! first block is run and discarded; it tells how long the others will take (`forecast`). Blocks can be dealt out
//! to several machines (`shard`).
//!
//! ```text
//! block 0 of every workload and size | for each workload and size: blocks 1, 2, ... and what is not timed
//! discarded                          | counts
//! ```

mod budget;
mod estimate;
mod forecast;
mod listing;
mod order;
mod shard;

use serde::{Deserialize, Deserializer, Serialize};

pub use self::budget::Budget;
pub use self::estimate::{Estimate, memory_need, preparation_seconds, seconds};
pub use self::forecast::Forecast;
pub use self::listing::PlannedCell;
pub use self::order::{block_order, block_seed};
pub use self::shard::Shard;
use crate::select::Structure;
use crate::spec::{AllocatorKind, ClockKind, Pass, PayloadKind};

/// Times that a pass runs which is not repeated once a block.
pub const REPEATS: u32 = 2;

/// Blocks below which no difference can be shown where several comparisons are corrected for.
pub const BLOCKS_TO_SEPARATE: u32 = 9;

/// A workload of a plan, with what it needs to be made again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedWorkload {
    /// What `workload::resolve` is asked for; files by absolute path.
    pub selector: String,
    /// Its name in tables.
    pub name: String,
    /// Its parameters, `key=value,...`, those that were given.
    pub parameters: String,
    /// Sizes that it is run at.
    pub sizes: Vec<u64>,
    /// What each timer carries.
    pub payload: PayloadKind,
    /// Its own allocators; empty where it has the plan's.
    #[serde(default)]
    pub allocators: Vec<AllocatorKind>,
    /// What of it is measured; empty where it is what the plan measures.
    #[serde(default)]
    pub passes: Vec<Pass>,
}

/// Everything that decides which cells there are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The structures.
    pub structures: Vec<Structure>,
    /// The workloads.
    pub workloads: Vec<PlannedWorkload>,
    /// What is measured.
    pub passes: Vec<Pass>,
    /// Blocks that count.
    pub blocks: u32,
    /// Where all randomness starts.
    pub seed: u64,
    /// Clock of single calls.
    pub clock: ClockKind,
    /// Allocators of all but the heap pass. A plan of one allocator had it under `allocator`.
    #[serde(alias = "allocator", deserialize_with = "one_or_more")]
    pub allocators: Vec<AllocatorKind>,
    /// Seconds after which a cell is given up.
    pub timeout_s: u64,
    /// Whether raw samples are kept.
    pub keep_samples: bool,
    /// The order of the discarded blocks.
    #[serde(default)]
    pub order: Order,
    /// The processor that timed cells stay on, if any.
    #[serde(default)]
    pub cpu: Option<usize>,
    /// The part of the blocks that this run has, if it has not all.
    #[serde(default)]
    pub shard: Option<Shard>,
    /// The time that the run may take, if that decides on the blocks.
    #[serde(default)]
    pub budget: Option<Budget>,
}

/// Where the discarded blocks stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Each before the blocks of its workload and size, as in plans that do not say.
    #[default]
    EachFirst,
    /// All of them before anything that counts: then it is known how long everything takes.
    AllFirst,
}

/// One cell: one process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Its place in the plan; it names the cell in the journal.
    pub index: u32,
    /// The structure.
    pub structure: Structure,
    /// Index of the workload in the plan.
    pub workload: usize,
    /// How many timers.
    pub size: u64,
    /// What each timer carries.
    pub payload: PayloadKind,
    /// Allocator of the worker.
    pub allocator: AllocatorKind,
    /// What is measured.
    pub pass: Pass,
    /// The block; 0 is discarded. A pass that is not run once a block has the stream of block 1.
    pub block: u32,
    /// The how-manieth run of a pass that is not run once a block.
    pub repeat: u32,
    /// Position of the structure, with its allocator, within its block.
    pub position: u32,
    /// Seed of the stream.
    pub seed: u64,
}

/// Cells that share a workload, a size and a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The workload's index in the plan.
    pub workload: usize,
    /// The size.
    pub size: u64,
    /// The block that its stream is of.
    pub block: u32,
    /// Seed of the stream.
    pub seed: u64,
    /// Whether the cells are timed, so that nothing may run beside them.
    pub timed: bool,
    /// The cells, in order.
    pub cells: Vec<Cell>,
}

impl Group {
    /// Whether its figures are discarded.
    pub fn is_discarded(&self) -> bool {
        self.timed && self.block == 0
    }
}

impl Plan {
    /// All groups of cells of the whole plan, whatever the shard. The same plan gives the same groups.
    pub fn groups(&self) -> Vec<Group> {
        let mut groups = Vec::new();
        for (workload, planned) in self.workloads.iter().enumerate() {
            for &size in &planned.sizes {
                let blocks = (0..=self.blocks).map(|block| self.block(workload, size, block));
                groups.extend(blocks.chain([self.repeated(workload, size)]));
            }
        }
        groups.retain(|group: &Group| !group.cells.is_empty());
        if self.order == Order::AllFirst {
            groups.sort_by_key(|group| !group.is_discarded());
        }
        let cells = groups.iter_mut().flat_map(|group| &mut group.cells);
        for (index, cell) in (0..).zip(cells) {
            cell.index = index;
        }
        groups
    }

    /// The groups that this run has to carry out, in order: those of its shard, or all.
    pub fn own_groups(&self) -> Vec<Group> {
        let mut groups = self.groups();
        if let Some(shard) = self.shard {
            groups.retain(|group| match group.timed {
                true => group.block == 0 || shard.has(group.block, self.blocks),
                false => shard.index == 1,
            });
        }
        groups
    }

    /// All cells of the whole plan; the index of each is its place.
    pub fn cells(&self) -> Vec<Cell> {
        self.groups().into_iter().flat_map(|group| group.cells).collect()
    }

    /// Whether the number of blocks is final.
    pub fn is_settled(&self) -> bool {
        self.budget.is_none_or(|budget| budget.settled)
    }

    /// Seed of the stream of a block.
    pub fn block_seed(&self, block: u32) -> u64 {
        block_seed(self.seed, block)
    }

    /// The allocators that a workload is run with.
    pub fn allocators_of(&self, workload: usize) -> &[AllocatorKind] {
        match self.workloads[workload].allocators.as_slice() {
            [] => &self.allocators,
            own => own,
        }
    }

    /// What is measured of a workload.
    pub fn passes_of(&self, workload: usize) -> &[Pass] {
        match self.workloads[workload].passes.as_slice() {
            [] => &self.passes,
            own => own,
        }
    }

    /// Structures and allocators take turns together, so that neither is always measured behind the same other.
    fn block(&self, workload: usize, size: u64, block: u32) -> Group {
        let allocators = self.allocators_of(workload);
        let order = block_order(self.structures.len() * allocators.len(), self.seed, block);
        let mut cells = Vec::new();
        for (position, turn) in (0..).zip(&order) {
            let (structure, allocator) = (turn / allocators.len(), allocators[turn % allocators.len()]);
            for &pass in self.passes_of(workload).iter().filter(|pass| timed(**pass)) {
                let cell = self.cell(workload, size, structure, pass);
                cells.push(Cell { position, block, allocator, ..cell });
            }
        }
        self.group(workload, size, block, true, cells)
    }

    fn repeated(&self, workload: usize, size: u64) -> Group {
        let mut cells = Vec::new();
        for &pass in self.passes_of(workload).iter().filter(|pass| !timed(**pass)) {
            for repeat in 0..if pass == Pass::Count { 1 } else { REPEATS } {
                for structure in 0..self.structures.len() {
                    let cell = self.cell(workload, size, structure, pass);
                    let position = structure as u32;
                    for &allocator in self.repeated_with(workload, pass) {
                        cells.push(Cell { position, repeat, allocator, ..cell.clone() });
                    }
                }
            }
        }
        self.group(workload, size, 1, false, cells)
    }

    /// The allocators of a pass that is not timed: dhat's own for the heap, and what is counted is the same with
    /// all of them.
    fn repeated_with(&self, workload: usize, pass: Pass) -> &[AllocatorKind] {
        let all = self.allocators_of(workload);
        match pass {
            Pass::Heap => &[AllocatorKind::Dhat],
            Pass::Count => &all[..all.len().min(1)],
            _ => all,
        }
    }

    fn group(&self, workload: usize, size: u64, block: u32, timed: bool, mut cells: Vec<Cell>) -> Group {
        let seed = self.block_seed(block);
        cells.iter_mut().for_each(|cell| cell.seed = seed);
        Group { workload, size, block, seed, timed, cells }
    }

    fn cell(&self, workload: usize, size: u64, structure: usize, pass: Pass) -> Cell {
        Cell {
            index: 0,
            structure: self.structures[structure].clone(),
            workload,
            size,
            payload: self.workloads[workload].payload,
            allocator: AllocatorKind::Jemalloc,
            pass,
            block: 1,
            repeat: 0,
            position: 0,
            seed: 0,
        }
    }
}

/// Whether a pass is timed: it runs once a block, and nothing runs beside it.
pub fn timed(pass: Pass) -> bool {
    matches!(pass, Pass::Time | Pass::Latency)
}

/// Cells that idle long run side by side, so many where memory allows it: what is in memory does not depend on others.
pub const IDLE_AT_ONCE: usize = 8;

/// Whether a cell that idles for so many milliseconds idles long.
pub fn idles_long(milliseconds: u64) -> bool {
    milliseconds >= 5000
}

/// A list, or one value that stands for a list of it.
fn one_or_more<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<AllocatorKind>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        One(AllocatorKind),
        More(Vec<AllocatorKind>),
    }
    Ok(match Either::deserialize(from)? {
        Either::One(kind) => vec![kind],
        Either::More(kinds) => kinds,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::collections::BTreeSet;

    pub(crate) fn plan(structures: usize, passes: &[Pass]) -> Plan {
        let structure = |i| Structure { name: format!("s{i}"), ..Structure::default() };
        Plan {
            structures: (0..structures).map(structure).collect(),
            workloads: vec![PlannedWorkload {
                selector: "burst".into(),
                name: "burst".into(),
                parameters: String::new(),
                sizes: vec![1000, 2000],
                payload: PayloadKind::Boxed(16),
                allocators: Vec::new(),
                passes: Vec::new(),
            }],
            passes: passes.to_vec(),
            blocks: 12,
            seed: 7,
            clock: ClockKind::Tsc,
            allocators: vec![AllocatorKind::Jemalloc],
            timeout_s: 60,
            keep_samples: false,
            order: Order::AllFirst,
            cpu: None,
            shard: None,
            budget: None,
        }
    }

    #[test]
    fn blocks_hold_the_timed_passes_and_the_rest_runs_twice_or_once() {
        let plan = plan(3, &[Pass::Time, Pass::Latency, Pass::Resident, Pass::Heap, Pass::Count]);
        let groups = plan.groups();
        let count =
            |pass| groups.iter().flat_map(|group| &group.cells).filter(|cell| cell.pass == pass).count();
        assert_eq!(count(Pass::Time), 2 * 13 * 3);
        assert_eq!(count(Pass::Resident), 2 * 2 * 3);
        assert_eq!(count(Pass::Count), 2 * 3);
        assert!(groups.iter().all(|group| group.cells.iter().all(|cell| timed(cell.pass) == group.timed)));
    }

    #[test]
    fn a_block_has_one_seed_for_all_and_blocks_differ() {
        let groups = plan(3, &[Pass::Time]).groups();
        let seeds: BTreeSet<_> = groups.iter().map(|group| group.seed).collect();
        assert!(groups.iter().all(|group| group.cells.iter().all(|cell| cell.seed == group.seed)));
        assert_eq!(seeds.len(), 13, "each block has its own, whatever the size");
        assert_eq!(plan(3, &[Pass::Time]).groups(), groups);
    }

    #[test]
    fn only_the_heap_pass_has_dhat() {
        let groups = plan(2, &[Pass::Time, Pass::Heap]).groups();
        for cell in groups.iter().flat_map(|group| &group.cells) {
            assert_eq!(cell.allocator == AllocatorKind::Dhat, cell.pass == Pass::Heap);
        }
    }

    #[test]
    fn every_allocator_is_measured_with_every_structure_in_every_block_and_dhat_once() {
        let mut plan = plan(2, &[Pass::Time, Pass::Resident, Pass::Heap, Pass::Count]);
        plan.allocators = vec![AllocatorKind::Jemalloc, AllocatorKind::System];
        let groups = plan.groups();
        for group in groups.iter().filter(|group| group.timed) {
            let turn = |cell: &Cell| (cell.structure.name.clone(), cell.allocator);
            assert_eq!(group.cells.iter().map(turn).collect::<BTreeSet<_>>().len(), 4);
            assert_eq!(group.cells.iter().map(|cell| cell.position).collect::<Vec<_>>(), [0, 1, 2, 3]);
        }
        let count = |pass| plan.cells().iter().filter(|cell| cell.pass == pass).count();
        // Two sizes, two structures; both allocators, twice; dhat twice; one allocator once.
        assert_eq!([Pass::Resident, Pass::Heap, Pass::Count].map(count), [16, 8, 4]);
        plan.workloads[0].allocators = vec![AllocatorKind::System];
        let rest = |cell: &Cell| cell.pass == Pass::Heap || cell.allocator == AllocatorKind::System;
        assert!(plan.cells().iter().all(rest), "a workload's own allocators go before the plan's");
        plan.workloads[0].passes = vec![Pass::Count];
        assert!(plan.cells().iter().all(|cell| cell.pass == Pass::Count), "and so does what it measures");
    }

    #[test]
    fn all_discarded_blocks_come_first_and_keep_their_place_whatever_the_number_of_blocks() {
        let discarded = |plan: &Plan| {
            let cells = plan.cells().into_iter();
            cells.take_while(|cell| timed(cell.pass) && cell.block == 0).collect::<Vec<_>>()
        };
        let mut plan = plan(3, &[Pass::Time, Pass::Latency, Pass::Resident]);
        let before = discarded(&plan);
        assert_eq!(before.len(), 2 * 3 * 2, "two sizes, three structures, two passes");
        plan.blocks = 99;
        assert_eq!(discarded(&plan), before);
        plan.order = Order::EachFirst;
        assert_eq!(discarded(&plan).len(), 6, "as older plans have it");
        assert!((0..).zip(plan.cells()).all(|(place, cell)| cell.index == place));
    }

    #[test]
    fn shards_have_every_cell_that_counts_once_and_a_discarded_block_each() {
        let mut plan = plan(3, &[Pass::Time, Pass::Resident, Pass::Heap]);
        let whole = plan.cells();
        let (mut seen, shards) = (Vec::new(), 5);
        for index in 1..=shards {
            plan.shard = Some(Shard { index, count: shards });
            let own: Vec<Cell> = plan.own_groups().into_iter().flat_map(|group| group.cells).collect();
            let is_discarded = |cell: &Cell| timed(cell.pass) && cell.block == 0;
            assert_eq!(own.iter().filter(|cell| is_discarded(cell)).count(), 2 * 3);
            assert!(own.iter().all(|cell| *cell == whole[cell.index as usize]), "they are the whole plan's");
            seen.extend(own.into_iter().filter(|cell| !is_discarded(cell)).map(|cell| cell.index));
        }
        seen.sort_unstable();
        assert_eq!(seen, (6..whole.len() as u32).collect::<Vec<_>>());
    }

    #[test]
    fn a_plan_of_one_allocator_is_read() {
        let mut old = serde_json::to_value(plan(1, &[Pass::Time])).unwrap();
        let fields = old.as_object_mut().unwrap();
        for key in ["allocators", "order", "cpu", "shard", "budget"] {
            fields.remove(key).unwrap();
        }
        fields.insert("allocator".into(), "system".into());
        let read: Plan = serde_json::from_value(old).unwrap();
        assert_eq!(read.allocators, [AllocatorKind::System]);
        assert_eq!((read.order, read.shard), (Order::EachFirst, None));
    }
}
