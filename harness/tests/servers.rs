//! Server shapes: what their streams ask is what was measured or published.

#[path = "support/workloads.rs"]
mod workloads;

use std::collections::{BTreeSet, HashMap};
use std::fs;

use harness::stream::{Kind, Stream};
use harness::truth::outcome;
use harness::workload::resolve;

use workloads::*;

const SERVERS: [&str; 10] = [
    "cache-ttl",
    "cache-ttl-jitter",
    "cron-herd",
    "http-keep-alive",
    "http-keep-alive-nginx",
    "raft-election",
    "request-timeouts",
    "rpc-deadlines",
    "session-idle",
    "tcp",
];

const TIMERS: u64 = 10_000;

/// What a stream asks, found by following it with a queue of this test's own.
#[derive(Debug, Default)]
struct Followed {
    /// Arms of timers that were not armed, re-arms, cancels, cancels that missed, expiries: in the phase asked for.
    armed: u64,
    rearmed: u64,
    cancelled: u64,
    missed: u64,
    expired: u64,
    /// The least and the most timers queued before a take.
    queued: Option<(usize, usize)>,
    /// For each arm and re-arm, the least and the greatest delay it can have had: its moment is within a poll.
    delays: Vec<(u64, u64)>,
    /// Expiries in order of arms.
    expiries: Vec<u64>,
}

impl Followed {
    /// `poll` is the distance of polls, and `phase` the phase that counts.
    fn new(stream: &Stream, poll: u64, phase: u32) -> Self {
        let mut found = Self::default();
        let (mut queue, mut places, mut now, mut next) = (BTreeSet::new(), HashMap::new(), 0, 0);
        let mut polls = stream.ops.iter().filter(|op| op.kind == Kind::Take as u8).map(|op| op.at);
        let (mut poll_ahead, mut counts, mut again) = (polls.next(), false, 0_usize);
        for op in &stream.ops {
            match Kind::from_number(op.kind).unwrap() {
                Kind::Phase => counts = op.id == phase,
                Kind::Enqueue | Kind::Rearm => {
                    let was = places.insert(op.id, (op.at, next)).is_some_and(|old| queue.remove(&old));
                    assert_eq!(was, op.kind == Kind::Rearm as u8, "timer {}", op.id);
                    queue.insert((op.at, next));
                    next += 1;
                    if counts {
                        *(if was { &mut found.rearmed } else { &mut found.armed }) += 1;
                        found.expiries.push(op.at);
                        let ahead = poll_ahead.unwrap_or(now);
                        // What follows a timer that has expired is armed at the poll, and all else since then.
                        let armed = if again > 0 { (now, now) } else { (now.max(ahead - poll), ahead) };
                        found.delays.push((op.at.saturating_sub(armed.1), op.at - armed.0));
                    }
                    again = again.saturating_sub(1);
                }
                Kind::Cancel => {
                    let was = places.get(&op.id).is_some_and(|place| queue.remove(place));
                    if counts {
                        *(if was { &mut found.cancelled } else { &mut found.missed }) += 1;
                    }
                }
                Kind::Take => {
                    if counts {
                        let (least, most) = found.queued.unwrap_or((usize::MAX, 0));
                        found.queued = Some((least.min(queue.len()), most.max(queue.len())));
                    }
                    assert!(op.at >= now, "the clock runs back");
                    now = op.at;
                    poll_ahead = polls.next();
                    let due = queue.iter().take_while(|(expiry, _)| *expiry <= now).count();
                    (0..due).for_each(|_| _ = queue.pop_first());
                    again = due;
                    found.expired += if counts { due as u64 } else { 0 };
                }
                _ => {}
            }
        }
        found
    }

    /// Which percentage of the timers that ended was re-armed, was cancelled and has expired.
    fn fates(&self) -> [f64; 3] {
        let ended = [self.rearmed, self.cancelled, self.expired];
        let sum: u64 = ended.iter().sum();
        ended.map(|count| 100.0 * count as f64 / sum as f64)
    }

