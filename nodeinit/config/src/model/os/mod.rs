//! Settings of the operating system. A missing key leaves the machine as it is.

mod access;
mod disks;
mod items;

pub use access::OsUser;
pub use disks::{Disk, Filesystem, Partition, Volume, VolumeGroup};
pub use items::{OsFile, OsUnit};

use super::{
    container_runtime::Proxy,
    declare::{Dict, Verdict, choice, keys, place::Place},
    reserved::SYSCTLS_RESERVED,
    texts::{
        Argument, DataSize, Keymap, Locale, Module, Number, Package, PasswordHash, PemCertificate, SshdOption,
        Subdomain, Sysctl, Template, TimeServer, TimeZone,
    },
};
use std::{collections::BTreeMap, net::IpAddr, path::PathBuf};

keys! {
    /// Settings for the operating system. See `docs/how-to/operating-system.md`.
    pub struct Os {
        /// The time zone.
        "timezone" timezone: Option<String> as Option<TimeZone>, else "unchanged", example "Europe/Amsterdam", to all;
        /// The language of the system (`LANG`).
        "locale" locale: Option<String> as Option<Locale>, else "unchanged", example "C.UTF-8", to all;
        /// The keyboard layout of the console.
        "keymap" keymap: Option<String> as Option<Keymap>, else "unchanged", example "us", to all;
        /// Which host name a machine gets.
        "hostName" host_name: HostName = "keep", to all;
        /// The domain of the machines: the full name of `master-1` becomes `master-1.DOMAIN`. Written to `/etc/hosts`.
        "domain" domain: Option<String> as Option<Subdomain>, else "none", example "k8s.example.org", to all;
        /// A marked section in `/etc/hosts`.
        "hosts" hosts: Hosts, to all;
        /// Name resolution, through systemd-resolved, NetworkManager or `/etc/resolv.conf`, whichever the machine uses.
        "dns" dns: Dns, to all;
        /// Texts for users who log in. `${name}`, `${fullName}`, `${address}`, `${role}` and `${cluster}` are replaced.
        "messages" messages: Messages, to all;
        /// How nodeinit configures swap.
        "swap" swap: Swap = "off", to all => swap;
        /// Kernel parameters (sysctls) in addition to those that Kubernetes needs.
        "sysctls" sysctls: BTreeMap<String, String> as Dict<Sysctl, Argument>,
            example "{vm.max_map_count: 262144}", reserved SYSCTLS_RESERVED, to all;
        /// Kernel modules to load in addition to those that Kubernetes needs.
        "modules" modules: Vec<String> as Vec<Module>, example "[ip_vs]", to all;
        /// The limit of open files for services and logins.
        "openFiles" open_files: Option<u64> as Option<Number>, else "unchanged", example "1048576", to all;
        /// IPv6 on this machine.
        "ipv6" ipv6: Ipv6 = "keep", to all => ipv6;
        /// Users, with their SSH keys.
        "users" users: Vec<OsUser>, example "[{name: alice, keys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKSJP7bvRVpAlmJMb4lLdWVlqsA4FxgYDbSw1LRxlPyo]}]", to all => access::users;
        /// The hash of root's password, as `openssl passwd -6` prints it. Never write the password itself.
        "rootPasswordHash" root_password_hash: Option<String> as Option<PasswordHash>, else "unchanged",
            example "\"$6$abcdefgh$X1aN5l6W0lqhYcmpx1mZpZQUjNQ9hJ3hFTfDAVnSPdm0M4pGbvVxY4m5gNfOzCzGJtLrG2pQ9kd3B8hVnC8jX0\"", to all;
        /// Options of sshd, written to `/etc/ssh/sshd_config.d/00-nodeinit.conf` if `sshd -t` accepts them.
        "sshd" sshd: BTreeMap<String, String> as Dict<SshdOption, Argument>,
            example "{PasswordAuthentication: \"no\"}", to all => access::sshd;
        /// Time servers, for chrony or systemd-timesyncd, whichever the machine has.
        "timeServers" time_servers: Vec<String> as Vec<TimeServer>, example "[ntp.example.org]", to all;
        /// Further files.
        "files" files: Vec<OsFile>, example "[{path: /etc/example.conf, content: hello}]", to all => items::files;
        /// Further systemd units.
        "units" units: Vec<OsUnit>, example "[{name: example.service, content: \"[Service]\"}]", to all => items::units;
        /// CA certificates that programs on the machine trust, as PEM.
        "trustedCAs" trusted_cas: Vec<String> as Vec<PemCertificate>,
            example "[\"-----BEGIN CERTIFICATE-----\\nMIH6MIGtoAMCAQICAQEwBQYDK2VwMA0xCzAJBgNVBAMMAkNBMB4XDTI2MTEyNzEw\\nMzQzNFoXDTM2MTEyNDEwMzQzNFowDTELMAkGA1UEAwwCQ0EwKjAFBgMrZXADIQCW\\nhVXSfak3yZT3TlcLlW9MsQ9I4mgDtydrpw6FG9OgpqMyMDAwDwYDVR0TAQH/BAUw\\nAwEB/zAdBgNVHQ4EFgQU/gR6hL61xnaMhblnNS8U+fZlNXEwBQYDK2VwA0EAgNd0\\nWzXZxm2ERdE/zUKTEWav8EYzD/ijkLPPekNIsRU4e+rv+dlvQIpqCwD1IIEq8QpS\\n0RrAQ3Dzq5tPIRkHBA==\\n-----END CERTIFICATE-----\\n\"]", to all;
        /// Proxies for the kubelet, package managers and shells; containerd uses them, too, unless `containerRuntime.proxy` is set.
        "proxy" proxy: Proxy, to all;
        /// Logs of the machine.
        "logs" logs: Logs, to all;
        /// Packages of the distribution.
        "packages" packages: Packages, to all;
        /// Disks to partition, format and mount. A disk with any data is never changed.
        "disks" disks: Vec<Disk>, example "[{device: /dev/vdb, mount: /var/lib/etcd}]", to all => disks::disks;
        /// LVM volume groups.
        "volumeGroups" volume_groups: Vec<VolumeGroup>, example "[{name: data, volumes: [{name: etcd, size: 20G, mount: /var/lib/etcd}]}]", to all;
    }
}

