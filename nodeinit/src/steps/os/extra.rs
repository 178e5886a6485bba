//! Files and systemd units that the user adds.

use super::{accounts, filled, item::Item, want::Want};
use crate::{context::Context, engine::error::StepError, host::files::NewFile};

pub(super) const FILES: Item = Item { name: "os-files", title: "write files", wants: files };
pub(super) const UNITS: Item = Item { name: "os-units", title: "set up systemd units", wants: units };

fn files(cx: &Context) -> Result<Vec<Want>, StepError> {
    let mut wants = Vec::new();
    for file in &cx.cluster.os.files {
        let (path, mode) = (file.path.clone(), file.mode);
        wants.push(match (&file.source, file.sha256, &file.content) {
            (Some(source), Some(sha256), _) => Want::Fetched { path, mode, source: source.clone(), sha256 },
            (_, _, content) => {
                let text = content.as_deref().unwrap_or_default();
                let text = if file.template { filled(cx, text) } else { text.to_owned() };
                Want::File(NewFile { mode, ..NewFile::public(path, text) })
            }
        });
        if let Some(owner) = &file.owner {
            wants.push(Want::set(format!("owner {}", file.path.display()), accounts::complete(&cx.files, owner)?));
        }
    }
    Ok(wants)
}

fn path(unit: &str) -> String {
    format!("/etc/systemd/system/{unit}")
}

fn units(cx: &Context) -> Result<Vec<Want>, StepError> {
    let units = &cx.cluster.os.units;
    let written = units
        .iter()
        .filter_map(|unit| Some(Want::file(path(&unit.name), format!("{}\n", unit.content.as_ref()?.trim_end()))));
    let mut wants: Vec<Want> = written.collect();
    if !wants.is_empty() {
        wants.push(Want::notice(&["systemctl", "daemon-reload"]));
    }
    for unit in units {
        let key = format!("enabled {}", unit.name);
        match unit.enabled {
            true => wants.push(Want::set(key, "enabled")),
            false => wants.push(Want::Set(key, None)),
        }
        if unit.enabled && unit.content.is_some() {
            let hint = format!("see `journalctl -u {}`", unit.name);
            wants.push(Want::run_for(path(&unit.name), &["systemctl", "restart", &unit.name], &hint));
        }
    }
    Ok(wants)
}
