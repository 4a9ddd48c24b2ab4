//! Starts an agent at the other end of a connection, and hears whether it is there.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use bystander_model::chain::with_causes;
use openssh::{Session, Stdio};

use super::{Doing, LinkError};
use crate::remote::agent::ARGUMENT;
use crate::remote::message::{GREETING, NOBODY, PROTOCOL, VERSION};
use crate::remote::upload;

/// How long the agent may take to say that it is there, shells' starts included.
const GREET: Duration = Duration::from_secs(30);
/// How lines begin that SSH says where its own connection has gone: they name a host that nobody has asked for.
const OF_NO_MASTER: [&str; 2] = ["ssh: Could not resolve hostname none", "Control socket connect"];
/// How long SSH may take to say how it ended what has closed its standard output.
const ENDING: Duration = Duration::from_secs(5);
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
pub(super) fn start(doing: &Doing<'_>, session: &Arc<Session>) -> Result<Started, LinkError> {
    let (near_in, far_in) = pipe()?;
    let (far_out, near_out) = pipe()?;
    let (far_err, near_err) = pipe()?;
    // On one line: a csh that is somebody's login shell takes no text over several.
    let script = format!(
        "b={}; [ -x \"$b\" ] || b=$(command -v bystander) || {{ echo {GREETING}{NOBODY}; exit; }}; exec \"$b\" {ARGUMENT}",
        upload::place()?
    );
    let mut command = Arc::clone(session).arc_command("sh");
    command.arg("-c").arg(script);
    command.stdin(Stdio::from(near_in)).stdout(Stdio::from(near_out)).stderr(Stdio::from(near_err));
    let agent = doing.wait_for(async { command.spawn().await })?.map_err(|error| LinkError::Broken(with_causes(&error)))?;
    drop(command);
    let last_words = LastWords::of(File::from(far_err));
    let mut from = BufReader::new(File::from(far_out));
    let (greeted, greeting) = mpsc::channel();
    // A far end that says nothing must not hold us: the thread ends with the connection.
    thread::spawn(move || drop(greeted.send(greet(&mut from).map(|greeting| (greeting, from)))));
    match doing.receive(&greeting, GREET)? {
        Some(Ok((Greeted::Agent { protocol, version }, from))) if protocol == PROTOCOL.to_string() && version == VERSION => {
            Ok(Started::There(Box::new(Agent { to: File::from(far_in), from, last_words, agent })))
        }
        Some(Ok((Greeted::Agent { protocol, version }, _))) if version == VERSION => {
            Ok(Started::Not(format!("bystander {version} there speaks protocol {protocol}, this one {PROTOCOL}")))
        }
        Some(Ok((Greeted::Agent { version, .. }, _))) => {
            Ok(Started::Not(format!("bystander there has version {version}, this one {VERSION}")))
        }
        Some(Ok((Greeted::Missing, _))) => Ok(Started::Not("there is no bystander there".to_owned())),
        Some(Ok((Greeted::Nobody { noise }, _))) => {
            let by_itself = ended_by_itself(doing, agent)?;
            let said = last_words.when_ended();
            let last = said.lines().rfind(|line| !OF_NO_MASTER.iter().any(|words| line.starts_with(words)));
            if !by_itself {
                let why = last.map_or_else(String::new, |last| format!(": {last}"));
                return Err(LinkError::Broken(format!("the connection ended before bystander there had answered{why}")));
            }
            Ok(Started::Not(match (last, noise) {
                (Some(last), _) => format!("bystander there says: {last}"),
                (None, Some(noise)) => format!("there is no bystander there; what is said instead: {noise}"),
                (None, None) => "what was started there ended without a word".to_owned(),
            }))
        }
        Some(Err(error)) => Err(LinkError::Broken(error.to_string())),
        None => Err(LinkError::Silent { seconds: GREET.as_secs() }),
    }
}

/// Whether what was started there has come to an end of its own: only then does its silence say that there is no agent. SSH tells no end of a connection
/// from that of a process by a signal.
fn ended_by_itself(doing: &Doing<'_>, agent: openssh::Child<Arc<Session>>) -> Result<bool, LinkError> {
    let ended = doing.wait_for(async { tokio::time::timeout(ENDING, agent.wait()).await })?;
    Ok(match ended {
        Ok(Ok(status)) => status.code().is_some(),
        Ok(Err(error)) => is_not_found(&error),
        Err(_) => false,
    })
}

/// Whether a shell there has said that there is no such command.
fn is_not_found(error: &openssh::Error) -> bool {
    matches!(error, openssh::Error::Remote(source) if source.kind() == io::ErrorKind::NotFound)
}

/// Who has answered.
enum Greeted {
    Agent {
        protocol: String,
        version: String,
    },
    /// Our own line has found no executable.
    Missing,
    /// No agent; what was printed last.
    Nobody {
        noise: Option<String>,
    },
}

/// Reads up to the greeting.
fn greet(from: &mut BufReader<File>) -> io::Result<Greeted> {
    let (mut read, mut noise) = (0, None);
    while read < MOST_NOISE {
        let mut line = Vec::new();
        let most = (MOST_NOISE - read) as u64;
        match from.by_ref().take(most).read_until(b'\n', &mut line)? {
            0 => break,
            bytes => read += bytes,
        }
        let line = String::from_utf8_lossy(&line);
        if let Some(at) = line.find(GREETING) {
            let mut words = line[at + GREETING.len()..].split_whitespace();
            match (words.next(), words.next()) {
                (Some(protocol), Some(version)) => {
                    return Ok(Greeted::Agent { protocol: protocol.to_owned(), version: version.to_owned() });
                }
                (Some(NOBODY), None) => return Ok(Greeted::Missing),
                _ => {}
            }
        }
        noise = last_line(&line).or(noise);
    }
    Ok(Greeted::Nobody { noise })
}

/// The last line of a text that has anything.
fn last_line(text: &str) -> Option<String> {
    text.lines().map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned)
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

/// Runs a script of one line at the far end with some bytes as its standard input; gives what it prints.
pub(in crate::remote) fn script(doing: &Doing<'_>, session: &Session, text: &str, input: Option<File>) -> Result<String, LinkError> {
    let mut command = session.command("sh");
    // The code of a shell that does not find a tool is that of an SSH that finds no command.
    command.arg("-c").arg(format!("( {text} ); c=$?; [ $c -ne 127 ] || c=1; exit $c"));
    match input {
        Some(file) => {
            let (from, to) = pipe()?;
            command.stdin(Stdio::from(from));
            // Through this process, so that nothing is sent any more once it is gone. What breaks is told by what runs there.
            thread::spawn(move || io::copy(&mut &file, &mut File::from(to)));
        }
        None => {
            command.stdin(Stdio::null());
        }
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = match doing.wait_for(async { command.output().await })? {
        Ok(output) => output,
        Err(error) if is_not_found(&error) => {
            return Err(LinkError::NoAgent { why: "a command of every system is not found there".to_owned() });
        }
        Err(error) => return Err(LinkError::Broken(format!("the connection ended meanwhile: {}", with_causes(&error)))),
    };
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    // SSH itself was ended: what it carried says nothing.
    if output.status.code().is_none() {
        return Err(LinkError::Broken("the connection ended meanwhile".to_owned()));
    }
    let said = |bytes: &[u8]| last_line(&String::from_utf8_lossy(bytes));
    let why = said(&output.stderr).or_else(|| said(&output.stdout)).unwrap_or_else(|| "no reason was given".to_owned());
    Err(LinkError::NoAgent { why })
}
