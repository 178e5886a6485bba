//! A machine's user-data: cloud-config with public keys, the role's configuration, and how nodeinit gets there. The only
//! secret in it is a worker's own token, and not even that where `secretsDelivery` is `ssh-only`.

use crate::{
    replace,
    resources::{Found, Kind, desired::API},
    secrets::Secrets,
};
use nodeinit_base::hex;
use nodeinit_config::{
    Cluster, Loaded, Made, OpenStack, Problems, Secret,
    cluster::{Machine, Role, SecretsDelivery},
};
use std::{collections::BTreeMap, fmt::Write, net::IpAddr, rc::Rc};

/// What is known only when the resources are there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    /// The balancer's address in the machines' subnet.
    pub balancer: Option<IpAddr>,
    /// The balancer's floating IP.
    pub balancer_floating: Option<IpAddr>,
    /// Each machine's address, by its name, as far as they are known.
    pub addresses: BTreeMap<String, IpAddr>,
    /// What tells each machine from any other one, by its name: a worker's token is derived from it.
    pub origins: BTreeMap<String, String>,
    /// Each machine's floating IP, by its name.
    pub floating: BTreeMap<String, IpAddr>,
    /// The bastion's floating IP.
    pub bastion: Option<IpAddr>,
}

/// Why there is no user-data.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UserDataError {
    /// The configuration has no such machine.
    #[error("the configuration has no machine {0}")]
    Unknown(String),
    /// More than clouds are sure to take.
    #[error("the user-data of {name} has {size} bytes, but the maximum is {LARGEST}")]
    TooLong {
        /// Whose.
        name: String,
        /// How long it is.
        size: usize,
    },
    /// The cloud gave what does not fit the configuration.
    #[error("the configuration does not match the cloud's resources: {0}")]
    Misfit(Problems),
    /// `secretsDelivery: user-data`.
    #[error("`secretsDelivery: user-data` would show the cluster's keys to every process of a machine")]
    Secret,
}

impl UserDataError {
    /// What to do about it.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Unknown(_) => "pass the name of a machine in the configuration",
            Self::TooLong { .. } => "shorten the configuration, or put parts of it into the machine image",
            Self::Misfit(_) => "set or correct the machines' addresses and `controlPlane.endpoint`",
            Self::Secret => "leave `secretsDelivery` at `ssh`",
        }
    }
}

/// Sources: Nova takes 65,535 characters of Base64, EC2's metadata 16 KiB; the smaller limit applies here.
pub const LARGEST: usize = 16 * 1024;

/// The unit that starts nodeinit at each boot.
pub const UNIT: &str = include_str!("../../systemd/nodeinit.service");
const FETCH: &str = include_str!("fetch.sh");
const FETCH_AT: &str = "/usr/local/lib/nodeinit/fetch";
/// The unit that runs it until it succeeds.
const FETCH_UNIT: &str = include_str!("fetch.service");
const FETCH_UNIT_AT: &str = "/etc/systemd/system/nodeinit-fetch.service";
/// The origin of a machine that no cloud has made.
const BY_HAND: &str = "";
/// The login user may become root. Source: cloud-init's own default user.
const SUDO: &str = "ALL=(ALL) NOPASSWD:ALL";

impl Inputs {
    /// What is there, by a look-up of parts.
    #[must_use]
    pub fn of(cluster: &Cluster, find: impl Fn(Kind, &str) -> Option<Rc<Found>>) -> Self {
        let address = |kind: Kind, name: &str| find(kind, name).and_then(|found| found.address());
        let machines = || cluster.masters.iter().chain(&cluster.workers).map(|machine| machine.name.clone());
        let of = |kind: Kind| machines().filter_map(|name| Some((name.clone(), address(kind, &name)?))).collect();
        let origin = |name: &str| find(Kind::Port, name).map(|port| replace::origin(&port));
        let bastion = cluster.openstack.as_ref().and_then(|cloud| cloud.bastion.as_ref());
        Self {
            balancer: address(Kind::Balancer, API),
            balancer_floating: address(Kind::FloatingIp, API),
            addresses: of(Kind::Port),
            origins: machines().filter_map(|name| Some((name.clone(), origin(&name)?))).collect(),
            floating: of(Kind::FloatingIp),
            bastion: bastion.and_then(|bastion| address(Kind::FloatingIp, &bastion.name)),
        }
    }

