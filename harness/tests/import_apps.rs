//! Importers of application logs: what comes out of the made fixtures, row by row, and out of the real traces, by count.
//!
//! The real ones are not part of the repository: `TWB_TRACES` names their folder, and a printed line says when it is
//! not set.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use harness::import::{self, Form, Options, Report, Service};
use harness::trace::{self, Op, Trace, validate};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/import").join(name)
}

fn import(path: &Path, form: &str, options: &Options) -> (Report, Trace) {
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().join("out.tt.csv");
    let report = import::import(path, form, options, &into, &AtomicBool::new(false))
        .unwrap_or_else(|error| panic!("{}: {error:?}", path.display()));
    let trace = trace::read(&into).unwrap();
    let validation = validate(&trace);
    assert_eq!(validation.errors(), 0, "{}: {:?}", path.display(), validation.findings);
    (report, trace)
}

/// Every row in a line: operation, timer, time, due and period, in microseconds; then what was skipped.
fn told(name: &str, form: &str) -> String {
    told_with(name, form, &Options::default())
}

fn told_with(name: &str, form: &str, options: &Options) -> String {
    let (report, trace) = import(&fixture(name), form, options);
    let us = |ns: i128| format!("{}", ns as f64 / 1e3);
    let rows = trace.rows.iter().map(|row| {
        let timer = row.timer_id.map_or_else(|| "-".to_owned(), |timer| timer.to_string());
        let due = row.due_ns.map_or_else(String::new, |due| format!(" due {}", us(due)));
        let period =
            if row.period_ns > 0 { format!(" every {}", us(row.period_ns.into())) } else { String::new() };
        let aux = row.aux.map_or_else(String::new, |aux| format!(" late {}", us(aux.into())));
        format!("{} {timer} at {}{due}{period}{aux}\n", row.op.letter(), us(row.time_ns.into()))
    });
    rows.chain(skipped(&report)).collect()
}

/// Reasons with their numbers of lines, and the first of them.
fn skipped(report: &Report) -> Vec<String> {
    let places = report.skipped.iter().map(|(reason, places)| {
        let lines: Vec<String> = places.lines.iter().map(u64::to_string).collect();
        format!("skipped {} ({}): {reason}\n", places.count, lines.join(", "))
    });
    places.collect()
}

#[test]
fn nginx_timers_are_told_by_key_and_expiries_by_the_clock() {
    insta::assert_snapshot!("nginx", told("nginx.log", "nginx"));
}

#[test]
fn grpc_cancels_miss_after_an_expiry_and_the_year_may_end() {
    insta::assert_snapshot!("grpc", told("grpc.log", "grpc"));
}

#[test]
fn chrome_events_are_sorted_and_frames_kept_apart() {
    insta::assert_snapshot!("chrome", told("chrome.json", "chrome"));
}

#[test]
fn a_chrome_trace_that_breaks_off_gives_what_it_has() {
    insta::assert_snapshot!("chrome_cut", told("chrome-cut.json", "chrome"));
}

#[test]
fn strace_waits_are_one_timer_a_thread_and_descriptors_are_exact() {
    insta::assert_snapshot!("strace_epoch", told("strace-epoch.log", "strace"));
}

#[test]
fn strace_of_whole_seconds_passes_midnight_in_two_parts() {
    insta::assert_snapshot!("strace_clock", told("strace-clock.log", "strace"));
}

#[test]
fn strace_without_stamps_goes_on_by_what_ran_out() {
    insta::assert_snapshot!("strace_bare", told("strace-bare.log", "strace"));
}

#[test]
fn access_logs_are_sorted_and_a_request_at_the_due_time_comes_too_late() {
    insta::assert_snapshot!("access_log", told("access.log", "access-log"));
}

#[test]
fn arrivals_are_sorted_and_time_out_if_they_take_as_long() {
    let options = Options { service: Service::Fixed(250_000_000), ..Options::default() };
    insta::assert_snapshot!("arrivals", told_with("arrivals.csv", "arrivals", &options));
    let options = Options { timeout_ns: 250_000_000, ..options };
    insta::assert_snapshot!("arrivals_timed_out", told_with("arrivals.csv", "arrivals", &options));
}

