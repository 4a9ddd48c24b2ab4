//! The syntax tree of a source: its errors, its shape without comments and blanks, what stands at a place.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::ops::Range;

use ast_grep_core::tree_sitter::LanguageExt as _;
use tree_sitter::{Node, Parser, TreeCursor};

use super::Language;

/// Statements of Python that must begin a line.
const COMPOUND: [&str; 9] = [
    "if_statement",
    "for_statement",
    "while_statement",
    "try_statement",
    "with_statement",
    "match_statement",
    "function_definition",
    "class_definition",
    "decorated_definition",
];
/// Statements that only Python 2 has.
const OF_PYTHON_2: [&str; 2] = ["print_statement", "exec_statement"];
/// So many errors are looked for.
const ERRORS: usize = 1000;

/// A parsed source.
pub(crate) struct Tree<'b> {
    language: Language,
    bytes: &'b [u8],
    tree: tree_sitter::Tree,
}

impl<'b> Tree<'b> {
    /// Parses; `None` where the grammar cannot be used at all.
    pub(crate) fn parse(language: Language, bytes: &'b [u8]) -> Option<Self> {
        let mut parser = Parser::new();
        parser.set_language(&language.get_ts_language()).ok()?;
        // Some grammars take a mark at the start for a letter.
        let text = bytes.strip_prefix(b"\xef\xbb\xbf");
        let blanked = text.map(|text| [b"   ", text].concat());
        // A name of three blanks would be an indent in Python.
        let tree = match (&blanked, language) {
            (Some(_), Language::Python) | (None, _) => parser.parse(bytes, None)?,
            (Some(blanked), _) => parser.parse(blanked, None)?,
        };
        Some(Self { language, bytes, tree })
    }

    /// The language that it was read as.
    pub(super) const fn language(&self) -> Language {
        self.language
    }

    /// The starts of lines that lie in a text which begins on an earlier line.
    pub(crate) fn in_texts(&self, starts: &[usize]) -> Vec<bool> {
        let inside = |start: usize| {
            let mut node = self.at(&(start..start + 1));
            while let Some(here) = node {
                let is_text = here.kind() == "string" || here.kind().contains("string_literal") || here.kind() == "template_string";
                if is_text && here.start_byte() < start && start < here.end_byte() {
                    return true;
                }
                node = here.parent();
            }
            false
        };
        starts.iter().map(|start| inside(*start)).collect()
    }

    /// The places that do not parse, in order.
    pub(crate) fn errors(&self) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        if self.language == Language::Python {
            // The grammar takes `x; for …`, `x = 1 y = 2` and `print "x"`, which Python does not.
            walk(&mut self.tree.walk(), &mut |node, _| {
                let misplaced = COMPOUND.contains(&node.kind()) && !self.begins_line(node.start_byte());
                if (misplaced || OF_PYTHON_2.contains(&node.kind()) || self.is_glued(node)) && found.len() < ERRORS {
                    found.push(node.byte_range());
                }
                true
            });
        }
        if self.tree.root_node().has_error() {
            walk(&mut self.tree.walk(), &mut |node, _| {
                if (node.is_error() || node.is_missing()) && found.len() < ERRORS {
                    found.push(node.byte_range());
                }
                node.has_error()
            });
        }
        found
    }

    /// Whether a statement of Python follows another one without a line end or a semicolon between them.
    fn is_glued(&self, node: &Node<'_>) -> bool {
        let in_block = node.parent().is_some_and(|parent| matches!(parent.kind(), "module" | "block"));
        if !in_block || !node.is_named() || is_comment(node) {
            return false;
        }
        let Some(before) = node.prev_named_sibling().filter(|before| !is_comment(before)) else { return false };
        let between = self.bytes.get(before.end_byte()..node.start_byte()).unwrap_or_default();
        let ends = |(at, byte): (usize, &u8)| matches!(byte, b'\n' | b'\r') && !between[..at].ends_with(b"\\");
        !before.has_error() && !node.has_error() && !between.contains(&b';') && !between.iter().enumerate().any(ends)
    }

    /// A number that two sources share that differ in blanks, line ends and comments alone.
    pub(crate) fn shape(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        walk(&mut self.tree.walk(), &mut |node, depth| {
            let between = !node.is_named() && matches!(node.kind(), ";" | "\n" | "\0" | "");
            if between || is_comment(node) {
                return false;
            }
            (node.kind_id(), depth).hash(&mut hasher);
            if node.child_count() == 0 {
                self.bytes.get(node.byte_range()).hash(&mut hasher);
            }
            true
        });
        hasher.finish()
    }

    /// Whether a range lies in a comment.
    pub(crate) fn in_comment(&self, range: &Range<usize>) -> bool {
        self.at(range).is_some_and(|node| is_comment(&node) || node.parent().is_some_and(|above| is_comment(&above)))
    }

    /// Whether a range lies in a text that is a statement of its own, which does nothing.
    pub(crate) fn in_idle_text(&self, range: &Range<usize>) -> bool {
        let mut node = self.at(range);
        while let Some(here) = node {
            if here.kind() == "expression_statement" {
                return here.named_child_count() == 1 && here.named_child(0).is_some_and(|only| only.kind() == "string");
            }
            node = here.parent();
        }
        false
    }

    /// Whether only blanks stand before an offset on its line; a decorator and what it decorates are told apart by their own lines.
    pub(super) fn begins_line(&self, at: usize) -> bool {
        let start = self.bytes[..at].iter().rposition(|byte| matches!(byte, b'\n' | b'\r')).map_or(0, |end| end + 1);
        let head = &self.bytes[start..at];
        head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).iter().all(|byte| byte.is_ascii_whitespace() || *byte == 0x0c)
    }

    /// The smallest node around a range.
    pub(super) fn at(&self, range: &Range<usize>) -> Option<Node<'_>> {
        self.tree.root_node().descendant_for_byte_range(range.start, range.end)
    }
}

