//! The fast oracle for large runs: a `BTreeMap` by (expiry, arrival), proven equal to the model.
//!
//! A handle is the key, so there is no table beside the map. Everything is O(log n), a put-back O(r log n).

use std::collections::BTreeMap;
use std::collections::btree_map;
use std::marker::PhantomData;

use crate::model::{due_from, due_until};
use crate::probe::{NoProbe, Probe};
use crate::queue::{
    Arrivals, Batch, ParamError, Params, Place, PlaceHandle, QueueId, Requeued, Tick, TimerQueue,
};

/// See the module.
#[derive(Debug)]
pub struct Reference<T, P = NoProbe> {
    arrivals: Arrivals,
    timers: BTreeMap<Place, T>,
    tick: Tick,
    probe: PhantomData<P>,
}

impl<T, P: Probe> TimerQueue<T> for Reference<T, P> {
    type Batch = ReferenceBatch<T>;
    type Handle = PlaceHandle;

    fn with(params: &Params) -> Result<Self, ParamError> {
        params.only(&["tick"])?;
        let tick = params.number("tick", 1, 1..=1 << 62)?;
        Ok(Self { arrivals: Arrivals::default(), timers: BTreeMap::new(), tick, probe: PhantomData })
    }

    fn enqueue(&mut self, expiry: Tick, item: T) -> PlaceHandle {
        let place = self.arrivals.place(expiry);
        self.timers.insert(place, item);
        self.arrivals.handle(place)
    }

    fn take(&mut self, now: Tick, limit: usize) -> ReferenceBatch<T> {
        let until = due_until(now, self.tick);
        let mut timers = BTreeMap::new();
        while timers.len() < limit
            && let Some(first) = self.timers.first_entry()
            && first.key().expiry <= until
        {
            let (place, item) = first.remove_entry();
            timers.insert(place, item);
        }
        ReferenceBatch { queue: self.arrivals.queue(), timers }
    }

    fn requeue(&mut self, batch: ReferenceBatch<T>) -> Requeued {
        self.arrivals.queue().owns(batch.queue);
        let head = self.timers.first_key_value().map(|(place, _)| *place);
        let how = match (batch.timers.last_key_value().map(|(place, _)| *place), head) {
            (None, _) => Requeued::Nothing,
            (Some(_), None) => Requeued::IntoEmpty,
            (Some(last), Some(head)) if last < head => Requeued::InFront,
            (Some(_), Some(_)) => Requeued::Merged(batch.timers.len()),
        };
        self.timers.extend(batch.timers);
        how
    }

    fn get(&self, handle: PlaceHandle) -> Option<(Tick, &T)> {
        let place = self.arrivals.own(handle)?;
        self.timers.get(&place).map(|item| (place.expiry, item))
    }

    fn cancel(&mut self, handle: PlaceHandle) -> Option<T> {
        self.timers.remove(&self.arrivals.own(handle)?)
    }

    fn reschedule(&mut self, handle: PlaceHandle, expiry: Tick) -> Option<PlaceHandle> {
        let item = self.cancel(handle)?;
        Some(self.enqueue(expiry, item))
    }

    fn next_expiry(&mut self) -> Option<Tick> {
        self.timers.first_key_value().map(|(place, _)| due_from(place.expiry, self.tick))
    }

    fn len(&self) -> usize {
        self.timers.len()
    }

    fn iter<'a>(&'a self) -> impl Iterator<Item = (Tick, &'a T)>
    where
        T: 'a,
    {
        self.timers.iter().map(|(place, item)| (place.expiry, item))
    }

    /// An estimate from the entries: std does not tell what a `BTreeMap` has requested.
    fn container_bytes(&self) -> usize {
        self.timers.len() * size_of::<(Place, T)>()
    }

    fn shrink(&mut self) {}

    #[cfg(feature = "testing")]
    fn check(&self) {}
}

/// The batch of [`Reference`].
#[derive(Debug)]
pub struct ReferenceBatch<T> {
    queue: QueueId,
    timers: BTreeMap<Place, T>,
}

impl<T> Batch<T> for ReferenceBatch<T> {
    fn front(&mut self) -> Option<(Tick, &mut T)> {
        self.timers.first_entry().map(|first| (first.key().expiry, btree_map::OccupiedEntry::into_mut(first)))
    }

    fn advance(&mut self) -> Option<(Tick, T)> {
        self.timers.pop_first().map(|(place, item)| (place.expiry, item))
    }

    fn len(&self) -> usize {
        self.timers.len()
    }

    fn latest(&self) -> Option<Tick> {
        self.timers.last_key_value().map(|(place, _)| place.expiry)
    }
}
