//! The place of a probe: `module:function`, with a moment of it, or `path/to/file.py:LINE`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Where a probe goes, as typed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Place {
    /// `module:function`, the function by its qualified name, such as `engine.sizing:Pool.resize`.
    Function {
        /// The dotted module.
        module: String,
        /// The dotted function.
        function: String,
        /// When in a call.
        moment: Moment,
    },
    /// `path/to/file.py:LINE`, relative to the working directory.
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u32,
    },
}

/// When in a call of a function a probe fires.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Moment {
    /// Before its first statement; `module:function`, or `@entry`.
    #[default]
    Entry,
    /// When it returns, with the value; `@return`.
    Return,
    /// When an exception leaves it, with the exception; `@raise`.
    Raise,
}

impl Moment {
    /// The words after the `@`.
    pub const WORDS: [(&str, Self); 3] = [("entry", Self::Entry), ("return", Self::Return), ("raise", Self::Raise)];

    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Entry => "entry",
            Self::Return => "return",
            Self::Raise => "raise",
        }
    }
}

/// Why a place does not parse; `offset` counts bytes from its start.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PlaceError {
    /// There is no colon.
    #[error("read the place `{text}`: expected `module:function` or `path/to/file.py:LINE`")]
    NoColon {
        /// What was typed.
        text: String,
        /// Where the colon should be.
        offset: usize,
    },
    /// The part before the colon is empty or no module.
    #[error("read the place `{text}`: `{module}` is not a dotted module name")]
    Module {
        /// What was typed.
        text: String,
        /// The part before the colon.
        module: String,
        /// The first byte that does not fit.
        offset: usize,
    },
    /// The part after the colon is no function name.
    #[error("read the place `{text}`: `{function}` is not a function name")]
    Function {
        /// What was typed.
        text: String,
        /// The part after the colon.
        function: String,
        /// The first byte that does not fit.
        offset: usize,
    },
    /// What follows the `@` is no moment of a call.
    #[error("read the place `{text}`: a probe fires at `@entry`, `@return` or `@raise`, not at `@{moment}`")]
    Moment {
        /// What was typed.
        text: String,
        /// The part after the `@`.
        moment: String,
        /// Where it begins.
        offset: usize,
    },
    /// A function is named by the path of its file.
    #[error(
        "read the place `{text}`: a function is named by its module, such as `{instead}`, and a path takes a line, such as `{path}:12`"
    )]
    FunctionOfPath {
        /// What was typed.
        text: String,
        /// The path.
        path: String,
        /// The place that was most likely meant.
        instead: String,
        /// Where the function begins.
        offset: usize,
    },
    /// A lambda is named as a function.
    #[error(
        "read the place `{text}`: a lambda has no name, and no statement of its own, to probe; probe the line of a statement that calls it"
    )]
    Lambda {
        /// What was typed.
        text: String,
        /// Where it stands.
        offset: usize,
    },
    /// A line number is larger than any file has.
    #[error("read the place `{text}`: the line number {line} is too large")]
    LineTooLarge {
        /// What was typed.
        text: String,
        /// The part after the colon.
        line: String,
        /// Where it begins.
        offset: usize,
    },
    /// A path is followed by something that is no line number.
    #[error("read the place `{text}`: `{line}` is not a line number from 1")]
    Line {
        /// What was typed.
        text: String,
        /// The part after the colon.
        line: String,
        /// Where it begins.
        offset: usize,
    },
}

impl PlaceError {
    /// The byte at which a caret belongs.
    #[must_use]
    pub const fn offset(&self) -> usize {
        match self {
            PlaceError::NoColon { offset, .. }
            | PlaceError::Module { offset, .. }
            | PlaceError::Function { offset, .. }
            | PlaceError::Moment { offset, .. }
            | PlaceError::FunctionOfPath { offset, .. }
            | PlaceError::Lambda { offset, .. }
            | PlaceError::LineTooLarge { offset, .. }
            | PlaceError::Line { offset, .. } => *offset,
        }
    }
}

impl From<Place> for String {
    fn from(place: Place) -> Self {
        place.to_string()
    }
}

impl TryFrom<String> for Place {
    type Error = PlaceError;

    fn try_from(text: String) -> Result<Self, PlaceError> {
        text.parse()
    }
}

impl std::str::FromStr for Place {
    type Err = PlaceError;

