//! The experiment file as bytes: every way in which it cannot be read, as a problem with its place.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use bystander_model::diagnostic::Diagnostic;

use super::nearest::{names, nearest};

/// The greatest file that is read, in bytes: an experiment is written by hand.
const GREATEST: u64 = 16 << 20;

/// Reads the file as text.
pub(super) fn text(path: &Path) -> Result<String, Box<Diagnostic>> {
    let bytes = bytes(path).map_err(|error| Box::new(unreadable(path, &error)))?;
    if bytes.len() as u64 > GREATEST {
        let problem = Diagnostic::error("spec.unreadable", format!("{} is larger than 16 MiB, and so no experiment file", path.display()));
        return Err(Box::new(whole(path, problem)));
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let before = &error.as_bytes()[..valid];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let message = format!("{} is not UTF-8: line {line} holds the byte 0x{:02x}", path.display(), error.as_bytes()[valid]);
        Box::new(whole(path, Diagnostic::error("spec.not_utf8", message).help("save the file as UTF-8")))
    })
}

fn bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(GREATEST + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn unreadable(path: &Path, error: &std::io::Error) -> Diagnostic {
    let shown = path.display();
    let problem = match error.kind() {
        ErrorKind::NotFound => {
            let problem = Diagnostic::error("spec.unreadable", format!("there is no file {shown}"));
            neighbour(path).into_iter().fold(problem, |problem, name| problem.help(format!("did you mean `{name}`?")))
        }
        ErrorKind::IsADirectory => {
            let problem = Diagnostic::error("spec.unreadable", format!("{shown} is a directory, not an experiment file"));
            let files = experiments(path);
            if files.is_empty() { problem } else { problem.help(format!("it holds {}", names(files.iter().map(String::as_str)))) }
        }
        ErrorKind::PermissionDenied => Diagnostic::error("spec.unreadable", format!("{shown} may not be read"))
            .note(error.to_string())
            .help("check the permissions of the file and of its folders"),
        _ => Diagnostic::error("spec.unreadable", format!("{shown} cannot be read")).note(error.to_string()),
    };
    whole(path, problem)
}

fn whole(path: &Path, mut problem: Diagnostic) -> Diagnostic {
    problem.file = Some(path.to_path_buf());
    problem
}

/// The file in the same folder whose name is nearest.
fn neighbour(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let files = experiments(folder);
    let near = nearest(name, files.iter().map(String::as_str))?;
    Some(path.with_file_name(near).display().to_string())
}

/// The TOML files of a folder, sorted; none where it cannot be listed.
fn experiments(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| name.ends_with(".toml")).collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};
    use std::path::Path;

    use super::unreadable;

    // A test that runs as root may read everything, so the answer is built from the error.
    #[test]
    fn a_file_that_may_not_be_read_says_what_to_check() {
        let problem = unreadable(Path::new("/x/story.toml"), &Error::from(ErrorKind::PermissionDenied));
        assert_eq!(problem.message, "/x/story.toml may not be read");
        assert_eq!(problem.help.as_deref(), Some("check the permissions of the file and of its folders"));
    }
}
