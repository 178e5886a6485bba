//! Writes a tree of values as block YAML, line by line, so that the caller can add comments.

use crate::text::tree::{Value, YamlNode, resolve};
use serde_json::Value as Json;

/// One line of YAML and the value that it shows; `None` for a line that only starts a map or a list.
pub(crate) struct Line<'n> {
    pub(crate) text: String,
    pub(crate) shows: Option<&'n YamlNode>,
}

/// Writes the lines of the entries of a map or a list, indented by `indent` columns.
pub(crate) fn lines<'n>(node: &'n YamlNode, indent: usize, out: &mut Vec<Line<'n>>) {
    let pad = " ".repeat(indent);
    for entry in node.entries() {
        value(format!("{pad}{}:", scalar(&entry.key, true)), &entry.node, indent + 2, out);
    }
    for item in node.items() {
        let first = out.len();
        match &item.value {
            Value::Map(entries) if !entries.is_empty() => {
                lines(item, indent + 2, out);
                out[first].text.replace_range(indent..=indent, "-");
            }
            _ => value(format!("{pad}-"), item, indent + 2, out),
        }
    }
}

/// Writes the lines of one value after `head`, which is a key with its colon, or the dash of a list.
pub(crate) fn value<'n>(head: String, node: &'n YamlNode, indent: usize, out: &mut Vec<Line<'n>>) {
    let text = match &node.value {
        Value::Map(entries) if !entries.is_empty() => None,
        Value::List(items) if !items.is_empty() => None,
        Value::Map(_) => Some("{}".to_owned()),
        Value::List(_) => Some("[]".to_owned()),
        Value::Scalar { text, quoted } => Some(scalar(text, *quoted)),
        Value::Bad => Some("null".to_owned()),
    };
    match text {
        Some(text) => out.push(Line { text: format!("{head} {text}"), shows: Some(node) }),
        None => {
            out.push(Line { text: head, shows: None });
            lines(node, indent, out);
        }
    }
}

/// Formats a string as YAML: bare if it is certainly read back unchanged, else in double quotes.
pub(crate) fn scalar(text: &str, quoted: bool) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "_./+-:@=, ".contains(c);
    let starts = text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/' || c == '_');
    let bare = starts && text.chars().all(safe) && !text.ends_with([':', ' ']) && !text.contains(": ");
    match resolve(text) {
        Json::String(_) if bare => text.to_owned(),
        Json::String(_) => quote(text),
        _ if quoted => quote(text),
        Json::Null => "null".to_owned(),
        _ => text.to_owned(),
    }
}

fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            ' '..='~' => out.push(c),
            _ if u32::from(c) <= 0xff => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            _ if u32::from(c) <= 0xffff => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            _ => out.push_str(&format!("\\U{:08x}", u32::from(c))),
        }
    }
    out + "\""
}
