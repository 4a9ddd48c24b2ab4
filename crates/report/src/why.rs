//! The report in full: every answer with its figures, every trial with its evidence, all receipts, all captures. Nothing is cut.

mod launch;
mod memory;
mod traffic;
mod trial;

use bystander_model::ids::TrialId;
use bystander_model::old_log::OldLogReport;
use bystander_model::report::{Answer, Capture, NextStep, Report};

use crate::number;
use crate::page::Page;
use crate::place::{place, trials};
use crate::prose::{clean, count};
use crate::screen::closing::step_said;
use crate::screen::{answers, beside, budget, cells, restored};
use crate::style::Style;

/// Renders a report as text with everything that is known, for somebody who sits where it ran.
#[must_use]
pub fn why(report: &Report, style: &Style) -> String {
    why_again(report, style, "bystander patch")
}

/// Renders a report as text with everything that is known; `patch` is what verbs of `patch` are typed after so that they work where it ran.
#[must_use]
pub fn why_again(report: &Report, style: &Style, patch: &str) -> String {
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
    beside::write_all(&mut page, report);
    cells::write_all(&mut page, report);
    for finding in &report.budgets {
        budget::write_long(&mut page, finding, report.cells.len());
    }
    captures(&mut page, &report.captures);
    launch::write(&mut page, &report.trials);
    for one in &report.trials {
        trial::write(&mut page, one);
    }
    restored::write_all(&mut page, &report.restored, patch);
    list(&mut page, "Not only the levels differ", &report.differences);
    list(&mut page, "Also", &report.notes);
    let steps: Vec<String> = report.next.iter().map(step_said).collect();
    list(&mut page, "To know more", &steps);
    page.finish()
}

/// Renders the way from one answer to its evidence: the verdict, the rule and its numbers, the trials that were counted, their lines. `name` is what the
/// answer is about, with or without its kind, or a part of a claim; a metric; `X on METRIC`; `on METRIC`; or the name of a log of an earlier run. `None` where it is none
/// of these.
#[must_use]
pub fn why_of(report: &Report, name: &str, style: &Style) -> Option<String> {
    let found = only(report, name);
    if found.answers.is_empty() && found.old_logs.is_empty() {
        return None;
    }
    let mut page = Page::new(style);
    page.heading(&report.question.as_deref().map_or_else(|| clean(&report.file.to_string_lossy()), clean));
    page.paragraph(&format!("run {} of {}: {}", clean(&report.run), clean(&report.file.to_string_lossy()), clean(&report.status)));
    beside::write_logs(&mut page, &found);
    if !found.answers.is_empty() {
        page.heading(if found.answers.len() == 1 { "Answer" } else { "Answers" });
        found.answers.iter().for_each(|one| answer(&mut page, one));
    }
    found.trials.iter().for_each(|one| trial::write(&mut page, one));
    let steps: Vec<String> = found.next.iter().map(step_said).collect();
    list(&mut page, "To know more", &steps);
    Some(page.finish())
}

/// The same report with the answers, trials and steps of one answer alone.
#[must_use]
pub fn only(report: &Report, name: &str) -> Report {
    let old_logs: Vec<OldLogReport> = report.old_logs.iter().filter(|one| is_log(one, name)).cloned().collect();
    let mut answers: Vec<Answer> = named(report, name).into_iter().cloned().collect();
    if answers.is_empty() {
        let rests =
            |answer: &&Answer| old_logs.iter().any(|one| answer.evidence.iter().any(|evidence| evidence.place.starts_with(&one.log.name)));
        answers = report.answers.iter().filter(rests).cloned().collect();
    }
    let counted =
        |id: &TrialId| answers.iter().any(|one| one.trials.contains(id) || one.evidence.iter().any(|evidence| evidence.trial == Some(*id)));
    let trials = report.trials.iter().filter(|trial| counted(&trial.id)).cloned().collect();
    let about = |step: &&NextStep| answers.iter().any(|one| step.about.iter().any(|about| about.starts_with(&one.about)));
    let next = report.next.iter().filter(about).cloned().collect();
    Report { answers, trials, next, old_logs, ..report.clone() }
}

