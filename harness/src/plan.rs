//! Which cells a run consists of, and in what order.
//!
//! A block runs every structure once, on one stream, in an order that is balanced over the blocks: a cyclic
//! Latin square, so each structure stands in each position equally often, with a first row that is drawn
//! anew for each square. The first block is run and discarded.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::select::Structure;
use crate::spec::{AllocatorKind, ClockKind, Pass, PayloadKind};

/// Times that a pass runs which is not repeated once a block.
pub const REPEATS: u32 = 2;

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
    /// Allocator of all but the heap pass.
    pub allocator: AllocatorKind,
    /// Seconds after which a cell is given up.
    pub timeout_s: u64,
    /// Whether raw samples are kept.
    pub keep_samples: bool,
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
    /// Position of the structure within its block.
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
    /// Seed of the stream.
    pub seed: u64,
    /// Whether the cells are timed, so that nothing may run beside them.
    pub timed: bool,
    /// The cells, in order.
    pub cells: Vec<Cell>,
}

impl Plan {
    /// All groups of cells in the order in which they run. The same plan gives the same groups.
    pub fn groups(&self) -> Vec<Group> {
        let mut groups = Vec::new();
        for (workload, planned) in self.workloads.iter().enumerate() {
            for &size in &planned.sizes {
                let blocks = (0..=self.blocks).map(|block| self.block(workload, size, block));
                groups.extend(blocks.chain([self.repeated(workload, size)]));
            }
        }
        groups.retain(|group: &Group| !group.cells.is_empty());
        let cells = groups.iter_mut().flat_map(|group| &mut group.cells);
        for (index, cell) in (0..).zip(cells) {
            cell.index = index;
        }
        groups
    }

    /// Seed of the stream of a block.
    pub fn block_seed(&self, block: u32) -> u64 {
        block_seed(self.seed, block)
    }

    fn block(&self, workload: usize, size: u64, block: u32) -> Group {
        let order = block_order(self.structures.len(), self.seed, block);
        let mut cells = Vec::new();
        for (position, &structure) in (0..).zip(&order) {
            for &pass in self.passes.iter().filter(|pass| timed(**pass)) {
                cells.push(Cell { position, block, ..self.cell(workload, size, structure, pass) });
            }
        }
        self.group(workload, size, block, true, cells)
    }

    fn repeated(&self, workload: usize, size: u64) -> Group {
        let mut cells = Vec::new();
        for &pass in self.passes.iter().filter(|pass| !timed(**pass)) {
            for repeat in 0..if pass == Pass::Count { 1 } else { REPEATS } {
                for structure in 0..self.structures.len() {
                    let position = structure as u32;
                    cells.push(Cell { position, repeat, ..self.cell(workload, size, structure, pass) });
                }
            }
        }
        self.group(workload, size, 1, false, cells)
    }

    fn group(&self, workload: usize, size: u64, block: u32, timed: bool, mut cells: Vec<Cell>) -> Group {
        let seed = self.block_seed(block);
        cells.iter_mut().for_each(|cell| cell.seed = seed);
        Group { workload, size, seed, timed, cells }
    }

    fn cell(&self, workload: usize, size: u64, structure: usize, pass: Pass) -> Cell {
        Cell {
            index: 0,
            structure: self.structures[structure].clone(),
            workload,
            size,
            payload: self.workloads[workload].payload,
            allocator: if pass == Pass::Heap { AllocatorKind::Dhat } else { self.allocator },
            pass,
            block: 1,
            repeat: 0,
            position: 0,
            seed: 0,
        }
    }
}

/// Seed of the stream of a block: it follows from the plan's seed and the block alone. It has 52 bits, so
/// that whatever reads a table, or its JSON, reads it exactly.
pub fn block_seed(seed: u64, block: u32) -> u64 {
    xxh3_64_with_seed(&block.to_le_bytes(), seed) >> 12
}

/// Whether a pass is timed: it runs once a block, and nothing runs beside it.
pub fn timed(pass: Pass) -> bool {
    matches!(pass, Pass::Time | Pass::Latency)
}

/// The structures of a block in the order in which they run.
pub fn block_order(structures: usize, seed: u64, block: u32) -> Vec<usize> {
    let square = u64::from(block) / structures.max(1) as u64;
    let mut order: Vec<usize> = (0..structures).collect();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(xxh3_64_with_seed(b"order", seed ^ square));
    order.shuffle(&mut random);
    order.rotate_left(block as usize % structures.max(1));
    order
}

/// Bytes that a timer needs in a structure and in the reference, without its payload. The largest of the
/// five takes about half of it.
const BYTES_PER_TIMER: u64 = 192;

