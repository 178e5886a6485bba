//! Limits of systemd's journal, and rotation of log files.

use super::{item::Item, want::Want};
use crate::{context::Context, engine::error::StepError};

pub(super) const ITEM: Item = Item { name: "os-logs", title: "limit and rotate logs", wants };

fn wants(cx: &Context) -> Result<Vec<Want>, StepError> {
    let (logs, mut wants) = (&cx.cluster.os.logs, Vec::new());
    let mut journal = String::new();
    if let Some(size) = &logs.journal_max_size {
        journal += &format!("SystemMaxUse={size}\n");
    }
    if let Some(days) = logs.journal_max_days {
        journal += &format!("MaxRetentionSec={days}day\n");
    }
    if !journal.is_empty() {
        let text = format!("# Written by nodeinit.\n[Journal]\n{journal}");
        wants.push(Want::file("/etc/systemd/journald.conf.d/50-nodeinit.conf", text));
        wants.push(Want::notice(&["systemctl", "try-restart", "systemd-journald.service"]));
    }
    if !logs.rotate.is_empty() {
        if !cx.files.exists("/etc/logrotate.d") {
            let error = StepError::new("os.logs.rotate: logrotate is not installed");
            return Err(error.hint("add the package logrotate to `os.packages.install`"));
        }
        let one = |path: &std::path::PathBuf| {
            let options = "daily\n    rotate 14\n    compress\n    missingok\n    notifempty\n    copytruncate";
            format!("{:?} {{\n    {options}\n}}\n", path)
        };
        let text: String = logs.rotate.iter().map(one).collect();
        wants.push(Want::file("/etc/logrotate.d/nodeinit", format!("# Written by nodeinit.\n{text}")));
    }
    Ok(wants)
}
