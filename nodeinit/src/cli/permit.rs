//! `up --new-cluster` and `up --permit-stdin`: permits to bootstrap a new etcd on the first master. They are never stored.

use super::print;
use crate::{
    context::Context,
    engine::error::{Exit, StepError},
    steps::etcd::{Permit, others},
};
use clap::Args;
use nodeinit_config::cluster::Role;
use nodeinit_protocol::permit::{NEW_ETCD_CLUSTER, Permit as Line};
use std::io::{BufRead, IsTerminal, Read};

#[derive(Args, Clone, Copy, Debug, Default)]
pub(super) struct Permits {
    /// Bootstrap an empty etcd even without proof that the cluster is new; an existing cluster's data is lost
    #[arg(long)]
    new_cluster: bool,
    /// Do not ask for confirmation to discard the former cluster
    #[arg(long, requires = "new_cluster")]
    yes: bool,
    /// Read a permit from standard input (one line of JSON): with it, the provisioner allows this machine to bootstrap etcd
    #[arg(long, conflicts_with = "new_cluster", hide_short_help = true)]
    permit_stdin: bool,
}

/// Maximum size of a permit in bytes.
const LONGEST: u64 = 64 << 10;

/// Where cloud-init keeps the ID of its server.
const INSTANCE_ID: &str = "/var/lib/cloud/data/instance-id";

impl Permits {
    /// Returns the given permit after confirmation and verification.
    pub(super) fn given(self, cx: &Context) -> Result<Permit, StepError> {
        let flag = match (self.new_cluster, self.permit_stdin) {
            (true, _) => "--new-cluster",
            (_, true) => "--permit-stdin",
            _ => return Ok(Permit::None),
        };
        if cx.node.role != Role::FirstMaster {
            let what = format!("{flag} is for the first master, but this machine is a {}", cx.node.role);
            return Err(StepError::new(what).exit(Exit::Usage));
        }
        if self.permit_stdin {
            let mut line = String::new();
            let read = std::io::stdin().lock().take(LONGEST).read_line(&mut line);
            read.map_err(|e| StepError::caused("cannot read the permit from standard input", e))?;
            return check(cx, &line).map(|()| Permit::Provisioner);
        }
        if !self.yes {
            confirm(cx)?;
        }
        Ok(Permit::Operator)
    }
}

fn confirm(cx: &Context) -> Result<(), StepError> {
    let name = &cx.cluster.name;
    if !std::io::stdin().is_terminal() {
        let what = "--new-cluster discards the data of the former cluster and needs a confirmation, but standard input is not a terminal";
        return Err(StepError::new(what).exit(Exit::Usage).hint("add --yes"));
    }
    let masters: Vec<&str> = others(cx).map(|master| master.name.as_str()).collect();
    let others = match &masters[..] {
        [] => String::new(),
        masters => format!(
            "\nOther masters ({}) that hold data of the former cluster must run `nodeinit reset` before they can join the new one.",
            masters.join(", ")
        ),
    };
    print(&format!(
        "\nThis starts an empty etcd on {} and discards everything that the former cluster {name} stored: all objects, \
         Secrets and volume claims.\nIf another master still holds that data, stop here and start that master \
         instead.{others}\nStart a new cluster? Type the cluster's name: ",
        cx.node.name
    ))?;
    let mut answer = String::new();
    // No answer means no.
    let asked = std::io::stdin().read_line(&mut answer);
    match asked.is_ok() && answer.trim() == name {
        true => Ok(()),
        false => Err(StepError::new("not confirmed; nothing was changed").exit(Exit::Usage)),
    }
}

/// Whether a permit is for this machine and this cluster.
fn check(cx: &Context, line: &str) -> Result<(), StepError> {
    let permit: Line = serde_json::from_str(line).map_err(|e| {
        StepError::caused("the permit on standard input is not one line of the expected JSON", e).exit(Exit::Usage)
    })?;
    let text = |path: &str| Ok::<_, StepError>(cx.files.read_text(path)?.unwrap_or_default().trim().to_owned());
    let mut wrong = Vec::new();
    let mut compare = |what: &str, wanted: &str, is: &str| {
        if !wanted.eq_ignore_ascii_case(is) {
            wrong.push(format!("{what} {wanted:?}, not {is:?}"));
        }
    };
    compare("it permits", &permit.permit, NEW_ETCD_CLUSTER);
    compare("it is for the cluster", &permit.cluster, &cx.cluster.name);
    compare("it is for the machine with the ID", &permit.machine_id, &text("/etc/machine-id")?);
    // Data sources of cloud-init other than OpenStack use other IDs.
    let instance = text(INSTANCE_ID)?;
    if is_uuid(&instance) {
        compare("it is for the server", &permit.server, &instance);
    }
    match &wrong[..] {
        [] => Ok(()),
        wrong => Err(StepError::new(format!("the permit is not for this machine: {}", wrong.join("; "))).hint(
            "run `provisioner apply` again, which issues a permit for the server that it created for this machine",
        )),
    }
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36 && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{context::testing::context, host::files::NewFile};

    const SERVER: &str = "6f70656e-7374-6163-6b00-000000000001";

    fn line(key: &str, value: &str) -> String {
        let mut permit = serde_json::json!({
            "permit": "new-etcd-cluster", "cluster": "kubernetes", "server": SERVER, "machineID": "0123abcd",
        });
        permit[key] = value.into();
        permit.to_string() + "\n"
    }

    #[test]
    fn a_permit_is_for_one_machine_of_one_cluster() {
        let (_dir, cx) = context();
        let put = |path: &str, text: &str| {
            for directory in cx.files.missing_parents(path.as_ref()) {
                cx.files.make_directory(&directory, 0o755).unwrap();
            }
            cx.files.write(&[NewFile::public(path, text)]).unwrap();
        };
        put("/etc/machine-id", "0123abcd\n");
        assert!(check(&cx, &line("server", SERVER)).is_ok(), "no cloud-init here");
        put(INSTANCE_ID, "iid-local01\n");
        assert!(check(&cx, &line("server", SERVER)).is_ok(), "an ID of another kind");
        put(INSTANCE_ID, &format!("{SERVER}\n"));
        assert!(check(&cx, &line("server", SERVER)).is_ok());

        for (key, value) in [("permit", "all"), ("cluster", "other"), ("machineID", ""), ("server", "x")] {
            let error = check(&cx, &line(key, value)).unwrap_err();
            assert!(error.exit == Exit::Failed && error.to_string().contains(value), "{key}: {error}");
        }
        for malformed in ["", "{}", "null", &line("more", "x")] {
            assert_eq!(check(&cx, malformed).unwrap_err().exit, Exit::Usage, "{malformed}");
        }
    }
}
