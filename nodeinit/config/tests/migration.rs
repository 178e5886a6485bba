//! Verifies that the keys and the tests that the pages in `docs/migration` name exist.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "only tests call it")]

use nodeinit_config::{
    keys::CLUSTER,
    schema::{Field, Kind},
};
use std::path::{Path, PathBuf};

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Sections whose keys no other tool has under the same name.
const SECTIONS: [&str; 4] = ["os", "openstack", "ssh", "kubelet"];

/// Whether a path of keys exists; below a map whose keys the user chooses, each does.
fn exists<'a>(fields: &[Field], mut keys: impl Iterator<Item = &'a str>) -> bool {
    let Some(key) = keys.next() else { return true };
    let (name, is_list) = key.strip_suffix("[]").map_or((key, false), |name| (name, true));
    let Some(field) = fields.iter().find(|field| field.key == name) else { return false };
    match field.kind {
        Kind::Dict { .. } | Kind::Free { .. } => !is_list,
        Kind::List(inner) if is_list => exists(inner.fields(), keys),
        kind => !is_list && exists(kind.fields(), keys),
    }
}

/// Returns the path of keys with which a text in backticks begins, if it is in one of the sections.
fn path(quoted: &str) -> Option<&str> {
    let path = quoted.split([':', ' ', '=']).next()?;
    let (section, _) = path.split_once('.')?;
    SECTIONS.contains(&section).then_some(path)
}

/// Returns the pages, each with the texts in backticks.
fn pages() -> Vec<(PathBuf, Vec<String>)> {
    let quoted =
        |text: &str| text.lines().flat_map(|line| line.split('`').skip(1).step_by(2)).map(str::to_owned).collect();
    let pages = std::fs::read_dir(Path::new(REPOSITORY).join("docs/migration")).unwrap();
    pages
        .map(|page| page.unwrap().path())
        .map(|page| (page.clone(), quoted(&std::fs::read_to_string(page).unwrap())))
        .collect()
}

#[test]
fn the_tests_of_the_migration_pages_exist() {
    let (mut count, mut missing) = (0, Vec::new());
    for (page, quoted) in pages() {
        for test in quoted.iter().filter(|text| text.ends_with(".rs")) {
            count += 1;
            if !Path::new(REPOSITORY).join(test).is_file() {
                missing.push(format!("{}: {test}", page.display()));
            }
        }
    }
    assert!(count > 100, "only {count} tests");
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn the_keys_of_the_migration_pages_exist() {
    assert!(exists(CLUSTER, "os.sysctls.vm".split('.')) && exists(CLUSTER, "os.users[].name".split('.')));
    assert!(!exists(CLUSTER, "os.hostname".split('.')) && !exists(CLUSTER, "os.hostName.x".split('.')));
    let (mut count, mut missing) = (0, Vec::new());
    for (page, quoted) in pages() {
        for path in quoted.iter().filter_map(|text| path(text)) {
            count += 1;
            if !exists(CLUSTER, path.split('.')) {
                missing.push(format!("{}: {path}", page.display()));
            }
        }
    }
    assert!(count > 50, "only {count} keys");
    assert!(missing.is_empty(), "{missing:#?}");
}

/// Returns the rows of the page's tables that have three columns: what is there, what is here, and the test.
fn rows(text: &str) -> impl Iterator<Item = [&str; 3]> {
    text.lines().filter_map(|line| {
        let cells: Vec<&str> = line.trim().strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim).collect();
        cells.try_into().ok().filter(|[first, _, test]: &[&str; 3]| !first.starts_with("---") && *test != "test")
    })
}

#[test]
fn every_row_of_the_migration_pages_has_existing_keys_and_a_test() {
    let (mut count, mut wrong) = (0, Vec::new());
    for page in std::fs::read_dir(Path::new(REPOSITORY).join("docs/migration")).unwrap() {
        let page = page.unwrap().path();
        let text = std::fs::read_to_string(&page).unwrap();
        for [there, here, test] in rows(&text) {
            count += 1;
            let quoted = here.split('`').skip(1).step_by(2);
            // A file such as `hosts/HOST.yaml` is not a path of keys.
            let paths = quoted.filter_map(|text| text.split([':', ' ', '=']).next()).filter(|path| !path.contains('/'));
            for path in paths.filter(|path| {
                let section = path.split(['.', '[']).next().unwrap_or_default();
                path.contains('.') && CLUSTER.iter().any(|field| field.key == section)
            }) {
                if !exists(CLUSTER, path.split('.')) {
                    wrong.push(format!("{}: {there}: there is no key {path}", page.display()));
                }
            }
            if !test.contains(".rs`") && !here.starts_with("none") {
                wrong.push(format!("{}: {there}: no test", page.display()));
            }
        }
    }
    assert!(count > 60, "only {count} rows");
    assert!(wrong.is_empty(), "{wrong:#?}");
}
