//! Importers: fixtures made by hand for every trap, the recorded files of the folder that TWB_TRACES names if it is
//! set, and bytes that were damaged at random.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::AtomicBool;

use harness::error::{Error, Exit};
use harness::import::{self, Family, Options, Report};
use harness::trace::{self, Op, Row, Trace, validate};
use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use tempfile::TempDir;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/import").join(name)
}

fn import_into(path: &Path, options: &Options, into: &Path) -> Result<Report, Error> {
    import::import(path, "auto", options, into, &AtomicBool::new(false))
}

fn imported(path: &Path, options: &Options) -> (Report, Trace) {
    let folder = TempDir::new().unwrap();
    let into = folder.path().join("a.tt.csv");
    let report = import_into(path, options, &into).unwrap_or_else(|error| panic!("{error}"));
    let trace = trace::read(&into).unwrap_or_else(|error| panic!("{error}"));
    let found = validate(&trace);
    assert_eq!(found.errors(), 0, "{}: {:?}", path.display(), found.findings);
    assert_eq!(found.armed_max, report.armed_max);
    (report, trace)
}

fn of(family: Family, hz: Option<u32>) -> Options {
    Options { family, hz, ..Options::default() }
}

/// `time op timer due` of each row, times in microseconds; `-` is what is not there.
fn told(trace: &Trace) -> Vec<String> {
    let due = |row: &Row| row.due_ns.map_or("-".to_owned(), |due| (due / 1_000).to_string());
    let timer = |row: &Row| row.timer_id.map_or("-".to_owned(), |timer| timer.to_string());
    let tell = |row: &Row| format!("{} {} {} {}", row.time_ns / 1_000, row.op.letter(), timer(row), due(row));
    trace.rows.iter().map(tell).collect()
}

#[test]
fn ftrace_gives_cancels_moves_expiries_new_lives_gaps_and_what_was_armed_before() {
    let (report, trace) = imported(&fixture("ftrace.txt"), &of(Family::Wheel, Some(250)));
    assert_eq!(report.form, "ftrace");
    assert_eq!(trace.rows[1].time_ns, 0, "the first row is the beginning");
    let ops: String = trace.rows.iter().map(|row| row.op.letter()).collect();
    assert_eq!(ops, "PESRCSCSGPE");
    let ids: Vec<_> = trace.rows.iter().filter_map(|row| row.timer_id).collect();
    assert_eq!(ids, [0, 0, 1, 1, 1, 1, 1, 2, 2, 2], "a timer that was set up again is another");
    let (start, moved) = (trace.rows[2], trace.rows[3]);
    assert_eq!((start.slack_ns, moved.slack_ns), (16_000_000, 0), "from expires to bucket_expiry");
    assert_eq!(moved.due_ns.unwrap() - start.due_ns.unwrap(), 400_000_000, "a hundred jiffies");
    assert_eq!(trace.contexts[start.ctx.unwrap() as usize], "wheel/watchdog");
    assert_eq!(trace.contexts[trace.rows[7].ctx.unwrap() as usize], "wheel/other");
    assert_eq!((start.cpu, trace.rows[5].cpu), (Some(1), Some(0)));
    assert_eq!(trace.rows[8].aux, Some(42), "events lost");
    assert_eq!(
        trace.rows[9].due_ns, trace.rows[7].due_ns,
        "a timer that goes on behind a gap keeps its due time"
    );
    assert_eq!(report.gaps, [(28, Some(42))]);
    let skipped: Vec<_> = report.skipped.iter().map(|(why, at)| (*why, at.lines.as_slice())).collect();
    assert_eq!(
        skipped,
        [
            ("an event of a timer without a readable address", &[31][..]),
            ("an event that is no timer's", &[20]),
            ("more than a second before the line before it", &[32]),
            ("no line of a kernel trace", &[33]),
            ("of the function tracer or of a stack", &[10, 11, 12, 13]),
        ]
    );
    assert_eq!(report.events["timer_start"], 4);
    assert_eq!(report.events["timer_expire_exit"], 1, "the last line has no end");
}

#[test]
fn due_times_stay_on_the_grid_of_the_earliest_edge() {
    let (_, trace) = imported(&fixture("ftrace.txt"), &of(Family::Wheel, Some(250)));
    // Jiffy 4295000000 was seen at 100.000011, and jiffy 4295000025 at 100.100001: the last one is the earliest.
    let due: Vec<i128> =
        trace.rows.iter().filter(|row| row.op == Op::Start).filter_map(|row| row.due_ns).collect();
    assert!(due.windows(2).all(|pair| (pair[1] - pair[0]) % 4_000_000 == 0), "{due:?}");
    assert_eq!(due[0], 399_990_000, "the edge is 10 microseconds before the first expiry");
    assert_eq!(trace.metadata.get("due-granularity-ns"), Some("4000000"));
    assert_eq!(trace.metadata.get("hz"), Some("250"));
}

