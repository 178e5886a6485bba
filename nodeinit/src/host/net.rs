//! The machine's network: listeners and interfaces.

use super::files::{FileError, Files};
use std::{collections::BTreeMap, net::IpAddr, path::Path};

/// A process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// Its name, which the kernel truncates to 15 bytes.
    pub name: String,
}

/// A TCP port with a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// The port.
    pub port: u16,
    /// The process that listens; `None` if the kernel does not show it.
    pub process: Option<Process>,
}

/// Returns the listeners on `ports`, in order. Searches processes only if a port is in use.
///
/// # Errors
/// If `/proc` cannot be read.
pub fn listeners(files: &Files, ports: &[u16]) -> Result<Vec<Listener>, FileError> {
    let mut inodes = BTreeMap::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let text = files.read_text(table)?.unwrap_or_default();
        inodes.extend(text.lines().skip(1).filter_map(listening).filter(|(port, _)| ports.contains(port)));
    }
    if inodes.is_empty() {
        return Ok(Vec::new());
    }
    let holders = holders(files, &inodes)?;
    Ok(inodes.into_iter().map(|(port, inode)| Listener { port, process: holders.get(&inode).cloned() }).collect())
}

/// Returns the port and the socket's inode of a line of `/proc/net/tcp` if its state is LISTEN (0A).
fn listening(line: &str) -> Option<(u16, u64)> {
    let columns: Vec<&str> = line.split_whitespace().collect();
    let (local, state, inode) = (columns.get(1)?, columns.get(3)?, columns.get(9)?);
    let port = u16::from_str_radix(local.rsplit(':').next()?, 16).ok()?;
    (*state == "0A").then_some((port, inode.parse().ok()?))
}

fn holders(files: &Files, inodes: &BTreeMap<u16, u64>) -> Result<BTreeMap<u64, Process>, FileError> {
    let mut found = BTreeMap::new();
    let wanted: BTreeMap<String, u64> = inodes.values().map(|inode| (format!("socket:[{inode}]"), *inode)).collect();
    for pid in files.list("/proc")?.iter().filter_map(|name| name.parse::<u32>().ok()) {
        let directory = files.real(Path::new("/proc")).join(pid.to_string());
        // A process may end during the search.
        let Ok(descriptors) = std::fs::read_dir(directory.join("fd")) else { continue };
        for link in descriptors.flatten().filter_map(|d| std::fs::read_link(d.path()).ok()) {
            if let Some(inode) = link.to_str().and_then(|text| wanted.get(text)) {
                let name = std::fs::read_to_string(directory.join("comm")).unwrap_or_default().trim().to_owned();
                found.insert(*inode, Process { pid, name });
            }
        }
    }
    Ok(found)
}

/// Whether a process with one of these names is running.
///
/// # Errors
/// If `/proc` cannot be read.
pub fn runs_any(files: &Files, names: &[&str]) -> Result<bool, FileError> {
    let pids = files.list("/proc")?;
    let mut names_of = pids
        .iter()
        .filter(|name| name.parse::<u32>().is_ok())
        .filter_map(|pid| std::fs::read_to_string(files.real(Path::new("/proc")).join(pid).join("comm")).ok());
    Ok(names_of.any(|name| names.contains(&name.trim())))
}

/// Returns the name of the interface that has `address`; `None` if no interface has it.
///
/// # Errors
/// If the kernel does not list its interfaces.
pub fn interface_of(address: IpAddr) -> std::io::Result<Option<String>> {
    let has = |storage: &nix::sys::socket::SockaddrStorage| {
        storage.as_sockaddr_in().map(|a| IpAddr::V4(a.ip())) == Some(address)
            || storage.as_sockaddr_in6().map(|a| IpAddr::V6(a.ip())) == Some(address)
    };
    let mut all = nix::ifaddrs::getifaddrs()?;
    Ok(all.find(|i| i.address.as_ref().is_some_and(has)).map(|i| i.interface_name))
}

/// Returns the MTU of an interface in bytes; `None` if the kernel does not report it.
///
/// # Errors
/// If `/sys` cannot be read.
pub fn mtu(files: &Files, interface: &str) -> Result<Option<u32>, FileError> {
    let text = files.read_text(Path::new("/sys/class/net").join(interface).join("mtu"))?;
    Ok(text.and_then(|t| t.trim().parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_listener_is_found_with_its_process() {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        let found = listeners(&Files::of_machine(), &[port]).unwrap();
        assert_eq!(found[0].port, port);
        assert_eq!(found[0].process.as_ref().unwrap().pid, std::process::id());
        drop(socket);
        assert!(listeners(&Files::of_machine(), &[port]).unwrap().is_empty());
    }

    #[test]
    fn addresses_belong_to_interfaces() {
        assert_eq!(interface_of([127, 0, 0, 1].into()).unwrap().unwrap(), "lo");
        assert_eq!(interface_of([192, 0, 2, 1].into()).unwrap(), None);
        assert!(mtu(&Files::of_machine(), "lo").unwrap().is_some());
    }
}
