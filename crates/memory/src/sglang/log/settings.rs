//! The arguments as the engine printed them, in both forms: `ServerArgs(a=1, b='x')` and `{'a': 1, 'b': 'x'}`.

use crate::explain::facts::Settings;
use crate::line::Place;

/// Fields that are kept.
const FIELDS: usize = 800;
/// The longest value that is kept, in bytes.
const VALUE: usize = 200;

/// Reads every field of a line that holds the arguments.
pub(super) fn read(text: &str, settings: &mut Settings, place: &Place) {
    let Some(start) = text
        .find("ServerArgs(")
        .map(|at| at + "ServerArgs(".len())
        .or_else(|| text.find("server_args={").map(|at| at + "server_args={".len()))
    else {
        return;
    };
    for field in fields(&text[start..]).take(FIELDS) {
        if let Some((name, value)) = named(field) {
            settings.set(name, value, place);
        }
    }
}

/// The parts between commas that stand in no bracket and no quotes, up to the bracket that closes all.
fn fields(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (mut depth, mut quote, mut escaped) = (0_u32, None, false);
        let mut last = false;
        let end = rest.char_indices().find_map(|(at, c)| {
            match (quote, c) {
                (Some(_), _) if escaped => escaped = false,
                (Some(_), '\\') => escaped = true,
                (Some(open), c) if c == open => quote = None,
                (Some(_), _) => {}
                // An apostrophe within a word opens nothing.
                (None, '\'' | '"') if opens(&rest[..at]) => quote = Some(c),
                (None, '(' | '[' | '{') => depth += 1,
                (None, ')' | ']' | '}') if depth == 0 => {
                    last = true;
                    return Some(at);
                }
                (None, ')' | ']' | '}') => depth -= 1,
                (None, ',') if depth == 0 => return Some(at),
                _ => {}
            }
            None
        });
        if rest.is_empty() {
            return None;
        }
        let field = &rest[..end.unwrap_or(rest.len())];
        rest = end.filter(|_| !last).map_or("", |end| &rest[end + 1..]);
        Some(field)
    })
}

fn opens(before: &str) -> bool {
    before.chars().next_back().is_none_or(|c| !c.is_alphanumeric())
}

/// The name and the value of a field.
fn named(field: &str) -> Option<(&str, &str)> {
    let field = field.trim();
    let (name, value) = match field.strip_prefix('\'') {
        Some(rest) => rest.split_once('\'').and_then(|(name, rest)| Some((name, rest.trim_start().strip_prefix(':')?)))?,
        None => field.split_once('=')?,
    };
    // A report may leave fields out: `... device='npu'`.
    let name = name.rsplit([' ', '.']).next().unwrap_or(name);
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let value = value.trim();
    let value = match value.chars().next() {
        Some(quote @ ('\'' | '"')) => value[1..].split(quote).next().unwrap_or(""),
        // What follows a bare word or number is no part of it.
        Some(first) if first.is_ascii_alphanumeric() || first == '-' => value.split(' ').next().unwrap_or(""),
        _ => value,
    };
    let end = (0..=value.len().min(VALUE)).rev().find(|end| value.is_char_boundary(*end)).unwrap_or(0);
    is_name.then_some((name, &value[..end]))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::read;
    use crate::explain::facts::Settings;
    use crate::line::Place;

    fn settings(text: &str) -> Settings {
        let mut settings = Settings::default();
        read(text, &mut settings, &Place { source: Arc::from("log"), line: 1 });
        settings
    }

    #[test]
    fn both_forms_are_read_with_nesting_and_quotes() {
        let plain = settings(
            "server_args=ServerArgs(a='x, y=2', b=[1, 2], c=Foo(d=3), tp_size=2, e='it\\'s', mem_fraction_static=0.842, last=True) tail=9",
        );
        assert_eq!(plain.get("a"), Some("x, y=2"));
        assert_eq!(plain.number("mem_fraction_static"), Some(0.842));
        assert_eq!((plain.count("tp_size"), plain.flag("last")), (Some(2), Some(true)));
        assert_eq!((plain.get("d"), plain.get("y"), plain.get("tail")), (None, None, None));
        let dict = settings("server_args={'tp_size': 4, 'x': None, 'json': '{\"a\": 1}', 'mem_fraction_static': 0.3}");
        assert_eq!((dict.count("tp_size"), dict.get("x"), dict.number("mem_fraction_static")), (Some(4), None, Some(0.3)));
        assert_eq!(dict.get("json"), Some("{\"a\": 1}"));
    }

    #[test]
    fn reports_with_gaps_are_read_as_far_as_they_go() {
        let gaps = settings("server_args=ServerArgs(... device='npu', tp_size=1, mem_fraction_static=0.9, max_total_tokens=1572864 ...");
        assert_eq!(
            (gaps.get("device"), gaps.number("mem_fraction_static"), gaps.count("max_total_tokens")),
            (Some("npu"), Some(0.9), Some(1_572_864))
        );
        let open = settings("server_args=ServerArgs(mem_fraction_static=<F> ...)");
        assert_eq!(open.number("mem_fraction_static"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "\\PC{0,80}") {
            let _ = settings(&format!("server_args=ServerArgs({text}"));
            let _ = settings(&format!("server_args={{{text}"));
        }
    }
}
