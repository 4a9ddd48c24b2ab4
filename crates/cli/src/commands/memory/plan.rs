//! `bystander memory plan`: what a model needs on given cards, before a start.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bystander_memory::plan::config::Config;
use bystander_memory::plan::gpu::Gpu;
use bystander_memory::plan::launch::Launch;
use bystander_memory::plan::release::Release;
use bystander_memory::plan::setup::{Engine, KvKind, Setup};
use bystander_memory::plan::shape::Shape;
use bystander_memory::plan::{Question, plan};

use crate::args::{EngineWord, MemoryPlanArgs};
use crate::failure::Failure;
use crate::output::Output;

/// The largest `config.json` that is read.
const MOST_CONFIG: u64 = 32 << 20;

/// Plans.
pub(crate) fn run(args: &MemoryPlanArgs, output: &mut Output) -> Result<ExitCode, Failure> {
    let launch = if args.command.is_empty() { None } else { Some(Launch::parse(&args.command).map_err(|error| failed(&error))?) };
    let named = args.model.clone().or_else(|| launch.as_ref()?.model.as_ref().map(PathBuf::from));
    let named = named.ok_or_else(|| {
        Failure::user("failed to plan: no model is named").hint("bystander memory plan FOLDER, or a command after `--` that names one")
    })?;
    let (config, from) = config(&named)?;
    let shape = Shape::read(&config).map_err(|error| failed(&error))?;
    let setup = setup(args, launch.as_ref())?;
    let engines = engines(args, launch.as_ref())?;
    let question = Question { model: named.display().to_string(), shape, setup, engines, read: vec![from.display().to_string()] };
    output.memory_plan(&plan(&question));
    Ok(ExitCode::SUCCESS)
}

fn failed(error: &(dyn std::error::Error + 'static)) -> Failure {
    let failure = Failure::user(format!("failed to {error}"));
    error.source().map_or_else(|| Failure::user(format!("failed to {error}")), |source| failure.because(source))
}

/// The configuration of a model, and the file that it is in.
fn config(named: &Path) -> Result<(Config, PathBuf), Failure> {
    let file = if named.is_dir() { named.join("config.json") } else { named.to_path_buf() };
    let text = text(&file)?;
    Config::parse(&text).map(|config| (config, file)).map_err(|error| failed(&error))
}

fn text(file: &Path) -> Result<String, Failure> {
    let bad = |error: &std::io::Error| {
        let failure = Failure::user(format!("failed to read {}", file.display())).because(error);
        if error.kind() == std::io::ErrorKind::NotFound {
            failure.hint("MODEL is a folder with config.json, or a config.json; a name on a hub is not looked up")
        } else {
            failure
        }
    };
    let mut bytes = Vec::new();
    let opened = File::open(file).map_err(|error| bad(&error))?;
    opened.take(MOST_CONFIG + 1).read_to_end(&mut bytes).map_err(|error| bad(&error))?;
    if bytes.len() as u64 > MOST_CONFIG {
        return Err(Failure::user(format!("failed to read {}: it is no configuration, it has more than 32 MiB", file.display())));
    }
    String::from_utf8(bytes)
        .map_err(|error| Failure::user(format!("failed to read {} as text", file.display())).because(&error.utf8_error()))
}

fn engines(args: &MemoryPlanArgs, launch: Option<&Launch>) -> Result<Vec<(Engine, Release)>, Failure> {
    let named = args.engine.map(|word| match word {
        EngineWord::Sglang => Engine::Sglang,
        EngineWord::Vllm => Engine::Vllm,
    });
    let only = named.or(launch.map(|launch| launch.engine));
    let release = args.engine_version.as_deref().map(|text| {
        Release::parse(text).ok_or_else(|| Failure::user(format!("failed to use the release {text:?}")).hint("write it as 0.5.9"))
    });
    let release = release.transpose()?;
    let of = |engine: Engine| (engine, release.unwrap_or_else(|| engine.newest()));
    Ok(only.map_or_else(|| vec![of(Engine::Sglang), of(Engine::Vllm)], |engine| vec![of(engine)]))
}

/// What was typed goes before what the command says.
fn setup(args: &MemoryPlanArgs, launch: Option<&Launch>) -> Result<Setup, Failure> {
    let mut setup = launch.map(|launch| launch.setup.clone()).unwrap_or_default();
    setup.tensor = args.tp.unwrap_or(setup.tensor);
    setup.pipeline = args.pp.unwrap_or(setup.pipeline);
    setup.data = args.dp.unwrap_or(setup.data);
    setup.expert = args.ep.or(setup.expert);
    setup.attention_is_data_parallel |= args.dp_attention;
    setup.context = args.context.or(setup.context);
    setup.requests = args.requests.or(setup.requests);
    setup.chunk = args.chunk.or(setup.chunk);
    setup.is_pcie = if args.pcie { Some(true) } else { setup.is_pcie };
    setup.gpu = args.gpu.as_deref().map(Gpu::parse).transpose().map_err(|error| failed(&error))?;
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
    Ok(setup)
}
