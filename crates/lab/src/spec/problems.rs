//! Collects the problems of one file, so that all are told in one go.
//!
//! Every span that enters is cut to the text and to character boundaries, whatever its source.

use std::ops::Range;
use std::path::{Path, PathBuf};

use bystander_model::diagnostic::{Diagnostic, Severity};

/// The problems of one file so far.
#[derive(Debug)]
pub(super) struct Problems<'a> {
    file: PathBuf,
    text: &'a str,
    found: Vec<Diagnostic>,
}

impl<'a> Problems<'a> {
    /// Starts with none.
    pub(super) fn new(file: &Path, text: &'a str) -> Self {
        Self { file: file.to_path_buf(), text, found: Vec::new() }
    }

    /// Takes a problem at a place; an empty place at the start means the file as a whole.
    pub(super) fn push(&mut self, span: &Range<usize>, problem: Diagnostic) {
        let problem = self.placed(span, problem);
        // Two parts of the reading may look at the same value.
        if !self.found.contains(&problem) {
            self.found.push(problem);
        }
    }

    /// A problem with its place, as it would be taken.
    pub(super) fn placed(&self, span: &Range<usize>, mut problem: Diagnostic) -> Diagnostic {
        problem.message = one_line(&problem.message);
        problem.label = problem.label.map(|label| one_line(&label));
        problem.help = problem.help.map(|help| one_line(&help));
        problem.file = Some(self.file.clone());
        problem.span = (*span != (0..0)).then(|| self.inside(span));
        problem
    }

    /// Whether anything so far refuses the file.
    pub(super) fn refuse(&self) -> bool {
        self.found.iter().any(|problem| problem.severity == Severity::Error)
    }

    /// The line of a byte offset, from 1.
    pub(super) fn line(&self, offset: usize) -> usize {
        let offset = self.inside(&(offset..offset)).start;
        self.text[..offset].matches('\n').count() + 1
    }

    /// The text at a place.
    pub(super) fn source(&self, span: &Range<usize>) -> &'a str {
        &self.text[self.inside(span)]
    }

    /// Hands over what was found, in the order of the file.
    pub(super) fn into_sorted(self) -> Vec<Diagnostic> {
        let mut found = self.found;
        found.sort_by_key(|problem| problem.span.as_ref().map_or((0, 0), |span| (span.start, span.end)));
        found
    }

    /// Cuts a place to the text and widens it to whole characters.
    fn inside(&self, span: &Range<usize>) -> Range<usize> {
        let boundary = |offset: &usize| self.text.is_char_boundary(*offset);
        let length = self.text.len();
        let start = (0..=span.start.min(length)).rev().find(boundary).unwrap_or(0);
        let end = (span.end.min(length)..=length).find(boundary).unwrap_or(length);
        start..end.max(start)
    }
}

/// Names come from the file and may hold line ends and other control characters, which a message must not.
fn one_line(text: &str) -> String {
    text.chars().flat_map(|c| if c.is_control() { c.escape_debug().collect::<Vec<_>>() } else { vec![c] }).collect()
}
