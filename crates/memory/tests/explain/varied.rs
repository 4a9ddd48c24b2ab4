//! Variations of real logs, as other versions, other shapes of models and other carriers of logs print them.

use bystander_memory::explain::Asked;
use bystander_model::memory::{CauseClass, Direction, Phase, State, TermName};

use crate::replay::{advice, class, direction, explained, holds, one, term};

const NOT_ENOUGH: &str = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.";

/// A start of 0.5.9 on a card of 79.33 GiB: arguments, process groups, weights.
fn start(labels: &[&str], fraction: &str, more: &str, class: &str, after: &[&str]) -> String {
    let ranks = labels.len();
    let mut log = format!(
        "[2026-03-01 10:00:00] server_args=ServerArgs(model_path='/m', tp_size={ranks}, mem_fraction_static={fraction}, kv_cache_dtype='auto', device='cuda', page_size=1{more})\n"
    );
    for (label, after) in labels.iter().zip(after.iter().cycle()) {
        let label = if label.is_empty() { String::new() } else { format!(" {label}") };
        let used = 78.5 - after.parse::<f64>().expect("a number");
        log += &format!(
            "[2026-03-01 10:00:01{label}] Init torch distributed ends. elapsed=1.23 s, mem usage=0.50 GB\n[2026-03-01 10:00:02{label}] Load weight begin. avail mem=78.50 GB\n\
             [2026-03-01 10:00:03{label}] Load weight end. elapsed=3.30 s, type={class}, dtype=torch.bfloat16, avail mem={after} GB, mem usage={used:.2} GB.\n"
        );
    }
    log
}

fn oom(wanted: &str, free: &str) -> String {
    format!(
        "CUDA out of memory. Tried to allocate {wanted} GiB. GPU 0 has a total capacity of 79.33 GiB of which {free} GiB is free. Including non-PyTorch memory, this process has 78.83 GiB memory in use."
    )
}

/// A traceback that ends the server.
fn traceback(label: &str, through: &str, error: &str) -> String {
    format!(
        "[2026-03-01 10:00:09{label}] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/sgl/srt/{through}\", line 1, in f\n    self.x(\n{error}\n\n"
    )
}

const POOL: &str = "[2026-03-01 10:00:04] KV Cache is allocated. #tokens: 394000, K size: 24.05 GB, V size: 24.05 GB\n[2026-03-01 10:00:05] Memory pool end. avail mem=11.60 GB\n";
const CAPTURE: &str = "[2026-03-01 10:00:05] Capture cuda graph begin. This can take up to several minutes. avail mem=11.50 GB\n";
const CAPTURED: &str = "[2026-03-01 10:00:08] Capture cuda graph end. Time elapsed: 3.00 s. mem usage=1.50 GB. avail mem=10.00 GB.\n";

#[test]
fn a_capture_that_failed_is_read_in_the_engines_own_words() {
    let error = format!(
        "Exception: Capture cuda graph failed: {}\nPossible solutions:\n1. set --mem-fraction-static to a smaller value",
        oom("2.00", "0.50")
    );
    let log = start(&[""], "0.85", "", "L", &["60.00"]) + POOL + CAPTURE + &traceback("", "model_executor/cuda_graph_runner.py", &error);
    let server = one(&log);
    assert_eq!((class(&server), direction(&server)), (CauseClass::GraphCaptureHeadroom, Direction::Down));
    assert_eq!((server.phase, server.state), (Phase::GraphCapture, State::Failed));
    // 0.85 less the 1.50 GiB that are missing of 78.50.
    holds(server.advice[0].break_even.expect("where it changes"), 0.830_891);
}

#[test]
fn the_first_requests_of_a_rank_come_after_its_graphs() {
    let last = "[2026-03-01 10:00:09] max_total_num_tokens=394000, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=2048, context_len=32768, available_gpu_mem=10.00 GB\n[2026-03-01 10:00:09] INFO:     Application startup complete.\n";
    let ranks = |text: &str| {
        text.lines().map(|line| format!("{}\n{}\n", line.replacen("] ", " TP0] ", 1), line.replacen("] ", " TP1] ", 1))).collect::<String>()
    };
    let error = traceback(" TP1", "model_executor/model_runner.py", &format!("torch.OutOfMemoryError: {}", oom("6.00", "4.00")));
    let log = start(&["TP0", "TP1"], "0.85", "", "L", &["60.00"]) + &ranks(POOL) + &ranks(CAPTURE) + &ranks(CAPTURED) + last + &error;
    let server = one(&log);
    assert_eq!((class(&server), server.phase), (CauseClass::RuntimeActivation, Phase::WarmUp), "{}", server.answer);
}

