//! `docs/configuration.md` is made from the description of the keys, and this test sees that it is current.
//! `UPDATE_DOCS=1 cargo test -p nodeinit-config --test reference` writes it.

use nodeinit_config::{
    keys::CLUSTER,
    schema::{Fallback, Field, Kind},
};
use std::path::Path;

#[test]
fn the_reference_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let current = reference();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        #[allow(clippy::disallowed_methods, reason = "a document of the source tree")]
        std::fs::write(&path, &current).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let how = "UPDATE_DOCS=1 cargo test -p nodeinit-config --test reference";
    assert!(written == current, "docs/configuration.md is not what the keys say; write it with: {how}");
}

fn reference() -> String {
    let mut out = include_str!("reference.md").to_owned();
    section("cluster.yaml", "", CLUSTER, &mut out);
    out.push_str("\n## Keys that are not yours to set\n\nRefused by name, because nodeinit needs them as they are.\n");
    reserved("", CLUSTER, &mut out);
    out
}

/// The table of a group, then those of the groups in it.
fn section(title: &str, path: &str, fields: &[Field], out: &mut String) {
    out.push_str(&format!("\n### `{title}`\n\n| key | value | default | meaning |\n|---|---|---|---|\n"));
    for field in fields {
        let default = match (field.kind, field.default) {
            (Kind::Group(_), _) => String::new(),
            (_, Fallback::Value(text)) => format!("`{text}`"),
            (Kind::List(_), Fallback::Empty(_)) => "`[]`".to_owned(),
            (_, Fallback::Empty(_)) => "`{}`".to_owned(),
            (_, Fallback::Words(words, _)) => words.to_owned(),
            (_, Fallback::Required) => "must be written".to_owned(),
        };
        out.push_str(&format!("| `{}` | {} | {default} | {} |\n", field.key, value(field), meaning(field)));
    }
    for field in fields {
        let inner = match field.kind {
            Kind::List(kind) => kind.fields(),
            kind => kind.fields(),
        };
        let list = if matches!(field.kind, Kind::List(_)) { "[]" } else { "" };
        let here = if path.is_empty() { format!("{}{list}", field.key) } else { format!("{path}.{}{list}", field.key) };
        if !inner.is_empty() {
            section(&here, &here, inner, out);
        }
    }
}

fn value(field: &Field) -> String {
    match field.kind {
        Kind::Flag => "`true` or `false`".to_owned(),
        Kind::Text(format) => match field.default {
            Fallback::Value(_) => format.name.to_owned(),
            _ => format!("{}, e.g. `{}`", format.name, example(field, format.example)),
        },
        Kind::Choice(words) => words.iter().map(|(word, _)| format!("`{word}`")).collect::<Vec<_>>().join(", "),
        Kind::Group(_) => "a map, see below".to_owned(),
        Kind::List(Kind::Text(format)) => format!("a list: {}, e.g. `{}`", format.name, example(field, format.example)),
        Kind::List(_) => "a list of maps, see below".to_owned(),
        Kind::Dict { .. } => format!("a map, e.g. `{}`", example(field, "")),
        Kind::Free { .. } => format!("any map, e.g. `{}`", example(field, "")),
        Kind::ChoiceOrGroup(words, fields) => {
            let words = words.iter().map(|(word, _)| format!("`{word}`"));
            let maps = fields.iter().map(|f| format!("`{{{}: PATH}}`", f.key));
            words.chain(maps).collect::<Vec<_>>().join(", ")
        }
    }
}

fn example(field: &Field, otherwise: &'static str) -> &'static str {
    match field.default {
        Fallback::Empty(text) | Fallback::Words(_, text) => text,
        _ => otherwise,
    }
}

fn meaning(field: &Field) -> String {
    let mut text = field.doc.to_owned();
    if let Kind::Choice(words) | Kind::ChoiceOrGroup(words, _) = field.kind {
        text.extend(words.iter().map(|(word, meaning)| format!(" `{word}`: {meaning}.")));
    }
    text
}

fn reserved(path: &str, fields: &[Field], out: &mut String) {
    for field in fields {
        let here = if path.is_empty() { field.key.to_owned() } else { format!("{path}.{}", field.key) };
        if let Kind::Dict { reserved, .. } | Kind::Free { reserved } = field.kind
            && !reserved.is_empty()
        {
            out.push_str(&format!("\n### In `{here}`\n\n| key | why |\n|---|---|\n"));
            out.extend(reserved.iter().map(|(key, reason)| format!("| `{key}` | {reason} |\n")));
        }
        reserved(&here, field.kind.fields(), out);
    }
}
