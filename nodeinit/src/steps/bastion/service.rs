//! DNS and NTP for the private network, by programs that are installed already.

use super::section;
use crate::{
    context::Context,
    engine::{
        error::{Exit, StepError},
        step::{State, Step},
        step_id::StepId,
    },
    host::{
        files::{Files, NewFile},
        systemd,
    },
    os::{CHRONY, CHRONY_FILES},
    steps::{kubelet::reason_to_restart, undo},
};
use async_trait::async_trait;
use nodeinit_config::cluster::Bastion;
use std::path::{Path, PathBuf};

const RESOLVED: &str = "systemd-resolved.service";
const DNSMASQ: &str = "dnsmasq.service";

/// Exists while systemd-resolved runs.
const RESOLVED_RUNS: &str = "/run/systemd/resolve/resolv.conf";

/// Steps `bastion-dns` and `bastion-ntp`: a drop-in lets a service answer the private network.
pub struct Serve {
    name: &'static str,
    protocol: &'static str,
    is_wanted: fn(&Bastion) -> bool,
    drop_in: fn(&Context, &Bastion) -> Result<NewFile, StepError>,
    /// The name of its drop-in, in any directory.
    file: &'static str,
}

/// DNS on the inner address.
pub const DNS: Serve = Serve {
    name: "bastion-dns",
    protocol: "DNS",
    is_wanted: |own| own.dns,
    drop_in: dns,
    file: "nodeinit-bastion-dns.conf",
};

/// NTP for addresses of the private network.
pub const NTP: Serve = Serve {
    name: "bastion-ntp",
    protocol: "NTP",
    is_wanted: |own| own.ntp,
    drop_in: ntp,
    file: "nodeinit-bastion-ntp.conf",
};

fn missing(what: impl Into<String>, hint: impl Into<String>) -> StepError {
    StepError::new(what.into()).exit(Exit::Unfit).hint(hint.into())
}

fn dns(cx: &Context, _: &Bastion) -> Result<NewFile, StepError> {
    let address = cx.node.address;
    let (directory, text) = if cx.files.exists(RESOLVED_RUNS) {
        ("/etc/systemd/resolved.conf.d", format!("[Resolve]\nDNSStubListenerExtra={address}\n"))
    } else if systemd::has_file(&cx.files, DNSMASQ) {
        // The interface may get its address after the service has started. The two ways to bind exclude each other.
        let bind = if binds_interfaces(&cx.files)? { "" } else { "bind-dynamic\n" };
        // With a `listen-address`, it no longer listens for this machine by itself.
        ("/etc/dnsmasq.d", format!("listen-address=127.0.0.1\nlisten-address={address}\n{bind}"))
    } else {
        let what = "`bastion.dns` needs systemd-resolved or dnsmasq, and this machine has neither";
        return Err(missing(what, "install one of them, or remove `bastion.dns`"));
    };
    Ok(NewFile::public(Path::new(directory).join(DNS.file), format!("# Written by nodeinit (bastion.dns).\n{text}")))
}

/// Whether dnsmasq is configured with `bind-interfaces`, as by some distributions.
fn binds_interfaces(files: &Files) -> Result<bool, StepError> {
    let mut paths = vec!["/etc/dnsmasq.conf".to_owned()];
    paths.extend(files.list("/etc/dnsmasq.d")?.into_iter().map(|name| format!("/etc/dnsmasq.d/{name}")));
    for path in paths {
        if files.read_text(&path)?.unwrap_or_default().lines().any(|line| line.trim() == "bind-interfaces") {
            return Ok(true);
        }
    }
    Ok(false)
}

fn ntp(cx: &Context, own: &Bastion) -> Result<NewFile, StepError> {
    for path in CHRONY_FILES {
        let Some(text) = cx.files.read_text(path)? else { continue };
        let mut directives = text.lines().filter_map(|line| line.trim().strip_prefix("confdir "));
        let Some(directory) = directives.next().and_then(|rest| rest.split_whitespace().next()) else {
            let hint = format!("add the line `confdir /etc/chrony.d` to {path}, or remove `bastion.ntp`");
            return Err(missing(
                format!("`bastion.ntp` needs a directory for drop-ins of chrony, but {path} names none"),
                hint,
            ));
        };
        let text = format!("# Written by nodeinit (bastion.ntp).\nallow {}\n", own.network);
        return Ok(NewFile::public(Path::new(directory).join(NTP.file), text));
    }
    Err(missing("`bastion.ntp` needs chrony, which is not installed", "install chrony, or remove `bastion.ntp`"))
}

/// Returns the unit that reads a drop-in.
fn unit(files: &Files, drop_in: &Path) -> &'static str {
    let [debian, others] = CHRONY;
    match drop_in.file_name().is_some_and(|name| name == DNS.file) {
        true if drop_in.starts_with("/etc/dnsmasq.d") => DNSMASQ,
        true => RESOLVED,
        false if systemd::has_file(files, debian) => debian,
        false => others,
    }
}

/// Returns why a program that the configuration needs cannot be used.
pub fn obstacle(cx: &Context) -> Vec<StepError> {
    [DNS, NTP].iter().filter_map(|serve| serve.wanted(cx).err()).collect()
}

impl Serve {
    fn wanted(&self, cx: &Context) -> Result<Option<NewFile>, StepError> {
        let own = section(cx)?;
        if (self.is_wanted)(own) { (self.drop_in)(cx, own).map(Some) } else { Ok(None) }
    }

