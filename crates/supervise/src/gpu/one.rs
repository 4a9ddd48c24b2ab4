//! One GPU while it is watched: what is held on it, and by which processes.

use std::time::Duration;

use bystander_model::samples::{GpuHeld, GpuProcess, GpuSamples, KnownBy, Mark, PhaseSamples};

use super::{Gpu, Keep, Numbering, TITLE};
use crate::course::{Told, Track, rounded};
use crate::subject::Subject;
use crate::tree;

/// Points that are kept of a GPU, and of a process on it.
const GPU_POINTS: usize = 256;
const PROCESS_POINTS: usize = 64;
/// Processes of one GPU that are kept; more than ranks and their helpers.
const MOST_PROCESSES: usize = 64;
/// How long a title of a process may change often: while it starts.
const YOUNG: Duration = Duration::from_secs(2);
/// Between two looks at a title after that.
const TITLE_STEP: Duration = Duration::from_secs(1);

/// One GPU.
#[derive(Debug)]
pub(super) struct OneGpu {
    /// As it was before.
    before: Gpu,
    subject: Subject,
    numbering: Numbering,
    /// Whether processes that are not of the subject are recorded too.
    others: bool,
    track: Track,
    processes: Vec<OneProcess>,
    /// Processes of the last sample.
    latest: Vec<u32>,
    silent_from: Option<Duration>,
}

#[derive(Debug)]
struct OneProcess {
    pid: u32,
    here: Option<u32>,
    known_by: KnownBy,
    title: Option<String>,
    since: Duration,
    titled: Duration,
    track: Track,
}

impl OneGpu {
    pub(super) fn new(before: &Gpu, subject: Subject, numbering: Numbering, others: bool) -> Self {
        let track = Track::new(GPU_POINTS, Keep::Largest);
        Self { before: before.clone(), subject, numbering, others, track, processes: Vec::new(), latest: Vec::new(), silent_from: None }
    }

    pub(super) fn index(&self) -> u32 {
        self.before.index
    }

    /// What it holds now on top of what it held before.
    pub(super) fn own_now(&self) -> Option<u64> {
        Some(self.track.last()?.saturating_sub(self.before.held_bytes))
    }

