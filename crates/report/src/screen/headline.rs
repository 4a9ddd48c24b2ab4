//! The first lines: the question, and how the run stands.

use bystander_model::outcome::Outcome;
use bystander_model::report::{Report, TrialReport};

use crate::page::Page;
use crate::prose::{clean, count};
use crate::style::Role;

/// Problems with the run itself are named before anything is said about the program.
const DIFFERENCES: usize = 3;

pub(crate) fn write(page: &mut Page<'_>, report: &Report) {
    let question = report.question.as_deref().map_or_else(|| clean(&report.file.to_string_lossy()), clean);
    page.heading(&question);
    page.led(&format!("{} ", standing(report)), role(&report.status), 0, &done(report));
    if let Some(aa) = &report.aa {
        let role = if aa.beyond_chance { Role::Bad } else { Role::Open };
        page.led("A/A: ", Some(role).filter(|_| aa.differences > 0), 2, &sentence(&clean(&aa.text)));
    }
    for difference in report.differences.iter().take(DIFFERENCES) {
        page.led("Not only the levels differ: ", Some(Role::Bad), 2, &clean(difference));
    }
    if report.differences.len() > DIFFERENCES {
        page.indented(&format!("\u{2026} {} more (show --why)", report.differences.len() - DIFFERENCES));
    }
}

fn standing(report: &Report) -> String {
    match report.status.as_str() {
        "finished" => "Finished:".to_owned(),
        "running" => "Not finished yet:".to_owned(),
        "interrupted" => "Interrupted (`bystander run` with its file goes on):".to_owned(),
        "gated" => "Stopped, the baseline is not as declared:".to_owned(),
        "invalid" => "Invalid, launches were contaminated:".to_owned(),
        "broken" => "Broken off:".to_owned(),
        other => format!("{}:", clean(other)),
    }
}

fn role(status: &str) -> Option<Role> {
    match status {
        "finished" => None,
        "running" | "interrupted" => Some(Role::Open),
        _ => Some(Role::Bad),
    }
}

fn done(report: &Report) -> String {
    let plan = &report.plan;
    let launches = launches(&report.trials);
    let why = report.why.as_ref().map_or_else(String::new, |why| format!(" {}", sentence(&clean(why))));
    let done = match plan.blocks {
        Some(blocks) => format!("{} of {}", plan.blocks_done, count(blocks as usize, "block", "blocks")),
        None => format!("{} so far, open-ended", count(plan.blocks_done as usize, "block", "blocks")),
    };
    format!("{done}, {launches}, order seed {}, run {}.{why}", plan.order_seed, clean(&report.run))
}

/// How many launches were made; what was void before there was a process is none.
fn launches(trials: &[TrialReport]) -> String {
    let was_launched =
        |trial: &&TrialReport| trial.outcome != Some(Outcome::Void) || trial.provenance.is_some() || !trial.output.is_empty();
    let made = trials.iter().filter(was_launched).count();
    let not = trials.len() - made;
    let launches = count(made, "launch", "launches");
    if not == 0 { launches } else { format!("{launches}, {} that nothing was launched in", count(not, "void trial", "void trials")) }
}

/// Gives a reason the form of a sentence.
fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    let first: String = characters.next().map(|first| first.to_uppercase().collect()).unwrap_or_default();
    let end = if text.ends_with(['.', '!', '?']) || text.is_empty() { "" } else { "." };
    format!("{first}{}{end}", characters.as_str())
}
