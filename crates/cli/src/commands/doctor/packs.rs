//! Which ready-made sets of probes bind to the engines of a Python.

use std::error::Error;
use std::ffi::OsStr;

use bystander_model::chain::with_causes;
use bystander_model::printed::Finding;
use bystander_probe::Interpreter;
use bystander_probe::pack::{self, Bound, PackError};

use super::{finding, optional};

/// Binds every set with the Python of the command line, or the one that `python3` names.
pub(super) fn findings(python: Option<&OsStr>) -> Vec<Finding> {
    let interpreter = interpreter(python.unwrap_or(OsStr::new("python3")));
    pack::names().into_iter().map(|name| optional(of_pack(name, &interpreter))).collect()
}

fn interpreter(python: &OsStr) -> Result<Interpreter, String> {
    let cwd = std::env::current_dir().map_err(|error| format!("the working directory cannot be found: {error}"))?;
    let command = [python.to_string_lossy().into_owned()];
    Interpreter::of_command(&command, &cwd, std::env::vars_os().collect()).map_err(|error| format!("failed to {error}"))
}

fn of_pack(name: &'static str, interpreter: &Result<Interpreter, String>) -> Finding {
    const ELSEWHERE: &str = "name the Python that the engine is installed for with --python";
    let bound = match interpreter {
        Ok(interpreter) => pack::load(name).and_then(|pack| pack::bind(interpreter, &pack)),
        Err(error) => return finding(name, Err(error.clone()), ELSEWHERE),
    };
    match bound {
        Ok(bound) => finding(name, Ok(found(&bound)), ""),
        Err(error @ PackError::NothingBound { .. }) => {
            finding(name, Err(format!("failed to {error}")), "this release is not known to the set; give probes by place with -p")
        }
        Err(error) => finding(name, Err(whole(&error)), ELSEWHERE),
    }
}

/// What binds, and each probe that does not, with the reason.
fn found(bound: &Bound) -> String {
    let mut text =
        format!("{} of {} probes bind to {} in {}", bound.specs().len(), bound.expected(), bound.release(), bound.folder.display());
    for note in bound.notes().iter().skip(1) {
        text.push_str("; ");
        text.push_str(note);
    }
    text
}

/// An error with what is behind it.
fn whole(error: &dyn Error) -> String {
    format!("failed to {}", with_causes(error))
}
