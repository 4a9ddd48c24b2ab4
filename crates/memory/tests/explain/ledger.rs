//! Real logs: every line about memory has its term, and the terms add up.

use bystander_model::memory::{CauseClass, Rank, State, TermName};

use crate::replay::{class, holds, one, term};

macro_rules! log {
    ($name:literal) => {
        include_str!(concat!("../fixtures/sglang-", $name, ".log"))
    };
}

/// Total = all other terms + what is unexplained.
fn adds_up(rank: &Rank) {
    let total = rank.terms.iter().find(|term| term.name == TermName::Total).expect("a total").gib.value;
    let others: f64 = rank.terms.iter().filter(|term| term.name != TermName::Total).map(|term| term.gib.value).sum();
    let rest = rank.unexplained_gib.expect("a remainder").value;
    assert!((total - others - rest).abs() < 1e-6, "{total} != {others} + {rest}: {rank:#?}");
}

#[test]
fn every_real_log_is_ready_and_adds_up() {
    for (log, ranks, unexplained) in [
        (log!("0.5.5-cpu"), 1, 0.02),
        (log!("0.5.7-cpu"), 1, 0.02),
        (log!("0.5.8-cpu"), 1, 0.02),
        (log!("0.5.9-cpu-ok"), 1, 0.12),
        (log!("0.5.9-cpu-tp2"), 2, 0.02),
        (log!("0.5.9-simulated-llama8b"), 1, 0.05),
        (log!("0.5.9-simulated-llama8b-tp2"), 2, 0.1),
        (log!("0.5.9-simulated-llama8b-tp2-24GiB"), 2, 0.12),
        (log!("0.5.23-cpu-warm"), 1, 0.02),
    ] {
        let server = one(log);
        assert_eq!((server.engine.as_str(), server.state, class(&server)), ("sglang", State::Ready, CauseClass::Healthy));
        assert_eq!(server.ranks.len(), ranks);
        assert!(server.advice.is_empty() && server.contradictions.is_empty(), "{server:#?}");
        for rank in &server.ranks {
            adds_up(rank);
            assert!(rank.unexplained_gib.expect("a remainder").value.abs() <= unexplained, "{rank:#?}");
        }
    }
}

#[test]
fn a_rank_s_terms_carry_their_lines() {
    let server = one(log!("0.5.9-simulated-llama8b"));
    let rank = &server.ranks[0];
    let terms: Vec<(TermName, String)> = rank.terms.iter().map(|term| (term.name, format!("{:.2}", term.gib.value))).collect();
    let of = |name: TermName, gib: &str| (name, gib.to_owned());
    assert_eq!(
        terms,
        [
            of(TermName::Total, "79.50"),
            of(TermName::Communication, "0.00"),
            of(TermName::Weights, "14.98"),
            of(TermName::Kv, "51.48"),
            of(TermName::RequestTable, "0.13"),
            of(TermName::Workspace, "0.00"),
            of(TermName::Headroom, "12.89")
        ]
    );
    let from = |name: TermName| rank.terms.iter().find(|term| term.name == name).map(|term| term.from.as_str());
    assert_eq!(from(TermName::Kv), Some("server.log:8"));
    assert_eq!(from(TermName::RequestTable), Some("4096 requests \u{d7} (8192 + 4) \u{d7} 4 B, server.log:10"));
    let formula = server.formula.expect("a formula");
    assert_eq!(formula.tokens.map(|tokens| (tokens.low, tokens.high)), Some((421_755.0, 421_755.0)));
    assert_eq!(formula.text, "rest = 64.52 \u{2212} 79.50 \u{d7} (1 \u{2212} 0.836) = 51.48 GiB (\u{b1}0.006)");
}

/// A start of several ranks with a draft model that is loaded after the graphs of its target, as up to 0.5.13.
const DRAFT: &str = "\
[2026-03-01 10:00:00] server_args=ServerArgs(tp_size=1, mem_fraction_static=0.8, speculative_algorithm='EAGLE')
[2026-03-01 10:00:01] Init torch distributed begin.
[2026-03-01 10:00:01] Init torch distributed ends. mem usage=0.50 GB
[2026-03-01 10:00:01] Load weight begin. avail mem=79.00 GB
[2026-03-01 10:00:02] Load weight end. type=L, dtype=torch.bfloat16, avail mem=64.00 GB, mem usage=15.00 GB.
[2026-03-01 10:00:02] KV Cache is allocated. #tokens: 394854, K size: 24.10 GB, V size: 24.10 GB
[2026-03-01 10:00:02] Memory pool end. avail mem=15.50 GB
[2026-03-01 10:00:03] Capture cuda graph begin. This can take up to several minutes. avail mem=15.30 GB
[2026-03-01 10:00:04] Capture cuda graph end. Time elapsed: 1.00 s. mem usage=1.20 GB. avail mem=14.10 GB.
[2026-03-01 10:00:05] Init torch distributed begin.
[2026-03-01 10:00:05] Load weight begin. avail mem=14.10 GB
[2026-03-01 10:00:06] Load weight end. type=D, dtype=torch.bfloat16, avail mem=13.10 GB, mem usage=1.00 GB.
[2026-03-01 10:00:06] KV Cache is allocated. #tokens: 394854, K size: 0.75 GB, V size: 0.75 GB
[2026-03-01 10:00:06] Memory pool end. avail mem=11.60 GB
[2026-03-01 10:00:07] Capture draft cuda graph begin. This can take up to several minutes. avail mem=11.50 GB
[2026-03-01 10:00:08] Capture draft cuda graph end. Time elapsed: 1.00 s. mem usage=0.40 GB. avail mem=11.10 GB.
[2026-03-01 10:00:08] max_total_num_tokens=394854, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=48, context_len=8192, available_gpu_mem=11.00 GB
[2026-03-01 10:00:09] The server is fired up and ready to roll!
";

