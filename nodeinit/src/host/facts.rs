//! Facts about this machine, collected before the plan is made.

use crate::host::files::{FileError, Files};
use nodeinit_config::Local;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// Returns this machine's CPU architecture as Go names it: all machines of a cluster have the one that nodeinit was built for.
#[must_use]
pub fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// Returns the host name and the addresses.
#[must_use]
pub fn local() -> Local {
    let host_name = nix::unistd::gethostname().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let mut addresses: Vec<IpAddr> =
        [default_route(Ipv4Addr::UNSPECIFIED.into()), default_route(Ipv6Addr::UNSPECIFIED.into())]
            .into_iter()
            .flatten()
            .collect();
    let interfaces = nix::ifaddrs::getifaddrs().into_iter().flatten();
    for address in interfaces.filter_map(|interface| ip(&interface.address?)) {
        if !address.is_loopback() && !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    Local { host_name, addresses }
}

fn ip(address: &nix::sys::socket::SockaddrStorage) -> Option<IpAddr> {
    let v4 = address.as_sockaddr_in().map(|a| IpAddr::V4(a.ip()));
    v4.or_else(|| address.as_sockaddr_in6().map(|a| IpAddr::V6(a.ip())))
}

/// Returns the source address of the default route: the kernel chooses it when a datagram socket connects to a remote address.
/// Nothing is sent. The remote addresses are those for documentation (RFC 5737, RFC 3849).
fn default_route(any: IpAddr) -> Option<IpAddr> {
    let far =
        if any.is_ipv4() { IpAddr::from([192, 0, 2, 1]) } else { IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1]) };
    let socket = UdpSocket::bind(SocketAddr::new(any, 0)).ok()?;
    socket.connect(SocketAddr::new(far, 9)).ok()?;
    Some(socket.local_addr().ok()?.ip()).filter(|address| !address.is_loopback())
}

/// The identity of this machine, as a kubelet reports it in `status.nodeInfo`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineIdentity {
    /// The content of `/etc/machine-id`.
    pub id: String,
    /// The UUID of the firmware, if it has one.
    pub system_uuid: Option<String>,
}

/// Returns the identity that this machine's kubelet will report (cadvisor, `machine/info.go` and `utils/sysfs/sysfs.go`).
///
/// # Errors
/// If an existing file cannot be read.
pub fn machine(files: &Files) -> Result<MachineIdentity, FileError> {
    let text = |path: &str| -> Result<Option<String>, FileError> {
        Ok(files.read_text(path)?.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()))
    };
    let id = text("/etc/machine-id")?.or(text("/var/lib/dbus/machine-id")?).unwrap_or_default();
    Ok(MachineIdentity { id, system_uuid: text("/sys/class/dmi/id/product_uuid")? })
}
