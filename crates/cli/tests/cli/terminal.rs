//! What somebody at a terminal sees while a run goes on, and what is written where there is none.

use bystander_testkit::{OnTerminal, World, until};

use crate::world::{LIMIT, assert_nothing_left, world};

/// Writes a line, then waits until a file is there.
const SCRIPT: &str = "echo \"loading the weights of $LEVEL\"; until test -e go; do sleep 0.02; done";

fn experiment(world: &World) -> String {
    let text = format!(
        "[program]\ncommand = ['sh', '-c', '''{SCRIPT}''']\ntimeout = '600s'\ngrace = '1s'\n\
         [factors.level]\none = {{ env = {{ LEVEL = 'one' }} }}\ntwo = {{ env = {{ LEVEL = 'two' }} }}\n\
         [plan]\nbaseline = {{ level = 'one' }}\nblocks = 1\ndescribe = true\n"
    );
    world.write("case/case.toml", text).display().to_string()
}

/// Starts the experiment on a terminal, and waits until its first launch is drawn with its last line.
fn started(world: &World, columns: u16, variables: &[(&str, &str)]) -> OnTerminal {
    let file = experiment(world);
    let mut run = world.bystander(["run", &file]).without("TERM");
    for (name, value) in variables {
        run = run.env(name, value);
    }
    run.start_on_terminal(columns)
}

