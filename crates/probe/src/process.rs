//! One process's record and ring: what it said of itself and of each probe, and the hits it left.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::left::Left;
use crate::marshal::{Data, Reader};
use crate::rank;
use crate::ring::{Counts, RawHit, Ring};
use crate::value::{int_of, text_of};

/// What a process said of one probe.
#[derive(Debug, Default, Clone)]
pub(crate) struct Account {
    /// The statement and side, where the probe is in place.
    pub(crate) placed: Option<String>,
    /// The line that hits carry.
    pub(crate) line: Option<u32>,
    /// Why the probe was refused.
    pub(crate) refused: Option<String>,
    /// Why the probe disabled itself.
    pub(crate) disabled: Option<String>,
    /// Why the probe, which is in place, records nothing in this process.
    pub(crate) lost: Option<String>,
    /// Passes whose values nobody saw, in the moment in which the probe was put in; and those of them that are hits.
    missed: (u64, u64),
    /// What records: `native` or `python`.
    pub(crate) recorder: Option<String>,
    /// What one hit costs, as it was measured when the probe was put in; nanoseconds.
    pub(crate) cost_ns: Option<u64>,
    /// The archive that the module was loaded from, past the probe.
    pub(crate) archive: Option<String>,
    /// Hits that arrived here.
    pub(crate) received: u64,
}

/// One life of a process: a pid that executes another program begins another.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// The interpreter's version.
    pub(crate) python: Option<String>,
    pub(crate) accounts: Vec<Account>,
    /// True once the process has said anything.
    pub(crate) has_spoken: bool,
    /// The process that it was forked from, as [`Process::name`] gives it.
    pub(crate) forked_from: Option<String>,
    forks: u64,
    /// A compiler of Python that it has loaded: calls that it compiled pass no probe.
    pub(crate) compiler: Option<String>,
    /// The Pythons that it started, or became, out of the overlay's sight.
    pub(crate) left: Vec<Left>,
    /// True where it began by a fork and not by the start of a program.
    pub(crate) is_forked: bool,
    /// When its record was begun.
    pub(crate) began_ns: i64,
    told_rank: Option<u32>,
    variable_rank: Option<u32>,
    named_rank: Option<u32>,
    record: PathBuf,
    read: u64,
    rings: Vec<Ring>,
    opened: Vec<&'static str>,
}

/// The ends of the names of a process's rings: that of plain Python, that of the native recorder.
const RINGS: [&str; 2] = ["ring", "stream"];

impl Process {
    /// Makes the reader of a process from the path of its record, `<pid>.<time>.proc`.
    pub(crate) fn of_record(record: &Path, probes: usize) -> Option<Self> {
        let mut numbers = record.file_stem()?.to_str()?.split('.');
        let pid = numbers.next()?.parse().ok()?;
        let began_ns = numbers.next().and_then(|time| time.parse().ok()).unwrap_or(0);
        Some(Self {
            pid,
            python: None,
            compiler: None,
            accounts: vec![Account::default(); probes],
            has_spoken: false,
            forked_from: None,
            forks: 0,
            left: Vec::new(),
            is_forked: false,
            began_ns,
            told_rank: None,
            variable_rank: None,
            named_rank: None,
            record: record.to_owned(),
            read: 0,
            rings: Vec::new(),
            opened: Vec::new(),
        })
    }

    /// Reads what is new in the record and takes everything out of the rings.
    pub(crate) fn read(&mut self) -> io::Result<()> {
        self.read_record()?;
        self.find_rings()?;
        for ring in &mut self.rings {
            ring.read()?;
            if self.named_rank.is_none() {
                self.named_rank = ring.process_name().as_deref().and_then(rank::from_name);
            }
        }
        Ok(())
    }

    /// Decodes up to some hits of each ring, of those that were taken out.
    pub(crate) fn decode(&mut self, most: usize) -> Vec<RawHit> {
        let hits: Vec<RawHit> = self.rings.iter_mut().flat_map(|ring| ring.decode(most)).collect();
        for hit in &hits {
            if let Some(account) = self.accounts.get_mut(hit.probe) {
                account.received += 1;
            }
        }
        hits
    }

