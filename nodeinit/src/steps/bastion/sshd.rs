//! The SSH server of a bastion: keys only, TCP forwarding to other machines.

use super::section;
use crate::{
    context::{Context, blocking},
    engine::{
        error::{Exit, StepError},
        step::{State, Step},
        step_id::StepId,
    },
    host::{
        files::{FileError, Files, NewFile},
        systemd,
    },
    os::SSHD_UNITS,
    render::{bastion::SSHD, paths},
    steps::{kubelet::reason_to_restart, undo},
};
use async_trait::async_trait;
use nodeinit_base::sha256_hex;
use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr},
    path::Path,
    time::Duration,
};

pub(super) const ID: StepId = StepId::Bastion("bastion-sshd");

/// Shows which drop-in the running server has read.
pub(super) const LOADED: &str = "/run/nodeinit-bastion-sshd";

/// An address of nobody (RFC 5737), which represents all that are outside of the private network.
const OUTSIDE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

/// Limit for one call of `sshd`, which takes milliseconds except under heavy load.
const LIMIT: Duration = Duration::from_secs(30);

/// The settings that `sshd -T` prints, by keyword in lower case.
#[derive(Debug)]
pub(super) struct Effective(BTreeMap<String, Vec<String>>);

impl Effective {
    fn parse(printed: &str) -> Self {
        let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (key, value) in printed.lines().filter_map(|line| line.split_once(' ')) {
            all.entry(key.to_ascii_lowercase()).or_default().push(value.trim().to_owned());
        }
        Self(all)
    }

    /// Returns the settings of the present files, which `sshd` also tests, outside of `Match` blocks.
    pub(super) async fn read(cx: &Context) -> Result<Self, StepError> {
        Self::print(cx, &["sshd", "-T"]).await
    }

    /// Returns the settings for a user who connects from an address, `Match` blocks included.
    async fn for_user(cx: &Context, user: &User, from: IpAddr) -> Result<Self, StepError> {
        let connection = format!("user={},host={from},addr={from}", user.name);
        Self::print(cx, &["sshd", "-T", "-C", &connection]).await
    }

    async fn print(cx: &Context, command: &[&str]) -> Result<Self, StepError> {
        let printed = cx.commands.run(command, LIMIT).await.map_err(|error| match error.is_missing() {
            true => StepError::new("`sshd` is not installed").exit(Exit::Unfit).hint("install the OpenSSH server"),
            false => StepError::caused("cannot read the settings of the SSH server", error)
                .hint("run `sshd -t`, and fix the files that it names"),
        })?;
        Ok(Self::parse(&printed))
    }

    /// Returns the settings that the drop-in leads to, without writing it.
    async fn with_drop_in(cx: &Context) -> Result<Self, StepError> {
        let text = format!("{SSHD}Include /etc/ssh/sshd_config\n");
        let printed = cx.commands.run_with_input(&["sshd", "-T", "-f", "/dev/stdin"], text.as_bytes(), LIMIT).await;
        let refused = |e| StepError::caused(format!("sshd rejects the settings for {}", paths::BASTION_SSHD), e);
        Ok(Self::parse(&printed.map_err(refused)?))
    }

    fn value(&self, key: &str) -> &str {
        self.0.get(key).and_then(|values| values.first()).map_or("", String::as_str)
    }

    /// Returns the words of a setting that `sshd` prints in one line for each of them, or for all.
    fn words(&self, key: &str) -> impl Iterator<Item = &str> {
        self.0.get(key).into_iter().flatten().flat_map(|value| value.split(' '))
    }

    /// Returns the ports on which the server listens.
    pub(super) fn ports(&self) -> Vec<u16> {
        let values = |key: &str| self.0.get(key).cloned().unwrap_or_default();
        let own = values("port").into_iter();
        let addresses = values("listenaddress").into_iter();
        let of_address = addresses.filter_map(|address| Some(address.rsplit_once(':')?.1.to_owned()));
        let mut ports: Vec<u16> = own.chain(of_address).filter_map(|text| text.parse().ok()).collect();
        ports.sort_unstable();
        ports.dedup();
        if ports.is_empty() { vec![22] } else { ports }
    }

    fn accepts_passwords(&self) -> bool {
        ["passwordauthentication", "kbdinteractiveauthentication"].iter().any(|key| self.value(key) == "yes")
    }

