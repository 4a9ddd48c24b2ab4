//! Whether private mounts can be made here: tried out in a child that ends at once, because no setting tells for sure.

use std::ffi::{CStr, CString};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{getegid, geteuid};

use super::Step;
use super::enter::{self, Report};
use super::layout::LayerCalls;

/// How private mounts can be made on this machine, by this user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    /// With the rights of a superuser, in a mount namespace alone.
    Root {
        /// Why folders cannot be layered, where they cannot.
        layers: Option<Refusal>,
    },
    /// In a user namespace.
    User {
        /// Why folders cannot be layered, where they cannot.
        layers: Option<Refusal>,
    },
    /// Not at all.
    Refused(Refusal),
}

/// Why something is refused here, and what would allow it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The reason, with the system call and the setting as far as it can be told.
    pub reason: String,
    /// What to do about it.
    pub mend: String,
}

impl Availability {
    /// Why files cannot be mounted over others, where they cannot.
    #[must_use]
    pub fn refusal(&self) -> Option<&Refusal> {
        if let Availability::Refused(refusal) = self { Some(refusal) } else { None }
    }

    /// Why folders cannot be layered, where they cannot.
    #[must_use]
    pub fn layers_refusal(&self) -> Option<&Refusal> {
        match self {
            Availability::Root { layers } | Availability::User { layers } => layers.as_ref(),
            Availability::Refused(refusal) => Some(refusal),
        }
    }

    /// One line for people.
    #[must_use]
    pub fn describe(&self) -> String {
        let with = |how: &str, layers: &Option<Refusal>| match layers {
            None => format!("possible, {how}"),
            Some(refusal) => format!("possible for files, {how}; not for folders: {}", refusal.reason),
        };
        match self {
            Availability::Root { layers } => with("as superuser", layers),
            Availability::User { layers } => with("in a user namespace", layers),
            Availability::Refused(refusal) => format!("refused: {}", refusal.reason),
        }
    }
}

/// Tries whether a trial could have private mounts. Changes nothing outside of a child process that lives for a moment.
#[must_use]
pub fn namespaces_available() -> Availability {
    match attempt() {
        Ok(Attempt { is_user, failed: None }) => available(is_user, None),
        Ok(Attempt { is_user, failed: Some(report) }) if report.step == Step::Overlay => {
            available(is_user, Some(layers_refused(report, is_user)))
        }
        Ok(Attempt { failed: Some(report), .. }) => Availability::Refused(refused(report, &Settings::read())),
        Err(error) => Availability::Refused(Refusal {
            reason: format!("a process to try it in could not be started: {error}"),
            mend: "use the delivery `overlay` or `patch`".to_owned(),
        }),
    }
}

fn available(is_user: bool, layers: Option<Refusal>) -> Availability {
    if is_user { Availability::User { layers } } else { Availability::Root { layers } }
}

struct Attempt {
    is_user: bool,
    failed: Option<Report>,
}

/// What the child tells where nothing failed: it was a superuser, or it needed a user namespace.
const AS_ROOT: i32 = -1;
const AS_USER: i32 = -2;

/// The trial's steps, on folders that only the child sees: they lie in memory that is mounted over `/proc` there.
fn attempt() -> io::Result<Attempt> {
    let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
    let (uid_map, gid_map) = (CString::new(format!("{uid} {uid} 1\n"))?, CString::new(format!("{gid} {gid} 1\n"))?);
    let layer = LayerCalls::trial(c"/proc/target", c"/proc/upper", c"/proc/work", c"lowerdir=/proc/layer:/proc/target", (uid, gid))?;
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    let mut command = Command::new("/");
    let child = move || {
        let (is_user, told) = match try_steps(&uid_map, &gid_map, &layer) {
            Ok(is_user) => (is_user, Ok(())),
            Err((is_user, report)) => (is_user, Err(report)),
        };
        say(&write, is_user, told);
        // The child must not become a program.
        Err(io::Error::from_raw_os_error(libc::ECANCELED))
    };
    // SAFETY: the closure runs between fork and exec and only makes system calls; it allocates nothing and takes no lock.
    unsafe { command.pre_exec(child) };
    let spawned = command.spawn();
    // The closure holds the writing end.
    drop(command);
    let Some(first) = Report::read(&read) else {
        return Err(spawned.err().unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into()));
    };
    let is_user = first.errno == AS_USER;
    Ok(Attempt { is_user, failed: Report::read(&read) })
}

/// Writes how the namespace was made, and then what failed.
fn say(pipe: &OwnedFd, is_user: bool, told: Result<(), Report>) {
    Report { step: Step::UnshareMounts, index: 0, errno: if is_user { AS_USER } else { AS_ROOT } }.tell(pipe);
    if let Err(report) = told {
        report.tell(pipe);
    }
}

fn try_steps(uid_map: &CStr, gid_map: &CStr, layer: &LayerCalls) -> Result<bool, (bool, Report)> {
    let is_user = enter::isolate(uid_map, gid_map).map_err(|report| (report.step != Step::UnshareMounts, report))?;
    let told = || {
        enter::scratch_memory(c"/proc")?;
        for folder in [c"/proc/target", c"/proc/layer"] {
            enter::folder(folder)?;
        }
        let bound = mount(c"/proc/layer", c"/proc/layer", c"", MountFlags::BIND, None);
        bound.map_err(|error: Errno| Report { step: Step::Bind, index: 0, errno: error.raw_os_error() })?;
        layer.mount(0, is_user)
    };
    told().map(|()| is_user).map_err(|report| (is_user, report))
}

