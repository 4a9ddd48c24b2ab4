//! What is free on a card before the weights: its memory, less the context of CUDA and what ranks need to talk to each other.

use bystander_model::budget::Figure;

use super::GIB;
use super::gpu::Gpu;
use super::setup::{Engine, Setup};
use crate::communication;
use crate::version::Release;

/// A context of CUDA with the libraries of an engine: 0.5 GiB, seen from 0.3 to 0.9.
const CONTEXT: Figure = Figure { value: 0.5, low: 0.25, high: 0.9 };
/// NCCL connects as it is used: nothing at first, up to this on each rank once rings and trees of all groups stand.
const MOST_NCCL_GIB: f64 = 1.5;

/// What is free before the weights.
pub(super) struct Baseline {
    /// In GiB, the least of all ranks.
    pub(super) free: Figure,
    /// How it came to be.
    pub(super) lines: Vec<String>,
}

/// What is free before the weights.
pub(super) fn before_weights(engine: Engine, release: Release, setup: &Setup, gpu: &Gpu) -> Baseline {
    let mut lines = vec![format!("card: {}", gpu.source)];
    if let Some(given) = setup.free_gib {
        let most = gpu.cuda_gib.high;
        lines.push(if given > most {
            format!("free before the weights: {most:.3} GiB, all that the card has; {given} GiB, as given, is more than that")
        } else {
            format!("free before the weights: {given} GiB, as given")
        });
        let free = given.min(most);
        return Baseline { free: Figure::exact(free), lines };
    }
    let world = setup.tensor * setup.pipeline;
    let eager: f64 = communication::items(engine, release, setup, None)
        .iter()
        .filter(|item| item.is_before_pool)
        .map(|item| item.bytes as f64 / GIB)
        .sum();
    let possible = communication::possible(engine, release, setup) as f64 / GIB;
    let nccl = if world > 1 { MOST_NCCL_GIB } else { 0.0 };
    // One small segment of PyTorch is there before anything else is measured.
    let first = 2.0 / 1024.0;
    let card = gpu.cuda_gib;
    let free = Figure {
        value: card.value - CONTEXT.value - eager - first,
        low: card.low - CONTEXT.high - eager - possible - nccl - first,
        high: card.high - CONTEXT.low,
    };
    lines.push(format!(
        "free before the weights: {:.3} GiB ({:.3} to {:.3}): less a CUDA context of 0.5 GiB (0.25 to 0.9){}",
        free.value,
        free.low,
        free.high,
        if world > 1 {
            let buffers = if possible > 0.0 {
                format!(
                    "up to {:.0} MiB of communication buffers (the size of a card does not say whether it has NVLink)",
                    possible * 1024.0
                )
            } else {
                format!("{:.0} MiB of communication buffers", eager * 1024.0)
            };
            format!(", {buffers} and up to {MOST_NCCL_GIB} GiB of NCCL")
        } else {
            String::new()
        }
    ));
    Baseline { free, lines }
}
