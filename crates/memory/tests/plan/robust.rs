//! Bad and strange input: a clear word, never a panic, never a number that cannot be.

use bystander_memory::plan::checkpoint::{header_length, tensors};
use bystander_memory::plan::config::{Config, ConfigError};
use bystander_memory::plan::gpu::Gpu;
use bystander_memory::plan::launch::Launch;
use bystander_memory::plan::setup::{Engine, KvKind, Setup};
use bystander_memory::plan::shape::Shape;
use bystander_memory::plan::tensors::worked_out;
use bystander_memory::plan::{Question, plan};
use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};
use serde_json::{Value, json};

use crate::ask::text;

fn read(config: &Value) -> Result<Shape, ConfigError> {
    Shape::read(&Config::parse(&config.to_string())?)
}

#[test]
fn fields_that_are_missing_or_contradict_are_named() {
    let good = json!({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 10});
    assert!(read(&good).is_ok());
    let with = |field: &str, value: Value| {
        let mut config = good.clone();
        if value.is_null() {
            config.as_object_mut().expect("an object").remove(field)
        } else {
            config.as_object_mut().expect("an object").insert(field.to_owned(), value)
        };
        read(&config).expect_err(field).to_string()
    };
    for (field, value, expected) in [
        ("hidden_size", Value::Null, "`hidden_size`"),
        ("num_hidden_layers", Value::Null, "`num_hidden_layers`"),
        ("num_attention_heads", Value::Null, "`num_attention_heads`"),
        ("num_hidden_layers", json!(0), "num_hidden_layers"),
        ("num_hidden_layers", json!(1e18), "num_hidden_layers"),
        ("num_hidden_layers", json!(100_000), "num_hidden_layers"),
        ("num_hidden_layers", json!(1_000_000_000_000_u64), "not a number that any model has"),
        ("quantization_config", json!("fp8"), "`quantization_config` of config.json: \"fp8\" is not an object"),
        ("num_attention_heads", json!("four"), "num_attention_heads"),
        ("num_attention_heads", json!(5), "contradicts"),
        ("num_key_value_heads", json!(3), "contradicts"),
        ("num_key_value_heads", json!(8), "contradicts"),
        ("layer_types", json!(["full_attention"]), "contradicts"),
        ("layer_types", json!([1, 2]), "layer_types"),
        ("layer_types", json!(["full_attention", "telepathy"]), "not known"),
        ("layer_types", json!(["full_attention", "sliding_attention"]), "sliding_window"),
        ("hybrid_override_pattern", json!("M"), "contradicts"),
        ("num_kv_shared_layers", json!(2), "contradicts"),
        ("compress_ratios", json!([4]), "not modelled"),
        ("is_encoder_decoder", json!(true), "not modelled"),
    ] {
        let said = with(field, value);
        assert!(said.contains(expected), "{field}: {said}");
    }
    let mut nameless = good.clone();
    nameless.as_object_mut().expect("an object").retain(|field, _| field != "architectures" && field != "model_type");
    assert!(read(&nameless).expect_err("no name").to_string().contains("architectures"));
}

#[test]
fn a_kind_of_numbers_that_nobody_knows_gives_no_number() {
    let good: Value = serde_json::from_str(&text("llama-8b")).expect("JSON");
    let planned = |field: &str, value: Value, has_dtype: bool| {
        let mut config = good.clone();
        let fields = config.as_object_mut().expect("an object");
        fields.retain(|field, _| field != "torch_dtype");
        fields.insert(field.to_owned(), value);
        let config = Config::parse(&config.to_string()).expect("a config");
        let shape = Shape::read(&config).expect("a shape");
        let checkpoint = worked_out(&config, &shape).expect("no error");
        let setup = Setup { gpu: Some(Gpu::parse("h100").expect("a card")), has_dtype, ..Setup::default() };
        let engines = vec![(Engine::Sglang, Engine::Sglang.newest()), (Engine::Vllm, Engine::Vllm.newest())];
        plan(&Question { model: "m".to_owned(), shape, checkpoint, setup, engines, read: Vec::new() })
    };
    for odd in [json!("float64"), json!("int8"), json!("float8_e4m3fn"), json!("bf17"), json!(""), json!(16), json!(["bfloat16"])] {
        for field in ["torch_dtype", "dtype"] {
            for column in planned(field, odd.clone(), false).columns {
                let numbers = [column.kv_bytes_per_token_per_rank, column.kv_gib_full_request];
                assert!(numbers.iter().all(Option::is_none), "{odd}: {column:#?}");
                assert!(column.weights_gib_per_rank.is_none() && column.tokens.is_none() && column.table.is_empty(), "{odd}: {column:#?}");
                assert!(column.not_modelled[0].starts_with(&odd.to_string()), "{odd}: {:?}", column.not_modelled);
            }
            assert!(
                planned(field, odd.clone(), true).columns.iter().all(|column| column.tokens.is_some()),
                "{odd}: named on the command line"
            );
        }
    }
    for known in ["bfloat16", "float16", "float32", "torch.bfloat16", "half", "auto"] {
        let all = planned("torch_dtype", json!(known), false).columns;
        assert!(all.iter().all(|column| column.kv_bytes_per_token_per_rank == Some(131_072.0)), "{known}");
    }
    assert!(planned("torch_dtype", Value::Null, false).columns.iter().all(|column| column.tokens.is_some()));
}

