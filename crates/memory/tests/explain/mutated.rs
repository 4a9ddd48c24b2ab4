//! Real logs with random damage: whatever stands there, no panic, no number that cannot be, and no more memory than the log is long.

use bystander_memory::explain::{Asked, document};
use bystander_memory::phases::Phases;
use bystander_memory::sglang::SglangReader;
use bystander_memory::vllm::VllmReader;
use bystander_model::budget::Figure;
use bystander_model::evidence::Stream;
use bystander_model::ids::{TimeNs, TrialId};
use bystander_model::reading::{ErrorSeen, LogBlock};
use proptest::prelude::*;

use crate::replay::read;

const LOGS: [&str; 14] = [
    include_str!("../fixtures/sglang-0.5.5-cpu.log"),
    include_str!("../fixtures/sglang-0.5.7-cpu.log"),
    include_str!("../fixtures/sglang-0.5.8-cpu.log"),
    include_str!("../fixtures/sglang-0.5.9-cpu-ok.log"),
    include_str!("../fixtures/sglang-0.5.9-cpu-tp2.log"),
    include_str!("../fixtures/sglang-0.5.9-simulated-llama8b.log"),
    include_str!("../fixtures/sglang-0.5.9-simulated-llama8b-tp2.log"),
    include_str!("../fixtures/sglang-0.5.9-simulated-llama8b-tp2-24GiB.log"),
    include_str!("../fixtures/sglang-0.5.23-cpu-warm.log"),
    include_str!("../fixtures/vllm-0.32.0-cpu-given.log"),
    include_str!("../fixtures/vllm-0.32.0-cpu-share.log"),
    include_str!("../fixtures/vllm-0.32.0-cpu-tp2.log"),
    include_str!("../fixtures/vllm-0.32.0-simulated-llama8b-eager.log"),
    include_str!("../fixtures/vllm-0.32.0-simulated-tp2-failed.log"),
];

/// One damage.
#[derive(Debug, Clone)]
enum Damage {
    Cut(usize, usize),
    Put(usize, Vec<u8>),
    Twice(usize, usize),
    Number(usize, String),
    End(usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<usize>();
    prop_oneof![
        (at, 0..400_usize).prop_map(|(at, length)| Damage::Cut(at, length)),
        (at, prop::collection::vec(any::<u8>(), 0..40)).prop_map(|(at, bytes)| Damage::Put(at, bytes)),
        (at, "[\\[\\](){}'\",:=\n\r\\\\ \u{1b}\u{e9}]{0,9}").prop_map(|(at, text)| Damage::Put(at, text.into_bytes())),
        (at, 0..4000_usize).prop_map(|(at, length)| Damage::Twice(at, length)),
        (at, prop_oneof!["-?[0-9]{1,30}(\\.[0-9]{1,20})?", "(1e999|NaN|inf|-0|0|0\\.0|,,,|1,2,3|9{400})"])
            .prop_map(|(at, number)| Damage::Number(at, number)),
        at.prop_map(Damage::End),
    ]
}

fn damaged(log: &str, all: &[Damage]) -> Vec<u8> {
    let mut log = log.as_bytes().to_vec();
    for damage in all {
        let length = log.len();
        let within = |at: usize| at % (length + 1);
        match damage {
            Damage::Cut(at, long) => drop(log.drain(within(*at)..(within(*at) + long).min(length))),
            Damage::Put(at, bytes) => drop(log.splice(within(*at)..within(*at), bytes.iter().copied())),
            Damage::Twice(at, long) => {
                let part = log[within(*at)..(within(*at) + long).min(length)].to_vec();
                log.splice(within(*at)..within(*at), part);
            }
            // The number that comes next is another one.
            Damage::Number(at, number) => {
                let from = within(*at);
                let Some(start) = log[from..].iter().position(u8::is_ascii_digit).map(|start| from + start) else { continue };
                let end = log[start..].iter().position(|byte| !byte.is_ascii_digit() && *byte != b'.').map_or(length, |end| start + end);
                log.splice(start..end, number.bytes());
            }
            Damage::End(at) => log.truncate(within(*at)),
        }
    }
    log
}

fn can_be(figure: &Figure) -> bool {
    let all = [figure.low, figure.value, figure.high];
    all.iter().all(|number| number.is_finite()) && figure.low <= figure.high
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn explain_takes_any_damage(which in 0..LOGS.len(), all in prop::collection::vec(damage(), 1..8), block in 1..9000_usize, card in prop::option::of(1.0..300.0_f64)) {
        let log = damaged(LOGS[which], &all);
        let asked = Asked { card_gib: card, want_gib: card.map(|card| card / 7.0) };
        let explained = document(vec![read("x.log", &log, block)], Vec::new(), &asked);
        for server in &explained.servers {
            for rank in &server.ranks {
                prop_assert!(rank.terms.iter().map(|term| &term.gib).chain(&rank.unexplained_gib).all(can_be), "{rank:#?}");
            }
            let formula = server.formula.iter().flat_map(|formula| [Some(&formula.rest_gib), formula.tokens.as_ref()]).flatten();
            prop_assert!(formula.into_iter().all(can_be), "{:#?}", server.formula);
            for advice in &server.advice {
                prop_assert!(advice.recommended.is_none_or(|value| value > 0.0 && value.is_finite()), "{advice:#?}");
            }
        }
    }

    #[test]
    fn readers_of_trials_take_any_damage(which in 0..LOGS.len(), all in prop::collection::vec(damage(), 1..8), kind in "(RuntimeError|ValueError|torch.OutOfMemoryError|)") {
        let log = damaged(LOGS[which], &all);
        let text = String::from_utf8_lossy(&log);
        let (mut sglang, mut vllm, mut phases) = (SglangReader::new(), VllmReader::new(), Phases::default());
        let mut number = 1;
        for part in text.split_inclusive('\n').collect::<Vec<_>>().chunks(7) {
            let part = part.concat();
            let block = LogBlock { stream: Stream::Stderr, first: number, time: TimeNs(number), text: &part };
            sglang.block(&block);
            vllm.block(&block);
            phases.block(&block);
            number += block.count();
        }
        let error = ErrorSeen { stream: Stream::Stderr, line: number, kind: &kind, message: text.lines().last().unwrap_or_default() };
        for reading in [sglang.finish(TrialId(1), None), sglang.finish(TrialId(1), Some(&error)), vllm.finish(TrialId(1), None), vllm.finish(TrialId(1), Some(&error))] {
            if let Some(budget) = reading.budget {
                let others = budget.alternatives.iter().flat_map(|other| [Some(&other.rest_gib), other.tokens.as_ref(), Some(&other.headroom_gib)]);
                let own = [Some(&budget.total_gib), Some(&budget.available_gib), Some(&budget.rest_gib), Some(&budget.break_even), budget.tokens.as_ref()];
                prop_assert!(own.into_iter().chain(others).flatten().all(can_be), "{budget:#?}");
            }
        }
    }
}
