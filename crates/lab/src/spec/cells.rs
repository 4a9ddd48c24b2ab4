//! Cells: the levels of the plan as names, how one is written in the file, and the product of them all.

use bystander_model::cell::{Cell, NO_INSTRUMENT};
use bystander_model::diagnostic::Diagnostic;
use indexmap::IndexMap;

use super::factors::{Factors, INSTRUMENT};
use super::instruments::Declared;
use super::item::Item;
use super::nearest::{hint, names};
use super::problems::Problems;
use super::table::Table;

/// More cells than this are a slip: each is launched several times.
const MOST_CELLS: usize = 256;

/// What a cell can be made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Levels<'a> {
    /// Factors with their levels.
    pub(super) factors: &'a Factors,
    /// Instrument levels of the plan, with what goes in.
    pub(super) instruments: &'a IndexMap<String, Vec<String>>,
    /// Every probe and edit of the file.
    pub(super) declared: &'a Declared,
}

/// A cell as it is written: what is not named is open.
#[derive(Debug, Clone, Default)]
pub(super) struct Written {
    /// Factor to level.
    pub(super) levels: IndexMap<String, String>,
    /// The instrument level.
    pub(super) instrument: Option<String>,
    /// Whether anything in it was refused.
    pub(super) refused: bool,
}

impl Levels<'_> {
    /// Reads a table of factors, each with one of its levels.
    pub(super) fn read(&self, item: &Item<'_>, problems: &mut Problems<'_>) -> Written {
        let mut written = Written::default();
        let Some(table) = item.entries(problems) else { return Written { refused: true, ..written } };
        for (name, item) in table.items() {
            let known = if name == INSTRUMENT {
                written.instrument = self.instrument(&item, problems);
                written.instrument.is_some()
            } else {
                let level = self.level(name, &item, problems);
                let known = level.is_some();
                written.levels.extend(level.map(|level| (name.to_owned(), level)));
                known
            };
            written.refused |= !known;
        }
        written
    }

    fn level(&self, factor: &str, item: &Item<'_>, problems: &mut Problems<'_>) -> Option<String> {
        let Some(levels) = self.factors.get(factor) else {
            let valid: Vec<&str> = self.factors.keys().map(String::as_str).chain([INSTRUMENT]).collect();
            let problem = Diagnostic::error("spec.unknown_factor", format!("there is no factor `{factor}`"));
            problems.push(&item.key, problem.label("not a factor").help(hint(factor, "factors", valid)));
            return None;
        };
        let level = item.text(problems)?;
        if levels.is_empty() || levels.contains_key(level) {
            return Some(level.to_owned());
        }
        let valid: Vec<&str> = levels.keys().map(String::as_str).collect();
        let problem = Diagnostic::error("spec.unknown_level", format!("the factor `{factor}` has no level `{level}`"));
        problems.push(&item.span, problem.label("not a level").help(hint(level, "its levels", valid)));
        None
    }

    /// Reads an instrument level: a name, names joined by `+` in any order, or a list of them.
    fn instrument(&self, item: &Item<'_>, problems: &mut Problems<'_>) -> Option<String> {
        let parts: Vec<String> = match item.elements() {
            Some(_) => item.texts(problems).into_iter().map(|(_, name)| name).collect(),
            None => item.text(problems)?.split('+').map(str::to_owned).collect(),
        };
        let wanted = parts.join("+");
        if let Some(level) = self.instruments.iter().find(|(name, names)| **name == wanted || (!names.is_empty() && same(names, &parts))) {
            return Some(level.0.clone());
        }
        problems.push(&item.span, self.not_launched(&wanted, &parts));
        None
    }

    fn not_launched(&self, wanted: &str, parts: &[String]) -> Diagnostic {
        let launched = self.instruments.keys().map(String::as_str);
        let stranger = parts.iter().find(|part| *part != NO_INSTRUMENT && !self.declared.contains_key(*part));
        if let Some(stranger) = stranger {
            let valid: Vec<&str> = launched.chain(self.declared.keys().map(String::as_str)).collect();
            let problem = Diagnostic::error("spec.unknown_instrument", format!("there is no probe or edit `{stranger}`"));
            return problem.label("not an instrument").help(hint(stranger, "instruments", valid));
        }
        let problem = Diagnostic::error("spec.cell_not_launched", format!("the plan launches no cell with the instrument `{wanted}`"));
        problem.note(format!("instrument levels of the plan are {}", names(launched))).help("add it to `plan.instruments`")
    }
}

