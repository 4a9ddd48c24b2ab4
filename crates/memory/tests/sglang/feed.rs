//! Feeds a reader with lines and hits.

use bystander_memory::sglang::SglangReader;
use bystander_model::evidence::Stream;
use bystander_model::hit::Hit;
use bystander_model::ids::{TimeNs, TrialId};
use bystander_model::reading::{ErrorSeen, LogLine, Reading};
use bystander_model::value::Value;

pub(crate) const TRIAL: TrialId = TrialId(4);

/// A reader that has seen these lines on stderr.
pub(crate) fn reader(log: &str) -> SglangReader {
    let mut reader = SglangReader::new();
    for (text, number) in log.lines().zip(1..) {
        reader.line(&LogLine { stream: Stream::Stderr, number, time: TimeNs(number), text });
    }
    reader
}

/// What a reader says of an error.
pub(crate) fn explain(reader: &SglangReader, kind: &str, message: &str) -> Reading {
    reader.finish(TRIAL, Some(&ErrorSeen { stream: Stream::Stderr, line: 99, kind, message }))
}

/// A hit of the probe `kv-budget` in a process.
pub(crate) fn hit(pid: u32, values: &[(&str, Value)]) -> Hit {
    Hit {
        probe: "kv-budget".into(),
        pid,
        tid: u64::from(pid),
        rank: Some(pid % 10),
        seq: 0,
        time_ns: 1,
        file: "model_runner_kv_cache_mixin.py".into(),
        line: 147,
        function: "ModelRunnerKVCacheMixin.profile_max_num_token".into(),
        values: values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
    }
}

/// The captured values of the story.
pub(crate) fn story(fraction: f64) -> Vec<(&'static str, Value)> {
    vec![
        ("available_gpu_memory", Value::Float(21.697)),
        ("total_gpu_memory", Value::Float(93.999)),
        ("self.mem_fraction_static", Value::Float(fraction)),
        ("rest_memory", Value::Float(21.697 - 93.999 * (1.0 - fraction))),
        ("cell_size", Value::Int(70_272)),
    ]
}
