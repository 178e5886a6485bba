//! Time servers, for chrony or systemd-timesyncd.

use super::{item::Item, want::Want};
use crate::{context::Context, engine::error::StepError, os::distribution};

const TIMESYNCD: &str = "systemd-timesyncd.service";

pub(super) const ITEM: Item = Item { name: "os-time", title: "set time servers", wants };

fn wants(cx: &Context) -> Result<Vec<Want>, StepError> {
    let servers = &cx.cluster.os.time_servers;
    if servers.is_empty() {
        return Ok(Vec::new());
    }
    let (config, unit) = distribution(&cx.files)?.chrony;
    if cx.files.is_file(config.as_ref()) {
        let lines: String = servers.iter().map(|server| format!("server {server} iburst\n")).collect();
        // A drop-in could add servers, but not replace those of the file.
        return Ok(vec![
            Want::set(format!("no-servers {config}"), "yes"),
            Want::set(format!("section {config}"), lines),
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
