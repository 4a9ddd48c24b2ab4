//! A probe: the object that an injected statement stores into, and what such a store does.
//!
//! `probe[0] = (a, b, c)` is served by `mp_ass_subscript`. The store makes no system call, runs no Python code, keeps the GIL,
//! keeps nothing, and never raises. In order: count, limit, bucket, condition, captures; what does not hold takes no token. The key says how many names without a
//! value are being handled around the store, and where a name has none, the probe itself stands for it.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::abi::Pointer;
use crate::encode::{self, DEPTH};
use crate::interpreter::{clear, module, thread_number};
use crate::live::{Count, Live, at};
use crate::names::{Name, name};
use crate::program::{Scene, run};
use crate::python::{Ref, Trouble, kind};
use crate::quiet::loud;
use crate::reading::{attribute, is_real_number, truth};
use crate::shared::Shared;
use crate::system::wall_ns;
use crate::writer::{Writer, tag};

/// The bytes before a payload: mark, time, number of the hit, thread, then length, probe and count of values.
const RECORD_HEAD: usize = 40;
const LEAST_SHARE: usize = 64;
const NAME_BYTES: usize = 255;

/// Which of the two states a probe writes to.
pub(crate) static STATES: [Shared<usize>; 2] = [Shared::new(0), Shared::new(0)];

/// One capture.
#[derive(Clone, Copy)]
pub(crate) enum Capture {
    /// A value of the hit, as it is.
    Argument(usize),
    /// A program over the values of the hit.
    Program { code: &'static [u8], text_only: bool },
    /// Withheld by name, and not even looked at.
    Secret,
}

/// What a probe does at a hit; made once.
pub(crate) struct Plan {
    pub(crate) index: usize,
    pub(crate) state: usize,
    pub(crate) limit: u64,
    /// Nanoseconds between two tokens; zero where there is no bucket.
    pub(crate) interval: u64,
    pub(crate) condition: Option<&'static [u8]>,
    pub(crate) constants: Ref,
    pub(crate) captures: &'static [Capture],
    /// The most bytes of one record.
    pub(crate) most: usize,
}

/// The state that a number stands for; `None` where there is no ring, as in a child that was just forked.
fn live(state: usize) -> Option<&'static mut Live> {
    let address = *STATES.get(state)?.get();
    // SAFETY: the address is zero or that of a state that is never given back; one hit at a time has it, as `busy` tells.
    unsafe { at(address).as_mut() }
}

/// Serves `probe[key] = values`.
fn hit(plan: &Plan, me: Ref, key: Ref, values: Ref) {
    let Some(live) = live(plan.state).filter(|live| live.knows(plan.index)) else { return };
    live.add(plan.index, Count::Passes);
    let conditional = plan.condition.is_some();
    if !conditional {
        live.add(plan.index, Count::Hits);
    }
    if live.admitted(plan.index) >= plan.limit {
        return;
    }
    if plan.interval > 0 && !live.has_token(plan.index, plan.interval) {
        live.add(plan.index, Count::Throttled);
        return;
    }
    if live.busy || values.kind() != kind!(PyTuple_Type) {
        live.add_error();
        return;
    }
    live.busy = true;
    let scene = Scene { me, key, values, constants: plan.constants };
    match plan.condition.map_or(Ok(true), |code| holds(code, scene)) {
        Ok(true) => {
            if conditional {
                live.add(plan.index, Count::Hits);
            }
            if plan.interval > 0 {
                live.take_token(plan.index, plan.interval);
            }
            live.admit(plan.index);
            record(live, plan, scene);
        }
        Ok(false) => {}
        Err(_) => {
            clear();
            live.add(plan.index, Count::Misjudged);
        }
    }
    loud();
    live.busy = false;
}

fn holds(code: &[u8], scene: Scene) -> Result<bool, Trouble> {
    run(code, scene).and_then(|value| truth(value.get()))
}

