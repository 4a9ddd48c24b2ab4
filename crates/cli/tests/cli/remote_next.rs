//! Commands that are printed to be copied, for what lives on another machine: each is run as it stands, and does there what it says. What is asked about
//! here and lives there is said to live there.

use std::fs;
use std::path::{Path, PathBuf};

use bystander_testkit::{Ran, Sshd, World};

use crate::remote::far;

/// The command.
const PROGRAM: &str = env!("CARGO_BIN_EXE_bystander");

/// A configuration of SSH whose path needs quotes.
fn config(world: &World, sshd: &Sshd) -> PathBuf {
    world.write("it's ssh/the config", fs::read(sshd.config()).expect("a configuration"))
}

/// `bystander --on ssh://target …` with that configuration.
fn there<'a>(world: &World, config: &Path, args: impl IntoIterator<Item = &'a str>) -> bystander_testkit::Run {
    here(world, ["--on", "ssh://target", "--ssh-config"]).args([config]).args(args)
}

/// `bystander …` in a folder that holds nothing of the test itself.
fn here<'a>(world: &World, args: impl IntoIterator<Item = &'a str>) -> bystander_testkit::Run {
    fs::create_dir_all(world.path("near")).expect("a folder");
    world.bystander(args).cwd(&world.path("near"))
}

/// The commands in what was printed that have these words: between backticks, or from `: ` to the end of the line or a `;`.
fn printed(ran: &Ran, words: &str) -> Vec<String> {
    let text = format!("{}\n{}", ran.stdout, ran.stderr);
    let in_ticks = text.split('`').filter(|part| part.starts_with("bystander ") && !part.contains('\n'));
    let at_end = text.lines().filter_map(|line| line.split_once(": bystander ").map(|(_, rest)| rest.split("; ").next().unwrap_or(rest)));
    let found = in_ticks.map(str::to_owned).chain(at_end.map(|rest| format!("bystander {rest}")));
    let mut found: Vec<String> = found.filter(|command| command.contains(words)).collect();
    found.dedup();
    assert!(!found.is_empty(), "no command with {words:?} in:\n{text}");
    found
}

/// Runs a command as somebody who has copied it.
fn typed(world: &World, command: &str) -> Ran {
    let bin = world.path("near-bin");
    if !bin.exists() {
        fs::create_dir(&bin).expect("a folder");
        std::os::unix::fs::symlink(PROGRAM, bin.join("bystander")).expect("a link");
    }
    let path = world.environment().into_iter().find(|(name, _)| *name == "PATH").map(|(_, value)| value).unwrap_or_default();
    world.run(Path::new("/bin/bash")).args(["-c", command]).env("PATH", format!("{}:{path}", bin.display())).cwd(&world.path("near")).run()
}

const APPLY: [&str; 7] = ["patch", "apply", "--file", "x.py", "--find", "x = 1", "--replace"];

#[test]
fn every_command_that_is_printed_for_another_machine_works_as_it_is_typed() {
    let Some((world, sshd)) = far() else { return };
    let config = config(&world, &sshd);
    for state in [&[][..], &["--state", "my st"]] {
        let file = world.write("far/x.py", "x = 1\n");
        let is_edited = || fs::read_to_string(&file).expect("the file") != "x = 1\n";
        let apply = || there(&world, &config, APPLY).args(["x = 2"]).args(state).run().exits(0);
        let applied = apply();
        assert!(is_edited());
        typed(&world, &printed(&applied, "patch revert")[0]).exits(0);
        assert!(!is_edited());
        apply();
        // From here, without a word of where.
        for verb in [&["patch", "status"][..], &["patch", "verify"]] {
            let seen = here(&world, verb.iter().copied()).args(state).run().exits(1);
            for command in printed(&seen, "--on ssh://target") {
                assert!(command.contains("--ssh-config ") && command.contains("--state") != state.is_empty(), "{command}");
            }
            let diff = typed(&world, &printed(&seen, "patch diff")[0]).exits(0);
            assert!(diff.stdout.contains("+x = 2"), "{}", diff.stdout);
            typed(&world, &printed(&seen, "patch revert")[0]).exits(0);
            assert!(!is_edited());
            apply();
        }
        // There, a look at the whole folder says how what is live is taken back.
        let seen = there(&world, &config, ["patch", "verify"]).args(state).run().exits(1);
        typed(&world, &printed(&seen, "patch revert")[0]).exits(0);
        assert!(!is_edited());
        let clean = here(&world, ["patch", "verify"]).args(state).run().exits(0);
        assert!(clean.stdout.starts_with("Clean: no edit is live, in conflict or left behind on this machine."), "{}", clean.stdout);
        typed(&world, &printed(&clean, "patch verify")[0]).exits(0);
    }
}

