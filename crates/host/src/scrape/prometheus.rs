//! The Prometheus text format: what `/metrics` answers, line by line.
//!
//! By the text exposition format 0.0.4, and what OpenMetrics 1.0 and names in quotes add. A line that is no sample is counted and passed over: a
//! server's one odd line must not cost the rest. Nothing is copied but labels with escapes in them.

use std::borrow::Cow;
use std::collections::HashMap;

use bystander_lab::plan::Series;

/// One value of one series.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample<'a> {
    /// The name.
    pub name: Cow<'a, str>,
    /// The labels, in their order.
    pub labels: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    /// The value; may be NaN or infinite.
    pub value: f64,
    /// Its line, from 1.
    pub line: u32,
}

/// What kind of metric a `# TYPE` line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It only grows.
    Counter,
    /// It is as it is now.
    Gauge,
    /// It counts observations, `_sum` and `_count` among them: a histogram or a summary.
    Observations,
    /// Nothing is known.
    Other,
}

/// Everything that an answer holds.
#[derive(Debug, Clone, Default)]
pub struct Exposition<'a> {
    /// The samples, in their order.
    pub samples: Vec<Sample<'a>>,
    kinds: HashMap<Cow<'a, str>, Kind>,
    /// Lines that are neither samples nor comments.
    pub odd_lines: u32,
}

impl<'a> Exposition<'a> {
    /// Reads an answer.
    #[must_use]
    pub fn parse(text: &'a str) -> Self {
        let mut out = Self::default();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if let Some(comment) = line.strip_prefix('#') {
                out.comment(comment.trim_start());
            } else if !line.is_empty() {
                match sample(line, number) {
                    Some(sample) => out.samples.push(sample),
                    None => out.odd_lines += 1,
                }
            }
        }
        out
    }

    fn comment(&mut self, comment: &'a str) {
        let Some(rest) = comment.strip_prefix("TYPE").filter(|rest| rest.starts_with([' ', '\t'])) else { return };
        let rest = rest.trim_start();
        let Some((name, kind)) = (if rest.starts_with('"') { quoted(rest) } else { word(rest) }) else { return };
        let kind = match kind.trim() {
            "counter" => Kind::Counter,
            "gauge" => Kind::Gauge,
            "histogram" | "summary" => Kind::Observations,
            _ => Kind::Other,
        };
        self.kinds.insert(name, kind);
    }

    /// What kind of metric a name stands for. OpenMetrics writes the type of a counter without its `_total`.
    #[must_use]
    pub fn kind(&self, name: &str) -> Kind {
        let bare = || ["_total", "_sum", "_count", "_bucket"].into_iter().find_map(|end| self.kinds.get(name.strip_suffix(end)?));
        match self.kinds.get(name).or_else(bare) {
            // The parts of a histogram are counters themselves.
            Some(Kind::Observations) if !self.kinds.contains_key(name) => Kind::Counter,
            Some(kind) => *kind,
            None if name.ends_with("_total") => Kind::Counter,
            None => Kind::Other,
        }
    }

    /// The samples of a name with at least these labels.
    #[must_use]
    pub fn select(&self, name: &str, series: &Series) -> Vec<&Sample<'a>> {
        let fits = |sample: &&Sample<'a>| {
            sample.name == name && series.labels.iter().all(|(label, value)| sample.label(label) == Some(value.as_str()))
        };
        self.samples.iter().filter(fits).collect()
    }

    /// The names that samples have, once each, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let mut last = "";
        self.samples.iter().map(|sample| sample.name.as_ref()).filter(move |name| std::mem::replace(&mut last, name) != *name)
    }
}

impl Sample<'_> {
    /// The value of a label.
    #[must_use]
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|(label, _)| label == name).map(|(_, value)| value.as_ref())
    }

    /// The labels in an order of their own, as the identity of the series.
    #[must_use]
    pub fn key(&self) -> Vec<(&str, &str)> {
        let mut key: Vec<(&str, &str)> = self.labels.iter().map(|(label, value)| (label.as_ref(), value.as_ref())).collect();
        key.sort_unstable();
        key
    }
}

/// Reads `name{label="value",…} value [timestamp] [# exemplar]`.
fn sample(line: &str, number: u32) -> Option<Sample<'_>> {
    let (mut name, mut rest) = if line.starts_with('{') { (Cow::Borrowed(""), line) } else { word(line)? };
    let mut labels = Vec::new();
    if let Some(mut inside) = rest.strip_prefix('{') {
        loop {
            inside = inside.trim_start();
            if let Some(after) = inside.strip_prefix('}') {
                rest = after;
                break;
            }
            let (label, after) = if inside.starts_with('"') { quoted(inside)? } else { word(inside)? };
            let after = after.trim_start();
            inside = if let Some(after) = after.strip_prefix('=') {
                let (value, after) = quoted(after.trim_start())?;
                labels.push((label, value));
                after.trim_start()
            } else if name.is_empty() {
                name = label;
                after
            } else {
                return None;
            };
            inside = inside.strip_prefix(',').or_else(|| inside.starts_with('}').then_some(inside))?;
        }
    }
    let value = rest.split_ascii_whitespace().next()?.parse().ok()?;
    // A value without a blank before it belongs to the name.
    (!name.is_empty() && (rest.starts_with([' ', '\t']) || line.contains('{'))).then_some(Sample { name, labels, value, line: number })
}

/// Splits a bare name off.
fn word(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let end = text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | ':' | '.' | '-'))).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    (!name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit())).then_some((Cow::Borrowed(name), rest))
}

