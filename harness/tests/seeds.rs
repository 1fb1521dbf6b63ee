//! The workloads of the source documents: each asks for what its document's table says, in number and size.

#[path = "support/workloads.rs"]
mod workloads;

use std::ops::RangeInclusive;

use harness::stream::{Kind, Op, Outcome, Stream};
use harness::truth::outcome;
use harness::workload::{builtin, resolve};
use impls::queue::{Params, TimerQueue};
use impls::registry::ENTRIES;

use workloads::*;

/// Models of which every workload comes from a source document, and the documents' workloads of other models.
const MODELS: [&str; 9] =
    ["cycle", "insert", "steady", "cancel", "reset", "periodic", "event-groups", "important", "mail-day"];
const OTHERS: [&str; 4] = ["enqueue-in-order", "free-in-steps", "free-whole", "retention"];

/// All of them, in order of their names.
fn seeds() -> Vec<&'static str> {
    let from_model = |model: &str, source: &str| MODELS.contains(&model) && source.contains("seeds/");
    let all = builtin()
        .iter()
        .filter(|known| from_model(&known.model, &known.source) || OTHERS.contains(&known.name.as_str()));
    all.map(|known| known.name.as_str()).collect()
}

/// A workload with parameters that suit small sizes, so that a structure that searches on every call ends too.
fn small(name: &str) -> String {
    let model = &builtin().iter().find(|known| known.name == name).unwrap().model;
    let changes = match (model.as_str(), name) {
        ("cycle", "put-back-0" | "put-back-10" | "put-back-1k") => "due=50,done=35,rounds=15",
        ("cycle", "put-back-10k" | "cycle-5k-due" | "cycle-100-due") => "due=50,rounds=15",
        ("cycle", _) if name.starts_with("take-limit") => "due=30,done=30,rounds=15",
        ("cycle", _) => "due=40,rounds=20",
        ("insert", _) => "inserts=20,rounds=5",
        ("steady", _) => "calls=200",
        ("reset", _) => "messages=500",
        ("periodic", _) => "duration=30000",
        ("event-groups", _) => "lookups=100",
        ("important", _) => "rounds=5",
        ("grow", _) => "free_step=37",
        _ => return name.to_owned(),
    };
    format!("{name}:{changes}")
}

fn run(selector: &str, n: u64) -> Outcome {
    outcome(&stream(selector, n), true, 1)
}

fn count(ops: &[Op], kind: Kind) -> u64 {
    ops.iter().filter(|op| op.kind == kind as u8).count() as u64
}

/// Where a phase begins.
fn begin(stream: &Stream, name: &str) -> usize {
    let index = stream.header.phases.iter().position(|known| known == name);
    let index = index.unwrap_or_else(|| panic!("no phase {name} in {:?}", stream.header.phases));
    stream.ops.iter().position(|op| op.kind == Kind::Phase as u8 && op.id as usize == index).unwrap()
}

/// The operations of a phase.
fn phase<'a>(stream: &'a Stream, name: &str) -> &'a [Op] {
    let rest = &stream.ops[begin(stream, name) + 1..];
    let end = rest.iter().position(|op| op.kind == Kind::Phase as u8);
    &rest[..end.unwrap_or(rest.len())]
}

/// Those of one kind among them.
fn calls<'a>(stream: &'a Stream, name: &str, kind: Kind) -> Vec<&'a Op> {
    phase(stream, name).iter().filter(|op| op.kind == kind as u8).collect()
}

/// The expiries that a phase enqueues.
fn expiries(stream: &Stream, name: &str) -> Vec<u64> {
    calls(stream, name, Kind::Enqueue).into_iter().map(|op| op.at).collect()
}

/// What the stream has come to when it is cut off before a phase.
fn before(stream: &Stream, name: &str) -> Outcome {
    let mut part = stream.clone();
    part.ops.truncate(begin(stream, name));
    outcome(&part, true, 1)
}

fn sizes(name: &str) -> Vec<u64> {
    one(name).sizes(&[])
}

