//! `bystander watch --list`: the places that a file has for probes, as the program's Python parses it. Nothing of it is run.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use bystander_probe::{Interpreter, InterpreterError, ListError, list_places};
use bystander_supervise::resolve;

use crate::args::WatchArgs;
use crate::failure::Failure;
use crate::not_text;
use crate::output::Output;

/// Asks where modules are looked for; nothing is imported.
const SEARCH_PATH: &str = "import sys\nfor folder in sys.path: print(folder)";

/// Prints the places of a file or a module.
pub(super) fn run(what: &str, args: &WatchArgs, output: &mut Output) -> Result<ExitCode, Failure> {
    let cwd = std::env::current_dir().map_err(|error| Failure::environment("failed to find the working directory").because(&error))?;
    let interpreter = interpreter(args, &cwd)?;
    let file = file(what, &interpreter)?;
    let places = list_places(&interpreter, &file).map_err(|error| failed(&error))?;
    output.places(&places, args.lines);
    Ok(ExitCode::SUCCESS)
}

/// The Python that was named, that of the command, or `python3`.
fn interpreter(args: &WatchArgs, cwd: &Path) -> Result<Interpreter, Failure> {
    let env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let of_command = || -> Result<Interpreter, InterpreterError> {
        let words: Vec<String> = args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        Interpreter::of_command(&words, cwd, env.clone())
    };
    if args.python.is_none() && !args.command.is_empty() {
        return of_command().map_err(|error| {
            Failure::user("failed to list places").because(&error).hint("name the Python that it starts in the end with `--python PYTHON`")
        });
    }
    let name = args.python.clone().unwrap_or_else(|| "python3".into());
    let path = std::env::var_os("PATH");
    let python = resolve(&name, path.as_deref(), cwd).map_err(|error| {
        Failure::user("failed to list places")
            .because(&error)
            .hint("places are found by the program's own Python: name it with `--python PYTHON`")
    })?;
    Ok(Interpreter::new(python, cwd, env))
}

/// The file that is meant: as a path where there is one, else as a module.
fn file(what: &str, interpreter: &Interpreter) -> Result<PathBuf, Failure> {
    let path = interpreter.cwd.join(what);
    let is_module =
        !what.contains('/') && what.split('.').all(|part| !part.is_empty() && part.chars().all(|c| c == '_' || c.is_alphanumeric()));
    let is_something = path.exists() && !path.is_dir();
    if is_something || !is_module || Path::new(what).extension() == Some(OsStr::new("py")) {
        return Ok(path);
    }
    let below: PathBuf = what.split('.').collect();
    let found = search_path(interpreter).into_iter().find_map(|folder| {
        let module = folder.join(&below);
        [module.with_extension("py"), module.join("__init__.py")].into_iter().find(|file| file.is_file())
    });
    found.ok_or_else(|| {
        Failure::user(format!("failed to find a file or a module `{what}`"))
            .hint(format!("`{}` finds no source of it in its folders; name its file", interpreter.python.display()))
    })
}

/// The folders in which the interpreter looks for modules, the program's own first.
fn search_path(interpreter: &Interpreter) -> Vec<PathBuf> {
    let mut ask = Command::new(&interpreter.python);
    ask.args(["-B", "-c", SEARCH_PATH]).env_clear().envs(interpreter.env.iter().map(|(name, value)| (name, value)));
    let answer = ask.current_dir(&interpreter.cwd).stdin(Stdio::null()).stderr(Stdio::null()).output();
    // An interpreter without an answer says so when it is asked for the places.
    let text = answer.map(|answer| String::from_utf8_lossy(&answer.stdout).into_owned()).unwrap_or_default();
    interpreter.path.iter().cloned().chain(text.lines().map(|line| interpreter.cwd.join(line))).collect()
}

fn failed(error: &ListError) -> Failure {
    let failure = Failure::user("failed to list places").because(error);
    match error {
        ListError::File { problem, .. } => problem.notes().into_iter().fold(failure, Failure::hint),
        ListError::Interpreter(InterpreterError::NotText { .. }) => failure.hint(not_text::MOVED),
        ListError::Interpreter(_) => {
            failure.hint("places are found by the program's own Python, 3.8 or newer: name it with `--python PYTHON`")
        }
    }
}
