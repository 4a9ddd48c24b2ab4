//! The interpreter of the program under test: finding it from a command, and asking it questions without touching anything.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bystander_model::typed::escaped;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use thiserror::Error;

use crate::embed::{BOOT, CHECK, OVERLAY};

const MARKER: &str = "\u{1}bystander-answer\u{1}";
const SHEBANG_BYTES: usize = 512;

/// A Python with the surroundings in which the program will run it.
#[derive(Debug, Clone)]
pub struct Interpreter {
    /// The executable.
    pub python: PathBuf,
    /// The working directory of the program.
    pub cwd: PathBuf,
    /// The complete environment of the program.
    pub env: Vec<(OsString, OsString)>,
    /// What the program has in `sys.path` before `PYTHONPATH`: the folder of its script, or the working directory.
    pub path: Vec<PathBuf>,
}

/// Why an interpreter gave no answer.
#[derive(Debug, Error)]
pub enum InterpreterError {
    /// The command does not run Python, as far as can be told.
    #[error("find the Python of `{command}`: it is neither a Python nor a script that names one")]
    NotPython {
        /// The command's first word.
        command: String,
    },
    /// The executable is not there or does not start.
    #[error("start the interpreter `{}`", python.display())]
    Start {
        /// The executable.
        python: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// The interpreter is older than 3.8.
    #[error("use the interpreter `{}`: it is Python {version}, and probes need 3.8 or newer", python.display())]
    TooOld {
        /// The executable.
        python: PathBuf,
        /// Its version.
        version: String,
    },
    /// The interpreter ended without an answer.
    #[error("get an answer from the interpreter `{}` ({status}): {}", python.display(), stderr.trim_end())]
    NoAnswer {
        /// The executable.
        python: PathBuf,
        /// How it ended.
        status: String,
        /// What it said.
        stderr: String,
    },
    /// A path of the program is of bytes that neither a question nor a record can hold.
    #[error("ask the interpreter about `{path}`: the path is not UTF-8")]
    NotText {
        /// The path, with the bytes that are no text as `\xff`.
        path: String,
    },
    /// The answer has another form than expected.
    #[error("read the answer of the interpreter `{}`", python.display())]
    BadAnswer {
        /// The executable.
        python: PathBuf,
        /// What does not fit.
        #[source]
        source: serde_json::Error,
    },
}

impl Interpreter {
    /// Makes an interpreter whose program is started with `-m` or `-c` in a working directory.
    #[must_use]
    pub fn new(python: impl Into<PathBuf>, cwd: impl Into<PathBuf>, env: Vec<(OsString, OsString)>) -> Self {
        let cwd = cwd.into();
        Self { python: python.into(), path: vec![cwd.clone()], cwd, env }
    }

    /// Finds the interpreter of a command: a Python, or a script whose first line names one.
    ///
    /// # Errors
    /// [`InterpreterError::NotPython`] where neither is the case.
    pub fn of_command(command: &[String], cwd: &Path, env: Vec<(OsString, OsString)>) -> Result<Self, InterpreterError> {
        let first = command.first().map_or("", String::as_str);
        let not_python = || InterpreterError::NotPython { command: first.to_owned() };
        let program = resolve(first.as_ref(), cwd, &env).ok_or_else(not_python)?;
        if is_python(&program) {
            let path = script_of(&command[1..]).map_or_else(|| cwd.to_owned(), |script| folder_of(&cwd.join(script)));
            return Ok(Self { python: program, cwd: cwd.to_owned(), env, path: vec![path] });
        }
        let python = shebang(&program).and_then(|name| resolve(&name, cwd, &env)).ok_or_else(not_python)?;
        Ok(Self { python, cwd: cwd.to_owned(), env, path: vec![folder_of(&program)] })
    }

    /// What `sys.path` begins with, as a question can hold it.
    pub(crate) fn path_as_text(&self) -> Result<Vec<&str>, InterpreterError> {
        self.path.iter().map(|path| as_text(path)).collect()
    }

    /// Sends one request and reads the answer; nothing is written to disk and no module of the program is imported.
    pub(crate) fn ask<T: DeserializeOwned>(&self, request: &Value) -> Result<T, InterpreterError> {
        let packages = [("bystander_overlay", OVERLAY), ("bystander_check", CHECK)];
        let modules: serde_json::Map<String, Value> = packages
            .iter()
            .flat_map(|(package, modules)| modules.iter().map(move |(name, source)| (format!("{package}.{name}"), json!(source))))
            .collect();
        let question = json!({ "modules": modules, "request": request }).to_string();
        self.parse(&self.run(question.into_bytes())?)
    }

