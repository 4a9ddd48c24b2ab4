//! `bystander patch verify`: proves that nothing of an edit is left in a tree, or in what is staged for a commit.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bystander_edit::{Journal, StagedError, scan, staged as look_at_staged};
use bystander_model::FORMAT;
use bystander_model::patch::{EditState, PatchNote, PatchReport, Problem, ProblemKind};
use bystander_store::StateDir;

use super::note;
use crate::args::PatchVerifyArgs;
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
    let mut files = 0;
    for root in &roots {
        let scan = scan(root, args.strict).map_err(|error| {
            Failure::user(format!("failed to search {}", root.display()))
                .because(&error)
                .hint("name a folder or a file that is there and can be read")
        })?;
        files += scan.files;
        for (file, line, id) in scan.marks {
            let live = report.edits.iter().any(|edit| edit.id == id && edit.state != EditState::Reverted && same(&edit.file, &file));
            if !live {
                let text = format!("line {line} holds the mark of edit {id}: take its text out");
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
            format!("line {line} of what is staged holds edit {id}: `bystander patch revert {id}`, then stage the file again")
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
