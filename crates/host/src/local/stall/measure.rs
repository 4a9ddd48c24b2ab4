//! What a tree has used up so far: what grows while a program gets on.

use std::time::{Duration, Instant};

use bystander_supervise::stacks::io_bytes;
use bystander_supervise::trial::Trial;

/// Processor time of a tree that stands still, as a share of the time that passes: threads that poll.
const IDLE: f64 = 0.01;
/// What is below the clock of the kernel.
const SLACK: Duration = Duration::from_millis(20);
/// Bytes read and written that a look at a file or a counter takes.
const IO_SLACK: u64 = 4 << 10;
/// Resident memory that comes and goes by itself.
const RSS_SLACK: u64 = 1 << 20;

/// What a tree has used up at one moment.
#[derive(Debug, Clone)]
pub(super) struct Measure {
    pub(super) at: Instant,
    cpu: Duration,
    io: u64,
    rss: u64,
    processes: Vec<(u32, u64)>,
}

impl Measure {
    pub(super) fn of(trial: &Trial) -> Self {
        let processes = trial.processes();
        Self {
            at: Instant::now(),
            cpu: processes.iter().map(|process| process.cpu).sum(),
            io: processes.iter().filter_map(|process| io_bytes(process.pid)).sum(),
            rss: processes.iter().map(|process| process.rss_bytes).sum(),
            processes: processes.iter().map(|process| (process.pid, process.start_time)).collect(),
        }
    }

    /// Whether anything moved since an earlier moment.
    pub(super) fn moved_since(&self, before: &Self) -> bool {
        let spent = self.cpu.saturating_sub(before.cpu);
        spent > SLACK + self.at.duration_since(before.at).mul_f64(IDLE)
            || self.io.saturating_sub(before.io) > IO_SLACK
            || self.rss.abs_diff(before.rss) > RSS_SLACK
            || self.processes != before.processes
    }

    /// What was measured since an earlier moment, in words.
    pub(super) fn words_since(&self, before: &Self) -> String {
        format!(
            "in {:.1} s no output, {:.2} s of processor time, {} bytes of input and output, the same memory and processes",
            self.at.duration_since(before.at).as_secs_f64(),
            self.cpu.saturating_sub(before.cpu).as_secs_f64(),
            self.io.saturating_sub(before.io)
        )
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::Measure;

    #[test]
    fn what_polls_stands_still_and_what_works_does_not() {
        let before = Measure { at: Instant::now(), cpu: Duration::ZERO, io: 0, rss: 10 << 20, processes: vec![(1, 1)] };
        let after = |s: u64| Measure { at: before.at + Duration::from_secs(s), ..before.clone() };
        assert!(!after(60).moved_since(&before));
        assert!(!Measure { cpu: Duration::from_millis(500), io: 4000, rss: 11 << 20, ..after(60) }.moved_since(&before));
        for moved in [
            Measure { cpu: Duration::from_millis(700), ..after(60) },
            Measure { cpu: Duration::from_millis(40), ..after(1) },
            Measure { io: 5000, ..after(60) },
            Measure { rss: 12 << 20, ..after(60) },
            Measure { rss: 8 << 20, ..after(60) },
            Measure { processes: vec![(1, 1), (2, 1)], ..after(60) },
        ] {
            assert!(moved.moved_since(&before), "{moved:?}");
        }
    }
}
