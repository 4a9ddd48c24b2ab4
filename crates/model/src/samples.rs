//! What samples have seen, of a trial or of what is watched: memory of processes, free memory of the machine, memory of GPUs, and what went on meanwhile.
//!
//! Seen means: at a sample. What rose and fell between two samples is not in here, so a peak is a lower bound. Units: bytes, seconds since the
//! start (of the program, or of the watch). What could not be measured is `None`, never 0.

mod course;
mod stray;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use course::{GpuHeld, Mark, MarkKind, Moment, PhaseSamples};
pub use stray::{Stray, StrayWhy};

/// The samples of one trial, or of one watch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Samples {
    /// The largest sum of resident memory over the tree; memory that processes share is counted for each.
    #[serde(default)]
    pub peak_rss_bytes: Option<u64>,
    /// When that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_rss_at: Option<Moment>,
    /// The sum of resident memory over the tree, in the course of the trial.
    #[serde(default)]
    pub rss: Series,
    /// The processes of the tree that held most, by their own peak; a few dozen at most.
    #[serde(default)]
    pub processes: Vec<ProcessPeak>,
    /// The least memory that the kernel said to be available on the machine (`MemAvailable`).
    #[serde(default)]
    pub least_available_bytes: Option<u64>,
    /// That memory in the course of things: each point is the least of its span.
    #[serde(default, skip_serializing_if = "Series::is_empty")]
    pub available: Series,
    /// The load of the machine (average of the last minute) when the program was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_before: Option<f64>,
    /// The GPUs of the trial, by index; empty without a driver and for a trial that uses none.
    #[serde(default)]
    pub gpus: Vec<GpuSamples>,
    /// The phases, in the order in which they began, with what was held in each; empty where nobody told of any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseSamples>,
    /// What happened meanwhile, such as hits of probes, with what was held at that moment; a bounded number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// What happened and has no mark, since there were too many.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unmarked: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Samples {
    /// The largest memory that any one GPU held at any sample, less what it held before the trial.
    #[must_use]
    pub fn peak_gpu_bytes(&self) -> Option<u64> {
        self.gpus.iter().filter_map(GpuSamples::own_peak_bytes).max()
    }

    /// Notes on each GPU which processes are stray there.
    pub fn find_strays(&mut self) {
        stray::find(&mut self.gpus);
    }

    /// The same without the course of things: what a report shows.
    #[must_use]
    pub fn without_series(&self) -> Self {
        let mut samples = self.clone();
        samples.rss = Series::default();
        samples.available = Series::default();
        samples.processes.iter_mut().for_each(|process| process.series = Series::default());
        for gpu in &mut samples.gpus {
            gpu.series = Series::default();
            gpu.processes.iter_mut().for_each(|process| process.series = Series::default());
        }
        samples
    }
}

/// The largest memory of one process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessPeak {
    /// The process.
    pub pid: u32,
    /// Its latest title, cut and without secrets.
    pub title: String,
    /// Its largest resident memory.
    pub peak_rss_bytes: u64,
    /// When that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_at: Option<Moment>,
    /// Its memory when it was last seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_bytes: Option<u64>,
    /// Its memory in the course of things, where that was recorded.
    #[serde(default, skip_serializing_if = "Series::is_empty")]
    pub series: Series,
}

/// The memory of one GPU.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GpuSamples {
    /// Its index in the order of the driver.
    pub index: u32,
    /// Its UUID.
    pub uuid: String,
    /// Its name.
    pub name: String,
    /// Its memory in all.
    pub total_bytes: u64,
    /// What was held on it before the trial, by whomever.
    pub before_bytes: Option<u64>,
    /// The most that was held on it, by whomever.
    pub peak_bytes: Option<u64>,
    /// When that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_at: Option<Moment>,
    /// What was held at the last sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_bytes: Option<u64>,
    /// The time from which it did not answer any more, where it stopped to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent_from_s: Option<f64>,
    /// What was held when the trial was over and the memory had been waited for.
    pub after_bytes: Option<u64>,
    /// What was held, by whomever, in the course of the trial.
    pub series: Series,
    /// The processes of the trial on it and, as [`KnownBy::Other`], those of others; of a watch all that were seen on it.
    pub processes: Vec<GpuProcess>,
    /// Processes that hold memory here beside the rank whose GPU this is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strays: Vec<Stray>,
}

impl GpuSamples {
    /// The most that came on top of what was held before the trial.
    #[must_use]
    pub fn own_peak_bytes(&self) -> Option<u64> {
        Some(self.peak_bytes?.saturating_sub(self.before_bytes.unwrap_or(0)))
    }
}

/// One process on one GPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GpuProcess {
    /// Its number, as the driver tells it: that of the machine, also where the trial runs in a container.
    pub pid: u32,
    /// Its latest title, cut and without secrets; `None` where the number is none that is visible here.
    pub title: Option<String>,
    /// How it is known to be of the trial.
    pub known_by: KnownBy,
    /// Its number here, where that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid_here: Option<u32>,
    /// Its largest memory; `None` where the driver does not tell.
    pub peak_bytes: Option<u64>,
    /// When that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_at: Option<Moment>,
    /// Its memory at the last sample that had it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_bytes: Option<u64>,
    /// Its memory in the course of the trial.
    pub series: Series,
}

/// How a process on a GPU is known to be of the trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KnownBy {
    /// It is in the tree.
    Tree,
    /// It is in the tree: the machine's own `/proc`, which is visible in this container, says which of its processes that number is (`NSpid`).
    NsPid,
    /// Its number says nothing here, as in a container, but it came on the GPU while the trial ran.
    Appearance,
    /// It is not known to be: it was on the GPU, and no more can be said.
    Other,
}

/// How a quantity went, in a bounded number of points: each is the largest value of its span, of memory that is left the least.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Series(pub Vec<(f64, u64)>);

impl Series {
    /// Whether nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The largest value.
    #[must_use]
    pub fn peak(&self) -> Option<u64> {
        self.0.iter().map(|(_, value)| *value).max()
    }
}

#[cfg(test)]
mod tests {
    use super::{GpuSamples, Samples, Series};

    #[test]
    fn what_was_recorded_before_there_were_samples_is_still_read() {
        let read: Samples = serde_json::from_str("{}").expect("every field has a default");
        assert_eq!(read, Samples::default());
        assert_eq!(read.peak_gpu_bytes(), None);
    }

    #[test]
    fn the_peak_of_a_trial_is_what_it_added_on_one_gpu() {
        let gpu = |before, peak| GpuSamples { before_bytes: before, peak_bytes: peak, ..GpuSamples::default() };
        let samples = Samples { gpus: vec![gpu(Some(10), Some(25)), gpu(None, Some(12)), gpu(Some(5), None)], ..Samples::default() };
        assert_eq!(samples.peak_gpu_bytes(), Some(15));
        assert_eq!(Series(vec![(0.0, 3), (1.5, 9), (2.0, 4)]).peak(), Some(9));
    }

    #[test]
    fn a_series_is_a_plain_list_in_json() {
        assert_eq!(serde_json::to_string(&Series(vec![(0.5, 3)])).expect("writes"), "[[0.5,3]]");
    }
}
