//! Prefixes that no list has: a logger of somebody's own, `grep -n`, a quotation, an indentation. They are learnt from a line in which the stamp of an
//! engine, or a frame of a traceback, stands behind one; lines without a stamp, such as the error at the end of a traceback, then lose it too.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::{Cleaned, prefix};

/// Prefixes that are kept of one log.
const SHAPES: usize = 8;
/// The longest prefix that is learnt, in bytes.
const LONGEST: usize = 200;

/// The prefixes of one log.
#[derive(Debug, Default)]
pub(crate) struct Carrier {
    shapes: Vec<Shape>,
}

#[derive(Debug)]
struct Shape {
    /// A prefix as it first stood there.
    first: String,
    /// The same with other numbers and another level.
    pattern: Regex,
}

impl Carrier {
    /// Takes off what the carrier of this log puts before each line.
    pub(crate) fn strip<'a>(&mut self, line: Cleaned<'a>) -> Cleaned<'a> {
        let length = match before(&line.text) {
            Some(0) => return line,
            Some(length) => {
                self.learn(&line.text[..length]);
                length
            }
            None => self.shapes.iter().find_map(|shape| shape.length(&line.text)).unwrap_or(0),
        };
        if length == 0 {
            return line;
        }
        let text = match line.text {
            Cow::Borrowed(text) => Cow::Borrowed(&text[length..]),
            Cow::Owned(mut text) => Cow::Owned(text.split_off(length)),
        };
        let inner = prefix::split(text);
        Cleaned { text: inner.text, container: inner.container.or(line.container), process: inner.process.or(line.process) }
    }

    fn learn(&mut self, text: &str) {
        if self.shapes.len() < SHAPES && self.shapes.iter().all(|shape| shape.first != text && shape.length(text) != Some(text.len())) {
            self.shapes.extend(pattern(text).map(|pattern| Shape { first: text.to_owned(), pattern }));
        }
    }
}

impl Shape {
    /// How much of a line is this prefix.
    fn length(&self, text: &str) -> Option<usize> {
        let length = self.pattern.find(text)?.end();
        // Of an indentation that is none, a frame of a traceback would lose its own.
        let is_frame = self.first.trim().is_empty() && text[length..].starts_with("File \"");
        (!is_frame).then_some(length)
    }
}

/// Where the engine's own line begins: behind its carrier's prefix; 0 where there is none, nothing where the line does not tell.
fn before(text: &str) -> Option<usize> {
    static STAMP: LazyLock<Regex> = LazyLock::new(|| {
        let sglang = r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)?(?: [A-Z_]+\d+)*\] ";
        let process = r"(?:\([A-Za-z_][\w:.\-]*(?: [\w.=:-]+)*? ?pid=\d+\) ?)?";
        let vllm = r"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d \S";
        Regex::new(&format!("{sglang}|{process}{vllm}")).expect("a literal pattern")
    });
    static FRAME: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#"  File "[^"]+", line \d+, in "#).expect("a literal pattern"));
    // Patterns are dear, and most lines have neither.
    let may_be_stamped = text.contains("[2") || text.contains("-");
    if let Some(stamp) = STAMP.find(text).filter(|_| may_be_stamped) {
        let prefix = &text[..stamp.start()];
        // A progress bar that was overwritten is a line of its own.
        return Some(if prefix.len() > LONGEST || prefix.contains("%|") { 0 } else { prefix.len() });
    }
    let frame = FRAME.find(text).filter(|_| text.contains("  File \""))?;
    let prefix = &text[..frame.start()];
    let is_a_group = prefix.trim_matches([' ', '|', '+', '-']).is_empty();
    let has_level = ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"].iter().any(|level| prefix.starts_with(level));
    (!is_a_group && !has_level && prefix.len() <= LONGEST).then_some(prefix.len())
}

