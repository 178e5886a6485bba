//! Flatcar Container Linux: no package manager, `/usr` is read-only.

use super::Distribution;

pub(super) static FLATCAR: Distribution = Distribution {
    ids: &["flatcar", "coreos"],
    locale: "/etc/locale.conf",
    locale_list: None,
    keymap: ("/etc/vconsole.conf", "KEYMAP", "systemd-vconsole-setup.service"),
    sshd: "sshd.service",
    chrony: ("/etc/chrony/chrony.conf", "chronyd.service"),
    trust: ("/etc/ssl/certs", "pem", "update-ca-certificates"),
    packages: None,
};
