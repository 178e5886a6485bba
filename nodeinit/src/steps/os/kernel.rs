//! The settings of the kernel that bastions have, too: IPv6, and the limit of open files.

use super::{item::Item, want::Want};
use crate::{context::Context, engine::error::StepError, host::kernel};
use nodeinit_config::cluster::Ipv6;
use std::{collections::BTreeSet, path::Path};

pub(super) const IPV6: Item = Item { name: "os-ipv6", title: "enable or disable IPv6", wants: ipv6 };
pub(super) const LIMITS: Item = Item { name: "os-limits", title: "set the limit of open files", wants: limits };

/// The parameters that disable IPv6.
const DISABLE_IPV6: [&str; 2] = ["net.ipv6.conf.all.disable_ipv6", "net.ipv6.conf.default.disable_ipv6"];

/// The state of the interfaces that systemd-networkd manages. Source: systemd `networkd-state-file.c`.
const LINKS: &str = "/run/systemd/netif/links";

/// The maximum of a limit of open files, and the kernel's default of it.
const MAXIMUM: (&str, u64) = ("fs.nr_open", 1 << 20);

fn ipv6(cx: &Context) -> Result<Vec<Want>, StepError> {
    let disabled = match cx.cluster.os.ipv6 {
        Ipv6::Keep => return Ok(Vec::new()),
        Ipv6::On => "0",
        Ipv6::Off => "1",
    };
    let mut wants =
        parameters(cx, "/etc/sysctl.d/98-nodeinit-ipv6.conf", DISABLE_IPV6.map(|key| (key, disabled.to_owned())))?;
    if cx.cluster.os.ipv6 == Ipv6::Off {
        wants.extend(networkd_drop_ins(cx)?);
    }
    Ok(wants)
}

/// At boot, systemd-networkd enables IPv6 on each interface that it configures, unless the interface's file says otherwise. Until then, the
/// parameters suffice, so networkd need not read the drop-ins now. Source: systemd.network(5); systemd `networkd-sysctl.c`.
fn networkd_drop_ins(cx: &Context) -> Result<Vec<Want>, StepError> {
    let mut names = BTreeSet::new();
    for link in cx.files.list(LINKS)? {
        let text = cx.files.read_text(Path::new(LINKS).join(link))?.unwrap_or_default();
        let file = text.lines().find_map(|line| line.strip_prefix("NETWORK_FILE=")).map(Path::new);
        names.extend(file.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned()));
    }
    let text = "# Written by nodeinit.\n[Network]\nLinkLocalAddressing=no\nIPv6AcceptRA=no\n";
    Ok(names.iter().map(|name| Want::file(format!("/etc/systemd/network/{name}.d/98-nodeinit.conf"), text)).collect())
}

fn limits(cx: &Context) -> Result<Vec<Want>, StepError> {
    let Some(number) = cx.cluster.os.open_files else { return Ok(Vec::new()) };
    let (key, default) = MAXIMUM;
    let mut wants = Vec::new();
    if number > default {
        // First: pam_limits ends a login whose limit is above the maximum. systemd has raised the maximum on most machines.
        let now = kernel::sysctl(&cx.files, key)?.and_then(|now| now.parse().ok());
        let value = now.map_or(number, |now: u64| now.max(number)).to_string();
        wants = parameters(cx, "/etc/sysctl.d/98-nodeinit-files.conf", [(key, value)])?;
    }
    let services = format!("# Written by nodeinit.\n[Manager]\nDefaultLimitNOFILE={number}\n");
    let lines = ["*", "root"].map(|who| format!("{who} soft nofile {number}\n{who} hard nofile {number}\n"));
    wants.extend([
        Want::file("/etc/systemd/system.conf.d/50-nodeinit.conf", services),
        Want::file("/etc/security/limits.d/50-nodeinit.conf", format!("# Written by nodeinit.\n{}", lines.concat())),
        Want::notice(&["systemctl", "daemon-reexec"]),
    ]);
    Ok(wants)
}

/// Sets kernel parameters, now and at each boot: those that this kernel has, and that `os.sysctls` does not have.
fn parameters<const N: usize>(cx: &Context, file: &str, wanted: [(&str, String); N]) -> Result<Vec<Want>, StepError> {
    let (mut lines, mut settings) = ("# Written by nodeinit.\n".to_owned(), Vec::new());
    for (key, value) in wanted {
        if kernel::sysctl(&cx.files, key)?.is_some() && !cx.cluster.os.sysctls.contains_key(key) {
            lines += &format!("{key} = {value}\n");
            settings.push(Want::set(format!("sysctl {key}"), value));
        }
    }
    if !settings.is_empty() {
        settings.insert(0, Want::file(file, lines));
    }
    Ok(settings)
}
