//! Where in a model a tensor belongs, and how ranks share it, told from its name.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// Which part of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Part {
    /// A layer by its number.
    Layer(u64),
    /// The input embedding.
    Embedding,
    /// The output embedding.
    Head,
    /// What follows the last layer.
    Last,
    /// What sees and hears.
    Vision,
    /// Layers that predict further tokens.
    Draft,
    /// What engines do not load.
    Skipped,
}

/// How ranks share a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// Every rank keeps all of it.
    Whole,
    /// By its outputs.
    Columns,
    /// By its inputs.
    Rows,
    /// By heads of keys and values, which are copied where there are fewer than ranks.
    KeyValue,
    /// By rows of the vocabulary.
    Vocabulary,
    /// As experts are shared out.
    Experts,
    /// Its name is not known: counted whole.
    Unknown,
}

/// Where a tensor belongs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) part: Part,
    pub(super) cut: Cut,
    /// Whether it is part of attention, which DP attention shares out otherwise.
    pub(super) is_attention: bool,
    /// Whether it keeps 32 bits where the model has 16.
    pub(super) keeps_kind: bool,
    /// The parameter that it becomes a part of.
    pub(super) fused: u64,
}

/// What stands in front of a tensor that sees or hears.
const VISION: [&str; 14] = [
    "vision_tower",
    "vision_model",
    "visual",
    "vision_encoder",
    "vision_embed_tokens",
    "multi_modal_projector",
    "mm_projector",
    "audio_tower",
    "audio_model",
    "image_newline",
    "patch_merger",
    "vision_language_adapter",
    "pre_mm_projector_norm",
    "embed_vision",
];

/// Tells where a tensor belongs in a model of so many layers.
pub(super) fn part(name: &str, depth: u64) -> Place {
    let mut hasher = DefaultHasher::new();
    let mut words = name.split('.').peekable();
    while matches!(words.peek(), Some(&("model" | "language_model" | "transformer" | "backbone" | "thinker" | "llm" | "decoder"))) {
        words.next();
    }
    let first = words.peek().copied().unwrap_or_default();
    if VISION.contains(&first) {
        // Kernels of every engine put these together in their own ways: counted one by one.
        name.hash(&mut hasher);
        return Place { part: Part::Vision, cut: tower_cut(name), is_attention: false, keeps_kind: false, fused: hasher.finish() };
    }
    let mut in_draft = first == "mtp";
    let mut part = match first {
        "embed_tokens" | "wte" | "word_embeddings" | "embeddings" | "embed_in" | "tok_embeddings" | "embedding" => Part::Embedding,
        "lm_head" | "output" | "embed_out" => Part::Head,
        _ => Part::Last,
    };
    let mut last = "";
    let mut before = "";
    let mut in_experts = false;
    let mut is_attention = false;
    let mut is_index = false;
    for word in words {
        let number = word.bytes().all(|byte| byte.is_ascii_digit()) && !word.is_empty();
        match word {
            "layers" | "h" | "blocks" | "block" => {}
            _ if number && matches!(last, "layers" | "h" | "blocks" | "block") && !in_experts => {
                let layer = word.parse().unwrap_or(u64::MAX);
                in_draft |= layer >= depth;
                part = Part::Layer(layer);
                layer.hash(&mut hasher);
            }
            "experts" => {
                in_experts = true;
                "experts".hash(&mut hasher);
            }
            "self_attn" | "attn" | "attention" | "linear_attn" | "self_attention" | "mamba" | "mixer" => is_attention = true,
            "indexer" => is_index = true,
            _ => {}
        }
        // The number of an expert is no part of its parameter's name.
        if !(number && last == "experts") {
            fused(word).hash(&mut hasher);
        }
        before = if number { before } else { last };
        last = word;
    }
    if in_draft {
        part = Part::Draft;
    }
    if last == "inv_freq" {
        part = Part::Skipped;
    }
    let module = if is_kind(last) { before } else { last };
    let cut = cut(part, module, last, in_experts, is_index);
    let keeps_kind = last.contains("scale") || matches!(last, "e_score_correction_bias" | "A_log" | "D" | "dt_bias");
    Place { part, cut, is_attention, keeps_kind, fused: hasher.finish() }
}

/// How ranks share a tensor of a tower: its layers and joints as those of the language model, where their names are the usual ones.
fn tower_cut(name: &str) -> Cut {
    let mut words = name.rsplit('.');
    let (kind, module) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let is_repeated = name.contains(".blocks.") || name.contains(".layers.") || name.contains("merger");
    match module {
        "q_proj" | "k_proj" | "v_proj" | "qkv" | "fc1" | "linear_fc1" | "gate_proj" | "up_proj" | "0" if is_repeated => Cut::Columns,
        "out_proj" | "o_proj" | "proj" | "fc2" | "linear_fc2" | "down_proj" | "2" if is_repeated && kind == "weight" => Cut::Rows,
        _ => Cut::Unknown,
    }
}

/// The last word of a name, where it says what of a module it is.
fn is_kind(word: &str) -> bool {
    matches!(
        word,
        "weight"
            | "bias"
            | "weight_scale_inv"
            | "weight_scale"
            | "weight_scale_2"
            | "input_scale"
            | "scale"
            | "scales"
            | "qweight"
            | "qzeros"
            | "g_idx"
            | "weight_packed"
            | "weight_shape"
            | "weight_zero_point"
            | "weight_global_scale"
            | "input_global_scale"
            | "k_scale"
            | "v_scale"
            | "kv_scale"
            | "weight_g_idx"
            | "activation_scale"
    )
}

