//! What planners get wrong by default.

use bystander_memory::plan::gpu::Gpu;
use bystander_memory::plan::setup::{Engine, KvKind, Setup, Speculation};
use bystander_memory::version::Release;

use crate::ask::{column, model, newest, on, ranks, text};

fn bytes(model: &str, setup: Setup) -> Vec<f64> {
    newest(&text(model), setup).columns.iter().map(|column| column.kv_bytes_per_token_per_rank.expect("bytes per token")).collect()
}

#[test]
fn fp8_weights_make_no_fp8_cache() {
    assert_eq!(bytes("qwen3-235b-a22b-fp8", ranks(8, 32_768)), [48_128.0; 3]);
    assert_eq!(bytes("deepseek-v3", ranks(8, 32_768)), [70_272.0; 3]);
    assert_eq!(bytes("deepseek-v3", Setup { kv: KvKind::Fp8, ..ranks(8, 32_768) }), [35_136.0; 3]);
    // What the checkpoint declares of its cache counts.
    let declared = text("llama-8b").replace(
        "\"model_type\"",
        "\"quantization_config\": {\"quant_method\": \"modelopt\", \"kv_cache_quant_algo\": \"FP8\"}, \"model_type\"",
    );
    let found = newest(&declared, ranks(1, 8192)).columns;
    assert_eq!(found[1].kv_bytes_per_token_per_rank, Some(65_536.0));
    assert_eq!(found[2].kv_bytes_per_token_per_rank, Some(65_536.0));
}

#[test]
fn a_window_without_layer_types_is_that_of_the_class() {
    let planned = newest(&text("gemma-3-27b-it"), ranks(8, 131_072));
    assert!(planned.read.iter().any(|line| line.contains("no layer_types")), "{:?}", planned.read);
    assert_eq!(planned.columns[0].kv_bytes_per_token_per_rank, Some(10_240.0));
}

#[test]
fn a_latent_cache_is_whole_on_every_rank() {
    for tensor in [1, 2, 8, 16] {
        assert_eq!(bytes("deepseek-v3", ranks(tensor, 4096)), [70_272.0; 3], "{tensor} ranks");
    }
    assert_eq!(bytes("kimi-k2-instruct", Setup { attention_is_data_parallel: true, data: 8, ..ranks(8, 4096) })[1], 70_272.0);
}

#[test]
fn heads_are_copied_where_ranks_are_more() {
    let per_rank = |tensor| bytes("qwen3-235b-a22b-fp8", ranks(tensor, 4096))[1];
    assert_eq!((per_rank(1), per_rank(2), per_rank(4), per_rank(8), per_rank(16)), (192_512.0, 96_256.0, 48_128.0, 48_128.0, 48_128.0));
    // With DP attention the ranks of one copy share the heads.
    assert_eq!(bytes("llama-3.1-70b-instruct", Setup { attention_is_data_parallel: true, data: 8, ..ranks(8, 4096) })[1], 327_680.0);
}

#[test]
fn a_head_is_as_wide_as_it_says() {
    // 4096 / 64 is 64; the configuration says 128.
    let (shape, _) = model(&text("qwen3-235b-a22b-fp8"));
    assert_eq!(shape.head_dim, 128);
    // `null` is not there.
    let without = text("qwen3-235b-a22b-fp8").replace("\"head_dim\": 128", "\"head_dim\": null");
    assert_eq!(model(&without).0.head_dim, 64);
}

#[test]
fn draft_layers_count_only_where_they_are_used() {
    let speculation = Some(Speculation {
        is_standalone: false,
        is_textual: false,
        draft: None,
        draft_bytes: None,
        steps: Some(1),
        branches: Some(1),
        tokens: Some(2),
    });
    let with = Setup { speculation, ..ranks(8, 131_072) };
    assert_eq!(bytes("deepseek-v3", with.clone())[1..], [71_424.0, 71_424.0]);
    // Before 0.5.14 the draft came after the pool.
    let before = column(&text("deepseek-v3"), with.clone(), Engine::Sglang, Release(0, 5, 13));
    assert_eq!(before.kv_bytes_per_token_per_rank, Some(70_272.0));
    assert!(before.not_modelled.iter().any(|line| line.contains("draft")), "{:?}", before.not_modelled);
    let weights = |setup: Setup| newest(&text("deepseek-v3"), setup).columns[1].weights_gib_per_rank.expect("weights").value;
    assert!(weights(with) > weights(ranks(8, 131_072)) + 1.0, "the layer has 256 experts of its own");
}

#[test]
fn blocks_of_quantised_weights_are_not_cut() {
    let refused =
        |setup: Setup| newest(&text("qwen3-235b-a22b-fp8"), setup).columns.iter().map(|column| column.refused.clone()).collect::<Vec<_>>();
    let plain = refused(ranks(8, 4096));
    assert!(plain[0].is_none());
    for why in &plain[1..] {
        assert!(why.as_deref().is_some_and(|why| why.contains("192") && why.contains("128")), "{why:?}");
    }
    assert_eq!(refused(Setup { expert: Some(8), ..ranks(8, 4096) }), [None, None, None]);
    assert_eq!(refused(ranks(4, 4096)), [None, None, None]);
    assert!(refused(ranks(7, 4096))[1..].iter().all(Option::is_some), "64 heads and 7 ranks");
    assert!(refused(Setup { context: Some(1 << 20), ..ranks(4, 4096) })[1..].iter().all(Option::is_some), "longer than the model");
}

