//! Making the namespace, between fork and exec: system calls and nothing else; no allocation, no lock.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags, chmodat, chownat, mkdirat, open, statvfs};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change, mount_remount};
use rustix::process::{Gid, Uid};
use rustix::thread::{CapabilitySet, UnshareFlags, capabilities, remove_capability_from_bounding_set, unshare_unsafe};

use super::Step;
use super::layout::{BindCalls, LayerCalls, Layout};

/// The length of a report on the pipe.
const REPORT_BYTES: usize = 12;
/// The flags of a mount that a later mount in a user namespace may not drop.
const KEPT: MountFlags =
    MountFlags::NOSUID.union(MountFlags::NODEV).union(MountFlags::NOEXEC).union(MountFlags::NOATIME).union(MountFlags::NODIRATIME);
/// Flags whose bits in what `statvfs` tells are not those of `mount`.
const TOLD: [(u64, MountFlags); 2] = [(0x1000, MountFlags::RELATIME), (0x2000, MountFlags::NOSYMFOLLOW)];

/// A step that failed: which, about which layer or bind, and the error number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) step: Step,
    pub(crate) index: usize,
    pub(crate) errno: i32,
}

/// Every step, in the order of its number on the pipe.
const STEPS: [Step; 11] = [
    Step::UnshareMounts,
    Step::UnshareUser,
    Step::MapIds,
    Step::Propagation,
    Step::Scratch,
    Step::ScratchFolders,
    Step::Overlay,
    Step::Bind,
    Step::ReadOnly,
    Step::Directory,
    Step::Drop,
];

impl Report {
    fn new(step: Step, index: usize, error: Errno) -> Self {
        Self { step, index, errno: error.raw_os_error() }
    }

    /// Writes the report to a pipe; a child between fork and exec has no other voice.
    pub(super) fn tell(self, pipe: impl AsFd) {
        let step = STEPS.iter().position(|step| *step == self.step).unwrap_or_default();
        let mut bytes = [0; REPORT_BYTES];
        bytes[..4].copy_from_slice(&u32::try_from(step).unwrap_or(0).to_le_bytes());
        bytes[4..8].copy_from_slice(&u32::try_from(self.index).unwrap_or(u32::MAX).to_le_bytes());
        bytes[8..].copy_from_slice(&self.errno.to_le_bytes());
        // A short message into an empty pipe is never cut; where nobody reads, nobody misses it.
        let _ = rustix::io::write(pipe, &bytes);
    }

    /// Reads the report of a child that could not start; `None` where it failed in another way.
    pub(crate) fn read(pipe: impl AsFd) -> Option<Self> {
        let mut bytes = [0; REPORT_BYTES];
        let read = rustix::io::read(pipe, &mut bytes).ok()?;
        let word = |at: usize| bytes.get(at..at + 4).and_then(|word| word.try_into().ok());
        let (step, index, errno) = (u32::from_le_bytes(word(0)?), u32::from_le_bytes(word(4)?), i32::from_le_bytes(word(8)?));
        let step = *STEPS.get(usize::try_from(step).ok()?)?;
        (read == REPORT_BYTES).then_some(Self { step, index: usize::try_from(index).ok()?, errno })
    }
}

impl Layout {
    /// Puts this process into the namespace, or tells the pipe which step refused.
    ///
    /// To be called by a process that has one thread, between fork and exec.
    pub(crate) fn enter(&self, pipe: &OwnedFd) -> io::Result<()> {
        self.make().map_err(|report| {
            report.tell(pipe);
            io::Error::from_raw_os_error(report.errno)
        })
    }

    fn make(&self) -> Result<(), Report> {
        let before = capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.permitted);
        let is_user = isolate(&self.uid_map, &self.gid_map)?;
        if let Some(scratch) = &self.scratch {
            scratch_memory(scratch)?;
        }
        for (index, layer) in self.layers.iter().enumerate() {
            layer.mount(index, is_user)?;
        }
        for (index, bind) in self.binds.iter().enumerate() {
            bind.mount(index)?;
        }
        // The folder of before lies below what was mounted over it.
        rustix::process::chdir(self.cwd.as_c_str()).map_err(|error| Report::new(Step::Directory, 0, error))?;
        if is_user {
            drop_rights(before)?;
        }
        Ok(())
    }
}

