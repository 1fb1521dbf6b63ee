//! The kinds of schedule: each is a way to aim expiries and a mix of operations, with phrases in between that
//! lead to what single random steps seldom reach.

use super::rng::Rng;
use super::step::{Aim, NEWEST, Script, Step, Target, Then};
use crate::queue::Tick;

/// A kind of schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// A handful of expiries, so that nearly everything is a tie.
    Few,
    /// Expiries within two hundred ticks of now.
    Dense,
    /// Expiries of every magnitude up to `u64::MAX`.
    Sparse,
    /// Every timer with the same delay: the order of arrival is the order of expiry.
    FixedDelay,
    /// Expiries at, before and behind the powers of two, where wheels have their levels.
    Boundaries,
    /// Many at once, then drained in windows.
    Bursts,
    /// More cancels and reschedules than anything else.
    Cancels,
    /// Several batches out, late arrivals, and put-backs in any order.
    PutBacks,
}

impl Profile {
    pub(super) const ALL: [Self; 8] = [
        Self::Few,
        Self::Dense,
        Self::Sparse,
        Self::FixedDelay,
        Self::Boundaries,
        Self::Bursts,
        Self::Cancels,
        Self::PutBacks,
    ];

    /// A schedule: the same for the same seed.
    pub(super) fn schedule(self, seed: u64) -> Vec<Step> {
        let mut writer = Writer { rng: Rng::new(seed), profile: self, steps: Vec::new() };
        writer.fill();
        let length = writer.rng.pick(&[12, 40, 90, 200]);
        while writer.steps.len() < length {
            if writer.rng.chance(12) { writer.phrase() } else { writer.single() }
        }
        writer.steps
    }

    /// How far a step of the clock goes, at most.
    fn stride(self) -> i64 {
        match self {
            Self::Few => 3,
            Self::Dense | Self::Cancels | Self::PutBacks => 30,
            Self::FixedDelay => 150,
            Self::Bursts => 60,
            Self::Boundaries => 5_000,
            Self::Sparse => 1 << 40,
        }
    }

    /// Weights of: enqueue, take, process, advance, requeue, drop, get, cancel, reschedule, foreign, shrink.
    fn weights(self) -> [u64; 11] {
        match self {
            Self::Bursts => [24, 18, 26, 4, 22, 2, 4, 3, 3, 1, 2],
            Self::Cancels => [32, 8, 8, 1, 8, 2, 8, 24, 22, 3, 2],
            Self::PutBacks => [26, 20, 14, 3, 22, 3, 4, 5, 5, 1, 2],
            _ => [36, 10, 16, 2, 12, 3, 6, 8, 8, 2, 2],
        }
    }
}

struct Writer {
    rng: Rng,
    profile: Profile,
    steps: Vec<Step>,
}

impl Writer {
    /// The timers that are there before anything happens: mostly few, now and then several hundred.
    fn fill(&mut self) {
        let most = match self.rng.below(20) {
            0..8 => 4,
            8..15 => 24,
            15..19 => 90,
            _ => 500,
        };
        for _ in 0..self.rng.below(most + 1) {
            let aim = self.aim();
            self.steps.push(Step::Enqueue(aim));
        }
    }

    fn aim(&mut self) -> Aim {
        if self.rng.chance(22) {
            return self.special();
        }
        let rng = &mut self.rng;
        match self.profile {
            Profile::Few => Aim::At(10 + rng.below(4)),
            Profile::Dense | Profile::Cancels => Aim::Now(rng.between(-20, 200)),
            Profile::FixedDelay => Aim::Now(500),
            Profile::Bursts | Profile::PutBacks => Aim::Now(rng.between(-5, 60)),
            Profile::Sparse => Aim::At(rng.any_width()),
            Profile::Boundaries => Aim::Boundary(rng.below(40) as u32, rng.between(-2, 2)),
        }
    }

    /// Expiries that touch what is there, and the extremes.
    fn special(&mut self) -> Aim {
        let rng = &mut self.rng;
        let (pick, near) = (rng.next(), rng.between(-1, 1));
        match rng.below(11) {
            0 => Aim::Head(near),
            1 => Aim::Last(near),
            2 => Aim::BatchFront(pick, near),
            3 => Aim::BatchLatest(pick, near),
            4 | 5 => Aim::Tie(pick),
            6 => Aim::Now(near),
            7 => Aim::Boundary(rng.below(64) as u32, near),
            8 => Aim::At(rng.pick(&[0, 1, Tick::MAX, Tick::MAX - 1, 1 << 63, (1 << 63) - 1])),
            9 => Aim::At(rng.pick(&[1 << 31, (1 << 31) + 1, 1 << 32, (1 << 32) + 5, (1 << 32) - 1])),
            _ => Aim::Now(rng.between(0, 100)),
        }
    }

    fn now(&mut self) -> Aim {
        let (stride, far) = (self.profile.stride(), self.far());
        let rng = &mut self.rng;
        match rng.below(100) {
            0..34 => Aim::Head(rng.between(-1, 2)),
            34..64 => Aim::Head(rng.between(0, stride)),
            64..80 => Aim::Now(rng.between(0, stride)),
            80..88 => Aim::Now(-rng.between(1, stride)),
            88..94 => Aim::Last(rng.between(-1, 0)),
            94..96 => Aim::Boundary(rng.below(36) as u32, rng.between(-1, 1)),
            96..99 => Aim::Tie(rng.next()),
            _ if rng.chance(far) => Aim::At(Tick::MAX),
            _ => Aim::Now(0),
        }
    }

