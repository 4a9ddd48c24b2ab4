//! Reads attributes, items and lengths of any object without running code of the program: the same rules as `reading.py`.

use crate::interpreter::{clear, is_ordered_dict, module, raised_attribute_error};
use crate::names::{Name, name};
use crate::python::{Held, Ref, Trouble, kind};

const LOOKUP_LIMIT: usize = 4096;
const TORCH_STORES: [Name; 3] = [Name::Parameters, Name::Buffers, Name::Modules];

/// Reads an attribute that is stored, in an instance, a slot or a class.
pub(crate) fn attribute(owner: Ref, wanted: Ref) -> Result<Held, Trouble> {
    let kind = owner.kind();
    if kind.is_subtype(kind!(PyType_Type)) {
        return class_attribute(owner, wanted);
    }
    if let Some(found) = kind.stored(wanted) {
        return behind_descriptor(owner, wanted, found);
    }
    owner.raw_attribute(wanted).or_else(|trouble| if raised_attribute_error() { torch_attribute(owner, wanted) } else { Err(trouble) })
}

fn behind_descriptor(owner: Ref, wanted: Ref, found: Ref) -> Result<Held, Trouble> {
    let kind = found.kind();
    if kind == kind!(PyMemberDescr_Type) {
        return found.described(kind, owner);
    }
    if kind.stored(name(Name::Get)).is_none() {
        return owner.raw_attribute(wanted);
    }
    if kind.stored(name(Name::Set)).is_some() || kind.stored(name(Name::Delete)).is_some() {
        return Err(Trouble::Word("PropertyNotRead"));
    }
    let names = instance_names(owner)?;
    names.get().entry(wanted).map(Ref::held).ok_or(Trouble::Word("DescriptorNotRead"))
}

fn instance_names(owner: Ref) -> Result<Held, Trouble> {
    let unreadable = Trouble::Word("DescriptorNotRead");
    let getter = owner.kind().stored(name(Name::Dict)).filter(|getter| getter.kind() == kind!(PyGetSetDescr_Type)).ok_or(unreadable)?;
    let names = getter.described(getter.kind(), owner)?;
    if names.get().kind() == kind!(PyDict_Type) { Ok(names) } else { Err(unreadable) }
}

fn class_attribute(owner: Ref, wanted: Ref) -> Result<Held, Trouble> {
    let found = owner.stored(wanted).ok_or(Trouble::Word("AttributeError"))?;
    if found.kind().stored(name(Name::Get)).is_some() {
        return Err(Trouble::Word("DescriptorNotRead"));
    }
    Ok(found.held())
}

/// Looks where `torch.nn.Module` keeps what its `__getattr__` would find.
fn torch_attribute(owner: Ref, wanted: Ref) -> Result<Held, Trouble> {
    clear();
    if module(name(Name::Torch)).is_some() {
        for store in TORCH_STORES {
            let names = match owner.raw_attribute(name(store)) {
                Ok(names) => names,
                Err(_) if raised_attribute_error() => {
                    clear();
                    continue;
                }
                Err(trouble) => return Err(trouble),
            };
            let kind = names.get().kind();
            if kind == kind!(PyDict_Type) || is_ordered_dict(kind) {
                if let Some(found) = names.get().entry(wanted) {
                    return Ok(found.held());
                }
            }
        }
    }
    Err(Trouble::Word("AttributeError"))
}

/// Reads an item of an exact list, tuple, string, bytes or dict by a constant key.
pub(crate) fn item(container: Ref, key: Ref) -> Result<Held, Trouble> {
    let kind = container.kind();
    if kind == kind!(PyDict_Type) {
        return entry(container, key);
    }
    if kind == kind!(PyList_Type) || kind == kind!(PyTuple_Type) || kind == kind!(PyUnicode_Type) || kind == kind!(PyBytes_Type) {
        if key.kind() != kind!(PyLong_Type) {
            return Err(Trouble::Word("TypeError"));
        }
        return container.item(key);
    }
    Err(Trouble::Word("ItemNotRead"))
}

/// Finds a key by going through the entries: a lookup by hash may ask keys of a user's class whether they are equal.
fn entry(container: Ref, key: Ref) -> Result<Held, Trouble> {
    const EQUAL: u8 = 2;
    if container.size() > LOOKUP_LIMIT {
        return Err(Trouble::Word("TooLargeToSearch"));
    }
    let (mut known, mut place) = (true, 0);
    while let Some((candidate, value)) = container.next_entry(&mut place) {
        let kind = candidate.kind();
        if kind == key.kind() || (is_number_type(kind) && is_number_type(key.kind())) {
            if candidate.compared(key, EQUAL)? {
                return Ok(value.held());
            }
        } else if !is_plain_type(kind) {
            known = false;
        }
    }
    Err(Trouble::Word(if known { "KeyError" } else { "KeyNotComparable" }))
}

fn is_number_type(kind: Ref) -> bool {
    kind == kind!(PyLong_Type) || kind == kind!(PyFloat_Type) || kind == kind!(PyBool_Type) || kind == kind!(PyComplex_Type)
}

fn is_plain_type(kind: Ref) -> bool {
    is_number_type(kind)
        || kind == kind!(PyUnicode_Type)
        || kind == kind!(PyBytes_Type)
        || kind == kind!(PyTuple_Type)
        || kind == kind!(PyFrozenSet_Type)
        || kind == none_type()
}

fn none_type() -> Ref {
    crate::interpreter::none().kind()
}

/// The length of an exact built-in.
pub(crate) fn length(value: Ref) -> Result<usize, Trouble> {
    let kind = value.kind();
    let sized = kind == kind!(PyUnicode_Type)
        || kind == kind!(PyBytes_Type)
        || kind == kind!(PyByteArray_Type)
        || kind == kind!(PyList_Type)
        || kind == kind!(PyTuple_Type)
        || kind == kind!(PyDict_Type)
        || kind == kind!(PySet_Type)
        || kind == kind!(PyFrozenSet_Type)
        || kind == kind!(PyRange_Type);
    if sized { value.length() } else { Err(Trouble::Word("LengthNotRead")) }
}

/// Tells whether a value is an exact int, float, bool, str, bytes or None.
pub(crate) fn is_scalar(value: Ref) -> bool {
    let kind = value.kind();
    is_real_number(value) || kind == kind!(PyUnicode_Type) || kind == kind!(PyBytes_Type) || value.is_none()
}

/// Tells whether a value is an exact int, float or bool.
pub(crate) fn is_real_number(value: Ref) -> bool {
    let kind = value.kind();
    kind == kind!(PyLong_Type) || kind == kind!(PyFloat_Type) || kind == kind!(PyBool_Type)
}

/// Whether a value counts as true: an exact scalar by itself, a built-in container by its length.
pub(crate) fn truth(value: Ref) -> Result<bool, Trouble> {
    if is_scalar(value) {
        return Ok(value.is_true());
    }
    length(value).map(|length| length > 0)
}
