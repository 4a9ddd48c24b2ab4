//! Probes as edits: checked by the interpreter, put as one statement each into the text of their files.
//!
//! The probes of one command share a folder in the state directory: the overlay that their statements load, and the rings that hits go to.

use std::fs;
use std::path::{Path, PathBuf};

use bystander_edit::{Action, EditSpec, Find, PatchSpec, PreparedEdit};
use bystander_probe::{CheckedProbe, Interpreter, InterpreterError, Overlay, check, insertion};

use crate::args::PatchApplyArgs;
use crate::commands::watch::problems;
use crate::failure::Failure;
use crate::not_text;

/// Where folders of probes lie in a state directory.
const PROBES: &str = "patch-probes";
/// The probes of a folder, in the order of their rings.
const LIST: &str = "probes.json";

/// Probes that are to be put into files.
pub(super) struct Probes {
    folder: PathBuf,
    checked: Vec<CheckedProbe>,
}

/// Probes with the edits that put them in.
pub(super) struct Placed {
    specs: Vec<PatchSpec>,
    probes: Probes,
}

impl Placed {
    pub(super) fn split(self) -> (Vec<PatchSpec>, Option<Probes>) {
        (self.specs, Some(self.probes))
    }
}

/// Reads and checks the probes of a command line and finds where their statements go; writes nothing.
pub(super) fn specs(args: &PatchApplyArgs, state: &Path) -> Result<Placed, Failure> {
    let mut typed = problems::parse(&args.probes)?;
    let cwd = std::env::current_dir().map_err(|error| Failure::environment("failed to find the working directory").because(&error))?;
    not_text::path("the working directory", &cwd)?;
    for (index, typed) in typed.iter_mut().enumerate() {
        if typed.probe.name.is_empty() {
            typed.probe.name = format!("p{}", index + 1);
        }
    }
    let python = args.python.clone().unwrap_or_else(|| PathBuf::from("python3"));
    let mut interpreter = Interpreter::new(python, &cwd, std::env::vars_os().collect());
    interpreter.path = vec![cwd];
    let specs: Vec<_> = typed.iter().map(|typed| typed.probe.clone()).collect();
    let checked = check(&interpreter, &specs).map_err(|error| {
        let hint = match &error {
            InterpreterError::NotText { .. } => not_text::MOVED,
            _ => "name the Python that loads the files with --python",
        };
        Failure::user("failed to check the probes; nothing was changed").because(&error).hint(hint)
    })?;
    let refused: Vec<_> =
        checked.probes.iter().enumerate().filter_map(|(index, probe)| Some((index, probe.as_ref().err()?.clone()))).collect();
    if !refused.is_empty() {
        return Err(problems::of_places(Failure::user("failed to place the probes; nothing was changed"), &refused, &typed));
    }
    let (checked, _) = checked.split();
    let folder = std::path::absolute(state)
        .map_err(|error| Failure::environment("failed to find the state directory").because(&error))?
        .join(PROBES)
        .join(unique());
    let mut placed: Vec<(PathBuf, usize, PatchSpec)> = Vec::new();
    for probe in &checked {
        let edit = insertion(probe, &folder.join("overlay"))
            .map_err(|error| Failure::user("failed to write the probe as text; nothing was changed").because(&error))?;
        let bytes =
            fs::read(&edit.file).map_err(|error| Failure::user(format!("failed to read {}", edit.file.display())).because(&error))?;
        let (offset, text) = place(&edit, &bytes).ok_or_else(|| {
            Failure::user(format!("failed to place the probe: {} changed meanwhile", edit.file.display()))
                .hint("run the same command again")
        })?;
        let spec = PatchSpec {
            name: edit.name,
            file: edit.file.clone(),
            find: Find::At(offset),
            action: Action::InsertBefore(text),
            language: Some(bystander_edit::Language::Python),
            comment: None,
            all: false,
            inline: true,
            unchecked: args.unchecked,
        };
        placed.push((edit.file, offset, spec));
    }
    // Of one file from its end, so that the places before stay where they are.
    placed.sort_by(|a, b| (&a.0, b.1).cmp(&(&b.0, a.1)));
    Ok(Placed { specs: placed.into_iter().map(|(_, _, spec)| spec).collect(), probes: Probes { folder, checked } })
}

/// A name that no folder has.
fn unique() -> String {
    let now = jiff::Timestamp::now().as_nanosecond();
    format!("{now:x}-{}", std::process::id())
}

/// The offset at which an edit puts something into bytes, and what.
fn place(edit: &EditSpec, bytes: &[u8]) -> Option<(usize, Vec<u8>)> {
    let find = edit.find.as_bytes();
    let at = bytes.windows(find.len()).position(|window| window == find)?;
    match &edit.action {
        Action::InsertBefore(text) => Some((at, text.clone())),
        Action::InsertAfter(text) => Some((at + find.len(), text.clone())),
        Action::Replace(text) => {
            let head = find.iter().zip(text).take_while(|(a, b)| a == b).count();
            let length = text.len().checked_sub(find.len())?;
            // Text before and behind may go on alike: any of these places gives the same bytes.
            let is_boundary = |at: usize| text.get(at).is_none_or(|byte| byte & 0xc0 != 0x80);
            let start = (0..=head).rev().find(|start| is_boundary(*start) && text.get(start + length..) == find.get(*start..))?;
            Some((at + start, text.get(start..start + length)?.to_vec()))
        }
    }
}

impl Probes {
    /// Says of each edit where its hits go.
    pub(super) fn attach(&self, edits: &mut [PreparedEdit]) {
        edits.iter_mut().for_each(|edit| edit.folder = Some(self.folder.clone()));
    }

    /// Writes what the statements load; before the first of them is in a file.
    pub(super) fn lay(self) -> Result<(), Failure> {
        let failed = || Failure::environment("failed to write what the probes load; nothing was changed");
        Overlay::materialise(&self.folder.join("overlay"), &self.checked, &self.folder.join("rings"))
            .map_err(|error| failed().because(&error))?;
        let text = serde_json::to_vec(&self.checked).map_err(|error| failed().because(&error))?;
        fs::write(self.folder.join(LIST), text).map_err(|error| failed().because(&error))
    }
}

/// The probes of a folder and the folder of their rings.
pub(super) fn load(folder: &Path) -> std::io::Result<(Vec<CheckedProbe>, PathBuf)> {
    let text = fs::read(folder.join(LIST))?;
    Ok((serde_json::from_slice(&text)?, folder.join("rings")))
}
