//! The GPUs of a trial: watched while it runs.

use super::Trial;
use crate::gpu::{self, Gpu, GpuWatch};

impl Trial {
    /// Samples the memory of GPUs, as they were looked at before the program was started, until the trial is over. Does nothing where there are none.
    pub fn watch_gpus(&mut self, before: &[Gpu]) {
        if let (false, Ok(driver)) = (before.is_empty(), gpu::driver()) {
            // Without another thread there are no samples, and a trial all the same.
            self.gpus = GpuWatch::start(driver, before, self.keeper.id()).ok();
        }
    }
}
