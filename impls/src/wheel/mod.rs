//! Hierarchical timing wheel with linked buckets (Varghese and Lauck's Scheme 7).
//!
//! ```text
//! clock = 70, in digits of 6 bits: .. 0 1 6          overdue   [12 a] [69 b]       before the clock
//! level 0   [6 c] . [8 d] . .   . .                  units 70 to 127, one a slot
//! level 1   .  .  [2: e f] . .  . .                  units 128 to 4,095, 64 a slot
//! level 2   .  [1: g] . . .     . .                  units 4,096 to 262,143
//! ```
//!
//! | level | units a slot | reaches (units) |
//! |-------|--------------|-----------------|
//! | 0     | 1            | 64              |
//! | 1     | 64           | 4,096           |
//! | 2     | 4,096        | 262,144         |
//! | n     | 64^n         | 64^(n + 1)      |
//! | 10    | 64^10        | 2^64: all       |
//!
//! A unit is `tick` ticks, rounded up. A timer stands on the level of the highest digit in which its unit
//! differs from the clock, in the slot of that digit, and goes down (cascades) when the clock reaches the
//! slot. Occupancy bits find the first slot in two steps, so the clock jumps over an empty stretch. What is
//! before the clock, put-backs and late arrivals, stands in a sorted ring beside the wheel.
//!
//! # Costs
//!
//! `k` timers due, `r` left in the batch, `v` overdue, `b` in one bucket.
//!
//! | operation     | time                              | allocates     | because                             |
//! |---------------|-----------------------------------|---------------|-------------------------------------|
//! | `enqueue`     | O(1); overdue and early: O(v)     | when it grows | the slot follows from the expiry    |
//! | `take`        | O(k + slots passed that hold any) | the batch     | at most 10 cascades in a timer's life |
//! | `requeue`     | O(r), or O(r + v) to merge        | when it grows | onto the front of the ring          |
//! | `get`         | O(1)                              | nothing       | the handle names the node           |
//! | `cancel`      | O(1), amortised when overdue      | nothing       | one unlink                          |
//! | `reschedule`  | O(1)                              | nothing       | one unlink, one push                |
//! | `next_expiry` | O(1), O(b) when it has to look    | nothing       | kept until its timer leaves         |
//!
//! # Invariants
//!
//! 1. A bit is set exactly when its bucket holds something.
//! 2. Every timer of a bucket belongs there by its expiry and the clock.
//! 3. Buckets are in order of arrival, and their links agree.
//! 4. Overdue timers stand in order, before the clock, apart from entries of timers that have left.
//! 5. The lengths agree with what is there, and no slot in use is free.
//!
//! # Wins and losses
//!
//! Wins: cancels, re-arms, any order of expiries. Loses: memory after a burst; a node is one cache miss each
//! time it moves down a level, and all of a slot moves at once.

mod bucket;
mod level;

use std::collections::VecDeque;
use std::marker::PhantomData;

use bucket::{Bucket, Node};
use level::{Levels, Spot};

use crate::probe::{NoProbe, Probe};
use crate::queue::{Arrivals, Batch, ParamError, Params, Place, Requeued, Tick, TimerQueue};
use crate::slots::{NO_SLOT, Slot, SlotBatch, SlotHandle, Slots, Taken};

/// Entries of timers that have left are swept out of the ring when they are more than these and than half.
const STALE_MIN: usize = 32;

/// A timer before the clock. The entry is stale when the node no longer holds this arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Overdue {
    place: Place,
    slot: Slot,
}

/// See the module.
#[derive(Debug)]
pub struct Wheel<T, P = NoProbe> {
    arrivals: Arrivals,
    tick: Tick,
    /// The first unit that has not been taken yet.
    clock: u64,
    levels: Levels,
    nodes: Vec<Node<T>>,
    slots: Slots,
    overdue: VecDeque<Overdue>,
    /// Entries of `overdue` whose timers have left.
    stale: usize,
    len: usize,
    /// The first unit in the wheel, if it is known.
    first_unit: Option<u64>,
    probe: PhantomData<P>,
}

impl<T, P: Probe> TimerQueue<T> for Wheel<T, P> {
    type Batch = SlotBatch<T>;
    type Handle = SlotHandle;

