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
    // An IPv4 address can have a label such as `eth1:0`, which is no interface.
    let name = |label: String| label.split(':').next().unwrap_or_default().to_owned();
    Ok(all.find(|i| i.address.as_ref().is_some_and(has)).map(|i| name(i.interface_name)))
}

/// Returns the interface of the default route with the least metric; `None` if there is no default route.
///
/// # Errors
/// If `/proc` cannot be read.
pub fn default_interface(files: &Files, ipv4: bool) -> Result<Option<String>, FileError> {
    let table = if ipv4 { "/proc/net/route" } else { "/proc/net/ipv6_route" };
    let text = files.read_text(table)?.unwrap_or_default();
    let routes = text.lines().filter_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let is_zero = |text: &str| text.bytes().all(|digit| digit == b'0');
        // Source: `fib_route_seq_show` and `rt6_info_route` in the kernel.
        let (destination, length, metric, base, name) = match ipv4 {
            true => (*columns.get(1)?, *columns.get(7)?, *columns.get(6)?, 10, *columns.first()?),
            false => (*columns.first()?, *columns.get(1)?, *columns.get(5)?, 16, *columns.get(9)?),
        };
        let metric = u32::from_str_radix(metric, base).ok()?;
        (is_zero(destination) && is_zero(length) && name != "lo").then(|| (metric, name.to_owned()))
    });
    Ok(routes.min().map(|(_, name)| name))
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
    #[allow(clippy::disallowed_methods, reason = "tests create the files of a fake kernel")]
    fn the_default_route_has_an_interface() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::under(dir.path());
        assert_eq!(default_interface(&files, true).unwrap(), None);
        let zero = "0".repeat(32);
        let six = format!(
            "fe800000000000000000000000000000 40 {zero} 00 {zero} 00000100 00000001 00000000 00000001     eth0\n\
             {zero} 00 {zero} 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003     eth1\n\
             {zero} 00 {zero} 00 {zero} ffffffff 00000001 00000000 00200200       lo\n"
        );
        std::fs::create_dir_all(dir.path().join("proc/net")).unwrap();
        std::fs::write(dir.path().join("proc/net/ipv6_route"), six).unwrap();
        assert_eq!(default_interface(&files, false).unwrap().as_deref(), Some("eth1"));
    }

    #[test]
    fn addresses_belong_to_interfaces() {
        assert_eq!(interface_of([127, 0, 0, 1].into()).unwrap().unwrap(), "lo");
        assert_eq!(interface_of([192, 0, 2, 1].into()).unwrap(), None);
        assert!(mtu(&Files::of_machine(), "lo").unwrap().is_some());
    }
}
