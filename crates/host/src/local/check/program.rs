//! The program and its workload: found, runnable, not handed over to a daemon; ports free; the working directory there.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use bystander_lab::plan::{FixedBy, Plan};
use bystander_model::diagnostic::Diagnostic;
use bystander_supervise::resolve::ResolveError;
use bystander_supervise::{handover, listener, port};

use super::place;
use crate::{environment, machine};

/// Checks the program of every cell; gives the Python interpreter it runs under, where it is a Python program.
pub(super) fn check(plan: &Plan, problems: &mut Vec<Diagnostic>) -> Option<PathBuf> {
    if !plan.program.cwd.is_dir() {
        let problem = Diagnostic::error("program.cwd", format!("the working directory {} is not there", plan.program.cwd.display()));
        problems.push(place(problem, plan, &plan.program.spans, "cwd").help("mend `cwd` in [program]"));
        return None;
    }
    let fill = environment::checked_fill(plan);
    let fill = environment::pairs(&fill);
    let mut python = None;
    let mut seen = Vec::new();
    for cell in &plan.cells {
        let env = environment::of_trial(plan, cell, &fill, "check");
        let command = environment::command(plan, cell, &fill);
        let key = (command.first().cloned(), env.get(OsStr::new("PATH")).cloned());
        if !seen.contains(&key) {
            seen.push(key);
            let found = runnable("program", &command, &env, &plan.program.cwd);
            let program = found.map_err(|problem| problems.push(place(*problem, plan, &plan.program.spans, "command"))).ok();
            python = python.or_else(|| machine::interpreter(plan, &program?, &env));
        }
    }
    let baseline = environment::of_trial(plan, &plan.baseline, &fill, "check");
    named_python(plan, &baseline, problems);
    for (hook, command) in plan.hooks.all().flat_map(|(name, commands)| commands.iter().map(move |command| (name, command))) {
        let words: Vec<String> = command.argv.iter().map(|word| word.fill(&fill)).collect();
        if let Err(mut problem) = runnable(&format!("hooks.{hook}"), &words, &baseline, &plan.program.cwd) {
            problem.file = Some(plan.file.clone());
            problem.span.clone_from(&command.span);
            problems.push(*problem);
        }
    }
    if let Some(workload) = plan.workload.as_ref().filter(|workload| workload.traffic.is_none()) {
        let command: Vec<String> = workload.command.iter().map(|word| word.fill(&fill)).collect();
        if let Err(problem) = runnable("workload", &command, &baseline, &plan.program.cwd) {
            problems.push(place(*problem, plan, &workload.spans, "command"));
        }
    }
    super::traffic::check(plan, &baseline, problems);
    fixed_ports(plan, problems);
    python
}

/// A Python that the plan names must be one that runs.
fn named_python(plan: &Plan, env: &BTreeMap<OsString, OsString>, problems: &mut Vec<Diagnostic>) {
    let Some(named) = &plan.program.python else { return };
    if let Err(error) = machine::find(named.as_os_str(), env, &plan.program.cwd) {
        let problem = Diagnostic::error("program.python", format!("`{}` cannot be run: {error}", named.display()));
        problems.push(place(problem, plan, &plan.program.spans, "python").help("name the Python that the command starts in the end"));
    }
}

fn runnable(what: &str, command: &[String], env: &BTreeMap<OsString, OsString>, cwd: &Path) -> Result<PathBuf, Box<Diagnostic>> {
    let name = command.first().map_or("", String::as_str);
    let words: Vec<OsString> = command.iter().map(OsString::from).collect();
    if let Some(reason) = handover::handover(&words) {
        let message = format!("the command of [{what}] hands its work to something outside its own processes: {reason}");
        return Err(Box::new(
            Diagnostic::error(format!("{what}.handover"), message)
                .help("name the command that runs inside: only its own process tree can be watched and ended"),
        ));
    }
    match machine::find(OsStr::new(name), env, cwd) {
        Ok(path) => Ok(path),
        Err(error) => {
            let help = match &error {
                ResolveError::NotFound { .. } => "mend the first word of `command`, or PATH",
                _ => "it must be a program that this user may run",
            };
            Err(Box::new(Diagnostic::error(format!("{what}.command"), format!("`{name}` cannot be run: {error}")).help(help)))
        }
    }
}

/// The `python3` of the program's environment.
pub(super) fn any_python(plan: &Plan) -> Option<PathBuf> {
    let fill = environment::checked_fill(plan);
    let env = environment::of_trial(plan, &plan.baseline, &environment::pairs(&fill), "check");
    machine::find(OsStr::new("python3"), &env, &plan.program.cwd).ok()
}

/// Ports that the file fixes must be free: the program would not get them.
fn fixed_ports(plan: &Plan, problems: &mut Vec<Diagnostic>) {
    for (number, by) in plan.fixed_ports(None).into_iter().filter(|(number, _)| !port::port_free(*number)) {
        let holder =
            listener::listener_of(number).map_or_else(|| "a process of another user".to_owned(), |holder| crate::local::told(&holder));
        let problem = Diagnostic::error("port.held", format!("port {number} is held by {holder}"));
        let problem = match by {
            FixedBy::Ready => place(problem, plan, &plan.program.spans, "ready"),
            FixedBy::Command => place(problem, plan, &plan.program.spans, "command"),
            FixedBy::Traffic => match &plan.workload {
                Some(workload) => place(problem, plan, &workload.spans, "traffic"),
                None => problem,
            },
        };
        problems.push(problem.help("end that process, or write `{port}` in [program] so that each trial gets a free port of its own"));
    }
}
