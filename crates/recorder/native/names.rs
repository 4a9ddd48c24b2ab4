//! The strings and numbers that the recorder compares with, made once when the module is loaded.

use core::ffi::CStr;

use crate::interpreter::{bounds, interned, none};
use crate::python::{Held, Ref, Trouble};
use crate::shared::Shared;

/// A name that is looked up in types, instances and modules.
#[derive(Clone, Copy)]
pub(crate) enum Name {
    Get,
    Set,
    Delete,
    Dict,
    QualifiedName,
    Module,
    Enter,
    Exit,
    Torch,
    Parameters,
    Buffers,
    Modules,
    Nn,
    Parameter,
    Tensor,
    C,
    DisableTorchFunction,
    Shape,
    Dtype,
    Device,
    Enum,
    EnumMeta,
    MemberName,
    Multiprocessing,
    CurrentProcess,
    ProcessName,
    BitLength,
    Str,
    Repr,
    Arguments,
}

const TEXTS: [&CStr; 30] = [
    c"__get__",
    c"__set__",
    c"__delete__",
    c"__dict__",
    c"__qualname__",
    c"__module__",
    c"__enter__",
    c"__exit__",
    c"torch",
    c"_parameters",
    c"_buffers",
    c"_modules",
    c"nn",
    c"Parameter",
    c"Tensor",
    c"_C",
    c"DisableTorchFunction",
    c"shape",
    c"dtype",
    c"device",
    c"enum",
    c"EnumMeta",
    c"_name_",
    c"multiprocessing.process",
    c"_current_process",
    c"_name",
    c"bit_length",
    c"__str__",
    c"__repr__",
    c"args",
];

/// What is made once.
struct Made {
    names: [Option<Ref>; TEXTS.len()],
    /// 2 to the powers from which an int is too long to show, and to calculate with; above and below zero.
    shown: Option<(Ref, Ref)>,
    calculated: Option<(Ref, Ref)>,
}

static MADE: Shared<Made> = Shared::new(Made { names: [None; TEXTS.len()], shown: None, calculated: None });
const SHOWN_BITS: i64 = 2048;
const CALCULATED_BITS: i64 = 4096;

/// Makes the strings and numbers; they live as long as the interpreter.
pub(crate) fn make() -> Result<(), Trouble> {
    let mut names = [None; TEXTS.len()];
    for (place, text) in names.iter_mut().zip(TEXTS) {
        *place = Some(kept(interned(text)?));
    }
    let (above, below) = bounds(SHOWN_BITS)?;
    let (far_above, far_below) = bounds(CALCULATED_BITS)?;
    MADE.set(Made { names, shown: Some((kept(above), kept(below))), calculated: Some((kept(far_above), kept(far_below))) });
    Ok(())
}

fn kept(object: Held) -> Ref {
    let kept = object.get();
    core::mem::forget(object);
    kept
}

/// The string of a name.
pub(crate) fn name(name: Name) -> Ref {
    // `make` has filled every place before anything asks.
    MADE.get().names.get(name as usize).copied().flatten().unwrap_or(none())
}

fn within(bounds: Option<(Ref, Ref)>, int: Ref) -> bool {
    bounds.is_some_and(|(above, below)| !int.reaches(above) && !below.reaches(int))
}

/// Tells whether an int has few enough bits to be shown in decimal.
pub(crate) fn is_shown(int: Ref) -> bool {
    int.as_i64().is_some() || within(MADE.get().shown, int)
}

/// Tells whether an exact int has few enough bits to be calculated with.
pub(crate) fn is_calculated(int: Ref) -> bool {
    int.as_i64().is_some() || within(MADE.get().calculated, int)
}
