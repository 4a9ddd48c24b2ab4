//! What those who carry a log put before each line: Docker, Compose, Kubernetes, journald, Ray, and engines that name the process.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::Cleaned;

/// One kind of prefix; the groups `container`, `process` and `pid` are taken where it has them.
struct Kind {
    pattern: LazyLock<Regex>,
    /// What the text must hold for the pattern to be tried.
    needs: &'static str,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident: $needs:literal, $pattern:literal;)+) => {
        $($(#[$doc])* static $name: Kind = Kind { pattern: LazyLock::new(|| Regex::new($pattern).expect("a literal pattern")), needs: $needs };)+
        static KINDS: &[&Kind] = &[$(&$name,)+];
    };
}

kinds! {
    /// `kubectl logs --prefix`.
    POD: "[pod/", r"^\[pod/(?P<container>[^\]\s]+)\] ";
    /// Files of the container runtime interface.
    CRI: " F ", r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(?:Z|[+-]\d\d:?\d\d) std(?:out|err) [FP] ";
    /// `docker compose logs`, `docker stack`: a name, filled up with spaces, and a bar.
    COMPOSE: "|", r"^(?P<container>[A-Za-z0-9][\w.@-]{0,127}) *\| ?";
    /// journald and syslog with a short time.
    JOURNAL: "]: ", r"^[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d[.\d]* \S+ (?P<container>[^\s\[\]:]+)\[(?P<pid>\d+)\]: ";
    /// journald and syslog with an ISO time.
    JOURNAL_ISO: "]: ", r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.,\d]*(?:Z|[+-]\d\d:?\d\d) \S+ (?P<container>[^\s\[\]:]+)\[(?P<pid>\d+)\]: ";
    /// A time that `docker logs --timestamps` or `kubectl logs --timestamps` puts first.
    TIME: "-", r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(?:Z|[+-]\d\d:?\d\d) ";
    /// Ray's and vLLM's name of the process.
    PROCESS: "pid=", r"^\((?P<process>[A-Za-z_][\w:.\-]*)(?: [\w.=:-]+)*? ?pid=(?P<pid>\d+)(?:, ip=[^)]*)?\) ?";
    /// Ray, where it names the process alone.
    RAY: "(pid=", r"^\(pid=(?P<pid>\d+)(?:, ip=[^)]*)?\) ?";
    /// torchrun's and PyTorch's rank before a traceback.
    RANK: "[rank", r"^\[rank\d+\]: ?";
    /// `torchrun --log-dir` and `mpirun --tag-output`.
    TAG: "]", r"^\[(?:default|\d+,)\d+\](?:<std(?:out|err)>)?: ?";
    /// `srun --label`.
    TASK: ": ", r"^ {0,3}\d{1,4}: ";
}

/// Prefixes that are taken off one line at most: a journal may carry Compose, which carries an engine's own.
const DEPTH: usize = 5;

/// A text with its prefixes taken off.
pub(crate) fn split(text: Cow<'_, str>) -> Cleaned<'_> {
    let text = unwrapped(text);
    let (mut container, mut process, mut at) = (None, None, 0);
    for _ in 0..DEPTH {
        let rest = &text[at..];
        // A stamp of the writer itself.
        if rest.starts_with("[2") {
            break;
        }
        let found = KINDS.iter().filter(|kind| rest.contains(kind.needs)).find_map(|kind| kind.pattern.captures(rest));
        let Some(found) = found else { break };
        let pid = found.name("pid").and_then(|pid| pid.as_str().parse().ok());
        container = found.name("container").map(|name| name.as_str().to_owned()).or(container);
        if let Some(name) = found.name("process") {
            process = Some((name.as_str().to_owned(), pid));
        } else if pid.is_some() && process.is_none() {
            process = Some((String::new(), pid));
        }
        at += found.get(0).map_or(0, |whole| whole.end());
    }
    let text = match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[at..]),
        Cow::Owned(mut text) => Cow::Owned(text.split_off(at)),
    };
    Cleaned { text, container, process }
}

/// The line inside Docker's `json-file` log, or inside journald's JSON.
fn unwrapped(text: Cow<'_, str>) -> Cow<'_, str> {
    if !text.starts_with('{') || !(text.contains("\"log\":") || text.contains("\"MESSAGE\"")) {
        return text;
    }
    let Ok(serde_json::Value::Object(mut fields)) = serde_json::from_str::<serde_json::Value>(&text) else { return text };
    match ["log", "MESSAGE"].iter().find_map(|name| fields.remove(*name)) {
        Some(serde_json::Value::String(inner)) => {
            let raw = inner.into_bytes();
            Cow::Owned(super::strip::text(&raw).into_owned())
        }
        _ => text,
    }
}