#[test]
fn a_run_there_says_how_an_edit_that_is_in_its_way_is_taken_back() {
    let Some((world, sshd)) = far() else { return };
    let config = config(&world, &sshd);
    world.write("far/x.py", "x = 1\n");
    let edits = "[[edits]]\nname = \"e\"\nfile = \"x.py\"\nfind = \"x = \"\nreplace = \"y = \"\n[plan]\ndescribe = true\ninstruments = [\"none\", \"e\"]\n";
    let experiment = crate::remote::EXPERIMENT
        .replace("[plan]\n", edits)
        .replace("v = \"one\" }\nblocks", "v = \"one\", instrument = \"none\" }\nblocks");
    world.write("near/exp/e.toml", experiment);
    let _made = there(&world, &config, APPLY).args(["x = 2"]).run().exits(0);
    let refused = there(&world, &config, ["run", "exp/e.toml"]).run();
    assert_ne!(refused.code, Some(0), "{}", refused.stdout);
    typed(&world, &printed(&refused, "patch revert")[0]).exits(0);
    assert_eq!(fs::read_to_string(world.path("far/x.py")).expect("the file"), "x = 1\n");
}

#[test]
fn what_lives_there_is_not_denied_here() {
    let Some((world, mut sshd)) = far() else { return };
    let config = config(&world, &sshd);
    let file = world.write("far/app/x.py", "x = 1\n");
    let apply = ["patch", "apply", "--json", "--name", "mine", "--file", "app/x.py", "--find", "x = 1", "--replace", "x = 2"];
    let apply = || there(&world, &config, apply).run().exits(0).json()["edits"][0]["id"].as_str().expect("an id").to_owned();
    let id = apply();
    for verb in ["revert", "diff", "hits"] {
        for word in [id.as_str(), &id[..6], &format!("bystander-patch-{id}"), "mine", "x.py", "app/x.py"] {
            let ran = here(&world, ["patch", verb, word]).run().exits(3);
            ran.says(&["on this machine", "it is live on ssh://target", &file.display().to_string(), &format!("patch {verb} {id}`")]);
        }
    }
    let ran = here(&world, ["patch", "diff", &id]).run().exits(3);
    assert!(typed(&world, &printed(&ran, "patch diff")[0]).exits(0).stdout.contains("+x = 2"));
    let ran = here(&world, ["patch", "revert", "nothing"]).run().exits(3).says(&["failed to find a live edit nothing on this machine"]);
    assert!(!ran.stderr.contains("ssh://"), "{}", ran.stderr);
    // Without a name.
    let ran = here(&world, ["patch", "revert"]).run().exits(0);
    assert!(ran.stdout.starts_with("Nothing to take back on this machine.\non ssh://target: 1 edit live"), "{}", ran.stdout);
    let json = here(&world, ["patch", "revert", "--json"]).run().exits(0).json();
    assert_eq!((&json["clean"], &json["hosts"][0]["asked"]), (&false.into(), &false.into()), "{json}");
    let ran = here(&world, ["patch", "diff"]).run().exits(0).says(&["on ssh://target: 1 edit live"]);
    assert_eq!(ran.stdout, "No edit is live on this machine.\n");
    assert!(typed(&world, &printed(&ran, "patch diff")[0]).exits(0).stdout.contains("+x = 2"));
    // A file that is only there, and one that is here too.
    let ran =
        here(&world, ["patch", "verify", "app/x.py"]).run().exits(3).says(&["failed to search app/x.py", "it is live on ssh://target"]);
    world.write("near/app/x.py", "x = 1\n");
    let searched = here(&world, ["patch", "verify", "app"]).run().exits(0);
    assert!(searched.stdout.contains("only this machine was searched; it is live on ssh://target"), "{}", searched.stdout);
    // Nobody has to be there to be told of.
    sshd.stop();
    let verified = here(&world, ["patch", "verify"]).run().exits(1);
    assert!(
        verified.stdout.starts_with("NOT clean: 1 edit live on ssh://target when it was last asked. On this machine"),
        "{}",
        verified.stdout
    );
    assert!(verified.stdout.contains("on ssh://target, which was not asked; as of 20"), "{}", verified.stdout);
    let sshd = sshd.again(&world);
    typed(&world, &printed(&ran, "patch revert")[0]).exits(0);
    assert_eq!(fs::read_to_string(&file).expect("the file"), "x = 1\n");
    drop(sshd);
    // In a folder below, the nearest state directory is the one that knows.
    fs::create_dir_all(world.path("near/sub/deep")).expect("a folder");
    let clean = here(&world, ["patch", "verify"]).cwd(&world.path("near/sub/deep")).run().exits(0);
    assert!(clean.stdout.contains("on ssh://target: not asked; no edit was live there as of 20"), "{}", clean.stdout);
}

