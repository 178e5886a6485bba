//! Debian and Ubuntu.

use super::{CHRONY, CHRONY_FILES, Distribution, PackageManager, SSHD_UNITS};

/// How long apt waits for the lock of dpkg, in seconds.
const LOCK: &str = "-o=DPkg::Lock::Timeout=300";

pub(super) static DEBIAN: Distribution = Distribution {
    ids: &["debian", "ubuntu"],
    locale: "/etc/default/locale",
    locale_list: Some("/etc/locale.gen"),
    keymap: ("/etc/default/keyboard", "XKBLAYOUT", "keyboard-setup.service"),
    sshd: SSHD_UNITS[0],
    chrony: (CHRONY_FILES[0], CHRONY[0]),
    trust: ("/usr/local/share/ca-certificates", "crt", "update-ca-certificates"),
    packages: Some(PackageManager {
        program: "apt-get",
        refresh: &[
            "env",
            "DEBIAN_FRONTEND=noninteractive",
            "apt-get",
            "-q",
            "-o=Acquire::Retries=1",
            "-o=Acquire::http::Timeout=30",
            "-o=Acquire::https::Timeout=30",
            "-o=APT::Update::Error-Mode=any",
            "update",
        ],
        install: &[
            "env",
            "DEBIAN_FRONTEND=noninteractive",
            "apt-get",
            "-qy",
            LOCK,
            "-o=Acquire::http::Timeout=30",
            "-o=Acquire::https::Timeout=30",
            "-o=Dpkg::Options::=--force-confold",
            "--no-install-recommends",
            "install",
        ],
        update: &[
            "env",
            "DEBIAN_FRONTEND=noninteractive",
            "apt-get",
            "-qy",
            LOCK,
            "-o=Dpkg::Options::=--force-confold",
            "upgrade",
        ],
        update_security: &[
            "env",
            "DEBIAN_FRONTEND=noninteractive",
            "sh",
            "-c",
            "set -e; list=$(apt-get -s --with-new-pkgs upgrade); all=$(echo \"$list\" | awk '/^Inst/ && /[Ss]ecurity/ {print $2}'); [ -z \"$all\" ] || \
             apt-get -qy -o=DPkg::Lock::Timeout=300 -o=Dpkg::Options::=--force-confold --only-upgrade install $all",
        ],
        remove: &["dpkg", "--remove"],
        query: &["dpkg-query", "--show", "--showformat=${db:Status-Status} "],
        sources: &["/etc/apt/sources.list", "/etc/apt/sources.list.d"],
        success: &[],
        again: &[],
        repair: Some((
            "dpkg --configure -a",
            &["env", "DEBIAN_FRONTEND=noninteractive", "dpkg", "--force-confold", "--configure", "-a"],
        )),
    }),
};