#[test]
fn a_draft_model_has_a_term_of_its_own() {
    let server = one(DRAFT);
    let rank = &server.ranks[0];
    adds_up(rank);
    let of = |name: TermName| term(rank, name).expect("a term");
    assert_eq!((of(TermName::Total), of(TermName::Communication), of(TermName::Weights)), ("79.50".into(), "0.50".into(), "15.00".into()));
    assert_eq!((of(TermName::Draft), of(TermName::Kv), of(TermName::Graphs)), ("2.50".into(), "48.20".into(), "1.60".into()));
    assert_eq!((of(TermName::Workspace), of(TermName::Headroom)), ("0.40".into(), "11.00".into()));
    // The formula is that of the target: 64.00 - 79.00 x 0.2.
    holds(server.formula.expect("a formula").rest_gib, 48.2);
}

#[test]
fn unequal_ranks_are_told_from_each_other() {
    let log: String = [("TP0", "78.90"), ("TP1", "40.00")]
        .iter()
        .map(|(rank, free)| format!("[2026-03-01 10:00:01 {rank}] Load weight begin. avail mem={free} GB\n"))
        .chain(["RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n".to_owned()])
        .collect();
    let server = one(&log);
    assert_eq!(class(&server), CauseClass::OtherProcessHoldsMemory);
    assert!(server.answer.contains("TP1 has 40.00 GiB free where another rank has 78.90"), "{}", server.answer);
}

#[test]
fn a_known_card_makes_the_identity_one_of_the_card() {
    let log = log!("0.5.9-simulated-llama8b");
    for (gib, name) in [(80.0, TermName::Context), (100.0, TermName::OtherProcess)] {
        let asked = bystander_memory::explain::Asked { card_gib: Some(gib), want_gib: None };
        let servers = crate::replay::explained(&[("server.log", log)], &asked).servers;
        let rank = &servers[0].ranks[0];
        adds_up(rank);
        assert_eq!((term(rank, TermName::Total), term(rank, name)), (Some(format!("{gib:.2}")), Some(format!("{:.2}", gib - 79.5))));
    }
}

#[test]
fn a_line_of_the_oldest_release_ends_with_its_context() {
    let log = "[2025-03-01 10:00:00 TP0] Load weight begin. avail mem=79.00 GB\n[2025-03-01 10:00:09 TP0] Load weight end. type=L, dtype=torch.bfloat16, avail mem=64.00 GB, mem usage=15.00 GB.\n\
               [2025-03-01 10:00:09 TP0] KV Cache is allocated. #tokens: 200000, K size: 12.21 GB, V size: 12.21 GB\n[2025-03-01 10:00:09 TP0] Memory pool end. avail mem=39.00 GB\n\
               [2025-03-01 10:00:20 TP0] Capture cuda graph end. Time elapsed: 9.00 s. avail mem=37.00 GB. mem usage=2.00 GB.\n\
               [2025-03-01 10:00:20 TP0] max_total_num_tokens=200000, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=2049, context_len=131072\n\
               [2025-03-01 10:00:21] The server is fired up and ready to roll!\n";
    let server = one(log);
    assert_eq!((server.version.high.as_deref(), server.state), (Some("0.4.6"), State::Ready));
    assert!(server.answer.contains("room for 1.5 requests"), "{}", server.answer);
    // Fields come in the other order up to 0.4.6.
    assert_eq!(term(&server.ranks[0], TermName::Graphs).as_deref(), Some("2.00"));
    assert_eq!(term(&server.ranks[0], TermName::RequestTable).as_deref(), Some("1.00"));
    // The same line, cut: what stands last may be a part of the number.
    let cut = log.split("context_len=131072").next().expect("a part").to_owned() + "context_len=13";
    assert!(!one(&cut).answer.contains("13"), "{}", one(&cut).answer);
}

#[test]
fn lines_about_memory_of_no_known_kind_are_counted() {
    let log = log!("0.5.9-simulated-llama8b").replace(
        "[2026-11-29 13:10:29] Memory pool end",
        "[2026-11-29 13:10:29] Frobnicate begin. avail mem=12.00 GB\n[2026-11-29 13:10:29] Memory pool end",
    );
    let server = one(&log);
    assert!(
        server.not_modelled.iter().any(|line| line.starts_with("1 lines about memory are of a kind that is not known")),
        "{:?}",
        server.not_modelled
    );
    adds_up(&server.ranks[0]);
}

#[test]
fn the_release_that_somebody_says_counts() {
    let log = format!("sglang==0.5.9.post1\n{}", log!("0.5.9-simulated-llama8b"));
    let server = one(&log);
    assert_eq!(server.version.low.as_deref(), Some("0.5.9.post1"));
}
