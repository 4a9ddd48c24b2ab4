//! Built-in traffic before the first launch: its file of prompts, and the variable with the key.

use std::collections::BTreeMap;
use std::ffi::OsString;

use bystander_lab::plan::Plan;
use bystander_model::diagnostic::Diagnostic;
use bystander_model::traffic::Prompt;
use bystander_traffic::check_prompts;

use super::place;

/// Says what is wrong with it; `env` is the environment of the baseline.
pub(super) fn check(plan: &Plan, env: &BTreeMap<OsString, OsString>, problems: &mut Vec<Diagnostic>) {
    let Some((workload, load)) = plan.workload.as_ref().and_then(|workload| Some((workload, workload.traffic.as_ref()?))) else { return };
    if let Prompt::File { path } = &load.prompt
        && let Err(error) = check_prompts(path, load.endpoint)
    {
        let causes = std::iter::successors(std::error::Error::source(&error), |error| error.source());
        let text = causes.fold(format!("failed to {error}"), |text, cause| format!("{text}: {cause}"));
        let problem = Diagnostic::error("workload.prompts", text)
            .help(r#"one prompt a line: plain text, or a JSON object with "prompt" or "messages""#);
        problems.push(place(problem, plan, &workload.spans, "prompt.file"));
    }
    if let Some(name) = load.api_key_env.as_ref().filter(|name| env.get(&OsString::from(name)).is_none_or(|value| value.is_empty())) {
        let problem = Diagnostic::error("workload.key", format!("the variable `{name}` with the key of the interface is not set"));
        problems.push(place(problem.help("set it in the shell, or in `program.env`"), plan, &workload.spans, "api_key_env"));
    }
}
