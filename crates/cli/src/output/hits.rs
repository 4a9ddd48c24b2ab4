//! Hits on their way to the screen: a thread prints them, so that a slow reader keeps nobody from recording.
//!
//! What waits is bounded: hits beyond the bound wait by the numbers of their events and are read back from the record when their turn comes.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write as _};
use std::ops::Range;
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use bystander_model::hit::Hit;
use bystander_model::ids::TimeNs;
use bystander_model::watch::WatchSummary;
use bystander_report::{HitRows, Style, hit_json, summary_json};

use super::remote::hits_by_reader;

/// Hits that may wait in memory.
const MOST_WAITING: usize = 50_000;
/// How long a reader that reads nothing is waited for, once the user has asked to stop.
const PATIENCE: Duration = Duration::from_secs(2);
/// Between two looks at whether the user has asked to stop.
const LOOK: Duration = Duration::from_millis(50);

/// A file for hits.
pub(crate) struct HitsTo {
    pub(crate) file: File,
    pub(crate) path: PathBuf,
}

/// Reads hits back by the numbers of their events.
pub(crate) type ReadBack = Box<dyn FnMut(Range<u64>) -> Vec<Hit> + Send>;

/// What waits to be printed.
enum Waiting {
    Hits(Vec<Hit>),
    Recorded { numbers: Range<u64>, hits: u64 },
    Bytes(Vec<u8>),
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    /// Hits among them that are in memory.
    in_memory: usize,
    /// Hits that were not printed so far.
    unprinted: u64,
    /// The start of the program, from which rows count.
    started: Option<TimeNs>,
    /// Nothing follows.
    closed: bool,
    /// The thread has ended.
    done: bool,
}

type Shared = Arc<(Mutex<Queue>, Condvar)>;

/// The way of hits to the screen.
pub(crate) struct Hits {
    shared: Shared,
    json: bool,
}

fn lock(shared: &Shared) -> MutexGuard<'_, Queue> {
    shared.0.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hits {
    /// Starts the thread that prints.
    pub(super) fn start(to: Option<HitsTo>, json: bool, names: Vec<String>, style: Style, read_back: ReadBack) -> Self {
        let shared = Shared::default();
        let (theirs, printer) = (Arc::clone(&shared), Printer::new(to, json, names, style));
        // Without a thread nothing is printed, and everything is recorded.
        let spawned = thread::Builder::new().name("print".to_owned()).spawn(move || work(&theirs, printer, read_back));
        if spawned.is_err() {
            lock(&shared).done = true;
        }
        Self { shared, json }
    }

    /// Says when the program was started.
    pub(crate) fn begin(&self, started: TimeNs) {
        lock(&self.shared).started = Some(started);
    }

    /// Prints hits that are recorded under a number.
    pub(crate) fn show(&self, hits: Vec<Hit>, number: u64) {
        let mut queue = lock(&self.shared);
        let count = hits.len();
        queue.unprinted += count as u64;
        if queue.in_memory + count <= MOST_WAITING {
            queue.in_memory += count;
            queue.waiting.push_back(Waiting::Hits(hits));
        } else if let Some(Waiting::Recorded { numbers, hits }) = queue.waiting.back_mut() {
            numbers.end = number + 1;
            *hits += count as u64;
        } else {
            queue.waiting.push_back(Waiting::Recorded { numbers: number..number + 1, hits: count as u64 });
        }
        self.shared.1.notify_all();
    }

    /// Prints what is left, then the summary where hits are JSON; gives how many hits were not printed.
    ///
    /// A reader is waited for as long as it takes, until the user has asked to stop.
    pub(crate) fn finish(self, summary: &WatchSummary, stopped: impl Fn() -> bool) -> u64 {
        let mut queue = lock(&self.shared);
        if self.json {
            queue.waiting.push_back(Waiting::Bytes(summary_json(summary)));
        }
        queue.closed = true;
        self.shared.1.notify_all();
        let mut last = (queue.unprinted, Instant::now());
        while !queue.done {
            queue = self.shared.1.wait_timeout(queue, LOOK).unwrap_or_else(PoisonError::into_inner).0;
            if queue.unprinted != last.0 || !stopped() {
                last = (queue.unprinted, Instant::now());
            }
            if last.1.elapsed() > PATIENCE {
                break;
            }
        }
        queue.unprinted
    }

    /// Ends without printing anything more.
    pub(crate) fn abandon(self) {
        lock(&self.shared).closed = true;
        self.shared.1.notify_all();
    }
}

