//! Workloads by name and from files, and the streams they give.

#[path = "support/workloads.rs"]
mod workloads;

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use harness::compare::untrue;
use harness::spec::PayloadKind;
use harness::stream::{Kind, Op, Outcome, Stream};
use harness::trace;
use harness::truth::{Laws, Truth, outcome, truth};
use harness::workload::profile::Profile;
use harness::workload::replay::{Verdict, reproduction};
use harness::workload::{Workload, builtin, resolve};
use impls::registry::Order;

use workloads::*;

/// A folder with a file in it.
fn file(name: &str, text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    (folder, path)
}

fn malformed(text: &str) -> String {
    let (folder, path) = file("mine.toml", text);
    let error = resolve(path.to_str().unwrap()).unwrap_err();
    assert!(!error.is_usage(), "{error}");
    error.to_string().replace(&format!("{}/", folder.path().display()), "")
}

fn hash(stream: &Stream) -> u64 {
    xxhash_rust::xxh3::xxh3_64(bytemuck::cast_slice::<Op, u8>(&stream.ops))
}

fn count(stream: &Stream, kind: Kind) -> u64 {
    stream.ops.iter().filter(|op| op.kind == kind as u8).count() as u64
}

const GENERATED: [&str; 7] =
    ["burst", "cycle", "grow-in-order", "grow-random", "grow-reverse", "grow-ties", "window"];

/// A workload with parameters that suit small sizes.
fn small(name: &'static str) -> &'static str {
    match name {
        "window" => "window:rounds=30,due=60,done=20,late=15,late_every=3",
        "cycle" => "cycle:due=40,rounds=20,batches=3,put_back=first-first",
        other => other,
    }
}

#[test]
fn every_definition_in_the_folder_is_built_in_and_says_what_it_is() {
    let names: Vec<&str> = builtin().iter().map(|known| known.name.as_str()).collect();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../datasets/workloads");
    let mut files: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap().replace(".toml", ""))
        .collect();
    files.sort();
    assert_eq!(names, files);
    for known in builtin() {
        for text in [&known.summary, &known.favours, &known.hurts, &known.source] {
            assert!(!text.is_empty() && !text.contains('\n'), "{}: {text:?}", known.name);
        }
        assert_eq!(known.sizes.is_empty(), known.model == "replay", "{}", known.name);
    }
    assert!(GENERATED.iter().all(|name| names.contains(name)));
}

#[test]
fn a_workload_is_found_by_name_glob_list_and_all() {
    let names =
        |selector: &str| resolve(selector).unwrap().iter().map(|w| w.name().to_owned()).collect::<Vec<_>>();
    assert_eq!(names("burst"), ["burst"]);
    assert_eq!(names("grow-r*"), ["grow-random", "grow-reverse"]);
    assert_eq!(names("burst, cycle,grow-r*,burst"), ["burst", "cycle", "grow-random", "grow-reverse"]);
    assert_eq!(names("all").len(), builtin().len());
}

#[test]
fn parameters_are_changed_on_the_command_line_and_shown_in_the_name() {
    let burst = one("burst:step=1k,window=0.5");
    assert_eq!(burst.name(), "burst:step=1k,window=0.5");
    assert_eq!(burst.label(200), "burst:step=1k,window=0.5/200");
    let parameters: HashMap<_, _> = burst.parameters().into_iter().collect();
    assert_eq!((parameters["step"].as_str(), parameters["window"].as_str()), ("1000", "0.5"));
    assert_eq!(burst.stream(10_000, 1).unwrap(), one(burst.name()).stream(10_000, 1).unwrap());
    assert_ne!(burst.stream(10_000, 1).unwrap().ops, stream("burst", 10_000).ops);
    let two = resolve("burst,step=500,gap=2,cycle:due=10").unwrap();
    assert_eq!(two.iter().map(Workload::name).collect::<Vec<_>>(), ["burst:step=500,gap=2", "cycle:due=10"]);
}

#[test]
fn sizes_and_payload_are_defaults_that_can_be_asked_otherwise() {
    let burst = one("burst");
    assert_eq!(burst.sizes(&[]), [200_000]);
    assert_eq!(burst.sizes(&[5, 6]), [5, 6]);
    assert_eq!(burst.payload(), PayloadKind::Boxed(16));
    let other = one("burst:n=1k+1m,payload=64");
    assert_eq!((other.sizes(&[]), other.payload()), (vec![1000, 1_000_000], PayloadKind::Inline(64)));
    assert!(refused("burst:payload=17").contains("box:17"));
    assert!(refused("burst:n=0").contains("`n=0` is not a number of timers"));
}

#[test]
fn a_misspelt_name_parameter_or_value_suggests_the_right_one() {
    assert!(refused("brust").starts_with("no workload is called `brust`; did you mean `burst`?"));
    assert!(refused("grow-q*").contains("no workload is called `grow-q*`"));
    let error = refused("burst:stpe=5");
    assert!(error.starts_with("workload `burst`: there is no key `stpe`; did you mean `step`?"), "{error}");
    assert!(error.contains("`gap`"), "all are listed: {error}");
    let error = refused("grow-ties:order=revers");
    assert!(error.contains("no value is called `revers`; did you mean `reverse`?"), "{error}");
    assert!(refused("burst:gap").contains("no workload is called `burst:gap`"));
    assert!(refused("burst:gap=1,keep").contains("no workload is called `keep`"));
}

