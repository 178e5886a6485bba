//! SSH access to the other machines.

use super::{
    Document, bastion,
    declare::{Verdict, keys, place::Place},
    texts::{HostKey, User},
};
use crate::text::tree::Value;
use std::{net::IpAddr, path::PathBuf};

keys! {
    /// SSH access from the first master to the other machines.
    #[derive(Eq)]
    pub struct Ssh {
        /// Login user. A user other than root needs sudo without a password.
        "user" user: String as User = "root", to masters;
        /// The port of the SSH servers.
        "port" port: u16 = "22", to masters;
        /// A private key on the first master, ed25519 or ECDSA, without a passphrase.
        "keyFile" key_file: Option<PathBuf>, else "the key in the secrets bundle", example "/root/.ssh/id_ed25519", to masters;
        /// Accept an unknown host key at the first contact, and pin it. A man in the middle at first contact obtains the cluster's keys.
        "trustOnFirstUse" trust_on_first_use: bool = "false", to masters;
        /// Maximum number of machines that are set up in parallel.
        "parallel" parallel: usize = "50", to masters;
        /// The jump host to all other machines; the bastion, if `bastion.address` is set and this is not.
        "jumpHost" jump_host: Option<JumpHost>, else "the bastion, if `bastion.address` is set" (bastion_as_jump_host), example "{address: 192.0.2.1}", to masters => jump_host;
    }
}

keys! {
    /// A jump host to other machines.
    #[derive(Eq)]
    pub struct JumpHost {
        /// Address of its SSH server.
        "address" address: IpAddr, else "`bastion.address`" (bastion::address), example "192.0.2.1", to masters;
        /// The port of its SSH server.
        "port" port: u16, else "22" (|_| Some(22)), example "2222", to masters;
        /// Login user.
        "user" user: String as User, else "`ssh.user`" (ssh_user), example "debian", to masters;
        /// Its SSH host keys; one match is enough.
        "hostKeys" host_keys: Vec<String> as Vec<HostKey>,
            else "those in the secrets bundle under the name `jump-host`", example "[ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKSJP7bvRVpAlmJMb4lLdWVlqsA4FxgYDbSw1LRxlPyo]", to masters;
    }
}

fn ssh_user(all: &Place<'_, Document>) -> Option<String> {
    all.ssh().user().value()
}

/// The SSH server of the bastion, with everything else by default.
fn bastion_as_jump_host(all: &Place<'_, Document>) -> Option<Option<JumpHost>> {
    let Some(address) = bastion::address(all) else { return Some(None) };
    Some(Some(JumpHost { address, port: 22, user: ssh_user(all)?, host_keys: Vec::new() }))
}

fn jump_host(place: &Place<'_, JumpHost>, verdict: &mut Verdict<'_>) {
    let is_map = place.written().is_some_and(|node| node.value != Value::Bad);
    if is_map && place.is_written() && !place.address().is_written() && bastion::address(&place.all()).is_none() {
        verdict.errors.add(
            place.at(),
            &place.address().path,
            "missing",
            "set the address of the jump host, or `bastion.address`",
        );
    }
}
