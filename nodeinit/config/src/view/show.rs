//! The merged view: every value with its origin.

use crate::{
    load::Loaded,
    text::{
        emit,
        tree::{YamlNode, below},
    },
};
use serde_json::{Map, Value as Json, json};

impl Loaded {
    /// Returns the merged view as YAML; a comment after each value names its origin. Loading it gives the same cluster.
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

    /// Returns the merged view as YAML without comments.
    #[must_use]
    pub fn plain_text(&self) -> String {
        let mut lines = Vec::new();
        emit::lines(&self.tree, 0, &mut lines);
        lines.into_iter().map(|line| line.text + "\n").collect()
    }

    /// Returns the merged view as one JSON object: `config`, and `origins` by the path of each value.
    #[must_use]
    pub fn json(&self) -> Json {
        let mut origins = Map::new();
        self.origins(&self.tree, "", &mut origins);
        json!({ "config": self.tree.json(), "origins": origins })
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