#[test]
fn a_sweep_gives_a_workload_for_each_value_and_each_combination() {
    let names =
        |selector: &str| resolve(selector).unwrap().iter().map(|w| w.name().to_owned()).collect::<Vec<_>>();
    assert_eq!(names("cycle:due=10+1k"), ["cycle:due=10", "cycle:due=1k"]);
    assert_eq!(
        names("cycle:due=10+20,batches=1+2,gap=3"),
        [
            "cycle:due=10,batches=1,gap=3",
            "cycle:due=10,batches=2,gap=3",
            "cycle:due=20,batches=1,gap=3",
            "cycle:due=20,batches=2,gap=3"
        ]
    );
    // Each is found again by its name, and sizes stay with the workload.
    let swept = resolve("cycle:due=10+20,n=5+6").unwrap();
    assert_eq!(swept[1].sizes(&[]), [5, 6]);
    assert_eq!(one(swept[1].name()).stream(9, 1).unwrap(), swept[1].stream(9, 1).unwrap());
    assert_eq!(names("grow-ties:payload=16+64"), ["grow-ties:payload=16", "grow-ties:payload=64"]);
    assert_eq!(names("grow-r*:order=ties+reverse").len(), 4);
    // A number with an exponent is one value.
    assert_eq!(names("burst:window=5e-1"), ["burst:window=5e-1"]);
    assert!(refused("burst:window=1e+1").contains("`window` is the part"));
    assert!(refused("cycle:due=10++20").contains("`due=10++20` leaves a value out"));
    assert!(refused("cycle:due=10+x").contains("workload `cycle`"));
}

#[test]
fn a_parameter_that_is_given_twice_is_refused_and_told_how_to_ask_for_both() {
    let error = refused("burst:gap=1,gap=2");
    assert_eq!(
        error,
        "workload `burst`: `gap` is given twice; for a workload with each value write `gap=value+value`"
    );
    refused("burst:n=1,n=2");
}

#[test]
fn a_definition_of_ones_own_may_leave_out_everything_but_its_model_and_its_words_are_known() {
    let text = "# What it is.\n#\n#   and how\nmodel = \"grow\"\n[parameters]\n# Which\n# order.\norder = \"ties\"\n# How far.\n# drain_step = 3\n";
    let (_folder, path) = file("mine.toml", text);
    let mine = one(path.to_str().unwrap());
    let definition = mine.definition();
    assert_eq!(definition.about, "What it is.\n\n  and how");
    let meanings: HashMap<_, _> = definition.known_meanings().into_iter().collect();
    assert_eq!((meanings["order"].as_str(), meanings["drain_step"].as_str()), ("Which order.", "How far."));
    assert!(meanings["gap"].contains("Mean number of ticks"), "from a built-in one of the same model");
}

#[test]
fn a_trace_that_is_not_there_is_not_replaced_by_a_built_in_one_of_its_name() {
    let text = "model = \"replay\"\n[parameters]\nfile = \"mine/node-http-keepalive.tt.csv\"\n";
    let (_folder, path) = file("mine.toml", text);
    let error = resolve(path.to_str().unwrap()).unwrap_err();
    assert!(!error.is_usage() && error.to_string().contains("No such file"), "{error}");
    let named = text.replace("mine/", "");
    let (_folder, path) = file("mine.toml", &named);
    assert_eq!(one(path.to_str().unwrap()).sizes(&[]), [8_151]);
}

#[test]
fn a_payload_is_a_parameter_also_when_its_name_has_a_colon() {
    assert_eq!(one("cycle:payload=box:16").payload(), PayloadKind::Boxed(16));
    assert_eq!(one("cycle:due=10,payload=box:448").payload(), PayloadKind::Boxed(448));
}

#[test]
fn a_replay_has_no_size_to_set() {
    assert!(refused("replay-node-http:n=5").contains("a replay has the size of its trace"));
}

#[test]
fn every_parameter_of_every_built_in_workload_has_a_meaning() {
    for known in builtin() {
        let meanings: HashMap<_, _> = known.known_meanings().into_iter().collect();
        for key in known.parameters.keys() {
            assert!(meanings.get(key).is_some_and(|text| !text.is_empty()), "{}: {key}", known.name);
        }
    }
}

#[test]
fn an_impossible_value_is_refused_by_name() {
    assert!(refused("burst:step=0").starts_with("workload `burst`: `step` is the number of ticks"));
    for window in ["0", "1.5", "-1", "nan"] {
        let error = refused(&format!("burst:window={window}"));
        assert!(error.starts_with("workload `burst`: `window` is the part of a step"), "{error}");
    }
    for selector in
        ["cycle:due=0", "cycle:rounds=0", "cycle:batches=0", "window:done=0", "grow-ties:drain_step=0"]
    {
        refused(selector);
    }
    assert!(refused("burst:gap=2g").contains("`gap` is a number of ticks from 0 to"));
    assert!(refused("burst:gap=-1").starts_with("workload `burst`: "));
    assert!(refused("cycle:batches=256").starts_with("workload `cycle`: "));
}

#[test]
fn no_timers_and_more_than_a_stream_can_number_are_refused() {
    let burst = one("burst");
    let error = burst.stream(0, 1).unwrap_err();
    assert!(error.is_usage());
    assert_eq!(error.to_string(), "workload `burst`: n is the number of timers; give 1 or more");
    let error = burst.check(1 << 32).unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("a stream numbers at most 4294967295"), "{error}");
    assert!(one("cycle").check(u64::from(u32::MAX) - 10).is_err(), "those that are due count too");
}

