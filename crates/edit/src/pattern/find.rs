//! Finds the places of a pattern.

use std::ops::Range;

use ast_grep_core::matcher::PatternNode;
use ast_grep_core::meta_var::MetaVariable;
use ast_grep_core::tree_sitter::StrDoc;
use ast_grep_core::{AstGrep, Language as _, Node, NodeMatch, Pattern};

use super::{Language, Tree};
use crate::lines::line_of;

type Doc = StrDoc<Language>;

/// Why no place is found by a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// The pattern is no code of the language.
    #[error("read the pattern as {language}: {why}", language = language.name())]
    Pattern {
        /// The language.
        language: Language,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The source is not UTF-8.
    #[error("read the file as text: byte {offset}, on line {line}, is not UTF-8")]
    NotUtf8 {
        /// The first byte that is not, from 0.
        offset: usize,
        /// Its line, from 1.
        line: u32,
    },
    /// The source does not parse.
    #[error("read the file as {language}: syntax error on line {line}", language = language.name())]
    Syntax {
        /// The language.
        language: Language,
        /// The line, from 1.
        line: u32,
    },
}

/// A place that a pattern matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The bytes of the match.
    pub(crate) range: Range<usize>,
    /// The bytes of the statement that it is or lies in.
    pub(crate) statement: Range<usize>,
    /// What the named holes stand for.
    captures: Vec<(String, String)>,
}

impl Place {
    /// The place of a text.
    pub(crate) fn of_text(range: Range<usize>) -> Self {
        Self { statement: range.clone(), range, captures: Vec::new() }
    }

    /// Puts what the holes stand for into a text: `$NAME` and `$$$NAME`. Other words with `$` stay.
    pub(crate) fn fill(&self, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = memchr::memchr(b'$', rest) {
            let marks = rest[at..].iter().take_while(|byte| **byte == b'$').count();
            let name = &rest[at + marks..];
            let length = name.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
            let known = self.captures.iter().find(|(known, _)| known.as_bytes() == &name[..length] && matches!(marks, 1 | 3));
            out.extend(&rest[..at]);
            match known {
                Some((_, value)) => out.extend(value.as_bytes()),
                None => out.extend(&rest[at..at + marks + length]),
            }
            rest = &name[length..];
        }
        out.extend(rest);
        out
    }
}

/// Finds every place of a pattern, in order; of places in each other the outermost.
pub(crate) fn places(language: Language, bytes: &[u8], pattern: &str) -> Result<Vec<Place>, PatternError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let offset = error.valid_up_to();
        PatternError::NotUtf8 { offset, line: line_of(bytes, offset) }
    })?;
    let tried = compiled(language, &holes(pattern))?;
    let root = AstGrep::doc(StrDoc::try_new(text, language).map_err(|_why| syntax(language, bytes, 0))?);
    let mut found: Vec<Place> = Vec::new();
    for pattern in &tried {
        for matched in root.root().find_all(pattern) {
            let range = matched.range();
            if found.iter().all(|seen: &Place| seen.range.end <= range.start || range.end <= seen.range.start) {
                found.push(place(&matched));
            }
        }
        if !found.is_empty() {
            break;
        }
    }
    if let Some(error) = Tree::parse(language, bytes).and_then(|tree| tree.errors().into_iter().next()) {
        // Macros confuse a grammar where a compiler is not: there a match that is whole counts.
        let touched = found.iter().any(|place| place.statement.start <= error.start && error.end <= place.statement.end);
        if found.is_empty() || touched || !language.has_preprocessor() {
            return Err(syntax(language, bytes, error.start));
        }
    }
    found.sort_by_key(|place| place.range.start);
    Ok(found)
}

fn syntax(language: Language, bytes: &[u8], offset: usize) -> PatternError {
    PatternError::Syntax { language, line: line_of(bytes, offset) }
}

/// The statement that holds a range; the range itself where there is none.
pub(crate) fn statement(language: Language, bytes: &[u8], range: &Range<usize>) -> Option<Range<usize>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let root = AstGrep::doc(StrDoc::try_new(text, language).ok()?);
    let node = root.root().get_inner_node().descendant_for_byte_range(range.start, range.end)?;
    Some(lifted(root.adopt(node)))
}

