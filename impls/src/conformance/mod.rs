//! The proof that a structure is right: the checks that every registry entry passes (feature `testing`).
//!
//! * [`run`] plays random schedules of all operations and compares every step with the model;
//! * [`cases`] are named facts, most of them faults that others had in the field;
//! * [`lifetime`] counts the releases of items.
//!
//! * [`cases`] are named facts, most of them faults that others had in the field;
//! * [`lifetime`] counts the releases of items.
//!
//! A structure that is not in the registry, a deliberately wrong one for example, is put through [`examine`].

mod book;
pub mod cases;
mod erased;
mod judge;
pub mod lifetime;
mod notes;
mod play;
mod profile;
mod quiet;
mod reached;
mod rng;
mod side;
mod step;

use std::error::Error;
use std::fmt;

use erased::Bench;
pub use profile::Profile;
pub use reached::{Mark, Reached};
pub use side::Token;

use crate::queue::{Params, TimerQueue};
use crate::registry::{self, Entry, Order, Visit};

/// What a structure promises, as far as it can be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promise {
    /// In which order timers leave.
    pub order: Order,
    /// A take gives what is due at the last multiple of this; 1 when nothing is rounded.
    pub tick: u64,
    /// How late a timer may be when the order is [`Order::LateBounded`].
    pub bound: u64,
}

impl Promise {
    /// What `entry` promises with `params`.
    pub fn of(entry: &Entry, params: &Params) -> Self {
        match (entry.order, entry.tick(params)) {
            (Order::LateBounded, tick) => Self { order: entry.order, tick: 1, bound: tick - 1 },
            (order, tick) => Self { order, tick, bound: 0 },
        }
    }
}

/// Which schedules are played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The first seed.
    pub first: u64,
    /// How many seeds, each with every [`Profile`]. With fewer than about thirty a run may not reach everything
    /// that it must, and fails for that.
    pub seeds: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { first: 1, seeds: 100 }
    }
}

impl Options {
    /// `CONFORMANCE_SEEDS` seeds from `CONFORMANCE_FIRST` on, or the usual ones.
    ///
    /// # Panics
    ///
    /// When one of them is no number: it would be a run that proves something else than was asked.
    pub fn from_env() -> Self {
        let usual = Self::default();
        let number = |name: &str, usual| match std::env::var(name) {
            Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} must be a number, not `{text}`")),
            Err(_) => usual,
        };
        Self {
            first: number("CONFORMANCE_FIRST", usual.first),
            seeds: number("CONFORMANCE_SEEDS", usual.seeds),
        }
    }
}

/// What a structure got wrong, and how to see it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure(String);

impl Failure {
    fn new(message: String) -> Self {
        Self(message)
    }

    fn of(self, name: &str, params: &Params) -> Self {
        let colon = if params.pairs().next().is_some() { ":" } else { "" };
        Self(format!("{name}{colon}{params}: {}", self.0))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Failure {}

/// Plays all schedules on `entry`.
///
/// The functions that reach the whole registry are `#[inline]`, so that whoever examines one structure does
/// not wait for the compilation of all: they are compiled where they are called.
#[inline]
pub fn run(entry: &Entry, params: &Params, options: Options) -> Result<Reached, Failure> {
    struct Examine<'a>(&'a Params, Promise, Options);
    impl Visit<Token> for Examine<'_> {
        type Out = Result<Reached, Failure>;
        fn visit<Q: TimerQueue<Token>>(self, _: Q) -> Self::Out {
            examine::<Q>(self.0, self.1, self.2)
        }
    }
    let work = Examine(params, Promise::of(entry, params), options);
    let outcome = registry::visit(entry.name, params, work);
    outcome
        .map_err(|error| Failure::new(error.to_string()))
        .flatten()
        .map_err(|failure| failure.of(entry.name, params))
}

/// Plays all schedules on `Q`, and makes sure that they reached what they must.
pub fn examine<Q: TimerQueue<Token>>(
    params: &Params,
    promise: Promise,
    options: Options,
) -> Result<Reached, Failure> {
    play_all(&Bench::new::<Q>(params, promise.tick), promise, options)
}

fn play_all(bench: &Bench<'_, Token>, promise: Promise, options: Options) -> Result<Reached, Failure> {
    let mut reached = Reached::default();
    for seed in options.first..options.first + options.seeds {
        for profile in Profile::ALL {
            reached.add(&play::schedule(bench, promise, profile, seed)?);
        }
    }
    match reached.missing() {
        missing if missing.is_empty() => Ok(reached),
        missing => Err(Failure::new(format!("these schedules never reached: {}", missing.join("; ")))),
    }
}

/// Every entry with its defaults, and again with each value of a parameter that changes how it works. A
/// parameter of a new kind is added to the list below; until then its default is all that is checked.
pub fn configurations() -> Vec<(&'static Entry, Params)> {
    let mut all = Vec::new();
    for entry in registry::ENTRIES {
        all.push((entry, Params::default()));
        for key in entry.params.iter().map(|param| param.key) {
            let values: &[&str] = match key {
                "arity" => &["2", "3", "8", "16"],
                "tick" => &["7", "64", "1024"],
                _ => &[],
            };
            all.extend(values.iter().map(|value| {
                let mut params = Params::default();
                params.set(key, value);
                (entry, params)
            }));
        }
    }
    all
}

macro_rules! batches_can_be_sent {
    ($( $name:literal => $module:ident :: $type:ident { $($rest:tt)* } )*) => {
        const fn sent<T: Send>() {}
        /// A batch may be dispatched by another thread whenever its items may go there.
        const _: () = { $( sent::<<crate::$module::$type<Box<u64>> as TimerQueue<Box<u64>>>::Batch>(); )* };
    };
}
structures!(batches_can_be_sent);
