//! Reported cases, with the lines of the report and the answer that was found right.

use bystander_memory::explain::Asked;
use bystander_model::memory::{CauseClass, Direction, Phase, State};

use crate::replay::{advice, class, direction, explained, holds, one};

fn arguments(more: &str) -> String {
    format!("[2026-03-01 10:00:00] server_args=ServerArgs({more})\n")
}

#[test]
fn a01_too_small_a_share_at_the_sizing_is_raised() {
    let server = one(
        "router init state: Traceback (most recent call last):\nRuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n",
    );
    assert_eq!((class(&server), direction(&server)), (CauseClass::FractionBelowWeights, Direction::Up));
    assert!(server.answer.contains("At the sizing of the KV cache"), "{}", server.answer);
}

#[test]
fn a03_the_fraction_in_effect_wins_over_what_is_believed() {
    let log = arguments("... device='npu', tp_size=1, mem_fraction_static=0.2 ...")
        + "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: self.server_args.mem_fraction_static=0.2\n";
    let server = one(&log);
    assert_eq!(class(&server), CauseClass::EffectiveConfigDiffers);
    assert!(server.answer.contains("in effect is 0.2"), "{}", server.answer);
    // Where the log shows the command, the difference is said as such.
    let commanded = format!("+ python3 -m sglang.launch_server --model-path m --mem-fraction-static 0.9\n{log}");
    let server = one(&commanded);
    assert!(
        server.contradictions.iter().any(|line| line.contains("asks for a fraction of 0.9, in effect is 0.2")),
        "{:?}",
        server.contradictions
    );
}

#[test]
fn a04_between_two_fractions_that_fail_in_opposite_ways_nothing_works() {
    let server = one(
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.   # at 0.84\ntorch.OutOfMemoryError: CUDA out of memory. ...   # at 0.85\n",
    );
    assert_eq!((class(&server), direction(&server)), (CauseClass::DraftNotAccounted, Direction::None));

    let start = |fraction: &str, rest: &str| {
        arguments(&format!("model_path='m', tp_size=1, mem_fraction_static={fraction}, speculative_algorithm='EAGLE'"))
            + "[2026-03-01 10:00:01] Load weight begin. avail mem=47.00 GB\n[2026-03-01 10:00:09] Load weight end. type=L, dtype=torch.bfloat16, avail mem=7.50 GB, mem usage=39.50 GB.\n"
            + rest
    };
    let low = start("0.84", "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n");
    let high = start(
        "0.85",
        "[2026-03-01 10:00:09] Memory pool end. avail mem=7.00 GB\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 8.00 GiB. GPU 0 has a total capacity of 47.50 GiB of which 7.00 GiB is free. Including non-PyTorch memory, this process has 40.50 GiB memory in use.\n",
    );
    let both = explained(&[("low.log", &low), ("high.log", &high)], &Asked::default());
    assert_eq!(class(&both.servers[1]), CauseClass::DraftNotAccounted);
    for server in &both.servers {
        assert_eq!((server.advice.len(), direction(server)), (1, Direction::None), "{:#?}", server.advice);
    }
    assert!(both.servers[1].answer.contains("no value between works"), "{}", both.servers[1].answer);
}

#[test]
fn a06_draft_pools_eat_what_the_target_left() {
    let lines = "full_layer_tokens=21638400, swa_layer_tokens=2163840\nMemory pool end. avail mem=65.45 GB\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 5.16 GiB.\n";
    let server = one(lines);
    assert_eq!((class(&server), direction(&server)), (CauseClass::DraftNotAccounted, Direction::Down));
    assert_eq!(advice(&server, "max_total_tokens").direction, Direction::Down);

    // Each of seven pools took (65.45 - 0.35) / 7 = 9.3 GiB; the eighth did not fit.
    let pools: String = (1..=7).map(|pool| format!("Memory pool end. avail mem={:.2} GB\n", 65.45 - 9.3 * f64::from(pool))).collect();
    let server = one(&lines.replace("torch.Out", &format!("{pools}torch.Out")));
    assert_eq!(class(&server), CauseClass::DraftNotAccounted);
    assert!(server.answer.contains("7 draft pools took 9.3 GiB each, and 0.35 GiB were left"), "{}", server.answer);
}

