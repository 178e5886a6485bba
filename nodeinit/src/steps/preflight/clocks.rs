//! Checks the clock: with a wrong clock, certificates are not yet valid or expired on other machines.

use super::{Finding, Level};
use crate::{
    api::http,
    context::Context,
    engine::step_id::StepId,
    host::{net, own_program},
    steps::fetched,
};
use futures_util::future::join_all;
use nodeinit_config::cluster::ArtifactSource;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use time::{OffsetDateTime, UtcOffset};
use x509_parser::{parse_x509_certificate, pem::parse_x509_pem};

/// The name of these checks.
pub(super) const CHECK: &str = "clock";

/// The largest accepted difference.
const ALLOWED: Duration = Duration::from_secs(60);

/// Limit for a server of artifacts to report its time.
const SERVER_LIMIT: Duration = Duration::from_secs(5);

/// The check of the servers of artifacts.
pub(super) const SERVERS: &str = "servers";

const REMEDY: &str = "set the clock: `timedatectl set-ntp true`, or `chronyc makestep`, or `date -s`";

/// systemd-timesyncd creates this file after it has set the clock.
const SYNCHRONIZED: &str = "/run/systemd/timesync/synchronized";

/// Limit for `timedatectl`.
const TIMEDATECTL_LIMIT: Duration = Duration::from_secs(5);

/// The CA certificate of the cluster, if there is one.
const CA: &str = "/etc/kubernetes/pki/ca.crt";

/// Compares the clock with the time that preflight last accepted.
///
/// A synchronized clock proves that a later recorded time is wrong: a machine that once booted with its clock ahead must not
/// be refused forever.
pub(super) async fn accepted(cx: &Context) -> Vec<Finding> {
    let now = cx.clock.now();
    let Some(seconds) = cx.journal.state().accepted_time else { return Vec::new() };
    let then = UNIX_EPOCH + Duration::from_secs(seconds);
    if now + ALLOWED >= then {
        return Vec::new();
    }
    let what = format!("this machine's clock shows {}, but an earlier run accepted {}", show(now), show(then));
    if is_synchronized(cx).await {
        let what = format!("{what}; the clock is synchronized now, so it was ahead then");
        let remedy = "check that every certificate is already valid: `nodeinit certs check`";
        return vec![Finding::warning(CHECK, what, remedy)];
    }
    let remedy = format!(
        "{REMEDY}; if the clock is correct now and was ahead during the earlier run, run `nodeinit up --accept-clock`"
    );
    vec![Finding::failure(CHECK, what, remedy)]
}

/// Whether a time server set the clock in this boot.
async fn is_synchronized(cx: &Context) -> bool {
    // A shifted clock in a test is never synchronized.
    if cx.clock.is_shifted() {
        return false;
    }
    if cx.files.exists(SYNCHRONIZED) {
        return true;
    }
    let asked = cx.commands.run(&["timedatectl", "show", "-p", "NTPSynchronized", "--value"], TIMEDATECTL_LIMIT).await;
    // No answer proves nothing.
    asked.is_ok_and(|answer| answer.trim() == "yes")
}

/// Compares the clock with the times of files on this machine.
pub(super) fn local(cx: &Context) -> Vec<Finding> {
    let now = cx.clock.now();
    let mut findings = Vec::new();
    let mut compare = |what: &str, then: Option<SystemTime>, allowed: Duration, remedy: &str| {
        if let Some(then) = then.filter(|then| now + allowed < *then) {
            let what = format!("this machine's clock shows {}, but {what} {}", show(now), show(then));
            findings.push(Finding::failure(CHECK, what, remedy));
        }
    };
    compare("the cluster's CA is valid from", ca_begins(cx), Duration::ZERO, REMEDY);
    let remedy = format!("{REMEDY}; if the file's time is the wrong one, `touch` it");
    compare("this program was written to disk at", own_program::modified(), ALLOWED, &remedy);
    findings
}

