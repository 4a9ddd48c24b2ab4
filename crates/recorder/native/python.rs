//! CPython as the recorder sees it: the functions and objects of the stable ABI (3.10) that it uses, behind safe handles.
//!
//! A handle is only made from a pointer that the interpreter gave while the GIL was held, and the recorder never gives the GIL
//! up, so a borrowed object stays alive for the length of a hit: nothing else runs. What is called here enters no Python code.

use core::ffi::{CStr, c_char, c_int, c_long, c_longlong, c_ulong, c_void};
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null_mut};

use crate::shared::Shared;

/// An object's head, which is part of the stable ABI: the count of references and the type.
#[repr(C)]
pub(crate) struct Object {
    count: isize,
    kind: *mut Object,
}

/// The address of an object, as functions of the interpreter take and give it.
pub(crate) type Pointer = *mut Object;

unsafe extern "C" {
    pub(crate) static mut PyBool_Type: Object;
    pub(crate) static mut PyByteArray_Type: Object;
    pub(crate) static mut PyBytes_Type: Object;
    pub(crate) static mut PyComplex_Type: Object;
    pub(crate) static mut PyDict_Type: Object;
    pub(crate) static mut PyFloat_Type: Object;
    pub(crate) static mut PyFrozenSet_Type: Object;
    pub(crate) static mut PyGetSetDescr_Type: Object;
    pub(crate) static mut PyList_Type: Object;
    pub(crate) static mut PyLong_Type: Object;
    pub(crate) static mut PyMemberDescr_Type: Object;
    pub(crate) static mut PyMethodDescr_Type: Object;
    pub(crate) static mut PyModule_Type: Object;
    pub(crate) static mut PyRange_Type: Object;
    pub(crate) static mut PySet_Type: Object;
    pub(crate) static mut PyTuple_Type: Object;
    pub(crate) static mut PyType_Type: Object;
    pub(crate) static mut PyUnicode_Type: Object;
    pub(crate) static mut PyWrapperDescr_Type: Object;
    static mut _Py_FalseStruct: Object;
    static mut _Py_NoneStruct: Object;
    static mut _Py_TrueStruct: Object;
    static PyExc_AttributeError: Pointer;
    static PyExc_BaseException: Pointer;
    static PyExc_ImportError: Pointer;
    static PyExc_OSError: Pointer;
    static PyExc_ValueError: Pointer;

    fn PyByteArray_AsString(object: Pointer) -> *const u8;
    fn PyBytes_AsString(object: Pointer) -> *const u8;
    fn PyDict_GetItemWithError(dict: Pointer, key: Pointer) -> Pointer;
    fn PyDict_Next(dict: Pointer, place: *mut isize, key: *mut Pointer, value: *mut Pointer) -> c_int;
    fn PyErr_Clear();
    fn PyErr_ExceptionMatches(kind: Pointer) -> c_int;
    fn PyErr_GetExcInfo(kind: *mut Pointer, value: *mut Pointer, trace: *mut Pointer);
    fn PyErr_Occurred() -> Pointer;
    fn PyErr_SetFromErrno(kind: Pointer) -> Pointer;
    fn PyErr_SetString(kind: Pointer, text: *const c_char);
    fn PyEval_GetBuiltins() -> Pointer;
    fn PyEval_GetGlobals() -> Pointer;
    fn PyEval_GetLocals() -> Pointer;
    fn PyException_GetContext(error: Pointer) -> Pointer;
    fn PyFloat_AsDouble(object: Pointer) -> f64;
    fn PyGC_Disable() -> c_int;
    fn PyGC_Enable() -> c_int;
    fn PyImport_GetModuleDict() -> Pointer;
    fn PyList_GetItem(list: Pointer, index: isize) -> Pointer;
    fn PyLong_AsLongLongAndOverflow(object: Pointer, overflow: *mut c_int) -> c_longlong;
    fn PyLong_FromSsize_t(value: isize) -> Pointer;
    fn PyLong_FromLong(value: c_long) -> Pointer;
    fn PyModule_GetDict(module: Pointer) -> Pointer;
    fn PyNumber_Add(a: Pointer, b: Pointer) -> Pointer;
    fn PyNumber_FloorDivide(a: Pointer, b: Pointer) -> Pointer;
    fn PyNumber_Lshift(a: Pointer, b: Pointer) -> Pointer;
    fn PyNumber_Multiply(a: Pointer, b: Pointer) -> Pointer;
    fn PyNumber_Negative(a: Pointer) -> Pointer;
    fn PyNumber_Positive(a: Pointer) -> Pointer;
    fn PyNumber_Remainder(a: Pointer, b: Pointer) -> Pointer;
    fn PyNumber_Subtract(a: Pointer, b: Pointer) -> Pointer;
    fn PyNumber_TrueDivide(a: Pointer, b: Pointer) -> Pointer;
    fn PyObject_CallObject(callable: Pointer, arguments: Pointer) -> Pointer;
    fn PyObject_GenericGetAttr(object: Pointer, name: Pointer) -> Pointer;
    fn PyObject_GetItem(object: Pointer, key: Pointer) -> Pointer;
    fn PyObject_IsTrue(object: Pointer) -> c_int;
    fn PyObject_RichCompareBool(a: Pointer, b: Pointer, operation: c_int) -> c_int;
    fn PyObject_RichCompare(a: Pointer, b: Pointer, operation: c_int) -> Pointer;
    fn PyObject_Str(object: Pointer) -> Pointer;
    fn PyObject_Size(object: Pointer) -> isize;
    fn PyThreadState_Get() -> *mut c_void;
    fn PyThreadState_GetID(state: *mut c_void) -> u64;
    fn PyTuple_GetItem(tuple: Pointer, index: isize) -> Pointer;
    fn PyTuple_New(length: isize) -> Pointer;
    fn PyTuple_SetItem(tuple: Pointer, index: isize, item: Pointer) -> c_int;
    fn PyTuple_Size(tuple: Pointer) -> isize;
    fn PyType_GetFlags(kind: Pointer) -> c_ulong;
    fn PyType_GetSlot(kind: Pointer, slot: c_int) -> *mut c_void;
    fn PyType_IsSubtype(kind: Pointer, base: Pointer) -> c_int;
    fn PyUnicode_AsUCS4(text: Pointer, buffer: *mut u32, length: isize, ends: c_int) -> *mut u32;
    fn PyUnicode_GetLength(text: Pointer) -> isize;
    fn PyUnicode_InternFromString(text: *const c_char) -> Pointer;
    fn PyUnicode_ReadChar(text: Pointer, index: isize) -> u32;
    fn Py_DecRef(object: Pointer);
    fn Py_IncRef(object: Pointer);
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// Slots by their numbers in `typeslots.h`, which never change.
const TP_DESCR_GET: c_int = 54;
const TP_REPR: c_int = 66;
const INT_SUBCLASS: c_ulong = 1 << 24;
const STR_SUBCLASS: c_ulong = 1 << 28;
const EXCEPTION_SUBCLASS: c_ulong = 1 << 30;

type Unary = unsafe extern "C" fn(Pointer) -> Pointer;
type Getter = unsafe extern "C" fn(Pointer, Pointer, Pointer) -> Pointer;
type Lookup = unsafe extern "C" fn(Pointer, Pointer) -> Pointer;

/// A live object that somebody else keeps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ref(NonNull<Object>);

/// A live object that is kept until this is dropped.
pub(crate) struct Held(Ref);

/// What an expression met instead of a value: a word of the recorder's, or the exception that is set in the interpreter.
#[derive(Clone, Copy)]
pub(crate) enum Trouble {
    Word(&'static str),
    Raised,
}

/// What is looked up once, when the module is loaded.
struct Known {
    lookup: Option<Lookup>,
    ordered_dict: Pointer,
}

static KNOWN: Shared<Known> = Shared::new(Known { lookup: None, ordered_dict: null_mut() });

/// The type object behind one of the interpreter's own types.
macro_rules! kind {
    ($symbol:ident) => {
        // Taking the address of the interpreter's static object reads nothing.
        $crate::python::known(&raw mut $crate::python::$symbol)
    };
}
pub(crate) use kind;

/// A handle on an object of the interpreter itself, which is never gone.
pub(crate) fn known(object: Pointer) -> Ref {
    // SAFETY: the address of a static is never null.
    Ref(unsafe { NonNull::new_unchecked(object) })
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

/// Finds the two things that are not part of the stable ABI; false where this interpreter has no attribute lookup by type.
pub(crate) fn find_known() -> bool {
    // SAFETY: the names end in zero; a null handle means the default order of search.
    let (lookup, ordered) = unsafe { (dlsym(null_mut(), c"_PyType_Lookup".as_ptr()), dlsym(null_mut(), c"PyODict_Type".as_ptr())) };
    // SAFETY: the function has this signature in every version from 3.10 on.
    let lookup = unsafe { core::mem::transmute::<*mut c_void, Option<Lookup>>(lookup) };
    KNOWN.set(Known { lookup, ordered_dict: ordered.cast() });
    lookup.is_some()
}

impl Ref {
    /// A handle on what a function of the interpreter gave; `None` for null.
    pub(crate) fn new(object: Pointer) -> Option<Self> {
        NonNull::new(object).map(Ref)
    }

    pub(crate) fn pointer(self) -> Pointer {
        self.0.as_ptr()
    }

    /// The exact type.
    pub(crate) fn kind(self) -> Ref {
        // SAFETY: a live object has a type.
        known(unsafe { (*self.0.as_ptr()).kind })
    }

    pub(crate) fn is_none(self) -> bool {
        self.0.as_ptr() == &raw mut _Py_NoneStruct
    }

    /// The value of an exact bool.
    pub(crate) fn as_bool(self) -> Option<bool> {
        let (yes, no) = (&raw mut _Py_TrueStruct, &raw mut _Py_FalseStruct);
        if self.0.as_ptr() == yes { Some(true) } else { (self.0.as_ptr() == no).then_some(false) }
    }

    /// The value of an int that fits 64 bits; the object must be an int.
    pub(crate) fn as_i64(self) -> Option<i64> {
        let mut overflow = 0;
        // SAFETY: a live int.
        let value = unsafe { PyLong_AsLongLongAndOverflow(self.pointer(), &raw mut overflow) };
        (overflow == 0).then_some(value)
    }

    /// The value of an exact int that fits 64 bits.
    pub(crate) fn exact_i64(self) -> Option<i64> {
        if self.kind() == kind!(PyLong_Type) { self.as_i64() } else { None }
    }

    /// What `str` gives; the object's type must make it in C.
    pub(crate) fn text(self) -> Result<Held, Trouble> {
        // SAFETY: a live object.
        Held::new(unsafe { PyObject_Str(self.pointer()) })
    }

    /// The value of a float; the object must be one.
    pub(crate) fn as_f64(self) -> f64 {
        // SAFETY: a live float.
        unsafe { PyFloat_AsDouble(self.pointer()) }
    }

    pub(crate) fn is_subtype(self, base: Ref) -> bool {
        // SAFETY: both are types.
        unsafe { PyType_IsSubtype(self.pointer(), base.pointer()) != 0 }
    }

    pub(crate) fn is_int_type(self) -> bool {
        // SAFETY: a type.
        unsafe { PyType_GetFlags(self.pointer()) & INT_SUBCLASS != 0 }
    }

    pub(crate) fn is_exception_type(self) -> bool {
        // SAFETY: a type.
        unsafe { PyType_GetFlags(self.pointer()) & EXCEPTION_SUBCLASS != 0 }
    }

    pub(crate) fn is_str_type(self) -> bool {
        // SAFETY: a type.
        unsafe { PyType_GetFlags(self.pointer()) & STR_SUBCLASS != 0 }
    }

    /// What a class or one of its bases stores under a name, untouched; the object must be a type.
    pub(crate) fn stored(self, name: Ref) -> Option<Ref> {
        let lookup = KNOWN.get().lookup?;
        // SAFETY: a type and a string; what comes back is borrowed from the type.
        Ref::new(unsafe { lookup(self.pointer(), name.pointer()) })
    }

    /// What `object.__getattribute__` finds.
    pub(crate) fn raw_attribute(self, name: Ref) -> Result<Held, Trouble> {
        // SAFETY: a live object and a string.
        Held::new(unsafe { PyObject_GenericGetAttr(self.pointer(), name.pointer()) })
    }

    /// Calls the getter of a descriptor that C code made (`kind` is its type) for an owner.
    pub(crate) fn described(self, kind: Ref, owner: Ref) -> Result<Held, Trouble> {
        // SAFETY: the type is one of the interpreter's, whose slot is such a function or null.
        let getter = unsafe { core::mem::transmute::<*mut c_void, Option<Getter>>(PyType_GetSlot(kind.pointer(), TP_DESCR_GET)) };
        // SAFETY: the descriptor and its owner are alive, and a getter takes a missing type as null.
        getter.map_or(Err(Trouble::Word("DescriptorNotRead")), |get| Held::new(unsafe { get(self.pointer(), owner.pointer(), null_mut()) }))
    }

    /// The text that a built-in type gives of a value of it or of a subclass, whatever the subclass says.
    pub(crate) fn shown_by(self, kind: Ref) -> Result<Held, Trouble> {
        // SAFETY: the type is one of the interpreter's and has this slot.
        let show = unsafe { core::mem::transmute::<*mut c_void, Option<Unary>>(PyType_GetSlot(kind.pointer(), TP_REPR)) };
        // SAFETY: the value is of the type.
        show.map_or(Err(Trouble::Word("NotShown")), |show| Held::new(unsafe { show(self.pointer()) }))
    }

    /// What a dict holds under a key whose type is the interpreter's own.
    pub(crate) fn entry(self, key: Ref) -> Option<Ref> {
        // SAFETY: a dict or a subclass, whose storage is read directly.
        let found = Ref::new(unsafe { PyDict_GetItemWithError(self.pointer(), key.pointer()) });
        if found.is_none() {
            clear();
        }
        found
    }

    /// The next entry of a dict that nobody changes meanwhile; `place` begins with zero.
    pub(crate) fn next_entry(self, place: &mut isize) -> Option<(Ref, Ref)> {
        let (mut key, mut value) = (null_mut(), null_mut());
        // SAFETY: a dict; the addresses are those of locals.
        let more = unsafe { PyDict_Next(self.pointer(), place, &raw mut key, &raw mut value) };
        if more == 0 { None } else { Some((Ref::new(key)?, Ref::new(value)?)) }
    }

    /// The number of items of a tuple or a subclass.
    pub(crate) fn tuple_size(self) -> usize {
        // SAFETY: a tuple.
        unsafe { PyTuple_Size(self.pointer()) }.cast_unsigned()
    }

    /// An item of a tuple; `None` beyond its end.
    pub(crate) fn tuple_item(self, index: usize) -> Option<Ref> {
        if index < self.tuple_size() { self.tuple_item_within(index) } else { None }
    }

    /// An item of a tuple that is known to have it.
    pub(crate) fn tuple_item_within(self, index: usize) -> Option<Ref> {
        // SAFETY: a tuple; an index beyond its end gives null.
        Ref::new(unsafe { PyTuple_GetItem(self.pointer(), index.cast_signed()) })
    }

    /// An item of a list that is known to have it.
    pub(crate) fn list_item_within(self, index: usize) -> Option<Ref> {
        // SAFETY: a list; an index beyond its end gives null.
        Ref::new(unsafe { PyList_GetItem(self.pointer(), index.cast_signed()) })
    }

    /// The length of an object whose type is one of the interpreter's; zero where it has none.
    pub(crate) fn size(self) -> usize {
        self.length().unwrap_or_default()
    }

    /// The length of an object whose type is one of the interpreter's.
    pub(crate) fn length(self) -> Result<usize, Trouble> {
        // SAFETY: a live object.
        usize::try_from(unsafe { PyObject_Size(self.pointer()) }).or(Err(Trouble::Raised))
    }

    /// The first bytes of an exact bytes or bytearray.
    pub(crate) fn first_bytes(self, most: usize) -> &'static [u8] {
        let is_bytes = self.kind() == kind!(PyBytes_Type);
        // SAFETY: one of the two types; the bytes are there for the length of a hit, and nobody writes meanwhile.
        unsafe {
            let start = if is_bytes { PyBytes_AsString(self.pointer()) } else { PyByteArray_AsString(self.pointer()) };
            core::slice::from_raw_parts(start, if self.size() < most { self.size() } else { most })
        }
    }

    /// The number of code points of a str or a subclass.
    pub(crate) fn characters(self) -> usize {
        // SAFETY: a str or a subclass.
        usize::try_from(unsafe { PyUnicode_GetLength(self.pointer()) }).unwrap_or_default()
    }

    /// Copies all code points into a buffer that is exactly large enough; `None` where they could not be copied.
    pub(crate) fn copy_characters(self, buffer: &mut [MaybeUninit<u32>]) -> Option<&[u32]> {
        // SAFETY: a str or a subclass; the length is that of the buffer.
        let copied = unsafe { PyUnicode_AsUCS4(self.pointer(), buffer.as_mut_ptr().cast(), buffer.len().cast_signed(), 0) };
        if copied.is_null() {
            clear();
            return None;
        }
        // SAFETY: a str has as many code points as the buffer, and all were written.
        Some(unsafe { core::slice::from_raw_parts(copied, buffer.len()) })
    }

    /// One code point; the index must be within.
    pub(crate) fn character(self, index: usize) -> u32 {
        // SAFETY: a str or a subclass; an index beyond the end is refused by the function.
        unsafe { PyUnicode_ReadChar(self.pointer(), index.cast_signed()) }
    }

    /// Whether an exact scalar counts as true.
    pub(crate) fn is_true(self) -> bool {
        // SAFETY: a live object.
        unsafe { PyObject_IsTrue(self.pointer()) == 1 }
    }

    /// What `self[key]` gives for an exact built-in container.
    pub(crate) fn item(self, key: Ref) -> Result<Held, Trouble> {
        // SAFETY: live objects.
        Held::new(unsafe { PyObject_GetItem(self.pointer(), key.pointer()) })
    }

    /// Compares two exact scalars; operations are numbered as `Py_LT` and so on.
    pub(crate) fn compared(self, other: Ref, operation: u8) -> Result<bool, Trouble> {
        // SAFETY: live objects of the interpreter's own types.
        let answer = Held::new(unsafe { PyObject_RichCompare(self.pointer(), other.pointer(), operation.into()) })?;
        Ok(answer.get().is_true())
    }

    /// Tells whether an int is at least another.
    pub(crate) fn reaches(self, other: Ref) -> bool {
        const AT_LEAST: c_int = 5;
        // SAFETY: two ints.
        unsafe { PyObject_RichCompareBool(self.pointer(), other.pointer(), AT_LEAST) == 1 }
    }

    /// Calls a type or function that C code made, without arguments or with a tuple of them.
    pub(crate) fn called(self, arguments: Option<Ref>) -> Result<Held, Trouble> {
        // SAFETY: a callable; null stands for no arguments.
        Held::new(unsafe { PyObject_CallObject(self.pointer(), arguments.map_or(null_mut(), Ref::pointer)) })
    }

    /// The names of a module; `None` where the object is no module.
    pub(crate) fn module_names(self) -> Option<Ref> {
        if !self.kind().is_subtype(kind!(PyModule_Type)) {
            return None;
        }
        // SAFETY: a module or a subclass.
        Ref::new(unsafe { PyModule_GetDict(self.pointer()) })
    }

    /// Keeps the object.
    pub(crate) fn held(self) -> Held {
        // SAFETY: a live object.
        unsafe { Py_IncRef(self.pointer()) };
        Held(self)
    }
}

impl Held {
    /// Takes what a function of the interpreter gave to keep; null means that it raised.
    pub(crate) fn new(object: Pointer) -> Result<Self, Trouble> {
        Ref::new(object).map(Held).ok_or(Trouble::Raised)
    }

    pub(crate) fn get(&self) -> Ref {
        self.0
    }

    /// Gives the reference away.
    pub(crate) fn into_pointer(self) -> Pointer {
        let pointer = self.0.pointer();
        core::mem::forget(self);
        pointer
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: the reference is ours to give up.
        unsafe { Py_DecRef(self.0.pointer()) }
    }
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
