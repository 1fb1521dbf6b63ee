//! How far a run is, on standard error; the bar only where that is a terminal.

use std::collections::HashMap;
use std::io::{IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::journal::{Entry, Status};
use crate::plan::{Cell, Forecast, timed};
use crate::record::word;

/// Says how far a run is.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    start: Instant,
    quiet: bool,
    state: Mutex<State>,
}

/// What is left, and how long such things take.
#[derive(Debug)]
struct State {
    left: HashMap<u32, Cell>,
    forecast: Forecast,
    /// Seconds that the finished cells made the run longer, without what was done between them.
    spent_s: f64,
}

impl State {
    /// Seconds that are left: what the cells will take, and as much again between them as there was so far.
    fn left_s(&self, elapsed_s: f64) -> f64 {
        let cells: f64 = self.left.values().map(|cell| self.forecast.cell(cell)).sum();
        let pace = if self.spent_s > 0.0 { elapsed_s / self.spent_s } else { 1.0 };
        cells * pace.max(1.0)
    }

    /// Takes a cell off, and says whether it was the last of the discarded ones.
    fn take_off(&mut self, cell: &Cell, entry: &Entry) -> bool {
        self.left.remove(&cell.index);
        self.forecast.learn(cell, entry);
        if entry.elapsed_ms > 0 {
            self.spent_s += self.forecast.cell(cell);
        }
        let discarded = |cell: &Cell| timed(cell.pass) && cell.block == 0;
        discarded(cell) && !self.left.is_empty() && !self.left.values().any(discarded)
    }
}

/// Seconds left from which on it is worth a line.
const LONG_S: f64 = 30.0;

impl Progress {
    /// Of a run of these cells. Failures are told as lines, also where there is no terminal.
    pub fn new<'a>(cells: impl Iterator<Item = &'a Cell>, forecast: Forecast) -> Self {
        let bar = ProgressBar::new(1);
        if !std::io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {prefix} left  {msg}");
        // The template is a constant, and the bar is none the worse for the plain style.
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        let left = cells.map(|cell| (cell.index, cell.clone())).collect();
        Self::of(bar, false, State { left, forecast, spent_s: 0.0 })
    }

    /// One that says nothing.
    pub fn silent() -> Self {
        let state = State { left: HashMap::new(), forecast: Forecast::new(Vec::new()), spent_s: 0.0 };
        Self::of(ProgressBar::hidden(), true, state)
    }

    fn of(bar: ProgressBar, quiet: bool, state: State) -> Self {
        Self { bar, start: Instant::now(), quiet, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Streams are being made.
    pub fn preparing(&self) {
        self.bar.set_message("making operation streams");
    }

    /// A cell starts. It is drawn now, and not while the cell runs.
    pub fn cell(&self, cell: &Cell, workload: &str) {
        let elapsed_s = self.start.elapsed().as_secs_f64();
        let left_s = self.state().left_s(elapsed_s);
        self.bar.set_length(((elapsed_s + left_s) * 1000.0) as u64 + 1);
        self.bar.set_position((elapsed_s * 1000.0) as u64);
        self.bar.set_prefix(duration(left_s));
        self.bar.set_message(format!("{}/{workload}/{}/{}", cell.structure, cell.size, word(&cell.pass)));
    }

    /// A cell has ended.
    pub fn finished(&self, cell: &Cell, entry: &Entry) {
        let known = self.state().take_off(cell, entry);
        if self.quiet {
            return;
        }
        if entry.status != Status::Ok {
            let detail = entry.detail.as_deref().unwrap_or_default();
            let (pass, block) = (word(&cell.pass), cell.block);
            self.line(&format!(
                "{}: {} ({pass}, block {block}): {detail}",
                word(&entry.status),
                cell.structure
            ));
        }
        let left_s = self.state().left_s(self.start.elapsed().as_secs_f64());
        if known && left_s > LONG_S {
            self.line(&format!("the discarded block is done: about {} left", duration(left_s)));
        }
    }

    fn line(&self, words: &str) {
        self.bar.suspend(|| _ = writeln!(std::io::stderr(), "{words}"));
    }

    /// The run has ended.
    pub fn end(&self) {
        self.bar.finish_and_clear();
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
