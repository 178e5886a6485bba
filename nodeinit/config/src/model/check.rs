//! Checks one layer against the schema: unknown keys, wrong types, invalid values. Invalid values become [`Value::Bad`], so
//! that the rules over several values do not report them again.

use crate::{
    keys::CLUSTER,
    model::{
        format::Format,
        suggest::{elsewhere, is_of_os, nearest},
    },
    problem::{Findings, Flaw},
    schema::{Fallback, Field, Kind},
    text::tree::{Entry, Value, YamlNode, below, resolve},
};
use serde_json::Value as Json;

/// The kind of file that is checked.
#[derive(Clone, Copy)]
struct File {
    keys: &'static [Field],
    /// Whether it is the only layer, so that it must contain all required keys.
    complete: bool,
}

/// Checks a layer and drops keys without a value (`key:`).
pub(crate) fn layer(root: YamlNode, findings: &mut Findings) -> Option<YamlNode> {
    value(root, &Kind::Group(CLUSTER), "", File { keys: CLUSTER, complete: false }, findings)
}

/// Checks the settings of one machine, whose name is in another layer.
pub(crate) fn part(root: YamlNode, kind: &Kind, path: &str, findings: &mut Findings) -> Option<YamlNode> {
    value(root, kind, path, File { keys: kind.fields(), complete: false }, findings)
}

/// Checks a separate file, which must contain all its required keys.
pub(crate) fn file(root: YamlNode, keys: &'static [Field], findings: &mut Findings) -> Option<YamlNode> {
    value(root, &Kind::Group(keys), "", File { keys, complete: true }, findings)
}

/// Returns `None` for an empty value, which leaves the value to lower layers.
fn value(node: YamlNode, kind: &Kind, path: &str, file: File, findings: &mut Findings) -> Option<YamlNode> {
    if node.is_null() {
        return None;
    }
    let YamlNode { at, value } = node;
    let good = match (kind, value) {
        (_, Value::Bad) => Value::Bad,
        (Kind::Text(format), Value::Scalar { text, quoted }) => match fits(format, &text, quoted) {
            Ok(()) => Value::Scalar { text, quoted },
            Err(flaw) => {
                findings.flaw(at, path, flaw);
                Value::Bad
            }
        },
        (Kind::Flag, Value::Scalar { text, quoted: false }) if resolve(&text).is_boolean() => {
            Value::Scalar { text, quoted: false }
        }
        (Kind::Choice(words) | Kind::ChoiceOrGroup(words, _), Value::Scalar { text, .. })
            if words.iter().any(|(word, _)| *word == text) =>
        {
            Value::Scalar { text, quoted: false }
        }
        (Kind::Group(fields) | Kind::ChoiceOrGroup(_, fields) | Kind::Over(fields), Value::Map(entries)) => {
            let written: Vec<String> = entries.iter().map(|e| e.key.clone()).collect();
            let entries = group(entries, fields, path, file, findings);
            let complete = file.complete || matches!(kind, Kind::ChoiceOrGroup(..));
            for field in fields.iter().filter(|f| complete && f.default == Fallback::Required) {
                let misspelt = |key: &String| nearest(key, fields.iter().map(|f| f.key)) == Some(field.key);
                if entries.iter().all(|e| e.key != field.key) && !written.iter().any(|k| k != field.key && misspelt(k))
                {
                    findings.add(at, &below(path, field.key), "missing", format!("add it: {}", field.doc));
                }
            }
            Value::Map(entries)
        }
        (Kind::List(inner), Value::List(items)) => Value::List(list(items, inner, path, file, findings)),
        (Kind::Dict { keys, values, reserved }, Value::Map(entries)) => {
            Value::Map(dict(entries, (keys, values), reserved, (path, file), findings))
        }
        (Kind::Free { reserved }, Value::Map(entries)) => {
            for entry in &entries {
                refuse_reserved(entry, reserved, path, findings);
            }
            Value::Map(entries)
        }
        (kind, found) => {
            let (what, mut remedy) = mismatch(kind, &found);
            if path == "apiVersion"
                && let Some(tool) = other_tool(&found)
            {
                remedy = format!("translate the file with `nodeinit config import {tool} FILE`");
            }
            findings.add(at, path, what, remedy);
            Value::Bad
        }
    };
    Some(YamlNode { at, value: good })
}

/// Checks the format. Only some formats accept a number or a boolean instead of a string.
fn fits(format: &Format, text: &str, quoted: bool) -> Result<(), Flaw> {
    format.check(text)?;
    if quoted || format.loose || resolve(text).is_string() {
        return Ok(());
    }
    let what = format!("expected a string, found {} {text}", describe(&resolve(text)));
    Err(Flaw::new(what, format!("write {text:?} in quotes if this is intended")))
}

fn group(entries: Vec<Entry>, fields: &[Field], path: &str, file: File, findings: &mut Findings) -> Vec<Entry> {
    let mut good = Vec::new();
    for entry in entries {
        let here = below(path, &entry.key);
        match fields.iter().find(|f| f.key == entry.key) {
            Some(field) => {
                let Entry { key, at, node } = entry;
                good.extend(value(node, &field.kind, &here, file, findings).map(|node| Entry { key, at, node }));
            }
            // An empty key was reported when it was read.
            None if entry.key.is_empty() => {}
            None => {
                let remedy = match nearest(&entry.key, fields.iter().map(|f| f.key)) {
                    _ if path.is_empty() && is_of_os(&entry.key, fields) => {
                        format!("write it below `os`: `os.{}`", entry.key)
                    }
                    _ if ["apiVersion", "kind"].contains(&entry.key.as_str()) => {
                        "remove it: only the file with the whole cluster has it".to_owned()
                    }
                    Some(known) => format!("did you mean `{known}`?"),
                    None => match elsewhere(&entry.key, file.keys, "") {
                        Some(place) => format!("`{}` is a key of `{place}`", entry.key),
                        None => format!("known keys: {}", listed(fields.iter().map(|f| f.key))),
                    },
                };
                findings.add(entry.at, &here, "unknown key", remedy);
            }
        }
    }
    good
}