    /// The processes here that were on it at the last sample.
    pub(super) fn pids_here(&self) -> impl Iterator<Item = u32> + '_ {
        self.processes.iter().filter(|process| self.latest.contains(&process.pid)).filter_map(|process| process.here)
    }

    /// It did not answer.
    pub(super) fn silent(&mut self, after: Duration) {
        self.silent_from.get_or_insert(after);
    }

    /// Takes a sample.
    pub(super) fn take(&mut self, after: Duration, held: u64, on_it: &[(u32, Option<u64>)], told: &Told) {
        self.silent_from = None;
        self.track.take(after, held, told);
        self.latest = on_it.iter().map(|(pid, _)| *pid).collect();
        for &(pid, bytes) in on_it {
            let at = self.processes.iter().position(|known| known.pid == pid).or_else(|| self.learn(pid, after));
            let Some(process) = at.and_then(|at| self.processes.get_mut(at)) else { continue };
            if let Some(bytes) = bytes {
                process.track.take(after, bytes, told);
            }
            process.look_at_title(after);
            // It may have been looked at just while its parent ended.
            if process.known_by == KnownBy::Other && process.here.is_some_and(|here| self.subject.contains(here)) {
                process.known_by = match &self.numbering {
                    Numbering::Ours => KnownBy::Tree,
                    Numbering::HostProc(_) => KnownBy::NsPid,
                    Numbering::Foreign => KnownBy::Other,
                };
            }
        }
    }

    /// Takes up a process, if it is of the subject or all are wanted.
    fn learn(&mut self, pid: u32, after: Duration) -> Option<usize> {
        let here = self.numbering.pid(pid);
        let known_by = match (here.is_some_and(|here| self.subject.contains(here)), &self.numbering) {
            (true, Numbering::HostProc(_)) => KnownBy::NsPid,
            (true, Numbering::Ours | Numbering::Foreign) => KnownBy::Tree,
            (false, Numbering::Foreign) if self.subject != Subject::Machine && !self.was_there(pid) => KnownBy::Appearance,
            (false, _) if self.others => KnownBy::Other,
            (false, _) => return None,
        };
        if self.processes.len() >= MOST_PROCESSES {
            self.forget_one()?;
        }
        let track = Track::new(PROCESS_POINTS, Keep::Largest);
        // One that only came at the right time has a number that says nothing here.
        let here = here.filter(|_| known_by != KnownBy::Appearance);
        self.processes.push(OneProcess { pid, here, known_by, title: None, since: after, titled: after, track });
        Some(self.processes.len() - 1)
    }

    /// Makes room: of those that are gone the one that held least is forgotten.
    fn forget_one(&mut self) -> Option<()> {
        let gone = self.processes.iter().enumerate().filter(|(_, process)| !self.latest.contains(&process.pid));
        let (at, _) = gone.min_by_key(|(_, process)| process.track.extreme())?;
        self.processes.remove(at);
        Some(())
    }

    fn was_there(&self, pid: u32) -> bool {
        self.before.holders.iter().any(|holder| holder.host_pid == pid)
    }

    /// Settles everything, and says what was held in each phase and at each mark.
    pub(super) fn finish(&mut self, told: &Told, phases: &mut [(usize, PhaseSamples)], marks: &mut [Mark]) {
        self.track.finish(told);
        self.processes.iter_mut().for_each(|process| process.track.finish(told));
        let index = self.before.index;
        for (id, phase) in phases {
            phase.gpus.extend(self.track.in_phase(*id).map(|bytes| GpuHeld { index, bytes }));
        }
        for (number, mark) in marks.iter_mut().enumerate() {
            mark.gpus.extend(self.track.at_mark(number).map(|bytes| GpuHeld { index, bytes }));
        }
    }

    /// What was seen.
    pub(super) fn samples(&self, told: &Told) -> GpuSamples {
        let process = |process: &OneProcess| GpuProcess {
            pid: process.pid,
            pid_here: process.here.filter(|here| *here != process.pid),
            title: process.title.clone(),
            known_by: process.known_by,
            peak_bytes: process.track.extreme(),
            peak_at: process.track.moment(told),
            last_bytes: process.track.last(),
            series: process.track.series(),
        };
        GpuSamples {
            index: self.before.index,
            uuid: self.before.uuid.clone(),
            name: self.before.name.clone(),
            total_bytes: self.before.total_bytes,
            before_bytes: Some(self.before.held_bytes),
            peak_bytes: self.track.extreme(),
            peak_at: self.track.moment(told),
            last_bytes: self.track.last(),
            silent_from_s: self.silent_from.map(|from| rounded(from.as_secs_f64())),
            after_bytes: None,
            series: self.track.series(),
            processes: self.processes.iter().map(process).collect(),
            strays: Vec::new(),
        }
    }
}

impl OneProcess {
    /// A process changes its title while it starts, and hardly later.
    fn look_at_title(&mut self, after: Duration) {
        let young = after.saturating_sub(self.since) < YOUNG;
        if let Some(here) = self.here
            && (young || after.saturating_sub(self.titled) >= TITLE_STEP)
        {
            self.titled = after;
            self.title = title(here, self.title.as_deref()).or_else(|| self.title.take());
        }
    }
}

/// The title of a process now; its name alone where it has none, as one that is about to end, and nothing better was known.
fn title(pid: u32, known: Option<&str>) -> Option<String> {
    let process = tree::process(pid)?;
    let title = match (process.cmdline.is_empty(), known) {
        (true, Some(_)) => return None,
        (true, None) => process.comm,
        (false, _) => process.title(),
    };
    Some(title.chars().take(TITLE).collect())
}