#[test]
fn requests_of_a_second_are_spread_over_it_and_their_ends_follow_from_the_seed() {
    insta::assert_snapshot!("requests", told("requests.csv", "arrivals"));
    let other = Options { seed: 2, ..Options::default() };
    assert_ne!(told("requests.csv", "arrivals"), told_with("requests.csv", "arrivals", &other));
}

#[test]
fn schedules_run_on_the_virtual_clock() {
    let day = Options { horizon_ns: 86_400_000_000_000, ..Options::default() };
    insta::assert_snapshot!("schedule", told_with("schedule.csv", "schedule", &day));
    let hours = Options { horizon_ns: 4 * 3_600_000_000_000, ..Options::default() };
    insta::assert_snapshot!("crontab", told_with("crontab.txt", "schedule", &hours));
}

const FIXTURES: [(&str, &str); 12] = [
    ("nginx.log", "nginx"),
    ("grpc.log", "grpc"),
    ("chrome.json", "chrome"),
    ("chrome-cut.json", "chrome"),
    ("strace-epoch.log", "strace"),
    ("strace-clock.log", "strace"),
    ("strace-bare.log", "strace"),
    ("access.log", "access-log"),
    ("arrivals.csv", "arrivals"),
    ("requests.csv", "arrivals"),
    ("schedule.csv", "schedule"),
    ("crontab.txt", "schedule"),
];

#[test]
fn each_fixture_is_told_by_its_first_lines() {
    for (name, form) in FIXTURES {
        let text = std::fs::read_to_string(fixture(name)).unwrap();
        let head: Vec<String> = text.lines().take(Form::HEAD).map(str::to_owned).collect();
        assert_eq!(Form::detect(&head).map(|form| form.name), Some(form), "{name}");
    }
}

/// A text with some bytes changed, cut out or doubled, and some lines exchanged.
fn damaged(text: &[u8], random: &mut Xoshiro256PlusPlus) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    for _ in 0..random.random_range(1..8) {
        let (at, other) = (random.random_range(0..lines.len()), random.random_range(0..lines.len()));
        let place = random.random_range(0..lines[at].len().max(1));
        match random.random_range(0..6) {
            0 => lines.swap(at, other),
            1 => lines[at] = lines[other].clone(),
            2 => lines[at].truncate(place),
            3 => lines[at].insert(place, random.random()),
            4 => lines[at].insert(place, b"0123456789-.:,{}[]()\" "[random.random_range(0..22)]),
            _ if lines[at].is_empty() => {}
            _ => _ = lines[at].remove(place),
        }
    }
    lines.concat()
}