#[test]
fn every_published_shape_is_found_by_name() {
    let wanted = "cancel-in-order cancel-random cancel-reverse cycle cycle-100-due cycle-100k-due cycle-10-due cycle-10k-due cycle-1k-due \
        cycle-5k-due enqueue-in-order enqueue-out-of-order free-in-steps free-whole mail-day periodic put-back-0 \
        put-back-10 put-back-10k put-back-1k reattach-10 reattach-100k reattach-1k retention steady-enqueue-dispatch \
        take-limit-10 take-limit-100 take-limit-10k take-limit-1k tcl-bulk tcl-cancel-backward \
        tcl-cancel-forward tcl-create-run tcl-important tcl-important-generation tcl-random-access tcl-single \
        ticket-recreate ticket-reset ticket-reset-poll";
    let mut wanted: Vec<_> = wanted.split_whitespace().collect();
    let mut found = seeds();
    wanted.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, wanted);
}

#[test]
fn every_stream_can_be_asked_and_is_what_it_says() {
    for name in seeds() {
        for n in [1, 10, 11, 301] {
            let workload = one(&small(name));
            let stream = workload.stream(n, n).unwrap();
            stream.check().unwrap_or_else(|fault| panic!("{name}/{n}: {fault}"));
            assert!(stream.ops.len() * 24 <= workload.stream_bytes(n) as usize, "{name}/{n}");
            assert!(stream.header.phases.len() <= 24, "{name}");
            let timers = stream.ops.iter().filter(|op| op.kind == Kind::Enqueue as u8).map(|op| op.id + 1);
            assert_eq!(stream.header.timers, timers.max().unwrap(), "{name}/{n}");
            assert_eq!(outcome(&stream, true, 1).disorder, 0, "{name}/{n}");
            assert_eq!(stream.header.population, population(&stream), "{name}/{n}");
        }
    }
}

/// Most timers queued at once, counted beside a reference that is asked the same.
fn population(stream: &Stream) -> u64 {
    use impls::queue::Batch;
    use impls::reference::Reference;

    let mut queue = Reference::<u32>::with(&Params::default()).unwrap();
    let mut handles = vec![None; stream.header.timers as usize];
    let mut batches: Vec<_> = (0..stream.header.batches).map(|_| None).collect();
    let mut most = 0;
    for op in &stream.ops {
        let (id, place) = (op.id as usize, usize::from(op.batch));
        match Kind::from_number(op.kind).unwrap() {
            Kind::Enqueue => handles[id] = Some(queue.enqueue(op.at, op.id)),
            Kind::Take => {
                let beyond_kept = if id == 0 { usize::MAX } else { queue.len().saturating_sub(id) };
                let limit = usize::try_from(op.arg).unwrap_or(usize::MAX).min(beyond_kept);
                batches[place] = Some(queue.take(op.at, limit));
            }
            Kind::Dispatch => {
                let (batch, ticks) = (batches[place].as_mut().unwrap(), stream.header.handler_ticks.max(1));
                let room = op.arg.div_ceil(ticks).min(batch.len() as u64);
                (0..room).for_each(|_| _ = batch.advance());
            }
            Kind::Requeue => _ = queue.requeue(batches[place].take().unwrap()),
            Kind::DropBatch => batches[place] = None,
            Kind::Cancel => assert!(queue.cancel(handles[id].unwrap()).is_some(), "timer {id}"),
            Kind::Rearm => handles[id] = queue.reschedule(handles[id].unwrap(), op.at),
            _ => {}
        }
        most = most.max(queue.len() as u64);
    }
    most
}

#[test]
fn a_stream_depends_on_its_seed_and_nothing_else() {
    for name in seeds() {
        let workload = one(&small(name));
        let ops = |seed| workload.stream(400, seed).unwrap().ops;
        assert_eq!(ops(7), ops(7), "{name}");
        // Events that are all created at set times leave nothing to chance, nor does their number.
        let chance = !name.starts_with("tcl-") || name == "tcl-random-access";
        assert_eq!(ops(7) != ops(8), chance, "{name}");
    }
}

