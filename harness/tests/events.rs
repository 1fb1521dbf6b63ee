//! The workloads of event-set research and the structure killers: what each claims of itself is so.

#[path = "support/workloads.rs"]
mod workloads;

use std::collections::{BTreeMap, HashMap};
use std::fs;

use harness::spec::PayloadKind;
use harness::stream::{Kind, Op, Stream};
use harness::truth::outcome;
use harness::workload::{builtin, resolve};
use impls::Wheel;
use impls::model::Model;
use impls::probe::Counting;
use impls::queue::{Batch, Params, TimerQueue};
use impls::reference::Reference;

use workloads::*;

fn hash(stream: &Stream) -> u64 {
    xxhash_rust::xxh3::xxh3_64(bytemuck::cast_slice::<Op, u8>(&stream.ops))
}

/// The operations of the phase of this name.
fn phase<'a>(stream: &'a Stream, name: &str) -> &'a [Op] {
    let index = stream.header.phases.iter().position(|phase| phase == name).unwrap() as u32;
    let begins = |index: u32| {
        let is_it = |op: &Op| op.kind == Kind::Phase as u8 && op.id == index;
        stream.ops.iter().position(is_it).unwrap_or(stream.ops.len())
    };
    &stream.ops[begins(index)..begins(index + 1)]
}

/// What one operation did to a queue.
#[derive(Clone, Debug, Default, PartialEq)]
struct Step {
    /// What a take gave.
    taken: Vec<u32>,
    /// What is queued afterwards.
    queued: usize,
    /// What went down a level, if the structure has levels and counts.
    cascaded: u64,
}

/// Drives a stream whose batches are dispatched whole, and looks at each take and each cancel.
fn steps<Q: TimerQueue<u32>>(stream: &Stream) -> Vec<(Op, Step)> {
    let mut queue = Q::with(&Params::default()).unwrap();
    let mut handles = HashMap::new();
    let mut steps = Vec::new();
    for op in &stream.ops {
        let mut step = Step::default();
        match Kind::from_number(op.kind).unwrap() {
            Kind::Enqueue => _ = handles.insert(op.id, queue.enqueue(op.at, op.id)),
            Kind::Cancel => assert_eq!(queue.cancel(handles[&op.id]), Some(op.id)),
            Kind::Take => {
                let most = queue.len().saturating_sub(op.id as usize) as u64;
                let mut batch = queue.take(op.at, op.arg.min(most) as usize);
                while let Some((_, id)) = batch.advance() {
                    step.taken.push(id);
                }
            }
            Kind::Rearm | Kind::Requeue | Kind::Get => panic!("none of these streams has one"),
            _ => {}
        }
        step.queued = queue.len();
        step.cascaded = Counting::drain().cascaded;
        if matches!(Kind::from_number(op.kind), Some(Kind::Take | Kind::Cancel | Kind::Enqueue)) {
            steps.push((*op, step));
        }
    }
    steps
}

fn takes(stream: &Stream) -> Vec<(Op, Step)> {
    let mut steps = steps::<Reference<u32>>(stream);
    steps.retain(|(op, _)| op.kind == Kind::Take as u8);
    steps
}

/// Every workload of this file that has a model of its own.
const EVENTS: [&str; 26] = [
    "beyond-top",
    "cancel-storm-0",
    "cancel-storm-100",
    "cancel-storm-50",
    "cancel-storm-97",
    "cascade-boundary",
    "clock-jumps",
    "clusters",
    "empty-advance",
    "hold",
    "hold-biased",
    "hold-bimodal",
    "hold-camel",
    "hold-change",
    "hold-log-normal",
    "hold-markov",
    "hold-negative-triangular",
    "hold-pareto",
    "hold-pareto-1",
    "hold-ramp",
    "hold-step",
    "hold-triangular",
    "hold-uniform",
    "one-far-timer",
    "sawtooth",
    "window-late",
];

/// Holds with increments that have a mean of 1.
const MEAN_ONE: [&str; 9] = [
    "hold",
    "hold-biased",
    "hold-bimodal",
    "hold-camel",
    "hold-log-normal",
    "hold-negative-triangular",
    "hold-step",
    "hold-triangular",
    "hold-uniform",
];

