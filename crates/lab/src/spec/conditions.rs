//! `[conditions]`: what must hold on the machine for a launch to be a data point.

use bystander_model::diagnostic::Diagnostic;

use super::item::Item;
use super::problems::Problems;
use super::table::Table;
use super::{duration, schema, size};
use crate::plan::Conditions;

/// What of a GPU's UUID tells that it is one.
const UUID_PREFIXES: [&str; 2] = ["GPU-", "MIG-"];
/// More GPUs than any machine has.
const MOST_GPUS: u64 = 1023;

/// Reads the table; what it leaves out is as by default.
pub(super) fn read(root: &Table<'_>, problems: &mut Problems<'_>) -> Conditions {
    let mut conditions = Conditions::default();
    let Some(table) = root.get("conditions").and_then(|item| item.table(schema::CONDITIONS, problems)) else { return conditions };
    conditions.gpus = table.get("gpus").and_then(|item| gpus(&item, problems));
    if let Some(bytes) = table.get("gpu_memory").and_then(|item| size::read(&item, problems)) {
        conditions.gpu_memory_bytes = bytes;
    }
    conditions.free_memory_bytes = table.get("free_memory").and_then(|item| size::read(&item, problems));
    conditions.load = table.get("load").and_then(|item| load(&item, problems));
    if let Some(item) = table.get("titles") {
        conditions.titles = titles(&item, problems);
    }
    if let Some(settle) = table.get("settle").and_then(|item| duration::read(&item, true, problems)) {
        conditions.settle = settle;
    }
    conditions
}

/// Reads a list of GPUs: indices and UUIDs, each once. An empty one says that the program uses none.
fn gpus(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<Vec<String>> {
    let items = item.list("GPUs, by index or by UUID, such as [0, 1]", problems)?;
    let mut gpus: Vec<String> = Vec::new();
    for item in items {
        let Some(gpu) = gpu(&item, problems) else { continue };
        if gpus.contains(&gpu) {
            problems.push(&item.span, item.invalid(&format!("names GPU {gpu} a second time")));
            continue;
        }
        gpus.push(gpu);
    }
    Some(gpus)
}

fn gpu(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<String> {
    if item.value.is_integer() {
        return item.integer(0..=MOST_GPUS, problems).map(|index| index.to_string());
    }
    if !item.value.is_str() {
        problems.push(&item.span, item.expected("the index of a GPU, or its UUID"));
        return None;
    }
    let text = item.some_text(problems)?.trim();
    if UUID_PREFIXES.iter().any(|prefix| text.starts_with(prefix)) {
        return Some(text.to_owned());
    }
    let help = match text.parse::<u32>() {
        Ok(index) => format!("write the index without quotes: {index}"),
        Err(_no_index) => "`nvidia-smi -L` lists the GPUs with their UUIDs, which begin with `GPU-`".to_owned(),
    };
    problems.push(&item.span, item.invalid("is no UUID of a GPU").help(help));
    None
}

fn load(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<f64> {
    let load = item.number(problems)?;
    if load.is_finite() && load >= 0.0 {
        return Some(load);
    }
    problems.push(&item.span, item.invalid("must be a load of 0 or more, such as 4.0: the greatest average of the last minute"));
    None
}

fn titles(item: &Item<'_>, problems: &mut Problems<'_>) -> Vec<String> {
    let mut titles = Vec::new();
    for (item, title) in item.texts(problems) {
        if title.chars().any(|c| c != '*' && !c.is_whitespace()) {
            titles.push(title);
            continue;
        }
        let problem = Diagnostic::error("spec.invalid_value", format!("`{}` would match the title of every process", item.path));
        problems.push(&item.span, problem.help("name what only your engine's processes are called, such as \"myengine::*\""));
    }
    titles
}
