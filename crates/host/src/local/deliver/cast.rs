//! Who goes in by which way in one cell: the probes and edits of a trial, sorted by their delivery.

use std::path::{Path, PathBuf};

use bystander_edit::EditSpec;
use bystander_lab::cause::Refusal;
use bystander_lab::plan::Plan;
use bystander_model::cell::Cell;
use bystander_model::probe::Delivery;
use bystander_probe::{CheckedProbe, TextError, insertions};
use bystander_supervise::Availability;

use super::choose::{Choice, Way, choose};
use super::limits::limits_of;
use crate::local::check::spec;

/// The name of the folder of a trial in which the overlay for probes by text lies.
const LATE: &str = "late";

/// The instruments of one cell by their ways.
#[derive(Debug, Default)]
pub(crate) struct Cast {
    /// Probes that an overlay puts in.
    pub(in crate::local) overlaid: Vec<CheckedProbe>,
    /// Whether the overlay is also started by a `.pth` file.
    pub(crate) pth: bool,
    /// Probes that statements in private copies of files put in.
    private: Vec<CheckedProbe>,
    /// Probes that statements in files on disk put in.
    patched: Vec<CheckedProbe>,
    /// The folder of the overlay that such statements load.
    pub(in crate::local) late: PathBuf,
    /// Edits of files on disk.
    pub(in crate::local) on_disk: Vec<EditSpec>,
    /// Edits that only the trial's processes see.
    pub(crate) mounted: Vec<EditSpec>,
    /// What is to be told of the choices, where they are not the usual ones.
    pub(in crate::local) notes: Vec<String>,
}

impl Cast {
    /// Sorts the instruments of a cell; `words` is the command, `folder` that of the trial, and `available` is asked only where it matters.
    pub(in crate::local) fn of_cell(
        plan: &Plan,
        cell: &Cell,
        checked: &[CheckedProbe],
        words: &[String],
        folder: &Path,
        available: &Availability,
    ) -> Result<Self, Refusal> {
        let mut cast = Self { late: folder.join(LATE), ..Self::default() };
        for edit in plan.edits_of(cell) {
            match edit.delivery {
                Delivery::Mount => cast.mount(&edit.name, spec(edit), available)?,
                Delivery::Auto | Delivery::Overlay | Delivery::Patch => cast.on_disk.push(spec(edit)),
            }
        }
        for probe in plan.probes_of(cell) {
            let Some(checked) = checked.iter().find(|known| known.name == probe.spec.name) else { continue };
            let choice = choose(probe.spec.delivery, words, available)
                .map_err(|error| Refusal { instrument: checked.name.clone(), reason: format!("{}; {}", error.reason, error.mend) })?;
            cast.take(checked, &choice);
        }
        let refused = |error: TextError| Refusal { instrument: cell.instrument.clone(), reason: format!("failed to {error}") };
        cast.mounted.extend(insertions(&cast.private, &cast.late).map_err(refused)?);
        cast.on_disk.extend(insertions(&cast.patched, &cast.late).map_err(refused)?);
        Ok(cast)
    }

    /// Sorts probes whose ways are chosen already; `folder` is that of the trial.
    pub(crate) fn of_choices<'a>(chosen: impl Iterator<Item = (&'a CheckedProbe, &'a Choice)>, folder: &Path) -> Result<Self, TextError> {
        let mut cast = Self { late: folder.join(LATE), ..Self::default() };
        chosen.for_each(|(probe, choice)| cast.take(probe, choice));
        cast.mounted.extend(insertions(&cast.private, &cast.late)?);
        cast.on_disk.extend(insertions(&cast.patched, &cast.late)?);
        Ok(cast)
    }

    /// Whether the trial has mounts of its own.
    pub(crate) fn is_mounted(&self) -> bool {
        self.pth || !self.mounted.is_empty()
    }

    fn mount(&mut self, name: &str, spec: EditSpec, available: &Availability) -> Result<(), Refusal> {
        if let Some(refusal) = available.refusal() {
            let reason = format!("private mounts are refused: {}; {}", refusal.reason, refusal.mend);
            return Err(Refusal { instrument: name.to_owned(), reason });
        }
        self.mounted.push(spec);
        // Those of a probe by text but for what only a probe has.
        let of_edit =
            limits_of(Way::OverlayAndPth, available).into_iter().filter(|limit| limit.contains("inside") || limit.contains("outside"));
        self.notes.push(format!("edit `{name}` by mount: {}", of_edit.collect::<Vec<_>>().join("; ")));
        Ok(())
    }

    /// Probes that statements in the text put in.
    pub(in crate::local) fn by_text(&self) -> Vec<CheckedProbe> {
        self.private.iter().chain(&self.patched).cloned().collect()
    }

    fn take(&mut self, probe: &CheckedProbe, choice: &Choice) {
        match choice.way {
            Way::Overlay => self.overlaid.push(probe.clone()),
            Way::OverlayAndPth => {
                self.overlaid.push(probe.clone());
                self.pth = true;
            }
            Way::Text => self.private.push(probe.clone()),
            Way::Patch => self.patched.push(probe.clone()),
        }
        if choice.way != Way::Overlay || !choice.reason.starts_with("it changes nothing") {
            self.notes.push(format!("probe `{}` by {}; {}", probe.name, choice.describe(), choice.limits.join("; ")));
        }
    }
}
