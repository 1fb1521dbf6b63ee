//! Facts of one cell in one process.

mod support;

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use harness::allocator;
use harness::drive::{Unmetered, drive};
use harness::payload::Inline;
use harness::spawn::{Ending, Launcher};
use harness::spec::{AllocatorKind, ClockKind, MemorySample, Operation, Pass, PayloadKind, Report, Sample};
use harness::stream::{Kind, Outcome, Point, Stream};
use impls::queue::{Params, TimerQueue};
use impls::reference::Reference;
use support::{Cell, burst, fill_and_drain, header, in_order, op};

const PASSES: [Pass; 5] = [Pass::Time, Pass::Latency, Pass::Resident, Pass::Heap, Pass::Count];

/// What the reference makes of a stream in this process.
fn expected(stream: &Stream) -> Outcome {
    let queue = Reference::<Inline<2>>::with(&Params::default()).unwrap();
    drive(stream, queue, &mut Unmetered)
}

fn row(report: &Report, phase: u32, kind: Kind) -> &Operation {
    let mut rows = report.operations.iter().filter(|row| (row.phase, row.kind) == (phase, kind));
    let row = rows.next().unwrap_or_else(|| panic!("{kind:?} in phase {phase}: {:?}", report.operations));
    assert!(rows.next().is_none(), "two rows for {kind:?} in phase {phase}");
    row
}

fn at(report: &Report, point: Point) -> &MemorySample {
    report.memory.iter().find(|sample| sample.point == point).expect("the point is in the stream")
}

fn said<'a>(facts: &'a [(String, String)], key: &str) -> Option<&'a str> {
    facts.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
}

/// The one line that a worker which did not do its cell leaves.
fn complaint(cell: &Cell) -> String {
    let output = cell.output();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    let words = String::from_utf8(output.stderr).unwrap();
    assert_eq!(words.lines().count(), 1, "{words}");
    words
}

#[test]
fn all_passes_and_payloads_come_to_the_outcome_of_the_reference() {
    let stream = burst(1000);
    let right = expected(&stream);
    assert!(right.dispatched == 990 && right.put_back > 0 && right.digest.is_some(), "{right:?}");
    for pass in PASSES {
        assert_eq!(Cell::new("list", pass, &stream).report().outcome, right, "{pass:?}");
    }
    for payload in [16, 64, 448].map(PayloadKind::Inline) {
        let mut cell = Cell::new("array", Pass::Time, &stream);
        cell.spec.payload = payload;
        assert_eq!(cell.report().outcome, right, "{payload}");
    }
}

#[test]
fn a_payload_without_room_for_an_id_gives_one_digest_in_all_passes() {
    let stream = burst(200);
    let outcome = |pass| {
        let mut cell = Cell::new("array", pass, &stream);
        cell.spec.payload = PayloadKind::Inline(0);
        cell.report().outcome
    };
    let right = outcome(Pass::Time);
    assert!(right.id_sum == 0 && right.digest != expected(&stream).digest);
    assert_eq!((outcome(Pass::Count), outcome(Pass::Resident)), (right.clone(), right));
}

#[test]
fn a_structure_that_is_compiled_for_few_payloads_says_so_of_the_others() {
    let stream = burst(100);
    for (payload, compiled) in [(16, true), (64, false), (448, false), (0, false)] {
        let mut cell = Cell::new("reference", Pass::Time, &stream);
        cell.spec.payload = PayloadKind::Inline(payload);
        match compiled {
            true => assert_eq!(cell.report().outcome, expected(&stream)),
            false => assert_eq!(
                complaint(&cell),
                "unsupported: reference is compiled for payloads of 16 bytes and for blocks (box:BYTES) only\n"
            ),
        }
    }
}

