//! Why an edit as typed cannot be made, and the next step.

use std::io;
use std::path::PathBuf;

use bystander_model::diagnostic::Diagnostic;

use super::FlowError;
use crate::pattern::{Language, PatternError};
use crate::spec::PrepareError;
use crate::target::TargetError;

/// Why an edit as typed cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum PatchError {
    /// The file cannot be edited, or the text is not there exactly once.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The language of the file is not known, so that a pattern means nothing.
    #[error("edit {file} by a pattern: its language is not known", file = file.display())]
    Language {
        /// The file.
        file: PathBuf,
    },
    /// The pattern or the file cannot be read as code.
    #[error("edit {file} by a pattern", file = file.display())]
    Pattern {
        /// The file.
        file: PathBuf,
        /// Why.
        source: PatternError,
    },
    /// The pattern matches nowhere.
    #[error("edit {file}: nothing in it matches `{pattern}` as {language}", file = file.display(), language = language.name())]
    NoPlace {
        /// The file.
        file: PathBuf,
        /// The pattern as typed.
        pattern: String,
        /// The language that both were read as.
        language: Language,
    },
    /// There are too many places.
    #[error("edit {file}: there are more than {most} places", file = file.display())]
    TooMany {
        /// The file.
        file: PathBuf,
        /// So many can be edited at once.
        most: usize,
    },
    /// A letter of the text cannot be written in the encoding of the file.
    #[error("edit {file}: it is {encoding}{}", letter.map_or(String::new(), |letter| format!(", which has no `{letter}`")), file = file.display())]
    Encoding {
        /// The file.
        file: PathBuf,
        /// Its encoding.
        encoding: &'static str,
        /// The letter; `None` where nothing can be written.
        letter: Option<char>,
    },
    /// The file would have a syntax error that it has not now.
    #[error("edit {file}: line {line} would be a syntax error in {language}", file = file.display())]
    Breaks {
        /// The file.
        file: PathBuf,
        /// The line, in the edited file, from 1.
        line: u32,
        /// The language.
        language: &'static str,
    },
    /// The edit would change what runs in another way than was asked for.
    #[error("edit {file}", file = file.display())]
    Flow {
        /// The file.
        file: PathBuf,
        /// Why.
        source: FlowError,
    },
    /// No id could be made.
    #[error("make an id for the edit")]
    Random {
        /// What the system says.
        source: io::Error,
    },
}

impl PatchError {
    /// Gives the problem as a diagnostic without a place.
    #[must_use]
    pub fn diagnostic(&self) -> Diagnostic {
        let (code, help) = match self {
            Self::Prepare(error) => return prepare(error),
            Self::Language { .. } => ("edit.language_unknown", format!("name it with --lang: {}", Language::names().join(", "))),
            Self::Pattern { source: PatternError::Syntax { .. }, .. } => {
                ("edit.syntax_error", "mend the file, or find the place by its exact text with --find".to_owned())
            }
            Self::Pattern { source: PatternError::NotUtf8 { .. }, .. } => {
                ("edit.not_utf8", "find the place by its exact text with --find".to_owned())
            }
            Self::Pattern { .. } => {
                ("edit.pattern", "write code of the language with holes: `$NAME` for one thing, `...` for any number".to_owned())
            }
            Self::NoPlace { .. } => {
                ("edit.pattern_not_found", "make parts of it holes: `$NAME` stands for one thing, `...` for any number".to_owned())
            }
            Self::TooMany { .. } => ("edit.too_many_places", "make the text or pattern longer".to_owned()),
            Self::Encoding { letter: None, .. } => ("edit.encoding", "convert a copy to UTF-8 and edit that".to_owned()),
            Self::Encoding { .. } => ("edit.encoding", "put the text in ASCII".to_owned()),
            Self::Breaks { .. } => (
                "edit.breaks_syntax",
                "mend the text: indent, missing `;` or bracket; or make the edit all the same with --unchecked".to_owned(),
            ),
            Self::Flow { source, .. } => {
                let instead = match source {
                    FlowError::Unbraced { .. } => "put braces around it with --replace, or choose another place",
                    FlowError::NeverRuns { .. } => "put it before with --insert-before",
                    FlowError::OneLineBlock { .. } => "put in one line, or write the block on lines of its own with --replace",
                };
                let help = format!("{instead}; --unchecked makes the edit all the same");
                return Diagnostic::error("edit.changes_flow", format!("cannot {self}: {source}")).help(help);
            }
            Self::Random { .. } => ("edit.no_random", "see that /dev/urandom can be read".to_owned()),
        };
        let cause = std::error::Error::source(self).map(|cause| format!(": failed to {cause}")).unwrap_or_default();
        Diagnostic::error(code, format!("cannot {self}{cause}")).help(help)
    }
}

/// What is said of a file or a text, with the next step of somebody who types it on a command line.
fn prepare(error: &PrepareError) -> Diagnostic {
    let said = error.diagnostic();
    match error {
        PrepareError::Target(TargetError::Missing { .. }) => said.help("correct --file; a relative path starts at the working directory"),
        PrepareError::Ambiguous { .. } => {
            said.help("make the text or the pattern longer until it is there once, or edit every place with --all-matches")
        }
        PrepareError::NotFound { candidates, .. } if !candidates.is_empty() => {
            said.help("make --find the exact text of the file, white space and line ends included")
        }
        PrepareError::EmptyFind { .. } => said.help("name a text of the file with --find"),
        _ => said,
    }
}