/// The name that a word has in the parameter that it becomes a part of.
fn fused(word: &str) -> &str {
    match word {
        "q_proj" | "k_proj" | "v_proj" | "wq" | "wk" | "wv" => "qkv_proj",
        "gate_proj" | "up_proj" | "w1" | "w3" => "gate_up_proj",
        "q_a_proj" | "kv_a_proj_with_mqa" => "fused_qkv_a_proj_with_mqa",
        other => other,
    }
}

fn cut(part: Part, module: &str, last: &str, in_experts: bool, is_index: bool) -> Cut {
    if matches!(part, Part::Embedding | Part::Head) || (part == Part::Draft && matches!(module, "embed_tokens" | "head")) {
        return Cut::Vocabulary;
    }
    if is_index
        || module.contains("norm")
        || module.starts_with("ln_")
        || matches!(last, "k_scale" | "v_scale" | "kv_scale" | "input_scale")
    {
        return Cut::Whole;
    }
    if in_experts {
        return Cut::Experts;
    }
    let base = module.trim_end_matches("_blocks").trim_end_matches("_scales").trim_end_matches("_bias");
    match base {
        "q_proj" | "wq" | "q_b_proj" | "kv_b_proj" | "gate_proj" | "up_proj" | "gate_up_proj" | "w1" | "w3" | "qkv_proj"
        | "query_key_value" | "W_pack" | "Wqkv" | "c_attn" | "fc1" | "c_fc" | "dense_h_to_4h" | "in_proj" | "in_proj_qkvz"
        | "in_proj_qkv" | "in_proj_z" | "in_proj_ba" | "in_proj_a" | "in_proj_b" | "conv1d" | "A_log" | "D" | "dt" | "dt_bias"
        | "sinks" | "q_conv1d" | "k_conv1d" | "v_conv1d" | "f_b_proj" | "g_b_proj" | "b_proj" | "x_proj" | "dt_proj" => Cut::Columns,
        "k_proj" | "v_proj" | "wk" | "wv" => Cut::KeyValue,
        "o_proj" | "wo" | "down_proj" | "w2" | "dense" | "c_proj" | "out_proj" | "fc2" | "dense_4h_to_h" => {
            // The bias is added once, after ranks are summed up, and every rank has it.
            if last == "bias" { Cut::Whole } else { Cut::Rows }
        }
        "q_a_proj"
        | "kv_a_proj_with_mqa"
        | "fused_qkv_a_proj_with_mqa"
        | "gate"
        | "router"
        | "shared_expert_gate"
        | "e_score_correction"
        | "e_score_correction_bias"
        | "eh_proj"
        | "fc"
        | "f_a_proj"
        | "g_a_proj"
        | "layer_scalar"
        | "wpe" => Cut::Whole,
        _ => Cut::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::{Cut, Part, part};

    #[test]
    fn names_tell_part_and_cut() {
        let cases = [
            ("model.embed_tokens.weight", Part::Embedding, Cut::Vocabulary),
            ("lm_head.weight", Part::Head, Cut::Vocabulary),
            ("model.norm.weight", Part::Last, Cut::Whole),
            ("model.layers.3.self_attn.q_proj.weight", Part::Layer(3), Cut::Columns),
            ("model.layers.3.self_attn.k_proj.weight_scale_inv", Part::Layer(3), Cut::KeyValue),
            ("model.layers.3.self_attn.o_proj.bias", Part::Layer(3), Cut::Whole),
            ("model.layers.3.mlp.experts.17.down_proj.weight", Part::Layer(3), Cut::Experts),
            ("model.layers.3.mlp.experts.gate_up_proj_blocks", Part::Layer(3), Cut::Experts),
            ("model.layers.3.mlp.gate.weight", Part::Layer(3), Cut::Whole),
            ("model.layers.3.self_attn.q_norm.weight", Part::Layer(3), Cut::Whole),
            ("model.layers.3.self_attn.indexer.wq_b.weight", Part::Layer(3), Cut::Whole),
            ("model.layers.8.self_attn.q_proj.weight", Part::Draft, Cut::Columns),
            ("mtp.layers.0.self_attn.q_proj.weight", Part::Draft, Cut::Columns),
            ("language_model.model.layers.1.mlp.up_proj.weight", Part::Layer(1), Cut::Columns),
            ("vision_tower.vision_model.encoder.layers.0.mlp.fc1.weight", Part::Vision, Cut::Columns),
            ("model.visual.blocks.0.attn.proj.weight", Part::Vision, Cut::Rows),
            ("model.visual.patch_embed.proj.weight", Part::Vision, Cut::Unknown),
            ("model.layers.0.self_attn.rotary_emb.inv_freq", Part::Skipped, Cut::Unknown),
        ];
        for (name, expected, cut) in cases {
            let place = part(name, 8);
            assert_eq!((place.part, place.cut), (expected, cut), "{name}");
        }
    }

    #[test]
    fn what_becomes_one_parameter_has_one_key() {
        let key = |name: &str| part(name, 99).fused;
        assert_eq!(key("model.layers.1.self_attn.q_proj.weight"), key("model.layers.1.self_attn.v_proj.weight"));
        assert_eq!(key("model.layers.1.mlp.experts.0.up_proj.weight"), key("model.layers.1.mlp.experts.9.gate_proj.weight"));
        assert_ne!(key("model.layers.1.mlp.experts.0.up_proj.weight"), key("model.layers.1.mlp.up_proj.weight"));
        assert_ne!(key("model.layers.1.self_attn.q_proj.weight"), key("model.layers.2.self_attn.q_proj.weight"));
        assert_ne!(key("model.layers.1.self_attn.q_proj.weight"), key("model.layers.1.self_attn.q_proj.bias"));
    }
}
