//! Time zone, locale and keyboard layout.

use super::{item::Item, text, want::Want};
use crate::{context::Context, engine::error::StepError, host::systemd, os::distribution};

pub(super) const ITEM: Item = Item { name: "os-locale", title: "set time zone, locale and keyboard layout", wants };

fn wants(cx: &Context) -> Result<Vec<Want>, StepError> {
    let (os, distribution, mut wants) = (&cx.cluster.os, distribution(&cx.files)?, Vec::new());
    if let Some(zone) = &os.timezone {
        wants.push(Want::set("timezone", zone));
        // Debian's copy of the name.
        if cx.files.is_file("/etc/timezone".as_ref()) {
            wants.push(Want::file("/etc/timezone", format!("{zone}\n")));
        }
        // timedated answers with the zone that it read when it started.
        wants.extend(restart(cx, "systemd-timedated.service"));
    }
    if let Some(locale) = &os.locale {
        wants.extend(generation(cx, locale, distribution.locale_list)?);
        wants.push(Want::set(format!("line {} LANG", distribution.locale), locale));
    }
    if let Some(keymap) = &os.keymap {
        let (file, key, unit) = distribution.keymap;
        wants.push(Want::set(format!("line {file} {key}"), keymap));
        wants.extend(restart(cx, unit));
    }
    Ok(wants)
}

/// Restarts a unit if the machine has it and it runs.
fn restart(cx: &Context, unit: &str) -> Option<Want> {
    systemd::has_file(&cx.files, unit).then(|| Want::notice(&["systemctl", "try-restart", unit]))
}

/// Generates a locale where locales are generated on the machine. `C.UTF-8` always exists.
fn generation(cx: &Context, locale: &str, list: Option<&str>) -> Result<Vec<Want>, StepError> {
    let Some(list) = list.filter(|_| !matches!(locale, "C" | "POSIX" | "C.UTF-8")) else { return Ok(Vec::new()) };
    if !["/usr/sbin/locale-gen", "/usr/bin/locale-gen"].iter().any(|program| cx.files.exists(program)) {
        let error = StepError::new(format!("os.locale: cannot generate {locale}: locale-gen is not installed"));
        return Err(error.hint("add the package locales to `os.packages.install`, or use C.UTF-8"));
    }
    let charset = locale.split('@').next().and_then(|name| name.split_once('.')).map_or("ISO-8859-1", |(_, set)| set);
    let line = format!("{locale} {charset}");
    let others = text::with_section(&cx.files.read_text(list)?.unwrap_or_default(), None);
    let mut wants = Vec::new();
    if !others.lines().any(|known| known.trim() == line) {
        wants.push(Want::set(format!("section {list}"), format!("{line}\n")));
    }
    wants.push(Want::notice(&["locale-gen"]));
    Ok(wants)
}
