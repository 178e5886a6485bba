//! YAML that others wrote: manifests, kubeconfigs, secrets bundles. Read as Kubernetes' own tools read it.
//!
//! `cluster.yaml` has a stricter reader of its own, which knows where every value was written.

use crate::text::tree::resolve;
use granit_parser::{Event, Parser, ScalarStyle, Tag, options};
use serde_json::{Map, Value};
use std::{borrow::Cow, collections::HashMap};

/// Deeper than any manifest; keeps a hostile file from exhausting the stack.
const DEPTH: usize = 100;

/// How many values aliases may add to a text, lest a short one fills the memory.
const ALIASED: usize = 100_000;

/// Where and why a text cannot be read. May quote a key, never a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {what}")]
pub struct YamlError {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// What is wrong there.
    pub what: String,
}

/// The text's documents; an empty one is `null`.
///
/// # Errors
/// Where the text is not YAML, a map has a key twice, or a tag or a key cannot be shown in JSON.
pub fn documents(text: &str) -> Result<Vec<Value>, YamlError> {
    let mut limits = options! { flow_nesting_limit: DEPTH, block_nesting_limit: DEPTH };
    limits.set_emit_comments(false);
    let mut reader = Reader::default();
    for next in Parser::new_from_str_with_options(text, limits) {
        let (at, read) = match next {
            Ok((event, span)) => (span.start, reader.event(event)),
            Err(err) => (*err.marker(), Err(err.info().to_owned())),
        };
        read.map_err(|what| YamlError { line: at.line(), column: at.col() + 1, what })?;
    }
    Ok(reader.documents)
}

/// The text's only document; `null` where it has none.
///
/// # Errors
/// As [`documents`], and where there is a second one.
pub fn document(text: &str) -> Result<Value, YamlError> {
    let mut all = documents(text)?;
    match all.len() {
        0 | 1 => Ok(all.pop().unwrap_or_default()),
        n => Err(YamlError { line: 1, column: 1, what: format!("one document was expected, and {n} are there") }),
    }
}

/// A collection that is still being read, and for a map the key that waits for its value.
struct Open {
    value: Value,
    key: Option<String>,
    anchor: usize,
    /// What `<<` brings in, behind the map's own keys.
    merged: Vec<Map<String, Value>>,
}

#[derive(Default)]
struct Reader {
    open: Vec<Open>,
    documents: Vec<Value>,
    anchored: HashMap<usize, Value>,
    aliased: usize,
}

impl Reader {
    fn event(&mut self, event: Event<'_>) -> Result<(), String> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain;
                match self.open.last_mut() {
                    Some(open) if open.key.is_none() && open.value.is_object() => open.begin(&text, plain),
                    _ => self.place(scalar(&text, plain, tag)?, anchor),
                }
            }
            Event::SequenceStart(_, anchor, tag) => self.begin(Value::Array(Vec::new()), anchor, tag),
            Event::MappingStart(_, anchor, tag) => self.begin(Value::Object(Map::new()), anchor, tag),
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(open) => {
                    let anchor = open.anchor;
                    self.place(open.end(), anchor)
                }
                None => Ok(()),
            },
            Event::Alias(anchor) => {
                let value = self.anchored.get(&anchor).ok_or("an alias is inside its own anchor")?;
                self.aliased += count(value);
                if self.aliased > ALIASED {
                    return Err(format!("aliases stand for more than {ALIASED} values"));
                }
                let value = value.clone();
                self.place(value, 0)
            }
            _ => Ok(()),
        }
    }

    fn begin(&mut self, value: Value, anchor: usize, tag: Option<Cow<'_, Tag>>) -> Result<(), String> {
        known(tag.as_deref())?;
        self.open.push(Open { value, key: None, anchor, merged: Vec::new() });
        Ok(())
    }

    /// A value is complete: it goes into the innermost open collection, or is the document itself.
    fn place(&mut self, value: Value, anchor: usize) -> Result<(), String> {
        if anchor != 0 {
            self.anchored.insert(anchor, value.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.documents.push(value);
            return Ok(());
        };
        match (&mut open.value, open.key.take()) {
            (Value::Array(items), _) => items.push(value),
            (Value::Object(_), None) => return Err("a key must be a text".into()),
            (Value::Object(_), Some(key)) if key == "<<" => open.merged.extend(maps(value)?),
            (Value::Object(fields), Some(key)) => drop(fields.insert(key, value)),
            _ => {}
        }
        Ok(())
    }
}

