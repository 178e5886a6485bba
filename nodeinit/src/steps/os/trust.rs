//! Trusted CAs, and proxies for the kubelet, package managers and shells.

use super::{item::Item, no_proxy, want::Want};
use crate::{context::Context, engine::error::StepError, os::distribution, render::containerd};
use nodeinit_base::sha256_hex;
use nodeinit_config::cluster::Proxy;

const KUBELET: &str = "/etc/systemd/system/kubelet.service.d/50-nodeinit-proxy.conf";
const SHELLS: &str = "/etc/profile.d/nodeinit-proxy.sh";
const APT: &str = "/etc/apt/apt.conf.d";
const DNF: &str = "/etc/dnf/dnf.conf";
const SUSE: &str = "/etc/sysconfig/proxy";

pub(super) const CAS: Item = Item { name: "os-cas", title: "trust CA certificates", wants: cas };
pub(super) const PROXY: Item = Item { name: "os-proxy", title: "set proxies", wants: proxy };

fn cas(cx: &Context) -> Result<Vec<Want>, StepError> {
    let (directory, suffix, program) = distribution(&cx.files)?.trust;
    // The name depends on the content, so that the order of the list does not matter.
    let file = |pem: &String| {
        let text = format!("{}\n", pem.trim_end());
        Want::file(format!("{directory}/nodeinit-{}.{suffix}", &sha256_hex(text.as_bytes())[..16]), text)
    };
    let mut wants: Vec<Want> = cx.cluster.os.trusted_cas.iter().map(file).collect();
    if !wants.is_empty() {
        wants.push(Want::notice(&[program]));
    }
    Ok(wants)
}

fn proxy(cx: &Context) -> Result<Vec<Want>, StepError> {
    let own = &cx.cluster.os.proxy;
    let Some(no) = no_proxy::value(cx) else { return Ok(Vec::new()) };
    let proxy = Proxy { no: no_proxy::list(cx), ..own.clone() };
    let pairs = [("http_proxy", &proxy.http), ("https_proxy", &proxy.https), ("no_proxy", &Some(no))];
    let exports = pairs.iter().filter_map(|(name, value)| {
        let value = value.as_ref()?.replace('\'', "%27");
        Some(format!("export {name}='{value}' {}='{value}'\n", name.to_uppercase()))
    });
    let service = containerd::proxy(&proxy).replace("containerRuntime.proxy", "os.proxy");
    let mut wants = vec![
        Want::file(SHELLS, format!("# Written by nodeinit.\n{}", exports.collect::<String>())),
        Want::file(KUBELET, service),
    ];
    if cx.files.exists(APT) {
        let lines = [("http", &proxy.http), ("https", &proxy.https)];
        let lines =
            lines.iter().filter_map(|(kind, url)| Some(format!("Acquire::{kind}::Proxy \"{}\";\n", url.as_ref()?)));
        wants.push(Want::file(format!("{APT}/95nodeinit-proxy"), lines.collect::<String>()));
    }
    if let Some(url) = proxy.https.as_ref().or(proxy.http.as_ref()).filter(|_| cx.files.exists(DNF)) {
        wants.push(Want::set(format!("line {DNF} proxy"), url));
    }
    if cx.files.exists(SUSE) {
        wants.push(Want::set(format!("line {SUSE} PROXY_ENABLED"), "yes"));
        for (name, value) in pairs {
            wants.extend(value.as_ref().map(|value| Want::set(format!("line {SUSE} {}", name.to_uppercase()), value)));
        }
    }
    // The kubelet reads it at its next start.
    wants.push(Want::notice(&["systemctl", "daemon-reload"]));
    Ok(wants)
}
