//! Asks for plans of the configurations among the fixtures.

use bystander_memory::plan::checkpoint::Checkpoint;
use bystander_memory::plan::config::Config;
use bystander_memory::plan::gpu::Gpu;
use bystander_memory::plan::setup::{Engine, Setup};
use bystander_memory::plan::shape::Shape;
use bystander_memory::plan::tensors::worked_out;
use bystander_memory::plan::{Question, plan};
use bystander_memory::version::Release;
use bystander_model::memory::{Column, Planned};

/// The text of a configuration among the fixtures.
pub(crate) fn text(model: &str) -> String {
    let file = format!("{}/tests/fixtures/models/{model}.json", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// A model by its configuration.
pub(crate) fn model(text: &str) -> (Shape, Option<Checkpoint>) {
    let config = Config::parse(text).expect("a configuration");
    let shape = Shape::read(&config).expect("a shape");
    let checkpoint = worked_out(&config, &shape).expect("its fields are right");
    (shape, checkpoint)
}

/// Plans a configuration for the newest releases of both engines.
pub(crate) fn newest(text: &str, setup: Setup) -> Planned {
    ask(text, setup, vec![(Engine::Sglang, Engine::Sglang.newest()), (Engine::Vllm, Engine::Vllm.newest())])
}

/// Plans a configuration for one release of one engine, and gives its column.
pub(crate) fn column(text: &str, setup: Setup, engine: Engine, release: Release) -> Column {
    ask(text, setup, vec![(engine, release)]).columns.pop().expect("a column")
}

fn ask(text: &str, setup: Setup, engines: Vec<(Engine, Release)>) -> Planned {
    let (shape, checkpoint) = model(text);
    plan(&Question { model: "model".to_owned(), shape, checkpoint, setup, engines, read: Vec::new() })
}

/// So many ranks, with requests of so many tokens.
pub(crate) fn ranks(tensor: u64, context: u64) -> Setup {
    Setup { tensor, context: Some(context), ..Setup::default() }
}

/// So many ranks on cards of this name or size.
pub(crate) fn on(gpu: &str, tensor: u64) -> Setup {
    Setup { tensor, gpu: Some(Gpu::parse(gpu).expect("a card")), ..Setup::default() }
}
