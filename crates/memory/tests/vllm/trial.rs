//! vLLM in a trial: class, text and budget as experiments keep them.

use bystander_memory::vllm::VllmReader;
use bystander_model::evidence::Stream;
use bystander_model::ids::{TimeNs, TrialId};
use bystander_model::reading::{ErrorSeen, LogBlock, LogLine};

use crate::told::same;

const TRIAL: TrialId = TrialId(3);

/// Feeds a log as blocks of so many bytes, and again line by line, which has to come to the same.
fn read(log: &str, stream: Stream) -> VllmReader {
    let mut blocks = VllmReader::new();
    let mut lines = VllmReader::new();
    let (mut at, mut number) = (0, 1);
    while at < log.len() {
        let end = log[at..].match_indices('\n').map(|(end, _)| at + end + 1).find(|end| end - at > 1500).unwrap_or(log.len());
        blocks.block(&LogBlock { stream, first: number, time: TimeNs(1), text: &log[at..end] });
        number += log[at..end].lines().count() as u64;
        at = end;
    }
    for (number, text) in (1..).zip(log.lines()) {
        lines.line(&LogLine { stream, number, time: TimeNs(1), text });
    }
    assert_eq!(blocks.finish(TRIAL, None).budget, lines.finish(TRIAL, None).budget);
    assert_eq!(blocks.finish(TRIAL, None).configuration, lines.finish(TRIAL, None).configuration);
    blocks
}

fn error<'a>(kind: &'a str, message: &'a str) -> ErrorSeen<'a> {
    ErrorSeen { stream: Stream::Stderr, line: 9, kind, message }
}

#[test]
fn a_server_that_runs_has_a_budget_and_no_class() {
    let reader = read(include_str!("../fixtures/vllm-0.32.0-simulated-llama8b-eager.log"), Stream::Stdout);
    let reading = reader.finish(TRIAL, None);
    assert_eq!((reading.class, reading.text), (None, None));
    let budget = reading.budget.expect("a budget");
    assert_eq!((budget.engine.as_str(), budget.fraction, budget.version.low.as_deref()), ("vllm", 0.92, Some("0.32.0")));
    same(budget.total_gib.value, 80.0, 2);
    same(budget.available_gib.value, 80.0 - 15.32, 2);
    same(budget.rest_gib.value, 58.28, 2);
    same(budget.break_even.value, 15.32 / 80.0, 4);
    assert_eq!(budget.tokens.map(|tokens| (tokens.low, tokens.high)), Some((477_456.0, 477_456.0)));
    let at =
        |share: f64| budget.alternatives.iter().find(|other| (other.fraction - share).abs() < 1e-9).unwrap_or_else(|| panic!("{share}"));
    same(at(0.8).rest_gib.value, 58.28 - 0.12 * 80.0, 2);
    // 131,072 bytes a token: 398,786 tokens in 48.68 GiB.
    assert!(at(0.8).tokens.is_some_and(|tokens| tokens.low <= 398_786.0 && 398_786.0 <= tokens.high), "{:?}", at(0.8));
    assert!(budget.alternatives.iter().all(|other| other.fraction <= 79.5 / 80.0));
    assert!(
        budget.evidence.iter().any(|evidence| evidence.place == "stdout:65" || evidence.text.contains("Free memory on device")),
        "{:?}",
        budget.evidence
    );
    let stated = reading.configuration.expect("two lines state it");
    assert!(
        stated.text.contains("non-default args: {'host'") && stated.text.contains("\n") && stated.text.contains(" with config: model="),
        "{stated:?}"
    );
    assert!(stated.place.starts_with("stdout:") && stated.place.contains(" and "), "{}", stated.place);
    assert_eq!(reading.version.and_then(|version| version.high).as_deref(), Some("0.32.0"));
}

