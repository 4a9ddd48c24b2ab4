//! Whatever the file holds: no panic, and every place lies in the text.

use std::ops::Range;
use std::path::Path;

use bystander_lab::spec;
use bystander_model::diagnostic::Diagnostic;
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_oneof, proptest};
use proptest::sample::{Index, select};

use crate::shown::{FILE, problems};

const STORY: &str = include_str!("story.toml");

/// One change of a text: at a character, so many characters out, so much in.
#[derive(Debug, Clone)]
struct Change {
    at: Index,
    out: usize,
    text: String,
}

fn change() -> impl Strategy<Value = Change> {
    let pieces = select(vec![
        "\"",
        "'",
        "\"\"\"",
        "[",
        "]",
        "{",
        "}",
        "[[",
        "]]",
        ",",
        "=",
        ".",
        "\n",
        "\r\n",
        "\\",
        "#",
        "1",
        "-1",
        "1e999",
        "nan",
        "true",
        "1979-05-27",
        "é",
        "𝄞",
        "\u{feff}",
        "\0",
        "{prot}",
        "(",
        "(?i",
        "none",
        "+",
        "instrument",
        "[plan]\n",
        "[[probes]]\n",
        "[factors.é]\n",
    ]);
    let text = prop_oneof![4 => pieces.prop_map(str::to_owned), 1 => Just(String::new()), 1 => any::<String>()];
    let out = prop_oneof![3 => 0..3_usize, 1 => 0..80_usize];
    (any::<Index>(), out, text).prop_map(|(at, out, text)| Change { at, out, text })
}

/// Where the values of the story stand, but for those that are only headers.
fn places() -> Vec<Range<usize>> {
    let checked = spec::parse(STORY, Path::new(FILE)).expect("the story is valid");
    checked
        .places
        .into_values()
        .filter(|place| !STORY[place.clone()].starts_with("[factors") && !STORY[place.clone()].starts_with("[["))
        .collect()
}

/// A value of any type, small ones that are valid somewhere among them.
fn value() -> impl Strategy<Value = String> {
    let scalar = select(vec![
        "''",
        "' '",
        "'none'",
        "'print'",
        "'print+kv-budget'",
        "'nccl'",
        "'{port}'",
        "'{prot}'",
        "'8000'",
        "'15m'",
        "'('",
        "'(a)'",
        "'a:b'",
        "'é/𝄞'",
        "0",
        "-1",
        "70000",
        "99999999999999999999",
        "0x10",
        "1.5",
        "inf",
        "nan",
        "true",
        "1979-05-27",
        "[]",
        "{}",
        "\"\\u0000\\n\"",
    ]);
    scalar.prop_map(str::to_owned).prop_recursive(3, 12, 4, |inner| {
        let list = proptest::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(", ")));
        let keys = select(vec!["min", "max", "log", "from", "args", "env", "cell", "outcome", "instrument", "allreduce", "http", "'é'"]);
        let table = (keys, inner).prop_map(|(key, value)| format!("{{ {key} = {value} }}"));
        prop_oneof![list, table]
    })
}

fn apply(text: &str, change: &Change) -> String {
    let at = change.at.index(text.chars().count() + 1);
    let head = text.chars().take(at);
    let tail = text.chars().skip(at + change.out);
    head.chain(change.text.chars()).chain(tail).collect()
}

fn sound(text: &str, problem: &Diagnostic) -> bool {
    let place = problem.span.as_ref().is_none_or(|span| text.get(span.clone()).is_some());
    place && !problem.message.contains(char::is_control) && !problem.message.is_empty()
}

proptest! {
    #[test]
    fn a_changed_story_never_panics_and_its_problems_have_places(changes in proptest::collection::vec(change(), 1..6)) {
        let text = changes.iter().fold(STORY.to_owned(), |text, change| apply(&text, change));
        for problem in problems(&text) {
            prop_assert!(sound(&text, &problem), "{problem:?}");
        }
    }

    #[test]
    fn any_value_in_place_of_another_is_told_where_it_stands(which in any::<Index>(), value in value()) {
        let place = which.get(&places()).clone();
        let text = format!("{}{value}{}", &STORY[..place.start], &STORY[place.end..]);
        for problem in problems(&text) {
            prop_assert!(sound(&text, &problem), "{problem:?}");
        }
    }

    #[test]
    fn a_file_without_some_of_its_lines_is_read_without_a_panic(kept in proptest::collection::vec(proptest::bool::weighted(0.9), 60)) {
        let lines = STORY.lines().zip(kept).filter(|(_, kept)| *kept);
        let text: String = lines.map(|(line, _)| format!("{line}\n")).collect();
        for problem in problems(&text) {
            prop_assert!(sound(&text, &problem), "{problem:?}");
        }
    }

    #[test]
    fn any_text_is_read_without_a_panic(text in any::<String>()) {
        for problem in problems(&text) {
            prop_assert!(sound(&text, &problem), "{problem:?}");
        }
    }
}