    /// Returns why the server is not one of a bastion.
    fn fault(&self) -> Option<&'static str> {
        if self.accepts_passwords() {
            return Some("accepts passwords");
        }
        let forwards = !["no", "remote"].contains(&self.value("allowtcpforwarding"));
        (!forwards).then_some("does not forward connections to other machines")
    }

    /// Returns why a user could not log in without a password.
    fn locks_out(&self, user: &User, files: &Files) -> Result<Option<String>, FileError> {
        let User { name, home } = user;
        let methods = self.value("authenticationmethods");
        let by_key = |list: &str| list.split(',').all(|method| method == "publickey");
        if !["", "any"].contains(&methods) && !methods.split(' ').any(by_key) {
            return Ok(Some(format!("`AuthenticationMethods {methods}` of the SSH server needs a password")));
        }
        let names_program = |key: &str| !["", "none"].contains(&self.value(key));
        if names_program("authorizedkeyscommand") || names_program("trustedusercakeys") {
            return Ok(None);
        }
        let nobody = Some("no user who may log in over SSH has an authorized key".to_owned());
        let is_named = |key: &str| self.words(key).any(|user| user == name);
        let is_set = |key: &str| !["", "none"].contains(&self.value(key));
        // Patterns and groups are not evaluated: such a user does not count.
        let is_refused = is_set("allowusers") && !is_named("allowusers")
            || self.words("denyusers").any(|user| user == name || user.contains(['*', '?', '@']))
            || ["allowgroups", "denygroups", "forcecommand"].iter().any(|key| is_set(key))
            || self.value("pubkeyauthentication") == "no"
            || name == "root" && ["no", "forced-commands-only"].contains(&self.value("permitrootlogin"));
        if is_refused {
            return Ok(nobody);
        }
        for pattern in self.value("authorizedkeysfile").split(' ').filter(|pattern| *pattern != "none") {
            let path = pattern.replace("%h", home).replace("%u", name);
            let keys = files.read_text(Path::new(home).join(path))?.unwrap_or_default();
            if keys.lines().any(opens_a_shell) {
                return Ok(None);
            }
        }
        Ok(nobody)
    }
}

/// A user with a shell.
struct User {
    name: String,
    home: String,
}

fn users(files: &Files) -> Result<Vec<User>, FileError> {
    let users = files.read_text("/etc/passwd")?.unwrap_or_default();
    let user = |line: &str| {
        let [name, _, _, _, _, home, shell] = line.split(':').collect::<Vec<_>>()[..] else { return None };
        let has_shell = !shell.ends_with("/nologin") && !shell.ends_with("/false");
        has_shell.then(|| User { name: name.to_owned(), home: home.to_owned() })
    };
    Ok(users.lines().filter_map(user).collect())
}

/// Whether a line of `authorized_keys` is a key without a fixed command, such as those that images of clouds set for root.
fn opens_a_shell(line: &str) -> bool {
    let line = line.trim();
    let has_options = !["ssh-", "ecdsa-", "sk-"].iter().any(|kind| line.starts_with(kind));
    let is_fixed = has_options && line.to_ascii_lowercase().contains("command=\"");
    !line.is_empty() && !line.starts_with('#') && !is_fixed
}

/// Returns why nobody could log in without a password; `None` if one user can.
fn locked_out(reasons: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    let reasons: Option<Vec<String>> = reasons.into_iter().collect();
    reasons.map(|all| all.into_iter().next().unwrap_or_else(|| "no user has a shell".to_owned()))
}

fn drop_in() -> NewFile {
    NewFile::public(paths::BASTION_SSHD, SSHD)
}

/// Returns why the SSH server must stay as it is, and what to do about it.
///
/// # Errors
/// If its settings cannot be read.
pub async fn obstacle(cx: &Context) -> Result<Option<(String, &'static str)>, StepError> {
    let effective = Effective::read(cx).await?;
    if !effective.accepts_passwords() {
        return Ok(None);
    }
    let mut reasons = Vec::new();
    for user in users(&cx.files)? {
        reasons.push(Effective::for_user(cx, &user, OUTSIDE).await?.locks_out(&user, &cx.files)?);
    }
    let remedy =
        "add your public key to ~/.ssh/authorized_keys, and log in with it: the bastion will not accept passwords";
    Ok(locked_out(reasons).map(|what| (what, remedy)))
}

