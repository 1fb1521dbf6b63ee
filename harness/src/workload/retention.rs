//! What is retained of a burst: the same burst again and again, and each time something else is done to get memory
//! back. Nothing, purge at once, shrink and then purge, drop.

use serde::{Deserialize, Serialize};

use super::builder::Builder;
use super::burst::Burst;
use super::model::{Extent, Model, Random};
use crate::stream::Point;

/// Bursts of a stream.
const BURSTS: u64 = 4;

/// The parameters; `datasets/workloads/retention.toml` explains them.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Retention {
    gap: u64,
    window: f64,
    keep: u32,
    handler_ticks: u64,
    idle_ms: Vec<u64>,
    dropped_idle_ms: u64,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            gap: 1,
            window: 0.9,
            keep: 10,
            handler_ticks: 1,
            idle_ms: vec![0, 1_000, 5_000, 10_000, 30_000],
            dropped_idle_ms: 10_000,
        }
    }
}

/// The bursts while they are laid down.
struct Bursts<'a> {
    burst: Burst,
    /// Expiries of a burst, counted from its beginning.
    shape: Vec<u64>,
    /// When the next burst begins.
    now: u64,
    /// Expiries of what earlier bursts left.
    left: Vec<u64>,
    out: &'a mut Builder,
}

impl Bursts<'_> {
    /// Fills and drains, each in a phase of its own, and looks after both.
    fn burst(&mut self, prefix: &str) {
        self.out.phase(&format!("{prefix}fill"));
        let after = self.left.last().map_or(self.now, |last| self.now.max(*last));
        let fresh: Vec<u64> = self.shape.iter().map(|expiry| expiry.saturating_add(after)).collect();
        fresh.iter().for_each(|expiry| _ = self.out.enqueue(*expiry));
        self.out.sample(Point::Filled);
        self.out.phase(&format!("{prefix}drain"));
        self.left.extend(fresh);
        self.now = self.burst.drain(&self.left, self.now, self.out);
        self.left.drain(..self.left.len() - self.out.queued() as usize);
        self.out.sample(Point::Drained);
    }

    /// Looks at each time since the burst ended. Where that is 0, the look after the burst is it.
    fn idle(&mut self, times_ms: &[u64]) {
        let mut idled = 0;
        for &time in times_ms.iter().filter(|time| **time > 0) {
            self.out.idle(time - idled);
            self.out.sample(Point::Idle);
            idled = time;
        }
    }
}

impl Model for Retention {
    fn extent(&self, n: u64) -> Extent {
        let one = Burst::with(self.gap, self.window, self.keep, self.handler_ticks);
        let largest = one.extent(n.saturating_add(self.keep.into())).operations;
        let looks = 2 * self.idle_ms.len() as u64 + 32;
        let operations = largest.saturating_mul(BURSTS).saturating_add(looks);
        Extent { timers: n.saturating_mul(BURSTS), operations }
    }

    fn impossible(&self) -> Option<(&'static str, String)> {
        if !self.idle_ms.is_sorted_by(|earlier, later| earlier < later) {
            return Some((
                "idle_ms",
                "are times since the burst ended; give them in order, each once".into(),
            ));
        }
        let day = 86_400_000;
        if self.idle_ms.last().is_some_and(|last| *last > day) {
            return Some(("idle_ms", format!("are milliseconds; give at most a day, {day}")));
        }
        if self.dropped_idle_ms > day {
            return Some(("dropped_idle_ms", format!("is a number of milliseconds from 0 to {day}")));
        }
        Burst::with(self.gap, self.window, self.keep, self.handler_ticks).impossible()
    }

    fn generate(&self, n: u64, random: &mut Random, out: &mut Builder) {
        out.handler_ticks(self.handler_ticks);
        let burst = Burst::with(self.gap, self.window, self.keep, self.handler_ticks);
        let shape = super::in_order(n, self.gap, random);
        let mut bursts = Bursts { burst, shape, now: 0, left: Vec::new(), out };
        bursts.burst("");
        bursts.out.phase("idle");
        bursts.idle(&self.idle_ms);
        bursts.burst("purge-");
        bursts.out.phase("purge");
        bursts.out.purge();
        bursts.out.sample(Point::Purged);
        bursts.burst("shrink-");
        bursts.out.phase("shrink");
        bursts.out.shrink();
        bursts.out.sample(Point::Shrunk);
        bursts.out.purge();
        bursts.out.sample(Point::Purged);
        bursts.burst("drop-");
        bursts.out.phase("drop");
        bursts.out.drop_queue();
        bursts.out.sample(Point::Dropped);
        bursts.idle(&[self.dropped_idle_ms]);
    }
}
