//! Kubeconfigs, as kubeadm writes them (`phases/kubeconfig`, `util/kubeconfig`).

use super::{RenderError, Renderer, paths, values::url_host, yaml};
use base64::{Engine, engine::general_purpose::STANDARD};
use nodeinit_config::{
    Cluster, Secret,
    cluster::{API_PORT, Role},
};
use serde_json::{Value, json};

/// The user of a kubeconfig with its own certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// Administrators: `admin.conf`.
    Admin,
    /// Administrators if RBAC is broken: `super-admin.conf`.
    SuperAdmin,
    /// `controller-manager.conf`.
    ControllerManager,
    /// `scheduler.conf`.
    Scheduler,
    /// nodeinit's agent: `nodeinit-agent.conf`.
    Agent,
}

impl User {
    /// All users.
    pub const ALL: [Self; 5] = [Self::Admin, Self::SuperAdmin, Self::ControllerManager, Self::Scheduler, Self::Agent];

    /// Returns the users that a master of this cluster has.
    pub fn of(cluster: &Cluster) -> impl Iterator<Item = Self> {
        let has_agent = cluster.agent.enabled;
        Self::ALL.into_iter().filter(move |user| *user != Self::Agent || has_agent)
    }

    /// Returns the file's name in [`paths::KUBERNETES`].
    #[must_use]
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Admin => "admin.conf",
            Self::SuperAdmin => "super-admin.conf",
            Self::ControllerManager => "controller-manager.conf",
            Self::Scheduler => "scheduler.conf",
            Self::Agent => "nodeinit-agent.conf",
        }
    }

    /// Returns the user's name: the common name of its certificate.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Admin => "kubernetes-admin",
            Self::SuperAdmin => "kubernetes-super-admin",
            Self::ControllerManager => "system:kube-controller-manager",
            Self::Scheduler => "system:kube-scheduler",
            Self::Agent => "nodeinit:agent",
        }
    }
}

/// Renders a kubeconfig with its user's certificate and key. Administrators use the cluster's endpoint, components this machine's
/// API server. `ca`, `certificate` and `key` are PEM.
///
/// # Errors
/// [`RenderError::Emit`].
pub fn with_certificate(
    renderer: &Renderer<'_>,
    user: User,
    ca: &str,
    certificate: &str,
    key: &Secret<String>,
) -> Result<Secret<String>, RenderError> {
    let server = match user {
        User::Admin | User::SuperAdmin => endpoint_server(renderer),
        User::ControllerManager | User::Scheduler | User::Agent => local_server(renderer),
    };
    let credentials = json!({
        "client-certificate-data": STANDARD.encode(certificate),
        "client-key-data": STANDARD.encode(key.expose()),
    });
    config(renderer, user.file_name(), &server, ca, user.name(), credentials).map(Secret::new)
}

/// Renders `kubelet.conf`: on a master it uses its own API server, on a worker the endpoint. It names
/// [`paths::KUBELET_CLIENT_CURRENT`] instead of containing a certificate, because the kubelet renews that file. kubeadm writes the
/// same text after one more restart of the kubelet (`kubelet-finalize`).
///
/// # Errors
/// [`RenderError::Emit`].
pub fn kubelet(renderer: &Renderer<'_>, ca: &str) -> Result<String, RenderError> {
    let credentials = json!({
        "client-certificate": paths::KUBELET_CLIENT_CURRENT,
        "client-key": paths::KUBELET_CLIENT_CURRENT,
    });
    let user = format!("system:node:{}", renderer.node.name);
    let server = match renderer.node.role {
        Role::Worker | Role::Bastion => endpoint_server(renderer),
        Role::FirstMaster | Role::Master => local_server(renderer),
    };
    config(renderer, "kubelet.conf", &server, ca, &user, credentials)
}

/// Renders the text of the ConfigMap `cluster-info`: what a machine needs to know before it joins.
///
/// # Errors
/// [`RenderError::Emit`].
pub fn cluster_info(renderer: &Renderer<'_>, ca: &str) -> Result<String, RenderError> {
    let cluster = json!({"certificate-authority-data": STANDARD.encode(ca), "server": endpoint_server(renderer)});
    let info = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "", "cluster": cluster}],
        "contexts": null,
        "current-context": "",
        "users": null,
    });
    yaml::text("cluster-info", &info)
}

fn config(
    renderer: &Renderer<'_>,
    what: &str,
    server: &str,
    ca: &str,
    user: &str,
    credentials: Value,
) -> Result<String, RenderError> {
    let name = &renderer.cluster.name;
    let context = format!("{user}@{name}");
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{
            "name": name,
            "cluster": {"certificate-authority-data": STANDARD.encode(ca), "server": server},
        }],
        "contexts": [{"name": context, "context": {"cluster": name, "user": user}}],
        "current-context": context,
        "users": [{"name": user, "user": credentials}],
    });
    yaml::text(what, &config)
}

fn endpoint_server(renderer: &Renderer<'_>) -> String {
    format!("https://{}", renderer.cluster.endpoint(renderer.node.address))
}

fn local_server(renderer: &Renderer<'_>) -> String {
    format!("https://{}:{API_PORT}", url_host(&renderer.node.address.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::testing::*;

    #[test]
    fn kubeconfigs_match_their_golden_files() {
        let mut fixture = Fixture::new();
        fixture.cluster.control_plane.endpoint =
            Some(nodeinit_config::cluster::Endpoint { host: "api.example.org".into(), port: 443 });
        let key = Secret::new("KEY".to_owned());
        for user in User::ALL {
            let text = with_certificate(&fixture.renderer(), user, "CA", "CERTIFICATE", &key).unwrap();
            golden(user.file_name(), text.expose());
        }
        golden("kubelet.conf", &kubelet(&fixture.renderer(), "CA").unwrap());
        golden("cluster-info.conf", &cluster_info(&fixture.renderer(), "CA").unwrap());
    }

    #[test]
    fn without_an_endpoint_administrators_use_the_first_master() {
        let fixture = Fixture::new();
        let text = cluster_info(&fixture.renderer(), "CA").unwrap();
        assert!(text.contains("server: https://10.77.0.11:6443\n"), "{text}");
    }
}
