//! Names for runs: what it is about, when it began, and four random digits, such as `story-20261129-140501-9f3c`.
//!
//! A name is reserved by creating the run's folder, so that two processes never get the same one.

use std::fs;
use std::io;
use std::path::Path;

use bystander_model::ids::RunId;
use jiff::Timestamp;

use crate::state::{StateDir, StateError};

/// Longer stems are cut, so that the name fits a file name and a table.
const STEM_CHARS: usize = 40;
/// With 65,536 names a second, this many taken ones in a row mean that something else is wrong.
const ATTEMPTS: u32 = 64;

impl StateDir {
    /// Reserves a name for a run of an experiment file that begins at `now`, and creates its folder.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn new_run(&self, file: &Path, now: Timestamp) -> Result<RunId, StateError> {
        self.reserve(file, now, random)
    }

    fn reserve(&self, file: &Path, now: Timestamp, mut draw: impl FnMut() -> io::Result<u16>) -> Result<RunId, StateError> {
        let (stem, at) = (stem(file), now.strftime("%Y%m%d-%H%M%S").to_string());
        let mut last = None;
        for _ in 0..ATTEMPTS {
            let salt = draw().map_err(|source| StateError::Io { path: self.runs_dir(), source })?;
            let run = RunId(format!("{stem}-{at}-{salt:04x}"));
            match fs::create_dir(self.run_dir(&run)) {
                Ok(()) => return Ok(run),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = Some((run, error)),
                Err(source) => return Err(StateError::Io { path: self.run_dir(&run), source }),
            }
        }
        let (path, source) = last
            .map_or_else(|| (self.runs_dir(), io::Error::from(io::ErrorKind::AlreadyExists)), |(run, error)| (self.run_dir(&run), error));
        Err(StateError::Io { path, source })
    }
}

/// The file's name without its extension, as letters, digits, `-`, `_` and `.`; it never begins with a dot or a dash.
fn stem(file: &Path) -> String {
    let name = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    let safe: String = name.chars().map(plain).collect();
    let cut: String = safe.trim_start_matches(['.', '-']).chars().take(STEM_CHARS).collect();
    if cut.is_empty() { "run".to_owned() } else { cut }
}

fn random() -> io::Result<u16> {
    let mut bytes = [0_u8; 2];
    let got = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    if got == bytes.len() { Ok(u16::from_ne_bytes(bytes)) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use jiff::Timestamp;

    use super::stem;
    use crate::state::StateDir;

    #[test]
    fn a_name_says_what_and_when_and_is_safe_as_a_file_name() {
        let folder = tempfile::tempdir().expect("folder");
        let state = StateDir::open(&folder.path().join(".bystander")).expect("state");
        let now: Timestamp = "2026-11-29T14:05:01.9+02:00".parse().expect("time");
        let run = state.reserve(Path::new("/x/story.toml"), now, || Ok(0x9f)).expect("name");
        assert_eq!(run.0, "story-20261129-120501-009f");
        assert!(state.run_dir(&run).is_dir());
        assert_eq!(stem(Path::new("/x/été 1/../.hidden.toml")), "hidden");
        assert_eq!(stem(Path::new("a b/ü.toml")), "run");
        assert_eq!(stem(Path::new(&"x".repeat(200))).len(), 40);
    }

    #[test]
    fn a_taken_name_is_drawn_again_and_never_shared() {
        let folder = tempfile::tempdir().expect("folder");
        let state = StateDir::open(&folder.path().join(".bystander")).expect("state");
        let now = Timestamp::UNIX_EPOCH;
        let mut draws = [1, 1, 1, 2].into_iter();
        let mut next = || Ok(draws.next().expect("at most four draws"));
        let first = state.reserve(Path::new("a.toml"), now, &mut next).expect("first");
        let second = state.reserve(Path::new("a.toml"), now, &mut next).expect("second");
        assert_eq!((first.0.as_str(), second.0.as_str()), ("a-19700101-000000-0001", "a-19700101-000000-0002"));
        let error = state.reserve(Path::new("a.toml"), now, || Ok(1)).expect_err("all are taken");
        assert!(error.to_string().contains("a-19700101-000000-0001"), "{error}");
    }

    #[test]
    fn real_names_differ() {
        let folder = tempfile::tempdir().expect("folder");
        let state = StateDir::open(&folder.path().join(".bystander")).expect("state");
        let now = Timestamp::now();
        let names: std::collections::BTreeSet<_> = (0..200).map(|_| state.new_run(Path::new("a.toml"), now).expect("name")).collect();
        assert_eq!(names.len(), 200);
    }
}
