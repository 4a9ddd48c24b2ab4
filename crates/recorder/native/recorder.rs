//! The native recorder: a Python extension module that a probe's injected statement stores into.
//!
//! Compiled by `build.rs` as a library of its own, without the standard library and without a C runtime, against the stable ABI
//! of CPython 3.10: one file serves every version since. What does not belong here: finding places, parsing expressions.
#![no_std]
#![deny(unsafe_op_in_unsafe_fn)]

mod abi;
mod encode;
mod handle;
mod interpreter;
mod live;
mod names;
mod object;
mod probe;
mod program;
mod python;
mod quiet;
mod reading;
mod secret;
mod shared;
mod system;
mod writer;

use core::ffi::{c_char, c_int, c_void};
use core::ptr::{null, null_mut};

use abi::Pointer;
use handle::Slot;
use interpreter::{none, refuse, refuse_import, refuse_system};
use live::{Live, Shape};
use probe::STATES;
use python::Ref;
use shared::Shared;

unsafe extern "C" {
    /// Exists nowhere: code that could panic does not link, so there is none.
    fn bystander_recorder_cannot_panic() -> !;
    fn PyInterpreterState_Get() -> *mut c_void;
    fn PyInterpreterState_GetID(state: *mut c_void) -> i64;
    fn PyModuleDef_Init(definition: *mut Definition) -> Pointer;
    fn PyModule_AddObject(module: Pointer, name: *const c_char, object: Pointer) -> c_int;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: never linked in.
    unsafe { bystander_recorder_cannot_panic() }
}

/// What the interpreter calls when the module is loaded.
const MODULE_EXEC: c_int = 2;
const WITH_ARGUMENTS: c_int = 1;

#[repr(C)]
struct Method {
    name: *const c_char,
    function: Option<unsafe extern "C" fn(Pointer, Pointer) -> Pointer>,
    flags: c_int,
    doc: *const c_char,
}

#[repr(C)]
struct Definition {
    /// The head of an object with one reference; the rest is the interpreter's.
    base: [usize; 5],
    name: *const c_char,
    doc: *const c_char,
    size: isize,
    methods: *mut Method,
    slots: *mut Slot,
    traverse: *mut c_void,
    clear: *mut c_void,
    free: *mut c_void,
}

/// They end with one that has no name.
static METHODS: Shared<[Method; 4]> = Shared::new([
    Method { name: c"open".as_ptr(), function: Some(open), flags: WITH_ARGUMENTS, doc: null() },
    Method { name: c"close".as_ptr(), function: Some(close), flags: WITH_ARGUMENTS, doc: null() },
    Method { name: c"forked".as_ptr(), function: Some(forked), flags: WITH_ARGUMENTS, doc: null() },
    Method { name: null(), function: None, flags: 0, doc: null() },
]);
static SLOTS: Shared<[Slot; 2]> =
    Shared::new([Slot { number: MODULE_EXEC, function: null_mut() }, Slot { number: 0, function: null_mut() }]);
static DEFINITION: Shared<Definition> = Shared::new(Definition {
    base: [1, 0, 0, 0, 0],
    name: c"bystander_recorder".as_ptr(),
    doc: null(),
    size: 0,
    methods: null_mut(),
    slots: null_mut(),
    traverse: null_mut(),
    clear: null_mut(),
    free: null_mut(),
});

/// The interpreter that the recorder works for, plus one; zero while there is none.
static OWNER: Shared<i64> = Shared::new(0);

/// The mappings of the two states, also those of a parent.
static MAPPINGS: [Shared<(*mut u8, usize)>; 2] = [Shared::new((null_mut(), 0)), Shared::new((null_mut(), 0))];

/// The module's entry point.
#[unsafe(no_mangle)]
extern "C" fn PyInit_bystander_recorder() -> Pointer {
    let definition = DEFINITION.address();
    // SAFETY: the tables are statics, and the GIL is held while a module is loaded.
    unsafe {
        (*SLOTS.address())[0].function = exec as *mut c_void;
        (*definition).methods = METHODS.address().cast();
        (*definition).slots = SLOTS.address().cast();
        PyModuleDef_Init(definition)
    }
}

