//! Metrics, and where they are read.

use serde::{Deserialize, Serialize};

use super::{Series, Template};

/// A number read once per launch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// Where it is read.
    pub source: MetricSource,
    /// How effects are expressed.
    pub scale: Scale,
    /// What counts as no effect: in the metric's unit for differences, as a fraction (0.02) for ratios.
    pub margin: Option<f64>,
    /// The unit, for tables.
    pub unit: Option<String>,
}

/// How effects on a metric are expressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// As ratios, computed on logarithms.
    Ratio,
    /// As differences.
    Difference,
}

/// Where a metric is read. Patterns have exactly one group, a number. Exactly one place must match unless `pick` says otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricSource {
    /// The program's output, both streams.
    Log {
        /// The pattern.
        pattern: String,
        /// Which match counts.
        pick: Pick,
    },
    /// The workload's output, both streams.
    Workload {
        /// The pattern.
        pattern: String,
        /// Which match counts.
        pick: Pick,
    },
    /// Lines of the program's output that are JSON.
    LogJson {
        /// The path, as [`crate::json_path`] reads it.
        json: String,
        /// Which match counts.
        pick: Pick,
    },
    /// The workload's standard output: one JSON document, or else its lines that are one each.
    WorkloadJson {
        /// The path.
        json: String,
        /// Which match counts.
        pick: Pick,
    },
    /// A file that the trial wrote, read when its last process is gone.
    File {
        /// The file; `{trial}` and the other placeholders are filled, and a relative path is relative to the program's working directory.
        path: Template,
        /// What is read of it.
        read: Extract,
        /// Which match counts.
        pick: Pick,
    },
    /// A GET from the trial's own server, at the end of the workload, or else once it is ready.
    Http {
        /// The address.
        url: Template,
        /// What is read of the answer.
        read: Extract,
        /// Which match counts.
        pick: Pick,
    },
    /// A series of the program's Prometheus metrics.
    Prometheus {
        /// The series.
        series: Series,
        /// At which moment.
        when: When,
        /// How several series become one value.
        pick: Pick,
        /// Where the metrics are; `None` for `/metrics` of the address that shows readiness.
        url: Option<Template>,
    },
    /// What a probe captured.
    Hits {
        /// The probe.
        probe: String,
        /// The captured expression, as the probe spells it.
        value: String,
        /// Which of a process's hits counts.
        pick: Pick,
        /// How the processes' values become one.
        over: Over,
    },
    /// The highest resident memory of the process tree, in bytes.
    PeakRss,
    /// The highest GPU memory of the process tree, in bytes.
    GpuMemory,
    /// A figure of the built-in traffic.
    Traffic {
        /// Its name.
        name: String,
    },
    /// A figure of [`bystander_model::engine::NAMES`].
    Engine {
        /// Its name.
        name: String,
    },
    /// Seconds from spawn to ready.
    ReadySeconds,
    /// Seconds from spawn to the last process gone.
    WallSeconds,
}

impl MetricSource {
    /// What to change where the source showed no value, for people.
    #[must_use]
    pub fn remedy(&self, name: &str) -> String {
        match self {
            Self::Log { .. } | Self::Workload { .. } => format!("a pattern of {name} that matches one line with a number, or a `pick`"),
            Self::LogJson { .. } | Self::WorkloadJson { .. } => format!("a path of {name} that leads to one number, or a `pick`"),
            Self::File { .. } => format!("a file for {name} that every trial writes, with one number there, or a `pick`"),
            Self::Http { .. } => format!("an answer for {name} with one number there, or a `pick`"),
            Self::Prometheus { .. } => format!("one series for {name}, or a `pick`"),
            Self::Hits { probe, .. } => format!("cells with the probe `{probe}` that hit it, or a `pick` for {name}"),
            Self::PeakRss | Self::GpuMemory => format!("samples for {name}"),
            Self::Traffic { .. } => format!("requests that succeed, for {name}"),
            Self::Engine { .. } => format!("an engine that tells {name}"),
            Self::ReadySeconds | Self::WallSeconds => format!("a launch that shows {name}"),
        }
    }

    /// Whether it is read of what the workload itself says or writes. A file may be the program's as well, which cannot be told.
    #[must_use]
    pub const fn is_of_workload(&self) -> bool {
        matches!(self, Self::Workload { .. } | Self::WorkloadJson { .. } | Self::File { .. })
    }

    /// Whether it is something that Bystander measures, and so no number that a workload tells.
    #[must_use]
    pub const fn is_measured(&self) -> bool {
        matches!(
            self,
            Self::PeakRss | Self::GpuMemory | Self::ReadySeconds | Self::WallSeconds | Self::Traffic { .. } | Self::Engine { .. }
        )
    }

    /// In which unit a measurement of Bystander's own is, with how else it may be written; `None` where the program decides.
    #[must_use]
    pub fn unit(&self) -> Option<&'static [&'static str]> {
        const SECONDS: &[&str] = &["s", "seconds"];
        match self {
            Self::ReadySeconds | Self::WallSeconds => Some(SECONDS),
            Self::PeakRss | Self::GpuMemory => Some(&["bytes", "B"]),
            Self::Traffic { name } if name == "tokens_per_s" => Some(&["tokens/s"]),
            Self::Traffic { name } if name == "requests_per_s" => Some(&["requests/s"]),
            // Times carry their statistic, such as `ttft_p50`.
            Self::Traffic { name }
                if name.ends_with("_s")
                    || ["ttft", "itl", "tpot", "e2e", "connect", "client_lag"].iter().any(|time| name.starts_with(time)) =>
            {
                Some(SECONDS)
            }
            _ => None,
        }
    }

    /// Whether the program's server has to be asked for its metrics.
    #[must_use]
    pub const fn is_scraped(&self) -> bool {
        matches!(self, Self::Prometheus { .. } | Self::Engine { .. })
    }
}

/// What is read of a file or an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extract {
    /// A path into a JSON document.
    Json(String),
    /// A pattern with one group, line by line.
    Pattern(String),
}

/// Which of several matches counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pick {
    /// There must be exactly one; several are no value.
    Only,
    /// The first.
    First,
    /// The last.
    Last,
    /// The least.
    Min,
    /// The greatest.
    Max,
    /// The sum.
    Sum,
    /// The mean.
    Mean,
}

/// How the values of a trial's processes become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Over {
    /// The least, which limits a group of ranks.
    Min,
    /// The greatest.
    Max,
    /// The sum.
    Sum,
    /// The mean.
    Mean,
}

/// At which moment the program's metrics are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Before the workload.
    Before,
    /// After the workload, or once ready where there is none.
    After,
    /// After less before; of a histogram or summary, the mean of what was observed between.
    Delta,
}