    fn run(&self, question: Vec<u8>) -> Result<std::process::Output, InterpreterError> {
        let failed = |source| InterpreterError::Start { python: self.python.clone(), source };
        let mut child = Command::new(&self.python)
            .args(["-B", "-c", BOOT, MARKER])
            .env_clear()
            .envs(self.env.iter().map(|(key, value)| (key, value)))
            .env("PYTHONIOENCODING", "utf-8")
            .current_dir(&self.cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let stdin = child.stdin.take();
        let writer = std::thread::spawn(move || stdin.map_or(Ok(()), |mut pipe| pipe.write_all(&question)));
        let output = child.wait_with_output().map_err(failed)?;
        // An interpreter that is too old answers without reading; its answer, or the lack of one, says all there is.
        drop(writer.join());
        Ok(output)
    }

    fn parse<T: DeserializeOwned>(&self, output: &std::process::Output) -> Result<T, InterpreterError> {
        let stdout = String::from_utf8_lossy(&output.stdout);
        let Some((_, answer)) = stdout.rsplit_once(MARKER) else {
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(InterpreterError::NoAnswer { python: self.python.clone(), status: output.status.to_string(), stderr });
        };
        let bad = |source| InterpreterError::BadAnswer { python: self.python.clone(), source };
        // Python names a byte that is no text by half a surrogate, which is no JSON elsewhere.
        if let Some(odd) = answer.split('"').find(|text| text.contains("\\udc")) {
            return Err(InterpreterError::NotText { path: odd.replace("\\udc", "\\x") });
        }
        let answer: Value = serde_json::from_str(answer.trim_end()).map_err(bad)?;
        if let Some(version) = answer.get("too_old").and_then(Value::as_str) {
            return Err(InterpreterError::TooOld { python: self.python.clone(), version: version.to_owned() });
        }
        serde_json::from_value(answer).map_err(bad)
    }
}

/// A path as a question can hold it.
pub(crate) fn as_text(path: &Path) -> Result<&str, InterpreterError> {
    path.to_str().ok_or_else(|| InterpreterError::NotText { path: escaped(path.as_os_str().as_encoded_bytes()) })
}

fn folder_of(file: &Path) -> PathBuf {
    let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    real.parent().map_or_else(|| PathBuf::from("/"), Path::to_owned)
}

/// The script among a Python's arguments; `None` for `-m`, `-c`, standard input or none.
fn script_of(arguments: &[String]) -> Option<&str> {
    let mut rest = arguments.iter().map(String::as_str);
    while let Some(item) = rest.next() {
        let Some(letters) = item.strip_prefix('-') else { return Some(item) };
        if item == "--" {
            return rest.next();
        }
        if letters.is_empty() {
            return None;
        }
        if item.starts_with("--") {
            if item == "--check-hash-based-pycs" {
                rest.next();
            }
            continue;
        }
        for (at, letter) in letters.char_indices() {
            match letter {
                'c' | 'm' => return None,
                'W' | 'X' => {
                    if at + 1 == letters.len() {
                        rest.next();
                    }
                    break;
                }
                _ => {}
            }
        }
    }
    None
}

fn is_python(program: &Path) -> bool {
    let name = program.file_name().and_then(OsStr::to_str).unwrap_or("");
    let version = name.strip_prefix("python").or_else(|| name.strip_prefix("pypy"));
    version.is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.' || c == 't' || c == 'd' || c == '-'))
}

/// Finds a program as `execvp` would, in the environment's `PATH`.
fn resolve(name: &OsStr, cwd: &Path, env: &[(OsString, OsString)]) -> Option<PathBuf> {
    if name.is_empty() {
        return None;
    }
    if name.as_encoded_bytes().contains(&b'/') {
        return Some(cwd.join(name)).filter(|path| path.is_file());
    }
    let path = env.iter().find(|(key, _)| key == "PATH").map(|(_, value)| value.as_os_str()).unwrap_or(OsStr::new("/usr/bin:/bin"));
    std::env::split_paths(path).map(|folder| cwd.join(folder).join(name)).find(|path| path.is_file())
}

/// The interpreter that a script's first line names, `env` and the launchers that `pip` writes looked through.
fn shebang(script: &Path) -> Option<OsString> {
    let mut head = vec![0; SHEBANG_BYTES];
    let read = std::io::Read::read(&mut std::fs::File::open(script).ok()?, &mut head).ok()?;
    let text = String::from_utf8_lossy(&head[..read]).into_owned();
    let mut lines = text.lines();
    let first = lines.next()?.strip_prefix("#!")?.trim();
    let mut words: Vec<&str> = first.split_whitespace().collect();
    if words.first() == Some(&"/bin/sh") {
        words = lines.next()?.strip_prefix("'''exec'")?.split_whitespace().collect();
    }
    if words.first().is_some_and(|word| word.ends_with("/env")) {
        words.remove(0);
    }
    let program = words.iter().find(|word| !word.starts_with('-') && !word.contains('='))?.trim_matches('"');
    is_python(Path::new(program)).then(|| program.into())
}

#[cfg(test)]
mod tests {
    use super::{is_python, script_of, shebang};

    #[test]
    fn the_script_of_a_command_line_is_found_behind_options() {
        let script = |text: &str| script_of(&text.split(' ').map(str::to_owned).collect::<Vec<_>>()).map(str::to_owned);
        assert_eq!(script("-u -X dev -Wignore app.py --flag"), Some("app.py".into()));
        assert_eq!(script("-Bu app.py"), Some("app.py".into()));
        assert_eq!(script("-m engine app.py"), None);
        assert_eq!(script("-Bm engine"), None);
        assert_eq!(script("-c pass"), None);
        assert_eq!(script("-"), None);
    }

    #[test]
    fn pythons_are_known_by_name() {
        for (name, is) in [("python", true), ("python3.11", true), ("/x/bin/python3.13t", true), ("pythonista", false), ("node", false)] {
            assert_eq!(is_python(name.as_ref()), is, "{name}");
        }
    }

    #[test]
    fn a_launcher_names_its_interpreter() {
        let folder = tempfile::tempdir().expect("makes a folder");
        for (text, expected) in [
            ("#!/opt/venv/bin/python3.11\nimport sys\n", Some("/opt/venv/bin/python3.11")),
            ("#!/usr/bin/env -S python3 -u\n", Some("python3")),
            ("#!/bin/sh\n'''exec' \"/a/b/python\" \"$0\" \"$@\"\n' '''\n", Some("/a/b/python")),
            ("#!/bin/sh\nexec node\n", None),
            ("\u{7f}ELF", None),
        ] {
            let file = folder.path().join("launcher");
            std::fs::write(&file, text).expect("writes");
            assert_eq!(shebang(&file).as_deref(), expected.map(std::ffi::OsStr::new), "{text:?}");
        }
    }
}
