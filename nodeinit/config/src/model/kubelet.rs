//! The configuration of the kubelet and of kube-proxy.

use super::{
    declare::{Verdict, keys, place::Place},
    reserved::{KUBE_PROXY_RESERVED, KUBELET_RESERVED},
};
use serde_json::{Map, Value};

keys! {
    /// The kubelet on every machine.
    pub(crate) struct Kubelet as Map<String, Value>, by kubelet {
        /// Keys of `KubeletConfiguration` merged over nodeinit's own.
        "config" config: Map<String, Value>,
            example "{maxPods: 200}", reserved KUBELET_RESERVED, to all;
    }
}

keys! {
    /// kube-proxy on every machine.
    pub(crate) struct KubeProxy as Map<String, Value>, by kube_proxy {
        /// Keys of `KubeProxyConfiguration` merged over nodeinit's own.
        "config" config: Map<String, Value>,
            example "{mode: nftables}", reserved KUBE_PROXY_RESERVED, to masters => mode;
    }
}

fn kubelet(keys: Kubelet) -> Option<Map<String, Value>> {
    Some(keys.config)
}

fn kube_proxy(keys: KubeProxy) -> Option<Map<String, Value>> {
    Some(keys.config)
}

fn mode(place: &Place<'_, Map<String, Value>>, verdict: &mut Verdict<'_>) {
    let Some(release) = place.all().release(verdict.releases) else { return };
    let mode = place.value_of("mode");
    let Some(text) = mode.written().and_then(|node| node.scalar()) else { return };
    if let Some(remedy) = release.deprecated_proxy_modes.get(text) {
        let what = format!("Kubernetes {} deprecates the mode {text}", release.name());
        mode.report(&mut verdict.warnings, what, remedy);
    }
}