#[test]
fn a_card_has_what_it_has_and_not_what_it_is_sold_as() {
    let gib = |name: &str| Gpu::parse(name).expect("a card").cuda_gib;
    assert!(gib("h100").high < 80.0 && gib("h100").low > 78.0);
    assert!((gib("80GB").value - 74.505).abs() < 0.001);
    assert_eq!(gib("80GiB").value, 80.0);
    let tokens = |gpu: &str| column(&text("llama-8b"), on(gpu, 1), Engine::Sglang, Release(0, 5, 9)).tokens.expect("tokens").value;
    assert!(tokens("80GB") < tokens("h100") && tokens("h100") < tokens("80GiB"));
}

#[test]
fn windows_and_sparse_attention_follow_the_release() {
    let of =
        |release| column(&text("gpt-oss-120b"), ranks(8, 131_072), Engine::Sglang, release).kv_bytes_per_token_per_rank.expect("bytes");
    assert_eq!((of(Release(0, 5, 7)), of(Release(0, 5, 9)), of(Release(0, 5, 23))), (9216.0, 8294.4, 8294.4));
    let flat = Setup { without_window_pool: true, ..ranks(8, 131_072) };
    assert_eq!(column(&text("gpt-oss-120b"), flat, Engine::Sglang, Release(0, 5, 23)).kv_bytes_per_token_per_rank, Some(9216.0));
    // V1 of 0.8 counts windows as full attention.
    assert_eq!(column(&text("gpt-oss-120b"), ranks(8, 131_072), Engine::Vllm, Release(0, 8, 5)).kv_bytes_per_token_per_rank, Some(9216.0));
    let sparse = text("deepseek-v3")
        .replace("\"kv_lora_rank\"", "\"index_topk\": 2048, \"index_head_dim\": 128, \"index_n_heads\": 64, \"kv_lora_rank\"");
    let sparse_fp8 = |release| {
        column(&sparse, Setup { kv: KvKind::Fp8, ..ranks(8, 4096) }, Engine::Sglang, release).kv_bytes_per_token_per_rank.expect("bytes")
    };
    assert_eq!((sparse_fp8(Release(0, 5, 9)), sparse_fp8(Release(0, 5, 23))), (61.0 * 708.0, 61.0 * 788.0));
    assert_eq!(column(&sparse, ranks(8, 4096), Engine::Vllm, Release(0, 33, 0)).kv_bytes_per_token_per_rank, Some(61.0 * (1152.0 + 132.0)));
}

#[test]
fn stages_share_the_layers_and_the_largest_decides() {
    let of = |engine: Engine| column(&text("llama-3.1-70b-instruct"), Setup { pipeline: 3, ..ranks(2, 8192) }, engine, engine.newest());
    // 80 layers over three stages: 26, 27 and 27 in SGLang.
    assert_eq!(of(Engine::Sglang).kv_bytes_per_token_per_rank, Some(27.0 * 4.0 * 256.0 * 2.0));
    // And 27, 27 and 26 in vLLM; the physical minimum of a rank is that of its stage as well.
    let token = 27.0 * 4.0 * 256.0 * 2.0;
    let vllm = of(Engine::Vllm);
    assert_eq!((vllm.kv_bytes_per_token_per_rank, vllm.kv_gib_full_request), (Some(token), Some(token * 8192.0 / f64::from(1 << 30))));
    for model in ["llama-3.1-70b-instruct", "gpt-oss-120b", "gemma-3-27b-it", "qwen3-next-80b-a3b-instruct", "deepseek-v3"] {
        let gpu = bystander_memory::plan::gpu::Gpu::parse("h200").expect("a card");
        let planned = crate::ask::newest(&text(model), Setup { pipeline: 3, gpu: Some(gpu), ..ranks(8, 32_768) });
        let [least, engines @ ..] = planned.columns.as_slice() else { panic!("columns") };
        let tokens = |column: &bystander_model::memory::Column| column.tokens.map(|tokens| tokens.value);
        for engine in engines.iter().filter(|engine| engine.refused.is_none()) {
            assert!(tokens(engine) < tokens(least), "{model}: {} has {:?}, the minimum {:?}", engine.name, tokens(engine), tokens(least));
            // States are in a pool of their own in SGLang, and in vLLM in smaller numbers than those that are counted for the minimum.
            let has_states = model.starts_with("qwen3-next");
            assert!(has_states || engine.kv_gib_full_request >= least.kv_gib_full_request, "{model} {}", engine.name);
        }
    }
    let weights = of(Engine::Vllm).weights_gib_per_rank.expect("weights").value;
    assert!(weights > 131.417 / 6.0 && weights < 131.417 / 6.0 * 1.1, "{weights}");
}