/// Whether a log of an earlier run is meant: by its name, or its file's.
fn is_log(one: &OldLogReport, name: &str) -> bool {
    let wanted = name.trim();
    let file = one.log.file.file_name().map(|file| file.to_string_lossy());
    one.log.name.eq_ignore_ascii_case(wanted) || file.is_some_and(|file| file == wanted) || one.log.file.to_string_lossy() == wanted
}

/// The answers that a name means: `X on METRIC` those about X on that metric, else those about X, or else those on the metric X.
fn named<'a>(report: &'a Report, name: &str) -> Vec<&'a Answer> {
    let about = subjects(report, name);
    if !about.is_empty() {
        return about;
    }
    let is_on = |answer: &Answer, metric: &str| answer.metric.eq_ignore_ascii_case(metric.trim());
    if let Some((subject, metric)) = name.rsplit_once(" on ") {
        return subjects(report, subject).into_iter().filter(|answer| is_on(answer, metric)).collect();
    }
    let metric = name.trim().strip_prefix("on ").unwrap_or(name);
    report.answers.iter().filter(|answer| is_on(answer, metric) && !answer.about.starts_with("hypothesis:")).collect()
}

/// The answers whose whole subject a name is, or else those whose claim it is a part of.
fn subjects<'a>(report: &'a Report, name: &str) -> Vec<&'a Answer> {
    let wanted = name.trim().to_lowercase();
    let bare = |about: &str| about.split_once(':').map_or_else(|| about.to_lowercase(), |(_, name)| name.to_lowercase());
    let all = || report.answers.iter();
    let exact: Vec<&Answer> = all().filter(|answer| answer.about.to_lowercase() == wanted || bare(&answer.about) == wanted).collect();
    if !exact.is_empty() || wanted.is_empty() {
        return exact;
    }
    let (kind, part) = wanted.split_once(':').map_or((None, wanted.as_str()), |(kind, part)| (Some(kind), part));
    let of_kind = |answer: &&Answer| kind.is_none_or(|kind| answer.about.starts_with(&format!("{kind}:")));
    let level = format!("{part}=");
    let levels: Vec<&Answer> = all().filter(of_kind).filter(|answer| bare(&answer.about).starts_with(&level)).collect();
    if !levels.is_empty() {
        return levels;
    }
    all().filter(of_kind).filter(|answer| answer.about.starts_with("hypothesis:") && bare(&answer.about).contains(part)).collect()
}

fn plan(page: &mut Page<'_>, report: &Report) {
    let plan = &report.plan;
    page.heading("Plan");
    let cells = count(plan.cells as usize, "cell", "cells");
    page.indented(&match (plan.blocks, plan.launches) {
        (Some(blocks), Some(launches)) => format!(
            "{} of {} done, {cells}, {} if every block is run, order seed {}",
            plan.blocks_done,
            count(blocks as usize, "block", "blocks"),
            count(launches as usize, "launch", "launches"),
            plan.order_seed
        ),
        _ => {
            let done = count(plan.blocks_done as usize, "block", "blocks");
            format!("{done} done, {cells}, no last block, order seed {}", plan.order_seed)
        }
    });
    for power in &plan.power {
        page.led("  - ", None, 4, &clean(power));
    }
}

fn answer(page: &mut Page<'_>, answer: &Answer) {
    page.led(&answers::lead(answer), Some(answers::role(answer.verdict)), 4, &clean(&answer.text));
    if let Some(rule) = &answer.rule {
        page.led("    rule: ", None, 6, &clean(rule));
    }
    if let Some(figures) = answers::figures(answer) {
        page.led("    numbers: ", None, 6, &figures);
    }
    for number in &answer.numbers {
        page.led("    numbers: ", None, 6, &clean(number));
    }
    if !answer.trials.is_empty() {
        page.led("    counted: ", None, 6, &trials(&answer.trials));
    }
    for evidence in &answer.evidence {
        page.led(&format!("    {}: ", place(evidence)), None, 6, &clean(&evidence.text));
    }
    let Some(needs) = &answer.needs else { return };
    if let Some(n) = needs.launches_per_cell {
        let rule = needs.rule.as_ref().map_or_else(String::new, |rule| format!(": {}", clean(rule)));
        page.led("    needs: ", None, 6, &format!("{} per cell in all{rule}", count(n as usize, "launch", "launches")));
    } else if let Some(rule) = &needs.rule {
        page.led("    needs: ", None, 6, &clean(rule));
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
