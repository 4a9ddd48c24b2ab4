//! The metrics of one trial: each number with the place where it was read, and each missing one with the reason.
//!
//! Output is read as it passes, hits as they come, the program's own server before and after its workload, files and samples when the trial is over.

mod extract;
mod figure;
mod file;
mod hits;
mod lines;
mod matched;
mod requests;
pub mod scan;
pub(crate) mod sieve;
mod tally;
mod unit;

use std::path::{Path, PathBuf};

use bystander_lab::place::TrialOrder;
use bystander_lab::plan::{Extract, MetricSource, Pick, Plan};
use bystander_model::engine::EngineReading;
use bystander_model::evidence::{Evidence, EvidenceKind, Stream};
use bystander_model::hit::{Hit, Receipt};
use bystander_model::ids::{TimeNs, TrialId};
use bystander_model::reading::LogBlock;
use bystander_model::samples::Samples;
use bystander_model::traffic::Summary;
use bystander_supervise::Trial;
use indexmap::IndexMap;

use self::file::Before;
use self::hits::OfHits;
use self::lines::{Lines, Wanted};
pub(crate) use self::requests::of_workload;
use self::tally::Picked;
use crate::scrape::prometheus::Exposition;
use crate::scrape::series;
use crate::scrape::{Kept, Scraper};

/// The longest part of a line that is kept as evidence, in bytes.
const SHOWN: usize = 1000;

/// Reads the metrics of one trial.
#[derive(Debug)]
pub struct Reader {
    trial: TrialId,
    program: Lines,
    workload: Lines,
    hits: IndexMap<String, OfHits>,
    scraper: Scraper,
    files: IndexMap<String, Before>,
    folder: PathBuf,
    fill: Vec<(String, String)>,
}

/// What was measured of a trial as a whole.
#[derive(Debug, Clone, Copy, Default)]
pub struct Measured<'a> {
    /// Seconds from spawn to ready.
    pub ready_s: Option<f64>,
    /// Seconds from spawn to the last process gone.
    pub wall_s: f64,
    /// The highest resident memory of the tree, in bytes.
    pub peak_rss_bytes: Option<u64>,
    /// Samples of memory.
    pub samples: Option<&'a Samples>,
    /// What came of built-in traffic.
    pub traffic: Option<&'a Summary>,
}

/// What came of a trial's metrics.
#[derive(Debug, Default)]
pub struct Values {
    /// Every metric of the plan; `None` where there is no value.
    pub values: IndexMap<String, Option<f64>>,
    /// Where each was read, or why there is none.
    pub evidence: IndexMap<String, Evidence>,
    /// The unit that stood behind each, where one that is known did.
    pub units: IndexMap<String, String>,
    /// Those of which there was a number that could not be read as a whole.
    pub refused: Vec<String>,
    /// What the engine said of itself, where a metric asks.
    pub engine: Option<EngineReading>,
}

impl Reader {
    /// Prepares the metrics of a plan for one trial.
    #[must_use]
    pub fn new(plan: &Plan, order: &TrialOrder) -> Self {
        let trial = order.trial;
        let lines = |of_workload: bool| {
            Lines::new(trial, plan.metrics.iter().filter_map(move |(name, metric)| wanted(name, &metric.source, of_workload)))
        };
        let hits = plan.metrics.iter().filter_map(|(name, metric)| {
            let MetricSource::Hits { probe, value, pick, over } = &metric.source else { return None };
            let is_put_in = plan.probes_of(&order.slot.cell).any(|known| known.spec.name == *probe);
            Some((name.clone(), OfHits::new(trial, probe, value, *pick, *over, is_put_in)))
        });
        Self {
            trial,
            program: lines(false),
            workload: lines(true),
            hits: hits.collect(),
            scraper: Scraper::default(),
            files: IndexMap::new(),
            folder: PathBuf::new(),
            fill: Vec::new(),
        }
    }

    /// Looks at what is there before the launch. `fill` stands for the placeholders, `folder` is the trial's own, `hidden` are its secrets.
    #[must_use]
    pub fn before_launch(mut self, plan: &Plan, fill: &[(&str, &str)], folder: &Path, cwd: &Path, hidden: &[String]) -> Self {
        self.scraper = Scraper::new(plan, fill, folder, hidden);
        for (name, metric) in &plan.metrics {
            if let MetricSource::File { path, .. } = &metric.source {
                self.files.insert(name.clone(), Before::look(&cwd.join(path.fill(fill))));
            }
        }
        folder.clone_into(&mut self.folder);
        self.fill = fill.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        self
    }

    /// The program is ready: its server is asked where a metric counts from here. Blocks for some seconds at most.
    pub fn ready(&mut self, trial: &Trial) {
        self.scraper.ready(trial);
    }

    /// The workload has warmed the server and waits: what counts over the workload counts from here. Blocks for some seconds at most.
    pub fn warmed(&mut self, trial: &Trial) {
        self.scraper.warmed(trial);
    }

    /// The workload is over, or there is none and the program is ready. Blocks for some seconds at most.
    pub fn worked(&mut self, trial: &Trial) {
        self.scraper.worked(trial);
    }

