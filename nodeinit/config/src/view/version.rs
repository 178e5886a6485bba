//! Where a configuration sets the version of Kubernetes.

use crate::{
    load::Loaded,
    model::declare::place::{Place, keys},
    problem::{Mark, Origin},
    text::tree::YamlNode,
};

impl Loaded {
    /// Returns where `kubernetes.version` is written. `None` if it is a default.
    #[must_use]
    pub fn version_origin(&self) -> Option<Origin> {
        let version: Place<'_, _> = keys().kubernetes().version();
        let at = self.tree.get(&version.path).map(|node: &YamlNode| node.at)?;
        (at != Mark::DEFAULT).then(|| at.origin(&self.sources))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Layer, load};

    const FILE: &str = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes:\n  version: v1.35.8\n";

    #[test]
    fn the_version_is_found_where_it_is_written() {
        let file = Layer::file("cluster.yaml", FILE);
        let origin = load(std::slice::from_ref(&file)).unwrap().version_origin().unwrap();
        assert_eq!(origin.to_string(), "cluster.yaml:4:12");
        let other = Layer::file("b.yaml", FILE.replace("v1.35.8", "v1.36.4"));
        let origin = load(&[file, other]).unwrap().version_origin().unwrap();
        assert_eq!(origin.source, "b.yaml", "the last layer counts");
        let without = Layer::file("cluster.yaml", "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\n");
        assert_eq!(load(&[without]).unwrap().version_origin(), None);
    }
}
