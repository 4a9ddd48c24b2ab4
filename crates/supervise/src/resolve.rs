//! Finding the executable that a command names, and telling why it cannot be run, before anything is started.
//!
//! The rules are those of `execvp`, with the `PATH` and directory of the program rather than the caller's.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// What `execvp` searches where there is no `PATH`.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Why a command cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// The command has no name.
    #[error("find a command: it has no name")]
    Empty,
    /// No such file, or none on the `PATH`.
    #[error("find `{}`{}", name.display(), searched(path.as_ref()))]
    NotFound {
        /// The name as typed.
        name: OsString,
        /// The `PATH` that was searched; `None` where the name is itself a path.
        path: Option<OsString>,
    },
    /// A file is there, but it may not be executed.
    #[error("execute {}: {reason}", file.display())]
    NotExecutable {
        /// The file.
        file: PathBuf,
        /// What stands in the way.
        reason: &'static str,
    },
    /// The script's first line names an interpreter that is not there.
    #[error("execute {}: its first line names the interpreter {}, which is not there", file.display(), interpreter.display())]
    NoInterpreter {
        /// The script.
        file: PathBuf,
        /// The interpreter.
        interpreter: PathBuf,
    },
    /// The file could not be examined.
    #[error("examine {}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

fn searched(path: Option<&OsString>) -> String {
    path.map_or_else(String::new, |path| format!(" on the PATH {}", path.display()))
}

/// Finds the executable that `name` stands for in a program whose `PATH` is `path` and whose directory is `cwd`.
///
/// # Errors
/// When there is none, or when it can be told beforehand that it will not start.
pub fn resolve(name: &OsStr, path: Option<&OsStr>, cwd: &Path) -> Result<PathBuf, ResolveError> {
    if name.is_empty() {
        return Err(ResolveError::Empty);
    }
    if name.as_bytes().contains(&b'/') {
        let file = cwd.join(name);
        if fs::symlink_metadata(&file).is_err() {
            return Err(ResolveError::NotFound { name: name.to_owned(), path: None });
        }
        return check(file);
    }
    let path = path.unwrap_or(OsStr::new(DEFAULT_PATH));
    let mut refused = None;
    for directory in path.as_bytes().split(|&b| b == b':') {
        // An empty entry is the working directory, by old custom.
        let file = cwd.join(OsStr::from_bytes(directory)).join(name);
        if !file.is_file() {
            continue;
        }
        match check(file) {
            Ok(file) => return Ok(file),
            // Like execvp, go on: a later directory may hold one that runs.
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    Err(refused.unwrap_or_else(|| ResolveError::NotFound { name: name.to_owned(), path: Some(path.to_owned()) }))
}

/// Whether a file that exists can be executed.
fn check(file: PathBuf) -> Result<PathBuf, ResolveError> {
    let metadata = match fs::metadata(&file) {
        Ok(metadata) => metadata,
        Err(source) if source.kind() == io::ErrorKind::NotFound => {
            return Err(ResolveError::NotExecutable { file, reason: "it is a link to a file that is not there" });
        }
        Err(source) => return Err(ResolveError::Unreadable { file, source }),
    };
    if metadata.is_dir() {
        return Err(ResolveError::NotExecutable { file, reason: "it is a directory" });
    }
    if access(&file, Access::EXEC_OK).is_err() {
        return Err(ResolveError::NotExecutable { file, reason: "it has no permission to be executed" });
    }
    // An executable need not be readable: then the kernel is the only judge.
    let Ok(head) = read_head(&file) else { return Ok(file) };
    match interpreter(&head) {
        Some(interpreter) if !interpreter.exists() => Err(ResolveError::NoInterpreter { file, interpreter }),
        _ => Ok(file),
    }
}

fn read_head(file: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(256);
    File::open(file)?.take(256).read_to_end(&mut head)?;
    Ok(head)
}

/// The interpreter that a script's first line names by its full path; a relative one depends on the directory, so the kernel is its judge.
fn interpreter(head: &[u8]) -> Option<PathBuf> {
    let line = head.strip_prefix(b"#!")?.split(|&b| b == b'\n').next()?;
    let name = line.trim_ascii_start().split(u8::is_ascii_whitespace).next()?;
    name.starts_with(b"/").then(|| PathBuf::from(OsString::from_vec(name.to_vec())))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::{Path, PathBuf};

    use super::{ResolveError, interpreter, resolve};

    fn executable(file: &Path, text: &str) {
        fs::write(file, text).expect("writes");
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).expect("sets the mode");
    }

    #[test]
    fn the_path_of_the_program_is_searched_in_order() {
        let world = tempfile::tempdir().expect("temporary directory");
        for directory in ["a", "b"] {
            fs::create_dir(world.path().join(directory)).expect("creates");
        }
        fs::write(world.path().join("a/tool"), "no mode").expect("writes");
        executable(&world.path().join("b/tool"), "#!/bin/sh\n");
        let found = resolve(OsStr::new("tool"), Some(OsStr::new("a:missing:b")), world.path()).expect("finds");
        assert_eq!(found, world.path().join("b/tool"));
        let refused = resolve(OsStr::new("tool"), Some(OsStr::new("a")), world.path());
        assert!(matches!(refused, Err(ResolveError::NotExecutable { .. })), "{refused:?}");
    }

    #[test]
    fn a_name_with_a_slash_is_not_searched() {
        let world = tempfile::tempdir().expect("temporary directory");
        executable(&world.path().join("tool"), "#!/bin/sh\n");
        assert_eq!(resolve(OsStr::new("./tool"), None, world.path()).expect("finds"), world.path().join("./tool"));
        let missing = resolve(OsStr::new("./other"), Some(OsStr::new("/bin")), world.path());
        assert!(matches!(missing, Err(ResolveError::NotFound { path: None, .. })), "{missing:?}");
    }

    #[test]
    fn what_stands_in_the_way_is_told() {
        let world = tempfile::tempdir().expect("temporary directory");
        let at = |name: &str| world.path().join(name);
        executable(&at("script"), "#! /nowhere/python3 -u\n");
        fs::create_dir(at("folder")).expect("creates");
        std::os::unix::fs::symlink("/nowhere/tool", at("link")).expect("links");
        let told = |name: &str| resolve(at(name).as_os_str(), None, Path::new("/")).map_err(|error| error.to_string());
        assert!(told("script").is_err_and(|text| text.contains("names the interpreter /nowhere/python3")));
        assert!(told("folder").is_err_and(|text| text.contains("is a directory")));
        assert!(told("link").is_err_and(|text| text.contains("link to a file that is not there")));
        assert!(told("absent").is_err_and(|text| text.starts_with("find `")));
        assert!(matches!(resolve(OsStr::new(""), None, Path::new("/")), Err(ResolveError::Empty)));
    }

    #[test]
    fn an_interpreter_is_the_first_word_of_a_script() {
        assert_eq!(interpreter(b"#!/usr/bin/env python3\n"), Some(PathBuf::from("/usr/bin/env")));
        assert_eq!(interpreter(b"#! /bin/sh"), Some(PathBuf::from("/bin/sh")));
        assert_eq!(interpreter(b"#!python\n"), None);
        assert_eq!(interpreter(b"\x7fELF"), None);
    }
}
