//! How SGLang makes pools of what is left: tokens, states of hybrid models, rows of the request table.

use super::cell::Cell;
use super::slots;
use crate::plan::GIB;
use crate::plan::fractions::Give;
use crate::plan::setup::Setup;
use crate::plan::shape::Shape;
use crate::version::Release;

/// The pools of one stage.
#[derive(Debug, Clone)]
pub(super) struct Pool {
    pub(super) cell: Cell,
    /// Bytes of all states of one request.
    pub(super) state_bytes: Option<u64>,
    state_ratio: f64,
    most_states: Option<u64>,
    states_per_request: u64,
    /// Tokens that are checked at once.
    draft_tokens: u64,
    page: u64,
    most_tokens: Option<u64>,
    /// GiB that are set aside for images before the pool is sized.
    reserve: f64,
    /// Tokens that are added for drafts, with the requests that they are counted for.
    headroom: Option<(u64, u64)>,
    requests: Option<u64>,
    context: u64,
    release: Release,
}

impl Pool {
    /// The pools of the layers of a stage.
    pub(super) fn new(shape: &Shape, setup: &Setup, release: Release, cell: Cell, layers: (u64, u64)) -> Self {
        let copies = if setup.attention_is_data_parallel { setup.data.max(1) } else { 1 };
        let requests = slots::requests(setup);
        let keeps_prefixes = slots::keeps_prefixes(shape, setup, release);
        // To 0.5.8 there are 512 slots where prefixes are not kept and no number of requests is given.
        let without = requests.or_else(|| (release < Release(0, 5, 9)).then_some(512)).filter(|_| !keeps_prefixes);
        let explicit = setup.most_states.map(|states| states / copies).or(without);
        Self {
            state_bytes: state_bytes(shape, setup, layers),
            state_ratio: setup.state_ratio.unwrap_or(0.9),
            most_states: explicit,
            states_per_request: slots::per_request(shape, setup, release),
            draft_tokens: setup.speculation.as_ref().map_or(0, |speculation| speculation.tokens.unwrap_or(4)),
            page: setup.page.unwrap_or_else(|| page(shape)),
            most_tokens: setup.most_tokens,
            reserve: reserve(shape, setup, release),
            headroom: headroom(setup, release),
            requests,
            context: context(shape, setup).unwrap_or(0),
            release,
            cell,
        }
    }

    /// What states get of what is left.
    pub(super) fn state_share(&self) -> f64 {
        self.state_ratio / (1.0 + self.state_ratio)
    }

    /// What so many GiB for pools give.
    pub(super) fn give(&self, rest: f64) -> Give {
        let mut bytes = (rest - self.reserve) * GIB;
        let mut requests = f64::INFINITY;
        if let Some(per_request) = self.state_bytes.map(|bytes| bytes as f64) {
            let (slots, taken) = self.states(bytes, per_request);
            bytes -= taken;
            requests = (slots / self.states_per_request as f64).floor();
            if slots < 1.0 || requests < 1.0 {
                return Give { tokens: (bytes / self.cell.bytes).min(0.0), requests: 0.0, headroom: 0.0 };
            }
        }
        let mut tokens = (bytes.trunc() / self.cell.profiled).floor();
        if self.cell.profiled > self.cell.bytes {
            tokens = (tokens * self.cell.profiled / self.cell.bytes).floor();
        }
        if let Some((each, more)) = self.headroom {
            tokens += (self.rows(tokens) * each + more) as f64;
        }
        if let Some(most) = self.most_tokens {
            tokens = tokens.min(most as f64);
        }
        let tokens = (tokens / self.page as f64).floor() * self.page as f64;
        let requests = requests.min(self.requests.map_or(f64::INFINITY, |requests| requests as f64));
        Give { tokens, requests, headroom: 0.0 }
    }

    /// Slots for states, and the bytes that they and what drafts need beside them take.
    fn states(&self, bytes: f64, per_request: f64) -> (f64, f64) {
        let drafts = self.draft_tokens as f64;
        let share = bytes * self.state_share();
        // A slot of padding is counted since 0.5.18.
        if self.release < Release(0, 5, 18) {
            // Each slot has the states of every draft token to 0.5.6; later they are counted for the requests that may run.
            let (each, beside) = match self.release {
                _ if self.release < Release(0, 5, 7) => (per_request * (1.0 + drafts), 0.0),
                _ => (per_request, per_request * drafts * self.requests.unwrap_or(0) as f64),
            };
            let share = (bytes - beside) * self.state_share();
            let slots = self.most_states.map_or_else(|| (share / each).floor(), |states| states as f64);
            return (slots, slots * each + beside);
        }
        let each = per_request * (1.0 + drafts / self.states_per_request as f64);
        let slots = self.most_states.map_or_else(|| ((share - per_request * (1.0 + drafts)) / each).floor(), |states| states as f64);
        let running = self.requests.map_or(f64::INFINITY, |requests| requests as f64).min((slots / self.states_per_request as f64).floor());
        (slots, (slots + 1.0) * per_request + if drafts > 0.0 { (running + 1.0) * drafts * per_request } else { 0.0 })
    }

    /// Rows of the request table.
    pub(super) fn rows(&self, tokens: f64) -> u64 {
        let usual = || if self.context == 0 { 2048 } else { ((tokens / self.context as f64 * 512.0) as u64).clamp(2048, 4096) };
        let rows = self.requests.unwrap_or_else(usual);
        if self.release >= Release(0, 5, 10) { rows.min((tokens.max(0.0) / 2.0) as u64) } else { rows }
    }
}

/// Bytes of the states of one request in the layers of a stage: windows in the kind of the model, recurrent states in 32 where nothing else is said.
fn state_bytes(shape: &Shape, setup: &Setup, layers: (u64, u64)) -> Option<u64> {
    let here = (0..).zip(&shape.layers).filter(|(at, _)| (layers.0..layers.1).contains(at)).filter_map(|(_, layer)| layer.state);
    let bits = setup.state_bits.or(shape.state_bits).unwrap_or(32);
    let sizes: Option<Vec<u64>> = here
        .map(|state| state.size(setup.attention_ranks()).map(|size| size.window * setup.bits() / 8 + size.recurrent * bits / 8))
        .collect();
    sizes.map(|sizes| sizes.iter().sum()).filter(|bytes| *bytes > 0)
}

/// The context that the engine sizes its request table for: what was asked for, else the model's, by the factor of its rotary embedding.
pub(super) fn context(shape: &Shape, setup: &Setup) -> Option<u64> {
    setup.context.or(shape.context_sglang).or(shape.context)
}

/// Tokens of a page where nothing was asked for.
fn page(shape: &Shape) -> u64 {
    if shape.index_width().is_some() { 64 } else { 1 }
}

/// GiB that multimodal models set aside since 0.5.18: the cache of embeddings.
fn reserve(shape: &Shape, setup: &Setup, release: Release) -> f64 {
    if release >= Release(0, 5, 18) && super::defaults::is_multimodal(shape, setup) { 100.0 / 1024.0 } else { 0.0 }
}

/// Tokens that releases to 0.5.6 add to the pool for drafts: for each request, and in all.
fn headroom(setup: &Setup, release: Release) -> Option<(u64, u64)> {
    let speculation = setup.speculation.as_ref().filter(|speculation| !speculation.is_textual && release < Release(0, 5, 7))?;
    let (steps, branches, tokens) = (speculation.steps.unwrap_or(5), speculation.branches.unwrap_or(4), speculation.tokens.unwrap_or(8));
    Some((steps * branches + tokens, 100))
}
