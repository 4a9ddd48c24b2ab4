//! State of the whole process that the GIL guards.

use core::cell::UnsafeCell;

/// A value that is only touched while the GIL is held.
pub(crate) struct Shared<T>(UnsafeCell<T>);

// SAFETY: the GIL lets one thread at a time in here.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// Reads; what is returned is not kept over a `set`.
    pub(crate) fn get(&self) -> &T {
        // SAFETY: the GIL is held, and `set` is only called while the module is loaded or a ring opened.
        unsafe { &*self.0.get() }
    }

    /// The address, for tables that the interpreter writes to.
    pub(crate) fn address(&self) -> *mut T {
        self.0.get()
    }

    /// Replaces the value.
    pub(crate) fn set(&self, value: T) {
        // SAFETY: the GIL is held, and no reference from `get` is kept.
        unsafe { *self.0.get() = value }
    }
}
