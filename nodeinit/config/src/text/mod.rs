//! YAML as text and as a tree of values.

pub(crate) mod emit;
pub(crate) mod merge;
pub(crate) mod reader;
pub(crate) mod tree;
pub mod yaml;
