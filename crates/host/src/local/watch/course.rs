//! The course of a trial, told to the samples of its memory: phases as the log, readiness and the workload show them, and hits of probes.

use std::collections::BTreeMap;

use bystander_lab::cause::CauseReader;
use bystander_model::hit::Hit;
use bystander_model::ids::TimeNs;
use bystander_model::samples::MarkKind;
use bystander_model::value::Value;
use bystander_supervise::trial::Trial;

/// The phase before anything else is known.
const STARTING: &str = "starting";
/// Hits of one probe that get a mark of their own.
const MARKED: u32 = 4;
/// As much is kept of what a hit captured, in characters.
const TEXT: usize = 80;

/// Tells the samples of one trial.
#[derive(Debug, Default)]
pub(super) struct Course {
    /// Nothing is sampled before the launch.
    told: Option<(bystander_supervise::Course, TimeNs)>,
    /// How many phases of each reader were told.
    read: Vec<usize>,
    /// What the log says of phases of a start does not count any more.
    started: bool,
    hits: BTreeMap<String, u32>,
}

impl Course {
    /// Begins with a trial that runs.
    pub(super) fn begin(&mut self, trial: &Trial) {
        let (course, started) = (trial.course(), trial.started_ns());
        course.phase(0.0, STARTING, None);
        self.told = Some((course, started));
    }

    /// Tells phases that readers have seen since.
    pub(super) fn read(&mut self, readers: &[Box<dyn CauseReader>]) {
        self.read.resize(readers.len(), 0);
        for (reader, known) in readers.iter().zip(&mut self.read) {
            let all = reader.phases();
            for phase in all.get(*known..).unwrap_or_default() {
                // The log is read behind what it is about; what came before readiness belongs there also when it is read later.
                if let (Some((course, started)), false) = (&self.told, self.started) {
                    let from = format!("{}:{}", phase.stream.name(), phase.line);
                    course.phase(phase.time.seconds_since(*started), phase.name, Some(&from));
                }
            }
            *known = all.len();
        }
    }

    /// Tells that a phase began that no log shows.
    pub(super) fn phase(&mut self, at: TimeNs, name: &str) {
        self.started = true;
        if let Some((course, started)) = &self.told {
            course.phase(at.seconds_since(*started), name, None);
        }
    }

    /// Tells a hit; of those of one probe in a great number, the first.
    pub(super) fn hit(&mut self, hit: &Hit) {
        let Some((course, started)) = &self.told else { return };
        let count = self.hits.entry(hit.probe.clone()).or_default();
        *count = count.saturating_add(1);
        if *count > MARKED {
            return course.unmarked();
        }
        let from = format!("probe/pid {}/{}", hit.pid, hit.seq);
        course.mark(TimeNs(hit.time_ns).seconds_since(*started), MarkKind::Hit, &text(hit), Some(&from));
    }

    /// Tells the end of the program itself.
    pub(super) fn ended(&self, at: TimeNs, how: &str) {
        if let Some((course, started)) = &self.told {
            course.mark(at.seconds_since(*started), MarkKind::Ended, how, None);
        }
    }
}

/// A hit in a few words.
fn text(hit: &Hit) -> String {
    let rank = hit.rank.map_or_else(String::new, |rank| format!(" rank {rank}"));
    let value = |value: &Value| serde_json::to_string(value).unwrap_or_default();
    let values: Vec<String> = hit.values.iter().map(|(name, captured)| format!("{name}={}", value(captured))).collect();
    let text = format!("{}{rank} {}", hit.probe, values.join(" "));
    let text = text.trim_end();
    if text.chars().count() <= TEXT { text.to_owned() } else { text.chars().take(TEXT - 1).chain(['\u{2026}']).collect() }
}

#[cfg(test)]
mod tests {
    use bystander_model::hit::Hit;
    use bystander_model::value::Value;

    use super::{TEXT, text};

    #[test]
    fn a_hit_is_told_in_a_few_words() {
        let values = [("rest".to_owned(), Value::Float(-20.6)), ("tokens".to_owned(), Value::Int(7))].into_iter().collect();
        let hit = Hit {
            probe: "kv".into(),
            pid: 8,
            tid: 8,
            rank: Some(3),
            seq: 0,
            time_ns: 5,
            file: "a.py".into(),
            line: 3,
            function: "f".into(),
            values,
        };
        assert_eq!(text(&hit), "kv rank 3 rest=-20.6 tokens=7");
        let long = Hit { values: [("x".to_owned(), Value::Text("\u{e9}".repeat(200)))].into_iter().collect(), rank: None, ..hit.clone() };
        assert_eq!(text(&long).chars().count(), TEXT);
        assert_eq!(text(&Hit { values: [].into_iter().collect(), rank: None, ..hit }), "kv");
    }
}