    fn from_str(text: &str) -> Result<Self, PlaceError> {
        let Some((head, tail)) = text.rsplit_once(':') else {
            return Err(PlaceError::NoColon { text: text.into(), offset: text.len() });
        };
        let after = head.len() + 1;
        let number = tail.parse::<u32>().ok();
        if head.ends_with(".py") || head.contains('/') || (number.is_some() && !head.is_empty()) {
            return match number {
                Some(line) if line > 0 => Ok(Place::Line { path: head.into(), line }),
                _ => Err(no_line(text, head, tail)),
            };
        }
        if let Err(offset) = dotted_name(head, false) {
            return Err(PlaceError::Module { text: text.into(), module: head.into(), offset });
        }
        let (function, moment) = tail.split_once('@').map_or((tail, None), |(function, moment)| (function, Some(moment)));
        if let Some(offset) = function.find("<lambda>") {
            return Err(PlaceError::Lambda { text: text.into(), offset: after + offset });
        }
        if let Err(offset) = dotted_name(function, true) {
            return Err(PlaceError::Function { text: text.into(), function: function.into(), offset: after + offset });
        }
        let moment = match moment {
            None => Moment::Entry,
            Some(word) => match Moment::WORDS.iter().find(|(known, _)| *known == word) {
                Some((_, moment)) => *moment,
                None => {
                    return Err(PlaceError::Moment { text: text.into(), moment: word.into(), offset: after + function.len() + 1 });
                }
            },
        };
        Ok(Place::Function { module: head.into(), function: function.into(), moment })
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Function { module, function, moment: Moment::Entry } => write!(f, "{module}:{function}"),
            Place::Function { module, function, moment } => write!(f, "{module}:{function}@{}", moment.word()),
            Place::Line { path, line } => write!(f, "{}:{line}", path.display()),
        }
    }
}

/// What is wrong with what follows the colon after a path.
fn no_line(text: &str, path: &str, tail: &str) -> PlaceError {
    let (text, offset) = (text.to_owned(), path.len() + 1);
    if tail.len() > 1 && tail.bytes().all(|byte| byte.is_ascii_digit()) && tail.bytes().any(|byte| byte != b'0') {
        return PlaceError::LineTooLarge { text, line: tail.to_owned(), offset };
    }
    if tail.contains("<lambda>") {
        return PlaceError::Lambda { text, offset };
    }
    let function = tail.split('@').next().unwrap_or_default();
    if dotted_name(function, true).is_err() {
        return PlaceError::Line { text, line: tail.to_owned(), offset };
    }
    let module = module_of(path).unwrap_or_else(|| "package.module".to_owned());
    PlaceError::FunctionOfPath { text, path: path.to_owned(), instead: format!("{module}:{tail}"), offset }
}

/// The module of a file, by its path from the working directory; `None` where that tells none.
fn module_of(path: &str) -> Option<String> {
    let path = path.strip_prefix("./").unwrap_or(path).strip_suffix(".py")?;
    let module = path.strip_suffix("/__init__").unwrap_or(path).replace('/', ".");
    dotted_name(&module, false).is_ok().then_some(module)
}

/// Checks a dotted name and returns the offset of the first byte that does not fit; `<locals>` is a part where `inner` allows it.
fn dotted_name(text: &str, inner: bool) -> Result<(), usize> {
    let mut start = 0;
    for part in text.split('.') {
        let locals = inner && part == "<locals>";
        let bad = part.char_indices().find(|&(at, c)| !(c == '_' || c.is_alphabetic() || (at > 0 && c.is_alphanumeric())));
        match bad {
            Some((at, _)) if !locals => return Err(start + at),
            None if part.is_empty() => return Err(start),
            _ => start += part.len() + 1,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Place;

    #[test]
    fn a_place_is_a_function_or_a_line_and_prints_as_it_was_typed() {
        for text in [
            "engine.sizing:profile",
            "m:Class.method",
            "m:f@return",
            "m:C.f@raise",
            "m:outer.<locals>.inner",
            "a/b.py:12",
            "b.py:1",
            "/x/y z.py:7",
        ] {
            let place: Place = text.parse().expect(text);
            assert_eq!(place.to_string(), text);
        }
        assert!(matches!("scripts/tool:3".parse(), Ok(Place::Line { line: 3, .. })));
    }

    #[test]
    fn a_function_of_a_path_is_told_with_its_module() {
        for (text, instead) in [
            ("a.py:add", "`a:add`"),
            ("./app/sizing.py:Pool.get@return", "`app.sizing:Pool.get@return`"),
            ("app/__init__.py:f", "`app:f`"),
            ("/x/a.py:f", "`package.module:f`"),
            ("../a.py:f", "`package.module:f`"),
            ("a-b.py:f", "`package.module:f`"),
        ] {
            let error = text.parse::<Place>().expect_err(text).to_string();
            assert!(error.contains(instead), "{text}: {error}");
        }
        let error = "a.py:4294967296".parse::<Place>().expect_err("a line").to_string();
        assert!(error.ends_with("4294967296 is too large"), "{error}");
        let error = "a.py:0".parse::<Place>().expect_err("a line").to_string();
        assert!(error.ends_with("`0` is not a line number from 1"), "{error}");
    }

    #[test]
    fn a_bad_place_points_at_the_byte_that_does_not_fit() {
        for (text, offset) in [
            ("engine.sizing", 13),
            ("engine..sizing:f", 7),
            ("engine:", 7),
            ("m:f()", 3),
            (":f", 0),
            ("a.py:f", 5),
            ("a.py:0", 5),
            ("1m:f", 0),
            ("m:f@", 4),
            ("m:f@exit", 4),
            ("m:@return", 2),
            ("a.py:99999999999", 5),
            ("m:f.<lambda>", 4),
            ("a.py:<lambda>", 5),
        ] {
            let error = text.parse::<Place>().expect_err(text);
            assert_eq!(error.offset(), offset, "{text}: {error}");
        }
    }
}
