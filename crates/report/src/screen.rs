//! The report on one screen, for somebody who is tired: the answers first, then what shows them, then how to know more.
//!
//! Long lists are cut here and nowhere else; `why` has them whole.

pub(crate) mod answers;
pub(crate) mod budget;
pub(crate) mod captures;
pub(crate) mod cells;
mod closing;
mod headline;
pub(crate) mod restored;

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
    let mut page = Page::new(style);
    headline::write(&mut page, report);
    answers::write(&mut page, report);
    cells::write(&mut page, report);
    answers::write_effects(&mut page, report);
    captures::write(&mut page, &report.captures);
    budget::write(&mut page, report);
    restored::write(&mut page, &report.restored);
    closing::write(&mut page, report, option);
    page.finish()
}
