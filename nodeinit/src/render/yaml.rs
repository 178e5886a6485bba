//! Writes values as YAML in the form of Kubernetes' own tools: keys sorted, lists not indented.

use super::error::RenderError;
use serde_json::{Map, Value};

/// Returns the YAML text of `value`; `what` is its name in errors.
///
/// # Errors
/// [`RenderError::Emit`] if the value cannot be written.
pub fn text(what: &str, value: &Value) -> Result<String, RenderError> {
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    let mut yaml = serde_saphyr::to_string_with_options(value, options)
        .map_err(|source| RenderError::Emit { what: what.to_owned(), source })?;
    if !yaml.ends_with('\n') {
        yaml.push('\n');
    }
    Ok(yaml)
}

/// Merges `over` into `base`: objects field by field, `null` removes a field, everything else replaces (JSON merge
/// patch, RFC 7396).
pub fn merge(base: &mut Map<String, Value>, over: &Map<String, Value>) {
    for (key, value) in over {
        match (base.get_mut(key), value) {
            (_, Value::Null) => {
                base.remove(key);
            }
            (Some(Value::Object(below)), Value::Object(above)) => merge(below, above),
            (_, value) => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn output_looks_like_that_of_kubernetes_tools() {
        let value = json!({
            "b": [{"name": "x", "list": ["--a=b", "true", "1", "0x1f", "null", "yes", "a: b", "*,x", "",
                "y", "Off", "0644", "08", "0o7", "1_000", ".5", "1e3", "+1", "~", "=", "<<", "a\u{1}\n\tb", " x ", "# x"]}],
            "a": {"empty": {}, "none": [], "yes": true, "port": 6443},
            "long": "x".repeat(200) + " " + &"y".repeat(100),
        });
        let yaml = text("test", &value).unwrap();
        assert_eq!(documents(&yaml), value);
        assert!(yaml.starts_with("a:\n  empty: {}\n  none: []\n  port: 6443\n"), "{yaml}");
        assert!(yaml.contains("\nb:\n- list:\n  - --a=b\n  - \"true\"\n"), "{yaml}");
    }

    fn documents(yaml: &str) -> Value {
        crate::render::template::documents("test", yaml).unwrap().remove(0)
    }

    #[test]
    fn objects_are_merged_deeply_and_null_removes() {
        let mut base = json!({"a": {"b": 1, "c": 2}, "list": [1, 2], "gone": 1});
        let over = json!({"a": {"c": 3, "d": 4}, "list": [9], "gone": null, "never": null});
        merge(base.as_object_mut().unwrap(), over.as_object().unwrap());
        assert_eq!(base, json!({"a": {"b": 1, "c": 3, "d": 4}, "list": [9]}));
    }
}
