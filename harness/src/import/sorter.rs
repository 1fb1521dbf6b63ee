//! Sorting more than memory holds: runs on disk, merged as they are read.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use bytemuck::Pod;
use itertools::Itertools;

/// Sorts items of a fixed size. Equal items come out next to each other, so a number in each that says when it
/// came keeps their order.
///
/// ```text
/// push ... push | sorted run on disk |      merge: run 1 --\
/// push ... push | sorted run on disk |             run 2 ----> in order
/// push ...      | last run in memory |             last  --/
/// ```
///
/// # Costs
///
/// O(n log n) comparisons, one write and one read of all that does not fit into the run in memory.
#[derive(Debug)]
pub struct Sorter<T> {
    folder: PathBuf,
    run: Vec<T>,
    run_len: usize,
    runs: Vec<File>,
}

impl<T: Pod + Ord> Sorter<T> {
    /// Bytes of a run in memory.
    const RUN_BYTES: usize = 32 << 20;

    /// Sorts with nameless temporary files in this folder.
    pub fn new(folder: &Path) -> Self {
        Self::with_run(folder, Self::RUN_BYTES / size_of::<T>().max(1))
    }

    fn with_run(folder: &Path, run_len: usize) -> Self {
        Self { folder: folder.to_owned(), run: Vec::new(), run_len, runs: Vec::new() }
    }

    /// Adds an item.
    ///
    /// # Errors
    ///
    /// A run cannot be written.
    pub fn push(&mut self, item: T) -> io::Result<()> {
        if self.run.len() == self.run_len {
            self.spill()?;
        }
        self.run.push(item);
        Ok(())
    }

    fn spill(&mut self) -> io::Result<()> {
        self.run.sort_unstable();
        let mut file = BufWriter::new(tempfile::tempfile_in(&self.folder)?);
        file.write_all(bytemuck::cast_slice(&self.run))?;
        let mut file = file.into_inner()?;
        file.rewind()?;
        self.runs.push(file);
        self.run.clear();
        Ok(())
    }

    /// All items, the least first.
    pub fn finish(mut self) -> impl Iterator<Item = io::Result<T>> {
        self.run.sort_unstable();
        let runs = self.runs.into_iter().map(|file| Box::new(Run::new(file)) as Box<dyn Iterator<Item = _>>);
        let last = Box::new(self.run.into_iter().map(Ok)) as Box<dyn Iterator<Item = io::Result<T>>>;
        // What cannot be read comes first, and so is seen.
        runs.chain([last]).kmerge_by(|a, b| match (a, b) {
            (Ok(a), Ok(b)) => a < b,
            (a, _) => a.is_err(),
        })
    }
}

/// A file of items, read one after the other.
#[derive(Debug)]
pub(super) struct Run<T> {
    from: BufReader<File>,
    of: PhantomData<T>,
}

impl<T: Pod> Run<T> {
    pub(super) fn new(file: File) -> Self {
        Self { from: BufReader::with_capacity(1 << 18, file), of: PhantomData }
    }
}

impl<T: Pod> Iterator for Run<T> {
    type Item = io::Result<T>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut item = T::zeroed();
        match self.from.read_exact(bytemuck::bytes_of_mut(&mut item)) {
            Ok(()) => Some(Ok(item)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => None,
            Err(error) => Some(Err(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    #[test]
    fn what_does_not_fit_into_a_run_is_sorted_all_the_same() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let items: Vec<u64> = (0..10_000).map(|_| random.random_range(0..5_000)).collect();
        let folder = tempfile::tempdir().unwrap();
        for run_len in [7, 1_000, 10_000, 20_000] {
            let mut sorter = Sorter::with_run(folder.path(), run_len);
            items.iter().for_each(|item| sorter.push(*item).unwrap());
            let sorted: Vec<u64> = sorter.finish().map(Result::unwrap).collect();
            assert_eq!(sorted, items.iter().copied().sorted().collect::<Vec<_>>(), "runs of {run_len}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "temporary files have no name");
    }
}
