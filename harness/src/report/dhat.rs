//! Which places of the source ask for memory: dhat's profiles of a run, by call site.

use std::fs;
use std::path::{Path, PathBuf};

use itertools::Itertools;
use serde::Deserialize;

use crate::error::Error;

/// A place in the source that asked for memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Function and line: `Wheel::enqueue (wheel/mod.rs:118)`.
    pub name: String,
    /// Bytes ever asked for.
    pub total_bytes: u64,
    /// Blocks ever asked for.
    pub total_blocks: u64,
    /// Bytes at the moment at which the program held most.
    pub peak_bytes: u64,
    /// Bytes at the end.
    pub end_bytes: u64,
}

#[derive(Deserialize)]
struct Profile {
    pps: Vec<Point>,
    ftbl: Vec<String>,
}

/// A program point of dhat's format.
#[derive(Deserialize)]
struct Point {
    tb: u64,
    tbk: u64,
    #[serde(default)]
    gb: u64,
    #[serde(default)]
    eb: u64,
    fs: Vec<usize>,
}

/// The profile of a cell in a run's folder, if there is one.
pub fn profile(folder: &Path, cell: u64) -> Option<PathBuf> {
    let ending = format!("-{cell}.json");
    let files = fs::read_dir(folder.join("heap")).ok()?.flatten().map(|entry| entry.path());
    files.sorted().find(|path| path.to_str().is_some_and(|name| name.ends_with(&ending)))
}

/// The sites of a profile, those first that asked for most.
pub fn sites(path: &Path) -> Result<Vec<Site>, Error> {
    let text = fs::read_to_string(path).map_err(|error| Error::file("read", path, &error))?;
    let profile: Profile = serde_json::from_str(&text).map_err(|error| {
        Error::failed(format!("{} is no profile of dhat: {error}", path.display()))
            .mend("measure again with `--measure heap`")
    })?;
    let mut sites: Vec<Site> = Vec::new();
    for point in &profile.pps {
        let frames = point.fs.iter().filter_map(|frame| profile.ftbl.get(*frame));
        let name = site_name(frames.map(String::as_str));
        let place = sites.iter().position(|site| site.name == name).unwrap_or_else(|| {
            sites.push(Site { name, total_bytes: 0, total_blocks: 0, peak_bytes: 0, end_bytes: 0 });
            sites.len() - 1
        });
        let site = &mut sites[place];
        site.total_bytes += point.tb;
        site.total_blocks += point.tbk;
        site.peak_bytes += point.gb;
        site.end_bytes += point.eb;
    }
    sites.sort_by(|a, b| b.total_bytes.cmp(&a.total_bytes).then_with(|| a.name.cmp(&b.name)));
    Ok(sites)
}

/// The first frame that is of the workbench's own source, the allocator's excepted.
fn site_name<'a>(frames: impl Iterator<Item = &'a str>) -> String {
    let own = frames.filter_map(Frame::parse).find(Frame::is_own);
    own.map_or_else(|| "elsewhere".into(), |frame| frame.shown())
}

/// `0x55f3c9: function (file:line:column)`
struct Frame<'a> {
    function: &'a str,
    file: &'a str,
    line: &'a str,
}

impl<'a> Frame<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (_, rest) = text.split_once(": ")?;
        let (function, place) = rest.rsplit_once(" (")?;
        let mut parts = place.trim_end_matches(')').rsplitn(3, ':');
        let (_column, line, file) = (parts.next()?, parts.next()?, parts.next()?);
        Some(Self { function, file, line })
    }

    fn is_own(&self) -> bool {
        let path = self.function.trim_start_matches('<');
        let named = path.starts_with("impls::") || path.starts_with("harness::");
        let lies = self.file.contains("impls/src/") || self.file.contains("harness/src/");
        (named || lies) && !self.file.ends_with("allocator.rs")
    }

    fn shown(&self) -> String {
        let file = self.file.rsplit_once("src/").map_or(self.file, |(_, file)| file);
        format!("{} ({file}:{})", short_function(self.function), self.line)
    }
}

/// The last two words of a path, without what stands in angle brackets: `Wheel::enqueue`.
fn short_function(function: &str) -> String {
    // `<Type as Trait>::method` is a method of the type.
    let (of, rest) = match function.strip_prefix('<').and_then(|inner| inner.split_once(" as ")) {
        Some((of, rest)) => (of, rest.rsplit_once(">::").map_or("", |(_, method)| method)),
        None => ("", function),
    };
    let mut depth = 0_u32;
    let mut plain = String::new();
    for letter in format!("{of}::{rest}").chars() {
        match letter {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 => plain.push(letter),
            _ => {}
        }
    }
    let words: Vec<&str> =
        plain.split("::").filter(|word| !word.is_empty() && !word.starts_with('{')).collect();
    words[words.len().saturating_sub(2)..].join("::")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAMES: [&str; 4] = [
        "0x1: <harness::allocator::Switch as core::alloc::global::GlobalAlloc>::alloc (harness/src/allocator.rs:113:39)",
        "0x2: push_mut<impls::slots::Taken<harness::payload::Boxed>> (src/vec/mod.rs:1029:22)",
        "0x3: <impls::wheel::Wheel<T,P> as impls::queue::TimerQueue<T>>::enqueue (src/wheel/mod.rs:118:24)",
        "0x4: harness::drive::run::Run<Q,P>::enqueue (src/drive/run.rs:190:32)",
    ];

    #[test]
    fn a_site_is_the_first_frame_of_our_own_and_not_the_allocator() {
        assert_eq!(site_name(FRAMES.into_iter()), "Wheel::enqueue (wheel/mod.rs:118)");
        assert_eq!(site_name(FRAMES[3..].iter().copied()), "Run::enqueue (drive/run.rs:190)");
        assert_eq!(site_name(FRAMES[..2].iter().copied()), "elsewhere");
        assert_eq!(short_function("make"), "make");
    }

    #[test]
    fn points_of_one_site_are_added_up_and_the_greatest_stands_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.json");
        let point = |tb: u64, frame: usize| serde_json::json!({ "tb": tb, "tbk": 1, "gb": 5, "eb": 0, "fs": [0, frame] });
        let profile =
            serde_json::json!({ "pps": [point(10, 2), point(90, 3), point(10, 2)], "ftbl": FRAMES });
        fs::write(&path, profile.to_string()).unwrap();
        let found: Vec<_> = sites(&path)
            .unwrap()
            .into_iter()
            .map(|s| (s.total_bytes, s.total_blocks, s.peak_bytes))
            .collect();
        assert_eq!(found, [(90, 1, 5), (20, 2, 10)]);
        fs::write(&path, "{}").unwrap();
        assert!(sites(&path).unwrap_err().to_string().contains("is no profile of dhat"));
    }
}
