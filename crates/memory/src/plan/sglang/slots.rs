//! How many slots for recurrent states SGLang gives each request, by release and architecture.
//!
//! Source: SGLang `server_args.py: _handle_mamba_radix_cache` and `model_runner_kv_cache_mixin.py` (0.5.7 to 0.5.15), `arg_groups/overrides.py` and
//! `mem_cache/kv_cache_configurator.py: _calculate_mamba_ratio` (later).

use crate::plan::setup::Setup;
use crate::plan::shape::{Shape, State};
use crate::version::Release;

/// Slots of a request whose finished prefix is kept.
const KEPT: u64 = 3;
/// Requests that run at once where tokens are guessed and no number is given.
const GUESSING: u64 = 48;

/// Requests at once on one copy, where their number is known before the pools are sized.
pub(super) fn requests(setup: &Setup) -> Option<u64> {
    let copies = if setup.attention_is_data_parallel { setup.data.max(1) } else { 1 };
    let usual = setup.speculation.as_ref().map(|_| GUESSING);
    setup.requests.or(usual).map(|requests| (requests / copies).max(1))
}

/// Whether finished prefixes of a model with states are kept.
pub(super) fn keeps_prefixes(shape: &Shape, setup: &Setup, release: Release) -> bool {
    let is_kimi = shape.states().any(|state| matches!(state, State::Kimi { .. }));
    let is_unable = is_kimi && release < Release(0, 5, 14);
    // These releases give prefixes up where tokens are guessed, unless each request has a buffer.
    let from = if shape.architecture == "NemotronHForCausalLM" { Release(0, 5, 8) } else { Release(0, 5, 9) };
    let gives_up = setup.speculation.is_some() && (from..Release(0, 5, 14)).contains(&release);
    !setup.without_prefix_cache && !is_unable && (!gives_up || setup.states_have_buffer == Some(true))
}

/// Slots for each request.
pub(super) fn per_request(shape: &Shape, setup: &Setup, release: Release) -> u64 {
    if !keeps_prefixes(shape, setup, release) {
        return 1;
    }
    let is_guessing = setup.speculation.is_some();
    if release == Release(0, 5, 7) {
        // This release counts a buffer whether there is one or not.
        return KEPT + if is_guessing && setup.states_have_buffer == Some(true) { 1 } else { 2 };
    }
    let by_itself = || release >= Release(0, 5, 14) && has_buffer(&shape.architecture) && (!setup.without_overlap || setup.page > Some(1));
    if !setup.states_have_buffer.unwrap_or_else(by_itself) {
        return KEPT;
    }
    // Two that take turns, one where steps do not overlap.
    let is_one = if release < Release(0, 5, 14) { is_guessing } else { setup.without_overlap };
    KEPT + if is_one { 1 } else { 2 }
}

/// Architectures that get a buffer by themselves.
fn has_buffer(architecture: &str) -> bool {
    matches!(
        architecture,
        "Qwen3NextForCausalLM"
            | "Qwen3_5ForConditionalGeneration"
            | "Qwen3_5MoeForConditionalGeneration"
            | "BailingMoeV2_5ForCausalLM"
            | "FalconH1ForCausalLM"
            | "GraniteMoeHybridForCausalLM"
            | "NemotronHForCausalLM"
    )
}
