//! Which entries of a stack are the program's own, and not those of Python or of a library that it calls.

use super::facts::Place;
use super::traceback::{Frame, Raised};

/// Whose code an entry is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Owner {
    /// Neither of the two below.
    Program,
    /// An installed package, by name.
    Package(String),
    /// Python itself, compiled code, or text without a file.
    Python,
}

/// The innermost entry that is the program's own.
///
/// That is a file outside of Python's folders; where all are inside, the innermost of the package that the outermost one belongs to, since
/// then an installed package is the program; where there is none of a package either, the innermost entry.
#[must_use]
pub fn program_frame<'a>(raised: &'a Raised, place: &Place) -> Option<&'a Frame> {
    program_entry(&raised.frames, place)
}

/// The same of a stack, outermost entry first.
pub(super) fn program_entry<'a>(frames: &'a [Frame], place: &Place) -> Option<&'a Frame> {
    let owners: Vec<Owner> = frames.iter().map(|frame| owner(frame, place)).collect();
    let innermost = |wanted: &Owner| owners.iter().rposition(|owner| owner == wanted).map(|at| &frames[at]);
    if let Some(frame) = innermost(&Owner::Program) {
        return Some(frame);
    }
    let package = owners.iter().find(|owner| matches!(owner, Owner::Package(_)));
    package.and_then(innermost).or_else(|| frames.last())
}

/// How far inside the program a thread stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Depth {
    /// It waits to be given something to do: for a connection, an event, or work for a pool.
    Idle,
    /// In code of Python or of libraries alone.
    Outside,
    /// In a library that the program has called.
    Called,
    /// In the program's own code, or in a native call of it.
    Own,
}

/// Where threads wait that have nothing to do: the end of the file's name, and the function.
const IDLE: [(&str, &str); 14] = [
    ("selectors.py", "select"),
    ("socket.py", "accept"),
    ("socketserver.py", "serve_forever"),
    ("socketserver.py", "get_request"),
    ("asyncio/base_events.py", "_run_once"),
    ("asyncio/base_events.py", "run_forever"),
    ("asyncio/runners.py", "run"),
    ("concurrent/futures/thread.py", "_worker"),
    ("concurrent/futures/process.py", "wait_result_broken_or_wakeup"),
    ("multiprocessing/pool.py", "worker"),
    ("multiprocessing/resource_tracker.py", "main"),
    ("multiprocessing/queues.py", "_feed"),
    ("logging/handlers.py", "_monitor"),
    ("tqdm/_monitor.py", "run"),
];
/// Entries at the inner end of a stack among which an idle wait is looked for: what it itself calls stands inside it.
const IDLE_WITHIN: usize = 3;

/// Tells how far inside the program a stack is, outermost entry first.
pub(super) fn depth(frames: &[Frame], place: &Place) -> Depth {
    let owners: Vec<Owner> = frames.iter().map(|frame| owner(frame, place)).collect();
    let is_idle = |frame: &Frame| {
        let function = frame.function.as_deref().unwrap_or("").rsplit('.').next().unwrap_or("");
        IDLE.iter().any(|(file, name)| function == *name && frame.file.ends_with(file))
    };
    // An entry of the program inside of it shows that it was given something to do.
    let inner = owners.iter().rposition(|owner| *owner == Owner::Program).map_or(0, |at| at + 1);
    let from = inner.max(frames.len().saturating_sub(IDLE_WITHIN));
    if frames.is_empty() || frames[from..].iter().any(is_idle) {
        return Depth::Idle;
    }
    match owners.last() {
        Some(Owner::Program) => Depth::Own,
        _ if owners.contains(&Owner::Program) => Depth::Called,
        _ if owners.iter().any(|owner| matches!(owner, Owner::Package(_))) => Depth::Called,
        _ => Depth::Outside,
    }
}

fn owner(frame: &Frame, place: &Place) -> Owner {
    let file = frame.file.replace('\\', "/");
    if file.starts_with('<') {
        return Owner::Python;
    }
    for folder in ["/site-packages/", "/dist-packages/"] {
        if let Some(at) = file.rfind(folder) {
            let inside = &file[at + folder.len()..];
            let package = inside.split('/').next().unwrap_or(inside);
            return Owner::Package(package.trim_end_matches(".py").to_owned());
        }
    }
    let is_python = file.split("/lib/python").skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    // Compiled modules name their source as it was on the machine that built them.
    let is_elsewhere = !file.starts_with('/') && place.file(&frame.file).is_none();
    if is_python || is_elsewhere { Owner::Python } else { Owner::Program }
}