    /// Which percentage of arms and re-arms is of each kind, by the range of its delays.
    fn shares(&self, kinds: &[(u64, u64, f64)]) -> Vec<f64> {
        let mut counts = vec![0_u64; kinds.len()];
        for (least, most) in &self.delays {
            let is = |(low, high, _): &(u64, u64, f64)| *low <= *most && *least <= *high;
            let mut of = kinds.iter().enumerate().filter(|(_, kind)| is(kind)).map(|(at, _)| at);
            let kind = of.next().unwrap_or_else(|| panic!("a delay from {least} to {most} is of no kind"));
            assert_eq!(of.next(), None, "a delay from {least} to {most} is of more than one kind");
            counts[kind] += 1;
        }
        counts.iter().map(|count| 100.0 * *count as f64 / self.delays.len() as f64).collect()
    }
}

/// A workload, and what its stream must show.
struct Asked {
    /// With a poll so short that delays can be told apart.
    selector: &'static str,
    poll: u64,
    /// Least and greatest delay, and percentage of arms and re-arms.
    kinds: &'static [(u64, u64, f64)],
    /// Percentage of what ended that was re-armed, was cancelled, has expired.
    fates: [f64; 3],
    /// Percentage of expiries that a cancel follows.
    missed: f64,
    /// How far a fate and how far a share may be off, in points of a percentage.
    tolerance: [f64; 2],
}

/// The shares of the times to live of `cache-ttl`, in the table's units, which add up to 38.36.
const fn ttl(seconds: u64, share: f64) -> (u64, u64, f64) {
    (1000 * seconds, 1000 * seconds, 100.0 * share / 38.36)
}

const ASKED: &[Asked] = &[
    Asked {
        selector: "tcp:poll=500",
        poll: 500,
        kinds: &[
            (204_000, 204_000, 48.9 / 0.992),
            (40_000, 40_000, 48.8 / 0.992),
            (1_000_000, 1_000_000, 0.5),
            (200_000, 200_000, 0.5),
            (60_000_000, 60_000_000, 0.5),
        ],
        fates: [98.0, 1.6, 0.4],
        missed: 0.0,
        tolerance: [0.2, 0.5],
    },
    Asked {
        selector: "rpc-deadlines",
        poll: 1000,
        kinds: &[
            (1_000_000, 1_000_000, 34.3),
            (7_200_000_000, 7_200_000_000, 25.7),
            (5_000_000, 5_000_000, 13.4),
            (20_000, 20_000, 12.2),
            (20_000_000, 20_000_000, 0.8),
            // 200 ms is among those of calls that are never answered.
            (100_000, 500_000, 12.2 + 1.4),
        ],
        fates: [0.0, 97.7, 2.3],
        missed: 100.0,
        tolerance: [0.3, 0.5],
    },
    Asked {
        selector: "http-keep-alive",
        poll: 1000,
        kinds: &[
            (8_000_000, 8_000_000, 50.1),
            (30_000_000, 30_000_000, 16.7),
            (4_000_000, 4_000_000, 16.4),
            (1_000, 30_000, 16.8),
        ],
        fates: [33.4, 49.8, 16.8],
        missed: 0.0,
        tolerance: [0.5, 0.5],
    },
    Asked {
        selector: "http-keep-alive-nginx",
        poll: 1,
        kinds: &[(5_000, 5_000, 46.9), (3_000, 3_000, 22.2), (2_000, 2_000, 15.4), (7_000, 7_000, 15.4)],
        fates: [0.0, 98.9, 1.1],
        missed: 0.0,
        tolerance: [0.2, 0.5],
    },
    Asked {
        selector: "session-idle",
        poll: 10,
        kinds: &[(30_000, 30_000, 100.0)],
        fates: [67.2, 0.0, 32.8],
        missed: 0.0,
        tolerance: [0.5, 0.0],
    },
    Asked {
        selector: "cache-ttl",
        poll: 1000,
        kinds: &[
            ttl(60, 6.25),
            ttl(86_400, 4.89),
            ttl(2_592_000, 3.68),
            ttl(432_000, 2.96),
            ttl(28_800, 2.90),
            ttl(3600, 2.53),
            ttl(300, 2.41),
            ttl(172_800, 2.41),
            ttl(7200, 2.26),
            ttl(43_200, 2.03),
            ttl(120, 1.03),
            ttl(600, 1.01),
            ttl(240, 1.0),
            ttl(604_800, 1.0),
            ttl(30, 1.0),
            ttl(1_296_000, 1.0),
        ],
        // Of those of 30 s, and hardly of others, some expire before they are set again or deleted.
        fates: [19.9, 5.0, 75.1],
        missed: 5.0,
        tolerance: [1.0, 1.0],
    },
    Asked {
        selector: "cache-ttl-jitter",
        poll: 1000,
        kinds: &[(490_000, 596_000, 100.0)],
        fates: [20.0, 5.0, 75.0],
        missed: 5.0,
        tolerance: [1.0, 0.0],
    },
    Asked {
        selector: "request-timeouts",
        poll: 10,
        kinds: &[(60_000, 60_000, 100.0)],
        // Beyond (ln 60 + 0.38) / 2.36 = 1.896 standard deviations.
        fates: [0.0, 97.1, 2.9],
        missed: 0.0,
        tolerance: [0.2, 0.0],
    },
    Asked {
        selector: "raft-election",
        poll: 10,
        kinds: &[(150, 300, 100.0)],
        fates: [99.9, 0.0, 0.1],
        missed: 0.0,
        tolerance: [0.05, 0.0],
    },
];

