//! `python3 -m http.server`: a module of the standard library that is run as a script, probed in its own code.

use bystander_testkit::{Mark, Python, pythons, skip};

use crate::experiment::{Experiment, shown, sorts_of_lines, world};

/// Fetches three files and one that is not there, and says what it got.
const FETCH: &str = "
import sys, urllib.error, urllib.request
answers = []
for name in ('one', 'two', 'one', 'none'):
    try:
        with urllib.request.urlopen('http://127.0.0.1:%s/%s.txt' % (sys.argv[1], name)) as answer:
            answers.append('%d:%d' % (answer.status, len(answer.read())))
    except urllib.error.HTTPError as error:
        answers.append('%d' % error.code)
print('answers', *answers)
print('fetched=%d' % len(answers))
";

#[test]
fn a_file_server_of_the_standard_library_is_probed_while_it_serves() {
    let pythons = pythons();
    if pythons.is_empty() {
        return skip("there is no Python 3.8 or newer", Mark::Machine);
    }
    pythons.into_iter().for_each(serves_the_same);
}

fn serves_the_same(python: &Python) {
    let world = world();
    world.write("one.txt", "1");
    world.write("two.txt", "22");
    let exe = shown(&python.path);
    let found = Experiment {
        command: &[exe, "-m", "http.server", "{port}", "--bind", "127.0.0.1"],
        ready: Some("{ port = \"{port}\" }"),
        workload: Some(&[exe, "-c", FETCH, "{port}"]),
        at: "http.server:SimpleHTTPRequestHandler.send_head",
        after: None,
        capture: &["self.path", "self.command"],
        count: "{ workload = 'fetched=(\\d+)' }",
    }
    .run(&world);
    let version = python.version;
    assert_eq!((found.count("none"), found.count("probe"), found.hits()), (4, 4, 4), "{version:?}");
    assert_eq!(found.captured("self.path"), "/one.txt", "{version:?}");
    assert_eq!(found.captured("self.command"), "GET");
    let answers = |instrument| found.output(instrument, "workload").lines().next().map(str::to_owned);
    assert_eq!(answers("probe").as_deref(), Some("answers 200:1 200:2 200:1 404"));
    assert_eq!(answers("none"), answers("probe"));
    let log = |instrument| sorts_of_lines(&found.output(instrument, "stderr"), "GET /");
    assert_eq!((log("none").len(), log("none")), (3, log("probe")), "{version:?}");
    found.assert_quiet();
}