#[test]
fn every_structure_and_both_oracles_agree_on_every_workload() {
    for name in seeds() {
        all_agree(name, &stream(&small(name), 150));
    }
    assert!(["model", "reference"].iter().all(|oracle| ENTRIES.iter().any(|entry| entry.name == *oracle)));
}

#[test]
fn nothing_is_queued_at_the_end_and_nothing_is_lost() {
    for name in seeds() {
        let found = run(&small(name), 400);
        let gone = found.dispatched + found.cancelled + found.dropped + found.left;
        assert_eq!(found.enqueued, gone, "{name}");
        // A burst keeps ten for the look at memory, and `free-whole` is about the drop.
        let left = match name {
            "free-whole" => 400,
            "retention" => 10,
            _ => 0,
        };
        assert_eq!(found.left, left, "{name}");
    }
}

#[test]
fn an_impossible_value_is_refused_by_name() {
    for (selector, key) in [
        ("cycle:due=5,done=6", "done"),
        ("free-in-steps:free_step=0", "free_step"),
        ("enqueue-out-of-order:inserts=0", "inserts"),
        ("enqueue-out-of-order:rounds=0", "rounds"),
        ("steady-enqueue-dispatch:calls=0", "calls"),
        ("cancel-random:gap=2g", "gap"),
        ("ticket-reset:messages=0", "messages"),
        ("ticket-reset:delay=9000000000g", "delay"),
        ("periodic:period=0", "period"),
        ("periodic:duration=0", "duration"),
        ("periodic:granule=0", "granule"),
        ("periodic:jitter=1", "jitter"),
        ("periodic:jitter=nan", "jitter"),
        ("tcl-bulk:wait=2g", "wait"),
        ("tcl-important:rounds=0", "rounds"),
        ("tcl-important:handler_ticks=0", "handler_ticks"),
        ("mail-day:reminders=1.5", "reminders"),
        ("mail-day:reminders=0.9", "digests"),
        ("mail-day:late=-1", "late"),
        ("mail-day:fail=nan", "fail"),
        ("mail-day:attempts=0", "attempts"),
        ("mail-day:attempts=11", "attempts"),
        ("mail-day:back_off_s=0", "back_off_s"),
        ("mail-day:round_s=7", "round_s"),
        ("mail-day:room=0", "room"),
    ] {
        let error = resolve(selector).unwrap_err();
        let name = selector.split(':').next().unwrap();
        assert!(error.is_usage(), "{error}");
        assert!(error.to_string().starts_with(&format!("workload `{name}`: `{key}` ")), "{error}");
    }
}

// seeds/000, "Enqueue".

#[test]
fn enqueues_in_order_have_the_three_sizes_of_the_table() {
    assert_eq!(sizes("enqueue-in-order"), [1_000, 20_000, 200_000]);
    let stream = stream("enqueue-in-order", 200_000);
    let expiries = expiries(&stream, "fill");
    assert_eq!((expiries.len(), expiries.is_sorted()), (200_000, true));
}

#[test]
fn enqueues_out_of_order_go_to_uniform_places_of_a_queue_that_stands_at_its_size() {
    assert_eq!(sizes("enqueue-out-of-order"), [500, 2_000, 8_000]);
    for n in [500, 2_000, 8_000] {
        let stream = stream("enqueue-out-of-order", n);
        // The queue is 50 short before each round and 50 over after it, so n long on average.
        assert_eq!((stream.header.population, before(&stream, "insert").left), (n + 50, n - 50));
        let (fill, inserts) = (expiries(&stream, "fill"), expiries(&stream, "insert"));
        assert_eq!(inserts.len(), 2_000);
        let places: usize = inserts.iter().map(|at| fill.partition_point(|expiry| expiry <= at)).sum();
        let passed = places as f64 / 2_000.0 / fill.len() as f64;
        assert!((0.47..0.53).contains(&passed), "{n}: a walk passes {passed} of the queue on average");
    }
}

