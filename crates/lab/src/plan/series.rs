//! The name of a Prometheus series with its labels, as a file writes it.

use std::fmt;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// A metric's name and the labels that must be there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// The name, without labels.
    pub name: String,
    /// Labels and their values; a series may have more.
    pub labels: IndexMap<String, String>,
}

/// A text is no series.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("read a series, expected {expected} at byte {at}")]
pub struct SeriesError {
    /// Where, in bytes.
    pub at: usize,
    /// What should stand there.
    pub expected: &'static str,
}

impl fmt::Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        for (index, (name, value)) in self.labels.iter().enumerate() {
            write!(f, "{}{name}={value:?}", if index == 0 { "{" } else { "," })?;
        }
        if self.labels.is_empty() { Ok(()) } else { f.write_str("}") }
    }
}

impl Series {
    /// Reads `name` or `name{label="value",…}`; in values `\\`, `\"` and `\n` are escapes.
    ///
    /// # Errors
    /// [`SeriesError`] where the text is something else, such as a selector with `=~`.
    pub fn parse(text: &str) -> Result<Self, SeriesError> {
        let text = text.trim();
        let mut reader = Reader { text, at: 0 };
        let name = reader.word(|c| c.is_ascii_alphanumeric() || "_:.".contains(c), "the name of a metric")?.to_owned();
        let mut labels = IndexMap::new();
        reader.blank();
        if reader.take('{') {
            while !reader.take('}') {
                let label = reader.word(|c| c.is_ascii_alphanumeric() || "_.".contains(c), "a label or `}`")?.to_owned();
                reader.expect('=', "`=`")?;
                let value = reader.quoted()?;
                labels.insert(label, value);
                if !reader.take(',') {
                    reader.expect('}', "`,` or `}`")?;
                    break;
                }
            }
        }
        reader.blank();
        if reader.at < text.len() {
            return Err(reader.fault("the end"));
        }
        Ok(Self { name, labels })
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn fault(&self, expected: &'static str) -> SeriesError {
        SeriesError { at: self.at, expected }
    }

    fn blank(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn take(&mut self, wanted: char) -> bool {
        self.blank();
        let found = self.rest().starts_with(wanted);
        self.at += if found { wanted.len_utf8() } else { 0 };
        found
    }

    fn expect(&mut self, wanted: char, expected: &'static str) -> Result<(), SeriesError> {
        if self.take(wanted) { Ok(()) } else { Err(self.fault(expected)) }
    }

    fn word(&mut self, is_part: impl Fn(char) -> bool, expected: &'static str) -> Result<&'a str, SeriesError> {
        self.blank();
        let rest = self.rest();
        let word = rest.split(|c| !is_part(c)).next().unwrap_or_default();
        if word.is_empty() {
            return Err(self.fault(expected));
        }
        self.at += word.len();
        Ok(word)
    }

    fn quoted(&mut self) -> Result<String, SeriesError> {
        self.expect('"', "a value in double quotes")?;
        let mut value = String::new();
        let mut chars = self.rest().char_indices();
        while let Some((offset, c)) = chars.next() {
            match c {
                '"' => {
                    self.at += offset + 1;
                    return Ok(value);
                }
                '\\' => match chars.next() {
                    Some((_, 'n')) => value.push('\n'),
                    Some((_, other)) => value.push(other),
                    None => break,
                },
                other => value.push(other),
            }
        }
        self.at = self.text.len();
        Err(self.fault("the closing quote of a value"))
    }
}

#[cfg(test)]
mod tests {
    use super::Series;

    #[test]
    fn series_are_read_back_as_they_are_written() {
        for text in ["up", "vllm:num_requests_running", r#"a{b="c",d="e\"f\\"}"#] {
            let series = Series::parse(text).expect("is a series");
            assert_eq!(series.to_string(), text);
            assert_eq!(Series::parse(&series.to_string()), Ok(series));
        }
        assert_eq!(Series::parse(" a { b = \"c\" , } ").expect("is a series").to_string(), r#"a{b="c"}"#);
    }

    #[test]
    fn what_is_no_series_says_where() {
        for (text, at) in
            [("", 0), ("{a=\"b\"}", 0), ("a{b=~\"c\"}", 4), ("a{b=\"c}", 7), ("a b", 2), ("a{b}", 3), ("a{", 2), ("a{b=\"c\" d", 8)]
        {
            assert_eq!(Series::parse(text).expect_err(text).at, at, "{text}");
        }
    }
}
