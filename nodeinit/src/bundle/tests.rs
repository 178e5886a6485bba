#![allow(clippy::disallowed_methods, reason = "tests make bundles and damage them")]

use super::*;
use crate::engine::error::Exit;
use nodeinit_config::{Layer, load};
use nodeinit_ssh::ClientKey;
use proptest::prelude::*;

const TO: &str = "/b.tar";

fn cluster() -> Cluster {
    let text = format!("apiVersion: {API_VERSION}\nkind: Cluster\nkubernetes: {{version: v1.36.4}}\n");
    load(&[Layer::file("c", text)]).unwrap().cluster
}

/// A machine with these artifacts below `/from`, and their index.
fn machine(artifacts: &[(&str, &[u8])]) -> (tempfile::TempDir, Files, Index) {
    let dir = tempfile::tempdir().unwrap();
    let files = Files::under(dir.path());
    let index = testing::index(&files, &cluster(), artifacts);
    (dir, files, index)
}

fn key() -> ClientKey {
    ClientKey::parse(crate::pki::ssh_key::generate().unwrap().private.expose()).unwrap()
}

fn signature(index: &Index) -> FileSignature {
    FileSignature::sign(&key(), NAMESPACE, &index.text().unwrap()).unwrap()
}

fn written(files: &Files, index: &Index, signature: Option<&FileSignature>) -> Vec<u8> {
    write(files, Path::new(TO), index, signature, Path::new("/from")).unwrap();
    files.read(TO).unwrap().unwrap()
}

fn check(files: &Files) -> Result<Bundle, StepError> {
    let bundle = Bundle::open(files, Path::new(TO))?;
    verify(&bundle).map(|()| bundle)
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        contents in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..1500), 0..5),
        is_signed in any::<bool>(),
    ) {
        let names: Vec<String> = (0..contents.len()).map(|i| format!("images/{i}.tar")).collect();
        let artifacts: Vec<(&str, &[u8])> =
            names.iter().map(String::as_str).zip(contents.iter().map(Vec::as_slice)).collect();
        let (_dir, files, index) = machine(&artifacts);
        let signature = is_signed.then(|| signature(&index));
        let whole = written(&files, &index, signature.as_ref());
        prop_assert_eq!(&whole, &written(&files, &index, signature.as_ref()), "the same input gives the same bytes");
        let bundle = check(&files).unwrap();
        prop_assert_eq!((&bundle.index, &bundle.signature), (&index, &signature));
        for (path, content) in artifacts {
            let (section, _) = bundle.find(path).unwrap();
            let mut read = Vec::new();
            section.open().unwrap().read_to_end(&mut read).unwrap();
            prop_assert_eq!(&read, content);
        }
        prop_assert!(bundle.find("bin/other").is_none());
    }
}

#[test]
fn any_cut_any_flipped_byte_and_anything_more_is_refused() {
    let (dir, files, index) = machine(&[("bin/kubelet", b"the kubelet")]);
    let is_refused = |content: &[u8]| {
        std::fs::write(dir.path().join("b.tar"), content).unwrap();
        check(&files).is_err()
    };
    let flipped = |whole: &[u8], at: usize| [&whole[..at], &[whole[at] ^ 1], &whole[at + 1..]].concat();
    let whole = written(&files, &index, None);
    assert!((0..whole.len()).step_by(7).chain([whole.len() - 1]).all(|at| is_refused(&whole[..at])));
    for at in 0..whole.len() {
        assert!(is_refused(&flipped(&whole, at)), "byte {at}");
    }
    for more in [&b"x"[..], &[0], &[0; 512], &whole] {
        assert!(is_refused(&[&whole, more].concat()));
    }
    // With a signature, only its member is added.
    let signed = written(&files, &index, Some(&signature(&index)));
    let start = (0..).step_by(BLOCK as usize).find(|at| signed[*at..].starts_with(SIGNATURE.as_bytes())).unwrap();
    assert!((start..start + signed.len() - whole.len()).all(|at| is_refused(&flipped(&signed, at))));
    assert!(!is_refused(&whole) && !is_refused(&signed));
}

#[test]
fn tar_reads_it() {
    let (_dir, files, index) = machine(&[("bin/kubelet", b"the kubelet")]);
    let whole = written(&files, &index, Some(&signature(&index)));
    let mut tar = tar::Archive::new(&whole[..]);
    let names: Vec<String> =
        tar.entries().unwrap().map(|entry| entry.unwrap().path().unwrap().display().to_string()).collect();
    assert_eq!(names, [INDEX, SIGNATURE, SUM, "bin/kubelet"]);
}

#[test]
fn all_that_is_damaged_is_named() {
    let (dir, files, index) = machine(&[("bin/a", b"aaaa"), ("bin/b", b"bbbb"), ("bin/c", b"cccc")]);
    let text = String::from_utf8(written(&files, &index, None)).unwrap();
    std::fs::write(dir.path().join("b.tar"), text.replace("aaaa\0", "aXaa\0").replace("cccc\0", "cXcc\0")).unwrap();
    let error = check(&files).unwrap_err().to_string();
    assert!(error.contains("/b.tar is damaged: bin/a has the SHA-256") && error.contains("; bin/c has"), "{error}");
    assert!(
        !error.contains("bin/b") && error.contains(&sha256_hex(b"aXaa")) && error.contains(&sha256_hex(b"aaaa")),
        "{error}"
    );
}

