//! What happens in a run, while it happens: one line per launch, and on a terminal a line that says what is going on now.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bystander_lab::plan::Plan;
use bystander_model::event::{Event, EventBody};
use bystander_report::{Names, event_line};
use indicatif::{ProgressBar, ProgressStyle};

/// On a terminal the current line is drawn this often.
const TICK: Duration = Duration::from_millis(100);
/// Without a terminal somebody who reads along hears that a trial is still running this often.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// Shows the events of a run.
pub(crate) struct Progress {
    bar: ProgressBar,
    heartbeat: Option<Heartbeat>,
    names: Names,
}

impl Progress {
    pub(super) fn new(plan: &Plan, terminal: bool) -> Self {
        let bar = if terminal { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
            bar.set_style(style);
        }
        if terminal {
            bar.enable_steady_tick(TICK);
        }
        let heartbeat = (!terminal).then(Heartbeat::start);
        Self { bar, heartbeat, names: Names::new(plan.blocks.max, u32::try_from(plan.cells.len()).unwrap_or(u32::MAX)) }
    }

    /// Shows one event; it is in the record already.
    pub(crate) fn show(&mut self, event: &Event) {
        self.names.learn(event);
        let Some(line) = event_line(event, &self.names) else { return };
        match &event.body {
            EventBody::TrialStarted { .. } | EventBody::Ready { .. } => self.now(line),
            // What goes as it should is told by the line of its trial.
            EventBody::RunStarted { .. }
            | EventBody::RunResumed
            | EventBody::Edited(_)
            | EventBody::Restored { .. }
            | EventBody::Watch(_)
            | EventBody::RunEnded(_) => {}
            EventBody::Undone(undone) if undone.exact => {}
            _ => self.line(&line),
        }
    }

    fn now(&self, text: String) {
        if let Some(heartbeat) = &self.heartbeat {
            heartbeat.say_while(text.clone());
        }
        self.bar.reset_elapsed();
        self.bar.set_message(text);
    }

    fn line(&self, text: &str) {
        if let Some(heartbeat) = &self.heartbeat {
            heartbeat.quiet();
        }
        self.bar.suspend(|| super::talk(text));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Says now and then that a long trial is still running, where no terminal shows it.
struct Heartbeat {
    current: Arc<Mutex<Option<(String, Instant)>>>,
    end: Sender<()>,
}

impl Heartbeat {
    fn start() -> Self {
        let current = Arc::new(Mutex::new(None::<(String, Instant)>));
        let (end, ended) = channel();
        let shown = Arc::clone(&current);
        std::thread::spawn(move || {
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(HEARTBEAT / 10) {
                let mut current = shown.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some((text, since)) = current.as_mut().filter(|(_, since)| since.elapsed() >= HEARTBEAT) {
                    super::talk(&format!("{text}, still running"));
                    *since = Instant::now();
                }
            }
        });
        Self { current, end }
    }

    fn say_while(&self, text: String) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some((text, Instant::now()));
    }

    fn quiet(&self) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        // The thread may have ended already; then there is nobody to tell.
        let _ = self.end.send(());
    }
}
