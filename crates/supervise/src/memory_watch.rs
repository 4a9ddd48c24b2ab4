//! Watching memory over time: of a program that was started for it, of a process that is there, or of all GPUs; with the machine's own.
//!
//! The driver is asked on a thread of its own ([`crate::gpu`]), the machine by whoever calls [`MemoryWatch::take`]. Memory is bounded however long it goes
//! on: of each quantity some hundred points are kept, with its extreme and that of each phase.

mod processes;

use std::time::{Duration, Instant};

use bystander_model::samples::{GpuSamples, Samples};

use crate::cost::Cost;
use crate::course::Course;
use crate::gpu::{self, GpuWatch, Numbering, Pace, TellGpu, Wanted};
use crate::host_watch::{self, HostTracks};
use crate::subject::Subject;
use crate::tree::{self, ProcessInfo};

use processes::Processes;

/// How long the last answer of the driver is waited for.
const PATIENCE: Duration = Duration::from_secs(3);

/// What can be told of GPUs here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GpusHere {
    /// The driver's version; `None` where it does not tell, or is not there.
    pub driver: Option<String>,
    /// Why there is nothing to be told of GPUs, outermost first; empty where there is something.
    pub absent: Vec<String>,
    /// GPUs that did not answer at the start: index, and why.
    pub silent: Vec<(u32, String)>,
    /// GPUs that are divided into slices (MIG): index, and the names of the slices.
    pub sliced: Vec<(u32, Vec<String>)>,
}

/// One sample of the machine and of the processes that are watched.
#[derive(Debug, Clone, PartialEq)]
pub struct HostSample {
    /// Seconds since the start.
    pub at_s: f64,
    /// What the kernel says to be available on the machine, in bytes.
    pub available_bytes: Option<u64>,
    /// The processes, each with its resident memory.
    pub processes: Vec<ProcessInfo>,
}

/// A watch of memory.
#[derive(Debug)]
pub struct MemoryWatch {
    subject: Subject,
    started: Instant,
    course: Course,
    host: HostTracks,
    processes: Processes,
    gpus: Option<GpuWatch>,
    here: GpusHere,
    cost: Cost,
}

impl MemoryWatch {
    /// Looks at the GPUs as they are before anything is started.
    #[must_use]
    pub fn prepare() -> Prepared {
        let mut here = GpusHere::default();
        let mut look = gpu::Look::default();
        match gpu::driver() {
            Ok(driver) => {
                look = driver.look();
                here.driver = driver.version();
                here.sliced = driver.sliced();
                if look.gpus.is_empty() && look.silent.is_empty() {
                    here.absent.push("the driver shows no GPU".to_owned());
                }
            }
            Err(error) => {
                here.absent.push("there is no NVIDIA driver".to_owned());
                here.absent.extend(std::error::Error::source(error).map(ToString::to_string));
            }
        }
        here.silent = look.silent;
        Prepared { before: look.gpus, here }
    }

    /// How processes on GPUs are told to be processes here.
    #[must_use]
    pub fn numbering() -> Numbering {
        Numbering::here()
    }