#[test]
fn a07_a_pool_below_what_memory_allows_names_its_cap_and_leaves_the_fraction() {
    let log = arguments("... mem_fraction_static=0.9, max_total_tokens=1572864, speculative_algorithm='EAGLE' ...")
        + "Memory pool end. avail mem=50.00 GB\n";
    let server = one(&log);
    assert_eq!(class(&server), CauseClass::PoolUndersized);
    assert_eq!(advice(&server, "max_total_tokens").direction, Direction::Up);
    assert_eq!(advice(&server, "mem_fraction_static").direction, Direction::None);
}

#[test]
fn a10_memory_in_advance_does_not_fit_beside_the_share() {
    let oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB. GPU 3 has a total capacity of 184.00 GiB of which 2.21 GiB is free. Including non-PyTorch memory, this process has 181.77 GiB memory in use.\n";
    assert_eq!(class(&one(oom)), CauseClass::HeadroomOutsideStatic, "the line alone");
    let server = one(&(arguments("tp_size=4, mem_fraction_static=0.95, enable_symm_mem=True") + oom));
    assert_eq!(class(&server), CauseClass::HeadroomOutsideStatic);
    let fraction = advice(&server, "mem_fraction_static");
    assert_eq!((fraction.direction, fraction.recommended), (Direction::Down, Some(0.93)));
    // 0.95 less the 1.79 GiB that are missing of 184.
    holds(fraction.break_even.expect("where it changes"), 0.940_27);
    assert!(server.answer.contains("leaves 9.20 GiB of 184.00") && server.answer.contains("1.79 GiB are missing"), "{}", server.answer);
    assert_eq!(advice(&server, "SGLANG_SYMM_MEM_PREALLOC_GB_SIZE").direction, Direction::Down);
}

#[test]
fn a11_the_printed_break_even_is_used_with_its_digits() {
    let server = one(
        "ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.3. Raise --mem-fraction-static above 0.320 (minimum viable = 1 - available/pre = 0.3198).\n",
    );
    assert_eq!((class(&server), direction(&server)), (CauseClass::FractionBelowWeights, Direction::Up));
    let even = server.advice[0].break_even.expect("a break-even");
    assert!((even.value - 0.3198).abs() < 1e-9 && even.low < 0.31976 && even.high > 0.31984, "{even:?}");
    assert_eq!(server.advice[0].recommended, None, "what a value would leave is not known");
}

#[test]
fn a12_advice_that_is_followed_already_is_contradicted() {
    for asked in ["0.95", "0.97"] {
        let server = one(&format!(
            "ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static={asked}. Raise --mem-fraction-static above 0.923 (minimum viable = 1 - available/pre = 0.9224).\n"
        ));
        assert_eq!((class(&server), direction(&server)), (CauseClass::EngineAdviceMisleading, Direction::None));
        assert!(server.contradictions[0].contains(asked) && server.contradictions[0].contains("0.923"), "{:?}", server.contradictions);
    }
}

#[test]
fn a13_another_process_on_the_card_is_no_matter_of_the_fraction() {
    let log = "[2026-03-01 10:00:01 TP0] Load weight begin. avail mem=132.00 GB\n[2026-03-01 10:00:09 TP0] Load weight end. type=L, avail mem=30.00 GB, mem usage=102.00 GB.\n\
               ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.7. Raise --mem-fraction-static above 0.773\n";
    let server = &explained(&[("server.log", log)], &Asked { card_gib: Some(192.0), want_gib: None }).servers[0];
    assert_eq!((class(server), direction(server)), (CauseClass::OtherProcessHoldsMemory, Direction::None));
    assert!(server.answer.contains("holds 60.00 GiB"), "{}", server.answer);
    // Without the card's size the weights are all that is known, and the check is asked for.
    let server = one(
        "ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.7. Raise --mem-fraction-static above 0.773\n",
    );
    assert_eq!(class(&server), CauseClass::FractionBelowWeights);
    assert!(server.advice[0].text.contains("another process's"), "{}", server.advice[0].text);
}