#[test]
fn a_definition_of_ones_own_is_a_file() {
    let text =
        "model = \"grow\"\nn = [5]\npayload = \"box:100\"\n[parameters]\norder = \"ties\"\ndrain_step = 7\n";
    let (_folder, path) = file("my own.toml", text);
    let path = path.to_str().unwrap();
    let mine = one(path);
    assert_eq!((mine.name(), mine.sizes(&[]), mine.payload()), (path, vec![5], PayloadKind::Boxed(100)));
    assert_eq!(mine.stream(5, 1).unwrap().ops.len(), stream("grow-ties:drain_step=7", 5).ops.len());
    let changed = one(&format!("{path}:order=reverse"));
    assert_ne!(changed.stream(50, 1).unwrap().ops, mine.stream(50, 1).unwrap().ops);
}

#[test]
fn a_malformed_definition_is_refused_with_file_and_line() {
    let start = "# mine\nmodel = \"burst\"\n";
    assert!(
        malformed("# mine\nmodel = \"brust\"\n")
            .starts_with("mine.toml:2: no model is called `brust`; did you mean `burst`?")
    );
    assert!(malformed("n = [1]\n").starts_with("mine.toml:"), "{}", malformed("n = [1]\n"));
    assert!(malformed(&format!("{start}n = [1, \n")).starts_with("mine.toml:"));
    let error = malformed(&format!("{start}[parameters]\ngap = 1\nstpe = 5\n"));
    assert!(error.starts_with("mine.toml:5: there is no key `stpe`; did you mean `step`?"), "{error}");
    let error = malformed(&format!("{start}sumary = \"x\"\n"));
    assert!(error.starts_with("mine.toml:3: there is no key `sumary`; did you mean `summary`?"), "{error}");
    assert!(
        malformed(&format!("{start}[parameters]\ngap = \"x\"\n")).starts_with("mine.toml:4: invalid type")
    );
    assert!(malformed(&format!("{start}[parameters]\nstep = 0\n")).starts_with("mine.toml:4: `step` is"));
    assert!(
        malformed(&format!("{start}n = [1, 0]\n")).starts_with("mine.toml:3: `n` is the number of timers")
    );
    assert!(
        malformed(&format!("{start}payload = \"17\"\n")).starts_with("mine.toml:3: a payload of 17 bytes")
    );
    let unknown = malformed(&format!("{start}measures = [\"rss\"]\n"));
    assert!(unknown.starts_with("mine.toml:3: no value is called `rss`"), "{unknown}");
}

#[test]
fn a_malformed_definition_is_told_how_to_mend_it() {
    let mended = |text: &str| malformed(text).lines().nth(1).unwrap_or_default().trim_start().to_owned();
    let start = "model = \"burst\"\n";
    for broken in ["n = [1,\n", "gap 5\n", "summary = \"x\n", "[parameters\n", "n = [1]\nn = [2]\n"] {
        let said = mended(&format!("{start}{broken}"));
        assert!(said.starts_with("a definition is TOML: a line `key = value` each"), "{broken}: {said}");
    }
    assert!(mended("n = [1]\n").starts_with("add a line `model = \"NAME\"`; there is `burst`"));
    assert!(mended(&format!("{start}[parameters]\ngap = \"x\"\n")).contains("or leave the line out"));
    assert!(mended(&format!("{start}n = 5\n")).contains("or leave the line out"));
    assert!(mended(&format!("{start}sumary = \"x\"\n")).starts_with("there is `model`"));
}

#[test]
fn a_file_that_is_not_there_is_named_and_is_no_usage_error() {
    let error = resolve("no/such.toml").unwrap_err();
    assert!(!error.is_usage() && error.to_string().starts_with("no/such.toml: "), "{error}");
    let error = resolve("replay:no/such.tt.csv").unwrap_err();
    assert!(!error.is_usage() && error.to_string().starts_with("no/such.tt.csv: "), "{error}");
}

#[test]
fn a_stream_depends_on_its_seed_and_nothing_else() {
    for name in GENERATED {
        let workload = one(name);
        let hash = |seed| hash(&workload.stream(3000, seed).unwrap());
        assert_eq!(hash(7), hash(7), "{name}");
        // Ties leave nothing to chance.
        assert_eq!(hash(7) == hash(8), name == "grow-ties", "{name}");
    }
}

#[test]
fn every_stream_can_be_asked_and_is_what_it_says() {
    for name in GENERATED {
        for n in [1, 10, 11, 1001] {
            let workload = one(name);
            let stream = workload.stream(n, n).unwrap();
            stream.check().unwrap_or_else(|fault| panic!("{name}/{n}: {fault}"));
            assert!(stream.ops.len() * 24 <= workload.stream_bytes(n) as usize, "{name}/{n}");
            assert_eq!(stream.header.timers, timers(&stream), "{name}/{n}");
            assert_eq!(outcome(&stream, true, 1).disorder, 0);
        }
    }
}

fn timers(stream: &Stream) -> u32 {
    let named = stream.ops.iter().filter(|op| op.kind == Kind::Enqueue as u8).map(|op| op.id + 1);
    named.max().unwrap_or(0)
}

