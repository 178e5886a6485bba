//! The steps that prepare the operating system: a file each, and a line in the list that all roles share.

pub mod metadata;
pub mod prepare;

use crate::engine::step::Step;

/// The steps, in the order in which they are shown. They start after preflight, and the kubelet starts after them.
#[must_use]
pub fn steps() -> Vec<Box<dyn Step>> {
    vec![Box::new(prepare::OsPrepare), Box::new(metadata::MetadataRule)]
}
