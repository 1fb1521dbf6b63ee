//! What is asked of a queue: workloads by name, from a file or from a trace, as operation streams.
//!
//! ```text
//! datasets/workloads/burst.toml --> Definition --> Model --> Builder --> Stream
//! burst:step=500                    with the parameter changed
//! burst:step=500+1000               two workloads, one for each value
//! ```
//!
//! A workload is a TOML file that names a model and its parameters. A new one of a known model is a file
//! in that folder; a new model is a file here and a line in `model.rs`.

mod builder;
mod burst;
mod cancel;
mod cycle;
mod definition;
pub mod distribution;
mod draw;
mod error;
mod event_groups;
mod fitted;
mod group;
mod grow;
mod hold;
mod important;
mod insert;
mod mail_day;
mod model;
mod order;
mod periodic;
mod place;
mod player;
pub mod profile;
pub mod replay;
mod reproduction;
mod reset;
mod retention;
mod schedule;
mod select;
mod server;
mod steady;
mod waves;
mod window;

use std::sync::Arc;

use rand::RngExt;
use rand_xoshiro::rand_core::SeedableRng;

pub use builder::{ALL, Builder, Recorder};
pub(crate) use definition::builtin_trace;
pub use definition::{Definition, builtin, builtin_traces};
pub use distribution::Distribution;
pub use error::WorkloadError;
pub use fitted::{Fit, fit};
pub use group::{Group, Member, groups};
pub use model::{Extent, Model, Random};
pub use replay::Replay;
pub use select::resolve;

use crate::spec::{AllocatorKind, Pass, PayloadKind};
use crate::stream::{Kind, Op, Stream};

/// A workload that was asked for: a definition with its parameters as they are to be.
#[derive(Clone, Debug)]
pub struct Workload {
    definition: Definition,
    selector: String,
    name: String,
    model: Arc<dyn Model>,
}

impl Workload {
    /// The name as tables show it: with the parameters that were changed, `burst:step=500`, and with what has
    /// to be said beside every figure, `(scaled x 10)`. Selects the same workload again.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What selects this workload: the name without a note.
    pub fn selector(&self) -> &str {
        &self.selector
    }

    /// What its file says of it, with the sizes, payload and parameters that were asked for.
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// All parameters of the model, in order of their names.
    pub fn parameters(&self) -> Vec<(String, String)> {
        texts(&self.definition.parameters)
    }

    /// All parameters of the model with the values that they have when nobody says otherwise.
    pub fn defaults(&self) -> Vec<(String, String)> {
        texts(&definition::defaults(&self.definition.model))
    }

    /// The sizes to run: those `asked` for, or the definition's own. A replay has one size, its trace's.
    pub fn sizes(&self, asked: &[u64]) -> Vec<u64> {
        match self.model.replay() {
            Some(replay) => vec![replay.timers()],
            None if asked.is_empty() => self.definition.sizes.clone(),
            None => asked.to_vec(),
        }
    }

    /// The payload, when none is asked for.
    pub fn payload(&self) -> PayloadKind {
        self.definition.payload
    }

    /// The allocators, when none is asked for; empty where the run's own will do.
    pub fn allocators(&self) -> &[AllocatorKind] {
        &self.definition.allocators
    }

    /// What is measured, when nothing is asked for; empty where the run's own will do.
    pub fn measures(&self) -> &[Pass] {
        &self.definition.measures
    }

    /// Whether the payload stands in the name.
    pub fn names_payload(&self) -> bool {
        self.selector.rsplit([':', ',']).any(|part| part.starts_with("payload="))
    }

    /// The workload with a size, as in the name of a cell: `burst/200000`.
    pub fn label(&self, n: u64) -> String {
        format!("{}/{n}", self.name)
    }

    /// The trace and what it recorded, if this is a replay.
    pub fn replay(&self) -> Option<&Replay> {
        self.model.replay()
    }

    /// Bytes that the stream for `n` timers will take at most, on disk and in memory.
    pub fn stream_bytes(&self, n: u64) -> u64 {
        self.model.extent(n).operations.saturating_mul(size_of::<Op>() as u64)
    }

    /// The stream for `n` timers: the same for the same parameters, `n` and `seed`, on every machine.
    pub fn stream(&self, n: u64, seed: u64) -> Result<Stream, WorkloadError> {
        self.check(n)?;
        let mut random = Random::seed_from_u64(seed);
        let mut out = Builder::new(&self.name, self.model.extent(n).operations);
        self.model.generate(n, &mut random, &mut out);
        Ok(out.finish())
    }

    /// Milliseconds that a stream idles, whatever its size. A recorded one does not. Cost: a stream for one timer.
    pub fn idle_ms(&self) -> u64 {
        if self.replay().is_some() {
            return 0;
        }
        let idle = |stream: Stream| {
            let ops = stream.ops.iter().filter(|op| op.kind == Kind::Idle as u8);
            ops.map(|op| op.at).sum()
        };
        // What cannot be made is told where it is run.
        self.stream(1, 0).map_or(0, idle)
    }

    /// Whether there can be a stream for `n` timers.
    pub fn check(&self, n: u64) -> Result<(), WorkloadError> {
        if n == 0 {
            return Err(WorkloadError::size(&self.name, "n is the number of timers; give 1 or more"));
        }
        let timers = self.model.extent(n).timers;
        if timers > u64::from(u32::MAX) {
            let message = format!("n = {n} needs {timers} timers, and a stream numbers at most {}", u32::MAX);
            return Err(WorkloadError::size(&self.name, message + "; give a smaller n"));
        }
        Ok(())
    }
}

/// A parameter in one short word: of a list of tables, or a long one, its length and a hash stand for it.
pub(crate) fn shown(value: &toml::Value) -> String {
    let nested = |item: &toml::Value| item.is_table() || item.is_array();
    match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Array(list) if list.len() > 8 || list.iter().any(nested) => {
            let hash = xxhash_rust::xxh3::xxh3_64(value.to_string().as_bytes());
            format!("({} of hash {hash:016x})", list.len())
        }
        other => other.to_string(),
    }
}

fn texts(parameters: &toml::Table) -> Vec<(String, String)> {
    parameters.iter().map(|(key, value)| (key.clone(), shown(value))).collect()
}

/// Expiries that never fall: each is from 0 to `2 * gap` ticks after the one before it, so `gap` on average.
fn in_order(n: u64, gap: u64, random: &mut Random) -> Vec<u64> {
    let mut expiries = draw::draws(random, n as usize, |random| random.random_range(0..=2 * gap));
    expiries.iter_mut().fold(0, |last, gap| {
        *gap += last;
        *gap
    });
    expiries
}

/// As [`in_order`], with no two alike: each is from 1 to `2 * gap + 1` ticks after the one before it.
fn distinct(n: u64, gap: u64, random: &mut Random) -> Vec<u64> {
    let mut expiries = in_order(n, gap, random);
    (0..).zip(&mut expiries).for_each(|(index, expiry)| *expiry += index);
    expiries
}

/// A gap between expiries with which `u32::MAX` of them would leave the clock's range.
fn too_large(key: &'static str, gap: u64) -> Option<(&'static str, String)> {
    let most = 1 << 30;
    (gap > most).then(|| (key, format!("is a number of ticks from 0 to {most}")))
}