#[test]
fn the_population_is_the_most_that_is_ever_queued() {
    for name in GENERATED.map(small) {
        for n in [1, 11, 300] {
            let stream = stream(name, n);
            assert_eq!(stream.header.population, population(&stream), "{name}/{n}");
        }
    }
}

/// Most timers queued at once, found by running every beginning of the stream that ends before a take.
fn population(stream: &Stream) -> u64 {
    let takes = (0..stream.ops.len()).filter(|at| stream.ops[*at].kind == Kind::Take as u8);
    let queued = |end: usize| {
        let mut part = stream.clone();
        part.ops.truncate(end);
        outcome(&part, true, 1).left
    };
    takes.take(150).map(queued).max().unwrap_or_else(|| queued(stream.header.timers as usize + 2))
}

#[test]
fn a_burst_is_drained_to_the_timers_that_are_kept() {
    let stream = stream("burst", 5000);
    let found = outcome(&stream, true, 1);
    assert_eq!((found.enqueued, found.dispatched, found.left), (5000, 4990, 10));
    assert_eq!(count(&stream, Kind::Take), count(&stream, Kind::NextExpiry));
    // A tenth of each step is put back, as the window is open for nine tenths of it.
    assert!(found.windows_closed > 80 && found.requeued_in_front == found.windows_closed, "{found:?}");
    assert!((105..=120).contains(&found.takes), "{} rounds", found.takes);
}

#[test]
fn growth_has_the_same_expiries_in_every_order() {
    let expiries = |name: &str| -> Vec<u64> {
        let stream = stream(name, 1000);
        stream.ops.iter().filter(|op| op.kind == Kind::Enqueue as u8).map(|op| op.at).collect()
    };
    let (mut in_order, mut reverse, mut random) =
        (expiries("grow-in-order"), expiries("grow-reverse"), expiries("grow-random"));
    assert!(in_order.is_sorted() && reverse.iter().rev().is_sorted() && !random.is_sorted());
    for order in [&mut in_order, &mut reverse, &mut random] {
        order.sort_unstable();
    }
    assert!(in_order == reverse && in_order == random);
    assert!(expiries("grow-ties") == [1000; 1000]);
    let mean = *in_order.last().unwrap() as f64 / 1000.0;
    assert!((0.9..1.1).contains(&mean), "the mean gap is {mean}");
}

#[test]
fn growth_is_dispatched_whole() {
    for name in ["grow-in-order", "grow-reverse", "grow-random", "grow-ties"] {
        let found = outcome(&stream(name, 5000), true, 1);
        assert_eq!((found.dispatched, found.left, found.id_sum), (5000, 0, 4999 * 5000 / 2), "{name}");
    }
}

#[test]
fn a_cycle_takes_what_is_due_and_puts_all_of_it_back() {
    let found = outcome(&stream("cycle:due=30,rounds=20", 500), true, 1);
    assert_eq!((found.takes, found.taken, found.put_back), (21, 30 * 20 + 530, 30 * 20));
    assert_eq!((found.requeued_in_front, found.dispatched), (20, 530));
}

#[test]
fn batches_that_are_out_together_go_in_front_or_are_merged_as_asked() {
    let found = |put_back: &str| {
        outcome(&stream(&format!("cycle:due=31,rounds=20,batches=3,put_back={put_back}"), 500), true, 1)
    };
    let last_first = found("last-first");
    assert_eq!((last_first.requeued_in_front, last_first.requeued_merged), (60, 0));
    assert_eq!(last_first.taken, 31 * 20 + 531);
    let first_first = found("first-first");
    assert_eq!((first_first.requeued_in_front, first_first.requeued_merged), (20, 40));
    assert_eq!(first_first.digest, last_first.digest, "the order survives both");
}

#[test]
fn a_window_cycle_puts_back_in_every_way_and_keeps_its_population() {
    let stream = stream("window", 5000);
    let found = outcome(&stream, true, 1);
    assert_eq!((found.requeued_merged, found.requeued_in_front), (100 + 2, 100));
    assert_eq!(found.requeued_into_empty, 2);
    assert_eq!((found.left, found.enqueued), (0, found.dispatched));
    assert!(found.windows_closed >= 200, "{found:?}");
    // As many arrive as are dispatched, so the queue is as long before the stall as after the fill.
    let stall = stream.ops.iter().position(|op| op.kind == Kind::Phase as u8 && op.id == 2).unwrap();
    let mut part = stream.clone();
    part.ops.truncate(stall);
    assert_eq!(outcome(&part, true, 1).left, 5000);
    // A few more than 1,000 are due in each round, for those that tie with the last.
    let rounds = outcome(&part, true, 1);
    assert!((200_000..201_000).contains(&rounds.taken), "{} timers in 200 rounds", rounds.taken);
    assert_eq!((rounds.windows_closed, rounds.dispatched), (200, 100_000));
}

