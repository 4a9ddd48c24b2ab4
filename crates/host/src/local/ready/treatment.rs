//! Whether the treatment that a level declares is seen in the program: in every trial of the level, and in none of another level of its factor.
//!
//! A trial of which that is not so is void: what it shows is not of the level that it stands for.

use bystander_lab::cause::{CauseReader, Contamination, TrialFacts, first_cause};
use bystander_lab::plan::{Plan, Treatment};
use bystander_model::cell::Cell;
use bystander_model::evidence::{Evidence, EvidenceKind};
use bystander_model::ids::TrialId;
use bystander_model::plain;
use bystander_model::reading::LogBlock;
use bystander_supervise::output::Line;
use regex::Regex;

use super::near::Near;
use crate::metrics::border;
use crate::metrics::sieve::Sieve;

/// The longest part of what was seen that is kept, in bytes.
const SHOWN_BYTES: usize = 300;

/// Where a pattern is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Log,
    Configuration,
}

/// One pattern of one level.
#[derive(Debug)]
struct Sought {
    factor: String,
    level: String,
    place: Place,
    pattern: Regex,
    /// Finds the lines that the pattern may match.
    sieve: Sieve,
    /// Whether the trial is of this level, or of one that declares the same.
    is_own: bool,
    seen: Option<Evidence>,
    /// The line that came nearest, while nothing matched.
    near: Near,
}

/// The treatments of the factors of one trial.
#[derive(Debug)]
pub(in super::super) struct Treatments {
    trial: TrialId,
    cell: Cell,
    sought: Vec<Sought>,
    lines: u64,
}

impl Treatments {
    /// Prepares what is to be seen, and what is not, in a trial of a cell.
    pub(in super::super) fn new(plan: &Plan, cell: &Cell, trial: TrialId) -> Self {
        let mut sought: Vec<Sought> = Vec::new();
        for (factor, levels) in &plan.factors {
            let Some(here) = cell.levels.get(factor) else { continue };
            let own = levels.get(here).and_then(|level| level.treatment.clone()).unwrap_or_default();
            let others =
                levels.iter().filter(|(name, _)| *name != here).filter_map(|(name, level)| Some((name, level.treatment.as_ref()?)));
            let all = std::iter::once((here, &own)).chain(others);
            sought.extend(all.flat_map(|(level, treatment)| of_level(factor, level, level == here, treatment, &own)));
        }
        Self { trial, cell: cell.clone(), sought, lines: 0 }
    }

    /// Takes lines of the program.
    pub(in super::super) fn block(&mut self, block: &LogBlock<'_>) {
        self.lines += block.count();
        for sought in self.sought.iter_mut().filter(|sought| sought.place == Place::Log && sought.seen.is_none()) {
            let pattern = &sought.pattern;
            let found = sought.sieve.find_line(block, |line| Some((line.number, shown(pattern, line.text)?)));
            sought.seen = found.map(|(number, text)| Evidence::log(self.trial, block.stream, number, text));
            if sought.seen.is_none() && sought.is_own {
                sought.near.block(block);
            }
        }
    }

    /// Takes one line of the program.
    pub(in super::super) fn line(&mut self, line: &Line) {
        self.lines += 1;
        let open = self.sought.iter_mut().filter(|sought| sought.place == Place::Log && sought.seen.is_none());
        let mut text = None;
        for sought in open {
            let text = text.get_or_insert_with(|| line.text());
            if let Some(found) = shown(&sought.pattern, text) {
                sought.seen = Some(Evidence::log(self.trial, line.stream, line.number, found));
            } else if sought.is_own {
                sought.near.line(line.stream, line.number, text);
            }
        }
    }

    /// Says what was seen, and voids the trial where that is not as declared.
    pub(in super::super) fn conclude(mut self, facts: &mut TrialFacts, readers: &[Box<dyn CauseReader>]) {
        if self.sought.is_empty() {
            return;
        }
        let configuration = readers.iter().find_map(|reader| reader.finish(self.trial, None).configuration);
        self.look_into(configuration.as_ref());
        let own: Vec<&Sought> = self.sought.iter().filter(|sought| sought.is_own).collect();
        if let Some(missing) = own.iter().find(|sought| sought.seen.is_none()) {
            facts.contamination.push(self.not_seen(missing, configuration.as_ref(), facts));
        } else if let Some((foreign, seen)) =
            self.sought.iter().find_map(|sought| Some((sought, sought.seen.as_ref().filter(|_| !sought.is_own)?)))
        {
            facts.contamination.push(self.seen_elsewhere(foreign, seen));
        }
        facts.shown.extend(self.sought.iter().filter(|sought| sought.is_own).filter_map(|sought| sought.seen.clone()));
        let absent = self.sought.iter().filter(|sought| !sought.is_own && sought.seen.is_none());
        facts.shown.extend(absent.map(|sought| {
            let text =
                format!("the treatment of {}={} is {}", sought.factor, sought.level, self.nowhere(sought.place, configuration.as_ref()));
            Evidence::sample(self.trial, "treatment", &text)
        }));
    }

    fn look_into(&mut self, configuration: Option<&Evidence>) {
        let Some(configuration) = configuration else { return };
        for sought in self.sought.iter_mut().filter(|sought| sought.place == Place::Configuration) {
            let found = sought.pattern.find(&configuration.text);
            sought.seen = found.map(|found| Evidence { text: around(&configuration.text, found.range()), ..configuration.clone() });
        }
    }

