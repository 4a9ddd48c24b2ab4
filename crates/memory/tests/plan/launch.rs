//! Launch commands as people paste them.

use bystander_memory::plan::launch::{Launch, LaunchError};
use bystander_memory::plan::setup::{Engine, KvKind};
use bystander_memory::version::Release;

fn parse(line: &str) -> Launch {
    Launch::parse(&[line.to_owned()]).unwrap_or_else(|error| panic!("{line}: {error}"))
}

#[test]
fn sglang_in_all_its_spellings() {
    let lines = [
        "python -m sglang.launch_server --model-path /m --tp 8 --mem-fraction-static 0.88 --context-length 32768",
        "python3 -m sglang.launch_server --model /m --tp-size=8 --mem-fraction-static=0.88 --context-length=32768",
        "CUDA_VISIBLE_DEVICES=0,1 SGLANG_X=1 sglang serve /m --tensor-parallel-size 8 --mem-fraction 0.88 --context-length 32768",
        "docker run --gpus all -p 30000:30000 lmsysorg/sglang:latest python3 -m sglang.launch_server --model-path \"/m\" --tp 8 \\\n --mem-fraction-static 0.88 --context-length 32768",
    ];
    for line in lines {
        let launch = parse(line);
        assert_eq!((launch.engine, launch.model.as_deref()), (Engine::Sglang, Some("/m")), "{line}");
        assert_eq!((launch.setup.tensor, launch.setup.fraction, launch.setup.context), (8, Some(0.88), Some(32_768)), "{line}");
    }
}

#[test]
fn vllm_in_all_its_spellings() {
    let lines = [
        "vllm serve /m -tp 4 -pp 2 --gpu-memory-utilization 0.95 --max-model-len 32K --enforce-eager --kv-cache-dtype fp8",
        "python -m vllm.entrypoints.openai.api_server --model /m --tensor-parallel-size=4 --pipeline_parallel_size=2 --gpu_memory_utilization 0.95 --max-model-len 32768 --enforce-eager --kv-cache-dtype fp8_e4m3",
        "VLLM_USE_V1=1 /opt/venv/bin/vllm serve /m --tensor-parallel-size 4 --pipeline-parallel-size 2 --gpu-memory-utilization .95 --max_model_len=32768 --enforce-eager --kv-cache-dtype fp8",
    ];
    for line in lines {
        let launch = parse(line);
        assert_eq!((launch.engine, launch.model.as_deref()), (Engine::Vllm, Some("/m")), "{line}");
        let setup = &launch.setup;
        assert_eq!((setup.tensor, setup.pipeline, setup.fraction, setup.context), (4, 2, Some(0.95), Some(32_768)), "{line}");
        assert!(setup.without_graphs && setup.kv == KvKind::Fp8, "{line}");
    }
}

#[test]
fn a_context_is_read_as_the_engine_reads_it() {
    for (text, tokens) in [("128k", 128_000), ("128K", 131_072), ("1m", 1_000_000), ("25.6k", 25_600), ("131072", 131_072)] {
        assert_eq!(parse(&format!("vllm serve /m --max-model-len {text}")).setup.context, Some(tokens), "{text}");
    }
    let refused = |line: &str| Launch::parse(&[line.to_owned()]).expect_err(line).to_string();
    assert!(refused("vllm serve /m --max-model-len 25.6K").contains("128K (of 1,024) or 128k (of 1,000)"));
    assert!(refused("vllm serve /m --max-model-len 128kb").contains("128K (of 1,024) or 128k (of 1,000)"));
    assert!(refused("sglang serve /m --context-length 128k").contains("SGLang takes in digits alone"));
    assert!(Launch::parse(&["vllm serve /m --kv-cache-memory-bytes 1.5G".to_owned()]).is_err(), "powers of 1,024 have no decimals");
    assert_eq!(parse("vllm serve /m --kv-cache-memory-bytes 24G").setup.kv_bytes, Some(24 << 30));
}

#[test]
fn speculation_and_what_else_counts() {
    let launch = parse(
        "sglang serve /m --speculative-algorithm EAGLE --speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4 --enable-dp-attention --dp 8 --ep 8 --max-running-requests 256 --chunked-prefill-size -1 --enable-symm-mem",
    );
    let speculative = launch.speculative.expect("speculation");
    assert_eq!(
        (speculative.method.as_str(), speculative.steps, speculative.branches, speculative.tokens),
        ("EAGLE", Some(3), Some(1), Some(4))
    );
    let setup = launch.setup;
    assert!(setup.attention_is_data_parallel && setup.is_unchunked && setup.symmetric_gib == Some(4.0));
    assert_eq!((setup.data, setup.expert, setup.requests), (8, Some(8), Some(256)));
    let launch = parse(
        r#"vllm serve /m --enable-expert-parallel --speculative-config '{"method":"mtp","num_speculative_tokens":2}' --max-num-seqs 64 --max-num-batched-tokens 4096"#,
    );
    assert_eq!(launch.speculative.expect("speculation").method, "mtp");
    assert_eq!((launch.setup.requests, launch.setup.chunk), (Some(64), Some(4096)));
    assert!(launch.setup.expert.is_some());
}

