//! Probes as text in the file itself: under every flag that hides the overlay, with no line moved and nothing kept alive.

use std::fs;
use std::path::PathBuf;

use bystander_edit::prepare_stack;
use bystander_model::hit::{Hit, ReceiptState};
use bystander_model::value::Value;
use bystander_probe::{CheckedProbe, Drain, Overlay, ProbeSpec, TextError, insertion, insertions};

use crate::world::{Python, World, on_each, probe};

const MOD: &str = r#""""Doc."""
from __future__ import annotations
import sys, weakref
LIMIT = 7
def first(number):
    """Doc of it."""
    result = number * 2
    if result > 2: return result
    for step in range(2):
        last = step
    return result
class Box:
    size = 3
    def grow(self, total):
        self.size += total; total += 1
        return (self.size,
                total)
def one(x): y = x + 1; return y
def outer(base):
    def inner(more):
        picked = base + more
        return picked
    return inner
def alone():
    while True:
        break
class Big: pass
def freed():
    big = Big()
    seen = weakref.ref(big)
    small = 1
    del big
    return seen() is None
def fails(number):
    left = number
    raise ValueError(left)
"#;

const MAIN: &str = "import sys\nsys.path.insert(0, FOLDER)\nimport mod\nfor n in range(3):\n    mod.first(n); mod.Box().grow(n); mod.one(n); mod.outer(1)(n)\nprint(mod.freed(), mod.__doc__, mod.first.__doc__)\ntry:\n    mod.fails(1)\nexcept ValueError as error:\n    print(error.__traceback__.tb_next.tb_lineno)\n";

fn world(python: &Python) -> World {
    let world = World::new(python, &[("mod.py", MOD)]);
    let main = MAIN.replace("FOLDER", &format!("{:?}", world.program()));
    world.write("main.py", &main);
    world
}

fn named(name: &str, at: &str, after: Option<&str>, capture: &[&str]) -> ProbeSpec {
    ProbeSpec { name: name.into(), ..probe(at, after, capture) }
}

/// Puts probes into the text of their files, as a journal or a mount would.
fn put(world: &World, probes: &[CheckedProbe]) -> Overlay {
    let overlay = world.overlay(probes);
    let specs = insertions(probes, overlay.dir()).unwrap_or_else(|error| panic!("3.{}: {error}", world.python.minor));
    assert_eq!(insertion(&probes[0], overlay.dir()).expect("alone"), specs[0]);
    let edits = prepare_stack(&specs).unwrap_or_else(|error| panic!("3.{}: {error}", world.python.minor));
    for edit in &edits {
        assert_eq!(edit.added_lines.len(), 1, "{:?}", edit.added_lines);
        fs::write(&edit.real, &edit.after).expect("writes");
    }
    overlay
}

fn values(hits: &[Hit], probe: &str, name: &str) -> Vec<Option<i64>> {
    let number = |hit: &Hit| match &hit.values[name] {
        Value::Int(number) => Some(*number),
        _ => None,
    };
    hits.iter().filter(|hit| hit.probe == probe).map(number).collect()
}

fn specs() -> Vec<ProbeSpec> {
    vec![
        named("entry", "mod:first", None, &["number"]),
        named("after", "mod:first", Some("result = ..."), &["result", "LIMIT", "late"]),
        named("compound", "mod:first", Some("for step in ...: ..."), &["last"]),
        named("line", "mod.py:15", None, &["self.size", "total"]),
        named("spread", "mod.py:16", None, &["total"]),
        named("suite", "mod:one", Some("y = ..."), &["y"]),
        named("closure", "mod:outer.<locals>.inner", Some("picked = ..."), &["picked", "base"]),
        named("freed", "mod:freed", Some("small = 1"), &["big"]),
        named("fails", "mod:fails", Some("left = ..."), &["left"]),
    ]
}

