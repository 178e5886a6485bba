//! Checks ports, the machine's own address and names.

use super::Finding;
use crate::{
    context::Context,
    host::{
        files::FileError,
        net::{self, Listener},
    },
};
use nodeinit_config::cluster::Role;
use std::{net::IpAddr, time::Duration};
use tokio::net::lookup_host;

/// The ports and their components. Source: kubeadm's `constants.go`.
const MASTER_PORTS: [(u16, &str); 8] = [
    (6443, "kube-apiserver"),
    (2379, "etcd"),
    (2380, "etcd"),
    (2381, "etcd"),
    (10248, "kubelet"),
    (10250, "kubelet"),
    (10257, "kube-controller-manager"),
    (10259, "kube-scheduler"),
];
const WORKER_PORTS: [(u16, &str); 2] = [(10248, "kubelet"), (10250, "kubelet")];

/// The kernel truncates process names to this many bytes (TASK_COMM_LEN without the final zero).
const PROCESS_NAME: usize = 15;

/// The VXLAN header, and the minimum MTU of IPv6 and therefore of a pod network (RFC 8200, section 5).
const VXLAN: u32 = 50;
const LEAST_MTU: u32 = 1280;

/// Limit for resolving a name. A name server that is down must not delay the bootstrap.
const NAME_LIMIT: Duration = Duration::from_secs(1);

pub(super) fn ports(cx: &Context) -> Vec<Finding> {
    let wanted: &[(u16, &str)] = if cx.node.role == Role::Worker { &WORKER_PORTS } else { &MASTER_PORTS };
    let ports: Vec<u16> = wanted.iter().map(|(port, _)| *port).collect();
    let listeners = match settled(cx, &ports) {
        Ok(listeners) => listeners,
        Err(e) => return vec![Finding::blind("ports", &e)],
    };
    let is_started = cx.journal.state().units.contains("kubelet.service");
    let foreign = listeners.into_iter().filter_map(|listener| {
        let (_, component) = wanted.iter().find(|(port, _)| *port == listener.port)?;
        (!(is_started && is_named(&listener, component))).then(|| taken(&listener, component))
    });
    foreign.collect()
}

/// Returns the listeners on these ports. A socket without a process belongs to a process that is just stopping, such as a kubelet that
/// a killed run was restarting: this waits a second for it.
fn settled(cx: &Context, ports: &[u16]) -> Result<Vec<Listener>, FileError> {
    for _ in 0..10 {
        let listeners = net::listeners(&cx.files, ports)?;
        if listeners.iter().all(|listener| listener.process.is_some()) {
            return Ok(listeners);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    net::listeners(&cx.files, ports)
}

fn is_named(listener: &Listener, component: &str) -> bool {
    let name = &component[..component.len().min(PROCESS_NAME)];
    listener.process.as_ref().is_some_and(|p| p.name == name)
}

fn taken(Listener { port, process }: &Listener, component: &str) -> Finding {
    let (by, remedy) = match process {
        Some(p) => (
            format!("{} (process {})", p.name, p.pid),
            format!("stop it: `systemctl status {}` shows its service", p.pid),
        ),
        None => ("an unknown process".into(), format!("find it with `ss -lntp 'sport = {port}'` and stop it")),
    };
    Finding::failure("ports", format!("port {port}, which {component} needs, is in use by {by}"), remedy)
}

/// The node's address must be on this machine, with a sufficient MTU.
pub(super) fn address(cx: &Context) -> Vec<Finding> {
    let address = cx.node.address;
    let interface = match net::interface_of(address) {
        Ok(Some(interface)) => interface,
        Ok(None) => {
            let what = format!("no interface of this machine has the address {address} of {}", cx.node.name);
            let remedy =
                "set the machine's own address (not a floating one) in the configuration, or bring the interface up";
            return vec![Finding::failure("address", what, remedy)];
        }
        Err(e) => return vec![Finding::blind("address", &e)],
    };
    match net::mtu(&cx.files, &interface) {
        Ok(Some(mtu)) if mtu < LEAST_MTU + VXLAN => {
            let what =
                format!("{interface} has an MTU of {mtu} bytes, but a VXLAN pod network needs {}", LEAST_MTU + VXLAN);
            vec![Finding::warning("mtu", what, "raise the MTU of the interface and of the underlying network")]
        }
        Ok(_) => Vec::new(),
        Err(e) => vec![Finding::blind("mtu", &e)],
    }
}

/// Checks that the machine's name and the endpoint's name resolve.
pub(super) async fn names(cx: &Context) -> Vec<Finding> {
    let (own, endpoint) = tokio::join!(own_name(cx), endpoint_name(cx));
    own.into_iter().chain(endpoint).collect()
}

async fn own_name(cx: &Context) -> Option<Finding> {
    let name = &cx.node.name;
    // A name that does not resolve is fine: the masters' components do not use it.
    let addresses = resolve(cx, name).await.filter(|found| !found.is_empty())?;
    let is_own =
        |ip: &IpAddr| ip.is_loopback() || *ip == cx.node.address || net::interface_of(*ip).is_ok_and(|i| i.is_some());
    if addresses.iter().any(is_own) {
        return None;
    }
    let what = format!("{name} resolves to {}, which is not this machine", list(&addresses));
    let remedy = format!("fix the DNS record, or add `{} {name}` to /etc/hosts", cx.node.address);
    Some(Finding::warning("names", what, remedy))
}

async fn endpoint_name(cx: &Context) -> Option<Finding> {
    let endpoint = cx.cluster.control_plane.endpoint.as_ref()?;
    if endpoint.host.parse::<IpAddr>().is_ok() || resolve(cx, &endpoint.host).await.is_some_and(|a| !a.is_empty()) {
        return None;
    }
    let what = format!("controlPlane.endpoint {endpoint} cannot be resolved here");
    Some(Finding::warning("names", what, "workers and users need it: create its DNS record, or an entry in /etc/hosts"))
}

/// Returns the addresses of a name, from `/etc/hosts` or else from the resolver; `None` if it does not resolve in time.
async fn resolve(cx: &Context, name: &str) -> Option<Vec<IpAddr>> {
    let hosts = cx.files.read_text("/etc/hosts").ok().flatten().unwrap_or_default();
    let listed: Vec<IpAddr> = hosts
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().split_whitespace())
        .filter_map(|mut words| words.next().filter(|_| words.any(|word| word == name))?.parse().ok())
        .collect();
    if !listed.is_empty() {
        return Some(listed);
    }
    let found = tokio::time::timeout(NAME_LIMIT, lookup_host((name, 0))).await.ok()?.ok()?;
    Some(found.map(|address| address.ip()).collect())
}

fn list(addresses: &[IpAddr]) -> String {
    addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
