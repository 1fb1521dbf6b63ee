//! The oracle: a `Vec` that is searched on every call; too simple to be wrong.
//!
//! It keeps timers in order of arrival and looks for the earliest each time, so every operation is O(n) or
//! worse. With `tick=t` it is the oracle of structures that round: each rule of rounding stands here once.

use std::marker::PhantomData;

use crate::probe::{NoProbe, Probe};
use crate::queue::{
    Arrivals, Batch, ParamError, Params, Place, PlaceHandle, QueueId, Requeued, Tick, TimerQueue,
};

/// See the module.
#[derive(Debug)]
pub struct Model<T, P = NoProbe> {
    arrivals: Arrivals,
    timers: Vec<(Place, T)>,
    tick: Tick,
    probe: PhantomData<P>,
}

/// The latest expiry that is due at `now` for a structure that rounds to `tick`.
pub fn due_until(now: Tick, tick: Tick) -> Tick {
    if now == Tick::MAX { now } else { now / tick * tick }
}

/// The first `now` at which `expiry` is due for a structure that rounds to `tick`.
pub fn due_from(expiry: Tick, tick: Tick) -> Tick {
    expiry.div_ceil(tick).saturating_mul(tick)
}

impl<T, P> Model<T, P> {
    fn earliest(&self) -> Option<usize> {
        (0..self.timers.len()).min_by_key(|&at| self.timers[at].0)
    }

    fn find(&self, handle: PlaceHandle) -> Option<usize> {
        let place = self.arrivals.own(handle)?;
        self.timers.iter().position(|(known, _)| *known == place)
    }
}

impl<T, P: Probe> TimerQueue<T> for Model<T, P> {
    type Batch = ModelBatch<T>;
    type Handle = PlaceHandle;

    fn with(params: &Params) -> Result<Self, ParamError> {
        params.only(&["tick"])?;
        let tick = params.number("tick", 1, 1..=1 << 62)?;
        Ok(Self { arrivals: Arrivals::default(), timers: Vec::new(), tick, probe: PhantomData })
    }

    fn enqueue(&mut self, expiry: Tick, item: T) -> PlaceHandle {
        let place = self.arrivals.place(expiry);
        self.timers.push((place, item));
        self.arrivals.handle(place)
    }

    fn take(&mut self, now: Tick, limit: usize) -> ModelBatch<T> {
        let mut batch = ModelBatch { queue: self.arrivals.queue(), timers: Vec::new() };
        while batch.timers.len() < limit
            && let Some(at) = self.earliest()
            && self.timers[at].0.expiry <= due_until(now, self.tick)
        {
            batch.timers.push(self.timers.remove(at));
        }
        batch
    }

    fn requeue(&mut self, batch: ModelBatch<T>) -> Requeued {
        self.arrivals.queue().owns(batch.queue);
        let head = self.earliest().map(|at| self.timers[at].0);
        let how = match (batch.timers.last().map(|last| last.0), head) {
            (None, _) => Requeued::Nothing,
            (Some(_), None) => Requeued::IntoEmpty,
            (Some(last), Some(head)) if last < head => Requeued::InFront,
            (Some(_), Some(_)) => Requeued::Merged(batch.timers.len()),
        };
        self.timers.extend(batch.timers);
        how
    }

    fn get(&self, handle: PlaceHandle) -> Option<(Tick, &T)> {
        let (place, item) = &self.timers[self.find(handle)?];
        Some((place.expiry, item))
    }

    fn cancel(&mut self, handle: PlaceHandle) -> Option<T> {
        let at = self.find(handle)?;
        Some(self.timers.remove(at).1)
    }

    fn reschedule(&mut self, handle: PlaceHandle, expiry: Tick) -> Option<PlaceHandle> {
        let item = self.cancel(handle)?;
        Some(self.enqueue(expiry, item))
    }

    fn next_expiry(&mut self) -> Option<Tick> {
        self.earliest().map(|at| due_from(self.timers[at].0.expiry, self.tick))
    }

    fn len(&self) -> usize {
        self.timers.len()
    }

    fn iter<'a>(&'a self) -> impl Iterator<Item = (Tick, &'a T)>
    where
        T: 'a,
    {
        let mut sorted: Vec<_> = self.timers.iter().collect();
        sorted.sort_by_key(|(place, _)| *place);
        sorted.into_iter().map(|(place, item)| (place.expiry, item))
    }

    fn container_bytes(&self) -> usize {
        self.timers.capacity() * size_of::<(Place, T)>()
    }

    fn shrink(&mut self) {
        self.timers.shrink_to_fit();
    }

    #[cfg(feature = "testing")]
    fn check(&self) {}
}

/// The batch of [`Model`].
#[derive(Debug)]
pub struct ModelBatch<T> {
    queue: QueueId,
    timers: Vec<(Place, T)>,
}

impl<T> Batch<T> for ModelBatch<T> {
    fn front(&mut self) -> Option<(Tick, &mut T)> {
        self.timers.first_mut().map(|(place, item)| (place.expiry, item))
    }

    fn advance(&mut self) -> Option<(Tick, T)> {
        let (place, item) = (!self.timers.is_empty()).then(|| self.timers.remove(0))?;
        Some((place.expiry, item))
    }

    fn len(&self) -> usize {
        self.timers.len()
    }

    fn latest(&self) -> Option<Tick> {
        self.timers.last().map(|(place, _)| place.expiry)
    }
}
