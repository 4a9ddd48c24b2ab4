//! What was typed, and what a launch command says, as one setup.

use std::path::Path;

use bystander_memory::plan::gpu::{Gpu, size};
use bystander_memory::plan::launch::{Launch, Speculative};
use bystander_memory::plan::setup::{Engine, KvKind, Setup, Speculation};
use bystander_memory::version::Release;

use super::{failed, model};
use crate::args::{EngineWord, MemoryPlanArgs};
use crate::failure::Failure;

/// The engines that are asked for, with their releases.
pub(super) fn engines(args: &MemoryPlanArgs, launch: Option<&Launch>) -> Result<Vec<(Engine, Release)>, Failure> {
    let named = args.engine.map(|word| match word {
        EngineWord::Sglang => Engine::Sglang,
        EngineWord::Vllm => Engine::Vllm,
    });
    let only = named.or(launch.map(|launch| launch.engine));
    let release = args.engine_version.as_deref().map(|text| {
        Release::parse(text).ok_or_else(|| Failure::user(format!("failed to use the release {text:?}")).hint("write it as 0.5.9"))
    });
    let release = release.transpose()?;
    if release.is_some() && only.is_none() {
        return Err(Failure::user("failed to tell which engine the release is of").hint("--engine sglang or --engine vllm"));
    }
    // An image of another engine than the one that is asked for says nothing of its release.
    let tagged = launch.filter(|launch| only == Some(launch.engine)).and_then(|launch| launch.release);
    let of = |engine: Engine| (engine, release.or(tagged).unwrap_or_else(|| engine.newest()));
    Ok(only.map_or_else(|| vec![of(Engine::Sglang), of(Engine::Vllm)], |engine| vec![of(engine)]))
}

/// What was typed goes before what the command says.
pub(super) fn setup(args: &MemoryPlanArgs, launch: Option<&Launch>) -> Result<Setup, Failure> {
    let mut setup = launch.map(|launch| launch.setup.clone()).unwrap_or_default();
    setup.tensor = args.tp.unwrap_or(setup.tensor);
    setup.pipeline = args.pp.unwrap_or(setup.pipeline);
    setup.data = args.dp.unwrap_or(setup.data);
    setup.expert = args.ep.filter(|ranks| *ranks > 1).or(setup.expert.filter(|ranks| *ranks > 1));
    setup.attention_is_data_parallel |= args.dp_attention;
    setup.context = args.context.or(setup.context);
    setup.requests = args.requests.or(setup.requests);
    setup.chunk = args.chunk.or(setup.chunk);
    setup.page = args.page.or(setup.page);
    setup.without_graphs |= args.no_graphs;
    setup.is_pcie = if args.pcie { Some(true) } else { setup.is_pcie };
    setup.gpu = args.gpu.as_deref().map(Gpu::parse).transpose().map_err(|error| failed(&error))?;
    if let Some(free) = args.free.as_deref() {
        let bytes = size(free)
            .filter(|bytes| *bytes > 0.0)
            .ok_or_else(|| Failure::user(format!("failed to use {free:?} as a size")).hint("write it as 79.5GiB"))?;
        setup.free_gib = Some(bytes / f64::from(1 << 30));
    }
    if let Some(kind) = args.kv_dtype.as_deref() {
        setup.kv = KvKind::parse(kind)
            .ok_or_else(|| Failure::user(format!("failed to use {kind:?} for the KV cache")).hint("auto, bfloat16, fp8, fp4"))?;
    }
    if let Some(fraction) = args.fraction {
        if !(fraction > 0.0 && fraction <= 1.0) {
            return Err(Failure::user(format!("failed to use the fraction {fraction}: it lies between 0 and 1")));
        }
        setup.fraction = Some(fraction);
    }
    setup.speculation = speculation(args, launch)?;
    Ok(setup)
}

fn speculation(args: &MemoryPlanArgs, launch: Option<&Launch>) -> Result<Option<Speculation>, Failure> {
    let typed = args.speculative.as_deref();
    let said = launch.and_then(|launch| launch.speculative.clone());
    if typed.is_none() && said.is_none() {
        return Ok(None);
    }
    let said = said.unwrap_or_default();
    let method = said.method.to_lowercase();
    let draft = typed
        .filter(|typed| *typed != "mtp")
        .map(Path::new)
        .or_else(|| launch.and_then(|launch| launch.draft.as_deref()).map(Path::new).filter(|draft| draft.exists()));
    // A draft that is named in a command and lies elsewhere is not known; its layers are taken to be those of the checkpoint.
    let found = draft.map(model::read).transpose()?;
    let is_standalone = matches!(method.as_str(), "standalone" | "draft_model");
    // What is worked out from a configuration has embeddings, which a head that guesses on top of the target shares with it.
    let counted = found.as_ref().and_then(|found| found.checkpoint.as_ref()).filter(|checkpoint| checkpoint.is_read || is_standalone);
    let draft_bytes = counted.map(bystander_memory::plan::checkpoint::Checkpoint::bytes);
    let is_textual = matches!(method.as_str(), "ngram" | "[ngram]" | "suffix" | "lookahead");
    let Speculative { steps, branches, tokens, .. } = said;
    Ok(Some(Speculation {
        is_standalone,
        is_textual,
        draft: found.map(|found| found.shape),
        draft_bytes,
        steps,
        branches,
        tokens: args.draft_tokens.or(tokens),
    }))
}
