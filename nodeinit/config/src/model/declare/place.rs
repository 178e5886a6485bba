//! A place in the configuration: the path of a key and what is written there.

use super::{Dict, Form};
use crate::{
    model::Document,
    problem::{Findings, Mark},
    text::tree::{Entry, Node, Value, below},
};
use serde_json::{Map, Value as Json};
use std::{collections::HashMap, marker::PhantomData};

/// The place of a value of form `F`. `keys!` gives it a function for each key of a map.
#[derive(Debug)]
pub(crate) struct Place<'t, F> {
    /// The path of keys, as messages write it.
    pub(crate) path: String,
    node: Option<&'t Node>,
    root: Option<&'t Node>,
    form: PhantomData<fn() -> F>,
}

impl<'t> Place<'t, Document> {
    /// The whole configuration.
    pub(crate) fn document(tree: &'t Node) -> Self {
        Self { path: String::new(), node: Some(tree), root: Some(tree), form: PhantomData }
    }
}

/// The places of the keys, without values.
pub(crate) fn keys() -> Place<'static, Document> {
    Place { path: String::new(), node: None, root: None, form: PhantomData }
}

impl<'t, F> Place<'t, F> {
    /// A tree that is not a whole `cluster.yaml`.
    pub(crate) fn of_tree(tree: &'t Node) -> Self {
        Self { path: String::new(), node: Some(tree), root: None, form: PhantomData }
    }

    /// The whole configuration that it belongs to.
    pub(crate) fn all(&self) -> Place<'t, Document> {
        Place { path: String::new(), node: self.root, root: self.root, form: PhantomData }
    }

    pub(crate) fn below<G>(&self, key: &str) -> Place<'t, G> {
        let node = self.entries().iter().find(|entry| entry.key == key).map(|entry| &entry.node);
        Place { path: below(&self.path, key), node, root: self.root, form: PhantomData }
    }

    pub(crate) fn written(&self) -> Option<&'t Node> {
        self.node
    }

    /// Where the value is written; the defaults, where it is not.
    pub(crate) fn at(&self) -> Mark {
        self.node.map_or(Mark::DEFAULT, |node| node.at)
    }

    /// Whether there is a value, good or bad, from a layer or by default. A map without entries is none.
    pub(crate) fn is_written(&self) -> bool {
        self.node.is_some_and(|node| !matches!(&node.value, Value::Map(entries) if entries.is_empty()))
    }

    /// The same place with another form of its value.
    pub(crate) fn cast<G>(&self) -> Place<'t, G> {
        Place { path: self.path.clone(), node: self.node, root: self.root, form: PhantomData }
    }

    /// Reports what is wrong with the value.
    pub(crate) fn report(&self, findings: &mut Findings, what: impl Into<String>, remedy: impl Into<String>) {
        findings.add(self.at(), &self.path, what, remedy);
    }

    /// The entries of a map.
    pub(crate) fn entries(&self) -> &'t [Entry] {
        self.node.map_or(&[], Node::entries)
    }
}

impl<F: Form> Place<'_, F> {
    /// The value that is written or a declared default, and its place. `None`: there is none, or it was reported as wrong.
    pub(crate) fn read(&self) -> Option<(F::Value, Mark)> {
        Some((F::read(self)?, self.node?.at))
    }

    /// The same without its place.
    pub(crate) fn value(&self) -> Option<F::Value> {
        F::read(self)
    }
}

impl<'t, F> Place<'t, Vec<F>> {
    /// The entries of a list.
    pub(crate) fn items(&self) -> Vec<Place<'t, F>> {
        let items = self.node.map_or(&[][..], Node::items).iter().enumerate();
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
    /// The value of one of the user's keys.
    pub(crate) fn value_of(&self, key: &str) -> Place<'t, V> {
        self.below(key)
    }
}

impl<'t> Place<'t, Map<String, Json>> {
    /// The value of one of the user's keys.
    pub(crate) fn value_of(&self, key: &str) -> Place<'t, Json> {
        self.below(key)
    }
}

/// Reports a value that another entry of a list has too.
pub(crate) fn refuse_twice<'t, F>(seen: &mut HashMap<&'t str, String>, place: &Place<'t, F>, errors: &mut Findings) {
    let Some(value) = place.node.and_then(Node::scalar) else { return };
    match seen.get(value) {
        Some(first) => place.report(errors, format!("{value} is already set in {first}"), "give each its own"),
        None => drop(seen.insert(value, place.path.clone())),
    }
}
