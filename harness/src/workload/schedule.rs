//! Schedules: n jobs, each of which runs again and again at its interval, many of them at the same moment.
//!
//! ```text
//!            00:00        09:00                    24:00        09:00
//! on a grid    |            ||||||||||               |            ||||||||||     the herd, and those on the hour
//! at random    |  .   .  . . . .  .   . .   .  .  .  | .  .   .  . . .   .  .    "every 6 h from when it was set up"
//! ```
//!
//! A job that was dispatched is enqueued again at its expiry plus its interval, so it does not drift. The
//! clock moves to the next poll at which anything is due.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::builder::Builder;
use super::draw::draws;
use super::model::{Extent, Model, Random};
use crate::stream::Point;

/// The parameters; `datasets/workloads/cron-herd.toml` explains them.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Schedule {
    days: u32,
    poll: u64,
    herd: f64,
    herd_at: u64,
    jobs: Vec<Job>,
}

/// Jobs of one interval.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Job {
    share: f64,
    every: u64,
    /// They run at multiples of this; 1 when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    grid: Option<u64>,
}

impl Default for Schedule {
    fn default() -> Self {
        let jobs = vec![Job { share: 1.0, every: 3600, grid: None }];
        Self { days: 2, poll: 60, herd: 0.1, herd_at: 32_400, jobs }
    }
}

/// Seconds of a day, as a tick is a second.
const DAY: u64 = 86_400;

/// No interval is longer: ten years.
const EVERY_MOST: u64 = 3653 * DAY;

/// When a job is due, the how-manieth arrival that is, and which job.
type Run = Reverse<(u64, u64, u32)>;

impl Schedule {
    /// An interval, and the first run of a job that has it: from 1 tick to an interval from now.
    fn job(&self, random: &mut Random) -> (u64, u64) {
        if random.random::<f64>() < self.herd {
            return (DAY, self.herd_at.max(1));
        }
        let shares: f64 = self.jobs.iter().map(|job| job.share).sum();
        let mut at = random.random::<f64>() * shares;
        let chosen = self.jobs.iter().find(|job| {
            at -= job.share;
            at < 0.0
        });
        let Job { every, grid, .. } = *chosen.or(self.jobs.last()).expect("an empty list is refused");
        let grid = grid.unwrap_or(1);
        (every, random.random_range(1..=every / grid) * grid)
    }

    /// Dispatches what is due at each poll until the last day is over, and queues its next runs.
    fn days(&self, every: &[u64], runs: &mut BinaryHeap<Run>, out: &mut Builder) {
        let end = u64::from(self.days) * DAY;
        let (mut arrivals, mut due) = (runs.len() as u64, Vec::new());
        while let Some(Reverse((next, ..))) = runs.peek() {
            let now = next.div_ceil(self.poll) * self.poll;
            if now > end {
                return;
            }
            while let Some(&Reverse((expiry, _, id))) = runs.peek()
                && expiry <= now
            {
                runs.pop();
                due.push((expiry, id));
            }
            out.sweep(now, due.len() as u64);
            for (expiry, id) in due.drain(..) {
                let next = expiry + every[id as usize];
                out.enqueue_again(id, next);
                runs.push(Reverse((next, arrivals, id)));
                arrivals += 1;
            }
        }
    }

    fn impossible_jobs(job: &Job) -> Option<String> {
        let Job { share, every, grid } = job;
        if !(*share > 0.0 && share.is_finite()) {
            return Some(format!("have a share each, of any unit, above 0; not {share}"));
        }
        if *every == 0 || *every > EVERY_MOST {
            return Some(format!("run `every` 1 to {EVERY_MOST} ticks; not {every}"));
        }
        let grid = grid.filter(|grid| *grid == 0 || every % grid != 0);
        grid.map(|grid| format!("have intervals that are multiples of their `grid`; not {every} of {grid}"))
    }
}

impl Model for Schedule {
    fn extent(&self, n: u64) -> Extent {
        let shortest = self.jobs.iter().map(|job| job.every).min().unwrap_or(DAY).min(DAY);
        let length = u64::from(self.days) * DAY;
        let runs = n.saturating_mul(length / shortest + 1);
        let polls = (length / self.poll + 1).min(runs);
        Extent { timers: n, operations: n.saturating_add(runs).saturating_add(3 * polls).saturating_add(64) }
    }

    fn impossible(&self) -> Option<(&'static str, String)> {
        if self.poll == 0 || self.poll > DAY {
            return Some(("poll", format!("is the number of ticks between two polls, from 1 to {DAY}")));
        }
        if !(0.0..=1.0).contains(&self.herd) {
            return Some(("herd", format!("is the part of the jobs in it, from 0 to 1; not {}", self.herd)));
        }
        if self.herd_at > DAY {
            return Some(("herd_at", format!("is a second of the day, from 0 to {DAY}")));
        }
        if self.jobs.is_empty() {
            return Some(("jobs", "lists the intervals of jobs; give one or more".into()));
        }
        self.jobs.iter().find_map(Self::impossible_jobs).map(|text| ("jobs", text))
    }

    fn generate(&self, n: u64, random: &mut Random, out: &mut Builder) {
        out.phase("fill");
        let jobs = draws(random, n as usize, |random| self.job(random));
        let mut runs = BinaryHeap::with_capacity(jobs.len());
        for (arrival, (_, first)) in (0..).zip(&jobs) {
            let id = out.enqueue(*first);
            runs.push(Reverse((*first, arrival, id)));
        }
        out.sample(Point::Filled);
        out.phase("days");
        let every: Vec<u64> = jobs.into_iter().map(|(every, _)| every).collect();
        self.days(&every, &mut runs, out);
        out.phase("drain");
        let due = runs.into_iter().map(|Reverse((expiry, ..))| expiry).collect();
        out.drain(due);
        out.sample(Point::Drained);
    }
}
