//! Starts an agent at the other end of a connection, and hears whether it is there.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use bystander_model::chain::with_causes;
use openssh::{Session, Stdio};
use tokio::runtime::Runtime;

use super::LinkError;
use crate::remote::agent::ARGUMENT;
use crate::remote::message::{GREETING, PROTOCOL, VERSION};
use crate::remote::upload;

/// How long the agent may take to say that it is there, shells' starts included.
const GREET: Duration = Duration::from_secs(30);
/// Bytes that a shell may print before the agent is there.
const MOST_NOISE: usize = 256 * 1024;
/// Bytes of the last words of the far end that are kept.
const LAST_WORDS: usize = 4096;

/// What came of starting an agent.
pub(super) enum Started {
    There(Box<Agent>),
    /// Why not.
    Not(String),
}

/// An agent that has said that it is there.
pub(super) struct Agent {
    pub(super) to: File,
    pub(super) from: BufReader<File>,
    pub(super) last_words: LastWords,
    pub(super) agent: openssh::Child<Arc<Session>>,
}

/// Starts an agent: the executable that was copied there, else the one on the PATH.
pub(super) fn start(runtime: &Runtime, session: &Arc<Session>) -> Result<Started, LinkError> {
    let (near_in, far_in) = pipe()?;
    let (far_out, near_out) = pipe()?;
    let (far_err, near_err) = pipe()?;
    let script = format!("b={}\n[ -x \"$b\" ] || b=bystander\nexec \"$b\" {}", upload::place()?, ARGUMENT);
    let mut command = Arc::clone(session).arc_command("sh");
    command.arg("-c").arg(script);
    command.stdin(Stdio::from(near_in)).stdout(Stdio::from(near_out)).stderr(Stdio::from(near_err));
    let agent = runtime.block_on(async { command.spawn().await }).map_err(|error| LinkError::Broken(with_causes(&error)))?;
    drop(command);
    let last_words = LastWords::of(File::from(far_err));
    let mut from = BufReader::new(File::from(far_out));
    let (greeted, greeting) = mpsc::channel();
    // A far end that says nothing must not hold us: the thread ends with the connection.
    thread::spawn(move || drop(greeted.send(greet(&mut from).map(|greeting| (greeting, from)))));
    match greeting.recv_timeout(GREET) {
        Ok(Ok((Some((protocol, version)), from))) if protocol == PROTOCOL.to_string() && version == VERSION => {
            Ok(Started::There(Box::new(Agent { to: File::from(far_in), from, last_words, agent })))
        }
        Ok(Ok((Some((protocol, version)), _))) if version == VERSION => {
            Ok(Started::Not(format!("bystander {version} there speaks protocol {protocol}, this one {PROTOCOL}")))
        }
        Ok(Ok((Some((_, version)), _))) => Ok(Started::Not(format!("bystander there has version {version}, this one {VERSION}"))),
        Ok(Ok((None, _))) => {
            let said = last_words.when_ended();
            let missing = said.contains("not found") || said.contains("No such file");
            Ok(Started::Not(match said.lines().last() {
                Some(_) if missing => "there is no bystander there".to_owned(),
                Some(last) => format!("bystander there says: {last}"),
                None => "there is no bystander there".to_owned(),
            }))
        }
        Ok(Err(error)) => Err(LinkError::Broken(error.to_string())),
        Err(_) => Err(LinkError::Broken(format!("the agent has not answered for {} s", GREET.as_secs()))),
    }
}

/// Reads up to the greeting: protocol and version; `None` where there is none.
fn greet(from: &mut BufReader<File>) -> io::Result<Option<(String, String)>> {
    let mut noise = 0;
    while noise < MOST_NOISE {
        let mut line = Vec::new();
        let most = (MOST_NOISE - noise) as u64;
        let read = from.by_ref().take(most).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(None);
        }
        noise += read;
        let line = String::from_utf8_lossy(&line);
        if let Some(at) = line.find(GREETING) {
            let mut words = line[at + GREETING.len()..].split_whitespace();
            if let (Some(protocol), Some(version)) = (words.next(), words.next()) {
                return Ok(Some((protocol.to_owned(), version.to_owned())));
            }
        }
    }
    Ok(None)
}

/// What the far end, or SSH, says on standard error at last.
#[derive(Clone)]
pub(super) struct LastWords {
    said: Arc<Mutex<Vec<u8>>>,
    ended: Arc<Mutex<Option<Receiver<()>>>>,
}

impl LastWords {
    fn of(mut from: File) -> Self {
        let said = Arc::new(Mutex::new(Vec::new()));
        let (ending, ended) = mpsc::channel();
        let kept = Arc::clone(&said);
        thread::spawn(move || {
            let _ending: mpsc::Sender<()> = ending;
            let mut buffer = [0; 1024];
            while let Ok(read @ 1..) = from.read(&mut buffer) {
                let mut said = kept.lock().unwrap_or_else(PoisonError::into_inner);
                said.extend(&buffer[..read]);
                let over = said.len().saturating_sub(LAST_WORDS);
                said.drain(..over);
            }
        });
        Self { said, ended: Arc::new(Mutex::new(Some(ended))) }
    }

    /// What was said, once the other side has let go of the stream.
    pub(super) fn when_ended(&self) -> String {
        if let Some(ended) = self.ended.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _end = ended.recv_timeout(Duration::from_secs(2));
        }
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&said);
        text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
    }
}

/// A pipe: the end to read from, and the end to write to.
fn pipe() -> Result<(std::os::fd::OwnedFd, std::os::fd::OwnedFd), LinkError> {
    rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(|errno| LinkError::Local(errno.into()))
}

/// Runs a script at the far end with some bytes as its standard input; gives what it prints.
pub(in crate::remote) fn script(runtime: &Runtime, session: &Session, text: &str, input: Option<File>) -> Result<String, LinkError> {
    let mut command = session.command("sh");
    command.arg("-c").arg(text);
    match input {
        Some(file) => command.stdin(Stdio::from(file)),
        None => command.stdin(Stdio::null()),
    };
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = runtime.block_on(async { command.output().await }).map_err(|error| LinkError::Broken(with_causes(&error)))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("no reason was given").to_owned();
    Err(LinkError::NoAgent { why: last })
}
