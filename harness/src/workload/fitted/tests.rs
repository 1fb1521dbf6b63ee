//! A fitted workload is like its trace, and its stream asks just what is counted.

use rand_xoshiro::rand_core::SeedableRng;

use super::fit::counted;
use super::*;
use crate::statistics::{Value, figures};
use crate::stream::Stream;
use crate::trace::{self, Trace};
use crate::truth::outcome;
use crate::workload::definition::Definition;

fn node() -> Trace {
    trace::Source::open("node-http-keepalive").unwrap().into_trace().unwrap()
}

/// A trace of `lives` timers a millisecond apart, each with what `rows` says of its number and start.
fn made(lives: u64, rows: impl Fn(u64, u64) -> Vec<(u64, String)>) -> Trace {
    let mut all: Vec<(u64, String)> = (0..lives).flat_map(|life| rows(life, life * 1_000_000)).collect();
    all.sort_by_key(|(time, _)| *time);
    let rows: String = all.into_iter().map(|(time, rest)| format!("{time},{rest}\n")).collect();
    trace::read_bytes("made", format!("time_ns,op,timer_id,due_ns,period_ns\n{rows}").as_bytes()).unwrap()
}

fn parsed(toml: &str) -> Fitted {
    let (definition, _) =
        Definition::parse("like.toml", toml).unwrap_or_else(|error| panic!("{error}\n{toml}"));
    definition.parameters.try_into().unwrap()
}

fn stream(fitted: &Fitted, n: u64, seed: u64) -> Stream {
    let mut out = Builder::new("fitted", fitted.extent(n).operations);
    fitted.generate(n, &mut Random::seed_from_u64(seed), &mut out);
    out.finish()
}

fn value(of: &crate::statistics::Statistics, name: &str) -> f64 {
    let found = figures(of).into_iter().find(|figure| figure.name == name).unwrap();
    found.value.map_or(f64::NAN, Value::number)
}

#[test]
fn the_recorded_http_service_is_matched_within_two_points_and_a_tenth_of_its_timers() {
    let fit = fit(&node(), 1).unwrap();
    for name in
        ["rearmed_share", "cancelled_share", "expired_share", "missed_share", "missed_after_expiry_share"]
    {
        let (recorded, made) = (value(&fit.trace, name), value(&fit.made, name));
        assert!((recorded - made).abs() < 0.02, "seed 1: {name} is {made}, recorded {recorded}");
    }
    let armed = value(&fit.made, "armed_mean") / value(&fit.trace, "armed_mean");
    assert!((0.9..1.1).contains(&armed), "seed 1: {armed} of the timers are armed");
    let rate = value(&fit.made, "operations_per_s") / value(&fit.trace, "operations_per_s");
    assert!((0.9..1.1).contains(&rate), "seed 1: {rate} of the operations a second");
    assert!(fit.trace.delay_distance(&fit.made) < 0.05, "{}", fit.trace.delay_distance(&fit.made));
    for (delay, arms) in fit.trace.common_delays(5) {
        let share = |arms: u64, of: u64| arms as f64 / of as f64;
        let made = share(fit.made.rounded_delays().get(&delay).copied().unwrap_or(0), fit.made.arms());
        let recorded = share(arms, fit.trace.arms());
        assert!((recorded - made).abs() < 0.02, "seed 1: delay {delay}: {made}, recorded {recorded}");
    }
}

#[test]
fn what_is_written_says_what_was_counted_and_nothing_of_the_trace() {
    let trace = node();
    let fit = fit(&trace, 1).unwrap();
    let mut again = parsed(&fit.toml);
    again.arms = fit.trace.arms() as f64 / fit.n as f64;
    let made = counted(&again, fit.n, 1);
    assert_eq!(
        (made.arms(), made.cancels, made.delays),
        (fit.made.arms(), fit.made.cancels, fit.made.delays.clone())
    );
    for owner in &trace.contexts {
        assert!(!fit.toml.contains(owner.as_str()), "{owner}");
    }
    let numbers: Vec<&str> =
        fit.toml.split(|c: char| !c.is_ascii_digit()).filter(|text| text.len() > 6).collect();
    let times = trace.rows.iter().map(|row| row.time_ns.to_string());
    assert_eq!(times.filter(|time| numbers.contains(&time.as_str())).count(), 0);
}

