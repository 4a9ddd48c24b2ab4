//! Readings of both engines, as their releases write them.

use serde_json::json;

use super::{Moment, read};
use crate::scrape::prometheus::Exposition;
use bystander_model::engine::EngineReading;

fn reading(before: &str, after: &str) -> EngineReading {
    let (before, after) = (Exposition::parse(before), Exposition::parse(after));
    read(Moment { metrics: Some(&before), info: None }, Moment { metrics: Some(&after), info: None }, "")
}

fn value(reading: &EngineReading, name: &str) -> Option<f64> {
    reading.figures[name].value
}

const VLLM: &str = r#"# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 1.0
vllm:num_requests_running{engine="1",model_name="m"} 2.0
vllm:num_requests_waiting{engine="0",model_name="m"} 0.0
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.25
vllm:kv_cache_usage_perc{engine="1",model_name="m"} 0.5
vllm:prefix_cache_queries_total{engine="0",model_name="m"} 100.0
vllm:prefix_cache_hits_total{engine="0",model_name="m"} 10.0
vllm:prompt_tokens_total{engine="0",model_name="m"} 100.0
vllm:generation_tokens_total{engine="0",model_name="m"} 7.0
vllm:num_preemptions_total{engine="0",model_name="m"} 0.0
vllm:spec_decode_num_drafts_total{engine="0",model_name="m"} 10.0
vllm:spec_decode_num_draft_tokens_total{engine="0",model_name="m"} 30.0
vllm:spec_decode_num_accepted_tokens_total{engine="0",model_name="m"} 12.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="0"} 9.0
"#;

#[test]
fn acceptance_of_vllm_is_that_of_the_workload_alone() {
    let after = VLLM
        .replace("drafts_total{engine=\"0\",model_name=\"m\"} 10.0", "drafts_total{engine=\"0\",model_name=\"m\"} 110.0")
        .replace("draft_tokens_total{engine=\"0\",model_name=\"m\"} 30.0", "draft_tokens_total{engine=\"0\",model_name=\"m\"} 330.0")
        .replace("accepted_tokens_total{engine=\"0\",model_name=\"m\"} 12.0", "accepted_tokens_total{engine=\"0\",model_name=\"m\"} 162.0")
        .replace("queries_total{engine=\"0\",model_name=\"m\"} 100.0", "queries_total{engine=\"0\",model_name=\"m\"} 300.0")
        .replace("hits_total{engine=\"0\",model_name=\"m\"} 10.0", "hits_total{engine=\"0\",model_name=\"m\"} 11.0");
    let read = reading(VLLM, &after);
    assert_eq!(read.engine.as_deref(), Some("vllm"));
    assert_eq!((value(&read, "accept_length"), value(&read, "accept_rate")), (Some(2.5), Some(0.5)));
    assert_eq!((value(&read, "prefix_hit_rate"), read.notes.len()), (Some(0.005), 0));
    assert_eq!((value(&read, "kv_usage"), value(&read, "running"), value(&read, "queued")), (Some(0.5), Some(3.0), Some(0.0)));
    assert_eq!(read.figures["kv_usage"].before, Some(0.5));
    assert_eq!(value(&read, "generation_tokens"), Some(0.0), "counted, and nothing came");
}

#[test]
fn old_names_of_vllm_are_known_and_new_ones_go_first() {
    let old = "vllm:gpu_cache_usage_perc 0.1\nvllm:gpu_prefix_cache_queries_total 10\nvllm:gpu_prefix_cache_hits_total 0\n";
    let after = old.replace("queries_total 10", "queries_total 20").replace("hits_total 0", "hits_total 9");
    let read = reading(old, &after);
    assert_eq!((value(&read, "kv_usage"), value(&read, "prefix_hit_rate")), (Some(0.1), Some(0.9)));
    assert!(read.notes[0].starts_with("90.0 %"), "{:?}", read.notes);
    let both = reading("", "vllm:gpu_cache_usage_perc 0.1\nvllm:kv_cache_usage_perc 0.2\n");
    assert_eq!(value(&both, "kv_usage"), Some(0.2));
}

