//! One raw line of a log: what stands there once colours and the prefixes of whoever carried it are off, and who wrote it.

pub(crate) mod carrier;
mod prefix;
pub(crate) mod strip;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// The longest part of a line that is read, in bytes; the arguments of a server take about 8 KiB.
pub const LOOKED_AT: usize = 64 << 10;

/// Where a line stands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file, as it is named in reports.
    pub source: Arc<str>,
    /// The line, from 1.
    pub line: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.source, self.line)
    }
}

/// A line as its writer wrote it.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    /// Where it stands.
    pub place: &'a Place,
    /// What stands there, without prefixes of containers, journals and processes.
    pub text: &'a str,
    /// The container, unit or pod that a prefix names.
    pub container: Option<&'a str>,
    /// The process that a prefix names, such as `EngineCore_DP0` of `(EngineCore_DP0 pid=12)`; empty where only its number is known.
    pub process: Option<&'a str>,
    /// The number of that process.
    pub pid: Option<u32>,
    /// Whether the log ends within the line, so that what stands last may be a part of it.
    pub is_cut: bool,
}

/// What is left of a raw line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cleaned<'a> {
    /// The text, all prefixes off.
    pub text: Cow<'a, str>,
    /// The container, unit or pod.
    pub container: Option<String>,
    /// The process: its name and number.
    pub process: Option<(String, Option<u32>)>,
}

impl Cleaned<'_> {
    /// The line at its place.
    #[must_use]
    pub fn at<'a>(&'a self, place: &'a Place) -> Line<'a> {
        let (process, pid) = self.process.as_ref().map_or((None, None), |(name, pid)| (Some(name.as_str()), *pid));
        Line { place, text: &self.text, container: self.container.as_deref(), process, pid, is_cut: false }
    }
}

/// Takes colours and prefixes off a raw line; bytes that are not UTF-8 are replaced.
///
/// A progress bar overwrites itself with carriage returns: such a line is several, in the order in which they were written.
#[must_use]
pub fn clean(raw: &[u8]) -> Vec<Cleaned<'_>> {
    let raw = &raw[..raw.len().min(LOOKED_AT)];
    let whole = prefix::split(strip::text(raw));
    if !whole.text.contains('\r') {
        return vec![whole];
    }
    let parts = whole.text.split('\r').filter(|part| !part.trim().is_empty());
    let part =
        |text: &str| Cleaned { text: Cow::Owned(text.to_owned()), container: whole.container.clone(), process: whole.process.clone() };
    parts.map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::clean;

    const BARE: &str = "[2026-11-29 13:31:46 TP1] Load weight begin. avail mem=23.50 GB";

    /// Text, container, process.
    type Told = (String, Option<String>, Option<(String, Option<u32>)>);

    fn one(raw: &str) -> Told {
        let all = clean(raw.as_bytes());
        assert_eq!(all.len(), 1, "{raw:?}");
        (all[0].text.clone().into_owned(), all[0].container.clone(), all[0].process.clone())
    }

    #[test]
    fn prefixes_of_carriers_come_off_and_say_who_wrote() {
        for (prefix, container) in [
            ("", None),
            ("sglang-1  | ", Some("sglang-1")),
            ("\u{1b}[36msglang-1  |\u{1b}[0m ", Some("sglang-1")),
            ("2026-11-29T13:31:46.123456789Z stderr F ", None),
            ("2026-11-29T13:31:46.1234567Z ", None),
            ("[pod/engine-0/server] ", Some("engine-0/server")),
            ("[pod/engine-0/server] 2026-11-29T13:31:46.123+01:00 ", Some("engine-0/server")),
            ("Nov 29 13:31:46 node7 sglang[4242]: ", Some("sglang")),
            ("2026-11-29T13:31:46+0000 node7 sglang@a.service[4242]: ", Some("sglang@a.service")),
            ("Nov 29 13:31:46 node7 dockerd[1]: web_1 | ", Some("web_1")),
        ] {
            let (text, from, _) = one(&format!("{prefix}{BARE}\n"));
            assert_eq!((text.as_str(), from.as_deref()), (BARE, container), "{prefix:?}");
        }
    }

    #[test]
    fn json_of_docker_and_of_the_journal_is_unwrapped() {
        let docker = serde_json::json!({ "log": format!("{BARE}\n"), "stream": "stderr", "time": "2026-11-29T13:31:46Z" }).to_string();
        assert_eq!(one(&docker).0, BARE);
        let journal = serde_json::json!({ "MESSAGE": BARE, "_PID": "7" }).to_string();
        assert_eq!(one(&journal).0, BARE);
        assert_eq!(one("{\"log\": broken").0, "{\"log\": broken");
    }

    #[test]
    fn processes_are_told_by_name_and_number() {
        assert_eq!(one("(EngineCore_DP0 pid=12) INFO 11-29 hello").2, Some(("EngineCore_DP0".into(), Some(12))));
        assert_eq!(one("\u{1b}[1;36m(APIServer pid=9)\u{1b}[0;0m INFO hello").2, Some(("APIServer".into(), Some(9))));
        assert_eq!(one("(VllmWorker rank=0 pid=77) INFO hello").2, Some(("VllmWorker".into(), Some(77))));
        assert_eq!(one("(RayWorkerWrapper pid=77, ip=10.0.0.1) INFO hello").0, "INFO hello");
        assert_eq!(one("(pid=77) INFO hello").2, Some((String::new(), Some(77))));
        assert_eq!(one("[rank3]: ValueError: x").0, "ValueError: x");
    }

    #[test]
    fn a_progress_bar_is_several_lines() {
        let all = clean(b"  0%|  | 0/2\r 50%|  | 1/2\r100%|  | 2/2\r\n");
        assert_eq!(all.iter().map(|part| part.text.trim()).collect::<Vec<_>>(), ["0%|  | 0/2", "50%|  | 1/2", "100%|  | 2/2"]);
    }

    #[test]
    fn what_is_no_text_is_replaced_and_a_huge_line_is_cut() {
        assert!(one_of(b"\xff\xfe Load weight begin. avail mem=1.00 GB").contains("Load weight begin"));
        assert_eq!(clean(&vec![b'x'; 1 << 20])[0].text.len(), super::LOOKED_AT);
        assert_eq!(clean(b"\n")[0].text, "");
    }

    fn one_of(raw: &[u8]) -> String {
        clean(raw)[0].text.clone().into_owned()
    }
}
