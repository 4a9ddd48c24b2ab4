//! A program that stands still: when that is seen, where its processes stand, and whether it is worth waiting for.
//!
//! As long as a program writes, nothing is looked at but how much. Only one that has been silent for a part of `stall` is measured, and only one that
//! did not move at all for the whole of it has its stacks taken: until two looks agree, eight times at most, and once more at its time limit. So no trial
//! that works is disturbed.

mod judge;
mod measure;

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bystander_lab::cause::{Frame, Scanner, Standing, StandingThread, Standstill, StopWhy};
use bystander_model::evidence::Stream;
use bystander_supervise::output::StreamSummary;
use bystander_supervise::stacks::{self, ProcessStacks, Python, StackFrame, Stacks};
use bystander_supervise::trial::Trial;

use self::judge::{Judgement, judge};
use self::measure::Measure;
use crate::secrets;

/// How long the stacks of a tree may take.
const LIMIT: Duration = Duration::from_secs(20);
/// Looks at one trial at most, for a program that stands still now and then.
const LOOKS: u32 = 8;
/// At the time limit, a look that is older than this is taken again.
const FRESH: Duration = Duration::from_secs(30);
/// A look is not taken again so soon.
const JUST_BEFORE: Duration = Duration::from_secs(5);
/// Entries of a stack that are kept for the cause, and stacks of one process.
const FRAMES: usize = 100;
const THREADS: usize = 64;

/// One look at the stacks.
#[derive(Debug)]
struct Look {
    at: Instant,
    stacks: Stacks,
    /// For each process, its first line in the file of stacks, from 1.
    lines: Vec<u64>,
}

/// Watches whether a trial moves.
#[derive(Debug)]
pub(super) struct Stall {
    span: Duration,
    file: PathBuf,
    hidden: Vec<String>,
    due: Instant,
    written: u64,
    /// Since when nothing was written.
    quiet: Instant,
    /// The moment since which nothing has moved.
    base: Option<Measure>,
    /// The looks since then.
    looks: Vec<Look>,
    taken: u32,
    shown_by: Option<String>,
    measured: Option<(Duration, String)>,
    kept: Kept,
}

/// What is in the file of stacks.
#[derive(Debug, Default, Clone, Copy)]
struct Kept {
    bytes: u64,
    lines: u64,
    failed: bool,
}

impl Stall {
    pub(super) fn new(span: Duration, folder: &Path, hidden: &[String]) -> Self {
        let now = Instant::now();
        Self {
            span,
            file: folder.join(Stream::Stacks.name()),
            hidden: hidden.to_vec(),
            due: now,
            written: 0,
            quiet: now,
            base: None,
            looks: Vec::new(),
            taken: 0,
            shown_by: None,
            measured: None,
            kept: Kept::default(),
        }
    }

    /// Looks at the trial where it is time to; an answer where it is not worth waiting for. `ready` says whether it was ready, after which nobody but its
    /// workload knows how long it may be silent.
    pub(super) fn turn(&mut self, trial: &Trial, scanner: &Scanner, ready: bool) -> Option<StopWhy> {
        let now = Instant::now();
        if now < self.due {
            return None;
        }
        self.due = now + (self.span / 16).clamp(Duration::from_millis(20), Duration::from_secs(2));
        if let Some(row) = scanner.starved().filter(|row| ready && row.span_s() >= self.span.as_secs_f64()) {
            let span_s = row.span_s();
            self.look(trial);
            return Some(StopWhy::Stalled { span_s });
        }
        let still = self.still(trial)?;
        if self.taken >= LOOKS || still < self.span {
            return None;
        }
        let apart = (self.span / 2).clamp(Duration::from_millis(200), FRESH);
        match self.looks.last() {
            Some(_) if self.looks.len() > 1 => return None,
            Some(first) if now.duration_since(first.at) < apart => return None,
            _ => self.look(trial),
        }
        let judgement = self.judge()?;
        if judgement == Judgement::MayGoOn {
            // A thread that polls may just have been awake: the newer look is compared with another one.
            self.looks.drain(..self.looks.len() - 1);
        }
        let failed = scanner.has_traceback() && judgement != Judgement::MayGoOn;
        let ends = !ready && (failed || matches!(judgement, Judgement::Hangs(_)));
        ends.then_some(StopWhy::Stalled { span_s: still.as_secs_f64() })
    }

    /// For how long nothing has moved; `None` where something moves, or that is not known yet.
    fn still(&mut self, trial: &Trial) -> Option<Duration> {
        let (now, written) = (Instant::now(), trial.output_bytes());
        // What was written and not read yet may say anything: only from then on nothing is known to come.
        if written != self.written || trial.has_unread() {
            self.written = written;
            self.quiet = now;
            self.moved(None);
        }
        if now.duration_since(self.quiet) < self.span / 8 {
            return None;
        }
        let measure = Measure::of(trial);
        match &self.base {
            Some(base) if !measure.moved_since(base) => {
                let still = measure.at.duration_since(base.at);
                self.measured = Some((still, measure.words_since(base)));
                Some(still)
            }
            _ => {
                self.moved(Some(measure));
                None
            }
        }
    }

    /// Something moved: what was seen before is past.
    fn moved(&mut self, base: Option<Measure>) {
        self.base = base;
        self.looks.clear();
        self.shown_by = None;
        self.measured = None;
    }

