//! The languages whose syntax is known, and how they are told.

use std::borrow::Cow;
use std::path::Path;

use ast_grep_core::Language as CoreLanguage;
use ast_grep_core::matcher::PatternBuilder;
use ast_grep_core::tree_sitter::{LanguageExt, StrDoc, TSLanguage};
use ast_grep_core::{Pattern, PatternError};

/// A language whose syntax is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    /// Python.
    Python,
    /// Rust.
    Rust,
    /// C.
    C,
    /// C++; read with the grammar of CUDA, which is C++ and more.
    Cpp,
    /// CUDA.
    Cuda,
    /// JavaScript, with JSX.
    JavaScript,
    /// TypeScript.
    TypeScript,
    /// TypeScript with JSX.
    Tsx,
    /// Go.
    Go,
}

/// Names and ends of file names, by language.
const NAMES: [(Language, &str, &[&str]); 9] = [
    (Language::Python, "python", &["py", "pyw", "pyi"]),
    (Language::Rust, "rust", &["rs"]),
    (Language::C, "c", &["h"]),
    (Language::Cpp, "c++", &["cpp", "cc", "cxx", "hpp", "hh", "hxx", "ipp", "inl"]),
    (Language::Cuda, "cuda", &["cu", "cuh"]),
    (Language::JavaScript, "javascript", &["js", "mjs", "cjs", "jsx"]),
    (Language::TypeScript, "typescript", &["ts", "mts", "cts"]),
    (Language::Tsx, "tsx", &[]),
    (Language::Go, "go", &[]),
];

impl Language {
    /// Finds a language by its name or by an end of a file name, such as `python` or `py`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let name = name.trim_start_matches('.').to_ascii_lowercase();
        NAMES.iter().find(|(_, long, ends)| *long == name || ends.contains(&name.as_str())).map(|(language, ..)| *language)
    }

    /// Tells the language of a file by its name or, where it has no end, by the interpreter that its first line names.
    ///
    /// A `.h` is C unless it reads better as C++.
    #[must_use]
    pub fn of(path: &Path, bytes: &[u8]) -> Option<Self> {
        let Some(end) = path.extension() else {
            let first = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
            return (first.starts_with(b"#!") && memchr::memmem::find(first, b"python").is_some()).then_some(Self::Python);
        };
        let language = Self::named(end.to_str()?)?;
        if end != "h" {
            return Some(language);
        }
        let errors = |language| super::Tree::parse(language, bytes).map_or(usize::MAX, |tree| tree.errors().len());
        let as_c = errors(Self::C);
        Some(if as_c > 0 && errors(Self::Cpp) < as_c { Self::Cpp } else { Self::C })
    }

    /// The name that `--lang` takes.
    #[must_use]
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(language, ..)| *language == self).map_or("", |(_, name, _)| name)
    }

    /// Every name that `--lang` takes.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        NAMES.iter().map(|(_, name, _)| *name).collect()
    }

    /// What stands between two statements on one line.
    pub(crate) const fn separator(self) -> &'static str {
        match self {
            Self::Python | Self::Go => "; ",
            _ => " ",
        }
    }

    /// What begins and ends a comment.
    pub(crate) const fn comment(self) -> (&'static str, &'static str) {
        match self {
            Self::Python => ("# ", ""),
            _ => ("/* ", " */"),
        }
    }

    /// Whether sources are read by a compiler that macros of the file itself can confuse a grammar about.
    pub(crate) const fn has_preprocessor(self) -> bool {
        matches!(self, Self::C | Self::Cpp | Self::Cuda)
    }

    /// Code around a pattern, in the order tried: what stands before and after it.
    pub(super) const fn contexts(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Python | Self::JavaScript | Self::TypeScript | Self::Tsx => &[("", "")],
            Self::Rust => &[("fn f() { ", " }"), ("fn f() { ", "; }"), ("", "")],
            Self::C | Self::Cpp | Self::Cuda => &[("void f() { ", " }"), ("void f() { ", "; }"), ("", ""), ("", ";")],
            Self::Go => &[("package p\nfunc f() { ", " }"), ("package p\n", "")],
        }
    }

    /// Kinds of nodes whose children are statements.
    pub(super) fn is_list_of_statements(kind: &str) -> bool {
        ["module", "block", "program", "source_file", "translation_unit", "compound_statement", "statement_block", "statement_list"]
            .contains(&kind)
            || matches!(kind, "case_statement" | "switch_case" | "switch_default" | "expression_case" | "default_case" | "declaration_list")
            || matches!(kind, "preproc_if" | "preproc_ifdef" | "preproc_else" | "class_body" | "field_declaration_list")
    }
}

impl CoreLanguage for Language {
    fn pre_process_pattern<'q>(&self, query: &'q str) -> Cow<'q, str> {
        Cow::Borrowed(query)
    }

    fn expando_char(&self) -> char {
        match self {
            Self::JavaScript | Self::TypeScript | Self::Tsx => '$',
            // A letter that these grammars take in names, and nobody writes.
            Self::C | Self::Cpp | Self::Cuda => '\u{10000}',
            Self::Python | Self::Rust | Self::Go => 'µ',
        }
    }

    fn kind_to_id(&self, kind: &str) -> u16 {
        self.get_ts_language().id_for_node_kind(kind, true)
    }

    fn field_to_id(&self, field: &str) -> Option<u16> {
        self.get_ts_language().field_id_for_name(field).map(std::num::NonZero::get)
    }

    fn build_pattern(&self, builder: &PatternBuilder<'_>) -> Result<Pattern, PatternError> {
        builder.build(|source| StrDoc::try_new(source, *self))
    }
}

impl LanguageExt for Language {
    fn get_ts_language(&self) -> TSLanguage {
        match self {
            Self::Python => tree_sitter_python::LANGUAGE.into(),
            Self::Rust => tree_sitter_rust::LANGUAGE.into(),
            Self::C => tree_sitter_c::LANGUAGE.into(),
            Self::Cpp | Self::Cuda => tree_sitter_cuda::LANGUAGE.into(),
            Self::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
            Self::Go => tree_sitter_go::LANGUAGE.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Language;

    #[test]
    fn a_language_is_told_by_name_end_and_first_line() {
        let of = |name: &str, bytes: &[u8]| Language::of(Path::new(name), bytes);
        assert_eq!(
            (of("a.py", b""), of("a.cuh", b""), of("a.tsx", b"")),
            (Some(Language::Python), Some(Language::Cuda), Some(Language::Tsx))
        );
        assert_eq!(
            (of("tool", b"#!/usr/bin/env python3\n"), of("tool", b"#!/bin/sh\n"), of("a.toml", b"")),
            (Some(Language::Python), None, None)
        );
        assert_eq!(of("a.h", b"int f(int class);\n"), Some(Language::C));
        assert_eq!(of("a.h", b"template <class T> struct A { virtual ~A() = default; };\n"), Some(Language::Cpp));
        assert_eq!(
            (Language::named("C++"), Language::named("go"), Language::named("perl")),
            (Some(Language::Cpp), Some(Language::Go), None)
        );
        assert!(Language::names().iter().all(|name| Language::named(name).is_some_and(|language| language.name() == *name)));
    }
}
