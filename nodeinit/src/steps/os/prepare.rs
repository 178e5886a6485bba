//! Configures kernel modules, kernel parameters (sysctls) and swap for Kubernetes, now and at each boot.

use super::OsStep;
use crate::{
    context::{Context, blocking},
    engine::{
        error::StepError,
        journal::Record,
        step::{State, Step},
        step_id::StepId,
    },
    host::{files::NewFile, kernel},
    steps::sysctls::{self, Change, Fate},
};
use async_trait::async_trait;
use nodeinit_base::with_causes;
use nodeinit_config::{Cluster, cluster::Swap};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

/// The step's identity.
pub const ID: StepId = StepId::Os("os-prepare");

const MODULES_FILE: &str = "/etc/modules-load.d/nodeinit.conf";
const SYSCTL_FILE: &str = "/etc/sysctl.d/99-nodeinit.conf";
const SWAP_MASK: &str = "/etc/systemd/system/swap.target";

/// Limit for `modprobe` and `swapoff`. Swapping in a full area from a slow disk takes minutes.
const LIMIT: Duration = Duration::from_secs(300);

/// The modules that pod traffic needs. Source: Kubernetes, "Container Runtimes", section "Install and configure prerequisites".
const MODULES: [&str; 2] = ["overlay", "br_netfilter"];
const IP_FORWARD: [&str; 2] = ["net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"];
const BRIDGE: [&str; 2] = ["net.bridge.bridge-nf-call-iptables", "net.bridge.bridge-nf-call-ip6tables"];

/// Prepares the operating system.
#[derive(Debug)]
pub struct OsPrepare;

#[async_trait(?Send)]
impl Step for OsPrepare {
    fn id(&self) -> StepId {
        ID
    }

    fn title(&self) -> String {
        "load kernel modules, set sysctls, configure swap".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let cx = cx.clone();
        blocking(move || {
            let mut changes = cx.differing(&files(&cx))?;
            for module in missing_modules(&cx)? {
                changes.push(format!("load the kernel module {module}"));
            }
            for (key, value) in wanted(&cx.cluster) {
                match kernel::sysctl(&cx.files, &key)? {
                    Some(now) if now != value => changes.push(format!("set {key} from {now} to {value}")),
                    // The parameter belongs to a module that is not loaded yet, or this kernel does not have it.
                    None if is_wanted_without_trace(&cx, &key) => changes.push(format!("set {key} to {value}")),
                    _ => {}
                }
            }
            if cx.cluster.os.swap == Swap::Off {
                let areas = kernel::swaps(&cx.files)?;
                changes.extend(areas.iter().map(|a| format!("disable swap on {}", a.device.display())));
            }
            Ok(State::of(changes))
        })
        .await
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        cx.place(files(cx)).await?;
        load_modules(cx).await?;
        let context = cx.clone();
        blocking(move || set_sysctls(&context)).await?;
        if cx.cluster.os.swap == Swap::Off {
            swap_off(cx).await?;
        }
        Ok(())
    }
}

#[async_trait(?Send)]
impl OsStep for OsPrepare {
    async fn left(&self, cx: &Context) -> Result<Vec<String>, StepError> {
        let mut changes = Vec::new();
        for (key, fate) in sysctls::fates(cx)? {
            if let Fate::Restore(before) = fate {
                changes.push(format!("set {key} to {before}"));
            }
        }
        changes.extend(swaps_off(cx)?.iter().map(|device| format!("enable swap on {}", device.display())));
        Ok(changes)
    }

    async fn undo(&self, cx: &Context) -> Result<(), StepError> {
        let context = cx.clone();
        blocking(move || {
            for (key, fate) in sysctls::fates(&context)? {
                let kept = match fate {
                    // The kernel never takes back some parameters, such as `kernel.kexec_load_disabled`. The next boot does.
                    Fate::Restore(before) => {
                        kernel::set_sysctl(&context.files, &key, &before).err().map(|e| with_causes(&e))
                    }
                    Fate::Keep(why) => Some(why),
                };
                if let Some(why) = kept {
                    context.report.note(&ID.name(), format!("kept: {key}: {why}"));
                }
            }
            Ok(())
        })
        .await?;
        for device in swaps_off(cx)? {
            // A swap area may be gone, such as one in memory. The next boot enables those that are there.
            if let Err(error) = cx.commands.run(&["swapon", &device.to_string_lossy()], LIMIT).await {
                cx.report.note(&ID.name(), format!("not enabled: {}", with_causes(&error)));
            }
        }
        Ok(())
    }
}

