//! Reading and writing a stream as a flat file, and its hash.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use bytemuck::Zeroable;
use xxhash_rust::xxh3::Xxh3;

use super::{Fault, Header, Op, Stream};

#[cfg(target_endian = "big")]
compile_error!("operations are read from their file as they stand, which is little endian");

/// The first line up to the number of operations.
const MAGIC: &str = "timer-workbench stream 1 ";

/// No header is longer; a longer line means that the file is something else.
const LINE_MOST: u64 = 1 << 20;

/// A stream that cannot be read or written.
#[derive(Debug)]
pub struct StreamError {
    path: PathBuf,
    kind: ErrorKind,
}

#[derive(Debug)]
enum ErrorKind {
    Io(io::Error),
    Magic,
    Header(serde_json::Error),
    Length { announced: u64, found: u64 },
    Memory { bytes: u64 },
    Fault(Fault),
}

impl StreamError {
    /// Whether there was not enough memory to read it.
    pub fn is_out_of_memory(&self) -> bool {
        matches!(self.kind, ErrorKind::Memory { .. })
    }
}

impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path.display())?;
        match &self.kind {
            ErrorKind::Io(error) => write!(f, "{error}"),
            ErrorKind::Magic => {
                let expected = MAGIC.trim_end();
                write!(f, "not an operation stream of this version: it does not begin with `{expected}`")
            }
            ErrorKind::Header(error) => write!(f, "the header in its second line cannot be read: {error}"),
            ErrorKind::Length { announced, found } => {
                write!(f, "{announced} operations are announced, but there are {found} bytes of 24 each; ")?;
                write!(f, "it was cut short while it was written: make it again")
            }
            ErrorKind::Memory { bytes } => {
                write!(
                    f,
                    "there is no memory for its operations, {bytes} bytes; ask for a smaller size with --n"
                )
            }
            ErrorKind::Fault(fault) => write!(f, "{fault}"),
        }
    }
}

impl std::error::Error for StreamError {}

impl Stream {
    /// Reads and checks a stream. The operations are read in place, so no second copy of them is ever
    /// made: what a worker frees before it starts would be found again, and hide what a queue needs.
    pub fn read(path: &Path) -> Result<Self, StreamError> {
        let read = || {
            let mut file = BufReader::new(File::open(path)?);
            let count = announced(&line(&mut file)?)?;
            let second = line(&mut file)?;
            let header = serde_json::from_str(&second).map_err(ErrorKind::Header)?;
            let stream = Self { header, ops: operations(&mut file, count)? };
            stream.check().map_err(ErrorKind::Fault)?;
            Ok(stream)
        };
        read().map_err(|kind| StreamError { path: path.to_owned(), kind })
    }

    /// Checks and writes a stream; a file that stands there is replaced.
    pub fn write(&self, path: &Path) -> Result<(), StreamError> {
        let write = || {
            self.check().map_err(ErrorKind::Fault)?;
            let mut file = BufWriter::new(File::create(path)?);
            file.write_all(self.preamble().as_bytes())?;
            file.write_all(bytemuck::cast_slice(&self.ops))?;
            Ok(file.flush()?)
        };
        write().map_err(|kind| StreamError { path: path.to_owned(), kind })
    }

    /// Bytes of its file.
    pub fn file_bytes(&self) -> u64 {
        (self.preamble().len() + size_of_val(self.ops.as_slice())) as u64
    }

    /// The xxh3 hash of its file.
    pub fn hash(&self) -> u64 {
        let mut hash = Xxh3::new();
        hash.update(self.preamble().as_bytes());
        hash.update(bytemuck::cast_slice(&self.ops));
        hash.digest()
    }

    /// The two lines before the operations, filled up to a multiple of 8 bytes.
    fn preamble(&self) -> String {
        let header = json(&self.header);
        let bare = format!("{MAGIC}{}\n{header}", self.ops.len());
        let spaces = bare.len().next_multiple_of(8) + 7 - bare.len();
        format!("{bare}{:spaces$}\n", "")
    }
}

