//! An SVG that follows the page: drawn by plotters in stand-in colours, which then become variables of the
//! page's style, so that one drawing serves light and dark.

use plotters::coord::Shift;
use plotters::prelude::{DrawingArea, IntoDrawingArea, RGBColor, SVGBackend, ShapeStyle};
use plotters::style::{Color, FontDesc, FontFamily, FontStyle, TextStyle, text_anchor};

use crate::error::Error;

/// Units of a drawing for each pixel of the page: plotters rounds to whole units.
const SCALE: u32 = 4;

/// Structures that have a colour, a mark and a dash of their own; more begin anew.
pub const STYLES: usize = 8;

/// Dashes of the lines of each style, in pixels.
const DASHES: [&[u32]; STYLES] =
    [&[], &[7, 3], &[2, 3], &[9, 3, 2, 3], &[12, 4], &[4, 4], &[1, 2], &[6, 2, 2, 2, 2, 2]];

/// Where plots are drawn.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// What plotters says when it cannot draw.
pub type DrawingError = plotters::drawing::DrawingAreaErrorKind<std::io::Error>;

/// For which page a plot is drawn. Text has the same size in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// Of a desk.
    Wide,
    /// Of a hand.
    Narrow,
}

impl Page {
    /// Width of its plots in pixels.
    pub fn width(self) -> u32 {
        match self {
            Self::Wide => 1040,
            Self::Narrow => 344,
        }
    }

    /// How many of some panels stand side by side.
    pub fn columns(self, panels: usize) -> usize {
        match (self, panels) {
            (Self::Narrow, _) => 1,
            (Self::Wide, 1 | 2 | 4) => panels.clamp(1, 2),
            (Self::Wide, _) => 3,
        }
    }
}

/// What a thing is drawn in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// Words and figures.
    Text,
    /// Words beside the matter.
    Muted,
    /// Lines of a grid.
    Grid,
    /// A line that means something, such as "equal".
    Rule,
    /// Less than the baseline.
    Less,
    /// More than the baseline.
    More,
    /// A structure.
    Style(usize),
    /// A band of memory.
    Band(usize),
}

const PLAIN: [(Ink, &str); 6] = [
    (Ink::Text, "text"),
    (Ink::Muted, "muted"),
    (Ink::Grid, "grid"),
    (Ink::Rule, "rule"),
    (Ink::Less, "less"),
    (Ink::More, "more"),
];

impl Ink {
    /// The colour that stands for it until the drawing is finished.
    pub fn color(self) -> RGBColor {
        match self {
            Self::Style(style) => RGBColor(1, 0, (style % STYLES) as u8),
            Self::Band(band) => RGBColor(2, 0, band as u8),
            plain => RGBColor(3, 0, PLAIN.iter().position(|(ink, _)| *ink == plain).unwrap_or(0) as u8),
        }
    }

    /// A line of some pixels' width.
    pub fn line(self, width: f64) -> ShapeStyle {
        self.color().stroke_width((width * f64::from(SCALE)) as u32)
    }

    /// A filled shape; 1 is opaque.
    pub fn fill(self, opacity: f64) -> ShapeStyle {
        self.color().mix(opacity).filled()
    }
}

/// Pixels in units of a drawing.
pub fn px(pixels: f64) -> i32 {
    (pixels * f64::from(SCALE)).round() as i32
}

/// Text of a size in pixels.
pub fn text(ink: Ink, size: f64, bold: bool) -> TextStyle<'static> {
    let style = if bold { FontStyle::Bold } else { FontStyle::Normal };
    // plotters divides sizes by this.
    let size = size * f64::from(SCALE) * 1.24;
    TextStyle {
        font: FontDesc::new(FontFamily::SansSerif, size, style),
        color: ink.color().to_backend_color(),
        pos: text_anchor::Pos::default(),
    }
}

