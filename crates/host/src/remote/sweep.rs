//! What nobody will ask for any more: it is taken away whenever a near end connects.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::far::UNFINISHED;
use super::job::{Job, folder};
use super::message::Standing;

/// An executable that was brought here goes where nobody has connected with it for so long, and no process runs it.
const UNUSED: Duration = Duration::from_secs(7 * 24 * 3600);
/// A near end that lives comes back within so long, also where the link was away for longer than the lease of its command.
const COMES_BACK: Duration = Duration::from_secs(24 * 3600);
/// What was begun and not finished is left alone for so long, whoever began it.
const UNSURE: Duration = Duration::from_secs(3600);

/// Removes commands of a near end that have ended and that nobody takes up: their near end was killed, since it has not come back for a day after their
/// lease. One that the same command may still be taken up from stays, and so does one that is followed, since its lease is renewed.
pub(super) fn jobs(state: &Path) {
    for path in entries(&folder(state)) {
        let job = Job::at(&path);
        if is_left(&job, &path) {
            // What stays is looked at again the next time.
            let _gone = job.forget();
        }
    }
}

fn is_left(job: &Job, path: &Path) -> bool {
    match job.standing() {
        Ok(Some(Standing::Running)) | Err(_) => false,
        Ok(Some(Standing::Ended(_) | Standing::Lost)) => job.order().is_ok_and(|order| {
            let lease = Duration::from_secs(order.lease_s);
            !order.taken_up && job.renewed().is_ok_and(|renewed| age(renewed) > lease.saturating_add(COMES_BACK))
        }),
        // An agent was killed before a warden had it.
        Ok(None) => is_older(path, UNSURE),
    }
}

/// Removes executables below a folder that nobody uses any more, and what is left of copies that were cut; `own` is the one that runs.
pub(super) fn binaries(folder: &Path, own: &Path) {
    let mut running = None;
    for build in entries(folder) {
        entries(&build).iter().filter(|file| is_cut(file)).for_each(|file| drop(fs::remove_file(file)));
        if own.parent() == Some(&build) {
            // Its last use, which its own times do not tell.
            let _noted = File::open(&build).and_then(|build| build.set_modified(SystemTime::now()));
        } else if is_older(&build, UNUSED) && !running.get_or_insert_with(executables).iter().any(|file| file.starts_with(&build)) {
            let _gone = fs::remove_dir_all(&build);
        }
    }
}

/// Whether a file is a copy that was begun and whose process is gone.
fn is_cut(file: &Path) -> bool {
    let pid = file.file_name().and_then(|name| name.to_str()?.strip_prefix(UNFINISHED)?.parse::<u32>().ok());
    pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists() || is_older(file, UNSURE))
}

/// The executables of all processes that this user may look at.
fn executables() -> BTreeSet<PathBuf> {
    entries(Path::new("/proc")).iter().filter_map(|process| fs::read_link(process.join("exe")).ok()).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

fn is_older(path: &Path, than: Duration) -> bool {
    path.metadata().and_then(|found| found.modified()).is_ok_and(|modified| age(modified) > than)
}

/// How long ago it was; nothing for a time that is to come.
fn age(time: SystemTime) -> Duration {
    SystemTime::now().duration_since(time).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::path::Path;
    use std::time::{Duration, SystemTime};

    use super::super::job::Job;
    use super::super::message::{JobEnd, Screen};
    use super::{COMES_BACK, UNUSED, binaries, jobs};

    /// Sets a time of modification to so long ago.
    fn aged(path: &Path, by: Duration) {
        let set = File::open(path).and_then(|file| file.set_modified(SystemTime::now() - by));
        set.expect("own file");
    }

    /// A command of a lease of 30 s that ended, or whose warden was killed, and whose lease was renewed so long ago.
    fn job(state: &Path, name: &str, taken_up: bool, has_ended: bool, renewed: Duration) {
        let folder = state.join("jobs").join(name);
        fs::create_dir_all(&folder).expect("a folder");
        let order = serde_json::json!({
            "words": [], "folder": [], "screen": Screen::default(), "lease_s": 30, "taken_up": taken_up
        });
        fs::write(folder.join("start.json"), order.to_string()).expect("written");
        fs::write(folder.join("end"), [0; 64]).expect("written");
        fs::write(folder.join("lease"), "").expect("written");
        let job = Job::named(state, name).expect("a name");
        drop(job.take().expect("taken").expect("nobody has it"));
        if has_ended {
            let end =
                JobEnd { code: Some(0), signal: None, lease_over_s: None, unstarted: None, lost_bytes: 0, lost_why: None, cleared: None };
            job.write_end(&end).expect("written");
        }
        aged(&folder.join("lease"), renewed);
    }

    #[test]
    fn only_what_has_ended_and_nobody_takes_up_goes_a_day_after_its_lease() {
        let state = tempfile::tempdir().expect("a folder");
        let (late, early) = (COMES_BACK + Duration::from_secs(40), COMES_BACK + Duration::from_secs(10));
        job(state.path(), "plain-ended", false, true, late);
        job(state.path(), "plain-lost", false, false, late);
        job(state.path(), "plain-fresh", false, true, early);
        job(state.path(), "run-ended", true, true, late);
        job(state.path(), "plain-runs", false, false, late);
        let held = File::options().write(true).open(state.path().join("jobs/plain-runs/warden")).expect("a file");
        rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).expect("locked");
        for (name, old) in [("plain-begun", Duration::from_secs(10)), ("plain-cut", Duration::from_secs(7200))] {
            fs::create_dir(state.path().join("jobs").join(name)).expect("a folder");
            aged(&state.path().join("jobs").join(name), old);
        }
        jobs(state.path());
        let mut left: Vec<_> = fs::read_dir(state.path().join("jobs")).expect("jobs").flatten().map(|entry| entry.file_name()).collect();
        left.sort();
        assert_eq!(left, ["plain-begun", "plain-fresh", "plain-runs", "run-ended"]);
    }

    #[test]
    fn executables_that_nobody_uses_go_and_so_does_a_cut_copy() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = |build: &str| folder.path().join(build).join("bystander");
        for build in ["own", "old", "new", "runs"] {
            fs::create_dir(folder.path().join(build)).expect("a folder");
            fs::copy("/bin/sleep", place(build)).expect("a program");
        }
        let mut running = std::process::Command::new(place("runs")).arg("600").spawn().expect("a process");
        let (gone, ours) =
            (place("new").with_file_name(".new.4194305"), place("new").with_file_name(format!(".new.{}", std::process::id())));
        fs::write(&gone, "half").expect("written");
        fs::write(&ours, "half").expect("written");
        for build in ["own", "old", "runs"] {
            aged(&folder.path().join(build), UNUSED * 2);
        }
        binaries(folder.path(), &place("own"));
        assert!(place("own").exists() && !place("old").exists() && place("new").exists() && place("runs").exists());
        assert!(!gone.exists() && ours.exists());
        let used = folder.path().join("own").metadata().and_then(|found| found.modified()).expect("a time");
        assert!(used.elapsed().is_ok_and(|age| age < UNUSED), "it was used now");
        running.kill().and_then(|()| running.wait()).expect("own process");
    }
}