    fn with(params: &Params) -> Result<Self, ParamError> {
        params.only(&["tick"])?;
        Ok(Self {
            arrivals: Arrivals::default(),
            tick: params.number("tick", 1, 1..=1 << 62)?,
            clock: 0,
            levels: Levels::default(),
            nodes: Vec::new(),
            slots: Slots::default(),
            overdue: VecDeque::new(),
            stale: 0,
            len: 0,
            first_unit: None,
            probe: PhantomData,
        })
    }

    fn enqueue(&mut self, expiry: Tick, item: T) -> SlotHandle {
        let place = self.arrivals.place(expiry);
        let slot = self.slots.acquire();
        let node = Node { place, before: NO_SLOT, after: NO_SLOT, item: Some(item) };
        if slot as usize == self.nodes.len() {
            self.nodes.push(node);
        } else {
            self.nodes[slot as usize] = node;
        }
        self.len += 1;
        self.arrive(place, slot);
        self.slots.handle(&self.arrivals, place, slot)
    }

    fn take(&mut self, now: Tick, limit: usize) -> SlotBatch<T> {
        let until = self.last_unit_due(now);
        let mut timers = Vec::new();
        if self.len == 0 {
            // Nothing is queued, so the clock may go anywhere, also back.
            self.clock = until.saturating_add(1);
        }
        self.take_overdue(until, limit, &mut timers);
        while timers.len() < limit && until >= self.clock && self.take_first_slot(until, limit, &mut timers) {
        }
        self.len -= timers.len();
        self.slots.lend(self.arrivals.queue(), timers)
    }

    fn requeue(&mut self, batch: SlotBatch<T>) -> Requeued {
        self.arrivals.queue().owns(batch.queue());
        let (left, last) = (batch.len(), batch.last());
        let how = match (last, self.len) {
            (None, _) => Requeued::Nothing,
            (Some(_), 0) => Requeued::IntoEmpty,
            (Some(last), _) if self.all_come_after(last) => Requeued::InFront,
            (Some(_), _) => Requeued::Merged(left),
        };
        let rest = self.slots.take_back(batch);
        self.len += left;
        self.put_back(rest, matches!(how, Requeued::Merged(_)));
        how
    }

    fn get(&self, handle: SlotHandle) -> Option<(Tick, &T)> {
        let node = &self.nodes[self.find(handle)? as usize];
        Some((node.place.expiry, node.item.as_ref()?))
    }

    fn cancel(&mut self, handle: SlotHandle) -> Option<T> {
        let slot = self.find(handle)?;
        self.leave(slot);
        self.len -= 1;
        self.slots.release(slot);
        let item = self.nodes[slot as usize].item.take();
        self.sweep();
        item
    }

    fn reschedule(&mut self, handle: SlotHandle, expiry: Tick) -> Option<SlotHandle> {
        let slot = self.find(handle)?;
        self.leave(slot);
        let place = self.arrivals.place(expiry);
        self.nodes[slot as usize].place = place;
        self.sweep();
        self.arrive(place, slot);
        Some(self.slots.handle(&self.arrivals, place, slot))
    }

    fn next_expiry(&mut self) -> Option<Tick> {
        if let Some(first) = self.overdue.front() {
            return Some(self.unit(first.place.expiry).saturating_mul(self.tick));
        }
        if self.first_unit.is_none() {
            self.first_unit = self.look_for_first_unit();
        }
        Some(self.first_unit?.saturating_mul(self.tick))
    }

    fn len(&self) -> usize {
        self.len
    }

