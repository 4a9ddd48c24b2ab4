//! The agent: the far end of one connection. It answers questions, and has nothing that would be lost with it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use bystander_model::chain::with_causes;
use bystander_model::ids::RunId;
use bystander_store::state::write_once;
use bystander_store::{StateDir, Store, kept, output};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::clock::Offset;
use super::frame::{self, FrameError};
use super::job::{self, Job, Order, Stream};
use super::message::{Ask, FarRun, KeptFile, Screen, Standing, Told, Word, bytes, greeting, path};
use super::{far, follow, sweep, warden};

/// The first argument of an agent.
pub const ARGUMENT: &str = "agent";

/// A near end that has said nothing for so long is gone, whatever the connection looks like: it asks for the time every few seconds.
const SILENCE: Timespec = Timespec { tv_sec: 60, tv_nsec: 0 };
/// Bytes of events that are sent at once, where one alone is not more.
const EVENT_BYTES: usize = 256 << 10;
/// Bytes of a file that are sent at once.
const PART: usize = 256 << 10;

/// Runs as an agent on the standard streams, until the near end is gone.
#[must_use]
pub fn main() -> ExitCode {
    // Without the buffer of Rust's standard output, which looks for line ends in whatever bytes there are.
    let served = io::stdout().as_fd().try_clone_to_owned().map_err(FrameError::Broken).and_then(|out| {
        let voice = Voice { out: Arc::new(Mutex::new(Box::new(File::from(out)))) };
        serve(&voice)
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever would be told is gone.
        Err(_unheard) => ExitCode::FAILURE,
    }
}

/// The way to the near end; messages of several threads do not mix.
#[derive(Clone)]
pub(super) struct Voice {
    out: Arc<Mutex<Box<dyn Write + Send>>>,
}

impl Voice {
    pub(super) fn say(&self, told: &Told, body: &[u8]) -> io::Result<()> {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        frame::write(&mut *out, told, body)
    }

    pub(super) fn failed(&self, what: &str, why: &io::Error) {
        // A near end that is gone needs no reason.
        let _gone = self.say(&Told::Failed { what: what.to_owned(), why: why.to_string() }, &[]);
    }
}

fn serve(voice: &Voice) -> Result<(), FrameError> {
    voice.out.lock().unwrap_or_else(PoisonError::into_inner).write_all(greeting().as_bytes()).map_err(FrameError::Broken)?;
    // Without the buffer of Rust's standard input, in which a message could lie unseen by `poll`.
    let mut stdin = File::from(io::stdin().as_fd().try_clone_to_owned().map_err(FrameError::Broken)?);
    let mut agent = None;
    while is_heard(&stdin)? {
        let Some((ask, body)) = frame::read::<Ask>(&mut stdin)? else { return Ok(()) };
        let what = what(&ask);
        if let Err(error) = answer(&mut agent, ask, &body, voice) {
            voice.failed(&what, &error);
        }
    }
    Ok(())
}

/// Waits for the near end to say something; false where it has been silent for too long.
fn is_heard(stdin: &File) -> Result<bool, FrameError> {
    let mut fds = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)];
    loop {
        match poll(&mut fds, Some(&SILENCE)) {
            Ok(ready) => return Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(FrameError::Broken(errno.into())),
        }
    }
}

/// What is asked, as the end of "failed to".
fn what(ask: &Ask) -> String {
    match ask {
        Ask::Open { .. } => "open the state directory there".to_owned(),
        Ask::Visit { .. } => "find the home directory there".to_owned(),
        Ask::Try { .. } => "start the command there".to_owned(),
        Ask::Ping { .. } => "tell the time".to_owned(),
        Ask::Start(start) => format!("start the command {}", start.job),
        Ask::Follow { job, .. } => format!("follow the command {job}"),
        Ask::Signal { job, .. } => format!("send a signal to the command {job}"),
        Ask::Forget { job } => format!("remove the command {job}"),
        Ask::Runs => "list the runs there".to_owned(),
        Ask::Events { run, .. } => format!("read the events of {run}"),
        Ask::Kept { run } => format!("list the files of {run}"),
        Ask::Part { path, .. } => format!("read {}", path.display()),
    }
}

