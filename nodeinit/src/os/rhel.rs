//! Red Hat Enterprise Linux, Fedora, and distributions built from them.

use super::{CHRONY, CHRONY_FILES, Distribution, PackageManager, SSHD_UNITS};

pub(super) static RHEL: Distribution = Distribution {
    ids: &["rhel", "fedora", "centos", "rocky", "almalinux", "ol"],
    locale: "/etc/locale.conf",
    locale_list: None,
    keymap: ("/etc/vconsole.conf", "KEYMAP", "systemd-vconsole-setup.service"),
    sshd: SSHD_UNITS[1],
    chrony: (CHRONY_FILES[1], CHRONY[1]),
    trust: ("/etc/pki/ca-trust/source/anchors", "pem", "update-ca-trust"),
    // dnf waits for its lock.
    packages: Some(PackageManager {
        program: "dnf",
        refresh: &["dnf", "-q", "--setopt=timeout=30", "--setopt=retries=2", "makecache"],
        install: &[
            "dnf",
            "-qy",
            "--setopt=timeout=30",
            "--setopt=retries=2",
            "--setopt=install_weak_deps=False",
            "install",
        ],
        update: &["dnf", "-qy", "--setopt=timeout=30", "--setopt=retries=2", "upgrade"],
        update_security: &["dnf", "-qy", "--setopt=timeout=30", "--setopt=retries=2", "upgrade", "--security"],
        remove: &["rpm", "--erase"],
        // A package may be provided by one with another name, such as iptables by iptables-nft.
        query: &["rpm", "--query", "--whatprovides", "--queryformat=installed\n"],
        sources: &["/etc/yum.repos.d"],
        success: &[],
        again: &[],
        repair: None,
    }),
};
