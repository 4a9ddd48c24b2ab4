//! The sink of a run's events: the store first, then the screen.

use bystander_lab::place::{LabError, Sink};
use bystander_model::event::Event;
use bystander_store::{RunRecord, Store};

use crate::output::Progress;

/// Records events and shows what happens.
pub(crate) struct Recording<'a> {
    store: &'a mut Store,
    /// The run to be created with its first event.
    creating: Option<RunRecord>,
    progress: Progress,
}

impl<'a> Recording<'a> {
    /// Records into a run that exists.
    pub(crate) fn of_existing(store: &'a mut Store, progress: Progress) -> Self {
        Self { store, creating: None, progress }
    }

    /// Creates a run with its first event.
    pub(crate) fn of_new(store: &'a mut Store, run: RunRecord, progress: Progress) -> Self {
        Self { store, creating: Some(run), progress }
    }
}

impl Sink for Recording<'_> {
    fn append(&mut self, event: &Event) -> Result<(), LabError> {
        let recorded = match self.creating.take() {
            Some(run) => self.store.create_run(&run, std::slice::from_ref(event)),
            None => self.store.append(event).map(drop),
        };
        recorded.map_err(|error| LabError::Record(Box::new(error)))?;
        self.progress.show(event);
        Ok(())
    }
}
