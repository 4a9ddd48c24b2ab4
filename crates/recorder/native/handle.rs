//! The Python type of a probe: how one is made from what `native.py` says, laid out, and given back.

use core::ffi::{c_char, c_int, c_uint, c_void};
use core::ptr::null_mut;

use crate::abi::Pointer;
use crate::interpreter::{none, refuse};
use crate::probe::{Capture, Plan, store};
use crate::python::{Held, Ref, Trouble, kind};

unsafe extern "C" {
    fn PyMem_Free(memory: *mut c_void);
    fn PyMem_Malloc(bytes: usize) -> *mut c_void;
    fn PyType_GetSlot(kind: Pointer, number: c_int) -> *mut c_void;
    fn PyType_FromSpec(spec: *mut Spec) -> Pointer;
    fn PyType_GenericAlloc(kind: Pointer, items: isize) -> Pointer;
    fn Py_DecRef(object: Pointer);
}

const DEFAULT: c_uint = 1 << 18;
const BASE_TYPE: c_uint = 1 << 10;
const MP_ASS_SUBSCRIPT: c_int = 3;
const TP_CALL: c_int = 50;
const TP_DEALLOC: c_int = 52;
const TP_FREE: c_int = 74;
const TP_NEW: c_int = 65;
const MOST_CAPTURES: usize = 4096;
const MOST_PROBES: usize = 1 << 16;

/// A slot of a type or module by its number.
#[repr(C)]
pub(crate) struct Slot {
    pub(crate) number: c_int,
    pub(crate) function: *mut c_void,
}

#[repr(C)]
struct Spec {
    name: *const c_char,
    size: c_int,
    item_size: c_int,
    flags: c_uint,
    slots: *mut Slot,
}

/// A probe as the interpreter holds it; fresh memory is zeroes, which is no plan.
#[repr(C)]
struct Probe {
    head: [usize; 2],
    /// The tuple that the probe was made of: it owns the programs.
    parts: Pointer,
    captures: *mut Capture,
    plan: *mut Plan,
}

