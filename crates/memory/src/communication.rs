//! Memory that ranks hold to talk to each other: which engine and release allocates what, how much, and whether before or after the KV cache is sized.
//!
//! Imported memory of a peer is the peer's; every amount here is that of one rank.

mod custom;
mod nccl;
mod pcie;

pub use custom::{legacy_bytes, symmetric_bytes, v2_bytes};
pub use nccl::{CONNECTION_BYTES, connection_bytes, is_connections};
pub use pcie::workspace_bytes;

use crate::plan::largest_batch;
use crate::plan::setup::{Engine, Setup};
use crate::version::Release;

/// Sizes of graphs that vLLM captures go up to this by themselves.
const MOST_CAPTURED: u64 = 512;
pub(crate) const MIB: u64 = 1 << 20;
/// The name of the workspace of all-reduce over PCIe.
pub(crate) const PCIE_IPC: &str = "PCIe-IPC workspace";

/// One buffer, or set of buffers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What it is.
    pub name: &'static str,
    /// Bytes on each rank.
    pub bytes: u64,
    /// Whether it is allocated before the engine measures what is free; else it comes out of what the pools leave.
    pub is_before_pool: bool,
    /// How the amount comes to be.
    pub formula: String,
}

/// The buffers that an engine allocates for a setup; `hidden` is the width of the model, where it is known.
#[must_use]
pub fn items(engine: Engine, release: Release, setup: &Setup, hidden: Option<u64>) -> Vec<Item> {
    let world = setup.tensor;
    let mut items = Vec::new();
    if world <= 1 {
        return items;
    }
    if !setup.without_custom_all_reduce {
        items.extend(custom(engine, release, setup, world));
    }
    if engine == Engine::Sglang
        && let Some(gib) = setup.symmetric_gib
    {
        items.push(Item {
            name: "symmetric memory",
            bytes: (gib * 1024.0) as u64 * MIB,
            is_before_pool: false,
            formula: format!("{gib} GiB set aside at once; no default fraction counts it"),
        });
    }
    if let (true, Some(hidden)) = (setup.pcie_ipc, hidden) {
        items.extend(pcie_ipc(engine, release, setup, world, hidden));
    }
    items
}

/// One line for each buffer that a setup has.
#[must_use]
pub fn lines(engine: Engine, release: Release, setup: &Setup, hidden: u64) -> Vec<String> {
    let mib = |bytes: u64| bytes as f64 / MIB as f64;
    let line = |item: &Item| {
        let order = if item.is_before_pool { "before the pools are sized" } else { "after the pools, from what they leave" };
        format!("communication: {} {:.1} MiB, {order} ({})", item.name, mib(item.bytes), item.formula)
    };
    let mut lines: Vec<String> = items(engine, release, setup, Some(hidden)).iter().map(line).collect();
    if setup.tensor > 1 {
        lines.push(format!(
            "communication: NCCL takes {:.0} MiB for each channel of each peer once a call needs it, not before",
            mib(CONNECTION_BYTES)
        ));
    }
    lines
}

/// Bytes that custom all-reduce may take besides [`items`], where nothing says whether the cards have NVLink.
pub(crate) fn possible(engine: Engine, release: Release, setup: &Setup) -> u64 {
    if setup.tensor <= 1 || has_nvlink(setup).is_some() || setup.without_custom_all_reduce {
        return 0;
    }
    let joined = Setup { is_pcie: Some(false), ..setup.clone() };
    custom(engine, release, &joined, setup.tensor).iter().map(|item| item.bytes).sum()
}

/// Whether the all-reduce of FlashInfer over PCIe can be turned on, and would be of use.
pub(crate) fn has_use_for_pcie_ipc(engine: Engine, release: Release, setup: &Setup) -> bool {
    let first = match engine {
        Engine::Sglang => Release(0, 5, 21),
        Engine::Vllm => Release(0, 33, 0),
    };
    setup.pcie_ipc || (release >= first && has_nvlink(setup) != Some(true))
}

fn custom(engine: Engine, release: Release, setup: &Setup, world: u64) -> Vec<Item> {
    let capability = setup.gpu.as_ref().and_then(|gpu| gpu.capability);
    let has_nvlink = has_nvlink(setup);
    // Nothing is assumed of cards of which only the size is known.
    let Some(has_nvlink) = has_nvlink else { return Vec::new() };
    let item = |name, bytes, formula: String| Item { name, bytes, is_before_pool: true, formula };
    let legacy = || {
        // Two cards may be joined by PCIe alone, more may not.
        let is_eligible = matches!(world, 2 | 4 | 6 | 8) && (world == 2 || has_nvlink);
        is_eligible.then(|| {
            let (bytes, formula) = legacy_bytes(engine, release);
            item("custom all-reduce", bytes, formula)
        })
    };
    match engine {
        Engine::Sglang if release >= Release(0, 5, 12) => {
            let v2 = v2_bytes(world, capability).filter(|_| has_nvlink);
            match v2 {
                Some((symmetric, local)) => {
                    vec![item(
                        "custom all-reduce v2",
                        symmetric + local,
                        format!(
                            "{:.1} MiB symmetric + {} MiB for graphs, by table for {world} ranks",
                            symmetric as f64 / MIB as f64,
                            local / MIB
                        ),
                    )]
                }
                None => legacy().into_iter().collect(),
            }
        }
        Engine::Sglang => legacy().into_iter().collect(),
        Engine::Vllm => {
            let symmetric = symmetric_bytes(world, capability).filter(|_| release >= Release(0, 11, 0) && has_nvlink);
            let symmetric = symmetric.map(|bytes| item("symmetric memory of torch", bytes, format!("by table for {world} ranks")));
            legacy().into_iter().chain(symmetric).collect()
        }
    }
}

