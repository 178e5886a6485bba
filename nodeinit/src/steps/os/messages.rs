//! Texts for people who log in.

use super::{filled, item::Item, want::Want};
use crate::{context::Context, engine::error::StepError};

pub(super) const MESSAGES: Item =
    Item { name: "os-messages", title: "write /etc/issue and /etc/motd", wants: messages };

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
