//! A timer loop of the usual kind, and the lines that log it: `cargo run --example heap_loop -p timer-log -- FILE`.
//!
//! ```text
//! heap   [due, timer] by due; an entry whose due time is not the timer's is stale and passed over
//! armed  timer -> due time
//! ```
//!
//! The loop is [`Timers`]; each line with `log` is one that a service adds.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io;
use std::time::{Duration, Instant};

use timer_log::{Log, Options, Summary};

/// Timers in a binary heap; what was cancelled or moved is left behind and passed over later.
struct Timers<'a> {
    heap: BinaryHeap<Reverse<(Instant, u64)>>,
    armed: HashMap<u64, Instant>,
    log: &'a Log,
}

impl<'a> Timers<'a> {
    fn new(log: &'a Log) -> Self {
        Self { heap: BinaryHeap::new(), armed: HashMap::new(), log }
    }

    fn start(&mut self, delay: Duration, class: &'static str) -> u64 {
        let (id, due) = (self.log.new_id(), Instant::now() + delay);
        self.log.start(id, due, Duration::ZERO, class);
        self.armed.insert(id, due);
        self.heap.push(Reverse((due, id)));
        id
    }

    fn rearm(&mut self, id: u64, delay: Duration) {
        let due = Instant::now() + delay;
        if let Some(armed) = self.armed.get_mut(&id) {
            self.log.rearm(id, due);
            *armed = due;
            self.heap.push(Reverse((due, id)));
        }
    }

    fn cancel(&mut self, id: u64) -> bool {
        let found = self.armed.remove(&id).is_some();
        self.log.cancel(id, found);
        found
    }

    /// Timers that are due, handed to `handler` one by one.
    fn run_due(&mut self, mut handler: impl FnMut(&mut Self, u64)) {
        let now = Instant::now();
        while self.heap.peek().is_some_and(|Reverse((due, _))| *due <= now) {
            let Some(Reverse((due, id))) = self.heap.pop() else { return };
            if self.armed.get(&id) == Some(&due) {
                self.armed.remove(&id);
                self.log.expire(id);
                handler(self, id);
            }
        }
    }

    /// Sleeps until the earliest timer is due.
    fn wait(&self) {
        if let Some(Reverse((due, _))) = self.heap.peek() {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
        }
    }
}

/// A small service: connections with an idle time that each message moves, requests with a deadline that most
/// answers are in time for, and a beat that starts itself again.
pub(crate) fn serve(log: &Log, messages: u64) {
    let mut timers = Timers::new(log);
    let idle: Vec<u64> = (0..20).map(|_| timers.start(Duration::from_millis(500), "idle")).collect();
    let mut beat = timers.start(Duration::from_millis(5), "beat");
    for message in 0..messages {
        timers.rearm(idle[message as usize % idle.len()], Duration::from_millis(500));
        let late = message % 10 == 0;
        let deadline = timers.start(Duration::from_millis(if late { 1 } else { 50 }), "deadline");
        if late {
            std::thread::sleep(Duration::from_millis(2));
        }
        timers.run_due(|timers, id| {
            if id == beat {
                beat = timers.start(Duration::from_millis(5), "beat");
            }
        });
        timers.cancel(deadline);
    }
    timers.cancel(beat);
    idle[..10].iter().for_each(|id| _ = timers.cancel(*id));
    while !timers.armed.is_empty() {
        timers.wait();
        timers.run_due(|_, _| {});
    }
}

/// Records the service into `file`.
pub(crate) fn record(file: &str, messages: u64) -> io::Result<Summary> {
    let options = Options::default().source("recorded: examples/heap_loop.rs").licence("MIT OR Apache-2.0");
    let log = options.create(file)?;
    serve(&log, messages);
    log.finish()
}

#[allow(dead_code, reason = "a test uses the service alone")]
fn main() {
    let Some(file) = std::env::args().nth(1) else {
        eprintln!("no file is named\n    cargo run --example heap_loop -p timer-log -- FILE.tt.csv");
        std::process::exit(2);
    };
    match record(&file, 200) {
        Ok(summary) => println!("{summary:?}"),
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}
