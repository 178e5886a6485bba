//! Facts about distributions: one file each. To add one, write its file and list it in [`ALL`].

mod debian;
mod flatcar;
mod rhel;
mod suse;

use crate::host::files::{FileError, Files};

/// What differs between distributions.
#[derive(Debug)]
pub struct Distribution {
    /// The values of `ID` and `ID_LIKE` in `/etc/os-release`.
    pub ids: &'static [&'static str],
    /// The file that contains `LANG`.
    pub locale: &'static str,
    /// The list of locales to generate, if they are generated on the machine.
    pub locale_list: Option<&'static str>,
    /// The file and the key of the keyboard layout, and the unit that applies it.
    pub keymap: (&'static str, &'static str, &'static str),
    /// The unit of sshd.
    pub sshd: &'static str,
    /// The configuration and the unit of chrony.
    pub chrony: (&'static str, &'static str),
    /// The directory of CA certificates, their suffix, and the program that applies them.
    pub trust: (&'static str, &'static str, &'static str),
    /// The package manager.
    pub packages: Option<PackageManager>,
}

/// A package manager.
#[derive(Debug)]
pub struct PackageManager {
    /// Its program.
    pub program: &'static str,
    /// Refreshes the list of packages.
    pub refresh: &'static [&'static str],
    /// Installs packages: the command without their names. It waits for the lock.
    pub install: &'static [&'static str],
    /// Installs all updates.
    pub update: &'static [&'static str],
    /// Installs security updates.
    pub update_security: &'static [&'static str],
    /// Removes a package, unless others need it.
    pub remove: &'static [&'static str],
    /// Prints `installed` if a package is installed.
    pub query: &'static [&'static str],
    /// Where the mirrors are configured.
    pub sources: &'static [&'static str],
    /// Exit codes that also mean success.
    pub success: &'static [i32],
    /// Exit codes after which the same command has more to do.
    pub again: &'static [i32],
    /// What it prints if an earlier run was interrupted, and the command that repairs this.
    pub repair: Option<(&'static str, &'static [&'static str])>,
}

/// The unit of sshd: Debian's and the others' name.
pub const SSHD_UNITS: [&str; 2] = ["ssh.service", "sshd.service"];

/// The unit of chrony: Debian's and the others' name.
pub const CHRONY: [&str; 2] = ["chrony.service", "chronyd.service"];

/// Its configuration: Debian's and the others' path.
pub const CHRONY_FILES: [&str; 2] = ["/etc/chrony/chrony.conf", "/etc/chrony.conf"];

/// A script of sh that prints `yes` if the distribution asks for a reboot: with a file of Debian, or a program of Red Hat or SUSE. Otherwise, it
/// prints why that is unknown. dnf's `needs-restarting` also fails if a reboot is needed, and prints this sentence only then. Without this
/// plugin, dnf names the capability of the package to install.
pub const ASKS_FOR_REBOOT: &str = "[ ! -e /run/reboot-required ] || echo yes
    asks=
    if command -v needs-restarting >/dev/null; then asks=needs-restarting
    elif command -v dnf >/dev/null; then asks='dnf needs-restarting'
    fi
    if [ \"$asks\" ]; then
        said=$(LC_ALL=C $asks -r 2>&1); code=$?
        case \"$code $said\" in
            '0 '*) ;;
            *'Reboot is required'*) echo yes ;;
            *'command(needs-restarting)'*) echo 'install needs-restarting there (dnf-plugins-core, or dnf5-plugins)' ;;
            *) echo \"$asks -r ended with $code; run it there\" ;;
        esac
    fi
    if command -v zypper >/dev/null; then
        zypper -q needs-rebooting >/dev/null 2>&1; code=$?
        case $code in
            0) ;;
            102) echo yes ;;
            *) echo \"zypper needs-rebooting ended with $code; run it there\" ;;
        esac
    fi
    true";

/// Whether the distribution asks for a reboot, by what [`ASKS_FOR_REBOOT`] printed.
///
/// # Errors
/// If a program failed: what it says about that.
pub fn asks_for_reboot(printed: &str) -> Result<bool, &str> {
    if printed.lines().any(|line| line == "yes") {
        return Ok(true);
    }
    printed.lines().next().map_or(Ok(false), Err)
}