#[test]
fn the_time_pass_gives_every_operation_and_phase_its_time_and_nothing_else() {
    let stream = burst(2000);
    let report = Cell::new("reference", Pass::Time, &stream).report();
    for row in &report.operations {
        assert!(row.time_ns.is_some_and(|ns| ns >= 0.0) && row.clock_readings > Some(0), "{row:?}");
        assert_eq!((row.counts, row.allocated), (None, None));
    }
    let fill = row(&report, 0, Kind::Enqueue);
    assert_eq!((fill.calls, fill.timers, fill.clock_readings), (2000, 2000, Some(1)));
    let takes = row(&report, 1, Kind::Take);
    assert_eq!((takes.calls, takes.clock_readings), (report.outcome.takes, Some(report.outcome.takes)));
    assert_eq!(row(&report, 1, Kind::Dispatch).timers, report.outcome.dispatched);
    assert_eq!(row(&report, 2, Kind::DropQueue).timers, 10);
    let phases: Vec<u32> = report.phases.iter().map(|phase| phase.phase).collect();
    assert_eq!(phases, [0, 1, 2]);
    for phase in &report.phases {
        let operations = report.operations.iter().filter(|row| row.phase == phase.phase);
        let ns: f64 = operations.filter_map(|row| row.time_ns).sum();
        assert!(ns <= phase.wall_ns as f64 * 1.02 && phase.cpu_ns > 0, "{ns} of {phase:?}");
    }
    assert!(report.memory.is_empty() && report.heap.is_none());
}

#[test]
fn idling_is_for_the_resident_pass_alone() {
    let mut stream = burst(100);
    let idle = stream.ops.iter_mut().find(|op| op.kind == Kind::Idle as u8).unwrap();
    idle.at = 400;
    let took = |pass| {
        let started = Instant::now();
        Cell::new("reference", pass, &stream).report();
        started.elapsed()
    };
    assert!(took(Pass::Resident) >= Duration::from_millis(400));
    let report = Cell::new("reference", Pass::Time, &stream).report();
    assert!(report.phases.iter().all(|phase| phase.wall_ns < 400_000_000), "{:?}", report.phases);
}

#[test]
fn each_clock_says_what_it_is_and_what_it_costs() {
    for (clock, names) in [
        (ClockKind::Tsc, ["tsc", "monotonic"]),
        (ClockKind::Wall, ["monotonic"; 2]),
        (ClockKind::Cpu, ["thread-cpu"; 2]),
    ] {
        let mut cell = Cell::new("reference", Pass::Time, &burst(100));
        cell.spec.clock = clock;
        let figures = cell.report().clock.unwrap();
        assert!(names.contains(&figures.name.as_str()), "{figures:?}");
        assert!(figures.empty_ns[0] >= 100.0 && figures.empty_ns[4] > 0.0, "{figures:?}");
    }
}

#[test]
fn the_latency_pass_writes_a_sample_of_each_call_and_each_timer_dispatched() {
    let stream = burst(3000);
    let cell = Cell::new("reference", Pass::Latency, &stream);
    let report = cell.report();
    let bytes = fs::read(cell.file("samples")).unwrap();
    let samples: Vec<Sample> =
        bytes.chunks_exact(8).map(|bytes| Sample(u64::from_le_bytes(bytes.try_into().unwrap()))).collect();
    assert_eq!(samples.len() * 8, bytes.len());
    let mut all = 0;
    for row in &report.operations {
        let expected = if row.kind == Kind::Dispatch { row.timers } else { row.calls };
        let of_row =
            samples.iter().filter(|sample| (sample.phase(), sample.kind()) == (row.phase, Some(row.kind)));
        let (count, ns) = of_row.fold((0, 0), |(count, ns), sample| (count + 1, ns + sample.ns()));
        assert_eq!(count, expected, "{row:?}");
        assert!(ns > 0 && ns < 1_000_000_000 * count, "{row:?}: {ns} ns");
        assert_eq!(row.time_ns, None);
        all += count;
    }
    assert_eq!(samples.len() as u64, all);
    assert!(report.clock.is_some());
}