#[test]
fn errors_whose_lines_are_missing_have_the_phase_of_their_words() {
    for (error, phase) in [
        (NOT_ENOUGH, Phase::PoolSizing),
        (
            "ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.3. Raise --mem-fraction-static above 0.320",
            Phase::PoolSizing,
        ),
        ("RuntimeError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes.", Phase::ParallelInit),
        ("Exception: Capture cuda graph failed: CUDA out of memory.", Phase::GraphCapture),
        (
            "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.",
            Phase::PoolSizing,
        ),
        (
            "ValueError: Free memory on device (30.0/79.3 GiB) on startup is less than desired GPU memory utilization (0.9, 71.4 GiB).",
            Phase::ParallelInit,
        ),
        ("ValueError: max_num_seqs (1024) exceeds available Mamba cache blocks (969).", Phase::PoolSizing),
    ] {
        assert_eq!(one(&format!("{error}\n")).phase, phase, "{error}");
    }
    // The words count above what another server printed before.
    let two = format!("INFO:     Application startup complete.\n{}\n", "ValueError: No available memory for the cache blocks.");
    assert_eq!(one(&two).phase, Phase::PoolSizing);
}

#[test]
fn stages_are_sized_by_the_one_with_the_most_layers() {
    let labels = ["PP0 TP0", "PP0 TP1", "PP1 TP0", "PP1 TP1"];
    let mut log = start(&labels, "0.8", ", pp_size=2", "L", &["50.00", "50.00", "36.00", "36.00"]).replace("tp_size=4", "tp_size=2");
    for (label, half, left) in
        [("PP0 TP0", "8.96", "31.84"), ("PP0 TP1", "8.96", "31.84"), ("PP1 TP0", "10.15", "15.45"), ("PP1 TP1", "10.15", "15.45")]
    {
        log += &format!(
            "[2026-03-01 10:00:04 {label}] KV Cache is allocated. #tokens: 626061, K size: {half} GB, V size: {half} GB\n[2026-03-01 10:00:05 {label}] Memory pool end. avail mem={left} GB\n"
        );
    }
    log += "[2026-03-01 10:00:09 PP0 TP0] max_total_num_tokens=626061, chunked_prefill_size=8192, max_running_requests=2048, context_len=32768, available_gpu_mem=18.00 GB\n[2026-03-01 10:00:09] The server is fired up and ready to roll!\n";
    let server = one(&log);
    // 36.00 - 78.50 * 0.2 = 20.30 GiB at 34,816 bytes of the stage of 34 layers; the other's 30,720 would make 709,536 tokens of it.
    assert_eq!((class(&server), server.state), (CauseClass::Healthy, State::Ready), "{}", server.answer);
    assert!(server.contradictions.is_empty(), "{:?}", server.contradictions);
    assert_eq!(
        server.formula.as_ref().and_then(|formula| formula.tokens).map(|tokens| (tokens.low, tokens.high)),
        Some((626_061.0, 626_061.0))
    );
}

#[test]
fn a_draft_that_is_counted_is_part_of_the_bytes_per_token() {
    // 36.00 - 78.50 * 0.1 = 28.15 GiB at 131,072 + 4,096 bytes.
    let log = start(&[""], "0.9", ", speculative_algorithm='EAGLE', cuda_graph_config=1", "L", &["40.00"])
        .replace("elapsed=1.23 s, ", "")
        .replace("type=L, dtype=torch.bfloat16", "type=L, quant=None")
        .replace("Init torch distributed ends. mem", "Memory baseline taken. mem")
        + "[2026-03-01 10:00:03] Load weight begin. avail mem=40.00 GB\n[2026-03-01 10:00:03] Load weight end. elapsed=0.30 s, type=D, quant=None, avail mem=36.00 GB, mem usage=4.00 GB.\n\
           [2026-03-01 10:00:04] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 223616, K size: 13.65 GB, V size: 13.65 GB\n\
           [2026-03-01 10:00:04] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 223616, K size: 0.43 GB, V size: 0.43 GB\n\
           [2026-03-01 10:00:05] Memory pool end. avail mem=7.60 GB\n\
           [2026-03-01 10:00:05] Capture target decode CUDA graph begin. backend=full, num_tokens_per_req=4, bs=[1, 2], avail mem=7.50 GB\n";
    let failed = one(&(log + &traceback("", "speculative/eagle_worker.py", &format!("torch.OutOfMemoryError: {}", oom("2.00", "0.50")))));
    assert!(failed.contradictions.is_empty(), "{:?}", failed.contradictions);
    let formula = failed.formula.as_ref().expect("a formula");
    assert_eq!(formula.tokens.map(|tokens| (tokens.low, tokens.high)), Some((223_616.0, 223_616.0)));
    // Its weights and its cache were counted before the pools, so that what does not fit are graphs.
    assert_eq!((class(&failed), direction(&failed)), (CauseClass::GraphCaptureHeadroom, Direction::Down));
    assert_eq!(term(&failed.ranks[0], TermName::Draft).as_deref(), Some("4.00"));
}