/// Whatever is read: no panic, and either an error or a trace without contradiction.
#[test]
fn damaged_files_give_a_true_trace_or_an_error() {
    let seed = std::env::var("TWB_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let folder = tempfile::tempdir().unwrap();
    let options = Options { horizon_ns: 3_600_000_000_000, ..Options::default() };
    let (mut whole, mut refused) = (0, 0);
    for (name, form) in FIXTURES {
        let text = std::fs::read(fixture(name)).unwrap();
        for round in 0..60 {
            let from = folder.path().join(format!("{round}-{name}"));
            let into = folder.path().join(format!("{round}-{name}.tt.csv"));
            std::fs::write(&from, damaged(&text, &mut random)).unwrap();
            match import::import(&from, form, &options, &into, &AtomicBool::new(false)) {
                Err(_) => refused += 1,
                Ok(_) => {
                    let validation = validate(&trace::read(&into).unwrap());
                    let said = &validation.findings;
                    assert_eq!(validation.errors(), 0, "seed {seed}, round {round} of {name}: {said:?}");
                    whole += 1;
                }
            }
        }
    }
    println!("seed {seed}: {whole} traces, {refused} refused");
    assert!(whole > 400, "seed {seed}: {whole} traces, {refused} refused");
}

/// What `TWB_TRACES` holds, or `None` with a line that says so.
fn real(name: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("TWB_TRACES") else {
        println!("TWB_TRACES is not set: {name} is not looked at");
        return None;
    };
    Some(PathBuf::from(folder).join(name))
}

/// Rows of S, R, C, N, E, B, A and P of a real trace.
fn counts(name: &str, form: &str, options: &Options) -> Option<([u64; 8], Report, Trace)> {
    let (report, trace) = import(&real(name)?, form, options);
    let ops =
        [Op::Start, Op::Rearm, Op::Cancel, Op::Miss, Op::Expire, Op::Absorbed, Op::Advance, Op::Present];
    let counts = ops.map(|op| report.count(op));
    println!("{name}: S R C N E B A P {counts:?}; {}", skipped(&report).concat());
    Some((counts, report, trace))
}

/// The sums that the folder's README states.
#[test]
fn real_traces_of_programs_have_the_counts_of_the_reference_mapping() {
    let cases = [
        ("chrome-trace-page-load.json", "chrome", [88, 0, 33, 6, 48, 0, 0, 0]),
        ("chrome-trace-video-embed-timers.json", "chrome", [139, 0, 30, 23, 195, 0, 0, 0]),
        ("nginx-1.22-debug-event-timers.log", "nginx", [1457, 0, 1441, 0, 16, 225, 0, 0]),
        ("grpc-core-1.50-timer-trace.log", "grpc", [606, 0, 579, 10, 15, 0, 0, 0]),
    ];
    for (name, form, expected) in cases {
        let Some((counts, ..)) = counts(name, form, &Options::default()) else { return };
        assert_eq!(counts, expected, "{name}");
    }
}

#[test]
fn every_wait_of_the_real_strace_logs_is_met() {
    for (name, waits, expected) in [
        ("strace-6.1-nginx-epoch.log", 467, [465, 0, 464, 0, 1, 0, 1, 0]),
        ("strace-old-uwsgi-fastrouter-clock.log", 2509, [2409, 0, 2409, 0, 0, 0, 100, 0]),
    ] {
        let Some((counts, report, _)) = counts(name, "strace", &Options::default()) else { return };
        assert_eq!((report.events["epoll_wait"], counts), (waits, expected), "{name}");
    }
}

#[test]
fn the_real_access_log_has_a_start_for_each_expiry() {
    let name = "http-access-combined-first.log";
    let Some((counts, ..)) = counts(name, "access-log", &Options::default()) else { return };
    // 1,747 and 3,253 were counted by a program of its own, in another language.
    assert_eq!(counts, [1747, 3253, 0, 0, 1747, 0, 0, 0]);
}

#[test]
fn the_real_arrivals_are_all_there_and_all_end() {
    for (name, requests) in [
        ("azure-llm-2023-conversation-arrivals.csv", 19_366),
        ("nasa-http-1995-requests-per-second-day4.csv", 70_452),
    ] {
        let Some((counts, report, _)) = counts(name, "arrivals", &Options::default()) else { return };
        assert_eq!((counts[0], counts[2] + counts[4]), (requests, requests), "{name}");
        assert_eq!((report.skipped["the header"].count, report.skipped.len()), (1, 1), "{name}");
    }
}

#[test]
fn the_real_schedules_are_646() {
    let Some((_, report, trace)) = counts("prow-periodic-schedules.csv", "schedule", &Options::default())
    else {
        return;
    };
    let kinds = ["cron", "interval", "minimum_interval"].map(|kind| report.events[kind]);
    assert_eq!(kinds, [218, 414, 14]);
    assert_eq!(report.skipped["a cron line that never comes"].count, 1);
    let timers: std::collections::HashSet<u64> = trace
        .rows
        .iter()
        .filter(|row| row.op == Op::Start && row.time_ns == 0)
        .filter_map(|row| row.timer_id)
        .collect();
    assert_eq!(timers.len(), 645);
}
