//! Panics that are expected: caught, and kept from the terminal, with the place they came from.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs `work`; a panic becomes its message and place, and is not printed.
pub(super) fn caught<R>(work: impl FnOnce() -> R) -> Result<R, String> {
    hook();
    DEPTH.set(DEPTH.get() + 1);
    PLACE.take();
    let outcome = panic::catch_unwind(AssertUnwindSafe(work));
    DEPTH.set(DEPTH.get() - 1);
    outcome.map_err(|payload| format!("panicked: {}{}", words(payload.as_ref()), PLACE.take()))
}

/// A panic of a handler or a destructor: it says nothing, so that no hook need be asked.
pub(super) fn silent_panic() -> ! {
    panic::resume_unwind(Box::new("on purpose"))
}

fn words(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("(no message)")
}

/// The hook is the process's, so it is set once and passes on whatever happens outside of [`caught`].
fn hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if DEPTH.get() == 0 {
                return usual(info);
            }
            let place = info.location().map(|place| format!(" (at {place})"));
            PLACE.set(place.unwrap_or_default());
        }));
    });
}
