//! Sends what a command prints, from a place in it on, until it ends.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::thread;
use std::time::Duration;

use super::agent::Voice;
use super::cleared;
use super::job::Job;
use super::message::{Standing, Told};

/// Bytes that are sent at once.
const CHUNK: usize = 256 << 10;
/// Between two looks at a file that grows.
const SHORTEST: Duration = Duration::from_millis(1);
/// Between two looks at a file that does not.
const LONGEST: Duration = Duration::from_millis(32);

/// Follows a command on a thread of its own.
pub(super) fn start(name: String, job: Job, from: u64, voice: Voice) {
    thread::spawn(move || {
        let followed = follow(&name, &job, from, &voice);
        if let Err(error) = followed {
            voice.failed(&format!("follow the command {name}"), &error);
        }
    });
}

fn follow(name: &str, job: &Job, mut from: u64, voice: &Voice) -> io::Result<()> {
    let output = job.output()?;
    let mut buffer = vec![0; CHUNK];
    let mut pause = SHORTEST;
    loop {
        // How it stands is looked at first: what it printed before its end is there then.
        let standing = job.standing()?.unwrap_or(Standing::Lost);
        let before = from;
        from = send(name, &output, from, &mut buffer, voice)?;
        if from > before {
            pause = SHORTEST;
            continue;
        }
        if standing == Standing::Lost {
            // Its warden can take back nothing any more. What the command itself is at yet is left to it.
            let _nobody_asks = cleared::clear(job.state(), 0);
        }
        if standing != Standing::Running {
            return voice.say(&Told::Ended { job: name.to_owned(), standing }, &[]);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(LONGEST);
    }
}

/// Sends the next chunk, and gives where the one after it begins.
fn send(name: &str, output: &File, from: u64, buffer: &mut [u8], voice: &Voice) -> io::Result<u64> {
    let read = output.read_at(buffer, from)?;
    if read > 0 {
        voice.say(&Told::Output { job: name.to_owned(), from }, &buffer[..read])?;
    }
    Ok(from + read as u64)
}
