//! The reading side: lines from what is already in the file, each with its time.
//!
//! It reads what the capture has written and nothing beyond; a line that is not finished yet waits.

use std::fs::File;
use std::io::{self, BufRead};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bystander_model::evidence::Stream;
use bystander_model::ids::TimeNs;

use super::capture::{Shared, with};
use super::times::Mark;
use super::{LONGEST_TEXT, Line, Lines, OutputError, Read, StreamSummary};

/// How much is read back at once; a line within it is never one to be cut.
const SLICE: usize = LONGEST_TEXT;

/// Splits one stream's file into lines.
#[derive(Debug)]
pub(crate) struct LineReader {
    stream: Stream,
    path: PathBuf,
    file: File,
    shared: Shared,
    /// How far the file has been read.
    position: u64,
    /// The time of the bytes at `position`.
    time: TimeNs,
    /// Bytes that were read and not yet split: from `cursor` on.
    slice: Vec<u8>,
    cursor: usize,
    partial: Partial,
    lines: u64,
}

/// The line that is being put together.
#[derive(Debug, Default)]
struct Partial {
    offset: u64,
    text: Vec<u8>,
    length: u64,
}

impl LineReader {
    /// Opens the file that a capture has made.
    pub(crate) fn open(stream: Stream, path: &Path, shared: Shared) -> Result<Self, OutputError> {
        let file = File::open(path).map_err(|source| OutputError { file: path.to_owned(), offset: 0, source })?;
        Ok(Self {
            stream,
            path: path.to_owned(),
            file,
            shared,
            position: 0,
            time: TimeNs(0),
            slice: Vec::new(),
            cursor: 0,
            partial: Partial::default(),
            lines: 0,
        })
    }

    /// The time of the next bytes up to `limit` that were not split yet; `None` where there are none.
    pub(crate) fn next_time(&self, limit: u64) -> Option<TimeNs> {
        if self.cursor < self.slice.len() {
            return Some(self.time);
        }
        with(&self.shared, |progress| {
            let start = progress.marks.front().filter(|mark| mark.offset <= self.position).map_or(self.time, |mark| mark.time);
            (self.position < progress.written.min(limit)).then_some(start)
        })
    }

    /// Splits on until a line is whole or the bytes up to `limit` are used up.
    pub(crate) fn next(&mut self, limit: u64) -> Result<Option<Line>, OutputError> {
        loop {
            if self.cursor == self.slice.len() && !self.refill(limit)? {
                return Ok(None);
            }
            let fresh = self.slice.get(self.cursor..).unwrap_or_default();
            // Reading from memory cannot fail.
            let taken = (&mut &*fresh).skip_until(b'\n').unwrap_or(fresh.len());
            let (bytes, whole) = match fresh[..taken].split_last() {
                Some((b'\n', bytes)) => (bytes, true),
                _ => (&fresh[..taken], false),
            };
            let room = LONGEST_TEXT.saturating_sub(self.partial.text.len());
            self.partial.text.extend_from_slice(&bytes[..bytes.len().min(room)]);
            self.partial.length += bytes.len() as u64;
            self.cursor += taken;
            if whole {
                return Ok(Some(self.finish(true)));
            }
        }
    }

    /// As [`LineReader::next`], with as many whole lines as were read back at once. One line alone comes as such.
    pub(crate) fn next_lines(&mut self, limit: u64) -> Result<Option<Read>, OutputError> {
        let is_used_up = self.cursor == self.slice.len();
        if self.partial.length == 0 && (!is_used_up || self.refill(limit)?) {
            let fresh = self.slice.get(self.cursor..).unwrap_or_default();
            let end = memchr::memrchr(b'\n', fresh).map_or(0, |last| last + 1);
            let count = memchr::memchr_iter(b'\n', &fresh[..end]).count() as u64;
            if count > 1 {
                return Ok(Some(Read::Lines(self.take_lines(end, count))));
            }
        }
        Ok(self.next(limit)?.map(Read::Line))
    }

    /// Hands over whole lines, `length` bytes of what was read.
    fn take_lines(&mut self, length: usize, count: u64) -> Lines {
        let (first, offset) = (self.lines + 1, self.partial.offset);
        self.lines += count;
        self.partial.offset += length as u64;
        let end = self.cursor + length;
        let text = if self.cursor == 0 {
            let rest = self.slice[end..].to_vec();
            self.slice.truncate(end);
            std::mem::replace(&mut self.slice, rest)
        } else {
            let text = self.slice[self.cursor..end].to_vec();
            self.slice.drain(..end);
            text
        };
        self.cursor = 0;
        Lines { stream: self.stream, first, count, offset, time_ns: self.time, text }
    }

