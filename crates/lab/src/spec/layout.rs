//! `[plan]`: the baseline, which instruments go in, how many blocks, and when to stop.
//!
//! The baseline's instrument is always `none`: instruments are judged by their difference from a launch without one, and the program in
//! production has none.

use bystander_model::cell::{Cell, NO_INSTRUMENT};
use bystander_model::diagnostic::Diagnostic;
use indexmap::IndexMap;

use super::cells::{Levels, Written};
use super::factors::{Factors, INSTRUMENT};
use super::instruments::Declared;
use super::item::Item;
use super::metrics::OUTCOME;
use super::name::as_key;
use super::nearest::{hint, names};
use super::problems::Problems;
use super::schema;
use super::table::Table;
use crate::plan::{Blocks, Expect, Metric, Refused, Rule, Stop};

/// Blocks where the file does not say.
pub const DEFAULT_BLOCKS: Blocks = Blocks { min: 4, max: 10 };
/// More blocks than this are a slip.
const MOST_BLOCKS: u64 = 10_000;

/// The parts of `[plan]` that need nothing else of the file.
#[derive(Debug)]
pub(super) struct Choices {
    pub(super) blocks: Blocks,
    pub(super) seed: Option<u64>,
    pub(super) expect: Expect,
    pub(super) primary: String,
    pub(super) margin: Option<f64>,
    pub(super) describe: bool,
    pub(super) stop: Stop,
    pub(super) refused: Refused,
    pub(super) rule: Rule,
}

/// Reads what can be chosen.
pub(super) fn choices(plan: Option<&Table<'_>>, metrics: &IndexMap<String, Metric>, problems: &mut Problems<'_>) -> Choices {
    const EXPECT: [(&str, Expect); 3] = [("any", Expect::Any), ("completed", Expect::Completed), ("failed", Expect::Failed)];
    const STOP: [(&str, Stop); 2] = [("same", Stop::Same), ("all", Stop::All)];
    const REFUSED: [(&str, Refused); 2] = [("stop", Refused::Stop), ("drop", Refused::Drop)];
    const RULE: [(&str, Rule); 2] = [("fisher", Rule::Fisher), ("e-value", Rule::EValue)];
    let get = |key: &str| plan.and_then(|plan| plan.get(key));
    let rule = get("rule").and_then(|item| item.word(&RULE, problems)).unwrap_or_default();
    let describe = get("describe").and_then(|item| item.flag(problems)).unwrap_or(false);
    if let Some(item) = get("blocks").filter(|_| rule == Rule::Fisher && !describe) {
        refuse_without_end(&item, problems);
    }
    Choices {
        blocks: get("blocks").and_then(|item| blocks(&item, rule, problems)).unwrap_or(DEFAULT_BLOCKS),
        rule,
        seed: get("seed").and_then(|item| item.integer(0..=u64::MAX, problems)),
        expect: get("expect").and_then(|item| item.word(&EXPECT, problems)).unwrap_or(Expect::Any),
        primary: get("primary").and_then(|item| primary(&item, metrics, problems)).unwrap_or_else(|| OUTCOME.to_owned()),
        margin: get("margin").and_then(|item| margin(&item, problems)),
        describe,
        stop: get("stop").and_then(|item| item.word(&STOP, problems)).unwrap_or(Stop::Same),
        refused: get("refused").and_then(|item| item.word(&REFUSED, problems)).unwrap_or(Refused::Stop),
    }
}

/// Refuses blocks without a greatest number under a rule that has a last look.
fn refuse_without_end(item: &Item<'_>, problems: &mut Problems<'_>) {
    let Some(table) = item.value.as_table().filter(|table| table.contains_key("min") && !table.contains_key("max")) else { return };
    let span = table.get("min").map_or(item.span.clone(), toml::Spanned::span);
    let problem = Diagnostic::error("spec.no_last_block", "`plan.blocks` has no `max`, and Fisher's test may not be looked at without end");
    let help = "add `max = 10`, or write `rule = \"e-value\"` in [plan], which goes on until it is decided or you stop it";
    problems.push(&span, problem.label("no last block").help(help));
}

