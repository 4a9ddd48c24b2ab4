//! Logs of earlier runs that an experiment file names: opened, read by the readers of engines, and freed of secrets.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use bystander_host::secrets::{Masker, blot, values};
use bystander_lab::old_log;
use bystander_lab::plan::{OldLogFile, Plan};
use bystander_model::diagnostic::Diagnostic;
use bystander_model::old_log::OldLog;

use crate::failure::Failure;
use crate::packed::{GZIP, ZSTD, unpacked};
use crate::reading;

/// A log above this many bytes is likelier another file; reading it would take minutes.
const LARGEST: u64 = 16 << 30;
/// How much is read at once, in bytes.
const BUFFER: usize = 1 << 20;
/// By so much of its beginning a log is told from other files, in bytes.
const LOOKED_AT: usize = 64 << 10;

/// Looks at the beginning of every log that a plan names, as far as a dry run may know it.
///
/// # Errors
/// As [`read`], for what can be told without reading all of it.
pub(crate) fn look(plan: &Plan) -> Result<(), Failure> {
    refused(plan.evidence.iter().filter_map(|file| Some(problem(plan, file, &open(file).err()?))).collect())
}

/// Reads every log that a plan names; what looks secret in them is masked as it is in trials.
///
/// # Errors
/// A log that is missing, unreadable, no plain file or too large: nothing was launched.
pub(crate) fn read(plan: &Plan, masker: &Masker) -> Result<Vec<OldLog>, Failure> {
    let mut logs = Vec::new();
    let mut problems = Vec::new();
    for file in &plan.evidence {
        match read_one(file, plan, masker) {
            Ok(log) => logs.push(log),
            Err(why) => problems.push(problem(plan, file, &why)),
        }
    }
    refused(problems).map(|()| logs)
}

fn refused(problems: Vec<Diagnostic>) -> Result<(), Failure> {
    if problems.is_empty() {
        return Ok(());
    }
    Err(Failure::user("failed to read the evidence; nothing was launched").problems(problems))
}

/// Why a log cannot be read, and what to do about it.
#[derive(Debug)]
struct Unreadable {
    why: String,
    next: &'static str,
}

impl Unreadable {
    const ELSEWHERE: &'static str = "name a log that is there, relative to the experiment file, or take the table out";

    fn new(why: impl Into<String>, next: &'static str) -> Self {
        Self { why: why.into(), next }
    }

    /// What the system says of a file.
    fn of(error: &io::Error) -> Self {
        let next = match error.kind() {
            io::ErrorKind::PermissionDenied => "let this user read it, or take the table out",
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename => Self::ELSEWHERE,
            _ => "copy it to where it can be read, and name the copy, or take the table out",
        };
        Self::new(error.to_string(), next)
    }

    /// What reading to the end said of a log whose beginning was good.
    fn on_the_way(error: &io::Error, is_packed: bool) -> Self {
        if is_packed {
            return Self::new(
                format!("its packed data ends early or is damaged ({error})"),
                "unpack what can be had of it, and name that file",
            );
        }
        Self::of(error)
    }
}

/// A log that was opened, unpacked where it is packed.
struct Opened {
    text: Box<dyn BufRead>,
    is_packed: bool,
}

/// Opens a log, where it may be one: a plain file that begins with text, as it is or packed by gzip or zstd.
fn open(file: &OldLogFile) -> Result<Opened, Unreadable> {
    let raw = open_raw(&file.log)?;
    let (text, is_packed) = unpacked(raw, BUFFER).map_err(|error| Unreadable::on_the_way(&error, true))?;
    let mut text = BufReader::with_capacity(BUFFER, text);
    let start = text.fill_buf().map_err(|error| Unreadable::on_the_way(&error, is_packed))?;
    if start.is_empty() {
        return Err(Unreadable::new("it is packed, and nothing is in it", EMPTY));
    }
    match no_text(&start[..start.len().min(LOOKED_AT)]) {
        Some(what) => Err(what),
        None => Ok(Opened { text: Box::new(text), is_packed }),
    }
}

/// What to do about a log without a line.
const EMPTY: &str = "name the log of a run that wrote one, or take the table out: an empty log shows nothing";

fn open_raw(path: &Path) -> Result<File, Unreadable> {
    let metadata = std::fs::metadata(path).map_err(|error| Unreadable::of(&error))?;
    if metadata.is_dir() {
        return Err(Unreadable::new("it is a folder", "name one log in it; a table takes one file"));
    }
    if !metadata.is_file() {
        return Err(Unreadable::new("it is no plain file", "write what comes out of it into a file, and name that"));
    }
    if metadata.len() > LARGEST {
        let why = format!("it has {} GiB, and more than {} is not read", metadata.len() >> 30, LARGEST >> 30);
        return Err(Unreadable::new(why, "cut the part out of it that shows how the run ended, and name that"));
    }
    if metadata.len() == 0 {
        return Err(Unreadable::new("it is empty, and shows nothing", EMPTY));
    }
    File::open(path).map_err(|error| Unreadable::of(&error))
}