#[test]
fn a_probe_by_text_records_under_every_flag_and_moves_nothing() {
    on_each(|python| {
        let world = world(python);
        let minor = python.minor;
        let mut specs = specs();
        // A name that is nowhere is refused by the check; one that comes later is not.
        specs[1].capture.pop();
        let probes = world.checked(&specs);
        let plain = world.run_plain(&["-S", "main.py"]);
        let overlay = put(&world, &probes);
        for flags in [&[][..], &["-I"], &["-E"], &["-S"], &["-I", "-S"]] {
            drop(fs::remove_dir_all(overlay.ring_dir()));
            fs::create_dir(overlay.ring_dir()).expect("creates");
            let mut command = world.command(&[flags, &["main.py"]].concat(), &[]);
            let output = command.env_clear().output().expect("runs");
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!((&output.stdout, stderr.as_str()), (&plain.stdout, ""), "3.{minor} {flags:?}");
            let (hits, receipts) = Drain::new(overlay.ring_dir(), &probes).finish().expect("drains");
            let of = |probe: &str, name: &str| values(&hits, probe, name);
            assert_eq!(of("entry", "number"), [Some(0), Some(1), Some(2)], "3.{minor} {flags:?} {receipts:?}");
            assert_eq!(of("after", "result"), [Some(0), Some(2), Some(4)], "3.{minor}");
            assert_eq!(of("after", "LIMIT"), [Some(7); 3]);
            assert_eq!(of("compound", "last"), [Some(1), Some(1)]);
            assert_eq!(of("line", "self.size"), [Some(3); 3]);
            assert_eq!(of("spread", "total"), [Some(1), Some(2), Some(3)]);
            assert_eq!(of("suite", "y"), [Some(1), Some(2), Some(3)]);
            assert_eq!(of("closure", "base"), [Some(1); 3]);
            assert_eq!((of("freed", "big"), of("fails", "left")), (vec![None], vec![Some(1)]));
            assert!(receipts.iter().all(|receipt| receipt.state == ReceiptState::Armed), "3.{minor}: {receipts:?}");
            assert!(hits.iter().all(|hit| probes.iter().any(|probe| (&probe.name, probe.line) == (&hit.probe, hit.line))));
        }
    });
}

#[test]
fn a_probe_by_text_leaves_the_program_alone_when_its_overlay_is_gone() {
    on_each(|python| {
        let world = world(python);
        let plain = world.run_plain(&["main.py"]);
        let overlay = put(&world, &world.checked(&specs()[..1]));
        let broken = |text: &str| {
            let output = world.run_plain(&["main.py"]);
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!((output.stdout, stderr.as_str()), (plain.stdout.clone(), ""), "3.{}: {text}", python.minor);
        };
        fs::remove_dir_all(overlay.ring_dir()).expect("own folder");
        broken("no folder for rings");
        fs::write(overlay.dir().join("bystander_overlay/late.py"), "raise SystemError('broken')\n").expect("writes");
        broken("a broken overlay");
        fs::remove_dir_all(overlay.dir()).expect("own folder");
        broken("no overlay");
    });
}

#[test]
fn forks_and_threads_have_their_own_counts_and_a_limit_is_kept_without_a_reader() {
    const PROGRAM: &str = "import os, threading\ndef f(n):\n    m = n\n    return m\ndef loop():\n    for n in range(3000):\n        f(n)\nthreads = [threading.Thread(target=loop) for _ in range(4)]\nfor t in threads: t.start()\nfor t in threads: t.join()\nif os.fork() == 0:\n    f(-1)\n    os._exit(0)\nos.wait()\n";
    on_each(|python| {
        let world = World::new(python, &[("main.py", PROGRAM)]);
        let probes = world.checked(&[ProbeSpec { limit: Some(11_000), ..named("f", "main:f", Some("m = n"), &["m"]) }]);
        let overlay = put(&world, &probes);
        // From 3.12 on a fork warns while the kernel still has a thread that was joined.
        let output = world.run_plain(&["-I", "-S", "-W", "ignore::DeprecationWarning", "main.py"]);
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        let (hits, receipts) = Drain::new(overlay.ring_dir(), &probes).finish().expect("drains");
        let mut counts: Vec<_> = receipts.iter().map(|receipt| receipt.hits).collect();
        counts.sort_unstable();
        assert_eq!(counts, [Some(1), Some(12_000)], "3.{}: {receipts:?}", python.minor);
        // Passes of other threads in the moment of arming are counted; their values nobody saw.
        assert!((10_900..=11_001).contains(&hits.len()), "3.{}: {}", python.minor, hits.len());
        assert_eq!(receipts.iter().map(|receipt| receipt.dropped).max().flatten(), Some(1_000), "3.{}: {receipts:?}", python.minor);
    });
}

