//! Settings of the machine: what they are now, and how they change. A key is a kind and its object, such as `shell alice`; the journal
//! records it, so `reset` needs nothing else.

use super::{
    accounts, program, secret,
    storage::{self, parts},
    text,
};
use crate::{
    context::{Context, blocking},
    engine::error::StepError,
    host::{
        files::{Files, NewFile},
        kernel, processes,
    },
    os::distribution,
};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// Limits for one program, and for the installation of a package.
const LIMIT: Duration = Duration::from_secs(60);
const INSTALL_LIMIT: Duration = Duration::from_secs(1800);

const LOCAL_TIME: &str = "/etc/localtime";
const ZONES: &str = "/usr/share/zoneinfo";

fn first_of(of: &str) -> &str {
    parts(of).0
}

/// Returns the value; `None` if it is not set.
pub(super) async fn now(cx: &Context, key: &str) -> Result<Option<String>, StepError> {
    let (kind, of) = parts(key);
    if let Some(kind) = storage::kind(key) {
        return storage::now(cx, kind, of).await;
    }
    match kind {
        "enabled" => {
            let show = ["systemctl", "show", "--property=UnitFileState", "--value", of];
            let state = cx.commands.run(&show, LIMIT).await?;
            let enabled = ["enabled", "static", "alias", "generated"].iter().any(|each| state.trim().starts_with(each));
            Ok(enabled.then(|| "enabled".into()))
        }
        "package" => {
            let Some(packages) = &distribution(&cx.files)?.packages else { return Ok(None) };
            // It fails if the package is not installed.
            let answer = cx.commands.run(&[packages.query, &[of]].concat(), LIMIT).await;
            // One word for each architecture or version.
            let is_installed = |state: &String| state.split_whitespace().any(|word| word == "installed");
            Ok(answer.ok().filter(is_installed).map(|_| "installed".to_owned()))
        }
        _ => {
            let (cx, key) = (cx.clone(), key.to_owned());
            blocking(move || in_files(&cx, &key)).await
        }
    }
}

fn in_files(cx: &Context, key: &str) -> Result<Option<String>, StepError> {
    let ((kind, of), files) = (parts(key), &cx.files);
    Ok(match kind {
        "timezone" => files.link_target(Path::new(LOCAL_TIME)).and_then(|target| {
            let (_, zone) = target.to_str()?.split_once("zoneinfo/")?;
            Some(zone.to_owned())
        }),
        "line" => {
            let (path, name) = parts(of);
            text::value(&files.read_text(path)?.unwrap_or_default(), name)
        }
        "section" => text::section(&whole(of, files.read_text(of)?.unwrap_or_default())?),
        "no-servers" => {
            let text = text::with_section(&whole(of, files.read_text(of)?.unwrap_or_default())?, None);
            (!text.lines().any(text::is_server)).then(|| "yes".into())
        }
        "sysctl" => kernel::sysctl(files, of)?,
        "owner" => accounts::owner(files, Path::new(of))?,
        "user" => accounts::account(files, of)?.map(|_| "present".into()),
        "shell" => accounts::account(files, of)?.map(|account| account.shell),
        "password" => accounts::password(files, of)?,
        "mounted" => is_mounted(files, of)?.then(|| "yes".into()),
        "member" => {
            let (group, user) = parts(of);
            accounts::is_member(files, group, user)?.then(|| "yes".into())
        }
        _ => None,
    })
}

/// Refuses a file in which the end of nodeinit's section is missing.
fn whole(path: &str, text: String) -> Result<String, StepError> {
    if text::is_cut(&text) {
        let what = format!("{path} has the line `# BEGIN nodeinit` without `# END nodeinit`");
        return Err(StepError::new(what)
            .hint("write the line `# END nodeinit` after the lines of nodeinit, or remove them all"));
    }
    Ok(text)
}

/// Returns what is mounted on a directory: a device, or the name of another source.
pub(super) fn mounted_from(files: &Files, directory: &str) -> Result<Option<String>, StepError> {
    let table = files.read_text("/proc/self/mountinfo")?.unwrap_or_default();
    let real = files.canonical(Path::new(directory)).display().to_string();
    // The last mount hides the others. Source: proc_pid_mountinfo(5).
    let line = table.lines().rfind(|line| line.split(' ').nth(4) == Some(&real));
    let source =
        line.map(|line| line.split_once(" - ").and_then(|(_, rest)| rest.split(' ').nth(1)).unwrap_or_default());
    Ok(source.map(str::to_owned))
}