fn answer(agent: &mut Option<Agent>, ask: Ask, body: &[u8], voice: &Voice) -> io::Result<()> {
    let came = match &ask {
        Ask::Open { near } => Some(Agent::open(near)?),
        Ask::Visit { near } => Some(Agent::visit(far::state(near)?)?),
        _ => None,
    };
    if let Some(came) = came {
        let told = came.opened();
        *agent = Some(came);
        return voice.say(&told, &[]);
    }
    let agent = agent.as_mut().ok_or_else(|| io::Error::other("no state directory was named"))?;
    match ask {
        Ask::Open { .. } | Ask::Visit { .. } => Ok(()),
        Ask::Try { words, screen, folder } => {
            try_out(words, screen, folder.as_deref(), &agent.home, voice.clone());
            Ok(())
        }
        Ask::Ping { token } => {
            agent.renew();
            voice.say(&Told::Pong { token, now_ns: now_ns() }, &[])
        }
        Ask::Start(start) => {
            Job::named(&agent.state, &start.job)?.start(&start, body, &agent.home)?;
            voice.say(&Told::Started { job: start.job }, &[])
        }
        Ask::Follow { job, from } => {
            let found = Job::named(&agent.state, &job)?;
            let standing = found.standing()?;
            voice.say(&Told::Found { job: job.clone(), standing: standing.clone() }, &[])?;
            match standing {
                None => voice.say(&Told::Ended { job, standing: Standing::Lost }, &[]),
                Some(_) => {
                    found.renew()?;
                    agent.followed.insert(job.clone(), found.clone());
                    follow::start(job, found, from, voice.clone());
                    Ok(())
                }
            }
        }
        Ask::Signal { job, signal } => {
            let reached = Job::named(&agent.state, &job)?.signal(signal)?;
            voice.say(&Told::Signalled { reached }, &[])
        }
        Ask::Forget { job } => {
            agent.followed.remove(&job);
            Job::named(&agent.state, &job)?.forget()?;
            voice.say(&Told::Forgotten, &[])
        }
        Ask::Runs => voice.say(&Told::Runs(agent.runs()?), &[]),
        Ask::Events { run, after } => {
            let (count, lines) = agent.events(&RunId(run), after)?;
            voice.say(&Told::Events { count }, &lines)
        }
        Ask::Kept { run } => {
            let (state, run, voice) = (agent.recorded()?, RunId(run), voice.clone());
            // Hashing gigabytes takes longer than a near end waits for a sign of life.
            std::thread::spawn(move || match kept_files(state.as_ref(), &run) {
                Ok(files) => drop(voice.say(&Told::Kept(files), &[])),
                Err(error) => voice.failed(&format!("list the files of {run}"), &error),
            });
            Ok(())
        }
        Ask::Part { path, from } => voice.say(&Told::Part, &agent.part(&path, from)?),
    }
}

struct Agent {
    /// The state directory of this near end's commands and records.
    state: PathBuf,
    home: PathBuf,
    followed: BTreeMap<String, Job>,
    store: Option<Store>,
}

impl Agent {
    fn open(near: &str) -> io::Result<Self> {
        let state = StateDir::open(&far::state(near)?).map_err(|error| io::Error::other(with_causes(&error)))?;
        // Where it cannot be kept, there is room for nothing else either, and what is asked for says so.
        let _without = super::random_name().and_then(|id| write_once(&far::id()?, id.as_bytes(), 0o600));
        Self::visit(state.path().to_owned())
    }

    /// With a state directory that need not be there.
    fn visit(state: PathBuf) -> io::Result<Self> {
        sweep::jobs(&state);
        if let (Ok(folder), Ok(own)) = (far::binaries(), std::env::current_exe()) {
            sweep::binaries(&folder, &own);
        }
        Ok(Self { state, home: far::home()?, followed: BTreeMap::new(), store: None })
    }

    fn opened(&self) -> Told {
        let nearest = self.state.ancestors().find(|folder| folder.exists()).unwrap_or(&self.state);
        let free_bytes = rustix::fs::statvfs(nearest).ok().map(|found| found.f_bavail.saturating_mul(found.f_frsize));
        let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let state_id = far::id().and_then(std::fs::read_to_string).ok().map(|id| format!("{machine}:{}", id.trim()));
        Told::Opened { machine, state: self.state.clone(), home: self.home.clone(), free_bytes, identity: identity(&self.state), state_id }
    }

    /// Says for everything that is followed that a near end is there.
    fn renew(&self) {
        // What has ended and is forgotten needs no lease.
        self.followed.values().for_each(|job| drop(job.renew()));
    }

    /// The state directory, where a command has made one already.
    fn recorded(&self) -> io::Result<Option<StateDir>> {
        match StateDir::open_existing(&self.state) {
            Ok(state) => Ok(Some(state).filter(|state| state.database().exists())),
            Err(bystander_store::StateError::Missing { .. }) => Ok(None),
            Err(error) => Err(io::Error::other(with_causes(&error))),
        }
    }