fn place(matched: &NodeMatch<'_, Doc>) -> Place {
    let env = matched.get_env();
    let text = matched.get_node().get_doc().src.as_str();
    let captures = env.get_matched_variables().filter_map(|variable| match variable {
        MetaVariable::Capture(name, _) => env.get_match(&name).map(|node| (name.clone(), node.text().into_owned())),
        MetaVariable::MultiCapture(name) => {
            let nodes = env.get_multiple_matches(&name);
            let (first, last) = (nodes.first()?.range().start, nodes.last()?.range().end);
            Some((name, text.get(first..last)?.to_owned()))
        }
        _ => None,
    });
    Place { captures: captures.collect(), range: matched.range(), statement: lifted(matched.get_node().clone()) }
}

/// The range of the statement that a node is or lies in.
fn lifted(node: Node<'_, Doc>) -> Range<usize> {
    let own = node.range();
    let mut here = node;
    while let Some(above) = here.parent() {
        if Language::is_list_of_statements(&above.kind()) {
            return here.range();
        }
        here = above;
    }
    own
}

/// Writes `...` as the hole that it stands for, where it is one and not a part of the language.
fn holes(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(at) = rest.find("...") {
        let (before, after) = (&rest[..at], &rest[at + 3..]);
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.' | '[');
        // `...rest` and `rest...` are spread arguments.
        let alone = !after.starts_with(is_name) && !before.ends_with(|c: char| is_name(c) || c == ']');
        out.push_str(before);
        out.push_str(if alone { "$$$" } else { "..." });
        rest = after;
    }
    out + rest
}

/// The ways to read a pattern, in the order tried.
fn compiled(language: Language, pattern: &str) -> Result<Vec<Pattern>, PatternError> {
    let wrong = |why| PatternError::Pattern { language, why };
    let bare = pattern.trim().trim_end_matches(';').trim_end();
    if bare.is_empty() {
        return Err(wrong("it is empty"));
    }
    if without_holes(bare).chars().all(|letter| letter.is_whitespace() || letter == ';') {
        return Err(wrong("it is nothing but holes, which is every place"));
    }
    let expando = language.expando_char();
    let text = if expando == '$' { pattern.trim().to_owned() } else { with_expando(pattern.trim(), expando) };
    let mut found = Vec::new();
    let mut several = false;
    for (before, after) in language.contexts() {
        let source = format!("{before}{text}{after}");
        let Ok(doc) = StrDoc::try_new(&source, language) else { continue };
        if doc.tree.root_node().has_error() {
            continue;
        }
        let root = AstGrep::doc(doc);
        let inside = before.len()..before.len() + text.len();
        match only_node(&root, &inside) {
            Some(node)
                if node.kind().ends_with("comment")
                    || node.children().all(|part| part.kind().ends_with("comment")) && node.children().len() > 0 =>
            {
                return Err(wrong("it is nothing but a comment"));
            }
            Some(node) => match Pattern::from(node) {
                // The matcher takes a hole at its root for a fault of its own.
                pattern if matches!(pattern.node, PatternNode::MetaVar { .. }) => {
                    return Err(wrong("it is nothing but holes, which is every place"));
                }
                pattern => found.push(pattern),
            },
            None => several = true,
        }
    }
    match (found.is_empty(), several) {
        (false, _) => Ok(found),
        (true, true) => Err(wrong("it is more than one statement")),
        (true, false) => Err(wrong("it is no code of that language")),
    }
}

/// What of a pattern is no hole.
fn without_holes(pattern: &str) -> String {
    let mut out = String::new();
    let mut rest = pattern;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let name = rest[at..].trim_start_matches('$');
        let marks = rest.len() - at - name.len();
        let length = name.find(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')).unwrap_or(name.len());
        if length == 0 && marks != 3 {
            out.push('$');
        }
        rest = &name[length..];
    }
    out + rest
}

/// The innermost node that is all of a range, but for a `;` at its end.
fn only_node<'r>(root: &'r AstGrep<Doc>, range: &Range<usize>) -> Option<Node<'r, Doc>> {
    let mut node = root.adopt(root.root().get_inner_node().descendant_for_byte_range(range.start, range.end)?);
    if node.range().start < range.start || node.range().end > range.end + 1 {
        // A body with one statement is not that statement.
        let is_inside = |child: &Node<'r, Doc>| child.range().start >= range.start && child.range().end <= range.end + 1;
        let mut inside: Vec<Node<'r, Doc>> = node.children().filter(|child| child.is_named() && is_inside(child)).collect();
        node = inside.pop().filter(|_| inside.is_empty())?;
    }
    if Language::is_list_of_statements(&node.kind()) && node.children().filter(Node::is_named).count() > 1 && !is_braced(&node) {
        return None;
    }
    loop {
        let mut named: Vec<Node<'r, Doc>> = node.children().filter(|child| child.is_named()).collect();
        let rest_is_end = node.children().all(|child| child.is_named() || child.kind() == ";");
        let start = node.range().start;
        match named.pop() {
            Some(only) if named.is_empty() && rest_is_end && only.range().start == start && !only.kind().ends_with("identifier") => {
                node = only
            }
            _ => return Some(node),
        }
    }
}

