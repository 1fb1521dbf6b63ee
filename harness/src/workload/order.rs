//! Orders in which timers arrive or are cancelled.

use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::Random;

/// In which order something is done that has an order of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Arrangement {
    InOrder,
    Reverse,
    #[default]
    Random,
}

impl Arrangement {
    /// Brings what is in order into this order.
    pub(super) fn arrange<T>(self, values: &mut [T], random: &mut Random) {
        match self {
            Self::InOrder => {}
            Self::Reverse => values.reverse(),
            Self::Random => values.shuffle(random),
        }
    }
}
