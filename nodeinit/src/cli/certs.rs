//! `certs`: how long certificates last, and new ones for the same keys.

use super::{
    Common, Output, print,
    setup::{self, Access},
};
use crate::{
    engine::{
        error::{Exit, StepError},
        report::Report,
    },
    host::{clock::Clock, files::Files},
    steps::pki::{self, Expiry, renew::renew},
};
use clap::{Args, Subcommand};
use nodeinit_config::cluster::Role;

#[derive(Subcommand)]
pub(super) enum Certs {
    /// When each certificate of this machine ends; exit code 1 where one has ended
    Check(Check),
    /// Sign certificates anew, for the keys that they have, with the CAs of this machine
    Renew(Renew),
}

#[derive(Args)]
pub(super) struct Check {
    /// How the list is shown
    #[arg(long, value_enum, default_value = "text")]
    output: Output,
}

#[derive(Args)]
pub(super) struct Renew {
    /// The certificates' names, as `certs check` shows them; all where none is given
    names: Vec<String>,
    #[command(flatten)]
    common: Common,
}

pub(super) async fn run(command: Certs) -> Exit {
    let (result, output) = match &command {
        Certs::Check(args) => (check(args.output), args.output),
        Certs::Renew(args) => (renewed(args).await, args.common.output),
    };
    result.unwrap_or_else(|error| {
        Report::stdout(output.into()).failed("certs", &error);
        error.exit
    })
}

fn check(output: Output) -> Result<Exit, StepError> {
    let all = pki::inventory(&Files::of_machine(), Clock::system().now())?;
    if all.is_empty() {
        return Err(StepError::new("there are no certificates on this machine").hint("`nodeinit up` makes them"));
    }
    print(&rendered(&all, output))?;
    Ok(if all.iter().any(|each| each.days_left < 0) { Exit::Failed } else { Exit::Done })
}

/// The list as `kubeadm certs check-expiration` has it, or one object a line.
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
    if cx.node.role == Role::Worker {
        cx.report.note("certs", "nothing to renew: a worker's kubelet renews its certificates by itself");
        return Ok(Exit::Done);
    }
    let renewal = renew(&cx, &args.names)?;
    let changed = !renewal.files.is_empty();
    cx.place(renewal.files).await?;
    renewal.told.into_iter().for_each(|line| cx.report.note("certs", line));
    if changed {
        let what = "kube-apiserver, kube-controller-manager, kube-scheduler and etcd use them once they are restarted: for each, \
                    move its manifest out of /etc/kubernetes/manifests, wait 20 s, move it back";
        cx.report.note("certs", what);
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_reads_as_a_table_and_as_objects() {
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
