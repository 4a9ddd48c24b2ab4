//! What `doctor` and `watch` say of sets of probes, on an engine of a few lines.

use bystander_testkit::{Mark, World, python, skip};
use serde_json::Value;

use crate::experiment::world;

const SIZING: &str = "
class ModelRunnerKVCacheMixin:
    mem_fraction_static = 0.5
    tp_rank = 3

    def profile_max_num_token(self, total_gpu_memory):
        available_gpu_memory = 3.0
        cell_size = 1 << 20
        rest_memory = available_gpu_memory - total_gpu_memory * (1 - self.mem_fraction_static)
        return int(rest_memory * (1 << 30)) // cell_size
";

/// A world with an engine that has one step of a release, beside the program that runs it.
fn engine(version: &str) -> World {
    let world = world();
    world.write("sglang/srt/model_executor/model_runner_kv_cache_mixin.py", SIZING);
    world.write("sglang-1.dist-info/METADATA", format!("Metadata-Version: 2.1\nName: sglang\nVersion: {version}\n"));
    let run = "from sglang.srt.model_executor.model_runner_kv_cache_mixin import ModelRunnerKVCacheMixin\n\
        print(ModelRunnerKVCacheMixin().profile_max_num_token(4.0))\n";
    world.write("serve.py", run);
    world
}

fn finding<'a>(report: &'a Value, name: &str) -> &'a Value {
    let findings = report["findings"].as_array().expect("findings");
    findings.iter().find(|finding| finding["name"] == name).unwrap_or_else(|| panic!("no {name}: {report:#}"))
}

#[test]
fn the_doctor_says_which_sets_bind_to_which_engine() {
    let Some(python) = python() else { return skip("there is no Python 3.8 or newer", Mark::Machine) };
    let world = engine("0.5.9");
    let exe = python.path.to_str().expect("a path");
    let doctor =
        |folder: &std::path::Path| world.bystander(["doctor", "--json", "--python", exe]).env("PYTHONPATH", folder).run().exits(0).json();
    let report = doctor(&world.path("."));
    let sglang = finding(&report, "sglang-memory");
    let found = sglang["found"].as_str().expect("a text");
    assert!(sglang["works"] == true && found.starts_with("2 of 18 probes bind to SGLang 0.5.9 in "), "{sglang:#}");
    assert!(found.contains("; `cell` is not at sglang.srt.model_executor.model_runner_kv_cache_mixin:"), "{sglang:#}");
    let vllm = finding(&report, "vllm-memory");
    assert!(
        vllm["works"] == false && vllm["optional"] == true && vllm["mend"].as_str().is_some_and(|mend| mend.contains("--python")),
        "{vllm:#}"
    );
    let missing = world.bystander(["doctor", "--json", "--python", "/nowhere/python3"]).run().exits(0).json();
    assert_eq!(finding(&missing, "sglang-memory")["works"], false);
}

#[test]
fn a_set_is_watched_and_its_hits_carry_the_rank_that_the_code_has() {
    let Some(python) = python() else { return skip("there is no Python 3.8 or newer", Mark::Machine) };
    let world = engine("0.5.9");
    let exe = python.path.to_str().expect("a path");
    let ran = world.bystander(["watch", "--json", "--pack", "sglang-memory", "--"]).args([exe, "serve.py"]).run().exits(0);
    let lines: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let hit = |probe: &str| lines.iter().find(|line| line["hit"]["probe"] == probe).map(|line| line["hit"].clone());
    let rest = hit("sglang.rest").unwrap_or_else(|| panic!("{}\n{}", ran.stdout, ran.stderr));
    assert_eq!((&rest["values"]["rest_memory"], &rest["rank"]), (&Value::from(1.0), &Value::from(3)), "{rest:#}");
    assert_eq!(hit("sglang.profiled").expect("a hit")["values"]["return"], 1024);
}

#[test]
fn a_set_whose_engine_is_not_there_is_refused_before_anything_is_launched() {
    let Some(python) = python() else { return skip("there is no Python 3.8 or newer", Mark::Machine) };
    let world = engine("0.5.9");
    let exe = python.path.to_str().expect("a path");
    let ran = world.bystander(["watch", "--pack", "vllm-memory", "--"]).args([exe, "-c", "open('launched', 'w')"]).run().exits(3);
    assert!(ran.stderr.contains("knows no module `vllm`") && ran.stderr.contains("bystander doctor"), "{}", ran.stderr);
    let unknown = world.bystander(["watch", "--pack", "vllm", "--"]).args([exe, "-c", "open('launched', 'w')"]).run().exits(3);
    assert!(unknown.stderr.contains("there are sglang-memory, vllm-memory"), "{}", unknown.stderr);
    assert!(!world.path("launched").exists());
}