#[test]
fn a_pool_that_is_capped_is_of_use_while_a_request_fits() {
    let log = |context: &str| {
        start(&[""], "0.85", ", max_total_tokens=100000", "L", &["60.00"])
            + "[2026-03-01 10:00:04] KV Cache is allocated. #tokens: 100000, K size: 6.10 GB, V size: 6.10 GB\n[2026-03-01 10:00:05] Memory pool end. avail mem=47.30 GB\n"
            + &format!(
                "[2026-03-01 10:00:09] max_total_num_tokens=100000, chunked_prefill_size=8192, max_running_requests=2048, context_len={context}, available_gpu_mem=47.00 GB\n[2026-03-01 10:00:09] The server is fired up and ready to roll!\n"
            )
    };
    let (ready, starved) = (one(&log("32768")), one(&log("131072")));
    assert_eq!((class(&ready), ready.state), (CauseClass::PoolUndersized, State::Ready));
    assert_eq!((class(&starved), starved.state), (CauseClass::PoolUndersized, State::Starved));
    assert!(starved.answer.contains("one request of full length does not fit"), "{}", starved.answer);
}

#[test]
fn a_log_that_ends_before_the_error_is_told_by_its_numbers() {
    let log = start(&[""], "0.55", "", "KimiK25ForConditionalGeneration", &["6.20"]);
    let server = one(&log);
    assert_eq!((class(&server), server.state, direction(&server)), (CauseClass::FractionBelowWeights, State::Unknown, Direction::None));
    // Cut within the line of the weights, nothing is known of them, and no release is told from what is missing there.
    let cut = one(&log[..log.find("avail mem=6.20").expect("the line") - 10]);
    assert!(cut.cause.is_none() && cut.formula.is_none(), "{cut:#?}");
    assert_eq!(cut.version.low.as_deref(), Some("0.5.9"));
}

#[test]
fn nccl_without_memory_is_memory() {
    let error = traceback(
        " TP0",
        "distributed/parallel_state.py",
        "torch.distributed.DistBackendError: NCCL error in: ../NCCLUtils.hpp:317, unhandled cuda error, NCCL version 2.26.2\nncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\nFailed to CUDA calloc async 608 bytes",
    );
    let pools: String = ["TP0", "TP1"].iter().map(|label| POOL.replace("] ", &format!(" {label}] "))).collect();
    let server = one(&(start(&["TP0", "TP1"], "0.85", "", "L", &["60.00"]) + &pools + &error));
    assert_eq!((class(&server), direction(&server)), (CauseClass::HeadroomOutsideStatic, Direction::Down), "{}", server.answer);
    let plain = error.replace("Failed to CUDA calloc async 608 bytes", "remote process exited");
    let server = one(&(start(&["TP0", "TP1"], "0.85", "", "L", &["60.00"]) + &pools + &plain));
    assert_eq!(class(&server), CauseClass::InterconnectP2p);
}

#[test]
fn states_that_have_no_room_want_more_of_it() {
    for error in [
        "RuntimeError: Not enough GPU memory for hybrid (mamba/linear-attention) state cache. Computed max_mamba_cache_size=0",
        "RuntimeError: Hybrid (mamba/linear-attention) state cache is too small to serve any requests: max_mamba_cache_size=2",
    ] {
        let server =
            one(&(start(&[""], "0.94", "", "Qwen3NextForCausalLM", &["6.00"])
                + &traceback("", "mem_cache/kv_cache_configurator.py", error)));
        assert_eq!((class(&server), direction(&server)), (CauseClass::HybridStateCache, Direction::Up));
        assert_eq!(advice(&server, "mamba_full_memory_ratio").direction, Direction::Up);
    }
}