/// The pattern of a prefix: other numbers may stand in it, filled up with spaces, and another level.
fn pattern(prefix: &str) -> Option<Regex> {
    static CHANGES: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i) *\d+|\b(?:trace|debug|info|notice|success|warn|warning|error|critical|fatal)\b *").expect("a literal pattern")
    });
    let mut pattern = String::from("^");
    let mut at = 0;
    for found in CHANGES.find_iter(prefix) {
        pattern += &regex::escape(&prefix[at..found.start()]);
        let is_number = found.as_str().ends_with(|c: char| c.is_ascii_digit());
        pattern += if is_number { r" *\d+" } else { r"[A-Za-z]+ *" };
        at = found.end();
    }
    pattern += &regex::escape(&prefix[at..]);
    Regex::new(&pattern).ok()
}

#[cfg(test)]
mod tests {
    use super::Carrier;
    use crate::line::clean;

    /// The lines of a log, as they are read.
    fn read(lines: &[String]) -> Vec<String> {
        let mut carrier = Carrier::default();
        lines.iter().flat_map(|line| clean(line.as_bytes())).map(|line| carrier.strip(line.to_owned()).text.into_owned()).collect()
    }

    const LOG: [&str; 5] = [
        "[2026-06-01 10:00:00 TP0] Scheduler hit an exception: Traceback (most recent call last):",
        "  File \"/a/b.py\", line 12, in f",
        "    raise RuntimeError(",
        "",
        "RuntimeError: Not enough memory.",
    ];

    #[test]
    fn a_prefix_that_nobody_knows_is_learnt_and_comes_off_the_error_too() {
        let level = |nth: usize| if nth == 0 { "INFO " } else { "ERROR" };
        let forms: [&dyn Fn(usize) -> String; 7] = [
            &|nth| format!("2026-06-01 10:00:0{nth}.123 | {}    | a.b:run:123 - ", level(nth)),
            &|nth| format!("2026-06-01 10:00:0{nth},123 - sglang - {} - ", level(nth).trim()),
            &|nth| format!("{}:sglang:", level(nth).trim()),
            &|nth| format!("server.log:{}:", nth + 98),
            &|nth| format!("{:6}\t", nth + 8),
            &|_| "> ".into(),
            &|_| "    ".into(),
        ];
        for form in forms {
            let lines: Vec<String> = LOG.iter().enumerate().map(|(nth, line)| format!("{}{line}", form(nth))).collect();
            assert_eq!(read(&lines), LOG, "{:?}", form(0));
        }
    }

    #[test]
    fn a_frame_alone_teaches_it_too() {
        let lines: Vec<String> = LOG[1..].iter().map(|line| format!("<30>1 2026-06-01T10:00:00Z gpu7 sglang 42 - - {line}")).collect();
        assert_eq!(read(&lines), &LOG[1..]);
    }

    #[test]
    fn processes_of_vllm_are_told_behind_it() {
        let mut carrier = Carrier::default();
        let line = "2026-06-01 10:00:00.123 | INFO | (EngineCore_DP0 pid=12) ERROR 06-01 10:00:00 [core.py:12] Traceback";
        let line = carrier.strip(clean(line.as_bytes()).remove(0));
        assert_eq!(
            (line.text.as_ref(), line.process),
            ("ERROR 06-01 10:00:00 [core.py:12] Traceback", Some(("EngineCore_DP0".into(), Some(12))))
        );
    }

    #[test]
    fn what_is_no_prefix_stays() {
        for lines in [
            // Bars, groups of exceptions, levels of the engine itself, and what only one line has before its stamp.
            vec!["100%|###| 52/52 [00:19<00:00][2025-03-01 10:00:00 TP4] x", "100%|###| 52/52 [00:20<00:00] y"],
            vec!["  |   File \"/a.py\", line 1, in f", "  | ValueError: x"],
            vec!["ERROR 06-01 10:00:00 [core.py:12]   File \"/a.py\", line 1, in f", "ERROR 06-01 10:00:00 [core.py:12] ValueError: x"],
            vec!["  File \"/a.py\", line 1, in f", "ValueError: x"],
        ] {
            let lines: Vec<String> = lines.into_iter().map(str::to_owned).collect();
            assert_eq!(read(&lines), lines);
        }
        let lines = ["  [2026-06-01 10:00:00] x", "  File \"/a.py\", line 1, in f", "ValueError: x"].map(str::to_owned);
        assert_eq!(read(&lines), ["[2026-06-01 10:00:00] x", "  File \"/a.py\", line 1, in f", "ValueError: x"]);
    }
}
