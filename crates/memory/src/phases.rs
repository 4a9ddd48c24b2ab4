//! In which phase a server is while its log is still being written, for those who sample its memory meanwhile.
//!
//! Not the phases of `explain`: there a phase says where a failure belongs, here to what a rise of memory belongs. So a phase begins with the line after
//! which its memory comes: the load of weights ends where the pools begin, whose own lines are printed when they are there. The first rank that comes to a
//! phase begins it, and a later phase is not left for an earlier one, but for pools that come after a draft model.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use bystander_model::ids::TimeNs;
use bystander_model::memory::Phase;
use bystander_model::reading::{LogBlock, PhaseBegan};
use regex::{Regex, RegexSet};

use crate::line::strip::plainly;

/// What a line says of phases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    /// A phase begins.
    Begins(Phase),
    /// A rank loads weights: those of the draft, where it has loaded those of the target, or where the pools are there.
    Loads,
    /// Those of the draft are loaded.
    LoadsDraft,
    /// Weights are loaded: pools are next.
    Loaded,
    /// The pools are there.
    Pools,
    /// Graphs are captured, or were, and the line says for how long.
    Captures,
    /// The HTTP server listens; for an engine that is warm by then, it serves.
    Listens,
    /// The engine warms up by a request of its own after it listens.
    WarmsUpLate,
}

/// Texts of lines, and what they say; the first one counts. The engines: SGLang 0.4.3 to 0.5.23, vLLM 0.8 to 0.33.
const TEXTS: [(&str, Said); 19] = [
    ("server_args=", Said::WarmsUpLate),
    ("Init torch distributed begin", Said::Begins(Phase::ParallelInit)),
    ("Init parallel begin", Said::Begins(Phase::ParallelInit)),
    ("Load weight begin", Said::Loads),
    ("Load weight end", Said::Loaded),
    ("Memory pool end", Said::Pools),
    ("raph begin", Said::Begins(Phase::GraphCapture)),
    ("max_total_num_tokens=", Said::Begins(Phase::WarmUp)),
    ("The server is fired up and ready to roll", Said::Begins(Phase::Serving)),
    ("LLM engine (v", Said::Begins(Phase::ParallelInit)),
    ("Starting to load model", Said::Begins(Phase::WeightLoad)),
    ("Loading model from scratch", Said::Begins(Phase::WeightLoad)),
    ("Loading drafter model", Said::LoadsDraft),
    ("Model loading took", Said::Loaded),
    ("KV cache size: ", Said::Loaded),
    // A progress bar, which vLLM draws while it captures and not before, and the line where none was drawn.
    ("Capturing CUDA graphs (", Said::Captures),
    ("Graph capturing finished in ", Said::Captures),
    ("init engine (profile, create kv cache, warmup model)", Said::Begins(Phase::WarmUp)),
    ("Application startup complete", Said::Listens),
];
/// Ranks that are told apart.
const RANKS: usize = 1024;

/// Follows a log through its phases, in bounded memory.
#[derive(Debug, Default)]
pub struct Phases {
    begun: Vec<PhaseBegan>,
    now: Option<Phase>,
    /// Ranks that have loaded weights, by the labels of their lines.
    loaded: BTreeSet<String>,
    drafts: bool,
    pools: bool,
    warms_up_late: bool,
}

impl Phases {
    /// Takes the next lines of a stream.
    pub fn block(&mut self, block: &LogBlock<'_>) {
        if self.now != Some(Phase::Serving) {
            plainly(block, |block| self.plain_block(block));
        }
    }

    fn plain_block(&mut self, block: &LogBlock<'_>) {
        static ANY: LazyLock<Regex> = LazyLock::new(|| {
            let texts: Vec<String> = TEXTS.iter().map(|(text, _)| regex::escape(text)).collect();
            Regex::new(&texts.join("|")).expect("escaped literals")
        });
        for line in block.candidates(|text, from| ANY.find_at(text, from).map(|found| found.start())) {
            if let Some(phase) = self.line(line.text) {
                // A bar is one line, which ends when all is captured: its phase began as long before as it says.
                let since = if phase == Phase::GraphCapture { line.time.0.saturating_sub(captured_for(line.text)) } else { line.time.0 };
                let time = self.begun.last().map_or(since, |last| since.max(last.time.0.min(line.time.0)));
                self.begun.push(PhaseBegan { name: phase.name(), stream: line.stream, line: line.number, time: TimeNs(time) });
            }
        }
    }

    /// The phases that have begun so far, in order.
    #[must_use]
    pub fn begun(&self) -> &[PhaseBegan] {
        &self.begun
    }

