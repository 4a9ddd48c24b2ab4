//! vLLM: with which configuration it says that it runs, and as which release.
//!
//! Two lines say it. The API server prints the arguments it was given: `non-default args: {…}` (up to 0.9 all of them, `args: Namespace(…)`). The engine
//! prints what it made of them: `Initializing a V1 LLM engine (v0.32.0) with config: …`, which lacks some, such as the share of the GPU's memory, so both
//! are kept. The release stands in the engine's line and in the API server's first one.

use std::sync::LazyLock;

use bystander_model::budget::VersionRange;
use bystander_model::evidence::{Evidence, EvidenceKind, Stream};
use bystander_model::ids::TrialId;
use bystander_model::reading::LogLine;
use regex::Regex;

use crate::line::LOOKED_AT;

/// What the lines hold that are read, as a pattern.
pub(super) const TEXTS: &str =
    r"LLM engine (?:\(v?[^)\s]{1,40}\) )?with config: |\bargs: (?:\{|Namespace\()|vLLM API server version |  version \d";
/// The engine's line.
const ENGINE: &str = r"Initializing an? (?:V\d+ )?LLM engine (?:\(v?([^)\s]{1,40})\) )?with config: ";
/// The API server's line.
const ARGUMENTS: &str = r"\bnon-default args: \{|api_server\.py:\d+\] args: Namespace\(";
/// The release in the API server's first line, or in the picture that it draws.
const RELEASE: &str = r"vLLM API server version v?(\d[^\s,]{0,40})|█  version v?(\d[^\s,]{0,40})";

/// A line with its place.
#[derive(Debug, Clone)]
struct Kept {
    stream: Stream,
    line: u64,
    text: String,
}

impl Kept {
    fn of(line: &LogLine<'_>) -> Self {
        Self { stream: line.stream, line: line.number, text: line.text.to_owned() }
    }

    fn place(&self) -> String {
        format!("{}:{}", self.stream.name(), self.line)
    }
}

/// Reads one trial's lines as they come; of each kind the first counts.
#[derive(Debug, Clone, Default)]
pub(super) struct Stated {
    arguments: Option<Kept>,
    engine: Option<Kept>,
    /// The release and where it stands.
    release: Option<(String, String)>,
}

impl Stated {
    /// Takes the next line.
    pub(super) fn line(&mut self, line: &LogLine<'_>) {
        static LINES: LazyLock<[Regex; 4]> =
            LazyLock::new(|| [TEXTS, ENGINE, ARGUMENTS, RELEASE].map(|pattern| Regex::new(pattern).expect("a literal pattern")));
        let [texts, engine, arguments, release] = &*LINES;
        let line = LogLine { text: clip(line.text), ..*line };
        if !texts.is_match(line.text) {
            return;
        }
        if let Some(found) = engine.captures(line.text) {
            // The engine's own word beats that of the server before it.
            if self.engine.is_none()
                && let Some(release) = found.get(1)
            {
                self.release = Some((release.as_str().to_owned(), Kept::of(&line).place()));
            }
            self.engine.get_or_insert_with(|| Kept::of(&line));
        } else if arguments.is_match(line.text) {
            self.arguments.get_or_insert_with(|| Kept::of(&line));
        } else if let Some(found) = release.captures(line.text).filter(|_| self.release.is_none()) {
            self.release = found.get(1).or(found.get(2)).map(|release| (release.as_str().to_owned(), Kept::of(&line).place()));
        }
    }

    /// The release, where a line names it.
    pub(super) fn version(&self) -> Option<VersionRange> {
        let (release, from) = self.release.as_ref()?;
        Some(VersionRange { low: Some(release.clone()), high: Some(release.clone()), from: vec![from.clone()] })
    }