// seeds/000, "The cycle: take, then put everything back", "Re-attaching in constant time".

#[test]
fn a_cycle_takes_just_what_is_due_and_puts_all_of_it_back() {
    for (name, due) in [
        ("cycle-10-due", 10),
        ("cycle-1k-due", 1_000),
        ("cycle-10k-due", 10_000),
        ("cycle-100k-due", 100_000),
    ] {
        assert_eq!(sizes(name), [10_000, 200_000], "{name}");
        assert_eq!(stream(name, 200_000).header.population, 200_000 + due, "{name}");
        let found = run(&format!("{name}:rounds=3"), 10_000);
        assert_eq!((found.put_back, found.requeued_in_front), (3 * due, 3), "{name}");
        assert_eq!((found.taken, found.dispatched), (3 * due + 10_000 + due, 10_000 + due), "{name}");
    }
}

#[test]
fn a_batch_is_detached_from_a_queue_of_200_000() {
    for (name, k) in [("reattach-10", 10), ("reattach-1k", 1_000), ("reattach-100k", 100_000)] {
        assert_eq!(sizes(name), [200_000 - k], "{name}");
        let found = run(&format!("{name}:rounds=2"), 200_000 - k);
        assert_eq!((found.enqueued, found.put_back, found.requeued_in_front), (200_000, 2 * k, 2), "{name}");
    }
}

// seeds/000, "Putting back only the unused part".

#[test]
fn only_the_unused_part_of_10_000_is_put_back() {
    for (name, unused) in
        [("put-back-0", 0), ("put-back-10", 10), ("put-back-1k", 1_000), ("put-back-10k", 10_000)]
    {
        assert_eq!(sizes(name), [200_000], "{name}");
        let stream = stream(&format!("{name}:rounds=4"), 200_000);
        // Each round replaces what it dispatched, so 200,000 stay behind.
        assert_eq!(stream.header.population, 210_000, "{name}");
        let found = before(&stream, "drain");
        assert_eq!((found.taken, found.put_back), (40_000, 4 * unused), "{name}");
        assert_eq!((found.dispatched, found.left), (4 * (10_000 - unused), 210_000), "{name}");
        let closed = if unused == 0 { 0 } else { 4 };
        assert_eq!((found.windows_closed, found.requeued_in_front), (closed, closed), "{name}");
    }
}

// seeds/000, "Bounded time".

#[test]
fn the_steady_state_has_50_000_calls_with_200_000_queued() {
    assert_eq!(sizes("steady-enqueue-dispatch"), [200_000]);
    let stream = stream("steady-enqueue-dispatch", 200_000);
    let steady = phase(&stream, "steady");
    for kind in [Kind::Enqueue, Kind::Take, Kind::Dispatch] {
        assert_eq!(count(steady, kind), 50_000);
    }
    assert_eq!(stream.header.population, 200_001);
    let found = before(&stream, "drain");
    assert_eq!((found.taken, found.dispatched, found.left), (50_000, 50_000, 200_000));
    assert!(expiries(&stream, "steady").is_sorted(), "they come in order");
}

#[test]
fn a_window_cycle_dispatches_none_in_100_rounds() {
    for (name, due) in [("cycle-5k-due", 5_000), ("cycle-100-due", 100)] {
        assert_eq!(sizes(name), [200_000], "{name}");
        let stream = stream(name, 200_000);
        assert_eq!(stream.header.population, 200_000 + due, "{name}");
        let found = before(&stream, "drain");
        assert_eq!((found.takes, found.windows_closed, found.dispatched), (100, 100, 0), "{name}");
        assert_eq!((found.put_back, found.requeued_in_front), (100 * due, 100), "{name}");
    }
}

