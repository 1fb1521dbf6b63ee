//! Queues whose type is forgotten, so that the named cases and the facts about lifetime are compiled once and
//! not once per structure: nothing here is timed.

use std::cell::RefCell;
use std::rc::Rc;

use super::Failure;
use crate::queue::{Batch, ParamError, Params, Requeued, Tick, TimerQueue};

/// A handle, by its number among all that the queues of one bench gave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handle(usize);

/// A batch, and the way back to a queue that knows its type.
trait Held<T>: Batch<T> {
    /// Lays the batch where the queues of its bench find it.
    fn hand_over(self: Box<Self>);
}

struct Typed<B> {
    batch: B,
    desk: Rc<RefCell<Option<B>>>,
}

impl<T, B: Batch<T>> Held<T> for Typed<B> {
    fn hand_over(self: Box<Self>) {
        let Self { batch, desk } = *self;
        desk.replace(Some(batch));
    }
}

impl<T, B: Batch<T>> Batch<T> for Typed<B> {
    fn front(&mut self) -> Option<(Tick, &mut T)> {
        self.batch.front()
    }
    fn advance(&mut self) -> Option<(Tick, T)> {
        self.batch.advance()
    }
    fn len(&self) -> usize {
        self.batch.len()
    }
    fn is_empty(&self) -> bool {
        self.batch.is_empty()
    }
    fn latest(&self) -> Option<Tick> {
        self.batch.latest()
    }
}

/// A batch of some structure.
pub(super) struct AnyBatch<'w, T>(Box<dyn Held<T> + 'w>);

impl<T> Batch<T> for AnyBatch<'_, T> {
    fn front(&mut self) -> Option<(Tick, &mut T)> {
        self.0.front()
    }
    fn advance(&mut self) -> Option<(Tick, T)> {
        self.0.advance()
    }
    fn len(&self) -> usize {
        self.0.len()
    }
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    fn latest(&self) -> Option<Tick> {
        self.0.latest()
    }
}

/// What is asked of a queue, as [`TimerQueue`] has it.
trait Erased<'w, T> {
    fn enqueue(&mut self, expiry: Tick, item: T) -> Handle;
    fn take(&mut self, now: Tick, limit: usize) -> AnyBatch<'w, T>;
    fn requeue(&mut self, batch: AnyBatch<'w, T>) -> Requeued;
    fn get(&self, handle: Handle) -> Option<(Tick, &T)>;
    fn cancel(&mut self, handle: Handle) -> Option<T>;
    fn reschedule(&mut self, handle: Handle, expiry: Tick) -> Option<Handle>;
    fn same(&self, handle: Handle, other: Handle) -> bool;
    fn next_expiry(&mut self) -> Option<Tick>;
    fn len(&self) -> usize;
    fn timers(&self) -> Vec<(Tick, &T)>;
    fn container_bytes(&self) -> usize;
    fn shrink(&mut self);
    fn check(&self);
}

/// What the queues of a bench share, so that a handle or a batch of one can be shown to another.
struct Shared<T, Q: TimerQueue<T>> {
    handles: Rc<RefCell<Vec<Q::Handle>>>,
    desk: Rc<RefCell<Option<Q::Batch>>>,
}

impl<T, Q: TimerQueue<T>> Clone for Shared<T, Q> {
    fn clone(&self) -> Self {
        Self { handles: Rc::clone(&self.handles), desk: Rc::clone(&self.desk) }
    }
}

struct Known<T, Q: TimerQueue<T>> {
    queue: Q,
    shared: Shared<T, Q>,
}

impl<T, Q: TimerQueue<T>> Known<T, Q> {
    fn keep(&self, handle: Q::Handle) -> Handle {
        let mut handles = self.shared.handles.borrow_mut();
        handles.push(handle);
        Handle(handles.len() - 1)
    }

    fn handle(&self, handle: Handle) -> Q::Handle {
        self.shared.handles.borrow()[handle.0]
    }
}