#[test]
fn the_heap_profile_and_the_report_agree() {
    let stream = burst(2000);
    let cell = Cell::new("list", Pass::Heap, &stream);
    let report = cell.report();
    let profile: serde_json::Value =
        serde_json::from_slice(&fs::read(cell.file("profile.json")).unwrap()).unwrap();
    let points = profile["pps"].as_array().unwrap();
    let sum = |key: &str| points.iter().map(|point| point[key].as_u64().unwrap()).sum::<u64>();
    let heap = report.heap.as_ref().unwrap();
    assert_eq!(heap.total, [sum("tb"), sum("tbk")]);
    assert_eq!(heap.peak, [sum("gb"), sum("gbk")]);
    assert_eq!(heap.end, [sum("eb"), sum("ebk")]);

    // A node and the block of the payload for each timer, and nothing that is not the queue's.
    let enqueue = row(&report, 0, Kind::Enqueue);
    assert_eq!(enqueue.allocated.map(|[blocks, _]| blocks), Some(4000));
    assert_eq!(at(&report, Point::Empty).live_bytes, at(&report, Point::Empty).container_bytes);
    let filled = at(&report, Point::Filled);
    assert_eq!(filled.live_bytes, filled.container_bytes.map(|bytes| bytes + 2000 * 16));
    assert_eq!(filled.live_blocks, Some(4000));
    assert_eq!((at(&report, Point::Drained).live_blocks, heap.end), (Some(20), [0, 0]));
    assert_eq!((filled.resident_bytes, filled.allocator_allocated_bytes), (None, None));
}

#[test]
fn the_memory_time_line_rises_with_what_is_queued_and_a_figure_not_collected_is_none() {
    const TIMERS: u64 = 100_000;
    let stream = burst(TIMERS as u32);
    for name in ["jemalloc", "system"] {
        let mut cell = Cell::new("list", Pass::Resident, &stream);
        cell.allocator = name;
        cell.spec.payload = PayloadKind::Inline(64);
        let report = cell.report();
        let points: Vec<Point> = report.memory.iter().map(|sample| sample.point).collect();
        assert_eq!(points, Point::ALL);
        let (empty, filled) = (at(&report, Point::Empty), at(&report, Point::Filled));
        let grown = |of: fn(&MemorySample) -> Option<u64>| of(filled).unwrap() - of(empty).unwrap();
        // 64 bytes, an expiry, an arrival and a link at least, and no more than twice that.
        for bytes in [
            grown(|sample| sample.resident_anon_bytes),
            grown(|sample| sample.resident_bytes),
            grown(|sample| sample.allocator_allocated_bytes),
        ] {
            assert!((88 * TIMERS..176 * TIMERS).contains(&bytes), "{name}: {bytes}");
        }
        assert!(filled.resident_peak_bytes >= filled.resident_bytes);
        let only_jemalloc = [filled.allocator_active_bytes, filled.allocator_resident_bytes];
        assert_eq!(only_jemalloc.map(|figure| figure.is_some()), [name == "jemalloc"; 2]);
        assert_eq!((filled.live_bytes, filled.live_blocks), (None, None));
        assert_eq!(at(&report, Point::Dropped).container_bytes, None);
        assert!(at(&report, Point::Purged).resident_anon_bytes < filled.resident_anon_bytes);
    }
}

#[test]
fn counts_are_what_the_probe_saw_and_belong_to_their_operation() {
    let report = Cell::new("list", Pass::Count, &fill_and_drain(500)).report();
    let take = row(&report, 1, Kind::Take);
    let [visited, _, compared, _] = take.counts.unwrap();
    assert!(visited + compared >= 500, "{take:?}");
    assert_eq!((take.time_ns, take.allocated), (None, None));
}

#[test]
fn the_allocator_that_serves_is_the_one_that_was_asked_for() {
    for (name, pass) in [("jemalloc", Pass::Time), ("system", Pass::Time), ("dhat", Pass::Heap)] {
        let mut cell = Cell::new("reference", pass, &burst(100));
        cell.allocator = name;
        let facts = cell.report().allocator;
        assert_eq!(said(&facts, "name"), Some(name));
        let decay = said(&facts, "dirty_decay_ms");
        assert_eq!(
            (decay.is_some(), said(&facts, "narenas").is_some()),
            (name == "jemalloc", name == "jemalloc")
        );
        let version = said(&facts, "version").unwrap();
        assert_eq!(version.starts_with("5."), name == "jemalloc", "{version}");
    }
}

