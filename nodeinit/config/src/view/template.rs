//! The file that `config init` writes: the chosen values, and every other key as a comment with its description.

use crate::{
    keys::{API_VERSION, CLUSTER, KIND},
    model::{cluster_id::fresh_cluster_id, format::UUID},
    problem::{Findings, Problems},
    schema::{Fallback, Field, Kind},
    text::{emit, tree::YamlNode},
};

/// The widest line of a comment, in characters.
const WIDTH: usize = 110;

/// Writes a configuration file with the values of `layers`, each with its description.
///
/// # Errors
/// As [`crate::load`]: the layers are loaded to verify that the file is valid.
pub fn template(layers: &[crate::Layer]) -> Result<String, Problems> {
    let header = crate::Layer::file("", format!("apiVersion: {API_VERSION}\nkind: {KIND}\n"));
    let all: Vec<crate::Layer> = std::iter::once(header).chain(layers.iter().cloned()).collect();
    crate::load(&all)?;
    // The written values, without the defaults. `load` has reported their problems.
    let mut chosen = YamlNode::map(crate::problem::Mark::DEFAULT);
    for (index, layer) in all.iter().enumerate().filter(|(_, layer)| !layer.is_release()) {
        let mut findings = Findings::default();
        let checked =
            layer.parse(index + 1, &mut findings).and_then(|node| crate::model::check::layer(node, &mut findings));
        if let Some(node) = checked {
            crate::text::merge::merge(&mut chosen, node);
        }
    }
    let mut out = vec![
        "# A cluster of nodeinit. `nodeinit config validate` checks this file, `nodeinit config show` prints it with"
            .into(),
        "# all defaults. A line with `# ` in front shows the default of a key, or an example if it has no default."
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

fn write(field: &Field, chosen: Option<&YamlNode>, indent: usize, out: &mut Vec<String>) {
    let pad = " ".repeat(indent);
    if field.default != Fallback::Required {
        explain(field, &pad, out);
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
        Some(node) => {
            let mut lines = Vec::new();
            emit::value(format!("{pad}{}:", field.key), node, indent + 2, &mut lines);
            out.extend(lines.into_iter().map(|line| line.text));
        }
        None => out.push(format!("# {pad}{}: {}", field.key, sample(field))),
    }
}

fn explain(field: &Field, pad: &str, out: &mut Vec<String>) {
    let mut text = field.doc.to_owned();
    if let Kind::Choice(words) | Kind::ChoiceOrGroup(words, _) = field.kind {
        let words = words.iter().map(|(word, meaning)| format!(" `{word}`: {meaning}."));
        text.extend(words);
    }
    if let Kind::ChoiceOrGroup(_, fields) = field.kind {
        text.extend(fields.iter().map(|f| format!(" `{{{}: PATH}}`: {}", f.key, f.doc.to_lowercase())));
    }
    if let Fallback::Words(words, _) = field.default {
        text.push_str(&format!(" Default: {words}."));
    }
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

/// Returns the default, or an example of a valid value.
fn sample(field: &Field) -> String {
    match (field.default, field.kind) {
        // An example would be used unchanged.
        (_, Kind::Text(format)) if std::ptr::eq(format, &UUID) => fresh_cluster_id(),
        (Fallback::Value(text) | Fallback::Empty(text) | Fallback::Words(_, text), _) => text.to_owned(),
        (Fallback::Required, Kind::Text(format)) => format.example.to_owned(),
        (Fallback::Required, _) => String::new(),
    }
}
