//! Logs as people paste them: behind prefixes of their own, the end alone, turned round.

use bystander_memory::explain::Asked;
use bystander_model::memory::{CauseClass, Direction, Phase, State};

use crate::replay::{advice, class, direction, explained, holds, one};

/// A start of SGLang 0.5.9 that serves, and then runs out of memory.
const SERVED: &str = "[2026-03-01 10:00:00] server_args=ServerArgs(model_path='/m', tp_size=1, mem_fraction_static=0.85, device='cuda')
[2026-03-01 10:00:01] Init torch distributed ends. elapsed=1.23 s, mem usage=0.50 GB
[2026-03-01 10:00:02] Load weight begin. avail mem=78.50 GB
[2026-03-01 10:00:33] Load weight end. elapsed=3.30 s, type=L, dtype=torch.bfloat16, avail mem=60.00 GB, mem usage=18.50 GB.
[2026-03-01 10:00:34] KV Cache is allocated. #tokens: 394000, K size: 24.05 GB, V size: 24.05 GB
[2026-03-01 10:00:35] Memory pool end. avail mem=11.60 GB
[2026-03-01 10:00:36] max_total_num_tokens=394000, chunked_prefill_size=8192, max_running_requests=2048, context_len=32768, available_gpu_mem=10.00 GB
[2026-03-01 10:00:39] The server is fired up and ready to roll!
[2026-03-01 10:00:59] Scheduler hit an exception: Traceback (most recent call last):
  File \"/sgl/srt/managers/scheduler.py\", line 1, in event_loop_overlap
    self.x(
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 6.00 GiB. GPU 0 has a total capacity of 79.33 GiB of which 4.00 GiB is free. Including non-PyTorch memory, this process has 74.83 GiB memory in use.
";

/// A log whose every line stands behind something.
fn behind(log: &str, prefix: &dyn Fn(usize) -> String) -> String {
    log.lines().enumerate().map(|(nth, line)| format!("{}{line}\n", prefix(nth))).collect()
}

#[test]
fn an_error_is_seen_behind_a_prefix_that_nobody_knows() {
    let plain = one(SERVED);
    assert_eq!((class(&plain), plain.state), (CauseClass::RuntimeActivation, State::Failed));
    let forms: [&dyn Fn(usize) -> String; 6] = [
        &|_| "2026-03-01 10:00:09.123 | INFO     | launcher:forward:123 - ".into(),
        &|_| "<30>1 2026-03-01T10:00:09Z gpu7 sglang 4242 - - ".into(),
        &|_| "sglang-7c9f-abcde server ".into(),
        &|nth| format!("server.log:{}:", nth + 1),
        &|_| "> ".into(),
        &|_| "    ".into(),
    ];
    for form in forms {
        let server = one(&behind(SERVED, form));
        assert_eq!(
            (class(&server), server.state, &server.advice),
            (CauseClass::RuntimeActivation, State::Failed, &plain.advice),
            "{:?}",
            form(0)
        );
    }
}

#[test]
fn quotation_marks_of_a_page_are_read() {
    let log = end_of_vllm(&["compile_or_warm_up_model", "capture_model"], OOM);
    let log = format!("INFO 06-01 10:00:01 [utils.py:1] non-default args: {{'gpu_memory_utilization': 0.97}}\n{log}");
    let entities = log.replace('&', "&amp;").replace('\'', "&#39;").replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;");
    let (plain, read) = (one(&log), one(&entities));
    assert_eq!((&read.advice, read.phase), (&plain.advice, Phase::GraphCapture));
    // 0.97 less the 123.44 MiB that are missing of 79.18 GiB.
    holds(read.advice[0].break_even.expect("where it changes"), 0.968_477_559);
}

#[test]
fn a_log_whose_newest_line_stands_first_is_not_read() {
    let reversed: Vec<&str> = SERVED.lines().rev().collect();
    let found = explained(&[("x", &(reversed.join("\n") + "\n"))], &Asked::default());
    assert!(found.servers.is_empty(), "{found:?}");
    assert!(found.unread[0].contains("newest to the oldest") && found.unread[0].contains("tac"), "{:?}", found.unread);
}

/// The end of a log of vLLM 0.29 whose worker failed inside some functions.
fn end_of_vllm(through: &[&str], error: &str) -> String {
    let before = "(Worker_TP0 pid=902) ERROR 06-01 10:00:02 [multiproc_executor.py:600] ";
    let frames: String =
        through.iter().map(|name| format!("{before}  File \"/x/vllm/v1/worker/w.py\", line 10, in {name}\n{before}    x(\n")).collect();
    format!("{before}WorkerProc failed to start.\n{before}Traceback (most recent call last):\n{frames}{before}{error}\n")
}

const OOM: &str = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 224.00 MiB. GPU 0 has a total capacity of 79.18 GiB of which 100.56 MiB is free. Including non-PyTorch memory, this process has 78.90 GiB memory in use.";

#[test]
fn functions_of_a_traceback_say_the_phase_where_its_lines_are_cut_off() {
    for (through, phase, is) in [
        (&["load_model", "create_weights"][..], Phase::WeightLoad, CauseClass::FractionBelowWeights),
        (&["compile_or_warm_up_model", "capture_model"], Phase::GraphCapture, CauseClass::GraphCaptureHeadroom),
    ] {
        let server = one(&end_of_vllm(through, OOM));
        assert_eq!((server.phase, class(&server)), (phase, is), "{through:?}: {}", server.answer);
    }
}

#[test]
fn smaller_numbers_are_advised_where_they_are_enough() {
    let error = |need: &str, there: &str| {
        format!(
            "ValueError: To serve at least one request with the model's max seq len (131072), ({need} GiB KV cache is needed, which is larger than the available KV cache memory ({there} GiB). Based on the available memory, the estimated maximum model length is 27808."
        )
    };
    for (need, there, expected) in [("20.0", "12.0", Direction::Down), ("20.0", "4.25", Direction::None)] {
        let server = one(&end_of_vllm(&["f"], &error(need, there)));
        assert_eq!(class(&server), CauseClass::KvBelowContext);
        assert_eq!((advice(&server, "kv_cache_dtype").direction, direction(&server)), (expected, Direction::Down), "{need} of {there}");
    }
}
