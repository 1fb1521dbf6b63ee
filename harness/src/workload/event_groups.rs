//! Tcl's groups of event cases: short sequences on few or many events, each case in phases of its own.
//!
//! Tcl has three classes of events; on one queue they differ in their expiry alone:
//!
//! ```text
//! idle      due at once, whenever that is     all of a case at one tick
//! prompt    after 0                           each at the tick of its creation
//! timer     after 1                           `wait` ticks later
//! ```

use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::builder::{ALL, Builder};
use super::model::{Extent, Model, Random};
use crate::stream::Point;

/// The parameters; `datasets/workloads/tcl-bulk.toml` explains them.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct EventGroups {
    group: Group,
    lookups: u32,
    wait: u64,
}

/// Which cases follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Group {
    /// One event at a time.
    Single,
    /// Look-ups among many.
    RandomAccess,
    /// All that follow.
    #[default]
    Bulk,
    /// Many are created, and many are run.
    CreateRun,
    /// Many are cancelled, the first one first.
    CancelForward,
    /// Many are cancelled, the last one first.
    CancelBackward,
}

impl Default for EventGroups {
    fn default() -> Self {
        Self { group: Group::default(), lookups: 10_000, wait: 1000 }
    }
}

/// A class of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Idle,
    Prompt,
    Timer,
}

impl Class {
    fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Prompt => "prompt",
            Self::Timer => "timer",
        }
    }
}

/// The cases while they are laid down.
struct Cases<'a, 'b> {
    groups: &'a EventGroups,
    n: u64,
    out: &'b mut Builder,
    random: &'b mut Random,
    now: u64,
}

impl Cases<'_, '_> {
    fn create(&mut self, class: Class) -> u32 {
        let expiry = if class == Class::Timer { self.now + self.groups.wait } else { self.now };
        self.now += u64::from(class != Class::Idle);
        self.out.enqueue(expiry)
    }

    /// All `n` events of a case.
    fn fill(&mut self, case: &str, class: Class) -> Vec<u32> {
        self.out.phase(&format!("{case}-fill"));
        self.now += 1;
        (0..self.n).map(|_| self.create(class)).collect()
    }

    /// Everything that is queued is run: it is due by now.
    fn run(&mut self) {
        self.out.sweep(self.now, self.out.queued());
        self.now += 1;
    }

    /// Whoever runs all classes asks first whether there is a timer to wait for.
    fn run_all(&mut self) {
        self.out.next_expiry();
        self.run();
    }

    fn single(&mut self) {
        for class in [Class::Idle, Class::Prompt] {
            self.each(&format!("{}-cancel", class.name()), |cases| {
                let event = cases.create(class);
                cases.out.cancel(event, true);
            });
        }
        self.each("idle-run-idle", |cases| {
            cases.create(Class::Idle);
            cases.run();
        });
        for (class, wait) in [(Class::Idle, 0), (Class::Prompt, 0), (Class::Timer, self.groups.wait)] {
            self.each(&format!("{}-run", class.name()), |cases| {
                cases.create(class);
                cases.now += wait;
                cases.run_all();
            });
        }
        self.each("empty-run", Self::run_all);
        self.each("empty-run-idle", Self::run);
    }

    fn each(&mut self, case: &str, event: impl Fn(&mut Self)) {
        self.out.phase(case);
        (0..self.n).for_each(|_| event(self));
    }

    fn random_access(&mut self) {
        for class in [Class::Idle, Class::Prompt] {
            let events = self.fill(class.name(), class);
            self.out.phase(&format!("{}-look-up", class.name()));
            let among = events.len();
            let picks = super::draw::draws(self.random, self.groups.lookups as usize, |random| {
                random.random_range(0..among as u64)
            });
            picks.into_iter().for_each(|pick| self.out.get(events[pick as usize]));
            self.out.phase(&format!("{}-run", class.name()));
            self.run();
        }
    }

    fn create_run(&mut self) {
        self.fill("idle-all", Class::Idle);
        self.out.phase("idle-all-run");
        self.run_all();
        self.fill("idle", Class::Idle);
        self.out.phase("idle-run");
        self.run();
        for (class, wait) in [(Class::Prompt, 0), (Class::Timer, self.groups.wait)] {
            self.fill(class.name(), class);
            self.out.phase(&format!("{}-run", class.name()));
            self.now += wait;
            self.run_all();
        }
        self.fill("renew", Class::Prompt);
        self.out.phase("renew-run");
        self.renew();
    }

    /// Each handler adds an event of the next generation, which runs when this one has.
    fn renew(&mut self) {
        self.out.next_expiry();
        self.out.take(self.now, ALL, 0, 0, self.n);
        for _ in 0..self.n {
            self.out.dispatch(self.now, 1, 0);
            self.create(Class::Prompt);
        }
        self.out.drop_batch(0);
        self.run_all();
    }

    fn cancel(&mut self, way: &str, backward: bool) {
        for class in [Class::Idle, Class::Prompt] {
            let case = format!("{way}-{}", class.name());
            let mut events = self.fill(&case, class);
            if backward {
                events.reverse();
            }
            self.out.phase(&case);
            events.into_iter().for_each(|event| self.out.cancel(event, true));
        }
    }

    fn group(&mut self) {
        let group = self.groups.group;
        let bulk = group == Group::Bulk;
        match group {
            Group::Single => self.single(),
            Group::RandomAccess => self.random_access(),
            _ if bulk || group == Group::CreateRun => self.create_run(),
            _ => {}
        }
        if bulk || group == Group::CancelForward {
            self.cancel("forward", false);
        }
        if bulk || group == Group::CancelBackward {
            self.cancel("backward", true);
        }
    }
}

impl Model for EventGroups {
    fn extent(&self, n: u64) -> Extent {
        // Events, and calls on them, for each of `n`.
        let (events, calls) = match self.group {
            Group::Single => (6, 31),
            Group::RandomAccess => (2, 2),
            Group::Bulk => (10, 15),
            Group::CreateRun => (6, 7),
            Group::CancelForward | Group::CancelBackward => (2, 4),
        };
        let lookups = 2 * u64::from(self.lookups);
        let operations = n.saturating_mul(calls).saturating_add(lookups).saturating_add(80);
        Extent { timers: n.saturating_mul(events), operations }
    }

    fn impossible(&self) -> Option<(&'static str, String)> {
        super::too_large("wait", self.wait)
    }

    fn generate(&self, n: u64, random: &mut Random, out: &mut Builder) {
        out.handler_ticks(1);
        let mut cases = Cases { groups: self, n, out, random, now: 0 };
        cases.group();
        out.sample(Point::Drained);
    }
}