#[test]
fn other_encodings_and_line_ends_stay_as_they_are() {
    on_each(|python| {
        let text = "# -*- coding: latin-1 -*-\r\ndef f(n):\r\n\tif n: m = '\u{e9}\u{e9}' + str(n); k = n\r\n\treturn n\r\nf(5)\r\n";
        let bytes: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).expect("is latin-1")).collect();
        let world = World::new(python, &[]);
        fs::create_dir_all(world.program()).expect("creates");
        fs::write(world.program().join("main.py"), &bytes).expect("writes");
        let probes = world.checked(&[named("f", "main:f", Some("return n"), &["k"])]);
        let overlay = put(&world, &probes);
        let now = fs::read(world.program().join("main.py")).expect("reads");
        let start = bytes.windows(8).position(|window| window == b"return n").expect("is there");
        assert!(now.starts_with(&bytes[..start]) && now.ends_with(&bytes[start..]), "{}", String::from_utf8_lossy(&now));
        assert_eq!(String::from_utf8_lossy(&world.run_plain(&["-S", "main.py"]).stderr), "");
        let (hits, _) = Drain::new(overlay.ring_dir(), &probes).finish().expect("drains");
        assert_eq!(values(&hits, "f", "k"), [Some(5)], "3.{}", python.minor);
    });
}

#[test]
fn what_text_cannot_do_is_refused_with_the_reason() {
    on_each(|python| {
        let world = world(python);
        let refused = |spec: ProbeSpec| insertion(&world.checked(&[spec])[0], &PathBuf::from("/overlay")).expect_err("is refused");
        let error = refused(named("alone", "mod:alone", None, &[]));
        assert!(matches!(&error, TextError::NoPlace { reason, .. } if reason.contains("`while` at 25")), "3.{}: {error}", python.minor);
        let error = refused(ProbeSpec { unsafe_capture: true, ..named("unsafe", "mod:one", None, &["str(x)"]) });
        assert!(matches!(error, TextError::Unsafe { .. }), "{error}");
        let error = refused(ProbeSpec { limit: Some(1_000_000), ..named("many", "mod:one", None, &[]) });
        assert!(matches!(error, TextError::Limit { .. }), "{error}");
        let error = refused(named("left", "mod:first@return", None, &["return"]));
        assert!(matches!(&error, TextError::NoPlace { reason, .. } if reason.contains("only an entry or a line")), "{error}");
    });
}

#[test]
fn a_condition_and_a_rate_hold_in_text_too() {
    on_each(|python| {
        let world = World::new(python, &[("main.py", "def f(n):\n    m = n\n    return m\nfor n in range(100):\n    f(n)\n")]);
        let probes = world.checked(&[ProbeSpec { condition: Some("m > 90".into()), ..named("f", "main:f", Some("m = n"), &["m"]) }]);
        let overlay = put(&world, &probes);
        assert_eq!(String::from_utf8_lossy(&world.run_plain(&["-E", "main.py"]).stderr), "");
        let (hits, receipts) = Drain::new(overlay.ring_dir(), &probes).finish().expect("drains");
        assert_eq!(values(&hits, "f", "m"), (91..100).map(Some).collect::<Vec<_>>(), "3.{}: {receipts:?}", python.minor);
    });
}