    /// What the configuration is to know of it.
    #[must_use]
    pub fn made(&self, workers_self_join: bool) -> Made {
        let masters = self.floating.values().copied();
        Made {
            addresses: self.addresses.clone(),
            endpoint: self.balancer,
            cert_sans: self.balancer.into_iter().chain(self.balancer_floating).chain(masters).collect(),
            workers_self_join,
        }
    }
}

/// Whether workers join on their own; otherwise the first master sends them token or program over SSH.
#[must_use]
pub fn workers_self_join(loaded: &Loaded) -> bool {
    let pushed = loaded.cluster.openstack.as_ref().is_some_and(|cloud| cloud.binary.file.is_some());
    loaded.cluster.secrets_delivery == SecretsDelivery::Ssh && !pushed
}

/// The first master's configuration.
///
/// # Errors
/// [`UserDataError::Misfit`].
pub fn master_config(loaded: &Loaded, inputs: &Inputs) -> Result<String, UserDataError> {
    let whole = loaded.made(&inputs.made(workers_self_join(loaded))).map_err(UserDataError::Misfit)?;
    Ok(format!("# Written by the provisioner: do not edit this file; change cluster.yaml.\n{}", whole.master_config()))
}

/// The user-data of the machine `name`, as cloud-config.
///
/// # Errors
/// [`UserDataError`].
pub fn of(loaded: &Loaded, name: &str, inputs: &Inputs, secrets: &Secrets) -> Result<String, UserDataError> {
    let cluster = &loaded.cluster;
    if cluster.secrets_delivery == SecretsDelivery::UserData {
        return Err(UserDataError::Secret);
    }
    let role = match role(cluster, name) {
        // It is led through, and runs nothing of ours.
        None if is_bastion(cluster, name) => return Ok(head(loaded, name, secrets)),
        role => role.ok_or_else(|| UserDataError::Unknown(name.to_owned()))?,
    };
    let mut files = String::new();
    let mut commands: Vec<String> = Vec::new();
    let fetch = cluster.openstack.as_ref().and_then(fetch);
    if let Some(fetch) = &fetch {
        files += &file(FETCH_AT, "0644", fetch);
        files += &file(FETCH_UNIT_AT, "0644", &bare(FETCH_UNIT));
        commands.push("systemctl daemon-reload".into());
        commands.push("systemctl enable --now --no-block nodeinit-fetch.service".into());
    }
    match role {
        Role::FirstMaster => {
            files += &file("/etc/nodeinit/config.yaml", "0644", &master_config(loaded, inputs)?);
            files += &file("/etc/systemd/system/nodeinit.service", "0644", &bare(UNIT));
        }
        Role::Worker if workers_self_join(loaded) => {
            let whole = loaded.made(&inputs.made(false)).map_err(UserDataError::Misfit)?;
            let first = whole.cluster.masters.first().and_then(|master| master.address);
            let endpoints = first.map(|first| whole.cluster.join_endpoints(first)).unwrap_or_default();
            let trust = secrets.trust(endpoints.iter().map(ToString::to_string).collect());
            let part = whole.worker_config(name, &trust).unwrap_or_default();
            files += &file("/etc/nodeinit/config.yaml", "0644", &part);
            let origin = inputs.origins.get(name).map_or(BY_HAND, String::as_str);
            files += &file("/etc/nodeinit/secrets.yaml", "0600", secrets.for_worker(name, origin).expose());
            files += &file("/etc/systemd/system/nodeinit.service", "0644", &bare(UNIT));
            // nodeinit-fetch.service is ordered before nodeinit.service.
            let more = "[Service]\nStandardOutput=journal+console\n";
            files += &file("/etc/systemd/system/nodeinit.service.d/10-cloud.conf", "0644", more);
            if fetch.is_none() {
                commands.push("systemctl daemon-reload".into());
            }
            commands.push("systemctl enable --now --no-block nodeinit.service".into());
        }
        // They get theirs from the first master.
        Role::Master | Role::Worker | Role::Bastion => {}
    }
    let mut text = head(loaded, name, secrets);
    if !files.is_empty() {
        text += &format!("write_files:\n{files}");
    }
    if !commands.is_empty() {
        text += &commands.iter().fold("runcmd:\n".to_owned(), |text, command| format!("{text}- {command}\n"));
    }
    match text.len() > LARGEST {
        true => Err(UserDataError::TooLong { name: name.to_owned(), size: text.len() }),
        false => Ok(text),
    }
}

