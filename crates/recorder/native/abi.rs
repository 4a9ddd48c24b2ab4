//! What the recorder uses of CPython's stable ABI (3.10), declared: functions, types, slots. Calls nothing.

use core::ffi::{c_char, c_int, c_long, c_longlong, c_ulong, c_void};

/// An object's head, which is part of the stable ABI: the count of references and the type.
#[repr(C)]
pub(crate) struct Object {
    count: isize,
    pub(crate) kind: *mut Object,
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
    pub(crate) static mut _Py_FalseStruct: Object;
    pub(crate) static mut _Py_NoneStruct: Object;
    pub(crate) static mut _Py_TrueStruct: Object;
    pub(crate) static PyExc_AttributeError: Pointer;
    pub(crate) static PyExc_BaseException: Pointer;
    pub(crate) static PyExc_ImportError: Pointer;
    pub(crate) static PyExc_OSError: Pointer;
    pub(crate) static PyExc_ValueError: Pointer;

    pub(crate) fn PyByteArray_AsString(object: Pointer) -> *const u8;
    pub(crate) fn PyBytes_AsString(object: Pointer) -> *const u8;
    pub(crate) fn PyDict_GetItemWithError(dict: Pointer, key: Pointer) -> Pointer;
    pub(crate) fn PyDict_Next(dict: Pointer, place: *mut isize, key: *mut Pointer, value: *mut Pointer) -> c_int;
    pub(crate) fn PyErr_Clear();
    pub(crate) fn PyErr_ExceptionMatches(kind: Pointer) -> c_int;
    pub(crate) fn PyErr_GetExcInfo(kind: *mut Pointer, value: *mut Pointer, trace: *mut Pointer);
    pub(crate) fn PyErr_Occurred() -> Pointer;
    pub(crate) fn PyErr_SetFromErrno(kind: Pointer) -> Pointer;
    pub(crate) fn PyErr_SetString(kind: Pointer, text: *const c_char);
    pub(crate) fn PyEval_GetBuiltins() -> Pointer;
    pub(crate) fn PyEval_GetGlobals() -> Pointer;
    pub(crate) fn PyEval_GetLocals() -> Pointer;
    pub(crate) fn PyException_GetContext(error: Pointer) -> Pointer;
    pub(crate) fn PyFloat_AsDouble(object: Pointer) -> f64;
    pub(crate) fn PyGC_Disable() -> c_int;
    pub(crate) fn PyGC_Enable() -> c_int;
    pub(crate) fn PyImport_GetModuleDict() -> Pointer;
    pub(crate) fn PyList_GetItem(list: Pointer, index: isize) -> Pointer;
    pub(crate) fn PyLong_AsLongLongAndOverflow(object: Pointer, overflow: *mut c_int) -> c_longlong;
    pub(crate) fn PyLong_FromSsize_t(value: isize) -> Pointer;
    pub(crate) fn PyLong_FromLong(value: c_long) -> Pointer;
    pub(crate) fn PyModule_GetDict(module: Pointer) -> Pointer;
    pub(crate) fn PyNumber_Add(a: Pointer, b: Pointer) -> Pointer;
    pub(crate) fn PyNumber_FloorDivide(a: Pointer, b: Pointer) -> Pointer;
    pub(crate) fn PyNumber_Lshift(a: Pointer, b: Pointer) -> Pointer;
    pub(crate) fn PyNumber_Multiply(a: Pointer, b: Pointer) -> Pointer;
    pub(crate) fn PyNumber_Negative(a: Pointer) -> Pointer;
    pub(crate) fn PyNumber_Positive(a: Pointer) -> Pointer;
    pub(crate) fn PyNumber_Remainder(a: Pointer, b: Pointer) -> Pointer;
    pub(crate) fn PyNumber_Subtract(a: Pointer, b: Pointer) -> Pointer;
    pub(crate) fn PyNumber_TrueDivide(a: Pointer, b: Pointer) -> Pointer;
    pub(crate) fn PyObject_CallObject(callable: Pointer, arguments: Pointer) -> Pointer;
    pub(crate) fn PyObject_GenericGetAttr(object: Pointer, name: Pointer) -> Pointer;
    pub(crate) fn PyObject_GetItem(object: Pointer, key: Pointer) -> Pointer;
    pub(crate) fn PyObject_IsTrue(object: Pointer) -> c_int;
    pub(crate) fn PyObject_RichCompareBool(a: Pointer, b: Pointer, operation: c_int) -> c_int;
    pub(crate) fn PyObject_RichCompare(a: Pointer, b: Pointer, operation: c_int) -> Pointer;
    pub(crate) fn PyObject_Str(object: Pointer) -> Pointer;
    pub(crate) fn PyObject_Size(object: Pointer) -> isize;
    pub(crate) fn PyThreadState_Get() -> *mut c_void;
    pub(crate) fn PyThreadState_GetID(state: *mut c_void) -> u64;
    pub(crate) fn PyTuple_GetItem(tuple: Pointer, index: isize) -> Pointer;
    pub(crate) fn PyTuple_New(length: isize) -> Pointer;
    pub(crate) fn PyTuple_SetItem(tuple: Pointer, index: isize, item: Pointer) -> c_int;
    pub(crate) fn PyTuple_Size(tuple: Pointer) -> isize;
    pub(crate) fn PyType_GetFlags(kind: Pointer) -> c_ulong;
    pub(crate) fn PyType_GetSlot(kind: Pointer, slot: c_int) -> *mut c_void;
    pub(crate) fn PyType_IsSubtype(kind: Pointer, base: Pointer) -> c_int;
    pub(crate) fn PyUnicode_AsUCS4(text: Pointer, buffer: *mut u32, length: isize, ends: c_int) -> *mut u32;
    pub(crate) fn PyUnicode_GetLength(text: Pointer) -> isize;
    pub(crate) fn PyUnicode_InternFromString(text: *const c_char) -> Pointer;
    pub(crate) fn PyUnicode_ReadChar(text: Pointer, index: isize) -> u32;
    pub(crate) fn Py_DecRef(object: Pointer);
    pub(crate) fn Py_IncRef(object: Pointer);
    pub(crate) fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// Slots by their numbers in `typeslots.h`, which never change.
pub(crate) const TP_DESCR_GET: c_int = 54;
pub(crate) const TP_REPR: c_int = 66;
pub(crate) const INT_SUBCLASS: c_ulong = 1 << 24;
pub(crate) const STR_SUBCLASS: c_ulong = 1 << 28;
pub(crate) const EXCEPTION_SUBCLASS: c_ulong = 1 << 30;

pub(crate) type Unary = unsafe extern "C" fn(Pointer) -> Pointer;
pub(crate) type Getter = unsafe extern "C" fn(Pointer, Pointer, Pointer) -> Pointer;
pub(crate) type Lookup = unsafe extern "C" fn(Pointer, Pointer) -> Pointer;
