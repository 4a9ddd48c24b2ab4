//! Machines on which a launch is no data point, without a GPU: ports, leftovers, memory, load. Each is void with the reason, and the reason names the holder.

use std::fs;
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use bystander_testkit::{Dice, World, is_alive, until};
use serde_json::Value;

use crate::world::{LIMIT, assert_nothing_left, python_world, run, text, trials, world};

/// A process that is ended with the test.
pub(crate) struct Ended(pub(crate) Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An experiment that describes four launches of a program under some conditions.
pub(crate) fn experiment(script: &str, program: &str, conditions: &str) -> String {
    format!(
        "[program]\ncommand = [\"sh\", \"-c\", {script:?}]\n{program}\n[conditions]\n{conditions}\n[plan]\nblocks = 4\ndescribe = true\n"
    )
}

/// The report of a run that ended as invalid, with three void launches of one class.
pub(crate) fn invalid(report: &Value, class: &str) -> String {
    assert_eq!(report["status"], "invalid", "{report:#}");
    assert_eq!(trials(report).len(), 3, "{report:#}");
    for trial in trials(report) {
        assert_eq!((&trial["outcome"], &trial["cause"]), (&Value::from("void"), &Value::from(class)), "{trial:#}");
        assert!(!trial["cause_detail"]["evidence"].as_array().expect("evidence").is_empty());
    }
    let cells = report["cells"].as_array().expect("cells");
    let void = cells.iter().find(|cell| cell["void"] == 3).expect("a cell that lost three");
    assert_eq!((&void["void_causes"][0]["class"], &void["void_causes"][0]["count"]), (&Value::from(class), &Value::from(3)), "{void:#}");
    text(&report["why"]).to_owned()
}

/// A port below those that the system gives out, so that nobody is given it meanwhile.
fn a_port(seed: &str) -> u16 {
    let mut dice = Dice::new(seed);
    std::iter::repeat_with(|| 20_000 + u16::try_from(dice.below(10_000)).expect("small"))
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .expect("a free port")
}

#[test]
fn a_clean_machine_voids_nothing_however_busy_it_is() {
    let world = world();
    // Two processes that never rest while the run goes on.
    let busy: Vec<Ended> = (0..2).map(|_| Ended(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("runs"))).collect();
    let file = world.write("case/case.toml", experiment("exit 0", "", ""));
    let report = run(&world, &file).run().exits(0).json();
    assert_eq!(report["status"], "finished");
    assert!(trials(&report).iter().all(|trial| trial["outcome"] == "completed"), "{report:#}");
    let samples = &trials(&report)[0]["samples"];
    assert!(samples["least_available_bytes"].as_u64().is_some_and(|bytes| bytes > 0), "{samples}");
    drop(busy);
    assert_nothing_left(&world);
}

/// All memory of the machine but a few bytes: never available, and not more than there is.
fn nearly_all_memory() -> String {
    let text = std::fs::read_to_string("/proc/meminfo").expect("memory");
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.split_whitespace().next()?.parse::<u64>().ok());
    format!("free_memory = \"{}KiB\"", total.expect("a total") - 1024)
}

#[test]
fn more_memory_than_the_machine_has_is_refused_before_anything_is_launched() {
    let world = world();
    let file = world.write("case/case.toml", experiment("touch launched", "", "free_memory = \"900TiB\""));
    for args in [&[][..], &["--dry-run"]] {
        let refused = run(&world, &file).args(args).run().exits(3);
        refused.says(&["asks for 921600.0 GiB of memory, and this machine has", "every launch would be void"]);
    }
    assert!(!world.path("case/launched").exists());
}

#[test]
fn too_little_memory_is_waited_for_and_then_voids() {
    let world = world();
    let file = world.write("case/case.toml", experiment("touch launched", "", &format!("{}\nsettle = \"200ms\"", nearly_all_memory())));
    let ran = run(&world, &file).run().exits(2).says(&["waiting up to 200 ms", "of memory are available on this machine"]);
    let why = invalid(&ran.json(), "host_memory");
    assert!(why.contains("are available on this machine, less than the ") && why.contains("that `free_memory`"), "{why}");
    assert!(!world.path("case/launched").exists(), "a launch on a machine without memory");
}

#[test]
fn a_load_above_the_limit_voids() {
    let world = world();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Somebody is busy until the kernel's average says so.
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                std::hint::spin_loop()
            }
        });
        until("some load", LIMIT, || load() > 0.0);
        let file = world.write("case/case.toml", experiment("exit 0", "", "load = 0.0\nsettle = \"0s\""));
        let ran = run(&world, &file).run();
        stop.store(true, Ordering::Relaxed);
        let why = invalid(&ran.exits(2).json(), "load");
        assert!(why.contains("the load of this machine is") && why.contains("more than the 0 that `load`"), "{why}");
    });
}

fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").expect("a load");
    text.split_whitespace().next().expect("a number").parse().expect("a number")
}

/// A program of this machine under a name of its own, which the kernel cuts to 15 bytes.
fn named(world: &World, name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").expect("a PATH");
    let sleep = std::env::split_paths(&path).map(|folder| folder.join("sleep")).find(|file| file.is_file()).expect("sleep");
    let named = world.path(name);
    fs::copy(fs::canonicalize(sleep).expect("sleep"), &named).expect("a copy");
    named
}

/// A title that only the processes of one test have.
fn a_title(what: &str) -> String {
    format!("{what}{}::EngineCore", std::process::id() % 100_000)
}

#[test]
fn a_leftover_is_known_by_its_short_name_alone_and_is_told_and_not_ended() {
    let world = world();
    let title = a_title("Tx");
    let short: String = title.chars().take(15).collect();
    // Nothing is left of the title but what the kernel keeps, as of a process whose arguments were never written over.
    let executable = named(&world, &short);
    let mut left = Command::new(&executable);
    left.arg0("python3").arg("600").stdin(Stdio::null());
    let left = Ended(left.spawn().expect("runs"));
    let comm = || fs::read_to_string(format!("/proc/{}/comm", left.0.id())).unwrap_or_default();
    until("its name", LIMIT, || comm().trim() == short);
    let conditions = format!("titles = [\"{title}\"]\nsettle = \"200ms\"");
    let file = world.write("case/case.toml", experiment("touch launched", "", &conditions));
    let ran = run(&world, &file).run().exits(2).says(&["not launched: pid"]);
    let why = invalid(&ran.json(), "leftover");
    let pid = left.0.id();
    for said in
        [format!("pid {pid} (python3 600)"), format!("user {}", own_name()), "running for".into(), format!("kill {pid}"), "`titles`".into()]
    {
        assert!(why.contains(&said), "{said:?} is missing in {why}");
    }
    assert!(is_alive(pid), "a process was ended for its name");
    assert!(!world.path("case/launched").exists());
    // Without that title nothing is wrong.
    let file = world.write("case/other.toml", experiment("exit 0", "", "titles = []"));
    assert_eq!(run(&world, &file).run().exits(0).json()["status"], "finished");
}

#[test]
fn a_leftover_is_waited_for_until_somebody_ends_it() {
    let world = world();
    let title = a_title("Ty");
    let mut left = Command::new("sleep");
    let mut left = Ended(left.arg0(&title).arg("600").stdin(Stdio::null()).spawn().expect("runs"));
    let file = world.write("case/case.toml", experiment("exit 0", "", &format!("titles = [\"{title}\"]\nsettle = \"1h\"")));
    let running = run(&world, &file).start();
    // Whoever reads what is waited for, and ends it, has lost nothing.
    until("the wait to be told", LIMIT, || running.stderr().contains(&format!("waiting up to 60 min: pid {}", left.0.id())));
    left.0.kill().expect("is ours");
    left.0.wait().expect("ends");
    let report = running.wait().exits(0).json();
    assert!(trials(&report).iter().all(|trial| trial["outcome"] == "completed"), "{report:#}");
}

/// The name of the user of this test, as everywhere.
fn own_name() -> String {
    let uid = std::os::unix::fs::MetadataExt::uid(&fs::metadata("/proc/self").expect("itself")).to_string();
    bystander_edit::user_name(std::path::Path::new("/etc/passwd"), &uid).unwrap_or(uid)
}

/// A server that was started for a trial by somebody outside its tree, as container engines do, and outlives it.
const SERVER: &str = "import signal, socket, sys
server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind(('127.0.0.1', int(sys.argv[1])))
server.listen()
open(sys.argv[2], 'w').close()
while True:
    signal.pause()
";

