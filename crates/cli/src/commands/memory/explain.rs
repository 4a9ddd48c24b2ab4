//! `bystander memory explain`: where the memory of servers went, from their logs.

mod logs;
mod open;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use bystander_memory::explain::spoken::NOBODY;
use bystander_memory::explain::{Asked, Explainer, Read, document};
use bystander_memory::plan::gpu::Gpu;
use bystander_model::typed::{self, quoted};

use self::logs::{Log, Logs};
use super::super::found::{ARCHIVE_ENDS, Found, Place};
use super::super::show;
use crate::args::MemoryExplainArgs;
use crate::failure::{Failure, exit};
use crate::output::{Output, is_far};

/// Explains.
pub(crate) fn run(args: &MemoryExplainArgs, state: Option<&Path>, output: &mut Output) -> Result<ExitCode, Failure> {
    let asked = asked(args)?;
    let mut unread = Vec::new();
    let mut read: Vec<Read> = Vec::new();
    let logs = all(&args.logs, state)?;
    // What lies together and was named as one: how many logs of a server are there?
    let mut places: BTreeMap<&str, usize> = logs.empty.iter().map(|place| (place.as_str(), 0)).collect();
    for log in &logs.all {
        let servers = log.place.as_deref().map(|place| places.entry(place).or_default());
        let mut explainer = Explainer::new(&log.name);
        match open::feed(log, &mut explainer) {
            Ok(None) => {}
            Ok(Some(cut)) => unread.push(format!("{}: {cut}", log.name)),
            // One that was named must be read; of those in a directory the others still can be.
            Err(error) if log.is_named() => return Err(Failure::user(format!("failed to read {}", log.name)).because(&error)),
            Err(error) => {
                unread.push(format!("{}: {error}", log.name));
                continue;
            }
        }
        let found = explainer.finish();
        // What lies beside the logs of a directory is passed over.
        let is_of_server = found.servers.iter().any(|facts| facts.engine != NOBODY);
        if let Some(servers) = servers {
            *servers += usize::from(is_of_server);
        }
        if log.is_named() || is_of_server {
            read.push(found);
        }
    }
    unread.extend(places.iter().filter(|(_, servers)| **servers == 0).map(|(place, _)| logs.without_a_server(place)));
    let explained = document(read, unread, &asked);
    let code = if explained.servers.is_empty() { exit::UNDETERMINED } else { exit::ANSWERED };
    output.memory_explained(&explained);
    Ok(ExitCode::from(code))
}

/// What the options ask for.
fn asked(args: &MemoryExplainArgs) -> Result<Asked, Failure> {
    let card = args.gpu.as_deref().map(Gpu::parse).transpose().map_err(|error| Failure::user(format!("failed to {error}")))?;
    let want_gib = args.want.as_deref().map(want).transpose()?;
    Ok(Asked { card_gib: card.map(|card| card.cuda_gib.value), want_gib })
}

/// A size in GiB.
fn want(text: &str) -> Result<f64, Failure> {
    let bare = text.trim().parse::<f64>().ok().filter(|gib| gib.is_finite());
    let gib = bare.or_else(|| bystander_memory::plan::gpu::size(text).map(|bytes| bytes / bystander_memory::formula::GIB));
    gib.filter(|gib| *gib > 0.0)
        .ok_or_else(|| Failure::user(format!("failed to read `{text}` as a size")).hint("such as 10GiB, 10GB, or 10 for GiB"))
}

/// Every log that was named, in order; what is no file may be a run.
fn all(named: &[OsString], state: Option<&Path>) -> Result<Logs, Failure> {
    let mut logs = Logs::default();
    for name in named {
        let path = Path::new(name);
        if path.is_file() && name.to_string_lossy().ends_with(ARCHIVE_ENDS) {
            return Err(packed(path));
        }
        if name == "-" || path.exists() {
            logs.add(path.display().to_string(), logs::of_path(path)?);
        } else {
            let run = format!("run {}", name.to_string_lossy());
            let outputs = of_run(&run, name, state)?;
            logs.add(run, outputs);
        }
    }
    logs::shorten(&mut logs.all);
    Ok(logs)
}

/// What to do with an archive, whose logs lie among other things.
fn packed(path: &Path) -> Failure {
    let archive = quoted(path);
    Failure::user(format!("failed to read {} as a log: it is an archive", path.display())).hint(format!(
        "if it is one of `bystander export`: `mkdir out && tar --zstd -xf {archive} -C out && bystander memory explain out/logs`"
    ))
}

/// The outputs of every trial of a run.
fn of_run(run: &str, name: &OsStr, state: Option<&Path>) -> Result<Vec<Log>, Failure> {
    let unknown = || {
        let failure = Failure::user(format!("failed to find {}", name.to_string_lossy()));
        if is_far() {
            let folder = std::env::current_dir().unwrap_or_default();
            return failure.hint(format!(
                "with --on a log is read there, and there is none of that name in {}; leave out --on for one that is here, or for a run",
                folder.display()
            ));
        }
        failure
            .hint(format!("there is no such file or directory, and no run has such an id; `{}` has all runs", typed::here("show --list")))
    };
    if name.to_string_lossy().contains('/') {
        return Err(unknown());
    }
    let found = Found::named(Some(name), state).map_err(|_found_nothing| unknown())?;
    let Place::State(state) = &found.place else { return Err(unknown()) };
    let report = show::report(&found, &found.ledger()?)?;
    let outputs = report.trials.iter().flat_map(|trial| {
        let streams = trial.output.iter().filter(|(stream, _)| matches!(stream.as_str(), "stdout" | "stderr"));
        streams.map(|(stream, path)| Log::of_trial(run, trial.id.0, stream, &state.resolve(path)))
    });
    Ok(outputs.collect())
}
