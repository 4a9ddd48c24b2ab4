//! The command on a terminal: a pseudoterminal of a given size, and everything that was drawn on it.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use rustix::fs::{Mode, OFlags};
use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::process::kill;
use crate::wait::{LIMIT, until};

/// A command that runs on a terminal. It is killed when it is dropped.
#[derive(Debug)]
pub struct OnTerminal {
    child: Child,
    master: OwnedFd,
    drawn: Arc<Mutex<Vec<u8>>>,
    reading: Option<JoinHandle<()>>,
}

impl OnTerminal {
    /// Starts a command whose three streams are a terminal of so many columns.
    pub(crate) fn start(command: &mut Command, columns: u16) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).expect("a terminal");
        grantpt(&master).and_then(|()| unlockpt(&master)).expect("its own terminal");
        let name = ptsname(&master, Vec::new()).expect("the name of the terminal");
        let slave = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).expect("the terminal");
        tcsetwinsize(&slave, size(columns)).expect("a size");
        let stream = || Stdio::from(slave.try_clone().expect("a descriptor"));
        let child =
            command.stdin(stream()).stdout(stream()).stderr(stream()).spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        // The command still holds ends of the terminal; the reader must see its end when the child does.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        drop(slave);
        let drawn = Arc::<Mutex<Vec<u8>>>::default();
        let (mut from, to) = (File::from(master.try_clone().expect("a descriptor")), Arc::clone(&drawn));
        let reading = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // It fails once the last process has closed its end.
            while let Ok(read @ 1..) = from.read(&mut buffer) {
                to.lock().expect("no test panics here").extend_from_slice(&buffer[..read]);
            }
        });
        Self { child, master, drawn, reading: Some(reading) }
    }

    /// Its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal.
    pub fn signal(&mut self, signal: Signal) {
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            kill(self.child.id(), signal);
        }
    }

    /// Gives the terminal another width.
    ///
    /// # Panics
    /// Where the terminal is gone.
    pub fn resize(&self, columns: u16) {
        tcsetwinsize(&self.master, size(columns)).expect("a size");
    }

    /// What was written to the terminal so far, with its escape codes.
    ///
    /// # Panics
    /// Never, unless the reader did.
    #[must_use]
    pub fn drawn(&self) -> String {
        String::from_utf8_lossy(&self.drawn.lock().expect("no test panics here")).into_owned()
    }

    /// Waits for its end; gives its exit code and everything that was drawn.
    ///
    /// # Panics
    /// Where it does not end.
    #[must_use]
    pub fn wait(mut self) -> (Option<i32>, String) {
        until("the end of the command on a terminal", LIMIT * 5, || self.child.try_wait().expect("a child can be waited for").is_some());
        let status = self.child.wait().expect("a child can be waited for");
        if let Some(reading) = self.reading.take() {
            reading.join().expect("a reader");
        }
        (status.code(), self.drawn())
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        // It has ended where it was waited for; then there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn size(columns: u16) -> Winsize {
    Winsize { ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}
