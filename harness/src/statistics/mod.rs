//! What operations on timers amount to: how many are armed, what becomes of them, which delays they have.
//!
//! ```text
//! a row of a trace, an operation of a generator --> Event --> Tally --> Statistics --> figures.rs: a table
//! ```
//!
//! A [`Tally`] sees one event after the other and keeps only what is armed, one bit for each timer that ever
//! was, and a bounded number of distinct delays; so it takes a trace of any size, and does not ask where an
//! event comes from.
//!
//! # Of what each share is a share
//!
//! An *arm* is a start or a re-arm: each sets a due time. What a queue does by itself for a timer with a period
//! is no arm.
//!
//! | share | counts | of |
//! |---|---|---|
//! | re-armed | re-arms, each of which found its timer armed: a due time replaced before it fell due | arms |
//! | cancelled | cancels that found their timer armed | arms |
//! | expired | expiries, those of a period too, so it can be above 1 | arms |
//! | missed | cancels that found their timer not armed | all cancels |
//! | after expiry | those of them whose timer had expired and had not been started since | missed cancels |
//! | absorbed | re-arms that the source left out; they are not arms | arms |
//! | a delay's | arms with this delay | arms whose due time is known |

mod figures;
mod lateness;

use std::collections::{BTreeMap, HashMap};

pub use figures::{Figure, Value, figures, span};
pub use lateness::Lateness;

use crate::id_set::IdSet;
use crate::workload::profile;

/// Something that happened to timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, on a clock that does not fall. In nanoseconds, if figures are to be read so.
    pub time: u64,
    /// What.
    pub what: What,
    /// To which timer, if it is about one.
    pub timer: Option<u64>,
    /// Whose timer it is.
    pub owner: Option<u32>,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A timer that was not armed is.
    Start(Arm),
    /// An armed timer gets another due time.
    Rearm(Arm),
    /// A timer was armed before the first event.
    Present(Arm),
    /// An armed timer is cancelled.
    Cancel,
    /// A cancel finds its timer not armed.
    Miss,
    /// A timer expires. How late its source says it is stands for its due time, where that is not known.
    Expire(Option<i64>),
    /// A re-arm that was left out.
    Absorbed,
    /// Events were lost, and nothing is known to be armed.
    Lost,
    /// All that is due leaves the queue as a batch.
    Take,
    /// A timer of a batch was handled: it expired.
    Done,
    /// A timer of a batch is armed as before.
    PutBack,
    /// Something that no timer is concerned by.
    Nothing,
}

/// How a timer is armed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arm {
    /// When it is due, if that is known.
    pub due: Option<i128>,
    /// 0, or what is added to its due time each time it expires.
    pub period: u64,
}

/// All that was counted.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    /// From the first event to the last.
    pub duration: u64,
    /// Starts, re-arms, cancels that find or miss, expiries: what a queue is asked or answers.
    pub operations: u64,
    /// Starts.
    pub starts: u64,
    /// Re-arms.
    pub rearms: u64,
    /// Cancels that found their timer armed.
    pub cancels: u64,
    /// Cancels that did not.
    pub misses: u64,
    /// Those of them whose timer had expired.
    pub misses_after_expiry: u64,
    /// Expiries.
    pub expiries: u64,
    /// Re-arms that were left out.
    pub absorbed: u64,
    /// Timers that were ever named.
    pub timers: u64,
    /// Owners that were ever named.
    pub owners: u64,
    /// Most timers armed at once.
    pub armed_max: u64,
    /// Timers armed, weighted by how long as many were.
    pub armed_mean: f64,
    /// Timers armed after the last event.
    pub armed_at_end: u64,
    /// How many arms had each delay (due time less time), rounded up to the granularity; 0 if it was due already.
    pub delays: BTreeMap<u64, u64>,
    /// Arms whose delay is not among those because there were too many different ones.
    pub delays_beyond: u64,
    /// Time less due time, of expiries.
    pub lateness: Lateness,
}

impl Statistics {
    /// Starts and re-arms.
    pub fn arms(&self) -> u64 {
        self.starts + self.rearms
    }

    /// Arms whose due time is known.
    pub fn delayed(&self) -> u64 {
        self.delays.values().sum::<u64>() + self.delays_beyond
    }

    /// How many arms had each delay, to three digits: a trace with due times of a nanosecond has hardly two alike.
    pub fn rounded_delays(&self) -> BTreeMap<u64, u64> {
        let mut rounded = BTreeMap::new();
        for (delay, arms) in &self.delays {
            *rounded.entry(profile::rounded(*delay)).or_default() += arms;
        }
        rounded
    }

    /// The most common delays, to three digits, with the number of their arms, the most common first, the shorter first of two.
    pub fn common_delays(&self, most: usize) -> Vec<(u64, u64)> {
        let mut delays: Vec<_> = self.rounded_delays().into_iter().collect();
        delays.sort_by_key(|(delay, arms)| (std::cmp::Reverse(*arms), *delay));
        delays.truncate(most);
        delays
    }

    /// The largest difference of the two shares of arms whose delay is at most some delay (Kolmogorov and
    /// Smirnov's distance): 0 when all delays are as common in both, 1 when those of one are all shorter.
    pub fn delay_distance(&self, other: &Self) -> f64 {
        let mut steps: BTreeMap<u64, [u64; 2]> = BTreeMap::new();
        for (side, delays) in [&self.delays, &other.delays].into_iter().enumerate() {
            delays.iter().for_each(|(delay, arms)| steps.entry(*delay).or_default()[side] += arms);
        }
        let all = [self, other].map(|of| of.delays.values().sum::<u64>().max(1) as f64);
        let mut below = [0_u64; 2];
        let distance = |step: [u64; 2]| {
            below = [below[0] + step[0], below[1] + step[1]];
            (below[0] as f64 / all[0] - below[1] as f64 / all[1]).abs()
        };
        steps.into_values().map(distance).fold(0.0, f64::max)
    }
}

