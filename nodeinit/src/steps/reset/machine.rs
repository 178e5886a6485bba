//! The running machine: services, pods, mounts, interfaces, kernel settings, images.

use crate::{
    api::cri::{self, Cri, Sandbox},
    context::{Context, blocking},
    engine::{
        error::{Exit, StepError},
        step::{State, Step},
    },
    host::{kernel, net, systemd},
    steps::virtual_address::RECORDED_AS,
};
use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use std::{
    net::IpAddr,
    path::{Path, PathBuf},
    time::Duration,
};

/// One command may take this long.
const LIMIT: Duration = Duration::from_secs(60);

/// Step `stop-kubelet`: it would start again what is removed.
pub struct Kubelet;

#[async_trait(?Send)]
impl Step for Kubelet {
    fn name(&self) -> String {
        "stop-kubelet".into()
    }

    fn needs(&self) -> Vec<String> {
        vec!["leave-etcd".into()]
    }

    fn title(&self) -> String {
        "stop and disable the kubelet".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        Ok(State::of(cx.journal.state().units.iter().map(|unit| format!("stop and disable {unit}")).collect()))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        for unit in cx.journal.state().units {
            systemd::stop(&cx.commands, &unit).await?;
            systemd::disable(&cx.commands, &unit).await?;
        }
        Ok(())
    }
}

/// Step `remove-pods`: every pod of the kubelet that we started.
pub struct Pods;

#[async_trait(?Send)]
impl Step for Pods {
    fn name(&self) -> String {
        "remove-pods".into()
    }

    fn needs(&self) -> Vec<String> {
        vec!["stop-kubelet".into()]
    }

    fn title(&self) -> String {
        "stop and remove the pods".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        if cx.journal.state().units.is_empty() {
            return Ok(State::Done);
        }
        let pods = sandboxes().await?.1.len();
        Ok(if pods == 0 { State::Done } else { State::needed(format!("stop and remove {pods} pods")) })
    }

    async fn apply(&self, _: &Context) -> Result<(), StepError> {
        let (cri, pods) = sandboxes().await?;
        let removals = stream::iter(pods).map(|pod| {
            let cri = &cri;
            async move { cri.remove_sandbox(&pod.id).await }
        });
        let results: Vec<_> = removals.buffer_unordered(8).collect().await;
        let failed = |e| StepError::caused("cannot remove a pod", e).exit(Exit::TryAgain);
        results.into_iter().collect::<Result<(), _>>().map_err(failed)
    }
}

async fn sandboxes() -> Result<(Cri, Vec<Sandbox>), StepError> {
    let find = async {
        let cri = Cri::connect(cri::SOCKET).await?;
        let pods = cri.sandboxes().await?;
        Ok::<_, cri::CriError>((cri, pods))
    };
    find.await.map_err(|e| {
        let hint = "start it (`systemctl start containerd`), then run `nodeinit reset` again";
        StepError::caused("the pods of this machine cannot be removed", e).exit(Exit::TryAgain).hint(hint)
    })
}

/// Step `unmount`: what the kubelet and the runtime mounted below directories that are ours. Done before anything is
/// removed there, so that nothing behind a mount is touched.
pub struct Mounts;

#[async_trait(?Send)]
impl Step for Mounts {
    fn name(&self) -> String {
        "unmount".into()
    }

    fn needs(&self) -> Vec<String> {
        vec!["remove-pods".into()]
    }

    fn title(&self) -> String {
        "unmount the pods' volumes".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        Ok(State::of(mounts(cx)?.iter().map(|path| format!("unmount {}", path.display())).collect()))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        for path in mounts(cx)? {
            nix::mount::umount2(&path, nix::mount::MntFlags::MNT_DETACH)
                .map_err(|e| StepError::caused(format!("cannot unmount {}", path.display()), e))?;
        }
        Ok(())
    }
}

/// The mounts below our trees, innermost first. A tree that is itself a mount was there before us.
fn mounts(cx: &Context) -> Result<Vec<PathBuf>, StepError> {
    let trees = cx.journal.state().trees;
    let table = cx.files.read_text("/proc/self/mountinfo")?.unwrap_or_default();
    let mut mounts: Vec<PathBuf> = table
        .lines()
        .filter_map(|line| line.split(' ').nth(4))
        .map(unescape)
        .filter(|mount| trees.keys().any(|tree| mount.starts_with(tree) && mount != tree))
        .collect();
    mounts.sort();
    mounts.reverse();
    Ok(mounts)
}

/// Source: proc(5), mountinfo: space, tab, newline and backslash are octal.
fn unescape(text: &str) -> PathBuf {
    let plain = text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\");
    PathBuf::from(plain)
}

/// Step `remove-network`: interfaces of the pod network that were not there before, the virtual address, and the chains of
/// kube-proxy and the pod network in iptables.
pub struct Network;

/// Interfaces that flannel and the bridge plugin make.
const INTERFACES: [&str; 4] = ["cni0", "flannel.1", "flannel-v6.1", "kube-ipvs0"];

/// Chains of the kubelet, kube-proxy, the CNI plugins and flannel begin with these.
const CHAINS: [&str; 3] = ["KUBE-", "CNI-", "FLANNEL-"];

#[async_trait(?Send)]
impl Step for Network {
    fn name(&self) -> String {
        "remove-network".into()
    }

    fn needs(&self) -> Vec<String> {
        vec!["unmount".into()]
    }