#[test]
fn a_limited_take_leaves_a_backlog_that_is_due_as_well() {
    for (name, limit) in
        [("take-limit-10", 10), ("take-limit-100", 100), ("take-limit-1k", 1_000), ("take-limit-10k", 10_000)]
    {
        assert_eq!(sizes(name), [200_000], "{name}");
        let stream = stream(&format!("{name}:rounds=3"), 200_000);
        assert_eq!(stream.header.population, 200_000 + limit, "{name}");
        let found = before(&stream, "drain");
        assert_eq!((found.taken, found.dispatched), (3 * limit, 3 * limit), "{name}");
        assert_eq!((found.requeued_nothing, found.left), (3, 200_000 + limit), "{name}");
        let takes = calls(&stream, "cycle", Kind::Take);
        let latest = expiries(&stream, "fill").into_iter().max().unwrap();
        assert!(takes.iter().all(|take| take.at >= latest && take.arg == limit), "{name}: all are due");
    }
}

#[test]
fn a_queue_of_200_000_is_let_go_of_whole_or_in_steps_of_1_000() {
    assert_eq!((sizes("free-whole"), sizes("free-in-steps")), (vec![200_000], vec![200_000]));
    let whole = stream("free-whole", 200_000);
    assert_eq!(
        (count(phase(&whole, "free"), Kind::DropQueue), run("free-whole", 200_000).left),
        (1, 200_000)
    );
    let steps = stream("free-in-steps", 200_000);
    let free = phase(&steps, "free");
    assert_eq!((count(free, Kind::Take), count(free, Kind::DropBatch)), (200, 200));
    assert!(calls(&steps, "free", Kind::Take).iter().all(|take| take.arg == 1_000));
    assert_eq!(run("free-in-steps", 200_000).dropped, 200_000);
    assert_eq!(run("free-in-steps", 1_001).takes, 2, "the last step is what is left");
}

#[test]
fn everything_is_cancelled_in_order_in_reverse_and_at_random() {
    let order = |name: &str| -> Vec<u32> {
        let stream = stream(name, 10_000);
        assert_eq!((count(&stream.ops, Kind::Cancel), stream.header.population), (10_000, 10_000));
        calls(&stream, "cancel", Kind::Cancel).into_iter().map(|op| op.id).collect()
    };
    let (forward, backward, mut random) =
        (order("cancel-in-order"), order("cancel-reverse"), order("cancel-random"));
    assert!(forward.is_sorted() && backward.iter().rev().is_sorted() && !random.is_sorted());
    random.sort_unstable();
    assert_eq!(random, forward);
    for name in ["cancel-in-order", "cancel-reverse", "cancel-random"] {
        assert_eq!((sizes(name), run(name, 1_000).cancelled), (vec![10_000], 1_000), "{name}");
    }
}

// seeds/000, "Memory".

#[test]
fn a_burst_of_200_000_is_looked_at_with_10_left_and_after_each_idle_time() {
    assert_eq!(sizes("retention"), [200_000]);
    let stream = stream("retention", 200_000);
    let mut idled = vec![0];
    phase(&stream, "idle").iter().filter(|op| op.kind == Kind::Idle as u8).for_each(|op| {
        idled.push(idled[idled.len() - 1] + op.at);
    });
    for milliseconds in [0, 1_000, 5_000, 10_000, 30_000] {
        assert!(idled.contains(&milliseconds), "{milliseconds} of {idled:?}");
    }
    let looks = count(phase(&stream, "idle"), Kind::Sample);
    assert_eq!(looks as usize + 1, idled.len(), "the look at 0 ms is the one behind the drain");
    let found = before(&stream, "purge-fill");
    assert_eq!((found.enqueued, found.dispatched, found.left), (200_000, 199_990, 10));
}

#[test]
fn idle_times_are_a_list_in_parentheses_and_in_order() {
    let workload = one("retention:idle_ms=(0,50),keep=3");
    assert_eq!(workload.name(), "retention:idle_ms=(0,50),keep=3");
    assert_eq!(workload.idle_ms(), 50 + 10_000);
    for list in ["(50,0)", "(50,50)"] {
        let said = refused(&format!("retention:idle_ms={list}"));
        assert!(
            said.contains("`idle_ms` are times since the burst ended; give them in order, each once"),
            "{said}"
        );
    }
    assert!(refused("retention:idle_ms=(0,90000000)").contains("give at most a day"));
}

