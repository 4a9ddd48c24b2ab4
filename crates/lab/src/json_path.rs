//! Paths into JSON documents, such as `a.b[0]."c.d"`.
//!
//! A path is a series of steps: a key (bare, or in double quotes where it holds dots, brackets, quotes or blanks), `[N]` for an element of a list
//! (from 0; `[-1]` is the last), `[*]` for each element. A leading `$` is allowed. There are no filters and no searches at any depth, so a path
//! says on its own where it leads, and costs no more than its steps.

use std::fmt;

use serde_json::Value;

use crate::exact;

/// A path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonPath {
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Key(String),
    At(i64),
    Each,
}

/// A text is no path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("read a path, expected {expected} at byte {at}")]
pub struct JsonPathError {
    /// Where, in bytes.
    pub at: usize,
    /// What should stand there.
    pub expected: &'static str,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Key(key) if !key.is_empty() && key.chars().all(is_bare) => f.write_str(key),
            Step::Key(key) => write!(f, "\"{}\"", key.replace('\\', "\\\\").replace('"', "\\\"")),
            Step::At(index) => write!(f, "[{index}]"),
            Step::Each => f.write_str("[*]"),
        }
    }
}

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        told(&self.steps, f)
    }
}

fn told(steps: &[Step], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (index, step) in steps.iter().enumerate() {
        if index > 0 && matches!(step, Step::Key(_)) {
            f.write_str(".")?;
        }
        write!(f, "{step}")?;
    }
    Ok(())
}

/// Whether a character may stand in a key without quotes.
fn is_bare(c: char) -> bool {
    !matches!(c, '.' | '[' | ']' | '"' | '$' | '*') && !c.is_whitespace()
}

impl JsonPath {
    /// Reads a path.
    ///
    /// # Errors
    /// [`JsonPathError`] with the place of the fault.
    pub fn parse(text: &str) -> Result<Self, JsonPathError> {
        let mut at = usize::from(text.starts_with('$'));
        let mut steps = Vec::new();
        while at < text.len() {
            let rest = &text[at..];
            if rest.starts_with('[') {
                let (step, length) = bracket(rest).map_err(|(offset, expected)| JsonPathError { at: at + offset, expected })?;
                steps.push(step);
                at += length;
                continue;
            }
            // The dot stands between a key and what comes before it.
            let after_dot = match (rest.starts_with('.'), steps.is_empty() && at == 0) {
                (true, false) => 1,
                (false, true) => 0,
                (true, true) => return Err(JsonPathError { at, expected: "a key or `[`" }),
                (false, false) => return Err(JsonPathError { at, expected: "`.` or `[`" }),
            };
            at += after_dot;
            let (key, length) = key(&text[at..]).map_err(|(offset, expected)| JsonPathError { at: at + offset, expected })?;
            steps.push(Step::Key(key));
            at += length;
        }
        if steps.is_empty() && !text.starts_with('$') {
            return Err(JsonPathError { at: 0, expected: "a key or `[`" });
        }
        Ok(Self { steps })
    }

    /// Every value that the path leads to, in the order of the document.
    #[must_use]
    pub fn find<'v>(&self, document: &'v Value) -> Vec<&'v Value> {
        let mut found = vec![document];
        for step in &self.steps {
            found = found.into_iter().flat_map(|value| step.of(value)).collect();
        }
        found
    }

    /// Why the path leads nowhere in a document: the last step that does lead somewhere, and what is there.
    #[must_use]
    pub fn lost(&self, document: &Value) -> String {
        let mut found = vec![document];
        for (index, step) in self.steps.iter().enumerate() {
            let next: Vec<&Value> = found.iter().flat_map(|value| step.of(value)).collect();
            if next.is_empty() {
                let so_far = Self { steps: self.steps[..index].to_vec() }.to_string();
                let place = if so_far.is_empty() { "the document".to_owned() } else { format!("`{so_far}`") };
                return format!("{place} has no `{step}`: it is {}", found.first().map_or_else(String::new, |value| shape(value)));
            }
            found = next;
        }
        "it leads to a value".to_owned()
    }

    /// A text that every document with a value there contains, to pass over others cheaply; `None` where there is none.
    #[must_use]
    pub fn mark(&self) -> Option<String> {
        self.steps.iter().rev().find_map(|step| match step {
            Step::Key(key) if key.chars().all(|c| c.is_ascii_alphanumeric() || "_-:.".contains(c)) => Some(format!("\"{key}\"")),
            _ => None,
        })
    }
}