#[test]
fn what_is_not_there_has_a_reason_and_is_never_nothing() {
    let plain = "vllm:num_requests_running 0\n";
    let read = reading(plain, plain);
    assert_eq!(value(&read, "accept_length"), None);
    assert!(read.figures["accept_length"].from.contains("without speculative decoding"));
    assert!(read.figures["kv_usage"].from.contains("no `vllm:kv_cache_usage_perc`"));
    let fell = reading("vllm:prompt_tokens_total 9\n", "vllm:prompt_tokens_total 3\n");
    assert!(fell.figures["prompt_tokens"].from.contains("started anew"));
    let idle = reading(VLLM, VLLM);
    assert!(idle.figures["accept_length"].from.contains("no draft was made"));
    let other = reading("up 1\n", "up 1\n");
    assert_eq!((other.engine, other.figures["running"].value), (None, None));
}

#[test]
fn acceptance_of_sglang_comes_from_its_counters_or_its_state_or_its_gauge() {
    let gauge =
        "sglang:spec_accept_length{tp_rank=\"0\"} 2.0\nsglang:spec_accept_rate{tp_rank=\"0\"} 0.4\nsglang:generation_tokens_total 10\n";
    let info = json!({"version": "0.5.9", "internal_states": [{"avg_spec_accept_length": 3.0}, {"avg_spec_accept_length": 2.0}, {}]});
    let (before, after) = (Exposition::parse(gauge), Exposition::parse(gauge));
    let read_it = |info: Option<&serde_json::Value>, after: &Exposition<'_>| {
        read(Moment { metrics: Some(&before), info: None }, Moment { metrics: Some(after), info }, "")
    };
    assert_eq!(value(&read_it(None, &after), "accept_length"), Some(2.0));
    let with_info = read_it(Some(&info), &after);
    assert_eq!((value(&with_info, "accept_length"), with_info.version.as_deref()), (Some(2.5), Some("0.5.9")));
    assert_eq!(value(&with_info, "accept_rate"), Some(0.4));
    let counted = "sglang:spec_verify_calls_total 10\nsglang:generation_tokens_total 50\n";
    assert_eq!(value(&read_it(Some(&info), &Exposition::parse(counted)), "accept_length"), Some(4.0));
}

#[test]
fn ranks_of_one_scheduler_count_once_and_schedulers_add_up() {
    let text = "sglang:num_running_reqs{dp_rank=\"0\",tp_rank=\"0\"} 3\nsglang:num_running_reqs{dp_rank=\"0\",tp_rank=\"1\"} 3\n\
        sglang:num_running_reqs{dp_rank=\"1\",tp_rank=\"0\"} 4\nsglang:token_usage{tp_rank=\"0\"} 0.5\n\
        sglang:prompt_tokens_total 10\nsglang:spec_accept_length 0\n";
    let read = reading(text, text);
    assert_eq!((value(&read, "running"), value(&read, "kv_usage")), (Some(7.0), Some(0.5)));
    assert!(read.figures["accept_length"].from.contains("off"), "{}", read.figures["accept_length"].from);
    assert!(read.figures["prefix_hit_rate"].from.contains("no prompt was finished"));
    let later = text.replace("prompt_tokens_total 10", "prompt_tokens_total 30");
    assert_eq!(value(&reading(text, &later), "prefix_hit_rate"), Some(0.0), "a counter that is not there yet has counted nothing");
}

#[test]
fn a_server_without_metrics_still_tells_its_state() {
    let info = json!({"version": "0.5.5", "internal_states": [{"avg_spec_accept_length": 1.75}]});
    let read = read(Moment::default(), Moment { metrics: None, info: Some(&info) }, "http://x/metrics answered 404");
    assert_eq!((read.engine.as_deref(), value(&read, "accept_length")), (Some("sglang"), Some(1.75)));
    assert_eq!(read.figures["running"].from, "http://x/metrics answered 404");
}