    fn iter<'a>(&'a self) -> impl Iterator<Item = (Tick, &'a T)>
    where
        T: 'a,
    {
        let mut sorted: Vec<_> = self.nodes.iter().filter(|node| node.item.is_some()).collect();
        sorted.sort_unstable_by_key(|node| node.place);
        sorted.into_iter().filter_map(|node| Some((node.place.expiry, node.item.as_ref()?)))
    }

    fn container_bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Node<T>>()
            + self.overdue.capacity() * size_of::<Overdue>()
            + self.levels.bytes()
            + self.slots.bytes()
    }

    fn shrink(&mut self) {
        self.overdue.retain(|entry| is_live(&self.nodes, *entry));
        self.stale = 0;
        for (from, to) in self.slots.compact(|slot| arrival_in(&self.nodes, slot)) {
            self.move_node(from, to);
        }
        self.nodes.truncate(self.slots.issued());
        self.slots.forget_gone(|slot| arrival_in(&self.nodes, slot));
        self.nodes.shrink_to_fit();
        self.overdue.shrink_to_fit();
    }

    #[cfg(feature = "testing")]
    fn check(&self) {
        self.levels.check();
        let in_wheel: usize = self.levels.occupied().map(|spot| self.check_bucket(spot)).sum();
        self.check_overdue();
        let live = self.overdue.len() - self.stale;
        assert_eq!(self.len, in_wheel + live, "5: the length, and the timers in the wheel and overdue");
        assert_eq!(self.nodes.len(), self.slots.issued(), "5: nodes, and slots given out");
        let with_item = self.nodes.iter().filter(|node| node.item.is_some()).count();
        assert_eq!(with_item, self.len, "5: nodes with an item, and the length");
        self.slots.check(|slot| self.nodes[slot as usize].item.is_some());
    }
}

/// Whether an entry's timer is still queued where the entry says.
fn is_live<T>(nodes: &[Node<T>], entry: Overdue) -> bool {
    let node = &nodes[entry.slot as usize];
    node.item.is_some() && node.place == entry.place
}

/// The arrival of the timer that is queued in `slot`, if one is.
fn arrival_in<T>(nodes: &[Node<T>], slot: Slot) -> Option<u64> {
    nodes.get(slot as usize).filter(|node| node.item.is_some()).map(|node| node.place.arrival)
}

impl<T, P: Probe> Wheel<T, P> {
    /// The unit in which `expiry` is due: rounded up, so that nothing is early.
    fn unit(&self, expiry: Tick) -> u64 {
        if self.tick == 1 { expiry } else { expiry.div_ceil(self.tick) }
    }

    /// The last unit that is due at `now`: rounded down, but for the last moment of all.
    fn last_unit_due(&self, now: Tick) -> u64 {
        if now == Tick::MAX { self.unit(now) } else { now / self.tick }
    }

    fn find(&self, handle: SlotHandle) -> Option<Slot> {
        self.slots.find(&self.arrivals, handle, |slot| arrival_in(&self.nodes, slot))
    }

    /// Puts the newest arrival into the wheel or, when it is before the clock, into the ring.
    fn arrive(&mut self, place: Place, slot: Slot) {
        let unit = self.unit(place.expiry);
        if unit >= self.clock {
            self.levels.change(Spot::of(unit, self.clock), |bucket| bucket.push(&mut self.nodes, slot));
            self.note_first(unit);
            return;
        }
        let entry = Overdue { place, slot };
        P::compared(1);
        if self.overdue.back().is_none_or(|last| *last < entry) {
            self.overdue.push_back(entry);
        } else {
            let at = self.overdue.partition_point(|other| *other < entry);
            P::moved(at.min(self.overdue.len() - at));
            self.overdue.insert(at, entry);
        }
    }

    /// Takes a queued timer out of its bucket, or leaves its entry in the ring stale.
    fn leave(&mut self, slot: Slot) {
        let unit = self.unit(self.nodes[slot as usize].place.expiry);
        if unit < self.clock {
            self.stale += 1;
            return;
        }
        self.levels.change(Spot::of(unit, self.clock), |bucket| bucket.unlink(&mut self.nodes, slot));
        if self.first_unit == Some(unit) {
            self.first_unit = None;
        }
    }

    /// Keeps the first unit in step with an arrival. One that was not known stays so, unless it is alone.
    fn note_first(&mut self, unit: u64) {
        match self.first_unit {
            Some(first) if unit < first => self.first_unit = Some(unit),
            None if self.len == 1 => self.first_unit = Some(unit),
            _ => {}
        }
    }

    /// The first unit in the wheel: that of the first slot or, where a slot spans several, of one of its timers.
    fn look_for_first_unit(&self) -> Option<u64> {
        let spot = self.levels.first()?;
        if spot.level == 0 {
            return Some(spot.start(self.clock));
        }
        let bucket = self.levels.bucket(spot);
        let visited = bucket.iter(&self.nodes).inspect(|_| P::visited(1));
        visited.map(|slot| self.unit(self.nodes[slot as usize].place.expiry)).min()
    }

