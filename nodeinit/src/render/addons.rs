//! Addons, as objects for server-side apply.

use super::{Manifest, RenderError, Renderer, template, yaml};
use nodeinit_config::Addon;
use serde_json::Value;

/// Renders kube-proxy with its configuration.
///
/// # Errors
/// If a manifest that the user replaced is not valid.
pub fn kube_proxy(renderer: &Renderer<'_>) -> Result<Vec<Value>, RenderError> {
    let mut config = renderer.merged(Manifest::KubeProxyConfig, &renderer.cluster.kube_proxy)?;
    if let Some(mode) = &renderer.cluster.release.proxy_mode {
        config.entry("mode").or_insert_with(|| mode.as_str().into());
    }
    let config = yaml::text("kube-proxy's configuration", &Value::Object(config))?;
    renderer.objects(Manifest::KubeProxy, &[("kubeProxyConfiguration", &config)])
}

/// Renders CoreDNS.
///
/// # Errors
/// If a manifest that the user replaced is not valid.
pub fn coredns(renderer: &Renderer<'_>) -> Result<Vec<Value>, RenderError> {
    renderer.objects(Manifest::CoreDns, &[])
}

/// Renders flannel, for a cluster whose `addons.cni` is `flannel`.
///
/// # Errors
/// If a manifest that the user replaced is not valid.
pub fn flannel(renderer: &Renderer<'_>) -> Result<Vec<Value>, RenderError> {
    renderer.objects(Manifest::Flannel, &[])
}

/// Renders an optional addon.
///
/// # Errors
/// If a manifest that the user replaced is not valid.
pub fn optional(renderer: &Renderer<'_>, addon: Addon) -> Result<Vec<Value>, RenderError> {
    let mut objects = renderer.objects(Manifest::Addon(addon), &[])?;
    if renderer.verify_kubelets && addon == Addon::MetricsServer {
        // The kubelets' serving certificates are from the cluster's CA, which every pod has.
        let containers = objects.iter_mut().filter_map(|object| object.pointer_mut("/spec/template/spec/containers"));
        for container in containers.filter_map(Value::as_array_mut).flatten() {
            if let Some(args) = container["args"].as_array_mut() {
                args.retain(|argument| argument != "--kubelet-insecure-tls");
            }
        }
    }
    Ok(objects)
}

/// Returns the objects of a foreign manifest, such as a CNI's, without replacing placeholders. `file` is its name in errors.
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
    use nodeinit_config::releases;
    use serde_json::json;

    #[test]
    fn the_mode_of_kube_proxy_is_written_since_1_37() {
        let mode = |release, over: serde_json::Value| {
            let mut fixture = Fixture::of(release);
            fixture.cluster.kube_proxy = over.as_object().unwrap().clone();
            let config = kube_proxy(&fixture.renderer()).unwrap().remove(4)["data"]["config.conf"].clone();
            let config = nodeinit_config::yaml::document(config.as_str().unwrap()).unwrap();
            config.get("mode").and_then(Value::as_str).unwrap_or("none").to_owned()
        };
        let modes: Vec<String> = releases::embedded().into_iter().map(|release| mode(release, json!({}))).collect();
        assert_eq!(modes, ["none", "none", "none", "iptables"]);
        assert_eq!(mode(releases::embedded().remove(3), json!({"mode": "nftables"})), "nftables");
    }

    #[test]
    fn addons_match_their_golden_files() {
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
    fn optional_addons_have_small_requests_and_few_rights() {
        let fixture = Fixture::new();
        let renderer = fixture.renderer();
        for addon in Addon::ALL {
            let objects = optional(&renderer, addon).unwrap();
            let name = addon.name();
            for object in &objects {
                let kind = object["kind"].as_str().unwrap();
                assert!(object["metadata"]["name"].is_string(), "{name}: a {kind} without a name");
                let Some(spec) = object.pointer("/spec/template/spec") else { continue };
                assert!(spec["priorityClassName"].is_string(), "{name}: no priority");
                let profile = &spec["securityContext"]["seccompProfile"]["type"];
                assert_eq!(profile, "RuntimeDefault", "{name}");
                for container in spec["containers"].as_array().unwrap() {
                    let (own, resources) = (&container["securityContext"], &container["resources"]);
                    assert_eq!(own["allowPrivilegeEscalation"], json!(false), "{name}");
                    assert_eq!(own["readOnlyRootFilesystem"], json!(true), "{name}");
                    assert_eq!(own["capabilities"]["drop"], json!(["ALL"]), "{name}");
                    assert!(resources["requests"]["memory"].is_string(), "{name}: no request");
                    let image = container["image"].as_str().unwrap();
                    assert!(addon.images().any(|listed| listed == image), "{name}: {image}");
                }
            }
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
    fn foreign_manifests_are_unchanged() {
        let objects = foreign("calico.yaml", "data: {script: \"echo ${HOME} $${X}\"}\n---\n").unwrap();
        assert_eq!(objects, [json!({"data": {"script": "echo ${HOME} $${X}"}})]);
    }
}
