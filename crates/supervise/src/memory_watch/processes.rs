//! The resident memory of each process over time; of those that are gone, the ones that held most.

use std::collections::BTreeMap;
use std::time::Duration;

use bystander_model::samples::ProcessPeak;

use crate::course::{Told, Track};
use crate::gpu::{Keep, TITLE};
use crate::tree::ProcessInfo;

/// Points that are kept of one process.
const POINTS: usize = 64;
/// Processes that are kept; a compiler may start thousands.
const MOST: usize = 128;
/// Processes that are told at the end.
const TOLD: usize = 32;

/// Every process that was seen, by pid and start.
#[derive(Debug, Default)]
pub(super) struct Processes {
    known: BTreeMap<(u32, u64), One>,
}

#[derive(Debug)]
struct One {
    title: String,
    track: Track,
    lives: bool,
}

impl Processes {
    /// Takes a sample.
    pub(super) fn take(&mut self, after: Duration, processes: &[ProcessInfo], told: &Told) {
        self.known.values_mut().for_each(|one| one.lives = false);
        for process in processes {
            let identity = (process.pid, process.start_time);
            if !self.known.contains_key(&identity) && self.known.len() >= MOST && !self.forget_one(process.rss_bytes) {
                continue;
            }
            let new = || One { title: String::new(), track: Track::new(POINTS, Keep::Largest), lives: true };
            let one = self.known.entry(identity).or_insert_with(new);
            one.lives = true;
            one.track.take(after, process.rss_bytes, told);
            // One that is about to end has lost its title already.
            if !process.cmdline.is_empty() || one.title.is_empty() {
                one.title = short(process);
            }
        }
    }

    /// Makes room for one that holds so much, where another never held as much: that one comes back when it grows.
    fn forget_one(&mut self, bytes: u64) -> bool {
        let least = self.known.iter().min_by_key(|(_, one)| (one.track.extreme(), one.lives));
        let Some((&identity, one)) = least else { return false };
        let goes = one.track.extreme() < Some(bytes) || (!one.lives && one.track.extreme() == Some(bytes));
        if goes {
            self.known.remove(&identity);
        }
        goes
    }

    /// Those that held most, as far as was seen.
    pub(super) fn peaks(&self, told: &Told) -> Vec<ProcessPeak> {
        let peak = |(&(pid, _), one): (&(u32, u64), &One)| ProcessPeak {
            pid,
            title: one.title.clone(),
            peak_rss_bytes: one.track.extreme().unwrap_or(0),
            peak_at: one.track.moment(told),
            last_bytes: one.track.last(),
            series: one.track.series(),
        };
        let mut peaks: Vec<ProcessPeak> = self.known.iter().map(peak).collect();
        peaks.sort_by_key(|process| (std::cmp::Reverse(process.peak_rss_bytes), process.pid));
        peaks.truncate(TOLD);
        peaks
    }

    /// The same when no more will come.
    pub(super) fn finish(&mut self, told: &Told) -> Vec<ProcessPeak> {
        self.known.values_mut().for_each(|one| one.track.finish(told));
        self.peaks(told)
    }
}

fn short(process: &ProcessInfo) -> String {
    let title = if process.cmdline.is_empty() { process.comm.clone() } else { process.title() };
    title.chars().take(TITLE).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{MOST, Processes, TOLD};
    use crate::course::Course;
    use crate::tree::{ProcessInfo, process};

    #[test]
    fn thousands_of_short_processes_are_forgotten_and_the_large_ones_stay() {
        let own = process(std::process::id()).expect("reads itself");
        let of = |pid: u32, rss_bytes: u64| ProcessInfo { pid, rss_bytes, cmdline: vec!["cc1".into()], ..own.clone() };
        let (course, mut processes) = (Course::default(), Processes::default());
        let told = course.told();
        for round in 0..1000_u32 {
            let short: Vec<ProcessInfo> = (0..20).map(|at| of(1000 + round * 20 + at, 5)).chain([of(7, u64::from(round))]).collect();
            processes.take(Duration::from_millis(u64::from(round)), &short, &told);
            assert!(processes.known.len() <= MOST);
        }
        let peaks = processes.finish(&told);
        assert_eq!((peaks.len(), peaks[0].pid, peaks[0].peak_rss_bytes, peaks[0].last_bytes), (TOLD, 7, 999, Some(999)));
        // A larger one takes the place of the smallest, and what held most stays though it is gone.
        let all: Vec<ProcessInfo> = (0..300).map(|at| of(50_000 + at, 10 + u64::from(at))).collect();
        processes.take(Duration::from_secs(2), &all, &told);
        assert!(processes.known.len() <= MOST);
        assert_eq!(processes.peaks(&told)[1].peak_rss_bytes, 309);
    }
}
