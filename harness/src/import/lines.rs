//! Lines of a file of any size, in the memory of the longest line that is let through.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use flate2::bufread::MultiGzDecoder;
use sha2::{Digest, Sha256};

use crate::error::Error;

/// A line without its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Counted from 1.
    pub number: u64,
    /// Its text; bytes that are no UTF-8 stand as U+FFFD.
    pub text: &'a str,
    /// It was longer than [`Lines::LONGEST`], and `text` is only its beginning.
    pub too_long: bool,
}

/// Reads line after line.
#[derive(Debug)]
pub struct Lines<R> {
    from: R,
    bytes: Vec<u8>,
    lossy: String,
    read: u64,
}

impl<R: BufRead> Lines<R> {
    /// Bytes of the longest line that is handed over whole. No form has any that is nearly as long.
    pub const LONGEST: usize = 1 << 20;

    /// Before the first line.
    pub fn new(from: R) -> Self {
        Self { from, bytes: Vec::new(), lossy: String::new(), read: 0 }
    }

    /// How many lines were read.
    pub fn read(&self) -> u64 {
        self.read
    }

    /// The next line, unless it was the last. Line ends are `\n` and `\r\n`; the last line needs none.
    ///
    /// # Errors
    ///
    /// Whatever the reader says.
    #[allow(
        clippy::should_implement_trait,
        reason = "a line lends from the buffer, which an iterator cannot"
    )]
    pub fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.bytes.clear();
        let cap = Self::LONGEST as u64 + 2;
        if self.from.by_ref().take(cap).read_until(b'\n', &mut self.bytes)? == 0 {
            return Ok(None);
        }
        self.read += 1;
        let ended = self.bytes.last() == Some(&b'\n');
        let too_long = !ended && self.bytes.len() as u64 == cap;
        if too_long {
            self.from.skip_until(b'\n')?;
        }
        for end in [b'\n', b'\r'] {
            if self.bytes.last() == Some(&end) {
                self.bytes.pop();
            }
        }
        let mark: &[u8] = if self.read == 1 { b"\xef\xbb\xbf" } else { b"" };
        let bytes = self.bytes.strip_prefix(mark).unwrap_or(&self.bytes);
        let text = match str::from_utf8(bytes) {
            Ok(text) => text,
            Err(_) => {
                self.lossy = String::from_utf8_lossy(bytes).into_owned();
                &self.lossy
            }
        };
        Ok(Some(Line { number: self.read, text, too_long }))
    }
}

/// A file that is read, unpacked if it is gzip, and hashed as it lies on the disk.
pub struct Source {
    text: Box<dyn BufRead>,
    hash: JoinHandle<Origin>,
}

/// What was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// SHA-256 of the file, in hex.
    pub sha256: String,
    /// Its bytes.
    pub bytes: u64,
}

/// Opens a file.
///
/// # Errors
///
/// It is not there, may not be read or is a folder.
pub fn open(path: &Path) -> Result<Source, Error> {
    let unreadable = |error: io::Error| {
        Error::file("read", path, &error).mend("check the name and that the file may be read")
    };
    let file = File::open(path).map_err(unreadable)?;
    let (blocks, receiver) = sync_channel(BLOCKS);
    let hash = std::thread::spawn(move || origin(&receiver));
    let mut raw = BufReader::with_capacity(BLOCK, Hashed { from: file, blocks });
    let packed = raw.fill_buf().map_err(unreadable)?.starts_with(b"\x1f\x8b");
    let text: Box<dyn BufRead> = match packed {
        true => Box::new(BufReader::with_capacity(BLOCK, MultiGzDecoder::new(raw))),
        false => Box::new(raw),
    };
    Ok(Source { text, hash })
}

/// Bytes read at a time, and how many such blocks may wait to be hashed.
const BLOCK: usize = 1 << 18;
const BLOCKS: usize = 16;

impl Source {
    /// Reads what is left, and says what was read.
    ///
    /// # Errors
    ///
    /// Whatever the reader says.
    pub fn finish(mut self) -> io::Result<Origin> {
        io::copy(&mut self.text, &mut io::sink())?;
        drop(self.text);
        Ok(self.hash.join().expect("hashing does not panic"))
    }
}

impl Read for Source {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.text.read(into)
    }
}

impl BufRead for Source {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.text.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.text.consume(amount);
    }
}

/// Hands a copy of all that is read to the thread that hashes.
struct Hashed<R> {
    from: R,
    blocks: SyncSender<Vec<u8>>,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.from.read(into)?;
        if n > 0 {
            // The other end goes away only with a panic of its thread, which `finish` passes on.
            _ = self.blocks.send(into[..n].to_vec());
        }
        Ok(n)
    }
}

fn origin(blocks: &Receiver<Vec<u8>>) -> Origin {
    let (mut hash, mut bytes) = (Sha256::new(), 0);
    for block in blocks {
        hash.update(&block);
        bytes += block.len() as u64;
    }
    let sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Origin { sha256, bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Vec<(u64, String, bool)> {
        let mut lines = Lines::new(bytes);
        let mut all = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            all.push((line.number, line.text.to_owned(), line.too_long));
        }
        all
    }

    #[test]
    fn line_ends_a_missing_last_end_and_bytes_that_are_no_text_are_read() {
        let all = read(b"\xef\xbb\xbfa\r\n\nb\xff\r\nc");
        let expected = [(1, "a"), (2, ""), (3, "b\u{fffd}"), (4, "c")];
        assert_eq!(all, expected.map(|(number, text)| (number, text.to_owned(), false)));
    }

    #[test]
    fn a_line_without_end_is_cut_and_the_next_one_is_whole() {
        let mut bytes = vec![b'x'; 3 * Lines::<&[u8]>::LONGEST];
        bytes.extend_from_slice(b"\nnext\n");
        let all = read(&bytes);
        assert!(all[0].2 && all[0].1.len() <= Lines::<&[u8]>::LONGEST + 2);
        assert_eq!(all[1..], [(2, "next".to_owned(), false)]);
    }

    #[test]
    fn the_hash_is_of_the_file_as_it_lies_on_the_disk() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "abc").unwrap();
        let origin = open(file.path()).unwrap().finish().unwrap();
        assert_eq!(origin.bytes, 3);
        assert!(origin.sha256.starts_with("ba7816bf8f01cfea"), "{origin:?}");
    }
}
