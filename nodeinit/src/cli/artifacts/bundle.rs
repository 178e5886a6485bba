//! `artifacts bundle`, `inspect` and `verify`: all artifacts in one file.

use super::{
    super::{Output, Printing},
    Meant, absolute, cluster, print,
};
use crate::{
    bundle::{self, Bundle, Entry, Index, NAMESPACE},
    engine::error::{Exit, StepError},
    fetch::{is_full, lock::Lock},
    host::{facts, files::Files},
};
use clap::Args;
use nodeinit_base::hex;
use nodeinit_config::Cluster;
use nodeinit_ssh::{ClientKey, FileSignature, fingerprint};
use serde_json::json;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(in crate::cli) struct Write {
    /// The file to write, whose name ends in .tar; it serves as artifacts.source
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The directory that `artifacts fetch` filled; default: artifacts.source
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// Sign the index with this private key: ed25519, in OpenSSH's format, without a passphrase
    #[arg(long, value_name = "FILE", conflicts_with = "signature")]
    sign_key: Option<PathBuf>,
    /// Add this signature of the index, which `ssh-keygen -Y sign -n nodeinit-bundle` created
    #[arg(long, value_name = "FILE")]
    signature: Option<PathBuf>,
    #[command(flatten)]
    meant: Meant,
}

#[derive(Args)]
pub(in crate::cli) struct Inspect {
    /// The bundle
    file: PathBuf,
    #[command(flatten)]
    pub(super) printing: Printing,
}

#[derive(Args)]
pub(in crate::cli) struct Verify {
    /// The bundle
    file: PathBuf,
    /// The ed25519 public key that must have signed it, as in ~/.ssh/id_ed25519.pub
    #[arg(long, value_name = "FILE")]
    public_key: Option<PathBuf>,
}

pub(super) fn write(args: &Write) -> Result<(), StepError> {
    let cluster = cluster(&args.meant)?;
    let from = match (&args.from, cluster.artifacts.source.directory()) {
        (Some(directory), _) => absolute(directory)?,
        (None, Some(directory)) => directory.to_owned(),
        (None, None) => {
            return Err(StepError::new("cannot write the bundle: artifacts.source is not a directory")
                .exit(Exit::Usage)
                .hint("use --from DIR to pass the directory that `nodeinit artifacts fetch` filled"));
        }
    };
    let to = absolute(&args.output)?;
    if to.extension().is_none_or(|extension| extension != "tar") {
        return Err(StepError::new(format!("the name of a bundle must end in .tar: {}", to.display()))
            .exit(Exit::Usage)
            .hint("artifacts.source treats any other path as a directory"));
    }
    let files = Files::of_machine();
    let index = Index::new(&cluster, entries(&files, &cluster, &from, args.meant.version.is_some())?);
    let text = index.text()?;
    let signature = match (&args.sign_key, &args.signature) {
        (Some(key), _) => Some(sign(key, &text, &to)?),
        (None, Some(signature)) => Some(attached(signature, &text, &to)?),
        (None, None) => None,
    };
    bundle::write(&files, &to, &index, signature.as_ref(), &from).map_err(|error| match is_full(&error) {
        true => {
            let directory = to.parent().unwrap_or(&to).display();
            let hint = format!("free some space (`df -h {directory}`), then run the same command again");
            StepError::caused(format!("cannot write the bundle {}", to.display()), error)
                .exit(Exit::TryAgain)
                .hint(hint)
        }
        false => error,
    })?;
    print(&format!(
        "{} artifacts of Kubernetes {} for {} are in {file}, {}; use them with `artifacts: {{source: {file}}}`\n",
        index.artifacts.len(),
        index.kubernetes_version,
        index.architecture,
        signature.map_or("not signed".to_owned(), |signature| format!("signed by {}", signature.fingerprint())),
        file = to.display(),
    ))
}