/// Splits a text in double quotes off; `\\`, `\"` and `\n` are its escapes.
fn quoted(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let inside = text.strip_prefix('"')?;
    let plain = inside.find(['"', '\\'])?;
    if inside.as_bytes().get(plain) == Some(&b'"') {
        return Some((Cow::Borrowed(&inside[..plain]), &inside[plain + 1..]));
    }
    let mut out = inside[..plain].to_owned();
    let mut chars = inside[plain..].char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((Cow::Owned(out), &inside[plain + at + 1..])),
            '\\' => match chars.next()?.1 {
                'n' => out.push('\n'),
                escaped @ ('"' | '\\') => out.push(escaped),
                other => out.extend(['\\', other]),
            },
            other => out.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Exposition, Kind};
    use bystander_lab::plan::Series;
    use proptest::prelude::*;

    /// A name, its labels and the value.
    type One = (String, Vec<(String, String)>, f64);

    fn one(line: &str) -> Option<One> {
        let read = Exposition::parse(line);
        let sample = read.samples.first()?;
        let labels = sample.labels.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        Some((sample.name.to_string(), labels, sample.value))
    }

    #[test]
    fn samples_of_every_form_are_read() {
        let label = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(one("up 1"), Some(("up".into(), vec![], 1.0)));
        assert_eq!(
            one("vllm:kv_cache_usage_perc{engine=\"0\"} 0.25 1700000000000"),
            Some(("vllm:kv_cache_usage_perc".into(), vec![label("engine", "0")], 0.25))
        );
        assert_eq!(
            one(r#"a { b = "c\"d\\e\nf" , } 2e3"#).map(|(_, labels, value)| (labels, value)),
            None,
            "a blank before the brace is none"
        );
        assert_eq!(one(r#"a{ b = "c\"d\\e\nf" , } 2e3"#), Some(("a".into(), vec![label("b", "c\"d\\e\nf")], 2000.0)));
        assert_eq!(one(r#"h_bucket{le="+Inf"} 17 # {trace="x"} 0.5"#), Some(("h_bucket".into(), vec![label("le", "+Inf")], 17.0)));
        assert_eq!(one(r#"{"my.name",x="y"} 3"#), Some(("my.name".into(), vec![label("x", "y")], 3.0)));
        assert_eq!(one("a +Inf").map(|found| found.2), Some(f64::INFINITY));
        assert_eq!(one("a -Inf").map(|found| found.2), Some(f64::NEG_INFINITY));
        assert!(one("a NaN").is_some_and(|found| found.2.is_nan()));
        assert_eq!(one("a{} 1\r"), Some(("a".into(), vec![], 1.0)));
    }

    #[test]
    fn what_is_no_sample_is_counted_and_passed_over() {
        let text = "<html>\na\na{\na{b}\na{b=\"c\" 1\na{b=\"c}\na x\n1a 3\n{} 1\n{\"a\",\"b\"} 1\nok 7\n\n# a comment\n#EOF\n";
        let read = Exposition::parse(text);
        assert_eq!((read.samples.len(), read.samples[0].name.as_ref(), read.samples[0].line, read.odd_lines), (1, "ok", 11, 10));
    }

    #[test]
    fn types_are_known_with_and_without_suffix() {
        let read = Exposition::parse(
            "# TYPE a_total counter\n# TYPE b counter\n#  TYPE g gauge\n# TYPE h histogram\n# HELP h some TYPE text\n# TYPE s summary\n",
        );
        let kinds = ["a_total", "b_total", "g", "h", "h_sum", "h_bucket", "s", "x_total", "x"].map(|name| read.kind(name));
        use Kind::{Counter, Gauge, Observations, Other};
        assert_eq!(kinds, [Counter, Counter, Gauge, Observations, Counter, Counter, Observations, Counter, Other]);
    }

    #[test]
    fn labels_choose_among_series() {
        let read = Exposition::parse("a{x=\"1\",y=\"2\"} 1\na{x=\"1\",y=\"3\"} 2\na{x=\"2\"} 3\nab 4\n");
        let count = |text: &str| {
            let series = Series::parse(text).expect("is a series");
            read.select(&series.name, &series).len()
        };
        assert_eq!((count("a"), count(r#"a{x="1"}"#), count(r#"a{y="3",x="1"}"#), count(r#"a{z=""}"#), count("b")), (3, 2, 1, 0, 0));
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "(?s).{0,200}") {
            let _ = Exposition::parse(&text);
        }

        #[test]
        fn lines_that_look_like_samples_are_read_without_a_panic(text in r#"([a-z#{}="\\,+0-9 .\n]|TYPE |Inf|NaN|\PC){0,80}"#) {
            let read = Exposition::parse(&text);
            for sample in &read.samples {
                prop_assert!(!sample.name.is_empty());
            }
        }

        #[test]
        fn what_is_written_is_read(name in "[a-zA-Z_:][a-zA-Z0-9_:]{0,12}", value in any::<f64>(), labels in proptest::collection::vec(("[a-zA-Z_][a-zA-Z0-9_]{0,6}", "\\PC{0,8}|[\\\\\"\n]{0,4}"), 0..4)) {
            let escape = |text: &str| text.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
            let inside: Vec<String> = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escape(value))).collect();
            let read = one(&format!("{name}{{{}}} {value}", inside.join(",")));
            let (read_name, read_labels, read_value) = read.expect("is read");
            prop_assert_eq!((read_name, read_labels), (name, labels));
            prop_assert!(read_value == value || (read_value.is_nan() && value.is_nan()));
        }
    }
}
