//! Dev-only: the keeper of the tests and benchmarks, and a near side that tests can kill.
//!
//! `near DIRECTORY MARKER RING PROGRAM...` runs a trial in a directory and waits for its end. `namespaces` says on standard output
//! whether private mounts can be made by its user.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use bystander_supervise::{Canceller, Command, KeeperProgram, OutputPaths, Trial, TrialSpec, keeper, namespaces_available};

fn main() -> ExitCode {
    let mut arguments = env::args_os().skip(1);
    let role = arguments.next();
    if role.as_deref() == Some(KeeperProgram::ARGUMENT.as_ref()) {
        return keeper::main();
    }
    if role.as_deref() == Some("namespaces".as_ref()) {
        let available = namespaces_available();
        let written = writeln!(std::io::stdout(), "{}\n{available:?}", available.describe());
        return if written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let (Some(directory), Some(marker), Some(ring)) = (arguments.next(), arguments.next(), arguments.next()) else {
        return ExitCode::from(2);
    };
    run(PathBuf::from(directory), marker.to_string_lossy().into_owned(), PathBuf::from(ring), arguments.collect())
}

fn run(directory: PathBuf, marker: String, ring: PathBuf, argv: Vec<OsString>) -> ExitCode {
    let env: BTreeMap<OsString, OsString> = env::vars_os().collect();
    let output = OutputPaths { stdout: directory.join("stdout"), stderr: directory.join("stderr") };
    let command = Command { argv, env, cwd: directory, marker, remove_on_exit: vec![ring] };
    let spec = TrialSpec {
        command,
        keeper: KeeperProgram::this_executable(),
        output,
        hidden: Vec::new(),
        ready: None,
        canceller: Canceller::new(),
        namespace: None,
    };
    let Ok(mut trial) = Trial::start(spec) else { return ExitCode::FAILURE };
    while trial.exit().is_none() && !trial.is_over() {
        trial.next(Duration::from_secs(1));
    }
    trial.finish(Duration::ZERO, drop);
    ExitCode::SUCCESS
}
