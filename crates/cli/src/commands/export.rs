//! `bystander export`: everything of a run as one file that another machine opens with `bystander show FILE`.

mod kept;
pub(super) mod spec;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bystander_host::secrets::Masker;
use bystander_lab::ledger::Ledger;
use bystander_model::ids::TrialId;
use bystander_model::typed::quoted;
use bystander_report::Style;
use bystander_store::archive::{ArchiveError, FAR, Packer, Source};
use bystander_store::{RunRecord, StateDir};
use serde::Serialize;

use super::found::{ARCHIVE_ENDS, Found, Place, of_archive};
use super::{on, show, watch};
use crate::args::ExportArgs;
use crate::failure::Failure;
use crate::output::Output;

/// The folder of output files in an archive.
pub(super) const LOGS: &str = "logs";

/// The columns of the texts in an archive.
const WIDTH: usize = 110;

/// Exports a run.
pub(crate) fn run(args: &ExportArgs, named: Option<&Path>, output: &mut Output) -> Result<ExitCode, Failure> {
    let found = Found::named(args.run.as_deref(), named)?;
    let Place::State(state) = &found.place else {
        return Err(Failure::user("failed to export: it is an archive already").hint("copy the file"));
    };
    if found.is_alive()? {
        return Err(Failure::user(format!("failed to export {}: it is running", found.record.id)).hint("wait until it ends, or stop it"));
    }
    let to = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}{ARCHIVE_ENDS}", found.record.id)));
    let mut packer = Packer::begin(&found.store, &found.record, env!("CARGO_PKG_VERSION")).map_err(|error| of_archive(&error))?;
    if watch::is_watched(&found.store, &found.record.id)? {
        add_watched(&mut packer, &found)?;
    } else {
        add_experiment(&mut packer, &found, state)?;
    }
    if let Some(ran) = &found.ran_on {
        add(&mut packer, FAR, serde_json::to_vec_pretty(ran).map_err(|source| unwritable(FAR, source))?)?;
    }
    kept::add(&mut packer, &found.record.id, &found.store, state)?;
    let manifest = packer.write(&to).map_err(|error| unwritten(&error, &to))?;
    output.exported(&manifest, &to);
    Ok(ExitCode::SUCCESS)
}

/// An archive that could not be written: where its folder is missing, that is what to mend.
fn unwritten(error: &ArchiveError, to: &Path) -> Failure {
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir());
    match folder {
        Some(folder) if matches!(error, ArchiveError::Io { .. }) => {
            let there = if folder.symlink_metadata().is_ok() { "it is no folder" } else { "there is no such folder" };
            Failure::user(format!("failed to write the archive to {}: {there}", folder.display()))
                .hint(format!("make the folder first (`mkdir -p {}`), or name another file with -o", quoted(folder)))
        }
        _ => of_archive(error),
    }
}

fn add_watched(packer: &mut Packer, found: &Found) -> Result<(), Failure> {
    let summary = watch::summary(&found.store, &found.record, false)?;
    let style = Style { width: WIDTH, ..Style::default() };
    let text = bystander_report::watch_text(&summary, &style, "");
    add(packer, "summary.json", bystander_report::summary_json(&summary))?;
    add(packer, "summary.txt", text.into_bytes())
}

fn add_experiment(packer: &mut Packer, found: &Found, state: &StateDir) -> Result<(), Failure> {
    let ledger = found.ledger()?;
    let mut report = show::report(found, &ledger)?;
    let style = Style { width: WIDTH, ..Style::default() };
    let why = bystander_report::why(&report, &style);
    add(packer, "environment.json", environment(&ledger)?)?;
    report.trials.iter_mut().for_each(|trial| trial.provenance = None);
    add(packer, "report.json", bystander_report::json(&report))?;
    add(packer, "report.txt", bystander_report::text(&report, &style).into_bytes())?;
    add(packer, "why.txt", why.into_bytes())?;
    add_spec(packer, &ledger, &found.record, state)
}

fn add(packer: &mut Packer, name: &str, bytes: Vec<u8>) -> Result<(), Failure> {
    packer.add(name, Source::Bytes(bytes)).map_err(|error| of_archive(&error))
}

/// With what each trial was launched, as the record has it: secrets are hashes.
fn environment(ledger: &Ledger) -> Result<Vec<u8>, Failure> {
    #[derive(Serialize)]
    struct Launched {
        trial: TrialId,
        cell: String,
        #[serde(flatten)]
        provenance: bystander_model::provenance::Provenance,
    }
    let launched: Vec<Launched> = ledger
        .trials
        .values()
        .filter_map(|trial| Some(Launched { trial: trial.id, cell: trial.slot.cell.to_string(), provenance: trial.provenance()? }))
        .collect();
    serde_json::to_vec_pretty(&launched).map_err(|source| unwritable("environment.json", source))
}

fn unwritable(member: &str, source: serde_json::Error) -> Failure {
    of_archive(&ArchiveError::Unwritable { member: member.to_owned(), source })
}

/// The experiment file, where it is still the one that was run; the plan as it was checked is among the events in any case.
fn add_spec(packer: &mut Packer, ledger: &Ledger, record: &RunRecord, state: &StateDir) -> Result<(), Failure> {
    // A key that cannot be used is replaced by one that nobody keeps: hashes then compare with nothing, and no secret gets out.
    let masker = Masker::open(state.path()).or_else(|_unusable| Masker::forgotten());
    let masker = masker.map_err(|error| Failure::environment("failed to get random bytes").because(&error))?;
    let file = &ledger.plan.file;
    // One that was sent elsewhere is kept here; its file has another path there.
    let text = on::masked(state, &record.spec_sha256).map_or_else(|| spec::masked(file, &record.spec_sha256, &masker), Ok);
    match text {
        Ok(text) => add(packer, "experiment.toml", text.into_bytes()),
        Err(why) => {
            packer.leave_out(format!("{}: {why}; the plan as it was checked is in the first event", file.display()));
            Ok(())
        }
    }
}
