//! How a program starts and ends: codes, signals, refusals, a clean environment.

use std::error::Error;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use bystander_supervise::{ExitStatus, ResolveError, StartError, TrialEvent};

use crate::bench::{Told, World, wait_for};

#[test]
fn exit_codes_and_signals_are_told_apart() {
    let world = World::new();
    assert_eq!(world.sh("exit 0").status(), ExitStatus::Code(0));
    assert_eq!(world.sh("exit 7").status(), ExitStatus::Code(7));
    assert_eq!(world.sh("kill -9 $$").status(), ExitStatus::Signal { signal: 9, core_dumped: false });
    let through_shell = world.sh("sh -c 'kill -TERM $$'; exit $?").status();
    assert_eq!((through_shell.code(), through_shell.signal()), (Some(143), None), "a code is a code");
}

#[test]
fn what_cannot_be_started_is_refused_with_the_reason() {
    let world = World::new();
    let missing = world.refusal(&["no-such-command-anywhere"]);
    assert!(matches!(missing, StartError::Command(ResolveError::NotFound { .. })), "{missing:?}");

    let script = world.write("script", "#!/nowhere/python3\n");
    let plain = world.refusal(&["./script"]);
    assert!(matches!(plain, StartError::Command(ResolveError::NotExecutable { .. })), "{plain:?}");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("sets the mode");
    let interpreter = world.refusal(&["./script"]);
    assert!(matches!(interpreter, StartError::Command(ResolveError::NoInterpreter { .. })), "{interpreter:?}");

    // A relative interpreter is the kernel's to judge.
    world.write("script", "#!nowhere/python3\n");
    let refused = world.refusal(&["./script"]);
    let cause = refused.source().map(ToString::to_string).unwrap_or_default();
    assert!(matches!(refused, StartError::Refused { .. }) && cause.contains("No such file"), "{refused:?}");

    let zero = world.refusal(&["true", "a\0b"]);
    assert!(matches!(&zero, StartError::Refused { source, .. } if source.kind() == std::io::ErrorKind::InvalidInput), "{zero:?}");

    let mut spec = world.spec(&["true"]);
    spec.command.cwd = world.path("no-such-directory");
    let directory = bystander_supervise::Trial::start(spec).err();
    assert!(matches!(directory, Some(StartError::Directory { .. })), "{directory:?}");
    assert_eq!(world.marked(), Vec::<u32>::new());
}

#[test]
fn a_keeper_that_is_no_keeper_is_a_fault_of_the_harness() {
    let world = World::new();
    let mut spec = world.spec(&["true"]);
    spec.keeper.exe = "/bin/true".into();
    let error = bystander_supervise::Trial::start(spec).err();
    assert!(matches!(error, Some(StartError::Keeper { .. })), "{error:?}");
}

#[test]
fn the_program_gets_a_clean_process_of_its_own() {
    let world = World::new();
    let mut spec = world.spec(&["python3", "-c", "import os,sys,signal\nprint(sorted(os.listdir('/proc/self/fd'))[:3], os.getsid(0)==os.getpgid(0)==os.getpid(), os.readlink('/proc/self/fd/0'))\nprint([s for s in range(1,65) if s not in (9,19,32,33) and signal.getsignal(s)==signal.SIG_IGN], signal.pthread_sigmask(signal.SIG_BLOCK, []))\nprint(sorted(os.environ), os.getcwd(), sys.argv)\nprint(len(os.listdir('/proc/self/fd')))", "a b"]);
    let path = spec.command.env[std::ffi::OsStr::new("PATH")].clone();
    spec.command.env.clear();
    spec.command.env.insert("PATH".into(), path);
    spec.command.env.insert("ODD".into(), "x=y\nz".into());
    let told = Told::of(&mut bystander_supervise::Trial::start(spec).expect("starts"));
    let texts = told.texts();
    assert_eq!(texts[0], "['0', '1', '2'] True /dev/null");
    // Python itself ignores SIGPIPE and SIGXFSZ.
    assert_eq!(texts[1], "[13, 25] set()");
    let cwd = fs::canonicalize(world.directory.path()).expect("resolves");
    assert!(texts[2].contains("'BYSTANDER_TRIAL'") && texts[2].contains("'ODD', 'PATH'"), "{}", texts[2]);
    assert!(texts[2].contains(&format!("{} ['-c', 'a b']", cwd.display())), "{}", texts[2]);
    // The three streams and the listing itself.
    assert_eq!(texts[3], "4");
}

