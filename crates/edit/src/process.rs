//! Who a process is, so that a later one can tell whether it is gone; and what this one may do.
//!
//! A process is named by its number, its start time and the boot: a number alone is used again. Where the record
//! comes from another machine (a shared file system) or another process namespace (a container), nothing can be
//! known, and the process counts as living.

use std::fs;
use std::io;
use std::sync::LazyLock;

use rustix::io::Errno;
use rustix::process::{Pid, geteuid, test_kill_process};
use serde::{Deserialize, Serialize};

/// The capability to act on files of others, as a bit of `CapEff`; source: linux/capability.h, `CAP_FOWNER`.
const CAP_FOWNER: u64 = 1 << 3;

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
/// The machine's own namespace of time; source: `PROC_TIME_INIT_INO` of the kernel.
const INITIAL_TIME: &str = "time:[4026531834]";

/// A process, told apart from every other one before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessId {
    /// Its number.
    pub pid: u32,
    /// When it started, in clock ticks since the boot; source: field 22 of `/proc/PID/stat`.
    pub start_ticks: u64,
    /// The boot that it runs in.
    pub boot_id: String,
    /// The machine, where it has an id.
    pub machine_id: Option<String>,
    /// The namespace of process numbers, such as `pid:[4026531836]`; with that of time, where it is not the machine's own: start times count from another
    /// moment there.
    pub pid_namespace: Option<String>,
}

impl ProcessId {
    /// Names this process.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn current() -> io::Result<Self> {
        let stat = fs::read_to_string("/proc/self/stat")?;
        let (_, start_ticks) =
            state_and_start(&stat).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "/proc/self/stat has an unknown form"))?;
        Ok(Self {
            pid: std::process::id(),
            start_ticks,
            boot_id: match boot_id() {
                Some(boot) => boot.to_owned(),
                None => fs::read_to_string(BOOT_ID)?.trim().to_owned(),
            },
            machine_id: machine_id().map(str::to_owned),
            pid_namespace: namespace().map(str::to_owned),
        })
    }

    /// Tells whether the process is certainly gone: ended, a zombie, or of an earlier boot of this machine.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        let other_machine = matches!((&self.machine_id, machine_id()), (Some(theirs), Some(ours)) if theirs != ours);
        let Some(boot) = boot_id() else { return false };
        if other_machine {
            return false;
        }
        if boot != self.boot_id {
            return true;
        }
        if self.pid_namespace.as_deref() != namespace() {
            return false;
        }
        match fs::read_to_string(format!("/proc/{}/stat", self.pid)) {
            Ok(stat) => state_and_start(&stat).is_some_and(|(state, start)| start != self.start_ticks || matches!(state, b'Z' | b'X')),
            // Where `/proc` hides the processes of others, a signal that may not be sent shows that there is one.
            Err(_) => match i32::try_from(self.pid).ok().and_then(Pid::from_raw) {
                None => true,
                Some(pid) => test_kill_process(pid) == Err(Errno::SRCH),
            },
        }
    }
}

/// Reads the state and the start time; the name before them may hold spaces and brackets.
fn state_and_start(stat: &str) -> Option<(u8, u64)> {
    let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    Some((state, fields.nth(18)?.parse().ok()?))
}

/// The boot; it lasts longer than this process, so it is read once.
fn boot_id() -> Option<&'static str> {
    static BOOT: LazyLock<Option<String>> = LazyLock::new(|| fs::read_to_string(BOOT_ID).ok().map(|id| id.trim().to_owned()));
    BOOT.as_deref()
}

fn machine_id() -> Option<&'static str> {
    static MACHINE: LazyLock<Option<String>> =
        LazyLock::new(|| fs::read_to_string("/etc/machine-id").ok().map(|id| id.trim().to_owned()).filter(|id| !id.is_empty()));
    MACHINE.as_deref()
}

/// The namespaces in which a number and a start time name a process. Those of a running process stay as they are.
fn namespace() -> Option<&'static str> {
    static NAMESPACE: LazyLock<Option<String>> = LazyLock::new(|| {
        let link =
            |name: &str| fs::read_link(format!("/proc/self/ns/{name}")).ok().and_then(|link| link.into_os_string().into_string().ok());
        let time = link("time").filter(|time| time != INITIAL_TIME).map_or_else(String::new, |time| format!(" {time}"));
        link("pid").map(|pid| pid + &time)
    });
    NAMESPACE.as_deref()
}

/// Tells whether this process may set the times and the mode of a file of this user.
pub(crate) fn may_act_for(uid: u32) -> bool {
    if geteuid().as_raw() == uid {
        return true;
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
        .is_some_and(|set| set & CAP_FOWNER != 0)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::{ProcessId, state_and_start};

    #[test]
    fn this_process_lives_and_another_start_of_its_number_does_not() {
        let this = ProcessId::current().expect("proc is there");
        assert!(!this.is_gone());
        assert!(ProcessId { start_ticks: this.start_ticks + 1, ..this.clone() }.is_gone());
        assert!(ProcessId { boot_id: "another".to_owned(), ..this.clone() }.is_gone());
        assert!(!ProcessId { pid_namespace: Some("pid:[1]".to_owned()), start_ticks: 1, ..this.clone() }.is_gone());
        if this.machine_id.is_some() {
            assert!(!ProcessId { machine_id: Some("another".to_owned()), boot_id: "another".to_owned(), ..this }.is_gone());
        }
    }

    #[test]
    fn a_child_that_ended_is_gone_before_and_after_it_is_reaped() {
        let this = ProcessId::current().expect("proc is there");
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("cat is there");
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).expect("the child is there");
        let start_ticks = state_and_start(&stat).expect("the form is known").1;
        let named = ProcessId { pid: child.id(), start_ticks, ..this };
        assert!(!named.is_gone());
        drop(child.stdin.take());
        child.wait().expect("cat ends with its input");
        assert!(named.is_gone());
    }

    /// In a namespace of time of its own, start times count from another moment.
    #[test]
    fn a_process_that_is_seen_from_another_namespace_of_time_counts_as_living() {
        const NAMED: &str = "BYSTANDER_TEST_NAMED_PROCESS";
        let this = ProcessId::current().expect("proc is there");
        if let Some(named) = std::env::var_os(NAMED) {
            let named: ProcessId = serde_json::from_slice(named.as_encoded_bytes()).expect("a process");
            assert_ne!(this.pid_namespace, named.pid_namespace);
            assert!(!named.is_gone());
            return;
        }
        let test = "process::tests::a_process_that_is_seen_from_another_namespace_of_time_counts_as_living";
        let looked = Command::new("unshare")
            .args(["--time", "--boottime", "100000", "--fork"])
            .arg(std::env::current_exe().expect("this test"))
            .args(["--exact", test])
            .env(NAMED, serde_json::to_string(&this).expect("a text"))
            .output();
        match looked {
            Ok(looked) if looked.status.success() => {
                assert!(String::from_utf8_lossy(&looked.stdout).contains("1 passed"), "{looked:?}");
            }
            Ok(looked) if !String::from_utf8_lossy(&looked.stderr).contains("unshare") => panic!("{looked:?}"),
            _ => bystander_testkit::skip("no namespace of time may be made here", bystander_testkit::Mark::Superuser),
        }
    }

    #[test]
    fn a_name_with_brackets_does_not_mislead() {
        let stat = "7 (a) b (c)) Z 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 0";
        assert_eq!(state_and_start(stat), Some((b'Z', 4242)));
        assert_eq!(state_and_start("nothing"), None);
    }
}
