//! An engine that is alive and serves nobody: requests wait, none runs, and no token comes, line after line of its own statistics.
//!
//! One such line is common, between two batches or while the first request compiles. Only a row of them without another statistic between says that
//! the engine is dead, whatever its health address answers.

use bystander_model::reading::LogLine;

use super::kept::KeptLine;

/// Lines in a row from which it is said.
const LINES: u32 = 3;

/// A row of statistics without progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Starved {
    /// The first line of the row.
    pub first: KeptLine,
    /// The latest.
    pub last: KeptLine,
    /// How many there are.
    pub lines: u32,
}

impl Starved {
    /// The span of the row, in seconds.
    #[must_use]
    pub fn span_s(&self) -> f64 {
        self.last.time.seconds_since(self.first.time)
    }

    /// Whether there are enough lines to say it.
    #[must_use]
    pub fn is_told(&self) -> bool {
        self.lines >= LINES
    }
}

/// What a line of statistics says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beat {
    /// Requests wait, none runs, nothing was generated.
    Starved,
    /// Anything else.
    Fine,
}

/// Follows the statistics of one program.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    row: Option<Starved>,
}

impl Pulse {
    /// Takes a line of the program; `true` where it is one of statistics.
    pub(crate) fn line(&mut self, line: &LogLine<'_>, text: &str) -> bool {
        let beat = beat(text);
        match beat {
            None => {}
            Some(Beat::Fine) => self.row = None,
            Some(Beat::Starved) => {
                let kept = KeptLine::of(line, text);
                match &mut self.row {
                    Some(row) => {
                        row.last = kept;
                        row.lines = row.lines.saturating_add(1);
                    }
                    None => self.row = Some(Starved { first: kept.clone(), last: kept, lines: 1 }),
                }
            }
        }
        beat.is_some()
    }

    /// Whether a row has begun: the next line of statistics decides whether it goes on.
    pub(crate) fn may_starve(&self) -> bool {
        self.row.is_some()
    }

    /// The row so far, where it is long enough to say something.
    pub(crate) fn starved(&self) -> Option<&Starved> {
        self.row.as_ref().filter(|row| row.is_told())
    }
}

/// Tells a line of statistics of vLLM (`Running: 0 reqs, Waiting: 3 reqs`) or SGLang (`#running-req: 0, #queue-req: 3`) from any other.
fn beat(text: &str) -> Option<Beat> {
    let (running, waiting) = if let Some(running) = count(text, "Running: ") {
        (running, count(text, "Waiting: ").or_else(|| count(text, "Pending: "))?)
    } else {
        (count(text, "#running-req: ")?, count(text, "#queue-req: ")?)
    };
    // Nearly every line of statistics is of an engine that works, or rests.
    if running != 0.0 || waiting == 0.0 {
        return Some(Beat::Fine);
    }
    let speeds = ["prompt throughput: ", "generation throughput: ", "gen throughput (token/s): ", "input throughput (token/s): "];
    let speeds: Vec<f64> = speeds.iter().filter_map(|name| number(text, name)).collect();
    // A prefill that is under way shows its tokens.
    let tokens = number(text, "#new-token: ").unwrap_or(0.0);
    let idle = !speeds.is_empty() && speeds.iter().all(|speed| *speed == 0.0) && tokens == 0.0;
    Some(if idle { Beat::Starved } else { Beat::Fine })
}

fn count(text: &str, name: &str) -> Option<f64> {
    number(text, name).filter(|number| number.fract() == 0.0)
}

/// The number after a name; it begins with a digit.
fn number(text: &str, name: &str) -> Option<f64> {
    let rest = &text[text.find(name)? + name.len()..];
    let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
    rest[..end].parse().ok().filter(|_| rest.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::{Beat, beat};

    #[test]
    fn only_waiting_requests_without_a_running_one_starve() {
        let vllm = |speed: &str, running: u32, waiting: u32| {
            format!(
                "INFO 11-29 [loggers.py:248] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: {speed} tokens/s, \
                 Running: {running} reqs, Waiting: {waiting} reqs, GPU KV cache usage: 0.0%"
            )
        };
        assert_eq!(beat(&vllm("0.0", 0, 3)), Some(Beat::Starved));
        for (speed, running, waiting) in [("0.0", 0, 0), ("0.0", 1, 3), ("12.5", 0, 3), ("0.0", 4, 0)] {
            assert_eq!(beat(&vllm(speed, running, waiting)), Some(Beat::Fine));
        }
        let decode = "Decode batch. #running-req: 0, #token: 0, token usage: 0.00, gen throughput (token/s): 0.00, #queue-req: 3, ";
        assert_eq!(beat(decode), Some(Beat::Starved));
        let prefill =
            "Prefill batch. #new-seq: 1, #new-token: 7, #cached-token: 0, #running-req: 0, #queue-req: 3, input throughput (token/s): 0.00";
        assert_eq!(beat(prefill), Some(Beat::Fine));
        for other in ["Running: the server", "Waiting: 3 reqs", "Running: 0 reqs", "#running-req: 0", "Running: 1.5 reqs, Waiting: 2 reqs"]
        {
            assert_eq!(beat(other), None, "{other}");
        }
    }
}
