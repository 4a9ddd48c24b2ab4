//! `doctor --on`: tells everything that it can, whatever is broken there. It leaves nothing there and needs no room.
//!
//! Where an executable runs there, it looks itself, and nothing is written down of it; where none does, a shell is asked.

use std::io;
use std::process::ExitCode;
use std::sync::Arc;

use bystander_host::remote::job::{self, Stream};
use bystander_host::remote::link::{self, LinkError, Options, Shell};
use bystander_host::remote::message::{Ask, Told};
use bystander_model::printed::Finding;

use super::follow::{Session, unconnected};
use super::near::Near;
use super::{Wanted, screen, words};
use crate::args::Args;
use crate::failure::{Failure, exit};
use crate::output::{self, Output};

/// Looks at another machine.
pub(super) fn run(args: &Args, wanted: &Wanted, output: &mut Output) -> Result<ExitCode, Failure> {
    let near = Near::visiting();
    let options =
        Options { config: wanted.config.clone(), upload: wanted.upload, near: near.name().to_owned(), visits: true, halt: Arc::default() };
    let mut session = match Session::try_open(wanted.address.clone(), options.clone(), output)? {
        Ok(session) => session,
        Err(error @ (LinkError::NoAgent { .. } | LinkError::Failed { .. })) => return by_shell(wanted, &options, &error, output),
        Err(error) => return Err(unconnected(&wanted.address, wanted.config.as_deref(), &error)),
    };
    tell_way(&mut session, wanted, output)?;
    let (words, _) = words::typed(std::env::args_os().skip(1), &session.opened().state)?;
    let clock = session.link()?.offset();
    let mut screen = screen(clock, wanted, &near, output);
    // The state directory here is no concern of the one there.
    screen.again = args.state.as_deref().map(output::state_option).unwrap_or_default();
    screen.way = wanted.way(&screen.again);
    let folder = wanted.address.folder.as_deref().map(bystander_host::remote::message::bytes);
    let asked = Ask::Try { words, screen, folder };
    let (told, body) = session.retried(&mut |link| link.ask(&asked, &[]))?;
    let Told::Tried { code } = told else { return Err(unreadable()) };
    let mut rest = body.as_slice();
    while let Some((stream, bytes, length)) = job::record(rest).map_err(|error: io::Error| unreadable().because(&error))? {
        output.passed_on(stream == Stream::Out, bytes);
        rest = &rest[length..];
    }
    Ok(ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(exit::HARNESS)))
}

fn unreadable() -> Failure {
    Failure::environment("failed to read what was found there")
}

/// What `doctor` says of the way there: that there is an answer shows a login, a shell and an executable of this version.
fn tell_way(session: &mut Session, wanted: &Wanted, output: &Output) -> Result<(), Failure> {
    let offset = session.link()?.offset();
    let opened = session.opened();
    let free = opened.free_bytes.map_or_else(String::new, |bytes| format!(", {} free", gib(bytes)));
    output.say(&format!(
        "{}: {} answers by a shell, with bystander {}; state in {}{free}; its clock is {}",
        wanted.address.machine(),
        opened.machine,
        env!("CARGO_PKG_VERSION"),
        opened.state.display(),
        output::clock(offset)
    ));
    Ok(())
}

fn gib(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
}

/// What can be told without an executable there.
fn by_shell(wanted: &Wanted, options: &Options, error: &LinkError, output: &mut Output) -> Result<ExitCode, Failure> {
    let failure = unconnected(&wanted.address, wanted.config.as_deref(), error);
    let shell = match link::shell(&wanted.address, options) {
        Ok(shell) => shell,
        Err(error @ LinkError::Halted) => return Err(unconnected(&wanted.address, wanted.config.as_deref(), &error)),
        // There is nobody else to ask.
        Err(_) => return Err(failure),
    };
    output.findings(&findings(&wanted.address.machine(), &shell, error, &failure));
    output.say("the rest is told once bystander runs there: run the same command again then");
    Ok(ExitCode::from(exit::HARNESS))
}

fn findings(machine: &str, shell: &Shell, error: &LinkError, failure: &Failure) -> Vec<Finding> {
    let finding = |name: &str, optional: bool, found: Result<String, String>, mend: &str| {
        let works = found.is_ok();
        Finding { name: name.to_owned(), works, optional, found: found.unwrap_or_else(|why| why), mend: (!works).then(|| mend.to_owned()) }
    };
    let writable = |why: &str, fine: &str| if why.is_empty() { Ok(fine.to_owned()) } else { Err(why.to_owned()) };
    let room = match shell.free_bytes {
        Some(free) if free >= 1 << 30 => Ok(format!("{} are free where the state directory is", gib(free))),
        Some(free) => Err(format!("{} are free where the state directory is", gib(free))),
        None => Err("the room there is not told".to_owned()),
    };
    let says = |said: &str, begins: &str| if said.starts_with(begins) { Ok(said.to_owned()) } else { Err(said.to_owned()) };
    vec![
        finding("way there", false, Ok(format!("{machine} answers by a shell: {}", shell.system)), ""),
        finding("bystander there", false, Err(error.to_string()), &failure.hints.join("; ")),
        finding(
            "state directory",
            false,
            writable(&shell.state, "it can be written to"),
            "make room there, or set XDG_STATE_HOME there to a directory that can be written to",
        ),
        finding("room for records", true, room, "make room there, or set XDG_STATE_HOME there to a directory that has room"),
        finding(
            "temporary folder",
            true,
            writable(&shell.temporary, "it can be written to"),
            "make /tmp there, or set TMPDIR there to a folder that can be written to",
        ),
        finding(
            "python3 for probes",
            true,
            says(&shell.python, "Python 3"),
            "install Python 3.8 or newer; experiments without probes run without it",
        ),
        finding("git state in records", true, says(&shell.git, "git version"), "install git; records then say which commit ran"),
    ]
}
