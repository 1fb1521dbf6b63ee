//! The order of a block: a cyclic Latin square, so each structure stands in each position equally often, with a
//! first row that is drawn anew for each square.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Seed of the stream of a block: it follows from the plan's seed and the block alone. It has 52 bits, so
/// that whatever reads a table, or its JSON, reads it exactly.
pub fn block_seed(seed: u64, block: u32) -> u64 {
    xxh3_64_with_seed(&block.to_le_bytes(), seed) >> 12
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

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
}
