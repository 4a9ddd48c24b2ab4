//! Tracebacks that real interpreters print, every one on the machine.

use bystander_lab::cause::{Link, Place, Scan, Traceback, signature};

use crate::feed::scan;
use crate::pythons::{pythons, run};

/// Runs a script on every interpreter and looks at what its stderr tells.
fn on_each(oldest: u32, script: &str, look: impl Fn(&str, Scan, &Place)) {
    let folder = tempfile::tempdir().expect("a folder");
    let place = Place::here(std::fs::canonicalize(folder.path()).expect("real"));
    for (minor, python) in pythons().into_iter().filter(|(minor, _)| *minor >= oldest) {
        let stderr = run(&python, folder.path(), script);
        look(&format!("3.{minor}:\n{stderr}"), scan(&stderr), &place);
    }
}

fn only(scan: Scan, said: &str) -> Traceback {
    assert_eq!(scan.tracebacks.len(), 1, "{said}");
    scan.tracebacks.into_iter().next().expect("one")
}

#[test]
fn a_plain_error_has_type_message_frames_and_source() {
    on_each(8, "def f(x):\n    return {'a': x / 0}['a']\n\ndef main():\n    f(1)\n\nmain()\n", |said, scan, place| {
        let traceback = only(scan, said);
        let root = traceback.root();
        assert_eq!((root.kind.as_str(), root.message.as_str()), ("ZeroDivisionError", "division by zero"), "{said}");
        let functions: Vec<&str> = root.frames.iter().filter_map(|frame| frame.function.as_deref()).collect();
        assert_eq!(functions, ["<module>", "main", "f"], "{said}");
        assert_eq!((root.frames[2].line, root.frames[2].source.as_deref()), (2, Some("return {'a': x / 0}['a']")), "{said}");
        assert_eq!((traceback.first_line, traceback.complete, traceback.harmless), (1, true, false), "{said}");
        let name = place.cwd.file_name().expect("a name").to_string_lossy();
        assert_eq!(signature(&traceback, place), format!("ZeroDivisionError in {name}/app.py:f: division by zero"), "{said}");
    });
}

#[test]
fn chains_put_the_root_first_and_keep_their_links() {
    let script = "def f():\n    raise ValueError('inner')\ntry:\n    try:\n        f()\n    except ValueError as e:\n        raise KeyError('k') from e\n\
                  except KeyError:\n    raise RuntimeError('outer')\n";
    on_each(8, script, |said, scan, place| {
        let traceback = only(scan, said);
        let chain: Vec<(&str, Link)> = traceback.raised.iter().map(|raised| (raised.kind.as_str(), raised.link)).collect();
        assert_eq!(chain, [("ValueError", Link::Root), ("KeyError", Link::CausedBy), ("RuntimeError", Link::During)], "{said}");
        assert!(signature(&traceback, place).ends_with("app.py:f: inner, then RuntimeError"), "{said}");
    });
}

#[test]
fn a_group_s_first_member_is_the_root() {
    let script = "errors = []\ndef f():\n    raise ValueError('inner')\ndef g():\n    try:\n        f()\n    except ValueError as e:\n        raise KeyError('x') from e\n\
                  for call in (g, f):\n    try:\n        call()\n    except Exception as e:\n        errors.append(e)\n\
                  raise ExceptionGroup('many', errors + [TypeError('bare'), ExceptionGroup('deep', [OSError('last')])])\n";
    on_each(11, script, |said, scan, _| {
        let traceback = only(scan, said);
        let chain: Vec<(&str, Link)> = traceback.raised.iter().map(|raised| (raised.kind.as_str(), raised.link)).collect();
        assert_eq!(chain, [("ValueError", Link::Root), ("KeyError", Link::CausedBy), ("ExceptionGroup", Link::Group)], "{said}");
        assert_eq!(traceback.root().frames.last().and_then(|frame| frame.function.as_deref()), Some("f"), "{said}");
        let others: Vec<&str> = traceback.siblings.iter().map(|raised| raised.kind.as_str()).collect();
        assert_eq!(others, ["ValueError", "TypeError", "ExceptionGroup", "OSError"], "{said}");
    });
}

#[test]
fn a_script_that_does_not_parse_has_no_header_and_is_still_read() {
    for (script, line, kind) in [("x = 1\ndef f(:\n    pass\n", 2, "SyntaxError"), ("if True:\nx = 1\n", 2, "IndentationError")] {
        on_each(8, script, |said, scan, _| {
            let traceback = only(scan, said);
            let root = traceback.root();
            assert_eq!((root.kind.as_str(), root.frames[0].line, root.frames[0].function.as_deref()), (kind, line, None), "{said}");
        });
    }
}

#[test]
fn a_module_that_does_not_parse_is_the_innermost_place() {
    let script = "import pathlib\npathlib.Path('broken.py').write_text('y = 1\\ndef f(:\\n')\nimport broken\n";
    on_each(8, script, |said, scan, place| {
        let traceback = only(scan, said);
        let last = traceback.root().frames.last().expect("a place");
        assert!(last.file.ends_with("broken.py") && last.line == 2 && last.function.is_none(), "{said}");
        assert!(
            signature(&traceback, place).starts_with("SyntaxError in ") && signature(&traceback, place).contains("broken.py: "),
            "{said}"
        );
    });
}

