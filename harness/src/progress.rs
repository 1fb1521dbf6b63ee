//! How far a run is, on standard error; the bar only where that is a terminal.

use std::io::{IsTerminal, Write};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::journal::{Entry, Status};
use crate::plan::{Cell, seconds};
use crate::record::word;

/// Says how far a run is.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    start: Instant,
    quiet: bool,
}

/// The bar counts milliseconds of estimated work, so that large cells weigh more than small ones.
fn weight(cell: &Cell) -> u64 {
    (seconds(cell.pass, cell.size) * 1000.0) as u64 + 1
}

impl Progress {
    /// Of a run of these cells. Failures are told as lines, also where there is no terminal.
    pub fn new<'a>(cells: impl Iterator<Item = &'a Cell>) -> Self {
        let bar = ProgressBar::new(cells.map(weight).sum());
        if !std::io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {prefix} left  {msg}");
        // The template is a constant, and the bar is none the worse for the plain style.
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { bar, start: Instant::now(), quiet: false }
    }

    /// One that says nothing.
    pub fn silent() -> Self {
        Self { bar: ProgressBar::hidden(), start: Instant::now(), quiet: true }
    }

    /// Streams are being made.
    pub fn preparing(&self) {
        self.bar.set_message("making operation streams");
    }

    /// A cell starts. It is drawn now, and not while the cell runs.
    pub fn cell(&self, cell: &Cell, workload: &str) {
        self.bar.set_prefix(self.left());
        self.bar.set_message(format!("{}/{workload}/{}/{}", cell.structure, cell.size, word(&cell.pass)));
    }

    /// A cell has ended.
    pub fn finished(&self, cell: &Cell, entry: &Entry) {
        self.bar.inc(weight(cell));
        if entry.status == Status::Ok || self.quiet {
            return;
        }
        let detail = entry.detail.as_deref().unwrap_or_default();
        let (pass, block) = (word(&cell.pass), cell.block);
        let line = format!("{}: {} ({pass}, block {block}): {detail}", word(&entry.status), cell.structure);
        self.bar.suspend(|| _ = writeln!(std::io::stderr(), "{line}"));
    }

    /// The run has ended.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }

    fn left(&self) -> String {
        let (done, all) = (self.bar.position() as f64, self.bar.length().unwrap_or(0) as f64);
        if done == 0.0 {
            return "?".into();
        }
        duration(self.start.elapsed().as_secs_f64() * (all - done) / done)
    }
}

/// Seconds in words, to the precision of a guess.
pub fn duration(seconds: f64) -> String {
    match seconds {
        ..1.0 => "1 s".into(),
        ..90.0 => format!("{seconds:.0} s"),
        ..5400.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_told_to_the_precision_of_a_guess() {
        assert_eq!([0.2, 45.3, 600.0, 9000.0].map(duration), ["1 s", "45 s", "10 min", "2.5 h"]);
    }
}
