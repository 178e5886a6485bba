//! Verifies that configurations of former versions of nodeinit stay readable. Add a file when a format or a key changes; never change one.

use nodeinit_config::{Layer, load};

#[test]
fn configurations_of_former_versions_are_read() {
    let mut count = 0;
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/former")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.display().to_string();
        let loaded = load(&[Layer::file(&name, std::fs::read(&path).unwrap())]);
        assert!(!loaded.unwrap_or_else(|problems| panic!("{name}: {problems}")).cluster.masters.is_empty(), "{name}");
        count += 1;
    }
    assert!(count >= 2);
}
