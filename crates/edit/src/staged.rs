//! Looks for edits in what is staged for a commit: the index of git, not the files.

use std::ffi::OsStr;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

use crate::excise::statement;
use crate::locate::occurrences;
use crate::marker;
use crate::registry::Registry;

/// Longer staged files are looked at up to here, in bytes.
const LARGEST: usize = 1 << 30;

/// So many marks of one file are told.
const MARKS: usize = 16;
/// A text at more places than this is not counted.
const PLACES: usize = 1000;

/// An edit in a staged file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagedEdit {
    /// The file, from the top of the work tree.
    pub file: PathBuf,
    /// The line that it is on, from 1.
    pub line: u64,
    /// The id of the edit.
    pub id: String,
    /// Whether the edit is live; if not, nobody here knows it, or it was taken back.
    pub live: bool,
}

/// Why the index cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum StagedError {
    /// There is no git to ask.
    #[error("start git")]
    NoGit {
        /// What the system says.
        source: io::Error,
    },
    /// Git refuses.
    #[error("read the index of git: {message}")]
    Refused {
        /// What git says.
        message: String,
    },
    /// The talk with git broke off.
    #[error("read what is staged from git")]
    Io {
        /// What the system says.
        source: io::Error,
    },
    /// The live edits cannot be listed.
    #[error("list the live edits")]
    Registry {
        /// Why.
        source: crate::error::EditError,
    },
}

/// Finds the edits in what a commit made in `folder` would hold and its parent does not.
///
/// A mark counts wherever it stands, each once a file; the text of a live edit counts in its own file, where its mark does not stand.
///
/// # Errors
/// Git is not there, `folder` is in no repository, or the live edits cannot be read.
pub fn staged(folder: &Path, registry_dir: &Path) -> Result<Vec<StagedEdit>, StagedError> {
    let top = git(folder, &["rev-parse", "--show-toplevel"])?;
    let top = PathBuf::from(OsStr::from_bytes(top.strip_suffix(b"\n").unwrap_or(&top)));
    // Of an empty repository everything is new: it is compared with nothing.
    let base = match git(folder, &["rev-parse", "--verify", "--quiet", "HEAD^{tree}"]) {
        Ok(tree) => tree,
        Err(StagedError::Refused { .. }) => git(folder, &["hash-object", "-t", "tree", "/dev/null"])?,
        Err(error) => return Err(error),
    };
    let base = String::from_utf8_lossy(base.trim_ascii()).into_owned();
    let changed = git(folder, &["diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", "--ignore-submodules=all", &base])?;
    let blobs = blobs(&changed);
    let edits = edits(registry_dir).map_err(|source| StagedError::Registry { source })?;
    let real_top = top.canonicalize().unwrap_or(top);
    let mut found = Vec::new();
    if blobs.is_empty() {
        return Ok(found);
    }
    let mut child = command(folder, &["cat-file", "--batch"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let child = child.as_mut().map_err(|error| StagedError::NoGit { source: io::Error::from(error.kind()) })?;
    let (Some(mut ask), Some(answer)) = (child.stdin.take(), child.stdout.take()) else { return Ok(found) };
    let mut answer = BufReader::new(answer);
    for (name, path) in &blobs {
        let bytes = blob(&mut ask, &mut answer, name).map_err(|source| StagedError::Io { source })?;
        let line = |at: usize| memchr::memchr_iter(b'\n', &bytes[..at]).count() as u64 + 1;
        let start = found.len();
        for (at, id) in marker::all(&bytes) {
            if found[start..].len() < MARKS && !found[start..].iter().any(|seen: &StagedEdit| seen.id == id) {
                let live = edits.iter().any(|edit| edit.id == id);
                found.push(StagedEdit { file: path.clone(), line: line(at), id, live });
            }
        }
        let own: Vec<&LiveEdit> = edits.iter().filter(|edit| edit.file == real_top.join(path)).collect();
        for edit in own {
            if let Some(at) = edit.place_in(&bytes).filter(|_| !found[start..].iter().any(|seen| seen.id == edit.id)) {
                found.push(StagedEdit { file: path.clone(), line: line(at), id: edit.id.clone(), live: true });
            }
        }
    }
    drop(ask);
    // It ends with its input.
    child.wait().map_err(|source| StagedError::Io { source })?;
    Ok(found)
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(folder).env("LC_ALL", "C");
    command
}

fn git(folder: &Path, arguments: &[&str]) -> Result<Vec<u8>, StagedError> {
    let output = command(folder, arguments).stdin(Stdio::null()).output().map_err(|source| StagedError::NoGit { source })?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(StagedError::Refused { message: String::from_utf8_lossy(&output.stderr).trim().to_owned() })
}

/// The blobs of a raw diff, `:MODE MODE OLD NEW STATUS`, NUL, path, NUL: what is removed or lies in another repository is none.
fn blobs(raw: &[u8]) -> Vec<(String, PathBuf)> {
    let mut fields = raw.split(|&byte| byte == 0);
    let mut found = Vec::new();
    while let (Some(head), Some(path)) = (fields.next(), fields.next()) {
        let head = String::from_utf8_lossy(head).into_owned();
        let words: Vec<&str> = head.split(' ').collect();
        let [_, mode, _, name, _] = words[..] else { break };
        let is_file = mode.starts_with("10") || mode.starts_with("12");
        if is_file && name.bytes().any(|digit| digit != b'0') {
            found.push((name.to_owned(), PathBuf::from(OsStr::from_bytes(path))));
        }
    }
    found
}

/// Asks for one blob.
fn blob(ask: &mut ChildStdin, answer: &mut BufReader<ChildStdout>, name: &str) -> io::Result<Vec<u8>> {
    writeln!(ask, "{name}")?;
    ask.flush()?;
    let mut head = String::new();
    answer.read_line(&mut head)?;
    let size: usize = head
        .trim_end()
        .rsplit(' ')
        .next()
        .and_then(|size| size.parse().ok())
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("git has no object {name}")))?;
    let mut bytes = vec![0; size.min(LARGEST)];
    answer.read_exact(&mut bytes)?;
    // The rest of it, and the line end behind it.
    io::copy(&mut answer.take((size - bytes.len()) as u64 + 1), &mut io::sink())?;
    Ok(bytes)
}

