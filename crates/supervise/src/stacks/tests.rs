//! Stacks of real processes that stand still.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::{ProcessStacks, Python, Stacks, WaitKind, take};
use crate::tree::process;
use bystander_testkit::{Signal, kill, python, pythons, until};

/// Longer than a look takes under any load.
const LIMIT: Duration = Duration::from_secs(60);

/// A child that is killed when the test is over, also when it fails.
struct Standing(Child);

impl Drop for Standing {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Standing {
    fn start(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts"))
    }

    fn look(&self) -> Stacks {
        take(&process(self.0.id()).into_iter().collect::<Vec<_>>(), LIMIT)
    }

    /// Looks until it stands as is wanted.
    fn stands(&self, what: &str, wanted: impl Fn(&ProcessStacks) -> bool) -> ProcessStacks {
        let mut found = None;
        until(what, LIMIT, || {
            found = self.look().processes.into_iter().next().filter(&wanted);
            found.is_some()
        });
        found.expect("stands")
    }
}

/// The functions of the main thread's stack, outermost first.
fn functions(stacks: &ProcessStacks) -> Vec<&str> {
    stacks.main_stack().map(|stack| stack.frames.iter().map(|frame| frame.function.as_str()).collect()).unwrap_or_default()
}

const DEADLOCK: &str = "import threading\nlock = threading.Lock()\nlock.acquire()\ndef inner():\n    lock.acquire()\ndef outer():\n    inner()\n\
                        threading.Thread(target=outer, name='helper', daemon=True).start()\nouter()\n";

#[test]
fn a_deadlock_is_seen_to_the_line_on_every_interpreter() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("dead.py");
    std::fs::write(&script, DEADLOCK).expect("writes");
    for python in pythons() {
        let child = Standing::start(Command::new(&python.path).arg(&script));
        let waits = |stacks: &ProcessStacks| {
            let threads = if let Python::Stacks { threads, .. } = &stacks.python { threads.len() } else { 0 };
            functions(stacks) == ["<module>", "outer", "inner"] && threads == 2 && stacks.main.kind == WaitKind::Lock
        };
        let first = child.stands("the deadlock", waits);
        let frame = first.main_stack().and_then(|stack| stack.frames.last()).expect("an entry");
        assert_eq!((frame.file.as_str(), frame.line), (script.to_str().expect("text"), 5));
        let second = child.look().processes.remove(0);
        assert!(second.stands_as(&first) && second.main.times == first.main.times && !second.runs && !second.listens);
        let (lines, firsts) = child.look().lines(&|title| title.replace("dead.py", "****"));
        assert_eq!(firsts, [0]);
        assert!(lines[0].ends_with("****") && lines[1].contains("waits for a lock"), "{lines:#?}");
        assert!(lines.iter().any(|line| line.contains("thread helper")) && lines.iter().any(|line| line.ends_with("line 5, in inner")));
    }
}

#[test]
fn a_sleep_has_a_clock_and_a_server_has_its_socket() {
    let sleeps = "import time\ntime.sleep(600)\n";
    let serves = "import socket\ns = socket.socket()\ns.bind(('127.0.0.1', 0))\ns.listen()\ns.accept()\n";
    for python in pythons() {
        let child = Standing::start(Command::new(&python.path).args(["-c", sleeps]));
        let asleep = child.stands("the sleep", |stacks| stacks.main.kind == WaitKind::Clock && functions(stacks) == ["<module>"]);
        assert!(!asleep.listens);
        let child = Standing::start(Command::new(&python.path).args(["-c", serves]));
        child.stands("the server", |stacks| stacks.listens && stacks.main.kind == WaitKind::Events);
    }
}

#[test]
fn a_program_that_moves_does_not_stand_as_before() {
    let Some(python) = python() else { return };
    let script = "def a():\n    for n in range(3000): pass\ndef b():\n    for n in range(3000): pass\nwhile True:\n    a()\n    b()\n";
    let child = Standing::start(Command::new(&python.path).args(["-c", script]));
    let first = child.stands("the loop", |stacks| functions(stacks).first() == Some(&"<module>"));
    child.stands("another entry, and running", |stacks| stacks.runs && !stacks.stands_as(&first));
}

#[test]
fn other_programs_have_what_the_kernel_says_and_the_gone_nothing() {
    let child = Standing::start(&mut Command::new("cat"));
    let cat = child.stands("cat reads", |stacks| stacks.main.kind == WaitKind::Bytes);
    assert_eq!(cat.python, Python::None);
    let gone = process(child.0.id()).expect("is there");
    drop(child);
    let stacks = take(&[gone], LIMIT);
    assert_eq!((&stacks.processes[0].python, stacks.processes[0].main.kind), (&Python::None, WaitKind::Unknown));
}

#[test]
fn a_stopped_program_is_seen_to_be_stopped() {
    let child = Standing::start(Command::new("cat").arg("-"));
    kill(child.0.id(), Signal::STOP);
    child.stands("it is stopped", |stacks| stacks.main.kind == WaitKind::Stopped);
}

#[test]
fn what_does_not_come_in_time_is_unread_and_said_to_be() {
    let Some(python) = python() else { return };
    let child = Standing::start(Command::new(&python.path).args(["-c", "import time\ntime.sleep(600)\n"]));
    child.stands("the sleep", |stacks| stacks.main_stack().is_some());
    let stacks = take(&process(child.0.id()).into_iter().collect::<Vec<_>>(), Duration::ZERO);
    // A reader may be faster than any limit.
    if let Python::Unread { why } = &stacks.processes[0].python {
        assert_eq!(why, "they were not read within 0 s");
    }
}
