//! Places in a source by its syntax: patterns of code with holes, and what a change does to the syntax tree.
//!
//! A pattern is code of the language. `$NAME` stands for one node, `$$$` or `...` for any number of them, `$$$NAME` keeps them. Grammars are
//! tree-sitter's, matching is ast-grep's; neither is seen outside this folder.

mod control;
mod find;
mod language;
mod tree;

pub(crate) use control::Body;
pub use find::PatternError;
pub(crate) use find::{Place, places, statement};
pub use language::Language;
pub(crate) use tree::Tree;