#[test]
fn labels_of_launchers_come_off() {
    let log = start(&["TP0", "TP1"], "0.55", "", "L", &["6.20"]) + &traceback(" TP0", "a.py", NOT_ENOUGH);
    for label in ["0: ", " 3: ", "12: ", "[default0]:", "[1,0]<stderr>:", "[1,0]<stdout>: "] {
        let carried: String = log.lines().map(|line| format!("{label}{line}\n")).collect();
        let server = one(&carried);
        assert_eq!((class(&server), server.state), (CauseClass::FractionBelowWeights, State::Failed), "{label:?}");
    }
}

#[test]
fn parts_of_a_card_and_shared_memory_are_named() {
    let log = start(&[""], "0.55", "", "L", &["6.20"]) + &traceback("", "a.py", NOT_ENOUGH);
    for (line, word) in [
        ("  MIG 3g.40gb     Device  0: (UUID: MIG-41b36325-aaaa-5cb1-9a3b-1234567890ab)", "slice"),
        ("CUDA_VISIBLE_DEVICES=MIG-41b36325-aaaa-5cb1-9a3b-1234567890ab", "slice"),
        ("GPU 0: NVIDIA A40-48Q (UUID: GPU-1)", "slice"),
        ("| 0  GRID A100-20C    On |", "slice"),
        ("GPU 0: NVIDIA RTX6000-Ada-48Q (UUID: GPU-1)", "slice"),
        ("WARNING: Using 'pin_memory=False' as WSL is detected. This may slow down the performance.", "WSL2"),
        ("Linux version 5.15.167.4-microsoft-standard-WSL2 (root@1)", "WSL2"),
        ("GPU 0: NVIDIA GB10 (UUID: GPU-1)", "unified"),
        ("GPU 0: NVIDIA Jetson AGX Orin", "unified"),
    ] {
        let server = one(&format!("{line}\n{log}"));
        assert!(server.not_modelled.iter().any(|text| text.contains(word)), "{line}: {:?}", server.not_modelled);
    }
    for line in [
        "|                               |                      |               MIG M. |",
        "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)",
        "GPU 0: NVIDIA RTX PRO 6000 Blackwell (UUID: GPU-1)",
        "|  No MIG devices found  |",
    ] {
        let server = one(&format!("{line}\n{log}"));
        assert!(!server.not_modelled.iter().any(|text| text.contains("The log names")), "{line}: {:?}", server.not_modelled);
    }
}

#[test]
fn room_that_is_refused_on_windows_is_shown_to_be_the_platforms() {
    let log = format!("Linux version 5.15.167.4-microsoft-standard-WSL2 (root@1)\ntorch.OutOfMemoryError: {}\n", oom("18.00", "50.12"));
    let server = one(&log);
    assert_eq!((class(&server), direction(&server)), (CauseClass::PlatformMisreports, Direction::Down));
    assert!(server.advice[0].text.contains("dxgkio_make_resident"), "{:?}", server.advice);
}

