//! The contract between a timer queue and whoever dispatches from it: the only extension point.

use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// A point on the timer clock, or an expiry on it. What a tick is worth is the caller's business.
pub type Tick = u64;

/// A queue of timers that hands over, in one batch, every timer that is due.
///
/// ```text
/// batch = take(now, limit)     the timers with expiry <= now, at most `limit`
/// while the window is open     handle batch.front(), and only then batch.advance()
/// requeue(batch)               what is left goes back in front
/// ```
///
/// # Contract
///
/// * **Order.** Timers leave by (expiry, arrival). An arrival is given by `enqueue` and by `reschedule`,
///   is never reused, and is kept by what is put back.
/// * **Nothing is lost.** Timers in = dispatched + cancelled + queued + out in a batch + dropped with one.
/// * **The queue is free while a batch is out.** A batch owns its timers and borrows nothing.
/// * **The clock never runs back.** A `now` less than an earlier one takes what is due by it, no more.
/// * **A handle is good whenever its timer is queued**, also after a put-back, and reaches no other timer.
/// * **Rounding.** A structure with a tick `t` takes at `floor(now / t) * t`, and everything at `u64::MAX`:
///   a timer is late by less than `t` and never early. Its registry line names the parameter.
pub trait TimerQueue<T>: Sized {
    /// Timers cut off together. One leaves only after its handler returned.
    type Batch: Batch<T>;

    /// Names one arrival of one queue.
    type Handle: Copy + fmt::Debug + PartialEq;

    /// An empty queue. A parameter that is unknown or cannot be is an error that names it.
    fn with(params: &Params) -> Result<Self, ParamError>;

    /// Adds a timer (START_TIMER in the paper). Its arrival is later than that of all before it. Any
    /// expiry will do, past ones too.
    fn enqueue(&mut self, expiry: Tick, item: T) -> Self::Handle;

    /// Cuts off the first `limit` timers with expiry <= `now`, in order.
    fn take(&mut self, now: Tick, limit: usize) -> Self::Batch;

    /// Puts what is left of `batch` back, and says how: in one step, or merged one by one.
    ///
    /// # Panics
    ///
    /// When the batch was taken from another queue; nothing has been touched then.
    fn requeue(&mut self, batch: Self::Batch) -> Requeued;

    /// The timer that `handle` names, or `None` when it is not queued.
    fn get(&self, handle: Self::Handle) -> Option<(Tick, &T)>;

    /// Removes a timer and hands its item over now (STOP_TIMER in the paper). `None` for a timer that is
    /// not queued: dispatched, cancelled, or out in a batch.
    fn cancel(&mut self, handle: Self::Handle) -> Option<T>;

    /// Moves a timer to `expiry`, behind its equals there. The old handle is stale from then on.
    fn reschedule(&mut self, handle: Self::Handle, expiry: Tick) -> Option<Self::Handle>;

    /// The first `now` at which `take` would give something: exact, and never an estimate.
    fn next_expiry(&mut self) -> Option<Tick>;

    /// Timers queued. What is out in a batch does not count.
    fn len(&self) -> usize;

    /// Whether nothing is queued.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All queued timers in order. It may sort, and is never timed.
    fn iter<'a>(&'a self) -> impl Iterator<Item = (Tick, &'a T)>
    where
        T: 'a;

    /// Heap bytes that the structure has requested: inline items included, what items own and batches
    /// that are out excluded. Equal to the figure of a counting allocator, which is tested.
    fn container_bytes(&self) -> usize;

    /// Gives back what is not needed for the timers that are queued. All handles stay good.
    fn shrink(&mut self);

    /// Panics on a broken invariant, with both sides of the comparison.
    #[cfg(feature = "testing")]
    fn check(&self);
}

/// Timers that were due together, in order. Dropping it drops the items that are left.
pub trait Batch<T> {
    /// The first timer that is left.
    fn front(&mut self) -> Option<(Tick, &mut T)>;