/// Returns why the SSH server is not one of a bastion: for each user with a shell, who connects from outside, or from the first address of
/// the private network. A `Match` block for other addresses, or for another host name, is not found.
async fn fault(cx: &Context) -> Result<Option<String>, StepError> {
    if let Some(fault) = Effective::read(cx).await?.fault() {
        return Ok(Some(fault.to_owned()));
    }
    let inside = section(cx)?.network.hosts().next();
    for user in users(&cx.files)? {
        for from in [OUTSIDE].into_iter().chain(inside) {
            if Effective::for_user(cx, &user, from).await?.accepts_passwords() {
                return Ok(Some(format!("accepts a password of {} from {from}", user.name)));
            }
        }
    }
    Ok(None)
}

/// Whether the running server has read the drop-in.
async fn is_loaded(cx: &Context) -> Result<bool, StepError> {
    if cx.files.read_text(LOADED)?.is_some_and(|digest| digest == sha256_hex(SSHD.as_bytes())) {
        return Ok(true);
    }
    let unit = systemd::first_known(&cx.commands, &SSHD_UNITS).await?;
    let since = systemd::unit(&cx.commands, unit).await?.since;
    Ok(reason_to_restart(cx, unit, since, [&drop_in().path]).is_none())
}

/// Step `bastion-sshd`: writes a drop-in after `sshd` has tested it, and reloads the server, which keeps all sessions.
pub struct Harden;

#[async_trait(?Send)]
impl Step for Harden {
    fn id(&self) -> StepId {
        ID
    }

    fn title(&self) -> String {
        "accept only keys over SSH, and only what a jump host needs".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let mut changes = cx.differing(&[drop_in()])?;
        if !changes.is_empty() || !is_loaded(cx).await? {
            changes.push("reload the SSH server".to_owned());
        }
        if changes.is_empty()
            && let Some(fault) = fault(cx).await?
        {
            changes.push(format!("change the SSH server, which {fault}"));
        }
        Ok(State::of(changes))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        if let Some((what, remedy)) = obstacle(cx).await? {
            return Err(StepError::new(what).exit(Exit::Unfit).hint(remedy));
        }
        Effective::with_drop_in(cx).await?;
        cx.place(vec![drop_in()]).await?;
        if let Some(fault) = fault(cx).await? {
            undo::undo(cx, &ID, &[drop_in().path])?;
            let what = format!("the SSH server {fault}, even with {}", paths::BASTION_SSHD);
            let hint = "make `Include /etc/ssh/sshd_config.d/*.conf` the first line of /etc/ssh/sshd_config, and remove the \
                        options that contradict it from `os.sshd`, from `Match` blocks and from files that are read earlier";
            return Err(StepError::new(what).exit(Exit::Unfit).hint(hint));
        }
        let unit = systemd::first_known(&cx.commands, &SSHD_UNITS).await?;
        systemd::reload_if_active(&cx.commands, unit).await?;
        let cx = cx.clone();
        // Not a file of the journal: it is gone after a boot.
        blocking(move || Ok(cx.files.write(&[NewFile::public(LOADED, sha256_hex(SSHD.as_bytes()))])?)).await
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::bastion, *};
    use crate::host::commands::Commands;

    const PRINTED: &str = "port 22\nport 2222\nlistenaddress [::]:22\nlistenaddress 0.0.0.0:2200\n\
        permitrootlogin without-password\npasswordauthentication yes\nkbdinteractiveauthentication no\n\
        authorizedkeysfile .ssh/authorized_keys .ssh/authorized_keys2\nauthenticationmethods any\n\
        authorizedkeyscommand none\ntrustedusercakeys none\n";

    #[test]
    fn ports_are_those_of_all_listeners() {
        assert_eq!(Effective::parse(PRINTED).ports(), [22, 2200, 2222]);
        assert_eq!(Effective::parse("").ports(), [22]);
        assert!(Effective::parse(PRINTED).accepts_passwords());
        let fault = |forwarding: &str| {
            let without = PRINTED.replace("passwordauthentication yes", "passwordauthentication no");
            Effective::parse(&format!("{without}allowtcpforwarding {forwarding}\n")).fault()
        };
        assert_eq!((fault("local"), fault("yes")), (None, None));
        assert!(fault("no").is_some() && Effective::parse(PRINTED).fault().is_some());
    }