/// Why bytes cannot be the beginning of a log, if they cannot.
fn no_text(start: &[u8]) -> Option<Unreadable> {
    let packed = [(GZIP, "gzip -d"), (ZSTD, "zstd -d"), (b"BZh", "bzip2 -d"), (b"\xfd7zXZ", "xz -d"), (b"PK\x03\x04", "unzip")];
    if let Some((_, tool)) = packed.iter().find(|(magic, _)| start.starts_with(magic)) {
        return Some(Unreadable::new(
            format!("it is compressed in a way that is not read ({tool} unpacks it)"),
            "unpack it, and name the file that comes out",
        ));
    }
    let wide = start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff");
    if wide {
        return Some(Unreadable::new("it is UTF-16 text", "turn it into UTF-8, as `iconv -f UTF-16 -t UTF-8` does, and name that file"));
    }
    // A program may write a stray NUL; a file of numbers has nothing else so often.
    let zeros = start.iter().filter(|byte| **byte == 0).count();
    let is_binary = zeros * 100 > start.len();
    is_binary.then(|| {
        Unreadable::new(
            "it is no text: more than one byte in a hundred is zero",
            "name the text that the program printed, or take the table out",
        )
    })
}

fn read_one(file: &OldLogFile, plan: &Plan, masker: &Masker) -> Result<OldLog, Unreadable> {
    let Opened { text, is_packed } = open(file)?;
    let read = old_log::read(file, plan, text, reading::readers()());
    let mut log = read.map_err(|error| Unreadable::on_the_way(&error, is_packed))?;
    let secrets = secrets(plan);
    old_log::hide_texts(&mut log, |text| blot(text, &secrets).into_owned());
    // As with the output of a trial: known values first, then what looks secret by its name.
    log.configuration.iter_mut().for_each(|stated| masker.configuration(stated));
    Ok(log)
}

/// What looks secret in the command and the environment may stand in a log of the same program too.
fn secrets(plan: &Plan) -> Vec<String> {
    let command: Vec<String> = plan.program.command.iter().map(|word| word.0.clone()).collect();
    let own: Vec<(String, String)> =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))).collect();
    let set = plan.program.env.iter().map(|(name, value)| (name.as_str(), value.0.as_str()));
    values(&command, own.iter().map(|(name, value)| (name.as_str(), value.as_str())).chain(set))
}

fn problem(plan: &Plan, file: &OldLogFile, found: &Unreadable) -> Diagnostic {
    let message = format!("the log {} cannot be read: {}", file.log.display(), found.why);
    let mut problem = Diagnostic::error("evidence.unreadable", message).label("this log").help(found.next);
    problem.file = Some(plan.file.clone());
    problem.span = (file.span != (0..0)).then(|| file.span.clone());
    problem
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use bystander_lab::plan::OldLogFile;

    use super::{Opened, no_text, open};

    #[test]
    fn what_is_no_log_is_told_by_its_beginning() {
        for log in
            [&b"INFO 12:00 loading\n"[..], b"", "\u{feff}caf\u{e9} \x1b[31mred\x1b[0m".as_bytes(), &[b"x".repeat(200), vec![0]].concat()]
        {
            assert!(no_text(log).is_none(), "{log:?}");
        }
        for (other, why) in [
            (&b"BZh91AY"[..], "compressed"),
            (b"PK\x03\x04\x14", "unzip"),
            (b"\x7fELF\x02\x01\x01\x00\x00", "no text"),
            (b"SQLite format 3\0\x10\0", "no text"),
            (b"\xff\xfei\0n\0", "UTF-16"),
        ] {
            assert!(no_text(other).is_some_and(|said| said.why.contains(why)), "{other:?}: {:?}", no_text(other));
        }
    }

    /// Opens bytes as a log and reads it to its end: its text, or why not and what to do.
    fn read(bytes: &[u8]) -> Result<String, (String, &'static str)> {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("old.log");
        std::fs::write(&log, bytes).expect("written");
        let Opened { mut text, is_packed } =
            open(&OldLogFile { name: "old".into(), log, span: 0..0 }).map_err(|found| (found.why, found.next))?;
        let mut all = String::new();
        text.read_to_string(&mut all)
            .map_err(|error| super::Unreadable::on_the_way(&error, is_packed))
            .map_err(|found| (found.why, found.next))?;
        Ok(all)
    }

    fn gzip(text: &str) -> Vec<u8> {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        packer.write_all(text.as_bytes()).expect("memory takes it");
        packer.finish().expect("memory takes it")
    }

    #[test]
    fn packed_logs_are_read_and_damaged_ones_are_told() {
        let text = "loading weights\nready\n".repeat(1000);
        let zstd = zstd::encode_all(text.as_bytes(), 0).expect("memory takes it");
        // Rotated logs are joined as they are.
        let joined = [gzip("first\n"), gzip("second\n")].concat();
        assert_eq!((read(text.as_bytes()), read(&gzip(&text)), read(&zstd)), (Ok(text.clone()), Ok(text.clone()), Ok(text.clone())));
        assert_eq!(read(&joined), Ok("first\nsecond\n".to_owned()));
        for cut in [&gzip(&text)[..40], &zstd[..zstd.len() - 9], b"\x1f\x8b\x08\x00", b"\x28\xb5\x2f\xfd"] {
            let (why, next) = read(cut).expect_err("it is cut");
            assert!(why.contains("ends early or is damaged") && next.starts_with("unpack what can be had"), "{why}: {next}");
        }
        let (why, next) = read(&gzip("")).expect_err("nothing is in it");
        assert!(why.contains("nothing is in it") && next.contains("an empty log shows nothing"), "{why}: {next}");
        let (why, _) = read(&gzip(&"\0\u{1}".repeat(100))).expect_err("numbers");
        assert!(why.contains("no text"), "{why}");
    }
}
