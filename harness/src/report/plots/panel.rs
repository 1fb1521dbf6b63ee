//! Panels: lines with bands and marks over two axes, several panels to a figure.

use std::ops::Range;

use plotters::chart::ChartBuilder;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::element::{EmptyElement, PathElement, Polygon, Text};
use plotters::prelude::{Color, FontTransform};

use super::axis::Axis;
use super::canvas::{Area, DrawingError, Ink, Page, anchored, draw, mark, px, text, text_width};
use crate::error::Error;

/// Size of text in plots, in pixels.
pub const TEXT: f64 = 12.0;

/// A line of a panel.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// Its style: colour, mark and dash.
    pub style: usize,
    /// Its points.
    pub points: Vec<(f64, f64)>,
    /// At each x from where to where the value may lie.
    pub band: Vec<(f64, f64, f64)>,
    /// Whether points have marks.
    pub marks: bool,
    /// Opacity of the line.
    pub faint: bool,
}

/// A filled area between two lines.
#[derive(Clone, Debug)]
pub struct Layer {
    /// Which band of memory it is.
    pub band: usize,
    /// At each x, from where to where.
    pub spans: Vec<(f64, f64, f64)>,
}

/// One plot.
#[derive(Clone, Debug)]
pub struct Panel {
    /// What it is of.
    pub title: String,
    /// To the right.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// Filled areas, lowest first.
    pub layers: Vec<Layer>,
    /// Lines over them.
    pub lines: Vec<Line>,
}

/// An axis whose labels stand where they are said to, by a formatter of its own.
struct Ticked {
    range: Range<f64>,
    ticks: Vec<f64>,
}

impl Ranged for Ticked {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        let part = (value - self.range.start) / (self.range.end - self.range.start);
        from + (part * f64::from(to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { Vec::new() } else { self.ticks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

/// Draws panels side by side and below each other.
pub fn panels(panels: &[Panel], page: Page) -> Result<String, Error> {
    let columns = page.columns(panels.len());
    let rows = panels.len().div_ceil(columns).max(1);
    let height = if columns == 1 && page == Page::Wide {
        360
    } else if columns == 2 {
        300
    } else {
        250
    };
    draw((page.width(), height * rows as u32), |area| {
        let parts = area.split_evenly((rows, columns));
        parts.iter().zip(panels).try_for_each(|(part, panel)| one(part, panel))
    })
}

fn one(area: &Area<'_>, panel: &Panel) -> Result<(), DrawingError> {
    let width = f64::from(area.dim_in_pixel().0) / f64::from(px(1.0));
    let title = anchored(
        text(Ink::Text, TEXT + 1.0, true),
        plotters::style::text_anchor::HPos::Left,
        plotters::style::text_anchor::VPos::Top,
    );
    area.draw(&Text::new(panel.title.clone(), (px(6.0), px(6.0)), title))?;
    area.draw(&Text::new(panel.y.label.clone(), (px(6.0), px(25.0)), text(Ink::Muted, TEXT, false)))?;
    let y_room = panel.y.ticks.iter().map(|(_, label)| text_width(label, TEXT)).fold(0.0, f64::max) + 14.0;
    let turned = crowded(&panel.x, width - y_room - 20.0);
    let longest = panel.x.ticks.iter().map(|(_, label)| text_width(label, TEXT)).fold(0.0, f64::max);
    let x_room = if turned { longest + 8.0 } else { 22.0 };
    let under = if panel.x.label.is_empty() { 4.0 } else { 22.0 };
    let (x_range, x_ticks) = panel.x.range();
    let (y_range, y_ticks) = panel.y.range();
    let mut chart = ChartBuilder::on(area)
        .margin_top(px(44.0))
        .margin_bottom(px(under))
        .margin_left(px(4.0))
        .margin_right(px(16.0))
        .x_label_area_size(px(x_room))
        .y_label_area_size(px(y_room))
        .build_cartesian_2d(
            Ticked { range: x_range, ticks: x_ticks },
            Ticked { range: y_range, ticks: y_ticks },
        )?;
    let label = text(Ink::Muted, TEXT, false);
    let x_label = if turned { label.transform(FontTransform::Rotate90) } else { label.clone() };
    chart
        .configure_mesh()
        .axis_style(Ink::Rule.line(1.0))
        .bold_line_style(Ink::Grid.line(1.0))
        .light_line_style(Ink::Grid.color().mix(0.0))
        .x_label_style(x_label)
        .y_label_style(label)
        .x_label_formatter(&|place| panel.x.label_at(*place))
        .y_label_formatter(&|place| panel.y.label_at(*place))
        .set_all_tick_mark_size(px(3.0))
        .draw()?;
    let at = |x: f64, y: f64| (panel.x.at(x), panel.y.at(y));
    for layer in &panel.layers {
        let area = outline(&layer.spans).into_iter().map(|(x, y)| at(x, y)).collect::<Vec<_>>();
        chart.draw_series([Polygon::new(area, Ink::Band(layer.band).fill(0.85))])?;
    }
    for line in &panel.lines {
        let band = outline(&line.band).into_iter().map(|(x, y)| at(x, y)).collect::<Vec<_>>();
        if band.len() > 2 {
            chart.draw_series([Polygon::new(band, Ink::Style(line.style).fill(0.16))])?;
        }
    }
    for line in &panel.lines {
        let points: Vec<_> = line.points.iter().map(|(x, y)| at(*x, *y)).collect();
        let ink = Ink::Style(line.style);
        let mut style = ink.line(if line.faint { 1.0 } else { 2.0 });
        style.color = ink.color().mix(if line.faint { 0.5 } else { 1.0 });
        chart.draw_series([PathElement::new(points.clone(), style)])?;
        if line.marks {
            let corners: Vec<_> = mark(line.style, 4.0).iter().map(|(x, y)| (px(*x), px(*y))).collect();
            let marked =
                points.iter().map(|at| EmptyElement::at(*at) + Polygon::new(corners.clone(), ink.fill(1.0)));
            chart.draw_series(marked)?;
        }
    }
    x_title(area, &panel.x.label)
}

/// The name of the axis to the right, at its end.
fn x_title(area: &Area<'_>, label: &str) -> Result<(), DrawingError> {
    let (width, height) = area.dim_in_pixel();
    let at = (width as i32 - px(16.0), height as i32 - px(4.0));
    let style = anchored(
        text(Ink::Muted, TEXT, false),
        plotters::style::text_anchor::HPos::Right,
        plotters::style::text_anchor::VPos::Bottom,
    );
    area.draw(&Text::new(label.to_owned(), at, style))
}

/// Whether labels would run into each other.
fn crowded(axis: &Axis, room: f64) -> bool {
    let span = axis.at(axis.high) - axis.at(axis.low);
    let pixel = |(value, _): &(f64, String)| (axis.at(*value) - axis.at(axis.low)) / span * room;
    let overlap = |pair: &[(f64, String)]| {
        let need = (text_width(&pair[0].1, TEXT) + text_width(&pair[1].1, TEXT)) / 2.0 + 3.0;
        pixel(&pair[1]) - pixel(&pair[0]) < need
    };
    axis.ticks.windows(2).any(overlap)
}

/// There along the upper ends and back along the lower ones.
fn outline(spans: &[(f64, f64, f64)]) -> Vec<(f64, f64)> {
    let upper = spans.iter().map(|(x, _, high)| (*x, *high));
    let lower = spans.iter().rev().map(|(x, low, _)| (*x, *low));
    upper.chain(lower).collect()
}
