//! Samples of GPUs over time, on a thread of its own: the driver may be slow to answer, and nothing else waits for it.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use bystander_model::samples::{GpuSamples, Mark, PhaseSamples};
use nvml_wrapper::Device;

use super::one::OneGpu;
use super::{Driver, Gpu, Numbering, memory, processes};
use crate::cost::Cost;
use crate::course::Course;
use crate::subject::Subject;

/// Between the first two samples of a trial.
const FIRST_STEP: Duration = Duration::from_millis(50);
/// Between two samples of a young trial, at most.
const STEP: Duration = Duration::from_millis(500);
/// Between two samples of a trial that is older than [`YOUNG`].
const LONG_STEP: Duration = Duration::from_secs(1);
/// Up to this age a trial is young.
const YOUNG: Duration = Duration::from_secs(60);
/// The longest title that is kept, in characters.
pub(crate) const TITLE: usize = 120;

/// How far samples lie apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Close together at first, then farther apart: for trials.
    Slowing,
    /// Always the same.
    Every(Duration),
}

/// One sample of one GPU.
#[derive(Debug, Clone, PartialEq)]
pub struct GpuSample {
    /// Seconds since the start.
    pub at_s: f64,
    /// Its index in the order of the driver.
    pub index: u32,
    /// What is held on it, by whomever, in bytes.
    pub held_bytes: u64,
    /// The processes on it by the driver's numbers, with their bytes; `None` where the driver does not tell.
    pub processes: Vec<(u32, Option<u64>)>,
}

/// Takes each sample; says whether it wants more.
pub type TellGpu = Box<dyn FnMut(GpuSample) -> bool + Send>;

/// What is watched, and how.
pub(crate) struct Wanted {
    pub(crate) subject: Subject,
    /// The start of the time axis.
    pub(crate) started: Instant,
    pub(crate) pace: Pace,
    pub(crate) course: Course,
    /// Whether processes that are not of the subject are recorded too.
    pub(crate) others: bool,
    pub(crate) tell: Option<TellGpu>,
}

/// Watches GPUs until it is dropped.
#[derive(Debug)]
pub(crate) struct GpuWatch {
    shared: Arc<Mutex<Shared>>,
    course: Course,
    /// The thread ends when this is gone. It is not waited for without limit: a driver that hangs keeps it, and nobody else.
    end: Option<Sender<()>>,
    ended: Receiver<()>,
}

#[derive(Debug)]
struct Shared {
    gpus: Vec<OneGpu>,
    cost: Cost,
}

impl GpuWatch {
    /// Starts to watch GPUs that were looked at before.
    pub(crate) fn start(driver: &'static Driver, before: &[Gpu], wanted: Wanted) -> io::Result<Self> {
        let Wanted { subject, started, pace, course, others, mut tell } = wanted;
        let numbering = Numbering::here();
        let gpus = before.iter().map(|gpu| OneGpu::new(gpu, subject, numbering.clone(), others)).collect();
        let shared = Arc::new(Mutex::new(Shared { gpus, cost: Cost::default() }));
        let (end, wait) = channel::<()>();
        let (done, ended) = channel::<()>();
        let uuids: Vec<String> = before.iter().map(|gpu| gpu.uuid.clone()).collect();
        let (of_thread, told) = (Arc::clone(&shared), course.clone());
        thread::Builder::new().name("gpus".to_owned()).spawn(move || {
            let devices: Vec<Option<Device<'static>>> = uuids.iter().map(|uuid| driver.device(uuid)).collect();
            let mut pause = match pace {
                Pace::Slowing => FIRST_STEP,
                Pace::Every(step) => step,
            };
            let mut due = Instant::now();
            loop {
                round(&devices, &of_thread, &told, started, &mut tell);
                due += pause;
                let now = Instant::now();
                // A driver that takes longer than a step is asked again at once, and not for every step that was missed.
                due = due.max(now);
                match wait.recv_timeout(due.saturating_duration_since(now)) {
                    Err(RecvTimeoutError::Timeout) => {}
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
                }
                if pace == Pace::Slowing {
                    pause = (pause * 2).min(if started.elapsed() < YOUNG { STEP } else { LONG_STEP });
                }
            }
            if pace != Pace::Slowing {
                // What is left when all is over.
                round(&devices, &of_thread, &told, started, &mut tell);
            }
            let _nobody_may_wait = done.send(());
        })?;
        Ok(Self { shared, course, end: Some(end), ended })
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the GPUs hold now on top of what they held before, at the last sample; `None` before the first.
    pub(crate) fn held_now(&self) -> Option<u64> {
        self.shared().gpus.iter().filter_map(OneGpu::own_now).reduce(u64::saturating_add)
    }

    /// What was seen so far.
    pub(crate) fn so_far(&self) -> Vec<GpuSamples> {
        let told = self.course.told();
        self.shared().gpus.iter().map(|gpu| gpu.samples(&told)).collect()
    }

    /// The processes here that were on a GPU at the last sample.
    pub(crate) fn pids_here(&self) -> Vec<u32> {
        let mut pids: Vec<u32> = self.shared().gpus.iter().flat_map(OneGpu::pids_here).collect();
        pids.sort_unstable();
        pids.dedup();
        pids
    }

    /// Ends the samples with a last one, and waits for it no longer than so.
    pub(crate) fn end(&mut self, patience: Duration) {
        drop(self.end.take());
        // A driver that hangs is left alone.
        let _ = self.ended.recv_timeout(patience);
    }

    /// What samples have cost.
    pub(crate) fn cost(&self) -> Cost {
        self.shared().cost
    }

    /// Everything that was seen, with what was held in each phase and at each mark.
    pub(crate) fn close(&self, phases: &mut [(usize, PhaseSamples)], marks: &mut [Mark]) -> Vec<GpuSamples> {
        let told = self.course.told();
        let mut shared = self.shared();
        let close = |gpu: &mut OneGpu| {
            gpu.finish(&told, phases, marks);
            gpu.samples(&told)
        };
        shared.gpus.iter_mut().map(close).collect()
    }
}

/// One sample of every GPU.
fn round(devices: &[Option<Device<'static>>], shared: &Mutex<Shared>, course: &Course, started: Instant, tell: &mut Option<TellGpu>) {
    let begun = Instant::now();
    for (at, device) in devices.iter().enumerate() {
        let seen = device.as_ref().and_then(sample);
        let after = started.elapsed();
        let told = course.told();
        let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(gpu) = shared.gpus.get_mut(at) else { continue };
        let Some((held_bytes, processes)) = seen else {
            gpu.silent(after);
            continue;
        };
        gpu.take(after, held_bytes, &processes, &told);
        let sample = GpuSample { at_s: after.as_secs_f64(), index: gpu.index(), held_bytes, processes };
        drop(shared);
        drop(told);
        if tell.as_mut().is_some_and(|tell| !tell(sample)) {
            *tell = None;
        }
    }
    shared.lock().unwrap_or_else(PoisonError::into_inner).cost.add(begun.elapsed());
}

/// What is held on a GPU, and by whom.
type Held = (u64, Vec<(u32, Option<u64>)>);

fn sample(device: &Device<'_>) -> Option<Held> {
    let (_, held) = memory(device).ok()?;
    Some((held, processes(device)))
}
