//! The name of the process that owns a trial, short enough for a variable and a file name, and whether that process is gone.

use std::fmt;
use std::io;
use std::str::FromStr;

use bystander_edit::ProcessId;

/// The owner of a trial: process number, start, boot and process namespace as `PID.TICKS.BOOT.NAMESPACE`, without any other punctuation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    pid: u32,
    start_ticks: u64,
    boot: String,
    namespace: String,
}

/// A text that names no owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("read the name of an owner")]
pub struct NotAnOwner;

impl Owner {
    /// Names this process.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn current() -> io::Result<Self> {
        Ok(Self::of(&ProcessId::current()?))
    }

    fn of(process: &ProcessId) -> Self {
        let plain = |text: &str| text.chars().filter(char::is_ascii_alphanumeric).collect();
        let namespace = plain(process.pid_namespace.as_deref().unwrap_or("unknown"));
        Self { pid: process.pid, start_ticks: process.start_ticks, boot: plain(&process.boot_id), namespace }
    }

    /// Whether the process is certainly gone. Of one in another process namespace nothing can be known, and it counts as living.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        let Ok(here) = ProcessId::current() else { return false };
        let ours = Self::of(&here);
        if ours.boot != self.boot {
            return true;
        }
        ours.namespace == self.namespace && ProcessId { pid: self.pid, start_ticks: self.start_ticks, ..here }.is_gone()
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}.{}", self.pid, self.start_ticks, self.boot, self.namespace)
    }
}

impl FromStr for Owner {
    type Err = NotAnOwner;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.split('.');
        let mut next = || parts.next().filter(|part| !part.is_empty()).ok_or(NotAnOwner);
        let (pid, start, boot, namespace) = (next()?, next()?, next()?, next()?);
        let number = |text: &str| text.parse().map_err(|_error: std::num::ParseIntError| NotAnOwner);
        Ok(Self {
            pid: u32::try_from(number(pid)?).map_err(|_error| NotAnOwner)?,
            start_ticks: number(start)?,
            boot: boot.to_owned(),
            namespace: namespace.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Owner;

    #[test]
    fn an_owner_survives_its_name_and_is_gone_only_when_it_is() {
        let here = Owner::current().expect("proc is there");
        let read: Owner = here.to_string().parse().expect("its own name");
        assert_eq!(read, here);
        assert!(!read.is_gone());
        assert!(Owner { start_ticks: here.start_ticks + 1, ..here.clone() }.is_gone());
        assert!(Owner { boot: "another".into(), ..here.clone() }.is_gone());
        assert!(!Owner { namespace: "another".into(), start_ticks: 1, ..here }.is_gone());
        assert!("7.8".parse::<Owner>().is_err() && "".parse::<Owner>().is_err() && "a.b.c.d".parse::<Owner>().is_err());
    }
}