/// Bytes of memory that a cell of this size needs in parent and worker together. Both have the stream; the
/// parent has the reference's timers and the worker its own.
pub fn memory_need(size: u64, payload: PayloadKind, stream_bytes: u64) -> u64 {
    let payload = match payload {
        PayloadKind::Inline(bytes) => u64::from(bytes),
        PayloadKind::Boxed(bytes) => u64::from(bytes) + 16,
    };
    let timers = size.saturating_mul(BYTES_PER_TIMER.saturating_add(2 * payload));
    timers.saturating_add(stream_bytes.saturating_mul(2))
}

/// Seconds that a cell takes, roughly: what the five take on `burst` (2 cores, Rust 1.95, payload box:16). A
/// list out of order takes as long as the timeout allows.
pub fn seconds(pass: Pass, size: u64) -> f64 {
    let size = size as f64;
    match pass {
        Pass::Time | Pass::Latency | Pass::Count => 0.02 + size * 0.7e-6,
        Pass::Resident => 1.1 + size * 0.7e-6,
        Pass::Heap => 0.1 + size * 4e-6,
    }
}

/// Seconds that making a stream and its reference outcome takes, roughly.
pub fn preparation_seconds(size: u64) -> f64 {
    0.01 + size as f64 * 1.5e-6
}

/// What a run will take, roughly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Processes.
    pub cells: usize,
    /// Seconds.
    pub seconds: f64,
    /// Bytes that stay on disk.
    pub disk_bytes: u64,
}

impl Plan {
    /// What the groups will take.
    pub fn estimate(&self, groups: &[Group]) -> Estimate {
        let cells = || groups.iter().flat_map(|group| &group.cells);
        let kept = |cell: &Cell| match cell.pass {
            // A timer is queued, dispatched and perhaps rearmed: 8 bytes for each call.
            Pass::Latency if self.keep_samples => 24 * cell.size + 80_000,
            Pass::Latency => 80_000,
            Pass::Heap => 20_000,
            _ => 10_000,
        };
        let preparing: f64 = groups.iter().map(|group| preparation_seconds(group.size)).sum();
        Estimate {
            cells: cells().count(),
            seconds: preparing + cells().map(|cell| seconds(cell.pass, cell.size)).sum::<f64>(),
            disk_bytes: cells().map(kept).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn plan(structures: usize, passes: &[Pass]) -> Plan {
        let structure = |i| Structure { name: format!("s{i}"), parameters: Vec::new() };
        Plan {
            structures: (0..structures).map(structure).collect(),
            workloads: vec![PlannedWorkload {
                selector: "burst".into(),
                name: "burst".into(),
                parameters: String::new(),
                sizes: vec![1000, 2000],
                payload: PayloadKind::Boxed(16),
            }],
            passes: passes.to_vec(),
            blocks: 12,
            seed: 7,
            clock: ClockKind::Tsc,
            allocator: AllocatorKind::Jemalloc,
            timeout_s: 60,
            keep_samples: false,
        }
    }

    #[test]
    fn every_structure_stands_in_every_position_equally_often() {
        let mut seen: HashMap<(usize, usize), u32> = HashMap::new();
        for block in 0..15 {
            for (position, structure) in block_order(5, 42, block).into_iter().enumerate() {
                *seen.entry((position, structure)).or_default() += 1;
            }
        }
        assert_eq!(seen.len(), 25);
        assert!(seen.values().all(|times| *times == 3), "{seen:?}");
    }

    #[test]
    fn each_square_starts_from_another_order_and_a_seed_gives_it_again() {
        let firsts: Vec<_> = (0..8).map(|square| block_order(5, 42, square * 5)).collect();
        assert!(firsts.iter().any(|order| *order != firsts[0]));
        assert_eq!(block_order(5, 42, 17), block_order(5, 42, 17));
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
        let seeds: Vec<_> = groups.iter().map(|group| group.seed).collect();
        assert!(groups.iter().all(|group| group.cells.iter().all(|cell| cell.seed == group.seed)));
        assert_ne!(seeds[0], seeds[1]);
        assert_eq!(plan(3, &[Pass::Time]).groups(), groups);
    }

    #[test]
    fn only_the_heap_pass_has_dhat() {
        let groups = plan(2, &[Pass::Time, Pass::Heap]).groups();
        for cell in groups.iter().flat_map(|group| &group.cells) {
            assert_eq!(cell.allocator == AllocatorKind::Dhat, cell.pass == Pass::Heap);
        }
    }
}