#[test]
fn ranks_that_stand_still_between_gpus_are_told_from_memory() {
    let begin = "(APIServer pid=1) INFO 11-29 13:20:15 [utils.py:1] vLLM API server version 0.28.1\n(EngineCore pid=2) INFO 11-29 13:20:15 [core.py:1] Initializing a V1 LLM engine (v0.28.1) with config: model='m', tensor_parallel_size=2\n(Worker_TP0 pid=3) INFO 11-29 13:20:16 [pynccl.py:1] vLLM is using nccl==2.29.7\nnode:3:3 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC\n";
    let sized = "(Worker_TP0 pid=3) INFO 11-29 13:20:18 [gpu_model_runner.py:1] Model loading took 14.96 GiB memory and 2.1 seconds\n(Worker_TP0 pid=3) INFO 11-29 13:20:19 [gpu_worker.py:1] Available KV cache memory: 56.80 GiB\n(EngineCore pid=2) INFO 11-29 13:20:32 [kv_cache_utils.py:1] GPU KV cache size: 465,305 tokens, Maximum concurrency for 8,192 tokens per request: 56.80x\n";
    let tunes = "(Worker_TP0 pid=3) INFO 11-29 13:20:33 [autotuner.py:256] flashinfer.jit: [Autotuner]: Autotuning process starts ...\n";
    for log in [begin.to_owned(), format!("{begin}{sized}{tunes}")] {
        let server = one(&log);
        assert_eq!(class(&server), CauseClass::InterconnectP2p);
        assert!(
            server.advice[0].text.contains("--disable-custom-all-reduce") && server.advice[0].text.contains("ACS"),
            "{:?}",
            server.advice
        );
    }
    for log in [format!("{begin}{sized}"), format!("{begin}{sized}{tunes}{}", tunes.replace("starts", "ends"))] {
        assert!(one(&log).cause.is_none(), "{:?}", one(&log).cause);
    }
    let timed = format!(
        "{begin}[rank1]:[E1129 13:30:00.1 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5, OpType=ALLREDUCE)\n"
    );
    assert_eq!(class(&one(&timed)), CauseClass::InterconnectP2p);
}

#[test]
fn what_all_use_together_is_nobodys() {
    let first = "free_gpu_memory: 20509491200 total_gpu_memory: 23609475072\npeak_memory: 3099983872\ncache_block_size: 360448\nnum_gpu_blocks: 4499\n";
    let second = "free_gpu_memory: 16070606848 total_gpu_memory: 23609475072\npeak_memory: 7538868224\ncache_block_size: 360448\nnum_gpu_blocks: -7816\n";
    let both = explained(&[("first.log", first), ("second.log", second)], &Asked::default());
    for server in &both.servers {
        assert_eq!(term(&server.ranks[0], TermName::OtherProcess), None, "the own model is part of it");
    }
    assert_eq!(class(&both.servers[1]), CauseClass::OtherProcessHoldsMemory);
    assert!(both.servers[1].answer.contains("7.02 GiB are used by all together"), "{}", both.servers[1].answer);
    // 7,538,868,224 - 3,099,983,872 bytes are those of the first model.
    let apart = both.compared.iter().find(|term| term.name == "unexplained").expect("what differs");
    assert_eq!(apart.difference_gib.map(|gib| format!("{:.2}", gib.value)).as_deref(), Some("4.13"));
}

#[test]
fn numbers_of_two_servers_that_write_into_one_log_are_nobodys() {
    let first = start(&["TP0", "TP1"], "0.55", "", "K", &["6.20"]) + &traceback(" TP0", "a.py", NOT_ENOUGH);
    let second = start(&["TP0", "TP1"], "0.85", "", "L", &["60.00"]);
    let (mut lines, mut others) = (first.lines(), second.lines());
    let mut mixed = String::new();
    loop {
        let pair: Vec<&str> = lines.next().into_iter().chain(others.next()).collect();
        if pair.is_empty() {
            break;
        }
        pair.iter().for_each(|line| mixed += &format!("{line}\n"));
    }
    let explained = explained(&[("mixed.log", &mixed)], &Asked::default());
    for server in &explained.servers {
        assert!(server.ranks.is_empty() && server.formula.is_none(), "{server:#?}");
        assert!(server.advice.iter().all(|advice| advice.break_even.is_none() && advice.recommended.is_none()), "{:#?}", server.advice);
        assert!(!server.answer.contains("GiB") && !server.answer.contains("up to there nothing failed"), "{}", server.answer);
    }
    assert!(
        explained.servers.iter().any(|server| server.cause.as_ref().is_some_and(|cause| cause.class == CauseClass::FractionBelowWeights))
    );
}

#[test]
fn adapters_are_weights_to_the_sizing() {
    // 28.00 - 78.50 * 0.1 = 20.15 GiB at 131,072 bytes.
    let log = start(&[""], "0.9", "", "L", &["30.00"])
        + "[2026-03-01 10:00:03] LoRA adapter loading starts: a. avail mem=30.00 GB\n[2026-03-01 10:00:03] LoRA adapter loading completes: a. avail mem=28.00 GB\n\
           [2026-03-01 10:00:04] KV Cache is allocated. #tokens: 165068, K size: 10.08 GB, V size: 10.08 GB\n[2026-03-01 10:00:05] Memory pool end. avail mem=7.60 GB\n";
    let server = one(&log);
    assert!(server.contradictions.is_empty(), "{:?}", server.contradictions);
    holds(server.formula.as_ref().expect("a formula").rest_gib, 20.15);
}