#[test]
fn each_burst_of_the_study_is_the_same_but_for_what_is_left_of_those_before() {
    let stream = stream("retention", 1_000);
    let shape = |name: &str| {
        let expiries = expiries(&stream, name);
        expiries.iter().map(|expiry| expiry - expiries[0]).collect::<Vec<_>>()
    };
    for name in ["purge-fill", "shrink-fill", "drop-fill"] {
        assert_eq!(shape(name), shape("fill"), "{name}");
    }
    for name in ["idle", "purge", "shrink", "drop"] {
        assert_eq!(before(&stream, name).left, 10, "{name}");
    }
    assert_eq!(run("retention", 1_000).dispatched, 4 * 1_000 - 10);
}

// seeds/001.

#[test]
fn a_million_messages_reset_the_tickets_of_125_to_2_000_clients() {
    for (name, kinds) in [
        ("ticket-reset", vec![Kind::Rearm]),
        ("ticket-recreate", vec![Kind::Cancel, Kind::Enqueue]),
        ("ticket-reset-poll", vec![Kind::Rearm, Kind::NextExpiry]),
    ] {
        assert_eq!(sizes(name), [125, 250, 500, 1_000, 2_000], "{name}");
        let stream = stream(name, 125);
        let reset = phase(&stream, "reset");
        kinds.iter().for_each(|kind| assert_eq!(count(reset, *kind), 1_000_000, "{name}: {kind:?}"));
        assert_eq!(stream.header.population, 125, "{name}");
        let expiries: Vec<u64> = reset.iter().map(|op| op.at).filter(|at| *at > 0).collect();
        // One delay for all: whoever is heard of goes behind all others, and nobody expires meanwhile.
        assert!(expiries.is_sorted(), "{name}");
        let (first, last) = (expiries[0], expiries[expiries.len() - 1]);
        assert!((43_000_000..56_000_000).contains(&(last - first)), "{name}: {} ns", last - first);
        assert!(last < 2 * 30_000_000_000, "{name}");
    }
    let found = run("ticket-reset:messages=5k", 125);
    assert_eq!((found.rescheduled, found.enqueued, found.dispatched), (5_000, 125, 125));
    let found = run("ticket-recreate:messages=5k", 125);
    assert_eq!((found.cancelled, found.cancel_missed, found.dispatched), (5_000, 0, 125));
}

// seeds/003.

#[test]
fn a_thousand_timers_of_10_ms_run_a_hundred_times_in_a_second() {
    assert_eq!(sizes("periodic"), [1_000]);
    let plain = stream("periodic:jitter=0,granule=1", 1_000);
    let found = before(&plain, "abort");
    assert_eq!((found.dispatched, found.left, plain.header.population), (100 * 1_000, 1_000, 1_000));
    // With jitter a run takes two expiries, and each waits for half a millisecond on average.
    let found = before(&stream("periodic", 1_000), "abort");
    let expiries: RangeInclusive<u64> = 175_000..=190_000;
    assert!(expiries.contains(&found.dispatched), "{} expiries", found.dispatched);
    assert!((990..=1_000).contains(&found.takes), "the loop wakes {} times", found.takes);
    assert_eq!((found.left, run("periodic", 1_000).left), (1_000, 0));
}

// seeds/004.