    /// Counts the lines up to `limit` without telling them; whether there was anything.
    pub(crate) fn pass_over(&mut self, limit: u64) -> Result<bool, OutputError> {
        let mut any = false;
        loop {
            if self.cursor == self.slice.len() && !self.refill(limit)? {
                return Ok(any);
            }
            any = true;
            let fresh = self.slice.get(self.cursor..).unwrap_or_default();
            self.lines += memchr::memchr_iter(b'\n', fresh).count() as u64;
            match memchr::memrchr(b'\n', fresh) {
                Some(last) => {
                    let next = self.partial.offset + self.partial.length + last as u64 + 1;
                    let length = (fresh.len() - last - 1) as u64;
                    self.partial = Partial { offset: next, text: Vec::new(), length };
                }
                None => self.partial.length += fresh.len() as u64,
            }
            self.cursor = self.slice.len();
        }
    }

    /// The unfinished last line, once the stream has ended and everything before it was taken.
    pub(crate) fn last(&mut self) -> Option<Line> {
        let at_end = with(&self.shared, |progress| progress.ended && self.position == progress.written);
        (at_end && self.cursor == self.slice.len() && self.partial.length > 0).then(|| self.finish(false))
    }

    /// What there is of a line that is not finished, once everything before it was taken.
    pub(crate) fn unfinished(&self) -> Option<Line> {
        let is_read = with(&self.shared, |progress| self.position == progress.written);
        (is_read && self.cursor == self.slice.len() && self.partial.length > 0).then(|| Line {
            stream: self.stream,
            number: self.lines + 1,
            offset: self.partial.offset,
            time_ns: self.time,
            text: self.partial.text.clone(),
            length: self.partial.length,
            terminated: false,
        })
    }

    /// What came so far.
    pub(crate) fn summary(&self) -> StreamSummary {
        with(&self.shared, |progress| StreamSummary { bytes: progress.written, lines: self.lines, complete: progress.complete })
    }

    /// When bytes came last, whole lines or not.
    pub(crate) fn last_output(&self) -> Option<TimeNs> {
        with(&self.shared, |progress| progress.last)
    }

    /// Bytes in the file.
    pub(crate) fn written(&self) -> u64 {
        with(&self.shared, |progress| progress.written)
    }

    /// How many bytes the program has written until this moment, those that wait in the pipe among them.
    pub(crate) fn come(&self) -> u64 {
        with(&self.shared, |progress| progress.come())
    }

    /// Whether the first `come` bytes of the program were split; the beginning of a line that is not whole yet counts.
    pub(crate) fn has_split(&self, come: u64) -> bool {
        let split = self.partial.offset + self.partial.length;
        with(&self.shared, |progress| progress.has_settled(come) && split >= progress.written.min(come))
    }

    /// Whether the program has written something that was not split yet.
    pub(crate) fn has_unread(&self) -> bool {
        let split = self.partial.offset + self.partial.length;
        with(&self.shared, |progress| {
            let come = progress.come();
            !progress.has_settled(come) || split < progress.written
        })
    }

    fn finish(&mut self, terminated: bool) -> Line {
        self.lines += 1;
        let next = self.partial.offset + self.partial.length + u64::from(terminated);
        let line = std::mem::replace(&mut self.partial, Partial { offset: next, ..Partial::default() });
        Line {
            stream: self.stream,
            number: self.lines,
            offset: line.offset,
            time_ns: self.time,
            text: line.text,
            length: line.length,
            terminated,
        }
    }

    /// Reads on, at most to where the next mark begins, so that all bytes of a slice have one time.
    fn refill(&mut self, limit: u64) -> Result<bool, OutputError> {
        let position = self.position;
        let (time, end) = with(&self.shared, |progress| {
            let mut time = None;
            while let Some(Mark { offset, time: at }) = progress.marks.front().copied().filter(|mark| mark.offset <= position) {
                debug_assert!(offset <= position);
                time = Some(at);
                progress.marks.pop_front();
            }
            let next = progress.marks.front().map_or(u64::MAX, |mark| mark.offset);
            (time, progress.written.min(limit).min(next))
        });
        self.time = time.unwrap_or(self.time);
        self.cursor = 0;
        let count = usize::try_from(end.saturating_sub(position)).unwrap_or(SLICE).min(SLICE);
        self.slice.resize(count, 0);
        if count == 0 {
            return Ok(false);
        }
        self.file.read_exact_at(&mut self.slice, position).map_err(|source| self.unreadable(source))?;
        self.position += count as u64;
        Ok(true)
    }

