//! What a stream asks of a queue: operations by phase, delays, queue length, and what becomes of each arming.
//!
//! ```text
//! Stream --> the reference does it once, operation by operation --> Profile
//! ```
//!
//! A *delay* is an expiry less the clock at which it was asked for: the `now` of the last take or dispatch, or
//! what the workload says if that is later (a recorded trace says when each timer was armed). An *arming* is an
//! enqueue or a re-arm; each ends in just one way, so that the shares add up:
//!
//! ```text
//! armed = re-armed + cancelled + expired + dropped + left
//! ```
//!
//! Costs what the reference costs, some 0.5 us an operation, and 8 bytes for each arming.

use impls::queue::Requeued;
use itertools::Itertools;
use rayon::prelude::*;
use serde::Serialize;

use super::player::{Answer, Player};
use crate::record::word;
use crate::stream::{Header, Kind, Op, Point, Stream};

/// What a stream asks of a queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Profile {
    /// One for each phase and kind of operation, in order of first occurrence.
    pub operations: Vec<Operations>,
    /// The delays of all armings.
    pub delays: Delays,
    /// The queue's length, from the first operation to the last.
    pub length: Vec<Slice>,
    /// What became of the armings.
    pub fates: Fates,
    /// What the reference said of put-backs.
    pub put_backs: PutBacks,
    /// The first operations, in words.
    pub first: Vec<Told>,
}

/// The operations of one kind in one phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Operations {
    /// Name of the phase.
    pub phase: String,
    /// The kind.
    pub operation: Kind,
    /// Calls.
    pub calls: u64,
    /// Timers handled by them: queued, taken, dispatched, put back, or found.
    pub timers: u64,
    /// Runs of operations of this kind: what the `time` pass times as one.
    pub segments: u64,
    /// What the `latency` pass times singly: the calls, but of a dispatch each timer, and no cancel or look-up
    /// of a timer that was never queued, which has no handle to ask with.
    pub timed_singly: u64,
}

/// Delays, in ticks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Delays {
    /// Armings: all delays.
    pub count: u64,
    /// Those whose expiry was past when they were armed; their delay counts as 0.
    pub past: u64,
    /// Distinct delays.
    pub distinct: u64,
    /// Distinct delays to three digits: fewer than `distinct` where due times and the clock are of two grains.
    pub distinct_rounded: u64,
    /// The shortest, the median (nearest rank) and the longest; none without armings.
    pub least_median_most: Option<[u64; 3]>,
    /// The most frequent ones to three digits, at most [`Delays::COMMON`], each with how often it occurs.
    pub common: Vec<Common>,
    /// How many lie in which range, shortest first; ranges grow by a constant factor.
    pub histogram: Vec<Range>,
}

/// A delay that occurs often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Common {
    /// Ticks, to three digits.
    pub ticks: u64,
    /// How often.
    pub count: u64,
}

/// A range of delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Range {
    /// Its shortest, in ticks.
    pub from: u64,
    /// Its longest, within it.
    pub to: u64,
    /// How many lie in it.
    pub count: u64,
}

/// The length of the queue over a part of the operations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Slice {
    /// The phase in which it begins.
    pub phase: String,
    /// Its first operation, counted from 0, marks included.
    pub first: u64,
    /// Fewest timers queued after one of its operations.
    pub least: u64,
    /// Most.
    pub most: u64,
}

/// What became of all armings: [`Fates::armed`] is the sum of the five below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Fates {
    /// `enqueue` calls and re-arms.
    pub armed: u64,
    /// Armed anew before they expired.
    pub rearmed: u64,
    /// Cancelled.
    pub cancelled: u64,
    /// Dispatched.
    pub expired: u64,
    /// Those of them that are dispatched in the phase `drain`, in which a workload lets go of what is left.
    pub drained: u64,
    /// Dropped with a batch.
    pub dropped: u64,
    /// Still queued or out in a batch at the end, or dropped with the queue.
    pub left: u64,
    /// Cancels that missed, armings or not.
    pub cancel_missed: u64,
}

/// Put-backs by what the reference said of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PutBacks {
    /// Of an empty batch.
    pub nothing: u64,
    /// Into an empty queue.
    pub into_empty: u64,
    /// In front, in one step.
    pub in_front: u64,
    /// Merged.
    pub merged: u64,
    /// Timers put back in any way.
    pub timers: u64,
    /// Timers in batches that were merged.
    pub merged_timers: u64,
}