/// Writes one record; a full ring drops it.
fn record(live: &mut Live, plan: &Plan, scene: Scene) {
    let Some((start, free)) = live.room() else { return };
    let most = if (free as usize) < plan.most { free as usize } else { plan.most };
    // SAFETY: the ring has `free` bytes at `start`, in one piece because it is mapped twice, and the GIL keeps others out.
    let mut out = unsafe { Writer::new(start.wrapping_add(RECORD_HEAD), start.wrapping_add(most)) };
    let values = scene.values.tuple_size();
    for capture in plan.captures {
        write(&mut out, *capture, scene, values);
    }
    if out.is_full() {
        if most < plan.most {
            return;
        }
        out.rewind(start.wrapping_add(RECORD_HEAD));
        shrink(&mut out, plan, scene);
        if out.is_full() {
            live.add_error();
            return;
        }
    }
    if live.sequence == 0 {
        note_name(live);
    }
    let payload = (out.position() as usize).wrapping_sub(start as usize).wrapping_sub(RECORD_HEAD);
    let total = (RECORD_HEAD + payload + 7) & !7;
    let tag = (payload as u64) << 32 | (plan.index as u64 & 0xffff) << 16 | plan.captures.len() as u64 & 0xffff;
    let thread = live.thread(thread_number());
    let words = start.cast::<u64>();
    // SAFETY: the head of the record is mapped, aligned to words, and in front of what was written.
    unsafe {
        words.add(1).write(wall_ns());
        words.add(2).write(live.sequence);
        words.add(3).write(thread);
        words.add(4).write(tag);
        // The mark says which pass over the ring this is; it comes last, so a record is whole or none.
        AtomicU64::from_ptr(words).store(!live.head(), Ordering::Release);
    }
    live.publish(total as u64);
}

fn write(out: &mut Writer, capture: Capture, scene: Scene, values: usize) {
    match capture {
        Capture::Argument(index) => match if index < values { scene.values.tuple_item_within(index) } else { None } {
            Some(value) if value == scene.me => encode::trouble(out, Trouble::Word("NameError")),
            Some(value) => encode::value(out, value, DEPTH),
            None => out.byte(tag::NONE),
        },
        Capture::Secret => out.byte(tag::REDACTED),
        Capture::Program { code, text_only } => match run(code, scene) {
            Err(trouble) => encode::trouble(out, trouble),
            Ok(value) if text_only && !is_real_number(value.get()) && !value.get().is_none() => out.byte(tag::REDACTED),
            Ok(value) => encode::value(out, value.get(), DEPTH),
        },
    }
}

/// Writes the captures again, each in its share of the record: what is larger keeps its type only.
fn shrink(out: &mut Writer, plan: &Plan, scene: Scene) {
    let share = plan.most.wrapping_sub(RECORD_HEAD) / if plan.captures.is_empty() { 1 } else { plan.captures.len() };
    let share = if share < LEAST_SHARE { LEAST_SHARE } else { share };
    let end = out.end();
    for capture in plan.captures {
        let start = out.position();
        let limit = start.wrapping_add(share);
        out.set_end(if limit < end { limit } else { end });
        write(out, *capture, scene, scene.values.tuple_size());
        let overflowed = out.is_full();
        out.set_end(end);
        if overflowed {
            out.rewind(start);
            out.byte(tag::TOO_LARGE);
        }
    }
}

/// Keeps the name that `multiprocessing` gave the process, from which a rank may be told; known by the first hit.
fn note_name(live: &Live) {
    let current = module(name(Name::Multiprocessing)).and_then(|module| attribute(module, name(Name::CurrentProcess)).ok());
    let found = current.and_then(|process| attribute(process.get(), name(Name::ProcessName)).ok());
    clear();
    let Some(text) = found.filter(|text| text.get().kind() == kind!(PyUnicode_Type)) else { return };
    let field = live.name_field();
    // SAFETY: the header keeps 256 bytes for the name.
    let mut out = unsafe { Writer::new(field.wrapping_add(1), field.wrapping_add(1 + NAME_BYTES)) };
    for index in 0..text.get().characters() {
        out.character(text.get().character(index));
    }
    let length = (out.position() as usize).wrapping_sub(field as usize).wrapping_sub(1);
    // SAFETY: the first byte of the field is its length.
    unsafe { field.write(length as u8) };
}

/// The slot `mp_ass_subscript`; a deletion has no value.
pub(crate) unsafe extern "C" fn store(me: Pointer, key: Pointer, values: Pointer) -> c_int {
    // SAFETY: the slot is called with an object of its type, which `handle.rs` lays out.
    let plan = unsafe { crate::handle::plan(me) };
    if let (Some(plan), Some(me), Some(key), Some(values)) = (plan, Ref::new(me), Ref::new(key), Ref::new(values)) {
        hit(plan, me, key, values);
    }
    0
}
