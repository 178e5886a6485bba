//! A place in the configuration: the path of a key, and its value.

use super::{Dict, Form};
use crate::{
    model::Document,
    problem::{Findings, Mark},
    text::tree::{Entry, Value, YamlNode, below},
};
use serde_json::{Map, Value as Json};
use std::{collections::HashMap, marker::PhantomData};

/// The place of a value of form `F`. `keys!` adds a function for each key of a map.
#[derive(Debug)]
pub(crate) struct Place<'t, F> {
    /// The path of keys, as in messages.
    pub(crate) path: String,
    node: Option<&'t YamlNode>,
    root: Option<&'t YamlNode>,
    form: PhantomData<fn() -> F>,
}

impl<'t> Place<'t, Document> {
    /// Returns the place of the complete configuration.
    pub(crate) fn document(tree: &'t YamlNode) -> Self {
        Self { path: String::new(), node: Some(tree), root: Some(tree), form: PhantomData }
    }
}

/// Returns the places of the keys, without values.
pub(crate) fn keys() -> Place<'static, Document> {
    Place { path: String::new(), node: None, root: None, form: PhantomData }
}

impl<'t, F> Place<'t, F> {
    /// Returns the place of a tree that is not a complete `cluster.yaml`.
    pub(crate) fn of_tree(tree: &'t YamlNode) -> Self {
        Self { path: String::new(), node: Some(tree), root: None, form: PhantomData }
    }

    /// Returns the configuration that it belongs to.
    pub(crate) fn all(&self) -> Place<'t, Document> {
        Place { path: String::new(), node: self.root, root: self.root, form: PhantomData }
    }

    pub(crate) fn below<G>(&self, key: &str) -> Place<'t, G> {
        let node = self.node.and_then(|node| node.of_key(key));
        Place { path: below(&self.path, key), node, root: self.root, form: PhantomData }
    }

    pub(crate) fn written(&self) -> Option<&'t YamlNode> {
        self.node
    }

    /// Returns where the value is written; the defaults if it is not.
    pub(crate) fn at(&self) -> Mark {
        self.node.map_or(Mark::DEFAULT, |node| node.at)
    }

    /// Whether there is a value, valid or not, from a layer or by default. An empty map does not count.
    pub(crate) fn is_written(&self) -> bool {
        self.node.is_some_and(|node| !matches!(&node.value, Value::Map(entries) if entries.is_empty()))
    }

    /// Returns the same place with another form of its value.
    pub(crate) fn cast<G>(&self) -> Place<'t, G> {
        Place { path: self.path.clone(), node: self.node, root: self.root, form: PhantomData }
    }

    /// Reports a problem with the value.
    pub(crate) fn report(&self, findings: &mut Findings, what: impl Into<String>, remedy: impl Into<String>) {
        findings.add(self.at(), &self.path, what, remedy);
    }

    /// Returns the entries of a map.
    pub(crate) fn entries(&self) -> &'t [Entry] {
        self.node.map_or(&[], YamlNode::entries)
    }
}

impl<F: Form> Place<'_, F> {
    /// Returns the written value or the declared default, and its place. `None` if there is none, or if it was reported as wrong.
    pub(crate) fn read(&self) -> Option<(F::Value, Mark)> {
        Some((F::read(self)?, self.node?.at))
    }

    /// Returns the same without its place.
    pub(crate) fn value(&self) -> Option<F::Value> {
        F::read(self)
    }
}

impl<'t, F> Place<'t, Vec<F>> {
    /// Returns the entries of a list.
    pub(crate) fn items(&self) -> Vec<Place<'t, F>> {
        let items = self.node.map_or(&[][..], YamlNode::items).iter().enumerate();
        let place = |(index, node)| Place {
            path: format!("{}[{index}]", self.path),
            node: Some(node),
            root: self.root,
            form: PhantomData,
        };
        items.map(place).collect()
    }
}

impl<'t, K, V> Place<'t, Dict<K, V>> {
    /// Returns the value of a key that the user chose.
    pub(crate) fn value_of(&self, key: &str) -> Place<'t, V> {
        self.below(key)
    }
}

impl<'t> Place<'t, Map<String, Json>> {
    /// Returns the value of a key that the user chose.
    pub(crate) fn value_of(&self, key: &str) -> Place<'t, Json> {
        self.below(key)
    }
}

/// Reports a value that another entry of a list also has.
pub(crate) fn refuse_twice<'t, F>(seen: &mut HashMap<&'t str, String>, place: &Place<'t, F>, errors: &mut Findings) {
    let Some(value) = place.node.and_then(YamlNode::scalar) else { return };
    match seen.get(value) {
        Some(first) => place.report(errors, format!("{value} is already set in {first}"), "use different values"),
        None => drop(seen.insert(value, place.path.clone())),
    }
}
