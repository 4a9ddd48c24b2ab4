//! The state directory: where everything that Bystander keeps lies, and in which form.
//!
//! It is `.bystander/` beside the experiment file, or wherever the user says. It hides itself from git, says in `format` which version wrote
//! it, and is never created inside a folder that holds something else. What is in the files belongs to their own modules.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use bystander_model::evidence::Stream;
use bystander_model::ids::{RunId, TrialId};
use rustix::fs::Access;
use tempfile::NamedTempFile;
use thiserror::Error;

/// The version of the layout that this build writes and reads.
pub const STATE_FORMAT: u32 = 1;

/// The folder's name where the user gives none.
pub const STATE_NAME: &str = ".bystander";

const FORMAT_FILE: &str = "format";
const GITIGNORE: &str = ".gitignore";
const RUNS: &str = "runs";
const LOCKS: &str = "locks";
/// What may lie in a state directory whose creation was cut short, beside files that begin with [`UNFINISHED`].
const OWN_NAMES: [&str; 3] = [GITIGNORE, RUNS, LOCKS];
/// How the name of a file begins that was not written to its end.
const UNFINISHED: &str = ".unfinished-";

/// What can be wrong with a state directory.
#[derive(Debug, Error)]
pub enum StateError {
    /// It was written by a newer version.
    #[error(
        "use the state directory {}: it has format {found}, this version of bystander knows formats up to {known}; update bystander or choose another directory",
        .path.display()
    )]
    Newer {
        /// The state directory.
        path: PathBuf,
        /// The format it has.
        found: u32,
        /// The newest format that this version knows.
        known: u32,
    },
    /// It cannot be written to.
    #[error("write to the state directory {}", .path.display())]
    Unwritable {
        /// The state directory.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// It holds other things.
    #[error("use {} as state directory: it holds other files (such as {}) and no `format` file of bystander", .path.display(), .example.display())]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// One of the other files.
        example: PathBuf,
    },
    /// Its `format` file cannot be understood.
    #[error("read the format of the state directory {}: its `format` file says {text:?}, not a number; nothing was changed", .path.display())]
    Damaged {
        /// The state directory.
        path: PathBuf,
        /// What the file says.
        text: String,
    },
    /// There is none.
    #[error("find the state directory {}: nothing was recorded there", .path.display())]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// A file in it could not be read or written.
    #[error("access {}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
}

/// An existing state directory of a format that this version knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDir {
    path: PathBuf,
}

impl StateDir {
    /// Names the state directory that belongs to an experiment file; touches nothing.
    #[must_use]
    pub fn beside(file: &Path) -> PathBuf {
        file.parent().map_or_else(|| PathBuf::from(STATE_NAME), |folder| folder.join(STATE_NAME))
    }

    /// Opens the state directory `path` for writing, and creates it where there is none.
    ///
    /// # Errors
    /// A newer format, a folder that holds other things, or one that cannot be written to.
    pub fn open(path: &Path) -> Result<Self, StateError> {
        fs::create_dir_all(path).map_err(|source| StateError::Unwritable { path: path.to_owned(), source })?;
        let state = Self { path: canonical(path)? };
        let known = state.check_format()?;
        rustix::fs::access(&state.path, Access::WRITE_OK | Access::EXEC_OK)
            .map_err(|errno| StateError::Unwritable { path: state.path.clone(), source: errno.into() })?;
        let known = known || state.is_known_or_empty()?;
        state.lay_out(known)?;
        Ok(state)
    }

    /// Opens a state directory that must exist, for reading; touches nothing.
    ///
    /// # Errors
    /// There is none, or its format is not known.
    pub fn open_existing(path: &Path) -> Result<Self, StateError> {
        let missing = || StateError::Missing { path: path.to_owned() };
        if !path.is_dir() {
            return Err(missing());
        }
        let state = Self { path: canonical(path)? };
        if state.check_format()? { Ok(state) } else { Err(missing()) }
    }

    /// Finds the state directory of `start`, or of the nearest folder above it that has one.
    ///
    /// # Errors
    /// The nearest one has a format that is not known.
    pub fn find(start: &Path) -> Result<Option<Self>, StateError> {
        let start = canonical(start)?;
        let nearest = start.ancestors().map(|folder| folder.join(STATE_NAME)).find(|state| state.join(FORMAT_FILE).is_file());
        nearest.map(|path| Self::open_existing(&path)).transpose()
    }

    /// Whether a folder is a state directory of any version, by what is in it: its name may be any.
    #[must_use]
    pub fn is_one(path: &Path) -> bool {
        let says = |name: &str, fits: &dyn Fn(&str) -> bool| fs::read_to_string(path.join(name)).is_ok_and(|text| fits(text.trim()));
        says(FORMAT_FILE, &|text| text.parse::<u32>().is_ok())
            && says(GITIGNORE, &|text| text == "*")
            && [RUNS, LOCKS].iter().all(|folder| path.join(folder).is_dir())
    }

    /// The directory, absolute and without links.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The database of events.
    #[must_use]
    pub fn database(&self) -> PathBuf {
        self.path.join("record.sqlite")
    }

    /// The folder for locks that belong to no run.
    #[must_use]
    pub fn locks_dir(&self) -> PathBuf {
        self.path.join(LOCKS)
    }

    /// The folder that holds one folder per run.
    #[must_use]
    pub fn runs_dir(&self) -> PathBuf {
        self.path.join(RUNS)
    }

