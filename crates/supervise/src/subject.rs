//! Whose memory is watched.

use crate::procfs::{descendants, stat};
use crate::tree::{self, ProcessInfo};

/// Whose memory is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// Whoever is on a GPU of this machine.
    Machine,
    /// Everything below a process, which is itself not meant: a keeper and its program.
    Below(u32),
    /// A process and everything below it.
    Process(u32),
}

impl Subject {
    /// Whether a process belongs to it now.
    #[must_use]
    pub fn contains(self, pid: u32) -> bool {
        match self {
            Self::Machine => false,
            Self::Below(root) => pid != root && tree::contains(root, pid),
            Self::Process(root) => tree::contains(root, pid),
        }
    }

    /// Its living processes; none for the machine, whose processes are those that the driver names.
    #[must_use]
    pub fn processes(self) -> Vec<ProcessInfo> {
        match self {
            Self::Machine => Vec::new(),
            Self::Below(root) => tree::snapshot(root),
            Self::Process(root) => {
                let root = stat(root).filter(|stat| !stat.is_dead()).and_then(|stat| tree::process(stat.pid));
                let below = root.as_ref().map(|root| descendants(root.pid)).unwrap_or_default();
                let below = below.into_iter().filter_map(stat).filter(|stat| !stat.is_dead());
                root.into_iter().chain(below.filter_map(|stat| tree::process(stat.pid))).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::Subject;

    #[test]
    fn a_process_is_of_itself_and_what_is_below_a_keeper_is_not_the_keeper() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("starts");
        let (own, below) = (std::process::id(), child.id());
        let pids = |subject: Subject| subject.processes().iter().map(|process| process.pid).collect::<Vec<_>>();
        assert!(pids(Subject::Process(own)).starts_with(&[own]) && pids(Subject::Process(own)).contains(&below));
        assert!(!pids(Subject::Below(own)).contains(&own) && pids(Subject::Below(own)).contains(&below));
        assert_eq!(pids(Subject::Machine), [0_u32; 0]);
        assert!(Subject::Process(own).contains(own) && !Subject::Below(own).contains(own) && Subject::Below(own).contains(below));
        assert!(!Subject::Process(below).contains(own) && !Subject::Machine.contains(own));
        drop(child.stdin.take());
        child.wait().expect("ends");
        assert_eq!(pids(Subject::Process(below)), [0_u32; 0]);
    }
}
