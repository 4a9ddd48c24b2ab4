//! `bystander memory plan`: what is read of a model, what bad models are told, and that one screen answers first.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use bystander_testkit::World;
use serde_json::{Value, json};

use crate::world::{text, world};

const CONFIG: &str = r#"{"architectures":["LlamaForCausalLM"],"model_type":"llama","hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":32,"num_attention_heads":32,
"num_key_value_heads":8,"vocab_size":128256,"max_position_embeddings":8192,"rope_theta":500000.0,"tie_word_embeddings":false,"torch_dtype":"bfloat16"}"#;

/// A folder with a configuration.
fn model(world: &World) -> PathBuf {
    let folder = world.path("model");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("config.json"), CONFIG).expect("writes");
    folder
}

/// A safetensors file whose weights are a hole: only the header is there.
fn weights(file: &Path, tensors: &[(String, Vec<u64>)]) {
    let mut header = serde_json::Map::new();
    let mut end = 0;
    for (name, shape) in tensors {
        let bytes = shape.iter().product::<u64>() * 2;
        header.insert(name.clone(), json!({"dtype": "BF16", "shape": shape, "data_offsets": [end, end + bytes]}));
        end += bytes;
    }
    let header = Value::Object(header).to_string();
    let mut made = File::create(file).expect("a file");
    made.write_all(&(header.len() as u64).to_le_bytes()).and_then(|()| made.write_all(header.as_bytes())).expect("writes");
    made.set_len(8 + header.len() as u64 + end).expect("a hole");
}

fn plan(world: &World, model: &Path, more: &[&str]) -> Value {
    world.bystander(["memory", "plan", "--json"]).args([model]).args(more).run().exits(0).json()
}

fn refused(world: &World, model: &Path, more: &[&str]) -> String {
    let said = world.bystander(["memory", "plan", "--json"]).args([model]).args(more).run().exits(3).json();
    let error = &said["error"];
    format!("{} {}", text(&error["message"]), error["causes"])
}

#[test]
fn a_configuration_alone_gives_three_columns() {
    let world = world();
    let folder = model(&world);
    let planned = plan(&world, &folder, &["--gpu", "80GiB"]);
    let names: Vec<&str> = planned["columns"].as_array().expect("columns").iter().map(|column| text(&column["name"])).collect();
    assert_eq!(names, ["architecture", "sglang", "vllm"]);
    assert_eq!(planned["format"], 1);
    for column in planned["columns"].as_array().expect("columns") {
        assert_eq!(column["kv_bytes_per_token_per_rank"], 131_072.0);
        assert_eq!(column["kv_gib_full_request"], 1.0);
        assert!(column["tokens"]["value"].as_f64().is_some_and(|tokens| tokens > 400_000.0), "{column:#}");
    }
    assert_eq!(plan(&world, &folder.join("config.json"), &["--gpu", "80GiB"])["columns"], planned["columns"]);
}

#[test]
fn a_pasted_command_is_planned_for_its_engine() {
    let world = world();
    let folder = model(&world);
    let more = [
        "--gpu",
        "80GiB",
        "--engine-version",
        "0.5.9",
        "--",
        "python",
        "-m",
        "sglang.launch_server",
        "--model-path",
        "meta/llama",
        "--mem-fraction-static",
        "0.836",
    ];
    let planned = plan(&world, &folder, &more);
    let columns = planned["columns"].as_array().expect("columns");
    assert_eq!((columns.len(), text(&columns[1]["version"])), (2, "0.5.9"));
    assert_eq!(columns[1]["tokens"]["value"], 421_755.0);
    // The command names the model where nothing else does.
    let command = ["memory", "plan", "--json", "--", "vllm", "serve"];
    let planned = world.bystander(command).args([&folder]).args(["--tensor-parallel-size=2"]).run().exits(0).json();
    assert_eq!(planned["columns"][1]["kv_bytes_per_token_per_rank"], 65_536.0);
}

