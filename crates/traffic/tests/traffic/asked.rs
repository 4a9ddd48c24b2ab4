//! What the tests ask: a small load, changed where a test needs it, and the server that answers it.

use std::time::Duration;

use bystander_model::traffic::{Amount, Arrival, Endpoint, Load, Prompt, Summary};
use bystander_testkit::endpoint::{self, Asked, Step};

/// Between two tokens of the tests' answers: more than an engine needs, so that no answer is too fast to be true.
pub(crate) const PACE: Duration = Duration::from_micros(500);

/// A load of so many requests, four at a time.
pub(crate) fn load(server: &endpoint::Endpoint, requests: u64) -> Load {
    Load {
        url: server.url(),
        model: Some("mock".into()),
        endpoint: Endpoint::Chat,
        arrival: Arrival::Closed { concurrency: 4 },
        amount: Amount::Requests(requests),
        warmup: None,
        prompt: Prompt::Random { tokens: 16, seed: None },
        output_tokens: 20,
        ignore_eos: false,
        timeout_s: 60.0,
        errors: 0.0,
        seed: 1,
        api_key_env: None,
        body: serde_json::Map::new(),
    }
}

/// A server that answers every request by the same script.
pub(crate) fn server(script: impl FnMut(&Asked<'_>) -> Vec<Step> + Send + 'static) -> endpoint::Endpoint {
    endpoint::Endpoint::start(Box::new(script))
}

/// Puts a load on and keeps the folder of its results.
pub(crate) fn run_in(load: &Load) -> (Summary, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("folder");
    let summary = bystander_traffic::run(load, folder.path(), &std::sync::Arc::default(), &mut |_| {}).expect("a load that can be put on");
    (summary, folder)
}

/// Puts a load on.
pub(crate) fn run(load: &Load) -> Summary {
    run_in(load).0
}

/// Puts so many requests on a server that answers each by the same steps.
pub(crate) fn of_steps(requests: u64, steps: Vec<Step>) -> Summary {
    let server = server(move |_| steps.clone());
    run(&load(&server, requests))
}