/// What the system says about namespaces of users.
#[derive(Debug, Default)]
struct Settings {
    /// Debian's switch.
    clone: Option<String>,
    /// Ubuntu's.
    apparmor: Option<String>,
    most: Option<String>,
    seccomp: Option<String>,
}

impl Settings {
    fn read() -> Self {
        let file = |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
        let seccomp = file("/proc/self/status")
            .and_then(|status| status.lines().find_map(|line| Some(line.strip_prefix("Seccomp:")?.trim().to_owned())));
        Self {
            clone: file("/proc/sys/kernel/unprivileged_userns_clone"),
            apparmor: file("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
            most: file("/proc/sys/user/max_user_namespaces"),
            seccomp,
        }
    }
}

/// What stands behind a refused step.
fn refused(report: Report, settings: &Settings) -> Refusal {
    let error = io::Error::from_raw_os_error(report.errno);
    let said = |why: &str| format!("{} failed ({error}): {why}", report.step);
    let is = |setting: &Option<String>, value: &str| setting.as_deref() == Some(value);
    let not_permitted = matches!(report.errno, libc::EPERM | libc::EACCES);
    if is(&settings.most, "0") || report.errno == libc::ENOSPC {
        return Refusal {
            reason: said("no user namespace may be made here (user.max_user_namespaces)"),
            mend: "let an administrator raise `sysctl user.max_user_namespaces`, or use the delivery `overlay` or `patch`".to_owned(),
        };
    }
    if not_permitted && is(&settings.clone, "0") {
        return Refusal {
            reason: said("user namespaces are switched off for users (kernel.unprivileged_userns_clone = 0)"),
            mend: "let an administrator set `sysctl kernel.unprivileged_userns_clone=1`, or use the delivery `overlay` or `patch`"
                .to_owned(),
        };
    }
    if not_permitted && is(&settings.apparmor, "1") {
        return Refusal {
            reason: said("AppArmor gives user namespaces no rights here (kernel.apparmor_restrict_unprivileged_userns = 1)"),
            mend: "let an administrator add an AppArmor profile with `userns,` for bystander, or use the delivery `overlay` or `patch`"
                .to_owned(),
        };
    }
    if not_permitted && is(&settings.seccomp, "2") {
        return Refusal {
            reason: said("a seccomp filter stands before it, as container engines set one"),
            mend: "start the container with `--cap-add SYS_ADMIN`, or `--security-opt seccomp=unconfined`, or use the delivery `overlay` or `patch`"
                .to_owned(),
        };
    }
    Refusal {
        reason: said("the system does not allow it to this user"),
        mend: "run as superuser, or use the delivery `overlay` or `patch`".to_owned(),
    }
}

fn layers_refused(report: Report, is_user: bool) -> Refusal {
    let error = io::Error::from_raw_os_error(report.errno);
    let (why, mend) = match report.errno {
        libc::ENODEV => ("this kernel has no overlayfs", "load it with `modprobe overlay`"),
        _ if is_user => ("overlayfs in a user namespace needs Linux 5.11 or newer", "run as superuser"),
        _ => ("the system does not allow it", "run outside of the container"),
    };
    Refusal { reason: format!("{} failed ({error}): {why}", report.step), mend: mend.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::super::Step;
    use super::{Availability, Report, Settings, layers_refused, namespaces_available, refused};

    fn report(errno: i32) -> Report {
        Report { step: Step::UnshareUser, index: 0, errno }
    }

    #[test]
    fn the_setting_that_forbids_it_is_named() {
        let value = |text: &str| Some(text.to_owned());
        for (errno, settings, word) in [
            (libc::EPERM, Settings { clone: value("0"), ..Settings::default() }, "unprivileged_userns_clone"),
            (libc::EACCES, Settings { apparmor: value("1"), ..Settings::default() }, "AppArmor"),
            (libc::EPERM, Settings { seccomp: value("2"), ..Settings::default() }, "seccomp"),
            (libc::ENOSPC, Settings::default(), "max_user_namespaces"),
            (libc::EPERM, Settings { clone: value("1"), apparmor: value("0"), seccomp: value("0"), most: value("9") }, "does not allow"),
        ] {
            let refusal = refused(report(errno), &settings);
            assert!(refusal.reason.contains(word), "{refusal:?}");
            assert!(refusal.reason.contains("unshare(CLONE_NEWUSER | CLONE_NEWNS)") && !refusal.mend.is_empty());
        }
    }

    #[test]
    fn a_kernel_without_overlayfs_still_binds_files() {
        let refusal = layers_refused(Report { step: Step::Overlay, index: 0, errno: libc::ENODEV }, false);
        let here = Availability::Root { layers: Some(refusal) };
        assert!(here.refusal().is_none() && here.layers_refusal().is_some());
        assert!(here.describe().contains("no overlayfs"), "{}", here.describe());
    }

    #[test]
    fn asking_leaves_this_process_as_it_is() {
        let before = std::fs::read_to_string("/proc/self/mountinfo").expect("reads");
        let first = namespaces_available();
        assert_eq!(first, namespaces_available());
        assert_eq!(before, std::fs::read_to_string("/proc/self/mountinfo").expect("reads"));
    }
}
