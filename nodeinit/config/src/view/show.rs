//! The merged view: every value with its origin. Secrets are masked.

use crate::{
    keys::CLUSTER,
    load::Loaded,
    problem::Origin,
    schema::Kind,
    secret::MASK,
    text::{
        emit,
        tree::{Value, YamlNode, below},
    },
};
use serde_json::{Map, Value as Json, json};

impl Loaded {
    /// Returns the merged view as YAML; a comment after each value names its origin. Loading it gives the same cluster, if it has no secrets.
    #[must_use]
    pub fn text(&self) -> String {
        let (tree, mut lines) = (self.shown(), Vec::new());
        emit::lines(&tree, 0, &mut lines);
        let wide = lines.iter().filter(|l| l.shows.is_some()).map(|l| l.text.chars().count());
        // A few long values must not push every comment to the right.
        let column = wide.filter(|width| *width <= 60).max().unwrap_or(0);
        let line = |line: emit::Line<'_>| match line.shows {
            Some(node) => format!("{:column$}  # {}\n", line.text, node.at.origin(&self.sources)),
            None => line.text + "\n",
        };
        lines.into_iter().map(line).collect()
    }

    /// Returns the merged view as YAML without comments.
    #[must_use]
    pub fn plain_text(&self) -> String {
        let (tree, mut lines) = (self.shown(), Vec::new());
        emit::lines(&tree, 0, &mut lines);
        lines.into_iter().map(|line| line.text + "\n").collect()
    }

    /// Returns the merged view as one JSON object: `config`, and `origins` by the path of each value.
    #[must_use]
    pub fn json(&self) -> Json {
        let mut origins = Map::new();
        self.origins(&self.tree, "", &mut origins);
        json!({ "config": self.shown().json(), "origins": origins })
    }

    /// Returns the value at a path of plain keys, such as `network.podCIDR`, which may contain secrets: do not print it. Null if there is none.
    #[must_use]
    pub fn value(&self, path: &str) -> Json {
        self.tree.get(path).map(YamlNode::json).unwrap_or_default()
    }

    /// Returns the path of each secret, and where it is written.
    #[must_use]
    pub fn secrets(&self) -> Vec<(String, Origin)> {
        let (mut tree, mut found) = (self.tree.clone(), Vec::new());
        each_secret(&mut tree, &Kind::Group(CLUSTER), "", &mut |path, secret| {
            found.push((path.to_owned(), secret.at.origin(&self.sources)));
        });
        found
    }

    fn shown(&self) -> YamlNode {
        let mut tree = self.tree.clone();
        mask(&mut tree, &Kind::Group(CLUSTER));
        tree
    }

    fn origins(&self, node: &YamlNode, path: &str, out: &mut Map<String, Json>) {
        for entry in node.entries() {
            self.origins(&entry.node, &below(path, &entry.key), out);
        }
        for (index, item) in node.items().iter().enumerate() {
            self.origins(item, &format!("{path}[{index}]"), out);
        }
        if node.entries().is_empty() && node.items().is_empty() {
            let origin = node.at.origin(&self.sources);
            out.insert(path.to_owned(), json!({ "file": origin.source, "line": origin.line, "column": origin.column }));
        }
    }
}

/// Masks the secrets in a value.
pub(super) fn mask(node: &mut YamlNode, kind: &Kind) {
    each_secret(node, kind, "", &mut |_, secret| secret.value = Value::Scalar { text: MASK.to_owned(), quoted: true });
}

/// Visits the secrets in a value at a path.
fn each_secret(node: &mut YamlNode, kind: &Kind, path: &str, visit: &mut dyn FnMut(&str, &mut YamlNode)) {
    if matches!((&node.value, kind), (Value::Scalar { .. }, Kind::Text(format)) if format.secret) {
        return visit(path, node);
    }
    match (&mut node.value, kind) {
        (Value::List(items), Kind::List(inner)) => {
            for (index, item) in items.iter_mut().enumerate() {
                each_secret(item, inner, &format!("{path}[{index}]"), visit);
            }
        }
        (Value::Map(entries), kind) => {
            for entry in entries {
                if let Some(field) = kind.fields().iter().find(|field| field.key == entry.key) {
                    each_secret(&mut entry.node, &field.kind, &below(path, &entry.key), visit);
                }
            }
        }
        _ => {}
    }
}