    /// Seconds since the start.
    #[must_use]
    pub fn elapsed_s(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// What goes on meanwhile: whoever learns of a phase or a moment tells it there.
    #[must_use]
    pub fn course(&self) -> &Course {
        &self.course
    }

    /// What can be told of GPUs here.
    #[must_use]
    pub fn gpus_here(&self) -> &GpusHere {
        &self.here
    }

    /// Takes a sample of the processes and of the machine.
    pub fn take(&mut self) -> HostSample {
        let begun = Instant::now();
        let processes = match (self.subject, &self.gpus) {
            (Subject::Machine, Some(gpus)) => gpus.pids_here().into_iter().filter_map(tree::process).collect(),
            (subject, _) => subject.processes(),
        };
        let after = self.started.elapsed();
        let told = self.course.told();
        let rss_bytes = processes.iter().map(|process| process.rss_bytes).sum();
        let available_bytes = self.host.take(after, rss_bytes, &told);
        self.processes.take(after, &processes, &told);
        drop(told);
        self.cost.add(begun.elapsed());
        HostSample { at_s: after.as_secs_f64(), available_bytes, processes }
    }

    /// What was seen so far, for a screen: without what was held in each phase.
    #[must_use]
    pub fn so_far(&self) -> Samples {
        let gpus: Vec<GpuSamples> = self.gpus.as_ref().map(GpuWatch::so_far).unwrap_or_default();
        let told = self.course.told();
        Samples { processes: self.processes.peaks(&told), gpus, ..self.host.so_far(&told) }
    }

    /// Ends with a last look at the GPUs, and gives everything that was seen, with what looking has cost: the machine, and the driver.
    #[must_use]
    pub fn finish(mut self) -> (Samples, [Cost; 2]) {
        self.gpus.iter_mut().for_each(|gpus| gpus.end(PATIENCE));
        let of_gpus = self.gpus.as_ref().map(GpuWatch::cost).unwrap_or_default();
        let mut samples = host_watch::joined(&self.course, &mut self.host, self.gpus.as_ref());
        samples.processes = self.processes.finish(&self.course.told());
        samples.gpus.iter_mut().for_each(|gpu| gpu.after_bytes = gpu.last_bytes.filter(|_| gpu.silent_from_s.is_none()));
        (samples, [self.cost, of_gpus])
    }
}

/// A watch whose subject is not there yet.
#[derive(Debug)]
pub struct Prepared {
    before: Vec<gpu::Gpu>,
    here: GpusHere,
}

impl Prepared {
    /// What can be told of GPUs here.
    #[must_use]
    pub fn gpus_here(&self) -> &GpusHere {
        &self.here
    }

    /// Starts to sample GPUs, so far apart, on a time axis that begins at `started`; each sample is handed to `tell` as long as it wants more.
    #[must_use]
    pub fn watch(self, subject: Subject, started: Instant, interval: Duration, tell: Option<TellGpu>) -> MemoryWatch {
        let course = Course::default();
        let wanted = Wanted { subject, started, pace: Pace::Every(interval), course: course.clone(), others: true, tell };
        let driver = gpu::driver().ok().filter(|_| !self.before.is_empty());
        let mut here = self.here;
        let gpus = driver.and_then(|driver| match GpuWatch::start(driver, &self.before, wanted) {
            Ok(watch) => Some(watch),
            Err(error) => {
                here.absent.push(format!("the system gives no thread to ask the driver from: {error}"));
                None
            }
        });
        MemoryWatch {
            subject,
            started,
            course,
            host: HostTracks::default(),
            processes: Processes::default(),
            gpus,
            here,
            cost: Cost::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::MemoryWatch;
    use crate::subject::Subject;

    #[test]
    fn the_memory_of_a_process_and_of_the_machine_is_there_with_or_without_a_driver() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("starts");
        // A process that has only just begun may hold nothing yet as far as the kernel counts; one that answers holds something.
        let (mut asked, mut answered) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        asked.write_all(b"?").and_then(|()| answered.read_exact(&mut [0])).expect("it answers");
        let mut watch = MemoryWatch::prepare().watch(Subject::Process(child.id()), Instant::now(), Duration::from_millis(100), None);
        watch.course().phase(0.0, "starting", None);
        let sample = watch.take();
        assert_eq!(sample.processes.iter().map(|process| process.pid).collect::<Vec<_>>(), [child.id()]);
        assert!(sample.available_bytes.is_some());
        let held = sample.processes[0].rss_bytes;
        assert!(held > 0);
        assert_eq!(watch.so_far().processes.len(), 1);
        drop(asked);
        child.wait().expect("ends");
        assert!(watch.take().processes.is_empty());
        let (samples, [host, _]) = watch.finish();
        assert_eq!((samples.peak_rss_bytes, samples.processes[0].peak_rss_bytes), (Some(held), held));
        assert_eq!((samples.phases[0].peak_rss_bytes, samples.phases[0].name.as_str()), (Some(held), "starting"));
        assert_eq!(host.samples, 2);
        assert!(host.worst <= host.total && host.mean() <= host.worst);
    }
}
