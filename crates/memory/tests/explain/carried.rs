//! Logs as they come: with prefixes of whoever carried them, coloured, several servers in one.

use bystander_memory::explain::{Asked, document};
use bystander_model::memory::{Explained, Server, State};

use crate::replay::{explained, one, read};

const LOG: &str = include_str!("../fixtures/sglang-0.5.9-simulated-llama8b-tp2-24GiB.log");
const OTHER: &str = include_str!("../fixtures/sglang-0.5.9-simulated-llama8b.log");

fn prefixed(log: &str, prefix: &str) -> String {
    log.lines().map(|line| format!("{prefix}{line}\n")).collect()
}

/// What is left of a server without places.
fn told(server: &Server) -> (State, String, Vec<String>) {
    let terms = server.ranks.iter().flat_map(|rank| rank.terms.iter().map(|term| format!("{:?} {:.3}", term.name, term.gib.value)));
    (server.state, server.formula.as_ref().expect("a formula").text.clone(), terms.collect())
}

#[test]
fn prefixes_and_colours_change_nothing() {
    let plain = told(&one(LOG));
    for prefix in [
        "engine-1  | ",
        "\u{1b}[36mengine-1  |\u{1b}[0m ",
        "2026-11-29T13:31:46.123456789Z stderr F ",
        "2026-11-29T13:31:46.123456789Z ",
        "Nov 29 13:31:46 node7 sglang[4242]: ",
        "2026-11-29T13:31:46+0000 node7 sglang.service[4242]: ",
        "[pod/engine-0/server] ",
        "\u{1b}[32m",
    ] {
        assert_eq!(told(&one(&prefixed(LOG, prefix))), plain, "{prefix:?}");
    }
    let json: String =
        LOG.lines().map(|line| format!("{}\n", serde_json::json!({ "log": format!("{line}\n"), "stream": "stderr" }))).collect();
    assert_eq!(told(&one(&json)), plain);
    assert_eq!(told(&one(&LOG.replace('\n', "\r\n"))), plain);
}

/// Puts something behind every so many letters of a log, but for its line ends.
fn sprinkled(log: &str, colour: &str, every: usize) -> String {
    let lines = log.lines().map(|line| {
        let letters: Vec<char> = line.chars().collect();
        letters.chunks(every).map(|part| part.iter().collect::<String>()).collect::<Vec<_>>().join(colour) + "\n"
    });
    lines.collect()
}

#[test]
fn colours_within_words_change_nothing() {
    let plain = told(&one(LOG));
    for (colour, every) in [("\u{1b}[31m", 5), ("\u{1b}[0m\u{1b}[1;38;5;208m", 7), ("\u{1b}(B\u{1b}[m", 11), ("\u{1b}[K", 3)] {
        let log = sprinkled(LOG, colour, every);
        assert_eq!(told(&one(&log)), plain, "{colour:?}");
        let json: String = log.lines().map(|line| format!("{}\n", serde_json::json!({ "log": format!("{line}\n") }))).collect();
        assert_eq!(told(&one(&json)), plain, "{colour:?} in JSON");
        let whole = document(vec![read("server.log", log.as_bytes(), 1 << 20)], Vec::new(), &Asked::default());
        for block in [1, 64, 1000] {
            assert_eq!(
                document(vec![read("server.log", log.as_bytes(), block)], Vec::new(), &Asked::default()),
                whole,
                "{colour:?} {block}"
            );
        }
    }
}

#[test]
fn blocks_may_cut_lines_anywhere() {
    let whole = document(vec![read("server.log", LOG.as_bytes(), 1 << 20)], Vec::new(), &Asked::default());
    for block in [1, 7, 64, 1000, LOG.len() - 1] {
        assert_eq!(document(vec![read("server.log", LOG.as_bytes(), block)], Vec::new(), &Asked::default()), whole, "{block}");
    }
}

/// Two logs line by line in turns.
fn interleaved(a: &str, b: &str) -> String {
    let (mut a, mut b) = (a.lines(), b.lines());
    let mut both = String::new();
    loop {
        match (a.next(), b.next()) {
            (None, None) => return both,
            (first, second) => first.into_iter().chain(second).for_each(|line| both.push_str(&format!("{line}\n"))),
        }
    }
}

#[test]
fn servers_of_one_log_are_told_apart_by_their_containers() {
    let both = interleaved(&prefixed(LOG, "small-1  | "), &prefixed(OTHER, "large-1  | "));
    let servers = explained(&[("compose.log", &both)], &Asked::default()).servers;
    let names: Vec<&str> = servers.iter().filter_map(|server| Some(server.mixed_in.as_ref()?.value.as_str())).collect();
    assert_eq!(names, ["small-1", "large-1"]);
    assert_eq!((told(&servers[0]), told(&servers[1])), (told(&one(LOG)), told(&one(OTHER))));
}

#[test]
fn servers_that_nothing_tells_apart_get_no_number() {
    let Explained { servers, .. } = explained(&[("both.log", &interleaved(OTHER, OTHER))], &Asked::default());
    assert_eq!(servers.len(), 2, "{servers:#?}");
    for server in servers {
        assert!(server.ranks.is_empty() && server.formula.is_none(), "{server:#?}");
        assert!(server.contradictions.iter().any(|line| line.contains("nothing tells their lines apart")), "{:?}", server.contradictions);
        assert!(server.advice.is_empty(), "{:?}", server.advice);
    }
}

#[test]
fn starts_that_follow_each_other_are_one_each() {
    let failed: String = OTHER.lines().take(6).map(|line| format!("{line}\n")).collect();
    let servers = explained(&[("server.log", &format!("{failed}{OTHER}"))], &Asked::default()).servers;
    assert_eq!(servers.iter().map(|server| server.state).collect::<Vec<_>>(), [State::Unknown, State::Ready]);
    assert_eq!(servers[1].formula.as_ref().map(|formula| formula.text.clone()), one(OTHER).formula.map(|formula| formula.text));
    // Many restarts keep the first and the last ones.
    let many = OTHER.repeat(200);
    let servers = explained(&[("server.log", &many)], &Asked::default()).servers;
    assert!(servers.len() <= 64 && servers.iter().all(|server| server.state == State::Ready), "{}", servers.len());
}

#[test]
fn two_servers_whose_lines_nothing_tells_apart_give_no_number_wherever_the_log_ends() {
    for (first, second) in [(LOG, OTHER), (OTHER, LOG)] {
        let both = interleaved(first, second);
        let lines: Vec<&str> = both.lines().collect();
        for count in (10..lines.len()).chain([lines.len()]) {
            let cut: String = lines[..count].iter().map(|line| format!("{line}\n")).collect();
            for server in explained(&[("x.log", &cut)], &Asked::default()).servers {
                let formula = server.formula.map(|formula| formula.text);
                let is_right = |text: &String| {
                    ["16.00 \u{2212} 23.50 \u{d7} (1 \u{2212} 0.842)", "64.52 \u{2212} 79.50 \u{d7} (1 \u{2212} 0.836)"]
                        .iter()
                        .any(|right| text.contains(right))
                };
                assert!(formula.as_ref().is_none_or(is_right), "{count} lines: {formula:?}");
            }
        }
    }
}