/// An operation in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Told {
    /// Its place in the stream, counted from 0.
    pub at: u64,
    /// What is asked.
    pub asked: String,
    /// What the reference gives; empty where there is nothing to give.
    pub gives: String,
}

impl Delays {
    /// Frequent delays that are listed.
    pub const COMMON: usize = 8;

    /// Ranges of a histogram, at most, the one for 0 besides.
    pub const RANGES: u32 = 16;

    fn of(mut delays: Vec<u64>, past: u64) -> Self {
        delays.par_sort_unstable();
        let (Some(&least), Some(&most)) = (delays.first(), delays.last()) else { return Self::default() };
        let median = delays[(delays.len() - 1) / 2];
        let counted: Vec<Common> = counted(delays.iter().map(|ticks| (*ticks, 1)));
        let mut rounded = self::counted(counted.iter().map(|common| (rounded(common.ticks), common.count)));
        let (distinct, distinct_rounded) = (counted.len() as u64, rounded.len() as u64);
        rounded.sort_by_key(|common| (std::cmp::Reverse(common.count), common.ticks));
        rounded.truncate(Self::COMMON);
        Self {
            count: delays.len() as u64,
            past,
            distinct,
            distinct_rounded,
            least_median_most: Some([least, median, most]),
            common: rounded,
            histogram: histogram(&counted),
        }
    }
}

/// How often each delay occurs, for delays in order.
fn counted(delays: impl Iterator<Item = (u64, u64)>) -> Vec<Common> {
    let common = |(ticks, count)| Common { ticks, count };
    delays
        .map(common)
        .coalesce(
            |a, b| if a.ticks == b.ticks { Ok(common((a.ticks, a.count + b.count))) } else { Err((a, b)) },
        )
        .collect()
}

/// The nearest number of three digits and zeros behind them.
pub(crate) fn rounded(ticks: u64) -> u64 {
    let unit = 10_u64.pow(ticks.checked_ilog10().unwrap_or(0).saturating_sub(2));
    let below = ticks / unit * unit;
    if ticks - below >= unit.div_ceil(2) { below.saturating_add(unit) } else { below }
}

/// Counts by range, for delays in order. 0 has a range of its own; the others begin and end at powers of two,
/// so few of them that they fit, and what lies between the first and the last is there if it is empty.
fn histogram(counted: &[Common]) -> Vec<Range> {
    let powers = || counted.iter().filter(|common| common.ticks > 0).map(|common| common.ticks.ilog2());
    let mut ranges = Vec::new();
    if let Some(zero) = counted.first().filter(|common| common.ticks == 0) {
        ranges.push(Range { from: 0, to: 0, count: zero.count });
    }
    let (Some(first), Some(last)) = (powers().next(), powers().next_back()) else { return ranges };
    let step = (last - first + 1).div_ceil(Delays::RANGES);
    let at = ranges.len();
    for power in (first..=last).step_by(step as usize) {
        let to = 1_u64.checked_shl(power + step).map_or(u64::MAX, |end| end - 1);
        ranges.push(Range { from: 1 << power, to, count: 0 });
    }
    for common in counted.iter().filter(|common| common.ticks > 0) {
        ranges[at + ((common.ticks.ilog2() - first) / step) as usize].count += common.count;
    }
    ranges
}

impl Profile {
    /// Operations that are told in words.
    pub const FIRST: usize = 20;

    /// Parts of the stream for which the queue's length is told, at most.
    pub const SLICES: usize = 20;

    /// The profile of a stream.
    ///
    /// # Panics
    ///
    /// When [`Stream::check`] finds a fault: it is checked first.
    pub fn of(stream: &Stream) -> Self {
        let mut player = Player::new(&stream.header, 1).expect("the reference can be exact");
        let mut watch = Watch::new(stream);
        for op in &stream.ops {
            let answer = player.play(op, |_| ());
            watch.see(op, answer, player.queued());
        }
        watch.finish()
    }

    /// Calls, and runs of them, over all phases.
    pub fn totals(&self) -> [u64; 3] {
        self.operations.iter().fold([0; 3], |[calls, segments, singly], row| {
            [calls + row.calls, segments + row.segments, singly + row.timed_singly]
        })
    }
}