#[test]
fn what_becomes_of_timers_and_how_long_they_are_is_as_measured() {
    for asked in ASKED {
        let found = Followed::new(&stream(asked.selector, TIMERS), asked.poll, 1);
        let (fates, shares) = (found.fates(), found.shares(asked.kinds));
        println!("{}: fates {fates:.2?}, shares {shares:.2?}", asked.selector);
        for (fate, wanted) in fates.into_iter().zip(asked.fates) {
            assert!((fate - wanted).abs() <= asked.tolerance[0], "{}: {fates:?}", asked.selector);
        }
        for (share, (_, _, wanted)) in shares.iter().zip(asked.kinds) {
            assert!((share - wanted).abs() <= asked.tolerance[1], "{}: {shares:?}", asked.selector);
        }
        let missed = 100.0 * found.missed as f64 / found.expired as f64;
        assert!((missed - asked.missed).abs() <= 1.0, "{}: {missed} % of expiries", asked.selector);
    }
}

#[test]
fn as_many_timers_as_were_asked_for_are_armed_all_the_time() {
    for asked in ASKED {
        for n in [1, 1000] {
            let stream = stream(asked.selector, n);
            let found = Followed::new(&stream, asked.poll, 1);
            let n = n as usize;
            assert_eq!(found.queued, Some((n, n)), "{}", asked.selector);
            assert_eq!(stream.header.population, n as u64, "{}", asked.selector);
        }
    }
}

#[test]
fn the_steady_state_is_there_from_its_first_operation() {
    for asked in ASKED {
        // As many expire in the first half as in the second: nothing ebbs away, and nothing builds up.
        let whole = stream(asked.selector, TIMERS);
        let steady = whole.ops.iter().position(|op| op.kind == Kind::Phase as u8 && op.id == 1).unwrap();
        let drain = whole.ops.iter().position(|op| op.kind == Kind::Phase as u8 && op.id == 2).unwrap();
        let mut half = whole.clone();
        half.ops.truncate(steady + (drain - steady) / 2);
        let first = Followed::new(&half, asked.poll, 1).expired as f64;
        let all = Followed::new(&whole, asked.poll, 1).expired as f64;
        let part = first / all;
        // Three standard deviations of so many expiries.
        let off = 1.5 / all.sqrt() + 0.01;
        assert!((part - 0.5).abs() < off, "{}: {first} of {all}", asked.selector);
    }
}