    /// Opens the rings that the process has made; it has one for each recorder that it uses.
    fn find_rings(&mut self) -> io::Result<()> {
        for name in RINGS.into_iter().filter(|name| !self.opened.contains(name)).collect::<Vec<_>>() {
            match Ring::open(&self.record.with_extension(name)) {
                Ok(Some(ring)) => {
                    self.opened.push(name);
                    self.rings.push(ring);
                }
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The rank: what a probe's expression said, else what the environment said, else what the process's name says.
    pub(crate) fn rank(&self) -> Option<u32> {
        self.told_rank.or(self.variable_rank).or(self.named_rank)
    }

    /// Keeps the rank that a probe's expression gave.
    pub(crate) fn tell_rank(&mut self, rank: u32) {
        self.told_rank = Some(rank);
    }

    /// The name of its record, which no other life of the pid has.
    pub(crate) fn name(&self) -> Option<&str> {
        self.record.file_stem()?.to_str()
    }

    /// How often the process has forked.
    pub(crate) fn forks(&self) -> u64 {
        self.rings.iter().fold(self.forks, |sum, ring| sum.saturating_add(ring.forks()))
    }

    /// What the process counted of a probe, over its rings; as often hit as hits arrived, at least.
    pub(crate) fn counts(&self, probe: usize) -> Counts {
        let (received, (passes, hits)) = self.accounts.get(probe).map_or((0, (0, 0)), |account| (account.received, account.missed));
        let sum = |of: fn(&Counts) -> u64| self.rings.iter().fold(0_u64, |sum, ring| sum.saturating_add(of(&ring.counts(probe))));
        Counts {
            passes: sum(|counts| counts.passes).max(received).saturating_add(passes),
            hits: sum(|counts| counts.hits).max(received).saturating_add(hits),
            throttled: sum(|counts| counts.throttled),
            misjudged: sum(|counts| counts.misjudged),
        }
    }

    fn read_record(&mut self) -> io::Result<()> {
        let file = File::open(&self.record)?;
        let length = file.metadata()?.len();
        let mut bytes = vec![0; usize::try_from(length.saturating_sub(self.read)).map_err(io::Error::other)?];
        file.read_exact_at(&mut bytes, self.read)?;
        let mut reader = Reader::new(&bytes);
        // An event that is not whole yet is read again next time.
        let mut whole = 0;
        while let Some(event) = reader.next_value() {
            whole = bytes.len() - reader.remaining();
            if let Data::Tuple(fields) = event {
                self.note(fields);
            }
        }
        self.read += whole as u64;
        Ok(())
    }

    fn note(&mut self, fields: Vec<Data>) {
        self.has_spoken = true;
        let mut fields = fields.into_iter();
        match fields.next().and_then(text_of).as_deref() {
            Some("start") => {
                let mut fields = fields.skip(3);
                self.python = fields.next().and_then(text_of);
                self.variable_rank = fields.nth(1).and_then(text_of).as_deref().and_then(rank::from_variable);
                self.is_forked = fields.next() == Some(Data::Bool(true));
            }
            Some("left") => self.left.extend(Left::read(fields)),
            Some("stayed") => {
                let (pid, since) = (fields.next().as_ref().and_then(int_of), fields.next().as_ref().and_then(int_of));
                self.left.retain(|left| Some(i64::from(left.pid)) != pid || Some(left.since_ns) != since);
            }
            Some("archive") => {
                if let Some(account) = self.account(fields.next()) {
                    account.archive = fields.next().and_then(text_of);
                }
            }
            Some("placed") => {
                if let Some(account) = self.account(fields.next()) {
                    account.placed = fields.next().and_then(text_of);
                    account.line = fields.next().as_ref().and_then(int_of).and_then(|line| u32::try_from(line).ok());
                    account.recorder = fields.next().and_then(text_of);
                    account.cost_ns = fields.next().as_ref().and_then(int_of).and_then(|cost| u64::try_from(cost).ok());
                }
            }
            Some("refused") => {
                if let Some(account) = self.account(fields.next()) {
                    account.refused = fields.next().and_then(text_of);
                }
            }
            Some("compiler") => self.compiler = fields.next().and_then(text_of),
            Some("child") => self.forked_from = fields.next().and_then(text_of),
            Some("forked") => self.forks = self.forks.saturating_add(fields.next().as_ref().and_then(count_of).unwrap_or(0)),
            Some("lost") => {
                if let Some(account) = self.account(fields.next()) {
                    account.lost = fields.next().and_then(text_of);
                }
            }
            Some("missed") => {
                if let Some(account) = self.account(fields.next()) {
                    let mut count = || fields.next().as_ref().and_then(count_of).unwrap_or(0);
                    let (passes, hits) = (count(), count());
                    account.missed = (account.missed.0.saturating_add(passes), account.missed.1.saturating_add(hits));
                }
            }
            Some("disabled") => {
                if let Some(account) = self.account(fields.next()) {
                    account.disabled = fields.next().and_then(text_of);
                }
            }
            _ => {}
        }
    }

    fn account(&mut self, index: Option<Data>) -> Option<&mut Account> {
        let index = usize::try_from(int_of(&index?)?).ok()?;
        self.accounts.get_mut(index)
    }
}

fn count_of(data: &Data) -> Option<u64> {
    int_of(data).and_then(|number| u64::try_from(number).ok())
}
