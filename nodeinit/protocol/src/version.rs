//! What `version` prints: the version of a program, and those of Kubernetes that it supports.

use nodeinit_config::releases;
use serde_json::{Value, json};

/// For people.
#[must_use]
pub fn text(program: &str, version: &str) -> String {
    let mut text = format!("{program} {version}\n\nKubernetes  tested with\n");
    releases::embedded().iter().for_each(|release| text += &format!("{:10}  {}\n", release.name(), release.tested));
    text
}

/// For programs.
#[must_use]
pub fn object(version: &str) -> Value {
    let embedded = releases::embedded();
    let supported =
        embedded.iter().map(|release| json!({"release": release.name(), "tested": release.tested.to_string()}));
    json!({"version": version, "kubernetes": supported.collect::<Vec<_>>(), "default": releases::DEFAULT})
}