    /// The phase that a line begins, if it does.
    fn line(&mut self, text: &str) -> Option<Phase> {
        static EACH: LazyLock<RegexSet> =
            LazyLock::new(|| RegexSet::new(TEXTS.iter().map(|(text, _)| regex::escape(text))).expect("escaped literals"));
        let said = EACH.matches(text).iter().next().map(|at| TEXTS[at].1)?;
        match said {
            Said::Begins(Phase::WarmUp) if text.contains("is larger than") => None,
            Said::Begins(phase) => self.reach(phase),
            Said::Captures => self.reach(Phase::GraphCapture),
            Said::Loads => {
                let again = self.loaded.contains(label(text));
                if self.loaded.len() < RANKS {
                    self.loaded.insert(label(text).to_owned());
                }
                if self.pools || again { self.draft() } else { self.reach(Phase::WeightLoad) }
            }
            Said::LoadsDraft => self.draft(),
            Said::Loaded if self.now == Some(Phase::DraftLoad) && !self.pools => {
                self.now = Some(Phase::PoolSizing);
                self.now
            }
            Said::Loaded => self.reach(Phase::PoolSizing),
            Said::Pools => {
                self.pools = true;
                None
            }
            Said::Listens if self.warms_up_late => None,
            // A server of another kind, such as a gateway before the engine, says so too.
            Said::Listens => self.now.and_then(|_| self.reach(Phase::Serving)),
            Said::WarmsUpLate => {
                self.warms_up_late = true;
                None
            }
        }
    }

    /// The draft model is loaded, once.
    fn draft(&mut self) -> Option<Phase> {
        if std::mem::replace(&mut self.drafts, true) { None } else { self.reach(Phase::DraftLoad) }
    }

    fn reach(&mut self, phase: Phase) -> Option<Phase> {
        if self.now.is_some_and(|now| phase <= now) {
            return None;
        }
        self.now = Some(phase);
        Some(phase)
    }
}

/// For how long graphs have been captured, as a line says it, in nanoseconds: a bar by its clock (`67/67 [00:05<00:00, 12.9it/s]`), or the line at the end
/// (`Graph capturing finished in 22 secs`). Of bars that follow one another each has its own clock.
fn captured_for(text: &str) -> u64 {
    static CLOCK: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"\[(?:([0-9]{1,3}):)?([0-9]{1,2}):([0-9]{2})<|capturing finished in ([0-9]{1,6}) sec").expect("a literal pattern")
    });
    let Some(clock) = CLOCK.captures_iter(text).last() else { return 0 };
    let number = |group: usize| clock.get(group).and_then(|part| part.as_str().parse::<u64>().ok()).unwrap_or(0);
    (number(1) * 3600 + number(2) * 60 + number(3) + number(4)) * 1_000_000_000
}

