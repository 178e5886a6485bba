//! Flatcar Container Linux: no package manager, `/usr` is read-only.

use super::{CHRONY, CHRONY_FILES, Distribution, SSHD_UNITS};

pub(super) static FLATCAR: Distribution = Distribution {
    ids: &["flatcar", "coreos"],
    locale: "/etc/locale.conf",
    locale_list: None,
    keymap: ("/etc/vconsole.conf", "KEYMAP", "systemd-vconsole-setup.service"),
    sshd: SSHD_UNITS[1],
    chrony: (CHRONY_FILES[0], CHRONY[1]),
    trust: ("/etc/ssl/certs", "pem", "update-ca-certificates"),
    packages: None,
};