#[test]
fn a15_the_second_check_of_equal_ranks_is_no_foreign_process() {
    let log = "[TP4] Capture cuda graph end. Time elapsed: 1334.38 s\n[TP4] Init torch distributed begin.\n\
               Scheduler hit an exception: ... self.draft_worker = EAGLEWorker( ... ValueError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes.\n";
    let server = one(log);
    assert_eq!((class(&server), direction(&server)), (CauseClass::CheckTooStrict, Direction::None));
    assert!(server.advice[0].text.contains("SGL_DISABLE_TP_MEMORY_INBALANCE_CHECK"), "{}", server.advice[0].text);
    // The same words at the start are another process.
    let first = "[2026-03-01 10:00:01 TP0] Init torch distributed begin.\nValueError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes. min_per_gpu_memory=40.125, local_gpu_memory=78.5, local_gpu_memory * 0.9=70.65\n";
    let server = one(first);
    assert_eq!(class(&server), CauseClass::OtherProcessHoldsMemory);
    assert!(
        server.answer.contains("one has 40.12 GiB free where the one that stopped has 78.50 GiB")
            || server.answer.contains("one has 40.13 GiB"),
        "{}",
        server.answer
    );
}

#[test]
fn a35_room_that_is_refused_is_the_platform() {
    let server = one(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 18.00 GiB. GPU 0 has a total capacity of 95.59 GiB of which 50.12 GiB is free.\n",
    );
    assert_eq!(class(&server), CauseClass::PlatformMisreports);
    assert!(!server.answer.contains("fragment"), "{}", server.answer);
}

#[test]
fn a36_a_slice_without_a_number_is_a_fault_of_detection() {
    let server = one("ValueError: No GPU memory values found.\n");
    assert_eq!((server.engine.as_str(), class(&server)), ("sglang", CauseClass::PlatformMisreports));
}

#[test]
fn a43_graphs_that_take_more_than_they_leave_are_made_fewer() {
    let server = one("[TP0] Capture cuda graph end. Time elapsed: 19.50 s. mem usage=6.19 GB. avail mem=5.24 GB.\n");
    assert_eq!((class(&server), direction(&server)), (CauseClass::GraphCaptureHeadroom, Direction::Down));
    assert_eq!(server.advice[0].knob, "cuda_graph_max_bs");
    assert!(server.answer.contains("6.19 GiB") && server.answer.contains("5.24 GiB"), "{}", server.answer);
}

#[test]
fn a44_a_capture_that_stands_still_is_memory_and_no_network() {
    let log = "[DP0 TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=3.66 GB\n\
               Capturing batches (bs=512 avail_mem=3.10 GB):   0%| 0/52\nRegistering 0 cuda graph addresses\n";
    let server = one(log);
    assert_eq!(
        (class(&server), direction(&server), server.phase),
        (CauseClass::GraphCaptureHeadroom, Direction::Down, Phase::GraphCapture)
    );
    assert!(server.answer.contains("3.10 GiB left"), "{}", server.answer);
    // A capture that went on is none.
    let ended = format!("{log}[DP0 TP0] Capture cuda graph end. Time elapsed: 9.00 s. mem usage=1.00 GB. avail mem=2.66 GB.\n");
    assert!(one(&ended).cause.is_none(), "{:?}", one(&ended).cause);
}

#[test]
fn a52_and_a53_missing_peer_access_is_fatal_or_noise_and_never_memory() {
    let fatal = "RuntimeError: CUDART error: peer access is not supported between these two devices\n\
                 Setup Custom allreduce failed with CUDART error: peer access is not supported between these two devices. To silence this warning, specify --disable-custom-all-reduce explicitly.\n";
    let server = one(fatal);
    assert_eq!((class(&server), direction(&server)), (CauseClass::InterconnectP2p, Direction::Up));
    assert_eq!(server.advice[0].knob, "disable_custom_all_reduce");

    let noise = arguments("tp_size=2, kv_cache_dtype='fp8_e5m2', mem_fraction_static=0.717, chunked_prefill_size=4096")
        + "[2025-11-01 10:00:00 TP1] Setup Custom allreduce failed with CUDART error: peer access is not supported between these two devices.\n\
           [2025-11-01 10:00:01 TP1] Load weight begin. avail mem=23.00 GB\n[2025-11-01 10:00:09 TP1] Load weight end. type=G, dtype=torch.bfloat16, avail mem=11.00 GB, mem usage=12.00 GB.\n\
           [2025-11-01 10:00:09 TP1] Capture cuda graph begin. This can take up to several minutes. avail mem=6.00 GB\ntorch.OutOfMemoryError: CUDA out of memory.\n";
    assert_eq!(class(&one(&noise)), CauseClass::GraphCaptureHeadroom);
}

