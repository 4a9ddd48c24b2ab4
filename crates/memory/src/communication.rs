//! Memory that ranks hold to talk to each other: which engine and release allocates what, how much, and whether before or after the KV cache is sized.
//!
//! Imported memory of a peer is the peer's; every amount here is that of one rank.

mod custom;
mod nccl;
mod pcie;

pub use custom::{legacy_bytes, symmetric_bytes, v2_bytes};
pub use nccl::{CONNECTION_BYTES, connection_bytes, is_connections};
pub use pcie::workspace_bytes;

use crate::plan::gpu::Gpu;
use crate::plan::setup::{Engine, Setup};
use crate::version::Release;

pub(crate) const MIB: u64 = 1 << 20;
const PCIE_IPC: &str = "PCIe-IPC workspace";

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
        items.extend(pcie_ipc(engine, setup, world, hidden));
    }
    items
}

/// One line for each buffer, and where all-reduce over PCIe is off, what turning it on would take.
#[must_use]
pub fn lines(engine: Engine, release: Release, setup: &Setup, hidden: u64) -> Vec<String> {
    let mib = |bytes: u64| bytes as f64 / MIB as f64;
    let line = |item: &Item| {
        let order = if item.is_before_pool { "before the pools are sized" } else { "after the pools, from what they leave" };
        format!("communication: {} {:.1} MiB, {order} ({})", item.name, mib(item.bytes), item.formula)
    };
    let mut lines: Vec<String> = items(engine, release, setup, Some(hidden)).iter().map(line).collect();
    let first = match engine {
        Engine::Sglang => Release(0, 5, 21),
        Engine::Vllm => Release(0, 33, 0),
    };
    if setup.tensor > 1 {
        lines.push(format!(
            "communication: NCCL takes {:.0} MiB for each channel of each peer once a call needs it, not before",
            mib(CONNECTION_BYTES)
        ));
    }
    if !setup.pcie_ipc && release >= first && !has_nvlink(setup) {
        let on = Setup { pcie_ipc: true, ..setup.clone() };
        if let Some(item) = items(engine, release, &on, Some(hidden)).into_iter().find(|item| item.name == PCIE_IPC) {
            lines.push(format!(
                "communication: with all-reduce over PCIe-IPC on, {:.1} MiB more of what the pools leave ({}); fewer rows: fewer capture sizes or draft tokens",
                mib(item.bytes),
                item.formula
            ));
        }
    }
    lines
}

fn custom(engine: Engine, release: Release, setup: &Setup, world: u64) -> Vec<Item> {
    let capability = setup.gpu.as_ref().and_then(|gpu| gpu.capability);
    let has_nvlink = has_nvlink(setup);
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

/// Whether the cards have NVLink: as told, else by the kind of card.
fn has_nvlink(setup: &Setup) -> bool {
    let usual = setup
        .gpu
        .as_ref()
        .and_then(|gpu: &Gpu| gpu.capability)
        .is_some_and(|capability| matches!(capability, (7 | 8, 0) | (9, 0) | (10, _)));
    setup.is_pcie.map_or(usual, |is_pcie| !is_pcie)
}

fn pcie_ipc(engine: Engine, setup: &Setup, world: u64, hidden: u64) -> Option<Item> {
    let batch = setup.graph_batch.unwrap_or(512);
    let drafts = setup.speculation.as_ref().and_then(|speculation| speculation.tokens).unwrap_or(1);
    let rows = match engine {
        Engine::Sglang => batch.saturating_mul(drafts),
        Engine::Vllm => batch,
    };
    let bytes = workspace_bytes(world, rows, hidden)?;
    let factor = bytes as f64 / (rows as f64 * hidden as f64 * 2.0);
    Some(Item {
        name: PCIE_IPC,
        bytes,
        is_before_pool: false,
        formula: format!("{factor} \u{d7} the largest payload, {rows} rows \u{d7} {hidden} \u{d7} 2 bytes"),
    })
}

#[cfg(test)]
mod tests {
    use super::items;
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
    fn the_workspace_comes_after_the_pool() {
        let setup = Setup { tensor: 8, is_pcie: Some(true), pcie_ipc: true, ..Setup::default() };
        let found = items(Engine::Vllm, Release(0, 33, 0), &setup, Some(6144));
        assert_eq!(found.len(), 1);
        assert!(!found[0].is_before_pool && found[0].bytes == 234_356_736, "{found:?}");
    }
}
