//! Levels and slots: which bucket a point of time belongs to, and which bucket comes first.

use super::bucket::Bucket;

/// Bits of a point of time that one level resolves.
const BITS: u32 = 6;
/// Buckets of a level.
const WIDTH: usize = 1 << BITS;
/// Levels: enough for all 64 bits.
pub(super) const LEVELS: usize = u64::BITS.div_ceil(BITS) as usize;

/// One wheel: its buckets, and a bit for each that holds something.
#[derive(Debug)]
struct Level {
    occupied: u64,
    buckets: [Bucket; WIDTH],
}

/// All wheels, and a bit for each that holds something.
#[derive(Debug)]
pub(super) struct Levels {
    occupied: u16,
    levels: Box<[Level]>,
}

/// Where a bucket is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) level: u32,
    index: u32,
}

impl Spot {
    /// Where `unit` belongs when the wheel stands at `clock`: the level is that of the highest digit (of 6
    /// bits) in which they differ, and the index is that digit.
    pub(super) fn of(unit: u64, clock: u64) -> Self {
        let level = (unit ^ clock).checked_ilog2().map_or(0, |bit| bit / BITS);
        Self { level, index: digit(unit, level) }
    }

    /// The first unit that belongs here when the wheel stands at `clock`.
    pub(super) fn start(self, clock: u64) -> u64 {
        let below = self.level * BITS;
        let above = clock.checked_shr(below + BITS).unwrap_or(0);
        let above = above.checked_shl(below + BITS).unwrap_or(0);
        above | u64::from(self.index) << below
    }
}

/// The digit of `unit` that `level` resolves.
fn digit(unit: u64, level: u32) -> u32 {
    (unit >> (level * BITS)) as u32 & (WIDTH as u32 - 1)
}

impl Default for Levels {
    fn default() -> Self {
        let level = |_| Level { occupied: 0, buckets: [Bucket::EMPTY; WIDTH] };
        Self { occupied: 0, levels: (0..LEVELS).map(level).collect() }
    }
}

impl Levels {
    /// Changes a bucket, and keeps the bits in step.
    pub(super) fn change<R>(&mut self, spot: Spot, change: impl FnOnce(&mut Bucket) -> R) -> R {
        let level = &mut self.levels[spot.level as usize];
        let bucket = &mut level.buckets[spot.index as usize];
        let result = change(bucket);
        let (bit, level_bit) = (1 << spot.index, 1 << spot.level);
        if bucket.is_empty() {
            level.occupied &= !bit
        } else {
            level.occupied |= bit
        }
        if level.occupied == 0 {
            self.occupied &= !level_bit
        } else {
            self.occupied |= level_bit
        }
        result
    }

    /// Empties a bucket and gives what it was.
    pub(super) fn empty(&mut self, spot: Spot) -> Bucket {
        self.change(spot, |bucket| std::mem::replace(bucket, Bucket::EMPTY))
    }

    pub(super) fn bucket(&self, spot: Spot) -> Bucket {
        self.levels[spot.level as usize].buckets[spot.index as usize]
    }

    /// The bucket whose timers come before all others: a lower level comes before a higher one, because
    /// what the higher one holds differs from the clock in a higher digit. O(1).
    pub(super) fn first(&self) -> Option<Spot> {
        let level = self.occupied.trailing_zeros();
        let occupied = self.levels.get(level as usize)?.occupied;
        Some(Spot { level, index: occupied.trailing_zeros() })
    }

    /// The buckets that begin exactly at `clock` on a level above the lowest, and hold something: their
    /// timers belong further down now. O(levels).
    pub(super) fn reached(&self, clock: u64) -> Option<Spot> {
        let above = (1..LEVELS as u32).take_while(|level| clock.trailing_zeros() >= level * BITS);
        above
            .map(|level| Spot { level, index: digit(clock, level) })
            .find(|spot| !self.bucket(*spot).is_empty())
    }

    /// All buckets that hold something, in order of time.
    #[cfg(feature = "testing")]
    pub(super) fn occupied(&self) -> impl Iterator<Item = Spot> {
        (0..LEVELS as u32).flat_map(move |level| {
            let occupied = self.levels[level as usize].occupied;
            (0..WIDTH as u32)
                .filter(move |index| occupied >> index & 1 == 1)
                .map(move |index| Spot { level, index })
        })
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val::<[Level]>(&self.levels)
    }

    /// Asserts that every bit says whether its bucket, or its level, holds something.
    #[cfg(feature = "testing")]
    pub(super) fn check(&self) {
        for (at, level) in self.levels.iter().enumerate() {
            for (index, bucket) in level.buckets.iter().enumerate() {
                let bit = level.occupied >> index & 1 == 1;
                assert_eq!(bit, !bucket.is_empty(), "1: bit {index} of level {at}, and its bucket");
            }
            let bit = self.occupied >> at & 1 == 1;
            assert_eq!(bit, level.occupied != 0, "1: bit of level {at}, and its buckets");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spot_starts_at_or_before_its_unit_and_after_the_clock() {
        for clock in [0, 1, 63, 64, 4_095, 1 << 36, u64::MAX - 64, u64::MAX - 1] {
            for unit in [clock, clock.saturating_add(1), clock.saturating_add(64), u64::MAX] {
                let spot = Spot::of(unit, clock);
                let start = spot.start(clock);
                assert!(start <= unit, "{unit} at {clock}: {spot:?} starts at {start}");
                assert!(spot.level == 0 || start > clock, "{unit} at {clock}: {spot:?} starts at {start}");
            }
        }
    }
}
