//! A part of a plan's blocks, for one of several machines.
//!
//! ```text
//! 12 blocks, --shard 2/3      1 2 3 4 | 5 6 7 8 | 9 10 11 12
//!                                       ^^^^^^^ and a discarded block 0 of its own
//! ```
//!
//! A block is never divided: what is compared was measured on one machine. Blocks that follow each other stay
//! together, because the order of positions is balanced over them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Which of how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Shard {
    /// The how-manieth, from 1.
    pub index: u32,
    /// How many there are.
    pub count: u32,
}

impl Shard {
    /// Whether a block that counts, from 1, is this shard's. Each block is that of one shard, and two shards differ
    /// by one block at most.
    pub fn has(self, block: u32, blocks: u32) -> bool {
        let until = |index: u32| u64::from(blocks) * u64::from(index) / u64::from(self.count);
        let block = u64::from(block);
        until(self.index - 1) < block && block <= until(self.index)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(index, count)| {
            Some(Self { index: index.trim().parse().ok()?, count: count.trim().parse().ok()? })
        });
        match numbers {
            Some(shard) if (1..=shard.count).contains(&shard.index) => Ok(shard),
            _ => Err("a shard is which of how many, from 1/1: `2/3` is the second of three".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_dealt_out_evenly_and_each_once() {
        for (blocks, count) in [(12, 3), (12, 5), (9, 9), (20, 7)] {
            let mut dealt = Vec::new();
            for index in 1..=count {
                let own = (1..=blocks).filter(|block| Shard { index, count }.has(*block, blocks));
                let own: Vec<u32> = own.collect();
                assert!((blocks / count..=blocks.div_ceil(count)).contains(&(own.len() as u32)));
                dealt.extend(own);
            }
            assert_eq!(dealt, (1..=blocks).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_shard_is_read_as_it_is_written_and_from_1() {
        assert_eq!("2/3".parse::<Shard>().unwrap().to_string(), "2/3");
        for bad in ["0/3", "4/3", "1/0", "2", "a/b", "-1/3"] {
            assert!(bad.parse::<Shard>().is_err(), "{bad}");
        }
    }
}
