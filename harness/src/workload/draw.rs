//! Random numbers in bulk: drawn on all cores, and the same however many there are.

use rand::Rng as _;
use rand_xoshiro::rand_core::SeedableRng;
use rayon::prelude::*;

use super::Random;

/// Values that one generator draws before the next takes over. Part of what a stream follows from: another
/// number would give other streams.
const CHUNK: usize = 1 << 16;

/// `count` values of `value`, in order.
///
/// ```text
/// random --> seed, seed, seed, ...     one for each chunk of 65,536, drawn in order
///            |     |     |
///            v     v     v             on whichever core is free
///           value value value ...
/// ```
pub(super) fn draws<T: Send>(
    random: &mut Random,
    count: usize,
    value: impl Fn(&mut Random) -> T + Sync,
) -> Vec<T> {
    draws_at(random, count, |_, random| value(random))
}

/// As [`draws`]; `value` is told which one is asked for, counted from 0.
pub(super) fn draws_at<T: Send>(
    random: &mut Random,
    count: usize,
    value: impl Fn(usize, &mut Random) -> T + Sync,
) -> Vec<T> {
    let seeds: Vec<u64> = (0..count.div_ceil(CHUNK)).map(|_| random.next_u64()).collect();
    let chunk = |(index, seed): (usize, u64)| {
        let mut random = Random::seed_from_u64(seed);
        let first = index * CHUNK;
        (first..count.min(first + CHUNK)).map(|index| value(index, &mut random)).collect::<Vec<T>>()
    };
    seeds.into_par_iter().enumerate().flat_map_iter(chunk).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(threads: usize, count: usize) -> (Vec<u64>, u64) {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut random = Random::seed_from_u64(7);
        let values = pool.install(|| draws(&mut random, count, Random::next_u64));
        (values, random.next_u64())
    }

    #[test]
    fn values_do_not_depend_on_the_number_of_threads() {
        let count = 3 * CHUNK + 17;
        assert_eq!(drawn(1, count), drawn(4, count));
    }

    #[test]
    fn a_longer_draw_begins_like_a_shorter_one_and_no_two_chunks_are_alike() {
        let (long, _) = drawn(2, 2 * CHUNK + 1);
        let (short, _) = drawn(2, CHUNK + 3);
        assert_eq!((long.len(), short.len()), (2 * CHUNK + 1, CHUNK + 3));
        assert_eq!(long[..short.len()], short);
        assert_ne!(long[..CHUNK], long[CHUNK..2 * CHUNK]);
    }

    #[test]
    fn each_value_knows_its_number() {
        let numbers = draws_at(&mut Random::seed_from_u64(7), 2 * CHUNK + 3, |index, _| index);
        assert!(numbers.into_iter().eq(0..2 * CHUNK + 3));
    }

    #[test]
    fn nothing_is_drawn_for_nothing() {
        let mut random = Random::seed_from_u64(7);
        assert!(draws(&mut random, 0, Random::next_u64).is_empty());
        assert_eq!(random.next_u64(), Random::seed_from_u64(7).next_u64());
    }
}
