//! Passwords in addresses: `scheme://user:PASSWORD@host`, as databases, proxies and registries take them, and a long token in the place of the user.

use std::ops::Range;

/// A lone name before `@` that is at least so long is a token (`https://ghp_…@github.com`), since accounts have shorter names.
const SHORTEST_TOKEN: usize = 16;

/// Where the passwords of addresses stand in a text, in order.
pub(super) fn passwords(text: &str) -> Vec<Range<usize>> {
    text.match_indices("://").filter_map(|(at, mark)| password(text, at + mark.len())).collect()
}

/// A text with the passwords of its addresses replaced.
pub(super) fn replaced(text: &str, stand_in: impl Fn(&str) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for range in passwords(text) {
        out.push_str(&text[from..range.start]);
        out.push_str(&stand_in(&text[range.clone()]));
        from = range.end;
    }
    out.push_str(&text[from..]);
    out
}

fn password(text: &str, start: usize) -> Option<Range<usize>> {
    let ends = |c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'' | '<' | '>');
    let authority = &text[start..];
    let authority = &authority[..authority.find(ends).unwrap_or(authority.len())];
    let user = &authority[..authority.rfind('@')?];
    let (from, least) = user.find(':').map_or((0, SHORTEST_TOKEN), |colon| (colon + 1, 1));
    // What is hidden already, and placeholders of experiment files, hold no secret.
    let is_plain = !user[from..].starts_with(['<', '{', '$']) && !user[from..].bytes().all(|byte| byte == b'*');
    (user.len() - from >= least && is_plain).then(|| start + from..start + user.len())
}

#[cfg(test)]
mod tests {
    use super::replaced;

    #[test]
    fn passwords_of_addresses_are_found_and_nothing_else() {
        let hidden = |text: &str| replaced(text, |_| "***".to_owned());
        for (text, right) in [
            ("postgres://u:hunter4pass@db/x", "postgres://u:***@db/x"),
            ("redis://:p@h:6379, http://a:b@c?x=d@e", "redis://:***@h:6379, http://a:***@c?x=d@e"),
            ("get https://ghp_0123456789abcdefghij@github.com/o/r", "get https://***@github.com/o/r"),
            ("amqp://u:p:q@w@h", "amqp://u:***@h"),
        ] {
            assert_eq!(hidden(text), right);
            assert_eq!(hidden(right), right, "hidden once");
        }
        for plain in [
            "http://127.0.0.1:8000/v1",
            "ssh://git@host:22/x",
            "http://h/a:b@c",
            "http://u:{port}@h",
            "a@b:c",
            "http://u:@h",
            "://",
            "x://é@",
        ] {
            assert_eq!(hidden(plain), plain);
        }
    }
}
