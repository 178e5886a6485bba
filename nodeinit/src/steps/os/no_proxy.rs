//! What is reached without the proxy of `os.proxy`.

use crate::context::Context;

/// Returns the value of `no_proxy`; `None` if there is no proxy.
pub(super) fn value(cx: &Context) -> Option<String> {
    let proxy = &cx.cluster.os.proxy;
    (proxy.http.is_some() || proxy.https.is_some()).then(|| list(cx).join(","))
}

/// Returns what is reached without a proxy: what is configured, the cluster's own ranges, and its machines.
pub(super) fn list(cx: &Context) -> Vec<String> {
    let cluster = &cx.cluster;
    let network = &cluster.network;
    let mut all = cluster.os.proxy.no.clone();
    let machines = cluster.masters.iter().chain(&cluster.workers).filter_map(|machine| machine.address);
    let endpoints = cluster.join_endpoints(cx.node.address);
    let own = ["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned(), ".svc".to_owned()];
    let ranges = [network.pod_cidr.to_string(), network.service_cidr.to_string(), format!(".{}", network.dns_domain)];
    let more = own.into_iter().chain(ranges).chain([cx.node.address.to_string()]);
    let more =
        more.chain(machines.map(|address| address.to_string())).chain(endpoints.into_iter().map(|each| each.host));
    for each in more {
        if !all.contains(&each) {
            all.push(each);
        }
    }
    all
}
