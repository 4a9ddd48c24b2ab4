//! The file of `--output`: every sample as it is taken, as JSON lines or CSV.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bystander_supervise::gpu::GpuSample;
use bystander_supervise::memory_watch::HostSample;
use serde_json::json;

use crate::failure::Failure;

/// What is written lies in the file after this time at most, for those who read along.
const FLUSH: Duration = Duration::from_secs(1);
/// The head of a table.
const HEAD: &str = "seconds,what,gpu,pid,bytes,title\n";

/// The file.
#[derive(Debug)]
pub(crate) struct SamplesFile {
    to: BufWriter<File>,
    path: PathBuf,
    csv: bool,
    /// Whether it was not there before.
    made: bool,
    flushed: Instant,
    /// Why it takes no more.
    lost: Option<io::Error>,
}

impl SamplesFile {
    /// Makes the file. What is there already is somebody's and is kept; a pipe or a device is written to as it is.
    pub(crate) fn make(path: &Path) -> Result<Self, Failure> {
        let existing = fs::metadata(path).ok().map(|metadata| metadata.file_type());
        let stream = existing.is_some_and(|kind| kind.is_fifo() || kind.is_char_device());
        let opened = if stream { OpenOptions::new().write(true).open(path) } else { File::create_new(path) };
        let file = opened.map_err(|error| {
            if error.kind() == ErrorKind::AlreadyExists {
                let what = if existing.is_some_and(|kind| kind.is_dir()) { "a folder" } else { "a file" };
                let text =
                    format!("failed to make the file for samples {}: {what} of this name is there; nothing was launched", path.display());
                return Failure::user(text).hint("name another with --output FILE, or remove it: `memory watch` writes over nothing");
            }
            Failure::environment(format!("failed to make the file for samples {}", path.display()))
                .because(&error)
                .hint("name another with --output FILE")
        })?;
        let csv = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("csv"));
        let mut made = Self { to: BufWriter::new(file), path: path.to_owned(), csv, made: !stream, flushed: Instant::now(), lost: None };
        if csv {
            made.write(HEAD.as_bytes());
        }
        Ok(made)
    }

    /// Takes a new file away again where nothing was launched, so that the same command can be given again.
    pub(crate) fn discard(self) {
        if self.made {
            // What cannot be removed holds nothing; the command has failed anyway, and says why.
            let _ = fs::remove_file(&self.path);
        }
    }

    /// Writes a sample of one GPU; says whether more would be taken.
    pub(crate) fn gpu(&mut self, sample: &GpuSample) -> bool {
        let at = rounded(sample.at_s);
        if self.csv {
            let mut text = format!("{at},gpu,{},,{},\n", sample.index, sample.held_bytes);
            for (pid, bytes) in &sample.processes {
                // What the driver does not tell is an empty field, never a zero.
                let bytes = bytes.map_or_else(String::new, |bytes| bytes.to_string());
                text.push_str(&format!("{at},gpu_process,{},{pid},{bytes},\n", sample.index));
            }
            self.write(text.as_bytes());
        } else {
            let processes: Vec<_> = sample.processes.iter().map(|(pid, bytes)| json!({ "pid": pid, "bytes": bytes })).collect();
            self.line(&json!({ "at_s": at, "gpu": sample.index, "held_bytes": sample.held_bytes, "processes": processes }));
        }
        self.lost.is_none()
    }

    /// Writes a sample of the host.
    pub(crate) fn host(&mut self, sample: &HostSample, title: impl Fn(&str) -> String) {
        let at = rounded(sample.at_s);
        let of = |process: &bystander_supervise::ProcessInfo| {
            let whole = process.title();
            title(if whole.is_empty() { &process.comm } else { &whole })
        };
        if self.csv {
            let mut text = sample.available_bytes.map_or_else(String::new, |bytes| format!("{at},available,,,{bytes},\n"));
            for process in &sample.processes {
                text.push_str(&format!("{at},resident,,{},{},{}\n", process.pid, process.rss_bytes, quoted(&of(process))));
            }
            self.write(text.as_bytes());
        } else {
            let processes: Vec<_> = sample
                .processes
                .iter()
                .map(|process| json!({ "pid": process.pid, "resident_bytes": process.rss_bytes, "title": of(process) }))
                .collect();
            self.line(&json!({ "at_s": at, "available_bytes": sample.available_bytes, "processes": processes }));
        }
    }

    fn line(&mut self, value: &serde_json::Value) {
        self.write(format!("{value}\n").as_bytes());
    }

    fn write(&mut self, bytes: &[u8]) {
        if self.lost.is_some() {
            return;
        }
        let due = self.flushed.elapsed() >= FLUSH;
        let written = self.to.write_all(bytes).and_then(|()| if due { self.to.flush() } else { Ok(()) });
        if due {
            self.flushed = Instant::now();
        }
        self.lost = written.err();
    }

    /// Writes what is left, and says why not every sample is there, if it is so. A reader of a pipe that went away is no failure.
    pub(crate) fn finish(mut self) -> Option<Failure> {
        let lost = self.lost.take().or_else(|| self.to.flush().err())?;
        if lost.kind() == ErrorKind::BrokenPipe {
            return None;
        }
        let text = format!("failed to write every sample to {}", self.path.display());
        Some(
            Failure::environment(text).because(&lost).hint("what is printed holds all of it in short; mend the cause, such as a full disk"),
        )
    }
}

fn rounded(seconds: f64) -> f64 {
    (seconds * 1e3).round() / 1e3
}

/// A field of a table.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use bystander_supervise::gpu::GpuSample;
    use bystander_supervise::memory_watch::HostSample;

    use super::{HEAD, SamplesFile, quoted};

    fn written(name: &str) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(name);
        let mut file = SamplesFile::make(&path).unwrap_or_else(|failure| panic!("{}", failure.message));
        assert!(file.gpu(&GpuSample { at_s: 1.23456, index: 2, held_bytes: 7, processes: vec![(9, None), (8, Some(3))] }));
        let mut process = bystander_supervise::tree::process(std::process::id()).expect("reads itself");
        (process.pid, process.rss_bytes, process.cmdline) = (5, 11, vec!["a".into(), "b,\"c".into()]);
        file.host(&HostSample { at_s: 2.0, available_bytes: Some(13), processes: vec![process] }, str::to_owned);
        assert!(file.finish().is_none());
        assert!(SamplesFile::make(&path).is_err_and(|failure| failure.message.contains("is there")), "nothing is written over");
        fs::read_to_string(&path).expect("a file")
    }

    #[test]
    fn samples_are_rows_of_a_table_or_lines_of_json() {
        let rows =
            "1.235,gpu,2,,7,\n1.235,gpu_process,2,9,,\n1.235,gpu_process,2,8,3,\n2,available,,,13,\n2,resident,,5,11,\"a b,\"\"c\"\n";
        assert_eq!(written("x.csv"), format!("{HEAD}{rows}"));
        let lines: Vec<serde_json::Value> = written("x").lines().map(|line| serde_json::from_str(line).expect("is JSON")).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0]["processes"][0], serde_json::json!({ "pid": 9, "bytes": null }));
        assert_eq!((&lines[1]["available_bytes"], &lines[1]["processes"][0]["title"]), (&13.into(), &"a b,\"c".into()));
    }

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        assert_eq!([quoted("plain"), quoted("a\nb"), quoted("\"")], ["plain", "\"a\nb\"", "\"\"\"\""]);
    }
}
