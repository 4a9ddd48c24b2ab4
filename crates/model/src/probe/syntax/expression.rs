//! Where a Python expression ends in a line that goes on with other things. It is not parsed: brackets, quotes, and whether an operand or an
//! operator is due are enough to tell.

use super::{SyntaxError, SyntaxErrorKind, begins_part};

/// Words of Python after which an operand is due.
const OPERATORS: [&str; 10] = ["and", "or", "not", "in", "is", "if", "else", "for", "lambda", "await"];

/// Gives the byte at which the expression that starts at `start` ends: the end of the text, a comma or closing brace (`in_braces`), or the word
/// that begins another part.
pub(super) fn end(text: &str, start: usize, in_braces: bool) -> Result<usize, SyntaxError> {
    let mut open: Vec<(char, usize)> = Vec::new();
    let mut operand_due = true;
    let mut at = start;
    while let Some(c) = text[at..].chars().next() {
        let mut next = at + c.len_utf8();
        match c {
            _ if c.is_whitespace() => {}
            '"' | '\'' => {
                next = string_end(text, at, c)?;
                operand_due = false;
            }
            ',' if open.is_empty() => break,
            '}' if open.is_empty() && in_braces => break,
            '{' if open.is_empty() && !in_braces && !operand_due => break,
            '(' | '[' | '{' => {
                open.push((c, at));
                operand_due = true;
            }
            ')' | ']' | '}' => {
                let partner = open.pop().is_some_and(|(opened, _)| matches!((opened, c), ('(', ')') | ('[', ']') | ('{', '}')));
                if !partner {
                    return Err(SyntaxError { at: at..next, kind: SyntaxErrorKind::Close { found: c } });
                }
                operand_due = false;
            }
            _ if c == '_' || c.is_alphanumeric() => {
                let rest = &text[at..];
                if open.is_empty() && !in_braces && !operand_due && begins_part(rest).is_some() {
                    break;
                }
                let word = rest.split(|c: char| c != '_' && !c.is_alphanumeric()).next().unwrap_or(rest);
                next = at + word.len();
                operand_due = OPERATORS.contains(&word);
            }
            _ => operand_due = true,
        }
        at = next;
    }
    if let Some((opened, at)) = open.first() {
        return Err(SyntaxError { at: *at..at + 1, kind: SyntaxErrorKind::Open { opened: *opened } });
    }
    if operand_due && !text[start..at].trim().is_empty() {
        return Err(SyntaxError { at: at..at, kind: SyntaxErrorKind::NoExpression { place: "after the operator" } });
    }
    Ok(at)
}

/// The byte after a string literal that starts at `start`.
fn string_end(text: &str, start: usize, quote: char) -> Result<usize, SyntaxError> {
    let mut escaped = false;
    for (at, c) in text[start..].char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == quote {
            return Ok(start + at + 1);
        }
    }
    Err(SyntaxError { at: start..start + 1, kind: SyntaxErrorKind::Open { opened: quote } })
}
