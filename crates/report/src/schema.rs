//! JSON Schemas of what the commands print with `--json`, generated from the types themselves.

use bystander_model::patch::PatchReport;
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

fn schema<T: JsonSchema>() -> Value {
    SchemaGenerator::default().into_root_schema_for::<T>().to_value()
}
