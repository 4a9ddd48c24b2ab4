//! What can be known before the launch: the command is there, and the program's own Python finds every place. Nothing of the program runs.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use bystander_model::probe::{Delivery, ProbeSpec};
use bystander_model::typed;
use bystander_probe::pack::{Bound, PackError, bind_all};
use bystander_probe::{CheckedProbe, Interpreter, InterpreterError, ProbeProblem};
use bystander_supervise::resolve::ResolveError;
use bystander_supervise::{Availability, handover, namespaces_available};
use thiserror::Error;

use crate::local::deliver::{Choice, Unreachable, Way, choose, hidden_from};
use crate::machine;
use crate::secrets;

/// What is to be run with which probes.
#[derive(Debug, Clone)]
pub struct Request {
    /// The command, its program first.
    pub command: Vec<OsString>,
    /// The complete environment.
    pub env: BTreeMap<OsString, OsString>,
    /// The working directory.
    pub cwd: PathBuf,
    /// The Python that the program starts in the end; `None` where the command itself is one, or a script that names one.
    pub python: Option<OsString>,
    /// The probes, each with a name of its own.
    pub probes: Vec<ProbeSpec>,
    /// Ready-made sets of probes, by name; what they bind to comes after the probes above.
    pub packs: Vec<String>,
    /// The limit of probes that name none.
    pub limit: Option<u64>,
    /// How probes get in that do not say it themselves.
    pub delivery: Delivery,
}

/// A command that can be run, with probes whose places were found.
#[derive(Debug)]
pub struct Checked {
    pub(super) request: Request,
    pub(super) probes: Vec<CheckedProbe>,
    /// Secrets that the program is given; stars stand for them.
    pub(super) hidden: Vec<String>,
    /// How each of them gets in.
    pub(super) choices: Vec<Choice>,
    /// The interpreter's executable.
    pub(super) interpreter: PathBuf,
    python: String,
    notes: Vec<String>,
}

