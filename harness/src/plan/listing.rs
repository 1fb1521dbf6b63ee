//! The cells of a plan as a table.

use super::{Cell, Plan};
use crate::record::{row, word};

row! {
    /// A cell that is to be run.
    PlannedCell {
        /// The cell's number in the plan
        cell: u64,
        /// The block, from 1; block 0 is discarded
        block: u64,
        /// The how-manieth run of a pass that is not run once a block, from 0
        repeat: u64,
        /// Position of the structure, with its allocator, within its block, from 0
        position: u64,
        /// Name of the structure
        structure: String,
        /// Its parameters, those that were given
        parameters: String,
        /// Name of the workload
        workload: String,
        /// Timers asked for
        size: u64,
        /// What each timer carries
        payload: String,
        /// The pass
        pass: String,
        /// The allocator
        allocator: String,
        /// Seed of the operation stream
        seed: u64,
    }
}

impl Plan {
    /// The cells that this run has to carry out, in order.
    pub fn listing(&self) -> Vec<PlannedCell> {
        let cells = self.own_groups().into_iter().flat_map(|group| group.cells);
        cells.map(|cell| self.listed(&cell)).collect()
    }

    fn listed(&self, cell: &Cell) -> PlannedCell {
        PlannedCell {
            cell: cell.index.into(),
            block: cell.block.into(),
            repeat: cell.repeat.into(),
            position: cell.position.into(),
            structure: cell.structure.label(),
            parameters: cell.structure.parameter_text(),
            workload: self.workloads[cell.workload].name.clone(),
            size: cell.size,
            payload: cell.payload.to_string(),
            pass: word(&cell.pass),
            allocator: word(&cell.allocator),
            seed: cell.seed,
        }
    }
}
