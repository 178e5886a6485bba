//! The host name, and the names of machines in `/etc/hosts`.

use super::{full_name, item::Item, want::Want};
use crate::{context::Context, engine::error::StepError};
use nodeinit_config::cluster::HostName;
use std::{collections::BTreeMap, fmt::Write, net::IpAddr};

/// Where cloud-init reads that it must not set the host name at the next boot.
const CLOUD: &str = "/etc/cloud/cloud.cfg.d";

pub(super) const HOST_NAME: Item = Item { name: "os-host-name", title: "set the host name", wants: host_name };
pub(super) const HOSTS: Item = Item { name: "os-hosts", title: "list machines in /etc/hosts", wants: hosts };

fn host_name(cx: &Context) -> Result<Vec<Want>, StepError> {
    if cx.cluster.os.host_name == HostName::Keep {
        return Ok(Vec::new());
    }
    let name = &cx.node.name;
    let mut wants = vec![Want::file("/etc/hostname", format!("{name}\n"))];
    if cx.files.exists(CLOUD) {
        let text = "# Written by nodeinit, which sets the host name.\npreserve_hostname: true\n";
        wants.push(Want::file(format!("{CLOUD}/99-nodeinit.cfg"), text));
    }
    wants.push(Want::set("sysctl kernel.hostname", name));
    wants.push(Want::notice(&["systemctl", "try-restart", "systemd-hostnamed.service"]));
    Ok(wants)
}

fn hosts(cx: &Context) -> Result<Vec<Want>, StepError> {
    let os = &cx.cluster.os;
    if !os.hosts.machines && os.hosts.extra.is_empty() && os.domain.is_none() {
        return Ok(Vec::new());
    }
    let mut names: BTreeMap<&str, IpAddr> =
        os.hosts.extra.iter().map(|(name, address)| (name.as_str(), *address)).collect();
    if os.hosts.machines {
        for machine in cx.cluster.masters.iter().chain(&cx.cluster.workers) {
            names.extend(machine.address.map(|address| (machine.name.as_str(), address)));
        }
    }
    names.insert(&cx.node.name, cx.node.address);
    let mut wants = Vec::new();
    if cx.files.exists(CLOUD) {
        let text =
            "# Written by nodeinit: cloud-init would write /etc/hosts again at each boot.\nmanage_etc_hosts: false\n";
        wants.push(Want::file(format!("{CLOUD}/99-nodeinit-hosts.cfg"), text));
    }
    let mut text = String::new();
    for (name, address) in names {
        let full = full_name(cx, name);
        // Writing to a String does not fail.
        let _ =
            if full == name { writeln!(text, "{address} {name}") } else { writeln!(text, "{address} {full} {name}") };
    }
    wants.push(Want::set("section /etc/hosts", text));
    Ok(wants)
}
