//! All-reduce over PCIe-IPC off and on, beside each other: what it takes, what is left, which fractions still work, how many tokens that costs.

use super::GIB;
use super::fractions::{Asked, Case, Give, highest};
use super::setup::{Engine, Setup};
use crate::communication::{self, MIB, PCIE_IPC};
use crate::figures::{decimal, fraction as short, whole};
use crate::version::Release;

/// The lines of the comparison; none where the engine cannot have it, or the cards have something better.
pub(super) fn lines(
    engine: Engine,
    release: Release,
    setup: &Setup,
    hidden: u64,
    asked: &Asked,
    give: &dyn Fn(Case, f64) -> Give,
) -> Vec<String> {
    if !communication::has_use_for_pcie_ipc(engine, release, setup) {
        return Vec::new();
    }
    let on = Setup { pcie_ipc: true, ..setup.clone() };
    let items = communication::items(engine, release, &on, Some(hidden));
    let Some(item) = items.into_iter().find(|item| item.name == PCIE_IPC) else { return Vec::new() };
    let workspace = item.bytes as f64 / GIB;
    let need_off = if setup.pcie_ipc { asked.need - workspace } else { asked.need };
    let at = give(Case::Value, asked.fraction);
    let (slack_off, slack_on) = (at.headroom - need_off, at.headroom - need_off - workspace);
    let (top_off, top_on) = (highest(asked, need_off), highest(asked, need_off + workspace));
    let tokens = |fraction: f64| give(Case::Value, fraction).tokens.max(0.0);
    let mut lines = vec![
        format!(
            "PCIe-IPC all-reduce off \u{2192} on: {:.1} MiB on each rank ({}), allocated after the pools: a matter of order, the {} tokens at {} stay; beside what else is needed {} \u{2192} {} GiB are left",
            item.bytes as f64 / MIB as f64,
            item.formula,
            whole(at.tokens),
            short(asked.fraction),
            decimal(slack_off, 2),
            decimal(slack_on, 2)
        ),
        format!(
            "PCIe-IPC all-reduce off \u{2192} on: the fraction may be {} \u{2192} {} at most, {} \u{2192} {} tokens: {} of KV cache lost; the least that starts stays",
            short(top_off),
            short(top_on),
            whole(tokens(top_off)),
            whole(tokens(top_on)),
            whole(tokens(top_off) - tokens(top_on))
        ),
    ];
    lines.extend(knob(engine, setup, hidden, slack_off, slack_on, item.bytes, (asked.fraction, top_on, at.tokens - tokens(top_on))));
    lines
}

/// What makes it fit where it does not, the smallest change first.
fn knob(
    engine: Engine,
    setup: &Setup,
    hidden: u64,
    slack_off: f64,
    slack_on: f64,
    workspace: u64,
    (fraction, top, lost): (f64, f64, f64),
) -> Option<String> {
    if slack_on >= 0.0 {
        return None;
    }
    let row = communication::workspace_bytes(setup.tensor, 1, hidden).filter(|row| *row > 0)?;
    let rows = ((slack_off.max(0.0) * GIB) as u64).min(workspace) / row;
    let lower = format!("a fraction of {} at most, {} tokens fewer than at {}", short(top), whole(lost.max(0.0)), short(fraction));
    if rows == 0 {
        return Some(format!("PCIe-IPC all-reduce on does not fit at {}: {lower}", short(fraction)));
    }
    let how = match engine {
        Engine::Sglang => format!(
            "SGLANG_PCIE_IPC_MAX_NUMEL={}, or a largest batch with a graph and draft tokens whose product is {rows} or less",
            rows * hidden
        ),
        Engine::Vllm => format!("--max-cudagraph-capture-size {rows} or less"),
    };
    Some(format!("PCIe-IPC all-reduce on does not fit at {}: {rows} rows would ({how}); or {lower}", short(fraction)))
}
