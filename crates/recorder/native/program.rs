//! Evaluates an expression that `program.py` compiled: steps of four bytes on a small stack. Knows nothing of how values are written.
//!
//! A step is an operation, a byte that refines it, and a number of 16 bits (the least byte first). A program ends with its last step.

use crate::interpreter::{arithmetic, boolean, builtins, context, globals, handled, int_of_length, locals, none, signed};
use crate::names::is_calculated;
use crate::python::{Held, Ref, Trouble, kind};
use crate::quiet::quiet;
use crate::reading::{attribute, is_real_number, is_scalar, item, length, truth};

const DEPTH: usize = 16;
const BAD: Trouble = Trouble::Word("BadProgram");

/// The operations; `program.py` has the same list.
mod step {
    pub(super) const ARGUMENT: u8 = 1;
    pub(super) const CONSTANT: u8 = 2;
    pub(super) const GLOBAL: u8 = 3;
    pub(super) const LOCAL: u8 = 4;
    pub(super) const ATTRIBUTE: u8 = 5;
    pub(super) const ITEM: u8 = 6;
    pub(super) const LENGTH: u8 = 7;
    pub(super) const NOT: u8 = 8;
    pub(super) const SIGN: u8 = 9;
    pub(super) const NUMBER: u8 = 10;
    pub(super) const ARITHMETIC: u8 = 11;
    pub(super) const KEEP: u8 = 12;
    pub(super) const COMPARE: u8 = 13;
    pub(super) const CHAIN: u8 = 14;
    pub(super) const RAISED: u8 = 15;
}

/// The comparisons beyond those that objects make.
const IS: u8 = 6;
const IS_NOT: u8 = 7;
const EQUAL: u8 = 2;
const NOT_EQUAL: u8 = 3;

/// What a program sees: the values of the hit and its own constants, both tuples; the probe, which stands for names that have no
/// value; the key of the store.
#[derive(Clone, Copy)]
pub(crate) struct Scene {
    pub(crate) me: Ref,
    pub(crate) key: Ref,
    pub(crate) values: Ref,
    pub(crate) constants: Ref,
}

/// A stack of values that are kept while they are on it.
struct Stack {
    values: [Option<Held>; DEPTH],
    count: usize,
}

impl Stack {
    fn push(&mut self, value: Held) -> Result<(), Trouble> {
        *self.values.get_mut(self.count).ok_or(BAD)? = Some(value);
        self.count += 1;
        Ok(())
    }

    fn pop(&mut self) -> Result<Held, Trouble> {
        self.count = self.count.checked_sub(1).ok_or(BAD)?;
        self.values.get_mut(self.count).and_then(Option::take).ok_or(BAD)
    }

    fn top(&self) -> Result<Ref, Trouble> {
        let value = self.values.get(self.count.wrapping_sub(1)).and_then(Option::as_ref);
        value.map(Held::get).ok_or(BAD)
    }
}

/// Evaluates a program to a value, or to what it met instead.
pub(crate) fn run(code: &[u8], scene: Scene) -> Result<Held, Trouble> {
    quiet();
    let (steps, _) = code.as_chunks::<4>();
    let mut stack = Stack { values: [const { None }; DEPTH], count: 0 };
    let mut next = 0;
    // Jumps only go forwards, so every step runs at most once.
    while let Some(&[operation, detail, low, high]) = steps.get(next) {
        let number = usize::from(u16::from_le_bytes([low, high]));
        next += 1;
        if let Some(target) = perform(&mut stack, operation, detail, number, scene)? {
            next = if target >= next { target } else { return Err(BAD) };
        }
    }
    stack.pop()
}

/// Performs one step; gives the step to jump to.
fn perform(stack: &mut Stack, operation: u8, detail: u8, number: usize, scene: Scene) -> Result<Option<usize>, Trouble> {
    let constant = || scene.constants.tuple_item(number).ok_or(BAD);
    let made = match operation {
        step::ARGUMENT => match scene.values.tuple_item(number).ok_or(BAD)? {
            nothing if nothing == scene.me => return Err(Trouble::Word("NameError")),
            value => value.held(),
        },
        step::RAISED => being_raised(scene.key.exact_i64().unwrap_or_default()),
        step::CONSTANT => constant()?.held(),
        step::GLOBAL => named(constant()?, &[globals(), builtins()])?,
        step::LOCAL => named(constant()?, &[locals(), globals(), builtins()])?,
        step::ATTRIBUTE => attribute(stack.pop()?.get(), constant()?)?,
        step::ITEM => item(stack.pop()?.get(), constant()?)?,
        step::LENGTH => int_of_length(length(stack.pop()?.get())?)?,
        step::NOT => boolean(!truth(stack.pop()?.get())?),
        step::SIGN => signed(detail == 1, checked_number(stack.pop()?)?.get())?,
        step::NUMBER => checked_number(stack.pop()?)?,
        step::ARITHMETIC => {
            let (right, left) = (checked_number(stack.pop()?)?, stack.pop()?);
            arithmetic(detail, left.get(), right.get())?
        }
        step::KEEP => {
            if truth(stack.top()?)? == (detail == 1) {
                return Ok(Some(number));
            }
            drop(stack.pop()?);
            return Ok(None);
        }
        step::COMPARE => {
            let (right, left) = (stack.pop()?, stack.pop()?);
            boolean(compared(detail, left.get(), right.get())?)
        }
        step::CHAIN => {
            let (right, left) = (stack.pop()?, stack.pop()?);
            let holds = compared(detail, left.get(), right.get())?;
            stack.push(if holds { right } else { boolean(false) })?;
            return Ok((!holds).then_some(number));
        }
        _ => return Err(BAD),
    };
    stack.push(made)?;
    Ok(None)
}

/// Looks a name up in dicts, each of which must be exactly one.
fn named(name: Ref, places: &[Option<Ref>]) -> Result<Held, Trouble> {
    let dicts = places.iter().flatten().filter(|names| names.kind() == kind!(PyDict_Type));
    dicts.into_iter().find_map(|names| names.entry(name)).map(Ref::held).ok_or(Trouble::Word("NameError"))
}

/// The exception that is being handled around the store, below the failures of some names that had no value.
fn being_raised(depth: i64) -> Held {
    let mut found = handled();
    for _ in 0..depth {
        found = found.and_then(|error| context(error.get()));
    }
    found.unwrap_or_else(|| none().held())
}

fn checked_number(value: Held) -> Result<Held, Trouble> {
    if !is_real_number(value.get()) {
        return Err(Trouble::Word("NotANumber"));
    }
    if value.get().kind() == kind!(PyLong_Type) && !is_calculated(value.get()) {
        return Err(Trouble::Word("TooLarge"));
    }
    Ok(value)
}

fn compared(operation: u8, left: Ref, right: Ref) -> Result<bool, Trouble> {
    if operation == IS || operation == IS_NOT {
        return Ok((left == right) == (operation == IS));
    }
    if !is_scalar(left) || !is_scalar(right) {
        return Err(Trouble::Word("NotAPlainValue"));
    }
    let bytes = kind!(PyBytes_Type);
    if (left.kind() == bytes) != (right.kind() == bytes) {
        // Under `-b` the interpreter would warn, and a warning runs code of the program.
        return match operation {
            EQUAL => Ok(false),
            NOT_EQUAL => Ok(true),
            _ => Err(Trouble::Word("TypeError")),
        };
    }
    left.compared(right, operation)
}