fn is_comment(node: &Node<'_>) -> bool {
    node.is_named() && node.kind().ends_with("comment")
}

/// Visits every node with its depth, parents first, without recursion; `visit` says whether to go below.
fn walk(cursor: &mut TreeCursor<'_>, visit: &mut impl FnMut(&Node<'_>, u32) -> bool) {
    let mut depth = 0;
    loop {
        if visit(&cursor.node(), depth) && cursor.goto_first_child() {
            depth += 1;
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
            depth -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Language, Tree};

    fn shape(language: Language, text: &str) -> u64 {
        Tree::parse(language, text.as_bytes()).expect("parsed").shape()
    }

    #[test]
    fn statements_on_one_line_have_the_shape_of_those_on_two() {
        use Language::{C, Go, JavaScript, Python, Rust};
        let same = |language, one, two| assert_eq!(shape(language, one), shape(language, two), "{language:?}: {one} {two}");
        same(Python, "def f():\n    x = 1; g(x)  # note\n    return x\n", "def f():\n    x = 1\n    g(x)\n    return x\n");
        same(Python, "x = 1; g(x)\n", "x = 1\ng(x)\n");
        same(C, "int f() { int x = 1; g(x); /* n */ return x; }", "int f() {\n int x = 1;\n g(x);\n return x;\n}\n");
        same(Rust, "fn f() { let x = 1; g(x); x }", "fn f() {\n let x = 1;\n g(x);\n x // n\n}\n");
        same(Go, "package p\nfunc f() {\n\tx := 1; g(x)\n}\n", "package p\nfunc f() {\n\tx := 1\n\tg(x)\n}\n");
        same(JavaScript, "function f() { const x = 1; g(x); }", "function f() {\n const x = 1;\n g(x);\n}\n");
    }

    #[test]
    fn what_changes_the_meaning_changes_the_shape() {
        let differ = |one, two| assert_ne!(shape(Language::Python, one), shape(Language::Python, two), "{one}{two}");
        differ("if a: x = 1; g(x)\n", "if a: x = 1\ng(x)\n");
        differ("x = 1  # note; g(x)\n", "x = 1\ng(x)\n");
        differ("s = '''\na\ng(x)\n'''\n", "s = '''\na\n'''\n");
    }

    #[test]
    fn errors_comments_and_idle_texts_are_told() {
        let tree = |text: &'static str| Tree::parse(Language::Python, text.as_bytes()).expect("parsed");
        assert!(tree("def f(:\n  pass\n").errors().first().is_some_and(|error| error.start < 8));
        assert!(tree("x = 1  # mark\n").in_comment(&(9..13)) && !tree("x = '# mark'\n").in_comment(&(7..11)));
        assert!(tree("f(); 'mark'; g()\n").in_idle_text(&(6..10)) && !tree("x = 'mark'\n").in_idle_text(&(5..9)));
        assert!(tree("\u{feff}x = 1\n").errors().is_empty());
        assert!(!tree("x = 1; for y in x: pass\n").errors().is_empty());
        for glued in
            ["print('r')return c\n", "def f():\n    x = 3    del x\n", "x = 1 y = 2\n", "x = 1 \\\ny = 2\n", "print 'x'\n", "exec 'x'\n"]
        {
            assert!(!tree(glued).errors().is_empty(), "{glued}");
        }
        let whole = "x = 1; y = 2;\nif x: y = 3; z = 4\nelse: pass\nz = 5  # note\n# note\ny = (1,\n  2)\r\nprint('x')\r\nexec('y')\n";
        assert!(tree(whole).errors().is_empty(), "{:?}", tree(whole).errors());
        assert!(tree("@d\nasync def f():\n\x0c    if a: pass\n    else: b = 1\n").errors().is_empty());
    }
}