fn json(header: &Header) -> String {
    serde_json::to_string(header).expect("a header is strings and numbers, which are always JSON")
}

impl From<io::Error> for ErrorKind {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The next line, without its end.
fn line(file: &mut impl BufRead) -> Result<String, ErrorKind> {
    let mut bytes = Vec::new();
    file.take(LINE_MOST).read_until(b'\n', &mut bytes)?;
    match String::from_utf8(bytes) {
        Ok(line) if line.ends_with('\n') => Ok(line.trim_end().to_owned()),
        _ => Err(ErrorKind::Magic),
    }
}

fn announced(first: &str) -> Result<u64, ErrorKind> {
    first.strip_prefix(MAGIC).and_then(|count| count.parse().ok()).ok_or(ErrorKind::Magic)
}

/// Reads exactly `count` operations up to the end of the file.
fn operations(file: &mut BufReader<File>, count: u64) -> Result<Vec<Op>, ErrorKind> {
    let length = file.get_ref().metadata()?.len();
    let at = io::Seek::stream_position(file)?;
    let (found, bytes) = (length.saturating_sub(at), count.saturating_mul(size_of::<Op>() as u64));
    if found != bytes {
        return Err(ErrorKind::Length { announced: count, found });
    }
    let count = usize::try_from(count).map_err(|_| ErrorKind::Memory { bytes })?;
    let mut ops = Vec::new();
    ops.try_reserve_exact(count).map_err(|_| ErrorKind::Memory { bytes })?;
    ops.resize(count, Op::zeroed());
    file.read_exact(bytemuck::cast_slice_mut(&mut ops))?;
    Ok(ops)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::Kind;
    use super::super::tests::{op, stream};
    use super::*;

    fn round_trip(stream: &Stream) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stream");
        stream.write(&path).unwrap();
        assert_eq!(Stream::read(&path).unwrap(), *stream);
        fs::read(path).unwrap()
    }

    /// The message with which `bytes` are refused, after the path.
    fn refused(bytes: &[u8]) -> String {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), bytes).unwrap();
        let message = Stream::read(file.path()).unwrap_err().to_string();
        message.split_once(": ").unwrap().1.to_owned()
    }

    #[test]
    fn what_is_written_is_read_and_hashed_alike() {
        for length in 0..9 {
            let mut stream = stream(vec![Op { at: u64::MAX, ..op(Kind::Enqueue) }, op(Kind::Take)]);
            stream.header.workload = "ü".repeat(length);
            let bytes = round_trip(&stream);
            assert_eq!(bytes.len() % 8, 0);
            assert_eq!(stream.hash(), xxhash_rust::xxh3::xxh3_64(&bytes));
        }
    }

    #[test]
    fn a_stream_that_was_cut_short_is_refused_wherever_the_cut_is() {
        let whole = round_trip(&stream(vec![op(Kind::NextExpiry), op(Kind::NextExpiry)]));
        for length in 0..whole.len() {
            let message = refused(&whole[..length]);
            assert!(
                message.contains("not an operation stream") || message.contains("cut short"),
                "{message}"
            );
        }
    }

    #[test]
    fn a_file_of_another_kind_or_with_a_broken_header_is_named_so() {
        assert!(refused(b"seq,ts,op\n1,2,S\n").starts_with("not an operation stream"));
        assert!(refused(b"timer-workbench stream 1 0\n{\"workload\"}\n").starts_with("the header"));
    }

    #[test]
    fn an_operation_that_cannot_be_is_refused_when_it_is_read() {
        let mut whole = round_trip(&stream(vec![op(Kind::NextExpiry)]));
        let kind = whole.len() - 4;
        whole[kind] = 200;
        assert_eq!(refused(&whole), "operation 0: 200 is not a kind of operation");
    }
}
