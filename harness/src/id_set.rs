//! A set of numbers that are mostly given in order: timers that were seen.
//!
//! ```text
//! id 0 .. 63 -> one word of 64 bits; id 64 .. 127 -> the next; only words that are not 0 are kept
//! ```
//!
//! Ids that were counted up take a fraction of a byte each; ids that are scattered take some 20 bytes each.

use std::collections::HashMap;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct IdSet {
    words: HashMap<u64, u64>,
    len: u64,
}

impl IdSet {
    /// Adds an id; whether it is new.
    pub fn insert(&mut self, id: u64) -> bool {
        let word = self.words.entry(id / 64).or_default();
        let new = *word & bit(id) == 0;
        *word |= bit(id);
        self.len += u64::from(new);
        new
    }

    /// Takes an id out; whether it was there.
    pub fn remove(&mut self, id: u64) -> bool {
        let Some(word) = self.words.get_mut(&(id / 64)) else { return false };
        let there = *word & bit(id) != 0;
        *word &= !bit(id);
        if *word == 0 {
            self.words.remove(&(id / 64));
        }
        self.len -= u64::from(there);
        there
    }

    /// Whether an id is there.
    pub fn contains(&self, id: u64) -> bool {
        self.words.get(&(id / 64)).is_some_and(|word| word & bit(id) != 0)
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

fn bit(id: u64) -> u64 {
    1 << (id % 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_there_from_its_insertion_to_its_removal() {
        let mut set = IdSet::default();
        let ids = [0, 63, 64, 1 << 40, u64::MAX];
        assert!(ids.iter().all(|id| !set.contains(*id) && set.insert(*id) && !set.insert(*id)));
        assert_eq!(set.len(), 5);
        assert!(set.remove(63) && !set.remove(63) && !set.remove(1));
        assert_eq!((set.contains(0), set.contains(63), set.len()), (true, false, 4));
        assert!([0, 64, 1 << 40, u64::MAX].iter().all(|id| set.remove(*id)) && set.is_empty());
    }

    #[test]
    fn ids_that_are_counted_up_share_words_and_emptied_words_are_let_go() {
        let mut set = IdSet::default();
        (0..64_000).for_each(|id| _ = set.insert(id));
        assert_eq!((set.len(), set.words.len()), (64_000, 1000));
        (0..64_000).for_each(|id| _ = set.remove(id));
        assert!(set.words.is_empty());
    }
}