    fn title(&self) -> String {
        "remove the pod network's interfaces and iptables chains".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let mut changes: Vec<String> = interfaces(cx)?.iter().map(|i| format!("delete interface {i}")).collect();
        changes.extend(virtual_address(cx)?.map(|(address, on)| format!("take {address} from {on}")));
        for family in ["iptables", "ip6tables"] {
            if foreign_rules(cx, family).await?.is_some() {
                changes.push(format!("remove the chains of Kubernetes from {family}"));
            }
        }
        Ok(State::of(changes))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        for interface in interfaces(cx)? {
            cx.commands.run(&["ip", "link", "delete", &interface], LIMIT).await?;
        }
        if let Some((address, on)) = virtual_address(cx)? {
            let prefix = if address.is_ipv4() { 32 } else { 128 };
            cx.commands.run(&["ip", "address", "delete", &format!("{address}/{prefix}"), "dev", &on], LIMIT).await?;
        }
        for family in ["iptables", "ip6tables"] {
            if let Some(rules) = foreign_rules(cx, family).await? {
                let restore = format!("{family}-restore");
                cx.commands.run_with_input(&[&restore], rules.as_bytes(), LIMIT).await?;
            }
        }
        Ok(())
    }
}

fn interfaces(cx: &Context) -> Result<Vec<String>, StepError> {
    let Some(before) = cx.journal.state().interfaces else { return Ok(Vec::new()) };
    let now = cx.files.list("/sys/class/net")?;
    Ok(now.into_iter().filter(|name| INTERFACES.contains(&name.as_str()) && !before.contains(name)).collect())
}

/// The virtual address and the interface that has it: a holder that was killed leaves it there.
fn virtual_address(cx: &Context) -> Result<Option<(IpAddr, String)>, StepError> {
    let fixed = cx.journal.state().fixed.unwrap_or_default();
    let Some(address) = fixed.get(RECORDED_AS).and_then(|text| text.parse().ok()) else { return Ok(None) };
    let on = net::interface_of(address).map_err(|e| StepError::caused("cannot list the machine's addresses", e))?;
    Ok(on.map(|interface| (address, interface)))
}

/// The rules without those of Kubernetes, or `None` where there are none of Kubernetes, or no such program.
async fn foreign_rules(cx: &Context, family: &str) -> Result<Option<String>, StepError> {
    if cx.journal.state().units.is_empty() {
        return Ok(None);
    }
    let save = format!("{family}-save");
    let rules = match cx.commands.run(&[&save], LIMIT).await {
        Ok(rules) => rules,
        Err(e) if e.is_missing() => return Ok(None),
        Err(e) => return Err(e.into()),
    };
    let ours = |line: &&str| CHAINS.iter().any(|chain| line.contains(chain));
    if !rules.lines().any(|line| ours(&line)) {
        return Ok(None);
    }
    Ok(Some(rules.lines().filter(|line| !ours(line)).map(|line| format!("{line}\n")).collect()))
}

/// Step `restore-kernel`: settings and swap as they were.
pub struct Kernel;

#[async_trait(?Send)]
impl Step for Kernel {
    fn name(&self) -> String {
        "restore-kernel".into()
    }

    fn needs(&self) -> Vec<String> {
        vec!["remove-network".into()]
    }

    fn title(&self) -> String {
        "put kernel settings and swap back".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let state = cx.journal.state();
        let mut changes = Vec::new();
        for (key, before) in &state.sysctls {
            if kernel::sysctl(&cx.files, key)?.is_some_and(|now| now != *before) {
                changes.push(format!("set {key} to {before}"));
            }
        }
        let on = kernel::swaps(&cx.files)?;
        let off = state.swaps.iter().filter(|device| !on.iter().any(|area| area.device == **device));
        changes.extend(off.map(|device| format!("switch swap on on {}", device.display())));
        Ok(State::of(changes))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let context = cx.clone();
        blocking(move || {
            for (key, before) in context.journal.state().sysctls {
                kernel::set_sysctl(&context.files, &key, &before)?;
            }
            Ok(())
        })
        .await?;
        let on = kernel::swaps(&cx.files)?;
        for device in cx.journal.state().swaps.iter().filter(|device| !on.iter().any(|area| area.device == **device)) {
            cx.commands.run(&["swapon", &device.to_string_lossy()], LIMIT).await?;
        }
        Ok(())
    }
}

/// Step `remove-images`: the images that we imported.
pub struct Images;

#[async_trait(?Send)]
impl Step for Images {
    fn name(&self) -> String {
        "remove-images".into()
    }

    fn needs(&self) -> Vec<String> {
        vec!["remove-pods".into()]
    }

    fn title(&self) -> String {
        "remove the imported images".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        Ok(State::of(images(cx).await?.iter().map(|image| format!("remove image {image}")).collect()))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        for image in images(cx).await? {
            cx.commands.run(&["ctr", "-n", "k8s.io", "images", "rm", &image], LIMIT).await?;
        }
        Ok(())
    }
}

async fn images(cx: &Context) -> Result<Vec<String>, StepError> {
    let ours = cx.journal.state().images;
    if ours.is_empty() || !cx.files.exists(Path::new(cri::SOCKET)) {
        return Ok(Vec::new());
    }
    let present = cx.commands.run(&["ctr", "-n", "k8s.io", "images", "ls", "-q"], LIMIT).await?;
    Ok(present.lines().filter(|name| ours.contains(*name)).map(str::to_owned).collect())
}
