//! `certs`: lists the expiry of certificates, renews them, and approves certificate requests.

use super::{
    Common, Output, Printing, print,
    setup::{self, Access},
};
use crate::{
    agent::{
        approve::{Rules, Verdict},
        approver::Approver,
    },
    engine::error::{Exit, StepError},
    host::{clock::Clock, files::Files},
    steps::{
        cluster,
        pki::{self, Expiry, renew::renew},
    },
};
use clap::{Args, Subcommand};
use nodeinit_config::cluster::Role;
use std::time::Duration;

#[derive(Subcommand)]
pub(super) enum Certs {
    /// List this machine's certificates with their expiry; exit code 1 if one has expired
    Check(Check),
    /// Renew certificates for their existing keys, with the CAs on this machine
    Renew(Renew),
    /// Approve a node's pending requests for serving certificates that contain names unknown to the agent; run this on a master
    Approve(Approve),
}

#[derive(Args)]
pub(super) struct Approve {
    /// The node's name, or the name of one CertificateSigningRequest
    name: String,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
pub(super) struct Check {
    #[command(flatten)]
    printing: Printing,
}

#[derive(Args)]
pub(super) struct Renew {
    /// Names of certificates, as `certs check` prints them; all by default
    names: Vec<String>,
    #[command(flatten)]
    common: Common,
}

pub(super) async fn run(command: Certs) -> Exit {
    let (result, printing) = match &command {
        Certs::Check(args) => (check(args.printing.output), args.printing),
        Certs::Renew(args) => (renewed(args).await, args.common.printing),
        Certs::Approve(args) => (approved(args).await, args.common.printing),
    };
    result.unwrap_or_else(|error| {
        printing.report().failed("certs", &error);
        error.exit
    })
}

/// Approves requests that the agent left pending. Requests that the agent denies stay denied.
async fn approved(args: &Approve) -> Result<Exit, StepError> {
    let cx = setup::context(&args.common, Access::Look)?;
    if !cx.node.role.is_master() {
        let error =
            StepError::new("this machine is not a master: only masters approve certificate requests").exit(Exit::Usage);
        return Err(error.hint("run this command on a master"));
    }
    let rules = Rules::new(&cx.cluster, &cx.node);
    let report = |request: &str, verdict: &Verdict| match verdict {
        Verdict::Approve(why) => cx.report.note("certs", format!("approved {request}: {why}")),
        Verdict::Deny(why) | Verdict::Leave(why) => cx.report.note("certs", format!("denied {request}: {why}")),
    };
    let api = cluster::client(&cx)?;
    let decided = Approver::new(api, &rules, Duration::ZERO, &report).for_operator(&args.name).await;
    let verdicts = decided.map_err(|e| StepError::caused("cannot approve certificate requests", e))?;
    if verdicts.is_empty() {
        let error = StepError::new(format!("there is no pending request for a serving certificate of {}", args.name));
        return Err(error.hint("list the requests with `kubectl get csr`"));
    }
    let denied = verdicts.iter().any(|verdict| matches!(verdict, Verdict::Deny(_)));
    Ok(if denied { Exit::Failed } else { Exit::Done })
}

fn check(output: Output) -> Result<Exit, StepError> {
    let all = pki::inventory(&Files::of_machine(), Clock::system().now())?;
    if all.is_empty() {
        return Err(
            StepError::new("there are no certificates on this machine").hint("run `nodeinit up`, which creates them")
        );
    }
    print(&rendered(&all, output))?;
    Ok(if all.iter().any(|each| each.days_left < 0) { Exit::Failed } else { Exit::Done })
}

/// Formats the list as `kubeadm certs check-expiration` does, or as one object per line.
fn rendered(all: &[Expiry], output: Output) -> String {
    match output {
        Output::Json => {
            all.iter().filter_map(|each| serde_json::to_string(each).ok()).map(|line| line + "\n").collect()
        }
        Output::Text => {
            let mut text = format!("{:26} {:22} {:>9}  {}\n", "CERTIFICATE", "EXPIRES", "DAYS LEFT", "SIGNED BY");
            for Expiry { name, expires, days_left, authority, is_ca, .. } in all {
                let signer = if *is_ca { "itself" } else { authority };
                text += &format!("{name:26} {expires:22} {days_left:>9}  {signer}\n");
            }
            text
        }
    }
}

async fn renewed(args: &Renew) -> Result<Exit, StepError> {
    let _lock = setup::lock()?;
    let cx = setup::context(&args.common, Access::Change)?;
    let nothing = match cx.node.role {
        Role::FirstMaster | Role::Master => None,
        Role::Worker => Some("nothing to renew: a worker's kubelet renews its certificates on its own"),
        Role::Bastion => Some("nothing to renew: a bastion has no certificates"),
    };
    if let Some(nothing) = nothing {
        cx.report.note("certs", nothing);
        return Ok(Exit::Done);
    }
    let renewal = renew(&cx, &args.names)?;
    let changed = !renewal.files.is_empty();
    cx.place(renewal.files).await?;
    renewal.messages.into_iter().for_each(|line| cx.report.note("certs", line));
    if changed {
        let what = "restart kube-apiserver, kube-controller-manager, kube-scheduler and etcd to use the new certificates: for each, \
                    move its manifest out of /etc/kubernetes/manifests, wait 20 s, move it back";
        cx.report.note("certs", what);
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_a_table_or_objects() {
        let all = [Expiry {
            name: "apiserver".into(),
            path: "/etc/kubernetes/pki/apiserver.crt".into(),
            expires: "2026-01-31T12:00:00Z".into(),
            days_left: 31,
            authority: "kubernetes".into(),
            is_ca: false,
        }];
        let text = rendered(&all, Output::Text);
        assert_eq!(text.lines().count(), 2);
        assert!(text.ends_with("apiserver                  2026-01-31T12:00:00Z          31  kubernetes\n"), "{text}");
        let object: serde_json::Value = serde_json::from_str(&rendered(&all, Output::Json)).unwrap();
        assert_eq!((&object["daysLeft"], &object["name"]), (&31.into(), &"apiserver".into()));
    }
}
