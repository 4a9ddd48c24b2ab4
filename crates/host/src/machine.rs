//! What can be told of this machine and of the programs on it: kernel, GPUs, git state, Python with its packages.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bystander_lab::plan::Plan;
use bystander_model::provenance::{Git, PythonInfo};
use bystander_supervise::gpu;
use bystander_supervise::resolve::{ResolveError, resolve};

use crate::local::{gpus, words};

/// The kernel's release, as `uname -r` prints it.
#[must_use]
pub fn kernel() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// Names of GPUs with the driver's version, from `/proc/driver/nvidia`; empty where there is no such driver.
#[must_use]
pub fn gpus() -> Vec<String> {
    let driver = std::fs::read_to_string("/proc/driver/nvidia/version").unwrap_or_default();
    let version =
        driver.split_whitespace().find(|word| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit())).unwrap_or("unknown");
    let Ok(cards) = std::fs::read_dir("/proc/driver/nvidia/gpus") else { return Vec::new() };
    let mut found: Vec<String> = cards
        .filter_map(|card| {
            let text = std::fs::read_to_string(card.ok()?.path().join("information")).ok()?;
            let model = text.lines().find_map(|line| line.strip_prefix("Model:"))?.trim();
            Some(format!("{model} (driver {version})"))
        })
        .collect();
    found.sort();
    found
}

/// The GPUs with what is held on each and by whom, the driver's version with the first; GPUs that do not answer with why.
///
/// # Errors
/// Why nothing can be told of GPUs, in a sentence.
pub fn gpu_findings() -> Result<Vec<String>, String> {
    let driver = gpu::driver().map_err(|error| {
        let why = std::error::Error::source(error).map_or_else(String::new, |why| format!(" ({why})"));
        format!("no NVIDIA driver: runs are recorded without GPUs{why}")
    })?;
    let look = driver.look();
    let version = driver.version().map_or_else(String::new, |version| format!(", driver {version}"));
    let mut found: Vec<String> = look
        .gpus
        .iter()
        .map(|gpu| {
            let held = if gpu.held_bytes == 0 { "nothing".to_owned() } else { words::size(gpu.held_bytes) };
            let by = if gpu.held_bytes == 0 { String::new() } else { format!(": {}", gpus::holders(gpu)) };
            format!("GPU {} ({}{version}): {held} of {} held{by}", gpu.index, gpu.name, words::size(gpu.total_bytes))
        })
        .collect();
    found.extend(look.silent.iter().map(|(index, why)| format!("GPU {index} does not answer: {why}")));
    if found.is_empty() { Err(format!("the NVIDIA driver shows no GPU{version}")) } else { Ok(found) }
}

/// The state of the git work tree that holds a folder; `None` outside one or without git.
#[must_use]
pub fn git(folder: &Path) -> Option<Git> {
    // Asked for at every launch: a program that is started to learn that there is nothing to say would cost most of a short trial.
    let folder = folder.canonicalize().ok()?;
    if std::env::var_os("GIT_DIR").is_none() && !folder.ancestors().any(|above| above.join(".git").exists()) {
        return None;
    }
    let mut git = Command::new("git");
    // Optional locks off: looking must not write an index.
    git.arg("--no-optional-locks").arg("-C").arg(&folder);
    git.args(["status", "--porcelain=v2", "--branch", "--untracked-files=no"]).stdin(Stdio::null()).stderr(Stdio::null());
    let output = git.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let commit = text.lines().find_map(|line| line.strip_prefix("# branch.oid ")).filter(|commit| *commit != "(initial)")?;
    Some(Git { commit: commit.to_owned(), dirty: text.lines().any(|line| !line.starts_with("# ")) })
}

/// Asks an interpreter for its version and packages, without reading or writing anything of the program.
const ASK: &str = "
import sys, json
out = {'executable': sys.executable, 'version': '.'.join(map(str, sys.version_info[:3])), 'packages': {}}
try:
    from importlib.metadata import distributions
    for d in distributions():
        try:
            n = d.metadata['Name']
            if n: out['packages'][str(n)] = str(d.version)
        except Exception: pass
except Exception: pass
sys.stdout.write(json.dumps(out))
";

/// The interpreter of a Python command with its packages; `None` where it does not answer as one.
#[must_use]
pub fn python(interpreter: &Path, env: &BTreeMap<OsString, OsString>, cwd: &Path) -> Option<PythonInfo> {
    let mut ask = Command::new(interpreter);
    ask.args(["-B", "-c", ASK])
        .env_clear()
        .envs(env)
        .env_remove("PYTHONSTARTUP")
        .current_dir(cwd)
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    let output = ask.output().ok().filter(|output| output.status.success())?;
    let mut info: PythonInfo = serde_json::from_slice(&output.stdout).ok()?;
    info.packages.sort_keys();
    Some(info)
}

/// Whether a program's file name is that of a Python interpreter.
#[must_use]
pub fn is_python(program: &Path) -> bool {
    let name = program.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let version = name.strip_prefix("python").or_else(|| name.strip_prefix("pypy"));
    version.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

/// Finds a program as an environment and a working directory would start it.
///
/// # Errors
/// It is not there, or may not be run.
pub fn find(name: &OsStr, env: &BTreeMap<OsString, OsString>, cwd: &Path) -> Result<PathBuf, ResolveError> {
    resolve(name, env.get(OsStr::new("PATH")).map(OsString::as_os_str), cwd)
}

/// The interpreter of a plan's program: the one that the plan names, else the one that it would run under.
#[must_use]
pub fn interpreter(plan: &Plan, program: &Path, env: &BTreeMap<OsString, OsString>) -> Option<PathBuf> {
    match &plan.program.python {
        Some(named) => find(named.as_os_str(), env, &plan.program.cwd).ok(),
        None => interpreter_of(program, env),
    }
}

/// The interpreter that a program would run under: itself, or the one that its first line (`#!`) names.
#[must_use]
pub fn interpreter_of(program: &Path, env: &BTreeMap<OsString, OsString>) -> Option<PathBuf> {
    if is_python(program) {
        return Some(program.to_owned());
    }
    let mut head = [0_u8; 256];
    let length = std::io::Read::read(&mut std::fs::File::open(program).ok()?, &mut head).ok()?;
    let line = std::str::from_utf8(head[..length].split(|byte| *byte == b'\n').next()?).ok()?;
    let mut words = line.strip_prefix("#!")?.split_whitespace();
    let first = PathBuf::from(words.next()?);
    if is_python(&first) {
        return Some(first);
    }
    let named = first
        .file_name()
        .is_some_and(|name| name == "env")
        .then(|| words.find(|word| !word.starts_with('-') && !word.contains('=')))
        .flatten()?;
    let path = env.get(&OsString::from("PATH"))?;
    is_python(Path::new(named)).then(|| std::env::split_paths(path).map(|folder| folder.join(named)).find(|file| file.is_file())).flatten()
}
