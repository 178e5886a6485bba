//! Placeholders: `${name}` in the values of a YAML document.
//!
//! They are replaced after the YAML has been read, so a value can never change the document's structure.

use super::error::RenderError;
use nodeinit_config::yaml;
use serde_json::Value;
use std::collections::BTreeMap;

/// The values of placeholders, by name.
pub type Values = BTreeMap<&'static str, Value>;

/// Parses the documents of a YAML text; omits empty ones. `name` is the file's name in errors.
///
/// # Errors
/// [`RenderError::Yaml`] with line and column.
pub fn documents(name: &str, text: &str) -> Result<Vec<Value>, RenderError> {
    let all = yaml::documents(text).map_err(|source| RenderError::Yaml { manifest: name.to_owned(), source })?;
    Ok(all.into_iter().filter(|document| !document.is_null()).collect())
}

/// Replaces every placeholder in a document. A string that consists of one placeholder takes the type of its
/// value.
///
/// # Errors
/// If a placeholder is unknown or has no end.
pub fn fill(name: &str, document: Value, values: &Values) -> Result<Value, RenderError> {
    Ok(match document {
        Value::String(text) => fill_text(name, &text, values)?,
        Value::Array(items) => items.into_iter().map(|item| fill(name, item, values)).collect::<Result<_, _>>()?,
        Value::Object(fields) => fields
            .into_iter()
            .map(|(key, value)| Ok((key, fill(name, value, values)?)))
            .collect::<Result<_, RenderError>>()?,
        scalar => scalar,
    })
}

fn fill_text(manifest: &str, text: &str, values: &Values) -> Result<Value, RenderError> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, placeholder) = rest.split_at(at);
        if let Some(before) = before.strip_suffix('$') {
            out.push_str(before);
            out.push_str("${");
            rest = &placeholder[2..];
            continue;
        }
        out.push_str(before);
        let open = || RenderError::OpenPlaceholder { manifest: manifest.to_owned(), text: text.to_owned() };
        let (name, after) = placeholder[2..].split_once('}').ok_or_else(open)?;
        let value = values.get(name).ok_or_else(|| RenderError::UnknownPlaceholder {
            manifest: manifest.to_owned(),
            name: name.to_owned(),
            known: values.keys().copied().collect::<Vec<_>>().join(", "),
        })?;
        match value {
            whole if out.is_empty() && after.is_empty() => return Ok(whole.clone()),
            Value::String(part) => out.push_str(part),
            other => out.push_str(&other.to_string()),
        }
        rest = after;
    }
    out.push_str(rest);
    Ok(Value::String(out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn filled(document: Value) -> Result<Value, RenderError> {
        let values = Values::from([("port", json!(6443)), ("host", json!("m1")), ("none", json!(""))]);
        fill("test.yaml", document, &values)
    }

    #[test]
    fn placeholders_take_their_value_and_its_type() {
        let document =
            json!({"a": "${port}", "b": ["--x=${host}:${port}", "$(NODE)", 7], "c": "${none}", "${host}": true});
        let wanted = json!({"a": 6443, "b": ["--x=m1:6443", "$(NODE)", 7], "c": "", "${host}": true});
        assert_eq!(filled(document).unwrap(), wanted);
    }

    #[test]
    fn a_value_cannot_change_the_structure() {
        let values = Values::from([("evil", json!("x\n- injected: true"))]);
        let document = documents("t", "list:\n- ${evil}\n").unwrap().remove(0);
        assert_eq!(fill("t", document, &values).unwrap(), json!({"list": ["x\n- injected: true"]}));
    }

    #[test]
    fn two_dollars_are_a_literal() {
        assert_eq!(filled(json!("a $${host} ${host}")).unwrap(), json!("a ${host} m1"));
    }

    #[test]
    fn unknown_and_open_placeholders_are_named() {
        let unknown = filled(json!("x ${hsot}")).unwrap_err().to_string();
        assert_eq!(
            unknown,
            "test.yaml: unknown placeholder ${hsot}; known placeholders: host, none, port; write $${ for a literal ${"
        );
        let open = filled(json!("x ${host")).unwrap_err().to_string();
        assert_eq!(open, "test.yaml: no } ends the placeholder in \"x ${host\"; write $${ for a literal ${");
    }

    #[test]
    fn documents_are_split_and_empty_ones_dropped() {
        let read = documents("t", "# only a comment\n---\na: 1\n---\n---\nb: \"2\"\n").unwrap();
        assert_eq!(read, [json!({"a": 1}), json!({"b": "2"})]);
        let wrong = documents("t.yaml", "a: [1\n").unwrap_err().to_string();
        assert!(wrong.starts_with("t.yaml: not valid YAML"), "{wrong}");
    }
}
