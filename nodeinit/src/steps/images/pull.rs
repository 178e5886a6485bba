//! The fast import: containerd pulls the image from a registry on loopback that reads the archive.

use crate::{
    api::{
        cri::{Cri, CriError, SOCKET, Target},
        registry::{Content, MANIFEST_TYPE, Pull, Registry, Served},
    },
    context::{Context, blocking},
    engine::{error::StepError, journal::Record},
    host::{archive, section::Section},
};
use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    path::Path,
};

/// Imports `image` from an archive. Returns `false` if the archive does not have the plain form, or containerd did not
/// pull it: then nothing is left of it, and the caller uses `ctr`, which reports what is wrong.
pub(super) async fn import(cx: &Context, step: &str, image: &str, archive: &Section) -> Result<bool, StepError> {
    let (archive, wanted) = (archive.clone(), image.to_owned());
    let opened = blocking(move || Ok(open(archive, &wanted))).await?;
    let Ok(Some((registry, pull))) = opened else { return Ok(false) };
    let pulled = self::pull(cx, image, registry.address(), registry.repository(), &pull).await?;
    if let Err(e) = &pulled {
        cx.report.note(step, format!("{e}; importing with ctr"));
    }
    Ok(pulled.is_ok())
}

fn open(archive: Section, image: &str) -> io::Result<Option<(Registry, Pull)>> {
    let index = archive::index(&archive)?.filter(|index| index.names.iter().any(|name| name == image));
    let Some(index) = index else { return Ok(None) };
    let mut content = Content::default();
    let pull = content.image(index, &Served::new(archive, None));
    Ok(Some((Registry::serve(content, Ipv4Addr::LOCALHOST.into())?, pull)))
}

/// Lets containerd pull `image` from the registry on loopback at `address`, and gives it its name. The inner error is containerd's; then
/// nothing is left of the image.
///
/// # Errors
/// If the journal cannot be written.
pub(super) async fn pull(
    cx: &Context,
    image: &str,
    address: SocketAddr,
    repository: &str,
    pull: &Pull,
) -> Result<Result<(), CriError>, StepError> {
    let reference = pull.reference(address, repository);
    let passing = [reference.clone(), pull.reference_by_digest(address, repository)];
    let lasting = [image.to_owned(), pull.image_id.clone()];
    let records = lasting.into_iter().chain(passing.clone()).map(|name| Record::Image { name }).collect();
    let context = cx.clone();
    blocking(move || Ok(context.journal.intend(records)?)).await?;
    let cri = match Cri::connect(cx.files.real(Path::new(SOCKET))).await {
        Ok(cri) => cri,
        Err(e) => return Ok(Err(e)),
    };
    let named = async {
        cri.pull_image(&reference, cx.cluster.timeouts.image_import).await?;
        // An image with this name is incomplete: otherwise there would be nothing to import.
        let _ = cri.forget_image(image).await;
        cri.name_image(image, Target { media_type: MANIFEST_TYPE, digest: &pull.manifest, size: pull.size }).await
    };
    let pulled = named.await;
    // containerd's garbage collector removes content without a name.
    for name in &passing {
        // A missing name is fine; `reset` knows a name that remains.
        let _ = cri.forget_image(name).await;
    }
    Ok(pulled)
}
