//! What is said about `[metrics]`.

use crate::shown::shown;

/// A file that is valid but for one metric; it has readiness, a workload and a probe.
fn metric(more: &str) -> String {
    let text = format!(
        "program = {{ command = ['a', '{{port}}'], ready = {{ http = 'http://127.0.0.1:{{port}}/' }} }}\nworkload.command = ['w']\n\
         plan = {{ describe = true, baseline.instrument = 'none', instruments = ['none', 'kv-budget', 'kv'] }}\n\
         probes = [{{ name = 'kv-budget', at = 'm:f', capture = ['rest_memory', 'self.x'] }}, {{ name = 'kv', at = 'm:g', capture = ['a'] }}]\n\
         [metrics]\nm = {{ {more} }}"
    );
    shown(&text)
}

/// A file without readiness, workload and probes.
fn bare(more: &str) -> String {
    shown(&format!("program.command = ['a']\nplan.describe = true\n[metrics]\nm = {{ {more} }}"))
}

/// Whether something is said with each of these words in it.
#[track_caller]
fn says(found: &str, words: &[&str]) {
    for word in words {
        assert!(found.contains(word), "{word:?} is not in\n{found}");
    }
}

#[test]
fn every_source_is_accepted_as_it_should_be_written() {
    for good in [
        r"log = 'a=(\d+)'",
        "log = { json = 'a.b' }, pick = 'last'",
        r"workload = 'a=(\d+)', pick = 'mean'",
        "workload = { json = 'metrics[0].\"p50.ms\"' }",
        "file = '{trial}/out.json', json = 'a[*]', pick = 'sum'",
        r"file = '{trial}/out.txt', pattern = 'p50=(\S+)'",
        "http = 'http://127.0.0.1:{port}/stats', json = 'a'",
        "prometheus = 'vllm:generation_tokens_total{engine=\"0\"}', when = 'delta'",
        "prometheus = 'up', when = 'after', url = 'http://127.0.0.1:{port}/m', pick = 'max'",
        "from = 'ready_s'",
        "from = 'wall_s'",
        "from = 'peak_rss'",
        "from = 'gpu_memory'",
        "from = 'engine.accept_length'",
        "from = 'kv-budget.rest_memory'",
        "from = 'kv-budget.self.x', pick = 'first', over = 'sum'",
        "from = 'kv.a'",
    ] {
        assert_eq!(metric(good), "", "{good}");
    }
    assert_eq!(bare("from = 'peak_rss'"), "");
}

#[test]
fn a_name_that_is_not_measured_gets_the_nearest_one() {
    says(&metric("from = 'ready'"), &["spec.invalid_value 6:14 \"'ready'\"", "names nothing that is measured", "did you mean `ready_s`?"]);
    says(&metric("from = 'engine.acceptlength'"), &["is nothing that is known of engine", "did you mean `engine.accept_length`?"]);
    says(&metric("from = 'traffic.ttft_p5'"), &["is nothing that is known of traffic", "did you mean `traffic.ttft_p50`?"]);
    says(
        &metric("from = 'kv-budget.rest_memry'"),
        &["names nothing that the probe `kv-budget` captures", "did you mean `kv-budget.rest_memory`?"],
    );
    says(&metric("from = 'kv-budget.total'"), &["it captures `rest_memory` or `self.x`"]);
    says(&metric("from = 'kv-bugdet.rest_memory'"), &["did you mean `kv-budget.rest_memory`?"]);
    says(&metric("from = 'kv'"), &["names nothing that is measured", "`PROBE.EXPRESSION`"]);
}

#[test]
fn figures_of_traffic_and_engines_are_named_by_from_and_that_is_said() {
    says(&bare("traffic = 'ttft_p50'"), &["write `from = \"traffic.ttft_p50\"`"]);
    says(&bare("engine = 'kv_usage'"), &["write `from = \"engine.kv_usage\"`"]);
}

#[test]
fn a_probe_that_no_cell_holds_measures_nothing() {
    let text = "program.command = ['a']\nplan = { describe = true, baseline.instrument = 'none', instruments = ['none', 'ab'] }\nprobes = [{ name = 'kv', at = 'm:f', capture = ['a'] }, { name = 'ab', at = 'm:g', capture = ['a'] }]\nmetrics.m.from = 'kv.a'";
    says(&shown(text), &["error spec.probe_not_put_in 4:18 \"'kv.a'\"", "add `kv` to `plan.instruments`"]);
}