/// Returns the swap devices that nodeinit disabled and that are still off.
fn swaps_off(cx: &Context) -> Result<Vec<PathBuf>, StepError> {
    let on = kernel::swaps(&cx.files)?;
    let mut off = cx.journal.state().swaps;
    off.retain(|device| !on.iter().any(|area| area.device == *device));
    Ok(off.into_iter().collect())
}

/// Returns the kernel parameters of this cluster; the user's values take precedence.
fn wanted(cluster: &Cluster) -> BTreeMap<String, String> {
    let [v4, v6] = IP_FORWARD;
    let forward = if cluster.network.pod_cidr.addr().is_ipv6() { v6 } else { v4 };
    let ours = BRIDGE.into_iter().chain([forward]).map(|key| (key.to_owned(), "1".to_owned()));
    let users = &cluster.os.sysctls;
    let users = users.iter().map(|(k, v)| (k.clone(), v.split_whitespace().collect::<Vec<_>>().join(" ")));
    ours.chain(users).collect()
}

fn modules(cluster: &Cluster) -> Vec<String> {
    let mut all: Vec<String> = MODULES.map(str::to_owned).into();
    all.extend(cluster.os.modules.iter().filter(|m| !MODULES.contains(&m.as_str())).cloned());
    all
}

fn files(cx: &Context) -> Vec<NewFile> {
    const HEAD: &str = "# Written by nodeinit for Kubernetes.\n";
    let cluster = &cx.cluster;
    let modules: String = modules(cluster).iter().map(|m| format!("{m}\n")).collect();
    let settings: String = wanted(cluster).iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
    let mut files = vec![
        NewFile::public(MODULES_FILE, format!("{HEAD}{modules}")),
        NewFile::public(SYSCTL_FILE, format!("{HEAD}{settings}")),
    ];
    // The user's `/etc/fstab` stays as it is: an empty unit file masks the target of all swap units (systemd.unit(5)). Swap that is off now
    // may be on at the next boot.
    let is_masked = cx.files.link_target(Path::new(SWAP_MASK)).is_some_and(|target| target == Path::new("/dev/null"));
    if cluster.os.swap == Swap::Off && !is_masked {
        files.push(NewFile::public(SWAP_MASK, ""));
    }
    files
}

fn missing_modules(cx: &Context) -> Result<Vec<String>, StepError> {
    let mut missing = Vec::new();
    for name in modules(&cx.cluster) {
        if kernel::module(&cx.files, &name)? != kernel::Module::Present {
            missing.push(name);
        }
    }
    Ok(missing)
}

/// Whether a missing parameter is an error: if the user set it. A bridge parameter appears with its module.
fn is_wanted_without_trace(cx: &Context, key: &str) -> bool {
    cx.cluster.os.sysctls.contains_key(key)
}

async fn load_modules(cx: &Context) -> Result<(), StepError> {
    let context = cx.clone();
    for name in blocking(move || missing_modules(&context)).await? {
        cx.commands.run(&["modprobe", &name], LIMIT).await.map_err(|e| {
            StepError::caused(format!("cannot load the kernel module {name}"), e)
                .hint("install the kernel package that has it, or boot a kernel with it built in")
        })?;
    }
    Ok(())
}

fn set_sysctls(cx: &Context) -> Result<(), StepError> {
    let mut changes = Vec::new();
    for (key, value) in wanted(&cx.cluster) {
        match kernel::sysctl(&cx.files, &key)? {
            Some(before) if before != value => changes.push(Change { key, before, value }),
            Some(_) => {}
            None if cx.cluster.os.sysctls.contains_key(&key) => {
                let hint = "remove it from os.sysctls, or add the module that provides it to os.modules";
                return Err(StepError::new(format!("os.sysctls: this kernel has no parameter {key}")).hint(hint));
            }
            None => {}
        }
    }
    sysctls::set(cx, &changes)
}

