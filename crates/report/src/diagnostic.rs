//! Problems with their source lines: the line, a mark below what is meant, the reasons and the next step.

mod excerpt;

use std::collections::BTreeMap;
use std::path::PathBuf;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use bystander_model::diagnostic::{Diagnostic, Severity};

use crate::style::Style;
use excerpt::Excerpt;

/// Renders problems, each with its lines where the text of its file is among `sources`.
#[must_use]
pub fn diagnostics(problems: &[Diagnostic], sources: &BTreeMap<PathBuf, String>, style: &Style) -> String {
    let renderer = if style.colour { Renderer::styled() } else { Renderer::plain() };
    let decor = if style.unicode { DecorStyle::Unicode } else { DecorStyle::Ascii };
    let renderer = renderer.decor_style(decor).term_width(style.width.max(40));
    let rendered: Vec<String> = problems.iter().map(|problem| render(problem, sources, &renderer, style)).collect();
    rendered.join("\n")
}

fn render(problem: &Diagnostic, sources: &BTreeMap<PathBuf, String>, renderer: &Renderer, style: &Style) -> String {
    let level = match problem.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(visible(&problem.message)).id(visible(&problem.code));
    let mut group = Group::with_title(title);
    let mut corrected = None;
    if let Some(file) = &problem.file {
        let path = visible(&file.to_string_lossy());
        let excerpt = sources.get(file).zip(problem.span.clone()).map(|(text, span)| Excerpt::of(text, span, columns(style)));
        group = match excerpt {
            Some(excerpt) => {
                corrected = excerpt.shown_column().map(|shown| {
                    let at = |column: usize| format!("{path}:{}:{column}", excerpt.line);
                    (at(shown), at(excerpt.column))
                });
                group.element(snippet(excerpt, path, problem.label.as_deref()))
            }
            None => {
                let group = group.element(Origin::path(path));
                match &problem.label {
                    Some(label) => group.element(Level::NOTE.message(visible(label))),
                    None => group,
                }
            }
        };
    }
    for note in &problem.notes {
        group = group.element(Level::NOTE.message(visible(note)));
    }
    if let Some(help) = &problem.help {
        group = group.element(Level::HELP.message(visible(help)));
    }
    let mut text = renderer.render(&[group]);
    if let Some((shown, real)) = corrected {
        // The renderer counts in the piece of a cut line that it was given.
        text = text.replacen(&shown, &real, 1);
    }
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn snippet(excerpt: Excerpt, path: String, label: Option<&str>) -> Snippet<'static, annotate_snippets::Annotation<'static>> {
    let mark = AnnotationKind::Primary.span(excerpt.span).label(label.map(visible));
    Snippet::source(excerpt.text).line_start(excerpt.first_line).path(path).fold(true).annotation(mark)
}

/// The columns that a source line may take beside its number.
fn columns(style: &Style) -> usize {
    style.width.saturating_sub(10).max(30)
}

/// Text that a terminal only shows: line ends stay, other control characters become visible.
fn visible(text: &str) -> String {
    text.trim_end().split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// One line; its white space belongs to it.
fn line(text: &str) -> String {
    let text = text.trim_end().replace('\t', "    ");
    let indent = text.len() - text.trim_start_matches(' ').len();
    format!("{}{}", &text[..indent], crate::prose::clean(&text))
}
