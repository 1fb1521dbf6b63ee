//! A queue that does nothing: what is measured with it is the driver.

use std::hint::black_box;
use std::marker::PhantomData;

use impls::queue::{Batch, ParamError, Params, Requeued, Tick, TimerQueue};

/// Forgets every timer.
#[derive(Debug)]
pub(crate) struct Null<T>(PhantomData<T>);

impl<T> TimerQueue<T> for Null<T> {
    type Batch = Nothing;
    type Handle = ();

    fn with(_: &Params) -> Result<Self, ParamError> {
        Ok(Self(PhantomData))
    }

    #[inline(never)]
    fn enqueue(&mut self, expiry: Tick, item: T) {
        black_box((expiry, &item));
    }

    fn take(&mut self, _: Tick, _: usize) -> Nothing {
        Nothing
    }

    fn requeue(&mut self, _: Nothing) -> Requeued {
        Requeued::Nothing
    }

    fn get(&self, (): ()) -> Option<(Tick, &T)> {
        None
    }

    fn cancel(&mut self, (): ()) -> Option<T> {
        None
    }

    fn reschedule(&mut self, (): (), _: Tick) -> Option<()> {
        None
    }

    fn next_expiry(&mut self) -> Option<Tick> {
        None
    }

    fn len(&self) -> usize {
        0
    }

    fn iter<'a>(&'a self) -> impl Iterator<Item = (Tick, &'a T)>
    where
        T: 'a,
    {
        std::iter::empty()
    }

    fn container_bytes(&self) -> usize {
        0
    }

    fn shrink(&mut self) {}

    /// Benchmarks are built with what tests need of `impls`.
    fn check(&self) {}
}

/// The batch of [`Null`].
#[derive(Debug)]
pub(crate) struct Nothing;

impl<T> Batch<T> for Nothing {
    fn front(&mut self) -> Option<(Tick, &mut T)> {
        None
    }

    fn advance(&mut self) -> Option<(Tick, T)> {
        None
    }

    fn len(&self) -> usize {
        0
    }

    fn latest(&self) -> Option<Tick> {
        None
    }
}
