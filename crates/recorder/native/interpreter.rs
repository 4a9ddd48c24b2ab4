//! What is asked of the running interpreter itself: its frames, modules, threads, exceptions, collector, and objects that it makes.

use core::ffi::{CStr, c_long, c_void};
use core::ptr::null_mut;

use crate::abi::{
    _Py_FalseStruct, _Py_NoneStruct, _Py_TrueStruct, Lookup, Pointer, PyErr_Clear, PyErr_ExceptionMatches, PyErr_GetExcInfo,
    PyErr_Occurred, PyErr_SetFromErrno, PyErr_SetString, PyEval_GetBuiltins, PyEval_GetGlobals, PyEval_GetLocals, PyExc_AttributeError,
    PyExc_BaseException, PyExc_ImportError, PyExc_OSError, PyExc_ValueError, PyException_GetContext, PyGC_Disable, PyGC_Enable,
    PyImport_GetModuleDict, PyLong_FromLong, PyLong_FromSsize_t, PyNumber_Add, PyNumber_FloorDivide, PyNumber_Lshift, PyNumber_Multiply,
    PyNumber_Negative, PyNumber_Positive, PyNumber_Remainder, PyNumber_Subtract, PyNumber_TrueDivide, PyThreadState_Get,
    PyThreadState_GetID, PyTuple_New, PyTuple_SetItem, PyUnicode_InternFromString, dlsym,
};
use crate::python::{Held, Ref, Trouble, kind, known};
use crate::shared::Shared;

/// What is looked up once, when the module is loaded.
struct Known {
    lookup: Option<Lookup>,
    ordered_dict: Pointer,
}

static KNOWN: Shared<Known> = Shared::new(Known { lookup: None, ordered_dict: null_mut() });

/// Finds the two things that are not part of the stable ABI; false where this interpreter has no attribute lookup by type.
pub(crate) fn find_known() -> bool {
    // SAFETY: the names end in zero; a null handle means the default order of search.
    let (lookup, ordered) = unsafe { (dlsym(null_mut(), c"_PyType_Lookup".as_ptr()), dlsym(null_mut(), c"PyODict_Type".as_ptr())) };
    // SAFETY: the function has this signature in every version from 3.10 on.
    let lookup = unsafe { core::mem::transmute::<*mut c_void, Option<Lookup>>(lookup) };
    KNOWN.set(Known { lookup, ordered_dict: ordered.cast() });
    lookup.is_some()
}

/// What a class or one of its bases stores under a name, untouched.
pub(crate) fn lookup(kind: Ref, name: Ref) -> Option<Ref> {
    let lookup = KNOWN.get().lookup?;
    // SAFETY: a type and a string; what comes back is borrowed from the type.
    Ref::new(unsafe { lookup(kind.pointer(), name.pointer()) })
}

/// The type `BaseException`.
pub(crate) fn base_exception() -> Ref {
    // SAFETY: set before any code runs.
    known(unsafe { PyExc_BaseException })
}

/// The exception that is being handled in the running frame or around it.
pub(crate) fn handled() -> Option<Held> {
    let (mut kind, mut value, mut trace) = (null_mut(), null_mut(), null_mut());
    // SAFETY: the addresses are those of locals; what comes back is kept by whoever asked.
    let value = unsafe {
        PyErr_GetExcInfo(&raw mut kind, &raw mut value, &raw mut trace);
        drop((Held::new(kind), Held::new(trace)));
        Held::new(value).ok()
    };
    value.filter(|value| !value.get().is_none())
}

/// The exception during whose handling another was raised.
pub(crate) fn context(error: Ref) -> Option<Held> {
    // SAFETY: an exception, whose field is read.
    Held::new(unsafe { PyException_GetContext(error.pointer()) }).ok()
}

/// Python's `True` or `False`.
pub(crate) fn boolean(flag: bool) -> Held {
    known(if flag { &raw mut _Py_TrueStruct } else { &raw mut _Py_FalseStruct }).held()
}

/// An int of a length.
pub(crate) fn int_of_length(length: usize) -> Result<Held, Trouble> {
    // SAFETY: a number is made.
    Held::new(unsafe { PyLong_FromSsize_t(length.cast_signed()) })
}

/// A tuple of some objects.
pub(crate) fn tuple(items: &[Ref]) -> Result<Held, Trouble> {
    // SAFETY: a tuple of that length is made, and each place gets a reference of its own before anybody sees it.
    unsafe {
        let made = Held::new(PyTuple_New(items.len().cast_signed()))?;
        for (index, item) in (0..).zip(items) {
            PyTuple_SetItem(made.get().pointer(), index, item.held().into_pointer());
        }
        Ok(made)
    }
}

/// Python's `None`.
pub(crate) fn none() -> Ref {
    known(&raw mut _Py_NoneStruct)
}