/// `window-late` with parameters that suit small sizes.
fn small(name: &'static str) -> &'static str {
    if name == "window-late" { "window-late:rounds=20,due=60,done=20,late=15" } else { name }
}

#[test]
fn every_workload_of_these_models_is_tested_here() {
    let models = ["hold", "place", "waves"];
    let mine = builtin().iter().filter(|known| models.contains(&known.model.as_str()));
    for known in mine {
        assert!(EVENTS.contains(&known.name.as_str()), "{}", known.name);
    }
}

#[test]
fn every_stream_can_be_asked_and_is_what_it_says() {
    for name in EVENTS.map(small) {
        for n in [1, 2, 10, 1001] {
            let workload = one(name);
            let stream = workload.stream(n, n).unwrap();
            stream.check().unwrap_or_else(|fault| panic!("{name}/{n}: {fault}"));
            assert!(stream.ops.len() * 24 <= workload.stream_bytes(n) as usize, "{name}/{n}");
            let named = of(&stream, Kind::Enqueue).map(|op| op.id + 1).max();
            assert_eq!(Some(stream.header.timers), named, "{name}/{n}");
            let found = outcome(&stream, true, 1);
            assert_eq!((found.disorder, found.cancel_missed), (0, 0), "{name}/{n}");
            assert_eq!(found.enqueued, u64::from(stream.header.timers), "{name}/{n}");
        }
    }
}

#[test]
fn the_population_is_the_most_that_is_ever_queued() {
    for name in EVENTS.iter().filter(|name| **name != "window-late") {
        for n in [1, 11, 300] {
            let stream = stream(name, n);
            let most = steps::<Reference<u32>>(&stream).iter().map(|(_, step)| step.queued).max();
            assert_eq!(Some(stream.header.population as usize), most, "{name}/{n}");
        }
    }
}

#[test]
fn both_oracles_and_every_structure_agree() {
    for name in EVENTS.map(small) {
        let stream = stream(name, 150);
        all_agree(name, &stream);
        if name.starts_with("window") {
            continue;
        }
        let (model, reference) = (steps::<Model<u32>>(&stream), steps::<Reference<u32>>(&stream));
        assert!(model == reference, "{name}: what each take gives");
    }
}

#[test]
fn a_stream_depends_on_its_seed_and_nothing_else() {
    for name in EVENTS {
        let workload = one(name);
        let hash = |seed| hash(&workload.stream(2500, seed).unwrap());
        assert_eq!(hash(7), hash(7), "{name}");
        assert_ne!(hash(7), hash(8), "{name}");
    }
}

#[test]
fn a_hold_takes_one_and_queues_one_with_n_queued_in_between() {
    let n = 400;
    for name in EVENTS.iter().filter(|name| name.starts_with("hold")) {
        if ["hold-markov", "hold-ramp", "hold-step"].contains(name) {
            continue;
        }
        let stream = stream(name, n);
        assert_eq!(stream.header.phases, ["fill", "warm-up", "hold", "drain"], "{name}");
        assert_eq!(stream.header.population, n, "{name}");
        let found = outcome(&stream, true, 1);
        assert_eq!((found.takes, found.enqueued, found.left), (5 * n + 1, 6 * n, 0), "{name}");
        for (part, holds) in [("warm-up", 2 * n), ("hold", 3 * n)] {
            let ops = phase(&stream, part);
            let kinds = [Kind::Take, Kind::Dispatch, Kind::DropBatch, Kind::Enqueue].map(|kind| kind as u8);
            assert_eq!(ops.len() as u64, 1 + 4 * holds, "{name}");
            assert!(ops[1..].chunks(4).all(|hold| hold.iter().map(|op| op.kind).eq(kinds)), "{name}");
        }
        let taken = takes(&stream);
        let (last, all) = taken.split_last().unwrap();
        assert!(all.iter().all(|(_, step)| step.taken.len() == 1), "{name}");
        assert_eq!(last.1.taken.len() as u64, n, "{name}");
        assert!(taken.is_sorted_by_key(|(op, _)| op.at), "{name}: the clock never runs back");
    }
}

/// In the steady state of the hold model a timer is due every `mean / n` ticks, whatever the distribution.
#[test]
fn the_clock_of_a_steady_hold_goes_on_by_mean_over_n() {
    let n = 4000;
    for name in MEAN_ONE {
        let stream = stream(name, n);
        let ops: Vec<&Op> = phase(&stream, "hold").iter().filter(|op| op.kind == Kind::Take as u8).collect();
        let holds = phase(&stream, "hold").iter().filter(|op| op.kind == Kind::Enqueue as u8).count() as f64;
        let ticks = (ops.last().unwrap().at - ops[0].at) as f64;
        let due = holds * 1e6 / n as f64;
        assert!((ticks / due - 1.0).abs() < 0.15, "{name}: {ticks} ticks, not {due}");
    }
}

/// Increments: how far ahead of the clock each timer is queued.
fn increments(ops: &[Op]) -> Vec<u64> {
    let mut now = 0;
    let mut found = Vec::new();
    for op in ops {
        match Kind::from_number(op.kind).unwrap() {
            Kind::Take => now = op.at,
            Kind::Enqueue => found.push(op.at - now),
            _ => {}
        }
    }
    found
}

#[test]
fn increments_are_those_of_the_distribution_that_is_asked_for() {
    let stream = stream("hold:distribution=change(constant,mixture(1*2,1*3),100),mean=10,settle=0", 1000);
    let drawn = increments(&stream.ops);
    assert_eq!(drawn.len(), 6000);
    for (part, chunk) in drawn.chunks(100).enumerate() {
        let right: &[u64] = if part % 2 == 0 { &[10] } else { &[20, 30] };
        assert!(chunk.iter().all(|increment| right.contains(increment)), "part {part}: {chunk:?}");
    }
    let steady = self::stream("hold:distribution=constant,mean=1000", 1000);
    let phases: Vec<u64> = of(&steady, Kind::Enqueue).take(1000).map(|op| op.at).collect();
    let mean = phases.iter().sum::<u64>() as f64 / 1000.0;
    assert!((mean - 500.0).abs() < 50.0, "half of a constant is left on average, not {mean}");
    let camel = increments(&self::stream("hold-camel:settle=0", 5000).ops);
    // Two humps, each 1,000 ticks wide, at a third and at two thirds of 2 means.
    let hump = |from: u64| camel.iter().filter(|x| (from..=from + 1000).contains(*x)).count() as f64;
    let share = (hump(666_000) + hump(1_333_000)) / camel.len() as f64;
    assert!((share - 0.7).abs() < 0.02, "{share} of all are in the humps");
}

#[test]
fn a_hold_in_steps_takes_all_that_is_due_at_a_multiple_of_the_step() {
    let n = 2000;
    let stream = stream("hold-step", n);
    let taken = takes(&stream);
    let (_, steps) = taken.split_last().unwrap();
    assert!(steps.iter().all(|(op, step)| op.at % 10_000 == 0 && !step.taken.is_empty()));
    let batch = steps.iter().map(|(_, step)| step.taken.len()).sum::<usize>() as f64 / steps.len() as f64;
    // 2,000 timers over a mean of a million ticks are 20 in 10,000.
    assert!((batch - 20.0).abs() < 2.0, "{batch} timers in a batch");
    assert_eq!(stream.header.population, n);
}

#[test]
fn a_markov_hold_queues_as_often_as_its_coin_says_and_its_length_wanders() {
    let share = |selector: &str| {
        let stream = stream(selector, 2000);
        let ops = phase(&stream, "hold");
        let pushes = ops.iter().filter(|op| op.kind == Kind::Enqueue as u8).count() as f64;
        let takes = ops.iter().filter(|op| op.kind == Kind::Take as u8).count() as f64;
        assert_eq!(pushes + takes, 12_000.0);
        (pushes / 12_000.0, stream.header.population)
    };
    let (even, population) = share("hold-markov");
    assert!((even - 0.5).abs() < 0.025 && population > 2000, "{even}, at most {population}");
    let (growing, population) = share("hold-markov:push=0.7");
    assert!((growing - 0.7).abs() < 0.025 && population > 9000, "{growing}, at most {population}");
    let (falling, _) = share("hold-markov:push=0.2");
    assert!(falling > 0.49, "an empty queue is filled: {falling}");
}

#[test]
fn a_ramp_goes_down_to_nothing_and_up_to_n() {
    let n = 300;
    let steps = steps::<Reference<u32>>(&stream("hold-ramp", n));
    let lengths: Vec<usize> = steps.iter().map(|(_, step)| step.queued).collect();
    let turns = |length: usize| lengths.iter().filter(|queued| **queued == length).count();
    assert_eq!((turns(0), turns(300), lengths.len()), (6, 6, 300 * 11 + 1));
    assert!(lengths.windows(2).all(|pair| pair[0].abs_diff(pair[1]) == 1 || pair == [300, 0]));
}

#[test]
fn the_far_timer_is_the_last_that_is_dispatched() {
    let n = 500;
    let stream = stream("one-far-timer", n);
    let order: Vec<u32> = takes(&stream).into_iter().flat_map(|(_, step)| step.taken).collect();
    assert_eq!((order.len() as u64, order.last()), (6 * n + 1, Some(&0)));
    let mut expiries: Vec<u64> = of(&stream, Kind::Enqueue).map(|op| op.at).collect();
    assert_eq!(expiries[0], 1_000_000_000_000_000_000);
    expiries.sort_unstable();
    let [.., before, far] = expiries[..] else { panic!("there are two") };
    assert!(far / before > 1_000_000, "the next is at {before}");
}

#[test]
fn each_cluster_shares_an_expiry_and_its_size_is_a_parameter() {
    for (cluster, n) in [(1000, 5000), (7, 100), (1, 10)] {
        let stream = stream(&format!("clusters:cluster={cluster}"), n);
        let mut clusters = BTreeMap::new();
        of(&stream, Kind::Enqueue).for_each(|op| *clusters.entry(op.at).or_insert(0) += 1);
        assert_eq!(clusters.len() as u64, n.div_ceil(cluster));
        assert!(clusters.keys().copied().eq((0..n.div_ceil(cluster)).map(|place| place * 1000)));
        let (_, full) =
            clusters.values().collect::<Vec<_>>().split_last().map(|(a, b)| (*a, b.to_vec())).unwrap();
        assert!(full.iter().all(|size| **size == cluster));
    }
    let expiries: Vec<u64> = of(&stream("clusters", 5000), Kind::Enqueue).map(|op| op.at).collect();
    assert!(!expiries.is_sorted(), "they arrive in no order");
}

/// What goes down a level of the wheel at each take.
fn cascades(selector: &str, n: u64) -> Vec<u64> {
    let mut steps = steps::<Wheel<u32, Counting>>(&stream(selector, n));
    steps.retain(|(op, _)| op.kind == Kind::Take as u8);
    steps.into_iter().map(|(_, step)| step.cascaded).collect()
}

#[test]
fn a_cascade_boundary_brings_a_whole_cluster_down_at_one_take() {
    let n = 6000;
    let found = cascades("cascade-boundary", n);
    let (sum, most) = (found.iter().sum::<u64>(), *found.iter().max().unwrap());
    // Level 3 to 2, 2 to 1 and 1 to 0, less those that are just at the start of a slot.
    assert!(sum > 29 * n / 10 && sum <= 3 * n, "{sum} timers went down a level");
    assert!(most >= 2000, "{most} at one take, of clusters of 2,000");
    let boundaries = found.iter().filter(|cascaded| **cascaded >= 2000).count();
    assert_eq!(boundaries, 3, "one for each cluster");
    // The same timers, in slots of the lowest level, never go down.
    assert_eq!(cascades("clusters:cluster=100,gap=1,step=1", n).iter().sum::<u64>(), 0);
}

#[test]
fn beyond_the_top_is_the_last_tick_there_is() {
    let n = 500;
    let stream = stream("beyond-top", n);
    let expiries: Vec<u64> = of(&stream, Kind::Enqueue).map(|op| op.at).collect();
    assert_eq!(expiries.iter().max(), Some(&u64::MAX));
    assert_eq!(expiries.iter().min(), Some(&(u64::MAX - 499_000)));
    let taken = takes(&stream);
    let order: Vec<usize> = taken.iter().map(|(_, step)| step.taken.len()).collect();
    assert_eq!((order.iter().sum::<usize>(), taken.last().unwrap().0.at), (500, u64::MAX));
    assert!(order.iter().filter(|size| **size > 0).count() >= 50, "in rounds, not at once: {order:?}");
    let most = *cascades("beyond-top", n).iter().max().unwrap();
    assert!(most >= n, "all go down at the first step: {most}");
}

#[test]
fn the_clock_jumps_forward_and_is_set_back_and_nothing_is_taken_twice() {
    let n = 3000;
    let taken = takes(&stream("clock-jumps", n));
    let clocks: Vec<u64> = taken.iter().map(|(op, _)| op.at).collect();
    let moves: Vec<i128> = clocks.windows(2).map(|pair| i128::from(pair[1]) - i128::from(pair[0])).collect();
    let count = |by: i128| moves.iter().filter(|found| **found == by).count();
    assert_eq!(count(1000) + count(50_000) + count(-25_000), moves.len(), "{moves:?}");
    assert!(count(50_000) > 50 && count(50_000) - count(-25_000) <= 1, "{moves:?}");
    let mut latest = 0;
    for (op, step) in &taken {
        assert!(op.at > latest || step.taken.is_empty(), "{op:?} takes what was due before");
        latest = latest.max(op.at);
    }
    assert!(taken.iter().any(|(_, step)| step.taken.len() >= 49), "a jump makes many due at once");
    assert_eq!(taken.iter().map(|(_, step)| step.taken.len() as u64).sum::<u64>(), n);
}

#[test]
fn an_advance_over_emptiness_finds_a_timer_in_one_of_a_hundred_rounds() {
    let n = 200;
    let taken = takes(&stream("empty-advance", n));
    let found = taken.iter().filter(|(_, step)| !step.taken.is_empty()).count() as u64;
    // The first is due at the start, and so in the first round.
    assert_eq!((found, taken.len() as u64), (n, 100 * (n - 1)));
}

#[test]
fn a_storm_cancels_its_part_long_before_it_is_due() {
    let n = 1000;
    for (name, cancelled) in [
        ("cancel-storm-0", 0),
        ("cancel-storm-50", 500),
        ("cancel-storm-97", 970),
        ("cancel-storm-100", 1000),
    ] {
        let stream = stream(name, n);
        let found = outcome(&stream, true, 1);
        assert_eq!((found.cancelled, found.dispatched), (4 * cancelled, 4 * (n - cancelled)), "{name}");
        assert_eq!((found.cancel_missed, found.left, stream.header.population), (0, 0, n), "{name}");
        let (mut now, mut expiries) = (0, HashMap::new());
        for op in &stream.ops {
            match Kind::from_number(op.kind).unwrap() {
                Kind::Enqueue => _ = expiries.insert(op.id, op.at),
                Kind::Take => now = op.at,
                Kind::Cancel => assert!(expiries[&op.id] >= now + 30_000_000, "{name}: {op:?} at {now}"),
                _ => {}
            }
        }
    }
}

#[test]
fn cancels_come_in_the_order_that_is_asked_for() {
    let ids = |order: &str| -> Vec<u32> {
        let stream = stream(&format!("cancel-storm-100:cancel_order={order},waves=1"), 500);
        of(&stream, Kind::Cancel).map(|op| op.id).collect()
    };
    assert!(ids("in-order").into_iter().eq(0..500));
    assert!(ids("reverse").into_iter().eq((0..500).rev()));
    let mut random = ids("random");
    assert!(!random.is_sorted());
    random.sort_unstable();
    assert!(random.into_iter().eq(0..500));
}

#[test]
fn a_saw_tooth_grows_to_n_and_falls_to_what_is_kept_ten_times() {
    let n = 500;
    let steps = steps::<Reference<u32>>(&stream("sawtooth", n));
    let lengths: Vec<usize> = steps.iter().map(|(_, step)| step.queued).collect();
    let tops = lengths.windows(3).filter(|three| three[1] > three[0] && three[1] >= three[2]).count();
    let bottoms = lengths.windows(2).filter(|two| two[1] == 10 && two[0] > 10).count();
    assert_eq!((tops, bottoms), (10, 10), "{lengths:?}");
    assert_eq!((lengths.iter().max(), lengths.last()), (Some(&510), Some(&10)));
}

#[test]
fn late_arrivals_on_every_round_leave_no_put_back_in_one_step() {
    let found = outcome(&stream("window-late", 5000), true, 1);
    assert_eq!((found.requeued_merged, found.requeued_in_front, found.requeued_into_empty), (204, 0, 0));
}

#[test]
fn payload_variants_ask_the_same_and_carry_what_they_say() {
    let wanted = [
        ("payload-0", PayloadKind::Inline(0)),
        ("payload-16", PayloadKind::Inline(16)),
        ("payload-64", PayloadKind::Inline(64)),
        ("payload-448", PayloadKind::Inline(448)),
        ("payload-box", PayloadKind::Boxed(64)),
    ];
    let burst = stream("burst:idle_ms=0", 500);
    for (name, payload) in wanted {
        let workload = one(name);
        assert_eq!(workload.payload(), payload);
        assert_eq!(workload.stream(500, 1).unwrap().ops, burst.ops, "{name}");
    }
    assert_eq!(resolve("payload-*").unwrap().len(), wanted.len());
}

#[test]
fn a_distribution_may_have_commas_of_its_own_on_the_command_line() {
    let text = "change(uniform,camel(humps=3,mass=0.9),5k)";
    let two = resolve(&format!("hold:distribution={text},mean=10,n=1k+2k,burst:gap=2")).unwrap();
    assert_eq!(two.len(), 2);
    assert_eq!(two[0].name(), format!("hold:distribution={text},mean=10"));
    assert_eq!(two[0].sizes(&[]), [1000, 2000]);
    let parameters: HashMap<_, _> = two[0].parameters().into_iter().collect();
    assert_eq!(parameters["distribution"], text);
    assert_eq!(one(two[0].name()).stream(100, 1).unwrap(), two[0].stream(100, 1).unwrap());
    assert_eq!(two[1].name(), "burst:gap=2");
    let plain = one("hold:distribution=camel,n=1m");
    assert_eq!(plain.stream(50, 1).unwrap().ops, stream("hold-camel", 50).ops);
}

#[test]
fn a_wrong_distribution_is_refused_with_its_place_and_the_right_name() {
    let error = refused("hold:distribution=expo");
    let right = "no distribution is called `expo`; did you mean `exponential`?";
    assert!(error.starts_with(&format!("workload `hold`: {right}")), "{error}");
    assert!(refused("hold:distribution=camel(humps=2").contains("does not end with its `)`"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    fs::write(&path, "model = \"hold\"\n[parameters]\nmean = 5\ndistribution = \"expo\"\n").unwrap();
    let error = resolve(path.to_str().unwrap()).unwrap_err();
    assert!(!error.is_usage());
    assert!(error.to_string().contains(&format!("mine.toml:4: {right}")), "{error}");
}

#[test]
fn an_impossible_parameter_is_refused_by_name() {
    for (selector, key) in [
        ("hold:holds=0", "holds"),
        ("hold:mean=0", "mean"),
        ("hold:mean=2g", "mean"),
        ("hold:settle=2k", "settle"),
        ("hold-markov:push=1", "push"),
        ("hold-markov:push=nan", "push"),
        ("hold-ramp:step=5", "step"),
        ("clusters:cluster=0", "cluster"),
        ("clusters:step=0", "step"),
        ("clusters:gap=2g", "gap"),
        ("clusters:spread=2g", "spread"),
        ("clusters:start=9000000000g", "start"),
        ("clock-jumps:back=50k", "back"),
        ("sawtooth:waves=0", "waves"),
        ("sawtooth:rounds=0", "rounds"),
        ("sawtooth:cancelled=1.5", "cancelled"),
        ("sawtooth:delay=4g", "delay"),
        ("sawtooth:gap=2g", "gap"),
    ] {
        let error = refused(selector);
        assert!(error.contains(&format!(": `{key}` ")), "{selector}: {error}");
    }
}

#[test]
fn the_largest_parameters_and_sizes_are_measured_and_not_overflowed() {
    for name in EVENTS {
        let workload = one(name);
        assert!(workload.stream_bytes(u64::MAX) > 1 << 40, "{name}");
        assert!(workload.check(u64::MAX).is_err(), "{name}");
    }
    for selector in [
        "sawtooth:gap=1g,delay=2g,waves=30",
        "clusters:gap=1g,start=4000000000g,step=1000000000g",
        "hold:mean=1g",
    ] {
        let stream = stream(selector, 50);
        assert_eq!(outcome(&stream, true, 1).disorder, 0, "{selector}");
    }
    let far = stream("hold:mean=1g,distribution=pareto(alpha=0.02),holds=20", 50);
    let found = outcome(&far, true, 1);
    assert_eq!((found.dispatched, found.disorder), (23 * 50, 0), "{found:?}");
}
