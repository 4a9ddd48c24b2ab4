//! The few calls into the C library; none of them is made in a hit, but for the clock, which is no system call.

use core::ffi::{c_int, c_long, c_void};

unsafe extern "C" {
    fn clock_gettime(clock: c_int, time: *mut Time) -> c_int;
    fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
    fn mmap(address: *mut c_void, length: usize, protection: c_int, flags: c_int, file: c_int, offset: i64) -> *mut c_void;
    fn munmap(address: *mut c_void, length: usize) -> c_int;
    fn syscall(number: c_long, ...) -> c_long;
}

#[repr(C)]
struct Time {
    seconds: i64,
    nanoseconds: i64,
}

const REALTIME: c_int = 0;
const MONOTONIC_COARSE: c_int = 6;
const READ_WRITE: c_int = 3;
const SHARED: c_int = 0x01;
const PRIVATE: c_int = 0x02;
const FIXED: c_int = 0x10;
const ANONYMOUS: c_int = 0x20;
const POPULATE: c_int = 0x8000;
const WIPE_ON_FORK: c_int = 18;
#[cfg(target_arch = "x86_64")]
const GETTID: c_long = 186;
#[cfg(not(target_arch = "x86_64"))]
const GETTID: c_long = 178;

fn clock(clock: c_int) -> u64 {
    let mut time = Time { seconds: 0, nanoseconds: 0 };
    // SAFETY: the address is that of a local.
    unsafe { clock_gettime(clock, &raw mut time) };
    time.seconds.cast_unsigned().wrapping_mul(1_000_000_000).wrapping_add(time.nanoseconds.cast_unsigned())
}

/// Wall-clock nanoseconds since the epoch.
pub(crate) fn wall_ns() -> u64 {
    clock(REALTIME)
}

/// Nanoseconds of a clock that never goes back and moves every few milliseconds.
pub(crate) fn coarse_ns() -> u64 {
    clock(MONOTONIC_COARSE)
}

/// The kernel's number of the running thread: a system call, made once a thread.
pub(crate) fn thread_id() -> u64 {
    // SAFETY: takes no argument and cannot fail.
    unsafe { syscall(GETTID).cast_unsigned() as u64 }
}

fn mapped(address: *mut c_void) -> Option<*mut u8> {
    (address as isize != -1).then_some(address.cast())
}

/// Private memory of zeroes that is zeroes again in every forked child; `None` where the kernel does not offer that.
pub(crate) fn wiped_on_fork(length: usize) -> Option<*mut u8> {
    // SAFETY: a new mapping at an address of the kernel's choice, given back where it is of no use.
    unsafe {
        let address = mapped(mmap(core::ptr::null_mut(), length, READ_WRITE, PRIVATE | ANONYMOUS, -1, 0))?;
        if madvise(address.cast(), length, WIPE_ON_FORK) != 0 {
            munmap(address.cast(), length);
            return None;
        }
        Some(address)
    }
}

/// Maps a file whose last `tail` bytes follow themselves, every page of it present; `None` with `errno` set.
pub(crate) fn doubled(file: c_int, head: usize, tail: usize) -> Option<*mut u8> {
    let length = head.wrapping_add(tail);
    let whole = length.wrapping_add(tail);
    // SAFETY: the second mapping goes over memory that the first has just reserved; on failure all is given back.
    unsafe {
        let reserved = mapped(mmap(core::ptr::null_mut(), whole, READ_WRITE, PRIVATE | ANONYMOUS, -1, 0))?;
        let once = mmap(reserved.cast(), length, READ_WRITE, SHARED | FIXED | POPULATE, file, 0);
        let again = reserved.wrapping_add(length).cast();
        let twice = mmap(again, tail, READ_WRITE, SHARED | FIXED | POPULATE, file, head as i64);
        if mapped(once).is_none() || mapped(twice).is_none() {
            munmap(reserved.cast(), whole);
            return None;
        }
        Some(reserved)
    }
}

/// Gives back what [`doubled`] mapped.
///
/// # Safety
/// Nothing reads or writes there any more.
pub(crate) unsafe fn unmap(address: *mut u8, length: usize) {
    // SAFETY: promised by the caller.
    unsafe { munmap(address.cast(), length) };
}