/// Why a command is not run.
#[derive(Debug, Error)]
pub enum CheckError {
    /// The command hands its work to a daemon.
    #[error("watch `{command}`: {reason}")]
    Handover {
        /// The command's first word.
        command: String,
        /// What it does.
        reason: &'static str,
    },
    /// The command, or the Python that was named, cannot be run.
    #[error(transparent)]
    Command(#[from] ResolveError),
    /// The interpreter does not answer, or there is none.
    #[error(transparent)]
    Python(#[from] InterpreterError),
    /// A set of probes gives none.
    #[error(transparent)]
    Pack(#[from] Box<PackError>),
    /// A probe cannot get in as it should.
    #[error("put probe `{probe}` in")]
    Way {
        /// The probe.
        probe: String,
        /// Why not.
        #[source]
        source: Unreachable,
    },
    /// Probes were refused; each with its index.
    #[error("place {} of the probes", .0.len())]
    Probes(Vec<(usize, ProbeProblem)>),
}

impl Checked {
    /// The probes, in the order of the request.
    #[must_use]
    pub fn probes(&self) -> &[CheckedProbe] {
        &self.probes
    }

    /// The request.
    #[must_use]
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// How each probe gets in, in the same order.
    #[must_use]
    pub fn choices(&self) -> &[Choice] {
        &self.choices
    }

    /// What is to be known of the sets of probes, in sentences.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The version of the program's Python.
    #[must_use]
    pub fn python(&self) -> &str {
        &self.python
    }
}

/// Looks at a command and its probes.
///
/// # Errors
/// [`CheckError`] where it cannot be run, is no Python, or a place is not there.
pub fn check(mut request: Request) -> Result<Checked, CheckError> {
    let words: Vec<String> = request.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    if let Some(reason) = handover::handover(&request.command) {
        return Err(CheckError::Handover { command: words.first().cloned().unwrap_or_default(), reason });
    }
    let find = |name: &OsStr| machine::find(name, &request.env, &request.cwd);
    find(request.command.first().map_or(OsStr::new(""), OsString::as_os_str))?;
    let interpreter = match &request.python {
        Some(python) => Interpreter::new(find(python)?, &request.cwd, variables(&request.env)),
        None => interpreter(&words, &request.cwd, variables(&request.env))?,
    };
    let bound = bind_all(&interpreter, &request.packs).map_err(Box::new)?;
    let notes = bound.iter().flat_map(Bound::notes).collect();
    request.probes.extend(bound.iter().flat_map(Bound::specs));
    for probe in &mut request.probes {
        probe.limit = probe.limit.or(request.limit);
        if probe.delivery == Delivery::Auto {
            probe.delivery = request.delivery;
        }
    }
    let choices = choices(&request);
    let checked = bystander_probe::check(&interpreter, &as_chosen(&request.probes, choices.as_deref().unwrap_or_default()))?;
    let python = checked.python.clone();
    let mut problems = Vec::new();
    let mut probes = Vec::new();
    for (index, found) in checked.probes.into_iter().enumerate() {
        match found {
            Ok(probe) => probes.push(probe),
            Err(problem) => problems.push((index, problem)),
        }
    }
    if !problems.is_empty() {
        return Err(CheckError::Probes(problems));
    }
    let choices = choices?;
    let env: Vec<(String, String)> =
        request.env.iter().map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned())).collect();
    let hidden = secrets::values(&words, env.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    Ok(Checked { request, probes, hidden, choices, interpreter: interpreter.python, python, notes })
}

/// Probes with the delivery that was chosen for them: what is imported needs no place in the text of a file.
fn as_chosen(probes: &[ProbeSpec], choices: &[Choice]) -> Vec<ProbeSpec> {
    let chosen = |(index, probe): (usize, &ProbeSpec)| {
        let delivery = choices.get(index).map_or(probe.delivery, |choice| choice.way.delivery());
        ProbeSpec { delivery, ..probe.clone() }
    };
    probes.iter().enumerate().map(chosen).collect()
}

/// How each probe gets in. A command is watched without touching the disk, so what would need an edit is refused.
fn choices(request: &Request) -> Result<Vec<Choice>, CheckError> {
    let hidden = hidden_from(&request.command);
    let usual = !hidden.site && hidden.environment.is_none();
    let asks = |probe: &ProbeSpec| !(usual && matches!(probe.delivery, Delivery::Auto | Delivery::Overlay));
    // Whether mounts can be made is tried out, which costs a process: only where it matters.
    let available = if request.probes.iter().any(asks) { namespaces_available() } else { Availability::Root { layers: None } };
    let choice = |probe: &ProbeSpec| {
        let refused = |source| CheckError::Way { probe: probe.name.clone(), source };
        let choice = choose(probe.delivery, &request.command, &available).map_err(refused)?;
        if choice.way == Way::Patch {
            let reason = "`watch` changes no file on disk".to_owned();
            let (apply, hits) = (typed::there("patch apply PROBE"), typed::there("patch hits"));
            let mend = format!("`{apply}` puts it into the file until it is reverted, and `{hits}` prints its hits");
            return Err(refused(Unreachable { reason, mend }));
        }
        Ok(choice)
    };
    request.probes.iter().map(choice).collect()
}

fn variables(env: &BTreeMap<OsString, OsString>) -> Vec<(OsString, OsString)> {
    env.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The interpreter of a command. Launchers such as `uvicorn` put the working directory on the path by themselves, so a module is looked for there
/// too; that the program never imports it would be told by its receipts.
fn interpreter(words: &[String], cwd: &Path, env: Vec<(OsString, OsString)>) -> Result<Interpreter, InterpreterError> {
    let mut interpreter = Interpreter::of_command(words, cwd, env)?;
    if !interpreter.path.iter().any(|folder| folder == cwd) {
        interpreter.path.push(cwd.to_owned());
    }
    Ok(interpreter)
}