#[test]
fn what_changed_since_the_lock_file_is_refused_and_the_old_bundle_stays() {
    let (dir, files, index) = machine(&[("bin/a", b"aaaa"), ("bin/b", b"bbbb"), ("bin/c", b"cccc")]);
    let whole = written(&files, &index, None);
    std::fs::write(dir.path().join("from/bin/a"), "longer").unwrap();
    std::fs::write(dir.path().join("from/bin/c"), "cXcc").unwrap();
    let error = write(&files, Path::new(TO), &index, None, Path::new("/from")).unwrap_err().to_string();
    assert!(error.ends_with("bin/a, bin/c"), "{error}");
    assert_eq!(files.read(TO).unwrap().unwrap(), whole);
    assert_eq!(files.list("/").unwrap(), ["b.tar", "from"], "no temporary file is left");
}

#[test]
fn a_bundle_is_of_the_required_key() {
    let (_dir, files, index) = machine(&[("bin/a", b"aaaa")]);
    let (right, other) = (signature(&index), signature(&index));
    written(&files, &index, Some(&right));
    let bundle = check(&files).unwrap();
    bundle.require(right.key()).unwrap();
    let error = bundle.require(other.key()).unwrap_err().to_string();
    assert!(error.contains(&right.fingerprint()) && error.contains(&other.fingerprint()), "{error}");
    written(&files, &index, None);
    let error = check(&files).unwrap().require(right.key()).unwrap_err().to_string();
    assert!(error.contains("not signed") && error.contains(&right.fingerprint()), "{error}");
}

#[test]
fn a_signature_of_another_index_is_damage() {
    let (_dir, files, index) = machine(&[("bin/a", b"aaaa")]);
    let other = Index { kubernetes_version: "v1.35.0".into(), ..index.clone() };
    written(&files, &index, Some(&signature(&other)));
    let error = check(&files).unwrap_err().to_string();
    assert!(error.contains("its signature cannot be used"), "{error}");
}

#[test]
fn only_a_bundle_of_this_version_and_processor_is_used() {
    let (_dir, files, index) = machine(&[]);
    let reason = |index: &Index, cluster: &Cluster| {
        written(&files, index, None);
        open_for(&files, cluster, Path::new(TO)).map_or_else(|e| e.to_string(), |_| String::new())
    };
    assert_eq!(reason(&index, &cluster()), "");
    let other = Index { kubernetes_version: "v1.35.8".into(), ..index.clone() };
    assert_eq!(
        reason(&other, &cluster()),
        "the bundle /b.tar is for Kubernetes v1.35.8, and kubernetes.version is v1.36.4"
    );
    let other = Index { architecture: "s390x".into(), ..index.clone() };
    assert!(reason(&other, &cluster()).contains("for the architecture s390x, but this machine has "));
    let mut signed = cluster();
    signed.artifacts.bundle_key = Some(signature(&index).key().to_owned());
    assert!(reason(&index, &signed).contains("is not signed"));
    let newer = Index { format_version: 2, ..index.clone() };
    assert!(reason(&newer, &cluster()).contains("it has format 2, and this nodeinit reads format 1"));
    let newer = Index { api_version: "nodeinit.dev/v9".into(), ..index };
    assert!(reason(&newer, &cluster()).contains("nodeinit.dev/v9"));
}

#[test]
fn an_odd_index_is_refused() {
    let (_dir, files, index) = machine(&[("bin/a", b"aaaa")]);
    let with = |entries: Vec<Entry>| Index { artifacts: entries, ..index.clone() };
    let entry = index.artifacts[0].clone();
    for odd in [
        with(vec![entry.clone(), entry.clone()]),
        with(vec![Entry { sha256: "abc".into(), ..entry.clone() }]),
        with(vec![Entry { size: LARGEST + 1, ..entry }]),
    ] {
        assert!(Index::read(&odd.text().unwrap()).unwrap_err().contains("bin/a"));
    }
    assert!(Index::read(b"{}").is_err() && Index::read(b"").is_err());
    assert!(
        Bundle::open(&files, Path::new("/from")).unwrap_err().to_string().contains("does not exist, or is not a file")
    );
    std::fs::write(files.real(Path::new(TO)), crate::host::archive::testing::tar(&[("a", b"x")])).unwrap();
    assert!(Bundle::open(&files, Path::new(TO)).unwrap_err().to_string().contains("is not a bundle"));
}

#[test]
fn two_do_not_write_to_the_same_directory_at_once() {
    let (dir, files, index) = machine(&[("bin/a", b"aaaa")]);
    let directory = std::fs::File::open(dir.path()).unwrap();
    let lock = nix::fcntl::Flock::lock(directory, nix::fcntl::FlockArg::LockExclusive).unwrap();
    let error = write(&files, Path::new(TO), &index, None, Path::new("/from")).unwrap_err();
    assert!(error.exit == Exit::TryAgain && error.to_string().contains("another process holds its lock"), "{error}");
    drop(lock);
    written(&files, &index, None);
}