    /// Compares the two latest looks.
    fn judge(&mut self) -> Option<Judgement> {
        let [.., before, now] = &self.looks[..] else { return None };
        let judgement = judge(&before.stacks, &now.stacks, now.at.duration_since(before.at));
        self.shown_by = if let Judgement::Hangs(why) = &judgement { Some(why.clone()) } else { None };
        Some(judgement)
    }

    /// Takes the stacks once more where the trial is lost: at its time limit, or its workload's.
    pub(super) fn at_limit(&mut self, trial: &Trial) {
        let silent = self.quiet.elapsed() >= self.span && trial.output_bytes() == self.written && !trial.has_unread();
        let still = self.still(trial).is_some_and(|still| still >= self.span);
        let stale = self.looks.last().is_none_or(|look| look.at.elapsed() > FRESH);
        if (silent || still) && stale {
            self.look(trial);
            if still {
                self.judge();
            }
        }
    }

    /// Takes the stacks of a program whose workload has failed, unless that was done just before.
    pub(super) fn of_unanswering(&mut self, trial: &Trial) {
        if self.looks.last().is_none_or(|look| look.at.elapsed() > JUST_BEFORE) {
            self.look(trial);
        }
        self.measured.get_or_insert_with(|| (Duration::ZERO, "its stacks were taken when its workload had failed".to_owned()));
    }

    /// Whether nothing has moved for the whole of `stall`.
    pub(super) fn is_still(&self) -> bool {
        self.measured.as_ref().is_some_and(|(still, _)| *still >= self.span)
    }

    fn look(&mut self, trial: &Trial) {
        let stacks = stacks::take(&trial.processes(), LIMIT);
        self.taken += 1;
        let title = |title: &str| secrets::masked_title(title);
        let (lines, firsts) = stacks.lines(&title);
        let head = format!("look {}: {} processes, read in {:.2} s", self.taken, stacks.processes.len(), stacks.took.as_secs_f64());
        // The head stands before the first process.
        let first_line = self.kept.lines + 2;
        let text: String = std::iter::once(&head).chain(&lines).map(|line| format!("{}\n", secrets::blot(line, &self.hidden))).collect();
        self.keep(&text);
        let lines = firsts.into_iter().map(|at| first_line + at as u64).collect();
        self.looks.push(Look { at: Instant::now(), stacks, lines });
    }

    fn keep(&mut self, text: &str) {
        let written = OpenOptions::new().create(true).append(true).open(&self.file).and_then(|mut file| file.write_all(text.as_bytes()));
        match written {
            Ok(()) => {
                self.kept.bytes += text.len() as u64;
                self.kept.lines += text.lines().count() as u64;
            }
            Err(_) => self.kept.failed = true,
        }
    }

    /// The file of stacks, where there is one.
    pub(super) fn kept(&self) -> Option<(Stream, PathBuf, StreamSummary)> {
        let Kept { bytes, lines, failed } = self.kept;
        (bytes > 0).then(|| (Stream::Stacks, self.file.clone(), StreamSummary { bytes, lines, complete: !failed }))
    }

    /// Where the processes stood at the latest look, unless something has moved since.
    pub(super) fn standstill(&self) -> Option<Standstill> {
        let look = self.looks.last()?;
        let (still, measured) = self.measured.clone().unwrap_or_else(|| (Duration::ZERO, "no output".to_owned()));
        let processes = look.stacks.processes.iter().zip(&look.lines).map(|(process, line)| self.standing(process, *line)).collect();
        Some(Standstill { still_s: still.as_secs_f64(), measured, shown_by: self.shown_by.clone(), processes })
    }

    fn standing(&self, process: &ProcessStacks, line: u64) -> Standing {
        let blotted = |text: &str| secrets::blot(text, &self.hidden).into_owned();
        let stacks = if let Python::Stacks { threads, .. } = &process.python { &threads[..] } else { &[] };
        let mut threads: Vec<StandingThread> = Vec::new();
        // After the process and its main thread; the head of a stack is a line too.
        let mut head = line + 2;
        for stack in stacks.iter().take(THREADS) {
            let wait = stack.id.and_then(|id| process.waits.iter().find(|(thread, _)| *thread == id));
            threads.push(StandingThread {
                name: stack.name.as_deref().map(blotted),
                wait: wait.map(|(_, kind)| kind.words().to_owned()),
                frames: self.frames(&stack.frames, head + 1),
            });
            head += 1 + stack.frames.len() as u64;
        }
        let mut threads = threads.into_iter();
        Standing {
            pid: process.pid,
            title: blotted(&secrets::masked_title(&process.title)),
            wait: process.main.kind.words().to_owned(),
            frames: threads.next().map(|main| main.frames).unwrap_or_default(),
            threads: threads.collect(),
            line,
        }
    }

    /// The innermost entries of a stack whose first one is in a line of the file of stacks.
    fn frames(&self, stack: &[StackFrame], first: u64) -> Vec<Frame> {
        let left_out = stack.len().saturating_sub(FRAMES);
        let frame = |(at, frame): (u64, &StackFrame)| Frame {
            file: secrets::blot(&frame.file, &self.hidden).into_owned(),
            line: frame.line,
            function: Some(frame.function.clone()),
            source: None,
            at,
        };
        (first + left_out as u64..).zip(&stack[left_out..]).map(frame).collect()
    }
}
