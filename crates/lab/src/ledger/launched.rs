//! With what trials were launched. Launches of one run differ in little, so that each is kept as what it differs in from one that it is like: a run of
//! a thousand launches holds a few environments and not a thousand.

use std::path::PathBuf;
use std::sync::Arc;

use bystander_model::provenance::Provenance;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// Launches that differ in more variables than this are kept apart.
const MOST_VARIABLES: usize = 16;
/// So many of the newest launches that were kept whole are compared with: files that change with every launch must not make each one slower.
const MOST_BASES: usize = 32;

/// With what one trial was launched.
#[derive(Debug, Clone)]
pub struct Launched {
    base: Arc<Provenance>,
    /// An [`Own`] as JSON, nothing where it has nothing of its own: a dozen short texts in one piece, and most are never asked for.
    own: Option<Box<str>>,
}

/// What a launch has of its own; nothing where it is as in the one that it is kept beside.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Own {
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<Vec<String>>,
    placeholders: Vec<(String, String)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<PathBuf>,
    /// Variables with their values; none for one that is not set.
    env: Vec<(String, Option<String>)>,
}

impl Launched {
    /// Everything that identifies what was launched.
    #[must_use]
    pub fn provenance(&self) -> Provenance {
        let mut whole = Provenance::clone(&self.base);
        let own = self.own();
        if let Some(command) = own.command {
            whole.command = command;
        }
        if let Some(cwd) = own.cwd {
            whole.cwd = cwd;
        }
        whole.placeholders.extend(own.placeholders);
        for (name, value) in own.env {
            match value {
                Some(value) => whole.env.insert(name, value),
                None => whole.env.shift_remove(&name),
            };
        }
        whole
    }

    /// What was kept here can be read: what could not be written is kept whole.
    fn own(&self) -> Own {
        self.own.as_deref().and_then(|own| serde_json::from_str(own).ok()).unwrap_or_default()
    }
}

impl Own {
    /// What a launch has of its own beside another; `None` where it is too unlike.
    fn beside(base: &Provenance, launch: &Provenance) -> Option<Self> {
        let of_machine = |p: &Provenance| (p.kernel.clone(), p.gpus.clone(), p.git.clone());
        let same_names = base.placeholders.keys().eq(launch.placeholders.keys());
        if !same_names || of_machine(base) != of_machine(launch) || base.files != launch.files || base.python != launch.python {
            return None;
        }
        let env = variables(&base.env, &launch.env)?;
        let placeholders = launch.placeholders.iter().filter(|(name, value)| base.placeholders.get(*name) != Some(value));
        Some(Self {
            command: (base.command != launch.command).then(|| launch.command.clone()),
            placeholders: placeholders.map(|(name, value)| (name.clone(), value.clone())).collect(),
            cwd: (base.cwd != launch.cwd).then(|| launch.cwd.clone()),
            env,
        })
    }

    /// What is kept of it, nothing where there is nothing. A path that is no text cannot be written.
    fn packed(&self) -> serde_json::Result<Option<Box<str>>> {
        if *self == Self::default() {
            return Ok(None);
        }
        serde_json::to_string(self).map(|text| Some(text.into_boxed_str()))
    }
}

/// The variables that differ; `None` where they are too many.
fn variables(base: &IndexMap<String, String>, launch: &IndexMap<String, String>) -> Option<Vec<(String, Option<String>)>> {
    let set = launch.iter().filter(|(name, value)| base.get(*name) != Some(value)).map(|(name, value)| (name.clone(), Some(value.clone())));
    let unset = base.keys().filter(|name| !launch.contains_key(*name)).map(|name| (name.clone(), None));
    let differing: Vec<_> = set.chain(unset).take(MOST_VARIABLES + 1).collect();
    (differing.len() <= MOST_VARIABLES).then_some(differing)
}

/// The launches that were kept whole.
#[derive(Debug, Clone, Default)]
pub(super) struct Launches(Vec<Arc<Provenance>>);

impl Launches {
    /// Keeps with what a trial was launched.
    pub(super) fn keep(&mut self, launch: &Provenance) -> Launched {
        let alike = self.0.iter().rev().take(MOST_BASES).find_map(|base| Some((base, Own::beside(base, launch)?.packed().ok()?)));
        if let Some((base, own)) = alike {
            return Launched { base: Arc::clone(base), own };
        }
        let base = Arc::new(launch.clone());
        self.0.push(Arc::clone(&base));
        Launched { base, own: None }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt as _;

    use bystander_model::provenance::{Provenance, PythonInfo};
    use indexmap::IndexMap;

    use super::Launches;

    fn launch(number: u32) -> Provenance {
        let text = |n: u32| format!("value {n}");
        let mut env: IndexMap<String, String> = (0..100).map(|n| (format!("NAME_{n}"), text(n))).collect();
        env.insert("BYSTANDER_TRIAL".into(), text(number));
        Provenance {
            command: vec!["serve".into(), "--port".into(), (9000 + number).to_string()],
            placeholders: IndexMap::from([("port".into(), (9000 + number).to_string()), ("trial".into(), number.to_string())]),
            cwd: "/work".into(),
            env,
            python: Some(PythonInfo { version: "3.12.1".into(), ..PythonInfo::default() }),
            kernel: "6.8".into(),
            ..Provenance::default()
        }
    }

    #[test]
    fn every_launch_is_given_back_as_it_was_and_those_that_are_alike_share_what_they_can() {
        let mut launches = Launches::default();
        let mut all: Vec<Provenance> = (0..50).map(launch).collect();
        all[7].env.shift_remove("NAME_3");
        all[8].env.insert("LEVEL".into(), "two".into());
        all[9].files.insert("lib.py".into(), "another".into());
        all[10].cwd = "/elsewhere".into();
        all[11].placeholders.insert("gpus".into(), "0".into());
        all[12].python = None;
        all[13] = all[0].clone();
        all[14].cwd = std::ffi::OsString::from_vec(b"/no \xff text".to_vec()).into();
        let kept: Vec<_> = all.iter().map(|launch| launches.keep(launch)).collect();
        for (was, kept) in all.iter().zip(&kept) {
            assert_eq!(&kept.provenance(), was);
        }
        assert!(kept[13].own.is_none() && kept[1].own().env.len() == 1);
        assert_eq!(
            launches.0.len(),
            5,
            "one, and one each for another file, other placeholders, no interpreter and a path that is no text"
        );
    }

    #[test]
    fn launches_that_have_little_in_common_are_kept_apart() {
        let mut launches = Launches::default();
        let mut other = launch(1);
        other.env.values_mut().take(17).for_each(|value| value.push('!'));
        for launch in [&launch(0), &other, &launch(2)] {
            assert_eq!(&launches.keep(launch).provenance(), launch);
        }
        assert_eq!(launches.0.len(), 2);
    }
}