#[test]
fn a_model_that_is_not_known_has_no_weights_and_no_tokens() {
    let config = json!({"architectures": ["NewForCausalLM"], "model_type": "new", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 10, "max_position_embeddings": 128});
    let config = Config::parse(&config.to_string()).expect("a config");
    let shape = Shape::read(&config).expect("a shape");
    let checkpoint = worked_out(&config, &shape).expect("no error");
    assert!(checkpoint.is_none());
    let setup = Setup { gpu: Some(Gpu::parse("h100").expect("a card")), ..Setup::default() };
    let engines = vec![(Engine::Sglang, Engine::Sglang.newest()), (Engine::Vllm, Engine::Vllm.newest())];
    let planned = plan(&Question { model: "m".to_owned(), shape, checkpoint, setup, engines, read: Vec::new() });
    for column in &planned.columns {
        assert!(column.weights_gib_per_rank.is_none() && column.tokens.is_none() && column.fraction.is_none(), "{}", column.name);
    }
    assert!(planned.read.iter().any(|line| line.contains("new")), "{:?}", planned.read);
}

/// Values that a field may hold by mistake.
fn strange() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0_u64..300).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        prop::collection::vec((0_u64..4).prop_map(Value::from), 0..70).prop_map(Value::from),
        prop::collection::vec(
            prop_oneof![Just("full_attention"), Just("sliding_attention"), Just("mamba"), Just("x")].prop_map(Value::from),
            0..70
        )
        .prop_map(Value::from),
        Just(json!({"factor": 1e300, "rope_type": "linear"})),
    ]
}

const MODELS: [&str; 8] = [
    "llama-8b",
    "llama-3.1-70b-instruct",
    "qwen3-235b-a22b-fp8",
    "deepseek-v3",
    "kimi-k2-instruct",
    "gpt-oss-120b",
    "gemma-3-27b-it",
    "qwen3-next-80b-a3b-instruct",
];

