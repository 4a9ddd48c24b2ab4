//! Ready-made sets of probes for engines that many people run: data in `packs/`, bound to the release that is installed.
//!
//! A pack names, for each probe, places by function and local name with the releases that have them. [`bind`] asks the program's
//! own interpreter which release it would import and which places are there; nothing of the engine is imported.

mod bind;
mod file;
mod problem;
mod release;

use bystander_model::probe::ProbeSpec;

pub use bind::{Bound, Fate, Fated, Missed, bind, bind_all};
pub use problem::{DataFault, PackError};
pub use release::{Release, ReleaseRange};

/// Every pack, by its name and text.
const PACKS: [(&str, &str); 2] =
    [("sglang-memory", include_str!("../packs/sglang-memory.toml")), ("vllm-memory", include_str!("../packs/vllm-memory.toml"))];

/// One set of probes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pack {
    /// The name that a person types, such as `sglang-memory`.
    pub name: String,
    /// The engine as a person calls it.
    pub engine: String,
    /// The engine's top-level package.
    pub package: String,
    /// The distributions that bring the package, the usual one first.
    pub distributions: Vec<String>,
    /// What the probes show, in a line.
    pub about: String,
    /// The probes, in the order in which a start passes them.
    pub probes: Vec<PackProbe>,
}

/// One probe of a pack, with every place it may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackProbe {
    /// The probe's name, such as `rest`; hits carry it behind the engine's package, as in `sglang.rest`.
    pub name: String,
    /// What its values tell, in a line.
    pub tells: String,
    /// The places, the first that binds being the one.
    pub places: Vec<PackPlace>,
}

/// One place of a probe, and the releases that have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackPlace {
    /// The releases.
    pub releases: ReleaseRange,
    /// The probe there.
    pub spec: ProbeSpec,
}

/// The names of all packs.
#[must_use]
pub fn names() -> Vec<&'static str> {
    PACKS.iter().map(|(name, _)| *name).collect()
}

/// Reads a pack.
///
/// # Errors
/// [`PackError::Unknown`] for a name that is none of [`names`].
pub fn load(name: &str) -> Result<Pack, PackError> {
    let Some((_, text)) = PACKS.iter().find(|(known, _)| *known == name) else {
        return Err(PackError::Unknown { name: name.to_owned(), known: names() });
    };
    file::read(name, text).map_err(|source| PackError::Data { pack: name.to_owned(), source: Box::new(source) })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{PackError, Release, load, names};

    #[test]
    fn every_pack_reads_and_names_each_probe_once() {
        for name in names() {
            let pack = load(name).expect(name);
            let distinct: BTreeSet<&str> = pack.probes.iter().map(|probe| probe.name.as_str()).collect();
            assert_eq!(distinct.len(), pack.probes.len(), "{name}");
            assert!(pack.probes.len() > 20, "{name}");
        }
    }

    #[test]
    fn no_release_has_two_places_for_one_probe() {
        for name in names() {
            for probe in load(name).expect(name).probes {
                let last = |text: &str| Release::parse(text).expect(text);
                for release in
                    ["0.4.3.post4", "0.5.2", "0.5.9", "0.5.10", "0.5.13", "0.5.15", "0.5.23", "0.8.5", "0.11.0", "0.22.0", "0.33.0"]
                {
                    let fits = probe.places.iter().filter(|place| place.releases.holds(&last(release))).count();
                    assert!(fits <= 1, "{name}: {} has {fits} places in {release}", probe.name);
                }
            }
        }
    }

    #[test]
    fn an_unknown_name_says_which_there_are() {
        let error = load("sglang").expect_err("no such pack");
        assert!(matches!(&error, PackError::Unknown { known, .. } if known == &names()));
        assert_eq!(error.to_string(), "find the probe set `sglang`: there are sglang-memory, vllm-memory");
    }
}