/// Whether a list of statements is written as one thing.
fn is_braced(node: &Node<'_, Doc>) -> bool {
    node.text().trim_start().starts_with('{')
}

/// Writes the `$` of holes with a letter that the grammar takes in names.
fn with_expando(pattern: &str, expando: char) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let name = rest[at..].trim_start_matches('$');
        let marks = rest.len() - at - name.len();
        let is_hole = marks == 3 || name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_');
        out.extend(std::iter::repeat_n(if is_hole { expando } else { '$' }, marks));
        rest = name;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::{Language, PatternError, holes, places};

    fn found(language: Language, source: &str, pattern: &str) -> Vec<String> {
        let places = places(language, source.as_bytes(), pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
        places.into_iter().map(|place| source[place.statement].to_owned()).collect()
    }

    #[test]
    fn holes_and_spread_arguments_are_told_apart() {
        assert_eq!(holes("x = ..."), "x = $$$");
        assert_eq!(holes("f(a, ...)"), "f(a, $$$)");
        assert_eq!(holes("f(...args)"), "f(...args)");
        assert_eq!(holes("f(args...)"), "f(args...)");
    }

    #[test]
    fn places_are_found_in_every_language() {
        let story = "def f(self):\n    rest = total - used * (\n        1 - self.x\n    )\n    return rest\n";
        assert_eq!(found(Language::Python, story, "rest = ..."), ["rest = total - used * (\n        1 - self.x\n    )"]);
        assert_eq!(found(Language::Python, story, "return $X"), ["return rest"]);
        assert_eq!(
            found(Language::Rust, "fn f() {\n    let rest = total - used;\n    g(rest);\n}\n", "let rest = ...;"),
            ["let rest = total - used;"]
        );
        assert_eq!(found(Language::Rust, "fn f() {\n    g(rest);\n}\n", "g($X)"), ["g(rest);"]);
        for (language, name) in [(Language::C, "C"), (Language::Cpp, "C++"), (Language::Cuda, "CUDA")] {
            let source = "int f(int total) {\n  int rest = total - 1;\n  rest = g(rest);\n  h(rest, 2);\n  return rest;\n}\n";
            assert_eq!(found(language, source, "int rest = ...;"), ["int rest = total - 1;"], "{name}");
            assert_eq!(found(language, source, "rest = ..."), ["rest = g(rest);"], "{name}");
            assert_eq!(found(language, source, "h($$$)"), ["h(rest, 2);"], "{name}");
            assert_eq!(found(language, source, "return $X;"), ["return rest;"], "{name}");
        }
        let kernel = "__global__ void k(float *x) { x[0] = 1.f; }\nint main() {\n  k<<<1, 32>>>(p);\n}\n";
        assert_eq!(found(Language::Cuda, kernel, "k<<<...>>>(p)"), ["k<<<1, 32>>>(p);"]);
        assert_eq!(found(Language::Cuda, kernel, "x[0] = $V"), ["x[0] = 1.f;"]);
        for language in [Language::JavaScript, Language::TypeScript, Language::Tsx] {
            let source = "function f(total) {\n  const rest = total - 1;\n  g(rest, 2)\n}\n";
            assert_eq!(found(language, source, "const rest = $X"), ["const rest = total - 1;"]);
            assert_eq!(found(language, source, "g($$$)"), ["g(rest, 2)"]);
        }
        let go = "package main\n\nfunc f(total int) int {\n\trest := total - 1\n\tg(rest)\n\treturn rest\n}\n";
        assert_eq!(found(Language::Go, go, "rest := ..."), ["rest := total - 1"]);
        assert_eq!(found(Language::Go, go, "g($X)"), ["g(rest)"]);
        assert_eq!(found(Language::Go, go, "func f(...) int { ... }").len(), 1);
    }

    #[test]
    fn the_outermost_of_nested_places_counts_and_holes_are_filled() {
        let source = "f(f(1), 2)\n";
        let found = places(Language::Python, source.as_bytes(), "f($A, $$$REST)").expect("parsed");
        assert_eq!((found.len(), found[0].range.clone()), (1, 0..10));
        assert_eq!(found[0].fill(b"g($A, $B, \xff$$$REST, ${A})"), b"g(f(1), $B, \xff2, ${A})");
    }

    #[test]
    fn no_pattern_makes_the_matcher_fall() {
        let sources: [(Language, &[u8]); 5] = [
            (Language::Python, b"def f(a, *b):\n    # n\n    return [a, {1: 2}, f'{a}']\n"),
            (Language::C, b"int f(int a) { /* n */ if (a) return a + 1; ; return g(a, 2); }\n"),
            (Language::Rust, b"fn f(a: u32) -> u32 { /* n */ g(a, 2); a }\n"),
            (Language::JavaScript, b"function f(a) { /* n */ return [a, ...b, `x${a}`]; }\n"),
            (Language::Go, b"package p\n\nfunc f(a int) int { g(a); return a }\n"),
        ];
        let parts = [
            "$$$", "$A", "...", "f", "(", ")", "{", "}", ";", ",", "#", "//x\n", "/*", "*/", "return", "=", "'", "\"", "[", "]", "\n", "é",
            "\0", ":", "$", "µ",
        ];
        for (language, source) in sources {
            for one in parts {
                for two in parts {
                    for three in ["", "$$$", ")"] {
                        // Whatever comes of it, it comes back.
                        let _ = places(language, source, &format!("{one}{two}{three}"));
                        let _ = places(language, source, &format!("{one} {two} {three}"));
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_wrong_is_told() {
        let of = |source: &[u8], pattern: &str| places(Language::Python, source, pattern).expect_err("refused");
        assert_eq!(of(b"x = 1\n\xff\n", "x"), PatternError::NotUtf8 { offset: 6, line: 2 });
        assert_eq!(of(b"x = 1\ndef f(:\n", "x = 1"), PatternError::Syntax { language: Language::Python, line: 2 });
        assert!(matches!(of(b"x = 1\n", "def ("), PatternError::Pattern { .. }));
        assert!(matches!(of(b"x = 1\n", "a = 1\nb = 2"), PatternError::Pattern { why: "it is more than one statement", .. }));
        for pattern in ["$$$", "...", "$X", "$X;", " $$$REST ; ", "$A $B", "$_"] {
            for language in [Language::Python, Language::C, Language::Rust, Language::JavaScript, Language::Go] {
                let found = places(language, b"", pattern);
                assert!(matches!(&found, Err(PatternError::Pattern { why, .. }) if why.contains("holes")), "{pattern}: {found:?}");
            }
        }
        for (language, pattern) in [(Language::Python, "# note"), (Language::C, "// note"), (Language::Go, "/* a */")] {
            let found = places(language, b"", pattern);
            assert!(matches!(&found, Err(PatternError::Pattern { why, .. }) if why.contains("comment")), "{pattern}: {found:?}");
        }
        assert!(matches!(of(b"x = 1\n", " ; "), PatternError::Pattern { why: "it is empty", .. }));
    }
}