#[test]
fn jemalloc_with_a_background_thread_says_so_or_does_not_run() {
    let mut cell = Cell::new("reference", Pass::Time, &burst(100));
    cell.allocator = "jemalloc-background";
    assert!(complaint(&cell).contains("its background thread is off; _RJEM_MALLOC_CONF must have"));
    let launcher = Launcher {
        executable: support::executable().to_owned(),
        timeout: Duration::from_secs(60),
        interrupted: Arc::default(),
    };
    for (kind, on) in [(AllocatorKind::Jemalloc, "false"), (AllocatorKind::JemallocBackground, "true")] {
        let ending = launcher.run(&cell.spec, kind).unwrap();
        let Ending::Answer(report) = ending else { panic!("{ending:?}") };
        assert_eq!(said(&report.allocator, "name"), Some(allocator::name(kind)));
        assert_eq!(said(&report.allocator, "background_thread"), Some(on));
    }
}

#[test]
fn a_slow_down_costs_what_it_was_set_to_for_each_timer_and_changes_no_answer() {
    let stream = fill_and_drain(2_000);
    let ns = |busy: u64| {
        let mut cell = Cell::new("reference", Pass::Time, &stream);
        cell.spec.busy = busy;
        // Of CPU time: whatever else runs here is not in it.
        cell.spec.clock = ClockKind::Cpu;
        let report = cell.report();
        assert_eq!(report.outcome, expected(&stream));
        row(&report, 0, Kind::Enqueue).time_ns.unwrap()
    };
    // Thousands of multiplications for each timer hide whatever the queue itself does.
    let (once, thrice) = (ns(5_000_000), ns(15_000_000));
    let plain = ns(0);
    assert!(once > 5.0 * plain, "{once} after {plain}");
    assert!((2.0..4.5).contains(&(thrice / once)), "{thrice} after {once}");
}

#[test]
fn a_pass_does_not_run_on_an_allocator_whose_figures_would_mislead() {
    for (pass, name, needed) in [
        (Pass::Heap, "jemalloc", "needs dhat"),
        (Pass::Time, "dhat", "needs jemalloc or system"),
        (Pass::Latency, "dhat", "needs jemalloc or system"),
        (Pass::Count, "mimalloc", "needs jemalloc, jemalloc-background, system or dhat"),
    ] {
        let mut cell = Cell::new("reference", pass, &burst(100));
        cell.allocator = name;
        let words = complaint(&cell);
        assert!(
            words.contains(&format!("{}={name}", allocator::VARIABLE)) && words.contains(needed),
            "{words}"
        );
    }
}

#[test]
fn a_cell_that_cannot_be_done_is_explained_in_one_line() {
    let cell = || Cell::new("reference", Pass::Time, &burst(100));
    let mut unknown = cell();
    unknown.spec.structure = "weel".to_owned();
    assert!(complaint(&unknown).contains("no structure is called `weel`"));
    let mut parameter = cell();
    parameter.spec.parameters = vec![("tick".to_owned(), "0".to_owned())];
    assert!(complaint(&parameter).contains("reference: `tick` must be"));
    let mut payload = cell();
    payload.spec.payload = PayloadKind::Inline(17);
    assert!(complaint(&payload).contains("17 bytes"));
    let mut missing = cell();
    missing.spec.stream = missing.file("nowhere");
    assert!(complaint(&missing).contains("nowhere: No such file"));
    let cut = cell();
    let bytes = fs::read(&cut.spec.stream).unwrap();
    fs::write(&cut.spec.stream, &bytes[..bytes.len() - 24]).unwrap();
    assert!(complaint(&cut).contains("cut short"));
    let mut nowhere = cell();
    nowhere.spec.pass = Pass::Latency;
    nowhere.spec.samples = None;
    assert!(complaint(&nowhere).contains("needs a file to write to"));
    let nothing = support::worker("", "jemalloc");
    assert_eq!(nothing.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("one line of JSON"));
}

