//! Many hits in one event: what they share is written once, the rest is a row of numbers and values.

use indexmap::{IndexMap, IndexSet};
use serde::{Deserialize, Serialize};

use crate::hit::Hit;
use crate::ids::TimeNs;
use crate::value::Value;

/// Hits in the order in which they were read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HitBatch {
    sites: Vec<Site>,
    rows: Vec<Row>,
}

/// What the hits of one probe in one process share.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Site {
    probe: String,
    pid: u32,
    rank: Option<u32>,
    file: String,
    line: u32,
    function: String,
    names: Vec<String>,
}

/// One hit: its site by index, thread, number, time, values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Row(usize, u64, u64, u64, Vec<Value>);

impl HitBatch {
    /// Packs hits.
    #[must_use]
    pub fn new(hits: &[Hit]) -> Self {
        let mut sites: IndexSet<Site> = IndexSet::new();
        let mut last: Option<(usize, &Hit)> = None;
        let rows = hits
            .iter()
            .map(|hit| {
                let site = match last {
                    Some((site, known)) if share(known, hit) => site,
                    _ => sites.insert_full(Site::of(hit)).0,
                };
                last = Some((site, hit));
                Row(site, hit.tid, hit.seq, hit.time_ns, hit.values.values().cloned().collect())
            })
            .collect();
        Self { sites: sites.into_iter().collect(), rows }
    }

    /// Gives every hit the time that `clock` has for it.
    pub(crate) fn by_clock(&mut self, clock: impl Fn(TimeNs) -> TimeNs) {
        self.rows.iter_mut().for_each(|row| row.3 = clock(TimeNs(row.3)).0);
    }

    /// The number of hits.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Unpacks the hits; a row whose site is missing is passed over.
    pub fn into_hits(self) -> impl Iterator<Item = Hit> {
        let Self { sites, rows } = self;
        rows.into_iter().filter_map(move |Row(site, tid, seq, time_ns, values)| {
            let site = sites.get(site)?;
            Some(Hit {
                probe: site.probe.clone(),
                pid: site.pid,
                tid,
                rank: site.rank,
                seq,
                time_ns,
                file: site.file.clone(),
                line: site.line,
                function: site.function.clone(),
                values: site.names.iter().cloned().zip(values).collect::<IndexMap<_, _>>(),
            })
        })
    }

    /// The number of hits of each probe.
    pub fn counts(&self) -> impl Iterator<Item = (&str, u64)> {
        let mut counts = vec![0_u64; self.sites.len()];
        for row in &self.rows {
            counts.get_mut(row.0).into_iter().for_each(|count| *count += 1);
        }
        self.sites.iter().map(|site| site.probe.as_str()).zip(counts)
    }
}

impl Site {
    fn of(hit: &Hit) -> Self {
        Self {
            probe: hit.probe.clone(),
            pid: hit.pid,
            rank: hit.rank,
            file: hit.file.clone(),
            line: hit.line,
            function: hit.function.clone(),
            names: hit.values.keys().cloned().collect(),
        }
    }
}

/// Whether two hits are of one site.
fn share(one: &Hit, other: &Hit) -> bool {
    (&one.probe, one.pid, one.rank, one.line, &one.file, &one.function)
        == (&other.probe, other.pid, other.rank, other.line, &other.file, &other.function)
        && one.values.keys().eq(other.values.keys())
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;

    use super::HitBatch;
    use crate::event::{Event, EventBody, HITS, Origin};
    use crate::hit::Hit;
    use crate::ids::{RunId, TimeNs};
    use crate::value::{ObjectValue, Value};
    use crate::watch::WatchEvent;

    fn hit(probe: &str, pid: u32, seq: u64, values: &[(&str, Value)]) -> Hit {
        Hit {
            probe: probe.into(),
            pid,
            tid: u64::from(pid) + 1,
            rank: (pid > 1).then_some(pid),
            seq,
            time_ns: 1_795_000_000_000_000_000 + seq,
            file: "a.py".into(),
            line: 4,
            function: "f".into(),
            values: values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect::<IndexMap<_, _>>(),
        }
    }

    #[test]
    fn hits_come_out_as_they_went_in_and_survive_the_record() {
        let object = Value::Object(Box::new(ObjectValue { type_name: Some("list".into()), len: Some(2), ..ObjectValue::default() }));
        let hits = [
            hit("p1", 1, 0, &[("a", Value::Int(1)), ("b", Value::Float(1.0))]),
            hit("p1", 2, 0, &[("a", Value::Text("x".into())), ("b", object)]),
            hit("p2", 1, 1, &[]),
            hit("p1", 1, 2, &[("a", Value::Null), ("b", Value::redacted())]),
        ];
        let batch = HitBatch::new(&hits);
        assert_eq!((batch.len(), batch.sites.len()), (4, 3), "what is shared is there once");
        let counts: Vec<(&str, u64)> = batch.counts().collect();
        assert_eq!(counts, [("p1", 2), ("p1", 1), ("p2", 1)]);
        let body = EventBody::Watch(WatchEvent::Hits(batch));
        let text = serde_json::to_string(&body).expect("serialises");
        assert!(text.starts_with(HITS), "{text}");
        let event = Event { run: RunId("r".into()), trial: None, origin: Origin::Host, seq: 7, time: TimeNs(9), body: body.clone() };
        assert_eq!(Event::parse(&serde_json::to_vec(&event).expect("serialises")).expect("parses"), event);
        assert_eq!(EventBody::parse(&text).expect("parses"), body);
        let EventBody::Watch(WatchEvent::Hits(read)) = serde_json::from_str(&text).expect("parses") else { panic!("{text}") };
        assert_eq!(read.into_hits().collect::<Vec<_>>(), hits);
    }

    #[test]
    fn a_row_without_its_site_is_passed_over() {
        let read: HitBatch = serde_json::from_str(r#"{"sites":[],"rows":[[0,1,2,3,[]]]}"#).expect("parses");
        assert_eq!((read.len(), read.counts().count(), read.into_hits().count()), (1, 0, 0));
    }
}