/// A live edit by its text.
struct LiveEdit {
    file: PathBuf,
    id: String,
    /// What it put in, without its mark and what joins it to its neighbours; empty where the text alone tells nothing.
    text: Vec<u8>,
    /// How often that text was in the file before.
    had: usize,
}

impl LiveEdit {
    /// Where its text stands, if there is more of it than before.
    fn place_in(&self, bytes: &[u8]) -> Option<usize> {
        if self.text.is_empty() {
            return None;
        }
        let places = occurrences(bytes, &self.text, self.had + 1);
        places.get(self.had).and(places.first()).copied()
    }
}

/// The live edits of this user.
fn edits(registry_dir: &Path) -> Result<Vec<LiveEdit>, crate::error::EditError> {
    let registry = Registry { folder: registry_dir.to_path_buf() };
    let mut found = Vec::new();
    for entry in registry.entries()? {
        if registry.state(&entry)?.is_none() {
            continue;
        }
        let before = registry.before(&entry)?;
        let record = entry.record;
        let text = record.mark().map_or_else(|| record.marker.clone(), |mark| marker::without(&record.marker, mark.as_bytes()));
        let text = statement(&text).to_vec();
        // What is there too often already tells nothing.
        let had = if text.is_empty() { 0 } else { occurrences(&before, &text, PLACES).len() };
        let text = if had < PLACES { text } else { Vec::new() };
        found.push(LiveEdit { file: record.real, id: record.id, text, had });
    }
    Ok(found)
}