#[test]
fn with_one_shared_delay_the_order_of_expiries_is_the_order_of_arms() {
    let idle = stream("session-idle", 1000);
    for phase in [0, 1] {
        let found = Followed::new(&idle, 10, phase);
        assert!(found.expiries.len() >= 1000 && found.expiries.is_sorted());
    }
    assert!(!Followed::new(&stream("session-idle:jitter=0.1", 1000), 10, 1).expiries.is_sorted());
    assert!(!Followed::new(&stream("cache-ttl", 1000), 1000, 1).expiries.is_sorted());
}

#[test]
fn small_re_arms_are_left_out_and_are_asked_when_nothing_is_absorbed() {
    let rearmed = |selector: &str| {
        let found = Followed::new(&stream(selector, TIMERS), 1, 1);
        100.0 * found.rearmed as f64 / (found.rearmed + found.armed) as f64
    };
    // 225 of 1,457 + 225.
    let all = rearmed("http-keep-alive-nginx:absorb=0");
    assert!((all - 13.4).abs() < 0.5, "{all} %");
    assert_eq!(rearmed("http-keep-alive-nginx"), 0.0);
    // Of those 1 s after another, on average, a part is within 300 ms.
    let some = rearmed("session-idle:absorb=1000,cancelled=0.3");
    let none = rearmed("session-idle:cancelled=0.3");
    assert!(some < none - 5.0, "{some} % and {none} %");
}

#[test]
fn jitter_spreads_every_delay_by_the_part_it_is() {
    let found = Followed::new(&stream("session-idle:jitter=0.5,poll=1", 1000), 1, 1);
    let (least, most) =
        (found.delays.iter().map(|delay| delay.1).min(), found.delays.iter().map(|delay| delay.0).max());
    assert!((14_999..15_100).contains(&least.unwrap()), "{least:?}");
    assert!((44_900..=45_000).contains(&most.unwrap()), "{most:?}");
}

#[test]
fn jobs_run_at_their_intervals_and_the_herd_at_nine() {
    const DAY: u64 = 86_400;
    let stream = stream("cron-herd:days=8", TIMERS);
    let mut every: HashMap<u64, u64> = HashMap::new();
    let mut last: HashMap<u32, u64> = HashMap::new();
    let mut intervals: HashMap<u32, u64> = HashMap::new();
    for op in stream.ops.iter().filter(|op| op.kind == Kind::Enqueue as u8) {
        if let Some(before) = last.insert(op.id, op.at) {
            let interval = op.at - before;
            assert_eq!(*intervals.entry(op.id).or_insert(interval), interval, "job {}", op.id);
        }
    }
    assert_eq!(intervals.len() as u64, TIMERS, "each job has run");
    intervals.values().for_each(|interval| *every.entry(*interval).or_default() += 1);
    // Jobs of 1,228 in the lists, of which the herd leaves 96 %.
    let lists = [
        (43_200, 266.0),
        (DAY, 367.0),
        (21_600, 134.0),
        (14_400, 109.0),
        (3_600, 88.0),
        (7_200, 58.0),
        (10_800, 47.0),
        (604_800, 23.0),
        (28_800, 136.0),
    ];
    assert_eq!(every.len(), lists.len());
    for (interval, jobs) in lists {
        let wanted = 96.0 * jobs / 1228.0 + if interval == DAY { 4.0 } else { 0.0 };
        let share = every[&interval] as f64 / 100.0;
        assert!((share - wanted).abs() < 1.5, "{share} % every {interval} s, and not {wanted} %");
    }
    let due = |at: u64| last_due(&stream, at);
    let nine: Vec<u64> = (0..8).map(|day| due(day * DAY + 32_400)).collect();
    let before: Vec<u64> = (0..8).map(|day| due(day * DAY + 32_400 - 60)).collect();
    for (nine, before) in nine.iter().zip(&before) {
        assert!((350..600).contains(nine) && nine > &(5 * before), "{nine} at nine, {before} before");
    }
}

/// How many timers are due just at this moment.
fn last_due(stream: &Stream, at: u64) -> u64 {
    stream.ops.iter().filter(|op| op.kind == Kind::Enqueue as u8 && op.at == at).count() as u64
}