#[test]
fn hrtimers_say_was_armed_and_have_a_range_to_expire_in() {
    let (_, trace) = imported(&fixture("ftrace.txt"), &of(Family::Hrtimer, None));
    // Zero is the first start, 100.003110; the clock is 50 s behind, by the expiry at 100.010001.
    let expected = [
        "0 P 1 -",
        "0 S 0 106840",
        "10 R 0 56840",
        "20 C 0 -",
        "30 S 0 6890",
        "40 C 1 -",
        "6891 E 0 -",
        "6891 G - -",
    ];
    assert_eq!(told(&trace), expected);
    assert_eq!((trace.rows[1].slack_ns, trace.rows[4].slack_ns), (50_000, 50_000));
    assert_eq!(trace.rows[6].aux, Some(1_000), "lateness");
}

#[test]
fn both_families_have_ids_and_owners_of_their_own() {
    let (report, trace) = imported(&fixture("ftrace.txt"), &of(Family::Both, Some(250)));
    let owners = |family: &str| trace.contexts.iter().filter(|owner| owner.starts_with(family)).count();
    assert_eq!((owners("wheel"), owners("hrtimer")), (3, 2));
    assert_eq!(report.rows.iter().sum::<u64>(), 11 + 7, "one gap for both");
}

#[test]
fn a_buffer_that_was_overwritten_begins_with_a_gap_and_jiffies_wrap() {
    let (report, trace) = imported(&fixture("overwritten.txt"), &of(Family::Wheel, Some(100)));
    assert_eq!(told(&trace), ["0 G - -", "0 S 0 100000", "20000 S 1 200000", "100005 E 0 -", "200000 E 1 -"]);
    assert_eq!(trace.rows[0].aux, Some(100));
    assert_eq!(trace.metadata.get("lost"), Some("100"));
    assert_eq!(report.gaps, [(5, Some(100))]);
}

#[test]
fn perf_script_loses_cancels_and_says_so_and_has_clocks_of_its_own() {
    let (report, trace) = imported(&fixture("perf-script.txt"), &of(Family::Both, Some(250)));
    assert_eq!(report.form, "perf-script");
    let ops: String = trace.rows.iter().map(|row| row.op.letter()).collect();
    assert_eq!(ops, "SSSERGS");
    assert_eq!(
        (trace.rows[1].timer_id, trace.rows[2].timer_id),
        (Some(1), Some(2)),
        "set up anew while armed"
    );
    assert_eq!(report.notes.len(), 1, "{:?}", report.notes);
    assert_eq!(trace.rows[3].aux, Some(123), "of the real-time clock, to the nanosecond");
    assert_eq!(trace.rows[5].aux, Some(12));
}

#[test]
fn trace_cmd_leaves_was_armed_out_and_cancels_are_real_all_the_same() {
    let (report, trace) = imported(&fixture("trace-cmd.txt"), &of(Family::Hrtimer, None));
    assert_eq!(report.form, "trace-cmd");
    let ops: String = trace.rows.iter().map(|row| row.op.letter()).collect();
    assert_eq!(ops, "PESSCSRE");
}

#[test]
fn lttng_passes_midnight_and_cancels_are_printed_for_moves_and_expiries() {
    let (report, trace) = imported(&fixture("lttng.txt"), &of(Family::Both, Some(100)));
    assert_eq!(report.form, "lttng");
    let told: Vec<_> = told(&trace);
    assert_eq!(told.len(), 5, "{told:?}");
    let ops: String = trace.rows.iter().map(|row| row.op.letter()).collect();
    assert_eq!(ops, "SRSEE");
    assert_eq!(trace.rows[3].time_ns, 10_000_100);
    assert_eq!(trace.rows[4].time_ns, 110_000_200);
}

