//! Plays schedules, and makes one that failed as short as it can.

use std::mem;

use super::book::Book;
use super::erased::Bench;
use super::profile::Profile;
use super::quiet;
use super::reached::Reached;
use super::side::{Side, Token};
use super::step::{Action, Step};
use super::{Failure, Promise};
use crate::model::Model;
use crate::queue::Params;
use crate::registry::Order;

/// Where a schedule broke.
struct Broken {
    /// The step that did it.
    step: usize,
    message: String,
    actions: Vec<Action>,
}

/// Replays spent on making a schedule shorter.
const REPLAYS: usize = 600;

/// Plays the schedule of `profile` and `seed`.
pub(super) fn schedule(
    bench: &Bench<'_, Token>,
    promise: Promise,
    profile: Profile,
    seed: u64,
) -> Result<Reached, Failure> {
    let steps = profile.schedule(seed);
    let play = |steps: &[Step]| Game::new(bench, promise).play(steps);
    play(&steps).map_err(|first| {
        let broken = shorten(steps, first, play);
        let actions = broken.actions.iter().enumerate().map(|(at, action)| format!("{at:>4}  {action:?}\n"));
        let history: String = actions.collect();
        Failure::new(format!(
            "profile {profile:?}, seed {seed}: {}\n  after these steps:\n{history}",
            broken.message
        ))
    })
}

/// Leaves out whatever is not needed for the schedule to fail, in runs of ever fewer steps.
fn shorten(
    mut steps: Vec<Step>,
    mut broken: Broken,
    play: impl Fn(&[Step]) -> Result<Reached, Broken>,
) -> Broken {
    steps.truncate(broken.step + 1);
    let (mut run, mut replays) = (steps.len().div_ceil(2), 0);
    while run > 0 {
        let mut from = 0;
        while from < steps.len() && replays < REPLAYS {
            let fewer: Vec<_> = [&steps[..from], &steps[(from + run).min(steps.len())..]].concat();
            replays += 1;
            match play(&fewer) {
                Ok(_) => from += run,
                Err(again) => {
                    steps = fewer;
                    steps.truncate(again.step + 1);
                    broken = again;
                }
            }
        }
        run /= 2;
    }
    broken
}

/// A structure, the model if it can be compared with it, and the book.
struct Game<'w> {
    subject: Side<'w>,
    model: Option<Side<'w>>,
    book: Book,
    actions: Vec<Action>,
}

impl<'w> Game<'w> {
    fn new(bench: &Bench<'w, Token>, promise: Promise) -> Self {
        let mut rounding = Params::default();
        rounding.set("tick", &promise.tick.to_string());
        let model = || Side::oracle(&Bench::new::<Model<Token>>(&rounding, promise.tick));
        Self {
            subject: Side::subject(bench),
            model: (promise.order == Order::Exact).then(model),
            book: Book::new(promise),
            actions: Vec::new(),
        }
    }

    fn play(mut self, steps: &[Step]) -> Result<Reached, Broken> {
        for (at, step) in steps.iter().enumerate() {
            let Some(action) = self.book.resolve(step) else { continue };
            self.actions.push(action);
            let verdict = quiet::caught(|| self.step(&action)).and_then(|verdict| verdict);
            if let Err(message) = verdict {
                return Err(self.broken(at, message));
            }
        }
        self.end().map_err(|(message, actions)| Broken { step: steps.len(), message, actions })
    }

    fn step(&mut self, action: &Action) -> Result<(), String> {
        let answer = self.subject.act(action);
        let seen = self.subject.look();
        self.book.settle(action, &answer, &seen)?;
        let Some(model) = &mut self.model else { return Ok(()) };
        let (right_answer, right) = (model.act(action), model.look());
        if (&answer, &seen) == (&right_answer, &right) {
            return Ok(());
        }
        Err(format!("got {answer:?} and {seen:?}; the model has {right_answer:?} and {right:?}"))
    }

    /// A structure that broke may break again when it is dropped, so it is kept from that.
    fn broken(self, step: usize, message: String) -> Broken {
        mem::forget(self.subject);
        Broken { step, message, actions: self.actions }
    }

    fn end(self) -> Result<Reached, (String, Vec<Action>)> {
        let Self { subject, model, mut book, actions } = self;
        let verdict = quiet::caught(|| {
            let remains = subject.finish();
            book.close(&remains)?;
            let right = model.map(Side::finish);
            match right {
                Some(right) if right != remains => Err(format!("left {remains:?}; the model left {right:?}")),
                _ => Ok(()),
            }
        });
        let verdict = verdict.and_then(|verdict| verdict);
        verdict.map_err(|message| (format!("when the queue was dropped: {message}"), actions))?;
        book.reached.schedules += 1;
        Ok(book.reached)
    }
}