#[test]
fn every_stream_can_be_asked_and_dispatches_what_it_armed() {
    for name in SERVERS {
        for n in [1, 1001] {
            let workload = one(&short(name));
            let stream = workload.stream(n, n).unwrap();
            stream.check().unwrap_or_else(|fault| panic!("{name}/{n}: {fault}"));
            assert!(stream.ops.len() * 24 <= workload.stream_bytes(n) as usize, "{name}/{n}");
            assert_eq!(u64::from(stream.header.timers), n);
            let found = outcome(&stream, true, 1);
            assert_eq!((found.left, found.disorder), (0, 0), "{name}/{n}");
            assert_eq!(found.enqueued, found.dispatched + found.cancelled, "{name}/{n}");
        }
    }
}

/// A workload with so few operations that the slowest oracle follows.
fn short(name: &str) -> String {
    if name == "cron-herd" { format!("{name}:days=1") } else { format!("{name}:operations=3000") }
}

#[test]
fn every_structure_and_oracle_agrees_on_every_server() {
    SERVERS.iter().for_each(|name| all_agree(name, &stream(&short(name), 300)));
}

#[test]
fn every_server_depends_on_its_seed() {
    for name in SERVERS {
        let workload = one(&short(name));
        assert_ne!(workload.stream(300, 1).unwrap().ops, workload.stream(300, 2).unwrap().ops, "{name}");
    }
}

#[test]
fn a_longer_stream_begins_like_a_shorter_one() {
    for name in ["tcp", "cache-ttl"] {
        let steady = |operations: u32| {
            let mut stream = stream(&format!("{name}:operations={operations}"), 500);
            let drain = stream.ops.iter().position(|op| op.kind == Kind::Phase as u8 && op.id == 2).unwrap();
            stream.ops.truncate(drain);
            stream.ops
        };
        let (short, long) = (steady(5000), steady(50_000));
        assert!(short.len() > 5000 && long.len() > 50_000);
        assert_eq!(long[..short.len()], short, "{name}");
    }
}

#[test]
fn impossible_parameters_are_refused_by_name_and_in_a_file_by_line() {
    let refused = |selector: &str| resolve(selector).unwrap_err().to_string();
    for (selector, key) in [
        ("tcp:poll=0", "poll"),
        ("tcp:jitter=2", "jitter"),
        ("tcp:missed=-1", "missed"),
        ("tcp:rearmed=nan", "rearmed"),
        ("tcp:rearmed=0.5,cancelled=0.6", "kinds"),
        ("tcp:operations=5g", "operations"),
        ("cron-herd:herd=2", "herd"),
        ("cron-herd:herd_at=90000", "herd_at"),
        ("cron-herd:poll=0", "poll"),
    ] {
        let error = refused(selector);
        assert!(error.contains(&format!("`{key}` ")), "{selector}: {error}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    for (model, list, says) in [
        ("server", "kinds = [{ share = 0, delay = 5 }]", "mine.toml:3: `kinds` have a share each"),
        ("server", "kinds = [{ share = 1, delay = 0 }]", "mine.toml:3: `kinds` have a delay each"),
        ("server", "kinds = [{ share = 1, delay = 5, to = 4 }]", "mine.toml:3: `kinds` may have delays from"),
        ("server", "kinds = []", "mine.toml:3: `kinds` lists the kinds of timers"),
        ("server", "gap = \"expo\"", "mine.toml:3: "),
        ("schedule", "jobs = []", "mine.toml:3: `jobs` lists the intervals"),
        (
            "schedule",
            "jobs = [{ share = 1, every = 7, grid = 2 }]",
            "mine.toml:3: `jobs` have intervals that",
        ),
        ("schedule", "jobs = [{ share = 1, every = 0 }]", "mine.toml:3: `jobs` run `every` 1 to"),
    ] {
        fs::write(&path, format!("model = \"{model}\"\n[parameters]\n{list}\n")).unwrap();
        let error = refused(path.to_str().unwrap());
        assert!(error.contains(says), "{list}: {error}");
    }
}
