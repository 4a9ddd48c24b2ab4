//! What must read the same in two launches of one failure, and what must not in two failures.

use super::mask;

#[test]
fn what_differs_between_launches_is_masked() {
    for (text, masked) in [
        ("Current value: self.server_args.mem_fraction_static=0.55", "Current value: self.server_args.mem_fraction_static=#"),
        ("rest=-20.603 GiB of 93.999", "rest=# GiB of #"),
        ("rest=20.603 GiB of 93,999", "rest=# GiB of #"),
        ("address already in use ('127.0.0.1', 18300)", "address already in use ('#', #)"),
        ("<Foo object at 0x7fbd61fb32e0>", "<Foo object at <hex>>"),
        ("rank TP3 on cuda:0, worker3, EngineCore_DP0", "rank TP# on cuda:#, worker#, EngineCore_DP#"),
        ("at 2026-11-29 13:31:46.123 id 123e4567-e89b-12d3-a456-426614174000", "at <time> id <id>"),
        ("took 1e-05 s", "took # s"),
        ("after 3m12s, 1h 2m 3.5s", "after #, #"),
        ("request cmpl-8c1f02ab of 17 tokens", "request cmpl-<hex> of # tokens"),
        ("W0828 01:41:15.002805 73 topology.cpp:156] no", "W<time> topology.cpp:#] no"),
        ("ERROR 11-29 13:10:57 [core.py:1482] no", "ERROR #-# #:#:# [core.py:#] no"),
        ("shm psm_1a2b3c4d in tmpab12cd_x and tmp.Qx7aB2kLm9", "shm <temp> in <temp> and <temp>"),
        ("unexpected indent (app.py, line 31)", "unexpected indent (app.py, line #)"),
        ("4 of 8 requests failed (error_in_stream 4, reset 3)", "# of # requests failed (error_in_stream #, reset #)"),
        ("error: 17 requests failed, status of 3/12", "error: # requests failed, status of #/#"),
        ("failed with 3 errors; error 0.25; error 12 of 40", "failed with # errors; error #; error # of #"),
        ("error 1700000000, status 13:31, exit 5 s, code 3.5", "error #, status #:#, exit # s, code #"),
        ("error at 0x7fbd61fb32e0, code 0x7fbd61fb32e0", "error at <hex>, code <hex>"),
        ("core dumped to /var/crash/core12345", "core dumped to <path>/core#"),
        ("bind /tmp/vllm-8000.sock: in use", "bind <path>/vllm-#.sock: in use"),
        ("in /tmp/x8k2_9qa.d and /tmp/kJqZpWxT", "in <path>/<temp>.d and <path>/<temp>"),
    ] {
        assert_eq!(mask(text), masked);
        assert_eq!(mask(masked), masked);
    }
}

#[test]
fn what_says_which_failure_it_is_stays() {
    for text in [
        "upstream answered with status 401",
        "CUDA driver call failed with 700",
        "CUDA error 2: out of memory",
        "CUDA error: 700",
        "[Errno 2] No such file or directory",
        "OSError: errno=28",
        "NCCL error 5 in ncclCommInitRank",
        "worker exited with -11",
        "exit status 137",
        "exitcode: 1",
        "exit code was 3",
        "killed by signal 9",
        "rc=-6",
        "HTTP 503",
        "HTTP Error 404: Not Found",
        "500 Server Error: gone for url",
        "Error code: 400 - {'code': 1210}",
        "{\"status\":\"500\"}",
        "(status_503)",
        "failed: error code 0x80004005",
        "expected float32 but got int64",
        "name 'x1' is not defined",
        "and/or is no path",
    ] {
        assert_eq!(mask(text), text);
    }
    assert_eq!(mask("\"GET /health HTTP/1.1\" 503 -"), "\"GET <path>/health HTTP/#\" 503 -");
}

#[test]
fn of_paths_and_addresses_the_last_part_stays() {
    for (text, masked) in [
        ("cannot open /dev/nvidia0", "cannot open <path>/nvidia0"),
        ("cannot open /models/llama/tokenizer.json: no", "cannot open <path>/tokenizer.json: no"),
        ("No such file: '/tmp/t3/x.json'", "No such file: '<path>/x.json'"),
        ("open /tmp/2026-11-29/run-123e4567-e89b-12d3-a456-426614174000/x: no", "open <path>/x: no"),
        ("open /srv/model-00001-of-00012.safetensors.", "open <path>/model-#-of-#.safetensors."),
        ("no weights in /srv/llama3-8b/", "no weights in <path>/llama3-8b"),
        ("cannot write /tmp/model7b.bin", "cannot write <path>/model7b.bin"),
        ("cwd ../.. is gone", "cwd <path> is gone"),
        ("GET http://127.0.0.1:8000/health failed", "GET <http>/health failed"),
        ("GET http://host:8000/v1/models?limit=3 failed", "GET <http>/models failed"),
        ("GET /http://127.0.0.1:8000/health failed", "GET /<http>/health failed"),
        ("connect tcp://10.0.0.3:43117: refused", "connect <tcp>: refused"),
    ] {
        assert_eq!(mask(text), masked);
        assert_eq!(mask(masked), masked);
    }
}

#[test]
fn failures_that_differ_in_what_names_them_differ() {
    for [one, other] in [
        ["status 401", "status 503"],
        ["CUDA driver call failed with 2", "CUDA driver call failed with 700"],
        ["cannot open /dev/nvidia0", "cannot open /models/tokenizer.json"],
        ["worker exited with -9", "worker exited with -11"],
        ["[Errno 2] x", "[Errno 13] x"],
        ["GET http://h:1/health", "GET http://h:1/models"],
        ["no module named 'a'", "no module named 'b'"],
    ] {
        assert_ne!(mask(one), mask(other));
    }
}

#[test]
fn masking_twice_changes_nothing() {
    for text in ["rest=-20.6 at 0x12 in /a/b:3, TP7", "x 1-2 3", "code 123456 7", "exit -3 /tmp/a1b2c3d4.x"] {
        assert_eq!(mask(&mask(text)), mask(text));
    }
}