/// Makes the type.
pub(crate) fn make_type() -> Result<Held, Trouble> {
    let mut slots = [
        Slot { number: MP_ASS_SUBSCRIPT, function: store as *mut c_void },
        Slot { number: TP_CALL, function: call as *mut c_void },
        Slot { number: TP_NEW, function: new as *mut c_void },
        Slot { number: TP_DEALLOC, function: dealloc as *mut c_void },
        Slot { number: 0, function: null_mut() },
    ];
    let mut spec = Spec {
        name: c"bystander_recorder.Probe".as_ptr(),
        size: size_of::<Probe>() as c_int,
        item_size: 0,
        flags: DEFAULT | BASE_TYPE,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: the specification is read before the call returns; the name is a constant, which older versions keep.
    Held::new(unsafe { PyType_FromSpec(&raw mut spec) })
}

/// The plan of a probe; `None` for one that was not made whole.
///
/// # Safety
/// The object is a live probe.
pub(crate) unsafe fn plan<'a>(me: Pointer) -> Option<&'a Plan> {
    // SAFETY: promised by the caller.
    unsafe { (*me.cast::<Probe>()).plan.as_ref() }
}

/// Does nothing, and is there to be seen: compilers of Python take a builtin that is neither a constant nor callable for a fault of their own.
unsafe extern "C" fn call(_me: Pointer, _arguments: Pointer, _keywords: Pointer) -> Pointer {
    none().held().into_pointer()
}

/// `Probe(index, state, limit, interval, most, condition, constants, captures)`; see `native.py`.
unsafe extern "C" fn new(kind: Pointer, arguments: Pointer, _keywords: Pointer) -> Pointer {
    // SAFETY: the type is ours.
    let Ok(made) = Held::new(unsafe { PyType_GenericAlloc(kind, 0) }) else { return null_mut() };
    let me = made.get().pointer().cast::<Probe>();
    // SAFETY: the memory is that of a fresh probe.
    let filled = Ref::new(arguments).is_some_and(|arguments| unsafe { fill(&mut *me, arguments) }.is_some());
    if filled {
        return made.into_pointer();
    }
    refuse(c"not the parts of a probe");
    null_mut()
}

/// Fills a fresh probe; what is allocated here is given back with the object, also when the rest fails.
///
/// # Safety
/// The arguments are the tuple of a call.
unsafe fn fill(me: &mut Probe, arguments: Ref) -> Option<()> {
    let number = |index| arguments.tuple_item(index).and_then(Ref::exact_i64);
    let constants = arguments.tuple_item(6).filter(|constants| constants.kind() == kind!(PyTuple_Type))?;
    let captures = arguments.tuple_item(7).filter(|captures| captures.kind() == kind!(PyTuple_Type))?;
    let count = captures.size();
    let index = usize::try_from(number(0)?).ok().filter(|&index| index < MOST_PROBES)?;
    let condition = arguments.tuple_item(5)?;
    me.parts = arguments.held().into_pointer();
    // SAFETY: memory of the right size; a `Capture` is written to each place before any is read.
    unsafe {
        me.captures = PyMem_Malloc(size_of::<Capture>() * (if count > MOST_CAPTURES { return None } else { count })).cast();
        me.plan = null_mut();
        if me.captures.is_null() {
            return None;
        }
        for place in 0..count {
            me.captures.add(place).write(capture(captures.tuple_item(place)?)?);
        }
    }
    let plan = Plan {
        index,
        state: usize::try_from(number(1)?).ok()?,
        limit: number(2)?.cast_unsigned(),
        interval: u64::try_from(number(3)?).ok()?,
        most: usize::try_from(number(4)?).ok()?,
        condition: if condition.is_none() { None } else { Some(program(condition)?) },
        constants,
        // SAFETY: every place was written above.
        captures: unsafe { core::slice::from_raw_parts(me.captures, count) },
    };
    // SAFETY: memory of the right size.
    unsafe {
        let memory = PyMem_Malloc(size_of::<Plan>()).cast::<Plan>();
        if memory.is_null() {
            return None;
        }
        memory.write(plan);
        me.plan = memory;
    }
    Some(())
}

/// An int is an argument, bytes a program, bytes in a tuple a program that shows numbers only, `None` a secret.
fn capture(part: Ref) -> Option<Capture> {
    if part.is_none() {
        return Some(Capture::Secret);
    }
    if let Some(number) = part.exact_i64() {
        return Some(Capture::Argument(usize::try_from(number).ok()?));
    }
    if part.kind() == kind!(PyTuple_Type) {
        return Some(Capture::Program { code: program(part.tuple_item(0)?)?, text_only: true });
    }
    Some(Capture::Program { code: program(part)?, text_only: false })
}

/// The bytes of a program, which live as long as the tuple that they came in.
fn program(part: Ref) -> Option<&'static [u8]> {
    (part.kind() == kind!(PyBytes_Type)).then(|| part.first_bytes(usize::MAX))
}

type Free = unsafe extern "C" fn(*mut c_void);

/// What gives an object's memory back: a type made from this one in Python has its objects from the garbage collector.
///
/// # Safety
/// The type is this one or made from it.
unsafe fn free(kind: Pointer) -> Free {
    // SAFETY: every type has this slot, and it holds a function of this signature.
    unsafe { core::mem::transmute::<*mut c_void, Free>(PyType_GetSlot(kind, TP_FREE)) }
}

unsafe extern "C" fn dealloc(me: Pointer) {
    let probe = me.cast::<Probe>();
    // SAFETY: the last reference is gone, so the object, its memory and its reference to its type are ours to give back.
    unsafe {
        let kind = Ref::new(me).map_or(null_mut(), |me| me.kind().pointer());
        PyMem_Free((*probe).plan.cast());
        PyMem_Free((*probe).captures.cast());
        if !(*probe).parts.is_null() {
            Py_DecRef((*probe).parts);
        }
        free(kind)(me.cast());
        Py_DecRef(kind);
    }
}
