//! What the first master lends to the machines that lack it.

use crate::{
    api::{
        lent::Lent,
        registry::{Content, Pull, Registry, Served},
    },
    context::Context,
    engine::error::StepError,
    host::{archive, section::Section},
    steps::source::Local,
};
use nodeinit_base::{hex, sha256_of};
use std::{collections::BTreeMap, io, net::SocketAddr};

/// A registry with the artifacts of this machine. It ends when this is dropped.
pub(super) struct Depot {
    registry: Registry,
    files: BTreeMap<String, String>,
    images: BTreeMap<String, Pull>,
}

impl Depot {
    /// Serves what is there of this machine's artifacts, at its address. Blocks on the disk.
    ///
    /// # Errors
    /// Where a file cannot be read, or the address not be listened on.
    pub(super) fn open(cx: &Context) -> Result<Self, StepError> {
        let artifacts = &cx.cluster.artifacts;
        let (mut content, mut files, mut images) = (Content::default(), BTreeMap::new(), BTreeMap::new());
        let unreadable = |path: &str| {
            let what = format!("cannot read {path} of artifacts.source");
            move |e: io::Error| StepError::caused(what, e)
        };
        let mut add_file = |content: &mut Content, path: &str, section: Section, pin: Option<[u8; 32]>| {
            let found = pin.map_or_else(|| section.open().and_then(sha256_of), Ok);
            let sha256 = hex(&found.map_err(unreadable(path))?);
            content.file(&sha256, &Served::new(section, pin));
            files.insert(path.to_owned(), sha256);
            Ok::<(), StepError>(())
        };
        let source = Local::open(&cx.files, &cx.cluster)?;
        let find = |path: &str| source.as_ref()?.find(path);
        for binary in artifacts.binaries.iter().chain(&artifacts.runtime) {
            if let Some((section, pin)) = find(&binary.path) {
                add_file(&mut content, &binary.path, section, binary.sha256.or(pin))?;
            }
        }
        for image in &artifacts.images {
            let Some((section, pin)) = find(&image.path) else { continue };
            let pin = image.sha256.or(pin);
            let index = archive::index(&section).map_err(unreadable(&image.path))?;
            if let Some(index) = index.filter(|index| index.names.contains(&image.image)) {
                images.insert(image.image.clone(), content.image(index, &Served::new(section.clone(), pin)));
            }
            // For `ctr`, which reads more forms of archives, and takes what containerd does not pull.
            add_file(&mut content, &image.path, section, pin)?;
        }
        let at = cx.node.address;
        let registry = Registry::serve(content, at)
            .map_err(|e| StepError::caused(format!("cannot serve artifacts at {at}"), e))?;
        Ok(Self { registry, files, images })
    }

    /// Where it listens.
    pub(super) fn address(&self) -> SocketAddr {
        self.registry.address()
    }

    /// What another machine receives; `tunnel` is the port of its loopback that leads here, too.
    pub(super) fn list(&self, tunnel: Option<u16>) -> Lent {
        let tunnel = tunnel.map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        Lent {
            addresses: [self.address()].into_iter().chain(tunnel).collect(),
            repository: self.registry.repository().to_owned(),
            files: self.files.clone(),
            images: self.images.clone(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test makes artifacts")]
mod tests {
    use super::*;
    use crate::{context::testing::context_of, host::archive::testing::archive};
    use std::{net::Ipv4Addr, sync::Arc};

    #[test]
    fn an_image_is_lent_for_a_pull_and_as_its_archive() {
        let pause = "registry.k8s.io/pause:3.10.1";
        let (dir, mut cx) = context_of(&format!(
            "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {{version: v1.34.4}}\nartifacts:\n  source: /source\n  \
             binaries: []\n  images: [{{path: pause.tar, image: \"{pause}\"}}, {{path: other.tar, image: \"r.io/other:1\"}}]\n"
        ));
        Arc::make_mut(&mut cx.node).address = Ipv4Addr::LOCALHOST.into();
        let source = dir.path().join("source");
        std::fs::create_dir(&source).unwrap();
        archive(&source.join("pause.tar"), pause, &[7; 100]);
        std::fs::write(source.join("other.tar"), "another form").unwrap();
        let lent = Depot::open(&cx).unwrap().list(Some(4242));
        assert_eq!(lent.files.keys().collect::<Vec<_>>(), ["other.tar", "pause.tar"]);
        assert_eq!(lent.images.keys().collect::<Vec<_>>(), [pause]);
        assert_eq!(lent.addresses[1], SocketAddr::from(([127, 0, 0, 1], 4242)));
    }
}