/// The file with its folder, which is enough to know it and the same wherever the tree lies.
pub(crate) fn short_file(file: &str) -> String {
    let mut parts: Vec<&str> = file.rsplit('/').take(2).filter(|part| !part.is_empty()).collect();
    parts.reverse();
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::{Depth, depth, program_frame, short_file};
    use crate::cause::{Frame, Link, Place, Raised};

    #[test]
    fn who_waits_for_work_is_told_from_who_is_at_it() {
        let place = Place { cwd: "/app".into(), real: |_| None };
        let told = |entries: &[(&str, &str)]| {
            let frame = |(file, function): &(&str, &str)| Frame {
                file: (*file).into(),
                line: 1,
                function: Some((*function).into()),
                source: None,
                at: 1,
            };
            depth(&entries.iter().map(frame).collect::<Vec<_>>(), &place)
        };
        let python = "/usr/lib/python3.11/";
        let file = |name: &str| format!("{python}{name}");
        let (threading, selectors, server, pool, queue) =
            (file("threading.py"), file("selectors.py"), file("socketserver.py"), file("concurrent/futures/thread.py"), file("queue.py"));
        assert_eq!(told(&[("/app/serve.py", "<module>"), (&server, "serve_forever"), (&selectors, "select")]), Depth::Idle);
        assert_eq!(told(&[(&threading, "_bootstrap"), (&threading, "run"), (&pool, "_worker")]), Depth::Idle);
        assert_eq!(told(&[(&threading, "_bootstrap"), (&pool, "_worker"), ("/app/serve.py", "generate")]), Depth::Own);
        assert_eq!(
            told(&[
                (&server, "serve_forever"),
                (&server, "process_request"),
                ("/app/serve.py", "do_POST"),
                (&queue, "get"),
                (&threading, "wait")
            ]),
            Depth::Called
        );
        assert_eq!(told(&[(&server, "serve_forever"), ("/app/serve.py", "do_POST")]), Depth::Own);
        assert_eq!(told(&[("/venv/lib/python3.12/site-packages/vllm/engine.py", "step")]), Depth::Called);
        assert_eq!(told(&[(&threading, "_bootstrap"), (&threading, "wait")]), Depth::Outside);
        assert_eq!(told(&[]), Depth::Idle);
        assert!(Depth::Own > Depth::Called && Depth::Called > Depth::Outside && Depth::Outside > Depth::Idle);
    }

    fn stack(files: &[&str]) -> Raised {
        let frames = files.iter().enumerate().map(|(at, file)| Frame {
            file: (*file).to_owned(),
            line: u32::try_from(at).expect("small"),
            function: Some("f".into()),
            source: None,
            at: 1,
        });
        Raised {
            kind: "E".into(),
            message: String::new(),
            more: Vec::new(),
            frames: frames.collect(),
            frames_left_out: 0,
            at: 1,
            link: Link::Root,
        }
    }

    fn innermost(files: &[&str]) -> Option<u32> {
        let place = Place { cwd: "/app".into(), real: |path| (path == "/app/main.py").then(|| path.to_owned()) };
        program_frame(&stack(files), &place).map(|frame| frame.line)
    }

    #[test]
    fn the_program_comes_before_libraries() {
        assert_eq!(innermost(&["/app/main.py", "/app/engine/sizing.py", "/usr/lib/python3.11/json/decoder.py"]), Some(1));
        assert_eq!(innermost(&["main.py", "/venv/lib/python3.12/site-packages/torch/nn.py", "zmq/backend/_zmq.py"]), Some(0));
    }

    #[test]
    fn an_installed_program_is_the_outermost_package() {
        let site = |file: &str| format!("/venv/lib/python3.12/site-packages/{file}");
        let files = ["<frozen runpy>".to_owned(), site("sglang/launch.py"), site("torch/x.py"), site("sglang/kv.py"), site("torch/y.py")];
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        assert_eq!(innermost(&files), Some(3));
    }

    #[test]
    fn python_alone_is_better_than_nothing() {
        assert_eq!(innermost(&["/usr/lib/python3.11/runpy.py", "/usr/lib/python3.11/json/decoder.py"]), Some(1));
        assert_eq!(innermost(&[]), None);
    }

    #[test]
    fn files_are_known_by_name_and_folder() {
        assert_eq!(short_file("/a/engine/sizing.py"), "engine/sizing.py");
        assert_eq!(short_file("app.py"), "app.py");
        assert_eq!(short_file("<string>"), "<string>");
    }
}
