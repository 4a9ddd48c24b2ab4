//! Objects of CPython behind safe handles.
//!
//! A handle is only made from a pointer that the interpreter gave while the GIL was held, and the recorder never gives the GIL
//! up, so a borrowed object stays alive for the length of a hit: nothing else runs. What is called here enters no Python code.

use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null_mut};

use crate::abi::{
    _Py_FalseStruct, _Py_NoneStruct, _Py_TrueStruct, EXCEPTION_SUBCLASS, Getter, INT_SUBCLASS, Object, Pointer, Py_DecRef, Py_IncRef,
    PyByteArray_AsString, PyBytes_AsString, PyDict_GetItemWithError, PyDict_Next, PyFloat_AsDouble, PyList_GetItem,
    PyLong_AsLongLongAndOverflow, PyModule_GetDict, PyObject_CallObject, PyObject_GenericGetAttr, PyObject_GetItem, PyObject_IsTrue,
    PyObject_RichCompare, PyObject_RichCompareBool, PyObject_Size, PyObject_Str, PyTuple_GetItem, PyTuple_Size, PyType_GetFlags,
    PyType_GetSlot, PyType_IsSubtype, PyUnicode_AsUCS4, PyUnicode_GetLength, PyUnicode_ReadChar, STR_SUBCLASS, TP_DESCR_GET, TP_REPR,
    Unary,
};
use crate::interpreter::{clear, lookup};

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

/// The type object behind one of the interpreter's own types.
macro_rules! kind {
    ($symbol:ident) => {
        // Taking the address of the interpreter's static object reads nothing.
        $crate::python::known(&raw mut $crate::abi::$symbol)
    };
}
pub(crate) use kind;

/// A handle on an object of the interpreter itself, which is never gone.
pub(crate) fn known(object: Pointer) -> Ref {
    // SAFETY: the address of a static is never null.
    Ref(unsafe { NonNull::new_unchecked(object) })
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
        lookup(self, name)
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