#[test]
fn of_a_terabyte_only_the_headers_are_read() {
    let world = world();
    let folder = model(&world);
    for part in 0_u64..200 {
        let tensors = [(format!("model.layers.{}.mlp.experts.{part}.up_proj.weight", part % 32), vec![1 << 16, 40_000])];
        weights(&folder.join(format!("model-{:05}-of-00200.safetensors", part + 1)), &tensors);
    }
    let planned = plan(&world, &folder, &[]);
    let gib = planned["columns"][0]["weights_gib_per_rank"]["value"].as_f64().expect("weights");
    assert!((gib - 200.0 * 65_536.0 * 40_000.0 * 2.0 / 1_073_741_824.0).abs() < 1e-6, "{gib}");
    assert!(planned["read"].to_string().contains("200 tensors"), "{}", planned["read"]);
}

#[test]
fn bad_weights_are_told_by_file_and_reason() {
    let world = world();
    let folder = model(&world);
    let file = folder.join("model.safetensors");
    let with = |bytes: &[u8]| {
        fs::write(&file, bytes).expect("writes");
        refused(&world, &folder, &[])
    };
    for (bytes, expected) in [
        (10_000_000_000_u64.to_le_bytes().to_vec(), "10000000000"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n".to_vec(), "Git LFS"),
        (vec![1, 2, 3], "ends after 3 bytes"),
        ([&20_u64.to_le_bytes()[..], b"{\"a\":"].concat(), "ends after 13 bytes"),
        ([&5_u64.to_le_bytes()[..], b"[1,2]"].concat(), "read the header"),
    ] {
        let said = with(&bytes);
        assert!(said.contains(expected) && said.contains("model.safetensors"), "{said}");
    }
    fs::remove_file(&file).expect("removes");
    weights(&folder.join("model-00001-of-00003.safetensors"), &[("lm_head.weight".to_owned(), vec![8, 8])]);
    weights(&folder.join("model-00003-of-00003.safetensors"), &[("model.norm.weight".to_owned(), vec![8])]);
    assert!(refused(&world, &folder, &[]).contains("part 2 of 3"));
    // Where names of parts do not say how many there are, the index does.
    let folder = model(&world);
    for file in fs::read_dir(&folder).expect("a folder").filter_map(Result::ok).filter(|file| file.file_name() != "config.json") {
        fs::remove_file(file.path()).expect("removes");
    }
    weights(&folder.join("model-a.safetensors"), &[("lm_head.weight".to_owned(), vec![8, 8])]);
    let index = folder.join("model.safetensors.index.json");
    fs::write(&index, r#"{"weight_map": {"lm_head.weight": "model-a.safetensors", "model.norm.weight": "model-b.safetensors"}}"#)
        .expect("writes");
    assert!(refused(&world, &folder, &[]).contains("model-b.safetensors"));
    fs::write(&index, "{").expect("writes");
    assert!(refused(&world, &folder, &[]).contains("index.json"));
    fs::write(&index, r#"{"weight_map": {"lm_head.weight": "model-a.safetensors"}}"#).expect("writes");
    // What was trained for a model is none of its weights.
    weights(&folder.join("adapter_model.safetensors"), &[("lora_A.weight".to_owned(), vec![8, 8])]);
    assert!(plan(&world, &folder, &[])["read"].to_string().contains("1 tensors"));
    // An index without any of its files was not fetched whole.
    fs::remove_file(folder.join("model-a.safetensors")).expect("removes");
    assert!(refused(&world, &folder, &[]).contains("model-a.safetensors"));
}

#[test]
fn bad_models_and_options_are_told() {
    let world = world();
    let folder = model(&world);
    let config = folder.join("config.json");
    assert!(refused(&world, Path::new("no/such/model"), &[]).contains("no/such/model"));
    for (option, value, expected) in [
        ("--gpu", "banana", "banana"),
        ("--gpu", "a100", "A100 40GB"),
        ("--kv-dtype", "int3", "int3"),
        ("--fraction", "1.5", "1.5"),
        ("--free", "lots", "lots"),
        ("--speculative", "no/draft", "no/draft"),
    ] {
        let said = refused(&world, &folder, &[option, value]);
        assert!(said.contains(expected), "{option} {value}: {said}");
    }
    assert!(refused(&world, &folder, &["--", "python", "train.py"]).contains("engine"));
    for (bytes, expected) in [
        (&b"{"[..], "JSON"),
        (b"[]", "object"),
        (b"\xff\xfe{}", "text"),
        (b"{}", "architectures"),
        (br#"{"architectures":["X"]}"#, "num_hidden_layers"),
    ] {
        fs::write(&config, bytes).expect("writes");
        let said = refused(&world, &folder, &[]);
        assert!(said.contains(expected) && said.contains("failed to"), "{said}");
    }
    fs::remove_file(&config).expect("removes");
    assert!(refused(&world, &folder, &[]).contains("config.json"));
}

#[test]
fn the_answer_stands_first() {
    let world = world();
    let folder = model(&world);
    let ran = world
        .bystander(["memory", "plan"])
        .args([&folder])
        .args(["--engine", "sglang", "--engine-version", "0.5.9", "--gpu", "80GiB"])
        .run()
        .exits(0);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(lines[1].contains("sglang 0.5.9: 421,755") && lines[1].contains("0.836"), "{}", ran.stdout);
    assert!(ran.stdout.contains("131,072") && ran.stdout.contains("rest = "), "{}", ran.stdout);
    // What every engine refuses is told by the exit code, too.
    let ran = world.bystander(["memory", "plan"]).args([&folder]).args(["--tp", "3"]).run().exits(1);
    assert!(ran.stdout.contains("does not start") && ran.stdout.contains("32 attention heads"), "{}", ran.stdout);
}

#[test]
fn a_context_may_be_written_as_vllm_writes_it_and_is_said_in_full() {
    let world = world();
    let folder = model(&world);
    for (context, tokens) in [("8K", 8192), ("8k", 8000), ("4.5k", 4500), ("8192", 8192)] {
        let planned = plan(&world, &folder, &["--context", context]);
        let read = planned["read"].as_array().expect("lines");
        let said = format!("a request of full length: {},{:03} tokens, as asked for", tokens / 1000, tokens % 1000);
        assert!(read.iter().any(|line| line == &said), "{read:?}");
        let full = planned["columns"][0]["kv_gib_full_request"].as_f64().expect("a number");
        assert!((full - f64::from(tokens) / 8192.0).abs() < 1e-9, "{context}: {full}");
    }
    for odd in ["128kb", "25.6K", "0", "-1", "many", "9g"] {
        let ran = world.bystander(["memory", "plan", "--context", odd]).args([&folder]).run().exits(3);
        assert!(ran.stderr.contains("128K (of 1,024) or 128k (of 1,000)"), "{odd}: {}", ran.stderr);
    }
}

#[test]
fn a_kind_of_numbers_that_is_not_known_is_unknown_in_words() {
    let world = world();
    let folder = model(&world);
    fs::write(folder.join("config.json"), CONFIG.replace("bfloat16", "float64")).expect("writes");
    let ran = world.bystander(["memory", "plan", "--gpu", "80GiB"]).args([&folder]).run().exits(0);
    assert!(ran.stdout.contains("tokens unknown: what one takes is not known"), "{}", ran.stdout);
    assert!(ran.stdout.contains("\"float64\" is no kind of numbers to compute in that is known here"), "{}", ran.stdout);
    let command = ["--", "vllm", "serve", "--dtype", "bfloat16"];
    let planned = plan(&world, &folder, &[&["--gpu", "80GiB"][..], &command].concat());
    assert!(planned["columns"][1]["tokens"]["value"].as_f64().is_some(), "{planned:#}");
}
