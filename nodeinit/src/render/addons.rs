//! Addons, as objects for server-side apply.

use super::{Manifest, RenderError, Renderer, template, yaml};
use serde_json::Value;

/// kube-proxy with its configuration.
///
/// # Errors
/// A replaced manifest that does not fit.
pub fn kube_proxy(renderer: &Renderer<'_>) -> Result<Vec<Value>, RenderError> {
    let config = renderer.merged(Manifest::KubeProxyConfig, &renderer.cluster.kube_proxy)?;
    let config = yaml::text("kube-proxy's configuration", &Value::Object(config))?;
    renderer.objects(Manifest::KubeProxy, &[("kubeProxyConfiguration", &config)])
}

/// CoreDNS.
///
/// # Errors
/// A replaced manifest that does not fit.
pub fn coredns(renderer: &Renderer<'_>) -> Result<Vec<Value>, RenderError> {
    renderer.objects(Manifest::CoreDns, &[])
}

/// flannel, for a cluster whose `addons.cni` is `flannel`.
///
/// # Errors
/// A replaced manifest that does not fit.
pub fn flannel(renderer: &Renderer<'_>) -> Result<Vec<Value>, RenderError> {
    renderer.objects(Manifest::Flannel, &[])
}

/// The objects of somebody else's manifest, such as a CNI's, as it is: nothing in it is a placeholder. `file` names it
/// in an error.
///
/// # Errors
/// [`RenderError::Yaml`].
pub fn foreign(file: &str, text: &str) -> Result<Vec<Value>, RenderError> {
    template::documents(file, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::testing::*;
    use serde_json::json;

    #[test]
    fn are_as_they_were() {
        let mut fixture = Fixture::new();
        fixture.cluster.kube_proxy = json!({"conntrack": {"maxPerCore": 0}}).as_object().unwrap().clone();
        let renderer = fixture.renderer();
        for (name, objects) in [
            ("kube-proxy", kube_proxy(&renderer).unwrap()),
            ("coredns", coredns(&renderer).unwrap()),
            ("flannel", flannel(&renderer).unwrap()),
        ] {
            golden(&format!("addons/{name}.yaml"), &stream(&objects));
        }
    }

    #[test]
    fn flannels_configuration_stays_json() {
        let fixture = Fixture::new();
        let objects = flannel(&fixture.renderer()).unwrap();
        let config = objects.iter().find_map(|object| object["data"]["net-conf.json"].as_str()).unwrap();
        let config: Value = serde_json::from_str(config).unwrap();
        assert_eq!(config, json!({"Network": "10.244.0.0/16", "EnableNFTables": false, "Backend": {"Type": "vxlan"}}));
    }

    #[test]
    fn foreign_manifests_are_left_as_they_are() {
        let objects = foreign("calico.yaml", "data: {script: \"echo ${HOME} $${X}\"}\n---\n").unwrap();
        assert_eq!(objects, [json!({"data": {"script": "echo ${HOME} $${X}"}})]);
    }
}