/// What was drawn without escape codes, a drawn line each; they are filled up with blanks, and the line about the whole follows without a line feed.
fn plain(drawn: &str) -> Vec<String> {
    let codes = regex::Regex::new("\u{1b}\\[[0-9;?]*[A-Za-z]").expect("a pattern");
    let whole = regex::Regex::new(r" +(\d of \d launches)").expect("a pattern");
    let text = codes.replace_all(drawn, "\n");
    let text = whole.replace_all(&text, "\n$1");
    text.split(['\n', '\r']).map(str::trim_end).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

fn end(world: &World, terminal: OnTerminal) -> String {
    world.write("case/go", "");
    let (code, drawn) = terminal.wait();
    assert_eq!(code, Some(2), "{drawn}");
    assert_nothing_left(world);
    drawn
}

#[test]
fn a_wide_terminal_shows_launch_phase_time_memory_last_line_and_what_is_left() {
    let world = world();
    let terminal = started(&world, 160, &[("TERM", "xterm-256color")]);
    until("the last line is drawn", LIMIT, || terminal.drawn().contains("| loading the weights of"));
    until("the memory is drawn", LIMIT, || plain(&terminal.drawn()).iter().any(|line| line.contains("iB") && line.contains("trial 1/2")));
    let drawn = plain(&terminal.drawn());
    let line = drawn.iter().rev().find(|line| line.contains("| loading the weights of")).expect("it was drawn");
    assert!(line.contains("block 1/1  trial 1/2") && line.contains("loading  "), "{line}");
    until("what is left is drawn", LIMIT, || terminal.drawn().contains("0 of 2 launches, time left unknown until every cell ran once"));
    let all = end(&world, terminal);
    let told: Vec<String> = plain(&all).into_iter().filter(|line| line.starts_with("block ") && line.contains("completed in")).collect();
    assert_eq!(told.len(), 2, "{told:#?}");
    assert!(all.contains("\u{1b}[") && all.contains("insufficient"), "{all}");
}

#[test]
fn the_phases_of_a_launch_are_drawn_in_their_order() {
    let world = world();
    // Each step waits for a file, so that every phase lasts until it was drawn; that everything holds is seen for as long as it must.
    let wait = |name: &str| format!("until test -e {name}; do sleep 0.02; done");
    let script = format!(
        "trap \"{}; exit 0\" TERM; {}; echo the weights; {}; echo up; while :; do sleep 0.02; done",
        wait("end"),
        wait("load"),
        wait("up")
    );
    let text = format!(
        "[program]\ncommand = ['sh', '-c', '''{script}''']\nready = {{ log = '^up', stable = '3s' }}\ntimeout = '600s'\ngrace = '300s'\n\
         [workload]\ncommand = ['sh', '-c', '{}']\n[plan]\nblocks = 1\ndescribe = true\n",
        wait("work")
    );
    let file = world.write("case/case.toml", text).display().to_string();
    let terminal = world.bystander(["run", &file]).without("TERM").env("TERM", "xterm-256color").start_on_terminal(120);
    let mut from = 0;
    for (phase, go_on) in [("spawned", "load"), ("loading", "up"), ("ready", ""), ("working", "work"), ("stopping, SIGKILL in", "end")] {
        let is_phase = |line: &String| line.contains("trial 1/1") && [" ", ","].iter().any(|end| line.contains(&format!("  {phase}{end}")));
        let at = |drawn: &[String]| drawn.iter().skip(from).position(is_phase);
        until(&format!("`{phase}` after what was drawn before"), LIMIT, || at(&plain(&terminal.drawn())).is_some());
        from += at(&plain(&terminal.drawn())).expect("was drawn");
        if !go_on.is_empty() {
            world.write(&format!("case/{go_on}"), "");
        }
    }
    let (code, drawn) = terminal.wait();
    assert_eq!(code, Some(0), "{drawn}");
    assert_nothing_left(&world);
}

#[test]
#[ignore = "a heartbeat comes every half a minute"]
fn where_nobody_watches_a_long_launch_says_now_and_then_that_it_lives() {
    let world = world();
    let file = experiment(&world);
    let running = world.bystander(["run", &file]).env("TERM", "xterm-256color").start();
    let is_heartbeat = |line: &&str| line.contains("trial 1/2") && line.contains("loading  ") && line.contains("of 2 launches");
    until("a heartbeat", LIMIT * 3, || running.stderr().lines().any(|line| is_heartbeat(&line)));
    let told = running.stderr();
    let beats: Vec<&str> = told.lines().filter(is_heartbeat).collect();
    assert!(beats[0].contains("loading the weights of") && !told.contains('\u{1b}'), "{told}");
    world.write("case/go", "");
    running.wait().exits(2);
    assert_nothing_left(&world);
}

#[test]
fn a_narrow_terminal_and_one_that_is_resized_get_lines_that_fit() {
    let world = world();
    let terminal = started(&world, 40, &[("TERM", "xterm-256color")]);
    until("the launch is drawn", LIMIT, || plain(&terminal.drawn()).iter().any(|line| line.contains("loading")));
    let is_drawn = |line: &&String| line.contains("loading  ") || line.contains("of 2 launches");
    let drawn = plain(&terminal.drawn());
    for line in drawn.iter().filter(is_drawn) {
        assert!(line.chars().count() < 40, "{line:?}");
    }
    assert!(!drawn.iter().any(|line| line.contains("| loading")), "no room for the last line: {drawn:#?}");
    terminal.resize(140);
    until("more is drawn", LIMIT, || terminal.drawn().contains("| loading the weights of"));
    let before = terminal.drawn().len();
    terminal.resize(60);
    // What was begun before may still come; three rounds later nothing can.
    until("it is drawn anew", LIMIT, || terminal.drawn().len() > before + 1200);
    let drawn = terminal.drawn();
    let last = plain(&drawn);
    for line in last.iter().rev().filter(is_drawn).take(2) {
        assert!(line.chars().count() < 60, "{line:?}");
    }
    let _ = end(&world, terminal);
}

#[test]
fn no_color_draws_without_colours_and_a_dumb_terminal_gets_plain_lines() {
    let world = world();
    let terminal = started(&world, 100, &[("TERM", "xterm-256color"), ("NO_COLOR", "1")]);
    until("the launch is drawn", LIMIT, || terminal.drawn().contains("loading"));
    let colours = regex::Regex::new("\u{1b}\\[[0-9;]*m").expect("a pattern");
    let drawn = end(&world, terminal);
    let coloured: Vec<&str> = colours.find_iter(&drawn).map(|found| found.as_str()).filter(|code| *code != "\u{1b}[0m").collect();
    assert_eq!(coloured, Vec::<&str>::new(), "{drawn}");

    let world = crate::world::world();
    let terminal = started(&world, 100, &[("TERM", "dumb")]);
    until("the launch is under way", LIMIT, || !world.trial_processes().is_empty());
    let drawn = end(&world, terminal);
    assert!(!drawn.contains('\u{1b}'), "{drawn:?}");
    assert_eq!(plain(&drawn).iter().filter(|line| line.starts_with("block ") && line.contains("completed in")).count(), 2, "{drawn}");
}

#[test]
fn where_standard_error_is_a_file_no_escape_code_is_written_whatever_the_program_writes() {
    let world = world();
    let file = experiment(&world).replace("case.toml", "other.toml");
    let script = "printf '\\033[31mred\\033[0m\\r50 percent\\n'; printf '\\033]0;title\\007' >&2; exit 3";
    let text = format!("[program]\ncommand = ['sh', '-c', '''{script}''']\n[plan]\nblocks = 2\ndescribe = true\n");
    std::fs::write(&file, text).expect("written");
    for args in [&["run"][..], &["run", "--new", "--json"], &["run", "--new", "--why"]] {
        let ran = world.bystander(args.iter().copied()).args([&file]).env("TERM", "xterm-256color").run();
        assert!(!ran.stderr.contains('\u{1b}') && !ran.stdout.contains('\u{1b}'), "{ran:?}");
    }
    assert_nothing_left(&world);
}
