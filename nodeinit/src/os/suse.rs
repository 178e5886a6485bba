//! SUSE Linux Enterprise and openSUSE.

use super::{CHRONY, CHRONY_FILES, Distribution, PackageManager, SSHD_UNITS};

pub(super) static SUSE: Distribution = Distribution {
    ids: &["suse", "sles", "opensuse", "opensuse-leap", "opensuse-tumbleweed"],
    locale: "/etc/locale.conf",
    locale_list: None,
    keymap: ("/etc/vconsole.conf", "KEYMAP", "systemd-vconsole-setup.service"),
    sshd: SSHD_UNITS[1],
    chrony: (CHRONY_FILES[1], CHRONY[1]),
    trust: ("/etc/pki/trust/anchors", "pem", "update-ca-certificates"),
    // zypper waits for its lock as long as this variable says.
    packages: Some(PackageManager {
        program: "zypper",
        refresh: &["env", "ZYPP_LOCK_TIMEOUT=300", "zypper", "-qn", "refresh"],
        install: &["env", "ZYPP_LOCK_TIMEOUT=300", "zypper", "-qn", "install", "--no-recommends"],
        update: &["env", "ZYPP_LOCK_TIMEOUT=300", "zypper", "-qn", "update"],
        update_security: &["env", "ZYPP_LOCK_TIMEOUT=300", "zypper", "-qn", "patch", "--category", "security"],
        remove: &["rpm", "--erase"],
        // A package may be provided by one with another name, such as iptables by iptables-nft.
        query: &["rpm", "--query", "--whatprovides", "--queryformat=installed\n"],
        sources: &["/etc/zypp/repos.d"],
        // zypper(8): a reboot is needed; zypper was updated itself, and the rest is left.
        success: &[102],
        again: &[103],
        repair: None,
    }),
};
