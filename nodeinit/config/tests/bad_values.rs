//! Verifies that every key rejects a bad value, with an error that names the file, the line, the key and what to write instead.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "only tests call it")]

use nodeinit_config::{
    Layer, Problems,
    keys::CLUSTER,
    load,
    schema::{Field, Kind},
};
use std::fmt::Write;

/// No key accepts all of these.
const BAD: [&str; 5] = ["{no-such-key: {}}", "[[17]]", "17", "\"\\u0001\"", "-1.5"];

/// Returns a file that contains only the key, on its last line.
fn file(path: &str, value: &str) -> String {
    let header = [("apiVersion", "nodeinit.dev/v1alpha1"), ("kind", "Cluster")];
    let mut text = String::new();
    for (key, value) in header.iter().filter(|(key, _)| *key != path) {
        writeln!(text, "{key}: {value}").unwrap();
    }
    let (mut indent, mut dash) = (0, "");
    let keys: Vec<&str> = path.split('.').collect();
    for (number, key) in keys.iter().enumerate() {
        let (name, is_list) = key.strip_suffix("[0]").map_or((*key, false), |name| (name, true));
        let value = if number + 1 == keys.len() { format!(" {value}") } else { String::new() };
        writeln!(text, "{}{dash}{name}:{value}", " ".repeat(indent)).unwrap();
        (indent, dash) = (indent + dash.len(), "");
        match is_list {
            true => dash = "- ",
            false => indent += 2,
        }
    }
    text
}

fn leaves(path: &str, fields: &[Field], visit: &mut impl FnMut(String)) {
    for field in fields {
        let here = if path.is_empty() { field.key.to_owned() } else { format!("{path}.{}", field.key) };
        match field.kind {
            Kind::Group(inner) | Kind::Over(inner) => leaves(&here, inner, visit),
            Kind::List(Kind::Group(inner)) => leaves(&format!("{here}[0]"), inner, visit),
            Kind::ChoiceOrGroup(_, inner) => {
                leaves(&here, inner, visit);
                visit(here);
            }
            _ => visit(here),
        }
    }
}

/// Whether the file is rejected with an error that names the place and the remedy.
fn is_rejected(path: &str, text: &str) -> bool {
    let line = text.lines().count();
    let Err(Problems { errors: problems, .. }) = load(&[Layer::file("cluster.yaml", text)]) else { return false };
    problems.iter().any(|problem| {
        let place = (problem.origin.source.as_str(), problem.origin.line) == ("cluster.yaml", line);
        place && problem.path.starts_with(path) && !problem.what.is_empty() && !problem.remedy.is_empty()
    })
}

#[test]
fn every_key_rejects_a_bad_value_and_names_the_place_and_the_remedy() {
    let (mut count, mut has_directory, mut accepting) = (0, false, Vec::new());
    leaves("", CLUSTER, &mut |path| {
        count += 1;
        has_directory |= path == "addons.cni.directory";
        if !BAD.iter().any(|value| is_rejected(&path, &file(&path, value))) {
            accepting.push(path);
        }
    });
    assert!(has_directory, "addons.cni.directory, a key of a choice or a map");
    assert!(count > 100, "only {count} keys");
    assert!(accepting.is_empty(), "no bad value is rejected at its place: {accepting:?}");
}