    fn store(&mut self) -> io::Result<Option<&Store>> {
        let Some(state) = self.recorded()? else { return Ok(None) };
        if self.store.is_none() {
            self.store = Some(Store::open(&state).map_err(|error| io::Error::other(with_causes(&error)))?);
        }
        Ok(self.store.as_ref())
    }

    fn runs(&mut self) -> io::Result<Vec<FarRun>> {
        let Some(state) = self.recorded()? else { return Ok(Vec::new()) };
        let Some(store) = self.store()? else { return Ok(Vec::new()) };
        let told = |error| io::Error::other(with_causes(&error));
        let runs = store.runs().map_err(told)?.into_iter().map(|run| {
            Ok(FarRun {
                events: store.event_count(&run.id).map_err(told)?,
                file: bytes(&run.file),
                spec_sha256: run.spec_sha256,
                created_ns: run.created.0,
                clock: Offset::noted(&state.run_dir(&run.id)),
                id: run.id.0,
            })
        });
        runs.collect()
    }

    /// The next events of a run, one a line.
    fn events(&mut self, run: &RunId, after: u64) -> io::Result<(u64, Vec<u8>)> {
        let told = |error: &bystander_store::StoreError| io::Error::other(with_causes(error));
        let store = self.store()?.ok_or_else(|| io::Error::other("nothing was recorded"))?;
        store.event_lines(run, after, EVENT_BYTES).map_err(|error| told(&error))
    }

    /// A part of a file that a run keeps; no link is followed, and no path leads out of the folder of runs.
    fn part(&self, path: &Path, from: u64) -> io::Result<Vec<u8>> {
        let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        if !plain || !path.starts_with("runs") {
            return Err(io::Error::other("it is no file of a run"));
        }
        let no_link = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
        let file = File::options().read(true).custom_flags(no_link).open(self.state.join(path))?;
        let mut bytes = vec![0; PART];
        let mut length = 0;
        while length < PART {
            match file.read_at(&mut bytes[length..], from + length as u64)? {
                0 => break,
                read => length += read,
            }
        }
        bytes.truncate(length);
        Ok(bytes)
    }
}

/// Carries out a command that leaves nothing, on a thread of its own, since the near end waits for signs of life meanwhile.
fn try_out(words: Vec<Word>, screen: Screen, folder: Option<&[u8]>, home: &Path, voice: Voice) {
    let typed = |word: Word| match word {
        Word::Bytes(bytes) => Some(bytes),
        Word::File { .. } => None,
    };
    let folder = folder.map_or_else(|| home.to_owned(), |folder| home.join(path(folder)));
    let order = Order { words: words.into_iter().filter_map(typed).collect(), folder: bytes(&folder), screen, lease_s: 0, taken_up: false };
    std::thread::spawn(move || {
        let tried = warden::start(Path::new(""), &order).and_then(|child| child.wait_with_output()).and_then(|output| {
            let mut body = Vec::new();
            job::write_record(&mut body, Stream::Err, &output.stderr)?;
            job::write_record(&mut body, Stream::Out, &output.stdout)?;
            Ok((output.status.code(), body))
        });
        match tried {
            Ok((code, body)) => drop(voice.say(&Told::Tried { code }, &body)),
            Err(error) if !folder.is_dir() => {
                let why = io::Error::new(error.kind(), format!("there is no folder {} there", folder.display()));
                voice.failed("start the command there", &why);
            }
            Err(error) => voice.failed("start the command there", &error),
        }
    });
}

/// The start of the kernel and the number of a folder in it: two addresses that lead to the same are one machine. Containers of one kernel differ by the
/// folder, machines of one shared home by the kernel.
fn identity(state: &Path) -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let found = state.metadata().ok()?;
    Some(format!("{}:{:x}:{:x}", boot.trim(), found.dev(), found.ino()))
}

/// The files that a run keeps, with their hashes.
fn kept_files(state: Option<&StateDir>, run: &RunId) -> io::Result<Vec<KeptFile>> {
    let Some(state) = state else { return Ok(Vec::new()) };
    let files = kept::files(state, run).into_iter().map(|path| {
        let length = path.metadata()?.len();
        Ok(KeptFile { sha256: output::sha256_file(&path)?, length, path: state.relative(&path) })
    });
    files.collect()
}

/// Nanoseconds since 1970.
pub(super) fn now_ns() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()).unwrap_or(u64::MAX)
}
