//! Verifies that the keys that the pages in `docs/migration` name exist.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "only tests call it")]

use nodeinit_config::{
    keys::CLUSTER,
    schema::{Field, Kind},
};
use std::path::Path;

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

#[test]
fn the_keys_of_the_migration_pages_exist() {
    assert!(exists(CLUSTER, "os.sysctls.vm".split('.')) && exists(CLUSTER, "os.users[].name".split('.')));
    assert!(!exists(CLUSTER, "os.hostname".split('.')) && !exists(CLUSTER, "os.hostName.x".split('.')));
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/migration");
    let (mut count, mut missing) = (0, Vec::new());
    for page in std::fs::read_dir(pages).unwrap() {
        let page = page.unwrap().path();
        let text = std::fs::read_to_string(&page).unwrap();
        for path in text.lines().flat_map(|line| line.split('`').skip(1).step_by(2)).filter_map(path) {
            count += 1;
            if !exists(CLUSTER, path.split('.')) {
                missing.push(format!("{}: {path}", page.display()));
            }
        }
    }
    assert!(count > 50, "only {count} keys");
    assert!(missing.is_empty(), "{missing:#?}");
}
