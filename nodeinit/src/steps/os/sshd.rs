//! Options of sshd: written only if sshd accepts them together with the rest of its configuration, then reloaded.

use super::{
    accounts,
    authorized_keys::{CONFIG, drop_in},
    item::Item,
    want::Want,
};
use crate::{context::Context, engine::error::StepError, os::distribution};

const DIRECTORY: &str = "/etc/ssh/sshd_config.d";
/// The options and the rest of the configuration, to test.
const CANDIDATE: &str = "/etc/ssh/sshd_config.nodeinit-test";

pub(super) const ITEM: Item = Item { name: "os-sshd", title: "configure sshd", wants };

fn wants(cx: &Context) -> Result<Vec<Want>, StepError> {
    let options = &cx.cluster.os.sshd;
    // Some keys stay although they are no longer configured, such as those of a user as whom nodeinit logs in.
    let has_keys =
        cx.cluster.os.users.iter().any(|user| !user.remove && !user.keys.is_empty()) || accounts::have_keys(cx);
    if options.is_empty() && !has_keys {
        return Ok(Vec::new());
    }
    let config = cx.files.read_text(CONFIG)?.unwrap_or_default();
    let mut words = config.lines().map(str::split_whitespace);
    let is_included = words.any(|mut line| {
        line.next().is_some_and(|word| word.eq_ignore_ascii_case("include"))
            && line.any(|path| path.starts_with(DIRECTORY))
    });
    if !is_included {
        let hint = format!(
            "write `Include {DIRECTORY}/*.conf` at the start of {CONFIG}, or remove `os.sshd` and the keys in `os.users`"
        );
        return Err(StepError::new(format!(
            "os.sshd and the keys in os.users have no effect: {CONFIG} does not include {DIRECTORY}"
        ))
        .hint(hint));
    }
    let lines: String = options.iter().map(|(option, value)| format!("{option} {value}\n")).collect();
    let drop_in = drop_in(&cx.files, &lines, has_keys)?;
    let mut candidate = drop_in.content.to_vec();
    candidate.extend(format!("Include {CONFIG}\n").bytes());
    let rejected = "sshd rejects the options in `os.sshd`: fix them; sshd was not changed";
    Ok(vec![
        // Debian's sshd needs it, and it is missing while a socket starts sshd.
        Want::run(&["install", "-d", "-m", "0755", "/run/sshd"], rejected),
        Want::file(CANDIDATE, candidate),
        Want::run(&["/usr/sbin/sshd", "-t", "-f", CANDIDATE], rejected),
        Want::File(drop_in),
        Want::reload(distribution(&cx.files)?.sshd),
    ])
}
