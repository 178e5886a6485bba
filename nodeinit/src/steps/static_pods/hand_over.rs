//! Hands the virtual address to another master before this one's API server stops: no request goes to an API server that is gone.

use crate::{
    context::Context,
    engine::error::StepError,
    host::{failpoint, files::NewFile, net},
    render::paths::STATIC_PODS,
    steps::cluster,
};
use nodeinit_base::Wait;
use std::{
    net::IpAddr,
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::Duration,
};

/// The manifest of kube-vip, outside the directory of static pods. kube-vip releases the address and its lease when it stops.
const ASIDE: &str = "/var/lib/nodeinit/kube-vip.yaml";

/// Another master has the address within this time: kube-vip looks at its lease every second.
const LIMIT: Duration = Duration::from_secs(15);

fn manifest() -> PathBuf {
    Path::new(STATIC_PODS).join("kube-vip.yaml")
}

/// If this master has the virtual address and there are others, stops kube-vip here, and waits until the API answers at the address again.
///
/// # Errors
/// If the manifest cannot be moved.
pub(super) async fn release(cx: &Context) -> Result<(), StepError> {
    let Some(address) = cx.cluster.control_plane.virtual_address else { return Ok(()) };
    if cx.cluster.masters.len() < 2 || !is_here(address)? {
        return Ok(());
    }
    let Some(text) = cx.files.read_text(manifest())? else { return Ok(()) };
    cx.files.write(&[NewFile::private(ASIDE, text)])?;
    cx.files.remove_file(manifest())?;
    failpoint("stop", "kube-vip");
    let look = async || match is_here(address) {
        Ok(false) => cluster::ready_at(cx, address).await,
        Ok(true) => ControlFlow::Continue("this master still has it".to_owned()),
        Err(e) => ControlFlow::Continue(e.to_string()),
    };
    let wait = Wait::new(format!("another master to take the virtual address {address}"), LIMIT);
    if let Err(late) = wait.at_most_every(Duration::from_millis(100)).until(look).await {
        cx.report.note("kube-apiserver", format!("{late}; continuing"));
    }
    Ok(())
}

fn is_here(address: IpAddr) -> Result<bool, StepError> {
    let on = net::interface_of(address).map_err(|e| StepError::caused("cannot list the machine's addresses", e))?;
    Ok(on.is_some())
}

/// Whether another master has or takes the address.
pub(in crate::steps) fn is_under_way(cx: &Context) -> bool {
    cx.files.exists(ASIDE)
}

/// Lets this master take the address again.
///
/// # Errors
/// If the manifest cannot be moved.
pub(in crate::steps) fn end(cx: &Context) -> Result<(), StepError> {
    let Some(text) = cx.files.read_text(ASIDE)? else { return Ok(()) };
    if !cx.files.exists(manifest()) {
        cx.files.write(&[NewFile::private(manifest(), text)])?;
    }
    Ok(cx.files.remove_file(ASIDE)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::testing::context;

    #[tokio::test]
    async fn a_manifest_that_was_moved_comes_back_unless_there_is_a_newer_one() {
        let (_dir, cx) = context();
        let read = || cx.files.read_text(manifest()).unwrap();
        let place = async |path: PathBuf, text: &str| cx.place(vec![NewFile::private(path, text)]).await.unwrap();
        end(&cx).unwrap();
        assert_eq!(read(), None);
        place(manifest(), "newer").await;
        place(ASIDE.into(), "former").await;
        end(&cx).unwrap();
        assert_eq!(read().as_deref(), Some("newer"));
        assert!(!cx.files.exists(ASIDE));
        cx.files.remove_file(manifest()).unwrap();
        place(ASIDE.into(), "former").await;
        end(&cx).unwrap();
        assert_eq!(read().as_deref(), Some("former"));
        assert!(!cx.files.exists(ASIDE));
    }
}