/// A profile while its stream is gone through.
struct Watch<'a> {
    header: &'a Header,
    /// Operations of a slice.
    slice: usize,
    at: usize,
    phase: usize,
    /// The kind of the operation before this one, unless that was a mark.
    before: Option<Kind>,
    now: u64,
    delays: Vec<u64>,
    past: u64,
    operations: Vec<((usize, Kind), Operations)>,
    length: Vec<Slice>,
    fates: Fates,
    put_backs: PutBacks,
    first: Vec<Told>,
}

impl<'a> Watch<'a> {
    fn new(stream: &'a Stream) -> Self {
        Self {
            header: &stream.header,
            slice: stream.ops.len().div_ceil(Profile::SLICES).max(1),
            at: 0,
            phase: 0,
            before: None,
            now: 0,
            delays: Vec::new(),
            past: 0,
            operations: Vec::new(),
            length: Vec::new(),
            fates: Fates::default(),
            put_backs: PutBacks::default(),
            first: Vec::new(),
        }
    }

    fn see(&mut self, op: &Op, answer: Answer, queued: u64) {
        let kind = Kind::from_number(op.kind).expect("the stream was checked");
        if kind == Kind::Phase {
            self.phase = op.id as usize;
        }
        if self.first.len() < Profile::FIRST {
            let told = Told { at: self.at as u64, asked: asked(op, kind, self.header), gives: gives(answer) };
            self.first.push(told);
        }
        self.note_length(queued);
        self.note_delay(op, kind);
        self.note_fate(answer);
        self.note_put_back(answer);
        if kind.is_mark() {
            self.before = None;
        } else {
            self.note_operation(kind, answer);
            self.before = Some(kind);
        }
        self.at += 1;
    }

    fn phase(&self) -> String {
        self.header.phases.get(self.phase).cloned().unwrap_or_default()
    }

    fn note_length(&mut self, queued: u64) {
        if self.at.is_multiple_of(self.slice) {
            let slice = Slice { phase: self.phase(), first: self.at as u64, least: queued, most: queued };
            self.length.push(slice);
        }
        let slice = self.length.last_mut().expect("the first operation begins one");
        slice.least = slice.least.min(queued);
        slice.most = slice.most.max(queued);
    }

    fn note_delay(&mut self, op: &Op, kind: Kind) {
        match kind {
            Kind::Take | Kind::Dispatch => self.now = op.at,
            Kind::Enqueue | Kind::Rearm => {
                self.fates.armed += 1;
                let now = self.now.max(op.arg);
                self.past += u64::from(op.at < now);
                self.delays.push(op.at.saturating_sub(now));
            }
            _ => {}
        }
    }

    fn note_fate(&mut self, answer: Answer) {
        match answer {
            Answer::Rearmed(true) => self.fates.rearmed += 1,
            Answer::Dispatched(timers, _) => {
                self.fates.expired += timers;
                self.fates.drained += if self.phase() == "drain" { timers } else { 0 };
            }
            Answer::Dropped(timers) => self.fates.dropped += timers,
            _ => {}
        }
    }

    fn note_put_back(&mut self, answer: Answer) {
        let Answer::Requeued(timers, how) = answer else { return };
        self.put_backs.timers += timers;
        match how {
            Requeued::Nothing => self.put_backs.nothing += 1,
            Requeued::IntoEmpty => self.put_backs.into_empty += 1,
            Requeued::InFront => self.put_backs.in_front += 1,
            Requeued::Merged(_) => {
                self.put_backs.merged += 1;
                self.put_backs.merged_timers += timers;
            }
        }
    }

    fn note_operation(&mut self, kind: Kind, answer: Answer) {
        if let (Kind::Cancel, Answer::Found(found)) = (kind, answer) {
            self.fates.cancelled += u64::from(found == Some(true));
            self.fates.cancel_missed += u64::from(found != Some(true));
        }
        let place = (self.phase, kind);
        let at = self.operations.iter().position(|(known, _)| *known == place).unwrap_or_else(|| {
            let (phase, operation) = (self.phase(), kind);
            let row = Operations { phase, operation, calls: 0, timers: 0, segments: 0, timed_singly: 0 };
            self.operations.push((place, row));
            self.operations.len() - 1
        });
        let row = &mut self.operations[at].1;
        row.calls += 1;
        // The drop of the queue is a segment of its own, and nothing is asked of it afterwards.
        row.segments += u64::from(self.before != Some(kind));
        row.timers += handled(kind, answer);
        row.timed_singly += match answer {
            Answer::Dispatched(timers, _) => timers,
            Answer::Found(None) => 0,
            _ => 1,
        };
    }

