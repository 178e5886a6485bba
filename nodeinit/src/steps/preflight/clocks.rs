//! The clock: a certificate made on a machine whose clock is behind is 'not yet valid' elsewhere.

use super::Finding;
use crate::{api::http, context::Context, host::net};
use nodeinit_config::cluster::ArtifactSource;
use std::{
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use time::{OffsetDateTime, UtcOffset};
use x509_parser::{parse_x509_certificate, pem::parse_x509_pem};

const CHECK: &str = "clock";

/// The largest difference that is let pass.
const ALLOWED: Duration = Duration::from_secs(60);

/// How long a mirror may take to tell its time.
const MIRROR_LIMIT: Duration = Duration::from_secs(2);

const REMEDY: &str = "set the clock: `timedatectl set-ntp true`, or `chronyc makestep`, or `date -s`";

/// The certificate of the cluster, where there is one.
const CA: &str = "/etc/kubernetes/pki/ca.crt";

/// Compares the clock with the times that this machine itself has written down.
pub(super) fn local(cx: &Context) -> Vec<Finding> {
    let now = cx.clock.now();
    let mut findings = Vec::new();
    let mut compare = |what: &str, then: Option<SystemTime>, allowed: Duration, remedy: &str| {
        if let Some(then) = then.filter(|then| now + allowed < *then) {
            let what = format!("this machine's clock says {}, and {what} {}", show(now), show(then));
            findings.push(Finding::failure(CHECK, what, remedy));
        }
    };
    let last_run = cx.journal.state().last_run.map(|seconds| UNIX_EPOCH + Duration::from_secs(seconds));
    compare("nodeinit ran here at", last_run, ALLOWED, REMEDY);
    compare("the cluster's CA is valid from", ca_begins(cx), Duration::ZERO, REMEDY);
    let program = std::env::current_exe().and_then(std::fs::metadata).and_then(|m| m.modified()).ok();
    let remedy = format!("{REMEDY}; if the file's time is the wrong one, `touch` it");
    compare("this program was written to disk at", program, ALLOWED, &remedy);
    findings
}

fn ca_begins(cx: &Context) -> Option<SystemTime> {
    // A damaged certificate is the concern of the step that makes keys.
    let text = cx.files.read(CA).ok()??;
    let (_, pem) = parse_x509_pem(&text).ok()?;
    let (_, certificate) = parse_x509_certificate(&pem.contents).ok()?;
    let seconds = certificate.validity().not_before.timestamp();
    Some(UNIX_EPOCH + Duration::from_secs(seconds.try_into().ok()?))
}

/// Warns where nothing keeps the clock right.
pub(super) fn synchronisation(cx: &Context) -> Vec<Finding> {
    const KEEPERS: [&str; 6] = ["chronyd", "ntpd", "ntp-daemon", "openntpd", "ptp4l", "phc2sys"];
    if cx.files.exists(Path::new("/run/systemd/timesync/synchronized")) {
        return Vec::new();
    }
    match net::runs_any(&cx.files, &KEEPERS) {
        Ok(true) => Vec::new(),
        Ok(false) => {
            let what = "nothing keeps this machine's clock right yet";
            vec![Finding::warning(CHECK, what, "run systemd-timesyncd or chrony, with a server that answers")]
        }
        Err(e) => vec![Finding::blind(CHECK, &e)],
    }
}

/// Compares the clock with the mirror's, while something is still to be downloaded.
pub(super) async fn mirror(cx: &Context) -> Vec<Finding> {
    let ArtifactSource::Mirror(url) = &cx.cluster.artifacts.source else { return Vec::new() };
    if cx.journal.state().ended.contains(crate::steps::artifacts::OTHERS) {
        return Vec::new();
    }
    let answer = tokio::time::timeout(MIRROR_LIMIT, http::date(url, &cx.files)).await;
    let reason = match answer {
        Ok(Ok(Some(then))) => return skewed(cx.clock.now(), then).into_iter().collect(),
        Ok(Ok(None)) => return Vec::new(),
        Ok(Err(e)) => e.to_string(),
        Err(_) => format!("nothing came within {} s", MIRROR_LIMIT.as_secs()),
    };
    let what = format!("the mirror of artifacts.source does not answer: {reason}");
    vec![Finding::warning("mirror", what, "see whether it runs and this machine can reach it")]
}

fn skewed(now: SystemTime, mirror: SystemTime) -> Option<Finding> {
    let apart = now.duration_since(mirror).or_else(|_| mirror.duration_since(now)).unwrap_or_default();
    (apart > ALLOWED).then(|| {
        let what = format!(
            "this machine's clock says {}, and the mirror's {}: {} s apart, and {} s are allowed",
            show(now),
            show(mirror),
            apart.as_secs(),
            ALLOWED.as_secs()
        );
        Finding::failure(CHECK, what, REMEDY)
    })
}

fn show(time: SystemTime) -> String {
    let at = OffsetDateTime::from(time).to_offset(UtcOffset::UTC);
    format!("{} {:02}:{:02}:{:02} UTC", at.date(), at.hour(), at.minute(), at.second())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skew_of_a_minute_is_refused_with_both_clocks() {
        let now = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        assert_eq!(skewed(now, now + ALLOWED), None);
        let what = skewed(now, now + Duration::from_secs(61)).unwrap().what;
        assert!(what.contains("2001-09-09 01:46:40 UTC") && what.contains("2001-09-09 01:47:41 UTC"), "{what}");
        assert!(skewed(now, now - Duration::from_secs(3600)).unwrap().what.contains("3600 s apart"));
    }
}
