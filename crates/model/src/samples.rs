//! What samples of a trial have seen: memory of its processes, free memory of the machine, memory of its GPUs.
//!
//! Seen means: at a sample. What rose and fell between two samples is not in here, so a peak is a lower bound. Units: bytes, seconds since the
//! program was started. What could not be measured is `None`, never 0.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The samples of one trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Samples {
    /// The largest sum of resident memory over the tree; memory that processes share is counted for each.
    #[serde(default)]
    pub peak_rss_bytes: Option<u64>,
    /// The sum of resident memory over the tree, in the course of the trial.
    #[serde(default)]
    pub rss: Series,
    /// The processes of the tree that held most, by their own peak; a few dozen at most.
    #[serde(default)]
    pub processes: Vec<ProcessPeak>,
    /// The least memory that the kernel said to be available on the machine (`MemAvailable`).
    #[serde(default)]
    pub least_available_bytes: Option<u64>,
    /// The GPUs of the trial, by index; empty without a driver and for a trial that uses none.
    #[serde(default)]
    pub gpus: Vec<GpuSamples>,
}

impl Samples {
    /// The largest memory that any one GPU held at any sample, less what it held before the trial.
    #[must_use]
    pub fn peak_gpu_bytes(&self) -> Option<u64> {
        self.gpus.iter().filter_map(GpuSamples::own_peak_bytes).max()
    }

    /// The same without the course of things: what a report shows.
    #[must_use]
    pub fn without_series(&self) -> Self {
        let mut samples = self.clone();
        samples.rss = Series::default();
        for gpu in &mut samples.gpus {
            gpu.series = Series::default();
            gpu.processes.iter_mut().for_each(|process| process.series = Series::default());
        }
        samples
    }
}

/// The largest memory of one process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessPeak {
    /// The process.
    pub pid: u32,
    /// Its latest title, cut and without secrets.
    pub title: String,
    /// Its largest resident memory.
    pub peak_rss_bytes: u64,
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
    /// What was held when the trial was over and the memory had been waited for.
    pub after_bytes: Option<u64>,
    /// What was held, by whomever, in the course of the trial.
    pub series: Series,
    /// The processes of the trial on it.
    pub processes: Vec<GpuProcess>,
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
    /// Its largest memory; `None` where the driver does not tell.
    pub peak_bytes: Option<u64>,
    /// Its memory in the course of the trial.
    pub series: Series,
}

/// How a process on a GPU is known to be of the trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KnownBy {
    /// It is in the tree.
    Tree,
    /// Its number says nothing here, as in a container, but it came on the GPU while the trial ran.
    Appearance,
}

/// How a quantity went, in a bounded number of points: each is the largest value of its span.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Series(pub Vec<(f64, u64)>);

impl Series {
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
