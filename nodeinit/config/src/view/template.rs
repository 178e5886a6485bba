//! The files that `config init` writes: what was chosen, each key with its meaning; in the full one every other key, as a comment.

use crate::{
    keys::{API_VERSION, CLUSTER, KIND},
    layer::Layer,
    load::{load, written},
    model::{cluster_id::fresh_cluster_id, format::UUID},
    problem::{Findings, Problems},
    schema::{Fallback, Field, Kind},
    text::{
        emit,
        tree::{Value, YamlNode},
    },
};

/// The widest line of a comment, in characters.
const WIDTH: usize = 110;

/// Writes a configuration file with the values of `layers`, and every other key as a comment; each is explained.
///
/// # Errors
/// As [`crate::load`]: the layers are loaded to verify that the file is valid.
pub fn template(layers: &[Layer]) -> Result<String, Problems> {
    let chosen = chosen(layers)?;
    let mut out = vec![
        "# A cluster of nodeinit. `nodeinit config validate` checks this file, `nodeinit config show` prints it with"
            .into(),
        "# all defaults. A line that starts with `# ` shows a key and its default; a key without a value has no default."
            .into(),
    ];
    for field in CLUSTER {
        if field.default != Fallback::Required {
            out.push(String::new());
        }
        write(field, chosen.get(field.key), 0, &mut out);
    }
    Ok(out.join("\n") + "\n")
}

/// Writes a configuration file with the values of `layers` only, each explained.
///
/// # Errors
/// As [`template`].
pub fn short_template(layers: &[Layer]) -> Result<String, Problems> {
    let chosen = chosen(layers)?;
    let mut out = vec![
        "# A cluster of nodeinit. `nodeinit config validate` checks this file, `nodeinit config show` prints it with"
            .into(),
        "# all defaults, and `nodeinit config init --full` writes a file that explains every key.".into(),
    ];
    for field in CLUSTER {
        if field.default != Fallback::Required && chosen.get(field.key).is_some() {
            out.push(String::new());
        }
        write_chosen(field, chosen.get(field.key), 0, &mut out);
    }
    Ok(out.join("\n") + "\n")
}

/// What the layers say, without the defaults.
fn chosen(layers: &[Layer]) -> Result<YamlNode, Problems> {
    let header = Layer::file("", format!("apiVersion: {API_VERSION}\nkind: {KIND}\n"));
    let all: Vec<Layer> = std::iter::once(header).chain(layers.iter().cloned()).collect();
    load(&all)?;
    let mut chosen = written(&all, &mut Findings::default());
    in_order(&mut chosen, &Kind::Group(CLUSTER));
    Ok(chosen)
}

/// Puts the keys of maps in the order in which they are declared.
fn in_order(node: &mut YamlNode, kind: &Kind) {
    match (&mut node.value, kind) {
        (Value::Map(entries), Kind::Group(fields) | Kind::ChoiceOrGroup(_, fields) | Kind::Over(fields)) => {
            entries.sort_by_key(|entry| fields.iter().position(|field| field.key == entry.key));
            for entry in entries {
                if let Some(field) = fields.iter().find(|field| field.key == entry.key) {
                    in_order(&mut entry.node, &field.kind);
                }
            }
        }
        (Value::List(items), Kind::List(inner)) => items.iter_mut().for_each(|item| in_order(item, inner)),
        _ => {}
    }
}

fn write(field: &Field, chosen: Option<&YamlNode>, indent: usize, out: &mut Vec<String>) {
    let pad = " ".repeat(indent);
    if needs_explanation(field, indent) {
        explain(&(meaning(field) + &fallback(field)), &pad, out);
    }
    if let Kind::Group(fields) = field.kind {
        let off = if chosen.is_none() { "# " } else { "" };
        out.push(format!("{off}{pad}{}:", field.key));
        for inner in fields {
            let first = out.len();
            write(inner, chosen.and_then(|node| node.get(inner.key)), indent + 2, out);
            if chosen.is_none() {
                // The group is a comment already: a comment inside it needs no second mark.
                for line in &mut out[first..] {
                    *line = format!("# {}", line.strip_prefix("# ").unwrap_or(line));
                }
            }
        }
        return;
    }
    match chosen {
        Some(node) => value(field, node, indent, out),
        None => out.push(format!("# {pad}{}: {}", field.key, default(field)).trim_end().to_owned()),
    }
}

fn write_chosen(field: &Field, chosen: Option<&YamlNode>, indent: usize, out: &mut Vec<String>) {
    let (Some(node), pad) = (chosen, " ".repeat(indent)) else { return };
    if let Kind::Group(fields) = field.kind {
        out.push(format!("{pad}{}:", field.key));
        fields.iter().for_each(|inner| write_chosen(inner, node.get(inner.key), indent + 2, out));
        return;
    }
    if needs_explanation(field, indent) {
        explain(&meaning(field), &pad, out);
    }
    value(field, node, indent, out);
}

fn value(field: &Field, node: &YamlNode, indent: usize, out: &mut Vec<String>) {
    let mut lines = Vec::new();
    emit::value(format!("{}{}:", " ".repeat(indent), field.key), node, indent + 2, &mut lines);
    out.extend(lines.into_iter().map(|line| line.text));
}

/// All but the two keys that begin every file.
fn needs_explanation(field: &Field, indent: usize) -> bool {
    indent > 0 || field.default != Fallback::Required
}

/// What a key means, and each of the words that it may have.
fn meaning(field: &Field) -> String {
    let mut text = field.doc.to_owned();
    if let Kind::Choice(words) | Kind::ChoiceOrGroup(words, _) = field.kind {
        text.extend(words.iter().map(|(word, meaning)| format!(" `{word}`: {meaning}.")));
    }
    if let Kind::ChoiceOrGroup(_, fields) = field.kind {
        text.extend(fields.iter().map(|f| format!(" `{{{}: PATH}}`: {}", f.key, f.doc.to_lowercase())));
    }
    text
}

/// What holds without the key where the default is no value, and an example.
fn fallback(field: &Field) -> String {
    // A certificate is too long for a comment.
    let fits = |example: &str| example.split_whitespace().all(|word| word.len() < WIDTH);
    match field.default {
        Fallback::Required => " Required.".to_owned(),
        Fallback::Words(words, example) if !fits(example) => format!(" Default: {words}."),
        Fallback::Words(words, example) => format!(" Default: {words}. Example: `{example}`."),
        Fallback::Empty(example) if !example.is_empty() && fits(example) => format!(" Example: `{example}`."),
        _ => String::new(),
    }
}

fn explain(text: &str, pad: &str, out: &mut Vec<String>) {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && pad.len() + line.chars().count() + word.chars().count() > WIDTH {
            out.push(format!("{pad}# {line}"));
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    out.push(format!("{pad}# {line}"));
}

/// The default as YAML; nothing where it is no value.
fn default(field: &Field) -> String {
    match (field.default, field.kind) {
        (_, Kind::Text(format)) if std::ptr::eq(format, &UUID) => fresh_cluster_id(),
        (Fallback::Value(text), _) => text.to_owned(),
        (Fallback::Empty(_), Kind::List(_)) => "[]".to_owned(),
        (Fallback::Empty(_), _) => "{}".to_owned(),
        (Fallback::Words(..) | Fallback::Required, _) => String::new(),
    }
}