    /// Takes one line.
    pub fn line(&mut self, stream: Stream, number: u64, text: &str) {
        self.block(&LogBlock { stream, first: number, time: TimeNs(0), text });
    }

    /// Takes lines of one stream, in their order.
    pub fn block(&mut self, block: &LogBlock<'_>) {
        let lines = if block.stream.is_of_workload() { &mut self.workload } else { &mut self.program };
        lines.block(block);
    }

    /// Takes a hit.
    pub fn hit(&mut self, hit: &Hit) {
        self.hits.values_mut().for_each(|metric| metric.hit(hit));
    }

    /// Takes a process's account of a probe.
    pub fn receipt(&mut self, receipt: &Receipt) {
        self.hits.values_mut().for_each(|metric| metric.receipt(receipt));
    }

    /// The values and where each was read.
    #[must_use]
    pub fn finish(self, plan: &Plan, measured: &Measured<'_>) -> Values {
        let Self { trial, program, workload, hits, scraper, files, folder, fill } = self;
        let engine = scraper.engine();
        let mut seen: IndexMap<String, Picked> = IndexMap::new();
        seen.extend(program.finish().into_iter().chain(workload.finish()));
        for (name, metric) in hits {
            let (value, evidence) = metric.finish();
            seen.insert(name, Picked::of(value, evidence));
        }
        let fill: Vec<(&str, &str)> = fill.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let end = End {
            trial,
            scraper: &scraper,
            engine: engine.as_ref(),
            files: &files,
            folder: &folder,
            fill: &fill,
            measured,
            lanes: plan.lane_count(),
        };
        let mut out = Values::default();
        for (name, metric) in &plan.metrics {
            let seen = seen.swap_remove(name).unwrap_or_default();
            let Picked { value, evidence, unit, refused } = end.read(name, &metric.source, seen);
            out.values.insert(name.clone(), value.filter(|value| value.is_finite()));
            if value.is_some() && !unit.is_empty() {
                out.units.insert(name.clone(), unit.to_owned());
            }
            out.refused.extend(refused.then(|| name.clone()));
            out.evidence.extend(evidence.map(|evidence| (name.clone(), evidence)));
        }
        out.engine = engine;
        out
    }
}

/// What is read of the program's or the workload's lines.
fn wanted<'p>(name: &'p str, source: &'p MetricSource, of_workload: bool) -> Option<Wanted<'p>> {
    let (text, pick, is_json, is_of_workload) = match source {
        MetricSource::Log { pattern, pick } => (pattern, pick, false, false),
        MetricSource::LogJson { json, pick } => (json, pick, true, false),
        MetricSource::Workload { pattern, pick } => (pattern, pick, false, true),
        MetricSource::WorkloadJson { json, pick } => (json, pick, true, true),
        _ => return None,
    };
    (is_of_workload == of_workload).then_some(Wanted { name, text, is_json, pick: *pick })
}

/// What there is when a trial is over.
struct End<'a> {
    trial: TrialId,
    scraper: &'a Scraper,
    engine: Option<&'a EngineReading>,
    files: &'a IndexMap<String, Before>,
    folder: &'a Path,
    fill: &'a [(&'a str, &'a str)],
    measured: &'a Measured<'a>,
    lanes: u32,
}