#[test]
fn a_value_that_works_is_found_where_the_weights_leave_little() {
    // 66.51 of 78.50 GiB: between 0.8473 and what leaves half of what the engine keeps back, there is room.
    let log = start(&[""], "0.8", "", "KimiK25ForConditionalGeneration", &["11.99"]) + &traceback("", "a.py", NOT_ENOUGH);
    let fraction = one(&log).advice.remove(0);
    assert_eq!((fraction.direction, fraction.recommended), (Direction::Up, Some(0.88)), "{}", fraction.text);
    let gives = fraction.gives.expect("what it gives");
    holds(gives.tokens.expect("tokens"), 39_268.0);
    holds(gives.headroom_gib.expect("room"), 9.42);
    // Where the weights leave less than that, none works.
    let none = one(&log.replace("avail mem=11.99", "avail mem=5.00").replace("mem usage=66.51", "mem usage=73.50")).advice.remove(0);
    assert_eq!((none.direction, none.recommended), (Direction::None, None));
}

#[test]
fn more_free_memory_after_the_weights_than_before_is_no_sizing() {
    let log = start(&[""], "0.55", "", "L", &["99.00"]) + &traceback("", "a.py", NOT_ENOUGH);
    let asked = Asked { want_gib: Some(10.0), card_gib: None };
    let server = &explained(&[("server.log", &log)], &asked).servers[0];
    assert!(server.formula.is_none(), "{:?}", server.formula);
    assert!(server.advice.iter().all(|advice| advice.recommended.is_none_or(|value| value > 0.0 && value < 1.0)), "{:#?}", server.advice);
}

#[test]
fn a_share_without_graphs_above_the_share_is_no_estimate() {
    let log = "(EngineCore pid=2) INFO 11-29 13:20:15 [core.py:1] Initializing a V1 LLM engine (v0.29.0) with config: model='m', tensor_parallel_size=1\n(EngineCore pid=2) INFO 11-29 13:20:16 [a.py:1] Model loading took 14.96 GiB memory and 2.1 seconds\n(EngineCore pid=2) INFO 11-29 13:20:19 [a.py:1] CUDA graph memory profiling is enabled (default since v0.21.0). The current --gpu-memory-utilization=0.9000 is equivalent to --gpu-memory-utilization=0.9200 without CUDA graph memory profiling.\n(EngineCore pid=2) INFO 11-29 13:20:20 [a.py:1] Available KV cache memory: 56.80 GiB\n";
    let server = &explained(&[("server.log", log)], &Asked { card_gib: Some(80.0), want_gib: None }).servers[0];
    assert_eq!(term(&server.ranks[0], TermName::Graphs), None);
}

#[test]
fn what_is_allocated_after_the_pools_is_not_called_the_pools() {
    let error = |label: &str, wanted: &str| traceback(label, "x.py", &format!("torch.OutOfMemoryError: {}", oom(wanted, "2.21")));
    let log = start(&[""], "0.95", "", "L", &["60.00"]) + POOL;
    // Nothing says what it is.
    let server = one(&(log.clone() + &error("", "3.00")));
    assert_eq!((class(&server), direction(&server)), (CauseClass::HeadroomOutsideStatic, Direction::Down));
    assert!(server.answer.contains("outside of it") && !server.answer.contains("as a whole"), "{}", server.answer);
    // A line says that as much is allocated in advance, whatever the arguments say or do not say.
    let ahead = "[2026-03-01 10:00:06] Pre-allocating symmetric memory pool with 4 GiB\n";
    let server = one(&(log + ahead + &error("", "4.00")));
    assert_eq!(advice(&server, "SGLANG_SYMM_MEM_PREALLOC_GB_SIZE").direction, Direction::Down);
    assert!(server.answer.contains("--enable-symm-mem"), "{}", server.answer);
    // The pools of another rank are not those of the one that failed.
    let two = start(&["TP0", "TP1"], "0.95", "", "L", &["60.00"]) + &POOL.replace("] ", " TP0] ");
    let server = one(&(two + &error(" TP1", "24.05")));
    assert!(server.answer.contains("could not be allocated as a whole"), "{}", server.answer);
}
