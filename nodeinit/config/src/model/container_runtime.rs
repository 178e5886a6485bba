//! containerd.

use super::{
    Document,
    declare::{Verdict, keys, place::Place},
    texts::{NoProxy, Url},
};

keys! {
    /// containerd on every machine.
    #[derive(Default, Eq)]
    pub struct ContainerRuntime {
        /// `true`: nodeinit installs containerd if it is missing, and sets what Kubernetes needs in its configuration. `false`: nodeinit
        /// only checks containerd.
        "manage" manage: Option<bool>, else "`true` if containerd is not installed, else `false`", example "true", to all;
        /// Proxies through which containerd pulls images, on machines where nodeinit manages containerd.
        "proxy" proxy: Proxy, to all;
    }
}

keys! {
    /// Proxies through which containerd pulls images.
    #[derive(Default, Eq)]
    pub struct Proxy {
        /// The proxy for registries with `http://`.
        "http" http: Option<String> as Option<Url>, else "that of `os.proxy`" (os_http), example "\"http://proxy.example.org:3128\"", to all;
        /// The proxy for registries with `https://`.
        "https" https: Option<String> as Option<Url>, else "that of `os.proxy`" (os_https), example "\"http://proxy.example.org:3128\"", to all;
        /// Hosts, domains and networks that are reached without a proxy.
        "noProxy" no: Vec<String> as Vec<NoProxy>, else "those of `os.proxy`" (os_no), example "[10.0.0.0/8, .example.org]", to all;
    }
}

fn os_http(all: &Place<'_, Document>) -> Option<Option<String>> {
    Some(all.os().proxy().http().value())
}

fn os_https(all: &Place<'_, Document>) -> Option<Option<String>> {
    Some(all.os().proxy().https().value())
}

fn os_no(all: &Place<'_, Document>) -> Option<Vec<String>> {
    all.os().proxy().no().value()
}

/// Warns about settings of a containerd that nodeinit does not manage.
pub(super) fn unmanaged(place: &Place<'_, ContainerRuntime>, verdict: &mut Verdict<'_>) {
    if place.manage().value() != Some(false) {
        return;
    }
    let mirrors = place.all().images().mirrors();
    let (http, https) = (place.proxy().http(), place.proxy().https());
    let proxies = [(http.path.clone(), http.written()), (https.path.clone(), https.written())];
    let mirrors = (mirrors.path.clone(), mirrors.written());
    for (path, node) in [mirrors].into_iter().chain(proxies) {
        if let Some(node) = node.filter(|node| !node.items().is_empty() || node.scalar().is_some()) {
            let what =
                "no effect: containerRuntime.manage is false, so nodeinit does not write containerd's configuration";
            let remedy = "set containerRuntime.manage to true, or configure containerd yourself";
            verdict.errors.add(node.at, &path, what, remedy);
        }
    }
}
