//! Texts for people who log in, and the limits of open files.

use super::{filled, item::Item, want::Want};
use crate::{context::Context, engine::error::StepError};

pub(super) const MESSAGES: Item =
    Item { name: "os-messages", title: "write /etc/issue and /etc/motd", wants: messages };
pub(super) const LIMITS: Item = Item { name: "os-limits", title: "set the limit of open files", wants: limits };

fn messages(cx: &Context) -> Result<Vec<Want>, StepError> {
    let messages = &cx.cluster.os.messages;
    let files = [("/etc/issue", &messages.issue), ("/etc/motd", &messages.motd)];
    let written = files.into_iter().filter_map(|(path, text)| {
        let text = filled(cx, text.as_ref()?);
        Some(Want::file(path, format!("{}\n", text.trim_end_matches('\n'))))
    });
    let mut wants: Vec<Want> = written.collect();
    // Ubuntu's advertisements.
    if messages.motd.is_some() && cx.files.exists("/etc/default/motd-news") {
        wants.push(Want::set("line /etc/default/motd-news ENABLED", "0"));
    }
    Ok(wants)
}

fn limits(cx: &Context) -> Result<Vec<Want>, StepError> {
    let Some(number) = cx.cluster.os.open_files else { return Ok(Vec::new()) };
    let services = format!("# Written by nodeinit.\n[Manager]\nDefaultLimitNOFILE={number}\n");
    let lines = ["*", "root"].map(|who| format!("{who} soft nofile {number}\n{who} hard nofile {number}\n"));
    Ok(vec![
        Want::file("/etc/systemd/system.conf.d/50-nodeinit.conf", services),
        Want::file("/etc/security/limits.d/50-nodeinit.conf", format!("# Written by nodeinit.\n{}", lines.concat())),
        Want::notice(&["systemctl", "daemon-reexec"]),
    ])
}
