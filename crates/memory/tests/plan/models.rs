//! Seven models, whose right answers were worked out from the sources of both engines: three columns each, and the size of their checkpoints to the byte.

use crate::ask::{model, newest, ranks, text};

struct Right {
    model: &'static str,
    context: u64,
    bytes: [f64; 3],
    gib: [f64; 3],
    checkpoint: u64,
}

const RIGHT: [Right; 7] = [
    Right { model: "llama-3.1-70b-instruct", context: 131_072, bytes: [40_960.0; 3], gib: [5.0; 3], checkpoint: 141_107_412_992 },
    Right { model: "qwen3-235b-a22b-fp8", context: 32_768, bytes: [48_128.0; 3], gib: [1.469; 3], checkpoint: 236_445_455_360 },
    Right { model: "deepseek-v3", context: 131_072, bytes: [70_272.0; 3], gib: [8.578; 3], checkpoint: 688_574_839_360 },
    Right { model: "kimi-k2-instruct", context: 131_072, bytes: [70_272.0; 3], gib: [8.578; 3], checkpoint: 1_029_173_249_888 },
    Right {
        model: "gpt-oss-120b",
        context: 131_072,
        bytes: [4608.0, 8294.4, 4608.0],
        gib: [0.563, 1.012, 0.633],
        checkpoint: 65_248_815_744,
    },
    Right {
        model: "gemma-3-27b-it",
        context: 131_072,
        bytes: [10_240.0, 63_488.0, 10_240.0],
        gib: [1.301, 7.750, 2.247],
        checkpoint: 54_864_813_280,
    },
    Right {
        model: "qwen3-next-80b-a3b-instruct",
        context: 262_144,
        bytes: [12_288.0; 3],
        gib: [3.009, 3.000, 3.006],
        checkpoint: 162_649_725_440,
    },
];

#[test]
fn seven_models_are_right_in_all_three_columns() {
    for right in RIGHT {
        let planned = newest(&text(right.model), ranks(8, right.context));
        assert_eq!(planned.columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>(), ["architecture", "sglang", "vllm"]);
        for ((column, bytes), gib) in planned.columns.iter().zip(right.bytes).zip(right.gib) {
            let name = format!("{} by {}", right.model, column.name);
            let found = column.kv_bytes_per_token_per_rank.expect("bytes per token");
            assert!((found - bytes).abs() < 1e-6, "{name}: {found}");
            let found = column.kv_gib_full_request.expect("a full request");
            assert!((found - gib).abs() < 0.001, "{name}: {found}");
            assert!(!column.derivation.is_empty(), "{name}: no derivation");
        }
    }
}

#[test]
fn checkpoints_are_worked_out_to_the_byte() {
    for right in RIGHT {
        let (_, checkpoint) = model(&text(right.model));
        assert_eq!(checkpoint.map(|checkpoint| checkpoint.bytes()), Some(right.checkpoint), "{}", right.model);
    }
}

#[test]
fn what_does_not_grow_with_a_request_is_apart() {
    let fixed = |model: &str, context| {
        newest(&text(model), ranks(8, context))
            .columns
            .iter()
            .map(|column| column.fixed_bytes_per_request.expect("known"))
            .collect::<Vec<_>>()
    };
    // A window of 128 tokens in 18 layers; in vLLM 1,033 blocks of 16 tokens in a group of 18.
    assert_eq!(fixed("gpt-oss-120b", 131_072), [18 * 128 * 256, 0, 1033 * 18 * 4096]);
    assert_eq!(fixed("gemma-3-27b-it", 131_072)[0], 52 * 1024 * 1024);
    // 36 states; recurrent parts in 32 bits, in vLLM in 16.
    assert_eq!(fixed("qwen3-next-80b-a3b-instruct", 262_144), [9_658_368, 9_658_368, 4_939_776]);
    assert_eq!(fixed("llama-3.1-70b-instruct", 131_072), [0; 3]);
}

#[test]
fn weights_of_a_rank_are_what_the_tensors_give_and_never_less() {
    for (model, tensor, low, high) in [
        ("llama-3.1-70b-instruct", 8, 16.43, 16.6),
        ("deepseek-v3", 8, 78.0, 81.0),
        // SGLang keeps the whole embedding of Gemma 3 on every rank, 2.6 GiB.
        ("gemma-3-27b-it", 8, 6.4, 9.7),
        // Kernels pad 4-bit experts: 9.98 GiB were seen where the tensors are 7.60.
        ("gpt-oss-120b", 8, 7.6, 8.0),
    ] {
        for column in &newest(&text(model), ranks(tensor, 8192)).columns[1..] {
            let gib = column.weights_gib_per_rank.expect("weights");
            assert!(gib.value > low && gib.value < high, "{model} by {}: {gib:?}", column.name);
            assert!(gib.low <= gib.value && gib.value <= gib.high);
        }
    }
    let padded = newest(&text("gpt-oss-120b"), ranks(8, 8192)).columns[2].weights_gib_per_rank.expect("weights");
    assert!(padded.high > 9.98, "{padded:?}");
}
