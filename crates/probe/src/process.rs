//! One process's record and ring: what it said of itself and of each probe, and the hits it left.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

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
    /// What records: `native` or `python`.
    pub(crate) recorder: Option<String>,
    /// What one hit costs, as it was measured when the probe was put in; nanoseconds.
    pub(crate) cost_ns: Option<u64>,
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
        let pid = record.file_stem()?.to_str()?.split('.').next()?.parse().ok()?;
        Some(Self {
            pid,
            python: None,
            accounts: vec![Account::default(); probes],
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

    /// What the process counted of a probe, over its rings; as often hit as hits arrived, at least.
    pub(crate) fn counts(&self, probe: usize) -> Counts {
        let received = self.accounts.get(probe).map_or(0, |account| account.received);
        let sum = |of: fn(&Counts) -> u64| self.rings.iter().fold(0_u64, |sum, ring| sum.saturating_add(of(&ring.counts(probe))));
        Counts {
            passes: sum(|counts| counts.passes).max(received),
            hits: sum(|counts| counts.hits).max(received),
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
        let mut fields = fields.into_iter();
        match fields.next().and_then(text_of).as_deref() {
            Some("start") => {
                let mut fields = fields.skip(3);
                self.python = fields.next().and_then(text_of);
                self.variable_rank = fields.nth(1).and_then(text_of).as_deref().and_then(rank::from_variable);
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
