//! What every kind of watch does at each step: a sample, its line in the file, what the screen shows.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bystander_model::samples::Samples;
use bystander_supervise::gpu::{GpuSample, TellGpu};
use bystander_supervise::memory_watch::{MemoryWatch, Prepared};
use bystander_supervise::{Cost, Subject};

use super::words::Hidden;
use crate::args::MemoryWatchArgs;
use crate::failure::Failure;
use crate::output::{MemoryLive, SamplesFile};

/// Where samples go, from the thread that asks the driver and from this one.
type Shared = Arc<Mutex<Option<SamplesFile>>>;

/// A watch that goes on.
pub(super) struct Session {
    pub(super) watch: MemoryWatch,
    file: Shared,
    live: MemoryLive,
    interval: Duration,
    /// When the watching is to end.
    until: Option<Instant>,
    due: Instant,
    hidden: Hidden,
}

/// What was seen when it was over.
pub(super) struct Seen {
    pub(super) samples: Samples,
    pub(super) cost: [Cost; 2],
    pub(super) wall_s: f64,
    /// Why the file does not hold every sample, if it does not.
    pub(super) lost: Option<Failure>,
}

impl Session {
    /// Starts to sample; the time axis begins at `started`.
    pub(super) fn begin(
        prepared: Prepared,
        subject: Subject,
        started: Instant,
        args: &MemoryWatchArgs,
        file: Option<SamplesFile>,
        live: MemoryLive,
        hidden: Hidden,
    ) -> Self {
        let file: Shared = Arc::new(Mutex::new(file));
        let shared = Arc::clone(&file);
        let tell: TellGpu = Box::new(move |sample: GpuSample| {
            shared.lock().unwrap_or_else(PoisonError::into_inner).as_mut().is_some_and(|file| file.gpu(&sample))
        });
        let watch = prepared.watch(subject, started, args.interval, Some(tell));
        let until = args.span.and_then(|span| started.checked_add(span));
        Self { watch, file, live, interval: args.interval, until, due: Instant::now(), hidden }
    }

    /// Whether the time that was asked for is over.
    pub(super) fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Takes a sample if it is time to, and says how long it is to the next.
    pub(super) fn step(&mut self) -> Duration {
        let now = Instant::now();
        if now >= self.due {
            let sample = self.watch.take();
            if let Some(file) = self.file.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
                file.host(&sample, |title| self.hidden.title(title));
            }
            self.live.show(&self.watch);
            // What was missed is not made up for.
            self.due = (self.due + self.interval).max(Instant::now());
        }
        let next = self.until.map_or(self.due, |until| until.min(self.due));
        next.saturating_duration_since(Instant::now())
    }

    /// Ends: nothing is drawn any more, the file is complete.
    pub(super) fn end(self) -> Seen {
        let Self { mut watch, file, live, hidden, .. } = self;
        if let Some(file) = file.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            file.host(&watch.take(), |title| hidden.title(title));
        } else {
            let _last = watch.take();
        }
        let wall_s = watch.elapsed_s();
        live.end();
        let (mut samples, cost) = watch.finish();
        hidden.blot(&mut samples);
        let lost = file.lock().unwrap_or_else(PoisonError::into_inner).take().and_then(SamplesFile::finish);
        Seen { samples, cost, wall_s, lost }
    }
}
