//! The keys of every table of the experiment file, in one place: what is valid where, and where a misplaced key belongs.

/// Keys of the file itself.
pub(super) const ROOT: &[&str] = &[
    "question",
    "on",
    "lease",
    "program",
    "workload",
    "factors",
    "probes",
    "edits",
    "metrics",
    "plan",
    "hypotheses",
    "evidence",
    "conditions",
    "hooks",
];
/// Keys of `[program]`.
pub(super) const PROGRAM: &[&str] = &["command", "python", "cwd", "env", "ready", "timeout", "stall", "grace", "fresh"];
/// Keys of `program.ready`.
pub(super) const READY: &[&str] = &["http", "log", "port", "file", "notify", "command", "generates", "stable"];
/// Keys of an address in `program.ready.http`.
pub(super) const READY_HTTP: &[&str] = &["url", "status", "body"];
/// Keys of `program.ready.command` where it is a table.
pub(super) const READY_COMMAND: &[&str] = &["command", "timeout"];
/// Keys of `program.ready.generates` where it is a table.
pub(super) const READY_GENERATES: &[&str] = &["url", "model", "prompt"];
/// Keys of `[workload]`.
pub(super) const WORKLOAD: &[&str] =
    &["command", "timeout", "traffic", "error_rate", "completed", "failed", "requests", "tokens", "errors"];
/// Keys of `[workload.traffic]`.
pub(super) const TRAFFIC: &[&str] = &[
    "url",
    "model",
    "endpoint",
    "concurrency",
    "rate",
    "evenly",
    "requests",
    "duration",
    "warmup",
    "prompt",
    "output_tokens",
    "ignore_eos",
    "timeout",
    "errors",
    "seed",
    "api_key_env",
    "body",
];
/// Keys of `workload.traffic.prompt`.
pub(super) const PROMPT: &[&str] = &["tokens", "random", "file", "seed"];
/// Keys of a level of a factor.
pub(super) const LEVEL: &[&str] = &["args", "env", "unset", "treatment"];
/// Keys of the `treatment` of a level.
pub(super) const TREATMENT: &[&str] = &["log", "configuration"];
/// Keys of `[conditions]`.
pub(super) const CONDITIONS: &[&str] = &["gpus", "gpu_memory", "free_memory", "load", "titles", "settle"];
/// Keys of `[[probes]]`.
pub(super) const PROBE: &[&str] = &["name", "at", "after", "capture", "if", "unsafe", "limit", "rate", "rank", "compiled", "delivery"];
/// Keys of `[[edits]]`.
pub(super) const EDIT: &[&str] =
    &["name", "file", "find", "insert_after", "insert_before", "replace", "sha256", "allow_undefined", "delivery"];
/// Keys of a metric.
pub(super) const METRIC: &[&str] =
    &["log", "workload", "file", "http", "prometheus", "from", "json", "pattern", "when", "url", "pick", "over", "scale", "margin", "unit"];
/// Keys of `log` and `workload` of a metric where they are a table.
pub(super) const METRIC_JSON: &[&str] = &["json"];
/// Keys of `[plan]`.
pub(super) const PLAN: &[&str] = &[
    "baseline",
    "instruments",
    "blocks",
    "seed",
    "expect",
    "primary",
    "margin",
    "describe",
    "stop",
    "refused",
    "rule",
    "kind",
    "cells",
    "parallel",
    "padding",
];
/// Keys of `program.fresh`.
pub(super) const FRESH: &[&str] = &["cwd", "cache"];
/// Keys of `[hooks]`.
pub(super) const HOOKS: &[&str] = &["setup", "prepare", "conclude", "cleanup", "timeout", "strict"];
/// Keys of `plan.blocks`.
pub(super) const BLOCKS: &[&str] = &["min", "max"];
/// Keys of `[[hypotheses]]`.
pub(super) const HYPOTHESIS: &[&str] = &["claim", "predicts"];
/// Keys of a prediction.
pub(super) const PREDICTION: &[&str] = &["cell", "outcome", "cause", "metric", "above", "below", "within", "factor", "level", "effect"];
/// Keys of `[[evidence]]`.
pub(super) const EVIDENCE: &[&str] = &["log", "name"];

/// Every table with where it is, the likeliest home of a misplaced key first.
const TABLES: &[(&str, &[&str])] = &[
    ("at the top of the file", ROOT),
    ("in `[program]`", PROGRAM),
    ("in `program.ready`", READY),
    ("in `[plan]`", PLAN),
    ("in `[conditions]`", CONDITIONS),
    ("in `[[probes]]`", PROBE),
    ("in `[[edits]]`", EDIT),
    ("in a metric of `[metrics]`", METRIC),
    ("in a level of a factor", LEVEL),
    ("in an address of `program.ready.http`", READY_HTTP),
    ("in the `treatment` of a level", TREATMENT),
    ("in `[hooks]`", HOOKS),
    ("in `program.fresh`", FRESH),
    ("in `plan.blocks`", BLOCKS),
    ("in `[[hypotheses]]`", HYPOTHESIS),
    ("in a prediction of `[[hypotheses]]`", PREDICTION),
    ("in `[[evidence]]`", EVIDENCE),
    ("in `[workload.traffic]`", TRAFFIC),
    ("in `workload.traffic.prompt`", PROMPT),
];

/// Says where a key belongs, where it is a key of any table.
pub(super) fn home_of(key: &str) -> Option<&'static str> {
    TABLES.iter().find(|(_, keys)| keys.contains(&key)).map(|(title, _)| *title)
}