    fn finish(self) -> Profile {
        let mut fates = self.fates;
        fates.left = fates.armed - fates.rearmed - fates.cancelled - fates.expired - fates.dropped;
        Profile {
            operations: self.operations.into_iter().map(|(_, row)| row).collect(),
            delays: Delays::of(self.delays, self.past),
            length: self.length,
            fates,
            put_backs: self.put_backs,
            first: self.first,
        }
    }
}

/// Timers that an operation handled, as drivers count them.
fn handled(kind: Kind, answer: Answer) -> u64 {
    match answer {
        Answer::Taken(timers)
        | Answer::Dispatched(timers, _)
        | Answer::Requeued(timers, _)
        | Answer::Dropped(timers)
        | Answer::Freed(timers) => timers,
        Answer::Found(found) => u64::from(found == Some(true)),
        Answer::Rearmed(_) => 1,
        Answer::Nothing => u64::from(kind == Kind::Enqueue),
        Answer::Next(_) => 0,
    }
}

/// An operation in words.
fn asked(op: &Op, kind: Kind, header: &Header) -> String {
    let Op { at, arg, id, batch, .. } = *op;
    match kind {
        Kind::Phase => format!("phase `{}`", header.phases.get(id as usize).map_or("", String::as_str)),
        Kind::Enqueue => format!("enqueue timer {id}, due at {at}"),
        Kind::Take => {
            let limit = if arg == u64::MAX { String::new() } else { format!(", at most {arg}") };
            let keep = if id == 0 { String::new() } else { format!(", so that {id} stay") };
            format!("take what is due at {at} as batch {batch}{limit}{keep}")
        }
        Kind::Dispatch if arg == u64::MAX => format!("dispatch batch {batch} whole"),
        Kind::Dispatch => {
            let ticks = header.handler_ticks;
            format!("dispatch batch {batch} from {at} on, in a window of {arg} ticks at {ticks} a handler")
        }
        Kind::Requeue => format!("put back what is left of batch {batch}"),
        Kind::DropBatch => format!("drop batch {batch}"),
        Kind::Cancel => format!("cancel timer {id}"),
        Kind::Rearm => format!("re-arm timer {id}, due at {at}"),
        Kind::Get => format!("look up timer {id}"),
        Kind::NextExpiry => "ask for the next expiry".into(),
        Kind::Shrink => "shrink".into(),
        Kind::DropQueue => "drop the queue".into(),
        Kind::Sample => {
            format!(
                "(look at memory: {})",
                Point::from_number(id).map_or_else(String::new, |point| word(&point))
            )
        }
        Kind::Idle => format!("(do nothing for {at} ms)"),
        Kind::Purge => "(ask the allocator for its free pages)".into(),
    }
}

