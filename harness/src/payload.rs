//! What timers carry while they are measured: a short menu, so that a driver is compiled for each.

use std::fmt;
use std::str::FromStr;

use crate::spec::PayloadKind;

/// An item that a queue holds while it is measured.
///
/// Its first 8 bytes are the number of the timer, which is how a run proves what it dispatched. A smaller
/// payload has no room for it and reports 0.
pub trait Payload: Sized + 'static {
    /// What must be known at run time to make one.
    type Recipe: Copy + fmt::Debug;

    /// Whether every structure is compiled for it; see [`Visit::COMMON`](impls::registry::Visit::COMMON).
    const COMMON: bool;

    /// The payload of timer `id`.
    fn make(recipe: Self::Recipe, id: u32) -> Self;

    /// The timer it was made for, or 0 when it is too small to say.
    fn id(&self) -> u64;
}

/// `WORDS` times 8 bytes that lie within the structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inline<const WORDS: usize>([u64; WORDS]);

impl<const WORDS: usize> Payload for Inline<WORDS> {
    type Recipe = ();

    const COMMON: bool = WORDS == 2;

    fn make((): (), id: u32) -> Self {
        let mut words = [0; WORDS];
        if let Some(first) = words.first_mut() {
            *first = u64::from(id);
        }
        Self(words)
    }

    fn id(&self) -> u64 {
        self.0.first().copied().unwrap_or(0)
    }
}

/// Bytes in a block of their own. The structure holds 16 bytes: where the block is, and its size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boxed(Box<[u8]>);

impl Payload for Boxed {
    /// The size of the block.
    type Recipe = u32;

    const COMMON: bool = true;

    fn make(bytes: u32, id: u32) -> Self {
        // Not zeros: a large block of zeros is not in memory until somebody writes to it.
        let mut block = vec![0xA5; bytes as usize].into_boxed_slice();
        if let Some(first) = block.first_chunk_mut() {
            *first = u64::from(id).to_le_bytes();
        }
        Self(block)
    }

    fn id(&self) -> u64 {
        self.0.first_chunk().map_or(0, |first| u64::from_le_bytes(*first))
    }
}

/// Work for a payload that is only named at run time.
pub trait WithPayload {
    /// What the work gives.
    type Out;
    /// Does it with payloads of type `P`, made by `recipe`.
    fn run<P: Payload>(self, recipe: P::Recipe) -> Self::Out;
}

/// Runs `work` with the type of `kind`.
pub fn with_payload<W: WithPayload>(kind: PayloadKind, work: W) -> Result<W::Out, PayloadError> {
    match kind {
        PayloadKind::Inline(0) => Ok(work.run::<Inline<0>>(())),
        PayloadKind::Inline(16) => Ok(work.run::<Inline<2>>(())),
        PayloadKind::Inline(64) => Ok(work.run::<Inline<8>>(())),
        PayloadKind::Inline(448) => Ok(work.run::<Inline<56>>(())),
        PayloadKind::Inline(bytes) => Err(PayloadError::Size(bytes)),
        PayloadKind::Boxed(bytes) => Ok(work.run::<Boxed>(bytes)),
    }
}

impl PayloadKind {
    /// The sizes that can lie within a structure.
    pub const INLINE: [u32; 4] = [0, 16, 64, 448];

    /// Whether it has room for the number of its timer.
    pub fn has_id(self) -> bool {
        let (Self::Inline(bytes) | Self::Boxed(bytes)) = self;
        bytes >= 8
    }
}

impl fmt::Display for PayloadKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inline(bytes) => write!(f, "{bytes}"),
            Self::Boxed(bytes) => write!(f, "box:{bytes}"),
        }
    }
}

impl FromStr for PayloadKind {
    type Err = PayloadError;

    fn from_str(text: &str) -> Result<Self, PayloadError> {
        let number = |digits: &str| digits.parse().map_err(|_| PayloadError::Form(text.to_owned()));
        match text.strip_prefix("box:") {
            Some(bytes) => Ok(Self::Boxed(number(bytes)?)),
            None => match number(text)? {
                bytes if Self::INLINE.contains(&bytes) => Ok(Self::Inline(bytes)),
                bytes => Err(PayloadError::Size(bytes)),
            },
        }
    }
}

/// A payload that is not on the menu.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PayloadError {
    /// Not a size at all.
    #[error("`{0}` is not a payload; write 0, 16, 64 or 448 for bytes within the structure, or box:BYTES")]
    Form(String),
    /// Nothing is compiled for this size.
    #[error(
        "a payload of {0} bytes within the structure is not compiled in; there is 0, 16, 64 and 448, or box:{0}"
    )]
    Size(u32),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The size of the type and the ids that two payloads of it report.
    struct Look;
    impl WithPayload for Look {
        type Out = (usize, [u64; 2]);
        fn run<P: Payload>(self, recipe: P::Recipe) -> Self::Out {
            (size_of::<P>(), [7, u32::MAX].map(|id| P::make(recipe, id).id()))
        }
    }

    #[test]
    fn every_payload_says_its_timer_if_it_has_room_and_is_as_large_as_it_says() {
        for bytes in PayloadKind::INLINE {
            let kind = PayloadKind::Inline(bytes);
            let ids = if kind.has_id() { [7, u64::from(u32::MAX)] } else { [0, 0] };
            assert_eq!(with_payload(kind, Look), Ok((bytes as usize, ids)));
        }
        for bytes in [0, 1, 7, 8, 16, 4096] {
            let kind = PayloadKind::Boxed(bytes);
            let ids = if kind.has_id() { [7, u64::from(u32::MAX)] } else { [0, 0] };
            assert_eq!(with_payload(kind, Look), Ok((16, ids)));
            assert_eq!(Boxed::make(bytes, 3).0.len(), bytes as usize);
        }
    }

    #[test]
    fn a_payload_is_written_as_it_is_read() {
        for text in ["0", "16", "64", "448", "box:0", "box:16", "box:5000"] {
            assert_eq!(text.parse::<PayloadKind>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_size_that_is_not_compiled_in_names_those_that_are() {
        let error = "17".parse::<PayloadKind>().unwrap_err();
        assert!(error.to_string().ends_with("there is 0, 16, 64 and 448, or box:17"), "{error}");
        for text in ["", "box", "box:", "box:-1", "-1", "16 bytes"] {
            assert_eq!(text.parse::<PayloadKind>(), Err(PayloadError::Form(text.to_owned())));
        }
        assert_eq!(with_payload(PayloadKind::Inline(17), Look), Err(PayloadError::Size(17)));
    }
}
