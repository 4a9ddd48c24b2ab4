//! The conditions of a plan, filled for one trial.

use std::path::Path;

use bystander_lab::plan::{Plan, Ready, STABLE, STABLE_ALONE, Template};
use bystander_model::cell::Cell;
use bystander_supervise::command::{Command, KeeperProgram};
use bystander_supervise::output::OutputPaths;
use bystander_supervise::ready::{CommandCheck, GenerateCheck, HttpCheck, ReadySpec};
use regex::bytes::Regex;

use crate::{environment, secrets};

/// The name of the socket that hears the program's word, in the trial's folder.
const SOCKET: &str = "notify";
/// The names of the two streams of a command of readiness, in the trial's folder.
const COMMAND: [&str; 2] = ["ready", "ready_stderr"];

/// The conditions of one trial; `None` for a program that just runs to its end.
pub(in super::super) fn spec(
    plan: &Plan,
    cell: &Cell,
    fill: &[(&str, &str)],
    folder: &Path,
    program: &Command,
    hidden: &[String],
) -> Option<ReadySpec> {
    let ready = plan.program.ready.as_ref()?;
    let http = |http: &bystander_lab::plan::HttpReady| HttpCheck {
        url: http.url.fill(fill),
        status: http.status.clone(),
        body: http.body.as_deref().and_then(pattern),
    };
    let command = ready.command.as_ref().map(|check| CommandCheck {
        command: Command {
            argv: words(&check.command, fill).into_iter().map(Into::into).collect(),
            // The program's own environment without what brings probes into it: the command is none of its processes.
            env: environment::of_trial(plan, cell, fill, &program.marker),
            cwd: program.cwd.clone(),
            marker: program.marker.clone(),
            remove_on_exit: Vec::new(),
        },
        keeper: KeeperProgram::this_executable(),
        output: OutputPaths { stdout: folder.join(COMMAND[0]), stderr: folder.join(COMMAND[1]) },
        hidden: secrets::bytes(hidden),
        limit: check.timeout,
    });
    let generates = ready.generates.as_ref().map(|generates| GenerateCheck {
        url: generates.url.fill(fill),
        model: generates.model.as_ref().map(|model| model.fill(fill)),
        prompt: generates.prompt.fill(fill),
    });
    Some(ReadySpec {
        // Patterns and ports were checked with the plan.
        logs: ready.log.iter().filter_map(|log| pattern(log)).collect(),
        http: ready.http.iter().map(http).collect(),
        port: ready.port.as_ref().and_then(|port| port.fill(fill).trim().parse().ok()),
        file: ready.file.as_ref().map(|file| file.fill(fill).into()),
        notify: ready.notify.then(|| folder.join(SOCKET)),
        command,
        generates,
        stable: Some(ready.stable.unwrap_or(if plan.workload.is_some() { STABLE } else { STABLE_ALONE })),
    })
}

fn pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

fn words(templates: &[Template], fill: &[(&str, &str)]) -> Vec<String> {
    templates.iter().map(|word| word.fill(fill)).collect()
}

/// The secrets in the words of a command of readiness.
pub(in super::super) fn hidden(ready: Option<&Ready>, fill: &[(&str, &str)]) -> Vec<String> {
    let command = ready.and_then(|ready| ready.command.as_ref());
    command.map(|check| secrets::values(&words(&check.command, fill), std::iter::empty())).unwrap_or_default()
}
