//! The provenance of a launch.

use std::ffi::OsString;
use std::path::PathBuf;

use bystander_lab::design::nuisance::PADDING_VARIABLE;
use bystander_lab::plan::Plan;
use bystander_model::provenance::Provenance;
use bystander_supervise::command::Command;
use indexmap::IndexMap;

use super::super::LocalPlace;
use super::super::instruments::Edits;
use super::filled::{Fill, program, words};
use crate::{machine, proof};

/// What is launched, where, and on which machine; secrets masked.
pub(super) fn provenance(place: &LocalPlace, plan: &Plan, command: &Command, edits: &Edits, fill: &Fill) -> Provenance {
    let text = |value: &OsString| value.to_string_lossy().into_owned();
    // The file says which variable holds a key, whatever its name looks like.
    let key = plan.workload.as_ref().and_then(|workload| workload.traffic.as_ref()?.api_key_env.as_deref());
    let mut env: IndexMap<String, String> =
        command.env.iter().map(|(name, value)| (text(name), place.masker.variable(&text(name), &text(value)))).collect();
    if let Some(value) = key.and_then(|key| env.get_mut(key)).filter(|value| !value.starts_with("<hidden:")) {
        *value = place.masker.mask(value);
    }
    // Its length says all of it.
    if let Some(padding) = env.get_mut(PADDING_VARIABLE) {
        *padding = format!("{} bytes", padding.len());
    }
    let instrumented = edits.applied.iter().map(|edit| edit.file.clone()).chain(plan.edits.iter().map(|edit| edit.file.clone()));
    let probed = place.probes.iter().map(|probe| probe.path.clone());
    let files: IndexMap<PathBuf, String> = instrumented
        .chain(probed)
        .filter_map(|file| file.canonicalize().ok())
        .filter_map(|file| Some((file.clone(), proof::sha256(&file).ok()?)))
        .collect();
    let program = program(command);
    Provenance {
        command: place.masker.command(&words(command)),
        placeholders: fill.values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
        cwd: command.cwd.clone(),
        env,
        git: machine::git(&plan.program.cwd),
        files,
        python: program.and_then(|program| place.python_of(plan, &program, command)),
        kernel: machine::kernel(),
        gpus: machine::gpus(),
    }
}
