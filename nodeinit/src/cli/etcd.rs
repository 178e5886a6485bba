//! `etcd`: its members.

use super::{
    Common, Output, print,
    setup::{self, Access},
};
use crate::{
    engine::{
        error::{Exit, StepError},
        report::Report,
    },
    steps::etcd::{Peers, View},
};
use clap::Subcommand;
use serde_json::{Value, json};

#[derive(Subcommand)]
pub(super) enum Etcd {
    /// The members: which vote, which leads, how they are
    Members(Common),
}

pub(super) async fn run(command: Etcd) -> Exit {
    let Etcd::Members(common) = &command;
    match members(common).await {
        Ok(()) => Exit::Done,
        Err(error) => {
            Report::stdout(common.output.into()).failed("etcd", &error);
            error.exit
        }
    }
}

async fn members(common: &Common) -> Result<(), StepError> {
    let cx = setup::context(common, Access::Look)?;
    let view = Peers::of_all(&cx)?.look().await.map_err(|why| {
        let error = StepError::new(format!("no member of etcd answers for a quorum: {why}")).exit(Exit::TryAgain);
        error.hint("see `nodeinit status` and /var/log/pods/kube-system_etcd-* on the masters")
    })?;
    print(&rendered(&view, common.output))
}

fn rendered(view: &View, output: Output) -> String {
    let leader = view.leader();
    let objects = view.members.members.iter().map(|member| {
        let complaint = view.complaint(member);
        let db_size = view.answers.get(&member.id).and_then(|a| a.as_ref().ok()).map(|status| status.db_size);
        json!({
            "name": member.name,
            "id": format!("{:x}", member.id),
            "peerURLs": member.peer_urls,
            "voter": !member.learner,
            "leader": leader == Some(member.id),
            "healthy": complaint.is_none(),
            "complaint": complaint,
            "dbSizeBytes": db_size,
        })
    });
    match output {
        Output::Json => objects.map(|object| format!("{object}\n")).collect(),
        Output::Text => objects.map(|object| line(&object)).collect(),
    }
}

/// One member, for people.
fn line(object: &Value) -> String {
    let text = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
    let role = match (object["leader"] == true, object["voter"] == true) {
        (true, _) => "leader",
        (false, true) => "voter",
        (false, false) => "learner",
    };
    let name = if text("name").is_empty() { "(not started)".into() } else { text("name") };
    let health = if object["healthy"] == true { "healthy".into() } else { text("complaint") };
    let size = object["dbSizeBytes"].as_i64().map_or_else(String::new, |bytes| format!("{} KiB", bytes >> 10));
    let urls: Vec<&str> = object["peerURLs"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    format!("{name:16} {role:8} {:16} {:32} {size:>10}  {health}\n", text("id"), urls.join(","))
}