fn plan_all(config: &Config, setup: &Setup) {
    let Ok(shape) = Shape::read(config) else { return };
    let checkpoint = worked_out(config, &shape).ok().flatten();
    for release in [(0, 0, 0), (1, 0, 0)] {
        let engines =
            [Engine::Sglang, Engine::Vllm].map(|engine| (engine, if release.0 == 0 { engine.oldest() } else { engine.newest() })).to_vec();
        let question = Question {
            model: "m".to_owned(),
            shape: shape.clone(),
            checkpoint: checkpoint.clone(),
            setup: setup.clone(),
            engines,
            read: Vec::new(),
        };
        for column in plan(&question).columns {
            if let Some(tokens) = column.tokens {
                assert!(tokens.low <= tokens.high || tokens.value.is_nan(), "{tokens:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 128, failure_persistence: None, ..proptest::test_runner::Config::default() })]

    #[test]
    fn no_configuration_panics(model in 0..MODELS.len(), changes in prop::collection::vec((any::<prop::sample::Index>(), strange()), 1..5), tensor in 1_u64..20, pipeline in 1_u64..6, data in 1_u64..9, attention in any::<bool>(), whole in any::<bool>()) {
        let mut config: Value = serde_json::from_str(&text(MODELS[model])).expect("JSON");
        for (which, value) in changes {
            let inner = config.get("text_config").is_some_and(Value::is_object) && which.index(2) == 0;
            let object = if inner { config.get_mut("text_config") } else { Some(&mut config) }.and_then(Value::as_object_mut).expect("an object");
            let fields: Vec<String> = object.keys().cloned().collect();
            if let Some(field) = fields.get(which.index(fields.len().max(1))) {
                object.insert(field.clone(), value);
            }
        }
        let setup = Setup { tensor, pipeline, data, attention_is_data_parallel: attention, expert: whole.then_some(tensor), gpu: Some(Gpu::parse("h200").expect("a card")), kv: KvKind::Auto, ..Setup::default() };
        if let Ok(config) = Config::parse(&config.to_string()) {
            plan_all(&config, &setup);
        }
    }

    #[test]
    fn no_text_is_a_configuration_that_panics(text in ".{0,200}") {
        if let Ok(config) = Config::parse(&text) {
            plan_all(&config, &Setup::default());
        }
    }

    #[test]
    fn no_header_panics_or_takes_more_than_it_has(bytes in prop::collection::vec(any::<u8>(), 0..400), file in any::<u64>(), first in any::<[u8; 8]>()) {
        if let Ok(length) = header_length(first, file) {
            assert!(length <= 100_000_000 && length <= file);
        }
        if let Ok(found) = tensors(&bytes, file) {
            assert!(found.iter().map(|tensor| u128::from(tensor.bytes())).max().unwrap_or(0) <= u128::from(file));
        }
    }

    #[test]
    fn no_header_of_the_right_form_panics(dtype in "(F32|BF16|F8_E4M3|I32|F4|X)", shape in prop::collection::vec(any::<u64>(), 0..6), begin in any::<u64>(), end in any::<u64>(), file in any::<u64>()) {
        let header = json!({"a.weight": {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}}).to_string();
        let _ = tensors(header.as_bytes(), file);
    }

    #[test]
    fn no_damage_to_a_header_panics_or_takes_more_than_it_has(changes in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof!["[0-9]{1,25}", "[\\[\\]{},:\"\\\\a-zA-Z0-9.\u{e9}-]{0,6}"], 0..9_usize), 1..6), file in prop_oneof![Just(1_u64 << 40), any::<u64>()]) {
        let tensor = |at: u64| json!({"dtype": "BF16", "shape": [4, 8, at + 1], "data_offsets": [at * 64, at * 64 + 64 * (at + 1)]});
        let mut tensors_said = serde_json::Map::new();
        tensors_said.insert("__metadata__".to_owned(), json!({"format": "pt"}));
        (0..6).for_each(|at| drop(tensors_said.insert(format!("model.layers.{at}.mlp.experts.{at}.down_proj.weight"), tensor(at))));
        let mut header = Value::Object(tensors_said).to_string().into_bytes();
        for (at, text, long) in changes {
            let at = at.index(header.len() + 1);
            let end = (at + long).min(header.len());
            header.splice(at..end, text.bytes());
        }
        if let Ok(found) = tensors(&header, file) {
            assert!(found.len() <= header.len());
            assert!(found.iter().all(|tensor| tensor.bytes() <= file), "{found:?}");
        }
    }

    #[test]
    fn no_damage_to_the_text_of_a_configuration_panics(model in 0..MODELS.len(), changes in prop::collection::vec((any::<prop::sample::Index>(), "[\\[\\]{},:\"\\\\a-z0-9.e-]{0,6}", 0..9_usize), 1..6)) {
        let mut config = text(MODELS[model]);
        for (at, put, long) in changes {
            let places: Vec<usize> = config.char_indices().map(|(at, _)| at).collect();
            let at = places.get(at.index(places.len().max(1))).copied().unwrap_or(0);
            let end = config[at..].char_indices().map(|(end, _)| at + end).nth(long).unwrap_or(config.len());
            config.replace_range(at..end, &put);
        }
        if let Ok(config) = Config::parse(&config) {
            plan_all(&config, &Setup { gpu: Some(Gpu::parse("h200").expect("a card")), ..Setup::default() });
        }
    }

    #[test]
    fn no_command_panics(words in prop::collection::vec("(vllm|serve|sglang|-m|sglang.launch_server|--tp|-tp|8|--model|=|--kv-cache-dtype=fp8|--[a-z-]{0,20}|\\\\|.{0,8})", 0..12), line in ".{0,80}") {
        let _ = Launch::parse(&words);
        let _ = Launch::parse(&[format!("vllm serve {line}")]);
    }

    #[test]
    fn no_card_panics(name in ".{0,24}") {
        if let Ok(gpu) = Gpu::parse(&name) {
            assert!(gpu.smi_mib >= 1024.0 && gpu.cuda_gib.low <= gpu.cuda_gib.high);
        }
    }
}

#[test]
fn numbers_that_no_model_has_are_refused_before_anything_is_computed() {
    let good: Value = serde_json::from_str(&text("qwen3-next-80b-a3b-instruct")).expect("JSON");
    for field in [
        "hidden_size",
        "head_dim",
        "num_experts",
        "moe_intermediate_size",
        "linear_num_value_heads",
        "linear_value_head_dim",
        "linear_conv_kernel_dim",
        "vocab_size",
        "max_position_embeddings",
    ] {
        for huge in [u64::MAX, 1 << 40, 1 << 26] {
            let mut config = good.clone();
            config.as_object_mut().expect("an object").insert(field.to_owned(), huge.into());
            let planned = Config::parse(&config.to_string()).and_then(|config| Shape::read(&config).map(|_| config));
            let is_only_large = huge == 1 << 26 && matches!(field, "vocab_size" | "max_position_embeddings");
            assert_eq!(planned.is_ok(), is_only_large, "{field} = {huge}");
            if let Ok(config) = planned {
                plan_all(&config, &Setup { gpu: Some(Gpu::parse("h200").expect("a card")), ..Setup::default() });
            }
        }
    }
}