fn ca_begins(cx: &Context) -> Option<SystemTime> {
    // The step `pki` reports a damaged certificate.
    let text = cx.files.read(CA).ok()??;
    let (_, pem) = parse_x509_pem(&text).ok()?;
    let (_, certificate) = parse_x509_certificate(&pem.contents).ok()?;
    let seconds = certificate.validity().not_before.timestamp();
    Some(UNIX_EPOCH + Duration::from_secs(seconds.try_into().ok()?))
}

/// Warns if nothing synchronizes the clock.
pub(super) fn synchronisation(cx: &Context) -> Vec<Finding> {
    const KEEPERS: [&str; 6] = ["chronyd", "ntpd", "ntp-daemon", "openntpd", "ptp4l", "phc2sys"];
    if cx.files.exists(SYNCHRONIZED) {
        return Vec::new();
    }
    match net::runs_any(&cx.files, &KEEPERS) {
        Ok(true) => Vec::new(),
        Ok(false) => {
            let what = "the clock is not synchronized";
            vec![Finding::warning(CHECK, what, "run systemd-timesyncd or chrony, with a server that answers")]
        }
        Err(e) => vec![Finding::blind(CHECK, &e)],
    }
}

/// Compares the clock with those of the servers from which this machine must still download. Refuses a machine that reaches none
/// of the official servers: the step `fetch` would retry each artifact for minutes.
pub(super) async fn servers(cx: &Context) -> Vec<Finding> {
    let urls = match &cx.cluster.artifacts.source {
        ArtifactSource::Mirror(_) if cx.journal.state().ended.contains(&*StepId::Binaries.name()) => Vec::new(),
        ArtifactSource::Mirror(url) => vec![url.clone()],
        ArtifactSource::Upstream => fetched::servers(cx).await.into_iter().collect(),
        _ => Vec::new(),
    };
    let client = http::Client::new(&cx.files, cx.cluster.artifacts.ca_certificate.as_deref());
    let findings = join_all(urls.iter().map(|url| server(cx, &client, url))).await;
    let mut findings: Vec<Finding> = findings.into_iter().flatten().collect();
    let is_cut_off = findings.iter().filter(|finding| finding.check == SERVERS).count() == urls.len();
    if is_cut_off && cx.cluster.artifacts.source == ArtifactSource::Upstream {
        findings.iter_mut().for_each(|finding| finding.level = Level::Failure);
    }
    findings
}

async fn server(cx: &Context, client: &http::Client, url: &str) -> Option<Finding> {
    let reason = match tokio::time::timeout(SERVER_LIMIT, client.date(url)).await {
        Ok(Ok(Some(then))) => return skewed(cx.clock.now(), then, url),
        Ok(Ok(None)) => return None,
        Ok(Err(e)) => e.to_string(),
        Err(_) => format!("timed out after {} s", SERVER_LIMIT.as_secs()),
    };
    let what = format!("no answer from {url}, a source of artifacts: {reason}");
    let remedy = "check that the server runs and that this machine can reach it; HTTPS_PROXY sets a proxy, artifacts.mirrors other servers";
    Some(Finding::warning(SERVERS, what, remedy))
}

fn skewed(now: SystemTime, then: SystemTime, url: &str) -> Option<Finding> {
    let apart = now.duration_since(then).or_else(|_| then.duration_since(now)).unwrap_or_default();
    (apart > ALLOWED).then(|| {
        let what = format!(
            "this machine's clock shows {}, that of {url} {}: they differ by {} s, at most {} s are allowed",
            show(now),
            show(then),
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
        assert_eq!(skewed(now, now + ALLOWED, "u"), None);
        let what = skewed(now, now + Duration::from_secs(61), "u").unwrap().what;
        assert!(what.contains("2001-09-09 01:46:40 UTC") && what.contains("2001-09-09 01:47:41 UTC"), "{what}");
        assert!(skewed(now, now - Duration::from_secs(3600), "u").unwrap().what.contains("differ by 3600 s"));
    }
}
