//! `bystander patch verify`: proves that nothing of an edit is left in a tree, or in what is staged for a commit.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bystander_edit::{Journal, StagedError, scan, staged as look_at_staged};
use bystander_model::FORMAT;
use bystander_model::patch::{EditState, PatchNote, PatchReport, Problem, ProblemKind};
use bystander_model::typed;
use bystander_store::StateDir;

use super::note;
use super::there::{of_file, of_id};
use crate::args::PatchVerifyArgs;
use crate::commands::on::last_seen;
use crate::failure::{Failure, exit};
use crate::output::Output;
use crate::state;

/// What a note about a debugger begins with.
const DEBUGGER: &str = "a debugger is called";

/// Whether a note is about a debugger that was left.
pub(super) fn is_debugger(note: &PatchNote) -> bool {
    note.text.starts_with(DEBUGGER)
}

/// Looks at everything that edits touched, and for marks in a whole tree.
pub(super) fn verify(
    args: &PatchVerifyArgs,
    journal: Option<&Journal>,
    state: Option<&StateDir>,
    report: &mut PatchReport,
) -> Result<(), Failure> {
    let roots = roots(args, state);
    if let Some(journal) = journal {
        let root = roots.first().map_or(Path::new("."), PathBuf::as_path);
        let found = journal.verify_all(root).map_err(|error| state::of_edit(&error))?;
        report.problems.extend(found.problems);
        report.notes.extend(found.notes);
    }
    let seen = last_seen(state);
    for path in &args.paths {
        let there = of_file(&seen, path).map(|text| PatchNote { file: None, text: format!("only this machine was searched; {text}") });
        report.notes.extend(there);
    }
    if args.paths.is_empty() {
        report.hosts = seen.clone();
    }
    let own = own_folders(state, report)?;
    let mut files = 0;
    for root in &roots {
        let own = own.clone();
        let scan = scan(root, args.strict, move |path| own.contains(&identity(path)) || StateDir::is_one(path)).map_err(|error| {
            let failure = Failure::user(format!("failed to search {}", root.display())).because(&error);
            match of_file(&seen, root) {
                Some(text) => failure.hint(text),
                None => failure.hint("name a folder or a file that is there and can be read"),
            }
        })?;
        files += scan.files;
        for (file, line, id) in scan.marks {
            let live = report.edits.iter().any(|edit| edit.id == id && edit.state != EditState::Reverted && same(&edit.file, &file));
            if !live {
                let text = match of_id(&seen, &id) {
                    Some(there) => format!("line {line} holds the mark of edit {id}; {there}"),
                    None => format!("line {line} holds the mark of edit {id}: take its text out"),
                };
                report.problems.push(Problem { file, kind: ProblemKind::Marker, text });
            }
        }
        let left = scan
            .temporaries
            .into_iter()
            .filter(|file| report.edits.iter().all(|edit| edit.state == EditState::Reverted || !is_of(file, &edit.id)));
        let text = "a temporary file of an edit is left: remove it";
        report.problems.extend(left.map(|file| Problem { file, kind: ProblemKind::Bytes, text: text.to_owned() }).collect::<Vec<_>>());
        for (file, line, call) in scan.debuggers {
            report.notes.push(PatchNote { file: Some(file), text: format!("{DEBUGGER} on line {line}: {call}") });
        }
        if let Some((file, why)) = scan.unreadable.first() {
            let more = scan.unreadable.len() - 1;
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            report.notes.push(note(format!("not searched: {} ({why}){more}", file.display())));
        }
    }
    report.searched_files = Some(files);
    Ok(())
}

/// The folders that are this program's own, whatever they are called: the state directory, those of all edits that are known, and the user's.
fn own_folders(state: Option<&StateDir>, report: &PatchReport) -> Result<Vec<Option<(u64, u64)>>, Failure> {
    let registry = state::registry()?;
    let users = registry.parent().unwrap_or(&registry).to_path_buf();
    let journals = report.edits.iter().map(|edit| edit.journal.clone());
    let own = journals.chain(state.map(|state| state.path().to_path_buf())).chain([users]);
    Ok(own.map(|folder| identity(&folder)).filter(Option::is_some).collect())
}

/// What tells a folder from all others, by whatever path.
fn identity(folder: &Path) -> Option<(u64, u64)> {
    folder.metadata().ok().map(|found| (found.dev(), found.ino()))
}

fn same(one: &Path, two: &Path) -> bool {
    one == two || two.canonicalize().is_ok_and(|two| two == one)
}

fn is_of(temporary: &Path, id: &str) -> bool {
    temporary.file_name().is_some_and(|name| name.to_string_lossy().contains(id))
}

fn roots(args: &PatchVerifyArgs, state: Option<&StateDir>) -> Vec<PathBuf> {
    if !args.paths.is_empty() {
        return args.paths.clone();
    }
    let project = state.map(StateDir::path).filter(|path| path.ends_with(".bystander")).and_then(Path::parent);
    vec![project.map_or_else(|| PathBuf::from("."), Path::to_path_buf)]
}

/// Looks at what is staged for a commit.
pub(super) fn staged(output: &mut Output) -> Result<ExitCode, Failure> {
    let found = look_at_staged(Path::new("."), &state::registry()?).map_err(|error| of_staged(&error))?;
    let problem = |edit: bystander_edit::StagedEdit| {
        let (line, id) = (edit.line, &edit.id);
        let text = if edit.live {
            format!(
                "line {line} of what is staged holds edit {id}: `{}`, then stage the file again",
                typed::there(&format!("patch revert {id}"))
            )
        } else {
            format!(
                "line {line} of what is staged holds the mark of edit {id}, which is not live: where its text is there, take it out and stage the \
                 file again; a text that only quotes a mark is committed with `git commit --no-verify`"
            )
        };
        Problem { file: edit.file, kind: ProblemKind::Marker, text }
    };
    let problems: Vec<Problem> = found.into_iter().map(problem).collect();
    let clean = problems.is_empty();
    output.staged(&PatchReport { format: FORMAT, clean, problems, ..PatchReport::default() });
    Ok(ExitCode::from(if clean { exit::ANSWERED } else { exit::FAILED }))
}

fn of_staged(error: &StagedError) -> Failure {
    match error {
        StagedError::NoGit { .. } => {
            Failure::environment("failed to look at what is staged").because(error).hint("install git, or put it into PATH")
        }
        StagedError::Refused { .. } => {
            Failure::user("failed to look at what is staged").because(error).hint("run it inside a git work tree")
        }
        _ => Failure::environment("failed to look at what is staged").because(error),
    }
}
