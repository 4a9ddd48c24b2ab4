//! Errors about memory, in the shapes that people have reported.

use crate::feed::{explain, reader};

const NOT_ENOUGH: &str = "Not enough memory. Please try to increase --mem-fraction-static.";

fn sized(fraction: &str, avail: &str) -> String {
    format!(
        "[2026-11-29 13:31:40] server_args=ServerArgs(device='cuda', tp_size=1, mem_fraction_static={fraction}, max_total_tokens=None)\n\
         [2026-11-29 13:31:46] Load weight begin. avail mem=79.50 GB\n\
         [2026-11-29 13:31:47] Load weight end. type=M, dtype=torch.bfloat16, avail mem={avail} GB, mem usage=1.00 GB."
    )
}

#[test]
fn the_engine_s_word_is_taken_where_no_numbers_were_seen() {
    let reading = explain(&reader(""), "RuntimeError", NOT_ENOUGH);
    assert_eq!(reading.class.as_deref(), Some("memory.fraction_below_weights"));
    assert!(reading.text.expect("a text").contains("the numbers it computed with were not seen"));
}

#[test]
fn numbers_from_a_log_give_a_range_for_the_least_fraction() {
    let reading = explain(&reader(&sized("0.2", "20.00")), "RuntimeError", NOT_ENOUGH);
    assert_eq!(reading.class.as_deref(), Some("memory.fraction_below_weights"));
    let text = reading.text.expect("a text");
    assert!(text.contains("rest = 20.00 − 79.50 × (1 − 0.2) = −43.60 GiB (±0.009)"), "{text}");
    assert!(text.contains("only a fraction above 0.748428 can start it (0.748349 to 0.748507 by the log's rounding)"), "{text}");
}

#[test]
fn the_fraction_in_the_error_is_read_from_both_spellings() {
    for spelling in ["self.server_args.mem_fraction_static=0.2", "mem_fraction_static=0.2"] {
        let log = format!("{}\nRuntimeError: {NOT_ENOUGH} Current value: {spelling}", sized("0.9", "20.00"));
        let reading = explain(&reader(&log), "RuntimeError", NOT_ENOUGH);
        let budget = reading.budget.expect("a budget");
        assert_eq!(budget.fraction, 0.2);
        assert!(budget.text.iter().any(|line| line.contains("the sizing uses a fraction of 0.2, the printed arguments say 0.9")));
    }
}

#[test]
fn an_error_against_the_numbers_is_no_proof_that_weights_are_too_big() {
    // The fraction was lowered after it had been printed; the count of tokens tells by how much.
    let log = format!(
        "{}\n[2026-11-29 13:31:48] KV Cache is allocated. #tokens: 100000, KV size: 6.54 GB\n\
         [2026-11-29 13:31:48] max_total_tokens=1000000 is larger than the profiled value -561981. Use the profiled value instead.",
        sized("0.95", "17.00")
    );
    let reading = explain(&reader(&log), "RuntimeError", NOT_ENOUGH);
    assert_eq!(reading.class.as_deref(), Some("memory.effective_config_differs"));
    let text = reading.text.expect("a text");
    assert!(text.contains("its numbers leave something") && text.contains("−561,981 tokens come out at a fraction of 0."), "{text}");
}

#[test]
fn advice_that_is_already_followed_is_called_misleading() {
    let message = "Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.95. \
                   Raise --mem-fraction-static above 0.923 (minimum viable = 1 - available/pre = 0.9224).";
    let reading = explain(&reader(""), "ValueError", message);
    assert_eq!(reading.class.as_deref(), Some("memory.engine_advice_misleading"));

    let reading = explain(&reader(""), "ValueError", &message.replace("=0.95", "=0.3"));
    assert_eq!(reading.class.as_deref(), Some("memory.fraction_below_weights"));
    assert!(reading.text.expect("a text").contains("above 0.923"));
}

#[test]
fn an_imbalance_names_the_gpu_with_less_and_the_second_check() {
    let message = "The memory capacity is unbalanced. Some GPUs may be occupied by other processes. \
                   min_per_gpu_memory=40.125, local_gpu_memory=78.5, local_gpu_memory * 0.9=70.65";
    let reading = explain(&reader(""), "RuntimeError", message);
    assert_eq!(reading.class.as_deref(), Some("memory.unbalanced"));
    let text = reading.text.expect("a text");
    assert!(text.contains("40.125 GiB free where this rank's has 78.500 GiB") && !text.contains("checked again"), "{text}");

    let log = "[2026-11-29 13:31:46 TP4] Capture cuda graph end. Time elapsed: 1334.38 s. mem usage=1.00 GB. avail mem=5.00 GB.";
    let text = explain(&reader(log), "ValueError", message).text.expect("a text");
    assert!(text.contains("checked again after this server's own pools"), "{text}");
}