    /// Sees to it that the ring starts with a live entry and holds few stale ones.
    fn sweep(&mut self) {
        while self.overdue.front().is_some_and(|first| !is_live(&self.nodes, *first)) {
            self.overdue.pop_front();
            self.stale -= 1;
        }
        if self.stale > STALE_MIN && self.stale > self.overdue.len() / 2 {
            P::moved(self.overdue.len() - self.stale);
            self.overdue.retain(|entry| is_live(&self.nodes, *entry));
            self.stale = 0;
        }
    }

    /// Takes what is due from the ring, in order.
    fn take_overdue(&mut self, until: u64, limit: usize, timers: &mut Vec<Taken<T>>) {
        if self.overdue.back().is_some_and(|last| self.unit(last.place.expiry) <= until) {
            timers.reserve(limit.min(self.overdue.len() - self.stale));
        }
        while timers.len() < limit
            && let Some(first) = self.overdue.front()
            && self.unit(first.place.expiry) <= until
        {
            let slot = first.slot;
            self.overdue.pop_front();
            timers.push(self.take_out(slot));
            self.sweep();
        }
    }

    /// Takes the timers of the first slot that holds any, or brings them down a level, if it starts by
    /// `until`; else moves the clock past `until` and says that nothing is left to do.
    fn take_first_slot(&mut self, until: u64, limit: usize, timers: &mut Vec<Taken<T>>) -> bool {
        let first = self.levels.first().map(|spot| (spot, spot.start(self.clock)));
        let Some((spot, start)) = first.filter(|(_, start)| *start <= until) else {
            self.advance_clock(until.saturating_add(1));
            return false;
        };
        if spot.level > 0 {
            self.advance_clock(start);
            return true;
        }
        self.first_unit = None;
        self.clock = start;
        if self.tick == 1 {
            self.take_bucket(spot, limit, timers);
        } else {
            self.take_sorted(spot, limit, timers);
        }
        if self.levels.bucket(spot).is_empty() {
            self.advance_clock(start.saturating_add(1));
        }
        // At the end of time the clock cannot go on, and the slot that was taken is its last.
        start < Tick::MAX
    }

    /// Takes the timers of a slot in which all have the same expiry, from the first arrival on.
    fn take_bucket(&mut self, spot: Spot, limit: usize, timers: &mut Vec<Taken<T>>) {
        let mut bucket = self.levels.bucket(spot);
        while timers.len() < limit && !bucket.is_empty() {
            let slot = bucket.first;
            bucket.first = self.nodes[slot as usize].after;
            timers.push(self.take_out(slot));
        }
        match self.nodes.get_mut(bucket.first as usize) {
            Some(first) => first.before = NO_SLOT,
            None => bucket = Bucket::EMPTY,
        }
        self.levels.change(spot, |known| *known = bucket);
    }

    /// Takes the timers of a slot that spans several expiries, sorted. What is over the limit is overdue
    /// from now on.
    fn take_sorted(&mut self, spot: Spot, limit: usize, timers: &mut Vec<Taken<T>>) {
        let bucket = self.levels.empty(spot);
        let entry = |slot| Overdue { place: self.nodes[slot as usize].place, slot };
        let mut due: Vec<_> = bucket.iter(&self.nodes).map(entry).collect();
        due.sort_unstable();
        let room = due.len().min(limit - timers.len());
        self.overdue.extend(due.drain(room..));
        timers.extend(due.into_iter().map(|entry| self.take_out(entry.slot)));
    }

    /// Takes a timer's item out of its node, whose slot stays reserved.
    fn take_out(&mut self, slot: Slot) -> Taken<T> {
        let node = &mut self.nodes[slot as usize];
        Taken { place: node.place, slot, item: node.item.take() }
    }

    /// Moves the clock, past nothing that is queued, and brings down what belongs to a lower level then.
    fn advance_clock(&mut self, clock: u64) {
        self.clock = clock;
        while let Some(spot) = self.levels.reached(clock) {
            let mut slot = self.levels.empty(spot).first;
            while slot != NO_SLOT {
                let node = &self.nodes[slot as usize];
                let (unit, after) = (self.unit(node.place.expiry), node.after);
                self.levels.change(Spot::of(unit, clock), |bucket| bucket.push(&mut self.nodes, slot));
                P::cascaded(1);
                slot = after;
            }
        }
    }