#[test]
fn a58_weights_that_lie_in_memory_twice_show_beside_the_plain_ones() {
    let lines = "Load weight end. type=Qwen3MoeForCausalLM, dtype=torch.bfloat16, avail mem=124.19 GB, mem usage=13.73 GB.\n\
                 Load weight end. type=Qwen3MoeForCausalLM, dtype=torch.bfloat16, avail mem=117.93 GB, mem usage=19.99 GB.\n";
    let servers = explained(&[("server.log", lines)], &Asked::default()).servers;
    assert_eq!(servers.len(), 2, "two loads of one model are two starts");
    assert_eq!(class(&servers[1]), CauseClass::QuantizationWeightSize);
    assert!(servers[1].answer.contains("19.99 GiB where the same model takes 13.73"), "{}", servers[1].answer);
    assert_ne!(servers[0].cause.as_ref().map(|cause| cause.class), Some(CauseClass::QuantizationWeightSize));
}

#[test]
fn a60_a_small_process_on_a_full_card_is_on_the_wrong_one() {
    let oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 94.97 GiB of which 164.81 MiB is free. Including non-PyTorch memory, this process has 3.18 GiB memory in use.\n";
    for log in [oom.to_owned(), arguments("tp_size=4, mem_fraction_static=0.9") + oom] {
        let server = one(&log);
        assert_eq!((class(&server), direction(&server)), (CauseClass::WrongDevice, Direction::None));
        assert!(server.answer.contains("3.18 GiB") && server.answer.contains("91.63 GiB are held by others"), "{}", server.answer);
    }
    // A server of one rank shares its card with nobody of its own.
    assert_eq!(class(&one(&(arguments("tp_size=1, mem_fraction_static=0.9") + oom))), CauseClass::OtherProcessHoldsMemory);
}

#[test]
fn a63_a_full_dev_shm_is_not_the_gpu() {
    let lines = "torch.distributed.DistBackendError: NCCL error in: /x/NCCLUtils.hpp:317, unhandled system error\n\
                 Error while creating shared memory segment /dev/shm/nccl-AbC (size 9637888)\nshm 64M 64M 0 100% /dev/shm\n";
    assert_eq!(class(&one(lines)), CauseClass::DockerShm);
    assert_eq!(class(&one(&(arguments("tp_size=2, mem_fraction_static=0.9") + lines))), CauseClass::DockerShm);
}

#[test]
fn a64_silence_and_a_cache_on_the_host_are_host_memory() {
    let log = arguments("tp_size=8, mem_fraction_static=0.1, enable_hierarchical_cache=True, hicache_size=15")
        + "[2026-03-01 10:00:01 TP0] Load weight begin. avail mem=78.00 GB\n";
    let server = one(&log);
    assert_eq!((class(&server), server.state), (CauseClass::HostMemory, State::Unknown));
    assert!(server.answer.contains("120 GB in all"), "{}", server.answer);
    let killed = one(&(log + "Killed\n"));
    assert_eq!((class(&killed), killed.state), (CauseClass::HostMemory, State::Failed));
}

#[test]
fn a_pool_of_next_to_nothing_is_said_to_be_of_no_use() {
    let start = arguments("tp_size=1, mem_fraction_static=0.8, context_length=None")
        + "[2026-03-01 10:00:01] Load weight begin. avail mem=79.00 GB\n[2026-03-01 10:00:09] Load weight end. type=L, avail mem=16.00 GB, mem usage=63.00 GB.\n\
           [2026-03-01 10:00:09] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 1638, K size: 0.10 GB, V size: 0.10 GB\n[2026-03-01 10:00:09] Memory pool end. avail mem=15.70 GB\n";
    let last = "[2026-03-01 10:00:09] max_total_num_tokens=1638, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=819, context_len=131072, available_gpu_mem=15.70 GB\n";
    let ready = "[2026-03-01 10:00:10] The server is fired up and ready to roll!\n";
    let server = one(&format!("{start}{last}{ready}"));
    assert_eq!((class(&server), server.state, direction(&server)), (CauseClass::PoolUndersized, State::Starved, Direction::Up));
    assert!(server.answer.contains("1,638 tokens"), "{}", server.answer);
    let server = one(&format!("{start}{ready}"));
    assert_eq!((class(&server), server.state), (CauseClass::PoolUndersized, State::Starved));
}

