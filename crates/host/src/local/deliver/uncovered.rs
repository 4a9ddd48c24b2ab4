//! Why a Python process never loaded the overlay, as far as its command line tells.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::flags::hidden_from;

/// Why a process is not covered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// It does not look at the environment: `-I`, `-E`, or started by `env -i`.
    Environment(&'static str),
    /// It does not run `site`.
    Site,
    /// Its program is an archive, whose modules are not rewritten.
    Archive(PathBuf),
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Reason::Environment(option) => write!(f, "{option} hides the environment from it"),
            Reason::Site => f.write_str("-S keeps `site`, and so the overlay, from running"),
            Reason::Archive(path) => write!(f, "its modules come from the archive {}", path.display()),
        }
    }
}

/// The reason that a command line shows; `None` where it shows none (an emptied environment leaves no trace in it).
#[must_use]
pub fn reason_of(cmdline: &[OsString], cwd: Option<&Path>) -> Option<Reason> {
    let hidden = hidden_from(cmdline);
    if hidden.site {
        return Some(Reason::Site);
    }
    if let Some(option) = hidden.environment {
        return Some(Reason::Environment(option));
    }
    let script = cmdline.iter().skip(1).find(|word| !word.to_string_lossy().starts_with('-'))?;
    let path = cwd.map_or_else(|| PathBuf::from(script), |cwd| cwd.join(script));
    is_archive(&path).then_some(Reason::Archive(path))
}

/// Whether a file is an archive that Python can run: a zip file, perhaps behind a first line that names its interpreter.
fn is_archive(path: &Path) -> bool {
    let mut head = [0; 512];
    let Ok(read) = File::open(path).and_then(|mut file| file.read(&mut head)) else { return false };
    let head = &head[..read];
    let body =
        if head.starts_with(b"#!") { head.iter().position(|byte| *byte == b'\n').map_or(&[][..], |at| &head[at + 1..]) } else { head };
    body.starts_with(b"PK\x03\x04") || body.starts_with(b"PK\x05\x06")
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::path::Path;

    use super::{Reason, reason_of};

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(Into::into).collect()
    }

    #[test]
    fn the_reason_is_told_where_the_command_line_shows_it() {
        let folder = tempfile::tempdir().expect("temporary directory");
        std::fs::write(folder.path().join("app.pyz"), b"#!/usr/bin/env python3\nPK\x03\x04rest").expect("writes");
        std::fs::write(folder.path().join("x.py"), b"#!/usr/bin/env python3\nprint(1)").expect("writes");
        let reason = |text: &str| reason_of(&words(text), Some(folder.path()));
        assert_eq!(reason("python3 -I x.py"), Some(Reason::Environment("-I")));
        assert_eq!(reason("python3 -ES x.py"), Some(Reason::Site));
        assert_eq!(reason("python3 app.pyz serve"), Some(Reason::Archive(folder.path().join("app.pyz"))));
        assert_eq!(reason("python3 x.py"), None);
        assert_eq!(reason_of(&words("python3 missing.pyz"), None::<&Path>), None);
    }
}
