//! What a schedule reached. A suite that never got to a case has not proven it, so a run in which one of
//! these counts is 0 fails.

use std::fmt;

macro_rules! marks {
    ($( $name:ident: $words:literal, )*) => {
        /// Something that a schedule must reach to prove anything about it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Mark {
            $( #[doc = $words] $name, )*
        }

        impl Mark {
            /// All of them.
            pub const ALL: &'static [Self] = &[$( Self::$name, )*];

            /// What it is, in words.
            pub fn words(self) -> &'static str {
                match self {
                    $( Self::$name => $words, )*
                }
            }
        }
    };
}

marks! {
    EnqueueInOrder: "enqueue at or behind the last expiry",
    EnqueueOutOfOrder: "enqueue before the last expiry",
    EnqueueTie: "enqueue with the expiry of a queued timer",
    EnqueueFirst: "enqueue before the head",
    EnqueueIntoEmpty: "enqueue into an empty queue",
    EnqueuePast: "enqueue with an expiry before now",
    EnqueueWhileOut: "late arrival: enqueue due at once while a batch is out",
    EnqueueAbove32Bits: "enqueue with an expiry above 32 bits",
    EnqueueAbove63Bits: "enqueue with an expiry of 2^63 or more",
    EnqueueMax: "enqueue at u64::MAX",
    EnqueueZero: "enqueue at 0",
    TakeNothingDue: "take with nothing due in a queue that holds timers",
    TakeFromEmpty: "take from an empty queue",
    TakeLimitZero: "take with limit 0 while timers are due",
    TakeCutByLimit: "take cut short by its limit",
    TakeCutThroughTies: "limit cut through ties",
    TakeExactLimit: "limit equal to what was due",
    TakeEmptiedQueue: "queue emptied by a take",
    TakeTiesAtHead: "ties at the head of a take",
    TakeNextIsNear: "take with the next timer due within a tick of what was due",
    TakeNowBackEmpty: "now went back and nothing was due",
    TakeNowBackSome: "now went back and something was due by it",
    TakeNowMax: "take at u64::MAX",
    TakeLongJump: "take more than 2^20 ticks after the one before",
    TakeWhileOut: "take while another batch is out",
    ProcessEmpty: "process of an empty batch",
    ProcessDrained: "process that drained its batch",
    ProcessCutShort: "batch cut short: window closed part-way",
    ProcessNoWindow: "window of 0",
    ProcessStopped: "handler stopped",
    ProcessFailed: "handler failed",
    ProcessFailedLate: "handler failed when the window had closed",
    ProcessPanicked: "panic in a handler",
    ProcessAgain: "process of a batch that was processed before",
    RequeueNothing: "put back an empty batch",
    RequeueIntoEmpty: "put back into an empty queue",
    RequeueInFront: "put back in front",
    RequeueInFrontOfTie: "put back in front of a tie at the head",
    RequeueMerged: "put back merged",
    RequeueMergedBehindAll: "put back merged, the last one behind the whole queue",
    RequeueCutBatch: "put back after a part was dispatched",
    RequeueAfterOthers: "put back after batches taken later were put back",
    RequeueAgain: "put back of timers that had been put back before",
    RequeueAfterShrink: "put back after a shrink while the batch was out",
    DropBatch: "batch with timers dropped",
    DropBatchWhileOthersOut: "batch dropped while others were out",
    Advanced: "advance by hand",
    GetQueued: "look-up of a queued timer",
    GetOut: "look-up of a timer out in a batch",
    GetPutBack: "look-up of a put-back timer",
    GetGone: "look-up of a dispatched or cancelled timer",
    GetStale: "look-up with a stale handle of a timer that was moved",
    CancelHead: "cancel of the head",
    CancelLast: "cancel of the last",
    CancelMiddle: "cancel of one in the middle",
    CancelOnly: "cancel of the only one",
    CancelPutBack: "cancel of a put-back timer",
    CancelOut: "cancel of a timer out in a batch",
    CancelDispatched: "cancel of a dispatched timer",
    CancelTwice: "cancel of a cancelled timer",
    CancelStale: "cancel with a stale handle of a timer that was moved",
    CancelDropped: "cancel of a timer dropped with its batch",
    CancelWhileOut: "cancel of a queued timer while a batch is out",
    MoveEarlier: "reschedule to an earlier expiry",
    MoveLater: "reschedule to a later expiry",
    MoveSame: "reschedule to the same expiry",
    MovePast: "reschedule into the past",
    MoveFirst: "reschedule of the head",
    MoveLast: "reschedule of the last",
    MoveToFront: "reschedule to before the head",
    MoveTie: "reschedule to the expiry of another timer",
    MovePutBack: "reschedule of a put-back timer",
    MoveOut: "reschedule of a timer out in a batch",
    MoveGone: "reschedule of a dispatched or cancelled timer",
    MoveStale: "reschedule with a stale handle",
    ForeignHandle: "handle of another queue while its twin is queued here",
    ForeignBatch: "batch of another queue",
    ShrinkEmpty: "shrink of an empty queue",
    ShrinkQueued: "shrink with timers queued",
    ShrinkWhileOut: "shrink while a batch is out",
    ThreeOut: "three batches out at once",
    EndWithBatchesOut: "queue dropped while batches with timers were out",
}

/// How often each [`Mark`] was reached, and how much was done on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
    counts: Vec<u64>,
    /// Schedules played.
    pub schedules: u64,
    /// Steps taken, each compared in full.
    pub steps: u64,
}

impl Default for Reached {
    fn default() -> Self {
        Self { counts: vec![0; Mark::ALL.len()], schedules: 0, steps: 0 }
    }
}

impl Reached {
    /// Counts `mark` if `reached`.
    pub(super) fn note(&mut self, mark: Mark, reached: bool) {
        self.counts[mark as usize] += u64::from(reached);
    }

    /// How often `mark` was reached.
    pub fn count(&self, mark: Mark) -> u64 {
        self.counts[mark as usize]
    }

    /// Adds what another schedule reached.
    pub fn add(&mut self, other: &Self) {
        self.schedules += other.schedules;
        self.steps += other.steps;
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, count)| *sum += count);
    }

    /// What was never reached.
    pub fn missing(&self) -> Vec<&'static str> {
        let missing = Mark::ALL.iter().filter(|mark| self.count(**mark) == 0);
        missing.map(|mark| mark.words()).collect()
    }
}

impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} schedules, {} steps", self.schedules, self.steps)?;
        Mark::ALL.iter().try_for_each(|mark| writeln!(f, "{:>9}  {}", self.count(*mark), mark.words()))
    }
}
