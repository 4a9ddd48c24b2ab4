//! The story: weights of 72.3 of 94.0 GiB, and a static fraction of 0.55; by release.

use bystander_memory::explain::Asked;
use bystander_model::memory::{CauseClass, Certainty, Direction, Phase, State};

use crate::replay::{advice, class, explained, holds, one};

/// The log of a release: how the arguments look, the line after the weights, the traceback and the error.
fn log(arguments: &str, load_end: &str, file: &str, error: &str) -> String {
    format!(
        "[2026-11-29 13:31:32] server_args={arguments}\n\
         [2026-11-29 13:31:46 TP0] Load weight begin. avail mem=94.00 GB\n\
         [2026-11-29 13:31:47 TP0] Load weight end. {load_end}, avail mem=21.70 GB, mem usage=72.30 GB.\n\
         [2026-11-29 13:31:47 TP0] Scheduler hit an exception: Traceback (most recent call last):\n\
         \x20 File \"/sgl/srt/managers/scheduler.py\", line 2000, in run_scheduler_process\n\
         \x20   scheduler = Scheduler(\n\
         \x20 File \"/sgl/srt/{file}\", line 416, in init_memory_pool\n\
         \x20   raise RuntimeError(\n\
         {error}\n\n\
         [2026-11-29 13:31:47] Received sigquit from a child process. It usually means the child failed.\n"
    )
}

const NOT_ENOUGH: &str = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.";

fn arguments(more: &str) -> String {
    format!("ServerArgs(model_path='/models/Kimi-K2.5', device='cuda', tp_size=1, mem_fraction_static=0.55, kv_cache_dtype='auto', {more})")
}

#[test]
fn each_release_has_its_message_and_all_have_one_cause() {
    let type_dtype = "type=KimiK25ForConditionalGeneration, dtype=torch.bfloat16";
    let elapsed = "elapsed=9.00 s, type=KimiK25ForConditionalGeneration";
    let dict = "{'model_path': '/models/Kimi-K2.5', 'device': 'cuda', 'tp_size': 1, 'mem_fraction_static': 0.55, 'kv_cache_dtype': 'auto', 'cuda_graph_config': 1}";
    let value_error = "ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.55. Raise --mem-fraction-static above 0.770 (minimum viable = 1 - available/pre = 0.7692).";
    let older = format!("{NOT_ENOUGH} Current value: self.server_args.mem_fraction_static=0.55");
    let newer = format!("{NOT_ENOUGH} Current value: mem_fraction_static=0.55");
    for (range, log) in [
        ("0.5.2", log(&arguments("swa_full_tokens_ratio=0.8"), type_dtype, "model_executor/model_runner.py", NOT_ENOUGH)),
        ("0.5.6", log(&arguments("mamba_full_memory_ratio=0.9"), type_dtype, "model_executor/model_runner.py", &older)),
        ("0.5.8", log(&arguments("mamba_full_memory_ratio=0.9"), type_dtype, "model_executor/model_runner_kv_cache_mixin.py", &older)),
        (
            "0.5.9",
            log(
                &arguments("enable_piecewise_cuda_graph=False"),
                &format!("{elapsed}, dtype=torch.bfloat16"),
                "model_executor/model_runner_kv_cache_mixin.py",
                &older,
            ),
        ),
        ("0.5.10", log(&arguments("disable_piecewise_cuda_graph=False"), elapsed, "model_executor/model_runner_kv_cache_mixin.py", &newer)),
        ("0.5.12", log(&arguments("disable_piecewise_cuda_graph=False"), elapsed, "model_executor/pool_configurator.py", NOT_ENOUGH)),
        ("0.5.16", log(&arguments("cuda_graph_config=1"), elapsed, "mem_cache/kv_cache_configurator.py", value_error)),
        ("0.5.23", log(dict, elapsed, "mem_cache/kv_cache_configurator.py", value_error)),
    ] {
        let server = one(&log);
        let at = |text: &Option<String>| text.as_deref().and_then(bystander_memory::version::Release::parse);
        let release = bystander_memory::version::Release::parse(range).expect("a release");
        assert!(at(&server.version.low).is_none_or(|low| low <= release), "{range}: {:?}", server.version);
        assert!(at(&server.version.high).is_none_or(|high| high >= release), "{range}: {:?}", server.version);
        assert_eq!(
            (class(&server), server.state, server.phase),
            (CauseClass::FractionBelowWeights, State::Failed, Phase::PoolSizing),
            "{range}"
        );
        assert_eq!(server.cause.as_ref().map(|cause| cause.certainty), Some(Certainty::Shown), "{range}");
        let formula = server.formula.as_ref().expect("a formula");
        assert_eq!(formula.text, "rest = 21.70 \u{2212} 94.00 \u{d7} (1 \u{2212} 0.55) = \u{2212}20.60 GiB (\u{b1}0.007)", "{range}");
        assert_eq!(formula.cell_bytes, Some(70_272.0), "{range}");
        // The engine's own count from unrounded inputs lies within what the rounded lines leave.
        let tokens = formula.tokens.expect("told from the class of the model");
        holds(tokens, -314_803.0);
        assert!(tokens.high - tokens.low < 230.0, "{tokens:?}");
        let advice = advice(&server, "mem_fraction_static");
        assert_eq!((advice.direction, advice.recommended), (Direction::Up, Some(0.88)), "{range}");
        holds(advice.break_even.expect("a break-even"), 0.769_179);
        let gives = advice.gives.as_ref().expect("what it gives");
        holds(gives.tokens.expect("tokens"), 159_171.0);
        holds(gives.headroom_gib.expect("room"), 11.28);
    }
}

