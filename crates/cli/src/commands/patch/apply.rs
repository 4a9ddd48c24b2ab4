//! `bystander patch apply`: makes edits that stay.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bystander_edit::{
    Action, EditError, Find, Journal, LARGEST_READ, Language, PatchError, PatchSpec, PreparedEdit, moved_lines, prepare_patches,
    prepared_diff,
};
use bystander_host::folder_times::FolderTimes;
use bystander_model::FORMAT;
use bystander_model::patch::{ApplyReport, PatchApplied};
use bystander_model::typed;
use bystander_store::StateDir;
use jiff::{Span, SpanRelativeTo, Timestamp};

use super::{expire, probes};
use crate::args::PatchApplyArgs;
use crate::failure::{Failure, exit};
use crate::output::Output;
use crate::state;

/// Makes the edits, or none of them.
pub(super) fn run(args: &PatchApplyArgs, named: Option<&Path>, output: &mut Output) -> Result<ExitCode, Failure> {
    if args.file.is_empty() && args.probes.is_empty() {
        return Err(Failure::user("failed to find out what to do: neither a file nor a probe is named").hint(
            "bystander patch apply --file app.py --find 'x = 1' --insert-after 'print(x)'; or: bystander patch apply 'app.py:42 {x}'",
        ));
    }
    let expires = args.expire.as_deref().map(moment).transpose()?;
    let at = expires.map(|at| at.to_string());
    let state_path = state_path(named)?;
    let (specs, probes) = if args.probes.is_empty() { (specs(args)?, None) } else { probes::specs(args, &state_path)?.split() };
    let mut edits = prepare_patches(&specs).map_err(|error| refused(&error))?;
    if let Some(probes) = &probes {
        probes.attach(&mut edits);
    }
    let mut report = ApplyReport { format: FORMAT, made: false, edits: edits.iter().map(shown).collect(), expires: at.clone() };
    if !args.dry_run {
        let state = StateDir::open(&state_path).map_err(|error| state::of_state(&error))?;
        if let Some(probes) = probes {
            probes.lay()?;
        }
        let journal = state::journal(&state)?;
        keep(&journal, &edits, at.as_deref())?;
        report.made = true;
        if let Some(at) = expires {
            expire::start(at, output);
        }
    }
    let is_large = |edit: &PreparedEdit| edit.before.len() > LARGEST_READ && args.pattern.is_none();
    for edit in edits.iter().filter(|edit| is_large(edit)) {
        let (file, most) = (edit.file.display(), LARGEST_READ >> 20);
        output.say(&format!("note: {file} is larger than {most} MiB: it was edited as text, without a look at its syntax"));
    }
    output.applied(&report);
    match output.lost() {
        Some(lost) => Err(unanswered(lost, &report)),
        None => Ok(ExitCode::from(exit::ANSWERED)),
    }
}

/// The answer did not arrive; what it was about is on disk all the same.
fn unanswered(mut lost: Failure, report: &ApplyReport) -> Failure {
    if report.made {
        let ids = report.edits.iter().map(|edit| edit.id.as_str()).collect::<Vec<_>>().join(" ");
        lost.message = format!("{}; the edits are made and live: {ids}", lost.message);
        lost.hints = vec![typed::there(&format!("patch revert {ids}"))];
    } else {
        lost.hints = vec!["nothing was changed; run it again where standard output can be written to".to_owned()];
    }
    lost
}

fn keep(journal: &Journal, edits: &[PreparedEdit], expires: Option<&str>) -> Result<(), Failure> {
    let times = FolderTimes::of(edits.iter().map(|edit| edit.real.as_path()));
    let made = journal.keep(edits, expires);
    // The names in the folder are what they were.
    let _ = times.give_back();
    made.map(|_| ()).map_err(|error| {
        let failure = state::of_edit(&error);
        match error {
            EditError::Held { holder, .. } => {
                failure.hint(format!("take the other edit back first: {}", typed::there(&format!("patch revert {}", holder.id))))
            }
            EditError::Foreign { .. } => failure.hint("have its maker take it back with `bystander patch revert`, or take its text out"),
            EditError::Changed { .. } | EditError::Unproven { .. } => {
                failure.hint("run the same command again: it looks at the file as it is now")
            }
            EditError::TakeBack { .. } => {
                failure.hint(format!("`{}` tries again to take back what was made", typed::there("patch revert")))
            }
            _ => failure.hint("nothing was changed"),
        }
    })
}