/// The same, set against a point.
pub fn anchored(style: TextStyle<'static>, h: text_anchor::HPos, v: text_anchor::VPos) -> TextStyle<'static> {
    style.pos(text_anchor::Pos::new(h, v))
}

/// Rough width in pixels of a text of some size.
pub fn text_width(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * 0.56
}

/// Corners of the mark of a style around its point, in pixels.
pub fn mark(style: usize, radius: f64) -> Vec<(f64, f64)> {
    let turns = |corners: u32, first: f64, radius: f64| {
        let corner = move |i: u32| {
            let angle = first + std::f64::consts::TAU * f64::from(i) / f64::from(corners);
            (radius * libm::cos(angle), radius * libm::sin(angle))
        };
        (0..corners).map(corner).collect::<Vec<_>>()
    };
    let quarter = std::f64::consts::FRAC_PI_2;
    match style % STYLES {
        0 => turns(16, 0.0, radius),
        1 => turns(4, quarter / 2.0, radius * 1.25),
        2 => turns(3, -quarter, radius * 1.4),
        3 => turns(4, 0.0, radius * 1.35),
        4 => turns(3, quarter, radius * 1.4),
        5 => turns(5, -quarter, radius * 1.2),
        6 => turns(6, 0.0, radius * 1.15),
        _ => turns(3, 0.0, radius * 1.4),
    }
}

/// The dash of a style's lines, as SVG writes it; nothing for a whole line.
pub fn dash(style: usize, scale: u32) -> String {
    DASHES[style % STYLES].iter().map(|length| (length * scale).to_string()).collect::<Vec<_>>().join(" ")
}

/// Draws an SVG of a width and a height in pixels.
pub fn draw(
    (width, height): (u32, u32),
    paint: impl FnOnce(&Area<'_>) -> Result<(), DrawingError>,
) -> Result<String, Error> {
    let mut svg = String::new();
    let failed = |error: DrawingError| Error::failed(format!("cannot draw a plot: {error}"));
    {
        let root = SVGBackend::with_string(&mut svg, (width * SCALE, height * SCALE)).into_drawing_area();
        paint(&root).map_err(failed)?;
        root.present().map_err(failed)?;
    }
    Ok(themed(&svg, width))
}

/// Stand-in colours become variables, and the drawing takes the room that it is given.
fn themed(svg: &str, width: u32) -> String {
    let mut svg = svg.to_owned();
    for (ink, name) in PLAIN {
        svg = svg.replace(&hex(ink), &format!("var(--{name})"));
    }
    for style in 0..STYLES {
        let (color, dash) = (hex(Ink::Style(style)), dash(style, SCALE));
        let stroked = match dash.is_empty() {
            true => format!("stroke=\"var(--s{style})\""),
            false => format!("stroke=\"var(--s{style})\" stroke-dasharray=\"{dash}\""),
        };
        svg = svg.replace(&format!("stroke=\"{color}\""), &stroked);
        svg = svg.replace(&color, &format!("var(--s{style})"));
        svg = svg.replace(&hex(Ink::Band(style)), &format!("var(--b{style})"));
    }
    let body = svg.find('>').map_or("", |end| &svg[end + 1..]);
    let view = svg.split("viewBox=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
    let body = body.replace(" font-family=\"sans-serif\"", "").replace(" opacity=\"1\"", "");
    let body = body.replace(" stroke=\"none\"", "").replace(" \"/>", "\"/>");
    format!("<svg viewBox=\"{view}\" style=\"max-width:{width}px\" aria-hidden=\"true\">{body}")
}

fn hex(ink: Ink) -> String {
    let RGBColor(red, green, blue) = ink.color();
    format!("#{red:02X}{green:02X}{blue:02X}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use plotters::prelude::PathElement;

    #[test]
    fn no_stand_in_colour_is_left_and_styles_have_dashes() {
        let svg = draw((100, 50), |area| {
            for style in 0..STYLES {
                area.draw(&PathElement::new(vec![(0, 0), (9, 9)], Ink::Style(style).line(1.0)))?;
                area.draw(&PathElement::new(vec![(0, 0), (9, 9)], Ink::Band(style).line(1.0)))?;
            }
            PLAIN
                .iter()
                .try_for_each(|(ink, _)| area.draw(&PathElement::new(vec![(0, 0), (9, 9)], ink.line(1.0))))
        });
        let svg = svg.unwrap();
        assert!(!svg.contains('#') && svg.matches("stroke-dasharray").count() == STYLES - 1, "{svg}");
        assert!(svg.contains("viewBox=\"0 0 400 200\"") && svg.trim_end().ends_with("</svg>"), "{svg}");
    }

    #[test]
    fn every_style_has_a_mark_of_its_own() {
        let marks: Vec<_> = (0..STYLES).map(|style| format!("{:.2?}", mark(style, 4.0))).collect();
        for (i, one) in marks.iter().enumerate() {
            assert!(!marks[..i].contains(one), "{i}");
        }
    }
}
