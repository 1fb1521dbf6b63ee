//! Figures of memory have the right unit and are fresh. The tests look at the whole process, so they
//! stand alone in their file and take turns.

use std::fs::File;
use std::hint::black_box;
use std::sync::{Mutex, MutexGuard, PoisonError};

use harness::allocator::{self, Figures};
use harness::measure::resident::{Proc, Status};

const MIB: u64 = 1 << 20;

fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn status() -> Status {
    Status::read(&File::open("/proc/self/status").unwrap())
}

#[test]
fn touching_256_mib_raises_resident_memory_by_250_to_275_mib() {
    let _turn = turn();
    let before = status();
    let probe = black_box(vec![1_u8; 256 << 20]);
    let after = status();
    for (before, after) in [
        (before.resident, after.resident),
        (before.anonymous, after.anonymous),
        (before.resident, after.peak),
    ] {
        let grown = after.unwrap() - before.unwrap();
        assert!((250 * MIB..=275 * MIB).contains(&grown), "{grown} bytes");
    }
    drop(probe);
    allocator::purge();
    let now = status();
    assert!(now.resident.unwrap() < before.resident.unwrap() + 25 * MIB, "{now:?}");
    // The kernel notes the peak from counters that it has not summed up over the processors.
    assert!(now.peak.unwrap() + MIB > after.resident.unwrap(), "{now:?} after {after:?}");
}

#[test]
fn allocator_figures_follow_a_gibibyte_up_and_down() {
    let _turn = turn();
    let before = Figures::now().allocated.unwrap();
    // A little more, as the test runner's own threads may give some back meanwhile.
    let block = black_box(Vec::<u8>::with_capacity((1 << 30) + (1 << 20)));
    let during = Figures::now().allocated.unwrap();
    assert!(during >= before + 1024 * MIB, "{before}, then {during}");
    drop(block);
    let after = Figures::now().allocated.unwrap();
    assert!(after < before + MIB, "{before}, then {after}");
}

#[test]
fn looking_at_memory_requests_none() {
    let _turn = turn();
    let proc = Proc::of_this_process().unwrap();
    // What this thread has requested so far: the test runner's own threads come and go.
    let requested = tikv_jemalloc_ctl::thread::allocatedp::read().unwrap();
    let before = requested.get();
    for _ in 0..100 {
        black_box((proc.read(), Figures::now()));
    }
    assert_eq!(requested.get(), before);
    drop(black_box(vec![0_u8; 100]));
    assert!(requested.get() >= before + 100);
}
