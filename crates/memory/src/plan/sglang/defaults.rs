//! What SGLang takes where nothing is said: prefill step, batch of graphs, and the fraction, by release and card.

use crate::communication::items;
use crate::figures::fraction as short;
use crate::plan::activations::token_bytes;
use crate::plan::gpu::Gpu;
use crate::plan::setup::{Engine, Setup};
use crate::plan::shape::Shape;
use crate::version::Release;

/// MiB of a GiB.
const GIB: f64 = 1024.0;
/// Workspaces of attention kernels and libraries, in GiB.
const WORKSPACES: f64 = 0.75;
/// What a prefill batch may have where prefill is never cut.
const MOST_PREFILL: u64 = 16_384;

/// A default and where it comes from.
pub(super) struct Default {
    pub(super) value: f64,
    pub(super) why: String,
}

/// Tokens of one prefill step.
fn chunk(setup: &Setup, release: Release, mib: f64) -> u64 {
    if setup.is_unchunked {
        return MOST_PREFILL;
    }
    setup.chunk.unwrap_or(if release < Release(0, 4, 8) {
        if mib < 25_000.0 { 2048 } else { 8192 }
    } else if mib < 35.0 * GIB {
        if mib >= 20.0 * GIB && release >= Release(0, 5, 20) { 4096 } else { 2048 }
    } else if mib < 60.0 * GIB && release >= Release(0, 5, 3) {
        4096
    } else if mib < 160.0 * GIB {
        8192
    } else {
        16_384
    })
}

/// The largest batch with a graph.
pub(super) fn graph_batch(setup: &Setup, release: Release, mib: f64) -> u64 {
    let few = setup.tensor < 4;
    let usual = if release < Release(0, 5, 3) {
        if mib < 35.0 * GIB { if few { 8 } else { 80 } } else { 160 }
    } else if mib < 20.0 * GIB {
        8
    } else if mib < 35.0 * GIB {
        match (few, release >= Release(0, 5, 20)) {
            (true, true) => 48,
            (false, true) => 160,
            (true, false) if release <= Release(0, 5, 3) => 16,
            (true, false) => 24,
            (false, false) => 80,
        }
    } else if mib < 60.0 * GIB {
        if few { 32 } else { 160 }
    } else if mib < 160.0 * GIB {
        if few { 256 } else { 512 }
    } else {
        512
    };
    let usual = setup.requests.filter(|_| release >= Release(0, 5, 22)).map_or(usual, |requests| usual.min(requests));
    setup.graph_batch.unwrap_or(usual)
}

/// How many sizes of prefill have a graph, where sizes go up to this.
pub(super) fn prefill_sizes(most: u64) -> u64 {
    let range = |from: u64, to: u64, step: u64| (from..=to.min(most)).step_by(usize::try_from(step).unwrap_or(1)).count() as u64;
    range(4, 32, 4) + range(48, 256, 16) + range(288, 512, 32) + range(576, 1024, 64) + range(1280, 4096, 256) + range(4608, most, 512)
}

/// Whether graphs of prefill are captured.
fn has_prefill_graphs(shape: &Shape, setup: &Setup, release: Release) -> bool {
    if let Some(asked) = setup.prefill_graphs {
        return asked && release >= Release(0, 5, 6);
    }
    if release < Release(0, 5, 10) || setup.pipeline > 1 || is_multimodal(shape, setup) {
        return false;
    }
    if release < Release(0, 5, 15) {
        // Architectures that these releases name.
        let is_named = shape.model_type == "qwen3_next" || (shape.index_width().is_some() && release < Release(0, 5, 11));
        return !is_named
            && setup.speculation.is_none()
            && !setup.attention_is_data_parallel
            && !setup.deep_ep
            && setup.symmetric_gib.is_none();
    }
    !shape.states().any(|state| matches!(state, crate::plan::shape::State::Kimi { .. }))
}

/// Whether images or sounds are served.
pub(super) fn is_multimodal(shape: &Shape, setup: &Setup) -> bool {
    let off_by_default = matches!(
        shape.architecture.as_str(),
        "Gemma3ForConditionalGeneration" | "Llama4ForConditionalGeneration" | "Step3VLForConditionalGeneration"
    );
    shape.vision.is_some() && !setup.language_only && setup.multimodal.unwrap_or(!off_by_default)
}

/// The fraction that is taken where none is given.
pub(super) fn fraction(shape: &Shape, setup: &Setup, release: Release, gpu: &Gpu) -> Default {
    let mib = gpu.smi_mib;
    let (base, why) = if release < Release(0, 4, 8) { by_ranks(setup, release, mib) } else { by_reserve(shape, setup, release, mib) };
    let factor = vision_factor(shape, setup, release);
    let value = base * factor;
    let shown = if (factor - 1.0).abs() < 1e-12 {
        String::new()
    } else {
        format!("; \u{d7} {} for the vision tower = {}", short(factor), short(value))
    };
    Default { value, why: format!("default mem_fraction_static {}: {why}{shown}", short(base)) }
}

