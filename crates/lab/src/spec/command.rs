//! Commands, their arguments, environments and variables.
//!
//! A command is a list and never goes through a shell: what is started is what is written.

use indexmap::IndexMap;

use super::item::Item;
use super::placeholder::{self, template};
use super::problems::Problems;
use super::table::Table;
use crate::plan::Template;

/// Signs that only a shell understands.
const SHELL_SIGNS: [char; 8] = ['|', '&', ';', '<', '>', '$', '`', '*'];

/// The variable by which Bystander finds the processes of a launch.
const OWN: &str = "BYSTANDER_TRIAL";

/// Reads the `command` of a table: a list with at least the program in it.
pub(super) fn command(table: &Table<'_>, problems: &mut Problems<'_>) -> Vec<Template> {
    table.require("command", r#"command = ["python3", "app.py"]"#, problems).map(|item| argv(&item, problems)).unwrap_or_default()
}

/// Reads one command: a list with at least the program in it.
pub(super) fn argv(item: &Item<'_>, problems: &mut Problems<'_>) -> Vec<Template> {
    if let Some(line) = item.value.as_str() {
        problems.push(&item.span, item.expected("a list of strings").help(as_list(line)));
        return Vec::new();
    }
    let arguments = templates(item, problems);
    let empty = item.elements().is_some_and(|elements| elements.is_empty());
    let nameless = arguments.first().is_some_and(|program| program.0.trim().is_empty());
    if empty || nameless {
        problems.push(&item.span, item.invalid("names no program").help(r#"the first element is the program: ["python3", "app.py"]"#));
    }
    arguments
}

/// Reads a list of arguments; an empty one is an argument too.
pub(super) fn templates(item: &Item<'_>, problems: &mut Problems<'_>) -> Vec<Template> {
    let elements = item.list("strings", problems).unwrap_or_default();
    elements.iter().filter_map(|element| argument(element, problems)).collect()
}

/// Reads one argument; a bare number is the commonest slip.
fn argument(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<Template> {
    if let Some(problem) = bare(item, problems) {
        problems.push(&item.span, problem);
        return None;
    }
    template(item, problems)
}

/// The problem of a number or truth value where a string belongs.
fn bare(item: &Item<'_>, problems: &Problems<'_>) -> Option<bystander_model::diagnostic::Diagnostic> {
    let scalar = item.value.is_integer() || item.value.is_float() || item.value.is_bool();
    scalar.then(|| item.expected("a string").help(format!("put it in quotes: \"{}\"", problems.source(&item.span))))
}

/// Reads variables with their values.
pub(super) fn environment(item: &Item<'_>, problems: &mut Problems<'_>) -> IndexMap<String, Template> {
    let Some(table) = item.entries(problems) else { return IndexMap::new() };
    let mut variables = IndexMap::new();
    for (name, item) in table.items() {
        variable(name, &item, problems);
        if let Some(value) = argument(&item, problems) {
            placeholder::warn_of_stranger(&value, &item, problems);
            variables.insert(name.to_owned(), value);
        }
    }
    variables
}

/// Reads the names of variables to remove.
pub(super) fn variables(item: &Item<'_>, problems: &mut Problems<'_>) -> Vec<String> {
    let names = item.texts(problems);
    for (item, name) in &names {
        variable(name, item, problems);
    }
    names.into_iter().map(|(_, name)| name).collect()
}

fn variable(name: &str, item: &Item<'_>, problems: &mut Problems<'_>) {
    if name.is_empty() || name.contains(['=', '\0']) {
        problems.push(&item.key, item.invalid("is no name of a variable: it is empty, or holds `=` or a null character"));
    }
    if name == OWN {
        problems.push(&item.key, item.invalid("is Bystander's own: by it the processes of a launch are found again"));
    }
}

/// How a command line is written as a list.
fn as_list(line: &str) -> String {
    if line.contains(SHELL_SIGNS) || line.contains(['\'', '"', '\\']) {
        let quoted = if line.contains('\'') { format!("{line:?}") } else { format!("'{line}'") };
        return format!("write a list; for a shell line, name the shell: [\"sh\", \"-c\", {quoted}]");
    }
    let words: Vec<String> = line.split_whitespace().map(|word| format!("\"{word}\"")).collect();
    format!("write a list, one element for each argument: [{}]", words.join(", "))
}
