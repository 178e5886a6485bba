//! The differences of two configurations, with their origins.

use crate::{
    load::Loaded,
    problem::Origin,
    text::tree::{YamlNode, below},
};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// A value, and where it is set.
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    /// The value.
    pub value: Json,
    /// The file and the line, or `default`.
    pub origin: Origin,
}

/// A value that two configurations do not share.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Its path, such as `masters[0].address`.
    pub path: String,
    /// In the first configuration; `None` if it is not set there.
    pub from: Option<Set>,
    /// In the second one.
    pub to: Option<Set>,
}

impl Loaded {
    /// Returns what differs in another configuration, by path. Where a value is written does not matter.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<Difference> {
        let (mut from, mut to) = (self.values(), other.values());
        let mut paths: Vec<String> = from.keys().chain(to.keys()).cloned().collect();
        paths.sort();
        paths.dedup();
        let difference = |path: String| {
            let (from, to) = (from.remove(&path), to.remove(&path));
            let same = from.as_ref().map(|set| &set.value) == to.as_ref().map(|set| &set.value);
            (!same).then_some(Difference { path, from, to })
        };
        paths.into_iter().filter_map(difference).collect()
    }

    fn values(&self) -> BTreeMap<String, Set> {
        let mut all = BTreeMap::new();
        self.collect(&self.tree, "", &mut all);
        all
    }

    fn collect(&self, node: &YamlNode, path: &str, out: &mut BTreeMap<String, Set>) {
        for entry in node.entries() {
            self.collect(&entry.node, &below(path, &entry.key), out);
        }
        for (index, item) in node.items().iter().enumerate() {
            self.collect(item, &format!("{path}[{index}]"), out);
        }
        if node.entries().is_empty() && node.items().is_empty() {
            out.insert(path.to_owned(), Set { value: node.json(), origin: node.at.origin(&self.sources) });
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Layer, load};

    #[test]
    fn only_values_count_and_each_names_its_line() {
        let head = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\n";
        let loaded = |text: &str| load(&[Layer::file("a.yaml", format!("{head}{text}"))]).unwrap();
        let former = loaded("name: one\nnetwork: {dnsDomain: cluster.local}\n");
        assert!(former.differences(&loaded("name: one\n")).is_empty(), "a default is the same value");
        let changed = former.differences(&loaded("# a comment\nname: two\n"));
        let [name] = &changed[..] else { panic!("{changed:?}") };
        assert_eq!((name.path.as_str(), &name.to.as_ref().unwrap().value), ("name", &"two".into()));
        assert_eq!((name.from.as_ref().unwrap().origin.line, name.to.as_ref().unwrap().origin.line), (3, 4));
    }
}