impl<'w, T: 'w, Q: TimerQueue<T> + 'w> Erased<'w, T> for Known<T, Q> {
    fn enqueue(&mut self, expiry: Tick, item: T) -> Handle {
        let handle = self.queue.enqueue(expiry, item);
        self.keep(handle)
    }
    fn take(&mut self, now: Tick, limit: usize) -> AnyBatch<'w, T> {
        let batch = self.queue.take(now, limit);
        AnyBatch(Box::new(Typed { batch, desk: Rc::clone(&self.shared.desk) }))
    }
    fn requeue(&mut self, batch: AnyBatch<'w, T>) -> Requeued {
        batch.0.hand_over();
        let batch = self.shared.desk.take().expect("a batch that was taken from a queue of this bench");
        self.queue.requeue(batch)
    }
    fn get(&self, handle: Handle) -> Option<(Tick, &T)> {
        self.queue.get(self.handle(handle))
    }
    fn cancel(&mut self, handle: Handle) -> Option<T> {
        self.queue.cancel(self.handle(handle))
    }
    fn reschedule(&mut self, handle: Handle, expiry: Tick) -> Option<Handle> {
        let handle = self.queue.reschedule(self.handle(handle), expiry)?;
        Some(self.keep(handle))
    }
    fn same(&self, handle: Handle, other: Handle) -> bool {
        self.handle(handle) == self.handle(other)
    }
    fn next_expiry(&mut self) -> Option<Tick> {
        self.queue.next_expiry()
    }
    fn len(&self) -> usize {
        assert_eq!(self.queue.is_empty(), self.queue.len() == 0, "is_empty() against len()");
        self.queue.len()
    }
    fn timers(&self) -> Vec<(Tick, &T)> {
        self.queue.iter().collect()
    }
    fn container_bytes(&self) -> usize {
        self.queue.container_bytes()
    }
    fn shrink(&mut self) {
        self.queue.shrink();
    }
    fn check(&self) {
        self.queue.check();
    }
}

/// A queue of some structure.
pub(super) struct AnyQueue<'w, T>(Box<dyn Erased<'w, T> + 'w>);

impl<'w, T> AnyQueue<'w, T> {
    pub(super) fn enqueue(&mut self, expiry: Tick, item: T) -> Handle {
        self.0.enqueue(expiry, item)
    }
    pub(super) fn take(&mut self, now: Tick, limit: usize) -> AnyBatch<'w, T> {
        self.0.take(now, limit)
    }
    pub(super) fn requeue(&mut self, batch: AnyBatch<'w, T>) -> Requeued {
        self.0.requeue(batch)
    }
    pub(super) fn get(&self, handle: Handle) -> Option<(Tick, &T)> {
        self.0.get(handle)
    }
    pub(super) fn cancel(&mut self, handle: Handle) -> Option<T> {
        self.0.cancel(handle)
    }
    pub(super) fn reschedule(&mut self, handle: Handle, expiry: Tick) -> Option<Handle> {
        self.0.reschedule(handle, expiry)
    }
    /// Whether the structure holds two handles for the same.
    pub(super) fn same(&self, handle: Handle, other: Handle) -> bool {
        self.0.same(handle, other)
    }
    pub(super) fn next_expiry(&mut self) -> Option<Tick> {
        self.0.next_expiry()
    }
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
    pub(super) fn timers(&self) -> Vec<(Tick, &T)> {
        self.0.timers()
    }
    pub(super) fn container_bytes(&self) -> usize {
        self.0.container_bytes()
    }
    pub(super) fn shrink(&mut self) {
        self.0.shrink();
    }
    pub(super) fn check(&self) {
        self.0.check();
    }
}

type Make<'w, T> = Box<dyn Fn(&Params) -> Result<AnyQueue<'w, T>, ParamError> + 'w>;

/// Makes queues of one structure.
pub(super) struct Bench<'w, T> {
    make: Make<'w, T>,
    params: Params,
    /// The tick that the structure rounds to.
    pub(super) tick: Tick,
}

impl<'w, T: 'w> Bench<'w, T> {
    pub(super) fn new<Q: TimerQueue<T> + 'w>(params: &Params, tick: Tick) -> Self {
        let shared = Shared::<T, Q> { handles: Rc::default(), desk: Rc::default() };
        let make = move |params: &Params| {
            let queue = Q::with(params)?;
            Ok(AnyQueue(Box::new(Known { queue, shared: shared.clone() }) as Box<dyn Erased<'w, T> + 'w>))
        };
        Self { make: Box::new(make), params: params.clone(), tick }
    }

    /// An empty queue.
    pub(super) fn queue(&self) -> AnyQueue<'w, T> {
        (self.make)(&self.params).expect("the parameters were checked before")
    }

    /// What becomes of `params`.
    pub(super) fn with(&self, params: &Params) -> Result<(), ParamError> {
        (self.make)(params).map(drop)
    }
}

/// Runs one case or fact; a panic is its failure.
pub(super) fn fact(name: &str, run: impl FnOnce()) -> Result<(), Failure> {
    super::quiet::caught(run).map_err(|message| Failure::new(format!("{name}: {message}")))
}