    /// Where it was looked for without being found.
    fn nowhere(&self, place: Place, configuration: Option<&Evidence>) -> String {
        match (place, configuration) {
            (Place::Configuration, Some(at)) => format!("not in the configuration that it printed ({})", at.place),
            (Place::Log, _) if self.lines == 0 => "nowhere, since it printed nothing".to_owned(),
            (Place::Log, _) => format!("not in the {} of its output", self.lines_said()),
            (Place::Configuration, None) if self.lines == 0 => "not to be told, since it printed nothing".to_owned(),
            (Place::Configuration, None) => {
                format!("not to be told: in the {} of its output is no configuration that a reader knows", self.lines_said())
            }
        }
    }

    fn lines_said(&self) -> String {
        format!("{} {}", self.lines, if self.lines == 1 { "line" } else { "lines" })
    }

    fn not_seen(&self, missing: &Sought, configuration: Option<&Evidence>, facts: &TrialFacts) -> Contamination {
        let Sought { factor, level, pattern, .. } = missing;
        let nowhere = self.nowhere(missing.place, configuration);
        let mut text = format!("the treatment of {factor}={level} is not visible: `{pattern}` is {nowhere}");
        if let Some(early) = too_early(facts) {
            text = format!("{text}; {early}, perhaps before it could show it{}", crash(facts));
        } else if let Some(near) = missing.near.told().filter(|_| missing.place == Place::Log) {
            text = format!("{text}; {near}: is the pattern right?");
        } else if missing.place == Place::Log && self.lines > 0 {
            text = format!("{text}, and nothing like it is: is the pattern right, and does the program print it?");
        }
        let mut evidence = vec![Evidence::sample(self.trial, "treatment", &format!("`{pattern}` is {nowhere}"))];
        evidence.extend(configuration.filter(|_| missing.place == Place::Configuration).map(clipped));
        evidence.extend(facts.scan.last_line().map(|line| line.evidence(self.trial)));
        contamination("treatment_not_visible", text, evidence)
    }

    fn seen_elsewhere(&self, foreign: &Sought, seen: &Evidence) -> Contamination {
        let Sought { factor, level, pattern, .. } = foreign;
        let here = self.cell.levels.get(factor).map_or("", String::as_str);
        let text = format!(
            "the treatment of {factor}={level} is visible in a trial of {factor}={here}, where it must not be: `{pattern}` matches {}: {}; \
             either {here} was run as {level} was, or the pattern is not of {level} alone",
            seen.place, seen.text
        );
        contamination("treatment_visible_elsewhere", text, vec![seen.clone()])
    }
}

/// The patterns of one level, unless the trial's own level declares the same.
fn of_level<'a>(
    factor: &'a str,
    level: &'a str,
    is_own: bool,
    treatment: &'a Treatment,
    own: &'a Treatment,
) -> impl Iterator<Item = Sought> + use<'a> {
    let log = treatment.log.as_ref().filter(|log| is_own || own.log.as_ref() != Some(*log)).map(|log| (Place::Log, log));
    let configuration = treatment.configuration.as_ref().filter(|pattern| is_own || own.configuration.as_ref() != Some(*pattern));
    let both = log.into_iter().chain(configuration.map(|pattern| (Place::Configuration, pattern)));
    // Patterns were checked with the plan.
    both.filter_map(move |(place, pattern)| {
        let pattern_text = pattern.as_str();
        let (pattern, sieve) = (Regex::new(pattern_text).ok()?, Sieve::new([pattern_text]));
        Some(Sought {
            factor: factor.to_owned(),
            level: level.to_owned(),
            place,
            pattern,
            sieve,
            is_own,
            seen: None,
            near: Near::of(pattern_text),
        })
    })
}

/// How the program ended before it was ready, or by itself, where it did.
fn too_early(facts: &TrialFacts) -> Option<String> {
    let before = if facts.expects_ready && facts.ready.is_none() { " before it was ready" } else { "" };
    match (facts.signal, facts.exit) {
        _ if facts.stopped.is_some() && before.is_empty() => None,
        _ if facts.stopped.is_some() => Some("it was never ready".to_owned()),
        (Some(signal), _) => Some(format!("it was ended by signal {signal}{before}")),
        (None, Some(0)) if before.is_empty() => None,
        (None, Some(code)) => Some(format!("it ended with exit code {code}{before}")),
        (None, None) => None,
    }
}

/// What a program that ended raised first, or its last words; nothing where it had none.
fn crash(facts: &TrialFacts) -> String {
    let raised = first_cause(facts).map(|traceback| traceback.root().headline());
    let last = || facts.scan.last_line().map(|line| format!("its last line: {}", line.text.trim()));
    raised.or_else(last).map_or_else(String::new, |said: String| format!(": {}", &said[..border(&said, SHOWN_BYTES)]))
}

fn contamination(class: &str, text: String, evidence: Vec<Evidence>) -> Contamination {
    Contamination { class: class.to_owned(), text, evidence }
}

fn clipped(evidence: &Evidence) -> Evidence {
    Evidence { kind: EvidenceKind::Log, text: evidence.text[..border(&evidence.text, SHOWN_BYTES)].to_owned(), ..evidence.clone() }
}

/// What a pattern matches in a line as it is shown, or else as it is.
fn shown(pattern: &Regex, line: &str) -> Option<String> {
    plain::find(line, |text| Some(around(text, pattern.find(text)?.range())))
}

/// What matched, with what stands before and after it, so that a long line of a configuration does not hide it.
fn around(text: &str, found: std::ops::Range<usize>) -> String {
    if text.len() <= SHOWN_BYTES {
        return text.trim_end().to_owned();
    }
    let beside = SHOWN_BYTES.saturating_sub(found.len()) / 2;
    let from = border(text, found.start.saturating_sub(beside));
    let to = border(text, (found.end + beside).min(from + 2 * SHOWN_BYTES));
    let (before, after) = (if from > 0 { "…" } else { "" }, if to < text.len() { "…" } else { "" });
    format!("{before}{}{after}", text[from..to].trim())
}