/// What an operation gave, in words.
fn gives(answer: Answer) -> String {
    let timers = |count: u64| if count == 1 { "1 timer".to_owned() } else { format!("{count} timers") };
    match answer {
        Answer::Nothing => String::new(),
        Answer::Taken(count) | Answer::Dropped(count) | Answer::Freed(count) => timers(count),
        Answer::Dispatched(count, true) => format!("{}, then the window closes", timers(count)),
        Answer::Dispatched(count, false) => timers(count),
        Answer::Requeued(_, Requeued::Nothing) => "nothing was left".into(),
        Answer::Requeued(count, Requeued::IntoEmpty) => format!("{} into an empty queue", timers(count)),
        Answer::Requeued(count, Requeued::InFront) => format!("{} in front", timers(count)),
        Answer::Requeued(count, Requeued::Merged(_)) => format!("{} merged", timers(count)),
        Answer::Found(Some(true)) => "found".into(),
        Answer::Found(_) => "missed".into(),
        Answer::Rearmed(true) => "moved".into(),
        Answer::Rearmed(false) => "enqueued anew".into(),
        Answer::Next(next) => next.map_or_else(|| "none".into(), |next| next.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::builder::{ALL, Builder};
    use super::*;
    use crate::truth::outcome;

    fn profile(lay: impl FnOnce(&mut Builder)) -> (Stream, Profile) {
        let mut builder = Builder::new("test", 100);
        lay(&mut builder);
        let stream = builder.finish();
        stream.check().unwrap();
        let profile = Profile::of(&stream);
        (stream, profile)
    }

    /// Six timers; two are dispatched, one is put back, one re-armed, one cancelled and missed, and one is armed
    /// when it is past.
    fn everything(out: &mut Builder) {
        out.handler_ticks(10);
        out.phase("fill");
        [5, 6, 7, 40, 40].into_iter().for_each(|expiry| _ = out.enqueue(expiry));
        out.sample(Point::Filled);
        out.enqueue(50);
        out.phase("work");
        out.next_expiry();
        out.take(10, ALL, 0, 0, 3);
        out.dispatch(10, 20, 0);
        out.requeue(0, 1);
        out.rearm(3, 30, true);
        out.cancel(4, true);
        out.cancel(4, false);
        out.rearm(0, 4, false);
        out.take(10, ALL, 0, 0, 2);
        out.drop_batch(0);
        out.phase("free");
        out.drop_queue();
    }

    #[test]
    fn operations_are_counted_by_phase_and_kind_in_order_of_first_occurrence() {
        let (_, profile) = profile(everything);
        let rows: Vec<_> = profile
            .operations
            .iter()
            .map(|row| {
                (row.phase.as_str(), row.operation, row.calls, row.timers, row.segments, row.timed_singly)
            })
            .collect();
        let wanted = [
            // A look at memory parts the enqueues in two.
            ("fill", Kind::Enqueue, 6, 6, 2, 6),
            ("work", Kind::NextExpiry, 1, 0, 1, 1),
            ("work", Kind::Take, 2, 3 + 2, 2, 2),
            ("work", Kind::Dispatch, 1, 2, 1, 2),
            ("work", Kind::Requeue, 1, 1, 1, 1),
            ("work", Kind::Rearm, 2, 2, 2, 2),
            ("work", Kind::Cancel, 2, 1, 1, 2),
            ("work", Kind::DropBatch, 1, 2, 1, 1),
            ("free", Kind::DropQueue, 1, 2, 1, 1),
        ];
        assert_eq!(rows, wanted);
        assert_eq!(profile.totals(), [17, 12, 18]);
    }

    #[test]
    fn each_arming_ends_in_one_way() {
        let (_, profile) = profile(everything);
        let wanted = Fates {
            armed: 8,
            rearmed: 1,
            cancelled: 1,
            expired: 2,
            dropped: 2,
            left: 2,
            cancel_missed: 1,
            ..Fates::default()
        };
        assert_eq!(profile.fates, wanted);
    }

    #[test]
    fn what_the_drain_dispatches_is_told_apart() {
        let (_, profile) = profile(|out| {
            out.phase("run");
            [1, 2, 9].into_iter().for_each(|expiry| _ = out.enqueue(expiry));
            out.sweep(2, 2);
            out.phase("drain");
            out.sweep(9, 1);
        });
        assert_eq!((profile.fates.expired, profile.fates.drained), (3, 1));
    }

    #[test]
    fn a_delay_counts_from_the_last_take_and_what_is_past_counts_as_nothing() {
        let (_, profile) = profile(everything);
        let delays = &profile.delays;
        // 5 6 7 40 40 50 from the start; then, at 10, 30 for the re-arm and 4 for the timer that is past.
        assert_eq!((delays.count, delays.past, delays.distinct), (8, 1, 7));
        assert_eq!(delays.least_median_most, Some([0, 7, 50]));
        assert_eq!(delays.common[0], Common { ticks: 40, count: 2 });
        let ranges: Vec<_> =
            delays.histogram.iter().map(|range| (range.from, range.to, range.count)).collect();
        assert_eq!(ranges, [(0, 0, 1), (4, 7, 3), (8, 15, 0), (16, 31, 1), (32, 63, 3)]);
    }

    #[test]
    fn a_clock_that_a_workload_tells_is_where_delays_begin_unless_the_last_take_was_later() {
        let (_, profile) = profile(|out| {
            out.phase("all");
            out.clock(100);
            out.enqueue(130);
            out.sweep(120, 0);
            out.enqueue(130);
        });
        let common: Vec<_> = profile.delays.common.iter().map(|common| common.ticks).collect();
        assert_eq!(common, [10, 30]);
    }

    #[test]
    fn delays_that_differ_by_the_grain_of_a_clock_are_told_as_one() {
        let rounded = [0, 7, 999, 1004, 1005, 3_999_212_511, 204_400, u64::MAX].map(rounded);
        assert_eq!(rounded, [0, 7, 999, 1000, 1010, 4_000_000_000, 204_000, 18_400_000_000_000_000_000]);
        let delays = Delays::of(vec![4_000_000_000, 3_999_212_511, 5, 3_999_999_999], 0);
        assert_eq!((delays.distinct, delays.distinct_rounded), (4, 2));
        assert_eq!(delays.common, [Common { ticks: 4_000_000_000, count: 3 }, Common { ticks: 5, count: 1 }]);
    }

    #[test]
    fn put_backs_and_what_is_dispatched_are_what_the_reference_run_says() {
        for name in
            ["burst", "window:rounds=20,due=40,done=15", "cycle:batches=3,rounds=9,put_back=first-first"]
        {
            let workload = super::super::resolve(name).unwrap().remove(0);
            let stream = workload.stream(700, 3).unwrap();
            let (profile, outcome) = (Profile::of(&stream), outcome(&stream, true, 1));
            let PutBacks { nothing, into_empty, in_front, merged, timers, merged_timers } = profile.put_backs;
            assert_eq!(
                [nothing, into_empty, in_front, merged, timers, merged_timers],
                [
                    outcome.requeued_nothing,
                    outcome.requeued_into_empty,
                    outcome.requeued_in_front,
                    outcome.requeued_merged,
                    outcome.put_back,
                    outcome.merged_timers
                ],
                "{name}"
            );
            assert_eq!(
                (profile.fates.expired, profile.fates.left),
                (outcome.dispatched, outcome.left),
                "{name}"
            );
        }
    }

    #[test]
    fn a_histogram_has_few_ranges_however_far_delays_lie_apart_and_holds_them_all() {
        for delays in
            [vec![], vec![0], vec![u64::MAX], vec![1, u64::MAX], (0..1000).collect(), vec![3, 1 << 40]]
        {
            let found = Delays::of(delays.clone(), 0).histogram;
            assert!(found.len() <= Delays::RANGES as usize + 1, "{found:?}");
            for range in &found {
                let within = delays.iter().filter(|delay| (range.from..=range.to).contains(delay)).count();
                assert_eq!(range.count, within as u64, "{range:?} of {delays:?}");
            }
            assert_eq!(found.iter().map(|range| range.count).sum::<u64>(), delays.len() as u64);
        }
    }

    #[test]
    fn the_length_is_told_in_slices_with_the_phase_they_begin_in() {
        let (stream, profile) = profile(|out| {
            out.phase("up");
            (0..50).for_each(|expiry| _ = out.enqueue(expiry));
            out.phase("down");
            (0..20).for_each(|now| out.sweep(now, 1));
        });
        assert_eq!(profile.length.len(), 19, "113 operations, 6 to a slice");
        assert_eq!(stream.ops.len(), 113);
        let first = &profile.length[0];
        assert_eq!((first.phase.as_str(), first.first, first.least, first.most), ("up", 0, 0, 4));
        let last = profile.length.last().unwrap();
        assert_eq!((last.phase.as_str(), last.first, last.least, last.most), ("down", 108, 30, 31));
        assert_eq!(profile.length.iter().map(|slice| slice.most).max(), Some(50));
    }

    #[test]
    fn the_first_operations_are_told_in_words_with_what_they_give() {
        let (_, profile) = profile(everything);
        let told: Vec<_> =
            profile.first.iter().map(|told| (told.asked.as_str(), told.gives.as_str())).collect();
        assert_eq!(told.len(), Profile::FIRST);
        assert_eq!(told[0], ("phase `fill`", ""));
        assert_eq!(told[1], ("(look at memory: empty)", ""));
        assert_eq!(told[2], ("enqueue timer 0, due at 5", ""));
        assert_eq!(
            told[9..],
            [
                ("phase `work`", ""),
                ("ask for the next expiry", "5"),
                ("take what is due at 10 as batch 0", "3 timers"),
                (
                    "dispatch batch 0 from 10 on, in a window of 20 ticks at 10 a handler",
                    "2 timers, then the window closes"
                ),
                ("put back what is left of batch 0", "1 timer in front"),
                ("re-arm timer 3, due at 30", "moved"),
                ("cancel timer 4", "found"),
                ("cancel timer 4", "missed"),
                ("re-arm timer 0, due at 4", "enqueued anew"),
                ("take what is due at 10 as batch 0", "2 timers"),
                ("drop batch 0", "2 timers"),
            ]
        );
    }
}
