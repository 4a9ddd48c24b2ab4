//! What a hit needs of its process: the ring, the gates, the threads. It lies in memory that a forked child finds empty.
//!
//! So a child that hits before it has a ring of its own writes nothing into its parent's, without anybody's help.

use core::ptr::{null_mut, with_exposed_provenance_mut};
use core::sync::atomic::{AtomicU64, Ordering};

use crate::system;

/// Words of the ring's header; the layout is described in `ring.py`.
const HEAD: usize = 7;
const TAIL: usize = 9;
const TAIL_CHECK: usize = 10;
const ERRORS: usize = 6;
const FORKS: usize = 11;
const FIRST_PROBE: usize = 16;
const WORDS_A_PROBE: usize = 4;
const THREADS: usize = 64;

/// The words of one probe in the header.
#[derive(Clone, Copy)]
pub(crate) enum Count {
    Passes = 0,
    Hits = 1,
    Throttled = 2,
    /// Conditions that could not be evaluated.
    Misjudged = 3,
}

#[derive(Clone, Copy)]
struct Thread {
    number: u64,
    id: u64,
}

/// What one probe has let through: how many hits, and the time at which its bucket is full again.
struct Gate {
    admitted: u64,
    full_at: u64,
}

const SECOND: u64 = 1_000_000_000;

/// The state; all zeroes is "no ring".
#[repr(C)]
pub(crate) struct Live {
    base: *mut u64,
    data: *mut u8,
    bytes: u64,
    mapped: u64,
    probes: u64,
    head: u64,
    tail: u64,
    /// The length of the last record: what does not leave that much room is full.
    last: u64,
    pub(crate) sequence: u64,
    pub(crate) busy: bool,
    gates: *mut Gate,
    threads: [Thread; THREADS],
}

/// Where a ring lies and how large its parts are, in bytes.
pub(crate) struct Shape {
    pub(crate) file: i32,
    pub(crate) head: usize,
    pub(crate) data: usize,
    pub(crate) probes: usize,
}

impl Live {
    /// Makes room for the state of some probes; `None` where a forked child would inherit it.
    pub(crate) fn reserve(probes: usize) -> Option<*mut Self> {
        let gates = probes.checked_mul(size_of::<Gate>())?;
        system::wiped_on_fork(size_of::<Self>().checked_add(gates)?).map(<*mut u8>::cast)
    }

    /// Maps the ring and starts to write to it; false with `errno` set.
    pub(crate) fn open(&mut self, shape: &Shape) -> bool {
        let Some(base) = system::doubled(shape.file, shape.head, shape.data) else { return false };
        self.base = base.cast();
        self.gates = with_exposed_provenance_mut((&raw mut *self).expose_provenance().wrapping_add(size_of::<Self>()));
        self.data = base.wrapping_add(shape.head);
        self.bytes = shape.data as u64;
        self.mapped = (shape.head.wrapping_add(shape.data).wrapping_add(shape.data)) as u64;
        self.probes = shape.probes as u64;
        (self.head, self.tail, self.last, self.sequence, self.busy) = (0, 0, 0, 0, false);
        true
    }

    /// Where the mapping begins and how long it is.
    pub(crate) fn mapping(&self) -> (*mut u8, usize) {
        (self.base.cast(), self.mapped as usize)
    }

    /// Stops writing.
    pub(crate) fn forget(&mut self) {
        self.base = null_mut();
    }

    /// Tells whether there is a ring that knows the probe.
    pub(crate) fn knows(&self, probe: usize) -> bool {
        !self.base.is_null() && (probe as u64) < self.probes
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        // SAFETY: the header is mapped, and the index lies in it: it is a constant or that of a probe that `knows` has checked.
        unsafe { AtomicU64::from_ptr(self.base.add(index)) }
    }

    fn gate(&mut self, probe: usize) -> &mut Gate {
        // SAFETY: `reserve` left room for a gate for each probe behind the state, and `knows` has checked the probe.
        unsafe { &mut *self.gates.add(probe) }
    }

