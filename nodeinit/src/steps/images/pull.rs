//! The quick way into containerd: it pulls the image from a registry on loopback that reads the archive.

use crate::{
    api::{
        cri::{Cri, CriError, SOCKET, Target},
        registry::{MANIFEST_TYPE, Registry},
    },
    context::{Context, blocking},
    engine::{error::StepError, journal::Record},
    host::archive,
};
use std::{io, path::Path};

/// Imports `image` from the archive at `path`. `false` where the archive is not of the plain form, or containerd did not
/// pull it: then nothing is left of it, and `ctr` shall take it and say what is wrong.
pub(super) async fn import(cx: &Context, step: &str, image: &str, path: &Path) -> Result<bool, StepError> {
    let (archive, wanted) = (path.to_path_buf(), image.to_owned());
    let opened = blocking(move || Ok(open(&archive, &wanted))).await?;
    let Ok(Some(registry)) = opened else { return Ok(false) };
    let passing = [registry.reference(), registry.reference_by_digest()];
    let lasting = [image.to_owned(), registry.image_id().to_owned()];
    let records = lasting.into_iter().chain(passing.clone()).map(|name| Record::Image { name }).collect();
    let context = cx.clone();
    blocking(move || Ok(context.journal.intend(records)?)).await?;
    let Ok(cri) = Cri::connect(cx.files.real(Path::new(SOCKET))).await else { return Ok(false) };
    let pulled = pull(cx, &cri, image, &registry).await;
    // containerd's garbage collector takes what has no name left.
    for name in &passing {
        // One that is not there is fine; one that stays is known to `reset`.
        let _ = cri.forget_image(name).await;
    }
    if let Err(e) = &pulled {
        cx.report.note(step, format!("{e}; importing with ctr"));
    }
    Ok(pulled.is_ok())
}

fn open(path: &Path, image: &str) -> io::Result<Option<Registry>> {
    let index = archive::index(path)?.filter(|index| index.names.iter().any(|name| name == image));
    index.map(|index| Registry::serve(index, path.to_path_buf())).transpose()
}

async fn pull(cx: &Context, cri: &Cri, image: &str, registry: &Registry) -> Result<(), CriError> {
    cri.pull_image(&registry.reference(), cx.cluster.timeouts.image_import).await?;
    // What has the name is half-made: else there would be nothing to import.
    let _ = cri.forget_image(image).await;
    let digest = registry.digest();
    cri.name_image(image, Target { media_type: MANIFEST_TYPE, digest: &digest, size: registry.size() }).await
}
