//! What goes on beside a trap: a server of somebody else, such as one that was left over.

use std::net::TcpListener;
use std::path::Path;

use bystander_testkit::{LIMIT, Running, World, python, until};

/// A program that runs before and during an experiment; `beside.py` of the trap, where it has one. It is given a port, and makes the file `up`.
pub(crate) struct Beside {
    port: u16,
    running: Option<Running>,
}

impl Beside {
    pub(crate) fn start(world: &World, trap: &Path) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a free port").port();
        let program = trap.join("beside.py");
        let running = program.exists().then(|| {
            let python = python().expect("asked before");
            let running = world.run(&python.path).cwd(trap).args([program.as_os_str()]).args([port.to_string()]).start();
            until("the program beside the trap", LIMIT, || trap.join("up").exists());
            running
        });
        Self { port, running }
    }

    /// Asserts that nobody ended it: it is not Bystander's, whatever it is called.
    pub(crate) fn still_runs(&mut self) {
        if let Some(running) = &mut self.running {
            assert!(!running.has_ended(), "what runs beside the trap was ended: {}", running.output());
        }
    }

    /// An experiment with the port for `@PORT@`, to which engines and GPUs of others who use this machine mean nothing.
    pub(crate) fn fill(&self, experiment: &str) -> String {
        let others = if experiment.contains("[conditions]") { "" } else { "\n[conditions]\ntitles = []\ngpus   = []\n" };
        experiment.replace("@PORT@", &self.port.to_string()) + others
    }
}