impl Open {
    fn begin(&mut self, key: &str, plain: bool) -> Result<(), String> {
        // In quotes it is a key like any other, but no manifest has one of this name.
        if key == "<<" && !plain {
            return Err("the key \"<<\" is not supported".into());
        }
        if self.value.get(key).is_some() {
            return Err(format!("the key {key:?} is there twice"));
        }
        self.key = Some(key.to_owned());
        Ok(())
    }

    fn end(mut self) -> Value {
        if let Value::Object(fields) = &mut self.value {
            for (key, value) in self.merged.into_iter().flatten() {
                fields.entry(key).or_insert(value);
            }
        }
        self.value
    }
}

/// The maps that `<<` names: one, or a list of them.
fn maps(value: Value) -> Result<Vec<Map<String, Value>>, String> {
    let list = if let Value::Array(items) = value { items } else { vec![value] };
    let map = |value| if let Value::Object(map) = value { Ok(map) } else { Err("`<<` needs a map".to_owned()) };
    list.into_iter().map(map).collect()
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum::<usize>(),
        _ => 0,
    }
}

fn known(tag: Option<&Tag>) -> Result<Option<&str>, String> {
    tag.map(|tag| tag.core_suffix().ok_or_else(|| "only YAML's own tags, such as !!str, are supported".to_owned()))
        .transpose()
}

fn scalar(text: &str, plain: bool, tag: Option<Cow<'_, Tag>>) -> Result<Value, String> {
    Ok(match known(tag.as_deref())? {
        None if plain => resolve_old(text),
        None | Some("str") => text.into(),
        Some(_) => resolve(text),
    })
}

/// What an unquoted text means to Kubernetes, which still knows some words and octal numbers of YAML 1.1.
/// Source: `sigs.k8s.io/yaml/goyaml.v2`, `resolve.go`.
fn resolve_old(text: &str) -> Value {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => return true.into(),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => return false.into(),
        _ => {}
    }
    match text.strip_prefix('0').map(|digits| u64::from_str_radix(digits, 8)) {
        Some(Ok(octal)) => octal.into(),
        _ => resolve(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn error(text: &str) -> String {
        documents(text).unwrap_err().to_string()
    }

    #[test]
    fn documents_are_read_as_kubernetes_does() {
        let text = "# c\n---\na: [1, 'x', \"y\", on, 0644, 0, 08, -1.5, ~, 10m]\nb: |\n  two\n  lines\n1: {}\n---\n---\n- !!str 5\n";
        let wanted = json!({
            "a": [1, "x", "y", true, 0o644, 0, 8, -1.5, null, "10m"], "b": "two\nlines\n", "1": {},
        });
        assert_eq!(documents(text).unwrap(), [wanted, Value::Null, json!(["5"])]);
        assert_eq!(documents("").unwrap(), [Value::Null; 0]);
    }

    #[test]
    fn aliases_and_merges_stand_for_what_they_name() {
        let text = "base: &b {x: 1, y: 2}\nlist: &l [a]\nmore: {<<: *b, y: 3}\nboth: {<<: [*b, {z: 4}]}\nagain: *l\n";
        let read = document(text).unwrap();
        assert_eq!(read["more"], json!({"x": 1, "y": 3}));
        assert_eq!(read["both"], json!({"x": 1, "y": 2, "z": 4}));
        assert_eq!(read["again"], json!(["a"]));
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_place() {
        assert_eq!(error("a: 1\nb: 2\na: 3\n"), "line 3, column 1: the key \"a\" is there twice");
        assert_eq!(error("a: !own 1\n"), "line 1, column 9: only YAML's own tags, such as !!str, are supported");
        assert!(error("? [a]\n: 1\n").ends_with("a key must be a text"));
        assert!(error("a: &a [*a]\n").ends_with("an alias is inside its own anchor"));
        assert!(error("a: *b\n").starts_with("line 1, column"));
        assert!(error("a: {<<: 1}\n").ends_with("`<<` needs a map"));
        assert!(error("a: [1\n").starts_with("line "));
        assert!(document("a: 1\n---\nb: 1\n").unwrap_err().what.contains("2 are there"));
    }

    #[test]
    fn hostile_texts_end_soon() {
        assert!(documents(&"[".repeat(100_000)).is_err());
        let bomb = (1..9).fold("a0: &a0 [x, x]\n".to_owned(), |text, n| {
            text + &format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 10].join(", "))
        });
        assert!(error(&bomb).ends_with("aliases stand for more than 100000 values"));
    }
}