/// Returns the processes and the mounts that use what is mounted on a directory.
fn users(files: &Files, directory: &str) -> Result<Vec<String>, StepError> {
    let real = files.canonical(Path::new(directory));
    let table = files.read_text("/proc/self/mountinfo")?.unwrap_or_default();
    let mounts = table.lines().filter_map(|line| line.split(' ').nth(4)).map(Path::new);
    let below = mounts.filter(|mount| mount.starts_with(&real) && *mount != real);
    let mut users: Vec<String> = below.map(|mount| format!("the mount {}", mount.display())).collect();
    users.extend(processes::users(files, &real));
    Ok(users)
}

/// Whether something is mounted on a directory.
pub(super) fn is_mounted(files: &Files, directory: &str) -> Result<bool, StepError> {
    Ok(mounted_from(files, directory)?.is_some())
}

/// Changes the value; `None` removes it.
pub(super) async fn set(cx: &Context, key: &str, value: Option<&str>) -> Result<(), StepError> {
    let (kind, of) = parts(key);
    if let (Some(kind), Some(value)) = (storage::kind(key), value) {
        return storage::set(cx, kind, of, value).await;
    }
    let run = async |argv: &[&str]| program::run(cx, None, argv, LIMIT).await;
    match (kind, value) {
        ("enabled", Some(_)) => run(&["systemctl", "enable", "--now", of]).await,
        ("enabled", None) => run(&["systemctl", "disable", "--now", of]).await,
        ("user", Some(_)) => {
            run(&["useradd", "--create-home", "--user-group", "--home-dir", &format!("/home/{of}"), of]).await
        }
        ("user", None) => run(&["userdel", of]).await,
        ("shell", Some(shell)) => run(&["usermod", "--shell", shell, of]).await,
        ("member", _) => {
            let (group, user) = parts(of);
            match value {
                Some(_) => run(&["usermod", "--append", "--groups", group, user]).await,
                None => run(&["gpasswd", "--delete", user, group]).await,
            }
        }
        ("mounted", Some(_)) => {
            cx.make_directory(Path::new(of), 0o755).await?;
            run(&["mount", of]).await
        }
        ("mounted", None) => {
            let Err(error) = run(&["umount", of]).await else { return Ok(()) };
            let (files, directory) = (cx.files.clone(), of.to_owned());
            let users = blocking(move || users(&files, &directory)).await?;
            let what = if users.is_empty() { String::new() } else { format!(": {} use it", users.join(", ")) };
            let hint =
                format!("`fuser -vm {of}` shows what uses it: stop or unmount that, then run the same command again");
            Err(StepError::caused(format!("cannot unmount {of}{what}"), error).hint(hint))
        }
        ("password", Some(hash)) => {
            let line = format!("{of}:{hash}\n");
            Ok(cx.commands.run_with_input(&["chpasswd", "--encrypted"], line.as_bytes(), LIMIT).await.map(drop)?)
        }
        ("package", _) => {
            let Some(packages) = &distribution(&cx.files)?.packages else {
                return Err(StepError::new("this distribution has no package manager").hint("remove `os.packages`"));
            };
            let command = if value.is_some() { packages.install } else { packages.remove };
            program::run(cx, Some(packages), &[command, &[of]].concat(), INSTALL_LIMIT).await
        }
        _ => {
            if let ("section" | "line", Some(directory)) = (kind, Path::new(first_of(of)).parent()) {
                cx.make_directory(directory, 0o755).await?;
            }
            let (cx, key, value) = (cx.clone(), key.to_owned(), value.map(str::to_owned));
            blocking(move || set_in_files(&cx, &key, value.as_deref())).await
        }
    }
}