#[test]
fn a_stream_asks_what_is_counted() {
    let fitted = parsed(&fit(&node(), 1).unwrap().toml);
    for (n, seed) in [(1, 1), (50, 2), (1000, 3)] {
        let (stream, counted) = (stream(&fitted, n, seed), counted(&fitted, n, seed));
        stream.check().unwrap_or_else(|fault| panic!("n {n} seed {seed}: {fault}"));
        let found = outcome(&stream, true, 1);
        let case = format!("n {n} seed {seed}: {found:?}");
        assert_eq!((found.rescheduled, found.cancelled), (counted.rearms, counted.cancels), "{case}");
        assert_eq!((found.cancel_missed, found.enqueued), (counted.misses, n + counted.starts), "{case}");
        // The last sweep dispatches what is left.
        assert_eq!(found.dispatched, counted.expiries + counted.armed_at_end, "{case}");
        assert_eq!(counted.arms(), fitted.arms(n), "{case}");
        assert!(stream.ops.len() as u64 <= fitted.extent(n).operations, "{case}");
        assert!(u64::from(stream.header.timers) <= fitted.extent(n).timers, "{case}");
    }
}

#[test]
fn n_is_the_number_of_timers_armed_from_the_start_to_the_end() {
    let fitted = parsed(&fit(&node(), 1).unwrap().toml);
    for n in [100, 1000, 20_000] {
        let found = counted(&fitted, n, 7);
        let armed = [found.armed_mean, found.armed_at_end as f64].map(|armed| armed / n as f64);
        let near = if n < 1000 { 0.5..1.5 } else { 0.9..1.1 };
        assert!(armed.iter().all(|part| near.contains(part)), "seed 7, n {n}: {armed:?}");
    }
}

#[test]
fn a_stream_follows_from_its_seed() {
    let fitted = parsed(&fit(&node(), 1).unwrap().toml);
    assert_eq!(stream(&fitted, 200, 5), stream(&fitted, 200, 5));
    assert_ne!(stream(&fitted, 200, 5).ops, stream(&fitted, 200, 6).ops);
}

#[test]
fn rearms_go_over_into_the_classes_into_which_they_went() {
    // Started for 10 ms, re-armed half-way for 40 ms, expired; one in four is cancelled instead.
    let trace = made(400, |life, at| match life % 4 {
        0 => vec![(at, format!("S,{life},{},", at + 10_000_000)), (at + 2_000_000, format!("C,{life},,"))],
        _ => {
            let again = at + 5_000_000;
            let due = again + 40_000_000;
            let start = (at, format!("S,{life},{},", at + 10_000_000));
            vec![start, (again, format!("R,{life},{due},")), (due, format!("E,{life},,"))]
        }
    });
    let fit = fit(&trace, 3).unwrap();
    let fitted = parsed(&fit.toml);
    assert_eq!(fitted.classes.len(), 2);
    assert_eq!((fitted.classes[0].delay_ns.mean(), fitted.classes[1].delay_ns.mean()), (10e6, 40e6));
    assert_eq!(fitted.classes[0].rearmed, [0.0, 0.75]);
    assert_eq!((fitted.classes[0].cancelled, fitted.classes[1].expired), (0.25, 1.0));
    let armed = fitted.steady().unwrap();
    // 1,000 starts a second: 0.75 of 5 ms and 0.25 of 2 ms, and 750 a second of 40 ms.
    assert!((armed[0] - 4.25).abs() < 0.5 && (armed[1] - 30.0).abs() < 4.0, "{armed:?}");
    for name in ["rearmed_share", "cancelled_share", "expired_share"] {
        let (recorded, made) = (value(&fit.trace, name), value(&fit.made, name));
        assert!((recorded - made).abs() < 0.06, "seed 3: {name} is {made}, recorded {recorded}");
    }
}

