//! Commands that were asked for there, and whose end was not told here: `remote/jobs/` in the state directory.
//!
//! What is to be done is written down before it is asked for, under a name that the far end starts once, and is taken away when its end has been told. So
//! the same command finds what a near end has left that was killed in between: it gets the end of that one, and begins no other beside it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use bystander_host::remote::message::Standing;
use jiff::Timestamp;
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

use super::near::{unwritable, write};
use crate::failure::Failure;

/// A command that was asked for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Job {
    pub(super) job: String,
    /// The machine and folder.
    pub(super) address: String,
    /// What it was: the hash of its words and files.
    pub(super) what: String,
    /// How much of what it printed was printed here.
    pub(super) printed: u64,
    /// When it was asked for.
    #[serde(default)]
    pub(super) asked: Option<Timestamp>,
    /// How it ended, once all that it printed was printed here: there it may be gone from then on.
    #[serde(default)]
    pub(super) ended: Option<Standing>,
    /// Whether its end was told: it is kept only until it is gone there.
    #[serde(default)]
    pub(super) told: bool,
}

impl Job {
    /// One that is to be asked for now.
    pub(super) fn new(verb: &str, address: String, what: String) -> Self {
        Self { job: new_name(verb), address, what, printed: 0, asked: Some(Timestamp::now()), ended: None, told: false }
    }
}

/// A command that this process follows, and no other one meanwhile.
pub(super) struct Held {
    pub(super) job: Job,
    _lock: File,
}

/// Where they are kept.
pub(super) struct Jobs {
    folder: PathBuf,
}

impl Jobs {
    pub(super) fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Writes a command down that is to be asked for.
    pub(super) fn begin(&self, job: Job) -> Result<Held, Failure> {
        // Held first: nobody takes it for one that was left.
        let lock = self.lock(&job.job)?.ok_or_else(followed)?;
        self.keep(&job)?;
        Ok(Held { job, _lock: lock })
    }

    /// Keeps how far a command has come.
    pub(super) fn keep(&self, job: &Job) -> Result<(), Failure> {
        write(&self.file(&job.job), job)
    }

    /// Takes over the newest command that was asked for as this one and whose end was not told. One that another process follows is passed over, or is a
    /// failure where there may be only one.
    pub(super) fn take_up(&self, address: &str, what: &str, only_one: bool) -> Result<Option<Held>, Failure> {
        self.taken(only_one, |job| job.address == address && job.what == what && !job.told).map(|found| found.into_iter().next())
    }

    /// Takes over every command that was asked for as this one and that nobody follows.
    pub(super) fn left(&self, address: &str, what: &str) -> Result<Vec<Held>, Failure> {
        self.taken(false, |job| job.address == address && job.what == what && !job.told)
    }

    /// Takes over what has been told, on a machine, and is not gone there yet.
    pub(super) fn told(&self, is_there: impl Fn(&str) -> bool) -> Result<Vec<Held>, Failure> {
        self.taken(false, |job| job.told && is_there(&job.address))
    }

    /// Those that are as wanted, the newest first.
    fn taken(&self, only_one: bool, wanted: impl Fn(&Job) -> bool) -> Result<Vec<Held>, Failure> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut jobs: Vec<Job> =
            entries.filter(|path| path.extension().is_some_and(|kind| kind == "json")).filter_map(|path| read(&path)).collect();
        jobs.retain(|job| wanted(job));
        jobs.sort_by(|one, other| (other.asked, &other.job).cmp(&(one.asked, &one.job)));
        let mut taken = Vec::new();
        for job in jobs {
            let Some(lock) = self.lock(&job.job)? else {
                if only_one {
                    return Err(followed());
                }
                continue;
            };
            // Whoever had it may have come to its end since it was read.
            match read(&self.file(&job.job)).filter(&wanted) {
                Some(job) => taken.push(Held { job, _lock: lock }),
                None => drop(fs::remove_file(self.lock_file(&job.job))),
            }
        }
        Ok(taken)
    }

    /// Takes a command away whose end was told and that is gone there.
    pub(super) fn remove(&self, held: &Held) {
        // One that stays is taken up once more, and is known to have ended. The lock goes last: without the file it locks nothing.
        let _gone = fs::remove_file(self.file(&held.job.job));
        let _unlocked = fs::remove_file(self.lock_file(&held.job.job));
    }

    fn lock(&self, name: &str) -> Result<Option<File>, Failure> {
        lock(&self.lock_file(name))
    }

    fn lock_file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.lock"))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.json"))
    }
}

/// A name for a command that nobody has used.
pub(super) fn new_name(verb: &str) -> String {
    let now = u64::try_from(Timestamp::now().as_nanosecond()).unwrap_or(0);
    format!("{verb}-{now:x}-{:x}", std::process::id())
}

/// Locks a file until what is returned is closed; `None` where another process has it.
pub(super) fn lock(path: &Path) -> Result<Option<File>, Failure> {
    let file = File::options().create(true).truncate(false).write(true).open(path).map_err(|error| unwritable(path, &error))?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(errno) => Err(unwritable(path, &io::Error::from(errno))),
    }
}

fn read(path: &Path) -> Option<Job> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn followed() -> Failure {
    Failure::user("failed to follow the command there: another process here follows it already")
        .hint("wait until it ends, or use another --state DIR for one that is not the same")
}

#[cfg(test)]
mod tests {
    use bystander_host::remote::message::Standing;

    use super::{Job, Jobs};

    #[test]
    fn what_was_asked_for_is_taken_up_until_its_end_was_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let jobs = Jobs::at(folder.path().to_owned());
        let asked = || jobs.take_up("ssh://a", "x", false).expect("read").map(|held| held.job.job);
        let held = jobs.begin(Job::new("patch", "ssh://a".into(), "x".into())).expect("written");
        let name = held.job.job.clone();
        assert_eq!(asked(), None, "it is followed");
        assert!(jobs.take_up("ssh://a", "x", true).is_err());
        drop(held);
        assert_eq!(asked(), Some(name.clone()));
        assert!(jobs.take_up("ssh://b", "x", true).expect("read").is_none() && jobs.take_up("ssh://a", "y", true).expect("read").is_none());
        let mut held = jobs.take_up("ssh://a", "x", true).expect("read").expect("it is there");
        held.job.ended = Some(Standing::Lost);
        jobs.keep(&held.job).expect("written");
        drop(held);
        assert_eq!(asked(), Some(name), "its end was not told");
        let mut held = jobs.take_up("ssh://a", "x", true).expect("read").expect("it is there");
        held.job.told = true;
        jobs.keep(&held.job).expect("written");
        drop(held);
        assert_eq!(asked(), None);
        let told = jobs.told(|address| address == "ssh://a").expect("read");
        assert_eq!(told.len(), 1);
        told.iter().for_each(|held| jobs.remove(held));
        assert_eq!(folder.path().read_dir().expect("a folder").count(), 0);
    }

    #[test]
    fn the_newest_comes_first_and_one_that_is_followed_is_passed_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let jobs = Jobs::at(folder.path().to_owned());
        let older = jobs.begin(Job::new("b", "ssh://a".into(), "x".into())).expect("written").job.job;
        let followed = jobs.begin(Job::new("a", "ssh://a".into(), "x".into())).expect("written");
        assert_eq!(jobs.take_up("ssh://a", "x", false).expect("read").expect("there").job.job, older);
        let newer = followed.job.job.clone();
        drop(followed);
        assert_eq!(jobs.take_up("ssh://a", "x", false).expect("read").expect("there").job.job, newer);
        assert_eq!(jobs.left("ssh://a", "x").expect("read").len(), 2);
    }
}
