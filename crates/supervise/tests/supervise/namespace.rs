//! Private mounts: seen inside, by nobody else, gone with the trial; and what refuses them is named.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use bystander_supervise::namespace::{Bind, MountWatch, NamespaceError, OverlayDir, Step};
use bystander_supervise::{ExitStatus, KeeperProgram, Namespace, StartError, Trial, TrialEvent, TrialSpec};
use bystander_testkit::{Mark, skip};

use crate::bench::{LIMIT, Told, World, keeper, until, wait_for};

const NOBODY: u32 = 65534;

/// Who starts the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum As {
    /// The user of the tests, as it is.
    Self_,
    /// An unprivileged user.
    Nobody,
    /// A superuser as in a container: without the right to mount.
    Contained,
}

/// The ways that can be tried here: others than one's own need a superuser.
fn ways() -> Vec<As> {
    if rustix::process::geteuid().is_root() && Path::new("/usr/bin/setpriv").exists() {
        return vec![As::Self_, As::Nobody, As::Contained];
    }
    skip("other users than one's own need a superuser and setpriv", Mark::Superuser);
    vec![As::Self_]
}

impl As {
    /// The words before a command.
    fn prefix(self) -> Vec<&'static str> {
        match self {
            As::Self_ => Vec::new(),
            As::Nobody => vec!["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"],
            As::Contained => vec!["setpriv", "--bounding-set", "-sys_admin"],
        }
    }

    fn keeper(self) -> KeeperProgram {
        let KeeperProgram { exe, args } = keeper();
        let mut words = self.prefix().into_iter().map(Into::into).chain([exe.into_os_string()]).chain(args);
        let exe = words.next().map(PathBuf::from).expect("has a program");
        let exe = if exe.is_absolute() { exe } else { Path::new("/usr/bin").join(exe) };
        KeeperProgram { exe, args: words.collect() }
    }
}

/// A folder with files for a namespace, readable by everybody.
struct Files {
    world: World,
    way: As,
}

impl Files {
    fn new(way: As) -> Self {
        let world = World::new();
        fs::set_permissions(world.directory.path(), fs::Permissions::from_mode(0o755)).expect("own folder");
        let files = Self { world, way };
        files.world.write("target", "original\n");
        files.world.write("patched", "patched\n");
        for folder in ["package", "layer", "scratch"] {
            fs::create_dir(files.world.path(folder)).expect("creates");
        }
        files.world.write("package/old", "old\n");
        files.world.write("layer/new", "new\n");
        for name in ["target", "patched", "package", "package/old", "layer", "layer/new", "scratch"] {
            files.give(name);
        }
        files
    }

    /// Gives a file to the user of the program.
    fn give(&self, name: &str) {
        if self.way == As::Nobody {
            chown(self.world.path(name), Some(NOBODY), Some(NOBODY)).expect("superuser");
        }
    }

    fn bind(&self) -> Namespace {
        let bind = Bind { source: self.world.path("patched"), target: self.world.path("target"), writable: false };
        Namespace { binds: vec![bind], ..Namespace::default() }
    }

    fn layered(&self) -> Namespace {
        let layer = OverlayDir { layer: self.world.path("layer"), target: self.world.path("package") };
        Namespace { layers: vec![layer], scratch: Some(self.world.path("scratch")), ..self.bind() }
    }

    fn spec(&self, script: &str, namespace: Namespace) -> TrialSpec {
        TrialSpec { keeper: self.way.keeper(), namespace: Some(namespace), ..self.world.spec(&["sh", "-c", script]) }
    }

    /// Runs a script to its end and returns what it printed.
    fn sh(&self, script: &str, namespace: Namespace) -> Vec<String> {
        let mut trial = Trial::start(self.spec(script, namespace)).unwrap_or_else(|error| panic!("{:?}: {}", self.way, told(&error)));
        let told = Told::of(&mut trial);
        assert_eq!(told.status(), ExitStatus::Code(0), "{:?}: {:?}", self.way, told.texts());
        told.texts().into_iter().map(|text| text.trim_end().to_owned()).collect()
    }