/// Whether the cards have NVLink: as told, else by the name of the card; `None` where neither says it.
fn has_nvlink(setup: &Setup) -> Option<bool> {
    setup.is_pcie.map(|is_pcie| !is_pcie).or_else(|| setup.gpu.as_ref().and_then(|gpu| gpu.has_nvlink))
}

fn pcie_ipc(engine: Engine, release: Release, setup: &Setup, world: u64, hidden: u64) -> Option<Item> {
    let (rows, why) = rows(engine, release, setup, hidden);
    let bytes = workspace_bytes(world, rows, hidden)?;
    let factor = bytes as f64 / (rows as f64 * hidden as f64 * 2.0);
    Some(Item {
        name: PCIE_IPC,
        bytes,
        is_before_pool: false,
        formula: format!("{factor} \u{d7} the largest payload, {rows} rows \u{d7} {hidden} \u{d7} 2 bytes; {why}"),
    })
}

/// Rows of the largest reduction that the workspace serves, and what they follow from.
fn rows(engine: Engine, release: Release, setup: &Setup, hidden: u64) -> (u64, &'static str) {
    if let Some(numbers) = setup.pcie_ipc_numbers.filter(|_| engine == Engine::Sglang) {
        return (numbers.div_ceil(hidden.max(1)), "SGLANG_PCIE_IPC_MAX_NUMEL");
    }
    match engine {
        Engine::Sglang => {
            let drafts = setup.speculation.as_ref().and_then(|speculation| speculation.tokens).unwrap_or(1);
            (largest_batch(setup, release).saturating_mul(drafts), "the largest batch with a graph \u{d7} draft tokens")
        }
        Engine::Vllm => {
            let requests = setup.requests.map_or(MOST_CAPTURED, |requests| requests.saturating_mul(2).min(MOST_CAPTURED));
            (setup.graph_batch.unwrap_or(requests), "the largest capture size")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PCIE_IPC, items, possible};
    use crate::plan::gpu::Gpu;
    use crate::plan::setup::{Engine, Setup};
    use crate::version::Release;

    #[test]
    fn one_rank_talks_to_nobody() {
        assert!(items(Engine::Sglang, Release(0, 5, 23), &Setup::default(), Some(4096)).is_empty());
    }

    #[test]
    fn more_than_two_cards_on_pcie_have_no_custom_all_reduce() {
        let of = |tensor, is_pcie| {
            items(Engine::Sglang, Release(0, 5, 9), &Setup { tensor, is_pcie: Some(is_pcie), ..Setup::default() }, None).len()
        };
        assert_eq!((of(2, true), of(4, true), of(4, false), of(3, false)), (1, 0, 1, 0));
    }

    #[test]
    fn nothing_is_assumed_of_cards_that_may_have_nvlink_or_not() {
        let setup = |tensor, gpu: &str| Setup { tensor, gpu: Some(Gpu::parse(gpu).expect("a card")), ..Setup::default() };
        let count = |setup: &Setup| items(Engine::Sglang, Release(0, 5, 9), setup, None).len();
        let may = |setup: &Setup| possible(Engine::Sglang, Release(0, 5, 9), setup);
        let (sized, named, on_pcie) = (setup(4, "80GiB"), setup(4, "h100"), setup(4, "H100 PCIe"));
        assert_eq!((count(&sized), count(&named), count(&on_pcie)), (0, 1, 0));
        assert!(may(&sized) > 24 << 20);
        assert_eq!((may(&named), may(&on_pcie), may(&setup(1, "80GiB"))), (0, 0, 0));
    }

    #[test]
    fn rows_of_the_workspace_follow_graphs_and_drafts() {
        let of = |engine, setup: Setup| {
            let setup = Setup { tensor: 8, pcie_ipc: true, is_pcie: Some(true), ..setup };
            let found = items(engine, engine.newest(), &setup, Some(6144));
            found.iter().find(|item| item.name == PCIE_IPC).map(|item| item.bytes as f64 / 1_048_576.0)
        };
        assert_eq!(of(Engine::Sglang, Setup { graph_batch: Some(64), ..Setup::default() }), Some(27.9375));
        assert_eq!(of(Engine::Sglang, Setup { pcie_ipc_numbers: Some(8192 * 6144), ..Setup::default() }), Some(3576.0));
        assert_eq!(of(Engine::Vllm, Setup { requests: Some(32), ..Setup::default() }), Some(27.9375));
        assert_eq!(of(Engine::Vllm, Setup::default()), Some(223.5));
        let large = Setup { gpu: Some(Gpu::parse("RTX PRO 6000").expect("a card")), ..Setup::default() };
        assert_eq!(of(Engine::Sglang, large), Some(223.5));
    }

    #[test]
    fn the_workspace_comes_after_the_pool() {
        let setup = Setup { tensor: 8, is_pcie: Some(true), pcie_ipc: true, ..Setup::default() };
        let found = items(Engine::Vllm, Release(0, 33, 0), &setup, Some(6144));
        assert_eq!(found.len(), 1);
        assert!(!found[0].is_before_pool && found[0].bytes == 234_356_736, "{found:?}");
    }
}