#[test]
fn an_error_in_a_thread_names_the_thread() {
    let script = "import threading\ndef work():\n    raise LookupError('gone')\nt = threading.Thread(target=work)\nt.start()\nt.join()\n";
    on_each(8, script, |said, scan, place| {
        let traceback = only(scan, said);
        assert!(traceback.rank.as_deref().is_some_and(|rank| rank.starts_with("thread Thread-1")), "{said}");
        assert!(signature(&traceback, place).contains("app.py:work: gone"), "{said}");
    });
}

#[test]
fn spawned_children_name_their_process_and_fail_alike() {
    let script = "import multiprocessing\ndef work(rank):\n    raise RuntimeError('rank %d gave up at 0x%x' % (rank, id(rank)))\n\
                  if __name__ == '__main__':\n    spawn = multiprocessing.get_context('spawn')\n    for rank in range(3):\n        \
                  child = spawn.Process(target=work, args=(rank,), name='TP%d' % rank)\n        child.start()\n        child.join()\n";
    on_each(8, script, |said, scan, place| {
        let ranks: Vec<&str> = scan.tracebacks.iter().filter_map(|traceback| traceback.rank.as_deref()).collect();
        assert_eq!(ranks, ["TP0", "TP1", "TP2"], "{said}");
        let signatures: Vec<String> = scan.tracebacks.iter().map(|traceback| signature(traceback, place)).collect();
        assert!(signatures[0].ends_with("app.py:work: rank # gave up at <hex>"), "{said}{signatures:?}");
        assert!(signatures.iter().all(|other| *other == signatures[0]), "{said}{signatures:?}");
    });
}

#[test]
fn children_that_fail_at_once_are_taken_apart() {
    let script = "import multiprocessing\ndef inner(rank):\n    raise RuntimeError('rank %d gave up' % rank)\ndef work(rank, gate):\n    gate.wait()\n    inner(rank)\n\
                  if __name__ == '__main__':\n    spawn = multiprocessing.get_context('spawn')\n    gate = spawn.Barrier(4)\n    \
                  all = [spawn.Process(target=work, args=(rank, gate), name='TP%d' % rank) for rank in range(4)]\n    \
                  [child.start() for child in all]\n    [child.join() for child in all]\n";
    on_each(12, script, |said, scan, place| {
        let whole: Vec<String> =
            scan.tracebacks.iter().filter(|traceback| traceback.complete).map(|traceback| signature(traceback, place)).collect();
        assert!(!whole.is_empty(), "{said}");
        assert!(whole[0].starts_with("RuntimeError in ") && whole[0].ends_with("rank # gave up"), "{said}{whole:?}");
    });
}

#[test]
fn what_ended_nothing_is_harmless() {
    let script =
        "import logging\nclass Foo:\n    def __del__(self):\n        1 / 0\nFoo()\nlogging.warning('%d', 'text')\nraise AssertionError\n";
    on_each(8, script, |said, scan, _| {
        let kinds: Vec<(&str, bool)> =
            scan.tracebacks.iter().map(|traceback| (traceback.root().kind.as_str(), traceback.harmless)).collect();
        assert_eq!(kinds, [("ZeroDivisionError", true), ("TypeError", true), ("AssertionError", false)], "{said}");
    });
}

#[test]
fn messages_of_several_lines_are_kept() {
    on_each(8, "raise ValueError('a\\nb\\n  c')\n", |said, scan, _| {
        let traceback = only(scan, said);
        assert_eq!(traceback.root().whole_message(), "a\nb\n  c", "{said}");
    });
}

#[test]
fn a_pool_s_remote_traceback_is_the_root() {
    let script = "import multiprocessing\ndef work(n):\n    raise LookupError('item %d' % n)\nif __name__ == '__main__':\n    \
                  with multiprocessing.get_context('spawn').Pool(1) as pool:\n        pool.map(work, [4])\n";
    on_each(8, script, |said, scan, place| {
        let traceback = only(scan, said);
        assert_eq!(traceback.raised.len(), 2, "{said}");
        assert_eq!(traceback.raised[1].link, Link::CausedBy, "{said}");
        assert!(signature(&traceback, place).contains("app.py:work: item #"), "{said}");
    });
}

#[test]
fn a_deep_recursion_costs_little() {
    let script = "import sys\nsys.setrecursionlimit(400)\ndef f(n):\n    return g(n + 1)\ndef g(n):\n    return f(n + 1)\nf(0)\n";
    on_each(8, script, |said, scan, _| {
        let traceback = only(scan, said);
        assert_eq!(traceback.root().short_kind(), "RecursionError", "{said}");
        assert!(traceback.root().frames.len() <= 80 && traceback.root().frames_left_out > 100, "{said}");
    });
}