    fn refused(&self, namespace: Namespace) -> NamespaceError {
        match Trial::start(self.spec("echo ran", namespace)) {
            Err(StartError::Namespace(error)) => error,
            Err(error) => panic!("{error:?}"),
            Ok(_) => panic!("it started"),
        }
    }
}

fn told(error: &StartError) -> String {
    let source = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    format!("{error}: {source}")
}

#[test]
fn a_bound_file_is_seen_by_the_whole_tree_and_by_nobody_else() {
    for way in ways() {
        let files = Files::new(way);
        let before = fs::metadata(files.world.path("target")).expect("is there");
        let mounts = fs::read_to_string("/proc/self/mountinfo").expect("reads");
        let script = "cat target; setsid sh -c 'cat target'; id -u; echo x 2>/dev/null >target || echo read-only; cat target";
        let uid = if way == As::Nobody { NOBODY } else { rustix::process::geteuid().as_raw() };
        let lines = files.sh(script, files.bind());
        assert_eq!(lines, ["patched", "patched", &uid.to_string(), "read-only", "patched"], "{way:?}");
        assert_eq!(fs::read_to_string(files.world.path("target")).expect("reads"), "original\n");
        assert_eq!(fs::read_to_string(files.world.path("patched")).expect("reads"), "patched\n");
        let after = fs::metadata(files.world.path("target")).expect("is there");
        assert_eq!((before.ino(), before.mtime(), before.ctime()), (after.ino(), after.mtime(), after.ctime()));
        assert_eq!(mounts, fs::read_to_string("/proc/self/mountinfo").expect("reads"));
    }
}

#[test]
fn a_layered_folder_shows_both_and_keeps_nothing() {
    for way in ways() {
        let files = Files::new(way);
        let before = fs::metadata(files.world.path("package")).expect("is there");
        // The working directory lies in the layered folder itself.
        let mut spec = files.spec("ls; echo more >made; rm old; ls; stat -c '%a %u' .", files.layered());
        spec.command.cwd = files.world.path("package");
        let told = Told::of(&mut Trial::start(spec).unwrap_or_else(|error| panic!("{way:?}: {}", told(&error))));
        let lines: Vec<String> = told.texts().into_iter().map(|text| text.trim_end().to_owned()).collect();
        let looks = format!("{:o} {}", before.mode() & 0o7777, before.uid());
        assert_eq!(lines, ["new", "old", "made", "new", &looks], "{way:?}");
        let names = |folder: &str| fs::read_dir(files.world.path(folder)).expect("lists").count();
        assert_eq!((names("package"), names("layer"), names("scratch")), (1, 1, 0));
        assert_eq!(fs::read_to_string(files.world.path("package/old")).expect("reads"), "old\n");
    }
}

#[test]
fn a_program_gets_no_rights_from_its_namespace() {
    let script = "grep -E '^(Cap(Prm|Eff)|Uid|Gid)' /proc/self/status; test -r /proc/self/environ && echo readable";
    for way in ways() {
        let files = Files::new(way);
        let bare = TrialSpec { namespace: None, ..files.spec(script, Namespace::default()) };
        let told = Told::of(&mut Trial::start(bare).expect("starts"));
        let bare: Vec<String> = told.texts().into_iter().map(|text| text.trim_end().to_owned()).collect();
        assert_eq!(files.sh(script, files.bind()), bare, "{way:?}");
    }
}