#[test]
fn a_timer_with_a_period_expires_again_and_again_until_it_is_cancelled() {
    let trace = made(100, |life, at| {
        let mut rows = vec![(at, format!("S,{life},{},10000000", at + 10_000_000))];
        rows.extend((1..=5).map(|turn| (at + turn * 10_000_000, format!("E,{life},,"))));
        rows.push((at + 55_000_000, format!("C,{life},,")));
        rows
    });
    let fit = fit(&trace, 2).unwrap();
    let fitted = parsed(&fit.toml);
    assert!(fitted.classes[0].periodic, "{}", fit.toml);
    let each = fit.made.expiries as f64 / fit.made.starts as f64;
    assert!((3.0..7.0).contains(&each), "seed 2: {each} expiries a start, recorded 5");
    let (stream, counted) = (stream(&fitted, 100, 4), counted(&fitted, 100, 4));
    let found = outcome(&stream, true, 1);
    assert_eq!(found.cancelled, counted.cancels);
    assert_eq!(found.dispatched, counted.expiries + counted.armed_at_end);
}

#[test]
fn a_trace_that_tells_nothing_of_delays_is_refused() {
    let refused = |rows: &str| {
        let text = format!("time_ns,op,timer_id,due_ns\n{rows}");
        fit(&trace::read_bytes("a.tt.csv", text.as_bytes()).unwrap(), 1).unwrap_err().to_string()
    };
    assert!(refused("1,P,1,\n5,C,1,\n").starts_with("a.tt.csv: there is no start or re-arm"));
    assert!(refused("1,S,1,5\n1,C,1,\n").starts_with("a.tt.csv: all of it happens at one moment"));
    assert!(refused("1,S,1,1\n5,E,1,\n").contains("`classes` hold no timers"));
}

#[test]
fn parameters_that_cannot_be_are_refused() {
    let good = parsed(&fit(&node(), 1).unwrap().toml);
    assert_eq!(good.impossible(), None);
    let refused = |change: fn(&mut Fitted)| {
        let mut bad = good.clone();
        change(&mut bad);
        bad.impossible().map(|(key, fault)| format!("`{key}` {fault}")).unwrap()
    };
    assert!(refused(|bad| bad.classes.clear()).starts_with("`classes` are 1 to 255"));
    assert!(refused(|bad| bad.arms = 0.0).starts_with("`arms`"));
    assert!(refused(|bad| bad.granule_ns = 0).starts_with("`granule_ns`"));
    assert!(refused(|bad| bad.lateness_ns = Spread::Same(-1.0)).starts_with("`lateness_ns`"));
    assert!(refused(|bad| bad.classes[1].cancelled += 0.5).starts_with("`classes` number 2: `rearmed`"));
    assert!(
        refused(|bad| bad.classes[0].until_rearm = Spread::Same(2.0)).contains("`until_rearm` has a value")
    );
    assert!(refused(|bad| bad.classes[0].starts_per_s = f64::NAN).contains("`starts_per_s`"));
    assert!(refused(|bad| bad.classes[0].gaps = Spread::Same(0.0)).contains("`gaps`"));
    assert!(
        refused(|bad| bad.classes.iter_mut().for_each(|class| class.starts_per_s = 0.0))
            .contains("hold no timers")
    );
    let forever = |bad: &mut Fitted| {
        (bad.classes[0].rearmed, bad.classes[0].cancelled, bad.classes[0].expired) = (vec![1.0], 0.0, 0.0);
    };
    assert!(refused(forever).contains("never end"));
}