#[test]
fn an_orphan_that_keeps_the_port_is_told_with_the_trial_that_left_it() {
    let Some(world) = python_world() else { return };
    let port = a_port("an orphan");
    world.write("server.py", SERVER);
    let script = "printf %s \"$BYSTANDER_TRIAL\" > asked.new; mv asked.new asked; sleep 600";
    let file = world
        .write("case/case.toml", experiment(script, &format!("ready = {{ port = {port} }}\ntimeout = \"100s\""), "settle = \"200ms\""));
    let running = run(&world, &file).start();
    until("the trial to ask for a server", LIMIT, || world.path("case/asked").exists());
    let marker = fs::read_to_string(world.path("case/asked")).expect("a marker");
    let mut server = world_python(&world);
    server.env("BYSTANDER_TRIAL", &marker).arg(world.path("server.py")).arg(port.to_string()).arg(world.path("case/up"));
    // A session of its own, as what escapes from a tree has.
    let server = Ended(server.process_group(0).spawn().expect("runs"));
    let report = running.wait().exits(2).json();
    assert_eq!((&report["status"], trials(&report).len()), (&Value::from("invalid"), 3), "{report:#}");
    let why = text(&report["why"]);
    let pid = server.0.id();
    let said = format!("port {port} is held by pid {pid} (");
    assert!(why.contains(&said) && why.contains("a leftover of trial 1 of this run") && why.contains(&format!("kill {pid}")), "{why}");
    let second = &trials(&report)[1];
    assert_eq!((&second["cause"], &second["ready_s"]), (&Value::from("port_in_use"), &Value::Null), "{second:#}");
    assert!(second["output"].as_object().is_none_or(serde_json::Map::is_empty), "it was launched: {second:#}");
}

fn world_python(world: &World) -> Command {
    let python = bystander_testkit::python().expect("checked before");
    let mut command = Command::new(&python.path);
    command.env_clear().envs(world.environment()).current_dir(world.path("")).stdin(Stdio::null());
    command
}

#[test]
fn a_leftover_of_an_earlier_trial_is_told_though_it_holds_nothing() {
    let world = world();
    let script = "if test -e asked; then exit 0; fi; printf %s \"$BYSTANDER_TRIAL\" > asked.new; mv asked.new asked; until test -e up; do sleep 0.01; done";
    let file = world.write("case/case.toml", experiment(script, "timeout = \"100s\"", "settle = \"200ms\""));
    let running = run(&world, &file).start();
    until("the trial to ask", LIMIT, || world.path("case/asked").exists());
    let marker = fs::read_to_string(world.path("case/asked")).expect("a marker");
    let left = Ended(Command::new("sleep").arg("600").env("BYSTANDER_TRIAL", &marker).stdin(Stdio::null()).spawn().expect("runs"));
    world.write("case/up", "");
    let report = running.wait().exits(2).json();
    let why = text(&report["why"]);
    assert_eq!((&trials(&report)[0]["outcome"], trials(&report).len()), (&Value::from("completed"), 4), "{report:#}");
    assert!(trials(&report)[1..].iter().all(|trial| trial["cause"] == "leftover"), "{report:#}");
    assert!(why.contains(&format!("pid {} (sleep 600)", left.0.id())) && why.contains("a leftover of trial 1 of this run"), "{why}");
}

#[test]
fn the_table_says_why_launches_were_void() {
    let world = world();
    let file = world.write("case/case.toml", experiment("exit 0", "", &format!("{}\nsettle = \"0s\"", nearly_all_memory())));
    let ran = world.bystander(["run"]).args([&file]).run().exits(2);
    assert!(ran.stdout.contains("void 3 (host_memory"), "{}", ran.stdout);
}

/// A program that cannot have its port and says that it is ready all the same: its workload would ask whoever took it.
#[test]
fn a_command_that_would_ask_a_stranger_on_the_port_of_the_program_is_not_started() {
    let world = world();
    let port = a_port("stranger under a command");
    let program = "touch launched; until [ -e taken ]; do sleep 0.02; done; echo now ready; exec sleep 600";
    let file = world.write(
        "case/case.toml",
        format!(
            "[program]\ncommand = [\"sh\", \"-c\", {program:?}, \"serve\", \"--port\", \"{port}\"]\nready = {{ log = 'now ready' }}\ngrace = '1s'\n\
             [workload]\ncommand = ['sh', '-c', 'touch asked', 'ask', 'http://127.0.0.1:{port}/v1']\n[conditions]\nsettle = '1s'\n[plan]\nblocks = 4\ndescribe = true\n"
        ),
    );
    let folder = file.parent().expect("a folder").to_path_buf();
    let (launched, taken) = (folder.join("launched"), folder.join("taken"));
    // Whoever takes the port between the look before the launch and the launch.
    let stranger = std::thread::spawn(move || {
        until("it is launched", LIMIT, || launched.exists());
        let listener = TcpListener::bind(("127.0.0.1", port)).expect("the port is free");
        fs::write(&taken, "").expect("written");
        listener
    });
    let report = run(&world, &file).run().json();
    drop(stranger.join().expect("it has the port"));
    invalid(&report, "port_in_use");
    let first = text(&trials(&report)[0]["cause_detail"]["text"]);
    assert!(first.contains(&format!("the workload goes to port {port}, where ")), "{first}");
    assert!(first.contains(&format!("process {}", std::process::id())) && first.contains("write `{port}`"), "{first}");
    assert!(!folder.join("asked").exists(), "nobody is asked");
    assert_nothing_left(&world);
}