#[test]
fn the_single_events_are_eight_cases_of_one_event_at_a_time() {
    let stream = stream("tcl-single", 10_000);
    let cases = [
        ("idle-cancel", 1, 1, 0, 0),
        ("prompt-cancel", 1, 1, 0, 0),
        ("idle-run-idle", 1, 0, 1, 0),
        ("idle-run", 1, 0, 1, 1),
        ("prompt-run", 1, 0, 1, 1),
        ("timer-run", 1, 0, 1, 1),
        ("empty-run", 0, 0, 1, 1),
        ("empty-run-idle", 0, 0, 1, 0),
    ];
    assert_eq!(stream.header.phases, cases.map(|case| case.0));
    for (case, enqueues, cancels, takes, questions) in cases {
        let ops = phase(&stream, case);
        let found = [Kind::Enqueue, Kind::Cancel, Kind::Take, Kind::NextExpiry].map(|kind| count(ops, kind));
        assert_eq!(found, [enqueues, cancels, takes, questions].map(|a_time: u64| a_time * 10_000), "{case}");
    }
    let found = outcome(&stream, true, 1);
    assert_eq!((stream.header.population, found.dispatched, found.cancelled), (1, 40_000, 20_000));
}

#[test]
fn random_access_looks_up_what_is_queued_among_5_000_and_50_000() {
    assert_eq!(sizes("tcl-random-access"), [5_000, 50_000]);
    for n in [5_000, 50_000] {
        let stream = stream("tcl-random-access", n);
        let found = outcome(&stream, true, 1);
        assert_eq!((found.found, found.dispatched, stream.header.population), (20_000, 2 * n, n));
        for case in ["idle-look-up", "prompt-look-up"] {
            let ops = phase(&stream, case);
            let sum: u64 = ops.iter().map(|op| u64::from(op.id)).sum();
            let first = if case.starts_with("idle") { 0 } else { n };
            let mean = sum as f64 / 10_000.0 - first as f64;
            assert!((0.48..0.52).contains(&(mean / n as f64)), "{case}: {mean} of {n}");
        }
    }
}

#[test]
fn the_bulk_group_has_fourteen_cases_of_n_events() {
    for name in ["tcl-bulk", "tcl-create-run", "tcl-cancel-forward", "tcl-cancel-backward"] {
        assert_eq!(sizes(name), [10_000, 20_000, 40_000, 60_000], "{name}");
    }
    let bulk = stream("tcl-bulk", 10_000);
    let found = outcome(&bulk, true, 1);
    // Five fills and runs of n, of which one begets another n, and four cancels of n that are filled before.
    assert_eq!((found.enqueued, found.dispatched, found.cancelled), (100_000, 60_000, 40_000));
    assert_eq!(bulk.header.population, 10_000);
    assert_eq!(bulk.header.phases.len(), 14 + 4);
    let parts =
        ["tcl-create-run", "tcl-cancel-forward", "tcl-cancel-backward"].map(|name| stream(name, 10_000));
    let phases: Vec<String> = parts.iter().flat_map(|part| part.header.phases.clone()).collect();
    assert_eq!(bulk.header.phases, phases);
    assert_eq!(parts[0].header.phases.len(), 10);
    let cancels = |part: &Stream, case: &str| -> Vec<u32> {
        calls(part, case, Kind::Cancel).into_iter().map(|op| op.id).collect()
    };
    for class in ["idle", "prompt"] {
        assert!(cancels(&parts[1], &format!("forward-{class}")).is_sorted());
        assert!(cancels(&parts[2], &format!("backward-{class}")).iter().rev().is_sorted());
    }
}

#[test]
fn classes_of_events_differ_in_their_expiry_and_a_renewed_one_runs_after_its_generation() {
    let stream = stream("tcl-create-run", 100);
    let expiries = |case| expiries(&stream, case);
    let idle = expiries("idle-fill");
    assert!(idle.iter().all(|expiry| *expiry == idle[0]), "{idle:?}");
    let prompt = expiries("prompt-fill");
    assert!(prompt.windows(2).all(|two| two[0] + 1 == two[1]), "{prompt:?}");
    let run = calls(&stream, "timer-run", Kind::Take)[0].at;
    assert_eq!(expiries("timer-fill").last().map(|last| *last < run), Some(true));
    let renew = phase(&stream, "renew-run");
    assert_eq!(
        (count(renew, Kind::Dispatch), count(renew, Kind::Enqueue), count(renew, Kind::Take)),
        (101, 100, 2)
    );
}