/// Returns the entries of the bundle from the lock file, and refuses missing ones. The digests in the configuration are valid for its
/// own version only, so `other_version` ignores them for upstream artifacts.
fn entries(files: &Files, cluster: &Cluster, from: &Path, other_version: bool) -> Result<Vec<Entry>, StepError> {
    let lock = Lock::read(files, from)?;
    let binaries =
        cluster.artifacts.binaries.iter().chain(&cluster.artifacts.runtime).map(|binary| (&binary.path, binary.sha256));
    let pins: Vec<_> = binaries.chain(cluster.artifacts.images.iter().map(|i| (&i.path, i.sha256))).collect();
    let (mut entries, mut missing, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    let required = cluster.upstream(facts::architecture()).into_iter().map(|artifact| (artifact, false));
    // A new cluster does not need it.
    let for_upgrade = cluster.upstream_for_upgrade().map(|artifact| (artifact, true));
    for (artifact, is_optional) in required.chain(for_upgrade) {
        let (path, source) = (artifact.path, artifact.source.official());
        let Ok(metadata) = files.metadata(&from.join(&path)) else {
            if !is_optional {
                missing.push(path);
            }
            continue;
        };
        let recorded = source.and_then(|source| lock.record(&path, source)).map(|record| record.sha256.clone());
        let pinned = || pins.iter().find(|(other, _)| **other == path)?.1.map(|pin| hex(&pin));
        let is_pinned = source.is_none() || !other_version;
        let Some(sha256) = recorded.or_else(|| is_pinned.then(pinned).flatten()) else {
            if !is_optional {
                unknown.push(path);
            }
            continue;
        };
        entries.push(Entry {
            sha256,
            size: metadata.len(),
            source: source.map(str::to_owned),
            license: artifact.source.license().map(str::to_owned),
            path,
        });
    }
    let lists = [("it does not have", missing), ("artifacts.lock has no digest for this version of", unknown)];
    let lists: Vec<String> = lists
        .iter()
        .filter(|(_, list)| !list.is_empty())
        .map(|(what, list)| format!("{what} {}", list.join(", ")))
        .collect();
    if lists.is_empty() {
        return Ok(entries);
    }
    let directory = from.display();
    let what = format!("{directory} is not complete for Kubernetes {}: {}", cluster.version, lists.join("; "));
    Err(StepError::new(what).hint(format!(
        "run `nodeinit artifacts fetch --to {directory}` with the same configuration, or pass the directory's own configuration with `--config {directory}/artifacts.yaml`; for a program that nodeinit cannot fetch, add its digest to artifacts.sha256"
    )))
}

fn read(path: &Path) -> Result<String, StepError> {
    let text = Files::of_machine().read_text(absolute(path)?)?;
    text.ok_or_else(|| StepError::new(format!("there is no file {}", path.display())).exit(Exit::BadConfig))
}

/// Hint: how to sign with a key that only `ssh-keygen` can use.
fn by_ssh_keygen(bundle: &Path) -> String {
    format!(
        "write the bundle without a signature, then run `tar -xf {} bundle.json`, `ssh-keygen -Y sign -n {NAMESPACE} -f KEY \
         bundle.json`, and this command again with `--signature bundle.json.sig`",
        bundle.display()
    )
}

fn sign(key: &Path, index: &[u8], bundle: &Path) -> Result<FileSignature, StepError> {
    let what = format!("cannot sign with {}", key.display());
    let hint = by_ssh_keygen(bundle);
    let private = ClientKey::parse(&read(key)?)
        .map_err(|e| StepError::caused(what.clone(), e).exit(Exit::BadConfig).hint(hint))?;
    FileSignature::sign(&private, NAMESPACE, index).map_err(|e| {
        StepError::caused(what, e).exit(Exit::BadConfig).hint("create a key with `ssh-keygen -t ed25519 -N '' -f FILE`")
    })
}

fn attached(signature: &Path, index: &[u8], bundle: &Path) -> Result<FileSignature, StepError> {
    FileSignature::verify(&read(signature)?, NAMESPACE, index).map_err(|e| {
        StepError::caused(format!("cannot add the signature {}", signature.display()), e)
            .exit(Exit::BadConfig)
            .hint(by_ssh_keygen(bundle))
    })
}

fn open(file: &Path) -> Result<Bundle, StepError> {
    Bundle::open(&Files::of_machine(), &absolute(file)?)
}

pub(super) fn inspect(args: &Inspect) -> Result<(), StepError> {
    let Bundle { index, signature, .. } = open(&args.file)?;
    if let Output::Json = args.printing.output {
        let signature =
            signature.map(|signature| json!({"key": signature.key(), "fingerprint": signature.fingerprint()}));
        return print(&format!("{}\n", json!({"file": args.file, "index": index, "signature": signature})));
    }
    let signed = signature
        .map_or("none".to_owned(), |s| format!("{} (compare it with the key that you trust)", s.fingerprint()));
    print(&format!(
        "Kubernetes      {}\narchitecture    {}\nconfiguration   {}\nwritten by      nodeinit {}\nsignature       {signed}\n",
        index.kubernetes_version, index.architecture, index.api_version, index.nodeinit_version
    ))?;
    let width = index.artifacts.iter().map(|entry| entry.path.len()).max().unwrap_or_default();
    index.artifacts.iter().try_for_each(|entry| {
        let of = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
        let megabytes = format!("{:.1}", entry.size as f64 / 1e6);
        print(&format!("{:width$}  {megabytes:>6} MB  {:<12}  {}\n", entry.path, of(&entry.license), of(&entry.source)))
    })
}

pub(super) fn verify(args: &Verify) -> Result<(), StepError> {
    let key = args.public_key.as_deref().map(public_key).transpose()?;
    let bundle = open(&args.file)?;
    if let Some(key) = &key {
        bundle.require(key)?;
    }
    bundle::verify(&bundle)?;
    let proof = match (&key, &bundle.signature) {
        (Some(key), _) => format!("signed by {}", fingerprint(key).unwrap_or_default()),
        (None, Some(signature)) => format!(
            "only the integrity was verified, not the author: it is signed by {}; to verify the author, use --public-key with a key that you trust",
            signature.fingerprint()
        ),
        (None, None) => "only the integrity was verified, not the author: it is not signed".to_owned(),
    };
    let count = bundle.index.artifacts.len();
    print(&format!("{} is complete: {count} artifacts match their digests; {proof}\n", args.file.display()))
}

/// Reads the key as `ssh-ed25519 BASE64`.
fn public_key(path: &Path) -> Result<String, StepError> {
    let text = read(path)?;
    let key = text.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    if fingerprint(&key).is_some_and(|print| print.starts_with("ssh-ed25519 ")) {
        return Ok(key);
    }
    Err(StepError::new(format!("{} is not an ed25519 public key in OpenSSH's format", path.display()))
        .exit(Exit::BadConfig)
        .hint("use the .pub file that `ssh-keygen -t ed25519` writes"))
}
