//! Collects evidence of an existing etcd from the other masters: whether one answers, and what their disks hold.

use super::view::Peers;
use crate::{
    context::Context,
    engine::error::StepError,
    pki::Certificate,
    render::{paths::STATIC_PODS, static_pod::MARKER},
    steps::{fanout::Fleet, pki::certificate_path},
};
use futures_util::future;
use nodeinit_config::cluster::Machine;
use std::{cell::RefCell, collections::BTreeMap, convert::Infallible, net::SocketAddr, path::Path, time::Duration};

/// Pause between two requests to the same master over SSH: each is a new login.
const PAUSE: Duration = Duration::from_secs(2);

/// Pause between two requests to all etcds.
const ETCD_PAUSE: Duration = Duration::from_millis(200);

/// The first and the last line of a complete answer.
const BEGIN: &str = "nodeinit-evidence";
const END: &str = "nodeinit-evidence-end";

/// Everything known about the other masters at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    /// The etcd that answered for a quorum.
    pub(super) etcd: Option<SocketAddr>,
    /// The address where an etcd has a certificate of another CA.
    pub(super) stranger: Option<SocketAddr>,
    /// The masters' reports by name, or why there is none yet.
    pub(super) masters: BTreeMap<String, Result<Evidence, String>>,
}

/// The traces of etcd on one master's disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Evidence {
    /// etcd's data.
    pub(super) data: bool,
    /// The names of data that was moved aside.
    pub(super) aside: Vec<String>,
    /// A record of an etcd that nodeinit started there.
    pub(super) record: bool,
    /// Which CA its certificates are from.
    pub(super) authority: Authority,
}

/// A master's etcd CA, compared with this machine's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Authority {
    #[default]
    None,
    Ours,
    Other,
}

impl Evidence {
    /// Describes the traces; `None` if no etcd was ever started there.
    pub(super) fn traces(&self) -> Option<String> {
        let mut traces = Vec::new();
        if self.data {
            traces.push("etcd data".to_owned());
        }
        if !self.aside.is_empty() {
            traces.push(format!("etcd data that was moved aside ({})", self.aside.join(", ")));
        }
        if self.record && !self.data {
            traces.push("a record of an etcd that was started there".to_owned());
        }
        (!traces.is_empty()).then(|| traces.join(" and "))
    }
}

/// Returns the other masters of the configuration.
pub(crate) fn others(cx: &Context) -> impl Iterator<Item = &Machine> {
    cx.cluster.masters.iter().filter(|master| master.name != cx.node.name)
}

/// Polls all other masters and keeps `known` up to date. Returns only with an error.
///
/// # Errors
/// If this machine has no etcd client key.
pub(super) async fn gather(cx: &Context, known: &RefCell<Known>) -> Result<Infallible, StepError> {
    let peers = Peers::of_others(cx)?;
    let ours = cx.files.read(certificate_path("etcd/ca"))?.unwrap_or_default();
    let fleet = Fleet::new(&cx.cluster);
    let etcd = async {
        loop {
            let answer = peers.members().await;
            known.borrow_mut().etcd = answer.ok().map(|(etcd, _)| etcd.address());
            known.borrow_mut().stranger = peers.stranger();
            tokio::time::sleep(ETCD_PAUSE).await;
        }
    };
    let command = probe(&cx.cluster.etcd.data_directory);
    let disks = others(cx).map(|master| async {
        loop {
            let answer = fleet.ask(cx, master, &command).await.and_then(|text| parse(&text, &ours));
            known.borrow_mut().masters.insert(master.name.clone(), answer);
            tokio::time::sleep(PAUSE).await;
        }
    });
    future::join(etcd, future::join_all(disks)).await.0
}

/// Returns the probe: a shell script, because a master may have no nodeinit yet. It fails if it cannot read an existing file: an error
/// must not look like a clean disk.
fn probe(data_directory: &Path) -> String {
    let directory = data_directory.display().to_string().replace('\'', r"'\''");
    format!(
        r#"d='{directory}'; echo {BEGIN}
        if [ -e "$d/member" ]; then
            names=$(ls -A "$d/member") || exit
            if echo "$names" | grep -Fv {marker} | grep -q .; then echo data; fi
        fi
        for aside in "$d"/member.aside-* "$d"/.member.nodeinit-old; do if [ -e "$aside" ]; then echo "aside ${{aside##*/}}"; fi; done
        if [ -e {manifest} ]; then echo record; fi
        if [ -e {journal} ]; then
            grep -Eq '^\{{"record":"(etcd-(bootstrap|healthy|join)"|end","step":"etcd")' {journal}
            case $? in 0) echo record ;; 1) ;; *) exit 74 ;; esac
        fi
        if [ -s {ca} ]; then echo ca; cat {ca} || exit; echo; echo; fi
        echo {END}"#,
        journal = crate::engine::journal::JOURNAL,
        manifest = Path::new(STATIC_PODS).join("etcd.yaml").display(),
        ca = certificate_path("etcd/ca").display(),
        marker = MARKER.trim_start_matches("member/"),
    )
}

/// Parses the answer and rejects a truncated one.
fn parse(text: &str, ours: &[u8]) -> Result<Evidence, String> {
    let mut lines = text.lines().map(str::trim_end).skip_while(|line| *line != BEGIN).skip(1);
    let mut report = Evidence::default();
    let incomplete = || "its answer over SSH is incomplete".to_owned();
    loop {
        let line = lines.next().ok_or_else(incomplete)?;
        match line.split_once(' ').unwrap_or((line, "")) {
            (END, _) => return Ok(report),
            ("data", _) => report.data = true,
            ("record", _) => report.record = true,
            ("aside", name) => report.aside.push(name.to_owned()),
            ("ca", _) => {
                let pem: String =
                    lines.by_ref().take_while(|line| !line.is_empty()).flat_map(|line| [line, "\n"]).collect();
                report.authority = compare(pem.as_bytes(), ours);
            }
            _ => {}
        }
    }
}