#[test]
fn a_run_that_is_too_long_for_the_reference_is_held_against_what_its_stream_says() {
    let stream = stream("burst", 5000);
    let right = outcome(&stream, true, 1);
    assert_eq!(truth(&stream, true, 1), Truth::Outcome(right.clone()));
    let differs = |laws: &Truth, found: &Outcome| untrue(found, laws, Order::Exact);
    let laws = Truth::Laws(Laws::of(&stream, true));
    let grown = self::stream("grow-random", 5000);
    let all = Truth::Laws(Laws::of(&grown, true));
    let all_right = outcome(&grown, true, 1);
    assert_eq!((differs(&laws, &right), differs(&all, &all_right)), (None, None));
    let wrong = |change: fn(&mut Outcome)| {
        let mut found = all_right.clone();
        change(&mut found);
        differs(&all, &found).unwrap()
    };
    assert!(
        wrong(|found| found.dispatched -= 1).starts_with("dispatched + cancelled + dropped + left is 4999")
    );
    assert!(wrong(|found| found.id_sum += 1).starts_with("id_sum is"));
    assert!(wrong(|found| found.disorder = 1).starts_with("disorder is 1"));
    assert!(wrong(|found| found.takes = 0).starts_with("takes is 0"));
    assert!(wrong(|found| found.enqueued += 1).starts_with("enqueued + rescheduled"));
}

#[test]
fn every_workload_keeps_the_laws_of_its_stream() {
    for workload in resolve("all").unwrap() {
        let stream = workload.stream(1000, 1).unwrap();
        let found = outcome(&stream, true, 1);
        let laws = Truth::Laws(Laws::of(&stream, true));
        assert_eq!(untrue(&found, &laws, Order::Exact), None, "{}", workload.name());
    }
}

#[test]
fn a_coarse_tick_and_a_payload_without_an_id_have_truths_of_their_own() {
    let stream = stream("window", 5000);
    let (exact, coarse) = (outcome(&stream, true, 1), outcome(&stream, true, 64));
    assert_eq!((exact.enqueued, exact.takes), (coarse.enqueued, coarse.takes));
    assert_ne!(exact.digest, coarse.digest);
    let blind = outcome(&stream, false, 1);
    assert_eq!((blind.dispatched, blind.id_sum), (exact.dispatched, 0));
    assert_ne!(blind.digest, exact.digest);
}

/// A trace as a file, replayed.
fn replayed(rows: &str, parameters: &str) -> (tempfile::TempDir, Workload) {
    let text = format!("time_ns,op,timer_id,due_ns,period_ns,aux\n{rows}");
    let (folder, path) = file("a trace, mine.tt.csv", &text);
    let workload = one(&format!("replay:{}{parameters}", path.display()));
    (folder, workload)
}

fn kinds(workload: &Workload) -> Vec<(Kind, u64, u32)> {
    let stream = workload.stream(workload.sizes(&[])[0], 1).unwrap();
    stream.check().unwrap();
    let asked = stream.ops.iter().filter(|op| Kind::from_number(op.kind).is_some_and(|kind| !kind.is_mark()));
    asked.map(|op| (Kind::from_number(op.kind).unwrap(), op.at, op.id)).collect()
}

#[test]
fn the_clock_of_a_replay_moves_at_expiries_and_polls_and_nowhere_else() {
    let rows = "0,S,77,10,,\n1,S,5,20,,\n2,R,77,30,,\n3,C,5,,,\n4,N,5,,,\n5,A,,,,\n30,E,77,,,\n";
    let (_folder, replay) = replayed(rows, "");
    let wanted = [
        (Kind::Enqueue, 10, 0),
        (Kind::Enqueue, 20, 1),
        (Kind::Rearm, 30, 0),
        (Kind::Cancel, 0, 1),
        (Kind::Cancel, 0, 1),
        (Kind::Take, 5, 0),
        (Kind::Dispatch, 5, 0),
        (Kind::DropBatch, 0, 0),
        (Kind::Take, 30, 0),
        (Kind::Dispatch, 30, 0),
        (Kind::DropBatch, 0, 0),
    ];
    assert_eq!(kinds(&replay), wanted);
    let found = outcome(&replay.stream(2, 1).unwrap(), true, 1);
    assert_eq!((found.cancelled, found.cancel_missed, found.rescheduled, found.dispatched), (1, 1, 1, 1));
}

#[test]
fn a_replay_has_the_size_of_its_trace_and_takes_a_timer_once_at_one_time() {
    let (_folder, replay) = replayed("0,S,7,5,,\n0,S,8,5,,\n5,E,7,,,\n5,E,8,,,\n", "");
    assert_eq!(replay.sizes(&[1000]), [2]);
    assert_eq!(outcome(&replay.stream(2, 1).unwrap(), true, 1).takes, 1);
}

#[test]
fn a_timer_with_a_period_is_enqueued_again_and_one_present_from_the_start_is_there() {
    let (_folder, replay) = replayed("0,P,3,,,\n0,S,7,5,5,\n5,E,7,,,\n10,E,7,,,\n12,E,3,,,\n", "");
    let found = outcome(&replay.stream(2, 1).unwrap(), true, 1);
    assert_eq!((found.dispatched, found.left, found.enqueued), (3, 1, 4));
    let laid = replay.replay().unwrap().lay("x");
    let found = reproduction(&laid, 1).unwrap();
    assert_eq!((found.recorded, found.reproduced, found.extra), (3, 3, 0), "{found:?}");
}

#[test]
fn batches_of_a_trace_are_taken_dispatched_in_part_and_put_back() {
    let rows =
        "0,S,1,5,,\n0,S,2,5,,\n0,S,3,5,,\n6,T,,,,9\n7,D,1,,,9\n7,D,2,,,9\n8,Q,3,,,9\n9,T,,,,9\n9,D,3,,,9\n";
    let (_folder, replay) = replayed(rows, "");
    let found = outcome(&replay.stream(3, 1).unwrap(), true, 1);
    assert_eq!((found.takes, found.taken, found.dispatched), (2, 4, 3));
    assert_eq!((found.requeued_into_empty, found.requeued_nothing, found.left), (1, 1, 0));
}