    /// What it was told and what it made of it, the latter last: of settings that stand in both, that is the one that counts.
    pub(super) fn configuration(&self, trial: TrialId) -> Option<Evidence> {
        let lines: Vec<&Kept> = self.arguments.iter().chain(&self.engine).collect();
        let (first, last) = (lines.first()?, lines.last()?);
        let place = match (lines.len(), first.stream == last.stream) {
            (1, _) => first.place(),
            (_, true) => format!("{} and {}", first.place(), last.line),
            (_, false) => format!("{} and {}", first.place(), last.place()),
        };
        let text = lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n");
        Some(Evidence { trial: Some(trial), kind: EvidenceKind::Log, place, text })
    }
}

/// Cuts a line to what is read of it, at a character border.
fn clip(text: &str) -> &str {
    &text[..text.floor_char_boundary(LOOKED_AT)]
}

#[cfg(test)]
mod tests {
    use bystander_model::evidence::Stream;
    use bystander_model::ids::{TimeNs, TrialId};
    use bystander_model::reading::LogBlock;

    use super::Stated;

    fn read(log: &str) -> Stated {
        let mut stated = Stated::default();
        LogBlock { stream: Stream::Stderr, first: 1, time: TimeNs(0), text: log }.lines().for_each(|line| stated.line(&line));
        stated
    }

    fn told(log: &str) -> (String, String, Option<String>) {
        let read = read(log);
        let stated = read.configuration(TrialId(1)).expect("it states one");
        (stated.place, stated.text, read.version().and_then(|version| version.low))
    }

    const ARGUMENTS: &str = "(APIServer pid=1) INFO 11-29 12:14:35 [api_utils.py:286] non-default args: {'port': 18000, 'max_num_seqs': 4}";
    const ENGINE: &str = "(EngineCore pid=2) INFO 11-29 12:16:20 [core.py:133] Initializing a V1 LLM engine (v0.32.0) with config: model='/m', enforce_eager=False";

    #[test]
    fn both_lines_are_kept_in_the_order_in_which_they_count() {
        let log = format!(
            "(APIServer pid=1) INFO [api_utils.py:347]  ▄▄ ▄█ █ █▀▄▀ █  version 0.31.9\nx\n{ARGUMENTS}\n\n{ENGINE}\n{ENGINE} again\n"
        );
        assert_eq!(told(&log), ("stderr:3 and 5".into(), format!("{ARGUMENTS}\n{ENGINE}"), Some("0.32.0".into())));
        let late = format!("{ENGINE}\n{ARGUMENTS}\n");
        assert_eq!(told(&late).1, format!("{ARGUMENTS}\n{ENGINE}"));
    }

    #[test]
    fn older_forms_are_read() {
        let old =
            "INFO 11-20 09:00:00 llm_engine.py:237] Initializing an LLM engine (v0.6.4.post1) with config: model='m', dtype=torch.float16";
        assert_eq!(told(old), ("stderr:1".into(), old.into(), Some("0.6.4.post1".into())));
        let oldest = "INFO 12-12 08:00:00 llm_engine.py:73] Initializing an LLM engine with config: model='m', seed=0";
        assert_eq!(told(oldest).2, None);
        let served = "INFO 04-20 10:00:00 [api_server.py:1034] vLLM API server version 0.8.5\nINFO 04-20 10:00:00 api_server.py:1035] args: Namespace(port=8000, seed=None)";
        let (place, text, version) = told(served);
        assert_eq!((place.as_str(), version.as_deref()), ("stderr:2", Some("0.8.5")));
        assert!(text.ends_with("args: Namespace(port=8000, seed=None)"));
    }

    #[test]
    fn a_program_that_prints_something_like_it_is_not_vllm() {
        for other in [
            "parsed args: {'a': 1}\nargs: Namespace(a=1)\n",
            "█  version 1.2.3\n",
            "an engine with config: a=1\n",
            "server_args=ServerArgs(a=1)\n",
            "",
            "\n\n",
        ] {
            assert_eq!(read(other).configuration(TrialId(1)), None, "{other:?}");
        }
    }

    #[test]
    fn a_line_without_end_is_read_in_bounded_memory() {
        let (_, text, _) = told(&format!("{ENGINE}{}", "\u{e9}".repeat(1 << 20)));
        assert!(text.len() <= super::LOOKED_AT);
    }
}
