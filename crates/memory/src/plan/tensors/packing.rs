//! How the linear layers of a quantised checkpoint lie in its files: which tensors each becomes, and how large they are.

use serde_json::Value;

use super::List;
use crate::plan::config::Config;
use crate::plan::dtype::Dtype;
use crate::plan::shape::Quantisation;

/// Weights of 4 bits in a number of 32.
const PER_WORD: u64 = 8;

/// How the weight of a linear layer is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    /// 8-bit floating numbers with a scale for each block of so many rows and columns.
    Blocks(u64, u64),
    /// 8-bit numbers with one scale.
    Whole(Dtype),
    /// 8-bit numbers with a scale for each output.
    Outputs(Dtype),
    /// AWQ: 4 bits, packed along the outputs; scales and zeros for so many inputs.
    Awq(u64),
    /// GPTQ: 4 bits, packed along the inputs, and the group of each input.
    Gptq(u64),
    /// `compressed-tensors`: 4 bits, packed along the inputs; scales for so many inputs.
    Words(u64),
}

impl Packing {
    /// Tells how a checkpoint is stored; `None` where that is not known here.
    pub(super) fn of(config: &Config, quantised: &Quantisation) -> Option<Self> {
        if !quantised.kept.iter().all(|kept| is_understood(kept)) {
            return None;
        }
        let found = config.get("quantization_config").or_else(|| config.get("compression_config"))?;
        let has_bits = |names: [&str; 2]| names.iter().find_map(|name| found.get(*name)).and_then(Value::as_u64) == Some(4);
        match quantised.method.as_str() {
            "fp8" => Some(quantised.block.map_or(Self::Whole(Dtype::F8), |(rows, columns)| Self::Blocks(rows, columns))),
            "awq" if has_bits(["bits", "w_bit"]) => quantised.group.map(Self::Awq),
            "gptq" if has_bits(["bits", "bits"]) && found.get("dynamic").is_none_or(Value::is_null) => quantised.group.map(Self::Gptq),
            "compressed-tensors" => compressed(found),
            _ => None,
        }
    }

    /// Adds the tensors of a linear layer.
    pub(super) fn add(self, list: &mut List<'_>, at: &str, outputs: u64, inputs: u64) {
        let mut push = |kind: &str, dtype, shape: &[u64]| list.push(format!("{at}.{kind}"), dtype, shape);
        match self {
            Self::Blocks(rows, columns) => {
                push("weight", Dtype::F8, &[outputs, inputs]);
                push("weight_scale_inv", Dtype::F32, &[outputs.div_ceil(rows), inputs.div_ceil(columns)]);
            }
            Self::Whole(dtype) => {
                push("weight", dtype, &[outputs, inputs]);
                push("weight_scale", Dtype::F32, &[1]);
            }
            Self::Outputs(dtype) => {
                push("weight", dtype, &[outputs, inputs]);
                push("weight_scale", Dtype::Half, &[outputs, 1]);
            }
            Self::Awq(group) => {
                push("qweight", Dtype::I32, &[inputs, outputs.div_ceil(PER_WORD)]);
                push("qzeros", Dtype::I32, &[inputs.div_ceil(group), outputs.div_ceil(PER_WORD)]);
                push("scales", Dtype::Half, &[inputs.div_ceil(group), outputs]);
            }
            Self::Gptq(group) => {
                push("qweight", Dtype::I32, &[inputs.div_ceil(PER_WORD), outputs]);
                push("qzeros", Dtype::I32, &[inputs.div_ceil(group), outputs.div_ceil(PER_WORD)]);
                push("scales", Dtype::Half, &[inputs.div_ceil(group), outputs]);
                push("g_idx", Dtype::I32, &[inputs]);
            }
            Self::Words(group) => {
                push("weight_packed", Dtype::I32, &[outputs, inputs.div_ceil(PER_WORD)]);
                push("weight_scale", Dtype::Half, &[outputs, inputs.div_ceil(group)]);
                push("weight_shape", Dtype::Wide, &[2]);
            }
        }
    }
}

/// Whether what is left as it is can be told: a module by its whole name, or one that no family here quantises.
fn is_understood(kept: &str) -> bool {
    let pattern = kept.trim_start_matches("re:").trim_start_matches(".*").trim_start_matches('.').trim_end_matches('$');
    let is_usual = matches!(pattern, "lm_head" | "gate" | "mlp.gate" | "embed_tokens");
    let is_tower = ["visual", "model.visual", "vision_tower", "model.vision_tower", "multi_modal_projector"]
        .iter()
        .any(|tower| pattern.starts_with(tower));
    let is_name = kept.starts_with("model.") && !kept.contains(['*', '[', '(', '\\']);
    is_usual || is_tower || is_name
}

/// One group of layers that are all stored alike, by `compressed-tensors`.
fn compressed(found: &Value) -> Option<Packing> {
    let groups = found.get("config_groups")?.as_object()?;
    let group = groups.values().next().filter(|_| groups.len() == 1)?;
    let is_linear = group.get("targets").and_then(Value::as_array).is_some_and(|targets| targets.len() == 1 && targets[0] == "Linear");
    let weights = group.get("weights").filter(|_| is_linear)?;
    let word = |name: &str| weights.get(name).and_then(Value::as_str).unwrap_or_default();
    let bits = weights.get("num_bits").and_then(Value::as_u64)?;
    let size = weights.get("group_size").and_then(Value::as_u64).filter(|size| *size > 0);
    let is_symmetric = weights.get("symmetric").and_then(Value::as_bool) == Some(true);
    match (bits, word("type"), word("strategy")) {
        (8, kind @ ("float" | "int"), strategy) => {
            let dtype = if kind == "float" { Dtype::F8 } else { Dtype::I8 };
            match strategy {
                "tensor" => Some(Packing::Whole(dtype)),
                "channel" if is_symmetric => Some(Packing::Outputs(dtype)),
                _ => None,
            }
        }
        (4, "int", "group") if is_symmetric => size.map(Packing::Words),
        _ => None,
    }
}
