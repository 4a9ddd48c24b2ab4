//! The experiment file: from text to a checked [`Plan`], with every problem of the file told in one go, each at its place.
//!
//! What is checked here needs the text alone. Whether commands, places and texts exist is asked by the host before the first launch, and what a
//! problem looks like on a screen belongs to the command line. Spans are byte offsets into the file; those of strings include the quotes.
//!
//! Decided here, because the words of the file leave it open:
//! - the baseline's instrument is `none`, and may be left out where there are no instruments;
//! - `blocks = N` means exactly `N`;
//! - a cell names an instrument level by its name, by names joined by `+` in any order, or by a list;
//! - `scale` is `ratio` and `pick` is `only` where the file does not say;
//! - a declared cell that names no instrument has none;
//! - the order of commands of one hook is that of the file, and the first that fails ends it;
//! - a declared name counts as declared even where its body is refused, so that one slip is told once.

mod cells;
mod command;
mod conditions;
mod cross;
mod design;
mod disk;
pub mod duration;
mod edits;
mod evidence;
mod factors;
mod hooks;
mod hypotheses;
mod instruments;
mod item;
mod layout;
mod metrics;
mod name;
mod nearest;
mod pattern;
mod placeholder;
mod places;
mod power;
mod probes;
mod problems;
mod program;
mod quantity;
mod ready;
mod remote;
mod schema;
mod size;
mod syntax;
mod table;
mod treatment;
mod workload;

use std::ops::Range;
use std::path::Path;

use bystander_model::diagnostic::Diagnostic;
use indexmap::IndexMap;
use sha2::{Digest, Sha256};

use self::cells::Levels;
use self::instruments::Declared;
use self::problems::Problems;
use self::table::Table;
use crate::design::aa;
use crate::plan::{Kind, Plan};

pub use self::design::LANE_VARIABLES;
pub use self::layout::DEFAULT_BLOCKS;
pub use self::program::{DEFAULT_GRACE, DEFAULT_STALL, DEFAULT_TIMEOUT};
pub use self::remote::{LEAST_LEASE, Remote};

/// A file with nothing in it that refuses a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// What the file decides.
    pub plan: Plan,
    /// What is worth knowing, in the order of the file.
    pub warnings: Vec<Diagnostic>,
    /// SHA-256 of the file's bytes, in hex.
    pub sha256: String,
    /// The machine that it is to be run on.
    pub remote: Remote,
    /// Where every value stands, by its path as messages write it: `program.command[0]`, `factors.allreduce.custom.env`, `probes[1].at`.
    pub places: IndexMap<String, Range<usize>>,
}

/// Reads and checks an experiment file.
///
/// # Errors
/// Every problem of the file, in its order, warnings among them; at least one refuses the run. A file that cannot be read is one problem without a
/// place.
pub fn read(path: &Path) -> Result<Checked, Vec<Diagnostic>> {
    read_as(path, path)
}

/// Reads and checks an experiment file that counts as another one: relative paths in it are relative to the folder of `counts_as`.
///
/// # Errors
/// As [`read`].
pub fn read_as(path: &Path, counts_as: &Path) -> Result<Checked, Vec<Diagnostic>> {
    parse(&text(path)?, counts_as)
}

/// Reads the text of an experiment file.
///
/// # Errors
/// One problem without a place: it cannot be read, or is no text.
pub fn text(path: &Path) -> Result<String, Vec<Diagnostic>> {
    disk::text(path).map_err(|problem| vec![*problem])
}