/// Disables swap now.
async fn swap_off(cx: &Context) -> Result<(), StepError> {
    let context = cx.clone();
    let areas = blocking(move || Ok(kernel::swaps(&context.files)?)).await?;
    if areas.is_empty() {
        return Ok(());
    }
    let records: Vec<Record> = areas.iter().map(|a| Record::Swap { device: a.device.clone() }).collect();
    let context = cx.clone();
    blocking(move || Ok(context.journal.intend(records)?)).await?;
    for area in areas {
        cx.commands.run(&["swapoff", &area.device.to_string_lossy()], LIMIT).await?;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests create the files of a fake kernel")]
mod tests {
    use super::*;
    use crate::context::testing::context_of;
    use std::sync::Arc;

    const CONFIG: &str = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {version: v1.34.4}\nos:\n  sysctls: \
                          {vm.max_map_count: \"262144\"}\n";

    fn machine(kernel: &[(&str, &str)]) -> (tempfile::TempDir, Context) {
        let (dir, cx) = context_of(CONFIG);
        for (path, content) in kernel {
            let real = dir.path().join(path);
            std::fs::create_dir_all(real.parent().unwrap()).unwrap();
            std::fs::write(real, content).unwrap();
        }
        (dir, cx)
    }

    #[tokio::test]
    async fn parameters_are_set_now_and_at_each_boot_and_restored_by_reset() {
        let (_dir, cx) = machine(&[
            ("proc/filesystems", "nodev overlay\n"),
            ("proc/sys/net/bridge/bridge-nf-call-iptables", "1\n"),
            ("proc/sys/net/ipv4/ip_forward", "0\n"),
            ("proc/sys/vm/max_map_count", "65530\n"),
        ]);
        assert!(crate::engine::runner::step(&OsPrepare, &cx).await.unwrap());
        let now = |key| kernel::sysctl(&cx.files, key).unwrap().unwrap();
        assert_eq!((now("net.ipv4.ip_forward"), now("vm.max_map_count")), ("1".into(), "262144".into()));
        let known = cx.journal.state().sysctls;
        assert_eq!(known["vm.max_map_count"].before, "65530");
        assert!(!known.contains_key("net.bridge.bridge-nf-call-iptables"), "it was right before");
        let text = cx.files.read_text(SYSCTL_FILE).unwrap().unwrap();
        assert!(text.contains("net.ipv4.ip_forward = 1\n") && text.contains("vm.max_map_count = 262144\n"), "{text}");
        assert_eq!(OsPrepare.check(&cx).await.unwrap(), State::Done);
        let left = OsPrepare.left(&cx).await.unwrap();
        assert_eq!(left, ["set net.ipv4.ip_forward to 0", "set vm.max_map_count to 65530"]);
        OsPrepare.undo(&cx).await.unwrap();
        assert_eq!((now("net.ipv4.ip_forward"), now("vm.max_map_count")), ("0".into(), "65530".into()));
        assert!(OsPrepare.left(&cx).await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn swap_stays_off_after_a_boot_and_a_reset_goes_on_without_what_is_gone() {
        let (dir, mut cx) =
            machine(&[("proc/filesystems", "nodev overlay\n"), ("proc/sys/vm/max_map_count", "65530\n")]);
        cx.commands.log = Some(Arc::default());
        OsPrepare.apply(&cx).await.unwrap();
        assert_eq!(
            cx.files.read_text(SWAP_MASK).unwrap().as_deref(),
            Some(""),
            "/etc/fstab may enable it at the next boot"
        );
        cx.files.remove_file(SWAP_MASK).unwrap();
        std::os::unix::fs::symlink("/dev/null", dir.path().join("etc/systemd/system/swap.target")).unwrap();
        OsPrepare.apply(&cx).await.unwrap();
        assert!(cx.files.link_target(Path::new(SWAP_MASK)).is_some(), "the operator has masked it");

        cx.journal.intend(vec![Record::Swap { device: "/gone".into() }]).unwrap();
        cx.commands.answers = vec![("swapon /gone".into(), Err(255))];
        // A parameter that nobody can write.
        let parameter = dir.path().join("proc/sys/kernel/kexec_load_disabled");
        std::fs::create_dir_all(parameter.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink("/proc/sys/kernel/ostype", parameter).unwrap();
        let key = "kernel.kexec_load_disabled".to_owned();
        cx.journal.intend(vec![Record::Sysctl { key: key.clone(), before: "0".into(), value: None }]).unwrap();
        kernel::set_sysctl(&cx.files, &key, "0").unwrap_err();
        OsPrepare.undo(&cx).await.unwrap();
        assert_eq!(
            kernel::sysctl(&cx.files, "vm.max_map_count").unwrap().as_deref(),
            Some("65530"),
            "the rest is restored"
        );
    }

    #[tokio::test]
    async fn a_parameter_that_the_kernel_lacks_is_named() {
        let (_dir, cx) = machine(&[("proc/filesystems", "nodev overlay\n"), ("proc/sys/net/bridge/x", "")]);
        let error = crate::engine::runner::step(&OsPrepare, &cx).await.unwrap_err().to_string();
        assert!(error.contains("no parameter vm.max_map_count"), "{error}");
    }
}
