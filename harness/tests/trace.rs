//! The neutral trace format: what is read, what is refused, and what a validator finds.

use harness::trace::{self, Op, Rule, Severity, Trace, csv, repair, validate};

const HEADER: &str = "time_ns,op,timer_id,due_ns\n";

fn read(text: &str) -> Result<Trace, trace::TraceError> {
    trace::read_bytes("a.tt.csv", text.as_bytes())
}

fn rows(rows: &str) -> Trace {
    read(&format!("{HEADER}{rows}")).unwrap()
}

fn refused(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

fn written(trace: &Trace) -> String {
    let mut text = Vec::new();
    csv::write(trace, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn columns_are_found_by_name_in_any_order_and_optional_ones_may_be_missing() {
    let trace = read("op,aux,time_ns,whatever,timer_id,due_ns\nS,,5,hello,1,9\nE,-3,9,,1,\n").unwrap();
    assert_eq!((trace.rows[0].time_ns, trace.rows[0].op, trace.rows[0].due_ns), (5, Op::Start, Some(9)));
    assert_eq!((trace.rows[1].aux, trace.rows[1].due_ns, trace.rows[1].period_ns), (Some(-3), None, 0));
    assert_eq!((trace.rows[0].line, trace.rows[1].line), (2, 3));
}

#[test]
fn metadata_stand_before_the_header_with_or_without_a_byte_order_mark() {
    let text =
        "# timer-trace: 1\n# clock: CLOCK_MONOTONIC (a: b)\n# due-granularity-ns: 1000000\ntime_ns,op\n1,A\n";
    for text in [text.to_owned(), format!("\u{feff}{text}")] {
        let trace = read(&text).unwrap();
        assert_eq!(trace.metadata.get("clock"), Some("CLOCK_MONOTONIC (a: b)"));
        assert_eq!(trace.metadata.granularity_ns(), 1_000_000);
        assert_eq!(trace.rows[0].line, 5);
    }
}

#[test]
fn a_version_of_the_format_that_is_not_known_is_refused() {
    let error = refused("# timer-trace: 2\ntime_ns,op\n1,A\n");
    assert!(error.starts_with("a.tt.csv:1: `timer-trace: 2` is a version"), "{error}");
}

#[test]
fn numbers_of_64_bits_are_exact() {
    let max = u64::MAX;
    let trace = rows(&format!("{max},S,{max},{max}\n{max},S,2,{}\n", i64::MIN));
    assert_eq!((trace.rows[0].time_ns, trace.rows[0].timer_id), (max, Some(max)));
    assert_eq!(trace.rows[0].due_ns, Some(i128::from(max)));
    assert_eq!(trace.rows[1].due_ns, Some(i128::from(i64::MIN)));
    assert_eq!(read(&written(&trace)).unwrap().rows, trace.rows);
}

#[test]
fn a_number_that_does_not_fit_is_refused_with_its_line_and_column() {
    let error = refused(&format!("{HEADER}1,S,1,2\n18446744073709551616,E,1,\n"));
    assert!(error.starts_with("a.tt.csv:3: `time_ns` is `18446744073709551616`, which is not"), "{error}");
    assert!(refused(&format!("{HEADER}1,S,1,99999999999999999999\n")).contains("`due_ns` is beyond 64 bits"));
    assert!(refused(&format!("{HEADER}-1,A,,\n")).starts_with("a.tt.csv:2: `time_ns` is `-1`"));
    assert!(refused(&format!("{HEADER}1.5,A,,\n")).starts_with("a.tt.csv:2: `time_ns` is `1.5`"));
    assert!(refused(&format!("{HEADER},A,,\n")).starts_with("a.tt.csv:2: `time_ns` is empty"));
}

#[test]
fn line_ends_of_another_system_make_no_difference() {
    let text = "# timer-trace: 1\n# clock: x\ntime_ns,op,timer_id,due_ns,ctx\n1,S,1,5,\"a, b\"\n5,E,1,,\n";
    let crlf = text.replace('\n', "\r\n");
    assert_eq!(read(&format!("{crlf}\r\n")).unwrap().rows.len(), 2, "a blank line is passed over");
    let (one, other) = (read(text).unwrap(), read(&crlf).unwrap());
    assert_eq!(one, other);
    assert_eq!(other.contexts, ["a, b"]);
    assert_eq!(other.metadata.get("clock"), Some("x"));
}

#[test]
fn a_file_that_is_cut_off_within_its_last_line_is_refused_at_that_line() {
    let whole = format!("{HEADER}1,S,1,500\n2,S,2,600\n");
    let error = refused(whole.trim_end());
    assert!(error.starts_with("a.tt.csv:3: the last line has no end"), "{error}");
    assert!(refused(&whole[..whole.len() - 3]).starts_with("a.tt.csv:3: the last line has no end"));
    assert!(
        refused(&format!("{HEADER}1,S,1,500\n2,S\n"))
            .starts_with("a.tt.csv:3: 2 fields where the header names 4")
    );
    assert_eq!(read(&whole).unwrap().rows.len(), 2);
}

#[test]
fn a_file_that_is_cut_off_between_two_lines_contradicts_its_sums() {
    let trace = read("# count-S: 2\ntime_ns,op,timer_id,due_ns\n1,S,1,5\n").unwrap();
    let error = validate(&trace).strict("a.tt.csv", "fetch it again").unwrap_err().to_string();
    assert_eq!(error, "a.tt.csv: 1 rows are S, and the metadata say 2; fetch it again");
}

#[test]
fn a_letter_that_is_no_operation_is_named_with_its_line() {
    let error = refused(&format!("{HEADER}1,S,1,5\n2,Z,1,\n"));
    assert_eq!(error, "a.tt.csv:3: no operation has the letter `Z`; there is S R C N E X A G P B T D Q I F");
}

#[test]
fn a_header_that_is_none_is_refused_and_a_misspelt_column_suggests_the_right_one() {
    assert!(refused("hello,world\n1,2\n").contains("there is no column `time_ns`"));
    let error = refused("time_ns,op,timer_id,due_ns,peroid_ns\n");
    assert!(
        error.starts_with("a.tt.csv:1: no column is called `peroid_ns`; did you mean `period_ns`?"),
        "{error}"
    );
    assert!(refused("time_ns,op,op\n").contains("column `op` stands there twice"));
    assert!(refused("").contains("there is no column `time_ns`"));
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = trace::read("no/such/file.tt.csv".as_ref()).unwrap_err().to_string();
    assert!(error.starts_with("no/such/file.tt.csv: "), "{error}");
}

#[test]
fn rows_are_read_one_by_one_and_the_first_error_ends_them() {
    let text = format!("{HEADER}1,S,1,5\nx,S,2,5\n3,S,3,5\n");
    let found: Vec<bool> = csv::Rows::new("a", text.as_bytes()).unwrap().map(|row| row.is_ok()).collect();
    assert_eq!(found, [true, false]);
}

#[test]
fn every_operation_has_its_letter_and_its_code() {
    for (at, op) in Op::ALL.into_iter().enumerate() {
        assert_eq!(usize::from(op.code()), at + 1);
        assert_eq!(Op::from_code(op.code()), Some(op));
        assert_eq!(Op::from_letter(op.letter().to_string().as_bytes()), Some(op));
    }
    assert_eq!((Op::from_code(0), Op::from_code(16), Op::from_letter(b"SR")), (None, None, None));
    assert_eq!(Op::ALL.map(Op::letter).iter().collect::<String>(), "SRCNEXAGPBTDQIF");
}

/// A trace in which every column and every operation is used.
fn rich() -> Trace {
    let text = "# timer-trace: 1\n# source: made for a test\n# due-granularity-ns: 1000\n\
        time_ns,op,timer_id,due_ns,period_ns,slack_ns,ctx,cpu,aux\n\
        0,P,9,-5,,,,,\n0,P,10,,,,,,\n1,I,1,,,,,,\n2,S,1,50,,7,\"a \"\"b\"\", c\",3,\n3,S,2,60,100,,d,0,\n4,R,1,70,,,,,\n\
        5,B,1,71,,,,,\n6,A,,,,,,,\n60,E,2,,,,d,,0\n61,X,2,,,,,,\n62,C,2,,,,,,\n63,N,2,,,,,,\n64,S,3,64,,,,65535,\n\
        65,T,,,,,,,1\n66,D,9,,,,,,1\n67,Q,3,,,,,,1\n68,G,,,,,,,12\n69,F,1,,,,,,\n";
    read(text).unwrap()
}

#[test]
fn a_trace_is_written_as_it_was_read() {
    let trace = rich();
    assert_eq!(validate(&trace).findings, []);
    let again = read(&written(&trace)).unwrap();
    assert_eq!(again, trace);
    assert_eq!(written(&again), written(&trace));
    let sparse = rows("1,S,1,5\n5,E,1,\n");
    assert_eq!(written(&sparse), "time_ns,op,timer_id,due_ns\n1,S,1,5\n5,E,1,\n");
}

#[cfg(feature = "tables")]
mod parquet {
    use super::*;
    use harness::trace::parquet;

    fn bytes(trace: &Trace) -> Vec<u8> {
        let mut bytes = Vec::new();
        parquet::write(trace, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn csv_to_parquet_and_back_loses_nothing() {
        let trace = rich();
        let again = trace::read_bytes("a.tt.parquet", &bytes(&trace)).unwrap();
        assert!(again.same(&trace), "{again:#?}");
        assert_eq!(written(&again), written(&trace));
    }

    #[test]
    fn numbers_of_64_bits_survive_or_are_refused() {
        let max = u64::MAX;
        let late = rows(&format!("{max},S,{max},{max}\n"));
        assert!(trace::read_bytes("a", &bytes(&late)).unwrap().same(&late));
        let early = rows(&format!("0,S,1,{}\n", i64::MIN));
        assert!(trace::read_bytes("a", &bytes(&early)).unwrap().same(&early));
        let both = rows(&format!("0,S,1,-1\n0,S,2,{max}\n"));
        let error = parquet::write(&both, Vec::new()).unwrap_err().to_string();
        assert!(error.starts_with("a.tt.csv:3: `due_ns` is too late"), "{error}");
    }

    #[test]
    fn a_trace_without_rows_stays_one() {
        let empty = rows("");
        assert!(trace::read_bytes("a", &bytes(&empty)).unwrap().same(&empty));
    }

    #[test]
    fn a_file_that_is_cut_off_or_garbled_is_an_error_and_no_panic() {
        let whole = bytes(&rich());
        for cut in [4, 5, 12, whole.len() / 2, whole.len() - 1] {
            let error = trace::read_bytes("a.tt.parquet", &whole[..cut]).unwrap_err().to_string();
            assert!(error.starts_with("a.tt.parquet: "), "{error}");
        }
        for at in (4..whole.len() - 8).step_by(7) {
            let mut garbled = whole.clone();
            garbled[at] ^= 0xff;
            // It may still be readable; it must not panic or take the process with it.
            let _ = trace::read_bytes("a.tt.parquet", &garbled);
        }
    }

    #[test]
    fn a_table_that_is_no_trace_is_refused_by_name() {
        use polars::prelude::*;
        let file = |columns: Vec<Column>| {
            let mut bytes = Vec::new();
            ParquetWriter::new(&mut bytes).finish(&mut DataFrame::new(1, columns).unwrap()).unwrap();
            trace::read_bytes("a.parquet", &bytes)
        };
        let error = file(vec![Column::new("x".into(), [1_u64])]).unwrap_err().to_string();
        assert!(error.starts_with("a.parquet: there is no column `time_ns`"), "{error}");
        let columns = |op: Column| vec![Column::new("time_ns".into(), [7_i64]), op];
        let error = file(columns(Column::new("op".into(), ["S"]))).unwrap_err().to_string();
        assert!(error.contains("column `op` holds str, not whole numbers"), "{error}");
        let error = file(columns(Column::new("op".into(), [99_i32]))).unwrap_err().to_string();
        assert!(error.starts_with("a.parquet:1: no operation has the code 99"), "{error}");
        let trace = file(columns(Column::new("op".into(), [7_u32]))).unwrap();
        assert_eq!((trace.rows[0].time_ns, trace.rows[0].op), (7, Op::Advance));
    }
}

/// The rules that these rows break, in order.
fn broken(text: &str) -> Vec<(u64, Rule)> {
    validate(&rows(text)).findings.iter().map(|finding| (finding.line, finding.rule)).collect()
}

#[test]
fn time_may_stand_still_and_not_fall() {
    assert_eq!(broken("5,S,1,9\n5,S,2,9\n4,S,3,9\n"), [(4, Rule::TimeFalls)]);
}

#[test]
fn a_timer_is_started_when_it_is_not_armed() {
    assert_eq!(broken("1,S,1,9\n2,S,1,9\n"), [(3, Rule::StartArmed)]);
    assert_eq!(broken("1,S,1,2\n2,E,1,\n3,S,1,9\n"), []);
}

#[test]
fn a_timer_is_rearmed_while_it_is_armed() {
    assert_eq!(broken("1,R,1,9\n"), [(2, Rule::RearmUnarmed)]);
    assert_eq!(broken("1,S,1,9\n2,R,1,9\n"), []);
}

#[test]
fn a_timer_is_cancelled_while_it_is_armed_and_a_miss_finds_it_not_armed() {
    assert_eq!(broken("1,S,1,9\n2,C,1,\n3,C,1,\n"), [(4, Rule::CancelUnarmed)]);
    assert_eq!(broken("1,S,1,9\n2,N,1,\n"), [(3, Rule::MissArmed)]);
    assert_eq!(broken("1,N,1,\n"), []);
}

#[test]
fn a_timer_expires_while_it_is_armed() {
    assert_eq!(broken("1,S,1,2\n2,E,1,\n3,E,1,\n"), [(4, Rule::ExpireUnarmed)]);
}

#[test]
fn a_timer_with_a_period_stays_armed_and_is_due_a_period_later() {
    let text = "# due-granularity-ns: 1\ntime_ns,op,timer_id,due_ns,period_ns\n0,S,1,10,10\n10,E,1,,\n20,E,1,,\n25,E,1,,\n";
    let found = validate(&read(text).unwrap());
    assert_eq!(found.findings.iter().map(|f| (f.line, f.rule)).collect::<Vec<_>>(), [(6, Rule::Early)]);
}

#[test]
fn an_expiry_more_than_a_granule_before_its_due_time_is_flagged_and_not_refused() {
    let text =
        "# due-granularity-ns: 10\ntime_ns,op,timer_id,due_ns\n0,S,1,100\n0,S,2,100\n89,E,1,\n90,E,2,\n";
    let found = validate(&read(text).unwrap());
    assert_eq!(found.findings.iter().map(|f| (f.line, f.rule)).collect::<Vec<_>>(), [(5, Rule::Early)]);
    assert_eq!(Rule::Early.severity(), Severity::Flag);
    assert_eq!((found.errors(), found.count(Rule::Early)), (0, 1));
    found.strict("a", "x").unwrap();
}

#[test]
fn a_start_and_a_rearm_have_a_due_time_and_a_present_timer_may_have_none() {
    assert_eq!(broken("1,S,1,\n2,R,1,\n"), [(2, Rule::DueMissing), (3, Rule::DueMissing)]);
    assert_eq!(broken("1,P,1,\n"), []);
}

#[test]
fn a_row_about_a_timer_names_it() {
    assert_eq!(broken("1,S,,5\n2,A,,\n3,G,,\n"), [(2, Rule::TimerMissing)]);
}

#[test]
fn an_id_is_not_used_after_its_handle_was_freed() {
    assert_eq!(broken("1,I,1,\n2,F,1,\n3,S,1,9\n"), [(4, Rule::UsedAfterFree)]);
    assert_eq!(broken("1,I,1,\n2,I,1,\n"), [(3, Rule::AllocateTwice)]);
    assert_eq!(broken("1,S,1,9\n2,F,1,\n"), [(3, Rule::FreeArmed)]);
}

#[test]
fn a_gap_ends_every_armed_timer_unless_it_is_present_next() {
    assert_eq!(broken("1,S,1,9\n1,S,2,9\n2,G,,\n3,P,1,9\n4,C,1,\n5,C,2,\n"), [(7, Rule::CancelUnarmed)]);
    assert_eq!(broken("1,S,1,9\n2,P,1,9\n"), [(3, Rule::PresentArmed)]);
}

#[test]
fn a_rearm_that_was_left_out_is_of_an_armed_timer() {
    assert_eq!(broken("1,B,1,\n"), [(2, Rule::AbsorbUnarmed)]);
}

#[test]
fn a_batch_is_taken_once_and_what_leaves_it_was_in_it() {
    let batches = |rows: &str| {
        let trace = read(&format!("time_ns,op,timer_id,due_ns,aux\n{rows}")).unwrap();
        validate(&trace).findings.iter().map(|f| (f.line, f.rule)).collect::<Vec<_>>()
    };
    let taken = "0,S,1,5,\n0,S,2,5,\n0,S,3,6,\n5,T,,,4\n";
    assert_eq!(batches(&format!("{taken}6,D,1,,4\n7,Q,2,,4\n8,C,2,,\n9,C,3,,\n")), []);
    assert_eq!(batches(&format!("{taken}6,T,,,4\n")), [(6, Rule::Batch)]);
    assert_eq!(batches(&format!("{taken}6,D,3,,4\n")), [(6, Rule::Batch)]);
    assert_eq!(batches(&format!("{taken}6,Q,1,,5\n")), [(6, Rule::Batch)]);
    assert_eq!(batches(&format!("{taken}6,D,,,4\n6,D,,,4\n6,D,,,4\n")), [(8, Rule::Batch)]);
    assert_eq!(batches(&format!("{taken}6,C,1,,\n")), [(6, Rule::CancelUnarmed)]);
}

#[test]
fn sums_are_those_of_the_metadata_and_can_be_read() {
    let counts = |meta: &str| {
        let trace = read(&format!("{meta}{HEADER}1,S,1,9\n2,C,1,\n")).unwrap();
        validate(&trace).findings.iter().map(|f| f.rule).collect::<Vec<_>>()
    };
    assert_eq!(counts("# count-S: 1\n# count-C: 1\n# count-E: 0\n"), []);
    assert_eq!(counts("# count-S: 1\n# count-C: 2\n# count-E: 1\n"), [Rule::Counts, Rule::Counts]);
    assert_eq!(counts("# count-S: many\n# due-granularity-ns: 1 ms\n"), [Rule::Metadata, Rule::Metadata]);
}

#[test]
fn the_first_error_is_named_with_its_line_and_the_number_of_others() {
    let found = validate(&rows("1,C,1,\n2,E,2,\n"));
    let error = found.strict("a.tt.csv", "record it again").unwrap_err();
    assert_eq!(
        error.to_string(),
        "a.tt.csv:2: C of timer 1: which is not armed (1 more like it); record it again"
    );
    assert_eq!(error.line(), Some(2));
}

#[test]
fn an_error_behind_a_thousand_flags_is_still_refused() {
    let early: String = (0..1500).map(|timer| format!("0,S,{timer},900\n0,E,{timer},\n")).collect();
    let found = validate(&rows(&format!("{early}0,C,1,\n")));
    assert_eq!((found.count(Rule::Early), found.errors()), (1500, 1));
    assert_eq!(found.strict("a", "x").unwrap_err().line(), Some(3002));
}

#[test]
fn timers_armed_unseen_are_inserted_at_the_beginning_behind_the_gap_or_before_their_row() {
    let trace = rows("1,R,1,9\n2,E,2,\n3,S,3,9\n4,C,3,\n5,C,3,\n6,G,,\n7,C,1,\n8,C,4,\n");
    let repaired = repair(&trace);
    assert_eq!((repaired.inserted, repaired.left.findings.len()), (5, 0));
    let found: Vec<_> =
        repaired.trace.rows.iter().map(|row| (row.time_ns, row.op.letter(), row.timer_id)).collect();
    let wanted = [
        (1, 'P', Some(1)),
        (1, 'P', Some(2)),
        (1, 'R', Some(1)),
        (2, 'E', Some(2)),
        (3, 'S', Some(3)),
        (4, 'C', Some(3)),
        (4, 'P', Some(3)),
        (5, 'C', Some(3)),
        (6, 'G', None),
        (6, 'P', Some(1)),
        (6, 'P', Some(4)),
        (7, 'C', Some(1)),
        (8, 'C', Some(4)),
    ];
    assert_eq!(found, wanted);
    assert_eq!(repaired.trace.rows[1].due_ns, Some(2), "an expiry says when it was due at the latest");
}

#[test]
fn a_trace_that_is_right_is_not_touched_and_what_cannot_be_mended_is_left() {
    let right = rich();
    let repaired = repair(&right);
    assert_eq!((repaired.inserted, repaired.trace), (0, right));
    let wrong = repair(&rows("5,S,1,9\n4,S,1,9\n"));
    assert_eq!((wrong.inserted, wrong.left.errors()), (0, 2));
}

#[test]
fn the_recorded_traces_contradict_themselves_nowhere() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../datasets/traces");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let traces: Vec<_> = files.filter(|path| path.to_string_lossy().contains(".tt.")).collect();
    assert!(!traces.is_empty());
    for path in traces {
        let trace = trace::read(&path).unwrap();
        let found = validate(&trace);
        assert_eq!((found.findings.first(), found.counts.is_empty()), (None, false), "{}", path.display());
    }
}

/// Traces that may not be redistributed stand in the folder named by `TWB_TRACES`, where there is one.
#[test]
fn a_trace_of_an_older_recorder_is_read_with_the_counts_its_source_note_states() {
    let Some(folder) = std::env::var_os("TWB_TRACES") else { return };
    let trace = trace::read(&std::path::Path::new(&folder).join("node-20-http-server.neutral.csv")).unwrap();
    let counts = trace.counts().into_iter().filter(|(_, count)| *count > 0).collect::<Vec<_>>();
    assert_eq!(counts, [(Op::Start, 2994), (Op::Rearm, 1502), (Op::Cancel, 2239), (Op::Expire, 754)]);
    assert_eq!(trace.metadata.get("timer-trace"), Some("1"));
    let found = validate(&trace);
    assert_eq!((found.errors(), repair(&trace).left.errors()), (0, 0), "{:?}", found.findings.first());
}
