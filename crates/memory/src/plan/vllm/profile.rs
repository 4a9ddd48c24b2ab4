//! What vLLM's profile run would find beside the weights. The engine measures it; here it is estimated, with wide bounds.

use bystander_model::budget::Figure;

use super::defaults;
use crate::plan::GIB;
use crate::plan::activations::token_bytes;
use crate::plan::gpu::Gpu;
use crate::plan::setup::Setup;
use crate::plan::shape::Shape;
use crate::version::Release;

/// What the profile finds.
pub(super) struct Profile {
    /// Inside the share, in GiB.
    pub(super) beside: Figure,
    /// Allocated later, beside the share, in GiB.
    pub(super) outside: Figure,
    /// How they came to be.
    pub(super) lines: Vec<String>,
}

/// Buffers and workspaces that stay: 0.13 GiB was seen on a small model, workspaces of attention kernels add up to half a GiB.
const PERSISTENT: Figure = Figure { value: 0.13, low: 0.0, high: 0.8 };
/// Graphs of all sizes: from nearly nothing to two and a half GiB.
const GRAPHS: Figure = Figure { value: 0.5, low: 0.05, high: 2.5 };
/// The encoder's own profile, for models that see.
const ENCODER: Figure = Figure { value: 0.5, low: 0.0, high: 2.5 };

/// Estimates the profile.
pub(super) fn profile(shape: &Shape, setup: &Setup, release: Release, gpu: &Gpu) -> Profile {
    let chunk = defaults::chunk(setup, release).tokens;
    // Where the card is not named it may be one with the smaller default.
    let least = if gpu.capability.is_none() && setup.chunk.is_none() { chunk.min(2048) } else { chunk };
    let token = token_bytes(shape, setup) as f64;
    let requests = defaults::requests(setup);
    let vocabulary = shape.vocabulary.unwrap_or(0) as f64;
    let logits = requests as f64 * vocabulary / GIB;
    let steps = |chunk: u64| chunk as f64 * token / GIB;
    let activations =
        Figure { value: steps(chunk).max(logits * 6.0), low: steps(least) * 0.6, high: steps(chunk) * 1.6 + logits * 16.0 + 0.25 };
    let mut lines = vec![format!(
        "activations: {chunk} tokens \u{d7} {token} bytes, or logits of {requests} requests: {:.2} GiB ({:.2} to {:.2}); the engine measures this",
        activations.value, activations.low, activations.high
    )];
    let mut beside = add(activations, PERSISTENT);
    let mut outside = Figure { value: 0.1, low: 0.0, high: 0.5 };
    if !setup.without_graphs {
        if release >= Release(0, 22, 0) {
            beside = add(beside, GRAPHS);
            lines.push(format!(
                "graphs: {} GiB ({} to {}) inside the share; the engine estimates this",
                GRAPHS.value, GRAPHS.low, GRAPHS.high
            ));
        } else {
            outside = add(outside, GRAPHS);
            lines.push(format!("graphs: {} GiB ({} to {}) outside the share in this release", GRAPHS.value, GRAPHS.low, GRAPHS.high));
        }
    }
    if shape.vision.is_some() && !setup.language_only {
        beside = add(beside, ENCODER);
        lines.push(format!("the encoder's profile: {} GiB ({} to {})", ENCODER.value, ENCODER.low, ENCODER.high));
    }
    Profile { beside, outside, lines }
}

fn add(a: Figure, b: Figure) -> Figure {
    Figure { value: a.value + b.value, low: a.low + b.low, high: a.high + b.high }
}
