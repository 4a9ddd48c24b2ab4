//! Other people's machinery in the same process: `sitecustomize`, redirected bytecode, pytest, coverage, cloudpickle, the standard library.

use std::path::PathBuf;

use bystander_model::hit::ReceiptState;
use bystander_probe::{Drain, check};

use crate::world::{Python, World, on_each, probe};

const MOD: &str = include_str!("programs/mod.py");

/// The folder of a Python's test packages; `None` where the test is skipped because they are not installed.
fn packages(python: &Python) -> Option<PathBuf> {
    let folder = std::env::var_os("BYSTANDER_TEST_PACKAGES").map(|folder| PathBuf::from(folder).join(format!("3.{}", python.minor)));
    let found = folder.filter(|folder| folder.join("pytest").is_dir());
    let required = std::env::var_os("BYSTANDER_NO_SKIP").is_some();
    assert!(found.is_some() || !required, "install python/tests/requirements.txt for 3.{} and set BYSTANDER_TEST_PACKAGES", python.minor);
    found
}

#[test]
fn the_standard_library_of_every_python_can_be_probed() {
    on_each(|python| {
        let world = World::new(python, &[("main.py", "import json\nprint(json.loads('[1, {\"a\": 2}]'))\n")]);
        let probes = world.checked(&[probe("json.decoder:JSONDecoder.decode", None, &["s", "self.strict"])]);
        let run = world.run(&probes, &["main.py"]);
        assert_eq!(run.stdout(), "[1, {'a': 2}]\n");
        assert_eq!((run.hits.len(), run.hits[0].function.as_str()), (1, "JSONDecoder.decode"), "3.{}", python.minor);
        let shown = serde_json::to_string(&run.hits[0].values).expect("prints");
        assert_eq!(shown, r#"{"s":"[1, {\"a\": 2}]","self.strict":true}"#);
    });
}

#[test]
fn an_existing_sitecustomize_runs_once_and_an_absent_one_stays_absent() {
    on_each(|python| {
        let look = "import sys\nprint('sitecustomize' in sys.modules, getattr(sys, 'mine', None))\ntry:\n    import sitecustomize\n    print(sitecustomize.__file__)\nexcept ImportError as error:\n    print(error)\n";
        let world = World::new(
            python,
            &[
                ("look.py", look),
                ("site/sitecustomize.py", "import sys\nsys.mine = getattr(sys, 'mine', 0) + 1\n"),
                ("bad/sitecustomize.py", "1 / 0\n"),
                ("m.py", "def f():\n    x = 1\n"),
            ],
        );
        let probes = world.checked(&[probe("m:f", None, &[])]);
        let overlay = world.overlay(&probes);
        for folder in ["nowhere", "site", "bad"] {
            let path = world.program().join(folder).into_os_string();
            let plain = world.command(&["look.py"], &[("PYTHONPATH".into(), path.clone())]).output().expect("runs");
            let run = world.command(&["look.py"], &overlay.env(Some(&path))).output().expect("runs");
            assert_eq!(run, plain, "3.{} {folder}", python.minor);
        }
    });
}

#[test]
fn redirected_bytecode_gets_nothing_of_ours() {
    on_each(|python| {
        let world = World::new(python, &[("main.py", "import m\nm.f()\n"), ("m.py", "import n\ndef f():\n    x = 1\n"), ("n.py", "")]);
        let probes = world.checked(&[probe("m:f", None, &[])]);
        let overlay = world.overlay(&probes);
        let cache = world.program().join("cache");
        let mut env = overlay.env(None);
        env.push(("PYTHONPYCACHEPREFIX".into(), cache.clone().into_os_string()));
        let output = world.command(&["main.py"], &env).output().expect("runs");
        assert!(output.status.success() && output.stderr.is_empty());
        let (hits, _) = Drain::new(overlay.ring_dir(), &probes).finish().expect("drains");
        assert_eq!(hits.len(), 1);
        let mut found = Vec::new();
        let mut pending = vec![cache];
        while let Some(folder) = pending.pop() {
            for entry in std::fs::read_dir(folder).expect("lists").flatten() {
                if entry.path().is_dir() { pending.push(entry.path()) } else { found.push(entry.path().display().to_string()) }
            }
        }
        assert!(found.iter().any(|path| path.contains("/n.")), "{found:?}");
        assert!(!found.iter().any(|path| path.contains("overlay") || path.contains("/m.")), "3.{} {found:?}", python.minor);
    });
}

#[test]
fn an_overlay_that_is_broken_breaks_nothing() {
    on_each(|python| {
        let world = World::new(python, &[("main.py", "import m\nprint(m.f())\n"), ("m.py", "def f():\n    x = 1\n    return x\n")]);
        let probes = world.checked(&[probe("m:f", Some("x = 1"), &["x"]), probe("main.py:2", None, &[])]);
        let plain = world.run_plain(&["main.py"]);
        for broken in ["ring.py", "hook.py", "rewrite.py", "plan.py", "__init__.py", "script.py"] {
            for text in ["def (", "raise RuntimeError('broken')\n", "import nothing_of_that_name\n"] {
                let overlay = world.overlay(&probes);
                drop(std::fs::remove_dir_all(overlay.dir().join("bystander_overlay/__pycache__")));
                std::fs::write(overlay.dir().join("bystander_overlay").join(broken), text).expect("writes");
                let output = world.command(&["main.py"], &overlay.env(None)).output().expect("runs");
                assert_eq!(output, plain, "3.{} {broken} {text}", python.minor);
            }
        }
        let overlay = world.overlay(&probes);
        std::fs::remove_dir_all(overlay.ring_dir()).expect("removes");
        assert_eq!(world.command(&["main.py"], &overlay.env(None)).output().expect("runs"), plain);
    });
}

#[test]
fn a_file_that_changed_since_the_check_is_found_again_or_refused() {
    on_each(|python| {
        let text = "def f(a):\n    b = a + 1\n    c = b * 2\n    return c\n\nif __name__ == '__main__':\n    print(f(1))\n";
        let world = World::new(python, &[("m.py", text)]);
        let probes = world.checked(&[probe("m.py:3", None, &["b"]), probe("m:f", Some("c = ..."), &["c"])]);
        world.write("m.py", &format!("import os\n\n\n{}", text.replace("    c =", "    print(b)\n    c =")));
        let run = world.run(&probes, &["m.py"]);
        assert_eq!(run.hits.iter().map(|hit| hit.line).collect::<Vec<_>>(), [7, 7], "3.{}", python.minor);
        world.write("m.py", &text.replace("c = b * 2", "c = b * 3"));
        let run = world.run(&probes, &["m.py"]);
        assert_eq!((run.receipts[0].state, run.hits.len()), (ReceiptState::Refused, 1), "{:?}", run.receipts);
        assert!(run.receipts[0].detail.as_deref().is_some_and(|text| text.contains("file changed")), "{:?}", run.receipts);
    });
}

#[test]
fn pytest_with_its_own_rewriting_and_cache_works_and_is_left_alone() {
    on_each(|python| {
        let Some(packages) = packages(python) else { return };
        let test = "from mod import add\n\ndef helper(n):\n    assert n > 0\n    m = add(n)\n    return m\n\ndef test_good():\n    assert helper(1) == 2\n\ndef test_bad():\n    left = helper(2)\n    assert left == 4, 'told'\n";
        let world = World::new(python, &[("test_it.py", test), ("mod.py", MOD)]);
        let probes =
            world.checked(&[probe("test_it:helper", Some("m = ..."), &["n", "m"]), probe("mod:add", Some("result = ..."), &["result"])]);
        let path = packages.into_os_string();
        let arguments = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"];
        let without_time = |bytes: &[u8]| String::from_utf8_lossy(bytes).rsplit_once(" in ").map(|(head, _)| head.to_owned());
        let plain = world.command(&arguments, &[("PYTHONPATH".into(), path.clone())]).output().expect("runs");
        for _ in 0..2 {
            let overlay = world.overlay(&probes);
            let run = world.command(&arguments, &overlay.env(Some(&path))).output().expect("runs");
            assert_eq!((without_time(&run.stdout), &run.stderr), (without_time(&plain.stdout), &plain.stderr), "3.{}", python.minor);
            let (hits, _) = Drain::new(overlay.ring_dir(), &probes).finish().expect("drains");
            assert_eq!(hits.len(), 4, "3.{} {hits:?}", python.minor);
        }
        let again = world.command(&arguments, &[("PYTHONPATH".into(), path)]).output().expect("runs");
        assert_eq!(without_time(&again.stdout), without_time(&plain.stdout));
    });
}

#[test]
fn coverage_reports_the_same_lines_and_branches() {
    on_each(|python| {
        let Some(packages) = packages(python) else { return };
        let main = "import mod\nmod.add(1)\nmod.choose(1)\nmod.Pool(2).grow(3)\ntry:\n    mod.fail(2)\nexcept ValueError:\n    pass\n";
        let world = World::new(python, &[("main.py", main), ("mod.py", MOD)]);
        let captures = ["flag", "picked", "missing_here"];
        let probes = world.checked(&[
            probe("mod:choose", Some("if flag: ..."), &captures[..2]),
            probe("mod:Pool.grow", Some("for step in ...: ..."), &["total", "step"]),
            probe("mod:add", None, &["number"]),
            probe("mod:fail", Some("if left: ..."), &["left"]),
            probe("main.py:4", None, &[]),
            probe("mod:choose@return", None, &["return", "picked"]),
            probe("mod:Pool.grow@return", None, &["return", "step"]),
            probe("mod:fail@raise", None, &["raise", "left"]),
            probe("mod:choose@raise", None, &["raise"]),
        ]);
        let report = |extra: Vec<_>| {
            drop(std::fs::remove_file(world.program().join(".coverage")));
            let run = world.command(&["-m", "coverage", "run", "--branch", "main.py"], &extra).output().expect("runs");
            assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
            let clean = [("PYTHONPATH".into(), packages.clone().into_os_string())];
            let output = world.command(&["-m", "coverage", "report", "-m"], &clean).output().expect("runs");
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let plain = report(vec![("PYTHONPATH".into(), packages.clone().into_os_string())]);
        let overlay = world.overlay(&probes);
        assert_eq!(report(overlay.env(Some(packages.as_os_str()))), plain, "3.{}", python.minor);
        let (hits, _) = Drain::new(overlay.ring_dir(), &probes).finish().expect("drains");
        assert_eq!(hits.len(), 9, "3.{} {hits:?}", python.minor);
    });
}

#[test]
fn a_function_that_travels_by_value_works_where_no_overlay_is() {
    on_each(|python| {
        let Some(packages) = packages(python) else { return };
        let send = "import cloudpickle, sys\n\ndef f(x):\n    if x > 5:\n        big = 1\n    y = x + 1\n    return y\n\nif __name__ == '__main__':\n    f(1)\n    sys.stdout.buffer.write(cloudpickle.dumps(f))\n";
        let receive = "import pickle, sys\nprint(pickle.load(open('f.pkl', 'rb'))(1))\n";
        let world = World::new(python, &[("send.py", send), ("receive.py", receive)]);
        let probes = world.checked(&[probe("send.py:6", None, &["x", "big"])]);
        let overlay = world.overlay(&probes);
        let sent = world.command(&["send.py"], &overlay.env(Some(packages.as_os_str()))).output().expect("runs");
        std::fs::write(world.program().join("f.pkl"), &sent.stdout).expect("writes");
        let output = world.command(&["receive.py"], &[("PYTHONPATH".into(), packages.into_os_string())]).output().expect("runs");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "2\n", "3.{}: {}", python.minor, String::from_utf8_lossy(&output.stderr));
        let (hits, _) = Drain::new(overlay.ring_dir(), &probes).finish().expect("drains");
        assert_eq!(hits.len(), 1);
    });
}

#[test]
fn an_editable_install_is_found_without_running_it() {
    on_each(|python| {
        let finder = "import sys\nfrom importlib.machinery import ModuleSpec, SourceFileLoader\nfrom importlib.util import spec_from_file_location\nHERE = __file__.rpartition('/')[0]\n\nclass Finder:\n    @classmethod\n    def find_spec(cls, name, path=None, target=None):\n        if name == 'edited':\n            return spec_from_file_location(name, HERE + '/src/edited/__init__.py', submodule_search_locations=[HERE + '/src/edited'])\n\nsys.meta_path.append(Finder)\n";
        let world = World::new(
            python,
            &[
                ("sitecustomize.py", finder),
                (
                    "src/edited/__init__.py",
                    "import sys\nif not hasattr(sys, 'argv') or 'go' not in sys.argv:\n    raise SystemExit('was run')\n",
                ),
                ("src/edited/core.py", "def f(a):\n    b = a\n    return b\n"),
            ],
        );
        let path = world.program().into_os_string();
        let mut interpreter = world.interpreter();
        interpreter.env.push(("PYTHONPATH".into(), path.clone()));
        interpreter.path = vec!["/".into()];
        let (probes, problems) = check(&interpreter, &[probe("edited.core:f", None, &["a"])]).expect("answers").split();
        assert!(problems.is_empty(), "3.{}: {problems:?}", python.minor);
        let overlay = world.overlay(&probes);
        let output =
            world.command(&["-c", "import edited.core; print(edited.core.f(4))", "go"], &overlay.env(Some(&path))).output().expect("runs");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "4\n", "{}", String::from_utf8_lossy(&output.stderr));
        let (hits, _) = Drain::new(overlay.ring_dir(), &probes).finish().expect("drains");
        assert_eq!(hits.len(), 1, "3.{}", python.minor);
    });
}