#[test]
fn options_that_are_not_known_are_named_and_do_not_disturb() {
    let launch = parse("sglang serve /m --host 0.0.0.0 --port 30000 --frobnicate hard --tp 2 --trust-remote-code");
    assert_eq!((launch.setup.tensor, launch.unknown), (2, vec!["--frobnicate".to_owned()]));
}

#[test]
fn a_line_of_a_shell_is_read_up_to_the_end_of_the_command() {
    for line in [
        "vllm serve /m -tp 2 # --tensor-parallel-size 4",
        "vllm serve /m \\\n  -tp 2 # two cards\n",
        "vllm serve /m -tp 2 > log 2>&1 &",
        "vllm serve /m -tp 2 | tee log --tensor-parallel-size 8",
        "cd /x; export A=1; vllm serve /m -tp 2; echo --tensor-parallel-size 8",
        "cd /x && vllm serve /m -tp 2 && vllm serve /n -tp 4",
    ] {
        let launch = parse(line);
        assert_eq!((launch.setup.tensor, launch.model.as_deref()), (2, Some("/m")), "{line}");
        assert!(launch.unknown.is_empty(), "{line}: {:?}", launch.unknown);
    }
    let launch = parse(
        "docker run --env=SGLANG_PCIE_IPC_MAX_NUMEL=4096 -e SGLANG_ENABLE_PCIE_IPC_ALLREDUCE=1 lmsysorg/sglang sglang serve /m --tp 8",
    );
    assert_eq!((launch.setup.pcie_ipc, launch.setup.pcie_ipc_numbers), (true, Some(4096)));
}

#[test]
fn fields_of_the_speculative_configuration_may_stand_alone() {
    for line in [
        "vllm serve /m --speculative-config.method eagle3 --speculative-config.num_speculative_tokens 3 --speculative-config.model=/d",
        r#"vllm serve /m --speculative-config '{"method":"eagle3","num_speculative_tokens":3,"model":"/d"}'"#,
    ] {
        let launch = parse(line);
        let speculative = launch.speculative.expect("speculation");
        assert_eq!((speculative.method.as_str(), speculative.tokens, launch.draft.as_deref()), ("eagle3", Some(3), Some("/d")), "{line}");
    }
    assert!(parse("vllm serve /m -O3").unknown.is_empty());
}

#[test]
fn what_cannot_be_read_is_refused() {
    let error = |line: &str| Launch::parse(&[line.to_owned()]).expect_err(line);
    assert_eq!(error("python train.py"), LaunchError::NoEngine);
    assert!(matches!(error("vllm serve /m --tensor-parallel-size"), LaunchError::NoValue { .. }));
    for line in [
        "vllm serve /m -tp zero",
        "vllm serve /m -tp 0",
        "vllm serve /m --gpu-memory-utilization 1.5",
        "sglang serve /m --mem-fraction-static -0.5",
        "sglang serve /m --kv-cache-dtype int3",
        "vllm serve /m --max-model-len many",
    ] {
        assert!(matches!(error(line), LaunchError::Value { .. } | LaunchError::NoValue { .. }), "{line}");
    }
    assert_eq!(error("vllm serve '/m"), LaunchError::Quote);
    assert_eq!(Launch::parse(&[]).expect_err("nothing"), LaunchError::NoEngine);
}

#[test]
fn the_tag_of_an_image_names_the_release() {
    let release = |line: &str| parse(line).release;
    let sglang = "python3 -m sglang.launch_server --model-path /m";
    assert_eq!(release(&format!("docker run --gpus all lmsysorg/sglang:v0.5.9-cu129 {sglang}")), Some(Release(0, 5, 9)));
    assert_eq!(release("docker run ghcr.io/x/vllm-openai:v0.11.0 --model /m"), Some(Release(0, 11, 0)));
    for tag in ["latest", "dev", "nightly-20260101"] {
        assert_eq!(release(&format!("docker run lmsysorg/sglang:{tag} {sglang}")), None, "{tag}");
    }
    // Another image, and a model that looks like one.
    assert_eq!(release(&format!("docker run mine/serving:1.2.3 {sglang}")), None);
    assert_eq!(release("vllm serve org/vllm:0.11.0"), None);
}
