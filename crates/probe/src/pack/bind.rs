//! Binding a pack to what is installed.

use std::path::PathBuf;

use bystander_model::probe::ProbeSpec;
use serde::Deserialize;
use serde_json::json;

use super::{Pack, PackError, PackPlace, PackProbe, Release, load};
use crate::check::{CheckedProbe, check};
use crate::interpreter::Interpreter;
use crate::problem::ProbeProblem;

/// What became of a pack: at least one of its probes is bound.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// The pack.
    pub pack: String,
    /// The engine as a person calls it.
    pub engine: String,
    /// The version that is installed, as its metadata has it; `None` where no metadata says one.
    pub version: Option<String>,
    /// The engine's package, or the file of it.
    pub folder: PathBuf,
    /// The version of the interpreter.
    pub python: String,
    /// Every probe of the pack, in its order.
    pub probes: Vec<Fated>,
}

/// One probe of a pack, and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Fated {
    /// Its name in the pack, such as `rest`.
    pub name: String,
    /// What its values tell.
    pub tells: String,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a probe of a pack.
#[derive(Debug, Clone, PartialEq)]
pub enum Fate {
    /// It goes there.
    Bound {
        /// The probe.
        spec: Box<ProbeSpec>,
        /// Its place.
        place: Box<CheckedProbe>,
        /// True where the place is one of other releases than the metadata says: a fork, or sources that the metadata does not belong to.
        other_release: bool,
    },
    /// The release has no such step.
    Absent {
        /// The releases that have it.
        releases: Vec<String>,
    },
    /// It should be there and is not.
    Missed(Vec<Missed>),
}

/// A place that was looked for in vain.
#[derive(Debug, Clone, PartialEq)]
pub struct Missed {
    /// The place, with the pattern where it has one.
    pub place: String,
    /// Why not.
    pub problem: ProbeProblem,
}

#[derive(Deserialize)]
struct Installed {
    python: String,
    version: Option<String>,
    folder: Option<PathBuf>,
}

/// Binds packs by name, for a command that takes several.
///
/// # Errors
/// The first [`PackError`].
pub fn bind_all(interpreter: &Interpreter, names: &[String]) -> Result<Vec<Bound>, PackError> {
    let mut once: Vec<&String> = Vec::new();
    names.iter().for_each(|name| {
        if !once.contains(&name) {
            once.push(name)
        }
    });
    once.into_iter().map(|name| bind(interpreter, &load(name)?)).collect()
}

/// Binds a pack to the engine that an interpreter would import, by running the interpreter; nothing of the engine is imported.
///
/// # Errors
/// [`PackError`] where the interpreter gives no answer, the engine is not there, or no probe binds.
pub fn bind(interpreter: &Interpreter, pack: &Pack) -> Result<Bound, PackError> {
    let failed = |source| PackError::Interpreter { engine: pack.engine.clone(), source: Box::new(source) };
    let request = json!({ "task": "release", "path": interpreter.path, "package": pack.package, "distributions": pack.distributions });
    let installed: Installed = interpreter.ask(&request).map_err(failed)?;
    let Some(folder) = installed.folder else {
        let (pack, engine, package) = (pack.name.clone(), pack.engine.clone(), pack.package.clone());
        return Err(PackError::NotInstalled { pack, engine, package, python: interpreter.python.clone() });
    };
    let release = installed.version.as_deref().and_then(Release::parse).filter(|release| known(pack, release));
    let mut fates: Vec<Fate> = Vec::new();
    let own: Vec<Vec<&PackPlace>> = pack.probes.iter().map(|probe| own_places(probe, release.as_ref())).collect();
    for (probe, found) in pack.probes.iter().zip(look(interpreter, &own).map_err(failed)?) {
        fates.push(if found.is_empty() { absent(probe) } else { fate(found, false) });
    }
    // A release that has lost a step may be one of another time than its metadata says.
    let other: Vec<Vec<&PackPlace>> = fates.iter().zip(&pack.probes).zip(&own).map(|((fate, probe), own)| rest(fate, probe, own)).collect();
    if other.iter().any(|places| !places.is_empty()) {
        for (fate_then, found) in fates.iter_mut().zip(look(interpreter, &other).map_err(failed)?) {
            if let bound @ Fate::Bound { .. } = fate(found, true) {
                *fate_then = bound;
            }
        }
    }
    let probes = pack.probes.iter().zip(fates).map(|(probe, fate)| Fated { name: probe.name.clone(), tells: probe.tells.clone(), fate });
    let bound = Bound {
        pack: pack.name.clone(),
        engine: pack.engine.clone(),
        version: installed.version,
        folder,
        python: installed.python,
        probes: probes.collect(),
    };
    if bound.specs().is_empty() { Err(nothing(bound)) } else { Ok(bound) }
}