    #[tokio::test]
    async fn match_blocks_are_evaluated_outside_and_inside() {
        let (_dir, mut cx) = bastion("");
        cx.files.make_directory("/etc".as_ref(), 0o755).unwrap();
        let passwd = "root:x:0:0:root:/root:/bin/bash\nnobody:x:1:1::/:/usr/sbin/nologin\n";
        cx.files.write(&[NewFile::public("/etc/passwd", passwd)]).unwrap();
        let without = PRINTED.replace("passwordauthentication yes", "passwordauthentication no");
        for from in ["192.0.2.1", "10.0.0.1"] {
            let command = format!("sshd -T -C user=root,host={from},addr={from}");
            let (others, log) = (("sshd -T".to_owned(), Ok(without.clone())), Some(std::sync::Arc::default()));
            cx.commands = Commands { log, answers: vec![(command, Ok(PRINTED.to_owned())), others] };
            assert_eq!(fault(&cx).await.unwrap().unwrap(), format!("accepts a password of root from {from}"));
        }
        drop(cx.commands.answers.remove(0));
        assert_eq!(fault(&cx).await.unwrap(), None);
    }

    #[test]
    fn passwords_stay_if_nobody_has_a_key() {
        let (_dir, cx) = bastion("");
        let files = &cx.files;
        for directory in ["/etc", "/root", "/root/.ssh", "/home", "/home/ops", "/home/ops/.ssh"] {
            if !files.exists(directory) {
                files.make_directory(directory.as_ref(), 0o755).unwrap();
            }
        }
        let write = |path: &str, text: &str| files.write(&[NewFile::public(path, text)]).unwrap();
        let passwd = "root:x:0:0:root:/root:/bin/bash\nops:x:1000:1000::/home/ops:/bin/bash\n";
        let locked_out = |printed: &str| {
            let effective = Effective::parse(printed);
            super::locked_out(users(files).unwrap().iter().map(|user| effective.locks_out(user, files).unwrap()))
        };
        write("/etc/passwd", passwd);
        assert!(locked_out(PRINTED).is_some());
        write("/root/.ssh/authorized_keys", "# nobody\n\n");
        assert!(locked_out(PRINTED).is_some(), "a comment is not a key");
        write(
            "/root/.ssh/authorized_keys",
            "no-pty,command=\"echo 'log in as ops'; exit 142\" ssh-ed25519 AAAA ops@station\n",
        );
        assert!(locked_out(PRINTED).is_some(), "a key with a command opens no shell");
        write("/root/.ssh/authorized_keys", "ssh-ed25519 AAAA ops@station\n");
        assert_eq!(locked_out(PRINTED), None);
        let without_root = PRINTED.replace("without-password", "no");
        assert!(locked_out(&without_root).is_some(), "root may not log in");
        write("/home/ops/.ssh/authorized_keys2", "ssh-ed25519 AAAA ops@station\n");
        assert_eq!(locked_out(&without_root), None);
        write("/etc/passwd", &passwd.replace("ops:/bin/bash", "ops:/usr/sbin/nologin"));
        assert!(locked_out(&without_root).is_some(), "no shell");
        assert_eq!(locked_out(&without_root.replace("trustedusercakeys none", "trustedusercakeys /ca.pub")), None);
        let with = |line: &str| locked_out(&format!("{without_root}{line}"));
        write("/etc/passwd", passwd);
        assert_eq!(with("allowusers root\nallowusers ops\n"), None, "one line for each user");
        assert!(with("allowusers root\nallowusers alice\n").is_some());
        assert!(with("denyusers root\ndenyusers ops\n").is_some());
        write("/etc/passwd", &passwd.replace("ops:/bin/bash", "ops:/usr/sbin/nologin"));
        let both = PRINTED.replace("methods any", "methods publickey,password");
        assert!(locked_out(&both).unwrap().contains("publickey,password"));
        assert_eq!(locked_out(&both.replace("publickey,password", "publickey,password publickey")), None);
    }
}
