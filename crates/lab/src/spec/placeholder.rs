//! Texts with placeholders, and slips in them.
//!
//! Braces that are no placeholder stay as they are (an argument may be JSON), so a slip is only warned of.

use std::ops::Range;
use std::path::{Path, PathBuf};

use bystander_model::diagnostic::Diagnostic;

use super::item::Item;
use super::nearest::{choices, nearest};
use super::problems::Problems;
use crate::plan::Template;

/// What is filled for each trial: a free port, a private directory, the interpreter; the folder of the experiment file, a directory for caches, a seed
/// that is the same for all cells of a block, the GPUs and the number of the lane.
pub(super) const PLACEHOLDERS: [&str; 9] = ["port", "trial", "number", "python", "folder", "cache", "seed", "gpus", "lane"];

/// Reads a text with placeholders; a null character is refused, because no process can be given one.
pub(super) fn template(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<Template> {
    let text = item.text(problems)?;
    if text.contains('\0') {
        problems.push(&item.span, item.invalid("holds a null character, which no process can be given"));
        return None;
    }
    warn_of_slips(text, &item.span, problems);
    Some(Template(text.to_owned()))
}

/// Reads a path relative to the folder of the file; placeholders are not filled in paths.
pub(super) fn path(item: &Item<'_>, folder: &Path, problems: &mut Problems<'_>) -> Option<PathBuf> {
    let text = item.some_text(problems)?;
    if text.contains('\0') {
        problems.push(&item.span, item.invalid("holds a null character, which no path can hold"));
        return None;
    }
    if let Some(name) = words(text).find(|word| PLACEHOLDERS.contains(word)) {
        problems.push(&item.span, item.invalid(&format!("holds `{{{name}}}`, which is not filled in paths of the file")));
        return None;
    }
    let joined = folder.join(text);
    Some(std::path::absolute(&joined).unwrap_or(joined))
}

/// Warns of a value that is nothing but a word in braces and no placeholder. Unlike in an argument, which may be a script, that means nothing in a variable.
pub(super) fn warn_of_stranger(text: &Template, item: &Item<'_>, problems: &mut Problems<'_>) {
    let word = words(&text.0).next().filter(|word| text.0.trim() == format!("{{{word}}}"));
    // What comes near to a placeholder was told already.
    if let Some(word) = word.filter(|word| !PLACEHOLDERS.contains(word) && nearest(word, PLACEHOLDERS).is_none()) {
        problems.push(&item.span, unknown(word));
    }
}

fn unknown(word: &str) -> Diagnostic {
    let known = PLACEHOLDERS.map(|name| format!("{{{name}}}"));
    Diagnostic::warning("spec.unknown_placeholder", format!("`{{{word}}}` is no placeholder and stays as it is"))
        .note(format!("placeholders are {}", choices(known.iter().map(String::as_str))))
}

fn warn_of_slips(text: &str, span: &Range<usize>, problems: &mut Problems<'_>) {
    for word in words(text).filter(|word| !PLACEHOLDERS.contains(word)) {
        if let Some(near) = nearest(word, PLACEHOLDERS) {
            problems.push(span, unknown(word).help(format!("did you mean `{{{near}}}`?")));
        }
    }
}

/// The words that stand alone in braces.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).filter_map(|rest| {
        let (word, _) = rest.split_once('}')?;
        (!word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || c == '_')).then_some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn only_single_words_in_braces_are_placeholders() {
        let found: Vec<&str> = words("--a={prot} {\"x\": {y}} {} { port } {{port}}").collect();
        assert_eq!(found, ["prot", "y", "port"]);
    }
}
