//! The JSON Schema of the configuration, generated from the declared keys.

use crate::{
    keys::CLUSTER,
    model::format::Format,
    schema::{Fallback, Field, Kind},
    text::tree::resolve,
};
use serde_json::{Map, Value, json};

/// Returns the JSON Schema, draft 2020-12, for editors and for checks outside `nodeinit`. It lacks checks of `config validate` that a
/// schema cannot express, such as overlapping ranges.
#[must_use]
pub fn json_schema() -> Value {
    let mut schema = group(CLUSTER, false);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["$id"] = json!(format!("https://{}/cluster.schema.json", crate::keys::API_VERSION));
    schema["title"] = json!("A cluster of nodeinit");
    schema
}

fn group(fields: &[Field], complete: bool) -> Value {
    let properties: Map<String, Value> = fields.iter().map(|f| (f.key.to_owned(), property(f))).collect();
    let required: Vec<&str> = fields.iter().filter(|f| f.default == Fallback::Required).map(|f| f.key).collect();
    let mut schema = json!({ "type": "object", "additionalProperties": false, "properties": properties });
    // The header may be in another layer; the keys of a list entry must be in the same layer.
    if complete && !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn property(field: &Field) -> Value {
    let mut schema = match &field.kind {
        Kind::Over(_) => json!({ "$ref": format!("#/properties/{}", field.key) }),
        own => kind(own),
    };
    if field.default != Fallback::Required {
        allow_null(&mut schema);
    }
    schema["description"] = json!(field.doc);
    match (&field.kind, field.default) {
        (Kind::Group(_), _) | (_, Fallback::Words(..) | Fallback::Required) => {}
        (Kind::List(_), Fallback::Empty(_)) => schema["default"] = json!([]),
        (_, Fallback::Empty(_)) => schema["default"] = json!({}),
        (_, Fallback::Value(text)) => schema["default"] = resolve(text),
    }
    schema
}

/// Allows `key:` without a value, which counts as not written.
fn allow_null(schema: &mut Value) {
    if let Some(Value::String(kind)) = schema.get("type") {
        schema["type"] = json!([kind, "null"]);
    } else if let Some(Value::Array(words)) = schema.get_mut("enum") {
        words.push(Value::Null);
    } else if let Some(Value::Array(kinds)) = schema.get_mut("anyOf") {
        kinds.push(json!({ "type": "null" }));
    }
}

fn kind(kind: &Kind) -> Value {
    match *kind {
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Text(format) => text(format),
        Kind::Choice(words) => json!({ "enum": words.iter().map(|(word, _)| *word).collect::<Vec<_>>() }),
        Kind::Group(fields) | Kind::Over(fields) => group(fields, false),
        Kind::List(Kind::Group(fields)) => json!({ "type": "array", "items": group(fields, true) }),
        Kind::List(inner) => json!({ "type": "array", "items": self::kind(inner) }),
        Kind::Dict { keys, values, reserved } => {
            let mut schema = json!({ "type": "object", "additionalProperties": text(values) });
            schema["propertyNames"] = match keys.pattern {
                Some(pattern) => json!({ "pattern": pattern }),
                None => json!({ "minLength": 1 }),
            };
            refuse(&mut schema, reserved);
            schema
        }
        Kind::Free { reserved } => {
            let mut schema = json!({ "type": "object" });
            refuse(&mut schema, reserved);
            schema
        }
        Kind::ChoiceOrGroup(words, fields) => {
            json!({ "anyOf": [self::kind(&Kind::Choice(words)), group(fields, true)] })
        }
    }
}

fn refuse(schema: &mut Value, reserved: &[(&str, &str)]) {
    if !reserved.is_empty() {
        schema["properties"] = reserved.iter().map(|(key, _)| ((*key).to_owned(), json!(false))).collect();
    }
}

fn text(format: &Format) -> Value {
    let mut schema = match format.loose {
        // An empty value is an empty string.
        true => json!({ "type": ["string", "number", "boolean", "null"] }),
        false => json!({ "type": "string" }),
    };
    schema["examples"] = json!([format.example]);
    if let Some(pattern) = format.pattern {
        schema["pattern"] = json!(pattern);
    }
    schema
}
