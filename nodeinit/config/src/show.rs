//! The merged view: every value with the place that set it.

use crate::{
    cluster::{ArtifactSource, Cluster},
    emit,
    keys::{API_VERSION, KIND},
    load::Loaded,
    node::{Entry, Node, Value, below},
    problem::Mark,
};
use serde_json::{Map, Value as Json, json};

impl Loaded {
    /// The merged view as YAML; a comment behind each value tells its origin. Loading it gives the same cluster.
    #[must_use]
    pub fn text(&self) -> String {
        let mut lines = Vec::new();
        emit::lines(&self.tree, 0, &mut lines);
        let wide = lines.iter().filter(|l| l.shows.is_some()).map(|l| l.text.chars().count());
        // A few long values must not push every comment to the right.
        let column = wide.filter(|width| *width <= 60).max().unwrap_or(0);
        let line = |line: emit::Line<'_>| match line.shows {
            Some(node) => format!("{:column$}  # {}\n", line.text, node.at.origin(&self.sources)),
            None => line.text + "\n",
        };
        lines.into_iter().map(line).collect()
    }

    /// The merged view as one JSON object: `config`, and `origins` by the path of each value.
    #[must_use]
    pub fn json(&self) -> Json {
        let mut origins = Map::new();
        self.origins(&self.tree, "", &mut origins);
        json!({ "config": self.tree.json(), "origins": origins })
    }

    fn origins(&self, node: &Node, path: &str, out: &mut Map<String, Json>) {
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

/// Adds to the tree what stands there only after all else is known: the header and the default artifacts.
pub(crate) fn complete(tree: &mut Node, cluster: &Cluster) {
    let text = |text: &str| Node { at: Mark::DEFAULT, value: Value::Scalar { text: text.to_owned(), quoted: false } };
    let pairs = |pairs: Vec<[(&str, &str); 2]>| {
        let entry = |(key, value): (&str, &str)| Entry { key: key.to_owned(), at: Mark::DEFAULT, node: text(value) };
        let item = |pair: [(&str, &str); 2]| Node { at: Mark::DEFAULT, value: Value::Map(pair.map(entry).into()) };
        Node { at: Mark::DEFAULT, value: Value::List(pairs.into_iter().map(item).collect()) }
    };
    let artifacts = &cluster.artifacts;
    if artifacts.source != ArtifactSource::Image && tree.get("artifacts.binaries").is_none() {
        let binaries =
            artifacts.binaries.iter().filter_map(|b| Some([("path", b.path.as_str()), ("to", b.to.to_str()?)]));
        tree.set("artifacts.binaries", pairs(binaries.collect()));
    }
    if artifacts.source != ArtifactSource::Image && tree.get("artifacts.images").is_none() {
        let images = artifacts.images.iter().map(|i| [("path", i.path.as_str()), ("image", i.image.as_str())]);
        tree.set("artifacts.images", pairs(images.collect()));
    }
    for (position, (key, value)) in [("apiVersion", API_VERSION), ("kind", KIND)].into_iter().enumerate() {
        let Value::Map(entries) = &mut tree.value else { return };
        let entry = match entries.iter().position(|e| e.key == key) {
            Some(found) => entries.remove(found),
            None => Entry { key: key.to_owned(), at: Mark::DEFAULT, node: text(value) },
        };
        entries.insert(position, entry);
    }
}