keys! {
    /// The section of nodeinit in `/etc/hosts`.
    pub struct Hosts {
        /// Whether to list every machine of the cluster whose address is known.
        "machines" machines: bool = "false", to all;
        /// Further names.
        "extra" extra: BTreeMap<String, IpAddr> as Dict<super::texts::NodeName, IpAddr>, example "{registry.example.org: 10.0.0.5}", to all;
    }
}

keys! {
    /// Name resolution.
    pub struct Dns {
        /// Name servers.
        "servers" servers: Vec<IpAddr>, example "[10.0.0.2]", to all;
        /// Search domains.
        "search" search: Vec<String> as Vec<Subdomain>, example "[example.org]", to all;
    }
}

keys! {
    /// Texts for users who log in.
    pub struct Messages {
        /// Shown before login (`/etc/issue`).
        "issue" issue: Option<String> as Option<Template>, else "unchanged", example "Unauthorised access is prohibited.", to all;
        /// Shown after login (`/etc/motd`).
        "motd" motd: Option<String> as Option<Template>, else "unchanged", example "\"${name}: ${role} of ${cluster}\"", to all;
        /// Printed on the console when the machine is ready.
        "finished" finished: Option<String> as Option<Template>, else "none", example "\"${name} is ready\"", to all;
    }
}

keys! {
    /// Logs of the machine.
    pub struct Logs {
        /// The maximum size of systemd's journal.
        "journalMaxSize" journal_max_size: Option<String> as Option<DataSize>, else "unchanged", example "1G", to all;
        /// How many days systemd's journal keeps.
        "journalMaxDays" journal_max_days: Option<usize>, else "unchanged", example "30", to all;
        /// Log files that logrotate rotates each day and keeps for 14 days.
        "rotate" rotate: Vec<PathBuf>, example "[/var/log/audit/audit.log]", to all;
    }
}

keys! {
    /// Packages of the distribution.
    pub struct Packages {
        /// Which updates to install when a machine is set up, and when this value changes. Later runs install none.
        "updates" updates: Updates = "none", to all;
        /// Whether `nodeinit up` reboots other machines whose distribution asks for it: drained, one master at a time, then a few workers.
        "reboot" reboot: Reboot = "never", to masters;
        /// Packages to install.
        "install" install: Vec<String> as Vec<Package>, example "[chrony]", to all;
    }
}

choice! {
    /// Which host name a machine gets.
    pub enum HostName {
        /// the one that it has
        "keep" Keep,
        /// its name in `masters` or `workers`, without a suffix such as `.novalocal`
        "machine" Machine,
    }
}

choice! {
    /// IPv6 on a machine.
    pub enum Ipv6 {
        /// unchanged
        "keep" Keep,
        /// enabled
        "on" On,
        /// disabled
        "off" Off,
    }
}

choice! {
    /// The updates to install.
    pub enum Updates {
        /// none
        "none" None,
        /// security updates only
        "security" Security,
        /// all updates
        "all" All,
    }
}

choice! {
    /// When `nodeinit up` reboots other machines.
    pub enum Reboot {
        /// never
        "never" Never,
        /// when the distribution asks for it, such as after an update of the kernel
        "whenRequested" WhenRequested,
    }
}

choice! {
    /// How nodeinit configures swap.
    pub enum Swap {
        /// disabled, now and at each boot
        "off" Off,
        /// preflight fails if swap is on
        "refuse" Refuse,
        /// unchanged; needs `failSwapOn: false` in `kubelet.config`
        "keep" Keep,
    }
}

fn swap(place: &Place<'_, Swap>, verdict: &mut Verdict<'_>) {
    let kubelet = place.all().kubelet().config().value().unwrap_or_default();
    if place.value() == Some(Swap::Keep) && kubelet.get("failSwapOn") != Some(&false.into()) {
        let what = "the kubelet refuses to start if swap is on";
        place.report(&mut verdict.errors, what, "also set `failSwapOn: false` in `kubelet.config`");
    }
}

fn ipv6(place: &Place<'_, Ipv6>, verdict: &mut Verdict<'_>) {
    if place.value() != Some(Ipv6::Off) {
        return;
    }
    let all = place.all();
    for network in [all.network().pod_cidr(), all.network().service_cidr()] {
        if network.value().is_some_and(|net| net.addr().is_ipv6()) {
            let what = format!("{} is an IPv6 network", network.path);
            place.report(&mut verdict.errors, what, "remove it, or use IPv4 in `network`");
        }
    }
    for machine in all.masters().items().iter().chain(&all.workers().items()) {
        for address in [machine.address(), machine.ssh().address()] {
            if address.value().is_some_and(|address| address.is_ipv6()) {
                let what = format!("{} is an IPv6 address", address.path);
                place.report(&mut verdict.errors, what, "remove it, or use IPv4 addresses");
            }
        }
    }
}