/// An operation on two exact numbers.
pub(crate) fn arithmetic(operation: u8, a: Ref, b: Ref) -> Result<Held, Trouble> {
    let (a, b) = (a.pointer(), b.pointer());
    // SAFETY: live objects of the interpreter's own types.
    Held::new(unsafe {
        match operation {
            0 => PyNumber_Add(a, b),
            1 => PyNumber_Subtract(a, b),
            2 => PyNumber_Multiply(a, b),
            3 => PyNumber_TrueDivide(a, b),
            4 => PyNumber_FloorDivide(a, b),
            _ => PyNumber_Remainder(a, b),
        }
    })
}

/// The sign of an exact number, changed or kept (a bool becomes an int either way).
pub(crate) fn signed(negative: bool, number: Ref) -> Result<Held, Trouble> {
    // SAFETY: a live object of the interpreter's own types.
    Held::new(unsafe { if negative { PyNumber_Negative(number.pointer()) } else { PyNumber_Positive(number.pointer()) } })
}

/// Two to a power, and its negative.
pub(crate) fn bounds(bits: c_long) -> Result<(Held, Held), Trouble> {
    // SAFETY: a number is made.
    let (one, shift) = unsafe { (Held::new(PyLong_FromLong(1))?, Held::new(PyLong_FromLong(bits))?) };
    // SAFETY: two ints.
    let above = Held::new(unsafe { PyNumber_Lshift(one.get().pointer(), shift.get().pointer()) })?;
    let below = signed(true, above.get())?;
    Ok((above, below))
}

/// Makes a string that lives as long as the interpreter.
pub(crate) fn interned(text: &CStr) -> Result<Held, Trouble> {
    // SAFETY: the text ends in zero.
    Held::new(unsafe { PyUnicode_InternFromString(text.as_ptr()) })
}

/// The globals of the running frame.
pub(crate) fn globals() -> Option<Ref> {
    // SAFETY: called from a frame.
    Ref::new(unsafe { PyEval_GetGlobals() })
}

/// The builtins of the running frame.
pub(crate) fn builtins() -> Option<Ref> {
    // SAFETY: called from a frame.
    Ref::new(unsafe { PyEval_GetBuiltins() })
}

/// The local names of the running frame, which is a module's or a class's: there they are a dict already.
pub(crate) fn locals() -> Option<Ref> {
    // SAFETY: called from a frame.
    let found = Ref::new(unsafe { PyEval_GetLocals() });
    if found.is_none() {
        clear();
    }
    found
}

/// A loaded module by its name.
pub(crate) fn module(name: Ref) -> Option<Ref> {
    // SAFETY: the dict is there while the interpreter is.
    Ref::new(unsafe { PyImport_GetModuleDict() }).filter(|modules| modules.kind() == kind!(PyDict_Type))?.entry(name)
}

/// Tells whether a type is `collections.OrderedDict`.
pub(crate) fn is_ordered_dict(kind: Ref) -> bool {
    kind.pointer() == KNOWN.get().ordered_dict
}

/// The number of the running thread, which no later thread gets again.
pub(crate) fn thread_number() -> u64 {
    // SAFETY: the GIL is held, so there is a state.
    unsafe { PyThreadState_GetID(PyThreadState_Get()) }
}

/// Holds the garbage collector back; tells whether it was on. A collection would run finalizers of the program inside a hit.
pub(crate) fn hold_collector() -> bool {
    // SAFETY: sets a flag.
    unsafe { PyGC_Disable() != 0 }
}

/// Lets the garbage collector work again.
pub(crate) fn free_collector() {
    // SAFETY: sets a flag.
    unsafe { PyGC_Enable() };
}

/// The type of the exception that is set.
pub(crate) fn raised() -> Option<Ref> {
    // SAFETY: the GIL is held.
    Ref::new(unsafe { PyErr_Occurred() })
}

/// Tells whether the exception that is set is an `AttributeError`.
pub(crate) fn raised_attribute_error() -> bool {
    // SAFETY: an exception is set, or none, which matches nothing.
    raised().is_some() && unsafe { PyErr_ExceptionMatches(PyExc_AttributeError) != 0 }
}

/// Forgets the exception that is set.
pub(crate) fn clear() {
    // SAFETY: the GIL is held.
    unsafe { PyErr_Clear() };
}

/// Raises an `ImportError`; only while the module is loaded.
pub(crate) fn refuse_import(text: &CStr) {
    // SAFETY: the text ends in zero.
    unsafe { PyErr_SetString(PyExc_ImportError, text.as_ptr()) };
}

/// Raises a `ValueError`; only while probes are made, never in a hit.
pub(crate) fn refuse(text: &CStr) {
    // SAFETY: the text ends in zero.
    unsafe { PyErr_SetString(PyExc_ValueError, text.as_ptr()) };
}

/// Raises an `OSError` from `errno`; only while a ring is opened, never in a hit.
pub(crate) fn refuse_system() {
    // SAFETY: sets an exception.
    unsafe { PyErr_SetFromErrno(PyExc_OSError) };
}
