//! One binary, three allocators: which of them serves is decided once, at the first call. jemalloc comes in two
//! kinds, without and with a thread of its own that gives free pages back.
//!
//! This is the only `unsafe` of the harness: the global allocator itself, and calls into C that ask an
//! allocator what it holds and to give it back. A figure that an allocator does not keep is `None`.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use jemallocator::Jemalloc;
use tikv_jemalloc_ctl::{background_thread, epoch, opt, raw, stats, version};

use crate::spec::AllocatorKind;

/// The variable that decides: `jemalloc`, `jemalloc-background`, `system` or `dhat`.
pub const VARIABLE: &str = "TWB_ALLOCATOR";

const VARIABLE_C: &CStr = c"TWB_ALLOCATOR";

/// The variable that jemalloc reads its options from.
pub const OPTIONS: &str = "_RJEM_MALLOC_CONF";

/// The option with which jemalloc gives free pages back by a thread of its own.
pub const BACKGROUND: &str = "background_thread:true";

/// The allocator of everything that links this library.
#[global_allocator]
static ALLOCATOR: Switch = Switch;

/// [`UNDECIDED`] or a kind as [`number`] gives it.
static CHOSEN: AtomicU8 = AtomicU8::new(UNDECIDED);

/// Whether jemalloc was asked for with its background thread. It is no kind of its own in [`CHOSEN`], which every
/// call looks at.
static WITH_THREAD: AtomicBool = AtomicBool::new(false);

const UNDECIDED: u8 = 0;
const JEMALLOC: u8 = number(AllocatorKind::Jemalloc);
const SYSTEM: u8 = number(AllocatorKind::System);

const fn number(kind: AllocatorKind) -> u8 {
    match kind {
        AllocatorKind::Jemalloc | AllocatorKind::JemallocBackground => 1,
        AllocatorKind::System => 2,
        AllocatorKind::Dhat => 3,
    }
}

/// Hands every call to the allocator that was chosen.
struct Switch;

/// The choice as it stands, made now if this is the first call.
#[inline]
fn choice() -> u8 {
    match CHOSEN.load(Ordering::Relaxed) {
        UNDECIDED => decide(),
        chosen => chosen,
    }
}

/// Reads the variable. Two threads that come here together read the same environment, so they agree.
#[cold]
fn decide() -> u8 {
    // SAFETY: the name is a C string. The first allocation of a process is made before `main`, when there
    // is one thread, so nobody changes the environment meanwhile.
    let value = unsafe { libc::getenv(VARIABLE_C.as_ptr()) };
    let named = if value.is_null() { None } else { kind(value) };
    let chosen = number(named.unwrap_or(AllocatorKind::Jemalloc));
    WITH_THREAD.store(named == Some(AllocatorKind::JemallocBackground), Ordering::Relaxed);
    CHOSEN.store(chosen, Ordering::Relaxed);
    chosen
}

/// The kind that a C string names.
fn kind(value: *const c_char) -> Option<AllocatorKind> {
    // SAFETY: `getenv` gave a pointer that is not null, so it points to a C string of the environment,
    // which stays where it is while nobody changes the environment.
    let value = unsafe { CStr::from_ptr(value) };
    parse(value.to_str().ok()?)
}

/// The kind of this name, without allocating.
pub fn parse(name: &str) -> Option<AllocatorKind> {
    match name {
        "jemalloc" => Some(AllocatorKind::Jemalloc),
        "jemalloc-background" => Some(AllocatorKind::JemallocBackground),
        "system" => Some(AllocatorKind::System),
        "dhat" => Some(AllocatorKind::Dhat),
        _ => None,
    }
}

/// The name of a kind, as [`parse`] reads it.
pub fn name(kind: AllocatorKind) -> &'static str {
    match kind {
        AllocatorKind::Jemalloc => "jemalloc",
        AllocatorKind::JemallocBackground => "jemalloc-background",
        AllocatorKind::System => "system",
        AllocatorKind::Dhat => "dhat",
    }
}

/// Which allocator serves this process.
pub fn chosen() -> AllocatorKind {
    match choice() {
        JEMALLOC if WITH_THREAD.load(Ordering::Relaxed) => AllocatorKind::JemallocBackground,
        JEMALLOC => AllocatorKind::Jemalloc,
        SYSTEM => AllocatorKind::System,
        _ => AllocatorKind::Dhat,
    }
}

