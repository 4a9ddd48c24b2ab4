//! Writes what can be known of a value whose type is not one of the interpreter's own: its type, and what is stored in it.

use crate::encode::{ITEM_LIMIT, TEXT_LIMIT, characters, shown_by};
use crate::interpreter::{base_exception, clear, module, none, tuple};
use crate::names::{Name, is_shown, name};
use crate::python::{Held, Ref, Trouble, kind};
use crate::quiet::quiet;
use crate::reading::attribute;
use crate::writer::{Writer, field, tag};

/// Describes a value by its type, and by what a built-in base stores in it.
pub(crate) fn describe(out: &mut Writer, value: Ref, kind: Ref) {
    quiet();
    out.byte(tag::OBJECT);
    type_name(out, kind);
    if kind.is_int_type() {
        if is_shown(value) {
            shown_by(out, value, kind!(PyLong_Type));
        } else {
            out.byte(field::TEXT);
            out.text(b"huge");
        }
    } else if kind.is_subtype(kind!(PyFloat_Type)) {
        shown_by(out, value, kind!(PyFloat_Type));
    } else if kind.is_str_type() {
        out.byte(field::TEXT);
        characters(out, value, TEXT_LIMIT);
    }
    if kind.is_exception_type() {
        message(out, value);
    }
    describe_tensor(out, value, kind);
    name_member(out, value, kind);
    out.byte(tag::END);
}

/// Gives what an exception was made with, as far as that is plain text.
fn message(out: &mut Writer, error: Ref) {
    const SEPARATOR: &str = ", ";
    let getter = base_exception().stored(name(Name::Arguments)).filter(|getter| getter.kind() == kind!(PyGetSetDescr_Type));
    let Some(arguments) = getter.and_then(|getter| getter.described(getter.kind(), error).ok()) else { return clear() };
    let texts = (0..arguments.get().tuple_size()).filter_map(|index| arguments.get().tuple_item_within(index));
    let texts = texts.filter(|text| text.kind() == kind!(PyUnicode_Type)).take(ITEM_LIMIT);
    let before = out.position();
    out.byte(field::TEXT);
    let start = out.position();
    out.length(0);
    let (mut room, mut is_first) = (TEXT_LIMIT, true);
    for text in texts {
        if !is_first {
            for letter in SEPARATOR.bytes().take(room) {
                out.byte(letter);
            }
            room = room.saturating_sub(SEPARATOR.len());
        }
        let length = text.characters();
        let taken = if length < room { length } else { room };
        for index in 0..taken {
            out.character(text.character(index));
        }
        room -= taken;
        is_first = false;
    }
    if !is_first {
        out.settle(start);
    } else if !out.is_full() {
        out.rewind(before);
    }
}

/// The module and the qualified name of a type, as the type itself stores them.
fn type_name(out: &mut Writer, kind: Ref) {
    if let Some(module) = of_type(kind, Name::Module).filter(|module| module.get().kind() == kind!(PyUnicode_Type)) {
        out.byte(field::MODULE);
        characters(out, module.get(), TEXT_LIMIT);
    }
    out.byte(field::TYPE);
    qualified_name(out, kind);
}

/// The qualified name of a type, as text.
pub(crate) fn qualified_name(out: &mut Writer, kind: Ref) {
    match of_type(kind, Name::QualifiedName).filter(|text| text.get().kind().is_str_type()) {
        Some(text) => characters(out, text.get(), TEXT_LIMIT),
        None => out.text(b"?"),
    }
}

/// What `type` itself knows of a type, past its metaclass.
fn of_type(kind: Ref, what: Name) -> Option<Held> {
    let descriptor = kind!(PyType_Type).stored(name(what)).filter(|found| found.kind() == kind!(PyGetSetDescr_Type))?;
    let found = descriptor.described(descriptor.kind(), kind);
    if found.is_err() {
        clear();
    }
    found.ok()
}

/// The number of bits of an exact int, in words, as a field.
pub(crate) fn bits(out: &mut Writer, int: Ref) {
    quiet();
    let method = kind!(PyLong_Type).stored(name(Name::BitLength));
    let count = method.and_then(|method| method.called(Some(tuple(&[int]).ok()?.get())).ok());
    match count.and_then(|count| count.get().as_i64()) {
        Some(count) => {
            out.byte(field::BITS);
            out.word(count.cast_unsigned());
        }
        None => clear(),
    }
}