/// The secrets of the machine `name`, which no cloud has made. `None`: the first master brings it all.
///
/// # Errors
/// [`UserDataError::Unknown`].
pub fn secrets_of(loaded: &Loaded, name: &str, secrets: &Secrets) -> Result<Option<Secret<String>>, UserDataError> {
    let cluster = &loaded.cluster;
    let workers = cluster.workers.iter().filter(|_| workers_self_join(loaded)).map(|worker| worker.name.as_str());
    match role(cluster, name).ok_or_else(|| UserDataError::Unknown(name.to_owned()))? {
        Role::FirstMaster => {
            let tokens = workers.map(|worker| (worker.to_owned(), secrets.worker_token(worker, BY_HAND))).collect();
            // Its configuration contains the known host keys.
            Ok(Some(secrets.for_first_master(&tokens, &BTreeMap::new())))
        }
        Role::Worker if workers_self_join(loaded) => Ok(Some(secrets.for_worker(name, BY_HAND))),
        Role::Master | Role::Worker | Role::Bastion => Ok(None),
    }
}

/// What a machine of the configuration is.
#[must_use]
pub fn role(cluster: &Cluster, name: &str) -> Option<Role> {
    let listed = |machines: &[Machine]| machines.iter().position(|machine| machine.name == name);
    match (listed(&cluster.masters), listed(&cluster.workers)) {
        (Some(0), _) => Some(Role::FirstMaster),
        (Some(_), _) => Some(Role::Master),
        (None, Some(_)) => Some(Role::Worker),
        (None, None) => None,
    }
}

/// Whether it is the name of the bastion.
#[must_use]
pub fn is_bastion(cluster: &Cluster, name: &str) -> bool {
    let bastion = cluster.openstack.as_ref().and_then(|cloud| cloud.bastion.as_ref());
    bastion.is_some_and(|bastion| bastion.name == name)
}

/// What every machine gets.
fn head(loaded: &Loaded, name: &str, secrets: &Secrets) -> String {
    format!("#cloud-config\n# {name} of cluster {}.\n{}", loaded.cluster.name, users(loaded, name, secrets))
}

/// Lets the bundle's key in, as whom the machine is reached.
fn users(loaded: &Loaded, name: &str, secrets: &Secrets) -> String {
    let cluster = &loaded.cluster;
    let machine = cluster.masters.iter().chain(&cluster.workers).find(|machine| machine.name == name);
    let user = machine.and_then(|machine| machine.ssh.user.as_ref()).unwrap_or(&cluster.ssh.user);
    let key = &secrets.ssh_public;
    match user.as_str() {
        "root" => format!("disable_root: false\nusers:\n- default\n- name: root\n  ssh_authorized_keys:\n  - {key}\n"),
        user => format!(
            "users:\n- default\n- name: {user}\n  shell: /bin/bash\n  sudo: {SUDO}\n  ssh_authorized_keys:\n  - {key}\n"
        ),
    }
}