#[test]
fn paths_patterns_and_series_are_refused_at_the_place_of_the_fault() {
    says(&metric("file = '{trial}/x', json = 'a..b'"), &["spec.invalid_value 6:37", "expected a key here"]);
    says(&metric("workload = { json = 'a[x]' }"), &["expected a whole number, `*` or a key in quotes here"]);
    says(&metric("prometheus = 'a{b=~\"c\"}', when = 'after'"), &["spec.invalid_value 6:25", "expected a value in double quotes here"]);
    says(&metric("prometheus = '', when = 'after'"), &["is empty"]);
    says(&metric("http = 'http://x/', pattern = 'a'"), &["must have exactly one group, found none"]);
    says(&metric("file = '{trial}/x'"), &["does not say what is read there", "add `json = "]);
    says(&metric("file = '{trial}/x', json = 'a', pattern = '(a)'"), &["spec.two_sources", "keep one of `json` or `pattern`"]);
    says(
        &metric("log = '(a)', http = 'http://x/'"),
        &["is read at more than one place", "keep one of `log`, `workload`, `file`, `http`, `prometheus` or `from`"],
    );
    says(
        &metric("pick = 'max'"),
        &["does not say where it is read", "sources are `log`, `workload`, `file`, `http`, `prometheus` and `from`"],
    );
    says(&metric("log = { jsn = 'a' }"), &["unknown key `jsn`", "did you mean `json`?"]);
    says(&metric("prometeus = 'up', when = 'after'"), &["unknown key `prometeus`", "did you mean `prometheus`?"]);
}

#[test]
fn keys_that_mean_nothing_beside_a_source_are_refused() {
    says(&metric("log = '(a)', over = 'min'"), &["`metrics.m.over` means nothing beside `log`", "with `log` go `pick`"]);
    says(&metric("from = 'wall_s', when = 'after'"), &["means nothing here: a launch has one such value"]);
    says(&metric("from = 'engine.running', pick = 'max'"), &["means nothing beside `engine.running`", "nothing goes with"]);
    says(&metric("from = 'kv.a', json = 'a'"), &["means nothing beside `kv.a`"]);
    says(&metric("prometheus = 'up', when = 'after', pick = 'first'"), &["series have no order"]);
    says(
        &metric("log = '(a)', pick = 'maen'"),
        &["must be `only`, `first`, `last`, `min`, `max`, `sum` or `mean`, found `maen`", "did you mean `mean`?"],
    );
    says(&metric("from = 'kv.a', over = 'median'"), &["must be `min`, `max`, `sum` or `mean`, found `median`"]);
}

#[test]
fn moments_that_do_not_exist_are_refused() {
    says(&metric("prometheus = 'up'"), &["`when` is missing", "add `when = \"delta\"`"]);
    says(&metric("prometheus = 'up', when = 'afer'"), &["must be `before`, `after` or `delta`, found `afer`", "did you mean `after`?"]);
    says(
        &bare("prometheus = 'up', when = 'delta'"),
        &["needs a program that says when it is ready", "needs a workload: without one there is nothing between before and after"],
    );
    says(&bare("http = 'http://x/', json = 'a'"), &["needs a program that says when it is ready"]);
    says(&bare("from = 'engine.accept_rate'"), &["needs a program that says when it is ready", "is counted over a workload"]);
    says(&bare("from = 'traffic.ttft_p50'"), &["needs built-in traffic", "add [workload.traffic]"]);
    says(&bare("workload = { json = 'a' }"), &["needs a workload, and the file has none"]);
    says(&metric("http = 'https://127.0.0.1/', json = 'a'"), &["must be an address that starts with `http://` and names a host"]);
    says(&metric("http = 'http://:80/', json = 'a'"), &["names a host"]);
    let text = "program = { command = ['a'], ready = { log = 'up' } }\nplan.describe = true\n[metrics]\nm = { from = 'engine.running' }\nn = { prometheus = 'up', when = 'after' }";
    says(
        &shown(text),
        &["nothing in the file says where the engine's server is", "nothing in the file says where the program's server is", "add `url = "],
    );
}

#[test]
fn a_file_that_all_trials_share_is_warned_of() {
    let found = metric("file = '/tmp/out.json', json = 'a'");
    says(&found, &["warning spec.shared_file 6:14", "names the same file for every trial", "write \"{trial}/result.json\""]);
    says(&metric("file = '', json = 'a'"), &["is empty"]);
}

#[test]
fn a_unit_that_a_measurement_is_not_in_is_refused() {
    for from in ["wall_s", "peak_rss"] {
        says(&bare(&format!("from = '{from}', scale = 'difference', margin = 500, unit = 'ms'")), &["spec.unit", "`ms` would only be"]);
    }
    for right in ["from = 'wall_s', unit = 's'", "from = 'peak_rss', unit = 'bytes'", "log = 'took (.+) ms', unit = 'ms'"] {
        assert_eq!(bare(right), "");
    }
}