fn compare(theirs: &[u8], ours: &[u8]) -> Authority {
    match (Certificate::from_pem(theirs), Certificate::from_pem(ours)) {
        (Ok(theirs), Ok(ours)) if theirs.public_key == ours.public_key => Authority::Ours,
        _ => Authority::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        context::testing::context,
        engine::journal::{JOURNAL, Journal, Record},
        host::files::{Files, NewFile},
        pki::{Key, authority::self_signed},
    };
    use std::{fs, time::SystemTime};

    /// Runs the probe on a directory that represents a machine.
    fn probed(files: &Files, directory: &str, ours: &[u8]) -> Evidence {
        let (code, text) = run(files, directory);
        assert_eq!(code, Some(0), "{text}");
        parse(&text, ours).unwrap()
    }

    #[allow(clippy::disallowed_methods, reason = "a test runs the shell as a master does")]
    fn run(files: &Files, directory: &str) -> (Option<i32>, String) {
        let real = |path: &str| files.real(Path::new(path)).display().to_string();
        let script = probe(Path::new(directory))
            .replace(directory, &real(directory))
            .replace(JOURNAL, &real(JOURNAL))
            .replace("/etc/kubernetes", &real("/etc/kubernetes"));
        let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    }

    fn ca() -> Vec<u8> {
        self_signed("etcd-ca", &Key::generate().unwrap(), SystemTime::now()).unwrap().into_bytes()
    }

    #[test]
    fn the_probe_reports_what_a_masters_disk_holds() {
        let (_dir, cx) = context();
        let (files, ours) = (&cx.files, ca());
        let probe = || probed(files, "/var/lib/etcd", &ours);
        assert_eq!(probe(), Evidence::default(), "an empty machine");

        let write = |path: &str, content: &[u8]| {
            for directory in files.missing_parents(Path::new(path)) {
                files.make_directory(&directory, 0o755).unwrap();
            }
            files.write(&[NewFile::private(path, content)]).unwrap();
        };
        write("/etc/kubernetes/pki/etcd/ca.crt", &ours);
        assert_eq!(probe(), Evidence { authority: Authority::Ours, ..Evidence::default() }, "a prepared master");
        write("/etc/kubernetes/pki/etcd/ca.crt", &ca());
        assert_eq!(probe().authority, Authority::Other);
        write("/etc/kubernetes/pki/etcd/ca.crt", ours.trim_ascii_end());
        assert_eq!(probe().authority, Authority::Ours, "no newline at its end");

        write("/var/lib/etcd/member.aside-20250102T030405Z/x", b"");
        let report = probe();
        assert_eq!(report.aside, ["member.aside-20250102T030405Z"]);
        assert_eq!(report.traces().unwrap(), "etcd data that was moved aside (member.aside-20250102T030405Z)");
        write("/var/lib/etcd/member/nodeinit.marker", b"");
        assert!(!probe().data, "its etcd has not started");
        write("/var/lib/etcd/member/x", b"");
        assert!(probe().data && !probe().record);
    }

    #[test]
    fn every_record_of_an_etcd_is_found() {
        let former = Record::End { step: "etcd".into(), milliseconds: 7 };
        let bootstrap = Record::EtcdBootstrap { token: "t".into() };
        let others =
            [Record::Begin { step: "etcd".into() }, Record::End { step: "etcd-member".into(), milliseconds: 7 }];
        let records = [bootstrap, Record::EtcdHealthy, Record::EtcdJoin { token: None }, former];
        for (record, found) in records.map(|r| (r, true)).into_iter().chain(others.map(|r| (r, false))) {
            let dir = tempfile::tempdir().unwrap();
            let files = Files::under(dir.path());
            Journal::open(&files).unwrap().note(record.clone()).unwrap();
            assert_eq!(probed(&files, "/var/lib/etcd", b"").record, found, "{record:?}");
        }
    }

    #[test]
    fn a_manifest_without_data_is_a_record() {
        let (_dir, cx) = context();
        fs::create_dir_all(cx.files.real(Path::new(STATIC_PODS))).unwrap();
        cx.files.write(&[NewFile::private(Path::new(STATIC_PODS).join("etcd.yaml"), "")]).unwrap();
        assert!(probed(&cx.files, "/var/lib/etcd", b"").record, "as where the disk of its data is not mounted");
    }

    #[test]
    fn an_unreadable_file_is_an_error_and_not_a_clean_disk() {
        // `ls` and `grep` cannot be made to fail for root on a directory of a test: a directory instead of a file does it.
        let (_dir, cx) = context();
        let journal = cx.files.real(Path::new(JOURNAL));
        fs::remove_file(&journal).unwrap();
        fs::create_dir(&journal).unwrap();
        let (code, text) = run(&cx.files, "/var/lib/etcd");
        assert_ne!(code, Some(0));
        assert!(parse(&text, b"").is_err(), "{text}");
    }

    #[test]
    fn a_truncated_answer_is_rejected() {
        let whole = format!("motd\n{BEGIN}\ndata\nca\nPEM\n\n{END}\n");
        assert!(parse(&whole, b"").is_ok_and(|report| report.data && report.authority == Authority::Other));
        for length in 0..whole.len() - 1 {
            assert!(parse(&whole[..length], b"").is_err(), "{:?}", &whole[..length]);
        }
    }
}
