//! Checks that a master reaches the ports of the other machines. Each master checks when it runs `up`, so both directions are tested.

use super::Finding;
use crate::context::Context;
use futures_util::{StreamExt, future::join_all, stream};
use nodeinit_config::cluster::{Machine, Role};
use std::{
    io::ErrorKind,
    net::{IpAddr, SocketAddr},
    time::Duration,
};
use tokio::{
    net::TcpStream,
    time::{sleep, timeout},
};

/// The ports of other machines to which a master connects. Source: "Ports and Protocols" in the documentation of Kubernetes.
const OF_MASTERS: [(u16, &str); 4] = [(2379, "etcd"), (2380, "etcd"), (6443, "kube-apiserver"), (10250, "kubelet")];
const OF_WORKERS: [(u16, &str); 1] = [(10250, "kubelet")];

/// Limit for one machine to accept or refuse a connection, and for all of them together.
const LIMIT: Duration = Duration::from_secs(1);
const ALL_LIMIT: Duration = Duration::from_secs(3);

/// Number of machines that are tested at once, at up to five ports each: a process may have 1024 open files.
const AT_ONCE: usize = 64;

/// Warns about each machine that is up and cannot be reached at a port. A machine that has not booted yet is no reason to warn, and
/// one that is not tested in time is left out.
pub(super) async fn reachable(cx: &Context) -> Vec<Finding> {
    if cx.node.role == Role::Worker {
        return Vec::new();
    }
    let masters = cx.cluster.masters.iter().map(|machine| (machine, &OF_MASTERS[..]));
    let workers = cx.cluster.workers.iter().map(|machine| (machine, &OF_WORKERS[..]));
    let others = masters.chain(workers).filter(|(machine, _)| machine.name != cx.node.name);
    let looks = others.filter_map(|(machine, ports)| Some(look(cx, machine, machine.address?, ports)));
    let found = stream::iter(looks).buffer_unordered(AT_ONCE).take_until(Box::pin(sleep(ALL_LIMIT)));
    found.filter_map(async |finding| finding).collect().await
}

async fn look(cx: &Context, machine: &Machine, address: IpAddr, ports: &[(u16, &str)]) -> Option<Finding> {
    let ssh = machine.ssh.port.unwrap_or(cx.cluster.ssh.port);
    let tries = join_all(ports.iter().map(|(port, _)| is_open(address, *port)));
    let (ssh_is_open, open) = tokio::join!(is_open(address, ssh), tries);
    let closed: Vec<_> = ports.iter().zip(&open).filter(|(_, open)| !**open).map(|(port, _)| *port).collect();
    let is_up = ssh_is_open || closed.len() < ports.len();
    (is_up && !closed.is_empty()).then(|| unreachable(&machine.name, address, &closed))
}

/// Whether packets get through: a port that nothing listens on yet refuses the connection.
async fn is_open(address: IpAddr, port: u16) -> bool {
    match timeout(LIMIT, TcpStream::connect(SocketAddr::new(address, port))).await {
        Ok(Ok(_)) => true,
        // Any other failure says nothing about the connection.
        Ok(Err(e)) => !matches!(
            e.kind(),
            ErrorKind::HostUnreachable
                | ErrorKind::NetworkUnreachable
                | ErrorKind::TimedOut
                | ErrorKind::PermissionDenied
        ),
        Err(_) => false,
    }
}

fn unreachable(name: &str, address: IpAddr, closed: &[(u16, &str)]) -> Finding {
    let ports: Vec<String> = closed.iter().map(|(port, program)| format!("{port} ({program})")).collect();
    let what = format!("{name} ({address}) is up, but this machine cannot reach its TCP ports {}", ports.join(", "));
    let remedy = "open them for this machine in that machine's firewall, in its security group, and in any firewall between the two";
    Finding::warning("peers", what, remedy)
}
