//! What logging costs, in ns an operation: `cargo run --example overhead -p timer-log`.
//!
//! The same work is done with a log and without, in turns, on a binary heap of 1,000 timers: start, cancel and
//! expire. Rounds are short, so that most are not interrupted, and the median of them stands in the table with the
//! best. The writer runs in a thread of its own; what a row costs there is the last line. Takes some seconds.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::path::Path;
use std::time::{Duration, Instant};

use timer_log::{Log, Options};

const TIMERS: u64 = 1_000;
const ROUND: u64 = 8_000;
const ROUNDS: usize = 201;
/// Room for two rounds, so that the writer sleeps until a round is over.
const ROWS: usize = 20_000;

/// Starts two, cancels one, lets one expire; gives ns an operation.
fn heap(log: Option<&Log>) -> f64 {
    let (mut heap, mut cancelled) = (BinaryHeap::new(), HashSet::new());
    let origin = Instant::now();
    let mut next = 0;
    let mut start = |heap: &mut BinaryHeap<_>| {
        let (id, due) = (next, origin + Duration::from_nanos(next * 0x9E37_79B9 % 0xFFFF_FFFF));
        next += 1;
        heap.push(Reverse((due, id)));
        if let Some(log) = log {
            log.start(id, due, Duration::ZERO, "timer");
        }
        id
    };
    (0..TIMERS).for_each(|_| _ = start(&mut heap));
    let begin = Instant::now();
    for _ in 0..ROUND / 4 {
        start(&mut heap);
        let id = start(&mut heap);
        cancelled.insert(id);
        if let Some(log) = log {
            log.cancel(id, true);
        }
        while let Some(Reverse((_, id))) = heap.pop() {
            if !cancelled.remove(&id) {
                if let Some(log) = log {
                    log.expire(id);
                }
                break;
            }
        }
    }
    begin.elapsed().as_nanos() as f64 / ROUND as f64
}

/// Re-arms from several threads at once; gives ns an operation as each thread sees it.
fn alone(log: &Log, threads: u64) -> f64 {
    let each = ROUND / threads;
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || (0..each).for_each(|_| log.rearm(thread, begin)));
        }
    });
    begin.elapsed().as_nanos() as f64 / each as f64
}

/// Works with a log in a file of its own; gives ns an operation, and ns that its row costs the writer.
fn logged(folder: &Path, work: impl FnOnce(&Log) -> f64) -> (f64, f64) {
    let file = folder.join("overhead.tt.csv");
    let log = Options::default().rows(ROWS).create(&file).expect("the folder was made for it");
    let ns = work(&log);
    let begin = Instant::now();
    let summary = log.finish().expect("the file can be written");
    let writing = begin.elapsed().as_nanos() as f64 / summary.rows as f64;
    assert_eq!(summary.lost, 0, "there is room for a round");
    std::fs::remove_file(&file).expect("it was written");
    (ns, writing)
}

fn show(name: &str, mut figures: Vec<f64>) {
    figures.sort_by(f64::total_cmp);
    println!("{name:32} {:8.1} {:8.1}", figures[figures.len() / 2], figures[0]);
}

fn main() {
    let folder = std::env::temp_dir().join(format!("timer-log-overhead-{}", std::process::id()));
    std::fs::create_dir(&folder).expect("the temporary folder can be written to");
    let (mut without, mut with, mut one, mut two, mut writing) = (vec![], vec![], vec![], vec![], vec![]);
    for _ in 0..ROUNDS {
        without.push(heap(None));
        with.push(logged(&folder, |log| heap(Some(log))).0);
        two.push(logged(&folder, |log| alone(log, 2)).0);
        let (logging, written) = logged(&folder, |log| alone(log, 1));
        one.push(logging);
        writing.push(written);
    }
    std::fs::remove_dir(&folder).expect("it is empty");
    println!("ns an operation, {ROUNDS} rounds of {ROUND}    median     best");
    show("heap of 1,000 timers, not logged", without);
    show("heap of 1,000 timers, logged", with);
    show("log alone, 1 thread", one);
    show("log alone, 2 threads, each", two);
    show("a row in the writer's thread", writing);
}