// SAFETY: every call goes to one and the same allocator for as long as the process lives, because the
// choice is stored before the first block is given out and never changes. Each of the three keeps the
// contract of `GlobalAlloc`, so a block goes back to where it came from.
unsafe impl GlobalAlloc for Switch {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match choice() {
            // SAFETY: the caller's promise about `layout` is handed on as it is.
            JEMALLOC => unsafe { Jemalloc.alloc(layout) },
            // SAFETY: as above.
            SYSTEM => unsafe { System.alloc(layout) },
            // SAFETY: as above.
            _ => unsafe { dhat::Alloc.alloc(layout) },
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match choice() {
            // SAFETY: the caller got `block` from this allocator with this layout, thus from jemalloc.
            JEMALLOC => unsafe { Jemalloc.dealloc(block, layout) },
            // SAFETY: as above, from the system.
            SYSTEM => unsafe { System.dealloc(block, layout) },
            // SAFETY: as above, from dhat.
            _ => unsafe { dhat::Alloc.dealloc(block, layout) },
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match choice() {
            // SAFETY: the caller's promise about `layout` is handed on as it is.
            JEMALLOC => unsafe { Jemalloc.alloc_zeroed(layout) },
            // SAFETY: as above.
            SYSTEM => unsafe { System.alloc_zeroed(layout) },
            // SAFETY: as above.
            _ => unsafe { dhat::Alloc.alloc_zeroed(layout) },
        }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        match choice() {
            // SAFETY: the caller got `block` from this allocator with this layout, thus from jemalloc, and
            // promises a size that is not zero.
            JEMALLOC => unsafe { Jemalloc.realloc(block, layout, size) },
            // SAFETY: as above, from the system.
            SYSTEM => unsafe { System.realloc(block, layout, size) },
            // SAFETY: as above, from dhat.
            _ => unsafe { dhat::Alloc.realloc(block, layout, size) },
        }
    }
}

/// What the allocator says of itself, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Given out and not given back.
    pub allocated: Option<u64>,
    /// In pages that hold something given out.
    pub active: Option<u64>,
    /// In pages that are in memory for all the allocator knows.
    pub resident: Option<u64>,
    /// Mapped, but in no use and not in memory.
    pub retained: Option<u64>,
}

impl Figures {
    /// The figures of this moment. Does not allocate.
    pub fn now() -> Self {
        match chosen() {
            AllocatorKind::Jemalloc | AllocatorKind::JemallocBackground => Self::of_jemalloc(),
            AllocatorKind::System | AllocatorKind::Dhat => Self { allocated: in_use(), ..Self::default() },
        }
    }

    /// jemalloc keeps its figures from one epoch to the next: without a new one they are old.
    fn of_jemalloc() -> Self {
        if epoch::advance().is_err() {
            return Self::default();
        }
        let bytes = |figure: tikv_jemalloc_ctl::Result<usize>| figure.ok().map(|bytes| bytes as u64);
        Self {
            allocated: bytes(stats::allocated::read()),
            active: bytes(stats::active::read()),
            resident: bytes(stats::resident::read()),
            retained: bytes(stats::retained::read()),
        }
    }
}

/// What the C library has given out, from its arenas and as mappings of their own.
#[cfg(target_env = "gnu")]
fn in_use() -> Option<u64> {
    // SAFETY: it takes nothing, and locks each arena while it reads it.
    let info = unsafe { libc::mallinfo2() };
    Some((info.uordblks + info.hblkhd) as u64)
}

#[cfg(not(target_env = "gnu"))]
fn in_use() -> Option<u64> {
    None
}

/// Asks the allocator to give back to the kernel what it holds and nobody uses.
pub fn purge() {
    match chosen() {
        AllocatorKind::Jemalloc | AllocatorKind::JemallocBackground => {
            // What the thread keeps at hand counts as in use, so it goes back to its arena first.
            command(c"thread.tcache.flush");
            // 4096 is `MALLCTL_ARENAS_ALL`.
            command(c"arena.4096.purge");
        }
        AllocatorKind::System | AllocatorKind::Dhat => trim(),
    }
}