#[test]
fn the_flags_of_the_mount_that_a_file_comes_from_are_kept() {
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("reads");
    let of_proc = mounts.lines().find(|line| line.split(' ').nth(4) == Some("/proc")).expect("is mounted");
    let expected: Vec<&str> = of_proc.split(' ').nth(5).expect("has flags").split(',').filter(|flag| flag.starts_with("no")).collect();
    for way in ways() {
        let files = Files::new(way);
        // Most systems mount it with nosuid, nodev and noexec, which a user namespace may not take away.
        let bind = Bind { source: "/proc/version".into(), target: files.world.path("target"), writable: false };
        let script = "cat target; grep -F \"$PWD/target\" /proc/self/mountinfo | cut -d' ' -f6";
        let lines = files.sh(script, Namespace { binds: vec![bind], ..Namespace::default() });
        assert!(lines[0].starts_with("Linux version"), "{way:?}: {lines:?}");
        let flags: Vec<&str> = lines[1].split(',').collect();
        assert!(flags.contains(&"ro") && expected.iter().all(|flag| flags.contains(flag)), "{way:?}: {flags:?} {expected:?}");
    }
}

#[test]
fn the_step_that_refuses_is_named_and_nothing_runs() {
    for way in ways() {
        let files = Files::new(way);
        let missing = Bind { source: files.world.path("missing"), target: files.world.path("target"), writable: false };
        let error = files.refused(Namespace { binds: vec![missing], ..Namespace::default() });
        assert_eq!((error.step, error.source.raw_os_error()), (Step::Bind, Some(libc::ENOENT)), "{way:?}");
        assert_eq!(error.path, Some(files.world.path("target")));
        let text = error.to_string();
        assert!(text.contains("mount(MS_BIND)") && text.ends_with("/target"), "{text}");
        assert_eq!(files.world.stdout(), b"");
        assert_eq!(files.world.marked(), Vec::<u32>::new());

        let gone = Namespace { scratch: Some(files.world.path("missing")), ..files.layered() };
        let error = files.refused(gone);
        assert_eq!((error.step, error.path), (Step::Scratch, Some(files.world.path("missing"))), "{way:?}");
    }
}

#[test]
fn what_a_rename_from_outside_takes_away_is_found() {
    for way in ways() {
        let files = Files::new(way);
        let namespace = files.bind();
        let watch = MountWatch::new(&namespace).expect("is there");
        let mut trial =
            Trial::start(files.spec("echo up; until test \"$(cat target)\" = other; do :; done; echo other", namespace)).expect("starts");
        let mut events = Vec::new();
        wait_for(&mut trial, &mut events, |event| matches!(event, TrialEvent::Line(_)));
        assert_eq!(watch.detached(Some(trial.pid())), []);
        // The kernel takes the mount away a moment before the new file is there.
        files.world.write("other", "other\n");
        files.give("other");
        fs::rename(files.world.path("other"), files.world.path("target")).expect("own files");
        let found = watch.detached(Some(trial.pid()));
        assert_eq!(found.len(), 1, "{way:?}");
        assert!(found[0].target == files.world.path("target") && found[0].text.contains("another file"), "{found:?}");
        wait_for(
            &mut trial,
            &mut events,
            |event| matches!(event, TrialEvent::Line(line) if line.text() == "other\n" || line.text() == "other"),
        );
        drop(trial);
        assert_eq!(watch.detached(None).len(), 1);
        // A new file under the old name is no more the one that was bound over.
        fs::remove_file(files.world.path("target")).expect("own file");
        files.world.write("target", "original\n");
        assert_eq!(watch.detached(None).len(), 1);
    }
}

#[test]
fn a_mount_that_the_program_takes_away_is_found() {
    let files = Files::new(As::Self_);
    if !rustix::process::geteuid().is_root() {
        return skip("only a superuser can take a mount away", Mark::Superuser);
    }
    let namespace = files.bind();
    let watch = MountWatch::new(&namespace).expect("is there");
    let mut trial = Trial::start(files.spec("umount \"$PWD/target\" && echo gone; sleep 600", namespace)).expect("starts");
    let mut events = Vec::new();
    wait_for(&mut trial, &mut events, |event| matches!(event, TrialEvent::Line(_)));
    let found = watch.detached(Some(trial.pid()));
    assert!(found.len() == 1 && found[0].text.contains("a process of the trial sees another file"), "{found:?}");
}

