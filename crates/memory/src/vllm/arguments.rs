//! The configuration of a vLLM server: as it prints it, and as it was typed.
//!
//! What is printed is in effect; what is typed may have been overridden.

use std::sync::LazyLock;

use regex::Regex;

use super::amount::plain;

/// The arguments that bear on memory.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Arguments {
    /// Whether all that is not here has its default (`non-default args`).
    pub(crate) lists_all_changes: bool,
    pub(crate) share: Option<f64>,
    pub(crate) tensor: Option<u32>,
    pub(crate) pipeline: Option<u32>,
    pub(crate) length: Option<f64>,
    pub(crate) requests: Option<f64>,
    pub(crate) batched_tokens: Option<f64>,
    pub(crate) kv_dtype: Option<String>,
    pub(crate) kv_bytes: Option<f64>,
    pub(crate) eager: Option<bool>,
    pub(crate) speculative: bool,
    pub(crate) device: Option<String>,
    /// Layers of each pipeline stage.
    pub(crate) partition: Vec<u32>,
}

impl Arguments {
    /// Reads the arguments as printed, in any of the engine's forms (`'name': value`, `name=value`).
    pub(crate) fn printed(text: &str, lists_all_changes: bool) -> Self {
        let number = |name: &str| value(text, name).and_then(plain);
        Self {
            lists_all_changes,
            share: number("gpu_memory_utilization").filter(|share| *share > 0.0),
            tensor: number("tensor_parallel_size").map(|size| size as u32),
            pipeline: number("pipeline_parallel_size").map(|size| size as u32),
            length: number("max_model_len").or_else(|| number("max_seq_len")).filter(|length| *length > 0.0),
            requests: number("max_num_seqs"),
            batched_tokens: number("max_num_batched_tokens"),
            kv_dtype: value(text, "kv_cache_dtype").map(str::to_owned),
            kv_bytes: number("kv_cache_memory_bytes"),
            eager: value(text, "enforce_eager").map(|value| value.starts_with('T') || value.starts_with('t')),
            speculative: value(text, "speculative_config").is_some_and(|value| value != "None"),
            device: value(text, "device_config").map(str::to_owned),
            partition: Vec::new(),
        }
    }

    /// Reads a command line; `None` where a text is none.
    pub(crate) fn typed(text: &str) -> Option<Self> {
        let partition = partition(text);
        let runs = text.contains("vllm serve") || text.contains("vllm.entrypoints") || text.trim_start().starts_with("--");
        // The engine itself speaks of its flags, with a value or without.
        let speaks = text.contains("increase --gpu-memory-utilization")
            || text.contains("The current --gpu-memory")
            || text.contains("Try lowering")
            || text.contains("equivalent to");
        if !runs || speaks {
            return (!partition.is_empty()).then(|| Self { partition, ..Self::default() });
        }
        let number = |names: &[&str]| names.iter().find_map(|name| flag(text, name)).and_then(plain);
        let typed = Self {
            share: number(&["--gpu-memory-utilization", "--gpu_memory_utilization"]).filter(|share| *share > 0.0),
            tensor: number(&["--tensor-parallel-size", "-tp"]).map(|size| size as u32),
            pipeline: number(&["--pipeline-parallel-size", "-pp"]).map(|size| size as u32),
            length: number(&["--max-model-len"]),
            requests: number(&["--max-num-seqs"]),
            batched_tokens: number(&["--max-num-batched-tokens"]),
            kv_dtype: flag(text, "--kv-cache-dtype").map(str::to_owned),
            eager: text.contains("--enforce-eager").then_some(true),
            partition,
            ..Self::default()
        };
        (typed != Self::default()).then_some(typed)
    }
}

/// A value among printed arguments.
fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let plain = text.match_indices(name).find_map(|(at, _)| {
        let rest = &text[at + name.len()..];
        let quoted = text[..at].ends_with('\'') && rest.starts_with("': ");
        let bare = (at == 0 || text[..at].ends_with([' ', ',', '(', '{'])) && rest.starts_with('=');
        if quoted { rest.get(3..) } else { rest.get(1..).filter(|_| bare) }
    })?;
    let end = plain.find([',', ')', '}']).unwrap_or(plain.len());
    Some(plain[..end].trim().trim_matches('\''))
}

/// The value of a flag: the next word, or what follows an equals sign.
fn flag<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.match_indices(name).find_map(|(at, _)| {
        let starts = at == 0 || text[..at].ends_with([' ', '\t', '"', '\'']);
        let rest = text[at + name.len()..].strip_prefix(['=', ' ', '\t']).filter(|_| starts)?;
        rest.split_ascii_whitespace().next().map(|value| value.trim_matches(['"', '\'', '\\', ',']))
    })
}

/// Stages of a pipeline that are kept.
const STAGES_KEPT: usize = 256;

/// `VLLM_PP_LAYER_PARTITION=16,32`
fn partition(text: &str) -> Vec<u32> {
    static STAGES: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#"VLLM_PP_LAYER_PARTITION['"]?\s*[=:]\s*['"]?([0-9]+(?:,[0-9]+)+)"#).expect("a literal pattern"));
    STAGES
        .captures(text)
        .map_or_else(Vec::new, |found| found[1].split(',').take(STAGES_KEPT).filter_map(|layers| layers.parse().ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::Arguments;

    #[test]
    fn every_printed_form_is_read() {
        let dict = Arguments::printed(
            "{'host': '127.0.0.1', 'max_model_len': 8192, 'enforce_eager': True, 'gpu_memory_utilization': 0.3, 'max_num_seqs': 4}",
            true,
        );
        assert_eq!((dict.share, dict.length, dict.eager, dict.requests), (Some(0.3), Some(8192.0), Some(true), Some(4.0)));
        let config = Arguments::printed(
            "model='/x', speculative_config=None, max_seq_len=8192, tensor_parallel_size=2, pipeline_parallel_size=1, kv_cache_dtype=auto, device_config=cuda, enforce_eager=False",
            false,
        );
        assert_eq!(
            (config.tensor, config.length, config.eager, config.device.as_deref()),
            (Some(2), Some(8192.0), Some(false), Some("cuda"))
        );
        assert!(!config.speculative && config.share.is_none() && config.kv_dtype.as_deref() == Some("auto"));
        let space = Arguments::printed("Namespace(host=None, gpu_memory_utilization=0.95, num_gpu_blocks_override=None)", false);
        assert_eq!(space.share, Some(0.95));
    }

    #[test]
    fn a_command_is_read_and_the_engines_own_talk_is_not() {
        let typed = Arguments::typed("vllm serve Qwen/Qwen3-8B --gpu-memory-utilization 0.95 -tp 2 --max-model-len=4096 --enforce-eager")
            .expect("a command");
        assert_eq!((typed.share, typed.tensor, typed.length, typed.eager), (Some(0.95), Some(2), Some(4096.0), Some(true)));
        assert_eq!(Arguments::typed("--gpu-memory-utilization 0.4 \\").and_then(|typed| typed.share), Some(0.4));
        assert_eq!(Arguments::typed("The current --gpu-memory-utilization=0.5500 is equivalent to --gpu-memory-utilization=0.5456"), None);
        assert_eq!(Arguments::typed("Try lowering --gpu-memory-utilization in vllm serve"), None);
        assert_eq!(Arguments::typed("plain text"), None);
        assert_eq!(Arguments::typed("VLLM_PP_LAYER_PARTITION=16,32 vllm serve x").map(|typed| typed.partition), Some(vec![16, 32]));
    }
}