/// The state directory that is to hold the edits: the one that was named, the nearest, or a new one here.
pub(in crate::commands) fn state_path(named: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(path) = named {
        return Ok(path.to_path_buf());
    }
    let found = StateDir::find(Path::new(".")).map_err(|error| state::of_state(&error))?;
    Ok(found.map_or_else(|| PathBuf::from(".bystander"), |state| state.path().to_path_buf()))
}

/// The edits that were typed, one for each file.
fn specs(args: &PatchApplyArgs) -> Result<Vec<PatchSpec>, Failure> {
    let find = match (&args.find, &args.find_file, &args.pattern) {
        (Some(text), ..) => Find::Text(text.as_bytes().to_vec()),
        (_, Some(file), _) => Find::Text(text_of(file)?),
        (.., pattern) => Find::Pattern(pattern.clone().unwrap_or_default()),
    };
    let text = |typed: &Option<OsString>, file: &Option<PathBuf>| match (typed, file) {
        (Some(text), _) => Ok(Some(text.as_bytes().to_vec())),
        (None, Some(file)) => text_of(file).map(Some),
        (None, None) => Ok(None),
    };
    let action = if let Some(text) = text(&args.insert_after, &args.insert_after_file)? {
        Action::InsertAfter(text)
    } else if let Some(text) = text(&args.insert_before, &args.insert_before_file)? {
        Action::InsertBefore(text)
    } else {
        Action::Replace(text(&args.replace, &args.replace_file)?.unwrap_or_default())
    };
    let language = args.lang.as_deref().map(language).transpose()?;
    let spec = |file: &PathBuf| PatchSpec {
        name: args.name.clone(),
        file: file.clone(),
        find: find.clone(),
        action: action.clone(),
        language,
        comment: args.comment.clone(),
        all: args.all_matches,
        inline: args.inline,
        unchecked: args.unchecked,
    };
    let mut seen: Vec<(u64, u64)> = Vec::new();
    // A file by two names is one file.
    let is_new = |file: &&PathBuf| {
        let Ok(found) = fs::metadata(file) else { return true };
        let identity = (found.dev(), found.ino());
        let is_new = !seen.contains(&identity);
        seen.push(identity);
        is_new
    };
    Ok(args.file.iter().filter(is_new).map(spec).collect())
}

fn language(name: &str) -> Result<Language, Failure> {
    Language::named(name).ok_or_else(|| {
        Failure::user(format!("failed to find the language `{name}`")).hint(format!("--lang takes {}", Language::names().join(", ")))
    })
}

/// The text of a file that was named for it.
pub(in crate::commands) fn text_of(file: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(file).map_err(|error| Failure::user(format!("failed to read {}", file.display())).because(&error))
}

fn refused(error: &PatchError) -> Failure {
    Failure::user("failed to make the edit: nothing was changed").problems(vec![error.diagnostic()])
}

/// The time that a duration from now is.
fn moment(text: &str) -> Result<Timestamp, Failure> {
    let wrong = |hint: &str| Failure::user(format!("failed to understand the time `{text}` of --expire")).hint(hint.to_owned());
    let span: Span = text.parse().map_err(|error: jiff::Error| wrong("write it like `2h`, `30m`, `90s` or `1d`").because(&error))?;
    let duration = span
        .to_duration(SpanRelativeTo::days_are_24_hours())
        .map_err(|error| wrong("write it in days, hours, minutes or seconds").because(&error))?;
    if !duration.is_positive() {
        return Err(wrong("it must be more than nothing"));
    }
    Timestamp::now().checked_add(duration).map_err(|error| wrong("it is too far away").because(&error))
}

fn shown(edit: &PreparedEdit) -> PatchApplied {
    PatchApplied {
        id: edit.id.clone().unwrap_or_default(),
        name: edit.name.clone(),
        file: edit.real.clone(),
        lines: edit.added_lines.clone(),
        moved_lines: moved_lines(edit),
        marked: edit.marked,
        diff: prepared_diff(edit),
    }
}