#[test]
fn edits_stay_known_where_something_else_answers_at_their_address() {
    let Some((world, sshd)) = far() else { return };
    let config = config(&world, &sshd);
    world.write("far/x.py", "x = 1\n");
    there(&world, &config, APPLY).args(["x = 2"]).run().exits(0);
    let state = crate::remote::far_state(&world);
    let aside = world.path("aside");
    fs::rename(&state, &aside).expect("another state, as of another machine");
    for _ in 0..2 {
        let text = here(&world, ["patch", "status"]).run().exits(1).stdout;
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for said in ["NOT clean: 1 edit live on ssh://target when it was last asked", "another machine answers at its address now", "x.py"]
        {
            assert!(words.contains(said), "{said}: {text}");
        }
    }
    // What is done at the address meanwhile is about the other one.
    there(&world, &config, ["patch", "revert"]).run().exits(0);
    here(&world, ["patch", "status"]).run().exits(1);
    assert_eq!(fs::read_to_string(world.path("far/x.py")).expect("a file").lines().count(), 1);
    // The one that holds it answers again.
    fs::remove_dir_all(&state).expect("the other state");
    fs::rename(&aside, &state).expect("the state");
    let text = here(&world, ["patch", "status"]).run().exits(1).stdout;
    assert!(text.starts_with("NOT clean: 1 edit live on ssh://target.") && !text.contains("another machine"), "{text}");
    there(&world, &config, ["patch", "revert"]).run().exits(0);
    let text = here(&world, ["patch", "status"]).run().exits(0).stdout;
    assert!(text.starts_with("Clean"), "{text}");
    assert_eq!(fs::read_to_string(world.path("far/x.py")).expect("a file"), "x = 1\n");
}

#[test]
fn one_machine_by_two_addresses_is_one() {
    let Some((world, sshd)) = far() else { return };
    let text = fs::read_to_string(sshd.config()).expect("a configuration");
    let config = world.write("both", text.replace("Host target", "Host target other"));
    world.write("far/x.py", "x = 1\n");
    there(&world, &config, APPLY).args(["x = 2"]).run().exits(0);
    here(&world, ["--on", "ssh://other", "--ssh-config"]).args([&config]).args(["patch", "diff"]).run().exits(0);
    for verb in ["status", "verify"] {
        let json = here(&world, ["patch", verb, "--json"]).run().exits(1).json();
        let hosts = json["hosts"].as_array().expect("hosts");
        let mut addresses = vec![hosts[0]["address"].clone(), hosts[0]["also"][0].clone()];
        addresses.sort_by_key(ToString::to_string);
        assert_eq!((hosts.len(), addresses), (1, vec!["ssh://other".into(), "ssh://target".into()]), "{json}");
        let text = here(&world, ["patch", verb]).run().exits(1).stdout;
        assert!(text.starts_with("NOT clean: 1 edit live on ssh://") && text.contains(" (also ssh://"), "{text}");
    }
    drop(sshd);
    let text = here(&world, ["patch", "status"]).run().exits(1).stdout;
    assert!(text.contains("NOT clean: 1 edit live on ssh://") && text.matches("as of").count() == 1, "{text}");
    let as_of = text.split("as of ").nth(1).and_then(|rest| rest.split(':').next_back().map(|_| rest.lines().next().unwrap_or_default()));
    assert!(as_of.is_some_and(|time| time.len() == "2026-01-01T00:00:00Z:".len()), "a time to the second: {as_of:?}");
}