    fn unreadable(&mut self, source: io::Error) -> OutputError {
        self.slice.clear();
        OutputError { file: self.path.clone(), offset: self.position, source }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::OwnedFd;

    use bystander_model::evidence::Stream;
    use bystander_model::ids::TimeNs;

    use super::super::capture::{CHUNK, Capture, Taken};
    use super::super::times::Times;
    use super::super::{LONGEST_TEXT, Line, Read};
    use super::LineReader;

    struct Bench {
        world: tempfile::TempDir,
        capture: Capture,
        reader: LineReader,
        writer: Option<std::fs::File>,
    }

    fn bench() -> Bench {
        let world = tempfile::tempdir().expect("temporary directory");
        let path = world.path().join("stdout");
        let (capture, writer): (Capture, OwnedFd) = Capture::create(&path, &[]).expect("creates");
        let reader = LineReader::open(Stream::Stdout, &path, capture.shared()).expect("opens");
        Bench { world, capture, reader, writer: Some(writer.into()) }
    }

    impl Bench {
        fn write(&mut self, bytes: &[u8], time: u64) {
            self.writer.as_mut().expect("open").write_all(bytes).expect("writes");
            let mut buffer = vec![0; CHUNK];
            while let Taken::Bytes(_) = self.capture.take(&mut buffer, TimeNs(time)) {}
        }

        fn lines(&mut self, limit: u64) -> Vec<(u64, u64, u64, String)> {
            let mut lines = Vec::new();
            while let Some(line) = self.reader.next(limit).expect("reads") {
                lines.push((line.number, line.offset, line.time_ns.0, line.text().into_owned()));
            }
            lines
        }
    }

    #[test]
    fn a_line_has_the_time_of_its_end_and_waits_until_it_is_whole() {
        let mut bench = bench();
        bench.write(b"one\ntw", 1_000_000);
        assert_eq!(bench.lines(u64::MAX), [(1, 0, 1_000_000, "one".into())]);
        bench.write(b"o\n\nend", 9_000_000);
        assert_eq!(bench.lines(u64::MAX), [(2, 4, 9_000_000, "two".into()), (3, 8, 9_000_000, String::new())]);
        assert_eq!(bench.reader.last(), None);
        let unfinished = bench.reader.unfinished().expect("the beginning of a line");
        assert_eq!((unfinished.number, unfinished.offset, unfinished.terminated, unfinished.text().as_ref()), (4, 9, false, "end"));
        bench.writer = None;
        bench.write_end();
        let last = bench.reader.last().expect("an unfinished line");
        assert_eq!((last.number, last.offset, last.terminated, last.text().as_ref()), (4, 9, false, "end"));
        let summary = bench.reader.summary();
        assert_eq!((summary.bytes, summary.lines, summary.complete), (12, 4, true));
        let times = Times::load(&bench.world.path().join("stdout")).expect("loads");
        assert_eq!((times.at(5), times.at(6)), (Some(TimeNs(1_000_000)), Some(TimeNs(9_000_000))));
    }

    #[test]
    fn many_lines_come_at_once_and_are_the_same_lines() {
        let mut text = Vec::new();
        for number in 0..5000 {
            text.extend(std::iter::repeat_n(b'a' + (number % 26) as u8, number % 97));
            text.push(b'\n');
            if number % 1700 == 3 {
                text.extend(vec![b'L'; LONGEST_TEXT + number]);
                text.push(b'\n');
            }
        }
        text.extend(b"unfinished");
        let (mut single, mut several) = (bench(), bench());
        for piece in text.chunks(30_001) {
            single.write(piece, 1);
            several.write(piece, 1);
        }
        let mut wanted = Vec::new();
        while let Some(line) = single.reader.next(u64::MAX).expect("reads") {
            wanted.push(line);
        }
        let (mut found, mut at_once) = (Vec::new(), 0);
        while let Some(read) = several.reader.next_lines(u64::MAX).expect("reads") {
            match read {
                Read::Line(line) => found.push(line),
                Read::Lines(lines) => {
                    at_once += 1;
                    let mut offset = lines.offset;
                    let (first, last) = (found.len(), lines.last());
                    for (number, text) in (lines.first..).zip(lines.text.split_inclusive(|byte| *byte == b'\n')) {
                        let text = text.strip_suffix(b"\n").expect("is whole").to_vec();
                        let length = text.len() as u64;
                        found.push(Line { stream: lines.stream, number, offset, time_ns: lines.time_ns, text, length, terminated: true });
                        offset += length + 1;
                    }
                    assert_eq!((found.len() - first, found.last()), (usize::try_from(lines.count).expect("fits"), Some(&last)));
                }
            }
        }
        assert!(at_once > 2 && found.len() == 5003, "{at_once} {}", found.len());
        assert_eq!(found, wanted);
        (single.writer, several.writer) = (None, None);
        single.write_end();
        several.write_end();
        assert_eq!(several.reader.last(), single.reader.last());
        assert_eq!(several.reader.summary(), single.reader.summary());
    }

    #[test]
    fn what_waits_in_the_pipe_has_come_and_is_unread_until_it_is_split() {
        let mut bench = bench();
        assert!(!bench.reader.has_unread() && bench.reader.has_split(bench.reader.come()));
        bench.writer.as_mut().expect("open").write_all(b"one\ntw").expect("writes");
        let come = bench.reader.come();
        assert_eq!(come, 6);
        assert!(bench.reader.has_unread() && !bench.reader.has_split(come));
        bench.write(b"o\n", 1);
        assert!(bench.reader.has_unread() && !bench.reader.has_split(come), "in the file, and not split");
        assert_eq!(bench.lines(come), [(1, 0, 1, "one".into())]);
        assert!(bench.reader.has_split(come) && bench.reader.has_unread(), "the rest of a line does not belong to what had come");
        assert_eq!(bench.lines(u64::MAX).len(), 1);
        assert!(!bench.reader.has_unread());
        bench.writer = None;
        bench.write_end();
        assert!(bench.reader.has_split(u64::MAX), "nothing more will come");
    }

    #[test]
    fn what_a_blotter_holds_back_is_no_reason_to_wait() {
        let world = tempfile::tempdir().expect("temporary directory");
        let path = world.path().join("stdout");
        let (mut capture, writer) = Capture::create(&path, &[b"hunter2".to_vec()]).expect("creates");
        let mut reader = LineReader::open(Stream::Stdout, &path, capture.shared()).expect("opens");
        let mut writer = std::fs::File::from(writer);
        writer.write_all(b"a\nhunt").expect("writes");
        let come = reader.come();
        while let Taken::Bytes(_) = capture.take(&mut [0; 64], TimeNs(1)) {}
        assert!(reader.next(u64::MAX).expect("reads").is_some());
        assert!(come == 6 && reader.has_split(come));
    }

    #[test]
    fn what_is_passed_over_is_counted_and_what_follows_has_its_number_and_place() {
        let mut bench = bench();
        bench.write(b"one\ntwo\nthr", 1);
        assert_eq!(bench.lines(4), [(1, 0, 1, "one".into())]);
        assert!(bench.reader.pass_over(u64::MAX).expect("reads"));
        assert!(!bench.reader.pass_over(u64::MAX).expect("reads") && !bench.reader.has_unread());
        bench.write(b"ee\nfour\n", 5_000_000);
        assert_eq!(bench.lines(14).iter().map(|(number, offset, ..)| (*number, *offset)).collect::<Vec<_>>(), [(3, 8)]);
        assert_eq!(bench.lines(u64::MAX), [(4, 14, 5_000_000, "four".into())]);
        assert_eq!(bench.reader.summary().lines, 4);
    }

    #[test]
    fn a_limit_holds_back_what_lies_beyond() {
        let mut bench = bench();
        bench.write(b"before\nafter\n", 1);
        assert_eq!(bench.lines(7).len(), 1);
        assert_eq!(bench.reader.next_time(7), None);
        assert_eq!(bench.lines(u64::MAX), [(2, 7, 1, "after".into())]);
    }

    #[test]
    fn a_long_line_is_cut_for_the_scanner_only() {
        let mut bench = bench();
        for _ in 0..3 {
            bench.write(&vec![b'x'; LONGEST_TEXT / 2], 1);
        }
        bench.write(b"\n\xff\xfe\n", 1);
        let line = bench.reader.next(u64::MAX).expect("reads").expect("a line");
        assert_eq!((line.text.len(), line.length, line.is_cut()), (LONGEST_TEXT, 3 * LONGEST_TEXT as u64 / 2, true));
        let line = bench.reader.next(u64::MAX).expect("reads").expect("a line");
        assert_eq!((line.text.as_slice(), line.text().as_ref()), (&b"\xff\xfe"[..], "\u{fffd}\u{fffd}"));
        assert_eq!(line.offset, 3 * LONGEST_TEXT as u64 / 2 + 1);
    }

    impl Bench {
        fn write_end(&mut self) {
            assert!(matches!(self.capture.take(&mut [0; 16], TimeNs(0)), Taken::End));
            assert!(self.capture.error().is_none());
        }
    }
}
