//! Checks settings of containerd that would keep every pod from starting.

use super::{Finding, release};
use crate::{
    api::cri::{Cri, SOCKET},
    context::Context,
    engine::error::StepError,
    render::{
        containerd::{RUNC_TYPE, uses_systemd_cgroups},
        paths::REGISTRIES,
    },
};
use nodeinit_config::{Cluster, cluster::Cni};
use serde_json::Value;
use std::path::Path;

/// The check's name.
pub(in crate::steps) const CHECK: &str = "containerd-config";

/// Where nodeinit and flannel install CNI plugins.
const PLUGINS: &str = "/opt/cni/bin";

/// The unsuitable settings of containerd.
pub(in crate::steps) async fn settings(cx: &Context) -> Vec<Finding> {
    let (config, release) = tokio::join!(check(cx), release::runtime(cx));
    [config, release].concat()
}

/// Checks the configuration that containerd runs with. Another check reports a containerd that does not answer.
async fn check(cx: &Context) -> Vec<Finding> {
    let ask = async { Cri::connect(cx.files.real(Path::new(SOCKET))).await?.config().await };
    ask.await.map_or_else(|_| Vec::new(), |config| findings(&config, &cx.cluster))
}

/// Returns the finding for a configuration that nodeinit cannot write.
pub(super) fn obstacle(error: &StepError) -> Finding {
    let all: Vec<String> = [error.to_string()].into_iter().chain(error.causes()).collect();
    Finding::failure(CHECK, all.join(": "), error.advice().unwrap_or_default())
}

/// `SystemdCgroup` of the default runtime.
pub(in crate::steps) fn systemd_cgroup(config: &Value) -> Option<bool> {
    let runtime = config.pointer("/containerd/defaultRuntimeName").and_then(Value::as_str).unwrap_or("runc");
    let options = config.pointer(&format!("/containerd/runtimes/{runtime}/options"))?;
    Some(options["SystemdCgroup"].as_bool().unwrap_or(false))
}

/// `config` is containerd's `CriConfig` from the CRI call `Status`; values that are missing in it are not checked.
fn findings(config: &Value, cluster: &Cluster) -> Vec<Finding> {
    let remedy = |set: String| format!("set {set} in /etc/containerd/config.toml, then `systemctl restart containerd`");
    let mut findings = Vec::new();

    let runtime = config.pointer("/containerd/defaultRuntimeName").and_then(Value::as_str).unwrap_or("runc");
    let wanted = uses_systemd_cgroups(cluster);
    if let Some(by_systemd) = systemd_cgroup(config).filter(|by_systemd| *by_systemd != wanted) {
        let driver = if wanted { "systemd" } else { "cgroupfs" };
        let what = format!("containerd has SystemdCgroup = {by_systemd}, but the kubelet's cgroupDriver is {driver}");
        let set = format!("SystemdCgroup = {wanted} in the options of runtime {runtime}");
        findings.push(Finding::failure(CHECK, what, remedy(set)));
    }
    let others = config.pointer("/containerd/runtimes").and_then(Value::as_object).into_iter().flatten();
    for (name, other) in others.filter(|(name, other)| *name != runtime && other["runtimeType"] == RUNC_TYPE) {
        let by_systemd = other["options"]["SystemdCgroup"].as_bool().unwrap_or(false);
        if by_systemd != wanted {
            let what = format!(
                "containerd has SystemdCgroup = {by_systemd} for the runtime {name}, unlike the kubelet: its pods fail"
            );
            let set = format!("SystemdCgroup = {wanted} in the options of runtime {name}");
            findings.push(Finding::warning(CHECK, what, remedy(set)));
        }
    }
    let registries = config.pointer("/registry/configPath").and_then(Value::as_str);
    if let Some(found) = registries.filter(|path| !path.split(':').any(|each| each == REGISTRIES))
        && (!cluster.registry_mirrors.is_empty() || cluster.registry_auth.is_some())
    {
        let what = format!(
            "containerd does not read {REGISTRIES}, where images.mirrors and logins are: its config_path is {found:?}"
        );
        findings.push(Finding::warning(
            CHECK,
            what,
            remedy(format!("the registry section's config_path = {REGISTRIES:?}")),
        ));
    }
    let plugins = config.pointer("/cni/binDir").and_then(Value::as_str);
    if let Some(directory) = plugins.filter(|directory| *directory != PLUGINS && cluster.addons.cni == Cni::Flannel) {
        let what =
            format!("containerd looks for CNI plugins in {directory}, but flannel installs its plugins in {PLUGINS}");
        findings.push(Finding::failure(CHECK, what, remedy(format!("the cni section's bin_dir = {PLUGINS:?}"))));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{context::testing::context, steps::preflight::Level};
    use serde_json::json;

    fn config(systemd: bool, plugins: &str) -> Value {
        json!({
            "containerd": {"defaultRuntimeName": "runc", "runtimes": {"runc": {"options": {"SystemdCgroup": systemd}}}},
            "cni": {"binDir": plugins},
        })
    }

    #[test]
    fn a_suitable_configuration_has_no_findings() {
        let (_dir, cx) = context();
        assert!(findings(&config(true, "/opt/cni/bin"), &cx.cluster).is_empty());
        assert!(findings(&Value::Null, &cx.cluster).is_empty(), "missing values are not checked");
    }

    #[test]
    fn overrides_by_an_imported_file_are_named() {
        let (_dir, cx) = crate::context::testing::context_of(
            "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nimages: {mirrors: [{registry: docker.io, urls: [\"https://m\"]}]}\n",
        );
        let mut config = config(true, "/opt/cni/bin");
        config["containerd"]["runtimes"]["nvidia"] = json!({"runtimeType": RUNC_TYPE, "options": {}});
        config["containerd"]["runtimes"]["kata"] = json!({"runtimeType": "io.containerd.kata.v2", "options": {}});
        config["registry"] = json!({"configPath": ""});
        let found = findings(&config, &cx.cluster);
        assert!(found.len() == 2 && found.iter().all(|f| f.level == Level::Warning), "{found:?}");
        assert!(found[0].what.contains("the runtime nvidia") && found[1].what.contains(REGISTRIES), "{found:?}");
        config["containerd"]["runtimes"]["nvidia"]["options"] = json!({"SystemdCgroup": true});
        config["registry"] = json!({"configPath": format!("{REGISTRIES}:/etc/docker/certs.d")});
        assert!(findings(&config, &cx.cluster).is_empty());
    }

    #[test]
    fn the_configuration_of_debian_is_refused_with_every_problem() {
        let (_dir, cx) = context();
        let found = findings(&config(false, "/usr/lib/cni"), &cx.cluster);
        let levels: Vec<Level> = found.iter().map(|f| f.level).collect();
        assert_eq!(levels, [Level::Failure, Level::Failure]);
        assert!(found[0].remedy.contains("SystemdCgroup = true"), "{}", found[0].remedy);
        assert!(found[1].what.contains("/usr/lib/cni"), "{}", found[1].what);
    }
}