    /// Whether all that is queued comes after `place`.
    fn all_come_after(&self, place: Place) -> bool {
        if let Some(first) = self.overdue.front() {
            return place < first.place;
        }
        // What was taken is before the clock, unless the clock has gone back or stands at the end of time.
        self.unit(place.expiry) < self.clock
            || self.levels.first().is_none_or(|spot| {
                let mut bucket = self.levels.bucket(spot).iter(&self.nodes);
                bucket.all(|slot| place < self.nodes[slot as usize].place)
            })
    }

    /// Puts timers that were out, in order, back into their nodes and into the ring or, when the clock has
    /// gone back meanwhile, the wheel. `merge` says that some are to go behind the first one queued.
    fn put_back(&mut self, rest: impl Iterator<Item = Taken<T>>, merge: bool) {
        let mut late = Vec::new();
        for Taken { place, slot, item } in rest {
            let node = &mut self.nodes[slot as usize];
            (node.place, node.item) = (place, item);
            let unit = self.unit(place.expiry);
            if unit < self.clock {
                late.push(Overdue { place, slot });
            } else {
                self.levels.change(Spot::of(unit, self.clock), |bucket| bucket.insert(&mut self.nodes, slot));
                self.first_unit = None;
            }
        }
        if let (true, Some(&last)) = (merge, late.last()) {
            let between = self.overdue.partition_point(|entry| *entry < last);
            P::moved(between);
            late.extend(self.overdue.drain(..between));
            // Two rising runs, which the stable sort finds and merges.
            late.sort();
        }
        P::moved(late.len());
        self.overdue.reserve(late.len());
        late.into_iter().rev().for_each(|entry| self.overdue.push_front(entry));
    }

    /// Moves a queued timer to a free node, whose slot is `to`.
    fn move_node(&mut self, from: Slot, to: Slot) {
        self.nodes.swap(from as usize, to as usize);
        let place = self.nodes[to as usize].place;
        let unit = self.unit(place.expiry);
        if unit >= self.clock {
            self.levels.change(Spot::of(unit, self.clock), |bucket| bucket.replace(&mut self.nodes, to));
        } else if let Ok(at) = self.overdue.binary_search_by_key(&place, |entry| entry.place) {
            self.overdue[at].slot = to;
        }
    }

    /// Asserts invariants 2 and 3 for one bucket and gives its length.
    #[cfg(feature = "testing")]
    fn check_bucket(&self, spot: Spot) -> usize {
        let bucket = self.levels.bucket(spot);
        let (mut before, mut len) = (NO_SLOT, 0);
        for slot in bucket.iter(&self.nodes) {
            let node = &self.nodes[slot as usize];
            let unit = self.unit(node.place.expiry);
            assert!(unit >= self.clock, "2: unit {unit} in the wheel, clock {}", self.clock);
            assert_eq!(Spot::of(unit, self.clock), spot, "2: where {unit} belongs, and where it is");
            assert_eq!(node.before, before, "3: the node before slot {slot}");
            if let Some(before) = self.nodes.get(before as usize) {
                let (a, b) = (before.place.arrival, node.place.arrival);
                assert!(a < b, "3: arrival {a} stands before {b}");
            }
            (before, len) = (slot, len + 1);
        }
        assert_eq!(bucket.last, before, "3: the last node known, and the last node");
        len
    }

    /// Asserts invariant 4.
    #[cfg(feature = "testing")]
    fn check_overdue(&self) {
        for (before, after) in self.overdue.iter().zip(self.overdue.iter().skip(1)) {
            assert!(before < after, "4: {before:?} stands before {after:?}");
        }
        for entry in &self.overdue {
            let unit = self.unit(entry.place.expiry);
            assert!(unit < self.clock, "4: unit {unit} is overdue, clock {}", self.clock);
        }
        let stale = self.overdue.iter().filter(|entry| !is_live(&self.nodes, **entry)).count();
        assert_eq!(stale, self.stale, "4: stale entries counted, and known");
        let first_is_live = self.overdue.front().is_none_or(|first| is_live(&self.nodes, *first));
        assert!(first_is_live, "4: the ring starts with a stale entry");
    }
}

#[cfg(test)]
mod tests;
