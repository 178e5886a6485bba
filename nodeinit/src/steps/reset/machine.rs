//! Resets the running machine: services, pods, mounts, the pod network.

use crate::{
    api::cri::{self, Cri, Sandbox},
    context::Context,
    engine::{
        error::{Exit, StepError},
        step::{State, Step},
        step_id::StepId,
    },
    host::systemd,
    steps::{containerd, virtual_address},
};
use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use nodeinit_base::Wait;
use nodeinit_config::cluster::Role;
use std::{
    ffi::OsStr,
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// Limit for one command, and for retries over all pods, counted from the first pod; each pod gets at least `LEAST`.
const LIMIT: Duration = Duration::from_secs(60);
const LEAST: Duration = Duration::from_secs(10);

/// The unit that runs `up` at each boot, and again after a failure. nodeinit does not enable it: a package, an image or the operator does.
const AT_BOOT: &str = "nodeinit.service";

/// Step `stop-kubelet`: stops the kubelet first, because it would restart removed pods; also what would start it again at the next boot.
pub struct StopKubelet;

#[async_trait(?Send)]
impl Step for StopKubelet {
    fn id(&self) -> StepId {
        StepId::StopKubelet
    }

    fn title(&self) -> String {
        "stop and disable the kubelet and nodeinit.service".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        Ok(State::of(at_boot(cx).into_iter().chain(units(cx)).map(|unit| format!("stop and disable {unit}")).collect()))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        for unit in at_boot(cx).into_iter().chain(units(cx)) {
            systemd::stop(&cx.commands, &unit).await?;
            systemd::disable(&cx.commands, &unit).await?;
            if unit == AT_BOOT {
                let text =
                    "nodeinit.service is disabled; `systemctl enable nodeinit` lets the next boot run `up` again";
                cx.report.note(&StepId::StopKubelet.name(), text);
            }
        }
        Ok(())
    }
}

/// Returns the unit that runs `up` at each boot, if it is there and enabled.
fn at_boot(cx: &Context) -> Option<String> {
    let is_enabled = cx.files.exists(systemd::enabled(AT_BOOT)) && systemd::has_file(&cx.files, AT_BOOT);
    is_enabled.then(|| AT_BOOT.to_owned())
}

/// Returns the units that nodeinit started, without containerd, which removes the pods.
fn units(cx: &Context) -> impl Iterator<Item = String> + use<> {
    cx.journal.state().units.into_iter().filter(|unit| unit != containerd::UNIT)
}

/// Step `remove-pods`: removes every pod of the kubelet that nodeinit started.
pub struct RemovePods;

#[async_trait(?Send)]
impl Step for RemovePods {
    fn id(&self) -> StepId {
        StepId::RemovePods
    }

    fn title(&self) -> String {
        "stop and remove the pods".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        if units(cx).next().is_none() || containerd::is_removed(cx) || cx.node.role == Role::Bastion {
            return Ok(State::Done);
        }
        let pods = sandboxes().await?.1.len();
        Ok(if pods == 0 { State::Done } else { State::needed(format!("stop and remove {pods} pods")) })
    }

    async fn apply(&self, _: &Context) -> Result<(), StepError> {
        let (cri, pods) = sandboxes().await?;
        let until = Instant::now() + LIMIT;
        let removals = stream::iter(pods).map(|pod| {
            let cri = &cri;
            async move { remove(cri, &pod, until).await }
        });
        let results: Vec<_> = removals.buffer_unordered(8).collect().await;
        results.into_iter().collect()
    }
}

/// Removes a pod, with retries until `until`: a runtime that is reading a new network configuration refuses at first.
async fn remove(cri: &Cri, pod: &Sandbox, until: Instant) -> Result<(), StepError> {
    let attempt = async || match cri.remove_sandbox(&pod.id).await {
        Ok(()) => ControlFlow::Break(()),
        Err(e) => ControlFlow::Continue(e.to_string()),
    };
    let limit = until.saturating_duration_since(Instant::now()).max(LEAST);
    let wait = Wait::new(format!("the removal of the pod {}/{}", pod.namespace, pod.pod), limit);
    let hint = "see `journalctl -u containerd`; if it has no pod network (`cni plugin not initialized`), restore the file of the network in \
                /etc/cni/net.d and restart containerd; then run `nodeinit reset` again";
    wait.at_most_every(Duration::from_secs(1)).until(attempt).await.map_err(|late| StepError::from(late).hint(hint))
}

async fn sandboxes() -> Result<(Cri, Vec<Sandbox>), StepError> {
    let find = async {
        let cri = Cri::connect(cri::SOCKET).await?;
        let pods = cri.sandboxes().await?;
        Ok::<_, cri::CriError>((cri, pods))
    };
    find.await.map_err(|e| {
        let hint = "start it (`systemctl start containerd`), then run `nodeinit reset` again";
        StepError::caused("cannot remove the pods of this machine", e).exit(Exit::TryAgain).hint(hint)
    })
}

/// Step `unmount`: unmounts what the kubelet and the runtime mounted below nodeinit's directories. It runs before anything is
/// removed there, so that nothing behind a mount is deleted.
pub struct Unmount;

#[async_trait(?Send)]
impl Step for Unmount {
    fn id(&self) -> StepId {
        StepId::Unmount
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

/// Returns the mounts below nodeinit's trees, innermost first. A tree that is itself a mount existed before; a tree may be a
/// symbolic link.
fn mounts(cx: &Context) -> Result<Vec<PathBuf>, StepError> {
    let trees: Vec<(PathBuf, PathBuf, Vec<String>)> =
        super::trees(cx).into_iter().map(|(tree, before)| (cx.files.canonical(&tree), tree, before)).collect();
    let is_ours = |mount: &Path| {
        trees.iter().any(|(real, tree, before)| {
            let name = mount.strip_prefix(real).ok().and_then(|below| below.iter().next()).and_then(OsStr::to_str);
            name.is_some_and(|name| !before.iter().any(|each| each == name) && super::is_ours(cx, tree, name))
        })
    };
    let table = cx.files.read_text("/proc/self/mountinfo")?.unwrap_or_default();
    let mut mounts: Vec<PathBuf> =
        table.lines().filter_map(|line| line.split(' ').nth(4)).map(unescape).filter(|mount| is_ours(mount)).collect();
    mounts.sort();
    mounts.reverse();
    Ok(mounts)
}

/// Source: proc(5), mountinfo: space, tab, newline and backslash are octal.
fn unescape(text: &str) -> PathBuf {
    let plain = text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\");
    PathBuf::from(plain)
}

/// Step `remove-network`: removes new interfaces of the pod network, the virtual address, and the iptables chains of kube-proxy and the
/// pod network.
pub struct RemoveNetwork;

/// Interfaces that flannel and the bridge plugin create.
const INTERFACES: [&str; 4] = ["cni0", "flannel.1", "flannel-v6.1", "kube-ipvs0"];

/// Prefixes of the chains of the kubelet, kube-proxy, the CNI plugins and flannel.
const CHAINS: [&str; 3] = ["KUBE-", "CNI-", "FLANNEL-"];

#[async_trait(?Send)]
impl Step for RemoveNetwork {
    fn id(&self) -> StepId {
        StepId::RemoveNetwork
    }

    fn title(&self) -> String {
        "remove the pod network's interfaces and iptables chains".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let mut changes: Vec<String> = interfaces(cx)?.iter().map(|i| format!("delete interface {i}")).collect();
        changes.extend(virtual_address::held(cx)?.map(|(address, on)| format!("remove {address} from {on}")));
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
        virtual_address::release(cx).await?;
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

/// Returns the rules without those of Kubernetes; `None` if there are none of Kubernetes, or no such program.
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
    if !rules.lines().any(is_of_kubernetes) {
        return Ok(None);
    }
    Ok(Some(rules.lines().filter(|line| !is_of_kubernetes(line)).map(|line| format!("{line}\n")).collect()))
}

/// Whether a line of `iptables-save` declares a chain of Kubernetes, is a rule in one, or jumps to one. Comments do not
/// count.
fn is_of_kubernetes(line: &str) -> bool {
    let is_chain = |name: &str| CHAINS.iter().any(|prefix| name.starts_with(prefix));
    if let Some(declared) = line.strip_prefix(':') {
        return is_chain(declared);
    }
    let mut words = words(line).into_iter();
    while let Some(word) = words.next() {
        let value = match word.as_str() {
            "-A" | "-j" | "-g" => words.next(),
            "--comment" => {
                words.next();
                continue;
            }
            _ => continue,
        };
        if value.is_some_and(|name| is_chain(&name)) {
            return true;
        }
    }
    false
}

/// Splits a rule into words. Source: iptables `libxtables/xtables.c`, `xtables_save_string`: quotes, and a backslash before `"`, `\` and `'`.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => quoted = !quoted,
            '\\' => word.extend(characters.next()),
            ' ' if !quoted => words.push(std::mem::take(&mut word)),
            other => word.push(other),
        }
    }
    words.push(word);
    words
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests make a fake machine's files")]
mod tests {
    use super::*;
    use crate::{
        context::testing::context,
        engine::journal::Record,
        host::{commands::Commands, files::NewFile},
    };
    use std::sync::Arc;

    #[tokio::test]
    async fn the_next_boot_does_not_undo_the_reset() {
        let (dir, mut cx) = context();
        let log = Arc::default();
        let answers = vec![("systemctl show".to_owned(), Ok("loaded\n".to_owned()))];
        cx.commands = Commands { log: Some(Arc::clone(&log)), answers };
        cx.journal.intend(vec![Record::Unit { name: "kubelet.service".into() }]).unwrap();
        let link = cx.files.real(&systemd::enabled(AT_BOOT));
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink("/usr/lib/systemd/system/nodeinit.service", link).unwrap();
        let kubelet = "stop and disable kubelet.service";
        assert_eq!(StopKubelet.check(&cx).await.unwrap(), State::needed(kubelet), "the package was removed");
        std::fs::create_dir_all(dir.path().join("usr/lib/systemd/system")).unwrap();
        cx.files.write(&[NewFile::public("/usr/lib/systemd/system/nodeinit.service", "")]).unwrap();
        let State::Needed(changes) = StopKubelet.check(&cx).await.unwrap() else { panic!("nothing to do") };
        assert_eq!(changes, ["stop and disable nodeinit.service", kubelet]);
        StopKubelet.apply(&cx).await.unwrap();
        let ran = log.lock().unwrap().join("\n");
        assert!(ran.contains("systemctl stop nodeinit.service\n"), "{ran}");
        assert!(ran.contains("systemctl disable --quiet nodeinit.service\n"), "{ran}");
    }

    #[test]
    fn a_rule_belongs_to_kubernetes_by_its_chains_only() {
        for ours in [
            ":KUBE-SERVICES - [0:0]",
            "-A KUBE-SERVICES -j ACCEPT",
            r#"-A INPUT -m comment --comment "kubernetes service portals" -j KUBE-SERVICES"#,
            "-A POSTROUTING -s 10.244.0.2/32 -j CNI-0123456789abcdef",
            "-A FORWARD -g FLANNEL-FWD",
        ] {
            assert!(is_of_kubernetes(ours), "{ours}");
        }
        for foreign in [
            ":INPUT ACCEPT [0:0]",
            r#"-A INPUT -p tcp -m comment --comment "not for KUBE-SERVICES, nor -j CNI-x" -j ACCEPT"#,
            r#"-A INPUT -m comment --comment "a \" -j KUBE-X" -j ACCEPT"#,
            "-A INPUT -m comment --comment KUBE-API -j ACCEPT",
            "-A MY-KUBE-CHAIN -j DROP",
        ] {
            assert!(!is_of_kubernetes(foreign), "{foreign}");
        }
    }

    #[test]
    fn mounts_below_a_tree_that_is_a_link_are_found_under_its_real_name() {
        let (dir, cx) = context();
        std::fs::create_dir_all(dir.path().join("data/kubelet/pods")).unwrap();
        std::fs::create_dir_all(dir.path().join("var/lib")).unwrap();
        std::os::unix::fs::symlink("../../data/kubelet", dir.path().join("var/lib/kubelet")).unwrap();
        cx.journal
            .intend(vec![Record::Tree { path: "/var/lib/kubelet".into(), before: Some(vec!["nfs".into()]) }])
            .unwrap();
        std::fs::create_dir_all(dir.path().join("proc/self")).unwrap();
        // The last one existed before.
        let paths = ["/", "/data/kubelet/pods/volume", "/data/kubelet", "/data/kubelet/nfs/volume"];
        let table: String = paths.iter().map(|path| format!("1 0 8:1 /x {path} rw - ext4 /dev/a rw\n")).collect();
        cx.files.write(&[NewFile::public("/proc/self/mountinfo", table)]).unwrap();
        assert_eq!(mounts(&cx).unwrap(), [Path::new("/data/kubelet/pods/volume")]);
    }
}