    /// How seldom the clock goes to its end: what is enqueued after that is all in the past.
    fn far(&self) -> u64 {
        if self.profile == Profile::Sparse { 100 } else { 20 }
    }

    fn limit(&mut self) -> usize {
        match self.rng.below(10) {
            0 => 0,
            1 => 1,
            2..5 => 1 + self.rng.below(6) as usize,
            5 => 1 + self.rng.below(60) as usize,
            _ => usize::MAX,
        }
    }

    fn script(&mut self) -> Script {
        let rng = &mut self.rng;
        let then = rng.pick(&[Then::GoOn, Then::GoOn, Then::GoOn, Then::Stop, Then::Fail, Then::Panic]);
        let window = rng.pick(&[0, 1, 5, 20, 100, Tick::MAX, Tick::MAX]);
        Script { window, cost: rng.pick(&[1, 1, 3, 20]), after: rng.below(8) as usize, then }
    }

    fn target(&mut self) -> Target {
        let pick = self.rng.next();
        match self.rng.below(20) {
            0 => Target::Head,
            1 | 2 => Target::Last,
            3..11 => Target::Queued(pick),
            11..14 => Target::PutBack(pick),
            14 | 15 => Target::Out(pick),
            16 => Target::Dispatched(pick),
            17 => Target::Cancelled(pick),
            18 => Target::Moved(pick),
            _ => Target::Dropped(pick),
        }
    }

    fn single(&mut self) {
        let weights = self.profile.weights();
        let mut at = self.rng.below(weights.iter().sum());
        let kind = weights.iter().position(|weight| {
            let here = at < *weight;
            at = at.saturating_sub(*weight);
            here
        });
        let batch = self.rng.next();
        let step = match kind.unwrap_or_default() {
            0 => Step::Enqueue(self.aim()),
            1 => Step::Take { now: self.now(), limit: self.limit() },
            2 => Step::Process { batch, script: self.script() },
            3 => Step::Advance { batch },
            4 => Step::Requeue { batch },
            5 => Step::Drop { batch },
            6 => Step::Get(self.target()),
            7 => Step::Cancel(self.target()),
            8 => Step::Reschedule(self.target(), self.aim()),
            9 if self.rng.chance(30) => Step::ForeignBatch,
            9 => Step::ForeignHandle(batch, self.aim()),
            _ => Step::Shrink,
        };
        self.steps.push(step);
    }

    /// A few steps that belong together.
    fn phrase(&mut self) {
        let (pick, near) = (self.rng.next(), self.rng.between(-1, 1));
        let limit = 1 + self.rng.below(4) as usize;
        let script = self.script();
        let (all, newest) = (usize::MAX, NEWEST);
        let steps: &[Step] = match self.rng.below(8) {
            // The whole queue out, cut short, and back into the empty queue; then something at its end.
            0 => &[
                Step::Take { now: Aim::Last(0), limit: all },
                Step::Process { batch: newest, script },
                Step::Requeue { batch: pick },
                Step::Enqueue(Aim::Last(near)),
            ],
            // Late arrivals at both ends of a batch that is out.
            1 => &[
                Step::Take { now: Aim::Head(20), limit: all },
                Step::Enqueue(Aim::BatchFront(pick, near)),
                Step::Enqueue(Aim::BatchLatest(pick, near)),
                Step::Requeue { batch: pick },
                Step::Cancel(Target::PutBack(pick)),
            ],
            // Several batches, back in the order they were taken.
            2 => &[
                Step::Take { now: Aim::Last(0), limit },
                Step::Take { now: Aim::Last(0), limit },
                Step::Take { now: Aim::Last(0), limit },
                Step::Requeue { batch: pick },
                Step::Requeue { batch: pick },
                Step::Requeue { batch: pick },
                Step::Reschedule(Target::PutBack(pick), Aim::Head(near)),
            ],
            // A limit among ties.
            3 => &[
                Step::Enqueue(Aim::Head(0)),
                Step::Enqueue(Aim::Head(0)),
                Step::Enqueue(Aim::Head(0)),
                Step::Take { now: Aim::Head(0), limit },
                Step::Take { now: Aim::Head(0), limit },
            ],
            // The end of the queue goes, and is added to.
            4 => &[
                Step::Cancel(Target::Last),
                Step::Enqueue(Aim::Last(near)),
                Step::Reschedule(Target::Last, Aim::Head(near)),
                Step::Enqueue(Aim::Last(0)),
            ],
            // Emptied, and begun again.
            5 => &[
                Step::Take { now: Aim::Last(0), limit: all },
                Step::Shrink,
                Step::Enqueue(Aim::Now(near)),
                Step::Enqueue(Aim::Last(near)),
                Step::Requeue { batch: pick },
            ],
            // A handler that takes longer than the window.
            6 => &[
                Step::Take { now: Aim::Head(20), limit: all },
                Step::Process { batch: newest, script: Script { window: 5, cost: 20, after: 0, ..script } },
                Step::Requeue { batch: newest },
            ],
            // Slots given back and used again while old handles are about.
            _ => &[
                Step::Cancel(Target::Queued(pick)),
                Step::Enqueue(Aim::Tie(pick)),
                Step::Cancel(Target::Cancelled(pick)),
                Step::Get(Target::Cancelled(pick)),
                Step::Shrink,
            ],
        };
        self.steps.extend_from_slice(steps);
    }
}
