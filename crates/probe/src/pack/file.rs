//! The form of a pack's file.

use bystander_model::probe::syntax;
use serde::Deserialize;

use super::{DataFault, Pack, PackPlace, PackProbe, ReleaseRange};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    engine: String,
    package: String,
    distributions: Vec<String>,
    about: String,
    probes: Vec<Probe>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Probe {
    name: String,
    tells: String,
    places: Vec<Place>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    r#for: String,
    probe: String,
}

/// Reads a pack from its text.
pub(super) fn read(name: &str, text: &str) -> Result<Pack, DataFault> {
    let file: File = toml::from_str(text).map_err(|error| DataFault::File(Box::new(error)))?;
    let package = file.package;
    let probes = file.probes.into_iter().map(|probe| read_probe(&package, probe)).collect::<Result<_, _>>()?;
    Ok(Pack { name: name.to_owned(), engine: file.engine, package, distributions: file.distributions, about: file.about, probes })
}

fn read_probe(package: &str, probe: Probe) -> Result<PackProbe, DataFault> {
    let Probe { name, tells, places } = probe;
    if places.is_empty() {
        return Err(DataFault::NoPlace { probe: name });
    }
    let places = places.iter().map(|place| read_place(package, &name, place)).collect::<Result<_, _>>()?;
    Ok(PackProbe { name, tells, places })
}

fn read_place(package: &str, probe: &str, place: &Place) -> Result<PackPlace, DataFault> {
    let releases = ReleaseRange::parse(&place.r#for);
    let releases = releases.map_err(|part| DataFault::Range { probe: probe.to_owned(), text: place.r#for.clone(), part })?;
    let typed = syntax::parse(&place.probe);
    let typed =
        typed.map_err(|source| DataFault::Place { probe: probe.to_owned(), text: place.probe.clone(), source: Box::new(source) })?;
    let mut spec = typed.probe;
    spec.name = format!("{package}.{probe}");
    Ok(PackPlace { releases, spec })
}

#[cfg(test)]
mod tests {
    use super::{DataFault, read};

    fn text(places: &str) -> String {
        format!("engine = 'E'\npackage = 'e'\ndistributions = ['e']\nabout = 'a'\n[[probes]]\nname = 'p'\ntells = 't'\nplaces = {places}\n")
    }

    #[test]
    fn faults_of_the_data_say_where() {
        assert!(matches!(read("e", &text("[]")), Err(DataFault::NoPlace { probe }) if probe == "p"));
        assert!(matches!(read("e", &text("[{ for = '0.5', probe = 'e:f' }]")), Err(DataFault::Range { part, .. }) if part == "0.5"));
        assert!(matches!(read("e", &text("[{ for = '>=1', probe = 'e' }]")), Err(DataFault::Place { .. })));
        assert!(matches!(read("e", &text("[{ for = '>=1', probes = 'e:f' }]")), Err(DataFault::File(_))));
        let pack = read("e", &text("[{ for = '>=1', probe = 'e:f@return {return} rank self.r' }]")).expect("reads");
        assert_eq!(pack.probes[0].places[0].spec.to_string(), "e:f@return {return} rank self.r as e.p");
    }
}
