//! What an insertion does to the flow of control, by the syntax tree: bodies without braces, blocks on the line of their head, statements that never
//! run.

use std::ops::Range;

use tree_sitter::Node;

use super::{Language, Tree};

/// Statements behind which nothing runs.
const JUMPS: [&str; 6] =
    ["return_statement", "raise_statement", "throw_statement", "break_statement", "continue_statement", "goto_statement"];
/// Statements whose body may be one statement without braces.
const HEADS: [&str; 7] =
    ["if_statement", "else_clause", "while_statement", "for_statement", "for_in_statement", "for_range_loop", "do_statement"];
/// What a jump keeps from running nowhere: it is reached otherwise, or is no step of the program.
const REACHED: [&str; 6] =
    ["labeled_statement", "function_declaration", "function_item", "function_definition", "case_statement", "preproc_def"];

impl Tree<'_> {
    /// The body without braces that a range is, lies in, or stands before on the way from its head.
    pub(crate) fn unbraced_body(&self, range: &Range<usize>) -> Option<Body> {
        if matches!(self.language(), Language::Python | Language::Rust | Language::Go) {
            return None;
        }
        let mut node = self.at(range)?;
        while !Language::is_list_of_statements(node.kind()) {
            let kind = HEADS.iter().find(|head| **head == node.kind());
            if let Some((kind, (part, body))) = kind.and_then(|kind| Some((*kind, body_of(&node)?)))
                && !Language::is_list_of_statements(body.kind())
            {
                let within = body.start_byte() <= range.start && range.end <= body.end_byte();
                // The whole statement is not its body.
                let before = node.start_byte() <= range.start && range.end <= body.start_byte();
                if within || before {
                    return Some(Body { head: node.start_byte(), kind, part, range: body.byte_range(), within });
                }
            }
            node = node.parent()?;
        }
        None
    }

    /// The range of the same part of the same statement in another version of the source.
    pub(crate) fn part_like(&self, body: &Body, head: usize) -> Option<Range<usize>> {
        let mut node = self.at(&(head..head + 1))?;
        while node.kind() != body.kind || node.start_byte() != head {
            node = node.parent().filter(|above| above.start_byte() == head)?;
        }
        child(&node, body.part).map(|part| part.byte_range())
    }

    /// Whether a range lies in a block of Python that begins on the line of its head, such as `x` in `if a: x`.
    pub(crate) fn in_block_on_head_line(&self, range: &Range<usize>) -> bool {
        if self.language() != Language::Python {
            return false;
        }
        let mut node = self.at(range);
        while let Some(here) = node {
            if here.kind() == "block" {
                return !self.begins_line(here.start_byte());
            }
            node = here.parent();
        }
        false
    }

    /// The jump right before the statement that begins at an offset, where that is why it never runs.
    pub(crate) fn jump_before(&self, at: usize) -> Option<&'static str> {
        let mut node = self.at(&(at..at + 1))?;
        while !Language::is_list_of_statements(node.parent()?.kind()) {
            node = node.parent()?;
        }
        if node.start_byte() != at || REACHED.contains(&node.kind()) || node.kind().ends_with("comment") {
            return None;
        }
        let mut before = node.prev_named_sibling();
        while before.is_some_and(|here| here.kind().ends_with("comment")) {
            before = before.and_then(|here| here.prev_named_sibling());
        }
        let mut before = before?;
        // Rust writes them as expressions.
        if before.kind() == "expression_statement"
            && let Some(only) = before.named_child(0).filter(|_| before.named_child_count() == 1)
        {
            before = only;
        }
        let kind = before.kind().replace("_expression", "_statement");
        JUMPS.iter().find(|jump| **jump == kind).map(|jump| jump.trim_end_matches("_statement"))
    }
}

/// A body without braces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Body {
    /// Where its statement begins.
    pub(crate) head: usize,
    kind: &'static str,
    part: usize,
    /// Whether what was looked for lies in it.
    pub(crate) within: bool,
    /// Its bytes.
    pub(crate) range: Range<usize>,
}

impl Body {
    /// What it is the body of, as a person writes it.
    pub(crate) fn of(&self) -> &'static str {
        match self.kind {
            "else_clause" => "else",
            kind => kind.split('_').next().unwrap_or(kind),
        }
    }
}

fn child<'t>(node: &Node<'t>, index: usize) -> Option<Node<'t>> {
    u32::try_from(index).ok().and_then(|index| node.named_child(index))
}

/// The body of a statement and how many parts stand before it: the consequence of an `if`, the last part of an `else`.
fn body_of<'t>(head: &Node<'t>) -> Option<(usize, Node<'t>)> {
    let field = if head.kind() == "if_statement" { "consequence" } else { "body" };
    let body = match head.child_by_field_name(field) {
        Some(body) => body,
        None => child(head, head.named_child_count().checked_sub(1)?)?,
    };
    // `else if` goes on by itself.
    let goes_on = head.kind() == "else_clause" && body.kind() == "if_statement";
    let part = (0..head.named_child_count()).find(|index| child(head, *index).is_some_and(|one| one.id() == body.id()))?;
    (!goes_on).then_some((part, body))
}

#[cfg(test)]
mod tests {
    use super::{Language, Tree};

    fn body(language: Language, text: &str, find: &str) -> Option<&'static str> {
        let at = text.find(find).expect("there");
        Tree::parse(language, text.as_bytes()).expect("parsed").unbraced_body(&(at..at + find.len())).map(|body| body.of())
    }

    #[test]
    fn bodies_without_braces_are_told() {
        for language in [Language::C, Language::Cpp, Language::JavaScript, Language::TypeScript] {
            let text = "function_like(); if (a) g(1); else g(2); while (a) g(3); for (;;) g(4); do g(5); while (a); if (b) { g(6); }";
            let text = if language.has_preprocessor() { format!("void f() {{ {text} }}") } else { text.to_owned() };
            for (find, of) in [("g(1);", Some("if")), ("g(2);", Some("else")), ("g(3);", Some("while")), ("g(4);", Some("for"))] {
                assert_eq!(body(language, &text, find), of, "{language:?} {find}");
            }
            assert_eq!(body(language, &text, "g(5)"), Some("do"), "{language:?}");
            assert_eq!((body(language, &text, "g(6);"), body(language, &text, "if (b)")), (None, None), "{language:?}");
            assert_eq!(
                (body(language, &text, "if (a)"), body(language, &text, "if (a) g(1); else g(2);")),
                (Some("if"), None),
                "{language:?}"
            );
        }
    }

    #[test]
    fn a_statement_behind_a_jump_never_runs() {
        let jump = |language, text: &str, find: &str| {
            Tree::parse(language, text.as_bytes()).expect("parsed").jump_before(text.find(find).expect("there"))
        };
        assert_eq!(jump(Language::Python, "def f():\n    return 1; g()\n", "g()"), Some("return"));
        assert_eq!(jump(Language::Python, "for x in y:\n    if x: break\n    g()\n", "g()"), None);
        assert_eq!(jump(Language::C, "int f() { return 1; /* n */ g(); }", "g()"), Some("return"));
        assert_eq!(jump(Language::C, "int f() { return 1; out: g(); }", "out"), None);
        assert_eq!(jump(Language::Rust, "fn f() { return 1; g(); }", "g()"), Some("return"));
        assert_eq!(jump(Language::Go, "package p\nfunc f() {\n\treturn\n\tg()\n}\n", "g()"), Some("return"));
        assert_eq!(jump(Language::JavaScript, "function f() { throw 1; g() }", "g()"), Some("throw"));
    }
}
