//! The hold model of event-set research: the earliest timer is taken, and one is queued in its stead.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::builder::{ALL, Builder};
use super::distribution::Distribution;
use super::draw::{draws, draws_at};
use super::model::{Extent, Model, Random};
use crate::stream::Point;

/// The parameters; `datasets/workloads/hold*.toml` explain them.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Hold {
    mode: Mode,
    distribution: Distribution,
    mean: u64,
    settle: u32,
    holds: u32,
    warm_up: u32,
    step: u64,
    push: f64,
    far: u64,
}

/// How takes and enqueues follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Mode {
    /// One of each in turn.
    #[default]
    Hold,
    /// As a coin falls.
    Markov,
    /// All down, then all up.
    Ramp,
}

impl Default for Hold {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            distribution: "exponential".parse().expect("it is one of the list"),
            mean: 1_000_000,
            settle: 20,
            holds: 3,
            warm_up: 2,
            step: 0,
            push: 0.5,
            far: 0,
        }
    }
}

/// The model while it is laid down.
///
/// Which timer is the earliest matters to the clock alone, and ties do not; so a heap of expiries is all that is
/// simulated.
struct Run<'a> {
    queue: BinaryHeap<Reverse<u64>>,
    increments: std::vec::IntoIter<u64>,
    now: u64,
    out: &'a mut Builder,
}

impl Run<'_> {
    fn next(&mut self) -> u64 {
        self.now.saturating_add(self.increments.next().expect("as many were drawn as are pushed"))
    }

    fn push(&mut self) {
        let expiry = self.next();
        self.push_at(expiry);
    }

    fn push_at(&mut self, expiry: u64) {
        self.queue.push(Reverse(expiry));
        self.out.enqueue(expiry);
    }

    fn sweep(&mut self, limit: u64, taken: u64) {
        self.out.take(self.now, limit, 0, 0, taken);
        self.out.dispatch(self.now, ALL, 0);
        self.out.drop_batch(0);
    }

    /// The clock moves on to the earliest timer, which is dispatched alone.
    fn pop(&mut self) {
        let Some(Reverse(earliest)) = self.queue.pop() else { return };
        self.now = earliest;
        self.sweep(1, 1);
    }

    fn hold(&mut self) {
        let Some(mut earliest) = self.queue.peek_mut() else { return };
        self.now = earliest.0;
        let increment = self.increments.next().expect("as many were drawn as are pushed");
        let expiry = self.now.saturating_add(increment);
        // One way down the heap instead of a pop and a push.
        *earliest = Reverse(expiry);
        drop(earliest);
        self.sweep(1, 1);
        self.out.enqueue(expiry);
    }

    /// The clock moves on by as many `step` as it takes until something is due; all that is goes, and as many
    /// come. Says how many.
    fn holds_of_step(&mut self, step: u64) -> u64 {
        let Some(Reverse(earliest)) = self.queue.peek() else { return 0 };
        self.now = earliest.div_ceil(step).saturating_mul(step);
        let mut due = 0;
        while self.queue.peek().is_some_and(|earliest| earliest.0 <= self.now) {
            self.queue.pop();
            due += 1;
        }
        self.sweep(ALL, due);
        (0..due).for_each(|_| self.push());
        due
    }
}

impl Hold {
    /// Holds in all.
    fn total(&self, n: u64) -> u64 {
        n.saturating_mul(u64::from(self.holds) + u64::from(self.warm_up))
    }

    /// Timers that are pushed after the fill, at most: the last batch of each phase may go beyond its holds.
    fn pushes(&self, n: u64) -> u64 {
        match self.mode {
            Mode::Hold if self.step > 0 => self.total(n).saturating_add(n.saturating_mul(2)),
            Mode::Hold | Mode::Ramp => self.total(n),
            Mode::Markov => self.total(n).saturating_mul(2),
        }
    }

