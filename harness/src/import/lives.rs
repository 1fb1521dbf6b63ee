//! A number for each life of a key that is used again.

use std::collections::HashMap;
use std::hash::Hash;

/// Numbers of the timers behind keys: addresses, descriptors, small numbers that start again.
///
/// ```text
/// key a: born 0 ... ends | born 2 ...        key b: born 1 ...
/// ```
#[derive(Debug)]
pub struct Lives<K> {
    next: u64,
    now: HashMap<K, u64>,
}

impl<K> Default for Lives<K> {
    fn default() -> Self {
        Self { next: 0, now: HashMap::new() }
    }
}

impl<K: Hash + Eq> Lives<K> {
    /// The number of the key's present life; one begins if there is none.
    pub fn of(&mut self, key: K) -> u64 {
        *self.now.entry(key).or_insert_with(|| {
            self.next += 1;
            self.next - 1
        })
    }

    /// The number of the key's present life, if it has begun.
    pub fn known(&self, key: &K) -> Option<u64> {
        self.now.get(key).copied()
    }

    /// A new life, whatever there was.
    pub fn born(&mut self, key: K) -> u64 {
        self.now.remove(&key);
        self.of(key)
    }

    /// The life ends: the key's next one has another number. Gives the number of the one that ended.
    pub fn ends(&mut self, key: &K) -> Option<u64> {
        self.now.remove(key)
    }

    /// How many lives there were.
    pub fn count(&self) -> u64 {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_used_again_has_a_number_for_each_life() {
        let mut lives = Lives::default();
        assert_eq!([lives.of("a"), lives.of("b"), lives.of("a")], [0, 1, 0]);
        assert_eq!(lives.ends(&"a"), Some(0));
        assert_eq!(lives.known(&"a"), None);
        assert_eq!([lives.of("a"), lives.born("a"), lives.of("b")], [2, 3, 1]);
        assert_eq!(lives.count(), 4);
    }
}