/// A mount namespace of this process's own; `true` where it took a user namespace to get it.
pub(super) fn isolate(uid_map: &CStr, gid_map: &CStr) -> Result<bool, Report> {
    // SAFETY: the process has one thread and shares nothing but its own mounts and ids, which the flags name.
    let as_root = unsafe { unshare_unsafe(UnshareFlags::NEWNS) };
    let is_user = match as_root {
        Ok(()) => false,
        Err(Errno::PERM) => {
            // SAFETY: as above.
            let unshared = unsafe { unshare_unsafe(UnshareFlags::NEWUSER | UnshareFlags::NEWNS) };
            unshared.map_err(|error| Report::new(Step::UnshareUser, 0, error))?;
            map_ids(uid_map, gid_map).map_err(|error| Report::new(Step::MapIds, 0, error))?;
            true
        }
        Err(error) => return Err(Report::new(Step::UnshareMounts, 0, error)),
    };
    // What is mounted outside later is still seen inside; nothing goes the other way.
    let one_way = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    mount_change(c"/", one_way).map_err(|error| Report::new(Step::Propagation, 0, error))?;
    Ok(is_user)
}

/// Keeps the numbers of user and group what they are outside.
fn map_ids(uid_map: &CStr, gid_map: &CStr) -> Result<(), Errno> {
    // Kernels before 3.19 have no such file, and then it need not be written.
    match put(c"/proc/self/setgroups", b"deny") {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(error),
    }
    put(c"/proc/self/uid_map", uid_map.to_bytes())?;
    put(c"/proc/self/gid_map", gid_map.to_bytes())
}

fn put(path: &CStr, bytes: &[u8]) -> Result<(), Errno> {
    let file = open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, bytes).map(drop)
}

pub(super) fn scratch_memory(scratch: &CStr) -> Result<(), Report> {
    mount(c"bystander", scratch, c"tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"mode=0755")
        .map_err(|error| Report::new(Step::Scratch, 0, error))
}

pub(super) fn folder(path: &CStr) -> Result<(), Report> {
    mkdirat(CWD, path, Mode::RWXU).map_err(|error| Report::new(Step::ScratchFolders, 0, error))
}

impl LayerCalls {
    pub(super) fn mount(&self, index: usize, is_user: bool) -> Result<(), Report> {
        self.folders().map_err(|error| Report::new(Step::ScratchFolders, 0, error))?;
        let mut refused = Errno::INVAL;
        for options in self.options.iter().skip(usize::from(is_user)) {
            match mount(c"overlay", self.target.as_c_str(), c"overlay", MountFlags::empty(), options.as_c_str()) {
                Ok(()) => return Ok(()),
                Err(error) => refused = error,
            }
        }
        Err(Report::new(Step::Overlay, index, refused))
    }

    fn folders(&self) -> Result<(), Errno> {
        for folder in [&self.upper, &self.work] {
            mkdirat(CWD, folder.as_c_str(), Mode::RWXU)?;
        }
        chmodat(CWD, self.upper.as_c_str(), Mode::from_raw_mode(self.mode), rustix::fs::AtFlags::empty())?;
        let (uid, gid) = self.owner;
        // Ids that are not mapped here cannot be given; the folder then is the user's own.
        let _ = chownat(CWD, self.upper.as_c_str(), Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)), rustix::fs::AtFlags::empty());
        Ok(())
    }
}

impl BindCalls {
    fn mount(&self, index: usize) -> Result<(), Report> {
        let target = self.target.as_c_str();
        mount_bind(self.source.as_c_str(), target).map_err(|error| Report::new(Step::Bind, index, error))?;
        if self.writable {
            return Ok(());
        }
        let read_only = |error| Report::new(Step::ReadOnly, index, error);
        let told = statvfs(target).map_err(read_only)?.f_flag.bits();
        let mut flags = MountFlags::from_bits_retain(u32::try_from(told & 0xffff).unwrap_or(0)) & KEPT;
        for (bit, flag) in TOLD {
            flags |= if told & bit == 0 { MountFlags::empty() } else { flag };
        }
        mount_remount(target, flags | MountFlags::BIND | MountFlags::RDONLY, c"").map_err(read_only)
    }
}

/// Takes from the bounding set what was not permitted before, so that the program can do no more than it could without this.
fn drop_rights(before: CapabilitySet) -> Result<(), Report> {
    for bit in 0..64 {
        let one = CapabilitySet::from_bits_retain(1 << bit);
        if before.contains(one) {
            continue;
        }
        match remove_capability_from_bounding_set(one) {
            Ok(()) => {}
            // There are no more.
            Err(Errno::INVAL) => break,
            Err(error) => return Err(Report::new(Step::Drop, 0, error)),
        }
    }
    Ok(())
}