    /// Removes the first timer that is left.
    fn advance(&mut self) -> Option<(Tick, T)>;

    /// Timers left.
    fn len(&self) -> usize;

    /// Whether no timer is left.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The expiry of the last timer that is left.
    fn latest(&self) -> Option<Tick>;
}

/// How `requeue` put back what was left of a batch. The same answer from every structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Requeued {
    /// The batch was empty.
    Nothing,
    /// The queue was empty.
    IntoEmpty,
    /// The last (expiry, arrival) of the batch comes before the head of the queue.
    InFront,
    /// Something queued meanwhile belongs between: this many timers were left, and each is in its place.
    Merged(usize),
}

/// What a handler wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Dispatch the next timer if the window allows.
    Continue,
    /// Stop quietly. The timer stays first in the batch.
    Stop,
}

/// Why `process` came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended<E> {
    /// Nothing is left in the batch.
    Drained,
    /// The clock stood at or past the deadline.
    WindowClosed,
    /// The handler asked to stop.
    Stopped,
    /// The handler failed. This outranks a window that has closed meanwhile.
    Failed(E),
}

/// What `process` did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processed<E> {
    /// Timers whose handler returned [`Flow::Continue`]; they have left the batch.
    pub done: usize,
    /// Why it came back.
    pub ended: Ended<E>,
}

/// Dispatches from the front of `batch` until the window closes; called again, it goes on there.
///
/// The clock is read before each timer, and not at all for an empty batch. At or past `deadline` the
/// window is closed, so a window of 0 dispatches nothing. The timer whose handler stopped, failed or
/// panicked stays first in the batch: it is advanced over only after its handler returned.
///
/// ```
/// use impls::queue::{Batch, Ended, Flow, Params, TimerQueue, process};
///
/// let mut queue = impls::OrderedList::<&str>::with(&Params::default())?;
/// queue.enqueue(3, "reminder");
/// queue.enqueue(5, "digest");
/// let mut batch = queue.take(9, usize::MAX);
/// let mut clock = [0, 6, 12].into_iter();
/// let processed = process(&mut batch, || clock.next().unwrap(), 6, |_expiry, _item| Ok::<_, ()>(Flow::Continue));
/// assert_eq!((processed.done, processed.ended), (1, Ended::WindowClosed));
/// queue.requeue(batch);
/// assert_eq!(queue.next_expiry(), Some(5));
/// # Ok::<(), impls::queue::ParamError>(())
/// ```
pub fn process<T, B, E>(
    batch: &mut B,
    mut clock: impl FnMut() -> Tick,
    deadline: Tick,
    mut handler: impl FnMut(Tick, &mut T) -> Result<Flow, E>,
) -> Processed<E>
where
    B: Batch<T>,
{
    let mut done = 0;
    let ended = loop {
        let Some((expiry, item)) = batch.front() else { break Ended::Drained };
        if clock() >= deadline {
            break Ended::WindowClosed;
        }
        match handler(expiry, item) {
            Ok(Flow::Continue) => {}
            Ok(Flow::Stop) => break Ended::Stopped,
            Err(error) => break Ended::Failed(error),
        }
        batch.advance();
        done += 1;
    };
    Processed { done, ended }
}

/// Identifies one queue of this process, so that a batch or a handle of another one is noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueueId(u64);

impl QueueId {
    /// An identity that no other queue of this process has or will have.
    pub fn fresh() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// Panics when a batch that is being put back was taken from another queue.
    #[track_caller]
    pub fn owns(self, batch: Self) {
        assert!(self == batch, "requeue: this batch was taken from another queue ({batch:?}, not {self:?})");
    }
}

/// Where a timer stands in the order of its queue: by expiry, and ties by arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// When the timer falls due.
    pub expiry: Tick,
    /// The how-manieth arrival it was. Never reused.
    pub arrival: u64,
}

