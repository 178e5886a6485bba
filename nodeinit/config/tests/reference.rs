//! `docs/reference/configuration.md`, `docs/reference/releases.md` and the table in `docs/how-to/addons.md` are made from the description of the keys and from the
//! addons, and these tests see that they are current.
//! `UPDATE_DOCS=1 cargo test -p nodeinit-config --test reference` writes it.

use nodeinit_config::{
    Addon,
    keys::CLUSTER,
    releases::{KEYS, Program, Release, embedded},
    schema::{Fallback, Field, Kind},
    yaml,
};
use serde_json::Value;
use std::path::{Path, PathBuf};

#[test]
fn the_reference_is_current() {
    is_current("reference/configuration.md", &reference());
}

#[test]
fn the_page_of_releases_is_current() {
    is_current("reference/releases.md", &releases());
}

#[test]
fn the_table_of_addons_is_current() {
    const MARKS: [&str; 2] = ["<!-- addons: made from manifests/addons -->\n", "<!-- end of addons -->"];
    let page = std::fs::read_to_string(document("how-to/addons.md")).unwrap_or_default();
    let (before, rest) = page.split_once(MARKS[0]).expect("the mark before the table");
    let (_, behind) = rest.split_once(MARKS[1]).expect("the mark behind the table");
    let rows: String = Addon::ALL.map(addon).concat();
    let table = format!("\n| addon | what it is | images | namespace |\n|---|---|---|---|\n{rows}\n");
    is_current("how-to/addons.md", &format!("{before}{}{table}{}{behind}", MARKS[0], MARKS[1]));
}

/// An addon's row.
fn addon(addon: Addon) -> String {
    let images: Vec<String> = addon.images().map(|image| format!("`{image}`")).collect();
    let objects = yaml::documents(addon.manifest()).unwrap_or_else(|e| panic!("{}: {e}", addon.file_name()));
    let workload = |object: &&Value| object.pointer("/spec/template").is_some();
    let namespace = objects.iter().find(workload).and_then(|object| object["metadata"]["namespace"].as_str());
    let namespace = namespace.unwrap_or_else(|| panic!("{} has no workload in a namespace", addon.file_name()));
    format!("| `{}` | {} | {} | `{namespace}` |\n", addon.name(), addon.description(), images.join(", "))
}

fn document(page: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page)
}

fn is_current(page: &str, current: &str) {
    let path = document(page);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        #[allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a document of the source tree")]
        std::fs::write(&path, current).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let how = "UPDATE_DOCS=1 cargo test -p nodeinit-config --test reference";
    assert!(written == current, "docs/{page} is not current; write it with: {how}");
}

fn reference() -> String {
    let mut out = include_str!("reference.md").to_owned();
    section("cluster.yaml", "", CLUSTER, &mut out);
    out.push_str("\n## Keys managed by nodeinit\n\nYou cannot set these keys: nodeinit sets them itself.\n");
    reserved("", CLUSTER, &mut out);
    out
}

fn releases() -> String {
    let mut out = include_str!("releases.md").to_owned();
    out.push_str("\n## Releases\n\n");
    let all = embedded();
    let mut row = |name: &str, cell: &dyn Fn(&Release) -> String| {
        out.push_str(&format!("| {name} | {} |\n", all.iter().map(cell).collect::<Vec<_>>().join(" | ")));
    };
    row("release", &Release::name);
    row("---", &|_| "---".to_owned());
    row("tested with", &|release| release.tested.to_string());
    row("etcd", &|release| release.etcd.clone());
    row("minimum etcd before the upgrade", &|release| release.etcd_before_upgrade.clone().unwrap_or_default());
    row("CoreDNS", &|release| release.coredns.clone());
    row("pause", &|release| release.pause.clone());
    row("kubeadm-config", &|release| release.kubeadm_api.replace("kubeadm.k8s.io/", ""));
    row("containerd: minimum, recommended", &|release| {
        let [least, recommended] =
            [release.least_containerd, release.recommended_containerd].map(|(major, minor)| format!("{major}.{minor}"));
        format!("{least}, {recommended}")
    });
    row("cgroup v1", &|release| if release.fail_cgroup_v1 { "refused" } else { "deprecated" }.to_owned());
    row("changed defaults", &|release| release.changed_defaults.join("; "));
    for program in Program::ALL {
        row(&format!("new flags of {program}"), &|release| {
            release.added(program).map(|flag| format!("`{flag}`")).collect::<Vec<_>>().join(", ")
        });
    }
    for program in Program::ALL {
        row(&format!("removed flags of {program}"), &|release| {
            let own = release.removed(program).filter(|(_, missing)| missing.by == release.name());
            own.map(|(flag, _)| format!("`{flag}`")).collect::<Vec<_>>().join(", ")
        });
    }
    out.push_str("\n## Keys of a release file\n");
    section("1.38.yaml", "", KEYS, &mut out);
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
            (_, Fallback::Required) => "required".to_owned(),
        };
        out.push_str(&format!("| `{}` | {} | {default} | {} |\n", field.key, value(field), meaning(field)));
    }
    for field in fields {
        let inner = match field.kind {
            Kind::List(kind) => kind.fields(),
            // The section itself has a table.
            Kind::Over(_) => &[],
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
        Kind::Over(_) => format!("a map with keys of [`{0}`](#{0})", field.key),
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
        if !matches!(field.kind, Kind::Over(_)) {
            reserved(&here, field.kind.fields(), out);
        }
    }
}
