//! What a bare shell says of the far end, where no executable of ours can run there.

use std::sync::Arc;

use bystander_model::address::Address;

use super::start::script;
use super::{Doing, LinkError, Options, scratch, session};

/// One line, which every login shell passes on as it is; what it cannot say stays empty.
const QUESTIONS: &str = "echo \"system=$(uname -srm)\"; s=\"${XDG_STATE_HOME:-$HOME/.local/state}\"; \
until [ -d \"$s\" ] || [ -z \"$s\" ]; do s=\"${s%/*}\"; done; echo \"room=$(df -Pk \"${s:-/}\" 2>&1 | tail -n 1)\"; \
t=\"$s/.bystander-look.$$\"; echo \"state=$( (echo x >\"$t\") 2>&1 | tail -n 1)\"; rm -f \"$t\"; \
t=\"${TMPDIR:-/tmp}/.bystander-look.$$\"; echo \"temporary=$( (echo x >\"$t\") 2>&1 | tail -n 1)\"; rm -f \"$t\"; \
echo \"python=$(python3 --version 2>&1 | tail -n 1)\"; echo \"git=$(git --version 2>&1 | tail -n 1)\"";

/// What a shell says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shell {
    /// System, its version and processor.
    pub system: String,
    /// Bytes that are free where the user's state directory is, or would be made.
    pub free_bytes: Option<u64>,
    /// Why that place cannot be written to; empty where it can.
    pub state: String,
    /// Why the folder for temporary files cannot be written to; empty where it can.
    pub temporary: String,
    /// What `python3 --version` says.
    pub python: String,
    /// What `git --version` says.
    pub git: String,
}

/// Asks a shell there; nothing of ours has to be there, and nothing stays.
///
/// # Errors
/// There is no way there.
pub fn shell(address: &Address, options: &Options) -> Result<Shell, LinkError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(LinkError::Local)?;
    let scratch = scratch::Scratch::new().map_err(LinkError::Local)?;
    let doing = Doing { runtime: &runtime, halt: &options.halt };
    let session = Arc::new(doing.wait_for(session(address, options, scratch.path()))??);
    Ok(read(&script(&doing, &session, QUESTIONS, None)?))
}

fn read(said: &str) -> Shell {
    let of = |name: &str| said.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('=')).unwrap_or_default().trim().to_owned();
    // The mount point is last and may hold blanks; the name of the device before may not, as POSIX has it.
    let free_kib = of("room").split_whitespace().nth(3).and_then(|kib| kib.parse::<u64>().ok());
    Shell {
        system: of("system"),
        free_bytes: free_kib.map(|kib| kib.saturating_mul(1024)),
        state: of("state"),
        temporary: of("temporary"),
        python: of("python"),
        git: of("git"),
    }
}

#[cfg(test)]
mod tests {
    use super::{QUESTIONS, read};

    #[test]
    fn a_shell_here_answers_every_question() {
        let ran = std::process::Command::new("sh").args(["-c", QUESTIONS]).output().expect("a shell");
        let shell = read(&String::from_utf8_lossy(&ran.stdout));
        assert!(shell.system.starts_with("Linux ") && shell.free_bytes.is_some() && shell.state.is_empty(), "{shell:?}");
        assert!(!QUESTIONS.contains(['\n', '!']), "csh takes neither");
    }

    #[test]
    fn what_is_broken_is_said_in_its_own_words() {
        let said = "noise\nroom=/dev/sda1 100 100 0 100% /home of all\nstate=sh: 1: cannot create x: Read-only file system\npython=sh: python3: not found\n";
        let shell = read(said);
        assert_eq!((shell.free_bytes, shell.git.as_str(), shell.python.as_str()), (Some(0), "", "sh: python3: not found"));
        assert!(shell.state.ends_with("Read-only file system"));
    }
}
