//! JSON Schemas of what the commands print with `--json`, generated from the types themselves.

use bystander_model::archive::Manifest;
use bystander_model::memory::{Explained, Planned, WatchedMemory};
use bystander_model::patch::PatchReport;
use bystander_model::printed::{DoctorReport, DryRun, ErrorReport, RunList, TrialDiff};
use bystander_model::report::Report;
use bystander_model::watch::{HitLine, SummaryLine};
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

/// Gives the schema of `run --json` and `show --json`.
#[must_use]
pub fn run() -> Value {
    schema::<Report>()
}

/// Gives the schema of `patch status --json`, `patch revert --json` and `patch verify --json`.
#[must_use]
pub fn patch() -> Value {
    schema::<PatchReport>()
}

/// Gives the schema of a hit of `watch --json`.
#[must_use]
pub fn watch_hit() -> Value {
    schema::<HitLine>()
}

/// Gives the schema of the last line of `watch --json`.
#[must_use]
pub fn watch_summary() -> Value {
    schema::<SummaryLine>()
}

/// Gives the schema of `show --diff A B --json`.
#[must_use]
pub fn diff() -> Value {
    schema::<TrialDiff>()
}

/// Gives the schema of `show --list --json`.
#[must_use]
pub fn list() -> Value {
    schema::<RunList>()
}

/// Gives the schema of `run --dry-run --json`.
#[must_use]
pub fn dry_run() -> Value {
    schema::<DryRun>()
}

/// Gives the schema of `export --json`, and of `manifest.json` in the archive.
#[must_use]
pub fn export() -> Value {
    schema::<Manifest>()
}

/// Gives the schema of `memory explain --json`.
#[must_use]
pub fn memory_explain() -> Value {
    schema::<Explained>()
}

/// Gives the schema of `memory plan --json`.
#[must_use]
pub fn memory_plan() -> Value {
    schema::<Planned>()
}

/// Gives the schema of `doctor --json`.
#[must_use]
pub fn doctor() -> Value {
    schema::<DoctorReport>()
}

/// Gives the schema of `memory watch --json`.
#[must_use]
pub fn memory_watch() -> Value {
    schema::<WatchedMemory>()
}

/// Gives the schema of what every command prints with `--json` where it could not do what it was asked.
#[must_use]
pub fn error() -> Value {
    schema::<ErrorReport>()
}

fn schema<T: JsonSchema>() -> Value {
    SchemaGenerator::default().into_root_schema_for::<T>().to_value()
}