/// Tells whether a pack has any place for a release; a version that is in no range says nothing.
fn known(pack: &Pack, release: &Release) -> bool {
    pack.probes.iter().flat_map(|probe| &probe.places).any(|place| place.releases.holds(release))
}

/// The places that a release should have; all, where it is not known which release it is.
fn own_places<'p>(probe: &'p PackProbe, release: Option<&Release>) -> Vec<&'p PackPlace> {
    probe.places.iter().filter(|place| release.is_none_or(|release| place.releases.holds(release))).collect()
}

/// The places of other releases, for a probe that was missed.
fn rest<'p>(fate: &Fate, probe: &'p PackProbe, own: &[&PackPlace]) -> Vec<&'p PackPlace> {
    let missed = matches!(fate, Fate::Missed(_));
    probe.places.iter().filter(|place| missed && !own.contains(place)).collect()
}

type Found<'p> = Vec<(&'p PackPlace, Result<CheckedProbe, ProbeProblem>)>;

/// Looks for the places of all probes in one run of the interpreter.
fn look<'p>(interpreter: &Interpreter, places: &[Vec<&'p PackPlace>]) -> Result<Vec<Found<'p>>, crate::interpreter::InterpreterError> {
    let specs: Vec<ProbeSpec> = places.iter().flatten().map(|place| place.spec.clone()).collect();
    let mut answers = check(interpreter, &specs)?.probes.into_iter();
    Ok(places.iter().map(|of_probe| of_probe.iter().copied().zip(answers.by_ref()).collect()).collect())
}

fn fate(found: Found<'_>, other_release: bool) -> Fate {
    let mut missed = Vec::new();
    for (place, answer) in found {
        match answer {
            Ok(checked) => return Fate::Bound { spec: Box::new(place.spec.clone()), place: Box::new(checked), other_release },
            Err(problem) => missed.push(Missed { place: shown(&place.spec), problem }),
        }
    }
    Fate::Missed(missed)
}

fn absent(probe: &PackProbe) -> Fate {
    Fate::Absent { releases: probe.places.iter().map(|place| place.releases.to_string()).collect() }
}

/// A place in words, without what is captured there.
fn shown(spec: &ProbeSpec) -> String {
    spec.after.as_ref().map_or_else(|| spec.at.to_string(), |pattern| format!("{} after \"{pattern}\"", spec.at))
}

fn nothing(bound: Bound) -> PackError {
    let missed = bound.probes.into_iter().filter_map(|probe| match probe.fate {
        Fate::Missed(missed) => Some(missed),
        _ => None,
    });
    let looked_for = missed.flatten().map(|missed| missed.place).collect();
    PackError::NothingBound { pack: bound.pack, engine: bound.engine, version: bound.version, folder: bound.folder, looked_for }
}

impl Bound {
    /// The probes that are bound, ready to be delivered; their names begin with the engine's package.
    #[must_use]
    pub fn specs(&self) -> Vec<ProbeSpec> {
        self.probes
            .iter()
            .filter_map(|probe| if let Fate::Bound { spec, .. } = &probe.fate { Some((**spec).clone()) } else { None })
            .collect()
    }

    /// The probes that the release has a place for: those bound and those missed.
    #[must_use]
    pub fn expected(&self) -> usize {
        self.probes.iter().filter(|probe| !matches!(probe.fate, Fate::Absent { .. })).count()
    }

    /// The engine with its version, in words.
    #[must_use]
    pub fn release(&self) -> String {
        let version = self.version.as_deref().unwrap_or("of an unknown version");
        format!("{} {version}", self.engine)
    }

    /// What a person should know beside the hits: a line on the pack, one for every probe that was missed or that another release's place took.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = vec![format!("{}: {} of {} probes bind to {}", self.pack, self.specs().len(), self.expected(), self.release())];
        for probe in &self.probes {
            match &probe.fate {
                Fate::Bound { spec, other_release: true, .. } => {
                    notes.push(format!("`{}` goes to a place of another release: {}", probe.name, shown(spec)));
                }
                Fate::Missed(missed) => notes.extend(missed.iter().map(|missed| missed.note(&probe.name))),
                _ => {}
            }
        }
        notes
    }
}

impl Missed {
    /// The place, why it is none, and what is nearest, in a line.
    fn note(&self, probe: &str) -> String {
        let near = self.problem.notes();
        let near = if near.is_empty() { String::new() } else { format!(" ({})", near.join("; ")) };
        format!("`{probe}` is not at {}: {}{near}", self.place, self.problem)
    }
}