#[test]
fn gzip_is_unpacked_and_parquet_says_what_csv_says() {
    use std::io::Write;
    let folder = TempDir::new().unwrap();
    let packed = folder.path().join("trace.gz");
    let mut gzip =
        flate2::write::GzEncoder::new(fs::File::create(&packed).unwrap(), flate2::Compression::fast());
    gzip.write_all(&fs::read(fixture("ftrace.txt")).unwrap()).unwrap();
    gzip.finish().unwrap();
    let (_, plain) = imported(&fixture("ftrace.txt"), &Options::default());
    let (_, unpacked) = imported(&packed, &Options::default());
    assert!(plain.rows.iter().zip(&unpacked.rows).all(|(a, b)| a.same(b)));
    let into = folder.path().join("a.tt.parquet");
    import_into(&fixture("ftrace.txt"), &Options::default(), &into).unwrap();
    let mut parquet = trace::read(&into).unwrap();
    parquet.name.clone_from(&plain.name);
    assert!(parquet.same(&plain));
}

#[test]
fn nothing_is_overwritten_and_nothing_half_written_is_left() {
    let folder = TempDir::new().unwrap();
    let into = folder.path().join("a.tt.csv");
    let left = || fs::read_dir(folder.path()).unwrap().count();
    let empty = folder.path().join("none.txt");
    fs::write(&empty, "# tracer: nop\n").unwrap();
    let error = import_into(&empty, &Options::default(), &into).unwrap_err();
    assert_eq!(error.exit(), Exit::Failed);
    assert!(error.to_string().contains("no timer was found"), "{error}");
    assert_eq!(left(), 1);
    let stop = AtomicBool::new(true);
    let error =
        import::import(&fixture("ftrace.txt"), "auto", &Options::default(), &into, &stop).unwrap_err();
    assert_eq!((error.exit(), left()), (Exit::Interrupted, 1));
    fs::write(&into, "mine").unwrap();
    let error = import_into(&fixture("ftrace.txt"), &Options::default(), &into).unwrap_err();
    assert!(error.to_string().contains("is there already"), "{error}");
    assert_eq!(fs::read_to_string(&into).unwrap(), "mine");
}

fn command(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_harness")).args(["dataset", "import"]).args(args).output().unwrap()
}

#[test]
fn the_verb_prints_what_was_read_and_exits_as_documented() {
    let folder = TempDir::new().unwrap();
    let into = folder.path().join("a.tt.csv");
    let (file, into) = (fixture("ftrace.txt"), into.to_str().unwrap());
    let file = file.to_str().unwrap();
    let done = command(&[file, "--out", into]);
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    let table = String::from_utf8(done.stdout).unwrap();
    for said in ["rearm", "timer_start", "of the function tracer", "line 10, 11, 12, 13", "Gaps"] {
        assert!(table.contains(said), "{said}: {table}");
    }
    assert!(String::from_utf8_lossy(&done.stderr).contains("MB/s"));
    let other = folder.path().join("b.tt.csv");
    let other = other.to_str().unwrap();
    for (args, code, said) in [
        (vec![file, "--out", into], 1, "is there already"),
        (vec!["not-there.txt", "--out", other], 1, "cannot read not-there.txt"),
        (vec![file, "--form", "ftrac", "--out", other], 2, "did you mean `ftrace`"),
        (vec![file, "--out", "a.txt"], 2, "a trace is .tt.csv or .tt.parquet"),
        (vec!["Cargo.toml", "--out", other], 1, "look like no form that is known"),
    ] {
        let output = command(&args);
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {words}");
        assert!(words.contains(said), "{args:?}: {words}");
    }
}

#[test]
fn damaged_bytes_never_panic_and_what_is_written_can_be_read() {
    let seed = std::env::var("IMPORT_SEED").map_or(11, |seed| seed.parse().unwrap());
    println!("seed {seed}");
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let folder = TempDir::new().unwrap();
    let (path, into) = (folder.path().join("damaged"), folder.path().join("a.tt.csv"));
    for name in ["ftrace.txt", "overwritten.txt", "perf-script.txt", "trace-cmd.txt", "lttng.txt"] {
        let whole = fs::read(fixture(name)).unwrap();
        for _ in 0..60 {
            fs::write(&path, damaged(&whole, &mut random)).unwrap();
            _ = fs::remove_file(&into);
            if import_into(&path, &Options::default(), &into).is_ok() {
                trace::read(&into).unwrap_or_else(|error| panic!("{error}"));
            }
        }
    }
}