/// To 0.4.7: by the number of ranks.
fn by_ranks(setup: &Setup, release: Release, mib: f64) -> (f64, String) {
    if release >= Release(0, 4, 6) && mib > 81_920.0 {
        return ((mib - 13.0 * GIB) / mib, format!("({mib:.0} \u{2212} 13,312) / {mib:.0} MiB"));
    }
    let value = match setup.tensor {
        16.. => 0.79,
        8.. => 0.81,
        4.. => 0.85,
        2.. => 0.87,
        _ => 0.88,
    };
    (value, format!("by {} ranks", setup.tensor))
}

fn by_reserve(shape: &Shape, setup: &Setup, release: Release, mib: f64) -> (f64, String) {
    let (reserved, why) =
        if release < Release(0, 5, 3) { reserve_by_size(setup, release, mib) } else { reserve_by_use(shape, setup, release, mib) };
    let value = thousandth((mib - reserved) / mib);
    (value, format!("({mib:.0} \u{2212} {reserved} reserved) / {mib:.0} MiB; {why}"))
}

/// 0.4.8 to 0.5.2: by the size of the card.
fn reserve_by_size(setup: &Setup, release: Release, mib: f64) -> (f64, String) {
    let ranks = (setup.tensor * setup.pipeline) as f64;
    let mut reserved = if mib < 35.0 * GIB {
        (2.8 + ranks / 10.0) * GIB
    } else if mib < 90.0 * GIB {
        (9.5 + ranks / 2.0) * GIB
    } else if mib < 160.0 * GIB {
        (12.0 + ranks / 2.0) * GIB
    } else {
        32.0 * GIB
    };
    if let Some(speculation) = &setup.speculation {
        reserved += if speculation.is_standalone && release >= Release(0, 5, 2) { 6.0 * GIB } else { 2.0 * GIB };
    }
    if setup.attention_is_data_parallel {
        reserved += 4.0 * GIB;
    }
    (reserved, "by the size of the card".to_owned())
}

/// From 0.5.3: by what prefill and graphs need.
fn reserve_by_use(shape: &Shape, setup: &Setup, release: Release, mib: f64) -> (f64, String) {
    let batch = graph_batch(setup, release, mib) as f64;
    let prefill = chunk(setup, release, mib).max(2048) as f64 * 1.5;
    let graphs = if setup.without_graphs && release >= Release(0, 5, 15) { 0.0 } else { batch * 2.0 };
    let parallel = (setup.tensor * setup.pipeline) as f64 / 8.0 * GIB;
    let mut reserved = 512.0 + prefill + graphs + parallel;
    let mut why = format!("512 + {prefill} for prefill + {graphs} for graphs + {parallel} for ranks");
    let mut add = |mib: f64, what: &str| {
        reserved += mib;
        why.push_str(&format!(" + {mib} for {what}"));
    };
    if setup.attention_is_data_parallel {
        let copies = setup.data as f64;
        add(batch * copies * if batch > 300.0 { 4.5 } else { 3.0 }, "DP attention");
    }
    if has_prefill_graphs(shape, setup, release) {
        let sizes = prefill_sizes(chunk(setup, release, mib)) as f64;
        let most = chunk(setup, release, mib) as f64;
        add(
            match release {
                _ if release < Release(0, 5, 7) => most / 4.0,
                _ if release < Release(0, 5, 8) => most / 8.0,
                _ if shape.is_latent() && release >= Release(0, 5, 10) => 1536.0,
                _ => sizes * 8.0,
            },
            "prefill graphs",
        );
    }
    if mib > 60.0 * GIB && reserved < 10.0 * GIB {
        reserved = 10.0 * GIB;
        why.push_str(", at least 10,240");
    }
    if let Some(speculation) = setup.speculation.as_ref().filter(|speculation| !speculation.is_textual && release < Release(0, 5, 14)) {
        let drafts = match speculation.is_standalone {
            true => 6.0 * GIB,
            false if release >= Release(0, 5, 10) => 4.0 * GIB,
            false => 2.0 * GIB,
        };
        reserved += drafts;
        why.push_str(&format!(" + {drafts} for drafts"));
    }
    if setup.deep_ep && release >= Release(0, 5, 15) {
        reserved += 2.0 * GIB;
        why.push_str(" + 2048 for DeepEP");
    }
    (reserved, why)
}

/// Rounds as Python's `round(x, 3)`: the exact value decides, and of two equally near the even one.
fn thousandth(x: f64) -> f64 {
    format!("{x:.3}").parse().unwrap_or(x)
}