fn same(some: &[String], others: &[String]) -> bool {
    some.len() == others.len() && some.iter().all(|name| others.contains(name))
}

/// Makes every cell once: the baseline first, then in the order of the file, the instrument changing fastest.
fn product(levels: Levels<'_>, baseline: &Cell) -> Vec<Cell> {
    let mut rows = vec![IndexMap::new()];
    for (factor, names) in levels.factors {
        rows = rows
            .iter()
            .flat_map(|row: &IndexMap<String, String>| {
                names.keys().map(move |name| {
                    let mut row = row.clone();
                    row.insert(factor.clone(), name.clone());
                    row
                })
            })
            .collect();
    }
    let instruments = || levels.instruments.keys().cloned();
    let all = rows.iter().flat_map(|row| instruments().map(move |instrument| Cell { levels: row.clone(), instrument }));
    let others: Vec<Cell> = all.filter(|cell| cell != baseline).collect();
    std::iter::once(baseline.clone()).chain(others).collect()
}

/// Every cell of the plan, the declared ones or all combinations; the baseline alone where there are too many to launch.
pub(super) fn all(levels: Levels<'_>, baseline: &Cell, section: Option<&Table<'_>>, problems: &mut Problems<'_>) -> Vec<Cell> {
    let declared = section.and_then(|table| table.get("cells")).map(|item| (declared(&item, levels, baseline, problems), item.span));
    let sizes = levels.factors.values().map(IndexMap::len).chain([levels.instruments.len()]);
    let count = match &declared {
        Some((cells, _)) => Some(cells.len()),
        None => sizes.map(|size| size.max(1)).try_fold(1_usize, usize::checked_mul),
    };
    if count.is_some_and(|count| count <= MOST_CELLS) {
        return declared.map_or_else(|| product(levels, baseline), |(cells, _)| cells);
    }
    let message = format!("the plan has more than {MOST_CELLS} cells, and each is launched several times");
    let problem = Diagnostic::error("spec.too_many_cells", message);
    let span = declared.map(|(_, span)| span).or(section.map(|table| table.span.clone())).unwrap_or(0..0);
    let help =
        "vary fewer factors at a time, declare the cells that matter in `plan.cells`, or name fewer instruments in `plan.instruments`";
    problems.push(&span, problem.help(help));
    vec![baseline.clone()]
}

/// Reads declared cells: the baseline must be among them, and comes first.
fn declared(item: &Item<'_>, levels: Levels<'_>, baseline: &Cell, problems: &mut Problems<'_>) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::new();
    let mut refused = false;
    for element in item.list("cells", problems).unwrap_or_default() {
        match complete(&element, levels, problems) {
            Some(cell) if cells.contains(&cell) => {
                problems.push(&element.span, Diagnostic::error("spec.duplicate_cell", format!("the cell {cell} is declared twice")));
            }
            Some(cell) => cells.push(cell),
            None => refused = true,
        }
    }
    if !cells.contains(baseline) && !refused && item.value.is_array() {
        let problem = Diagnostic::error("spec.baseline_not_declared", format!("the baseline {baseline} is not among the declared cells"));
        problems.push(&item.span, problem.help("add it: everything is compared with it"));
    }
    cells.retain(|cell| cell != baseline);
    cells.insert(0, baseline.clone());
    cells
}

/// Reads a cell that names a level of every factor; without an instrument nothing goes in.
fn complete(item: &Item<'_>, levels: Levels<'_>, problems: &mut Problems<'_>) -> Option<Cell> {
    let written = levels.read(item, problems);
    if written.refused {
        return None;
    }
    let missing: Vec<&str> = levels.factors.keys().filter(|factor| !written.levels.contains_key(*factor)).map(String::as_str).collect();
    if !missing.is_empty() {
        let problem = Diagnostic::error("spec.incomplete_cell", format!("the cell does not name {}", names(missing)));
        problems.push(&item.span, problem.help("a cell names a level of every factor"));
        return None;
    }
    // In the order of the file's factors, as every cell.
    let level = |factor: &String| Some((factor.clone(), written.levels.get(factor)?.clone()));
    let instrument = written.instrument.unwrap_or_else(|| NO_INSTRUMENT.to_owned());
    Some(Cell { levels: levels.factors.keys().filter_map(level).collect(), instrument })
}
