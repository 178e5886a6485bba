//! `openstack.clusterID`: the mark of everything that belongs to one cluster.

use std::hash::{BuildHasher, RandomState};

/// The IDs in the current and earlier documentation. Users who copied one would share it.
const DOCUMENTED: [&str; 2] = ["3a8e3e0c-5f0b-4d3f-9c55-2f6f1d0c7b11", "1b4e28ba-2fa1-41d2-883f-0016d3cca427"];

/// Whether an ID, in lower case, is from the documentation.
pub(crate) fn is_documented(id: &str) -> bool {
    DOCUMENTED.contains(&id)
}

/// Generates a cluster ID: a random UUID (RFC 9562, version 4), from the seeds of the standard library's hash maps, which the
/// kernel provides.
pub fn fresh_cluster_id() -> String {
    let random = || RandomState::new().hash_one(0);
    let (high, low) = (random(), random());
    let high = high & !0xf000 | 0x4000;
    let low = low & !(0b11 << 62) | (0b10 << 62);
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::format::UUID;

    #[test]
    fn every_id_in_the_documentation_is_known() {
        let documents = [
            include_str!("../../../../docs/reference/configuration.md"),
            include_str!("../../../../docs/reference/openstack.md"),
            include_str!("../../../../docs/examples/openstack.yaml"),
            UUID.example,
        ];
        let words = documents.iter().flat_map(|text| text.split(|c: char| !c.is_ascii_hexdigit() && c != '-'));
        let shown: Vec<&str> = words.filter(|word| UUID.accepts(word)).collect();
        assert!(!shown.is_empty());
        assert!(shown.iter().all(|id| is_documented(id)), "{shown:?}");
        assert!(UUID.accepts(&fresh_cluster_id()) && fresh_cluster_id() != fresh_cluster_id());
    }
}
