//! `[[evidence]]`: logs of earlier runs, to be shown as what they are. Whether a file is there, and what stands in it, is looked at when it is read.

use std::path::Path;

use bystander_model::diagnostic::Diagnostic;

use super::instruments::tables;
use super::problems::Problems;
use super::schema;
use super::table::Table;
use crate::plan::OldLogFile;

/// Reads the logs; paths are relative to the folder of the experiment file, and a log is named by its file where it has no name.
pub(super) fn read(root: &Table<'_>, folder: &Path, problems: &mut Problems<'_>) -> Vec<OldLogFile> {
    let mut logs: Vec<OldLogFile> = Vec::new();
    for table in tables(root, "evidence", schema::EVIDENCE, problems) {
        let Some(item) = table.require("log", r#"log = "baseline_clean.log""#, problems) else { continue };
        let Some(path) = item.some_text(problems) else { continue };
        let named = table.get("name").map(|item| (item.some_text(problems).map(str::to_owned), item.span));
        let file = Path::new(path).file_name().map_or_else(|| path.to_owned(), |name| name.to_string_lossy().into_owned());
        let (name, span) = match named {
            Some((Some(name), span)) => (name, span),
            Some((None, _)) => continue,
            None => (file, item.span.clone()),
        };
        let log = folder.join(path);
        if logs.iter().any(|other| other.log == log) {
            problems.push(&item.span, Diagnostic::error("spec.duplicate_name", "this log is named twice"));
        } else if logs.iter().any(|other| other.name == name) {
            let problem = Diagnostic::error("spec.duplicate_name", format!("two logs have the name `{name}`"));
            problems.push(&span, problem.help("give one of them another `name`"));
        }
        logs.push(OldLogFile { name, log, span: item.span.clone() });
    }
    logs
}