unsafe extern "C" fn exec(module: Pointer) -> c_int {
    // SAFETY: the GIL is held.
    let interpreter = unsafe { PyInterpreterState_GetID(PyInterpreterState_Get()) };
    if *OWNER.get() != 0 {
        refuse_import(c"the recorder works for another interpreter of this process");
        return -1;
    }
    if !interpreter::find_known() {
        refuse_import(c"this interpreter has no lookup by type");
        return -1;
    }
    let (Ok(()), Ok(kind)) = (names::make(), handle::make_type()) else { return -1 };
    OWNER.set(interpreter + 1);
    // SAFETY: the module takes the reference over.
    unsafe { PyModule_AddObject(module, c"Probe".as_ptr(), kind.into_pointer()) }
}

/// `open(state, file, head, data, probes)`: maps the ring and gives it to the probes of a state.
unsafe extern "C" fn open(_module: Pointer, arguments: Pointer) -> Pointer {
    let number = |index| Ref::new(arguments).and_then(|tuple| tuple.tuple_item(index)).and_then(Ref::exact_i64);
    let size = |index| number(index).and_then(|value| usize::try_from(value).ok());
    let (Some(state), Some(file), Some(head), Some(data), Some(probes)) = (size(0), number(1), size(2), size(3), size(4)) else {
        refuse(c"not the shape of a ring");
        return null_mut();
    };
    let shape = Shape { file: file as i32, head, data, probes };
    let Some(slot) = STATES.get(state).filter(|_| data.is_power_of_two()) else {
        refuse(c"not the shape of a ring");
        return null_mut();
    };
    let address = if *slot.get() == 0 { Live::reserve(probes).map_or(0, |made| made as usize) } else { *slot.get() };
    slot.set(address);
    unmap(state);
    // SAFETY: the address is zero or that of a state that was reserved for as many probes: their number never changes.
    let opened = unsafe { live::at(address).as_mut() }.and_then(|live| live.open(&shape).then_some(live));
    let Some(live) = opened else {
        refuse_system();
        return null_mut();
    };
    if let Some(mapping) = MAPPINGS.get(state) {
        mapping.set(live.mapping());
    }
    none().held().into_pointer()
}

/// `close(state)`: stops writing.
unsafe extern "C" fn close(_module: Pointer, arguments: Pointer) -> Pointer {
    let state = Ref::new(arguments).and_then(|tuple| tuple.tuple_item(0)).and_then(Ref::exact_i64);
    if let Some(state) = state.and_then(|state| usize::try_from(state).ok()) {
        unmap(state);
    }
    none().held().into_pointer()
}

/// `forked(state)`: counts a fork of this process in its ring.
unsafe extern "C" fn forked(_module: Pointer, arguments: Pointer) -> Pointer {
    let state = Ref::new(arguments).and_then(|tuple| tuple.tuple_item(0)).and_then(Ref::exact_i64);
    let slot = state.and_then(|state| STATES.get(usize::try_from(state).ok()?));
    // SAFETY: as in `open`.
    if let Some(live) = slot.and_then(|slot| unsafe { live::at(*slot.get()).as_mut() }) {
        live.add_fork();
    }
    none().held().into_pointer()
}

/// Lets a state forget its ring and gives the ring's mapping back, that of a parent too, which a forked child's state has lost.
fn unmap(state: usize) {
    let (Some(slot), Some(mapping)) = (STATES.get(state), MAPPINGS.get(state)) else { return };
    // SAFETY: as in `open`.
    if let Some(live) = unsafe { live::at(*slot.get()).as_mut() } {
        live.forget();
    }
    let (address, length) = *mapping.get();
    mapping.set((null_mut(), 0));
    if !address.is_null() {
        // SAFETY: the recorder mapped it, and nothing points there any more.
        unsafe { system::unmap(address, length) };
    }
}
