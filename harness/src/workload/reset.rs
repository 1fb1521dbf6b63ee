//! Idle expiry: every message of a client puts its timer off by one delay that all share.

use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::builder::{ALL, Builder};
use super::model::{Extent, Model, Random};
use crate::stream::Point;

/// The parameters; `datasets/workloads/ticket-reset.toml` explains them.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Reset {
    messages: u32,
    delay: u64,
    gap: u64,
    how: How,
    poll: bool,
}

/// How a timer is put off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum How {
    /// It is rescheduled.
    #[default]
    Rearm,
    /// It is cancelled, and another one is enqueued.
    Recreate,
}

impl Default for Reset {
    fn default() -> Self {
        Self { messages: 1_000_000, delay: 30_000_000_000, gap: 50, how: How::default(), poll: false }
    }
}

impl Reset {
    fn message(&self, client: u32, expiry: u64, out: &mut Builder) {
        match self.how {
            How::Rearm => out.rearm(client, expiry, true),
            How::Recreate => {
                out.cancel(client, true);
                out.enqueue_again(client, expiry);
            }
        }
        if self.poll {
            out.next_expiry();
        }
    }
}

impl Model for Reset {
    fn extent(&self, n: u64) -> Extent {
        let calls = 1 + u64::from(self.how == How::Recreate) + u64::from(self.poll);
        let messages = u64::from(self.messages) * calls;
        Extent { timers: n, operations: n.saturating_add(messages).saturating_add(16) }
    }

    fn impossible(&self) -> Option<(&'static str, String)> {
        let most = 1 << 60;
        match self {
            Self { messages: 0, .. } => {
                Some(("messages", "is the number of messages; give 1 or more".into()))
            }
            Self { delay, .. } if *delay > most => {
                Some(("delay", format!("is a number of ticks from 0 to {most}")))
            }
            Self { gap, .. } => super::too_large("gap", *gap),
        }
    }

    fn generate(&self, n: u64, random: &mut Random, out: &mut Builder) {
        out.phase("fill");
        for client in 0..n {
            let now = client.saturating_mul(self.gap);
            out.clock(now);
            out.enqueue(now + self.delay);
        }
        out.sample(Point::Filled);
        out.phase("reset");
        let clients = u32::try_from(n).expect("sizes are checked before a stream is made");
        let draw =
            |random: &mut Random| (random.random_range(0..clients), random.random_range(0..=2 * self.gap));
        let mut now = n.saturating_mul(self.gap);
        for (client, gap) in super::draw::draws(random, self.messages as usize, draw) {
            now += gap;
            out.clock(now);
            self.message(client, now + self.delay, out);
        }
        // Nobody is idle long enough before this. The digest tells who was heard of last.
        out.phase("expire");
        out.sweep(ALL, n);
        out.sample(Point::Drained);
    }
}
