//! Verifies that configurations of former versions of nodeinit stay readable, with the same values. Add a file when a format or a key changes; never
//! change one. `UPDATE_GOLDEN=1` writes the values.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "only tests call it")]

use nodeinit_config::{Layer, load};

#[test]
fn configurations_of_former_versions_have_the_same_values() {
    let (mut count, defaults) = (0, load(&[]).unwrap());
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/former")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let name = path.display().to_string();
        let loaded = load(&[Layer::file(&name, std::fs::read(&path).unwrap())]);
        let loaded = loaded.unwrap_or_else(|problems| panic!("{name}: {problems}"));
        let differences = defaults.differences(&loaded);
        let values = differences.iter().filter_map(|d| Some(format!("{}: {}\n", d.path, d.to.as_ref()?.value)));
        let (found, golden) = (values.collect::<String>(), path.with_extension("golden"));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&golden, &found).unwrap();
        }
        assert_eq!(found, std::fs::read_to_string(&golden).unwrap_or_default(), "{}", golden.display());
        count += 1;
    }
    assert!(count >= 2);
}
