//! What is said of the end of a command there that did not come to its own, and what its exit code is.

use std::process::ExitCode;
use std::time::Duration;

use bystander_host::remote::message::{Cleared, JobEnd, Standing};
use bystander_model::typed;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use crate::args::{Command, MemoryCommand, PatchCommand};
use crate::failure::{Failure, exit};
use crate::output;

/// The signals by which a command is asked to end.
const ASKS: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// What typing the same command again does, where it was broken off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    /// It goes on with what was recorded.
    GoesOn,
    /// It begins anew; what was recorded is here.
    Recorded,
    /// It begins anew, and what it changed is told by `patch status`.
    Edits,
    /// It begins anew.
    Anew,
}

impl Again {
    pub(super) fn of(command: &Command) -> Self {
        match command {
            Command::Run(run) if !run.dry_run => Self::GoesOn,
            Command::Watch(watch) if watch.list.is_none() => Self::Recorded,
            Command::Patch(PatchCommand::Apply(_) | PatchCommand::Revert { .. }) => Self::Edits,
            _ => Self::Anew,
        }
    }

    /// As the end of a sentence.
    fn words(self) -> String {
        match self {
            Self::GoesOn => "the same command goes on with what was recorded".to_owned(),
            Self::Recorded => format!("what was recorded until then is here (`{}`); the same command begins anew", typed::here("show")),
            Self::Edits => format!("`{}` says which edits are live there; the same command begins anew", typed::there("patch status")),
            Self::Anew => "the same command begins anew".to_owned(),
        }
    }
}

/// Whether a command that ended by itself has come to its end, and not to that of its lease.
pub(super) fn by_itself(standing: &Standing) -> bool {
    matches!(standing, Standing::Ended(end) if end.lease_over_s.is_none())
}

/// That its lease has ended a command, in words.
pub(super) fn lease_over(standing: &Standing) -> Option<String> {
    let Standing::Ended(JobEnd { lease_over_s: Some(lease), .. }) = standing else { return None };
    Some(output::lease_words(Duration::from_secs(*lease)))
}

/// The exit code of a command that ended there; a failure where there is none. `stopped` says that somebody here has asked it to end.
pub(super) fn code(standing: &Standing, again: Again, on: &str, stopped: bool) -> Result<ExitCode, Failure> {
    let end = match standing {
        Standing::Ended(end) => end,
        Standing::Running | Standing::Lost => {
            return Err(Failure::environment(format!(
                "failed to learn how the command on {on} ended: whoever looked after it there is gone"
            ))
            .hint(format!("it was killed, or the machine was started anew; {}", again.words())));
        }
    };
    if let Some(why) = &end.unstarted {
        return Err(Failure::user(format!("failed to start the command on {on}: {why}"))
            .hint("the address may name a folder: ssh://user@host/folder; without one commands run in the home directory"));
    }
    if let Some(why) = &end.lost_why {
        return Err(Failure::environment(format!("failed to keep what the command on {on} printed: {} bytes are lost", end.lost_bytes))
            .hint(format!("on {on}: {why}; make room in its state directory and run the same command again")));
    }
    ended(end, again, on, stopped)
}

fn ended(end: &JobEnd, again: Again, on: &str, stopped: bool) -> Result<ExitCode, Failure> {
    let failure = match (end.lease_over_s, end.code.and_then(|code| u8::try_from(code).ok()), end.signal) {
        (Some(lease), ..) => {
            Failure::environment(format!("the command on {on} was ended: {}", output::lease_words(Duration::from_secs(lease))))
                .hint(format!("{}; --lease gives it more time", again.words()))
        }
        (None, Some(code), _) if end.cleared.is_none() => return Ok(ExitCode::from(code)),
        (None, Some(code), _) => {
            Failure::environment(format!("the command on {on} met a fault of its own (exit {code})")).hint(again.words())
        }
        (None, None, Some(signal)) if stopped && ASKS.contains(&signal) => {
            Failure::interrupted(format!("interrupted: the command on {on} was ended")).hint(again.words())
        }
        (None, None, Some(signal)) => Failure::environment(format!("the command on {on} was ended by signal {signal}"))
            .hint(format!("somebody there has killed it, or the machine was short of memory; {}", again.words())),
        (None, None, None) => return Ok(ExitCode::from(exit::HARNESS)),
    };
    Err(match &end.cleared {
        Some(cleared) => with_cleared(failure, cleared),
        None => failure,
    })
}

/// With what it had left, and what became of that.
fn with_cleared(mut failure: Failure, cleared: &Cleared) -> Failure {
    match cleared.ended {
        0 => {}
        1 => failure.causes.push("1 process that it had left was ended".to_owned()),
        many => failure.causes.push(format!("{many} processes that it had left were ended")),
    }
    failure.causes.extend(cleared.undone.iter().map(|edit| format!("its edit was taken back: {edit}")));
    failure.causes.extend(cleared.kept.iter().map(|edit| format!("an edit that it was asked for is live: {edit}")));
    failure
        .causes
        .extend(cleared.stuck.iter().map(|edit| format!("its edit could not be taken back and is live: {} ({})", edit.file, edit.id)));
    failure.causes.extend(cleared.trouble.iter().cloned());
    let left = cleared.stuck.iter().map(|edit| edit.id.as_str()).collect::<Vec<_>>().join(" ");
    if !left.is_empty() {
        return failure.hint(format!("`{}` takes back what is live", typed::there(&format!("patch revert {left}"))));
    }
    failure
}

/// Whether a verb does something there that must not be done a second time.
pub(super) fn has_effect(command: &Command) -> bool {
    match command {
        Command::Patch(PatchCommand::Apply(_) | PatchCommand::Revert { .. }) => true,
        Command::Memory(MemoryCommand::Watch(watch)) => !watch.command.is_empty() || watch.output.is_some(),
        _ => false,
    }
}
