//! Typed access to one value of the file: what it is, where it stands, and a problem when it is something else.

use std::ops::Range;

use bystander_model::diagnostic::Diagnostic;
use toml::de::DeValue;

use super::nearest::{choices, nearest};
use super::problems::Problems;
use super::table::Table;

/// A value with its place and its path, such as `program.ready.http`.
#[derive(Debug, Clone)]
pub(super) struct Item<'a> {
    /// The path, for messages.
    pub(super) path: String,
    /// Where the key stands; for elements of lists, where the value does.
    pub(super) key: Range<usize>,
    /// Where the value stands: for tables with a header of their own, the header.
    pub(super) span: Range<usize>,
    /// The value.
    pub(super) value: &'a DeValue<'a>,
}

impl<'a> Item<'a> {
    /// The problem that something else was expected here.
    pub(super) fn expected(&self, what: &str) -> Diagnostic {
        let found = kind(self.value);
        Diagnostic::error("spec.wrong_type", format!("`{}` must be {what}, found {found}", self.path)).label(found)
    }

    /// The problem that the value is of the right type and still not valid.
    pub(super) fn invalid(&self, why: &str) -> Diagnostic {
        Diagnostic::error("spec.invalid_value", format!("`{}` {why}", self.path))
    }

    /// Reads a string.
    pub(super) fn text(&self, problems: &mut Problems<'_>) -> Option<&'a str> {
        let text = self.value.as_str();
        if text.is_none() {
            problems.push(&self.span, self.expected("a string"));
        }
        text
    }

    /// Reads a string that holds more than white space.
    pub(super) fn some_text(&self, problems: &mut Problems<'_>) -> Option<&'a str> {
        let text = self.text(problems)?;
        if text.trim().is_empty() {
            problems.push(&self.span, self.invalid("is empty"));
            return None;
        }
        Some(text)
    }

    /// Reads `true` or `false`.
    pub(super) fn flag(&self, problems: &mut Problems<'_>) -> Option<bool> {
        let flag = self.value.as_bool();
        if flag.is_none() {
            problems.push(&self.span, self.expected("`true` or `false`"));
        }
        flag
    }

    /// Reads a whole number within bounds.
    pub(super) fn integer(&self, bounds: std::ops::RangeInclusive<u64>, problems: &mut Problems<'_>) -> Option<u64> {
        let Some(integer) = self.value.as_integer() else {
            problems.push(&self.span, self.expected("a whole number"));
            return None;
        };
        let number = u64::from_str_radix(integer.as_str(), integer.radix()).ok().filter(|number| bounds.contains(number));
        if number.is_none() {
            let why = match *bounds.end() {
                u64::MAX => format!("must be at least {}", bounds.start()),
                end => format!("must be from {} to {end}", bounds.start()),
            };
            problems.push(&self.span, self.invalid(&why));
        }
        number
    }

    /// Reads a number, with or without a fraction.
    pub(super) fn number(&self, problems: &mut Problems<'_>) -> Option<f64> {
        let number = match self.value {
            DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str().parse::<f64>().ok(),
            DeValue::Float(float) => float.as_str().parse::<f64>().ok(),
            _ => None,
        };
        if number.is_none() {
            problems.push(&self.span, self.expected("a number"));
        }
        number
    }

    /// Reads one word of a closed list.
    pub(super) fn word<T: Copy>(&self, words: &[(&str, T)], problems: &mut Problems<'_>) -> Option<T> {
        let names = || words.iter().map(|(word, _)| *word);
        let Some(text) = self.value.as_str() else {
            problems.push(&self.span, self.expected(&choices(names())));
            return None;
        };
        let meant = words.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning);
        if meant.is_none() {
            let problem = self.invalid(&format!("must be {}, found `{text}`", choices(names())));
            let near = nearest(text, names()).map(|near| format!("did you mean `{near}`?"));
            problems.push(&self.span, near.into_iter().fold(problem, Diagnostic::help));
        }
        meant
    }

    /// Reads a list of anything.
    pub(super) fn list(&self, of: &str, problems: &mut Problems<'_>) -> Option<Vec<Item<'a>>> {
        let items = self.elements();
        if items.is_none() {
            problems.push(&self.span, self.expected(&format!("a list of {of}")));
        }
        items
    }

    /// The elements, where the value is a list.
    pub(super) fn elements(&self) -> Option<Vec<Item<'a>>> {
        let array = self.value.as_array()?;
        let element = |(index, value): (usize, &'a toml::Spanned<DeValue<'a>>)| Item {
            path: format!("{}[{index}]", self.path),
            key: value.span(),
            span: value.span(),
            value: value.get_ref(),
        };
        Some(array.iter().enumerate().map(element).collect())
    }

    /// Reads a list of strings, each with more in it than white space.
    pub(super) fn texts(&self, problems: &mut Problems<'_>) -> Vec<(Item<'a>, String)> {
        let items = self.list("strings", problems).unwrap_or_default();
        items.into_iter().filter_map(|item| item.some_text(problems).map(str::to_owned).map(|text| (item, text))).collect()
    }

    /// Reads a table whose keys are fixed; others are refused.
    pub(super) fn table(&self, keys: &'static [&'static str], problems: &mut Problems<'_>) -> Option<Table<'a>> {
        let table = Table { valid: keys, ..self.entries(problems)? };
        table.refuse_unknown(problems);
        Some(table)
    }

    /// Reads a table whose keys are names.
    pub(super) fn entries(&self, problems: &mut Problems<'_>) -> Option<Table<'a>> {
        let Some(table) = self.value.as_table() else {
            problems.push(&self.span, self.expected("a table"));
            return None;
        };
        Some(Table { path: self.path.clone(), span: self.span.clone(), table, valid: &[] })
    }
}

/// The type of a value, in words.
fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "a truth value",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
