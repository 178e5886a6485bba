//! Name servers and search domains, through the program that manages them on this machine.

use super::{item::Item, want::Want};
use crate::{
    context::Context,
    engine::error::StepError,
    host::files::{FileError, Files},
};
use std::path::{Path, PathBuf};

const CONFIG: &str = "/etc/resolv.conf";
const RESOLVED: &str = "/etc/systemd/resolved.conf.d/50-nodeinit.conf";
const NETWORK_MANAGER: &str = "/etc/NetworkManager/conf.d/90-nodeinit.conf";

pub(super) const ITEM: Item = Item { name: "os-dns", title: "set name servers and search domains", wants };

fn wants(cx: &Context) -> Result<Vec<Want>, StepError> {
    let dns = &cx.cluster.os.dns;
    if dns.servers.is_empty() && dns.search.is_empty() {
        return Ok(Vec::new());
    }
    let servers: Vec<String> = dns.servers.iter().map(ToString::to_string).collect();
    let link = cx.files.link_target(CONFIG.as_ref()).unwrap_or_default();
    if link.to_string_lossy().contains("systemd/resolve") {
        let mut text = "# Written by nodeinit.\n[Resolve]\n".to_owned();
        for (key, values) in [("DNS", &servers), ("Domains", &dns.search)] {
            if !values.is_empty() {
                text += &format!("{key}={}\n", values.join(" "));
            }
        }
        return Ok(vec![
            Want::file(RESOLVED, text),
            Want::notice(&["systemctl", "restart", "systemd-resolved.service"]),
        ]);
    }
    if cx.files.exists("/run/NetworkManager") && !leaves_resolv_conf(&cx.files)? {
        if servers.is_empty() {
            let what = "os.dns: NetworkManager uses search domains only together with name servers";
            return Err(StepError::new(what).hint("also write `os.dns.servers`"));
        }
        let mut text = "# Written by nodeinit.\n[global-dns]\n".to_owned();
        if !dns.search.is_empty() {
            text += &format!("searches={}\n", dns.search.join(","));
        }
        text += &format!("\n[global-dns-domain-*]\nservers={}\n", servers.join(","));
        return Ok(vec![Want::file(NETWORK_MANAGER, text), Want::reload("NetworkManager.service")]);
    }
    // What is not configured stays.
    let old = cx.files.read_text(CONFIG)?.unwrap_or_default();
    let replaced = |line: &str| {
        let key = line.split_whitespace().next().unwrap_or_default();
        (key == "nameserver" && !servers.is_empty()) || (matches!(key, "search" | "domain") && !dns.search.is_empty())
    };
    let mut text: String = servers.iter().map(|server| format!("nameserver {server}\n")).collect();
    if !dns.search.is_empty() {
        text += &format!("search {}\n", dns.search.join(" "));
    }
    text.extend(old.lines().filter(|line| !replaced(line)).map(|line| format!("{line}\n")));
    Ok(vec![Want::file(CONFIG, text)])
}

/// Whether NetworkManager leaves resolv.conf to others, as cloud-init configures it with name servers of its own. Source: NetworkManager.conf(5).
fn leaves_resolv_conf(files: &Files) -> Result<bool, FileError> {
    let mut paths = vec![PathBuf::from("/etc/NetworkManager/NetworkManager.conf")];
    for directory in ["/usr/lib", "/run", "/etc"].map(|root| Path::new(root).join("NetworkManager/conf.d")) {
        let names = files.list(&directory)?.into_iter().filter(|name| name.ends_with(".conf"));
        paths.extend(names.map(|name| directory.join(name)));
    }
    for path in paths {
        let text = files.read_text(&path)?.unwrap_or_default().replace(' ', "");
        if text.lines().any(|line| ["dns=none", "rc-manager=unmanaged"].contains(&line)) {
            return Ok(true);
        }
    }
    Ok(false)
}
