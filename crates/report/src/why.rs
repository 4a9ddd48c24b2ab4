//! The report in full: every answer with its figures, every trial with its evidence, all receipts, all captures. Nothing is cut.

mod launch;
mod trial;

use bystander_model::report::{Answer, Capture, Report};

use crate::number;
use crate::page::Page;
use crate::place::place;
use crate::prose::clean;
use crate::screen::{answers, budget, cells, restored};
use crate::style::Style;

/// Renders a report as text with everything that is known.
#[must_use]
pub fn why(report: &Report, style: &Style) -> String {
    let mut page = Page::new(style);
    page.heading(&report.question.as_deref().map_or_else(|| clean(&report.file.to_string_lossy()), clean));
    page.paragraph(&format!("run {} of {}: {}", clean(&report.run), clean(&report.file.to_string_lossy()), clean(&report.status)));
    if let Some(why) = &report.why {
        page.paragraph(&clean(why));
    }
    plan(&mut page, report);
    page.heading("Answers");
    for one in &report.answers {
        answer(&mut page, one);
    }
    cells::write_all(&mut page, report);
    for finding in &report.budgets {
        budget::write_long(&mut page, finding, report.cells.len());
    }
    captures(&mut page, &report.captures);
    launch::write(&mut page, &report.trials);
    for one in &report.trials {
        trial::write(&mut page, one);
    }
    restored::write_all(&mut page, &report.restored);
    list(&mut page, "Not only the levels differ", &report.differences);
    list(&mut page, "Also", &report.notes);
    list(&mut page, "To know more", &report.next);
    page.finish()
}

fn plan(page: &mut Page<'_>, report: &Report) {
    let plan = &report.plan;
    page.heading("Plan");
    page.indented(&format!(
        "{} of {} blocks done, {} cells, {} launches if every block is run, order seed {}",
        plan.blocks_done, plan.blocks, plan.cells, plan.launches, plan.order_seed
    ));
    for power in &plan.power {
        page.led("  - ", None, 4, &clean(power));
    }
}

fn answer(page: &mut Page<'_>, answer: &Answer) {
    let metric = if answer.metric == "outcome" { String::new() } else { format!("on {}: ", clean(&answer.metric)) };
    page.led(&answers::lead(answer), Some(answers::role(answer.verdict)), 4, &format!("{metric}{}", clean(&answer.text)));
    if let Some(figures) = answers::figures(answer) {
        page.led("    ", None, 6, &figures);
    }
    for evidence in &answer.evidence {
        page.led(&format!("    {}: ", place(evidence)), None, 6, &clean(&evidence.text));
    }
    let Some(needs) = &answer.needs else { return };
    if let Some(n) = needs.launches_per_cell {
        page.led("    needs: ", None, 6, &format!("{n} launches per cell in all"));
    }
    for missing in &needs.missing {
        page.led("    needs: ", None, 6, &clean(missing));
    }
}

fn captures(page: &mut Page<'_>, captures: &[Capture]) {
    if captures.is_empty() {
        return;
    }
    page.heading("Captured values");
    for capture in captures {
        let hit = &capture.hit;
        let rank = hit.rank.map_or_else(String::new, |rank| format!("rank {rank} "));
        let head = format!(
            "  {} {}trial {} {rank}pid {}, hit {} of {} at {}:{} in {}: ",
            clean(&hit.probe),
            format_args!("{} ", clean(&capture.cell)),
            capture.trial,
            hit.pid,
            hit.seq + 1,
            capture.hits,
            clean(&hit.file),
            hit.line,
            clean(&hit.function)
        );
        let values: Vec<String> = hit.values.iter().map(|(name, value)| format!("{} = {}", clean(name), number::value(value))).collect();
        page.led(&head, None, 4, &values.join(", "));
    }
}

fn list(page: &mut Page<'_>, title: &str, sentences: &[String]) {
    if sentences.is_empty() {
        return;
    }
    page.heading(title);
    for sentence in sentences {
        page.led("  - ", None, 4, &clean(sentence));
    }
}