#[test]
fn states_that_starve_the_pool_are_the_cause() {
    let log = arguments("tp_size=1, mem_fraction_static=0.95")
        + "[2026-03-01 10:00:09] Mamba Cache is allocated. max_mamba_cache_size: 64, conv_state size: 0.20GB, ssm_state size: 9.10GB\n\
           [2026-03-01 10:00:09] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 2560, K size: 0.03 GB, V size: 0.03 GB\n\
           [2026-03-01 10:00:10] The server is fired up and ready to roll!\n";
    let server = one(&log);
    assert_eq!((class(&server), server.state), (CauseClass::HybridStateCache, State::Starved));
    assert!(server.answer.contains("9.30 GiB") && server.answer.contains("2,560 tokens"), "{}", server.answer);
    assert_eq!((server.advice[0].knob.as_str(), direction(&server)), ("max_running_requests", Direction::Down));
}

#[test]
fn the_first_error_in_time_counts_over_those_that_report_it() {
    let log = arguments("tp_size=2, mem_fraction_static=0.9")
        + "[2026-03-01 10:00:01 TP1] Load weight begin. avail mem=79.00 GB\n[2026-03-01 10:00:09 TP1] Load weight end. type=L, avail mem=64.00 GB, mem usage=15.00 GB.\n\
           [2026-03-01 10:00:09 TP1] Memory pool end. avail mem=7.80 GB\n[2026-03-01 10:00:09 TP1] Capture cuda graph begin. This can take up to several minutes. avail mem=7.80 GB\n\
           [2026-03-01 10:00:11 TP1] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/s/cuda_graph_runner.py\", line 9, in capture\n    self.run()\n\
           torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.00 GiB. GPU 1 has a total capacity of 79.50 GiB of which 0.90 GiB is free. Including non-PyTorch memory, this process has 78.60 GiB memory in use.\n\
           \n\
           During handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"/s/scheduler.py\", line 3, in run\n\
           Exception: Capture cuda graph failed: CUDA out of memory.\nPossible solutions:\n1. set --mem-fraction-static to a smaller value\n\n\
           [2026-03-01 10:00:12] Received sigquit from a child process. It usually means the child failed.\n\
           [2026-03-01 10:00:13 TP0] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/s/x.py\", line 1, in f\nRuntimeError: Connection closed by peer\n";
    let server = one(&log);
    assert_eq!(
        (class(&server), direction(&server), server.phase),
        (CauseClass::GraphCaptureHeadroom, Direction::Down, Phase::GraphCapture)
    );
    let cause = server.cause.as_ref().expect("a cause");
    assert_eq!(cause.evidence[0], "server.log:9");
    let fraction = advice(&server, "mem_fraction_static");
    // 0.9 less the 8.10 GiB that are missing of 79.00.
    assert!((fraction.break_even.expect("where it changes").value - 0.797_468).abs() < 1e-6, "{fraction:#?}");
    assert_eq!(fraction.recommended, Some(0.78));
}

#[test]
fn errors_that_a_server_survives_are_not_its_end() {
    let log = include_str!("../fixtures/sglang-0.5.9-simulated-llama8b.log");
    let traceback = "Traceback (most recent call last):\n  File \"/x.py\", line 1, in f\nurllib3.exceptions.MaxRetryError: no route\n";
    let before = log.replace("[2026-11-29 13:10:29] The server is", &format!("{traceback}[2026-11-29 13:10:29] The server is"));
    assert_ne!(before, log);
    assert_eq!(class(&one(&before)), CauseClass::Healthy);
    assert_eq!(class(&one(&format!("{log}{traceback}"))), CauseClass::Healthy, "an error of a request");
    let oom = format!(
        "{log}[2026-11-29 13:20:00] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/x.py\", line 1, in f\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.50 GiB of which 1.00 GiB is free. Including non-PyTorch memory, this process has 78.50 GiB memory in use.\n"
    );
    let server = one(&oom);
    assert_eq!((class(&server), server.state, server.phase), (CauseClass::RuntimeActivation, State::Failed, Phase::Serving));
}

#[test]
fn a_broken_way_between_gpus_is_no_memory() {
    let log = arguments("tp_size=2, mem_fraction_static=0.9")
        + "torch.distributed.DistBackendError: NCCL error in: /x/NCCLUtils.hpp:317, unhandled cuda error\n";
    assert_eq!(class(&one(&log)), CauseClass::InterconnectP2p);
}