#[test]
fn the_lines_that_matter_are_named() {
    let server = one(&log(&arguments("mamba_full_memory_ratio=0.9"), "type=K, dtype=torch.bfloat16", "a.py", NOT_ENOUGH));
    let cause = server.cause.expect("a cause");
    assert_eq!(cause.evidence, ["server.log:9", "server.log:2", "server.log:3", "server.log:1"]);
    assert!(server.answer.contains("The weights take 72.30 of 94.00 GiB"), "{}", server.answer);
    assert_eq!(server.formula.and_then(|formula| formula.tokens), None, "the shape of class K is not known");
}

#[test]
fn a_cap_on_tokens_only_lowers_and_shows_the_count() {
    // The engine printed the profiled count: it is exact, whatever the lines before it were rounded to.
    let capped = log(&arguments("max_total_tokens=100000"), "type=K, dtype=torch.bfloat16", "model_executor/model_runner_kv_cache_mixin.py", NOT_ENOUGH)
        .replace("[2026-11-29 13:31:47 TP0] Scheduler", "[2026-11-29 13:31:47 TP0] max_total_tokens=100000 is larger than the profiled value -314803. Use the profiled value instead.\n[2026-11-29 13:31:47 TP0] Scheduler");
    let server = one(&capped);
    let formula = server.formula.as_ref().expect("a formula");
    assert_eq!(formula.tokens.map(|tokens| (tokens.low, tokens.high)), Some((-314_803.0, -314_803.0)));
    assert_eq!(formula.cell_bytes, None, "a rounded rest leaves a range of bytes per token");
    assert_eq!(class(&server), CauseClass::FractionBelowWeights);
    assert_eq!(advice(&server, "max_total_tokens").direction, Direction::None);
}

#[test]
fn a_cache_of_a_wanted_size_has_its_fraction() {
    let log =
        log(&arguments("mamba_full_memory_ratio=0.9"), "type=KimiK25ForConditionalGeneration, dtype=torch.bfloat16", "a.py", NOT_ENOUGH);
    for (want_gib, even) in [(10.0, 0.875_563), (10e9 / 1_073_741_824.0, 0.868_256)] {
        let asked = Asked { want_gib: Some(want_gib), card_gib: None };
        let servers = explained(&[("server.log", &log)], &asked).servers;
        let wanted = servers[0].advice.iter().find(|advice| advice.text.contains("GiB of KV cache need")).expect("an answer");
        holds(wanted.break_even.expect("a break-even"), even);
        assert_eq!(wanted.direction, Direction::Up);
    }
}

#[test]
fn a_print_in_the_sizing_gives_its_decimals() {
    let printed = log(
        &arguments("mamba_full_memory_ratio=0.9"),
        "type=KimiK25ForConditionalGeneration, dtype=torch.bfloat16",
        "model_executor/model_runner_kv_cache_mixin.py",
        NOT_ENOUGH,
    )
    .replace(
        "[2026-11-29 13:31:47 TP0] Scheduler",
        "[2026-11-29 13:31:47 TP0] DEBUG avail=21.697 total=93.999 fraction=0.55 rest=-20.603\n[2026-11-29 13:31:47 TP0] Scheduler",
    );
    let server = one(&printed);
    let formula = server.formula.as_ref().expect("a formula");
    assert_eq!(formula.text, "rest = 21.697 \u{2212} 93.999 \u{d7} (1 \u{2212} 0.55) = \u{2212}20.603 GiB (\u{b1}0.001)");
    let tokens = formula.tokens.expect("tokens");
    assert_eq!(tokens.value, -314_803.0);
    assert!(tokens.high - tokens.low < 30.0, "{tokens:?}");
    assert_eq!(format!("{:.6}", advice(&server, "mem_fraction_static").break_even.expect("a break-even").value), "0.769179");
    // A line that only looks like it is not taken.
    let other = printed.replace("rest=-20.603", "rest=7.5");
    holds(one(&other).formula.and_then(|formula| formula.tokens).expect("tokens"), -314_764.0);
}