#[test]
fn a_worker_without_memory_says_so_and_fails() {
    // 200,000 timers of 448 bytes need 90 MB, and the address space ends 64 MB above what a small cell needs.
    let mut cell = Cell::new("list", Pass::Resident, &fill_and_drain(400_000));
    cell.spec.payload = PayloadKind::Inline(448);
    let limited = |kib: u32| {
        let mut child = Command::new("sh")
            .args(["-c", &format!("ulimit -c 0; ulimit -v {kib}; exec \"$0\" worker")])
            .arg(support::executable())
            .env(allocator::VARIABLE, "system")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        serde_json::to_writer(child.stdin.take().unwrap(), &cell.spec).unwrap();
        child.wait_with_output().unwrap()
    };
    let output = limited(130_000);
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
    assert!(words.contains("memory allocation of"), "{words}");
    let output = limited(2_000_000);
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_worker_dies_with_its_parent() {
    let mut parent = Command::new("sh")
        .args(["-c", "exec 3<&0; \"$0\" worker <&3 & echo $!; wait"])
        .arg(support::executable())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // `wait` below would close it, and a worker that reads the end of its input ends of itself.
    let _stdin = parent.stdin.take();
    let mut line = String::new();
    BufReader::new(parent.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let status = format!("/proc/{}/status", line.trim());
    let state = || {
        let text = fs::read_to_string(&status).unwrap_or_default();
        text.lines().find_map(|line| line.strip_prefix("State:\t")).and_then(|state| state.chars().next())
    };
    // It waits for its cell, which never comes.
    let waited = Instant::now();
    while state() != Some('S') && waited.elapsed() < Duration::from_secs(10) {
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(state(), Some('S'));
    thread::sleep(Duration::from_millis(100));
    parent.kill().unwrap();
    parent.wait().unwrap();
    while !matches!(state(), None | Some('Z')) && waited.elapsed() < Duration::from_secs(10) {
        thread::sleep(Duration::from_millis(20));
    }
    assert!(matches!(state(), None | Some('Z')), "it still runs: {:?}", state());
}

/// The filled queue with so many calls of `next_expiry` behind it, which leave it as it is.
fn padded(calls: usize) -> Stream {
    let mut ops = vec![op(Kind::Phase, 0, 0, 0), op(Kind::Sample, 0, 0, Point::Empty as u32)];
    ops.extend(in_order(TIMERS));
    ops.extend(std::iter::repeat_n(op(Kind::NextExpiry, 0, 0, 0), calls));
    ops.push(op(Kind::Sample, 0, 0, Point::Filled as u32));
    Stream { header: header(TIMERS, &["fill"]), ops }
}

const TIMERS: u32 = 100_000;

/// Bytes of the stream, of anonymous memory at `empty`, and of that for each timer at `filled`.
fn resident(structure: &str, calls: usize) -> (u64, u64, f64) {
    let report = Cell::new(structure, Pass::Resident, &padded(calls)).report();
    let anonymous = |point| {
        let sample = report.memory.iter().find(|sample| sample.point == point).unwrap();
        sample.resident_anon_bytes.unwrap()
    };
    let of_a_timer = (anonymous(Point::Filled) - anonymous(Point::Empty)) as f64 / f64::from(TIMERS);
    (report.stream_bytes.unwrap(), anonymous(Point::Empty), of_a_timer)
}

#[test]
fn operations_are_in_resident_memory_at_every_point_and_in_no_figure_of_a_timer() {
    const MORE: u64 = 1_000_000;
    // The list frees nothing while it grows. What the others free meanwhile, the allocator gives back after a
    // time, which a slow run may see: the most of three runs has not seen it.
    for (structure, runs, within) in [("list", 1, 1.0), ("wheel", 3, 4.0), ("array", 3, 4.0)] {
        let most = |calls| {
            let runs = (0..runs).map(|_| resident(structure, calls));
            runs.max_by(|a, b| a.2.total_cmp(&b.2)).unwrap()
        };
        let (few, many) = (most(0), most(MORE as usize));
        assert_eq!(many.0 - few.0, MORE * 24, "{structure}");
        // They are there, so a figure that had them in it would show 240 bytes a timer more.
        let empty = many.1 - few.1;
        assert!((MORE * 23..MORE * 25).contains(&empty), "{structure}: {empty} bytes more at `empty`");
        assert!((few.2 - many.2).abs() < within, "{structure}: {} and {} bytes a timer", few.2, many.2);
        assert!(few.2 > 20.0, "{structure}: {} bytes a timer", few.2);
    }
}
