//! A day of a mail queue: reminders at nine, digests at midnight, retries with back-off, a window per round.
//!
//! ```text
//! 0:00              9:00       10:00                             24:00
//!  | night           | nine      | day                             | midnight
//!  | reminders come, and digests, and mail that goes out at once   |
//!                    | every reminder is due                       | every digest is due
//! ```
//!
//! A tick is a microsecond.

use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::builder::{ALL, Builder, Recorder};
use super::model::{Extent, Model, Random};
use crate::stream::Point;

const SECOND: u64 = 1_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const NINE: u64 = 9 * HOUR;
const MIDNIGHT: u64 = 24 * HOUR;

/// The parameters; `datasets/workloads/mail-day.toml` explains them.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct MailDay {
    reminders: f64,
    digests: f64,
    late: f64,
    fail: f64,
    attempts: u32,
    back_off_s: u64,
    round_s: u64,
    room: f64,
}

impl Default for MailDay {
    fn default() -> Self {
        Self {
            reminders: 0.5,
            digests: 0.2,
            late: 0.2,
            fail: 0.1,
            attempts: 5,
            back_off_s: 300,
            round_s: 60,
            room: 0.05,
        }
    }
}

/// A message that is to be queued.
#[derive(Clone, Copy, Debug)]
struct Message {
    queued_at: u64,
    start: u64,
}

/// The dispatcher while its day is laid down.
struct Day<'a, 'b> {
    mail: &'a MailDay,
    queue: Recorder<'b>,
    random: &'a mut Random,
    /// In order of `queued_at`.
    messages: Vec<Message>,
    /// How many of them are queued.
    arrived: usize,
    /// By message: how often it was tried.
    tried: Vec<u32>,
    now: u64,
}

impl Day<'_, '_> {
    fn has_more(&self) -> bool {
        self.arrived < self.messages.len() || self.queue.builder.queued() > 0
    }

    /// Rounds that begin before `end`.
    fn until(&mut self, phase: &str, end: u64) {
        self.queue.builder.phase(phase);
        while self.now < end && (end < ALL || self.has_more()) {
            self.round();
            self.now += self.mail.round();
        }
    }

    /// What is due is taken and sent within the window; meanwhile new mail comes, and what failed is queued
    /// again; the rest is put back.
    fn round(&mut self) {
        let mut sent = Vec::new();
        self.queue.take(self.now, ALL, 0);
        self.queue.dispatch(self.now, self.mail.round(), 0, |message| sent.push(message));
        sent.into_iter().for_each(|message| self.retry(message));
        self.arrive(self.now + self.mail.round());
        self.queue.requeue(0);
    }

    fn retry(&mut self, message: u32) {
        let tried = &mut self.tried[message as usize];
        *tried += 1;
        if *tried < self.mail.attempts && self.random.random_bool(self.mail.fail) {
            let back_off = (self.mail.back_off_s * SECOND) << (*tried - 1);
            self.queue.enqueue_again(message, self.now + back_off);
        }
    }

    fn arrive(&mut self, until: u64) {
        while let Some(message) = self.messages.get(self.arrived).filter(|message| message.queued_at < until)
        {
            self.queue.enqueue(message.start);
            self.tried.push(0);
            self.arrived += 1;
        }
    }
}

impl MailDay {
    fn round(&self) -> u64 {
        self.round_s * SECOND
    }

    /// Messages that a window has room for, and one at least.
    fn capacity(&self, n: u64) -> u64 {
        ((n as f64 * self.room) as u64).max(1)
    }

    fn message(&self, random: &mut Random) -> Message {
        let class: f64 = random.random();
        if class < self.reminders {
            return Message { queued_at: random.random_range(0..NINE), start: NINE };
        }
        let queued_at = random.random_range(0..MIDNIGHT);
        if class < self.reminders + self.digests {
            return Message { queued_at, start: MIDNIGHT };
        }
        let late = if random.random_bool(self.late) { random.random_range(0..10 * MINUTE) } else { 0 };
        Message { queued_at, start: queued_at.saturating_sub(late) }
    }

    /// Rounds until the last message has been tried for the last time, at most.
    fn rounds(&self, n: u64) -> u64 {
        let back_offs = (self.back_off_s * SECOND) << self.attempts;
        let attempts = n.saturating_mul(u64::from(self.attempts));
        (MIDNIGHT + back_offs) / self.round() + attempts / self.capacity(n) + u64::from(self.attempts) + 2
    }
}

impl Model for MailDay {
    fn extent(&self, n: u64) -> Extent {
        let enqueues = n.saturating_mul(u64::from(self.attempts));
        let rounds = self.rounds(n).saturating_mul(3);
        Extent { timers: n, operations: enqueues.saturating_add(rounds).saturating_add(16) }
    }

    fn impossible(&self) -> Option<(&'static str, String)> {
        let is_part = |part: f64| (0.0..=1.0).contains(&part);
        let part = |key, of: &str| Some((key, format!("is a part of {of}; give 0 to 1")));
        match self {
            Self { reminders, .. } if !is_part(*reminders) => part("reminders", "all mail"),
            Self { reminders, digests, .. } if !is_part(*digests) || reminders + digests > 1.0 => Some((
                "digests",
                "is a part of all mail; give 0 to 1, and with `reminders` no more than 1".into(),
            )),
            Self { late, .. } if !is_part(*late) => part("late", "the mail that goes out at once"),
            Self { fail, .. } if !is_part(*fail) => part("fail", "all attempts"),
            Self { room, .. } if !(*room > 0.0 && *room <= 1.0) => Some((
                "room",
                "is the part of all mail that one window has room for; give more than 0 and at most 1".into(),
            )),
            Self { attempts, .. } if !(1..=10).contains(attempts) => {
                Some(("attempts", "is how often a message is tried; give 1 to 10".into()))
            }
            Self { back_off_s, .. } if !(1..=86_400).contains(back_off_s) => {
                Some(("back_off_s", "is how long a first retry waits; give 1 to 86,400 seconds".into()))
            }
            // Nine and midnight are to be the beginning of a round.
            Self { round_s, .. } if *round_s == 0 || 3600 % round_s != 0 => Some((
                "round_s",
                "is the time between two rounds; give a number of seconds that divides 3,600".into(),
            )),
            _ => None,
        }
    }

    fn generate(&self, n: u64, random: &mut Random, out: &mut Builder) {
        out.handler_ticks((self.round() / self.capacity(n)).max(1));
        let mut messages = super::draw::draws(random, n as usize, |random| self.message(random));
        messages.sort_by_key(|message| message.queued_at);
        let queue = Recorder::new(out);
        let mut day = Day { mail: self, queue, random, messages, arrived: 0, tried: Vec::new(), now: 0 };
        day.until("night", NINE);
        day.queue.builder.sample(Point::Filled);
        day.until("nine", NINE + HOUR);
        day.until("day", MIDNIGHT);
        day.until("midnight", ALL);
        day.queue.builder.sample(Point::Drained);
    }
}