#[test]
fn an_error_that_is_known_has_a_class_text_and_evidence() {
    let log = "(APIServer pid=1) INFO 11-29 13:20:15 [u.py:1] vLLM API server version 0.11.0\n(APIServer pid=1) INFO 11-29 13:20:15 [u.py:1] non-default args: {'model': 'x', 'gpu_memory_utilization': 0.55}\n(EngineCore_DP0 pid=7) INFO 11-29 13:20:16 [g.py:1] Model loading took 14.9889 GiB and 2.0 seconds\n(EngineCore_DP0 pid=7) INFO 11-29 13:20:17 [g.py:1] Available KV cache memory: -3.12 GiB\n(EngineCore_DP0 pid=7) ERROR 11-29 13:20:17 [c.py:1] ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.\n";
    let reader = read(log, Stream::Stderr);
    let known = reader
        .finish(TRIAL, Some(&error("ValueError", "No available memory for the cache blocks. Try increasing `gpu_memory_utilization`")));
    assert_eq!(known.class.as_deref(), Some("memory.fraction_below_weights"));
    assert!(
        known.text.as_ref().is_some_and(|text| text.contains("3.12 GiB more than a share of 0.55") && text.contains("Raise it")),
        "{:?}",
        known.text
    );
    assert_eq!(known.evidence.iter().map(|evidence| evidence.place.as_str()).collect::<Vec<_>>(), ["stderr:5"]);
    let passed_on = reader
        .finish(TRIAL, Some(&error("RuntimeError", "Engine core initialization failed. See root cause above. Failed core proc(s): {}")));
    assert_eq!(passed_on.class.as_deref(), Some("memory.fraction_below_weights"));
    let other = reader.finish(TRIAL, Some(&error("ImportError", "no such module")));
    assert_eq!((other.class, other.text), (None, None));
    assert!(other.configuration.is_some_and(|line| line.text.contains("'gpu_memory_utilization': 0.55")));
}

#[test]
fn a_bare_allocation_that_failed_in_a_start_of_which_no_line_tells_is_no_word_about_the_weights() {
    let start = "(APIServer pid=1) INFO 11-29 13:20:15 [u.py:1] vLLM API server version 0.11.0\n(APIServer pid=1) INFO 11-29 13:20:15 [u.py:1] non-default args: {'model': 'x', 'gpu_memory_utilization': 0.55}\n";
    let loads = "(EngineCore_DP0 pid=7) INFO 11-29 13:20:16 [g.py:1] Starting to load model x...\n";
    let oom = "CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 79.25 GiB of which 512.00 MiB is free. Including non-PyTorch memory, this process has 78.50 GiB memory in use.";
    let ends = format!(
        "(EngineCore_DP0 pid=7) ERROR 11-29 13:20:17 [c.py:1] EngineCore failed to start.\n(EngineCore_DP0 pid=7) ERROR 11-29 13:20:17 [c.py:1] torch.OutOfMemoryError: {oom}\n(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {{}}\n"
    );
    let wrapper = error("RuntimeError", "Engine core initialization failed. See root cause above. Failed core proc(s): {}");
    for seen in [error("torch.OutOfMemoryError", oom), wrapper] {
        let bare = read(&format!("{start}{ends}"), Stream::Stderr).finish(TRIAL, Some(&seen));
        assert_eq!((bare.class, bare.text), (None, None), "the plain class stands, without a direction");
        // A line that says so makes it the weights.
        let told = read(&format!("{start}{loads}{ends}"), Stream::Stderr).finish(TRIAL, Some(&seen));
        assert_eq!(told.class.as_deref(), Some("memory.fraction_below_weights"), "{:?}", told.text);
    }
}

#[test]
fn another_programs_lines_mean_nothing() {
    let reader = read(
        "ValueError: x\nTraceback (most recent call last):\n  File \"a.py\", line 1, in f\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB.\n",
        Stream::Stderr,
    );
    let reading = reader.finish(TRIAL, Some(&error("torch.OutOfMemoryError", "CUDA out of memory. Tried to allocate 1.00 GiB.")));
    assert_eq!((reading.class, reading.budget, reading.configuration), (None, None, None));
}