/// Counts event after event.
#[derive(Debug)]
pub struct Tally {
    found: Statistics,
    granularity: u64,
    armed: HashMap<u64, Arm>,
    /// Timers in batches that are out.
    out: HashMap<u64, Arm>,
    expired: IdSet,
    timers: IdSet,
    owners: IdSet,
    first: Option<u64>,
    now: u64,
    /// Sum of timers armed times how long.
    area: f64,
}

impl Tally {
    /// Different delays that are kept. What is beyond is only counted.
    pub const DELAYS: usize = 1 << 20;

    /// Before the first event. Delays are rounded up to `granularity`: a source that cuts due times down to it
    /// reads its clock within the granule that it counts from, so what it meant is the next multiple.
    pub fn new(granularity: u64) -> Self {
        Self {
            found: Statistics::default(),
            granularity: granularity.max(1),
            armed: HashMap::new(),
            out: HashMap::new(),
            expired: IdSet::default(),
            timers: IdSet::default(),
            owners: IdSet::default(),
            first: None,
            now: 0,
            area: 0.0,
        }
    }

    /// Counts one event.
    pub fn event(&mut self, event: &Event) {
        self.pass(event.time);
        if let Some(owner) = event.owner {
            self.owners.insert(u64::from(owner));
        }
        match (event.what, event.timer) {
            (What::Nothing, _) => {}
            (What::Lost, _) => self.armed.clear(),
            (What::Take, _) => self.take(),
            (What::Done, timer) => {
                if let Some(timer) = timer {
                    self.timers.insert(timer);
                    self.out.remove(&timer);
                    self.expired.insert(timer);
                }
                self.count(|found| &mut found.expiries);
            }
            (what, Some(timer)) => self.timer(what, timer),
            (_, None) => {}
        }
        self.found.armed_max = self.found.armed_max.max(self.armed.len() as u64);
    }

    /// What was counted.
    pub fn finish(mut self) -> Statistics {
        self.found.duration = self.now - self.first.unwrap_or(self.now);
        self.found.timers = self.timers.len();
        self.found.owners = self.owners.len();
        self.found.armed_at_end = self.armed.len() as u64;
        // Events that are all at one time leave nothing to weigh by.
        self.found.armed_mean = match self.found.duration {
            0 => self.armed.len() as f64,
            duration => self.area / duration as f64,
        };
        self.found
    }

    /// Time goes on; one that falls stands still.
    fn pass(&mut self, time: u64) {
        let before = if self.first.is_some() { self.now } else { time };
        self.first.get_or_insert(time);
        self.area += self.armed.len() as f64 * time.saturating_sub(before) as f64;
        self.now = before.max(time);
    }

    fn count(&mut self, of: impl Fn(&mut Statistics) -> &mut u64) {
        *of(&mut self.found) += 1;
        self.found.operations += 1;
    }

    fn timer(&mut self, what: What, timer: u64) {
        self.timers.insert(timer);
        match what {
            What::Start(arm) => {
                self.count(|found| &mut found.starts);
                self.arm(timer, arm);
            }
            What::Rearm(arm) => {
                self.count(|found| &mut found.rearms);
                self.arm(timer, arm);
            }
            What::Present(arm) => _ = self.armed.insert(timer, arm),
            What::Cancel => {
                self.count(|found| &mut found.cancels);
                self.armed.remove(&timer);
            }
            What::Miss => {
                self.count(|found| &mut found.misses);
                self.found.misses_after_expiry += u64::from(self.expired.contains(timer));
            }
            What::Expire(late) => self.expire(timer, late),
            What::Absorbed => self.found.absorbed += 1,
            What::PutBack => _ = self.out.remove(&timer).map(|arm| self.armed.insert(timer, arm)),
            What::Lost | What::Take | What::Done | What::Nothing => {}
        }
    }

    fn arm(&mut self, timer: u64, arm: Arm) {
        self.expired.remove(timer);
        self.armed.insert(timer, arm);
        let Some(due) = arm.due else { return };
        let delay = u64::try_from((due - i128::from(self.now)).max(0)).unwrap_or(u64::MAX);
        let delay = delay.checked_next_multiple_of(self.granularity).unwrap_or(delay);
        if self.found.delays.len() < Self::DELAYS || self.found.delays.contains_key(&delay) {
            *self.found.delays.entry(delay).or_default() += 1;
        } else {
            self.found.delays_beyond += 1;
        }
    }

    fn expire(&mut self, timer: u64, late: Option<i64>) {
        self.count(|found| &mut found.expiries);
        let arm = self.armed.get(&timer).copied().unwrap_or_default();
        let since_due = arm.due.map(|due| i128::from(self.now) - due);
        if let Some(late) = since_due.or(late.map(i128::from)) {
            self.found.lateness.record(late);
        }
        if arm.period > 0 {
            let due = arm.due.map(|due| due + i128::from(arm.period));
            self.armed.insert(timer, Arm { due, ..arm });
        } else {
            self.armed.remove(&timer);
            self.expired.insert(timer);
        }
    }

    fn take(&mut self) {
        let now = i128::from(self.now);
        let due = self.armed.extract_if(|_, arm| arm.due.is_some_and(|due| due <= now));
        self.out.extend(due);
    }
}

#[cfg(test)]
mod tests;
