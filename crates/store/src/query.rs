//! The reader: events of a run in the order of insertion, a page at a time.
//!
//! Between pages no lock is held, so a slow consumer never stops a writer; since nothing is ever changed or removed, pages fit together.

use std::collections::VecDeque;
use std::ops::Range;

use bystander_model::event::{Event, EventBody, Origin};
use bystander_model::ids::{RunId, TimeNs, TrialId};
use rusqlite::{OptionalExtension as _, params};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::record::{Store, origin_word, trial_number};
use crate::sqlite::{StoreError, Told as _};

/// Rows read at once, at most.
const PAGE: usize = 100;
/// Bytes of rows after which no more are read at once: a row may hold thousands of hits.
const PAGE_BYTES: usize = 256 << 10;

impl Store {
    /// Iterates over the events of a run in the order of insertion.
    ///
    /// # Errors
    /// The run is not recorded, or the record cannot be read.
    pub fn events(&self, run: &RunId) -> Result<Events<'_>, StoreError> {
        Ok(Events { store: self, run: run.clone(), row: self.number_of(run)?, after: 0, page: VecDeque::new(), done: false })
    }
}

impl Store {
    /// Iterates over the events of a run in the order of insertion, without the first ones.
    ///
    /// # Errors
    /// The run is not recorded, or the record cannot be read.
    pub fn events_after(&self, run: &RunId, first: u64) -> Result<Events<'_>, StoreError> {
        let mut events = self.events(run)?;
        if let Some(last) = first.checked_sub(1) {
            let sql = "SELECT number FROM event WHERE run = ?1 ORDER BY number LIMIT 1 OFFSET ?2";
            let mut statement = self.connection().prepare_cached(sql).told(self.path())?;
            let after = statement.query_row(params![events.row, last.cast_signed()], |row| row.get(0)).optional().told(self.path())?;
            events.after = after.unwrap_or(i64::MAX);
        }
        Ok(events)
    }

    /// Gives the next events of a run as they are sent, one a line of JSON, without taking them apart: how many, and their text of `most_bytes` or, by its
    /// last event, more.
    ///
    /// # Errors
    /// The run is not recorded, or the record cannot be read.
    pub fn event_lines(&self, run: &RunId, first: u64, most_bytes: usize) -> Result<(u64, Vec<u8>), StoreError> {
        let mut events = self.events_after(run, first)?;
        let (mut count, mut lines) = (0, Vec::new());
        while lines.len() < most_bytes {
            let Some(stored) = events.stored() else { break };
            events.line(&stored?, &mut lines)?;
            count += 1;
        }
        Ok((count, lines))
    }

    /// Counts the events of a run.
    ///
    /// # Errors
    /// The run is not recorded, or the record cannot be read.
    pub fn event_count(&self, run: &RunId) -> Result<u64, StoreError> {
        let row = self.number_of(run)?;
        let mut statement = self.connection().prepare_cached("SELECT count(*) FROM event WHERE run = ?1").told(self.path())?;
        let count: i64 = statement.query_row(params![row], |row| row.get(0)).told(self.path())?;
        Ok(count.cast_unsigned())
    }
}

impl Store {
    /// Reads the events of `(run, trial, origin)` with these numbers, in their order.
    ///
    /// # Errors
    /// The run is not recorded, or the record cannot be read.
    pub fn numbered(&self, run: &RunId, trial: Option<TrialId>, origin: Origin, numbers: Range<u64>) -> Result<Vec<Event>, StoreError> {
        let sql = "SELECT number, trial, origin, seq, time_ns, body FROM event \
                   WHERE run = ?1 AND trial = ?2 AND origin = ?3 AND seq >= ?4 AND seq < ?5 ORDER BY seq";
        let events = Events { store: self, run: run.clone(), row: self.number_of(run)?, after: 0, page: VecDeque::new(), done: true };
        let mut statement = self.connection().prepare_cached(sql).told(self.path())?;
        let (from, to) = (numbers.start.cast_signed(), numbers.end.cast_signed());
        let rows = statement.query_map(params![events.row, trial_number(trial), origin_word(origin), from, to], stored);
        let rows: Vec<Stored> = rows.told(self.path())?.collect::<rusqlite::Result<_>>().told(self.path())?;
        rows.into_iter().map(|row| events.event(row)).collect()
    }
}

