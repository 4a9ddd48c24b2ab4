//! Readers of engines, handed to the lab: the lab owns the trait, `memory` knows the engines, and neither knows the other.

use bystander_host::local::Readers;
use bystander_lab::cause::CauseReader;
use bystander_memory::phases::Phases;
use bystander_memory::sglang::SglangReader;
use bystander_memory::vllm::VllmReader;
use bystander_model::hit::Hit;
use bystander_model::ids::TrialId;
use bystander_model::reading::{ErrorSeen, LogBlock, LogLine, PhaseBegan, Reading};

/// Reads SGLang.
struct Sglang(SglangReader);

impl CauseReader for Sglang {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn line(&mut self, line: &LogLine<'_>) {
        self.0.line(line);
    }

    fn block(&mut self, block: &LogBlock<'_>) {
        self.0.block(block);
    }

    fn hit(&mut self, hit: &Hit) {
        self.0.hit(hit);
    }

    fn finish(&self, trial: TrialId, error: Option<&ErrorSeen<'_>>) -> Reading {
        self.0.finish(trial, error)
    }
}

/// Reads vLLM.
struct Vllm(VllmReader);

impl CauseReader for Vllm {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn line(&mut self, line: &LogLine<'_>) {
        self.0.line(line);
    }

    fn block(&mut self, block: &LogBlock<'_>) {
        self.0.block(block);
    }

    fn hit(&mut self, hit: &Hit) {
        self.0.hit(hit);
    }

    fn finish(&self, trial: TrialId, error: Option<&ErrorSeen<'_>>) -> Reading {
        self.0.finish(trial, error)
    }
}

/// Reads in which phase a server of any known engine is; causes are for others.
struct Starts(Phases);

impl CauseReader for Starts {
    fn name(&self) -> &str {
        "phases"
    }

    fn line(&mut self, line: &LogLine<'_>) {
        self.0.block(&LogBlock::of_line(line));
    }

    fn block(&mut self, block: &LogBlock<'_>) {
        self.0.block(block);
    }

    fn hit(&mut self, _hit: &Hit) {}

    fn phases(&self) -> &[PhaseBegan] {
        self.0.begun()
    }

    fn finish(&self, _trial: TrialId, _error: Option<&ErrorSeen<'_>>) -> Reading {
        Reading::default()
    }
}

/// Makes a reader of each known engine for every trial.
pub(crate) fn readers() -> Readers {
    Box::new(|| vec![Box::new(Sglang(SglangReader::new())), Box::new(Vllm(VllmReader::new())), Box::new(Starts(Phases::default()))])
}
