//! Kernel parameters that steps set. The journal records the values before, which `reset` restores.

use crate::{
    context::Context,
    engine::{
        error::StepError,
        journal::{Parameter, Record},
    },
    host::kernel,
};
use std::path::{Path, PathBuf};

/// The files from which parameters are set at boot. Source: sysctl.d(5), and sysctl(8) for the last one.
const DIRECTORIES: [&str; 4] = ["/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d"];
const FILE: &str = "/etc/sysctl.conf";

/// A parameter that differs.
pub(super) struct Change {
    pub key: String,
    pub before: String,
    pub value: String,
}

/// Records the changes, then sets the parameters.
pub(super) fn set(cx: &Context, changes: &[Change]) -> Result<(), StepError> {
    let record = |Change { key, before, value }: &Change| Record::Sysctl {
        key: key.clone(),
        before: before.clone(),
        value: Some(value.clone()),
    };
    cx.journal.intend(changes.iter().map(record).collect())?;
    for Change { key, value, .. } in changes {
        kernel::set_sysctl(&cx.files, key, value).map_err(|e| {
            let hint = "check the value, and whether this machine is a container";
            StepError::from(e).hint(format!("the kernel rejects {key} = {value}: {hint}"))
        })?;
    }
    Ok(())
}

/// What `reset` does with a parameter that differs from its former value.
pub(super) enum Fate {
    /// It gets this value.
    Restore(String),
    /// It stays, for this reason.
    Keep(String),
}

/// Decides about the parameters that nodeinit set. One that others changed since, or want, stays.
pub(super) fn fates(cx: &Context) -> Result<Vec<(String, Fate)>, StepError> {
    let mut fates = Vec::new();
    for (key, Parameter { before, value }) in cx.journal.state().sysctls {
        let Some(now) = kernel::sysctl(&cx.files, &key)?.filter(|now| *now != before) else { continue };
        let fate = if value.is_some_and(|value| value != now) {
            Fate::Keep("somebody has changed it since".to_owned())
        } else if let Some(path) = file_with(cx, &key, &now)? {
            Fate::Keep(format!("{} also sets it to {now}", path.display()))
        } else {
            Fate::Restore(before)
        };
        fates.push((key, fate));
    }
    Ok(fates)
}

/// Returns a file of others that gives a parameter this value at boot. What cannot be read, such as a directory, sets nothing at boot either.
fn file_with(cx: &Context, key: &str, value: &str) -> Result<Option<PathBuf>, StepError> {
    let mut paths = vec![PathBuf::from(FILE)];
    for directory in DIRECTORIES {
        let names = cx.files.list(directory)?.into_iter().filter(|name| name.ends_with(".conf"));
        paths.extend(names.map(|name| Path::new(directory).join(name)));
    }
    let (own, wanted) = (cx.journal.state().files, kernel::sysctl_path(key));
    for path in paths.into_iter().filter(|path| !own.contains_key(path)) {
        let Ok(Some(content)) = cx.files.read(&path) else { continue };
        // A comment may have another encoding.
        let text = String::from_utf8_lossy(&content);
        let gives = |line: &str| {
            let (name, given) = line.split_once('=')?;
            let is_same = given.split_whitespace().eq(value.split_whitespace());
            Some(is_same && named(name.trim().trim_start_matches('-')) == wanted)
        };
        if text.lines().any(|line| gives(line) == Some(true)) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// Returns the path of a parameter in a file: its first separator may also be a `/`. Source: sysctl.d(5).
fn named(name: &str) -> PathBuf {
    let is_path = name.find(['.', '/']).is_some_and(|at| name[at..].starts_with('/'));
    if is_path { Path::new("/proc/sys").join(name) } else { kernel::sysctl_path(name) }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests make the files of a fake kernel")]
mod tests {
    use super::*;
    use crate::context::testing::context;

    const KEY: &str = "net.ipv4.ip_forward";

    #[test]
    fn a_parameter_that_others_changed_or_want_stays() {
        let (dir, cx) = context();
        let write = |path: &str, text: &str| {
            let real = dir.path().join(path);
            std::fs::create_dir_all(real.parent().unwrap()).unwrap();
            std::fs::write(real, text).unwrap();
        };
        let fate = || match fates(&cx).unwrap().pop() {
            None => "nothing".to_owned(),
            Some((_, Fate::Restore(before))) => format!("restore {before}"),
            Some((_, Fate::Keep(why))) => why,
        };
        write("proc/sys/net/ipv4/ip_forward", "0\n");
        set(&cx, &[Change { key: KEY.into(), before: "0".into(), value: "1".into() }]).unwrap();
        assert_eq!(fate(), "restore 0");
        for (text, expected) in [
            ("# net.ipv4.ip_forward = 1\nnet.ipv4.ip_forward_use_pmtu=1\n", "restore 0"),
            ("net.ipv4.ip_forward = 0\n", "restore 0"),
            ("-net.ipv4.ip_forward=1\n", "/etc/sysctl.d/docker.conf also sets it to 1"),
            ("net/ipv4/ip_forward = 1\n", "/etc/sysctl.d/docker.conf also sets it to 1"),
        ] {
            write("etc/sysctl.d/docker.conf", text);
            assert_eq!(fate(), expected, "{text}");
        }
        let latin1 = b"# Gr\xf6\xdfe\nnet.ipv4.ip_forward=1\n";
        std::fs::write(dir.path().join("etc/sysctl.d/docker.conf"), latin1).unwrap();
        std::fs::create_dir(dir.path().join("etc/sysctl.d/a.conf")).unwrap();
        assert_eq!(fate(), "/etc/sysctl.d/docker.conf also sets it to 1");
        write("etc/sysctl.d/docker.conf", "");
        assert_eq!(fate(), "restore 0");
        write("proc/sys/net/ipv4/ip_forward", "2\n");
        assert_eq!(fate(), "somebody has changed it since");
        write("proc/sys/net/ipv4/ip_forward", "0\n");
        assert_eq!(fate(), "nothing");
    }

    #[test]
    fn a_parameter_that_an_older_version_set_is_restored() {
        let (dir, cx) = context();
        let old = r#"{"record":"sysctl","key":"a.b","before":"0"}"#;
        cx.journal.intend(vec![serde_json::from_str(old).unwrap()]).unwrap();
        std::fs::create_dir_all(dir.path().join("proc/sys/a")).unwrap();
        std::fs::write(dir.path().join("proc/sys/a/b"), "1").unwrap();
        assert!(matches!(&fates(&cx).unwrap()[..], [(key, Fate::Restore(before))] if key == "a.b" && before == "0"));
    }
}