#[test]
fn a_gap_cancels_what_is_queued() {
    let (_folder, replay) = replayed("0,S,1,50,,\n0,S,2,50,,\n6,G,,,,4\n6,P,2,50,,\n60,E,2,,,\n", "");
    let found = outcome(&replay.stream(2, 1).unwrap(), true, 1);
    assert_eq!((found.cancelled, found.dispatched, found.left), (2, 1, 0));
    let found = reproduction(&replay.replay().unwrap().lay("x"), 1).unwrap();
    assert_eq!((found.recorded, found.reproduced), (1, 1));
}

#[test]
fn a_replay_says_which_recorded_expiries_it_reproduces() {
    // Timer 1 is recorded 3 ns early; timer 2 was due before it was cancelled; timer 3 is on time.
    let (_folder, replay) = replayed(
        "0,S,1,13,,\n0,S,2,9,,\n0,S,3,10,,\n10,E,1,,,\n10,E,3,,,\n11,C,2,,,\n12,S,1,20,,\n20,E,1,,,\n",
        "",
    );
    let laid = replay.replay().unwrap().lay("x");
    let found = reproduction(&laid, 1).unwrap();
    assert_eq!((found.recorded, found.reproduced, found.early, found.extra), (3, 2, 1, 1), "{found:?}");
    assert_eq!((found.late, found.missing), (0, 0));
    let named: Vec<_> = found.examples.iter().map(|example| (example.line, example.verdict)).collect();
    assert_eq!(named, [(7, Verdict::Extra), (5, Verdict::Early)]);
    assert_eq!(
        found.to_string(),
        "reproduced 2 of 3 recorded expiries, 1 recorded before due, 1 not recorded"
    );
    assert_eq!(found.examples[1].to_string(), "line 5: timer 1 is recorded as expired before it was due");
}

#[test]
fn a_structure_that_rounds_reproduces_later_and_what_has_no_time_left_not_at_all() {
    let (_folder, replay) = replayed("0,S,1,5,,\n0,S,2,8,,\n6,E,1,,,\n9,E,2,,,\n", "");
    let laid = replay.replay().unwrap().lay("x");
    let coarse = reproduction(&laid, 4).unwrap();
    assert_eq!((coarse.reproduced, coarse.late, coarse.missing), (1, 1, 0), "{coarse:?}");
    let coarser = reproduction(&laid, 16).unwrap();
    assert_eq!((coarser.reproduced, coarser.late, coarser.missing), (0, 0, 2), "{coarser:?}");
}

#[test]
fn a_trace_that_contradicts_itself_is_refused_with_its_line_or_repaired_if_asked() {
    let rows = "0,S,1,5,,\n3,C,2,,,\n5,E,1,,,\n";
    let (folder, path) = file("wrong.tt.csv", &format!("time_ns,op,timer_id,due_ns,period_ns,aux\n{rows}"));
    let error = resolve(&format!("replay:{}", path.display())).unwrap_err();
    let text = error.to_string().replace(&format!("{}/", folder.path().display()), "");
    assert!(text.starts_with("wrong.tt.csv:3: C of timer 2: which is not armed; "), "{text}");
    assert!(!error.is_usage());
    let (_folder, replay) = replayed(rows, ":mode=repair");
    assert_eq!(replay.replay().unwrap().repaired(), 1);
    assert_eq!(outcome(&replay.stream(2, 1).unwrap(), true, 1).cancelled, 1);
}

#[test]
fn a_trace_without_timers_says_so() {
    let (_folder, path) = file("empty.tt.csv", "time_ns,op\n1,A\n2,G\n");
    let error = resolve(&format!("replay:{}", path.display())).unwrap_err().to_string();
    assert!(error.ends_with("empty.tt.csv: there are no timer events in it; record a program that has timers, or check that this is the right file"), "{error}");
}

#[test]
fn the_recorded_http_service_is_reproduced_whole_by_name_and_from_any_folder() {
    let replay = one("replay-node-http");
    let again = one("replay:node-http-keepalive");
    let stream = replay.stream(1, 1).unwrap();
    assert_eq!(stream.ops, again.stream(1, 1).unwrap().ops);
    stream.check().unwrap();
    let found = reproduction(&replay.replay().unwrap().lay("x"), 1).unwrap();
    assert_eq!((found.recorded, found.reproduced, found.extra), (952, 952, 0), "{found}");
    let run = outcome(&stream, true, 1);
    assert_eq!((run.dispatched, run.cancelled, run.cancel_missed, run.rescheduled), (952, 7344, 172, 9759));
    assert_eq!((u64::from(stream.header.timers), run.left), (replay.sizes(&[])[0], 0));
    let counts: HashMap<_, _> = replay.replay().unwrap().trace().counts().into_iter().collect();
    assert_eq!(counts[&trace::Op::Expire], 952);
}

/// Rows of every kind, with a period, a gap and a timer that was there before.
const MIXED: &str = "0,P,3,90,,\n0,S,7,1000,1000,\n10,S,8,400,,\n20,S,9,350,,\n30,C,8,,,\n40,N,8,,,\n50,R,9,500,,\n\
                     90,E,3,,,\n500,E,9,,,\n600,A,,,,\n1000,E,7,,,\n1100,S,12,5000,,\n1200,G,,,,2\n1300,S,13,2000,,\n\
                     2000,E,13,,,\n";