#[test]
fn an_important_timer_waits_for_one_idle_handler_or_for_ten() {
    // 29.9 ms are one handler of 30 ms, and 311.7 ms are ten of them and a little.
    let passing = run("tcl-important:rounds=7", 10);
    assert_eq!((passing.windows_closed, passing.put_back, passing.requeued_merged), (7, 7 * 9, 7));
    let generation = run("tcl-important-generation:rounds=7", 10);
    assert_eq!((generation.windows_closed, generation.put_back, generation.requeued_nothing), (0, 0, 7));
    for (name, passed) in [("tcl-important", 1), ("tcl-important-generation", 10)] {
        assert_eq!(sizes(name), [10], "{name}");
        let stream = stream(&format!("{name}:rounds=1"), 10);
        let dispatches: Vec<&Op> = stream.ops.iter().filter(|op| op.kind == Kind::Dispatch as u8).collect();
        // The important one is the first of the second dispatch.
        assert_eq!(dispatches[1].at - dispatches[0].at, passed * 30_000, "{name}");
        let found = outcome(&stream, true, 1);
        assert_eq!((found.dispatched, found.disorder), (11, 0), "{name}");
    }
}

// seeds/000, "The problem".

#[test]
fn a_day_of_mail_has_its_reminders_at_nine_its_digests_at_midnight_and_its_retries() {
    let hour = 3_600_000_000;
    let stream = stream("mail-day", 20_000);
    assert_eq!(stream.header.phases, ["night", "nine", "day", "midnight"]);
    let takes =
        |name: &str| -> Vec<u64> { calls(&stream, name, Kind::Take).into_iter().map(|op| op.at).collect() };
    assert_eq!((takes("night").len(), takes("nine").len(), takes("day").len()), (9 * 60, 60, 14 * 60));
    assert_eq!((takes("nine")[0], takes("midnight")[0]), (9 * hour, 24 * hour));
    let due = |at: u64| stream.ops.iter().filter(|op| op.kind == Kind::Enqueue as u8 && op.at == at).count();
    assert!((9_800..10_200).contains(&due(9 * hour)) && (3_850..4_150).contains(&due(24 * hour)));
    // A window has room for a twentieth of all mail, so nine o'clock takes ten rounds, and midnight four.
    let [night, nine, day] = ["nine", "day", "midnight"].map(|name| before(&stream, name));
    assert_eq!(night.windows_closed, 0);
    assert!((9..=12).contains(&nine.windows_closed), "{nine:?}");
    assert_eq!(day.windows_closed, nine.windows_closed);
    assert!(nine.requeued_in_front > 0 && nine.requeued_merged > 0, "{nine:?}");
    assert!((10_000..14_500).contains(&night.left), "reminders, and digests so far: {}", night.left);
    let all = outcome(&stream, true, 1);
    assert!((3..=6).contains(&(all.windows_closed - day.windows_closed)), "{all:?}");
    // A tenth of all attempts fails, and is tried again up to four times: 1 + 0.1 + 0.01 + 0.001 + 0.0001.
    let attempts = all.dispatched as f64 / 20_000.0;
    assert!((1.10..1.12).contains(&attempts), "{attempts} attempts a message");
    assert_eq!((all.enqueued, all.left), (all.dispatched, 0));
}

#[test]
fn a_retry_waits_twice_as_long_as_the_one_before() {
    // Everything fails, so each message is tried as often as it may be.
    let stream = stream("mail-day:fail=1,late=0,reminders=1,digests=0,room=1", 1);
    let enqueues = stream.ops.iter().filter(|op| op.kind == Kind::Enqueue as u8);
    let minutes: Vec<u64> = enqueues.map(|op| op.at / 60_000_000).collect();
    assert_eq!(minutes, [540, 545, 555, 575, 615]);
    assert_eq!(outcome(&stream, true, 1).dispatched, 5);
}
