//! Real logs of 0.32: a simulated GPU, the CPU backend, a start that failed.

use bystander_model::memory::{CauseClass, Phase, State, TermName};

use crate::told::{class, same, server, servers, term, text};

#[test]
fn the_account_of_a_start_is_an_identity() {
    let server = server(include_str!("../fixtures/vllm-0.32.0-simulated-llama8b-eager.log"));
    assert_eq!((server.version.low.as_deref(), server.version.high.as_deref()), (Some("0.32.0"), Some("0.32.0")));
    assert_eq!((server.phase, server.state, class(&server)), (Phase::Serving, State::Ready, CauseClass::Healthy));
    assert_eq!(server.answer, "It serves with 477,456 tokens of KV cache (58.28 GiB), 58.28 requests of 8,192 tokens at once.");
    let [rank] = &server.ranks[..] else { panic!("one rank: {:#?}", server.ranks) };
    for (name, gib) in [
        (TermName::Total, 80.0),
        (TermName::Context, 0.5),
        (TermName::Weights, 14.96),
        (TermName::Workspace, 0.15),
        (TermName::Activations, 0.21),
        (TermName::Graphs, 0.0),
        (TermName::Kv, 58.28),
        (TermName::Headroom, 5.9),
    ] {
        same(term(rank, name), gib, 2);
    }
    let rest = rank.unexplained_gib.expect("a remainder");
    assert!(rest.low <= 0.0 && 0.0 <= rest.high && rest.value.abs() < 0.01, "{rest:?}");
    let formula = server.formula.expect("a formula");
    assert_eq!(formula.text, "KV = 0.92 \u{d7} 80.00 \u{2212} 15.11 \u{2212} 0.21 = 58.28 GiB");
    assert_eq!(formula.tokens.map(|tokens| (tokens.low, tokens.high)), Some((477_456.0, 477_456.0)));
    assert!(server.contradictions.is_empty(), "{:?}", server.contradictions);
}

#[test]
fn workers_that_end_in_native_code_are_no_want_of_memory() {
    let server = server(include_str!("../fixtures/vllm-0.32.0-simulated-tp2-failed.log"));
    assert_eq!((server.state, server.phase, class(&server)), (State::Failed, Phase::ParallelInit, CauseClass::Unknown));
    assert!(text(&server).contains("realloc(): invalid pointer"), "{}", text(&server));
    assert!(server.advice.is_empty());
}

#[test]
fn the_memory_of_hosts_is_no_card() {
    let two = server(include_str!("../fixtures/vllm-0.32.0-cpu-tp2.log"));
    assert_eq!((two.state, class(&two)), (State::Ready, CauseClass::Healthy));
    assert_eq!(
        two.ranks.iter().map(|rank| (rank.label.as_deref(), rank.rank)).collect::<Vec<_>>(),
        [(Some("TP0"), Some(0)), (Some("TP1"), Some(1))]
    );
    for rank in &two.ranks {
        same(term(rank, TermName::Total), 23.54, 2);
        same(term(rank, TermName::Kv), 1.78, 2);
        same(term(rank, TermName::Workspace), 0.57, 2);
        assert!(rank.unexplained_gib.is_some_and(|rest| rest.low <= 0.0 && 0.0 <= rest.high));
    }
    assert!(two.not_modelled.iter().any(|text| text.contains("CPU backend")));
    let share = server(include_str!("../fixtures/vllm-0.32.0-cpu-share.log"));
    assert!(share.answer.contains("6,181,760 tokens"), "{}", share.answer);
    let given = server(include_str!("../fixtures/vllm-0.32.0-cpu-given.log"));
    assert!(given.answer.contains("1,048,576 tokens of KV cache (1.00 GiB)"), "{}", given.answer);
}

#[test]
fn two_starts_in_one_log_are_two_servers() {
    let one = include_str!("../fixtures/vllm-0.32.0-simulated-llama8b-eager.log");
    let all = servers(&format!("{one}{one}"));
    assert_eq!(all.iter().map(|server| server.state).collect::<Vec<_>>(), [State::Ready, State::Ready]);
    assert!(all[0].answer == all[1].answer && all[0].ranks[0].terms[0].from != all[1].ranks[0].terms[0].from);
}

#[test]
fn a_restart_after_a_failure_is_another_server() {
    let start = "(APIServer pid=1) INFO 11-29 13:20:15 [a.py:1] vLLM API server version 0.11.0\n(EngineCore_DP0 pid=7) INFO 11-29 13:20:15 [core.py:1] Initializing a V1 LLM engine (v0.11.0) with config: model='x'\n";
    let failed = "(EngineCore_DP0 pid=7) INFO 11-29 13:20:16 [g.py:1] Model loading took 14.9600 GiB and 2.0 seconds\n(EngineCore_DP0 pid=7) ERROR 11-29 13:20:17 [c.py:1] ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.\n";
    let all = servers(&format!("{start}{failed}{start}{failed}{start}"));
    assert_eq!(all.iter().map(|server| server.state).collect::<Vec<_>>(), [State::Failed, State::Failed, State::Unknown]);
}