impl End<'_> {
    fn read(&self, name: &str, source: &MetricSource, seen: Picked) -> Picked {
        match source {
            MetricSource::Log { .. } | MetricSource::LogJson { .. } | MetricSource::Workload { .. } | MetricSource::Hits { .. } => seen,
            MetricSource::WorkloadJson { json, pick } => self.whole_output(json, *pick).unwrap_or(seen),
            MetricSource::File { path, read, pick } => {
                if self.lanes > 1 && !path.0.contains('{') {
                    let why = "trials of other lanes write to this file at the same time: what this one wrote cannot be told";
                    return Picked::of(None, Some(self.evidence(EvidenceKind::File, &path.0, why)));
                }
                self.file(name, read, *pick)
            }
            MetricSource::Http { url, read, pick } => self.page(&url.fill(self.fill), read, *pick),
            MetricSource::Prometheus { series, when, pick, .. } => {
                let [before, after] = self.scraper.metrics(name);
                let parse = |asked: &Result<Kept, String>| asked.as_ref().ok().map(|kept| kept.text.clone());
                let texts = [parse(&before), parse(&after)];
                let [old, new] = texts.each_ref().map(|text| text.as_deref().map(Exposition::parse));
                let kept = after.as_ref().or(before.as_ref());
                let place = kept.map_or_else(|why| why.clone(), place);
                match series::value(series, *when, *pick, old.as_ref(), new.as_ref()) {
                    Ok((value, text)) => Picked::of(Some(value), Some(self.evidence(EvidenceKind::Http, &place, clip(&text)))),
                    // Without an answer there is nothing to say of the series.
                    Err(why) => {
                        let refused = [before.as_ref().err(), after.as_ref().err()].into_iter().flatten().next_back().cloned();
                        Picked::of(None, Some(self.evidence(EvidenceKind::Http, &place, refused.as_ref().unwrap_or(&why))))
                    }
                }
            }
            MetricSource::Engine { name } => self.of_engine(name),
            MetricSource::Traffic { name } => self.of_traffic(name),
            MetricSource::PeakRss => {
                let sampled = self.measured.samples.and_then(|samples| samples.peak_rss_bytes);
                self.bytes(
                    self.measured.peak_rss_bytes.max(sampled),
                    "resident memory of the process tree at one sample, or of its largest process by the kernel's account",
                )
            }
            MetricSource::GpuMemory => self.bytes(
                self.measured.samples.and_then(Samples::peak_gpu_bytes),
                "memory on the fullest GPU at one sample, less what it held before",
            ),
            MetricSource::ReadySeconds => Picked::of(self.measured.ready_s, None),
            MetricSource::WallSeconds => Picked::of(Some(self.measured.wall_s), None),
        }
    }

    fn evidence(&self, kind: EvidenceKind, place: &str, text: &str) -> Evidence {
        Evidence { trial: Some(self.trial), kind, place: place.to_owned(), text: text.to_owned() }
    }

    /// The workload's standard output as one document, where it is one.
    fn whole_output(&self, json: &str, pick: Pick) -> Option<Picked> {
        let text = file::text(&self.folder.join(Stream::Workload.name())).ok()?;
        serde_json::from_str::<serde::de::IgnoredAny>(&text).ok()?;
        let name = Stream::Workload.name();
        let at = |place: &str, text: &str| self.evidence(EvidenceKind::Log, &format!("{name}{place}"), text);
        Some(extract::read(&text, Some(0), &Extract::Json(json.to_owned()), pick, at))
    }

    fn file(&self, name: &str, read: &Extract, pick: Pick) -> Picked {
        let Some(before) = self.files.get(name) else { return Picked::default() };
        let place = before.path().display().to_string();
        match before.written() {
            Ok(file::Written { text, lines_before, note }) => {
                let at = |more: &str, text: &str| self.evidence(EvidenceKind::File, &format!("{place}{more}"), text);
                let mut picked = extract::read(&text, lines_before, read, pick, at);
                if let (Some(note), Some(evidence)) = (note, &mut picked.evidence) {
                    evidence.text = format!("{} ({note})", evidence.text);
                }
                picked
            }
            Err(why) => Picked::of(None, Some(self.evidence(EvidenceKind::File, &place, &why))),
        }
    }

    fn page(&self, url: &str, read: &Extract, pick: Pick) -> Picked {
        match self.scraper.page(url) {
            Ok(kept) => {
                let place = place(&kept);
                let at = |more: &str, text: &str| self.evidence(EvidenceKind::Http, &format!("{place}{more}"), text);
                extract::read(&kept.text, Some(0), read, pick, at)
            }
            Err(why) => Picked::of(None, Some(self.evidence(EvidenceKind::Http, url, &why))),
        }
    }

    fn of_engine(&self, name: &str) -> Picked {
        let Some(reading) = self.engine else {
            return Picked::of(None, Some(self.evidence(EvidenceKind::Http, "engine", "the engine was not asked")));
        };
        let place = reading.asked.first().map_or("engine", String::as_str);
        match reading.figures.get(name) {
            Some(figure) => Picked::of(figure.value, Some(self.evidence(EvidenceKind::Http, place, &figure.from))),
            None => Picked::of(None, Some(self.evidence(EvidenceKind::Http, place, "no such figure"))),
        }
    }

    /// A figure of the traffic, and never without the share of requests that failed.
    fn of_traffic(&self, name: &str) -> Picked {
        let Some(summary) = self.measured.traffic else {
            return Picked::of(None, Some(self.evidence(EvidenceKind::Sample, "traffic", "no traffic was sent")));
        };
        let failed = summary.sent.saturating_sub(summary.completed);
        let mut text = match summary.sent {
            0 => "no measured request ended".to_owned(),
            sent => format!("{failed} of {sent} requests failed ({:.1} %)", summary.error_rate * 100.0),
        };
        if let Some(failure) = &summary.failure {
            text = format!("{failure}; {text}");
        }
        Picked { unit: summary.unit(name), ..Picked::of(summary.metric(name), Some(self.evidence(EvidenceKind::Sample, "traffic", &text))) }
    }

    fn bytes(&self, bytes: Option<u64>, what: &str) -> Picked {
        match bytes {
            Some(bytes) => Picked::of(
                Some(bytes as f64),
                Some(self.evidence(EvidenceKind::Sample, "samples", &format!("at least {bytes} bytes: {what}"))),
            ),
            None => Picked::of(None, Some(self.evidence(EvidenceKind::Sample, "samples", &format!("no sample shows it: {what}")))),
        }
    }
}

/// Where an answer lies: its address, and the file in the trial's folder.
fn place(kept: &Kept) -> String {
    match &kept.file {
        Some(file) => format!("{} ({file})", kept.url),
        None => kept.url.clone(),
    }
}

/// Cuts a text that is kept as evidence.
pub(crate) fn clip(text: &str) -> &str {
    &text[..border(text, SHOWN)]
}

/// The last border of a character at or before a byte.
pub(crate) fn border(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
