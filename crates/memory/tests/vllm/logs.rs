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

#[test]
fn servers_that_cannot_be_told_apart_have_no_numbers() {
    let one = include_str!("../fixtures/vllm-0.32.0-simulated-llama8b-eager.log");
    let other = one.replace("27120", "31000").replace("26975", "30900").replace("58.28 GiB", "12.00 GiB").replace("477,456", "98,304");
    let mixed: String = one.lines().zip(other.lines()).flat_map(|(a, b)| [a, "\n", b, "\n"]).collect();
    let all = servers(&mixed);
    assert!(!all.is_empty());
    for server in &all {
        assert!(server.formula.is_none() && server.ranks.is_empty() && server.advice.is_empty(), "{server:#?}");
    }
    assert!(all.iter().any(|server| server.contradictions.iter().any(|text| text.contains("nothing tells their lines apart"))), "{all:#?}");
    // Containers do tell them apart.
    let named: String = one
        .lines()
        .map(|line| format!("vllm-a-1  | {line}\n"))
        .zip(other.lines().map(|line| format!("vllm-b-1  | {line}\n")))
        .flat_map(|(a, b)| [a, b])
        .collect();
    let all = servers(&named);
    assert_eq!(
        all.iter().map(|server| server.formula.as_ref().and_then(|formula| formula.tokens).map(|tokens| tokens.value)).collect::<Vec<_>>(),
        [Some(477_456.0), Some(98_304.0)]
    );
}

#[test]
fn one_engine_after_the_other_in_a_script_are_two() {
    let engine = |pid: u32, kv: &str| {
        format!("(EngineCore_DP0 pid={pid}) INFO 11-29 13:20:15 [core.py:1] Initializing a V1 LLM engine (v0.13.0) with config: model='x'\n(EngineCore_DP0 pid={pid}) INFO 11-29 13:20:16 [g.py:1] Model loading took 1.0000 GiB and 2.0 seconds\n(EngineCore_DP0 pid={pid}) INFO 11-29 13:20:16 [g.py:1] Available KV cache memory: {kv} GiB\n(EngineCore_DP0 pid={pid}) INFO 11-29 13:20:16 [k.py:1] GPU KV cache size: 1,600 tokens\n(EngineCore_DP0 pid={pid}) INFO 11-29 13:20:17 [core.py:1] init engine (profile, create kv cache, warmup model) took 5.0 seconds\n").replace("EngineCore_DP0", "EngineCore")
    };
    let all = servers(&format!("{}{}", engine(7, "3.00"), engine(8, "4.00")));
    assert_eq!(
        all.iter().map(|server| server.formula.as_ref().map(|formula| formula.rest_gib.value)).collect::<Vec<_>>(),
        [Some(3.0), Some(4.0)]
    );
    assert_eq!(all[0].formula.as_ref().and_then(|formula| formula.tokens).map(|tokens| tokens.value), Some(1600.0));
}

#[test]
fn two_pairs_show_what_does_not_grow_with_tokens() {
    use bystander_memory::explain::{Asked, Explainer, document};
    let read = |kv: &str, tokens: &str| {
        let mut explainer = Explainer::new(kv);
        explainer.block(format!("(EngineCore pid=7) INFO 11-29 13:20:15 [core.py:1] Initializing a V1 LLM engine (v0.28.0) with config: model='x'\n(EngineCore pid=7) INFO 11-29 13:20:16 [g.py:1] Available KV cache memory: {kv} GiB\n(EngineCore pid=7) INFO 11-29 13:20:16 [k.py:1] GPU KV cache size: {tokens} tokens\n").as_bytes());
        explainer.finish()
    };
    let told = document(vec![read("8.00", "48,933"), read("12.00", "103,300")], Vec::new(), &Asked::default());
    let bytes = told.compared.iter().find(|compared| compared.name == "bytes per token").unwrap_or_else(|| panic!("{:#?}", told.compared));
    assert!(bytes.second.contains("79,0") && bytes.second.contains("4.40 GiB that do not grow"), "{bytes:#?}");
    // A model that is the same for all tokens has one number.
    let told = document(vec![read("8.00", "65,536"), read("12.00", "98,304")], Vec::new(), &Asked::default());
    assert!(told.compared.iter().all(|compared| compared.name != "bytes per token"), "{:#?}", told.compared);
}