    /// Returns nodeinit's drop-ins that are not wanted any more.
    pub(super) fn former(&self, cx: &Context, wanted: Option<&NewFile>) -> Result<Vec<PathBuf>, StepError> {
        let mut former = Vec::new();
        for path in cx.journal.state().files.into_keys() {
            let is_own = path.file_name().is_some_and(|name| name == self.file);
            if is_own && wanted.is_none_or(|file| file.path != path) && !undo::is_undone(cx, &path)? {
                former.push(path);
            }
        }
        Ok(former)
    }

    /// Removes drop-ins, and restarts the services that have read them.
    pub(super) async fn remove(&self, cx: &Context, id: &StepId, former: &[PathBuf]) -> Result<(), StepError> {
        undo::undo(cx, id, former)?;
        for path in former {
            systemd::restart_if_active(&cx.commands, unit(&cx.files, path)).await?;
        }
        Ok(())
    }
}

#[async_trait(?Send)]
impl Step for Serve {
    fn id(&self) -> StepId {
        StepId::Bastion(self.name)
    }

    fn title(&self) -> String {
        format!("answer {} for the private network, if configured", self.protocol)
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let wanted = match self.wanted(cx) {
            // In a plan, the packages are not installed yet. `apply` reports the error.
            Err(error) if !cx.cluster.os.packages.install.is_empty() => {
                return Ok(State::needed(format!("{}; at present: {error}", self.title())));
            }
            wanted => wanted?,
        };
        let former = self.former(cx, wanted.as_ref())?;
        let mut changes: Vec<String> = former.iter().map(|path| format!("remove {}", path.display())).collect();
        let Some(file) = wanted else { return Ok(State::of(changes)) };
        let (unit, path) = (unit(&cx.files, &file.path), file.path.clone());
        let differing = cx.differing(&[file])?;
        if !differing.is_empty() {
            changes.extend(differing);
            changes.push(format!("restart {unit}"));
            return Ok(State::of(changes));
        }
        let state = systemd::unit(&cx.commands, unit).await?;
        let inactive = (!state.active).then(|| format!("start {unit}"));
        changes.extend(inactive.or_else(|| reason_to_restart(cx, unit, state.since, [&path])));
        Ok(State::of(changes))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let wanted = self.wanted(cx)?;
        self.remove(cx, &self.id(), &self.former(cx, wanted.as_ref())?).await?;
        if let Some(file) = wanted {
            let unit = unit(&cx.files, &file.path);
            cx.place(vec![file]).await?;
            systemd::restart(&cx.commands, unit).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests create the files of a fake machine")]
mod tests {
    use super::{super::testing::bastion, *};

    fn with(cx: &Context, path: &str, text: &str) {
        let real = cx.files.real(Path::new(path));
        std::fs::create_dir_all(real.parent().unwrap()).unwrap();
        std::fs::write(real, text).unwrap();
    }

    #[test]
    fn without_their_programs_the_error_names_them() {
        let (_dir, cx) = bastion(", dns: true, ntp: true");
        let found: Vec<String> = obstacle(&cx).iter().map(ToString::to_string).collect();
        assert!(found[0].contains("systemd-resolved or dnsmasq") && found[1].contains("chrony"), "{found:?}");
        with(&cx, CHRONY_FILES[1], "pool pool.ntp.org iburst\n");
        with(&cx, "/usr/lib/systemd/system/dnsmasq.service", "");
        let found = obstacle(&cx);
        assert!(found.len() == 1 && found[0].to_string().contains("/etc/chrony.conf names none"), "{found:?}");
        assert!(obstacle(&bastion("").1).is_empty(), "nothing is wanted");
    }

    #[test]
    fn a_drop_in_lets_the_installed_service_answer() {
        let (_dir, cx) = bastion(", dns: true, ntp: true");
        let wanted = |serve: &Serve| {
            let file = serve.wanted(&cx).unwrap().unwrap();
            let text = String::from_utf8(file.content.to_vec()).unwrap();
            (file.path.display().to_string(), text, unit(&cx.files, &file.path))
        };
        with(&cx, "/lib/systemd/system/dnsmasq.service", "");
        let (path, text, unit) = wanted(&DNS);
        assert_eq!((path.as_str(), unit), ("/etc/dnsmasq.d/nodeinit-bastion-dns.conf", DNSMASQ));
        assert!(text.contains("\nlisten-address=10.0.0.11\n"), "{text}");
        with(&cx, RESOLVED_RUNS, "");
        let (path, text, unit) = wanted(&DNS);
        assert_eq!((path.as_str(), unit), ("/etc/systemd/resolved.conf.d/nodeinit-bastion-dns.conf", RESOLVED));
        assert!(text.ends_with("[Resolve]\nDNSStubListenerExtra=10.0.0.11\n"), "{text}");
        with(&cx, CHRONY_FILES[0], "# confdir /no\nconfdir /etc/chrony/conf.d\n");
        with(&cx, "/usr/lib/systemd/system/chrony.service", "");
        let (path, text, unit) = wanted(&NTP);
        assert_eq!((path.as_str(), unit), ("/etc/chrony/conf.d/nodeinit-bastion-ntp.conf", "chrony.service"));
        assert!(text.ends_with("\nallow 10.0.0.0/24\n"), "{text}");
    }

    #[tokio::test]
    async fn a_drop_in_that_is_not_wanted_any_more_is_removed() {
        let (_dir, cx) = bastion("");
        assert_eq!(DNS.check(&cx).await.unwrap(), State::Done);
        let path = Path::new("/etc/dnsmasq.d").join(DNS.file);
        cx.place(vec![NewFile::public(&path, "listen-address=10.0.0.11\n")]).await.unwrap();
        assert_eq!(DNS.check(&cx).await.unwrap(), State::needed(format!("remove {}", path.display())));
        assert_eq!(NTP.check(&cx).await.unwrap(), State::Done);
    }
}