/// The events of one run, in the order of insertion; it ends at the first error.
#[derive(Debug)]
pub struct Events<'a> {
    store: &'a Store,
    run: RunId,
    row: i64,
    after: i64,
    page: VecDeque<Stored>,
    done: bool,
}

/// One row as it was read.
#[derive(Debug)]
struct Stored {
    number: i64,
    trial: u32,
    origin: String,
    seq: i64,
    time_ns: i64,
    body: String,
}

impl Stored {
    fn trial(&self) -> Option<TrialId> {
        (self.trial > 0).then_some(TrialId(self.trial))
    }
}

/// A row in the form of [`Event`], with its body as the text that it is.
#[derive(Serialize)]
struct Line<'a> {
    run: &'a RunId,
    trial: Option<TrialId>,
    origin: &'a str,
    seq: u64,
    time: u64,
    body: &'a RawValue,
}

fn stored(row: &rusqlite::Row<'_>) -> rusqlite::Result<Stored> {
    Ok(Stored { number: row.get(0)?, trial: row.get(1)?, origin: row.get(2)?, seq: row.get(3)?, time_ns: row.get(4)?, body: row.get(5)? })
}

impl Events<'_> {
    fn turn_page(&mut self) -> Result<(), StoreError> {
        let sql = "SELECT number, trial, origin, seq, time_ns, body FROM event WHERE run = ?1 AND number > ?2 ORDER BY number LIMIT ?3";
        let path = self.store.path();
        let mut statement = self.store.connection().prepare_cached(sql).told(path)?;
        let mut rows = statement.query_map(params![self.row, self.after, PAGE as i64], stored).told(path)?;
        let mut bytes = 0;
        while self.page.len() < PAGE && bytes < PAGE_BYTES {
            let Some(row) = rows.next() else {
                self.done = true;
                break;
            };
            let row = row.told(path)?;
            bytes += row.body.len();
            self.page.push_back(row);
        }
        self.after = self.page.back().map_or(self.after, |last| last.number);
        Ok(())
    }

    /// The next row.
    fn stored(&mut self) -> Option<Result<Stored, StoreError>> {
        if self.page.is_empty()
            && !self.done
            && let Err(error) = self.turn_page()
        {
            self.done = true;
            return Some(Err(error));
        }
        self.page.pop_front().map(Ok)
    }

    /// Writes a row as the event that it is, with a line end.
    fn line(&self, stored: &Stored, lines: &mut Vec<u8>) -> Result<(), StoreError> {
        let event = Line {
            run: &self.run,
            trial: stored.trial(),
            origin: &stored.origin,
            seq: stored.seq.cast_unsigned(),
            time: stored.time_ns.cast_unsigned(),
            body: serde_json::from_str(&stored.body).map_err(|source| self.unreadable(stored.number, source))?,
        };
        serde_json::to_writer(&mut *lines, &event).map_err(|source| self.unreadable(stored.number, source))?;
        lines.push(b'\n');
        Ok(())
    }

    fn unreadable(&self, number: i64, source: serde_json::Error) -> StoreError {
        StoreError::Unreadable { path: self.store.path().to_owned(), number, source }
    }

    fn event(&self, stored: Stored) -> Result<Event, StoreError> {
        let trial = stored.trial();
        let unreadable = |source| self.unreadable(stored.number, source);
        let origin: Origin = serde_json::from_value(serde_json::Value::String(stored.origin)).map_err(unreadable)?;
        Ok(Event {
            run: self.run.clone(),
            trial,
            origin,
            seq: stored.seq.cast_unsigned(),
            time: TimeNs(stored.time_ns.cast_unsigned()),
            body: EventBody::parse(&stored.body).map_err(unreadable)?,
        })
    }
}

impl Iterator for Events<'_> {
    type Item = Result<Event, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let event = self.stored().map(|stored| self.event(stored?));
        if matches!(event, Some(Err(_))) {
            self.page.clear();
            self.done = true;
        }
        event
    }
}