#[test]
fn k_copies_have_k_times_the_operations_and_the_same_delays() {
    for (one_copy, many) in [
        ("replay-node-http", "replay-node-http:copies=7"),
        ("replay:node-http-keepalive", "replay:node-http-keepalive:copies=7"),
    ] {
        let (alone, scaled) = (one(one_copy), one(many));
        assert_eq!(scaled.sizes(&[])[0], 7 * alone.sizes(&[])[0]);
        let (alone, scaled) = (alone.stream(1, 5).unwrap(), scaled.stream(1, 5).unwrap());
        scaled.check().unwrap();
        let arms = |stream: &Stream| count(stream, Kind::Enqueue) + count(stream, Kind::Rearm);
        assert_eq!(arms(&scaled), 7 * arms(&alone));
        assert_eq!(count(&scaled, Kind::Cancel), 7 * count(&alone, Kind::Cancel));
        // Two copies that take at one tick take together.
        let (takes, most) = (count(&scaled, Kind::Take), 7 * count(&alone, Kind::Take));
        assert!(takes <= most && takes * 100 >= most * 99, "{takes} takes of {most}");
        let (alone, scaled) = (Profile::of(&alone).delays, Profile::of(&scaled).delays);
        assert_eq!((scaled.distinct, scaled.least_median_most), (alone.distinct, alone.least_median_most));
        assert_eq!(scaled.distinct_rounded, alone.distinct_rounded);
        let sevenfold: Vec<_> = alone.common.iter().map(|c| (c.ticks, 7 * c.count)).collect();
        assert_eq!(scaled.common.iter().map(|c| (c.ticks, c.count)).collect::<Vec<_>>(), sevenfold);
        let sevenfold: Vec<_> = alone.histogram.iter().map(|r| (r.from, r.to, 7 * r.count)).collect();
        assert_eq!(scaled.histogram.iter().map(|r| (r.from, r.to, r.count)).collect::<Vec<_>>(), sevenfold);
    }
}

#[test]
fn the_delays_of_a_replay_are_those_of_its_program() {
    let delays = Profile::of(&stream("replay-node-http", 1)).delays;
    // The service's settings: socket idle 10 s, session 8 s, keep-alive 6 s as Node arms it, agent's sockets 4 s.
    for seconds in [10, 8, 6, 4] {
        assert!(delays.common.iter().any(|common| common.ticks == seconds * 1_000_000_000), "{delays:?}");
    }
    let few: u64 = delays.common.iter().map(|common| common.count).sum();
    assert!(few * 10 > delays.count * 9 && delays.past == 0, "{delays:?}");
}

#[test]
fn copies_begin_where_the_seed_says_and_the_first_at_once() {
    let scaled = one("replay-node-http:copies=3");
    let hash = |seed| hash(&scaled.stream(1, seed).unwrap());
    assert_eq!(hash(7), hash(7));
    assert_ne!(hash(7), hash(8));
    // One copy has nothing that a seed could say.
    let alone = one("replay-node-http:copies=1");
    assert_eq!(alone.stream(1, 7).unwrap().ops, stream("replay-node-http", 1).ops);
}

#[test]
fn copies_of_an_exact_replay_reproduce_as_much_as_the_trace_alone() {
    let scaled = one("replay-node-http:copies=5");
    for seed in [1, 2] {
        let laid = scaled.replay().unwrap().lay_from("x", seed);
        assert_eq!(laid.stream.ops, scaled.stream(1, seed).unwrap().ops);
        let found = reproduction(&laid, 1).unwrap();
        assert_eq!((found.recorded, found.reproduced, found.extra), (5 * 952, 5 * 952, 0), "{found}");
    }
}

#[test]
fn a_gap_of_one_copy_ends_no_timer_of_another() {
    let (_folder, alone) = replayed(MIXED, "");
    let found = reproduction(&alone.replay().unwrap().lay("x"), 1).unwrap();
    assert_eq!((found.recorded, found.reproduced), (4, 4), "{found}");
    for seed in 0..20 {
        let (_folder, scaled) = replayed(MIXED, ":copies=4");
        let laid = scaled.replay().unwrap().lay_from("x", seed);
        laid.stream.check().unwrap();
        assert!(laid.stream.ops.len() * 24 <= scaled.stream_bytes(1) as usize);
        let found = reproduction(&laid, 1).unwrap();
        assert_eq!((found.recorded, found.reproduced), (16, 16), "seed {seed}: {found}");
    }
}

#[test]
fn batches_of_copies_are_dispatched_and_put_back_apart() {
    let rows =
        "0,S,1,5,,\n0,S,2,5,,\n0,S,3,5,,\n6,T,,,,9\n7,D,1,,,9\n7,D,2,,,9\n8,Q,3,,,9\n9,T,,,,9\n9,D,3,,,9\n";
    for seed in 0..10 {
        let (_folder, replay) = replayed(rows, ":copies=300");
        let stream = replay.stream(900, seed).unwrap();
        stream.check().unwrap_or_else(|fault| panic!("seed {seed}: {fault}"));
        let found = outcome(&stream, true, 1);
        assert_eq!((found.takes, found.enqueued), (600, 900), "seed {seed}");
        assert_eq!(found.dispatched + found.left, 900, "seed {seed}");
    }
}

