//! Reads other YAML: manifests, kubeconfigs, secrets bundles. Accepts the same syntax as Kubernetes' tools.

use super::{
    reader::{self, Dialect},
    tree::{Value as Written, YamlNode, resolve},
};
use crate::problem::Findings;
use serde_json::Value;

/// Why a text cannot be read, with the position. May quote a key, never a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {what}")]
pub struct YamlError {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// The problem.
    pub what: String,
}

/// Reads the documents of a text; an empty one is `null`.
///
/// # Errors
/// If the text is not YAML, if a map has a duplicate key, or if a tag or a key cannot be represented in JSON.
pub fn documents(text: &str) -> Result<Vec<Value>, YamlError> {
    let mut findings = Findings::default();
    match reader::documents(0, text, Dialect::Kubernetes, &mut findings) {
        Some(documents) => Ok(documents.iter().map(json).collect()),
        None => Err(findings.first().map_or(YamlError { line: 1, column: 1, what: String::new() }, |(at, flaw)| {
            YamlError { line: at.line, column: at.column, what: flaw.what.clone() }
        })),
    }
}

/// Reads the only document of a text; `null` if it has none.
///
/// # Errors
/// As [`documents`], and if there is a second document.
pub fn document(text: &str) -> Result<Value, YamlError> {
    let mut all = documents(text)?;
    match all.len() {
        0 | 1 => Ok(all.pop().unwrap_or_default()),
        n => Err(YamlError { line: 1, column: 1, what: format!("expected one document, found {n}") }),
    }
}

fn json(node: &YamlNode) -> Value {
    match &node.value {
        Written::Bad => Value::Null,
        Written::Scalar { text, quoted: true } => text.as_str().into(),
        Written::Scalar { text, quoted: false } => resolve_old(text),
        Written::List(items) => items.iter().map(json).collect(),
        Written::Map(entries) => entries.iter().map(|entry| (entry.key.clone(), json(&entry.node))).collect(),
    }
}

/// Resolves an unquoted text as Kubernetes does, which still supports some words and octal numbers of YAML 1.1.
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
    fn aliases_and_merges_are_expanded() {
        let text = "base: &b {x: 1, y: 2}\nlist: &l [a]\nmore: {<<: *b, y: 3}\nboth: {<<: [*b, {z: 4}]}\nagain: *l\n";
        let read = document(text).unwrap();
        assert_eq!(read["more"], json!({"x": 1, "y": 3}));
        assert_eq!(read["both"], json!({"x": 1, "y": 2, "z": 4}));
        assert_eq!(read["again"], json!(["a"]));
    }

    #[test]
    fn errors_have_a_position() {
        assert_eq!(error("a: 1\nb: 2\na: 3\n"), "line 3, column 1: duplicate key \"a\"");
        assert_eq!(error("a: !own 1\n"), "line 1, column 9: only standard tags, such as !!str, are supported");
        assert!(error("? [a]\n: 1\n").ends_with("a key must be a string"));
        assert!(error("a: &a b\n*a : 1\n").ends_with("a key must be a string"));
        assert!(error("a: &a [*a]\n").ends_with("an alias is inside its own anchor"));
        assert!(error("a: *b\n").starts_with("line 1, column"));
        assert!(error("a: {<<: 1}\n").ends_with("`<<` needs a map"));
        assert!(error("a: [1\n").starts_with("line "));
        assert!(document("a: 1\n---\nb: 1\n").unwrap_err().what.contains("found 2"));
    }

    #[test]
    fn hostile_texts_are_refused_quickly() {
        assert!(documents(&"[".repeat(100_000)).is_err());
        let bomb = (1..9).fold("a0: &a0 [x, x]\n".to_owned(), |text, n| {
            text + &format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 10].join(", "))
        });
        assert!(error(&bomb).ends_with("aliases expand to more than 100000 values"));
    }
}
