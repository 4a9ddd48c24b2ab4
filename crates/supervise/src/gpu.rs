//! The NVIDIA GPUs of this machine: their memory, and who holds it.
//!
//! NVML is the driver's own library. It is loaded at run time, once in a process, and where it is not there is no GPU that could be spoken of. Its
//! numbers of processes are those of the machine: `pids` says what they mean here. Units: bytes.

mod choose;
mod one;
mod pids;
mod series;
mod watch;

use std::sync::OnceLock;

use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};

use crate::tree::ProcessInfo;

pub use choose::{ChooseError, named, visible};
pub use pids::Numbering;
pub(crate) use series::{Keep, Recorder};
pub use watch::{GpuSample, TellGpu};
pub(crate) use watch::{GpuWatch, Pace, TITLE, Wanted};

/// More GPUs than any machine has; a driver that says otherwise is not believed.
const MOST: u32 = 1024;
/// `NVML_DEVICE_MIG_ENABLE`.
const MIG_IS_ON: u32 = 1;

/// Why nothing can be told of GPUs.
#[derive(Debug, thiserror::Error)]
#[error("find an NVIDIA driver")]
pub struct NoDriver(#[source] NvmlError);

/// The driver of this machine's GPUs.
#[derive(Debug)]
pub struct Driver {
    nvml: Nvml,
    /// What the first look found.
    first: OnceLock<Look>,
}

/// One GPU at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpu {
    /// Its index in the order of the driver.
    pub index: u32,
    /// Its UUID.
    pub uuid: String,
    /// Its name.
    pub name: String,
    /// Its memory in all.
    pub total_bytes: u64,
    /// What is held of it, by whomever; what the driver keeps for itself is not counted.
    pub held_bytes: u64,
    /// The processes on it, those that hold most first.
    pub holders: Vec<GpuHolder>,
}

/// A process on a GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuHolder {
    /// Its number on the machine, which in a container is none of the numbers there.
    pub host_pid: u32,
    /// What it holds; `None` where the driver does not tell.
    pub bytes: Option<u64>,
    /// The process, where it is visible here.
    pub process: Option<ProcessInfo>,
}

/// What a look at the GPUs found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Look {
    /// The GPUs, by index.
    pub gpus: Vec<Gpu>,
    /// GPUs that did not answer: index, and why.
    pub silent: Vec<(u32, String)>,
}

/// The driver of this machine's GPUs, loaded by the first who asks.
///
/// # Errors
/// Where there is none, or it does not start.
pub fn driver() -> Result<&'static Driver, &'static NoDriver> {
    static DRIVER: OnceLock<Result<Driver, NoDriver>> = OnceLock::new();
    DRIVER.get_or_init(|| Nvml::init().map(|nvml| Driver { nvml, first: OnceLock::new() }).map_err(NoDriver)).as_ref()
}

impl Driver {
    /// The version of the driver, where it tells.
    #[must_use]
    pub fn version(&self) -> Option<String> {
        self.nvml.sys_driver_version().ok()
    }

    /// Looks at every GPU.
    #[must_use]
    pub fn look(&self) -> Look {
        let mut look = Look::default();
        let count = self.nvml.device_count().unwrap_or(0).min(MOST);
        for index in 0..count {
            match self.nvml.device_by_index(index).and_then(|device| gpu(&device, index)) {
                Ok(gpu) => look.gpus.push(gpu),
                Err(error) => look.silent.push((index, error.to_string())),
            }
        }
        look
    }

    /// The GPUs as the first look found them: for their indices, names and UUIDs, which stay.
    #[must_use]
    pub fn known(&self) -> &[Gpu] {
        &self.first.get_or_init(|| self.look()).gpus
    }

    /// Looks again at GPUs that were seen before, by their UUIDs; one that does not answer is left out.
    #[must_use]
    pub fn look_at(&self, uuids: &[String]) -> Vec<Gpu> {
        let again = |uuid: &String| {
            let device = self.nvml.device_by_uuid(uuid.as_str()).ok()?;
            gpu(&device, device.index().ok()?).ok()
        };
        uuids.iter().filter_map(again).collect()
    }

    /// The GPUs that are divided into slices (MIG), by index, with the names of their slices as far as they are told.
    #[must_use]
    pub fn sliced(&self) -> Vec<(u32, Vec<String>)> {
        let count = self.nvml.device_count().unwrap_or(0).min(MOST);
        let slices = |index: u32| {
            let device = self.nvml.device_by_index(index).ok()?;
            if device.mig_mode().ok()?.current != MIG_IS_ON {
                return None;
            }
            let most = device.mig_device_count().unwrap_or(0).min(MOST);
            let names = (0..most).filter_map(|slice| device.mig_device_by_index(slice).and_then(|slice| slice.name()).ok());
            Some((index, names.collect()))
        };
        (0..count).filter_map(slices).collect()
    }

    /// The UUID of the GPU that a slice of one (MIG) lies on.
    fn parent_of(&self, slice: &str) -> Option<String> {
        self.nvml.device_by_uuid(slice).and_then(|slice| slice.mig_parent_device()?.uuid()).ok()
    }

    fn device(&'static self, uuid: &str) -> Option<Device<'static>> {
        self.nvml.device_by_uuid(uuid).ok()
    }
}

fn gpu(device: &Device<'_>, index: u32) -> Result<Gpu, NvmlError> {
    let (total_bytes, held_bytes) = memory(device)?;
    let holders =
        processes(device).into_iter().map(|(host_pid, bytes)| GpuHolder { host_pid, bytes, process: pids::here(host_pid) }).collect();
    Ok(Gpu { index, uuid: device.uuid()?, name: device.name()?, total_bytes, held_bytes, holders })
}

/// The memory of a GPU in all, and what is held of it.
///
/// Whether `used` counts what the driver reserves has changed between versions of NVML's answer; what is neither free nor reserved means the same in all.
fn memory(device: &Device<'_>) -> Result<(u64, u64), NvmlError> {
    let memory = device.memory_info()?;
    Ok((memory.total, memory.total.saturating_sub(memory.free).saturating_sub(memory.reserved)))
}

/// The processes on a GPU with their memory, each once, those that hold most first.
///
/// A kind of process that a driver does not list leaves the others: absence here is no evidence.
fn processes(device: &Device<'_>) -> Vec<(u32, Option<u64>)> {
    let lists = [device.running_compute_processes(), device.running_graphics_processes(), device.mps_running_compute_processes()];
    let mut found: Vec<(u32, Option<u64>)> = Vec::new();
    for process in lists.into_iter().flat_map(Result::unwrap_or_default) {
        let bytes = match process.used_gpu_memory {
            UsedGpuMemory::Used(bytes) => Some(bytes),
            UsedGpuMemory::Unavailable => None,
        };
        match found.iter_mut().find(|(pid, _)| *pid == process.pid) {
            // One that computes and draws is in two lists, with the same memory.
            Some((_, known)) => *known = (*known).max(bytes),
            None => found.push((process.pid, bytes)),
        }
    }
    found.sort_by_key(|(pid, bytes)| (std::cmp::Reverse(*bytes), *pid));
    found
}