fn set_in_files(cx: &Context, key: &str, value: Option<&str>) -> Result<(), StepError> {
    let ((kind, of), files) = (parts(key), &cx.files);
    match (kind, value) {
        ("timezone", Some(zone)) => {
            let file = Path::new(ZONES).join(zone);
            if !files.is_file(&file) {
                let hint = "write a name that `timedatectl list-timezones` prints; if it prints none, install the package tzdata";
                return Err(StepError::new(format!("os.timezone: this machine has no time zone {zone}")).hint(hint));
            }
            // In the form of the present link, so that `reset` restores it exactly.
            let present = files.link_target(Path::new(LOCAL_TIME)).filter(|target| target.is_absolute());
            let target =
                present.map_or_else(|| Path::new("..").join(file.strip_prefix("/").unwrap_or(&file)), |_| file.clone());
            files.link(Path::new(LOCAL_TIME), &target)?;
        }
        ("timezone", None) => files.remove_file(LOCAL_TIME)?,
        ("line", _) => {
            let (path, name) = parts(of);
            rewrite(cx, path, |text| text::with_value(text, name, value))?;
        }
        ("section", _) => {
            whole(of, files.read_text(of)?.unwrap_or_default())?;
            rewrite(cx, of, |text| text::with_section(text, value))?;
        }
        ("no-servers", _) => rewrite(cx, of, |text| text::with_servers(text, value.is_none()))?,
        ("sysctl", Some(value)) => kernel::set_sysctl(files, of, value)?,
        ("owner", Some(owner)) => {
            let Some(ids) = accounts::ids(files, owner)? else {
                let what = format!("cannot give {of} to {owner}: no such user or group");
                return Err(StepError::new(what).hint("add the user to `os.users`, or fix `owner`"));
            };
            files.set_owner(Path::new(of), ids)?;
        }
        _ => {}
    }
    Ok(())
}

/// Changes a part of a file that others write, too; its owner and its mode stay. Removes a file that becomes empty.
fn rewrite(cx: &Context, path: &str, change: impl Fn(&str) -> String) -> Result<(), StepError> {
    // A link leads to the file to change, such as /etc/default/locale of Debian 13.
    let path: PathBuf = cx.files.canonical(Path::new(path));
    let text = cx.files.read_text(&path)?.unwrap_or_default();
    let content = change(&text);
    if content.is_empty() {
        return Ok(cx.files.remove_file(&path)?);
    }
    let (mode, owner) = (cx.files.mode(&path).unwrap_or(0o644), cx.files.owner(&path));
    cx.files.write(&[NewFile { mode, ..NewFile::public(&path, content) }])?;
    match owner.filter(|owner| cx.files.owner(&path).as_ref() != Some(owner)) {
        Some(owner) => Ok(cx.files.set_owner(&path, owner)?),
        None => Ok(()),
    }
}

/// Describes a change, for a plan. Never shows a password hash.
pub(super) fn describe(key: &str, value: Option<&str>) -> String {
    let (kind, of) = parts(key);
    if let (Some(kind), Some(value)) = (storage::kind(key), value) {
        return storage::describe(kind, of, value);
    }
    let (first, second) = parts(of);
    if kind == "line" && secret::is_secret(key) {
        return format!("change {second} in {first}");
    }
    match (kind, value) {
        ("timezone", Some(zone)) => format!("set the time zone to {zone}"),
        ("line", Some(value)) => format!("set {second} to {value} in {first}"),
        ("line", None) => format!("remove {second} from {first}"),
        ("section", Some(_)) => format!("write the section of nodeinit in {of}"),
        ("section", None) => format!("remove the section of nodeinit from {of}"),
        ("no-servers", Some(_)) => format!("comment out the servers in {of}"),
        ("no-servers", None) => format!("enable the former servers in {of}"),
        ("sysctl", Some(value)) => format!("set {of} to {value}"),
        ("owner", Some(owner)) => format!("set the owner of {of} to {owner}"),
        ("enabled", Some(_)) => format!("start and enable {of}"),
        ("enabled", None) => format!("stop and disable {of}"),
        ("user", Some(_)) => format!("create the user {of}"),
        ("user", None) => format!("remove the user {of}; the home directory stays"),
        ("shell", Some(shell)) => format!("set the shell of {of} to {shell}"),
        ("member", Some(_)) => format!("add {second} to the group {first}"),
        ("member", None) => format!("remove {second} from the group {first}"),
        ("mounted", Some(_)) => format!("mount {of}"),
        ("mounted", None) => format!("unmount {of}"),
        ("password", _) => format!("set the password hash of {of}"),
        ("package", Some(_)) => format!("install {of}"),
        ("package", None) => format!("remove the package {of}"),
        _ => format!("remove {key}"),
    }
}
