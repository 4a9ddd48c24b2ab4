//! What happens in a run, while it happens: a line per launch that is over; on a terminal also a line per launch that goes on, and one about the whole.
//!
//! Nothing of it is recorded. Where standard error is no terminal, or one that cannot move its cursor, somebody who reads along hears of a long trial
//! every half minute, and no escape code is ever written.

mod line;
mod tracker;

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bystander_lab::ledger::Ledger;
use bystander_lab::live::Live;
use bystander_lab::plan::Plan;
use bystander_model::event::{Event, EventBody};
use bystander_model::ids::TrialId;
use bystander_report::{Names, event_line};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use self::tracker::Tracker;
use super::{NARROWEST, Voice, WIDTH};

/// On a terminal the lines are drawn this often.
const TICK: Duration = Duration::from_millis(125);
/// Without a terminal somebody who reads along hears that a trial is still running this often.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// Shows the events of a run.
pub(crate) struct Progress {
    names: Names,
    live: Live,
    shared: Arc<Shared>,
    voice: Voice,
    /// Its end ends the thread that draws.
    end: Option<Sender<()>>,
    drawing: Option<JoinHandle<()>>,
}

/// What the events and the thread that draws share.
struct Shared {
    tracker: Mutex<Tracker>,
    lines: Option<MultiProgress>,
}

impl Shared {
    fn tracker(&self) -> MutexGuard<'_, Tracker> {
        self.tracker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress {
    pub(super) fn new(plan: &Plan, live: &Live, resumed: Option<&Ledger>, voice: Voice) -> Self {
        let shared = Arc::new(Shared { tracker: Mutex::new(Tracker::new(plan, resumed)), lines: can_draw().then(MultiProgress::new) });
        voice.above(shared.lines.clone());
        let (end, ended) = channel();
        let (drawn, board) = (Arc::clone(&shared), live.clone());
        let drawing = std::thread::spawn(move || {
            let mut screen = Screen { bars: BTreeMap::new(), whole: None, said: BTreeMap::new() };
            let tick = if drawn.lines.is_some() { TICK } else { HEARTBEAT / 10 };
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(tick) {
                screen.draw(&drawn, &board);
            }
            screen.clear();
        });
        let cells = u32::try_from(plan.cells.len()).unwrap_or(u32::MAX);
        Self { names: Names::new(plan.blocks.max, cells), live: live.clone(), shared, voice, end: Some(end), drawing: Some(drawing) }
    }

    /// Shows one event; it is in the record already.
    pub(crate) fn show(&mut self, event: &Event) {
        self.names.learn(event);
        self.shared.tracker().learn(event, self.names.place(event.trial));
        match (event.trial, &event.body) {
            (Some(trial), EventBody::TrialStarted { .. }) => self.live.begin(trial),
            (Some(trial), EventBody::TrialEnded(_)) => self.live.end(trial),
            _ => {}
        }
        let line = event_line(event, &self.names);
        if let (Some(trial), EventBody::TrialEnded(_)) = (event.trial, &event.body) {
            self.names.forget(trial);
        }
        let Some(line) = line else { return };
        match &event.body {
            // What goes as it should is told by the line of its trial.
            EventBody::TrialStarted { .. }
            | EventBody::Ready { .. }
            | EventBody::RunStarted { .. }
            | EventBody::RunResumed
            | EventBody::Edited(_)
            | EventBody::Restored { .. }
            | EventBody::Watch(_)
            | EventBody::RunEnded(_) => {}
            EventBody::Undone(undone) if undone.exact => {}
            _ => match &self.shared.lines {
                Some(lines) => lines.suspend(|| super::talk(&line)),
                None => super::talk(&line),
            },
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end.take();
        // It ends within a tick; what it drew is cleared then.
        if let Some(drawing) = self.drawing.take() {
            let _ended = drawing.join();
        }
        self.voice.above(None);
    }
}

/// Whether standard error is a terminal that can move its cursor.
pub(super) fn can_draw() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| !term.is_empty() && term != "dumb")
}

/// The columns of the terminal at this moment: it may have been resized.
pub(super) fn columns() -> usize {
    let seen = rustix::termios::tcgetwinsize(io::stderr()).ok().map(|size| usize::from(size.ws_col));
    seen.filter(|columns| *columns >= NARROWEST).unwrap_or(WIDTH)
}

/// What is drawn.
struct Screen {
    bars: BTreeMap<TrialId, ProgressBar>,
    whole: Option<ProgressBar>,
    /// When a trial was last spoken of, where nothing is drawn.
    said: BTreeMap<TrialId, Instant>,
}

impl Screen {
    fn draw(&mut self, shared: &Shared, live: &Live) {
        let running = live.now();
        match &shared.lines {
            None => {
                let due = |since: &mut Instant| since.elapsed() >= HEARTBEAT;
                self.said.retain(|trial, _| running.iter().any(|(running, _)| running == trial));
                for (trial, status) in &running {
                    let since = self.said.entry(*trial).or_insert_with(Instant::now);
                    if due(since) {
                        *since = Instant::now();
                        super::talk(&shared.tracker().heartbeat(*trial, status));
                    }
                }
            }
            Some(lines) => {
                // One column is left free: a terminal wraps when its last one is written.
                let width = columns().saturating_sub(3);
                self.bars.retain(|trial, bar| {
                    let is_running = running.iter().any(|(running, _)| running == trial);
                    if !is_running {
                        bar.finish_and_clear();
                        lines.remove(bar);
                    }
                    is_running
                });
                let whole = self.whole.get_or_insert_with(|| lines.add(plain_bar()));
                for (trial, status) in &running {
                    let text = shared.tracker().line(*trial, status, width);
                    let bar = self.bars.entry(*trial).or_insert_with(|| lines.insert_before(whole, bar()));
                    bar.set_message(text);
                    bar.tick();
                }
                whole.set_message(shared.tracker().whole(&running, width));
                whole.tick();
            }
        }
    }

    fn clear(&mut self) {
        self.bars.values().chain(&self.whole).for_each(ProgressBar::finish_and_clear);
    }
}

fn bar() -> ProgressBar {
    with_template("{spinner} {msg}")
}

pub(super) fn plain_bar() -> ProgressBar {
    with_template("  {msg}")
}

fn with_template(template: &str) -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    // The templates are fixed and good; the default would only look different.
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}