    /// The folder of one run.
    #[must_use]
    pub fn run_dir(&self, run: &RunId) -> PathBuf {
        self.runs_dir().join(&run.0)
    }

    /// The folder of one trial; it may not exist yet.
    #[must_use]
    pub fn trial_dir(&self, run: &RunId, trial: TrialId) -> PathBuf {
        self.run_dir(run).join(format!("trial-{trial}"))
    }

    /// The file that keeps one output stream of one trial; it may not exist yet.
    #[must_use]
    pub fn output_file(&self, run: &RunId, trial: TrialId, stream: Stream) -> PathBuf {
        self.trial_dir(run, trial).join(format!("{}.log", stream.name()))
    }

    /// Creates the folder of one trial.
    ///
    /// # Errors
    /// The system refuses; a full disk is told apart by [`is_disk_full`].
    pub fn create_trial_dir(&self, run: &RunId, trial: TrialId) -> Result<PathBuf, StateError> {
        let path = self.trial_dir(run, trial);
        fs::create_dir_all(&path).map_err(|source| StateError::Io { path: path.clone(), source })?;
        Ok(path)
    }

    /// The path as it is recorded: relative to the state directory where it lies inside.
    #[must_use]
    pub fn relative(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.path).unwrap_or(path).to_owned()
    }

    /// The recorded path as it is opened.
    #[must_use]
    pub fn resolve(&self, recorded: &Path) -> PathBuf {
        self.path.join(recorded)
    }

    /// Whether a format that this version knows is declared.
    fn check_format(&self) -> Result<bool, StateError> {
        let file = self.path.join(FORMAT_FILE);
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(source) => return Err(StateError::Io { path: file, source }),
        };
        match text.trim().parse::<u32>() {
            Ok(found) if found <= STATE_FORMAT => Ok(true),
            Ok(found) => Err(StateError::Newer { path: self.path.clone(), found, known: STATE_FORMAT }),
            Err(_not_a_number) => Err(StateError::Damaged { path: self.path.clone(), text: text.trim().chars().take(40).collect() }),
        }
    }

    /// Refuses a folder that holds something else: a `.gitignore` that hides everything must never land in it. Tells whether another process
    /// has declared the format meanwhile.
    fn is_known_or_empty(&self) -> Result<bool, StateError> {
        let Some(example) = self.foreign()? else { return Ok(false) };
        // Others write here only after the format is declared, so what is foreign now belongs to this directory if the format stands now.
        if self.check_format()? { Ok(true) } else { Err(StateError::Foreign { path: self.path.clone(), example }) }
    }

    /// A file that the creation of a state directory does not leave.
    fn foreign(&self) -> Result<Option<PathBuf>, StateError> {
        let io = |source| StateError::Io { path: self.path.clone(), source };
        for entry in fs::read_dir(&self.path).map_err(io)? {
            let name = entry.map_err(io)?.file_name();
            let unfinished = name.to_str().is_some_and(|name| name.starts_with(UNFINISHED));
            if !unfinished && !OWN_NAMES.iter().any(|own| name == *own) {
                return Ok(Some(PathBuf::from(name)));
            }
        }
        Ok(None)
    }

    /// Makes what is missing. The format is declared last: a directory that has the file is complete.
    fn lay_out(&self, known: bool) -> Result<(), StateError> {
        for folder in [self.runs_dir(), self.locks_dir()] {
            fs::create_dir_all(&folder).map_err(|source| StateError::Io { path: folder.clone(), source })?;
        }
        self.declare(GITIGNORE, "*\n")?;
        if known { Ok(()) } else { self.declare(FORMAT_FILE, &format!("{STATE_FORMAT}\n")) }
    }

    /// Writes one of the directory's own files where it is not there yet.
    fn declare(&self, name: &str, text: &str) -> Result<(), StateError> {
        let file = self.path.join(name);
        write_once(&file, text.as_bytes(), 0o666).map_err(|source| StateError::Io { path: file, source })
    }
}

/// Writes a file that is not there yet, whole or not at all, with the permissions `mode` less the umask. Several processes may do so at once: the
/// first one's file stays, and whoever returns from this can read it.
///
/// # Errors
/// The folder cannot be written to, or the disk is full.
pub fn write_once(file: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    if file.exists() {
        return Ok(());
    }
    let folder = file.parent().unwrap_or(Path::new("."));
    let mut unfinished = unfinished(folder, mode)?;
    unfinished.as_file_mut().write_all(bytes)?;
    unfinished.as_file().sync_all()?;
    match unfinished.persist_noclobber(file) {
        Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => Err(error.error),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Makes a file that is to get its name once it is whole. What goes wrong is told without the name that it has until then: nobody knows that one.
pub(crate) fn unfinished(folder: &Path, mode: u32) -> io::Result<NamedTempFile> {
    let open = |path: &Path| File::options().read(true).write(true).create_new(true).mode(mode).open(path);
    tempfile::Builder::new().prefix(UNFINISHED).make_in(folder, open)
}

/// Tells whether a write failed for want of space: a full disk, a used-up quota or a file size limit.
#[must_use]
pub fn is_disk_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge)
}

fn canonical(path: &Path) -> Result<PathBuf, StateError> {
    fs::canonicalize(path).map_err(|source| StateError::Io { path: path.to_owned(), source })
}