/// The script that downloads nodeinit, if it is to be downloaded.
fn fetch(cloud: &OpenStack) -> Option<String> {
    let sha256 = cloud.binary.sha256.filter(|_| !cloud.binary.urls.is_empty())?;
    let quoted = |url: &String| format!("'{}'", url.replace('\'', "'\\''"));
    let urls: Vec<String> = cloud.binary.urls.iter().map(quoted).collect();
    Some(FETCH.replace("@SHA256@", &hex(&sha256)).replace("@URLS@", &urls.join(" ")))
}

/// Without comments: user-data is short.
fn bare(unit: &str) -> String {
    unit.lines().filter(|line| !line.starts_with('#')).fold(String::new(), |text, line| text + line + "\n")
}

/// An entry of `write_files`.
fn file(path: &str, mode: &str, content: &str) -> String {
    let mut text = format!("- path: {path}\n  permissions: '{mode}'\n  content: |\n");
    for line in content.lines() {
        // Writing to a String does not fail.
        let _ = if line.is_empty() { writeln!(text) } else { writeln!(text, "    {line}") };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_downloads_nodeinit_without_python() {
        let sha256 = "0".repeat(64);
        let more =
            format!("  floatingIPs: first-master\n  binary: {{urls: [\"https://a/b\"], sha256: \"{sha256}\"}}\n");
        let loaded = crate::testing::loaded(2, 1, &more);
        let secrets = crate::secrets::tests::example();
        for name in ["m1", "m2", "w1"] {
            let text = of(&loaded, name, &Inputs::default(), &secrets).unwrap();
            assert!(!text.contains("python"), "{name}: {text}");
            assert!(text.contains("nodeinit-fetch.service") && text.contains("curl") && text.contains("sha256sum"));
            assert!(text.len() <= LARGEST);
        }
    }

    /// curl says how many milliseconds it took, and each time another number.
    #[test]
    #[allow(clippy::disallowed_methods, reason = "the test runs the script that a machine runs")]
    fn the_same_failure_is_reported_once() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().display();
        let program = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        };
        program(
            "curl",
            &format!("date +%N >>{at}/tries; echo \"curl: (7) no answer after $(wc -l <{at}/tries) ms\" >&2; exit 7"),
        );
        std::fs::create_dir(dir.path().join("bin")).unwrap();
        program("sleep", &format!("[ $(wc -l <{at}/tries) -lt 3 ] || kill $PPID"));
        let cloud = crate::testing::loaded(
            1,
            0,
            &format!("  binary: {{urls: [\"https://a/b\"], sha256: \"{}\"}}\n", "0".repeat(64)),
        );
        let script = fetch(cloud.cluster.openstack.as_ref().unwrap()).unwrap();
        let script = script.replace("/usr/local/", &format!("{at}/"));
        let path = format!("{at}:{}", std::env::var("PATH").unwrap());
        let output = std::process::Command::new("sh").args(["-c", &script]).env("PATH", path).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(std::fs::read_to_string(dir.path().join("tries")).unwrap().lines().count(), 3);
        assert_eq!(said.matches("no answer after 1 ms").count(), 1, "{said}");
        assert_eq!(said.matches("trying again").count(), 1, "{said}");
    }

    #[test]
    fn a_bastion_gets_a_public_key_and_nothing_else() {
        let sha256 = "0".repeat(64);
        let more = format!(
            "  bastion: {{name: gate}}\n  binary: {{urls: [\"https://a/b\"], sha256: \"{sha256}\"}}\nssh: {{user: debian}}\n"
        );
        let loaded = crate::testing::loaded(1, 0, &more);
        let secrets = crate::secrets::tests::example();
        let text = of(&loaded, "gate", &Inputs::default(), &secrets).unwrap();
        assert!(text.contains("- name: debian\n") && text.contains(&secrets.ssh_public), "{text}");
        assert!(!text.contains("write_files") && !text.contains("runcmd"), "{text}");
        assert_eq!(of(&loaded, "other", &Inputs::default(), &secrets), Err(UserDataError::Unknown("other".into())));
    }
}
