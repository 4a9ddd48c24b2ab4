//! Samples of a trial's tree at coarse steps: what was in it, how busy it was, and what memory was left to the machine.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bystander_model::samples::{ProcessPeak, Samples as Summary};

use crate::course::Course;
use crate::gpu::{GpuWatch, TITLE};
use crate::host_memory;
use crate::host_watch::HostTracks;
use crate::tree::Seen;

/// The first samples come fast: what lives shortly, lives at the start.
const FIRST_STEP: Duration = Duration::from_millis(5);
/// Between two samples of a young trial, at most.
const STEP: Duration = Duration::from_millis(250);
/// Between two samples of a trial that is older than [`YOUNG`].
const LONG_STEP: Duration = Duration::from_secs(1);
/// Up to this age a trial is young.
const YOUNG: Duration = Duration::from_secs(30);
/// Processes whose own peaks are kept: those with the largest.
const MOST_PROCESSES: usize = 32;
/// How far back the activity of a trial is known.
const MEMORY: Duration = Duration::from_secs(600);

/// One sample.
#[derive(Debug, Clone, Copy)]
struct Sample {
    at: Instant,
    cpu: Duration,
    output: u64,
}

/// The samples of one trial.
#[derive(Debug)]
pub(super) struct Samples {
    seen: Seen,
    /// The start of the program: of the time axis of everything that is sampled.
    started: Instant,
    step: Duration,
    due: Instant,
    host: HostTracks,
    /// The load of the machine at the start.
    load: Option<f64>,
    course: Course,
    recent: VecDeque<Sample>,
}

impl Samples {
    /// Starts with the program, which was started so long ago.
    pub(super) fn start(ago: Duration) -> Self {
        let now = Instant::now();
        let recent = VecDeque::from([Sample { at: now, cpu: Duration::ZERO, output: 0 }]);
        Self {
            seen: Seen::default(),
            started: now.checked_sub(ago).unwrap_or(now),
            step: FIRST_STEP,
            due: now + FIRST_STEP,
            host: HostTracks::default(),
            load: host_memory::load(),
            course: Course::default(),
            recent,
        }
    }

    /// When the next sample is due.
    pub(super) fn due(&self) -> Instant {
        self.due
    }

    /// What the samples have seen.
    pub(super) fn seen(&self) -> &Seen {
        &self.seen
    }

    /// The resident memory of the tree at the last sample.
    pub(super) fn rss_now(&self) -> Option<u64> {
        self.host.rss_now()
    }

    /// The start of the time axis.
    pub(super) fn started(&self) -> Instant {
        self.started
    }

    /// What goes on meanwhile.
    pub(super) fn course(&self) -> &Course {
        &self.course
    }

    /// What all samples have seen of memory, together with those of the GPUs.
    pub(super) fn summary(&mut self, gpus: Option<&GpuWatch>) -> Summary {
        let mut processes: Vec<ProcessPeak> = self
            .seen
            .peaks()
            .filter(|(_, peak)| *peak > 0)
            .map(|(process, peak)| ProcessPeak {
                pid: process.pid,
                title: short(process.title(), &process.comm),
                peak_rss_bytes: peak,
                ..ProcessPeak::default()
            })
            .collect();
        processes.sort_by_key(|process| (std::cmp::Reverse(process.peak_rss_bytes), process.pid));
        processes.truncate(MOST_PROCESSES);
        let peak_rss_bytes = Some(self.seen.peak_rss_bytes()).filter(|peak| *peak > 0);
        Summary { peak_rss_bytes, processes, load_before: self.load, ..crate::host_watch::joined(&self.course, &mut self.host, gpus) }
    }

    /// Takes a sample if it is time to.
    pub(super) fn take_if_due(&mut self, keeper: u32, written: [u64; 2]) {
        if Instant::now() >= self.due {
            self.take(keeper, written);
        }
    }

    /// Takes a sample now.
    pub(super) fn take(&mut self, keeper: u32, written: [u64; 2]) {
        let totals = self.seen.sample(keeper);
        let now = Instant::now();
        self.host.take(now.duration_since(self.started), totals.rss_bytes, &self.course.told());
        // Counters only rise; a process that ended between two reads can make the sum dip.
        let before = self.recent.back().map_or(Duration::ZERO, |sample| sample.cpu);
        self.recent.push_back(Sample { at: now, cpu: totals.cpu.max(before), output: written.iter().sum() });
        // One sample older than the memory is kept, so that a span that long can be looked back on.
        while self.recent.get(1).is_some_and(|sample| now.duration_since(sample.at) > MEMORY) {
            self.recent.pop_front();
        }
        let longest = if now.duration_since(self.started) < YOUNG { STEP } else { LONG_STEP };
        self.step = (self.step * 2).min(longest);
        self.due = now + self.step;
    }

    /// Bytes written and processor time spent since `span` ago, with the span that was really looked at.
    pub(super) fn over(&mut self, span: Duration, keeper: u32, written: [u64; 2]) -> (Duration, u64, Duration) {
        self.take(keeper, written);
        let Some(last) = self.recent.back().copied() else { return (Duration::ZERO, 0, Duration::ZERO) };
        let is_far_enough = |sample: &&Sample| last.at.duration_since(sample.at) >= span;
        let Some(first) = self.recent.iter().rev().find(is_far_enough).or(self.recent.front()) else {
            return (Duration::ZERO, 0, Duration::ZERO);
        };
        (last.at.duration_since(first.at), last.output.saturating_sub(first.output), last.cpu.saturating_sub(first.cpu))
    }
}

/// A title that is not too long; the short name where there is none.
fn short(title: String, comm: &str) -> String {
    let title = if title.is_empty() { comm.to_owned() } else { title };
    if title.chars().count() > TITLE { title.chars().take(TITLE).collect() } else { title }
}
