//! Checks of a bastion, which runs nothing of Kubernetes.

use super::{Finding, clocks, machine};
use crate::{
    context::Context,
    engine::error::StepError,
    host::{commands::is_installed, systemd},
    steps::bastion::{interfaces, service_obstacle, sshd_obstacle},
};

/// Runs all checks.
pub(super) async fn findings(cx: &Context) -> Vec<Finding> {
    let (clock, sshd, firewalld) = tokio::join!(clocks::accepted(cx), sshd(cx), firewalld(cx));
    let mut programs = nft();
    programs.extend(service_obstacle(cx).iter().map(|error| failure("services", error)));
    if !cx.cluster.os.packages.install.is_empty() {
        // They may be packages that `up` installs; the steps that need them report what is still missing.
        programs.clear();
    }
    [machine::root(cx), machine::ipv6(cx), clocks::local(cx), clock, programs, network(cx), sshd, firewalld, ufw(cx)]
        .concat()
}

fn failure(check: &'static str, error: &StepError) -> Finding {
    let causes = error.causes().into_iter().map(|cause| format!(": {cause}"));
    let what = causes.fold(error.to_string(), |what, cause| what + &cause);
    Finding::failure(check, what, error.advice().unwrap_or("fix it"))
}

fn nft() -> Vec<Finding> {
    let what = "`nft`, which sets up NAT for the private network, is not installed";
    if is_installed("nft") { Vec::new() } else { vec![Finding::failure("nftables", what, "install nftables")] }
}

fn network(cx: &Context) -> Vec<Finding> {
    interfaces(cx).err().iter().map(|error| failure("network", error)).collect()
}

async fn sshd(cx: &Context) -> Vec<Finding> {
    const CHECK: &str = "sshd";
    match sshd_obstacle(cx).await {
        // Their keys are added before the step that needs one, which looks again.
        Ok(Some(_)) if !cx.cluster.os.users.is_empty() => Vec::new(),
        Ok(obstacle) => obstacle.into_iter().map(|(what, remedy)| Finding::failure(CHECK, what, remedy)).collect(),
        Err(error) => vec![failure(CHECK, &error)],
    }
}

/// A packet passes only if the rules of both accept it.
async fn firewalld(cx: &Context) -> Vec<Finding> {
    if !systemd::unit(&cx.commands, "firewalld.service").await.is_ok_and(|unit| unit.active) {
        return Vec::new();
    }
    let remedy = "`systemctl disable --now firewalld`, or let its zones forward the private network";
    vec![Finding::warning("firewall", "firewalld is active, and may drop what the bastion forwards", remedy)]
}

fn ufw(cx: &Context) -> Vec<Finding> {
    let text = match cx.files.read_text("/etc/ufw/ufw.conf") {
        Ok(text) => text.unwrap_or_default(),
        Err(e) => return vec![Finding::blind("firewall", &e)],
    };
    if !text.lines().any(|line| line.trim().eq_ignore_ascii_case("enabled=yes")) {
        return Vec::new();
    }
    let remedy = "`ufw default allow routed`, or `ufw disable`";
    vec![Finding::warning("firewall", "ufw is enabled, and may drop what the bastion forwards", remedy)]
}