#[test]
fn compression_keeps_the_order_of_rows_and_what_is_reproduced() {
    let plain = stream("replay-node-http", 1);
    for factor in [10, 1000] {
        let faster = one(&format!("replay-node-http:compress={factor}"));
        let laid = faster.replay().unwrap().lay("x");
        let found = reproduction(&laid, 1).unwrap();
        assert_eq!((found.recorded, found.reproduced, found.extra), (952, 952, 0), "{factor}: {found}");
        let armed = |stream: &Stream| -> Vec<(u8, u32, u64)> {
            let arms = [Kind::Enqueue as u8, Kind::Rearm as u8, Kind::Cancel as u8];
            let ops = stream.ops.iter().filter(|op| arms.contains(&op.kind));
            ops.map(|op| (op.kind, op.id, op.at)).collect()
        };
        let divided: Vec<_> =
            armed(&plain).into_iter().map(|(kind, id, at)| (kind, id, at / factor)).collect();
        assert_eq!(armed(&laid.stream), divided, "{factor}");
        let takes: Vec<u64> =
            laid.stream.ops.iter().filter(|op| op.kind == Kind::Take as u8).map(|op| op.at).collect();
        assert!(takes.is_sorted(), "{factor}");
    }
}

#[test]
fn in_a_closed_loop_the_clock_moves_with_every_row_and_expiries_are_the_structures() {
    // Timer 1 is due before the row that is recorded as its expiry, and timer 2 is never recorded at all.
    let rows = "0,S,1,10,,\n5,S,2,12,,\n11,S,3,90,,\n20,E,1,,,\n30,C,3,,,\n";
    let (_folder, replay) = replayed(rows, ":expiries=closed-loop");
    assert!(!replay.replay().unwrap().is_exact());
    let asked: Vec<_> = kinds(&replay)
        .into_iter()
        .filter(|(kind, ..)| !matches!(kind, Kind::Dispatch | Kind::DropBatch))
        .collect();
    let wanted = [
        (Kind::Take, 0, 0),
        (Kind::Enqueue, 10, 0),
        (Kind::Take, 5, 0),
        (Kind::Enqueue, 12, 1),
        (Kind::Take, 11, 0),
        (Kind::Enqueue, 90, 2),
        (Kind::Take, 20, 0),
        (Kind::Take, 30, 0),
        (Kind::Cancel, 0, 2),
    ];
    assert_eq!(asked, wanted);
    let found = outcome(&replay.stream(3, 1).unwrap(), true, 1);
    assert_eq!((found.dispatched, found.cancelled, found.left), (2, 1, 0));
}

#[test]
fn in_batches_the_clock_moves_every_tick_and_nowhere_else() {
    let rows = "0,S,1,10,,\n5,S,2,12,,\n11,S,3,90,,\n20,E,1,,,\n30,C,3,,,\n";
    let (_folder, replay) = replayed(rows, ":batch=8");
    let takes: Vec<u64> =
        kinds(&replay).into_iter().filter(|(kind, ..)| *kind == Kind::Take).map(|(_, at, _)| at).collect();
    assert_eq!(takes, [8, 16, 24]);
    let found = outcome(&replay.stream(3, 1).unwrap(), true, 1);
    assert_eq!((found.dispatched, found.cancelled), (2, 1));
    // A timer with a period, a gap, and copies: nothing that a stream may not ask, and no more than is announced.
    for parameters in
        [":batch=7", ":batch=1,copies=3", ":expiries=closed-loop,copies=3,compress=5", ":batch=64,compress=3"]
    {
        let (_folder, replay) = replayed(MIXED, parameters);
        let stream = replay.stream(1, 1).unwrap();
        stream.check().unwrap();
        assert!(stream.ops.len() * 24 <= replay.stream_bytes(1) as usize, "{parameters}");
        assert!(outcome(&stream, true, 1).dispatched > 0, "{parameters}");
    }
}

#[test]
fn a_replay_that_was_scaled_says_so_in_its_name_and_is_found_by_it() {
    let scaled = one("replay-node-http:copies=100");
    assert_eq!(scaled.name(), "replay-node-http:copies=100 (scaled x 100)");
    assert_eq!(scaled.selector(), "replay-node-http:copies=100");
    assert_eq!(one(scaled.name()).name(), scaled.name());
    let both = one("replay-node-http:copies=2,compress=10");
    assert_eq!(both.name(), "replay-node-http:copies=2,compress=10 (scaled x 2 and time / 10)");
    assert_eq!(one(both.name()).name(), both.name());
    let (_folder, path) =
        file("mine.toml", "model = \"replay\"\n[parameters]\nfile = \"node-http-keepalive\"\ncopies = 3\n");
    let mine = one(path.to_str().unwrap());
    assert_eq!(mine.name(), format!("{} (scaled x 3)", path.display()), "also where nobody typed it");
    assert_eq!(resolve("replay-node-http:copies=1+2").unwrap().len(), 2);
    for wrong in ["copies=0", "compress=0", "copies=-1", "expiries=open", "batch=x"] {
        assert!(refused(&format!("replay-node-http:{wrong}")).starts_with("workload `replay-node-http`: "));
    }
}

#[test]
fn every_structure_agrees_with_the_reference_on_every_workload() {
    for name in GENERATED.map(small) {
        all_agree(name, &stream(name, 300));
    }
}