/// All distributions; the first is the default.
const ALL: [&Distribution; 4] = [&debian::DEBIAN, &rhel::RHEL, &suse::SUSE, &flatcar::FLATCAR];

/// Returns the distribution of this machine.
///
/// # Errors
/// If `/etc/os-release` cannot be read.
pub fn distribution(files: &Files) -> Result<&'static Distribution, FileError> {
    let text = match files.read_text("/etc/os-release")? {
        Some(text) => text,
        None => files.read_text("/usr/lib/os-release")?.unwrap_or_default(),
    };
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.unwrap_or_default().trim_matches(['"', '\''])
    };
    let mut ids = value("ID").split_whitespace().chain(value("ID_LIKE").split_whitespace());
    Ok(ids.find_map(|id| ALL.into_iter().find(|each| each.ids.contains(&id))).unwrap_or(ALL[0]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::files::NewFile;

    #[tokio::test]
    async fn a_distribution_asks_for_a_reboot() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::under(dir.path());
        let mark = dir.path().join("reboot-required");
        let bin = dir.path().join("bin");
        files.make_directory(std::path::Path::new("/bin"), 0o755).unwrap();
        let asks = async || {
            let command = ASKS_FOR_REBOOT.replace("/run/reboot-required", &mark.display().to_string());
            let command = format!("PATH={}\n{command}", bin.display());
            let limit = std::time::Duration::from_secs(10);
            let printed =
                crate::host::commands::Commands::default().run(&["/bin/sh", "-c", &command], limit).await.unwrap();
            asks_for_reboot(&printed).map_err(str::to_owned)
        };
        assert_eq!(asks().await, Ok(false));
        let failed = |what: &str| Err(what.to_owned());
        for (program, script, expected) in [
            ("needs-restarting", "echo Reboot should not be necessary.", Ok(false)),
            ("needs-restarting", "echo Reboot is required to fully utilize these updates.; exit 1", Ok(true)),
            (
                "needs-restarting",
                "echo Error: Failed to download metadata for repo >&2; exit 1",
                failed("needs-restarting -r ended with 1; run it there"),
            ),
            ("dnf", "[ \"$*\" = 'needs-restarting -r' ]", Ok(false)),
            ("dnf", "echo Reboot is required to fully utilize these updates.; exit 1", Ok(true)),
            ("dnf", "exit 3", failed("dnf needs-restarting -r ended with 3; run it there")),
            (
                "dnf",
                "echo \"It could be a DNF plugin command, try: dnf install 'dnf-command(needs-restarting)'\" >&2; exit 1",
                failed("install needs-restarting there (dnf-plugins-core, or dnf5-plugins)"),
            ),
            ("zypper", "exit 0", Ok(false)),
            ("zypper", "exit 102", Ok(true)),
            ("zypper", "exit 7", failed("zypper needs-rebooting ended with 7; run it there")),
        ] {
            let path = format!("/bin/{program}");
            let text = format!("#!/bin/sh\n{script}\n");
            files.write(&[NewFile { mode: 0o755, ..NewFile::public(&path, text) }]).unwrap();
            assert_eq!(asks().await, expected, "{program}: {script}");
            files.remove_file(&path).unwrap();
        }
        files.write(&[NewFile::public("/reboot-required", "")]).unwrap();
        assert_eq!(asks().await, Ok(true));
    }

    #[test]
    fn a_distribution_is_found_by_its_id_or_its_relatives() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::under(dir.path());
        files.make_directory(std::path::Path::new("/etc"), 0o755).unwrap();
        for (text, ids) in [
            ("ID=debian\n", "debian"),
            ("NAME=Ubuntu\nID=ubuntu\nID_LIKE=debian\n", "debian"),
            ("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n", "rhel"),
            ("ID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"\n", "suse"),
            ("ID=flatcar\nID_LIKE=coreos\n", "flatcar"),
            ("ID=unknown\n", "debian"),
        ] {
            files.write(&[NewFile::public("/etc/os-release", text)]).unwrap();
            assert!(distribution(&files).unwrap().ids.contains(&ids), "{text}");
        }
    }
}