    /// When the n timers of the fill are due. Each is a renewal process of its own that has run for `settle`
    /// means from a random phase, so what is queued is the steady state and not n fresh increments.
    fn settled(&self, n: u64, random: &mut Random) -> Vec<u64> {
        let mean = self.mean as f64;
        if self.settle == 0 {
            return self.distribution.many(mean, 0, n as usize, random);
        }
        let horizon = f64::from(self.settle);
        draws_at(random, n as usize, |index, random| {
            let phase = random.random::<f64>();
            let mut increment = || self.distribution.draw(index as u64, random);
            let mut due = phase * increment();
            // Increments that are nearly all 0 would not get there; such a timer is due at once.
            for _ in 0..16 * u64::from(self.settle) {
                if due > horizon {
                    break;
                }
                due += increment();
            }
            (((due - horizon) * mean).max(0.0)) as u64
        })
    }

    fn phase(&self, holds: u64, n: u64, random: &mut Random, run: &mut Run) {
        match self.mode {
            Mode::Hold if self.step > 0 => {
                let mut done = 0;
                while done < holds {
                    done += run.holds_of_step(self.step);
                }
            }
            Mode::Hold => (0..holds).for_each(|_| run.hold()),
            Mode::Ramp => {
                let mut left = holds;
                while left > 0 {
                    let ramp = left.min(n);
                    (0..ramp).for_each(|_| run.pop());
                    (0..ramp).for_each(|_| run.push());
                    left -= ramp;
                }
            }
            Mode::Markov => {
                let coins = draws(random, 2 * holds as usize, |random| random.random_bool(self.push));
                for push in coins {
                    if push || run.queue.is_empty() { run.push() } else { run.pop() }
                }
            }
        }
    }
}

impl Model for Hold {
    fn extent(&self, n: u64) -> Extent {
        let pushes = self.pushes(n);
        let timers = n.saturating_add(pushes).saturating_add(u64::from(self.far > 0));
        Extent { timers, operations: timers.saturating_add(pushes.saturating_mul(3)).saturating_add(16) }
    }

    fn impossible(&self) -> Option<(&'static str, String)> {
        match self {
            Self { holds: 0, .. } => {
                Some(("holds", "is the number of holds for each timer; give 1 or more".into()))
            }
            Self { mean: 0, .. } => Some(("mean", "is the mean increment in ticks; give 1 or more".into())),
            Self { push, .. } if !(*push > 0.0 && *push < 1.0) => {
                Some(("push", "is the probability of an enqueue; give more than 0 and less than 1".into()))
            }
            Self { step: 1.., mode: Mode::Markov | Mode::Ramp, .. } => {
                Some(("step", "goes with mode `hold` alone; leave it 0".into()))
            }
            Self { settle, .. } if *settle > 1000 => {
                Some(("settle", "is the number of means that the model has run; give 0 to 1000".into()))
            }
            Self { mean, .. } => super::too_large("mean", *mean),
        }
    }

    fn generate(&self, n: u64, random: &mut Random, out: &mut Builder) {
        let fill = self.settled(n, random);
        let count = self.pushes(n) as usize;
        let increments = self.distribution.many(self.mean as f64, n, count, random).into_iter();
        let queue = BinaryHeap::with_capacity(n as usize + 1);
        let mut run = Run { queue, increments, now: 0, out };
        run.out.phase("fill");
        let far = Some(self.far).filter(|far| *far > 0);
        far.into_iter().chain(fill).for_each(|expiry| run.push_at(expiry));
        run.out.sample(Point::Filled);
        if self.warm_up > 0 {
            run.out.phase("warm-up");
            self.phase(n * u64::from(self.warm_up), n, random, &mut run);
        }
        run.out.phase("hold");
        self.phase(n * u64::from(self.holds), n, random, &mut run);
        // All is dispatched at last, so that the digest tells whether the order survived.
        run.out.phase("drain");
        run.out.sweep(ALL, run.out.queued());
        run.out.sample(Point::Drained);
    }
}
