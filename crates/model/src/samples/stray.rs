//! More processes on a GPU than ranks that it is for: contexts of others, each of which takes memory from the rank.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{GpuSamples, KnownBy};

/// Of two processes of one program on a GPU, the one with so many times less than the other is no rank of its own there.
const TIMES: u64 = 4;
/// What holds more than this is no mere context, whatever others hold.
const CONTEXT_AT_MOST: u64 = 2 << 30;

/// A process that holds memory on a GPU beside the rank whose GPU it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stray {
    /// The process, by the number that the driver tells.
    pub pid: u32,
    /// What it held there at most; `None` where the driver does not tell.
    pub bytes: Option<u64>,
    /// Why it is taken for one.
    pub why: StrayWhy,
}

/// Why a process on a GPU is taken for a stray one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum StrayWhy {
    /// Most of its memory is on another GPU: it is that one's rank.
    AtHomeOn {
        /// The other GPU.
        index: u32,
    },
    /// Another process of the same program holds many times as much here.
    BesideRank {
        /// That process.
        pid: u32,
    },
    /// The driver tells no memory of processes, and there are more of them here than one.
    Uncounted,
}

/// Finds the stray processes of each GPU and notes them there.
pub(super) fn find(gpus: &mut [GpuSamples]) {
    let found: Vec<Vec<Stray>> = gpus.iter().map(|gpu| on(gpu, gpus)).collect();
    for (gpu, strays) in gpus.iter_mut().zip(found) {
        gpu.strays = strays;
    }
}

fn on(gpu: &GpuSamples, all: &[GpuSamples]) -> Vec<Stray> {
    let mut strays = Vec::new();
    for process in &gpu.processes {
        let Some(here) = process.peak_bytes else { continue };
        let is_far_more = |elsewhere: u64| elsewhere / TIMES >= here.max(1);
        let home = all.iter().filter(|other| other.uuid != gpu.uuid).find_map(|other| {
            let same = other.processes.iter().find(|there| there.pid == process.pid)?;
            is_far_more(same.peak_bytes?).then_some(other.index)
        });
        // Of strangers to each other it is no news that one holds little.
        let beside = |rank: &&super::GpuProcess| rank.known_by != KnownBy::Other && rank.peak_bytes.is_some_and(is_far_more);
        let ours = process.known_by != KnownBy::Other && here <= CONTEXT_AT_MOST;
        let rank = ours.then(|| gpu.processes.iter().filter(beside).max_by_key(|rank| rank.peak_bytes)).flatten();
        let why = home.map(|index| StrayWhy::AtHomeOn { index }).or_else(|| rank.map(|rank| StrayWhy::BesideRank { pid: rank.pid }));
        strays.extend(why.map(|why| Stray { pid: process.pid, bytes: Some(here), why }));
    }
    let untold = || gpu.processes.iter().filter(|process| process.known_by != KnownBy::Other && process.peak_bytes.is_none());
    if untold().count() > 1 {
        strays.extend(untold().skip(1).map(|process| Stray { pid: process.pid, bytes: None, why: StrayWhy::Uncounted }));
    }
    strays
}

#[cfg(test)]
mod tests {
    use super::{Stray, StrayWhy, find};
    use crate::samples::{GpuProcess, GpuSamples, KnownBy, Series};

    const MIB: u64 = 1 << 20;

    fn gpu(index: u32, processes: &[(u32, Option<u64>, KnownBy)]) -> GpuSamples {
        let process = |&(pid, mib, known_by): &(u32, Option<u64>, KnownBy)| GpuProcess {
            pid,
            title: None,
            known_by,
            pid_here: None,
            peak_bytes: mib.map(|mib| mib * MIB),
            peak_at: None,
            last_bytes: None,
            series: Series::default(),
        };
        let processes = processes.iter().map(process).collect();
        GpuSamples { index, uuid: format!("GPU-{index}"), processes, ..GpuSamples::default() }
    }

    fn strays(mut gpus: Vec<GpuSamples>) -> Vec<Vec<(u32, StrayWhy)>> {
        find(&mut gpus);
        gpus.iter().map(|gpu| gpu.strays.iter().map(|stray: &Stray| (stray.pid, stray.why)).collect()).collect()
    }

    #[test]
    fn a_context_of_a_rank_of_another_gpu_is_named_with_its_home() {
        use KnownBy::Tree;
        let found = strays(vec![gpu(0, &[(10, Some(70_000), Tree), (11, Some(480), Tree)]), gpu(1, &[(11, Some(70_000), Tree)])]);
        assert_eq!(found, [vec![(11, StrayWhy::AtHomeOn { index: 1 })], vec![]]);
    }

    #[test]
    fn a_helper_beside_a_rank_is_named_and_two_servers_on_one_gpu_are_not() {
        use KnownBy::{Other, Tree};
        let found = strays(vec![gpu(0, &[(10, Some(70_000), Tree), (12, Some(400), Tree)])]);
        assert_eq!(found, [vec![(12, StrayWhy::BesideRank { pid: 10 })]]);
        assert_eq!(strays(vec![gpu(0, &[(10, Some(40_000), Tree), (12, Some(30_000), Tree)])]), [vec![]]);
        // Somebody else's small process is nobody's stray, and a draft model of 8 GiB is no context.
        assert_eq!(strays(vec![gpu(0, &[(10, Some(70_000), Tree), (13, Some(400), Other)])]), [vec![]]);
        assert_eq!(strays(vec![gpu(0, &[(10, Some(70_000), Tree), (14, Some(8 << 10), Tree)])]), [vec![]]);
        assert_eq!(strays(vec![gpu(0, &[(10, Some(400), Other), (11, Some(70_000), Other)])]), [vec![]]);
    }

    #[test]
    fn where_the_driver_tells_no_memory_only_the_number_speaks() {
        use KnownBy::{Other, Tree};
        let found = strays(vec![gpu(0, &[(10, None, Tree), (11, None, Tree), (12, None, Other)]), gpu(1, &[(10, None, Tree)])]);
        assert_eq!(found, [vec![(11, StrayWhy::Uncounted)], vec![]]);
    }

    #[test]
    fn one_that_holds_nothing_yet_is_no_division_by_zero() {
        use KnownBy::Tree;
        assert_eq!(strays(vec![gpu(0, &[(10, Some(0), Tree), (11, Some(0), Tree)])]), [vec![]]);
        assert_eq!(strays(vec![gpu(0, &[(10, Some(0), Tree), (11, Some(100), Tree)])]), [vec![(10, StrayWhy::BesideRank { pid: 11 })]]);
    }
}
