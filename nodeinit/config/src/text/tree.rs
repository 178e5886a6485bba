//! The tree of values in a layer, each with its position.

use crate::problem::Mark;
use serde_json::{Map, Value as Json};

/// A value and its position.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct YamlNode {
    pub(crate) at: Mark,
    pub(crate) value: Value,
}

/// A value in a layer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// A value that was reported as wrong; treated as unknown, so that it causes no further problems.
    Bad,
    /// A single value as written. `quoted`: in quotes, so it is always a string.
    Scalar {
        text: String,
        quoted: bool,
    },
    List(Vec<YamlNode>),
    Map(Vec<Entry>),
}

/// A key of a map with its value. Keys are unique: the reader refuses duplicates.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) at: Mark,
    pub(crate) node: YamlNode,
}

impl YamlNode {
    pub(crate) fn map(at: Mark) -> Self {
        Self { at, value: Value::Map(Vec::new()) }
    }

    pub(crate) fn text(at: Mark, text: impl Into<String>) -> Self {
        Self { at, value: Value::Scalar { text: text.into(), quoted: false } }
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    pub(crate) fn items(&self) -> &[YamlNode] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    pub(crate) fn scalar(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        self.json() == Json::Null && self.value != Value::Bad
    }

    /// Returns the value at a path of plain keys, such as `network.podCIDR`.
    pub(crate) fn get(&self, path: &str) -> Option<&Self> {
        path.split('.').try_fold(self, Self::of_key)
    }

    /// Whether this value, or one in it, is written there.
    pub(crate) fn contains(&self, at: Mark) -> bool {
        self.at == at
            || self.entries().iter().any(|entry| entry.at == at || entry.node.contains(at))
            || self.items().iter().any(|item| item.contains(at))
    }

    /// Returns the value of a key of this map, which may contain dots.
    pub(crate) fn of_key(&self, key: &str) -> Option<&Self> {
        self.entries().iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    /// Returns the value of a key of this map.
    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        let Value::Map(entries) = &mut self.value else { return None };
        entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.node)
    }

    /// Sets the value at a path of plain keys, and creates the maps on the path.
    pub(crate) fn set(&mut self, path: &str, node: Self) {
        let (key, rest) = path.split_once('.').map_or((path, None), |(key, rest)| (key, Some(rest)));
        if !matches!(self.value, Value::Map(_)) {
            self.value = Value::Map(Vec::new());
        }
        let Value::Map(entries) = &mut self.value else { return };
        let position = entries.iter().position(|e| e.key == key).unwrap_or_else(|| {
            entries.push(Entry { key: key.to_owned(), at: node.at, node: Self::map(node.at) });
            entries.len() - 1
        });
        match rest {
            Some(rest) => entries[position].node.set(rest, node),
            None => entries[position].node = node,
        }
    }

    /// Removes the value at a path of plain keys, if it exists.
    pub(crate) fn remove(&mut self, path: &str) {
        let Value::Map(entries) = &mut self.value else { return };
        match path.split_once('.') {
            Some((key, rest)) => entries.iter_mut().filter(|e| e.key == key).for_each(|e| e.node.remove(rest)),
            None => entries.retain(|entry| entry.key != path),
        }
    }

    /// Returns the value as JSON, according to the core schema of YAML 1.2.
    pub(crate) fn json(&self) -> Json {
        match &self.value {
            Value::Bad => Json::Null,
            Value::Scalar { text, quoted: true } => Json::from(text.as_str()),
            Value::Scalar { text, quoted: false } => resolve(text),
            Value::List(items) => items.iter().map(Self::json).collect(),
            Value::Map(_) => Json::Object(self.json_map()),
        }
    }

    /// Returns the entries as JSON; empty for anything but a map.
    pub(crate) fn json_map(&self) -> Map<String, Json> {
        self.entries().iter().map(|e| (e.key.clone(), e.node.json())).collect()
    }
}

/// Resolves an unquoted text. Source: YAML 1.2.2, 10.3.2 "Tag resolution" of the core schema.
pub(crate) fn resolve(text: &str) -> Json {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Json::Null,
        "true" | "True" | "TRUE" => return Json::Bool(true),
        "false" | "False" | "FALSE" => return Json::Bool(false),
        _ => {}
    }
    let number = if let Some(octal) = text.strip_prefix("0o") {
        u64::from_str_radix(octal, 8).ok().map(Json::from)
    } else if let Some(hex) = text.strip_prefix("0x") {
        u64::from_str_radix(hex, 16).ok().map(Json::from)
    } else if text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')) {
        let integer = text.parse::<i64>().map(Json::from).or_else(|_| text.parse::<u64>().map(Json::from));
        integer.ok().or_else(|| text.parse::<f64>().ok().filter(|f| f.is_finite()).map(Json::from))
    } else {
        None
    };
    number.unwrap_or_else(|| Json::from(text))
}

/// Formats `path` and a key below it for messages: `network.podCIDR`, `os.sysctls["vm.swappiness"]`.
pub(crate) fn below(path: &str, key: &str) -> String {
    let plain = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    match (path.is_empty(), plain) {
        (true, true) => key.to_owned(),
        (false, true) => format!("{path}.{key}"),
        _ => format!("{path}[{key:?}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn unquoted_text_is_resolved_with_the_core_schema() {
        for (text, meaning) in [
            ("~", Json::Null),
            ("True", json!(true)),
            ("off", json!("off")),
            ("12", json!(12)),
            ("-1", json!(-1)),
            ("0x10", json!(16)),
            ("1.5", json!(1.5)),
            ("1.2.3", json!("1.2.3")),
            ("10.0.0.0/8", json!("10.0.0.0/8")),
            ("1e999", json!("1e999")),
            ("18446744073709551615", json!(u64::MAX)),
        ] {
            assert_eq!(resolve(text), meaning, "{text}");
        }
    }

    #[test]
    fn paths_are_written_as_a_reader_expects() {
        assert_eq!(below("", "network"), "network");
        assert_eq!(below("network", "podCIDR"), "network.podCIDR");
        assert_eq!(below("os.sysctls", "vm.swappiness"), "os.sysctls[\"vm.swappiness\"]");
    }
}
