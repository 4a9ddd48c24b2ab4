//! Says as a diagnostic why an edit cannot be made: the nearest places, what differs, the next step.
//!
//! Where the edit is written in an experiment file is not known here; the caller puts the place in.

use std::error::Error;

use bystander_model::diagnostic::Diagnostic;

use crate::candidate::Candidate;
use crate::spec::PrepareError;
use crate::target::TargetError;

impl PrepareError {
    /// Gives the problem as a diagnostic without a place.
    #[must_use]
    pub fn diagnostic(&self) -> Diagnostic {
        let cause = self.source().map(|cause| format!(" ({cause})")).unwrap_or_default();
        let said = Diagnostic::error(self.code(), format!("cannot {self}{cause}"));
        match self {
            Self::NotFound { candidates, .. } if candidates.is_empty() => {
                said.note("no place in the file comes near to it").help("copy the text from the file as it is now")
            }
            Self::NotFound { candidates, .. } => {
                noted(said, candidates).help("make `find` the exact text of the file, white space and line ends included")
            }
            Self::Changed { candidates, .. } => {
                noted(said, candidates).help("look at the file; if the edit still fits, put its new SHA-256 in")
            }
            Self::Ambiguous { .. } => said.help("add lines before or after to `find` until it is there once"),
            Self::EmptyFind { .. } => said.help("put a text of the file in `find`"),
            Self::NoChange { .. } => said.help("put in a text that is not there"),
            Self::Target(error) => match next_step(error) {
                Some(step) => said.help(step),
                None => said,
            },
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "edit.text_not_found",
            Self::Ambiguous { .. } => "edit.text_ambiguous",
            Self::Changed { .. } => "edit.file_changed",
            Self::EmptyFind { .. } => "edit.text_empty",
            Self::NoChange { .. } => "edit.changes_nothing",
            Self::Target(TargetError::Missing { .. }) => "edit.file_missing",
            Self::Target(TargetError::Directory { .. } | TargetError::NotRegular { .. }) => "edit.not_a_file",
            Self::Target(TargetError::Unreadable { .. }) => "edit.file_unreadable",
            Self::Target(TargetError::TooLarge { .. }) => "edit.file_too_large",
            Self::Target(_) => "edit.file_read_only",
        }
    }
}

fn next_step(error: &TargetError) -> Option<&'static str> {
    match error {
        TargetError::Missing { .. } => Some("correct `file`; a relative path starts at the folder of the experiment file"),
        TargetError::NotWritable { .. } | TargetError::DirectoryNotWritable { .. } => {
            Some("give this user the right to write, or use a probe, which changes no file")
        }
        TargetError::NotOwned { .. } | TargetError::Immutable { .. } => {
            Some("edit a copy that is yours, or use a probe, which changes no file")
        }
        TargetError::Directory { .. } | TargetError::NotRegular { .. } => Some("name a regular file"),
        TargetError::Unreadable { .. } => Some("give this user the right to read it"),
        TargetError::TooLarge { .. } => Some("edit a smaller file"),
    }
}

fn noted(mut said: Diagnostic, candidates: &[Candidate]) -> Diagnostic {
    for Candidate { lines, differences, .. } in candidates {
        let place = match lines.end.saturating_sub(1) {
            last if last > lines.start => format!("lines {} to {last}", lines.start),
            _ => format!("line {}", lines.start),
        };
        let what = if differences.is_empty() { "the text is there" } else { "comes near" };
        said = said.note(format!("{place}: {what}"));
        for difference in differences {
            said = said.note(format!("  {difference}"));
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use crate::candidate::nearest;
    use crate::spec::PrepareError;

    #[test]
    fn the_nearest_place_and_what_differs_stand_in_the_notes() {
        let candidates = nearest(b"def f():\n\tvalue = 1\n\treturn value\n", b"    value = 1\n    return value\n");
        let said = PrepareError::NotFound { file: PathBuf::from("m.py"), candidates }.diagnostic();
        assert_eq!((said.code.as_str(), said.message.as_str()), ("edit.text_not_found", "cannot edit m.py: the text to find is not in it"));
        let expected = [
            "lines 2 to 3: comes near",
            "  line 2: indent is 1 tab, the text has 4 spaces",
            "  line 3: indent is 1 tab, the text has 4 spaces",
        ];
        assert_eq!(said.notes, expected);
        assert!(said.help.is_some());
    }
}
