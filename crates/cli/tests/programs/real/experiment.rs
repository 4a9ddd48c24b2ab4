//! Real servers that go through a whole experiment: a size of the KV cache that is varied, with and without a probe, ready by a completion of their
//! own, and under built-in traffic.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bystander_testkit::until;
use serde_json::Value;

use super::engine::installed;
use crate::experiment::{shown, world};

/// Fifteen launches of a large server on a busy machine.
const LIMIT: Duration = Duration::from_secs(4800);

/// A server and what is varied in it.
struct Served<'a> {
    name: &'a str,
    /// The two levels of `pool`, in TOML; each says how it is seen in the log.
    small: &'a str,
    large: &'a str,
    /// The metric `kv_tokens`, in TOML, and what it must be at both levels.
    tokens: &'a str,
    expected: [f64; 2],
    /// A place that every start comes through, with what is captured.
    probe: &'a str,
}

impl Served<'_> {
    fn text(&self, serve: &Path) -> String {
        let Self { small, large, tokens, probe, .. } = self;
        format!(
            r#"question = "What does a larger pool change?"

[program]
command = [{:?}, "--host", "127.0.0.1", "--port", "{{port}}"]
python  = "python3"
ready   = {{ http = "http://127.0.0.1:{{port}}/v1/models", generates = {{ model = "tiny" }} }}
timeout = "15m"
stall   = "180s"
grace   = "60s"

[workload]
timeout = "5m"

[workload.traffic]
url           = "http://127.0.0.1:{{port}}"
model         = "tiny"
endpoint      = "completions"
concurrency   = 2
requests      = 8
warmup        = 2
prompt        = {{ random = 24, seed = 1 }}
output_tokens = 12
ignore_eos    = true

[factors.pool]
small = {small}
large = {large}

[[probes]]
name = "sizing"
{probe}

[metrics]
kv_tokens = {tokens}
ttft      = {{ from = "traffic.ttft_p50" }}
speed     = {{ from = "traffic.tokens_per_s" }}
served    = {{ from = "traffic.completed", scale = "difference" }}
peak      = {{ from = "peak_rss" }}
ready     = {{ from = "ready_s" }}

[plan]
baseline    = {{ pool = "small", instrument = "none" }}
instruments = ["none", "sizing"]
cells       = [{{ pool = "small", instrument = "none" }}, {{ pool = "large", instrument = "none" }}, {{ pool = "small", instrument = "sizing" }}]
blocks      = {{ min = 5, max = 5 }}
primary     = "kv_tokens"
stop        = "all"
expect      = "any"

[conditions]
titles = []
"#,
            shown(serve)
        )
    }
}

/// Runs the experiment, where the server is installed, and asserts what every launch of it must show.
fn experiment(served: &Served<'_>) {
    let Some(folder) = installed(served.name) else { return };
    let bin = folder.join("bin").canonicalize().expect("resolves");
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let world = world();
    let file = world.write("experiment.toml", served.text(&folder.join("serve")));
    let inherited = std::env::var("PATH").unwrap_or_default();
    let mut running = world.bystander(["run", "--json"]).args([&file]).env("PATH", format!("{}:{inherited}", shown(&bin))).start();
    until(&format!("the end of the experiment on {}", served.name), LIMIT, || running.has_ended());
    let ran = running.wait();
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}\n{}", ran.stdout, ran.stderr));
    let trials = report["trials"].as_array().unwrap_or_else(|| panic!("{report:#}\n{}", ran.stderr));
    assert_eq!(trials.len(), 15, "{report:#}");
    for trial in trials {
        launch(served, trial);
    }
    let effect = answer(&report, "factor:pool", "kv_tokens");
    assert_eq!(effect["estimate"].as_f64(), Some(served.expected[1] - served.expected[0]), "{effect:#}");
    assert_eq!(effect["strength"], "shown", "{effect:#}");
    let probe = answer(&report, "instrument:sizing", "kv_tokens");
    assert_ne!(probe["verdict"], "perturbs", "{probe:#}");
    assert_ne!(report["restored"]["exact"], false);
    assert_eq!(world.processes(), []);
    assert_eq!(world.rings(), Vec::<std::path::PathBuf>::new());
}

/// One launch: completed, ready by tokens of its own, at the size that its level asks for, and loaded without an error.
fn launch(served: &Served<'_>, trial: &Value) {
    let name = served.name;
    assert_eq!(trial["outcome"], "completed", "{name}: {trial:#}");
    let expected = served.expected[usize::from(trial["levels"]["pool"] == "large")];
    let metric = |metric: &str| trial["metrics"][metric].as_f64().unwrap_or_else(|| panic!("{name}: no {metric}: {trial:#}"));
    assert!((metric("kv_tokens") - expected).abs() < 0.5, "{name}: {trial:#}");
    assert!((metric("served") - 8.0).abs() < 0.5, "{name}: {trial:#}");
    for positive in ["ttft", "speed", "peak", "ready"] {
        assert!(metric(positive) > 0.0, "{name}: {positive}: {trial:#}");
    }
    let evidence = trial["evidence"].to_string();
    assert!(evidence.contains("tiny") && evidence.contains("token"), "{name}: {evidence}");
    assert!(trial["metrics"]["peak"].as_f64().is_some_and(|bytes| bytes > 1e8), "{name}: {trial:#}");
}

fn answer<'a>(report: &'a Value, about: &str, metric: &str) -> &'a Value {
    let is_it = |answer: &&Value| answer["about"] == about && answer["metric"] == metric;
    let answers = report["answers"].as_array().expect("answers");
    answers.iter().find(is_it).unwrap_or_else(|| panic!("no answer about {about} on {metric}:\n{report:#}"))
}

#[test]
fn vllm_0_32_goes_through_an_experiment_on_a_cpu() {
    experiment(&Served {
        name: "vllm-0.32-cpu",
        small: r#"{ env = { VLLM_CPU_KVCACHE_SPACE = "1" }, treatment = { log = 'Explicitly set \(1\.0/' } }"#,
        large: r#"{ env = { VLLM_CPU_KVCACHE_SPACE = "2" }, treatment = { log = 'Explicitly set \(2\.0/' } }"#,
        tokens: r#"{ log = 'CPU KV cache size: ([\d,]+) tokens', scale = "difference", unit = "tokens" }"#,
        expected: [1_048_576.0, 2_097_152.0],
        probe: "at      = \"vllm.v1.worker.cpu_worker:CPUWorker.determine_available_memory@return\"\ncapture = [\"return\"]",
    });
}

#[test]
fn sglang_0_5_9_goes_through_an_experiment_on_a_cpu() {
    experiment(&Served {
        name: "sglang-0.5.9-cpu",
        small: r#"{ args = ["--max-total-tokens", "4096"], treatment = { configuration = 'max_total_tokens=4096\b' } }"#,
        large: r#"{ args = ["--max-total-tokens", "8192"], treatment = { configuration = 'max_total_tokens=8192\b' } }"#,
        tokens: r#"{ log = 'KV Cache is allocated. #tokens: (\d+)', scale = "difference", unit = "tokens" }"#,
        expected: [4096.0, 8192.0],
        probe: "at      = \"sglang.srt.model_executor.model_runner_kv_cache_mixin:ModelRunnerKVCacheMixin.profile_max_num_token\"\nafter   = \"rest_memory = available_gpu_memory - ...\"\ncapture = [\"rest_memory\"]",
    });
}
