//! Time servers, for chrony or systemd-timesyncd.

use super::{item::Item, text, want::Want};
use crate::{context::Context, engine::error::StepError, os::distribution};

const TIMESYNCD: &str = "systemd-timesyncd.service";
/// Marks the lines of chrony's own servers.
const OFF: &str = "#nodeinit# ";

pub(super) const ITEM: Item = Item { name: "os-time", title: "set time servers", wants };

fn wants(cx: &Context) -> Result<Vec<Want>, StepError> {
    let servers = &cx.cluster.os.time_servers;
    if servers.is_empty() {
        return Ok(Vec::new());
    }
    let (config, unit) = distribution(&cx.files)?.chrony;
    if let Some(old) = cx.files.read_text(config)? {
        let lines: String = servers.iter().map(|server| format!("server {server} iburst\n")).collect();
        let others = text::with_section(&old, None);
        let others = others.lines().map(|line| {
            let is_server = matches!(line.split_whitespace().next(), Some("server" | "pool" | "peer"));
            format!("{}{line}\n", if is_server { OFF } else { "" })
        });
        let new = text::with_section(&others.collect::<String>(), Some(&lines));
        return Ok(vec![
            Want::file(config, new),
            Want::set(format!("enabled {unit}"), "enabled"),
            Want::notice(&["systemctl", "try-restart", unit]),
        ]);
    }
    if ["/usr/lib/systemd", "/lib/systemd"]
        .iter()
        .any(|directory| cx.files.exists(format!("{directory}/systemd-timesyncd")))
    {
        let new = format!("# Written by nodeinit.\n[Time]\nNTP={}\nFallbackNTP=\n", servers.join(" "));
        return Ok(vec![
            Want::file("/etc/systemd/timesyncd.conf.d/50-nodeinit.conf", new),
            Want::set(format!("enabled {TIMESYNCD}"), "enabled"),
            Want::notice(&["systemctl", "try-restart", TIMESYNCD]),
        ]);
    }
    let hint = "add the package chrony to `os.packages.install`";
    Err(StepError::new("os.timeServers: this machine has neither chrony nor systemd-timesyncd").hint(hint))
}
