//! Input that is no log, or only a part of one: a clear word, and never a wrong number.

use bystander_memory::explain::{Asked, document};
use bystander_model::memory::{Explained, State};
use proptest::prelude::*;

use crate::replay::{explained, one, read};

const LOG: &str = include_str!("../fixtures/sglang-0.5.9-simulated-llama8b.log");

fn bytes(log: &[u8]) -> Explained {
    document(vec![read("x.log", log, 1 << 16)], Vec::new(), &Asked::default())
}

#[test]
fn what_is_no_log_is_said_to_be_none() {
    for (log, word) in [
        (b"".as_slice(), "x.log is empty"),
        (b"\x7fELF\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\n", "x.log is no text"),
        (b"hello\nworld\n", "no line of SGLang or vLLM among its 2"),
        (b"one line without an end", "no line of SGLang or vLLM among its 1"),
        (b"Traceback (most recent call last):\n  File \"x.py\", line 1, in f\nValueError: nothing of ours\n", "no line of SGLang or vLLM"),
    ] {
        let explained = bytes(log);
        assert!(explained.servers.is_empty(), "{explained:#?}");
        assert!(explained.unread.len() == 1 && explained.unread[0].contains(word), "{:?}", explained.unread);
    }
}

#[test]
fn a_log_that_is_cut_anywhere_ends_where_it_ends() {
    // Every place of the lines that are read last, and some of the long one before them.
    let long = LOG.find('\n').expect("lines");
    for end in (0..long).step_by(97).chain((long..LOG.len()).step_by(3)) {
        let Some(cut) = LOG.get(..end) else { continue };
        let explained = explained(&[("x.log", cut)], &Asked::default());
        for server in &explained.servers {
            assert!(server.cause.as_ref().is_none_or(|cause| cause.class.name() == "healthy"), "cut at {end}: {:?}", server.cause);
            assert!(matches!(server.state, State::Unknown | State::Ready), "cut at {end}");
            // A number that was cut in the middle is another number; it is told by what follows it.
            for rank in &server.ranks {
                for term in &rank.terms {
                    let known = [0.0, 0.125_06, 79.5, 14.98, 51.48, 64.52, 12.89];
                    assert!(known.iter().any(|known| (term.gib.value - known).abs() < 0.001), "cut at {end}: {term:?}");
                }
            }
        }
    }
}

#[test]
fn a_pool_of_next_to_nothing_is_advised_by_numbers_that_agree() {
    let log = include_str!("../fixtures/sglang-0.5.9-simulated-llama8b-tp2-24GiB.log");
    // As the engine would have printed it where the weights leave 3.73 GiB: 278 tokens of 65,536 bytes.
    let changed: Vec<String> = log
        .lines()
        .map(|line| match line {
            line if line.contains("Load weight end") => with_number(&with_number(line, "avail mem=", "3.73"), "mem usage=", "19.77"),
            line if line.contains("KV Cache is allocated") => {
                with_number(&with_number(&with_number(line, "#tokens: ", "278"), "K size: ", "0.01"), "V size: ", "0.01")
            }
            line if line.contains("Memory pool end") => with_number(line, "avail mem=", "3.60"),
            line => with_number(&with_number(line, "max_total_num_tokens=", "278"), "available_gpu_mem=", "3.60"),
        })
        .collect();
    let server = one(&changed.join("\n"));
    let advice = server.advice.into_iter().find(|advice| advice.knob == "mem_fraction_static").expect("advice");
    let even = advice.break_even.expect("a value");
    // 0.841277 for any token at all, and 8,192 tokens of 65,536 bytes of 23.5 GiB.
    assert!(even.low < 0.862_553 && 0.862_553 < even.high && even.low <= even.value && even.value <= even.high, "{even:?}");
    assert!((even.value - 0.862_553).abs() < 0.001, "{even:?}");
    let recommended = advice.recommended.expect("a value");
    assert!(recommended > even.high && advice.text.contains(&recommended.to_string()), "{advice:?}");
}

/// A line with another number behind some words, where they stand in it.
fn with_number(line: &str, behind: &str, number: &str) -> String {
    let Some(from) = line.find(behind).map(|at| at + behind.len()) else { return line.to_owned() };
    let length = line[from..].find(|sign: char| !(sign.is_ascii_digit() || sign == '.')).unwrap_or(line.len() - from);
    format!("{}{number}{}", &line[..from], &line[from + length..])
}

#[test]
fn bytes_that_are_no_text_leave_the_rest_readable() {
    let mut log = LOG.as_bytes().to_vec();
    log.splice(0..0, b"\xff\xfe\x80 garbage \xc3\x28\n".iter().copied());
    let explained = bytes(&log);
    assert_eq!(explained.servers.len(), 1);
    assert_eq!(explained.servers[0].formula.as_ref().map(|formula| formula.text.clone()), one(LOG).formula.map(|formula| formula.text));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn any_bytes_are_read_without_a_panic(log in proptest::collection::vec(any::<u8>(), 0..400), at in 0..2000_usize) {
        let _ = bytes(&log);
        let mut mixed = LOG.as_bytes().to_vec();
        let at = at.min(mixed.len());
        mixed.splice(at..at, log);
        let _ = bytes(&mixed);
    }

    #[test]
    fn lines_in_any_order_are_read_without_a_panic(order in proptest::collection::vec(0..12_usize, 0..60)) {
        let lines: Vec<&str> = LOG.lines().collect();
        let log: String = order.iter().filter_map(|at| lines.get(*at)).map(|line| format!("{line}\n")).collect();
        for server in bytes(log.as_bytes()).servers {
            for rank in server.ranks {
                prop_assert!(rank.terms.iter().all(|term| term.gib.value.is_finite()));
            }
        }
    }
}
