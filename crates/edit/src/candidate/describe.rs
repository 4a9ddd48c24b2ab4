//! Says in words what differs between a line of a file and a line of a text, white space made visible.

use bystander_model::typed::escaped;
use similar::{Algorithm, capture_diff_slices, diff_ratio};

use crate::lines::split_end;

/// So many characters of a line are compared or shown.
const SHOWN: usize = 100;
/// So many bytes of a line are compared for likeness.
const COMPARED: usize = 256;

/// How alike two lines are, from 0 to 1; white space counts little.
pub(super) fn likeness(text: &[u8], file: &[u8]) -> f64 {
    if text == file {
        return 1.0;
    }
    let (a, b) = (super::bare(text), super::bare(file));
    if a == b {
        return 0.95;
    }
    let (a, b) = (&a[..a.len().min(COMPARED)], &b[..b.len().min(COMPARED)]);
    0.95 * f64::from(diff_ratio(&capture_diff_slices(Algorithm::Myers, a, b), a.len(), b.len()))
}

/// Says what differs between two lines that stand for each other; nothing where they are the same.
pub(super) fn pair(number: u32, text: &[u8], file: &[u8]) -> Option<String> {
    if text == file {
        return None;
    }
    let ((text_body, text_end), (file_body, file_end)) = (split_end(text), split_end(file));
    let said = if text_body == file_body {
        ends(text_end, file_end)
    } else if text_body.trim_ascii() == file_body.trim_ascii() {
        margins(text_body, file_body)
    } else if let Some(said) = look_alike(text_body, file_body) {
        said
    } else {
        let what = match super::bare(text_body) == super::bare(file_body) {
            true => "white space differs".to_owned(),
            false => format!("differs at column {}", column(text_body, file_body)),
        };
        let from = shared_before(text_body, file_body);
        let visible_blanks = super::bare(text_body) == super::bare(file_body);
        format!("{what}, file: `{}`, text: `{}`", shown(file_body, from, visible_blanks), shown(text_body, from, visible_blanks))
    };
    Some(format!("line {number}: {said}"))
}

/// Says that the file lacks a line of the text.
pub(super) fn lacking(before: u32, text: &[u8]) -> String {
    format!("before line {before}: the file lacks {}", quoted(text))
}

/// Says that the file has a line that the text lacks.
pub(super) fn surplus(number: u32, file: &[u8]) -> String {
    format!("line {number}: the text lacks {}", quoted(file))
}

/// A whole line, or that it is blank.
fn quoted(line: &[u8]) -> String {
    let body = split_end(line).0;
    if body.trim_ascii().is_empty() { "a blank line".to_owned() } else { format!("`{}`", shown(body, 0, false)) }
}

/// Says how the ends of two lines differ that are the same otherwise.
fn ends(text: &[u8], file: &[u8]) -> String {
    let name = |end: &[u8]| match end {
        b"\r\n" => "CRLF",
        b"\n" => "LF",
        b"\r" => "CR",
        _ => "none",
    };
    match (name(text), name(file)) {
        (text, "none") => format!("is the last and has no line end, the text has {text}: close its quotes on that line"),
        ("none", file) => format!("ends in {file}, the text in no line end"),
        (text, file) => format!("ends in {file}, the text in {text}"),
    }
}

/// Says how indent and trailing white space differ of two lines that are the same otherwise.
fn margins(text: &[u8], file: &[u8]) -> String {
    let indent = |line: &[u8]| line[..line.len() - line.trim_ascii_start().len()].to_vec();
    let trail = |line: &[u8]| line[line.trim_ascii_end().len()..].to_vec();
    if text.trim_ascii().is_empty() {
        return format!("is a blank line of {}, the text has {}", blanks(file), blanks(text));
    }
    let mut said = Vec::new();
    if indent(text) != indent(file) {
        said.push(format!("indent is {}, the text has {}", blanks(&indent(file)), blanks(&indent(text))));
    }
    if trail(text) != trail(file) {
        said.push(format!("ends in {}, the text in {}", blanks(&trail(file)), blanks(&trail(text))));
    }
    said.join("; ")
}

/// Counts white space in words, such as `1 tab and 2 spaces`.
fn blanks(text: &[u8]) -> String {
    let mut parts: Vec<String> = Vec::new();
    for run in text.chunk_by(|a, b| a == b) {
        let name = match run[0] {
            b' ' => "space",
            b'\t' => "tab",
            b'\x0c' => "form feed",
            b'\r' => "CR",
            _ => "other blank",
        };
        parts.push(format!("{} {name}{}", run.len(), if run.len() == 1 { "" } else { "s" }));
    }
    if parts.is_empty() { "none".to_owned() } else { parts.join(" and ") }
}

/// Names the first characters that differ, where one is outside ASCII and the rest of the line is the same.
fn look_alike(text: &[u8], file: &[u8]) -> Option<String> {
    let (text, file) = (std::str::from_utf8(text).ok()?, std::str::from_utf8(file).ok()?);
    if text.chars().count() != file.chars().count() {
        return None;
    }
    let mut differing = text.chars().zip(file.chars()).enumerate().filter(|(_, (a, b))| a != b);
    let (index, (in_text, in_file)) = differing.next()?;
    let rest_is_alike = differing.all(|(_, pair)| pair == (in_text, in_file));
    if (in_text.is_ascii() && in_file.is_ascii()) || !rest_is_alike {
        return None;
    }
    Some(format!("at column {} the file has {}, the text {}", index + 1, character(in_file), character(in_text)))
}

/// A character as words.
fn character(character: char) -> String {
    match character {
        ' ' => "a space".to_owned(),
        '\t' => "a tab".to_owned(),
        other if other.is_ascii_graphic() => format!("`{other}`"),
        other => format!("U+{:04X}", u32::from(other)),
    }
}

/// The column, in characters from 1, of the first difference.
fn column(text: &[u8], file: &[u8]) -> usize {
    let same = text.iter().zip(file).take_while(|(a, b)| a == b).count();
    String::from_utf8_lossy(&file[..same]).chars().count() + 1
}

/// From which character on two lines are shown so that their first difference is seen.
fn shared_before(text: &[u8], file: &[u8]) -> usize {
    let same = text.iter().zip(file).take_while(|(a, b)| a == b).count();
    let column = escaped(&file[..same]).chars().count() + 1;
    if column < SHOWN * 3 / 4 { 0 } else { column - SHOWN / 2 }
}

/// A line from a character on, cut, control characters and on request blanks made visible.
fn shown(line: &[u8], from: usize, blanks: bool) -> String {
    let text = escaped(line);
    let mut characters = text.chars().skip(from);
    let mut out = if from > 0 { "…".to_owned() } else { String::new() };
    for character in characters.by_ref().take(SHOWN) {
        out.push(match character {
            '\t' => '→',
            ' ' if blanks => '·',
            '\r' => '␍',
            other if other.is_control() => '\u{fffd}',
            other => other,
        });
    }
    if characters.next().is_some() {
        out.push('…');
    }
    out
}