/// What a default is multiplied by for the vision tower.
fn vision_factor(shape: &Shape, setup: &Setup, release: Release) -> f64 {
    let Some((layers, hidden)) = shape.vision.filter(|_| is_multimodal(shape, setup)) else { return 1.0 };
    if release < Release(0, 4, 9) {
        return 1.0;
    }
    if release < Release(0, 4, 10) {
        return 0.9;
    }
    let complexity = (layers * hidden * hidden) as f64 / (24.0 * 1024.0 * 1024.0);
    0.95 * (1.0 - 0.1 * (complexity - 1.0)).clamp(0.8, 1.05)
}

/// What the engine makes of a fraction, given or not: multimodal models of early releases take a share off it.
pub(super) fn effective(shape: &Shape, setup: &Setup, release: Release, fraction: f64) -> f64 {
    match release {
        _ if !is_multimodal(shape, setup) || release >= Release(0, 4, 9) => fraction,
        _ if release < Release(0, 4, 6) => fraction * 0.95,
        _ => fraction * 0.9,
    }
}

/// What is needed beside weights and KV cache.
pub(super) struct Need {
    pub(super) gib: f64,
    pub(super) why: String,
}

/// What graphs, activations and the request table need. Nothing in the engine measures it before it is too late; this is an estimate with room to spare.
pub(super) fn need(shape: &Shape, setup: &Setup, release: Release, gpu: &Gpu, rows: u64, context: u64) -> Need {
    let mib = gpu.smi_mib;
    let gib = |bytes: u64| bytes as f64 / crate::plan::GIB;
    let batch = if setup.without_graphs { 0 } else { graph_batch(setup, release, mib) };
    let drafts = setup.speculation.as_ref().and_then(|speculation| speculation.tokens).unwrap_or(0);
    let table = gib(rows * (context + 4 + drafts) * 4);
    let steps = 2.0 * gib(chunk(setup, release, mib).saturating_mul(token_bytes(shape, setup)));
    let graphs = (batch * 2) as f64 / GIB + if has_prefill_graphs(shape, setup, release) { 0.5 } else { 0.0 };
    let symmetric = setup.symmetric_gib.unwrap_or(0.0);
    let late: u64 = items(Engine::Sglang, release, setup, Some(shape.hidden))
        .iter()
        .filter(|item| !item.is_before_pool && item.name != "symmetric memory")
        .map(|item| item.bytes)
        .sum();
    let mut why = format!(
        "beside weights and KV cache (estimated): activations {steps:.2} GiB, graphs {graphs:.2} GiB, workspaces {WORKSPACES} GiB, a request table of {rows} rows {table:.2} GiB"
    );
    if symmetric > 0.0 {
        why.push_str(&format!(", {symmetric:.2} GiB set aside for symmetric memory, which no default fraction counts"));
    }
    if late > 0 {
        why.push_str(&format!(", {:.2} GiB of workspaces for communication, allocated after the pool", gib(late)));
    }
    Need { gib: steps + table + graphs + WORKSPACES + symmetric + gib(late), why }
}

#[cfg(test)]
mod tests {
    use super::{fraction, prefill_sizes, thousandth};
    use crate::plan::config::Config;
    use crate::plan::gpu::Gpu;
    use crate::plan::setup::Setup;
    use crate::plan::shape::Shape;
    use crate::version::Release;

    fn llama() -> Shape {
        let text = r#"{"architectures":["LlamaForCausalLM"],"model_type":"llama","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8}"#;
        Shape::read(&Config::parse(text).expect("a config")).expect("a shape")
    }

    fn default(release: Release, tensor: u64, gpu: &str) -> f64 {
        let setup = Setup { tensor, ..Setup::default() };
        fraction(&llama(), &setup, release, &Gpu::parse(gpu).expect("a card")).value
    }

    #[test]
    fn defaults_follow_release_and_card() {
        let cases = [
            (Release(0, 4, 3), 8, "80GiB", 0.81),
            (Release(0, 4, 6), 8, "80GiB", 0.81),
            (Release(0, 4, 8), 8, "80GiB", 0.831),
            (Release(0, 5, 9), 1, "80GiB", 0.836),
            (Release(0, 5, 9), 2, "80GiB", 0.834),
            (Release(0, 5, 9), 2, "24GiB", 0.842),
            (Release(0, 5, 9), 8, "97871MiB", 0.848),
            (Release(0, 5, 23), 1, "80GiB", 0.830),
        ];
        for (release, tensor, gpu, expected) in cases {
            let found = default(release, tensor, gpu);
            assert!((found - expected).abs() < 1e-9, "{release} on {tensor} of {gpu}: {found}");
        }
    }

    #[test]
    fn prefill_graphs_are_counted_as_they_are_captured() {
        assert_eq!(prefill_sizes(8192), 58);
        assert_eq!(prefill_sizes(2048), 8 + 14 + 8 + 8 + 4);
        assert_eq!(prefill_sizes(1), 0);
    }

    #[test]
    fn rounding_is_that_of_python() {
        assert_eq!(thousandth(0.834_375), 0.834);
        assert_eq!(thousandth(0.835_937_5), 0.836);
    }
}