    /// How many hits of a probe were let through.
    pub(crate) fn admitted(&mut self, probe: usize) -> u64 {
        self.gate(probe).admitted
    }

    /// Lets a hit of a probe through.
    pub(crate) fn admit(&mut self, probe: usize) {
        self.gate(probe).admitted += 1;
    }

    /// Adds one to a count of a probe; the only writer is whoever holds the GIL.
    pub(crate) fn add(&self, probe: usize, count: Count) {
        let word = self.word(FIRST_PROBE + probe * WORDS_A_PROBE + count as usize);
        word.store(word.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// Counts a hit that could not be recorded for a reason of the recorder's own.
    pub(crate) fn add_error(&self) {
        let word = self.word(ERRORS);
        word.store(word.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// Tells whether a probe's bucket has a token: one comes every `interval` nanoseconds, and there is room for one second's worth.
    pub(crate) fn has_token(&mut self, probe: usize, interval: u64) -> bool {
        self.gate(probe).full_at.saturating_sub(system::coarse_ns()) <= SECOND.saturating_sub(interval)
    }

    /// Takes a token of a probe's bucket.
    pub(crate) fn take_token(&mut self, probe: usize, interval: u64) {
        let now = system::coarse_ns();
        let gate = self.gate(probe);
        gate.full_at = if gate.full_at > now { gate.full_at } else { now }.wrapping_add(interval);
    }

    /// Counts a fork of this process.
    pub(crate) fn add_fork(&self) {
        if !self.base.is_null() {
            let word = self.word(FORKS);
            word.store(word.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        }
    }

    /// The kernel's number of the running thread, remembered by the interpreter's own, which is never given again.
    pub(crate) fn thread(&mut self, number: u64) -> u64 {
        let Some(known) = self.threads.get_mut((number % THREADS as u64) as usize) else { return 0 };
        // Interpreters number threads from zero, and memory begins as zeroes.
        if known.id == 0 || known.number != number {
            *known = Thread { number, id: system::thread_id() };
        }
        known.id
    }

    /// Where the next record goes and how many bytes are free there; `None` where the ring is full.
    pub(crate) fn room(&mut self) -> Option<(*mut u8, u64)> {
        let wanted = if self.last > 64 { self.last } else { 64 };
        if self.free() < wanted {
            self.read_tail();
        }
        let free = self.free();
        let at = self.data.wrapping_add((self.head & self.bytes.wrapping_sub(1)) as usize);
        (free >= wanted).then_some((at, free))
    }

    fn free(&self) -> u64 {
        self.bytes.wrapping_sub(self.head.wrapping_sub(self.tail))
    }

    /// Believes the reader's word only where its complement agrees and it is neither behind nor ahead.
    fn read_tail(&mut self) {
        let tail = self.word(TAIL).load(Ordering::Acquire);
        let check = self.word(TAIL_CHECK).load(Ordering::Acquire);
        if tail == !check && tail >= self.tail && tail <= self.head {
            self.tail = tail;
        }
    }

    /// The number of bytes ever published, which is also the mark of the record that comes next.
    pub(crate) fn head(&self) -> u64 {
        self.head
    }

    /// Publishes a record of some bytes.
    pub(crate) fn publish(&mut self, bytes: u64) {
        self.head = self.head.wrapping_add(bytes);
        self.last = bytes;
        self.sequence = self.sequence.wrapping_add(1);
        self.word(HEAD).store(self.head, Ordering::Release);
    }

    /// The bytes of the header's field for the process's name.
    pub(crate) fn name_field(&self) -> *mut u8 {
        let words = FIRST_PROBE + self.probes as usize * WORDS_A_PROBE;
        self.base.wrapping_add(words).cast()
    }
}

/// A state's address from what was kept of it.
pub(crate) fn at(address: usize) -> *mut Live {
    with_exposed_provenance_mut(address)
}