/// Checks the text of an experiment file; nothing is read from disk. Relative paths in it are relative to the folder of `path`.
///
/// # Errors
/// As [`read`], less what the disk can say.
pub fn parse(text: &str, path: &Path) -> Result<Checked, Vec<Diagnostic>> {
    let file = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut problems = Problems::new(&file, text);
    let document = syntax::document(text, &mut problems);
    let plan = document.as_ref().map(|table| {
        let root = Table { path: String::new(), span: 0..0, table, valid: schema::ROOT };
        (plan(&root, &file, &mut problems), remote::read(&root, &mut problems))
    });
    let refused = problems.refuse();
    let found = problems.into_sorted();
    match plan {
        Some((plan, remote)) if !refused => {
            let places = document.as_ref().map(places::of).unwrap_or_default();
            Ok(Checked { plan, warnings: found, sha256: sha256(text.as_bytes()), remote, places })
        }
        _ => Err(found),
    }
}

/// Reads every part of the file. Where a part is refused, what stands in its place is never seen by a run.
fn plan(root: &Table<'_>, file: &Path, problems: &mut Problems<'_>) -> Plan {
    root.refuse_unknown(problems);
    let folder = file.parent().unwrap_or(file);
    let program = program::program(root, folder, problems);
    let mut workload = workload::read(root, &program, folder, problems);
    program::refuse_endless_ready(root, &program, workload.is_some(), problems);
    let conditions = conditions::read(root, problems);
    let hooks = hooks::read(root, problems);
    let factors = factors::read(root, problems);
    let mut declared = Declared::new();
    let mut probes = probes::read(root, &mut declared, problems);
    let mut edits = edits::read(root, folder, &mut declared, problems);
    let metrics = metrics::read(root, metrics::Sources::of(&program, root, &probes), problems);
    if let Some(workload) = &mut workload {
        workload.requests = workload::requests::read(root, &metrics, problems);
    }
    let section = root.get("plan").and_then(|item| item.table(schema::PLAN, problems));
    let choices = layout::choices(section.as_ref(), &metrics, problems);
    let instruments = layout::instruments(section.as_ref(), &declared, problems);
    let levels = Levels { factors: &factors, instruments: &instruments, declared: &declared };
    let baseline = layout::baseline(section.as_ref(), levels, problems);
    let hypotheses = hypotheses::read(root, hypotheses::Known { levels, baseline: &baseline, metrics: &metrics }, problems);
    let evidence = evidence::read(root, folder, problems);
    let cells = cells::all(levels, &baseline, section.as_ref(), problems);
    let kind = design::kind(section.as_ref(), problems);
    let lanes = design::lanes(section.as_ref(), problems);
    let padding = design::padding(section.as_ref(), problems);
    let used = |name: &String| instruments.values().any(|names| names.contains(name));
    probes.retain(|probe| used(&probe.spec.name));
    edits.retain(|edit| used(&edit.name));
    let question = root.get("question").and_then(|item| item.some_text(problems)).map(str::to_owned);
    let plan = Plan {
        file: file.to_path_buf(),
        question,
        program,
        workload,
        conditions,
        probes,
        edits,
        metrics,
        baseline,
        cells,
        blocks: choices.blocks,
        seed: choices.seed,
        expect: choices.expect,
        primary: choices.primary,
        margin: choices.margin,
        describe: choices.describe,
        stop: choices.stop,
        refused: choices.refused,
        hypotheses,
        rule: choices.rule,
        evidence,
        kind,
        declared: section.as_ref().is_some_and(|table| table.get("cells").is_some()),
        lanes,
        padding,
        hooks,
        instruments,
        factors,
        left_out: IndexMap::new(),
    };
    design::check(&plan, root, problems);
    design::check_fresh(&plan, root, problems);
    let plan = if plan.kind == Kind::Aa { aa::labelled(plan) } else { plan };
    cross::nothing_to_compare(&plan, root, problems);
    metrics::of_absent_probes(&plan, root, problems);
    // What seems unused in a file with faults may only be misspelt.
    if !problems.refuse() {
        cross::unused_instruments(&plan, &declared, problems);
        cross::untold_port(&plan, root, problems);
        cross::contended_variables(&plan, root, problems);
        power::tell(&plan, root, problems);
    }
    plan
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