#[test]
fn a_killed_keeper_leaves_neither_processes_nor_mounts() {
    for way in ways() {
        let files = Files::new(way);
        let mounts = fs::read_to_string("/proc/self/mountinfo").expect("reads");
        let mut trial = Trial::start(files.spec("setsid sleep 600 & echo up; sleep 600", files.layered())).expect("starts");
        let mut events = Vec::new();
        wait_for(&mut trial, &mut events, |event| matches!(event, TrialEvent::Line(_)));
        let keeper = parent_of(trial.pid());
        rustix::process::kill_process(rustix::process::Pid::from_raw(keeper).expect("a pid"), rustix::process::Signal::KILL)
            .expect("own process");
        let told = Told::finish(&mut trial, Duration::ZERO, events);
        assert!(told.finished.keeper_lost.is_some(), "{way:?}");
        drop(trial);
        until("the processes are gone", LIMIT, || files.world.marked().is_empty());
        assert_eq!(mounts, fs::read_to_string("/proc/self/mountinfo").expect("reads"));
        assert_eq!(fs::read_to_string(files.world.path("target")).expect("reads"), "original\n");
        assert_eq!(fs::read_dir(files.world.path("scratch")).expect("lists").count(), 0);
    }
}

fn parent_of(pid: u32) -> i32 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("lives");
    status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok()).expect("has a parent")
}

/// What a process behind these words says of private mounts.
fn said(words: &[&str]) -> String {
    let exe = env!("CARGO_BIN_EXE_bystander-keeper");
    let words: Vec<&str> = words.iter().copied().chain([exe, "namespaces"]).collect();
    let done = Command::new(words[0]).args(&words[1..]).output().expect("starts");
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).expect("is text")
}

#[test]
fn every_user_is_told_how_private_mounts_can_be_made() {
    let ways = ways();
    for way in &ways {
        let said = said(&way.prefix());
        let expected = match way {
            As::Self_ if ways.len() > 1 => "possible, as superuser\nRoot",
            _ => "possible, in a user namespace\nUser",
        };
        assert!(said.starts_with(expected), "{way:?}: {said}");
    }
}

#[test]
fn where_no_user_namespace_may_be_made_that_is_said() {
    if ways().len() == 1 {
        return;
    }
    // In a user namespace of its own, where none may be made below, and without the right to mount there.
    let script = "echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --bounding-set -sys_admin \"$@\"";
    let said = said(&["unshare", "--user", "--map-root-user", "sh", "-c", script, "sh"]);
    assert!(said.starts_with("refused: unshare(CLONE_NEWUSER | CLONE_NEWNS) failed"), "{said}");
    assert!(said.contains("user.max_user_namespaces") && said.contains("sysctl"), "{said}");
}

#[test]
fn a_refused_namespace_starts_nothing() {
    if ways().len() == 1 {
        return;
    }
    let files = Files::new(As::Self_);
    let KeeperProgram { exe, args } = keeper();
    let script = "echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --bounding-set -sys_admin \"$@\"";
    let words = ["--user", "--map-root-user", "sh", "-c", script, "sh"].into_iter().map(Into::into);
    let keeper = KeeperProgram { exe: "/usr/bin/unshare".into(), args: words.chain([exe.into_os_string()]).chain(args).collect() };
    let spec = TrialSpec { keeper, ..files.spec("echo ran", files.bind()) };
    let Err(StartError::Namespace(error)) = Trial::start(spec) else { panic!("it started, or failed otherwise") };
    assert_eq!((error.step, error.source.raw_os_error()), (Step::UnshareUser, Some(libc::ENOSPC)));
    assert_eq!(files.world.stdout(), b"");
}
