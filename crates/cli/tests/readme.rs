//! The README shows what the story really prints: the experiment is run, and the text is compared with what stands there.
//!
//! What differs from run to run (ids, seconds, pids, line numbers of interleaved output, line breaks) is masked before. To take the real output
//! over: `UPDATE_README=1 cargo test -p bystander --test readme`.

use std::path::{Path, PathBuf};

use bystander_testkit::{World, python};

const BEGIN: &str = "<!-- story: begin (checked by a test) -->\n```text\n";
const END: &str = "```\n<!-- story: end -->";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository is there")
}

#[test]
fn the_readme_shows_what_the_story_prints() {
    if python().is_none() {
        bystander_testkit::skip("no Python 3.8 or newer", bystander_testkit::Mark::Machine);
        return;
    }
    let world = World::new(env!("CARGO_BIN_EXE_bystander"));
    let examples = world.copy(&repository().join("examples/engine"), "examples/engine");
    let ran = world.bystander(["run", "examples/engine/story.toml"]).run().exits(0);
    let printed = plain(&format!("{}\n{}", ran.stderr.trim_end(), ran.stdout), &examples);
    let path = repository().join("README.md");
    let readme = std::fs::read_to_string(&path).expect("the README is there");
    let (before, rest) = readme.split_once(BEGIN).expect("the README marks where the output begins");
    let (shown, after) = rest.split_once(END).expect("the README marks where it ends");
    if std::env::var_os("UPDATE_README").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{printed}{END}{after}")).expect("written");
        return;
    }
    assert_eq!(masked(shown), masked(&printed), "the README is out of date: UPDATE_README=1 cargo test -p bystander --test readme");
}

/// The output as somebody in the repository would see it.
fn plain(output: &str, examples: &Path) -> String {
    let real = examples.canonicalize().unwrap_or_else(|_| examples.to_owned());
    let kept = output.lines().filter(|line| !line.starts_with("record: "));
    let text: String = kept.flat_map(|line| [line, "\n"]).collect();
    text.replace(&real.display().to_string(), "examples/engine").replace(&examples.display().to_string(), "examples/engine")
}

/// The text without what differs from run to run, one word after the other.
fn masked(text: &str) -> Vec<String> {
    let masks = [
        (r"story-\d{8}-\d{6}-[0-9a-f]{4}", "RUN"),
        // Evidence: which line, process and trial come first differs with the interleaving of eight processes.
        (r"\[[^\]]*(trial|stderr|pid)[^\]]*\]", "[evidence]"),
        (r"\d+(\.\d+)? (s|min)\b", "N s"),
        (r"\brank \d+", "rank N"),
        (r"sha256 [0-9a-f]+", "sha256 HASH"),
        // The first of eight equal failures, where the screen cuts it.
        (r"RuntimeError: .*?\[evidence\]", "RuntimeError […]"),
    ];
    let folded = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let masked = masks.iter().fold(folded, |text, (pattern, with)| {
        let pattern = regex::Regex::new(pattern).expect("the pattern is one");
        pattern.replace_all(&text, *with).into_owned()
    });
    masked.split_whitespace().map(str::to_owned).collect()
}