/// The handle of a structure that finds a timer by its place and keeps no table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PlaceHandle {
    /// Whose place it is.
    pub queue: QueueId,
    /// The place.
    pub place: Place,
}

/// Gives out places and handles: the part of a queue's state that every structure has.
#[derive(Debug)]
pub struct Arrivals {
    queue: QueueId,
    next: u64,
}

impl Default for Arrivals {
    fn default() -> Self {
        Self { queue: QueueId::fresh(), next: 0 }
    }
}

impl Arrivals {
    /// Whose arrivals these are.
    pub fn queue(&self) -> QueueId {
        self.queue
    }

    /// How many have been given out.
    pub fn issued(&self) -> u64 {
        self.next
    }

    /// The place of a timer that arrives now.
    pub fn place(&mut self, expiry: Tick) -> Place {
        let arrival = self.next;
        self.next += 1;
        Place { expiry, arrival }
    }

    /// The handle of a timer of this queue that is known by its place.
    pub fn handle(&self, place: Place) -> PlaceHandle {
        PlaceHandle { queue: self.queue, place }
    }

    /// The place a handle names, unless it is a handle of another queue.
    pub fn own(&self, handle: PlaceHandle) -> Option<Place> {
        (handle.queue == self.queue).then_some(handle.place)
    }
}

/// Parameters of a structure, as `key=value` pairs in the order given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Params(Vec<(String, String)>);

impl Params {
    /// Adds or replaces a parameter.
    pub fn set(&mut self, key: &str, value: &str) {
        match self.0.iter_mut().find(|(known, _)| known == key) {
            Some((_, known)) => value.clone_into(known),
            None => self.0.push((key.to_owned(), value.to_owned())),
        }
    }

    /// The text of a parameter, if it was given.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// All pairs.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// The number that `key` was given, or `default`; it must lie in `range`.
    pub fn number(
        &self,
        key: &str,
        default: u64,
        range: std::ops::RangeInclusive<u64>,
    ) -> Result<u64, ParamError> {
        let Some(text) = self.get(key) else { return Ok(default) };
        let number = text.replace('_', "").parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| ParamError {
            key: key.to_owned(),
            message: format!(
                "must be a whole number from {} to {}, not `{text}`",
                range.start(),
                range.end()
            ),
        })
    }

    /// An error for the first parameter that is not among `known`.
    pub fn only(&self, known: &[&str]) -> Result<(), ParamError> {
        let Some((key, _)) = self.0.iter().find(|(key, _)| !known.contains(&key.as_str())) else {
            return Ok(());
        };
        let message = match known {
            [] => "is not a parameter; there are none".to_owned(),
            _ => format!("is not a parameter; there is `{}`", known.join("`, `")),
        };
        Err(ParamError { key: key.clone(), message })
    }
}

impl fmt::Display for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (key, value)) in self.pairs().enumerate() {
            write!(f, "{}{key}={value}", if i == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

/// A parameter that a structure does not have, or a value that it cannot take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamError {
    /// The parameter.
    pub key: String,
    /// What is wrong with it, as the rest of a sentence that starts with its name.
    pub message: String,
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.key, self.message)
    }
}

impl Error for ParamError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_outside_its_range_is_named_with_the_range() {
        let mut params = Params::default();
        params.set("arity", "99");
        let error = params.number("arity", 4, 2..=16).unwrap_err();
        assert_eq!(error.to_string(), "`arity` must be a whole number from 2 to 16, not `99`");
        assert_eq!(params.number("tick", 1, 1..=9), Ok(1));
    }

    #[test]
    fn an_unknown_parameter_is_named_with_the_known_ones() {
        let mut params = Params::default();
        params.set("arty", "4");
        assert_eq!(
            params.only(&["arity"]).unwrap_err().to_string(),
            "`arty` is not a parameter; there is `arity`"
        );
        assert_eq!(params.only(&[]).unwrap_err().to_string(), "`arty` is not a parameter; there are none");
    }
}