#[test]
fn the_end_comes_after_all_that_was_written_before_it() {
    let world = World::new();
    let told = world.sh("seq 1 20000; echo last >&2; printf unfinished");
    let exited = told.position(|event| matches!(event, TrialEvent::Exited(_))).expect("is told");
    let line =
        |wanted: &str| told.position(|event| matches!(event, TrialEvent::Line(line) if line.text == wanted.as_bytes())).expect("is told");
    assert!(line("20000") < exited && line("last") < exited);
    let empty = told.position(|event| matches!(event, TrialEvent::TreeEmpty(_))).expect("is told");
    assert!(exited < empty && line("unfinished") < empty);
    assert_eq!((told.finished.stdout.lines, told.finished.stdout.complete), (20001, true));
}

#[test]
fn what_the_tree_used_is_counted() {
    let world = World::new();
    let told = Told::of(&mut world.start(&["python3", "-c", "x=bytearray(80<<20)\nfor i in range(1500000): pass"]));
    let exit = told.finished.exit.expect("has ended");
    assert!(exit.usage.max_rss_bytes > 80 << 20, "{exit:?}");
    assert!(exit.usage.user > Duration::from_millis(5), "{exit:?}");
    let tree = told.finished.tree.expect("is empty");
    assert!(tree.usage.max_rss_bytes >= exit.usage.max_rss_bytes && tree.kills == 0, "{tree:?}");
}

/// A peak that comes and goes between two samples is in the peak all the same, of the program and of a child that it waited for.
#[test]
fn a_peak_that_no_sample_sees_is_in_the_peak() {
    let world = World::new();
    let peak = "bytearray(b'x') * (80 << 20)";
    let child = format!("import subprocess, sys; subprocess.run([sys.executable, '-c', \"{peak}\"])");
    for program in [peak, &child] {
        let told = Told::of(&mut world.start(&["python3", "-c", program]));
        assert!(told.finished.peak_rss_bytes > 80 << 20, "{program}: {}", told.finished.peak_rss_bytes);
    }
}

#[test]
fn a_program_that_heeds_sigterm_may_end_in_its_own_way() {
    let world = World::new();
    let mut trial = world.start(&["sh", "-c", "trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.01; done"]);
    let mut events = Vec::new();
    wait_for(&mut trial, &mut events, |event| matches!(event, TrialEvent::Line(_)));
    let told = Told::finish(&mut trial, Duration::from_secs(30), events);
    assert_eq!(told.status(), ExitStatus::Code(3));
    assert_eq!(world.stdout(), b"up\nbye\n");
}

#[test]
fn a_program_that_ignores_sigterm_is_killed_after_the_grace() {
    let world = World::new();
    let mut trial =
        world.start(&["python3", "-c", "import signal,time\nsignal.signal(15,signal.SIG_IGN)\nprint('up',flush=True)\ntime.sleep(600)"]);
    let mut events = Vec::new();
    wait_for(&mut trial, &mut events, |event| matches!(event, TrialEvent::Line(_)));
    let asked = std::time::Instant::now();
    let told = Told::finish(&mut trial, Duration::from_millis(300), events);
    assert_eq!(told.status(), ExitStatus::Signal { signal: 9, core_dumped: false });
    assert!(asked.elapsed() >= Duration::from_millis(300), "{:?}", asked.elapsed());
    assert!(told.finished.tree.expect("is empty").kills >= 1);
}

#[test]
fn a_program_that_no_sample_could_see_is_among_the_processes() {
    let world = World::new();
    let told = world.sh("exit 0");
    let program = told.finished.processes.iter().find(|process| process.title() == "sh -c exit 0");
    assert!(program.is_some(), "{:?}", told.finished.processes);
}
