//! The GPUs of a trial: watched while it runs.

use super::Trial;
use crate::course::Course;
use crate::gpu::{self, Gpu, GpuWatch, Pace, Wanted};
use crate::subject::Subject;

/// What a running trial holds, in bytes, at the last samples; `None` where there was none yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Holding {
    /// Resident memory of its processes; what they share is counted for each.
    pub rss_bytes: Option<u64>,
    /// Memory of its GPUs, on top of what they held before.
    pub gpu_bytes: Option<u64>,
}

impl Trial {
    /// What it holds now.
    #[must_use]
    pub fn holds(&self) -> Holding {
        Holding { rss_bytes: self.samples.rss_now(), gpu_bytes: self.gpus.as_ref().and_then(GpuWatch::held_now) }
    }

    /// Samples the memory of GPUs, as they were looked at before the program was started, until the trial is over. Does nothing where there are none.
    pub fn watch_gpus(&mut self, before: &[Gpu]) {
        if let (false, Ok(driver)) = (before.is_empty(), gpu::driver()) {
            let wanted = Wanted {
                subject: Subject::Below(self.keeper.id()),
                started: self.samples.started(),
                pace: Pace::Slowing,
                course: self.samples.course().clone(),
                others: true,
                tell: None,
            };
            // Without another thread there are no samples, and a trial all the same.
            self.gpus = GpuWatch::start(driver, before, wanted).ok();
        }
    }

    /// Its processes, for a watch of their memory: all below its keeper.
    #[must_use]
    pub fn subject(&self) -> Subject {
        Subject::Below(self.keeper.id())
    }

    /// What goes on meanwhile: whoever learns of a phase or a moment tells it there, in seconds since the start of the program, and the samples say what
    /// was held then.
    #[must_use]
    pub fn course(&self) -> Course {
        self.samples.course().clone()
    }
}
