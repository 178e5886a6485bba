//! A map of secrets, read key by key: errors name the path of a key and never its value, which errors of serde quote.

use crate::BundleError;
use serde_json::{Map, Value};

/// A map whose keys are taken one after the other; the keys that are left at the end are unknown.
pub(crate) struct Part {
    path: String,
    fields: Map<String, Value>,
}

impl Part {
    /// Creates the map of the complete bundle.
    pub(crate) fn root(value: Value) -> Result<Self, BundleError> {
        Self::new(String::new(), value)
    }

    fn new(path: String, value: Value) -> Result<Self, BundleError> {
        match value {
            Value::Object(fields) => Ok(Self { path, fields }),
            _ => Err(BundleError::Missing(if path.is_empty() { "everything".into() } else { path })),
        }
    }

    fn below(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Takes the map under `key`.
    pub(crate) fn part(&mut self, key: &str) -> Result<Self, BundleError> {
        Self::new(self.below(key), self.fields.remove(key).unwrap_or_default())
    }

    /// Takes the map under `key`, if there is one.
    pub(crate) fn optional_part(&mut self, key: &str) -> Result<Option<Self>, BundleError> {
        self.fields.contains_key(key).then(|| self.part(key)).transpose()
    }

    /// Takes the text under `key`.
    pub(crate) fn text(&mut self, key: &str) -> Result<String, BundleError> {
        match self.fields.remove(key) {
            Some(Value::String(text)) => Ok(text),
            _ => Err(BundleError::Missing(self.below(key))),
        }
    }

    /// Takes the text under `key`, if there is one.
    pub(crate) fn optional_text(&mut self, key: &str) -> Result<Option<String>, BundleError> {
        self.fields.contains_key(key).then(|| self.text(key)).transpose()
    }

    /// Takes all keys with their texts.
    pub(crate) fn texts(mut self) -> Result<Vec<(String, String)>, BundleError> {
        let keys: Vec<String> = self.fields.keys().cloned().collect();
        keys.into_iter().map(|key| self.text(&key).map(|text| (key, text))).collect()
    }

    /// Takes the list under `key`; empty if there is none.
    pub(crate) fn list(&mut self, key: &str) -> Result<Vec<Value>, BundleError> {
        match self.fields.remove(key) {
            Some(Value::Array(items)) => Ok(items),
            None => Ok(Vec::new()),
            Some(_) => Err(BundleError::Missing(self.below(key))),
        }
    }

    /// Takes the keys that are left.
    pub(crate) fn rest(self) -> Map<String, Value> {
        self.fields
    }

    /// Refuses unknown keys.
    pub(crate) fn end(self) -> Result<(), BundleError> {
        match self.fields.keys().next() {
            Some(key) => Err(BundleError::Unknown(self.below(key))),
            None => Ok(()),
        }
    }
}
