//! `bystander memory explain`: logs as files lie about, the answer first, and a clear word for what is no log.

use std::io::Write as _;
use std::path::PathBuf;

use bystander_testkit::World;
use serde_json::Value;

use crate::world::world;

fn log(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../memory/tests/fixtures").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn sglang() -> String {
    log("sglang-0.5.9-simulated-llama8b.log")
}

fn explained(world: &World, args: &[&str], code: i32) -> Value {
    world.bystander(["memory", "explain", "--json"].into_iter().chain(args.iter().copied())).run().exits(code).json()
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).expect("packed");
    encoder.finish().expect("packed")
}

#[test]
fn the_answer_comes_first_and_fits_on_a_screen() {
    let world = world();
    world.write("server.log", sglang());
    let ran = world.bystander(["memory", "explain", "server.log"]).run().exits(0);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines[0], "SGLang 0.5.9 (server.log)");
    assert!(lines[1].starts_with("  ready: It serves with 421,755 tokens of KV cache"), "{}", ran.stdout);
    assert!(ran.stdout.contains("memory: 79.50 GiB = 14.98 weights + 51.48 KV cache"), "{}", ran.stdout);
    assert!(lines.len() < 24, "{}", ran.stdout);
}

#[test]
fn the_trials_of_a_run_are_explained_and_compared() {
    let world = world();
    world.write("full.log", sglang());
    world.write(
        "less.log",
        sglang().replace("mem_fraction_static=0.836", "mem_fraction_static=0.5").replace("421755", "202915").replace("25.74", "12.38"),
    );
    world.write("engine.py", "import sys\nprint(open(sys.argv[1]).read(), flush=True)\n");
    world.write(
        "e.toml",
        "[program]\ncommand = ['python3', 'engine.py']\ntimeout = '60s'\nready = { log = 'fired up', stable = '250ms' }\n[factors.share]\nfull = { args = ['full.log'] }\nless = { args = ['less.log'] }\n\
         [plan]\nbaseline = { share = 'full' }\nblocks = { min = 1, max = 1 }\ndescribe = true\n",
    );
    let run = world.bystander(["run", "--json", "e.toml"]).run().json();
    let id = run["run"].as_str().expect("an id").to_owned();
    let found = explained(&world, &[&id], 0);
    let servers = found["servers"].as_array().expect("servers");
    assert_eq!((servers.len(), found["unread"].as_array().map_or(0, Vec::len)), (2, 0), "{found:#}");
    assert!(servers.iter().all(|server| server["source"].as_str().is_some_and(|name| name.starts_with("trial "))), "{found:#}");
    let text = world.bystander(["memory", "explain", &id]).run().exits(0).stdout;
    assert!(text.contains("421,755") && text.contains("202,915") && text.contains("what differs between the two"), "{text}");
    world.bystander(["export", &id, "-o", "r.tar.zst"]).run().exits(0);
    let refused = world.bystander(["memory", "explain", "r.tar.zst"]).run().exits(3);
    assert!(refused.stderr.contains("it is an archive") && refused.stderr.contains("-xf r.tar.zst -C out"), "{}", refused.stderr);
}

#[test]
fn packed_logs_give_what_plain_ones_give() {
    let world = world();
    world.write("plain/server.log", sglang());
    world.write("gzip/server.log", gzip(&sglang()));
    world.write("zstd/server.log", zstd::encode_all(sglang().as_bytes(), 3).expect("packed"));
    let plain = explained(&world, &["plain/server.log"], 0);
    assert_eq!(plain["servers"][0]["formula"]["tokens"]["value"], 421_755.0);
    assert_eq!(explained(&world, &["gzip/server.log"], 0), plain);
    assert_eq!(explained(&world, &["zstd/server.log"], 0), plain);
    // One that was cut says so, and is read as far as it goes.
    let whole = gzip(&sglang().repeat(40));
    world.write("cut.log.gz", &whole[..whole.len() - 30]);
    let cut = explained(&world, &["cut.log.gz"], 0);
    assert!(cut["unread"][0].as_str().is_some_and(|text| text.contains("packed data ends or is damaged")), "{cut:#}");
    assert_eq!(cut["servers"][0]["state"], "ready");
}

#[test]
fn standard_input_a_directory_and_a_file_with_options_are_read() {
    let world = world();
    world.write("logs/a/server.log", sglang());
    world.write("logs/b/server.log", log("sglang-0.5.9-simulated-llama8b-tp2.log"));
    world.write("logs/notes.txt", "nothing of an engine\n");
    world.write("logs/image.bin", [0_u8; 64]);
    let all = explained(&world, &["logs"], 0);
    assert_eq!(all["servers"].as_array().map(Vec::len), Some(2), "{all:#}");
    assert_eq!(all.get("unread"), None, "what lies beside the logs is passed over: {all:#}");
    assert!(all["compared"].as_array().is_some_and(|compared| compared.iter().any(|one| one["name"] == "tp_size")), "{all:#}");

    let piped = format!("exec '{}' memory explain --json - < logs/a/server.log", env!("CARGO_BIN_EXE_bystander"));
    let piped = world.run("/bin/sh".as_ref()).args(["-c", &piped]).run().exits(0).json();
    assert_eq!(piped["servers"][0]["source"], "stdin");

    let wanted = explained(&world, &["--want", "40GiB", "--gpu", "80GiB", "logs/a/server.log"], 0);
    let advice = &wanted["servers"][0]["advice"][0];
    assert_eq!((advice["knob"].as_str(), advice["direction"].as_str()), (Some("mem_fraction_static"), Some("down")), "{wanted:#}");
}

#[test]
fn what_is_no_log_has_a_word_and_an_exit_code() {
    let world = world();
    world.write("empty.log", "");
    world.write("prose.txt", "hello\n");
    std::fs::create_dir(world.path("none")).expect("made");
    world.write("one/notes.txt", "hello\n");
    world.write("blobs/a.bin", "\0\x01\x02".repeat(2000));
    world.write("blobs/b.bin", "\0".repeat(2000));
    for (name, word) in [
        ("empty.log", "empty.log is empty"),
        ("prose.txt", "no line of SGLang or vLLM among its 1"),
        ("none", "none holds no log: no file lies there"),
        ("one", "one: its one file has no line of SGLang or vLLM"),
        ("blobs", "blobs: no line of SGLang or vLLM in any of its 2 files"),
    ] {
        let found = explained(&world, &[name], 2);
        assert!(found["unread"][0].as_str().is_some_and(|text| text.contains(word)), "{found:#}");
    }
    // One of several folders is named as well, beside what the others hold.
    world.write("logs/server.log", sglang());
    let found = explained(&world, &["logs", "none", "blobs"], 0);
    assert_eq!(found["servers"].as_array().map_or(0, Vec::len), 1, "{found:#}");
    let unread: Vec<&str> = found["unread"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert!(unread.len() == 2 && unread[0].starts_with("blobs: ") && unread[1].starts_with("none holds"), "{unread:?}");
    let missing = world.bystander(["memory", "explain", "nothing.log"]).run().exits(3);
    assert!(missing.stderr.contains("no such file or directory, and no run has such an id"), "{}", missing.stderr);
    let size = world.bystander(["memory", "explain", "--want", "much", "prose.txt"]).run().exits(3);
    assert!(size.stderr.contains("failed to read `much` as a size"), "{}", size.stderr);
}