#[test]
fn a_device_error_says_its_phase_first() {
    let oom = "CUDA out of memory. Tried to allocate 5.16 GiB.";
    let graphs = reader("[2026-11-29 13:31:46] Capture cuda graph begin. This can take up to several minutes. avail mem=3.66 GB");
    let reading = explain(&graphs, "torch.OutOfMemoryError", oom);
    assert_eq!(reading.class.as_deref(), Some("memory.device_oom"));
    let text = reading.text.expect("a text");
    assert!(text.contains("during the capture of CUDA graphs, which has to fit into what the static fraction leaves over"), "{text}");

    let weights = reader("[2026-11-29 13:31:46] Load weight begin. avail mem=3.66 GB");
    let text = explain(&weights, "torch.cuda.OutOfMemoryError", oom).text.expect("a text");
    assert_eq!(text, "the device ran out of memory during the load of the weights");
}

#[test]
fn words_alone_are_no_device_error() {
    let oom = "CUDA out of memory. Tried to allocate 5.16 GiB.";
    for (kind, message) in [("", format!("RuntimeError: {oom}")), ("RuntimeError", oom.to_owned()), ("", oom.to_owned())] {
        let reading = explain(&reader("starting\nCUDA out of memory: of a script"), kind, &message);
        assert_eq!((reading.class, reading.text), (None, None), "{kind}: {message}");
    }
    // The type is PyTorch's, but without a line of the engine its phase is not known.
    let reading = explain(&reader("starting"), "torch.OutOfMemoryError", oom);
    assert_eq!((reading.class.as_deref(), reading.text.as_deref()), (Some("memory.device_oom"), Some("the device ran out of memory")));
    // Older releases of PyTorch raise a plain error, which the engine's lines make certain.
    let engine = reader("server_args=ServerArgs(device='cuda', tp_size=1, mem_fraction_static=0.9)");
    let reading = explain(&engine, "RuntimeError", oom);
    assert_eq!(reading.text.as_deref(), Some("the device ran out of memory during the start before the weights"));
}

#[test]
fn memory_that_others_hold_is_told_from_the_message() {
    let message = "CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 94.97 GiB of which 164.81 MiB is free. \
                   Including non-PyTorch memory, this process has 3.18 GiB memory in use.";
    let text = explain(&reader(""), "torch.OutOfMemoryError", message).text.expect("a text");
    assert!(text.contains("91.63 GiB of it are held by others, 3.18 GiB by the process that stopped"), "{text}");
}

/// Graphs that did not fit, with everything that the log says of it.
const CAPTURE: &str = "[2026-11-29 13:31:40] server_args=ServerArgs(device='cuda', tp_size=1, mem_fraction_static=0.9, max_total_tokens=None)
[2026-11-29 13:31:46] Load weight begin. avail mem=79.00 GB
[2026-11-29 13:31:47] Load weight end. type=M, dtype=torch.bfloat16, avail mem=64.00 GB, mem usage=15.00 GB.
[2026-11-29 13:31:48] Memory pool end. avail mem=7.80 GB
[2026-11-29 13:31:48] Capture cuda graph begin. This can take up to several minutes. avail mem=7.80 GB
[2026-11-29 13:31:49] Scheduler hit an exception: Traceback (most recent call last):
  File \"/sgl/cuda_graph_runner.py\", line 1, in capture
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.50 GiB of which 0.50 GiB is free. Including non-PyTorch memory, this process has 79.00 GiB memory in use.";

#[test]
fn a_trial_s_device_error_says_what_to_turn_and_how_far() {
    let oom = CAPTURE.lines().last().and_then(|line| line.split_once(": ")).expect("an error").1;
    let reading = explain(&reader(CAPTURE), "torch.OutOfMemoryError", oom);
    assert_eq!(reading.class.as_deref(), Some("memory.device_oom"));
    let text = reading.text.expect("a text");
    assert!(
        text.contains("during the capture of CUDA graphs")
            && text.contains("Lower it below 0.881012, since at least 1.50 GiB were missing; 0.87 gives"),
        "{text}"
    );
}

#[test]
fn a_trial_that_serves_with_a_useless_pool_says_so_first() {
    let log = "[2026-11-29 13:31:40] server_args=ServerArgs(device='cuda', tp_size=1, mem_fraction_static=0.21, max_total_tokens=None)
[2026-11-29 13:31:46] Load weight begin. avail mem=79.00 GB
[2026-11-29 13:31:47] Load weight end. type=M, dtype=torch.bfloat16, avail mem=64.00 GB, mem usage=15.00 GB.
[2026-11-29 13:31:48] KV Cache is allocated. #tokens: 13000, K size: 0.79 GB, V size: 0.79 GB
[2026-11-29 13:31:48] Memory pool end. avail mem=62.40 GB
[2026-11-29 13:31:48] max_total_num_tokens=13000, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=48, context_len=131072, available_gpu_mem=62.40 GB
[2026-11-29 13:31:49] The server is fired up and ready to roll!";
    let budget = reader(log).finish(crate::feed::TRIAL, None).budget.expect("a budget");
    let why = budget.of_little_use.expect("a pool of little use");
    assert!(why.starts_with("It started, and one request of full length does not fit: the KV cache holds 13,000 tokens"), "{why}");
    assert!(why.contains("One full request fits above"), "{why}");
}
