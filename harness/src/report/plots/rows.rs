//! Plots whose rows have names: drawn by the pixel, one row below the other.

use plotters::element::{PathElement, Polygon, Rectangle, Text};
use plotters::style::text_anchor::{HPos, VPos};

use super::canvas::{Area, DrawingError, Ink, anchored, mark, px, text, text_width};
use super::panel::TEXT;

/// A place in pixels.
pub type At = (f64, f64);

fn units((x, y): At) -> (i32, i32) {
    (px(x), px(y))
}

/// Words that begin (left), end (right) or have their middle at a place.
pub fn words(
    area: &Area<'_>,
    at: At,
    side: HPos,
    ink: Ink,
    bold: bool,
    words: &str,
) -> Result<(), DrawingError> {
    let style = anchored(text(ink, TEXT, bold), side, VPos::Center);
    area.draw(&Text::new(words.to_owned(), units(at), style))
}

/// A line between two places.
pub fn line(area: &Area<'_>, from: At, to: At, ink: Ink, width: f64) -> Result<(), DrawingError> {
    area.draw(&PathElement::new(vec![units(from), units(to)], ink.line(width)))
}

/// A filled rectangle.
pub fn filled(area: &Area<'_>, from: At, to: At, ink: Ink, opacity: f64) -> Result<(), DrawingError> {
    area.draw(&Rectangle::new([units(from), units(to)], ink.fill(opacity)))
}

/// The mark of a structure.
pub fn marked(area: &Area<'_>, (x, y): At, style: usize) -> Result<(), DrawingError> {
    let corners: Vec<_> = mark(style, 4.0).iter().map(|(dx, dy)| units((x + dx, y + dy))).collect();
    area.draw(&Polygon::new(corners, Ink::Style(style).fill(1.0)))
}

/// Room for the longest of some names.
pub fn room<'a>(names: impl Iterator<Item = &'a str>) -> f64 {
    names.map(|name| text_width(name, TEXT)).fold(0.0, f64::max) + 12.0
}

/// A name cut so that it fits some room, with a mark where it was cut.
pub fn fitting(name: &str, room: f64) -> String {
    if text_width(name, TEXT) <= room {
        return name.to_owned();
    }
    let letters = (room / text_width("n", TEXT)) as usize;
    name.chars().take(letters.saturating_sub(1)).chain(['…']).collect()
}