/// Some bytes changed, a piece cut out, a piece doubled, numbers made large.
fn damaged(whole: &[u8], random: &mut Xoshiro256PlusPlus) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    let mut below = |limit: usize| (random.next_u64() % limit.max(1) as u64) as usize;
    for _ in 0..below(6) {
        let (at, len) = (below(bytes.len()), below(200));
        let end = (at + len).min(bytes.len());
        match below(4) {
            0 => bytes[at] = below(256) as u8,
            1 => _ = bytes.drain(at..end),
            2 => {
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => {
                let digits = bytes[at..].iter().position(u8::is_ascii_digit).map_or(at, |digit| at + digit);
                bytes.splice(digits..digits, *b"99999999999");
            }
        }
    }
    bytes
}

/// Rows S, R, C, E and timers armed before, of one family.
type Counts = [u64; 5];

#[test]
fn recorded_kernel_files_give_the_counts_of_their_table() {
    let Some(folder) = std::env::var_os("TWB_TRACES").map(PathBuf::from) else {
        println!("skipped: TWB_TRACES names no folder of recorded traces");
        return;
    };
    let table: [(&str, Counts, Counts); 5] = [
        ("kernel-6.18-ftrace-http-keepalive.txt", [1372, 157, 919, 450, 39], [1507, 111, 326, 1196, 24]),
        ("kernel-6.18-perf-script.txt", [106, 82, 45, 54, 12], [553, 197, 298, 239, 17]),
        ("kernel-6.18-trace-cmd-report.txt", [167, 71, 85, 66, 10], [452, 61, 181, 285, 22]),
        ("kernel-4.19-arm-ftrace-function-stacks.txt", [100, 58, 39, 65, 15], [0; 5]),
        ("lttng-2.5-kernel-3.10-arm-babeltrace.txt", [227, 56, 4, 222, 20], [315, 382, 28, 287, 10]),
    ];
    for (file, wheel, hrtimer) in table {
        for (family, expected) in [(Family::Wheel, wheel), (Family::Hrtimer, hrtimer)] {
            if expected != [0; 5] {
                let (report, _) = imported(&folder.join(file), &of(family, None));
                let ops = [Op::Start, Op::Rearm, Op::Cancel, Op::Expire, Op::Present];
                assert_eq!(ops.map(|op| report.count(op)), expected, "{file} {family:?}");
            }
        }
        let (report, _) = imported(&folder.join(file), &Options::default());
        let both = wheel.iter().zip(hrtimer).map(|(a, b)| a + b).sum::<u64>();
        assert_eq!(report.rows.iter().sum::<u64>(), both, "{file}: both families");
    }
}

#[test]
fn recorded_kernel_files_have_the_events_of_their_table_and_their_own_hz() {
    let Some(folder) = std::env::var_os("TWB_TRACES").map(PathBuf::from) else {
        println!("skipped: TWB_TRACES names no folder of recorded traces");
        return;
    };
    // timer_start, timer_cancel, timer_expire_entry, hrtimer_start, hrtimer_cancel, hrtimer_expire_entry
    let table = [
        ("kernel-6.18-ftrace-http-keepalive.txt", "250", [1529, 1526, 450, 1618, 326, 1196]),
        ("kernel-6.18-perf-script.txt", "250", [188, 151, 54, 750, 298, 239]),
        ("kernel-6.18-trace-cmd-report.txt", "250", [238, 222, 66, 513, 181, 285]),
        ("kernel-4.19-arm-ftrace-function-stacks.txt", "100", [158, 162, 65, 0, 0, 0]),
        ("lttng-2.5-kernel-3.10-arm-babeltrace.txt", "100", [283, 282, 222, 697, 697, 287]),
    ];
    for (file, hz, expected) in table {
        let (report, trace) = imported(&folder.join(file), &Options::default());
        let events = [
            "timer_start",
            "timer_cancel",
            "timer_expire_entry",
            "hrtimer_start",
            "hrtimer_cancel",
            "hrtimer_expire_entry",
        ];
        let counted = events.map(|event| report.events.get(event).copied().unwrap_or(0));
        assert_eq!(counted, expected, "{file}");
        assert_eq!(trace.metadata.get("hz"), Some(hz), "{file}");
    }
}

#[test]
fn every_variant_of_the_header_options_is_read() {
    let Some(folder) = std::env::var_os("TWB_TRACES").map(PathBuf::from) else {
        println!("skipped: TWB_TRACES names no folder of recorded traces");
        return;
    };
    let file = folder.join("kernel-6.18-ftrace-option-variants.txt");
    let (report, _) = imported(&file, &Options::default());
    assert_eq!(report.skipped.len(), 0, "{:?}", report.skipped);
    assert_eq!((report.events["itimer_state"], report.events["itimer_expire"]), (6, 6));
}
