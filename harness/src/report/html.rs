//! The report as one HTML file: no network, no script, light and dark, wide and narrow.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::Report;
use super::answer::Answer;
use super::figure::{FOLDER, Figure, Look};
use super::markdown::Section;
use super::plots::canvas::{STYLES, dash, mark};
use crate::grid::Grid;

const STYLE: &str = include_str!("report.css");

/// The document.
pub fn html(report: &Report) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (report.title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    h1 { (report.title) }
                    p.made { "Made by " code { (report.command) } "." }
                    nav { ul { @for section in Section::ALL { @if has(report, section) { li { a href={ "#" (id(section)) } { (section.heading()) } } } } } }
                    @for section in Section::ALL {
                        @if has(report, section) {
                            section id=(id(section)) {
                                h2 { (section.heading()) }
                                (body(report, section))
                            }
                        }
                    }
                }
            }
        }
    };
    page.into_string()
}

fn id(section: Section) -> String {
    super::figure::slug(section.heading())
}

fn has(report: &Report, section: Section) -> bool {
    match section {
        Section::Answer => !report.answers.is_empty(),
        Section::Questions => !report.questions.is_empty(),
        Section::Weaknesses => !report.weaknesses.is_empty(),
        Section::Retention => !report.retention.answers.is_empty(),
        Section::Tables => !report.tables.is_empty(),
        Section::Figures => !report.figures.is_empty(),
        Section::Facts => true,
    }
}

fn body(report: &Report, section: Section) -> Markup {
    match section {
        Section::Answer => answers(&report.answers),
        Section::Questions => answers(&report.questions),
        Section::Weaknesses => {
            html! { ul.weaknesses { @for words in &report.weaknesses { li { (coded(words)) } } } }
        }
        Section::Retention => html! {
            dl.answers { @for (structure, words) in &report.retention.answers { dt { code { (structure) } } dd { (words) "." } } }
            @for grid in &report.retention.grids { (table(grid)) }
        },
        Section::Tables => html! { @for grid in &report.tables { (table(grid)) } },
        Section::Figures => html! { @for figure in &report.figures { (drawn(figure)) } },
        Section::Facts => facts(report),
    }
}

fn answers(answers: &[Answer]) -> Markup {
    html! {
        dl.answers {
            @for answer in answers {
                dt { (answer.heading) }
                @for sentence in &answer.sentences { dd { (coded(sentence)) } }
            }
        }
    }
}

/// Text in which what stands between back quotes is code.
fn coded(text: &str) -> Markup {
    html! {
        @for (i, part) in text.split('`').enumerate() {
            @if i % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

fn table(grid: &Grid) -> Markup {
    let (head, title) = grid
        .title
        .split_once("\n\n")
        .map_or((None, grid.title.as_str()), |(head, title)| (Some(head), title));
    html! {
        @if let Some(head) = head { h3 { (head) } }
        div.table {
            div.scroll tabindex="0" role="region" aria-label=(title) {
                table {
                    caption { (title) }
                    thead { tr { @for heading in &grid.headings { th scope="col" { (lines(heading)) } } } }
                    tbody { @for row in &grid.rows { tr { @for (i, text) in row.iter().enumerate() { (field(grid, i, text)) } } } }
                }
            }
            @for note in &grid.notes { p.note { (note) } }
        }
    }
}

fn field(grid: &Grid, column: usize, text: &str) -> Markup {
    let judged = match text {
        "best" | "faster" | "less" => "less",
        "slower" | "more" => "more",
        _ => "",
    };
    html! {
        @if column < grid.names { th scope="row" { (text) } }
        @else if judged.is_empty() { td { (text) } }
        @else { td class=(judged) { (text) } }
    }
}

fn lines(heading: &str) -> Markup {
    html! { @for (i, line) in heading.split('\n').enumerate() { @if i > 0 { br; } (line) } }
}

fn drawn(figure: &Figure) -> Markup {
    html! {
        figure id={ "figure-" (figure.name) } {
            h3 { (figure.title) }
            @if !figure.legend.is_empty() { ul.legend { @for key in &figure.legend { li { (look(key.look)) (key.name) } } } }
            div.wide role="img" aria-label=(figure.title) { (PreEscaped(&figure.wide)) }
            div.narrow role="img" aria-label=(figure.title) { (PreEscaped(&figure.narrow)) }
            figcaption {
                @for line in &figure.caption { p { (line) } }
                p { "Data: " code { (FOLDER) "/" (figure.name) ".csv" } ", " (figure.data.rows.len()) " rows." }
            }
        }
    }
}

/// A small picture of how a thing is drawn.
fn look(look: Look) -> Markup {
    match look {
        Look::Band(band) => html! {
            svg.key viewBox="0 0 28 14" aria-hidden="true" { rect x="2" y="2" width="24" height="10" fill={ "var(--b" (band) ")" } fill-opacity="0.85" {} }
        },
        Look::Style(style) => {
            let corners = mark(style, 4.0)
                .iter()
                .map(|(x, y)| format!("{:.2},{:.2}", x + 14.0, y + 7.0))
                .collect::<Vec<_>>()
                .join(" ");
            let ink = format!("var(--s{})", style % STYLES);
            html! {
                svg.key viewBox="0 0 28 14" aria-hidden="true" {
                    line x1="0" y1="7" x2="28" y2="7" stroke=(ink) stroke-width="2" stroke-dasharray=(dash(style, 1)) {}
                    polygon points=(corners) fill=(ink) {}
                }
            }
        }
    }
}

fn facts(report: &Report) -> Markup {
    html! {
        @for (run, facts) in &report.facts {
            h3 { "Run " code { (run) } }
            dl.facts { @for (name, text) in facts { dt { (name) } dd { (text) } } }
        }
    }
}