/// A control of jemalloc's that neither takes nor gives a value. One that fails changes nothing, and the
/// figures taken next show that.
fn command(name: &CStr) {
    let (none, no_size) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the name is a C string, and null for the old and the new value is what a control without a
    // value asks for.
    unsafe { tikv_jemalloc_sys::mallctl(name.as_ptr(), none, no_size, none, 0) };
}

#[cfg(target_env = "gnu")]
fn trim() {
    // SAFETY: it takes a number of bytes to keep, and locks each arena while it trims it.
    unsafe { libc::malloc_trim(0) };
}

#[cfg(not(target_env = "gnu"))]
fn trim() {}

/// Name, version and options of the allocator that serves, as it tells them itself.
pub fn read_back() -> Vec<(String, String)> {
    let mut facts = vec![("name".to_owned(), name(chosen()).to_owned())];
    let mut add = |key: &str, value: Option<String>| facts.extend(value.map(|value| (key.to_owned(), value)));
    match chosen() {
        AllocatorKind::Jemalloc | AllocatorKind::JemallocBackground => jemalloc_options(&mut add),
        AllocatorKind::System | AllocatorKind::Dhat => add("version", c_library()),
    }
    facts
}

fn jemalloc_options(add: &mut impl FnMut(&str, Option<String>)) {
    let flag = |name| option::<bool>(name).map(|value| value.to_string());
    let milliseconds = |name| option::<isize>(name).map(|value| value.to_string());
    add("version", version::read().ok().map(|text| text.trim_end_matches('\0').to_owned()));
    add("narenas", opt::narenas::read().ok().map(|value| value.to_string()));
    add("dirty_decay_ms", milliseconds(b"opt.dirty_decay_ms\0"));
    add("muzzy_decay_ms", milliseconds(b"opt.muzzy_decay_ms\0"));
    add("background_thread", background_thread::read().ok().map(|value| value.to_string()));
    add("tcache", opt::tcache::read().ok().map(|value| value.to_string()));
    add("tcache_max", opt::tcache_max::read().ok().map(|value| value.to_string()));
    add("retain", flag(b"opt.retain\0"));
    add("thp", text(b"opt.thp\0"));
    add("metadata_thp", text(b"opt.metadata_thp\0"));
    add("page", option::<usize>(b"arenas.page\0").map(|value| value.to_string()));
}

/// Whether jemalloc says that its background thread is on.
pub fn has_background_thread() -> bool {
    background_thread::read().unwrap_or(false)
}

/// Types that jemalloc's options have.
trait OptionType: Copy {}
impl OptionType for bool {}
impl OptionType for isize {}
impl OptionType for usize {}

fn option<T: OptionType>(name: &[u8]) -> Option<T> {
    // SAFETY: jemalloc compares the size of `T` with the option's and refuses another, and each option is
    // asked for above with its type from jemalloc's manual.
    unsafe { raw::read(name) }.ok()
}

fn text(name: &[u8]) -> Option<String> {
    // SAFETY: the names asked for are options whose value is a C string that lives as long as jemalloc.
    let value = unsafe { raw::read_str(name) }.ok()?;
    Some(String::from_utf8_lossy(value).trim_end_matches('\0').to_owned())
}

#[cfg(target_env = "gnu")]
fn c_library() -> Option<String> {
    // SAFETY: it takes nothing and gives a pointer to a constant of the library.
    let number = unsafe { libc::gnu_get_libc_version() };
    // SAFETY: that constant is a C string and lives as long as the process.
    let number = unsafe { CStr::from_ptr(number) };
    Some(format!("glibc {}", number.to_string_lossy()))
}

#[cfg(not(target_env = "gnu"))]
fn c_library() -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        use AllocatorKind::{Dhat, Jemalloc, JemallocBackground, System};
        for kind in [Jemalloc, JemallocBackground, System, Dhat] {
            assert_eq!(parse(name(kind)), Some(kind));
            assert_eq!(crate::record::word(&kind), name(kind));
        }
        assert_eq!(parse("malloc"), None);
    }

    #[test]
    fn what_no_allocator_keeps_is_none_and_not_0() {
        let figures = Figures::now();
        match chosen() {
            AllocatorKind::Jemalloc | AllocatorKind::JemallocBackground => {
                assert!(figures.resident > Some(0) && figures.retained.is_some())
            }
            _ => assert_eq!((figures.active, figures.resident, figures.retained), (None, None, None)),
        }
        assert!(figures.allocated > Some(0));
    }
}