/// Reads the difference of failure rates that counts as no effect: a fraction.
fn margin(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<f64> {
    let margin = item.number(problems)?;
    if margin > 0.0 && margin < 1.0 {
        return Some(margin);
    }
    let problem = item.invalid("must be a fraction between 0 and 1");
    problems.push(&item.span, problem.help("it is a difference of failure rates: twenty percentage points are written 0.2"));
    None
}

/// Reads `{ min, max }`, or a number that is both; a bound that is not said gives way to the one that is. With e-values a least number alone has no
/// last block after it.
fn blocks(item: &Item<'_>, rule: Rule, problems: &mut Problems<'_>) -> Option<Blocks> {
    if item.value.is_integer() {
        let count = whole(item, problems)?;
        return Some(Blocks { min: count, max: count });
    }
    if !item.value.is_table() {
        problems.push(&item.span, item.expected("a number or a table").help("write blocks = { min = 4, max = 10 }"));
        return None;
    }
    let table = item.table(schema::BLOCKS, problems)?;
    let bound = |key: &str, problems: &mut Problems<'_>| table.get(key).map(|item| whole(&item, problems));
    let (min, max) = match (bound("min", problems), bound("max", problems)) {
        (Some(min), Some(max)) => (min?, max?),
        (Some(min), None) if rule == Rule::EValue => (min?, Blocks::OPEN),
        (Some(min), None) => (min?, DEFAULT_BLOCKS.max.max(min?)),
        (None, Some(max)) => (DEFAULT_BLOCKS.min.min(max?), max?),
        (None, None) => (DEFAULT_BLOCKS.min, DEFAULT_BLOCKS.max),
    };
    if min > max {
        problems.push(&item.span, item.invalid(&format!("has a least number, {min}, above its greatest, {max}")));
        return None;
    }
    Some(Blocks { min, max })
}

fn whole(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<u32> {
    item.integer(1..=MOST_BLOCKS, problems).and_then(|count| u32::try_from(count).ok())
}

fn primary(item: &Item<'_>, metrics: &IndexMap<String, Metric>, problems: &mut Problems<'_>) -> Option<String> {
    let text = item.text(problems)?;
    if text == OUTCOME || metrics.contains_key(text) {
        return Some(text.to_owned());
    }
    let valid: Vec<&str> = [OUTCOME].into_iter().chain(metrics.keys().map(String::as_str)).collect();
    let problem = Diagnostic::error("spec.unknown_metric", format!("there is no metric `{text}`"));
    problems.push(&item.span, problem.help(hint(text, "valid answers", valid)));
    None
}

/// Reads the instrument levels; where the file does not say, `none` and each instrument alone.
pub(super) fn instruments(plan: Option<&Table<'_>>, declared: &Declared, problems: &mut Problems<'_>) -> IndexMap<String, Vec<String>> {
    let Some(item) = plan.and_then(|plan| plan.get("instruments")) else {
        let alone = declared.keys().map(|name| (name.clone(), vec![name.clone()]));
        return std::iter::once((NO_INSTRUMENT.to_owned(), Vec::new())).chain(alone).collect();
    };
    let mut levels = IndexMap::<String, Vec<String>>::new();
    for item in item.list("names, or of lists of names that go in together", problems).unwrap_or_default() {
        let Some(names) = together(&item, declared, problems) else { continue };
        let twin = levels.values().any(|others| others.len() == names.len() && names.iter().all(|name| others.contains(name)));
        if twin {
            problems.push(&item.span, Diagnostic::error("spec.duplicate_level", "this instrument level is named twice"));
            continue;
        }
        let level = if names.is_empty() { NO_INSTRUMENT.to_owned() } else { names.join("+") };
        levels.insert(level, names);
    }
    if !levels.contains_key(NO_INSTRUMENT) && item.value.is_array() {
        let problem = item.invalid("must hold \"none\": instruments are judged by their difference from a launch without one");
        problems.push(&item.span, problem.help("add \"none\" to the list"));
    }
    // Whatever was refused: the rest of the file is checked as if it were there.
    levels.entry(NO_INSTRUMENT.to_owned()).or_default();
    levels
}

/// Reads one level: the names that go in together, none for `none`.
fn together(item: &Item<'_>, declared: &Declared, problems: &mut Problems<'_>) -> Option<Vec<String>> {
    if item.value.is_str() {
        let name = item.text(problems)?;
        return if name == NO_INSTRUMENT { Some(Vec::new()) } else { instrument(name, item, declared, problems).map(|name| vec![name]) };
    }
    if !item.value.is_array() {
        problems.push(&item.span, item.expected("a name, or a list of names that go in together"));
        return None;
    }
    let parts = item.texts(problems);
    if item.elements().is_some_and(|elements| elements.is_empty()) {
        problems.push(&item.span, item.invalid("is empty").help("write \"none\" for no instrument"));
    }
    let mut names: Vec<String> = Vec::new();
    for (item, name) in &parts {
        if name == NO_INSTRUMENT {
            problems.push(&item.span, item.invalid("is `none`, which goes in together with nothing"));
        } else if names.contains(name) {
            problems.push(&item.span, item.invalid(&format!("names `{name}` twice")));
        } else {
            names.extend(instrument(name, item, declared, problems));
        }
    }
    (names.len() == parts.len() && !names.is_empty()).then_some(names)
}

fn instrument(name: &str, item: &Item<'_>, declared: &Declared, problems: &mut Problems<'_>) -> Option<String> {
    if declared.contains_key(name) {
        return Some(name.to_owned());
    }
    let problem = Diagnostic::error("spec.unknown_instrument", format!("there is no probe or edit `{name}`")).label("not an instrument");
    let help = if name.split('+').count() > 1 && name.split('+').all(|part| declared.contains_key(part)) {
        let list: Vec<String> = name.split('+').map(|part| format!("{part:?}")).collect();
        format!("write those that go in together as a list: [{}]", list.join(", "))
    } else {
        hint(name, "instruments", declared.keys().map(String::as_str).chain([NO_INSTRUMENT]).collect::<Vec<_>>())
    };
    problems.push(&item.span, problem.help(help));
    None
}

/// Reads the baseline: a level of every factor, and the instrument `none`.
pub(super) fn baseline(plan: Option<&Table<'_>>, levels: Levels<'_>, problems: &mut Problems<'_>) -> Cell {
    let varied = !levels.factors.is_empty() || levels.instruments.len() > 1;
    let item = plan.and_then(|plan| plan.get("baseline"));
    let written = item.as_ref().map(|item| levels.read(item, problems)).unwrap_or_default();
    if let Some(item) = &item {
        refuse_incomplete(item, &written, levels, problems);
    } else if varied {
        let span = plan.map_or(0..0, |plan| plan.span.clone());
        let problem = Diagnostic::error("spec.missing_key", "`plan.baseline` is missing: it is what everything is compared with");
        problems.push(&span, problem.help(format!("add to [plan]: baseline = {{ {} }}", example(levels.factors))));
    }
    let first = |names: &IndexMap<String, _>| names.keys().next().cloned().unwrap_or_default();
    let level = |factor: &String, names| written.levels.get(factor).cloned().unwrap_or_else(|| first(names));
    Cell {
        levels: levels.factors.iter().map(|(factor, names)| (factor.clone(), level(factor, names))).collect(),
        instrument: NO_INSTRUMENT.to_owned(),
    }
}

fn refuse_incomplete(item: &Item<'_>, written: &Written, levels: Levels<'_>, problems: &mut Problems<'_>) {
    let named = |name: &str| item.value.as_table().is_some_and(|table| table.contains_key(name));
    let instrument = (levels.instruments.len() > 1).then_some(INSTRUMENT);
    let missing: Vec<&str> = levels.factors.keys().map(String::as_str).chain(instrument).filter(|name| !named(name)).collect();
    if !missing.is_empty() && !written.refused {
        let problem = Diagnostic::error("spec.incomplete_baseline", format!("the baseline does not name {}", names(missing)));
        problems.push(&item.span, problem.help(format!("write every one: {{ {} }}", example(levels.factors))));
    }
    if let Some(other) = written.instrument.as_ref().filter(|name| *name != NO_INSTRUMENT) {
        let span = item.value.as_table().and_then(|table| table.get(INSTRUMENT)).map_or(item.span.clone(), toml::Spanned::span);
        let problem = Diagnostic::error("spec.baseline_instrument", format!("the baseline's instrument must be `none`, found `{other}`"));
        problems
            .push(&span, problem.help("instruments are judged by their difference from a launch without one: write instrument = \"none\""));
    }
}

/// A baseline that would be valid, for help.
fn example(factors: &Factors) -> String {
    let levels = factors.iter().filter_map(|(factor, levels)| Some(format!("{} = {:?}", as_key(factor), levels.keys().next()?)));
    levels.chain([format!("{INSTRUMENT} = \"{NO_INSTRUMENT}\"")]).collect::<Vec<_>>().join(", ")
}
