//! Checks protections of this machine that can break a cluster: firewalls, SELinux, AppArmor.

use super::Finding;
use crate::{
    context::Context,
    host::{commands::is_installed, files::FileError, systemd},
};
use nodeinit_config::cluster::Role;

/// The TCP ports to which other machines connect. Source: "Ports and Protocols" in the documentation of Kubernetes.
const MASTER_PORTS: [&str; 3] = ["6443", "2379-2380", "10250"];
const WORKER_PORTS: [&str; 1] = ["10250"];

/// The UDP port of flannel's VXLAN. Source: `backend/vxlan` of flannel, Linux' default.
const VXLAN_PORT: &str = "8472";

/// Where SELinux keeps the modules of the active policy; `container` is from container-selinux.
const CONTAINER_POLICIES: [&str; 3] = [
    "/var/lib/selinux/targeted/active/modules/200/container",
    "/var/lib/selinux/targeted/active/modules/100/container",
    "/etc/selinux/targeted/active/modules/200/container",
];

fn ports(cx: &Context) -> &'static [&'static str] {
    if cx.node.role == Role::Worker { &WORKER_PORTS } else { &MASTER_PORTS }
}

/// Warns only, as kubeadm does: it is unknown which ports its zones open. Source: `FirewalldCheck` in kubeadm's `checks.go`.
pub(super) async fn firewalld(cx: &Context) -> Vec<Finding> {
    // Other checks report a systemd that does not answer.
    if !systemd::unit(&cx.commands, "firewalld.service").await.is_ok_and(|unit| unit.active) {
        return Vec::new();
    }
    let tcp: String = ports(cx).iter().map(|port| format!(" --add-port={port}/tcp")).collect();
    let pods = &cx.cluster.network.pod_cidr;
    let remedy = format!(
        "run `firewall-cmd --permanent{tcp} --add-port={VXLAN_PORT}/udp`, `firewall-cmd --permanent --zone=trusted --add-source={pods}` and \
         `firewall-cmd --reload`; or `systemctl disable --now firewalld`"
    );
    vec![Finding::warning("firewall", "firewalld is active, and may close ports that Kubernetes needs", remedy)]
}

pub(super) fn ufw(cx: &Context) -> Vec<Finding> {
    let text = match cx.files.read_text("/etc/ufw/ufw.conf") {
        Ok(text) => text.unwrap_or_default(),
        Err(e) => return vec![Finding::blind("firewall", &e)],
    };
    if !text.lines().any(|line| line.trim().eq_ignore_ascii_case("enabled=yes")) {
        return Vec::new();
    }
    let tcp: String = ports(cx).iter().map(|port| format!("`ufw allow {}/tcp`, ", port.replace('-', ":"))).collect();
    let pods = &cx.cluster.network.pod_cidr;
    let remedy = format!(
        "run {tcp}`ufw allow {VXLAN_PORT}/udp`, `ufw allow from {pods}` and `ufw default allow routed`; or `ufw disable`"
    );
    vec![Finding::warning("firewall", "ufw is enabled, and may close ports that Kubernetes needs", remedy)]
}

pub(super) fn selinux(cx: &Context) -> Vec<Finding> {
    match is_one(cx, "/sys/fs/selinux/enforce") {
        Ok(false) => Vec::new(),
        Ok(true) if CONTAINER_POLICIES.iter().any(|path| cx.files.exists(path)) => Vec::new(),
        Ok(true) => vec![Finding::warning(
            "selinux",
            "SELinux is enforcing, and container-selinux is not installed: pods may not read their volumes",
            "install the policy (Rocky: `dnf install container-selinux`, SUSE: `zypper install container-selinux`), or run `setenforce 0` and set \
             SELINUX=permissive in /etc/selinux/config",
        )],
        Err(e) => vec![Finding::blind("selinux", &e)],
    }
}

/// containerd gives pods a profile only with the parser. Source: `pkg/apparmor` of containerd.
pub(super) fn apparmor(cx: &Context) -> Vec<Finding> {
    match is_one(cx, "/sys/module/apparmor/parameters/enabled") {
        Ok(true) if !is_installed("apparmor_parser") => vec![Finding::warning(
            "apparmor",
            "the kernel has AppArmor, but there is no apparmor_parser: pods run without a profile",
            "install it (Debian, Ubuntu: `apt install apparmor`, SUSE: `zypper install apparmor-parser`) before `nodeinit up`",
        )],
        Ok(_) => Vec::new(),
        Err(e) => vec![Finding::blind("apparmor", &e)],
    }
}

/// Whether this file of the kernel contains a true value.
fn is_one(cx: &Context, path: &str) -> Result<bool, FileError> {
    Ok(cx.files.read_text(path)?.is_some_and(|text| ["1", "Y"].contains(&text.trim())))
}
