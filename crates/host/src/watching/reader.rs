//! The thread that takes hits out of the rings: it waits for nobody but the queue, so that a slow disk fills the queue and not the rings.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bystander_model::hit::{Hit, Receipt};
use bystander_probe::DrainError;
use bystander_supervise::ProcessInfo;

use crate::local::Probes;
use crate::secrets;

/// Between two looks while hits come.
const SHORTEST: Duration = Duration::from_millis(1);
/// Between two looks while none come.
const LONGEST: Duration = Duration::from_millis(20);
/// So many hits in one look mean that there are more already.
const BUSY: usize = 256;
/// Looks that wait for whoever records. A look holds no more than all rings together.
const QUEUE: usize = 128;

/// The reader of all rings.
pub(super) struct Reader {
    hits: Receiver<Vec<Hit>>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<Probes, DrainError>>,
    hidden: Vec<String>,
}

impl Reader {
    /// Starts reading; `hidden` becomes stars in every captured text.
    pub(super) fn start(probes: Probes, hidden: Vec<String>) -> io::Result<Self> {
        let (sender, hits) = sync_channel(QUEUE);
        let stop = Arc::new(AtomicBool::new(false));
        let (asked, known) = (Arc::clone(&stop), hidden.clone());
        let thread = thread::Builder::new().name("hits".to_owned()).spawn(move || read(probes, &known, &asked, &sender))?;
        Ok(Self { hits, stop, thread, hidden })
    }

    /// Hits that came, gathered for a while or until there are so many; waits that long where none come.
    pub(super) fn gather(&self, span: Duration, most: usize) -> Vec<Hit> {
        let until = Instant::now() + span;
        let mut gathered: Vec<Hit> = Vec::new();
        while gathered.len() < most {
            match self.hits.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(hits) if gathered.is_empty() => gathered = hits,
                Ok(hits) => gathered.extend(hits),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => {
                    // It failed, which is told at the end; until then there is nothing but to wait.
                    thread::sleep(until.saturating_duration_since(Instant::now()));
                    break;
                }
            }
        }
        gathered
    }

    /// Reads what is left, now that nobody writes any more, and each process's account; `processes` are those of the tree.
    pub(super) fn finish(self, processes: &[ProcessInfo], cwd: &Path) -> (Vec<Hit>, Result<Vec<Receipt>, DrainError>) {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.thread().unpark();
        let mut hits: Vec<Hit> = self.hits.iter().flatten().collect();
        // A thread that panicked has told of it; what it had sent is kept.
        let Ok(read) = self.thread.join() else { return (hits, Ok(Vec::new())) };
        match read.and_then(|probes| probes.finish(processes, cwd)) {
            Ok((last, receipts)) => {
                hits.extend(last.into_iter().map(|mut hit| {
                    secrets::blot_hit(&mut hit, &self.hidden);
                    hit
                }));
                (hits, Ok(receipts))
            }
            Err(error) => (hits, Err(error)),
        }
    }
}

fn read(mut probes: Probes, hidden: &[String], stop: &AtomicBool, sender: &SyncSender<Vec<Hit>>) -> Result<Probes, DrainError> {
    let mut pause = SHORTEST;
    loop {
        let last = stop.load(Ordering::SeqCst);
        let hits = probes.poll()?;
        let count = hits.len();
        send(hits, hidden, sender);
        if last && count == 0 {
            return Ok(probes);
        }
        pause = if count == 0 { (pause * 2).min(LONGEST) } else { SHORTEST };
        if count < BUSY && !last {
            thread::park_timeout(pause);
        }
    }
}

fn send(mut hits: Vec<Hit>, hidden: &[String], sender: &SyncSender<Vec<Hit>>) {
    hits.iter_mut().for_each(|hit| secrets::blot_hit(hit, hidden));
    if !hits.is_empty() {
        // Nobody listens only where the watch has failed already.
        let _ = sender.send(hits);
    }
}
