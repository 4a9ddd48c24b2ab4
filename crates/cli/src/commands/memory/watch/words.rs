//! Titles and commands without the secrets that are in them.

use bystander_host::secrets;
use bystander_model::samples::Samples;

/// What must not be shown.
#[derive(Debug, Default)]
pub(super) struct Hidden(Vec<String>);

impl Hidden {
    /// The secrets of a command and of the environment that it is given.
    pub(super) fn of(command: &[String], env: &[(String, String)]) -> Self {
        Self(secrets::values(command, env.iter().map(|(name, value)| (name.as_str(), value.as_str()))))
    }

    /// A title without them.
    pub(super) fn title(&self, title: &str) -> String {
        secrets::blot(&secrets::masked_title(title), &self.0).into_owned()
    }

    /// The same for all titles of samples.
    pub(super) fn blot(&self, samples: &mut Samples) {
        let hush = |title: &mut String| *title = self.title(title);
        samples.processes.iter_mut().for_each(|process| hush(&mut process.title));
        samples.gpus.iter_mut().flat_map(|gpu| &mut gpu.processes).filter_map(|process| process.title.as_mut()).for_each(hush);
    }
}