/// The labels of a rank in the brackets of a line of SGLang, such as `TP3`, with the time before them cut off; empty where there are none.
fn label(text: &str) -> &str {
    let Some((head, _)) = text.split_once(']') else { return "" };
    head.splitn(3, ' ').nth(2).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use bystander_model::evidence::Stream;
    use bystander_model::ids::TimeNs;
    use bystander_model::reading::LogBlock;
    use proptest::prelude::*;

    use super::Phases;

    fn read(lines: &[&str]) -> Vec<(&'static str, u64)> {
        let mut phases = Phases::default();
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        phases.block(&LogBlock { stream: Stream::Stderr, first: 1, time: TimeNs(7), text: &text });
        phases.begun().iter().map(|phase| (phase.name, phase.line)).collect()
    }

    #[test]
    fn a_start_of_sglang_with_a_draft_is_followed_to_serving() {
        let found = read(&[
            "[2026-11-29 13:31:40] server_args=ServerArgs(model_path='x')",
            "[2026-11-29 13:31:41 TP0] Init torch distributed begin.",
            "[2026-11-29 13:31:42 TP0] Load weight begin. avail mem=78.50 GB",
            "[2026-11-29 13:31:42 TP1] Load weight begin. avail mem=78.50 GB",
            "[2026-11-29 13:31:50 TP0] Load weight end. type=X, avail mem=60.00 GB, mem usage=18.50 GB.",
            "[2026-11-29 13:31:51 TP0] max_total_tokens=9 is larger than the profiled value 8",
            "[2026-11-29 13:31:51 TP0] Memory pool end. avail mem=10.00 GB",
            "[2026-11-29 13:31:52 TP0] Load weight begin. avail mem=9.50 GB",
            "[2026-11-29 13:31:53 TP0] Load weight end. avail mem=9.00 GB",
            "[2026-11-29 13:31:54 TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=8.00 GB",
            "[2026-11-29 13:31:58 TP0] max_total_num_tokens=421755, chunked_prefill_size=8192, context_len=8192",
            "INFO:     Application startup complete.",
            "[2026-11-29 13:32:00] The server is fired up and ready to roll!",
            "[2026-11-29 13:32:01] Load weight begin of a word in a prompt",
        ]);
        let wanted = [
            ("parallel_init", 2),
            ("weight_load", 3),
            ("pool_sizing", 5),
            ("draft_load", 8),
            ("graph_capture", 10),
            ("warm_up", 11),
            ("serving", 13),
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn a_start_of_vllm_is_followed_to_serving() {
        let found = read(&[
            "(EngineCore_DP0 pid=12) INFO 11-29 13:00:00 [core.py:96] Initializing a V1 LLM engine (v0.32.0) with config: model='x'",
            "(EngineCore_DP0 pid=12) INFO 11-29 13:00:01 [gpu_model_runner.py:1] Starting to load model x...",
            "(EngineCore_DP0 pid=12) INFO 11-29 13:00:09 [gpu_model_runner.py:2] Model loading took 14.99 GiB memory and 7.1 seconds",
            "(EngineCore_DP0 pid=12) INFO 11-29 13:00:12 [kv_cache_utils.py:3] GPU KV cache size: 477,456 tokens",
            "(EngineCore_DP0 pid=12) Capturing CUDA graphs (mixed prefill-decode, PIECEWISE):   0%|  | 0/67",
            "(EngineCore_DP0 pid=12) INFO 11-29 13:00:20 [core.py:4] init engine (profile, create kv cache, warmup model) took 11.2 s",
            "(APIServer pid=9) INFO:     Application startup complete.",
        ]);
        let wanted = [("parallel_init", 1), ("weight_load", 2), ("pool_sizing", 3), ("graph_capture", 5), ("warm_up", 6), ("serving", 7)];
        assert_eq!(found, wanted);
    }

    #[test]
    fn graphs_are_captured_from_where_their_bar_began_and_never_before_the_pools() {
        let at = |second: u64, text: &str, phases: &mut Phases| {
            let text = format!("{text}\n");
            phases.block(&LogBlock { stream: Stream::Stderr, first: second, time: TimeNs(second * 1_000_000_000), text: &text });
        };
        let begun = |last: (u64, &str)| {
            let mut phases = Phases::default();
            at(10, "INFO 11-29 13:00:09 [gpu_model_runner.py:2] Model loading took 14.99 GiB memory and 7.1 seconds", &mut phases);
            at(12, "INFO 11-29 13:00:12 [kv_cache_utils.py:3] GPU KV cache size: 477,456 tokens", &mut phases);
            at(last.0, last.1, &mut phases);
            phases.begun().iter().map(|phase| (phase.name, phase.time.0 / 1_000_000_000)).collect::<Vec<_>>()
        };
        let bar = "\rCapturing CUDA graphs (PIECEWISE):   0%|  | 0/67 [00:00<?, ?it/s]\rCapturing CUDA graphs (PIECEWISE): 100%|██| 67/67 [00:05<00:00, 12.9it/s]";
        assert_eq!(begun((20, bar)), [("pool_sizing", 10), ("graph_capture", 15)]);
        assert_eq!(begun((20, "INFO Graph capturing finished in 3 secs, took 0.52 GiB")), [("pool_sizing", 10), ("graph_capture", 17)]);
        assert_eq!(begun((20, "INFO Graph capturing finished in 99 secs, took 0.52 GiB")), [("pool_sizing", 10), ("graph_capture", 10)]);
        assert_eq!(begun((20, "Capturing CUDA graphs (FULL): 1/2 [99999999:99:99<")), [("pool_sizing", 10), ("graph_capture", 20)]);
    }

    #[test]
    fn pools_that_come_after_the_draft_have_a_phase_of_their_own() {
        let found = read(&[
            "[2026-11-29 13:31:42 TP0] Load weight begin. avail mem=78.50 GB",
            "[2026-11-29 13:31:50 TP0] Load weight end. avail mem=60.00 GB",
            "[2026-11-29 13:31:50 TP1] Load weight begin. avail mem=78.50 GB",
            "[2026-11-29 13:31:51 TP0] Load weight begin. avail mem=60.00 GB",
            "[2026-11-29 13:31:52 TP0] Load weight end. avail mem=59.00 GB",
            "[2026-11-29 13:31:52 TP1] Load weight begin. avail mem=59.00 GB",
            "[2026-11-29 13:31:55 TP0] Memory pool end. avail mem=10.00 GB",
            "[2026-11-29 13:31:55 TP0] Capture target decode CUDA graph begin. backend=full, avail mem=9.00 GB",
        ]);
        let wanted = [("weight_load", 1), ("pool_sizing", 2), ("draft_load", 4), ("pool_sizing", 5), ("graph_capture", 8)];
        assert_eq!(found, wanted);
        let found = read(&[
            "INFO 11-29 13:00:01 [gpu_model_runner.py:1] Loading model from scratch...",
            "INFO 11-29 13:00:02 [gpu_model_runner.py:2] Loading drafter model...",
            "INFO 11-29 13:00:09 [gpu_model_runner.py:3] Model loading took 14.99 GiB memory and 7.1 seconds",
        ]);
        assert_eq!(found, [("weight_load", 1), ("draft_load", 2), ("pool_sizing", 3)]);
    }

    #[test]
    fn a_program_of_another_kind_has_no_phases() {
        assert_eq!(read(&["INFO:     Application startup complete.", "hello", ""]), []);
    }

    proptest! {
        #[test]
        fn phases_only_go_on(lines in proptest::collection::vec("(Load weight |begin|end|Memory pool end|Model loading took|fired up|max_total_num_tokens=|\\PC){0,4}", 0..30)) {
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let found = read(&lines);
            prop_assert!(found.len() <= 8);
            prop_assert!(found.is_sorted_by(|one, other| one.1 <= other.1));
        }
    }
}