impl Step {
    fn of<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        match (self, value) {
            (Step::Key(key), Value::Object(map)) => map.get(key).into_iter().collect(),
            (Step::Each, Value::Array(items)) => items.iter().collect(),
            (Step::At(index), Value::Array(items)) => {
                let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
                let index = if *index < 0 { index.checked_add(length) } else { Some(*index) };
                index.and_then(|index| usize::try_from(index).ok()).and_then(|index| items.get(index)).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Why a value of a document is no number that counts: what stands there instead, in words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoNumber {
    /// It is none, or larger than any can be.
    #[error("{shown}")]
    Other {
        /// What it is.
        shown: String,
    },
    /// Its last digits would be lost.
    #[error("{shown}, {}", exact::TOO_LONG)]
    TooLong {
        /// The number.
        shown: String,
    },
}

/// Reads a number of a document: a number, or a text that is one.
///
/// # Errors
/// See [`NoNumber`].
pub fn number(value: &Value) -> Result<f64, NoNumber> {
    let other = |shown: String| NoNumber::Other { shown };
    let too_long = |shown: &dyn fmt::Display| NoNumber::TooLong { shown: shown.to_string() };
    match value {
        Value::Number(number) => {
            let value = number.as_f64().ok_or_else(|| other("a number that is too large".to_owned()))?;
            if exact::holds(&number.to_string(), value) { Ok(value) } else { Err(too_long(number)) }
        }
        Value::String(text) => {
            let value = text.trim().parse().map_err(|_: std::num::ParseFloatError| other(shape(value)))?;
            if exact::holds(text, value) { Ok(value) } else { Err(too_long(&text.trim())) }
        }
        _ => Err(other(shape(value))),
    }
}

/// What a value is, in a few words.
fn shape(value: &Value) -> String {
    const SHOWN: usize = 8;
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => format!("`{flag}`"),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) => format!("the text {:?}", text.chars().take(40).collect::<String>()),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(map) if map.is_empty() => "an empty object".to_owned(),
        Value::Object(map) => {
            let keys: Vec<String> = map.keys().take(SHOWN).map(|key| format!("`{}`", key.chars().take(40).collect::<String>())).collect();
            let more = if map.len() > SHOWN { format!(" and {} more", map.len() - SHOWN) } else { String::new() };
            format!("an object with {}{more}", keys.join(", "))
        }
    }
}

type Fault = (usize, &'static str);

/// Reads a key at the start of a text, and its length there.
fn key(text: &str) -> Result<(String, usize), Fault> {
    if text.starts_with('"') {
        return quoted(text);
    }
    let length = text.find(|c| !is_bare(c)).unwrap_or(text.len());
    if length == 0 { Err((0, "a key")) } else { Ok((text[..length].to_owned(), length)) }
}

fn quoted(text: &str) -> Result<(String, usize), Fault> {
    let mut key = String::new();
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Ok((key, at + 1)),
            '\\' => key.extend(chars.next().map(|(_, c)| c)),
            c => key.push(c),
        }
    }
    Err((text.len(), "the closing quote"))
}

/// Reads `[…]` at the start of a text, and its length there.
fn bracket(text: &str) -> Result<(Step, usize), Fault> {
    if text[1..].starts_with('"') {
        let (key, length) = quoted(&text[1..]).map_err(|(at, expected)| (at + 1, expected))?;
        return if text[1 + length..].starts_with(']') { Ok((Step::Key(key), length + 2)) } else { Err((1 + length, "`]`")) };
    }
    let end = text.find(']').ok_or((text.len(), "`]`"))?;
    let inside = &text[1..end];
    let step = if inside == "*" {
        Step::Each
    } else {
        Step::At(inside.parse().map_err(|_: std::num::ParseIntError| (1, "a whole number, `*` or a key in quotes"))?)
    };
    Ok((step, end + 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::{JsonPath, number};

    #[test]
    fn paths_lead_to_values() {
        let document = json!({"a": {"b": [{"c.d": 1.5}, {"c.d": 2}]}, "x y": "7", "vllm:p99-ms": 3});
        let found = |path: &str| -> Vec<f64> {
            JsonPath::parse(path).expect(path).find(&document).into_iter().filter_map(|value| number(value).ok()).collect()
        };
        assert_eq!(found(r#"a.b[0]."c.d""#), [1.5]);
        assert_eq!(found(r#"$.a.b[-1]["c.d"]"#), [2.0]);
        assert_eq!(found(r#"a.b[*]."c.d""#), [1.5, 2.0]);
        assert_eq!(found(r#""x y""#), [7.0]);
        assert_eq!(found("vllm:p99-ms"), [3.0]);
        assert_eq!((found("a.b"), found("a.c"), found("a.b[2]"), found("a.b[-3]")), (vec![], vec![], vec![], vec![]));
    }

    #[test]
    fn a_path_that_leads_nowhere_says_where_it_ends() {
        let document = json!({"a": {"b": [1, 2]}});
        let lost = |path: &str| JsonPath::parse(path).expect(path).lost(&document);
        assert_eq!(lost("a.c"), "`a` has no `c`: it is an object with `b`");
        assert_eq!(lost("x"), "the document has no `x`: it is an object with `a`");
        assert_eq!(lost("a.b[7].c"), "`a.b` has no `[7]`: it is a list of 2");
        assert_eq!(lost("a.b[0].c"), "`a.b[0]` has no `c`: it is the number 1");
    }

    #[test]
    fn what_is_no_path_says_where() {
        for (text, at) in [
            ("", 0),
            (".a", 0),
            ("a.", 2),
            ("a..b", 2),
            ("a[", 2),
            ("a[x]", 2),
            ("a\"b\"", 1),
            ("\"a", 2),
            ("a[\"b]", 5),
            ("a b", 1),
            ("[0]a", 3),
        ] {
            assert_eq!(JsonPath::parse(text).expect_err(text).at, at, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_path_or_a_fault_within_it(text in "\\PC{0,24}") {
            match JsonPath::parse(&text) {
                Ok(path) => prop_assert_eq!(JsonPath::parse(&path.to_string()).map(|again| again.steps).ok(), (!path.steps.is_empty()).then_some(path.steps)),
                Err(error) => prop_assert!(error.at <= text.len()),
            }
        }
    }
}