/// Gives the member's name of an enumeration, which is stored in the member itself.
fn name_member(out: &mut Writer, value: Ref, kind: Ref) {
    let meta = kind.kind();
    if meta == kind!(PyType_Type) {
        return;
    }
    let enumeration = module(name(Name::Enum)).and_then(Ref::module_names).and_then(|names| names.entry(name(Name::EnumMeta)));
    if enumeration != Some(meta) {
        return;
    }
    match attribute(value, name(Name::MemberName)) {
        Ok(text) if text.get().kind() == kind!(PyUnicode_Type) => {
            out.byte(field::TEXT);
            characters(out, text.get(), TEXT_LIMIT);
        }
        Ok(_) => {}
        Err(_) => clear(),
    }
}

/// Adds the metadata of an exact torch tensor; where a step is not what torch itself made in C, the type has to do.
fn describe_tensor(out: &mut Writer, value: Ref, kind: Ref) {
    let Some(torch) = module(name(Name::Torch)) else { return };
    let before = out.position();
    if tensor(out, torch, value, kind).is_err() {
        clear();
        if !out.is_full() {
            out.rewind(before);
        }
    }
}

fn tensor(out: &mut Writer, torch: Ref, value: Ref, kind: Ref) -> Result<(), Trouble> {
    let parameter = attribute(attribute(torch, name(Name::Nn))?.get(), name(Name::Parameter))?;
    if kind != parameter.get() && kind != attribute(torch, name(Name::Tensor))?.get() {
        return Ok(());
    }
    let guard = attribute(attribute(torch, name(Name::C))?.get(), name(Name::DisableTorchFunction))?;
    let (enter, exit) = (c_method(guard.get(), Name::Enter)?, c_method(guard.get(), Name::Exit)?);
    let guard = guard.get().called(None)?;
    enter.called(Some(tuple(&[guard.get()])?.get()))?;
    let written = metadata(out, value, kind);
    if written.is_err() {
        clear();
    }
    exit.called(Some(tuple(&[guard.get(), none(), none(), none()])?.get()))?;
    written
}

/// A method of a type that C code made.
fn c_method(kind: Ref, what: Name) -> Result<Ref, Trouble> {
    let plain = kind.kind() == kind!(PyType_Type);
    let method = if plain { kind.stored(name(what)) } else { None };
    method.filter(|method| method.kind() == kind!(PyMethodDescr_Type)).ok_or(Trouble::Word("NotC"))
}

fn metadata(out: &mut Writer, value: Ref, kind: Ref) -> Result<(), Trouble> {
    let shape = c_attribute(value, kind, Name::Shape)?;
    if !shape.get().kind().is_subtype(kind!(PyTuple_Type)) {
        return Err(Trouble::Word("NotC"));
    }
    out.byte(field::SHAPE);
    let count = out.position();
    out.byte(0);
    let mut sizes: u8 = 0;
    while let Some(size) = shape.get().tuple_item(sizes.into()) {
        if size.kind() != kind!(PyLong_Type) || sizes == u8::MAX {
            return Err(Trouble::Word("NotC"));
        }
        out.word(size.as_i64().unwrap_or(i64::MAX).cast_unsigned());
        sizes += 1;
    }
    out.replace(count, sizes);
    for (field, what) in [(field::DTYPE, Name::Dtype), (field::DEVICE, Name::Device)] {
        let text = c_text(c_attribute(value, kind, what)?.get())?;
        out.byte(field);
        characters(out, text.get(), TEXT_LIMIT);
    }
    Ok(())
}

/// What a getter that C code made gives.
fn c_attribute(value: Ref, kind: Ref, what: Name) -> Result<Held, Trouble> {
    let getter = kind.stored(name(what)).filter(|getter| getter.kind() == kind!(PyGetSetDescr_Type)).ok_or(Trouble::Word("NotC"))?;
    getter.described(getter.kind(), value)
}

/// The text of an object whose type makes it in C.
fn c_text(object: Ref) -> Result<Held, Trouble> {
    let is_c = |what| object.kind().stored(name(what)).is_some_and(|slot| slot.kind() == kind!(PyWrapperDescr_Type));
    if !(is_c(Name::Str) && is_c(Name::Repr)) {
        return Err(Trouble::Word("NotC"));
    }
    let text = object.text()?;
    if text.get().kind().is_str_type() { Ok(text) } else { Err(Trouble::Word("NotC")) }
}