fn work(shared: &Shared, mut printer: Printer, mut read_back: ReadBack) {
    while let Some((waiting, started)) = next(shared) {
        let printed = match waiting {
            Waiting::Hits(hits) => count(&hits, printer.print(&hits, started)),
            Waiting::Recorded { numbers, hits } => {
                // One event after the other: together they may be more than memory holds.
                let printed =
                    numbers.map(|number| read_back(number..number + 1)).map(|hits| count(&hits, printer.print(&hits, started))).sum();
                u64::min(printed, hits)
            }
            Waiting::Bytes(bytes) => {
                printer.write(&bytes);
                0
            }
        };
        lock(shared).unprinted -= printed;
    }
    lock(shared).done = true;
    shared.1.notify_all();
}

fn count(hits: &[Hit], printed: bool) -> u64 {
    if printed { hits.len() as u64 } else { 0 }
}

fn next(shared: &Shared) -> Option<(Waiting, TimeNs)> {
    let mut queue = lock(shared);
    loop {
        if let Some(waiting) = queue.waiting.pop_front() {
            if let Waiting::Hits(hits) = &waiting {
                queue.in_memory -= hits.len();
            }
            return Some((waiting, queue.started.unwrap_or(TimeNs(0))));
        }
        if queue.closed {
            return None;
        }
        queue = shared.1.wait(queue).unwrap_or_else(PoisonError::into_inner);
    }
}

/// Writes hits in their form to where they go.
struct Printer {
    file: Option<File>,
    /// The name of the file; standard output where `None`.
    path: Option<PathBuf>,
    json: bool,
    names: Vec<String>,
    style: Style,
    rows: Option<HitRows>,
}

impl Printer {
    fn new(to: Option<HitsTo>, json: bool, names: Vec<String>, style: Style) -> Self {
        // Not through the buffer of the standard library, which writes line by line.
        let (file, path) = match to {
            Some(to) => (Some(to.file), Some(to.path)),
            None => (io::stdout().as_fd().try_clone_to_owned().ok().map(File::from), None),
        };
        Self { file, path, json, names, style, rows: None }
    }

    /// Tells whether they were written.
    fn print(&mut self, hits: &[Hit], started: TimeNs) -> bool {
        if self.file.is_none() {
            return false;
        }
        if self.json {
            let mut lines = Vec::with_capacity(hits.len() * 200);
            hits_by_reader(hits).iter().for_each(|hit| hit_json(hit, &mut lines));
            return self.write(&lines);
        }
        let mut text = String::with_capacity(hits.len() * 100);
        let rows = self.rows.get_or_insert_with(|| {
            let rows = HitRows::new(started, self.names.iter().map(String::as_str), self.style);
            text.push_str(&rows.header());
            rows
        });
        hits.iter().for_each(|hit| rows.row(hit, &mut text));
        self.write(text.as_bytes())
    }

    fn write(&mut self, bytes: &[u8]) -> bool {
        let Some(file) = &mut self.file else { return false };
        let Err(error) = file.write_all(bytes) else { return true };
        self.file = None;
        let place = self.path.as_ref().map_or_else(|| "standard output".to_owned(), |path| path.display().to_string());
        let why = if error.kind() == io::ErrorKind::BrokenPipe {
            "nobody reads standard output any more".to_owned()
        } else {
            format!("hits cannot be written to {place} any more ({error})")
        };
        super::talk(&format!("bystander: {why}; the program goes on, and its hits are recorded"));
        false
    }
}

/// Hits of the record, printed at once.
pub(crate) struct RecordedHits {
    printer: Printer,
    started: TimeNs,
}

impl RecordedHits {
    pub(super) fn new(started: TimeNs, json: bool, names: Vec<String>, style: Style) -> Self {
        Self { printer: Printer::new(None, json, names, style), started }
    }

    /// Prints hits; tells whether somebody reads them.
    pub(crate) fn print(&mut self, hits: &[Hit]) -> bool {
        self.printer.print(hits, self.started)
    }
}
