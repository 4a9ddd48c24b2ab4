//! Samples of GPUs while a trial runs, on a thread of its own: the driver may be slow to answer, and nothing else of a trial waits for it.

use std::collections::BTreeSet;
use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use bystander_model::samples::{GpuProcess, GpuSamples, KnownBy};
use nvml_wrapper::Device;

use super::{Driver, Gpu, Recorder, memory, pids, processes};
use crate::tree;

/// Between the first two samples.
const FIRST_STEP: Duration = Duration::from_millis(50);
/// Between two samples of a young trial, at most.
const STEP: Duration = Duration::from_millis(500);
/// Between two samples of a trial that is older than [`YOUNG`].
const LONG_STEP: Duration = Duration::from_secs(1);
/// Up to this age a trial is young.
const YOUNG: Duration = Duration::from_secs(60);
/// Points that are kept of a GPU, and of a process on it.
const GPU_POINTS: usize = 256;
const PROCESS_POINTS: usize = 64;
/// Processes of one GPU that are kept; more than ranks and their helpers.
const MOST_PROCESSES: usize = 64;
/// The longest title that is kept, in characters.
pub(crate) const TITLE: usize = 120;

/// Watches GPUs until it is dropped.
#[derive(Debug)]
pub(crate) struct GpuWatch {
    found: Arc<Mutex<Vec<OneGpu>>>,
    /// The thread ends when this is gone. It is not waited for: a driver that hangs keeps it, and nobody else.
    _end: Sender<()>,
}

#[derive(Debug)]
struct OneGpu {
    /// As it was before the trial.
    before: Gpu,
    record: Recorder,
    processes: Vec<OneProcess>,
}

#[derive(Debug)]
struct OneProcess {
    pid: u32,
    known_by: KnownBy,
    title: Option<String>,
    record: Recorder,
}

impl GpuWatch {
    /// Starts to watch GPUs that were looked at before the program was started under its keeper.
    pub(crate) fn start(driver: &'static Driver, before: &[Gpu], keeper: u32) -> io::Result<Self> {
        let watched = before.iter().map(|gpu| OneGpu { before: gpu.clone(), record: Recorder::new(GPU_POINTS), processes: Vec::new() });
        let found = Arc::new(Mutex::new(watched.collect::<Vec<_>>()));
        let shared = Arc::clone(&found);
        let (end, ended) = channel::<()>();
        let uuids: Vec<String> = before.iter().map(|gpu| gpu.uuid.clone()).collect();
        thread::Builder::new().name("gpus".to_owned()).spawn(move || {
            let started = Instant::now();
            let devices: Vec<Option<Device<'static>>> = uuids.iter().map(|uuid| driver.device(uuid)).collect();
            let mut step = FIRST_STEP;
            loop {
                for (at, device) in devices.iter().enumerate() {
                    let Some(sample) = device.as_ref().and_then(sample) else { continue };
                    if let Some(gpu) = shared.lock().unwrap_or_else(PoisonError::into_inner).get_mut(at) {
                        gpu.take(started.elapsed(), &sample, keeper);
                    }
                }
                match ended.recv_timeout(step) {
                    Err(RecvTimeoutError::Timeout) => {}
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
                }
                step = (step * 2).min(if started.elapsed() < YOUNG { STEP } else { LONG_STEP });
            }
        })?;
        Ok(Self { found, _end: end })
    }

    /// What the GPUs hold now on top of what they held before, at the last sample; `None` before the first.
    pub(crate) fn held_now(&self) -> Option<u64> {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let own = found.iter().filter_map(|gpu| Some(gpu.record.last()?.saturating_sub(gpu.before.held_bytes)));
        own.reduce(u64::saturating_add)
    }

    /// What was seen so far.
    pub(crate) fn samples(&self) -> Vec<GpuSamples> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).iter().map(OneGpu::samples).collect()
    }
}

/// What is held on a GPU, and by whom.
type Sample = (u64, Vec<(u32, Option<u64>)>);

fn sample(device: &Device<'_>) -> Option<Sample> {
    let (_, held) = memory(device).ok()?;
    Some((held, processes(device)))
}

impl OneGpu {
    fn take(&mut self, after: Duration, (held, on_it): &Sample, keeper: u32) {
        self.record.take(after, *held);
        for &(pid, bytes) in on_it {
            let at = self.processes.iter().position(|known| known.pid == pid).or_else(|| self.learn(pid, keeper));
            let Some(process) = at.and_then(|at| self.processes.get_mut(at)) else { continue };
            if let Some(bytes) = bytes {
                process.record.take(after, bytes);
            }
            if process.known_by == KnownBy::Tree {
                process.title = title(pid).or_else(|| process.title.take());
            }
        }
    }

    /// Takes up a process if it is of the trial.
    fn learn(&mut self, pid: u32, keeper: u32) -> Option<usize> {
        if self.processes.len() >= MOST_PROCESSES {
            return None;
        }
        let ours = pids::numbers_are_ours() || pids::uses_the_driver(pid);
        let known_by = if ours && tree::contains(keeper, pid) {
            KnownBy::Tree
        } else if !pids::numbers_are_ours() && !self.known_before().contains(&pid) {
            KnownBy::Appearance
        } else {
            return None;
        };
        self.processes.push(OneProcess { pid, known_by, title: None, record: Recorder::new(PROCESS_POINTS) });
        Some(self.processes.len() - 1)
    }

    fn known_before(&self) -> BTreeSet<u32> {
        self.before.holders.iter().map(|holder| holder.host_pid).collect()
    }

    fn samples(&self) -> GpuSamples {
        let process = |process: &OneProcess| GpuProcess {
            pid: process.pid,
            title: process.title.clone(),
            known_by: process.known_by,
            peak_bytes: process.record.peak(),
            series: process.record.series(),
        };
        GpuSamples {
            index: self.before.index,
            uuid: self.before.uuid.clone(),
            name: self.before.name.clone(),
            total_bytes: self.before.total_bytes,
            before_bytes: Some(self.before.held_bytes),
            peak_bytes: self.record.peak(),
            after_bytes: None,
            series: self.record.series(),
            processes: self.processes.iter().map(process).collect(),
        }
    }
}

fn title(pid: u32) -> Option<String> {
    let process = tree::process(pid)?;
    let title = if process.cmdline.is_empty() { process.comm } else { process.title() };
    Some(title.chars().take(TITLE).collect())
}
