//! For machines that no cloud makes: what each of them is given, to be brought there by hand.

use super::Source;
use crate::{
    error::Error,
    output::{self, write_private},
    secrets::Secrets,
    userdata::{self, Inputs},
};
use nodeinit_protocol::Exit;
use nodeinit_screen::tell;
use std::path::Path;

pub(super) fn user_data(source: &Source, name: &str) -> Result<Exit, Error> {
    let loaded = source.read()?;
    let secrets = Secrets::existing(&source.secrets())?;
    let text = userdata::of(&loaded, name, &Inputs::default(), &secrets)?;
    output::line(text.trim_end());
    Ok(Exit::Done)
}

pub(super) fn bundle(source: &Source, name: &str, out: Option<&Path>) -> Result<Exit, Error> {
    let loaded = source.read()?;
    let secrets = Secrets::existing(&source.secrets())?;
    match (userdata::secrets_of(&loaded, name, &secrets)?, out) {
        (Some(text), Some(file)) => {
            write_new(file, text.expose())?;
            tell(&format!("the secrets of {name} are in {}", file.display()));
        }
        (Some(text), None) => output::line(text.expose().trim_end()),
        (None, _) => tell(&format!("{name} needs no secrets file: the first master sends it all secrets over SSH")),
    }
    Ok(Exit::Done)
}

/// A file that is there may be the only copy of the cluster's keys.
fn write_new(path: &Path, text: &str) -> Result<(), Error> {
    if path.exists() && !std::fs::read_to_string(path).is_ok_and(|there| there == text) {
        return Err(Error::Refused {
            what: format!("{} exists and is not overwritten", path.display()),
            remedy: "pass another file with --out, or move this one away".to_owned(),
        });
    }
    write_private(path, text)
}