fn list(items: Vec<YamlNode>, inner: &Kind, path: &str, file: File, findings: &mut Findings) -> Vec<YamlNode> {
    let mut good = Vec::new();
    for (index, item) in items.into_iter().enumerate() {
        let here = format!("{path}[{index}]");
        if item.is_null() {
            findings.add(item.at, &here, "empty list entry", "remove the `-`, or complete the entry");
            continue;
        }
        // A list has no lower layer.
        good.extend(value(item, inner, &here, File { complete: true, ..file }, findings));
    }
    good
}

fn dict(
    entries: Vec<Entry>,
    (keys, values): (&'static Format, &'static Format),
    reserved: &[(&str, &str)],
    (path, file): (&str, File),
    findings: &mut Findings,
) -> Vec<Entry> {
    let mut good = Vec::new();
    for Entry { key, at, mut node } in entries.into_iter().filter(|e| !e.key.is_empty()) {
        let here = below(path, &key);
        if let Err(flaw) = keys.check(&key) {
            findings.flaw(at, &here, flaw);
        }
        if node.is_null() {
            // `key:` is an empty string if the format accepts one, as for a label without a value.
            node.value = Value::Scalar { text: String::new(), quoted: true };
        }
        let entry = Entry { key, at, node };
        refuse_reserved(&entry, reserved, path, findings);
        let Entry { key, at, node } = entry;
        good.extend(value(node, &Kind::Text(values), &here, file, findings).map(|node| Entry { key, at, node }));
    }
    good
}

fn refuse_reserved(entry: &Entry, reserved: &[(&str, &str)], path: &str, findings: &mut Findings) {
    if let Some((_, reason)) = reserved.iter().find(|(key, _)| *key == entry.key) {
        findings.add(entry.at, &below(path, &entry.key), "managed by nodeinit; cannot be overridden", *reason);
    }
}

/// Returns the tool of an `apiVersion`, as `nodeinit config import` names it.
fn other_tool(api_version: &Value) -> Option<&'static str> {
    let Value::Scalar { text, .. } = api_version else { return None };
    let known = [("kubeadm.k8s.io/", "kubeadm"), ("k0sctl.k0sproject.io/", "k0sctl")];
    known.into_iter().find(|(start, _)| text.starts_with(start)).map(|(_, tool)| tool)
}

/// Describes a value of a wrong type or an unknown word, and the fix.
fn mismatch(kind: &Kind, found: &Value) -> (String, String) {
    let shown = match found {
        Value::Bad => String::new(),
        Value::Scalar { text, quoted: true } => format!("the string {text:?}"),
        Value::Scalar { text, quoted: false } => match resolve(text) {
            Json::String(_) => format!("{text:?}"),
            other => format!("{} {text}", describe(&other)),
        },
        Value::List(_) => "a list".to_owned(),
        Value::Map(_) => "a map".to_owned(),
    };
    match (kind, found) {
        (Kind::Choice(words) | Kind::ChoiceOrGroup(words, _), Value::Scalar { text, .. }) => {
            let near = nearest(text, words.iter().map(|(word, _)| *word));
            let known = format!("write {}", words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(" or "));
            let extra = if matches!(kind, Kind::ChoiceOrGroup(..)) { " or a map" } else { "" };
            let remedy = near.map_or(format!("{known}{extra}"), |word| format!("did you mean `{word}`?"));
            (format!("unknown value: {shown}"), remedy)
        }
        _ => (format!("expected {}, found {shown}", expected(kind)), remedy(kind)),
    }
}

fn expected(kind: &Kind) -> String {
    match kind {
        Kind::Flag => "true or false".to_owned(),
        Kind::Text(format) => format.name.to_owned(),
        Kind::Choice(_) => "a word".to_owned(),
        Kind::List(_) => "a list".to_owned(),
        Kind::Group(_) | Kind::Over(_) | Kind::Dict { .. } | Kind::Free { .. } => "a map".to_owned(),
        Kind::ChoiceOrGroup(..) => "a word or a map".to_owned(),
    }
}

fn remedy(kind: &Kind) -> String {
    match kind {
        Kind::Flag => "write true or false, without quotes".to_owned(),
        Kind::Text(format) => format!("write a value such as {}", format.example),
        Kind::Choice(words) => {
            format!("write {}", words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(" or "))
        }
        Kind::List(_) => "start each entry with `- ` on a separate line".to_owned(),
        Kind::Group(fields) | Kind::Over(fields) => format!("known keys: {}", listed(fields.iter().map(|f| f.key))),
        Kind::Dict { keys, values, .. } => format!("write lines such as `{}: {}`", keys.example, values.example),
        Kind::Free { .. } => "write lines of `key: value`".to_owned(),
        Kind::ChoiceOrGroup(words, fields) => {
            listed(words.iter().map(|(word, _)| *word).chain(fields.iter().map(|f| f.key)))
        }
    }
}

fn listed<'k>(keys: impl Iterator<Item = &'k str>) -> String {
    keys.collect::<Vec<_>>().join(", ")
}

fn describe(value: &Json) -> &'static str {
    match value {
        Json::Bool(_) => "the boolean",
        Json::Number(_) => "the number",
        _ => "the string",
    }
}
