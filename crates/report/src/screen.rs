//! The report on one screen, for somebody who is tired: the answers first, then what shows them, then how to know more.
//!
//! Long lists are cut here and nowhere else; `why` has them whole.

pub(crate) mod answers;
pub(crate) mod beside;
pub(crate) mod budget;
pub(crate) mod captures;
pub(crate) mod cells;
pub(crate) mod closing;
mod engine;
mod headline;
mod missing;
pub(crate) mod restored;
pub(crate) mod traffic;

use bystander_model::report::Report;

use crate::page::Page;
use crate::style::Style;

/// Renders a report as text for one screen, for somebody whose commands find its state directory by themselves.
#[must_use]
pub fn text(report: &Report, style: &Style) -> String {
    text_with(report, style, "")
}

/// Renders a report as text for one screen; `option` is what a command must be given to find its state directory, such as ` --state DIR`.
#[must_use]
pub fn text_with(report: &Report, style: &Style, option: &str) -> String {
    text_again(report, style, &Again { run: &report.run, option, within: "the state directory", patch: "bystander patch" })
}

/// How a report is had again, and where its logs lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Again<'a> {
    /// What `show` must be given: the run's id, or the file of an archive.
    pub run: &'a str,
    /// What else a command must be given, such as ` --state DIR`.
    pub option: &'a str,
    /// What the logs lie in, such as `the state directory`.
    pub within: &'a str,
    /// What verbs of `patch` are typed after so that they work where it ran, such as `bystander patch`.
    pub patch: &'a str,
}

/// Renders a report as text for one screen, for somebody who has it from elsewhere.
#[must_use]
pub fn text_again(report: &Report, style: &Style, again: &Again<'_>) -> String {
    let mut page = Page::new(style);
    headline::write(&mut page, report);
    answers::write(&mut page, report);
    beside::write(&mut page, report);
    cells::write(&mut page, report);
    traffic::write(&mut page, report);
    engine::write(&mut page, report);
    answers::write_effects(&mut page, report);
    captures::write(&mut page, &report.captures);
    budget::write(&mut page, report);
    restored::write(&mut page, &report.restored, again.patch);
    closing::write(&mut page, report, again);
    page.finish()
}
